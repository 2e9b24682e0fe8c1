/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Attached processes in the simulator: a simulated node is shared with other
 * processes, as by m0/lnet_daemon.h, and processes and daemons crash.
 *
 * A daemon is begun over a node with a strand. While there is one,
 * m0_lnet_open() with lc_attach attaches to the daemon of that path in this
 * simulation. Everything is as over a socket, but for the socket: the queues of
 * shared memory, their checks, their bells, memory that the daemon maps, and with
 * lc_same_host copies by the process that owns the target, of short payloads, too, with three
 * of four daemons. Sizes of the queues and delays of bells are drawn from the seed.
 *
 *     m0_lnet_open(&node, &cfg, why);
 *     m0_sim_daemon_start(&daemon, node, "/a");
 *     strcpy(cfg.lc_attach, "/a");
 *     m0_lnet_open(&lnet, &cfg, why);
 *     ...
 *     m0_lnet_close(lnet);
 *     m0_sim_daemon_stop(daemon);
 *     m0_lnet_close(node);
 */
#ifndef M0_SIM_ATTACH_H
#define M0_SIM_ATTACH_H

#include "m0/lnet_daemon.h"
#include "m0/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_sim_daemon;

enum {
	M0_SIM_PATH_BYTES = 64
};

/**
 * Begins to share a node.
 * @param lnet  a node with a strand; it lives until m0_sim_daemon_stop().
 * @param path  shorter than M0_SIM_PATH_BYTES.
 * @retval -EADDRINUSE  a daemon has the path.
 */
int m0_sim_daemon_start(struct m0_sim_daemon **ret, struct m0_lnet *lnet,
			const char *path);
/**
 * Ends all attachments, waits until everything is released, and frees the
 * daemon. The application, not a strand.
 */
void m0_sim_daemon_stop(struct m0_sim_daemon *daemon);

/** Objects that a daemon holds for its processes. All but the first four are 0
 * when no process is attached. */
struct m0_sim_daemon_info {
	/** Since the start: processes that attached, and that broke the rules; payloads that
	 * processes with lc_same_host have copied from each other. */
	uint64_t sdi_attached_nr;
	uint64_t sdi_broken_nr;
	uint64_t sdi_copies_nr;
	/** Copies amid which one of the two processes crashed. */
	uint64_t sdi_copies_cut_nr;
	/** Attachments that have not ended, those of dead processes included. */
	unsigned sdi_procs_nr;
	/** MDs, regions and their bytes, of all; numbers of transfer machines that are not
	 * free, and MEs that may match all of them. */
	uint32_t sdi_mds_nr;
	uint32_t sdi_regions_nr;
	uint64_t sdi_bytes;
	uint32_t sdi_numbers_nr;
};

void m0_sim_daemon_info_get(struct m0_sim_daemon      *daemon,
			    struct m0_sim_daemon_info *ret);

/* -- faults ---------------------------------------------------------------- */

/**
 * The process of an attached node crashes: the daemon sees of the shared memory
 * what the process had written at some moment since the daemon last looked,
 * with garbage where the process was writing, and nothing later. After a delay
 * drawn from the seed the daemon notices.
 *
 * The state of the process is in the memory of the test, which must still
 * finalise it, as after m0_sim_host_crash(); nobody observes these calls. They
 * wait until the daemon has released everything. From anywhere, also from a
 * callback of the process.
 */
void m0_sim_process_crash(struct m0_lnet *lnet);
/**
 * Makes the process crash in the middle of what it does: in its `nr`-th call of
 * the host from now on (a bell, a wait, memory that is handed over, a copy of payload by it or
 * from it); 0 stops it. m0_sim_process_is_dead() says when it has happened.
 */
void m0_sim_process_crash_in(struct m0_lnet *lnet, unsigned nr);
bool m0_sim_process_is_dead(const struct m0_lnet *lnet);
/** Entries that were put and that crashes have cut off, in this simulation. */
uint64_t m0_sim_process_cut_nr(void);
/** The process writes garbage over `nr` words of the shared memory, drawn from
 * the seed. The daemon ends the attachment if it notices. */
void m0_sim_process_scribble(struct m0_lnet *lnet, unsigned nr);

/**
 * The daemon crashes: each process sees of the shared memory what the daemon
 * had written at some moment since the process last looked, and notices after a
 * delay drawn from the seed. For its node, m0_sim_host_kill() its host, too.
 * m0_sim_daemon_stop() and m0_lnet_close() of the node are due afterwards. A
 * daemon that is started meanwhile may have the same path. From anywhere.
 */
void m0_sim_daemon_crash(struct m0_sim_daemon *daemon);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_ATTACH_H */

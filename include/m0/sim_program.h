/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Whole programs in the simulator: main() of a service or of a client runs on a
 * host of m0/sim_net.h, beside others, on the virtual clock, and dies with its
 * host. Directories that it opens as durable stores (en_dir of m0/easy.h,
 * m0_rpc_store_lmdb_open()) are on a disk of its host, which outlives it.
 *
 *     #include <m0/sim_libc.h>      what a program calls of the C library
 *     #define main server_main
 *     #include "server.c"
 *     #undef main
 *     ...
 *     host = m0_sim_host_add("server", "10.0.0.1");
 *     disk = m0_sim_disk_add(host, 64 << 20);
 *     cfg = (struct m0_sim_program_cfg){ .spq_name = "server", .spq_host = host,
 *                                        .spq_main = server_main, .spq_args = args };
 *     server = m0_sim_program_start(sim, &cfg);
 *     ...
 *     m0_sim_host_kill(host);       at any moment
 *     m0_sim_program_end(server);
 *     m0_sim_host_restart(host);
 *     server = m0_sim_program_start(sim, &cfg);
 *
 * A program runs while the test waits, when its turn comes, until it waits itself.
 * Each program has a thread and a stack of its own, but only one of them runs at any
 * time, in an order drawn from the seed. A program may make every call of the library
 * that an application may make. Other calls take no virtual time, and a call that
 * blocks stops the simulation, except the functions of m0/sim_libc.h. A program must
 * not start threads. Its stdin is spq_input, and its stdout and stderr are kept. A
 * program ends by returning from main(). Programs share all memory of the process:
 * static variables keep their values from one start to the next.
 *
 * examples/sim_kv.c runs a durable service and its clients with crashes.
 */
#ifndef M0_SIM_PROGRAM_H
#define M0_SIM_PROGRAM_H

#include <stddef.h>

#include "m0/sim_net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_sim_program;
struct m0_sim_disk;

enum {
	/** Most arguments of a program. */
	M0_SIM_ARGS_MAX = 30,
	/** m0_sim_program_end() returns this for a program whose host died. */
	M0_SIM_PROGRAM_DIED = -1
};

struct m0_sim_program_cfg {
	/** Its name, argv[0]; kept by pointer. */
	const char         *spq_name;
	struct m0_sim_host *spq_host;
	int (*spq_main)(int argc, char **argv);
	/** argv[1] and so on; NULL: none, or the end. Copied. */
	const char *const *spq_args;
	/** Bytes of its stdin; must stay. */
	const void *spq_input;
	size_t      spq_input_nr;
};

/**
 * Starts a program. It runs when the test waits. Not from a program.
 * Pre: the host is up.
 */
struct m0_sim_program *m0_sim_program_start(
	struct m0_sim *sim, const struct m0_sim_program_cfg *cfg);
/** Has main() returned? */
bool m0_sim_program_has_ended(const struct m0_sim_program *program);
/** Returns what it has written to stdout, with a NUL behind; until its host died. Valid
 * until it runs again. @param ret_nr  NULL, or the number of bytes. */
const char *m0_sim_program_output(struct m0_sim_program *program,
				  size_t                *ret_nr);
/** Returns what it has written to stderr, also after its host died. A failure of the case
 * inside the program prints it. */
const char *m0_sim_program_errors(struct m0_sim_program *program);
/** Sends it a signal, which it takes by sigwait(). Up to 8 wait. */
void m0_sim_program_signal(struct m0_sim_program *program, int sig);
/**
 * Waits for the end of main(), and frees the program. A program whose host is down
 * goes on to its end, unseen, as m0_sim_host_crash() says: its sigwait() returns
 * SIGTERM and its sleeps end at once, nothing reaches others, its disk keeps what
 * it had, and what it prints is lost. One that does not end within an hour fails
 * the case. Not from a program.
 * @return the status, or M0_SIM_PROGRAM_DIED.
 */
int m0_sim_program_end(struct m0_sim_program *program);

/* -- disks ----------------------------------------------------------------- */

/**
 * Gives a host a disk, for all directories of its programs. A commit takes up to
 * 5 ms, drawn from the seed. When the host dies, what was not committed by then is
 * lost.
 * @param bytes_max  of each directory; beyond it puts fail with -ENOSPC.
 */
struct m0_sim_disk *m0_sim_disk_add(struct m0_sim_host *host,
				    m0_bcount_t         bytes_max);
/** Frees it. Pre: no program has a directory of it open. Before m0_sim_net_fini(). */
void m0_sim_disk_del(struct m0_sim_disk *disk);
/** Number of transactions that were committed on it, and lost. */
void m0_sim_disk_count(const struct m0_sim_disk *disk, uint64_t *ret_commits,
		       uint64_t *ret_lost);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_PROGRAM_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The server of one attached process: it takes what the process has put into the shared
 * area (ring/shared.h), carries it out at a node of this process by m0/lnet.h, and puts
 * the events. docs/ring.md is the specification of the area.
 *
 * Nothing that the process writes is trusted. A violation ends the attachment, with a
 * reason, and everything that the process held.
 * [r.M0.net.xprt.lnet.user.multi-process]
 * [r.M0.net.xprt.lnet.min-buffer-vm-setup]
 * [r.M0.net.xprt.lnet.cleanup-on-process-termination]
 *
 * Everything happens on the node's thread, in a runner and in callbacks of event queues,
 * except for the calls below that say otherwise.
 */
#ifndef M0_SRC_SERVE_SERVE_H
#define M0_SRC_SERVE_SERVE_H

#include "base/copier.h"
#include "front/front_relay.h"
#include "m0/lnet_run.h"
#include "ring/shared_entry.h"

struct m0_serve;
struct m0_serve_eq;
struct m0_serve_md;
struct m0_serve_me;
struct m0_serve_op;

enum {
	/** Portals whose numbers of transfer machines can be claimed. */
	M0_SERVE_PORTALS_MAX = M0_SHARED_TM_PORTALS_MAX,
	/** Ranges of portals, and of numbers, that a process may use. */
	M0_SERVE_RANGES_MAX = 8
};

/** A number of a transfer machine. */
struct m0_serve_tmid {
	/** NULL: the number is free. */
	struct m0_serve *vti_owner;
	/** MEs of the owner for the number, which it keeps until they have ended. */
	uint32_t vti_mes_nr;
	bool     vti_is_claimed;
	/** An ME of the owner, a queue, for which it takes messages of other processes
	 * itself, at a name that they are given. NULL: none. */
	struct m0_serve_me *vti_queue;
	uint64_t            vti_name;
};

struct m0_serve_portal {
	/** By number; NULL: no process has claimed one. */
	struct m0_serve_tmid *vpo_tmids;
	/** Numbers that are not free. */
	uint32_t vpo_owned_nr;
	/** MEs that were attached while all numbers were free: they may match any. */
	uint32_t vpo_raw_nr;
};

/** Numbers of transfer machines, of all processes of a daemon. The node's thread. */
struct m0_serve_tms {
	struct m0_serve_portal vts_portals[M0_SERVE_PORTALS_MAX];
};

/** Where a process has a region, for processes that copy from it. */
struct m0_serve_home {
	uint32_t vhm_pid;
	uint64_t vhm_addr;
	/** A cookie of the process, and its address. */
	uint64_t vhm_cookie_at;
	uint64_t vhm_cookie[2];
};

/** A region of a process, as this process has it mapped. */
struct m0_serve_span {
	uintptr_t            vsp_addr;
	uint64_t             vsp_bytes;
	struct m0_serve     *vsp_serve;
	uint32_t             vsp_nr;
	struct m0_serve_home vsp_home;
};

/** Copies between processes, of all processes of a daemon. The node's thread. */
struct m0_serve_copies {
	/** The node's, while there are users. */
	struct m0_copier vcs_copier;
	/** Payloads with fewer bytes are the daemon's; 0: the default. */
	m0_bcount_t vcs_bytes_min;
	uint32_t    vcs_users_nr;
	uint32_t    vcs_serial;
	/** Regions with a home, by address. */
	struct m0_serve_span *vcs_spans;
	uint32_t              vcs_nr;
	uint32_t              vcs_max;
};

enum m0_serve_copy_state {
	M0_SERVE_COPY_FREE,
	M0_SERVE_COPY_AWAY,
	/** The message has ended; the answer is still to come. */
	M0_SERVE_COPY_CANCELLED
};

/** A copy that the process was asked for. */
struct m0_serve_copy {
	enum m0_serve_copy_state vcy_state;
	uint32_t                 vcy_gen;
	/** The bit in srv_unreadable of the process that has the bytes. */
	uint64_t             vcy_from_bit;
	struct m0_copier_job vcy_job;
};

struct m0_serve_range {
	uint32_t vrg_first;
	uint32_t vrg_last;
};

/** Numbers that are admitted: those of any of the ranges. */
struct m0_serve_ranges {
	struct m0_serve_range vrs_ranges[M0_SERVE_RANGES_MAX];
	unsigned              vrs_nr;
};

/** All numbers. */
#define M0_SERVE_RANGES_ALL \
	((struct m0_serve_ranges){ { { 0, UINT32_MAX } }, 1 })

/** Limits and rights of a process. */
struct m0_serve_cfg {
	/** Sizes of its area. */
	struct m0_shared_cfg svg_shared;
	/** Most bytes of memory that it may have mapped. */
	uint64_t svg_bytes_max;
	/** Most right that its control requests may need. */
	enum m0_shared_right svg_right;
	/** Time for which the runner looks for more after the last entry, before the
	 * process has to wake it; 0: it has to at once. */
	m0_time_t svg_spin_ns;
	/** NULL: it cannot claim numbers of transfer machines. */
	struct m0_serve_tms *svg_tms;
	/** NULL: the daemon copies between its processes. */
	struct m0_serve_copies *svg_copies;
	/** Portals of its MEs, and those to which it may send. */
	struct m0_serve_ranges svg_portals;
	/** Numbers of transfer machines that it may claim, and for which it may have MEs. */
	struct m0_serve_ranges svg_tmids;
	/** The policy forbids copies: the owner leaves svg_copies NULL. */
	bool svg_no_copies;
};

/** The defaults of a process; svg_tms and svg_copies are NULL. */
extern const struct m0_serve_cfg m0_serve_cfg_default;

/** Calls of the server to its owner. */
struct m0_serve_ops {
	/** Everything that the process held is released. The node's thread; the owner
	 * calls m0_serve_fini() later, from another thread. */
	void (*svo_ended)(struct m0_serve *srv);
	/** Where the process has region `nr`, which was mapped; false: it does not say. The
	 * node's thread. NULL: nobody copies. */
	bool (*svo_home)(struct m0_serve *srv, uint32_t nr,
			 struct m0_serve_home *ret);
};

enum m0_serve_state {
	M0_SERVE_OPEN,
	/** Entries and MDs of the process are being ended. */
	M0_SERVE_ENDING,
	M0_SERVE_ENDED
};

/** Objects of a kind by the number that the process gave them: in chunks, which are
 * made when a number of them is first used. */
struct m0_serve_table {
	void   **vta_chunks;
	uint32_t vta_max;
	uint32_t vta_bytes;
};

/** Recalls of MDs that the process holds: how many; how many in this row, and when it began. */
struct m0_serve_recalls {
	uint32_t  vrl_nr;
	unsigned  vrl_row;
	m0_time_t vrl_at;
};

struct m0_serve {
	struct m0_lnet            *srv_lnet;
	struct m0_serve_cfg        srv_cfg;
	const struct m0_serve_ops *srv_ops;
	/** For the owner. */
	void                    *srv_owner;
	struct m0_shared_side    srv_side;
	struct m0_shared_regions srv_regions;
	/** By region: MDs that use it. */
	uint32_t             *srv_region_users;
	struct m0_lnet_runner srv_runner;
	struct m0_serve_table srv_mes;
	struct m0_serve_table srv_mds;
	struct m0_serve_table srv_ops_table;
	struct m0_serve_table srv_eqs;
	/** One more than the highest number of a queue so far. */
	uint32_t               srv_eqs_end;
	struct m0_front_relay *srv_relays;
	/** Requests that take their time and have not ended (m0_front_relay_is_slow()), and by
	 * record the generation of the request. */
	uint32_t  srv_slow_nr;
	uint32_t *srv_slow_gens;
	/** Its bound is that of all incoming messages of the process. */
	struct m0_lnet_eq srv_all;
	/** For MDs without a queue: their ends are events, too. */
	struct m0_serve_eq *srv_quiet;
	/** Incoming messages that the process has taken, as reported to the node. */
	uint32_t srv_taken_nr;
	/** MDs that have not ended. Atomic: written by the node's thread. */
	uint32_t srv_mds_nr;
	/** By portal: its part of vpo_raw_nr and of vpo_owned_nr. */
	uint32_t srv_raw_nr[M0_SERVE_PORTALS_MAX];
	uint32_t srv_owned_nr[M0_SERVE_PORTALS_MAX];
	/** Operations that the policy, or the owner of a number, has kept it from. Atomic. */
	uint64_t srv_denied_nr;
	/** Copies that it was asked for; one bit for each process from which it could not
	 * copy. Its number among the users of svg_copies; 0: it is none. */
	struct m0_serve_copy srv_copies[M0_SHARED_COPIES_MAX];
	uint64_t             srv_unreadable;
	uint32_t             srv_serial;
	/** Bytes that came to it from processes of this node and from the node's own: it has
	 * copied them, the daemon has; copies that it was asked for and has not made. Atomic:
	 * written by the node's thread. */
	uint64_t srv_copied_bytes;
	uint64_t srv_daemon_bytes;
	uint64_t srv_fell_back_nr;
	/** Bytes that it has copied, of messages whose events are still to come. */
	uint64_t            srv_due_bytes;
	enum m0_serve_state srv_state;
	/** Atomic: the attachment is to end. */
	bool srv_ends;
	/** Version of the NIDs of which the process was last notified. */
	uint32_t srv_nids_version;
	/** Time of the last entry. */
	m0_time_t srv_busy_at;
	/** A message waits for what the process has put by now. */
	bool                    srv_is_awaited;
	struct m0_serve_recalls srv_recalls;
	/** Why the server has ended it; shy_field NULL: it has not. */
	struct m0_shared_why srv_why;
	/** The request that is carried out. */
	struct m0_shared_request srv_req;
	struct m0_ring_seg       srv_segs[M0_LNET_MD_SEGS_MAX];
	struct m0_ring_control   srv_control;
};

/**
 * Makes the area and begins to serve it.
 * @param area  zeroes, aligned to a cache line, of m0_shared_bytes().
 * @param host  wakes the process, maps its memory.
 * @retval -EINVAL  with a reason in srv_why. @retval -ENOMEM, -ENOSPC
 */
int m0_serve_init(struct m0_serve *srv, struct m0_lnet *lnet,
		  const struct m0_serve_cfg *cfg, void *area, uint64_t bytes,
		  const struct m0_shared_host *host, void *host_arg,
		  const struct m0_serve_ops *ops, void *owner);
/** The process has rung its bell. Any thread. */
void m0_serve_wake(struct m0_serve *srv);
/** The process is gone, or shall be: svo_ended follows. Any thread. */
void m0_serve_end(struct m0_serve *srv);
/** Pre: svo_ended was called, or m0_serve_init() has failed. Not on the node's thread. */
void m0_serve_fini(struct m0_serve *srv);

/** Does one of the ranges have the number? */
bool m0_serve_ranges_have(const struct m0_serve_ranges *ranges, uint32_t nr);

/** Frees the memory. Nobody claims any more. */
void m0_serve_tms_fini(struct m0_serve_tms *tms);
/** Frees the memory. Nobody is served any more. */
void m0_serve_copies_fini(struct m0_serve_copies *copies);

#endif /* M0_SRC_SERVE_SERVE_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Many LNet engines in virtual time, joined by a driver that moves messages in memory
 * with a latency. It is for populations for which lnet_pair.h is too slow and too
 * large: only nodes that have something to do are run. Nodes die and are restarted,
 * and a driver notices the death of a peer as one over TCP does.
 */
#ifndef M0_TESTS_LIB_LNET_CROWD_H
#define M0_TESTS_LIB_LNET_CROWD_H

#include "lnet/engine.h"

enum {
	CROWD_NIS_MAX = 2,
	/** A driver gives up a peer that is silent for so long. */
	CROWD_LND_MS = 8000,
	/** Latency of a message, a tick of the timers. */
	CROWD_LATENCY_NS = 1 << M0_TIMERQ_TICK_SHIFT
};

enum crowd_life {
	CROWD_UP,
	/** Messages to it hang until the sender's driver gives up. */
	CROWD_SILENT,
	/** Its connections were reset; messages to it fail. */
	CROWD_RESET
};

struct crowd;
struct crowd_posted;

struct crowd_node {
	struct crowd          *cno_crowd;
	enum crowd_life        cno_life;
	struct m0_lnet_engine *cno_engine;
	struct m0_lnd          cno_lnd;
	struct m0_lnd_ni      *cno_ni[CROWD_NIS_MAX];
	unsigned               cno_nis_nr;
	struct m0_lnet_nid     cno_nids[CROWD_NIS_MAX];
	unsigned               cno_nids_nr;
	/** Messages of the driver: new ones, on their way, and to silent peers. */
	struct m0_list       cno_txs;
	struct m0_list       cno_flight;
	struct m0_list       cno_held;
	struct m0_list       cno_rxs;
	struct crowd_posted *cno_posted;
	struct crowd_posted *cno_posted_last;
	/** Objects that the engine has. */
	unsigned cno_msgs_nr;
	unsigned cno_mds_nr;
	unsigned cno_mes_nr;
	/** Next run: a timer, or in the list of those that run now. */
	struct m0_timer     cno_timer;
	struct m0_list_link cno_soon;
};

struct crowd {
	m0_time_t          crw_now;
	unsigned           crw_nr;
	struct crowd_node *crw_node;
	struct m0_timerq   crw_timers;
	struct m0_list     crw_soon;
	/** Finds the node with a NID. */
	struct crowd_node *(*crw_find)(struct crowd             *crowd,
				       const struct m0_lnet_nid *nid);
	/** An event of a node, between two of its steps. */
	void (*crw_event)(struct crowd_node          *node,
			  const struct m0_lnet_event *ev);
	/** Messages that have arrived. */
	uint64_t crw_moved_nr;
};

/** Makes `nr` nodes, none of which is open; the caller sets the functions. */
struct crowd *crowd_open(unsigned nr);
/** Closes all nodes, and checks that nothing is left. */
void crowd_close(struct crowd *crowd);

/** Opens a node that has cno_nids_nr NIDs. */
void crowd_node_open(struct crowd_node               *node,
		     const struct m0_lnet_engine_cfg *cfg);
/** Ends a node as a crash (CROWD_SILENT) or a kill (CROWD_RESET) does: nothing leaves
 * it any more, and its own operations end. */
void crowd_node_die(struct crowd_node *node, enum crowd_life how);
/** Opens a dead node again: connections to its former life are reset. */
void crowd_node_restart(struct crowd_node               *node,
			const struct m0_lnet_engine_cfg *cfg);
/** Runs the node at the present time, after something was asked of its engine. */
void crowd_node_touch(struct crowd_node *node);

/** Lets time pass. */
void crowd_run(struct crowd *crowd, uint64_t ms);

/** Posts an entry for PUTs, without a limit. */
void crowd_sink(struct crowd_node *node, uint32_t portal, uint64_t bits,
		void *buf, m0_bcount_t bytes);
/** PUT with ACK. The MD must be unlinked if the last event does not. */
void crowd_put(struct crowd_node *node, const struct m0_lnet_nid *dst,
	       uint32_t portal, uint64_t bits, void *buf, m0_bcount_t bytes,
	       uint64_t hdr_data, void *user);
/** Unlinks the MD of an event. */
void crowd_unlink(struct crowd_node *node, const struct m0_lnet_event *ev);

#endif /* M0_TESTS_LIB_LNET_CROWD_H */

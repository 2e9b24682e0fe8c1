/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * LNet's selftest at a node: it serves sessions, batches and tests that a console
 * asks for, and makes calls for a console of this process.
 *
 * Everything happens on the node's thread: in callbacks of one event queue, and in
 * a runner. Other threads reach it by an inbox (st_life.c).
 *
 *	console --MKSN, TEST, BATCH, STAT--> node A --BRW, PING--> node B
 */
#ifndef M0_SRC_SELFTEST_SELFTEST_H
#define M0_SRC_SELFTEST_SELFTEST_H

#include "m0/lnet.h"
#include "selftest/st_wire.h"

struct m0_st;

struct m0_st_cfg {
	/** The node; it has a thread. */
	struct m0_lnet *scf_lnet;
	/** Serve requests; else only make calls. */
	bool scf_serves;
	/** Called on the node's thread for each request: may this node use us?
	 * NULL: every node may. */
	bool (*scf_admits)(void *arg, const struct m0_lnet_nid *nid);
	void *scf_arg;
	/** Seconds without a request of the console after which a session ends. */
	uint32_t scf_session_timeout;
	uint64_t scf_rpc_timeout_ms;
	/** Most memory of bulk buffers, and as much again for tests of ours. */
	uint64_t scf_memory_max;
	/** Most requests that are served, and most that wait for an answer. */
	unsigned scf_rpcs_max;
};
/** The kernel's time-outs, 64 MiB, 4096 requests. */
void m0_st_cfg_default(struct m0_st_cfg *cfg);

/**
 * Starts. Portals 50 to 52 must not have other users.
 * @retval -ENOMEM, -ENOSPC, -ESHUTDOWN
 */
int m0_st_open(struct m0_st **ret, const struct m0_st_cfg *cfg);
/** Ends the session and all requests, and waits for that. Before the node is
 * closed; not in a callback. */
void m0_st_close(struct m0_st *st);

/** A request to a node and its reply. */
struct m0_st_call {
	struct m0_lnet_process_id scl_dest;
	struct m0_st_msg          scl_request;
	/** Bytes that the node fetches meanwhile; NULL: none. */
	void  *scl_bulk;
	size_t scl_bulk_bytes;
	/** 0: scl_reply is valid, and a status of 0 is about the session of the
	 * request; -ETIMEDOUT, -EBADMSG, -EPROTO, and what a PUT returns. */
	int              scl_rc;
	struct m0_st_msg scl_reply;
	/** From the request to the reply. */
	m0_time_t scl_ns;
	/* Private. */
	struct m0_list_link          scl_link;
	struct m0_st_batch_of_calls *scl_of;
};
/**
 * Makes calls, and waits for all of them. The calls choose match bits and version.
 * Blocks: not in a callback.
 * @param timeout_ms  for each; 0: scf_rpc_timeout_ms.
 */
void m0_st_calls(struct m0_st *st, struct m0_st_call *calls, unsigned nr,
		 uint64_t timeout_ms);

/** State of the selftest at the node. */
struct m0_st_state {
	bool               sls_has_session;
	char               sls_name[M0_ST_NAME_BYTES];
	struct m0_st_sid   sls_sid;
	uint32_t           sls_feats;
	unsigned           sls_batches_nr;
	unsigned           sls_tests_nr;
	unsigned           sls_active_nr;
	struct m0_st_stats sls_stats;
	/** Requests of nodes that may not use us. */
	uint64_t sls_refused_nr;
	/** Requests, buffers and memory in use now. */
	unsigned sls_rpcs_nr;
	uint64_t sls_memory;
};
/** Blocks until the node's thread has answered. */
void m0_st_state_get(struct m0_st *st, struct m0_st_state *ret);

#endif /* M0_SRC_SELFTEST_SELFTEST_H */

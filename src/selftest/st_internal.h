/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Private to the selftest. All functions run on the node's thread. */
#ifndef M0_SRC_SELFTEST_ST_INTERNAL_H
#define M0_SRC_SELFTEST_ST_INTERNAL_H

#include "m0/lnet_run.h"
#include "m0/list.h"
#include "m0/sync.h"
#include "selftest/selftest.h"
#include "selftest/st_pattern.h"

enum {
	/** Messages that fit into a buffer for requests, and buffers of each
	 * service. */
	ST_REQUESTS_PER_BUF = 64,
	ST_REQUEST_BUFS = 2,
	ST_SERVICES_NR = 8,
	/** Limits of a session. */
	ST_BATCHES_MAX = 64,
	ST_TESTS_MAX = 256,
	/** Streams of requests, destinations times concurrency, of all tests. */
	ST_UNITS_MAX = 65536,
	ST_CHECKS_NR = M0_ST_CHECK_DISCARD + 1,
	ST_PAGE_SHIFT = 12
};
/** Pause after a request that failed, of a test that continues. */
#define ST_PAUSE (100 * M0_TIME_ONE_MSEC)

/** Use of an MD, the first field of what mda_user points to. */
enum st_use {
	ST_USE_REQUESTS,
	ST_USE_PART
};

/** A buffer in which requests arrive. */
struct st_inlet {
	enum st_use           slt_use;
	struct st_service    *slt_service;
	struct m0_lnet_handle slt_md;
	bool                  slt_live;
	void                 *slt_addr;
	m0_bcount_t           slt_bytes;
	struct m0_bufvec      slt_vec;
	uint8_t               slt_room[ST_REQUESTS_PER_BUF * M0_ST_MSG_BYTES];
};

struct st_service {
	struct m0_st         *svc_st;
	uint32_t              svc_type;
	struct m0_lnet_handle svc_me;
	struct st_inlet       svc_inlets[ST_REQUEST_BUFS];
};

enum st_part_nr {
	ST_REQUEST,
	ST_REPLY,
	ST_BULK,
	ST_PARTS_NR
};

/** One of the MDs of a request. */
struct st_part {
	enum st_use           spt_use;
	enum st_part_nr       spt_nr;
	struct st_rpc        *spt_rpc;
	struct m0_lnet_handle spt_md;
	bool                  spt_live;
	void                 *spt_addr;
	m0_bcount_t           spt_bytes;
	struct m0_bufvec      spt_vec;
};

/** A request that waits for its reply, or that is served. */
struct st_rpc {
	struct m0_st *sqr_st;
	/** In slf_rpcs, by deadline. */
	struct m0_list_link sqr_link;
	/** In slf_ended, or in slf_waiting for a buffer. */
	struct m0_list_link       sqr_wait_link;
	m0_time_t                 sqr_begin;
	m0_time_t                 sqr_deadline;
	bool                      sqr_is_client;
	struct m0_lnet_process_id sqr_peer;
	struct m0_lnet_nid        sqr_self;
	struct st_part            sqr_parts[ST_PARTS_NR];
	unsigned                  sqr_live_nr;
	/** The request ends, with sqr_rc, when no part is live. */
	bool     sqr_ends;
	int      sqr_rc;
	bool     sqr_has_reply;
	bool     sqr_has_bulk;
	bool     sqr_wants_bulk;
	bool     sqr_is_expired;
	uint8_t *sqr_buf;
	uint8_t  sqr_out[M0_ST_MSG_BYTES];
	uint8_t  sqr_in[M0_ST_MSG_BYTES];
	/** The request, and the reply. */
	struct m0_st_msg sqr_msg;
	struct m0_st_msg sqr_rep;
	/** Client: called when it has ended; the owner frees it. */
	void (*sqr_done)(struct st_rpc *rpc);
	void *sqr_owner;
};

/** A stream of requests of a test, one after the other, to one node. */
struct st_unit {
	struct st_test           *sun_test;
	struct m0_lnet_process_id sun_dest;
	uint32_t                  sun_left;
	uint32_t                  sun_seq;
	struct st_rpc            *sun_rpc;
	/** In slf_paused. */
	struct m0_list_link sun_link;
	m0_time_t           sun_resume;
	uint8_t            *sun_buf;
};

struct st_test {
	struct m0_list_link stk_link;
	struct st_batch    *stk_batch;
	struct m0_st_test   stk_what;
	uint32_t            stk_nr;
	struct st_unit     *stk_units;
	uint32_t            stk_units_nr;
	/** Units that there is memory for. */
	uint32_t stk_units_room;
	uint32_t stk_active_nr;
	bool     stk_stops;
	/** Data of writes. */
	uint8_t *stk_source;
	uint64_t stk_memory;
};

struct st_batch {
	struct m0_list_link sbh_link;
	struct st_session  *sbh_session;
	uint64_t            sbh_id;
	struct m0_list      sbh_tests;
	uint32_t            sbh_tests_nr;
	uint32_t            sbh_active_nr;
};

struct st_session {
	struct m0_list_link sse_link;
	struct m0_st       *sse_st;
	struct m0_st_sid    sse_sid;
	char                sse_name[M0_ST_NAME_BYTES];
	uint32_t            sse_feats;
	unsigned            sse_refs;
	m0_time_t           sse_begin;
	m0_time_t           sse_heard;
	struct m0_list      sse_batches;
	unsigned            sse_batches_nr;
	unsigned            sse_tests_nr;
	uint32_t            sse_brw_errors;
	uint32_t            sse_ping_errors;
};

struct m0_st {
	struct m0_st_cfg      slf_cfg;
	struct m0_lnet       *slf_lnet;
	struct m0_lnet_eq     slf_eq;
	struct m0_lnet_runner slf_runner;
	struct st_service     slf_services[ST_SERVICES_NR];
	unsigned              slf_inlets_live_nr;
	/** Some buffer for requests could not be attached; the runner tries again. */
	bool           slf_inlets_missing;
	uint64_t       slf_next_id;
	m0_time_t      slf_wake_at;
	struct m0_list slf_rpcs;
	unsigned       slf_served_nr;
	unsigned       slf_calling_nr;
	struct m0_list slf_ended;
	struct m0_list slf_waiting;
	/** Free buffers of M0_ST_BULK_MAX, each begins with a link. */
	struct m0_list slf_bufs;
	uint64_t       slf_bufs_bytes;
	uint64_t       slf_tests_bytes;
	uint32_t       slf_units_nr;
	/** Data of reads that are served, by check. */
	uint8_t *slf_sources[ST_CHECKS_NR];
	/** NULL: none. */
	struct st_session *slf_session;
	struct m0_list     slf_zombies;
	unsigned           slf_zombies_nr;
	struct m0_list     slf_paused;
	struct m0_st_stats slf_counts;
	uint64_t           slf_refused_nr;
	bool               slf_closing;
	/* The inbox, under the lock. */
	struct m0_mutex      slf_lock;
	struct m0_list       slf_posted;
	struct m0_st_state  *slf_asked;
	struct m0_semaphore *slf_asked_sem;
	bool                 slf_close_asked;
	struct m0_semaphore  slf_closed;
	/** Calls that have not been started. */
	struct m0_list slf_calls;
};

/* -- st_life.c ------------------------------------------------------------- */

/** Calls the runner at `deadline`, or before. */
void m0_st__wake(struct m0_st *st, m0_time_t deadline);
/** A buffer of M0_ST_BULK_MAX; NULL: all are in use. */
uint8_t *m0_st__buf_get(struct m0_st *st);
void     m0_st__buf_put(struct m0_st *st, uint8_t *buf);
/** Data with the pattern of a check; NULL: no memory. */
uint8_t *m0_st__source(struct m0_st *st, enum m0_st_check check);

/* -- st_rpc.c -------------------------------------------------------------- */

struct st_rpc *m0_st__rpc_alloc(struct m0_st *st, bool is_client,
				uint64_t timeout_ms);
/** Pre: no part is live. */
void m0_st__rpc_free(struct st_rpc *rpc);
/**
 * Sends sqr_msg to sqr_peer. sqr_done is called later in any case.
 * @param bulk     NULL: none; else it is received into or, with `is_source`,
 *                 fetched from.
 */
void m0_st__rpc_call(struct st_rpc *rpc, void *bulk, size_t bytes,
		     bool is_source);
/** Ends a call or a request that is served, with an error. */
void m0_st__rpc_end(struct st_rpc *rpc, int rc);
/** Takes an event of a part. */
void m0_st__rpc_event(struct st_part *part, const struct m0_lnet_event *event);
/** Starts the bulk of a request that is served; m0_st__serve_bulk() follows. */
void m0_st__rpc_bulk(struct st_rpc *rpc, void *addr, size_t bytes, bool is_get);
/** Sends sqr_rep; the request ends. */
void m0_st__rpc_reply(struct st_rpc *rpc);

/* -- st_serve.c ------------------------------------------------------------ */

/** A message has come in for a service. */
void m0_st__serve(struct st_service *service, const struct m0_lnet_event *event,
		  const uint8_t *bytes);
/** The bulk of a request is over. */
void m0_st__serve_bulk(struct st_rpc *rpc, int rc);
/** A buffer is free, or the request has ended. */
void m0_st__serve_next(struct m0_st *st);

/* -- st_session.c ---------------------------------------------------------- */

/** Finds a batch of the session. @return NULL: there is none. */
struct st_batch *m0_st__batch_find(struct st_session *session, uint64_t id);
/** Answers framework requests: fills sqr_rep. */
void m0_st__session_serve(struct st_rpc *rpc);
/** The session is over; what it began ends. */
void m0_st__session_end(struct m0_st *st);
/** Frees what has ended. */
void m0_st__session_reap(struct m0_st *st);
/** The session of a request; NULL with `*ret_status` set if there is none. */
struct st_session *m0_st__session_of(struct m0_st           *st,
				     const struct m0_st_msg *msg, uint32_t none,
				     uint32_t *ret_status);
void               m0_st__stats_fill(struct m0_st *st, struct m0_st_stats *ret);

/* -- st_test.c ------------------------------------------------------------- */

/**
 * Adds a test; `dests` is the list as it was fetched.
 * @return status of the reply.
 */
uint32_t m0_st__test_add(struct st_session      *session,
			 const struct m0_st_msg *msg, const uint8_t *dests);
void     m0_st__test_free(struct st_test *test);
void     m0_st__test_run(struct st_test *test);
void     m0_st__test_stop(struct st_test *test, bool force);
/** Continues units whose pause is over. @return when to call it again. */
m0_time_t m0_st__tests_resume(struct m0_st *st, m0_time_t now);

#endif /* M0_SRC_SELFTEST_ST_INTERNAL_H */

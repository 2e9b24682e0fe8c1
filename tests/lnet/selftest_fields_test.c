/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every field of every message of the selftest, with values that are wrong, at their
 * bounds, or by chance: what a node answers, what a console makes of an answer, and
 * that both go on afterwards.
 */
#include <stdlib.h>

#include "base/rand.h"
#include "lnet/node.h"
#include "m0/lnet_run.h"
#include "selftest/selftest.h"
#include "sim/sched/heap.h"

enum {
	/** No reply comes. */
	DROPPED = -1,
	BODY = 24,
	PARAMS = BODY + 58,
	REPLY_MS = 200,
	BATCH = 1,
	SWEEP_NR = 60,
	/** Allocations of a request and its reply. */
	HEAP_NR = 16,
	/** MDs of a node that has few. */
	MDS_NR = 40
};

static struct m0_sim    sim;
static struct node      asker;
static struct node      served;
static struct m0_st    *st;
static struct m0_st_sid sid = { 0x0002000a000001ULL, 7 };

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_piece_bytes_max = 65536,
};

/* -- raw messages ---------------------------------------------------------- */

/** A message of 160 bytes that is sent, or that is awaited. */
struct raw {
	uint8_t          raw_bytes[M0_ST_MSG_BYTES];
	void            *raw_addr;
	m0_bcount_t      raw_nr;
	struct m0_bufvec raw_vec;
	bool             raw_come;
	bool             raw_over;
	size_t           raw_moved;
};

static void raw_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *event)
{
	struct raw *raw = event->ev_md_user;

	(void)eq;
	if (event->ev_type == M0_LNET_EV_PUT && event->ev_status == 0) {
		raw->raw_come = true;
		raw->raw_moved = event->ev_mlength;
	}
	if (event->ev_unlinked)
		raw->raw_over = true;
}

static bool raw_is_over(void *arg)
{
	return ((struct raw *)arg)->raw_over;
}

static struct m0_lnet_md_attr raw_md(struct raw *raw, struct m0_lnet_eq *eq,
				     size_t nr, unsigned options)
{
	raw->raw_addr = raw->raw_bytes;
	raw->raw_nr = nr;
	raw->raw_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&raw->raw_addr,
							    &raw->raw_nr);
	return (struct m0_lnet_md_attr){
		.mda_vec = &raw->raw_vec,
		.mda_length = nr,
		.mda_threshold = 1,
		.mda_auto_unlink = true,
		.mda_options = options,
		.mda_eq = eq,
		.mda_user = raw,
	};
}

static void raw_send(struct node *from, const struct node *to,
		     struct m0_lnet_eq *eq, struct raw *raw, size_t nr,
		     uint32_t portal, uint64_t bits)
{
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { to->n_nid, M0_LNET_PID_LUSTRE },
		.lo_portal = portal,
		.lo_match_bits = bits,
	};
	struct m0_lnet_md_attr md = raw_md(raw, eq, nr, 0);
	struct m0_lnet_handle  handle;

	assert_int_equal(m0_lnet_bind_put(from->n_lnet, &md, &op, &handle), 0);
}

static struct m0_lnet_handle raw_await(struct node *at, const struct node *from,
				       struct m0_lnet_eq *eq, struct raw *raw,
				       uint64_t bits)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = M0_ST_PORTAL_REPLY,
		.mea_id = { from->n_nid, M0_LNET_PID_LUSTRE },
		.mea_match_bits = bits,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md =
		raw_md(raw, eq, M0_ST_MSG_BYTES, M0_LNET_MD_OP_PUT);
	struct m0_lnet_handle handle;

	assert_int_equal(m0_lnet_entry_attach(at->n_lnet, &me, &md, &handle),
			 0);
	return handle;
}

/** Sends bytes to a service. @return status of the reply, or DROPPED. */
static int ask_bytes(const uint8_t bytes[M0_ST_MSG_BYTES], size_t nr,
		     uint32_t type, uint64_t rpyid)
{
	struct m0_lnet_eq     eq;
	struct m0_lnet_handle handle;
	struct m0_st_msg      msg;
	struct raw            request = { .raw_come = false };
	struct raw            reply = { .raw_come = false };
	int                   ret = DROPPED;

	memcpy(request.raw_bytes, bytes, M0_ST_MSG_BYTES);
	m0_lnet_eq_init(&eq, asker.n_lnet, raw_event, 0);
	handle = raw_await(&asker, &served, &eq, &reply, rpyid);
	raw_send(&asker, &served, &eq, &request, nr, m0_st_type_portal(type),
		 m0_st_type_service(type));
	if (!m0_sim_run_until(&sim, raw_is_over, &reply,
			      REPLY_MS * M0_TIME_ONE_MSEC))
		(void)m0_lnet_md_unlink(asker.n_lnet, handle);
	assert_true(m0_sim_run_until(&sim, raw_is_over, &reply,
				     REPLY_MS * M0_TIME_ONE_MSEC));
	assert_true(m0_sim_run_until(&sim, raw_is_over, &request,
				     REPLY_MS * M0_TIME_ONE_MSEC));
	if (reply.raw_come) {
		assert_int_equal(reply.raw_moved, M0_ST_MSG_BYTES);
		assert_int_equal(m0_st_decode(&msg, reply.raw_bytes,
					      M0_ST_MSG_BYTES),
				 0);
		assert_int_equal(msg.smg_type, type + 1);
		ret = (int)msg.smg_status;
	}
	m0_lnet_eq_fini(&eq);
	return ret;
}

static struct m0_st_msg msg_of(uint32_t type)
{
	static uint64_t  next = 1000;
	struct m0_st_msg msg = {
		.smg_version = M0_ST_VERSION,
		.smg_type = type,
		.smg_feats = M0_ST_FEAT_LEN,
		.smg_rpyid = ++next,
		.smg_sid = sid,
	};

	snprintf(msg.smg_name, sizeof msg.smg_name, "fields");
	msg.smg_batch = BATCH;
	msg.smg_opc = M0_ST_QUERY;
	msg.smg_ping_magic = M0_ST_PING_MAGIC;
	msg.smg_rw = M0_ST_WRITE;
	msg.smg_check = M0_ST_CHECK_NONE;
	/* An EINVAL comes before the bulk, which has no buffer here. */
	msg.smg_bytes = 0;
	msg.smg_test = (struct m0_st_test){
		.tsr_batch = BATCH,
		.tsr_service = M0_ST_SRV_BRW,
		.tsr_loop = 1,
		.tsr_concurrency = 1,
		.tsr_rw = M0_ST_READ,
		.tsr_check = M0_ST_CHECK_FULL,
		.tsr_bytes = 4096,
	};
	return msg;
}

static int ask(const struct m0_st_msg *msg)
{
	uint8_t bytes[M0_ST_MSG_BYTES];

	m0_st_encode(msg, bytes);
	return ask_bytes(bytes, sizeof bytes, msg->smg_type, msg->smg_rpyid);
}

static int ask_type(uint32_t type)
{
	struct m0_st_msg msg = msg_of(type);

	return ask(&msg);
}

static void up_tuned(void (*tune)(struct m0_lnet_cfg *cfg))
{
	struct m0_st_cfg cfg;

	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	node_init(&asker, &sim, "asker", "10.0.0.1", NULL);
	node_init(&served, &sim, "served", "10.0.0.2", tune);
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = served.n_lnet;
	cfg.scf_rpc_timeout_ms = 1000;
	assert_int_equal(m0_st_open(&st, &cfg), 0);
}

static void up(void)
{
	up_tuned(NULL);
}

static void down(void)
{
	m0_st_close(st);
	node_fini(&served);
	node_fini(&asker);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/** A session with a batch that has the server's half of a test. */
static void session_begin(void)
{
	assert_int_equal(ask_type(M0_ST_MKSN), 0);
	assert_int_equal(ask_type(M0_ST_TEST), 0);
	assert_int_equal(ask_type(M0_ST_BATCH), 0);
}

static void session_end(void)
{
	struct m0_st_state state;
	unsigned           i;

	/* Each MKSN is one more reference. */
	for (i = 0; i < 100 && ask_type(M0_ST_RMSN) == 0; ++i)
		;
	assert_int_equal(ask_type(M0_ST_RMSN), ESRCH);
	m0_sim_run_ms(&sim, 1500);
	m0_st_state_get(st, &state);
	assert_false(state.sls_has_session);
	assert_int_equal(state.sls_rpcs_nr, 0);
	assert_int_equal(state.sls_memory, 0);
}

/* -- requests -------------------------------------------------------------- */

/** A field of a request with a value, and what is answered. */
struct wrong {
	uint32_t    wrg_type;
	const char *wrg_field;
	uint16_t    wrg_at;
	uint8_t     wrg_bytes;
	uint64_t    wrg_value;
	int         wrg_status;
};

#define SID_NID(type, at, other, any)                           \
	{ type, "sid.nid", BODY + (at), 8, UINT64_MAX, any },   \
		{ type, "sid.nid", BODY + (at), 8, 5, other },  \
	{                                                       \
		type, "sid.stamp", BODY + (at) + 8, 8, 8, other \
	}
/** Fields of the header, of each type. `feats`: other features than the session's. */
#define HEADER(type, feats)                                  \
	{ type, "magic", 0, 4, 1, DROPPED },                 \
		{ type, "version", 4, 4, 0, EPROTO },        \
		{ type, "version", 4, 4, 2, EPROTO },        \
		{ type, "type", 8, 4, (type) + 1, DROPPED }, \
		{ type, "type", 8, 4, 16, DROPPED },         \
		{ type, "type", 8, 4, UINT32_MAX, DROPPED }, \
		{ type, "feats", 20, 4, 8, feats },          \
	{                                                    \
		type, "rpyid", BODY, 8, 1, DROPPED           \
	}

static const struct wrong wrongs[] = {
	HEADER(M0_ST_MKSN, EPROTO),
	SID_NID(M0_ST_MKSN, 8, EBUSY, EINVAL),
	{ M0_ST_MKSN, "force", BODY + 24, 4, UINT32_MAX, 0 },
	{ M0_ST_MKSN, "name", BODY + 28, 32, UINT64_MAX, DROPPED },
	{ M0_ST_MKSN, "name", BODY + 28, 32, 0, 0 },

	HEADER(M0_ST_RMSN, EPROTO),
	SID_NID(M0_ST_RMSN, 8, EBUSY, EINVAL),

	HEADER(M0_ST_BATCH, EPROTO),
	SID_NID(M0_ST_BATCH, 8, ESRCH, ESRCH),
	{ M0_ST_BATCH, "batch", BODY + 24, 8, 0, ENOENT },
	{ M0_ST_BATCH, "batch", BODY + 24, 8, UINT64_MAX, ENOENT },
	{ M0_ST_BATCH, "opc", BODY + 32, 4, 0, EINVAL },
	{ M0_ST_BATCH, "opc", BODY + 32, 4, 4, EINVAL },
	{ M0_ST_BATCH, "opc", BODY + 32, 4, UINT32_MAX, EINVAL },
	{ M0_ST_BATCH, "testidx", BODY + 36, 4, 2, ENOENT },
	{ M0_ST_BATCH, "testidx", BODY + 36, 4, UINT32_MAX, ENOENT },
	{ M0_ST_BATCH, "arg", BODY + 40, 4, UINT32_MAX, 0 },

	HEADER(M0_ST_STAT, EPROTO),
	SID_NID(M0_ST_STAT, 8, ESRCH, ESRCH),
	{ M0_ST_STAT, "type", BODY + 24, 4, UINT32_MAX, 0 },

	/* The session is shown to every node that asks. */
	HEADER(M0_ST_DEBUG, 0),
	SID_NID(M0_ST_DEBUG, 8, 0, 0),
	{ M0_ST_DEBUG, "flags", BODY + 24, 4, UINT32_MAX, 0 },

	HEADER(M0_ST_TEST, EINVAL),
	SID_NID(M0_ST_TEST, 16, ENOENT, EINVAL),
	{ M0_ST_TEST, "bulkid", BODY + 8, 8, UINT64_MAX, 0 },
	{ M0_ST_TEST, "batch", BODY + 32, 8, UINT64_MAX, 0 },
	{ M0_ST_TEST, "service", BODY + 40, 4, 0, EINVAL },
	{ M0_ST_TEST, "service", BODY + 40, 4, 13, EINVAL },
	{ M0_ST_TEST, "service", BODY + 40, 4, M0_ST_SRV_PING, 0 },
	{ M0_ST_TEST, "loop", BODY + 44, 4, 0, EINVAL },
	{ M0_ST_TEST, "loop", BODY + 44, 4, UINT32_MAX, 0 },
	{ M0_ST_TEST, "concur", BODY + 48, 4, 0, EINVAL },
	{ M0_ST_TEST, "concur", BODY + 48, 4, 1024, 0 },
	{ M0_ST_TEST, "concur", BODY + 48, 4, 1025, EINVAL },
	{ M0_ST_TEST, "concur", BODY + 48, 4, UINT32_MAX, EINVAL },
	{ M0_ST_TEST, "is_client", BODY + 52, 1, 1, EINVAL },
	{ M0_ST_TEST, "is_client", BODY + 52, 1, 255, EINVAL },
	{ M0_ST_TEST, "stop_on_error", BODY + 53, 1, 255, 0 },
	{ M0_ST_TEST, "ndest", BODY + 54, 4, UINT32_MAX, 0 },
	{ M0_ST_TEST, "rw", PARAMS, 2, 0, EINVAL },
	{ M0_ST_TEST, "rw", PARAMS, 2, 3, EINVAL },
	{ M0_ST_TEST, "check", PARAMS + 2, 2, 0, EINVAL },
	{ M0_ST_TEST, "check", PARAMS + 2, 2, 5, EINVAL },
	{ M0_ST_TEST, "len", PARAMS + 4, 4, 0, EINVAL },
	{ M0_ST_TEST, "len", PARAMS + 4, 4, M0_ST_BULK_MAX, 0 },
	{ M0_ST_TEST, "len", PARAMS + 4, 4, M0_ST_BULK_MAX + 1, EINVAL },
	{ M0_ST_TEST, "len", PARAMS + 4, 4, UINT32_MAX, EINVAL },
	{ M0_ST_TEST, "offset", PARAMS + 8, 4, 4095, 0 },
	{ M0_ST_TEST, "offset", PARAMS + 8, 4, 4096, EINVAL },

	/* Requests of tests have no identity of a session. */
	HEADER(M0_ST_BRW, EINVAL),
	{ M0_ST_BRW, "bulkid", BODY + 8, 8, UINT64_MAX, EINVAL },
	{ M0_ST_BRW, "rw", BODY + 16, 4, 0, EINVAL },
	{ M0_ST_BRW, "rw", BODY + 16, 4, 3, EINVAL },
	{ M0_ST_BRW, "len", BODY + 20, 4, M0_ST_BULK_MAX + 1, EINVAL },
	{ M0_ST_BRW, "len", BODY + 20, 4, UINT32_MAX, EINVAL },
	{ M0_ST_BRW, "flags", BODY + 24, 4, 0, EINVAL },
	{ M0_ST_BRW, "flags", BODY + 24, 4, 5, EINVAL },
	HEADER(M0_ST_PING, 0),
	{ M0_ST_PING, "magic", BODY + 8, 4, 0, EPROTO },
	{ M0_ST_PING, "seq", BODY + 12, 4, UINT32_MAX, 0 },
	{ M0_ST_PING, "sec", BODY + 16, 8, UINT64_MAX, 0 },
	{ M0_ST_PING, "nsec", BODY + 24, 8, UINT64_MAX, 0 },
};

static void field_set(uint8_t *bytes, const struct wrong *wrong)
{
	if (wrong->wrg_bytes > sizeof wrong->wrg_value)
		memset(bytes + wrong->wrg_at, (int)(wrong->wrg_value & 0xff),
		       wrong->wrg_bytes);
	else
		memcpy(bytes + wrong->wrg_at, &wrong->wrg_value,
		       wrong->wrg_bytes);
}

static void each_field_gets_its_status(void **state)
{
	const struct wrong *wrong;
	struct m0_st_msg    msg;
	uint8_t             bytes[M0_ST_MSG_BYTES];
	int                 status;

	(void)state;
	up();
	session_begin();
	for (wrong = wrongs; wrong < wrongs + ARRAY_SIZE(wrongs); ++wrong) {
		/* One reference more than RMSN takes. */
		assert_int_equal(ask_type(M0_ST_MKSN), 0);
		msg = msg_of(wrong->wrg_type);
		m0_st_encode(&msg, bytes);
		field_set(bytes, wrong);
		status = ask_bytes(bytes, sizeof bytes, wrong->wrg_type,
				   msg.smg_rpyid);
		if (status != wrong->wrg_status)
			print_error("%s, %s = %" PRIu64 ": %d\n",
				    m0_st_type_name(wrong->wrg_type),
				    wrong->wrg_field, wrong->wrg_value, status);
		assert_int_equal(status, wrong->wrg_status);
		assert_int_equal(ask_type(M0_ST_PING), 0);
		assert_int_equal(ask_type(M0_ST_RMSN), 0);
	}
	session_end();
	down();
}

/* Shorter messages are dropped, and longer ones do not fit. */
static void message_of_another_length_is_dropped(void **state)
{
	static const size_t lengths[] = { 0, 1, 24, 159 };
	struct m0_st_msg    msg;
	uint8_t             bytes[M0_ST_MSG_BYTES];
	uint32_t            type;
	size_t              i;

	(void)state;
	up();
	session_begin();
	for (type = 0; type < M0_ST_TYPES_NR; type += 2) {
		for (i = 0; i < ARRAY_SIZE(lengths); ++i) {
			msg = msg_of(type);
			m0_st_encode(&msg, bytes);
			assert_int_equal(ask_bytes(bytes, lengths[i], type,
						   msg.smg_rpyid),
					 DROPPED);
		}
	}
	assert_int_equal(ask_type(M0_ST_PING), 0);
	session_end();
	down();
}

/* Each byte of each request becomes each of some values: whatever comes of it, the
 * node serves afterwards, and has nothing left in the end. */
static void bytes_by_chance_do_no_harm(void **state)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct m0_rand       rand;
	struct m0_st_msg     msg;
	uint8_t              bytes[M0_ST_MSG_BYTES];
	uint32_t             type;
	unsigned             i;
	unsigned             j;

	(void)state;
	m0_rand_init(&rand, m0_sim_seed_get(1));
	up();
	for (type = 0; type < M0_ST_TYPES_NR; type += 2) {
		for (i = 0; i < SWEEP_NR; ++i) {
			(void)ask_type(M0_ST_MKSN);
			msg = msg_of(type);
			m0_st_encode(&msg, bytes);
			for (j = 0; j <= i % 3; ++j)
				bytes[m0_rand_below(&rand, sizeof bytes)] =
					values[m0_rand_below(
						&rand, ARRAY_SIZE(values))];
			(void)ask_bytes(bytes, sizeof bytes, type,
					msg.smg_rpyid);
		}
	}
	/* Another session may have been made by force. */
	m0_sim_run_ms(&sim, 110 * 1000);
	assert_int_equal(ask_type(M0_ST_MKSN), 0);
	assert_int_equal(ask_type(M0_ST_PING), 0);
	session_end();
	down();
}

/* -- bounds ---------------------------------------------------------------- */

/** A client's half of a test with its list of destinations. */
static int client_test(uint32_t dests_nr, uint32_t concurrency)
{
	struct m0_st_msg          msg = msg_of(M0_ST_TEST);
	struct m0_lnet_process_id id = { served.n_nid, M0_LNET_PID_LUSTRE };
	struct m0_st             *console;
	struct m0_st_cfg          cfg;
	struct m0_st_call         call;
	uint8_t                   list[M0_ST_PAGE_BYTES];
	uint32_t                  i;

	msg.smg_test.tsr_service = M0_ST_SRV_PING;
	msg.smg_test.tsr_is_client = 1;
	msg.smg_test.tsr_dests_nr = dests_nr;
	msg.smg_test.tsr_concurrency = concurrency;
	for (i = 0; i < dests_nr; ++i)
		m0_st_dest_encode(&id, list, i, M0_ST_FEAT_LEN, false);
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = asker.n_lnet;
	cfg.scf_serves = false;
	m0_sim_host_use(asker.n_host);
	assert_int_equal(m0_st_open(&console, &cfg), 0);
	call = (struct m0_st_call){
		.scl_dest = id,
		.scl_request = msg,
		.scl_bulk = list,
		.scl_bulk_bytes = sizeof list,
	};
	m0_st_calls(console, &call, 1, 0);
	m0_st_close(console);
	assert_int_equal(call.scl_rc, 0);
	return (int)call.scl_reply.smg_status;
}

/* All tests together have at most 65,536 streams. */
static void streams_beyond_bounds_are_refused(void **state)
{
	(void)state;
	up();
	session_begin();
	assert_int_equal(client_test(65, 1024), ENOMEM);
	assert_int_equal(client_test(40, 1024), 0);
	assert_int_equal(client_test(40, 1024), ENOMEM);
	assert_int_equal(client_test(24, 1024), 0);
	assert_int_equal(client_test(1, 1), ENOMEM);
	session_end();
	session_begin();
	assert_int_equal(client_test(64, 1024), 0);
	session_end();
	down();
}

/** A request of a console that has a time-out. */
static int debug(struct m0_st *console)
{
	struct m0_st_call call = {
		.scl_dest = { served.n_nid, M0_LNET_PID_LUSTRE },
		.scl_request = msg_of(M0_ST_DEBUG),
	};

	m0_st_calls(console, &call, 1, REPLY_MS);
	return call.scl_rc;
}

/* A buffer for requests that cannot be attached again for want of memory is
 * attached later. Some allocation fails at each 64th request, which is the last of
 * a buffer. */
static void buffers_come_back_after_want_of_memory(void **state)
{
	struct m0_heap   heap;
	struct m0_st    *console;
	struct m0_st_cfg cfg;
	unsigned         i;
	unsigned         j;

	(void)state;
	up();
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = asker.n_lnet;
	cfg.scf_serves = false;
	m0_sim_host_use(asker.n_host);
	assert_int_equal(m0_st_open(&console, &cfg), 0);
	for (i = 0; i < 2 * HEAP_NR; ++i) {
		/* Until the next is the last one. */
		for (j = 0; j < 63; ++j)
			(void)debug(console);
		m0_heap_init(&heap);
		m0_heap_fail_at(&heap, 1 + i % HEAP_NR);
		(void)debug(console);
		m0_heap_fini(&heap);
		m0_sim_run_ms(&sim, 200);
		if (debug(console) != 0)
			print_error("after allocation %u\n", 1 + i % HEAP_NR);
		assert_int_equal(debug(console), 0);
		/* The last of a buffer again. */
		for (j = 0; j < 62; ++j)
			(void)debug(console);
	}
	m0_st_close(console);
	down();
}

static void few_mds(struct m0_lnet_cfg *cfg)
{
	cfg->lc_mds_max = MDS_NR;
}

/* Buffers come back, too, if somebody else has all MDs of the node for a while. */
static void buffers_come_back_after_want_of_mds(void **state)
{
	static struct raw      raws[MDS_NR];
	struct m0_lnet_handle  handles[MDS_NR];
	struct m0_lnet_md_attr md;
	struct m0_lnet_eq      eq;
	struct m0_st          *console;
	struct m0_st_cfg       cfg;
	unsigned               nr;
	unsigned               i;

	(void)state;
	up_tuned(few_mds);
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = asker.n_lnet;
	cfg.scf_serves = false;
	m0_sim_host_use(asker.n_host);
	assert_int_equal(m0_st_open(&console, &cfg), 0);
	m0_lnet_eq_init(&eq, served.n_lnet, raw_event, 0);
	assert_int_equal(debug(console), 0);
	for (nr = 0; nr < MDS_NR; ++nr) {
		md = raw_md(&raws[nr], &eq, M0_ST_MSG_BYTES, 0);
		md.mda_threshold = 2;
		if (m0_lnet_md_bind(served.n_lnet, &md, &handles[nr]) != 0)
			break;
	}
	assert_true(nr > 0 && nr < MDS_NR);
	/* More than all buffers hold. */
	for (i = 0; i < 200; ++i)
		(void)debug(console);
	for (i = 0; i < nr; ++i)
		assert_int_equal(m0_lnet_md_unlink(served.n_lnet, handles[i]),
				 0);
	m0_sim_run_ms(&sim, 500);
	assert_int_equal(debug(console), 0);
	m0_st_close(console);
	m0_lnet_eq_fini(&eq);
	down();
}

/* -- replies --------------------------------------------------------------- */

/** A field of a reply with a value, and what the call returns. */
static const struct {
	uint16_t at;
	uint8_t  bytes;
	uint32_t value;
	int      rc;
} replies[] = {
	{ 0, 4, 1, -EBADMSG },          { 4, 4, 0, -EPROTO },
	{ 4, 4, 2, -EPROTO },           { 8, 4, M0_ST_BATCH, -EBADMSG },
	{ 8, 4, 99, -EBADMSG },         { 8, 4, UINT32_MAX, -EBADMSG },
	{ 12, 4, UINT32_MAX, 0 },       { 16, 4, UINT32_MAX, 0 },
	{ 20, 4, UINT32_MAX, 0 },       { BODY, 4, 71, 0 },
	{ BODY + 4, 8, UINT32_MAX, 0 }, { BODY + 20, 4, UINT32_MAX, 0 },
};

static uint8_t           liar_bytes[M0_ST_MSG_BYTES];
static size_t            liar_nr;
static struct raw        liar_request;
static struct raw        liar_reply;
static struct m0_lnet_eq liar_eq;

/* Answers the request that has come with what the test has prepared. */
static void liar_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *event)
{
	struct m0_st_msg msg;

	if (event->ev_md_user == &liar_reply ||
	    event->ev_type != M0_LNET_EV_PUT)
		return;
	assert_int_equal(m0_st_decode(&msg,
				      liar_request.raw_bytes + event->ev_offset,
				      event->ev_mlength),
			 0);
	memcpy(liar_reply.raw_bytes, liar_bytes, sizeof liar_bytes);
	raw_send(&asker, &served, eq, &liar_reply, liar_nr, M0_ST_PORTAL_REPLY,
		 msg.smg_rpyid);
}

static void liar_up(void)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = M0_ST_PORTAL_FRAMEWORK,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_ignore_bits = UINT64_MAX,
	};
	struct m0_lnet_md_attr md;
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  md_handle;

	m0_lnet_eq_init(&liar_eq, asker.n_lnet, liar_event, 0);
	md = raw_md(&liar_request, &liar_eq, M0_ST_MSG_BYTES,
		    M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE);
	md.mda_threshold = M0_LNET_MD_THRESHOLD_INF;
	md.mda_auto_unlink = false;
	assert_int_equal(m0_lnet_me_attach(asker.n_lnet, &me, &handle), 0);
	assert_int_equal(
		m0_lnet_md_attach(asker.n_lnet, handle, &md, &md_handle), 0);
}

/** Our node asks the liar. @return what the call returns. */
static int liar_ask(struct m0_st_msg *reply)
{
	struct m0_st_call call = {
		.scl_dest = { asker.n_nid, M0_LNET_PID_LUSTRE },
		.scl_request = msg_of(M0_ST_STAT),
	};

	m0_st_calls(st, &call, 1, REPLY_MS);
	*reply = call.scl_reply;
	return call.scl_rc;
}

static void reply_prepare(uint32_t type)
{
	struct m0_st_msg msg = msg_of(type);

	m0_st_encode(&msg, liar_bytes);
	liar_nr = sizeof liar_bytes;
}

static void replies_that_lie_end_the_call(void **state)
{
	struct m0_st_msg reply;
	size_t           i;

	(void)state;
	up();
	liar_up();
	for (i = 0; i < ARRAY_SIZE(replies); ++i) {
		uint64_t value = replies[i].value;

		reply_prepare(M0_ST_STAT_REP);
		memcpy(liar_bytes + replies[i].at, &value, replies[i].bytes);
		if (liar_ask(&reply) != replies[i].rc)
			print_error("byte %u = %u\n", replies[i].at,
				    replies[i].value);
		assert_int_equal(liar_ask(&reply), replies[i].rc);
		if (replies[i].at == BODY)
			assert_int_equal(reply.smg_status, replies[i].value);
	}
	/* The reply to another request, and one without an end. */
	reply_prepare(M0_ST_MKSN_REP);
	assert_int_equal(liar_ask(&reply), -EBADMSG);
	for (liar_nr = 0; liar_nr < M0_ST_MSG_BYTES; liar_nr += 53)
		assert_int_equal(liar_ask(&reply), -EBADMSG);
	reply_prepare(M0_ST_STAT_REP);
	assert_int_equal(liar_ask(&reply), 0);
	node_close(&asker);
	m0_lnet_eq_fini(&liar_eq);
	node_open(&asker);
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_gets_its_status),
		cmocka_unit_test(message_of_another_length_is_dropped),
		cmocka_unit_test(bytes_by_chance_do_no_harm),
		cmocka_unit_test(streams_beyond_bounds_are_refused),
		cmocka_unit_test(buffers_come_back_after_want_of_memory),
		cmocka_unit_test(buffers_come_back_after_want_of_mds),
		cmocka_unit_test(replies_that_lie_end_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every field of every request of the selftest, with values that are wrong, at their
 * bounds, or by chance: what a node answers, and that it goes on afterwards.
 */
#include "base/rand.h"
#include "lnet/selftest_raw.h"
#include "sim/sched/heap.h"

enum {
	SWEEP_NR = 60,
	/** Allocations of a request and its reply. */
	HEAP_NR = 16,
	/** MDs of a node that has few. */
	MDS_NR = 40
};

/* -- requests -------------------------------------------------------------- */

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
	static const size_t lengths[] = { 0, 1, 24, 159, 161 };
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
	struct m0_st_msg msg = msg_of(M0_ST_TEST);

	msg.smg_test.tsr_service = M0_ST_SRV_PING;
	msg.smg_test.tsr_dests_nr = dests_nr;
	msg.smg_test.tsr_concurrency = concurrency;
	return ask_client_test(&msg, &served);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_gets_its_status),
		cmocka_unit_test(message_of_another_length_is_dropped),
		cmocka_unit_test(bytes_by_chance_do_no_harm),
		cmocka_unit_test(streams_beyond_bounds_are_refused),
		cmocka_unit_test(buffers_come_back_after_want_of_memory),
		cmocka_unit_test(buffers_come_back_after_want_of_mds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

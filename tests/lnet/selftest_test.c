/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * LNet's selftest between whole nodes in virtual time: sessions, tests and
 * consoles, and what becomes of them when nodes die.
 */
#include <stdlib.h>

#include "lnet/node.h"
#include "selftest/selftest.h"

enum {
	NODES_NR = 4,
	CONSOLE = 0,
	SESSION_S = 100,
	RPC_MS = 64000
};

static struct m0_sim    sim;
static struct node      nodes[NODES_NR];
static struct m0_st    *sts[NODES_NR];
static struct m0_st_msg reply;
static struct m0_st_sid sid = { 0x0002000a000001ULL, 7 };
static uint32_t         feats;
static uint64_t         memory_max = 64 << 20;
/** The only node that others let in; NULL: all. */
static const struct m0_lnet_nid *admitted;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_piece_bytes_max = 65536,
};

static bool admits(void *arg, const struct m0_lnet_nid *nid)
{
	(void)arg;
	return admitted == NULL || m0_lnet_nid_eq(admitted, nid);
}

static void st_up(unsigned i)
{
	struct m0_st_cfg cfg;

	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = nodes[i].n_lnet;
	cfg.scf_admits = admits;
	cfg.scf_memory_max = memory_max;
	cfg.scf_rpcs_max = 2048;
	m0_sim_host_use(nodes[i].n_host);
	assert_int_equal(m0_st_open(&sts[i], &cfg), 0);
}

/** Far away: little happens in a hundred seconds. */
static const struct m0_sim_stream_cfg far = {
	.ssc_latency_ns = 30 * 1000 * 1000,
	.ssc_piece_bytes_max = 65536,
};

static void up_at(const char *const addrs[NODES_NR])
{
	static const char *const names[NODES_NR] = { "a", "b", "c", "d" };
	unsigned                 i;

	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	feats = M0_ST_FEAT_LEN;
	admitted = NULL;
	for (i = 0; i < NODES_NR; ++i) {
		node_init(&nodes[i], &sim, names[i], addrs[i], NULL);
		st_up(i);
	}
}

static void up(void)
{
	static const char *const addrs[NODES_NR] = { "10.0.0.1", "10.0.0.2",
						     "10.0.0.3", "10.0.0.4" };

	up_at(addrs);
}

static void down(void)
{
	unsigned i;

	for (i = 0; i < NODES_NR; ++i) {
		if (sts[i] != NULL)
			m0_st_close(sts[i]);
		sts[i] = NULL;
		node_fini(&nodes[i]);
	}
	m0_sim_net_fini();
	m0_sim_fini(&sim);
	memory_max = 64 << 20;
}

/* -- a console ------------------------------------------------------------- */

static struct m0_lnet_process_id id_of(unsigned i)
{
	return (struct m0_lnet_process_id){ nodes[i].n_nid,
					    M0_LNET_PID_LUSTRE };
}

/** Asks a node; the answer is in `reply`. @return 0, or why there is none. */
static int ask_of(unsigned from, unsigned to, const struct m0_st_msg *msg,
		  void *bulk, size_t bytes)
{
	struct m0_st_call call = {
		.scl_dest = id_of(to),
		.scl_request = *msg,
		.scl_bulk = bulk,
		.scl_bulk_bytes = bytes,
	};

	call.scl_request.smg_feats |= feats;
	m0_st_calls(sts[from], &call, 1, 0);
	reply = call.scl_reply;
	return call.scl_rc;
}

static uint32_t ask(unsigned to, const struct m0_st_msg *msg)
{
	assert_int_equal(ask_of(CONSOLE, to, msg, NULL, 0), 0);
	return reply.smg_status;
}

static struct m0_st_msg msg_of(uint32_t type)
{
	return (struct m0_st_msg){ .smg_type = type, .smg_sid = sid };
}

static uint32_t session_make(unsigned to, bool force)
{
	struct m0_st_msg msg = msg_of(M0_ST_MKSN);

	msg.smg_force = force;
	snprintf(msg.smg_name, sizeof msg.smg_name, "story");
	return ask(to, &msg);
}

static uint32_t session_remove(unsigned to)
{
	struct m0_st_msg msg = msg_of(M0_ST_RMSN);

	return ask(to, &msg);
}

static uint32_t batch(unsigned to, uint32_t opc, uint32_t arg)
{
	struct m0_st_msg msg = msg_of(M0_ST_BATCH);

	msg.smg_batch = 1;
	msg.smg_opc = opc;
	msg.smg_arg = arg;
	return ask(to, &msg);
}

static uint32_t active(unsigned to)
{
	assert_int_equal(batch(to, M0_ST_QUERY, 0), 0);
	return reply.smg_active;
}

static struct m0_st_test ping_test(uint32_t loop, uint32_t concurrency)
{
	return (struct m0_st_test){
		.tsr_batch = 1,
		.tsr_service = M0_ST_SRV_PING,
		.tsr_loop = loop,
		.tsr_concurrency = concurrency,
		.tsr_stop_on_error = 1,
	};
}

static struct m0_st_test brw_test(uint32_t loop, uint32_t concurrency,
				  uint32_t rw, uint32_t check, uint32_t bytes)
{
	struct m0_st_test test = ping_test(loop, concurrency);

	test.tsr_service = M0_ST_SRV_BRW;
	test.tsr_rw = rw;
	test.tsr_check = check;
	test.tsr_bytes = bytes;
	return test;
}

/** Adds a test from node `from` to node `to`, and its other half there. */
static uint32_t test_add(unsigned from, unsigned to,
			 const struct m0_st_test *test)
{
	struct m0_st_msg          msg = msg_of(M0_ST_TEST);
	struct m0_lnet_process_id dest = id_of(to);
	uint8_t                   list[M0_ST_PAGE_BYTES];

	msg.smg_test = *test;
	assert_int_equal(ask(to, &msg), 0);
	msg.smg_test.tsr_is_client = 1;
	msg.smg_test.tsr_dests_nr = 1;
	m0_st_dest_encode(&dest, list, 0, feats, false);
	assert_int_equal(ask_of(CONSOLE, from, &msg, list, sizeof list), 0);
	return reply.smg_status;
}

static struct m0_st_state state_of(unsigned i)
{
	struct m0_st_state state;

	m0_st_state_get(sts[i], &state);
	return state;
}

/** Checks that a node has nothing left of any session. */
static void idle_check(unsigned i)
{
	struct m0_st_state state;

	/* Wait until the node has finished its last reply. */
	m0_sim_run_ms(&sim, 500);
	state = state_of(i);
	assert_false(state.sls_has_session);
	assert_int_equal(state.sls_stats.sct_zombies, 0);
	assert_int_equal(state.sls_rpcs_nr, 0);
	assert_int_equal(state.sls_memory, 0);
}

static void until_idle(unsigned i)
{
	unsigned ms;

	for (ms = 0; ms < 100000 && active(i) > 0; ms += 10)
		m0_sim_run_ms(&sim, 10);
	assert_true(ms < 100000);
}

/* -- stories --------------------------------------------------------------- */

/* Every test and check, in both directions, runs to its end without an error. */
static void tests_of_all_kinds_run(void **state)
{
	struct m0_st_test test = ping_test(20, 4);
	uint32_t          rw;
	uint32_t          check;

	(void)state;
	up();
	assert_int_equal(session_make(1, false), 0);
	assert_int_equal(reply.smg_timeout, SESSION_S);
	assert_int_equal(session_make(2, false), 0);
	assert_int_equal(test_add(1, 2, &test), 0);
	for (rw = M0_ST_READ; rw <= M0_ST_WRITE; ++rw) {
		for (check = M0_ST_CHECK_NONE; check <= M0_ST_CHECK_DISCARD;
		     ++check) {
			test = brw_test(3, 2, rw, check, 100000);
			test.tsr_offset = check == M0_ST_CHECK_FULL ? 8 : 0;
			assert_int_equal(test_add(1, 2, &test), 0);
			assert_int_equal(test_add(2, 1, &test), 0);
		}
	}
	assert_int_equal(batch(2, M0_ST_RUN, 0), 0);
	assert_int_equal(batch(1, M0_ST_RUN, 0), 0);
	assert_int_equal(batch(1, M0_ST_RUN, 0), EPERM);
	until_idle(1);
	until_idle(2);
	assert_int_equal(state_of(1).sls_stats.sct_brw_errors, 0);
	assert_int_equal(state_of(1).sls_stats.sct_ping_errors, 0);
	assert_int_equal(state_of(1).sls_stats.sct_rpc_errors, 0);
	/* 80 pings, 8 tests of 6. */
	assert_int_equal(state_of(1).sls_stats.sct_rpc_sent, 80 + 48);
	assert_int_equal(state_of(2).sls_stats.sct_bulk_put, 4 * 6 * 100000);
	/* A list of destinations, too, for each test of its own. */
	assert_int_equal(state_of(2).sls_stats.sct_bulk_get,
			 4 * 6 * 100000 + 8 * M0_ST_DEST_BYTES);
	assert_int_equal(session_remove(1), 0);
	assert_int_equal(session_remove(2), 0);
	assert_true(m0_st_sid_eq(&reply.smg_sid, &M0_ST_SID_NONE));
	idle_check(1);
	idle_check(2);
	down();
}

/* A test to the node itself goes by lo. */
static void test_to_itself_runs(void **state)
{
	struct m0_st_test test =
		brw_test(5, 2, M0_ST_READ, M0_ST_CHECK_FULL, 4096);

	(void)state;
	up();
	assert_int_equal(session_make(CONSOLE, false), 0);
	assert_int_equal(test_add(CONSOLE, CONSOLE, &test), 0);
	assert_int_equal(batch(CONSOLE, M0_ST_RUN, 0), 0);
	until_idle(CONSOLE);
	assert_int_equal(state_of(CONSOLE).sls_stats.sct_brw_errors, 0);
	assert_int_equal(session_remove(CONSOLE), 0);
	idle_check(CONSOLE);
	down();
}

/* Lists of destinations carry IPv6 addresses with LARGE. */
static void nodes_with_ipv6_test(void **state)
{
	static const char *const addrs[NODES_NR] = {
		"2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"
	};
	struct m0_st_test test =
		brw_test(5, 2, M0_ST_WRITE, M0_ST_CHECK_FULL, 1 << 20);

	(void)state;
	up_at(addrs);
	feats = M0_ST_FEAT_LEN | M0_ST_FEAT_LARGE;
	assert_int_equal(session_make(1, false), 0);
	assert_int_equal(session_make(2, false), 0);
	assert_int_equal(test_add(1, 2, &test), 0);
	assert_int_equal(batch(1, M0_ST_RUN, 0), 0);
	until_idle(1);
	assert_int_equal(state_of(1).sls_stats.sct_brw_errors, 0);
	assert_int_equal(state_of(2).sls_stats.sct_bulk_get, 10 << 20);
	assert_int_equal(session_remove(1), 0);
	assert_int_equal(session_remove(2), 0);
	down();
}

static void sessions_exclude_each_other(void **state)
{
	struct m0_st_msg msg = msg_of(M0_ST_DEBUG);
	struct m0_st_sid first = sid;

	(void)state;
	up();
	assert_int_equal(ask(1, &msg), ESRCH);
	assert_true(m0_st_sid_eq(&reply.smg_sid, &M0_ST_SID_NONE));
	assert_int_equal(session_make(1, false), 0);
	/* A session that is made twice is removed twice. */
	assert_int_equal(session_make(1, false), 0);
	assert_int_equal(session_remove(1), 0);
	assert_true(m0_st_sid_eq(&reply.smg_sid, &sid));
	assert_int_equal(ask(1, &msg), 0);
	assert_string_equal(reply.smg_name, "story");
	++sid.sid_stamp;
	assert_int_equal(session_make(1, false), EBUSY);
	assert_string_equal(reply.smg_name, "story");
	assert_true(m0_st_sid_eq(&reply.smg_sid, &first));
	assert_int_equal(session_remove(1), EBUSY);
	assert_int_equal(session_make(1, true), 0);
	assert_true(m0_st_sid_eq(&reply.smg_sid, &sid));
	msg = msg_of(M0_ST_STAT);
	msg.smg_sid = first;
	assert_int_equal(ask(1, &msg), ESRCH);
	assert_int_equal(session_remove(1), 0);
	assert_int_equal(session_remove(1), ESRCH);
	idle_check(1);
	--sid.sid_stamp;
	down();
}

/* Each request that is wrong gets the status that a kernel gives. */
static void requests_wrong_are_refused(void **state)
{
	struct m0_st_msg  msg = msg_of(M0_ST_MKSN);
	struct m0_st_test test = ping_test(1, 1);

	(void)state;
	up();
	msg.smg_sid = M0_ST_SID_NONE;
	assert_int_equal(ask(1, &msg), EINVAL);
	msg.smg_type = M0_ST_RMSN;
	assert_int_equal(ask(1, &msg), EINVAL);
	msg = msg_of(M0_ST_MKSN);
	msg.smg_feats = 8;
	assert_int_equal(ask(1, &msg), EPROTO);
	msg = msg_of(M0_ST_TEST);
	msg.smg_test = test;
	assert_int_equal(ask(1, &msg), ENOENT);
	assert_int_equal(batch(1, M0_ST_RUN, 0), ESRCH);
	msg = msg_of(M0_ST_PING);
	msg.smg_ping_magic = M0_ST_PING_MAGIC;
	assert_int_equal(ask(1, &msg), ESRCH);
	assert_int_equal(session_make(1, false), 0);
	assert_int_equal(ask(1, &msg), 0);
	msg.smg_ping_magic = 1;
	assert_int_equal(ask(1, &msg), EPROTO);
	assert_int_equal(batch(1, M0_ST_RUN, 0), ENOENT);
	msg = msg_of(M0_ST_TEST);
	msg.smg_test = test;
	msg.smg_feats = 8;
	assert_int_equal(ask(1, &msg), EPROTO);
	msg.smg_feats = 0;
	msg.smg_test.tsr_loop = 0;
	assert_int_equal(ask(1, &msg), EINVAL);
	msg.smg_test = test;
	msg.smg_test.tsr_is_client = 1;
	assert_int_equal(ask(1, &msg), EINVAL);
	msg.smg_test.tsr_dests_nr = UINT32_MAX;
	assert_int_equal(ask(1, &msg), EINVAL);
	msg.smg_test = test;
	assert_int_equal(ask(1, &msg), 0);
	assert_int_equal(batch(1, 9, 0), EINVAL);
	assert_int_equal(batch(1, M0_ST_RUN, 0), 0);
	msg = msg_of(M0_ST_BRW);
	msg.smg_rw = M0_ST_READ;
	msg.smg_check = M0_ST_CHECK_NONE;
	msg.smg_bytes = M0_ST_BULK_MAX + 1;
	assert_int_equal(ask(1, &msg), EINVAL);
	assert_int_equal(session_remove(1), 0);
	idle_check(1);
	down();
}

static void strangers_are_refused(void **state)
{
	struct m0_st_msg msg = msg_of(M0_ST_MKSN);

	(void)state;
	up();
	admitted = &nodes[CONSOLE].n_nid;
	assert_int_equal(session_make(1, false), 0);
	assert_int_equal(ask_of(2, 1, &msg, NULL, 0), 0);
	assert_int_equal(reply.smg_status, EACCES);
	msg.smg_type = M0_ST_PING;
	assert_int_equal(ask_of(3, 1, &msg, NULL, 0), 0);
	assert_int_equal(reply.smg_status, EACCES);
	assert_int_equal(state_of(1).sls_refused_nr, 2);
	assert_int_equal(session_remove(1), 0);
	down();
}

static void tests_beyond_bounds_are_refused(void **state)
{
	struct m0_st_msg  msg = msg_of(M0_ST_TEST);
	struct m0_st_test test =
		brw_test(1, 64, M0_ST_READ, M0_ST_CHECK_NONE, 1 << 20);
	unsigned i;

	(void)state;
	memory_max = 32 << 20;
	up();
	assert_int_equal(session_make(1, false), 0);
	assert_int_equal(session_make(2, false), 0);
	assert_int_equal(test_add(1, 2, &test), ENOMEM);
	for (i = 0; i < 64; ++i) {
		msg.smg_test = ping_test(1, 1);
		msg.smg_test.tsr_batch = i + 1;
		assert_int_equal(ask(1, &msg), 0);
	}
	msg.smg_test.tsr_batch = i + 1;
	assert_int_equal(ask(1, &msg), ENOMEM);
	msg.smg_test.tsr_batch = 1;
	for (i = 64; i < 256; ++i)
		assert_int_equal(ask(1, &msg), 0);
	assert_int_equal(ask(1, &msg), ENOSPC);
	/* More writes than there are buffers wait for them. */
	msg.smg_test =
		brw_test(20, 100, M0_ST_WRITE, M0_ST_CHECK_SIMPLE, 65536);
	assert_int_equal(session_remove(1), 0);
	assert_int_equal(session_make(1, false), 0);
	assert_int_equal(test_add(1, 2, &msg.smg_test), 0);
	assert_int_equal(batch(1, M0_ST_RUN, 0), 0);
	until_idle(1);
	assert_int_equal(state_of(1).sls_stats.sct_brw_errors, 0);
	assert_int_equal(state_of(2).sls_stats.sct_bulk_get, 2000 * 65536);
	assert_int_equal(session_remove(1), 0);
	assert_int_equal(session_remove(2), 0);
	idle_check(1);
	idle_check(2);
	down();
}

static void endless(unsigned from, unsigned to)
{
	struct m0_st_test test = brw_test(M0_ST_LOOP_INF, 4, M0_ST_WRITE,
					  M0_ST_CHECK_SIMPLE, 1 << 16);

	m0_sim_net_cfg_set(&far);
	assert_int_equal(session_make(from, false), 0);
	assert_int_equal(session_make(to, false), 0);
	assert_int_equal(test_add(from, to, &test), 0);
	test.tsr_service = M0_ST_SRV_PING;
	assert_int_equal(test_add(from, to, &test), 0);
	assert_int_equal(batch(from, M0_ST_RUN, 0), 0);
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(active(from), 2);
}

static void test_endless_is_stopped(void **state)
{
	(void)state;
	up();
	endless(1, 2);
	assert_int_equal(batch(1, M0_ST_STOP, 0), 0);
	until_idle(1);
	assert_int_equal(state_of(1).sls_stats.sct_brw_errors, 0);
	/* Once more, and the session ends in the middle. */
	assert_int_equal(batch(1, M0_ST_RUN, 0), 0);
	m0_sim_run_ms(&sim, 500);
	assert_int_equal(active(1), 2);
	assert_int_equal(session_remove(1), 0);
	assert_int_equal(session_remove(2), 0);
	m0_sim_run_ms(&sim, 2000);
	idle_check(1);
	idle_check(2);
	down();
}

/* Nobody asks any more: the session ends by itself, and all is released. */
static void console_vanished_session_expires(void **state)
{
	(void)state;
	up();
	endless(1, 2);
	m0_sim_host_cut(nodes[CONSOLE].n_host, true);
	m0_sim_run_ms(&sim, (SESSION_S - 2) * 1000);
	assert_true(state_of(1).sls_has_session);
	m0_sim_run_ms(&sim, 4000);
	idle_check(1);
	idle_check(2);
	m0_sim_host_cut(nodes[CONSOLE].n_host, false);
	down();
}

static void node_kill(unsigned i)
{
	m0_sim_host_kill(nodes[i].n_host);
	m0_st_close(sts[i]);
	sts[i] = NULL;
}

/* The target dies: the test ends with an error, at the latest after the time-out of
 * a request. */
static void target_dies_test_ends(void **state)
{
	(void)state;
	up();
	endless(1, 2);
	m0_sim_host_cut(nodes[2].n_host, true);
	m0_sim_run_ms(&sim, RPC_MS + 10000);
	assert_int_equal(active(1), 0);
	assert_true(state_of(1).sls_stats.sct_brw_errors > 0);
	assert_true(state_of(1).sls_stats.sct_ping_errors > 0);
	assert_int_equal(session_remove(1), 0);
	idle_check(1);
	m0_sim_run_ms(&sim, SESSION_S * 1000);
	idle_check(2);
	m0_sim_host_cut(nodes[2].n_host, false);
	down();
}

/* The client dies in the middle: its target has nothing left of it. */
static void client_dies_target_is_released(void **state)
{
	(void)state;
	up();
	endless(1, 2);
	node_kill(1);
	m0_sim_run_ms(&sim, RPC_MS + 10000);
	assert_int_equal(session_remove(2), 0);
	idle_check(2);
	down();
}

/* A node that stops while tests run ends all of them. */
static void close_ends_everything(void **state)
{
	(void)state;
	up();
	endless(1, 2);
	m0_st_close(sts[2]);
	sts[2] = NULL;
	m0_st_close(sts[1]);
	sts[1] = NULL;
	st_up(1);
	idle_check(1);
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tests_of_all_kinds_run),
		cmocka_unit_test(test_to_itself_runs),
		cmocka_unit_test(nodes_with_ipv6_test),
		cmocka_unit_test(sessions_exclude_each_other),
		cmocka_unit_test(requests_wrong_are_refused),
		cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(tests_beyond_bounds_are_refused),
		cmocka_unit_test(test_endless_is_stopped),
		cmocka_unit_test(console_vanished_session_expires),
		cmocka_unit_test(target_dies_test_ends),
		cmocka_unit_test(client_dies_target_is_released),
		cmocka_unit_test(close_ends_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

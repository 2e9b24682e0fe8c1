/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Transfer machines of an attached process whose daemon ends: each buffer ends once, then
 * the machine FAILED, in each mode and on each kind of thread.
 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <string.h>

#include "m0/lnet_tune.h"
#include "m0/rpc.h"
#include "m0/xlnet.h"

#include "attach_fix.h"

enum {
	BUFS_NR = 8,
	BUF_BYTES = 4096,
	/** Time-out of a connection. */
	WAIT_NS = 200 * 1000 * 1000
};

enum mode {
	ASYNC,
	CONFINED,
	SYNC,
	INLINE,
	MODES_NR
};

static struct m0_lnet           *lnet;
static struct m0_net_domain      dom;
static struct m0_net_transfer_mc tm;
static struct m0_net_buffer      bufs[BUFS_NR];
/** Atomic: events of each; FAILED of the machine, and what it found. */
static unsigned ended_nr[BUFS_NR];
static unsigned failed_nr;
static bool     failed_early;
static int32_t  failed_rc;
/** Buffers are added again until that fails; atomic: with what. */
static bool    again;
static int32_t again_rc;
static int32_t status_of[BUFS_NR];

static unsigned get(const unsigned *nr)
{
	return __atomic_load_n(nr, __ATOMIC_ACQUIRE);
}

static void tm_event(const struct m0_net_tm_event *ev)
{
	unsigned i;

	if (ev->nte_next_state != M0_NET_TM_FAILED)
		return;
	for (i = 0; i < BUFS_NR; ++i)
		failed_early |= (bufs[i].nb_flags & M0_NET_BUF_QUEUED) != 0;
	failed_rc = ev->nte_status;
	__atomic_add_fetch(&failed_nr, 1, __ATOMIC_RELEASE);
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 tm_event };

static void buf_event(const struct m0_net_buffer_event *ev)
{
	size_t i = (size_t)(ev->nbe_buffer - bufs);
	int    rc;

	status_of[i] = ev->nbe_status;
	__atomic_add_fetch(&ended_nr[i], 1, __ATOMIC_RELEASE);
	if (!again)
		return;
	rc = m0_net_buffer_add(ev->nbe_buffer, &tm);
	if (rc != 0)
		__atomic_store_n(&again_rc, rc, __ATOMIC_RELEASE);
}

static const struct m0_net_buffer_callbacks buf_callbacks = {
	.nbc_cb = { buf_event, buf_event, buf_event, buf_event, buf_event,
		    buf_event }
};

/* Without an assertion: other threads may call it. */
static bool wait_state(enum m0_net_tm_state state)
{
	m0_time_t until = fix_soon();

	while (__atomic_load_n(&tm.ntm_state, __ATOMIC_ACQUIRE) != state ||
	       (state == M0_NET_TM_FAILED && get(&failed_nr) == 0)) {
		if (m0_time_now() >= until)
			return false;
		if (!tm.ntm_bev_auto_deliver)
			m0_net_buffer_event_deliver_all(&tm);
		else
			(void)m0_nanosleep(100 * M0_TIME_ONE_USEC, NULL);
	}
	return true;
}

static void lnet_open(bool is_inline)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s", fix.fx_path);
	cfg.lc_inline = is_inline;
	/* The front logs the end of its attachment. */
	m0_log_level_set(M0_LOG_FATAL);
	if (m0_lnet_open(&lnet, &cfg, why) != 0)
		fail_msg("%s", why);
	assert_int_equal(m0_net_lnet_use(lnet), 0);
}

static void front_open(bool is_inline)
{
	lnet_open(is_inline);
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
}

static void front_close(void)
{
	assert_int_equal(m0_net_domain_fini(&dom), 0);
	assert_int_equal(m0_net_lnet_unuse(lnet), 0);
	m0_lnet_close(lnet);
}

static void mode_set(enum mode mode)
{
	struct m0_bitmap cpus;

	switch (mode) {
	case CONFINED:
		assert_int_equal(m0_bitmap_init(&cpus, 1), 0);
		m0_bitmap_set(&cpus, 0, true);
		assert_int_equal(m0_net_tm_confine(&tm, &cpus), 0);
		m0_bitmap_fini(&cpus);
		break;
	case SYNC:
		assert_int_equal(m0_net_buffer_event_deliver_synchronously(&tm),
				 0);
		break;
	case INLINE:
		assert_int_equal(m0_net_tm_inline(&tm), 0);
		break;
	default:
		break;
	}
}

/* Receive buffers and passive ones: all wait for messages. */
static void buf_add(unsigned i)
{
	struct m0_net_buffer *nb = &bufs[i];

	memset(nb, 0, sizeof *nb);
	assert_int_equal(m0_bufvec_alloc(&nb->nb_buffer, 1, BUF_BYTES), 0);
	assert_int_equal(m0_net_buffer_register(nb, &dom), 0);
	nb->nb_callbacks = &buf_callbacks;
	nb->nb_timeout = M0_TIME_NEVER;
	nb->nb_qtype = i % 2 == 0 ? M0_NET_QT_MSG_RECV
				  : M0_NET_QT_PASSIVE_BULK_RECV;
	nb->nb_min_receive_size = BUF_BYTES;
	nb->nb_max_receive_msgs = 1;
	nb->nb_length = BUF_BYTES;
	assert_int_equal(m0_net_buffer_add(nb, &tm), 0);
}

static void tm_start(enum mode mode, const char *addr)
{
	memset(&tm, 0, sizeof tm);
	memset(ended_nr, 0, sizeof ended_nr);
	failed_nr = 0;
	failed_early = false;
	again_rc = 0;
	tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
	mode_set(mode);
	assert_int_equal(m0_net_tm_start(&tm, addr), 0);
	assert_true(wait_state(M0_NET_TM_STARTED));
}

static void tm_up(enum mode mode, const char *addr)
{
	unsigned i;

	tm_start(mode, addr);
	for (i = 0; i < BUFS_NR; ++i)
		buf_add(i);
}

static void tm_down(void)
{
	unsigned i;

	for (i = 0; i < BUFS_NR; ++i) {
		m0_net_desc_free(&bufs[i].nb_desc);
		assert_int_equal(m0_net_buffer_deregister(&bufs[i], &dom), 0);
		m0_bufvec_free(&bufs[i].nb_buffer);
	}
	assert_int_equal(m0_net_tm_fini(&tm), 0);
}

static void daemon_end(void)
{
	assert_int_equal(m0_attach_server_stop(&fix.fx_server, fix_soon()), 0);
}

/* An application may call these before it has seen the event, and afterwards. */
static void calls_fail(void)
{
	struct m0_net_end_point *ep;

	assert_int_equal(m0_net_end_point_create(&ep, &tm,
						 "127.0.0.1@tcp:12345:40:1"),
			 -ESHUTDOWN);
	assert_null(ep);
	assert_int_equal(m0_net_buffer_add(&bufs[0], &tm), -ESHUTDOWN);
	m0_net_tm_colour_set(&tm, 1);
	assert_int_equal(m0_net_tm_stop(&tm, false), -ESHUTDOWN);
	assert_int_equal(m0_net_tm_stop(&tm, true), -ESHUTDOWN);
	assert_int_equal(failed_nr, 1);
}

/* The machine sends to itself, from memory registered before the daemon's end. */
static void message_comes(void)
{
	static struct m0_net_buffer *const nb = &bufs[1];
	struct m0_net_end_point           *ep;
	m0_time_t                          until = fix_soon();

	assert_true(m0_net_buffer_del(nb, &tm));
	while (get(&ended_nr[1]) < 1)
		assert_true(m0_time_now() < until);
	assert_int_equal(m0_net_end_point_create(&ep, &tm,
						 "127.0.0.1@tcp:12345:40:7"),
			 0);
	nb->nb_qtype = M0_NET_QT_MSG_SEND;
	nb->nb_ep = ep;
	m0_net_desc_free(&nb->nb_desc);
	while (m0_net_buffer_add(nb, &tm) != 0)
		assert_true(m0_time_now() < until);
	while (get(&ended_nr[0]) < 1 || get(&ended_nr[1]) < 2)
		assert_true(m0_time_now() < until);
	assert_int_equal(status_of[0], 0);
	assert_int_equal(status_of[1], 0);
	assert_int_equal(m0_net_end_point_put(ep), 0);
	nb->nb_ep = NULL;
}

/* The process attaches again while it still has the old node, and uses its buffers. */
static void attaches_again(void **state)
{
	struct m0_lnet      *old_lnet;
	struct m0_net_buffer late;
	unsigned             i;

	(void)state;
	again = false;
	front_open(false);
	tm_up(ASYNC, "127.0.0.1@tcp:12345:40:7");
	daemon_end();
	assert_true(wait_state(M0_NET_TM_FAILED));
	memset(&late, 0, sizeof late);
	assert_int_equal(m0_bufvec_alloc(&late.nb_buffer, 1, BUF_BYTES), 0);
	assert_int_equal(m0_net_buffer_register(&late, &dom), 0);
	assert_int_equal(m0_net_tm_fini(&tm), 0);
	fix_restart();
	old_lnet = lnet;
	lnet_open(false);
	tm_start(ASYNC, "127.0.0.1@tcp:12345:40:7");
	for (i = 0; i < BUFS_NR; ++i) {
		m0_net_desc_free(&bufs[i].nb_desc);
		assert_int_equal(m0_net_buffer_add(&bufs[i], &tm), 0);
	}
	assert_int_equal(m0_net_lnet_unuse(old_lnet), 0);
	m0_lnet_close(old_lnet);
	message_comes();
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	assert_true(wait_state(M0_NET_TM_STOPPED));
	assert_int_equal(m0_net_buffer_deregister(&late, &dom), 0);
	m0_bufvec_free(&late.nb_buffer);
	tm_down();
	front_close();
}

/* The front of a process that does nothing sleeps; it is told of a network. */
static void sleeper_learns_of_networks(void **state)
{
	struct m0_lnet_net_cfg    net = { .lnc_ifaces_nr = 1,
					  .lnc_ifaces = { "127.0.0.1" } };
	struct m0_lnet_process_id id;
	char                      why[M0_LNET_WHY_BYTES];
	m0_time_t                 until;

	(void)state;
	front_open(false);
	(void)m0_nanosleep(20 * M0_TIME_ONE_MSEC, NULL);
	net.lnc_net = m0_lnet_net(M0_LNET_TYPE_TCP, 7);
	assert_int_equal(m0_lnet_get_id(lnet, 2, &id), -ENOENT);
	assert_int_equal(m0_lnet_net_add(fix.fx_lnet, &net, why), 0);
	until = fix_soon();
	while (m0_lnet_get_id(lnet, 2, &id) != 0)
		assert_true(m0_time_now() < until);
	assert_int_equal(m0_lnet_nid_net(&id.lp_nid), net.lnc_net);
	assert_int_equal(m0_lnet_net_del(fix.fx_lnet, &net, why), 0);
	while (m0_lnet_get_id(lnet, 2, &id) == 0)
		assert_true(m0_time_now() < until);
	front_close();
}

static void fails(enum mode mode)
{
	unsigned i;

	front_open(mode == INLINE);
	tm_up(mode, "127.0.0.1@tcp:12345:40:*");
	daemon_end();
	assert_true(wait_state(M0_NET_TM_FAILED));
	assert_int_equal(failed_rc, -ESHUTDOWN);
	assert_false(failed_early);
	calls_fail();
	for (i = 0; i < BUFS_NR; ++i) {
		assert_int_equal(ended_nr[i], 1);
		assert_int_equal(status_of[i], -ESHUTDOWN);
	}
	tm_down();
	front_close();
	fix_restart();
}

static void machine_fails_with_its_daemon(void **state)
{
	unsigned mode;

	(void)state;
	again = false;
	for (mode = 0; mode < MODES_NR; ++mode)
		fails((enum mode)mode);
}

/* A callback that always adds its buffer again does not keep the machine from its end. */
static void buffers_added_again_are_refused(void **state)
{
	unsigned mode;

	(void)state;
	again = true;
	for (mode = 0; mode < MODES_NR; ++mode) {
		fails((enum mode)mode);
		assert_int_equal(again_rc, -ESHUTDOWN);
	}
}

/* Whichever comes first: one last event, STOPPED or FAILED, unless stop has failed. */
static void stop_races_with_the_end(void **state)
{
	unsigned i;
	int      rc;

	(void)state;
	again = false;
	for (i = 0; i < 20; ++i) {
		front_open(false);
		tm_up(ASYNC, "127.0.0.1@tcp:12345:40:*");
		daemon_end();
		if (i % 4 > 0)
			(void)m0_nanosleep(i * 50 * M0_TIME_ONE_USEC, NULL);
		rc = m0_net_tm_stop(&tm, i % 2 == 0);
		if (rc == 0) {
			m0_time_t until = fix_soon();

			while (!M0_IN(__atomic_load_n(&tm.ntm_state,
						      __ATOMIC_ACQUIRE),
				      (M0_NET_TM_STOPPED, M0_NET_TM_FAILED)))
				assert_true(m0_time_now() < until);
		} else {
			assert_int_equal(rc, -ESHUTDOWN);
			assert_int_equal(tm.ntm_state, M0_NET_TM_FAILED);
		}
		tm_down();
		assert_true(failed_nr <= 1);
		front_close();
		fix_restart();
	}
}

/* A machine may start as the daemon ends: STARTED, then FAILED, or FAILED alone. */
static void start_races_with_the_end(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 20; ++i) {
		front_open(false);
		memset(&tm, 0, sizeof tm);
		failed_nr = 0;
		tm.ntm_callbacks = &tm_callbacks;
		assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
		assert_int_equal(
			m0_net_tm_start(&tm, "127.0.0.1@tcp:12345:40:*"), 0);
		if (i % 4 > 0)
			(void)m0_nanosleep(i * 20 * M0_TIME_ONE_USEC, NULL);
		daemon_end();
		assert_true(wait_state(M0_NET_TM_FAILED));
		assert_int_equal(failed_rc, -ESHUTDOWN);
		assert_int_equal(m0_net_tm_fini(&tm), 0);
		front_close();
		fix_restart();
	}
}

/* The layer above ends its work although its transfer machine has FAILED. */
static void rpc_ends_after_its_daemon(void **state)
{
	static struct m0_rpc_machine machine;
	static struct m0_rpc_conn    conn;
	struct m0_rpc_cfg            cfg;
	struct m0_uint128            none = { 0 };
	m0_time_t                    until;
	unsigned                     i;

	(void)state;
	fix.fx_policy.apo_serve.svg_bytes_max = 1 << 28;
	fix_restart();
	for (i = 0; i < 2; ++i) {
		front_open(i > 0);
		memset(&machine, 0, sizeof machine);
		memset(&conn, 0, sizeof conn);
		m0_rpc_cfg_init(&cfg);
		cfg.rc_inline = i > 0;
		assert_int_equal(m0_rpc_machine_init(&machine, &dom, &cfg,
						     "127.0.0.1@tcp:12345:40:*",
						     NULL, M0_BUFFER_ANY_COLOUR,
						     0, 0),
				 0);
		assert_int_equal(m0_rpc_conn_init(&conn, none,
						  "127.0.0.1@tcp:12345:40:5",
						  &machine, 0),
				 0);
		assert_int_equal(m0_rpc_conn_establish(
					 &conn, m0_time_from_now(0, WAIT_NS)),
				 0);
		daemon_end();
		until = fix_soon();
		while (__atomic_load_n(&machine.rm_tm.ntm_state,
				       __ATOMIC_ACQUIRE) != M0_NET_TM_FAILED) {
			if (cfg.rc_inline)
				m0_rpc_machine_progress(&machine);
			assert_true(m0_time_now() < until);
		}
		assert_int_equal(m0_rpc_conn_timedwait(
					 &conn, 1 << M0_RPC_CONN_FAILED, until),
				 0);
		m0_rpc_conn_fini(&conn);
		m0_rpc_machine_stop(&machine, true);
		m0_rpc_machine_fini(&machine);
		front_close();
		fix_restart();
	}
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fix_setup, fix_teardown)

/* All users that a namespace does not map have one number, this one among them. */
static void unmapped_users_are_not_trusted(void **state)
{
	int   status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		struct m0_attach att = { .att_creds = { .scr_pid = 77 },
					 .att_pid = (uint32_t)getpid() };

		if (unshare(CLONE_NEWUSER) != 0)
			_exit(2);
		att.att_creds.scr_uid = geteuid();
		_exit(m0_attach_may_copy(&att));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	/* Some containers forbid it. */
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(machine_fails_with_its_daemon),
		TEST(buffers_added_again_are_refused),
		TEST(stop_races_with_the_end),
		TEST(start_races_with_the_end),
		TEST(attaches_again),
		TEST(sleeper_learns_of_networks),
		TEST(rpc_ends_after_its_daemon),
		cmocka_unit_test(unmapped_users_are_not_trusted),
	};
	int rc;

	if (m0_net_init() != 0)
		return 1;
	rc = cmocka_run_group_tests_name("attach/tm", tests, NULL, NULL);
	m0_net_fini();
	return rc;
}

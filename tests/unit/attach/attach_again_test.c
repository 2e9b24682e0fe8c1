/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fronts that attach again (lc_reattach_ns): their daemon ends, and another one listens
 * at its path, in time, too late, or with other limits.
 */
#include <string.h>

#include "m0/xlnet.h"

#include "attach_fix.h"

enum {
	PORTAL = 20,
	BUF_BYTES = 4096,
	REGION_BYTES = 48 << 20,
	BITS = 77,
	ROUNDS_NR = 20
};

enum kind {
	THREAD,
	INLINE,
	FD,
	KINDS_NR
};

static struct m0_lnet   *lnet;
static struct m0_lnet_eq eq;
static enum kind         kind;
/** Memory of the library, and other memory. */
static char            *own;
static char             other[BUF_BYTES];
static void            *bufs[2];
static m0_bcount_t      counts[2] = { BUF_BYTES, BUF_BYTES };
static struct m0_bufvec vecs[2];
/** Atomic. */
static unsigned good_nr;
static unsigned shut_nr;
static unsigned unlinked_nr;

static unsigned get(const unsigned *nr)
{
	return __atomic_load_n(nr, __ATOMIC_ACQUIRE);
}

static void called(struct m0_lnet_eq *from, const struct m0_lnet_event *ev)
{
	(void)from;
	if (ev->ev_status == 0)
		__atomic_add_fetch(&good_nr, 1, __ATOMIC_RELEASE);
	if (ev->ev_status == -ESHUTDOWN)
		__atomic_add_fetch(&shut_nr, 1, __ATOMIC_RELEASE);
	if (ev->ev_unlinked)
		__atomic_add_fetch(&unlinked_nr, 1, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------- lives -- */

static void daemon_start(void)
{
	int rc = m0_attach_server_start(&fix.fx_server, fix.fx_lnet,
					&fix.fx_policy, fix.fx_path,
					fix.fx_why);

	if (rc != 0)
		fail_msg("%s", fix.fx_why);
}

static void daemon_end(void)
{
	assert_int_equal(m0_attach_server_stop(&fix.fx_server, fix_soon()), 0);
	m0_attach_server_fini(&fix.fx_server);
}

/* Another node, whose NID differs. */
static void node_renew(const char *net)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];

	m0_lnet_close(fix.fx_lnet);
	m0_lnet_cfg_default(&cfg);
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, net, why), 0);
	assert_int_equal(m0_lnet_open(&fix.fx_lnet, &cfg, why), 0);
}

static void lnet_open(struct m0_lnet **ret, enum kind how,
		      m0_time_t reattach_ns)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s", fix.fx_path);
	cfg.lc_inline = how != THREAD;
	cfg.lc_reattach_ns = reattach_ns;
	kind = how;
	/* The front logs each end of an attachment. */
	m0_log_level_set(M0_LOG_FATAL);
	if (m0_lnet_open(ret, &cfg, why) != 0)
		fail_msg("%s", why);
}

static void give(void *at)
{
	assert_int_equal(m0_lnet_mem_register(lnet, at, BUF_BYTES), 0);
}

static void front_open(enum kind how, m0_time_t reattach_ns)
{
	unsigned i;

	lnet_open(&lnet, how, reattach_ns);
	if (how == FD)
		assert_true(m0_lnet_fd(lnet) >= 0);
	own = m0_alloc_aligned(BUF_BYTES, 12);
	assert_non_null(own);
	bufs[0] = own;
	bufs[1] = other;
	for (i = 0; i < 2; ++i) {
		vecs[i].ov_buf = &bufs[i];
		vecs[i].ov_vec.v_count = &counts[i];
		vecs[i].ov_vec.v_nr = 1;
		give(bufs[i]);
	}
	m0_lnet_eq_init(&eq, lnet, called, 0);
	good_nr = 0;
	shut_nr = 0;
	unlinked_nr = 0;
}

static void front_close(void)
{
	unsigned i;

	for (i = 0; i < 2; ++i)
		if (bufs[i] != NULL)
			m0_lnet_mem_deregister(lnet, bufs[i], BUF_BYTES);
	m0_lnet_close(lnet);
	m0_lnet_eq_fini(&eq);
	m0_free_aligned(own, BUF_BYTES, 12);
}

/* -------------------------------------------------------------------- waits -- */

static void step(void)
{
	if (kind == THREAD)
		(void)m0_nanosleep(100 * M0_TIME_ONE_USEC, NULL);
	else
		(void)m0_lnet_progress(lnet);
}

static void state_await(bool ended)
{
	m0_time_t until = fix_soon();

	while (m0_lnet_is_ended(lnet) != ended) {
		assert_true(m0_time_now() < until);
		step();
	}
}

static void events_await(const unsigned *nr, unsigned wanted)
{
	m0_time_t until = fix_soon();

	while (get(nr) < wanted) {
		assert_true(m0_time_now() < until);
		step();
	}
	assert_int_equal(get(nr), wanted);
}

static void daemon_lose(void)
{
	daemon_end();
	state_await(true);
}

static void daemon_renew(void)
{
	daemon_lose();
	daemon_start();
	state_await(false);
}

static void *region_add(void)
{
	void *at = m0_alloc_aligned(REGION_BYTES, 12);

	assert_non_null(at);
	give(at);
	return at;
}

static void region_del(void *at)
{
	m0_lnet_mem_deregister(lnet, at, BUF_BYTES);
	m0_free_aligned(at, REGION_BYTES, 12);
}

static int entry_add(uint64_t bits, unsigned buf)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = bits,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = &vecs[buf],
		.mda_length = BUF_BYTES,
		.mda_threshold = 1,
		.mda_options = M0_LNET_MD_OP_PUT,
		.mda_auto_unlink = true,
		.mda_eq = &eq,
	};
	struct m0_lnet_handle handle;

	return m0_lnet_entry_attach(lnet, &me, &md, &handle);
}

static int put(uint64_t bits, unsigned buf)
{
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = bits,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = &vecs[buf],
		.mda_length = BUF_BYTES,
		.mda_threshold = 1,
		.mda_auto_unlink = true,
		.mda_eq = &eq,
	};
	struct m0_lnet_handle handle;

	return m0_lnet_bind_put(lnet, &md, &op, &handle);
}

/* From memory of one kind to that of the other. */
static void message_moves(unsigned from)
{
	unsigned before = get(&good_nr);

	memset(bufs[from], 'a' + (int)(before % 7), BUF_BYTES);
	memset(bufs[1 - from], 'z', BUF_BYTES);
	assert_int_equal(entry_add(BITS, 1 - from), 0);
	assert_int_equal(put(BITS, from), 0);
	events_await(&good_nr, before + 2);
	assert_memory_equal(own, other, BUF_BYTES);
}

/* -------------------------------------------------------------------- tests -- */

/* An MD of each life ends once, with an error; the next life has the memory. */
static void lives(enum kind how)
{
	unsigned i;

	front_open(how, 20 * M0_TIME_ONE_SECOND);
	for (i = 0; i < ROUNDS_NR; ++i) {
		message_moves(i % 2);
		assert_int_equal(entry_add(BITS + 1, 0), 0);
		daemon_end();
		events_await(&shut_nr, i + 1);
		assert_int_equal(entry_add(BITS + 1, 0), -ESHUTDOWN);
		assert_int_equal(put(BITS, 0), -ESHUTDOWN);
		daemon_start();
		state_await(false);
	}
	message_moves(0);
	assert_int_equal(get(&shut_nr), ROUNDS_NR);
	assert_int_equal(get(&unlinked_nr), 3 * ROUNDS_NR + 2);
	front_close();
}

static void fronts_attach_again(void **state)
{
	unsigned how;

	(void)state;
	for (how = 0; how < KINDS_NR; ++how)
		lives((enum kind)how);
}

/* The other daemon has the numbers of transfer machines, and another NID. */
static void numbers_and_nids_are_renewed(void **state)
{
	struct m0_lnet_process_id id;
	struct m0_lnet_nid        nid;
	struct m0_lnet           *stranger;
	uint32_t                  nr;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 7, &nr), 0);
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 8, &nr), 0);
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 9, &nr), 0);
	daemon_lose();
	m0_lnet_tm_release(lnet, PORTAL, 8);
	node_renew("tcp(127.0.0.2)");
	daemon_start();
	state_await(false);
	assert_int_equal(m0_lnet_nid_parse(&nid, "127.0.0.2@tcp"), 0);
	assert_int_equal(m0_lnet_get_id(lnet, 1, &id), 0);
	assert_true(m0_lnet_nid_eq(&id.lp_nid, &nid));
	assert_int_equal(m0_lnet_get_id(lnet, 2, &id), -ENOENT);
	lnet_open(&stranger, THREAD, 0);
	assert_int_equal(m0_lnet_tm_claim(stranger, PORTAL, 7, &nr),
			 -EADDRINUSE);
	assert_int_equal(m0_lnet_tm_claim(stranger, PORTAL, 8, &nr), 0);
	assert_int_equal(m0_lnet_tm_claim(stranger, PORTAL, 9, &nr),
			 -EADDRINUSE);
	m0_lnet_tm_release(lnet, PORTAL, 7);
	while (m0_lnet_tm_claim(stranger, PORTAL, 7, &nr) != 0)
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	m0_lnet_close(stranger);
	front_close();
}

/* Memory that was deregistered meanwhile is not given, and its number can be used; what was
 * registered meanwhile is given. */
static void memory_changes_meanwhile(void **state)
{
	unsigned i;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	for (i = 0; i < ROUNDS_NR; ++i) {
		unsigned how = i % 4;

		daemon_lose();
		m0_lnet_mem_deregister(lnet, other, BUF_BYTES);
		if (how > 0)
			give(other);
		if (how > 1)
			m0_lnet_mem_deregister(lnet, other, BUF_BYTES);
		daemon_start();
		if (how == 3)
			give(other);
		state_await(false);
		if (how % 2 == 0) {
			assert_int_equal(put(BITS, 1), -EFAULT);
			give(other);
		}
		message_moves(i % 2);
	}
	front_close();
}

/* Regions of their own that come and go while there is no daemon, or a new one is being
 * given them. */
static void regions_come_meanwhile(void **state)
{
	void    *at[4];
	unsigned round;
	unsigned i;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	for (round = 0; round < ROUNDS_NR; ++round) {
		daemon_lose();
		for (i = 0; i < ARRAY_SIZE(at); ++i) {
			if (i == round % 5)
				daemon_start();
			at[i] = region_add();
		}
		if (round % 5 == 4)
			daemon_start();
		state_await(false);
		for (i = 0; i < ARRAY_SIZE(at); ++i) {
			bufs[0] = at[i];
			assert_int_equal(put(BITS, 0), 0);
			events_await(&good_nr, 4 * round + i + 1);
			region_del(at[i]);
		}
		bufs[0] = own;
	}
	front_close();
}

/* More memory than the next daemon maps: it takes the rest once there is room. */
static void refused_memory_ends_nothing(void **state)
{
	void    *at[6];
	unsigned taken_nr = 0;
	unsigned i;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	fix_lines_count("does not take memory");
	daemon_lose();
	for (i = 0; i < ARRAY_SIZE(at); ++i)
		at[i] = region_add();
	daemon_start();
	state_await(false);
	for (i = 0; i < ARRAY_SIZE(at); ++i) {
		bufs[0] = at[i];
		if (put(BITS, 0) == 0)
			events_await(&good_nr, ++taken_nr);
	}
	assert_in_range(taken_nr, 1, ARRAY_SIZE(at) - 1);
	assert_int_equal(fix_lines_nr(), ARRAY_SIZE(at) - taken_nr);
	assert_int_equal(put(BITS, 0), -EFAULT);
	assert_int_equal(m0_lnet_mem_register(lnet, at[5], BUF_BYTES), -EDQUOT);
	for (i = 0; i + 2 < ARRAY_SIZE(at); ++i)
		region_del(at[i]);
	daemon_renew();
	for (; i < ARRAY_SIZE(at); ++i) {
		bufs[0] = at[i];
		assert_int_equal(put(BITS, 0), 0);
		events_await(&good_nr, ++taken_nr);
		region_del(at[i]);
	}
	bufs[0] = own;
	front_close();
}

/* A portal stays lazy: messages wait for an entry. */
static void lazy_portals_stay(void **state)
{
	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	assert_int_equal(m0_lnet_lazy_set(lnet, PORTAL, true), 0);
	daemon_renew();
	assert_int_equal(put(BITS, 0), 0);
	(void)m0_nanosleep(20 * M0_TIME_ONE_MSEC, NULL);
	assert_int_equal(entry_add(BITS, 1), 0);
	events_await(&good_nr, 2);
	assert_int_equal(m0_lnet_lazy_set(lnet, PORTAL, false), 0);
	front_close();
}

/* A bounded queue that was not emptied does not hinder the next life. */
static void queues_carry_over(void **state)
{
	struct m0_lnet_eq    polled;
	struct m0_lnet_event ev;
	unsigned             round;
	unsigned             i;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	m0_lnet_eq_init(&polled, lnet, NULL, 4);
	eq.eq_user = NULL;
	for (round = 0; round < 5; ++round) {
		for (i = 0; i < 4; ++i) {
			struct m0_lnet_me_attr me = {
				.mea_portal = PORTAL,
				.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
				.mea_match_bits = i,
				.mea_flags = M0_LNET_ME_UNLINK,
			};
			struct m0_lnet_md_attr md = {
				.mda_vec = &vecs[1],
				.mda_length = BUF_BYTES,
				.mda_threshold = 1,
				.mda_options = M0_LNET_MD_OP_PUT,
				.mda_auto_unlink = true,
				.mda_eq = &polled,
			};
			struct m0_lnet_handle handle;

			assert_int_equal(m0_lnet_entry_attach(lnet, &me, &md,
							      &handle),
					 0);
			assert_int_equal(put(i, 0), 0);
		}
		events_await(&good_nr, 4 * (round + 1));
		assert_int_equal(m0_lnet_eq_wait(&polled, &ev,
						 m0_time_from_now(5, 0)),
				 0);
		assert_int_equal(ev.ev_status, 0);
		daemon_renew();
		/* Three of the life before. */
		for (i = 0; i < 3; ++i)
			assert_int_equal(
				m0_lnet_eq_wait(&polled, &ev,
						m0_time_from_now(5, 0)),
				0);
	}
	m0_lnet_eq_fini(&polled);
	front_close();
}

static void stays_ended(void)
{
	m0_time_t until = m0_time_from_now(0, 300 * M0_TIME_ONE_MSEC);

	while (m0_time_now() < until) {
		assert_true(m0_lnet_is_ended(lnet));
		step();
	}
	assert_int_equal(put(BITS, 0), -ESHUTDOWN);
}

/* The daemon comes too late, or with other limits, or the front has not asked. */
static void looks_are_bounded(void **state)
{
	static const m0_time_t ns[] = { 0, 50 * M0_TIME_ONE_MSEC };
	unsigned               i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ns); ++i) {
		front_open(i == 0 ? THREAD : INLINE, ns[i]);
		daemon_lose();
		stays_ended();
		daemon_start();
		stays_ended();
		front_close();
	}
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	daemon_end();
	fix.fx_policy.apo_serve.svg_shared.shc_mes_max /= 2;
	daemon_start();
	state_await(true);
	stays_ended();
	front_close();
	/* The policy does not have all memory. */
	fix.fx_policy.apo_serve.svg_bytes_max = 1 << 28;
	daemon_end();
	daemon_start();
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	daemon_end();
	fix.fx_policy.apo_serve.svg_bytes_max = BUF_BYTES;
	daemon_start();
	state_await(true);
	stays_ended();
	front_close();
}

/* A front may be closed whatever it is about. */
static void close_races(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 3 * ROUNDS_NR; ++i) {
		front_open((enum kind)(i % KINDS_NR), 20 * M0_TIME_ONE_SECOND);
		daemon_end();
		if (i % 2 == 0)
			state_await(true);
		daemon_start();
		(void)m0_nanosleep(i * 150 * M0_TIME_ONE_USEC, NULL);
		if (kind != THREAD)
			for (unsigned j = 0; j < i; ++j)
				step();
		front_close();
	}
}

/* Daemons end before the front has everything. */
static void ends_race(void **state)
{
	unsigned i;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	for (i = 0; i < 3 * ROUNDS_NR; ++i) {
		daemon_end();
		daemon_start();
		(void)m0_nanosleep(i * 300 * M0_TIME_ONE_USEC, NULL);
	}
	state_await(false);
	message_moves(1);
	front_close();
}

/* ----------------------------------------------------------------- machines -- */

static struct m0_net_domain      dom;
static struct m0_net_transfer_mc tm;

static void tm_event(const struct m0_net_tm_event *ev)
{
	(void)ev;
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 tm_event };

static void tm_await(enum m0_net_tm_state wanted)
{
	m0_time_t until = fix_soon();

	while (__atomic_load_n(&tm.ntm_state, __ATOMIC_ACQUIRE) != wanted) {
		assert_true(m0_time_now() < until);
		(void)m0_nanosleep(100 * M0_TIME_ONE_USEC, NULL);
	}
}

/* Machines FAILED; others can be started on the same node, at the same address. */
static void machines_start_again(void **state)
{
	unsigned i;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	assert_int_equal(m0_net_lnet_use(lnet), 0);
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
	for (i = 0; i < ROUNDS_NR; ++i) {
		memset(&tm, 0, sizeof tm);
		tm.ntm_callbacks = &tm_callbacks;
		assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
		assert_int_equal(
			m0_net_tm_start(&tm, "127.0.0.1@tcp:12345:40:7"), 0);
		tm_await(M0_NET_TM_STARTED);
		daemon_end();
		tm_await(M0_NET_TM_FAILED);
		/* Its number may be claimed again before it is released. */
		if (i % 2 == 0)
			assert_int_equal(m0_net_tm_fini(&tm), 0);
		daemon_start();
		state_await(false);
		if (i % 2 != 0)
			assert_int_equal(m0_net_tm_fini(&tm), 0);
	}
	assert_int_equal(m0_net_domain_fini(&dom), 0);
	assert_int_equal(m0_net_lnet_unuse(lnet), 0);
	front_close();
}

static unsigned added_nr;
static int32_t  added_status;

static void added(const struct m0_net_buffer_event *ev)
{
	++added_nr;
	added_status = ev->nbe_status;
}

static void late_buffer_add(struct m0_net_buffer *nb)
{
	added_nr = 0;
	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_timeout = M0_TIME_NEVER;
	nb->nb_min_receive_size = 1;
	nb->nb_max_receive_msgs = 1;
	added_status = m0_net_buffer_add(nb, &tm);
	while (added_status == 0 && added_nr == 0)
		m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(added_status, -ESHUTDOWN);
}

/* @return  the machine did not know yet that its daemon had ended. */
static bool late_buffer_round(struct m0_net_buffer *nb)
{
	bool ret;

	memset(&tm, 0, sizeof tm);
	tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
	assert_int_equal(m0_net_tm_inline(&tm), 0);
	assert_int_equal(m0_net_tm_start(&tm, "127.0.0.1@tcp:12345:40:7"), 0);
	while (tm.ntm_state != M0_NET_TM_STARTED)
		m0_net_buffer_event_deliver_all(&tm);
	daemon_renew();
	ret = tm.ntm_state == M0_NET_TM_STARTED;
	if (ret)
		late_buffer_add(nb);
	while (tm.ntm_state != M0_NET_TM_FAILED)
		m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(m0_net_tm_fini(&tm), 0);
	return ret;
}

/* A receive buffer for a machine that does not know yet that its daemon has ended, and
 * whose node has another one. On a busy host the machine may know already. */
static void late_buffers_say_why(void **state)
{
	static const struct m0_net_buffer_callbacks callbacks = {
		.nbc_cb = { [M0_NET_QT_MSG_RECV] = added },
	};
	struct m0_net_buffer nb = { .nb_callbacks = &callbacks };
	unsigned             i;

	(void)state;
	front_open(INLINE, 20 * M0_TIME_ONE_SECOND);
	assert_int_equal(m0_net_lnet_use(lnet), 0);
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
	assert_int_equal(m0_bufvec_alloc(&nb.nb_buffer, 1, BUF_BYTES), 0);
	assert_int_equal(m0_net_buffer_register(&nb, &dom), 0);
	for (i = 0; i < ROUNDS_NR && !late_buffer_round(&nb); ++i)
		;
	assert_int_equal(m0_net_buffer_deregister(&nb, &dom), 0);
	m0_bufvec_free(&nb.nb_buffer);
	assert_int_equal(m0_net_domain_fini(&dom), 0);
	assert_int_equal(m0_net_lnet_unuse(lnet), 0);
	front_close();
	if (i == ROUNDS_NR)
		skip(); /* no machine was late */
}

static unsigned sent_nr;
static int32_t  sent_status;

static void sent(const struct m0_net_buffer_event *ev)
{
	sent_status = ev->nbe_status;
	__atomic_add_fetch(&sent_nr, 1, __ATOMIC_RELEASE);
}

/* A buffer that was registered while the daemon was away moves when there is one again,
 * and so do buffers that are registered later. */
static void buffers_registered_meanwhile_work(void **state)
{
	static const struct m0_net_buffer_callbacks callbacks = {
		.nbc_cb = { [M0_NET_QT_MSG_SEND] = sent },
	};
	struct m0_net_buffer     nb;
	struct m0_net_end_point *ep;
	unsigned                 i;

	(void)state;
	front_open(THREAD, 20 * M0_TIME_ONE_SECOND);
	assert_int_equal(m0_net_lnet_use(lnet), 0);
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_lnet_xprt), 0);
	for (i = 0; i < 4; ++i) {
		memset(&tm, 0, sizeof tm);
		memset(&nb, 0, sizeof nb);
		if (i % 2 == 0) {
			daemon_end();
			state_await(true);
		}
		nb.nb_callbacks = &callbacks;
		assert_int_equal(m0_bufvec_alloc_aligned(&nb.nb_buffer, 1,
							 1 << 20, 12),
				 0);
		assert_int_equal(m0_net_buffer_register(&nb, &dom), 0);
		if (i % 2 == 0)
			daemon_start();
		state_await(false);
		tm.ntm_callbacks = &tm_callbacks;
		assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
		assert_int_equal(
			m0_net_tm_start(&tm, "127.0.0.1@tcp:12345:40:7"), 0);
		tm_await(M0_NET_TM_STARTED);
		assert_int_equal(m0_net_end_point_create(
					 &ep, &tm, "127.0.0.1@tcp:12345:40:7"),
				 0);
		sent_nr = 0;
		nb.nb_qtype = M0_NET_QT_MSG_SEND;
		nb.nb_timeout = M0_TIME_NEVER;
		nb.nb_length = BUF_BYTES;
		nb.nb_ep = ep;
		assert_int_equal(m0_net_buffer_add(&nb, &tm), 0);
		events_await(&sent_nr, 1);
		assert_int_equal(sent_status, 0);
		m0_net_end_point_put(ep);
		assert_int_equal(m0_net_tm_stop(&tm, true), 0);
		tm_await(M0_NET_TM_STOPPED);
		assert_int_equal(m0_net_tm_fini(&tm), 0);
		assert_int_equal(m0_net_buffer_deregister(&nb, &dom), 0);
		m0_bufvec_free_aligned(&nb.nb_buffer, 12);
	}
	assert_int_equal(m0_net_domain_fini(&dom), 0);
	assert_int_equal(m0_net_lnet_unuse(lnet), 0);
	front_close();
}

static int setup(void **state)
{
	(void)fix_setup(state);
	fix.fx_policy.apo_serve.svg_bytes_max = 1 << 28;
	fix_restart();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fix_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(fronts_attach_again),
		TEST(numbers_and_nids_are_renewed),
		TEST(memory_changes_meanwhile),
		TEST(regions_come_meanwhile),
		TEST(refused_memory_ends_nothing),
		TEST(lazy_portals_stay),
		TEST(queues_carry_over),
		TEST(looks_are_bounded),
		TEST(close_races),
		TEST(ends_race),
		TEST(machines_start_again),
		TEST(late_buffers_say_why),
		TEST(buffers_registered_meanwhile_work),
	};
	int rc;

	if (m0_net_init() != 0)
		return 1;
	rc = cmocka_run_group_tests_name("attach/again", tests, NULL, NULL);
	m0_net_fini();
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The engine as a whole: life, time, shutdown. */
#include "unit/lnet/story.h"

#include "sim/sched/heap.h"

static struct m0_lnet_timer timer;
static m0_time_t            fired_at;
static unsigned             fired_nr;

static void fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *t,
		 m0_time_t now)
{
	assert_ptr_equal(t, &timer);
	assert_int_equal(eng->le_now, now);
	fired_at = now;
	++fired_nr;
}

static const struct m0_lnet_owner_ops no_owner;

static int life(void *arg)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	struct m0_lnet_engine    *eng;
	int                       rc;

	cfg.lec_owner_ops = &no_owner;
	cfg.lec_owner = arg;
	rc = m0_lnet_engine_create(&eng, &cfg, 5);
	if (rc != 0)
		return rc;
	assert_true(m0_lnet_engine_is_quiet(eng));
	m0_lnet_engine_destroy(eng);
	return 0;
}

/* Whichever allocation fails, create fails and leaves nothing behind. */
static void create_without_memory_leaves_nothing(void **state)
{
	(void)state;
	assert_true(m0_heap_fail_each(life, &timer) > 3);
}

/* The next deadline is the first timer's; it fires then and once. */
static void timer_fires_at_its_time(void **state)
{
	struct m0_lnet_engine *eng = one->pno_engine;
	m0_time_t              now = pair->pai_now;
	m0_time_t              next;

	(void)state;
	M0_SET0(&timer);
	fired_nr = 0;
	timer.ltm_fire = fire;
	m0_lnet__timer_cancel(eng, &timer);
	assert_true(m0_lnet_engine_step(eng, now) == M0_TIME_NEVER);
	m0_lnet__timer_arm(eng, &timer, now + 10 * M0_TIME_ONE_MSEC);
	/* No step before it has anything to do. */
	assert_true(eng->le_timers_at >= now + 10 * M0_TIME_ONE_MSEC);
	next = m0_lnet_engine_step(eng, now);
	assert_true(next <= now + 11 * M0_TIME_ONE_MSEC && next > now);
	assert_int_equal(fired_nr, 0);
	now += 11 * M0_TIME_ONE_MSEC;
	(void)m0_lnet_engine_step(eng, now);
	assert_int_equal(fired_nr, 1);
	assert_int_equal(fired_at, now);
	pair->pai_now = now;
	m0_lnet__timer_arm(eng, &timer, pair->pai_now + M0_TIME_ONE_MSEC);
	m0_lnet__timer_cancel(eng, &timer);
	pair_run(pair, 11);
	assert_int_equal(fired_nr, 1);
}

/* Deadlines count from the pass in which an operation is begun, however long
 * ago the last step was. */
static void time_of_pass_is_the_one_told(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 8, 2, 0);

	(void)state;
	pair->pai_hook = all_lost;
	pair_settle(pair);
	pair->pai_now += 3600 * M0_TIME_ONE_SECOND;
	m0_lnet_engine_time(one->pno_engine, pair->pai_now);
	pair_put(one, md, STRANGER, PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_SEND);
	pair_run(pair, 149000);
	assert_int_equal(one->pno_events_nr, 1);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* Shutdown: idle MDs say UNLINK, what is under way -ESHUTDOWN; each MD ends in
 * one event, then the engine is quiet. */
static void shutdown_ends_everything(void **state)
{
	struct m0_lnet_engine *eng = one->pno_engine;
	struct m0_lnet_hdr     hdr = hdr_of(M0_LNET_PUT, 10);
	struct m0_lnd_rx       rx;

	(void)state;
	(void)sink(one, BITS, -1, 0);
	(void)sink(one, BITS + 1, -1, 0);
	(void)pair_me(one, PORTAL, BITS, 0, 0);
	pair->pai_hook = all_lost;
	pair_put(one, pair_md_bind(one, bytes_out, 8, 2, 0), STRANGER, PORTAL,
		 BITS, true);
	pair_settle(pair);
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	assert_false(m0_lnet_engine_is_quiet(eng));
	one->pno_events_nr = 0;
	one->pno_keep = true;
	m0_lnet_engine_shutdown(eng, pair->pai_now);
	assert_int_equal(one->pno_mes_nr, 0);
	assert_true(m0_lnet_engine_is_quiet(eng));
	one->pno_keep = false;
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 3);
	assert_int_equal(pair_event(one, M0_LNET_EV_PUT, 0)->ev_status,
			 -ESHUTDOWN);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_status,
			 -ESHUTDOWN);
	assert_int_equal(pair_event(one, M0_LNET_EV_UNLINK, 0)->ev_status, 0);
	assert_int_equal(one->pno_mds_nr, 0);
	rx_done(&rx, 0);
	m0_lnet_engine_shutdown(eng, pair->pai_now);
}

/* After it nothing new begins, but all is told. */
static void operations_after_shutdown_fail(void **state)
{
	struct m0_lnet_engine *eng = one->pno_engine;
	struct m0_lnet_me     *me;
	struct m0_lnet_md     *md;

	(void)state;
	pair->pai_hook = all_slow;
	(void)pair_ni(two, STRANGER);
	md = pair_md_bind(one, bytes_out, 8, -1, 0);
	pair_put(one, md, STRANGER, PORTAL, BITS, false);
	pair_settle(pair);
	m0_lnet_engine_shutdown(eng, pair->pai_now);
	/* Still busy: the driver has it. */
	assert_int_equal(one->pno_events_nr, 0);
	pair_put(one, md, STRANGER, PORTAL, BITS, false);
	(void)pair_md_bind(one, bytes_out, 8, 1, 0);
	me = pair_me(one, PORTAL, BITS, 0, 0);
	(void)pair_md_attach(one, me, bytes_in, 8, -1, M0_LNET_MD_OP_PUT,
			     false);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_SEND, 0)->ev_status,
			 -ESHUTDOWN);
	assert_int_equal(pair_event(one, M0_LNET_EV_UNLINK, 0)->ev_status,
			 -ESHUTDOWN);
	assert_int_equal(pair_event(one, M0_LNET_EV_UNLINK, 1)->ev_status,
			 -ESHUTDOWN);
	m0_lnet_engine_me_unlink(eng, me);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_status, -ESHUTDOWN);
	assert_true(m0_lnet_engine_is_quiet(eng));
}

/* A closing node answers pings as long as its interfaces are there. */
static void pings_are_answered_after_shutdown(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);

	(void)state;
	m0_lnet_engine_shutdown(one->pno_engine, pair->pai_now);
	hdr.lhd_portal = M0_LNET_PORTAL_RESERVED;
	hdr.lhd_match_bits = UINT64_C(1) << 63;
	hdr.lhd_length = 272;
	pair->pai_hook = all_lost;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_REPLY), 1);
}

/* Each class of failure has a counter, success none. */
static void failures_are_counted_by_class(void **state)
{
	struct m0_lnet_failures lf = { 0 };
	uint64_t               *counts = (uint64_t *)(void *)&lf;
	int                     health;

	(void)state;
	for (health = M0_LND_OK; health <= M0_LND_NETWORK_TIMEOUT + 1; ++health)
		m0_lnet__failure_count(&lf, (enum m0_lnd_health)health);
	for (health = 0; health < M0_LND_NETWORK_TIMEOUT; ++health)
		assert_int_equal(counts[health], 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(create_without_memory_leaves_nothing),
		STORY(timer_fires_at_its_time),
		STORY(time_of_pass_is_the_one_told),
		STORY(shutdown_ends_everything),
		STORY(operations_after_shutdown_fail),
		STORY(pings_are_answered_after_shutdown),
		STORY(failures_are_counted_by_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnet/foreign.h"

#include "sim/sched/heap.h"

static struct m0_lnet_probe probe;

static void probe_begin(struct pair_node *node, enum m0_lnet_probe_kind kind,
			const char *nid, uint64_t timeout_ms, bool force)
{
	M0_SET0(&probe);
	probe.pr_kind = kind;
	probe.pr_nid = pair_nid(nid);
	probe.pr_self = m0_lnet_nid_any;
	probe.pr_timeout_ms = timeout_ms;
	probe.pr_force = force;
	probe.pr_status = 1;
	m0_lnet_engine_probe(node->pno_engine, &probe);
}

/* -- probes ---------------------------------------------------------------- */

static void probe_ping_tells_all_and_keeps_nothing(void **state)
{
	(void)state;
	story_open(2, NULL);
	(void)pair_ni(two, "fd77::2@tcp");
	probe_begin(one, M0_LNET_PING, "10.0.0.2@tcp", 1000, false);
	assert_int_equal(one->pno_probes_done_nr, 0);
	pair_run(pair, 10);
	assert_int_equal(one->pno_probes_done_nr, 1);
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(probe.pr_nids_nr, 2);
	assert_nid(&probe.pr_source, "10.0.0.1@tcp");
	assert_nid(&probe.pr_primary, "10.0.0.2@tcp");
	assert_nid(&probe.pr_nids[1], "fd77::2@tcp");
	assert_true(probe.pr_nids_up[1]);
	assert_int_equal(probe.pr_features, 0x4000003e);
	assert_int_equal(probe.pr_pid, M0_LNET_PID_LUSTRE);
	/* Its features say so, but our own record does not. */
	assert_false(probe.pr_multi_rail);
	assert_int_equal(peer_of(one, "10.0.0.2@tcp")->lpe_state, 0);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 0);
}

/* A ping tells of Multi-Rail what our own record of the peer has. */
static void probe_ping_knows_a_peer_once_discovered(void **state)
{
	(void)state;
	story_open(2, NULL);
	(void)pair_ni(two, "10.0.1.2@tcp1");
	probe_begin(one, M0_LNET_DISCOVER, "10.0.0.2@tcp", 0, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
	assert_true(probe.pr_multi_rail);
	probe_begin(one, M0_LNET_PING, "10.0.0.2@tcp", 1000, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
	assert_true(probe.pr_multi_rail);
}

/* One's own NIDs answer too, through `0@lo`. */
static void probe_of_own_nid_is_answered(void **state)
{
	(void)state;
	story_open(1, NULL);
	probe_begin(one, M0_LNET_PING, "10.0.0.1@tcp", 1000, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
	assert_nid(&probe.pr_nids[0], "10.0.0.1@tcp");
	probe_begin(one, M0_LNET_PING, "0@lo", 1000, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
	probe_begin(one, M0_LNET_DISCOVER, "10.0.0.1@tcp", 1000, true);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
	assert_true(m0_lnet_nid_is_any(&probe.pr_source));
	assert_int_equal(one->pno_probes_done_nr, 3);
	assert_int_equal(one->pno_engine->le_peers_nr, 0);
}

static void probe_discover_makes_peers_of_both(void **state)
{
	(void)state;
	story_open(2, NULL);
	(void)pair_ni(two, "10.0.1.2@tcp1");
	probe_begin(one, M0_LNET_DISCOVER, "10.0.0.2@tcp", 0, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(probe.pr_nids_nr, 2);
	assert_nid(&probe.pr_source, "10.0.0.1@tcp");
	assert_true((peer_of(two, "10.0.0.1@tcp")->lpe_state &
		     M0_LNET_PEER_NIDS_UPTODATE) != 0);
	/* Known: told at once, unless it must be asked. */
	probe_begin(one, M0_LNET_DISCOVER, "10.0.0.2@tcp", 0, false);
	assert_int_equal(one->pno_probes_done_nr, 2);
	assert_int_equal(probe.pr_nids_nr, 2);
	assert_true(m0_lnet_nid_is_any(&probe.pr_source));
	assert_nid(&probe.pr_primary, "10.0.0.2@tcp");
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	probe_begin(one, M0_LNET_DISCOVER, "10.0.0.2@tcp", 0, true);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 2);
	assert_int_equal(one->pno_probes_done_nr, 3);
}

/* As lnetctl has it, that is a failure, with what is known of the peer. */
static void probe_discover_of_one_without_it_fails(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	story_open(2, NULL);
	pair_restart(pair, 1, &cfg);
	/* Also when it is known already, and when it is asked again. */
	for (i = 0; i < 3; ++i) {
		probe_begin(one, M0_LNET_DISCOVER, "10.0.0.2@tcp", 0, i == 2);
		pair_run(pair, 10);
		assert_int_equal(one->pno_probes_done_nr, i + 1);
		assert_int_equal(probe.pr_status, -EOPNOTSUPP);
		assert_nid(&probe.pr_primary, "10.0.0.2@tcp");
		assert_false(probe.pr_multi_rail);
	}
	probe_begin(one, M0_LNET_PING, "10.0.0.2@tcp", 1000, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, 0);
}

/* Each in its own time, exactly once, whatever the discovery does. */
static void probe_times_out_exactly_once(void **state)
{
	struct m0_lnet_probe other;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	probe_begin(one, M0_LNET_DISCOVER, STRANGER, 3000, false);
	other = probe;
	other.pr_timeout_ms = 5000;
	m0_lnet_engine_probe(one->pno_engine, &other);
	pair_run(pair, 2990);
	assert_int_equal(one->pno_probes_done_nr, 0);
	pair_run(pair, 20);
	assert_int_equal(one->pno_probes_done_nr, 1);
	assert_int_equal(probe.pr_status, -ETIMEDOUT);
	assert_true(probe.pr_took_ns >= 3 * M0_TIME_ONE_SECOND);
	pair_run(pair, 2000);
	assert_int_equal(one->pno_probes_done_nr, 2);
	assert_int_equal(other.pr_status, -ETIMEDOUT);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_GET), 1);
	probe_begin(one, M0_LNET_PING, STRANGER, 700, false);
	pair_run(pair, 690);
	assert_int_equal(one->pno_probes_done_nr, 2);
	pair_run(pair, 20);
	assert_int_equal(one->pno_probes_done_nr, 3);
	assert_int_equal(probe.pr_status, -ETIMEDOUT);
	pair_run(pair, 2 * TTO_MS);
	assert_int_equal(one->pno_probes_done_nr, 3);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* A message that never leaves the driver does not keep a probe. */
static void probe_held_in_driver_times_out(void **state)
{
	(void)state;
	story_open(2, NULL);
	pair->pai_hook = all_held;
	probe_begin(one, M0_LNET_PING, "10.0.0.2@tcp", 500, false);
	pair_run(pair, 510);
	assert_int_equal(probe.pr_status, -ETIMEDOUT);
	pair_run(pair, 10);
	assert_int_equal(one->pno_msgs_nr, 0);
}

static void probe_of_nonsense_and_nobody_says_so(void **state)
{
	uint8_t buf[10] = { 1 };

	(void)state;
	story_open(1, NULL);
	probe_begin(one, M0_LNET_PING, STRANGER, 500, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, -EHOSTUNREACH);
	probe_begin(one, M0_LNET_DISCOVER, STRANGER, 500, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, -EHOSTUNREACH);
	probe_begin(one, M0_LNET_PING, "5@gni", 500, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, -EHOSTUNREACH);
	probe_begin(one, M0_LNET_DISCOVER, "5@gni", 500, false);
	pair_run(pair, 10);
	assert_int_equal(probe.pr_status, -EHOSTUNREACH);
	pair->pai_hook = all_lost;
	probe_begin(one, M0_LNET_PING, STRANGER, 500, false);
	pair_settle(pair);
	answer(one, 0, STRANGER, buf, sizeof buf);
	assert_int_equal(probe.pr_status, -EPROTO);
	assert_int_equal(one->pno_probes_done_nr, 5);
}

/* With all messages in use a probe waits for one, in its time. */
static void probe_without_a_message_waits_for_one(void **state)
{
	(void)state;
	story_open(2, NULL);
	one->pno_msgs_max = 0;
	probe_begin(one, M0_LNET_PING, "10.0.0.2@tcp", 500, false);
	pair_run(pair, 100);
	assert_int_equal(one->pno_probes_done_nr, 0);
	one->pno_msgs_max = 8;
	pair_run(pair, 30);
	assert_int_equal(probe.pr_status, 0);
	one->pno_msgs_max = 0;
	probe_begin(one, M0_LNET_PING, "10.0.0.2@tcp", 500, false);
	pair_run(pair, 510);
	assert_int_equal(probe.pr_status, -ETIMEDOUT);
}

/* -- the end --------------------------------------------------------------- */

/* In the middle of everything: each is told once, and nothing is left. */
static void shutdown_ends_probes_and_waiting(void **state)
{
	struct m0_lnet_probe other;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	probe_begin(one, M0_LNET_DISCOVER, STRANGER, 0, false);
	other = probe;
	other.pr_kind = M0_LNET_PING;
	m0_lnet_engine_probe(one->pno_engine, &other);
	put_to(one, STRANGER, 64);
	pair_run(pair, 10);
	m0_lnet_engine_shutdown(one->pno_engine, pair->pai_now);
	pair_settle(pair);
	assert_int_equal(probe.pr_status, -ESHUTDOWN);
	assert_int_equal(other.pr_status, -ESHUTDOWN);
	assert_int_equal(one->pno_probes_done_nr, 2);
	assert_true(send_status(one, 0) < 0);
	probe_begin(one, M0_LNET_PING, STRANGER, 0, false);
	assert_int_equal(probe.pr_status, -ESHUTDOWN);
	assert_true(m0_lnet_engine_is_quiet(one->pno_engine));
	/* Pings are answered to the last. */
	assert_int_equal(m0_lnet_engine_nis_nr(one->pno_engine), 2);
}

static void shutdown_between_ping_and_push_leaves_nothing(void **state)
{
	unsigned steps;

	(void)state;
	/* Stopped after each number of passes. */
	for (steps = 0; steps < 12; ++steps) {
		story_open(2, NULL);
		sink_post(two);
		put_to(one, "10.0.0.2@tcp", 64);
		probe_begin(two, M0_LNET_DISCOVER, "10.0.0.1@tcp", 0, true);
		pair_pass(pair, steps);
		(void)story_end(NULL);
	}
}

/*
 * Whichever allocation fails, each probe ends once and nothing is left; the
 * failure does not last.
 */
static void probes_without_memory_end_all_the_same(void **state)
{
	struct m0_heap heap;
	uint64_t       nth = 0;
	bool           failed;

	(void)state;
	do {
		story_open(2, NULL);
		(void)pair_ni(one, "fd77::1@tcp");
		(void)pair_ni(two, "10.1.0.2@tcp1");
		sink_post(two);
		put_to(one, "10.0.0.2@tcp", 64);
		probe_begin(two, M0_LNET_DISCOVER, "10.0.0.1@tcp", 5000, true);
		m0_heap_init(&heap);
		m0_heap_fail_at(&heap, ++nth);
		pair_run(pair, 3 * TTO_MS);
		failed = m0_heap_failed_nr(&heap) > 0;
		m0_heap_fini(&heap);
		assert_true(send_status(one, 0) <= 0);
		assert_int_equal(two->pno_probes_done_nr, 1);
		put_to(one, "10.0.0.2@tcp", 64);
		pair_run(pair, 3 * TTO_MS);
		assert_int_equal(send_status(one, 1), 0);
		(void)story_end(NULL);
	} while (failed);
	assert_true(nth > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(probe_ping_tells_all_and_keeps_nothing),
		STORY_BARE(probe_ping_knows_a_peer_once_discovered),
		STORY_BARE(probe_discover_of_one_without_it_fails),
		STORY_BARE(probe_of_own_nid_is_answered),
		STORY_BARE(probe_discover_makes_peers_of_both),
		STORY_BARE(probe_times_out_exactly_once),
		STORY_BARE(probe_held_in_driver_times_out),
		STORY_BARE(probe_of_nonsense_and_nobody_says_so),
		STORY_BARE(probe_without_a_message_waits_for_one),
		STORY_BARE(shutdown_ends_probes_and_waiting),
		STORY_BARE(shutdown_between_ping_and_push_leaves_nothing),
		STORY_BARE(probes_without_memory_end_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

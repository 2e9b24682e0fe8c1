/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnet/routed.h"

#include "sim/sched/heap.h"

static int dist(const char *text, struct m0_lnet_nid *src, uint32_t *order)
{
	struct m0_lnet_nid nid = pair_nid(text);

	return m0_lnet_engine_dist(one->pno_engine, &nid, src, order);
}

/* Here 0, next door 1, elsewhere no way; and by which NID. */
static void dist_is_zero_one_or_none(void **state)
{
	struct m0_lnet_nid src;
	uint32_t           order;

	(void)state;
	story_open(1, NULL);
	(void)pair_ni(one, "10.1.0.1@tcp1");
	assert_int_equal(dist("0@lo", &src, &order), 0);
	assert_nid(&src, "0@lo");
	assert_int_equal(order, 0);
	assert_int_equal(dist("10.1.0.1@tcp1", &src, &order), 0);
	assert_nid(&src, "10.1.0.1@tcp1");
	assert_true(order > 0);
	assert_int_equal(dist("10.0.0.9@tcp", &src, &order), 1);
	assert_nid(&src, "10.0.0.1@tcp");
	assert_int_equal(order, 1);
	assert_int_equal(dist("10.1.0.9@tcp1", &src, &order), 1);
	assert_nid(&src, "10.1.0.1@tcp1");
	assert_int_equal(order, 2);
	assert_int_equal(dist("10.1.0.9@tcp1", NULL, NULL), 1);
	assert_int_equal(dist("10.0.0.9@tcp7", &src, &order), -EHOSTUNREACH);
	assert_int_equal(dist("fd77::9@tcp", &src, &order), -EHOSTUNREACH);
	/* Asking makes no peers. */
	assert_int_equal(one->pno_engine->le_peers_nr, 0);
}

/* An NID that is far is near if its node has another one that is. */
static void dist_of_rails_is_that_of_the_nearest(void **state)
{
	struct m0_lnet_nid src;

	(void)state;
	story_open(2, NULL);
	(void)pair_ni(two, "10.1.0.2@tcp1");
	assert_int_equal(dist("10.1.0.2@tcp1", &src, NULL), -EHOSTUNREACH);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(dist("10.1.0.2@tcp1", &src, NULL), 1);
	assert_nid(&src, "10.0.0.1@tcp");
	put_to(one, "10.1.0.2@tcp1", 8);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 1), 0);
}

static const struct m0_lnet_peer_info *peer_in(const struct m0_lnet_info *info,
					       const char                *nid)
{
	struct m0_lnet_nid primary = pair_nid(nid);
	unsigned           i;

	for (i = 0; i < info->li_peers_nr; ++i)
		if (m0_lnet_nid_eq(&info->li_peers[i].pei_primary, &primary))
			return &info->li_peers[i];
	return NULL;
}

/* All of it in one piece of memory, as the engine has it. */
static void picture_shows_nis_peers_and_queues(void **state)
{
	const struct m0_lnet_peer_info *peer;
	const struct m0_lnet_latency   *responses;
	uint64_t                        responses_nr = 0;
	struct m0_lnet_info            *info;
	unsigned                        i;

	(void)state;
	story_open(3, NULL);
	(void)pair_ni(two, "fd77::2@tcp");
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.3@tcp", 8);
	pair_run(pair, 10);
	pair->pai_hook = all_slow;
	for (i = 0; i < 10; ++i)
		put_to(one, "10.0.0.3@tcp", 100);
	pair_run(pair, 10);
	assert_int_equal(m0_lnet_engine_info(one->pno_engine, &info), 0);
	assert_int_equal(info->li_features, 0x4000001e);
	assert_int_equal(info->li_pid, M0_LNET_PID_LUSTRE);
	assert_int_equal(info->li_seq, 2);
	assert_int_equal(info->li_nis_nr, 2);
	assert_nid(&info->li_nis[0].nii_nid, "0@lo");
	assert_true(info->li_nis[0].nii_up);
	assert_int_equal(info->li_nis[0].nii_credits, 0);
	assert_nid(&info->li_nis[1].nii_nid, "10.0.0.1@tcp");
	assert_string_equal(info->li_nis[1].nii_device, "sim0");
	assert_int_equal(info->li_nis[1].nii_credits, 256);
	assert_int_equal(info->li_nis[1].nii_credits_free, 248);
	assert_int_equal(info->li_nis[1].nii_timeout_ms, 50000);
	assert_true(info->li_nis[1].nii_health == M0_LNET_HEALTH_MAX);
	assert_int_equal(info->li_nis[1].nii_lnd.ldi_connections_nr, 3);
	/* Two pings, two pushes, two messages. */
	assert_int_equal(info->li_nis[1].nii_traffic.lt_sent.lmc_get, 2);
	assert_int_equal(info->li_nis[1].nii_traffic.lt_sent.lmc_put, 4);
	/* Two REPLYs to pings, two ACKs of pushes. */
	responses = &info->li_nis[1].nii_responses;
	for (i = 0; i <= M0_LNET_LATENCY_BOUNDS_NR; ++i)
		responses_nr += responses->lly_nr[i];
	assert_int_equal(responses_nr, 4);
	assert_int_equal(info->li_peers_nr, 2);
	peer = peer_in(info, "10.0.0.2@tcp");
	assert_non_null(peer);
	assert_true(peer->pei_multi_rail);
	assert_int_equal(peer->pei_nis_nr, 2);
	assert_nid(&peer->pei_nis[1].pni_nid, "fd77::2@tcp");
	assert_true(peer->pei_nis[1].pni_up);
	peer = peer_in(info, "10.0.0.3@tcp");
	assert_non_null(peer);
	assert_int_equal(peer->pei_nis_nr, 1);
	assert_int_equal(peer->pei_nis[0].pni_credits_max, 8);
	assert_int_equal(peer->pei_nis[0].pni_credits_free, -2);
	assert_int_equal(peer->pei_nis[0].pni_credits_low, -2);
	assert_int_equal(peer->pei_nis[0].pni_queued_bytes, 200);
	assert_int_equal(peer->pei_nis[0].pni_refs_nr, 10);
	assert_true(peer->pei_nis[0].pni_health == M0_LNET_HEALTH_MAX);
	assert_int_equal(info->li_stats.ls_send_count,
			 one->pno_engine->le_stats.ls_send_count);
	m0_free(info);
	pair->pai_hook = NULL;
	pair_release(pair);
}

/** The router's messages stay with its driver. */
static enum pair_act router_holds(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_node == 1 ? PAIR_HOLD : PAIR_PASS;
}

/* A message that a router has takes a credit of the peer that sent it. */
static void picture_shows_the_credits_of_a_router(void **state)
{
	struct m0_lnet_engine_cfg       cfg = cfg_plain();
	const struct m0_lnet_peer_info *peer;
	struct m0_lnet_info            *info;
	unsigned                        i;

	(void)state;
	line_open(&cfg);
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 5);
	pair->pai_hook = router_holds;
	for (i = 0; i < 3; ++i)
		put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(m0_lnet_engine_info(two->pno_engine, &info), 0);
	assert_true(info->li_is_router);
	peer = peer_in(info, "10.0.0.1@tcp");
	assert_int_equal(peer->pei_nis[0].pni_router_credits_free, 2);
	assert_int_equal(peer->pei_nis[0].pni_router_credits_low, 2);
	peer = peer_in(info, "10.1.0.3@tcp1");
	assert_int_equal(peer->pei_nis[0].pni_router_credits_free, 8);
	m0_free(info);
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(m0_lnet_engine_info(two->pno_engine, &info), 0);
	peer = peer_in(info, "10.0.0.1@tcp");
	assert_int_equal(peer->pei_nis[0].pni_router_credits_free, 5);
	assert_int_equal(peer->pei_nis[0].pni_router_credits_low, 2);
	m0_free(info);
	routing(1, false);
	assert_int_equal(m0_lnet_engine_info(two->pno_engine, &info), 0);
	assert_false(info->li_is_router);
	m0_free(info);
}

static uint64_t lost_nr(const char *nid)
{
	const struct m0_lnet_peer_info *peer;
	struct m0_lnet_info            *info;
	uint64_t                        nr;

	assert_int_equal(m0_lnet_engine_info(one->pno_engine, &info), 0);
	peer = peer_in(info, nid);
	assert_non_null(peer);
	nr = peer->pei_nis[0].pni_lost_nr;
	m0_free(info);
	return nr;
}

/* Each loss of a peer that was up counts, however soon it is up again; a try
 * that fails while it is down does not. */
static void picture_counts_losses_of_peers(void **state)
{
	(void)state;
	story_open(2, NULL);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(lost_nr("10.0.0.2@tcp"), 0);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	assert_int_equal(lost_nr("10.0.0.2@tcp"), 1);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNREFUSED);
	assert_int_equal(lost_nr("10.0.0.2@tcp"), 1);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	/* Connected anew before it was told. */
	pair_peer_down(one, "10.0.0.2@tcp", 0);
	assert_int_equal(lost_nr("10.0.0.2@tcp"), 2);
}

/* No memory: said, and nothing else. */
static void picture_without_memory_is_refused(void **state)
{
	struct m0_lnet_info *info = NULL;
	struct m0_heap       heap;
	int                  rc;

	(void)state;
	story_open(1, NULL);
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 1);
	rc = m0_lnet_engine_info(one->pno_engine, &info);
	m0_heap_fini(&heap);
	assert_int_equal(rc, -ENOMEM);
	assert_null(info);
}

/* A reader of a large node takes some peer NIs at a time, and each of them once, although
 * peers move in the order of eviction meanwhile. */
static void peer_nis_come_in_slices(void **state)
{
	struct m0_lnet_peer_ni_row rows[2];
	struct m0_lnet_nid         after = m0_lnet_nid_any;
	struct m0_lnet_nid         gone = pair_nid("10.0.0.77@tcp");
	char                       seen[M0_LNET_NIDSTR_SIZE * 4] = "";
	char                       text[M0_LNET_NIDSTR_SIZE];
	int                        nr;
	int                        i;

	(void)state;
	story_open(4, NULL);
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.3@tcp", 8);
	put_to(one, "10.0.0.4@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(
		m0_lnet_engine_peer_nis(one->pno_engine, &after, NULL, 0), 3);
	do {
		nr = m0_lnet_engine_peer_nis(one->pno_engine, &after, rows, 2);
		for (i = 0; i < nr; ++i) {
			after = rows[i].pnr_ni.pni_nid;
			assert_true(
				m0_lnet_nid_eq(&after, &rows[i].pnr_primary));
			assert_int_equal(
				rows[i].pnr_ni.pni_traffic.lt_sent.lmc_put >= 1,
				1);
			assert_int_equal(rows[i].pnr_ni.pni_health,
					 M0_LNET_HEALTH_MAX);
			strcat(strcat(seen, m0_lnet_nid_print(&after, text,
							      sizeof text)),
			       " ");
		}
		put_to(one, "10.0.0.2@tcp", 8);
		pair_run(pair, 10);
	} while (nr == 2);
	assert_string_equal(seen, "10.0.0.2@tcp 10.0.0.3@tcp 10.0.0.4@tcp ");
	assert_int_equal(
		m0_lnet_engine_peer_nis(one->pno_engine, &after, rows, 2), 0);
	assert_int_equal(m0_lnet_engine_peer_nis(one->pno_engine, &gone, rows,
						 2),
			 -ENOENT);
}

/* The head has what the whole picture has but peers. */
static void head_has_no_peers(void **state)
{
	struct m0_lnet_info *info;
	struct m0_lnet_info *head = NULL;
	struct m0_heap       heap;
	int                  rc;

	(void)state;
	story_open(2, NULL);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, 1);
	rc = m0_lnet_engine_info_head(one->pno_engine, &head);
	m0_heap_fini(&heap);
	assert_int_equal(rc, -ENOMEM);
	assert_null(head);
	assert_int_equal(m0_lnet_engine_info(one->pno_engine, &info), 0);
	assert_int_equal(m0_lnet_engine_info_head(one->pno_engine, &head), 0);
	assert_int_equal(head->li_peers_nr, 0);
	assert_int_equal(head->li_nis_nr, info->li_nis_nr);
	assert_memory_equal(head->li_nis, info->li_nis,
			    info->li_nis_nr * sizeof *info->li_nis);
	assert_memory_equal(&head->li_stats, &info->li_stats,
			    sizeof info->li_stats);
	assert_int_equal(head->li_features, info->li_features);
	m0_free(info);
	m0_free(head);
}

/* Counts go to 0 everywhere; what is there stays. */
static void counters_are_reset_everywhere(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_stats      stats;

	(void)state;
	story_open(2, &cfg);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	pair->pai_hook = all_lost;
	pair_get(one, pair_md_bind(one, bytes_in, 8, 2, 0), "10.0.0.2@tcp",
		 PORTAL, BITS);
	pair_run(pair, 10);
	m0_lnet_engine_stats(one->pno_engine, &stats);
	assert_int_equal(stats.ls_send_count, 2);
	assert_int_equal(stats.ls_send_length, 8);
	assert_int_equal(stats.ls_rst_alloc, 1);
	assert_int_equal(stats.ls_msgs_alloc, 1);
	m0_lnet_engine_stats_reset(one->pno_engine);
	m0_lnet_engine_stats(one->pno_engine, &stats);
	assert_int_equal(stats.ls_send_count, 0);
	assert_int_equal(stats.ls_rst_alloc, 1);
	assert_int_equal(stats.ls_msgs_alloc, 1);
	assert_int_equal(stats.ls_msgs_max, 1);
	assert_int_equal(
		lpni_of(one, "10.0.0.2@tcp")->lpn_traffic.lt_sent.lmc_put, 0);
	assert_int_equal(container_of(one->pno_ni[1], struct m0_lnet_ni,
				      lni_lnd)
				 ->lni_traffic.lt_sent.lmc_put,
			 0);
	assert_non_null(lpni_of(one, "10.0.0.2@tcp"));
}

static unsigned bucket_of(uint64_t ns)
{
	struct m0_lnet_latency latency = { .lly_sum_ns = 1 };
	unsigned               i = 0;

	m0_lnet__latency_count(&latency, ns);
	assert_true(latency.lly_sum_ns == ns + 1);
	while (latency.lly_nr[i] == 0)
		++i;
	assert_int_equal(latency.lly_nr[i], 1);
	return i;
}

/* A duration that is a bound is in the bucket of that bound. */
static void durations_are_counted_by_their_bound(void **state)
{
	uint64_t bound;
	unsigned i;

	(void)state;
	assert_int_equal(bucket_of(0), 0);
	for (i = 0; i < M0_LNET_LATENCY_BOUNDS_NR; ++i) {
		bound = UINT64_C(1) << (M0_LNET_LATENCY_SHIFT + 2 * i);
		assert_int_equal(bucket_of(bound - 1), i);
		assert_int_equal(bucket_of(bound), i);
		assert_int_equal(bucket_of(bound + 1), i + 1);
	}
	assert_int_equal(bucket_of(UINT64_MAX), M0_LNET_LATENCY_BOUNDS_NR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(dist_is_zero_one_or_none),
		STORY_BARE(dist_of_rails_is_that_of_the_nearest),
		STORY_BARE(picture_shows_nis_peers_and_queues),
		STORY_BARE(picture_shows_the_credits_of_a_router),
		STORY_BARE(picture_counts_losses_of_peers),
		STORY_BARE(picture_without_memory_is_refused),
		STORY_BARE(peer_nis_come_in_slices),
		STORY_BARE(head_has_no_peers),
		STORY_BARE(counters_are_reset_everywhere),
		cmocka_unit_test(durations_are_counted_by_their_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

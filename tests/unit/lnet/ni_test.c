/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnet/story.h"
#include "lnet/flow/select.h"

#include "sim/sched/heap.h"

static struct m0_lnd_ni *add(const char *text, struct m0_lnd *lnd)
{
	struct m0_lnet_nid nid = pair_nid(text);
	struct m0_lnd_ni  *ni = NULL;
	int                rc;

	rc = m0_lnet_engine_ni_add(one->pno_engine, &nid, "eth0", 7, lnd, &ni);
	assert_int_equal(rc, 0);
	return ni;
}

static struct m0_lnet_ni *found(const char *text)
{
	struct m0_lnet_nid nid = pair_nid(text);

	return m0_lnet__ni_find(one->pno_engine, &nid);
}

static struct m0_lnet_ni *for_nid(const char *text)
{
	struct m0_lnet_nid nid = pair_nid(text);

	return m0_lnet__ni_for(one->pno_engine, &nid);
}

/*
 * The driver finds identity and limits in an NI; NIs are in the order of
 * adding.
 */
static void ni_added_has_identity_and_limits(void **state)
{
	struct m0_lnd_ni *ni;

	(void)state;
	story_open(1, NULL);
	ni = add("10.0.0.5@tcp3", &one->pno_lnd);
	assert_nid(&ni->ldn_nid, "10.0.0.5@tcp3");
	assert_string_equal(ni->ldn_device, "eth0");
	assert_int_equal(ni->ldn_incarnation, 7);
	assert_int_equal(ni->ldn_peer_credits, 8);
	assert_int_equal(ni->ldn_credits, 256);
	assert_ptr_equal(ni->ldn_ops, &m0_lnet__up_ops);
	assert_ptr_equal(ni->ldn_engine, one->pno_engine);
	assert_int_equal(m0_lnet_engine_nis_nr(one->pno_engine), 3);
	assert_nid(&m0_lnet_engine_ni(one->pno_engine, 0)->ldn_nid, "0@lo");
	assert_int_equal(m0_lnet_engine_ni(one->pno_engine, 0)->ldn_credits, 0);
	assert_ptr_equal(m0_lnet_engine_ni(one->pno_engine, 2), ni);
	assert_null(m0_lnet_engine_ni(one->pno_engine, 3));
	/* Its driver never started it: gone at once. */
	m0_lnet_engine_ni_del(one->pno_engine, ni);
	assert_int_equal(m0_lnet_engine_nis_nr(one->pno_engine), 2);
	assert_null(found("10.0.0.5@tcp3"));
}

/* NIs may have credits other than the engine's; a peer has those of the NI on
 * its network. */
static void credits_are_those_of_network(void **state)
{
	static const struct {
		const char *nid;
		int         credits;
	} rows[] = { { "10.1.0.2@tcp3", 2 },
		     { "10.0.0.9@tcp", 8 },
		     /* The node is not on this network. */
		     { "10.0.0.9@tcp4", 8 } };
	struct m0_lnet_lpni *lpni;
	struct m0_lnd_ni    *ni;
	struct m0_lnet_nid   nid;
	size_t               i;

	(void)state;
	story_open(1, NULL);
	ni = add("10.1.0.1@tcp3", NULL);
	m0_lnet_engine_ni_credits(ni, 3, 0);
	assert_int_equal(ni->ldn_peer_credits, 3);
	assert_int_equal(ni->ldn_credits, 256);
	m0_lnet_engine_ni_credits(ni, 0, 5);
	/* No more for a peer than for the NI. */
	assert_int_equal(ni->ldn_peer_credits, 5);
	assert_int_equal(ni->ldn_credits, 5);
	assert_int_equal(found("10.1.0.1@tcp3")->lni_credits, 5);
	m0_lnet_engine_ni_credits(ni, 2, 5);
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		nid = pair_nid(rows[i].nid);
		lpni = m0_lnet__lpni_get(one->pno_engine, &nid);
		assert_non_null(lpni);
		assert_int_equal(lpni->lpn_credits_max, rows[i].credits);
		assert_int_equal(lpni->lpn_credits, rows[i].credits);
		m0_lnet__lpni_put(one->pno_engine, lpni);
	}
	m0_lnet_engine_ni_del(one->pno_engine, ni);
}

static void ni_twice_is_refused(void **state)
{
	struct m0_lnet_nid nid = pair_nid("10.0.0.1@tcp");
	struct m0_lnd_ni  *ni = NULL;

	(void)state;
	story_open(1, NULL);
	assert_int_equal(m0_lnet_engine_ni_add(one->pno_engine, &nid, NULL, 1,
					       &one->pno_lnd, &ni),
			 -EEXIST);
	assert_null(ni);
}

/* Not told of, and not sent from, before it is up. */
static void ni_is_used_once_it_is_up(void **state)
{
	struct m0_lnd_ni *ni;

	(void)state;
	story_open(1, NULL);
	ni = add("10.0.0.5@tcp3", &one->pno_lnd);
	assert_null(for_nid("10.0.0.6@tcp3"));
	assert_int_equal(one->pno_engine->le_seq, 2);
	one->pno_ni[one->pno_nis_nr++] = ni;
	ni->ldn_up = true;
	m0_lnet_engine_ni_up(one->pno_engine, ni);
	assert_non_null(for_nid("10.0.0.6@tcp3"));
	assert_int_equal(one->pno_engine->le_seq, 3);
	assert_ptr_equal(for_nid("10.0.0.6@tcp3"), found("10.0.0.5@tcp3"));
	assert_null(for_nid("10.0.0.6@tcp4"));
	m0_lnet_engine_ni_del(one->pno_engine, ni);
	/* On its way out it serves nothing; twice is once. */
	m0_lnet_engine_ni_del(one->pno_engine, ni);
	assert_null(for_nid("10.0.0.6@tcp3"));
	assert_int_equal(one->pno_engine->le_seq, 4);
	pair_settle(pair);
	assert_int_equal(m0_lnet_engine_nis_nr(one->pno_engine), 2);
}

/* A net may have both sorts of addresses: neither is reached by the other. */
static void ni_fits_its_net_and_sort(void **state)
{
	struct m0_lnet_nid v4 = pair_nid("10.0.0.9@tcp");
	struct m0_lnet_nid v6 = pair_nid("fd77::9@tcp");
	struct m0_lnet_nid tcp1 = pair_nid("10.0.0.9@tcp1");
	struct m0_lnet_nid gni = pair_nid("9@gni");

	(void)state;
	story_open(1, NULL);
	assert_true(m0_lnet__ni_fits(found("10.0.0.1@tcp"), &v4));
	assert_false(m0_lnet__ni_fits(found("10.0.0.1@tcp"), &v6));
	assert_false(m0_lnet__ni_fits(found("10.0.0.1@tcp"), &tcp1));
	assert_false(m0_lnet__ni_fits(found("10.0.0.1@tcp"), &gni));
	assert_null(for_nid("fd77::9@tcp"));
	(void)pair_ni(one, "fd77::1@tcp");
	assert_ptr_equal(for_nid("fd77::9@tcp"), found("fd77::1@tcp"));
}

/* Without a driver (none is needed for much) a message fails by event. */
static void ni_without_driver_sends_nothing(void **state)
{
	struct m0_lnd_ni *ni;

	(void)state;
	story_open(1, NULL);
	ni = add("10.0.0.5@tcp3", NULL);
	m0_lnet_engine_ni_up(one->pno_engine, ni);
	put_to(one, "10.0.0.6@tcp3", 8);
	assert_int_equal(send_status(one, 0), 1);
	pair_settle(pair);
	assert_true(send_status(one, 0) < 0);
	m0_lnet_engine_ni_del(one->pno_engine, ni);
	assert_int_equal(m0_lnet_engine_nis_nr(one->pno_engine), 2);
}

/** An NI comes and goes. */
static int ni_life(void *arg)
{
	struct m0_lnet_nid nid = pair_nid("fd77::5@tcp3");
	uint32_t           seq = one->pno_engine->le_seq;
	struct m0_lnd_ni  *ni;
	int                rc;

	(void)arg;
	rc = m0_lnet_engine_ni_add(one->pno_engine, &nid, "eth0", 1, NULL, &ni);
	if (rc != 0)
		return rc;
	m0_lnet_engine_ni_up(one->pno_engine, ni);
	m0_lnet_engine_ni_del(one->pno_engine, ni);
	assert_true(one->pno_engine->le_seq - seq <= 2);
	return 0;
}

/* Without memory it is refused, or what is told of us stays as it was. */
static void ni_without_memory_leaves_all_as_it_was(void **state)
{
	(void)state;
	story_open(1, NULL);
	m0_log_level_set(M0_LOG_FATAL);
	/* The buffer of the information grows once. */
	assert_int_equal(ni_life(NULL), 0);
	assert_true(m0_heap_fail_each(ni_life, NULL) > 4);
	m0_log_level_set(M0_LOG_WARN);
}

/* A message that comes in while its NI stops ends with it. */
static void ni_stopped_while_receiving_leaves_nothing(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(2, &cfg);
	sink_post(two);
	two->pno_rx_hold = true;
	put_to(one, "10.0.0.2@tcp", 100);
	pair_run(pair, 10);
	m0_lnet_engine_ni_del(two->pno_engine, two->pno_ni[1]);
	pair_run(pair, 10);
	assert_int_equal(m0_lnet_engine_nis_nr(two->pno_engine), 1);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
	assert_int_equal(pair_event(two, M0_LNET_EV_PUT, 0)->ev_status,
			 -ENETDOWN);
	two->pno_rx_hold = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(ni_added_has_identity_and_limits),
		STORY_BARE(credits_are_those_of_network),
		STORY_BARE(ni_twice_is_refused),
		STORY_BARE(ni_is_used_once_it_is_up),
		STORY_BARE(ni_fits_its_net_and_sort),
		STORY_BARE(ni_without_driver_sends_nothing),
		STORY_BARE(ni_without_memory_leaves_all_as_it_was),
		STORY_BARE(ni_stopped_while_receiving_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

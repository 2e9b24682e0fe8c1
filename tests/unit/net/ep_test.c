/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "dummy.h"
#include "unit/base/panics.h"

/* The operation's failure is the caller's, and the pointer is NULL. */
static void create_operation_fails_null(void **state)
{
	struct m0_net_end_point *ep = scene.tm.ntm_ep;

	(void)state;
	dummy.rc[EP_CREATE] = -EINVAL;
	assert_int_equal(m0_net_end_point_create(&ep, &scene.tm, "x"), -EINVAL);
	assert_null(ep);
	dummy.rc[EP_CREATE] = 0;
	ep = scene.tm.ntm_ep;
	assert_int_equal(m0_net_end_point_create(&ep, &scene.tm, NULL),
			 -ENOSYS);
	assert_null(ep);
}

/* Counts, and the release under the machine's lock. */
static void references_last_put_releases(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");

	(void)state;
	assert_ptr_equal(dummy_ep("peer"), ep);
	assert_int_equal(m0_ref_read(&ep->nep_ref), 2);
	assert_int_equal(m0_net_end_point_get(ep), 0);
	assert_int_equal(m0_ref_read(&ep->nep_ref), 3);
	assert_int_equal(m0_net_end_point_put(ep), 0);
	assert_int_equal(m0_net_end_point_put(ep), 0);
	assert_int_equal(dummy.released, 0);
	assert_int_equal(m0_net_end_point_put(ep), 0);
	assert_int_equal(dummy.released, 1);
}

static void get_put_often(struct m0_net_end_point *ep)
{
	int i;

	for (i = 0; i < 200000; ++i) {
		(void)m0_net_end_point_get(ep);
		(void)m0_net_end_point_put(ep);
	}
}

/* Every change is under the machine's lock, so that none is lost. */
static void references_two_threads_lose_none(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");
	struct m0_thread         thread = { .t_state = TS_PARKED };

	(void)state;
	assert_int_equal(M0_THREAD_INIT(&thread, struct m0_net_end_point *,
					NULL, get_put_often, ep, "refs"),
			 0);
	get_put_often(ep);
	m0_thread_join(&thread);
	m0_thread_fini(&thread);
	assert_int_equal(m0_ref_read(&ep->nep_ref), 1);
	/* A caller that has the lock need not give it up for one more. */
	m0_mutex_lock(&scene.tm.ntm_mutex);
	assert_int_equal(m0_net_end_point_get(ep), 0);
	m0_mutex_unlock(&scene.tm.ntm_mutex);
	assert_int_equal(m0_ref_read(&ep->nep_ref), 2);
	m0_net_end_point_put(ep);
	m0_net_end_point_put(ep);
	assert_int_equal(dummy.released, 1);
}

/* Own address: the machine's end point with count 2, back to 1. */
static void create_own_counts_two(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("own");

	(void)state;
	assert_ptr_equal(ep, scene.tm.ntm_ep);
	assert_int_equal(m0_ref_read(&ep->nep_ref), 2);
	m0_net_end_point_put(ep);
	assert_int_equal(m0_ref_read(&ep->nep_ref), 1);
}

/* Only in STARTED; never with the machine's lock held for a put. */
static void misuse_aborts(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");

	(void)state;
	m0_mutex_lock(&scene.tm.ntm_mutex);
	assert_panics(m0_net_end_point_put(ep));
	m0_mutex_unlock(&scene.tm.ntm_mutex);
	m0_net_end_point_put(ep);
	scene_stop();
	assert_panics(m0_net_end_point_create(&ep, &scene.tm, "peer"));
	/* The lock was taken when it panicked. */
	if (m0_mutex_is_locked(&scene.tm.ntm_mutex))
		m0_mutex_unlock(&scene.tm.ntm_mutex);
}

static void lnet_text_good_accepted(void **state)
{
	static const char *const good[] = {
		"0@lo:12345:34:1",
		"172.18.1.1@tcp:12345:40:401",
		"255.0.0.0@tcp:12345:1:1",
		"172.18.50.40@o2ib:12345:34:1",
		"172.18.50.40@o2ib1:12345:34:1",
		"0.0.0.0@tcp:12345:0:0",
		"255.255.255.255@tcp7:12345:31:4095",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); ++i)
		if (!m0_net_endpoint_is_valid(good[i]))
			fail_msg("\"%s\" is refused", good[i]);
}

static void lnet_text_bad_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		" 0@lo:12345:34:1",
		"0@lo:12345:34:1 ",
		"1@lo:12345:34:1",
		"0@lo1:12345:34:1",
		"172.18.1.1:12345:40:401",
		"172.18.1@tcp:12345:40:401",
		"172.18.1.1.1@tcp:12345:40:401",
		"172.18.1.256@tcp:12345:40:401",
		"256.0.0.0@tcp:12345:1:1",
		"172.18.50.40@o2ib:54321:34:1",
		"0@lo:12346:34:1",
		"0@lo:12345:34",
		"0@lo:12345:34:1:2",
		"0@lo:12345::1",
		"0@lo:12345:34:",
		"0@lo:12345:34:a",
		"0@lo:12345:x:1",
		"172.18.1.1@ib:12345:40:401",
		"172.18.1.1@tcpx:12345:40:401",
		"172.18.1.1@:12345:40:401",
		"127.0.0.1:7000",
		"0@lo",
		"172.18..1@tcp:12345:40:401",
		"-1.0.0.0@tcp:12345:1:1",
		"0@lo:12345:34:*",
	};
	size_t i;

	(void)state;
	assert_false(m0_net_endpoint_is_valid(NULL));
	for (i = 0; i < ARRAY_SIZE(bad); ++i)
		if (m0_net_endpoint_is_valid(bad[i]))
			fail_msg("\"%s\" is accepted", bad[i]);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, scene_started, scene_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(create_operation_fails_null),
		CASE(references_last_put_releases),
		CASE(references_two_threads_lose_none),
		CASE(create_own_counts_two),
		CASE(misuse_aborts),
		cmocka_unit_test(lnet_text_good_accepted),
		cmocka_unit_test(lnet_text_bad_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include "os/os.h"

static struct m0_mutex guard;
static struct m0_chan  chan;
static struct m0_chan  second;
static struct m0_clink link_a;
static struct m0_clink link_b;
static int             cb_nr;

static int setup(void **state)
{
	(void)state;
	m0_mutex_init(&guard);
	m0_chan_init(&chan, &guard);
	m0_chan_init(&second, &guard);
	cb_nr = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	m0_clink_cleanup(&link_a);
	m0_clink_cleanup(&link_b);
	m0_chan_fini_lock(&chan);
	m0_chan_fini_lock(&second);
	m0_mutex_fini(&guard);
	return 0;
}

static bool cb_pass(struct m0_clink *link)
{
	(void)link;
	assert_true(m0_mutex_is_locked(&guard));
	++cb_nr;
	return false;
}

static bool cb_consume(struct m0_clink *link)
{
	(void)link;
	++cb_nr;
	return true;
}

/* Each event ends one wait, also those from before the wait. */
static void chan_each_event_ends_one_wait(void **state)
{
	(void)state;
	m0_clink_init(&link_a, NULL);
	m0_clink_init(&link_b, NULL);
	assert_false(m0_chan_has_waiters(&chan));
	m0_clink_add_lock(&chan, &link_a);
	assert_true(m0_chan_has_waiters(&chan));
	assert_false(m0_chan_trywait(&link_a));
	m0_chan_signal_lock(&chan);
	m0_chan_broadcast_lock(&chan);
	assert_true(m0_chan_trywait(&link_a));
	m0_chan_wait(&link_a);
	assert_false(m0_chan_trywait(&link_a));
	assert_false(m0_chan_timedwait(&link_a, m0_time_from_now(0, 1000)));
	m0_clink_del_lock(&link_a);
	assert_false(m0_clink_is_armed(&link_a));
	m0_chan_broadcast_lock(&chan);
	assert_false(m0_chan_trywait(&link_a));
	m0_clink_fini(&link_a);
}

/* A clink that is added again does not bring events of its last stay along. */
static void clink_added_again_starts_at_zero(void **state)
{
	(void)state;
	m0_clink_init(&link_a, NULL);
	m0_clink_attach(&link_b, &link_a, NULL);
	m0_clink_add_lock(&chan, &link_a);
	m0_chan_broadcast_lock(&chan);
	m0_chan_broadcast_lock(&chan);
	m0_clink_del_lock(&link_a);
	/* A deleted clink still delivers pending events, until it is added
	 * again. */
	assert_true(m0_chan_trywait(&link_a));
	m0_clink_add_lock(&second, &link_a);
	assert_false(m0_chan_trywait(&link_a));
	assert_false(m0_chan_timedwait(&link_a, m0_time_from_now(0, 1000)));
	/* A member joins a group without taking events from its head. */
	m0_chan_broadcast_lock(&second);
	m0_clink_add_lock(&chan, &link_b);
	assert_true(m0_chan_trywait(&link_a));
	assert_false(m0_chan_trywait(&link_a));
}

/* Broadcast tells all, signal the one that waits longest, in turn. */
static void chan_signal_goes_round(void **state)
{
	(void)state;
	m0_clink_init(&link_a, NULL);
	m0_clink_init(&link_b, NULL);
	m0_clink_add_lock(&chan, &link_a);
	m0_clink_add_lock(&chan, &link_b);
	m0_chan_signal_lock(&chan);
	assert_true(m0_chan_trywait(&link_a));
	assert_false(m0_chan_trywait(&link_b));
	m0_chan_signal_lock(&chan);
	assert_false(m0_chan_trywait(&link_a));
	assert_true(m0_chan_trywait(&link_b));
	m0_chan_broadcast_lock(&chan);
	assert_true(m0_chan_trywait(&link_a));
	assert_true(m0_chan_trywait(&link_b));
}

/* A call-back that returns true is a filter: nobody wakes. */
static void clink_consuming_callback_filters(void **state)
{
	(void)state;
	m0_clink_init(&link_a, cb_consume);
	m0_clink_init(&link_b, cb_pass);
	m0_clink_add_lock(&chan, &link_a);
	m0_clink_add_lock(&chan, &link_b);
	m0_chan_broadcast_lock(&chan);
	assert_int_equal(cb_nr, 2);
	assert_false(m0_chan_trywait(&link_a));
	assert_true(m0_chan_trywait(&link_b));
}

/* An event of any member wakes the thread that waits on the head of the
 * group. */
static void clink_group_wakes_head(void **state)
{
	(void)state;
	m0_clink_init(&link_a, NULL);
	m0_clink_attach(&link_b, &link_a, cb_pass);
	m0_clink_add_lock(&chan, &link_a);
	m0_clink_add_lock(&second, &link_b);
	m0_chan_broadcast_lock(&second);
	assert_int_equal(cb_nr, 1);
	assert_true(m0_chan_trywait(&link_a));
	m0_chan_broadcast_lock(&chan);
	m0_chan_broadcast_lock(&second);
	m0_chan_wait(&link_a);
	m0_chan_wait(&link_a);
	assert_false(m0_chan_trywait(&link_a));
}

/* In a group, too, a filter swallows its own events only. */
static void clink_group_member_filters(void **state)
{
	(void)state;
	m0_clink_init(&link_a, NULL);
	m0_clink_attach(&link_b, &link_a, cb_consume);
	m0_clink_add_lock(&second, &link_b);
	m0_chan_broadcast_lock(&second);
	assert_false(m0_chan_trywait(&link_a));
	m0_clink_signal(&link_a);
	assert_true(m0_chan_trywait(&link_a));
	assert_panics(m0_clink_attach(&link_a, &link_b, NULL));
}

static bool cb_del_both(struct m0_clink *link)
{
	(void)link;
	++cb_nr;
	m0_clink_cleanup_locked(&link_a);
	m0_clink_cleanup_locked(&link_b);
	return true;
}

/* A call-back may take itself and others off: they hear no more. */
static void clink_callback_may_delete_all(void **state)
{
	(void)state;
	m0_clink_init(&link_a, cb_del_both);
	m0_clink_init(&link_b, cb_del_both);
	m0_clink_add_lock(&chan, &link_a);
	m0_clink_add_lock(&chan, &link_b);
	m0_chan_broadcast_lock(&chan);
	assert_int_equal(cb_nr, 1);
	assert_false(m0_clink_is_armed(&link_a));
	assert_false(m0_clink_is_armed(&link_b));
	assert_int_equal(chan.ch_waiters, 0);
}

static bool cb_add_b(struct m0_clink *link)
{
	(void)link;
	++cb_nr;
	if (!m0_clink_is_armed(&link_b))
		m0_clink_add(&chan, &link_b);
	return true;
}

/* A clink added by a call-back hears the next event, not this one. */
static void clink_added_in_callback_hears_next(void **state)
{
	(void)state;
	m0_clink_init(&link_a, cb_add_b);
	m0_clink_init(&link_b, NULL);
	m0_clink_add_lock(&chan, &link_a);
	m0_chan_broadcast_lock(&chan);
	assert_int_equal(cb_nr, 1);
	assert_false(m0_chan_trywait(&link_b));
	m0_chan_broadcast_lock(&chan);
	assert_true(m0_chan_trywait(&link_b));
}

/* Once only. */
static void clink_oneshot_leaves_by_itself(void **state)
{
	(void)state;
	m0_clink_init(&link_a, NULL);
	m0_clink_init(&link_b, NULL);
	link_a.cl_is_oneshot = true;
	m0_clink_add_lock(&chan, &link_a);
	m0_chan_broadcast_lock(&chan);
	assert_false(m0_clink_is_armed(&link_a));
	m0_chan_broadcast_lock(&chan);
	assert_true(m0_chan_trywait(&link_a));
	assert_false(m0_chan_trywait(&link_a));
	/* Told by name, it need not be in a channel. */
	m0_clink_signal(&link_a);
	assert_true(m0_chan_trywait(&link_a));
}

/* Calls that need the guard, or must not have it, fail an assertion without
 * it. */
static void chan_misuse_panics(void **state)
{
	(void)state;
	m0_clink_init(&link_a, NULL);
	m0_clink_init(&link_b, NULL);
	assert_panics(m0_clink_add(&chan, &link_a));
	m0_clink_add_lock(&chan, &link_a);
	assert_panics(m0_chan_broadcast(&chan));
	assert_panics(m0_clink_del(&link_a));
	assert_panics(m0_clink_fini(&link_a));
	m0_chan_lock(&chan);
	assert_panics(m0_clink_add(&chan, &link_a));
	assert_panics(m0_chan_fini(&chan));
	m0_chan_unlock(&chan);
	m0_clink_del_lock(&link_a);
	m0_chan_lock(&chan);
	assert_panics(m0_clink_del(&link_a));
	m0_chan_unlock(&chan);
}

enum {
	ROUNDS_NR = 20000
};

static int produced;

static void producer(int rounds)
{
	while (rounds-- > 0) {
		m0_chan_lock(&chan);
		++produced;
		m0_chan_broadcast(&chan);
		m0_chan_unlock(&chan);
	}
}

/* A waiter that looks, then waits, misses nothing. */
static void chan_wait_sees_every_broadcast(void **state)
{
	struct m0_thread thread;
	int              i;

	(void)state;
	produced = 0;
	m0_clink_init(&link_a, NULL);
	m0_clink_init(&link_b, NULL);
	m0_clink_add_lock(&chan, &link_a);
	assert_int_equal(M0_THREAD_INIT(&thread, int, NULL, producer, ROUNDS_NR,
					"producer"),
			 0);
	for (i = 0; i < ROUNDS_NR; ++i)
		m0_chan_wait(&link_a);
	m0_chan_lock(&chan);
	assert_int_equal(produced, ROUNDS_NR);
	m0_chan_unlock(&chan);
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
}

static int again_nr;

/* Declares events itself, so many. */
static bool cb_again(struct m0_clink *link)
{
	++cb_nr;
	if (again_nr > 0) {
		--again_nr;
		m0_chan_broadcast(link->cl_chan);
	}
	return true;
}

/* A call-back may declare an event on its own channel: all clinks get both. */
static void chan_event_in_callback_comes_after(void **state)
{
	(void)state;
	again_nr = 2;
	m0_clink_init(&link_a, cb_again);
	m0_clink_init(&link_b, cb_consume);
	m0_clink_add_lock(&chan, &link_a);
	m0_clink_add_lock(&chan, &link_b);
	m0_chan_broadcast_lock(&chan);
	assert_int_equal(cb_nr, 2 * 3);
	/* The one that has waited longest, each time. */
	again_nr = 0;
	m0_chan_signal_lock(&chan);
	assert_int_equal(cb_nr, 2 * 3 + 1);
	m0_clink_del_lock(&link_a);
	m0_clink_del_lock(&link_b);
	m0_clink_fini(&link_a);
	m0_clink_fini(&link_b);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(chan_event_in_callback_comes_after),
		CASE(chan_each_event_ends_one_wait),
		CASE(clink_added_again_starts_at_zero),
		CASE(chan_signal_goes_round),
		CASE(clink_consuming_callback_filters),
		CASE(clink_group_wakes_head),
		CASE(clink_group_member_filters),
		CASE(clink_callback_may_delete_all),
		CASE(clink_added_in_callback_hears_next),
		CASE(clink_oneshot_leaves_by_itself),
		CASE(chan_misuse_panics),
		CASE(chan_wait_sees_every_broadcast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

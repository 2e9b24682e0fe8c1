/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/rand.h"
#include "base/timerq.h"

#define TICK (1ULL << M0_TIMERQ_TICK_SHIFT)
#define MSEC M0_TIME_ONE_MSEC
#define SEC  M0_TIME_ONE_SECOND

static struct m0_timerq queue;

/* Runs the clock from one m0_timerq_next() to the next; when it expires. */
static m0_time_t run_to_expiry(struct m0_timer *timer, unsigned *ret_wakes)
{
	m0_time_t        now;
	struct m0_timer *got;

	*ret_wakes = 0;
	do {
		now = m0_timerq_next(&queue);
		assert_true(now != M0_TIME_NEVER);
		got = m0_timerq_expire(&queue, now);
		++*ret_wakes;
		assert_true(*ret_wakes < 1000000);
	} while (got == NULL);
	assert_ptr_equal(got, timer);
	return now;
}

/* From a millisecond to a century: never early, never a millisecond late. */
static void timer_any_distance_is_in_time(void **state)
{
	struct m0_timer timer;
	m0_time_t       far;
	m0_time_t       late;
	unsigned        wakes;

	(void)state;
	m0_timer_init(&timer);
	for (far = 1; far < 5 * 24 * 3600 * SEC; far = far * 3 + 7) {
		m0_timerq_init(&queue, 12345 * SEC + far / 5);
		m0_timerq_arm(&queue, &timer, 12345 * SEC + far / 5 + far);
		late = run_to_expiry(&timer, &wakes) -
		       m0_timer_deadline(&timer);
		assert_true(late < TICK);
		/* Once a wheel at most. */
		assert_true(wakes <= M0_TIMERQ_WHEELS_NR);
		assert_true(m0_timerq_next(&queue) == M0_TIME_NEVER);
		m0_timerq_fini(&queue);
	}
	far = 36500ULL * 24 * 3600 * SEC;
	m0_timerq_init(&queue, SEC);
	m0_timerq_arm(&queue, &timer, far);
	assert_true(run_to_expiry(&timer, &wakes) - far < TICK);
	m0_timer_fini(&timer);
}

/* One nanosecond before its tick it is not there. */
static void timer_does_not_expire_early(void **state)
{
	struct m0_timer timer;
	m0_time_t       deadline = 100 * SEC + 1;

	(void)state;
	m0_timerq_init(&queue, 0);
	m0_timer_init(&timer);
	m0_timerq_arm(&queue, &timer, deadline);
	assert_null(m0_timerq_expire(&queue, deadline - 1));
	assert_true(m0_timer_is_armed(&timer));
	assert_ptr_equal(m0_timerq_expire(&queue, deadline + TICK), &timer);
	assert_false(m0_timer_is_armed(&timer));
	assert_null(m0_timerq_expire(&queue, deadline + TICK));
}

/* A clock that jumps over many deadlines hands them out in order. */
static void timer_jump_expires_in_order(void **state)
{
	static const unsigned ms[] = { 5000, 1, 70, 69, 100000, 3, 4000000, 2 };
	struct m0_timer       timer[ARRAY_SIZE(ms)];
	struct m0_timer      *got;
	m0_time_t             last = 0;
	size_t                i;

	(void)state;
	m0_timerq_init(&queue, 0);
	for (i = 0; i < ARRAY_SIZE(ms); ++i) {
		m0_timer_init(&timer[i]);
		m0_timerq_arm(&queue, &timer[i], ms[i] * MSEC);
	}
	for (i = 0; (got = m0_timerq_expire(&queue, 9999 * SEC)) != NULL; ++i) {
		assert_true(m0_timer_deadline(got) >= last);
		last = m0_timer_deadline(got);
	}
	assert_int_equal(i, ARRAY_SIZE(ms));
}

/* Equal deadlines expire in the order of arming. */
static void timer_equal_deadlines_are_fifo(void **state)
{
	struct m0_timer timer[5];
	size_t          i;

	(void)state;
	m0_timerq_init(&queue, 0);
	for (i = 0; i < 5; ++i) {
		m0_timer_init(&timer[i]);
		m0_timerq_arm(&queue, &timer[i], 30 * SEC);
		/* Time goes on between: they come to different places. */
		assert_null(m0_timerq_expire(&queue, i * 7 * SEC));
	}
	for (i = 0; i < 5; ++i)
		assert_ptr_equal(m0_timerq_expire(&queue, 31 * SEC), &timer[i]);
}

/* The past is due at once; NEVER disarms; arming again moves. */
static void timer_special_deadlines(void **state)
{
	struct m0_timer timer;

	(void)state;
	m0_timerq_init(&queue, 50 * SEC);
	m0_timer_init(&timer);
	m0_timerq_arm(&queue, &timer, 10 * SEC);
	assert_true(m0_timerq_next(&queue) <= 50 * SEC);
	assert_ptr_equal(m0_timerq_expire(&queue, 50 * SEC), &timer);
	m0_timerq_arm(&queue, &timer, M0_TIME_IMMEDIATELY);
	m0_timerq_arm(&queue, &timer, 60 * SEC);
	assert_int_equal(queue.tq_nr, 1);
	assert_null(m0_timerq_expire(&queue, 55 * SEC));
	m0_timerq_arm(&queue, &timer, M0_TIME_NEVER);
	assert_false(m0_timer_is_armed(&timer));
	assert_true(m0_timerq_next(&queue) == M0_TIME_NEVER);
	m0_timerq_cancel(&queue, &timer);
	m0_timerq_arm(&queue, &timer, M0_TIME_NEVER - 1);
	assert_true(m0_timerq_next(&queue) < M0_TIME_NEVER);
	assert_panics(m0_timerq_fini(&queue));
	assert_panics(m0_timer_fini(&timer));
	m0_timerq_cancel(&queue, &timer);
	m0_timerq_fini(&queue);
}

/* A clock that stands still or goes back does no harm. */
static void timer_clock_back_is_harmless(void **state)
{
	struct m0_timer timer;

	(void)state;
	m0_timerq_init(&queue, 50 * SEC);
	m0_timer_init(&timer);
	assert_null(m0_timerq_expire(&queue, 60 * SEC));
	m0_timerq_arm(&queue, &timer, 61 * SEC);
	assert_null(m0_timerq_expire(&queue, 40 * SEC));
	assert_ptr_equal(m0_timerq_expire(&queue, 61 * SEC + TICK), &timer);
}

/* Random arming, moving, cancelling and time, against a plain array. */
struct model {
	struct m0_timer mo_timer;
	bool            mo_armed;
	m0_time_t       mo_deadline;
};

enum {
	MODEL_NR = 60
};

static struct model model[MODEL_NR];
/* Deadline of the timer that was armed last. */
static m0_time_t model_last;

static m0_time_t random_distance(struct m0_rand *rand)
{
	/* Distances have every order of magnitude up to half a day. */
	return m0_rand_next(rand) >> m0_rand_in(rand, 18, 63);
}

/* First deadline of the model. */
static m0_time_t model_first(void)
{
	m0_time_t first = M0_TIME_NEVER;
	size_t    i;

	for (i = 0; i < MODEL_NR; ++i) {
		if (model[i].mo_armed)
			first = min64u(first, model[i].mo_deadline);
	}
	return first;
}

static void model_expire(m0_time_t now)
{
	struct m0_timer *timer;
	m0_time_t        last = 0;

	while ((timer = m0_timerq_expire(&queue, now)) != NULL) {
		struct model *mo = container_of(timer, struct model, mo_timer);

		assert_true(mo->mo_armed);
		mo->mo_armed = false;
		assert_true(mo->mo_deadline <= now);
		/* In order, to a tick. */
		assert_true(mo->mo_deadline + TICK > last);
		last = max64u(last, mo->mo_deadline);
	}
	/* Nothing is left behind that is a tick late. */
	assert_true(model_first() > m0_time_sub(now, TICK));
}

static void model_step(struct m0_rand *rand, m0_time_t *now)
{
	struct model *mo = &model[m0_rand_below(rand, MODEL_NR)];
	m0_time_t     next;

	switch (m0_rand_below(rand, 4)) {
	case 0:
	case 1:
		/* Many are armed for one time. */
		if (m0_rand_chance(rand, 500) || model_last < *now)
			model_last = *now + random_distance(rand);
		mo->mo_armed = true;
		mo->mo_deadline = model_last;
		m0_timerq_arm(&queue, &mo->mo_timer, mo->mo_deadline);
		break;
	case 2:
		mo->mo_armed = false;
		m0_timerq_cancel(&queue, &mo->mo_timer);
		break;
	default:
		next = m0_timerq_next(&queue);
		/* Sleeping until `next` makes nobody late. */
		assert_true(next == M0_TIME_NEVER ||
			    next < model_first() + TICK);
		*now = m0_rand_chance(rand, 500) && next != M0_TIME_NEVER
			       ? max64u(*now, next)
			       : *now + random_distance(rand) / 16;
		model_expire(*now);
	}
}

static void timer_random_agrees_with_model(void **state)
{
	const char    *env = getenv("M0_SEED");
	uint64_t       seed = env != NULL ? strtoull(env, NULL, 0) : 1;
	struct m0_rand rand;
	m0_time_t      now = 987654321;
	size_t         i;

	(void)state;
	print_message("M0_SEED=%llu\n", (unsigned long long)seed);
	m0_rand_init(&rand, seed);
	m0_timerq_init(&queue, now);
	for (i = 0; i < MODEL_NR; ++i)
		m0_timer_init(&model[i].mo_timer);
	for (i = 0; i < 200000; ++i)
		model_step(&rand, &now);
	for (i = 0; i < MODEL_NR; ++i)
		m0_timerq_cancel(&queue, &model[i].mo_timer);
	for (i = 0; i < M0_TIMERQ_WHEELS_NR; ++i)
		assert_true(queue.tq_busy[i] == 0);
	m0_timerq_fini(&queue);
}

/* A queue that had nothing for long is precise at once when armed. */
static void timer_after_long_idle_is_in_time(void **state)
{
	struct m0_timer timer;
	m0_time_t       deadline = 9000000 * SEC + 3 * MSEC;
	unsigned        wakes;

	(void)state;
	m0_timerq_init(&queue, 0);
	m0_timer_init(&timer);
	m0_timerq_arm(&queue, &timer, deadline);
	assert_true(run_to_expiry(&timer, &wakes) - deadline < TICK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timer_any_distance_is_in_time),
		cmocka_unit_test(timer_does_not_expire_early),
		cmocka_unit_test(timer_jump_expires_in_order),
		cmocka_unit_test(timer_equal_deadlines_are_fifo),
		cmocka_unit_test(timer_special_deadlines),
		cmocka_unit_test(timer_clock_back_is_harmless),
		cmocka_unit_test(timer_random_agrees_with_model),
		cmocka_unit_test(timer_after_long_idle_is_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

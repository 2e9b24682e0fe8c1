/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Timers of the simulator. */
#include "unit/sim/worker.h"

enum {
	SEED = 3,
	TIMERS_NR = 200
};

static struct m0_sim sim;

struct entry {
	struct m0_sim_timer e_timer;
	m0_time_t           e_fired_at;
	unsigned            e_fired_nr;
	/** How many had fired before. */
	unsigned      e_order;
	struct entry *e_other;
};

static unsigned fired_nr;

static void fire(struct m0_sim_timer *timer)
{
	struct entry *e = container_of(timer, struct entry, e_timer);

	e->e_fired_at = m0_sim_now(&sim);
	e->e_order = fired_nr++;
	++e->e_fired_nr;
}

static int setup(void **state)
{
	(void)state;
	fired_nr = 0;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	m0_sim_fini(&sim);
	return 0;
}

/* However many, armed and cancelled in whatever order: each at its time. */
static void timers_random_fire_at_their_time(void **state)
{
	static struct entry e[TIMERS_NR];
	m0_time_t           at[TIMERS_NR];
	size_t              i;
	size_t              j;

	(void)state;
	memset(e, 0, sizeof e);
	for (i = 0; i < 5 * TIMERS_NR; ++i) {
		j = m0_sim_rand(&sim, TIMERS_NR);
		at[j] = m0_sim_now(&sim) + m0_sim_rand(&sim, 1000000);
		m0_sim_timer_arm(&sim, &e[j].e_timer, at[j], fire);
		j = m0_sim_rand(&sim, TIMERS_NR);
		m0_sim_timer_cancel(&sim, &e[j].e_timer);
	}
	for (i = 0, j = 0; i < TIMERS_NR; ++i)
		j += e[i].e_timer.simt_at != 0;
	assert_true(j > 10);
	m0_sim_run_ms(&sim, 2);
	assert_int_equal(fired_nr, j);
	for (i = 0; i < TIMERS_NR; ++i) {
		assert_int_equal(e[i].e_timer.simt_at, 0);
		if (e[i].e_fired_nr > 0) {
			assert_int_equal(e[i].e_fired_nr, 1);
			assert_int_equal(e[i].e_fired_at, at[i]);
		}
	}
}

/* Timers of one instant fire in the order in which they were armed. */
static void timers_of_one_instant_fire_in_order(void **state)
{
	struct entry e[20];
	m0_time_t    at = m0_sim_now(&sim) + 5;
	unsigned     i;

	(void)state;
	memset(e, 0, sizeof e);
	for (i = 0; i < 20; ++i)
		m0_sim_timer_arm(&sim, &e[i].e_timer, at, fire);
	m0_sim_run_ms(&sim, 1);
	for (i = 0; i < 20; ++i)
		assert_int_equal(e[i].e_order, i);
}

/* A time that has passed: at the next turn, and not on the caller's stack. */
static void timer_past_fires_next(void **state)
{
	struct entry e = { .e_fired_nr = 0 };

	(void)state;
	m0_sim_timer_arm(&sim, &e.e_timer, m0_sim_now(&sim) - 1, fire);
	assert_int_equal(e.e_fired_nr, 0);
	m0_sim_settle(&sim);
	assert_int_equal(e.e_fired_nr, 1);
}

/* Arming for ever is cancelling. */
static void timer_never_is_disarmed(void **state)
{
	struct entry e = { .e_fired_nr = 0 };

	(void)state;
	m0_sim_timer_arm(&sim, &e.e_timer, m0_sim_now(&sim) + 1, fire);
	m0_sim_timer_arm(&sim, &e.e_timer, M0_TIME_NEVER, fire);
	assert_false(m0_sim_step(&sim));
	assert_int_equal(e.e_fired_nr, 0);
}

static void fire_and_rearm(struct m0_sim_timer *timer)
{
	struct entry *e = container_of(timer, struct entry, e_timer);

	fire(timer);
	m0_sim_timer_cancel(&sim, &e->e_other->e_timer);
	if (e->e_fired_nr < 3)
		m0_sim_timer_arm(&sim, timer, m0_sim_now(&sim) + 7,
				 fire_and_rearm);
}

/* The callback may arm itself again and cancel one that is due as well. */
static void timer_callback_may_arm_and_cancel(void **state)
{
	struct entry other = { .e_fired_nr = 0 };
	struct entry e = { .e_other = &other };
	m0_time_t    at = m0_sim_now(&sim) + 7;

	(void)state;
	m0_sim_timer_arm(&sim, &e.e_timer, at, fire_and_rearm);
	m0_sim_timer_arm(&sim, &other.e_timer, at, fire);
	m0_sim_run_ms(&sim, 1);
	assert_int_equal(other.e_fired_nr, 0);
	assert_int_equal(e.e_fired_nr, 3);
	assert_int_equal(e.e_fired_at, at + 14);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			timers_random_fire_at_their_time, setup, teardown),
		cmocka_unit_test_setup_teardown(
			timers_of_one_instant_fire_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(timer_past_fires_next, setup,
						teardown),
		cmocka_unit_test_setup_teardown(timer_never_is_disarmed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			timer_callback_may_arm_and_cancel, setup, teardown),
	};

	return cmocka_run_group_tests_name("sim_timer", tests, NULL, NULL);
}

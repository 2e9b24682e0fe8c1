/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Narration, expectations and last words of the simulator. */
#include "base/probes.h"
#include "unit/sim/worker.h"

enum {
	SEED = 13,
	TEXT_MAX = 64 * 1024
};

static char          text[TEXT_MAX];
static struct m0_sim sim;

static m0_time_t tell(struct worker *w, m0_time_t now)
{
	(void)w;
	m0_probe_tm_state("1@sim", "started", "stopping");
	m0_probe_ep_new("1@sim", "2@sim");
	m0_sim_say(&sim, "step at %" PRIu64 " ms",
		   (now - 1000 * M0_TIME_ONE_SECOND) / M0_TIME_ONE_MSEC);
	return now + 2 * M0_TIME_ONE_MSEC;
}

/* Probes and the test's own lines become a story, with time and teller. */
static void story_probes_and_lines_in_order(void **state)
{
	struct worker w;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_sim_watch(&sim, "tm_");
	m0_sim_watch(&sim, "step at");
	m0_sim_watch(&sim, "hello");
	worker_start(&w, "tm 1", tell, NULL);
	m0_sim_settle(&sim);
	m0_sim_say(&sim, "hello");
	m0_sim_expect(&sim, "  0 ms tm 1 > 1@sim: started -> stopping\n"
			    "  0 ms tm 1 > step at 0 ms\n"
			    "  0 ms app > hello\n");
	m0_sim_run_ms(&sim, 3);
	m0_sim_expect(&sim, "  2 ms tm 1 > 1@sim: started -> stopping\n"
			    "  2 ms tm 1 > step at 2 ms\n");
	m0_sim_expect(&sim, "");
	worker_stop(&w);
	m0_sim_fini(&sim);
}

/* The scheduler tells what it does, if asked. */
static void story_of_scheduler(void **state)
{
	struct worker w;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_sim_watch(&sim, "sched");
	worker_start(&w, "w", NULL, NULL);
	m0_sim_settle(&sim);
	m0_strand_wake(&w.w_strand);
	m0_strand_wake(&w.w_strand);
	m0_sim_run_ms(&sim, 1);
	worker_stop(&w);
	m0_sim_expect(&sim, "  0 ms app > start w\n"
			    "  0 ms w > step\n"
			    "  0 ms app > wake w\n"
			    "  0 ms w > step\n"
			    "  1 ms app > stop w\n");
	m0_sim_fini(&sim);
}

/* Strands of one name are told apart; a number that is free is used again. */
static void story_names_are_unique(void **state)
{
	struct worker w[3];
	int           i;

	(void)state;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	for (i = 0; i < 3; ++i)
		worker_start(&w[i], "a name of twenty bytes", NULL, NULL);
	m0_sim_settle(&sim);
	worker_stop(&w[1]);
	m0_sim_watch(&sim, "sched");
	worker_start(&w[1], "a name of twenty bytes", NULL, NULL);
	m0_strand_wake(&w[2].w_strand);
	m0_sim_settle(&sim);
	m0_sim_expect(&sim, "  0 ms app > start a name of twent.2\n"
			    "  0 ms app > wake a name of twent.3\n"
			    "  0 ms a name of twent.2 > step\n"
			    "  0 ms a name of twent.3 > step\n");
	for (i = 0; i < 3; ++i)
		worker_stop(&w[i]);
	m0_sim_fini(&sim);
}

static void expect_other(void)
{
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_sim_watch(&sim, "");
	m0_sim_say(&sim, "one");
	m0_sim_say(&sim, "two");
	m0_sim_expect(&sim, "  0 ms app > one\n"
			    "  0 ms app > three\n");
}

/* A story that goes differently is shown, with the line and the seed. */
static void expect_difference_fails(void **state)
{
	(void)state;
	child_aborts(expect_other, "not as expected, from line 2 on", text,
		     sizeof text);
	assert_non_null(strstr(text, "expected:\n  0 ms app > one\n"));
	assert_non_null(strstr(text, "but it was:\n  0 ms app > one\n"
				     "  0 ms app > two\n"));
	assert_non_null(strstr(text, "M0_SEED=13 to replay"));
}

static void die_talkative(void)
{
	struct m0_sim_cfg cfg = m0_sim_cfg_calm;
	int               i;

	cfg.simc_lines_max = 10;
	m0_sim_init_cfg(&sim, SEED, &cfg);
	for (i = 0; i < 100; ++i)
		m0_sim_say(&sim, "line %d", i);
	M0_ASSERT(i == 0);
}

/* A failed assertion of the library: the last lines, and the seed. */
static void assertion_prints_tail_and_seed(void **state)
{
	(void)state;
	child_aborts(die_talkative, "assertion failed", text, sizeof text);
	assert_non_null(strstr(text, "... 90 lines before\n"));
	assert_null(strstr(text, "line 89\n"));
	assert_non_null(strstr(text, "line 90\n"));
	assert_non_null(strstr(text, "line 99\n"));
	assert_non_null(strstr(text, "M0_SEED=13 to replay"));
}

static void fail_case(void)
{
	m0_sim_init(&sim, SEED);
	assert_int_equal(1, 2);
}

/* So does a failed assertion of cmocka, which knows nothing of us. */
static void case_failure_prints_seed(void **state)
{
	(void)state;
	child_aborts(fail_case, "M0_SEED=13 to replay", text, sizeof text);
}

static void be_verbose(void)
{
	(void)setenv("M0_SIM_VERBOSE", "1", 1);
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_sim_say(&sim, "as it happens");
	fprintf(stderr, "and then\n");
	m0_sim_fail(&sim, "no more");
}

/* Asked to, it tells while it runs, and does not repeat itself. */
static void verbose_tells_at_once(void **state)
{
	const char *told;

	(void)state;
	child_aborts(be_verbose, "    0.000 ms app > as it happens\nand then\n",
		     text, sizeof text);
	told = strstr(text, "as it happens");
	assert_null(strstr(told + 1, "as it happens"));
}

/* Overlong lines are cut, not trusted. */
static void line_overlong_is_cut(void **state)
{
	char long_text[1000];

	(void)state;
	memset(long_text, 'x', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = 0;
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_sim_watch(&sim, "x");
	m0_sim_say(&sim, "%s", long_text);
	(void)snprintf(text, sizeof text, "  0 ms app > %.111s\n", long_text);
	m0_sim_expect(&sim, text);
	m0_sim_fini(&sim);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(story_probes_and_lines_in_order),
		cmocka_unit_test(story_of_scheduler),
		cmocka_unit_test(story_names_are_unique),
		cmocka_unit_test(expect_difference_fails),
		cmocka_unit_test(assertion_prints_tail_and_seed),
		cmocka_unit_test(case_failure_prints_seed),
		cmocka_unit_test(verbose_tells_at_once),
		cmocka_unit_test(line_overlong_is_cut),
	};

	return cmocka_run_group_tests_name("sim_trace", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "fail/fail.h"
#include "lib/slow.h"

#define PATIENCE_NS (60 * M0_TIME_ONE_SECOND)

enum {
	BACK_OFF_MS = 200,
	/** Once more, and the same call fails again. */
	MORE_NR = 2,
	/** Under sanitizers: so many allocations fail in turn, then each of
	 * SLOW_STEP, alone and with others by turns. */
	SLOW_EACH_NR = 48,
	SLOW_STEP = 3
};

static struct m0_sim  sim;
static struct m0_heap heap;
static uint64_t       nth;
/* Failures to come, each as soon as the one before was told. */
static unsigned more_nr;
static void (*the_pump)(void);

struct m0_sim *fail_sim(void)
{
	return &sim;
}

bool fail_came(void)
{
	return m0_heap_failed_nr(&heap) > 0;
}

void fail_told(int rc, const char *what)
{
	if (rc > 0 || !fail_came())
		fail_msg("allocation %" PRIu64 ": %s: %d for no reason", nth,
			 what, rc);
	if (more_nr > 0) {
		--more_nr;
		m0_heap_fail_at(&heap, 1);
	}
	/* A peer that could not be reached is not tried for a while. */
	m0_sim_run_ms(&sim, BACK_OFF_MS);
}

void fail_untold(int rc, const char *what)
{
	fail_msg("after allocation %" PRIu64 ": %s: %d", nth, what, rc);
}

void fail_pump_set(void (*pump)(void))
{
	the_pump = pump;
}

bool fail_until(bool (*cond)(void *arg), void *arg)
{
	m0_time_t end = m0_sim_now(&sim) + PATIENCE_NS;

	while (the_pump != NULL && m0_sim_now(&sim) < end) {
		the_pump();
		if (cond(arg))
			return true;
		m0_sim_run_ms(&sim, 1);
	}
	return m0_sim_run_until(&sim, cond, arg, PATIENCE_NS);
}

/* @return the allocation was reached. */
static bool tell(const struct fail_story *story, unsigned more)
{
	bool    came;
	int64_t live;

	more_nr = more;
	m0_heap_init(&heap);
	m0_sim_init_cfg(&sim, 1, &m0_sim_cfg_calm);
	m0_heap_fail_at(&heap, nth);
	story->fst_tell();
	m0_sim_fini(&sim);
	came = fail_came();
	live = m0_heap_live_nr(&heap);
	m0_heap_fini(&heap);
	if (live != 0)
		fail_msg("%s: allocation %" PRIu64 " failed: %d more are live",
			 story->fst_name, nth, (int)live);
	return came;
}

/* @return there may be more allocations. */
static bool tell_nth(const struct fail_story *story)
{
	if (IS_SLOW && nth > SLOW_EACH_NR)
		return tell(story, nth / SLOW_STEP % 2 == 0 ? 0 : MORE_NR);
	return tell(story, 0) && tell(story, MORE_NR);
}

void fail_each(const struct fail_story *story)
{
	/* A first run makes all allocations that stay for good. */
	const char *only = getenv("FAIL_NTH");

	nth = 0;
	m0_sim_init_cfg(&sim, 1, &m0_sim_cfg_calm);
	story->fst_tell();
	m0_sim_fini(&sim);
	if (only != NULL) {
		nth = strtoull(only, NULL, 10);
		(void)tell(story, 0);
		(void)tell(story, MORE_NR);
		return;
	}
	do {
		nth += IS_SLOW && nth >= SLOW_EACH_NR ? SLOW_STEP : 1;
	} while (tell_nth(story));
	if (nth <= story->fst_allocs_min)
		fail_msg("%s: only %" PRIu64 " allocations", story->fst_name,
			 nth - 1);
	print_message("%s: %" PRIu64 " allocations\n", story->fst_name,
		      nth - 1);
}

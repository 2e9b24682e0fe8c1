/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Runs over seeds: reproducible, different, and checked for what is left. */
#include "unit/sim/worker.h"

enum {
	TEXT_MAX = 64 * 1024,
	RING_NR = 5
};

static char text[TEXT_MAX];

/* A ring of strands, each of which wakes the next a random number of times. */
struct ring {
	struct worker  r_w[RING_NR];
	struct m0_sim *r_sim;
	unsigned       r_left;
};

static m0_time_t ring_turn(struct worker *w, m0_time_t now)
{
	struct ring *ring = w->w_arg;
	uint8_t      byte;

	if (ring->r_left == 0)
		return M0_TIME_NEVER;
	--ring->r_left;
	m0_os_random(&byte, sizeof byte);
	m0_strand_wake(&ring->r_w[byte % RING_NR].w_strand);
	return now + byte;
}

static bool ring_is_done(void *arg)
{
	return ((struct ring *)arg)->r_left == 0;
}

static void ring_run(struct m0_sim *sim, void *arg)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct ring              ring = { .r_sim = sim, .r_left = 200 };
	int                      i;

	for (i = 0; i < RING_NR; ++i) {
		worker_start(&ring.r_w[i], names[i], ring_turn, &ring);
		m0_sim_yield(sim, 3);
	}
	assert_true(m0_sim_run_until(sim, ring_is_done, &ring, M0_TIME_NEVER));
	for (i = 0; i < RING_NR; ++i)
		worker_stop(&ring.r_w[i]);
	if (arg != NULL)
		++*(unsigned *)arg;
}

static uint64_t hash_of(uint64_t seed)
{
	struct m0_sim sim;
	uint64_t      hash;

	m0_sim_init(&sim, seed);
	ring_run(&sim, NULL);
	hash = m0_sim_hash(&sim);
	m0_sim_fini(&sim);
	return hash;
}

/* The promise of it all: one seed, one run. */
static void seed_same_gives_same_run(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 20; ++seed)
		assert_int_equal(hash_of(seed), hash_of(seed));
}

/* And other seeds give other runs, or there would be no point. */
static void seed_other_gives_other_run(void **state)
{
	uint64_t hash[50];
	size_t   i;
	size_t   j;

	(void)state;
	for (i = 0; i < 50; ++i) {
		hash[i] = hash_of(i + 1);
		for (j = 0; j < i; ++j)
			assert_true(hash[i] != hash[j]);
	}
}

/* Each seed once, the first twice. */
static void for_each_runs_all(void **state)
{
	unsigned nr = 0;

	(void)state;
	(void)unsetenv("M0_SEED");
	(void)unsetenv("M0_SEEDS_NR");
	m0_sim_for_each_seed(1, 10, ring_run, &nr);
	assert_int_equal(nr, 11);
}

static void note_seed(struct m0_sim *sim, void *arg)
{
	*(uint64_t *)arg = m0_sim_seed(sim);
}

/* The environment replays one seed, in either notation, or asks for more. */
static void environment_replaces_seeds(void **state)
{
	uint64_t seed = 0;
	unsigned nr = 0;

	(void)state;
	assert_int_equal(m0_sim_seed_get(5), 5);
	assert_int_equal(setenv("M0_SEED", "0x2a", 1), 0);
	assert_int_equal(m0_sim_seed_get(5), 42);
	m0_sim_for_each_seed(1, 10, note_seed, &seed);
	assert_int_equal(seed, 42);
	assert_int_equal(setenv("M0_SEED", "nonsense", 1), 0);
	assert_int_equal(m0_sim_seed_get(5), 5);
	assert_int_equal(unsetenv("M0_SEED"), 0);
	assert_int_equal(setenv("M0_SEEDS_NR", "3", 1), 0);
	m0_sim_for_each_seed(1, 10, ring_run, &nr);
	assert_int_equal(nr, 4);
	assert_int_equal(unsetenv("M0_SEEDS_NR"), 0);
}

static void *kept;

static void leak_one(struct m0_sim *sim, void *arg)
{
	(void)sim;
	(void)arg;
	m0_free(kept);
	kept = NULL;
	if (m0_sim_seed(sim) == 102)
		kept = m0_alloc(10);
}

static void leak(void)
{
	m0_sim_for_each_seed(100, 10, leak_one, NULL);
}

/* Memory that a run leaves allocated fails that run. */
static void leak_is_found(void **state)
{
	(void)state;
	child_aborts(leak, "1 allocations not freed", text, sizeof text);
	assert_non_null(strstr(text, "M0_SEED=102 to replay"));
}

static void make_once(struct m0_sim *sim, void *arg)
{
	(void)sim;
	(void)arg;
	if (kept == NULL)
		kept = m0_alloc(10);
}

/* An allocation made once in a program is no leak. */
static void made_once_is_no_leak(void **state)
{
	(void)state;
	m0_sim_for_each_seed(100, 3, make_once, NULL);
	m0_free0(&kept);
}

static void drift_one(struct m0_sim *sim, void *arg)
{
	m0_sim_say(sim, "%d", ++*(int *)arg);
}

static void drift(void)
{
	int nr = 0;

	m0_sim_for_each_seed(100, 10, drift_one, &nr);
}

/* So does a run that something else than the seed has a say in. */
static void drift_is_found(void **state)
{
	(void)state;
	child_aborts(drift, "two runs of one seed differ", text, sizeof text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(seed_same_gives_same_run),
		cmocka_unit_test(seed_other_gives_other_run),
		cmocka_unit_test(for_each_runs_all),
		cmocka_unit_test(environment_replaces_seeds),
		cmocka_unit_test(leak_is_found),
		cmocka_unit_test(made_once_is_no_leak),
		cmocka_unit_test(drift_is_found),
	};

	/* This file is about these variables. */
	(void)unsetenv("M0_SEED");
	(void)unsetenv("M0_SEEDS_NR");
	return cmocka_run_group_tests_name("sim_seed", tests, NULL, NULL);
}

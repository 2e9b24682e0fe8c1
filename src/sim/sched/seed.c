/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Runs over many seeds. */
#include <stdlib.h>

#include "sim/sched/heap.h"
#include "sim/sched/sim_internal.h"

/* A number of the environment; false: not there, or not a number. */
static bool env_number(const char *name, uint64_t *ret_val)
{
	const char *text = getenv(name);
	char       *end;
	uint64_t    val;

	if (text == NULL || *text < '0' || *text > '9')
		return false;
	val = strtoull(text, &end, 0);
	if (*end != 0)
		return false;
	*ret_val = val;
	return true;
}

uint64_t m0_sim_seed_get(uint64_t seed)
{
	(void)env_number("M0_SEED", &seed);
	return seed;
}

/* One seed; returns the digest of its narration. */
static uint64_t seed_run(uint64_t seed, bool is_first,
			 void (*fn)(struct m0_sim *sim, void *arg), void *arg)
{
	static struct m0_heap heap;
	static bool           is_on;
	struct m0_sim         sim;
	uint64_t              hash;

	/* A failed test has jumped out of the last run. */
	if (is_on)
		m0_heap_forget();
	m0_heap_init(&heap);
	is_on = true;
	m0_sim_init(&sim, seed);
	fn(&sim, arg);
	hash = m0_sim_hash(&sim);
	/* Memory that a program allocates once may have been allocated in
	 * the first run. */
	if (!is_first && m0_heap_live_nr(&heap) != 0)
		m0_sim_fail(&sim, "%" PRId64 " allocations not freed",
			    m0_heap_live_nr(&heap));
	m0_sim_fini(&sim);
	m0_heap_fini(&heap);
	is_on = false;
	return hash;
}

void m0_sim_for_each_seed(uint64_t first, unsigned                         nr,
			  void (*fn)(struct m0_sim *sim, void *arg), void *arg)
{
	uint64_t seeds_nr = nr;
	uint64_t hash;
	uint64_t i;

	(void)env_number("M0_SEEDS_NR", &seeds_nr);
	if (env_number("M0_SEED", &first))
		seeds_nr = 1;
	hash = seed_run(first, true, fn, arg);
	for (i = 0; i < seeds_nr; ++i) {
		uint64_t again = seed_run(first + i, false, fn, arg);

		if (i == 0 && again != hash) {
			fprintf(stderr,
				"two runs of one seed differ\n"
				"M0_SEED=%" PRIu64 " to replay\n",
				first);
			m0_sim__case_fail();
		}
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Runs that go wrong sooner or later: what does one see, and again? */
#include "m0/sim.h"

static void run(struct m0_sim *sim, void *arg)
{
	unsigned i;

	(void)arg;
	m0_sim_options(sim, "%u of a kind", 1 + (unsigned)m0_sim_rand(sim, 9));
	for (i = 0; i < 100; ++i) {
		m0_sim_run_ms(sim, m0_sim_rand(sim, 50));
		m0_sim_say(sim, "step %u", i);
		if (m0_sim_rand(sim, 10000) == 0)
			m0_sim_fail(sim, "step %u was one too many", i);
	}
}

int main(void)
{
	m0_sim_for_each_seed(1, 1000, &run, NULL);
	return 0;
}

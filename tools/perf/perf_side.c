/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The machine of a side. */
#include "perf_run.h"

int perf_cpu_set(const struct perf_setup *setup, int nr, struct m0_bitmap *ret)
{
	uint64_t cpu;
	int      rc;

	if (setup->pu_cpus_nr == 0)
		return 0;
	cpu = setup->pu_cpus[(size_t)nr < setup->pu_cpus_nr ? nr : 0];
	rc = m0_bitmap_init(ret, (size_t)cpu + 1);
	if (rc == 0)
		m0_bitmap_set(ret, (size_t)cpu, true);
	return rc;
}

static int side_confine(struct perf_side *side, const struct perf_setup *setup,
			int nr)
{
	struct m0_bitmap cpus = { .b_nr = 0 };
	int              rc = perf_cpu_set(setup, nr, &cpus);

	if (rc == 0 && cpus.b_nr > 0) {
		rc = m0_net_tm_confine(&side->pe_node.tn_tm, &cpus);
		m0_bitmap_fini(&cpus);
	}
	return rc;
}

/* Mode, threads, processors: what is chosen between init and start. */
static int side_set_up(struct perf_side *side, const struct perf_setup *setup,
		       int nr)
{
	struct m0_net_transfer_mc *tm = &side->pe_node.tn_tm;
	int                        rc = side_confine(side, setup, nr);

	if (rc == 0 && setup->pu_mode == PERF_SYNC)
		rc = m0_net_buffer_event_deliver_synchronously(tm);
	if (rc == 0 && setup->pu_mode == PERF_INLINE)
		rc = m0_net_tm_inline(tm);
	if (rc != 0)
		return rc;
	if (setup->pu_spin_set)
		m0_net_tm_spin_set(tm, setup->pu_spin_ns);
	if (setup->pu_workers > 1)
		setup->pu_xprt->txp_workers_set(tm, setup->pu_workers);
	side->pe_locked = setup->pu_workers > 1;
	return 0;
}

int perf_side_start(struct perf_run *run, int nr)
{
	static const char *const names[] = { "A", "B" };
	struct perf_side        *side = &run->pn_sides[nr];
	int                      rc;

	side->pe_run = run;
	side->pe_is_a = nr == PERF_A;
	side->pe_here = true;
	side->pe_own_clock = run->pn_setup->pu_xprt->txp_far;
	m0_mutex_init(&side->pe_lock);
	rc = tool_node_init(&side->pe_node, names[nr], run->pn_setup->pu_xprt);
	if (rc == 0)
		rc = side_set_up(side, run->pn_setup, nr);
	if (rc == 0)
		rc = tool_node_start(&side->pe_node,
				     run->pn_setup->pu_addrs[nr]);
	return rc;
}

int perf_side_meet(struct perf_side *side, const char *addr)
{
	return m0_net_end_point_create(&side->pe_peer, &side->pe_node.tn_tm,
				       addr);
}

void perf_side_fini(struct perf_side *side)
{
	if (!side->pe_here)
		return;
	perf_bufs_fini(side);
	if (side->pe_peer != NULL)
		(void)m0_net_end_point_put(side->pe_peer);
	tool_node_fini(&side->pe_node);
	m0_mutex_fini(&side->pe_lock);
	side->pe_here = false;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Strands of a TM: the threads that run it, or the runner of its transport.
 */
#include "kit/kit.h"

int kit_strands_start(struct m0_net_kit_machine *m)
{
	struct kit_strands     *st = &m->nkm_strands;
	const struct m0_bitmap *cpus = m->nkm_cpus.b_nr > 0 ? &m->nkm_cpus
							    : NULL;
	size_t                  nr = m->nkm_inline ? 1 : st->kst_nr;
	size_t                  i;
	int                     rc = 0;

	/* Until all run kin_wakes is false, so none of them takes our lock. */
	if (st->kst_running)
		return 0;
	if (st->kst_runner != NULL) {
		__atomic_store_n(&st->kst_running, true, __ATOMIC_RELEASE);
		kit_wakes_update(m);
		kit_kick(m);
		return 0;
	}
	M0_ALLOC_ARR(st->kst_workers, nr);
	if (st->kst_workers == NULL)
		return -ENOMEM;
	st->kst_nr = nr;
	for (i = 0; i < nr && rc == 0; ++i) {
		struct kit_worker *w = &st->kst_workers[i];

		w->kw_machine = m;
		m0_strand_init(&w->kw_strand, st->kst_ops, "net-tm");
		/* A thread that polls an inline TM looks for work itself. */
		w->kw_strand.st_spin_ns = m->nkm_inline ? 0
							: m->nkm_tm->ntm_spin;
		rc = m0_strand_start(&w->kw_strand, cpus);
	}
	if (rc == 0) {
		__atomic_store_n(&st->kst_running, true, __ATOMIC_RELEASE);
		kit_wakes_update(m);
		kit_kick(m);
		return 0;
	}
	m0_strand_fini(&st->kst_workers[--i].kw_strand);
	while (i-- > 0) {
		m0_strand_stop(&st->kst_workers[i].kw_strand);
		m0_strand_fini(&st->kst_workers[i].kw_strand);
	}
	m0_free0(&st->kst_workers);
	return rc;
}

void kit_strands_stop(struct m0_net_kit_machine *m)
{
	struct kit_strands *st = &m->nkm_strands;
	size_t              i;

	if (!st->kst_running)
		return;
	if (st->kst_runner != NULL) {
		st->kst_runner->nkr_stop(m);
		__atomic_store_n(&st->kst_running, false, __ATOMIC_RELEASE);
		return;
	}
	for (i = 0; i < st->kst_nr; ++i)
		m0_strand_stop(&st->kst_workers[i].kw_strand);
	__atomic_store_n(&st->kst_running, false, __ATOMIC_RELEASE);
	for (i = 0; i < st->kst_nr; ++i)
		m0_strand_fini(&st->kst_workers[i].kw_strand);
	m0_free0(&st->kst_workers);
}

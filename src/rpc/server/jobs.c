/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The store of a machine, and the jobs that it gives to the store. Jobs of one
 * step are given together at its end, so that the store can commit them together.
 */
#include "rpc/rpc_internal.h"

int m0_rpc__jobs_init(struct m0_rpc__jobs *jobs, const struct m0_rpc_cfg *cfg)
{
	jobs->rjb_tail = &jobs->rjb_list;
	jobs->rjb_store = cfg->rc_store;
	if (jobs->rjb_store != NULL)
		return 0;
	jobs->rjb_store = &jobs->rjb_store_own;
	jobs->rjb_store_is_own = true;
	return m0_rpc_store_volatile_init(&jobs->rjb_store_own,
					  cfg->rc_replies_bytes_max);
}

void m0_rpc__jobs_fini(struct m0_rpc__jobs *jobs)
{
	M0_PRE(jobs->rjb_list == NULL);
	if (jobs->rjb_store_is_own && jobs->rjb_store_own.rst_ops != NULL)
		m0_rpc_store_volatile_fini(&jobs->rjb_store_own);
}

void m0_rpc__store_exec(struct m0_rpc__machine *m, struct m0_rpc_store_job *job)
{
	const struct m0_rpc_store_ops *ops = m->rml_jobs.rjb_store->rst_ops;

	M0_PRE_EX(job->sj_run != NULL && job->sj_done != NULL);
	if (m0_rpc__is_here(m)) {
		job->sj_next = NULL;
		*m->rml_jobs.rjb_tail = job;
		m->rml_jobs.rjb_tail = &job->sj_next;
		return;
	}
	ops->rso_exec(m->rml_jobs.rjb_store, job);
	if (ops->rso_step != NULL)
		m0_net_tm_rider_wake(&m->rml_rider);
}

void m0_rpc__store_give(struct m0_rpc__machine *m)
{
	const struct m0_rpc_store_ops *ops = m->rml_jobs.rjb_store->rst_ops;
	struct m0_rpc_store_job       *job = m->rml_jobs.rjb_list;
	struct m0_rpc_store_job       *next;

	M0_PRE_EX(m0_rpc__jobs_invariant(&m->rml_jobs));
	m->rml_jobs.rjb_list = NULL;
	m->rml_jobs.rjb_tail = &m->rml_jobs.rjb_list;
	if (ops->rso_exec_all != NULL && job != NULL) {
		ops->rso_exec_all(m->rml_jobs.rjb_store, job);
		return;
	}
	for (; job != NULL; job = next) {
		next = job->sj_next;
		ops->rso_exec(m->rml_jobs.rjb_store, job);
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The store, and the jobs that a machine gives to it. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_JOBS_H
#define M0_SRC_RPC_JOBS_H

struct m0_rpc__jobs {
	struct m0_rpc_store *rjb_store;
	struct m0_rpc_store  rjb_store_own;
	bool                 rjb_store_is_own;
	/** Jobs for the store, in their order: given at the end of a step. */
	struct m0_rpc_store_job  *rjb_list;
	struct m0_rpc_store_job **rjb_tail;
};

/** The configuration's store, or one of the machine's own. @retval -ENOMEM */
int  m0_rpc__jobs_init(struct m0_rpc__jobs *jobs, const struct m0_rpc_cfg *cfg);
void m0_rpc__jobs_fini(struct m0_rpc__jobs *jobs);
/**
 * Gives a job to the store. Those of one step together, at its end: it wakes
 * its thread for the first, and finds the others beside it, to share a commit.
 */
void m0_rpc__store_exec(struct m0_rpc__machine  *m,
			struct m0_rpc_store_job *job);
/** Give the jobs of a step to the store, at its end. */
void m0_rpc__store_give(struct m0_rpc__machine *m);

static inline bool m0_rpc__jobs_invariant(const struct m0_rpc__jobs *jobs)
{
	return _0C(jobs->rjb_store != NULL) &&
	       _0C(jobs->rjb_store_is_own ==
		   (jobs->rjb_store == &jobs->rjb_store_own)) &&
	       _0C((jobs->rjb_list == NULL) ==
		   (jobs->rjb_tail == &jobs->rjb_list)) &&
	       _0C(*jobs->rjb_tail == NULL);
}

#endif /* M0_SRC_RPC_JOBS_H */

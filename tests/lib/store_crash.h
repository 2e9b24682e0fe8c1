/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A store in memory that survives the crash of its server: it keeps what was
 * committed and loses the rest. Commits may come late, several jobs may share
 * one, and everything can be made to fail. Not locked: for one thread, or the
 * simulator.
 */
#ifndef M0_TESTS_LIB_STORE_CRASH_H
#define M0_TESTS_LIB_STORE_CRASH_H

#include "m0/rpc_store.h"

/** Where it can fail, or die. At those that are past it can only die. */
enum store_crash_point {
	STORE_CRASH_BEGIN,
	/** A key is put or deleted. */
	STORE_CRASH_PUT,
	STORE_CRASH_PUT_DONE,
	STORE_CRASH_COMMIT,
	/** Some of it is written; what was before must stay. */
	STORE_CRASH_COMMIT_PART,
	/** The commit is kept, and nobody knows yet. */
	STORE_CRASH_COMMIT_DONE
};

enum {
	/** Result of stc_fault: the server dies here. */
	STORE_CRASH_DIES = 1
};

struct store_crash;
struct store_crash_group;

struct store_crash {
	/** Store that the server uses. */
	struct m0_rpc_store stc_store;

	/* To be set at any time. */

	/** Jobs that share a commit, at most. 1. */
	unsigned stc_group_max;
	/** A commit takes so long, by stc_clock. 0: within the step. */
	m0_time_t stc_commit_ns;
	/** sj_done comes one step after the commit, so that a crash may come
	 * between. */
	bool stc_done_late;
	/** NULL: the time is always 0. */
	m0_time_t (*stc_clock)(struct store_crash *store);
	/** Optional: 0, or the error with which this fails. A commit that
	 * fails takes all later ones that are under way with it.
	 * STORE_CRASH_DIES: from now on nothing is kept and no job completes,
	 * until store_crash_crash(), which is to be called soon. */
	int (*stc_fault)(struct store_crash    *store,
			 enum store_crash_point point);
	/** For the two above. */
	void *stc_arg;

	/* Read only. */

	uint64_t stc_commits_nr;
	uint64_t stc_jobs_nr;
	bool     stc_dead;

	/* Its own. */

	struct m0_rpc_store       stc_work;
	struct m0_rpc_store       stc_kept;
	struct m0_rpc_store_job  *stc_jobs;
	struct m0_rpc_store_job **stc_jobs_end;
	struct m0_list            stc_groups;
	struct store_crash_group *stc_tx_group;
};

void store_crash_init(struct store_crash *store, m0_bcount_t bytes_max);
/** Jobs not done are forgotten. */
void store_crash_fini(struct store_crash *store);
/** The server dies: jobs that are not committed were never done, and do not complete.
 * The store can then be given to the server's successor. */
void store_crash_crash(struct store_crash *store);
/** The server's memory of it goes, too: as after the end of a volatile one. */
void store_crash_forget(struct store_crash *store);
/** When a step has something to do though no job is given; M0_TIME_NEVER. */
m0_time_t store_crash_due(const struct store_crash *store);

#endif /* M0_TESTS_LIB_STORE_CRASH_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Removals of `colibri rm`, as many at a time as --inflight says. */
#ifndef M0_TOOLS_RM_H
#define M0_TOOLS_RM_H

#include "obj_lane.h"

struct rm_name;

struct rm_job {
	struct obj_client *rj_client;
	struct obj_lanes   rj_lanes;
	/** Under way or failed, in the order in which they were asked for. */
	struct rm_name *rj_names;
	uint64_t        rj_removed_nr;
	uint64_t        rj_failed_nr;
	/** Count a missing object as removed, not as a failure. */
	bool rj_may_miss;
	bool rj_interrupted;
	/** Not 0: no more is begun. */
	int rj_rc;
};

/** From now on a signal ends it. @return 0, or an exit code, with the client's
 * failure set. */
int  rm_job_open(struct rm_job *job, struct obj_client *client);
void rm_job_close(struct rm_job *job);
/**
 * Begins to remove an object, after a wait if too many are under way.
 * @return 0, or an error: one was not removed, or a signal came.
 */
int rm_job_post(struct rm_job *job, const char *name, size_t nr);
/** Notes that what is below a name cannot be listed. */
void rm_job_fail(struct rm_job *job, const char *name, int rc);
/** Waits for what is under way, and notes what was not removed, in order. */
int rm_job_end(struct rm_job *job);

#endif /* M0_TOOLS_RM_H */

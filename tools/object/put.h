/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Shared by `colibri put` and `get`: a job of many files. */
#ifndef M0_TOOLS_PUT_H
#define M0_TOOLS_PUT_H

#include "../copy/copy_show.h"
#include "obj_lane.h"

enum {
	/** Large files that are worked on at a time. */
	JOB_LARGE_MAX = 16,
	/** Failures that are reported one by one. */
	JOB_REPORTED_MAX = 20,
	/** How often a file is begun again before it is given up. */
	JOB_RESTARTS_MAX = 5
};

struct obj_job {
	struct obj_client    jb_client;
	struct obj_lanes     jb_lanes;
	struct copy_progress jb_progress;
	bool                 jb_progress_on;
	/** No more is begun. */
	bool     jb_fatal;
	uint64_t jb_files_nr;
	uint64_t jb_bytes;
	/** Not moved: they were there already. */
	uint64_t jb_same_nr;
	uint64_t jb_same_bytes;
	uint64_t jb_failed_nr;
	uint64_t jb_ignored_nr;
	/** Large files in hand. */
	uint32_t jb_large_nr;
};

/** Connects. @return 0, or an exit code, with `fail` set. */
int  obj_job_open(struct obj_job *job, const struct obj_args *args,
		  const struct obj_target *target, struct tool_fail *fail);
void obj_job_close(struct obj_job *job);
/** A file failed: says why; what nobody can mend ends the job. */
void obj_job_fail(struct obj_job *job, const char *name, int rc,
		  const char *fmt, ...) M0_PRINTF(4, 5);
void obj_job_progress(struct obj_job *job);
/** Prints the result. @return the exit code. */
int obj_job_say(struct obj_job *job, const char *verb);

#endif /* M0_TOOLS_PUT_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>

#include "../base/jout.h"
#include "put.h"
#include "../base/stop.h"
#include "../base/text.h"

int obj_job_open(struct obj_job *job, const struct obj_args *args,
		 const struct obj_target *target, struct tool_fail *fail)
{
	int rc;

	/* A signal ends it while nothing was begun. */
	if (obj_client_open(&job->jb_client, args, target, fail) != 0) {
		obj_client_close(&job->jb_client);
		return fail->tf_exit;
	}
	rc = stop_init();
	if (rc < 0) {
		tool_fail_set(fail, TOOL_FAILED, "signals: %s",
			      tool_errtext(rc));
		obj_client_close(&job->jb_client);
		return fail->tf_exit;
	}
	rc = obj_lanes_init(&job->jb_lanes, &job->jb_client);
	if (rc != 0) {
		tool_fail_set(fail, TOOL_FAILED, "memory: %s",
			      tool_errtext(rc));
		obj_job_close(job);
	}
	job->jb_client.oc_start = m0_time_now();
	return fail->tf_exit;
}

void obj_job_close(struct obj_job *job)
{
	/* Cancel the requests in flight. */
	if (job->jb_lanes.os_busy_nr > 0)
		m0_rpc_session_cancel(&job->jb_client.oc_session);
	obj_lanes_fini(&job->jb_lanes);
	obj_client_close(&job->jb_client);
}

static bool is_fatal(int rc)
{
	return rc == -ETIMEDOUT || rc == -ENOTCONN || rc == -ECANCELED ||
	       rc == -ECONNREFUSED || rc == -EHOSTUNREACH ||
	       rc == -ENETUNREACH || rc == -EPROTONOSUPPORT ||
	       rc == -EOPNOTSUPP || rc == -ENOSPC;
}

void obj_job_fail(struct obj_job *job, const char *name, int rc,
		  const char *fmt, ...)
{
	const char *program = job->jb_client.oc_args->oa_program;
	char        shown[PATH_MAX];
	char        text[512];
	va_list     args;

	++job->jb_failed_nr;
	if (is_fatal(rc))
		job->jb_fatal = true;
	if (stop_signal() != 0 || job->jb_failed_nr > JOB_REPORTED_MAX)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	obj_name_show(shown, sizeof shown, name);
	copy_progress_end(&job->jb_progress);
	if (stop_lets_say(stderr))
		fprintf(stderr, "%s: '%s': %s\n", program, shown, text);
}

void obj_job_progress(struct obj_job *job)
{
	if (job->jb_progress_on)
		copy_progress_show(&job->jb_progress,
				   job->jb_bytes + job->jb_same_bytes);
}

static void result_json(struct obj_job *job, double seconds)
{
	struct json_t *tree = jout_alloc();

	jout_num(tree, "objects", job->jb_files_nr);
	jout_num(tree, "bytes", job->jb_bytes);
	jout_num(tree, "same_objects", job->jb_same_nr);
	jout_num(tree, "same_bytes", job->jb_same_bytes);
	jout_num(tree, "ignored", job->jb_ignored_nr);
	jout_num(tree, "failed", job->jb_failed_nr);
	jout_real(tree, "seconds", seconds);
	jout_real(tree, "mb_per_second", (double)job->jb_bytes / 1e6 / seconds);
	jout_real(tree, "objects_per_second",
		  (double)job->jb_files_nr / seconds);
	obj_stats_json(&job->jb_client, tree);
	jout_finish(tree, stdout);
}

static void result_print(struct obj_job *job, const char *verb, double seconds)
{
	char size[TEXT_MAX];

	printf("%s %" PRIu64 " object%s, %s in %.3f s: %.1f MB/s, %.0f "
	       "objects/s\n",
	       verb, job->jb_files_nr, job->jb_files_nr == 1 ? "" : "s",
	       text_size(size, job->jb_bytes), seconds,
	       (double)job->jb_bytes / 1e6 / seconds,
	       (double)job->jb_files_nr / seconds);
	if (job->jb_same_bytes + job->jb_same_nr > 0)
		printf("%s were there already (%" PRIu64 " whole objects)\n",
		       text_size(size, job->jb_same_bytes), job->jb_same_nr);
	if (job->jb_ignored_nr > 0)
		printf("%" PRIu64 " are no regular files, and were left out\n",
		       job->jb_ignored_nr);
	obj_stats_print(&job->jb_client);
}

int obj_job_say(struct obj_job *job, const char *verb)
{
	const struct obj_args *args = job->jb_client.oc_args;
	struct tool_fail      *fail = job->jb_client.oc_fail;
	m0_time_t spent = m0_time_sub(m0_time_now(), job->jb_client.oc_start);
	double    seconds = (double)spent / 1e9;

	copy_progress_end(&job->jb_progress);
	if (stop_signal() != 0)
		(void)obj_interrupted(fail);
	else if (job->jb_failed_nr > 0)
		tool_fail_set(fail, TOOL_FAILED,
			      "%" PRIu64 " failed; %" PRIu64 " are done",
			      job->jb_failed_nr,
			      job->jb_files_nr + job->jb_same_nr);
	if (args->oa_json)
		result_json(job, seconds);
	else if (!args->oa_quiet && fail->tf_exit == TOOL_OK)
		result_print(job, verb, seconds);
	return fail->tf_exit;
}

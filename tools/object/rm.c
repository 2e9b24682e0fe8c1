/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "put.h"
#include "rm.h"
#include "../base/stop.h"

/** After a signal a service that is there has so long to answer. */
#define STOP_NS (5 * M0_TIME_ONE_SECOND)

struct rm_name {
	struct rm_name *rn_next;
	int             rn_rc;
	char            rn_text[];
};

int rm_job_open(struct rm_job *job, struct obj_client *client)
{
	int rc = stop_init();

	M0_SET0(job);
	job->rj_client = client;
	if (rc < 0)
		return tool_fail_set(client->oc_fail, TOOL_FAILED,
				     "signals: %s", tool_errtext(rc));
	rc = obj_lanes_init(&job->rj_lanes, client);
	if (rc == 0)
		return 0;
	obj_lanes_fini(&job->rj_lanes);
	return tool_fail_set(client->oc_fail, TOOL_FAILED, "memory: %s",
			     tool_errtext(rc));
}

void rm_job_close(struct rm_job *job)
{
	struct rm_name *name;

	/* Cancel the requests in flight. */
	if (job->rj_lanes.os_busy_nr > 0)
		m0_rpc_session_cancel(&job->rj_client->oc_session);
	obj_lanes_fini(&job->rj_lanes);
	while ((name = job->rj_names) != NULL) {
		job->rj_names = name->rn_next;
		m0_free(name);
	}
}

/* ---------------------------------------------------------------- names -- */

static struct rm_name *name_add(struct rm_job *job, const char *text, size_t nr)
{
	struct rm_name **at = &job->rj_names;
	struct rm_name  *name = m0_alloc(sizeof *name + nr + 1);

	if (name == NULL) {
		job->rj_rc = -ENOMEM;
		return NULL;
	}
	memcpy(name->rn_text, text, nr);
	while (*at != NULL)
		at = &(*at)->rn_next;
	*at = name;
	return name;
}

/* The name stays in its list, to be reported. */
static void name_failed(struct rm_job *job, struct rm_name *name, int rc)
{
	name->rn_rc = rc;
	job->rj_rc = rc;
	++job->rj_failed_nr;
}

static void name_over(struct rm_job *job, struct rm_name *name, int rc)
{
	struct rm_name **at = &job->rj_names;

	job->rj_removed_nr += rc == 0;
	if (rc != 0 && !(rc == -ENOENT && job->rj_may_miss)) {
		name_failed(job, name, rc);
		return;
	}
	while (*at != name)
		at = &(*at)->rn_next;
	*at = name->rn_next;
	m0_free(name);
}

static void interrupt(struct rm_job *job)
{
	job->rj_interrupted = true;
	job->rj_rc = -EINTR;
}

void rm_job_fail(struct rm_job *job, const char *text, int rc)
{
	struct rm_name *name;

	if (rc == -EINTR) {
		interrupt(job);
		return;
	}
	name = name_add(job, text, strlen(text));
	if (name != NULL)
		name_failed(job, name, rc);
}

/* -------------------------------------------------------------- waiting -- */

static void one_wait(struct rm_job *job, m0_time_t limit)
{
	struct obj_lane *lane = obj_lanes_wait(&job->rj_lanes, limit);
	struct rm_name  *name;
	int              rc;

	if (lane == NULL)
		return;
	name = lane->ol_owner;
	rc = lane->ol_rc;
	obj_lane_put(lane);
	name_over(job, name, rc);
}

int rm_job_post(struct rm_job *job, const char *text, size_t nr)
{
	uint64_t         max = job->rj_client->oc_args->oa_inflight;
	struct rm_name  *name;
	struct obj_lane *lane;
	int              rc;

	while (job->rj_rc == 0 && stop_signal() == 0 &&
	       job->rj_lanes.os_busy_nr >= max)
		one_wait(job, M0_TIME_NEVER);
	if (stop_signal() != 0)
		interrupt(job);
	name = job->rj_rc == 0 ? name_add(job, text, nr) : NULL;
	if (name == NULL)
		return job->rj_rc;
	rc = obj_name_check(text, nr);
	if (rc != 0) {
		name_over(job, name, rc);
		return job->rj_rc;
	}
	lane = obj_lane_get(&job->rj_lanes, false);
	M0_ASSERT(lane != NULL);
	lane->ol_op = OBJ_REMOVE;
	lane->ol_owner = name;
	lane->ol_req.orq_name = name->rn_text;
	lane->ol_req.orq_name_nr = (uint32_t)nr;
	obj_lane_post(lane);
	return 0;
}

/* -------------------------------------------------------------- the end -- */

static void names_report(const struct rm_job *job)
{
	const struct obj_client *client = job->rj_client;
	const struct rm_name    *name;
	unsigned                 printed = 0;

	for (name = job->rj_names; name != NULL; name = name->rn_next) {
		struct tool_fail one = { .tf_exit = TOOL_OK };

		if (name->rn_rc == 0 || printed++ >= JOB_REPORTED_MAX)
			continue;
		(void)obj_fail_note(&one, "object", name->rn_text, name->rn_rc);
		(void)tool_fail_print(&one, client->oc_args->oa_program);
	}
}

/* Reports a single failure as the result; of several, each and their number. */
static int failures_note(struct rm_job *job)
{
	struct tool_fail     *fail = job->rj_client->oc_fail;
	const struct rm_name *name = job->rj_names;

	while (name != NULL && name->rn_rc == 0)
		name = name->rn_next;
	if (job->rj_failed_nr == 1 && !job->rj_interrupted) {
		/* Names that failed stay. */
		M0_ASSERT(name != NULL);
		return obj_fail_note(fail, "object", name->rn_text,
				     name->rn_rc);
	}
	names_report(job);
	if (job->rj_interrupted)
		return tool_fail_set(fail, TOOL_FAILED,
				     "interrupted; %" PRIu64 " are removed",
				     job->rj_removed_nr);
	if (job->rj_failed_nr == 0)
		return tool_fail_set(fail, TOOL_FAILED, "memory: %s",
				     tool_errtext(job->rj_rc));
	return tool_fail_set(fail, TOOL_FAILED,
			     "%" PRIu64 " failed; %" PRIu64 " are removed",
			     job->rj_failed_nr, job->rj_removed_nr);
}

int rm_job_end(struct rm_job *job)
{
	m0_time_t limit = M0_TIME_NEVER;

	while (job->rj_lanes.os_busy_nr > 0 && m0_time_now() < limit) {
		if (stop_signal() != 0 && limit == M0_TIME_NEVER)
			limit = m0_time_add(m0_time_now(), STOP_NS);
		one_wait(job, limit);
	}
	if (job->rj_lanes.os_busy_nr > 0)
		interrupt(job);
	return job->rj_rc == 0 ? 0 : failures_note(job);
}

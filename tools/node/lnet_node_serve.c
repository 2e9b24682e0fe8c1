/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <unistd.h>

#include "lnet_node.h"
#include "lnet_serve.h"
#include "route_serve.h"
#include "../base/stop.h"

/** Pings or discoveries of a client. */
struct node_job {
	struct probe_set   njb_set;
	struct lnet_node  *njb_node;
	struct ctl_client *njb_client;
	struct node_job   *njb_next;
};

/** An answer that is being printed. */
struct answer {
	char  *anw_out;
	char  *anw_err;
	size_t anw_out_nr;
	size_t anw_err_nr;
	FILE  *anw_out_file;
	FILE  *anw_err_file;
};

static bool answer_begin(struct answer *answer)
{
	M0_SET0(answer);
	answer->anw_out_file =
		open_memstream(&answer->anw_out, &answer->anw_out_nr);
	answer->anw_err_file =
		open_memstream(&answer->anw_err, &answer->anw_err_nr);
	return answer->anw_out_file != NULL && answer->anw_err_file != NULL;
}

static void answer_end(struct answer *answer, struct ctl_client *client,
		       int code)
{
	if (answer->anw_out_file != NULL)
		(void)fclose(answer->anw_out_file);
	if (answer->anw_err_file != NULL)
		(void)fclose(answer->anw_err_file);
	ctl_answer(client, code, answer->anw_out, answer->anw_out_nr,
		   answer->anw_err, answer->anw_err_nr);
}

/* Does the client, which did not choose this node, have other networks? */
static bool is_elsewhere(const struct ctl_request *req)
{
	uint64_t own = ctl_netns();

	return req->cq_netns != 0 && own != 0 && req->cq_netns != own;
}

/* ---------------------------------------------- why peers were not reached */

void node_why_note(struct lnet_node *node, const char *text)
{
	node_whys_note(&node->lno_whys, text, m0_time_now());
}

/* @return the reason, until the next call. */
static const char *job_why(const struct probe_set     *set,
			   const struct m0_lnet_probe *probe)
{
	struct lnet_node *node =
		container_of(set, const struct node_job, njb_set)->njb_node;

	/* The log says it for one NID a second; each answer has its own. */
	if (probe->pr_status == -EHOSTUNREACH && node->lno_lnet != NULL &&
	    route_why_not(node->lno_lnet, &probe->pr_nid, node->lno_route_why,
			  sizeof node->lno_route_why))
		return node->lno_route_why;
	return node_whys_get(&node->lno_whys, &probe->pr_nid, probe->pr_status,
			     m0_time_now());
}

/* ------------------------------------------------------- pings, discoveries */

static void job_done(struct probe_set *set)
{
	const uint64_t    one = 1;
	struct node_job  *job = container_of(set, struct node_job, njb_set);
	struct lnet_node *node = job->njb_node;

	m0_mutex_lock(&node->lno_lock);
	job->njb_next = node->lno_done;
	node->lno_done = job;
	/* Under the lock: the job, and then the node, may go after it. */
	(void)!write(node->lno_wake_fd, &one, sizeof one);
	m0_mutex_unlock(&node->lno_lock);
}

static bool job_start(struct lnet_node *node, struct ctl_client *client,
		      const struct ctl_request *req)
{
	struct node_job *job = calloc(1, sizeof *job);

	if (job == NULL)
		return false;
	if (probe_set_init(&job->njb_set, req) != 0) {
		free(job);
		return false;
	}
	job->njb_node = node;
	job->njb_client = client;
	job->njb_set.pst_done = job_done;
	job->njb_set.pst_by_node = true;
	job->njb_set.pst_why = job_why;
	job->njb_set.pst_elsewhere = is_elsewhere(req);
	probe_set_start(&job->njb_set, node->lno_lnet);
	return true;
}

static void probes_note(const struct node_job *job)
{
	const struct ctl_request *req = &job->njb_set.pst_req;
	enum metrics_probe_kind   kind =
                req->cq_verb == CTL_PING ? METRICS_PING : METRICS_DISCOVERY;
	unsigned i;

	for (i = 0; i < req->cq_nids_nr; ++i)
		metrics_probe_note(&job->njb_node->lno_metrics, kind,
				   &job->njb_set.pst_probes[i]);
}

void node_jobs_finish(struct lnet_node *node)
{
	struct node_job *job;
	struct node_job *next;
	uint64_t         nr;

	m0_mutex_lock(&node->lno_lock);
	(void)!read(node->lno_wake_fd, &nr, sizeof nr);
	job = node->lno_done;
	node->lno_done = NULL;
	m0_mutex_unlock(&node->lno_lock);
	for (; job != NULL; job = next) {
		struct answer answer;
		int           code = TOOL_FAILED;

		next = job->njb_next;
		probes_note(job);
		if (answer_begin(&answer))
			code = probe_set_print(&job->njb_set,
					       answer.anw_out_file,
					       answer.anw_err_file);
		answer_end(&answer, job->njb_client, code);
		probe_set_fini(&job->njb_set);
		free(job);
	}
}

/* ------------------------------------------------------------------ the rest */

static bool is_stopping(const struct lnet_node *node)
{
	return stop_signal() != 0 || node->lno_drain.ndr_done;
}

static int refuse_stopping(FILE *err)
{
	fputs("colibri: the node is stopping\n", err);
	return TOOL_FAILED;
}

static int show(struct lnet_node *node, const struct ctl_request *req,
		FILE *out, FILE *err)
{
	/* A change may undo what the stop has begun, as routing does. */
	if (node->lno_lnet == NULL ||
	    (is_stopping(node) &&
	     ctl_verb_right(req->cq_verb) != CTL_RIGHT_LOOK))
		return refuse_stopping(err);
	if (M0_IN(req->cq_verb, (CTL_PROCESS_SHOW, CTL_PROCESS_DRAIN)))
		return process_serve(node, req, out, err);
	if (req->cq_verb == CTL_METRICS_SHOW)
		return metrics_serve(node, out, err);
	if (req->cq_verb >= CTL_CONFIG_EXPORT && req->cq_verb < CTL_ROUTE_ADD)
		return node_conf_serve(node, req, out, err);
	return lnet_serve(req, node->lno_lnet, &node->lno_opts.nop_cfg, out,
			  err);
}

/* Its answer has no end, unless it cannot begin. */
static void capture_start(struct lnet_node *node, struct ctl_client *client,
			  const struct ctl_request *req)
{
	struct answer answer;
	int           code = TOOL_FAILED;

	if (answer_begin(&answer))
		code = is_stopping(node)
			       ? refuse_stopping(answer.anw_err_file)
			       : captures_start(&node->lno_captures,
						node->lno_lnet, client, req,
						answer.anw_err_file);
	if (code != TOOL_OK) {
		answer_end(&answer, client, code);
		return;
	}
	(void)fclose(answer.anw_out_file);
	(void)fclose(answer.anw_err_file);
	free(answer.anw_out);
	free(answer.anw_err);
}

void node_serve(struct ctl_server *server, struct ctl_client *client,
		const struct ctl_request *req)
{
	struct lnet_node *node =
		container_of(server, struct lnet_node, lno_server);
	bool          probes = M0_IN(req->cq_verb, (CTL_PING, CTL_DISCOVER));
	struct answer answer;
	int           code = TOOL_FAILED;

	if (req->cq_verb == CTL_CAPTURE && node->lno_lnet != NULL) {
		capture_start(node, client, req);
		return;
	}
	if (probes && node->lno_lnet != NULL && job_start(node, client, req))
		return;
	/* Without memory the client is hung up on. */
	if (answer_begin(&answer) && (!probes || node->lno_lnet == NULL)) {
		if (is_elsewhere(req))
			fprintf(answer.anw_err_file,
				"colibri: the node of process %d, in another "
				"network namespace, answers; another one is "
				"named with --ctl PATH\n",
				(int)getpid());
		code = show(node, req, answer.anw_out_file,
			    answer.anw_err_file);
	}
	answer_end(&answer, client, code);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "lnet_node.h"
#include "ctl_out.h"
#include "../base/jout.h"

/** How often a node that drains looks whether the last process has gone. */
#define LOOK_TICK (M0_TIME_ONE_SECOND / 10)

static int by_pid(const void *a, const void *b)
{
	const struct m0_lnet_attached *one = a;
	const struct m0_lnet_attached *two = b;

	return (one->lax_pid > two->lax_pid) - (one->lax_pid < two->lax_pid);
}

static void process_add(struct json_t                 *item,
			const struct m0_lnet_attached *proc, m0_time_t now)
{
	jout_num(item, "pid", proc->lax_pid);
	jout_num(item, "uid", proc->lax_uid);
	jout_num(item, "gid", proc->lax_gid);
	jout_str(item, "state", proc->lax_is_ending ? "ending" : "attached");
	jout_num(item, "seconds",
		 m0_time_sub(now, min_check(now, proc->lax_since)) /
			 M0_TIME_ONE_SECOND);
	jout_num(item, "mds", proc->lax_mds_nr);
	jout_num(item, "regions", proc->lax_regions_nr);
	jout_num(item, "memory", proc->lax_bytes);
	jout_num(item, "operations", proc->lax_ops_nr);
	jout_num(item, "events", proc->lax_events_nr);
	jout_num(item, "denied", proc->lax_denied_nr);
	jout_num(item, "copied", proc->lax_copied_bytes);
	jout_num(item, "copied by the node", proc->lax_daemon_bytes);
	jout_num(item, "fell back", proc->lax_fell_back_nr);
	jout_num(item, "by shadows", proc->lax_shadow_bytes);
	jout_num(item, "sent directly", proc->lax_direct_sent_nr);
	jout_num(item, "taken directly", proc->lax_direct_taken_nr);
}

int process_show(const struct ctl_request         *req,
		 const struct m0_lnet_daemon_info *info,
		 struct m0_lnet_attached *procs, unsigned nr, FILE *out)
{
	struct json_t *tree = jout_alloc();
	struct json_t *list = jout_array(tree, "process");
	struct json_t *sum;
	m0_time_t      now = m0_time_now();
	unsigned       i;

	if (nr > 0)
		qsort(procs, nr, sizeof *procs, by_pid);
	for (i = 0; i < nr; ++i)
		process_add(jout_append(list), &procs[i], now);
	sum = jout_object(tree, "processes");
	jout_num(sum, "attached", nr);
	jout_num(sum, "since start", info->ldf_attached_nr);
	jout_num(sum, "refused", info->ldf_refused_nr);
	jout_num(sum, "memory", info->ldf_bytes);
	ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	jout_free(tree);
	return TOOL_OK;
}

static int show(const struct ctl_request *req, struct m0_lnet_daemon *daemon,
		FILE *out)
{
	struct m0_lnet_daemon_info info = { 0 };
	struct m0_lnet_attached   *procs = NULL;
	unsigned                   nr = 0;
	int                        code;

	m0_lnet_daemon_info_get(daemon, &info);
	if (info.ldf_procs_nr > 0)
		procs = calloc(info.ldf_procs_nr, sizeof *procs);
	if (procs != NULL)
		nr = m0_lnet_daemon_procs_get(daemon, procs, info.ldf_procs_nr);
	code = process_show(req, &info, procs, nr, out);
	free(procs);
	return code;
}

static unsigned attached_nr(const struct lnet_node *node)
{
	struct m0_lnet_daemon_info info;

	m0_lnet_daemon_info_get(node->lno_daemon, &info);
	return info.ldf_procs_nr;
}

static int drain(struct lnet_node *node, const struct ctl_request *req,
		 FILE *out)
{
	struct node_drain *drain = &node->lno_drain;
	unsigned           nr;
	struct json_t     *tree;

	m0_lnet_daemon_drain(node->lno_daemon);
	nr = attached_nr(node);
	if (!drain->ndr_on)
		node_say_drain(node, nr);
	notify_status(&node->lno_notify, "draining: no process may attach");
	drain->ndr_on = true;
	drain->ndr_until =
		req->cq_timeout_ms == 0
			? M0_TIME_NEVER
			: m0_time_add(m0_time_now(),
				      req->cq_timeout_ms * M0_TIME_ONE_MSEC);
	tree = jout_alloc();
	jout_num(jout_object(tree, "drain"), "attached", nr);
	ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	jout_free(tree);
	return TOOL_OK;
}

m0_time_t node_drain_deadline(const struct lnet_node *node)
{
	return node->lno_drain.ndr_on ? m0_time_add(m0_time_now(), LOOK_TICK)
				      : M0_TIME_NEVER;
}

void node_drain_step(struct lnet_node *node, m0_time_t now)
{
	struct node_drain *drain = &node->lno_drain;

	if (drain->ndr_on && node->lno_daemon != NULL)
		drain->ndr_done = attached_nr(node) == 0 ||
				  now >= drain->ndr_until;
}

int process_serve(struct lnet_node *node, const struct ctl_request *req,
		  FILE *out, FILE *err)
{
	if (node->lno_daemon == NULL) {
		fputs("colibri: processes cannot attach to this node: it was "
		      "started without --attach\n",
		      err);
		return TOOL_FAILED;
	}
	return req->cq_verb == CTL_PROCESS_DRAIN
		       ? drain(node, req, out)
		       : show(req, node->lno_daemon, out);
}

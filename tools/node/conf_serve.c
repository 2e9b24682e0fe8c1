/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "lnet_node.h"
#include "conf_do.h"
#include "../base/stop.h"
#include "../conf/conf_file.h"
#include "../conf/conf_live.h"

/* ------------------------------------------------------------------ the start */

static int cfg_set(struct lnet_node *node, const struct conf_model *model)
{
	struct m0_lnet_cfg *cfg = &node->lno_opts.nop_cfg;
	unsigned            i;
	unsigned            j;

	for (i = 0; i < CONF_STARTS_NR; ++i) {
		if (model->cmo_starts[i].cst_given &&
		    (node->lno_opts.nop_starts & 1U << i) == 0)
			conf_start_apply(i, model->cmo_starts[i].cst_value,
					 cfg);
	}
	if (model->cmo_nis_nr == 0)
		return TOOL_OK;
	if (cfg->lc_nets_nr > 0)
		return tool_fail_set(
			&node->lno_fail, TOOL_USAGE,
			"--net is not accepted, because --config %s has "
			"networks, in line %u; accepted: one of them",
			node->lno_conf.nco_path,
			model->cmo_nis[0].cni_place.cfp_line);
	node->lno_opts.nop_net_option = "--config";
	for (i = 0; i < model->cmo_nis_nr; ++i) {
		for (j = 0; j < cfg->lc_nets_nr; ++j) {
			if (cfg->lc_nets[j].lnc_net ==
			    model->cmo_nis[i].cni_net)
				break;
		}
		if (j == cfg->lc_nets_nr)
			conf_net_cfg(model, model->cmo_nis[i].cni_net,
				     &cfg->lc_nets[cfg->lc_nets_nr++]);
	}
	return TOOL_OK;
}

int node_conf_read(struct lnet_node *node)
{
	struct node_conf *conf = &node->lno_conf;
	int               code;

	conf_model_init(&conf->nco_last);
	if (conf->nco_path == NULL)
		return TOOL_OK;
	code = conf_file_load(conf->nco_path, &conf->nco_last, &node->lno_fail);
	if (code != TOOL_OK)
		return code;
	conf_notes_print(conf->nco_path, &conf->nco_last, stderr);
	return cfg_set(node, &conf->nco_last);
}

int node_conf_start(struct lnet_node *node)
{
	struct node_conf *conf = &node->lno_conf;
	struct conf_plan  plan;
	int               code;

	if (conf->nco_path == NULL)
		return TOOL_OK;
	code = conf_do_change(node->lno_lnet, conf->nco_path, &conf->nco_last,
			      NULL, false, &plan, &node->lno_fail);
	conf_plan_fini(&plan);
	return code;
}

void node_conf_fini(struct lnet_node *node)
{
	conf_model_fini(&node->lno_conf.nco_last);
	conf_plan_fini(&node->lno_conf.nco_undo);
}

/* -------------------------------------------------------------- SIGHUP, undo */

static void say_plan(struct lnet_node *node, const struct conf_plan *plan,
		     const char *what)
{
	char     text[CONF_CHANGE_BYTES];
	unsigned i;

	if (plan->cpn_nr == 0)
		node_say_config(node, what, "nothing changes");
	for (i = 0; i < plan->cpn_nr; ++i) {
		conf_change_print(&plan->cpn_changes[i], text);
		node_say_config(node, what, text);
	}
}

/* Says which values of the file have changed that count when a node starts. */
static void say_starts(struct lnet_node *node, const struct conf_model *want)
{
	const struct conf_set *old = node->lno_conf.nco_last.cmo_starts;
	const struct conf_set *new = want->cmo_starts;
	char     text[2 * CONF_START_BYTES + 64];
	char     was[CONF_START_BYTES];
	char     is[CONF_START_BYTES];
	unsigned i;

	for (i = 0; i < CONF_STARTS_NR; ++i) {
		if (old[i].cst_given == new[i].cst_given &&
		    old[i].cst_value == new[i].cst_value)
			continue;
		snprintf(text, sizeof text, "~ node %s %s -> %s",
			 conf_start_name(i),
			 old[i].cst_given
				 ? conf_start_print(i, old[i].cst_value, was)
				 : "default",
			 new[i].cst_given
				 ? conf_start_print(i, new[i].cst_value, is)
				 : "default");
		node_say_config(node, "takes effect at the next start", text);
	}
}

/* The status of a service whose new configuration was not accepted. */
#define REFUSED "ready; the new configuration was refused, see the log"

static void reload(struct lnet_node *node)
{
	struct node_conf *conf = &node->lno_conf;
	struct tool_fail  fail = { .tf_exit = TOOL_OK };
	struct conf_model want;
	struct conf_plan  plan;

	notify_reloading(&node->lno_notify);
	if (conf->nco_is_pending) {
		node_say_config(node, "refused",
				"a change waits for `colibri config confirm' "
				"or `undo'; send the signal after it");
		notify_ready(&node->lno_notify, REFUSED);
		return;
	}
	if (conf_file_reload(conf->nco_path, &want, &fail) == TOOL_OK &&
	    conf_do_change(node->lno_lnet, conf->nco_path, &want,
			   &conf->nco_last, false, &plan, &fail) == TOOL_OK) {
		say_plan(node, &plan, "changed");
		say_starts(node, &want);
		conf_plan_fini(&plan);
		conf_model_fini(&conf->nco_last);
		conf->nco_last = want;
		notify_ready(&node->lno_notify, "ready");
	} else {
		node_say_config(node, "refused", fail.tf_text);
		conf_model_fini(&want);
		notify_ready(&node->lno_notify, REFUSED);
	}
}

/* @return number of changes that could not be undone. */
static unsigned undo(struct lnet_node *node, char text[CONF_UNDO_BYTES])
{
	struct node_conf *conf = &node->lno_conf;
	unsigned          bad_nr;

	bad_nr = conf_live_undo(node->lno_lnet, &conf->nco_undo,
				conf->nco_undo.cpn_nr, text);
	conf_plan_fini(&conf->nco_undo);
	conf->nco_is_pending = false;
	return bad_nr;
}

m0_time_t node_conf_deadline(const struct lnet_node *node)
{
	return node->lno_conf.nco_is_pending ? node->lno_conf.nco_undo_at
					     : M0_TIME_NEVER;
}

void node_conf_step(struct lnet_node *node, m0_time_t now)
{
	char text[CONF_UNDO_BYTES];

	if (node->lno_lnet == NULL || stop_signal() != 0)
		return;
	if (now >= node_conf_deadline(node)) {
		if (undo(node, text) > 0)
			node_say_config(node, "cannot be undone", text);
		else
			node_say_config(node, "undone",
					"nobody confirmed the change");
	}
	if (stop_hangup_take())
		reload(node);
}

/* ------------------------------------------------------------------- requests */

static int import(struct lnet_node *node, const struct ctl_request *req,
		  FILE *out, FILE *err)
{
	struct node_conf *conf = &node->lno_conf;
	struct conf_plan  plan;
	int               code;

	if (conf->nco_is_pending) {
		fputs("colibri: a change waits for `colibri config confirm' or "
		      "`undo'; import after it\n",
		      err);
		return TOOL_FAILED;
	}
	code = conf_do_import(node->lno_lnet, req, &plan, out, err);
	if (code != TOOL_OK)
		return code;
	say_plan(node, &plan, "imported");
	if (req->cq_value == 0) {
		conf_plan_fini(&plan);
		return TOOL_OK;
	}
	conf->nco_undo = plan;
	conf->nco_is_pending = true;
	conf->nco_undo_at =
		m0_time_add(m0_time_now(), req->cq_value * M0_TIME_ONE_SECOND);
	return TOOL_OK;
}

static int settle(struct lnet_node *node, bool confirm, FILE *err)
{
	char text[CONF_UNDO_BYTES];

	if (!node->lno_conf.nco_is_pending) {
		fputs("colibri: no change waits to be confirmed\n", err);
		return TOOL_FAILED;
	}
	if (confirm) {
		conf_plan_fini(&node->lno_conf.nco_undo);
		node->lno_conf.nco_is_pending = false;
		return TOOL_OK;
	}
	if (undo(node, text) == 0)
		return TOOL_OK;
	fprintf(err, "colibri: not all could be undone: %s\n", text);
	return TOOL_FAILED;
}

int node_conf_serve(struct lnet_node *node, const struct ctl_request *req,
		    FILE *out, FILE *err)
{
	switch (req->cq_verb) {
	case CTL_CONFIG_EXPORT:
		return conf_do_export(node->lno_lnet, &node->lno_opts.nop_cfg,
				      req, out, err);
	case CTL_CONFIG_IMPORT:
		return import(node, req, out, err);
	default:
		M0_PRE(M0_IN(req->cq_verb,
			     (CTL_CONFIG_CONFIRM, CTL_CONFIG_UNDO)));
		return settle(node, req->cq_verb == CTL_CONFIG_CONFIRM, err);
	}
}

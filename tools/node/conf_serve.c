/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "lnet_node.h"
#include "lnet_show.h"
#include "udsp_serve.h"
#include "route_serve.h"
#include "tune_serve.h"
#include "../base/stop.h"
#include "../base/text.h"
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

/*
 * Makes the node what `want` says.
 * @param ret  the changes that were made. The caller frees them.
 * @param code of a failure: nothing is changed.
 */
static int change(struct lnet_node *node, const char *path,
		  const struct conf_model *want, const struct conf_model *prev,
		  bool replace, struct conf_plan *ret, struct tool_fail *fail)
{
	struct conf_fail  why = { .cff_set = false };
	struct conf_model running;
	int               rc;

	M0_SET0(ret);
	rc = conf_live_get(&running, node->lno_lnet);
	if (rc != 0)
		return conf_file_fail(path, TOOL_FAILED, rc, &why, fail);
	rc = conf_plan_make(ret, &running, want, replace ? &running : prev,
			    &why);
	if (rc != 0) {
		conf_file_fail(path, TOOL_USAGE, rc, &why, fail);
	} else {
		rc = conf_live_apply(node->lno_lnet, ret, &why);
		if (rc != 0) {
			conf_file_fail(path, TOOL_FAILED, rc, &why, fail);
			conf_plan_fini(ret);
		}
	}
	conf_model_fini(&running);
	return fail->tf_exit;
}

int node_conf_start(struct lnet_node *node)
{
	struct node_conf *conf = &node->lno_conf;
	struct conf_plan  plan;
	int               code;

	if (conf->nco_path == NULL)
		return TOOL_OK;
	code = change(node, conf->nco_path, &conf->nco_last, NULL, false, &plan,
		      &node->lno_fail);
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
	    change(node, conf->nco_path, &want, &conf->nco_last, false, &plan,
		   &fail) == TOOL_OK) {
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

/* All that a node shows, as `lnetctl export` prints it. */
static int export_all(struct lnet_node *node, FILE *out, FILE *err)
{
	static const struct {
		enum ctl_verb verb;
		unsigned      verbose;
	} parts[] = {
		{ CTL_NET_SHOW, 2 },     { CTL_ROUTE_SHOW, 1 },
		{ CTL_ROUTING_SHOW, 0 }, { CTL_PEER_SHOW, 3 },
		{ CTL_GLOBAL_SHOW, 0 },
	};
	struct m0_lnet_cfg   cfg = node->lno_opts.nop_cfg;
	struct m0_lnet_info *info;
	struct ctl_request   req;
	size_t               i;
	int                  code = TOOL_OK;

	if (m0_lnet_info_get(node->lno_lnet, &info) != 0) {
		fprintf(err, "colibri: %s\n", tool_errtext(ENOMEM));
		return TOOL_FAILED;
	}
	tune_cfg(node->lno_lnet, &cfg);
	for (i = 0; code == TOOL_OK && i < ARRAY_SIZE(parts); ++i) {
		ctl_request_init(&req, parts[i].verb);
		req.cq_verbose = parts[i].verbose;
		code = parts[i].verb >= CTL_ROUTE_ADD
			       ? route_serve(&req, node->lno_lnet, out, err)
			       : lnet_show(&req, &cfg, info, out, err);
	}
	m0_lnet_info_free(info);
	if (code == TOOL_OK) {
		ctl_request_init(&req, CTL_UDSP_SHOW);
		code = udsp_serve(&req, node->lno_lnet, out, err);
	}
	return code;
}

static bool is_on(const struct conf_model *model, uint32_t net)
{
	unsigned i;

	for (i = 0; i < model->cmo_nis_nr; ++i) {
		if (model->cmo_nis[i].cni_net == net)
			return true;
	}
	return false;
}

/* Forgets routes that stay after a change of networks, and that no import adds. */
static void routes_keep(struct conf_model *model)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < model->cmo_routes_nr; ++i) {
		const struct conf_route *route = &model->cmo_routes[i];
		uint32_t near = m0_lnet_nid_net(&route->crt_attr.lra_gateway);

		if (is_on(model, near) &&
		    !is_on(model, route->crt_attr.lra_net))
			model->cmo_routes[nr++] = *route;
	}
	model->cmo_routes_nr = nr;
}

static int export(struct lnet_node *node, const struct ctl_request *req,
		  FILE *out, FILE *err)
{
	struct conf_model model;
	int               rc;

	if (req->cq_verbose >= 2)
		return export_all(node, out, err);
	rc = conf_live_get(&model, node->lno_lnet);
	if (rc == 0) {
		if (req->cq_verbose == 0)
			routes_keep(&model);
		rc = conf_print(&model, req->cq_verbose > 0, out);
		conf_model_fini(&model);
	}
	if (rc != 0)
		fprintf(err, "colibri: the configuration: %s\n",
			tool_errtext(rc));
	return rc == 0 ? TOOL_OK : TOOL_FAILED;
}

static int failed(const struct tool_fail *fail, FILE *err)
{
	fprintf(err, "colibri: %s\n", fail->tf_text);
	return fail->tf_exit;
}

/* The file is what to remove. */
static void del_make(struct conf_model *want, const struct conf_model *file)
{
	struct conf_set *routing = &want->cmo_sets[CONF_ENABLE - CONF_SETS];

	conf_model_init(want);
	want->cmo_sections = UINT32_MAX;
	routing->cst_given = file->cmo_sets[CONF_ENABLE - CONF_SETS].cst_given;
	routing->cst_place = file->cmo_sets[CONF_ENABLE - CONF_SETS].cst_place;
}

static int model_import(struct lnet_node *node, const struct ctl_request *req,
			const char *path, const struct conf_model *file,
			FILE *out, FILE *err)
{
	struct node_conf *conf = &node->lno_conf;
	struct tool_fail  fail = { .tf_exit = TOOL_OK };
	bool              del = strcmp(req->cq_name, "del") == 0;
	struct conf_model none;
	struct conf_plan  plan;

	del_make(&none, file);
	if (change(node, path, del ? &none : file, del ? file : NULL,
		   strcmp(req->cq_name, "replace") == 0, &plan,
		   &fail) != TOOL_OK)
		return failed(&fail, err);
	conf_plan_print(&plan, req->cq_json, out);
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

static int import(struct lnet_node *node, const struct ctl_request *req,
		  FILE *out, FILE *err)
{
	const char       *end = req->cq_body_nr == 0
					? NULL
					: memchr(req->cq_body, '\n', req->cq_body_nr);
	struct tool_fail  fail = { .tf_exit = TOOL_OK };
	struct conf_fail  why = { .cff_set = false };
	struct conf_model file;
	char              path[1024];
	int               code;
	int               rc;

	if (end == NULL) {
		fputs("colibri: the file is missing\n", err);
		return TOOL_FAILED;
	}
	snprintf(path, sizeof path, "%.*s", (int)(end - req->cq_body),
		 req->cq_body);
	text_make_printable(path);
	if (node->lno_conf.nco_is_pending) {
		fputs("colibri: a change waits for `colibri config confirm' or "
		      "`undo'; import after it\n",
		      err);
		return TOOL_FAILED;
	}
	++end;
	rc = conf_read(&file, end,
		       (size_t)(req->cq_body + req->cq_body_nr - end), NULL,
		       &why);
	if (rc != 0) {
		conf_file_fail(path, TOOL_USAGE, rc, &why, &fail);
		return failed(&fail, err);
	}
	code = model_import(node, req, path, &file, out, err);
	conf_model_fini(&file);
	return code;
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
		return export(node, req, out, err);
	case CTL_CONFIG_IMPORT:
		return import(node, req, out, err);
	default:
		M0_PRE(M0_IN(req->cq_verb,
			     (CTL_CONFIG_CONFIRM, CTL_CONFIG_UNDO)));
		return settle(node, req->cq_verb == CTL_CONFIG_CONFIRM, err);
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Serve `colibri config`, for a node of this process or one that it is attached to.
 */
#include "conf_do.h"
#include "lnet_show.h"
#include "route_serve.h"
#include "tune_serve.h"
#include "udsp_serve.h"
#include "../base/text.h"
#include "../conf/conf_file.h"
#include "../conf/conf_live.h"

int conf_do_change(struct m0_lnet *lnet, const char *path,
		   const struct conf_model *want, const struct conf_model *prev,
		   bool replace, struct conf_plan *ret, struct tool_fail *fail)
{
	struct conf_fail  why = { .cff_set = false };
	struct conf_model running;
	int               rc;

	M0_SET0(ret);
	rc = conf_live_get(&running, lnet);
	if (rc != 0)
		return conf_file_fail(path, TOOL_FAILED, rc, &why, fail);
	rc = conf_plan_make(ret, &running, want, replace ? &running : prev,
			    &why);
	if (rc != 0) {
		conf_file_fail(path, TOOL_USAGE, rc, &why, fail);
	} else {
		rc = conf_live_apply(lnet, ret, &why);
		if (rc != 0) {
			conf_file_fail(path, TOOL_FAILED, rc, &why, fail);
			conf_plan_fini(ret);
		}
	}
	conf_model_fini(&running);
	return fail->tf_exit;
}

/* All that a node shows, as `lnetctl export` prints it. */
static int export_all(struct m0_lnet *lnet, const struct m0_lnet_cfg *start,
		      FILE *out, FILE *err)
{
	static const struct {
		enum ctl_verb verb;
		unsigned      verbose;
	} parts[] = {
		{ CTL_NET_SHOW, 2 },     { CTL_ROUTE_SHOW, 1 },
		{ CTL_ROUTING_SHOW, 0 }, { CTL_PEER_SHOW, 3 },
		{ CTL_GLOBAL_SHOW, 0 },
	};
	struct m0_lnet_cfg   cfg = *start;
	struct m0_lnet_info *info;
	struct ctl_request   req;
	size_t               i;
	int                  code = TOOL_OK;

	if (m0_lnet_info_get(lnet, &info) != 0) {
		fprintf(err, "colibri: %s\n", tool_errtext(ENOMEM));
		return TOOL_FAILED;
	}
	tune_cfg(lnet, &cfg);
	for (i = 0; code == TOOL_OK && i < ARRAY_SIZE(parts); ++i) {
		ctl_request_init(&req, parts[i].verb);
		req.cq_verbose = parts[i].verbose;
		code = parts[i].verb >= CTL_ROUTE_ADD
			       ? route_serve(&req, lnet, out, err)
			       : lnet_show(&req, &cfg, info, out, err);
	}
	m0_lnet_info_free(info);
	if (code == TOOL_OK) {
		ctl_request_init(&req, CTL_UDSP_SHOW);
		code = udsp_serve(&req, lnet, out, err);
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

int conf_do_export(struct m0_lnet *lnet, const struct m0_lnet_cfg *start,
		   const struct ctl_request *req, FILE *out, FILE *err)
{
	struct conf_model model;
	int               rc;

	if (req->cq_verbose >= 2)
		return export_all(lnet, start, out, err);
	rc = conf_live_get(&model, lnet);
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

static int model_import(struct m0_lnet *lnet, const struct ctl_request *req,
			const char *path, const struct conf_model *file,
			struct conf_plan *ret, FILE *out, FILE *err)
{
	struct tool_fail  fail = { .tf_exit = TOOL_OK };
	bool              del = strcmp(req->cq_name, "del") == 0;
	struct conf_model none;

	del_make(&none, file);
	if (conf_do_change(lnet, path, del ? &none : file, del ? file : NULL,
			   strcmp(req->cq_name, "replace") == 0, ret,
			   &fail) != TOOL_OK)
		return failed(&fail, err);
	conf_plan_print(ret, req->cq_json, out);
	return TOOL_OK;
}

int conf_do_import(struct m0_lnet *lnet, const struct ctl_request *req,
		   struct conf_plan *ret, FILE *out, FILE *err)
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

	M0_SET0(ret);
	if (end == NULL) {
		fputs("colibri: the file is missing\n", err);
		return TOOL_FAILED;
	}
	snprintf(path, sizeof path, "%.*s", (int)(end - req->cq_body),
		 req->cq_body);
	text_make_printable(path);
	++end;
	rc = conf_read(&file, end,
		       (size_t)(req->cq_body + req->cq_body_nr - end), NULL,
		       &why);
	if (rc != 0) {
		conf_file_fail(path, TOOL_USAGE, rc, &why, &fail);
		return failed(&fail, err);
	}
	code = model_import(lnet, req, path, &file, ret, out, err);
	conf_model_fini(&file);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Questions to the node of the kernel module: its device has no control socket, so the
 * command attaches to it, asks as any process may, and prints as a node does.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "ctl.h"
#include "explain_serve.h"
#include "fault_serve.h"
#include "lnet_show.h"
#include "route_serve.h"
#include "tune_serve.h"
#include "udsp_serve.h"

bool ctl_is_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

static int info_show(const struct ctl_request *req, struct m0_lnet *lnet,
		     struct m0_lnet_cfg *cfg, FILE *out, FILE *err)
{
	struct m0_lnet_info *info;
	int                  rc = m0_lnet_info_get(lnet, &info);

	if (rc != 0) {
		fprintf(err, "colibri: the node cannot tell: %s\n",
			tool_errtext(rc));
		return TOOL_FAILED;
	}
	tune_cfg(lnet, cfg);
	rc = lnet_show(req, cfg, info, out, err);
	m0_lnet_info_free(info);
	return rc;
}

static int show(const struct ctl_request *req, struct m0_lnet *lnet,
		struct m0_lnet_cfg *cfg, FILE *out, FILE *err)
{
	switch (req->cq_verb) {
	case CTL_EXPLAIN:
		return explain_serve(req, lnet, NULL, out, err);
	case CTL_ROUTE_SHOW:
	case CTL_ROUTING_SHOW:
		return route_serve(req, lnet, out, err);
	case CTL_UDSP_SHOW:
		return udsp_serve(req, lnet, out, err);
	case CTL_FAULT_SHOW:
		return fault_serve(req, lnet, out, err);
	default:
		return info_show(req, lnet, cfg, out, err);
	}
}

static bool is_answered(enum ctl_verb verb)
{
	return M0_IN(verb, (CTL_NET_SHOW, CTL_PEER_SHOW, CTL_PEER_LIST,
			    CTL_STATS_SHOW, CTL_GLOBAL_SHOW, CTL_EXPLAIN,
			    CTL_ROUTE_SHOW, CTL_ROUTING_SHOW, CTL_UDSP_SHOW,
			    CTL_FAULT_SHOW));
}

int ctl_ask_device(const char *path, const struct ctl_request *req, FILE *out,
		   FILE *errors, struct tool_fail *fail)
{
	struct m0_lnet_cfg *cfg;
	struct m0_lnet     *lnet = NULL;
	char                why[M0_LNET_WHY_BYTES] = "no memory";
	int                 rc = -ENOMEM;

	if (!is_answered(req->cq_verb))
		return tool_fail_set(fail, TOOL_FAILED,
				     "%s answers questions alone; parameters "
				     "of the module configure its node, and "
				     "--attach=%s pings through it",
				     path, path);
	M0_ALLOC_PTR(cfg);
	if (cfg != NULL) {
		m0_lnet_cfg_default(cfg);
		cfg->lc_inline = true;
		(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach, "%s",
			       path);
		rc = m0_lnet_open(&lnet, cfg, why);
	}
	if (rc == 0) {
		rc = show(req, lnet, cfg, out, errors);
		m0_lnet_close(lnet);
	} else {
		rc = tool_fail_set(fail, TOOL_FAILED, "%s", why);
	}
	m0_free(cfg);
	return rc;
}

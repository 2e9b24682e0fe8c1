/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests to the node of the kernel module: its device has no control socket, so the
 * command attaches to it, and serves its request itself by the calls of m0/lnet.h, as a
 * daemon does.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "ctl.h"
#include "conf_do.h"
#include "ctl_procs.h"
#include "lnet_serve.h"

bool ctl_is_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

/* Why the module does not serve the request, and what it accepts; NULL: it does. */
static const char *flaw(const struct ctl_request *req)
{
	switch (req->cq_verb) {
	case CTL_PING:
	case CTL_DISCOVER:
		return "accepted by `colibri ping' and "
		       "`discover', with --attach and the path";
	case CTL_PROCESS_DRAIN:
		return "rmmod unloads the module when no process has the "
		       "device open; accepted: process show";
	case CTL_METRICS_SHOW:
	case CTL_CAPTURE:
		return "accepted by `colibri node' alone";
	case CTL_CONFIG_IMPORT:
		if (req->cq_value == 0)
			return NULL;
		/* Fall through. */
	case CTL_CONFIG_CONFIRM:
	case CTL_CONFIG_UNDO:
		return "no process waits for a confirmation; accepted: import "
		       "without --confirm";
	default:
		return NULL;
	}
}

static bool is_change(enum ctl_verb verb)
{
	/* The server compares rules for administrators alone. */
	return ctl_verb_right(verb) != CTL_RIGHT_LOOK ||
	       M0_IN(verb, (CTL_UDSP_ADD_DRY, CTL_UDSP_DEL_DRY));
}

/* May this process change the node? A request that changes nothing tells. */
static bool may_change(struct m0_lnet *lnet)
{
	static const uint32_t none[M0_LNET_POOLS_NR];

	return m0_lnet_pools_set(lnet, none) != -EPERM;
}

static int import(const struct ctl_request *req, struct m0_lnet *lnet,
		  FILE *out, FILE *err)
{
	struct conf_plan plan;
	int              code = conf_do_import(lnet, req, &plan, out, err);

	conf_plan_fini(&plan);
	return code;
}

static int serve(const struct ctl_request *req, struct m0_lnet *lnet,
		 const struct m0_lnet_cfg *cfg, FILE *out, FILE *err)
{
	struct m0_lnet_routing_info info;
	int                         code;

	if (is_change(req->cq_verb) && !may_change(lnet)) {
		fprintf(err,
			"colibri: " CTL_REFUSES
			"%s changes the node, which processes with "
			"CAP_NET_ADMIN may do; others may look\n",
			ctl_verb_name(req->cq_verb));
		return TOOL_FAILED;
	}
	if (req->cq_verb == CTL_CONFIG_EXPORT)
		return conf_do_export(lnet, cfg, req, out, err);
	if (req->cq_verb == CTL_CONFIG_IMPORT)
		return import(req, lnet, out, err);
	code = lnet_serve(req, lnet, cfg, out, err);
	/* A reset has no answer; that of a later question says that it is done. */
	if (req->cq_verb == CTL_STATS_RESET)
		(void)m0_lnet_routing_get(lnet, &info);
	return code;
}

int ctl_ask_device(const char *path, const struct ctl_request *req, FILE *out,
		   FILE *errors, struct tool_fail *fail)
{
	struct m0_lnet_cfg *cfg;
	struct m0_lnet     *lnet = NULL;
	char                why[M0_LNET_WHY_BYTES] = "no memory";
	int                 rc = -ENOMEM;

	if (flaw(req) != NULL)
		return tool_fail_set(fail, TOOL_USAGE,
				     "%s of %s is not accepted: %s",
				     ctl_verb_name(req->cq_verb), path,
				     flaw(req));
	if (req->cq_verb == CTL_PROCESS_SHOW)
		return ctl_procs_show(path, req, out, fail);
	M0_ALLOC_PTR(cfg);
	if (cfg != NULL) {
		m0_lnet_cfg_default(cfg);
		cfg->lc_inline = true;
		(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach, "%s",
			       path);
		rc = m0_lnet_open(&lnet, cfg, why);
	}
	if (rc == 0) {
		rc = serve(req, lnet, cfg, out, errors);
		m0_lnet_close(lnet);
	} else {
		rc = tool_fail_set(fail, TOOL_FAILED, "%s", why);
	}
	m0_free(cfg);
	return rc;
}

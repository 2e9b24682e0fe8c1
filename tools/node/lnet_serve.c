/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet_serve.h"
#include "explain_serve.h"
#include "fault_serve.h"
#include "lnet_show.h"
#include "route_serve.h"
#include "tune_serve.h"
#include "udsp_serve.h"

static int info_show(const struct ctl_request *req, struct m0_lnet *lnet,
		     const struct m0_lnet_cfg *start, FILE *out, FILE *err)
{
	struct m0_lnet_info *info;
	struct m0_lnet_cfg   cfg = *start;
	int                  rc = m0_lnet_info_get(lnet, &info);

	if (rc != 0) {
		fprintf(err, "colibri: the node cannot tell: %s\n",
			tool_errtext(rc));
		return TOOL_FAILED;
	}
	tune_cfg(lnet, &cfg);
	rc = lnet_show(req, &cfg, info, out, err);
	m0_lnet_info_free(info);
	return rc;
}

int lnet_serve(const struct ctl_request *req, struct m0_lnet *lnet,
	       const struct m0_lnet_cfg *start, FILE *out, FILE *err)
{
	enum ctl_verb verb = req->cq_verb;

	if (verb == CTL_EXPLAIN)
		return explain_serve(req, lnet, NULL, out, err);
	if (verb >= CTL_ROUTE_ADD && verb < CTL_UDSP_ADD)
		return route_serve(req, lnet, out, err);
	if (verb >= CTL_UDSP_ADD && verb < CTL_SET)
		return udsp_serve(req, lnet, out, err);
	if (verb >= CTL_SET && verb < CTL_FAULT_ADD)
		return tune_serve(req, lnet, out, err);
	if (verb >= CTL_FAULT_ADD)
		return fault_serve(req, lnet, out, err);
	if (verb != CTL_STATS_RESET)
		return info_show(req, lnet, start, out, err);
	m0_lnet_stats_reset(lnet);
	return TOOL_OK;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "explain_serve.h"
#include "ctl_out.h"
#include "route_serve.h"
#include "udsp_serve.h"
#include "m0/lnet_explain.h"
#include "../base/text.h"

static void nid_add(struct json_t *item, const char *key,
		    const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];

	jout_str(item, key, m0_lnet_nid_print(nid, text, sizeof text));
}

/* Adds the rule of this index, unless it has gone. */
static void rule_add(struct json_t *item, const char *key, struct m0_lnet *lnet,
		     int32_t idx)
{
	struct m0_lnet_udsp rule;

	if (idx >= 0 && m0_lnet_udsp_get(lnet, (uint32_t)idx, &rule, 1) > idx)
		udsp_rule_print(jout_object(item, key), &rule);
}

static void path_add(struct json_t *list, struct m0_lnet *lnet,
		     const struct m0_lnet_path_info *path)
{
	struct json_t *item = jout_append(list);
	bool           has_ni = !m0_lnet_nid_is_any(&path->lpa_ni);

	if (has_ni)
		nid_add(item, "interface", &path->lpa_ni);
	nid_add(item, "next hop", &path->lpa_hop);
	nid_add(item, "destination", &path->lpa_dest);
	if (path->lpa_is_routed)
		route_attr_print(jout_object(item, "route"), &path->lpa_route,
				 true);
	if (has_ni) {
		jout_num(item, "interface health", path->lpa_ni_health);
		jout_int(item, "interface credits", path->lpa_ni_credits);
	}
	if (path->lpa_hop_known) {
		jout_num(item, "next hop health", path->lpa_hop_health);
		jout_int(item, "next hop credits", path->lpa_hop_credits);
		jout_num(item, "next hop queued bytes",
			 path->lpa_hop_queued_bytes);
	}
	jout_str(item, "result",
		 path->lpa_won ? "taken"
			       : (path->lpa_compared ? "lost" : "not usable"));
	if (!path->lpa_won)
		jout_str(item, "because", path->lpa_lost_by);
	rule_add(item, "rule", lnet, path->lpa_rule);
	rule_add(item, "own rule", lnet, path->lpa_own_rule);
}

static void head_add(struct json_t *item, const struct ctl_request *req,
		     const struct m0_lnet_explain *explain)
{
	uint64_t bytes = req->cq_value;

	nid_add(item, "nid", &explain->lex_dest);
	nid_add(item, "primary nid", &explain->lex_primary);
	jout_bool(item, "known", explain->lex_known);
	jout_bool(item, "Multi-Rail", explain->lex_multi_rail);
	jout_bool(item, "discovered first", explain->lex_discovers);
	jout_num(item, "size", bytes);
	/* Each message of a transfer has a path of its own. */
	jout_num(item, "messages",
		 bytes <= M0_LNET_MTU ? 1 : (bytes - 1) / M0_LNET_MTU + 1);
	jout_str(item, "router buffers",
		 route_pool_name(min64u(bytes, M0_LNET_MTU)));
	if (explain->lex_note[0] != '\0')
		jout_str(item, "note", explain->lex_note);
}

static void assumed_add(struct json_t                *item,
			const struct explain_assumed *assumed)
{
	struct json_t *list = jout_array(item, "assumed");
	unsigned       i;

	for (i = 0; i < assumed->eas_nr; ++i)
		jout_append_str(list, assumed->eas_texts[i]);
}

int explain_serve(const struct ctl_request *req, struct m0_lnet *lnet,
		  const struct explain_assumed *assumed, FILE *out, FILE *err)
{
	struct m0_lnet_explain *explain;
	struct json_t          *tree;
	struct json_t          *item;
	struct json_t          *list;
	unsigned                i;
	int rc = m0_lnet_explain(lnet, &req->cq_nids[0], &req->cq_source,
				 &explain);

	if (rc != 0)
		return ctl_failed(
			"explain", "path", rc,
			rc == -EINVAL ? "the NID is ANY, or --from is not a "
					"NID of this node"
				      : tool_errtext(rc),
			err);
	tree = jout_alloc();
	item = jout_append(jout_array(tree, "explain"));
	head_add(item, req, explain);
	if (assumed != NULL)
		assumed_add(item, assumed);
	list = jout_array(item, "candidates");
	for (i = 0; i < explain->lex_paths_nr; ++i)
		path_add(list, lnet, &explain->lex_paths[i]);
	ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	jout_free(tree);
	rc = explain->lex_status;
	if (rc != 0)
		(void)ctl_failed("explain", "path", rc,
				 explain->lex_note[0] != '\0'
					 ? explain->lex_note
					 : tool_errtext(rc),
				 err);
	m0_lnet_explain_free(explain);
	return rc == 0 ? TOOL_OK : TOOL_FAILED;
}

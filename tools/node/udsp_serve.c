/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <ctype.h>
#include <stdlib.h>

#include "udsp_serve.h"
#include "effect_show.h"
#include "ctl_out.h"
#include "../base/text.h"

static const char no_rule[] = "the node has no rule of this index";
static const char no_rest[] =
	"rules or peers of the node change all the time; try again";

static void range_add(struct json_t *item, const char *name,
		      const struct m0_lnet_nid_range *range)
{
	char text[M0_LNET_NID_RANGE_BYTES];

	if (range->lnr_form != M0_LNET_NID_RANGE_NONE)
		jout_str(item, name,
			 m0_lnet_nid_range_print(range, text, sizeof text));
}

/* The keys are those of lnetctl; a preference has no action there. */
void udsp_rule_print(struct json_t *item, const struct m0_lnet_udsp *udsp)
{
	jout_num(item, "idx", (uint64_t)udsp->lud_idx);
	range_add(item, "src", &udsp->lud_src);
	range_add(item, "dst", &udsp->lud_dst);
	range_add(item, "rte", &udsp->lud_rte);
	if (udsp->lud_action == M0_LNET_UDSP_PRIORITY)
		jout_num(jout_object(item, "action"), "priority",
			 udsp->lud_priority);
}

static void range_say(FILE *out, const char *name,
		      const struct m0_lnet_nid_range *range)
{
	char        text[M0_LNET_NID_RANGE_BYTES];
	const char *quote;

	if (range->lnr_form == M0_LNET_NID_RANGE_NONE)
		return;
	m0_lnet_nid_range_print(range, text, sizeof text);
	/* YAML takes `*` and `[` for its own. */
	quote = isalnum((unsigned char)text[0]) ? "" : "'";
	fprintf(out, "      %s: %s%s%s\n", name, quote, text, quote);
}

/* As lnetctl indents rules, unlike anything else. */
static void rule_say(FILE *out, const struct m0_lnet_udsp *udsp)
{
	fprintf(out, "    - idx: %" PRId32 "\n", udsp->lud_idx);
	range_say(out, "src", &udsp->lud_src);
	range_say(out, "dst", &udsp->lud_dst);
	range_say(out, "rte", &udsp->lud_rte);
	if (udsp->lud_action == M0_LNET_UDSP_PRIORITY)
		fprintf(out, "      action:\n          priority: %" PRIu32 "\n",
			udsp->lud_priority);
}

static void rules_print(const struct ctl_request  *req,
			const struct m0_lnet_udsp *rules, unsigned nr,
			FILE *out)
{
	struct json_t *tree;
	struct json_t *list;
	unsigned       i;

	if (!req->cq_json) {
		if (nr > 0)
			fputs("udsp:\n", out);
		for (i = 0; i < nr; ++i)
			rule_say(out, &rules[i]);
		return;
	}
	tree = jout_alloc();
	list = jout_array(tree, "udsp");
	for (i = 0; i < nr; ++i)
		udsp_rule_print(jout_append(list), &rules[i]);
	ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	jout_free(tree);
}

static int rules_show(const struct ctl_request *req, struct m0_lnet *lnet,
		      FILE *out, FILE *err)
{
	bool                 one = req->cq_udsp.lud_idx != M0_LNET_UDSP_LAST;
	uint32_t             first = one ? (uint32_t)req->cq_udsp.lud_idx : 0;
	unsigned             max = one ? 1 : M0_LNET_UDSPS_MAX;
	struct m0_lnet_udsp *rules = calloc(max, sizeof *rules);
	int                  nr = rules == NULL ? -ENOMEM
						: m0_lnet_udsp_get(lnet, first, rules, max);

	if (nr < 0 || (one && first >= (unsigned)nr)) {
		free(rules);
		return ctl_failed("show", "udsp", nr < 0 ? nr : -ENOENT,
				  nr < 0 ? tool_errtext(nr) : no_rule, err);
	}
	rules_print(req, rules, min_check(max, (unsigned)nr - first), out);
	free(rules);
	return TOOL_OK;
}

static int rule_add(const struct ctl_request *req, struct m0_lnet *lnet,
		    FILE *err)
{
	char why[M0_LNET_WHY_BYTES] = "";
	int  rc = m0_lnet_udsp_add(lnet, &req->cq_udsp, why);

	return rc == 0 ? TOOL_OK : ctl_failed("add", "udsp", rc, why, err);
}

static int rule_del(const struct ctl_request *req, struct m0_lnet *lnet,
		    FILE *err)
{
	int rc = m0_lnet_udsp_del(lnet, req->cq_udsp.lud_idx);

	return rc >= 0 ? TOOL_OK
		       : ctl_failed("del", "udsp", rc,
				    rc == -ENOENT ? no_rule : tool_errtext(rc),
				    err);
}

/* Serves udsp.add_dry and udsp.del_dry. */
static int dry_run(const struct ctl_request *req, struct m0_lnet *lnet,
		   FILE *out, FILE *err)
{
	bool                   add = req->cq_verb == CTL_UDSP_ADD_DRY;
	char                   why[M0_LNET_WHY_BYTES] = "";
	struct m0_lnet_effect *effect;
	int                    rc;

	rc = add ? m0_lnet_udsp_add_effect(lnet, &req->cq_udsp, why, &effect)
		 : m0_lnet_udsp_del_effect(lnet, req->cq_udsp.lud_idx, &effect);
	if (rc != 0)
		return ctl_failed(add ? "add" : "del", "udsp", rc,
				  why[0] != '\0'  ? why
				  : rc == -ENOENT ? no_rule
				  : rc == -EAGAIN ? no_rest
						  : tool_errtext(rc),
				  err);
	effect_print(req, effect, out);
	m0_lnet_effect_free(effect);
	return TOOL_OK;
}

int udsp_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
	       FILE *err)
{
	switch (req->cq_verb) {
	case CTL_UDSP_ADD:
		return rule_add(req, lnet, err);
	case CTL_UDSP_DEL:
		return rule_del(req, lnet, err);
	case CTL_UDSP_ADD_DRY:
	case CTL_UDSP_DEL_DRY:
		return dry_run(req, lnet, out, err);
	default:
		M0_PRE(req->cq_verb == CTL_UDSP_SHOW);
		return rules_show(req, lnet, out, err);
	}
}

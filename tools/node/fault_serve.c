/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "fault_serve.h"
#include "fault_words.h"
#include "../base/jout.h"
#include "../base/text.h"

enum {
	LIST_INDENT = 6,
	MS_PER_S = 1000
};

/* Seconds, whole ones as lnetctl has them. */
static void seconds_add(struct json_t *item, const char *key, uint64_t ms)
{
	if (ms % MS_PER_S == 0)
		jout_num(item, key, ms / MS_PER_S);
	else
		jout_real(item, key, (double)ms / MS_PER_S);
}

static void nid_add(struct json_t *item, const char *key,
		    const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];

	jout_str(item, key, fault_nid_print(nid, text));
}

/* JSON has no numbers of 64 bits without a sign here. */
static void big_add(struct json_t *item, const char *key, uint64_t value)
{
	char text[TEXT_MAX];

	if (value <= INT64_MAX) {
		jout_num(item, key, value);
		return;
	}
	snprintf(text, sizeof text, "%" PRIu64, value);
	jout_str(item, key, text);
}

/* How messages are chosen, and how many were: lnetctl's names of each kind. */
static void kind_add(struct json_t *item, const struct m0_lnet_fault *fault)
{
	const struct m0_lnet_fault_attr *attr = &fault->lft_attr;

	switch (attr->lfa_kind) {
	case M0_LNET_FAULT_DROP:
		jout_num(item, "da_rate", attr->lfa_rate);
		seconds_add(item, "da_interval", attr->lfa_interval_ms);
		jout_num(item, "ds_dropped", fault->lft_hits_nr);
		break;
	case M0_LNET_FAULT_DELAY:
		jout_num(item, "la_rate", attr->lfa_rate);
		seconds_add(item, "la_interval", attr->lfa_interval_ms);
		seconds_add(item, "la_latency", attr->lfa_latency_ms);
		jout_num(item, "ls_delayed", fault->lft_hits_nr);
		break;
	default:
		jout_num(item, "rate", attr->lfa_rate);
		seconds_add(item, "interval", attr->lfa_interval_ms);
		jout_num(item, "hits", fault->lft_hits_nr);
		break;
	}
}

static void more_add(struct json_t *item, const struct m0_lnet_fault_attr *attr)
{
	struct json_t *object = jout_object(item, "colibri");
	char           text[FAULT_WORDS_BYTES];

	nid_add(object, "local_nid", &attr->lfa_local);
	jout_bool(object, "all", attr->lfa_all);
	jout_bool(object, "random", attr->lfa_random);
	big_add(object, "max", attr->lfa_max);
	big_add(object, "seed", attr->lfa_seed);
	if (attr->lfa_kind == M0_LNET_FAULT_DROP)
		jout_str(object, "health_error",
			 fault_health_print(attr->lfa_health, text));
	if (attr->lfa_kind == M0_LNET_FAULT_CORRUPT)
		jout_bool(object, "header", attr->lfa_header);
}

static void rule_add(struct json_t *list, const struct m0_lnet_fault *fault,
		     unsigned verbose)
{
	const struct m0_lnet_fault_attr *attr = &fault->lft_attr;
	struct json_t                   *item = jout_append(list);

	jout_str(item, "rule_type", fault_kind_name(attr->lfa_kind));
	nid_add(item, "fa_src", &attr->lfa_src);
	nid_add(item, "fa_dst", &attr->lfa_dst);
	big_add(item, "fa_ptl_mask", attr->lfa_portals);
	jout_num(item, "fa_msg_mask", attr->lfa_msgs);
	kind_add(item, fault);
	jout_num(item, "fs_count", fault->lft_seen_nr);
	jout_num(item, "fs_put", fault->lft_seen.lmc_put);
	jout_num(item, "fs_ack", fault->lft_seen.lmc_ack);
	jout_num(item, "fs_get", fault->lft_seen.lmc_get);
	jout_num(item, "fs_reply", fault->lft_seen.lmc_reply);
	if (verbose >= CTL_VERBOSE_MAX)
		more_add(item, attr);
}

static int rules_show(const struct ctl_request *req, struct m0_lnet *lnet,
		      FILE *out)
{
	struct m0_lnet_fault *faults;
	struct json_t        *tree;
	struct json_t        *list;
	int                   nr;
	int                   i;

	faults = calloc(M0_LNET_FAULTS_MAX, sizeof *faults);
	if (faults == NULL)
		return -ENOMEM;
	nr = m0_lnet_fault_get(lnet, req->cq_fault.lfa_kind, faults,
			       M0_LNET_FAULTS_MAX);
	if (nr < 0) {
		free(faults);
		return nr;
	}
	tree = jout_alloc();
	list = jout_array(tree, "fault");
	for (i = 0; i < nr; ++i)
		rule_add(list, &faults[i], req->cq_verbose);
	free(faults);
	if (req->cq_json)
		(void)jout_print(tree, out);
	else if (nr > 0)
		(void)jout_print_yaml(tree, LIST_INDENT, out);
	jout_free(tree);
	return 0;
}

static int failed(FILE *err, int rc)
{
	fprintf(err, "colibri: the node cannot do it: %s\n", tool_errtext(rc));
	return TOOL_FAILED;
}

/* `rc` is how many rules there were, or an error. */
static int counted(const struct ctl_request *req, int rc, const char *key,
		   FILE *out, FILE *err)
{
	struct json_t *tree;

	if (rc < 0)
		return failed(err, rc);
	if (rc == 0) {
		fprintf(err, "colibri: there is no such rule\n");
		return TOOL_FAILED;
	}
	if (req->cq_json) {
		tree = jout_alloc();
		jout_num(tree, key, (uint64_t)rc);
		jout_finish(tree, out);
	}
	return TOOL_OK;
}

int fault_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
		FILE *err)
{
	const struct m0_lnet_fault_attr *attr = &req->cq_fault;
	char                             why[M0_LNET_WHY_BYTES] = "";
	int                              rc;

	switch (req->cq_verb) {
	case CTL_FAULT_ADD:
		rc = m0_lnet_fault_add(lnet, attr, why);
		if (rc == 0)
			return TOOL_OK;
		fprintf(err, "colibri: %s\n", why);
		return TOOL_FAILED;
	case CTL_FAULT_DEL:
		rc = m0_lnet_fault_del(lnet, attr->lfa_kind, &attr->lfa_src,
				       &attr->lfa_dst);
		return counted(req, rc, "removed", out, err);
	case CTL_FAULT_RESET:
		rc = m0_lnet_fault_reset(lnet, attr->lfa_kind);
		return counted(req, rc, "reset", out, err);
	default:
		M0_PRE(req->cq_verb == CTL_FAULT_SHOW);
		rc = rules_show(req, lnet, out);
		return rc == 0 ? TOOL_OK : failed(err, rc);
	}
}

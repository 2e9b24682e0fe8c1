/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <unistd.h>

#include "../base/jout.h"
#include "probe_set.h"

/* Columns of lnetctl's answers to ping and discover. */
enum {
	YAML_INDENT = 2
};

int probe_set_init(struct probe_set *set, const struct ctl_request *req)
{
	M0_SET0(set);
	set->pst_req = *req;
	set->pst_probes = calloc(req->cq_nids_nr, sizeof *set->pst_probes);
	if (set->pst_probes == NULL)
		return -ENOMEM;
	m0_mutex_init(&set->pst_lock);
	return 0;
}

void probe_set_fini(struct probe_set *set)
{
	m0_mutex_fini(&set->pst_lock);
	free(set->pst_probes);
}

static void set_put(struct probe_set *set)
{
	if (m0_atomic64_sub_return(&set->pst_left, 1) == 0)
		set->pst_done(set);
}

/* Begins those that are left. A node that takes no more has some that will end. */
static void probes_begin(struct probe_set *set)
{
	struct m0_lnet_probe *probe;
	int                   rc = 0;

	while (set->pst_begun_nr < set->pst_req.cq_nids_nr) {
		probe = &set->pst_probes[set->pst_begun_nr];
		rc = m0_lnet_probe(set->pst_lnet, probe);
		if (rc == -ENOSPC && set->pst_live_nr > 0)
			break;
		++set->pst_begun_nr;
		set->pst_live_nr += rc == 0;
		if (rc != 0) {
			probe->pr_status = rc;
			set_put(set);
		}
	}
}

static void probe_done(struct m0_lnet_probe *probe)
{
	struct probe_set *set = probe->pr_user;

	m0_mutex_lock(&set->pst_lock);
	--set->pst_live_nr;
	probes_begin(set);
	m0_mutex_unlock(&set->pst_lock);
	set_put(set);
}

void probe_set_start(struct probe_set *set, struct m0_lnet *lnet)
{
	const struct ctl_request *req = &set->pst_req;
	unsigned                  nr = req->cq_nids_nr;
	unsigned                  i;

	m0_atomic64_set(&set->pst_left, (int64_t)nr + 1);
	for (i = 0; i < nr; ++i) {
		struct m0_lnet_probe *probe = &set->pst_probes[i];

		probe->pr_kind = req->cq_verb == CTL_PING ? M0_LNET_PING
							  : M0_LNET_DISCOVER;
		probe->pr_nid = req->cq_nids[i];
		probe->pr_self = req->cq_source;
		probe->pr_timeout_ms = req->cq_timeout_ms;
		probe->pr_force = req->cq_force;
		probe->pr_done = probe_done;
		probe->pr_user = set;
	}
	m0_mutex_lock(&set->pst_lock);
	set->pst_lnet = lnet;
	probes_begin(set);
	m0_mutex_unlock(&set->pst_lock);
	set_put(set);
}

static const char *why_of(const struct probe_set     *set,
			  const struct m0_lnet_probe *probe)
{
	return set->pst_why == NULL ? NULL : set->pst_why(set, probe);
}

static void answer_add(const struct probe_set *set, struct json_t *list,
		       const struct m0_lnet_probe *probe)
{
	struct json_t *item = jout_append(list);
	const char    *why;
	char           text[M0_LNET_NIDSTR_SIZE];
	struct json_t *nids;
	unsigned       i;

	jout_str(item, "primary nid",
		 m0_lnet_nid_print(&probe->pr_primary, text, sizeof text));
	jout_bool(item, "Multi-Rail", probe->pr_multi_rail);
	nids = jout_array(item, "peer_ni");
	for (i = 0; i < probe->pr_nids_nr; ++i)
		jout_str(jout_append(nids), "nid",
			 m0_lnet_nid_print(&probe->pr_nids[i], text,
					   sizeof text));
	if (!set->pst_req.cq_json)
		return;
	why = why_of(set, probe);
	if (why != NULL)
		jout_str(item, "why", why);
	jout_num(item, "ns", probe->pr_took_ns);
	if (!m0_lnet_nid_is_any(&probe->pr_source))
		jout_str(item, "source",
			 m0_lnet_nid_print(&probe->pr_source, text,
					   sizeof text));
}

/*
 * The library takes any NID to ask, but only one of ours to ask from; one that
 * has asked was one of ours.
 */
static bool source_is_wrong(const struct m0_lnet_probe *probe)
{
	return probe->pr_status == -EINVAL &&
	       !m0_lnet_nid_is_any(&probe->pr_self) &&
	       !m0_lnet_nid_eq(&probe->pr_self, &probe->pr_source);
}

static void failure_add(const struct probe_set *set, struct json_t *list,
			const struct m0_lnet_probe *probe, const char *verb)
{
	bool           json = set->pst_req.cq_json;
	const char    *why = why_of(set, probe);
	struct json_t *item = jout_append(list);
	char           nid[M0_LNET_NIDSTR_SIZE];
	char           self[M0_LNET_NIDSTR_SIZE];
	char           text[256];
	int            nr;

	(void)m0_lnet_nid_print(&probe->pr_nid, nid, sizeof nid);
	jout_null(item, verb);
	if (json)
		jout_str(item, "nid", nid);
	jout_int(item, "errno", probe->pr_status);
	nr = snprintf(text, sizeof text, "failed to %s %s: %s", verb, nid,
		      tool_errtext(probe->pr_status));
	if (source_is_wrong(probe))
		snprintf(text + nr, sizeof text - (size_t)nr,
			 " (--source %s is no NID of the node; `colibri net "
			 "show' lists them)",
			 m0_lnet_nid_print(&probe->pr_self, self, sizeof self));
	else if (probe->pr_status == -EOPNOTSUPP)
		snprintf(text + nr, sizeof text - (size_t)nr,
			 " (the node answers, but takes no part in "
			 "discovery)");
	jout_str(item, "descr", text);
	if (json && why != NULL)
		jout_str(item, "why", why);
}

/* Which node asked, and from which NID: a line for each probe. */
static void asker_print(const struct probe_set *set, const char *verb,
			FILE *err)
{
	unsigned i;

	for (i = 0; i < set->pst_req.cq_nids_nr; ++i) {
		const struct m0_lnet_probe *probe = &set->pst_probes[i];
		char                        nid[M0_LNET_NIDSTR_SIZE];
		char                        source[M0_LNET_NIDSTR_SIZE];
		bool any = m0_lnet_nid_is_any(&probe->pr_source);

		fprintf(err, "colibri %s: %s: %s %d%s asked%s%s\n", verb,
			m0_lnet_nid_print(&probe->pr_nid, nid, sizeof nid),
			set->pst_by_node    ? "the node of process"
			: set->pst_attached ? "the node attached by process"
					    : "a node opened in process",
			(int)getpid(),
			set->pst_elsewhere ? ", in another network namespace,"
					   : "",
			any ? "" : " from ",
			any ? ""
			    : m0_lnet_nid_print(&probe->pr_source, source,
						sizeof source));
	}
	if (set->pst_elsewhere)
		fprintf(err,
			"colibri %s: to ask from this network namespace, give "
			"an option of a node, as --net tcp\n",
			verb);
}

static void asker_add(const struct probe_set *set, struct json_t *tree)
{
	struct json_t *object = jout_object(tree, "node");

	jout_num(object, "process", (uint64_t)getpid());
	jout_bool(object, "opened", !set->pst_by_node && !set->pst_attached);
	jout_bool(object, "other_namespace", set->pst_elsewhere);
}

/* Why the node did not reach those that it did not reach, and what does not fit others. */
static void whys_print(const struct probe_set *set, const char *verb, FILE *err)
{
	unsigned i;

	for (i = 0; i < set->pst_req.cq_nids_nr; ++i) {
		const char *why = why_of(set, &set->pst_probes[i]);

		if (why != NULL)
			fprintf(err, "colibri %s: the node says: %s\n", verb,
				why);
	}
}

static void tree_print(struct json_t *tree, const struct json_t *list,
		       FILE *file)
{
	if (!jout_is_empty(list))
		(void)jout_print_yaml(tree, YAML_INDENT, file);
}

int probe_set_print(const struct probe_set *set, FILE *out, FILE *err)
{
	bool           json = set->pst_req.cq_json;
	const char    *verb = set->pst_req.cq_verb == CTL_PING ? "ping"
							       : "discover";
	struct json_t *good = jout_alloc();
	struct json_t *bad = json ? good : jout_alloc();
	struct json_t *answers = jout_array(good, verb);
	struct json_t *failures = jout_array(bad, "manage");
	int            code = TOOL_OK;
	unsigned       i;

	for (i = 0; i < set->pst_req.cq_nids_nr; ++i) {
		const struct m0_lnet_probe *probe = &set->pst_probes[i];

		if (probe->pr_status == 0) {
			answer_add(set, answers, probe);
			continue;
		}
		failure_add(set, failures, probe, verb);
		if (code != TOOL_USAGE)
			code = source_is_wrong(probe) ? TOOL_USAGE
						      : TOOL_FAILED;
	}
	if (set->pst_elsewhere || (set->pst_req.cq_verbose > 0 && !json))
		asker_print(set, verb, err);
	if (json) {
		asker_add(set, good);
		(void)jout_print(good, out);
	} else {
		tree_print(good, answers, out);
		tree_print(bad, failures, err);
		whys_print(set, verb, err);
		jout_free(bad);
	}
	jout_free(good);
	return code;
}

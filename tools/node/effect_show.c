/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "effect_show.h"
#include "ctl_out.h"

enum {
	/** Peers that are listed as text. */
	SHIFTS_MAX = 20,
	/** Text of a path, and of a set of them. */
	PATH_BYTES = 3 * M0_LNET_NIDSTR_SIZE + 32,
	SET_BYTES = M0_LNET_PATH_SET_MAX * PATH_BYTES + 64
};

static void nid_add(struct json_t *item, const char *key,
		    const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];

	jout_str(item, key, m0_lnet_nid_print(nid, text, sizeof text));
}

static unsigned listed(const struct m0_lnet_path_set *set)
{
	return min_check(set->lps_nr, (unsigned)M0_LNET_PATH_SET_MAX);
}

static void set_list(struct json_t *item, const char *key,
		     const struct m0_lnet_path_set *set)
{
	struct json_t *of = jout_object(item, key);
	struct json_t *list;
	unsigned       i;

	jout_num(of, "paths", set->lps_nr);
	list = jout_array(of, "first");
	for (i = 0; i < listed(set); ++i) {
		const struct m0_lnet_path_nids *path = &set->lps_paths[i];
		struct json_t                  *one = jout_append(list);

		nid_add(one, "interface", &path->lpd_ni);
		nid_add(one, "next hop", &path->lpd_hop);
		nid_add(one, "destination", &path->lpd_dest);
	}
}

static void path_say(const struct m0_lnet_path_nids *path, char ret[PATH_BYTES])
{
	char ni[M0_LNET_NIDSTR_SIZE];
	char hop[M0_LNET_NIDSTR_SIZE];
	char dest[M0_LNET_NIDSTR_SIZE];

	(void)m0_lnet_nid_print(&path->lpd_ni, ni, sizeof ni);
	(void)m0_lnet_nid_print(&path->lpd_hop, hop, sizeof hop);
	(void)m0_lnet_nid_print(&path->lpd_dest, dest, sizeof dest);
	if (path->lpd_is_routed)
		snprintf(ret, PATH_BYTES, "%s to %s by %s", ni, dest, hop);
	else
		snprintf(ret, PATH_BYTES, "%s to %s", ni, hop);
}

static void set_say(struct json_t *item, const char *key,
		    const struct m0_lnet_path_set *set)
{
	char     text[SET_BYTES] = "";
	char     path[PATH_BYTES];
	size_t   at = 0;
	unsigned i;

	for (i = 0; i < listed(set); ++i) {
		path_say(&set->lps_paths[i], path);
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s",
				       i == 0 ? "" : ", ", path);
	}
	if (set->lps_nr > i)
		snprintf(text + at, sizeof text - at, " and %u more",
			 set->lps_nr - i);
	jout_str(item, key, text);
}

static void shift_add(struct json_t *list, const struct ctl_request *req,
		      const struct m0_lnet_shift *shift)
{
	struct json_t *item = jout_append(list);

	nid_add(item, "primary nid", &shift->lsf_primary);
	nid_add(item, "nid", &shift->lsf_nid);
	if (req->cq_json) {
		set_list(item, "now", &shift->lsf_now);
		set_list(item, "then", &shift->lsf_then);
	} else {
		set_say(item, "now", &shift->lsf_now);
		set_say(item, "then", &shift->lsf_then);
	}
}

void effect_print(const struct ctl_request    *req,
		  const struct m0_lnet_effect *effect, FILE *out)
{
	struct json_t *tree = jout_alloc();
	struct json_t *item = jout_append(jout_array(tree, "dry run"));
	unsigned       nr = effect->lef_shifts_nr;
	unsigned       max = req->cq_json ? nr : min_check(nr, SHIFTS_MAX + 0U);
	struct json_t *list;
	char           text[64];
	unsigned       i;

	snprintf(text, sizeof text, "%u of %u peers would change their paths",
		 nr, effect->lef_peers_nr);
	jout_str(item, "effect", text);
	jout_num(item, "peers", effect->lef_peers_nr);
	jout_num(item, "changed", nr);
	if (nr > 0 || req->cq_json) {
		list = jout_array(item, "changes");
		for (i = 0; i < max; ++i)
			shift_add(list, req, &effect->lef_shifts[i]);
	}
	if (nr > max) {
		snprintf(text, sizeof text, "%u, listed with --json", nr - max);
		jout_str(item, "further changes", text);
	}
	ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	jout_free(tree);
}

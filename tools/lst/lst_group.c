/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Verbs about the session and groups of nodes. */
#include <stdlib.h>
#include <string.h>

#include "lst.h"
#include "../base/jout.h"
#include "../base/nids.h"

/** Heading of the numbers of list_group. */
static const char head[] = "\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n";

static int fail(struct lst_out *out, const char *what, int rc)
{
	fprintf(out->lso_err, "%s: %s\n", what, tool_errtext(rc));
	return TOOL_FAILED;
}

/* -- NID expressions ------------------------------------------------------- */

/** Nodes of an expression, in order. */
struct expansion {
	struct lst_session *lxp_session;
	struct lst_group   *lxp_group;
};

static int node_add(void *arg, const struct m0_lnet_nid *nid)
{
	struct expansion   *exp = arg;
	struct lst_session *s = exp->lxp_session;
	struct lst_group   *group = exp->lxp_group;
	unsigned            i;
	unsigned            j;

	if ((s->lsn_feats & M0_ST_FEAT_LARGE) == 0 && !m0_lnet_nid_is_nid4(nid))
		return -EAFNOSUPPORT;
	for (i = 0; i < s->lsn_nodes_nr; ++i)
		if (m0_lnet_nid_eq(&s->lsn_nodes[i].lcn_id.lp_nid, nid))
			break;
	if (i == LST_NODES_MAX || group->lgp_nodes_nr == LST_NODES_MAX)
		return -E2BIG;
	if (i == s->lsn_nodes_nr) {
		s->lsn_nodes[i] = (struct lst_node){
			.lcn_id = { *nid, M0_LNET_PID_LUSTRE },
			.lcn_state = LST_UNKNOWN,
		};
		/* The node's thread reads it. */
		__atomic_store_n(&s->lsn_nodes_nr, i + 1, __ATOMIC_RELEASE);
	}
	for (j = 0; j < group->lgp_nodes_nr; ++j)
		if (group->lgp_nodes[j] == i)
			return 0;
	group->lgp_nodes[group->lgp_nodes_nr++] = i;
	return 0;
}

/** Adds the nodes of "10.0.0.[1-4]@tcp", of a group's name, or of one NID. */
static int words_expand(struct lst_session *s, struct lst_group *group,
			const char *word)
{
	struct expansion        exp = { s, group };
	const struct lst_group *other;
	unsigned                i;

	other = lst_group_find(s, word);
	for (i = 0; other != NULL && i < other->lgp_nodes_nr; ++i)
		(void)node_add(
			&exp, &s->lsn_nodes[other->lgp_nodes[i]].lcn_id.lp_nid);
	if (other != NULL)
		return 0;
	return nids_expand(word, node_add, &exp);
}

static int expand_say(struct lst_out *o, const char *word, int rc)
{
	if (rc == -EAFNOSUPPORT)
		fprintf(o->lso_err,
			"%s: a Lustre node cannot be told of IPv6 addresses; "
			"our nodes can, in a session of a node whose first NID "
			"has one\n",
			word);
	else if (rc == -EINVAL)
		fprintf(o->lso_err,
			"'%s' is not accepted; accepted: the name of a group, "
			"or NIDs as 10.0.0.1@tcp or 10.0.0.[1-4,7]@tcp1\n",
			word);
	else
		return fail(o, word, rc);
	return TOOL_FAILED;
}

/* -- joining and leaving --------------------------------------------------- */

/** Makes the session at nodes that do not have it. @return the exit code. */
static int nodes_join(struct lst_session *s, const struct lst_group *group,
		      unsigned from, uint32_t timeout, struct lst_out *o)
{
	unsigned           nr = group->lgp_nodes_nr - from;
	unsigned          *nodes = calloc(nr + 1, sizeof *nodes);
	struct m0_st_msg  *msgs = calloc(nr + 1, sizeof *msgs);
	struct m0_st_call *calls = NULL;
	struct m0_st_msg   msg = lst_msg(s, M0_ST_MKSN);
	unsigned           i;
	unsigned           new_nr = 0;
	int                bad = -ENOMEM;

	msg.smg_force = s->lsn_force;
	memcpy(msg.smg_name, s->lsn_name, sizeof msg.smg_name);
	for (i = 0; nodes != NULL && msgs != NULL && i < nr; ++i) {
		unsigned at = group->lgp_nodes[from + i];

		if (s->lsn_nodes[at].lcn_state == LST_ACTIVE)
			continue;
		nodes[new_nr] = at;
		msgs[new_nr++] = msg;
	}
	if (nodes != NULL && msgs != NULL)
		bad = lst_calls(s, nodes, new_nr, msgs, timeout, &calls);
	for (i = 0; bad > 0 && i < new_nr; ++i)
		if (calls[i].scl_rc != 0 || calls[i].scl_reply.smg_status != 0)
			lst_call_say(s, &calls[i], "Session was not created",
				     o->lso_err);
	free(calls);
	free(nodes);
	free(msgs);
	return bad == 0 ? TOOL_OK : TOOL_FAILED;
}

static int nodes_leave(struct lst_session *s, struct lst_out *o)
{
	unsigned          *nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	struct m0_st_msg  *msgs = calloc(LST_NODES_MAX, sizeof *msgs);
	struct m0_st_call *calls = NULL;
	unsigned           nr = 0;
	unsigned           i;
	int                bad = -ENOMEM;

	for (i = 0; nodes != NULL && msgs != NULL && i < s->lsn_nodes_nr; ++i) {
		if (s->lsn_nodes[i].lcn_state != LST_ACTIVE)
			continue;
		nodes[nr] = i;
		msgs[nr++] = lst_msg(s, M0_ST_RMSN);
	}
	if (nodes != NULL && msgs != NULL)
		bad = lst_calls(s, nodes, nr, msgs, 0, &calls);
	for (i = 0; bad > 0 && i < nr; ++i)
		if (calls[i].scl_rc != 0 || calls[i].scl_reply.smg_status != 0)
			lst_call_say(s, &calls[i], "Session was not ended",
				     o->lso_err);
	free(calls);
	free(nodes);
	free(msgs);
	return bad == 0 ? TOOL_OK : TOOL_FAILED;
}

/* -- verbs ----------------------------------------------------------------- */

static bool words_check(struct lst_args *a, struct lst_out *o, unsigned min,
			const char *usage)
{
	if (a->lsa_words_nr >= min)
		return true;
	fprintf(o->lso_err, "Usage: colibri lst %s\n", usage);
	return false;
}

int lst_show_session(struct lst_session *s, struct lst_args *a,
		     struct lst_out *o)
{
	char           nid[M0_LNET_NIDSTR_SIZE];
	unsigned       nr = 0;
	unsigned       i;
	struct json_t *tree;

	for (i = 0; i < s->lsn_nodes_nr; ++i)
		nr += s->lsn_nodes[i].lcn_groups_nr > 0;
	(void)m0_lnet_nid_print(&s->lsn_nid, nid, sizeof nid);
	if (!a->lsa_json) {
		fprintf(o->lso_out,
			"%s ID: %" PRIu64
			"@%s, KEY: %s FEATURES: %x NODES: %u\n",
			s->lsn_name, s->lsn_sid.sid_stamp, nid, s->lsn_key,
			s->lsn_feats, nr);
		return TOOL_OK;
	}
	tree = jout_alloc();
	jout_str(tree, "name", s->lsn_name);
	jout_num(tree, "stamp", s->lsn_sid.sid_stamp);
	jout_str(tree, "nid", nid);
	jout_str(tree, "key", s->lsn_key);
	jout_num(tree, "features", s->lsn_feats);
	jout_num(tree, "nodes", nr);
	jout_finish(tree, o->lso_out);
	return TOOL_OK;
}

int lst_end_session(struct lst_session *s, struct lst_args *a,
		    struct lst_out *o)
{
	int            rc = nodes_leave(s, o);
	struct json_t *tree;

	s->lsn_ended = true;
	if (a->lsa_json) {
		tree = jout_alloc();
		jout_str(tree, "session", s->lsn_name);
		jout_bool(tree, "ended_everywhere", rc == TOOL_OK);
		jout_finish(tree, o->lso_out);
	}
	return rc;
}

/** Print the group: the result of verbs that change one. */
static void group_json(const struct lst_session *s,
		       const struct lst_group *group, struct lst_out *o)
{
	struct json_t *tree = jout_alloc();

	lst_json_group(tree, s, group);
	jout_finish(tree, o->lso_out);
}

int lst_add_group(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_group *group;
	unsigned          i;
	int               rc = 0;

	if (!words_check(a, o, 2, "add_group NAME NIDS..."))
		return TOOL_USAGE;
	if (strlen(a->lsa_words[0]) >= LST_NAME_BYTES)
		return fail(o, "Failed to add group", -ENAMETOOLONG);
	if (lst_group_find(s, a->lsa_words[0]) != NULL)
		return fail(o, "Failed to add group", -EEXIST);
	if (s->lsn_groups_nr == LST_GROUPS_MAX ||
	    (group = calloc(1, sizeof *group)) == NULL)
		return fail(o, "Failed to add group", -ENOMEM);
	snprintf(group->lgp_name, LST_NAME_BYTES, "%s", a->lsa_words[0]);
	for (i = 1; rc == 0 && i < a->lsa_words_nr; ++i) {
		rc = words_expand(s, group, a->lsa_words[i]);
		if (rc != 0) {
			free(group);
			return expand_say(o, a->lsa_words[i], rc);
		}
	}
	for (i = 0; i < group->lgp_nodes_nr; ++i)
		++s->lsn_nodes[group->lgp_nodes[i]].lcn_groups_nr;
	s->lsn_groups[s->lsn_groups_nr++] = group;
	rc = nodes_join(s, group, 0, a->lsa_timeout, o);
	if (a->lsa_json)
		group_json(s, group, o);
	for (i = 1; !a->lsa_json && rc == TOOL_OK && i < a->lsa_words_nr; ++i)
		fprintf(o->lso_out, "%s are added to session\n",
			a->lsa_words[i]);
	return rc;
}

static void group_del(struct lst_session *s, struct lst_group *group)
{
	unsigned i;

	for (i = 0; i < group->lgp_nodes_nr; ++i)
		--s->lsn_nodes[group->lgp_nodes[i]].lcn_groups_nr;
	for (i = 0; s->lsn_groups[i] != group; ++i)
		;
	memmove(&s->lsn_groups[i], &s->lsn_groups[i + 1],
		(--s->lsn_groups_nr - i) * sizeof s->lsn_groups[0]);
	free(group);
}

int lst_del_group(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_group *group;
	struct json_t    *tree;

	if (!words_check(a, o, 1, "del_group NAME"))
		return TOOL_USAGE;
	group = lst_group_find(s, a->lsa_words[0]);
	if (group == NULL)
		return fail(o, "Failed to delete group", -ENOENT);
	if (group->lgp_tests_nr > 0)
		return fail(o, "Failed to delete group", -EBUSY);
	/* Tests name groups by number. */
	if (s->lsn_tests_nr > 0)
		return fail(o, "Failed to delete group", -EBUSY);
	group_del(s, group);
	if (a->lsa_json) {
		tree = jout_alloc();
		jout_str(tree, "name", a->lsa_words[0]);
		jout_bool(tree, "deleted", true);
		jout_finish(tree, o->lso_out);
	} else {
		fprintf(o->lso_out, "Group is deleted\n");
	}
	return TOOL_OK;
}

/** Takes out nodes in a state of `states`, and those of `remove`. */
static void group_clean(struct lst_session *s, struct lst_group *group,
			unsigned states, const struct lst_group *remove)
{
	unsigned i;
	unsigned j;
	unsigned kept = 0;

	for (i = 0; i < group->lgp_nodes_nr; ++i) {
		struct lst_node *node = &s->lsn_nodes[group->lgp_nodes[i]];
		bool             out = (node->lcn_state & states) != 0;

		for (j = 0; remove != NULL && j < remove->lgp_nodes_nr; ++j)
			out |= remove->lgp_nodes[j] == group->lgp_nodes[i];
		if (out)
			--node->lcn_groups_nr;
		else
			group->lgp_nodes[kept++] = group->lgp_nodes[i];
	}
	group->lgp_nodes_nr = kept;
}

int lst_update_group(struct lst_session *s, struct lst_args *a,
		     struct lst_out *o)
{
	struct lst_group *group;
	struct lst_group *remove = NULL;
	int               rc = 0;

	if (!words_check(a, o, 1,
			 "update_group NAME --refresh | --remove NIDS | "
			 "--clean --active|--busy|--down|--unknown"))
		return TOOL_USAGE;
	group = lst_group_find(s, a->lsa_words[0]);
	if (group == NULL)
		return fail(o, "Failed to update group", -ENOENT);
	if (a->lsa_refresh) {
		rc = nodes_join(s, group, 0, a->lsa_timeout, o);
		if (a->lsa_json)
			group_json(s, group, o);
		return rc;
	}
	if (group->lgp_tests_nr > 0)
		return fail(o, "Failed to update group", -EBUSY);
	if (a->lsa_remove != NULL) {
		remove = calloc(1, sizeof *remove);
		if (remove == NULL)
			return fail(o, "Failed to update group", -ENOMEM);
		rc = words_expand(s, remove, a->lsa_remove);
		if (rc != 0) {
			free(remove);
			return expand_say(o, a->lsa_remove, rc);
		}
	}
	group_clean(s, group, a->lsa_clean ? a->lsa_states : 0, remove);
	free(remove);
	if (a->lsa_json)
		group_json(s, group, o);
	else
		fprintf(o->lso_out, "Group is updated\n");
	return TOOL_OK;
}

static void nodes_list(struct lst_session *s, const struct lst_group *group,
		       unsigned states, struct lst_out *o)
{
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned nr = 0;
	unsigned i;

	fprintf(o->lso_out, "Group [ %s ]\n", group->lgp_name);
	for (i = 0; i < group->lgp_nodes_nr; ++i) {
		const struct lst_node *node =
			&s->lsn_nodes[group->lgp_nodes[i]];

		if ((node->lcn_state & states) == 0)
			continue;
		++nr;
		fprintf(o->lso_out, "\t%s: %s\n",
			m0_lnet_id_print(&node->lcn_id, text, sizeof text),
			lst_state_name(node->lcn_state));
	}
	if (nr == 0)
		fprintf(o->lso_out, "No nodes found [ %s ]\n", group->lgp_name);
	else
		fprintf(o->lso_out, "Total %u nodes [ %s ]\n", nr,
			group->lgp_name);
}

static void groups_json(struct lst_session *s, const struct lst_args *a,
			struct lst_out *o)
{
	struct json_t          *tree = jout_alloc();
	struct json_t          *list = jout_array(tree, "groups");
	const struct lst_group *group;
	unsigned                i;
	unsigned                j;

	for (i = 0; i < s->lsn_groups_nr; ++i) {
		group = s->lsn_groups[i];
		for (j = 0; j < a->lsa_words_nr; ++j)
			if (strcmp(a->lsa_words[j], group->lgp_name) == 0)
				break;
		if (a->lsa_words_nr == 0 || j < a->lsa_words_nr)
			lst_json_group(jout_append(list), s, group);
	}
	jout_finish(tree, o->lso_out);
}

int lst_list_group(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	unsigned counts[5];
	unsigned i;

	for (i = 0; i < a->lsa_words_nr; ++i)
		if (lst_group_find(s, a->lsa_words[i]) == NULL)
			return fail(o, a->lsa_words[i], -ENOENT);
	if (a->lsa_json) {
		groups_json(s, a, o);
		return TOOL_OK;
	}
	if (a->lsa_words_nr == 0) {
		for (i = 0; i < s->lsn_groups_nr; ++i)
			fprintf(o->lso_out, "%u) %s\n", i + 1,
				s->lsn_groups[i]->lgp_name);
		fprintf(o->lso_out, "Total %u groups\n", s->lsn_groups_nr);
		return TOOL_OK;
	}
	fputs(head, o->lso_out);
	for (i = 0; i < a->lsa_words_nr; ++i) {
		const struct lst_group *group =
			lst_group_find(s, a->lsa_words[i]);

		if (a->lsa_states != 0 || a->lsa_all) {
			nodes_list(s, group, a->lsa_all ? 15 : a->lsa_states,
				   o);
			continue;
		}
		lst_count(s, group->lgp_nodes, group->lgp_nodes_nr, counts);
		fprintf(o->lso_out, "\t%u\t%u\t%u\t%u\t%u\t%s\n", counts[0],
			counts[1], counts[2], counts[3], counts[4],
			group->lgp_name);
	}
	return TOOL_OK;
}

/** A line for a node of ping, or a member of the list. */
static void ping_say(const struct lst_node *node, const struct m0_st_call *call,
		     struct json_t *list, struct lst_out *o)
{
	const struct m0_st_msg *rep = &call->scl_reply;
	struct m0_lnet_nid      owner;
	struct json_t          *item;
	char                    text[M0_LNET_NIDSTR_SIZE];
	char                    nid[M0_LNET_NIDSTR_SIZE];
	bool                    has = call->scl_rc == 0 && rep->smg_status == 0;

	has = has && m0_lnet_nid_from4(&owner, rep->smg_sid.sid_nid4) == 0;
	if (has)
		(void)m0_lnet_nid_print(&owner, nid, sizeof nid);
	if (list == NULL) {
		fprintf(o->lso_out, "\t%s: %s [session: %s id: %s]\n",
			m0_lnet_id_print(&node->lcn_id, text, sizeof text),
			lst_state_name(node->lcn_state),
			has ? rep->smg_name : "<NULL>", has ? nid : "<?>");
		return;
	}
	item = jout_append(list);
	lst_json_node(item, node);
	if (has) {
		jout_str(item, "session", rep->smg_name);
		jout_str(item, "console", nid);
	} else {
		jout_null(item, "session");
		jout_null(item, "console");
	}
}

static void pings_say(struct lst_session *s, const struct lst_group *group,
		      const struct m0_st_call *calls, bool json,
		      struct lst_out *o)
{
	struct json_t *tree = json ? jout_alloc() : NULL;
	struct json_t *list = json ? jout_array(tree, "nodes") : NULL;
	unsigned       i;

	for (i = 0; i < group->lgp_nodes_nr; ++i)
		ping_say(&s->lsn_nodes[group->lgp_nodes[i]], &calls[i], list,
			 o);
	if (json)
		jout_finish(tree, o->lso_out);
}

int lst_ping(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_group   all = { .lgp_nodes_nr = 0 };
	struct lst_group  *group = &all;
	struct m0_st_msg  *msgs;
	struct m0_st_call *calls = NULL;
	unsigned           i;
	int                bad = -ENOMEM;

	for (i = 0; i < s->lsn_nodes_nr; ++i)
		all.lgp_nodes[all.lgp_nodes_nr++] = i;
	if (a->lsa_group != NULL)
		group = lst_group_find(s, a->lsa_group);
	if (group == NULL)
		return fail(o, "Failed to ping", -ENOENT);
	msgs = calloc(group->lgp_nodes_nr + 1, sizeof *msgs);
	for (i = 0; msgs != NULL && i < group->lgp_nodes_nr; ++i)
		msgs[i] = lst_msg(s, M0_ST_DEBUG);
	if (msgs != NULL)
		bad = lst_calls(s, group->lgp_nodes, group->lgp_nodes_nr, msgs,
				a->lsa_timeout, &calls);
	free(msgs);
	if (bad >= 0)
		pings_say(s, group, calls, a->lsa_json, o);
	free(calls);
	return bad == 0 ? TOOL_OK : TOOL_FAILED;
}

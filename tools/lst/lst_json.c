/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Parts of JSON that verbs share. */
#include "lst.h"
#include "../base/jout.h"

void lst_json_node(struct json_t *item, const struct lst_node *node)
{
	char text[M0_LNET_NIDSTR_SIZE];

	jout_str(item, "id",
		 m0_lnet_id_print(&node->lcn_id, text, sizeof text));
	jout_str(item, "state", lst_state_name(node->lcn_state));
}

void lst_json_nodes(struct json_t *tree, const struct lst_session *session,
		    const unsigned *nodes, unsigned nr)
{
	struct json_t *list = jout_array(tree, "nodes");
	unsigned       i;

	for (i = 0; i < nr; ++i)
		lst_json_node(jout_append(list), &session->lsn_nodes[nodes[i]]);
}

void lst_json_group(struct json_t *tree, const struct lst_session *session,
		    const struct lst_group *group)
{
	jout_str(tree, "name", group->lgp_name);
	lst_json_nodes(tree, session, group->lgp_nodes, group->lgp_nodes_nr);
}

void lst_json_counts(struct json_t *tree, const char *name,
		     const struct lst_session *session, const unsigned *nodes,
		     unsigned nr)
{
	static const char *const names[] = { "active", "busy", "down",
					     "unknown", "total" };
	struct json_t           *item = jout_object(tree, name);
	unsigned                 counts[5];
	unsigned                 i;

	lst_count(session, nodes, nr, counts);
	for (i = 0; i < ARRAY_SIZE(counts); ++i)
		jout_num(item, names[i], counts[i]);
}

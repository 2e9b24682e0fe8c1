/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Verbs stat and show_error. */
#include <stdlib.h>
#include <string.h>

#include "lst.h"
#include "../base/jout.h"

enum {
	DELAY_DEFAULT = 5
};

static int fail(struct lst_out *o, const char *what, int rc)
{
	fprintf(o->lso_err, "%s: %s\n", what, tool_errtext(rc));
	return TOOL_FAILED;
}

int lst_stats_take(struct lst_session *s, const unsigned *nodes, unsigned nr,
		   uint32_t timeout)
{
	struct m0_st_msg  *msgs = calloc(nr + 1, sizeof *msgs);
	struct m0_st_call *calls = NULL;
	unsigned           i;
	int                bad = -ENOMEM;

	for (i = 0; msgs != NULL && i < nr; ++i)
		msgs[i] = lst_msg(s, M0_ST_STAT);
	if (msgs != NULL)
		bad = lst_calls(s, nodes, nr, msgs, timeout, &calls);
	for (i = 0; bad >= 0 && i < nr; ++i) {
		struct lst_node *node = &s->lsn_nodes[nodes[i]];

		if (calls[i].scl_rc != 0 ||
		    calls[i].scl_reply.smg_status != 0) {
			node->lcn_stats_at = 0;
			continue;
		}
		node->lcn_stats = calls[i].scl_reply.smg_stats;
		node->lcn_stats_at = node->lcn_heard;
	}
	free(calls);
	free(msgs);
	return bad;
}

/** A number of each node: its sum, least and greatest. */
struct spread {
	double   lsp_sum;
	double   lsp_min;
	double   lsp_max;
	unsigned lsp_nr;
};

static void spread_add(struct spread *spread, double value)
{
	if (spread->lsp_nr == 0 || value < spread->lsp_min)
		spread->lsp_min = value;
	if (spread->lsp_nr == 0 || value > spread->lsp_max)
		spread->lsp_max = value;
	spread->lsp_sum += value;
	++spread->lsp_nr;
}

static double spread_avg(const struct spread *spread)
{
	return spread->lsp_nr == 0 ? 0 : spread->lsp_sum / spread->lsp_nr;
}

/** Rates and bandwidths of a group, received and sent. */
struct group_rates {
	struct spread lrt_rate[2];
	struct spread lrt_bytes[2];
};

static void rates_add(struct group_rates *rates, const struct lst_node *old,
		      const struct lst_node *now)
{
	double s = (double)m0_time_sub(now->lcn_stats_at, old->lcn_stats_at) /
		   (double)M0_TIME_ONE_SECOND;

	if (old->lcn_stats_at == 0 || now->lcn_stats_at == 0 || s <= 0)
		return;
	/* Counters of 32 bits wrap around. */
	spread_add(&rates->lrt_rate[0],
		   (uint32_t)(now->lcn_stats.sct_recv_count -
			      old->lcn_stats.sct_recv_count) /
			   s);
	spread_add(&rates->lrt_rate[1],
		   (uint32_t)(now->lcn_stats.sct_send_count -
			      old->lcn_stats.sct_send_count) /
			   s);
	spread_add(&rates->lrt_bytes[0],
		   (double)(now->lcn_stats.sct_recv_length -
			    old->lcn_stats.sct_recv_length) /
			   s);
	spread_add(&rates->lrt_bytes[1],
		   (double)(now->lcn_stats.sct_send_length -
			    old->lcn_stats.sct_send_length) /
			   s);
}

/* -- text ------------------------------------------------------------------ */

static void line_print(const struct lst_args *a, struct lst_out *o, char which,
		       const struct spread *spread, bool is_rate)
{
	bool        all = !a->lsa_avg && !a->lsa_min && !a->lsa_max;
	double      unit = is_rate ? 1 : a->lsa_mbs ? 1e6 : 1 << 20;
	const char *name = is_rate ? "RPC/s" : a->lsa_mbs ? "MB/s" : "MiB/s";
	const struct {
		const char *name;
		bool        shown;
		double      value;
	} parts[] = {
		{ "Avg", all || a->lsa_avg, spread_avg(spread) },
		{ "Min", all || a->lsa_min, spread->lsp_min },
		{ "Max", all || a->lsa_max, spread->lsp_max },
	};
	const char *gap = "";
	size_t      i;

	fprintf(o->lso_out, "[%c] ", which);
	for (i = 0; i < ARRAY_SIZE(parts); ++i) {
		if (!parts[i].shown)
			continue;
		fprintf(o->lso_out, "%s%s: %-8.*f %-5s%s", gap, parts[i].name,
			is_rate ? 0 : 2, parts[i].value / unit, name,
			is_rate ? "" : " ");
		gap = is_rate ? " " : "";
	}
	fputc('\n', o->lso_out);
}

static void rates_print(const struct lst_args *a, struct lst_out *o,
			const char *group, const struct group_rates *rates)
{
	bool both = !a->lsa_bw && !a->lsa_rate;
	bool ways = !a->lsa_read && !a->lsa_write;

	if (both || a->lsa_rate) {
		fprintf(o->lso_out, "[LNet Rates of %s]\n", group);
		if (ways || a->lsa_read)
			line_print(a, o, 'R', &rates->lrt_rate[0], true);
		if (ways || a->lsa_write)
			line_print(a, o, 'W', &rates->lrt_rate[1], true);
	}
	if (both || a->lsa_bw) {
		fprintf(o->lso_out, "[LNet Bandwidth of %s]\n", group);
		if (ways || a->lsa_read)
			line_print(a, o, 'R', &rates->lrt_bytes[0], false);
		if (ways || a->lsa_write)
			line_print(a, o, 'W', &rates->lrt_bytes[1], false);
	}
}

static void spread_json(struct json_t *tree, const char *name,
			const struct spread *spread)
{
	struct json_t *item = jout_object(tree, name);

	jout_real(item, "avg", spread_avg(spread));
	jout_real(item, "min", spread->lsp_min);
	jout_real(item, "max", spread->lsp_max);
}

static void rates_json(struct lst_out *o, const char *group,
		       const struct group_rates *rates)
{
	struct json_t *tree = jout_alloc();

	jout_str(tree, "group", group);
	jout_num(tree, "nodes", rates->lrt_rate[0].lsp_nr);
	spread_json(tree, "received_per_s", &rates->lrt_rate[0]);
	spread_json(tree, "sent_per_s", &rates->lrt_rate[1]);
	spread_json(tree, "received_bytes_per_s", &rates->lrt_bytes[0]);
	spread_json(tree, "sent_bytes_per_s", &rates->lrt_bytes[1]);
	jout_finish_line(tree, o->lso_out);
}

static void group_print(struct lst_session *s, const struct lst_args *a,
			struct lst_out *o, const struct lst_group *group,
			const struct lst_node *old)
{
	struct group_rates rates = { 0 };
	unsigned           i;

	for (i = 0; i < group->lgp_nodes_nr; ++i)
		rates_add(&rates, &old[group->lgp_nodes[i]],
			  &s->lsn_nodes[group->lgp_nodes[i]]);
	if (a->lsa_json)
		rates_json(o, group->lgp_name, &rates);
	else
		rates_print(a, o, group->lgp_name, &rates);
}

/* -- verbs ----------------------------------------------------------------- */

/** Groups that are named; false with a message if one does not exist. */
static bool groups_check(struct lst_session *s, const struct lst_args *a,
			 struct lst_out *o, const char *verb)
{
	unsigned i;

	if (a->lsa_words_nr == 0) {
		fprintf(o->lso_err, "Usage: colibri lst %s GROUP...\n", verb);
		return false;
	}
	for (i = 0; i < a->lsa_words_nr; ++i) {
		if (lst_group_find(s, a->lsa_words[i]) == NULL) {
			(void)fail(o, a->lsa_words[i], -ENOENT);
			return false;
		}
	}
	return true;
}

static int groups_take(struct lst_session *s, const struct lst_args *a,
		       struct lst_out *o)
{
	unsigned i;
	int      bad = 0;
	int      rc;

	for (i = 0; i < a->lsa_words_nr; ++i) {
		const struct lst_group *group =
			lst_group_find(s, a->lsa_words[i]);

		if (group == NULL)
			return fail(o, a->lsa_words[i], -ENOENT);
		rc = lst_stats_take(s, group->lgp_nodes, group->lgp_nodes_nr,
				    a->lsa_timeout);
		bad |= rc;
		if (rc > 0)
			fprintf(o->lso_err,
				"%d of %u nodes of %s have not answered\n", rc,
				group->lgp_nodes_nr, group->lgp_name);
	}
	return bad == 0 ? TOOL_OK : TOOL_FAILED;
}

/* Other commands are served while this one waits. */
static void delay(struct lst_session *s, const struct lst_args *a,
		  struct lst_out *o)
{
	uint32_t  seconds = a->lsa_delay > 0 ? a->lsa_delay : DELAY_DEFAULT;
	m0_time_t until = m0_time_from_now(seconds, 0);

	m0_mutex_unlock(&s->lsn_lock);
	while (m0_time_now() < until && !o->lso_stopped(o))
		(void)m0_nanosleep(min_check(M0_TIME_ONE_SECOND / 10,
					     m0_time_sub(until, m0_time_now())),
				   NULL);
	m0_mutex_lock(&s->lsn_lock);
}

int lst_stat(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_node  *old;
	struct lst_group *group;
	uint32_t          i;
	unsigned          j;
	int               rc;

	if (!groups_check(s, a, o, "stat"))
		return TOOL_USAGE;
	old = calloc(LST_NODES_MAX, sizeof *old);
	if (old == NULL)
		return fail(o, "stat", -ENOMEM);
	rc = groups_take(s, a, o);
	for (i = 0; i < a->lsa_count && !o->lso_stopped(o) && !s->lsn_ended;
	     ++i) {
		memcpy(old, s->lsn_nodes, s->lsn_nodes_nr * sizeof *old);
		delay(s, a, o);
		if (o->lso_stopped(o) || s->lsn_ended)
			break;
		rc |= groups_take(s, a, o);
		for (j = 0; j < a->lsa_words_nr; ++j) {
			group = lst_group_find(s, a->lsa_words[j]);
			if (group != NULL)
				group_print(s, a, o, group, old);
		}
		(void)fflush(o->lso_out);
	}
	free(old);
	return rc == 0 ? TOOL_OK : TOOL_FAILED;
}

static bool has_errors(const struct lst_node *node)
{
	const struct m0_st_stats *stats = &node->lcn_stats;

	return node->lcn_stats_at == 0 || stats->sct_brw_errors > 0 ||
	       stats->sct_ping_errors > 0 || stats->sct_rpc_errors > 0 ||
	       stats->sct_rpc_dropped > 0 || stats->sct_rpc_expired > 0;
}

static void errors_print(const struct lst_node *node, struct lst_out *o)
{
	const struct m0_st_stats *stats = &node->lcn_stats;
	char                      text[M0_LNET_NIDSTR_SIZE];

	(void)m0_lnet_id_print(&node->lcn_id, text, sizeof text);
	if (node->lcn_stats_at == 0)
		fprintf(o->lso_out, "%s: %s\n", text,
			lst_state_name(node->lcn_state));
	else
		fprintf(o->lso_out,
			"%s: [Session %u brw errors, %u ping errors] "
			"[RPC: %u errors, %u dropped, %u expired]\n",
			text, stats->sct_brw_errors, stats->sct_ping_errors,
			stats->sct_rpc_errors, stats->sct_rpc_dropped,
			stats->sct_rpc_expired);
}

static void errors_json(const struct lst_node *node, struct json_t *item)
{
	const struct m0_st_stats *stats = &node->lcn_stats;

	lst_json_node(item, node);
	if (node->lcn_stats_at == 0)
		return;
	jout_num(item, "brw_errors", stats->sct_brw_errors);
	jout_num(item, "ping_errors", stats->sct_ping_errors);
	jout_num(item, "rpc_errors", stats->sct_rpc_errors);
	jout_num(item, "rpc_dropped", stats->sct_rpc_dropped);
	jout_num(item, "rpc_expired", stats->sct_rpc_expired);
}

/** Nodes with errors of a group. @return their number. */
static unsigned group_errors(const struct lst_session *s,
			     const struct lst_group   *group,
			     struct json_t *groups, struct lst_out *o)
{
	struct json_t *item = NULL;
	struct json_t *list = NULL;
	unsigned       nr = 0;
	unsigned       i;

	if (groups != NULL) {
		item = jout_append(groups);
		jout_str(item, "name", group->lgp_name);
		list = jout_array(item, "nodes");
	} else {
		fprintf(o->lso_out, "%s:\n", group->lgp_name);
	}
	for (i = 0; i < group->lgp_nodes_nr; ++i) {
		const struct lst_node *node =
			&s->lsn_nodes[group->lgp_nodes[i]];

		if (!has_errors(node))
			continue;
		++nr;
		if (groups != NULL)
			errors_json(node, jout_append(list));
		else
			errors_print(node, o);
	}
	if (groups == NULL)
		fprintf(o->lso_out, "Total %u error nodes in %s\n", nr,
			group->lgp_name);
	return nr;
}

int lst_show_error(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct json_t *tree = NULL;
	struct json_t *groups = NULL;
	unsigned       total = 0;
	unsigned       i;

	if (!groups_check(s, a, o, "show_error"))
		return TOOL_USAGE;
	(void)groups_take(s, a, o);
	if (a->lsa_json) {
		tree = jout_alloc();
		groups = jout_array(tree, "groups");
	}
	for (i = 0; i < a->lsa_words_nr; ++i)
		total += group_errors(s, lst_group_find(s, a->lsa_words[i]),
				      groups, o);
	if (tree != NULL)
		jout_finish(tree, o->lso_out);
	return total == 0 ? TOOL_OK : TOOL_FAILED;
}

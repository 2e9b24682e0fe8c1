/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests that are not about messages: information, probes, fault rules. A request
 * and its answer lie in a control record, by value.
 */
#include "node/node_internal.h"

/** Carries out a request. @return rqc_rc. */
typedef int (*verb_t)(struct m0_node *node, uint32_t nr);

/* ---------------------------------------------------------------- blocks -- */

static void block_free(struct m0_node_control *ctl)
{
	m0_free(ctl->nct_block);
	ctl->nct_block = NULL;
	ctl->nct_block_bytes = 0;
	ctl->nct_given_bytes = 0;
}

/* Puts the next piece of the block into the record. */
static int piece_give(struct m0_node *node, uint32_t nr)
{
	struct m0_node_control *ctl = m0_node__control(node, nr);
	struct m0_ring_control *record = m0_node__control_record(node, nr);
	size_t                  bytes;

	if (ctl->nct_block == NULL)
		return -ENODATA;
	M0_ASSERT(ctl->nct_given_bytes < ctl->nct_block_bytes);
	bytes = (size_t)min64u(ctl->nct_block_bytes - ctl->nct_given_bytes,
			       M0_RING_PIECE_BYTES);
	memcpy(record->rqc_piece, ctl->nct_block + ctl->nct_given_bytes, bytes);
	record->rqc_piece_bytes = (uint32_t)bytes;
	record->rqc_block_bytes = ctl->nct_block_bytes;
	ctl->nct_given_bytes += bytes;
	if (ctl->nct_given_bytes == ctl->nct_block_bytes)
		block_free(ctl);
	return 0;
}

/* The answer is this block, which is the node's from here on. */
static int block_give(struct m0_node *node, uint32_t nr, void *block,
		      size_t bytes)
{
	struct m0_node_control *ctl = m0_node__control(node, nr);

	M0_PRE(block != NULL && bytes > 0);
	/* A front may have left the one before. */
	block_free(ctl);
	ctl->nct_block = block;
	ctl->nct_block_bytes = bytes;
	return piece_give(node, nr);
}

void m0_node__answers_free(struct m0_node *node)
{
	const struct m0_ring_view *view = &node->nod_things[M0_RING_CONTROLS];
	uint32_t                   i;

	for (i = 0; view->rvi_chunks != NULL && i < M0_RING_CONTROLS_MAX &&
		    view->rvi_chunks[i / M0_RING_CHUNK_NR] != NULL;
	     ++i)
		block_free(m0_node__control(node, i));
}

/* ----------------------------------------------------------------- verbs -- */

/* Gives the front a record of the engine, completed by what the node knows. */
static int info_give(struct m0_node *node, uint32_t nr, int rc,
		     struct m0_lnet_info *info)
{
	M0_PRE_EX(m0_node__invariant(node));
	if (rc != 0)
		return rc;
	info->li_port = node->nod_cfg->lc_port;
	info->li_slice_ns = node->nod_slice_ns;
	m0_node__tunables_info(node->nod_cfg, info);
	return block_give(node, nr, info, m0_ring_info_pack(info));
}

static int info_do(struct m0_node *node, uint32_t nr)
{
	struct m0_lnet_info *info = NULL;
	int                  rc = m0_lnet_engine_info(node->nod_engine, &info);

	return info_give(node, nr, rc, info);
}

static int info_head_do(struct m0_node *node, uint32_t nr)
{
	struct m0_lnet_info *info = NULL;
	int rc = m0_lnet_engine_info_head(node->nod_engine, &info);

	rc = info_give(node, nr, rc, info);
	node->nod_slice_ns = 0;
	return rc;
}

static int peer_nis_get_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_choice choice =
		m0_node__control_record(node, nr)->rqc_choice;
	unsigned max =
		min_check(choice.rch_max, (uint32_t)M0_RING_PEER_NIS_MAX);
	struct m0_lnet_peer_ni_row *rows;
	int                         rc;

	M0_PRE_EX(m0_node__invariant(node));
	if (max == 0)
		return m0_lnet_engine_peer_nis(node->nod_engine,
					       &choice.rch_src, NULL, 0);
	M0_ALLOC_ARR(rows, max);
	if (rows == NULL)
		return -ENOMEM;
	rc = m0_lnet_engine_peer_nis(node->nod_engine, &choice.rch_src, rows,
				     max);
	if (rc <= 0) {
		m0_free(rows);
		return rc;
	}
	max = (unsigned)rc;
	rc = block_give(node, nr, rows, max * sizeof *rows);
	return rc == 0 ? (int)max : rc;
}

static int fault_add_do(struct m0_node *node, uint32_t nr)
{
	return m0_lnet_engine_fault_add(
		node->nod_engine,
		&m0_node__control_record(node, nr)->rqc_fault);
}

static int fault_del_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_choice *choice =
		&m0_node__control_record(node, nr)->rqc_choice;

	return m0_lnet_engine_fault_del(
		node->nod_engine, (enum m0_lnet_fault_kind)choice->rch_kind,
		&choice->rch_src, &choice->rch_dst);
}

static int fault_reset_do(struct m0_node *node, uint32_t nr)
{
	return m0_lnet_engine_fault_reset(
		node->nod_engine,
		(enum m0_lnet_fault_kind)m0_node__control_record(node, nr)
			->rqc_choice.rch_kind);
}

static int fault_get_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_choice *choice =
		&m0_node__control_record(node, nr)->rqc_choice;
	unsigned max = (unsigned)min64u(choice->rch_max, M0_LNET_FAULTS_MAX);
	struct m0_lnet_fault *rules;
	int                   rules_nr;
	int                   rc;

	M0_PRE_EX(m0_node__invariant(node));
	if (max == 0)
		return m0_lnet_engine_fault_get(
			node->nod_engine,
			(enum m0_lnet_fault_kind)choice->rch_kind, NULL, 0);
	M0_ALLOC_ARR(rules, max);
	if (rules == NULL)
		return -ENOMEM;
	rules_nr = m0_lnet_engine_fault_get(
		node->nod_engine, (enum m0_lnet_fault_kind)choice->rch_kind,
		rules, max);
	if (rules_nr <= 0) {
		m0_free(rules);
		return rules_nr;
	}
	max = (unsigned)min64u(max, (uint64_t)rules_nr);
	rc = block_give(node, nr, rules, max * sizeof *rules);
	return rc == 0 ? rules_nr : rc;
}

static int tap_add_do(struct m0_node *node, uint32_t nr)
{
	return m0_lnet_engine_tap_add(
		node->nod_engine, m0_node__control_record(node, nr)->rqc_tap);
}

static int tap_del_do(struct m0_node *node, uint32_t nr)
{
	return m0_lnet_engine_tap_del(
		node->nod_engine, m0_node__control_record(node, nr)->rqc_tap);
}

static int route_add_do(struct m0_node *node, uint32_t nr)
{
	M0_PRE_EX(m0_node__invariant(node));
	return m0_lnet_engine_route_add(
		node->nod_engine,
		&m0_node__control_record(node, nr)->rqc_route.rrt_attr);
}

static int route_del_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_lnet_route_attr *attr =
		&m0_node__control_record(node, nr)->rqc_route.rrt_attr;

	M0_PRE_EX(m0_node__invariant(node));
	return (int)m0_lnet_engine_route_del(node->nod_engine, attr->lra_net,
					     &attr->lra_gateway);
}

static int route_get_do(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_control    *record = m0_node__control_record(node, nr);
	uint64_t                   order = record->rqc_route.rrt_after;
	unsigned                   max = min_check(record->rqc_route.rrt_max,
						   (uint32_t)M0_RING_ROUTES_MAX);
	struct m0_lnet_route_info *routes = NULL;
	unsigned                   routes_nr;
	int                        rc;

	M0_PRE_EX(m0_node__invariant(node));
	if (max > 0) {
		M0_ALLOC_ARR(routes, max);
		if (routes == NULL)
			return -ENOMEM;
	}
	routes_nr =
		m0_lnet_engine_route_get(node->nod_engine, &order, routes, max);
	record->rqc_order = order;
	if (routes == NULL || routes_nr == 0) {
		m0_free(routes);
		return (int)routes_nr;
	}
	rc = block_give(node, nr, routes, routes_nr * sizeof *routes);
	return rc == 0 ? (int)routes_nr : rc;
}

static int routing_set_do(struct m0_node *node, uint32_t nr)
{
	M0_PRE_EX(m0_node__invariant(node));
	return m0_lnet_engine_routing_set(
		node->nod_engine,
		m0_node__control_record(node, nr)->rqc_routing.rrg_on != 0);
}

static int pools_set_do(struct m0_node *node, uint32_t nr)
{
	M0_PRE_EX(m0_node__invariant(node));
	m0_lnet_engine_pools_set(
		node->nod_engine,
		m0_node__control_record(node, nr)->rqc_routing.rrg_max);
	return 0;
}

static int routing_get_do(struct m0_node *node, uint32_t nr)
{
	M0_PRE_EX(m0_node__invariant(node));
	m0_lnet_engine_routing_get(
		node->nod_engine,
		&m0_node__control_record(node, nr)->rqc_routing.rrg_info);
	return 0;
}

static int udsp_add_do(struct m0_node *node, uint32_t nr)
{
	M0_PRE_EX(m0_node__invariant(node));
	return m0_lnet_engine_udsp_add(
		node->nod_engine,
		&m0_node__control_record(node, nr)->rqc_udsp.rud_rule);
}

static int udsp_del_do(struct m0_node *node, uint32_t nr)
{
	M0_PRE_EX(m0_node__invariant(node));
	return m0_lnet_engine_udsp_del(
		node->nod_engine,
		m0_node__control_record(node, nr)->rqc_udsp.rud_idx);
}

static int udsp_get_do(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_control    *record = m0_node__control_record(node, nr);
	const struct m0_ring_udsp *udsp = &record->rqc_udsp;
	uint32_t                   first = udsp->rud_first;
	uint32_t                   max = udsp->rud_max;
	unsigned                   rules_nr =
		m0_lnet_engine_udsp_get(node->nod_engine, 0, NULL, 0);
	struct m0_lnet_udsp *rules;
	int                  rc;

	M0_PRE_EX(m0_node__invariant(node));
	max = first >= rules_nr ? 0 : min_check(max, rules_nr - first);
	if (max == 0)
		return (int)rules_nr;
	M0_ALLOC_ARR(rules, max);
	if (rules == NULL)
		return -ENOMEM;
	(void)m0_lnet_engine_udsp_get(node->nod_engine, first, rules, max);
	rc = block_give(node, nr, rules, max * sizeof *rules);
	return rc == 0 ? (int)rules_nr : rc;
}

static int udsp_effect_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_udsp *udsp =
		&m0_node__control_record(node, nr)->rqc_udsp;
	struct m0_lnet_effect  after = { .lef_last = udsp->rud_last,
					 .lef_changes_nr =
						 udsp->rud_changes_nr };
	struct m0_lnet_effect *effect;
	int                    rc;

	M0_PRE_EX(m0_node__invariant(node));
	rc = m0_lnet_engine_effect(
		node->nod_engine,
		udsp->rud_is_del != 0 ? NULL : &udsp->rud_rule, udsp->rud_idx,
		udsp->rud_is_next != 0 ? &after : NULL, &effect);
	return rc != 0 ? rc
		       : block_give(
				 node, nr, effect,
				 sizeof *effect +
					 effect->lef_shifts_nr *
						 sizeof effect->lef_shifts[0]);
}

static int dist_do(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_dist *dist =
		&m0_node__control_record(node, nr)->rqc_dist;

	M0_PRE_EX(m0_node__invariant(node));
	return m0_lnet_engine_dist(node->nod_engine, &dist->rdi_dst,
				   &dist->rdi_src, &dist->rdi_order);
}

static int explain_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_dist *dist =
		&m0_node__control_record(node, nr)->rqc_dist;
	struct m0_lnet_explain *explain;
	int                     rc;

	M0_PRE_EX(m0_node__invariant(node));
	rc = m0_lnet_engine_explain(node->nod_engine, &dist->rdi_dst,
				    &dist->rdi_src, &explain);
	return rc != 0 ? rc
		       : block_give(
				 node, nr, explain,
				 sizeof *explain +
					 explain->lex_paths_nr *
						 sizeof explain->lex_paths[0]);
}

static int tune_do(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_tune *tune =
		&m0_node__control_record(node, nr)->rqc_tune;

	M0_PRE_EX(m0_node__invariant(node));
	if (tune->rtu_which >= M0_LNET_TUNABLES_NR)
		return -EINVAL;
	m0_lnet__tunable_range((enum m0_lnet_tunable)tune->rtu_which,
			       &tune->rtu_min, &tune->rtu_max);
	return m0_lnet_engine_tune(node->nod_engine,
				   (enum m0_lnet_tunable)tune->rtu_which,
				   tune->rtu_value);
}

static int tunables_get_do(struct m0_node *node, uint32_t nr)
{
	M0_PRE_EX(m0_node__invariant(node));
	m0_lnet_engine_tunables(
		node->nod_engine,
		m0_node__control_record(node, nr)->rqc_tune.rtu_values);
	return 0;
}

static int health_set_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_peer *peer =
		&m0_node__control_record(node, nr)->rqc_peer;

	M0_PRE_EX(m0_node__invariant(node));
	if (peer->rpe_health > M0_LNET_HEALTH_MAX)
		return -EINVAL;
	return (int)m0_lnet_engine_health_set(
		node->nod_engine, (enum m0_lnet_health_of)peer->rpe_health_of,
		&peer->rpe_nid, peer->rpe_health);
}

static int peer_add_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_peer *peer =
		&m0_node__control_record(node, nr)->rqc_peer;

	M0_PRE_EX(m0_node__invariant(node));
	return m0_lnet_engine_peer_add(node->nod_engine, &peer->rpe_nid,
				       peer->rpe_nids, peer->rpe_nids_nr,
				       peer->rpe_multi_rail != 0);
}

static int peer_del_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_peer *peer =
		&m0_node__control_record(node, nr)->rqc_peer;

	M0_PRE_EX(m0_node__invariant(node));
	return m0_lnet_engine_peer_del(node->nod_engine, &peer->rpe_nid,
				       peer->rpe_nids, peer->rpe_nids_nr);
}

static int nids_get_do(struct m0_node *node, uint32_t nr)
{
	size_t bytes = node->nod_nids_nr * sizeof node->nod_nids[0];
	void  *block = m0_alloc(bytes);
	int    rc;

	M0_PRE_EX(m0_node__invariant(node));
	if (block == NULL)
		return -ENOMEM;
	memcpy(block, node->nod_nids, bytes);
	m0_node__control_record(node, nr)->rqc_version = node->nod_nids_version;
	rc = block_give(node, nr, block, bytes);
	return rc == 0 ? (int)node->nod_nids_nr : rc;
}

static int stats_get_do(struct m0_node *node, uint32_t nr)
{
	struct m0_lnet_stats *stats = m0_alloc(sizeof *stats);

	if (stats == NULL)
		return -ENOMEM;
	*stats = *m0_lnet_engine_counters(node->nod_engine);
	return block_give(node, nr, stats, sizeof *stats);
}

static void probe_do(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_probe *rpb =
		&m0_node__control_record(node, nr)->rqc_probe;
	struct m0_node_control *ctl = m0_node__control(node, nr);
	struct m0_lnet_probe   *probe = &ctl->nct_probe;

	M0_SET0(probe);
	probe->pr_kind = (enum m0_lnet_probe_kind)rpb->rpb_kind;
	probe->pr_nid = rpb->rpb_nid;
	probe->pr_self = rpb->rpb_self;
	probe->pr_timeout_ms = rpb->rpb_timeout_ms;
	probe->pr_force = rpb->rpb_force;
	m0_list_link_init(&probe->pr_link);
	ctl->nct_nr = nr;
	M0_PRE_EX(m0_node__invariant(node));
	m0_lnet_engine_probe(node->nod_engine, probe);
}

/* A probe goes on after it has begun. */
static const verb_t verbs[M0_RING_VERBS_NR] = {
	[M0_RING_INFO] = info_do,
	[M0_RING_FAULT_ADD] = fault_add_do,
	[M0_RING_FAULT_DEL] = fault_del_do,
	[M0_RING_FAULT_RESET] = fault_reset_do,
	[M0_RING_FAULT_GET] = fault_get_do,
	[M0_RING_ROUTE_ADD] = route_add_do,
	[M0_RING_ROUTE_DEL] = route_del_do,
	[M0_RING_ROUTE_GET] = route_get_do,
	[M0_RING_ROUTING_SET] = routing_set_do,
	[M0_RING_POOLS_SET] = pools_set_do,
	[M0_RING_ROUTING_GET] = routing_get_do,
	[M0_RING_UDSP_ADD] = udsp_add_do,
	[M0_RING_UDSP_DEL] = udsp_del_do,
	[M0_RING_UDSP_GET] = udsp_get_do,
	[M0_RING_UDSP_EFFECT] = udsp_effect_do,
	[M0_RING_DIST] = dist_do,
	[M0_RING_EXPLAIN] = explain_do,
	[M0_RING_TUNE] = tune_do,
	[M0_RING_TUNABLES_GET] = tunables_get_do,
	[M0_RING_HEALTH_SET] = health_set_do,
	[M0_RING_PEER_ADD] = peer_add_do,
	[M0_RING_PEER_DEL] = peer_del_do,
	[M0_RING_NET_ADD] = m0_node__net_add,
	[M0_RING_NET_DEL] = m0_node__net_del,
	[M0_RING_NIDS_GET] = nids_get_do,
	[M0_RING_MORE] = piece_give,
	[M0_RING_STATS_GET] = stats_get_do,
	[M0_RING_INFO_HEAD] = info_head_do,
	[M0_RING_PEER_NIS_GET] = peer_nis_get_do,
	[M0_RING_TAP_ADD] = tap_add_do,
	[M0_RING_TAP_DEL] = tap_del_do,
};

/* --------------------------------------------------------------- answers -- */

void m0_node__answer(struct m0_node *node, uint32_t nr)
{
	m0_node__post(node, M0_RING_ANSWER,
		      (struct m0_lnet_handle){ .lh_slot = nr },
		      &m0_node__control(node, nr)->nct_answer);
}

/* A read that comes again and again: the longest is noted, since messages wait for it. */
static int slice_do(struct m0_node *node, uint32_t nr, uint32_t verb)
{
	m0_time_t began = m0_time_now();
	int       rc = verbs[verb](node, nr);

	node->nod_slice_ns =
		max64u(node->nod_slice_ns, m0_time_sub(m0_time_now(), began));
	return rc;
}

void m0_node_control(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_control *record = m0_node__control_record(node, nr);

	M0_PRE(record->rqc_verb < M0_RING_VERBS_NR &&
	       verbs[record->rqc_verb] != NULL);
	/* An answer has a block only if the verb gives one. */
	record->rqc_block_bytes = 0;
	if (M0_IN(record->rqc_verb,
		  (M0_RING_INFO_HEAD, M0_RING_PEER_NIS_GET, M0_RING_ROUTE_GET)))
		record->rqc_rc = slice_do(node, nr, record->rqc_verb);
	else
		record->rqc_rc = verbs[record->rqc_verb](node, nr);
}

void m0_node__control_do(struct m0_node             *node,
			 const struct m0_ring_entry *entry)
{
	uint32_t                nr = entry->rqe_nr;
	struct m0_ring_control *record = m0_node__control_record(node, nr);

	if (record->rqc_verb == M0_RING_PROBE) {
		probe_do(node, nr);
		return;
	}
	m0_node_control(node, nr);
	/* An addition that fails stops what it has started. */
	if (M0_IN(record->rqc_verb, (M0_RING_NET_ADD, M0_RING_NET_DEL)) &&
	    node->nod_state == M0_NODE_OPEN && m0_node__is_leaving(node)) {
		m0_node__leaving_add(node, nr);
		return;
	}
	m0_node__answer(node, nr);
}

void m0_node_probe_cancel(struct m0_node *node, uint32_t nr)
{
	m0_lnet_engine_probe_cancel(node->nod_engine,
				    &m0_node__control(node, nr)->nct_probe);
}

void m0_node__probe_done(void *owner, struct m0_lnet_probe *probe)
{
	struct m0_node         *node = owner;
	struct m0_node_control *ctl =
		container_of(probe, struct m0_node_control, nct_probe);
	struct m0_ring_control *record =
		m0_node__control_record(node, ctl->nct_nr);
	struct m0_ring_probe *rpb = &record->rqc_probe;
	unsigned              i;

	M0_PRE(record->rqc_verb == M0_RING_PROBE && probe->pr_status <= 0);
	M0_PRE(probe->pr_nids_nr <= ARRAY_SIZE(rpb->rpb_nids));
	rpb->rpb_source = probe->pr_source;
	rpb->rpb_primary = probe->pr_primary;
	rpb->rpb_pid = probe->pr_pid;
	rpb->rpb_features = probe->pr_features;
	rpb->rpb_multi_rail = probe->pr_multi_rail;
	rpb->rpb_took_ns = probe->pr_took_ns;
	rpb->rpb_nids_nr = probe->pr_nids_nr;
	for (i = 0; i < probe->pr_nids_nr; ++i) {
		rpb->rpb_nids[i] = probe->pr_nids[i];
		rpb->rpb_nids_up[i] = probe->pr_nids_up[i];
	}
	record->rqc_rc = probe->pr_status;
	m0_node__answer(node, ctl->nct_nr);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Making a node: records, engine, drivers, interfaces.
 */
#include "node/node_internal.h"

static m0_time_t ms(uint64_t nr)
{
	return nr * M0_TIME_ONE_MSEC;
}

uint32_t m0_node_records_max(const struct m0_lnet_cfg *cfg,
			     enum m0_ring_table        table)
{
	switch (table) {
	case M0_RING_MES:
		return cfg->lc_mes_max;
	case M0_RING_MDS:
		return cfg->lc_mds_max;
	case M0_RING_OPS:
	case M0_RING_INCOMINGS:
		return m0_node_share_max(cfg);
	case M0_RING_EQS:
		return M0_NODE_EQS_MAX;
	case M0_RING_CONTROLS:
		return M0_RING_CONTROLS_MAX;
	default:
		return M0_RING_SEGS_MAX;
	}
}

static const size_t thing_bytes[M0_RING_TABLES_NR] = {
	[M0_RING_MES] = sizeof(struct m0_node_me),
	[M0_RING_MDS] = sizeof(struct m0_node_md),
	[M0_RING_OPS] = sizeof(struct m0_node_op),
	[M0_RING_INCOMINGS] = sizeof(struct m0_node_incoming),
	[M0_RING_EQS] = sizeof(struct m0_node_eq),
	[M0_RING_SEGS] = sizeof(struct m0_node_segs),
	[M0_RING_CONTROLS] = sizeof(struct m0_node_control),
};

static size_t chunk_bytes(enum m0_ring_table table)
{
	return thing_bytes[table] * M0_RING_CHUNK_NR;
}

void *m0_node_chunk(enum m0_ring_table table)
{
	M0_PRE(table < M0_RING_TABLES_NR);
	/* Zeroed: no record has an entry that waits. */
	return m0_alloc_aligned(chunk_bytes(table), 6);
}

void m0_node_chunk_free(enum m0_ring_table table, void *chunk)
{
	m0_free_aligned(chunk, chunk_bytes(table), 6);
}

/* The operations of a chunk: what of them never changes. */
static void ops_add(struct m0_node *node, uint32_t first)
{
	uint32_t i;

	for (i = first; i < first + M0_RING_CHUNK_NR; ++i) {
		struct m0_node_op *nop = m0_node__op(node, i);
		struct m0_ring_op *record = m0_node__op_record(node, i);

		nop->nop_msg.nms_kind = M0_NODE_MSG_OP;
		nop->nop_msg.nms_nr = i;
		nop->nop_msg.nms_msg.msg_event[0] =
			m0_node__event(&record->rop_event[0]);
		nop->nop_msg.nms_msg.msg_event[1] =
			m0_node__event(&record->rop_event[1]);
		nop->nop_event[0].rgp_waits = false;
		nop->nop_event[1].rgp_waits = false;
		nop->nop_done.rgp_waits = false;
	}
}

void m0_node_chunk_add(struct m0_node *node, enum m0_ring_table table,
		       uint32_t chunk_nr, void *records, void *things)
{
	uint32_t first = chunk_nr * M0_RING_CHUNK_NR;
	uint32_t i;

	M0_PRE(records != NULL && things != NULL);
	M0_PRE(chunk_nr < node->nod_records[table].rvi_chunks_max);
	M0_PRE(node->nod_records[table].rvi_chunks[chunk_nr] == NULL);
	node->nod_records[table].rvi_chunks[chunk_nr] = records;
	node->nod_things[table].rvi_chunks[chunk_nr] = things;
	if (table == M0_RING_OPS)
		ops_add(node, first);
	if (table == M0_RING_INCOMINGS)
		m0_node__incomings_add(node, first);
	for (i = first; table == M0_RING_EQS && i < first + M0_RING_CHUNK_NR;
	     ++i)
		m0_node__eq(node, i)->neq_passed.rgp_waits = false;
}

static int views_init(struct m0_node *node)
{
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < M0_RING_TABLES_NR; ++i) {
		uint32_t max = m0_node_records_max(node->nod_cfg,
						   (enum m0_ring_table)i);

		rc = m0_ring_view_init(&node->nod_records[i], max);
		if (rc == 0)
			rc = m0_ring_view_init(&node->nod_things[i], max);
	}
	return rc;
}

int m0_node_create(struct m0_node **ret, const struct m0_lnet_cfg *cfg,
		   struct m0_ring *ring, const struct m0_node_host *host,
		   void *arg)
{
	struct m0_node *node;
	int             rc;

	M0_PRE(host->nho_grow != NULL && host->nho_call != NULL);
	M0_PRE((uintptr_t)ring % 64 == 0);
	M0_ALLOC_PTR(node);
	if (node == NULL)
		return -ENOMEM;
	node->nod_ring = ring;
	node->nod_host = host;
	node->nod_host_arg = arg;
	node->nod_do = m0_node__do;
	node->nod_share_max = m0_node_share_max(cfg);
	m0_list_init(&node->nod_leaving);
	m0_ring_in_init(&node->nod_down, &ring->rng_down);
	m0_ring_out_init(&node->nod_up, &ring->rng_up);
	m0_list_init(&node->nod_mems);
	M0_ALLOC_PTR(node->nod_cfg);
	rc = -ENOMEM;
	if (node->nod_cfg != NULL) {
		*node->nod_cfg = *cfg;
		rc = views_init(node);
	}
	if (rc != 0) {
		m0_node_destroy(node);
		return rc;
	}
	*ret = node;
	return 0;
}

void m0_node_stop(struct m0_node *node)
{
	if (node->nod_engine != NULL)
		m0_lnet_engine_destroy(node->nod_engine);
	node->nod_engine = NULL;
	m0_node__mems_fini(node);
	while (node->nod_lnds_nr > 0) {
		struct m0_lnd *lnd = node->nod_lnds[--node->nod_lnds_nr];

		lnd->ld_ops->ldo_fini(lnd);
	}
	if (node->nod_reactor != NULL)
		node->nod_reactor->rtr_ops->rtro_destroy(node->nod_reactor);
	node->nod_reactor = NULL;
}

void m0_node_destroy(struct m0_node *node)
{
	unsigned i;
	uint32_t k;

	M0_PRE(node->nod_engine == NULL && node->nod_lnds_nr == 0);
	m0_node__answers_free(node);
	for (i = 0; i < M0_RING_TABLES_NR; ++i) {
		struct m0_ring_view *things = &node->nod_things[i];

		for (k = 0;
		     things->rvi_chunks != NULL && k < things->rvi_chunks_max;
		     ++k)
			if (things->rvi_chunks[k] != NULL)
				m0_node_chunk_free((enum m0_ring_table)i,
						   things->rvi_chunks[k]);
		m0_ring_view_fini(things);
		m0_ring_view_fini(&node->nod_records[i]);
	}
	m0_free(node->nod_cfg);
	m0_free(node);
}

static int engine_make(struct m0_node *node, m0_time_t now)
{
	const struct m0_lnet_cfg         *cfg = node->nod_cfg;
	const struct m0_lnet_routing_cfg *routing = &cfg->lc_routing;
	struct m0_lnet_engine_cfg         ecfg = {
		.lec_pid = M0_LNET_PID_LUSTRE,
		.lec_portals_nr = cfg->lc_portals_nr,
		.lec_peers_max = cfg->lc_peers_max,
		.lec_msgs_max = cfg->lc_msgs_max,
		.lec_peer_credits = cfg->lc_peer_credits,
		.lec_credits = cfg->lc_credits,
		.lec_discovery = cfg->lc_discovery,
		.lec_transaction_timeout_ns =
			ms(cfg->lc_transaction_timeout_ms),
		.lec_route = {
			.lrc_check_ns = ms(routing->lgc_check_ms),
			.lrc_ping_ns = ms(routing->lgc_ping_ms),
			.lrc_check_first = routing->lgc_check_first,
			.lrc_avoid_asym = routing->lgc_avoid_asym,
			.lrc_drop_asym = routing->lgc_drop_asym,
			.lrc_use_down = routing->lgc_use_down,
			.lrc_cut_through = routing->lgc_cut_through,
			.lrc_splice = routing->lgc_splice,
			.lrc_forward_ns = ms(cfg->lc_timeout_ms),
			.lrc_buffers = { routing->lgc_buffers[0],
					 routing->lgc_buffers[1],
					 routing->lgc_buffers[2] },
			.lrc_bytes = routing->lgc_bytes,
		},
		.lec_health = {
			.lhe_sensitivity = cfg->lc_health.lhc_sensitivity,
			.lhe_retries = cfg->lc_health.lhc_retry_count,
			.lhe_limit_ns =
				ms(cfg->lc_health.lhc_recovery_limit_ms),
			.lhe_ping_max_ns = ms(cfg->lc_health.lhc_ping_max_ms),
		},
		.lec_owner_ops = &m0_node__ops,
		.lec_owner = node,
	};

	m0_os_random(&ecfg.lec_cookie, sizeof ecfg.lec_cookie);
	return m0_lnet_engine_create(&node->nod_engine, &ecfg, now);
}

/* Does the configuration have a network that this driver serves? */
static bool is_wanted(const struct m0_lnet_cfg *cfg,
		      const struct m0_lnd_row  *row)
{
	unsigned i;

	for (i = 0; i < cfg->lc_nets_nr; ++i)
		if (m0_lnd_row_has(row,
				   m0_lnet_net_type(cfg->lc_nets[i].lnc_net)))
			return true;
	return m0_lnd_row_has(row, M0_LNET_TYPE_LO) ||
	       (cfg->lc_nets_nr == 0 && m0_lnd_row_has(row, M0_LNET_TYPE_TCP));
}

static int lnds_make(struct m0_node *node, char *why)
{
	const struct m0_lnd_row *row;
	unsigned                 i;
	int                      rc = 0;

	for (i = 0; rc == 0 && (row = m0_lnd_row_at(i)) != NULL; ++i)
		if (is_wanted(node->nod_cfg, row))
			rc = m0_node__lnd_make(node, row, why);
	return rc;
}

static int reactor_make(struct m0_node *node, struct m0_strand *strand,
			char *why)
{
	int rc = node->nod_host_ops->hso_reactor_create(&node->nod_reactor);

	if (rc != 0)
		return m0_node_why(why, rc, "sockets cannot be watched: %s",
				   m0_errname(rc));
	node->nod_reactor->rtr_now = m0_time_now();
	if (node->nod_reactor->rtr_ops->rtro_strand_set != NULL)
		node->nod_reactor->rtr_ops->rtro_strand_set(node->nod_reactor,
							    strand);
	return 0;
}

/* Engine and drivers, bottom up; what was made stays on failure. */
static int parts_make(struct m0_node *node, char *why)
{
	int rc = engine_make(node, node->nod_reactor->rtr_now);

	if (rc == 0)
		rc = lnds_make(node, why);
	if (rc == 0 || why[0] != 0)
		return rc;
	return m0_node_why(why, rc, "the node cannot be made: %s",
			   m0_errname(rc));
}

static bool nid_is_own(const struct m0_node     *node,
		       const struct m0_lnet_nid *nid)
{
	unsigned i;

	for (i = 0; i < node->nod_nids_nr; ++i)
		if (m0_lnet_nid_eq(&node->nod_nids[i], nid))
			return true;
	return false;
}

/*
 * Adds a route. All nodes may have the same text of routes, so one to a network of
 * this node, or by a gateway that it does not reach, is left out.
 */
static int route_start(struct m0_node                  *node,
		       const struct m0_lnet_route_attr *attr, char *why)
{
	int  rc = m0_lnet_engine_route_add(node->nod_engine, attr);
	char net[M0_LNET_NIDSTR_SIZE];
	char nid[M0_LNET_NIDSTR_SIZE];

	if (rc == 0)
		return 0;
	(void)m0_lnet_net_print(attr->lra_net, net, sizeof net);
	(void)m0_lnet_nid_print(&attr->lra_gateway, nid, sizeof nid);
	if (!M0_IN(rc, (-EEXIST, -EHOSTUNREACH)))
		return m0_node_why(why, rc, "the route to %s by %s: %s", net,
				   nid, m0_lnet_route_flaw(rc));
	m0_log(M0_LOG_INFO, "lnet: the route to %s by %s is left out: %s", net,
	       nid, m0_lnet_route_flaw(rc));
	return 0;
}

/* Routes and routing of the configuration. A gateway that is this node makes it a
 * router. */
static int routing_start(struct m0_node *node, char *why)
{
	const struct m0_lnet_routing_cfg *cfg = &node->nod_cfg->lc_routing;
	bool                              on = cfg->lgc_on;
	unsigned                          i;
	int                               rc = 0;

	M0_PRE(node->nod_engine != NULL);
	for (i = 0; rc == 0 && i < cfg->lgc_routes_nr; ++i) {
		if (nid_is_own(node, &cfg->lgc_routes[i].lra_gateway))
			on = true;
		else
			rc = route_start(node, &cfg->lgc_routes[i], why);
	}
	if (rc == 0 && on)
		rc = m0_lnet_engine_routing_set(node->nod_engine, true);
	return rc;
}

static int nis_start(struct m0_node *node, const struct m0_node_iface *ifaces,
		     unsigned nr, char *why)
{
	uint64_t incarnation = m0_os_wall_ns();
	unsigned i;
	int      rc;

	m0_lnet_engine_time(node->nod_engine, m0_time_now());
	rc = m0_node__ni_start(node, &m0_lnet_nid_lo, "lo", incarnation, why);
	for (i = 0; rc == 0 && i < nr; ++i)
		rc = m0_node__ni_start(node, &ifaces[i].nif_nid,
				       ifaces[i].nif_device, incarnation, why);
	return rc == 0 ? routing_start(node, why) : rc;
}

int m0_node_start(struct m0_node *node, struct m0_strand *strand,
		  const struct m0_host_ops *ops, char *why)
{
	struct m0_node_iface *ifaces;
	unsigned              nr = 0;
	int                   rc;

	M0_PRE(node->nod_engine == NULL && node->nod_reactor == NULL);
	M0_ALLOC_ARR(ifaces, M0_NODE_NIS_MAX);
	if (ifaces == NULL)
		return -ENOMEM;
	node->nod_host_ops = ops;
	rc = reactor_make(node, strand, why);
	if (rc == 0)
		rc = m0_node__ifaces_find(node, node->nod_cfg, ifaces, &nr,
					  why);
	if (rc == 0)
		rc = parts_make(node, why);
	if (rc == 0)
		rc = nis_start(node, ifaces, nr, why);
	m0_free(ifaces);
	return rc;
}

/* ----------------------------------------------------------------- turns -- */

enum {
	/** Limit of the turns of a round. */
	TURNS_MAX = 16
};

static m0_time_t lnds_step(struct m0_node *node, m0_time_t now)
{
	m0_time_t next = M0_TIME_NEVER;
	unsigned  i;

	node->nod_reactor->rtr_called = false;
	for (i = 0; i < node->nod_lnds_nr; ++i) {
		struct m0_lnd *lnd = node->nod_lnds[i];

		next = min64u(next, lnd->ld_ops->ldo_step(lnd, now));
	}
	return next;
}

/*
 * Runs drivers and engine in turns until neither has more for the other.
 */
m0_time_t m0_node_turns(struct m0_node *node, m0_time_t now)
{
	m0_time_t lnds;
	m0_time_t next;
	int       i = 0;

	M0_PRE_EX(m0_node__invariant(node));
	do {
		lnds = lnds_step(node, now);
		next = m0_lnet_engine_step(node->nod_engine, now);
	} while ((lnds == M0_TIME_IMMEDIATELY || next <= now) &&
		 ++i < TURNS_MAX);
	if (M0_UNLIKELY(!m0_list_is_empty(&node->nod_leaving)))
		m0_node__left(node);
	/* The engine's deadline is that of its last step. */
	return min64u(next, min64u(lnds, lnds_step(node, now)));
}

bool m0_node_has_nis(const struct m0_node *node)
{
	return node->nod_engine != NULL &&
	       m0_lnet_engine_nis_nr(node->nod_engine) > 0;
}

void m0_node_time(struct m0_node *node, m0_time_t now)
{
	M0_PRE_EX(node->nod_engine != NULL && now > 0);
	m0_lnet_engine_time(node->nod_engine, now);
	node->nod_reactor->rtr_now = now;
}

uint64_t m0_node_moved_nr(const struct m0_node *node)
{
	const struct m0_lnet_stats *st =
		m0_lnet_engine_counters(node->nod_engine);

	return st->ls_send_count + st->ls_recv_count + st->ls_drop_count;
}

const struct m0_lnet_stats *m0_node_counters(const struct m0_node *node)
{
	return m0_lnet_engine_counters(node->nod_engine);
}

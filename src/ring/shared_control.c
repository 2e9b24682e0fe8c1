/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests in control records. A client may ask and probe; requests that change the
 * node for all its clients need the right of an administrator.
 */
#include "ring/shared_entry.h"

enum {
	/** Longest time-out of a probe: a day. */
	PROBE_MS_MAX = 24 * 3600 * 1000,
	/** Most buffers of a pool. */
	POOL_MAX = 1 << 20
};

/* A record is copied by words, and has its place in a line of the area. */
_Static_assert(sizeof(struct m0_ring_control) % M0_SHARED_LINE_BYTES == 0 &&
		       sizeof(struct m0_ring_control) <=
			       M0_SHARED_CONTROL_BYTES_MAX,
	       "a control record fits");

static const uint8_t rights[M0_RING_VERBS_NR] = {
	[M0_RING_INFO] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_PROBE] = M0_SHARED_RIGHT_PROBE,
	[M0_RING_FAULT_ADD] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_FAULT_DEL] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_FAULT_RESET] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_FAULT_GET] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_ROUTE_ADD] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_ROUTE_DEL] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_ROUTE_GET] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_ROUTING_SET] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_POOLS_SET] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_ROUTING_GET] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_UDSP_ADD] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_UDSP_DEL] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_UDSP_GET] = M0_SHARED_RIGHT_QUERY,
	/* Its work grows with the peers and rules of the node. */
	[M0_RING_UDSP_EFFECT] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_DIST] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_EXPLAIN] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_TUNE] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_TUNABLES_GET] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_HEALTH_SET] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_PEER_ADD] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_PEER_DEL] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_NET_ADD] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_NET_DEL] = M0_SHARED_RIGHT_ADMIN,
	[M0_RING_NIDS_GET] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_MORE] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_STATS_GET] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_INFO_HEAD] = M0_SHARED_RIGHT_QUERY,
	[M0_RING_PEER_NIS_GET] = M0_SHARED_RIGHT_QUERY,
	/* A pointer of another process. */
	[M0_RING_TAP_ADD] = M0_SHARED_RIGHT_NONE,
	[M0_RING_TAP_DEL] = M0_SHARED_RIGHT_NONE,
};

enum m0_shared_right m0_shared_verb_right(uint32_t verb)
{
	return verb < M0_RING_VERBS_NR ? (enum m0_shared_right)rights[verb]
				       : M0_SHARED_RIGHT_NONE;
}

static int probe_check(const struct m0_ring_probe *probe,
		       struct m0_shared_why       *why)
{
	int rc;

	rc = m0_shared__range(why, "probe_kind", probe->rpb_kind, M0_LNET_PING,
			      M0_LNET_DISCOVER);
	if (rc == 0)
		rc = m0_shared__nid(why, "probe_nid", &probe->rpb_nid);
	if (rc == 0)
		rc = m0_shared__range(why, "probe_nid type",
				      probe->rpb_nid.ln_type, 0,
				      M0_LNET_TYPE_ANY - 1);
	if (rc == 0)
		rc = m0_shared__nid(why, "probe_self", &probe->rpb_self);
	if (rc == 0)
		rc = m0_shared__range(why, "probe_timeout_ms",
				      probe->rpb_timeout_ms, 0, PROBE_MS_MAX);
	if (rc == 0)
		rc = m0_shared__range(why, "probe_force", probe->rpb_force, 0,
				      1);
	return rc;
}

static int choice_check(const struct m0_ring_choice *choice,
			struct m0_shared_why        *why)
{
	int rc;

	rc = m0_shared__range(why, "choice_max", choice->rch_max, 0,
			      M0_LNET_FAULTS_MAX);
	if (rc == 0)
		rc = m0_shared__range(why, "choice_kind", choice->rch_kind,
				      M0_LNET_FAULT_DROP, M0_LNET_FAULT_ANY);
	if (rc == 0)
		rc = m0_shared__nid(why, "choice_src", &choice->rch_src);
	if (rc == 0)
		rc = m0_shared__nid(why, "choice_dst", &choice->rch_dst);
	return rc;
}

static int peer_nis_check(const struct m0_ring_choice *choice,
			  struct m0_shared_why        *why)
{
	int rc = m0_shared__range(why, "choice_max", choice->rch_max, 0,
				  M0_RING_PEER_NIS_MAX);

	return rc == 0 ? m0_shared__nid(why, "choice_src", &choice->rch_src)
		       : rc;
}

static int dist_check(const struct m0_ring_dist *dist, bool has_src,
		      struct m0_shared_why *why)
{
	int rc;

	rc = m0_shared__nid(why, "dist_dst", &dist->rdi_dst);
	if (rc == 0)
		rc = m0_shared__range(why, "dist_dst type",
				      dist->rdi_dst.ln_type, 0,
				      M0_LNET_TYPE_ANY - 1);
	if (rc == 0 && has_src)
		rc = m0_shared__nid(why, "dist_src", &dist->rdi_src);
	return rc;
}

/* -- requests of administrators -------------------------------------------- */

/* Their fields are such that the node can read them; what they mean is checked where the
 * node of a process checks it, too. */

/* A byte that is no bool must not be read as one. */
static int bool_check(struct m0_shared_why *why, const char *field,
		      const bool *value)
{
	uint8_t byte;

	memcpy(&byte, value, sizeof byte);
	return m0_shared__range(why, field, byte, 0, 1);
}

static int fault_check(const struct m0_lnet_fault_attr *attr,
		       struct m0_shared_why            *why)
{
	int rc;

	rc = m0_shared__range(why, "fault_kind", (uint32_t)attr->lfa_kind,
			      M0_LNET_FAULT_DROP, M0_LNET_FAULT_ANY - 1);
	if (rc == 0)
		rc = m0_shared__nid(why, "fault_src", &attr->lfa_src);
	if (rc == 0)
		rc = m0_shared__nid(why, "fault_dst", &attr->lfa_dst);
	if (rc == 0)
		rc = m0_shared__nid(why, "fault_local", &attr->lfa_local);
	if (rc == 0)
		rc = bool_check(why, "fault_all", &attr->lfa_all);
	if (rc == 0)
		rc = bool_check(why, "fault_random", &attr->lfa_random);
	if (rc == 0)
		rc = bool_check(why, "fault_header", &attr->lfa_header);
	return rc;
}

static int pools_check(const struct m0_ring_routing *routing,
		       struct m0_shared_why         *why)
{
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < M0_LNET_POOLS_NR; ++i)
		rc = m0_shared__range(why, "routing_max", routing->rrg_max[i],
				      0, POOL_MAX);
	return rc;
}

static int effect_check(const struct m0_ring_udsp *udsp,
			struct m0_shared_why      *why)
{
	int rc = m0_shared__range(why, "udsp_is_del", udsp->rud_is_del, 0, 1);

	if (rc == 0)
		rc = m0_shared__range(why, "udsp_is_next", udsp->rud_is_next, 0,
				      1);
	return rc == 0 ? m0_shared__nid(why, "udsp_last", &udsp->rud_last) : rc;
}

static int health_check(const struct m0_ring_peer *peer,
			struct m0_shared_why      *why)
{
	int rc = m0_shared__range(why, "peer_health_of", peer->rpe_health_of,
				  M0_LNET_HEALTH_OF_NIS,
				  M0_LNET_HEALTH_OF_PEERS);

	return rc == 0 ? m0_shared__nid(why, "peer_nid", &peer->rpe_nid) : rc;
}

static int peer_check(const struct m0_ring_peer *peer,
		      struct m0_shared_why      *why)
{
	uint32_t i;
	int      rc;

	rc = m0_shared__range(why, "peer_nids_nr", peer->rpe_nids_nr, 0,
			      M0_LNET_PEER_NIDS_MAX);
	if (rc == 0)
		rc = m0_shared__nid(why, "peer_nid", &peer->rpe_nid);
	for (i = 0; rc == 0 && i < peer->rpe_nids_nr; ++i)
		rc = m0_shared__nid(why, "peer_nids", &peer->rpe_nids[i]);
	return rc;
}

/* The node checks names; options end within their field. */
static int net_check(const struct m0_ring_net *net, struct m0_shared_why *why)
{
	const struct m0_lnet_net_cfg *cfg = &net->rne_cfg;

	if (memchr(cfg->lnc_options, 0, sizeof cfg->lnc_options) == NULL)
		return m0_shared_refuse_as(why, -EPROTO, "net_options",
					   sizeof cfg->lnc_options,
					   "a text that ends");
	return m0_shared__range(why, "net_ifaces_nr", cfg->lnc_ifaces_nr, 0,
				M0_LNET_CFG_IFACES_MAX);
}

static int change_check(const struct m0_ring_control *control,
			struct m0_shared_why         *why)
{
	switch (control->rqc_verb) {
	case M0_RING_FAULT_ADD:
		return fault_check(&control->rqc_fault, why);
	case M0_RING_FAULT_DEL:
	case M0_RING_FAULT_RESET:
		return choice_check(&control->rqc_choice, why);
	case M0_RING_ROUTE_ADD:
	case M0_RING_ROUTE_DEL:
		return m0_shared__nid(why, "route_gateway",
				      &control->rqc_route.rrt_attr.lra_gateway);
	case M0_RING_POOLS_SET:
		return pools_check(&control->rqc_routing, why);
	case M0_RING_UDSP_EFFECT:
		return effect_check(&control->rqc_udsp, why);
	case M0_RING_HEALTH_SET:
		return health_check(&control->rqc_peer, why);
	case M0_RING_PEER_ADD:
	case M0_RING_PEER_DEL:
		return peer_check(&control->rqc_peer, why);
	case M0_RING_NET_ADD:
	case M0_RING_NET_DEL:
		return net_check(&control->rqc_net, why);
	default:
		return 0;
	}
}

static int routes_check(const struct m0_ring_route *route,
			struct m0_shared_why       *why)
{
	int rc = m0_shared__nid(why, "route_gateway",
				&route->rrt_attr.lra_gateway);

	return rc == 0 ? m0_shared__range(why, "route_max", route->rrt_max, 0,
					  M0_LNET_ROUTES_MAX)
		       : rc;
}

static int control_check(const struct m0_ring_control *control,
			 struct m0_shared_why         *why)
{
	switch (control->rqc_verb) {
	case M0_RING_PROBE:
		return probe_check(&control->rqc_probe, why);
	case M0_RING_FAULT_GET:
		return choice_check(&control->rqc_choice, why);
	case M0_RING_PEER_NIS_GET:
		return peer_nis_check(&control->rqc_choice, why);
	case M0_RING_ROUTE_GET:
		return routes_check(&control->rqc_route, why);
	case M0_RING_UDSP_GET:
		return m0_shared__range(why, "udsp_max",
					control->rqc_udsp.rud_max, 0,
					M0_LNET_UDSPS_MAX);
	case M0_RING_DIST:
		return dist_check(&control->rqc_dist, false, why);
	case M0_RING_EXPLAIN:
		return dist_check(&control->rqc_dist, true, why);
	default:
		return change_check(control, why);
	}
}

int m0_shared_control_get(const struct m0_shared_side *side, uint32_t nr,
			  uint64_t verb, struct m0_ring_control *ret,
			  struct m0_shared_why *why)
{
	int rc;

	M0_PRE(side->shs_role == M0_SHARED_SERVER &&
	       nr < side->shs_cfg.shc_controls_nr);
	rc = m0_shared__range(why, "control_bytes",
			      side->shs_cfg.shc_control_bytes, sizeof *ret,
			      M0_SHARED_CONTROL_BYTES_MAX);
	if (rc != 0)
		return rc;
	m0_shared_copy(ret, m0_shared_control(side, nr), sizeof *ret);
	/* The entry was checked; the record may say something else. */
	rc = m0_shared__range(why, "verb", ret->rqc_verb, verb, verb);
	return rc == 0 ? control_check(ret, why) : rc;
}

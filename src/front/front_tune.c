/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Tunables, health and peers: requests to the node. */
#include "front/front_internal.h"
#include "m0/lnet_tune.h"

/* Says why a tunable was refused. */
static int tune_refused(const struct m0_ring_tune *tune, int rc, char *why)
{
	const char *name =
		m0_lnet_tunable_name((enum m0_lnet_tunable)tune->rtu_which);

	if (tune->rtu_value >= tune->rtu_min &&
	    tune->rtu_value <= tune->rtu_max)
		return m0_node_why(why, rc,
				   "%s is %" PRIu64
				   "; retry_count must be below "
				   "transaction_timeout, and 0 while "
				   "health_sensitivity is 0",
				   name, tune->rtu_value);
	return m0_node_why(why, rc,
			   "%s is %" PRIu64 "; it may be %" PRIu64
			   " to %" PRIu64,
			   name, tune->rtu_value, tune->rtu_min, tune->rtu_max);
}

static int do_and_put(struct m0_lnet *lnet, struct m0_front_control *fcl)
{
	int rc = m0_front__control_do(lnet, fcl);

	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_tune(struct m0_lnet *lnet, enum m0_lnet_tunable tunable,
		 uint64_t value, char *why)
{
	struct m0_front_control *fcl;
	int rc = m0_front__control_take(lnet, M0_RING_TUNE, &fcl);

	M0_PRE((unsigned)tunable < M0_LNET_TUNABLES_NR);
	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_tune = (struct m0_ring_tune){
		.rtu_which = tunable,
		.rtu_value = value,
	};
	rc = m0_front__control_do(lnet, fcl);
	if (rc == -EINVAL)
		rc = tune_refused(&fcl->fcl_record->rqc_tune, rc, why);
	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_tunables_get(struct m0_lnet *lnet,
			 uint64_t        ret[M0_LNET_TUNABLES_NR])
{
	struct m0_front_control *fcl;
	int rc = m0_front__control_take(lnet, M0_RING_TUNABLES_GET, &fcl);

	M0_PRE(ret != NULL);
	if (rc != 0)
		return rc;
	rc = m0_front__control_do(lnet, fcl);
	if (rc == 0)
		memcpy(ret, fcl->fcl_record->rqc_tune.rtu_values,
		       sizeof fcl->fcl_record->rqc_tune.rtu_values);
	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_health_set(struct m0_lnet *lnet, enum m0_lnet_health_of of,
		       const struct m0_lnet_nid *nid, unsigned health)
{
	struct m0_front_control *fcl;
	int rc = m0_front__control_take(lnet, M0_RING_HEALTH_SET, &fcl);

	M0_PRE(M0_IN(of, (M0_LNET_HEALTH_OF_NIS, M0_LNET_HEALTH_OF_PEERS)));
	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_peer = (struct m0_ring_peer){
		.rpe_nid = nid == NULL ? m0_lnet_nid_any : *nid,
		.rpe_health_of = of,
		.rpe_health = health,
	};
	return do_and_put(lnet, fcl);
}

static int peer_take(struct m0_lnet *lnet, enum m0_ring_verb verb,
		     const struct m0_lnet_nid *primary,
		     const struct m0_lnet_nid *nids, unsigned nids_nr,
		     struct m0_front_control **ret)
{
	struct m0_ring_peer *peer;
	int                  rc;

	M0_PRE(primary != NULL && (nids != NULL || nids_nr == 0));
	if (nids_nr > M0_LNET_PEER_NIDS_MAX)
		return -EINVAL;
	rc = m0_front__control_take(lnet, verb, ret);
	if (rc != 0)
		return rc;
	peer = &(*ret)->fcl_record->rqc_peer;
	*peer = (struct m0_ring_peer){ .rpe_nid = *primary,
				       .rpe_nids_nr = nids_nr };
	if (nids_nr > 0)
		memcpy(peer->rpe_nids, nids, nids_nr * sizeof *nids);
	return 0;
}

int m0_lnet_peer_add(struct m0_lnet *lnet, const struct m0_lnet_nid *primary,
		     const struct m0_lnet_nid *nids, unsigned nids_nr,
		     bool multi_rail)
{
	struct m0_front_control *fcl;
	int                      rc =
		peer_take(lnet, M0_RING_PEER_ADD, primary, nids, nids_nr, &fcl);

	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_peer.rpe_multi_rail = multi_rail;
	return do_and_put(lnet, fcl);
}

int m0_lnet_peer_del(struct m0_lnet *lnet, const struct m0_lnet_nid *primary,
		     const struct m0_lnet_nid *nids, unsigned nids_nr)
{
	struct m0_front_control *fcl;
	int                      rc =
		peer_take(lnet, M0_RING_PEER_DEL, primary, nids, nids_nr, &fcl);

	return rc != 0 ? rc : do_and_put(lnet, fcl);
}

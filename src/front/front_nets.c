/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Networks added and removed: requests to the node. */
#include "front/front_internal.h"
#include "m0/lnet_tune.h"

static bool nids_ok(const struct m0_lnet_nid *nids, size_t bytes)
{
	size_t nr = bytes / sizeof nids[0];
	size_t i;

	if (nr == 0 || bytes % sizeof nids[0] != 0 ||
	    bytes > sizeof((struct m0_front_nids){ 0 }.fns_nid))
		return false;
	for (i = 0; i < nr; ++i)
		if (nids[i].ln_size > sizeof nids[i].ln_addr - 4)
			return false;
	return true;
}

int m0_front__nids_set(struct m0_lnet *lnet, const void *nids, size_t bytes,
		       uint32_t version)
{
	/* The node may be in another process. */
	if (!nids_ok(nids, bytes))
		return -EPROTO;
	m0_front__lock(lnet);
	/* The number of changes may wrap around. */
	if (lnet->fro_nids.fns_nr == 0 ||
	    (int32_t)(version - lnet->fro_nids.fns_version) > 0) {
		memcpy(lnet->fro_nids.fns_nid, nids, bytes);
		lnet->fro_nids.fns_nr =
			(unsigned)(bytes / sizeof lnet->fro_nids.fns_nid[0]);
		__atomic_store_n(&lnet->fro_nids.fns_version, version,
				 __ATOMIC_RELAXED);
	}
	m0_mutex_unlock(&lnet->fro_lock);
	return 0;
}

/* Asks the node for its NIDs. Answers may overtake each other: the newest counts. */
int m0_front__nids_renew(struct m0_lnet *lnet)
{
	struct m0_front_control *fcl;
	void                    *nids = NULL;
	size_t                   bytes = 0;
	uint32_t                 version = 0;
	int rc = m0_front__control_take(lnet, M0_RING_NIDS_GET, &fcl);

	if (rc != 0)
		return rc;
	rc = m0_front__control_do(lnet, fcl);
	if (rc > 0) {
		version = fcl->fcl_record->rqc_version;
		rc = m0_front__block_take(lnet, fcl, &nids, &bytes);
	}
	m0_front__control_put(lnet, fcl);
	if (rc != 0)
		return rc;
	rc = m0_front__nids_set(lnet, nids, bytes, version);
	m0_free(nids);
	return rc;
}

int m0_front__net_changed(struct m0_lnet *lnet, char *why)
{
	int rc = m0_front__nids_renew(lnet);

	/* Servers notify their attached processes. */
	m0_front__runners_wake(lnet);
	m0_front__wake(lnet);
	return rc == 0 ? 0
		       : m0_node_why(why, rc,
				     "the change is made, but the node cannot "
				     "be asked for its NIDs: %s",
				     m0_errname(rc));
}

static int net_change(struct m0_lnet *lnet, enum m0_ring_verb verb,
		      const struct m0_lnet_net_cfg *net, char *why)
{
	struct m0_front_control *fcl;
	struct m0_ring_net      *req;
	int                      rc = m0_front__control_take(lnet, verb, &fcl);

	M0_PRE(net != NULL);
	if (rc != 0)
		return m0_node_why(why, rc, "the node cannot be asked: %s",
				   m0_errname(rc));
	req = &fcl->fcl_record->rqc_net;
	req->rne_cfg = *net;
	req->rne_why[0] = 0;
	rc = m0_front__control_do(lnet, fcl);
	/* The node may be in another process. */
	req->rne_why[sizeof req->rne_why - 1] = 0;
	if (rc != 0)
		(void)m0_node_why(why, rc, "%s",
				  req->rne_why[0] != 0 ? req->rne_why
						       : m0_errname(rc));
	m0_front__control_put(lnet, fcl);
	return rc == 0 ? m0_front__net_changed(lnet, why) : rc;
}

int m0_lnet_net_add(struct m0_lnet *lnet, const struct m0_lnet_net_cfg *net,
		    char *why)
{
	return net_change(lnet, M0_RING_NET_ADD, net, why);
}

int m0_lnet_net_del(struct m0_lnet *lnet, const struct m0_lnet_net_cfg *net,
		    char *why)
{
	return net_change(lnet, M0_RING_NET_DEL, net, why);
}

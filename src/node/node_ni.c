/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Interfaces of a node, and the drivers that serve them.
 */
#include "node/node_internal.h"

int m0_node__lnd_make(struct m0_node *node, const struct m0_lnd_row *row,
		      char *why)
{
	struct m0_lnd_env env = { .lev_reactor = node->nod_reactor,
				  .lev_cfg = node->nod_cfg,
				  .lev_copier = &node->nod_copier,
				  .lev_now = node->nod_reactor->rtr_now };
	struct m0_lnd    *lnd;
	int               rc;

	m0_os_random(&env.lev_seed, sizeof env.lev_seed);
	rc = row->lrw_create(&lnd, &env, why);
	if (rc == 0)
		m0_node_lnd_add(node, row, lnd);
	return rc;
}

/* The driver of this type of network; NULL: none was made. */
static struct m0_lnd *lnd_of(const struct m0_node *node, uint8_t type)
{
	unsigned i;

	for (i = 0; i < node->nod_lnds_nr; ++i)
		if (m0_lnd_row_has(node->nod_rows[i], type))
			return node->nod_lnds[i];
	return NULL;
}

int m0_node__ni_start(struct m0_node *node, const struct m0_lnet_nid *nid,
		      const char *device, uint64_t incarnation, char *why)
{
	struct m0_lnd    *lnd = lnd_of(node, nid->ln_type);
	struct m0_lnd_ni *ni;
	int               rc;

	if (lnd == NULL) {
		rc = m0_node__lnd_make(node, m0_lnd_row_of(nid->ln_type), why);
		if (rc != 0)
			return rc;
		lnd = lnd_of(node, nid->ln_type);
	}
	rc = m0_lnet_engine_ni_add(node->nod_engine, nid, device, incarnation,
				   lnd, &ni);
	if (rc != 0)
		return m0_node_why(why, rc, "an interface cannot be made: %s",
				   m0_errname(rc));
	m0_node__ni_tune(node->nod_cfg, ni);
	rc = lnd->ld_ops->ldo_ni_start(lnd, ni, why);
	/* The configuration may move. */
	ni->ldn_options = NULL;
	if (rc != 0) {
		m0_lnet_engine_ni_del(node->nod_engine, ni);
		return rc;
	}
	m0_lnet_engine_ni_up(node->nod_engine, ni);
	node->nod_nids[node->nod_nids_nr++] = *nid;
	++node->nod_nids_version;
	M0_POST(node->nod_nids_nr <= ARRAY_SIZE(node->nod_nids));
	return 0;
}

int m0_node__ifaces_find(const struct m0_node     *node,
			 const struct m0_lnet_cfg *cfg,
			 struct m0_node_iface *ret, unsigned *ret_nr, char *why)
{
	struct m0_host_iface *ifaces;
	int                   nr;
	int                   rc;

	M0_ALLOC_ARR(ifaces, M0_NODE_IFACES_MAX);
	if (ifaces == NULL)
		return -ENOMEM;
	nr = node->nod_host_ops->hso_ifaces(node->nod_reactor, ifaces,
					    M0_NODE_IFACES_MAX);
	if (nr < 0)
		rc = m0_node_why(why, nr,
				 "the addresses of this machine cannot be "
				 "listed: %s",
				 m0_errname(nr));
	else
		rc = m0_node__ifaces(cfg, ifaces,
				     min_check((unsigned)nr,
					       (unsigned)M0_NODE_IFACES_MAX),
				     ret, M0_NODE_NIS_MAX, ret_nr, why);
	m0_free(ifaces);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Registered memory: each driver that takes regions has each of them.
 */
#include "node/node_internal.h"

static void lnd_mem_add(struct m0_lnd *lnd, const struct m0_node_mem *mem)
{
	if (lnd->ld_ops->ldo_mem_add != NULL)
		lnd->ld_ops->ldo_mem_add(lnd, &mem->nmm_mem);
}

void m0_node_mem_add(struct m0_node *node, struct m0_node_mem *mem)
{
	unsigned i;

	M0_PRE(mem->nmm_mem.lme_region != 0 && mem->nmm_mem.lme_bytes > 0);
	m0_list_add_tail(&node->nod_mems, &mem->nmm_link);
	for (i = 0; i < node->nod_lnds_nr; ++i)
		lnd_mem_add(node->nod_lnds[i], mem);
}

void m0_node_mem_del(struct m0_node *node, struct m0_node_mem *mem)
{
	struct m0_lnd *lnd;
	unsigned       i;

	M0_PRE(m0_list_link_is_in(&mem->nmm_link));
	m0_list_del(&mem->nmm_link);
	for (i = 0; i < node->nod_lnds_nr; ++i) {
		lnd = node->nod_lnds[i];
		if (lnd->ld_ops->ldo_mem_del != NULL)
			lnd->ld_ops->ldo_mem_del(lnd, &mem->nmm_mem);
	}
}

void m0_node__mems_fini(struct m0_node *node)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&node->nod_mems)) != NULL)
		m0_node_mem_del(node, container_of(link, struct m0_node_mem,
						   nmm_link));
}

void m0_node_lnd_add(struct m0_node *node, const struct m0_lnd_row *row,
		     struct m0_lnd *lnd)
{
	struct m0_node_mem *mem;

	M0_PRE((lnd->ld_ops->ldo_mem_add == NULL) ==
	       (lnd->ld_ops->ldo_mem_del == NULL));
	M0_PRE(row->lrw_create != NULL);
	M0_PRE(node->nod_lnds_nr < ARRAY_SIZE(node->nod_lnds));
	node->nod_rows[node->nod_lnds_nr] = row;
	node->nod_lnds[node->nod_lnds_nr++] = lnd;
	m0_list_for_each_entry(&node->nod_mems, mem, struct m0_node_mem,
			       nmm_link)
		lnd_mem_add(lnd, mem);
}

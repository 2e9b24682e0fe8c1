/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * End points of a machine, found by a hash of their binary address. One that
 * nobody refers to leaves ntm_end_points but is kept, the last
 * KIT_EPS_IDLE_MAX of them, so that a receiver that keeps no reference to a
 * sender does not make its end point anew for every message.
 */
#include "kit/kit.h"
#include "base/hash.h"
#include "base/probes.h"

/* The link in the space of a public node. */
static struct m0_hash_link *node_link(struct m0_net_kit_addr_node *node)
{
	M0_BASSERT(sizeof node->nan_handle == sizeof(struct m0_hash_link));
	return (struct m0_hash_link *)(void *)node->nan_handle;
}

static struct m0_net_kit_addr_node *link_node(struct m0_hash_link *link)
{
	return link == NULL ? NULL
			    : (void *)((char *)link -
				       offsetof(struct m0_net_kit_addr_node,
						nan_handle));
}

/* A public table is only its first entry, so zeroed memory is a table. */
static void table_open(const struct m0_net_kit_addr_table *table,
		       struct m0_hash                     *hash)
{
	m0_hash_init(hash);
	hash->ha_head = (void *)table->nat_first;
}

struct m0_net_kit_addr_node *m0_net_kit_addr_find(
	const struct m0_net_kit_addr_table *table,
	const struct m0_net_kit_addr       *addr)
{
	struct m0_hash hash;

	table_open(table, &hash);
	return link_node(m0_hash_find(&hash, addr->nka_bytes, addr->nka_len));
}

int m0_net_kit_addr_add(struct m0_net_kit_addr_table *table,
			struct m0_net_kit_addr_node  *node)
{
	struct m0_hash hash;
	int            rc;

	table_open(table, &hash);
	rc = m0_hash_add(&hash, node_link(node), node->nan_addr.nka_bytes,
			 node->nan_addr.nka_len);
	table->nat_first = hash.ha_head;
	return rc;
}

void m0_net_kit_addr_del(struct m0_net_kit_addr_table *table,
			 struct m0_net_kit_addr_node  *node)
{
	struct m0_hash hash;

	table_open(table, &hash);
	m0_hash_del(&hash, node_link(node));
	table->nat_first = hash.ha_head;
}

bool m0_net_kit_addr_eq(const struct m0_net_kit_addr *a,
			const struct m0_net_kit_addr *b)
{
	return a->nka_len == b->nka_len &&
	       memcmp(a->nka_bytes, b->nka_bytes, a->nka_len) == 0;
}

/* --------------------------------------------------------------- life -- */

static struct kit_ep *ep_full(const struct m0_net_end_point *ep)
{
	return container_of(ep, struct kit_ep, ke_ep);
}

static void ep_free(struct m0_net_kit_machine *m, struct kit_ep *ke)
{
	M0_PRE_EX(kit_is_locked(m));
	if (m->nkm_ops->nko_ep_fini != NULL)
		m->nkm_ops->nko_ep_fini(&ke->ke_ep);
	if (m->nkm_eps.kes_last == ke)
		m->nkm_eps.kes_last = NULL;
	m0_net_kit_addr_del(&m->nkm_eps.kes_table, &ke->ke_node);
	m0_list_del(&ke->ke_idle_link);
	--m->nkm_eps.kes_idle_nr;
	m0_list_link_fini(&ke->ke_idle_link);
	m0_free(ke);
}

static struct kit_ep *idle_oldest(const struct m0_net_kit_machine *m)
{
	return container_of(m0_list_first(&m->nkm_eps.kes_idle), struct kit_ep,
			    ke_idle_link);
}

/* m0_ref release: ntm_mutex is held. */
static void ep_release(struct m0_ref *ref)
{
	struct m0_net_end_point *ep =
		container_of(ref, struct m0_net_end_point, nep_ref);
	struct m0_net_kit_machine *m = kit_machine(ep->nep_tm);
	struct kit_ep             *ke = ep_full(ep);

	M0_PRE(m0_mutex_is_locked(&ep->nep_tm->ntm_mutex));
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		m0_probe_ep_release(m0_net__tm_name(ep->nep_tm), ep->nep_addr);
	m0_nep_tlist_del(ep);
	m0_list_add_tail(&m->nkm_eps.kes_idle, &ke->ke_idle_link);
	if (++m->nkm_eps.kes_idle_nr > KIT_EPS_IDLE_MAX)
		ep_free(m, idle_oldest(m));
}

static struct kit_ep *ep_make(struct m0_net_kit_machine    *m,
			      const struct m0_net_kit_addr *addr)
{
	struct kit_ep *ke = m0_alloc(sizeof *ke + m->nkm_ops->nko_ep_size);

	if (ke == NULL)
		return NULL;
	ke->ke_node.nan_addr = *addr;
	if (m0_net_kit_addr_add(&m->nkm_eps.kes_table, &ke->ke_node) != 0) {
		m0_free(ke);
		return NULL;
	}
	m->nkm_ops->nko_addr_print(addr, ke->ke_text);
	ke->ke_ep.nep_tm = m->nkm_tm;
	ke->ke_ep.nep_addr = ke->ke_text;
	ke->ke_ep.nep_xprt_pvt = ke->ke_pvt;
	m0_list_link_init(&ke->ke_idle_link);
	m0_nep_tlink_init(&ke->ke_ep);
	return ke;
}

static void ep_use(struct m0_net_kit_machine *m, struct kit_ep *ke)
{
	M0_PRE_EX(kit_is_locked(m));
	m0_ref_init(&ke->ke_ep.nep_ref, 1, ep_release);
	m0_nep_tlist_add_tail(&m->nkm_tm->ntm_end_points, &ke->ke_ep);
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		m0_probe_ep_new(m0_net__tm_name(m->nkm_tm), ke->ke_text);
}

static void ep_take(struct m0_net_kit_machine *m, struct kit_ep *ke)
{
	M0_PRE_EX(kit_is_locked(m));
	if (M0_LIKELY(!m0_list_link_is_in(&ke->ke_idle_link))) {
		m0_net__ep_get(&ke->ke_ep);
		return;
	}
	m0_list_del(&ke->ke_idle_link);
	--m->nkm_eps.kes_idle_nr;
	ep_use(m, ke);
}

struct m0_net_end_point *m0_net_kit_ep_get(struct m0_net_kit_machine    *m,
					   const struct m0_net_kit_addr *addr)
{
	struct m0_net_kit_addr_node *node;
	struct kit_ep               *ke = m->nkm_eps.kes_last;

	M0_PRE(m0_mutex_is_locked(&m->nkm_tm->ntm_mutex));
	if (ke == NULL || !m0_net_kit_addr_eq(&ke->ke_node.nan_addr, addr)) {
		node = m0_net_kit_addr_find(&m->nkm_eps.kes_table, addr);
		if (node != NULL) {
			ke = container_of(node, struct kit_ep, ke_node);
		} else {
			ke = ep_make(m, addr);
			if (ke == NULL)
				return NULL;
			ep_use(m, ke);
			m->nkm_eps.kes_last = ke;
			return &ke->ke_ep;
		}
		m->nkm_eps.kes_last = ke;
	}
	ep_take(m, ke);
	return &ke->ke_ep;
}

struct m0_net_end_point *m0_net_kit_ep_recent(
	const struct m0_net_kit_machine *m)
{
	return m->nkm_eps.kes_last == NULL ? NULL : &m->nkm_eps.kes_last->ke_ep;
}

void m0_net_kit_ep_take(struct m0_net_end_point *ep)
{
	ep_take(kit_machine(ep->nep_tm), ep_full(ep));
}

int m0_net_kit_end_point_create(struct m0_net_end_point  **epp,
				struct m0_net_transfer_mc *tm, const char *addr)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	struct m0_net_kit_addr     bin;
	int                        rc;

	if (addr == NULL)
		return -ENOSYS;
	rc = m->nkm_ops->nko_addr_parse(addr, &bin);
	if (rc != 0)
		return rc;
	*epp = m0_net_kit_ep_get(m, &bin);
	return *epp == NULL ? -ENOMEM : 0;
}

void kit_eps_fini(struct m0_net_kit_machine *m)
{
	M0_PRE_EX(kit_is_locked(m));
	while (m->nkm_eps.kes_idle_nr > 0)
		ep_free(m, idle_oldest(m));
}

void *m0_net_kit_ep_pvt(struct m0_net_end_point *ep)
{
	return ep_full(ep)->ke_pvt;
}

const struct m0_net_kit_addr *m0_net_kit_ep_addr(
	const struct m0_net_end_point *ep)
{
	return &ep_full(ep)->ke_node.nan_addr;
}

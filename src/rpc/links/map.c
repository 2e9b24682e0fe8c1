/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The map of services: at which addresses each is. */
#include "rpc/rpc_internal.h"

bool m0_rpc__addrs_have(const struct m0_rpc__addrs *addrs, const char *addr)
{
	uint32_t i;

	M0_PRE(m0_rpc__addrs_invariant(addrs));
	for (i = 0; i < addrs->rad_nr; ++i)
		if (strcmp(addrs->rad_text[i], addr) == 0)
			return true;
	return false;
}

void m0_rpc__addrs_add(struct m0_rpc__addrs *addrs, const char *addr)
{
	M0_PRE(strlen(addr) < M0_RPC_ADDR_MAX);
	M0_PRE(addrs->rad_nr < M0_RPC_LINKS_MAX);
	if (!m0_rpc__addrs_have(addrs, addr))
		strcpy(addrs->rad_text[addrs->rad_nr++], addr);
}

void m0_rpc__addrs_del(struct m0_rpc__addrs *addrs, const char *addr)
{
	uint32_t i;
	uint32_t k = 0;

	M0_PRE(m0_rpc__addrs_have(addrs, addr));
	for (i = 0; i < addrs->rad_nr; ++i) {
		if (strcmp(addrs->rad_text[i], addr) == 0)
			continue;
		if (i != k)
			strcpy(addrs->rad_text[k], addrs->rad_text[i]);
		++k;
	}
	addrs->rad_nr = k;
}

int m0_rpc__addr_check(struct m0_rpc__machine *m, const char *addr)
{
	struct m0_net_end_point *ep;
	int                      rc;

	if (strlen(addr) >= M0_RPC_ADDR_MAX)
		return -EINVAL;
	rc = m0_net_end_point_create(&ep, &m->rml_machine->rm_tm, addr);
	if (rc == 0)
		(void)m0_net_end_point_put(ep);
	return rc;
}

struct m0_rpc__place *m0_rpc__place_find(struct m0_rpc__machine *m,
					 struct m0_uint128       service)
{
	struct m0_rpc__place *place;

	M0_PRE(m0_mutex_is_locked(&m->rml_map.rmp_lock));
	m0_list_for_each_entry(&m->rml_map.rmp_places, place,
			       struct m0_rpc__place, rpl_link)
		if (m0_uint128_eq(&place->rpl_service, &service))
			return place;
	return NULL;
}

/* Found or made, without an address. NULL: no memory. */
struct m0_rpc__place *m0_rpc__place_get(struct m0_rpc__machine *m,
					struct m0_uint128       service)
{
	struct m0_rpc__place *place = m0_rpc__place_find(m, service);

	if (place != NULL)
		return place;
	M0_ALLOC_PTR(place);
	if (place == NULL)
		return NULL;
	place->rpl_service = service;
	m0_list_link_init(&place->rpl_link);
	m0_list_add_tail(&m->rml_map.rmp_places, &place->rpl_link);
	return place;
}

void m0_rpc__map_init(struct m0_rpc__map *map)
{
	m0_list_init(&map->rmp_places);
	m0_mutex_init(&map->rmp_lock);
}

void m0_rpc__map_fini(struct m0_rpc__map *map)
{
	struct m0_rpc__place *place;

	M0_PRE(m0_mutex_is_not_locked(&map->rmp_lock));
	while (!m0_list_is_empty(&map->rmp_places)) {
		place = container_of(m0_list_first(&map->rmp_places),
				     struct m0_rpc__place, rpl_link);
		m0_list_del(&place->rpl_link);
		m0_free(place);
	}
	m0_list_fini(&map->rmp_places);
	m0_mutex_fini(&map->rmp_lock);
}

int m0_rpc__addrs_find(struct m0_rpc__machine *m, struct m0_uint128 service,
		       const char *addr, struct m0_rpc__addrs *ret)
{
	struct m0_rpc__place *place;
	int                   rc = 0;

	M0_SET0(ret);
	if (addr != NULL) {
		rc = m0_rpc__addr_check(m, addr);
		if (rc == 0)
			m0_rpc__addrs_add(ret, addr);
		return rc;
	}
	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = m0_rpc__place_find(m, service);
	if (place != NULL && place->rpl_addrs.rad_nr > 0)
		*ret = place->rpl_addrs;
	else
		rc = -ENOENT;
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/** The map of services: at which addresses each is. */
#include "rpc/rpc_internal.h"

bool m0_rpc__addrs_have(const struct m0_rpc__addrs *addrs, const char *addr)
{
	uint32_t i;

	for (i = 0; i < addrs->rad_nr; ++i)
		if (strcmp(addrs->rad_text[i], addr) == 0)
			return true;
	return false;
}

static void addrs_add(struct m0_rpc__addrs *addrs, const char *addr)
{
	M0_PRE(addrs->rad_nr < M0_RPC_LINKS_MAX);
	if (!m0_rpc__addrs_have(addrs, addr))
		strcpy(addrs->rad_text[addrs->rad_nr++], addr);
}

static void addrs_del(struct m0_rpc__addrs *addrs, const char *addr)
{
	uint32_t i;
	uint32_t k = 0;

	for (i = 0; i < addrs->rad_nr; ++i) {
		if (strcmp(addrs->rad_text[i], addr) == 0)
			continue;
		if (i != k)
			strcpy(addrs->rad_text[k], addrs->rad_text[i]);
		++k;
	}
	addrs->rad_nr = k;
}

static int addr_check(struct m0_rpc__machine *m, const char *addr)
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

static struct m0_rpc__place *place_find(struct m0_rpc__machine *m,
					struct m0_uint128       service)
{
	struct m0_rpc__place *place;

	m0_list_for_each_entry(&m->rml_map.rmp_places, place,
			       struct m0_rpc__place, rpl_link)
		if (m0_uint128_eq(&place->rpl_service, &service))
			return place;
	return NULL;
}

/* Found or made, without an address. NULL: no memory. */
static struct m0_rpc__place *place_get(struct m0_rpc__machine *m,
				       struct m0_uint128       service)
{
	struct m0_rpc__place *place = place_find(m, service);

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
		rc = addr_check(m, addr);
		if (rc == 0)
			addrs_add(ret, addr);
		return rc;
	}
	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = place_find(m, service);
	if (place != NULL && place->rpl_addrs.rad_nr > 0)
		*ret = place->rpl_addrs;
	else
		rc = -ENOENT;
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	return rc;
}

/* -------------------------------------------------------------- changes -- */

/* The connections go by what the map says when this is run. */
static void changed_do(struct m0_rpc__machine *m, void *arg)
{
	const struct m0_uint128 *service = arg;
	struct m0_rpc__addrs     addrs;
	struct m0_rpc__conn     *conn;

	if (m0_rpc__addrs_find(m, *service, NULL, &addrs) != 0)
		return;
	m0_list_for_each_entry(&m->rml_conns.rcn_list, conn,
			       struct m0_rpc__conn, rcx_link)
		if (m0_uint128_eq(&conn->rcx_conn->c_service, service))
			m0_rpc__links_change(conn, &addrs);
}

int m0_rpc_machine_map_links(struct m0_rpc_machine *machine,
			     struct m0_uint128      service,
			     const char *const *addrs, uint32_t nr)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	struct m0_rpc__addrs    set = { 0 };
	struct m0_rpc__place   *place;
	uint32_t                i;
	int                     rc = 0;

	if (nr == 0 || nr > M0_RPC_LINKS_MAX)
		return -EINVAL;
	for (i = 0; i < nr && rc == 0; ++i) {
		rc = addr_check(m, addrs[i]);
		if (rc == 0)
			addrs_add(&set, addrs[i]);
	}
	if (rc != 0)
		return rc;
	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = place_get(m, service);
	if (place != NULL)
		place->rpl_addrs = set;
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	if (place == NULL)
		return -ENOMEM;
	m0_rpc__do(m, changed_do, &service);
	return 0;
}

int m0_rpc_machine_map(struct m0_rpc_machine *machine,
		       struct m0_uint128 service, const char *addr)
{
	return m0_rpc_machine_map_links(machine, service, &addr, 1);
}

int m0_rpc_machine_map_add(struct m0_rpc_machine *machine,
			   struct m0_uint128 service, const char *addr)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	struct m0_rpc__place   *place;
	int                     rc = addr_check(m, addr);

	if (rc != 0)
		return rc;
	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = place_get(m, service);
	if (place == NULL)
		rc = -ENOMEM;
	else if (m0_rpc__addrs_have(&place->rpl_addrs, addr))
		rc = -EEXIST;
	else if (place->rpl_addrs.rad_nr == M0_RPC_LINKS_MAX)
		rc = -ENOSPC;
	else
		addrs_add(&place->rpl_addrs, addr);
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	if (rc == 0)
		m0_rpc__do(m, changed_do, &service);
	return rc;
}

int m0_rpc_machine_map_del(struct m0_rpc_machine *machine,
			   struct m0_uint128 service, const char *addr)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	struct m0_rpc__place   *place;
	int                     rc = 0;

	m0_mutex_lock(&m->rml_map.rmp_lock);
	place = place_find(m, service);
	if (place == NULL || !m0_rpc__addrs_have(&place->rpl_addrs, addr))
		rc = -ENOENT;
	else if (place->rpl_addrs.rad_nr == 1)
		rc = -EBUSY;
	else
		addrs_del(&place->rpl_addrs, addr);
	m0_mutex_unlock(&m->rml_map.rmp_lock);
	if (rc == 0)
		m0_rpc__do(m, changed_do, &service);
	return rc;
}

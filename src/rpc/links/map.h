/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The map of services: at which addresses each is. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_MAP_H
#define M0_SRC_RPC_MAP_H

/** Addresses of a service. */
struct m0_rpc__addrs {
	uint32_t rad_nr;
	char     rad_text[M0_RPC_LINKS_MAX][M0_RPC_ADDR_MAX];
};

/** An entry of the map of services. */
struct m0_rpc__place {
	struct m0_list_link  rpl_link;
	struct m0_uint128    rpl_service;
	struct m0_rpc__addrs rpl_addrs;
};

/** The map of services: any thread, under the lock. */
struct m0_rpc__map {
	/** By rpl_link. */
	struct m0_list  rmp_places;
	struct m0_mutex rmp_lock;
};

static inline bool m0_rpc__addrs_invariant(const struct m0_rpc__addrs *addrs)
{
	return _0C(addrs->rad_nr <= M0_RPC_LINKS_MAX);
}

void m0_rpc__map_init(struct m0_rpc__map *map);
void m0_rpc__map_fini(struct m0_rpc__map *map);
/** As a connection is given them: `addr`, or (NULL) as the map has it.
 * @retval -EINVAL, -ENOENT */
int m0_rpc__addrs_find(struct m0_rpc__machine *m, struct m0_uint128 service,
		       const char *addr, struct m0_rpc__addrs *ret);
/** Adds an address if it is not there. Pre: there is room. */
void m0_rpc__addrs_add(struct m0_rpc__addrs *addrs, const char *addr);
void m0_rpc__addrs_del(struct m0_rpc__addrs *addrs, const char *addr);
/** @retval -EINVAL  not an address of the machine's network. */
int m0_rpc__addr_check(struct m0_rpc__machine *m, const char *addr);
/** An entry of the map, NULL: there is none; found or made without an address,
 * NULL: no memory. Under the lock. */
struct m0_rpc__place *m0_rpc__place_find(struct m0_rpc__machine *m,
					 struct m0_uint128       service);
struct m0_rpc__place *m0_rpc__place_get(struct m0_rpc__machine *m,
					struct m0_uint128       service);
bool m0_rpc__addrs_have(const struct m0_rpc__addrs *addrs, const char *addr);

#endif /* M0_SRC_RPC_MAP_H */

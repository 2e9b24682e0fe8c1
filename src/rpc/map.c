/* SPDX-License-Identifier: Apache-2.0 */
/** The map of services: at which addresses each is. */
#include "rpc/rpc_internal.h"

int m0_rpc_machine_map_links(struct m0_rpc_machine *machine,
			     struct m0_uint128      service,
			     const char *const *addrs, uint32_t nr)
{
	if (nr == 0 || nr > M0_RPC_LINKS_MAX)
		return -EINVAL;
	return m0_rpc_machine_map(machine, service, addrs[0]);
}

int m0_rpc_machine_map_add(struct m0_rpc_machine *machine,
			   struct m0_uint128 service, const char *addr)
{
	(void)machine;
	(void)service;
	(void)addr;
	return -ENOSYS;
}

int m0_rpc_machine_map_del(struct m0_rpc_machine *machine,
			   struct m0_uint128 service, const char *addr)
{
	(void)machine;
	(void)service;
	(void)addr;
	return -ENOSYS;
}

int m0_rpc_machine_link_add(struct m0_rpc_machine *machine, const char *ep_addr)
{
	(void)machine;
	(void)ep_addr;
	return -ENOSYS;
}

int m0_rpc_machine_link_del(struct m0_rpc_machine *machine, const char *ep_addr)
{
	(void)machine;
	(void)ep_addr;
	return -ENOENT;
}

int m0_rpc_machine_link_addr(struct m0_rpc_machine *machine, uint32_t i,
			     char *ret_addr)
{
	if (i > 0)
		return -ENOENT;
	strcpy(ret_addr, m0_rpc_machine_addr(machine));
	return 0;
}

uint32_t m0_rpc_conn_links(struct m0_rpc_conn      *conn,
			   struct m0_rpc_link_info *ret, uint32_t max)
{
	(void)conn;
	(void)ret;
	(void)max;
	return 0;
}

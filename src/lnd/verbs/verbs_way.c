/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Why there is no way to a peer: its GID or ours, or the MTU, does not fit. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "lnd/verbs/verbs_internal.h"

/* Reasons of rejections, by the InfiniBand architecture. */
enum {
	REASON_GID = 12,
	REASON_ALT_GID = 18,
	REASON_MTU = 26
};

/* Bytes of a code of an MTU. */
static unsigned mtu_bytes(uint8_t code)
{
	return code >= IBV_MTU_256 && code <= IBV_MTU_4096 ? 128U << code : 0;
}

bool m0_verbs__way_why(const struct m0_verbs_way *way, char *why)
{
	char ours[INET6_ADDRSTRLEN];
	char theirs[INET6_ADDRSTRLEN];

	(void)inet_ntop(AF_INET6, &way->vwy_src, ours, sizeof ours);
	(void)inet_ntop(AF_INET6, &way->vwy_dst, theirs, sizeof theirs);
	if (way->vwy_reason == REASON_MTU)
		(void)snprintf(
			why, M0_LND_WHY_BYTES,
			"the peer does not take the MTU of the path, %u; "
			"that of our port is %u, and all ports and "
			"switches between must have it",
			mtu_bytes(way->vwy_path_mtu),
			mtu_bytes(way->vwy_port_mtu));
	else if (M0_IN(way->vwy_reason, (REASON_GID, REASON_ALT_GID)))
		(void)snprintf(why, M0_LND_WHY_BYTES,
			       "the peer does not have the GID %s; ours is %s",
			       theirs, ours);
	else if (way->vwy_reason == 0)
		(void)snprintf(
			why, M0_LND_WHY_BYTES,
			"nobody answers at the GID %s; ours is %s, and "
			"both must have the same version of RoCE, or one "
			"fabric of InfiniBand",
			theirs, ours);
	else
		return false;
	return true;
}

void m0_verbs__way_log(const struct m0_verbs_qp *qp, int reason)
{
	const struct rdma_cm_id  *id = qp->vqp_id;
	struct m0_verbs_way       way = { .vwy_reason = reason };
	struct ibv_port_attr      attr;
	char                      why[M0_LND_WHY_BYTES];
	char                      to[INET_ADDRSTRLEN] = "";
	const struct sockaddr_in *addr;

	if (id == NULL)
		return;
	addr = (const struct sockaddr_in *)&id->route.addr.dst_addr;
	(void)inet_ntop(AF_INET, &addr->sin_addr, to, sizeof to);
	way.vwy_src = id->route.addr.addr.ibaddr.sgid;
	way.vwy_dst = id->route.addr.addr.ibaddr.dgid;
	if (id->route.num_paths > 0 && id->route.path_rec != NULL)
		way.vwy_path_mtu = id->route.path_rec->mtu;
	if (id->verbs != NULL &&
	    ibv_query_port(id->verbs, id->port_num, &attr) == 0)
		way.vwy_port_mtu = (uint8_t)attr.active_mtu;
	if (m0_verbs__way_why(&way, why))
		m0_log(M0_LOG_WARN, "o2ib: no connection to %s: %s", to, why);
}

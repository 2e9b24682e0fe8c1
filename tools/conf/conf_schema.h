/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The keys of lnet.conf: what each accepts. */
#ifndef M0_TOOLS_CONF_SCHEMA_H
#define M0_TOOLS_CONF_SCHEMA_H

#include "conf_start.h"
#include "conf_yaml.h"

/** Keys with a meaning here; all others are run-time values of exports. */
enum conf_id {
	CONF_RUNTIME,
	/* Sections, in the order of an export. */
	CONF_NET,
	CONF_IP2NETS,
	CONF_ROUTE,
	CONF_ROUTING,
	CONF_BUFFERS,
	CONF_PEER,
	CONF_GLOBAL,
	CONF_NUMA,
	CONF_UDSP,
	CONF_NODE,
	/* net, ip2nets */
	CONF_NET_TYPE,
	CONF_NIS,
	CONF_NID,
	CONF_INTERFACES,
	CONF_TUNABLES,
	CONF_LND_TUNABLES,
	CONF_CPT,
	CONF_IP_RANGE,
	/* tunables */
	CONF_PEER_TIMEOUT,
	CONF_PEER_CREDITS,
	CONF_PEER_BUFFER_CREDITS,
	CONF_CREDITS,
	CONF_CONNS_PER_PEER,
	CONF_TIMEOUT,
	CONF_KEEPALIVE,
	CONF_RECONNECT_MIN,
	CONF_RECONNECT_MAX,
	/* Net o2ib alone has these. */
	CONF_SERVICE,
	CONF_ACK_TIMEOUT,
	CONF_TOS,
	CONF_GET_REQ,
	/* route */
	CONF_ROUTE_NET,
	CONF_GATEWAY,
	CONF_HOP,
	CONF_PRIORITY,
	CONF_ROUTE_SENSITIVITY,
	/* peer */
	CONF_PRIMARY,
	CONF_MULTI_RAIL,
	CONF_PEER_NI,
	CONF_PEER_STATE,
	/* udsp */
	CONF_SRC,
	CONF_DST,
	CONF_RTE,
	CONF_IDX,
	CONF_ACTION,
	/* Parameters of `colibri set`, in the order of enum m0_lnet_tunable; routing, and
	 * the buffers. */
	CONF_SETS,
	CONF_DISCOVERY = CONF_SETS,
	CONF_DROP_ASYM,
	CONF_RETRY_COUNT,
	CONF_TRANSACTION_TIMEOUT,
	CONF_SENSITIVITY,
	CONF_RECOVERY_LIMIT,
	CONF_PING_MAX,
	CONF_CUT_THROUGH,
	CONF_SPLICE,
	CONF_ENABLE,
	CONF_TINY,
	CONF_SMALL,
	CONF_LARGE,
	CONF_SETS_END,
	/* Known to LNet, without effect here. */
	CONF_NUMA_RANGE,
	CONF_ROUTER_SENSITIVITY,
	CONF_RESPONSE_TRACKING,
	CONF_RECOVERY_INTERVAL,
	/* Keys of the section node, in the order of enum conf_start. */
	CONF_STARTS,
	CONF_STARTS_END = CONF_STARTS + CONF_STARTS_NR,
	CONF_IDS_NR = CONF_STARTS_END
};

/** Checks a tree, and sets cfn_id and cfn_number of its members. */
int conf_schema_check(struct conf_node *tree, struct conf_fail *fail);
/** Is it an expression of CPU partitions, as "[0,1]"? */
bool conf_is_cpt(const char *text);
/** Is it a name of a device, or an address? */
bool conf_is_iface(const char *text);
/** Reads a decimal number with a sign. @return false: it is none. */
bool conf_number(const char *text, int64_t *ret);
/** Returns the first member of a map with this id, or NULL. */
struct conf_node *conf_member(const struct conf_node *map, unsigned id);
/** Notes that a member is not accepted. */
int conf_refuse(const struct conf_node *node, const char *accepted,
		struct conf_fail *fail);

#endif /* M0_TOOLS_CONF_SCHEMA_H */

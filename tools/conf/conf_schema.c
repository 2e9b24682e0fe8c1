/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "m0/lnet_nid.h"

#include "conf_schema.h"
#include "../base/text.h"

enum conf_type {
	/** Not looked at: a value of an export. */
	TYPE_ANY,
	TYPE_INT,
	TYPE_BOOL,
	TYPE_TEXT,
	TYPE_NET,
	TYPE_NID,
	TYPE_CPT,
	/** A map from numbers to words. */
	TYPE_NUMBERED,
	TYPE_MAP,
	/** A list of maps. */
	TYPE_LIST,
	/** A map, or a list of maps that stands for it. */
	TYPE_MAPS
};

struct conf_key {
	const char            *cfk_name;
	enum conf_type         cfk_type;
	unsigned               cfk_id;
	int64_t                cfk_min;
	int64_t                cfk_max;
	bool                   cfk_needed;
	const struct conf_key *cfk_keys;
};

enum {
	DAY_S = 86400,
	BUFFERS_MAX = 1 << 20
};

#define ANY(name)                                               \
	{                                                       \
		name, TYPE_ANY, CONF_RUNTIME, 0, 0, false, NULL \
	}
#define INT(name, id, min, max)                           \
	{                                                 \
		name, TYPE_INT, id, min, max, false, NULL \
	}
#define PART(name, type, id, keys)                \
	{                                         \
		name, type, id, 0, 0, false, keys \
	}
#define WORD(name, type, id)                      \
	{                                         \
		name, type, id, 0, 0, false, NULL \
	}
#define NEEDED(name, type, id)                   \
	{                                        \
		name, type, id, 0, 0, true, NULL \
	}
#define START(name, id) \
	WORD(name, TYPE_TEXT, (unsigned)CONF_STARTS + CONF_START_##id)
#define SEQ_NO ANY("seq_no")
#define END                                                     \
	{                                                       \
		NULL, TYPE_ANY, CONF_RUNTIME, 0, 0, false, NULL \
	}
#define STATS                                                                \
	ANY("statistics"), ANY("sent_stats"), ANY("received_stats"),         \
		ANY("dropped_stats"), ANY("health stats"), ANY("udsp info"), \
		ANY("colibri")

static const struct conf_key tunables[] = {
	INT("peer_timeout", CONF_PEER_TIMEOUT, 0, INT32_MAX),
	INT("peer_credits", CONF_PEER_CREDITS, 0, UINT16_MAX),
	INT("peer_buffer_credits", CONF_PEER_BUFFER_CREDITS, 0, UINT16_MAX),
	INT("credits", CONF_CREDITS, 0, UINT16_MAX), END
};

static const struct conf_key lnd_tunables[] = {
	INT("conns_per_peer", CONF_CONNS_PER_PEER, 0, 127),
	INT("timeout", CONF_TIMEOUT, 0, DAY_S),
	INT("keepalive", CONF_KEEPALIVE, -1, DAY_S),
	INT("min_reconnectms", CONF_RECONNECT_MIN, 0, DAY_S * 1000),
	INT("max_reconnectms", CONF_RECONNECT_MAX, 0, DAY_S * 1000),
	INT("tos", CONF_TOS, -1, 255),
	INT("service", CONF_SERVICE, 0, UINT16_MAX),
	INT("ack_timeout", CONF_ACK_TIMEOUT, 0, 31),
	INT("get_req", CONF_GET_REQ, 0, 1),
	/* An export of a kernel's node has these on net o2ib; the driver has no use for them. */
	ANY("peercredits_hiw"), ANY("concurrent_sends"), ANY("map_on_demand"),
	ANY("fmr_pool_size"), ANY("fmr_flush_trigger"), ANY("fmr_cache"),
	ANY("ntx"), END
};

static const struct conf_key ni_keys[] = {
	WORD("nid", TYPE_NID, CONF_NID),
	WORD("interfaces", TYPE_NUMBERED, CONF_INTERFACES),
	PART("tunables", TYPE_MAP, CONF_TUNABLES, tunables),
	PART("lnd tunables", TYPE_MAP, CONF_LND_TUNABLES, lnd_tunables),
	WORD("CPT", TYPE_CPT, CONF_CPT),
	STATS,
	ANY("status"),
	ANY("dev cpt"),
	SEQ_NO,
	END
};

static const struct conf_key net_keys[] = {
	NEEDED("net type", TYPE_NET, CONF_NET_TYPE),
	PART("local NI(s)", TYPE_LIST, CONF_NIS, ni_keys), SEQ_NO, END
};

static const struct conf_key ip2nets_keys[] = {
	NEEDED("net-spec", TYPE_NET, CONF_NET_TYPE),
	WORD("interfaces", TYPE_NUMBERED, CONF_INTERFACES),
	WORD("ip-range", TYPE_NUMBERED, CONF_IP_RANGE),
	PART("tunables", TYPE_MAP, CONF_TUNABLES, tunables),
	PART("lnd tunables", TYPE_MAP, CONF_LND_TUNABLES, lnd_tunables),
	WORD("CPT", TYPE_CPT, CONF_CPT),
	SEQ_NO,
	END
};

static const struct conf_key route_keys[] = {
	NEEDED("net", TYPE_NET, CONF_ROUTE_NET),
	NEEDED("gateway", TYPE_NID, CONF_GATEWAY),
	INT("hop", CONF_HOP, -1, 255),
	INT("priority", CONF_PRIORITY, 0, INT32_MAX),
	INT("health_sensitivity", CONF_ROUTE_SENSITIVITY, -1, 1000),
	ANY("state"),
	ANY("type"),
	ANY("why down"),
	ANY("colibri"),
	SEQ_NO,
	END
};

static const struct conf_key peer_ni_keys[] = { NEEDED("nid", TYPE_NID,
						       CONF_NID),
						STATS,
						ANY("state"),
						ANY("max_ni_tx_credits"),
						ANY("available_tx_credits"),
						ANY("min_tx_credits"),
						ANY("tx_q_num_of_buf"),
						ANY("available_rtr_credits"),
						ANY("min_rtr_credits"),
						ANY("refcount"),
						SEQ_NO,
						END };

static const struct conf_key peer_keys[] = {
	NEEDED("primary nid", TYPE_NID, CONF_PRIMARY),
	WORD("Multi-Rail", TYPE_BOOL, CONF_MULTI_RAIL),
	INT("peer state", CONF_PEER_STATE, 0, UINT32_MAX),
	PART("peer ni", TYPE_LIST, CONF_PEER_NI, peer_ni_keys),
	SEQ_NO,
	END
};

static const struct conf_key routing_keys[] = {
	INT("enable", CONF_ENABLE, 0, 1),
	INT("cut_through", CONF_CUT_THROUGH, 0, 1),
	INT("splice", CONF_SPLICE, 0, 1),
	ANY("colibri"),
	SEQ_NO,
	END
};

static const struct conf_key buffers_keys[] = {
	INT("tiny", CONF_TINY, 0, BUFFERS_MAX),
	INT("small", CONF_SMALL, 0, BUFFERS_MAX),
	INT("large", CONF_LARGE, 0, BUFFERS_MAX),
	ANY("colibri"),
	SEQ_NO,
	END
};

static const struct conf_key global_keys[] = {
	INT("numa_range", CONF_NUMA_RANGE, 0, INT32_MAX),
	INT("max_interfaces", CONF_RUNTIME, 0, INT32_MAX),
	INT("max_intf", CONF_RUNTIME, 0, INT32_MAX),
	INT("discovery", CONF_DISCOVERY, 0, 1),
	INT("drop_asym_route", CONF_DROP_ASYM, 0, 1),
	INT("retry_count", CONF_RETRY_COUNT, 0, 255),
	INT("transaction_timeout", CONF_TRANSACTION_TIMEOUT, 1, DAY_S),
	INT("health_sensitivity", CONF_SENSITIVITY, 0, 1000),
	INT("recovery_interval", CONF_RECOVERY_INTERVAL, 1, INT32_MAX),
	INT("router_sensitivity", CONF_ROUTER_SENSITIVITY, 0, 100),
	INT("lnd_timeout", CONF_RUNTIME, 0, INT32_MAX),
	INT("response_tracking", CONF_RESPONSE_TRACKING, 0, 3),
	INT("recovery_limit", CONF_RECOVERY_LIMIT, 0, DAY_S),
	INT("max_recovery_ping_interval", CONF_PING_MAX, 1, DAY_S),
	SEQ_NO,
	END
};

static const struct conf_key numa_keys[] = {
	INT("range", CONF_NUMA_RANGE, 0, INT32_MAX), SEQ_NO, END
};

static const struct conf_key action_keys[] = {
	INT("priority", CONF_PRIORITY, -1, UINT32_MAX - 1), END
};

static const struct conf_key udsp_keys[] = {
	WORD("src", TYPE_TEXT, CONF_SRC),
	WORD("dst", TYPE_TEXT, CONF_DST),
	WORD("rte", TYPE_TEXT, CONF_RTE),
	INT("idx", CONF_IDX, -1, INT32_MAX),
	PART("action", TYPE_MAP, CONF_ACTION, action_keys),
	SEQ_NO,
	END
};

/* Their values are read by conf_start_read(). */
static const struct conf_key node_keys[] = {
	START("accept", ACCEPT),
	START("accept_port", PORT),
	START("source_ports", SOURCE_PORTS),
	START("peers_colibri", PEERS_COLIBRI),
	START("peer_credits", PEER_CREDITS),
	START("credits", CREDITS),
	START("conns_per_peer", CONNS_PER_PEER),
	START("lnd_timeout", LND_TIMEOUT),
	START("keepalive", KEEPALIVE),
	START("lanes", LANES),
	START("router_memory", ROUTER_MEMORY),
	START("alive_router_check_interval", CHECK_INTERVAL),
	START("router_ping_timeout", PING_TIMEOUT),
	START("check_routers_before_use", CHECK_FIRST),
	START("avoid_asym_router_failure", AVOID_ASYM),
	START("use_down_routes", USE_DOWN),
	SEQ_NO,
	END
};

static const struct conf_key sections[] = {
	PART("net", TYPE_LIST, CONF_NET, net_keys),
	PART("ip2nets", TYPE_LIST, CONF_IP2NETS, ip2nets_keys),
	PART("route", TYPE_LIST, CONF_ROUTE, route_keys),
	PART("peer", TYPE_LIST, CONF_PEER, peer_keys),
	PART("routing", TYPE_MAPS, CONF_ROUTING, routing_keys),
	PART("buffers", TYPE_MAP, CONF_BUFFERS, buffers_keys),
	PART("global", TYPE_MAP, CONF_GLOBAL, global_keys),
	PART("numa", TYPE_MAP, CONF_NUMA, numa_keys),
	PART("udsp", TYPE_LIST, CONF_UDSP, udsp_keys),
	PART("node", TYPE_MAP, CONF_NODE, node_keys),
	ANY("statistics"),
	END
};

/* ------------------------------------------------------------------- scalars */

bool conf_number(const char *text, int64_t *ret)
{
	bool     minus = text[0] == '-';
	uint64_t value;

	if (text_number_parse(text + (minus ? 1 : 0), &value) != 0 ||
	    value > INT64_MAX)
		return false;
	*ret = minus ? -(int64_t)value : (int64_t)value;
	return true;
}

bool conf_is_cpt(const char *text)
{
	size_t nr = strlen(text);

	return nr > 2 && text[0] == '[' && text[nr - 1] == ']' &&
	       strspn(text + 1, "0123456789,-/ ") == nr - 2;
}

bool conf_is_iface(const char *text)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@-%";

	return text[0] != '\0' && text[strspn(text, set)] == '\0' &&
	       strlen(text) < 64;
}

static bool bool_parse(const char *text, int64_t *ret)
{
	static const char *const words[][2] = { { "false", "true" },
						{ "False", "True" },
						{ "FALSE", "TRUE" },
						{ "0", "1" } };
	size_t                   i;
	int                      j;

	for (i = 0; i < ARRAY_SIZE(words); ++i) {
		for (j = 0; j < 2; ++j) {
			if (strcmp(text, words[i][j]) == 0) {
				*ret = j;
				return true;
			}
		}
	}
	return false;
}

int conf_refuse(const struct conf_node *node, const char *accepted,
		struct conf_fail *fail)
{
	const char *value = node->cfn_kind == CONF_LIST  ? "a list"
			    : node->cfn_kind == CONF_MAP ? "a map"
							 : node->cfn_text;
	const char *mark = node->cfn_kind == CONF_SCALAR ? "'" : "";

	return conf_fail_set(fail, &node->cfn_place,
			     "%s: %s%.100s%s is not accepted; accepted: %s",
			     node->cfn_key ?: "an item", mark, value, mark,
			     accepted);
}

static int int_check(const struct conf_key *key, struct conf_node *node,
		     struct conf_fail *fail)
{
	char accepted[64];

	if (conf_number(node->cfn_text, &node->cfn_number) &&
	    node->cfn_number >= key->cfk_min &&
	    node->cfn_number <= key->cfk_max)
		return 0;
	snprintf(accepted, sizeof accepted, "%" PRId64 " to %" PRId64,
		 key->cfk_min, key->cfk_max);
	return conf_refuse(node, accepted, fail);
}

static int scalar_check(const struct conf_key *key, struct conf_node *node,
			struct conf_fail *fail)
{
	const char        *text = node->cfn_text;
	struct m0_lnet_nid nid;
	uint32_t           net;

	switch (key->cfk_type) {
	case TYPE_INT:
		return int_check(key, node, fail);
	case TYPE_BOOL:
		return bool_parse(text, &node->cfn_number)
			       ? 0
			       : conf_refuse(node, "true or false", fail);
	case TYPE_NET:
		return m0_lnet_net_parse(&net, text) == 0
			       ? 0
			       : conf_refuse(node, "a network as tcp, tcp1",
					     fail);
	case TYPE_NID:
		return m0_lnet_nid_parse(&nid, text) == 0
			       ? 0
			       : conf_refuse(node, "a NID as 10.0.0.1@tcp",
					     fail);
	case TYPE_CPT:
		return conf_is_cpt(text)
			       ? 0
			       : conf_refuse(node,
					     "CPU partitions as \"[0,1]\"",
					     fail);
	default:
		return text[0] != '\0' && text_is_printable(text)
			       ? 0
			       : conf_refuse(node, "text in one line", fail);
	}
}

/* -------------------------------------------------------------- lists, maps */

/* The names that a map may have, without those of run-time values. */
static const char *names(const struct conf_key *keys, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (; keys->cfk_name != NULL; ++keys) {
		if (keys->cfk_type != TYPE_ANY && used < size)
			used += (size_t)snprintf(ret + used, size - used,
						 "%s%s", used > 0 ? ", " : "",
						 keys->cfk_name);
	}
	return ret;
}

/* Values of routers in an export, "cpt[0]". */
static bool is_runtime(const struct conf_key *keys, const char *name)
{
	return keys == routing_keys && strncmp(name, "cpt[", 4) == 0;
}

static int value_check(const struct conf_key *key, struct conf_node *node,
		       struct conf_fail *fail);

static int needed_check(const struct conf_key *keys, uint64_t seen,
			const struct conf_node *map, struct conf_fail *fail)
{
	size_t i;

	for (i = 0; keys[i].cfk_name != NULL; ++i) {
		if (keys[i].cfk_needed && (seen & UINT64_C(1) << i) == 0)
			return conf_fail_set(fail, &map->cfn_place,
					     "key '%s' is missing",
					     keys[i].cfk_name);
	}
	return 0;
}

static int map_check(const struct conf_key *keys, struct conf_node *map,
		     struct conf_fail *fail)
{
	uint64_t          seen = 0;
	struct conf_node *node;
	char              all[512];
	size_t            i;

	for (node = map->cfn_first; node != NULL; node = node->cfn_next) {
		for (i = 0; keys[i].cfk_name != NULL; ++i) {
			if (strcmp(keys[i].cfk_name, node->cfn_key) == 0)
				break;
		}
		if (is_runtime(keys, node->cfn_key))
			continue;
		if (keys[i].cfk_name == NULL)
			return conf_fail_set(fail, &node->cfn_key_place,
					     "key '%.100s' is not accepted; "
					     "accepted: %s",
					     node->cfn_key,
					     names(keys, all, sizeof all));
		M0_ASSERT(i < 64);
		if ((seen & UINT64_C(1) << i) != 0)
			return conf_fail_set(fail, &node->cfn_key_place,
					     "key '%s' is there twice",
					     node->cfn_key);
		seen |= UINT64_C(1) << i;
		if (value_check(&keys[i], node, fail) != 0)
			return -EINVAL;
	}
	return needed_check(keys, seen, map, fail);
}

static int list_check(const struct conf_key *key, struct conf_node *list,
		      struct conf_fail *fail)
{
	struct conf_node *item;

	for (item = list->cfn_first; item != NULL; item = item->cfn_next) {
		if (item->cfn_kind != CONF_MAP)
			return conf_fail_set(fail, &item->cfn_place,
					     "%s: an item is not accepted; "
					     "accepted: a list of maps, each "
					     "with 'key: value'",
					     key->cfk_name);
		if (map_check(key->cfk_keys, item, fail) != 0)
			return -EINVAL;
	}
	return 0;
}

static int numbered_check(struct conf_node *map, struct conf_fail *fail)
{
	uint64_t          last = 0;
	uint64_t          number;
	struct conf_node *node;

	for (node = map->cfn_first; node != NULL; node = node->cfn_next) {
		if (text_number_parse(node->cfn_key, &number) != 0 ||
		    (node != map->cfn_first && number <= last))
			return conf_fail_set(
				fail, &node->cfn_key_place,
				"%s: key '%.100s' is not accepted; "
				"accepted: numbers that ascend, "
				"from 0",
				map->cfn_key, node->cfn_key);
		last = number;
		if (node->cfn_kind != CONF_SCALAR ||
		    node->cfn_text[0] == '\0' ||
		    !text_is_printable(node->cfn_text))
			return conf_refuse(node, "a word", fail);
	}
	return 0;
}

/* Nothing stands for a list or map without members. */
static bool is_nothing(const struct conf_node *node)
{
	return node->cfn_kind == CONF_SCALAR && node->cfn_text[0] == '\0';
}

static int value_check(const struct conf_key *key, struct conf_node *node,
		       struct conf_fail *fail)
{
	bool list = node->cfn_kind == CONF_LIST;
	bool map = node->cfn_kind == CONF_MAP;

	node->cfn_id = key->cfk_id;
	switch (key->cfk_type) {
	case TYPE_ANY:
		return 0;
	case TYPE_MAP:
		return map ? map_check(key->cfk_keys, node, fail)
			   : (is_nothing(node)
				      ? 0
				      : conf_refuse(node, "a map", fail));
	case TYPE_NUMBERED:
		return map ? numbered_check(node, fail)
			   : (is_nothing(node) ? 0
					       : conf_refuse(node,
							     "a map, as '0: "
							     "eth0'",
							     fail));
	case TYPE_LIST:
		return list ? list_check(key, node, fail)
			    : (is_nothing(node)
				       ? 0
				       : conf_refuse(node, "a list", fail));
	case TYPE_MAPS:
		if (list)
			return list_check(key, node, fail);
		return map ? map_check(key->cfk_keys, node, fail)
			   : (is_nothing(node)
				      ? 0
				      : conf_refuse(node, "a map, or a list",
						    fail));
	default:
		return node->cfn_kind == CONF_SCALAR
			       ? scalar_check(key, node, fail)
			       : conf_refuse(node, "a single value", fail);
	}
}

int conf_schema_check(struct conf_node *tree, struct conf_fail *fail)
{
	char all[512];

	if (tree == NULL || is_nothing(tree))
		return 0;
	if (tree->cfn_kind != CONF_MAP)
		return conf_fail_set(fail, &tree->cfn_place,
				     "the file is not a map; accepted: "
				     "sections %s",
				     names(sections, all, sizeof all));
	return map_check(sections, tree, fail);
}

struct conf_node *conf_member(const struct conf_node *map, unsigned id)
{
	struct conf_node *node;

	for (node = map->cfn_first; node != NULL; node = node->cfn_next) {
		if (node->cfn_id == id && node->cfn_key != NULL)
			return node;
	}
	return NULL;
}

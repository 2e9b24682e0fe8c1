/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "m0/time.h"

#include "conf_start.h"
#include "../base/text.h"

enum {
	DAY_S = 86400,
	MS_PER_S = 1000,
	PORT_BITS = 16
};

/** A key: what its value may be, unless it is a word. */
static const struct start {
	const char *csk_name;
	/** The key has the name of a parameter of module lnet. */
	bool        csk_is_param;
	uint64_t    csk_min;
	uint64_t    csk_max;
	const char *csk_accepted;
} starts[CONF_STARTS_NR] = {
	[CONF_START_ACCEPT] = { "accept", true, 0, 0, "secure, all, none" },
	[CONF_START_PORT] = { "accept_port", true, 1, UINT16_MAX,
			      "1 to 65535" },
	[CONF_START_SOURCE_PORTS] = { "source_ports", false, 0, 0,
				      "a range as 512-1023, within 1 to 65535, "
				      "or any" },
	[CONF_START_PEERS_COLIBRI] = { "peers_colibri", false, 0, 1, "0 to 1" },
	[CONF_START_PEER_CREDITS] = { "peer_credits", false, 1, UINT16_MAX,
				      "1 to 65535" },
	[CONF_START_CREDITS] = { "credits", false, 1, UINT16_MAX,
				 "1 to 65535" },
	[CONF_START_CONNS_PER_PEER] = { "conns_per_peer", false, 1, 127,
					"1 to 127" },
	[CONF_START_LND_TIMEOUT] = { "lnd_timeout", false, 1, DAY_S,
				     "1 to 86400" },
	[CONF_START_KEEPALIVE] = { "keepalive", false, 0, DAY_S, "0 to 86400" },
	[CONF_START_LANES] = { "lanes", false, 0, 64, "0 to 64" },
	[CONF_START_ROUTER_MEMORY] = { "router_memory", false, 4 << 20,
				       UINT64_C(1) << 40,
				       "a size as 256M, from 4M to 1T" },
	[CONF_START_CHECK_INTERVAL] = { "alive_router_check_interval", true, 0,
					DAY_S, "0 to 86400" },
	[CONF_START_PING_TIMEOUT] = { "router_ping_timeout", true, 1, DAY_S,
				      "1 to 86400" },
	[CONF_START_CHECK_FIRST] = { "check_routers_before_use", true, 0, 1,
				     "0 to 1" },
	[CONF_START_AVOID_ASYM] = { "avoid_asym_router_failure", true, 0, 1,
				    "0 to 1" },
	[CONF_START_USE_DOWN] = { "use_down_routes", false, 0, 1, "0 to 1" },
};

static const char *const accepts[] = {
	[M0_LNET_ACCEPT_SECURE] = "secure",
	[M0_LNET_ACCEPT_ALL] = "all",
	[M0_LNET_ACCEPT_NONE] = "none",
};

const char *conf_start_name(unsigned start)
{
	M0_PRE(start < CONF_STARTS_NR);
	return starts[start].csk_name;
}

unsigned conf_start_of_param(const char *name)
{
	unsigned i;

	for (i = 0; i < CONF_STARTS_NR; ++i) {
		if (starts[i].csk_is_param &&
		    strcmp(starts[i].csk_name, name) == 0)
			break;
	}
	return i;
}

static int accept_read(const char *text, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(accepts); ++i) {
		if (strcmp(accepts[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The lower port in the upper bits; 0: any. */
static int ports_read(const char *text, uint64_t *ret)
{
	const char *dash = strchr(text, '-');
	char        low[TEXT_MAX];
	uint64_t    min;
	uint64_t    max;

	*ret = 0;
	if (strcmp(text, "any") == 0)
		return 0;
	if (dash == NULL || (size_t)(dash - text) >= sizeof low)
		return -EINVAL;
	snprintf(low, sizeof low, "%.*s", (int)(dash - text), text);
	if (text_number_parse(low, &min) != 0 ||
	    text_number_parse(dash + 1, &max) != 0 || min < 1 || min > max ||
	    max > UINT16_MAX)
		return -EINVAL;
	*ret = min << PORT_BITS | max;
	return 0;
}

int conf_start_read(unsigned start, const char *text, uint64_t *ret,
		    const char **ret_accepted)
{
	const struct start *at = &starts[start];
	int                 rc;

	M0_PRE(start < CONF_STARTS_NR);
	*ret_accepted = at->csk_accepted;
	switch (start) {
	case CONF_START_ACCEPT:
		return accept_read(text, ret);
	case CONF_START_SOURCE_PORTS:
		return ports_read(text, ret);
	case CONF_START_ROUTER_MEMORY:
		rc = text_size_parse(text, ret);
		break;
	default:
		rc = text_number_parse(text, ret);
		break;
	}
	return rc == 0 && *ret >= at->csk_min && *ret <= at->csk_max ? 0
								     : -EINVAL;
}

const char *conf_start_print(unsigned start, uint64_t value,
			     char ret[CONF_START_BYTES])
{
	M0_PRE(start < CONF_STARTS_NR);
	if (start == CONF_START_ACCEPT)
		snprintf(ret, CONF_START_BYTES, "%s", accepts[value]);
	else if (start == CONF_START_SOURCE_PORTS && value == 0)
		snprintf(ret, CONF_START_BYTES, "any");
	else if (start == CONF_START_SOURCE_PORTS)
		snprintf(ret, CONF_START_BYTES, "%" PRIu64 "-%" PRIu64,
			 value >> PORT_BITS, value & UINT16_MAX);
	else
		snprintf(ret, CONF_START_BYTES, "%" PRIu64, value);
	return ret;
}

static void router_apply(unsigned start, uint64_t value,
			 struct m0_lnet_routing_cfg *cfg)
{
	switch (start) {
	case CONF_START_ROUTER_MEMORY:
		cfg->lgc_bytes = value;
		break;
	case CONF_START_CHECK_INTERVAL:
		cfg->lgc_check_ms = value * MS_PER_S;
		break;
	case CONF_START_PING_TIMEOUT:
		cfg->lgc_ping_ms = value * MS_PER_S;
		break;
	case CONF_START_CHECK_FIRST:
		cfg->lgc_check_first = value != 0;
		break;
	case CONF_START_AVOID_ASYM:
		cfg->lgc_avoid_asym = value != 0;
		break;
	default:
		M0_PRE(start == CONF_START_USE_DOWN);
		cfg->lgc_use_down = value != 0;
		break;
	}
}

void conf_start_apply(unsigned start, uint64_t value, struct m0_lnet_cfg *cfg)
{
	switch (start) {
	case CONF_START_ACCEPT:
		cfg->lc_accept = (enum m0_lnet_accept)value;
		break;
	case CONF_START_PORT:
		cfg->lc_port = (uint16_t)value;
		break;
	case CONF_START_SOURCE_PORTS:
		cfg->lc_src_port_min = (uint16_t)(value >> PORT_BITS);
		cfg->lc_src_port_max = (uint16_t)value;
		break;
	case CONF_START_PEERS_COLIBRI:
		cfg->lc_peers_colibri = value != 0;
		break;
	case CONF_START_PEER_CREDITS:
		cfg->lc_peer_credits = (unsigned)value;
		break;
	case CONF_START_CREDITS:
		cfg->lc_credits = (unsigned)value;
		break;
	case CONF_START_CONNS_PER_PEER:
		cfg->lc_conns_per_peer = (unsigned)value;
		break;
	case CONF_START_LND_TIMEOUT:
		cfg->lc_timeout_ms = value * MS_PER_S;
		break;
	case CONF_START_KEEPALIVE:
		cfg->lc_keepalive_ms = value * MS_PER_S;
		break;
	case CONF_START_LANES:
		cfg->lc_lanes = (unsigned)value;
		break;
	default:
		router_apply(start, value, &cfg->lc_routing);
		break;
	}
}

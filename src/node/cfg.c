/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Defaults of a configuration, and what is wrong with one.
 */
#include <stdarg.h>
#include <stdio.h>

#include "node/node_internal.h"

int m0_node_why(char *why, int rc, const char *fmt, ...)
{
	va_list args;

	if (why == NULL)
		return rc;
	va_start(args, fmt);
	(void)vsnprintf(why, M0_LNET_WHY_BYTES, fmt, args);
	va_end(args);
	return rc;
}

void m0_lnet_cfg_default(struct m0_lnet_cfg *cfg)
{
	M0_SET0(cfg);
	cfg->lc_spin_ns = -1;
	cfg->lc_port = 988;
	cfg->lc_accept = M0_LNET_ACCEPT_SECURE;
	cfg->lc_src_port_max = 1023;
	cfg->lc_src_port_min = 512;
	cfg->lc_peer_credits = 8;
	cfg->lc_credits = 256;
	cfg->lc_conns_per_peer = 1;
	cfg->lc_transaction_timeout_ms = 150000;
	cfg->lc_timeout_ms = 50000;
	cfg->lc_accept_timeout_ms = 5000;
	cfg->lc_keepalive_ms = 30000;
	cfg->lc_reconnect_min_ms = 1000;
	cfg->lc_reconnect_max_ms = 60000;
	cfg->lc_discovery = true;
	cfg->lc_routing.lgc_buffers[0] = 512;
	cfg->lc_routing.lgc_buffers[1] = 4096;
	cfg->lc_routing.lgc_buffers[2] = 256;
	cfg->lc_routing.lgc_bytes = 256 << 20;
	cfg->lc_routing.lgc_check_ms = 60000;
	cfg->lc_routing.lgc_ping_ms = 50000;
	cfg->lc_routing.lgc_avoid_asym = true;
	cfg->lc_health.lhc_sensitivity = 100;
	cfg->lc_health.lhc_retry_count = 2;
	cfg->lc_health.lhc_ping_max_ms = 900000;
	cfg->lc_portals_nr = 64;
	cfg->lc_mes_max = 1 << 20;
	cfg->lc_mds_max = 1 << 20;
	cfg->lc_msgs_max = 64 << 10;
	cfg->lc_peers_max = 8192;
	cfg->lc_conns_max = 16384;
	cfg->lc_accepting_max = 256;
}

/* A field that is a number, and the numbers it may be. */
struct cfg_range {
	const char *cfr_name;
	size_t      cfr_offset;
	size_t      cfr_bytes;
	uint64_t    cfr_min;
	uint64_t    cfr_max;
};

/* clang-format off */
#define RANGE(field, min, max) {                                           \
	#field, offsetof(struct m0_lnet_cfg, field),                       \
	sizeof(((struct m0_lnet_cfg *)NULL)->field), (min), (max) }
/* clang-format on */

enum {
	/** A day; and a limit of what a bound may cost. */
	MS_MAX = 86400000,
	NR_MAX = 1 << 24
};

static const struct cfg_range ranges[] = {
	RANGE(lc_nets_nr, 0, M0_LNET_CFG_NETS_MAX),
	RANGE(lc_port, 1, UINT16_MAX),
	RANGE(lc_accept, M0_LNET_ACCEPT_SECURE, M0_LNET_ACCEPT_NONE),
	RANGE(lc_peer_credits, 1, UINT16_MAX),
	RANGE(lc_credits, 1, UINT16_MAX),
	RANGE(lc_conns_per_peer, 1, 127),
	RANGE(lc_transaction_timeout_ms, 1, MS_MAX),
	RANGE(lc_timeout_ms, 1, MS_MAX),
	RANGE(lc_accept_timeout_ms, 1, MS_MAX),
	RANGE(lc_keepalive_ms, 0, MS_MAX),
	RANGE(lc_reconnect_min_ms, 1, MS_MAX),
	RANGE(lc_reconnect_max_ms, 1, MS_MAX),
	RANGE(lc_routing.lgc_routes_nr, 0, M0_LNET_CFG_ROUTES_MAX),
	RANGE(lc_routing.lgc_buffers[0], 1, NR_MAX),
	RANGE(lc_routing.lgc_buffers[1], 1, NR_MAX),
	RANGE(lc_routing.lgc_buffers[2], 1, NR_MAX),
	RANGE(lc_routing.lgc_bytes, 4 << 20, UINT64_C(1) << 40),
	RANGE(lc_routing.lgc_check_ms, 0, MS_MAX),
	RANGE(lc_routing.lgc_ping_ms, 1, MS_MAX),
	RANGE(lc_health.lhc_sensitivity, 0, M0_LNET_HEALTH_MAX),
	RANGE(lc_health.lhc_retry_count, 0, UINT8_MAX),
	RANGE(lc_health.lhc_recovery_limit_ms, 0, MS_MAX),
	RANGE(lc_health.lhc_ping_max_ms, 1000, MS_MAX),
	RANGE(lc_portals_nr, 1, 4096),
	RANGE(lc_mes_max, 1, NR_MAX),
	RANGE(lc_mds_max, 1, NR_MAX),
	RANGE(lc_msgs_max, 8, NR_MAX),
	RANGE(lc_peers_max, 1, NR_MAX),
	RANGE(lc_conns_max, 1, NR_MAX),
	RANGE(lc_accepting_max, 1, NR_MAX),
	RANGE(lc_sndbuf_bytes, 0, INT32_MAX),
	RANGE(lc_rcvbuf_bytes, 0, INT32_MAX),
	RANGE(lc_lanes, 0, 64),
};

static uint64_t field_get(const struct m0_lnet_cfg *cfg,
			  const struct cfg_range   *range)
{
	const char *at = (const char *)cfg + range->cfr_offset;
	uint16_t    two;
	uint32_t    four;
	uint64_t    eight;

	switch (range->cfr_bytes) {
	case sizeof two:
		memcpy(&two, at, sizeof two);
		return two;
	case sizeof four:
		memcpy(&four, at, sizeof four);
		return four;
	default:
		M0_ASSERT(range->cfr_bytes == sizeof eight);
		memcpy(&eight, at, sizeof eight);
		return eight;
	}
}

static int ranges_check(const struct m0_lnet_cfg *cfg, char *why)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranges); ++i) {
		const struct cfg_range *range = &ranges[i];
		uint64_t                val = field_get(cfg, range);

		if (val < range->cfr_min || val > range->cfr_max)
			return m0_node_why(why, -EINVAL,
					   "%s is %" PRIu64
					   "; it may be %" PRIu64
					   " to %" PRIu64,
					   range->cfr_name, val, range->cfr_min,
					   range->cfr_max);
	}
	return 0;
}

static int ports_check(const struct m0_lnet_cfg *cfg, char *why)
{
	unsigned max = cfg->lc_src_port_max;
	unsigned min = cfg->lc_src_port_min;

	if ((max == 0) == (min == 0) && min <= max)
		return 0;
	return m0_node_why(why, -EINVAL,
			   "lc_src_port_min is %u and lc_src_port_max is %u; "
			   "they may both be 0 (any port), or 1 to 65535 with "
			   "the first not above the second",
			   min, max);
}

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

static int dir_check(const struct m0_lnet_cfg *cfg, char *why)
{
	if (!is_terminated(cfg->lc_same_host_dir, sizeof cfg->lc_same_host_dir))
		return m0_node_why(why, -EINVAL,
				   "lc_same_host_dir has no end; it may have "
				   "up to %zu characters",
				   sizeof cfg->lc_same_host_dir - 1);
	if (cfg->lc_same_host_dir[0] != '\0' && cfg->lc_same_host_dir[0] != '/')
		return m0_node_why(why, -EINVAL,
				   "lc_same_host_dir is \"%s\"; \"\" or an "
				   "absolute path is accepted",
				   cfg->lc_same_host_dir);
	return 0;
}

static int texts_check(const struct m0_lnet_cfg *cfg, char *why)
{
	int rc = dir_check(cfg, why);

	if (rc != 0)
		return rc;
	if (cfg->lc_listen.lfd_nr > M0_LNET_LISTEN_FDS_MAX)
		return m0_node_why(why, -EINVAL,
				   "lc_listen.lfd_nr is %u; it may be up to %d",
				   cfg->lc_listen.lfd_nr,
				   M0_LNET_LISTEN_FDS_MAX);
	if (!is_terminated(cfg->lc_congestion, sizeof cfg->lc_congestion))
		return m0_node_why(why, -EINVAL,
				   "lc_congestion has no end; it may have up "
				   "to %zu characters",
				   sizeof cfg->lc_congestion - 1);
	if (cfg->lc_reconnect_min_ms > cfg->lc_reconnect_max_ms)
		return m0_node_why(why, -EINVAL,
				   "lc_reconnect_min_ms is %" PRIu64
				   ", above lc_reconnect_max_ms, which is "
				   "%" PRIu64,
				   cfg->lc_reconnect_min_ms,
				   cfg->lc_reconnect_max_ms);
	if (cfg->lc_spin_ns > (int64_t)M0_TIME_ONE_SECOND)
		return m0_node_why(why, -EINVAL,
				   "lc_spin_ns is %" PRId64
				   "; it may be up to %" PRIu64
				   ", or negative for the default",
				   cfg->lc_spin_ns, M0_TIME_ONE_SECOND);
	return 0;
}

/* @retval -ENOMEM */
static int cpus_map(const char *text, struct m0_bitmap *map)
{
	int rc = m0_bitmap_init(map, M0_OS_CPUS_MAX);

	if (rc != 0)
		return rc;
	rc = m0_bitmap_parse(map, text);
	if (rc != 0)
		m0_bitmap_fini(map);
	return rc;
}

/* A list of processors, a field of 64 characters with this name. */
static int cpus_check(const char *text, const char *name, char *why)
{
	const size_t     size = sizeof((struct m0_lnet_cfg *)NULL)->lc_cpus;
	struct m0_bitmap map;
	int              rc;

	if (text[0] == 0)
		return 0;
	if (!is_terminated(text, size))
		return m0_node_why(why, -EINVAL,
				   "%s has no end; it may have up to %zu "
				   "characters",
				   name, size - 1);
	rc = cpus_map(text, &map);
	if (rc == 0)
		m0_bitmap_fini(&map);
	return rc == 0 ? 0
		       : m0_node_why(why, rc,
				     "%s is \"%s\"; it may be a list of "
				     "processors from 0 to %d, as 0-3,8, or "
				     "empty: any",
				     name, text, M0_OS_CPUS_MAX - 1);
}

int m0_node_cpus_set(struct m0_os_cpus *cpus, const struct m0_lnet_cfg *cfg,
		     char *why)
{
	struct m0_bitmap map;
	int              rc;

	if (cfg->lc_cpus[0] == 0)
		return 0;
	rc = cpus_map(cfg->lc_cpus, &map);
	if (rc == 0) {
		rc = m0_os_cpus_set(cpus, false, &map);
		m0_bitmap_fini(&map);
	}
	return rc == 0 ? 0
		       : m0_node_why(why, rc,
				     "lc_cpus is \"%s\", which names no "
				     "processor of this host",
				     cfg->lc_cpus);
}

const char *m0_node__nets_text(char buf[M0_NODE_NETS_TEXT_BYTES])
{
	char                     first[M0_LNET_NIDSTR_SIZE];
	char                     last[M0_LNET_NIDSTR_SIZE];
	const struct m0_lnd_row *row;
	size_t                   at = 0;
	unsigned                 i;
	unsigned                 j;

	buf[0] = 0;
	for (i = 0; (row = m0_lnd_row_at(i)) != NULL; ++i) {
		for (j = 0; j < M0_LND_ROW_TYPES_MAX; ++j) {
			uint32_t net = (uint32_t)row->lrw_types[j] << 16;

			if (net == 0 || row->lrw_types[j] == M0_LNET_TYPE_LO)
				break;
			(void)m0_lnet_net_print(net, first, sizeof first);
			(void)m0_lnet_net_print(net | UINT16_MAX, last,
						sizeof last);
			at += (size_t)snprintf(
				buf + at, M0_NODE_NETS_TEXT_BYTES - at,
				"%s%s to %s", at == 0 ? "" : ", ", first, last);
			/* The rest does not fit. */
			if (at >= M0_NODE_NETS_TEXT_BYTES)
				return buf;
		}
	}
	return buf;
}

int m0_node__ifaces_check(const struct m0_lnet_net_cfg *net, char *why)
{
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	(void)m0_lnet_net_print(net->lnc_net, text, sizeof text);
	if (net->lnc_ifaces_nr > M0_LNET_CFG_IFACES_MAX)
		return m0_node_why(why, -EINVAL,
				   "network %s: lnc_ifaces_nr is %u; it may "
				   "be 0 to %d",
				   text, net->lnc_ifaces_nr,
				   M0_LNET_CFG_IFACES_MAX);
	for (i = 0; i < net->lnc_ifaces_nr; ++i) {
		if (net->lnc_ifaces[i][0] == 0 ||
		    !is_terminated(net->lnc_ifaces[i],
				   sizeof net->lnc_ifaces[i]))
			return m0_node_why(why, -EINVAL,
					   "network %s: interface %u has no "
					   "name; it may be a device or an "
					   "address of up to %zu characters",
					   text, i,
					   sizeof net->lnc_ifaces[i] - 1);
	}
	return 0;
}

static int net_check(const struct m0_lnet_cfg *cfg, unsigned i, char *why)
{
	const struct m0_lnet_net_cfg *net = &cfg->lc_nets[i];
	char                          text[M0_LNET_NIDSTR_SIZE];
	char                          nets[M0_NODE_NETS_TEXT_BYTES];
	unsigned                      j;
	int                           rc;

	(void)m0_lnet_net_print(net->lnc_net, text, sizeof text);
	if (m0_lnet_net_type(net->lnc_net) == M0_LNET_TYPE_LO ||
	    m0_lnd_row_of(m0_lnet_net_type(net->lnc_net)) == NULL)
		return m0_node_why(why, -EINVAL,
				   "lc_nets[%u] is of network %s; it may be "
				   "of %s",
				   i, text, m0_node__nets_text(nets));
	for (j = 0; j < i; ++j) {
		if (cfg->lc_nets[j].lnc_net == net->lnc_net)
			return m0_node_why(why, -EINVAL,
					   "network %s is there twice; name "
					   "all its interfaces at once, as in "
					   "%s(eth0,eth1)",
					   text, text);
	}
	rc = m0_node__ifaces_check(net, why);
	return rc == 0 ? m0_node__tunables_check(cfg, net, why) : rc;
}

int m0_lnet_cfg_check(const struct m0_lnet_cfg *cfg, char *why)
{
	unsigned i;
	int      rc;

	rc = ranges_check(cfg, why);
	if (rc == 0)
		rc = ports_check(cfg, why);
	if (rc == 0)
		rc = texts_check(cfg, why);
	if (rc == 0)
		rc = cpus_check(cfg->lc_cpus, "lc_cpus", why);
	if (rc == 0)
		rc = cpus_check(cfg->lc_lane_cpus, "lc_lane_cpus", why);
	for (i = 0; rc == 0 && i < cfg->lc_nets_nr; ++i)
		rc = net_check(cfg, i, why);
	return rc;
}

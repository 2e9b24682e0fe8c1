/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Changes in words. */
#include <stdarg.h>
#include <stdio.h>

#include "conf_diff.h"

/* Cut at the end of the buffer. */
static void put(char ret[CONF_CHANGE_BYTES], const char *fmt, ...)
	M0_PRINTF(2, 3);

static void put(char ret[CONF_CHANGE_BYTES], const char *fmt, ...)
{
	size_t  used = strlen(ret);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(ret + used, CONF_CHANGE_BYTES - used, fmt, args);
	va_end(args);
}

static void net_put(const struct m0_lnet_net_cfg *net,
		    char                          ret[CONF_CHANGE_BYTES])
{
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	put(ret, "net %s", m0_lnet_net_print(net->lnc_net, text, sizeof text));
	for (i = 0; i < net->lnc_ifaces_nr; ++i)
		put(ret, "%s%s", i == 0 ? "(" : ",", net->lnc_ifaces[i]);
	if (net->lnc_ifaces_nr > 0)
		put(ret, ")");
	if (net->lnc_peer_timeout_s != 0)
		put(ret, " peer_timeout=%u", net->lnc_peer_timeout_s);
	if (net->lnc_peer_credits != 0)
		put(ret, " peer_credits=%u", net->lnc_peer_credits);
	if (net->lnc_peer_buffer_credits != 0)
		put(ret, " peer_buffer_credits=%u",
		    net->lnc_peer_buffer_credits);
	if (net->lnc_credits != 0)
		put(ret, " credits=%u", net->lnc_credits);
	if (net->lnc_options[0] != '\0')
		put(ret, " %s", net->lnc_options);
}

static void route_put(const struct m0_lnet_route_attr *attr,
		      char                             ret[CONF_CHANGE_BYTES])
{
	char net[M0_LNET_NIDSTR_SIZE];
	char gateway[M0_LNET_NIDSTR_SIZE];

	put(ret, "route %s by %s",
	    m0_lnet_net_print(attr->lra_net, net, sizeof net),
	    m0_lnet_nid_print(&attr->lra_gateway, gateway, sizeof gateway));
	if (attr->lra_hops != 0)
		put(ret, " hop %" PRIu32, attr->lra_hops);
	if (attr->lra_priority != 0)
		put(ret, " priority %" PRIu32, attr->lra_priority);
}

static void peer_put(const struct conf_change *change,
		     char                      ret[CONF_CHANGE_BYTES])
{
	char     nid[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	put(ret, "peer %s",
	    m0_lnet_nid_print(&change->ccg_primary, nid, sizeof nid));
	if (change->ccg_whole && !change->ccg_multi_rail)
		put(ret, " not Multi-Rail");
	for (i = 0; i < change->ccg_nids_nr; ++i)
		put(ret, "%s%s", i == 0 ? " NIDs " : ",",
		    m0_lnet_nid_print(&change->ccg_nids[i], nid, sizeof nid));
}

static void range_put(const char *name, const struct m0_lnet_nid_range *range,
		      char ret[CONF_CHANGE_BYTES])
{
	char text[M0_LNET_NID_RANGE_BYTES];

	if (range->lnr_form != M0_LNET_NID_RANGE_NONE)
		put(ret, " %s %s", name,
		    m0_lnet_nid_range_print(range, text, sizeof text));
}

static void udsp_put(const struct m0_lnet_udsp *udsp,
		     char                       ret[CONF_CHANGE_BYTES])
{
	put(ret, "udsp %" PRId32, udsp->lud_idx);
	range_put("src", &udsp->lud_src, ret);
	range_put("dst", &udsp->lud_dst, ret);
	range_put("rte", &udsp->lud_rte, ret);
	if (udsp->lud_action == M0_LNET_UDSP_PRIORITY)
		put(ret, " priority %" PRIu32, udsp->lud_priority);
}

static const struct {
	const char *section;
	const char *name;
} sets[CONF_SETS_NR] = {
	{ "global", "discovery" },
	{ "global", "drop_asym_route" },
	{ "global", "retry_count" },
	{ "global", "transaction_timeout" },
	{ "global", "health_sensitivity" },
	{ "global", "recovery_limit" },
	{ "global", "max_recovery_ping_interval" },
	{ "routing", "cut_through" },
	{ "routing", "splice" },
	{ "routing", "enable" },
	{ "buffers", "tiny" },
	{ "buffers", "small" },
	{ "buffers", "large" },
};

const char *conf_change_section(const struct conf_change *change)
{
	static const char *const names[] = {
		[CONF_CHANGE_NET] = "net",
		[CONF_CHANGE_ROUTE] = "route",
		[CONF_CHANGE_PEER] = "peer",
		[CONF_CHANGE_UDSP] = "udsp",
	};

	return change->ccg_kind == CONF_CHANGE_SET
		       ? sets[change->ccg_set].section
		       : names[change->ccg_kind];
}

void conf_change_print(const struct conf_change *change,
		       char                      ret[CONF_CHANGE_BYTES])
{
	ret[0] = '\0';
	if (change->ccg_kind == CONF_CHANGE_SET) {
		put(ret, "~ %s %s %" PRIu64 " -> %" PRIu64,
		    sets[change->ccg_set].section, sets[change->ccg_set].name,
		    change->ccg_old, change->ccg_new);
		return;
	}
	put(ret, "%c ", change->ccg_add ? '+' : '-');
	if (change->ccg_kind == CONF_CHANGE_NET)
		net_put(change->ccg_net, ret);
	else if (change->ccg_kind == CONF_CHANGE_ROUTE)
		route_put(&change->ccg_route, ret);
	else if (change->ccg_kind == CONF_CHANGE_UDSP)
		udsp_put(change->ccg_udsp, ret);
	else
		peer_put(change, ret);
}

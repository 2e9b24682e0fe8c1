/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Options of a network, by the names of the parameters of Lustre. */
#include "lnd/o2ib/o2ib.h"
#include "base/options.h"

enum {
	DAY_SECONDS = 86400,
	DAY_MS = DAY_SECONDS * 1000,
	PORT_MAX = 65535,
	ANY_MAX = 1 << 30
};

#define OPTION(field, name, unit, min, max, scale) \
	M0_OPTION(struct m0_o2ib_net_cfg, field, name, unit, min, max, scale)
#define IGNORED(name) OPTION(obn_ignored, name, "", 0, ANY_MAX, 1)

static const struct m0_option options[] = {
	OPTION(obn_service, "service", "", 1, PORT_MAX, 1),
	OPTION(obn_use_privileged_port, "use_privileged_port", "", 0, 1, 1),
	OPTION(obn_timeout_ns, "timeout", "seconds", 1, DAY_SECONDS,
	       M0_TIME_ONE_SECOND),
	OPTION(obn_keepalive_ns, "keepalive", "seconds", 0, DAY_SECONDS,
	       M0_TIME_ONE_SECOND),
	OPTION(obn_reconnect_min_ns, "min_reconnectms", "milliseconds", 1,
	       DAY_MS, M0_TIME_ONE_MSEC),
	OPTION(obn_reconnect_max_ns, "max_reconnectms", "milliseconds", 1,
	       DAY_MS, M0_TIME_ONE_MSEC),
	OPTION(obn_cancel_grace_ns, "cancel_grace_ms", "milliseconds", 0,
	       DAY_MS, M0_TIME_ONE_MSEC),
	OPTION(obn_retry_nr, "retry_count", "", 0, 7, 1),
	OPTION(obn_rnr_retry_nr, "rnr_retry_count", "", 0, 7, 1),
	OPTION(obn_rnr_timer, "min_rnr_timer", "", 0, 31, 1),
	OPTION(obn_ack_timeout, "ack_timeout", "", 0, 31, 1),
	OPTION(obn_tos, "tos", "", 0, M0_O2IB_TOS_SYSTEM - 1, 1),
	OPTION(obn_get_req, "get_req", "", 0, 1, 1),
	OPTION(obn_conns_per_peer, "conns_per_peer", "", 1,
	       M0_O2IB_CONNS_PER_PEER_MAX, 1),
	OPTION(obn_bounce_bytes, "bounce_mib", "MiB", 1, 4096, 1 << 20),
	IGNORED("peercredits_hiw"),
	IGNORED("concurrent_sends"),
	IGNORED("map_on_demand"),
	IGNORED("ntx"),
	IGNORED("fmr_pool_size"),
	IGNORED("fmr_flush_trigger"),
	IGNORED("fmr_cache"),
	IGNORED("require_privileged_port"),
	IGNORED("ib_mtu"),
	IGNORED("wrq_sge"),
	IGNORED("use_fastreg_gaps"),
	IGNORED("cksum"),
	IGNORED("nscheds"),
};

int m0_o2ib_options(struct m0_o2ib_net_cfg *cfg, const char *text, char *why)
{
	struct m0_o2ib_net_cfg      own;
	const struct m0_options_net net = {
		.onn_cfg = cfg,
		.onn_own = &own,
		.onn_bytes = sizeof own,
		.onn_reconnect_min_ns = &own.obn_reconnect_min_ns,
		.onn_reconnect_max_ns = &own.obn_reconnect_max_ns,
	};

	return m0_options_net_read(options, ARRAY_SIZE(options), &net, text,
				   why);
}

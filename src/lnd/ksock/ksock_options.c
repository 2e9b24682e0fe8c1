/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Options of a network, by the names of the parameters of Lustre. */
#include "lnd/ksock/sock_internal.h"
#include "base/options.h"

enum {
	CONNS_MAX = 127,
	DAY_SECONDS = 86400,
	DAY_MS = DAY_SECONDS * 1000
};

static const struct m0_option options[] = {
	M0_OPTION(struct m0_sock_net_cfg, son_conns_per_peer, "conns_per_peer",
		  "", 1, CONNS_MAX, 1),
	M0_OPTION(struct m0_sock_net_cfg, son_timeout_ns, "timeout", "seconds",
		  1, DAY_SECONDS, M0_TIME_ONE_SECOND),
	M0_OPTION(struct m0_sock_net_cfg, son_keepalive_ns, "keepalive",
		  "seconds", 0, DAY_SECONDS, M0_TIME_ONE_SECOND),
	M0_OPTION(struct m0_sock_net_cfg, son_reconnect_min_ns,
		  "min_reconnectms", "milliseconds", 1, DAY_MS,
		  M0_TIME_ONE_MSEC),
	M0_OPTION(struct m0_sock_net_cfg, son_reconnect_max_ns,
		  "max_reconnectms", "milliseconds", 1, DAY_MS,
		  M0_TIME_ONE_MSEC),
};

int m0_sock_options(struct m0_sock_net_cfg *cfg, const char *text, char *why)
{
	struct m0_sock_net_cfg      own;
	const struct m0_options_net net = {
		.onn_cfg = cfg,
		.onn_own = &own,
		.onn_bytes = sizeof own,
		.onn_reconnect_min_ns = &own.son_reconnect_min_ns,
		.onn_reconnect_max_ns = &own.son_reconnect_max_ns,
	};

	return m0_options_net_read(options, ARRAY_SIZE(options), &net, text,
				   why);
}

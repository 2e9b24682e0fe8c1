/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Makes the driver from the configuration of a node, over streams of its host. */
#include <stdio.h>

#include "lnd/ksock/ksock_row.h"
#include "lnd/ksock/sock.h"

static m0_time_t ms(uint64_t nr)
{
	return nr * M0_TIME_ONE_MSEC;
}

static enum m0_sock_accept accept_of(enum m0_lnet_accept accept)
{
	switch (accept) {
	case M0_LNET_ACCEPT_SECURE:
		return M0_SOCK_ACCEPT_SECURE;
	case M0_LNET_ACCEPT_ALL:
		return M0_SOCK_ACCEPT_ALL;
	default:
		return M0_SOCK_ACCEPT_NONE;
	}
}

/* Sets the tunables of a network without options. */
static void net_cfg_set(struct m0_sock_net_cfg   *ncfg,
			const struct m0_lnet_cfg *cfg)
{
	ncfg->son_conns_per_peer =
		cfg->lc_control_only ? 0 : cfg->lc_conns_per_peer;
	ncfg->son_timeout_ns = ms(cfg->lc_timeout_ms);
	ncfg->son_keepalive_ns = ms(cfg->lc_keepalive_ms);
	ncfg->son_reconnect_min_ns = ms(cfg->lc_reconnect_min_ms);
	ncfg->son_reconnect_max_ns = ms(cfg->lc_reconnect_max_ms);
}

static void cfg_set(struct m0_sock_cfg *scfg, const struct m0_lnet_cfg *cfg)
{
	m0_sock_cfg_default(scfg);
	scfg->soc_port = cfg->lc_port;
	scfg->soc_accept = accept_of(cfg->lc_accept);
	scfg->soc_src_port_max = cfg->lc_src_port_max;
	scfg->soc_src_port_min = cfg->lc_src_port_min;
	scfg->soc_peers_colibri = cfg->lc_peers_colibri;
	scfg->soc_pid = M0_LNET_PID_LUSTRE;
	net_cfg_set(&scfg->soc_net, cfg);
	scfg->soc_accept_timeout_ns = ms(cfg->lc_accept_timeout_ms);
	scfg->soc_conns_max = cfg->lc_conns_max;
	scfg->soc_accepting_max = cfg->lc_accepting_max;
	scfg->soc_failed_max = cfg->lc_peers_max;
}

static int streams_make(struct m0_streams **ret, const struct m0_lnd_env *env)
{
	const struct m0_lnet_cfg *cfg = env->lev_cfg;
	struct m0_streams_cfg     icfg = {
		    .sic_sndbuf_bytes = cfg->lc_sndbuf_bytes,
		    .sic_rcvbuf_bytes = cfg->lc_rcvbuf_bytes,
		    .sic_same_host = cfg->lc_same_host,
		    .sic_accept_timeout_ns = ms(cfg->lc_accept_timeout_ms),
		    .sic_lanes_nr = cfg->lc_lanes,
		    .sic_lane_cpus = cfg->lc_lane_cpus,
		    .sic_listen_fds_nr = cfg->lc_listen.lfd_nr,
	};

	M0_BASSERT(sizeof icfg.sic_same_host_dir ==
		   sizeof cfg->lc_same_host_dir);
	memcpy(icfg.sic_same_host_dir, cfg->lc_same_host_dir,
	       sizeof icfg.sic_same_host_dir);
	M0_BASSERT(sizeof icfg.sic_listen_fds == sizeof cfg->lc_listen.lfd_fds);
	memcpy(icfg.sic_listen_fds, cfg->lc_listen.lfd_fds,
	       sizeof icfg.sic_listen_fds);
	memcpy(icfg.sic_congestion, cfg->lc_congestion,
	       sizeof icfg.sic_congestion);
	return m0_host_ops_get()->hso_streams_create(ret, env->lev_reactor,
						     &icfg);
}

static int ksock_create(struct m0_lnd **ret, const struct m0_lnd_env *env,
			char *why)
{
	struct m0_streams *streams;
	struct m0_sock_cfg scfg;
	int                rc;

	rc = streams_make(&streams, env);
	if (rc == -EINVAL)
		(void)snprintf(why, M0_LND_WHY_BYTES,
			       "lc_lane_cpus is \"%s\", which names no "
			       "processor of this host",
			       env->lev_cfg->lc_lane_cpus);
	if (rc != 0)
		return rc;
	cfg_set(&scfg, env->lev_cfg);
	rc = m0_sock_create(ret, &scfg, streams, env->lev_seed, env->lev_now);
	if (rc != 0)
		streams->sts_ops->sto_destroy(streams);
	return rc;
}

static int ksock_options(const struct m0_lnet_cfg *cfg, const char *text,
			 char *why)
{
	struct m0_sock_net_cfg ncfg;

	net_cfg_set(&ncfg, cfg);
	return m0_sock_options(&ncfg, text, why);
}

const struct m0_lnd_row m0_ksock_row = { .lrw_name = "sock",
					 .lrw_types = { M0_LNET_TYPE_TCP },
					 .lrw_options = ksock_options,
					 .lrw_create = ksock_create };

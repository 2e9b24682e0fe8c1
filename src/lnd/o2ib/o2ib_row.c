/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Makes the driver from the configuration of a node, over the provider of its host. */
#include <stdio.h>

#include "lnd/o2ib/o2ib.h"
#include "base/options.h"
#include "lnd/lnd_row.h"

enum {
	/** Polling before sleeping. */
	SPIN_US = 50
};

static const struct m0_o2ib_provider *provider;

void m0_o2ib_provider_set(const struct m0_o2ib_provider *prov)
{
	provider = prov;
}

const struct m0_o2ib_provider *m0_o2ib_provider_get(void)
{
	return provider;
}

static void cfg_set(struct m0_o2ib_cfg *ocfg, const struct m0_lnet_cfg *cfg)
{
	struct m0_o2ib_net_cfg *net = &ocfg->obc_net;

	m0_o2ib_cfg_default(ocfg);
	ocfg->obc_listens = cfg->lc_accept != M0_LNET_ACCEPT_NONE;
	ocfg->obc_conns_max = cfg->lc_conns_max;
	ocfg->obc_accepting_max = cfg->lc_accepting_max;
	net->obn_conns_per_peer = (unsigned)min64u(
		max64u(cfg->lc_conns_per_peer, 1), M0_O2IB_CONNS_PER_PEER_MAX);
	net->obn_timeout_ns = cfg->lc_timeout_ms * M0_TIME_ONE_MSEC;
	net->obn_reconnect_min_ns = cfg->lc_reconnect_min_ms * M0_TIME_ONE_MSEC;
	net->obn_reconnect_max_ns = cfg->lc_reconnect_max_ms * M0_TIME_ONE_MSEC;
	net->obn_resolve_ns = min64u(net->obn_resolve_ns, net->obn_timeout_ns);
	net->obn_connect_ns = min64u(net->obn_connect_ns, net->obn_timeout_ns);
	net->obn_cancel_grace_ns =
		min64u(net->obn_cancel_grace_ns, net->obn_timeout_ns);
}

static int o2ib_create(struct m0_lnd **ret, const struct m0_lnd_env *env,
		       char *why)
{
	struct m0_o2ib_dev_cfg dcfg = {
		.odg_spin_ns = SPIN_US * M0_TIME_ONE_USEC,
		.odg_qps_max = env->lev_cfg->lc_conns_max,
	};
	struct m0_o2ib_cfg  ocfg;
	struct m0_o2ib_dev *dev;
	int                 rc;

	if (provider == NULL) {
		snprintf(why, M0_LND_WHY_BYTES,
			 "this build has no driver for RDMA, which net o2ib "
			 "needs: install libibverbs-dev and librdmacm-dev, "
			 "and build again with -Do2ib=enabled");
		return -EOPNOTSUPP;
	}
	rc = provider->opr_create(&dev, env->lev_reactor, &dcfg, why);
	if (rc != 0)
		return rc;
	cfg_set(&ocfg, env->lev_cfg);
	rc = m0_o2ib_create(ret, &ocfg, dev);
	if (rc != 0)
		dev->odv_ops->odo_fini(dev);
	return rc;
}

static int o2ib_options(const struct m0_lnet_cfg *cfg, const char *text,
			char *why)
{
	struct m0_o2ib_cfg ocfg;

	cfg_set(&ocfg, cfg);
	return m0_o2ib_options(&ocfg.obc_net, text, why);
}

const struct m0_lnd_row m0_o2ib_row = { .lrw_name = "o2ib",
					.lrw_types = { M0_LNET_TYPE_O2IB },
					.lrw_options = o2ib_options,
					.lrw_create = o2ib_create };

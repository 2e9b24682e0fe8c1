/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Our node of a replay, configured as the machine that it takes the place of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "golden/replay.h"

static bool is_on_net(const struct replay_machine *m, uint32_t net)
{
	unsigned i;

	for (i = 0; i < m->rm_first_nr; ++i)
		if (m0_lnet_nid_net(&m->rm_nids[i]) == net)
			return true;
	return false;
}

bool replay__is_reachable(const struct replay      *replay,
			  const struct m0_lnet_nid *nid)
{
	uint32_t net = m0_lnet_nid_net(nid);

	return is_on_net(&replay->re_machines[replay->re_ours], net) ||
	       (net != 0 && net == replay->re_far_net);
}

/* How many connections of each bulk type the machine made to a peer. */
static unsigned conns_per_peer(const struct replay *replay)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < replay->re_items_nr; ++i) {
		const struct replay_item *item = &replay->re_items[i];

		nr += item->ri_ours && item->ri_kind == PCAP_BYTES &&
		      item->ri_stream < 9 &&
		      item->ri_msg->dm_kind == DIALOGUE_HELLO &&
		      item->ri_msg->dm_from == PCAP_INITIATOR &&
		      item->ri_msg->dm_hello.sh_ctype == M0_SOCK_BULK_IN;
	}
	return replay->re_machines_nr == 2 && nr > 2 ? nr : 1;
}

/* The network that the machine has a route to: it sends requests there. */
static uint32_t far_net(const struct replay *replay)
{
	const struct replay_item *item;
	uint32_t                  net;
	unsigned                  i;
	int                       type;

	for (i = 0; i < replay->re_machines_nr; ++i)
		if (replay->re_machines[i].rm_is_router)
			break;
	if (i == replay->re_machines_nr)
		return 0;
	for (i = 0; i < replay->re_items_nr; ++i) {
		item = &replay->re_items[i];
		type = replay__type(item);
		if (!item->ri_ours ||
		    (type != M0_LNET_PUT && type != M0_LNET_GET))
			continue;
		net = m0_lnet_nid_net(&item->ri_msg->dm_hdr.lhd_dest_nid);
		if (!is_on_net(&replay->re_machines[replay->re_ours], net))
			return net;
	}
	return 0;
}

/* Routes to the far network, by each router of the recording. */
static void routes_add(struct replay *replay, struct m0_lnet_cfg *cfg)
{
	const struct replay_machine *ours =
		&replay->re_machines[replay->re_ours];
	const struct replay_machine *m;
	char                         text[2 * M0_LNET_NIDSTR_SIZE];
	char                         gateway[M0_LNET_NIDSTR_SIZE];
	char                         net[M0_LNET_NIDSTR_SIZE];
	char                         why[M0_LNET_WHY_BYTES] = "";
	unsigned                     k;

	for (m = replay->re_machines;
	     m < replay->re_machines + replay->re_machines_nr; ++m) {
		if (!m->rm_is_router || !is_on_net(m, replay->re_far_net))
			continue;
		for (k = 0; k < m->rm_first_nr; ++k) {
			if (!is_on_net(ours, m0_lnet_nid_net(&m->rm_nids[k])))
				continue;
			(void)snprintf(text, sizeof text, "%s %s",
				       m0_lnet_net_print(replay->re_far_net,
							 net, sizeof net),
				       m0_lnet_nid_print(&m->rm_nids[k],
							 gateway,
							 sizeof gateway));
			if (m0_lnet_cfg_routes(cfg, text, why) != 0)
				replay__fail(replay, NULL, "route: %s", why);
		}
	}
}

void replay__node_open(struct replay *replay)
{
	const struct replay_machine *m = &replay->re_machines[replay->re_ours];
	struct m0_lnet_cfg           cfg;
	char                         why[M0_LNET_WHY_BYTES] = "";
	char                         nid[M0_LNET_NIDSTR_SIZE];
	unsigned                     i;

	m0_lnet_cfg_default(&cfg);
	cfg.lc_discovery = m->rm_info == NULL ||
			   (m->rm_features & M0_LNET_FEAT_DISCOVERY) != 0;
	cfg.lc_conns_per_peer = conns_per_peer(replay);
	for (i = 0; i < m->rm_first_nr; ++i) {
		char text[2 * M0_LNET_NIDSTR_SIZE];

		m0_lnet_nid_print(&m->rm_nids[i], nid, sizeof nid);
		*strchr(nid, '@') = 0;
		(void)snprintf(text, sizeof text, "%s(%s)", strchr(nid, 0) + 1,
			       nid);
		/* Interfaces of one network stand together. */
		if (i > 0 && m0_lnet_nid_net(&m->rm_nids[i]) ==
				     m0_lnet_nid_net(&m->rm_nids[i - 1])) {
			struct m0_lnet_net_cfg *net =
				&cfg.lc_nets[cfg.lc_nets_nr - 1];

			(void)snprintf(net->lnc_ifaces[net->lnc_ifaces_nr++],
				       M0_LNET_CFG_NAME_BYTES, "%s", nid);
			continue;
		}
		assert_int_equal(m0_lnet_cfg_networks(&cfg, text, why), 0);
	}
	replay->re_far_net = far_net(replay);
	if (replay->re_far_net != 0)
		routes_add(replay, &cfg);
	m0_sim_host_use(NULL);
	if (m0_lnet_open(&replay->re_lnet, &cfg, why) != 0)
		replay__fail(replay, NULL, "open: %s", why);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Nodes and addresses of stories that run in the simulator. */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/lnet.h"
#include "m0/sim_attach.h"

static struct m0_sim_host *hosts[2];
/** Nodes of daemons, if processes are attached to them. */
static bool                  is_shared;
static struct m0_lnet       *shared[2];
static struct m0_sim_daemon *daemons[2];

void fail_nodes_share(bool on)
{
	is_shared = on;
}

/* A process that is attached to a node of its own. */
static void node_share(struct m0_lnet **node, struct m0_lnet_cfg *cfg,
		       unsigned i)
{
	(void)snprintf(cfg->lc_attach, sizeof cfg->lc_attach, "/%u", i);
	shared[i] = *node;
	FAIL_TRY(m0_sim_daemon_start(&daemons[i], shared[i], cfg->lc_attach));
	FAIL_TRY(m0_lnet_open(node, cfg, NULL));
}

static void node_cfg(struct m0_lnet_cfg *cfg, unsigned i)
{
	char why[M0_LNET_WHY_BYTES];
	char text[32];

	m0_lnet_cfg_default(cfg);
	snprintf(text, sizeof text, "tcp(10.0.0.%u)", i + 1);
	assert_int_equal(m0_lnet_cfg_networks(cfg, text, why), 0);
	cfg->lc_transaction_timeout_ms = 1000;
	cfg->lc_timeout_ms = 1000;
	cfg->lc_reconnect_min_ms = 10;
	cfg->lc_reconnect_max_ms = 100;
}

void fail_nodes_init(struct m0_lnet *node[2])
{
	static const struct m0_sim_stream_cfg wire = {
		.ssc_latency_ns = 10 * 1000,
		.ssc_piece_bytes_max = 60000,
	};
	static const char *const  names[2] = { "10.0.0.1", "10.0.0.2" };
	static struct m0_lnet_cfg cfg;
	unsigned                  i;

	m0_sim_net_init(fail_sim(), &wire);
	for (i = 0; i < 2; ++i) {
		hosts[i] = m0_sim_host_add(names[i], names[i]);
		m0_sim_host_use(hosts[i]);
		node_cfg(&cfg, i);
		FAIL_TRY(m0_lnet_open(&node[i], &cfg, NULL));
		if (is_shared)
			node_share(&node[i], &cfg, i);
	}
	m0_sim_host_use(NULL);
}

void fail_nodes_fini(struct m0_lnet *node[2])
{
	unsigned i;

	for (i = 0; i < 2; ++i) {
		m0_lnet_close(node[i]);
		if (!is_shared)
			continue;
		m0_sim_daemon_stop(daemons[i]);
		m0_lnet_close(shared[i]);
	}
	m0_sim_net_fini();
}

void fail_addr(char *ret, size_t size, const struct m0_net_xprt *xprt,
	       unsigned i)
{
	snprintf(ret, size,
		 xprt == &m0_net_lnet_xprt ? "10.0.0.%u@tcp:12345:40:7"
					   : "127.0.0.1:700%u",
		 i + 1);
}

void fail_tm_set(struct fail_end *end)
{
	struct m0_bitmap first = { 0 };

	if (end->fen_dom.nd_xprt == &m0_net_lnet_xprt) {
		m0_net_lnet_send_acked(&end->fen_dom, true);
		return;
	}
	m0_net_bulk_mem_tm_set_num_threads(&end->fen_tm, FAIL_WORKERS);
	assert_int_equal(m0_net_bulk_mem_tm_get_num_threads(&end->fen_tm),
			 FAIL_WORKERS);
	FAIL_TRY(m0_bitmap_init(&first, 1));
	m0_bitmap_set(&first, 0, true);
	FAIL_TRY(m0_net_tm_confine(&end->fen_tm, &first));
	m0_bitmap_fini(&first);
}

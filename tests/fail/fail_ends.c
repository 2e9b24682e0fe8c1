/* SPDX-License-Identifier: Apache-2.0 */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/lnet.h"

static struct m0_lnet     *nodes[2];
static struct m0_sim_host *hosts[2];
static enum fail_mode      the_mode;
static struct fail_end    *polled;

/* -- nodes ----------------------------------------------------------------- */

void fail_node_cfg(struct m0_lnet_cfg *cfg, unsigned i)
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
		fail_node_cfg(&cfg, i);
		FAIL_TRY(m0_lnet_open(&node[i], &cfg, NULL));
	}
	m0_sim_host_use(NULL);
}

void fail_nodes_fini(struct m0_lnet *node[2])
{
	m0_lnet_close(node[0]);
	m0_lnet_close(node[1]);
	m0_sim_net_fini();
}

/* -- domains, machines ----------------------------------------------------- */

void fail_doms_init(struct fail_end end[2], const struct m0_net_xprt *xprt)
{
	bool     lnet = xprt == &m0_net_lnet_xprt;
	unsigned i;

	memset(end, 0, 2 * sizeof end[0]);
	if (lnet)
		fail_nodes_init(nodes);
	for (i = 0; i < 2; ++i) {
		if (lnet)
			FAIL_TRY(m0_net_lnet_use(nodes[i]));
		snprintf(end[i].fen_addr, sizeof end[i].fen_addr,
			 lnet ? "10.0.0.%u@tcp:12345:40:7" : "127.0.0.1:700%u",
			 i + 1);
		FAIL_TRY(m0_net_domain_init(&end[i].fen_dom, xprt));
	}
}

void fail_doms_fini(struct fail_end end[2], const struct m0_net_xprt *xprt)
{
	unsigned i;

	for (i = 0; i < 2; ++i) {
		assert_int_equal(m0_net_domain_fini(&end[i].fen_dom), 0);
		if (xprt == &m0_net_lnet_xprt)
			assert_int_equal(m0_net_lnet_unuse(nodes[i]), 0);
	}
	if (xprt == &m0_net_lnet_xprt)
		fail_nodes_fini(nodes);
}

static void recv_event(const struct m0_net_buffer_event *ev)
{
	(void)ev;
}

static const struct m0_net_buffer_callbacks recv_callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = recv_event },
};

static void tm_event(const struct m0_net_tm_event *ev)
{
	struct fail_end *end =
		container_of(ev->nte_tm, struct fail_end, fen_tm);

	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		end->fen_state = ev->nte_next_state;
}

static const struct m0_net_tm_callbacks tm_callbacks = {
	.ntc_event_cb = tm_event,
};

static bool tm_is_settled(void *arg)
{
	const struct fail_end *end = arg;

	return M0_IN(end->fen_state,
		     (M0_NET_TM_STARTED, M0_NET_TM_STOPPED, M0_NET_TM_FAILED));
}

static void mode_set(struct fail_end *end)
{
	if (the_mode == FAIL_SYNC)
		FAIL_TRY(m0_net_buffer_event_deliver_synchronously(
			&end->fen_tm));
	if (the_mode == FAIL_INLINE)
		FAIL_TRY(m0_net_tm_inline(&end->fen_tm));
}

int fail_tm_up(struct fail_end *end, struct m0_net_buffer_pool *pool)
{
	int rc;

	end->fen_state = M0_NET_TM_UNDEFINED;
	end->fen_tm.ntm_callbacks = &tm_callbacks;
	FAIL_TRY(m0_net_tm_init(&end->fen_tm, &end->fen_dom));
	mode_set(end);
	m0_net_tm_spin_set(&end->fen_tm, 0);
	m0_net_tm_colour_set(&end->fen_tm, 0);
	if (pool != NULL)
		FAIL_TRY(m0_net_tm_pool_attach(&end->fen_tm, pool,
					       &recv_callbacks, 1, 1, 2));
	rc = m0_net_tm_start(&end->fen_tm, end->fen_addr);
	if (rc == 0) {
		FAIL_UNTIL(tm_is_settled, end);
		if (end->fen_state == M0_NET_TM_STARTED)
			return 0;
		rc = -EIO;
	}
	assert_int_equal(m0_net_tm_fini(&end->fen_tm), 0);
	M0_SET0(&end->fen_tm);
	return rc;
}

void fail_tm_down(struct fail_end *end)
{
	end->fen_state = M0_NET_TM_UNDEFINED;
	FAIL_TRY(m0_net_tm_stop(&end->fen_tm, false));
	FAIL_UNTIL(tm_is_settled, end);
	assert_int_equal(end->fen_state, M0_NET_TM_STOPPED);
	assert_int_equal(m0_net_tm_fini(&end->fen_tm), 0);
}

static void poll(void)
{
	unsigned i;

	for (i = 0; i < 2; ++i)
		if (M0_IN(polled[i].fen_tm.ntm_state,
			  (M0_NET_TM_STARTING, M0_NET_TM_STARTED,
			   M0_NET_TM_STOPPING)) &&
		    m0_net_buffer_event_pending(&polled[i].fen_tm))
			m0_net_buffer_event_deliver_all(&polled[i].fen_tm);
}

void fail_ends_init(struct fail_end end[2], const struct m0_net_xprt *xprt,
		    enum fail_mode mode)
{
	fail_doms_init(end, xprt);
	polled = end;
	the_mode = mode;
	fail_pump_set(mode == FAIL_ASYNC ? NULL : poll);
	FAIL_TRY(fail_tm_up(&end[0], NULL));
	FAIL_TRY(fail_tm_up(&end[1], NULL));
}

void fail_ends_fini(struct fail_end end[2], const struct m0_net_xprt *xprt)
{
	fail_tm_down(&end[1]);
	fail_tm_down(&end[0]);
	fail_pump_set(NULL);
	the_mode = FAIL_ASYNC;
	fail_doms_fini(end, xprt);
}

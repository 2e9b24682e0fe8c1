/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/lnet.h"

static struct m0_lnet  *nodes[2];
static enum fail_mode   the_mode;
static struct fail_end *polled;

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
		fail_addr(end[i].fen_addr, sizeof end[i].fen_addr, xprt, i);
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
		__atomic_store_n(&end->fen_state, ev->nte_next_state,
				 __ATOMIC_RELEASE);
}

static const struct m0_net_tm_callbacks tm_callbacks = {
	.ntc_event_cb = tm_event,
};

static bool tm_is_settled(void *arg)
{
	const struct fail_end *end = arg;

	return M0_IN(__atomic_load_n(&end->fen_state, __ATOMIC_ACQUIRE),
		     (M0_NET_TM_STARTED, M0_NET_TM_STOPPED, M0_NET_TM_FAILED));
}

static void mode_set(struct fail_end *end)
{
	if (the_mode == FAIL_SYNC)
		FAIL_TRY(m0_net_buffer_event_deliver_synchronously(
			&end->fen_tm));
	if (the_mode == FAIL_INLINE)
		FAIL_TRY(m0_net_tm_inline(&end->fen_tm));
	if (the_mode == FAIL_ASYNC)
		fail_tm_set(end);
}

static int fd_make(struct fail_end *end)
{
	int rc = m0_net_tm_fd(&end->fen_tm);

	return rc < 0 ? rc : 0;
}

int fail_tm_up(struct fail_end *end, struct m0_net_buffer_pool *pool)
{
	int rc;

	end->fen_state = M0_NET_TM_UNDEFINED;
	end->fen_tm.ntm_callbacks = &tm_callbacks;
	FAIL_TRY(m0_net_tm_init(&end->fen_tm, &end->fen_dom));
	mode_set(end);
	m0_net_tm_spin_set(&end->fen_tm, 0);
	m0_net_tm_drain_limit_set(&end->fen_tm, M0_TIME_ONE_SECOND);
	m0_net_tm_colour_set(&end->fen_tm, 0);
	FAIL_TRY(fd_make(end));
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

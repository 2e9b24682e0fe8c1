/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The network layer under the simulator: that a whole program of domains and
 * machines is a function of the seed, and leaves nothing behind. What the
 * machines do is the conformance suite's business.
 */
#include "m0/mem.h"
#include "m0/net.h"
#include "unit/sim/worker.h"

enum {
	SEEDS_NR = 40,
	BUFS_NR = 6,
	BYTES = 64,
	SENDS_NR = 40,
	FIRST = 1
};

/* A machine that sends a while, and takes what it is sent. */
struct node {
	struct m0_net_domain      n_dom;
	struct m0_net_transfer_mc n_tm;
	struct m0_net_buffer      n_recv[BUFS_NR];
	struct m0_net_buffer      n_send[BUFS_NR];
	uint8_t                   n_bytes[2 * BUFS_NR][BYTES];
	void                     *n_addr[2 * BUFS_NR];
	m0_bcount_t               n_count;
	unsigned                  n_added_nr;
	unsigned                  n_done_nr;
};

static void tm_event(const struct m0_net_tm_event *ev)
{
	(void)ev;
}

static const struct m0_net_tm_callbacks tm_callbacks = {
	.ntc_event_cb = tm_event,
};

static void recv_event(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *buf = ev->nbe_buffer;

	/* Room for more messages is left, or the machine stops. */
	if ((buf->nb_flags & M0_NET_BUF_QUEUED) || ev->nbe_status != 0)
		return;
	if (m0_net_buffer_add(buf, buf->nb_tm) != 0)
		M0_ASSERT(buf->nb_tm->ntm_state != M0_NET_TM_STARTED);
}

static void send_event(const struct m0_net_buffer_event *ev)
{
	struct node *node = ev->nbe_buffer->nb_app_private;

	++node->n_done_nr;
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb[M0_NET_QT_MSG_RECV] = recv_event,
	.nbc_cb[M0_NET_QT_MSG_SEND] = send_event,
};

static void buf_make(struct node *node, struct m0_net_buffer *buf, unsigned nr,
		     enum m0_net_queue_type qtype)
{
	node->n_addr[nr] = node->n_bytes[nr];
	node->n_count = BYTES;
	buf->nb_buffer.ov_vec.v_nr = 1;
	buf->nb_buffer.ov_vec.v_count = &node->n_count;
	buf->nb_buffer.ov_buf = &node->n_addr[nr];
	buf->nb_callbacks = &callbacks;
	buf->nb_app_private = node;
	buf->nb_qtype = qtype;
	assert_int_equal(m0_net_buffer_register(buf, &node->n_dom), 0);
}

static bool is_started(void *arg)
{
	return ((struct node *)arg)->n_tm.ntm_state == M0_NET_TM_STARTED;
}

static bool is_stopped(void *arg)
{
	return ((struct node *)arg)->n_tm.ntm_state == M0_NET_TM_STOPPED;
}

static bool is_done(void *arg)
{
	struct node *node = arg;

	return node->n_done_nr == node->n_added_nr;
}

static void node_up(struct m0_sim *sim, struct node *node, const char *addr)
{
	unsigned i;

	memset(node, 0, sizeof *node);
	assert_int_equal(
		m0_net_domain_init(&node->n_dom, &m0_net_bulk_mem_xprt), 0);
	node->n_tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&node->n_tm, &node->n_dom), 0);
	assert_int_equal(m0_net_tm_start(&node->n_tm, addr), 0);
	assert_true(
		m0_sim_run_until(sim, is_started, node, M0_TIME_ONE_SECOND));
	for (i = 0; i < BUFS_NR; ++i) {
		buf_make(node, &node->n_recv[i], i, M0_NET_QT_MSG_RECV);
		buf_make(node, &node->n_send[i], BUFS_NR + i,
			 M0_NET_QT_MSG_SEND);
		node->n_recv[i].nb_min_receive_size = 1;
		node->n_recv[i].nb_max_receive_msgs = 3;
		assert_int_equal(
			m0_net_buffer_add(&node->n_recv[i], &node->n_tm), 0);
	}
}

/* Sends one if a buffer is free; sometimes thinks better of it. */
static void node_send(struct m0_sim *sim, struct node *from, struct node *to)
{
	struct m0_net_buffer *buf = &from->n_send[m0_sim_rand(sim, BUFS_NR)];
	int                   rc;

	if (buf->nb_flags & M0_NET_BUF_QUEUED)
		return;
	rc = m0_net_end_point_create(&buf->nb_ep, &from->n_tm,
				     to->n_tm.ntm_ep->nep_addr);
	assert_int_equal(rc, 0);
	buf->nb_length = 1 + m0_sim_rand(sim, BYTES);
	++from->n_added_nr;
	rc = m0_net_buffer_add(buf, &from->n_tm);
	assert_int_equal(rc, 0);
	m0_net_end_point_put(buf->nb_ep);
	if (m0_sim_rand(sim, 4) == 0)
		(void)m0_net_buffer_del(buf, &from->n_tm);
}

static void node_down(struct m0_sim *sim, struct node *node)
{
	unsigned i;

	assert_true(m0_sim_run_until(sim, is_done, node, M0_TIME_ONE_SECOND));
	assert_int_equal(m0_net_tm_stop(&node->n_tm, true), 0);
	assert_true(
		m0_sim_run_until(sim, is_stopped, node, M0_TIME_ONE_SECOND));
	assert_int_equal(m0_net_tm_fini(&node->n_tm), 0);
	for (i = 0; i < BUFS_NR; ++i) {
		assert_int_equal(m0_net_buffer_deregister(&node->n_recv[i],
							  &node->n_dom),
				 0);
		assert_int_equal(m0_net_buffer_deregister(&node->n_send[i],
							  &node->n_dom),
				 0);
	}
	m0_net_domain_fini(&node->n_dom);
}

static void talk(struct m0_sim *sim, void *arg)
{
	static struct node node[2];
	unsigned           i;
	unsigned           from;

	(void)arg;
	node_up(sim, &node[0], "127.0.0.1:1");
	node_up(sim, &node[1], "127.0.0.1:2");
	for (i = 0; i < SENDS_NR; ++i) {
		from = (unsigned)m0_sim_rand(sim, 2);
		node_send(sim, &node[from], &node[1 - from]);
		m0_sim_yield(sim, 4);
	}
	node_down(sim, &node[0]);
	node_down(sim, &node[1]);
}

/* Nothing of the layer depends on anything but the seed, or leaks. */
static void net_same_seed_same_story(void **state)
{
	(void)state;
	m0_sim_for_each_seed(FIRST, SEEDS_NR, talk, NULL);
}

/* Two machines with nothing to do take no step in a simulated hour. */
static void net_idle_takes_no_step(void **state)
{
	static struct node node[2];
	struct m0_sim      sim;
	uint64_t           turns_nr;

	(void)state;
	m0_sim_init(&sim, FIRST);
	node_up(&sim, &node[0], "127.0.0.1:1");
	node_up(&sim, &node[1], "127.0.0.1:2");
	m0_sim_run_ms(&sim, 1000);
	turns_nr = m0_sim_turns_nr(&sim);
	m0_sim_run_ms(&sim, 3600 * 1000);
	assert_int_equal(m0_sim_turns_nr(&sim), turns_nr);
	node_down(&sim, &node[0]);
	node_down(&sim, &node[1]);
	m0_sim_fini(&sim);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(net_same_seed_same_story),
		cmocka_unit_test(net_idle_takes_no_step),
	};
	int rc = m0_net_init();

	if (rc == 0) {
		rc = cmocka_run_group_tests_name("net", tests, NULL, NULL);
		m0_net_fini();
	}
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Receiving and sending messages. */
#include "scenarios.h"

/* ---------------------------------- several messages in a receive buffer -- */

struct component {
	struct cf_tm *co_tm;
	int           co_got;
	/** Times that a buffer was enqueued again, or went back to its pool. */
	int co_again;
};

/* The message is processed; whether the buffer is ours the flag says. */
static void unsolicited(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	struct component *co = b->cb_arg;

	if (ev->nbe_status != 0)
		return;
	cf_check(b, ev->nbe_offset, ev->nbe_length, ev->nbe_length);
	if (!(b->cb_nb.nb_flags & M0_NET_BUF_QUEUED)) {
		cf_add_ok(b, co->co_tm, M0_NET_QT_MSG_RECV);
		cf_inc(&co->co_again);
	}
	cf_inc(&co->co_got);
}

/*
 * Multiple message reception, step 2b: buffers of the component's own.
 * [r.M0.net.xprt.lnet.multiple-messages-in-buffer]
 */
static void multiple_without_pool(void)
{
	enum {
		NR = 60
	};
	struct component co = { .co_tm = cf_up(0) };
	struct cf_tm    *peer = cf_up(1);
	int              i;

	for (i = 0; i < 3; ++i) {
		struct cf_buf *b = cf_buf(0, 2048);

		b->cb_nb.nb_min_receive_size = 256;
		b->cb_nb.nb_max_receive_msgs = 16;
		b->cb_hook = unsolicited;
		b->cb_arg = &co;
		cf_add_ok(b, co.co_tm, M0_NET_QT_MSG_RECV);
	}
	for (i = 1; i <= NR; ++i) {
		m0_bcount_t nr = 1 + cf_rand(256);

		cf_done_is(cf_send(peer, co.co_tm, nr, nr), 0, "send");
		cf_wait_count(&co.co_got, i, "messages processed");
	}
	CF_TRUE(co.co_again > 0 && co.co_again < NR,
		"%d buffers enqueued again for %d messages, expected fewer, "
		"but some",
		co.co_again, NR);
}

/*
 * Step 2a, in which a pool serves two TMs.
 * [r.M0.net.xprt.auto-provisioned-receive-buffer-pool]
 */
static void multiple_with_pool(void)
{
	enum {
		NR = 60
	};
	struct cf_pool *p = cf_pool(0, 10, 2048, 2);
	struct cf_tm   *tm[2];
	struct cf_tm   *peer = cf_up(1);
	int             i;

	for (i = 0; i < 2; ++i) {
		tm[i] = cf_tm_new(0);
		tm[i]->ct_stats_off = true;
		m0_net_tm_colour_set(&tm[i]->ct_tm, (uint32_t)i);
		CF_EQ(m0_net_tm_pool_attach(&tm[i]->ct_tm, &p->cp_pool,
					    &cf_pool_cbs, 256, 8, 2),
		      0, "attach");
		cf_tm_begin_start(tm[i]);
		cf_wait_state(tm[i], M0_NET_TM_STARTED);
	}
	cf_pool_wait_free(p, 6);
	for (i = 1; i <= NR; ++i) {
		cf_done_is(cf_send(peer, tm[i % 2], 1 + cf_rand(256), 1), 0,
			   "send");
		cf_wait_count(&p->cp_msgs, i, "messages processed");
	}
	CF_EQ(cf_get(&tm[0]->ct_errors) + cf_get(&tm[1]->ct_errors), 0,
	      "no message was dropped");
}

/* ------------------------------------------------------ sending messages -- */

enum {
	SEND_BUFS = 4
};

static struct {
	struct m0_mutex lock;
	struct cf_buf  *free[SEND_BUFS];
	int             nr;
	int             sent;
} send_pool;

static void send_buf_put(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	CF_EQ(ev->nbe_status, 0, "send");
	b->cb_nb.nb_ep = NULL;
	m0_mutex_lock(&send_pool.lock);
	send_pool.free[send_pool.nr++] = b;
	m0_mutex_unlock(&send_pool.lock);
	cf_inc(&send_pool.sent);
}

static bool send_buf_get(void *arg)
{
	struct cf_buf **ret = arg;

	m0_mutex_lock(&send_pool.lock);
	if (send_pool.nr > 0)
		*ret = send_pool.free[--send_pool.nr];
	m0_mutex_unlock(&send_pool.lock);
	return *ret != NULL;
}

/* Strategy a: buffers allocated and registered once. [r.messaging.oneway] */
static void send_from_own_buffers(void)
{
	enum {
		NR = 40
	};
	struct cf_tm            *tm = cf_up(0);
	struct cf_tm            *peer = cf_up(1);
	struct m0_net_end_point *ep = cf_ep(tm, peer);
	struct cf_buf           *r[NR];
	int                      i;

	memset(&send_pool, 0, sizeof send_pool);
	for (i = 0; i < SEND_BUFS; ++i) {
		struct cf_buf *b = cf_buf(0, 512);

		b->cb_hook = send_buf_put;
		send_pool.free[send_pool.nr++] = b;
	}
	for (i = 0; i < NR; ++i)
		r[i] = cf_recv(peer, 512);
	for (i = 0; i < NR; ++i) {
		struct cf_buf *b = NULL;

		cf_wait(send_buf_get, &b, "a free send buffer");
		cf_fill(b, 0, 400, (uint64_t)i);
		b->cb_nb.nb_length = 400;
		b->cb_nb.nb_ep = ep;
		cf_add_ok(b, tm, M0_NET_QT_MSG_SEND);
	}
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
	cf_wait_count(&send_pool.sent, NR, "messages sent");
	for (i = 0; i < NR; ++i)
		cf_done_is(r[i], 0, "message");
}

static int fresh_gone;

static void fresh_free(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	CF_EQ(ev->nbe_status, 0, "send");
	cf_buf_free(b);
	cf_inc(&fresh_gone);
}

/* Strategy b: header and referenced memory, registered for one message. */
static void send_fresh_buffer(void)
{
	static const m0_bcount_t segs[] = { 40, 1000, 7, 300 };
	struct cf_tm            *tm = cf_up(0);
	struct cf_tm            *peer = cf_up(1);
	int                      i;

	fresh_gone = 0;
	for (i = 1; i <= 20; ++i) {
		struct cf_buf *r = cf_recv(peer, 2000);
		struct cf_buf *b = cf_buf_segs(0, ARRAY_SIZE(segs), segs);
		struct m0_net_end_point *ep = cf_ep(tm, peer);

		cf_fill(b, 0, 1347, 3);
		b->cb_nb.nb_length = 1347;
		b->cb_nb.nb_ep = ep;
		b->cb_hook = fresh_free;
		cf_add_ok(b, tm, M0_NET_QT_MSG_SEND);
		CF_EQ(m0_net_end_point_put(ep), 0, "put");
		cf_done_is(r, 0, "message");
		cf_check(r, 0, 1347, 3);
		cf_wait_count(&fresh_gone, i, "fresh buffers freed");
	}
}

/* ------------------------------------------------------------------ tool -- */

/*
 * Two runs of a tool at once: neither was given an address, both are answered.
 * [r.M0.net.xprt.lnet.dynamic-address-assignment]
 */
static void tool_dynamic_address(void)
{
	struct cf_tm *server = cf_up(1);
	struct cf_tm *tool[2];
	int           i;

	for (i = 0; i < 2; ++i) {
		tool[i] = cf_tm_new(0);
		CF_EQ(m0_net_tm_start(&tool[i]->ct_tm, NULL), 0,
		      "start without an address");
		cf_wait_state(tool[i], M0_NET_TM_STARTED);
		snprintf(tool[i]->ct_addr, CF_ADDR_MAX, "%s",
			 tool[i]->ct_tm.ntm_ep->nep_addr);
	}
	CF_TRUE(strcmp(tool[0]->ct_addr, tool[1]->ct_addr) != 0,
		"two tools, two addresses: %s", tool[0]->ct_addr);
	for (i = 0; i < 2; ++i) {
		struct cf_buf *p = cf_passive(
			tool[i], M0_NET_QT_PASSIVE_BULK_RECV, 3000, server);
		struct cf_buf *a;

		cf_exchange(tool[i], server);
		a = cf_active(server, M0_NET_QT_ACTIVE_BULK_SEND, 3000,
			      &p->cb_nb.nb_desc);
		cf_done_is(a, 0, "the server writes");
		cf_done_is(p, 0, "the tool has it");
		cf_check(p, 0, 3000, 3000);
		cf_buf_free(p);
	}
}

const struct cf_case scenarios_msg[] = {
	{ "multiple messages without a pool", multiple_without_pool },
	{ "multiple messages with a pool", multiple_with_pool },
	{ "send from own buffers", send_from_own_buffers },
	{ "send a fresh buffer", send_fresh_buffer },
	{ "tool with a dynamic address", tool_dynamic_address },
	{ NULL, NULL }
};

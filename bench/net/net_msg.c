/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages between two sides: there and back, and in one direction. */
#include <stdlib.h>
#include <string.h>

#include "net_m0.h"

enum {
	MSG_BYTES = 64,
	STRIDE = 128,
	PING_BUFS = 4,
	DEPTH_MAX = 256,
	/** Receive buffers; those for many messages, and their size. */
	RATE_BUFS = 512,
	MANY_BUFS = 16,
	MANY_BYTES = 64 << 10,
	/** Most that are sent and not received: a receiver that is slower than
	 * the sender must not run out of buffers. */
	RATE_AHEAD = 256
};

/** Receive buffers, added, each for so many messages. */
static struct bench_buf *recv_bufs_make(
	const struct net_m0 *m, int side, int nr, uint32_t msgs,
	const struct m0_net_buffer_callbacks *callbacks, void *arg)
{
	struct bench_side *s = m->m_side[side];
	size_t             bytes = msgs > 1 ? MANY_BYTES : MSG_BYTES;
	size_t             stride = msgs > 1 ? MANY_BYTES : STRIDE;
	struct bench_buf  *ret = bench_bufs_make(
		 s, nr, net_m0_memory(m, side, (size_t)nr * stride), bytes,
		 stride, callbacks, arg);

	for (int i = 0; i < nr; i++) {
		ret[i].b_nb.nb_min_receive_size = MSG_BYTES;
		ret[i].b_nb.nb_max_receive_msgs = msgs;
		bench_add(&ret[i].b_nb, s, M0_NET_QT_MSG_RECV);
	}
	return ret;
}

/* ------------------------------------------------------------- ping-pong -- */

struct net_ping {
	struct net_m0           *g_m;
	const struct world_play *g_play;
	struct bench_buf        *g_send[2];
	struct bench_buf        *g_recv[2];
	/** In one receive buffer. */
	uint32_t g_msgs;
	unsigned g_next[2];
	/** State of side 0. */
	uint64_t     g_left;
	_Atomic bool g_idle;
	sem_t        g_over;
};

static int side_of(const struct net_m0 *m, const struct m0_net_transfer_mc *tm)
{
	return m->m_side[1] != NULL && tm == &m->m_side[1]->s_tm;
}

static void ping_send(struct net_ping *g, int side, uint64_t word)
{
	struct bench_buf *b = &g->g_send[side][g->g_next[side]++ % PING_BUFS];

	*(uint64_t *)b->b_addr[0] = word;
	b->b_nb.nb_ep = g->g_m->m_side[side]->s_peer;
	bench_add(&b->b_nb, g->g_m->m_side[side], M0_NET_QT_MSG_SEND);
}

static void ping_over(struct net_ping *g)
{
	if (g->g_m->m_polled)
		atomic_store(&g->g_idle, true);
	else
		sem_post(&g->g_over);
}

static void ping_received(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct net_ping      *g = nb->nb_app_private;
	uint64_t              word;
	int                   side;

	if (!bench_ok(ev))
		return;
	side = side_of(g->g_m, nb->nb_tm);
	word = *(uint64_t *)((char *)nb->nb_buffer.ov_buf[0] + ev->nbe_offset);
	if ((nb->nb_flags & M0_NET_BUF_QUEUED) == 0)
		bench_add(nb, g->g_m->m_side[side], M0_NET_QT_MSG_RECV);
	if (side == 1)
		ping_send(g, side, word);
	else if (word != g->g_left)
		bench_die("message %llu came back as %llu",
			  (unsigned long long)g->g_left,
			  (unsigned long long)word);
	else if (--g->g_left > 0)
		ping_send(g, side, g->g_left);
	else
		ping_over(g);
}

static void ping_sent(const struct m0_net_buffer_event *ev)
{
	(void)bench_ok(ev);
}

static const struct m0_net_buffer_callbacks ping_callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = &ping_received,
		    [M0_NET_QT_MSG_SEND] = &ping_sent }
};

static void ping_prepare(void *arg)
{
	(void)arg;
}

static void ping_open(void *arg, int side)
{
	struct net_ping   *g = arg;
	struct bench_side *s = g->g_m->m_side[side];

	g->g_send[side] = bench_bufs_make(
		s, PING_BUFS, net_m0_memory(g->g_m, side, PING_BUFS * STRIDE),
		MSG_BYTES, STRIDE, &ping_callbacks, g);
	g->g_recv[side] = recv_bufs_make(g->g_m, side, PING_BUFS, g->g_msgs,
					 &ping_callbacks, g);
}

static void ping_close(void *arg, int side)
{
	struct net_ping   *g = arg;
	struct bench_side *s = g->g_m->m_side[side];

	net_m0_stop(g->g_m, side);
	bench_bufs_free(s, g->g_send[side], PING_BUFS);
	bench_bufs_free(s, g->g_recv[side], PING_BUFS);
}

static void ping_serve(void *arg)
{
	struct net_ping *g = arg;

	net_m0_poll(g->g_m, 1);
}

struct net_ping *net_ping_make(struct net_m0 *m, uint32_t msgs,
			       struct world_play *play)
{
	struct net_ping *g = bench_huge(sizeof(*g));

	memset(g, 0, sizeof(*g));
	g->g_m = m;
	g->g_play = play;
	g->g_msgs = msgs;
	sem_init(&g->g_over, 0, 0);
	*play = (struct world_play){
		.wp_prepare = &ping_prepare,
		.wp_open = &ping_open,
		.wp_close = &ping_close,
		.wp_serve = m->m_polled ? &ping_serve : NULL,
		.wp_arg = g,
	};
	return g;
}

static void ping_enter(void *arg)
{
	struct net_ping *g = arg;

	world_enter(g->g_play);
}

static void ping_leave(void *arg)
{
	struct net_ping *g = arg;

	world_leave(g->g_play);
}

static uint64_t ping_run(void *arg, uint64_t nr)
{
	struct net_ping *g = arg;

	g->g_left = (nr + 1) / 2;
	nr = g->g_left * 2;
	g->g_idle = false;
	ping_send(g, 0, g->g_left);
	if (!g->g_m->m_polled)
		world_sem_take(&g->g_over);
	else
		while (!atomic_load_explicit(&g->g_idle,
					     memory_order_relaxed)) {
			net_m0_poll(g->g_m, 0);
			world_turn(g->g_m->m_kind, g->g_play);
		}
	return nr;
}

struct bench_case net_ping_case(struct net_ping *g, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &ping_run,
				    .c_arg = g,
				    .c_enter = &ping_enter,
				    .c_leave = &ping_leave };
}

/* ---------------------------------------------------------- one direction -- */

struct rate_seen {
	_Alignas(128) _Atomic uint64_t rs_got;
};

struct net_rate {
	struct net_m0           *f_m;
	const struct world_play *f_play;
	unsigned                 f_depth;
	/** In one receive buffer. */
	uint32_t          f_msgs;
	struct bench_buf *f_send;
	struct bench_buf *f_recv;
	/** Side 0: sends not begun, those begun and those over; buffers at
	 * rest. */
	uint64_t f_left;
	uint64_t f_begun;
	uint64_t f_done;
	unsigned f_idle_nr;
	unsigned f_idle[DEPTH_MAX];
	/** Side 1. */
	uint64_t          f_sum;
	struct rate_seen *f_seen;
};

/** Sends what may be sent: whole windows, as credits would have it. */
static void rate_feed(struct net_rate *f)
{
	uint64_t got =
		atomic_load_explicit(&f->f_seen->rs_got, memory_order_acquire);

	if (f->f_begun + f->f_idle_nr > got + RATE_AHEAD)
		return;
	while (f->f_left > 0 && f->f_idle_nr > 0) {
		struct bench_buf *b = &f->f_send[f->f_idle[--f->f_idle_nr]];

		*(uint64_t *)b->b_addr[0] = f->f_left--;
		f->f_begun++;
		b->b_nb.nb_ep = f->f_m->m_side[0]->s_peer;
		bench_add(&b->b_nb, f->f_m->m_side[0], M0_NET_QT_MSG_SEND);
	}
}

static void rate_sent(const struct m0_net_buffer_event *ev)
{
	struct bench_buf *b =
		container_of(ev->nbe_buffer, struct bench_buf, b_nb);
	struct net_rate *f = b->b_nb.nb_app_private;

	if (!bench_ok(ev))
		return;
	f->f_idle[f->f_idle_nr++] = (unsigned)(b - f->f_send);
	f->f_done++;
	rate_feed(f);
}

static void rate_received(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct net_rate      *f = nb->nb_app_private;
	_Atomic uint64_t     *got = &f->f_seen->rs_got;

	if (!bench_ok(ev))
		return;
	f->f_sum +=
		*(uint64_t *)((char *)nb->nb_buffer.ov_buf[0] + ev->nbe_offset);
	if ((nb->nb_flags & M0_NET_BUF_QUEUED) == 0)
		bench_add(nb, f->f_m->m_side[1], M0_NET_QT_MSG_RECV);
	atomic_store_explicit(
		got, atomic_load_explicit(got, memory_order_relaxed) + 1,
		memory_order_release);
}

static const struct m0_net_buffer_callbacks rate_callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = &rate_received,
		    [M0_NET_QT_MSG_SEND] = &rate_sent }
};

static void rate_prepare(void *arg)
{
	struct net_rate *f = arg;

	f->f_seen = world_shared(sizeof(*f->f_seen));
}

static int recv_nr(const struct net_rate *f)
{
	return f->f_msgs > 1 ? MANY_BUFS : RATE_BUFS;
}

static void rate_open(void *arg, int side)
{
	struct net_rate *f = arg;
	int              nr = (int)f->f_depth;

	if (side == 1) {
		f->f_recv = recv_bufs_make(f->f_m, 1, recv_nr(f), f->f_msgs,
					   &rate_callbacks, f);
		return;
	}
	f->f_send = bench_bufs_make(f->f_m->m_side[0], nr,
				    net_m0_memory(f->f_m, side,
						  (size_t)nr * STRIDE),
				    MSG_BYTES, STRIDE, &rate_callbacks, f);
	for (int i = 0; i < nr; i++)
		f->f_idle[f->f_idle_nr++] = (unsigned)i;
}

static void rate_close(void *arg, int side)
{
	struct net_rate *f = arg;

	net_m0_stop(f->f_m, side);
	if (side == 0)
		bench_bufs_free(f->f_m->m_side[0], f->f_send, (int)f->f_depth);
	else
		bench_bufs_free(f->f_m->m_side[1], f->f_recv, recv_nr(f));
}

static void rate_serve(void *arg)
{
	struct net_rate *f = arg;

	net_m0_poll(f->f_m, 1);
}

struct net_rate *net_rate_make(struct net_m0 *m, unsigned depth, uint32_t msgs,
			       struct world_play *play)
{
	struct net_rate *f = bench_huge(sizeof(*f));

	if (depth > DEPTH_MAX || !m->m_polled)
		bench_die("queue of %u", depth);
	memset(f, 0, sizeof(*f));
	f->f_m = m;
	f->f_play = play;
	f->f_depth = depth;
	f->f_msgs = msgs;
	*play = (struct world_play){
		.wp_prepare = &rate_prepare,
		.wp_open = &rate_open,
		.wp_close = &rate_close,
		.wp_serve = &rate_serve,
		.wp_arg = f,
	};
	return f;
}

static void rate_enter(void *arg)
{
	struct net_rate *f = arg;

	world_enter(f->f_play);
}

static void rate_leave(void *arg)
{
	struct net_rate *f = arg;

	world_leave(f->f_play);
}

/** All sends and all receptions are over when it returns. */
static uint64_t rate_run(void *arg, uint64_t nr)
{
	struct net_rate *f = arg;

	nr = (nr + f->f_depth - 1) / f->f_depth * f->f_depth;
	f->f_begun = 0;
	f->f_done = 0;
	atomic_store(&f->f_seen->rs_got, 0);
	f->f_left = nr;
	rate_feed(f);
	while (f->f_done < nr ||
	       atomic_load_explicit(&f->f_seen->rs_got, memory_order_acquire) <
		       nr) {
		net_m0_poll(f->f_m, 0);
		world_turn(f->f_m->m_kind, f->f_play);
		rate_feed(f);
	}
	return nr;
}

struct bench_case net_rate_case(struct net_rate *f, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &rate_run,
				    .c_arg = f,
				    .c_enter = &rate_enter,
				    .c_leave = &rate_leave,
				    .c_rate = true };
}

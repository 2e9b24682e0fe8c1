/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages: ping-pong in one thread, two threads, or the library's threads. */
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "msg.h"

enum {
	SEND_NR = 4,
	RECV_NR = 4,
	STRIDE = 128
};

/** One player. Its fields are touched by the thread that delivers for it. */
struct player {
	struct bench_side *p_side;
	struct bench_buf  *p_send;
	struct bench_buf  *p_recv;
	unsigned           p_next;
	/** Round trips to go; only side 0 counts. */
	uint64_t           p_left;
	bool               p_leads;
	struct bench_ping *p_ping;
} __attribute__((aligned(128)));

struct bench_ping {
	struct player        g_player[2];
	struct bench_side   *g_pair;
	struct bench_worker *g_worker;
	enum bench_mode      g_mode;
	sem_t                g_over;
	_Alignas(128) _Atomic bool g_idle;
};

static void player_send(struct player *p, uint64_t word)
{
	struct bench_buf *b = &p->p_send[p->p_next++ % SEND_NR];

	*(uint64_t *)b->b_addr[0] = word;
	b->b_nb.nb_ep = p->p_side->s_peer;
	bench_add(&b->b_nb, p->p_side, M0_NET_QT_MSG_SEND);
}

static void over(struct bench_ping *g)
{
	if (g->g_mode == BENCH_ASYNC)
		sem_post(&g->g_over);
	else
		atomic_store(&g->g_idle, true);
}

static void received(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct player        *p = nb->nb_app_private;
	uint64_t              word;

	if (!bench_ok(ev))
		return;
	word = *(uint64_t *)nb->nb_buffer.ov_buf[0];
	bench_add(nb, p->p_side, M0_NET_QT_MSG_RECV);
	if (!p->p_leads)
		player_send(p, word);
	else if (word != p->p_left)
		bench_die("message %llu came back as %llu",
			  (unsigned long long)p->p_left,
			  (unsigned long long)word);
	else if (--p->p_left > 0)
		player_send(p, p->p_left);
	else
		over(p->p_ping);
}

static void sent(const struct m0_net_buffer_event *ev)
{
	(void)bench_ok(ev);
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = &received,
		    [M0_NET_QT_MSG_SEND] = &sent }
};

struct bench_ping *bench_ping_start(enum bench_mode      mode,
				    struct bench_worker *worker)
{
	struct bench_ping *g = bench_huge(sizeof(*g));

	memset(g, 0, sizeof(*g));
	g->g_mode = mode;
	g->g_worker = worker;
	sem_init(&g->g_over, 0, 0);
	g->g_pair = bench_pair_start(mode);
	for (int i = 0; i < 2; i++) {
		struct player *p = &g->g_player[i];

		p->p_side = &g->g_pair[i];
		p->p_leads = i == 0;
		p->p_ping = g;
		p->p_send = bench_bufs_make(p->p_side, SEND_NR,
					    bench_huge(SEND_NR * STRIDE),
					    BENCH_MSG, STRIDE, &callbacks, p);
		p->p_recv = bench_bufs_make(p->p_side, RECV_NR,
					    bench_huge(RECV_NR * STRIDE),
					    BENCH_MSG, STRIDE, &callbacks, p);
		for (int j = 0; j < RECV_NR; j++)
			bench_add(&p->p_recv[j].b_nb, p->p_side,
				  M0_NET_QT_MSG_RECV);
	}
	return g;
}

void bench_ping_stop(struct bench_ping *g)
{
	bench_pair_stop(g->g_pair);
	for (int i = 0; i < 2; i++) {
		struct player *p = &g->g_player[i];

		bench_bufs_free(p->p_side, p->p_send, SEND_NR);
		bench_bufs_free(p->p_side, p->p_recv, RECV_NR);
	}
	bench_pair_free(g->g_pair);
}

/** Begins a game of `nr` messages; returns how many it will really be. */
static uint64_t serve(struct bench_ping *g, uint64_t nr)
{
	struct player *p = &g->g_player[0];

	p->p_left = (nr + 1) / 2;
	nr = p->p_left * 2;
	g->g_idle = false;
	player_send(p, p->p_left);
	return nr;
}

static uint64_t run_one(void *arg, uint64_t nr)
{
	struct bench_ping *g = arg;

	nr = serve(g, nr);
	while (!g->g_idle) {
		bench_poll(&g->g_pair[0]);
		bench_poll(&g->g_pair[1]);
	}
	return nr;
}

struct bench_case bench_ping_one(struct bench_ping *g)
{
	return (struct bench_case){ .c_name = "msg.one",
				    .c_run = &run_one,
				    .c_arg = g };
}

static void poll_other(void *arg)
{
	bench_poll(arg);
}

static void enter_two(void *arg)
{
	struct bench_ping *g = arg;

	bench_worker_run(g->g_worker, &poll_other, &g->g_pair[1]);
}

static void leave_two(void *arg)
{
	struct bench_ping *g = arg;

	bench_worker_park(g->g_worker);
}

static uint64_t run_two(void *arg, uint64_t nr)
{
	struct bench_ping *g = arg;

	nr = serve(g, nr);
	while (!g->g_idle)
		bench_poll(&g->g_pair[0]);
	return nr;
}

struct bench_case bench_ping_two(struct bench_ping *g)
{
	return (struct bench_case){ .c_name = "msg.two",
				    .c_run = &run_two,
				    .c_arg = g,
				    .c_enter = &enter_two,
				    .c_leave = &leave_two };
}

static uint64_t run_async(void *arg, uint64_t nr)
{
	struct bench_ping *g = arg;

	nr = serve(g, nr);
	while (sem_wait(&g->g_over) != 0)
		;
	return nr;
}

struct bench_case bench_ping_async(struct bench_ping *g)
{
	return (struct bench_case){ .c_name = "msg.async",
				    .c_run = &run_async,
				    .c_arg = g };
}

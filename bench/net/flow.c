/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages in one direction, a queue of them always full. */
#include <stdlib.h>
#include <time.h>

#include "msg.h"

enum {
	DEPTH_MAX = 256,
	STRIDE = 128,
	MANY_BYTES = 64 << 10,
	MANY_NR = 8
};

struct bench_flow {
	struct bench_side   *f_pair;
	struct bench_worker *f_worker;
	enum bench_mode      f_mode;
	int                  f_depth;
	int                  f_recv_nr;
	struct bench_buf    *f_send;
	struct bench_buf    *f_recv;
	/** Sender: sends that each buffer has before it, completions. */
	_Alignas(128) uint64_t f_left[DEPTH_MAX];
	_Atomic uint64_t f_done;
	/** Receiver. */
	_Alignas(128) _Atomic uint64_t f_got;
	uint64_t f_sum;
};

/** The count is read by another thread at most, and has one writer. */
static inline void count(_Atomic uint64_t *nr)
{
	atomic_store_explicit(
		nr, atomic_load_explicit(nr, memory_order_relaxed) + 1,
		memory_order_release);
}

static void flow_send(struct bench_flow *f, struct m0_net_buffer *nb)
{
	struct bench_buf *b = container_of(nb, struct bench_buf, b_nb);

	*(uint64_t *)b->b_addr[0] = --f->f_left[b - f->f_send];
	nb->nb_ep = f->f_pair[0].s_peer;
	bench_add(nb, &f->f_pair[0], M0_NET_QT_MSG_SEND);
}

static void sent(const struct m0_net_buffer_event *ev)
{
	struct bench_buf *b =
		container_of(ev->nbe_buffer, struct bench_buf, b_nb);
	struct bench_flow *f = b->b_nb.nb_app_private;

	if (!bench_ok(ev))
		return;
	if (f->f_left[b - f->f_send] > 0)
		flow_send(f, &b->b_nb);
	count(&f->f_done);
}

static void received(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct bench_flow    *f = nb->nb_app_private;

	if (!bench_ok(ev))
		return;
	f->f_sum +=
		*(uint64_t *)((char *)nb->nb_buffer.ov_buf[0] + ev->nbe_offset);
	if ((nb->nb_flags & M0_NET_BUF_QUEUED) == 0)
		bench_add(nb, &f->f_pair[1], M0_NET_QT_MSG_RECV);
	count(&f->f_got);
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = &received,
		    [M0_NET_QT_MSG_SEND] = &sent }
};

static void flow_recv_make(struct bench_flow *f, uint32_t msgs_in_buf)
{
	bool   many = msgs_in_buf > 1;
	size_t bytes = many ? MANY_BYTES : BENCH_MSG;
	size_t stride = many ? MANY_BYTES : STRIDE;

	/* a buffer is free again only when its callback has run: twice as many
	   as the sender may have under way */
	f->f_recv_nr = many ? MANY_NR : 2 * f->f_depth;
	f->f_recv = bench_bufs_make(&f->f_pair[1], f->f_recv_nr,
				    bench_huge((size_t)f->f_recv_nr * stride),
				    bytes, stride, &callbacks, f);
	for (int i = 0; i < f->f_recv_nr; i++) {
		f->f_recv[i].b_nb.nb_min_receive_size = BENCH_MSG;
		f->f_recv[i].b_nb.nb_max_receive_msgs = msgs_in_buf;
		bench_add(&f->f_recv[i].b_nb, &f->f_pair[1],
			  M0_NET_QT_MSG_RECV);
	}
}

struct bench_flow *bench_flow_start(enum bench_mode      mode,
				    struct bench_worker *worker, int depth,
				    uint32_t msgs_in_buf)
{
	struct bench_flow *f = bench_huge(sizeof(*f));

	if (depth > DEPTH_MAX)
		bench_die("queue of %d: more than %d", depth, DEPTH_MAX);
	memset(f, 0, sizeof(*f));
	f->f_mode = mode;
	f->f_worker = worker;
	f->f_depth = depth;
	f->f_pair = bench_pair_start(mode);
	f->f_send = bench_bufs_make(&f->f_pair[0], depth,
				    bench_huge((size_t)depth * STRIDE),
				    BENCH_MSG, STRIDE, &callbacks, f);
	flow_recv_make(f, msgs_in_buf);
	return f;
}

void bench_flow_stop(struct bench_flow *f)
{
	bench_pair_stop(f->f_pair);
	bench_bufs_free(&f->f_pair[0], f->f_send, f->f_depth);
	bench_bufs_free(&f->f_pair[1], f->f_recv, f->f_recv_nr);
	bench_pair_free(f->f_pair);
}

static void poll_receiver(void *arg)
{
	bench_poll(arg);
}

static void flow_enter(void *arg)
{
	struct bench_flow *f = arg;

	if (f->f_mode == BENCH_INLINE)
		bench_worker_run(f->f_worker, &poll_receiver, &f->f_pair[1]);
}

static void flow_leave(void *arg)
{
	struct bench_flow *f = arg;

	if (f->f_mode == BENCH_INLINE)
		bench_worker_park(f->f_worker);
}

/** All sends and all receptions of the slice are over when it returns. */
static uint64_t flow_run(void *arg, uint64_t nr)
{
	struct bench_flow *f = arg;
	uint64_t           depth = (uint64_t)f->f_depth;
	struct timespec    nap = { .tv_nsec = 200000 };

	nr = (nr + depth - 1) / depth * depth;
	f->f_done = 0;
	f->f_got = 0;
	for (uint64_t i = 0; i < depth; i++)
		f->f_left[i] = nr / depth;
	for (uint64_t i = 0; i < depth; i++)
		flow_send(f, &f->f_send[i].b_nb);
	while (f->f_done < nr || f->f_got < nr) {
		if (f->f_mode == BENCH_INLINE)
			bench_poll(&f->f_pair[0]);
		else
			nanosleep(&nap, NULL);
	}
	return nr;
}

struct bench_case bench_flow_case(struct bench_flow *f, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &flow_run,
				    .c_arg = f,
				    .c_enter = &flow_enter,
				    .c_leave = &flow_leave,
				    .c_rate = true };
}

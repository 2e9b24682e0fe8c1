/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <unistd.h>

#include "pair.h"

static const char *const addr[] = { "127.0.0.1:7001", "127.0.0.1:7002" };

static void event(const struct m0_net_tm_event *ev)
{
	struct bench_side *side =
		container_of(ev->nte_tm, struct bench_side, s_tm);

	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		atomic_store(&side->s_state, (int)ev->nte_next_state);
	else
		bench_die("machine's event %d: %d", (int)ev->nte_type,
			  (int)ev->nte_status);
}

static const struct m0_net_tm_callbacks callbacks = { .ntc_event_cb = &event };

static void ck(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %d", what, rc);
}

static void wait_for(struct bench_side *side, enum m0_net_tm_state state)
{
	for (;;) {
		int s = atomic_load(&side->s_state);

		if (s == (int)state)
			return;
		if (s == M0_NET_TM_FAILED)
			bench_die("machine failed");
		if (side->s_mode == BENCH_INLINE &&
		    m0_net_buffer_event_pending(&side->s_tm))
			bench_poll(side);
		else
			usleep(50);
	}
}

static void confine(struct bench_side *side, int cpu)
{
	struct m0_bitmap map;

	if (cpu < 0)
		return;
	ck(m0_bitmap_init(&map, (size_t)cpu + 1), "bitmap");
	m0_bitmap_set(&map, (size_t)cpu, true);
	ck(m0_net_tm_confine(&side->s_tm, &map), "confine");
	m0_bitmap_fini(&map);
}

void bench_side_start(struct bench_side *side, const struct m0_net_xprt *xprt,
		      const char *text, int cpu, enum bench_mode mode)
{
	side->s_mode = mode;
	ck(m0_net_domain_init(&side->s_dom, xprt), "domain");
	side->s_tm.ntm_callbacks = &callbacks;
	ck(m0_net_tm_init(&side->s_tm, &side->s_dom), "machine");
	m0_net_tm_spin_set(&side->s_tm, bench_opt.o_spin_ns);
	if (mode == BENCH_INLINE)
		ck(m0_net_tm_inline(&side->s_tm), "inline");
	else
		confine(side, cpu);
	ck(m0_net_tm_start(&side->s_tm, text), "start");
	wait_for(side, M0_NET_TM_STARTED);
}

void bench_side_meet(struct bench_side *side, const char *text)
{
	ck(m0_net_end_point_create(&side->s_peer, &side->s_tm, text),
	   "end point");
}

void bench_side_stop(struct bench_side *side)
{
	m0_net_end_point_put(side->s_peer);
	ck(m0_net_tm_stop(&side->s_tm, true), "stop");
	wait_for(side, M0_NET_TM_STOPPED);
	ck(m0_net_tm_fini(&side->s_tm), "machine's end");
}

struct bench_side *bench_pair_start(enum bench_mode mode)
{
	struct bench_side *pair;

	pair = aligned_alloc(128, 2 * sizeof(*pair));
	if (pair == NULL)
		bench_die("no memory");
	memset(pair, 0, 2 * sizeof(*pair));
	ck(m0_net_init(), "init");
	for (int i = 0; i < 2; i++)
		bench_side_start(&pair[i], &m0_net_bulk_mem_xprt, addr[i],
				 bench_opt.o_cpu[i], mode);
	for (int i = 0; i < 2; i++)
		bench_side_meet(&pair[i], addr[1 - i]);
	return pair;
}

void bench_pair_stop(struct bench_side *pair)
{
	for (int i = 0; i < 2; i++)
		bench_side_stop(&pair[i]);
}

void bench_pair_free(struct bench_side *pair)
{
	for (int i = 0; i < 2; i++)
		ck(m0_net_domain_fini(&pair[i].s_dom), "domain's end");
	ck(m0_net_fini(), "end");
	free(pair);
}

static void describe(struct bench_buf *b, char *mem, size_t bytes)
{
	uint32_t nr = 0;

	for (size_t at = 0; at < bytes; nr++) {
		size_t len = min64u(bytes - at, M0_NET_BULK_MEM_SEGMENT_MAX);

		b->b_addr[nr] = mem + at;
		b->b_count[nr] = len;
		at += len;
	}
	b->b_nb.nb_buffer.ov_vec.v_nr = nr;
	b->b_nb.nb_buffer.ov_vec.v_count = b->b_count;
	b->b_nb.nb_buffer.ov_buf = b->b_addr;
	b->b_nb.nb_length = bytes;
	b->b_nb.nb_min_receive_size = bytes;
	b->b_nb.nb_max_receive_msgs = 1;
}

struct bench_buf *bench_bufs_make(struct bench_side *side, int nr, char *mem,
				  size_t bytes, size_t stride,
				  const struct m0_net_buffer_callbacks *cb,
				  void                                 *app)
{
	return bench_bufs_make_dom(&side->s_dom, nr, mem, bytes, stride, cb,
				   app);
}

struct bench_buf *bench_bufs_make_dom(struct m0_net_domain *dom, int nr,
				      char *mem, size_t bytes, size_t stride,
				      const struct m0_net_buffer_callbacks *cb,
				      void                                 *app)
{
	struct bench_buf *bufs;

	/* the structures lie in huge pages, too, as a pool's may */
	bufs = bench_huge((size_t)nr * sizeof(*bufs));
	memset(bufs, 0, (size_t)nr * sizeof(*bufs));
	for (int i = 0; i < nr; i++) {
		struct m0_net_buffer *nb = &bufs[i].b_nb;

		describe(&bufs[i], mem + (size_t)i * stride, bytes);
		nb->nb_callbacks = cb;
		nb->nb_app_private = app;
		ck(m0_net_buffer_register(nb, dom), "register");
	}
	return bufs;
}

void bench_bufs_free(struct bench_side *side, struct bench_buf *bufs, int nr)
{
	for (int i = 0; i < nr; i++)
		ck(m0_net_buffer_deregister(&bufs[i].b_nb, &side->s_dom),
		   "deregister");
	free(bufs);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests that name memory of side 0, which side 1 fills or fetches before it
 * answers. Buffers of both sides are registered once.
 */
#include <stdlib.h>
#include <string.h>

#include "rpc_m0.h"

enum {
	BODY_MAX = 256
};

/** A request on the way: it has ended when both have. */
struct bulk_lane {
	struct m0_rpc_raw  bl_raw;
	struct m0_rpc_bulk bl_rb;
	struct rpc_bulk   *bl_bulk;
	struct bench_buf  *bl_buf;
	unsigned           bl_ends;
	uint64_t           bl_body[BODY_MAX / sizeof(uint64_t)];
};

/** A request that side 1 works on. */
struct job {
	struct m0_rpc_bulk  j_rb;
	struct m0_rpc_item *j_item;
	struct bench_buf   *j_buf;
	struct job         *j_next;
};

struct rpc_bulk {
	struct rpc_m0           *b_rpc;
	const struct world_play *b_play;
	size_t                   b_bytes;
	unsigned                 b_flight;
	bool                     b_is_put;
	uint64_t                 b_left;
	uint64_t                 b_done;
	struct bench_buf        *b_bufs[2];
	struct bulk_lane         b_lane[RPC_FLIGHT_MAX];
	struct job               b_job[RPC_FLIGHT_MAX];
	struct job              *b_jobs;
	/** Both directions are plays of one program. */
	struct m0_rpc_item_type_ops b_ops;
	struct m0_rpc_item_type     b_type;
};

/* ---------------------------------------------------------------- server -- */

static void job_done(struct m0_rpc_bulk *rb)
{
	struct job         *job = container_of(rb, struct job, j_rb);
	struct m0_rpc_item *item = job->j_item;
	struct rpc_bulk    *b =
		container_of(item->ri_type, struct rpc_bulk, b_type);

	m0_rpc_reply_rc(item, rb->rb_rc);
	m0_rpc_item_put(item);
	m0_rpc_bulk_fini(rb);
	job->j_next = b->b_jobs;
	b->b_jobs = job;
}

static void bulk_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	struct rpc_bulk   *b =
		container_of(item->ri_type, struct rpc_bulk, b_type);
	struct job                 *job = b->b_jobs;
	struct m0_net_buf_desc_data desc;

	if (job == NULL)
		bench_die("more requests than lanes");
	b->b_jobs = job->j_next;
	if (m0_rpc_bulk_desc_get(raw->rr_data, raw->rr_nr, &desc) < 0)
		bench_die("no descriptor");
	m0_rpc_item_get(item);
	job->j_item = item;
	m0_rpc_bulk_init(&job->j_rb);
	job->j_rb.rb_done = &job_done;
	rpc_m0_must(m0_rpc_bulk_buf_add(&job->j_rb, 0, b->b_bytes,
					machine->rm_tm.ntm_dom,
					&job->j_buf->b_nb, NULL),
		    "add");
	m0_rpc_bulk_qtype(&job->j_rb, b->b_is_put ? M0_NET_QT_ACTIVE_BULK_SEND
						  : M0_NET_QT_ACTIVE_BULK_RECV);
	rpc_m0_must(m0_rpc_bulk_load(&job->j_rb, machine, &desc), "load");
}

/* ---------------------------------------------------------------- client -- */

static void bulk_replied(struct m0_rpc_item *item);

static const struct m0_rpc_item_ops bulk_item_ops = { .rio_replied =
							      &bulk_replied };

static void ended(struct bulk_lane *lane);

static void lane_done(struct m0_rpc_bulk *rb)
{
	struct bulk_lane *lane = container_of(rb, struct bulk_lane, bl_rb);

	rpc_m0_must(rb->rb_rc, "bulk");
	if (rb->rb_moved != lane->bl_bulk->b_bytes)
		bench_die("%llu bytes", (unsigned long long)rb->rb_moved);
	m0_rpc_bulk_fini(rb);
	ended(lane);
}

static void bulk_ask(struct bulk_lane *lane)
{
	struct rpc_bulk            *b = lane->bl_bulk;
	struct rpc_side            *s = b->b_rpc->r_side[0];
	struct m0_rpc_item         *item = &lane->bl_raw.rr_item;
	struct m0_rpc_bulk         *rb = &lane->bl_rb;
	struct m0_net_buf_desc_data desc;
	m0_bcount_t                 nr;

	b->b_left--;
	lane->bl_ends = 0;
	m0_rpc_bulk_init(rb);
	rb->rb_done = &lane_done;
	rpc_m0_must(m0_rpc_bulk_buf_add(rb, 0, b->b_bytes, &s->rs_dom,
					&lane->bl_buf->b_nb, NULL),
		    "add");
	m0_rpc_bulk_qtype(rb, b->b_is_put ? M0_NET_QT_PASSIVE_BULK_RECV
					  : M0_NET_QT_PASSIVE_BULK_SEND);
	rpc_m0_must(m0_rpc_bulk_store(rb, &s->rs_conn, &desc), "store");
	if (m0_rpc_bulk_desc_size(&desc) > sizeof(lane->bl_body))
		bench_die("a long descriptor");
	nr = m0_rpc_bulk_desc_put(lane->bl_body, &desc);
	m0_net_desc_free(&desc.bdd_desc);
	if (lane->bl_raw.rr_nr == 0)
		m0_rpc_raw_init(&lane->bl_raw, &b->b_type, lane->bl_body, nr,
				NULL);
	lane->bl_raw.rr_nr = nr;
	item->ri_session = &s->rs_session;
	item->ri_ops = &bulk_item_ops;
	rpc_m0_must(m0_rpc_post(item), "post");
}

static void ended(struct bulk_lane *lane)
{
	if (++lane->bl_ends < 2)
		return;
	lane->bl_bulk->b_done++;
	if (lane->bl_bulk->b_left > 0)
		bulk_ask(lane);
}

static void bulk_replied(struct m0_rpc_item *item)
{
	struct bulk_lane *lane =
		container_of(item, struct bulk_lane, bl_raw.rr_item);

	rpc_m0_must(m0_rpc_item_error(item), "request");
	ended(lane);
}

static uint64_t bulk_run(void *arg, uint64_t nr)
{
	struct rpc_bulk *b = arg;

	nr = nr < b->b_flight ? b->b_flight : nr;
	b->b_left = nr;
	b->b_done = 0;
	for (unsigned i = 0; i < b->b_flight; i++)
		bulk_ask(&b->b_lane[i]);
	while (b->b_done < nr)
		rpc_m0_turn(b->b_rpc);
	return nr;
}

/* ------------------------------------------------------------------ play -- */

static void bulk_prepare(void *arg)
{
	struct rpc_bulk *b = arg;

	b->b_ops = m0_rpc_raw_ops;
	b->b_ops.rito_deliver = &bulk_deliver;
	b->b_type = (struct m0_rpc_item_type){
		.rit_opcode = RPC_OP_BULK + b->b_is_put,
		.rit_ops = &b->b_ops,
		.rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
		.rit_name = b->b_is_put ? "bench put" : "bench get",
	};
	rpc_m0_must(m0_rpc_item_type_register(&b->b_type), "type");
}

/* Memory registered with the domain of the RPC machine. */
static struct bench_buf *bufs_make(struct rpc_bulk *b, int side)
{
	char *mem = bench_huge(b->b_bytes * b->b_flight);

	memset(mem, 1 + side, b->b_bytes * b->b_flight);
	return bench_bufs_make_dom(&b->b_rpc->r_side[side]->rs_dom,
				   (int)b->b_flight, mem, b->b_bytes,
				   b->b_bytes, NULL, NULL);
}

static void bulk_open(void *arg, int side)
{
	struct rpc_bulk *b = arg;

	b->b_bufs[side] = bufs_make(b, side);
	for (unsigned i = 0; i < b->b_flight; i++) {
		if (side == 0) {
			b->b_lane[i].bl_bulk = b;
			b->b_lane[i].bl_buf = &b->b_bufs[0][i];
		} else {
			b->b_job[i].j_buf = &b->b_bufs[1][i];
			b->b_job[i].j_next = b->b_jobs;
			b->b_jobs = &b->b_job[i];
		}
	}
}

static void bulk_close(void *arg, int side)
{
	struct rpc_bulk *b = arg;

	for (unsigned i = 0; side == 0 && i < b->b_flight; i++)
		if (b->b_lane[i].bl_raw.rr_nr > 0)
			m0_rpc_item_fini(&b->b_lane[i].bl_raw.rr_item);
	for (unsigned i = 0; i < b->b_flight; i++)
		rpc_m0_must(m0_net_buffer_deregister(
				    &b->b_bufs[side][i].b_nb,
				    &b->b_rpc->r_side[side]->rs_dom),
			    "deregister");
}

static void bulk_serve(void *arg)
{
	struct rpc_bulk *b = arg;

	rpc_m0_poll(b->b_rpc, 1);
}

static void bulk_enter(void *arg)
{
	struct rpc_bulk *b = arg;

	world_enter(b->b_play);
	rpc_m0_meet(b->b_rpc);
}

static void bulk_leave(void *arg)
{
	struct rpc_bulk *b = arg;

	world_leave(b->b_play);
}

struct rpc_bulk *rpc_bulk_make(struct rpc_m0 *r, size_t bytes, unsigned flight,
			       bool is_put, struct world_play *play)
{
	struct rpc_bulk *b = bench_huge(sizeof(*b));

	memset(b, 0, sizeof(*b));
	b->b_rpc = r;
	b->b_play = play;
	b->b_bytes = bytes;
	b->b_flight = flight;
	b->b_is_put = is_put;
	*play = (struct world_play){
		.wp_prepare = &bulk_prepare,
		.wp_open = &bulk_open,
		.wp_close = &bulk_close,
		.wp_serve = &bulk_serve,
		.wp_arg = b,
	};
	return b;
}

struct bench_case rpc_bulk_case(struct rpc_bulk *b, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &bulk_run,
				    .c_arg = b,
				    .c_enter = &bulk_enter,
				    .c_leave = &bulk_leave };
}

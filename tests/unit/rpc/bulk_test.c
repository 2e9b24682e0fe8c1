/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bulk of RPCs between two transfer machines of the in-memory transport: what
 * arrives, the ownership afterwards, and the effect of false fields. No RPC
 * machine is needed: bulk uses its transfer machine alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rand.h"
#include "sim/sched/heap.h"
#include "m0/mem.h"
#include "m0/rpc_bulk.h"

enum {
	DESCS_MAX = 64,
	KIB = 1 << 10,
	MIB = 1 << 20
};

struct side {
	struct m0_net_domain  sd_dom;
	struct m0_rpc_machine sd_machine;
	struct m0_rpc_conn    sd_conn;
	struct m0_semaphore   sd_state;
};

/* Side 0 offers, side 1 moves. */
static struct side         side[2];
static struct m0_semaphore done_sem;
static int                 done_nr;

static void tm_event(const struct m0_net_tm_event *ev)
{
	struct m0_rpc_machine *machine =
		container_of(ev->nte_tm, struct m0_rpc_machine, rm_tm);

	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		m0_semaphore_up(&container_of(machine, struct side, sd_machine)
					 ->sd_state);
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 tm_event };

static void side_up(struct side *s)
{
	struct m0_net_transfer_mc *tm = &s->sd_machine.rm_tm;

	M0_SET0(s);
	assert_int_equal(m0_net_domain_init(&s->sd_dom, &m0_net_bulk_mem_xprt),
			 0);
	assert_int_equal(m0_semaphore_init(&s->sd_state, 0), 0);
	s->sd_conn.c_rpc_machine = &s->sd_machine;
	tm->ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(tm, &s->sd_dom), 0);
	assert_int_equal(m0_net_tm_start(tm, NULL), 0);
	m0_semaphore_down(&s->sd_state);
	assert_int_equal(tm->ntm_state, M0_NET_TM_STARTED);
}

static void side_stop(struct side *s)
{
	if (s->sd_machine.rm_tm.ntm_state != M0_NET_TM_STARTED)
		return;
	assert_int_equal(m0_net_tm_stop(&s->sd_machine.rm_tm, true), 0);
	m0_semaphore_down(&s->sd_state);
}

static void side_down(struct side *s)
{
	side_stop(s);
	assert_int_equal(m0_net_tm_fini(&s->sd_machine.rm_tm), 0);
	assert_int_equal(m0_net_domain_fini(&s->sd_dom), 0);
	m0_semaphore_fini(&s->sd_state);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(m0_net_init(), 0);
	assert_int_equal(m0_semaphore_init(&done_sem, 0), 0);
	done_nr = 0;
	side_up(&side[0]);
	side_up(&side[1]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	side_down(&side[0]);
	side_down(&side[1]);
	m0_semaphore_fini(&done_sem);
	assert_int_equal(m0_net_fini(), 0);
	return 0;
}

static void done_cb(struct m0_rpc_bulk *rb)
{
	(void)rb;
	++done_nr;
	m0_semaphore_up(&done_sem);
}

/* ---------------------------------------------------------------- helpers -- */

/** State of one side. */
struct end {
	struct m0_rpc_bulk en_rb;
	uint8_t           *en_mem;
	m0_bcount_t        en_nr;
	struct m0_bufvec   en_vec;
};

static void fill(uint8_t *mem, m0_bcount_t nr, uint64_t seed)
{
	m0_bcount_t i;

	for (i = 0; i < nr; ++i)
		mem[i] = (uint8_t)(seed + i * 7 + (i >> 12));
}

/* An end whose memory is in pieces of `seg` bytes, one behind the other. */
static void end_up(struct end *e, m0_bcount_t nr, m0_bcount_t seg)
{
	uint32_t segs_nr = (uint32_t)((nr + seg - 1) / seg);
	uint32_t i;

	m0_rpc_bulk_init(&e->en_rb);
	e->en_rb.rb_done = done_cb;
	e->en_nr = nr;
	e->en_mem = m0_alloc(nr);
	assert_non_null(e->en_mem);
	assert_int_equal(m0_bufvec_empty_alloc(&e->en_vec, segs_nr), 0);
	for (i = 0; i < segs_nr; ++i) {
		e->en_vec.ov_buf[i] = e->en_mem + i * seg;
		e->en_vec.ov_vec.v_count[i] = min64u(seg, nr - i * seg);
	}
}

static void end_down(struct end *e)
{
	m0_rpc_bulk_fini(&e->en_rb);
	m0_bufvec_free2(&e->en_vec);
	m0_free(e->en_mem);
}

static uint32_t offer(struct end *e, enum m0_net_queue_type q,
		      struct m0_net_buf_desc_data *desc)
{
	int nr = m0_rpc_bulk_add(&e->en_rb, &e->en_vec, &side[0].sd_dom);

	assert_in_range(nr, 1, DESCS_MAX);
	m0_rpc_bulk_qtype(&e->en_rb, q);
	assert_int_equal(m0_rpc_bulk_store(&e->en_rb, &side[0].sd_conn, desc),
			 0);
	return (uint32_t)nr;
}

/* Adds buffers as the descriptors say and loads. */
static int take(struct end *e, enum m0_net_queue_type q,
		const struct m0_net_buf_desc_data *desc, uint32_t nr)
{
	assert_int_equal(m0_rpc_bulk_add_as(&e->en_rb, &e->en_vec,
					    &side[1].sd_dom, desc, nr),
			 0);
	m0_rpc_bulk_qtype(&e->en_rb, q);
	return m0_rpc_bulk_load(&e->en_rb, &side[1].sd_machine, desc);
}

static void descs_free(struct m0_net_buf_desc_data *desc, uint32_t nr)
{
	while (nr-- > 0)
		m0_net_desc_free(&desc[nr].bdd_desc);
}

/* ------------------------------------------------------------------ cases -- */

static void move(m0_bcount_t nr, m0_bcount_t seg0, m0_bcount_t seg1, bool get)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct end                  e[2];
	uint32_t                    descs_nr;

	end_up(&e[0], nr, seg0);
	end_up(&e[1], nr, seg1);
	fill(e[get ? 0 : 1].en_mem, nr, nr);
	descs_nr = offer(&e[0],
			 get ? M0_NET_QT_PASSIVE_BULK_SEND
			     : M0_NET_QT_PASSIVE_BULK_RECV,
			 desc);
	assert_int_equal(m0_rpc_bulk_buf_length(&e[0].en_rb), nr);
	assert_int_equal(take(&e[1],
			      get ? M0_NET_QT_ACTIVE_BULK_RECV
				  : M0_NET_QT_ACTIVE_BULK_SEND,
			      desc, descs_nr),
			 0);
	assert_int_equal(m0_rpc_bulk_wait(&e[1].en_rb), 0);
	assert_int_equal(m0_rpc_bulk_wait(&e[0].en_rb), 0);
	m0_semaphore_down(&done_sem);
	m0_semaphore_down(&done_sem);
	assert_int_equal(e[0].en_rb.rb_moved, nr);
	assert_int_equal(e[1].en_rb.rb_moved, nr);
	assert_memory_equal(e[0].en_mem, e[1].en_mem, nr);
	descs_free(desc, descs_nr);
	end_down(&e[0]);
	end_down(&e[1]);
}

/* Any size moves either way, cut to the transport's limits. */
static void size_any_arrives(void **state)
{
	static const m0_bcount_t sizes[] = {
		1, 63, 4 * KIB, MIB, MIB + 1, 16 * MIB, 16 * MIB + 5, 64 * MIB
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		move(sizes[i], sizes[i], sizes[i], true);
		move(sizes[i], sizes[i], sizes[i], false);
	}
}

/* Memory in pieces that fit no limit, other ones on either side. */
static void memory_scattered_arrives(void **state)
{
	(void)state;
	move(40 * 4099, 4099, 40 * 4099, true);
	move(3 * MIB + 17, 3 * MIB + 17, 300 * KIB + 1, true);
	move(3 * MIB + 17, 300 * KIB + 1, 3 * MIB + 17, false);
	move(100, 1, 33, false);
}

/* Nothing is left allocated by transfers, and done is called once for each. */
static void transfer_many_leaves_nothing(void **state)
{
	struct m0_heap heap;
	int            i;

	(void)state;
	m0_heap_init(&heap);
	move(5 * MIB, 5 * MIB, 400 * KIB, true);
	for (i = 0; i < 20; ++i) {
		int64_t live = m0_heap_live_nr(&heap);

		move(20 * MIB, 20 * MIB, 20 * MIB, i % 2 == 0);
		assert_int_equal(m0_heap_live_nr(&heap), live);
	}
	assert_int_equal(done_nr, 42);
	m0_heap_fini(&heap);
}

/* An offer can be withdrawn, and no peer finds it afterwards. */
static void cancel_offered_ends_and_is_stale(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct end                  e[2];
	uint32_t                    nr;

	(void)state;
	end_up(&e[0], 40 * MIB, 40 * MIB);
	end_up(&e[1], 40 * MIB, 40 * MIB);
	nr = offer(&e[0], M0_NET_QT_PASSIVE_BULK_SEND, desc);
	m0_rpc_bulk_store_del(&e[0].en_rb);
	m0_semaphore_down(&done_sem);
	assert_true(m0_rpc_bulk_is_empty(&e[0].en_rb));
	assert_int_equal(m0_rpc_bulk_wait(&e[0].en_rb), -ECANCELED);
	assert_int_equal(take(&e[1], M0_NET_QT_ACTIVE_BULK_RECV, desc, nr), 0);
	assert_int_equal(m0_rpc_bulk_wait(&e[1].en_rb), -ENOENT);
	assert_int_equal(e[1].en_rb.rb_moved, 0);
	m0_semaphore_down(&done_sem);
	descs_free(desc, nr);
	end_down(&e[0]);
	end_down(&e[1]);
}

/* Nobody comes: the time-out is the outcome. */
static void offer_unused_times_out(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct end                  e;
	uint32_t                    nr;

	(void)state;
	end_up(&e, 20 * MIB, 20 * MIB);
	/* Not over before all is offered, on a busy machine either. */
	e.en_rb.rb_timeout_ns = 500 * M0_TIME_ONE_MSEC;
	nr = offer(&e, M0_NET_QT_PASSIVE_BULK_RECV, desc);
	assert_int_equal(m0_rpc_bulk_wait(&e.en_rb), -ETIMEDOUT);
	m0_semaphore_down(&done_sem);
	descs_free(desc, nr);
	end_down(&e);
}

/* A server may move some of what was offered, in its own order. */
static void run_of_descriptors_moves_alone(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct end                  e[2];
	uint32_t                    nr;
	m0_bcount_t                 at = 32 * MIB;
	m0_bcount_t                 i;

	(void)state;
	end_up(&e[0], 64 * MIB, 64 * MIB);
	end_up(&e[1], 16 * MIB, 16 * MIB);
	fill(e[1].en_mem, e[1].en_nr, 5);
	nr = offer(&e[0], M0_NET_QT_PASSIVE_BULK_RECV, desc);
	assert_int_equal(nr, 4);
	assert_int_equal(take(&e[1], M0_NET_QT_ACTIVE_BULK_SEND, desc + 2, 1),
			 0);
	assert_int_equal(m0_rpc_bulk_wait(&e[1].en_rb), 0);
	m0_rpc_bulk_store_del(&e[0].en_rb);
	assert_int_equal(m0_rpc_bulk_wait(&e[0].en_rb), -ECANCELED);
	assert_int_equal(e[0].en_rb.rb_moved, 16 * MIB);
	assert_memory_equal(e[0].en_mem + at, e[1].en_mem, 16 * MIB);
	for (i = 0; i < at; i += KIB)
		assert_int_equal(e[0].en_mem[i], 0);
	m0_semaphore_down(&done_sem);
	m0_semaphore_down(&done_sem);
	descs_free(desc, nr);
	end_down(&e[0]);
	end_down(&e[1]);
}

/* Fewer bytes than there is room for: the requester is told how many. */
static void put_short_tells_length(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct m0_rpc_bulk_buf     *rbuf;
	struct end                  e[2];

	(void)state;
	end_up(&e[0], 64 * KIB, 64 * KIB);
	end_up(&e[1], 64 * KIB, 64 * KIB);
	(void)offer(&e[0], M0_NET_QT_PASSIVE_BULK_RECV, desc);
	assert_int_equal(m0_rpc_bulk_buf_add(&e[1].en_rb, 1, 100,
					     &side[1].sd_dom, NULL, &rbuf),
			 0);
	assert_int_equal(m0_rpc_bulk_buf_databuf_add(rbuf, e[1].en_mem + 7, 100,
						     0, &side[1].sd_dom),
			 0);
	m0_rpc_bulk_qtype(&e[1].en_rb, M0_NET_QT_ACTIVE_BULK_SEND);
	assert_int_equal(
		m0_rpc_bulk_load(&e[1].en_rb, &side[1].sd_machine, desc), 0);
	assert_int_equal(m0_rpc_bulk_wait(&e[1].en_rb), 0);
	assert_int_equal(m0_rpc_bulk_wait(&e[0].en_rb), 0);
	assert_int_equal(e[0].en_rb.rb_moved, 100);
	m0_semaphore_down(&done_sem);
	m0_semaphore_down(&done_sem);
	descs_free(desc, 1);
	end_down(&e[0]);
	end_down(&e[1]);
}

/* -------------------------------------------------------------------- lies -- */

/* Loads 4 KiB by `desc`: what the load says, or then the outcome. */
static int load_one(const struct m0_net_buf_desc_data *desc, m0_bcount_t nr,
		    enum m0_net_queue_type q)
{
	struct m0_rpc_bulk_buf *rbuf;
	struct end              e;
	int                     rc;

	end_up(&e, nr, nr);
	assert_int_equal(m0_rpc_bulk_buf_add(&e.en_rb, 1, nr, &side[1].sd_dom,
					     NULL, &rbuf),
			 0);
	assert_int_equal(m0_rpc_bulk_buf_databuf_add(rbuf, e.en_mem, nr, 0,
						     &side[1].sd_dom),
			 0);
	m0_rpc_bulk_qtype(&e.en_rb, q);
	rc = m0_rpc_bulk_load(&e.en_rb, &side[1].sd_machine, desc);
	if (rc == 0) {
		rc = m0_rpc_bulk_wait(&e.en_rb);
		m0_semaphore_down(&done_sem);
	} else {
		assert_true(m0_rpc_bulk_is_empty(&e.en_rb));
	}
	end_down(&e);
	return rc;
}

/* Each lie a peer can tell in a descriptor has an error of its own. */
static void descriptor_lies_fail_by_name(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct m0_net_buf_desc_data lie;
	uint8_t                     bytes[4096];
	struct end                  e;

	(void)state;
	end_up(&e, 4096, 4096);
	(void)offer(&e, M0_NET_QT_PASSIVE_BULK_SEND, desc);
	lie = desc[0];

	lie.bdd_desc.nbd_len = 0;
	assert_int_equal(load_one(&lie, 4096, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EPROTO);
	lie.bdd_desc.nbd_len = sizeof bytes;
	lie.bdd_desc.nbd_data = bytes;
	assert_int_equal(load_one(&lie, 4096, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EPROTO);
	lie = desc[0];
	lie.bdd_desc.nbd_len -= 4;
	assert_int_equal(load_one(&lie, 4096, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EINVAL);
	memset(bytes, 0xee, sizeof bytes);
	lie.bdd_desc.nbd_len = desc[0].bdd_desc.nbd_len;
	lie.bdd_desc.nbd_data = bytes;
	assert_int_equal(load_one(&lie, 4096, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EINVAL);
	assert_int_equal(load_one(&desc[0], 4096, M0_NET_QT_ACTIVE_BULK_SEND),
			 -EPERM);
	lie = desc[0];
	lie.bdd_used = 0;
	assert_int_equal(load_one(&lie, 4096, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EPROTO);
	lie.bdd_used = 4097;
	assert_int_equal(load_one(&lie, 4096, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EMSGSIZE);
	/* More than there is: found when it has come. */
	assert_int_equal(load_one(&lie, 8192, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EPROTO);
	m0_semaphore_down(&done_sem);
	assert_int_equal(m0_rpc_bulk_wait(&e.en_rb), 0);
	descs_free(desc, 1);

	/* Less: the transport does not write beyond the buffer. */
	(void)offer(&e, M0_NET_QT_PASSIVE_BULK_SEND, desc);
	lie = desc[0];
	lie.bdd_used = 100;
	assert_int_equal(load_one(&lie, 100, M0_NET_QT_ACTIVE_BULK_RECV),
			 -EFBIG);
	m0_rpc_bulk_store_del(&e.en_rb);
	assert_int_equal(m0_rpc_bulk_wait(&e.en_rb), -EFBIG);
	m0_semaphore_down(&done_sem);
	descs_free(desc, 1);
	end_down(&e);
}

/* A put of more than the descriptor has room for never starts. */
static void put_beyond_room_is_refused(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct end                  e;

	(void)state;
	end_up(&e, 4096, 4096);
	(void)offer(&e, M0_NET_QT_PASSIVE_BULK_RECV, desc);
	assert_int_equal(load_one(&desc[0], 4097, M0_NET_QT_ACTIVE_BULK_SEND),
			 -EMSGSIZE);
	m0_rpc_bulk_store_del(&e.en_rb);
	assert_int_equal(m0_rpc_bulk_wait(&e.en_rb), -ECANCELED);
	m0_semaphore_down(&done_sem);
	descs_free(desc, 1);
	end_down(&e);
}

/* One of several is stale: the others are stopped, the list ends, once. */
static void one_stale_ends_all(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct m0_net_buf_desc_data gone[DESCS_MAX];
	struct end                  e[3];
	uint32_t                    nr;

	(void)state;
	end_up(&e[0], 64 * MIB, 64 * MIB);
	end_up(&e[1], 64 * MIB, 64 * MIB);
	end_up(&e[2], 16 * MIB, 16 * MIB);
	(void)offer(&e[2], M0_NET_QT_PASSIVE_BULK_SEND, gone);
	m0_rpc_bulk_store_del(&e[2].en_rb);
	m0_semaphore_down(&done_sem);
	nr = offer(&e[0], M0_NET_QT_PASSIVE_BULK_SEND, desc);
	m0_net_desc_free(&desc[0].bdd_desc);
	desc[0] = gone[0];
	assert_int_equal(take(&e[1], M0_NET_QT_ACTIVE_BULK_RECV, desc, nr), 0);
	assert_int_equal(m0_rpc_bulk_wait(&e[1].en_rb), -ENOENT);
	m0_semaphore_down(&done_sem);
	m0_rpc_bulk_store_del(&e[0].en_rb);
	assert_int_equal(m0_rpc_bulk_wait(&e[0].en_rb), -ECANCELED);
	m0_semaphore_down(&done_sem);
	assert_int_equal(done_nr, 3);
	descs_free(desc, nr);
	end_down(&e[0]);
	end_down(&e[1]);
	end_down(&e[2]);
}

/* --------------------------------------------------------------- ownership -- */

static void free_cb(struct m0_rpc_bulk *rb)
{
	m0_rpc_bulk_fini(rb);
	m0_free(rb);
	m0_semaphore_up(&done_sem);
}

/* rb_done is the last that touches an rbulk: it may free it. */
static void done_may_free(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct m0_rpc_bulk         *rb;
	struct end                  e;
	uint32_t                    nr;

	(void)state;
	end_up(&e, MIB, MIB);
	nr = offer(&e, M0_NET_QT_PASSIVE_BULK_RECV, desc);
	M0_ALLOC_PTR(rb);
	m0_rpc_bulk_init(rb);
	rb->rb_done = free_cb;
	assert_int_equal(m0_rpc_bulk_add(rb, &e.en_vec, &side[1].sd_dom),
			 (int)nr);
	m0_rpc_bulk_qtype(rb, M0_NET_QT_ACTIVE_BULK_SEND);
	m0_rpc_bulk_store_del(&e.en_rb);
	assert_int_equal(m0_rpc_bulk_load(rb, &side[1].sd_machine, desc), 0);
	m0_semaphore_down(&done_sem);
	m0_semaphore_down(&done_sem);
	descs_free(desc, nr);
	end_down(&e);
}

/* A net buffer of the caller's stays his, registered, and serves again. */
static void lent_buffer_stays_registered(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct m0_net_buffer        nb;
	struct m0_rpc_bulk          rb;
	struct end                  e;
	int                         i;

	(void)state;
	M0_SET0(&nb);
	assert_int_equal(m0_bufvec_alloc(&nb.nb_buffer, 2, 4096), 0);
	assert_int_equal(m0_net_buffer_register(&nb, &side[1].sd_dom), 0);
	end_up(&e, 8192, 8192);
	m0_rpc_bulk_init(&rb);
	for (i = 0; i < 3; ++i) {
		fill(e.en_mem, 8192, (uint64_t)i);
		(void)offer(&e, M0_NET_QT_PASSIVE_BULK_SEND, desc);
		assert_int_equal(m0_rpc_bulk_buf_add(&rb, 0, 8192,
						     &side[1].sd_dom, &nb,
						     NULL),
				 0);
		m0_rpc_bulk_qtype(&rb, M0_NET_QT_ACTIVE_BULK_RECV);
		assert_int_equal(
			m0_rpc_bulk_load(&rb, &side[1].sd_machine, desc), 0);
		assert_int_equal(m0_rpc_bulk_wait(&rb), 0);
		m0_semaphore_down(&done_sem);
		assert_int_equal(nb.nb_flags, M0_NET_BUF_REGISTERED);
		assert_memory_equal(nb.nb_buffer.ov_buf[0], e.en_mem, 4096);
		descs_free(desc, 1);
	}
	assert_int_equal(m0_rpc_bulk_buf_add(&rb, 0, 8193, &side[1].sd_dom, &nb,
					     NULL),
			 -EMSGSIZE);
	m0_rpc_bulk_fini(&rb);
	assert_int_equal(m0_net_buffer_deregister(&nb, &side[1].sd_dom), 0);
	m0_bufvec_free(&nb.nb_buffer);
	end_down(&e);
}

/* ------------------------------------------------------------------- errors -- */

/* Limits of the domain and of the buffer are kept when memory is added. */
static void limits_are_kept(void **state)
{
	struct m0_net_domain   *dom = &side[0].sd_dom;
	struct m0_rpc_bulk_buf *rbuf;
	struct m0_rpc_bulk      rb;
	static char             mem[8];

	(void)state;
	m0_rpc_bulk_init(&rb);
	assert_int_equal(m0_rpc_bulk_buf_add(&rb, 17, 8, dom, NULL, &rbuf),
			 -EMSGSIZE);
	assert_int_equal(m0_rpc_bulk_buf_add(&rb, 0, 8, dom, NULL, &rbuf),
			 -EMSGSIZE);
	assert_int_equal(m0_rpc_bulk_buf_add(&rb, 1, 0, dom, NULL, &rbuf),
			 -EMSGSIZE);
	assert_int_equal(m0_rpc_bulk_buf_add(&rb, 1, 16 * MIB + 1, dom, NULL,
					     &rbuf),
			 -EMSGSIZE);
	assert_int_equal(
		m0_rpc_bulk_buf_add(&rb, 2, 16 * MIB, dom, NULL, &rbuf), 0);
	assert_int_equal(m0_rpc_bulk_buf_databuf_add(rbuf, mem, MIB + 1, 0,
						     dom),
			 -EMSGSIZE);
	assert_int_equal(m0_rpc_bulk_buf_databuf_add(rbuf, mem, 4, 0, dom), 0);
	assert_int_equal(m0_rpc_bulk_buf_databuf_add(rbuf, mem, 4, 0, dom), 0);
	assert_int_equal(m0_rpc_bulk_buf_databuf_add(rbuf, mem, 4, 0, dom),
			 -EMSGSIZE);
	assert_int_equal(m0_rpc_bulk_buf_length(&rb), 16 * MIB);
	m0_rpc_bulk_buflist_empty(&rb);
	assert_int_equal(m0_rpc_bulk_buf_length(&rb), 0);
	m0_rpc_bulk_fini(&rb);
}

/* The wrong queue, a buffer without bytes, and a machine that has stopped. */
static void store_wrong_is_refused(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct m0_rpc_bulk_buf     *rbuf;
	struct end                  e;

	(void)state;
	end_up(&e, 40 * MIB, 40 * MIB);
	assert_int_equal(m0_rpc_bulk_add(&e.en_rb, &e.en_vec, &side[0].sd_dom),
			 3);
	m0_rpc_bulk_qtype(&e.en_rb, M0_NET_QT_ACTIVE_BULK_SEND);
	assert_int_equal(m0_rpc_bulk_store(&e.en_rb, &side[0].sd_conn, desc),
			 -EBADR);
	m0_rpc_bulk_qtype(&e.en_rb, M0_NET_QT_PASSIVE_BULK_SEND);
	assert_int_equal(m0_rpc_bulk_load(&e.en_rb, &side[0].sd_machine, desc),
			 -EBADR);
	assert_int_equal(m0_rpc_bulk_buf_add(&e.en_rb, 1, 1, &side[0].sd_dom,
					     NULL, &rbuf),
			 0);
	m0_rpc_bulk_qtype(&e.en_rb, M0_NET_QT_PASSIVE_BULK_SEND);
	assert_int_equal(m0_rpc_bulk_store(&e.en_rb, &side[0].sd_conn, desc),
			 -EMSGSIZE);
	assert_true(m0_rpc_bulk_is_empty(&e.en_rb));
	assert_int_equal(m0_rpc_bulk_add(&e.en_rb, &e.en_vec, &side[0].sd_dom),
			 3);
	m0_rpc_bulk_qtype(&e.en_rb, M0_NET_QT_PASSIVE_BULK_SEND);
	side_stop(&side[0]);
	assert_int_equal(m0_rpc_bulk_store(&e.en_rb, &side[0].sd_conn, desc),
			 -EPERM);
	assert_true(m0_rpc_bulk_is_empty(&e.en_rb));
	assert_int_equal(e.en_rb.rb_rc, -EPERM);
	assert_int_equal(done_nr, 0);
	end_down(&e);
}

/* The machine stops under what was offered: that has an end, too. */
static void machine_stop_ends_offer(void **state)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct end                  e;
	uint32_t                    nr;

	(void)state;
	end_up(&e, 40 * MIB, 40 * MIB);
	nr = offer(&e, M0_NET_QT_PASSIVE_BULK_SEND, desc);
	side_stop(&side[0]);
	assert_int_equal(m0_rpc_bulk_wait(&e.en_rb), -ECANCELED);
	m0_semaphore_down(&done_sem);
	descs_free(desc, nr);
	end_down(&e);
}

/* Each allocation of add and store may fail: an error, and nothing is left. */
static int store_run(void *arg)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct end                 *e = arg;
	int nr = m0_rpc_bulk_add(&e->en_rb, &e->en_vec, &side[0].sd_dom);
	int rc;

	if (nr < 0) {
		assert_true(m0_rpc_bulk_is_empty(&e->en_rb));
		return nr;
	}
	m0_rpc_bulk_qtype(&e->en_rb, M0_NET_QT_PASSIVE_BULK_SEND);
	rc = m0_rpc_bulk_store(&e->en_rb, &side[0].sd_conn, desc);
	if (rc == 0) {
		m0_rpc_bulk_store_del(&e->en_rb);
		m0_semaphore_down(&done_sem);
		descs_free(desc, (uint32_t)nr);
	} else {
		(void)m0_rpc_bulk_wait(&e->en_rb);
	}
	return rc;
}

static void memory_short_leaves_nothing(void **state)
{
	struct end e;

	(void)state;
	end_up(&e, 40 * MIB, 40 * MIB);
	assert_int_equal(store_run(&e), 0);
	assert_true(m0_heap_fail_each(store_run, &e) >= 3);
	end_down(&e);
}

/* ------------------------------------------------------- sizes and bodies -- */

/* The bound of buffers holds for memory of any shape, and is exact for one
 * segment. */
static void bufs_nr_bounds_add(void **state)
{
	struct m0_net_domain *dom = &side[0].sd_dom;
	struct m0_rpc_bulk    rb;
	struct m0_rand        rand;
	m0_bcount_t           count[600];
	void                 *buf[600];
	struct m0_bufvec      vec = { .ov_vec = { .v_count = count },
				      .ov_buf = buf };
	m0_bcount_t           nr;
	uint32_t              i;
	int                   run;
	int                   got;

	(void)state;
	m0_rand_init(&rand, 17);
	m0_rpc_bulk_init(&rb);
	for (run = 0; run < 300; ++run) {
		vec.ov_vec.v_nr = 1 + (uint32_t)m0_rand_below(&rand, 600);
		if (run % 8 == 0)
			vec.ov_vec.v_nr = 1;
		for (i = 0; i < vec.ov_vec.v_nr; ++i) {
			count[i] = m0_rand_below(
				&rand, 1ULL << (2 + m0_rand_below(&rand, 24)));
			buf[i] = &rb;
		}
		nr = m0_vec_count(&vec.ov_vec);
		got = m0_rpc_bulk_add(&rb, &vec, dom);
		assert_true(got >= 0);
		if (vec.ov_vec.v_nr == 1)
			assert_int_equal(got, m0_rpc_bulk_bufs_nr(dom, 1, nr));
		else
			assert_true(
				(uint32_t)got <=
				m0_rpc_bulk_bufs_nr(dom, vec.ov_vec.v_nr, nr));
		assert_int_equal(m0_rpc_bulk_buf_length(&rb), nr);
		m0_rpc_bulk_buflist_empty(&rb);
	}
	m0_rpc_bulk_fini(&rb);
}

/* A descriptor survives a body, and no cut of its bytes is taken for one. */
static void descriptor_in_body_survives(void **state)
{
	uint8_t                     data[] = "thirteen bytes";
	uint8_t                     body[64];
	struct m0_net_buf_desc_data desc = { .bdd_desc = { .nbd_len = 13,
							   .nbd_data = data },
					     .bdd_used = 1234567890123 };
	struct m0_net_buf_desc_data got;
	m0_bcount_t                 nr = m0_rpc_bulk_desc_size(&desc);
	m0_bcount_t                 i;

	(void)state;
	assert_int_equal(nr, 32);
	assert_int_equal(m0_rpc_bulk_desc_put(body, &desc), nr);
	assert_int_equal(m0_rpc_bulk_desc_get(body, sizeof body, &got), nr);
	assert_int_equal(got.bdd_used, desc.bdd_used);
	assert_int_equal(got.bdd_desc.nbd_len, 13);
	assert_memory_equal(got.bdd_desc.nbd_data, data, 13);
	for (i = 0; i < nr; ++i)
		assert_int_equal(m0_rpc_bulk_desc_get(body, i, &got), -EPROTO);
	body[12] = 1;
	assert_int_equal(m0_rpc_bulk_desc_get(body, nr, &got), -EPROTO);
	body[12] = 0;
	/* Nor is there anything in its padding. */
	body[nr - 1] = 1;
	assert_int_equal(m0_rpc_bulk_desc_get(body, nr, &got), -EPROTO);
	body[nr - 1] = 0;
	memset(body + 8, 0xff, 4);
	assert_int_equal(m0_rpc_bulk_desc_get(body, nr, &got), -EPROTO);
	memset(body + 8, 0, 4);
	assert_int_equal(m0_rpc_bulk_desc_get(body, nr, &got), -EPROTO);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(size_any_arrives),
		CASE(memory_scattered_arrives),
		CASE(transfer_many_leaves_nothing),
		CASE(cancel_offered_ends_and_is_stale),
		CASE(offer_unused_times_out),
		CASE(run_of_descriptors_moves_alone),
		CASE(put_short_tells_length),
		CASE(descriptor_lies_fail_by_name),
		CASE(put_beyond_room_is_refused),
		CASE(one_stale_ends_all),
		CASE(done_may_free),
		CASE(lent_buffer_stays_registered),
		CASE(limits_are_kept),
		CASE(store_wrong_is_refused),
		CASE(machine_stop_ends_offer),
		CASE(memory_short_leaves_nothing),
		CASE(bufs_nr_bounds_add),
		CASE(descriptor_in_body_survives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

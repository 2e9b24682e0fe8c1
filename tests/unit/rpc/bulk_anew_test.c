/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* When bulk that has failed is begun anew. In simulated time; attempts fail as the
 * test says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc_bulk.h"
#include "m0/sim.h"

enum {
	FETCH = 100,
	BYTES = 4096,
	DESCS_MAX = 12,
	DEALS_MAX = 8,
	TRIES_MAX = 16,
	/** Pauses double from 1 ms to this. */
	PAUSE_MAX_MS = 256,
	SEEDS = 20
};

/* A request of a client, and the buffers that it offers. */
struct deal {
	struct m0_rpc_raw           dl_raw;
	struct m0_rpc_bulk          dl_rb;
	struct m0_net_buf_desc_data dl_desc[DESCS_MAX];
	uint8_t                     dl_memory[DESCS_MAX][BYTES];
	uint8_t                     dl_body[4096];
};

/* The request at the server. */
struct job {
	struct m0_rpc_bulk  jb_rb;
	struct m0_rpc_item *jb_item;
	uint8_t             jb_memory[DESCS_MAX][BYTES];
};

/* Attempts to move a buffer, and how many of them fail. */
struct moved {
	struct m0_net_buffer *mv_nb;
	unsigned              mv_fails;
	unsigned              mv_nr;
	m0_time_t             mv_at[TRIES_MAX];
};

static struct m0_sim         sim;
static struct m0_net_domain  dom[2];
static struct m0_rpc_machine server;
static struct m0_rpc_machine client;
static struct m0_rpc_conn    conn;
static struct m0_rpc_session session;
static struct deal           deals[DEALS_MAX];
static struct moved          moved[DEALS_MAX * DESCS_MAX];
static unsigned              moved_nr;
/* Attempts after the first one that fail do so because they find no offer. */
static bool finds_none;

static struct m0_rpc_item_type_ops fetch_ops;
static struct m0_rpc_item_type     fetch = {
	    .rit_opcode = FETCH,
	    .rit_ops = &fetch_ops,
	    .rit_name = "fetch",
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
};

/* ------------------------------------------------------------- attempts -- */

int __real_m0_net_buffer_add(struct m0_net_buffer      *nb,
			     struct m0_net_transfer_mc *tm);
int __wrap_m0_net_buffer_add(struct m0_net_buffer      *nb,
			     struct m0_net_transfer_mc *tm);

static struct moved *moved_of(struct m0_net_buffer *nb)
{
	unsigned i;

	for (i = 0; i < moved_nr; ++i)
		if (moved[i].mv_nb == nb)
			return &moved[i];
	assert_true(moved_nr < ARRAY_SIZE(moved));
	moved[moved_nr].mv_nb = nb;
	return &moved[moved_nr++];
}

int __wrap_m0_net_buffer_add(struct m0_net_buffer      *nb,
			     struct m0_net_transfer_mc *tm)
{
	struct moved *mv;
	bool          fails;

	if (nb->nb_qtype != M0_NET_QT_ACTIVE_BULK_RECV)
		return __real_m0_net_buffer_add(nb, tm);
	mv = moved_of(nb);
	assert_true(mv->mv_nr < TRIES_MAX);
	mv->mv_at[mv->mv_nr++] = m0_sim_now(&sim);
	fails = mv->mv_nr <= mv->mv_fails;
	if (fails && mv->mv_nr > 1 && finds_none)
		return -ENOENT;
	assert_int_equal(__real_m0_net_buffer_add(nb, tm), 0);
	if (fails)
		(void)m0_net_buffer_del(nb, tm);
	return 0;
}

/* ----------------------------------------------------- server and client -- */

static void job_done(struct m0_rpc_bulk *rb)
{
	struct job *job = container_of(rb, struct job, jb_rb);

	m0_rpc_reply_rc(job->jb_item, rb->rb_rc);
	m0_rpc_item_put(job->jb_item);
	m0_rpc_bulk_fini(rb);
	m0_free(job);
}

static void fetch_deliver(struct m0_rpc_machine *machine,
			  struct m0_rpc_item    *item)
{
	const struct m0_rpc_raw    *raw = m0_rpc_raw_of(item);
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	m0_bcount_t      count = sizeof((struct job *)NULL)->jb_memory;
	void            *addr;
	struct m0_bufvec memory = M0_BUFVEC_INIT_BUF(&addr, &count);
	m0_bcount_t      at = 0;
	unsigned         nr = 0;
	struct job      *job;

	M0_ALLOC_PTR(job);
	assert_non_null(job);
	while (at < raw->rr_nr) {
		int64_t used =
			m0_rpc_bulk_desc_get((const uint8_t *)raw->rr_data + at,
					     raw->rr_nr - at, &desc[nr++]);

		assert_true(used > 0);
		at += (m0_bcount_t)used;
	}
	m0_rpc_item_get(item);
	job->jb_item = item;
	addr = job->jb_memory;
	m0_rpc_bulk_init(&job->jb_rb);
	job->jb_rb.rb_done = job_done;
	memory.ov_vec.v_nr = 1;
	assert_int_equal(m0_rpc_bulk_add_as(&job->jb_rb, &memory,
					    machine->rm_tm.ntm_dom, desc, nr),
			 0);
	m0_rpc_bulk_qtype(&job->jb_rb, M0_NET_QT_ACTIVE_BULK_RECV);
	assert_int_equal(m0_rpc_bulk_load_for(&job->jb_rb, item, desc), 0);
}

static void machine_up(struct m0_rpc_machine *machine, unsigned i)
{
	assert_int_equal(m0_net_domain_init(&dom[i], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_rpc_machine_init(machine, &dom[i], NULL, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
}

static void up(uint64_t seed)
{
	m0_sim_init_cfg(&sim, seed, &m0_sim_cfg_calm);
	M0_SET_ARR0(deals);
	M0_SET_ARR0(moved);
	moved_nr = 0;
	finds_none = false;
	fetch_ops = m0_rpc_raw_ops;
	fetch_ops.rito_deliver = fetch_deliver;
	assert_int_equal(m0_rpc_item_type_register(&fetch), 0);
	machine_up(&server, 0);
	machine_up(&client, 1);
	conn = (struct m0_rpc_conn){};
	session = (struct m0_rpc_session){};
	assert_int_equal(m0_rpc_conn_create(&conn, M0_UINT128(0, 0),
					    m0_rpc_machine_addr(&server),
					    &client, 0, M0_TIME_NEVER),
			 0);
	assert_int_equal(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
			 0);
}

static void down(void)
{
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	m0_rpc_machine_fini(&client);
	m0_rpc_machine_fini(&server);
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_item_type_deregister(&fetch);
	m0_sim_fini(&sim);
}

/* Posts the i-th request, in a stream of its own, which offers `nr` buffers. */
static void deal_begin(unsigned i, unsigned nr)
{
	struct deal *d = &deals[i];
	m0_bcount_t  at = 0;
	unsigned     k;

	m0_rpc_raw_init(&d->dl_raw, &fetch, d->dl_body, 0, NULL);
	d->dl_raw.rr_item.ri_session = &session;
	d->dl_raw.rr_item.ri_stream = 1 + i;
	m0_rpc_bulk_init(&d->dl_rb);
	for (k = 0; k < nr; ++k) {
		m0_bcount_t      count = BYTES;
		void            *addr = d->dl_memory[k];
		struct m0_bufvec memory = M0_BUFVEC_INIT_BUF(&addr, &count);

		assert_int_equal(m0_rpc_bulk_add(&d->dl_rb, &memory, &dom[1]),
				 1);
	}
	m0_rpc_bulk_qtype(&d->dl_rb, M0_NET_QT_PASSIVE_BULK_SEND);
	assert_int_equal(m0_rpc_bulk_store_for(&d->dl_rb, &d->dl_raw.rr_item,
					       d->dl_desc),
			 0);
	for (k = 0; k < nr; ++k) {
		at += m0_rpc_bulk_desc_put(d->dl_body + at, &d->dl_desc[k]);
		m0_net_desc_free(&d->dl_desc[k].bdd_desc);
	}
	d->dl_raw.rr_nr = at;
	assert_int_equal(m0_rpc_post(&d->dl_raw.rr_item), 0);
}

static void deal_ends_with(unsigned i, int rc)
{
	struct deal *d = &deals[i];

	assert_int_equal(m0_rpc_item_wait_for_reply(&d->dl_raw.rr_item,
						    M0_TIME_NEVER),
			 0);
	assert_int_equal(m0_rpc_item_error(&d->dl_raw.rr_item), rc);
	if (rc != 0)
		m0_rpc_bulk_store_del(&d->dl_rb);
	assert_int_equal(m0_rpc_bulk_wait(&d->dl_rb), rc == 0 ? 0 : -ECANCELED);
	m0_rpc_bulk_fini(&d->dl_rb);
	m0_rpc_item_fini(&d->dl_raw.rr_item);
}

static void deal_ends(unsigned i)
{
	deal_ends_with(i, 0);
}

/* ---------------------------------------------------------------- tests -- */

static m0_time_t pause_of(const struct moved *mv, unsigned nr)
{
	return mv->mv_at[nr] - mv->mv_at[nr - 1];
}

/* Each pause is at most twice as long as the one before it, up to 256 ms; and at
 * least half of that. The clock of timers has ticks of 1 ms. */
static void pauses_double(const struct moved *mv)
{
	unsigned k;

	for (k = 1; k < mv->mv_nr; ++k) {
		m0_time_t ns = min64u(1U << (k - 1), PAUSE_MAX_MS) *
			       M0_TIME_ONE_MSEC;

		assert_true(pause_of(mv, k) >= ns / 2);
		assert_true(pause_of(mv, k) <= ns + 2 * M0_TIME_ONE_MSEC);
	}
}

/* Requests whose bulk failed at one time, as with one connection, are begun anew
 * at different times: otherwise they fail together again. */
static void bulk_that_failed_together_is_begun_apart(void **state)
{
	enum {
		FAILS = 10
	};
	uint64_t seed;
	unsigned i;

	(void)state;
	for (seed = 1; seed <= SEEDS; ++seed) {
		m0_time_t first = M0_TIME_NEVER;
		m0_time_t last = 0;

		up(seed);
		for (i = 0; i < DEALS_MAX; ++i)
			moved[i].mv_fails = FAILS;
		for (i = 0; i < DEALS_MAX; ++i)
			deal_begin(i, 1);
		for (i = 0; i < DEALS_MAX; ++i)
			deal_ends(i);
		assert_int_equal(moved_nr, DEALS_MAX);
		for (i = 0; i < DEALS_MAX; ++i) {
			assert_int_equal(moved[i].mv_nr, FAILS + 1);
			pauses_double(&moved[i]);
			first = min64u(first, moved[i].mv_at[FAILS]);
			last = max64u(last, moved[i].mv_at[FAILS]);
		}
		assert_true(last - first >=
			    PAUSE_MAX_MS / 8 * M0_TIME_ONE_MSEC);
		down();
	}
}

/* A buffer that was moved says that there is a way again: what waits beside it in
 * its list is begun anew soon, and not after a pause that has grown. */
static void pause_falls_back_after_a_success(void **state)
{
	enum {
		FAILS = 8
	};
	uint64_t  seed;
	m0_time_t long_ns = M0_TIME_ONE_MSEC << (FAILS - 2);

	(void)state;
	for (seed = 1; seed <= SEEDS; ++seed) {
		up(seed);
		moved[0].mv_fails = FAILS;
		moved[1].mv_fails = FAILS + 2;
		deal_begin(0, 2);
		deal_ends(0);
		assert_int_equal(moved_nr, 2);
		assert_int_equal(moved[0].mv_nr, FAILS + 1);
		assert_int_equal(moved[1].mv_nr, FAILS + 3);
		assert_true(pause_of(&moved[1], FAILS) >= long_ns / 2);
		/* The first buffer has been moved when this one fails again. */
		assert_true(pause_of(&moved[1], FAILS + 2) <=
			    4 * M0_TIME_ONE_MSEC);
		down();
	}
}

/* Offers of many buffers may be on their way back to their queues at one time. */
static void many_that_find_no_offer_are_begun_anew(void **state)
{
	unsigned i;

	(void)state;
	up(1);
	finds_none = true;
	for (i = 0; i < DESCS_MAX; ++i)
		moved[i].mv_fails = 4;
	deal_begin(0, DESCS_MAX);
	deal_ends(0);
	for (i = 0; i < DESCS_MAX; ++i)
		assert_int_equal(moved[i].mv_nr, 5);
	down();
}

/* An offer that is not there for a second was withdrawn. */
static void no_offer_for_a_second_ends_the_request(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= SEEDS; ++seed) {
		m0_time_t ns;

		up(seed);
		finds_none = true;
		moved[0].mv_fails = TRIES_MAX;
		deal_begin(0, 1);
		deal_ends_with(0, -ENOENT);
		assert_true(moved[0].mv_nr > 2);
		ns = moved[0].mv_at[moved[0].mv_nr - 1] - moved[0].mv_at[1];
		assert_true(ns > M0_TIME_ONE_SECOND);
		assert_true(ns <= M0_TIME_ONE_SECOND + (PAUSE_MAX_MS +
							2) * M0_TIME_ONE_MSEC);
		down();
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(bulk_that_failed_together_is_begun_apart),
		cmocka_unit_test(pause_falls_back_after_a_success),
		cmocka_unit_test(many_that_find_no_offer_are_begun_anew),
		cmocka_unit_test(no_offer_for_a_second_ends_the_request),
	};

	return cmocka_run_group_tests_name("rpc/bulk_anew", tests, NULL, NULL);
}

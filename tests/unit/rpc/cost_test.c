/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cost of peers: bytes of clients, sessions and streams, and of answers that
 * nobody reads.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc.h"

enum {
	ASK = 100,
	TELL,
	LARGE = 4000,
	STREAMS = 64,
	WINDOW = 64,
	ASKS_NR = 600,
	HELD_NR = 40,
	CLIENTS_NR = 8,
	MSG_BYTES = 8192,
	IDLE_GOAL = 64 * 1024
};

struct peer {
	struct m0_rpc_machine pe_machine;
	struct m0_rpc_conn    pe_conn;
	struct m0_rpc_session pe_session;
};

static struct m0_net_domain  dom[2];
static struct m0_rpc_machine server;
static struct peer           peer[CLIENTS_NR];
/* Bytes of replies that all clients may have kept; 0: the default. */
static m0_bcount_t replies_max;

static struct m0_rpc_item_type_ops ask_ops;
static struct m0_rpc_item_type     ask = {
	    .rit_opcode = ASK,
	    .rit_ops = &ask_ops,
	    .rit_name = "ask",
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
};
static struct m0_rpc_item_type tell = {
	.rit_opcode = TELL,
	.rit_ops = &m0_rpc_raw_ops,
	.rit_name = "tell",
	.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
};

/* Requests of streams that the machine's thread left unanswered, while parks. */
static struct m0_rpc_item *parked[STREAMS];
static uint32_t            parked_nr;
static uint32_t            parks;
static uint32_t            delivered_nr;

static void ask_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	static const uint8_t bytes[LARGE];
	struct m0_rpc_raw   *reply = m0_rpc_raw_new(&tell, bytes, LARGE);

	(void)machine;
	assert_non_null(reply);
	__atomic_fetch_add(&delivered_nr, 1, __ATOMIC_RELAXED);
	if (item->ri_stream != 0 &&
	    __atomic_load_n(&parks, __ATOMIC_ACQUIRE) != 0) {
		m0_rpc_item_put(&reply->rr_item);
		parked[parked_nr] = item;
		__atomic_store_n(&parked_nr, parked_nr + 1, __ATOMIC_RELEASE);
		return;
	}
	m0_rpc_reply_post(item, &reply->rr_item);
}

static int up(void **state)
{
	unsigned i;

	(void)state;
	ask_ops = m0_rpc_raw_ops;
	ask_ops.rito_deliver = ask_deliver;
	assert_int_equal(m0_rpc_item_type_register(&ask), 0);
	assert_int_equal(m0_rpc_item_type_register(&tell), 0);
	for (i = 0; i < 2; ++i)
		assert_int_equal(
			m0_net_domain_init(&dom[i], &m0_net_bulk_mem_xprt), 0);
	return 0;
}

static int down(void **state)
{
	unsigned i;

	(void)state;
	m0_rpc_machine_fini(&server);
	for (i = 0; i < 2; ++i)
		(void)m0_net_domain_fini(&dom[i]);
	m0_rpc_item_type_deregister(&tell);
	m0_rpc_item_type_deregister(&ask);
	return 0;
}

static void server_up(m0_bcount_t each_max, m0_bcount_t all_max)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_client_bytes_max = each_max;
	cfg.rc_clients_bytes_max = all_max;
	if (replies_max != 0)
		cfg.rc_replies_bytes_max = replies_max;
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, MSG_BYTES,
					     0),
			 0);
}

static int session_up(struct peer *p)
{
	int rc = m0_rpc_session_init(&p->pe_session, &p->pe_conn);

	assert_int_equal(rc, 0);
	p->pe_session.s_streams_nr = STREAMS;
	p->pe_session.s_window = WINDOW;
	rc = m0_rpc_session_establish_sync(&p->pe_session, M0_TIME_NEVER);
	if (rc != 0)
		m0_rpc_session_fini(&p->pe_session);
	return rc;
}

/* With an error nothing is left. */
static int peer_up(struct peer *p, bool is_inline)
{
	struct m0_rpc_cfg cfg;
	int               rc;

	*p = (struct peer){};
	m0_rpc_cfg_init(&cfg);
	cfg.rc_inline = is_inline;
	cfg.rc_resend_ns = 50 * M0_TIME_ONE_MSEC;
	cfg.rc_resend_max_ns = 100 * M0_TIME_ONE_MSEC;
	assert_int_equal(m0_rpc_machine_init(&p->pe_machine, &dom[1], &cfg,
					     NULL, NULL, M0_BUFFER_ANY_COLOUR,
					     MSG_BYTES, 0),
			 0);
	rc = m0_rpc_conn_create(&p->pe_conn, M0_UINT128(0, 0),
				m0_rpc_machine_addr(&server), &p->pe_machine, 0,
				M0_TIME_NEVER);
	if (rc == 0) {
		rc = session_up(p);
		if (rc != 0)
			(void)m0_rpc_conn_destroy(&p->pe_conn, M0_TIME_NEVER);
	}
	if (rc != 0)
		m0_rpc_machine_fini(&p->pe_machine);
	return rc;
}

static void peer_down(struct peer *p)
{
	(void)m0_rpc_session_destroy(&p->pe_session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&p->pe_conn, M0_TIME_NEVER);
	m0_rpc_machine_fini(&p->pe_machine);
}

static int asked(struct peer *p, uint32_t stream)
{
	struct m0_rpc_raw raw = {};
	int               rc;

	m0_rpc_raw_init(&raw, &ask, "ask", 4, NULL);
	raw.rr_item.ri_session = &p->pe_session;
	raw.rr_item.ri_stream = stream;
	rc = m0_rpc_post_sync(&raw.rr_item);
	m0_rpc_item_fini(&raw.rr_item);
	return rc;
}

static struct m0_rpc_stats stats(void)
{
	struct m0_rpc_stats ret;

	m0_rpc_machine_get_stats(&server, &ret, false);
	return ret;
}

/* A stream costs nothing before its first request; a client that is idle, with a
 * few streams in use, costs less than its goal. */
static void idle_client_is_small(void **state)
{
	m0_bcount_t before;
	uint32_t    stream;

	(void)state;
	server_up(16 << 20, 512 << 20);
	assert_int_equal(peer_up(&peer[0], false), 0);
	before = stats().rs_clients_bytes;
	assert_in_range(before, 1, 8192);
	assert_int_equal(asked(&peer[0], 0), 0);
	assert_int_equal(stats().rs_clients_bytes, before);
	for (stream = 1; stream <= 4; ++stream)
		assert_int_equal(asked(&peer[0], stream), 0);
	assert_in_range(stats().rs_clients_bytes, before + 1, IDLE_GOAL);
	peer_down(&peer[0]);
	assert_int_equal(stats().rs_clients_bytes, 0);
}

/* A server counts an answer until the transport has sent it, for which its client does
 * not wait: the next question may be refused for that alone. */
static void answers_leave(void)
{
	unsigned i;

	for (i = 0; i < 10000 && stats().rs_replies_bytes != 0; ++i)
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	assert_int_equal(stats().rs_replies_bytes, 0);
}

/* Asks when all answers have left. */
static int asked_alone(struct peer *p, uint32_t stream)
{
	answers_leave();
	return asked(p, stream);
}

/* Streams beyond the budget of a client are refused, the others go on; and there
 * is room again when a session has ended. */
static void stream_beyond_budget_is_refused(void **state)
{
	uint32_t good = 0;
	uint32_t stream;
	int      rc;

	(void)state;
	server_up(64 << 10, 1 << 20);
	assert_int_equal(peer_up(&peer[0], false), 0);
	for (stream = 1; stream <= STREAMS; ++stream) {
		rc = asked_alone(&peer[0], stream);
		assert_true(rc == 0 || rc == -EDQUOT);
		good += rc == 0;
	}
	assert_in_range(good, 4, STREAMS - 1);
	assert_int_equal(asked_alone(&peer[0], 1), 0);
	assert_int_equal(asked_alone(&peer[0], STREAMS), -EDQUOT);
	answers_leave();
	assert_in_range(stats().rs_clients_bytes, 1, 64 << 10);
	peer_down(&peer[0]);
	assert_int_equal(peer_up(&peer[0], false), 0);
	assert_int_equal(asked(&peer[0], STREAMS), 0);
	peer_down(&peer[0]);
}

/* So are clients and sessions beyond the budget of all. */
static void client_beyond_budget_of_all_is_refused(void **state)
{
	uint32_t good = 0;
	uint32_t i;
	uint32_t stream;
	int      rc[CLIENTS_NR];

	(void)state;
	server_up(64 << 10, 64 << 10);
	for (i = 0; i < CLIENTS_NR; ++i) {
		answers_leave();
		rc[i] = peer_up(&peer[i], false);
		assert_true(rc[i] == 0 || rc[i] == -EDQUOT);
		good += rc[i] == 0;
		for (stream = 1; rc[i] == 0 && stream <= STREAMS; ++stream)
			(void)asked_alone(&peer[i], stream);
	}
	assert_in_range(stats().rs_clients_bytes, 1, 64 << 10);
	assert_in_range(good, 1, CLIENTS_NR - 1);
	for (i = 0; i < CLIENTS_NR; ++i)
		if (rc[i] == 0)
			peer_down(&peer[i]);
	assert_int_equal(stats().rs_clients_bytes, 0);
}

static int ended_nr;

static void replied(struct m0_rpc_item *item)
{
	assert_int_equal(m0_rpc_item_error(item), 0);
	++ended_nr;
}

static const struct m0_rpc_item_ops item_ops = { .rio_replied = replied };

/* A client asks for more than it reads: so many bytes wait for it, others are
 * served, and it has all of it when it reads again. */
static void answers_unread_are_bounded(void **state)
{
	static struct m0_rpc_raw raw[ASKS_NR];
	const m0_bcount_t        max = 64 << 10;
	m0_bcount_t              most = 0;
	struct m0_rpc_stats      st;
	int                      i;

	(void)state;
	server_up(max, 1 << 20);
	assert_int_equal(peer_up(&peer[0], true), 0);
	assert_int_equal(peer_up(&peer[1], false), 0);
	ended_nr = 0;
	for (i = 0; i < ASKS_NR; ++i) {
		m0_rpc_raw_init(&raw[i], &ask, "ask", 4, NULL);
		raw[i].rr_item.ri_session = &peer[0].pe_session;
		raw[i].rr_item.ri_ops = &item_ops;
		assert_int_equal(m0_rpc_post(&raw[i].rr_item), 0);
	}
	m0_rpc_machine_progress(&peer[0].pe_machine);
	for (i = 0; i < 20; ++i) {
		assert_int_equal(asked(&peer[1], 0), 0);
		st = stats();
		most = max64u(most, st.rs_waiting_bytes);
	}
	assert_in_range(most, 0, max + MSG_BYTES);
	assert_true(st.rs_nr_dropped_items > 0);
	while (ended_nr < ASKS_NR)
		m0_rpc_machine_progress(&peer[0].pe_machine);
	for (i = 0; i < ASKS_NR; ++i)
		m0_rpc_item_put(&raw[i].rr_item);
	peer_down(&peer[0]);
	peer_down(&peer[1]);
}

/* Requests that wait behind one that is not answered cost their client bytes:
 * those beyond its budget are dropped, and come again; each is executed once. */
static void requests_held_are_bounded(void **state)
{
	static struct m0_rpc_raw raw[ASKS_NR];
	static const uint8_t     bytes[LARGE];
	const m0_bcount_t        max = 64 << 10;
	uint32_t                 i;

	(void)state;
	server_up(max, 1 << 20);
	assert_int_equal(peer_up(&peer[0], false), 0);
	assert_int_equal(peer_up(&peer[1], false), 0);
	ended_nr = 0;
	delivered_nr = 0;
	parked_nr = 0;
	__atomic_store_n(&parks, 1, __ATOMIC_RELEASE);
	for (i = 0; i < HELD_NR; ++i) {
		m0_rpc_raw_init(&raw[i], &ask, bytes, LARGE, NULL);
		raw[i].rr_item.ri_session = &peer[0].pe_session;
		raw[i].rr_item.ri_stream = 1 + i % 2;
		raw[i].rr_item.ri_ops = &item_ops;
		assert_int_equal(m0_rpc_post(&raw[i].rr_item), 0);
	}
	while (__atomic_load_n(&parked_nr, __ATOMIC_ACQUIRE) < 2 ||
	       stats().rs_nr_rcvd_items < HELD_NR)
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	/* 38 that wait take 150 KB. */
	assert_in_range(stats().rs_nr_dropped_items, HELD_NR / 3, UINT32_MAX);
	assert_int_equal(asked(&peer[1], 0), 0);
	__atomic_store_n(&parks, 0, __ATOMIC_RELEASE);
	for (i = 0; i < 2; ++i)
		m0_rpc_reply_rc(parked[i], 0);
	for (i = 0; i < HELD_NR; ++i) {
		assert_int_equal(m0_rpc_item_wait_for_reply(&raw[i].rr_item,
							    M0_TIME_NEVER),
				 0);
		m0_rpc_item_put(&raw[i].rr_item);
	}
	assert_int_equal(delivered_nr, HELD_NR + 1);
	peer_down(&peer[0]);
	peer_down(&peer[1]);
}

/* Clients that acknowledge nothing fill what all may keep of answers: one that has
 * little there is served all the same. */
static void answers_kept_hinder_no_other(void **state)
{
	uint32_t stream = 0;

	(void)state;
	replies_max = 64 << 10;
	server_up(1 << 20, 4 << 20);
	replies_max = 0;
	assert_int_equal(peer_up(&peer[0], true), 0);
	assert_int_equal(peer_up(&peer[1], false), 0);
	while (stats().rs_replies_bytes < 64 << 10)
		assert_int_equal(asked(&peer[0], ++stream), 0);
	assert_true(stream < STREAMS);
	assert_int_equal(asked(&peer[1], 1), 0);
	assert_int_equal(asked(&peer[1], 2), 0);
	peer_down(&peer[0]);
	peer_down(&peer[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(idle_client_is_small, up, down),
		cmocka_unit_test_setup_teardown(stream_beyond_budget_is_refused,
						up, down),
		cmocka_unit_test_setup_teardown(requests_held_are_bounded, up,
						down),
		cmocka_unit_test_setup_teardown(answers_kept_hinder_no_other,
						up, down),
		cmocka_unit_test_setup_teardown(
			client_beyond_budget_of_all_is_refused, up, down),
		cmocka_unit_test_setup_teardown(answers_unread_are_bounded, up,
						down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

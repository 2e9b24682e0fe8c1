/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A client that takes smaller packets than its server makes: what it is answered
 * is cut to its measure.
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
	TELL = 101,
	ASKS_NR = 40,
	SMALL = 1024,
	LARGE = 4000
};

static struct m0_net_domain  dom[2];
static struct m0_rpc_machine server;
static struct m0_rpc_machine client;
static struct m0_rpc_conn    conn;
static struct m0_rpc_session session;
static struct m0_rpc_item   *held[ASKS_NR];
static int                   held_nr;
static int                   wanted_nr;
static m0_bcount_t           tell_nr;
static int                   found_nr;

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

static struct m0_rpc_raw *tell_new(void)
{
	static const uint8_t bytes[LARGE];
	struct m0_rpc_raw   *reply = m0_rpc_raw_new(&tell, bytes, tell_nr);

	assert_non_null(reply);
	return reply;
}

/* Counts what it has changed. */
static void ask_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct m0_rpc_slice key = { "key", 3 };
	struct m0_rpc_slice value;

	found_nr += m0_rpc_tx_get(tx, key, &value) == 0;
	assert_int_equal(m0_rpc_tx_put(tx, key, key), 0);
	m0_rpc_reply_post(item, &tell_new()->rr_item);
}

/* All are answered at once, when the last has come. */
static void ask_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	(void)machine;
	if (item->ri_stream != 0) {
		m0_rpc_update_post(item, ask_update);
		return;
	}
	m0_rpc_item_get(item);
	held[held_nr++] = item;
	if (held_nr < wanted_nr)
		return;
	while (held_nr-- > 0) {
		m0_rpc_reply_post(held[held_nr], &tell_new()->rr_item);
		m0_rpc_item_put(held[held_nr]);
	}
}

static int up(void **state)
{
	(void)state;
	held_nr = 0;
	ask_ops = m0_rpc_raw_ops;
	ask_ops.rito_deliver = ask_deliver;
	assert_int_equal(m0_rpc_item_type_register(&ask), 0);
	assert_int_equal(m0_rpc_item_type_register(&tell), 0);
	assert_int_equal(m0_net_domain_init(&dom[0], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_net_domain_init(&dom[1], &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], NULL, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	assert_int_equal(m0_rpc_machine_init(&client, &dom[1], NULL, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, SMALL, 0),
			 0);
	assert_int_equal(m0_rpc_conn_create(&conn, M0_UINT128(0, 0),
					    m0_rpc_machine_addr(&server),
					    &client, 8, M0_TIME_NEVER),
			 0);
	assert_int_equal(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
			 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	m0_rpc_machine_fini(&client);
	m0_rpc_machine_fini(&server);
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_item_type_deregister(&tell);
	m0_rpc_item_type_deregister(&ask);
	return 0;
}

static void ask_post(struct m0_rpc_raw *raw, uint32_t stream)
{
	m0_rpc_raw_init(raw, &ask, "ask", 3, NULL);
	raw->rr_item.ri_session = &session;
	raw->rr_item.ri_stream = stream;
	raw->rr_item.ri_expires = m0_time_from_now(5, 0);
	assert_int_equal(m0_rpc_post(&raw->rr_item), 0);
}

static int ask_end(struct m0_rpc_raw *raw)
{
	int rc = m0_rpc_item_wait_for_reply(&raw->rr_item, M0_TIME_NEVER);

	rc = rc ?: m0_rpc_item_error(&raw->rr_item);
	m0_rpc_item_put(&raw->rr_item);
	return rc;
}

/* No packet is larger than what it takes, however many answers there are. */
static void answers_many_arrive(void **state)
{
	struct m0_rpc_raw   raw[ASKS_NR];
	struct m0_rpc_stats stats;
	int                 i;

	(void)state;
	wanted_nr = ASKS_NR;
	tell_nr = 64;
	for (i = 0; i < ASKS_NR; ++i)
		ask_post(&raw[i], 0);
	for (i = 0; i < ASKS_NR; ++i)
		assert_int_equal(ask_end(&raw[i]), 0);
	m0_rpc_machine_get_stats(&server, &stats, false);
	assert_int_equal(stats.rs_nr_failed_packets, 0);
	m0_rpc_machine_get_stats(&client, &stats, false);
	assert_int_equal(stats.rs_nr_resent_items, 0);
}

/* One that can never arrive is told by name, at once. */
static void answer_too_large_is_told(void **state)
{
	struct m0_rpc_raw raw;

	(void)state;
	wanted_nr = 1;
	tell_nr = LARGE;
	ask_post(&raw, 0);
	assert_int_equal(ask_end(&raw), -EMSGSIZE);
}

/* Nothing remains of an update. */
static void answer_of_an_update_too_large_undoes_it(void **state)
{
	static const m0_bcount_t bytes[] = { LARGE, 64, 64 };
	static const int         ends[] = { -EMSGSIZE, 0, 0 };
	static const int         found[] = { 0, 0, 1 };
	struct m0_rpc_raw        raw;
	unsigned                 i;

	(void)state;
	found_nr = 0;
	for (i = 0; i < ARRAY_SIZE(bytes); ++i) {
		tell_nr = bytes[i];
		ask_post(&raw, 1);
		assert_int_equal(ask_end(&raw), ends[i]);
		assert_int_equal(found_nr, found[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_many_arrive, up, down),
		cmocka_unit_test_setup_teardown(answer_too_large_is_told, up,
						down),
		cmocka_unit_test_setup_teardown(
			answer_of_an_update_too_large_undoes_it, up, down),
	};

	if (m0_net_init() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

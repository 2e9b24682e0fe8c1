/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A server that restarts with its store gives the clients of the one before it time
 * to come back: it deletes none of their records earlier. In simulated time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc.h"
#include "m0/sim.h"

enum {
	ADD = 100,
	TELL,
	SEEDS = 3,
	CLIENTS = 20
};

static struct m0_sim           sim;
static struct m0_net_domain    dom[2];
static struct m0_rpc_store     real;
static struct m0_rpc_store     store;
static struct m0_rpc_store_ops ops;
static struct m0_rpc_machine   server;
static struct m0_rpc_machine   client;
static struct m0_rpc_conn      conn;
static struct m0_rpc_session   session;
/* The store refuses what would need space. */
static bool is_full;

static struct m0_rpc_item_type_ops add_ops;
static struct m0_rpc_item_type     add = {
	    .rit_opcode = ADD,
	    .rit_ops = &add_ops,
	    .rit_name = "add",
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO,
};
static struct m0_rpc_item_type tell = {
	.rit_opcode = TELL,
	.rit_ops = &m0_rpc_raw_ops,
	.rit_name = "tell",
	.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
};

static void add_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct m0_rpc_slice key = { "key", 3 };
	struct m0_rpc_raw  *reply = m0_rpc_raw_new(&tell, "told", 4);

	assert_non_null(reply);
	assert_int_equal(m0_rpc_tx_put(tx, key, key), 0);
	m0_rpc_reply_post(item, &reply->rr_item);
}

static void add_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	(void)machine;
	m0_rpc_update_post(item, add_update);
}

static int put_or_refuse(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
			 struct m0_rpc_slice value)
{
	return is_full ? -ENOSPC : real.rst_ops->rso_put(tx, key, value);
}

static void up(uint64_t seed)
{
	unsigned i;

	m0_sim_init(&sim, seed);
	is_full = false;
	add_ops = m0_rpc_raw_ops;
	add_ops.rito_deliver = add_deliver;
	assert_int_equal(m0_rpc_item_type_register(&add), 0);
	assert_int_equal(m0_rpc_item_type_register(&tell), 0);
	assert_int_equal(m0_rpc_store_volatile_init(&real, 1 << 20), 0);
	ops = *real.rst_ops;
	ops.rso_put = put_or_refuse;
	store = real;
	store.rst_ops = &ops;
	for (i = 0; i < 2; ++i)
		assert_int_equal(
			m0_net_domain_init(&dom[i], &m0_net_bulk_mem_xprt), 0);
}

static void down(void)
{
	unsigned i;

	m0_rpc_machine_fini(&server);
	for (i = 0; i < 2; ++i)
		(void)m0_net_domain_fini(&dom[i]);
	m0_rpc_store_volatile_fini(&real);
	m0_rpc_item_type_deregister(&tell);
	m0_rpc_item_type_deregister(&add);
	m0_sim_fini(&sim);
}

static void server_up(uint64_t idle_s, uint64_t keep_s)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = M0_UINT128(1, 1);
	cfg.rc_store = &store;
	cfg.rc_client_idle_ns = idle_s * M0_TIME_ONE_SECOND;
	cfg.rc_client_keep_ns = keep_s * M0_TIME_ONE_SECOND;
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
}

static int connected(unsigned nr)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = M0_UINT128(2, nr);
	conn = (struct m0_rpc_conn){};
	assert_int_equal(m0_rpc_machine_init(&client, &dom[1], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	return m0_rpc_conn_create(&conn, M0_UINT128(0, 0),
				  m0_rpc_machine_addr(&server), &client, 0,
				  M0_TIME_NEVER);
}

/* A client asks for something in a stream, and disappears without a word. */
static void client_departs(unsigned nr)
{
	struct m0_rpc_raw raw = {};

	assert_int_equal(connected(nr), 0);
	session = (struct m0_rpc_session){};
	assert_int_equal(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
			 0);
	m0_rpc_raw_init(&raw, &add, "add", 4, NULL);
	raw.rr_item.ri_session = &session;
	raw.rr_item.ri_stream = 1;
	assert_int_equal(m0_rpc_post_sync(&raw.rr_item), 0);
	m0_rpc_item_fini(&raw.rr_item);
	m0_rpc_machine_stop(&client, true);
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	m0_rpc_machine_fini(&client);
}

/* A new client is refused, for the store is full. */
static void client_is_refused(unsigned nr)
{
	assert_int_equal(connected(nr), -ENOSPC);
	m0_rpc_machine_fini(&client);
}

/* The library's records: 'c' clients, 'r' replies. */
static unsigned keys_nr(char kind)
{
	struct m0_rpc_slice key = { "", 0 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	unsigned            nr = 0;

	assert_int_equal(store.rst_ops->rso_begin(&store, &tx), 0);
	while (store.rst_ops->rso_next(&tx, key, &key, &value) == 0) {
		const char *at = key.sl_data;

		nr += at[0] == 0 && at[1] == kind;
	}
	store.rst_ops->rso_abort(&tx);
	return nr;
}

/* A server has clients that depart; it ends, and `idle_s` and `keep_s` are over
 * long before the next one starts. */
static void restarted(uint64_t idle_s, uint64_t keep_s)
{
	unsigned i;

	server_up(idle_s, 86400);
	for (i = 0; i < CLIENTS; ++i)
		client_departs(i);
	m0_rpc_machine_fini(&server);
	m0_sim_run_ms(&sim, 10000 * min64u(3600, idle_s + keep_s));
	server_up(idle_s, keep_s);
	assert_int_equal(keys_nr('c'), CLIENTS);
	assert_int_equal(keys_nr('r'), CLIENTS);
}

/* All records stay for `stay_s` from now, and are gone `pause_s` after that. */
static void records_stay_and_go(uint64_t stay_s, uint64_t pause_s)
{
	m0_sim_run_ms(&sim, 1000 * stay_s - 1000);
	assert_int_equal(keys_nr('c'), CLIENTS);
	assert_int_equal(keys_nr('r'), CLIENTS);
	m0_sim_run_ms(&sim, 1000 * pause_s + 2000);
	assert_int_equal(keys_nr('c'), 0);
	assert_int_equal(keys_nr('r'), 0);
}

/* Records older than rc_client_keep_ns stay until the server has been up for
 * rc_client_idle_ns. */
static void none_goes_before_the_server_is_up(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= SEEDS; ++seed) {
		up(seed);
		restarted(50, 80);
		records_stay_and_go(50, 80 / 8);
		down();
	}
}

/* And never longer than rc_client_keep_ns, which may be shorter. */
static void keep_bounds_the_time_to_come_back(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= SEEDS; ++seed) {
		up(seed);
		restarted(600, 80);
		records_stay_and_go(80, 80 / 8);
		down();
	}
}

/* A full store does not shorten that time; when it is over, the store makes room
 * although nothing more is refused. */
static void full_store_waits_until_the_server_is_up(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= SEEDS; ++seed) {
		up(seed);
		restarted(100, 86400);
		is_full = true;
		client_is_refused(1000);
		records_stay_and_go(100, 100 / 8 + 1);
		down();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_goes_before_the_server_is_up),
		cmocka_unit_test(keep_bounds_the_time_to_come_back),
		cmocka_unit_test(full_store_waits_until_the_server_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

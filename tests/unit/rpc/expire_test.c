/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Records of clients that departed without a word: they are deleted by time, and
 * by need.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc.h"
#include "m0/rpc_store_lmdb.h"

enum {
	ADD = 100,
	TELL,
	LARGE = 1000,
	STREAMS = 8,
	WINDOW = 16,
	CLIENTS_MAX = 30
};

static struct m0_net_domain  dom[2];
static struct m0_rpc_store   store;
static struct m0_rpc_machine server;
static struct m0_rpc_machine client;
static struct m0_rpc_conn    conn;
static struct m0_rpc_session session;
static char                  dir[] = "/tmp/colibri-expire-XXXXXX";
static bool                  is_lmdb;

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
	static const uint8_t bytes[LARGE];
	struct m0_rpc_slice  key = { "key", 3 };
	struct m0_rpc_raw   *reply = m0_rpc_raw_new(&tell, bytes, LARGE);
	int                  rc = m0_rpc_tx_put(tx, key, key);

	assert_non_null(reply);
	if (rc == 0) {
		m0_rpc_reply_post(item, &reply->rr_item);
	} else {
		m0_rpc_item_put(&reply->rr_item);
		m0_rpc_reply_rc(item, rc);
	}
}

static void add_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	(void)machine;
	m0_rpc_update_post(item, add_update);
}

static void types_up(void)
{
	unsigned i;

	add_ops = m0_rpc_raw_ops;
	add_ops.rito_deliver = add_deliver;
	assert_int_equal(m0_rpc_item_type_register(&add), 0);
	assert_int_equal(m0_rpc_item_type_register(&tell), 0);
	for (i = 0; i < 2; ++i)
		assert_int_equal(
			m0_net_domain_init(&dom[i], &m0_net_bulk_mem_xprt), 0);
}

static int mem_up(void **state)
{
	(void)state;
	is_lmdb = false;
	types_up();
	return m0_rpc_store_volatile_init(&store, 1 << 20);
}

static int lmdb_up(void **state)
{
	struct m0_rpc_store_lmdb_cfg cfg;

	(void)state;
	is_lmdb = true;
	types_up();
	strcpy(dir + sizeof dir - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = 1 << 20;
	cfg.rlc_sync = M0_RPC_STORE_SYNC_NEVER;
	return m0_rpc_store_lmdb_open(&store, dir, &cfg);
}

static int down(void **state)
{
	char     text[128];
	unsigned i;

	(void)state;
	m0_rpc_machine_fini(&server);
	if (is_lmdb) {
		m0_rpc_store_lmdb_close(&store);
		snprintf(text, sizeof text, "rm -rf %s", dir);
		assert_int_equal(system(text), 0);
	} else {
		m0_rpc_store_volatile_fini(&store);
	}
	for (i = 0; i < 2; ++i)
		(void)m0_net_domain_fini(&dom[i]);
	m0_rpc_item_type_deregister(&tell);
	m0_rpc_item_type_deregister(&add);
	return 0;
}

static void server_up(m0_time_t idle_ns, m0_time_t keep_ns)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = M0_UINT128(1, 1);
	cfg.rc_store = &store;
	cfg.rc_client_idle_ns = idle_ns;
	cfg.rc_client_keep_ns = keep_ns;
	assert_int_equal(m0_rpc_machine_init(&server, &dom[0], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
}

/* With an error nothing is left. */
static int client_up(unsigned nr)
{
	struct m0_rpc_cfg cfg;
	int               rc;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = M0_UINT128(2, nr);
	conn = (struct m0_rpc_conn){};
	session = (struct m0_rpc_session){};
	assert_int_equal(m0_rpc_machine_init(&client, &dom[1], &cfg, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	rc = m0_rpc_conn_create(&conn, M0_UINT128(0, 0),
				m0_rpc_machine_addr(&server), &client, 0,
				M0_TIME_NEVER);
	if (rc == 0) {
		assert_int_equal(m0_rpc_session_init(&session, &conn), 0);
		session.s_streams_nr = STREAMS;
		session.s_window = WINDOW;
		rc = m0_rpc_session_establish_sync(&session, M0_TIME_NEVER);
		if (rc != 0) {
			m0_rpc_session_fini(&session);
			(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
		}
	}
	if (rc != 0)
		m0_rpc_machine_fini(&client);
	return rc;
}

/* Without a word. */
static void client_killed(void)
{
	m0_rpc_machine_stop(&client, true);
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	m0_rpc_machine_fini(&client);
}

static int added(uint32_t stream)
{
	struct m0_rpc_raw raw = {};
	int               rc;

	m0_rpc_raw_init(&raw, &add, "add", 4, NULL);
	raw.rr_item.ri_session = &session;
	raw.rr_item.ri_stream = stream;
	rc = m0_rpc_post_sync(&raw.rr_item);
	m0_rpc_item_fini(&raw.rr_item);
	return rc;
}

/* Keys of the library: clients, sessions, answers. */
static unsigned keys_nr(char kind)
{
	struct m0_rpc_slice key = { "", 0 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	unsigned            nr = 0;

	assert_int_equal(store.rst_ops->rso_begin(&store, &tx), 0);
	while (store.rst_ops->rso_next(&tx, key, &key, &value) == 0) {
		const char *at = key.sl_data;

		nr += at[0] == 0 && (kind == 0 || at[1] == kind);
	}
	store.rst_ops->rso_abort(&tx);
	return nr;
}

static void until_keys(char kind, unsigned nr)
{
	while (keys_nr(kind) != nr)
		(void)m0_nanosleep(5 * M0_TIME_ONE_MSEC, NULL);
}

/* One that is there stays, however long it says nothing; one that was killed goes
 * with all that was kept of it. */
static void departed_client_expires(void **state)
{
	unsigned i;

	(void)state;
	server_up(50 * M0_TIME_ONE_MSEC, 400 * M0_TIME_ONE_MSEC);
	assert_int_equal(client_up(1), 0);
	for (i = 0; i < 20; ++i)
		assert_int_equal(added(1 + i % 3), 0);
	assert_true(keys_nr('r') >= 3);
	assert_int_equal(keys_nr('c'), 1);
	client_killed();
	until_keys(0, 0);
}

/* A client that lives is renewed, and its answers stay. */
static void client_that_lives_stays(void **state)
{
	m0_time_t end;

	(void)state;
	server_up(60 * M0_TIME_ONE_SECOND, 80 * M0_TIME_ONE_MSEC);
	assert_int_equal(client_up(1), 0);
	assert_int_equal(added(1), 0);
	end = m0_time_from_now(0, 400 * M0_TIME_ONE_MSEC);
	while (m0_time_now() < end) {
		assert_int_equal(keys_nr('c'), 1);
		assert_int_equal(keys_nr('s'), 1);
		(void)m0_nanosleep(5 * M0_TIME_ONE_MSEC, NULL);
	}
	assert_int_equal(added(1), 0);
	client_killed();
}

/* Clients come, ask, and are killed: a full store makes room of what they left,
 * long before its time. */
static void full_store_makes_room(void **state)
{
	unsigned full = 0;
	unsigned nr;
	unsigned i;
	int      rc = 0;

	(void)state;
	server_up(100 * M0_TIME_ONE_MSEC, 86400 * M0_TIME_ONE_SECOND);
	for (nr = 1; nr <= CLIENTS_MAX; ++nr) {
		while ((rc = client_up(nr)) == -ENOSPC) {
			++full;
			(void)m0_nanosleep(20 * M0_TIME_ONE_MSEC, NULL);
		}
		assert_int_equal(rc, 0);
		for (i = 0; i < STREAMS * WINDOW; ++i) {
			while ((rc = added(1 + i % STREAMS)) == -ENOSPC) {
				++full;
				(void)m0_nanosleep(20 * M0_TIME_ONE_MSEC, NULL);
			}
			assert_int_equal(rc, 0);
		}
		client_killed();
	}
	/* 30 clients with 128 answers of 1 KB are more than a store of 1 MiB. */
	assert_true(full > 0);
	/* The last of them still has its room, for a while. */
	while ((rc = client_up(1000)) == -ENOSPC)
		(void)m0_nanosleep(20 * M0_TIME_ONE_MSEC, NULL);
	assert_int_equal(rc, 0);
	while ((rc = added(1)) == -ENOSPC)
		(void)m0_nanosleep(20 * M0_TIME_ONE_MSEC, NULL);
	assert_int_equal(rc, 0);
	client_killed();
}

/* Reads from the record of the only client when it was known to live. */
static uint64_t lived_ns(void)
{
	struct m0_rpc_slice key = { "\0c", 2 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	const uint8_t      *bytes;
	uint64_t            ns = 0;
	int                 i;

	assert_int_equal(store.rst_ops->rso_begin(&store, &tx), 0);
	assert_int_equal(store.rst_ops->rso_next(&tx, key, &key, &value), 0);
	assert_true(value.sl_nr >= 24);
	bytes = value.sl_data;
	for (i = 23; i >= 16; --i)
		ns = ns << 8 | bytes[i];
	store.rst_ops->rso_abort(&tx);
	return ns;
}

/* A client that comes back when a sweep may be about to delete its record changes
 * the record, so that the sweep leaves it. */
static void client_that_comes_back_is_noted(void **state)
{
	struct m0_rpc_stats st;
	uint64_t            before;

	(void)state;
	server_up(50 * M0_TIME_ONE_MSEC, 86400 * M0_TIME_ONE_SECOND);
	assert_int_equal(client_up(1), 0);
	assert_int_equal(added(1), 0);
	before = lived_ns();
	do {
		(void)m0_nanosleep(5 * M0_TIME_ONE_MSEC, NULL);
		m0_rpc_machine_get_stats(&server, &st, false);
	} while (st.rs_clients_bytes > 0);
	assert_int_equal(added(1), 0);
	assert_true(lived_ns() > before);
	client_killed();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(departed_client_expires, mem_up,
						down),
		cmocka_unit_test_setup_teardown(client_that_lives_stays, mem_up,
						down),
		cmocka_unit_test_setup_teardown(client_that_comes_back_is_noted,
						mem_up, down),
		cmocka_unit_test_setup_teardown(full_store_makes_room, mem_up,
						down),
		cmocka_unit_test_setup_teardown(full_store_makes_room, lmdb_up,
						down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

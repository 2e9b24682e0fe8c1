/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copies of requests, late ones and later attempts at the same call meet the offer of a
 * large result. The requests are raw, so that they come in the order of the test.
 *   easy_offer_test SERVICE_PLACE CLIENT_PLACE
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "m0/easy.h"
#include "m0/rpc_bulk.h"

enum {
	OP_GET,
	QUERY_TYPE = 0x65617302,
	HEAD = 32,
	BYTES = 1 << 20,
	DESCS_MAX = 16
};

static const char           *places[2];
static struct m0_easy       *service;
static struct m0_easy       *client;
static struct m0_rpc_conn    conn;
static struct m0_rpc_session session;
static int                   asked_nr;
static int                   ended_nr;

static void result_free(const void *data)
{
	free((void *)(uintptr_t)data);
	(void)__atomic_add_fetch(&ended_nr, 1, __ATOMIC_RELAXED);
}

static int get(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	(void)rq;
	rp->ep_data.sl_data = malloc(BYTES);
	rp->ep_data.sl_nr = BYTES;
	rp->ep_free = result_free;
	memset((void *)(uintptr_t)rp->ep_data.sl_data,
	       __atomic_add_fetch(&asked_nr, 1, __ATOMIC_RELAXED), BYTES);
	return 0;
}

static const struct m0_easy_op ops[] = { { OP_GET, M0_EASY_QUERY, "get",
					   get } };

static void up(uint64_t memory_max)
{
	struct m0_easy_cfg cfg = { .en_ops = ops,
				   .en_ops_nr = ARRAY_SIZE(ops),
				   .en_memory_max = memory_max };
	struct m0_uint128  none = { 0 };

	asked_nr = 0;
	ended_nr = 0;
	assert_int_equal(m0_easy_open(&service, places[0], &cfg, NULL), 0);
	assert_int_equal(m0_easy_open(&client, places[1], NULL, NULL), 0);
	assert_int_equal(m0_rpc_conn_create(&conn, none, m0_easy_addr(service),
					    m0_easy_machine(client), 0,
					    M0_TIME_NEVER),
			 0);
	assert_int_equal(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
			 0);
}

static void down(void)
{
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	m0_easy_close(client);
	m0_easy_close(service);
}

/* @param ret  NULL, or the request with its reply, which the caller puts. */
static int ask(uint64_t call, uint64_t attempt, struct m0_rpc_raw **ret)
{
	uint64_t           body[HEAD / 8] = { OP_GET, 0, htole64(call),
					      htole64(attempt) };
	struct m0_rpc_raw *raw = m0_rpc_raw_new(
		m0_rpc_item_type_lookup(QUERY_TYPE), body, sizeof body);
	int rc;

	raw->rr_item.ri_session = &session;
	rc = m0_rpc_post_sync(&raw->rr_item);
	if (ret != NULL && rc == 0)
		*ret = raw;
	else
		m0_rpc_item_put(&raw->rr_item);
	return rc;
}

/* Fetches what the reply offers, of which each byte is `nr`, and puts the request. */
static void fetch(struct m0_rpc_raw *raw, int nr)
{
	struct m0_rpc_item         *reply = raw->rr_item.ri_reply;
	const uint8_t              *at = m0_rpc_raw_of(reply)->rr_data;
	const uint8_t              *end = at + m0_rpc_raw_of(reply)->rr_nr;
	struct m0_net_buf_desc_data desc[DESCS_MAX];
	struct m0_rpc_bulk          bulk;
	m0_bcount_t                 bytes_nr = BYTES;
	void                       *bytes = calloc(1, BYTES);
	struct m0_bufvec memory = M0_BUFVEC_INIT_BUF(&bytes, &bytes_nr);
	uint32_t         descs_nr;
	int64_t          used;

	at += HEAD;
	for (descs_nr = 0; at < end; ++descs_nr) {
		assert_in_range(descs_nr, 0, DESCS_MAX - 1);
		used = m0_rpc_bulk_desc_get(at, (m0_bcount_t)(end - at),
					    &desc[descs_nr]);
		assert_true(used > 0);
		at += used;
	}
	m0_rpc_bulk_init(&bulk);
	assert_int_equal(m0_rpc_bulk_add_as(&bulk, &memory,
					    m0_easy_machine(client)->rm_dom,
					    desc, descs_nr),
			 0);
	m0_rpc_bulk_qtype(&bulk, M0_NET_QT_ACTIVE_BULK_RECV);
	bulk.rb_timeout_ns = 5 * M0_TIME_ONE_SECOND;
	assert_int_equal(m0_rpc_bulk_load_reply(&bulk, reply, desc), 0);
	assert_int_equal(m0_rpc_bulk_wait(&bulk), 0);
	m0_rpc_bulk_fini(&bulk);
	assert_int_equal(((uint8_t *)bytes)[0], nr);
	assert_int_equal(((uint8_t *)bytes)[BYTES - 1], nr);
	free(bytes);
	m0_rpc_item_put(&raw->rr_item);
}

static void ended_wait(int nr)
{
	int i;

	for (i = 0;
	     i < 500 && __atomic_load_n(&ended_nr, __ATOMIC_RELAXED) < nr; ++i)
		(void)m0_nanosleep(10 * M0_TIME_ONE_MSEC, NULL);
	assert_int_equal(__atomic_load_n(&ended_nr, __ATOMIC_RELAXED), nr);
}

/* A copy of the request comes after its reply, which was lost or was not, and has the
 * same offer. */
static void copy_has_the_same_offer(void **state)
{
	struct m0_rpc_raw *reply[2];
	unsigned           lost;

	(void)state;
	for (lost = 0; lost < 2; ++lost) {
		up(0);
		assert_int_equal(ask(1, 1, &reply[0]), 0);
		assert_int_equal(ask(1, 1, &reply[1]), 0);
		m0_rpc_item_put(&reply[lost]->rr_item);
		fetch(reply[!lost], 1);
		ended_wait(asked_nr);
		down();
	}
}

/* A request of an attempt that was given up comes after that of the next one. */
static void late_request_leaves_the_offer(void **state)
{
	struct m0_rpc_raw *second;
	struct m0_rpc_raw *other;

	(void)state;
	up(0);
	assert_int_equal(ask(2, 1, &other), 0);
	assert_int_equal(ask(1, 1, NULL), 0);
	assert_int_equal(ask(1, 2, &second), 0);
	/* The first attempt's offer ends, and that of the other call does not. */
	ended_wait(1);
	assert_int_equal(ask(1, 1, NULL), -ENOBUFS);
	fetch(second, 3);
	fetch(other, 1);
	ended_wait(asked_nr);
	down();
}

/* The offer of the attempt before has all memory: a later attempt ends it, and has the
 * memory. A copy of the request needs none. */
static void earlier_offer_gives_its_memory(void **state)
{
	struct m0_rpc_raw *reply;
	struct m0_rpc_raw *copy;
	int                i;
	int                rc;

	(void)state;
	up(BYTES + BYTES / 2);
	assert_int_equal(ask(1, 1, NULL), 0);
	for (i = 2, rc = -ENOBUFS; i < 500 && rc == -ENOBUFS; ++i) {
		rc = ask(1, (uint64_t)i, &reply);
		(void)m0_nanosleep(2 * M0_TIME_ONE_MSEC, NULL);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(ask(1, (uint64_t)i - 1, &copy), 0);
	m0_rpc_item_put(&copy->rr_item);
	fetch(reply, asked_nr);
	ended_wait(asked_nr);
	down();
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(copy_has_the_same_offer),
	cmocka_unit_test(late_request_leaves_the_offer),
	cmocka_unit_test(earlier_offer_gives_its_memory),
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: easy_offer_test SERVICE CLIENT\n");
		return 2;
	}
	memcpy(places, argv + 1, sizeof places);
	m0_log_level_set(M0_LOG_ERROR);
	return cmocka_run_group_tests(cases, NULL, NULL);
}

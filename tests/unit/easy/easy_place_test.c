/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Addresses of services and clients of m0/easy.h with two networks, on loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "easy/easy_internal.h"
#include "m0/log.h"

#define NODE   "lnet:tcp(127.88.0.5),tcp1(127.88.1.5)/7990"
#define CLIENT "lnet:tcp(127.88.0.6),tcp1(127.88.1.6)/7990:"

static int name(void *ctx, const struct m0_easy_request *rq,
		struct m0_easy_reply *rp)
{
	(void)rq;
	rp->ep_data = (struct m0_rpc_slice){ ctx, strlen(ctx) };
	return 0;
}

static const struct m0_easy_op ops[] = { { 1, M0_EASY_QUERY, "name", name } };

static struct m0_easy *open_at(const char *place, char *service)
{
	struct m0_easy_cfg cfg = { .en_ops = ops,
				   .en_ops_nr = ARRAY_SIZE(ops),
				   .en_ctx = service };
	struct m0_easy    *easy;
	char               why[M0_EASY_WHY_BYTES];
	int rc = m0_easy_open(&easy, place, service == NULL ? NULL : &cfg, why);

	if (rc != 0)
		fail_msg("%s: %d, %s", place, rc, why);
	return easy;
}

/* All calls, which take the links by turns, reach the service of that name. */
static void reaches(struct m0_easy *client, const char *service)
{
	char                text[32];
	struct m0_easy_call call;
	unsigned            i;

	for (i = 0; i < 20; ++i) {
		call = (struct m0_easy_call){ .ec_opcode = 1,
					      .ec_out = text,
					      .ec_out_max = sizeof text };
		assert_int_equal(m0_easy_call(client, &call), 0);
		assert_int_equal(call.ec_out_nr, strlen(service));
		assert_memory_equal(text, service, call.ec_out_nr);
	}
}

/* A NID alone counts on from the address before, and not from the first number: that may be
 * another service's. */
static void numbers_count_on(void **state)
{
	struct m0_easy *one = open_at(NODE, "one");
	struct m0_easy *five = open_at(NODE ":12345:40:5", "five");
	struct m0_easy *client = open_at(
		CLIENT "127.88.0.5@tcp:12345:40:5,127.88.1.5@tcp1", NULL);

	(void)state;
	assert_string_equal(
		m0_easy_addr(five),
		"127.88.0.5@tcp:12345:40:5,127.88.1.5@tcp1:12345:40:6");
	assert_string_equal(client->eas_place.epl_service.ead_addr[1],
			    "127.88.1.5@tcp1:12345:40:6");
	reaches(client, "five");
	m0_easy_close(client);
	client = open_at(CLIENT "127.88.0.5@tcp,127.88.1.5@tcp1", NULL);
	assert_string_equal(client->eas_place.epl_service.ead_addr[1],
			    "127.88.1.5@tcp1:12345:40:2");
	reaches(client, "one");
	m0_easy_close(client);
	m0_easy_close(five);
	m0_easy_close(one);
}

/* Services with adjacent numbers, as were chosen when a service took one of them: the one
 * whose second number is taken is at its first address alone. */
static void services_share_a_node(void **state)
{
	struct m0_easy *two = open_at(NODE ":12345:40:2", "two");
	struct m0_easy *one;
	struct m0_easy *client;

	(void)state;
	m0_log_level_set(M0_LOG_ERROR);
	one = open_at(NODE, "one");
	m0_log_level_set(M0_LOG_WARN);
	assert_string_equal(m0_easy_addr(one), "127.88.0.5@tcp:12345:40:1");
	client = open_at(CLIENT "127.88.0.5@tcp", NULL);
	reaches(client, "one");
	m0_easy_close(client);
	m0_easy_close(one);
	m0_easy_close(two);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_count_on),
		cmocka_unit_test(services_share_a_node),
	};

	return cmocka_run_group_tests_name("easy/place", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Clients of m0/easy.h that go on by themselves: their service is not there yet,
 * dies in the middle of calls, or another program has its address.
 *   easy_again_test SERVICE_PLACE CLIENT_PLACE OTHER_PLACE
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "m0/easy.h"

enum {
	OP_ADD,
	OP_GET,
	CALLS_NR = 20
};

static const char         *places[3];
static char                dir[32];
static struct m0_easy     *service;
static struct m0_easy     *client;
static struct m0_easy_call calls[CALLS_NR];
static uint64_t            sums[CALLS_NR];

static int add(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	static uint64_t     sum;
	struct m0_rpc_slice kept;

	(void)ctx;
	sum = 0;
	if (m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &kept) == 0)
		memcpy(&sum, kept.sl_data, sizeof sum);
	++sum;
	rp->ep_data = (struct m0_rpc_slice){ &sum, sizeof sum };
	return m0_rpc_tx_put(rq->erq_tx, rq->erq_args, rp->ep_data);
}

static int get(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	return m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &rp->ep_data);
}

static const struct m0_easy_op ops[] = {
	{ OP_ADD, M0_EASY_UPDATE, "add", add },
	{ OP_GET, M0_EASY_QUERY, "get", get },
};

static void open_at(struct m0_easy **ret, const char *place, bool is_service)
{
	struct m0_easy_cfg cfg = { .en_ops = is_service ? ops : NULL,
				   .en_ops_nr = ARRAY_SIZE(ops),
				   .en_dir = ret == &service ? dir : NULL };
	char               why[M0_EASY_WHY_BYTES];
	int                rc = m0_easy_open(ret, place, &cfg, why);

	if (rc != 0)
		fail_msg("%s: %d, %s", place, rc, why);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/easy_test.XXXXXX");
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int teardown(void **state)
{
	char rm[64];

	(void)state;
	m0_easy_close(client);
	m0_easy_close(service);
	(void)snprintf(rm, sizeof rm, "rm -r %s", dir);
	return system(rm);
}

static uint64_t add_one(void)
{
	uint64_t            sum = 0;
	struct m0_easy_call call = { .ec_opcode = OP_ADD,
				     .ec_kind = M0_EASY_UPDATE,
				     .ec_args = { "sum", 3 },
				     .ec_out = &sum,
				     .ec_out_max = sizeof sum };

	assert_int_equal(m0_easy_call(client, &call), 0);
	return sum;
}

static void calls_begin(unsigned first, unsigned nr, unsigned ms)
{
	unsigned i;

	for (i = first; i < first + nr; ++i) {
		calls[i] =
			(struct m0_easy_call){ .ec_opcode = OP_ADD,
					       .ec_kind = M0_EASY_UPDATE,
					       .ec_args = { "sum", 3 },
					       .ec_out = &sums[i],
					       .ec_out_max = sizeof(uint64_t) };
		assert_int_equal(m0_easy_begin(client, &calls[i]), 0);
		(void)m0_nanosleep(ms * M0_TIME_ONE_MSEC, NULL);
	}
}

static void calls_end(void)
{
	unsigned i;

	for (i = 0; i < CALLS_NR; ++i)
		assert_int_equal(m0_easy_wait(&calls[i], M0_TIME_NEVER), 0);
}

static void *client_thread(void *arg)
{
	open_at(&client, places[1], false);
	return arg;
}

static void client_waits_for_its_service(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, client_thread, NULL), 0);
	(void)m0_nanosleep(300 * M0_TIME_ONE_MSEC, NULL);
	open_at(&service, places[0], true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(add_one(), 1);
}

/* Each addition is made once, on whichever side of a death. */
static void service_restarts_amid_calls(void **state)
{
	unsigned i;

	(void)state;
	open_at(&service, places[0], true);
	open_at(&client, places[1], false);
	for (i = 0; i < CALLS_NR; i += 5) {
		calls_begin(i, 3, 0);
		m0_easy_close(service);
		calls_begin(i + 3, 2, 20);
		open_at(&service, places[0], true);
	}
	calls_end();
	assert_int_equal(add_one(), CALLS_NR + 1);
}

/*
 * A program that accepts no clients takes the place of the service. With `late`
 * the client is opened meanwhile.
 */
static void stranger_comes_between(bool late)
{
	struct m0_easy_call   call = { .ec_opcode = OP_GET,
				       .ec_args = { "sum", 3 },
				       .ec_timeout_ns = 20 * M0_TIME_ONE_MSEC };
	char                  addr[M0_RPC_ADDR_MAX];
	struct m0_easy       *other;
	struct m0_rpc_machine stranger;
	struct m0_rpc_cfg     cfg;
	pthread_t             thread;

	open_at(&service, places[0], true);
	(void)snprintf(addr, sizeof addr, "%s", m0_easy_addr(service));
	if (!late) {
		open_at(&client, places[1], false);
		assert_int_equal(add_one(), 1);
	}
	/* Another service keeps the node of this place. */
	open_at(&other, places[2], true);
	m0_easy_close(service);
	m0_rpc_cfg_init(&cfg);
	cfg.rc_clients_max = 0;
	assert_int_equal(m0_rpc_machine_init(
				 &stranger, m0_easy_machine(other)->rm_dom,
				 &cfg, addr, NULL, M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	if (late) {
		assert_int_equal(
			pthread_create(&thread, NULL, client_thread, NULL), 0);
		(void)m0_nanosleep(200 * M0_TIME_ONE_MSEC, NULL);
	} else {
		calls_begin(0, CALLS_NR, 50);
		assert_int_equal(m0_easy_call(client, &call), -ETIMEDOUT);
	}
	m0_rpc_machine_fini(&stranger);
	open_at(&service, places[0], true);
	if (late)
		assert_int_equal(pthread_join(thread, NULL), 0);
	else
		calls_end();
	assert_int_equal(add_one(), late ? 1 : CALLS_NR + 2);
	m0_easy_close(other);
}

static void refused_client_goes_on(void **state)
{
	(void)state;
	stranger_comes_between(false);
}

static void refused_open_goes_on(void **state)
{
	(void)state;
	stranger_comes_between(true);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
	CASE(client_waits_for_its_service),
	CASE(service_restarts_amid_calls),
	CASE(refused_client_goes_on),
	CASE(refused_open_goes_on),
};

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr,
			"usage: easy_again_test SERVICE CLIENT OTHER\n");
		return 2;
	}
	memcpy(places, argv + 1, sizeof places);
	m0_log_level_set(M0_LOG_ERROR);
	return cmocka_run_group_tests(cases, NULL, NULL);
}

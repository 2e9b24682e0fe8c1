/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Services and clients of m0/easy.h, at the places that the arguments name.
 *   easy_test SERVICE_PLACE CLIENT_PLACE
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "m0/easy.h"

enum {
	/** Adds a number to that of a key, and returns the sum. */
	OP_ADD,
	/** The value of a key. */
	OP_GET,
	OP_PUT,
	/** Changes a key, and fails. */
	OP_UNDO,
	/** Returns its data, on a thread of its own memory. */
	OP_ECHO,
	/** Blocks until the test lets it go. */
	OP_HOLD,
	/** Returns what is no error. */
	OP_ODD,
	OP_NR,
	/** Opcodes of the types of items, which peers may send anywhere. */
	OP_UPDATE_TYPE = 0x65617301,
	OP_QUERY_TYPE = 0x65617302,
	MIB = 1 << 20
};

static const char         *places[2];
static struct m0_easy     *service;
static struct m0_easy     *client;
static struct m0_semaphore held;
static struct m0_semaphore let_go;
static int                 freed_nr;

/* -------------------------------------------------------------- the service -- */

static int add(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	static uint64_t     sum;
	struct m0_rpc_slice kept;
	uint64_t            nr;
	int                 rc;

	assert_ptr_equal(ctx, &service);
	if (rq->erq_data.sl_nr != sizeof nr)
		return -EINVAL;
	memcpy(&nr, rq->erq_data.sl_data, sizeof nr);
	sum = 0;
	rc = m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &kept);
	if (rc == 0)
		memcpy(&sum, kept.sl_data, sizeof sum);
	else if (rc != -ENOENT)
		return rc;
	sum += nr;
	rp->ep_data = (struct m0_rpc_slice){ &sum, sizeof sum };
	return m0_rpc_tx_put(rq->erq_tx, rq->erq_args, rp->ep_data);
}

static int get(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	return m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &rp->ep_data);
}

static int put(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	(void)rp;
	return m0_rpc_tx_put(rq->erq_tx, rq->erq_args, rq->erq_data);
}

static int undo(void *ctx, const struct m0_easy_request *rq,
		struct m0_easy_reply *rp)
{
	return put(ctx, rq, rp) ?: -EDOM;
}

static void echo_free(const void *data)
{
	free((void *)(uintptr_t)data);
	(void)__atomic_add_fetch(&freed_nr, 1, __ATOMIC_RELAXED);
}

/* As many bytes as the arguments say. */
static int echo(void *ctx, const struct m0_easy_request *rq,
		struct m0_easy_reply *rp)
{
	uint64_t nr;

	(void)ctx;
	if (rq->erq_args.sl_nr != sizeof nr)
		return -EINVAL;
	memcpy(&nr, rq->erq_args.sl_data, sizeof nr);
	rp->ep_data.sl_data = malloc(nr);
	rp->ep_data.sl_nr = nr;
	memset((void *)(uintptr_t)rp->ep_data.sl_data, 'e', nr);
	rp->ep_free = echo_free;
	return 0;
}

static int hold(void *ctx, const struct m0_easy_request *rq,
		struct m0_easy_reply *rp)
{
	(void)ctx;
	(void)rq;
	(void)rp;
	m0_semaphore_up(&held);
	m0_semaphore_down(&let_go);
	return 0;
}

static int odd(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	(void)rq;
	(void)rp;
	return 7;
}

static const struct m0_easy_op ops[] = {
	{ OP_ADD, M0_EASY_UPDATE, "add", add },
	{ OP_GET, M0_EASY_QUERY, "get", get },
	{ OP_PUT, M0_EASY_UPDATE, "put", put },
	{ OP_UNDO, M0_EASY_UPDATE, "undo", undo },
	{ OP_ECHO, M0_EASY_QUERY, "echo", echo },
	{ OP_HOLD, M0_EASY_QUERY, "hold", hold },
	{ OP_ODD, M0_EASY_QUERY, "odd", odd },
};

static struct m0_easy_cfg service_cfg(void)
{
	return (struct m0_easy_cfg){ .en_ops = ops,
				     .en_ops_nr = ARRAY_SIZE(ops),
				     .en_ctx = &service };
}

static void service_up(const struct m0_easy_cfg *cfg)
{
	char why[M0_EASY_WHY_BYTES];
	int  rc = m0_easy_open(&service, places[0], cfg, why);

	if (rc != 0)
		fail_msg("service: %d, %s", rc, why);
}

static void client_up(void)
{
	char why[M0_EASY_WHY_BYTES];
	int  rc = m0_easy_open(&client, places[1], NULL, why);

	if (rc != 0)
		fail_msg("client: %d, %s", rc, why);
}

static void up_as(struct m0_easy_cfg cfg)
{
	m0_semaphore_init(&held, 0);
	m0_semaphore_init(&let_go, 0);
	freed_nr = 0;
	service_up(&cfg);
	client_up();
}

static int up(void **state)
{
	(void)state;
	up_as(service_cfg());
	return 0;
}

static int down(void **state)
{
	(void)state;
	m0_easy_close(client);
	m0_easy_close(service);
	m0_semaphore_fini(&held);
	m0_semaphore_fini(&let_go);
	return 0;
}

/* --------------------------------------------------------------- the client -- */

static struct m0_easy_call call_of(uint32_t opcode, const char *key)
{
	struct m0_easy_call call = { .ec_opcode = opcode,
				     .ec_args = { key, strlen(key) } };

	call.ec_kind = M0_IN(opcode, (OP_ADD, OP_PUT, OP_UNDO)) ? M0_EASY_UPDATE
								: M0_EASY_QUERY;
	return call;
}

static int put_all(const char *key, const void *data, size_t nr)
{
	struct m0_easy_call call = call_of(OP_PUT, key);
	int                 rc;

	call.ec_data = (struct m0_rpc_slice){ data, nr };
	rc = m0_easy_call(client, &call);
	m0_free(call.ec_out);
	return rc;
}

static uint64_t add_one(const char *key, uint64_t nr)
{
	struct m0_easy_call call = call_of(OP_ADD, key);
	uint64_t            sum;

	call.ec_data = (struct m0_rpc_slice){ &nr, sizeof nr };
	call.ec_out = &sum;
	call.ec_out_max = sizeof sum;
	assert_int_equal(m0_easy_call(client, &call), 0);
	assert_int_equal(call.ec_out_nr, sizeof sum);
	return sum;
}

static uint8_t *pattern(size_t nr)
{
	uint8_t *data = malloc(nr + 1);
	size_t   i;

	for (i = 0; i < nr; ++i)
		data[i] = (uint8_t)(i + (i >> 11));
	return data;
}

/* Values of all sizes go and come, to memory of either side. */
static void values_come_back(void **state)
{
	static const size_t sizes[] = { 0,      1,       5000,    120000,
					130000, MIB + 3, 17 * MIB };
	size_t              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		struct m0_easy_call call = call_of(OP_GET, "key");
		uint8_t            *data = pattern(sizes[i]);
		uint8_t            *back = malloc(sizes[i] + 1);

		assert_int_equal(put_all("key", data, sizes[i]), 0);
		assert_int_equal(m0_easy_call(client, &call), 0);
		assert_int_equal(call.ec_out_nr, sizes[i]);
		assert_non_null(call.ec_out);
		assert_memory_equal(call.ec_out, data, sizes[i]);
		m0_free(call.ec_out);
		call.ec_out = back;
		call.ec_out_max = sizes[i] + 1;
		assert_int_equal(m0_easy_call(client, &call), 0);
		assert_memory_equal(back, data, sizes[i]);
		if (sizes[i] > 0) {
			call.ec_out_max = sizes[i] - 1;
			assert_int_equal(m0_easy_call(client, &call),
					 -EMSGSIZE);
			assert_int_equal(call.ec_out_nr, sizes[i]);
		}
		free(back);
		free(data);
	}
}

static void errors_say_what_is_wrong(void **state)
{
	struct m0_easy_call call = call_of(OP_GET, "none");

	(void)state;
	assert_int_equal(m0_easy_call(client, &call), -ENOENT);
	assert_null(call.ec_out);
	call = call_of(99, "none");
	assert_int_equal(m0_easy_call(client, &call), -ENOSYS);
	call = call_of(OP_PUT, "none");
	call.ec_kind = M0_EASY_QUERY;
	assert_int_equal(m0_easy_call(client, &call), -EPROTO);
	call = call_of(OP_GET, "none");
	call.ec_kind = M0_EASY_UPDATE;
	assert_int_equal(m0_easy_call(client, &call), -EPROTO);
	call = call_of(OP_ODD, "none");
	assert_int_equal(m0_easy_call(client, &call), -EPROTO);
	/* The store's own keys. */
	call = call_of(OP_PUT, "");
	assert_int_equal(m0_easy_call(client, &call), -EINVAL);
}

static void limits_are_told(void **state)
{
	struct m0_easy_call call = call_of(OP_GET, "key");
	uint8_t            *data = pattern(MIB);

	(void)state;
	call.ec_args = (struct m0_rpc_slice){ data, M0_EASY_ARGS_MAX + 1 };
	assert_int_equal(m0_easy_begin(client, &call), -EMSGSIZE);
	call = call_of(OP_GET, "key");
	call.ec_data = (struct m0_rpc_slice){ data, MIB };
	assert_int_equal(m0_easy_begin(client, &call), -EMSGSIZE);
	call = call_of(OP_PUT, "key");
	call.ec_data = (struct m0_rpc_slice){ data, M0_EASY_DATA_MAX + 1UL };
	assert_int_equal(m0_easy_begin(client, &call), -EMSGSIZE);
	free(data);
}

static void undone_update_changes_nothing(void **state)
{
	struct m0_easy_call call = call_of(OP_UNDO, "key");

	(void)state;
	assert_int_equal(put_all("key", "1", 1), 0);
	call.ec_data = (struct m0_rpc_slice){ "2", 1 };
	assert_int_equal(m0_easy_call(client, &call), -EDOM);
	call = call_of(OP_GET, "key");
	assert_int_equal(m0_easy_call(client, &call), 0);
	assert_int_equal(call.ec_out_nr, 1);
	assert_memory_equal(call.ec_out, "1", 1);
	m0_free(call.ec_out);
	assert_int_equal(add_one("sum", 3), 3);
}

static void results_are_freed(void **state)
{
	static const uint64_t sizes[] = { 10, 1000000 };
	size_t                i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		struct m0_easy_call call = { .ec_opcode = OP_ECHO };
		unsigned            k;

		call.ec_args =
			(struct m0_rpc_slice){ &sizes[i], sizeof sizes[i] };
		assert_int_equal(m0_easy_call(client, &call), 0);
		assert_int_equal(call.ec_out_nr, sizes[i]);
		assert_int_equal(((char *)call.ec_out)[sizes[i] - 1], 'e');
		m0_free(call.ec_out);
		for (k = 0;
		     k < 1000 &&
		     __atomic_load_n(&freed_nr, __ATOMIC_RELAXED) <= (int)i;
		     ++k)
			(void)m0_semaphore_timeddown(
				&held, m0_time_add(m0_time_now(),
						   10 * M0_TIME_ONE_MSEC));
		assert_int_equal(__atomic_load_n(&freed_nr, __ATOMIC_RELAXED),
				 i + 1);
	}
}

/* ------------------------------------------------------------------- ends -- */

enum {
	MANY = 200
};

static struct m0_easy_call calls[MANY];
static uint64_t            sums[MANY];
static const uint64_t      one = 1;
static struct m0_semaphore ended;
static int                 anew_nr;

static void done(struct m0_easy_call *call)
{
	/* Each is begun twice. */
	if (call->ec_rc == 0 && call->ec_private == NULL) {
		call->ec_private = call;
		(void)__atomic_add_fetch(&anew_nr, 1, __ATOMIC_RELAXED);
		if (m0_easy_begin(client, call) == 0)
			return;
	}
	m0_semaphore_up(&ended);
}

static void calls_make(void)
{
	int i;

	for (i = 0; i < MANY; ++i) {
		calls[i] = call_of(OP_ADD, "many");
		calls[i].ec_data = (struct m0_rpc_slice){ &one, sizeof one };
		calls[i].ec_out = &sums[i];
		calls[i].ec_out_max = sizeof sums[i];
	}
}

static void ends_come_by_callback(void **state)
{
	int i;

	(void)state;
	m0_semaphore_init(&ended, 0);
	anew_nr = 0;
	calls_make();
	for (i = 0; i < MANY; ++i) {
		calls[i].ec_done = done;
		assert_int_equal(m0_easy_begin(client, &calls[i]), 0);
	}
	for (i = 0; i < MANY; ++i)
		m0_semaphore_down(&ended);
	assert_int_equal(anew_nr, MANY);
	assert_int_equal(add_one("many", 1), 2 * MANY + 1);
	m0_semaphore_fini(&ended);
}

static void ends_come_by_descriptor(void **state)
{
	struct pollfd fd = { .fd = m0_easy_fd(client), .events = POLLIN };
	struct m0_easy_call *call;
	bool                 seen[MANY + 1] = { false };
	int                  nr = 0;
	int                  i;

	(void)state;
	assert_true(fd.fd >= 0);
	calls_make();
	for (i = 0; i < MANY; ++i) {
		calls[i].ec_queued = true;
		assert_int_equal(m0_easy_begin(client, &calls[i]), 0);
	}
	while (nr < MANY) {
		assert_int_equal(poll(&fd, 1, 60000), 1);
		while ((call = m0_easy_next(client)) != NULL) {
			assert_int_equal(call->ec_rc, 0);
			i = (int)sums[call - calls];
			assert_in_range(i, 1, MANY);
			assert_false(seen[i]);
			seen[i] = true;
			++nr;
		}
	}
	assert_int_equal(poll(&fd, 1, 0), 0);
}

static void ends_are_waited_for(void **state)
{
	struct m0_easy_call call = call_of(OP_HOLD, "");
	m0_time_t           soon;

	(void)state;
	assert_int_equal(m0_easy_begin(client, &call), 0);
	m0_semaphore_down(&held);
	soon = m0_time_add(m0_time_now(), M0_TIME_ONE_MSEC);
	assert_int_equal(m0_easy_wait(&call, soon), -ETIMEDOUT);
	m0_semaphore_up(&let_go);
	assert_int_equal(m0_easy_wait(&call, M0_TIME_NEVER), 0);
	assert_int_equal(call.ec_out_nr, 0);
	m0_free(call.ec_out);
}

static void calls_end_in_time_and_when_cancelled(void **state)
{
	struct m0_easy_call call = call_of(OP_HOLD, "");
	struct m0_easy_call other = call_of(OP_HOLD, "");

	(void)state;
	call.ec_timeout_ns = 50 * M0_TIME_ONE_MSEC;
	assert_int_equal(m0_easy_call(client, &call), -ETIMEDOUT);
	assert_int_equal(m0_easy_begin(client, &other), 0);
	m0_easy_cancel(client, &other);
	assert_int_equal(m0_easy_wait(&other, M0_TIME_NEVER), -ECANCELED);
	m0_easy_cancel(client, &other);
	m0_semaphore_up(&let_go);
	m0_semaphore_up(&let_go);
}

static void close_ends_calls(void **state)
{
	struct m0_easy_call call = call_of(OP_HOLD, "");

	(void)state;
	m0_semaphore_init(&ended, 0);
	call.ec_done = done;
	call.ec_private = &call;
	assert_int_equal(m0_easy_begin(client, &call), 0);
	m0_semaphore_down(&held);
	m0_easy_close(client);
	assert_true(m0_semaphore_trydown(&ended));
	assert_int_equal(call.ec_rc, -ECANCELED);
	m0_semaphore_up(&let_go);
	client_up();
	m0_semaphore_fini(&ended);
}

/* ------------------------------------------------------------------ bounds -- */

/* A raw request of this room, as a peer may write it, to an address. */
static int raw_ask(struct m0_easy *from, const char *addr, uint32_t type_opcode,
		   const void *body, size_t nr)
{
	struct m0_rpc_machine *machine = m0_easy_machine(from);
	struct m0_uint128      none = { 0 };
	struct m0_rpc_conn     conn = { 0 };
	struct m0_rpc_session  session = { 0 };
	struct m0_rpc_raw     *raw;
	int                    rc;

	assert_int_equal(m0_rpc_conn_create(&conn, none, addr, machine, 0,
					    M0_TIME_NEVER),
			 0);
	assert_int_equal(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
			 0);
	raw = m0_rpc_raw_new(m0_rpc_item_type_lookup(type_opcode), body, nr);
	raw->rr_item.ri_session = &session;
	raw->rr_item.ri_stream = type_opcode == OP_UPDATE_TYPE;
	rc = m0_rpc_post_sync(&raw->rr_item);
	m0_rpc_item_put(&raw->rr_item);
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	return rc;
}

static void first_addr(char ret[M0_RPC_ADDR_MAX], const struct m0_easy *easy)
{
	const char *all = m0_easy_addr(easy);

	(void)snprintf(ret, M0_RPC_ADDR_MAX, "%.*s", (int)strcspn(all, ","),
		       all);
}

/* To RPC machines that are no service, too, among them that of a client. */
static void strangers_get_errors(void **state)
{
	static const uint8_t body[32] = { OP_GET };
	static const uint8_t lies[32] = { OP_GET, 0, 0, 0, 0, 0, 9, 0, 100 };
	/* Opcode 99, one descriptor of 100 bytes. */
	static const uint8_t  desc[56] = { 99,  0,          0,        0,
					   0,   0,          1,        0,
					   100, [32] = 100, [40] = 4, [48] = 1 };
	struct m0_rpc_machine plain;
	char                  addr[M0_RPC_ADDR_MAX];
	char                  client_addr[M0_RPC_ADDR_MAX];

	(void)state;
	first_addr(addr, service);
	first_addr(client_addr, client);
	assert_int_equal(raw_ask(client, addr, OP_QUERY_TYPE, body, 3),
			 -EPROTO);
	assert_int_equal(raw_ask(client, addr, OP_QUERY_TYPE, lies, 32),
			 -EPROTO);
	assert_int_equal(raw_ask(client, addr, OP_UPDATE_TYPE, lies, 32),
			 -EPROTO);
	assert_int_equal(raw_ask(client, addr, OP_QUERY_TYPE, desc, 56),
			 -ENOSYS);
	assert_int_equal(raw_ask(client, addr, OP_UPDATE_TYPE, desc, 56),
			 -ENOSYS);
	assert_int_equal(raw_ask(service, client_addr, OP_QUERY_TYPE, body, 32),
			 -ENOSYS);
	assert_int_equal(m0_rpc_machine_init(
				 &plain, m0_easy_machine(service)->rm_dom, NULL,
				 NULL, NULL, M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	snprintf(addr, sizeof addr, "%s", m0_rpc_machine_addr(&plain));
	assert_int_equal(raw_ask(client, addr, OP_QUERY_TYPE, body, 32),
			 -EOPNOTSUPP);
	assert_int_equal(raw_ask(client, addr, OP_UPDATE_TYPE, body, 32),
			 -EOPNOTSUPP);
	m0_rpc_machine_fini(&plain);
}

/* Queries of each size around the limit end with 0 or are refused at once. */
static void limit_of_a_query_is_sharp(void **state)
{
	uint8_t *data = pattern(1 << 17);
	unsigned nr;
	int      rc;

	(void)state;
	for (nr = (1 << 17) - 700; nr < 1 << 17; ++nr) {
		struct m0_easy_call call = call_of(OP_ODD, "key");

		call.ec_data = (struct m0_rpc_slice){ data, nr };
		rc = m0_easy_begin(client, &call);
		if (rc == 0)
			assert_int_equal(m0_easy_wait(&call, M0_TIME_NEVER),
					 -EPROTO);
		else
			assert_int_equal(rc, -EMSGSIZE);
	}
	free(data);
}

/* Cancels meet transfers at any moment. */
static void cancels_meet_transfers(void **state)
{
	struct m0_easy_call call = call_of(OP_GET, "key");
	uint8_t            *data = pattern(3 * MIB);
	int                 i;
	int                 rc;

	(void)state;
	assert_int_equal(put_all("key", data, 3 * MIB), 0);
	for (i = 0; i < 200; ++i) {
		assert_int_equal(m0_easy_begin(client, &call), 0);
		(void)m0_semaphore_timeddown(
			&held,
			m0_time_add(m0_time_now(),
				    (m0_time_t)i * 20 * M0_TIME_ONE_USEC));
		m0_easy_cancel(client, &call);
		rc = m0_easy_wait(&call, M0_TIME_NEVER);
		assert_true(M0_IN(rc, (0, -ECANCELED)));
		if (rc == 0)
			m0_free(call.ec_out);
		call.ec_out = NULL;
	}
	free(data);
}

/* Two updates that do not fit together wait for each other. */
static void memory_is_bounded(void **state)
{
	struct m0_easy_cfg  cfg = service_cfg();
	struct m0_easy_call call[4];
	uint8_t            *data = pattern(3 * MIB);
	int                 i;

	(void)state;
	cfg.en_memory_max = 4 * MIB;
	up_as(cfg);
	for (i = 0; i < 4; ++i) {
		call[i] = call_of(OP_PUT, i % 2 ? "a" : "b");
		call[i].ec_data = (struct m0_rpc_slice){ data, 3 * MIB };
		assert_int_equal(m0_easy_begin(client, &call[i]), 0);
	}
	for (i = 0; i < 4; ++i) {
		assert_int_equal(m0_easy_wait(&call[i], M0_TIME_NEVER), 0);
		m0_free(call[i].ec_out);
	}
	call[0] = call_of(OP_PUT, "c");
	call[0].ec_data = (struct m0_rpc_slice){ data, 3 * MIB };
	call[0].ec_timeout_ns = 30 * M0_TIME_ONE_SECOND;
	assert_int_equal(m0_easy_call(client, &call[0]), 0);
	m0_free(call[0].ec_out);
	free(data);
	down(NULL);
}

/* The service goes and comes, and the client goes on. */
static void durable_service_forgets_nothing(void **state)
{
	struct m0_easy_cfg cfg = service_cfg();
	char               dir[] = "/tmp/easy_test.XXXXXX";
	char               rm[64];
	int                i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	cfg.en_dir = dir;
	up_as(cfg);
	for (i = 1; i <= 6; ++i) {
		assert_int_equal(add_one("sum", 1), i);
		if (i % 2 == 0)
			continue;
		m0_easy_close(service);
		service_up(&cfg);
	}
	down(NULL);
	(void)snprintf(rm, sizeof rm, "rm -r %s", dir);
	assert_int_equal(system(rm), 0);
}

/* A place without networks has those of the environment. */
static void place_comes_from_the_environment(void **state)
{
	static const char  key[] = "127.88.0.1@tcp";
	struct m0_easy_cfg cfg = service_cfg();
	const char        *before = places[1];
	const char        *port = strchr(places[0], '/');
	char               place[64];

	(void)state;
	if (strncmp(places[0], "lnet", 4) != 0)
		return;
	assert_non_null(port);
	setenv("M0_LNET", "tcp(127.88.0.2)", 1);
	setenv("M0_LNET_PORT", port + 1, 1);
	places[1] = "lnet:127.88.0.1@tcp";
	up_as(cfg);
	assert_int_equal(put_all("key", key, sizeof key), 0);
	m0_easy_close(client);
	places[1] = "lnet:127.88.0.1@tcp:12345:40:1";
	client_up();
	m0_easy_close(client);
	(void)snprintf(place, sizeof place, "lnet%s:127.88.0.1@tcp", port);
	places[1] = place;
	client_up();
	assert_int_equal(add_one("sum", 1), 1);
	down(NULL);
	places[1] = before;
	unsetenv("M0_LNET");
	unsetenv("M0_LNET_PORT");
}

/* A service with two networks has two numbers: a neighbour learns what to choose. */
static void neighbour_learns_which_numbers_are_free(void **state)
{
	static const char  form[] = "lnet:tcp(127.88.0.7),tcp1(127.88.0.8)%s"
				    ":12345:40:%u";
	struct m0_easy_cfg cfg = service_cfg();
	struct m0_easy    *easy[2];
	const char        *port = strchr(places[0], '/');
	char               place[96], why[M0_EASY_WHY_BYTES];

	(void)state;
	if (strncmp(places[0], "lnet", 4) != 0)
		return;
	(void)snprintf(place, sizeof place, form, port, 1);
	assert_int_equal(m0_easy_open(&easy[0], place, &cfg, why), 0);
	(void)snprintf(place, sizeof place, form, port, 2);
	assert_int_equal(m0_easy_open(&easy[1], place, &cfg, why), -EADDRINUSE);
	assert_non_null(strstr(why, "as many numbers in a row as it has "
				    "networks, here 2"));
	(void)snprintf(place, sizeof place, form, port, 3);
	assert_int_equal(m0_easy_open(&easy[1], place, &cfg, why), 0);
	assert_string_equal(m0_easy_addr(easy[1]),
			    "127.88.0.7@tcp:12345:40:3,"
			    "127.88.0.8@tcp1:12345:40:4");
	m0_easy_close(easy[1]);
	m0_easy_close(easy[0]);
}

static void wrong_place(const char *place, const struct m0_easy_cfg *cfg,
			const char *why_has)
{
	struct m0_easy *easy;
	char            why[M0_EASY_WHY_BYTES];

	assert_int_equal(m0_easy_open(&easy, place, cfg, why), -EINVAL);
	if (strstr(why, why_has) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", why, why_has);
	assert_int_equal(m0_easy_open(&easy, place, cfg, NULL), -EINVAL);
}

static void wrong_configurations_are_named(void **state)
{
	struct m0_easy_op  two[2] = { ops[0], ops[0] };
	struct m0_easy_cfg cfg = service_cfg();

	(void)state;
	wrong_place("foo", NULL, "the place \"foo\"");
	wrong_place("lnet:tcp(lo)/0", &cfg, "port \"0\"");
	wrong_place("lnet:tcp(lo)/x", &cfg, "1 to 65535");
	wrong_place("lnet:tcp(lo)/7988", NULL, "address of its service");
	wrong_place("mem:", NULL, "address of its service");
	wrong_place("mem:1,,2", NULL, "commas between");
	wrong_place("mem:1,2,3,4,5,6,7,8,9", NULL, "up to 8 addresses");
	wrong_place("mem:127.0.0.1:7000,x", NULL, "7000,x\" is not");
	cfg.en_ops_nr = 0;
	wrong_place(places[0], &cfg, "en_ops_nr");
	cfg.en_ops = two;
	cfg.en_ops_nr = 2;
	wrong_place(places[0], &cfg, "another has this opcode");
	cfg.en_ops = NULL;
	cfg.en_dir = "/tmp";
	wrong_place(places[0], &cfg, "en_dir");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)

static const struct CMUnitTest cases[] = {
	CASE(values_come_back),
	CASE(errors_say_what_is_wrong),
	CASE(limits_are_told),
	CASE(undone_update_changes_nothing),
	CASE(results_are_freed),
	CASE(ends_come_by_callback),
	CASE(ends_come_by_descriptor),
	CASE(ends_are_waited_for),
	CASE(calls_end_in_time_and_when_cancelled),
	CASE(close_ends_calls),
	CASE(strangers_get_errors),
	CASE(limit_of_a_query_is_sharp),
	CASE(cancels_meet_transfers),
	cmocka_unit_test(memory_is_bounded),
	cmocka_unit_test(durable_service_forgets_nothing),
	cmocka_unit_test(place_comes_from_the_environment),
	cmocka_unit_test(wrong_configurations_are_named),
	cmocka_unit_test(neighbour_learns_which_numbers_are_free),
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: easy_test SERVICE CLIENT\n");
		return 2;
	}
	places[0] = argv[1];
	places[1] = argv[2];
	m0_log_level_set(M0_LOG_ERROR);
	return cmocka_run_group_tests(cases, NULL, NULL);
}

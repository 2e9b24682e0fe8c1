/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* How the data buffers are shared among clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../../tools/object/serve.h"

enum {
	BUFS = 32,
	OPS = 600
};

static struct server        sv;
static struct m0_net_buffer bufs[BUFS];
static struct m0_rpc_item   items[OPS];
static struct serve_op     *ops[OPS];
static unsigned             ops_nr;
/* The answer to each operation; 1: none yet. */
static int answers[OPS];
/* Transfers that were cancelled. */
static unsigned cancelled_nr;

struct m0_uint128 __wrap_m0_rpc_request_client(
	const struct m0_rpc_item *request);
void __wrap_m0_rpc_reply_rc(struct m0_rpc_item *request, int rc);
void __wrap_m0_rpc_item_put(struct m0_rpc_item *item);
void __wrap_m0_rpc_bulk_store_del(struct m0_rpc_bulk *rb);

/* In place of the library's, by --wrap: an item's client is its key. */
struct m0_uint128 __wrap_m0_rpc_request_client(
	const struct m0_rpc_item *request)
{
	return request->ri_key.rk_fid;
}

void __wrap_m0_rpc_reply_rc(struct m0_rpc_item *request, int rc)
{
	answers[request - items] = rc;
}

void __wrap_m0_rpc_item_put(struct m0_rpc_item *item)
{
	(void)item;
}

void __wrap_m0_rpc_bulk_store_del(struct m0_rpc_bulk *rb)
{
	(void)rb;
	++cancelled_nr;
}

static int up(void **state)
{
	unsigned i;

	(void)state;
	M0_SET0(&sv);
	m0_mutex_init(&sv.sv_lock);
	m0_cond_init(&sv.sv_work_cond, &sv.sv_lock);
	m0_cond_init(&sv.sv_ops_cond, &sv.sv_lock);
	m0_list_init(&sv.sv_work);
	serve_share_init(&sv);
	M0_ALLOC_ARR(sv.sv_free, BUFS);
	assert_non_null(sv.sv_free);
	for (i = 0; i < BUFS; ++i)
		sv.sv_free[sv.sv_free_nr++] = &bufs[i];
	sv.sv_bufs_nr = BUFS;
	sv.sv_timeout_ns = 10 * M0_TIME_ONE_SECOND;
	ops_nr = 0;
	cancelled_nr = 0;
	return 0;
}

/* Does what workers would do. */
static void work(void)
{
	struct m0_list_link *at;

	while ((at = m0_list_first(&sv.sv_work)) != NULL) {
		struct serve_op *op =
			container_of(at, struct serve_op, op_link);

		m0_list_del(at);
		op->op_next(op);
	}
}

static void begun(struct serve_op *op)
{
	m0_mutex_lock(&sv.sv_lock);
	serve_move_begin(op);
	m0_mutex_unlock(&sv.sv_lock);
}

/* A client asks for a buffer. @return the operation's number. */
static unsigned ask(uint64_t client, m0_time_t expires)
{
	unsigned         nr = ops_nr++;
	struct serve_op *op;

	assert_true(nr < OPS);
	M0_ALLOC_PTR(op);
	assert_non_null(op);
	M0_SET0(&items[nr]);
	items[nr].ri_key.rk_fid = M0_UINT128(1, client);
	items[nr].ri_remote_expires = expires;
	answers[nr] = 1;
	op->op_server = &sv;
	op->op_item = &items[nr];
	m0_list_link_init(&op->op_link);
	m0_list_link_init(&op->op_moving);
	ops[nr] = op;
	++sv.sv_ops_nr;
	serve_buffer(op, &begun);
	return nr;
}

static unsigned asks(uint64_t client, unsigned nr)
{
	unsigned first = ops_nr;

	while (nr-- > 0)
		(void)ask(client, M0_TIME_NEVER);
	return first;
}

/* Does it move, and was it not answered? */
static bool moves(unsigned nr)
{
	return answers[nr] == 1 && ops[nr]->op_nb != NULL;
}

static unsigned moving_nr(unsigned first, unsigned nr)
{
	unsigned count = 0;

	while (nr-- > 0)
		count += moves(first + nr);
	return count;
}

/* The transfer ends with rc, after so long. */
static void ends(unsigned nr, int rc, m0_time_t lasted)
{
	struct serve_op *op = ops[nr];

	assert_true(moves(nr));
	op->op_began = m0_time_sub(m0_time_now(), lasted);
	m0_mutex_lock(&sv.sv_lock);
	rc = serve_move_end(op, rc);
	m0_mutex_unlock(&sv.sv_lock);
	serve_op_end(op, rc != 0 ? rc : -EEXIST);
	work();
}

/* All that moves ends well, until nothing is left. */
static int down(void **state)
{
	unsigned i;
	bool     any = true;

	(void)state;
	work();
	while (any) {
		any = false;
		for (i = 0; i < ops_nr; ++i) {
			if (answers[i] != 1 || ops[i]->op_nb == NULL)
				continue;
			ends(i, 0, 0);
			any = true;
		}
	}
	for (i = 0; i < ops_nr; ++i)
		assert_int_not_equal(answers[i], 1);
	assert_int_equal(sv.sv_free_nr, BUFS);
	assert_int_equal(sv.sv_active_nr, 0);
	assert_int_equal(sv.sv_stalled_held_nr, 0);
	assert_int_equal(sv.sv_ops_nr, 0);
	assert_true(m0_list_is_empty(&sv.sv_turns));
	sv.sv_bufs_nr = 0;
	sv.sv_bufs = NULL;
	serve_share_stop(&sv);
	m0_cond_fini(&sv.sv_ops_cond);
	m0_cond_fini(&sv.sv_work_cond);
	m0_mutex_fini(&sv.sv_lock);
	return 0;
}

/* Two at first, one more for each that completes, and half of all at most as
 * long as the client is alone. */
static void window_opens_with_each_transfer(void **state)
{
	unsigned first = asks(1, 60);
	unsigned done = 0;
	unsigned want;

	(void)state;
	for (want = 2; want < BUFS / 2; ++want) {
		assert_int_equal(moving_nr(first, 60), want);
		ends(first + done++, 0, 0);
	}
	assert_int_equal(moving_nr(first, 60), BUFS / 2);
	ends(first + done++, 0, 0);
	assert_int_equal(moving_nr(first, 60), BUFS / 2);
}

/* However many there are that were never heard of: the next gets a buffer. */
static void newcomers_leave_buffers_for_others(void **state)
{
	unsigned client;
	unsigned nr;

	(void)state;
	for (client = 1; client <= 12; ++client)
		(void)asks(client, 20);
	assert_int_equal(sv.sv_free_nr, BUFS - 24);
	nr = ask(13, M0_TIME_NEVER);
	assert_true(moves(nr));
}

/* One that got no answer for long is stalled: what waits of it is refused, and
 * all such clients have a quarter, until a transfer of theirs completes. */
static void stalled_clients_have_a_quarter(void **state)
{
	unsigned client;
	unsigned first[12];
	unsigned i;

	(void)state;
	for (client = 0; client < 12; ++client)
		first[client] = asks(client, 3);
	for (client = 0; client < 12; ++client) {
		ends(first[client], -ETIMEDOUT, 2 * M0_TIME_ONE_SECOND);
		assert_int_equal(answers[first[client]], -ETIMEDOUT);
		assert_int_equal(answers[first[client] + 2], -EAGAIN);
		ends(first[client] + 1, -ECONNRESET, 0);
	}
	assert_int_equal(sv.sv_free_nr, BUFS);
	i = ops_nr;
	for (client = 0; client < 12; ++client)
		(void)asks(client, 2);
	assert_int_equal(moving_nr(i, 24), BUFS / 4);
	/* One of them moves again, and another has its place. */
	ends(i, 0, 0);
	assert_true(moves(i + 1));
	assert_int_equal(moving_nr(i, 24), BUFS / 4 + 1);
}

/* A client is not stalled because there was no time, or because it named memory
 * that is none. */
static void client_that_had_no_time_is_not_stalled(void **state)
{
	unsigned first = asks(1, 4);

	(void)state;
	ends(first, -ETIMEDOUT, M0_TIME_ONE_SECOND / 2);
	ends(first + 1, -EPERM, 2 * M0_TIME_ONE_SECOND);
	assert_int_equal(moving_nr(first, 4), 2);
}

static void waiting_requests_are_bounded(void **state)
{
	unsigned first = asks(1, 2 + SERVE_WAITING_MAX);

	(void)state;
	assert_int_equal(answers[ask(1, M0_TIME_NEVER)], -EAGAIN);
	assert_int_equal(answers[first + 1 + SERVE_WAITING_MAX], 1);
	assert_true(moves(ask(2, M0_TIME_NEVER)));
}

/* A transfer lasts as long as its request is of use, and --timeout at most. */
static void transfer_lasts_as_long_as_its_request(void **state)
{
	m0_time_t now = m0_time_now();
	unsigned  nr = ask(1, m0_time_add(now, M0_TIME_ONE_SECOND));

	(void)state;
	assert_true(serve_move_ns(ops[nr]) <= M0_TIME_ONE_SECOND);
	items[nr].ri_remote_expires = now;
	assert_int_equal(serve_move_ns(ops[nr]), 0);
	items[nr].ri_remote_expires = m0_time_add(now, sv.sv_timeout_ns * 2);
	assert_int_equal(serve_move_ns(ops[nr]), sv.sv_timeout_ns);
	items[nr].ri_remote_expires = M0_TIME_NEVER;
	assert_int_equal(serve_move_ns(ops[nr]), sv.sv_timeout_ns);
}

static void look(m0_time_t now)
{
	m0_mutex_lock(&sv.sv_lock);
	serve_share_look(&sv, now);
	m0_mutex_unlock(&sv.sv_lock);
	work();
}

static void request_that_waits_too_long_is_answered(void **state)
{
	m0_time_t soon = m0_time_add(m0_time_now(), M0_TIME_ONE_SECOND);
	unsigned  nr;

	(void)state;
	(void)asks(1, 2);
	nr = ask(1, soon);
	look(m0_time_sub(soon, 1));
	assert_int_equal(answers[nr], 1);
	look(soon);
	assert_int_equal(answers[nr], -ETIMEDOUT);
}

/* A fair share becomes less when others come: the slow transfers are revoked, as
 * soon as no buffer is free, and no more than are beyond the share. */
static void slow_transfers_beyond_the_share_are_revoked(void **state)
{
	m0_time_t later = m0_time_add(m0_time_now(), 2 * M0_TIME_ONE_SECOND);
	unsigned  first = asks(1, 40);
	unsigned  client;
	unsigned  i;

	(void)state;
	for (i = 0; i < 20; ++i)
		ends(first + i, 0, 0);
	assert_int_equal(moving_nr(first, 40), BUFS / 2);
	look(later);
	assert_int_equal(cancelled_nr, 0);
	for (client = 2; client <= 9; ++client)
		(void)asks(client, 3);
	/* These have what they may have, for the time being. */
	assert_int_equal(sv.sv_free_nr, 0);
	look(later);
	assert_int_equal(cancelled_nr, 0);
	client = ask(10, M0_TIME_NEVER);
	look(m0_time_now());
	assert_int_equal(cancelled_nr, 0);
	look(later);
	assert_int_equal(cancelled_nr, 1);
	assert_true(ops[first + 20]->op_revoked);
	ends(first + 20, -ECANCELED, M0_TIME_ONE_SECOND);
	assert_int_equal(answers[first + 20], -EAGAIN);
	assert_true(moves(client));
}

static void end_leaves_nothing(void **state)
{
	unsigned first = asks(1, 4);
	unsigned i;

	(void)state;
	serve_share_close(&sv, m0_time_now());
	look(m0_time_now());
	assert_int_equal(cancelled_nr, 2);
	assert_int_equal(answers[first + 2], -ESHUTDOWN);
	assert_int_equal(answers[first + 3], -ESHUTDOWN);
	assert_int_equal(answers[ask(2, M0_TIME_NEVER)], -ESHUTDOWN);
	for (i = 0; i < 2; ++i)
		ends(first + i, -ECANCELED, 0);
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)
		CASE(window_opens_with_each_transfer),
		CASE(newcomers_leave_buffers_for_others),
		CASE(stalled_clients_have_a_quarter),
		CASE(client_that_had_no_time_is_not_stalled),
		CASE(waiting_requests_are_bounded),
		CASE(transfer_lasts_as_long_as_its_request),
		CASE(request_that_waits_too_long_is_answered),
		CASE(slow_transfers_beyond_the_share_are_revoked),
		CASE(end_leaves_nothing),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Net buffers of the caller's in a bulk: where the library has its part of them,
 * and what the caller learns when it withdraws one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc_bulk.h"
#include "sim/sched/heap.h"

enum {
	BYTES = 4096,
	ROUNDS = 3
};

static struct m0_net_domain dom;

static void add(struct m0_rpc_bulk *rb, struct m0_net_buffer *nb)
{
	assert_int_equal(m0_rpc_bulk_buf_add(rb, 0, BYTES, &dom, nb, NULL), 0);
}

/* One, as most have, takes no memory; a second one beside it does. And so it is
 * when the list was emptied, with the one or the other first. */
static void first_takes_no_memory(void **state)
{
	struct m0_net_buffer nb[2];
	struct m0_rpc_bulk   rb;
	struct m0_heap       heap;
	unsigned             i;

	(void)state;
	M0_SET_ARR0(nb);
	for (i = 0; i < ARRAY_SIZE(nb); ++i)
		assert_int_equal(m0_bufvec_alloc(&nb[i].nb_buffer, 1, BYTES),
				 0);
	m0_rpc_bulk_init(&rb);
	m0_heap_init(&heap);
	for (i = 0; i < ROUNDS; ++i) {
		add(&rb, &nb[i % 2]);
		assert_int_equal(m0_heap_allocs_nr(&heap), i);
		add(&rb, &nb[(i + 1) % 2]);
		assert_int_equal(m0_heap_allocs_nr(&heap), i + 1);
		assert_int_equal(m0_rpc_bulk_buf_length(&rb), 2 * BYTES);
		m0_rpc_bulk_buflist_empty(&rb);
		assert_int_equal(m0_rpc_bulk_buf_length(&rb), 0);
	}
	assert_int_equal(m0_heap_live_nr(&heap), 0);
	m0_heap_fini(&heap);
	m0_rpc_bulk_fini(&rb);
	for (i = 0; i < ARRAY_SIZE(nb); ++i)
		m0_bufvec_free(&nb[i].nb_buffer);
}

static struct m0_semaphore tm_changed;

static void tm_event(const struct m0_net_tm_event *ev)
{
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		m0_semaphore_up(&tm_changed);
}

/* One of two was withdrawn, and then the other fails: the failure is the outcome,
 * for it says why no more comes. */
static void withdrawn_then_failed_tells_the_failure(void **state)
{
	static const struct m0_net_tm_callbacks callbacks = {
		.ntc_event_cb = tm_event
	};
	static struct m0_rpc_machine machine;
	struct m0_net_transfer_mc   *tm = &machine.rm_tm;
	struct m0_rpc_conn           conn = { .c_rpc_machine = &machine };
	struct m0_net_buf_desc_data  desc[2];
	struct m0_net_buffer         nb[2];
	struct m0_rpc_bulk           rb;
	unsigned                     i;

	(void)state;
	(void)m0_semaphore_init(&tm_changed, 0);
	tm->ntm_callbacks = &callbacks;
	assert_int_equal(m0_net_tm_init(tm, &dom), 0);
	assert_int_equal(m0_net_tm_start(tm, NULL), 0);
	m0_semaphore_down(&tm_changed);
	M0_SET_ARR0(nb);
	m0_rpc_bulk_init(&rb);
	rb.rb_timeout_ns = 200 * M0_TIME_ONE_MSEC;
	for (i = 0; i < ARRAY_SIZE(nb); ++i) {
		assert_int_equal(m0_bufvec_alloc(&nb[i].nb_buffer, 1, BYTES),
				 0);
		add(&rb, &nb[i]);
	}
	m0_rpc_bulk_qtype(&rb, M0_NET_QT_PASSIVE_BULK_RECV);
	assert_int_equal(m0_rpc_bulk_store(&rb, &conn, desc), 0);
	(void)m0_net_buffer_del(&nb[0], tm);
	assert_int_equal(m0_rpc_bulk_wait(&rb), -ETIMEDOUT);
	m0_rpc_bulk_fini(&rb);
	for (i = 0; i < ARRAY_SIZE(nb); ++i) {
		m0_net_desc_free(&desc[i].bdd_desc);
		m0_bufvec_free(&nb[i].nb_buffer);
	}
	assert_int_equal(m0_net_tm_stop(tm, true), 0);
	m0_semaphore_down(&tm_changed);
	assert_int_equal(m0_net_tm_fini(tm), 0);
	m0_semaphore_fini(&tm_changed);
}

static int up(void **state)
{
	(void)state;
	return m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt);
}

static int down(void **state)
{
	(void)state;
	m0_net_domain_fini(&dom);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_takes_no_memory),
		cmocka_unit_test(withdrawn_then_failed_tells_the_failure),
	};

	return cmocka_run_group_tests_name("rpc/bulk_lent", tests, up, down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Net buffers of the caller's in a bulk: where the library has its part of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "m0/rpc_bulk.h"
#include "sim/heap.h"

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
	static const struct CMUnitTest tests[] = { cmocka_unit_test(
		first_takes_no_memory) };

	return cmocka_run_group_tests_name("rpc/bulk_lent", tests, up, down);
}

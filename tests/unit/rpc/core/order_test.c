/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../../base/panics.h"

#include "base/rand.h"
#include "rpc/core/order.h"

enum {
	NR = 1000
};

struct element {
	struct m0_order_node el_node;
	uint64_t             el_key;
	bool                 el_is_in;
};

static struct element  element[NR];
static struct m0_order order;

static int cmp(const struct m0_order_node *a, const struct m0_order_node *b,
	       const void *env)
{
	uint64_t left = container_of(a, struct element, el_node)->el_key;
	uint64_t right = container_of(b, struct element, el_node)->el_key;

	assert_ptr_equal(env, &order);
	if (left == right)
		return a < b ? -1 : 1;
	return left < right ? -1 : 1;
}

/* Empty has no first, one is first and last. */
static void order_few_have_ends(void **state)
{
	(void)state;
	m0_rpc__order_init(&order, cmp, &order);
	assert_null(m0_rpc__order_first(&order));
	m0_rpc__order_add(&order, &element[0].el_node);
	assert_ptr_equal(m0_rpc__order_first(&order), &element[0].el_node);
	assert_null(m0_rpc__order_next(&order, &element[0].el_node));
	m0_rpc__order_del(&order, &element[0].el_node);
	assert_null(m0_rpc__order_first(&order));
	assert_true(m0_rpc__order_invariant(&order));
}

/* Comes in ascending, leaves from the front: what the cache mostly does. */
static void order_ascending_is_a_queue(void **state)
{
	size_t i;

	(void)state;
	m0_rpc__order_init(&order, cmp, &order);
	for (i = 0; i < NR; ++i) {
		element[i].el_key = i / 3;
		m0_rpc__order_add(&order, &element[i].el_node);
	}
	assert_true(m0_rpc__order_invariant(&order));
	for (i = 0; i < NR; ++i) {
		assert_ptr_equal(m0_rpc__order_first(&order),
				 &element[i].el_node);
		m0_rpc__order_del(&order, &element[i].el_node);
	}
	assert_null(m0_rpc__order_first(&order));
}

/* 100,000 changes at random: order and heap hold, nothing is lost. */
static void order_random_changes_keep_it(void **state)
{
	struct m0_order_node *node;
	struct m0_rand        rand;
	struct element       *el;
	size_t                nr = 0;
	size_t                seen;
	unsigned              i;

	(void)state;
	m0_rand_init(&rand, 5);
	m0_rpc__order_init(&order, cmp, &order);
	memset(element, 0, sizeof element);
	for (i = 0; i < 100000; ++i) {
		el = &element[m0_rand_below(&rand, NR)];
		if (el->el_is_in) {
			m0_rpc__order_del(&order, &el->el_node);
			--nr;
		} else {
			el->el_key = m0_rand_below(&rand, 300);
			m0_rpc__order_add(&order, &el->el_node);
			++nr;
		}
		el->el_is_in = !el->el_is_in;
		if (i % 1000 != 0)
			continue;
		assert_true(m0_rpc__order_invariant(&order));
		seen = 0;
		for (node = m0_rpc__order_first(&order); node != NULL;
		     node = m0_rpc__order_next(&order, node))
			++seen;
		assert_int_equal(seen, nr);
	}
}

/** Longest way down. */
static unsigned depth(const struct m0_order_node *node)
{
	unsigned left;
	unsigned right;

	if (node == NULL)
		return 0;
	left = depth(node->on_left);
	right = depth(node->on_right);
	return 1 + (left > right ? left : right);
}

/* Ascending keys, the worst for a bare tree, make none that is deep once it has
 * to know them. */
static void order_ascending_is_not_deep(void **state)
{
	size_t i;

	(void)state;
	m0_rpc__order_init(&order, cmp, &order);
	for (i = 0; i < NR; ++i) {
		element[i].el_key = i == NR - 1 ? 0 : i;
		m0_rpc__order_add(&order, &element[i].el_node);
		assert_int_equal(depth(order.or_root) > 0, i == NR - 1);
	}
	assert_true(m0_rpc__order_invariant(&order));
	/* log2(1000) is 10; the drawn numbers are the same every time. */
	assert_true(depth(order.or_root) < 40);
}

/* A part that the tree knows, one that it does not: both are taken from. */
static void order_half_known_is_whole(void **state)
{
	static const unsigned del[] = { 6, 0, 5, 3, 1, 4, 2 };
	/* 2 comes late: the tree then knows the first four. */
	static const uint64_t key[] = { 1, 3, 5, 2, 7, 9, 8 };
	size_t                i;

	(void)state;
	m0_rpc__order_init(&order, cmp, &order);
	for (i = 0; i < 6; ++i) {
		element[i].el_key = key[i];
		m0_rpc__order_add(&order, &element[i].el_node);
		assert_true(m0_rpc__order_invariant(&order));
	}
	assert_ptr_equal(order.or_rest, &element[4].el_node);
	element[6].el_key = key[6];
	m0_rpc__order_add(&order, &element[6].el_node);
	assert_null(order.or_rest);
	element[7].el_key = 10;
	m0_rpc__order_add(&order, &element[7].el_node);
	assert_ptr_equal(order.or_rest, &element[7].el_node);
	for (i = 0; i < ARRAY_SIZE(del); ++i) {
		m0_rpc__order_del(&order, &element[del[i]].el_node);
		assert_true(m0_rpc__order_invariant(&order));
	}
	assert_ptr_equal(m0_rpc__order_first(&order), &element[7].el_node);
	m0_rpc__order_del(&order, &element[7].el_node);
	assert_null(order.or_rest);
	assert_true(m0_rpc__order_invariant(&order));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_few_have_ends),
		cmocka_unit_test(order_ascending_is_a_queue),
		cmocka_unit_test(order_random_changes_keep_it),
		cmocka_unit_test(order_ascending_is_not_deep),
		cmocka_unit_test(order_half_known_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

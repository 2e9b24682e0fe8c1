/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

/* Membership evaluates its subject once and knows all of the list. */
static void in_finds_each_member_once_evaluated(void **state)
{
	int nr = 0;

	(void)state;
	assert_true(M0_IN(++nr, (1, 2, 3)));
	assert_true(M0_IN(++nr, (1, 2, 3)));
	assert_true(M0_IN(++nr, (1, 2, 3)));
	assert_false(M0_IN(++nr, (1, 2, 3)));
	assert_int_equal(nr, 4);
	assert_true(M0_IN(16, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
			       15, 16)));
	assert_true(M0_IN(5, (5)));
	assert_false(M0_IN(6, (5)));
}

/* At file scope, as clients write it. */
M0_BASSERT(sizeof(uint64_t) == 8);

/* Sets of bits are constants of 64 bits. */
static void bits_make_masks(void **state)
{
	enum {
		SET = M0_BITS(0, 3)
	};

	(void)state;
	M0_BASSERT(M0_BITS(0) == 1);
	assert_int_equal(SET, 9);
	assert_true(M0_BITS(63, 1) == 0x8000000000000002ULL);
}

/* Quantifiers stop where the answer is known, and nest. */
static void quantifiers_agree_with_logic(void **state)
{
	int seen = 0;

	(void)state;
	assert_true(m0_forall(i, 0, false));
	assert_false(m0_exists(i, 0, true));
	assert_true(m0_forall(i, 4, i < 4));
	assert_false(m0_forall(i, 4, ++seen, i < 2));
	assert_int_equal(seen, 3);
	assert_true(m0_exists(i, 4, m0_forall(j, 4, i + j >= 3)));
	assert_false(m0_exists(i, 3, m0_forall(j, 4, i + j >= 3)));
}

/* The logic words are lazy on their right side. */
static void ergo_and_equi_follow_truth_tables(void **state)
{
	int nr = 0;

	(void)state;
	assert_true(ergo(false, ++nr));
	assert_int_equal(nr, 0);
	assert_true(ergo(true, ++nr));
	assert_false(ergo(true, nr == 0));
	assert_true(equi(2, 3) && equi(0, 0));
	assert_false(equi(0, 3));
}

/* Bounds evaluate their arguments once and nest. */
static void bounds_choose_right_end(void **state)
{
	int a = 3;

	(void)state;
	assert_int_equal(min_check(a++, 9), 3);
	assert_int_equal(max_check(a++, 2), 4);
	assert_int_equal(a, 5);
	assert_int_equal(min_check(1, max_check(0, -1)), 0);
	assert_true(min64u(UINT64_MAX, 1) == 1);
	assert_true(max64u(UINT64_MAX, 1) == UINT64_MAX);
	assert_int_equal(min64(-1, 1), -1);
	assert_int_equal(max64(-1, 1), 1);
	assert_int_equal(clip64u(2, 5, 1), 2);
	assert_int_equal(clip64u(2, 5, 3), 3);
	assert_int_equal(clip64u(2, 5, 9), 5);
}

/* Powers of two and alignment, at the edges. */
static void align_rounds_up(void **state)
{
	(void)state;
	assert_false(m0_is_po2(0));
	assert_true(m0_is_po2(1) && m0_is_po2(1ULL << 63));
	assert_false(m0_is_po2(6));
	assert_int_equal(m0_align(0, 8), 0);
	assert_int_equal(m0_align(1, 8), 8);
	assert_int_equal(m0_align(8, 8), 8);
	assert_true(m0_is_aligned(16, 16) && !m0_is_aligned(17, 16));
}

struct pair {
	int p_first;
	int p_second;
};

/* From a member back to its object; zeroing. */
static void object_helpers_work(void **state)
{
	struct pair pair = { 1, 2 };
	int        *second = &pair.p_second;

	(void)state;
	assert_ptr_equal(container_of(second, struct pair, p_second), &pair);
	M0_SET0(&pair);
	assert_int_equal(pair.p_first + pair.p_second, 0);
	assert_int_equal(ARRAY_SIZE(((int[]){ 1, 2, 3 })), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_finds_each_member_once_evaluated),
		cmocka_unit_test(bits_make_masks),
		cmocka_unit_test(quantifiers_agree_with_logic),
		cmocka_unit_test(ergo_and_equi_follow_truth_tables),
		cmocka_unit_test(bounds_choose_right_end),
		cmocka_unit_test(align_rounds_up),
		cmocka_unit_test(object_helpers_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

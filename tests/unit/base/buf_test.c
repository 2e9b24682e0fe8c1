/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Small things of base.h: buffers, 128-bit numbers, references, atomics. */
#include "panics.h"

/* A copy is equal and not the same memory. */
static void buf_copy_is_equal_and_apart(void **state)
{
	char          data[] = "bytes";
	struct m0_buf src = M0_BUF_INIT(sizeof data, data);
	struct m0_buf dst = M0_BUF_INIT0;

	(void)state;
	assert_false(m0_buf_is_set(&dst));
	assert_false(m0_buf_eq(&src, &dst));
	assert_int_equal(m0_buf_copy(&dst, &src), 0);
	assert_true(m0_buf_eq(&src, &dst));
	assert_ptr_not_equal(src.b_addr, dst.b_addr);
	data[0] = 'B';
	assert_false(m0_buf_eq(&src, &dst));
	m0_buf_free(&dst);
	assert_false(m0_buf_is_set(&dst));
	assert_true(m0_buf_eq(&dst, &dst));
}

/* Order is by the high half first. */
static void uint128_compares_high_half_first(void **state)
{
	struct m0_uint128 a = M0_UINT128(1, 9);
	struct m0_uint128 b = M0_UINT128(2, 0);
	struct m0_uint128 c;

	(void)state;
	m0_uint128_init(&c, 1, 9);
	assert_true(m0_uint128_eq(&a, &c) && !m0_uint128_eq(&a, &b));
	assert_true(m0_uint128_cmp(&a, &b) < 0);
	assert_true(m0_uint128_cmp(&b, &a) > 0);
	assert_int_equal(m0_uint128_cmp(&a, &c), 0);
	c.u_lo = 10;
	assert_true(m0_uint128_cmp(&a, &c) < 0);
}

struct counted {
	struct m0_ref c_ref;
	int           c_released;
};

static void counted_release(struct m0_ref *ref)
{
	++container_of(ref, struct counted, c_ref)->c_released;
}

/* The last put releases, and only it. */
static void ref_last_put_releases(void **state)
{
	struct counted obj = { .c_released = 0 };

	(void)state;
	m0_ref_init(&obj.c_ref, 1, counted_release);
	m0_ref_get(&obj.c_ref);
	assert_int_equal(m0_ref_read(&obj.c_ref), 2);
	m0_ref_put(&obj.c_ref);
	assert_int_equal(obj.c_released, 0);
	m0_ref_put(&obj.c_ref);
	assert_int_equal(obj.c_released, 1);
	/* A dead object is not revived, nor buried twice. */
	assert_panics(m0_ref_get(&obj.c_ref));
	m0_ref_init(&obj.c_ref, 0, counted_release);
	assert_panics(m0_ref_put(&obj.c_ref));
}

/* Every operation returns what its name says. */
static void atomic64_operations_agree(void **state)
{
	struct m0_atomic64 a;

	(void)state;
	m0_atomic64_set(&a, 5);
	m0_atomic64_inc(&a);
	m0_atomic64_add(&a, 10);
	m0_atomic64_dec(&a);
	m0_atomic64_sub(&a, 3);
	assert_int_equal(m0_atomic64_get(&a), 12);
	assert_int_equal(m0_atomic64_add_return(&a, 3), 15);
	assert_int_equal(m0_atomic64_sub_return(&a, 14), 1);
	assert_true(m0_atomic64_dec_and_test(&a));
	assert_false(m0_atomic64_dec_and_test(&a));
	assert_true(m0_atomic64_inc_and_test(&a));
	assert_false(m0_atomic64_cas(&a.a_value, 1, 2));
	assert_true(m0_atomic64_cas(&a.a_value, 0, 2));
	assert_int_equal(m0_atomic64_get(&a), 2);
}

/* The library and its headers are of one version. */
static void version_is_that_of_headers(void **state)
{
	(void)state;
	assert_string_equal(m0_version(), M0_VERSION_STR);
	assert_string_equal(m0_version(), "0.2.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_copy_is_equal_and_apart),
		cmocka_unit_test(uint128_compares_high_half_first),
		cmocka_unit_test(ref_last_put_releases),
		cmocka_unit_test(atomic64_operations_agree),
		cmocka_unit_test(version_is_that_of_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

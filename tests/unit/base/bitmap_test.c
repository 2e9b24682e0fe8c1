/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include "base/rand.h"

/* Each bit is itself and no other, at the edges of words too. */
static void bitmap_set_touches_one_bit(void **state)
{
	static const size_t sizes[] = { 1, 63, 64, 65, 200 };
	struct m0_bitmap    map;
	size_t              s;
	size_t              i;

	(void)state;
	for (s = 0; s < ARRAY_SIZE(sizes); ++s) {
		assert_int_equal(m0_bitmap_init(&map, sizes[s]), 0);
		for (i = 0; i < sizes[s]; ++i) {
			assert_false(m0_bitmap_get(&map, i));
			m0_bitmap_set(&map, i, true);
			assert_true(m0_bitmap_get(&map, i));
			assert_int_equal(m0_bitmap_set_nr(&map), 1);
			assert_int_equal(m0_bitmap_next(&map, 0), i);
			m0_bitmap_set(&map, i, false);
		}
		assert_int_equal(m0_bitmap_next(&map, 0), sizes[s]);
		m0_bitmap_fini(&map);
	}
}

/* Against an array of bool, with random bits. */
static void bitmap_random_agrees_with_array(void **state)
{
	enum {
		NR = 300
	};
	bool             model[NR] = { false };
	struct m0_bitmap map;
	struct m0_rand   rand;
	size_t           i;
	size_t           nr = 0;

	(void)state;
	m0_rand_init(&rand, 42);
	assert_int_equal(m0_bitmap_init(&map, NR), 0);
	for (i = 0; i < 2000; ++i) {
		size_t at = m0_rand_below(&rand, NR);
		bool   val = m0_rand_chance(&rand, 500);

		model[at] = val;
		m0_bitmap_set(&map, at, val);
	}
	for (i = 0; i < NR; ++i) {
		assert_int_equal(m0_bitmap_get(&map, i), model[i]);
		nr += model[i];
	}
	assert_int_equal(m0_bitmap_set_nr(&map), nr);
	m0_bitmap_reset(&map);
	assert_int_equal(m0_bitmap_set_nr(&map), 0);
	m0_bitmap_fini(&map);
}

/* Lists of bits as people write sets of processors. */
static void bitmap_parse_reads_lists(void **state)
{
	static const char *const wrong[] = { "",
					     ",",
					     "-",
					     "5-",
					     "1,,2",
					     "7-5",
					     "1 2",
					     "70",
					     "0-70",
					     "1,",
					     "0x1",
					     "-1",
					     "99999999999999999999999" };
	struct m0_bitmap         map;
	size_t                   i;

	(void)state;
	assert_int_equal(m0_bitmap_init(&map, 70), 0);
	m0_bitmap_set(&map, 1, true);
	assert_int_equal(m0_bitmap_parse(&map, "0,2-5,69"), 0);
	assert_int_equal(m0_bitmap_set_nr(&map), 6);
	assert_true(m0_bitmap_get(&map, 0) && m0_bitmap_get(&map, 2) &&
		    m0_bitmap_get(&map, 5) && m0_bitmap_get(&map, 69));
	assert_int_equal(m0_bitmap_parse(&map, "7"), 0);
	assert_int_equal(m0_bitmap_set_nr(&map), 1);
	for (i = 0; i < ARRAY_SIZE(wrong); ++i) {
		assert_int_equal(m0_bitmap_parse(&map, wrong[i]), -EINVAL);
		assert_int_equal(m0_bitmap_set_nr(&map), 0);
	}
	m0_bitmap_fini(&map);
}

/* A copy into a larger map clears what the source lacks. */
static void bitmap_copy_clears_the_rest(void **state)
{
	struct m0_bitmap src;
	struct m0_bitmap dst;
	size_t           i;

	(void)state;
	assert_int_equal(m0_bitmap_init(&src, 70), 0);
	assert_int_equal(m0_bitmap_init(&dst, 200), 0);
	for (i = 0; i < 200; ++i)
		m0_bitmap_set(&dst, i, true);
	m0_bitmap_set(&src, 3, true);
	m0_bitmap_set(&src, 69, true);
	m0_bitmap_copy(&dst, &src);
	assert_int_equal(m0_bitmap_set_nr(&dst), 2);
	assert_true(m0_bitmap_get(&dst, 3) && m0_bitmap_get(&dst, 69));
	assert_panics(m0_bitmap_copy(&src, &dst));
	m0_bitmap_fini(&src);
	m0_bitmap_fini(&dst);
}

/* Bits of a word beyond the last bit belong neither to the map nor to a
 * copy. */
static void bitmap_bits_beyond_are_not_seen(void **state)
{
	struct m0_bitmap src;
	struct m0_bitmap dst;

	(void)state;
	assert_int_equal(m0_bitmap_init(&src, 70), 0);
	assert_int_equal(m0_bitmap_init(&dst, 200), 0);
	src.b_words[1] = UINT64_MAX << 8;
	assert_int_equal(m0_bitmap_next(&src, 0), 70);
	assert_int_equal(m0_bitmap_set_nr(&src), 0);
	m0_bitmap_copy(&dst, &src);
	assert_int_equal(m0_bitmap_set_nr(&dst), 0);
	m0_bitmap_fini(&src);
	m0_bitmap_fini(&dst);
}

/* A bit that is not there is a programmer's error. */
static void bitmap_out_of_range_panics(void **state)
{
	struct m0_bitmap map;

	(void)state;
	assert_int_equal(m0_bitmap_init(&map, 64), 0);
	assert_panics(m0_bitmap_get(&map, 64));
	assert_panics(m0_bitmap_set(&map, 64, true));
	m0_bitmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bitmap_set_touches_one_bit),
		cmocka_unit_test(bitmap_random_agrees_with_array),
		cmocka_unit_test(bitmap_parse_reads_lists),
		cmocka_unit_test(bitmap_copy_clears_the_rest),
		cmocka_unit_test(bitmap_bits_beyond_are_not_seen),
		cmocka_unit_test(bitmap_out_of_range_panics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

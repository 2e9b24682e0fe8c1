/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include <stdlib.h>

/* Lengths with empty segments at both ends and in the middle. */
static m0_bcount_t         counts[] = { 0, 3, 0, 0, 5, 1, 0 };
static const struct m0_vec vec = { .v_nr = ARRAY_SIZE(counts),
				   .v_count = counts };

/* The sum. */
static void vec_count_sums_segments(void **state)
{
	const struct m0_vec none = { 0, NULL };

	(void)state;
	assert_int_equal(m0_vec_count(&vec), 9);
	assert_int_equal(m0_vec_count(&none), 0);
}

/* A cursor never rests on an empty segment, nor at an end of one. */
static void vec_cursor_rests_on_bytes_only(void **state)
{
	struct m0_vec_cursor cur;
	m0_bcount_t          at;

	(void)state;
	m0_vec_cursor_init(&cur, &vec);
	for (at = 0; at < 9; ++at) {
		assert_true(counts[cur.vc_seg] > cur.vc_offset);
		assert_int_equal(m0_vec_cursor_step(&cur),
				 counts[cur.vc_seg] - cur.vc_offset);
		assert_int_equal(m0_vec_cursor_move(&cur, 1), at == 8);
	}
	assert_int_equal(cur.vc_seg, vec.v_nr);
	assert_true(m0_vec_cursor_move(&cur, 5));
	assert_panics(m0_vec_cursor_step(&cur));
}

/* Any way forward and back ends where one step would. */
static void vec_cursor_moves_add_up(void **state)
{
	struct m0_vec_cursor cur;
	struct m0_vec_cursor one;
	m0_bcount_t          a;
	m0_bcount_t          b;

	(void)state;
	for (a = 0; a <= 9; ++a) {
		for (b = 0; b <= a; ++b) {
			m0_vec_cursor_init(&cur, &vec);
			m0_vec_cursor_init(&one, &vec);
			(void)m0_vec_cursor_move(&cur, a);
			m0_vec_cursor_prev(&cur, b);
			(void)m0_vec_cursor_move(&cur, 0);
			(void)m0_vec_cursor_move(&one, a - b);
			assert_int_equal(cur.vc_seg, one.vc_seg);
			assert_int_equal(cur.vc_offset, one.vc_offset);
		}
	}
	m0_vec_cursor_init(&cur, &vec);
	assert_panics(m0_vec_cursor_prev(&cur, 1));
}

/* Segments as asked for: number, size, zeroes, alignment. */
static void bufvec_alloc_makes_segments(void **state)
{
	struct m0_bufvec bv = { { 0, NULL }, NULL };
	uint32_t         i;

	(void)state;
	assert_int_equal(m0_bufvec_alloc(&bv, 3, 100), 0);
	assert_int_equal(bv.ov_vec.v_nr, 3);
	assert_int_equal(m0_vec_count(&bv.ov_vec), 300);
	for (i = 0; i < 3; ++i)
		assert_int_equal(((char *)bv.ov_buf[i])[99], 0);
	m0_bufvec_free(&bv);
	assert_null(bv.ov_buf);
	assert_int_equal(bv.ov_vec.v_nr, 0);
	m0_bufvec_free(&bv);
	assert_int_equal(m0_bufvec_alloc_aligned(&bv, 4, 5000, 12), 0);
	for (i = 0; i < 4; ++i)
		assert_true(m0_is_aligned((uintptr_t)bv.ov_buf[i], 4096));
	m0_bufvec_free_aligned(&bv, 12);
}

/* Empty shapes are refused and leave the argument alone. */
static void bufvec_alloc_refuses_nothing(void **state)
{
	struct m0_bufvec bv;
	struct m0_bufvec before;

	(void)state;
	memset(&bv, 0x11, sizeof bv);
	before = bv;
	assert_int_equal(m0_bufvec_alloc(&bv, 0, 100), -EINVAL);
	assert_int_equal(m0_bufvec_alloc(&bv, 1, 0), -EINVAL);
	assert_int_equal(m0_bufvec_empty_alloc(&bv, 0), -EINVAL);
	assert_memory_equal(&bv, &before, sizeof bv);
}

static int left_nr;
static int live_nr;

static void *countdown_alloc(size_t size, unsigned shift)
{
	void *data;

	if (left_nr-- == 0 ||
	    posix_memalign(&data, (size_t)1 << shift, size) != 0)
		return NULL;
	++live_nr;
	return memset(data, 0, size);
}

static void countdown_free(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	--live_nr;
	free(data);
}

/* Whichever allocation fails, nothing leaks and nothing changes. */
static void bufvec_alloc_failure_leaks_nothing(void **state)
{
	static const struct m0_alloc_ops ops = { countdown_alloc,
						 countdown_free };
	struct m0_bufvec                 bv = { { 0, NULL }, NULL };
	int                              fail_at = 0;
	int                              rc;

	(void)state;
	(void)m0_alloc_hook_set(&ops);
	do {
		left_nr = fail_at++;
		rc = m0_bufvec_alloc_aligned(&bv, 3, 64, 6);
		assert_true(rc == 0 || rc == -ENOMEM);
		if (rc != 0) {
			assert_int_equal(live_nr, 0);
			assert_null(bv.ov_buf);
		}
	} while (rc != 0);
	assert_int_equal(fail_at, 6);
	left_nr = -1;
	m0_bufvec_free_aligned(&bv, 6);
	assert_int_equal(live_nr, 0);
	(void)m0_alloc_hook_set(NULL);
}

/* free2 leaves the segments to their owner. */
static void bufvec_free2_keeps_segments(void **state)
{
	struct m0_bufvec bv;
	char             data[4] = "abc";

	(void)state;
	assert_int_equal(m0_bufvec_empty_alloc(&bv, 2), 0);
	bv.ov_buf[1] = data;
	bv.ov_vec.v_count[1] = sizeof data;
	m0_bufvec_free2(&bv);
	assert_null(bv.ov_buf);
	assert_string_equal(data, "abc");
}

/* The cursor finds the next aligned address, over segments too. */
static void bufvec_cursor_align_finds_address(void **state)
{
	_Alignas(8) char        data[32];
	void                   *bufs[2] = { data + 1, data + 13 };
	m0_bcount_t             lens[2] = { 5, 10 };
	struct m0_bufvec        bv = { { 2, lens }, bufs };
	struct m0_bufvec_cursor cur;

	(void)state;
	m0_bufvec_cursor_init(&cur, &bv);
	assert_false(m0_bufvec_cursor_align(&cur, 1));
	assert_ptr_equal(m0_bufvec_cursor_addr(&cur), data + 1);
	assert_false(m0_bufvec_cursor_align(&cur, 4));
	assert_ptr_equal(m0_bufvec_cursor_addr(&cur), data + 4);
	assert_false(m0_bufvec_cursor_align(&cur, 8));
	assert_ptr_equal(m0_bufvec_cursor_addr(&cur), data + 16);
	assert_false(m0_bufvec_cursor_move(&cur, 1));
	assert_true(m0_bufvec_cursor_align(&cur, 8));
	assert_panics(m0_bufvec_cursor_align(&cur, 3));
}

/* Nothing of a segment that begins aligned is passed over on the way to it. */
static void bufvec_cursor_align_stops_at_segment(void **state)
{
	_Alignas(8) char        data[32];
	void                   *bufs[2] = { data + 1, data + 16 };
	m0_bcount_t             lens[2] = { 2, 10 };
	struct m0_bufvec        bv = { { 2, lens }, bufs };
	struct m0_bufvec_cursor cur;

	(void)state;
	m0_bufvec_cursor_init(&cur, &bv);
	assert_false(m0_bufvec_cursor_align(&cur, 8));
	assert_ptr_equal(m0_bufvec_cursor_addr(&cur), data + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vec_count_sums_segments),
		cmocka_unit_test(vec_cursor_rests_on_bytes_only),
		cmocka_unit_test(vec_cursor_moves_add_up),
		cmocka_unit_test(bufvec_alloc_makes_segments),
		cmocka_unit_test(bufvec_alloc_refuses_nothing),
		cmocka_unit_test(bufvec_alloc_failure_leaks_nothing),
		cmocka_unit_test(bufvec_free2_keeps_segments),
		cmocka_unit_test(bufvec_cursor_align_finds_address),
		cmocka_unit_test(bufvec_cursor_align_stops_at_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

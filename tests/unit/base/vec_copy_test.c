/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Copies of random shapes, against a flat model with guard bytes between. */
#include "panics.h"

#include <sys/uio.h>

#include "base/rand.h"

enum {
	SEGS_MAX = 8,
	SEG_MAX = 24,
	GUARD = 8,
	ROUNDS = 4000
};
enum {
	ARENA = SEGS_MAX * (SEG_MAX + GUARD) + GUARD
};
enum {
	GUARD_BYTE = 0xa5
};

/* A buffer whose segments lie in one arena, some of them touching. */
struct shape {
	uint8_t          sh_arena[ARENA];
	bool             sh_used[ARENA];
	struct m0_bufvec sh_bv;
	m0_bcount_t      sh_count[SEGS_MAX];
	void            *sh_buf[SEGS_MAX];
};

static void shape_make(struct shape *shape, struct m0_rand *rand)
{
	size_t   at = GUARD;
	uint32_t nr = (uint32_t)m0_rand_in(rand, 1, SEGS_MAX);
	uint32_t i;

	memset(shape->sh_arena, GUARD_BYTE, sizeof shape->sh_arena);
	memset(shape->sh_used, 0, sizeof shape->sh_used);
	for (i = 0; i < nr; ++i) {
		size_t len = m0_rand_chance(rand, 200)
				     ? 0
				     : m0_rand_below(rand, SEG_MAX + 1);

		shape->sh_buf[i] = shape->sh_arena + at;
		shape->sh_count[i] = len;
		memset(shape->sh_used + at, 1, len);
		at += len;
		if (m0_rand_chance(rand, 500))
			at += GUARD;
	}
	shape->sh_bv.ov_vec.v_nr = nr;
	shape->sh_bv.ov_vec.v_count = shape->sh_count;
	shape->sh_bv.ov_buf = shape->sh_buf;
}

/* Address of byte `off`, the slow and sure way. */
static uint8_t *shape_at(struct shape *shape, m0_bindex_t off)
{
	uint32_t i;

	for (i = 0; off >= shape->sh_count[i]; ++i)
		off -= shape->sh_count[i];
	return (uint8_t *)shape->sh_buf[i] + off;
}

static m0_bcount_t shape_size(const struct shape *shape)
{
	return m0_vec_count(&shape->sh_bv.ov_vec);
}

static void shape_fill(struct shape *shape, struct m0_rand *rand)
{
	m0_bindex_t off;

	for (off = 0; off < shape_size(shape); ++off)
		*shape_at(shape, off) = (uint8_t)m0_rand_next(rand);
}

/* Bytes of no segment are as they were. */
static void shape_guards_check(const struct shape *shape)
{
	size_t i;

	for (i = 0; i < ARENA; ++i) {
		if (!shape->sh_used[i])
			assert_int_equal(shape->sh_arena[i], GUARD_BYTE);
	}
}

static struct shape dst;
static struct shape src;

/* copy_at puts every byte where it belongs and touches no other. */
static void copy_at_random_shapes_match_model(void **state)
{
	static uint8_t before[ARENA];
	struct m0_rand rand;
	int            round;

	(void)state;
	m0_rand_init(&rand, 2024);
	for (round = 0; round < ROUNDS; ++round) {
		m0_bindex_t doff;
		m0_bindex_t soff;
		m0_bcount_t nr = m0_rand_below(&rand, 80);
		m0_bcount_t want;
		m0_bindex_t off;

		shape_make(&dst, &rand);
		shape_make(&src, &rand);
		shape_fill(&dst, &rand);
		shape_fill(&src, &rand);
		doff = m0_rand_below(&rand, shape_size(&dst) + 5);
		soff = m0_rand_below(&rand, shape_size(&src) + 5);
		for (off = 0; off < shape_size(&dst); ++off)
			before[off] = *shape_at(&dst, off);
		want = min64u(nr, min64u(m0_time_sub(shape_size(&dst), doff),
					 m0_time_sub(shape_size(&src), soff)));
		assert_int_equal(m0_bufvec_copy_at(&dst.sh_bv, doff, &src.sh_bv,
						   soff, nr),
				 want);
		for (off = 0; off < shape_size(&dst); ++off) {
			bool in = off >= doff && off < doff + want;

			assert_int_equal(*shape_at(&dst, off),
					 in ? *shape_at(&src, off - doff + soff)
					    : before[off]);
		}
		shape_guards_check(&dst);
		shape_guards_check(&src);
	}
}

/* The cursor's copy, in random pieces, moves both cursors along. */
static void cursor_copy_random_pieces_match_model(void **state)
{
	struct m0_rand rand;
	int            round;

	(void)state;
	m0_rand_init(&rand, 77);
	for (round = 0; round < ROUNDS / 4; ++round) {
		struct m0_bufvec_cursor dcur;
		struct m0_bufvec_cursor scur;
		m0_bcount_t             size;
		m0_bcount_t             done = 0;

		shape_make(&dst, &rand);
		shape_make(&src, &rand);
		shape_fill(&src, &rand);
		size = min64u(shape_size(&dst), shape_size(&src));
		m0_bufvec_cursor_init(&dcur, &dst.sh_bv);
		m0_bufvec_cursor_init(&scur, &src.sh_bv);
		while (done < size) {
			m0_bcount_t nr = m0_rand_in(&rand, 1, 20);

			assert_int_equal(m0_bufvec_cursor_copy(&dcur, &scur,
							       nr),
					 min64u(nr, size - done));
			done += min64u(nr, size - done);
		}
		assert_int_equal(m0_bufvec_cursor_copy(&dcur, &scur, 1), 0);
		while (size-- > 0)
			assert_int_equal(*shape_at(&dst, size),
					 *shape_at(&src, size));
		shape_guards_check(&dst);
	}
}

/* Out to flat memory and in again gives the same bytes. */
static void cursor_copyto_inverts_copyfrom(void **state)
{
	uint8_t        flat[ARENA + 1];
	struct m0_rand rand;
	int            round;

	(void)state;
	m0_rand_init(&rand, 5);
	for (round = 0; round < 300; ++round) {
		struct m0_bufvec_cursor cur;
		m0_bcount_t             size;

		shape_make(&src, &rand);
		shape_fill(&src, &rand);
		size = shape_size(&src);
		memset(flat, 0x77, sizeof flat);
		m0_bufvec_cursor_init(&cur, &src.sh_bv);
		assert_int_equal(m0_bufvec_cursor_copyfrom(&cur, flat, ARENA),
				 size);
		assert_int_equal(flat[size], 0x77);
		memcpy(&dst, &src, sizeof src);
		shape_fill(&src, &rand);
		m0_bufvec_cursor_init(&cur, &src.sh_bv);
		assert_int_equal(m0_bufvec_cursor_copyto(&cur, flat, size),
				 size);
		assert_memory_equal(src.sh_arena, dst.sh_arena, ARENA);
	}
}

/* The form for system calls names the same bytes, touching ones merged. */
static void iovec_random_shapes_match_model(void **state)
{
	struct iovec   iov[SEGS_MAX];
	struct m0_rand rand;
	int            round;

	(void)state;
	m0_rand_init(&rand, 31);
	for (round = 0; round < ROUNDS; ++round) {
		uint32_t    max = (uint32_t)m0_rand_in(&rand, 0, SEGS_MAX);
		m0_bindex_t off;
		m0_bcount_t nr = m0_rand_below(&rand, 100);
		m0_bcount_t told;
		m0_bcount_t sum = 0;
		uint32_t    got;
		uint32_t    i;
		size_t      j;

		shape_make(&src, &rand);
		off = m0_rand_below(&rand, shape_size(&src) + 3);
		got = m0_bufvec_iovec(&src.sh_bv, off, nr, iov, max, &told);
		assert_true(got <= max);
		for (i = 0; i < got; ++i) {
			assert_true(iov[i].iov_len > 0);
			for (j = 0; j < iov[i].iov_len; ++j, ++sum)
				assert_ptr_equal((uint8_t *)iov[i].iov_base + j,
						 shape_at(&src, off + sum));
			if (i > 0)
				assert_ptr_not_equal(
					(char *)iov[i - 1].iov_base +
						iov[i - 1].iov_len,
					iov[i].iov_base);
		}
		assert_int_equal(sum, told);
		if (got < max)
			assert_int_equal(
				told,
				min64u(nr, m0_time_sub(shape_size(&src), off)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_at_random_shapes_match_model),
		cmocka_unit_test(cursor_copy_random_pieces_match_model),
		cmocka_unit_test(cursor_copyto_inverts_copyfrom),
		cmocka_unit_test(iovec_random_shapes_match_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Small helpers of the reference that its clients use and this library does
 * not. Each header of lib/ includes all of them, so a client gets a helper from
 * whichever of these headers it includes.
 */
#ifndef M0_COMPAT_HELPERS_H
#define M0_COMPAT_HELPERS_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arithmetic --------------------------------------------------------------- */

static inline uint32_t min32u(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max32u(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline int32_t min32(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static inline int32_t max32(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

static inline uint32_t clip32u(uint32_t lo, uint32_t hi, uint32_t x)
{
	return x < lo ? lo : x > hi ? hi : x;
}

#define min_type(type, a, b) min_check((type)(a), (type)(b))
#define max_type(type, a, b) max_check((type)(a), (type)(b))

/**
 * Returns the least multiple of `step`, any number but 0, that is not below
 * `x`.
 */
static inline uint64_t m0_round_up(uint64_t x, uint64_t step)
{
	return (x + step - 1) / step * step;
}

static inline uint64_t m0_round_down(uint64_t x, uint64_t step)
{
	return x / step * step;
}

/* clang-format off */

/** -1, 0 or 1 if `a` is below, equal to or above `b`. */
#define M0_3WAY(a, b) ({                   \
	__typeof__(a) m0_3way_a = (a);     \
	__typeof__(b) m0_3way_b = (b);     \
	(m0_3way_a > m0_3way_b) - (m0_3way_a < m0_3way_b); })

/** Adds 1 to a counter that must not overflow. */
#define M0_CNT_INC(cnt) ({                                  \
	__typeof__(cnt) *m0_cnt = &(cnt);                   \
	M0_ASSERT((__typeof__(cnt))(*m0_cnt + 1) != 0);     \
	++*m0_cnt; })
/** Subtracts 1 from a counter that must not be 0. */
#define M0_CNT_DEC(cnt) ({                                  \
	__typeof__(cnt) *m0_cnt = &(cnt);                   \
	M0_ASSERT(*m0_cnt != 0);                            \
	--*m0_cnt; })

#define M0_SWAP(a, b) ({                   \
	__typeof__(a) *m0_swap_a = &(a);   \
	__typeof__(b) *m0_swap_b = &(b);   \
	__typeof__(a) m0_swap = *m0_swap_a; \
	*m0_swap_a = *m0_swap_b;           \
	*m0_swap_b = m0_swap;              \
	(void)0; })

/** Fails the compilation if `cond` is false; a statement. */
#define M0_CASSERT(cond) do { M0_BASSERT(cond); } while (0)

/* clang-format on */

/* Strings ------------------------------------------------------------------ */

static inline bool m0_streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/** Returns a copy, which the caller frees with m0_free(); NULL: no memory. */
static inline char *m0_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char  *copy = (char *)m0_alloc(size);

	if (copy != NULL)
		memcpy(copy, text, size);
	return copy;
}

/* Atomics, bitmaps, vectors ------------------------------------------------ */

/**
 * Replaces `old` by `fresh`. Returns false, and changes nothing, if `*loc` had
 * another value.
 */
static inline bool m0_atomic64_cas_ptr(void **loc, void *old, void *fresh)
{
	return __atomic_compare_exchange_n(loc, &old, fresh, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/** Returns the first clear bit; -1 if all are set. */
static inline int m0_bitmap_ffz(const struct m0_bitmap *map)
{
	size_t i;

	for (i = 0; i < map->b_nr; ++i) {
		if (!m0_bitmap_get(map, i))
			return (int)i;
	}
	return -1;
}

enum {
	/**
	 * Segments of buffers are a page each if the client does not choose.
	 */
	M0_SEG_SHIFT = 12,
	M0_SEG_SIZE = 1 << M0_SEG_SHIFT
};

/**
 * Copies up to `num_bytes` from the start of one buffer to that of the other.
 */
static inline m0_bcount_t m0_bufvec_copy(struct m0_bufvec *dst,
					 struct m0_bufvec *src,
					 m0_bcount_t       num_bytes)
{
	struct m0_bufvec_cursor to;
	struct m0_bufvec_cursor from;

	m0_bufvec_cursor_init(&to, dst);
	m0_bufvec_cursor_init(&from, src);
	return m0_bufvec_cursor_copy(&to, &from, num_bytes);
}

/* Lists -------------------------------------------------------------------- */

/* clang-format off */

/**
 * Folds a list: `accum` starts as `init` and becomes the value of the
 * expression for each object `var`.
 */
#define m0_tl_fold(name, var, head, accum, init, ...) ({                       \
	__typeof__(init) accum = (init);                                       \
	__typeof__(name##_tlist_head(NULL)) var;                               \
	m0_tl_foreach(name, head, var)                                         \
		accum = (__typeof__(accum))({ __VA_ARGS__; });                 \
	accum; })

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif /* M0_COMPAT_HELPERS_H */

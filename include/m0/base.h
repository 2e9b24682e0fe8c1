/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The base of every other header of the library: numbers, memory, reference
 * counts, atomics, sets of bits, buffers, the version. It includes macro.h,
 * assert.h, time.h, log.h, list.h, vec.h and sync.h.
 *
 * Unless said otherwise, any thread may call a function declared here, and the
 * owner of an object protects it.
 */
#ifndef M0_BASE_H
#define M0_BASE_H

#include <errno.h>
#include <inttypes.h>

#include "m0/macro.h"
#include "m0/assert.h"
#include "m0/time.h"
#include "m0/log.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Number of bytes. */
typedef uint64_t m0_bcount_t;
/** Offset of a byte. */
typedef uint64_t m0_bindex_t;

#define M0_BCOUNT_MAX (~(m0_bcount_t)0)
#define M0_BINDEX_MAX (~(m0_bindex_t)0)

/* Version ------------------------------------------------------------------ */

#define M0_VERSION_MAJOR 0
#define M0_VERSION_MINOR 2
#define M0_VERSION_PATCH 0
#define M0_VERSION_STR           \
	M0_STR(M0_VERSION_MAJOR) \
	"." M0_STR(M0_VERSION_MINOR) "." M0_STR(M0_VERSION_PATCH)
/**
 * Returns the version of the library that runs, such as "0.2.0". The macros
 * have the version of the headers.
 */
M0_EXTERN const char *m0_version(void);

/* Memory ------------------------------------------------------------------- */

/**
 * A replaceable allocator, for programs that count allocations or make them
 * fail.
 */
struct m0_alloc_ops {
	/**
	 * Returns zeroed memory at a multiple of 2^shift bytes; NULL: no
	 * memory.
	 */
	void *(*ao_alloc)(size_t size, unsigned shift);
	/**
	 * Frees memory. Size and shift are those of the allocation; size is 0
	 * if the caller does not know it.
	 */
	void (*ao_free)(void *data, size_t size, unsigned shift);
};

/**
 * Installs an allocator; NULL: the C library's. Memory must be freed by the
 * allocator that it came from.
 * @return the previous allocator.
 */
M0_EXTERN const struct m0_alloc_ops *m0_alloc_hook_set(
	const struct m0_alloc_ops *ops);

/** Returns zeroed memory, aligned for any type; NULL: no memory. */
M0_EXTERN void *m0_alloc(size_t size) __attribute__((malloc, alloc_size(1)));
/**
 * Returns a zeroed array; NULL: no memory, or its size does not fit a size_t.
 */
M0_EXTERN void *m0_alloc_arr(size_t nr, size_t size)
	__attribute__((malloc, alloc_size(1, 2)));
/** Frees memory of m0_alloc(). NULL is allowed. */
M0_EXTERN void m0_free(void *data);
/** Returns zeroed memory at a multiple of 2^shift bytes; NULL: no memory. */
M0_EXTERN void *m0_alloc_aligned(size_t size, unsigned shift)
	__attribute__((malloc, alloc_size(1)));
/**
 * Frees memory of m0_alloc_aligned(), with the same `size` and `shift`. NULL is
 * allowed.
 */
M0_EXTERN void m0_free_aligned(void *data, size_t size, unsigned shift);

/** Allocates what `ptr` points to. */
#define M0_ALLOC_PTR(ptr) ((ptr) = m0_alloc(sizeof *(ptr)))
/** Allocates `nr` elements. */
#define M0_ALLOC_ARR(arr, nr) ((arr) = m0_alloc_arr((nr), sizeof *(arr)))
/** Frees `*pptr` and makes it NULL. */
/* clang-format off */
#define m0_free0(pptr) ({                  \
	__typeof__(pptr) m0_pptr = (pptr); \
	m0_free(*m0_pptr);                 \
	*m0_pptr = NULL;                   \
	(void)0; })
/* clang-format on */

/* Atomics ------------------------------------------------------------------ */

/**
 * A 64-bit counter. Changes are sequentially consistent, `get` is an acquire,
 * `set` a release.
 */
struct m0_atomic64 {
	int64_t a_value;
};

static inline void m0_atomic64_set(struct m0_atomic64 *a, int64_t value)
{
	__atomic_store_n(&a->a_value, value, __ATOMIC_RELEASE);
}

static inline int64_t m0_atomic64_get(const struct m0_atomic64 *a)
{
	return __atomic_load_n(&a->a_value, __ATOMIC_ACQUIRE);
}

static inline int64_t m0_atomic64_add_return(struct m0_atomic64 *a, int64_t d)
{
	return __atomic_add_fetch(&a->a_value, d, __ATOMIC_SEQ_CST);
}

static inline int64_t m0_atomic64_sub_return(struct m0_atomic64 *a, int64_t d)
{
	return __atomic_sub_fetch(&a->a_value, d, __ATOMIC_SEQ_CST);
}

static inline void m0_atomic64_add(struct m0_atomic64 *a, int64_t d)
{
	(void)m0_atomic64_add_return(a, d);
}

static inline void m0_atomic64_sub(struct m0_atomic64 *a, int64_t d)
{
	(void)m0_atomic64_sub_return(a, d);
}

static inline void m0_atomic64_inc(struct m0_atomic64 *a)
{
	m0_atomic64_add(a, 1);
}

static inline void m0_atomic64_dec(struct m0_atomic64 *a)
{
	m0_atomic64_sub(a, 1);
}

/** True if the counter became 0. */
static inline bool m0_atomic64_inc_and_test(struct m0_atomic64 *a)
{
	return m0_atomic64_add_return(a, 1) == 0;
}

static inline bool m0_atomic64_dec_and_test(struct m0_atomic64 *a)
{
	return m0_atomic64_sub_return(a, 1) == 0;
}

/**
 * Replaces `old` by `fresh`. Returns false, and changes nothing, if `*loc` had
 * another value.
 */
static inline bool m0_atomic64_cas(int64_t *loc, int64_t old, int64_t fresh)
{
	return __atomic_compare_exchange_n(loc, &old, fresh, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* References --------------------------------------------------------------- */

/**
 * A reference count: the object that holds it is released when the count
 * becomes 0.
 */
struct m0_ref {
	struct m0_atomic64 ref_cnt;
	/** The put that drops the last reference calls it, on its own stack. */
	void (*release)(struct m0_ref *ref);
};

static inline void m0_ref_init(struct m0_ref *ref, int init_nr,
			       void (*release)(struct m0_ref *ref))
{
	m0_atomic64_set(&ref->ref_cnt, init_nr);
	ref->release = release;
}

/** Takes another reference. Pre: there is one already. */
static inline void m0_ref_get(struct m0_ref *ref)
{
	int64_t nr = m0_atomic64_add_return(&ref->ref_cnt, 1);

	M0_ASSERT(nr > 1);
}

static inline void m0_ref_put(struct m0_ref *ref)
{
	int64_t nr = m0_atomic64_sub_return(&ref->ref_cnt, 1);

	M0_ASSERT(nr >= 0);
	if (nr == 0 && ref->release != NULL)
		ref->release(ref);
}

static inline int64_t m0_ref_read(const struct m0_ref *ref)
{
	return m0_atomic64_get(&ref->ref_cnt);
}

/* Bitmap ------------------------------------------------------------------- */

/** An array of bits; bit `i` is bit `i % 64` of word `i / 64`. */
struct m0_bitmap {
	size_t    b_nr;
	uint64_t *b_words;
};

/**
 * Allocates `nr` clear bits.
 * @retval -ENOMEM
 */
M0_EXTERN int  m0_bitmap_init(struct m0_bitmap *map, size_t nr);
M0_EXTERN void m0_bitmap_fini(struct m0_bitmap *map);
/**
 * Copies a bitmap. Bits that `src` does not have are cleared. Pre: dst->b_nr >=
 * src->b_nr.
 */
M0_EXTERN void m0_bitmap_copy(struct m0_bitmap       *dst,
			      const struct m0_bitmap *src);
/** Clears all bits. */
M0_EXTERN void m0_bitmap_reset(struct m0_bitmap *map);
/** Returns the number of set bits. */
M0_EXTERN size_t m0_bitmap_set_nr(const struct m0_bitmap *map);
/**
 * Sets the bits that `text` names, such as "0-3,8", and clears the others.
 * @retval -EINVAL  `text` is not such a list, or names a bit that `map` does
 *                  not have; all bits are clear.
 */
M0_EXTERN int m0_bitmap_parse(struct m0_bitmap *map, const char *text);
/** Returns the first set bit at or after `idx`; b_nr if there is none. */
M0_EXTERN size_t m0_bitmap_next(const struct m0_bitmap *map, size_t idx);

static inline bool m0_bitmap_get(const struct m0_bitmap *map, size_t idx)
{
	M0_PRE(idx < map->b_nr);
	return (map->b_words[idx / 64] >> (idx % 64)) & 1;
}

static inline void m0_bitmap_set(struct m0_bitmap *map, size_t idx, bool val)
{
	uint64_t bit = 1ULL << (idx % 64);

	M0_PRE(idx < map->b_nr);
	if (val)
		map->b_words[idx / 64] |= bit;
	else
		map->b_words[idx / 64] &= ~bit;
}

/* Flat buffer, 128-bit numbers, pseudo-random numbers ---------------------- */

/** A flat buffer. */
struct m0_buf {
	m0_bcount_t b_nob;
	void       *b_addr;
};

/* clang-format off */
#define M0_BUF_INIT(size, data) { .b_nob = (size), .b_addr = (data) }
#define M0_BUF_INIT0 M0_BUF_INIT(0, NULL)
/* clang-format on */

static inline void m0_buf_init(struct m0_buf *buf, void *data, m0_bcount_t nob)
{
	buf->b_nob = nob;
	buf->b_addr = data;
}

static inline bool m0_buf_is_set(const struct m0_buf *buf)
{
	return buf->b_nob > 0 && buf->b_addr != NULL;
}

/**
 * Allocates a buffer.
 * @retval -ENOMEM  `buf` is unchanged.
 */
M0_EXTERN int m0_buf_alloc(struct m0_buf *buf, m0_bcount_t nob);
/** Frees the bytes and empties `buf`. */
M0_EXTERN void m0_buf_free(struct m0_buf *buf);
/**
 * Allocates a copy.
 * @retval -ENOMEM
 */
M0_EXTERN int  m0_buf_copy(struct m0_buf *dst, const struct m0_buf *src);
M0_EXTERN bool m0_buf_eq(const struct m0_buf *a, const struct m0_buf *b);

struct m0_uint128 {
	uint64_t u_hi;
	uint64_t u_lo;
};

#define M0_UINT128(hi, lo) ((struct m0_uint128){ .u_hi = (hi), .u_lo = (lo) })

static inline void m0_uint128_init(struct m0_uint128 *u, uint64_t hi,
				   uint64_t lo)
{
	u->u_hi = hi;
	u->u_lo = lo;
}

static inline bool m0_uint128_eq(const struct m0_uint128 *a,
				 const struct m0_uint128 *b)
{
	return a->u_hi == b->u_hi && a->u_lo == b->u_lo;
}

/**
 * Returns a negative number, 0 or a positive number if `a` is below, equal to
 * or above `b`.
 */
static inline int m0_uint128_cmp(const struct m0_uint128 *a,
				 const struct m0_uint128 *b)
{
	return a->u_hi != b->u_hi ? (a->u_hi < b->u_hi ? -1 : 1)
				  : (a->u_lo > b->u_lo) - (a->u_lo < b->u_lo);
}

/**
 * Returns the next number of a pseudo-random sequence, which the first `*seed`
 * determines. Not for secrets.
 */
M0_EXTERN uint64_t m0_rnd64(uint64_t *seed);
/** Returns the next number of such a sequence in [0, max). Pre: max > 0. */
M0_EXTERN uint64_t m0_rnd(uint64_t max, uint64_t *seed);

#ifdef __cplusplus
}
#endif

#include "m0/list.h"
#include "m0/vec.h"
#include "m0/sync.h"

#endif /* M0_BASE_H */

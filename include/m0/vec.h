/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Vectors of counts, scatter-gather buffers, cursors over both, and the copy
 * functions of the data path.
 */
#ifndef M0_VEC_H
#define M0_VEC_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct iovec;

/** A vector of segment lengths, any of which may be 0. */
struct m0_vec {
	uint32_t     v_nr;
	m0_bcount_t *v_count;
};

/** Returns the sum of the lengths. O(segments). */
static inline m0_bcount_t m0_vec_count(const struct m0_vec *vec)
{
	m0_bcount_t sum = 0;
	uint32_t    i;

	/*
	 * This is the most frequent case, and each buffer gets here several
	 * times.
	 */
	if (vec->v_nr == 1)
		return vec->v_count[0];
	for (i = 0; i < vec->v_nr; ++i)
		sum += vec->v_count[i];
	return sum;
}

/**
 * A position in a vector. The cursor is never at the end of a segment or in an
 * empty one, except at the very end, where vc_seg is v_nr and vc_offset 0.
 */
struct m0_vec_cursor {
	const struct m0_vec *vc_vec;
	uint32_t             vc_seg;
	m0_bcount_t          vc_offset;
};

M0_EXTERN void m0_vec_cursor_init(struct m0_vec_cursor *cur,
				  const struct m0_vec  *vec);
/**
 * Moves `count` forward, or to the end. Returns true if the cursor is at the
 * end.
 */
M0_EXTERN bool m0_vec_cursor_move(struct m0_vec_cursor *cur, m0_bcount_t count);
/** Moves `count` back. Pre: at least `count` lie before the cursor. */
M0_EXTERN void m0_vec_cursor_prev(struct m0_vec_cursor *cur, m0_bcount_t count);
/** Returns the rest of the current segment. Pre: not at the end. */
M0_EXTERN m0_bcount_t m0_vec_cursor_step(const struct m0_vec_cursor *cur);

/** A scatter-gather buffer. */
struct m0_bufvec {
	struct m0_vec ov_vec;
	void        **ov_buf;
};

/* clang-format off */
/**
 * Initialises a buffer of one segment; `addr_ptr` and `count_ptr` point to its
 * address and length.
 */
#define M0_BUFVEC_INIT_BUF(addr_ptr, count_ptr) {   \
	.ov_vec = {                                 \
		.v_nr = 1,                          \
		.v_count = (count_ptr)              \
	},                                          \
	.ov_buf = (addr_ptr)                        \
}
/* clang-format on */

/**
 * Allocates `num_segs` segments of `seg_size` zeroed bytes each.
 * @retval -EINVAL  either is 0.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_bufvec_alloc(struct m0_bufvec *bufvec, uint32_t num_segs,
			      m0_bcount_t seg_size);
/**
 * As m0_bufvec_alloc(), but each segment is at a multiple of 2^shift. From shift
 * 12 (a page) on, the memory comes out of a few large regions that all such
 * buffers share, which a driver registers once.
 */
M0_EXTERN int m0_bufvec_alloc_aligned(struct m0_bufvec *bufvec,
				      uint32_t num_segs, m0_bcount_t seg_size,
				      unsigned shift);
/** Allocates the arrays for `num_segs` segments, all NULL and of length 0. */
M0_EXTERN int m0_bufvec_empty_alloc(struct m0_bufvec *bufvec,
				    uint32_t          num_segs);
/** Frees segments and arrays, and empties `bufvec`, which may be empty. */
M0_EXTERN void m0_bufvec_free(struct m0_bufvec *bufvec);
/**
 * Frees a buffer of m0_bufvec_alloc_aligned(). Pre: the same `shift`, and
 * unchanged lengths.
 */
M0_EXTERN void m0_bufvec_free_aligned(struct m0_bufvec *bufvec, unsigned shift);
/** Frees the arrays but not the segments. */
M0_EXTERN void m0_bufvec_free2(struct m0_bufvec *bufvec);

/** A position in a buffer. */
struct m0_bufvec_cursor {
	const struct m0_bufvec *bc_bv;
	struct m0_vec_cursor    bc_vc;
};

M0_EXTERN void m0_bufvec_cursor_init(struct m0_bufvec_cursor *cur,
				     const struct m0_bufvec  *bvec);
/**
 * Moves `count` forward, or to the end. Returns true if the cursor is at the
 * end.
 */
M0_EXTERN bool m0_bufvec_cursor_move(struct m0_bufvec_cursor *cur,
				     m0_bcount_t              count);
/** Moves `count` back. Pre: at least `count` lie before the cursor. */
M0_EXTERN void m0_bufvec_cursor_prev(struct m0_bufvec_cursor *cur,
				     m0_bcount_t              count);
/** Returns the bytes left in the current segment. Pre: not at the end. */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_step(const struct m0_bufvec_cursor *cur);
/** Returns the address of the next byte. Pre: not at the end. */
M0_EXTERN void *m0_bufvec_cursor_addr(const struct m0_bufvec_cursor *cur);
/**
 * Moves forward to the next address that is a multiple of `alignment`, a power
 * of two. Returns true if the cursor is at the end.
 */
M0_EXTERN bool m0_bufvec_cursor_align(struct m0_bufvec_cursor *cur,
				      uint64_t                 alignment);
/**
 * Copies up to `num_bytes` from one cursor to the other and moves both.
 * @return bytes copied; fewer only if one of the cursors reached its end.
 */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_copy(struct m0_bufvec_cursor *dcur,
					    struct m0_bufvec_cursor *scur,
					    m0_bcount_t              num_bytes);
/** As m0_bufvec_cursor_copy(), but from flat memory. */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_copyto(struct m0_bufvec_cursor *dcur,
					      const void              *sdata,
					      m0_bcount_t num_bytes);
/** As m0_bufvec_cursor_copy(), but to flat memory. */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_copyfrom(struct m0_bufvec_cursor *scur,
						void                    *ddata,
						m0_bcount_t num_bytes);

/**
 * Returns the address of bytes [off, off + nr) if they are all in the first
 * segment; otherwise, or if `nr` is 0, NULL.
 */
static inline void *m0_bufvec_span(const struct m0_bufvec *bufvec,
				   m0_bindex_t off, m0_bcount_t nr)
{
	if (M0_LIKELY(bufvec->ov_vec.v_nr > 0 && nr > 0)) {
		m0_bcount_t size = bufvec->ov_vec.v_count[0];

		if (M0_LIKELY(off <= size && nr <= size - off))
			return (char *)bufvec->ov_buf[0] + off;
	}
	return NULL;
}

/** m0_bufvec_copy_at() for all but the simplest layouts. */
M0_EXTERN m0_bcount_t m0_bufvec_copy_slow(const struct m0_bufvec *dst,
					  m0_bindex_t             dst_off,
					  const struct m0_bufvec *src,
					  m0_bindex_t src_off, m0_bcount_t nr);

/**
 * Copies up to `nr` bytes between two offsets. The buffers must not overlap.
 * Adjacent segments are copied as one.
 * @return bytes copied; fewer only if an end was reached.
 */
static inline m0_bcount_t m0_bufvec_copy_at(const struct m0_bufvec *dst,
					    m0_bindex_t             dst_off,
					    const struct m0_bufvec *src,
					    m0_bindex_t src_off, m0_bcount_t nr)
{
	void *to = m0_bufvec_span(dst, dst_off, nr);
	void *from = m0_bufvec_span(src, src_off, nr);

	if (M0_LIKELY(to != NULL && from != NULL)) {
		memcpy(to, from, nr);
		return nr;
	}
	return m0_bufvec_copy_slow(dst, dst_off, src, src_off, nr);
}

/**
 * Describes bytes [off, off + nr) as an array for system calls. Adjacent
 * segments become one element.
 * @param ret_iov  array of `iov_max` elements.
 * @param ret_nr   bytes described, fewer than `nr` if `iov_max` was not enough
 *                 or the end was reached; may be NULL.
 * @return number of elements.
 */
M0_EXTERN uint32_t m0_bufvec_iovec(const struct m0_bufvec *bufvec,
				   m0_bindex_t off, m0_bcount_t nr,
				   struct iovec *ret_iov, uint32_t iov_max,
				   m0_bcount_t *ret_nr);

#ifdef __cplusplus
}
#endif
#endif /* M0_VEC_H */

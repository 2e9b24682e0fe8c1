/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Vectors of counts, scatter-gather buffers, cursors over both, and the copy
 * that the data path is made of.
 */
#ifndef M0_VEC_H
#define M0_VEC_H

#include "m0/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct iovec;

/** Lengths of segments. Any of them may be 0. */
struct m0_vec {
	uint32_t     v_nr;
	m0_bcount_t *v_count;
};

/** Sum of the lengths. O(segments). */
static inline m0_bcount_t m0_vec_count(const struct m0_vec *vec)
{
	m0_bcount_t sum = 0;
	uint32_t    i;

	/* Most often so, and asked several times for each buffer. */
	if (vec->v_nr == 1)
		return vec->v_count[0];
	for (i = 0; i < vec->v_nr; ++i)
		sum += vec->v_count[i];
	return sum;
}

/**
 * Position in a vector. Never rests at the end of a segment or in an empty
 * one, except at the very end, where vc_seg is v_nr and vc_offset 0.
 */
struct m0_vec_cursor {
	const struct m0_vec *vc_vec;
	uint32_t             vc_seg;
	m0_bcount_t          vc_offset;
};

M0_EXTERN void m0_vec_cursor_init(struct m0_vec_cursor *cur,
				  const struct m0_vec  *vec);
/** Goes `count` forward, or to the end. True if the cursor is at the end. */
M0_EXTERN bool m0_vec_cursor_move(struct m0_vec_cursor *cur, m0_bcount_t count);
/** Goes `count` back. Pre: that many lie before the cursor. */
M0_EXTERN void m0_vec_cursor_prev(struct m0_vec_cursor *cur, m0_bcount_t count);
/** What is left of the current segment. Pre: not at the end. */
M0_EXTERN m0_bcount_t m0_vec_cursor_step(const struct m0_vec_cursor *cur);

/** Scatter-gather buffer. */
struct m0_bufvec {
	struct m0_vec ov_vec;
	void        **ov_buf;
};

/* clang-format off */
/** One segment; `addr_ptr` and `count_ptr` point to its address and length. */
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
/** The same, each segment at a multiple of 2^shift. */
M0_EXTERN int m0_bufvec_alloc_aligned(struct m0_bufvec *bufvec,
				      uint32_t num_segs, m0_bcount_t seg_size,
				      unsigned shift);
/** Allocates room for `num_segs` segments, all NULL and of length 0. */
M0_EXTERN int m0_bufvec_empty_alloc(struct m0_bufvec *bufvec,
				    uint32_t          num_segs);
/** Frees segments and arrays, and empties `bufvec`. An empty one is allowed. */
M0_EXTERN void m0_bufvec_free(struct m0_bufvec *bufvec);
/** For m0_bufvec_alloc_aligned(); the same `shift`, and unchanged lengths. */
M0_EXTERN void m0_bufvec_free_aligned(struct m0_bufvec *bufvec, unsigned shift);
/** Frees the arrays and leaves the segments alone. */
M0_EXTERN void m0_bufvec_free2(struct m0_bufvec *bufvec);

/** Position in a buffer. */
struct m0_bufvec_cursor {
	const struct m0_bufvec *bc_bv;
	struct m0_vec_cursor    bc_vc;
};

M0_EXTERN void m0_bufvec_cursor_init(struct m0_bufvec_cursor *cur,
				     const struct m0_bufvec  *bvec);
/** Goes `count` forward, or to the end. True if the cursor is at the end. */
M0_EXTERN bool m0_bufvec_cursor_move(struct m0_bufvec_cursor *cur,
				     m0_bcount_t              count);
/** Goes `count` back. Pre: that many lie before the cursor. */
M0_EXTERN void m0_bufvec_cursor_prev(struct m0_bufvec_cursor *cur,
				     m0_bcount_t              count);
/** Bytes left in the current segment. Pre: not at the end. */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_step(const struct m0_bufvec_cursor *cur);
/** Where the next byte is. Pre: not at the end. */
M0_EXTERN void *m0_bufvec_cursor_addr(const struct m0_bufvec_cursor *cur);
/**
 * Goes forward to the next address that is a multiple of `alignment`, a power
 * of two. True if the cursor is at the end.
 */
M0_EXTERN bool m0_bufvec_cursor_align(struct m0_bufvec_cursor *cur,
				      uint64_t                 alignment);
/**
 * Copies up to `num_bytes` from one cursor to the other and moves both.
 * @return bytes copied: less only if one of them came to its end.
 */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_copy(struct m0_bufvec_cursor *dcur,
					    struct m0_bufvec_cursor *scur,
					    m0_bcount_t              num_bytes);
/** The same from flat memory. */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_copyto(struct m0_bufvec_cursor *dcur,
					      const void              *sdata,
					      m0_bcount_t num_bytes);
/** The same to flat memory. */
M0_EXTERN m0_bcount_t m0_bufvec_cursor_copyfrom(struct m0_bufvec_cursor *scur,
						void                    *ddata,
						m0_bcount_t num_bytes);

/**
 * Where bytes [off, off + nr) are, if they are in the first segment; else, and
 * for no bytes, NULL.
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

/** m0_bufvec_copy_at() for all but the simplest shapes. */
M0_EXTERN m0_bcount_t m0_bufvec_copy_slow(const struct m0_bufvec *dst,
					  m0_bindex_t             dst_off,
					  const struct m0_bufvec *src,
					  m0_bindex_t src_off, m0_bcount_t nr);

/**
 * Copies up to `nr` bytes between two offsets; the memories do not overlap.
 * Segments that touch are copied as one.
 * @return bytes copied: less only if an end was reached.
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
 * Describes bytes [off, off + nr) as an array for system calls; segments that
 * touch become one element.
 * @param ret_iov  room for `iov_max` elements.
 * @param ret_nr   bytes described: less than `nr` if `iov_max` was not enough
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

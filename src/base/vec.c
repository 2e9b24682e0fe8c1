/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Vectors and scatter-gather buffers: making, walking. Copying: vec_copy.c. */
#include "m0/base.h"

/* Leaves ends of segments and empty segments behind. */
static void vec_cursor_settle(struct m0_vec_cursor *cur)
{
	const struct m0_vec *vec = cur->vc_vec;

	while (cur->vc_seg < vec->v_nr &&
	       cur->vc_offset == vec->v_count[cur->vc_seg]) {
		++cur->vc_seg;
		cur->vc_offset = 0;
	}
}

static bool vec_cursor_is_end(const struct m0_vec_cursor *cur)
{
	return cur->vc_seg == cur->vc_vec->v_nr;
}

void m0_vec_cursor_init(struct m0_vec_cursor *cur, const struct m0_vec *vec)
{
	cur->vc_vec = vec;
	cur->vc_seg = 0;
	cur->vc_offset = 0;
	vec_cursor_settle(cur);
}

m0_bcount_t m0_vec_cursor_step(const struct m0_vec_cursor *cur)
{
	M0_PRE(!vec_cursor_is_end(cur));
	return cur->vc_vec->v_count[cur->vc_seg] - cur->vc_offset;
}

bool m0_vec_cursor_move(struct m0_vec_cursor *cur, m0_bcount_t count)
{
	while (count > 0 && !vec_cursor_is_end(cur)) {
		m0_bcount_t step = min64u(count, m0_vec_cursor_step(cur));

		cur->vc_offset += step;
		count -= step;
		vec_cursor_settle(cur);
	}
	return vec_cursor_is_end(cur);
}

void m0_vec_cursor_prev(struct m0_vec_cursor *cur, m0_bcount_t count)
{
	while (count > 0) {
		m0_bcount_t step = min64u(count, cur->vc_offset);

		if (step == 0) {
			M0_PRE(cur->vc_seg > 0);
			--cur->vc_seg;
			cur->vc_offset = cur->vc_vec->v_count[cur->vc_seg];
		}
		cur->vc_offset -= step;
		count -= step;
	}
}

static void bufvec_clear(struct m0_bufvec *bufvec)
{
	bufvec->ov_vec.v_nr = 0;
	bufvec->ov_vec.v_count = NULL;
	bufvec->ov_buf = NULL;
}

int m0_bufvec_empty_alloc(struct m0_bufvec *bufvec, uint32_t num_segs)
{
	m0_bcount_t *count;
	void       **buf;

	if (num_segs == 0)
		return -EINVAL;
	M0_ALLOC_ARR(count, num_segs);
	M0_ALLOC_ARR(buf, num_segs);
	if (count == NULL || buf == NULL) {
		m0_free(count);
		m0_free(buf);
		return -ENOMEM;
	}
	bufvec->ov_vec.v_nr = num_segs;
	bufvec->ov_vec.v_count = count;
	bufvec->ov_buf = buf;
	return 0;
}

static void segment_free(void *data, m0_bcount_t size, unsigned shift)
{
	if (shift == 0)
		m0_free(data);
	else
		m0_free_aligned(data, size, shift);
}

static int segments_alloc(struct m0_bufvec *bufvec, m0_bcount_t size,
			  unsigned shift)
{
	uint32_t i;

	for (i = 0; i < bufvec->ov_vec.v_nr; ++i) {
		void *data = shift == 0 ? m0_alloc(size)
					: m0_alloc_aligned(size, shift);

		if (data == NULL)
			return -ENOMEM;
		bufvec->ov_buf[i] = data;
		bufvec->ov_vec.v_count[i] = size;
	}
	return 0;
}

/* Shift 0 stands for memory of m0_alloc(). */
static int bufvec_alloc(struct m0_bufvec *bufvec, uint32_t num_segs,
			m0_bcount_t seg_size, unsigned shift)
{
	struct m0_bufvec made;
	int              rc;

	if (seg_size == 0)
		return -EINVAL;
	rc = m0_bufvec_empty_alloc(&made, num_segs);
	if (rc != 0)
		return rc;
	rc = segments_alloc(&made, seg_size, shift);
	if (rc != 0)
		m0_bufvec_free_aligned(&made, shift);
	else
		*bufvec = made;
	return rc;
}

int m0_bufvec_alloc(struct m0_bufvec *bufvec, uint32_t num_segs,
		    m0_bcount_t seg_size)
{
	return bufvec_alloc(bufvec, num_segs, seg_size, 0);
}

int m0_bufvec_alloc_aligned(struct m0_bufvec *bufvec, uint32_t num_segs,
			    m0_bcount_t seg_size, unsigned shift)
{
	return bufvec_alloc(bufvec, num_segs, seg_size, shift);
}

void m0_bufvec_free_aligned(struct m0_bufvec *bufvec, unsigned shift)
{
	uint32_t i;

	if (bufvec->ov_buf != NULL) {
		for (i = 0; i < bufvec->ov_vec.v_nr; ++i)
			segment_free(bufvec->ov_buf[i],
				     bufvec->ov_vec.v_count[i], shift);
	}
	m0_bufvec_free2(bufvec);
}

void m0_bufvec_free(struct m0_bufvec *bufvec)
{
	m0_bufvec_free_aligned(bufvec, 0);
}

void m0_bufvec_free2(struct m0_bufvec *bufvec)
{
	m0_free(bufvec->ov_vec.v_count);
	m0_free(bufvec->ov_buf);
	bufvec_clear(bufvec);
}

void m0_bufvec_cursor_init(struct m0_bufvec_cursor *cur,
			   const struct m0_bufvec  *bvec)
{
	cur->bc_bv = bvec;
	m0_vec_cursor_init(&cur->bc_vc, &bvec->ov_vec);
}

bool m0_bufvec_cursor_move(struct m0_bufvec_cursor *cur, m0_bcount_t count)
{
	return m0_vec_cursor_move(&cur->bc_vc, count);
}

void m0_bufvec_cursor_prev(struct m0_bufvec_cursor *cur, m0_bcount_t count)
{
	m0_vec_cursor_prev(&cur->bc_vc, count);
}

m0_bcount_t m0_bufvec_cursor_step(const struct m0_bufvec_cursor *cur)
{
	return m0_vec_cursor_step(&cur->bc_vc);
}

void *m0_bufvec_cursor_addr(const struct m0_bufvec_cursor *cur)
{
	M0_PRE(!vec_cursor_is_end(&cur->bc_vc));
	return (char *)cur->bc_bv->ov_buf[cur->bc_vc.vc_seg] +
	       cur->bc_vc.vc_offset;
}

bool m0_bufvec_cursor_align(struct m0_bufvec_cursor *cur, uint64_t alignment)
{
	M0_PRE(m0_is_po2(alignment));
	/* The next segment may begin at any address: look again. */
	while (!vec_cursor_is_end(&cur->bc_vc)) {
		uint64_t addr = (uintptr_t)m0_bufvec_cursor_addr(cur);
		uint64_t skip = m0_align(addr, alignment) - addr;

		if (skip == 0)
			return false;
		(void)m0_bufvec_cursor_move(
			cur, min64u(skip, m0_bufvec_cursor_step(cur)));
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Copies between scatter-gather buffers, and their form for system calls. */
#include <sys/uio.h>

#include "m0/base.h"

m0_bcount_t m0_bufvec_cursor_copy(struct m0_bufvec_cursor *dcur,
				  struct m0_bufvec_cursor *scur,
				  m0_bcount_t              num_bytes)
{
	m0_bcount_t left = num_bytes;

	while (left > 0 && !m0_bufvec_cursor_move(dcur, 0) &&
	       !m0_bufvec_cursor_move(scur, 0)) {
		m0_bcount_t step =
			min64u(left, min64u(m0_bufvec_cursor_step(dcur),
					    m0_bufvec_cursor_step(scur)));

		memcpy(m0_bufvec_cursor_addr(dcur), m0_bufvec_cursor_addr(scur),
		       step);
		(void)m0_bufvec_cursor_move(dcur, step);
		(void)m0_bufvec_cursor_move(scur, step);
		left -= step;
	}
	return num_bytes - left;
}

m0_bcount_t m0_bufvec_cursor_copyto(struct m0_bufvec_cursor *dcur,
				    const void *sdata, m0_bcount_t num_bytes)
{
	void                   *addr = (void *)(uintptr_t)sdata;
	struct m0_bufvec        flat = M0_BUFVEC_INIT_BUF(&addr, &num_bytes);
	struct m0_bufvec_cursor scur;

	m0_bufvec_cursor_init(&scur, &flat);
	return m0_bufvec_cursor_copy(dcur, &scur, num_bytes);
}

m0_bcount_t m0_bufvec_cursor_copyfrom(struct m0_bufvec_cursor *scur,
				      void *ddata, m0_bcount_t num_bytes)
{
	struct m0_bufvec        flat = M0_BUFVEC_INIT_BUF(&ddata, &num_bytes);
	struct m0_bufvec_cursor dcur;

	m0_bufvec_cursor_init(&dcur, &flat);
	return m0_bufvec_cursor_copy(&dcur, scur, num_bytes);
}

/* A stretch of memory without gaps, and where the buffer goes on after it. */
struct run {
	const struct m0_bufvec *rn_bv;
	uint32_t                rn_seg;
	m0_bcount_t             rn_off;
	char                   *rn_addr;
	m0_bcount_t             rn_nr;
};

static void run_seek(struct run *run, const struct m0_bufvec *bv,
		     m0_bindex_t off)
{
	uint32_t seg = 0;

	while (seg < bv->ov_vec.v_nr && off >= bv->ov_vec.v_count[seg])
		off -= bv->ov_vec.v_count[seg++];
	run->rn_bv = bv;
	run->rn_seg = seg;
	run->rn_off = off;
	run->rn_nr = 0;
}

/* Fills an empty run, at most to `max`; false at the end of the buffer. */
static bool run_fill(struct run *run, m0_bcount_t max)
{
	const struct m0_bufvec *bv = run->rn_bv;

	while (run->rn_seg < bv->ov_vec.v_nr && run->rn_nr < max) {
		m0_bcount_t left = bv->ov_vec.v_count[run->rn_seg] -
				   run->rn_off;

		if (left > 0) {
			char *addr = (char *)bv->ov_buf[run->rn_seg] +
				     run->rn_off;

			if (run->rn_nr == 0)
				run->rn_addr = addr;
			else if (run->rn_addr + run->rn_nr != addr)
				break;
			run->rn_nr += left;
		}
		++run->rn_seg;
		run->rn_off = 0;
	}
	return run->rn_nr > 0;
}

static void run_skip(struct run *run, m0_bcount_t nr)
{
	run->rn_addr += nr;
	run->rn_nr -= nr;
}

m0_bcount_t m0_bufvec_copy_slow(const struct m0_bufvec *dst,
				m0_bindex_t             dst_off,
				const struct m0_bufvec *src,
				m0_bindex_t src_off, m0_bcount_t nr)
{
	m0_bcount_t left = nr;
	struct run  to;
	struct run  from;

	run_seek(&to, dst, dst_off);
	run_seek(&from, src, src_off);
	while (left > 0) {
		m0_bcount_t step;

		if (!run_fill(&to, left) || !run_fill(&from, left))
			break;
		step = min64u(left, min64u(to.rn_nr, from.rn_nr));
		memcpy(to.rn_addr, from.rn_addr, step);
		run_skip(&to, step);
		run_skip(&from, step);
		left -= step;
	}
	return nr - left;
}

uint32_t m0_bufvec_iovec(const struct m0_bufvec *bufvec, m0_bindex_t off,
			 m0_bcount_t nr, struct iovec *ret_iov,
			 uint32_t iov_max, m0_bcount_t *ret_nr)
{
	m0_bcount_t left = nr;
	uint32_t    i;
	struct run  run;

	run_seek(&run, bufvec, off);
	for (i = 0; i < iov_max && left > 0 && run_fill(&run, left); ++i) {
		m0_bcount_t step = min64u(left, run.rn_nr);

		ret_iov[i].iov_base = run.rn_addr;
		ret_iov[i].iov_len = step;
		run_skip(&run, run.rn_nr);
		left -= step;
	}
	if (ret_nr != NULL)
		*ret_nr = nr - left;
	return i;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/base.h"

const char *m0_version(void)
{
	return M0_VERSION_STR;
}

int m0_buf_alloc(struct m0_buf *buf, m0_bcount_t nob)
{
	void *addr = m0_alloc(nob);

	if (addr == NULL)
		return -ENOMEM;
	m0_buf_init(buf, addr, nob);
	return 0;
}

void m0_buf_free(struct m0_buf *buf)
{
	m0_free(buf->b_addr);
	m0_buf_init(buf, NULL, 0);
}

int m0_buf_copy(struct m0_buf *dst, const struct m0_buf *src)
{
	int rc = m0_buf_alloc(dst, src->b_nob);

	if (rc == 0 && src->b_nob > 0)
		memcpy(dst->b_addr, src->b_addr, src->b_nob);
	return rc;
}

bool m0_buf_eq(const struct m0_buf *a, const struct m0_buf *b)
{
	return a->b_nob == b->b_nob &&
	       (a->b_nob == 0 || memcmp(a->b_addr, b->b_addr, a->b_nob) == 0);
}

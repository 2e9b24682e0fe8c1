/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "fail/fail.h"

enum {
	NR = 3,
	BYTES = 5000,
	SHIFT = 12
};

static void vectors(void)
{
	struct m0_bufvec vec = { 0 };

	FAIL_TRY(m0_bufvec_alloc(&vec, NR, BYTES));
	m0_bufvec_free(&vec);
	FAIL_TRY(m0_bufvec_alloc_aligned(&vec, NR, BYTES, SHIFT));
	m0_bufvec_free_aligned(&vec, SHIFT);
	FAIL_TRY(m0_bufvec_empty_alloc(&vec, NR));
	m0_bufvec_free2(&vec);
}

static void buffers(void)
{
	struct m0_buf buf = { 0 };
	struct m0_buf copy = { 0 };

	FAIL_TRY(m0_buf_alloc(&buf, BYTES));
	FAIL_TRY(m0_buf_copy(&copy, &buf));
	m0_buf_free(&copy);
	m0_buf_free(&buf);
}

static void bitmaps(void)
{
	struct m0_bitmap map = { 0 };

	FAIL_TRY(m0_bitmap_init(&map, BYTES));
	m0_bitmap_fini(&map);
}

const struct fail_story fail_base_stories[] = {
	{ "vectors", 8, vectors },
	{ "buffers", 2, buffers },
	{ "bitmaps", 1, bitmaps },
	{ NULL, 0, NULL },
};

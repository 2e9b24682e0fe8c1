/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * For the file of the kernel that QEMU enters (tests/vm/debug_kernel.py): memcmp() without the
 * checks of KASAN, whose shadow is not mapped yet.
 */
static inline int early_memcmp(const void *a, const void *b, unsigned long nr)
{
	const unsigned char *x = a;
	const unsigned char *y = b;

	for (; nr > 0 && *x == *y; --nr, ++x, ++y)
		;
	return nr == 0 ? 0 : *x - *y;
}
#define memcmp early_memcmp

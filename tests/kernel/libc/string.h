/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* string.h for tests inside the kernel. */
#include <linux/string.h>

/* A macro does not take a compound literal with commas. */
#undef memcpy

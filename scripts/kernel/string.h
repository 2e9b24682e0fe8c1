/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* string.h, from the kernel (scripts/kernel-flags). */
#include <linux/string.h>

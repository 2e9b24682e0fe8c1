/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stdbool.h, from the kernel (scripts/kernel-flags). */
#include <linux/types.h>

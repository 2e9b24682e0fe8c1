/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* limits.h, from the kernel (scripts/kernel-flags). */
#include <linux/kernel.h>
#include <linux/limits.h>

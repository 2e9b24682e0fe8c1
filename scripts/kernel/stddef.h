/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stddef.h, from the kernel (scripts/kernel-flags). */
#include <linux/stddef.h>
#include <linux/types.h>

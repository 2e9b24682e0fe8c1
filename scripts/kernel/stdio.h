/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stdio.h, from the kernel (scripts/kernel-flags). */
#include <linux/kernel.h>

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stdlib.h, from the kernel (scripts/kernel-flags). */
#include <linux/slab.h>

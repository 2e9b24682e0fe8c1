/* SPDX-License-Identifier: Apache-2.0 */
/* stdlib.h, from the kernel (scripts/kernel-flags). */
#include <linux/slab.h>

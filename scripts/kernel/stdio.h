/* SPDX-License-Identifier: Apache-2.0 */
/* stdio.h, from the kernel (scripts/kernel-flags). */
#include <linux/kernel.h>

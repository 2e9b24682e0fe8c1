/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h, from the kernel (scripts/kernel-flags). */
#include <linux/kernel.h>
#include <linux/limits.h>

/* SPDX-License-Identifier: Apache-2.0 */
/* stddef.h, from the kernel (scripts/kernel-flags). */
#include <linux/stddef.h>
#include <linux/types.h>

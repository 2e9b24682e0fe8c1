/* SPDX-License-Identifier: Apache-2.0 */
/* string.h, from the kernel (scripts/kernel-flags). */
#include <linux/string.h>

/* SPDX-License-Identifier: Apache-2.0 */
/* errno.h, from the kernel (scripts/kernel-flags). */
#include <linux/errno.h>

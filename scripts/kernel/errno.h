/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* errno.h, from the kernel (scripts/kernel-flags). */
#include <linux/errno.h>

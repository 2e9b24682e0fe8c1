/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sys/uio.h, from the kernel (scripts/kernel-flags). */
#include <linux/uio.h>

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* stdarg.h, from the kernel (scripts/kernel-flags). */
#include <linux/stdarg.h>

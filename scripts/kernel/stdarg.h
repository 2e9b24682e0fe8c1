/* SPDX-License-Identifier: Apache-2.0 */
/* stdarg.h, from the kernel (scripts/kernel-flags). */
#include <linux/stdarg.h>

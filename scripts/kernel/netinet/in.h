/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* netinet/in.h, from the kernel (scripts/kernel-flags). */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>

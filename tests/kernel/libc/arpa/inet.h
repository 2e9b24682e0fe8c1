/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* arpa/inet.h for tests inside the kernel. */
#ifndef COLIBRI_KERNEL_INET_H
#define COLIBRI_KERNEL_INET_H

#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/socket.h>

static inline int inet_pton(int family, const char *text, void *ret)
{
	return family == AF_INET ? in4_pton(text, -1, ret, -1, NULL)
				 : in6_pton(text, -1, ret, -1, NULL);
}

static inline const char *inet_ntop(int family, const void *addr, char *ret,
				    size_t size)
{
	snprintf(ret, size, family == AF_INET ? "%pI4" : "%pI6c", addr);
	return ret;
}

#endif

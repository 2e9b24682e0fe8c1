/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf_model.h"

void conf_locals_get(struct conf_locals *ret)
{
	struct ifaddrs *all;
	struct ifaddrs *at;

	ret->cfs_nr = 0;
	if (getifaddrs(&all) != 0)
		return;
	for (at = all; at != NULL && ret->cfs_nr < CONF_LOCALS_MAX;
	     at = at->ifa_next) {
		struct conf_local *local = &ret->cfs_locals[ret->cfs_nr];

		if (at->ifa_addr == NULL ||
		    at->ifa_addr->sa_family != AF_INET ||
		    (at->ifa_flags & IFF_UP) == 0)
			continue;
		snprintf(local->cfl_iface, sizeof local->cfl_iface, "%s",
			 at->ifa_name);
		local->cfl_addr =
			((const struct sockaddr_in *)(const void *)at->ifa_addr)
				->sin_addr;
		++ret->cfs_nr;
	}
	freeifaddrs(all);
}

/* Reads a byte in decimal. @return behind it, or NULL. */
static const char *byte_read(const char *at, unsigned *ret)
{
	const char *begin = at;

	*ret = 0;
	for (; *at >= '0' && *at <= '9' && *ret <= UINT8_MAX; ++at)
		*ret = *ret * 10 + (unsigned)(*at - '0');
	return at == begin || *ret > UINT8_MAX ? NULL : at;
}

/* Reads A, A-B or A-B/STEP. @return behind it, or NULL. */
static const char *range_read(const char *at, unsigned byte, bool *match)
{
	unsigned low;
	unsigned high;
	unsigned step = 1;

	at = byte_read(at, &low);
	high = low;
	if (at != NULL && *at == '-')
		at = byte_read(at + 1, &high);
	if (at != NULL && *at == '/')
		at = byte_read(at + 1, &step);
	if (at == NULL || low > high || step == 0)
		return NULL;
	if (byte >= low && byte <= high && (byte - low) % step == 0)
		*match = true;
	return at;
}

/* Reads the expression of one byte. @return behind it, or NULL. */
static const char *part_read(const char *at, unsigned byte, bool *match)
{
	*match = false;
	if (*at == '*') {
		*match = true;
		return at + 1;
	}
	if (*at != '[')
		return range_read(at, byte, match);
	do {
		at = range_read(at + 1, byte, match);
	} while (at != NULL && *at == ',');
	return at != NULL && *at == ']' ? at + 1 : NULL;
}

int conf_ip_match(const char *pattern, struct in_addr addr)
{
	uint32_t    ip = ntohl(addr.s_addr);
	const char *at = pattern;
	bool        all = true;
	bool        match;
	int         i;

	for (i = 3; i >= 0; --i) {
		at = part_read(at, ip >> 8 * i & 0xff, &match);
		if (at == NULL || *at != (i > 0 ? '.' : '\0'))
			return -EINVAL;
		at += i > 0 ? 1 : 0;
		all = all && match;
	}
	return all ? 1 : 0;
}

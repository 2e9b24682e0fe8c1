/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include "lnd/tcp/tcp_internal.h"

int m0_tcp__addr_bound(int fd, struct m0_host_addr *ret)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t               len = sizeof sa;

	if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0)
		return -errno;
	return m0_host_addr_from((struct sockaddr *)&sa, ret) ? 0
							      : -EAFNOSUPPORT;
}

static bool is_loopback(const struct m0_host_addr *addr)
{
	return addr->sa_bytes_nr == 4
		       ? addr->sa_bytes[0] == IN_LOOPBACKNET
		       : memcmp(addr->sa_bytes, &in6addr_loopback,
				sizeof in6addr_loopback) == 0;
}

/* The system's choice of where to speak to an address of its own from is that
 * address. */
static bool is_own(const struct m0_host_addr *addr)
{
	struct sockaddr_storage sa;
	struct m0_host_addr     from;
	socklen_t               len = m0_host_addr_to(addr, &sa);
	bool                    ret;
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	ret = connect(fd, (struct sockaddr *)&sa, len) == 0 &&
	      m0_tcp__addr_bound(fd, &from) == 0 &&
	      memcmp(from.sa_bytes, addr->sa_bytes, addr->sa_bytes_nr) == 0;
	(void)close(fd);
	return ret;
}

bool m0_tcp__addr_is_near(const struct m0_host_addr *addr)
{
	return is_loopback(addr) || is_own(addr);
}

const char *m0_tcp__addr_text(const struct m0_host_addr *addr,
			      char                       buf[M0_TCP_TEXT_BYTES])
{
	int family = addr->sa_bytes_nr == 4 ? AF_INET : AF_INET6;

	if (inet_ntop(family, addr->sa_bytes, buf, M0_TCP_TEXT_BYTES) == NULL)
		buf[0] = 0;
	return buf;
}

static bool is_link_local(const struct m0_host_addr *addr)
{
	return addr->sa_bytes_nr == 16 && addr->sa_bytes[0] == 0xfe &&
	       (addr->sa_bytes[1] & 0xc0) == 0x80;
}

static bool iface_set(struct m0_host_iface *iface, const struct ifaddrs *from)
{
	M0_SET0(iface);
	if (from->ifa_addr == NULL ||
	    !m0_host_addr_from(from->ifa_addr, &iface->sif_addr))
		return false;
	strncpy(iface->sif_name, from->ifa_name, sizeof iface->sif_name - 1);
	iface->sif_is_up = (from->ifa_flags & (IFF_UP | IFF_RUNNING)) ==
			   (IFF_UP | IFF_RUNNING);
	iface->sif_is_loopback = (from->ifa_flags & IFF_LOOPBACK) != 0;
	iface->sif_is_link_local = is_link_local(&iface->sif_addr);
	iface->sif_index = if_nametoindex(from->ifa_name);
	return true;
}

int m0_tcp__ifaces(struct m0_host_iface *ifaces, unsigned max)
{
	struct m0_host_iface one;
	struct ifaddrs      *all;
	struct ifaddrs      *each;
	unsigned             nr = 0;

	if (getifaddrs(&all) != 0)
		return -errno;
	for (each = all; each != NULL; each = each->ifa_next) {
		if (!iface_set(&one, each))
			continue;
		if (nr < max)
			ifaces[nr] = one;
		++nr;
	}
	freeifaddrs(all);
	return (int)nr;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cursor.h"
#include "reactor/host_addr.h"

unsigned m0_host_addr_to(const struct m0_host_addr *addr,
			 struct sockaddr_storage   *ret)
{
	struct sockaddr_in  *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	M0_SET0(ret);
	if (addr->sa_bytes_nr == sizeof in->sin_addr) {
		in->sin_family = AF_INET;
		in->sin_port = M0_CURSOR_BE(16)(addr->sa_port);
		memcpy(&in->sin_addr, addr->sa_bytes, sizeof in->sin_addr);
		return sizeof *in;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = M0_CURSOR_BE(16)(addr->sa_port);
	memcpy(&in6->sin6_addr, addr->sa_bytes, sizeof in6->sin6_addr);
	return sizeof *in6;
}

bool m0_host_addr_from(const struct sockaddr *sa, struct m0_host_addr *ret)
{
	const struct sockaddr_in  *in = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

	M0_SET0(ret);
	if (sa->sa_family == AF_INET) {
		ret->sa_bytes_nr = sizeof in->sin_addr;
		ret->sa_port = M0_CURSOR_BE(16)(in->sin_port);
		memcpy(ret->sa_bytes, &in->sin_addr, sizeof in->sin_addr);
		return true;
	}
	if (sa->sa_family != AF_INET6)
		return false;
	ret->sa_bytes_nr = sizeof in6->sin6_addr;
	ret->sa_port = M0_CURSOR_BE(16)(in6->sin6_port);
	memcpy(ret->sa_bytes, &in6->sin6_addr, sizeof in6->sin6_addr);
	return true;
}

bool m0_host_addr_is_any(const struct m0_host_addr *addr)
{
	static const uint8_t any[16];

	return memcmp(addr->sa_bytes, any, addr->sa_bytes_nr) == 0;
}

static uint16_t port_next(struct m0_host_ports *ports, uint16_t port_min,
			  uint16_t port_max)
{
	uint16_t port;

	if (ports->hpo_min != port_min || ports->hpo_max != port_max)
		ports->hpo_next = port_max;
	ports->hpo_min = port_min;
	ports->hpo_max = port_max;
	port = ports->hpo_next;
	ports->hpo_next = port > port_min ? (uint16_t)(port - 1) : port_max;
	return port;
}

int m0_host_ports_try(struct m0_host_ports *ports, uint16_t port_min,
		      uint16_t port_max, uint16_t                  spared,
		      int (*dial)(void *arg, uint16_t port), void *arg)
{
	unsigned left = (unsigned)(port_max - port_min) + 1;
	bool     one = left == 1;
	uint16_t port;
	int      rc = -EADDRINUSE;

	M0_PRE(port_min <= port_max);
	if (port_max == 0)
		return dial(arg, 0);
	for (; left > 0 && rc == -EADDRINUSE; --left) {
		port = port_next(ports, port_min, port_max);
		if (one || port != spared)
			rc = dial(arg, port);
	}
	return rc;
}

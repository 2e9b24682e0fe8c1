/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Addresses of hosts as sockets have them, and the source ports of dials. */
#ifndef M0_SRC_REACTOR_HOST_ADDR_H
#define M0_SRC_REACTOR_HOST_ADDR_H

#include <netinet/in.h>

#include "reactor/host_ops.h"

/** @return the bytes of `ret` that count. */
unsigned m0_host_addr_to(const struct m0_host_addr *addr,
			 struct sockaddr_storage   *ret);
/** False: it is neither IPv4 nor IPv6. */
bool m0_host_addr_from(const struct sockaddr *sa, struct m0_host_addr *ret);
/** Does it stand for all addresses of the host? */
bool m0_host_addr_is_any(const struct m0_host_addr *addr);

/**
 * The range of ports that dials come from, and the one to be tried next. They are tried
 * downwards from where the last dial has left off, so that a few tries find one however
 * many are taken. Zeroed memory is one that was not used yet.
 */
struct m0_host_ports {
	uint16_t hpo_next;
	uint16_t hpo_min;
	uint16_t hpo_max;
};

/**
 * Calls `dial` with each port of a range until it returns something else than
 * -EADDRINUSE; with 0 alone, any port, if the range ends at 0.
 * @param spared  a port to be left to listeners, unless the range has no other.
 * @return what `dial` has returned at last; -EADDRINUSE: it was not called.
 */
int m0_host_ports_try(struct m0_host_ports *ports, uint16_t port_min,
		      uint16_t port_max, uint16_t                  spared,
		      int (*dial)(void *arg, uint16_t port), void *arg);

#endif /* M0_SRC_REACTOR_HOST_ADDR_H */

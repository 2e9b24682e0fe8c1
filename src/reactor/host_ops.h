/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The table of a host, real or simulated, for the nodes on it: a reactor to wait
 * in, the interfaces and addresses of the host, and streams. Room lnd/tcp
 * installs the table of the real host; the simulator replaces it.
 */
#ifndef M0_SRC_REACTOR_HOST_OPS_H
#define M0_SRC_REACTOR_HOST_OPS_H

#include "m0/base.h"

struct m0_reactor;
struct m0_streams;
struct m0_streams_cfg;

/** An IP address in network order, and a port in host order. */
struct m0_host_addr {
	uint8_t  sa_bytes_nr; /**< 4 or 16. */
	uint8_t  sa_bytes[16];
	uint16_t sa_port;
};

/** Local address of a device. */
struct m0_host_iface {
	char                sif_name[16];
	struct m0_host_addr sif_addr;
	bool                sif_is_up;
	bool                sif_is_loopback;
	/** IPv6 link-local: no node can be known by such an address. */
	bool     sif_is_link_local;
	uint32_t sif_index;
};

struct m0_host_ops {
	int (*hso_reactor_create)(struct m0_reactor **ret);
	/**
	 * Makes streams that are a source of `reactor`.
	 * @param cfg  copied.
	 */
	int (*hso_streams_create)(struct m0_streams          **ret,
				  struct m0_reactor           *reactor,
				  const struct m0_streams_cfg *cfg);
	/**
	 * Lists the local addresses of the network in which the reactor's node is: of
	 * the host, or of its part. @return how many there are, of which at most
	 * `max` are stored; <0.
	 */
	int (*hso_ifaces)(struct m0_reactor    *reactor,
			  struct m0_host_iface *ifaces, unsigned max);
	/**
	 * Does the kernel's LNet of this host have this NID, too? May be NULL:
	 * no.
	 * @param nid  as text.
	 * @param why  buffer of M0_LND_WHY_BYTES: if so, a text that says it and
	 *             how to correct it.
	 */
	bool (*hso_nid_taken)(const char *nid, char *why);
};

void m0_host_ops_set(const struct m0_host_ops *ops);
/** NULL: this program has none. */
const struct m0_host_ops *m0_host_ops_get(void);

#endif /* M0_SRC_REACTOR_HOST_OPS_H */

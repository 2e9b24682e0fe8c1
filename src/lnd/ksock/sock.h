/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Lustre's socket driver, without sockets: which side connects, the handshake, the
 * connection that a message takes, the time at which a peer is lost, and for each
 * connection the meaning of the next bytes.
 *
 * Pure. Below it are byte streams (stream/stream.h): sockets (room lnd/tcp) or
 * the simulator. The provider of the streams moves bytes straight between them
 * and the memory of the application.
 *
 * All calls are on the node's strand.
 */
#ifndef M0_SRC_LND_SOCK_SOCK_H
#define M0_SRC_LND_SOCK_SOCK_H

#include "m0/lnd.h"
#include "stream/stream.h"

struct m0_sock;
struct m0_sock_conn;

/** Peers that may connect to us. */
enum m0_sock_accept {
	/** Source ports up to 1023. */
	M0_SOCK_ACCEPT_SECURE,
	/** Any. The NID and pid that the node claims are believed: a Lustre node would
	 * take its address for its NID, and its port for its pid. */
	M0_SOCK_ACCEPT_ALL,
	/** None: there is no listener. */
	M0_SOCK_ACCEPT_NONE
};

/** Tunables of a network. */
struct m0_sock_net_cfg {
	/**
	 * Connections of each bulk type that the driver makes; 0: only CONTROL.
	 * Of those that a peer makes the driver accepts one CONTROL, and of each
	 * other type 16, or this number if that is more.
	 */
	unsigned son_conns_per_peer;
	/**
	 * A connection ends if for this long it could send and nothing left, or
	 * a message that had begun did not come to its end (each 64 KiB have
	 * that time), or, within twice the time, the peer did not acknowledge
	 * what had left. Also the time to connect, HELLO included.
	 */
	m0_time_t son_timeout_ns;
	/** 0: none. */
	m0_time_t son_keepalive_ns;
	/** Back-off; the second is not below the first. */
	m0_time_t son_reconnect_min_ns;
	m0_time_t son_reconnect_max_ns;
};

struct m0_sock_cfg {
	uint16_t            soc_port;
	enum m0_sock_accept soc_accept;
	/** Source ports to connect from, tried downwards; 0, 0: any. */
	uint16_t soc_src_port_max;
	uint16_t soc_src_port_min;
	/** Over IPv6, connect also from ports above 1023. */
	bool soc_peers_colibri;
	/** The pid in our HELLO: 12345. */
	uint32_t soc_pid;
	/** Tunables of networks without options; 0 connections per peer here
	 * are 0 on every network. */
	struct m0_sock_net_cfg soc_net;
	/** A message of so many bytes, framing included, is bulk: 1024. */
	unsigned soc_min_bulk;
	/** For an introduction to us, all of it. */
	m0_time_t soc_accept_timeout_ns;
	/** Bounds: connections in all (one address may make a quarter of them,
	 * and always 64; so many may be being made for answers), those that have
	 * not introduced themselves, acknowledgements owed to one peer, peers
	 * that were not reached and are remembered for that. */
	unsigned soc_conns_max; /**< And sts_max. */
	unsigned soc_accepting_max;
	unsigned soc_acks_max;
	unsigned soc_failed_max;
	/** V2 only. */
	bool soc_csum;
};

/** Defaults of Lustre 2.17 and our own bounds. */
void m0_sock_cfg_default(struct m0_sock_cfg *cfg);

/**
 * Makes a driver over `streams`, which ldo_fini destroys, too.
 * @param seed  of the jitter of its back-off.
 */
int m0_sock_create(struct m0_lnd **ret, const struct m0_sock_cfg *cfg,
		   struct m0_streams *streams, uint64_t seed, m0_time_t now);

/**
 * Reads the options of a network over the values that it inherits.
 * @param cfg   those values; unchanged on failure.
 * @param text  pairs "name=value"; NULL: none.
 * @param why   buffer of M0_OPTIONS_WHY_BYTES.
 * @retval -ENOENT  the driver has no such option.
 * @retval -EINVAL  an option is not accepted.
 */
int m0_sock_options(struct m0_sock_net_cfg *cfg, const char *text, char *why);

/* -- for tests ------------------------------------------------------------- */

struct m0_stream *m0_sock_conn_stream(const struct m0_sock_conn *conn);
bool              m0_sock_conn_is_bulk(const struct m0_sock_conn *conn);
struct m0_sock   *m0_sock_of_lnd(struct m0_lnd *lnd);

#endif /* M0_SRC_LND_SOCK_SOCK_H */

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How a node of m0/lnet.h is configured. Names in comments are those of
 * Lustre's module parameters with the same meaning.
 */
#ifndef M0_LNET_CFG_H
#define M0_LNET_CFG_H

#include "m0/base.h"
#include "m0/lnet_nid.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	M0_LNET_CFG_NETS_MAX = 16,
	M0_LNET_CFG_IFACES_MAX = 16,
	M0_LNET_CFG_NAME_BYTES = 64
};

/** Who may connect to us (`accept`). */
enum m0_lnet_accept {
	/** Only from ports up to 1023, as Lustre's nodes do. */
	M0_LNET_ACCEPT_SECURE,
	M0_LNET_ACCEPT_ALL,
	/** Nobody: no listener. Peers cannot connect to us; they answer on the
	 * connections we make. */
	M0_LNET_ACCEPT_NONE
};

/** A network and the interfaces by which we are on it. */
struct m0_lnet_net_cfg {
	/** m0_lnet_net(); M0_LNET_TYPE_TCP only. */
	uint32_t lnc_net;
	/**
	 * Each a device ("eth0"), its first address counts, IPv4 before IPv6;
	 * or an address ("10.0.0.1", "2001:db8::1"). None (lnc_ifaces_nr 0):
	 * the first device that is up and not the loopback.
	 */
	char     lnc_ifaces[M0_LNET_CFG_IFACES_MAX][M0_LNET_CFG_NAME_BYTES];
	unsigned lnc_ifaces_nr;
};

struct m0_lnet_cfg {
	struct m0_lnet_net_cfg lc_nets[M0_LNET_CFG_NETS_MAX];
	unsigned               lc_nets_nr;
	/** No thread: the caller makes progress. */
	bool lc_inline;
	/** The thread's name in debuggers, and its time to spin for work before
	 * it sleeps, in turns with others who want its processor; < 0: the
	 * default ($M0_SPIN_NS, else 50 us). */
	int64_t lc_spin_ns;
	/** Processors that the thread may run on, such as "0-3,8"; "": any. */
	char lc_cpus[64];

	/** Port to listen on and to connect to (`accept_port`): 988. */
	uint16_t            lc_port;
	enum m0_lnet_accept lc_accept;
	/**
	 * Connect from a port of this range, tried downwards: 1023 and 512,
	 * what peers with accept=secure want. 0 and 0: any port.
	 */
	uint16_t lc_src_port_max;
	uint16_t lc_src_port_min;
	/** All peers are Colibri nodes: over IPv6 any port may be used then. A
	 * Lustre node with accept=all would crash (2.16, 2.17). */
	bool lc_peers_colibri;
	/** Make only the CONTROL connection to a peer, whatever
	 * lc_conns_per_peer says: for a program that asks little and ends. */
	bool lc_control_only;

	/** Messages on their way to one peer and by one interface
	 * (`peer_credits`, `credits`). */
	unsigned lc_peer_credits;
	unsigned lc_credits;
	/** Connections of each bulk type to a peer (`conns_per_peer`): 1. */
	unsigned lc_conns_per_peer;

	/** An ACK or REPLY must come within (`lnet_transaction_timeout`). */
	uint64_t lc_transaction_timeout_ms;
	/** A peer that makes no progress for so long is lost (`sock_timeout`).
	 */
	uint64_t lc_timeout_ms;
	/** A connection must have said who it is by then (`accept_timeout`). */
	uint64_t lc_accept_timeout_ms;
	/** Idle so long, a peer is sent a sign of life (`keepalive`); 0: not. */
	uint64_t lc_keepalive_ms;
	/** Back-off after a failed connection (`min_`, `max_reconnectms`). */
	uint64_t lc_reconnect_min_ms;
	uint64_t lc_reconnect_max_ms;

	/** Advertise and do discovery (features 0x1e; else 0x0e). */
	bool lc_discovery;

	/** Bounds: everything a peer can make us keep is under one of them. */
	unsigned lc_portals_nr;
	unsigned lc_mes_max;
	unsigned lc_mds_max;
	unsigned lc_msgs_max;
	unsigned lc_peers_max;
	/** One address may have made a quarter of them, and always 64. There are
	 * not more than three quarters of the files that the process may have
	 * open (`ulimit -n`), when the node is opened. */
	unsigned lc_conns_max;
	/** Connections that have not yet said who they are. */
	unsigned lc_accepting_max;
	/** TCP congestion control; "": the system's, and reno for connections
	 * that do not leave the host. */
	char lc_congestion[16];
	/** Socket buffers in bytes (`tx_`, `rx_buffer_size`); 0: the system's. */
	unsigned lc_sndbuf_bytes;
	unsigned lc_rcvbuf_bytes;
};

/**
 * Defaults of Lustre 2.17, with network tcp on the first device. lc_nets_nr is
 * 0, which means the same.
 */
M0_EXTERN void m0_lnet_cfg_default(struct m0_lnet_cfg *cfg);
/**
 * Adds a network as text: `tcp`, `tcp(eth0)`, `tcp1(10.0.0.1,10.0.0.2)`, and
 * several, with `,` between (`networks`).
 * @param why  as for m0_lnet_open.
 * @retval -EINVAL  the text. @retval -ENOSPC  too many.
 */
M0_EXTERN int m0_lnet_cfg_networks(struct m0_lnet_cfg *cfg, const char *text,
				   char *why);
/**
 * Checks what can be checked without the machine.
 * @param why  as for m0_lnet_open. @retval -EINVAL
 */
M0_EXTERN int m0_lnet_cfg_check(const struct m0_lnet_cfg *cfg, char *why);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_CFG_H */

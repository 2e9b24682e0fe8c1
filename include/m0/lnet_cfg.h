/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Configuration of a node of m0/lnet.h. Names in parentheses are those of
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
	M0_LNET_CFG_NAME_BYTES = 64,
	M0_LNET_CFG_OPTIONS_BYTES = 256,
	M0_LNET_CFG_ROUTES_MAX = 64,
	M0_LNET_LISTEN_FDS_MAX = 16
};

/** Peers that may connect to this node (`accept`). */
enum m0_lnet_accept {
	/** Peers that connect from a port up to 1023, as Lustre's nodes do. */
	M0_LNET_ACCEPT_SECURE,
	M0_LNET_ACCEPT_ALL,
	/** No peer: the node does not listen. Peers answer on the connections
	 * that this node makes. */
	M0_LNET_ACCEPT_NONE
};

/**
 * A network, the interfaces by which the node is on it, and its tunables. The
 * network inherits those that are 0, or that lnc_options does not name, from the
 * node.
 */
struct m0_lnet_net_cfg {
	/** A value of m0_lnet_net(), of a type that a driver serves:
	 * M0_LNET_TYPE_TCP. */
	uint32_t lnc_net;
	/**
	 * Each is a device ("eth0"), of which the node uses the first address,
	 * IPv4 before IPv6; or an address ("10.0.0.1", "2001:db8::1"). If
	 * lnc_ifaces_nr is 0: the first device that is up and not the loopback; of net
	 * o2ib, ib0 if that is up and has an address.
	 */
	char     lnc_ifaces[M0_LNET_CFG_IFACES_MAX][M0_LNET_CFG_NAME_BYTES];
	unsigned lnc_ifaces_nr;
	/** Messages in flight to one peer of the network (`peer_credits`) and
	 * over one interface (`credits`); 0: as lc_peer_credits, lc_credits. */
	unsigned lnc_peer_credits;
	unsigned lnc_credits;
	/** Seconds after which a router declares a silent peer dead
	 * (`peer_timeout`), 0: 180. The node reports it, and otherwise does not
	 * use it. */
	unsigned lnc_peer_timeout_s;
	/** Router buffers that a peer of the network may use at one time
	 * (`peer_buffer_credits`), 0: as many as it has credits. */
	unsigned lnc_peer_buffer_credits;
	/**
	 * Options of the network's driver: pairs "name=value", separated by
	 * blanks. That of tcp has conns_per_peer (1 to 127), timeout and
	 * keepalive (seconds), min_reconnectms and max_reconnectms; those not
	 * named are lc_conns_per_peer, lc_timeout_ms, lc_keepalive_ms,
	 * lc_reconnect_min_ms and lc_reconnect_max_ms.
	 */
	char lnc_options[M0_LNET_CFG_OPTIONS_BYTES];
};

/** A route to a network by a gateway, see m0/lnet_route.h. */
struct m0_lnet_route_attr {
	/** The remote network. */
	uint32_t lra_net;
	/** Number of routers to it, 1 to 255; 0: not set, counts as 1. */
	uint32_t lra_hops;
	/** The route of the least number is preferred. */
	uint32_t           lra_priority;
	struct m0_lnet_nid lra_gateway;
};

/** Routes, and the node as a router. */
struct m0_lnet_routing_cfg {
	/** Routes that the node has from the beginning (`routes`). */
	struct m0_lnet_route_attr lgc_routes[M0_LNET_CFG_ROUTES_MAX];
	unsigned                  lgc_routes_nr;
	/** The node is a router from the beginning (`forwarding`). */
	bool lgc_on;
	/** Most router buffers of 0, 4,096 and 1,048,576 bytes
	 * (`tiny_router_buffers`, `small_router_buffers`,
	 * `large_router_buffers`), and the most memory of all of them. They are
	 * allocated on need. */
	unsigned lgc_buffers[3];
	uint64_t lgc_bytes;
	/** Time between two checks of a gateway
	 * (`alive_router_check_interval`); 0: one check when the first route by
	 * it is added, and checks after a failure until it answers. */
	uint64_t lgc_check_ms;
	/** Time after which a gateway that has not answered a check is down
	 * (`router_ping_timeout`). */
	uint64_t lgc_ping_ms;
	/** Use a route only after the first check of its gateway
	 * (`check_routers_before_use`). m0_lnet_open() returns when the
	 * gateways of lgc_routes have answered the check or failed it, at the
	 * latest after lgc_ping_ms; that of an inline node returns at once,
	 * because the caller makes the progress of the checks. */
	bool lgc_check_first;
	/** Use a single-hop route only while the gateway reports an interface
	 * on the remote network that is up (`avoid_asym_router_failure`). */
	bool lgc_avoid_asym;
	/** Drop messages for this node that came by a gateway by which the node
	 * has no route back (`drop_asym_route`). */
	bool lgc_drop_asym;
	/** Send a message of more than 4,096 bytes on when half of it is there,
	 * to a next hop that is a Colibri node. */
	bool lgc_cut_through;
	/** Pass payloads of 64 KiB and more from socket to socket by splice(2),
	 * through pipes of the system, where the driver can. */
	bool lgc_splice;
	/** Use routes that are down. For tests of networks only. */
	bool lgc_use_down;
};

/** Health of interfaces and peers, and what follows from it. */
struct m0_lnet_health_cfg {
	/** By how much the health of an interface or NID of a peer falls with
	 * each failure, and rises with each success, 0 to 1000; 0: health does
	 * not change, and nothing is sent again
	 * (`lnet_health_sensitivity`). */
	unsigned lhc_sensitivity;
	/** How often a message that did not arrive is sent again by another
	 * path, at most 255, and not after lc_transaction_timeout_ms
	 * (`lnet_retry_count`). */
	unsigned lhc_retry_count;
	/** Time since its last message after which a NID of a peer is no longer
	 * pinged to see whether it has recovered; 0: without limit
	 * (`lnet_recovery_limit`). */
	uint64_t lhc_recovery_limit_ms;
	/** The longest interval of these pings
	 * (`lnet_max_recovery_ping_interval`). */
	uint64_t lhc_ping_max_ms;
};

/**
 * Sockets that listen already, for example those of a service manager. A network over
 * TCP takes the one whose address and port are those at which it would listen; the
 * others are left alone. The sockets remain the caller's, stay open and keep the
 * connections that nobody has accepted when the node is closed, so that the next node
 * takes them.
 */
struct m0_lnet_listen_fds {
	int      lfd_fds[M0_LNET_LISTEN_FDS_MAX];
	unsigned lfd_nr;
};

struct m0_lnet_cfg {
	struct m0_lnet_net_cfg lc_nets[M0_LNET_CFG_NETS_MAX];
	unsigned               lc_nets_nr;
	/**
	 * Uses the node of another process, `colibri node --attach`: the path of its
	 * socket, or "default" for `/run/colibri/attach.sock`. Then of this structure
	 * only lc_inline, lc_spin_ns, lc_cpus, lc_same_host with lc_transaction_timeout_ms,
	 * lc_reattach_ns and bounds of this process's own count.
	 * "": as $M0_LNET says, if that is `attach` or `attach:PATH`, else the node is
	 * in this process. "none": it is in this process.
	 */
	char lc_attach[108];
	/** The node has no thread; the caller makes progress. */
	bool lc_inline;
	/** How long the thread polls for work before it sleeps; it yields its
	 * processor to other threads meanwhile. < 0: the default ($M0_SPIN_NS,
	 * else 50 us). */
	int64_t lc_spin_ns;
	/** Processors on which the thread may run, such as "0-3,8"; "": any. */
	char lc_cpus[64];

	/** Port on which the node listens and to which it connects
	 * (`accept_port`): 988. */
	uint16_t            lc_port;
	enum m0_lnet_accept lc_accept;
	/**
	 * Range of source ports, tried downwards: 1023 and 512, which peers
	 * with accept=secure require. 0 and 0: any port.
	 */
	uint16_t lc_src_port_max;
	uint16_t lc_src_port_min;
	/** All peers are Colibri nodes, so the node may use any source port
	 * over IPv6. A Lustre node (2.16, 2.17) with accept=all would crash. */
	bool lc_peers_colibri;
	/** Make only the CONTROL connection to a peer, whatever
	 * lc_conns_per_peer is. For a program that sends little and exits. */
	bool lc_control_only;

	/** Messages in flight to one peer (`peer_credits`) and over one
	 * interface (`credits`). */
	unsigned lc_peer_credits;
	unsigned lc_credits;
	/** Connections of each bulk type to a peer, or over net o2ib connections
	 * (`conns_per_peer`): 1. */
	unsigned lc_conns_per_peer;

	/** Time-out for an ACK or REPLY (`lnet_transaction_timeout`). */
	uint64_t lc_transaction_timeout_ms;
	/**
	 * The node declares a peer lost that makes no progress for this long
	 * (`sock_timeout`).
	 */
	uint64_t lc_timeout_ms;
	/** Time-out for the hello of a connection (`accept_timeout`). */
	uint64_t lc_accept_timeout_ms;
	/** The node sends a peer a keep-alive after this long without traffic
	 * (`keepalive`); 0: never. */
	uint64_t lc_keepalive_ms;
	/** Back-off after a failed connection (`min_`, `max_reconnectms`). */
	uint64_t lc_reconnect_min_ms;
	uint64_t lc_reconnect_max_ms;

	/** Advertise and do discovery (features 0x1e; else 0x0e). */
	bool lc_discovery;

	struct m0_lnet_routing_cfg lc_routing;
	struct m0_lnet_health_cfg  lc_health;

	/** Bounds. Each object that a peer can make this node keep counts
	 * towards one of them. */
	unsigned lc_portals_nr;
	unsigned lc_mes_max;
	unsigned lc_mds_max;
	unsigned lc_msgs_max;
	unsigned lc_peers_max;
	/**
	 * Most connections. Those from one address may take a quarter of it,
	 * and always 64. When the node is opened, it lowers this to three
	 * quarters of the files that the process may have open (`ulimit -n`).
	 */
	unsigned lc_conns_max;
	/** Connections whose hello has not arrived yet. */
	unsigned lc_accepting_max;
	/** TCP congestion control; "": the system's, and reno for connections
	 * within the host. */
	char lc_congestion[16];
	/** Socket buffers in bytes (`tx_`, `rx_buffer_size`); 0: the system's
	 * default. */
	unsigned lc_sndbuf_bytes;
	unsigned lc_rcvbuf_bytes;
	/**
	 * Connections to a node of this host, and of the same user or of root, go
	 * through shared memory instead of TCP, if that node has this set, too, and
	 * both are in one network namespace. Buffers of memory that the library
	 * allocates (m0_alloc_aligned() of a page or more, pools) after the node was
	 * opened are copied once, without a system call: such nodes can read all
	 * memory of this kind, and a child process shares it. In an attached process
	 * (lc_attach): processes of the same daemon with this set copy large payloads
	 * from each other's memory, and send messages to each other without it. false.
	 */
	bool lc_same_host;
	/**
	 * Directory in which nodes with lc_same_host find each other, by an absolute
	 * path; "": the network namespace. Containers that share it need to share
	 * neither network nor processes; each address and port in it is of one node.
	 * Its mode says who may connect. "".
	 */
	char lc_same_host_dir[44];
	/**
	 * Threads that move the bytes of large payloads over TCP, so that the node's
	 * thread only decides. 0 and 1: none, the node's thread moves all bytes. At
	 * most 64. 0.
	 */
	unsigned lc_lanes;
	/** Processors on which these threads may run, as lc_cpus. */
	char lc_lane_cpus[64];
	/** None. */
	struct m0_lnet_listen_fds lc_listen;
	/**
	 * With lc_attach: when the daemon has ended, the front looks for another one at the
	 * same path for so long, and attaches again. Until then operations fail with
	 * -ESHUTDOWN, as those did that were outstanding. Registered memory, numbers of
	 * transfer machines and lazy portals are carried over, MEs and MDs have ended, and
	 * transfer machines have FAILED; others can be started. 0: it attaches once.
	 */
	m0_time_t lc_reattach_ns;
};

/**
 * Sets the defaults of Lustre 2.17. lc_nets_nr is 0, which means network tcp on
 * the first device.
 */
M0_EXTERN void m0_lnet_cfg_default(struct m0_lnet_cfg *cfg);
/**
 * Adds networks from text: `tcp`, `tcp(eth0)`, `tcp1(10.0.0.1,10.0.0.2)`, or
 * several, separated by `,` (`networks`). Tunables of a network may follow it,
 * separated by blanks: `tcp1(eth1) peer_credits=16 timeout=30`. These are
 * peer_credits, credits, peer_timeout, peer_buffer_credits and the options of the
 * driver, which the function checks against the values of `cfg` that they
 * inherit. On failure nothing is added.
 * @param why  as for m0_lnet_open.
 * @retval -EINVAL  the text is invalid.
 * @retval -ENOSPC  too many networks or interfaces.
 */
M0_EXTERN int m0_lnet_cfg_networks(struct m0_lnet_cfg *cfg, const char *text,
				   char *why);
/**
 * Adds routes from text, in the grammar of the module parameter `routes`: entries
 * `NET [HOPS] GATEWAY[:PRIORITY]`, several gateways separated by blanks, entries
 * separated by `;` or newlines. Words may have `[a-b]`, `[a-b/step]` and `[x,y]`,
 * which stand for several words: `tcp1 2 10.0.0.[1-4]@tcp:1`. On failure nothing is
 * added.
 * @param why  as for m0_lnet_open.
 * @retval -EINVAL  the text is invalid.
 * @retval -ENOSPC  too many routes.
 */
M0_EXTERN int m0_lnet_cfg_routes(struct m0_lnet_cfg *cfg, const char *text,
				 char *why);
/**
 * Checks the configuration, as far as possible without looking at the host.
 * @param why  as for m0_lnet_open.
 * @retval -EINVAL
 */
M0_EXTERN int m0_lnet_cfg_check(const struct m0_lnet_cfg *cfg, char *why);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_CFG_H */

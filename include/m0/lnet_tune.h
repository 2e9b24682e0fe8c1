/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Changes of a node while it runs: its tunables, networks, health, and configured
 * peers. Terms are those of `lnetctl set`, `lnetctl net` and `lnetctl peer`.
 *
 * Changes take effect between two messages. All calls block until the node's thread
 * has executed them, except in callbacks of that node.
 */
#ifndef M0_LNET_TUNE_H
#define M0_LNET_TUNE_H

#include "m0/lnet.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tunable; m0_lnet_tunable_name() returns its name in `lnetctl set`. Switches
 * are 0 or 1. */
enum m0_lnet_tunable {
	/** As lc_discovery: a switch. */
	M0_LNET_TUNE_DISCOVERY,
	/** As lgc_drop_asym: a switch. */
	M0_LNET_TUNE_DROP_ASYM_ROUTE,
	/** As lhc_retry_count. */
	M0_LNET_TUNE_RETRY_COUNT,
	/** As lc_transaction_timeout_ms, in seconds, of operations that begin
	 * afterwards. */
	M0_LNET_TUNE_TRANSACTION_TIMEOUT,
	/** As lhc_sensitivity; 0 sets the retry count to 0, too. */
	M0_LNET_TUNE_HEALTH_SENSITIVITY,
	/** As lhc_recovery_limit_ms and lhc_ping_max_ms, in seconds. */
	M0_LNET_TUNE_RECOVERY_LIMIT,
	M0_LNET_TUNE_MAX_RECOVERY_PING_INTERVAL,
	/** As lgc_cut_through: a switch. */
	M0_LNET_TUNE_CUT_THROUGH,
	/** As lgc_splice: a switch. */
	M0_LNET_TUNE_SPLICE,
	M0_LNET_TUNABLES_NR
};

/** Returns the name, as "retry_count"; never NULL. */
M0_EXTERN const char *m0_lnet_tunable_name(enum m0_lnet_tunable tunable);
/**
 * Sets a tunable.
 * @param why  as for m0_lnet_open: name, value, and the accepted values.
 * @retval -EINVAL  the value is out of range; a retry count is above 0 while the
 *                  health sensitivity is 0, or not below the transaction
 *                  time-out.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_tune(struct m0_lnet *lnet, enum m0_lnet_tunable tunable,
			   uint64_t value, char *why);
/** Copies the values of all tunables. @retval -ENOMEM, -ESHUTDOWN */
M0_EXTERN int m0_lnet_tunables_get(struct m0_lnet *lnet,
				   uint64_t        ret[M0_LNET_TUNABLES_NR]);

/** Kinds of objects that have a health. */
enum m0_lnet_health_of {
	/** Interfaces of this node. */
	M0_LNET_HEALTH_OF_NIS,
	/** NIDs of peers. */
	M0_LNET_HEALTH_OF_PEERS
};

/**
 * Sets the health of one interface or NID of a peer, or of all.
 * @param nid     NULL, or ANY: all.
 * @param health  0 to M0_LNET_HEALTH_MAX.
 * @return number of interfaces or NIDs that the node knows by `nid`.
 * @retval -EINVAL  health is above M0_LNET_HEALTH_MAX.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_health_set(struct m0_lnet           *lnet,
				 enum m0_lnet_health_of    of,
				 const struct m0_lnet_nid *nid,
				 unsigned                  health);

enum {
	/** Most NIDs of one call about a peer. */
	M0_LNET_PEER_NIDS_MAX = 64
};

/**
 * Adds a configured peer, or further NIDs to one. Discovery does not change the NIDs
 * of such a peer.
 * @param nids        array of `nids_nr` further NIDs; may be NULL if that is 0.
 * @param multi_rail  the peer takes messages by each of its NIDs from each
 *                    interface.
 * @retval -EINVAL  a NID is ANY, of lo or this node's own, or there are more than
 *                  M0_LNET_PEER_NIDS_MAX.
 * @retval -EEXIST  a NID is that of another configured peer.
 * @retval -ENOSPC  there is no room for the peer or a NID.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_peer_add(struct m0_lnet           *lnet,
			       const struct m0_lnet_nid *primary,
			       const struct m0_lnet_nid *nids, unsigned nids_nr,
			       bool multi_rail);
/**
 * Forgets a peer, or some of its NIDs.
 * @param nids_nr  0: the whole peer.
 * @retval -ENOENT  the node knows no such peer, or NID of it.
 * @retval -EINVAL  `nids` names the primary NID: the whole peer is meant.
 * @retval -EBUSY   messages, a discovery or a route use it.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_peer_del(struct m0_lnet           *lnet,
			       const struct m0_lnet_nid *primary,
			       const struct m0_lnet_nid *nids,
			       unsigned                  nids_nr);

/**
 * Adds a network, or interfaces to a network that the node is on, and notifies peers.
 * All interfaces start, or none does.
 * @param net  as an element of lc_nets. If the node is on the network, its options
 *             are those of the network: `net` may have none.
 * @param why  as for m0_lnet_open: what is wrong with it.
 * @retval -EINVAL, -ENODEV, -EADDRNOTAVAIL, -ENETDOWN, -EADDRINUSE
 *                  as m0_lnet_open() for that network.
 * @retval -EEXIST  the node has the interface, or the network and `net` names no
 *                  interface, or has options.
 * @retval -ENOSPC  there are M0_LNET_CFG_NETS_MAX networks, or too many interfaces.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_net_add(struct m0_lnet               *lnet,
			      const struct m0_lnet_net_cfg *net, char *why);
/**
 * Removes interfaces from a network, or the node from the whole network. What is being
 * sent by them ends with -ENETDOWN, unless another path takes it; what waits for
 * answers continues to wait; connections end. The node notifies its peers. It removes
 * all that `net` names, or nothing. The call returns when the interfaces have stopped;
 * in callbacks, at once.
 *
 * Transfer machines of `m0_net` on such a NID stay, and what they send ends with an
 * error, until an interface has the NID again.
 * @param net  lnc_net, and lnc_ifaces: each is a device ("eth0") or an address
 *             ("10.0.0.1"), and lnc_ifaces_nr 0 means all. The rest is ignored.
 * @param why  as for m0_lnet_open.
 * @retval -EINVAL  the network is lo.
 * @retval -ENOENT  the node is not on the network, or has no such interface.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_net_del(struct m0_lnet               *lnet,
			      const struct m0_lnet_net_cfg *net, char *why);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_TUNE_H */

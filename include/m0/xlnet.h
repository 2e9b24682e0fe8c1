/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The LNet transport: transfer machines on nodes of m0/lnet.h, in one process
 * or in many, on one host or on many. All of it in user space, none of it under
 * the GPL, and many messages to one system call.
 * [r.M0.net.xprt.lnet.user] [r.M0.net.xprt.lnet.user.no-gpl]
 * [r.M0.net.xprt.lnet.user.min-syscalls]
 *
 * Address: "NID:12345:portal:tmid", for example `10.0.0.1@tcp:12345:40:7`, read
 * from the right, so that IPv6 NIDs are no trouble. Portals 1 to 63 (take one
 * of 34 to 49 or 53 to 63: Lustre uses the first ones, and its self-test 50 to
 * 52); machines 0 to 4095. At start the machine's number may be `*`: the
 * highest that is free, and the address may be NULL: the first NID of the first
 * node, portal 40, number `*`. Servers take low numbers, which this leaves free
 * longest. [r.M0.net.xprt.lnet.end-point-address]
 * [r.M0.net.xprt.lnet.dynamic-address-assignment]
 * [r.M0.net.xprt.lnet.address-assignment]
 *
 * Nodes. A machine uses the node of this process that has the NID of its
 * address: one that the application has opened and named by
 * m0_net_lnet_use(), or the default one. m0_net_domain_init() opens that if
 * there is none at all, from the text in $M0_LNET (as `networks` of
 * m0_lnet_cfg_networks, say "tcp(eth1)"; default: tcp on the first device),
 * with $M0_LNET_PORT, $M0_LNET_ACCEPT ("secure", "all", "none") and
 * $M0_LNET_TIMEOUT_MS (of a transaction, and of a peer that is silent) and
 * $M0_LNET_CPUS (processors of its thread, as lc_cpus) if they are set; it is closed with the last domain. It has 64 peer credits, so that as
 * many messages may leave together.
 *
 * Threads. A machine is run by the thread of its node; a confined one has its
 * own thread, and while it is alone on its node, the node's thread runs on the same
 * processors, unless the node has a set of its own (lc_cpus, m0_lnet_confine()).
 * A node whose machines are all inline has no thread: then who polls
 * a machine moves the node. It gets one, for good, with the first machine of
 * another mode, and when one is asked for a notify.
 *
 * What was added is there, as m0_net_buffer_add() says, however the machine is
 * run: the add itself has the node attach the buffer, before anything that
 * comes later (m0_lnet_md_attach); of an inline machine in the next poll, which
 * does that before it looks for messages.
 *
 * A portal above 63 is refused by an event, FAILED with -EINVAL; a text that is no
 * address by m0_net_tm_start().
 *
 * Limits: segment 1 MiB, 256 segments, buffer 16 MiB, message 1 MiB. A message of
 * more than one segment has shorter ones.
 *
 * Outcomes, all by event:
 *  - MSG_SEND ends when the message has left: 0, whether anybody takes it or
 *    not; -EMSGSIZE above 1 MiB; -ENOBUFS: more than lc_msgs_max of m0/lnet.h
 *    are outstanding; errors of the network. With
 *    m0_net_lnet_send_acked() it ends when the message was taken, or
 *    -ETIMEDOUT.
 *  - A message for a machine without a free receive buffer: ERROR event
 *    -ENOBUFS there; too large for each of its buffers: the first gets
 *    -EMSGSIZE, nbe_length what was wanted.
 *  - ACTIVE_*: -EINVAL not a descriptor; -EPERM wrong direction; -EACCES made
 *    for another initiator; -EFBIG: the receiving buffer is too small, and the
 *    passive buffer stays queued; -ETIMEDOUT after the node's transaction time-out: nobody answers,
 *    the passive buffer is no longer queued, say. Errors of the network.
 *
 * A buffer that is cancelled or whose time has come ends at once if it waits, or
 * is being filled. One whose bytes are on their way to a peer that does not take
 * them, or takes them slowly, ends when they have left, or when the peer is given
 * up: lc_timeout_ms of the node later at the latest.
 * Seed 001; section "Match bits" and those after it.
 */
#ifndef M0_XLNET_H
#define M0_XLNET_H

#include "m0/net.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_lnet;

enum {
	M0_NET_LNET_PID = 12345,
	M0_NET_LNET_PORTAL = 40,
	M0_NET_LNET_TMID_MAX = 4095,
	M0_NET_LNET_XEP_ADDR_LEN = 80,
	M0_NET_LNET_NIDSTR_SIZE = 64,
	M0_NET_LNET_SEGMENT_MAX = 1 << 20,
	M0_NET_LNET_SEGMENTS_MAX = 256,
	M0_NET_LNET_BUFFER_MAX = 16 << 20,
	M0_NET_LNET_MESSAGE_MAX = 1 << 20
};

/** The transport's variable. [r.M0.net.xprt.lnet.transport-variable] */
M0_EXTERN const struct m0_net_xprt m0_lnet_xprt;
/** The same object. */
M0_EXTERN const struct m0_net_xprt m0_net_lnet_xprt;

/**
 * Machines may use this node from now on. The application goes on to own it.
 * @retval -EEXIST  they may already. @retval -ENOMEM
 */
M0_EXTERN int m0_net_lnet_use(struct m0_lnet *lnet);
/**
 * They may not any more: before it is closed. Blocks until its callbacks have
 * returned. @retval -EBUSY  a machine is on it. @retval -ENOENT
 */
M0_EXTERN int m0_net_lnet_unuse(struct m0_lnet *lnet);

/** Messages sent from this domain end when they were taken, or when they left
 * (the default). Of those added from now on. */
M0_EXTERN void m0_net_lnet_send_acked(struct m0_net_domain *dom, bool acked);

/**
 * Compares the NIDs of two addresses, as text, as strcmp() does; -1 if one of
 * them has no colon after its NID.
 */
M0_EXTERN int m0_net_lnet_ep_addr_net_cmp(const char *a1, const char *a2);
/**
 * The NIDs of this process' nodes, NULL at the end, `0@lo` once.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs);
/** Frees them and clears *addrs. */
M0_EXTERN void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs);

#ifdef __cplusplus
}
#endif
#endif /* M0_XLNET_H */

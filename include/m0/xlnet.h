/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The LNet transport: transfer machines (TMs) on nodes of m0/lnet.h, in one
 * process or in many, on one host or on many. It runs in user space, is free of
 * GPL code, and sends many messages with one system call.
 * [r.M0.net.xprt.lnet.user] [r.M0.net.xprt.lnet.user.no-gpl]
 * [r.M0.net.xprt.lnet.user.min-syscalls]
 *
 * Address: "NID:12345:portal:tmid", for example `10.0.0.1@tcp:12345:40:7`. The
 * transport parses it from the right, so that a NID may contain colons (IPv6).
 * Portals are 1 to 63; choose one of 34 to 49 or 53 to 63, because Lustre uses
 * the first ones, and its self-test 50 to 52. TM numbers are 0 to 4095. At
 * start the number may be `*`, which picks the highest free one; or the address
 * may be NULL, which stands for the first NID of the first node, portal 40,
 * number `*`. Servers should use low numbers, which `*` picks last.
 * [r.M0.net.xprt.lnet.end-point-address]
 * [r.M0.net.xprt.lnet.dynamic-address-assignment]
 * [r.M0.net.xprt.lnet.address-assignment]
 *
 * Nodes. A TM uses the node of this process that has the NID of its address: a
 * node that the application has opened and passed to m0_net_lnet_use(), or the
 * default node. m0_net_domain_init() opens the default node if there is no node
 * at all. It reads the configuration from the environment:
 *  - $M0_LNET: the networks, as `networks` of m0_lnet_cfg_networks, for example
 *    "tcp(eth1)"; default: tcp on the first device;
 *  - $M0_LNET_PORT;
 *  - $M0_LNET_ACCEPT: "secure", "all" or "none";
 *  - $M0_LNET_TIMEOUT_MS: time-out of a transaction, and of a silent peer;
 *  - $M0_LNET_CPUS: processors of the node's thread, as lc_cpus.
 * The default node has 64 peer credits, so that 64 messages to a peer may leave
 * together. It is closed with the last domain.
 *
 * Threads. A TM runs on the thread of its node. A confined TM has its own
 * thread; while it is the only TM of its node, the node's thread runs on the
 * same processors, unless the node has a set of its own (lc_cpus,
 * m0_lnet_confine()). A node whose TMs are all inline has no thread: a thread
 * that polls a TM then runs the node as well. The node gets a thread, for good,
 * with its first TM of another mode, or with the first notify that is
 * requested.
 *
 * A buffer is ready when m0_net_buffer_add() returns, as that function says, in
 * every mode: during the add, the node attaches the buffer before anything that
 * arrives later (m0_lnet_md_attach). With an inline TM, the next poll attaches
 * it, before it looks for messages.
 *
 * Start with a portal above 63 fails by an event, FAILED with -EINVAL. Start
 * with a text that is not an address fails in m0_net_tm_start().
 *
 * Limits: segment 1 MiB, 256 segments, buffer 16 MiB, message 1 MiB in all its
 * segments.
 *
 * Outcomes, all delivered by event:
 *  - MSG_SEND completes when the message has left: with 0, whether or not a
 *    receiver takes it; -EMSGSIZE above 1 MiB; -ENOBUFS if more than
 *    lc_msgs_max of m0/lnet.h are outstanding; or an error of the network.
 *    After m0_net_lnet_send_acked(dom, true) it completes when the receiver has
 *    taken the message, or with -ETIMEDOUT.
 *  - A message for a TM without a free receive buffer causes an ERROR event
 *    -ENOBUFS there. If it is too large for each of its buffers, the first one
 *    gets -EMSGSIZE, with the length of the message in nbe_length.
 *  - ACTIVE_*: -EINVAL if the bytes are not a descriptor; -EPERM if the
 *    direction is wrong; -EACCES if the descriptor was made for another
 *    initiator; -EFBIG if the receiving buffer is too small (the passive buffer
 *    stays queued); -ETIMEDOUT after the node's transaction time-out if the
 *    peer does not answer, for example because the passive buffer is no longer
 *    queued; or an error of the network.
 *
 * Rails. Messages leave by the interface of the TM's NID, which is their sender's
 * address. Pieces of bulk of 1 MiB take any path to a Multi-Rail peer that knows
 * all NIDs of the node. A piece that is lost with its path is moved again, at most
 * twice, by another one; -EHOSTUNREACH after that.
 *
 * A buffer that is cancelled or times out completes at once if it waits or is
 * being filled. If its bytes are in flight to a peer that takes them slowly or
 * not at all, it completes when the bytes have left or when the node declares
 * the peer dead, lc_timeout_ms of the node later at the latest.
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

/** The transport. [r.M0.net.xprt.lnet.transport-variable] */
M0_EXTERN const struct m0_net_xprt m0_lnet_xprt;
/** Another name of m0_lnet_xprt. */
M0_EXTERN const struct m0_net_xprt m0_net_lnet_xprt;

/**
 * Lets TMs use this node from now on. The application continues to own it. If the daemon of
 * an attached node has ended, a node that is attached anew may be added before the old one
 * is removed: TMs that start then use the new one, and registered buffers stay registered.
 * @retval -EEXIST  TMs may use it already.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_lnet_use(struct m0_lnet *lnet);
/**
 * Ends the use of the node by TMs; call it before the node is closed. The call
 * blocks until the callbacks of the node have returned.
 * @retval -EBUSY  a TM uses the node.
 * @retval -ENOENT  m0_net_lnet_use() was not called for it.
 */
M0_EXTERN int m0_net_lnet_unuse(struct m0_lnet *lnet);

/**
 * Sets whether messages sent from this domain complete when the receiver has
 * taken them, or when they have left (the default). It applies to buffers added
 * from now on.
 */
M0_EXTERN void m0_net_lnet_send_acked(struct m0_net_domain *dom, bool acked);

/**
 * Compares the NIDs of two addresses, as text, as strcmp() does; -1 if one of
 * them has no colon after its NID.
 */
M0_EXTERN int m0_net_lnet_ep_addr_net_cmp(const char *a1, const char *a2);
/**
 * Returns the NIDs of this process' nodes, NULL at the end; `0@lo` appears
 * once.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs);
/** Frees the array and clears *addrs. */
M0_EXTERN void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs);

#ifdef __cplusplus
}
#endif
#endif /* M0_XLNET_H */

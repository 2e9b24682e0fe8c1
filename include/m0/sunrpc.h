/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The sunrpc transport: messages and bulk over ONC RPC on TCP, for networks
 * that pass only plain RPC. m0/sunrpc.x defines its protocol.
 *
 * Its library is libcolibri-sunrpc (pkg-config colibri-sunrpc).
 *
 * Address: "host:port:id", where host is an IPv4 address in numbers, port is
 * 1-65535, and id is 0-4294967295. It names TM `id` of the process that listens
 * at host and port. At start the id may be `*`, which picks the highest free id
 * from 4095 downward; the port may be 0, which picks any; and the host may be
 * `*`, which picks the host of the process if it has one already, otherwise the
 * first IPv4 address that is up (127.0.0.1 if there is none). NULL stands for
 * "*:0:*".
 *
 * One server per process. The process listens from the start of its first TM to
 * the stop of its last. All TMs of the process share its host and port, and
 * differ in their ids. Start fails with -EADDRNOTAVAIL if the process listens
 * at another host and port already, and with -EADDRINUSE if the id is taken or
 * another process listens at the address. No rpcbind is needed; if
 * $M0_SUNRPC_RPCBIND is 1, the server registers with the rpcbind of its host
 * (and warns if there is none).
 *
 * Threads. One thread of the process moves all bytes, whatever the modes of the
 * TMs; TMs deliver events as those of other transports. The thread runs on the
 * processors of m0_net_bulk_sunrpc_confine(), or of $M0_SUNRPC_CPUS, such as
 * "0-3,8". If neither is set, it runs on the processors of a confined TM that
 * is alone in the process. The TMs of a domain share the connections to a peer.
 * A connection that is idle for a while is closed.
 *
 * Limits: segment 1 MiB, 256 segments, buffer 16 MiB, message 1 MiB. Bulk moves
 * in pieces of 1 MiB. The server accepts at most 256 connections. To accept
 * another, it closes an old one: first one that never sent a call, then one
 * whose record, or the reply to it, has been in progress for
 * M0_NET_BULK_SUNRPC_TIMEOUT_MS, then the one that is idle longest. Messages
 * that have arrived in part use at most 64 MiB in all. Beyond that, the server
 * closes such a slow connection as well; if there is none, the message that
 * needs more finds no buffer. The server also closes a connection if a record
 * or a reply does not move for M0_NET_BULK_SUNRPC_TIMEOUT_MS, if a record is
 * not complete M0_NET_BULK_SUNRPC_RECORD_MS after its first byte, or if it is
 * idle for M0_NET_BULK_SUNRPC_SERVER_IDLE_MS.
 *
 * Security: the seed's protocol authenticates nobody. Any program that can
 * reach the port can send to its TMs, and use the descriptors that it has seen,
 * under any name.
 *
 * Outcomes, all delivered by event:
 *  - MSG_SEND completes when the receiver has taken the message. -ENOBUFS: the
 *    receiver has no buffer and gets an ERROR event -ENOBUFS. -EMSGSIZE on both
 *    sides: no buffer is large enough (only here, if the message is above 1
 *    MiB). -ENETUNREACH: no TM is started there. -ECONNREFUSED, -EHOSTUNREACH,
 *    -ECONNRESET: errors of the network. -EPROTO: the peer violates the
 *    protocol, for example with a status that m0/sunrpc.x does not have for the
 *    call. -ETIMEDOUT: no answer in time. Once the message has left, cancel and
 *    nb_timeout wait for the answer, which says whether it was taken, at most
 *    as long as any message waits (m0_net_bulk_sunrpc_dom_timeout_set).
 *  - ACTIVE_*: the same, and -EINVAL if the bytes are not a descriptor; -EPERM
 *    if the direction is wrong; -EACCES if the descriptor was made for another
 *    initiator; -ENOENT if the passive buffer is no longer queued, or another
 *    initiator uses it; -EFBIG on both sides if the receiving buffer is too
 *    small.
 * Seed 000, "Sunrpc and in-memory bulk transport emulation".
 */
#ifndef M0_SUNRPC_H
#define M0_SUNRPC_H

#include "m0/net.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	M0_NET_BULK_SUNRPC_XEP_ADDR_LEN = 36,
	M0_NET_BULK_SUNRPC_SEGMENT_MAX = 1 << 20,
	M0_NET_BULK_SUNRPC_SEGMENTS_MAX = 256,
	M0_NET_BULK_SUNRPC_BUFFER_MAX = 16 << 20,
	M0_NET_BULK_SUNRPC_MESSAGE_MAX = 1 << 20,
	M0_NET_BULK_SUNRPC_THREADS_MAX = 64,
	/** Highest id that `*` picks. */
	M0_NET_BULK_SUNRPC_ID_MAX = 4095,
	M0_NET_BULK_SUNRPC_CONNS_MAX = 256,
	/** Default times. */
	M0_NET_BULK_SUNRPC_TIMEOUT_MS = 10000,
	M0_NET_BULK_SUNRPC_RECORD_MS = 60000,
	M0_NET_BULK_SUNRPC_IDLE_MS = 5000,
	M0_NET_BULK_SUNRPC_SERVER_IDLE_MS = 60000
};

/** The transport. */
M0_EXTERN const struct m0_net_xprt m0_net_bulk_sunrpc_xprt;

/**
 * Sets how long messages and pieces of bulk that this domain sends wait for
 * their answers. A buffer has the value of its add. An existing connection
 * follows when data moves on it next, or when its time by the old value is up:
 * operations that wait on the connection then end with it, -ETIMEDOUT, if that
 * is sooner. Pre: ms > 0.
 */
M0_EXTERN void m0_net_bulk_sunrpc_dom_timeout_set(struct m0_net_domain *dom,
						  uint32_t              ms);
/**
 * Sets how long idle connections of this domain stay open. An existing
 * connection follows when data moves on it next, or when its time by the old
 * value is up.
 */
M0_EXTERN void m0_net_bulk_sunrpc_dom_idle_set(struct m0_net_domain *dom,
					       uint32_t              ms);

/**
 * Sets how many threads make callbacks for a TM; default 1. With more,
 * callbacks of different buffers may run at the same time. Pre: INITIALIZED, 1
 * <= num <= M0_NET_BULK_SUNRPC_THREADS_MAX. No effect in inline mode.
 */
M0_EXTERN void m0_net_bulk_sunrpc_tm_set_num_threads(
	struct m0_net_transfer_mc *tm, size_t num);
M0_EXTERN size_t
m0_net_bulk_sunrpc_tm_get_num_threads(const struct m0_net_transfer_mc *tm);

/**
 * Confines the transport's thread to the processors of the set, now and if it
 * is created later. Any thread.
 * @param processors  copied; NULL: any.
 * @retval -EINVAL  the set names no processor that the process may run on;
 *                  nothing has changed.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_bulk_sunrpc_confine(const struct m0_bitmap *processors);

/** Statistics of the process since its start. */
struct m0_net_bulk_sunrpc_stats {
	/** Open connections, accepted and made. */
	uint64_t nss_conns_in_nr;
	uint64_t nss_conns_out_nr;
	/** All connections made so far. */
	uint64_t nss_conns_made_nr;
	/**
	 * Accepted connections closed to accept another or to free memory;
	 * connections closed because nothing moved.
	 */
	uint64_t nss_conns_evicted_nr;
	uint64_t nss_conns_stalled_nr;
	/** Connections closed because the peer sent bytes that are not RPC. */
	uint64_t nss_conns_garbled_nr;
	/** Calls answered with an error of RPC: unknown program, malformed. */
	uint64_t nss_calls_refused_nr;
	uint64_t nss_calls_served_nr;
};

M0_EXTERN void m0_net_bulk_sunrpc_stats_get(
	struct m0_net_bulk_sunrpc_stats *ret);

#ifdef __cplusplus
}
#endif
#endif /* M0_SUNRPC_H */

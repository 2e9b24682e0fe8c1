/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sunrpc transport: messages and bulk over ONC RPC on TCP, for places where
 * only plain RPC passes. m0/sunrpc.x is what it speaks.
 *
 * Address: "host:port:id", host an IPv4 address in numbers, port 1-65535, id
 * 0-4294967295: machine `id` of the process that listens at host and port. At
 * start the id may be `*`, the highest from 4095 downward that is free, the
 * port 0: any, and the host `*`: that of the process, if it has one already,
 * else the first IPv4 address that is up (127.0.0.1 if there is none). NULL is
 * "*:0:*".
 *
 * One server per process. It listens from the start of the first machine to the
 * stop of the last; all machines of the process have its host and port, and
 * differ in their ids. Start fails with -EADDRNOTAVAIL at another host and
 * port, with -EADDRINUSE at an id that is taken or where somebody else listens.
 * No rpcbind is needed; with $M0_SUNRPC_RPCBIND set to 1 the server registers
 * with that of the host (and warns if there is none).
 *
 * Threads. One thread of the process moves all bytes, whatever the modes of the
 * machines; machines deliver events as others do. It runs on the processors of
 * m0_net_bulk_sunrpc_confine(), or $M0_SUNRPC_CPUS, such as "0-3,8"; if there are
 * none, on those of a confined machine that is alone in the process. Connections to a peer are
 * shared by the machines of a domain, and closed when idle for a while.
 *
 * Limits: segment 1 MiB, 256 segments, buffer 16 MiB, message 1 MiB. Bulk moves
 * in pieces of 1 MiB. At most 256 connections are taken in. One makes place for
 * another: first those that never asked anything, then those whose record, or
 * the reply to it, is under way for M0_NET_BULK_SUNRPC_TIMEOUT_MS, then the one
 * that is idle longest. What has come of messages in part has 64 MiB in all:
 * beyond, such a slow one makes place as well, else the message that wants more
 * finds no buffer. A connection is closed on which a record or a reply does not
 * move for M0_NET_BULK_SUNRPC_TIMEOUT_MS, or a record is not whole
 * M0_NET_BULK_SUNRPC_RECORD_MS after its first byte, or that is idle for
 * M0_NET_BULK_SUNRPC_SERVER_IDLE_MS.
 *
 * Who can reach the port can send to its machines, and use the descriptors it
 * has seen, under any name: the seed's protocol proves nobody's identity.
 *
 * Outcomes, all by event:
 *  - MSG_SEND ends when it was taken: -ENOBUFS, and there an ERROR event
 *    -ENOBUFS: the receiver has no buffer; -EMSGSIZE on both sides: no buffer
 *    is large enough (or above 1 MiB: here alone); -ENETUNREACH: no machine is
 *    started there; -ECONNREFUSED, -EHOSTUNREACH, -ECONNRESET: errors of the
 *    network; -EPROTO: the peer does not keep to the protocol, be it that it
 *    answers with a status that m0/sunrpc.x does not have for the call;
 *    -ETIMEDOUT: no answer in time. Once it has left, cancel and
 *    nb_timeout wait for the answer, which says whether it was taken, at most
 *    as long as any message (m0_net_bulk_sunrpc_dom_timeout_set).
 *  - ACTIVE_*: the same, and -EINVAL not a descriptor; -EPERM wrong direction;
 *    -EACCES made for another initiator; -ENOENT the passive buffer is no
 *    longer queued, or another uses it; -EFBIG on both sides: the receiving
 *    buffer is too small.
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
	/** Highest id that `*` gives. */
	M0_NET_BULK_SUNRPC_ID_MAX = 4095,
	M0_NET_BULK_SUNRPC_CONNS_MAX = 256,
	/** Defaults. */
	M0_NET_BULK_SUNRPC_TIMEOUT_MS = 10000,
	M0_NET_BULK_SUNRPC_RECORD_MS = 60000,
	M0_NET_BULK_SUNRPC_IDLE_MS = 5000,
	M0_NET_BULK_SUNRPC_SERVER_IDLE_MS = 60000
};

/** The transport's variable. */
M0_EXTERN const struct m0_net_xprt m0_net_bulk_sunrpc_xprt;

/**
 * How long what this domain sends waits for an answer, for each message and
 * each piece of bulk. A buffer has the value of its add. Connections that are
 * there follow when something moves on them next, or when their time by the old
 * value is up: what waits on one ends with it, -ETIMEDOUT, if that is sooner.
 * Pre: ms > 0.
 */
M0_EXTERN void m0_net_bulk_sunrpc_dom_timeout_set(struct m0_net_domain *dom,
						  uint32_t              ms);
/** How long its connections stay without use. Those that are there follow when
 * something moves on them next, or when their time by the old value is up. */
M0_EXTERN void m0_net_bulk_sunrpc_dom_idle_set(struct m0_net_domain *dom,
					       uint32_t              ms);

/**
 * How many threads call back for a machine; default 1. With more, callbacks of
 * different buffers may run at the same time. Pre: INITIALIZED,
 * 1 <= num <= M0_NET_BULK_SUNRPC_THREADS_MAX. No effect in inline mode.
 */
M0_EXTERN void m0_net_bulk_sunrpc_tm_set_num_threads(
	struct m0_net_transfer_mc *tm, size_t num);
M0_EXTERN size_t
m0_net_bulk_sunrpc_tm_get_num_threads(const struct m0_net_transfer_mc *tm);

/**
 * Lets the transport's thread run on the processors of the set only, from now on;
 * one that is made later, too. Any thread.
 * @param processors  copied; NULL: any.
 * @retval -EINVAL  the set names no processor that the process may run on; nothing
 *                  has changed.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_net_bulk_sunrpc_confine(const struct m0_bitmap *processors);

/** What has been seen since the process began. */
struct m0_net_bulk_sunrpc_stats {
	/** Connections there are, taken in and made. */
	uint64_t nss_conns_in_nr;
	uint64_t nss_conns_out_nr;
	/** Connections made, ever. */
	uint64_t nss_conns_made_nr;
	/** Taken in and closed to make place, or for memory; closed for no
	 * progress. */
	uint64_t nss_conns_evicted_nr;
	uint64_t nss_conns_stalled_nr;
	/** Closed because what came was no RPC. */
	uint64_t nss_conns_garbled_nr;
	/** Calls answered with an error of RPC: other program, garbage. */
	uint64_t nss_calls_refused_nr;
	uint64_t nss_calls_served_nr;
};

M0_EXTERN void m0_net_bulk_sunrpc_stats_get(
	struct m0_net_bulk_sunrpc_stats *ret);

#ifdef __cplusplus
}
#endif
#endif /* M0_SUNRPC_H */

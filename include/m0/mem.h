/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The in-memory transport: between TMs of different domains of one process.
 *
 * Address: "a.b.c.d:port", port 1-65535; nothing else. At start NULL picks a
 * free port of 127.0.0.1, from 65535 downward. Only TMs of *other* domains of
 * this transport are peers.
 *
 * Limits: segment 1 MiB, 16 segments, buffer 16 MiB. The transport supports all
 * queues, modes, time-outs, confinement, and several messages in one receive
 * buffer. It copies messages and bulk once.
 *
 * Outcomes, all delivered by event:
 *  - MSG_SEND: -ENETUNREACH if no TM is started at the address; -ENOBUFS if the
 *    receiver has no buffer, which then gets an ERROR event -ENOBUFS; -EMSGSIZE
 *    on both sides if no buffer is large enough.
 *  - ACTIVE_*: -EINVAL if the bytes are not a descriptor; -EPERM if the
 *    direction is wrong; -EACCES if the descriptor was made for another
 *    initiator; -ENETUNREACH if its owner is not started; -ENOENT if the
 *    passive buffer is no longer queued; -EFBIG on both sides if the receiving
 *    buffer is too small.
 * Seed 000, "Sunrpc and in-memory bulk transport emulation".
 */
#ifndef M0_MEM_H
#define M0_MEM_H

#include "m0/net.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	M0_NET_BULK_MEM_XEP_ADDR_LEN = 36,
	M0_NET_BULK_MEM_SEGMENT_MAX = 1 << 20,
	M0_NET_BULK_MEM_SEGMENTS_MAX = 16,
	M0_NET_BULK_MEM_BUFFER_MAX = 16 << 20,
	M0_NET_BULK_MEM_THREADS_MAX = 64
};

M0_EXTERN const struct m0_net_xprt m0_net_bulk_mem_xprt;

/**
 * Sets how many threads copy data and make callbacks for a TM; default 1. With
 * more, callbacks of different buffers may run at the same time. Pre:
 * INITIALIZED, 1 <= num <= M0_NET_BULK_MEM_THREADS_MAX. No effect in inline
 * mode.
 */
M0_EXTERN void m0_net_bulk_mem_tm_set_num_threads(struct m0_net_transfer_mc *tm,
						  size_t num);
M0_EXTERN size_t
m0_net_bulk_mem_tm_get_num_threads(const struct m0_net_transfer_mc *tm);

#ifdef __cplusplus
}
#endif
#endif /* M0_MEM_H */

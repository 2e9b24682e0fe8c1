/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * m0_net between two sides, over any transport: one machine on each side that
 * all plays use.
 */
#ifndef BENCH_NET_M0_H
#define BENCH_NET_M0_H

#include "net_world.h"
#include "../lib/pair.h"

struct net_m0 {
	enum world_kind m_kind;
	/** Inline machines that are polled; else the library's threads. */
	bool m_polled;
	/** The transport: mem, lnet; near: lnet through shared memory; attached: side 0
	 * has its node in a daemon, which is in the process of side 1; pair: both are
	 * attached to the daemon of a third process; direct: and pass by it. */
	const char *m_xprt;
	unsigned    m_port;
	/** In two processes each has one of them. */
	struct bench_side *m_side[2];
	bool               m_stopped[2];
	struct m0_lnet    *m_lnet[2];
	/** attached: the daemon and its node, of side 1. */
	struct m0_lnet        *m_host;
	struct m0_lnet_daemon *m_daemon;
	char                   m_path[64];
};

/** The machines: the first play of all. */
struct world_play net_m0_play(struct net_m0 *m);
/** Ends a side's machine, so that no buffer is queued any more. */
void net_m0_stop(struct net_m0 *m, int side);

bool net_m0_is_near(const struct net_m0 *m);
bool net_m0_is_attached(const struct net_m0 *m);
/** Is it pair, or direct? */
bool net_m0_is_pair(const struct net_m0 *m);
bool net_m0_is_direct(const struct net_m0 *m);
/** Touched memory of a side, not given back: of the library's allocator if a daemon or the
 * peer maps it. */
void *net_m0_memory(const struct net_m0 *m, int side, size_t bytes);
/** Side 1 of attached: the daemon's node. */
void net_m0_host_poll(struct net_m0 *m);

static inline bool net_m0_is_async(const struct net_m0 *m)
{
	return !m->m_polled;
}

/** Moves what there is to move. */
static inline void net_m0_poll(struct net_m0 *m, int side)
{
	if (m->m_host != NULL)
		net_m0_host_poll(m);
	bench_poll(m->m_side[side]);
}

/* net_msg.c */

/** Ping-pong, answered from the callback: one operation is one way. Up to `msgs`
 * messages go into one receive buffer. */
struct net_ping;
struct net_ping  *net_ping_make(struct net_m0 *m, uint32_t msgs,
				struct world_play *play);
struct bench_case net_ping_case(struct net_ping *g, const char *name);

/** Messages of 64 B in one direction, `depth` queued all the time, up to `msgs`
 * of them in one receive buffer. */
struct net_rate;
struct net_rate  *net_rate_make(struct net_m0 *m, unsigned depth, uint32_t msgs,
				struct world_play *play);
struct bench_case net_rate_case(struct net_rate *f, const char *name);

/* net_bulk.c */

/**
 * Side `active` has `flight` transfers under way; the other has passive buffers
 * and publishes their descriptors in shared memory. Side 0 counts and waits,
 * whichever is active. Side 1 can be, if the machines are polled.
 */
struct net_bulk;
struct net_bulk  *net_bulk_make(struct net_m0 *m, size_t bytes, unsigned flight,
				bool is_put, int active,
				struct world_play *play);
struct bench_case net_bulk_case(struct net_bulk *k, const char *name);

#endif /* BENCH_NET_M0_H */

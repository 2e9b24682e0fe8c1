/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Faults on purpose, in a node that runs: rules that lose, delay, double or
 * damage messages, or cut connections. For tests, and to see how a system takes
 * it. Words and ways of choosing are those of `lnetctl fault`.
 *
 * Where a rule acts:
 *  - DROP: where a message comes in, before it is matched; its sender learns
 *    nothing. With lfa_health: where it leaves, and sending fails.
 *  - DELAY: where a message comes in (what comes after it by the same connection
 *    waits, too) and where it leaves (others overtake it; it keeps its credits).
 *  - DUPLICATE (ours): where it leaves; it is sent twice.
 *  - CORRUPT (ours): where it comes in; one bit of it is turned.
 *  - CUT (ours): where it comes in or leaves; all connections to that peer are
 *    closed, with what is in them.
 * A message to this node itself is delayed once and cuts nothing.
 *
 * Rules are looked at from the newest on; nothing after a DROP that hits. A node
 * without rules pays a test of one pointer for a message.
 *
 * All calls take effect at once, between two messages. They block until the
 * node's thread has done it, except in callbacks of that node.
 */
#ifndef M0_LNET_FAULT_H
#define M0_LNET_FAULT_H

#include "m0/lnet_info.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_lnet_fault_kind {
	M0_LNET_FAULT_DROP,
	M0_LNET_FAULT_DELAY,
	M0_LNET_FAULT_DUPLICATE,
	M0_LNET_FAULT_CORRUPT,
	M0_LNET_FAULT_CUT,
	M0_LNET_FAULT_KINDS_NR,
	/** Of any kind: not for adding. */
	M0_LNET_FAULT_ANY = M0_LNET_FAULT_KINDS_NR
};

/** Bits of lfa_msgs. */
enum m0_lnet_fault_msgs {
	M0_LNET_FAULT_ACK = 1 << 0,
	M0_LNET_FAULT_PUT = 1 << 1,
	M0_LNET_FAULT_GET = 1 << 2,
	M0_LNET_FAULT_REPLY = 1 << 3
};

enum {
	/** Rules of a node. */
	M0_LNET_FAULTS_MAX = 256,
	/** All bits of lfa_health: 1 << enum m0_lnd_health, without OK. */
	M0_LNET_FAULT_HEALTH_ALL = 0x7fe
};

/**
 * What a rule is for, which of those messages it hits, and what it does.
 * m0_lnet_fault_attr_init() makes it one for every message, that hits none.
 */
struct m0_lnet_fault_attr {
	enum m0_lnet_fault_kind lfa_kind;
	/** Source and destination as the header has them. ANY; one NID; or
	 * 255.255.255.255 of a network, which means all of it. */
	struct m0_lnet_nid lfa_src;
	struct m0_lnet_nid lfa_dst;
	/** The NID of ours that it comes in or leaves by; or ANY. */
	struct m0_lnet_nid lfa_local;
	/** enum m0_lnet_fault_msgs; 0: all. */
	unsigned lfa_msgs;
	/** Bit n: portal n. Not 0: only PUT and GET to one of these. */
	uint64_t lfa_portals;

	/* Which: at least one of the four; the first that is set counts. */

	/** Every one. */
	bool lfa_all;
	/** Half of them, at random. */
	bool lfa_random;
	/** One at a random moment of each interval. */
	uint64_t lfa_interval_ms;
	/** One of each so many, at a random place among them; of 2, the first
	 * one is hit. Not with an interval. */
	uint64_t lfa_rate;
	/** Ours: hits no more after so many; 0: no end. */
	uint64_t lfa_max;
	/** Ours: of the random choices, so that they can be had again; 0: of
	 * the node's own. */
	uint64_t lfa_seed;

	/** DELAY: for so long. What it makes late beyond its deadline fails. */
	uint64_t lfa_latency_ms;
	/** DROP: 1 << enum m0_lnd_health, of several one at random; not 0: see
	 * above. */
	unsigned lfa_health;
	/** CORRUPT: a bit of the header; else of the payload, and messages
	 * without payload are not for the rule. */
	bool lfa_header;
};

/** A rule, and what it has seen since it was added or reset. */
struct m0_lnet_fault {
	struct m0_lnet_fault_attr lft_attr;
	/** Messages that it is for, in all and by type; how many it has hit. */
	uint64_t                  lft_seen_nr;
	struct m0_lnet_msg_counts lft_seen;
	uint64_t                  lft_hits_nr;
};

M0_EXTERN void m0_lnet_fault_attr_init(struct m0_lnet_fault_attr *attr,
				       enum m0_lnet_fault_kind    kind);
/**
 * @param why  as for m0_lnet_open: field, value, and what is accepted.
 * @retval -EINVAL
 */
M0_EXTERN int m0_lnet_fault_attr_check(const struct m0_lnet_fault_attr *attr,
				       char                            *why);
/**
 * Adds a rule.
 * @retval -EINVAL, as m0_lnet_fault_attr_check() says.
 * @retval -ENOSPC  M0_LNET_FAULTS_MAX. @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_add(struct m0_lnet                  *lnet,
				const struct m0_lnet_fault_attr *attr,
				char                            *why);
/**
 * Removes the rules of a kind that have this source and destination; ANY (or
 * NULL): whatever they have. What they hold up goes on.
 * @return how many. @retval -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_del(struct m0_lnet           *lnet,
				enum m0_lnet_fault_kind   kind,
				const struct m0_lnet_nid *src,
				const struct m0_lnet_nid *dst);
/**
 * Sets the counters of the rules of a kind to 0; their choices begin anew.
 * @return how many. @retval -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_reset(struct m0_lnet         *lnet,
				  enum m0_lnet_fault_kind kind);
/**
 * The rules of a kind, the newest first.
 * @param ret  room for `max`; more are left out.
 * @return how many there are. @retval -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_get(struct m0_lnet         *lnet,
				enum m0_lnet_fault_kind kind,
				struct m0_lnet_fault *ret, unsigned max);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_FAULT_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Fault injection in a running node: rules that drop, delay, duplicate or
 * corrupt messages, or cut connections. For tests of the systems that use a
 * node. Terms and ways of choosing messages are those of `lnetctl fault`.
 *
 * A rule acts on a message where it comes in or where it leaves:
 *  - DROP: where it comes in, before the node matches it; the sender learns
 *    nothing. With lfa_health: where it leaves, and sending fails.
 *  - DELAY: where it comes in (messages that follow on the same connection
 *    wait, too) and where it leaves (others overtake it; it keeps its credits).
 *  - DUPLICATE (extension): where it leaves; the node sends it twice.
 *  - CORRUPT (extension): where it comes in; the node inverts one bit of it.
 *  - CUT (extension): where it comes in or leaves; the node closes all
 *    connections to that peer, with the data in them.
 * A message to this node itself is delayed once and cuts nothing.
 *
 * The node checks the rules from the newest on, and stops after a DROP that
 * acts. A node without rules only tests one pointer for each message.
 *
 * All calls take effect at once, between two messages. They block until the
 * node's thread has executed them, except in callbacks of that node.
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
	/** All kinds; not for adding a rule. */
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
	/** Most rules of a node. */
	M0_LNET_FAULTS_MAX = 256,
	/** All bits of lfa_health: 1 << enum m0_lnd_health, without OK. */
	M0_LNET_FAULT_HEALTH_ALL = 0x7fe
};

/**
 * A rule: the messages that it matches, which of those it acts on, and its
 * action. m0_lnet_fault_attr_init() makes a rule that matches every message and
 * acts on none.
 */
struct m0_lnet_fault_attr {
	enum m0_lnet_fault_kind lfa_kind;
	/** Source and destination in the header: ANY; one NID; or
	 * 255.255.255.255 of a network, which means all of that network. */
	struct m0_lnet_nid lfa_src;
	struct m0_lnet_nid lfa_dst;
	/** The NID of this node by which the message comes in or leaves; or
	 * ANY. */
	struct m0_lnet_nid lfa_local;
	/** enum m0_lnet_fault_msgs; 0: all. */
	unsigned lfa_msgs;
	/** Bit n: portal n. If not 0, the rule matches only PUT and GET to
	 * these portals. */
	uint64_t lfa_portals;

	/* Messages to act on: set at least one of these four; the first one set
	 * is used. */

	/** Every message. */
	bool lfa_all;
	/** A random half of the messages. */
	bool lfa_random;
	/** One message at a random moment of each interval. */
	uint64_t lfa_interval_ms;
	/** One of this many messages, at a random position among them; of 2,
	 * the first one. Not with an interval. */
	uint64_t lfa_rate;
	/** Extension: the rule acts at most this often; 0: no limit. */
	uint64_t lfa_max;
	/** Extension: seed of the random choices, so that they can be repeated;
	 * 0: a seed of the node. */
	uint64_t lfa_seed;

	/** DELAY: duration. A message that becomes later than its deadline
	 * fails. */
	uint64_t lfa_latency_ms;
	/** DROP: bits 1 << enum m0_lnd_health; if there are several, the node
	 * picks one at random for each message. Not 0: sending fails with it,
	 * see above. */
	unsigned lfa_health;
	/** CORRUPT: true inverts a bit of the header. False inverts a bit of
	 * the payload, and the rule does not match messages without payload. */
	bool lfa_header;
};

/** A rule, and its counters since it was added or reset. */
struct m0_lnet_fault {
	struct m0_lnet_fault_attr lft_attr;
	/** Messages that it matches, in all and by type, and how many it acted
	 * on. */
	uint64_t                  lft_seen_nr;
	struct m0_lnet_msg_counts lft_seen;
	uint64_t                  lft_hits_nr;
};

M0_EXTERN void m0_lnet_fault_attr_init(struct m0_lnet_fault_attr *attr,
				       enum m0_lnet_fault_kind    kind);
/**
 * @param why  as for m0_lnet_open: field, value, and the accepted values.
 * @retval -EINVAL
 */
M0_EXTERN int m0_lnet_fault_attr_check(const struct m0_lnet_fault_attr *attr,
				       char                            *why);
/**
 * Adds a rule.
 * @retval -EINVAL  as for m0_lnet_fault_attr_check().
 * @retval -ENOSPC  the node has M0_LNET_FAULTS_MAX rules.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_add(struct m0_lnet                  *lnet,
				const struct m0_lnet_fault_attr *attr,
				char                            *why);
/**
 * Removes the rules of a kind that have this source and destination; ANY or
 * NULL selects all of them. Messages that they delay continue.
 * @return number of rules.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_del(struct m0_lnet           *lnet,
				enum m0_lnet_fault_kind   kind,
				const struct m0_lnet_nid *src,
				const struct m0_lnet_nid *dst);
/**
 * Sets the counters of the rules of a kind to 0, and restarts their choices.
 * @return number of rules.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_reset(struct m0_lnet         *lnet,
				  enum m0_lnet_fault_kind kind);
/**
 * Copies the rules of a kind, the newest first.
 * @param ret  array of `max` entries; further rules are left out.
 * @return number of rules of the kind.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_fault_get(struct m0_lnet         *lnet,
				enum m0_lnet_fault_kind kind,
				struct m0_lnet_fault *ret, unsigned max);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_FAULT_H */

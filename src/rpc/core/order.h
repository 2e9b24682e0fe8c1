/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * An ordered set whose nodes are embedded in its elements: a list in order, and
 * a treap that finds places in it. First and next are a look at a link. What
 * comes in order is only put at the end of the list, and known to the tree once
 * something comes that is not: so a queue costs what a list costs. Otherwise
 * O(log n) in the mean whatever comes (the heap's numbers are drawn).
 */
#ifndef M0_SRC_RPC_CORE_ORDER_H
#define M0_SRC_RPC_CORE_ORDER_H

#include "m0/base.h"

struct m0_order_node {
	struct m0_list_link   on_link;
	struct m0_order_node *on_up;
	struct m0_order_node *on_left;
	struct m0_order_node *on_right;
	/** Rank in the heap: a parent's is not less than its children's. */
	uint32_t on_rank;
	bool     on_is_in_tree;
};

struct m0_order {
	struct m0_list        or_list;
	struct m0_order_node *or_root;
	/** From here to the end of the list the tree knows none; NULL: all. */
	struct m0_order_node *or_rest;
	/** <0: `a` before `b`; never 0 for two different ones. */
	int (*or_cmp)(const struct m0_order_node *a,
		      const struct m0_order_node *b, const void *env);
	const void *or_env;
	uint64_t    or_seed;
};

void m0_rpc__order_init(struct m0_order *order,
			int (*cmp)(const struct m0_order_node *a,
				   const struct m0_order_node *b,
				   const void                 *env),
			const void *env);
void m0_rpc__order_add(struct m0_order *order, struct m0_order_node *node);
/** Add without a comparison. Pre: the node comes after all others. */
void m0_rpc__order_append(struct m0_order *order, struct m0_order_node *node);
/** Part of m0_rpc__order_del(). */
void m0_rpc__order_tree_del(struct m0_order *order, struct m0_order_node *node);
/** Order and heap hold everywhere. O(n). */
bool m0_rpc__order_invariant(const struct m0_order *order);

/** NULL: empty. */
static inline struct m0_order_node *m0_rpc__order_first(
	const struct m0_order *order)
{
	struct m0_list_link *link = m0_list_first(&order->or_list);

	return link == NULL ? NULL
			    : container_of(link, struct m0_order_node, on_link);
}

/** NULL: empty. */
static inline struct m0_order_node *m0_rpc__order_last(
	const struct m0_order *order)
{
	struct m0_list_link *link = m0_list_last(&order->or_list);

	return link == NULL ? NULL
			    : container_of(link, struct m0_order_node, on_link);
}

/** NULL: `node` is the last. */
static inline struct m0_order_node *m0_rpc__order_next(
	const struct m0_order *order, const struct m0_order_node *node)
{
	struct m0_list_link *link =
		m0_list_next(&order->or_list, &node->on_link);

	return link == NULL ? NULL
			    : container_of(link, struct m0_order_node, on_link);
}

/** Pre: it is in there. */
static inline void m0_rpc__order_del(struct m0_order      *order,
				     struct m0_order_node *node)
{
	if (M0_UNLIKELY(node->on_is_in_tree))
		m0_rpc__order_tree_del(order, node);
	else if (order->or_rest == node)
		order->or_rest = m0_rpc__order_next(order, node);
	m0_list_del(&node->on_link);
}

#endif /* M0_SRC_RPC_CORE_ORDER_H */

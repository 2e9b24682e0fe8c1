/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "rpc/core/order.h"

void m0_rpc__order_init(struct m0_order *order,
			int (*cmp)(const struct m0_order_node *a,
				   const struct m0_order_node *b,
				   const void                 *env),
			const void *env)
{
	m0_list_init(&order->or_list);
	order->or_root = NULL;
	order->or_rest = NULL;
	order->or_cmp = cmp;
	order->or_env = env;
	order->or_seed = 1;
}

/** Knuth's linear congruential numbers: the upper half is random enough. */
static uint32_t rank_next(struct m0_order *order)
{
	order->or_seed = order->or_seed * UINT64_C(6364136223846793005) +
			 UINT64_C(1442695040888963407);
	return (uint32_t)(order->or_seed >> 32);
}

/** Where the pointer to `node` is. */
static struct m0_order_node **slot_of(struct m0_order            *order,
				      const struct m0_order_node *node)
{
	struct m0_order_node *up = node->on_up;

	if (up == NULL)
		return &order->or_root;
	return up->on_left == node ? &up->on_left : &up->on_right;
}

static void node_init(struct m0_order *order, struct m0_order_node *node)
{
	node->on_rank = rank_next(order);
	node->on_left = NULL;
	node->on_right = NULL;
	node->on_is_in_tree = true;
}

/** Into the tree behind `last`, which is its last: what has a lower rank at the
 * end of the rightmost path comes below it. */
static void tree_append(struct m0_order *order, struct m0_order_node *last,
			struct m0_order_node *node)
{
	struct m0_order_node *at = last;
	struct m0_order_node *below = NULL;

	node_init(order, node);
	while (at != NULL && at->on_rank < node->on_rank) {
		below = at;
		at = at->on_up;
	}
	node->on_left = below;
	if (below != NULL)
		below->on_up = node;
	node->on_up = at;
	if (at != NULL)
		at->on_right = node;
	else
		order->or_root = node;
}

/** The tree gets to know the rest of the list. */
static void tree_complete(struct m0_order *order)
{
	struct m0_order_node *node = order->or_rest;
	struct m0_order_node *last;

	if (node == NULL)
		return;
	last = node->on_link.ll_prev == &order->or_list.l_head
		       ? NULL
		       : container_of(node->on_link.ll_prev,
				      struct m0_order_node, on_link);
	for (; node != NULL; node = m0_rpc__order_next(order, node)) {
		tree_append(order, last, node);
		last = node;
	}
	order->or_rest = NULL;
}

/** Changes places with its parent. */
static void rotate_up(struct m0_order *order, struct m0_order_node *node)
{
	struct m0_order_node  *up = node->on_up;
	struct m0_order_node **slot = slot_of(order, up);
	struct m0_order_node  *middle;

	if (up->on_left == node) {
		middle = node->on_right;
		node->on_right = up;
		up->on_left = middle;
	} else {
		middle = node->on_left;
		node->on_left = up;
		up->on_right = middle;
	}
	if (middle != NULL)
		middle->on_up = up;
	node->on_up = up->on_up;
	up->on_up = node;
	*slot = node;
}

/** Not as the last. */
static void add_inside(struct m0_order *order, struct m0_order_node *node)
{
	struct m0_order_node **slot;
	struct m0_order_node  *up = NULL;
	bool                   before = true;

	tree_complete(order);
	node_init(order, node);
	for (slot = &order->or_root; *slot != NULL;
	     slot = before ? &up->on_left : &up->on_right) {
		up = *slot;
		before = order->or_cmp(node, up, order->or_env) < 0;
	}
	M0_ASSERT(up != NULL);
	*slot = node;
	node->on_up = up;
	if (before)
		m0_list_add_before(&up->on_link, &node->on_link);
	else
		m0_list_add_after(&up->on_link, &node->on_link);
	while (node->on_up != NULL && node->on_up->on_rank < node->on_rank)
		rotate_up(order, node);
}

void m0_rpc__order_add(struct m0_order *order, struct m0_order_node *node)
{
	const struct m0_order_node *last = m0_rpc__order_last(order);

	if (last == NULL || order->or_cmp(last, node, order->or_env) < 0) {
		m0_rpc__order_append(order, node);
		return;
	}
	m0_list_link_init(&node->on_link);
	add_inside(order, node);
}

void m0_rpc__order_append(struct m0_order *order, struct m0_order_node *node)
{
	m0_list_link_init(&node->on_link);
	node->on_is_in_tree = false;
	if (order->or_rest == NULL)
		order->or_rest = node;
	m0_list_add_tail(&order->or_list, &node->on_link);
}

void m0_rpc__order_tree_del(struct m0_order *order, struct m0_order_node *node)
{
	struct m0_order_node **slot = slot_of(order, node);
	struct m0_order_node  *up = node->on_up;
	struct m0_order_node  *left = node->on_left;
	struct m0_order_node  *right = node->on_right;
	struct m0_order_node  *rest;

	while (left != NULL && right != NULL) {
		if (left->on_rank > right->on_rank) {
			*slot = left;
			left->on_up = up;
			up = left;
			slot = &left->on_right;
			left = left->on_right;
		} else {
			*slot = right;
			right->on_up = up;
			up = right;
			slot = &right->on_left;
			right = right->on_left;
		}
	}
	rest = left != NULL ? left : right;
	*slot = rest;
	if (rest != NULL)
		rest->on_up = up;
}

/** The node behind `node`, by the tree alone. */
static const struct m0_order_node *tree_next(const struct m0_order_node *node)
{
	if (node->on_right != NULL) {
		node = node->on_right;
		while (node->on_left != NULL)
			node = node->on_left;
		return node;
	}
	while (node->on_up != NULL && node->on_up->on_right == node)
		node = node->on_up;
	return node->on_up;
}

static bool child_is_right(const struct m0_order_node *node,
			   const struct m0_order_node *child)
{
	return child == NULL ||
	       (child->on_up == node && child->on_rank <= node->on_rank);
}

/** The tree is that of the list up to or_rest; both hold. */
static bool tree_is_right(const struct m0_order *order)
{
	const struct m0_order_node *node = m0_rpc__order_first(order);
	const struct m0_order_node *next;

	if (node == order->or_rest)
		return order->or_root == NULL;
	if (order->or_root == NULL || order->or_root->on_up != NULL ||
	    node->on_left != NULL)
		return false;
	for (; node != order->or_rest; node = next) {
		next = m0_rpc__order_next(order, node);
		if (!node->on_is_in_tree ||
		    tree_next(node) != (next == order->or_rest ? NULL : next) ||
		    !child_is_right(node, node->on_left) ||
		    !child_is_right(node, node->on_right))
			return false;
	}
	return true;
}

bool m0_rpc__order_invariant(const struct m0_order *order)
{
	const struct m0_order_node *node = m0_rpc__order_first(order);
	const struct m0_order_node *next;

	for (; node != NULL; node = next) {
		next = m0_rpc__order_next(order, node);
		if (next != NULL &&
		    order->or_cmp(node, next, order->or_env) >= 0)
			return false;
	}
	for (node = order->or_rest; node != NULL;
	     node = m0_rpc__order_next(order, node)) {
		if (node->on_is_in_tree)
			return false;
	}
	return tree_is_right(order);
}

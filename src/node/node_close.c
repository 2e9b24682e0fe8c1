/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The end of a node. The engine ends what is outstanding while the interfaces still
 * work, so that it can notify peers and answer pings; then the interfaces stop.
 */
#include "node/node_internal.h"

/** Peers that do not take what is being sent keep a close no longer. */
#define END_NS (M0_TIME_ONE_SECOND / 2)

static void nis_stop(struct m0_node *node)
{
	struct m0_lnd_ni *ni;
	unsigned          i = 0;

	/* The NIs keep their indices until they have stopped. */
	while ((ni = m0_lnet_engine_ni(node->nod_engine, i++)) != NULL)
		m0_lnet_engine_ni_del(node->nod_engine, ni);
}

void m0_node__close_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	m0_time_t now = m0_time_cached();

	M0_PRE(node->nod_state == M0_NODE_OPEN);
	(void)entry;
	node->nod_state = M0_NODE_ENDING;
	node->nod_end_by = m0_time_add(now, END_NS);
	m0_lnet_engine_shutdown(node->nod_engine, now);
	m0_node__left(node);
}

bool m0_node_close_step(struct m0_node *node, m0_time_t now, bool is_notified,
			m0_time_t *next)
{
	bool is_quiet = is_notified &&
			m0_lnet_engine_is_quiet(node->nod_engine);

	M0_PRE(M0_IN(node->nod_state, (M0_NODE_ENDING, M0_NODE_STOPPING)));
	if (node->nod_state == M0_NODE_ENDING) {
		if (!is_quiet && now < node->nod_end_by) {
			*next = min64u(*next, node->nod_end_by);
			return false;
		}
		node->nod_state = M0_NODE_STOPPING;
		node->nod_again = true;
		nis_stop(node);
	} else if (m0_lnet_engine_nis_nr(node->nod_engine) == 0 && is_quiet) {
		node->nod_state = M0_NODE_CLOSED;
		return true;
	}
	return false;
}

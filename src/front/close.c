/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing a node of this process: the node ends, then its thread; polled queues keep
 * the front's memory until they are gone.
 */
#include "front/front_internal.h"

static void close_post(struct m0_lnet *lnet)
{
	m0_front__lock(lnet);
	M0_PRE(!lnet->hm_shut);
	lnet->hm_shut = true;
	m0_front__post_unlock(lnet, M0_RING_CLOSE, m0_lnet_handle_none,
			      &lnet->hm_close);
}

void m0_lnet_close(struct m0_lnet *lnet)
{
	bool last;

	M0_PRE(!m0_front__is_inside(lnet));
	if (lnet->hm_pump != NULL) {
		lnet->hm_embed.emb_apart->fao_close(lnet);
		return;
	}
	M0_PRE(lnet->hm_node != NULL);
	close_post(lnet);
	(void)m0_front__wait(lnet, &lnet->hm_embed.emb_closed_sem,
			     M0_TIME_NEVER);
	/* Threads that were answered still look at their records. */
	m0_os_zero_wait(&lnet->hm_embed.emb_controls_nr);
	if (!M0_FRONT_GET(lnet->hm_inline))
		m0_os_cpus_stop(&lnet->hm_embed.emb_cpus);
	m0_strand_fini(&lnet->hm_embed.emb_strand);
	m0_node_stop(lnet->hm_node);
	m0_mutex_lock(&lnet->hm_lock);
	m0_front__eqs_leave(lnet);
	M0_FRONT_SET(lnet->hm_dead, true);
	last = m0_list_is_empty(&lnet->hm_eqs);
	m0_mutex_unlock(&lnet->hm_lock);
	if (last)
		m0_front__free(lnet);
}

void m0_front__undo(struct m0_lnet *lnet)
{
	if (m0_node_has_nis(lnet->hm_node)) {
		close_post(lnet);
		while (lnet->hm_node->nod_state != M0_NODE_CLOSED)
			(void)m0_strand_step(&lnet->hm_embed.emb_strand,
					     m0_time_now());
	}
	m0_strand_fini(&lnet->hm_embed.emb_strand);
	m0_node_stop(lnet->hm_node);
	m0_front__free(lnet);
}

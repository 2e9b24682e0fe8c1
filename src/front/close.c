/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Closing a node of this process: the node ends, then its thread; polled queues keep
 * the front's memory until they are gone.
 */
#include "front/front_internal.h"

static void close_post(struct m0_lnet *lnet)
{
	m0_front__lock(lnet);
	M0_PRE(!lnet->fro_shut);
	lnet->fro_shut = true;
	m0_front__post_unlock(lnet, M0_RING_CLOSE, m0_lnet_handle_none,
			      &lnet->fro_close);
}

void m0_lnet_close(struct m0_lnet *lnet)
{
	bool last;

	M0_PRE(!m0_front__is_inside(lnet));
	if (lnet->fro_pump != NULL) {
		lnet->fro_embed.emb_apart->fao_close(lnet);
		return;
	}
	M0_PRE(lnet->fro_node != NULL);
	close_post(lnet);
	(void)m0_front__wait(lnet, &lnet->fro_embed.emb_closed_sem,
			     M0_TIME_NEVER);
	/* Threads that were answered still look at their records. */
	m0_os_zero_wait(&lnet->fro_embed.emb_controls_nr);
	if (!M0_FRONT_GET(lnet->fro_inline))
		m0_os_cpus_stop(&lnet->fro_embed.emb_cpus);
	m0_strand_fini(&lnet->fro_embed.emb_strand);
	m0_node_stop(lnet->fro_node);
	m0_mutex_lock(&lnet->fro_lock);
	m0_front__eqs_leave(lnet);
	M0_FRONT_SET(lnet->fro_dead, true);
	last = m0_list_is_empty(&lnet->fro_eqs);
	m0_mutex_unlock(&lnet->fro_lock);
	if (last)
		m0_front__free(lnet);
}

void m0_front__undo(struct m0_lnet *lnet)
{
	if (m0_node_has_nis(lnet->fro_node)) {
		close_post(lnet);
		while (lnet->fro_node->nod_state != M0_NODE_CLOSED)
			(void)m0_strand_step(&lnet->fro_embed.emb_strand,
					     m0_time_now());
	}
	m0_strand_fini(&lnet->fro_embed.emb_strand);
	m0_node_stop(lnet->fro_node);
	m0_front__free(lnet);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "front/front_internal.h"

void m0_front__free(struct m0_lnet *lnet)
{
	if (lnet->hm_node != NULL)
		m0_node_destroy(lnet->hm_node);
	m0_front__mems_fini(lnet);
	m0_front__records_free(lnet);
	m0_front__slots_fini(&lnet->hm_controls);
	m0_front__slots_fini(&lnet->hm_segs);
	m0_front__slots_fini(&lnet->hm_eq_slots);
	m0_front__slots_fini(&lnet->hm_ops);
	m0_front__slots_fini(&lnet->hm_mds);
	m0_front__slots_fini(&lnet->hm_mes);
	m0_front__tms_fini(lnet);
	m0_free(lnet->hm_lazy);
	if (lnet->hm_ring != NULL)
		m0_free_aligned(lnet->hm_ring, m0_front__ring_bytes(lnet), 6);
	m0_os_cpus_fini(&lnet->hm_embed.emb_cpus);
	m0_mutex_fini(&lnet->hm_lock);
	m0_free(lnet);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "front/front_internal.h"

void m0_front__free(struct m0_lnet *lnet)
{
	if (lnet->fro_node != NULL)
		m0_node_destroy(lnet->fro_node);
	m0_front__mems_fini(lnet);
	m0_front__records_free(lnet);
	m0_front__slots_fini(&lnet->fro_controls);
	m0_front__slots_fini(&lnet->fro_segs);
	m0_front__slots_fini(&lnet->fro_eq_slots);
	m0_front__slots_fini(&lnet->fro_ops);
	m0_front__slots_fini(&lnet->fro_mds);
	m0_front__slots_fini(&lnet->fro_mes);
	m0_front__tms_fini(lnet);
	m0_free(lnet->fro_lazy);
	if (lnet->fro_ring != NULL)
		m0_free_aligned(lnet->fro_ring, m0_front__ring_bytes(lnet), 6);
	m0_os_cpus_fini(&lnet->fro_embed.emb_cpus);
	m0_mutex_fini(&lnet->fro_lock);
	m0_free(lnet);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node is taken apart.
 */
#include "home/home_internal.h"

void m0_home__parts_free(struct m0_lnet *lnet)
{
	if (lnet->hm_node.hno_engine != NULL)
		m0_lnet_engine_destroy(lnet->hm_node.hno_engine);
	m0_home__mems_fini(lnet);
	while (lnet->hm_node.hno_lnds_nr > 0) {
		struct m0_lnd *lnd =
			lnet->hm_node.hno_lnds[--lnet->hm_node.hno_lnds_nr];

		lnd->ld_ops->ldo_fini(lnd);
	}
	if (lnet->hm_node.hno_reactor != NULL)
		lnet->hm_node.hno_reactor->rtr_ops->rtro_destroy(
			lnet->hm_node.hno_reactor);
	lnet->hm_node.hno_engine = NULL;
	lnet->hm_node.hno_reactor = NULL;
}

void m0_home__free(struct m0_lnet *lnet)
{
	m0_home__slots_fini(&lnet->hm_eq_slots);
	m0_home__slots_fini(&lnet->hm_msgs);
	m0_home__slots_fini(&lnet->hm_mds);
	m0_home__slots_fini(&lnet->hm_mes);
	m0_free(lnet->hm_lazy);
	m0_os_cpus_fini(&lnet->hm_cpus);
	m0_mutex_fini(&lnet->hm_lock);
	m0_free(lnet);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of slots: an ME or MD is free when nothing refers to it, a message when
 * the application has had its events.
 */
#include "home/home_internal.h"

void m0_home__me_put(struct m0_lnet *lnet, struct m0_home_me *hme)
{
	M0_PRE(hme->hme_users_nr > 0);
	if (--hme->hme_users_nr == 0)
		m0_home__slot_put(&lnet->hm_mes, &hme->hme_slot);
}

void m0_home__md_put(struct m0_lnet *lnet, struct m0_home_md *hmd)
{
	M0_PRE(hmd->hmd_users_nr > 0);
	if (--hmd->hmd_users_nr > 0)
		return;
	if (hmd->hmd_eq != NULL) {
		M0_ASSERT(hmd->hmd_eq->eq_users_nr > 0);
		--hmd->hmd_eq->eq_users_nr;
	}
	if (hmd->hmd_queued)
		m0_home__me_put(lnet, hmd->hmd_me);
	m0_home__slot_put(&lnet->hm_mds, &hmd->hmd_slot);
}

static bool told_take(struct m0_lnet *lnet)
{
	struct m0_home_event *node;
	struct m0_home_me    *hme;

	if (lnet->hm_told == NULL && lnet->hm_node.hno_gone == NULL)
		return false;
	while ((node = lnet->hm_told) != NULL) {
		lnet->hm_told = node->hev_next;
		if (node->hev_md != NULL)
			m0_home__md_put(lnet, node->hev_md);
		if (node->hev_msg != NULL)
			m0_home__msg_event_done(lnet, node->hev_msg);
	}
	while ((hme = lnet->hm_node.hno_gone) != NULL) {
		lnet->hm_node.hno_gone = hme->hme_next;
		m0_home__me_put(lnet, hme);
	}
	lnet->hm_told_nr = 0;
	return true;
}

bool m0_home__told_take(struct m0_lnet *lnet)
{
	bool any;

	if (m0_home__is_inside(lnet))
		return told_take(lnet);
	if (!M0_HOME_GET(lnet->hm_inline) ||
	    __atomic_exchange_n(&lnet->hm_stepping, true, __ATOMIC_ACQUIRE))
		return false;
	any = told_take(lnet);
	M0_HOME_SET(lnet->hm_stepping, false);
	return any;
}

/* hm_lock, once for many. */
void m0_home__told_give(struct m0_lnet *lnet)
{
	m0_mutex_lock(&lnet->hm_lock);
	(void)told_take(lnet);
	m0_mutex_unlock(&lnet->hm_lock);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Places of TMs: the numbers that are taken on each node, start and stop.
 *
 * A number is taken for the whole node, whatever the NID in the address, because
 * only match bits and portal distinguish TMs.
 */
#include "xprt/lnet/xlnet_internal.h"

static bool tmid_is_taken(const struct xlnet_node *node, uint32_t portal,
			  uint32_t tmid)
{
	struct xlnet_machine *xm;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	m0_list_for_each_entry(&node->xn_machines, xm, struct xlnet_machine,
			       xm_link) {
		if (xm->xm_addr.xa_portal == portal &&
		    xm->xm_addr.xa_tmid == tmid)
			return true;
	}
	return false;
}

static int tmid_take(struct xlnet_node *node, struct xlnet_machine *xm)
{
	struct xlnet_addr *addr = &xm->xm_addr;
	uint32_t           tmid;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	if (addr->xa_tmid != XLNET_TMID_ANY) {
		if (tmid_is_taken(node, addr->xa_portal, addr->xa_tmid))
			return -EADDRINUSE;
	} else {
		tmid = M0_NET_LNET_TMID_MAX;
		while (tmid_is_taken(node, addr->xa_portal, tmid)) {
			if (tmid-- == 0)
				return -EADDRNOTAVAIL;
		}
		addr->xa_tmid = tmid;
	}
	m0_list_link_init(&xm->xm_link);
	m0_list_add_tail(&node->xn_machines, &xm->xm_link);
	return 0;
}

/*
 * A confined machine that is alone on its node has the node's thread, which moves
 * its bytes, on its processors. m0_xlnet__lock is held.
 */
static void cpus_hint(struct xlnet_node *node)
{
	const struct xlnet_machine *xm;
	const struct m0_bitmap     *cpus = NULL;
	uint32_t                    nr = 0;
	int                         rc;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	m0_list_for_each_entry(&node->xn_machines, xm, struct xlnet_machine,
			       xm_link) {
		cpus = m0_net_kit_machine_cpus(xm->xm_machine);
		++nr;
	}
	rc = m0_lnet_confine_hint(node->xn_lnet, nr == 1 ? cpus : NULL);
	if (rc != 0)
		m0_log(M0_LOG_WARN,
		       "lnet: the node's thread cannot follow its transfer "
		       "machine to its processors: %s",
		       m0_errname(rc));
}

/* The daemon gives the number if processes share the node. */
static int tmid_claim(struct xlnet_machine *xm)
{
	struct xlnet_addr *addr = &xm->xm_addr;
	struct m0_lnet    *lnet = xm->xm_node->xn_lnet;
	bool               any = addr->xa_tmid == XLNET_TMID_ANY;
	uint32_t           nr;
	int                rc;

	if (!m0_lnet_is_attached(lnet))
		return 0;
	rc = m0_lnet_tm_claim(lnet, addr->xa_portal,
			      any ? M0_NET_LNET_TMID_MAX + 1 : addr->xa_tmid,
			      &nr);
	if (rc == 0)
		addr->xa_tmid = nr;
	return rc;
}

static void tmid_release(struct xlnet_machine *xm)
{
	m0_lnet_tm_release(xm->xm_node->xn_lnet, xm->xm_addr.xa_portal,
			   xm->xm_addr.xa_tmid);
}

static void place_leave(struct xlnet_machine *xm)
{
	tmid_release(xm);
	m0_mutex_lock(&m0_xlnet__lock);
	m0_list_del(&xm->xm_link);
	m0_list_link_fini(&xm->xm_link);
	cpus_hint(xm->xm_node);
	m0_mutex_unlock(&m0_xlnet__lock);
}

static int place_take(struct xlnet_machine *xm)
{
	struct m0_net_transfer_mc *tm = m0_net_kit_machine_tm(xm->xm_machine);
	int                        rc;

	M0_PRE(xm->xm_node != NULL);
	rc = tmid_claim(xm);
	if (rc != 0)
		return rc;
	m0_mutex_lock(&m0_xlnet__lock);
	rc = tmid_take(xm->xm_node, xm);
	if (rc == 0)
		cpus_hint(xm->xm_node);
	m0_mutex_unlock(&m0_xlnet__lock);
	if (rc != 0) {
		tmid_release(xm);
		return rc;
	}
	m0_xlnet__addr_pack(&xm->xm_addr, &xm->xm_kit_addr);
	rc = m0_xlnet__queue_begin(xm);
	if (rc != 0) {
		place_leave(xm);
		return rc;
	}
	rc = m0_xlnet__catch_make(xm);
	if (rc == 0) {
		m0_mutex_lock(&tm->ntm_mutex);
		rc = m0_xlnet__catch_begin(xm);
		m0_mutex_unlock(&tm->ntm_mutex);
	}
	if (rc != 0) {
		m0_xlnet__catch_free(xm);
		m0_xlnet__queue_end(xm);
		place_leave(xm);
	}
	return rc;
}

int m0_xlnet__start(struct m0_net_kit_machine    *machine,
		    const struct m0_net_kit_addr *wanted,
		    struct m0_net_kit_addr       *ret_own)
{
	struct xlnet_machine      *xm = xlnet_machine(machine);
	struct m0_net_transfer_mc *tm = m0_net_kit_machine_tm(machine);
	int                        rc;

	xm->xm_machine = machine;
	rc = m0_xlnet__node_get(xm, wanted);
	if (rc != 0)
		return rc;
	/* Someone's thread has to move the node. */
	if (!tm->ntm_bev_inline)
		rc = m0_lnet_thread_start(xm->xm_node->xn_lnet);
	if (rc == 0)
		rc = place_take(xm);
	if (rc == 0)
		*ret_own = xm->xm_kit_addr;
	else if (!xm->xm_has_runner)
		m0_xlnet__node_put(xm);
	return rc;
}

void m0_xlnet__stop(struct m0_net_kit_machine *machine)
{
	struct m0_net_transfer_mc *tm = m0_net_kit_machine_tm(machine);

	m0_mutex_lock(&tm->ntm_mutex);
	m0_xlnet__catch_end(xlnet_machine(machine));
	m0_mutex_unlock(&tm->ntm_mutex);
}

void m0_xlnet__leave(struct m0_net_kit_machine *machine)
{
	struct xlnet_machine *xm = xlnet_machine(machine);

	M0_PRE(xm->xm_node != NULL);
	m0_xlnet__queue_end(xm);
	place_leave(xm);
	m0_xlnet__catch_free(xm);
	if (!xm->xm_has_runner)
		m0_xlnet__node_put(xm);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Destinations: one formation for each end point and policy. */
#include "rpc/rpc_internal.h"

struct m0_rpc__target *m0_rpc__target_get(
	struct m0_rpc__machine *m, struct m0_net_end_point *ep,
	const struct m0_rpc_frm_policy *policy)
{
	struct m0_rpc_frm_constraints limits;
	struct m0_rpc__target        *t = m->rml_sender.rsn_target_last;
	struct m0_hash_link          *link;
	struct m0_rpc__target_key     key = { ep, policy };

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(ep != NULL);
	M0_PRE_EX(policy != NULL);
	if (t != NULL && t->trg_key.trk_ep == ep &&
	    t->trg_key.trk_policy == policy) {
		++t->trg_refs;
		return t;
	}
	link = m0_hash_find(&m->rml_sender.rsn_targets, &key, sizeof key);
	if (link != NULL) {
		t = container_of(link, struct m0_rpc__target, trg_hash);
		++t->trg_refs;
		m->rml_sender.rsn_target_last = t;
		return t;
	}
	M0_ALLOC_PTR(t);
	if (t == NULL)
		return NULL;
	t->trg_key = key;
	if (m0_hash_add(&m->rml_sender.rsn_targets, &t->trg_hash, &t->trg_key,
			sizeof t->trg_key) != 0) {
		m0_free(t);
		return NULL;
	}
	(void)m0_net_end_point_get(ep);
	t->trg_machine = m;
	t->trg_refs = 1;
	m0_list_init(&t->trg_links);
	m0_rpc__frm_constraints_get_defaults(&limits);
	limits.fc_max_packet_size = m->rml_sender.rsn_msg_size;
	limits.fc_max_nr_bytes_accumulated = m->rml_sender.rsn_msg_size;
	limits.fc_max_nr_segments = m->rml_sender.rsn_segs_max;
	t->trg_limits = limits;
	m0_rpc__frm_network_limits(m->rml_sender.rsn_frms.fs_network,
				   ep->nep_addr, &limits);
	m0_rpc__frm_init(&t->trg_frm, &m->rml_sender.rsn_frms, &limits, policy,
			 m->rml_sender.rsn_frm_ops);
	m->rml_sender.rsn_target_last = t;
	return t;
}

int m0_rpc__target_find(struct m0_rpc__machine    *m,
			struct m0_net_transfer_mc *tm, const char *addr,
			const struct m0_rpc_frm_policy *policy,
			struct m0_rpc__target         **ret)
{
	struct m0_net_end_point *ep;
	int                      rc;

	M0_PRE(addr != NULL);
	rc = m0_net_end_point_create(&ep, tm, addr);
	if (rc != 0)
		return rc;
	*ret = m0_rpc__target_get(m, ep, policy);
	(void)m0_net_end_point_put(ep);
	return *ret == NULL ? -ENOMEM : 0;
}

void m0_rpc__target_limits(struct m0_rpc__target *target)
{
	struct m0_rpc_frm_constraints limits = target->trg_limits;
	struct m0_rpc__link          *link;

	M0_PRE(m0_rpc__target_invariant(target));
	if (!m0_list_is_empty(&target->trg_links))
		limits.fc_max_nr_packets_enqed = 1;
	limits.fc_max_packet_size =
		target->trg_machine->rml_sender.rsn_msg_size;
	if (target->trg_packet_max != 0)
		limits.fc_max_packet_size = min64u(limits.fc_max_packet_size,
						   target->trg_packet_max);
	m0_list_for_each_entry(&target->trg_links, link, struct m0_rpc__link,
			       lnk_target_link) {
		limits.fc_max_nr_packets_enqed =
			max64u(limits.fc_max_nr_packets_enqed,
			       link->lnk_conn->rcx_conn->c_max_rpcs_in_flight);
		limits.fc_max_packet_size =
			min64u(limits.fc_max_packet_size,
			       m0_rpc__packet_max(link->lnk_conn));
	}
	limits.fc_max_nr_bytes_accumulated = limits.fc_max_packet_size;
	target->trg_limits = limits;
	m0_rpc__frm_network_limits(
		target->trg_machine->rml_sender.rsn_frms.fs_network,
		target->trg_key.trk_ep->nep_addr, &limits);
	m0_rpc__frm_constraints_set(&target->trg_frm, &limits);
}

void m0_rpc__target_ref(struct m0_rpc__target *t)
{
	M0_PRE_EX(m0_rpc__target_invariant(t));
	++t->trg_refs;
}

void m0_rpc__target_check(struct m0_rpc__target *t)
{
	struct m0_rpc__machine *m = t->trg_machine;

	M0_PRE_EX(m0_rpc__target_invariant(t));
	if (t->trg_refs > 0 || !m0_rpc__frm_is_idle(&t->trg_frm))
		return;
	if (m->rml_sender.rsn_target_last == t)
		m->rml_sender.rsn_target_last = NULL;
	m0_hash_del(&m->rml_sender.rsn_targets, &t->trg_hash);
	m0_rpc__frm_fini(&t->trg_frm);
	m0_list_fini(&t->trg_links);
	(void)m0_net_end_point_put(t->trg_key.trk_ep);
	m0_free(t);
}

bool m0_rpc__targets_are_idle(const struct m0_rpc__machine *m)
{
	const struct m0_hash_link *link;

	for (link = m0_hash_first(&m->rml_sender.rsn_targets); link != NULL;
	     link = m0_hash_next(link))
		if (!m0_rpc__frm_is_idle(
			    &container_of(link, struct m0_rpc__target, trg_hash)
				     ->trg_frm))
			return false;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Control requests of other processes. The record of such a request lies in memory
 * that the other process can write, so it is copied to a record of this front.
 */
#include "front/front_internal.h"
#include "front/front_relay.h"
#include "m0/lnet_fault.h"
#include "m0/lnet_udsp.h"

uint32_t m0_front_nids_version(const struct m0_lnet *lnet)
{
	M0_PRE(lnet->fro_node != NULL);
	return __atomic_load_n(&lnet->fro_nids.fns_version, __ATOMIC_RELAXED);
}

void m0_front_copier_set(struct m0_lnet *lnet, struct m0_copier *copier)
{
	M0_PRE(m0_front__is_inside(lnet));
	if (lnet->fro_node->nod_copier == NULL)
		lnet->fro_node->nod_copier = copier;
}

void m0_front_copier_clear(struct m0_lnet *lnet, const struct m0_copier *copier)
{
	M0_PRE(m0_front__is_inside(lnet));
	if (lnet->fro_node->nod_copier == copier)
		lnet->fro_node->nod_copier = NULL;
}

void m0_front_copied(struct m0_lnet *lnet)
{
	M0_PRE(m0_front__is_inside(lnet));
	lnet->fro_node->nod_again = true;
}

bool m0_front_eq_accept(const struct m0_lnet_eq *eq)
{
	struct m0_ring_eq *record =
		m0_front__eq_record(eq->eq_lnet, eq->eq_number - 1);

	M0_PRE(record->req_is_bounded);
	M0_PRE_EX(m0_front__is_inside(eq->eq_lnet));
	if (record->req_accepted_nr - record->req_taken_nr >= record->req_max)
		return false;
	__atomic_store_n(&record->req_accepted_nr, record->req_accepted_nr + 1,
			 __ATOMIC_RELAXED);
	return true;
}

void m0_front_relay_end(struct m0_lnet *lnet, struct m0_front_relay *relay)
{
	M0_PRE(relay->frl_ops == NULL);
	if (relay->frl_control != NULL)
		m0_front__control_put(lnet, relay->frl_control);
	M0_SET0(relay);
}

/* A record for the request; that of the answer before, if more of it is wanted. */
static int relay_begin(struct m0_lnet *lnet, struct m0_front_relay *relay,
		       uint32_t verb)
{
	if (verb == M0_RING_MORE)
		return relay->frl_control == NULL ? -ENOENT : 0;
	m0_front_relay_end(lnet, relay);
	return m0_front__control_take(lnet, (enum m0_ring_verb)verb,
				      &relay->frl_control);
}

/* Checks what functions of m0/lnet.h check before they ask the node. */
static int rule_check(const struct m0_ring_control *control)
{
	const struct m0_ring_udsp *udsp = &control->rqc_udsp;

	switch (control->rqc_verb) {
	case M0_RING_FAULT_ADD:
		return m0_lnet_fault_attr_check(&control->rqc_fault, NULL);
	case M0_RING_UDSP_ADD:
		return m0_lnet_udsp_check(&udsp->rud_rule, NULL);
	case M0_RING_UDSP_EFFECT:
		return udsp->rud_is_del != 0
			       ? 0
			       : m0_lnet_udsp_check(&udsp->rud_rule, NULL);
	default:
		return 0;
	}
}

int m0_front_relay_do(struct m0_lnet *lnet, struct m0_front_relay *relay,
		      struct m0_ring_control *control)
{
	struct m0_ring_control *record;
	int                     rc;

	M0_PRE(m0_front__is_inside(lnet) &&
	       !m0_front_relay_is_slow(control->rqc_verb));
	rc = rule_check(control);
	if (rc != 0)
		return rc;
	rc = relay_begin(lnet, relay, control->rqc_verb);
	if (rc != 0)
		return rc;
	record = relay->frl_control->fcl_record;
	if (control->rqc_verb == M0_RING_MORE)
		record->rqc_verb = M0_RING_MORE;
	else
		*record = *control;
	record->rqc_piece_bytes = 0;
	rc = m0_front__control_do(lnet, relay->frl_control);
	*control = *record;
	relay->frl_given_bytes += record->rqc_piece_bytes;
	if (rc < 0 || record->rqc_block_bytes == 0 ||
	    relay->frl_given_bytes >= record->rqc_block_bytes)
		m0_front_relay_end(lnet, relay);
	return rc;
}

/* ---------------------------------------------------------- slow requests -- */

bool m0_front_relay_is_slow(uint32_t verb)
{
	return M0_IN(verb, (M0_RING_PROBE, M0_RING_NET_ADD, M0_RING_NET_DEL));
}

static void relay_done(struct m0_lnet *lnet, struct m0_front_control *fcl)
{
	struct m0_front_relay           *relay = fcl->fcl_owner;
	const struct m0_front_relay_ops *ops = relay->frl_ops;
	struct m0_ring_control          *record = fcl->fcl_record;

	M0_PRE(relay->frl_control == fcl);
	relay->frl_control = NULL;
	relay->frl_ops = NULL;
	if (record->rqc_verb != M0_RING_PROBE && record->rqc_rc == 0)
		record->rqc_rc =
			m0_front__net_changed(lnet, record->rqc_net.rne_why);
	ops->rlo_done(relay, record);
	m0_front__control_put(lnet, fcl);
}

static int slow_check(struct m0_lnet               *lnet,
		      const struct m0_ring_control *control)
{
	return control->rqc_verb != M0_RING_PROBE
		       ? 0
		       : m0_front__probe_check(lnet,
					       (int)control->rqc_probe.rpb_kind,
					       &control->rqc_probe.rpb_nid,
					       &control->rqc_probe.rpb_self);
}

int m0_front_relay_begin(struct m0_lnet *lnet, struct m0_front_relay *relay,
			 const struct m0_ring_control    *control,
			 const struct m0_front_relay_ops *ops, void *owner)
{
	struct m0_front_control *fcl;
	int                      rc;

	M0_PRE(m0_front__is_inside(lnet) &&
	       m0_front_relay_is_slow(control->rqc_verb));
	rc = slow_check(lnet, control);
	if (rc == 0)
		rc = relay_begin(lnet, relay, control->rqc_verb);
	if (rc != 0)
		return rc;
	fcl = relay->frl_control;
	*fcl->fcl_record = *control;
	/* The answer's, which the process may have written. */
	if (control->rqc_verb != M0_RING_PROBE)
		fcl->fcl_record->rqc_net.rne_why[0] = 0;
	fcl->fcl_done = relay_done;
	fcl->fcl_owner = relay;
	relay->frl_ops = ops;
	relay->frl_owner = owner;
	rc = m0_front__control_post(lnet, fcl);
	if (rc != 0) {
		relay->frl_ops = NULL;
		m0_front_relay_end(lnet, relay);
	}
	return rc;
}

bool m0_front_relay_cancel(struct m0_lnet *lnet, struct m0_front_relay *relay)
{
	const struct m0_front_control *fcl = relay->frl_control;

	if (relay->frl_ops == NULL ||
	    fcl->fcl_record->rqc_verb != M0_RING_PROBE)
		return false;
	m0_node_probe_cancel(lnet->fro_node, fcl->fcl_slot.fsl_index);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Calls of the engine: it gets messages for what peers send, and reports events.
 * Nothing here takes a lock.
 */
#include "node/node_internal.h"

unsigned m0_node_share_max(const struct m0_lnet_cfg *cfg)
{
	return cfg->lc_msgs_max - (cfg->lc_msgs_max + 7) / 8;
}

/* The front sees the entry after m0_node_flush(); until then it may say more. */
void m0_node__post(struct m0_node *node, enum m0_ring_kind kind,
		   struct m0_lnet_handle about, struct m0_ring_place *place)
{
	struct m0_ring_out  *up = &node->nod_up;
	struct m0_ring_entry entry = { .rqe_opcode = kind,
				       .rqe_nr = about.lh_slot,
				       .rqe_gen = about.lh_gen };

	M0_PRE_EX(kind < M0_RING_KINDS_NR && !place->rgp_waits);
	if (M0_UNLIKELY(up->rou_first != NULL || !m0_ring_has_room(up))) {
		m0_node_flush(node);
		m0_ring_wait(up, &entry, place);
		return;
	}
	node->nod_newest = m0_ring_add(up);
	*node->nod_newest = entry;
}

static struct m0_node_msg *msg_of(struct m0_lnet_msg *msg)
{
	return container_of(msg, struct m0_node_msg, nms_msg);
}

static struct m0_node_op *op_of(struct m0_node_msg *nms)
{
	return container_of(nms, struct m0_node_op, nop_msg);
}

static struct m0_node_incoming *incoming_of(struct m0_node_msg *nms)
{
	return container_of(nms, struct m0_node_incoming, nin_msg);
}

/* ---------------------------------------------------- incoming messages -- */

static void starved_set(struct m0_node *node, uint32_t starved)
{
	if (M0_UNLIKELY(node->nod_ring->rng_starved != starved))
		__atomic_store_n(&node->nod_ring->rng_starved, starved,
				 __ATOMIC_SEQ_CST);
}

static void used_publish(struct m0_node *node)
{
	__atomic_store_n(&node->nod_ring->rng_incoming_nr,
			 node->nod_incoming_nr, __ATOMIC_RELAXED);
}

static void incoming_free(struct m0_node *node, struct m0_node_incoming *nin)
{
	M0_PRE_EX(!nin->nin_is_used && !nin->nin_is_posted);
	nin->nin_next = node->nod_free;
	node->nod_free = nin;
	M0_ASSERT_EX(node->nod_incoming_nr > 0);
	--node->nod_incoming_nr;
	/* The engine asks again. */
	if (M0_UNLIKELY(node->nod_ring->rng_starved))
		node->nod_again = true;
}

void m0_node__incomings_add(struct m0_node *node, uint32_t first)
{
	struct m0_node_incoming *nin;
	uint32_t                 i;

	M0_PRE(first % M0_RING_CHUNK_NR == 0);
	for (i = M0_RING_CHUNK_NR; i > 0; --i) {
		nin = m0_node__incoming(node, first + i - 1);
		nin->nin_msg.nms_kind = M0_NODE_MSG_INCOMING;
		nin->nin_msg.nms_nr = first + i - 1;
		nin->nin_is_used = false;
		nin->nin_is_posted = false;
		nin->nin_event.rgp_waits = false;
		nin->nin_msg.nms_msg.msg_event[0] = m0_node__event(
			&m0_node__incoming_record(node, first + i - 1)
				 ->rin_event);
		nin->nin_msg.nms_msg.msg_event[1] = &nin->nin_response;
		nin->nin_next = node->nod_free;
		node->nod_free = nin;
	}
}

/* Takes back the records whose events were had. */
static void returned_take(struct m0_node *node)
{
	struct m0_node_incoming *nin;
	uint32_t                 retaken_nr = node->nod_ring->rng_retaken_nr;
	uint32_t                 nr;

	nr = __atomic_exchange_n(&node->nod_ring->rng_returned, 0,
				 __ATOMIC_ACQUIRE);
	while (nr != 0) {
		++retaken_nr;
		nin = m0_node__incoming(node, nr - 1);
		nr = m0_node__incoming_record(node, nr - 1)->rin_next;
		M0_ASSERT_EX(nin->nin_is_posted);
		nin->nin_is_posted = false;
		if (!nin->nin_is_used)
			incoming_free(node, nin);
	}
	used_publish(node);
	__atomic_store_n(&node->nod_ring->rng_retaken_nr, retaken_nr,
			 __ATOMIC_RELEASE);
}

/* May there be one more? The front publishes how many it has. */
static bool may_have_more(const struct m0_node *node)
{
	uint32_t ops_nr =
		__atomic_load_n(&node->nod_ring->rng_ops_nr, __ATOMIC_RELAXED);

	return node->nod_incoming_nr < node->nod_share_max &&
	       node->nod_incoming_nr + ops_nr < node->nod_cfg->lc_msgs_max;
}

/* Takes back what the front has returned, or makes some. */
static __attribute__((__noinline__)) bool more(struct m0_node *node)
{
	returned_take(node);
	return may_have_more(node) &&
	       (node->nod_free != NULL ||
		node->nod_host->nho_grow(node->nod_host_arg));
}

static struct m0_lnet_msg *node_msg_get(void *owner)
{
	struct m0_node          *node = owner;
	struct m0_node_incoming *nin;

	/* Most often the last one, which the front has just returned. */
	if (node->nod_free == NULL)
		returned_take(node);
	if (M0_UNLIKELY(node->nod_free == NULL || !may_have_more(node)) &&
	    !more(node)) {
		starved_set(node, 1);
		return NULL;
	}
	starved_set(node, 0);
	nin = node->nod_free;
	M0_ASSERT(nin != NULL);
	M0_ASSERT_EX(m0_node__incoming_invariant(nin) && !nin->nin_is_used);
	node->nod_free = nin->nin_next;
	nin->nin_is_used = true;
	++node->nod_incoming_nr;
	used_publish(node);
	return &nin->nin_msg.nms_msg;
}

/* ------------------------------------------------------------ what ended -- */

void m0_node__op_done(struct m0_node *node, struct m0_node_op *nop)
{
	uint32_t nr = nop->nop_msg.nms_nr;

	M0_PRE_EX(m0_node__op_invariant(nop));
	if (M0_LIKELY(node->nod_newest != NULL &&
		      node->nod_newest->rqe_nr == nr &&
		      node->nod_newest->rqe_opcode <= M0_RING_EV_RESPONSE))
		node->nod_newest->rqe_is_last = 1;
	else
		m0_node__post(node, M0_RING_DONE,
			      (struct m0_lnet_handle){ .lh_slot = nr },
			      &nop->nop_done);
}

static void node_msg_put(void *owner, struct m0_lnet_msg *msg)
{
	struct m0_node     *node = owner;
	struct m0_node_msg *nms = msg_of(msg);

	if (nms->nms_kind == M0_NODE_MSG_OP) {
		m0_node__op_done(node, op_of(nms));
		return;
	}
	M0_PRE_EX(incoming_of(nms)->nin_is_used);
	incoming_of(nms)->nin_is_used = false;
	if (incoming_of(nms)->nin_is_posted)
		return;
	incoming_free(node, incoming_of(nms));
	used_publish(node);
}

static void msg_event(struct m0_node *node, struct m0_node_msg *nms,
		      const struct m0_lnet_event *ev)
{
	struct m0_lnet_handle about = { .lh_slot = nms->nms_nr };
	bool                  second;

	M0_PRE_EX(M0_IN(ev, (nms->nms_msg.msg_event[0],
			     nms->nms_msg.msg_event[1])));
	if (nms->nms_kind == M0_NODE_MSG_INCOMING) {
		M0_ASSERT_EX(!incoming_of(nms)->nin_is_posted);
		incoming_of(nms)->nin_is_posted = true;
		m0_node__post(node, M0_RING_EV_INCOMING, about,
			      &incoming_of(nms)->nin_event);
		return;
	}
	second = ev == nms->nms_msg.msg_event[1];
	m0_node__post(node, second ? M0_RING_EV_RESPONSE : M0_RING_EV_SEND,
		      about, &op_of(nms)->nop_event[second]);
}

static void node_event(void *owner, struct m0_lnet_md *md,
		       struct m0_lnet_event *ev, struct m0_lnet_msg *msg)
{
	struct m0_node    *node = owner;
	struct m0_ring_md *record;

	M0_PRE_EX(md->md_ended == ev->ev_unlinked);
	M0_PRE_EX(ergo(msg == NULL, ev->ev_unlinked));
	if (ev->ev_unlinked) {
		record = m0_node__md_record(node, md->md_handle.lh_slot);
		/* Before the front can know of the event, and use the record
		 * again. */
		__atomic_store_n(&record->rmd_ended, 1, __ATOMIC_RELEASE);
		if (msg == NULL) {
			*m0_node__event(&record->rmd_last) = *ev;
			m0_node__post(node, M0_RING_EV_UNLINK, md->md_handle,
				      &m0_node__md(node, md->md_handle.lh_slot)
					       ->nmd_last);
			return;
		}
	}
	msg_event(node, msg_of(msg), ev);
}

void m0_node__md_refuse(struct m0_node *node, struct m0_lnet_handle md,
			int status)
{
	struct m0_ring_md *record = m0_node__md_record(node, md.lh_slot);

	M0_PRE(status < 0);
	*m0_node__event(&record->rmd_last) = (struct m0_lnet_event){
		.ev_type = M0_LNET_EV_UNLINK,
		.ev_status = status,
		.ev_unlinked = true,
		.ev_md = md,
		.ev_md_user = (void *)(uintptr_t)record->rmd_user,
	};
	__atomic_store_n(&record->rmd_ended, 1, __ATOMIC_RELEASE);
	m0_node__post(node, M0_RING_EV_UNLINK, md,
		      &m0_node__md(node, md.lh_slot)->nmd_last);
}

static bool eq_has_room(const struct m0_ring_eq *eq)
{
	return eq->req_accepted_nr -
		       __atomic_load_n(&eq->req_taken_nr, __ATOMIC_RELAXED) <
	       eq->req_max;
}

static void eq_accept(struct m0_ring_eq *eq)
{
	__atomic_store_n(&eq->req_accepted_nr, eq->req_accepted_nr + 1,
			 __ATOMIC_RELAXED);
}

/* Bounds of a queue have room. @param all  NULL: it is bounded alone. */
static bool bounds_have_room(const struct m0_ring_eq *eq,
			     const struct m0_ring_eq *all)
{
	return eq_has_room(eq) && (all == NULL || eq_has_room(all));
}

static bool node_eq_room(void *owner, uint32_t number)
{
	struct m0_node    *node = owner;
	struct m0_ring_eq *eq;
	struct m0_ring_eq *all = NULL;

	M0_PRE_EX(number != 0);
	eq = m0_node__eq_record(node, number - 1);
	M0_PRE_EX(eq->req_is_bounded);
	if (eq->req_all != 0)
		all = m0_node__eq_record(node, eq->req_all - 1);
	if (!bounds_have_room(eq, all) && node->nod_host->nho_full != NULL)
		node->nod_host->nho_full(node->nod_host_arg, number - 1);
	if (bounds_have_room(eq, all)) {
		eq_accept(eq);
		if (all != NULL)
			eq_accept(all);
		return true;
	}
	__atomic_store_n(&eq->req_dropped_nr, eq->req_dropped_nr + 1,
			 __ATOMIC_RELAXED);
	return false;
}

static void node_me_gone(void *owner, struct m0_lnet_me *me)
{
	struct m0_node *node = owner;

	M0_PRE_EX(me->me_state == M0_LNET_ME_GONE);
	__atomic_store_n(
		&m0_node__me_record(node, me->me_handle.lh_slot)->rme_gone, 1,
		__ATOMIC_RELEASE);
	m0_node__post(node, M0_RING_ME_GONE, me->me_handle,
		      &m0_node__me(node, me->me_handle.lh_slot)->nme_gone);
}

const struct m0_lnet_owner_ops m0_node__ops = {
	.ho_msg_get = node_msg_get,
	.ho_msg_put = node_msg_put,
	.ho_event = node_event,
	.ho_eq_room = node_eq_room,
	.ho_is_behind = m0_node__is_behind,
	.ho_is_held = m0_node__is_held,
	.ho_me_gone = node_me_gone,
	.ho_probe_done = m0_node__probe_done,
};

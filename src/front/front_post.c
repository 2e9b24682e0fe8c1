/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Posting. A thread that rings the bell wakes the node's strand only if that sleeps: a
 * strand that is awake polls the bell itself (so_ready). For an inline node, the bell
 * only wakes a thread that polls its descriptor or sleeps in it.
 */
#include "front/front_internal.h"

void m0_front__lock(struct m0_lnet *lnet)
{
	m0_mutex_lock(&lnet->fro_lock);
}

bool m0_front__is_inside(const struct m0_lnet *lnet)
{
	return m0_strand_current() == &lnet->fro_embed.emb_strand;
}

void m0_front__wake(struct m0_lnet *lnet)
{
	struct m0_strand *strand = &lnet->fro_embed.emb_strand;

	/* A node in another process looks by itself. */
	if (lnet->fro_node == NULL && lnet->fro_pump == NULL)
		return;
	if (M0_FRONT_GET(lnet->fro_inline) && lnet->fro_pump != NULL) {
		if (M0_FRONT_GET(lnet->fro_sleeps) ||
		    M0_FRONT_GET(lnet->fro_has_fd))
			lnet->fro_embed.emb_apart->fao_rouse(lnet->fro_pump);
	} else if (M0_FRONT_GET(lnet->fro_inline)) {
		if (M0_FRONT_GET(lnet->fro_sleeps) ||
		    M0_FRONT_GET(lnet->fro_has_fd))
			lnet->fro_node->nod_reactor->rtr_ops->rtro_rouse(
				lnet->fro_node->nod_reactor);
	} else if (m0_strand_sleeps(strand)) {
		m0_strand_wake(strand);
	}
}

/* Apart: the bell has most often been rung already. */
static __attribute__((__noinline__)) void ring_unlock(struct m0_lnet *lnet)
{
	M0_FRONT_SET(lnet->fro_ring->rng_down.rqu_bell, 1);
	m0_mutex_unlock(&lnet->fro_lock);
	if (!m0_front__is_inside(lnet))
		m0_front__wake(lnet);
}

/* The bell is cleared under fro_lock, too: what was posted before is seen then. */
void m0_front__posted_unlock(struct m0_lnet *lnet)
{
	if (__atomic_load_n(&lnet->fro_ring->rng_down.rqu_bell,
			    __ATOMIC_RELAXED) != 0)
		m0_mutex_unlock(&lnet->fro_lock);
	else
		ring_unlock(lnet);
}

void m0_front__post_unlock(struct m0_lnet *lnet, enum m0_ring_opcode opcode,
			   struct m0_lnet_handle about,
			   struct m0_ring_place *place)
{
	struct m0_ring_entry entry = { .rqe_opcode = opcode,
				       .rqe_nr = about.lh_slot,
				       .rqe_gen = about.lh_gen };

	M0_PRE_EX(m0_mutex_is_locked(&lnet->fro_lock));
	M0_PRE(opcode != M0_RING_NONE && opcode < M0_RING_OPCODES_NR);
	m0_ring_post(&lnet->fro_down, &entry, place);
	if (M0_LIKELY(lnet->fro_pump == NULL)) {
		m0_front__posted_unlock(lnet);
		return;
	}
	M0_FRONT_SET(lnet->fro_ring->rng_down.rqu_bell, 1);
	m0_mutex_unlock(&lnet->fro_lock);
	lnet->fro_embed.emb_apart->fao_post(lnet->fro_pump);
}

void m0_front__call_unlock(struct m0_lnet *lnet, struct m0_front_call *call)
{
	M0_PRE(call->ca_do != NULL &&
	       (lnet->fro_node != NULL || lnet->fro_pump != NULL));
	m0_list_link_init(&call->ca_link);
	call->ca_place.rgp_waits = false;
	m0_list_add_tail(&lnet->fro_calls, &call->ca_link);
	m0_front__post_unlock(lnet, M0_RING_CALL, m0_lnet_handle_none,
			      &call->ca_place);
}

static void parked_free(struct m0_lnet *lnet)
{
	struct m0_front_slot *slot;

	while ((slot = lnet->fro_parked_mes) != NULL) {
		lnet->fro_parked_mes = slot->fsl_next;
		m0_front__slot_put(&lnet->fro_mes, slot);
	}
	while ((slot = lnet->fro_parked_mds) != NULL) {
		lnet->fro_parked_mds = slot->fsl_next;
		m0_front__slot_put(&lnet->fro_mds, slot);
	}
}

void m0_front__refill(struct m0_lnet *lnet)
{
	m0_mutex_lock(&lnet->fro_lock);
	if (!m0_ring_refill(&lnet->fro_down)) {
		m0_mutex_unlock(&lnet->fro_lock);
		return;
	}
	if (lnet->fro_down.rou_first == NULL)
		parked_free(lnet);
	m0_front__posted_unlock(lnet);
}

void m0_front__bell_clear(struct m0_lnet *lnet)
{
	m0_mutex_lock(&lnet->fro_lock);
	/* A thread that sees it set still finds nothing. */
	__atomic_store_n(&lnet->fro_ring->rng_down.rqu_bell, 0,
			 __ATOMIC_RELEASE);
	m0_mutex_unlock(&lnet->fro_lock);
}

static bool host_grow(void *host)
{
	return m0_front__incomings_grow(host);
}

static void host_call(void *host)
{
	struct m0_lnet       *lnet = host;
	struct m0_list_link  *link;
	struct m0_front_call *call;

	m0_mutex_lock(&lnet->fro_lock);
	link = m0_list_first(&lnet->fro_calls);
	M0_ASSERT(link != NULL);
	m0_list_del(link);
	m0_mutex_unlock(&lnet->fro_lock);
	call = container_of(link, struct m0_front_call, ca_link);
	call->ca_do(lnet, call);
}

static void host_full(void *arg, uint32_t eq_nr)
{
	struct m0_lnet_eq *eq = m0_front__eq_at(arg, eq_nr)->feq_eq;

	if (eq->eq_full != NULL)
		eq->eq_full(eq);
}

static bool host_is_behind(void *host)
{
	return m0_front__is_behind(host);
}

static bool host_is_held(void *host, uint32_t portal, uint64_t bits)
{
	return m0_front__is_held(host, portal, bits);
}

const struct m0_node_host m0_front__host = {
	.nho_grow = host_grow,
	.nho_call = host_call,
	.nho_full = host_full,
	.nho_is_behind = host_is_behind,
	.nho_is_held = host_is_held,
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The step of a node, made by any of these: the node's own thread, a caller of
 * m0_lnet_progress(), the simulator.
 */
#include "front/front_internal.h"
#include "os/pass.h"

enum {
	/** Limit of a step, before other threads get the processor. */
	ROUNDS_MAX = 8
};

static struct m0_lnet *lnet_of(const struct m0_strand *strand)
{
	return container_of((struct m0_strand *)(uintptr_t)strand,
			    struct m0_lnet, fro_embed.emb_strand);
}

/* Returns true if all that the node has posted was delivered. */
static bool is_notified(const struct m0_lnet *lnet)
{
	return m0_ring_is_empty(&lnet->fro_up);
}

/* Calls back. @return true if there was anything. */
static bool notify(struct m0_lnet *lnet)
{
	bool any = false;

	M0_PRE_EX(lnet->fro_node->nod_newest == NULL);
	do {
		if (m0_front__deliver(lnet))
			any = true;
	} while (m0_ring_refill(&lnet->fro_node->nod_up));
	/* Threads that wait for the end rely on this. */
	if (lnet->fro_node->nod_state != M0_NODE_OPEN)
		m0_front__notified_end(lnet);
	return any;
}

/*
 * A thread that polls receives events before the drivers and the engine run.
 * Drivers and engine run in the next step of this thread, so this never
 * happens twice in a row.
 */
static bool notifies_first(const struct m0_lnet *lnet)
{
	return !lnet->fro_embed.emb_owes && lnet->fro_embed.emb_is_polled &&
	       lnet->fro_node->nod_state == M0_NODE_OPEN &&
	       !m0_ring_is_empty(&lnet->fro_up);
}

/*
 * A node with a thread would sleep: nothing has been left, and nothing is due.
 * Then a bell that is not rung and a pass that brings nothing are all there is to
 * do. Most polls of an idle node end here.
 */
static bool is_idle(const struct m0_lnet *lnet, m0_time_t now)
{
	return now < lnet->fro_embed.emb_next && !lnet->fro_embed.emb_owes &&
	       !lnet->fro_node->nod_again && m0_ring_is_empty(&lnet->fro_up) &&
	       !m0_front__has_notified(lnet) &&
	       lnet->fro_node->nod_state == M0_NODE_OPEN &&
	       !M0_FRONT_GET(lnet->fro_has_woken);
}

/* Takes what was posted. @return true if the bell rang. */
static bool take(struct m0_lnet *lnet)
{
	if (!m0_front__is_posted(lnet))
		return false;
	m0_front__bell_clear(lnet);
	m0_node_take(lnet->fro_node);
	if (M0_UNLIKELY(!m0_ring_is_empty(&lnet->fro_node->nod_down)))
		m0_front__refill(lnet);
	return true;
}

/* Makes one round: takes posted operations, runs drivers and engine, and delivers
 * events. @return true: there is more. */
static bool round_do(struct m0_lnet *lnet, m0_time_t now)
{
	struct m0_reactor *reactor = lnet->fro_node->nod_reactor;
	bool               idle = is_idle(lnet, now);
	bool               more;

	M0_PRE_EX(m0_front__invariant(lnet));
	lnet->fro_node->nod_again = false;
	m0_front__notified_end(lnet);
	m0_node_time(lnet->fro_node, now);
	if (take(lnet)) {
		lnet->fro_embed.emb_did = true;
		idle = false;
	}
	more = m0_reactor_pass(reactor, now);
	m0_node_flush(lnet->fro_node);
	if (idle && !more && !reactor->rtr_called) {
		m0_reactor_flush(reactor);
		m0_node_flush(lnet->fro_node);
		if (m0_ring_is_empty(&lnet->fro_up) &&
		    !lnet->fro_node->nod_again)
			return false;
	}
	lnet->fro_embed.emb_owes = notifies_first(lnet);
	if (!lnet->fro_embed.emb_owes)
		lnet->fro_embed.emb_next = m0_node_turns(lnet->fro_node, now);
	m0_reactor_flush(reactor);
	m0_node_flush(lnet->fro_node);
	if (notify(lnet))
		lnet->fro_embed.emb_did = true;
	if (lnet->fro_embed.emb_owes)
		return true;
	if (m0_front__runners_run(lnet, now))
		lnet->fro_embed.emb_did = true;
	lnet->fro_embed.emb_next =
		min64u(lnet->fro_embed.emb_next, lnet->fro_run_at);
	if (lnet->fro_node->nod_state != M0_NODE_OPEN &&
	    m0_node_close_step(lnet->fro_node, now, is_notified(lnet),
			       &lnet->fro_embed.emb_next))
		m0_semaphore_up(&lnet->fro_embed.emb_closed_sem);
	return more || lnet->fro_node->nod_again ||
	       lnet->fro_embed.emb_next <= now || m0_front__is_posted(lnet) ||
	       M0_FRONT_GET(lnet->fro_has_woken);
}

/*
 * Send what was posted, and no more. The next step reports the outcome, so that
 * messages do not wait for callbacks.
 */
static m0_time_t push_do(struct m0_lnet *lnet)
{
	M0_PRE_EX(m0_front__invariant(lnet));
	m0_front__bell_clear(lnet);
	m0_node_take_first(lnet->fro_node);
	m0_reactor_flush(lnet->fro_node->nod_reactor);
	m0_node_take_rest(lnet->fro_node);
	m0_node_flush(lnet->fro_node);
	if (M0_UNLIKELY(!m0_ring_is_empty(&lnet->fro_node->nod_down)))
		m0_front__refill(lnet);
	m0_front__notified_end(lnet);
	return M0_TIME_IMMEDIATELY;
}

static m0_time_t front_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_lnet *lnet = lnet_of(strand);
	uint64_t        moved;
	bool            more = true;
	int             i;

	if (lnet->fro_embed.emb_pushes &&
	    lnet->fro_node->nod_state == M0_NODE_OPEN)
		return push_do(lnet);
	moved = m0_node_moved_nr(lnet->fro_node);
	for (i = 0; i < ROUNDS_MAX && more; ++i) {
		if (lnet->fro_node->nod_state == M0_NODE_CLOSED)
			return M0_TIME_NEVER;
		if (i > 0) {
			now = m0_time_now();
			m0_time_pass_move(now);
			lnet->fro_node->nod_reactor->rtr_looked = true;
		}
		lnet->fro_embed.emb_step_now = now;
		more = round_do(lnet, now);
		/* Unless callbacks have asked for something. */
		if (lnet->fro_embed.emb_owes && !m0_front__is_posted(lnet))
			break;
	}
	lnet->fro_node->nod_reactor->rtr_looked = false;
	/* Otherwise the next step does it, or the push before it. */
	if (!M0_FRONT_GET(lnet->fro_inline) || M0_FRONT_GET(lnet->fro_has_fd) ||
	    M0_FRONT_GET(lnet->fro_ring->rng_starved))
		m0_front__notified_end(lnet);
	more = more || lnet->fro_node->nod_again;
	if (moved != m0_node_moved_nr(lnet->fro_node))
		lnet->fro_embed.emb_did = true;
	return more ? now : lnet->fro_embed.emb_next;
}

static bool front_ready(const struct m0_strand *strand)
{
	const struct m0_lnet *lnet = lnet_of(strand);

	return m0_front__is_posted(lnet) || M0_FRONT_GET(lnet->fro_has_woken) ||
	       lnet->fro_node->nod_reactor->rtr_ops->rtro_ready(
		       lnet->fro_node->nod_reactor);
}

static void front_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	struct m0_lnet *lnet = lnet_of(strand);

	lnet->fro_node->nod_reactor->rtr_ops->rtro_sleep(
		lnet->fro_node->nod_reactor, deadline);
}

static void front_rouse(struct m0_strand *strand)
{
	struct m0_lnet *lnet = lnet_of(strand);

	lnet->fro_node->nod_reactor->rtr_ops->rtro_rouse(
		lnet->fro_node->nod_reactor);
}

const struct m0_strand_ops m0_front__strand_ops = {
	.so_step = front_step,
	.so_ready = front_ready,
	.so_sleep = front_sleep,
	.so_rouse = front_rouse,
};

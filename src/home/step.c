/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step of a node, whoever makes it: the node's own thread, a caller of
 * m0_lnet_progress(), the simulator.
 */
#include "home/home_internal.h"
#include "m0/lnet_run.h"
#include "os/pass.h"

enum {
	/** Limits of a step, before other threads get the processor, and of
	 * a round. */
	ROUNDS_MAX = 8,
	TURNS_MAX = 16
};

static struct m0_lnet *lnet_of(const struct m0_strand *strand)
{
	return container_of((struct m0_strand *)(uintptr_t)strand,
			    struct m0_lnet, hm_strand);
}

static m0_time_t lnds_step(struct m0_lnet *lnet, m0_time_t now)
{
	m0_time_t next = M0_TIME_NEVER;
	unsigned  i;

	lnet->hm_node.hno_reactor->rtr_called = false;
	for (i = 0; i < lnet->hm_node.hno_lnds_nr; ++i) {
		struct m0_lnd *lnd = lnet->hm_node.hno_lnds[i];

		next = min64u(next, lnd->ld_ops->ldo_step(lnd, now));
	}
	return next;
}

/*
 * Drivers tell the engine, and the engine gives to drivers, until neither has
 * more.
 */
static m0_time_t engine_turns(struct m0_lnet *lnet, m0_time_t now)
{
	m0_time_t lnds;
	m0_time_t next;
	int       i = 0;

	do {
		lnds = lnds_step(lnet, now);
		next = m0_lnet_engine_step(lnet->hm_node.hno_engine, now);
	} while ((lnds == M0_TIME_IMMEDIATELY || next <= now) &&
		 ++i < TURNS_MAX);
	/* The engine's deadline is that of its last step. */
	return min64u(next, min64u(lnds, lnds_step(lnet, now)));
}

static void probes_tell(struct m0_lnet *lnet)
{
	struct m0_list        probes;
	struct m0_list_link  *link;
	struct m0_lnet_probe *probe;

	m0_list_init(&probes);
	m0_list_splice_tail(&probes, &lnet->hm_node.hno_probes_done);
	while ((link = m0_list_first(&probes)) != NULL) {
		m0_list_del(link);
		probe = container_of(link, struct m0_lnet_probe, pr_link);
		probe->pr_done(probe);
	}
}

/* Calls back. @return true if there was anything. */
static bool tell(struct m0_lnet *lnet)
{
	bool any = !m0_list_is_empty(&lnet->hm_node.hno_probes_done) ||
		   lnet->hm_up.huq_first != NULL;

	m0_home__events_tell(lnet);
	/* Threads that wait for a barrier or for the end rely on this. */
	if (!m0_list_is_empty(&lnet->hm_barriers) ||
	    lnet->hm_node.hno_state != M0_HOME_OPEN)
		m0_home__told_end(lnet);
	probes_tell(lnet);
	m0_home__barriers_tell(lnet);
	return any;
}

/*
 * A thread that polls receives events before the drivers and the engine run.
 * Drivers and engine run in the next step of this thread, so this never
 * happens twice in a row.
 */
static bool tells_first(const struct m0_lnet *lnet)
{
	return lnet->hm_up.huq_first != NULL && !lnet->hm_node.hno_owes &&
	       lnet->hm_node.hno_state == M0_HOME_OPEN &&
	       lnet->hm_node.hno_is_polled;
}

/*
 * A node with a thread would sleep: nothing has been left, and nothing is due.
 * Then an inbox that is empty and a pass that brings nothing are all there is to
 * do, which is most of what somebody does who polls.
 */
static bool is_idle(const struct m0_lnet *lnet, m0_time_t now)
{
	return now < lnet->hm_node.hno_next && !lnet->hm_node.hno_owes &&
	       !lnet->hm_node.hno_again && lnet->hm_up.huq_first == NULL &&
	       lnet->hm_told == NULL && lnet->hm_node.hno_gone == NULL &&
	       lnet->hm_node.hno_state == M0_HOME_OPEN &&
	       !M0_HOME_GET(lnet->hm_has_woken);
}

/* Reads, does, writes and tells what there is. @return true: there is more. */
static bool round_do(struct m0_lnet *lnet, m0_time_t now)
{
	struct m0_reactor *reactor = lnet->hm_node.hno_reactor;
	bool               idle = is_idle(lnet, now);
	bool               more;

	lnet->hm_node.hno_again = false;
	m0_home__told_end(lnet);
	m0_lnet_engine_time(lnet->hm_node.hno_engine, now);
	reactor->rtr_now = now;
	if (m0_home__inbox_do(lnet)) {
		lnet->hm_node.hno_did = true;
		idle = false;
	}
	more = m0_reactor_pass(reactor, now);
	if (idle && !more && !reactor->rtr_called) {
		m0_reactor_flush(reactor);
		if (lnet->hm_up.huq_first == NULL && !lnet->hm_node.hno_again)
			return false;
	}
	lnet->hm_node.hno_owes = tells_first(lnet);
	if (!lnet->hm_node.hno_owes)
		lnet->hm_node.hno_next = engine_turns(lnet, now);
	m0_reactor_flush(reactor);
	if (tell(lnet))
		lnet->hm_node.hno_did = true;
	if (lnet->hm_node.hno_owes)
		return true;
	if (m0_home__runners_run(lnet, now))
		lnet->hm_node.hno_did = true;
	lnet->hm_node.hno_next =
		min64u(lnet->hm_node.hno_next, lnet->hm_run_at);
	if (lnet->hm_node.hno_state != M0_HOME_OPEN)
		m0_home__close_step(lnet, now);
	return more || lnet->hm_node.hno_again ||
	       lnet->hm_node.hno_next <= now || M0_HOME_GET(lnet->hm_posted) ||
	       M0_HOME_GET(lnet->hm_has_woken);
}

/* Messages that have moved, one way or the other. */
static uint64_t moved_nr(const struct m0_lnet *lnet)
{
	const struct m0_lnet_stats *st =
		m0_lnet_engine_counters(lnet->hm_node.hno_engine);

	return st->ls_send_count + st->ls_recv_count + st->ls_drop_count;
}

/*
 * Only what was asked for leaves: what comes of it is told by the next step, so
 * that nobody who waits for a message waits for that, too.
 */
static m0_time_t push_do(struct m0_lnet *lnet)
{
	struct m0_home_entry entries = m0_home__inbox_push(lnet);

	m0_reactor_flush(lnet->hm_node.hno_reactor);
	m0_home__ops_do(lnet, entries);
	m0_home__told_end(lnet);
	return M0_TIME_IMMEDIATELY;
}

static m0_time_t home_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_lnet *lnet = lnet_of(strand);
	uint64_t        moved;
	bool            more = true;
	int             i;

	if (lnet->hm_node.hno_pushes && lnet->hm_node.hno_state == M0_HOME_OPEN)
		return push_do(lnet);
	moved = moved_nr(lnet);
	for (i = 0; i < ROUNDS_MAX && more; ++i) {
		if (lnet->hm_node.hno_state == M0_HOME_CLOSED)
			return M0_TIME_NEVER;
		if (i > 0) {
			now = m0_time_now();
			m0_time_pass_move(now);
			lnet->hm_node.hno_reactor->rtr_looked = true;
		}
		lnet->hm_node.hno_step_now = now;
		more = round_do(lnet, now);
		/* Unless callbacks have asked for something. */
		if (lnet->hm_node.hno_owes && !M0_HOME_GET(lnet->hm_posted))
			break;
	}
	lnet->hm_node.hno_reactor->rtr_looked = false;
	/* Otherwise the next step does it, or the push before it. */
	if (!M0_HOME_GET(lnet->hm_inline) || M0_HOME_GET(lnet->hm_has_fd) ||
	    M0_HOME_GET(lnet->hm_starved))
		m0_home__told_end(lnet);
	more = more || lnet->hm_node.hno_again;
	if (moved != moved_nr(lnet))
		lnet->hm_node.hno_did = true;
	return more ? now : lnet->hm_node.hno_next;
}

static bool home_ready(const struct m0_strand *strand)
{
	const struct m0_lnet *lnet = lnet_of(strand);

	return M0_HOME_GET(lnet->hm_posted) ||
	       M0_HOME_GET(lnet->hm_has_woken) ||
	       lnet->hm_node.hno_reactor->rtr_ops->rtro_ready(
		       lnet->hm_node.hno_reactor);
}

static void home_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	struct m0_lnet *lnet = lnet_of(strand);

	lnet->hm_node.hno_reactor->rtr_ops->rtro_sleep(
		lnet->hm_node.hno_reactor, deadline);
}

static void home_rouse(struct m0_strand *strand)
{
	struct m0_lnet *lnet = lnet_of(strand);

	lnet->hm_node.hno_reactor->rtr_ops->rtro_rouse(
		lnet->hm_node.hno_reactor);
}

const struct m0_strand_ops m0_home__strand_ops = {
	.so_step = home_step,
	.so_ready = home_ready,
	.so_sleep = home_sleep,
	.so_rouse = home_rouse,
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Work of the layers above that the strand does for them, and the thread that an
 * inline node may be given.
 */
#include "front/front_internal.h"

enum {
	/** Looks at fro_stepping, for each time that the runner is roused. */
	LOOKS_NR = 1024
};

static struct m0_lnet_runner *woken_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_lnet_runner, ru_woken_link);
}

void m0_lnet_runner_add(struct m0_lnet *lnet, struct m0_lnet_runner *runner)
{
	M0_PRE(runner->ru_run != NULL && !lnet->fro_dead);
	m0_list_link_init(&runner->ru_link);
	m0_list_link_init(&runner->ru_woken_link);
	m0_list_link_init(&runner->ru_behind_link);
	runner->ru_woken = false;
	runner->ru_at = M0_TIME_NEVER;
	m0_mutex_lock(&lnet->fro_lock);
	m0_list_add_tail(&lnet->fro_runners, &runner->ru_link);
	if (runner->ru_is_behind != NULL) {
		m0_list_add_tail(&lnet->fro_embed.emb_behinds,
				 &runner->ru_behind_link);
		M0_FRONT_SET(lnet->fro_embed.emb_has_behinds, true);
	}
	m0_mutex_unlock(&lnet->fro_lock);
}

void m0_lnet_runner_del(struct m0_lnet *lnet, struct m0_lnet_runner *runner)
{
	M0_PRE(!m0_front__is_inside(lnet) ||
	       M0_FRONT_GET(lnet->fro_running) != runner);
	m0_mutex_lock(&lnet->fro_lock);
	m0_list_del(&runner->ru_link);
	m0_list_del(&runner->ru_woken_link);
	if (runner->ru_is_behind != NULL) {
		m0_list_del(&runner->ru_behind_link);
		M0_FRONT_SET(lnet->fro_embed.emb_has_behinds,
			     !m0_list_is_empty(&lnet->fro_embed.emb_behinds));
	}
	m0_mutex_unlock(&lnet->fro_lock);
	/* Locks may be held: it is a run that has nothing to do any more. */
	while (M0_FRONT_GET(lnet->fro_running) == runner)
		;
}

/* fro_lock is held. */
static void woken_add(struct m0_lnet *lnet, struct m0_lnet_runner *runner)
{
	if (!m0_list_link_is_in(&runner->ru_woken_link) &&
	    m0_list_link_is_in(&runner->ru_link))
		m0_list_add_tail(&lnet->fro_woken, &runner->ru_woken_link);
}

void m0_lnet_runner_wake(struct m0_lnet *lnet, struct m0_lnet_runner *runner)
{
	if (__atomic_exchange_n(&runner->ru_woken, true, __ATOMIC_SEQ_CST))
		return;
	m0_mutex_lock(&lnet->fro_lock);
	woken_add(lnet, runner);
	M0_FRONT_SET(lnet->fro_has_woken, true);
	m0_mutex_unlock(&lnet->fro_lock);
	if (!m0_front__is_inside(lnet))
		m0_front__wake(lnet);
}

void m0_front__runners_wake(struct m0_lnet *lnet)
{
	struct m0_list_link *link;

	m0_mutex_lock(&lnet->fro_lock);
	m0_list_for_each(&lnet->fro_runners, link)
		woken_add(lnet,
			  container_of(link, struct m0_lnet_runner, ru_link));
	M0_FRONT_SET(lnet->fro_has_woken, true);
	m0_mutex_unlock(&lnet->fro_lock);
}

/* The first to be run; fro_lock is held. */
static struct m0_lnet_runner *runner_take(struct m0_lnet *lnet,
					  struct m0_list *todo)
{
	struct m0_list_link   *link = m0_list_first(todo);
	struct m0_lnet_runner *runner;

	if (link == NULL)
		return NULL;
	m0_list_del(link);
	runner = woken_of(link);
	M0_ASSERT(M0_FRONT_GET(lnet->fro_running) == NULL);
	__atomic_store_n(&runner->ru_woken, false, __ATOMIC_SEQ_CST);
	M0_FRONT_SET(lnet->fro_running, runner);
	return runner;
}

/* When a runner is next due; fro_lock is held. */
static m0_time_t runners_next(const struct m0_lnet *lnet)
{
	m0_time_t            next = M0_TIME_NEVER;
	struct m0_list_link *link;

	m0_list_for_each(&lnet->fro_runners, link)
		next = min64u(next,
			      container_of(link, struct m0_lnet_runner, ru_link)
				      ->ru_at);
	return next;
}

static void runners_due(struct m0_lnet *lnet, m0_time_t now)
{
	struct m0_list_link   *link;
	struct m0_lnet_runner *runner;

	m0_list_for_each(&lnet->fro_runners, link) {
		runner = container_of(link, struct m0_lnet_runner, ru_link);
		if (runner->ru_at <= now)
			woken_add(lnet, runner);
	}
}

bool m0_front__runners_run(struct m0_lnet *lnet, m0_time_t now)
{
	struct m0_lnet_runner *runner;
	struct m0_list         todo;
	m0_time_t              next;

	if (!M0_FRONT_GET(lnet->fro_has_woken) && now < lnet->fro_run_at)
		return false;
	m0_list_init(&todo);
	m0_mutex_lock(&lnet->fro_lock);
	M0_FRONT_SET(lnet->fro_has_woken, false);
	if (now >= lnet->fro_run_at)
		runners_due(lnet, now);
	m0_list_splice_tail(&todo, &lnet->fro_woken);
	while ((runner = runner_take(lnet, &todo)) != NULL) {
		m0_mutex_unlock(&lnet->fro_lock);
		next = runner->ru_run(runner, now);
		m0_mutex_lock(&lnet->fro_lock);
		runner->ru_at = next;
		M0_FRONT_SET(lnet->fro_running, (struct m0_lnet_runner *)NULL);
	}
	lnet->fro_run_at = runners_next(lnet);
	m0_mutex_unlock(&lnet->fro_lock);
	return true;
}

/* A message that runners are asked about; NULL: any. */
struct asked {
	uint32_t akd_portal;
	uint64_t akd_bits;
};

static bool runner_asks(struct m0_lnet_runner *runner,
			const struct asked    *asked)
{
	if (asked == NULL)
		return runner->ru_is_behind(runner);
	return runner->ru_is_held != NULL &&
	       runner->ru_is_held(runner, asked->akd_portal, asked->akd_bits);
}

static bool runners_ask(struct m0_lnet *lnet, const struct asked *asked)
{
	struct m0_lnet_runner *runner;
	bool                   any = false;

	if (M0_LIKELY(!M0_FRONT_GET(lnet->fro_embed.emb_has_behinds)))
		return false;
	M0_PRE_EX(m0_front__is_inside(lnet));
	m0_mutex_lock(&lnet->fro_lock);
	m0_list_for_each_entry(&lnet->fro_embed.emb_behinds, runner,
			       struct m0_lnet_runner, ru_behind_link) {
		if (runner_asks(runner, asked)) {
			woken_add(lnet, runner);
			any = true;
		}
	}
	if (any) {
		M0_FRONT_SET(lnet->fro_has_woken, true);
		/* The ring is taken once more, even if they post nothing. */
		M0_FRONT_SET(lnet->fro_ring->rng_down.rqu_bell, 1);
	}
	m0_mutex_unlock(&lnet->fro_lock);
	return any;
}

bool m0_front__is_behind(struct m0_lnet *lnet)
{
	return runners_ask(lnet, NULL);
}

bool m0_front__is_held(struct m0_lnet *lnet, uint32_t portal, uint64_t bits)
{
	const struct asked asked = { portal, bits };

	return runners_ask(lnet, &asked);
}

/* ---------------------------------------------------------------- thread -- */

bool m0_lnet_is_attached(const struct m0_lnet *lnet)
{
	return lnet->fro_node == NULL;
}

bool m0_lnet_is_inline(const struct m0_lnet *lnet)
{
	return M0_FRONT_GET(lnet->fro_inline);
}

int m0_lnet_thread_start(struct m0_lnet *lnet)
{
	unsigned looks = 0;
	int      rc;

	if (!m0_lnet_is_inline(lnet))
		return 0;
	if (lnet->fro_node == NULL &&
	    (lnet->fro_pump == NULL ||
	     !lnet->fro_embed.emb_apart->fao_may_have_thread(lnet->fro_pump)))
		return -ENOSYS;
	if (m0_front__is_inside(lnet))
		return -EDEADLK;
	/* fro_stepping stays set: from now on only the node's thread steps. The thread
	 * that steps now may have no processor while this one looks, so yield at times. */
	while (M0_FRONT_GET(lnet->fro_stepping) ||
	       __atomic_exchange_n(&lnet->fro_stepping, true,
				   __ATOMIC_ACQUIRE)) {
		if (!m0_lnet_is_inline(lnet))
			return 0;
		if (looks++ % LOOKS_NR != 0)
			continue;
		m0_front__wake(lnet);
		m0_os_yield();
	}
	/* No thread disarms the descriptor any more. */
	if (M0_FRONT_GET(lnet->fro_has_fd) && lnet->fro_pump != NULL)
		lnet->fro_embed.emb_apart->fao_disarm(lnet->fro_pump);
	else if (M0_FRONT_GET(lnet->fro_has_fd))
		lnet->fro_node->nod_reactor->rtr_ops->rtro_arm(
			lnet->fro_node->nod_reactor, M0_TIME_NEVER);
	rc = m0_os_cpus_start(&lnet->fro_embed.emb_cpus,
			      &lnet->fro_embed.emb_strand);
	if (rc == 0) {
		/* Threads that posted while the node was inline have woken
		 * nobody. */
		M0_FRONT_SET(lnet->fro_inline, false);
		m0_strand_wake(&lnet->fro_embed.emb_strand);
		return 0;
	}
	M0_FRONT_SET(lnet->fro_stepping, false);
	return rc;
}

/* ------------------------------------------------------------ processors -- */

int m0_lnet_confine(struct m0_lnet *lnet, const struct m0_bitmap *processors)
{
	return m0_os_cpus_set(&lnet->fro_embed.emb_cpus, false, processors);
}

int m0_lnet_confine_hint(struct m0_lnet         *lnet,
			 const struct m0_bitmap *processors)
{
	return m0_os_cpus_set(&lnet->fro_embed.emb_cpus, true, processors);
}

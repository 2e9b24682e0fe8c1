/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Steps that the caller of a function makes on an inline node, and waits of the
 * application. The step itself is reached through the strand's table.
 */
#include "front/front_internal.h"

/*
 * A thread that posts after fro_sleeps was set wakes the sleeper; earlier posts
 * are seen here. The semaphore works the same way: other threads that make a
 * step find fro_stepping taken.
 */
static void inline_sleep(struct m0_lnet *lnet, const struct m0_semaphore *sem,
			 m0_time_t deadline)
{
	const struct m0_node *node = lnet->fro_node;
	m0_time_t until = min64u(deadline, lnet->fro_embed.emb_next);

	M0_FRONT_SET(lnet->fro_sleeps, true);
	if (!lnet->fro_embed.emb_strand.st_ops->so_ready(
		    &lnet->fro_embed.emb_strand) &&
	    m0_semaphore_value(sem) == 0) {
		if (node != NULL &&
		    node->nod_reactor->rtr_ops->rtro_sleep != NULL)
			node->nod_reactor->rtr_ops->rtro_sleep(
				node->nod_reactor, until);
		else if (lnet->fro_pump != NULL)
			lnet->fro_embed.emb_apart->fao_sleep(lnet->fro_pump,
							     until);
		else
			m0_time_sleep(
				min64u(until, m0_time_from_now(0, 1000000)));
	}
	M0_FRONT_SET(lnet->fro_sleeps, false);
}

/* Makes a step for the caller, which has fro_stepping. */
static bool inline_step(struct m0_lnet *lnet, m0_time_t now)
{
	struct m0_reactor *reactor;
	m0_time_t          next;
	bool               did;

	M0_PRE_EX(M0_FRONT_GET(lnet->fro_stepping));
	lnet->fro_embed.emb_did = false;
	if (M0_FRONT_GET(lnet->fro_has_fd) && lnet->fro_pump != NULL)
		lnet->fro_embed.emb_apart->fao_disarm(lnet->fro_pump);
	next = m0_strand_step(&lnet->fro_embed.emb_strand, now);
	lnet->fro_embed.emb_next = next;
	did = lnet->fro_embed.emb_did;
	lnet->fro_embed.emb_pushes = false;
	lnet->fro_embed.emb_is_polled = false;
	if (!M0_FRONT_GET(lnet->fro_has_fd)) {
		/* Nothing that others wait for is looked at after it. */
		__atomic_store_n(&lnet->fro_stepping, false, __ATOMIC_RELEASE);
		return did;
	}
	if (lnet->fro_pump != NULL) {
		lnet->fro_embed.emb_apart->fao_arm(lnet->fro_pump, next);
		M0_FRONT_SET(lnet->fro_stepping, false);
		if (m0_front__is_posted(lnet))
			lnet->fro_embed.emb_apart->fao_rouse(lnet->fro_pump);
		return did;
	}
	reactor = lnet->fro_node->nod_reactor;
	reactor->rtr_ops->rtro_arm(reactor, next);
	M0_FRONT_SET(lnet->fro_stepping, false);
	/* Its poster may have seen the descriptor readable still. */
	if (m0_front__is_posted(lnet))
		reactor->rtr_ops->rtro_rouse(reactor);
	return did;
}

/* Sleeps for input, until `deadline`, if nothing is there and `sem` is 0. */
static void sleep_step(struct m0_lnet *lnet, const struct m0_semaphore *sem,
		       m0_time_t deadline)
{
	if (__atomic_exchange_n(&lnet->fro_stepping, true, __ATOMIC_ACQUIRE))
		return;
	inline_sleep(lnet, sem, deadline);
	/* The front may have got a thread meanwhile. */
	if (M0_FRONT_GET(lnet->fro_inline))
		(void)inline_step(lnet, m0_time_now());
}

bool m0_front__wait(struct m0_lnet *lnet, struct m0_semaphore *sem,
		    m0_time_t deadline)
{
	m0_time_t now;

	/* The thread that makes steps would wait for itself. */
	M0_PRE(!m0_front__is_inside(lnet));
	if (!M0_FRONT_GET(lnet->fro_inline))
		return m0_semaphore_timeddown(sem, deadline);
	while (!m0_semaphore_trydown(sem)) {
		now = m0_time_now();
		if (now >= deadline)
			return false;
		if (!M0_FRONT_GET(lnet->fro_stepping)) {
			sleep_step(lnet, sem, deadline);
			continue;
		}
		/* By another thread, which may stop doing so. */
		now = m0_time_add(now, M0_TIME_ONE_MSEC);
		if (m0_semaphore_timeddown(sem, min64u(now, deadline)))
			return true;
	}
	return true;
}

bool m0_lnet_poll_at(struct m0_lnet *lnet, m0_time_t now)
{
	if (!M0_FRONT_GET(lnet->fro_inline) ||
	    __atomic_exchange_n(&lnet->fro_stepping, true, __ATOMIC_ACQUIRE))
		return false;
	lnet->fro_embed.emb_is_polled = true;
	return inline_step(lnet, now);
}

bool m0_lnet_progress(struct m0_lnet *lnet)
{
	return M0_FRONT_GET(lnet->fro_inline) &&
	       !__atomic_exchange_n(&lnet->fro_stepping, true,
				    __ATOMIC_ACQUIRE) &&
	       inline_step(lnet, m0_time_now());
}

/*
 * At the time of the last step: nothing has come, so nothing may be overdue. A
 * descriptor that is polled has to say what is left, which takes a whole step.
 */
void m0_lnet_push(struct m0_lnet *lnet)
{
	if ((lnet->fro_node != NULL || lnet->fro_pump != NULL) &&
	    M0_FRONT_GET(lnet->fro_inline) && m0_front__is_posted(lnet) &&
	    !__atomic_exchange_n(&lnet->fro_stepping, true, __ATOMIC_ACQUIRE)) {
		if (lnet->fro_pump != NULL) {
			lnet->fro_embed.emb_pushes = true;
			(void)inline_step(lnet, m0_time_cached());
			return;
		}
		lnet->fro_embed.emb_pushes = lnet->fro_embed.emb_step_now > 0 &&
					     !M0_FRONT_GET(lnet->fro_has_fd);
		lnet->fro_node->nod_reactor->rtr_looked =
			!lnet->fro_embed.emb_pushes;
		(void)inline_step(lnet, lnet->fro_embed.emb_step_now > 0
						? lnet->fro_embed.emb_step_now
						: m0_time_now());
	}
}

int m0_lnet_fd(struct m0_lnet *lnet)
{
	struct m0_reactor *reactor;
	int                fd;

	if (!M0_FRONT_GET(lnet->fro_inline) ||
	    (lnet->fro_node == NULL && lnet->fro_pump == NULL))
		return -ENOSYS;
	if (lnet->fro_pump != NULL) {
		fd = lnet->fro_embed.emb_apart->fao_fd(lnet->fro_pump);
		if (fd >= 0 && !M0_FRONT_GET(lnet->fro_has_fd)) {
			M0_FRONT_SET(lnet->fro_has_fd, true);
			lnet->fro_embed.emb_apart->fao_rouse(lnet->fro_pump);
		}
		return fd;
	}
	reactor = lnet->fro_node->nod_reactor;
	fd = reactor->rtr_ops->rtro_fd(reactor);
	if (!M0_FRONT_GET(lnet->fro_has_fd)) {
		M0_FRONT_SET(lnet->fro_has_fd, true);
		/* Report work that is pending already; the next progress
		 * arms the descriptor. */
		reactor->rtr_ops->rtro_rouse(reactor);
	}
	return fd;
}

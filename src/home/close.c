/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing a node. The engine ends what is outstanding while the interfaces still
 * work, so that peers hear of it and pings are answered; then the interfaces
 * stop; then the thread.
 */
#include "home/home_internal.h"

/** Peers that do not take what is being sent keep a close no longer. */
#define END_NS (M0_TIME_ONE_SECOND / 2)

/* Has everything ended, and been told? */
static bool is_told(const struct m0_lnet *lnet)
{
	return m0_lnet_engine_is_quiet(lnet->hm_node.hno_engine) &&
	       lnet->hm_up.huq_first == NULL &&
	       m0_list_is_empty(&lnet->hm_node.hno_probes_done);
}

static void nis_stop(struct m0_lnet *lnet)
{
	struct m0_lnet_engine *eng = lnet->hm_node.hno_engine;
	struct m0_lnd_ni      *ni;
	unsigned               i = 0;

	/* The NIs keep their indices until they have stopped. */
	while ((ni = m0_lnet_engine_ni(eng, i++)) != NULL)
		m0_lnet_engine_ni_del(eng, ni);
}

void m0_home__close_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	m0_time_t now = m0_time_cached();

	(void)op;
	lnet->hm_node.hno_state = M0_HOME_ENDING;
	lnet->hm_node.hno_end_by = m0_time_add(now, END_NS);
	m0_lnet_engine_shutdown(lnet->hm_node.hno_engine, now);
}

void m0_home__close_step(struct m0_lnet *lnet, m0_time_t now)
{
	if (lnet->hm_node.hno_state == M0_HOME_ENDING) {
		if (!is_told(lnet) && now < lnet->hm_node.hno_end_by) {
			lnet->hm_node.hno_next =
				min64u(lnet->hm_node.hno_next,
				       lnet->hm_node.hno_end_by);
			return;
		}
		lnet->hm_node.hno_state = M0_HOME_STOPPING;
		lnet->hm_node.hno_again = true;
		nis_stop(lnet);
	} else if (m0_lnet_engine_nis_nr(lnet->hm_node.hno_engine) == 0 &&
		   is_told(lnet)) {
		lnet->hm_node.hno_state = M0_HOME_CLOSED;
		m0_semaphore_up(&lnet->hm_closed_sem);
	}
}

void m0_lnet_close(struct m0_lnet *lnet)
{
	bool last;

	M0_PRE(!m0_home__is_inside(lnet));
	m0_home__lock(lnet);
	M0_PRE(!lnet->hm_shut);
	lnet->hm_shut = true;
	m0_home__post_unlock(lnet, M0_HOME_OP_CLOSE, 0, &lnet->hm_close);
	(void)m0_home__wait(lnet, &lnet->hm_closed_sem, M0_TIME_NEVER);
	if (!M0_HOME_GET(lnet->hm_inline))
		m0_os_cpus_stop(&lnet->hm_cpus);
	m0_strand_fini(&lnet->hm_strand);
	m0_home__parts_free(lnet);
	m0_mutex_lock(&lnet->hm_lock);
	m0_home__eqs_leave(lnet);
	M0_HOME_SET(lnet->hm_dead, true);
	last = m0_list_is_empty(&lnet->hm_eqs);
	m0_mutex_unlock(&lnet->hm_lock);
	if (last)
		m0_home__free(lnet);
}

void m0_home__undo(struct m0_lnet *lnet)
{
	if (lnet->hm_node.hno_engine != NULL &&
	    m0_lnet_engine_nis_nr(lnet->hm_node.hno_engine) > 0) {
		m0_home__lock(lnet);
		lnet->hm_shut = true;
		m0_home__post_unlock(lnet, M0_HOME_OP_CLOSE, 0,
				     &lnet->hm_close);
		while (lnet->hm_node.hno_state != M0_HOME_CLOSED)
			(void)m0_strand_step(&lnet->hm_strand, m0_time_now());
	}
	m0_strand_fini(&lnet->hm_strand);
	m0_home__parts_free(lnet);
	m0_home__free(lnet);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "loop/loop_reactor.h"

unsigned m0_loop_reactor_ask(struct m0_loop_reactor *lre, m0_time_t deadline)
{
	struct m0_reactor_source *src;
	unsigned                  found;

	for (src = lre->lre_reactor.rtr_sources; src != NULL;
	     src = src->rts_next)
		if (src->rts_ops->rtso_look != NULL)
			src->rts_ops->rtso_look(src);
	++lre->lre_asks_nr;
	found = m0_loop_wait(&lre->lre_loop, deadline);
	if (found & M0_LOOP_ROUSED)
		lre->lre_reactor.rtr_roused = true;
	return found;
}

/* Notifies the sources that a thread is about to sleep. @return the earliest deadline. */
static m0_time_t sources_wait(struct m0_reactor *reactor, m0_time_t deadline)
{
	struct m0_reactor_source *src;

	for (src = reactor->rtr_sources; src != NULL; src = src->rts_next)
		if (src->rts_ops->rtso_wait != NULL)
			deadline = src->rts_ops->rtso_wait(src, deadline);
	return deadline;
}

static void loop_sleep(struct m0_reactor *reactor, m0_time_t deadline)
{
	struct m0_loop_reactor *lre = m0_loop_reactor_of(reactor);
	unsigned                found;

	deadline = sources_wait(reactor, deadline);
	/* An event of the loop may be done already, or be space to write. */
	while (!m0_reactor_has_work(reactor)) {
		found = m0_loop_reactor_ask(lre, deadline);
		if (found == 0 && m0_time_now() >= deadline)
			break;
	}
	/* The next pass need not ask, even if there was no need to ask here. */
	++lre->lre_asks_nr;
}

static void loop_rouse(struct m0_reactor *reactor)
{
	m0_loop_rouse(&m0_loop_reactor_of(reactor)->lre_loop);
}

static bool loop_ready(struct m0_reactor *reactor)
{
	if (m0_reactor_has_work(reactor))
		return true;
	(void)sources_wait(reactor, M0_TIME_IMMEDIATELY);
	(void)m0_loop_reactor_ask(m0_loop_reactor_of(reactor),
				  M0_TIME_IMMEDIATELY);
	return m0_reactor_has_work(reactor);
}

static int loop_fd(struct m0_reactor *reactor)
{
	return m0_loop_pollable(&m0_loop_reactor_of(reactor)->lre_loop);
}

static void loop_arm(struct m0_reactor *reactor, m0_time_t deadline)
{
	struct m0_loop_reactor *lre = m0_loop_reactor_of(reactor);
	int                     rc;

	lre->lre_is_polled = true;
	rc = m0_loop_arm(&lre->lre_loop, sources_wait(reactor, deadline));
	/* No timer is to be had: readable at once is early, not late. */
	m0_loop_reactor_show(lre, rc != 0 || m0_reactor_has_work(reactor));
}

static void loop_strand_set(struct m0_reactor *reactor,
			    struct m0_strand  *strand)
{
	m0_loop_reactor_of(reactor)->lre_strand = strand;
}

static void loop_destroy(struct m0_reactor *reactor)
{
	struct m0_loop_reactor *lre = m0_loop_reactor_of(reactor);

	M0_PRE(reactor->rtr_sources == NULL);
	m0_loop_fini(&lre->lre_loop);
	m0_free(lre);
}

static const struct m0_reactor_ops loop_ops = {
	.rtro_destroy = loop_destroy,
	.rtro_sleep = loop_sleep,
	.rtro_rouse = loop_rouse,
	.rtro_ready = loop_ready,
	.rtro_fd = loop_fd,
	.rtro_arm = loop_arm,
	.rtro_strand_set = loop_strand_set,
};

int m0_loop_reactor_create(struct m0_reactor **ret)
{
	struct m0_loop_reactor *lre;
	int                     rc;

	M0_ALLOC_PTR(lre);
	if (lre == NULL)
		return -ENOMEM;
	rc = m0_loop_init(&lre->lre_loop);
	if (rc != 0) {
		m0_free(lre);
		return rc;
	}
	lre->lre_reactor.rtr_ops = &loop_ops;
	*ret = &lre->lre_reactor;
	return 0;
}

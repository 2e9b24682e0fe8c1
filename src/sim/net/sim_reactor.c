/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The reactor of a simulated node. It never sleeps: input wakes the strand of
 * the node and makes its descriptor readable.
 */
#include <stdlib.h>

#include "sim/net/sim_net_internal.h"

struct sim_reactor *m0_sim__reactor_of(struct m0_reactor *reactor)
{
	return container_of(reactor, struct sim_reactor, sra_reactor);
}

void m0_sim__reactor_wake(struct sim_reactor *reactor)
{
	if (reactor->sra_strand != NULL)
		m0_strand_wake(reactor->sra_strand);
	if (reactor->sra_fd_is_open)
		m0_os_fd_signal(&reactor->sra_fd);
}

/* -- the first source ------------------------------------------------------ */

static bool first_pass(struct m0_reactor_source *src, m0_time_t now)
{
	struct sim_reactor *reactor =
		container_of(src, struct sim_reactor, sra_source);

	(void)now;
	if (reactor->sra_fd_is_open)
		m0_os_fd_clear(&reactor->sra_fd);
	reactor->sra_has_called = false;
	return false;
}

static void first_flush(struct m0_reactor_source *src)
{
	(void)src;
}

static bool first_has_work(const struct m0_reactor_source *src)
{
	return container_of(src, const struct sim_reactor, sra_source)
		->sra_has_called;
}

static const struct m0_reactor_source_ops first_ops = {
	.rtso_pass = first_pass,
	.rtso_flush = first_flush,
	.rtso_has_work = first_has_work,
};

/* -- the table ------------------------------------------------------------- */

static void sim_rouse(struct m0_reactor *base)
{
	m0_sim__reactor_wake(m0_sim__reactor_of(base));
}

static bool sim_ready(struct m0_reactor *base)
{
	return m0_reactor_has_work(base);
}

static int sim_fd(struct m0_reactor *base)
{
	struct sim_reactor *reactor = m0_sim__reactor_of(base);
	int                 rc;

	if (!reactor->sra_fd_is_open) {
		rc = m0_os_fd_open(&reactor->sra_fd);
		if (rc != 0)
			return rc;
		reactor->sra_fd_is_open = true;
		m0_os_fd_signal(&reactor->sra_fd);
	}
	return reactor->sra_fd.of_fd;
}

static void sim_arm(struct m0_reactor *base, m0_time_t deadline)
{
	struct sim_reactor *reactor = m0_sim__reactor_of(base);

	if (reactor->sra_fd_is_open)
		m0_os_fd_arm(&reactor->sra_fd, deadline);
}

static void sim_strand_set(struct m0_reactor *base, struct m0_strand *strand)
{
	m0_sim__reactor_of(base)->sra_strand = strand;
}

static void sim_destroy(struct m0_reactor *base)
{
	struct sim_reactor *reactor = m0_sim__reactor_of(base);

	m0_reactor_del(&reactor->sra_source);
	M0_PRE(base->rtr_sources == NULL);
	if (reactor->sra_fd_is_open)
		m0_os_fd_close(&reactor->sra_fd);
	free(reactor);
}

static const struct m0_reactor_ops reactor_ops = {
	.rtro_destroy = sim_destroy,
	.rtro_rouse = sim_rouse,
	.rtro_ready = sim_ready,
	.rtro_fd = sim_fd,
	.rtro_arm = sim_arm,
	.rtro_strand_set = sim_strand_set,
};

int m0_sim__reactor_create(struct m0_reactor **ret)
{
	struct sim_reactor *reactor = m0_sim__realloc(NULL, 1, sizeof *reactor);

	*reactor = (struct sim_reactor){ .sra_reactor.rtr_ops = &reactor_ops,
					 .sra_source.rts_ops = &first_ops };
	m0_reactor_add(&reactor->sra_reactor, &reactor->sra_source);
	*ret = &reactor->sra_reactor;
	return 0;
}

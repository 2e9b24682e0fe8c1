/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Event queues. Each queue of the process has one at the node, with a callback and a
 * bound, so that the node accepts no message whose event would find no entry.
 */
#include "serve/serve_internal.h"

/* The node would drop a message: the process may have taken others meanwhile. */
static void full(struct m0_lnet_eq *eq)
{
	struct m0_serve_eq *veq = container_of(eq, struct m0_serve_eq, veq_eq);

	/* An error has a reason: the runner ends the attachment. */
	(void)m0_serve__eqs_taken(veq->veq_serve);
}

int m0_serve__eq_add(struct m0_serve *srv, uint32_t nr,
		     const struct m0_shared_eq_add *add)
{
	struct m0_serve_eq *veq = m0_serve__make(&srv->srv_eqs, nr);
	uint32_t            max = srv->srv_cfg.svg_shared.shc_incoming_nr;
	int                 rc;

	if (veq == NULL)
		return -ENOMEM;
	if (veq->veq_is_used)
		return -EEXIST;
	if (!veq->veq_is_made) {
		m0_lnet_eq_init(&veq->veq_eq, srv->srv_lnet, &m0_serve__event,
				0);
		m0_lnet_eq_told_set(&veq->veq_eq, &m0_serve__batch_end);
		veq->veq_serve = srv;
		veq->veq_nr = nr;
		veq->veq_is_made = true;
	}
	if (add->sqa_is_polled)
		max = min_check(max, add->sqa_max);
	rc = m0_lnet_eq_bound_set(&veq->veq_eq, max, &srv->srv_all, &full);
	if (rc != 0)
		return rc;
	veq->veq_put_nr = 0;
	veq->veq_taken_nr = 0;
	M0_SET0(&srv->srv_side.shs_eqs[nr]);
	veq->veq_is_used = true;
	srv->srv_eqs_end = max_check(srv->srv_eqs_end, nr + 1);
	return 0;
}

int m0_serve__eq_del(struct m0_serve *srv, uint32_t nr)
{
	struct m0_serve_eq *veq = m0_serve__eq(srv, nr);

	if (veq == NULL || !veq->veq_is_used)
		return -ENOENT;
	if (veq->veq_mds_nr > 0)
		return -EBUSY;
	veq->veq_is_used = false;
	return 0;
}

/* Reads how many messages of a queue the application has taken, and writes how many the
 * node has accepted and dropped. */
static int eq_taken(struct m0_serve *srv, struct m0_serve_eq *veq)
{
	struct m0_shared_eq *shared = &srv->srv_side.shs_eqs[veq->veq_nr];
	uint32_t             taken =
		__atomic_load_n(&shared->seq_taken_nr, __ATOMIC_RELAXED);
	uint32_t more = taken - veq->veq_taken_nr;

	if (more > veq->veq_put_nr - veq->veq_taken_nr)
		return m0_serve__broken(srv, "eq_taken", taken,
					"a number of events that were put");
	veq->veq_taken_nr = taken;
	m0_lnet_eq_taken(&veq->veq_eq, more);
	__atomic_store_n(&shared->seq_accepted_nr, veq->veq_put_nr,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&shared->seq_dropped_nr, veq->veq_eq.eq_dropped_nr,
			 __ATOMIC_RELAXED);
	return 0;
}

/* Reads how many entries of incoming messages the process has given back. */
static int all_taken(struct m0_serve *srv)
{
	struct m0_shared_side *side = &srv->srv_side;
	uint32_t               taken = __atomic_load_n(
			      &side->shs_words->shw_up_taken.shl_incoming, __ATOMIC_ACQUIRE);
	uint32_t more = taken - srv->srv_taken_nr;

	if (more > side->shs_incoming_nr - srv->srv_taken_nr)
		return m0_serve__broken(srv, "taken_incoming", taken,
					"a number of events that were put");
	srv->srv_taken_nr = taken;
	m0_lnet_eq_taken(&srv->srv_all, more);
	return 0;
}

int m0_serve__eqs_taken(struct m0_serve *srv)
{
	uint32_t nr;
	int      rc = 0;

	if (srv->srv_state != M0_SERVE_OPEN || srv->srv_why.shy_field != NULL)
		return 0;
	rc = all_taken(srv);
	for (nr = 0; rc == 0 && nr < srv->srv_eqs_end; ++nr) {
		struct m0_serve_eq *veq = m0_serve__eq(srv, nr);

		if (veq != NULL && veq->veq_is_used)
			rc = eq_taken(srv, veq);
	}
	return rc;
}

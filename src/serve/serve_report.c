/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Events of the node as reports to the process. An entry is reserved for each; for those
 * of incoming messages the bound of the queue sees to it.
 */
#include "serve/serve_internal.h"

void m0_serve__report(struct m0_serve *srv, const struct m0_shared_report *rep)
{
	if (srv->srv_state != M0_SERVE_OPEN || srv->srv_why.shy_field != NULL)
		return;
	/* An error has a reason in srv_why: the runner ends the attachment. */
	if (m0_shared_owed(&srv->srv_side, &srv->srv_why) != 0)
		return;
	m0_shared_report_put(&srv->srv_side, rep);
	m0_shared_commit(&srv->srv_side, 1);
}

static void forgive(struct m0_serve *srv, uint32_t nr)
{
	if (srv->srv_state == M0_SERVE_OPEN && srv->srv_why.shy_field == NULL)
		m0_shared_forgive(&srv->srv_side, nr);
}

void m0_serve__me_gone(struct m0_serve *srv, uint32_t nr,
		       struct m0_serve_me *me)
{
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_ME_GONE,
					.shp_nr = nr,
					.shp_gen = me->vme_gen };

	m0_serve__me_unhold(srv, me);
	me->vme_gen = 0;
	m0_serve__report(srv, &rep);
}

static void md_names(struct m0_shared_report *rep, const struct m0_serve_md *md)
{
	rep->shp_event.rev_md_nr = md->vmd_nr;
	rep->shp_event.rev_md_gen = md->vmd_gen;
	rep->shp_event.rev_md_user = 0;
	rep->shp_event.rev_op_user = 0;
}

void m0_serve__md_refuse(struct m0_serve *srv, const struct m0_serve_md *md,
			 int status)
{
	struct m0_shared_report rep = {
		.shp_kind = M0_SHARED_EV_UNLINK,
		.shp_nr = md->vmd_nr,
		.shp_gen = md->vmd_gen,
		.shp_event = { .rev_type = M0_LNET_EV_UNLINK,
			       .rev_status = status,
			       .rev_unlinked = 1 },
	};

	M0_PRE(status < 0);
	md_names(&rep, md);
	m0_serve__report(srv, &rep);
}

/* Takes the operation from the list of its MD. */
static void op_remove(struct m0_serve_op *op)
{
	struct m0_serve_op **at = &op->vop_md->vmd_ops;

	while (*at != op)
		at = &(*at)->vop_next;
	*at = op->vop_next;
}

void m0_serve__op_done(struct m0_serve *srv, struct m0_serve_op *op,
		       bool with_report)
{
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_DONE,
					.shp_nr = op->vop_nr,
					.shp_gen = op->vop_gen };

	if (op->vop_md != NULL)
		op_remove(op);
	if (with_report) {
		M0_PRE(op->vop_owed_nr > 0);
		--op->vop_owed_nr;
		m0_serve__report(srv, &rep);
	}
	forgive(srv, op->vop_owed_nr);
	op->vop_owed_nr = 0;
	op->vop_gen = 0;
	op->vop_md = NULL;
}

/* The report of an event, which has the layout of that of a node. */
static void event_copy(struct m0_shared_report    *rep,
		       const struct m0_lnet_event *ev,
		       const struct m0_serve_md   *md)
{
	M0_BASSERT(sizeof rep->shp_event == sizeof *ev);
	memcpy(&rep->shp_event, ev, sizeof *ev);
	md_names(rep, md);
}

static void op_event(struct m0_serve *srv, const struct m0_serve_md *md,
		     const struct m0_lnet_event *ev)
{
	struct m0_serve_op     *op = ev->ev_op_user;
	struct m0_shared_report rep = { .shp_nr = op->vop_nr,
					.shp_gen = op->vop_gen };
	bool                    is_send = ev->ev_type == M0_LNET_EV_SEND;

	M0_PRE(op->vop_md == md && op->vop_events_nr > 0);
	--op->vop_events_nr;
	rep.shp_kind = is_send ? M0_SHARED_EV_SEND : M0_SHARED_EV_RESPONSE;
	rep.shp_is_last = op->vop_events_nr == 0 ||
			  (is_send && ev->ev_status != 0) || ev->ev_unlinked;
	event_copy(&rep, ev, md);
	--op->vop_owed_nr;
	m0_serve__report(srv, &rep);
	if (rep.shp_is_last)
		m0_serve__op_done(srv, op, false);
}

static bool is_incoming(const struct m0_lnet_event *ev)
{
	return ev->ev_type == M0_LNET_EV_PUT || ev->ev_type == M0_LNET_EV_GET;
}

/* The bound of the queue has kept room for it. */
static void incoming_event(struct m0_serve *srv, struct m0_serve_md *md,
			   const struct m0_lnet_event *ev)
{
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_EV_INCOMING };

	if (md->vmd_eq == srv->srv_quiet)
		return;
	++md->vmd_eq->veq_put_nr;
	if (srv->srv_state != M0_SERVE_OPEN || srv->srv_why.shy_field != NULL)
		return;
	event_copy(&rep, ev, md);
	if (m0_shared_incoming(&srv->srv_side, &srv->srv_why) != 0) {
		if (srv->srv_why.shy_field == NULL)
			(void)m0_serve__broken(srv, "up_taken", 0,
					       "an index that leaves room for "
					       "what was taken");
		return;
	}
	m0_shared_report_put(&srv->srv_side, &rep);
	m0_shared_incoming_commit(&srv->srv_side);
}

static void md_ended(struct m0_serve *srv, struct m0_serve_md *md,
		     bool is_reported)
{
	struct m0_serve_me *me = NULL;

	while (md->vmd_ops != NULL)
		m0_serve__op_done(srv, md->vmd_ops, true);
	if (!is_reported)
		forgive(srv, 1);
	if (md->vmd_me != M0_RING_NR_NONE)
		me = m0_serve__me(srv, md->vmd_me);
	if (me != NULL && me->vme_gen == md->vmd_me_gen &&
	    (me->vme_flags & M0_LNET_ME_UNLINK) != 0)
		m0_serve__me_gone(srv, md->vmd_me, me);
	M0_ASSERT(srv->srv_mds_nr > 0);
	__atomic_store_n(&srv->srv_mds_nr, srv->srv_mds_nr - 1,
			 __ATOMIC_RELAXED);
	m0_serve__md_clear(srv, md);
}

void m0_serve__event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct m0_serve_md     *md = ev->ev_md_user;
	struct m0_serve        *srv = md->vmd_serve;
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_EV_UNLINK,
					.shp_nr = md->vmd_nr,
					.shp_gen = md->vmd_gen };
	bool                    is_unlink = ev->ev_type == M0_LNET_EV_UNLINK;

	M0_PRE(eq == &md->vmd_eq->veq_eq && md->vmd_gen != 0);
	m0_serve__near_count(srv, ev);
	/* A process receives only the last event of an MD without a queue. */
	if (md->vmd_eq == srv->srv_quiet && is_incoming(ev) && ev->ev_unlinked)
		is_unlink = true;
	if (is_unlink) {
		event_copy(&rep, ev, md);
		rep.shp_event.rev_type = M0_LNET_EV_UNLINK;
		m0_serve__report(srv, &rep);
	} else if (is_incoming(ev)) {
		incoming_event(srv, md, ev);
	} else {
		op_event(srv, md, ev);
	}
	if (ev->ev_unlinked)
		md_ended(srv, md, is_unlink);
}

void m0_serve__batch_end(struct m0_lnet_eq *eq)
{
	struct m0_serve_eq *veq = container_of(eq, struct m0_serve_eq, veq_eq);
	struct m0_serve    *srv = veq->veq_serve;

	if (srv->srv_state == M0_SERVE_OPEN && srv->srv_why.shy_field == NULL)
		m0_shared_bell(&srv->srv_side);
	else
		m0_lnet_runner_wake(srv->srv_lnet, &srv->srv_runner);
}

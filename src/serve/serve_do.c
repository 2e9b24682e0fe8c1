/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Operations of the process, as calls of m0/lnet.h. The codec has checked each field;
 * whether a number is in use is checked here. An operation may come too late: what it
 * is about has ended, and an event that says so is on its way.
 */
#include "serve/serve_internal.h"

/* ------------------------------------------------------------------- ME -- */

static void me_attr(const struct m0_ring_me *record,
		    struct m0_lnet_me_attr  *attr)
{
	*attr = (struct m0_lnet_me_attr){
		.mea_portal = record->rme_portal,
		.mea_id = record->rme_id,
		.mea_match_bits = record->rme_match_bits,
		.mea_ignore_bits = record->rme_ignore_bits,
		.mea_flags = record->rme_flags,
	};
}

/* Without memory for its object, an ME, an MD or an operation ends alone: its report
 * needs no object. */
static int me_poor(struct m0_serve *srv, uint32_t nr, uint32_t gen)
{
	struct m0_serve_me poor = { .vme_gen = gen };

	m0_serve__me_gone(srv, nr, &poor);
	return 0;
}

static int md_poor(struct m0_serve *srv, uint32_t nr, uint32_t gen)
{
	const struct m0_serve_md poor = { .vmd_nr = nr, .vmd_gen = gen };

	m0_serve__md_refuse(srv, &poor, -ENOMEM);
	return 0;
}

/* A number for a new ME. @return 0, -EPROTO, -ENOMEM */
static int me_new(struct m0_serve *srv, uint32_t nr, uint32_t gen,
		  struct m0_serve_me **ret)
{
	struct m0_serve_me *me = m0_serve__make(&srv->srv_mes, nr);

	if (me == NULL)
		return -ENOMEM;
	if (me->vme_gen != 0)
		return m0_serve__broken(srv, "me", nr, "an ME that has ended");
	me->vme_gen = gen;
	me->vme_flags = srv->srv_req.srq_me.rme_flags;
	me->vme_handle = m0_lnet_handle_none;
	me->vme_hold = M0_SERVE_HOLDS_NOTHING;
	me->vme_gone_gen = gen;
	me->vme_gone_rc = -ENOENT;
	*ret = me;
	return 0;
}

static int me_attach_do(struct m0_serve *srv)
{
	struct m0_shared_request *req = &srv->srv_req;
	struct m0_lnet_me_attr    attr;
	struct m0_serve_me       *me = NULL;
	int rc = me_new(srv, req->srq_nr, req->srq_gen, &me);

	if (rc != 0)
		return rc == -ENOMEM ? me_poor(srv, req->srq_nr, req->srq_gen)
				     : rc;
	me_attr(&req->srq_me, &attr);
	rc = m0_serve__me_hold(srv, me, &attr);
	if (rc == 0)
		rc = m0_lnet_me_attach(srv->srv_lnet, &attr, &me->vme_handle);
	if (rc != 0) {
		/* ME_GONE has no status: the events of its MDs have it. */
		me->vme_gone_rc = rc;
		m0_serve__me_gone(srv, req->srq_nr, me);
	}
	return 0;
}

static struct m0_serve_me *me_find(const struct m0_serve *srv, uint32_t nr,
				   uint32_t gen)
{
	struct m0_serve_me *me = m0_serve__me(srv, nr);

	return me != NULL && me->vme_gen == gen ? me : NULL;
}

/* Why is the ME not there? Only one that there was no memory for has left no trace. */
static int me_gone_why(const struct m0_serve *srv, uint32_t nr, uint32_t gen)
{
	const struct m0_serve_me *me = m0_serve__me(srv, nr);

	return me != NULL && me->vme_gone_gen == gen ? me->vme_gone_rc
						     : -ENOMEM;
}

static int me_unlink_do(struct m0_serve *srv)
{
	struct m0_shared_request *req = &srv->srv_req;
	struct m0_serve_me       *me = me_find(srv, req->srq_nr, req->srq_gen);

	/* With an error it has ended with its MD, whose event has the error. */
	if (me != NULL && m0_lnet_me_unlink(srv->srv_lnet, me->vme_handle) == 0)
		m0_serve__me_gone(srv, req->srq_nr, me);
	return 0;
}

/* ------------------------------------------------------------------- MD -- */

/* A number for a new MD. @return 0, -EPROTO, -ENOMEM */
static int md_new(struct m0_serve *srv, uint32_t nr, uint32_t gen,
		  struct m0_serve_md **ret)
{
	struct m0_serve_md *md = m0_serve__make(&srv->srv_mds, nr);

	if (md == NULL)
		return -ENOMEM;
	if (md->vmd_gen != 0)
		return m0_serve__broken(srv, "md", nr, "an MD that has ended");
	md->vmd_nr = nr;
	md->vmd_gen = gen;
	*ret = md;
	return 0;
}

static void md_fails(struct m0_serve *srv, struct m0_serve_md *md, int rc)
{
	m0_serve__md_refuse(srv, md, rc);
	m0_serve__md_clear(srv, md);
}

static int md_begin(struct m0_serve *srv, const struct m0_lnet_md_attr *attr,
		    const struct m0_ring_md *record, struct m0_lnet_handle *ret)
{
	const struct m0_serve_me *me;

	if (record->rmd_me == M0_RING_NR_NONE)
		return m0_lnet_md_bind(srv->srv_lnet, attr, ret);
	me = me_find(srv, record->rmd_me, record->rmd_me_gen);
	if (me == NULL)
		return me_gone_why(srv, record->rmd_me, record->rmd_me_gen);
	return m0_lnet_md_attach(srv->srv_lnet, me->vme_handle, attr, ret);
}

static int md_attach_do(struct m0_serve *srv)
{
	struct m0_shared_request *req = &srv->srv_req;
	struct m0_lnet_md_attr    attr;
	struct m0_lnet_handle     handle;
	struct m0_serve_md       *md = NULL;
	int rc = md_new(srv, req->srq_nr, req->srq_gen, &md);

	if (rc != 0)
		return rc == -ENOMEM ? md_poor(srv, req->srq_nr, req->srq_gen)
				     : rc;
	rc = m0_serve__md_fill(srv, md, &attr);
	if (rc == 0)
		rc = md_begin(srv, &attr, &req->srq_md, &handle);
	if (rc == 0)
		m0_serve__md_live(srv, md, handle);
	else
		md_fails(srv, md, rc);
	return 0;
}

static int entry_attach_do(struct m0_serve *srv)
{
	struct m0_shared_request *req = &srv->srv_req;
	struct m0_lnet_me_attr    attr;
	struct m0_lnet_md_attr    md_attr;
	struct m0_lnet_handle     handle;
	struct m0_serve_me       *me = NULL;
	struct m0_serve_md       *md = NULL;
	int rc = me_new(srv, req->srq_nr, req->srq_gen, &me);

	if (rc == 0)
		rc = md_new(srv, req->srq_md_nr, req->srq_md_gen, &md);
	if (rc == -ENOMEM) {
		(void)md_poor(srv, req->srq_md_nr, req->srq_md_gen);
		if (me != NULL)
			me->vme_gen = 0;
		return me_poor(srv, req->srq_nr, req->srq_gen);
	}
	if (rc != 0)
		return rc;
	me->vme_flags |= M0_LNET_ME_UNLINK;
	me_attr(&req->srq_me, &attr);
	attr.mea_flags |= M0_LNET_ME_UNLINK;
	rc = m0_serve__md_fill(srv, md, &md_attr);
	if (rc == 0)
		rc = m0_serve__me_hold(srv, me, &attr);
	if (rc == 0)
		rc = m0_lnet_entry_attach(srv->srv_lnet, &attr, &md_attr,
					  &handle);
	if (rc == 0) {
		m0_serve__md_live(srv, md, handle);
		return 0;
	}
	md_fails(srv, md, rc);
	m0_serve__me_gone(srv, req->srq_nr, me);
	return 0;
}

static struct m0_serve_md *md_find(const struct m0_serve *srv, uint32_t nr,
				   uint32_t gen)
{
	struct m0_serve_md *md = m0_serve__md(srv, nr);

	return md != NULL && md->vmd_gen == gen ? md : NULL;
}

static int md_unlink_do(struct m0_serve *srv)
{
	struct m0_shared_request *req = &srv->srv_req;
	struct m0_serve_md       *md = md_find(srv, req->srq_nr, req->srq_gen);

	if (md != NULL)
		(void)m0_lnet_md_unlink(srv->srv_lnet, md->vmd_handle);
	return 0;
}

/* ---------------------------------------------------------- PUT and GET -- */

static bool is_get(const struct m0_shared_request *req)
{
	return req->srq_opcode == M0_SHARED_GET ||
	       req->srq_opcode == M0_SHARED_BIND_GET;
}

static void op_fill(const struct m0_shared_request *req, uint32_t owed_nr,
		    struct m0_serve_op *op)
{
	op->vop_nr = req->srq_nr;
	op->vop_gen = req->srq_gen;
	op->vop_md = NULL;
	op->vop_owed_nr = owed_nr;
	op->vop_events_nr = is_get(req) || req->srq_op.rop_ack ? 2 : 1;
}

/* A number for a new operation. @return 0, -EPROTO, -ENOMEM */
static int op_new(struct m0_serve *srv, uint32_t owed_nr,
		  struct m0_serve_op **ret)
{
	const struct m0_shared_request *req = &srv->srv_req;
	struct m0_serve_op             *op =
		m0_serve__make(&srv->srv_ops_table, req->srq_nr);

	if (op == NULL)
		return -ENOMEM;
	if (op->vop_gen != 0)
		return m0_serve__broken(srv, "op", req->srq_nr,
					"an operation that is done");
	op_fill(req, owed_nr, op);
	*ret = op;
	return 0;
}

static void op_attr(const struct m0_ring_op *record, struct m0_serve_op *op,
		    struct m0_lnet_op *attr)
{
	*attr = (struct m0_lnet_op){
		.lo_self = record->rop_self,
		.lo_target = record->rop_target,
		.lo_portal = record->rop_portal,
		.lo_match_bits = record->rop_match_bits,
		.lo_offset = record->rop_offset,
		.lo_hdr_data = record->rop_hdr_data,
		.lo_ack = record->rop_ack != 0,
		.lo_spread = record->rop_spread != 0,
		.lo_md_offset = record->rop_md_offset,
		.lo_bytes = record->rop_bytes,
		.lo_user = op,
	};
}

static void op_on_md(struct m0_serve_op *op, struct m0_serve_md *md)
{
	op->vop_md = md;
	op->vop_next = md->vmd_ops;
	md->vmd_ops = op;
}

/* The operation has not begun: its SEND event has the error. */
static void op_fails(struct m0_serve *srv, struct m0_serve_op *op, int rc)
{
	const struct m0_ring_op *record = &srv->srv_req.srq_op;
	struct m0_shared_report  rep = {
		 .shp_kind = M0_SHARED_EV_SEND,
		 .shp_nr = op->vop_nr,
		 .shp_gen = op->vop_gen,
		 .shp_is_last = true,
		 .shp_event = { .rev_type = M0_LNET_EV_SEND,
				.rev_status = rc,
				.rev_target = record->rop_target,
				.rev_portal = record->rop_portal,
				.rev_match_bits = record->rop_match_bits,
				.rev_hdr_data = record->rop_hdr_data,
				.rev_is_get = is_get(&srv->srv_req),
				.rev_md_nr = record->rop_md,
				.rev_md_gen = record->rop_md_gen },
	};

	--op->vop_owed_nr;
	m0_serve__report(srv, &rep);
	m0_serve__op_done(srv, op, false);
}

/* May it send to the portal? */
static int op_may(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;

	return m0_serve__portal_may(srv, is_get(req) ? "GET" : "PUT",
				    req->srq_op.rop_portal);
}

static int move_do(struct m0_serve *srv)
{
	struct m0_shared_request *req = &srv->srv_req;
	struct m0_lnet_op         attr;
	struct m0_serve_op       *op = NULL;
	struct m0_serve_md       *md = NULL;
	struct m0_serve_op        poor = {};
	int rc = op_new(srv, m0_shared_events_nr(req), &op);

	if (rc == -ENOMEM) {
		op_fill(req, m0_shared_events_nr(req), &poor);
		op_fails(srv, &poor, rc);
		return 0;
	}
	if (rc != 0)
		return rc;
	md = md_find(srv, req->srq_op.rop_md, req->srq_op.rop_md_gen);
	if (md == NULL) {
		op_fails(srv, op, -ENOENT);
		return 0;
	}
	op_on_md(op, md);
	op_attr(&req->srq_op, op, &attr);
	rc = op_may(srv);
	if (rc == 0)
		rc = is_get(req)
			     ? m0_lnet_get(srv->srv_lnet, md->vmd_handle, &attr)
			     : m0_lnet_put(srv->srv_lnet, md->vmd_handle,
					   &attr);
	if (rc != 0)
		op_fails(srv, op, rc);
	return 0;
}

static int bind_move_do(struct m0_serve *srv)
{
	struct m0_shared_request *req = &srv->srv_req;
	struct m0_lnet_md_attr    md_attr;
	struct m0_lnet_handle     handle;
	struct m0_lnet_op         attr;
	struct m0_serve_op       *op = NULL;
	struct m0_serve_md       *md = NULL;
	struct m0_serve_op        poor = {};
	/* One of the events is the MD's. */
	uint32_t owed_nr = m0_shared_events_nr(req) - 1;
	int      rc = md_new(srv, req->srq_md_nr, req->srq_md_gen, &md);

	if (rc == 0)
		rc = op_new(srv, owed_nr, &op);
	if (rc == -ENOMEM) {
		op_fill(req, owed_nr, &poor);
		(void)md_poor(srv, req->srq_md_nr, req->srq_md_gen);
		m0_serve__op_done(srv, &poor, true);
		if (md != NULL)
			md->vmd_gen = 0;
		return 0;
	}
	if (rc != 0)
		return rc;
	rc = m0_serve__md_fill(srv, md, &md_attr);
	op_on_md(op, md);
	op_attr(&req->srq_op, op, &attr);
	if (rc == 0)
		rc = op_may(srv);
	if (rc == 0)
		rc = is_get(req) ? m0_lnet_bind_get(srv->srv_lnet, &md_attr,
						    &attr, &handle)
				 : m0_lnet_bind_put(srv->srv_lnet, &md_attr,
						    &attr, &handle);
	if (rc == 0) {
		m0_serve__md_live(srv, md, handle);
		return 0;
	}
	m0_serve__md_refuse(srv, md, rc);
	m0_serve__op_done(srv, op, true);
	m0_serve__md_clear(srv, md);
	return 0;
}

/* ----------------------------------------------------------------- others -- */

static int lazy_do(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;

	if (!m0_serve__lazy_may(srv, req->srq_nr))
		return 0;
	if ((req->srq_number & M0_SHARED_LAZY_CLEARED) != 0)
		(void)m0_lnet_lazy_set(srv->srv_lnet, req->srq_nr, false);
	if ((req->srq_number & M0_SHARED_LAZY_WANTED) != 0)
		(void)m0_lnet_lazy_set(srv->srv_lnet, req->srq_nr, true);
	return 0;
}

static int stats_reset_do(struct m0_serve *srv)
{
	if (srv->srv_cfg.svg_right >= M0_SHARED_RIGHT_ADMIN)
		m0_lnet_stats_reset(srv->srv_lnet);
	return 0;
}

static int close_do(struct m0_serve *srv)
{
	/* The runner sees it when it has carried out this operation. */
	__atomic_store_n(&srv->srv_ends, true, __ATOMIC_RELEASE);
	return 0;
}

/* All reports so far are in the queue. */
static int barrier_do(struct m0_serve *srv)
{
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_PASSED,
					.shp_nr = srv->srv_req.srq_nr };

	m0_serve__report(srv, &rep);
	return 0;
}

/* May the process ask for it? */
static int control_may(const struct m0_serve *srv, uint32_t verb)
{
	enum m0_shared_right right = m0_shared_verb_right(verb);

	if (right == M0_SHARED_RIGHT_NONE || right > srv->srv_cfg.svg_right)
		return -EPERM;
	/* A process that may send nothing may not have others send for it. */
	return right == M0_SHARED_RIGHT_PROBE &&
			       srv->srv_cfg.svg_portals.vrs_nr == 0
		       ? -EACCES
		       : 0;
}

static void control_answer(struct m0_serve *srv, uint32_t nr, uint32_t nr_gen,
			   const struct m0_ring_control *answer)
{
	struct m0_shared_report rep = { .shp_kind = M0_SHARED_ANSWER,
					.shp_nr = nr,
					.shp_gen = nr_gen };

	memcpy(m0_shared_control(&srv->srv_side, nr), answer,
	       min_check(sizeof *answer,
			 (size_t)srv->srv_cfg.svg_shared.shc_control_bytes));
	m0_serve__report(srv, &rep);
}

static void slow_done(struct m0_front_relay        *relay,
		      const struct m0_ring_control *answer)
{
	struct m0_serve *srv = relay->frl_owner;
	uint32_t         nr = (uint32_t)(relay - srv->srv_relays);

	M0_PRE(srv->srv_slow_nr > 0);
	--srv->srv_slow_nr;
	if (srv->srv_state == M0_SERVE_OPEN && srv->srv_why.shy_field == NULL) {
		control_answer(srv, nr, srv->srv_slow_gens[nr], answer);
		m0_shared_bell(&srv->srv_side);
	} else {
		m0_lnet_runner_wake(srv->srv_lnet, &srv->srv_runner);
	}
}

static const struct m0_front_relay_ops relay_ops = { .rlo_done = slow_done };

/* The answer comes later. */
static int slow_begin(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;
	int                             rc = m0_front_relay_begin(srv->srv_lnet,
								  &srv->srv_relays[req->srq_nr],
								  &srv->srv_control, &relay_ops, srv);

	if (rc != 0)
		return rc;
	srv->srv_slow_gens[req->srq_nr] = req->srq_gen;
	++srv->srv_slow_nr;
	return 0;
}

bool m0_serve__probes_cancel(struct m0_serve *srv)
{
	bool     again = false;
	uint32_t nr;

	for (nr = 0; srv->srv_slow_nr > 0 &&
		     nr < srv->srv_cfg.svg_shared.shc_controls_nr;
	     ++nr)
		again |= m0_front_relay_cancel(srv->srv_lnet,
					       &srv->srv_relays[nr]);
	return again && srv->srv_slow_nr > 0;
}

static int control_do(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;
	struct m0_ring_control         *control = &srv->srv_control;
	int                             rc;

	if (srv->srv_relays[req->srq_nr].frl_ops != NULL)
		return m0_serve__broken(srv, "control", req->srq_nr,
					"a record whose request has ended");
	rc = m0_shared_control_get(&srv->srv_side, req->srq_nr, req->srq_number,
				   control, &srv->srv_why);
	if (rc != 0)
		return rc;
	rc = control_may(srv, control->rqc_verb);
	if (rc == 0 && m0_front_relay_is_slow(control->rqc_verb)) {
		rc = slow_begin(srv);
		if (rc == 0)
			return 0;
	} else if (rc == 0) {
		rc = m0_front_relay_do(srv->srv_lnet,
				       &srv->srv_relays[req->srq_nr], control);
	}
	control->rqc_rc = rc;
	control_answer(srv, req->srq_nr, req->srq_gen, control);
	return 0;
}

static int region_add(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;
	int rc = m0_shared_region_add(&srv->srv_regions, &srv->srv_side,
				      req->srq_nr, req->srq_gen,
				      req->srq_number);

	if (rc == 0)
		m0_serve__copy_region_add(srv, req->srq_nr);
	return rc;
}

static int region_del(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;
	const struct m0_shared_region  *region =
		&srv->srv_regions.srs_regions[req->srq_nr - 1];
	const void *addr = region->srg_addr;
	int         rc;

	if (srv->srv_region_users[req->srq_nr - 1] > 0)
		return -EBUSY;
	rc = m0_shared_region_del(&srv->srv_regions, &srv->srv_side,
				  req->srq_nr, req->srq_gen);
	if (rc == 0)
		m0_serve__copy_region_del(srv, addr);
	return rc;
}

static int resource_do(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;
	struct m0_shared_report         rep = { .shp_kind = M0_SHARED_RESULT,
						.shp_nr = req->srq_nr,
						.shp_gen = req->srq_gen };
	int                             rc;

	switch (req->srq_opcode) {
	case M0_SHARED_EQ_ADD:
		rc = m0_serve__eq_add(srv, req->srq_nr, &req->srq_eq_add);
		break;
	case M0_SHARED_EQ_DEL:
		rc = m0_serve__eq_del(srv, req->srq_nr);
		break;
	case M0_SHARED_REGION_ADD:
		rc = region_add(srv);
		break;
	case M0_SHARED_REGION_DEL:
		rc = region_del(srv);
		break;
	case M0_SHARED_TM_CLAIM:
		rc = m0_serve__tm_claim(srv, req->srq_tm.stn_portal,
					req->srq_tm.stn_tmid,
					&rep.shp_result.srt_value);
		break;
	case M0_SHARED_TM_RELEASE:
		rc = m0_serve__tm_release(srv, req->srq_tm.stn_portal,
					  req->srq_tm.stn_tmid);
		break;
	case M0_SHARED_TM_FIND:
		rc = m0_serve__tm_find(srv, req->srq_tm.stn_portal,
				       req->srq_tm.stn_tmid,
				       &rep.shp_result.srt_value);
		break;
	default:
		rc = -ENOSYS;
	}
	rep.shp_result.srt_status = rc;
	rep.shp_result.srt_opcode = (uint32_t)req->srq_opcode;
	m0_serve__report(srv, &rep);
	return 0;
}

static int queue_name_do(struct m0_serve *srv)
{
	const struct m0_shared_request *req = &srv->srv_req;
	struct m0_serve_me *me = me_find(srv, req->srq_nr, req->srq_gen);

	if (me != NULL)
		m0_serve__queue_name(srv, me, req->srq_number);
	return 0;
}

static int (*const does[M0_SHARED_OPCODES_NR])(struct m0_serve *srv) = {
	[M0_SHARED_ME_ATTACH] = me_attach_do,
	[M0_SHARED_ME_UNLINK] = me_unlink_do,
	[M0_SHARED_MD_ATTACH] = md_attach_do,
	[M0_SHARED_MD_UNLINK] = md_unlink_do,
	[M0_SHARED_QUEUE_ATTACH] = md_attach_do,
	[M0_SHARED_ENTRY_ATTACH] = entry_attach_do,
	[M0_SHARED_PUT] = move_do,
	[M0_SHARED_GET] = move_do,
	[M0_SHARED_BIND_PUT] = bind_move_do,
	[M0_SHARED_BIND_GET] = bind_move_do,
	[M0_SHARED_LAZY] = lazy_do,
	[M0_SHARED_STATS_RESET] = stats_reset_do,
	[M0_SHARED_CLOSE] = close_do,
	[M0_SHARED_BARRIER] = barrier_do,
	[M0_SHARED_CONTROL] = control_do,
	[M0_SHARED_EQ_ADD] = resource_do,
	[M0_SHARED_EQ_DEL] = resource_do,
	[M0_SHARED_REGION_ADD] = resource_do,
	[M0_SHARED_REGION_DEL] = resource_do,
	[M0_SHARED_LIMITS_SET] = resource_do,
	[M0_SHARED_TM_CLAIM] = resource_do,
	[M0_SHARED_TM_RELEASE] = resource_do,
	[M0_SHARED_COPY_DONE] = m0_serve__copy_done,
	[M0_SHARED_QUEUE_NAME] = queue_name_do,
	[M0_SHARED_TM_FIND] = resource_do,
};

int m0_serve__do(struct m0_serve *srv)
{
	M0_PRE(srv->srv_req.srq_opcode < M0_SHARED_OPCODES_NR);
	return does[srv->srv_req.srq_opcode](srv);
}

void m0_serve__unlink_all(struct m0_serve *srv)
{
	struct m0_serve_me *me;
	struct m0_serve_md *md;
	uint32_t            nr;

	for (nr = 0; nr < srv->srv_mes.vta_max; ++nr) {
		me = m0_serve__me(srv, nr);
		if (me != NULL && me->vme_gen != 0) {
			(void)m0_lnet_me_unlink(srv->srv_lnet, me->vme_handle);
			me->vme_gen = 0;
		}
	}
	for (nr = 0; nr < srv->srv_mds.vta_max; ++nr) {
		md = m0_serve__md(srv, nr);
		if (md != NULL && md->vmd_gen != 0)
			(void)m0_lnet_md_unlink(srv->srv_lnet, md->vmd_handle);
	}
}

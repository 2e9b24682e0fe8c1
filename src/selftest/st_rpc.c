/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests and replies over PUTs. A call has an MD for its reply, one for its bulk
 * and one for its request; a request that is served has one for its bulk and one
 * for its reply. It ends after the last of them has.
 */
#include "selftest/st_internal.h"

/** Sorts by deadline; almost always the last place is right. */
static void rpc_link(struct st_rpc *rpc)
{
	struct m0_st        *st = rpc->sqr_st;
	struct m0_list_link *prev = st->slf_rpcs.l_head.ll_prev;

	while (prev != &st->slf_rpcs.l_head &&
	       container_of(prev, struct st_rpc, sqr_link)->sqr_deadline >
		       rpc->sqr_deadline)
		prev = prev->ll_prev;
	m0_list_add_after(prev, &rpc->sqr_link);
	m0_st__wake(st, rpc->sqr_deadline);
}

struct st_rpc *m0_st__rpc_alloc(struct m0_st *st, bool is_client,
				uint64_t timeout_ms)
{
	unsigned *nr = is_client ? &st->slf_calling_nr : &st->slf_served_nr;
	struct st_rpc *rpc;
	unsigned       i;

	if (*nr >= st->slf_cfg.scf_rpcs_max || M0_ALLOC_PTR(rpc) == NULL)
		return NULL;
	++*nr;
	rpc->sqr_st = st;
	rpc->sqr_is_client = is_client;
	rpc->sqr_begin = m0_time_cached();
	rpc->sqr_deadline =
		m0_time_add(rpc->sqr_begin, timeout_ms * M0_TIME_ONE_MSEC);
	m0_list_link_init(&rpc->sqr_link);
	m0_list_link_init(&rpc->sqr_wait_link);
	for (i = 0; i < ST_PARTS_NR; ++i) {
		rpc->sqr_parts[i].spt_use = ST_USE_PART;
		rpc->sqr_parts[i].spt_nr = i;
		rpc->sqr_parts[i].spt_rpc = rpc;
	}
	rpc_link(rpc);
	return rpc;
}

void m0_st__rpc_free(struct st_rpc *rpc)
{
	struct m0_st *st = rpc->sqr_st;
	unsigned     *nr = rpc->sqr_is_client ? &st->slf_calling_nr
					      : &st->slf_served_nr;

	M0_PRE(rpc->sqr_live_nr == 0);
	M0_PRE(*nr > 0);
	--*nr;
	m0_list_del(&rpc->sqr_link);
	m0_list_del(&rpc->sqr_wait_link);
	if (rpc->sqr_buf != NULL)
		m0_st__buf_put(st, rpc->sqr_buf);
	m0_free(rpc);
}

/* -- parts ----------------------------------------------------------------- */

static struct m0_lnet_md_attr part_attr(struct st_part *part, void *addr,
					size_t bytes, unsigned options)
{
	part->spt_addr = addr;
	part->spt_bytes = bytes;
	part->spt_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&part->spt_addr,
							     &part->spt_bytes);
	return (struct m0_lnet_md_attr){
		.mda_vec = &part->spt_vec,
		.mda_length = bytes,
		.mda_options = options,
		.mda_threshold = (options & M0_LNET_MD_OP_GET) != 0 ? 2 : 1,
		.mda_auto_unlink = true,
		.mda_eq = &part->spt_rpc->sqr_st->slf_eq,
		.mda_user = part,
	};
}

static int part_done(struct st_part *part, int rc)
{
	if (rc == 0) {
		part->spt_live = true;
		++part->spt_rpc->sqr_live_nr;
	}
	return rc;
}

/** Lets the peer put to our memory, or get from it. */
static int part_attach(struct st_part *part, uint64_t bits, void *addr,
		       size_t bytes, unsigned options)
{
	struct m0_lnet_md_attr md = part_attr(part, addr, bytes, options);
	struct m0_lnet_me_attr me = {
		.mea_portal = M0_ST_PORTAL_REPLY,
		.mea_id = part->spt_rpc->sqr_peer,
		.mea_match_bits = bits,
		.mea_flags = M0_LNET_ME_UNLINK,
	};

	md.mda_threshold = 1;
	return part_done(part,
			 m0_lnet_entry_attach(part->spt_rpc->sqr_st->slf_lnet,
					      &me, &md, &part->spt_md));
}

static int part_send(struct st_part *part, uint32_t portal, uint64_t bits,
		     void *addr, size_t bytes, bool is_get)
{
	struct st_rpc         *rpc = part->spt_rpc;
	struct m0_lnet_md_attr md = part_attr(part, addr, bytes, 0);
	struct m0_lnet_op      op = {
		     .lo_self = rpc->sqr_self,
		     .lo_target = rpc->sqr_peer,
		     .lo_portal = portal,
		     .lo_match_bits = bits,
	};

	md.mda_threshold = is_get ? 2 : 1;
	return part_done(part,
			 is_get ? m0_lnet_bind_get(rpc->sqr_st->slf_lnet, &md,
						   &op, &part->spt_md)
				: m0_lnet_bind_put(rpc->sqr_st->slf_lnet, &md,
						   &op, &part->spt_md));
}

static void parts_unlink(struct st_rpc *rpc)
{
	struct st_part *part;

	for (part = rpc->sqr_parts; part < rpc->sqr_parts + ST_PARTS_NR; ++part)
		if (part->spt_live)
			(void)m0_lnet_md_unlink(rpc->sqr_st->slf_lnet,
						part->spt_md);
}

/* -- the end --------------------------------------------------------------- */

/** Not on the stack of the function that began it: the runner ends it. */
static void ended_post(struct st_rpc *rpc)
{
	if (m0_list_link_is_in(&rpc->sqr_wait_link))
		m0_list_del(&rpc->sqr_wait_link);
	m0_list_add_tail(&rpc->sqr_st->slf_ended, &rpc->sqr_wait_link);
	m0_st__wake(rpc->sqr_st, M0_TIME_IMMEDIATELY);
}

void m0_st__rpc_end(struct st_rpc *rpc, int rc)
{
	if (rpc->sqr_ends)
		return;
	rpc->sqr_ends = true;
	rpc->sqr_rc = rc;
	if (rpc->sqr_live_nr == 0)
		ended_post(rpc);
	else
		parts_unlink(rpc);
}

/* -- calls ----------------------------------------------------------------- */

void m0_st__rpc_call(struct st_rpc *rpc, void *bulk, size_t bytes,
		     bool is_source)
{
	struct m0_st     *st = rpc->sqr_st;
	struct m0_st_msg *msg = &rpc->sqr_msg;
	int               rc;

	M0_PRE(rpc->sqr_is_client);
	msg->smg_version = M0_ST_VERSION;
	msg->smg_rpyid = ++st->slf_next_id;
	msg->smg_bulkid = bulk != NULL ? ++st->slf_next_id : 0;
	rpc->sqr_wants_bulk = bulk != NULL;
	rpc->sqr_self = m0_lnet_nid_any;
	m0_st_encode(msg, rpc->sqr_out);
	rc = part_attach(&rpc->sqr_parts[ST_REPLY], msg->smg_rpyid, rpc->sqr_in,
			 sizeof rpc->sqr_in, M0_LNET_MD_OP_PUT);
	if (rc == 0 && bulk != NULL)
		rc = part_attach(
			&rpc->sqr_parts[ST_BULK], msg->smg_bulkid, bulk, bytes,
			is_source ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT);
	if (rc == 0)
		rc = part_send(&rpc->sqr_parts[ST_REQUEST],
			       m0_st_type_portal(msg->smg_type),
			       m0_st_type_service(msg->smg_type), rpc->sqr_out,
			       sizeof rpc->sqr_out, false);
	++st->slf_counts.sct_rpc_sent;
	if (rc != 0)
		m0_st__rpc_end(rpc, rc);
}

/** Is a reply about the session of its request? */
static bool is_of_session(const struct m0_st_msg *rep,
			  const struct m0_st_msg *msg)
{
	switch (msg->smg_type) {
	case M0_ST_MKSN:
	case M0_ST_BATCH:
	case M0_ST_STAT:
	case M0_ST_TEST:
		return rep->smg_status != 0 ||
		       (m0_st_sid_eq(&rep->smg_sid, &msg->smg_sid) &&
			rep->smg_feats == msg->smg_feats);
	default:
		/* DEBUG shows any session, and after RMSN there may be none. */
		return true;
	}
}

/** 0, or what is wrong with a reply. */
static int reply_check(const struct m0_st_msg *rep, const struct m0_st_msg *msg)
{
	if (rep->smg_type != msg->smg_type + 1)
		return -EBADMSG;
	if (rep->smg_version != M0_ST_VERSION)
		return -EPROTO;
	return rep->smg_status <= M0_ST_STATUS_MAX && is_of_session(rep, msg)
		       ? 0
		       : -EBADMSG;
}

static void reply_take(struct st_rpc *rpc, const struct m0_lnet_event *event)
{
	int rc;

	if (event->ev_type != M0_LNET_EV_PUT || event->ev_status != 0)
		return;
	rpc->sqr_has_reply = true;
	rc = m0_st_decode(&rpc->sqr_rep, rpc->sqr_in, event->ev_mlength) != 0
		     ? -EBADMSG
		     : reply_check(&rpc->sqr_rep, &rpc->sqr_msg);
	if (rc != 0)
		m0_st__rpc_end(rpc, rc);
}

/** Has all of the bulk moved? */
static bool bulk_is_whole(const struct st_part       *part,
			  const struct m0_lnet_event *event)
{
	/* A node fetches only the part of a list that has destinations. */
	return part->spt_rpc->sqr_msg.smg_type == M0_ST_TEST ||
	       event->ev_mlength == part->spt_bytes;
}

static void call_event(struct st_part *part, const struct m0_lnet_event *event)
{
	struct st_rpc *rpc = part->spt_rpc;

	if (part->spt_nr == ST_REPLY)
		reply_take(rpc, event);
	else if (part->spt_nr == ST_BULK && event->ev_status == 0 &&
		 event->ev_type != M0_LNET_EV_UNLINK)
		rpc->sqr_has_bulk = bulk_is_whole(part, event);
	else if (part->spt_nr == ST_REQUEST && event->ev_status != 0)
		m0_st__rpc_end(rpc, event->ev_status);
	/* Data may come after the reply, by another connection. */
	if (rpc->sqr_has_reply && (!rpc->sqr_wants_bulk || rpc->sqr_has_bulk ||
				   rpc->sqr_rep.smg_status != 0))
		m0_st__rpc_end(rpc, 0);
	if (event->ev_unlinked && part->spt_nr == ST_BULK && !rpc->sqr_has_bulk)
		m0_st__rpc_end(rpc, -EIO);
	if (event->ev_unlinked && part->spt_nr == ST_REPLY &&
	    !rpc->sqr_has_reply)
		m0_st__rpc_end(rpc, -EIO);
}

/* -- requests that are served ---------------------------------------------- */

void m0_st__rpc_bulk(struct st_rpc *rpc, void *addr, size_t bytes, bool is_get)
{
	int rc = part_send(&rpc->sqr_parts[ST_BULK], M0_ST_PORTAL_REPLY,
			   rpc->sqr_msg.smg_bulkid, addr, bytes, is_get);

	rpc->sqr_wants_bulk = is_get;
	if (rc != 0)
		m0_st__rpc_end(rpc, rc);
}

void m0_st__rpc_reply(struct st_rpc *rpc)
{
	int rc;

	m0_st_encode(&rpc->sqr_rep, rpc->sqr_out);
	rc = part_send(&rpc->sqr_parts[ST_REPLY], M0_ST_PORTAL_REPLY,
		       rpc->sqr_msg.smg_rpyid, rpc->sqr_out,
		       sizeof rpc->sqr_out, false);
	if (rc != 0)
		m0_st__rpc_end(rpc, rc);
}

static void served_event(struct st_part             *part,
			 const struct m0_lnet_event *event)
{
	struct st_rpc *rpc = part->spt_rpc;
	bool           is_last;

	if (part->spt_nr == ST_REPLY && event->ev_type == M0_LNET_EV_SEND)
		m0_st__rpc_end(rpc, event->ev_status);
	if (part->spt_nr == ST_BULK && event->ev_status != 0)
		m0_st__rpc_end(rpc, event->ev_status);
	if (part->spt_nr != ST_BULK || rpc->sqr_ends)
		return;
	is_last = rpc->sqr_wants_bulk ? event->ev_type == M0_LNET_EV_REPLY
				      : event->ev_type == M0_LNET_EV_SEND;
	if (is_last)
		m0_st__serve_bulk(rpc, event->ev_mlength == part->spt_bytes ||
						       !rpc->sqr_wants_bulk
					       ? 0
					       : -EIO);
}

void m0_st__rpc_event(struct st_part *part, const struct m0_lnet_event *event)
{
	struct st_rpc *rpc = part->spt_rpc;

	if (event->ev_unlinked) {
		M0_ASSERT(part->spt_live && rpc->sqr_live_nr > 0);
		part->spt_live = false;
		--rpc->sqr_live_nr;
	}
	if (rpc->sqr_is_client)
		call_event(part, event);
	else
		served_event(part, event);
	if (rpc->sqr_ends && rpc->sqr_live_nr == 0 &&
	    !m0_list_link_is_in(&rpc->sqr_wait_link))
		ended_post(rpc);
}

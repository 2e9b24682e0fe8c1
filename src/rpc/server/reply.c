/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Replies. They take the same path as requests; those of streams are kept, as
 * they are, until the client has acknowledged them.
 */
#include "rpc/rpc_internal.h"

/*
 * One that is on its way, and is asked for over another link; perhaps the first
 * is dead. True: it can be sent there now; else when its packet has ended.
 */
static __attribute__((__noinline__)) bool reply_move(
	struct m0_rpc_item *reply, struct m0_rpc__target *target)
{
	struct m0_rpc__item   *il = m0_rpc__il(reply);
	struct m0_rpc__target *old = il->ril_target;

	M0_PRE(target != NULL);
	/* Where it is cached, or its packet is, it was sent to last. */
	if (!(il->ril_flags & M0_RPC__IF_AGAIN) && m0_rpc__item_unform(reply)) {
		m0_rpc__target_check(old);
		return true;
	}
	if (il->ril_flags & M0_RPC__IF_AGAIN)
		m0_rpc__target_put(il->ril_target);
	m0_rpc__target_ref(target);
	il->ril_target = target;
	il->ril_flags |= M0_RPC__IF_AGAIN;
	return false;
}

void m0_rpc__request_moved(struct m0_rpc__machine *m, struct m0_rpc_item *item,
			   struct m0_rpc__came *came)
{
	struct m0_rpc__item   *il = m0_rpc__il(item);
	struct m0_rpc__target *target = il->ril_target;

	M0_PRE_EX(m0_rpc__is_here(m));
	/* The first request, which comes late, does not change the address. */
	if (!(came->rca_item.rwi_flags & M0_RPC_WIRE_DUP) || target == NULL ||
	    target->trg_key.trk_ep == came->rca_ep ||
	    m0_rpc__came_target(m, came) == NULL)
		return;
	m0_rpc__target_ref(came->rca_target);
	il->ril_target = came->rca_target;
	__atomic_store_n(&il->ril_tm, came->rca_ep->nep_tm, __ATOMIC_RELAXED);
	m0_rpc__target_put(target);
	if (m0_rpc__bulks_are(&m->rml_bulks))
		m0_rpc__bulks_moved(m, item, came->rca_ep->nep_tm);
}

void m0_rpc__reply_replay(struct m0_rpc__machine *m, struct m0_rpc_item *reply,
			  struct m0_rpc__came *came)
{
	const struct m0_rpc__item *il = m0_rpc__il(reply);

	M0_PRE(came != NULL);
	if ((came->rca_item.rwi_flags & M0_RPC_WIRE_DUP) ||
	    (il->ril_packet == NULL &&
	     !m0_rpc__frm_item_is_cached(&il->ril_frm)))
		m0_rpc__reply_send(m, reply, m0_rpc__came_target(m, came));
}

void m0_rpc__reply_send(struct m0_rpc__machine *m, struct m0_rpc_item *reply,
			struct m0_rpc__target *target)
{
	struct m0_rpc__item *il = m0_rpc__il(reply);

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__item_invariant(reply));
	if (target == NULL || (il->ril_flags & M0_RPC__IF_ENDED))
		return;
	if (m0_rpc__frm_item_is_cached(&il->ril_frm) ||
	    il->ril_packet != NULL) {
		if (il->ril_target == target || !reply_move(reply, target))
			return;
	}
	il->ril_target = target;
	m0_rpc__item_form(m, reply);
}

void m0_rpc__request_done(struct m0_rpc__machine *m,
			  struct m0_rpc_item     *request)
{
	struct m0_rpc__item    *il = m0_rpc__il(request);
	struct m0_rpc__target  *target = il->ril_target;
	struct m0_rpc__client  *client = il->ril_client;
	struct m0_rpc__sstream *stream = il->ril_sstream;

	M0_PRE_EX(il->ril_flags & M0_RPC__IF_EXECUTING);
	M0_PRE_EX(m->rml_server.rsv_executing_nr > 0);
	M0_PRE_EX(il->ril_held_bytes == 0);
	if (il->ril_flags & M0_RPC__IF_IN_DUPS)
		m0_rpc_dups_del(&client->rct_dups, &il->ril_dup);
	il->ril_target = NULL;
	if (stream != NULL)
		stream->rsq_item = NULL;
	--m->rml_server.rsv_executing_nr;
	m0_rpc__state_set(request, M0_RPC_ITEM_REPLIED);
	m0_rpc_item_put(request);
	if (target != NULL)
		m0_rpc__target_put(target);
	if (stream != NULL)
		m0_rpc__ssession_release(stream->rsq_session);
	else
		m0_rpc__client_release(client);
}

/* A status in place of a reply; NULL: no memory. */
static __attribute__((__noinline__)) struct m0_rpc_item *status_item(
	struct m0_rpc__machine *m, int rc)
{
	struct m0_rpc__note *note = m0_rpc__note_new(m, M0_RPC_OP_STATUS, 0);

	if (note == NULL)
		return NULL;
	m0_rpc__item_prepare(m, &note->rno_item);
	m0_rpc__il(&note->rno_item)->ril_re.rre_status = m0_rpc__status(rc);
	return &note->rno_item;
}

static void reply_address(const struct m0_rpc_item *request,
			  struct m0_rpc_item       *reply)
{
	const struct m0_rpc__item *il = m0_rpc__il(request);
	struct m0_rpc__re         *re = &m0_rpc__il(reply)->ril_re;

	M0_PRE_EX(m0_rpc__il(reply)->ril_owner == NULL);
	re->rre_session = il->ril_in_session;
	re->rre_stream = il->ril_in_stream;
	re->rre_xid = il->ril_xid;
	reply->ri_prio = request->ri_prio;
}

/* Keep and send the reply of a stream's request; the next may begin. */
static __attribute__((__noinline__)) void stream_finish(
	struct m0_rpc__machine *m, struct m0_rpc_item *request,
	struct m0_rpc_item *reply, int rc)
{
	struct m0_rpc__item     *il = m0_rpc__il(request);
	struct m0_rpc__sstream  *stream = il->ril_sstream;
	struct m0_rpc__ssession *s = stream->rsq_session;
	m0_bcount_t              bytes = 0;

	M0_PRE_EX(m0_rpc__sstream_invariant(stream));
	M0_PRE_EX(stream->rsq_item == request);
	if (reply != NULL) {
		bytes = sizeof *reply + m0_rpc__il(reply)->ril_payload;
		m0_rpc__il(reply)->ril_flags |= M0_RPC__IF_KEPT;
	}
	/* After its client was fenced, the reply goes nowhere. */
	m0_rpc_sstream_executed(&stream->rsq_core, il->ril_xid, reply, bytes,
				rc);
	if (reply != NULL && !s->rsw_gone)
		m0_rpc__reply_send(m, reply, il->ril_target);
	++s->rsw_refs;
	m0_rpc__request_done(m, request);
	if (!s->rsw_gone)
		m0_rpc__sstream_run(m, stream);
	m0_rpc__ssession_release(s);
}

void m0_rpc__request_finish(struct m0_rpc__machine *m,
			    struct m0_rpc_item     *request,
			    struct m0_rpc_item *reply, int rc)
{
	struct m0_rpc__item *il = m0_rpc__il(request);

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(il->ril_flags & M0_RPC__IF_EXECUTING);
	if (reply == NULL)
		reply = status_item(m, rc);
	if (reply != NULL)
		reply_address(request, reply);
	if (il->ril_sstream != NULL) {
		stream_finish(m, request, reply, rc);
		return;
	}
	if (reply != NULL &&
	    (il->ril_client->rct_gone || il->ril_target == NULL)) {
		m0_rpc__item_end(reply, -ESTALE, NULL);
	} else if (reply != NULL &&
		   M0_UNLIKELY(m0_rpc__is_crowded(m, il->ril_target))) {
		/* The host does not read its answers; a client that waits for
		 * this one asks again. */
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		m0_rpc__item_end(reply, -ENOBUFS, NULL);
	} else if (reply != NULL)
		m0_rpc__reply_send(m, reply, il->ril_target);
	m0_rpc__request_done(m, request);
}

static void reply_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__item *il =
		container_of(call, struct m0_rpc__item, ril_call);

	M0_PRE_EX(m0_rpc__is_here(m));
	m0_rpc__request_answered(m, il->ril_re.rre_request,
				 m0_rpc__item_of(il));
}

static void status_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__item *il =
		container_of(call, struct m0_rpc__item, ril_call);

	M0_PRE(m0_rpc__is_here(m));
	m0_rpc__request_finish(m, m0_rpc__item_of(il), NULL, il->ril_status);
}

static void answered_set(struct m0_rpc__machine *m, struct m0_rpc_item *request)
{
	uint32_t *flags = &m0_rpc__il(request)->ril_flags;
	uint32_t  was;

	/* Other threads change nothing but this one. */
	if (m0_rpc__is_here(m)) {
		was = __atomic_load_n(flags, __ATOMIC_RELAXED);
		__atomic_store_n(flags, was | M0_RPC__IF_ANSWERED,
				 __ATOMIC_RELAXED);
	} else {
		was = __atomic_fetch_or(flags, M0_RPC__IF_ANSWERED,
					__ATOMIC_RELAXED);
	}
	M0_PRE(!(was & M0_RPC__IF_ANSWERED));
}

/*
 * There is no memory for a status: try again when the request ends. In a
 * transaction its absence says so, and nothing changes.
 */
static void answer_later(struct m0_rpc__machine *m, struct m0_rpc_item *request,
			 int rc)
{
	struct m0_rpc__item *il = m0_rpc__il(request);

	answered_set(m, request);
	if (il->ril_job != NULL) {
		il->ril_status = -ENOMEM;
		return;
	}
	if (m0_rpc__is_here(m) && il->ril_sstream == NULL) {
		m0_rpc__request_finish(m, request, NULL, rc);
		return;
	}
	il->ril_status = rc;
	il->ril_call.rcl_run = status_run;
	rc = m0_rpc__call_push(m, &il->ril_call);
	M0_ASSERT_INFO(rc == 0, "requests are waited for by stop");
}

/* The reply is prepared; any thread. */
static void answer(struct m0_rpc__machine *m, struct m0_rpc_item *request,
		   struct m0_rpc_item *reply)
{
	struct m0_rpc__item *il = m0_rpc__il(request);
	int                  rc;

	answered_set(m, request);
	if (il->ril_job != NULL) {
		il->ril_answer = reply;
		return;
	}
	/* The requests that follow in a stream call handlers. */
	if (m0_rpc__is_here(m) && il->ril_sstream == NULL) {
		m0_rpc__request_finish(m, request, reply, 0);
		return;
	}
	m0_rpc__il(reply)->ril_re.rre_request = request;
	m0_rpc__il(reply)->ril_call.rcl_run = reply_run;
	rc = m0_rpc__call_push(m, &m0_rpc__il(reply)->ril_call);
	M0_ASSERT_INFO(rc == 0, "requests are waited for by stop");
}

void m0_rpc_reply_rc(struct m0_rpc_item *request, int rc)
{
	struct m0_rpc__machine *m = request->ri_rmachine->rm_lib;
	struct m0_rpc_item     *reply = status_item(m, rc);

	M0_PRE(request->ri_state == M0_RPC_ITEM_ACCEPTED);
	if (reply == NULL)
		answer_later(m, request, rc);
	else
		answer(m, request, reply);
}

void m0_rpc_reply_undo(struct m0_rpc_item *request, int rc)
{
	M0_PRE(request->ri_state == M0_RPC_ITEM_ACCEPTED);
	M0_PRE(m0_rpc__il(request)->ril_job != NULL);
	M0_PRE(rc < 0);
	m0_rpc__il(request)->ril_status = m0_rpc__status(rc);
	answered_set(request->ri_rmachine->rm_lib, request);
}

/* Fails the request. In a transaction this undoes it: no update is kept whose result
 * cannot be reported. */
static void too_large(struct m0_rpc_item *request)
{
	if (m0_rpc__il(request)->ril_job == NULL)
		m0_rpc_reply_rc(request, -EMSGSIZE);
	else
		m0_rpc_reply_undo(request, -EMSGSIZE);
}

void m0_rpc_reply_post(struct m0_rpc_item *request, struct m0_rpc_item *reply)
{
	struct m0_rpc__machine      *m = request->ri_rmachine->rm_lib;
	struct m0_rpc__item         *il = m0_rpc__il(reply);
	const struct m0_rpc__client *client = m0_rpc__il(request)->ril_client;
	m0_bcount_t                  max = min64u(m->rml_sender.rsn_msg_size,
						  __atomic_load_n(&client->rct_packet_max,
								  __ATOMIC_RELAXED));

	M0_PRE(request->ri_state == M0_RPC_ITEM_ACCEPTED);
	M0_PRE(reply->ri_state == M0_RPC_ITEM_INITIALISED);
	M0_PRE(reply->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REPLY);
	il->ril_payload = reply->ri_type->rit_ops->rito_payload_size(reply);
	if (m0_rpc__wire_item_size(il->ril_payload) >
	    max - M0_RPC_WIRE_PACKET_BYTES) {
		m0_rpc_item_put(reply);
		too_large(request);
		return;
	}
	m0_rpc__item_prepare(m, reply);
	if (reply->ri_group != NULL)
		m0_rpc__group_posted(reply->ri_group);
	il->ril_re.rre_status = 0;
	answer(m, request, reply);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Replies that come to what was posted here.
 */
#include "rpc/rpc_internal.h"

/* A status without a body. */
static struct m0_rpc_item *status_reply(struct m0_rpc__machine *m, int32_t rc)
{
	struct m0_rpc__note *note = m0_rpc__note_new(m, M0_RPC_OP_STATUS, 0);

	M0_PRE(m0_rpc__is_here(m));
	if (note == NULL)
		return NULL;
	note->rno_item.ri_error = rc;
	return &note->rno_item;
}

/* The item of a reply that came, or why there is none. */
static int reply_decode(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			struct m0_rpc_item **ret)
{
	const struct m0_rpc_item_type *type;
	int                            rc;

	if (came->rca_item.rwi_opcode == M0_RPC_OP_STATUS) {
		*ret = status_reply(m, came->rca_item.rwi_status);
		return *ret == NULL ? -ENOMEM : 0;
	}
	type = m0_rpc_item_type_lookup(came->rca_item.rwi_opcode);
	if (type == NULL || !(type->rit_flags & M0_RPC_ITEM_TYPE_REPLY) ||
	    type->rit_ops->rito_decode == NULL)
		return -EPROTO;
	rc = m0_rpc__came_decode(m, came, type, ret);
	if (rc == 0) {
		(*ret)->ri_error = came->rca_item.rwi_status;
		m0_rpc__il(*ret)->ril_tm = came->rca_ep->nep_tm;
	}
	return rc;
}

/* Take the note out of its session first: the callback may end the session. */
static void note_answered(struct m0_rpc__note       *note,
			  const struct m0_rpc__came *came)
{
	void (*done)(struct m0_rpc__note *, int, const void *, m0_bcount_t) =
		note->rno_done;

	M0_PRE(m0_rpc__is_note(&note->rno_item));
	note->rno_done = NULL;
	/* The note has left, even if the event of its packet is still due. */
	if (m0_rpc__item_answered(&note->rno_item))
		m0_rpc__item_end(&note->rno_item, 0, NULL);
	if (done != NULL)
		done(note, came->rca_item.rwi_status, came->rca_body,
		     came->rca_item.rwi_size);
}

/* Replies to what is known by `item`; takes it out of its session. */
static void replied(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		    struct m0_rpc_item *item)
{
	struct m0_rpc_item *reply = NULL;
	int                 rc;

	M0_PRE_EX(m0_rpc__item_invariant(item));
	M0_PRE_EX(!(m0_rpc__il(item)->ril_flags & M0_RPC__IF_ENDED));
	if (item->ri_type->rit_opcode < M0_RPC_OP_USER) {
		note_answered(m0_rpc__note_of(item), came);
		return;
	}
	m0_rpc__pause_forget(&m0_rpc__il(item)->ril_conn->rcx_pause);
	m0_rpc__pause_forget(&m0_rpc__il(item)->ril_session->rsx_pause);
	rc = reply_decode(m, came, &reply);
	if (rc != 0)
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	else
		m0_rpc__state_set(reply, M0_RPC_ITEM_ACCEPTED);
	if (m0_rpc__item_answered(item))
		m0_rpc__item_end(item, rc, reply);
	else if (reply != NULL)
		m0_rpc_item_put(reply);
}

/* Handshakes have one session for all places. */
static bool is_of_place(const struct m0_rpc__session *s,
			const struct m0_rpc_item     *item,
			const struct m0_rpc__came    *came)
{
	const struct m0_rpc__target *target = m0_rpc__il(item)->ril_target;

	return s->rsx_session != NULL ||
	       (target != NULL && target->trg_key.trk_ep == came->rca_ep);
}

/* Handles a status of the server's library, which refuses the request. */
static void refused(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		    struct m0_rpc__session *s)
{
	struct m0_rpc_item *item = NULL;
	int32_t             rc = came->rca_item.rwi_status;

	M0_PRE(m0_rpc__session_invariant(s));
	if (rc >= 0)
		rc = -EPROTO;
	if (rc == -ENOTCONN && s->rsx_session != NULL) {
		m0_rpc__conn_again(s->rsx_conn);
		return;
	}
	if (rc == -ESTALE && s->rsx_session != NULL) {
		m0_rpc__conn_fail(s->rsx_conn, rc);
		return;
	}
	if (came->rca_item.rwi_stream == 0)
		item = m0_rpc__xid_find(s, came->rca_item.rwi_xid);
	if (item != NULL && !is_of_place(s, item, came))
		item = NULL;
	if (item == NULL) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	} else if (item->ri_type->rit_opcode < M0_RPC_OP_USER) {
		came->rca_item.rwi_status = rc;
		replied(m, came, item);
	} else {
		m0_rpc__item_end(item, rc, NULL);
	}
}

static void stream_replied(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			   struct m0_rpc__session *s)
{
	struct m0_rpc__stream *stream;
	struct m0_rpc_citem   *citem;
	uint32_t               nr = came->rca_item.rwi_stream;
	enum m0_rpc_creply     what = M0_RPC_CR_STRAY;

	M0_PRE_EX(m0_rpc__session_invariant(s));
	if (nr <= s->rsx_streams_nr) {
		stream = &s->rsx_streams[nr - 1];
		what = m0_rpc_cstream_replied(&stream->rsy_core,
					      came->rca_item.rwi_xid,
					      m->rml_now, &citem);
		m0_rpc__stream_ready(stream);
	}
	if (what == M0_RPC_CR_STRAY) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	} else if (what == M0_RPC_CR_ITEM) {
		struct m0_rpc_item *item = citem->rci_owner;

		m0_rpc__il(item)->ril_flags &= ~(uint32_t)M0_RPC__IF_IN_STREAM;
		replied(m, came, item);
	}
}

/* Opcodes that a server answers without knowing the client. */
static bool is_of_any_life(const struct m0_rpc__came *came)
{
	return M0_IN(came->rca_item.rwi_opcode,
		     (M0_RPC_OP_REFUSED, M0_RPC_OP_SESSION_TERMINATE_REPLY));
}

/* Does the reply come from the server that was asked, in its present life?
 * Replies come late, too, and may be forged. */
static bool is_from(const struct m0_rpc__session *s,
		    const struct m0_rpc__came    *came)
{
	const struct m0_rpc__conn *conn = s->rsx_conn;
	struct m0_rpc__link       *link;

	M0_PRE_EX(m0_rpc__session_invariant(s));
	if (s->rsx_session == NULL)
		return true;
	link = m0_rpc__link_of(conn, came->rca_ep);
	if (link == NULL || (conn->rcx_conn->c_server_incarnation !=
				     came->rca_packet.rwp_incarnation &&
			     !is_of_any_life(came)))
		return false;
	link->lnk_info.lki_heard = s->rsx_machine->rml_now;
	return true;
}

void m0_rpc__came_reply(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	struct m0_rpc__session *s =
		m0_rpc__session_find(m, came->rca_item.rwi_session);
	struct m0_rpc_item *item;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(came->rca_ep != NULL);
	if (s == NULL || !is_from(s, came)) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		return;
	}
	if (came->rca_item.rwi_opcode == M0_RPC_OP_REFUSED) {
		refused(m, came, s);
	} else if (came->rca_item.rwi_stream != 0) {
		stream_replied(m, came, s);
	} else {
		item = m0_rpc__xid_find(s, came->rca_item.rwi_xid);
		if (item == NULL || !is_of_place(s, item, came))
			M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		else
			replied(m, came, item);
	}
}

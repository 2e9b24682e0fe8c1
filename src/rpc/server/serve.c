/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Requests of peers: from packet to handler. What is of a stream goes through
 * the stream's table, which says what is executed, held, answered again or
 * refused; what is of none through its client's table of what is executed.
 */
#include "rpc/rpc_internal.h"

enum {
	/** Each client may have so many requests without a stream
	 * executed, whatever the others cost. */
	FEW = 16
};

/* ---------------------------------------------------------------- items -- */

/* In place of an item that could not be made: its turn in the stream comes. */
static struct m0_rpc_item *bad_item(struct m0_rpc__machine *m)
{
	struct m0_rpc__note *note = m0_rpc__note_new(m, M0_RPC_OP_STATUS, 0);

	if (note == NULL)
		return NULL;
	note->rno_item.ri_rmachine = m->rml_machine;
	note->rno_item.ri_remote_expires = M0_TIME_NEVER;
	return &note->rno_item;
}

static int request_decode(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			  uint64_t kind, struct m0_rpc_item **ret)
{
	const struct m0_rpc_item_type *type =
		m0_rpc_item_type_lookup(came->rca_item.rwi_opcode);

	if (type == NULL || !(type->rit_flags & kind) ||
	    type->rit_ops->rito_decode == NULL ||
	    type->rit_ops->rito_deliver == NULL)
		return -EOPNOTSUPP;
	if ((type->rit_flags & M0_RPC_ITEM_TYPE_MUTABO) &&
	    came->rca_item.rwi_stream == 0)
		return -EPROTO;
	return m0_rpc__came_decode(m, came, type, ret);
}

/* Set the fields of items that are executed: requests and one-way items. */
static inline void executed_init(struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	il->ril_target = NULL;
	il->ril_xid = 0;
	il->ril_client = NULL;
	il->ril_sstream = NULL;
	il->ril_in_session = 0;
	il->ril_in_ack = 0;
	il->ril_in_stream = 0;
	il->ril_bad = 0;
	il->ril_held_bytes = 0;
	il->ril_answer = NULL;
	il->ril_job = NULL;
	il->ril_status = 0;
}

static void request_fill(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			 struct m0_rpc_item    *item,
			 struct m0_rpc__client *client)
{
	struct m0_rpc__target *target = m0_rpc__came_target(m, came);
	struct m0_rpc__item   *il = m0_rpc__il(item);

	M0_PRE_EX(m0_rpc__client_invariant(client));
	executed_init(item);
	il->ril_client = client;
	il->ril_in_session = came->rca_item.rwi_session;
	il->ril_in_stream = came->rca_item.rwi_stream;
	il->ril_xid = came->rca_item.rwi_xid;
	il->ril_target = target;
	il->ril_tm = came->rca_ep->nep_tm;
	if (target != NULL)
		m0_rpc__target_ref(target);
	m0_rpc__state_set(item, M0_RPC_ITEM_ACCEPTED);
}

struct m0_uint128 m0_rpc_request_client(const struct m0_rpc_item *request)
{
	M0_PRE(m0_rpc_item_state(request) == M0_RPC_ITEM_ACCEPTED);
	return m0_rpc__il(request)->ril_client->rct_uuid;
}

/* -------------------------------------------------------------- execution -- */

/* Why it is not to be begun; 0: it is. */
static int why_not(struct m0_rpc__machine *m, const struct m0_rpc_item *item,
		   m0_time_t now)
{
	const struct m0_rpc__item *il = m0_rpc__il(item);

	if (il->ril_bad != 0)
		return il->ril_bad;
	if (__atomic_load_n(&il->ril_flags, __ATOMIC_RELAXED) &
	    M0_RPC__IF_UNWANTED)
		return -ECANCELED;
	(void)m;
	return now >= item->ri_remote_expires ? -ETIMEDOUT : 0;
}

static void why_count(struct m0_rpc__machine *m, int rc)
{
	if (rc == -ECANCELED)
		M0_RPC__COUNT(m, rs_nr_cancelled_items, 1);
	else if (rc == -ETIMEDOUT)
		M0_RPC__COUNT(m, rs_nr_expired_items, 1);
	else
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
}

/*
 * To a pool, with a reference of its own. The machine does not end before it is
 * back: also when it was answered, and the handler goes on.
 */
static int hand(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	int rc;

	M0_PRE_EX(item->ri_type->rit_pool != NULL);
	m0_rpc_item_get(item);
	++m->rml_server.rsv_handed_nr;
	rc = m0_rpc__pool_hand(item->ri_type->rit_pool, m->rml_machine, item);
	if (rc != 0) {
		--m->rml_server.rsv_handed_nr;
		m0_rpc_item_put(item);
	}
	return rc;
}

static void execute(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item           *il = m0_rpc__il(item);
	const struct m0_rpc_item_type *type = item->ri_type;
	int                            rc = why_not(m, item, m->rml_now);

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(!(il->ril_flags & M0_RPC__IF_EXECUTING));
	M0_PRE_EX(il->ril_client != NULL);
	il->ril_flags |= M0_RPC__IF_EXECUTING;
	++m->rml_server.rsv_executing_nr;
	if (il->ril_sstream != NULL) {
		m0_rpc__held_end(il);
		++il->ril_sstream->rsq_session->rsw_refs;
		il->ril_sstream->rsq_item = item;
		/* For its record, which another thread may make. */
		il->ril_in_ack =
			min64u(il->ril_sstream->rsq_core.rss_ack, il->ril_xid);
	} else {
		++il->ril_client->rct_refs;
	}
	if (rc != 0) {
		why_count(m, rc);
	} else if (type->rit_pool != NULL) {
		rc = hand(m, item);
	} else {
		type->rit_ops->rito_deliver(m->rml_machine, item);
		return;
	}
	if (rc != 0)
		m0_rpc__request_finish(m, item, NULL, rc);
}

bool m0_rpc__begins(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	int rc = why_not(machine->rm_lib, item, m0_time_now());

	if (rc == 0)
		return true;
	/* Counted when it is back. */
	m0_rpc__il(item)->ril_bad = rc;
	if (item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REQUEST)
		m0_rpc_reply_rc(item, rc);
	return false;
}

static void back_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__item *il =
		container_of(call, struct m0_rpc__item, ril_cancel);
	/* A request's may be gone. */
	struct m0_rpc__client *client =
		il->ril_flags & M0_RPC__IF_EXECUTING ? NULL : il->ril_client;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m->rml_server.rsv_handed_nr > 0);
	--m->rml_server.rsv_handed_nr;
	if (il->ril_bad != 0)
		why_count(m, il->ril_bad);
	m0_rpc_item_put(m0_rpc__item_of(il));
	if (client != NULL) {
		--client->rct_oneways_nr;
		m0_rpc__client_release(client);
	}
}

void m0_rpc__handed_back(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);
	int                  rc;

	/* Its answer may be in the inbox still, by ril_call. */
	il->ril_cancel.rcl_run = back_run;
	rc = m0_rpc__call_push(machine->rm_lib, &il->ril_cancel);
	M0_ASSERT_INFO(rc == 0,
		       "stop waits for everything that was handed out");
}

/* --------------------------------------------------------------- streams -- */

static void status_send(struct m0_rpc__machine       *m,
			struct m0_rpc__target        *target,
			const struct m0_rpc__sstream *stream, uint64_t xid,
			enum m0_rpc_wire_op op, int rc)
{
	struct m0_rpc_wire_item to = {
		.rwi_session = stream->rsq_session->rsw_id,
		.rwi_stream = stream->rsq_nr,
		.rwi_xid = xid,
	};

	m0_rpc__refuse(m, target, &to, op, rc);
}

/* Something of a stream is answered, and there is nothing to answer from. */
static struct m0_rpc__target *stream_target(struct m0_rpc__machine *m,
					    struct m0_rpc__came    *came)
{
	return came != NULL ? m0_rpc__came_target(m, came) : NULL;
}

static bool stream_does(struct m0_rpc__machine *m,
			struct m0_rpc__sstream *stream,
			struct m0_rpc__came *came, enum m0_rpc_saction what,
			const struct m0_rpc_sanswer *ans)
{
	switch (what) {
	case M0_RPC_SA_EXECUTE:
		execute(m, ans->rsa_body);
		return true;
	case M0_RPC_SA_SKIPPED:
		/* One that came before its turn: the client asks again. */
		status_send(m, stream_target(m, came), stream, ans->rsa_xid,
			    M0_RPC_OP_STATUS, ans->rsa_rc);
		return true;
	case M0_RPC_SA_REPLAY:
		M0_RPC__COUNT(m, rs_nr_replayed_items, 1);
		if (ans->rsa_reply != NULL)
			m0_rpc__reply_replay(m, ans->rsa_reply, came);
		else
			status_send(m, stream_target(m, came), stream,
				    ans->rsa_xid, M0_RPC_OP_STATUS,
				    ans->rsa_rc);
		return false;
	case M0_RPC_SA_REFUSE:
		M0_ASSERT(came != NULL);
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		status_send(m, stream_target(m, came), stream,
			    came->rca_item.rwi_xid, M0_RPC_OP_REFUSED,
			    ans->rsa_rc);
		return false;
	default:
		return false;
	}
}

void m0_rpc__sstream_run(struct m0_rpc__machine *m,
			 struct m0_rpc__sstream *stream)
{
	struct m0_rpc__ssession *s = stream->rsq_session;
	struct m0_rpc_sanswer    ans;
	enum m0_rpc_saction      what;

	M0_PRE_EX(m0_rpc__is_here(m));
	M0_PRE_EX(m0_rpc__sstream_invariant(stream));
	/* Requests that are answered without a handler finish in here, as many
	 * as are held: one after the other, not one inside the other. */
	if (stream->rsq_runs)
		return;
	stream->rsq_runs = true;
	++s->rsw_refs;
	while (!s->rsw_gone &&
	       (what = m0_rpc_sstream_next(&stream->rsq_core, &ans)) !=
		       M0_RPC_SA_NONE)
		(void)stream_does(m, stream, NULL, what, &ans);
	stream->rsq_runs = false;
	m0_rpc__ssession_release(s);
}

/* Its sender has given it up: it need not begin, nor its bulk begin anew. */
static void unwanted_set(struct m0_rpc__item *il)
{
	M0_PRE_EX(il->ril_client != NULL);
	__atomic_fetch_or(&il->ril_flags, M0_RPC__IF_UNWANTED,
			  __ATOMIC_RELAXED);
}

/* Return the request that waits for its turn or is being executed; NULL:
 * neither. */
static struct m0_rpc_item *unanswered(const struct m0_rpc__sstream *stream,
				      uint64_t                      xid)
{
	const struct m0_rpc_sstream *core = &stream->rsq_core;

	if (xid == core->rss_running)
		return stream->rsq_item;
	return m0_rpc_sstream_state(core, xid) == M0_RPC_SS_HELD
		       ? core->rss_slot[xid % core->rss_window].rsl_handle
		       : NULL;
}

static void came_again(struct m0_rpc__machine *m,
		       struct m0_rpc__sstream *stream,
		       struct m0_rpc__came    *came)
{
	struct m0_rpc_item *item = unanswered(stream, came->rca_item.rwi_xid);

	M0_PRE_EX(m0_rpc__sstream_invariant(stream));
	if (item == NULL)
		return;
	if (came->rca_item.rwi_flags & M0_RPC_WIRE_SKIP)
		unwanted_set(m0_rpc__il(item));
	m0_rpc__request_moved(m, item, came);
}

/*
 * The first item of a stream that can be accepted. One for which there is no room
 * is answered as if it had been executed and failed: its sender acknowledges that,
 * so that it never will be.
 */
static bool stream_begin(struct m0_rpc__machine *m, struct m0_rpc__ssession *s,
			 struct m0_rpc__came     *came,
			 struct m0_rpc__sstream **ret)
{
	const struct m0_rpc_wire_item *w = &came->rca_item;
	enum m0_rpc_wire_op            op = M0_RPC_OP_REFUSED;
	int rc = m0_rpc_sstream_first(s->rsw_window, w->rwi_xid, w->rwi_ack);

	if (rc == 0) {
		op = M0_RPC_OP_STATUS;
		rc = m0_rpc__sstream_get(s, w->rwi_stream, ret);
	}
	if (rc == 0)
		return true;
	M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	if (rc != -ENOMEM)
		m0_rpc__refuse(m, m0_rpc__came_target(m, came), w, op, rc);
	return false;
}

/* Each item of a packet keeps as much of it as the others. */
static uint32_t share_of(const struct m0_rpc__came *came)
{
	return came->rca_nr / came->rca_packet.rwp_items_nr;
}

/* Returns true if a request has to wait until those before it were executed. */
static bool is_ahead(const struct m0_rpc__sstream  *stream,
		     const struct m0_rpc_wire_item *w)
{
	return w->rwi_xid > stream->rsq_core.rss_last + 1 &&
	       w->rwi_xid > w->rwi_ack &&
	       M0_IN(m0_rpc_sstream_state(&stream->rsq_core, w->rwi_xid),
		     (M0_RPC_SS_AHEAD, M0_RPC_SS_BEYOND));
}

static void came_in_stream(struct m0_rpc__machine  *m,
			   struct m0_rpc__ssession *s,
			   struct m0_rpc__came     *came)
{
	struct m0_rpc_wire_item *w = &came->rca_item;
	struct m0_rpc__sstream  *stream;
	struct m0_rpc_item      *item = NULL;
	struct m0_rpc_sanswer    ans = { .rsa_xid = w->rwi_xid };
	enum m0_rpc_saction      what;
	int                      rc;

	M0_PRE_EX(m0_rpc__ssession_invariant(s));
	if (w->rwi_stream > s->rsw_streams_nr) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		m0_rpc__refuse(m, m0_rpc__came_target(m, came), w,
			       M0_RPC_OP_REFUSED, -EPROTO);
		return;
	}
	stream = s->rsw_streams[w->rwi_stream - 1];
	if (w->rwi_flags & M0_RPC_WIRE_ACK) {
		if (stream == NULL)
			return;
		m0_rpc_sstream_ack(&stream->rsq_core, w->rwi_ack);
		m0_rpc__sstream_run(m, stream);
		return;
	}
	if (stream == NULL && !stream_begin(m, s, came, &stream))
		return;
	if (M0_UNLIKELY(is_ahead(stream, w)) &&
	    !m0_rpc__may_hold(m, s->rsw_client, share_of(came))) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		return;
	}
	if (!(w->rwi_flags & M0_RPC_WIRE_SKIP)) {
		rc = request_decode(m, came, M0_RPC_ITEM_TYPE_REQUEST, &item);
		if (rc != 0)
			item = bad_item(m);
		if (item == NULL)
			return;
		request_fill(m, came, item, s->rsw_client);
		m0_rpc__il(item)->ril_sstream = stream;
		m0_rpc__il(item)->ril_bad = rc;
	}
	++s->rsw_refs;
	what = m0_rpc_sstream_accept(&stream->rsq_core, w->rwi_xid, w->rwi_ack,
				     w->rwi_flags & M0_RPC_WIRE_SKIP, item,
				     &ans);
	(void)stream_does(m, stream, came, what, &ans);
	if (what == M0_RPC_SA_IGNORE)
		came_again(m, stream, came);
	else if (what == M0_RPC_SA_HOLD && item != NULL)
		m0_rpc__hold(m0_rpc__il(item), share_of(came));
	if (what != M0_RPC_SA_EXECUTE && what != M0_RPC_SA_HOLD && item != NULL)
		m0_rpc__request_drop(item);
	m0_rpc__ssession_release(s);
	if (!s->rsw_gone)
		m0_rpc__sstream_run(m, stream);
}

/* ------------------------------------------------------------- of none -- */

static void came_plain(struct m0_rpc__machine *m, struct m0_rpc__client *client,
		       struct m0_rpc__came *came)
{
	struct m0_rpc_item *item = NULL;
	struct m0_rpc_dup  *dup = NULL;
	int                 rc;

	M0_PRE_EX(m0_rpc__client_invariant(client));
	/* The first one is being executed: it will be answered. */
	if (came->rca_item.rwi_flags & M0_RPC_WIRE_DUP)
		dup = m0_rpc_dups_find(&client->rct_dups,
				       came->rca_item.rwi_session,
				       came->rca_item.rwi_xid);
	if (dup != NULL) {
		m0_rpc__request_moved(
			m,
			m0_rpc__item_of(container_of(dup, struct m0_rpc__item,
						     ril_dup)),
			came);
		return;
	}
	if (M0_UNLIKELY(m0_rpc__is_crowded(m, m0_rpc__came_target(m, came)) ||
			(client->rct_dups.rdp_nr >= FEW &&
			 m0_rpc__copies_are_full(m)))) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		return;
	}
	rc = request_decode(m, came, M0_RPC_ITEM_TYPE_REQUEST, &item);
	if (rc != 0) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		m0_rpc__refuse(m, m0_rpc__came_target(m, came), &came->rca_item,
			       M0_RPC_OP_REFUSED, rc);
		return;
	}
	request_fill(m, came, item, client);
	rc = m0_rpc_dups_add(&client->rct_dups, &m0_rpc__il(item)->ril_dup,
			     came->rca_item.rwi_session,
			     came->rca_item.rwi_xid);
	if (rc != 0) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		m0_rpc__request_drop(item);
		return;
	}
	m0_rpc__il(item)->ril_flags |= M0_RPC__IF_IN_DUPS;
	execute(m, item);
}

/* To a pool; so many of a client wait for its threads. */
static int oneway_hand(struct m0_rpc__machine *m, struct m0_rpc__client *client,
		       struct m0_rpc_item *item)
{
	int rc;

	M0_PRE(item->ri_type->rit_pool != NULL);
	if (client->rct_oneways_nr >= m->rml_cfg.rc_executing_max)
		return -EBUSY;
	m0_rpc__il(item)->ril_client = client;
	rc = hand(m, item);
	if (rc == 0) {
		++client->rct_oneways_nr;
		++client->rct_refs;
	}
	return rc;
}

static void came_oneway(struct m0_rpc__machine *m,
			struct m0_rpc__client  *client,
			struct m0_rpc__came    *came)
{
	struct m0_rpc_item *item = NULL;
	int rc = request_decode(m, came, M0_RPC_ITEM_TYPE_ONEWAY, &item);

	if (rc != 0) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		return;
	}
	executed_init(item);
	m0_rpc__state_set(item, M0_RPC_ITEM_ACCEPTED);
	if (item->ri_type->rit_pool == NULL)
		item->ri_type->rit_ops->rito_deliver(m->rml_machine, item);
	else if (oneway_hand(m, client, item) != 0)
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
	m0_rpc_item_put(item);
}

static void came_cancel(struct m0_rpc__client     *client,
			struct m0_rpc__ssession   *s,
			const struct m0_rpc__came *came)
{
	const struct m0_rpc_wire_item *w = &came->rca_item;
	struct m0_rpc__sstream        *stream;
	struct m0_rpc_dup             *dup;
	struct m0_rpc_item            *item = NULL;

	if (w->rwi_stream == 0) {
		dup = m0_rpc_dups_find(&client->rct_dups, w->rwi_session,
				       w->rwi_xid);
		if (dup != NULL)
			item = m0_rpc__item_of(container_of(
				dup, struct m0_rpc__item, ril_dup));
	} else if (w->rwi_stream <= s->rsw_streams_nr) {
		stream = s->rsw_streams[w->rwi_stream - 1];
		item = stream != NULL ? unanswered(stream, w->rwi_xid) : NULL;
	}
	if (item != NULL)
		unwanted_set(m0_rpc__il(item));
}

/* All items of a packet have one sender: look for it once. */
static int came_client(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	int rc;

	if (M0_LIKELY(came->rca_client != NULL))
		return 0;
	rc = m0_rpc__client_find(m, &came->rca_packet, &came->rca_client);
	if (rc == 0)
		m0_rpc__client_received(came->rca_client, came);
	return rc;
}

void m0_rpc__came_request(struct m0_rpc__machine *m, struct m0_rpc__came *came)
{
	const struct m0_rpc_wire_item *w = &came->rca_item;
	int                            rc = came_client(m, came);
	struct m0_rpc__client         *client = came->rca_client;
	struct m0_rpc__ssession       *s = NULL;

	M0_PRE_EX(m0_rpc__is_here(m));
	if (rc == 0 && w->rwi_session != 0) {
		s = m0_rpc__ssession_find(client, w->rwi_session);
		if (s == NULL)
			rc = -ENOTCONN;
	} else if (rc == 0 && !(w->rwi_flags & M0_RPC_WIRE_ONEWAY)) {
		rc = -EPROTO;
	}
	if (rc != 0) {
		M0_RPC__COUNT(m, rs_nr_dropped_items, 1);
		if (w->rwi_flags & M0_RPC_WIRE_REQUEST)
			m0_rpc__refuse(m, m0_rpc__came_target(m, came), w,
				       M0_RPC_OP_REFUSED, rc);
	} else if (w->rwi_flags & M0_RPC_WIRE_CANCEL) {
		if (s != NULL)
			came_cancel(client, s, came);
	} else if (w->rwi_stream != 0 && s != NULL) {
		came_in_stream(m, s, came);
	} else if (w->rwi_flags & M0_RPC_WIRE_ONEWAY) {
		came_oneway(m, client, came);
	} else {
		came_plain(m, client, came);
	}
}

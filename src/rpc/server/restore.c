/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Handshakes of a server whose store outlives it: clients and sessions are in
 * the store before they are answered, and a session that a client resumes is
 * made of what is there, with the replies that were kept.
 *
 * A handshake is then a job: it runs in a transaction, and is finished on the
 * machine when that was committed. Duplicates may run beside it; all that is
 * done can be done twice.
 */
#include "rpc/rpc_internal.h"
#include "rpc/core/record.h"

/* A reply out of the store: an item whose type is its own. */
struct blob {
	struct m0_rpc_item      blb_item;
	struct m0_ref           blb_ref;
	struct m0_rpc_item_type blb_type;
	struct blob            *blb_next;
	uint32_t                blb_stream;
	uint64_t                blb_xid;
	uint64_t                blb_ack;
	int32_t                 blb_rc;
	m0_bcount_t             blb_nr;
	_Alignas(8) uint8_t blb_bytes[];
};

struct m0_rpc__handshake {
	struct m0_rpc_store_job     shk_store;
	struct m0_rpc__call         shk_call;
	struct m0_rpc__machine     *shk_machine;
	struct m0_rpc__came         shk_came;
	struct m0_rpc_session_est   shk_est;
	m0_rpc__handshake_done_t    shk_done;
	enum m0_rpc__handshake_kind shk_kind;
	int32_t                     shk_rc;
	/** The job succeeded and changed nothing. */
	bool shk_has_read;
	/** Records that were found. */
	struct m0_rpc_record_session shk_session;
	struct blob                 *shk_blobs;
};

/* ---------------------------------------------------------------- blobs -- */

static struct blob *blob_of(const struct m0_rpc_item *item)
{
	return container_of(item, struct blob, blb_item);
}

static m0_bcount_t blob_size(const struct m0_rpc_item *item)
{
	return blob_of(item)->blb_nr;
}

static int blob_encode(const struct m0_rpc_item *item, void *bytes,
		       m0_bcount_t nr)
{
	memcpy(bytes, blob_of(item)->blb_bytes, nr);
	return 0;
}

static void blob_get(struct m0_rpc_item *item)
{
	m0_ref_get(&blob_of(item)->blb_ref);
}

static void blob_put(struct m0_rpc_item *item)
{
	m0_ref_put(&blob_of(item)->blb_ref);
}

static void blob_release(struct m0_ref *ref)
{
	struct blob *blob = container_of(ref, struct blob, blb_ref);

	m0_rpc_item_fini(&blob->blb_item);
	m0_free(blob);
}

static const struct m0_rpc_item_type_ops blob_ops = {
	.rito_payload_size = blob_size,
	.rito_encode = blob_encode,
	.rito_item_get = blob_get,
	.rito_item_put = blob_put,
};

static int blob_found(const struct m0_rpc_record_reply *rec, void *arg)
{
	struct m0_rpc__handshake *handshake = arg;
	const uint8_t            *data = rec->rrr_reply.sl_data;
	uint64_t                  opcode;
	struct blob              *blob;
	m0_bcount_t               nr = rec->rrr_reply.sl_nr;

	if (nr < sizeof opcode ||
	    m0_rpc__number_get(&opcode, data, sizeof opcode) != 0)
		return -EPROTO;
	nr -= sizeof opcode;
	blob = m0_alloc(sizeof *blob + nr);
	if (blob == NULL)
		return -ENOMEM;
	blob->blb_type.rit_opcode = (uint32_t)opcode;
	blob->blb_type.rit_ops = &blob_ops;
	blob->blb_type.rit_flags = M0_RPC_ITEM_TYPE_REPLY;
	blob->blb_type.rit_name = "restored";
	blob->blb_stream = rec->rrr_stream;
	blob->blb_xid = rec->rrr_xid;
	blob->blb_ack = rec->rrr_ack;
	blob->blb_rc = rec->rrr_rc;
	blob->blb_nr = nr;
	if (nr > 0)
		memcpy(blob->blb_bytes, data + sizeof opcode, nr);
	m0_ref_init(&blob->blb_ref, 1, blob_release);
	m0_rpc_item_init(&blob->blb_item, &blob->blb_type);
	blob->blb_next = handshake->shk_blobs;
	handshake->shk_blobs = blob;
	return 0;
}

static void blobs_free(struct m0_rpc__handshake *handshake)
{
	struct blob *blob;

	while ((blob = handshake->shk_blobs) != NULL) {
		handshake->shk_blobs = blob->blb_next;
		blob_put(&blob->blb_item);
	}
}

/* Streams for all of them: without one a request would be executed twice. */
static int streams_make(struct m0_rpc__handshake *handshake,
			struct m0_rpc__ssession  *s)
{
	struct m0_rpc__sstream *stream;
	struct blob            *blob;
	int                     rc = 0;

	M0_PRE(m0_rpc__ssession_invariant(s));
	for (blob = handshake->shk_blobs; rc == 0 && blob != NULL;
	     blob = blob->blb_next)
		if (blob->blb_stream >= 1 &&
		    blob->blb_stream <= s->rsw_streams_nr)
			rc = m0_rpc__sstream_get(s, blob->blb_stream, &stream);
	return rc;
}

/* Gives them to the streams of a session that was made for them. */
static void blobs_give(struct m0_rpc__handshake *handshake,
		       struct m0_rpc__ssession  *s)
{
	struct blob *blob;
	uint32_t     i;

	M0_PRE(m0_rpc__ssession_invariant(s));
	while ((blob = handshake->shk_blobs) != NULL) {
		struct m0_rpc__item *il = m0_rpc__il(&blob->blb_item);
		int                  rc = -EPROTO;

		handshake->shk_blobs = blob->blb_next;
		il->ril_payload = blob->blb_nr;
		m0_rpc__item_prepare(handshake->shk_machine, &blob->blb_item);
		il->ril_flags = M0_RPC__IF_KEPT;
		il->ril_re = (struct m0_rpc__re){
			.rre_session = s->rsw_id,
			.rre_stream = blob->blb_stream,
			.rre_xid = blob->blb_xid,
			.rre_status = blob->blb_rc,
		};
		if (blob->blb_stream >= 1 &&
		    blob->blb_stream <= s->rsw_streams_nr)
			rc = m0_rpc_sstream_restore(
				&s->rsw_streams[blob->blb_stream - 1]->rsq_core,
				blob->blb_xid, blob->blb_ack, &blob->blb_item,
				sizeof *blob + blob->blb_nr, blob->blb_rc);
		if (rc != 0)
			m0_rpc__item_end(&blob->blb_item, rc, NULL);
	}
	for (i = 0; i < s->rsw_streams_nr; ++i)
		if (s->rsw_streams[i] != NULL)
			m0_rpc_sstream_restored(&s->rsw_streams[i]->rsq_core);
}

/* ------------------------------------------------------- in transactions -- */

static int client_run(struct m0_rpc__handshake *handshake, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_wire_packet *packet =
		&handshake->shk_came.rca_packet;
	const struct m0_rpc_cfg    *cfg = &handshake->shk_machine->rml_cfg;
	struct m0_rpc_record_client known;
	uint64_t                    now = m0_os_wall_ns();
	int rc = m0_rpc_record_client_get(tx, packet->rwp_sender, &known);

	if (rc == -ENOENT)
		known = (struct m0_rpc_record_client){
			.rrc_uuid = packet->rwp_sender
		};
	else if (rc != 0)
		return rc;
	if (known.rrc_incarnation > packet->rwp_incarnation)
		return -ESTALE;
	if (rc == 0 && known.rrc_incarnation == packet->rwp_incarnation) {
		/* Written now and then, so that it does not expire; and
		 * whenever a sweep may be about to delete it, which looks
		 * whether it has changed. */
		if (now - known.rrc_lived_ns <
		    min64u(cfg->rc_client_keep_ns / 2,
			   cfg->rc_client_idle_ns)) {
			handshake->shk_has_read = true;
			return 0;
		}
	} else if (rc == 0) {
		/* A younger incarnation has no use for the streams of an older
		 * one. */
		rc = m0_rpc_record_client_del(tx, packet->rwp_sender);
		if (rc != 0)
			return rc;
		known.rrc_fences = true;
	}
	known.rrc_incarnation = packet->rwp_incarnation;
	known.rrc_lived_ns = now;
	return m0_rpc_record_client_put(tx, &known);
}

static int resume_run(struct m0_rpc__handshake *handshake, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_wire_packet *packet =
		&handshake->shk_came.rca_packet;
	uint64_t id = handshake->shk_came.rca_item.rwi_session;
	int      rc = m0_rpc_record_session_get(tx, packet->rwp_sender, id,
						&handshake->shk_session);

	if (rc == 0 &&
	    handshake->shk_session.rrs_incarnation != packet->rwp_incarnation)
		rc = -ENOENT;
	rc = rc
		     ?: m0_rpc_record_replies(tx, packet->rwp_sender, id,
					      blob_found, handshake);
	handshake->shk_has_read = rc == 0;
	return rc;
}

static int create_run(struct m0_rpc__handshake *handshake, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_wire_packet *packet =
		&handshake->shk_came.rca_packet;

	return m0_rpc_record_session_put(tx, packet->rwp_sender,
					 &handshake->shk_session);
}

/* Check the incarnation: the machine may not know whose number it is. */
static int drop_run(struct m0_rpc__handshake *handshake, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_wire_packet *packet =
		&handshake->shk_came.rca_packet;
	uint64_t id = handshake->shk_came.rca_item.rwi_session;
	int      rc = m0_rpc_record_session_get(tx, packet->rwp_sender, id,
						&handshake->shk_session);

	if (rc == -ENOENT ||
	    (rc == 0 &&
	     handshake->shk_session.rrs_incarnation != packet->rwp_incarnation))
		return 0;
	return m0_rpc_record_session_del(tx, packet->rwp_sender, id);
}

static int handshake_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct m0_rpc__handshake *handshake =
		container_of(job, struct m0_rpc__handshake, shk_store);

	switch (handshake->shk_kind) {
	case M0_RPC__HANDSHAKE_CLIENT:
		return client_run(handshake, tx);
	case M0_RPC__HANDSHAKE_CREATE:
		return create_run(handshake, tx);
	case M0_RPC__HANDSHAKE_RESUME:
		return resume_run(handshake, tx);
	case M0_RPC__HANDSHAKE_LEAVE:
		return m0_rpc_record_client_leave(
			tx, handshake->shk_came.rca_packet.rwp_sender,
			handshake->shk_came.rca_packet.rwp_incarnation);
	default:
		return drop_run(handshake, tx);
	}
}

/* --------------------------------------------------------------- after -- */

static void handshake_finish(struct m0_rpc__machine *m,
			     struct m0_rpc__call    *call)
{
	struct m0_rpc__handshake *handshake =
		container_of(call, struct m0_rpc__handshake, shk_call);
	struct m0_rpc__came     *came = &handshake->shk_came;
	struct m0_rpc__ssession *s = NULL;
	int                      rc = handshake->shk_rc;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m->rml_server.rsv_handshakes_nr > 0);
	M0_PRE(m->rml_server.rsv_executing_nr > 0);
	came->rca_body = NULL;
	--m->rml_server.rsv_handshakes_nr;
	if (handshake->shk_rc == -ENOSPC)
		m0_rpc__sweep_need(m);
	if (rc == 0 && handshake->shk_kind == M0_RPC__HANDSHAKE_RESUME) {
		rc = m0_rpc__session_restore(m, came, &handshake->shk_est,
					     handshake->shk_session.rrs_streams,
					     handshake->shk_session.rrs_window,
					     &s);
		if (rc == 0 && s != NULL)
			rc = streams_make(handshake, s);
		if (rc == 0 && s != NULL)
			blobs_give(handshake, s);
		else if (s != NULL)
			m0_rpc__ssession_drop(s);
	}
	/* The commit that this job shared has failed, for example because the
	 * disk is full: nothing is known against the client, which asks
	 * again. */
	if (handshake->shk_rc == 0 || !handshake->shk_has_read)
		handshake->shk_done(m, came, handshake->shk_kind, rc);
	blobs_free(handshake);
	--m->rml_server.rsv_executing_nr;
	m0_rpc__target_put(came->rca_target);
	m0_free(handshake);
}

static void handshake_done(struct m0_rpc_store_job *job, int rc)
{
	struct m0_rpc__handshake *handshake =
		container_of(job, struct m0_rpc__handshake, shk_store);
	int pushed;

	handshake->shk_rc = rc;
	handshake->shk_call.rcl_run = handshake_finish;
	pushed =
		m0_rpc__call_push(handshake->shk_machine, &handshake->shk_call);
	M0_ASSERT_INFO(pushed == 0, "stop waits for handshakes");
}

int m0_rpc__handshake(struct m0_rpc__machine *m, struct m0_rpc__came *came,
		      enum m0_rpc__handshake_kind      kind,
		      const struct m0_rpc_session_est *est,
		      const struct m0_rpc__ssession   *session,
		      m0_rpc__handshake_done_t         done)
{
	struct m0_rpc__handshake *handshake;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(done != NULL);
	M0_PRE(!m->rml_jobs.rjb_store_is_own);
	if (m0_rpc__came_target(m, came) == NULL ||
	    m->rml_sender.rsn_notices_nr >= M0_RPC__NOTICES_MAX)
		return -ENOMEM;
	if (m->rml_server.rsv_handshakes_nr >= M0_RPC__HANDSHAKES_MAX)
		return -EAGAIN;
	M0_ALLOC_PTR(handshake);
	if (handshake == NULL)
		return -ENOMEM;
	handshake->shk_store.sj_run = handshake_run;
	handshake->shk_store.sj_done = handshake_done;
	handshake->shk_machine = m;
	handshake->shk_came = *came;
	handshake->shk_kind = kind;
	handshake->shk_done = done;
	if (est != NULL)
		handshake->shk_est = *est;
	if (session != NULL)
		handshake->shk_session = (struct m0_rpc_record_session){
			.rrs_session = session->rsw_id,
			.rrs_incarnation = session->rsw_client->rct_incarnation,
			.rrs_streams = session->rsw_streams_nr,
			.rrs_window = session->rsw_window,
		};
	m0_rpc__target_ref(came->rca_target);
	++m->rml_server.rsv_executing_nr;
	++m->rml_server.rsv_handshakes_nr;
	m0_rpc__store_exec(m, &handshake->shk_store);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Driving of the client's half of update streams (rpc/core/cstream.h). */
#include "rpc/rpc_internal.h"

static void stream_form(struct m0_rpc__stream *stream, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(m0_rpc__stream_invariant(stream));
	M0_PRE_EX(m0_rpc__il(item)->ril_flags & M0_RPC__IF_IN_STREAM);
	if (il->ril_frm.fi_order == 0)
		il->ril_frm.fi_order = ++stream->rsy_order;
	il->ril_frm.fi_stream = &stream->rsy_frm;
	if (il->ril_packet != NULL)
		il->ril_flags |= M0_RPC__IF_AGAIN;
	else if (!m0_rpc__frm_item_is_cached(&il->ril_frm))
		m0_rpc__item_again(stream->rsy_session->rsx_machine, item);
}

void m0_rpc__stream_control(struct m0_rpc__stream *stream)
{
	struct m0_rpc__session *s = stream->rsy_session;

	M0_PRE(m0_rpc__is_here(s->rsx_machine));
	if (stream->rsy_note != NULL)
		return;
	stream->rsy_note = m0_rpc__note_new(s->rsx_machine, M0_RPC_OP_ACK, 0);
	stream->rsy_owes = stream->rsy_note == NULL;
	if (stream->rsy_note == NULL)
		return;
	stream->rsy_note->rno_stream = stream;
	m0_rpc__note_send(stream->rsy_note, s->rsx_conn->rcx_target);
}

static void stream_ends(struct m0_rpc_item *item, int rc)
{
	M0_PRE(rc < 0);
	M0_PRE(m0_rpc__il(item)->ril_flags & M0_RPC__IF_IN_STREAM);
	m0_rpc__il(item)->ril_flags &= ~(uint32_t)M0_RPC__IF_IN_STREAM;
	m0_rpc__item_end(item, rc, NULL);
}

/* False: nothing more. */
static bool stream_step(struct m0_rpc__stream *stream, m0_time_t now)
{
	struct m0_rpc__machine *m = stream->rsy_session->rsx_machine;
	struct m0_rpc_citem    *citem = NULL;
	struct m0_rpc_item     *item;
	enum m0_rpc_ctodo       todo;

	M0_PRE_EX(m0_rpc__stream_invariant(stream));
	todo = m0_rpc_cstream_step(&stream->rsy_core, now, &citem);
	item = citem != NULL ? citem->rci_owner : NULL;
	switch (todo) {
	case M0_RPC_CT_RESEND:
		M0_RPC__COUNT(m, rs_nr_resend_attempts, 1);
		stream_form(stream, item);
		break;
	case M0_RPC_CT_FORM:
		stream_form(stream, item);
		break;
	case M0_RPC_CT_UNFORM:
		m0_rpc__il(item)->ril_flags &= ~(uint32_t)M0_RPC__IF_PARKED;
		(void)m0_rpc__item_unform(item);
		break;
	case M0_RPC_CT_GIVE_UP:
		stream_ends(item, -ETIMEDOUT);
		break;
	case M0_RPC_CT_STALE:
		stream_ends(item, -ESTALE);
		break;
	case M0_RPC_CT_CONTROL:
		m0_rpc__stream_control(stream);
		break;
	default:
		return false;
	}
	return true;
}

void m0_rpc__streams_run(struct m0_rpc__machine *m)
{
	struct m0_rpc__stream *stream;
	struct m0_list_link   *link;

	M0_PRE_EX(m0_rpc__is_here(m));
	while ((link = m0_list_first(&m->rml_conns.rcn_streams)) != NULL) {
		stream = container_of(link, struct m0_rpc__stream,
				      rsy_ready_link);
		m0_list_del(link);
		while (stream_step(stream, m->rml_now))
			;
		m0_rpc__stream_arm(stream);
	}
}

void m0_rpc__stream_timer(struct m0_rpc__machine *m, struct m0_timer *timer)
{
	M0_PRE(m0_rpc__is_here(m));
	(void)m;
	m0_rpc__stream_ready(
		container_of(timer, struct m0_rpc__stream, rsy_timer));
}

static void stream_fini(struct m0_rpc__stream *stream)
{
	struct m0_rpc__machine *m = stream->rsy_session->rsx_machine;

	if (stream->rsy_note != NULL)
		m0_rpc__note_drop(stream->rsy_note);
	if (m0_list_link_is_in(&stream->rsy_ready_link))
		m0_list_del(&stream->rsy_ready_link);
	m0_timerq_cancel(&m->rml_timers.rtm_streams, &stream->rsy_timer);
	m0_timer_fini(&stream->rsy_timer);
	m0_rpc__frm_stream_fini(&stream->rsy_frm);
	m0_rpc_cstream_fini(&stream->rsy_core);
}

int m0_rpc__streams_make(struct m0_rpc__session *s, uint32_t nr,
			 uint32_t window)
{
	struct m0_rpc__machine   *m = s->rsx_machine;
	struct m0_rpc_cstream_cfg cfg = {
		.scc_window_max = window,
		.scc_resend_max_ns = m->rml_cfg.rc_resend_max_ns,
		.scc_skip_ns = m->rml_cfg.rc_resend_ns,
		.scc_ack_ns = m->rml_cfg.rc_resend_ns,
	};
	uint32_t i;
	int      rc = 0;

	M0_PRE(s->rsx_streams == NULL);
	M0_PRE(nr > 0 && window > 0);
	M0_ALLOC_ARR(s->rsx_streams, nr);
	if (s->rsx_streams == NULL)
		return -ENOMEM;
	for (i = 0; i < nr && rc == 0; ++i) {
		struct m0_rpc__stream *stream = &s->rsx_streams[i];

		rc = m0_rpc_cstream_init(&stream->rsy_core, &cfg);
		if (rc != 0)
			break;
		stream->rsy_session = s;
		stream->rsy_nr = i + 1;
		m0_rpc__frm_stream_init(&stream->rsy_frm);
		m0_timer_init(&stream->rsy_timer);
		m0_list_link_init(&stream->rsy_ready_link);
	}
	s->rsx_streams_nr = i;
	s->rsx_window = window;
	return rc;
}

void m0_rpc__streams_fini(struct m0_rpc__session *s)
{
	uint32_t i;

	M0_PRE(m0_rpc__is_here(s->rsx_machine));
	for (i = 0; i < s->rsx_streams_nr; ++i)
		stream_fini(&s->rsx_streams[i]);
}

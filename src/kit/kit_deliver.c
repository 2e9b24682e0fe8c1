/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Delivery of the kit's events: those of a machine's ready buffers, one after
 * the other, with its lock released for each callback.
 */
#include "kit/kit.h"
#include "net/net_event.h"

/* From here on the buffer may be added again. */
static void retire(struct m0_net_kit_machine *m, struct kit_buf *kb)
{
	M0_PRE_EX(kit_is_locked(m));
	/* Its timer is rarely armed, and lies in a part that is rarely used. */
	if (M0_UNLIKELY(m->nkm_timerq.tq_nr > 0) &&
	    m0_timer_is_armed(&kb->kb_timer))
		m0_timerq_cancel(&m->nkm_timerq, &kb->kb_timer);
	kb_state_set(kb, KB_IDLE);
}

/* A worker whose pass began before a time-out may be the one that delivers it. */
static m0_time_t event_time(const struct kit_buf *kb, m0_time_t now)
{
	/* The transport's own limit may have come before nb_timeout. */
	if (M0_UNLIKELY(kb->kb_pub.nkb_buffer->nb_flags & M0_NET_BUF_TIMED_OUT))
		return max64u(now, m0_timer_deadline(&kb->kb_timer));
	return now;
}

/*
 * After the last event of a poll, messages that callbacks have added leave before
 * the run ends, so that a peer that waits for one need not wait for that. Bulk
 * begins when the run ends, and a rider sends then: there all leaves together.
 */
static bool pushes(const struct m0_net_kit_machine *m)
{
	if (m->nkm_ready.kre_events_nr > 0 || !m->nkm_inline ||
	    m->nkm_ride.krd_rider != NULL)
		return false;
	kit_pass()->kp_bulk = m->nkm_bulk.kbl_list.wl_head != NULL;
	return true;
}

static inline __attribute__((always_inline)) void event_deliver(
	struct m0_net_kit_machine *m, const struct m0_net_buffer_event *ev,
	enum m0_net_queue_type qt, bool final)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;
	bool                       push = pushes(m);
	struct m0_net_end_point   *ep;

	M0_PRE_EX(kit_is_locked(m));
	ep = m0_net__event_begin(tm, ev, qt, final);
	m0_net__event_call(ev, qt);
	/* The buffer may be gone now. */
	if (push && !kit_pass()->kp_bulk)
		kit_push(m);
	m0_net__event_end(tm, ep);
}

/* A message, and the buffer goes on. */
static __attribute__((__noinline__)) void part_deliver(
	struct m0_net_kit_machine *m, struct kit_buf *kb,
	const struct m0_net_buffer_event *ev)
{
	/* Serially, also with many workers: not ready while delivered. */
	kb->kb_delivering = true;
	ev->nbe_buffer->nb_flags |= M0_NET_BUF_IN_USE;
	event_deliver(m, ev, M0_NET_QT_MSG_RECV, false);
	kb->kb_delivering = false;
	if (kb->kb_ev_nr > 0)
		kit_ready_add(m, kb);
}

static inline void recv_deliver(struct m0_net_kit_machine *m,
				struct kit_buf *kb, m0_time_t now)
{
	const struct kit_recv_event     *re = kit_recv_event_first(kb);
	const struct m0_net_buffer_event ev = { .nbe_buffer =
							kb->kb_pub.nkb_buffer,
						.nbe_time = event_time(kb, now),
						.nbe_status = re->re_status,
						.nbe_length = re->re_length,
						.nbe_offset = re->re_offset,
						.nbe_ep = re->re_ep };
	bool                             final = re->re_final;

	M0_PRE_EX(kb->kb_ev_nr > 0);
	kit_recv_event_pop(kb);
	if (!final) {
		part_deliver(m, kb, &ev);
		return;
	}
	--m->nkm_tm->ntm_recv_spent_nr;
	retire(m, kb);
	event_deliver(m, &ev, M0_NET_QT_MSG_RECV, true);
}

static __attribute__((__noinline__)) void bulk_deliver(
	struct m0_net_kit_machine *m, const struct m0_net_buffer_event *ev,
	enum m0_net_queue_type qt)
{
	event_deliver(m, ev, qt, true);
}

static inline void done_deliver(struct m0_net_kit_machine *m,
				struct kit_buf *kb, m0_time_t now)
{
	const struct m0_net_buffer_event ev = {
		.nbe_buffer = kb->kb_pub.nkb_buffer,
		.nbe_time = event_time(kb, now),
		.nbe_status = kb->kb_pub.nkb_status,
		.nbe_length = kb->kb_pub.nkb_length
	};
	enum m0_net_queue_type qt = kit_buf_qtype(kb);

	M0_PRE_EX(kb_state(kb_word_get(kb)) == KB_DONE);
	retire(m, kb);
	if (qt == M0_NET_QT_MSG_SEND)
		event_deliver(m, &ev, M0_NET_QT_MSG_SEND, true);
	else
		bulk_deliver(m, &ev, qt);
}

static struct kit_buf *ready_pop(struct m0_net_kit_machine *m)
{
	struct kit_buf *kb = m->nkm_ready.kre_head;

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE_EX(m->nkm_ready.kre_head != NULL);
	M0_PRE_EX(m->nkm_ready.kre_events_nr > 0);
	m->nkm_ready.kre_head = kb->kb_ready_next;
	if (m->nkm_ready.kre_head == NULL)
		m->nkm_ready.kre_tail = NULL;
	else
		kit_event_prefetch(m->nkm_ready.kre_head);
	kb->kb_is_ready = false;
	--m->nkm_ready.kre_events_nr;
	return kb;
}

void kit_deliver(struct m0_net_kit_machine *m)
{
	const struct kit_pass *pass = kit_pass();
	m0_time_t              now = pass->kp_now;
	uint32_t               nr = m->nkm_ready.kre_events_nr;
	struct kit_buf        *kb;

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(pass->kp_depth > 0);
	while (nr-- > 0 && m->nkm_ready.kre_head != NULL) {
		kb = ready_pop(m);
		if (kit_buf_qtype(kb) == M0_NET_QT_MSG_RECV)
			recv_deliver(m, kb, now);
		else
			done_deliver(m, kb, now);
		if (nr % KIT_PUSH_NR == 0)
			kit_pass_push();
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Claims and completions of buffers.
 *
 * nkb_word decides every race. The add stores ARMED with a new generation. A
 * thread that wants to move data claims the buffer: ARMED to CLAIMED. To end a
 * buffer early, a thread that holds the lock of its TM gives it up: ARMED to
 * GIVEN_UP (kit_give_up()). A claimed buffer only gets a note (kb_late), which
 * takes effect if the buffer is unclaimed or goes on to another message.
 * Another thread may still work on a send or an active operation that was given
 * up; that thread then fails to claim it and completes it. The result of nko_cancel
 * distinguishes the cases.
 */
#include "kit/kit.h"

uint64_t m0_net_kit_buf_id(const struct m0_net_kit_buf *kb)
{
	uint64_t word = __atomic_load_n(&kb->nkb_word, __ATOMIC_RELAXED);

	return kb_gen(word) << KB_INDEX_BITS | kb->nkb_index;
}

void kit_timer_arm(struct kit_buf *kb, m0_time_t deadline, int32_t status)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	bool first = deadline < m0_timerq_next(&m->nkm_timerq);

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	kb->kb_timer_status = status;
	m0_timerq_arm(&m->nkm_timerq, &kb->kb_timer, deadline);
	/* The strand sleeps until a deadline that is now too late. */
	if (first && (kit_pass()->kp_machine != m || kit_pass()->kp_visits))
		kit_kick(m);
}

void m0_net_kit_deadline(struct m0_net_kit_buf *pub, m0_time_t deadline,
			 int32_t status)
{
	struct kit_buf    *kb = kit_buf_full(pub);
	enum kit_buf_state state = kb_state(kb_word_get(kb));

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	/* One that is over keeps the time at which it was. */
	if ((state == KB_ARMED || state == KB_CLAIMED) &&
	    deadline < M0_TIME_NEVER &&
	    (!m0_timer_is_armed(&kb->kb_timer) ||
	     deadline < m0_timer_deadline(&kb->kb_timer)))
		kit_timer_arm(kb, deadline, status);
}

/* -------------------------------------------------------------- claims -- */

bool m0_net_kit_claim(struct m0_net_kit_buf *pub)
{
	struct kit_buf *kb = kit_buf_full(pub);
	uint64_t        word = kb_word_get(kb);

	return kb_state(word) == KB_ARMED &&
	       kb_word_cas(kb, word, kb_with_state(word, KB_CLAIMED));
}

int m0_net_kit_claim_id(uint64_t id, enum m0_net_queue_type qtype,
			struct m0_net_kit_buf **ret)
{
	struct kit_buf *kb =
		kit_slot_find((uint32_t)(id & ((1 << KB_INDEX_BITS) - 1)));
	uint64_t armed;
	uint64_t word;

	if (kb == NULL)
		return -ENOENT;
	armed = kb_word(id >> KB_INDEX_BITS, qtype, KB_ARMED);
	word = kb_word_get(kb);
	if (word != armed)
		return kb_gen(word) == kb_gen(armed) &&
				       kb_state(word) == KB_ARMED
			       ? -EPERM
			       : -ENOENT;
	if (!kb_word_cas(kb, armed, kb_with_state(armed, KB_CLAIMED)))
		return -ENOENT;
	*ret = &kb->kb_pub;
	return 0;
}

void m0_net_kit_unclaim(struct m0_net_kit_buf *pub)
{
	struct kit_buf *kb = kit_buf_full(pub);
	uint64_t        armed = kb_with_state(kb_word_get(kb), KB_ARMED);
	int32_t         late;

	__atomic_store_n(&kb->kb_pub.nkb_word, armed, __ATOMIC_SEQ_CST);
	/*
	 * Noted while it was claimed: the machine itself gives it up. The note
	 * stays where it is, for a thread that may have claimed it meanwhile; and if
	 * it was added again, neither the note nor the buffer is ours.
	 */
	late = __atomic_load_n(&kb->kb_late, __ATOMIC_SEQ_CST);
	if (late != 0 &&
	    kb_word_cas(kb, armed, kb_with_state(armed, KB_CLAIMED)))
		m0_net_kit_done(pub, late, 0);
}

bool m0_net_kit_wait(struct m0_net_kit_buf *pub, m0_time_t deadline,
		     int32_t status)
{
	struct kit_buf *kb = kit_buf_full(pub);

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	if (kb_state(kb_word_get(kb)) != KB_ARMED) {
		m0_net_kit_done(pub, 0, 0);
		return false;
	}
	/* The buffer stays armed: ending it takes the lock or its identity. */
	kb->kb_bulk = KIT_BULK_WAITS;
	m0_net_kit_deadline(pub, deadline, status);
	return true;
}

/* ------------------------------------------------------------- endings -- */

void kit_ready_add(struct m0_net_kit_machine *m, struct kit_buf *kb)
{
	M0_PRE_EX(kit_is_locked(m));
	if (kb->kb_is_ready || kb->kb_delivering)
		return;
	kb->kb_is_ready = true;
	kb->kb_ready_next = NULL;
	if (m->nkm_ready.kre_tail != NULL)
		m->nkm_ready.kre_tail->kb_ready_next = kb;
	else
		m->nkm_ready.kre_head = kb;
	m->nkm_ready.kre_tail = kb;
}

static inline void complete(struct kit_buf *kb, int32_t status,
			    m0_bcount_t length)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	kit_event_prefetch(kb);
	kb->kb_pub.nkb_status = status;
	kb->kb_pub.nkb_length = length;
	kb_state_set(kb, KB_DONE);
	++m->nkm_ready.kre_events_nr;
	kit_ready_add(m, kb);
	if (kit_pass()->kp_machine != m)
		kit_kick(m);
}

void kit_complete(struct kit_buf *kb, int32_t status, m0_bcount_t length)
{
	const struct m0_net_kit_ops *ops = kb->kb_pub.nkb_machine->nkm_ops;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	if (kit_buf_qtype(kb) == M0_NET_QT_MSG_SEND && ops->nko_ended != NULL)
		ops->nko_ended(&kb->kb_pub);
	complete(kb, status, length);
}

/* The status of a buffer that is ended now: its reason if it was given up. */
static int32_t end_status(struct kit_buf *kb, int32_t status)
{
	uint64_t word = kb_word_get(kb);

	if (kb_state(word) == KB_ARMED &&
	    kb_word_cas(kb, word, kb_with_state(word, KB_CLAIMED)))
		return status;
	return kb_state(kb_word_get(kb)) == KB_GIVEN_UP
		       ? __atomic_load_n(&kb->kb_reason, __ATOMIC_RELAXED)
		       : status;
}

void m0_net_kit_done(struct m0_net_kit_buf *pub, int32_t status,
		     m0_bcount_t length)
{
	struct kit_buf            *kb = kit_buf_full(pub);
	struct m0_net_kit_machine *m = pub->nkb_machine;

	pub->nkb_status = end_status(kb, status);
	pub->nkb_length = pub->nkb_status == 0 ? length : 0;
	pub->nkb_work.nkw_op = M0_NET_KIT_WORK_DONE;
	if (kit_pass()->kp_machine != m)
		m0_net_kit_post(m, &pub->nkb_work);
	else if (m0_mutex_is_locked(&m->nkm_tm->ntm_mutex))
		kit_complete(kb, pub->nkb_status, pub->nkb_length);
	else
		/* In this thread's run of the machine, which drains them. */
		kit_work_add_tail(&kit_pass()->kp_done, &pub->nkb_work);
}

void m0_net_kit_succeeded(struct m0_net_kit_buf *pub, m0_bcount_t length)
{
	struct kit_buf *kb = kit_buf_full(pub);
	uint64_t        cut = M0_NET_BUF_CANCELLED | M0_NET_BUF_TIMED_OUT;
	uint64_t        word = kb_word_get(kb);
	const struct m0_net_kit_machine *m = pub->nkb_machine;

	M0_PRE_EX(m0_mutex_is_locked(&m->nkm_tm->ntm_mutex));
	if (M0_UNLIKELY(kb_state(word) == KB_GIVEN_UP)) {
		pub->nkb_buffer->nb_flags &= ~cut;
		__atomic_store_n(&kb->kb_reason, 0, __ATOMIC_RELAXED);
	} else if (kb_qtype(word) == M0_NET_QT_MSG_SEND) {
		/*
		 * Claimed by its transport alone, which is here, and given up
		 * under the lock: needs no exchange.
		 */
		if (M0_LIKELY(kit_pass()->kp_machine == m &&
			      m->nkm_ops->nko_ended == NULL)) {
			complete(kb, 0, length);
			return;
		}
		kb_state_set(kb, KB_CLAIMED);
	}
	m0_net_kit_done(pub, 0, length);
}

void kit_work_done(struct m0_net_kit_machine *m, struct m0_net_kit_work *work)
{
	struct kit_buf *kb =
		container_of(work, struct kit_buf, kb_pub.nkb_work);

	M0_ASSERT(kb->kb_pub.nkb_machine == m);
	kit_complete(kb, kb->kb_pub.nkb_status, kb->kb_pub.nkb_length);
}

void kit_done_complete(struct m0_net_kit_machine *m)
{
	struct m0_net_kit_work *work;

	M0_PRE_EX(kit_is_locked(m));
	while ((work = kit_work_pop(&kit_pass()->kp_done)) != NULL)
		kit_work_done(m, work);
}

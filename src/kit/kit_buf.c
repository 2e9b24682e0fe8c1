/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Buffers of the kit: from add to completion; their events are delivered by
 * kit_deliver.c.
 *
 * nkb_word decides every race. add stores ARMED with a new generation. Whoever
 * wants to move data claims: ARMED to CLAIMED, by any thread. Whoever wants to
 * end it early, under its machine's lock, gives it up: ARMED to GIVEN_UP; a
 * claimed one only gets a note (kb_late), honoured if it is unclaimed or goes
 * on to another message. A given-up send or active operation may be in some
 * thread's hands, which then fails to claim it and ends it; nko_cancel tells.
 */
#include "kit/kit.h"
#include "base/probes.h"

static uint64_t word_get(const struct kit_buf *kb)
{
	return __atomic_load_n(&kb->kb_pub.nkb_word, __ATOMIC_SEQ_CST);
}

static bool word_cas(struct kit_buf *kb, uint64_t old, uint64_t new)
{
	return __atomic_compare_exchange_n(&kb->kb_pub.nkb_word, &old, new,
					   false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* -------------------------------------------------------- registration -- */

int m0_net_kit_buf_register(struct m0_net_buffer *buf)
{
	struct kit_domain *kd = buf->nb_dom->nd_xprt_private;
	struct kit_buf    *kb = kit_slot_get(kd->kd_ops->nko_buf_size);

	if (kb == NULL)
		return -ENOMEM;
	kb->kb_pub.nkb_buffer = buf;
	kb->kb_pub.nkb_machine = NULL;
	kb->kb_pub.nkb_size = m0_vec_count(&buf->nb_buffer.ov_vec);
	kb->kb_is_ready = false;
	kb->kb_delivering = false;
	m0_timer_init(&kb->kb_timer);
	m0_list_link_init(&kb->kb_recv_link);
	kb->kb_ev = &kb->kb_ev_one;
	kb->kb_ev_cap = 1;
	buf->nb_xprt_private = kb;
	return 0;
}

void m0_net_kit_buf_deregister(struct m0_net_buffer *buf)
{
	struct kit_buf *kb = kit_buf_of(buf);

	M0_PRE(kb_state(word_get(kb)) == KB_IDLE);
	if (kb->kb_ev != &kb->kb_ev_one)
		m0_free(kb->kb_ev);
	m0_timer_fini(&kb->kb_timer);
	m0_list_link_fini(&kb->kb_recv_link);
	kit_slot_put(kb);
}

struct m0_net_kit_buf *m0_net_kit_buf_of(const struct m0_net_buffer *buf)
{
	return &kit_buf_of(buf)->kb_pub;
}

void *m0_net_kit_buf_pvt(struct m0_net_kit_buf *kb)
{
	return kit_buf_full(kb)->kb_pvt;
}

uint64_t m0_net_kit_buf_id(const struct m0_net_kit_buf *kb)
{
	uint64_t word = __atomic_load_n(&kb->nkb_word, __ATOMIC_RELAXED);

	return kb_gen(word) << KB_INDEX_BITS | kb->nkb_index;
}

/* ------------------------------------------------------------ add, del -- */

static void timer_arm(struct kit_buf *kb, m0_time_t deadline, int32_t status)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	bool first = deadline < m0_timerq_next(&m->nkm_timerq);

	kb->kb_timer_status = status;
	m0_timerq_arm(&m->nkm_timerq, &kb->kb_timer, deadline);
	/* The strand sleeps until a deadline that is now too late. */
	if (first && (kit_pass.kp_machine != m || kit_pass.kp_visits))
		kit_kick(m);
}

void m0_net_kit_deadline(struct m0_net_kit_buf *pub, m0_time_t deadline,
			 int32_t status)
{
	struct kit_buf    *kb = kit_buf_full(pub);
	enum kit_buf_state state = kb_state(word_get(kb));

	/* One that is over keeps the time at which it was. */
	if ((state == KB_ARMED || state == KB_CLAIMED) &&
	    deadline < M0_TIME_NEVER &&
	    (!m0_timer_is_armed(&kb->kb_timer) ||
	     deadline < m0_timer_deadline(&kb->kb_timer)))
		timer_arm(kb, deadline, status);
}

static void arm(struct kit_buf *kb, struct m0_net_buffer *buf,
		enum m0_net_queue_type qt)
{
	uint64_t word = word_get(kb);
	bool     again = buf->nb_flags & M0_NET_BUF_AGAIN;
	/* As many bits as an id has for it. */
	uint64_t gen = (kb_gen(word) + !again) & (UINT64_MAX >> KB_INDEX_BITS);

	M0_PRE(kb_state(word) == KB_IDLE);
	kb->kb_pub.nkb_machine = kit_machine(buf->nb_tm);
	kb->kb_pub.nkb_ep = buf->nb_ep;
	kb->kb_pub.nkb_send_nr = buf->nb_length;
	kb_late_set(kb, 0);
	kb->kb_recv_placing = false;
	kb->kb_bulk = KIT_BULK_NONE;
	__atomic_store_n(&kb->kb_pub.nkb_word, kb_word(gen, qt, KB_ARMED),
			 __ATOMIC_RELEASE);
}

static int send_add(struct kit_buf *kb, struct m0_net_buffer *buf)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;

	m0_probe_msg_send(m0_net__tm_name(m->nkm_tm), buf->nb_ep->nep_addr,
			  buf->nb_length);
	m->nkm_ops->nko_send(&kb->kb_pub);
	return 0;
}

static __attribute__((noinline)) int bulk_add(struct kit_buf        *kb,
					      enum m0_net_queue_type qt)
{
	int rc = 0;

	/* Many use their large buffers in turn, as they registered them. */
	kit_slot_prefetch_next(kb,
			       kb->kb_pub.nkb_machine->nkm_ops->nko_buf_size);
	if (m0_net__qt_is_active(qt))
		kit_active_add(kb);
	else
		rc = kit_passive_add(kb);
	if (rc != 0)
		kb_state_set(kb, KB_IDLE);
	return rc;
}

/* What the queue is for begins. If it fails the buffer is IDLE. */
static inline int begin(struct kit_buf *kb, struct m0_net_buffer *buf,
			enum m0_net_queue_type qt)
{
	if (qt == M0_NET_QT_MSG_RECV)
		return kit_recv_add(kb);
	return qt == M0_NET_QT_MSG_SEND ? send_add(kb, buf) : bulk_add(kb, qt);
}

/* With a time-out. */
static __attribute__((noinline)) int timed_add(struct kit_buf        *kb,
					       struct m0_net_buffer  *buf,
					       enum m0_net_queue_type qt)
{
	struct m0_net_kit_machine *m = kit_machine(buf->nb_tm);
	bool waits = qt == M0_NET_QT_MSG_RECV || m0_net__qt_is_passive(qt);
	int  rc;

	/* Before start only a time-out needs somebody to watch it. */
	rc = m->nkm_running ? 0 : kit_strands_start(m);
	if (rc != 0)
		return rc;
	arm(kb, buf, qt);
	/* Others may be over at once, and these not be taken. */
	if (!waits)
		timer_arm(kb, buf->nb_timeout, -ETIMEDOUT);
	rc = begin(kb, buf, qt);
	if (waits && rc == 0)
		timer_arm(kb, buf->nb_timeout, -ETIMEDOUT);
	return rc;
}

int m0_net_kit_buf_add(struct m0_net_buffer *buf)
{
	struct kit_buf        *kb = kit_buf_of(buf);
	enum m0_net_queue_type qt = buf->nb_qtype;

	if (M0_UNLIKELY(buf->nb_timeout != M0_TIME_NEVER))
		return timed_add(kb, buf, qt);
	arm(kb, buf, qt);
	return begin(kb, buf, qt);
}

void m0_net_kit_buf_del(struct m0_net_buffer *buf)
{
	struct m0_net_kit_machine *m = kit_machine(buf->nb_tm);

	/* A buffer queued before start: somebody must deliver the event. */
	if (!m->nkm_running && kit_strands_start(m) != 0)
		m0_log(M0_LOG_WARN, "net: no thread to deliver a cancellation; "
				    "it follows when the machine starts");
	kit_give_up(kit_buf_of(buf), -ECANCELED);
}

/* -------------------------------------------------------------- claims -- */

bool m0_net_kit_claim(struct m0_net_kit_buf *pub)
{
	struct kit_buf *kb = kit_buf_full(pub);
	uint64_t        word = word_get(kb);

	return kb_state(word) == KB_ARMED &&
	       word_cas(kb, word, kb_with_state(word, KB_CLAIMED));
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
	word = word_get(kb);
	if (word != armed)
		return kb_gen(word) == kb_gen(armed) &&
				       kb_state(word) == KB_ARMED
			       ? -EPERM
			       : -ENOENT;
	if (!word_cas(kb, armed, kb_with_state(armed, KB_CLAIMED)))
		return -ENOENT;
	*ret = &kb->kb_pub;
	return 0;
}

void m0_net_kit_unclaim(struct m0_net_kit_buf *pub)
{
	struct kit_buf *kb = kit_buf_full(pub);
	uint64_t        armed = kb_with_state(word_get(kb), KB_ARMED);
	int32_t         late;

	__atomic_store_n(&kb->kb_pub.nkb_word, armed, __ATOMIC_SEQ_CST);
	/*
	 * Noted while it was claimed: the machine itself gives it up. The note
	 * stays where it is, for whoever may have claimed it meanwhile; and if
	 * it was added again, neither the note nor the buffer is ours.
	 */
	late = __atomic_load_n(&kb->kb_late, __ATOMIC_SEQ_CST);
	if (late != 0 && word_cas(kb, armed, kb_with_state(armed, KB_CLAIMED)))
		m0_net_kit_done(pub, late, 0);
}

bool m0_net_kit_wait(struct m0_net_kit_buf *pub, m0_time_t deadline,
		     int32_t status)
{
	struct kit_buf *kb = kit_buf_full(pub);

	if (kb_state(word_get(kb)) != KB_ARMED) {
		m0_net_kit_done(pub, 0, 0);
		return false;
	}
	/* It stays armed: to give it up takes the lock, or its identity. */
	kb->kb_bulk = KIT_BULK_WAITS;
	m0_net_kit_deadline(pub, deadline, status);
	return true;
}

/* ------------------------------------------------------------- endings -- */

void kit_ready_add(struct m0_net_kit_machine *m, struct kit_buf *kb)
{
	if (kb->kb_is_ready || kb->kb_delivering)
		return;
	kb->kb_is_ready = true;
	kb->kb_ready_next = NULL;
	if (m->nkm_ready_tail != NULL)
		m->nkm_ready_tail->kb_ready_next = kb;
	else
		m->nkm_ready_head = kb;
	m->nkm_ready_tail = kb;
}

static inline void complete(struct kit_buf *kb, int32_t status,
			    m0_bcount_t length)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;

	kit_event_prefetch(kb);
	kb->kb_pub.nkb_status = status;
	kb->kb_pub.nkb_length = length;
	kb_state_set(kb, KB_DONE);
	++m->nkm_events_nr;
	kit_ready_add(m, kb);
	if (kit_pass.kp_machine != m)
		kit_kick(m);
}

void kit_complete(struct kit_buf *kb, int32_t status, m0_bcount_t length)
{
	const struct m0_net_kit_ops *ops = kb->kb_pub.nkb_machine->nkm_ops;

	if (kit_buf_qtype(kb) == M0_NET_QT_MSG_SEND && ops->nko_ended != NULL)
		ops->nko_ended(&kb->kb_pub);
	complete(kb, status, length);
}

static void flags_set(struct kit_buf *kb, int32_t reason)
{
	if (reason == -ECANCELED)
		kb->kb_pub.nkb_buffer->nb_flags |= M0_NET_BUF_CANCELLED;
	else if (reason == -ETIMEDOUT)
		kb->kb_pub.nkb_buffer->nb_flags |= M0_NET_BUF_TIMED_OUT;
}

/* Ends what is given up unless somebody has it in hand. */
static void given_up_end(struct kit_buf *kb, enum m0_net_queue_type qt)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	bool                       free = true;

	if (kb->kb_bulk == KIT_BULK_LISTED) {
		kb->kb_bulk = KIT_BULK_NONE;
		kit_work_del(&m->nkm_bulk, &kb->kb_pub.nkb_work);
		--m->nkm_bulk_nr;
	} else if (!m0_net__qt_is_passive(qt) ||
		   m->nkm_ops->nko_passive != NULL) {
		free = kb->kb_bulk == KIT_BULK_WAITS ||
		       (m->nkm_ops->nko_cancel != NULL &&
			m->nkm_ops->nko_cancel(&kb->kb_pub));
	}
	if (free)
		kit_complete(kb, kb->kb_reason, 0);
}

void kit_give_up(struct kit_buf *kb, int32_t reason)
{
	uint64_t word = word_get(kb);

	if (kb_qtype(word) == M0_NET_QT_MSG_RECV) {
		kit_recv_give_up(kb, reason);
		return;
	}
	while (kb_state(word) == KB_ARMED || kb_state(word) == KB_CLAIMED) {
		if (kb_state(word) == KB_CLAIMED) {
			__atomic_store_n(&kb->kb_late, reason,
					 __ATOMIC_SEQ_CST);
			/* Unless m0_net_kit_unclaim() was just before. */
			word = word_get(kb);
			if (kb_state(word) != KB_ARMED)
				return;
		}
		/* Before the exchange: who fails to claim reads it. */
		__atomic_store_n(&kb->kb_reason, reason, __ATOMIC_RELAXED);
		if (word_cas(kb, word, kb_with_state(word, KB_GIVEN_UP))) {
			flags_set(kb, reason);
			m0_timerq_cancel(&kb->kb_pub.nkb_machine->nkm_timerq,
					 &kb->kb_timer);
			given_up_end(kb, kb_qtype(word));
			return;
		}
		word = word_get(kb);
	}
}

void kit_timers_expire(struct m0_net_kit_machine *m, m0_time_t now)
{
	struct m0_timer *timer;
	struct kit_buf  *kb;

	if (m0_timerq_next(&m->nkm_timerq) > now)
		return;
	while ((timer = m0_timerq_expire(&m->nkm_timerq, now)) != NULL) {
		kb = container_of(timer, struct kit_buf, kb_timer);
		m0_probe_buf_timeout(
			m0_net__tm_name(m->nkm_tm),
			kb->kb_pub.nkb_buffer->nb_nr,
			m0_net__qt_name(kb->kb_pub.nkb_buffer->nb_qtype));
		kit_give_up(kb, kb->kb_timer_status);
	}
}

/* The status of a buffer that is ended now: its reason if it was given up. */
static int32_t end_status(struct kit_buf *kb, int32_t status)
{
	uint64_t word = word_get(kb);

	if (kb_state(word) == KB_ARMED &&
	    word_cas(kb, word, kb_with_state(word, KB_CLAIMED)))
		return status;
	return kb_state(word_get(kb)) == KB_GIVEN_UP
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
	if (kit_pass.kp_machine != m)
		m0_net_kit_post(m, &pub->nkb_work);
	else if (m0_mutex_is_locked(&m->nkm_tm->ntm_mutex))
		kit_complete(kb, pub->nkb_status, pub->nkb_length);
	else
		/* In this thread's run of the machine, which drains them. */
		kit_work_add_tail(&kit_pass.kp_done, &pub->nkb_work);
}

void m0_net_kit_succeeded(struct m0_net_kit_buf *pub, m0_bcount_t length)
{
	struct kit_buf *kb = kit_buf_full(pub);
	uint64_t        cut = M0_NET_BUF_CANCELLED | M0_NET_BUF_TIMED_OUT;
	uint64_t        word = word_get(kb);
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
		if (M0_LIKELY(kit_pass.kp_machine == m &&
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

	while ((work = kit_work_pop(&kit_pass.kp_done)) != NULL)
		kit_work_done(m, work);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Buffers of the kit: registration, add, cancel and time-out. kit_claim.c
 * completes them, and kit_deliver.c delivers their events.
 */
#include "kit/kit.h"
#include "base/probes.h"

/* -------------------------------------------------------- registration -- */

static void buf_fini(struct kit_buf *kb)
{
	if (kb->kb_ev != &kb->kb_ev_one)
		m0_free(kb->kb_ev);
	m0_timer_fini(&kb->kb_timer);
	m0_list_link_fini(&kb->kb_recv_link);
	kit_slot_put(kb);
}

int m0_net_kit_buf_register(struct m0_net_buffer *buf)
{
	struct kit_domain           *kd = buf->nb_dom->nd_xprt_private;
	const struct m0_net_kit_ops *ops = kd->kd_ops;
	struct kit_buf              *kb = kit_slot_get(ops->nko_buf_size);
	int                          rc = 0;

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
	if (ops->nko_place != NULL)
		rc = ops->nko_place->nkp_register(&kb->kb_pub);
	if (rc == 0)
		buf->nb_xprt_private = kb;
	else
		buf_fini(kb);
	return rc;
}

void m0_net_kit_buf_deregister(struct m0_net_buffer *buf)
{
	struct kit_domain           *kd = buf->nb_dom->nd_xprt_private;
	const struct m0_net_kit_ops *ops = kd->kd_ops;
	struct kit_buf              *kb = kit_buf_of(buf);

	M0_PRE(kb_state(kb_word_get(kb)) == KB_IDLE);
	if (ops->nko_place != NULL)
		ops->nko_place->nkp_deregister(&kb->kb_pub);
	buf_fini(kb);
}

struct m0_net_kit_buf *m0_net_kit_buf_of(const struct m0_net_buffer *buf)
{
	return &kit_buf_of(buf)->kb_pub;
}

void *m0_net_kit_buf_pvt(struct m0_net_kit_buf *kb)
{
	return kit_buf_full(kb)->kb_pvt;
}

/* ------------------------------------------------------------ add, del -- */

static void arm(struct kit_buf *kb, struct m0_net_buffer *buf,
		enum m0_net_queue_type qt)
{
	uint64_t word = kb_word_get(kb);
	bool     again = buf->nb_flags & M0_NET_BUF_AGAIN;
	/* As many bits as an id has for it. */
	uint64_t gen = (kb_gen(word) + !again) & (UINT64_MAX >> KB_INDEX_BITS);

	M0_PRE_EX(kit_is_locked(kit_machine(buf->nb_tm)));
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

static __attribute__((__noinline__)) int bulk_add(struct kit_buf        *kb,
						  enum m0_net_queue_type qt)
{
	int rc = 0;

	/* Applications often use large buffers in the order of registration. */
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

/* Starts the operation of the queue. On failure the buffer is IDLE. */
static inline int begin(struct kit_buf *kb, struct m0_net_buffer *buf,
			enum m0_net_queue_type qt)
{
	if (qt == M0_NET_QT_MSG_RECV)
		return kit_recv_add(kb);
	return qt == M0_NET_QT_MSG_SEND ? send_add(kb, buf) : bulk_add(kb, qt);
}

/* With a time-out. */
static __attribute__((__noinline__)) int timed_add(struct kit_buf        *kb,
						   struct m0_net_buffer  *buf,
						   enum m0_net_queue_type qt)
{
	struct m0_net_kit_machine *m = kit_machine(buf->nb_tm);
	bool waits = qt == M0_NET_QT_MSG_RECV || m0_net__qt_is_passive(qt);
	int  rc;

	/* Before start only a time-out needs a strand. */
	rc = m->nkm_strands.kst_running ? 0 : kit_strands_start(m);
	if (rc != 0)
		return rc;
	arm(kb, buf, qt);
	/* Other operations may complete at once, or not be accepted. */
	if (!waits)
		kit_timer_arm(kb, buf->nb_timeout, -ETIMEDOUT);
	rc = begin(kb, buf, qt);
	if (waits && rc == 0)
		kit_timer_arm(kb, buf->nb_timeout, -ETIMEDOUT);
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

	M0_PRE_EX(kit_is_locked(m));
	/* A buffer queued before start needs a strand that delivers its event. */
	if (!m->nkm_strands.kst_running && kit_strands_start(m) != 0)
		m0_log(M0_LOG_WARN, "net: no thread to deliver a cancellation; "
				    "it follows when the machine starts");
	kit_give_up(kit_buf_of(buf), -ECANCELED);
}

/* --------------------------------------------------- cancel, time out -- */

static void flags_set(struct kit_buf *kb, int32_t reason)
{
	if (reason == -ECANCELED)
		kb->kb_pub.nkb_buffer->nb_flags |= M0_NET_BUF_CANCELLED;
	else if (reason == -ETIMEDOUT)
		kb->kb_pub.nkb_buffer->nb_flags |= M0_NET_BUF_TIMED_OUT;
}

/* Completes a buffer given up unless a thread still works on it. */
static void given_up_end(struct kit_buf *kb, enum m0_net_queue_type qt)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	bool                       free = true;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	if (kb->kb_bulk == KIT_BULK_LISTED) {
		kb->kb_bulk = KIT_BULK_NONE;
		kit_work_del(&m->nkm_bulk.kbl_list, &kb->kb_pub.nkb_work);
		--m->nkm_bulk.kbl_nr;
	} else if (!m0_net__qt_is_passive(qt) || m->nkm_place != NULL) {
		free = kb->kb_bulk == KIT_BULK_WAITS ||
		       (m->nkm_ops->nko_cancel != NULL &&
			m->nkm_ops->nko_cancel(&kb->kb_pub));
	}
	if (free)
		kit_complete(kb, kb->kb_reason, 0);
}

void kit_give_up(struct kit_buf *kb, int32_t reason)
{
	uint64_t word = kb_word_get(kb);

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	if (kb_qtype(word) == M0_NET_QT_MSG_RECV) {
		kit_recv_give_up(kb, reason);
		return;
	}
	while (kb_state(word) == KB_ARMED || kb_state(word) == KB_CLAIMED) {
		if (kb_state(word) == KB_CLAIMED) {
			__atomic_store_n(&kb->kb_late, reason,
					 __ATOMIC_SEQ_CST);
			/* Unless m0_net_kit_unclaim() was just before. */
			word = kb_word_get(kb);
			if (kb_state(word) != KB_ARMED)
				return;
		}
		/* Before the exchange: a thread that fails to claim reads it. */
		__atomic_store_n(&kb->kb_reason, reason, __ATOMIC_RELAXED);
		if (kb_word_cas(kb, word, kb_with_state(word, KB_GIVEN_UP))) {
			flags_set(kb, reason);
			m0_timerq_cancel(&kb->kb_pub.nkb_machine->nkm_timerq,
					 &kb->kb_timer);
			given_up_end(kb, kb_qtype(word));
			return;
		}
		word = kb_word_get(kb);
	}
}

void kit_timers_expire(struct m0_net_kit_machine *m, m0_time_t now)
{
	struct m0_timer *timer;
	struct kit_buf  *kb;

	M0_PRE_EX(kit_is_locked(m));
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

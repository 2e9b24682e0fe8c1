/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Receive buffers: which one takes a message, and the events of one that takes
 * several. Everything here happens under the machine's lock; it is released
 * for long copies, and then `nkm_stepping` keeps other messages away.
 *
 * A buffer is on nkm_recvq while it takes messages. It leaves when it is full
 * (fewer than nb_min_receive_size bytes left, or nb_max_receive_msgs taken), or
 * is given up, or got an error: then it is spent, and its final event is the
 * last in its ring. The ring has room for as many events as the buffer can
 * ever have, from the add on.
 */
#include "kit/kit.h"
#include "base/probes.h"

/* Messages, of a byte or more, after which the buffer is surely full. */
static uint32_t recv_max(const struct kit_buf *kb)
{
	const struct m0_net_buffer *buf = kb->kb_pub.nkb_buffer;
	m0_bcount_t room = kb->kb_pub.nkb_size - buf->nb_min_receive_size + 1;

	/* As most have it; room there is. */
	if (M0_LIKELY(buf->nb_max_receive_msgs == 1))
		return 1;
	return (uint32_t)min64u(
		min64u(buf->nb_max_receive_msgs, M0_NET_RECV_MSGS_MAX), room);
}

/* Has the transport place messages in it, if it does such. */
static int place_begin(struct kit_buf *kb)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	int                        rc;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	if (m->nkm_place == NULL)
		return 0;
	rc = m->nkm_place->nkp_recv(&kb->kb_pub);
	kb->kb_recv_placing = rc == 0;
	return rc;
}

static bool staged_take(struct kit_buf *kb);

static struct kit_recv_event *ring_at(struct kit_buf *kb, uint32_t i)
{
	uint32_t at = kb->kb_ev_first + i;

	return &kb->kb_ev[at < kb->kb_ev_cap ? at : at - kb->kb_ev_cap];
}

/* No message follows the last that waits for delivery. */
static void last_is_final(struct kit_buf *kb)
{
	M0_PRE_EX(kb->kb_ev_nr > 0);
	ring_at(kb, kb->kb_ev_nr - 1)->re_final = true;
	kb_state_set(kb, KB_DONE);
	++kb->kb_pub.nkb_machine->nkm_tm->ntm_recv_spent_nr;
}

static __attribute__((__noinline__)) int ring_grow(struct kit_buf *kb)
{
	struct kit_recv_event *ring;

	M0_ALLOC_ARR(ring, kb->kb_recv_max);
	if (ring == NULL)
		return -ENOMEM;
	if (kb->kb_ev != &kb->kb_ev_one)
		m0_free(kb->kb_ev);
	kb->kb_ev = ring;
	kb->kb_ev_cap = kb->kb_recv_max;
	return 0;
}

/* The transport does not take it. */
static __attribute__((__noinline__)) int place_failed(struct kit_buf *kb,
						      int             rc)
{
	m0_list_del(&kb->kb_recv_link);
	if (kb->kb_ev_nr > 0) {
		/* The buffer has a message, and takes no other. */
		last_is_final(kb);
		return 0;
	}
	kb_state_set(kb, KB_IDLE);
	return rc;
}

int kit_recv_add(struct kit_buf *kb)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	int                        rc;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	M0_PRE_EX(kit_buf_qtype(kb) == M0_NET_QT_MSG_RECV);
	kb->kb_recv_max = recv_max(kb);
	if (M0_UNLIKELY(kb->kb_recv_max > kb->kb_ev_cap) &&
	    ring_grow(kb) != 0) {
		kb_state_set(kb, KB_IDLE);
		return -ENOMEM;
	}
	kb->kb_ev_first = 0;
	kb->kb_ev_nr = 0;
	kb->kb_recv_used = 0;
	kb->kb_recv_nr = 0;
	kb->kb_ev_held_nr = 0;
	m0_list_add_tail(&m->nkm_recvq, &kb->kb_recv_link);
	if (M0_UNLIKELY(m->nkm_staged.sg_from != NULL) && staged_take(kb))
		return 0;
	/* kit_recv_open() opens the buffers added before STARTED. */
	if (M0_UNLIKELY(m->nkm_tm->ntm_state != M0_NET_TM_STARTED))
		return 0;
	rc = place_begin(kb);
	return M0_LIKELY(rc == 0) ? 0 : place_failed(kb, rc);
}

struct kit_recv_event *kit_recv_event_first(struct kit_buf *kb)
{
	M0_PRE_EX(kb->kb_ev_nr > 0);
	return &kb->kb_ev[kb->kb_ev_first];
}

void kit_recv_event_pop(struct kit_buf *kb)
{
	M0_PRE_EX(kb->kb_ev_nr > 0);
	kb->kb_ev_first =
		kb->kb_ev_first + 1 == kb->kb_ev_cap ? 0 : kb->kb_ev_first + 1;
	--kb->kb_ev_nr;
}

static void event_push(struct kit_buf *kb, const struct kit_recv_event *re)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	uint32_t                   at = kb->kb_ev_first + kb->kb_ev_nr;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	M0_PRE(kb->kb_ev_nr < kb->kb_ev_cap);
	kb->kb_ev[at < kb->kb_ev_cap ? at : at - kb->kb_ev_cap] = *re;
	++kb->kb_ev_nr;
	++m->nkm_ready.kre_events_nr;
	if (re->re_final) {
		kb_state_set(kb, KB_DONE);
		++m->nkm_tm->ntm_recv_spent_nr;
	}
	kit_ready_add(m, kb);
	if (kit_pass()->kp_machine != m)
		kit_kick(m);
}

static void error_push(struct kit_buf *kb, int32_t status, m0_bcount_t length)
{
	event_push(kb, &(struct kit_recv_event){ .re_status = status,
						 .re_length = length,
						 .re_final = true });
}

/* An event of a message may come first; the flags mean the last. */
static void flags_set(struct kit_buf *kb, int32_t reason)
{
	uint64_t *flags = &kb->kb_pub.nkb_buffer->nb_flags;

	if (kb->kb_ev_nr > 0 || kb->kb_delivering)
		return;
	if (reason == -ETIMEDOUT)
		*flags |= M0_NET_BUF_TIMED_OUT;
	else if (reason == -ECANCELED)
		*flags |= M0_NET_BUF_CANCELLED;
}

/* The transport lets go of it first. */
static void place_end(struct kit_buf *kb, int32_t reason, m0_bcount_t length)
{
	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	M0_PRE(kb->kb_recv_placing);
	if (kb->kb_late != 0)
		return;
	kb_late_set(kb, reason);
	kb->kb_late_nr = length;
	m0_list_del(&kb->kb_recv_link);
	kb->kb_pub.nkb_machine->nkm_place->nkp_recv_cancel(&kb->kb_pub);
}

void kit_recv_give_up(struct kit_buf *kb, int32_t reason)
{
	uint64_t word = __atomic_load_n(&kb->kb_pub.nkb_word, __ATOMIC_RELAXED);

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	if (kb_state(word) == KB_CLAIMED)
		kb_late_set(kb, reason);
	if (kb_state(word) != KB_ARMED)
		return;
	if (kb->kb_recv_placing) {
		place_end(kb, reason, 0);
		return;
	}
	m0_list_del(&kb->kb_recv_link);
	flags_set(kb, reason);
	error_push(kb, reason, 0);
}

bool m0_net_kit_msg_must_wait(const struct m0_net_kit_machine *machine)
{
	return m0_list_is_empty(&machine->nkm_recvq) && machine->nkm_delivers &&
	       machine->nkm_ready.kre_events_nr > 0;
}

/* First buffer with room; NULL: none. */
static struct kit_buf *recv_find(struct m0_net_kit_machine *m, m0_bcount_t nr)
{
	struct m0_list_link *link;
	struct kit_buf      *kb;

	for (link = m0_list_first(&m->nkm_recvq); link != NULL;
	     link = m0_list_next(&m->nkm_recvq, link)) {
		kb = container_of(link, struct kit_buf, kb_recv_link);
		if (kb->kb_pub.nkb_size - kb->kb_recv_used >= nr)
			return kb;
	}
	return NULL;
}

/* A burst may be faster than the replacement of buffers at their events. */
static void recv_provision(struct m0_net_kit_machine *m)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;

	if (tm->ntm_recv_pool == NULL || !m0_list_is_empty(&m->nkm_recvq))
		return;
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__provision_unlocked(tm);
	m0_mutex_lock(&tm->ntm_mutex);
}

static int recv_refuse(struct m0_net_kit_machine *m, m0_bcount_t nr)
{
	struct m0_list_link *link = m0_list_first(&m->nkm_recvq);
	struct kit_buf      *kb;

	M0_PRE_EX(kit_is_locked(m));
	if (link == NULL) {
		++m->nkm_tm->ntm_qstats[M0_NET_QT_MSG_RECV].nqs_num_f_events;
		++m->nkm_enobufs_nr;
		return -ENOBUFS;
	}
	kb = container_of(link, struct kit_buf, kb_recv_link);
	m0_list_del(link);
	error_push(kb, -EMSGSIZE, nr);
	return -EMSGSIZE;
}

static void copy_long(struct kit_buf *kb, const struct m0_bufvec *data,
		      m0_bindex_t offset, m0_bcount_t nr)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	M0_PRE(nr > KIT_COPY_LOCKED);
	m0_list_del(&kb->kb_recv_link);
	kb_state_set(kb, KB_CLAIMED);
	/* A callback of an earlier message may look at the flags. */
	if (!(kb->kb_pub.nkb_buffer->nb_flags & M0_NET_BUF_IN_USE))
		kb->kb_pub.nkb_buffer->nb_flags |= M0_NET_BUF_IN_USE;
	m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
	m0_bufvec_copy_at(&kb->kb_pub.nkb_buffer->nb_buffer, kb->kb_recv_used,
			  data, offset, nr);
	m0_mutex_lock(&m->nkm_tm->ntm_mutex);
	kb_state_set(kb, KB_ARMED);
	m0_list_add(&m->nkm_recvq, &kb->kb_recv_link);
}

static void message_push(struct kit_buf *kb, struct m0_net_end_point *ep,
			 m0_bcount_t nr)
{
	struct kit_recv_event re = { .re_offset = kb->kb_recv_used,
				     .re_length = nr,
				     .re_ep = ep };

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	M0_PRE(ep != NULL);
	kb->kb_recv_used += nr;
	++kb->kb_recv_nr;
	re.re_final = kb->kb_recv_nr == kb->kb_recv_max ||
		      kb->kb_pub.nkb_size - kb->kb_recv_used <
			      kb->kb_pub.nkb_buffer->nb_min_receive_size;
	if (re.re_final)
		m0_list_del(&kb->kb_recv_link);
	event_push(kb, &re);
	/* Noted during the copy. */
	if (kb->kb_late != 0 && !re.re_final)
		kit_recv_give_up(kb, kb->kb_late);
}

static void probe(const struct m0_net_kit_machine *m,
		  const struct m0_net_kit_addr *from, m0_bcount_t nr, int rc)
{
	char text[M0_NET_KIT_ADDR_TEXT];

	m->nkm_ops->nko_addr_print(from, text);
	if (rc == 0)
		m0_probe_msg_deliver(text, m0_net__tm_name(m->nkm_tm), nr);
	else
		m0_probe_msg_drop(text, m0_net__tm_name(m->nkm_tm),
				  m0_errname(rc));
}

int m0_net_kit_msg_in(struct m0_net_kit_machine    *machine,
		      const struct m0_net_kit_addr *from,
		      const struct m0_bufvec *data, m0_bindex_t offset,
		      m0_bcount_t nr)
{
	struct m0_net_end_point *ep;
	struct kit_buf          *kb;
	int                      rc = 0;

	M0_PRE(m0_mutex_is_locked(&machine->nkm_tm->ntm_mutex));
	recv_provision(machine);
	kb = recv_find(machine, nr);
	ep = kb == NULL ? NULL : m0_net_kit_ep_get(machine, from);
	if (kb == NULL)
		rc = recv_refuse(machine, nr);
	else if (ep == NULL)
		rc = -ENOMEM;
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		probe(machine, from, nr, rc);
	if (rc != 0)
		return rc;
	if (nr <= KIT_COPY_LOCKED)
		m0_bufvec_copy_at(&kb->kb_pub.nkb_buffer->nb_buffer,
				  kb->kb_recv_used, data, offset, nr);
	else
		copy_long(kb, data, offset, nr);
	message_push(kb, ep, nr);
	return 0;
}

/* ------------------------------------------- data placed by the transport -- */

void kit_recv_open(struct m0_net_kit_machine *m)
{
	struct m0_list_link *link;
	struct m0_list_link *next;
	struct kit_buf      *kb;
	int                  rc;

	M0_PRE_EX(kit_is_locked(m));
	m0_list_for_each_safe(&m->nkm_recvq, link, next) {
		kb = container_of(link, struct kit_buf, kb_recv_link);
		rc = place_begin(kb);
		if (rc != 0) {
			m0_list_del(link);
			error_push(kb, rc, 0);
		}
	}
}

uint32_t m0_net_kit_recv_max(const struct m0_net_kit_buf *pub)
{
	const struct kit_buf *kb =
		container_of(pub, const struct kit_buf, kb_pub);

	return kb->kb_recv_max - kb->kb_recv_nr;
}

m0_bcount_t m0_net_kit_recv_used(const struct m0_net_kit_buf *pub)
{
	return container_of(pub, const struct kit_buf, kb_pub)->kb_recv_used;
}

/* Held events, by offset. @return the place of one more, to be filled. */
static struct kit_recv_event *held_add(struct kit_buf *kb, m0_bindex_t offset)
{
	uint32_t i = kb->kb_ev_nr + kb->kb_ev_held_nr;

	M0_PRE(i < kb->kb_ev_cap);
	for (; i > kb->kb_ev_nr && ring_at(kb, i - 1)->re_offset > offset; --i)
		*ring_at(kb, i) = *ring_at(kb, i - 1);
	++kb->kb_ev_held_nr;
	return ring_at(kb, i);
}

/* The first of the held ones was no message after all. */
static void held_drop(struct kit_buf *kb)
{
	uint32_t i;

	M0_PRE(kb->kb_ev_held_nr > 0);
	--kb->kb_ev_held_nr;
	for (i = kb->kb_ev_nr; i < kb->kb_ev_nr + kb->kb_ev_held_nr; ++i)
		*ring_at(kb, i) = *ring_at(kb, i + 1);
}

/* Queues one more event: of a message that ends at `end`. */
static void next_report(struct kit_buf *kb, m0_bindex_t end)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;

	M0_PRE(kb->kb_ev_nr < kb->kb_ev_cap);
	kb->kb_recv_used = max64u(kb->kb_recv_used, end);
	++kb->kb_ev_nr;
	++kb->kb_recv_nr;
	++m->nkm_ready.kre_events_nr;
	kit_ready_add(m, kb);
}

/* Lets go those before which nothing is missing. */
static void held_release(struct kit_buf *kb)
{
	struct kit_recv_event *re;

	while (kb->kb_ev_held_nr > 0) {
		re = ring_at(kb, kb->kb_ev_nr);
		if (re->re_offset > kb->kb_recv_used)
			return;
		if (re->re_status != 0) {
			kb->kb_recv_used =
				max64u(kb->kb_recv_used,
				       re->re_offset + re->re_length);
			held_drop(kb);
			continue;
		}
		--kb->kb_ev_held_nr;
		next_report(kb, re->re_offset + re->re_length);
	}
}

static void placed_fill(struct kit_recv_event   *re,
			struct m0_net_end_point *from, m0_bindex_t offset,
			m0_bcount_t nr, int32_t status)
{
	re->re_offset = offset;
	re->re_length = nr;
	re->re_ep = from;
	re->re_status = status;
	re->re_final = false;
}

static void placed_kick(struct m0_net_kit_machine *m)
{
	if (kit_pass()->kp_machine != m)
		kit_kick(m);
}

/* Out of order, or lost: by way of the held ones. */
static __attribute__((__noinline__)) void placed_held(
	struct kit_buf *kb, struct m0_net_end_point *from, m0_bindex_t offset,
	m0_bcount_t nr, int32_t status)
{
	placed_fill(held_add(kb, offset), from, offset, nr, status);
	held_release(kb);
	placed_kick(kb->kb_pub.nkb_machine);
}

static inline __attribute__((always_inline)) void placed(
	struct kit_buf *kb, struct m0_net_end_point *from, m0_bindex_t offset,
	m0_bcount_t nr, int32_t status)
{
	if (M0_UNLIKELY(kb->kb_ev_held_nr > 0 || offset > kb->kb_recv_used ||
			status != 0)) {
		placed_held(kb, from, offset, nr, status);
		return;
	}
	/* Straight, for what was just stored is slow to load. */
	placed_fill(ring_at(kb, kb->kb_ev_nr), from, offset, nr, 0);
	next_report(kb, offset + nr);
	placed_kick(kb->kb_pub.nkb_machine);
}

/* placed() with a probe; a function of its own keeps the frame off placed(). */
static __attribute__((__noinline__)) void placed_report(
	struct kit_buf *kb, struct m0_net_end_point *from, m0_bindex_t offset,
	m0_bcount_t nr, int32_t status)
{
	if (from != NULL)
		m0_probe_msg_deliver(
			from->nep_addr,
			m0_net__tm_name(kb->kb_pub.nkb_machine->nkm_tm), nr);
	placed(kb, from, offset, nr, status);
}

void m0_net_kit_recv_placed(struct m0_net_kit_buf   *pub,
			    struct m0_net_end_point *from, m0_bindex_t offset,
			    m0_bcount_t nr, int32_t status)
{
	struct kit_buf *kb = kit_buf_full(pub);

	M0_PRE_EX(m0_mutex_is_locked(&pub->nkb_machine->nkm_tm->ntm_mutex));
	M0_PRE_EX((from != NULL) == (status == 0));
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		placed_report(kb, from, offset, nr, status);
	else
		placed(kb, from, offset, nr, status);
}

/* Without a message, or with an error; perhaps it is begun anew. */
static __attribute__((__noinline__)) void ended_else(struct kit_buf *kb,
						     int32_t         status)
{
	const struct m0_net_transfer_mc *tm = kb->kb_pub.nkb_machine->nkm_tm;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	/* With 0, there was no memory for those that have sent. */
	if ((status == -EAGAIN || status == 0) && kb->kb_late == 0 &&
	    kb->kb_recv_nr == 0 && tm->ntm_state == M0_NET_TM_STARTED) {
		kb->kb_recv_used = 0;
		status = place_begin(kb);
		if (status == 0)
			return;
	}
	if (kb->kb_late == 0)
		m0_list_del(&kb->kb_recv_link);
	if (kb->kb_late != 0)
		status = kb->kb_late;
	else if (status == 0 || status == -EAGAIN)
		status = -EIO;
	flags_set(kb, kb->kb_late);
	error_push(kb, status, kb->kb_late != 0 ? kb->kb_late_nr : 0);
}

void m0_net_kit_recv_ended(struct m0_net_kit_buf *pub, int32_t status)
{
	struct kit_buf *kb = kit_buf_full(pub);

	M0_PRE_EX(m0_mutex_is_locked(&pub->nkb_machine->nkm_tm->ntm_mutex));
	M0_PRE(kb->kb_ev_held_nr == 0);
	kb->kb_recv_placing = false;
	if (M0_UNLIKELY(status != 0 || kb->kb_ev_nr == 0)) {
		ended_else(kb, status);
		return;
	}
	if (kb->kb_late == 0)
		m0_list_del(&kb->kb_recv_link);
	last_is_final(kb);
}

/* Too long for each of them, however empty? */
static bool recv_too_long(const struct m0_net_kit_machine *m, m0_bcount_t nr)
{
	struct m0_list_link *link;

	m0_list_for_each(&m->nkm_recvq, link) {
		if (container_of(link, struct kit_buf, kb_recv_link)
			    ->kb_pub.nkb_size >= nr)
			return false;
	}
	return !m0_list_is_empty(&m->nkm_recvq);
}

int m0_net_kit_msg_refused(struct m0_net_kit_machine *m, m0_bcount_t nr)
{
	M0_PRE(m0_mutex_is_locked(&m->nkm_tm->ntm_mutex));
	if (recv_too_long(m, nr)) {
		place_end(container_of(m0_list_first(&m->nkm_recvq),
				       struct kit_buf, kb_recv_link),
			  -EMSGSIZE, nr);
		return -EMSGSIZE;
	}
	++m->nkm_tm->ntm_qstats[M0_NET_QT_MSG_RECV].nqs_num_f_events;
	++m->nkm_enobufs_nr;
	return -ENOBUFS;
}

/*
 * The message that waits goes to a buffer just added. True: it is full. Pre:
 * there is one.
 */
static __attribute__((__noinline__)) bool staged_take(struct kit_buf *kb)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	const struct kit_staged   *sg = &m->nkm_staged;
	struct m0_net_end_point   *ep;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	M0_PRE(m->nkm_staged.sg_from != NULL);
	if (sg->sg_nr > kb->kb_pub.nkb_size)
		return false;
	ep = m0_net_kit_ep_get(m, sg->sg_from);
	if (ep == NULL)
		return false;
	m->nkm_tm->ntm_recv_waiting_nr = 0;
	m0_bufvec_copy_at(&kb->kb_pub.nkb_buffer->nb_buffer, 0, sg->sg_data,
			  sg->sg_offset, sg->sg_nr);
	m->nkm_staged.sg_from = NULL;
	message_push(kb, ep, sg->sg_nr);
	return kb_state(kb->kb_pub.nkb_word) == KB_DONE;
}

int m0_net_kit_msg_staged(struct m0_net_kit_machine    *m,
			  const struct m0_net_kit_addr *from,
			  const struct m0_bufvec *data, m0_bindex_t offset,
			  m0_bcount_t nr)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;

	M0_PRE(m0_mutex_is_locked(&tm->ntm_mutex));
	if (tm->ntm_recv_pool == NULL || nr > KIT_COPY_LOCKED)
		return m0_net_kit_msg_refused(m, nr);
	m->nkm_staged = (struct kit_staged){ .sg_from = from,
					     .sg_data = data,
					     .sg_offset = offset,
					     .sg_nr = nr };
	tm->ntm_recv_waiting_nr = 1;
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__provision_unlocked(tm);
	m0_mutex_lock(&tm->ntm_mutex);
	tm->ntm_recv_waiting_nr = 0;
	if (m->nkm_staged.sg_from == NULL)
		return 0;
	m->nkm_staged.sg_from = NULL;
	return m0_net_kit_msg_refused(m, nr);
}

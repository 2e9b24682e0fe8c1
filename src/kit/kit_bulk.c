/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Bulk: descriptors of passive buffers, and active operations handed to the
 * transport by the machine's workers.
 */
#include "kit/kit.h"
#include "base/probes.h"

static uint64_t incarnation;
static uint32_t incarnation_epoch;

uint64_t m0_net_kit_incarnation(void)
{
	uint64_t mine = __atomic_load_n(&incarnation, __ATOMIC_RELAXED);
	uint64_t none = 0;

	/* Changes while nobody else is in the library. */
	if (M0_UNLIKELY(incarnation_epoch != m0_os_epoch())) {
		incarnation_epoch = m0_os_epoch();
		incarnation = mine = 0;
	}
	if (M0_LIKELY(mine != 0))
		return mine;
	m0_os_random(&mine, sizeof mine);
	mine |= 1;
	return __atomic_compare_exchange_n(&incarnation, &none, mine, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED)
		       ? mine
		       : none;
}

/* The identity in the descriptor; of a buffer that is added again, its last. */
static uint64_t passive_id(struct kit_buf *kb)
{
	const struct m0_net_kit_place_ops *place =
		kb->kb_pub.nkb_machine->nkm_place;

	if (place == NULL)
		return m0_net_kit_buf_id(&kb->kb_pub);
	if (!(kb->kb_pub.nkb_buffer->nb_flags & M0_NET_BUF_AGAIN))
		kb->kb_passive_id = place->nkp_passive_id(&kb->kb_pub);
	return kb->kb_passive_id;
}

int kit_passive_add(struct kit_buf *kb)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;
	struct m0_net_buffer      *buf = kb->kb_pub.nkb_buffer;
	struct m0_net_kit_desc     desc;
	int                        rc;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	desc.nks_qtype = buf->nb_qtype;
	desc.nks_id = passive_id(kb);
	desc.nks_size = buf->nb_qtype == M0_NET_QT_PASSIVE_BULK_SEND
				? buf->nb_length
				: kb->kb_pub.nkb_size;
	desc.nks_incarnation = m0_net_kit_incarnation();
	desc.nks_active.nka_len = 0;
	if (buf->nb_ep == NULL) {
		rc = kit_desc_encode_any(&desc, &m->nkm_desc_tail,
					 &buf->nb_desc);
	} else {
		desc.nks_passive = m->nkm_addr;
		desc.nks_active = *m0_net_kit_ep_addr(buf->nb_ep);
		rc = m0_net_kit_desc_encode(&desc, &buf->nb_desc);
	}
	if (rc != 0 || m->nkm_place == NULL)
		return rc;
	desc.nks_passive = m->nkm_addr;
	rc = m->nkm_place->nkp_passive(&kb->kb_pub, &desc);
	if (rc != 0)
		m0_net_desc_free(&buf->nb_desc);
	return rc;
}

void kit_active_add(struct kit_buf *kb)
{
	struct m0_net_kit_machine *m = kb->kb_pub.nkb_machine;

	M0_PRE_EX(kit_is_locked(kb->kb_pub.nkb_machine));
	kb->kb_bulk = KIT_BULK_LISTED;
	kit_work_add_tail(&m->nkm_bulk.kbl_list, &kb->kb_pub.nkb_work);
	++m->nkm_bulk.kbl_nr;
	kit_pass()->kp_bulk = true;
	/* A run of this machine on this thread will see it. */
	if (kit_pass()->kp_machine != m || m->nkm_strands.kst_nr > 1)
		kit_kick(m);
}

/* May this machine do with it what its buffer is queued for? */
static int desc_check(const struct m0_net_kit_machine *m,
		      const struct m0_net_kit_desc    *desc,
		      enum m0_net_queue_type           qt)
{
	uint32_t passive = qt == M0_NET_QT_ACTIVE_BULK_RECV
				   ? M0_NET_QT_PASSIVE_BULK_SEND
				   : M0_NET_QT_PASSIVE_BULK_RECV;

	if (desc->nks_qtype != passive)
		return -EPERM;
	if (desc->nks_active.nka_len > 0 &&
	    !m0_net_kit_addr_eq(&desc->nks_active, &m->nkm_addr))
		return -EACCES;
	return 0;
}

bool m0_net_kit_admits(const struct m0_net_kit_buf  *kb,
		       const struct m0_net_kit_addr *initiator)
{
	return kb->nkb_ep == NULL ||
	       m0_net_kit_addr_eq(m0_net_kit_ep_addr(kb->nkb_ep), initiator);
}

static void probe(const struct m0_net_kit_machine *m,
		  const struct m0_net_buffer      *buf,
		  const struct m0_net_kit_desc *desc, int rc)
{
	char text[M0_NET_KIT_ADDR_TEXT];

	if (rc != 0) {
		m0_probe_desc_refused(m0_net__tm_name(m->nkm_tm),
				      m0_errname(rc));
		return;
	}
	m->nkm_ops->nko_addr_print(&desc->nks_passive, text);
	m0_probe_bulk_start(m0_net__tm_name(m->nkm_tm),
			    m0_net__qt_name(buf->nb_qtype), desc->nks_size,
			    text);
}

static void bulk_begin(struct m0_net_kit_machine *m, struct kit_buf *kb)
{
	struct m0_net_buffer  *buf = kb->kb_pub.nkb_buffer;
	struct m0_net_kit_desc desc;
	int                    rc;

	rc = m0_net_kit_desc_decode(&buf->nb_desc, &desc)
		     ?: desc_check(m, &desc, buf->nb_qtype);
	if (M0_UNLIKELY(m0_probe_sink != NULL))
		probe(m, buf, &desc, rc);
	if (rc == 0)
		m->nkm_ops->nko_bulk(&kb->kb_pub, &desc);
	else
		m0_net_kit_done(&kb->kb_pub, rc, 0);
}

void m0_net_kit_move(struct m0_net_kit_buf *from, struct m0_net_kit_buf *to)
{
	struct kit_moves           *moves = kit_pass()->kp_moves;
	const struct m0_net_buffer *fb = from->nkb_buffer;
	m0_bcount_t                 nr = from->nkb_send_nr;
	struct kit_move            *mv;

	M0_PRE(moves != NULL && moves->ms_nr < KIT_BULK_NR);
	M0_PRE(nr <= to->nkb_size);
	mv = &moves->ms_move[moves->ms_nr++];
	mv->mv_from = from;
	mv->mv_to = to;
	mv->mv_nr = nr;
	mv->mv_src = m0_bufvec_span(&fb->nb_buffer, fb->nb_offset, nr);
	mv->mv_dst = m0_bufvec_span(&to->nkb_buffer->nb_buffer, 0, nr);
}

static void move_make(const struct kit_move *mv)
{
	const struct m0_net_buffer *fb;

	M0_PRE_EX(mv->mv_nr <= mv->mv_to->nkb_size);
	kit_pass()->kp_moved = mv->mv_to;
	if (M0_LIKELY(mv->mv_src != NULL && mv->mv_dst != NULL)) {
		memcpy(mv->mv_dst, mv->mv_src, mv->mv_nr);
		return;
	}
	fb = mv->mv_from->nkb_buffer;
	m0_bufvec_copy_at(&mv->mv_to->nkb_buffer->nb_buffer, 0, &fb->nb_buffer,
			  fb->nb_offset, mv->mv_nr);
}

/*
 * Copied last, and so still in the cache: an application that uses a few large buffers in
 * turn would find none of them there if copies always began with the oldest one.
 */
static bool is_cached(const struct kit_move *mv)
{
	return mv->mv_to == kit_pass()->kp_moved;
}

/* Both lines that an end needs. */
static void end_prefetch(const struct m0_net_kit_buf *kb)
{
	__builtin_prefetch(kb, 1);
	__builtin_prefetch(&kb->nkb_status, 1);
}

/*
 * One after the other, with no locked instruction between them: it would wait
 * until the last byte of the copy before it has reached the memory. Nor is a
 * buffer looked at: the copies have driven it out of the cache, and what ends
 * them is asked for together.
 */
static void moves_make(const struct kit_moves *moves)
{
	const struct kit_move *mv = moves->ms_move;
	size_t                 nr = moves->ms_nr;
	size_t                 i;

	if (nr == 0)
		return;
	if (is_cached(&mv[nr - 1])) {
		for (i = nr; i-- > 0;)
			move_make(&mv[i]);
	} else {
		for (i = 0; i < nr; ++i)
			move_make(&mv[i]);
	}
	for (i = 0; i < nr; ++i) {
		end_prefetch(mv[i].mv_from);
		end_prefetch(mv[i].mv_to);
	}
	for (i = 0; i < nr; ++i) {
		m0_net_kit_done(mv[i].mv_from, 0, mv[i].mv_nr);
		m0_net_kit_done(mv[i].mv_to, 0, mv[i].mv_nr);
	}
}

/* Takes a batch to start. Several workers take one at a time. */
static uint32_t batch_take(struct m0_net_kit_machine *m, uint32_t nr_max,
			   struct kit_buf **ret)
{
	uint32_t max = m->nkm_strands.kst_nr > 1 ? 1 : KIT_BULK_NR;
	struct m0_net_kit_work *work;
	struct kit_buf         *kb;
	m0_bcount_t             bytes = 0;
	uint32_t                nr = 0;

	M0_PRE_EX(kit_is_locked(m));
	while (nr < min64u(nr_max, max) && bytes < KIT_BULK_BYTES &&
	       (work = kit_work_pop(&m->nkm_bulk.kbl_list)) != NULL) {
		--m->nkm_bulk.kbl_nr;
		kb = container_of(work, struct kit_buf, kb_pub.nkb_work);
		kb->kb_bulk = KIT_BULK_NONE;
		/* To give it up takes our lock, so no exchange is needed. */
		if (m->nkm_copy != NULL && m->nkm_copy->nkc_bulk_is_short)
			kb_state_set(kb, KB_CLAIMED);
		kb->kb_pub.nkb_buffer->nb_flags |= M0_NET_BUF_IN_USE;
		bytes += kb->kb_pub.nkb_size;
		ret[nr++] = kb;
	}
	return nr;
}

void kit_bulk_run(struct m0_net_kit_machine *m)
{
	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(kit_pass()->kp_moves == NULL);
	/* Operations that are added meanwhile wait for the next run. */
	uint32_t         left = m->nkm_bulk.kbl_nr;
	struct kit_buf  *batch[KIT_BULK_NR];
	struct kit_moves moves;
	uint32_t         nr;
	uint32_t         i;

	while ((nr = batch_take(m, left, batch)) > 0) {
		left -= nr;
		m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
		moves.ms_nr = 0;
		kit_pass()->kp_moves = &moves;
		for (i = 0; i < nr; ++i)
			bulk_begin(m, batch[i]);
		kit_pass()->kp_moves = NULL;
		moves_make(&moves);
		m0_mutex_lock(&m->nkm_tm->ntm_mutex);
		kit_done_drain(kit_pass(), m);
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Packets that leave. A packet is a registered buffer with memory of its own,
 * in which headers and bodies are encoded once; bodies that types gather become
 * segments between pieces of that memory. When it has left it is used again.
 */
#include "m0/net_xprt.h"
#include "rpc/rpc_internal.h"

/* First and last wait of a packet that was refused, and one that is to end. */
#define REFUSED_MIN_NS M0_TIME_ONE_MSEC
#define REFUSED_MAX_NS (32 * M0_TIME_ONE_MSEC)
#define REFUSED_ENDS   M0_TIME_NEVER

enum {
	/** Segments of a send buffer, if the transport allows more. */
	SEGS_MAX = 64
};

/* ------------------------------------------------------------- buffers -- */

static void packet_free(struct m0_rpc__packet *p)
{
	M0_PRE(!m0_list_link_is_in(&p->rpk_link));
	if (p->rpk_nb.nb_dom != NULL) {
		p->rpk_nb.nb_buffer.ov_vec.v_nr = 1;
		(void)m0_net_buffer_deregister(&p->rpk_nb,
					       p->rpk_machine->rml_dom);
	}
	m0_timer_fini(&p->rpk_pause.rpa_timer);
	m0_free_aligned(p->rpk_memory, p->rpk_machine->rml_sender.rsn_msg_size,
			12);
	m0_free(p->rpk_base);
	m0_free(p->rpk_count);
	m0_free(p->rpk_seg);
	m0_free(p);
}

static void send_cb(const struct m0_net_buffer_event *ev);
static void packet_again(struct m0_rpc__pause *pause);

static const struct m0_net_buffer_callbacks send_callbacks = {
	.nbc_cb[M0_NET_QT_MSG_SEND] = send_cb
};

static struct m0_rpc__packet *packet_new(struct m0_rpc__machine *m)
{
	struct m0_rpc__packet *p;
	int                    rc = -ENOMEM;

	M0_PRE(m->rml_sender.rsn_packets_nr < M0_RPC__PACKETS_MAX);
	M0_ALLOC_PTR(p);
	if (p == NULL)
		return NULL;
	p->rpk_machine = m;
	p->rpk_memory = m0_alloc_aligned(m->rml_sender.rsn_msg_size, 12);
	M0_ALLOC_ARR(p->rpk_base, m->rml_sender.rsn_segs_max);
	M0_ALLOC_ARR(p->rpk_count, m->rml_sender.rsn_segs_max);
	M0_ALLOC_ARR(p->rpk_seg, m->rml_sender.rsn_segs_max);
	m0_list_init(&p->rpk_frm.fpk_items);
	m0_list_link_init(&p->rpk_link);
	m0_rpc__pause_init(&p->rpk_pause, packet_again);
	if (p->rpk_memory != NULL && p->rpk_base != NULL &&
	    p->rpk_count != NULL && p->rpk_seg != NULL) {
		p->rpk_base[0] = p->rpk_memory;
		p->rpk_count[0] = m->rml_sender.rsn_msg_size;
		p->rpk_nb.nb_buffer.ov_vec.v_nr = 1;
		p->rpk_nb.nb_buffer.ov_vec.v_count = p->rpk_count;
		p->rpk_nb.nb_buffer.ov_buf = p->rpk_base;
		p->rpk_nb.nb_qtype = M0_NET_QT_MSG_SEND;
		p->rpk_nb.nb_callbacks = &send_callbacks;
		rc = m0_net_buffer_register(&p->rpk_nb, m->rml_dom);
	}
	if (rc != 0) {
		packet_free(p);
		return NULL;
	}
	++m->rml_sender.rsn_packets_nr;
	return p;
}

static struct m0_rpc__packet *packet_get(struct m0_rpc__machine *m)
{
	struct m0_list_link   *link = m0_list_first(&m->rml_sender.rsn_packets);
	struct m0_rpc__packet *p;

	M0_PRE_EX(m0_rpc__sender_invariant(&m->rml_sender));
	if (link != NULL) {
		p = container_of(link, struct m0_rpc__packet, rpk_link);
		m0_list_del(link);
	} else {
		p = m->rml_sender.rsn_packets_nr < M0_RPC__PACKETS_MAX
			    ? packet_new(m)
			    : NULL;
		if (p == NULL)
			return NULL;
	}
	m0_list_add(&m->rml_sender.rsn_packets_busy, &p->rpk_link);
	++m->rml_sender.rsn_packets_busy_nr;
	p->rpk_segs_nr = 0;
	p->rpk_used = M0_RPC_WIRE_PACKET_BYTES;
	p->rpk_cut = 0;
	p->rpk_target = NULL;
	p->rpk_pause.rpa_ns = REFUSED_MIN_NS;
	return p;
}

static void packet_put(struct m0_rpc__packet *p)
{
	struct m0_rpc__machine *m = p->rpk_machine;

	M0_PRE_EX(m0_rpc__packet_invariant(p));
	M0_PRE_EX(m->rml_sender.rsn_packets_busy_nr > 0);
	/* The memory used last is warm. */
	m0_list_move(&m->rml_sender.rsn_packets, &p->rpk_link);
	--m->rml_sender.rsn_packets_busy_nr;
}

void m0_rpc__packets_fini(struct m0_rpc__machine *m)
{
	struct m0_list_link *link;

	M0_PRE(m->rml_sender.rsn_packets_busy_nr == 0);
	M0_PRE(m0_list_is_empty(&m->rml_sender.rsn_packets_busy));
	while ((link = m0_list_first(&m->rml_sender.rsn_packets)) != NULL) {
		m0_list_del(link);
		packet_free(
			container_of(link, struct m0_rpc__packet, rpk_link));
	}
}

/* ------------------------------------------------------------ encoding -- */

/* Ends the piece of own memory that is open. */
static void piece_cut(struct m0_rpc__packet *p)
{
	M0_PRE_EX(m0_rpc__packet_invariant(p));
	if (p->rpk_used == p->rpk_cut)
		return;
	M0_ASSERT_EX(p->rpk_segs_nr < p->rpk_machine->rml_sender.rsn_segs_max);
	p->rpk_seg[p->rpk_segs_nr].rwg_base = p->rpk_memory + p->rpk_cut;
	p->rpk_seg[p->rpk_segs_nr++].rwg_nr = p->rpk_used - p->rpk_cut;
	p->rpk_cut = p->rpk_used;
}

/* The body by reference; false: it is to be encoded. */
static bool body_gather(struct m0_rpc__packet *p, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);
	void                *base[M0_RPC__GATHER_MAX];
	m0_bcount_t          count[M0_RPC__GATHER_MAX];
	m0_bcount_t          sum = 0;
	uint32_t             max = il->ril_frm.fi_segs_nr;
	uint32_t             nr;
	uint32_t             i;

	if (max == 0)
		return false;
	nr = item->ri_type->rit_ops->rito_gather(item, base, count, max - 1);
	M0_ASSERT(nr > 0 && nr <= max - 1);
	piece_cut(p);
	for (i = 0; i < nr; ++i) {
		p->rpk_seg[p->rpk_segs_nr].rwg_base = base[i];
		p->rpk_seg[p->rpk_segs_nr++].rwg_nr = count[i];
		sum += count[i];
	}
	M0_ASSERT(sum == il->ril_payload);
	il->ril_flags |= M0_RPC__IF_GATHERED;
	return true;
}

static int body_put(struct m0_rpc__packet *p, struct m0_rpc_item *item)
{
	m0_bcount_t nr = m0_rpc__il(item)->ril_payload;
	uint8_t    *at = p->rpk_memory + p->rpk_used;
	int         rc = 0;

	M0_PRE_EX(m0_rpc__packet_invariant(p));
	if (body_gather(p, item)) {
		p->rpk_used += m0_rpc__wire_pad_put(at, nr);
		return 0;
	}
	if (nr > 0)
		rc = item->ri_type->rit_ops->rito_encode(item, at, nr);
	if (rc < 0)
		return rc;
	p->rpk_used += nr + m0_rpc__wire_pad_put(at + nr, nr);
	return 0;
}

static uint32_t remaining_ms(const struct m0_rpc__machine *m, m0_time_t expires)
{
	uint64_t ms;

	if (expires == 0 || expires == M0_TIME_NEVER)
		return 0;
	ms = m0_time_sub(expires, m->rml_now) / M0_TIME_ONE_MSEC;
	return (uint32_t)max64u(1, min64u(ms, UINT32_MAX));
}

static void request_header(struct m0_rpc__machine *m, struct m0_rpc_item *item,
			   struct m0_rpc_wire_item *w)
{
	struct m0_rpc__item   *il = m0_rpc__il(item);
	struct m0_rpc__stream *stream;
	struct m0_rpc_cmark    mark;

	M0_PRE_EX(il->ril_session != NULL);
	M0_PRE_EX(il->ril_owner != NULL);
	w->rwi_session = il->ril_session->rsx_id;
	w->rwi_stream = item->ri_stream;
	w->rwi_remaining_ms = remaining_ms(m, item->ri_expires);
	w->rwi_flags = M0_RPC_WIRE_REQUEST;
	if (item->ri_stream != 0) {
		stream = &il->ril_session->rsx_streams[item->ri_stream - 1];
		m0_rpc_cstream_take(&stream->rsy_core, &il->ril_citem,
				    m->rml_now, &mark);
		m0_rpc__stream_arm(stream);
		w->rwi_xid = mark.rck_xid;
		w->rwi_ack = mark.rck_ack;
		if (mark.rck_dup)
			w->rwi_flags |= M0_RPC_WIRE_DUP;
	} else {
		w->rwi_xid = il->ril_xid;
		if (item->ri_nr_sent > 0)
			w->rwi_flags |= M0_RPC_WIRE_DUP;
	}
}

/* Sets a note of a stream to the stream's current control message. */
static void note_header(struct m0_rpc__machine *m, struct m0_rpc__note *note,
			struct m0_rpc_wire_item *w)
{
	const struct m0_rpc__re *re = &m0_rpc__il(&note->rno_item)->ril_re;
	struct m0_rpc_cmark      mark;

	w->rwi_flags = note->rno_flags;
	w->rwi_session = re->rre_session;
	w->rwi_stream = re->rre_stream;
	w->rwi_xid = re->rre_xid;
	if (note->rno_stream == NULL)
		return;
	m0_rpc_cstream_control(&note->rno_stream->rsy_core, m->rml_now, &mark);
	w->rwi_session = note->rno_stream->rsy_session->rsx_id;
	w->rwi_stream = note->rno_stream->rsy_nr;
	w->rwi_xid = mark.rck_xid;
	w->rwi_ack = mark.rck_ack;
	w->rwi_opcode = mark.rck_skip ? M0_RPC_OP_SKIP : M0_RPC_OP_ACK;
	w->rwi_flags = mark.rck_skip ? M0_RPC_WIRE_REQUEST | M0_RPC_WIRE_SKIP
				     : M0_RPC_WIRE_ONEWAY | M0_RPC_WIRE_ACK;
	if (mark.rck_dup)
		w->rwi_flags |= M0_RPC_WIRE_DUP;
	m0_rpc__stream_arm(note->rno_stream);
	note->rno_stream->rsy_note = NULL;
	note->rno_stream = NULL;
}

static void header_fill(struct m0_rpc__machine *m, struct m0_rpc_item *item,
			struct m0_rpc_wire_item *w)
{
	const struct m0_rpc__item *il = m0_rpc__il(item);
	uint64_t                   flags = item->ri_type->rit_flags;

	*w = (struct m0_rpc_wire_item){
		.rwi_opcode = item->ri_type->rit_opcode,
		.rwi_prio = (uint8_t)item->ri_prio,
		.rwi_size = (uint32_t)il->ril_payload,
	};
	if (flags & M0_RPC_ITEM_TYPE_REPLY) {
		w->rwi_flags = M0_RPC_WIRE_REPLY;
		w->rwi_session = il->ril_re.rre_session;
		w->rwi_stream = il->ril_re.rre_stream;
		w->rwi_xid = il->ril_re.rre_xid;
		w->rwi_status = il->ril_re.rre_status;
	} else if (flags & M0_RPC_ITEM_TYPE_REQUEST) {
		request_header(m, item, w);
	} else if (item->ri_type->rit_opcode < M0_RPC_OP_USER) {
		note_header(m, m0_rpc__note_of(item), w);
	} else {
		w->rwi_flags = M0_RPC_WIRE_ONEWAY;
	}
}

/* Replaces a reply whose body could not be encoded by a status, so that the client
 * gets the reason and does not wait. */
static void mute_header(struct m0_rpc_item *item, int rc,
			struct m0_rpc_wire_item *w)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	il->ril_flags |= M0_RPC__IF_MUTE;
	il->ril_re.rre_status = m0_rpc__status(rc);
	w->rwi_opcode = M0_RPC_OP_STATUS;
	w->rwi_status = il->ril_re.rre_status;
	w->rwi_size = 0;
}

static int item_put(struct m0_rpc__packet *p, struct m0_rpc_item *item)
{
	struct m0_rpc__item    *il = m0_rpc__il(item);
	uint8_t                *at = p->rpk_memory + p->rpk_used;
	struct m0_rpc_wire_item w;
	int                     rc;

	p->rpk_used += M0_RPC_WIRE_ITEM_BYTES;
	il->ril_packet = p;
	/* A status that was sent once stays. */
	rc = il->ril_flags & M0_RPC__IF_MUTE ? il->ril_re.rre_status
					     : body_put(p, item);
	if (rc < 0 && !(item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REPLY)) {
		p->rpk_used -= M0_RPC_WIRE_ITEM_BYTES;
		return rc;
	}
	header_fill(p->rpk_machine, item, &w);
	if (rc < 0)
		mute_header(item, rc, &w);
	m0_rpc__wire_item_put(at, &w);
	m0_rpc__state_set(item, M0_RPC_ITEM_SENDING);
	return 0;
}

/* ---------------------------------------------------------- formation -- */

/*
 * May a place have one more packet than so many? Those that do not take what they
 * are sent would have all, for as long as the transport waits for them. Of the
 * second half a place has the less the less is left.
 */
static bool may_have(const struct m0_rpc__machine *m, uint64_t nr)
{
	uint32_t left = M0_RPC__PACKETS_MAX - m->rml_sender.rsn_packets_busy_nr;

	return left > M0_RPC__PACKETS_MAX / 2 ||
	       nr * M0_RPC__PACKETS_SHARE < left;
}

static struct m0_rpc_frm_packet *frm_packet_get(struct m0_rpc_frm *frm)
{
	struct m0_rpc__target *t =
		container_of(frm, struct m0_rpc__target, trg_frm);
	struct m0_rpc__machine *m = t->trg_machine;
	struct m0_rpc__packet  *p;

	M0_PRE_EX(m0_rpc__target_invariant(t));
	if (!may_have(m, frm->f_packets_enqed))
		return NULL;
	p = packet_get(m);
	if (p == NULL)
		return NULL;
	p->rpk_target = t;
	return &p->rpk_frm;
}

static uint32_t items_put(struct m0_rpc__packet *p)
{
	struct m0_rpc__item *il;
	struct m0_list_link *link;
	struct m0_list_link *next;
	uint32_t             nr = 0;
	int                  rc;

	m0_list_for_each_safe(&p->rpk_frm.fpk_items, link, next) {
		il = container_of(link, struct m0_rpc__item, ril_frm.fi_link);
		rc = item_put(p, m0_rpc__item_of(il));
		if (rc < 0)
			m0_rpc__item_end(m0_rpc__item_of(il), rc, NULL);
		else
			++nr;
	}
	return nr;
}

static void seal(struct m0_rpc__packet *p, uint32_t nr)
{
	struct m0_rpc__machine   *m = p->rpk_machine;
	struct m0_rpc_wire_packet head = {
		.rwp_items_nr = nr,
		.rwp_epoch = __atomic_load_n(&m->rml_epoch, __ATOMIC_RELAXED),
		.rwp_life = p->rpk_target->trg_life,
		.rwp_sender = m->rml_cfg.rc_uuid,
		.rwp_incarnation = m->rml_cfg.rc_incarnation,
	};
	unsigned i;

	M0_PRE_EX(nr > 0);
	M0_PRE_EX(m0_rpc__packet_invariant(p));
	piece_cut(p);
	p->rpk_nb.nb_length = m0_rpc__wire_seal(
		&head, p->rpk_seg, p->rpk_segs_nr, &m->rml_sender.rsn_sum);
	for (i = 0; i < p->rpk_segs_nr; ++i) {
		p->rpk_base[i] = p->rpk_seg[i].rwg_base;
		p->rpk_count[i] = p->rpk_seg[i].rwg_nr;
	}
	p->rpk_nb.nb_buffer.ov_vec.v_nr = p->rpk_segs_nr;
}

static void packet_left(struct m0_rpc__packet *p, int rc);

static void packet_leave(struct m0_rpc__packet *p)
{
	int rc;

	M0_PRE_EX(p->rpk_target != NULL);
	p->rpk_nb.nb_ep = p->rpk_target->trg_key.trk_ep;
	rc = m0_net_buffer_add(&p->rpk_nb, p->rpk_nb.nb_ep->nep_tm);
	if (rc != 0)
		packet_left(p, rc);
}

static void frm_packet_ready(struct m0_rpc_frm        *frm,
			     struct m0_rpc_frm_packet *packet)
{
	struct m0_rpc__packet *p =
		container_of(packet, struct m0_rpc__packet, rpk_frm);
	uint32_t nr = items_put(p);

	(void)frm;
	if (nr > 0) {
		seal(p, nr);
		packet_leave(p);
	} else {
		packet_left(p, -ENODATA);
	}
}

static struct m0_rpc_frm_item *frm_spare(struct m0_rpc_frm *frm,
					 m0_bcount_t bytes, uint64_t segs)
{
	struct m0_rpc__target *t =
		container_of(frm, struct m0_rpc__target, trg_frm);

	(void)segs;
	return m0_list_is_empty(&t->trg_links) ? NULL
					       : m0_rpc__source_ask(t, bytes);
}

static void frm_urgent(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *fi)
{
	(void)frm;
	m0_rpc__state_set(
		m0_rpc__item_of(container_of(fi, struct m0_rpc__item, ril_frm)),
		M0_RPC_ITEM_URGENT);
}

static void frm_refused(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *fi,
			int rc)
{
	struct m0_rpc__item *il =
		container_of(fi, struct m0_rpc__item, ril_frm);

	(void)frm;
	/* A kept one is its stream's to end. */
	if (!(il->ril_flags & M0_RPC__IF_KEPT))
		m0_rpc__item_end(m0_rpc__item_of(il), rc, NULL);
}

static const struct m0_rpc_frm_ops frm_ops = {
	.fo_packet_get = frm_packet_get,
	.fo_packet_ready = frm_packet_ready,
	.fo_merge = m0_rpc__frm_merge,
	.fo_spare = frm_spare,
	.fo_urgent = frm_urgent,
	.fo_refused = frm_refused,
};

/* May segments of a packet be memory that is not registered, as bodies are? */
static bool may_gather(struct m0_net_domain *dom)
{
	const struct m0_net_xprt_ops *ops = dom->nd_xprt->nx_ops;

	return ops->xo_rpc_max_segs_nr == NULL ||
	       ops->xo_rpc_max_segs_nr(dom) > 1;
}

void m0_rpc__sender_init(struct m0_rpc__machine *m)
{
	struct m0_rpc__sender *sender = &m->rml_sender;

	M0_PRE(sender->rsn_msg_size > 0);
	m0_rpc__frm_set_init(&sender->rsn_frms, m->rml_now,
			     m->rml_cfg.rc_formation_off);
	sender->rsn_frms.fs_network = m->rml_cfg.rc_network;
	m0_hash_init(&sender->rsn_targets);
	m0_list_init(&sender->rsn_packets);
	m0_list_init(&sender->rsn_packets_busy);
	sender->rsn_segs_max = (uint32_t)min64u(
		m->rml_dom->nd_get_max_buffer_segments, SEGS_MAX);
	sender->rsn_gathers = may_gather(m->rml_dom);
	sender->rsn_frm_ops = &frm_ops;
	sender->rsn_sum.rws_add = m0_os_crc32c;
}

void m0_rpc__sender_fini(struct m0_rpc__sender *sender)
{
	M0_PRE(sender->rsn_packets_busy_nr == 0);
	M0_PRE(sender->rsn_notices_nr == 0);
	m0_list_fini(&sender->rsn_packets_busy);
	m0_list_fini(&sender->rsn_packets);
	m0_hash_fini(&sender->rsn_targets);
	m0_rpc__frm_set_fini(&sender->rsn_frms);
}

/* ---------------------------------------------------------------- sent -- */

/* A reply that was asked for over another link meanwhile. */
static void reply_again(struct m0_rpc__machine *m, struct m0_rpc_item *reply)
{
	struct m0_rpc__target *target = m0_rpc__il(reply)->ril_target;

	m0_rpc__item_form(m, reply);
	m0_rpc__target_put(target);
}

static void sent_notify(struct m0_rpc__machine *m, struct m0_rpc_item *item,
			int rc)
{
	M0_RPC__COUNT(m, rs_nr_sent_items, rc == 0);
	if (rc == 0 && item->ri_nr_sent == 0)
		M0_RPC__COUNT(m, rs_nr_sent_items_uniq, 1);
	else if (rc == 0)
		M0_RPC__COUNT(m, rs_nr_resent_items, 1);
	++item->ri_nr_sent;
	if (item->ri_ops != NULL && item->ri_ops->rio_sent != NULL) {
		int32_t before = item->ri_error;

		if (rc != 0 && before == 0)
			item->ri_error = rc;
		item->ri_ops->rio_sent(item);
		item->ri_error = before;
	}
}

bool m0_rpc__item_answered(struct m0_rpc_item *item)
{
	const struct m0_rpc__item *il = m0_rpc__il(item);

	/* Where others read its memory it stays until the packet's event. */
	if (il->ril_packet == NULL || (il->ril_flags & M0_RPC__IF_GATHERED))
		return true;
	/* The item is not moved to another link any more. */
	m0_rpc__link_left(item);
	sent_notify(item->ri_rmachine->rm_lib, item, 0);
	return !(il->ril_flags & (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS));
}

static void item_sent(struct m0_rpc__machine *m, struct m0_rpc_item *item,
		      int rc)
{
	struct m0_rpc__item *il = m0_rpc__il(item);

	M0_PRE_EX(m0_rpc__item_invariant(item));
	M0_PRE_EX(m0_rpc__is_here(m));
	il->ril_packet = NULL;
	il->ril_flags &= ~(uint32_t)M0_RPC__IF_GATHERED;
	sent_notify(m, item, rc);
	/* The callback may have ended the item. */
	if (il->ril_flags & M0_RPC__IF_ENDED)
		return;
	if (il->ril_flags & M0_RPC__IF_ENDS)
		m0_rpc__item_ends(item);
	else if (il->ril_owner != NULL)
		il->ril_owner->own_sent(m, item, rc);
	else if (il->ril_flags & M0_RPC__IF_AGAIN)
		reply_again(m, item);
	else if (il->ril_flags & M0_RPC__IF_KEPT)
		m0_rpc__state_set(item, M0_RPC_ITEM_SENT);
	else if (item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REPLY)
		m0_rpc__reply_end(item, il->ril_flags & M0_RPC__IF_MUTE
						? il->ril_re.rre_status
						: rc);
	else
		m0_rpc__item_end(item, rc, NULL);
}

static void packet_sent(struct m0_rpc__packet *p, int rc)
{
	struct m0_rpc__machine *m = p->rpk_machine;
	struct m0_list_link    *link;

	M0_PRE_EX(p->rpk_target != NULL);
	if (rc == 0) {
		M0_RPC__COUNT(m, rs_nr_sent_packets, 1);
		M0_RPC__COUNT(m, rs_nr_sent_bytes, p->rpk_nb.nb_length);
	} else {
		M0_RPC__COUNT(m, rs_nr_failed_packets, 1);
	}
	/* Before the items, because they may be formed again. */
	while ((link = m0_list_first(&p->rpk_frm.fpk_items)) != NULL) {
		struct m0_rpc__item *il = container_of(
			link, struct m0_rpc__item, ril_frm.fi_link);

		m0_list_del(link);
		item_sent(m, m0_rpc__item_of(il), rc);
	}
	m0_rpc__links_failed(p->rpk_target, rc);
	m0_rpc__frm_packet_done(&p->rpk_frm);
	packet_put(p);
}

/*
 * A packet that found no room, here or there, is as it was, and leaves again a
 * little later. It stays one of those in flight: what comes behind it waits, too,
 * and shares packets meanwhile. After that its items are as any that were lost.
 */
static void packet_left(struct m0_rpc__packet *p, int rc)
{
	struct m0_rpc__machine *m = p->rpk_machine;

	M0_PRE_EX(m0_rpc__packet_invariant(p));
	if (M0_LIKELY(rc != -ENOBUFS) || m->rml_aborts ||
	    p->rpk_pause.rpa_ns > REFUSED_MAX_NS) {
		packet_sent(p, rc);
		return;
	}
	m0_timerq_arm(&m->rml_timers.rtm_pauses, &p->rpk_pause.rpa_timer,
		      m0_time_add(m->rml_now, p->rpk_pause.rpa_ns));
	p->rpk_pause.rpa_ns *= 2;
}

static bool is_refused(const struct m0_rpc__packet *p)
{
	return m0_timer_is_armed(&p->rpk_pause.rpa_timer);
}

static void packet_again(struct m0_rpc__pause *pause)
{
	struct m0_rpc__packet *p =
		container_of(pause, struct m0_rpc__packet, rpk_pause);
	struct m0_rpc__target *t = p->rpk_target;

	M0_PRE_EX(m0_rpc__is_here(p->rpk_machine));
	if (pause->rpa_ns == REFUSED_ENDS)
		packet_sent(p, -ECANCELED);
	else
		packet_leave(p);
	m0_rpc__target_check(t);
}

/* A packet on its way does not leave again either, if its event reports that it was
 * refused before. A packet that waits ends at a step, as a queued one does. */
static void packet_cancel(struct m0_rpc__packet *p)
{
	struct m0_rpc__machine *m = p->rpk_machine;

	M0_PRE(p->rpk_target != NULL);
	p->rpk_pause.rpa_ns = REFUSED_ENDS;
	if (is_refused(p))
		m0_timerq_arm(&m->rml_timers.rtm_pauses,
			      &p->rpk_pause.rpa_timer, m->rml_now);
	else
		(void)m0_net_buffer_del(&p->rpk_nb,
					p->rpk_target->trg_key.trk_ep->nep_tm);
}

void m0_rpc__packets_cancel(struct m0_rpc__target *target)
{
	struct m0_rpc__packet *p;

	if (target == NULL)
		return;
	m0_list_for_each_entry(
		&target->trg_machine->rml_sender.rsn_packets_busy, p,
		struct m0_rpc__packet, rpk_link)
		if (p->rpk_target == target)
			packet_cancel(p);
}

static struct m0_rpc__packet *refused_first(struct m0_rpc__machine *m)
{
	struct m0_rpc__packet *p;

	m0_list_for_each_entry(&m->rml_sender.rsn_packets_busy, p,
			       struct m0_rpc__packet, rpk_link)
		if (is_refused(p))
			return p;
	return NULL;
}

/* End them at once: there may be no further step. The end of a packet changes
 * the list. */
void m0_rpc__packets_stop(struct m0_rpc__machine *m)
{
	struct m0_rpc__packet *p;

	M0_PRE(m0_rpc__is_here(m));
	while ((p = refused_first(m)) != NULL) {
		m0_timerq_cancel(&m->rml_timers.rtm_pauses,
				 &p->rpk_pause.rpa_timer);
		p->rpk_pause.rpa_ns = REFUSED_ENDS;
		packet_again(&p->rpk_pause);
	}
}

static void refusal_put(struct m0_rpc__packet *p)
{
	M0_PRE(p->rpk_machine->rml_sender.rsn_refusals_nr > 0);
	M0_PRE(p->rpk_target == NULL);
	--p->rpk_machine->rml_sender.rsn_refusals_nr;
	packet_put(p);
}

static void send_cb(const struct m0_net_buffer_event *ev)
{
	struct m0_rpc__packet *p =
		container_of(ev->nbe_buffer, struct m0_rpc__packet, rpk_nb);
	struct m0_rpc__machine *before = m0_rpc__enter(p->rpk_machine);

	struct m0_rpc__target *t = p->rpk_target;

	p->rpk_machine->rml_now = m0_time_cached();
	p->rpk_nb.nb_ep = NULL;
	if (t != NULL) {
		packet_left(p, ev->nbe_status);
		m0_rpc__target_check(t);
	} else {
		refusal_put(p);
	}
	m0_rpc__leave(before);
}

void m0_rpc__refusal_send(struct m0_rpc__machine  *m,
			  struct m0_net_end_point *ep)
{
	struct m0_rpc__packet *p = m->rml_sender.rsn_refusals_nr <
						   M0_RPC__REFUSALS_MAX
					   ? packet_get(m)
					   : NULL;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(ep != NULL);
	if (p == NULL)
		return;
	++m->rml_sender.rsn_refusals_nr;
	m0_rpc__wire_refusal_put(p->rpk_memory, &m->rml_sender.rsn_sum);
	p->rpk_base[0] = p->rpk_memory;
	p->rpk_count[0] = M0_RPC_WIRE_REFUSAL_BYTES;
	p->rpk_nb.nb_buffer.ov_vec.v_nr = 1;
	p->rpk_nb.nb_length = M0_RPC_WIRE_REFUSAL_BYTES;
	p->rpk_nb.nb_ep = ep;
	if (m0_net_buffer_add(&p->rpk_nb, ep->nep_tm) != 0)
		refusal_put(p);
}

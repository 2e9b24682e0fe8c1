/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "rpc/core/cstream.h"

#include <errno.h>

/** States of an item. */
enum {
	CI_NONE = 0,
	/** Beyond the window. */
	CI_QUEUED,
	/** In the formation, without a number. */
	CI_FORMED,
	/** Has a slot. */
	CI_NUMBERED,
	CI_STALE
};

/** States of a slot; slots of numbers outside [low, next) are free. */
enum {
	CL_FREE = 0,
	/** In the formation once more. */
	CL_FORMED,
	/** Waiting for the reply. */
	CL_SENT,
	/** To be filled: a SKIP has to leave, has left. */
	CL_SKIP,
	CL_SKIP_SENT,
	CL_ANSWERED
};

int m0_rpc_cstream_init(struct m0_rpc_cstream           *stream,
			const struct m0_rpc_cstream_cfg *cfg)
{
	M0_PRE(cfg->scc_window_max > 0);
	M0_SET0(stream);
	stream->rcs_slot =
		m0_alloc_arr(cfg->scc_window_max, sizeof *stream->rcs_slot);
	if (stream->rcs_slot == NULL)
		return -ENOMEM;
	stream->rcs_cfg = *cfg;
	stream->rcs_low = 1;
	stream->rcs_next = 1;
	stream->rcs_ack_due = M0_TIME_NEVER;
	stream->rcs_slots_due = M0_TIME_NEVER;
	m0_list_init(&stream->rcs_queue);
	m0_list_init(&stream->rcs_formed);
	m0_list_init(&stream->rcs_stale);
	return 0;
}

void m0_rpc_cstream_fini(struct m0_rpc_cstream *stream)
{
	m0_list_fini(&stream->rcs_queue);
	m0_list_fini(&stream->rcs_formed);
	m0_list_fini(&stream->rcs_stale);
	m0_free(stream->rcs_slot);
}

void m0_rpc_citem_init(struct m0_rpc_citem *item)
{
	M0_SET0(item);
	m0_list_link_init(&item->rci_link);
}

static struct m0_rpc_cslot *slot_of(const struct m0_rpc_cstream *stream,
				    uint64_t                     xid)
{
	return &stream->rcs_slot[xid % stream->rcs_cfg.scc_window_max];
}

/** Takes the first (or last) item of a list. */
static struct m0_rpc_citem *out_of(struct m0_list_link *link)
{
	struct m0_rpc_citem *item =
		m0_list_entry(link, struct m0_rpc_citem, rci_link);

	m0_list_del(link);
	item->rci_state = CI_NONE;
	return item;
}

static void slot_due_at(struct m0_rpc_cstream *stream,
			struct m0_rpc_cslot *slot, m0_time_t due)
{
	slot->csl_due = due;
	if (due < stream->rcs_slots_due)
		stream->rcs_slots_due = due;
}

/** The item leaves its number, which is to be filled. */
static void slot_skip(struct m0_rpc_cstream *stream, struct m0_rpc_cslot *slot)
{
	slot->csl_item->rci_state = CI_NONE;
	slot->csl_item = NULL;
	slot->csl_state = CL_SKIP;
	slot->csl_wait_ns = stream->rcs_cfg.scc_skip_ns;
	slot->csl_sent_nr = 0;
	stream->rcs_skips_due++;
}

void m0_rpc_cstream_post(struct m0_rpc_cstream *stream,
			 struct m0_rpc_citem *item, m0_time_t now)
{
	M0_PRE(item->rci_state == CI_NONE);
	(void)now;
	item->rci_xid = 0;
	item->rci_state = CI_QUEUED;
	m0_list_add_tail(&stream->rcs_queue, &item->rci_link);
}

/** Numbers given or promised that are not yet below the window. */
static uint64_t used(const struct m0_rpc_cstream *stream)
{
	return stream->rcs_next - stream->rcs_low + stream->rcs_open;
}

/** A slot whose time has come. @return what to do about it, if anything. */
static enum m0_rpc_ctodo slot_step(struct m0_rpc_cstream *stream,
				   struct m0_rpc_cslot   *slot,
				   struct m0_rpc_citem  **ret_item)
{
	struct m0_rpc_citem *item = slot->csl_item;

	if (slot->csl_state == CL_SKIP_SENT) {
		slot->csl_state = CL_SKIP;
		stream->rcs_skips_due++;
		return M0_RPC_CT_NONE;
	}
	*ret_item = item;
	if (slot->csl_sent_nr >= item->rci_sent_max) {
		slot_skip(stream, slot);
		return M0_RPC_CT_GIVE_UP;
	}
	slot->csl_state = CL_FORMED;
	return M0_RPC_CT_RESEND;
}

/** Finds the first slot that has to do something. */
static enum m0_rpc_ctodo slots_step(struct m0_rpc_cstream *stream,
				    m0_time_t              now,
				    struct m0_rpc_citem  **ret_item)
{
	struct m0_rpc_cslot *slot;
	enum m0_rpc_ctodo    todo;
	m0_time_t            due = M0_TIME_NEVER;
	uint64_t             xid;

	for (xid = stream->rcs_low; xid < stream->rcs_next; ++xid) {
		slot = slot_of(stream, xid);
		if (slot->csl_state != CL_SENT &&
		    slot->csl_state != CL_SKIP_SENT)
			continue;
		if (slot->csl_due > now) {
			due = min64u(due, slot->csl_due);
			continue;
		}
		todo = slot_step(stream, slot, ret_item);
		if (todo != M0_RPC_CT_NONE)
			return todo;
	}
	stream->rcs_slots_due = due;
	return M0_RPC_CT_NONE;
}

static enum m0_rpc_ctodo window_step(struct m0_rpc_cstream *stream,
				     struct m0_rpc_citem  **ret_item)
{
	struct m0_rpc_citem *item;

	if (used(stream) > stream->rcs_window && stream->rcs_open > 0) {
		item = out_of(m0_list_last(&stream->rcs_formed));
		item->rci_state = CI_QUEUED;
		m0_list_add(&stream->rcs_queue, &item->rci_link);
		stream->rcs_open--;
		*ret_item = item;
		return M0_RPC_CT_UNFORM;
	}
	if (used(stream) >= stream->rcs_window ||
	    m0_list_is_empty(&stream->rcs_queue))
		return M0_RPC_CT_NONE;
	item = out_of(m0_list_first(&stream->rcs_queue));
	item->rci_state = CI_FORMED;
	m0_list_add_tail(&stream->rcs_formed, &item->rci_link);
	stream->rcs_open++;
	*ret_item = item;
	return M0_RPC_CT_FORM;
}

enum m0_rpc_ctodo m0_rpc_cstream_step(struct m0_rpc_cstream *stream,
				      m0_time_t              now,
				      struct m0_rpc_citem  **ret_item)
{
	enum m0_rpc_ctodo todo;

	*ret_item = NULL;
	if (M0_UNLIKELY(!m0_list_is_empty(&stream->rcs_stale))) {
		*ret_item = out_of(m0_list_first(&stream->rcs_stale));
		return M0_RPC_CT_STALE;
	}
	if (!stream->rcs_active)
		return M0_RPC_CT_NONE;
	todo = window_step(stream, ret_item);
	if (todo != M0_RPC_CT_NONE)
		return todo;
	if (now >= stream->rcs_slots_due) {
		todo = slots_step(stream, now, ret_item);
		if (todo != M0_RPC_CT_NONE)
			return todo;
	}
	if (!stream->rcs_control &&
	    (stream->rcs_skips_due > 0 || now >= stream->rcs_ack_due)) {
		stream->rcs_control = true;
		return M0_RPC_CT_CONTROL;
	}
	return M0_RPC_CT_NONE;
}

m0_time_t m0_rpc_cstream_due(const struct m0_rpc_cstream *stream)
{
	if (!stream->rcs_active)
		return M0_TIME_NEVER;
	if (stream->rcs_control)
		return stream->rcs_slots_due;
	return min64u(stream->rcs_slots_due, stream->rcs_ack_due);
}

/** The slot's header goes into a packet that is answered. */
static void slot_sent(struct m0_rpc_cstream *stream, struct m0_rpc_cslot *slot,
		      uint64_t xid, m0_time_t now, struct m0_rpc_cmark *ret)
{
	ret->rck_xid = xid;
	ret->rck_ack = stream->rcs_low;
	ret->rck_dup = slot->csl_sent_nr++ > 0;
	/* The poster's may be of any length. */
	slot_due_at(stream, slot, m0_time_add(now, slot->csl_wait_ns));
	slot->csl_wait_ns =
		min64u(m0_time_add(slot->csl_wait_ns, slot->csl_wait_ns),
		       stream->rcs_cfg.scc_resend_max_ns);
	/* The request, and the ack with it, is sent until it is answered. */
	stream->rcs_ack_due = M0_TIME_NEVER;
}

static void number(struct m0_rpc_cstream *stream, struct m0_rpc_citem *item)
{
	struct m0_rpc_cslot *slot;

	M0_PRE(item->rci_state == CI_FORMED);
	m0_list_del(&item->rci_link);
	stream->rcs_open--;
	item->rci_state = CI_NUMBERED;
	item->rci_xid = stream->rcs_next++;
	slot = slot_of(stream, item->rci_xid);
	M0_ASSERT(slot->csl_state == CL_FREE);
	slot->csl_item = item;
	slot->csl_wait_ns = item->rci_resend_ns;
	slot->csl_sent_nr = 0;
}

void m0_rpc_cstream_take(struct m0_rpc_cstream *stream,
			 struct m0_rpc_citem *item, m0_time_t now,
			 struct m0_rpc_cmark *ret)
{
	struct m0_rpc_cslot *slot;

	M0_PRE(stream->rcs_active);
	if (item->rci_state != CI_NUMBERED)
		number(stream, item);
	slot = slot_of(stream, item->rci_xid);
	slot->csl_state = CL_SENT;
	ret->rck_skip = false;
	slot_sent(stream, slot, item->rci_xid, now, ret);
}

/** There is something to acknowledge, soon. */
static void ack_new(struct m0_rpc_cstream *stream, m0_time_t now)
{
	stream->rcs_acks_left = M0_RPC_CSTREAM_ACKS;
	stream->rcs_ack_wait_ns = stream->rcs_cfg.scc_ack_ns;
	stream->rcs_ack_due =
		min64u(stream->rcs_ack_due, now + stream->rcs_ack_wait_ns);
}

/** The ack leaves alone: nobody answers it. */
static void ack_sent(struct m0_rpc_cstream *stream, m0_time_t now)
{
	if (stream->rcs_acks_left > 0)
		stream->rcs_acks_left--;
	stream->rcs_ack_due = M0_TIME_NEVER;
	if (stream->rcs_acks_left > 0) {
		stream->rcs_ack_wait_ns = 2 * stream->rcs_ack_wait_ns;
		stream->rcs_ack_due = now + stream->rcs_ack_wait_ns;
	}
}

void m0_rpc_cstream_control(struct m0_rpc_cstream *stream, m0_time_t now,
			    struct m0_rpc_cmark *ret)
{
	struct m0_rpc_cslot *slot;
	uint64_t             xid;

	M0_PRE(stream->rcs_active);
	stream->rcs_control = false;
	for (xid = stream->rcs_low;
	     stream->rcs_skips_due > 0 && xid < stream->rcs_next; ++xid) {
		slot = slot_of(stream, xid);
		if (slot->csl_state != CL_SKIP)
			continue;
		slot->csl_state = CL_SKIP_SENT;
		stream->rcs_skips_due--;
		ret->rck_skip = true;
		slot_sent(stream, slot, xid, now, ret);
		return;
	}
	M0_SET0(ret);
	ret->rck_ack = stream->rcs_low;
	ack_sent(stream, now);
}

/** Slides the window over what is answered. */
static void slide(struct m0_rpc_cstream *stream, m0_time_t now)
{
	uint64_t low = stream->rcs_low;

	while (low < stream->rcs_next &&
	       slot_of(stream, low)->csl_state == CL_ANSWERED)
		slot_of(stream, low++)->csl_state = CL_FREE;
	if (low == stream->rcs_low)
		return;
	stream->rcs_low = low;
	ack_new(stream, now);
}

enum m0_rpc_creply m0_rpc_cstream_replied(struct m0_rpc_cstream *stream,
					  uint64_t xid, m0_time_t now,
					  struct m0_rpc_citem **ret_item)
{
	struct m0_rpc_cslot *slot = slot_of(stream, xid);

	*ret_item = NULL;
	if (xid < stream->rcs_low || xid >= stream->rcs_next ||
	    slot->csl_state == CL_ANSWERED)
		return M0_RPC_CR_STRAY;
	*ret_item = slot->csl_item;
	if (slot->csl_item != NULL) {
		slot->csl_item->rci_state = CI_NONE;
		slot->csl_item = NULL;
	} else if (slot->csl_state == CL_SKIP) {
		stream->rcs_skips_due--;
	}
	slot->csl_state = CL_ANSWERED;
	slide(stream, now);
	return *ret_item != NULL ? M0_RPC_CR_ITEM : M0_RPC_CR_SKIP;
}

enum m0_rpc_cdrop m0_rpc_cstream_drop(struct m0_rpc_cstream *stream,
				      struct m0_rpc_citem *item, m0_time_t now)
{
	enum m0_rpc_cdrop ret = M0_RPC_CD_UNSENT;

	M0_PRE(item->rci_state != CI_NONE);
	(void)now;
	if (item->rci_state == CI_NUMBERED) {
		slot_skip(stream, slot_of(stream, item->rci_xid));
		return M0_RPC_CD_SENT;
	}
	if (item->rci_state == CI_STALE)
		ret = M0_RPC_CD_SENT;
	else if (item->rci_state == CI_FORMED)
		stream->rcs_open--;
	(void)out_of(&item->rci_link);
	return ret;
}

bool m0_rpc_cstream_follows(const struct m0_rpc_cstream *stream,
			    const struct m0_rpc_citem   *item,
			    const struct m0_rpc_citem   *next)
{
	return item->rci_state == CI_FORMED && next->rci_state == CI_FORMED &&
	       m0_list_next(&stream->rcs_formed, &item->rci_link) ==
		       &next->rci_link;
}

void m0_rpc_cstream_hasten(struct m0_rpc_cstream *stream,
			   struct m0_rpc_citem *item, m0_time_t now)
{
	struct m0_rpc_cslot *slot;

	if (item->rci_state != CI_NUMBERED)
		return;
	slot = slot_of(stream, item->rci_xid);
	if (slot->csl_state != CL_SENT ||
	    slot->csl_sent_nr >= item->rci_sent_max)
		return;
	slot->csl_wait_ns = item->rci_resend_ns;
	slot_due_at(stream, slot, now);
}

void m0_rpc_cstream_suspend(struct m0_rpc_cstream *stream)
{
	stream->rcs_active = false;
}

static void window_set(struct m0_rpc_cstream *stream, uint32_t window)
{
	uint32_t max = stream->rcs_cfg.scc_window_max;

	stream->rcs_window = window < max ? window : max;
}

/** Send again what was sent, to whichever server it is now. */
static void again(struct m0_rpc_cstream *stream, m0_time_t now)
{
	struct m0_rpc_cslot *slot;
	uint64_t             xid;

	for (xid = stream->rcs_low; xid < stream->rcs_next; ++xid) {
		slot = slot_of(stream, xid);
		if (slot->csl_state != CL_SENT &&
		    slot->csl_state != CL_SKIP_SENT)
			continue;
		slot->csl_wait_ns = slot->csl_item != NULL
					    ? slot->csl_item->rci_resend_ns
					    : stream->rcs_cfg.scc_skip_ns;
		slot_due_at(stream, slot, now);
	}
}

int m0_rpc_cstream_resume(struct m0_rpc_cstream *stream, uint64_t last,
			  uint32_t window, m0_time_t now)
{
	if (window == 0)
		return -EPROTO;
	if (last >= stream->rcs_next)
		return -ESTALE;
	if (stream->rcs_window == 0)
		window_set(stream, window);
	stream->rcs_active = true;
	again(stream, now);
	/* The server may have lost the acknowledgements. */
	if (stream->rcs_low > 1)
		ack_new(stream, now);
	return 0;
}

int m0_rpc_cstream_reset(struct m0_rpc_cstream *stream, uint32_t window,
			 m0_time_t now)
{
	struct m0_rpc_cslot *slot;
	uint64_t             xid;

	(void)now;
	if (window == 0)
		return -EPROTO;
	for (xid = stream->rcs_low; xid < stream->rcs_next; ++xid) {
		slot = slot_of(stream, xid);
		if (slot->csl_item != NULL) {
			slot->csl_item->rci_state = CI_STALE;
			m0_list_add_tail(&stream->rcs_stale,
					 &slot->csl_item->rci_link);
		}
		M0_SET0(slot);
	}
	stream->rcs_low = 1;
	stream->rcs_next = 1;
	stream->rcs_acks_left = 0;
	stream->rcs_skips_due = 0;
	stream->rcs_ack_due = M0_TIME_NEVER;
	stream->rcs_slots_due = M0_TIME_NEVER;
	window_set(stream, window);
	stream->rcs_active = true;
	return 0;
}

/** Any item that is left, the oldest first. */
static struct m0_rpc_citem *oldest(const struct m0_rpc_cstream *stream)
{
	const struct m0_list *lists[] = { &stream->rcs_stale,
					  &stream->rcs_formed,
					  &stream->rcs_queue };
	struct m0_list_link  *link = m0_list_first(lists[0]);
	uint64_t              xid;
	unsigned              i;

	for (xid = stream->rcs_low; link == NULL && xid < stream->rcs_next;
	     ++xid)
		if (slot_of(stream, xid)->csl_item != NULL)
			return slot_of(stream, xid)->csl_item;
	for (i = 1; link == NULL && i < ARRAY_SIZE(lists); ++i)
		link = m0_list_first(lists[i]);
	return link == NULL
		       ? NULL
		       : m0_list_entry(link, struct m0_rpc_citem, rci_link);
}

struct m0_rpc_citem *m0_rpc_cstream_pop(struct m0_rpc_cstream *stream)
{
	struct m0_rpc_citem *item = oldest(stream);

	if (item != NULL)
		(void)m0_rpc_cstream_drop(stream, item, 0);
	return item;
}

bool m0_rpc_cstream_is_idle(const struct m0_rpc_cstream *stream)
{
	return stream->rcs_low == stream->rcs_next && stream->rcs_open == 0 &&
	       m0_list_is_empty(&stream->rcs_queue) &&
	       m0_list_is_empty(&stream->rcs_stale);
}

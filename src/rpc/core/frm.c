/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The cache: what is in it, in which class. pack.c forms packets. */
#include "rpc/core/frm_internal.h"
#include "rpc/core/rpc_wire.h"

/* ------------------------------------------------------------- classes -- */

static unsigned class_of(enum m0_frm_kind kind, enum m0_rpc_item_priority prio)
{
	return kind * M0_RPC_ITEM_PRIO_NR + prio;
}

static enum m0_frm_kind kind_of(const struct m0_rpc_frm_item *item)
{
	return (enum m0_frm_kind)item->fi_kind;
}

static void class_set(struct m0_rpc_frm_item *item, enum m0_frm_kind kind,
		      enum m0_rpc_item_priority prio)
{
	item->fi_kind = (uint8_t)kind;
	item->fi_class = (uint8_t)class_of(kind, prio);
}

/** The order within a class; `env` is the formation. */
static int item_cmp(const struct m0_order_node *a,
		    const struct m0_order_node *b, const void *env)
{
	const struct m0_rpc_frm      *frm = env;
	const struct m0_rpc_frm_item *left = m0_rpc__frm_item_of(a);
	const struct m0_rpc_frm_item *right = m0_rpc__frm_item_of(b);
	int                           rc = 0;

	if (frm->f_policy->fp_cmp != NULL && !frm->f_set->fs_is_off)
		rc = frm->f_policy->fp_cmp(&left->fi_view, &right->fi_view);
	if (rc == 0)
		rc = left->fi_seq < right->fi_seq ? -1 : 1;
	return rc;
}

static __attribute__((__noinline__)) void slot_in(struct m0_rpc_frm      *frm,
						  struct m0_rpc_frm_item *item,
						  unsigned                slot)
{
	struct m0_order *class = &frm->f_class[slot];
	const struct m0_order_node *last = m0_rpc__order_last(class);

	item->fi_slot = class;
	/* A new item is the last, unless the policy orders it otherwise. */
	if (frm->f_policy->fp_cmp == NULL &&
	    (last == NULL || m0_rpc__frm_item_of(last)->fi_seq < item->fi_seq))
		m0_rpc__order_append(class, &item->fi_node);
	else
		m0_rpc__order_add(class, &item->fi_node);
}

static void slot_out(struct m0_rpc_frm_item *item)
{
	struct m0_order *class = item->fi_slot;

	item->fi_slot = NULL;
	m0_rpc__order_del(class, &item->fi_node);
}

/** The highest class that an item of a stream has. Pre: it has items. */
static unsigned stream_class(const struct m0_rpc_frm_stream *stream)
{
	unsigned i = M0_RPC_FRM_CLASS_NR - 1;

	while (stream->fst_nr[i] == 0)
		--i;
	return i;
}

static struct m0_rpc_frm_item *of_stream_link(struct m0_list_link *link)
{
	return link == NULL ? NULL
			    : container_of(link, struct m0_rpc_frm_item,
					   fi_stream_link);
}

/** Its items have changed: sees to it that the right one stands where it
 * should. */
static void stream_settle(struct m0_rpc_frm        *frm,
			  struct m0_rpc_frm_stream *stream)
{
	struct m0_rpc_frm_item *head =
		of_stream_link(m0_list_first(&stream->fst_items));
	struct m0_rpc_frm_item *was = stream->fst_head;
	unsigned                slot = head == NULL ? 0 : stream_class(stream);

	if (was == head &&
	    (head == NULL || head->fi_slot == &frm->f_class[slot]))
		return;
	if (was != NULL)
		slot_out(was);
	if (head != NULL)
		slot_in(frm, head, slot);
	stream->fst_head = head;
}

/** Into the stream, where fi_order says. */
static void stream_in(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item)
{
	struct m0_list         *items = &item->fi_stream->fst_items;
	struct m0_list_link    *link = items->l_head.ll_prev;
	struct m0_rpc_frm_item *first = of_stream_link(m0_list_first(items));
	struct m0_rpc_frm_item *behind;

	/* New ones are last; what is sent again is mostly the first. */
	if (first != NULL && item->fi_order < first->fi_order)
		link = &items->l_head;
	while (link != &items->l_head &&
	       of_stream_link(link)->fi_order > item->fi_order)
		link = link->ll_prev;
	m0_list_link_init(&item->fi_stream_link);
	m0_list_add_after(link, &item->fi_stream_link);
	behind = of_stream_link(m0_list_next(items, &item->fi_stream_link));
	if (behind == NULL) {
		item->fi_seq = frm->f_seq++;
		m0_list_add_tail(&frm->f_age, &item->fi_link);
	} else {
		/* The item is as old as that one, so that no item is passed
		 * over more often because of those before it. */
		item->fi_seq = behind->fi_seq;
		m0_list_add_before(&behind->fi_link, &item->fi_link);
	}
}

static inline void count_in(struct m0_rpc_frm            *frm,
			    const struct m0_rpc_frm_item *item)
{
	enum m0_frm_kind kind = kind_of(item);

	++frm->f_nr[kind];
	frm->f_bytes[kind] += item->fi_view.fv_size;
	frm->f_set->fs_bytes += item->fi_view.fv_size;
	frm->f_segs_nr[kind] += item->fi_segs_nr;
}

static inline void count_out(struct m0_rpc_frm            *frm,
			     const struct m0_rpc_frm_item *item)
{
	enum m0_frm_kind kind = kind_of(item);

	--frm->f_nr[kind];
	frm->f_bytes[kind] -= item->fi_view.fv_size;
	frm->f_set->fs_bytes -= item->fi_view.fv_size;
	frm->f_segs_nr[kind] -= item->fi_segs_nr;
}

/** Cached already: it gets another class. */
static void item_reclass(struct m0_rpc_frm_item *item, enum m0_frm_kind kind)
{
	struct m0_rpc_frm        *frm = item->fi_frm;
	struct m0_rpc_frm_stream *stream = item->fi_stream;
	unsigned                  was = item->fi_class;

	count_out(frm, item);
	class_set(item, kind, item->fi_view.fv_prio);
	count_in(frm, item);
	if (stream != NULL) {
		--stream->fst_nr[was];
		++stream->fst_nr[item->fi_class];
		stream_settle(frm, stream);
	} else {
		slot_out(item);
		slot_in(frm, item, item->fi_class);
	}
	m0_rpc__frm_kick(frm);
	if (kind == FRM_URGENT && frm->f_ops->fo_urgent != NULL)
		frm->f_ops->fo_urgent(frm, item);
}

bool m0_rpc__frm_item_is_urgent(const struct m0_rpc_frm_item *item)
{
	return kind_of(item) == FRM_URGENT;
}

/* -------------------------------------------------------------- timing -- */

static bool is_urgent(const struct m0_rpc_frm_item *item, m0_time_t now)
{
	/* Count also items that come after the group was closed, for example
	 * one of a stream that had no room in its window. */
	return item->fi_is_write_through || item->fi_deadline <= now ||
	       (item->fi_group != NULL && item->fi_group->fg_is_closed);
}

/** Held for its group at `now`? The first item sets how long. */
static bool is_held(const struct m0_rpc_frm_item *item, m0_time_t now,
		    m0_time_t linger)
{
	struct m0_rpc_frm_group *group = item->fi_group;

	if (group == NULL || group->fg_is_closed || item->fi_is_write_through)
		return false;
	if (group->fg_until == M0_TIME_NEVER)
		group->fg_until = linger < M0_TIME_NEVER - now ? now + linger
							       : M0_TIME_NEVER;
	return now < group->fg_until;
}

static enum m0_frm_kind kind_at(const struct m0_rpc_frm      *frm,
				const struct m0_rpc_frm_item *item,
				m0_time_t now, m0_time_t linger)
{
	if (frm->f_set->fs_is_off)
		return FRM_URGENT;
	if (is_held(item, now, linger))
		return FRM_HELD;
	return is_urgent(item, now) ? FRM_URGENT : FRM_WAITING;
}

static void timer_set(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item)
{
	m0_time_t at = M0_TIME_NEVER;

	switch (kind_of(item)) {
	case FRM_HELD:
		M0_ASSERT(item->fi_group != NULL);
		at = item->fi_group->fg_until;
		/* 0 is "in the next packet", and that is held. */
		if (item->fi_deadline != 0 && item->fi_deadline < at)
			at = item->fi_deadline;
		break;
	case FRM_WAITING:
		at = item->fi_deadline;
		break;
	default:
		break;
	}
	if (at != M0_TIME_NEVER)
		m0_timerq_arm(&frm->f_set->fs_timers, &item->fi_timer, at);
}

void m0_rpc__frm_item_expired(struct m0_rpc_frm_item *item, m0_time_t now)
{
	item_reclass(item, is_urgent(item, now) ? FRM_URGENT : FRM_WAITING);
	timer_set(item->fi_frm, item);
}

/* ---------------------------------------------------------- in and out -- */

void m0_rpc__frm_item_init(struct m0_rpc_frm_item *item)
{
	/* m0_rpc__frm_enq() sets the fields behind fi_frm. */
	memset(item, 0, offsetof(struct m0_rpc_frm_item, fi_seq));
	m0_list_link_init(&item->fi_link);
}

bool m0_rpc__frm_fits(const struct m0_rpc_frm      *frm,
		      const struct m0_rpc_frm_item *item, m0_bcount_t bytes,
		      uint64_t segs_nr)
{
	const struct m0_rpc_frm_constraints *limit = &frm->f_constraints;

	/* An item may be of any size; segments are never 2^64. */
	return !__builtin_add_overflow(bytes, item->fi_view.fv_size, &bytes) &&
	       bytes <= limit->fc_max_packet_size &&
	       segs_nr + item->fi_segs_nr <= limit->fc_max_nr_segments;
}

/** An item outside streams goes behind all others, unless the policy orders it
 * otherwise. */
static inline void newest_in(struct m0_rpc_frm      *frm,
			     struct m0_rpc_frm_item *item)
{
	struct m0_order *class = &frm->f_class[item->fi_class];

	item->fi_seq = frm->f_seq++;
	m0_list_add_tail(&frm->f_age, &item->fi_link);
	if (frm->f_policy->fp_cmp != NULL) {
		slot_in(frm, item, item->fi_class);
		return;
	}
	item->fi_slot = class;
	m0_rpc__order_append(class, &item->fi_node);
}

static inline void item_in(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item,
			   enum m0_frm_kind          kind,
			   enum m0_rpc_item_priority prio)
{
	struct m0_rpc_frm_stream *stream = item->fi_stream;

	item->fi_frm = frm;
	item->fi_slot = NULL;
	item->fi_waits = kind != FRM_URGENT;
	class_set(item, kind, prio);
	count_in(frm, item);
	++frm->f_items_nr;
	++frm->f_set->fs_items_nr;
	m0_rpc__frm_kick(frm);
	if (stream == NULL) {
		newest_in(frm, item);
	} else {
		++stream->fst_nr[item->fi_class];
		stream_in(frm, item);
		stream_settle(frm, stream);
	}
}

/* Apart: what most items are needs no frame. */
static __attribute__((__noinline__)) void special_in(
	struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item, m0_time_t now,
	m0_time_t linger)
{
	enum m0_frm_kind kind = kind_at(frm, item, now, linger);

	item_in(frm, item, kind,
		frm->f_set->fs_is_off ? 0 : item->fi_view.fv_prio);
	if (!item->fi_waits)
		return;
	m0_list_link_init(&item->fi_group_link);
	m0_timer_init(&item->fi_timer);
	if (item->fi_group != NULL)
		m0_list_add_tail(&item->fi_group->fg_items,
				 &item->fi_group_link);
	timer_set(frm, item);
}

/* In line where items are put into a formation. */
inline __attribute__((always_inline)) int m0_rpc__frm_enq(
	struct m0_rpc_frm *frm, struct m0_rpc_frm_item *item, m0_time_t now,
	m0_time_t linger)
{
	M0_PRE(item->fi_frm == NULL && !m0_list_link_is_in(&item->fi_link));
	M0_PRE(item->fi_view.fv_prio < M0_RPC_ITEM_PRIO_NR);
	if (!m0_rpc__frm_fits(frm, item, M0_RPC_WIRE_PACKET_BYTES, 1))
		return -EMSGSIZE;
	if (M0_UNLIKELY(item->fi_stream != NULL || item->fi_group != NULL ||
			frm->f_set->fs_is_off || !is_urgent(item, now)))
		special_in(frm, item, now, linger);
	else
		item_in(frm, item, FRM_URGENT, item->fi_view.fv_prio);
	return 0;
}

static inline void item_out(struct m0_rpc_frm_item *item)
{
	struct m0_rpc_frm        *frm = item->fi_frm;
	struct m0_rpc_frm_stream *stream = item->fi_stream;

	count_out(frm, item);
	--frm->f_items_nr;
	--frm->f_set->fs_items_nr;
	item->fi_frm = NULL;
	if (M0_LIKELY(stream == NULL)) {
		slot_out(item);
		return;
	}
	m0_list_del(&item->fi_stream_link);
	--stream->fst_nr[item->fi_class];
	stream_settle(frm, stream);
}

/* One that waits for a time, or its group. */
static __attribute__((__noinline__)) void waiting_leave(
	struct m0_rpc_frm_item *item)
{
	if (m0_timer_is_armed(&item->fi_timer))
		m0_timerq_cancel(&item->fi_frm->f_set->fs_timers,
				 &item->fi_timer);
	m0_list_del(&item->fi_group_link);
	item_out(item);
}

void m0_rpc__frm_leave(struct m0_rpc_frm_item *item)
{
	if (item->fi_waits)
		waiting_leave(item);
	else
		item_out(item);
}

void m0_rpc__frm_remove(struct m0_rpc_frm_item *item)
{
	if (item->fi_frm == NULL)
		return;
	m0_list_del(&item->fi_link);
	m0_rpc__frm_leave(item);
}

struct m0_rpc_frm_item *m0_rpc__frm_oldest(const struct m0_rpc_frm *frm)
{
	struct m0_list_link *link = m0_list_first(&frm->f_age);

	return link == NULL
		       ? NULL
		       : container_of(link, struct m0_rpc_frm_item, fi_link);
}

/* --------------------------------------------------- streams and groups -- */

void m0_rpc__frm_stream_init(struct m0_rpc_frm_stream *stream)
{
	memset(stream, 0, sizeof *stream);
	m0_list_init(&stream->fst_items);
}

void m0_rpc__frm_stream_fini(struct m0_rpc_frm_stream *stream)
{
	m0_list_fini(&stream->fst_items);
}

void m0_rpc__frm_group_init(struct m0_rpc_frm_group *group)
{
	m0_list_init(&group->fg_items);
	group->fg_until = M0_TIME_NEVER;
	group->fg_is_closed = false;
}

void m0_rpc__frm_group_fini(struct m0_rpc_frm_group *group)
{
	m0_list_fini(&group->fg_items);
}

void m0_rpc__frm_group_close(struct m0_rpc_frm_group *group)
{
	struct m0_rpc_frm_item *item;
	struct m0_list_link    *link;

	group->fg_is_closed = true;
	while ((link = m0_list_first(&group->fg_items)) != NULL) {
		item = container_of(link, struct m0_rpc_frm_item,
				    fi_group_link);
		m0_list_del(link);
		m0_timerq_cancel(&item->fi_frm->f_set->fs_timers,
				 &item->fi_timer);
		item_reclass(item, FRM_URGENT);
	}
}

/* ----------------------------------------------------- init and limits -- */

void m0_rpc__frm_constraints_get_defaults(
	struct m0_rpc_frm_constraints *constraints)
{
	constraints->fc_max_nr_packets_enqed = 8;
	constraints->fc_max_packet_size = M0_RPC_DEF_MAX_RPC_MSG_SIZE;
	constraints->fc_max_nr_segments = 256;
	constraints->fc_max_nr_bytes_accumulated = M0_RPC_DEF_MAX_RPC_MSG_SIZE;
}

void m0_rpc__frm_init(struct m0_rpc_frm *frm, struct m0_rpc_frm_set *set,
		      const struct m0_rpc_frm_constraints *constraints,
		      const struct m0_rpc_frm_policy      *policy,
		      const struct m0_rpc_frm_ops         *ops)
{
	size_t i;

	memset(frm, 0, sizeof *frm);
	frm->f_set = set;
	frm->f_ops = ops;
	frm->f_policy = policy != NULL ? policy : &m0_rpc_frm_fifo;
	frm->f_constraints = *constraints;
	/* 0 in f_passed is nobody. */
	frm->f_seq = 1;
	m0_list_link_init(&frm->f_ready_link);
	m0_list_init(&frm->f_age);
	for (i = 0; i < ARRAY_SIZE(frm->f_class); ++i)
		m0_rpc__order_init(&frm->f_class[i], item_cmp, frm);
}

void m0_rpc__frm_fini(struct m0_rpc_frm *frm)
{
	M0_PRE(m0_rpc__frm_is_idle(frm));
	m0_list_del(&frm->f_ready_link);
	m0_list_fini(&frm->f_age);
}

void m0_rpc__frm_constraints_set(
	struct m0_rpc_frm                   *frm,
	const struct m0_rpc_frm_constraints *constraints)
{
	struct m0_rpc_frm_item *item;
	struct m0_rpc_frm_item *next;
	struct m0_list          refused;

	frm->f_constraints = *constraints;
	m0_list_init(&refused);
	m0_list_for_each_entry_safe(&frm->f_age, item, next,
				    struct m0_rpc_frm_item, fi_link) {
		if (m0_rpc__frm_fits(frm, item, M0_RPC_WIRE_PACKET_BYTES, 1))
			continue;
		m0_rpc__frm_remove(item);
		m0_list_add_tail(&refused, &item->fi_link);
	}
	m0_rpc__frm_kick(frm);
	/* Only now: the owner may change the cache. */
	while (!m0_list_is_empty(&refused)) {
		item = container_of(m0_list_first(&refused),
				    struct m0_rpc_frm_item, fi_link);
		m0_list_del(&item->fi_link);
		frm->f_ops->fo_refused(frm, item, -EMSGSIZE);
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Formation of packets from the cache of frm.c. */
#include "rpc/core/frm_internal.h"
#include "rpc/core/rpc_wire.h"

/** A packet while it is being filled. */
struct packing {
	struct m0_rpc_frm        *pk_frm;
	struct m0_rpc_frm_packet *pk_packet;
	/** The last item in it, and the latest that came. */
	struct m0_rpc_frm_item *pk_last;
	uint64_t                pk_seq;
	/** More that do not fit are not looked at. */
	unsigned pk_looks;
};

/* --------------------------------------------------------------- ready -- */

/** The cached items fill a packet. */
static bool is_full(const struct m0_rpc_frm *frm)
{
	const struct m0_rpc_frm_constraints *limit = &frm->f_constraints;
	m0_bcount_t                          bytes = 0;
	uint64_t                             segs = 1;
	int                                  i;

	for (i = FRM_HELD; i <= FRM_URGENT; ++i) {
		bytes += frm->f_bytes[i];
		segs += frm->f_segs_nr[i];
	}
	return bytes > 0 &&
	       (bytes >= limit->fc_max_nr_bytes_accumulated ||
		bytes + M0_RPC_WIRE_PACKET_BYTES >= limit->fc_max_packet_size ||
		segs >= limit->fc_max_nr_segments);
}

/** Apart: most networks do not ask. */
static __attribute__((__noinline__)) bool network_is_ready(
	const struct m0_rpc_frm *frm)
{
	struct m0_rpc_frm_load load = {
		.fl_urgent_nr = frm->f_nr[FRM_URGENT],
		.fl_waiting_nr = frm->f_nr[FRM_WAITING],
		.fl_held_nr = frm->f_nr[FRM_HELD],
		.fl_bytes = frm->f_bytes[FRM_URGENT] +
			    frm->f_bytes[FRM_WAITING] + frm->f_bytes[FRM_HELD],
		.fl_packets_enqed = frm->f_packets_enqed,
		.fl_is_full = is_full(frm),
	};

	/* Held items alone form no packet before they fill one. */
	if (load.fl_urgent_nr + load.fl_waiting_nr == 0 && !load.fl_is_full)
		return false;
	return frm->f_set->fs_network->fn_ready(&frm->f_constraints, &load);
}

static bool is_ready(const struct m0_rpc_frm *frm)
{
	const struct m0_rpc_frm_network *network = frm->f_set->fs_network;

	if (frm->f_items_nr == 0 ||
	    frm->f_packets_enqed >= frm->f_constraints.fc_max_nr_packets_enqed)
		return false;
	if (M0_UNLIKELY(network != NULL && network->fn_ready != NULL))
		return network_is_ready(frm);
	return frm->f_nr[FRM_URGENT] > 0 ||
	       (frm->f_nr[FRM_WAITING] > 0 && frm->f_packets_enqed == 0) ||
	       is_full(frm);
}

/* ------------------------------------------------------------- filling -- */

static void packet_add(struct m0_rpc_frm_packet *packet,
		       struct m0_rpc_frm_item   *item)
{
	m0_list_move_tail(&packet->fpk_items, &item->fi_link);
	++packet->fpk_nr;
	packet->fpk_bytes += item->fi_view.fv_size;
	packet->fpk_segs_nr += item->fi_segs_nr;
}

static bool fits(const struct packing *pack, const struct m0_rpc_frm_item *item)
{
	const struct m0_rpc_frm_packet *packet = pack->pk_packet;

	if (pack->pk_frm->f_set->fs_is_off && packet->fpk_nr > 0)
		return false;
	return m0_rpc__frm_fits(pack->pk_frm, item, packet->fpk_bytes,
				packet->fpk_segs_nr);
}

/** Room for any item at all. */
static bool has_room(const struct packing *pack)
{
	return pack->pk_frm->f_constraints.fc_max_packet_size -
		       pack->pk_packet->fpk_bytes >=
	       M0_RPC_WIRE_ITEM_BYTES;
}

static void take(struct packing *pack, struct m0_rpc_frm_item *item)
{
	m0_rpc__frm_leave(item);
	if (item->fi_seq > pack->pk_seq)
		pack->pk_seq = item->fi_seq;
	packet_add(pack->pk_packet, item);
	pack->pk_last = item;
}

static bool can_merge(const struct m0_rpc_frm *frm)
{
	return frm->f_policy->fp_merge != NULL && frm->f_ops->fo_merge != NULL;
}

/** `next` becomes part of `item`, the last of the packet, if policy and owner
 * like it; then it is to be removed. */
static bool merge_one(struct packing *pack, struct m0_rpc_frm_item *item,
		      struct m0_rpc_frm_item *next)
{
	struct m0_rpc_frm        *frm = pack->pk_frm;
	struct m0_rpc_frm_packet *packet = pack->pk_packet;
	m0_bcount_t               size = item->fi_view.fv_size;
	uint32_t                  segs_nr = item->fi_segs_nr;

	if (!fits(pack, next) ||
	    !frm->f_policy->fp_merge(&item->fi_view, &next->fi_view) ||
	    !frm->f_ops->fo_merge(frm, item, next))
		return false;
	if (next->fi_seq > pack->pk_seq)
		pack->pk_seq = next->fi_seq;
	packet->fpk_bytes += item->fi_view.fv_size - size;
	packet->fpk_segs_nr += item->fi_segs_nr;
	packet->fpk_segs_nr -= segs_nr;
	return true;
}

/** `node` and those behind it, as far as they can. @return the first that does
 * not. */
static struct m0_order_node *merge(struct packing         *pack,
				   struct m0_rpc_frm_item *item,
				   struct m0_order *class,
				   struct m0_order_node *node)
{
	struct m0_rpc_frm_item *next;

	if (!can_merge(pack->pk_frm))
		return node;
	for (; node != NULL;
	     node = m0_rpc__order_next(class, node), m0_rpc__frm_remove(next)) {
		next = m0_rpc__frm_item_of(node);
		if (next->fi_stream != NULL || !merge_one(pack, item, next))
			break;
	}
	return node;
}

/** Candidate of a stream: the item that follows in the stream, unless it would
 * not leave now because it stands in a lower class. */
static void merge_stream(struct packing *pack, struct m0_rpc_frm_item *item,
			 const struct m0_order *class)
{
	struct m0_rpc_frm_item *next;

	if (!can_merge(pack->pk_frm))
		return;
	while ((next = item->fi_stream->fst_head) != NULL &&
	       next->fi_slot >= class && merge_one(pack, item, next))
		m0_rpc__frm_remove(next);
}

/** Takes `item` of a class. @return where to go on. */
static struct m0_order_node *take_of(struct packing *pack,
				     struct m0_order *class,
				     struct m0_rpc_frm_item *item)
{
	struct m0_order_node *next = m0_rpc__order_next(class, &item->fi_node);
	struct m0_rpc_frm_item *head;

	take(pack, item);
	if (item->fi_stream == NULL)
		return merge(pack, item, class, next);
	merge_stream(pack, item, class);
	/* The one behind it in the stream may stand before the next one. */
	head = item->fi_stream->fst_head;
	if (head != NULL && head->fi_slot == class &&
	    (next == NULL ||
	     class->or_cmp(&head->fi_node, next, class->or_env) < 0))
		return &head->fi_node;
	return next;
}

/** Does the policy want the packet to end before `item`? */
static bool is_cut(const struct packing *pack, unsigned slot,
		   const struct m0_rpc_frm_item *item)
{
	const struct m0_rpc_frm_policy *policy = pack->pk_frm->f_policy;

	return slot < FRM_URGENT * M0_RPC_ITEM_PRIO_NR &&
	       policy->fp_cut != NULL && pack->pk_last != NULL &&
	       policy->fp_cut(&pack->pk_last->fi_view, &item->fi_view);
}

/** Take items that were passed over too often, oldest first. False: no younger
 * item may be taken. */
static bool pack_starved(struct packing *pack)
{
	struct m0_rpc_frm *frm = pack->pk_frm;
	uint64_t           limit = frm->f_passed[M0_RPC_FRM_PASSED_MAX - 1];
	struct m0_rpc_frm_item *item = m0_rpc__frm_oldest(frm);

	/* The first item of a stream is its oldest. */
	for (; item != NULL && item->fi_seq < limit;
	     item = m0_rpc__frm_oldest(frm)) {
		if (!fits(pack, item))
			return false;
		take(pack, item);
	}
	return true;
}

/** False: the packet has ended. */
static bool pack_class(struct packing *pack, unsigned slot)
{
	struct m0_order *class = &pack->pk_frm->f_class[slot];
	struct m0_order_node   *node = m0_rpc__order_first(class);
	struct m0_rpc_frm_item *item;

	while (node != NULL) {
		item = m0_rpc__frm_item_of(node);
		if (is_cut(pack, slot, item))
			return false;
		if (fits(pack, item)) {
			node = take_of(pack, class, item);
		} else {
			if (pack->pk_looks-- == 0 || !has_room(pack))
				return false;
			node = m0_rpc__order_next(class, node);
		}
	}
	return true;
}

/** Room that is left goes to auxiliary items. */
static void pack_spare(struct packing *pack)
{
	struct m0_rpc_frm        *frm = pack->pk_frm;
	struct m0_rpc_frm_packet *packet = pack->pk_packet;
	struct m0_rpc_frm_item   *item;
	int                       rc;

	if (frm->f_ops->fo_spare == NULL || frm->f_set->fs_is_off)
		return;
	for (;;) {
		if (!has_room(pack))
			return;
		item = frm->f_ops->fo_spare(
			frm,
			frm->f_constraints.fc_max_packet_size -
				packet->fpk_bytes,
			frm->f_constraints.fc_max_nr_segments -
				packet->fpk_segs_nr);
		if (item == NULL)
			return;
		M0_PRE(item->fi_frm == NULL && item->fi_stream == NULL);
		if (!fits(pack, item))
			break;
		packet_add(packet, item);
	}
	item->fi_deadline = 0;
	item->fi_group = NULL;
	rc = m0_rpc__frm_enq(frm, item, 0, 0);
	if (rc != 0)
		frm->f_ops->fo_refused(frm, item, rc);
}

/** Notes that all older than `seq` were passed over once more. */
static void passed_note(struct m0_rpc_frm *frm, uint64_t seq)
{
	const unsigned last = M0_RPC_FRM_PASSED_MAX - 1;
	unsigned       i = 0;

	if (seq <= frm->f_passed[last])
		return;
	/* Mostly it is the latest. */
	while (frm->f_passed[i] >= seq)
		++i;
	memmove(&frm->f_passed[i + 1], &frm->f_passed[i],
		(last - i) * sizeof frm->f_passed[0]);
	frm->f_passed[i] = seq;
}

static void pack(struct m0_rpc_frm *frm, struct m0_rpc_frm_packet *packet)
{
	struct packing pack = { .pk_frm = frm,
				.pk_packet = packet,
				.pk_looks = M0_RPC_FRM_LOOK_MAX };
	unsigned lowest = is_full(frm) ? 0 : FRM_WAITING * M0_RPC_ITEM_PRIO_NR;
	unsigned slot = M0_RPC_FRM_CLASS_NR;

	m0_list_init(&packet->fpk_items);
	packet->fpk_frm = frm;
	packet->fpk_nr = 0;
	packet->fpk_bytes = M0_RPC_WIRE_PACKET_BYTES;
	packet->fpk_segs_nr = 1;
	if (pack_starved(&pack)) {
		while (frm->f_items_nr > 0 && slot-- > lowest) {
			if (!pack_class(&pack, slot))
				break;
		}
	}
	M0_ASSERT(packet->fpk_nr > 0);
	passed_note(frm, pack.pk_seq);
	pack_spare(&pack);
	++frm->f_packets_enqed;
	frm->f_ops->fo_packet_ready(frm, packet);
}

/* ------------------------------------------------------------- running -- */

bool m0_rpc__frm_run(struct m0_rpc_frm *frm)
{
	struct m0_rpc_frm_packet *packet;

	while (is_ready(frm)) {
		packet = frm->f_ops->fo_packet_get(frm);
		if (packet == NULL)
			return false;
		pack(frm, packet);
	}
	return true;
}

void m0_rpc__frm_kick(struct m0_rpc_frm *frm)
{
	if (!m0_list_link_is_in(&frm->f_ready_link))
		m0_list_add_tail(&frm->f_set->fs_ready, &frm->f_ready_link);
}

void m0_rpc__frm_packet_done(struct m0_rpc_frm_packet *packet)
{
	struct m0_rpc_frm *frm = packet->fpk_frm;

	M0_PRE(frm->f_packets_enqed > 0);
	--frm->f_packets_enqed;
	m0_rpc__frm_kick(frm);
}

void m0_rpc__frm_set_init(struct m0_rpc_frm_set *set, m0_time_t now,
			  bool formation_off)
{
	set->fs_is_off = formation_off;
	set->fs_network = NULL;
	m0_timerq_init(&set->fs_timers, now);
	m0_list_init(&set->fs_ready);
	m0_list_init(&set->fs_without);
}

void m0_rpc__frm_set_fini(struct m0_rpc_frm_set *set)
{
	m0_timerq_fini(&set->fs_timers);
	m0_list_fini(&set->fs_ready);
	m0_list_fini(&set->fs_without);
}

m0_time_t m0_rpc__frm_set_next(const struct m0_rpc_frm_set *set)
{
	return set->fs_timers.tq_nr > 0 ? m0_timerq_next(&set->fs_timers)
					: M0_TIME_NEVER;
}

bool m0_rpc__frm_set_run(struct m0_rpc_frm_set *set, m0_time_t now)
{
	struct m0_rpc_frm *frm;
	struct m0_timer   *timer;

	while (set->fs_timers.tq_nr > 0 &&
	       (timer = m0_timerq_expire(&set->fs_timers, now)) != NULL)
		m0_rpc__frm_item_expired(
			container_of(timer, struct m0_rpc_frm_item, fi_timer),
			now);
	m0_list_splice_tail(&set->fs_ready, &set->fs_without);
	while (!m0_list_is_empty(&set->fs_ready)) {
		frm = container_of(m0_list_first(&set->fs_ready),
				   struct m0_rpc_frm, f_ready_link);
		m0_list_del(&frm->f_ready_link);
		if (!m0_rpc__frm_run(frm))
			m0_list_move_tail(&set->fs_without, &frm->f_ready_link);
	}
	return m0_list_is_empty(&set->fs_without);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "ring/ring.h"

/* Both sides see an event as a struct m0_lnet_event. */
#define SAME(ring, event)                                                 \
	_Static_assert(offsetof(struct m0_ring_event, ring) ==            \
			       offsetof(struct m0_lnet_event, event),     \
		       #event);                                           \
	_Static_assert(sizeof((struct m0_ring_event){ 0 }.ring) <=        \
			       sizeof((struct m0_lnet_event){ 0 }.event), \
		       #event)
SAME(rev_type, ev_type);
SAME(rev_status, ev_status);
SAME(rev_unlinked, ev_unlinked);
SAME(rev_target, ev_target);
SAME(rev_initiator, ev_initiator);
SAME(rev_source, ev_source);
SAME(rev_sender, ev_sender);
SAME(rev_portal, ev_portal);
SAME(rev_match_bits, ev_match_bits);
SAME(rev_hdr_data, ev_hdr_data);
SAME(rev_rlength, ev_rlength);
SAME(rev_mlength, ev_mlength);
SAME(rev_offset, ev_offset);
SAME(rev_is_get, ev_is_get);
SAME(rev_md_nr, ev_md);
SAME(rev_md_user, ev_md_user);
SAME(rev_op_user, ev_op_user);
_Static_assert(sizeof(struct m0_ring_event) == sizeof(struct m0_lnet_event),
	       "an event has no more than that");

const uint32_t m0_ring_record_bytes[M0_RING_TABLES_NR] = {
	[M0_RING_MES] = sizeof(struct m0_ring_me),
	[M0_RING_MDS] = sizeof(struct m0_ring_md),
	[M0_RING_OPS] = sizeof(struct m0_ring_op),
	[M0_RING_INCOMINGS] = sizeof(struct m0_ring_incoming),
	[M0_RING_EQS] = sizeof(struct m0_ring_eq),
	[M0_RING_SEGS] = sizeof(struct m0_ring_segs),
	[M0_RING_CONTROLS] = sizeof(struct m0_ring_control),
};

void m0_ring_out_init(struct m0_ring_out *out, struct m0_ring_queue *queue)
{
	out->rou_queue = queue;
	out->rou_put_nr = 0;
	out->rou_first = NULL;
	out->rou_tail = &out->rou_first;
}

void m0_ring_in_init(struct m0_ring_in *in, struct m0_ring_queue *queue)
{
	in->rie_queue = queue;
	in->rie_taken_nr = 0;
}

void m0_ring_wait(struct m0_ring_out *out, const struct m0_ring_entry *entry,
		  struct m0_ring_place *place)
{
	M0_PRE(!place->rgp_waits);
	place->rgp_entry = *entry;
	place->rgp_next = NULL;
	place->rgp_waits = true;
	__atomic_store_n(&out->rou_queue->rqu_waits, 1, __ATOMIC_RELEASE);
	*out->rou_tail = place;
	out->rou_tail = &place->rgp_next;
}

bool m0_ring_refill(struct m0_ring_out *out)
{
	struct m0_ring_place *place;
	bool                  any = false;

	while ((place = out->rou_first) != NULL && m0_ring_has_room(out)) {
		out->rou_first = place->rgp_next;
		if (out->rou_first == NULL)
			out->rou_tail = &out->rou_first;
		place->rgp_waits = false;
		m0_ring_put(out, &place->rgp_entry);
		any = true;
	}
	if (any && out->rou_first == NULL)
		__atomic_store_n(&out->rou_queue->rqu_waits, 0,
				 __ATOMIC_RELEASE);
	return any;
}

int m0_ring_view_init(struct m0_ring_view *view, uint32_t records_max)
{
	M0_PRE(records_max > 0);
	view->rvi_chunks_max = (records_max + M0_RING_CHUNK_NR - 1) /
			       M0_RING_CHUNK_NR;
	M0_ALLOC_ARR(view->rvi_chunks, view->rvi_chunks_max);
	return view->rvi_chunks == NULL ? -ENOMEM : 0;
}

void m0_ring_view_fini(struct m0_ring_view *view)
{
	m0_free0(&view->rvi_chunks);
	view->rvi_chunks_max = 0;
}

/* Between an offset, or an address, and the other. */
static void *moved(const void *at, uintptr_t by)
{
	return (void *)((uintptr_t)at + by);
}

/** Moves the lists of what is preferred. @return their bytes. */
static size_t preferred_move(struct m0_lnet_peer_info *peer, uintptr_t by)
{
	size_t   nids_nr = 0;
	unsigned i;

	for (i = 0; i < peer->pei_nis_nr; ++i) {
		struct m0_lnet_peer_ni_info *ni = &peer->pei_nis[i];

		nids_nr += ni->pni_sources_nr + ni->pni_gateways_nr;
		ni->pni_preferred = moved(ni->pni_preferred, by);
	}
	return nids_nr * sizeof(struct m0_lnet_nid);
}

size_t m0_ring_info_pack(struct m0_lnet_info *info)
{
	uintptr_t by = -(uintptr_t)info;
	size_t bytes = sizeof *info + info->li_nis_nr * sizeof *info->li_nis +
		       info->li_peers_nr * sizeof *info->li_peers;
	unsigned i;

	for (i = 0; i < info->li_peers_nr; ++i) {
		struct m0_lnet_peer_info *peer = &info->li_peers[i];

		bytes += peer->pei_nis_nr * sizeof *peer->pei_nis +
			 preferred_move(peer, by);
		peer->pei_nis = moved(peer->pei_nis, by);
	}
	info->li_nis = moved(info->li_nis, by);
	info->li_peers = moved(info->li_peers, by);
	M0_POST((uintptr_t)info->li_peers <= bytes);
	return bytes;
}

/* Does an array lie in a block, behind its head? */
static bool array_is_in(const void *offset, size_t nr, size_t each,
			size_t bytes)
{
	uintptr_t at = (uintptr_t)offset;

	return at >= sizeof(struct m0_lnet_info) && at <= bytes &&
	       at % sizeof(uint64_t) == 0 && nr <= (bytes - at) / each;
}

bool m0_ring_info_check(const struct m0_lnet_info *info, size_t bytes)
{
	const struct m0_lnet_peer_info *peers;
	unsigned                        i;

	if (bytes < sizeof *info ||
	    !array_is_in(info->li_nis, info->li_nis_nr, sizeof *info->li_nis,
			 bytes) ||
	    !array_is_in(info->li_peers, info->li_peers_nr,
			 sizeof *info->li_peers, bytes))
		return false;
	peers = moved(info->li_peers, (uintptr_t)info);
	for (i = 0; i < info->li_peers_nr; ++i)
		if (!array_is_in(peers[i].pei_nis, peers[i].pei_nis_nr,
				 sizeof *peers[i].pei_nis, bytes))
			return false;
	return true;
}

void m0_ring_info_unpack(struct m0_lnet_info *info)
{
	uintptr_t by = (uintptr_t)info;
	unsigned  i;

	info->li_nis = moved(info->li_nis, by);
	info->li_peers = moved(info->li_peers, by);
	for (i = 0; i < info->li_peers_nr; ++i) {
		struct m0_lnet_peer_info *peer = &info->li_peers[i];

		peer->pei_nis = moved(peer->pei_nis, by);
		(void)preferred_move(peer, by);
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Requests that are merged in the formation, as their type says: one carries the
 * other, which is its part (ril_parts) from then on.
 */
#include "rpc/rpc_internal.h"

/* Both of a stream: its core, if `next` directly follows; NULL: it does not. */
static struct m0_rpc_cstream *merge_stream(const struct m0_rpc_item *item,
					   const struct m0_rpc_item *next)
{
	const struct m0_rpc__item *il = m0_rpc__il(item);
	struct m0_rpc_cstream     *core =
		&il->ril_session->rsx_streams[item->ri_stream - 1].rsy_core;

	return item->ri_stream == next->ri_stream &&
			       m0_rpc_cstream_follows(
				       core, &il->ril_citem,
				       &m0_rpc__il(next)->ril_citem)
		       ? core
		       : NULL;
}

/* A part is none of its stream's any more: its work has the number of the one
 * that carries it, and is executed, answered and sent again with that. */
static void part_unstream(struct m0_rpc_item *part)
{
	struct m0_rpc__item   *il = m0_rpc__il(part);
	struct m0_rpc__stream *stream =
		&il->ril_session->rsx_streams[part->ri_stream - 1];

	M0_PRE(il->ril_flags & M0_RPC__IF_IN_STREAM);
	(void)m0_rpc_cstream_drop(&stream->rsy_core, &il->ril_citem,
				  il->ril_session->rsx_machine->rml_now);
	il->ril_flags &= ~(uint32_t)M0_RPC__IF_IN_STREAM;
	/* The window of the stream has room now. */
	m0_rpc__stream_ready(stream);
}

bool m0_rpc__frm_merge(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *fi,
		       struct m0_rpc_frm_item *fi_next)
{
	struct m0_rpc__item *il =
		container_of(fi, struct m0_rpc__item, ril_frm);
	struct m0_rpc__item *il_next =
		container_of(fi_next, struct m0_rpc__item, ril_frm);
	struct m0_rpc_item     *item = m0_rpc__item_of(il);
	struct m0_rpc_item     *next = m0_rpc__item_of(il_next);
	struct m0_rpc_item     *last = next;
	struct m0_rpc__machine *m = il->ril_target->trg_machine;

	(void)frm;
	if (item->ri_type != next->ri_type ||
	    item->ri_type->rit_ops->rito_io_coalesce == NULL ||
	    il->ril_session != il_next->ril_session ||
	    il->ril_session == NULL || item->ri_nr_sent > 0 ||
	    next->ri_nr_sent > 0 ||
	    (fi->fi_stream != NULL && merge_stream(item, next) == NULL) ||
	    !item->ri_type->rit_ops->rito_io_coalesce(item, next))
		return false;
	if (fi->fi_stream != NULL)
		part_unstream(next);
	il->ril_payload = item->ri_type->rit_ops->rito_payload_size(item);
	item->ri_size = m0_rpc__wire_item_size(il->ril_payload);
	fi->fi_view.fv_size = item->ri_size;
	/* In as many pieces as both had; it may have to be encoded now. */
	fi->fi_segs_nr = m0_rpc__item_segs(
		m, item, fi->fi_segs_nr + fi_next->fi_segs_nr);
	M0_RPC__COUNT(m, rs_nr_coalesced_items, 1);
	il_next->ril_flags |= M0_RPC__IF_PART;
	m0_rpc__link_left(next);
	while (m0_rpc__il(last)->ril_parts != NULL)
		last = m0_rpc__il(last)->ril_parts;
	m0_rpc__il(last)->ril_parts = il->ril_parts;
	il->ril_parts = next;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Cancelling items that are posted here.
 *
 * The only trace of a cancel that is in the inbox is a bit in ril_gate: the code
 * that ends the item finds it there and leaves the rest to the cancel.
 */
#include "rpc/rpc_internal.h"

/* A request that the server may have: it need not begin. */
static void server_notify(struct m0_rpc__machine *m, struct m0_rpc_item *item)
{
	struct m0_rpc__item *il = m0_rpc__il(item);
	struct m0_rpc__note *note;

	M0_PRE(m0_rpc__is_here(m));
	if (item->ri_nr_sent == 0 || il->ril_session == NULL ||
	    il->ril_session->rsx_session == NULL ||
	    il->ril_conn->rcx_target == NULL)
		return;
	note = m0_rpc__note_new(m, M0_RPC_OP_CANCEL, 0);
	if (note == NULL)
		return;
	note->rno_flags = M0_RPC_WIRE_ONEWAY | M0_RPC_WIRE_CANCEL;
	m0_rpc__il(&note->rno_item)->ril_re = (struct m0_rpc__re){
		.rre_session = il->ril_session->rsx_id,
		.rre_stream = item->ri_stream,
		.rre_xid = item->ri_stream != 0 ? il->ril_citem.rci_xid
						: il->ril_xid,
	};
	m0_rpc__note_send(note, il->ril_on != NULL ? il->ril_on->lnk_target
						   : il->ril_conn->rcx_target);
}

static void cancel_run(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__item *il =
		container_of(call, struct m0_rpc__item, ril_cancel);
	struct m0_rpc_item *item = m0_rpc__item_of(il);

	M0_PRE(m0_rpc__is_here(m));
	if (__atomic_fetch_and(&il->ril_gate, ~(uint32_t)M0_RPC__IG_CANCEL,
			       __ATOMIC_ACQ_REL) &
	    M0_RPC__IG_ENDED) {
		m0_rpc__item_notify(m, item);
		m0_rpc__changed(m);
		return;
	}
	if (il->ril_flags & (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS))
		return;
	server_notify(m, item);
	m0_rpc__item_end(item, -ECANCELED, NULL);
}

void m0_rpc_item_cancel(struct m0_rpc_item *item)
{
	struct m0_rpc__item   *il = m0_rpc__il(item);
	uint32_t               gate = 0;
	enum m0_rpc_item_state state = m0_rpc_item_state(item);

	M0_PRE(item->ri_type != NULL);
	if (state == M0_RPC_ITEM_INITIALISED || m0_rpc__item_is_final(state) ||
	    (item->ri_type->rit_flags & M0_RPC_ITEM_TYPE_REPLY))
		return;
	/* Cancelled already, or ending. */
	if (!__atomic_compare_exchange_n(&il->ril_gate, &gate,
					 M0_RPC__IG_CANCEL, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	il->ril_cancel.rcl_run = cancel_run;
	if (m0_rpc__call_push(item->ri_rmachine->rm_lib, &il->ril_cancel) != 0)
		__atomic_fetch_and(&il->ril_gate, ~(uint32_t)M0_RPC__IG_CANCEL,
				   __ATOMIC_ACQ_REL);
}

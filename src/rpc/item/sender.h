/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Packets that leave. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_SENDER_H
#define M0_SRC_RPC_SENDER_H

/** A packet, and its registered buffer. */
struct m0_rpc__packet {
	struct m0_rpc_frm_packet rpk_frm;
	struct m0_net_buffer     rpk_nb;
	struct m0_rpc__machine  *rpk_machine;
	struct m0_rpc__target   *rpk_target;
	/** Free or busy. */
	struct m0_list_link rpk_link;
	uint8_t            *rpk_memory;
	/** rml_sender.rsn_segs_max of each. */
	void                  **rpk_base;
	m0_bcount_t            *rpk_count;
	struct m0_rpc_wire_seg *rpk_seg;
	unsigned                rpk_segs_nr;
	/** Written into rpk_memory; of it, before the piece that is open. */
	size_t rpk_used;
	size_t rpk_cut;
	/** The packet was refused and leaves again; rpa_ns is the next wait. */
	struct m0_rpc__pause rpk_pause;
};

/** Where packets go, and the packets that are on their way. */
struct m0_rpc__sender {
	/** Functions that formation calls: rpc_send.c's, for all targets. */
	const struct m0_rpc_frm_ops *rsn_frm_ops;
	struct m0_rpc_frm_set        rsn_frms;
	/** Destinations by end point and policy; the one found last. */
	struct m0_hash         rsn_targets;
	struct m0_rpc__target *rsn_target_last;
	/** Send buffers by rpk_link, free and busy; how many exist, and how many
	 * are busy. */
	struct m0_list rsn_packets;
	struct m0_list rsn_packets_busy;
	uint32_t       rsn_packets_nr;
	uint32_t       rsn_packets_busy_nr;
	/** Busy packets that refuse a version; at most M0_RPC__REFUSALS_MAX. */
	uint32_t rsn_refusals_nr;
	/** Answers of the library on their way; at most M0_RPC__NOTICES_MAX. */
	uint32_t rsn_notices_nr;
	/** Segments of a packet. */
	uint32_t rsn_segs_max;
	/** Bodies may be segments; false: they are copied. */
	bool rsn_gathers;
	/** Bytes of the largest packet. */
	m0_bcount_t            rsn_msg_size;
	struct m0_rpc_wire_sum rsn_sum;
};

void m0_rpc__sender_init(struct m0_rpc__machine *m);
void m0_rpc__sender_fini(struct m0_rpc__sender *sender);

/** Formation asks whether the second item may leave as part of the first. */
bool m0_rpc__frm_merge(struct m0_rpc_frm *frm, struct m0_rpc_frm_item *fi,
		       struct m0_rpc_frm_item *fi_next);
/** Gives up what is on its way there. */
void m0_rpc__packets_cancel(struct m0_rpc__target *target);
/** Packets that were refused do not leave again: the machine stops. */
void m0_rpc__packets_stop(struct m0_rpc__machine *m);
void m0_rpc__packets_fini(struct m0_rpc__machine *m);
/** Sends "I do not speak your version". */
void m0_rpc__refusal_send(struct m0_rpc__machine  *m,
			  struct m0_net_end_point *ep);

static inline bool m0_rpc__sender_invariant(const struct m0_rpc__sender *sender)
{
	return _0C(sender->rsn_frm_ops != NULL) &&
	       _0C(sender->rsn_packets_nr <= M0_RPC__PACKETS_MAX) &&
	       _0C(sender->rsn_packets_busy_nr <= sender->rsn_packets_nr) &&
	       _0C(sender->rsn_refusals_nr <= sender->rsn_packets_busy_nr) &&
	       _0C(sender->rsn_refusals_nr <= M0_RPC__REFUSALS_MAX) &&
	       _0C(sender->rsn_notices_nr <= M0_RPC__NOTICES_MAX) &&
	       _0C((sender->rsn_packets_busy_nr == 0) ==
		   m0_list_is_empty(&sender->rsn_packets_busy)) &&
	       _0C(sender->rsn_segs_max > 0) && _0C(sender->rsn_msg_size > 0);
}

static inline bool m0_rpc__packet_invariant(const struct m0_rpc__packet *packet)
{
	return _0C(packet->rpk_machine != NULL) &&
	       _0C(packet->rpk_memory != NULL) &&
	       _0C(packet->rpk_cut <= packet->rpk_used);
}

#endif /* M0_SRC_RPC_SENDER_H */

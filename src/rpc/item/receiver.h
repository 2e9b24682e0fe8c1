/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Packets and items that come. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_RECEIVER_H
#define M0_SRC_RPC_RECEIVER_H

/**
 * Memory of packets that came: a net buffer of the pool, whose nb_app_private
 * counts its references, or with bit 0 set a block on the heap. 0: none.
 */
/** Put the reference of an item. Any thread. */
void m0_rpc__rbuf_put(struct m0_rpc__machine *m, uintptr_t rbuf);
/** Receive buffers. */
struct m0_rpc__receiver {
	/** The application's, or rrv_pool_own. */
	struct m0_net_buffer_pool *rrv_pool;
	struct m0_net_buffer_pool  rrv_pool_own;
	/** Buffers of rrv_pool_own to be freed: they were in use when the
	 * address that they were for went. Under its lock. */
	uint32_t rrv_pool_spare_nr;
	uint32_t rrv_colour;
	uint32_t rrv_queue_len;
	/** Full buffers that items may hold; that they hold. Atomic. */
	uint32_t rrv_held_max;
	uint32_t rrv_held_nr;
	/** Bytes of packets that were copied. Atomic. */
	m0_bcount_t rrv_copies_bytes;
};

static inline bool m0_rpc__receiver_invariant(
	const struct m0_rpc__receiver *receiver)
{
	return _0C(receiver->rrv_pool != NULL) &&
	       _0C(receiver->rrv_held_max > 0) &&
	       _0C(receiver->rrv_queue_len > 0) &&
	       _0C(ergo(receiver->rrv_pool != &receiver->rrv_pool_own,
			receiver->rrv_pool_spare_nr == 0));
}

extern const struct m0_net_buffer_callbacks m0_rpc__recv_callbacks;
int  m0_rpc__recv_init(struct m0_rpc__machine    *m,
		       struct m0_net_buffer_pool *pool);
void m0_rpc__recv_fini(struct m0_rpc__machine *m);

/** An item that came, while its packet is taken apart. */
struct m0_rpc__came {
	struct m0_rpc_wire_packet rca_packet;
	struct m0_rpc_wire_item   rca_item;
	const void               *rca_body;
	struct m0_net_end_point  *rca_ep;
	/** To the sender, by the machine's own policy; when it was needed. */
	struct m0_rpc__target *rca_target;
	/** The sender; when it was needed. A handshake may change it. */
	struct m0_rpc__client *rca_client;
	uintptr_t              rca_rbuf;
	/** References to that, for items still to be made. */
	uint32_t rca_refs_nr;
	/** Packet size of a client that is to be established. */
	uint32_t rca_packet_max;
	/** Bytes of the packet. */
	uint32_t rca_nr;
};
/** Makes an item of it. */
int m0_rpc__came_decode(struct m0_rpc__machine *m, struct m0_rpc__came *came,
			const struct m0_rpc_item_type *type,
			struct m0_rpc_item           **ret);

#endif /* M0_SRC_RPC_RECEIVER_H */

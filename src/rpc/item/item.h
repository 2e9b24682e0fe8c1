/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Items: what the library keeps of one, its states and its end. Part of
 * rpc_internal.h.
 */
#ifndef M0_SRC_RPC_ITEM_H
#define M0_SRC_RPC_ITEM_H

/* ---------------------------------------------------------------- type.c -- */

enum {
	M0_RPC__TYPES_MAX = 4096
};
/** Its place among all of them, where others may have been before. */
static inline uint32_t m0_rpc__type_place(const struct m0_rpc_item_type *type)
{
	return type->rit_index % M0_RPC__TYPES_MAX;
}

/* ---------------------------------------------------------------- item.c -- */

enum m0_rpc__item_flags {
	/** Among the machine's m0_rpc__cached_nr(). */
	M0_RPC__IF_CACHED = 1,
	/** In rml_ends.ren_list. */
	M0_RPC__IF_ENDED = 2,
	/** Put the item into the formation when its packet has left. */
	M0_RPC__IF_AGAIN = 4,
	/** Put the item into the formation when its session is up again. */
	M0_RPC__IF_PARKED = 8,
	/** Its memory is in a packet that is on its way. */
	M0_RPC__IF_GATHERED = 16,
	/** Ends when that has left: ri_error and ri_reply are set. */
	M0_RPC__IF_ENDS = 32,
	/** A reply that is kept for duplicates: not put when it has left. */
	M0_RPC__IF_KEPT = 64,
	/** The item is in a stream. */
	M0_RPC__IF_IN_STREAM = 128,
	/** A session or connection counts it. */
	M0_RPC__IF_HELD = 256,
	/** Incoming: its sender has given it up. */
	M0_RPC__IF_UNWANTED = 512,
	/** Incoming: of no stream, in its client's table. */
	M0_RPC__IF_IN_DUPS = 1024,
	/** Incoming: counted as being executed. */
	M0_RPC__IF_EXECUTING = 2048,
	/** Incoming: a reply was posted. */
	M0_RPC__IF_ANSWERED = 4096,
	/** Leaves its link: to be put on another. */
	M0_RPC__IF_MOVES = 8192,
	/** Carried by another one (ril_parts), which ends it. */
	M0_RPC__IF_PART = 16384,
	/** A reply that could not be encoded: its error is sent as a status. */
	M0_RPC__IF_MUTE = 32768
};

/** ril_gate: decides between a cancel and an end. Atomic. */
enum m0_rpc__item_gate {
	M0_RPC__IG_CANCEL = 1,
	M0_RPC__IG_ENDED = 2
};

/** A request of which this is the reply. */
struct m0_rpc__re {
	uint64_t            rre_session;
	uint64_t            rre_xid;
	uint32_t            rre_stream;
	int32_t             rre_status;
	struct m0_rpc_item *rre_request;
};

/**
 * The owner of a posted item is the session or connection that it was posted
 * to. Replies and notes that ask nothing have none. The table of an owner is in
 * client/posted.c; all three functions are there, and are called on the
 * machine's thread.
 */
struct m0_rpc__owner {
	/** The packet of the item has left, or was lost with this error. The
	 * item has not ended. */
	void (*own_sent)(struct m0_rpc__machine *m, struct m0_rpc_item *item,
			 int rc);
	/** The item ends: the owner removes it from where it is found by its
	 * number. */
	void (*own_leave)(struct m0_rpc__machine *m, struct m0_rpc_item *item);
	/** The poster has been notified: the owner has one item less, and may be
	 * gone after this. So may the item, which is why the call passes its
	 * session and connection. */
	void (*own_release)(struct m0_rpc__session *session,
			    struct m0_rpc__conn    *conn);
};

/** ri_lib: what the library keeps of an item. */
struct m0_rpc__item {
	/** Its post, or what becomes of it; in the inbox. */
	struct m0_rpc__call ril_call;
	/** Incoming: it is back from its pool. */
	struct m0_rpc__call ril_cancel;
	/** Where it goes, or (incoming) its answer goes. */
	struct m0_rpc__target *ril_target;
	m0_bcount_t            ril_payload;
	uint64_t               ril_xid;
	uint32_t               ril_flags;
	uint32_t               ril_gate;
	/** Memory of what came: see rbuf. */
	uintptr_t ril_rbuf;
	/** Outgoing: of its session or connection; or in rml_ends.ren_list. */
	struct m0_list_link ril_link;
	union {
		/** Outgoing. */
		struct {
			struct m0_rpc_frm_item ril_frm;
			struct m0_timer        ril_timer;
			struct m0_rpc__packet *ril_packet;
			/** NULL: it has none. */
			const struct m0_rpc__owner *ril_owner;
			struct m0_rpc__session     *ril_session;
			struct m0_rpc__conn        *ril_conn;
			/** Link that counts the item, with so many bytes. */
			struct m0_rpc__link *ril_on;
			m0_bcount_t          ril_on_bytes;
			/** Carried by this one, or next. */
			struct m0_rpc_item *ril_parts;
			union {
				/** State of an item in a stream. */
				struct m0_rpc_citem ril_citem;
				/** State of an item outside streams. */
				struct {
					m0_time_t           ril_resend_ns;
					struct m0_rpc_item *ril_xid_next;
				};
				struct m0_rpc__re ril_re;
			};
		};
		/** Incoming: of replies ril_tm alone is set. */
		struct {
			struct m0_rpc_item *ril_pool_next;
			/** By which it came. Atomic. */
			struct m0_net_transfer_mc *ril_tm;
			struct m0_rpc__client     *ril_client;
			struct m0_rpc__sstream    *ril_sstream;
			uint64_t                   ril_in_session;
			uint64_t                   ril_in_ack;
			uint32_t                   ril_in_stream;
			int32_t                    ril_bad;
			struct m0_rpc_dup          ril_dup;
			/** Bytes that the client is charged while it is held. */
			uint32_t ril_held_bytes;
			/** By its update, not sent yet. */
			struct m0_rpc_item *ril_answer;
			struct m0_rpc__job *ril_job;
			/** The last one: the answer that it has without a
			 * reply. */
			int32_t ril_status;
		};
	};
};

_Static_assert(sizeof(struct m0_rpc__item) <=
		       sizeof(((struct m0_rpc_item *)0)->ri_lib),
	       "ri_lib is too small");

static inline struct m0_rpc__item *m0_rpc__il(const struct m0_rpc_item *item)
{
	return (struct m0_rpc__item *)(uintptr_t)item->ri_lib;
}

static inline struct m0_rpc_item *m0_rpc__item_of(const struct m0_rpc__item *il)
{
	return (struct m0_rpc_item *)((uintptr_t)il -
				      offsetof(struct m0_rpc_item, ri_lib));
}

/** Any thread sees it. */
static inline void m0_rpc__state_set(struct m0_rpc_item    *item,
				     enum m0_rpc_item_state state)
{
	__atomic_store_n(&item->ri_state, (uint32_t)state, __ATOMIC_RELEASE);
}

/** Items that have ended, and the one whose poster is being notified. */
struct m0_rpc__ends {
	/** By ril_link: their posters are still to be notified. */
	struct m0_list ren_list;
	/** The item whose poster is in rio_replied; it was posted again there.
	 * Its session, and how many were posted in that since. */
	const struct m0_rpc_item     *ren_notified;
	bool                          ren_notified_again;
	const struct m0_rpc__session *ren_notified_session;
	uint32_t                      ren_notified_posts;
	/** The item of which the poster is being notified, for threads that
	 * wait. Atomic. */
	const struct m0_rpc_item *ren_notifying;
};

void m0_rpc__ends_init(struct m0_rpc__ends *ends);
void m0_rpc__ends_fini(struct m0_rpc__ends *ends);

/** The answer has arrived, so the item has left, even if the event of its
 * packet is still to come: some transports complete a send early. Call it
 * before the item ends. @return false: the callback of the poster has ended the
 * item, with its session. */
bool m0_rpc__item_answered(struct m0_rpc_item *item);
/**
 * Ends a posted item, with an error or a reply (whose reference goes along):
 * removes it from all structures, now, or when its packet has left if that refers
 * to its memory. The end of the step notifies its poster.
 */
void m0_rpc__item_end(struct m0_rpc_item *item, int rc,
		      struct m0_rpc_item *reply);
/** End a reply whose packet has left or was lost; the reply is in no formation,
 * packet or list. */
void m0_rpc__reply_end(struct m0_rpc_item *reply, int rc);
/** Its packet has left, and it was to end then. */
void m0_rpc__item_ends(struct m0_rpc_item *item);
/**
 * Notifies the posters of at most `max` items that have ended.
 * @return how many items.
 */
unsigned m0_rpc__ended_run(struct m0_rpc__machine *m, unsigned max);
/** Notifies the poster of an item that has ended, and puts the reference of its
 * post. Not of replies. */
void m0_rpc__item_notify(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** Sets what post and the like have in common; a reply to what it was before is
 * forgotten. Any thread. */
void m0_rpc__item_prepare(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** Number of segments that the body takes by reference, with the packet's own
 * memory behind it, at most `max`; 0: encode the body. */
uint32_t m0_rpc__item_segs(const struct m0_rpc__machine *m,
			   const struct m0_rpc_item *item, uint32_t max);
/** Puts an item into the formation of ril_target; ends it if that fails. */
void m0_rpc__item_form(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** Part of m0_rpc__item_unform(). */
bool m0_rpc__item_take_out(struct m0_rpc_item *item);
/** Out of formation or packet; false: a packet on its way has its memory. */
static inline bool m0_rpc__item_unform(struct m0_rpc_item *item)
{
	const struct m0_rpc__item *il = m0_rpc__il(item);

	return (il->ril_packet == NULL &&
		!m0_rpc__frm_item_is_cached(&il->ril_frm)) ||
	       m0_rpc__item_take_out(item);
}
static inline bool m0_rpc__item_is_final(enum m0_rpc_item_state state)
{
	return state == M0_RPC_ITEM_SENT || state == M0_RPC_ITEM_REPLIED ||
	       state == M0_RPC_ITEM_FAILED;
}

static inline bool m0_rpc__ends_invariant(const struct m0_rpc__ends *ends)
{
	return _0C(ergo(ends->ren_notified_session == NULL,
			ends->ren_notified_posts == 0)) &&
	       _0C(ergo(ends->ren_notified != NULL,
			ends->ren_notified == ends->ren_notifying));
}

/** For posted items and replies. The machine's thread. */
static inline bool m0_rpc__item_invariant(const struct m0_rpc_item *item)
{
	const struct m0_rpc__item *il = m0_rpc__il(item);

	return _0C(item->ri_rmachine != NULL) && _0C(item->ri_type != NULL) &&
	       _0C(ergo(il->ril_flags & M0_RPC__IF_ENDED,
			m0_list_link_is_in(&il->ril_link))) &&
	       _0C(ergo(il->ril_flags & M0_RPC__IF_ENDS,
			il->ril_flags & M0_RPC__IF_GATHERED)) &&
	       _0C(ergo(il->ril_flags & M0_RPC__IF_GATHERED,
			il->ril_packet != NULL)) &&
	       _0C(ergo(il->ril_session != NULL, il->ril_owner != NULL)) &&
	       _0C(ergo(il->ril_flags & M0_RPC__IF_IN_STREAM,
			item->ri_stream != 0 && il->ril_session != NULL));
}

#endif /* M0_SRC_RPC_ITEM_H */

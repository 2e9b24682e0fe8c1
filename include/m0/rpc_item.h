/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * RPC items: requests, replies, and one-way items, which have no reply.
 * Included by m0/rpc.h, whose opening comment applies.
 *
 * States of an item that is posted here:
 *
 *   INITIALISED --> ENQUEUED --> SENDING --> SENT            (one-way)
 *                    |    ^         |
 *                    v    | resend  v
 *                  URGENT +--- WAITING_FOR_REPLY --> REPLIED (request)
 *
 * From every state before the last one an item may become FAILED, with the
 * reason in ri_error. SENT of a one-way item, REPLIED and FAILED are final. A
 * final item may be finalised, or posted again, with or without another init.
 * An item that came from a peer is ACCEPTED, and REPLIED once its reply was
 * posted.
 */
/* Include this first, outside the guard: rpc.h includes its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_ITEM_H
#define M0_RPC_ITEM_H

#ifdef __cplusplus
extern "C" {
#endif

struct m0_rpc_item;
struct m0_rpc_item_type;
struct m0_rpc_session;
struct m0_rpc_conn;
struct m0_rpc_machine;
struct m0_rpc_group;
struct m0_rpc_packet;
struct m0_rpc_tx;

enum m0_rpc_item_priority {
	M0_RPC_ITEM_PRIO_MIN = 0,
	M0_RPC_ITEM_PRIO_MID,
	M0_RPC_ITEM_PRIO_MAX,
	M0_RPC_ITEM_PRIO_NR
};

enum m0_rpc_item_state {
	M0_RPC_ITEM_UNINITIALISED = 0,
	M0_RPC_ITEM_INITIALISED,
	/**
	 * Posted: in the RPC machine's inbox, or in the cache, and may wait.
	 */
	M0_RPC_ITEM_ENQUEUED,
	/** In the cache, and must leave in the next packet: its ri_deadline is
	 * 0 or has passed, or another rule of m0/rpc_frm.h makes it urgent. */
	M0_RPC_ITEM_URGENT,
	M0_RPC_ITEM_SENDING,
	M0_RPC_ITEM_SENT,
	M0_RPC_ITEM_WAITING_FOR_REPLY,
	M0_RPC_ITEM_REPLIED,
	M0_RPC_ITEM_FAILED,
	/** Received from a peer. */
	M0_RPC_ITEM_ACCEPTED,
	M0_RPC_ITEM_STATE_NR
};

/** Exactly one of the first three; MUTABO only with REQUEST. */
enum m0_rpc_item_type_flags {
	M0_RPC_ITEM_TYPE_REQUEST = 1,
	M0_RPC_ITEM_TYPE_REPLY = 2,
	M0_RPC_ITEM_TYPE_ONEWAY = 4,
	/** The request changes data of the service; it must be posted in an
	 * update stream. */
	M0_RPC_ITEM_TYPE_MUTABO = 8
};

/** Caching properties, ri_cache. (Seed 002, "Formation".) */
enum m0_rpc_item_cache {
	/** The item leaves at once, even if its packet is far from full. */
	M0_RPC_ITEM_WRITE_THROUGH = 1
};

/**
 * Location that the item works on, for data policies: object, offset and
 * length. All 0: none. The metadata policy sorts by rk_fid alone.
 */
struct m0_rpc_item_key {
	struct m0_uint128 rk_fid;
	uint64_t          rk_offset;
	uint64_t          rk_nr;
};

/**
 * Operations of an item type. The thread that steps the RPC machine calls them,
 * with no lock held. Exceptions: rito_payload_size runs on the thread that
 * posts; rito_item_get and rito_item_put run on any thread that calls
 * m0_rpc_item_get() or m0_rpc_item_put(). None may block. rito_deliver may
 * post; the others must not.
 */
struct m0_rpc_item_type_ops {
	/** Returns the number of bytes that rito_encode will write. The post
	 * calls it once, on the thread of its caller. The content of the item
	 * must not change afterwards. */
	m0_bcount_t (*rito_payload_size)(const struct m0_rpc_item *item);
	/**
	 * Writes the body: exactly `nr` bytes, the payload size, at `bytes`,
	 * which is aligned to 8. The library calls it again for a resend. For a
	 * reply kept in a store that has a thread of its own, that thread calls
	 * it.
	 * @retval <0  the item becomes FAILED with this error. If it is a
	 *             reply, the requester gets the error as from
	 *             m0_rpc_reply_rc().
	 */
	int (*rito_encode)(const struct m0_rpc_item *item, void *bytes,
			   m0_bcount_t nr);
	/**
	 * Optional, instead of rito_encode, for bodies that are in memory in
	 * the form in which they are sent: names the body by reference, and the
	 * library does not copy it. Names at most `max` pieces, which must not
	 * change until the item is final.
	 * @return number of pieces, whose sum is the payload size; 0: the
	 *         library calls rito_encode.
	 */
	uint32_t (*rito_gather)(const struct m0_rpc_item *item,
				void *ret_base[], m0_bcount_t ret_nr[],
				uint32_t max);
	/**
	 * Makes an item from a received body: allocates it with one reference
	 * and calls m0_rpc_item_init(). `bytes`, aligned to 8, is in the RPC
	 * machine's receive buffer. It stays valid until the item's last
	 * reference is put, so the item may point into it; the RPC machine does
	 * not reuse that buffer meanwhile. A peer wrote these bytes: check
	 * everything.
	 * @retval <0  for example -EPROTO: the library drops the item and
	 *             counts it, and answers a request with the error.
	 */
	int (*rito_decode)(const struct m0_rpc_item_type *type,
			   struct m0_rpc_item **ret_item, const void *bytes,
			   m0_bcount_t nr);
	/** Takes a reference. Any thread. */
	void (*rito_item_get)(struct m0_rpc_item *item);
	/** Puts a reference. With the last one, calls m0_rpc_item_fini() and
	 * frees. */
	void (*rito_item_put)(struct m0_rpc_item *item);
	/**
	 * The handler of a received request or one-way item. It must not block,
	 * unless rit_pool is set. It borrows a reference of the library; to use
	 * the item after its return it must take its own. It must answer a
	 * request by m0_rpc_reply_post() or m0_rpc_update_post(), at once or
	 * later, on any thread. The library holds its reference to the request
	 * until then.
	 */
	void (*rito_deliver)(struct m0_rpc_machine *machine,
			     struct m0_rpc_item    *item);
	/**
	 * Optional, for data policies: `next` begins where `item` ends, and
	 * both wait in the cache for one destination. Either neither is in an
	 * update stream, or both are in the same one and nothing was posted to
	 * it between them.
	 *
	 * If it returns true, `item` now carries the work of both, and its key
	 * and payload size cover both. The library does not send `next`, and
	 * gives it the outcome of `item`; rito_split makes its ri_reply. In a
	 * stream the server executes `item` once, in its position, and commits
	 * its answer with everything that it changed, so this also holds for
	 * `next`. A type that does not want that in streams checks ri_stream
	 * and returns false. Memory of `next` that `item` refers to must stay
	 * valid until `item` is final, although `next` may become final
	 * earlier, by time-out or cancel.
	 */
	bool (*rito_io_coalesce)(struct m0_rpc_item *item,
				 struct m0_rpc_item *next);
	/** With rito_io_coalesce: `item` was replied to. Makes the reply of
	 * `part`, which it carries, and sets its ri_reply; or returns an error
	 * for `part`. */
	int (*rito_split)(struct m0_rpc_item *item, struct m0_rpc_item *part);
};

/** A pool of threads for handlers that block: m0_rpc_pool_create(). */
struct m0_rpc_pool;

struct m0_rpc_item_type {
	/** Unique in the process. Opcodes below 64 belong to the library. */
	uint32_t                           rit_opcode;
	const struct m0_rpc_item_type_ops *rit_ops;
	/** Bits of enum m0_rpc_item_type_flags. */
	uint64_t    rit_flags;
	const char *rit_name;
	/** The handler may block and runs in this pool. NULL: it runs on the
	 * RPC machine's thread. */
	struct m0_rpc_pool *rit_pool;
	/* For the library. */
	struct m0_list_link rit_link;
	uint32_t            rit_index;
};

/**
 * Makes a type known to all RPC machines of the process. Call it before an item
 * of the type is posted or can arrive.
 * @retval -EEXIST  another type has the opcode.
 * @retval -EINVAL  opcode below 64, or flags that are not allowed.
 */
M0_EXTERN int m0_rpc_item_type_register(struct m0_rpc_item_type *type);
/** Removes a type. Pre: no item of it exists. */
M0_EXTERN void m0_rpc_item_type_deregister(struct m0_rpc_item_type *type);
/** Returns the type of an opcode; NULL: none is registered. */
M0_EXTERN struct m0_rpc_item_type *m0_rpc_item_type_lookup(uint32_t opcode);

/** Callbacks to the poster of an item. The library makes them on the RPC
 * machine's thread, with no lock held, never on the stack of a call of the
 * poster. Each may be NULL. */
struct m0_rpc_item_ops {
	/** The packet with the item has left, or could not (ri_error). The
	 * library calls this again for every resend. */
	void (*rio_sent)(struct m0_rpc_item *item);
	/**
	 * The item is final; the library calls this exactly once. Request:
	 * REPLIED, and ri_reply is its reply; or FAILED, with the reason in
	 * ri_error. One-way item: SENT or FAILED. The callback may finalise the
	 * item or post it again: the library does not use it any more after the
	 * callback.
	 */
	void (*rio_replied)(struct m0_rpc_item *item);
};

struct m0_rpc_item {
	/* Set by the poster between init and post; init gives the defaults. */

	/** Not used by m0_rpc_oneway_item_post(). */
	struct m0_rpc_session        *ri_session;
	const struct m0_rpc_item_ops *ri_ops;
	enum m0_rpc_item_priority     ri_prio;
	/** Bits of enum m0_rpc_item_cache. */
	uint32_t ri_cache;
	/**
	 * The update stream, 1 to the session's number of streams; 0 (default):
	 * none. The server executes the requests of a stream in the order of
	 * posts, each exactly once. It executes a request outside of streams in
	 * any order, and at least once if it answers it. Must not be 0 if the
	 * type is MUTABO.
	 */
	uint32_t ri_stream;
	/**
	 * Until when the item may wait for others to share its packet,
	 * absolute. 0 (default): it leaves in the next packet. M0_TIME_NEVER:
	 * it waits until a packet is full. In every case it leaves at once if
	 * nothing is in flight to the same destination.
	 */
	m0_time_t ri_deadline;
	/**
	 * When the item expires, absolute; it is sent as the remaining time. 0
	 * (default): the RPC machine's rc_timeout_ns after the post. The poster
	 * then gets -ETIMEDOUT. The server drops the request, and counts it, if
	 * it has not started it.
	 */
	m0_time_t ri_expires;
	/** Time until the first resend; each resend doubles it, up to
	 * rc_resend_max_ns. 0 (default): rc_resend_ns of the RPC machine. */
	m0_time_t ri_resend_interval;
	/** How often the item may be sent; then it fails with -ETIMEDOUT.
	 * Default: ~0. */
	uint64_t               ri_nr_sent_max;
	struct m0_rpc_item_key ri_key;
	/** Group that the item belongs to; NULL: none. */
	struct m0_rpc_group *ri_group;
	/**
	 * For the poster; the library does not use it. In a received item it is
	 * for the handler: NULL on delivery, and kept until the last reference
	 * is put. So a handler can leave here the state that its update
	 * (m0_rpc_update_post()) works on.
	 */
	void *ri_app_private;

	/* Read only. */

	const struct m0_rpc_item_type *ri_type;
	/** Error of a FAILED item, or code of a reply; otherwise 0. */
	int32_t ri_error;
	/** The reply; valid from the final state until the item is finalised or
	 * posted again. */
	struct m0_rpc_item    *ri_reply;
	struct m0_rpc_machine *ri_rmachine;
	uint64_t               ri_nr_sent;
	/**
	 * Bytes that the item takes in a packet, header and padding included.
	 */
	m0_bcount_t ri_size;
	/** Time from post to final state. */
	m0_time_t ri_rpc_time;
	/** Received item: when it expires for its sender, absolute. */
	m0_time_t ri_remote_expires;
	/** Received item: its sender had sent it before. */
	bool ri_dup;
	/** Received item: the sender's epoch when it formed the packet (see
	 * m0_rpc_machine_epoch_set()); 0: none. */
	uint32_t ri_epoch;

	/* For the library; see src/rpc/rpc_internal.h. */

	uint32_t ri_state;
	uint32_t ri_pad;
	uint64_t ri_lib[56];
};

/**
 * Makes an item INITIALISED, with the defaults. The item has no reference count
 * of its own; its type provides one. Pre: not initialised, or final.
 */
M0_EXTERN void m0_rpc_item_init(struct m0_rpc_item            *item,
				const struct m0_rpc_item_type *type);
/** Puts ri_reply; wakes no thread. Pre: INITIALISED, ACCEPTED or final. */
M0_EXTERN void m0_rpc_item_fini(struct m0_rpc_item *item);
/** Take and put a reference, by the operations of the type. Any thread. */
M0_EXTERN void m0_rpc_item_get(struct m0_rpc_item *item);
M0_EXTERN void m0_rpc_item_put(struct m0_rpc_item *item);
/** Returns the state. Any thread; unless the state is final, it may have
 * changed by the time the call returns. */
M0_EXTERN enum m0_rpc_item_state m0_rpc_item_state(
	const struct m0_rpc_item *item);
/** "ENQUEUED", ...; "?" for a number that is no state. */
M0_EXTERN const char *m0_rpc_item_state_name(enum m0_rpc_item_state state);
/** ri_error; if that is 0, the code of the reply (see m0_rpc_reply_rc()). */
M0_EXTERN int m0_rpc_item_error(const struct m0_rpc_item *item);

/**
 * Posts a request, by one push to its RPC machine's inbox. The library holds a
 * reference until rio_replied has returned. Any thread, also handlers and
 * callbacks.
 *
 * Pre: INITIALISED or final; a REQUEST; ri_session set, and ri_stream within
 * the session's streams.
 * After an error the item is FAILED with that error, and no callback follows.
 * @retval 0          one rio_replied follows, at the latest rc_slack_ns of the
 *                    RPC machine after ri_expires.
 * @retval -ENOTCONN  the session is not IDLE or BUSY.
 * @retval -ECANCELED the session was cancelled.
 * @retval -EAGAIN    rc_cached_max items wait already; try again later.
 * @retval -EMSGSIZE  larger than m0_rpc_session_get_max_item_size().
 * @retval -EINVAL    the session was not initialised.
 * @retval -ESHUTDOWN the RPC machine stops.
 */
M0_EXTERN int m0_rpc_post(struct m0_rpc_item *item);
/**
 * Posts a one-way item to the peer of a connection: no reply, no resend,
 * delivered at most once, in no order. Errors as m0_rpc_post(); rio_replied
 * reports the final state.
 * Pre: ONEWAY.
 */
M0_EXTERN int m0_rpc_oneway_item_post(struct m0_rpc_conn *conn,
				      struct m0_rpc_item *item);
/**
 * Answers a request. The reply passes through cache and formation as requests
 * do. In a stream, the library keeps it for duplicates until the requester has
 * acknowledged it. Takes over the caller's reference to `reply`. Any thread;
 * once for each request. If the reply is larger than a packet of this RPC
 * machine, or than the requester accepts, the requester gets -EMSGSIZE instead;
 * if the request is an update, it then changes nothing.
 *
 * If a request of a stream is answered by this call alone, it has changed
 * nothing in the store. The library commits its outcome to the store before the
 * reply leaves.
 * Pre: request ACCEPTED; reply INITIALISED, type REPLY.
 */
M0_EXTERN void m0_rpc_reply_post(struct m0_rpc_item *request,
				 struct m0_rpc_item *reply);
/**
 * Answers with `rc`, -4095 to 0, and no body: the requester's ri_error stays 0
 * and its m0_rpc_item_error() is `rc`. Any other value, which may be a number
 * that a peer sent, is answered as -EPROTO. Otherwise as m0_rpc_reply_post().
 */
M0_EXTERN void m0_rpc_reply_rc(struct m0_rpc_item *request, int rc);
/**
 * Answers with an error, and undoes what the update has changed. The requester
 * gets `rc` as from m0_rpc_reply_rc(). The store keeps no answer then: if the
 * server dies before the requester has it, the request is executed again, or,
 * if a later one of its stream was committed, ends with -ECANCELED.
 * Pre: inside the function of m0_rpc_update_post(); not answered; rc < 0.
 */
M0_EXTERN void m0_rpc_reply_undo(struct m0_rpc_item *request, int rc);
/**
 * Returns the client that sent a request: its rc_uuid. With that a service can
 * count what each client uses. Any thread, until the request is answered.
 * Pre: request ACCEPTED.
 */
M0_EXTERN struct m0_uint128 m0_rpc_request_client(
	const struct m0_rpc_item *request);
/**
 * Executes a request of an update stream. The library calls `update` once,
 * inside a transaction of the RPC machine's store, on the store's thread or the
 * RPC machine's. `update` must answer the request by m0_rpc_reply_post() or
 * m0_rpc_reply_rc() before it returns. Its changes by m0_rpc_tx_put() and
 * m0_rpc_tx_del() and the reply are committed together, and the reply leaves
 * after that. If the commit fails, the requester gets the error, and nothing
 * has changed.
 *
 * The library does not call `update` at all if the store cannot begin a
 * transaction, or if the client has left, or has come back as a younger
 * incarnation, meanwhile; so nothing may wait for that call without a bound.
 * `update` finds its arguments by ri_app_private of the request, and by
 * rm_app_private of its ri_rmachine. Any thread.
 * Pre: request ACCEPTED, of a stream, not answered.
 */
M0_EXTERN void m0_rpc_update_post(struct m0_rpc_item *request,
				  void (*update)(struct m0_rpc_item *request,
						 struct m0_rpc_tx   *tx));

/**
 * Cancels a request: it becomes FAILED with -ECANCELED, unless it is final
 * before. The library notifies the server, so that it need not start the
 * request. The server may have executed a request of a stream all the same; the
 * order of the stream is kept. rio_replied reports the end as always. Any
 * thread. No-op if final.
 */
M0_EXTERN void m0_rpc_item_cancel(struct m0_rpc_item *item);
/**
 * Blocks until the item is in one of `states` (bits 1 << state) or
 * `abs_timeout` has passed. For the application's threads; inline: makes
 * progress.
 * @retval 0           the item is in one of them.
 * @retval -ETIMEDOUT  it is not, and remains in progress.
 */
M0_EXTERN int m0_rpc_item_timedwait(struct m0_rpc_item *item, uint64_t states,
				    m0_time_t abs_timeout);
/**
 * Waits for the end of a request.
 * @retval 0           it is REPLIED.
 * @retval -ETIMEDOUT  it is not final, and remains in progress.
 * @retval <0          it is FAILED with this error.
 */
M0_EXTERN int m0_rpc_item_wait_for_reply(struct m0_rpc_item *item,
					 m0_time_t           abs_timeout);
/** m0_rpc_post() and m0_rpc_item_wait_for_reply(M0_TIME_NEVER), then
 * m0_rpc_item_error(). */
M0_EXTERN int m0_rpc_post_sync(struct m0_rpc_item *item);

/* ------------------------------------------------------------ groups -- */

/**
 * Items that belong together (seed 002: "group item submission"). As long as
 * the group is open, formation may hold its items back, until the group is
 * closed or rg_linger_ns have passed since its first post. To add an item, set
 * its ri_group.
 */
struct m0_rpc_group {
	/** Default 1 ms. */
	m0_time_t rg_linger_ns;
	/* For the library. */
	uint32_t rg_open;
	uint32_t rg_posted_nr;
	uint32_t rg_ended_nr;
	uint64_t rg_lib[6];
};

M0_EXTERN void m0_rpc_group_init(struct m0_rpc_group *group);
/** Ends the group: no more items will be posted, and those held back leave. Any
 * thread. */
M0_EXTERN void m0_rpc_group_close(struct m0_rpc_machine *machine,
				  struct m0_rpc_group   *group);
/** Pre: the group is closed and all its items are final. */
M0_EXTERN void m0_rpc_group_fini(struct m0_rpc_group *group);

/* ------------------------------------------------------ item sources -- */

/**
 * A source of auxiliary one-way items, such as statistics records. The library
 * asks it when a packet to the connection's peer has space left, so that its
 * items never cause a packet of their own.
 */
struct m0_rpc_item_source_ops;
struct m0_rpc_item_source {
	const char                          *ris_name;
	const struct m0_rpc_item_source_ops *ris_ops;
	/* For the library. */
	struct m0_rpc_conn *ris_conn;
	struct m0_list_link ris_link;
};

/** The library calls these on the RPC machine's thread, with no lock held; none
 * may block. */
struct m0_rpc_item_source_ops {
	bool (*riso_has_item)(const struct m0_rpc_item_source *source);
	/** Returns an INITIALISED one-way item with a payload of at most
	 * `max_payload` bytes, and passes its reference to the library; or
	 * NULL. */
	struct m0_rpc_item *(*riso_get_item)(struct m0_rpc_item_source *source,
					     m0_bcount_t max_payload);
	/** The connection ends. The source is deregistered already, and the
	 * library does not ask it any more. */
	void (*riso_conn_terminating)(struct m0_rpc_item_source *source);
};

/** Any thread. Pre: not registered; the connection is established. */
M0_EXTERN void m0_rpc_item_source_register(struct m0_rpc_conn        *conn,
					   struct m0_rpc_item_source *source);
/** When this has returned, the library does not ask the source any more. Not
 * from an operation of the source. No-op if it is not registered. */
M0_EXTERN void m0_rpc_item_source_deregister(struct m0_rpc_item_source *source);

/* ---------------------------------------------------------- raw items -- */

/**
 * Items whose body is plain bytes, with ready-made operations, for types that
 * need no structure. The library gathers bodies of 1 KiB and more without
 * copying them. For XDR bodies see docs/rpc.md.
 */
struct m0_rpc_raw {
	struct m0_rpc_item rr_item;
	/** Outgoing: memory of the poster, unchanged until the item is final.
	 * Received: in the receive buffer, valid until the last reference is
	 * put. */
	const void *rr_data;
	m0_bcount_t rr_nr;
	/** The library calls this when the last reference is put. NULL: it does
	 * nothing then. */
	void (*rr_free)(struct m0_rpc_raw *raw);
	struct m0_ref rr_ref;
};

/** Operations to copy into those of a type; set rito_deliver there. */
M0_EXTERN const struct m0_rpc_item_type_ops m0_rpc_raw_ops;
/** Initialises a raw item with one reference; `free` becomes rr_free. */
M0_EXTERN void m0_rpc_raw_init(struct m0_rpc_raw             *raw,
			       const struct m0_rpc_item_type *type,
			       const void *data, m0_bcount_t nr,
			       void (*free)(struct m0_rpc_raw *raw));
/** Allocates a raw item with its own copy of the data. NULL: no memory. */
M0_EXTERN struct m0_rpc_raw *m0_rpc_raw_new(const struct m0_rpc_item_type *type,
					    const void *data, m0_bcount_t nr);
/** The raw item that contains an item of a type with the raw operations. */
M0_EXTERN struct m0_rpc_raw *m0_rpc_raw_of(struct m0_rpc_item *item);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_ITEM_H */

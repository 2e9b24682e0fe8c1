/* SPDX-License-Identifier: Apache-2.0 */
/**
 * RPC items: what a service is asked, what it answers, and what is said
 * without an answer. Included by m0/rpc.h, whose opening comment applies.
 *
 * States of an item that is posted here:
 *
 *   INITIALISED --> ENQUEUED --> SENDING --> SENT            (one-way)
 *                    |    ^         |
 *                    v    | resend  v
 *                  URGENT +--- WAITING_FOR_REPLY --> REPLIED (request)
 *
 * and from every state before the last one FAILED, with ri_error. SENT of a
 * one-way item, REPLIED and FAILED are final; a final item may be finalised,
 * or initialised and posted again. An item that came from a peer is ACCEPTED,
 * and REPLIED once its reply was posted.
 */
/* First, and outside the guard: rpc.h puts its parts in order. */
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
	/** Posted: in the machine's inbox, or in the cache, and may wait. */
	M0_RPC_ITEM_ENQUEUED,
	/** In the cache, and to leave in the next packet: its ri_deadline is 0
	 * or has passed, or see m0/rpc_frm.h. */
	M0_RPC_ITEM_URGENT,
	M0_RPC_ITEM_SENDING,
	M0_RPC_ITEM_SENT,
	M0_RPC_ITEM_WAITING_FOR_REPLY,
	M0_RPC_ITEM_REPLIED,
	M0_RPC_ITEM_FAILED,
	/** Came from a peer. */
	M0_RPC_ITEM_ACCEPTED,
	M0_RPC_ITEM_STATE_NR
};

/** Exactly one of the first three; MUTABO only with REQUEST. */
enum m0_rpc_item_type_flags {
	M0_RPC_ITEM_TYPE_REQUEST = 1,
	M0_RPC_ITEM_TYPE_REPLY = 2,
	M0_RPC_ITEM_TYPE_ONEWAY = 4,
	/** Changes what the service keeps: posted in an update stream. */
	M0_RPC_ITEM_TYPE_MUTABO = 8
};

/** Caching properties, ri_cache. (Seed 002, "Formation".) */
enum m0_rpc_item_cache {
	/** Leaves at once, in a packet that may be far from full. */
	M0_RPC_ITEM_WRITE_THROUGH = 1
};

/**
 * Where data policies put an item: in which object it works, where, how much.
 * All 0: nowhere. The metadata policy sorts by rk_fid alone.
 */
struct m0_rpc_item_key {
	struct m0_uint128 rk_fid;
	uint64_t          rk_offset;
	uint64_t          rk_nr;
};

/**
 * What the library asks of a type of items. All are called by the thread that
 * steps the machine, with no lock held, except rito_payload_size and, where
 * m0_rpc_item_get() and _put() are called, rito_item_get and _put. None may
 * block; rito_deliver may post anything, the others nothing.
 */
struct m0_rpc_item_type_ops {
	/** Bytes that rito_encode will write; asked once, by the post, on its
	 * caller's thread. What the item says must not change afterwards. */
	m0_bcount_t (*rito_payload_size)(const struct m0_rpc_item *item);
	/**
	 * Writes the body: exactly `nr` bytes, the payload size, at `bytes`,
	 * which is aligned to 8. Also called again for a resend, and, for a
	 * reply that is kept in a store with a thread of its own, by that.
	 * @retval <0  the item FAILs with this error; who waits for a reply
	 *         gets the error as m0_rpc_reply_rc() would give it.
	 */
	int (*rito_encode)(const struct m0_rpc_item *item, void *bytes,
			   m0_bcount_t nr);
	/**
	 * Optional, in place of rito_encode for bodies that lie in memory as
	 * they are sent: the body by reference, no copy is made of it. Names
	 * at most `max` pieces that stay as they are until the item is final.
	 * @return number of pieces; 0: encode it; their sum is the payload.
	 */
	uint32_t (*rito_gather)(const struct m0_rpc_item *item,
				void *ret_base[], m0_bcount_t ret_nr[],
				uint32_t max);
	/**
	 * Makes an item of a body that came: allocates it with one reference
	 * and calls m0_rpc_item_init(). `bytes`, aligned to 8, stays valid
	 * until the item's last reference is put: it may be pointed to, and
	 * is the machine's receive buffer, which is not used for anything
	 * else as long as that lasts. A peer wrote it: check everything.
	 * @retval -EPROTO or any <0  counted and dropped; a request is
	 *         answered with the error.
	 */
	int (*rito_decode)(const struct m0_rpc_item_type *type,
			   struct m0_rpc_item **ret_item, const void *bytes,
			   m0_bcount_t nr);
	/** One reference more; any thread. */
	void (*rito_item_get)(struct m0_rpc_item *item);
	/** One less; frees with the last, after m0_rpc_item_fini(). */
	void (*rito_item_put)(struct m0_rpc_item *item);
	/**
	 * A request or one-way item has come: the handler. Must not block,
	 * unless rit_pool is set. It borrows a reference of the library's; to
	 * keep the item past its return it gets its own. A request must be
	 * answered, then or later and from any thread, by m0_rpc_reply_post()
	 * or m0_rpc_update_post(); its reference is held until then.
	 */
	void (*rito_deliver)(struct m0_rpc_machine *machine,
			     struct m0_rpc_item    *item);
	/**
	 * Optional, data policy: `next` begins where `item` ends, both wait in
	 * the cache for one destination, and either neither is in an update
	 * stream, or both are in the same one and nothing was posted to it
	 * between them. True: `item` now carries the work of both, its key and
	 * payload size cover both; `next` is not sent, and gets item's outcome:
	 * rito_split makes its ri_reply. In a stream the server executes
	 * `item`, once, at its place, and its answer is committed with all that
	 * it has changed; so is what it carries. A type that does not want that
	 * looks at ri_stream and says false. What `item` refers to of next's
	 * memory must stay until `item` is final: `next` may end before, by its
	 * time or a cancel.
	 */
	bool (*rito_io_coalesce)(struct m0_rpc_item *item,
				 struct m0_rpc_item *next);
	/** With rito_io_coalesce: `item` was replied to; makes the reply of
	 * one that it carries (its ri_reply), or says why not. */
	int (*rito_split)(struct m0_rpc_item *item, struct m0_rpc_item *part);
};

/** A pool of threads for handlers that block: m0_rpc_pool_create(). */
struct m0_rpc_pool;

struct m0_rpc_item_type {
	/** Unique in the process. Below 64: the library's. */
	uint32_t                           rit_opcode;
	const struct m0_rpc_item_type_ops *rit_ops;
	/** enum m0_rpc_item_type_flags. */
	uint64_t    rit_flags;
	const char *rit_name;
	/** Its handler may block and runs here; NULL: on the machine. */
	struct m0_rpc_pool *rit_pool;
	/* The library's. */
	struct m0_list_link rit_link;
	uint32_t            rit_index;
};

/**
 * Makes a type known to every machine of the process. Before items of it are
 * posted or can come.
 * @retval -EEXIST  the opcode is taken.
 * @retval -EINVAL  opcode below 64, or flags that are not allowed.
 */
M0_EXTERN int m0_rpc_item_type_register(struct m0_rpc_item_type *type);
/** No item of it may exist. */
M0_EXTERN void m0_rpc_item_type_deregister(struct m0_rpc_item_type *type);
/** NULL: not known. */
M0_EXTERN struct m0_rpc_item_type *m0_rpc_item_type_lookup(uint32_t opcode);

/** What the poster of an item is told. On the machine's thread, no lock held,
 * never on the stack of a call of his. Each may be NULL. */
struct m0_rpc_item_ops {
	/** The packet with it has left, or could not (ri_error): again for
	 * every resend. */
	void (*rio_sent)(struct m0_rpc_item *item);
	/**
	 * The one end of a request: REPLIED, ri_reply is its reply; or
	 * FAILED, ri_error says why. One-way items: called as well, SENT or
	 * FAILED. The library has put its reference after this returns, so
	 * the item may be finalised or posted again inside it.
	 */
	void (*rio_replied)(struct m0_rpc_item *item);
};

struct m0_rpc_item {
	/* Set by the poster between init and post; init gives the defaults. */

	/** Not for m0_rpc_oneway_item_post(). */
	struct m0_rpc_session        *ri_session;
	const struct m0_rpc_item_ops *ri_ops;
	enum m0_rpc_item_priority     ri_prio;
	/** enum m0_rpc_item_cache. */
	uint32_t ri_cache;
	/**
	 * The update stream, 1 to the session's number of streams; 0 (the
	 * default): none. In a stream: executed in the order of posts, each
	 * exactly once. Outside: executed at least once if answered, in any
	 * order. Must not be 0 if the type is MUTABO.
	 */
	uint32_t ri_stream;
	/**
	 * How long it may wait for company, absolute: 0 (default): it leaves
	 * in the next packet; M0_TIME_NEVER: when a packet is full. In every
	 * case at once if nothing is on its way to the same destination.
	 */
	m0_time_t ri_deadline;
	/**
	 * When it is of no use any more, absolute; sent as the time that
	 * remains. 0 (default): the machine's rc_timeout_ns after the post.
	 * The poster then gets -ETIMEDOUT; the server drops what has not
	 * begun, and counts it.
	 */
	m0_time_t ri_expires;
	/** First resend after this; each later one after twice the time
	 * before, up to the machine's bound. 0 (default): the machine's. */
	m0_time_t ri_resend_interval;
	/** Times it may be sent; then -ETIMEDOUT. Default: ~0. */
	uint64_t               ri_nr_sent_max;
	struct m0_rpc_item_key ri_key;
	/** More of this group follow; NULL: none. */
	struct m0_rpc_group *ri_group;
	/**
	 * The poster's. Of an item that came: the handler's; NULL when it is
	 * delivered, and kept until the last reference is put. So a handler can
	 * leave here what its update (m0_rpc_update_post()) works on.
	 */
	void *ri_app_private;

	/* Read only. */

	const struct m0_rpc_item_type *ri_type;
	/** Of the final event, or 0. */
	int32_t ri_error;
	/** Final: valid until the item is finalised or posted again. */
	struct m0_rpc_item    *ri_reply;
	struct m0_rpc_machine *ri_rmachine;
	uint64_t               ri_nr_sent;
	/** Bytes in a packet, header and padding included. */
	m0_bcount_t ri_size;
	/** From post to final. */
	m0_time_t ri_rpc_time;
	/** Incoming: absolute, when the sender ceases to care. */
	m0_time_t ri_remote_expires;
	/** Incoming: sent before. */
	bool ri_dup;
	/** Incoming: the sender's epoch when its packet was formed; 0: none.
	 * m0_rpc_machine_epoch_set(). */
	uint32_t ri_epoch;

	/* The library's: src/rpc/rpc_internal.h says what is in here. */

	uint32_t ri_state;
	uint32_t ri_pad;
	uint64_t ri_lib[56];
};

/**
 * Makes an item INITIALISED, with the defaults and no reference count of its
 * own: that is its type's. Pre: not initialised, or final.
 */
M0_EXTERN void m0_rpc_item_init(struct m0_rpc_item            *item,
				const struct m0_rpc_item_type *type);
/** Puts ri_reply, wakes nobody. Pre: INITIALISED or final. */
M0_EXTERN void m0_rpc_item_fini(struct m0_rpc_item *item);
/** References, by the type's ops. Any thread. */
M0_EXTERN void m0_rpc_item_get(struct m0_rpc_item *item);
M0_EXTERN void m0_rpc_item_put(struct m0_rpc_item *item);
/** Any thread; may be old when it returns unless it is final. */
M0_EXTERN enum m0_rpc_item_state m0_rpc_item_state(
	const struct m0_rpc_item *item);
/** "ENQUEUED", ...; "?" for a number that is none. */
M0_EXTERN const char *m0_rpc_item_state_name(enum m0_rpc_item_state state);
/** ri_error, or if that is 0 the reply's own code, see m0_rpc_reply_rc. */
M0_EXTERN int m0_rpc_item_error(const struct m0_rpc_item *item);

/**
 * Posts a request: one push to its machine's inbox. The library holds a
 * reference until rio_replied has returned. Any thread, also handlers and
 * callbacks.
 *
 * Pre: INITIALISED or final; a REQUEST; ri_session set, and ri_stream within
 * the session's streams.
 * @retval 0          one rio_replied follows, at the latest at ri_expires and
 *                    the machine's rc_slack_ns after it.
 * @retval -ENOTCONN  the session is not IDLE or BUSY.
 * @retval -ECANCELED the session was cancelled.
 * @retval -EAGAIN    rc_cached_max items wait already: later.
 * @retval -EMSGSIZE  larger than m0_rpc_session_get_max_item_size().
 * @retval -EINVAL    the session was not initialised.
 * @retval -ESHUTDOWN the machine stops.
 * With an error the item is FAILED with it and nothing follows.
 */
M0_EXTERN int m0_rpc_post(struct m0_rpc_item *item);
/**
 * Posts a one-way item to a connection's peer: no reply, no resend, at most
 * once, unordered. Errors as m0_rpc_post(); rio_replied tells the end.
 * Pre: ONEWAY.
 */
M0_EXTERN int m0_rpc_oneway_item_post(struct m0_rpc_conn *conn,
				      struct m0_rpc_item *item);
/**
 * Answers a request: the reply goes through the cache and formation as
 * requests do, and is kept for duplicates until the requester has
 * acknowledged it (items of streams). Takes over the caller's reference of
 * `reply`. Any thread, once for each request. One that is larger than a packet
 * of this machine, or than the requester takes, is answered as -EMSGSIZE; of an
 * update nothing is changed then.
 *
 * A request of a stream changed nothing that the store knows; its outcome is
 * committed to the store before the reply leaves.
 * Pre: request ACCEPTED; reply INITIALISED, type REPLY.
 */
M0_EXTERN void m0_rpc_reply_post(struct m0_rpc_item *request,
				 struct m0_rpc_item *reply);
/** Answers with an error and no body: requester's ri_error stays 0 and
 * m0_rpc_item_error() is `rc`, -4095 to 0; anything else, which may be a number
 * that a peer sent, is answered as -EPROTO. Otherwise as m0_rpc_reply_post(). */
M0_EXTERN void m0_rpc_reply_rc(struct m0_rpc_item *request, int rc);
/**
 * The client that sent a request: its rc_uuid, so that a service can count what
 * each client uses. Any thread, until the request is answered.
 * Pre: request ACCEPTED.
 */
M0_EXTERN struct m0_uint128 m0_rpc_request_client(
	const struct m0_rpc_item *request);
/**
 * Executes a request of an update stream: `update` is called once, inside a
 * transaction of the machine's store, by the store's thread or the
 * machine's, and must answer the request by m0_rpc_reply_post() or _rc()
 * before it returns. Its own changes through m0_rpc_tx_put() and _del() and
 * the reply are committed together; the reply leaves when they are. Any
 * thread. If the commit fails the requester gets the error, and nothing has
 * changed. It is not called at all if the store cannot begin a transaction, or
 * the client has left or come back younger meanwhile: what waits for it must not
 * wait for ever. What `update` works on beside the request: ri_app_private, and
 * rm_app_private of ri_rmachine. Pre: request ACCEPTED, of a stream, not answered.
 */
M0_EXTERN void m0_rpc_update_post(struct m0_rpc_item *request,
				  void (*update)(struct m0_rpc_item *request,
						 struct m0_rpc_tx   *tx));

/**
 * Gives a request up: it ends FAILED with -ECANCELED unless it is final
 * before, and the server is told, so that it need not begin; one in a stream
 * may have been executed all the same. The order of its stream is kept. Any
 * thread; the end comes by rio_replied as always. No-op if final.
 */
M0_EXTERN void m0_rpc_item_cancel(struct m0_rpc_item *item);
/**
 * Blocks until the item is in one of `states` (bits 1 << state) or the time
 * has come. An application's thread; inline: makes progress.
 * @retval 0  it is. @retval -ETIMEDOUT  it is not (and goes on).
 */
M0_EXTERN int m0_rpc_item_timedwait(struct m0_rpc_item *item, uint64_t states,
				    m0_time_t abs_timeout);
/** 0: REPLIED. FAILED: ri_error. -ETIMEDOUT: neither (and goes on). */
M0_EXTERN int m0_rpc_item_wait_for_reply(struct m0_rpc_item *item,
					 m0_time_t           abs_timeout);
/** m0_rpc_post() and m0_rpc_item_wait_for_reply(M0_TIME_NEVER), then
 * m0_rpc_item_error(). */
M0_EXTERN int m0_rpc_post_sync(struct m0_rpc_item *item);

/* ------------------------------------------------------------ groups -- */

/**
 * Items that belong together (seed 002: "group item submission"): as long as
 * the group is open, formation may hold those posted of it, until it is closed
 * or rg_linger_ns have gone by since its first post. Set ri_group of each.
 */
struct m0_rpc_group {
	/** Default 1 ms. */
	m0_time_t rg_linger_ns;
	/* The library's. */
	uint32_t rg_open;
	uint32_t rg_posted_nr;
	uint32_t rg_ended_nr;
	uint64_t rg_lib[6];
};

M0_EXTERN void m0_rpc_group_init(struct m0_rpc_group *group);
/** No more will be posted: those held leave. Any thread. */
M0_EXTERN void m0_rpc_group_close(struct m0_rpc_machine *machine,
				  struct m0_rpc_group   *group);
/** Pre: closed, all its items final. */
M0_EXTERN void m0_rpc_group_fini(struct m0_rpc_group *group);

/* ------------------------------------------------------ item sources -- */

/**
 * A source of auxiliary one-way items, such as statistics records: asked when
 * a packet to the connection's peer has room left, so that its items never
 * cause a packet of their own.
 */
struct m0_rpc_item_source_ops;
struct m0_rpc_item_source {
	const char                          *ris_name;
	const struct m0_rpc_item_source_ops *ris_ops;
	/* The library's. */
	struct m0_rpc_conn *ris_conn;
	struct m0_list_link ris_link;
};

/** On the machine's thread, no lock held; must not block. */
struct m0_rpc_item_source_ops {
	bool (*riso_has_item)(const struct m0_rpc_item_source *source);
	/** An INITIALISED one-way item whose payload is at most
	 * `max_payload` bytes, with a reference that is given away; NULL. */
	struct m0_rpc_item *(*riso_get_item)(struct m0_rpc_item_source *source,
					     m0_bcount_t max_payload);
	/** The connection ends: asked no more, deregistered already. */
	void (*riso_conn_terminating)(struct m0_rpc_item_source *source);
};

/** Any thread. Pre: not registered; the connection is established. */
M0_EXTERN void m0_rpc_item_source_register(struct m0_rpc_conn        *conn,
					   struct m0_rpc_item_source *source);
/** Not asked any more when this returns. Not from an op of it. No-op if it is
 * not registered. */
M0_EXTERN void m0_rpc_item_source_deregister(struct m0_rpc_item_source *source);

/* ---------------------------------------------------------- raw items -- */

/**
 * Items whose body is bytes as they are: ready-made ops for types that want no
 * structure. Bodies of 1 KiB and more are gathered, not copied. XDR bodies:
 * docs/rpc.md has the three lines.
 */
struct m0_rpc_raw {
	struct m0_rpc_item rr_item;
	/** Outgoing: the poster's, until final. Incoming: in the receive
	 * buffer, until the last reference is put. */
	const void *rr_data;
	m0_bcount_t rr_nr;
	/** Called with the last reference; NULL: nothing happens then. */
	void (*rr_free)(struct m0_rpc_raw *raw);
	struct m0_ref rr_ref;
};

/** Copy these into ops of your own and set rito_deliver. */
M0_EXTERN const struct m0_rpc_item_type_ops m0_rpc_raw_ops;
/** One reference; `free` as rr_free. */
M0_EXTERN void m0_rpc_raw_init(struct m0_rpc_raw             *raw,
			       const struct m0_rpc_item_type *type,
			       const void *data, m0_bcount_t nr,
			       void (*free)(struct m0_rpc_raw *raw));
/** A raw item on the heap with its own copy of the data; NULL: no memory. */
M0_EXTERN struct m0_rpc_raw *m0_rpc_raw_new(const struct m0_rpc_item_type *type,
					    const void *data, m0_bcount_t nr);
/** The raw item around an item of a type with the raw ops. */
M0_EXTERN struct m0_rpc_raw *m0_rpc_raw_of(struct m0_rpc_item *item);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_ITEM_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The RPC layer of seed 002, for storage services. It sends *items* - requests,
 * replies, one-way items - over any transport of m0/net.h, many of them in one
 * message. It executes requests of *update streams* exactly once and in order,
 * whatever the network does; with a durable store also if the server dies.
 *
 * Words.
 *  - *RPC machine* (m0/rpc.h): one transfer machine (TM) with the RPC state
 *    above it; it acts as client and as server at the same time.
 *  - *item* (m0/rpc_item.h): a unit of work, of a registered *type*.
 *  - *connection*, *session*, *stream* (m0/rpc_conn.h): a connection joins an
 *    RPC machine to a *service*, a logical name that a map of the RPC machine
 *    binds to a network address. A session is one user of the connection. A
 *    stream is a sequence of requests in a session that the server executes one
 *    after the other.
 *  - *cache*: the items that are posted and not yet in a packet. *Formation*
 *    (m0/rpc_frm.h) chooses which of them leave together in a *packet*, which
 *    is one network message.
 *  - *store* (m0/rpc_store.h): where the server keeps what a stream has
 *    executed and answered, in one transaction with the changes themselves.
 *  - *bulk* (m0/rpc_bulk.h): data that does not travel in items: the server
 *    reads it from the requester's memory, or writes it there.
 *
 * Threads. One thread, the one that delivers for its TM, runs all of an RPC
 * machine: handlers, callbacks, formation. A post from any thread is one push
 * to the RPC machine's inbox, without a lock. Items that handlers and callbacks
 * post leave at the end of the pass. The library makes no callback on the stack
 * of a call, and none with a lock held.
 *
 * Promise. Every item that a call has accepted completes exactly once and in
 * bounded time: at the latest rc_slack_ns after ri_expires. Nothing that a peer
 * sends makes an RPC machine exceed the bounds in its configuration.
 *
 * docs/rpc.md has a worked example.
 */
#ifndef M0_RPC_H
#define M0_RPC_H

#include "m0/net.h"
#include "m0/net_pool.h"
#include "m0/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_rpc_conn;
struct m0_rpc_session;
struct m0_rpc_machine;
struct m0_rpc_item_type;
struct m0_rpc_store;
struct m0_rpc_frm_policy;
struct m0_rpc_frm_network;

enum {
	/** Default of queue_len: receive buffers in the queue. */
	M0_RPC_DEF_QUEUE_LEN = 16,
	/** Default of msg_size, bytes of a packet: 128 KiB. */
	M0_RPC_DEF_MAX_RPC_MSG_SIZE = 128 * 1024
};

/**
 * Configuration of an RPC machine. m0_rpc_cfg_init() sets the defaults named
 * here. The library copies it.
 */
struct m0_rpc_cfg {
	/** The RPC machine has no thread; a thread that calls
	 * m0_rpc_machine_progress() runs it. */
	bool rc_inline;
	/** Send every item at once, in a packet of its own. For comparison. */
	bool rc_formation_off;
	/**
	 * If a server refuses a connection that was ACTIVE, or one of its sessions,
	 * with another error than -ESTALE, the client asks again, with pauses, and
	 * requests wait until they expire. false (default): such an error ends the
	 * connection and its requests.
	 */
	bool rc_asks_again;
	/**
	 * Identity of this client. It must stay the same over a restart, so
	 * that servers can recognise and fence the client's older connections.
	 * Default 0: drawn at random.
	 */
	struct m0_uint128 rc_uuid;
	/**
	 * Higher with every start of the same rc_uuid. 0: from the wall clock.
	 */
	uint64_t rc_incarnation;
	/** Time until the first resend; each resend doubles it, up to
	 * rc_resend_max_ns. 1 s, 8 s. */
	m0_time_t rc_resend_ns;
	m0_time_t rc_resend_max_ns;
	/** Default of ri_expires, counted from the post: 60 s. */
	m0_time_t rc_timeout_ns;
	/** Longest time from the expiry of an item to its completion: 1 s. */
	m0_time_t rc_slack_ns;
	/** How long a stop without abort waits for items to complete: 10 s. */
	m0_time_t rc_drain_ns;
	/** If a client has sent nothing for this long, the server forgets it
	 * and the replies kept for it in memory: 600 s. */
	m0_time_t rc_client_idle_ns;
	/**
	 * Only with rc_store set. If a client disappeared without terminating
	 * its connection, the server deletes its replies, and the fence of its
	 * older incarnations, from the store after this long, by wall time: one
	 * day. If the store is full, it already deletes them after
	 * rc_client_idle_ns.
	 */
	m0_time_t rc_client_keep_ns;
	/** Store of replies and streams. NULL: the RPC machine makes a volatile
	 * one. */
	struct m0_rpc_store *rc_store;
	/**
	 * Bounds on what peers may create: clients 1,024; sessions of each
	 * client 64; streams of a session 64; requests of a stream ahead of the
	 * oldest one not acknowledged 64; requests of a client in execution
	 * 4,096. Clients and sessions that ended while a request of theirs was
	 * in execution count separately, up to the same number again.
	 */
	uint32_t rc_clients_max;
	uint32_t rc_sessions_max;
	uint32_t rc_streams_max;
	uint32_t rc_window_max;
	uint32_t rc_executing_max;
	/**
	 * Items in the RPC machine's inbox and cache: 1,000,000. A post beyond
	 * that returns -EAGAIN. A request whose answer would exceed it is
	 * dropped and counted; its sender resends it. For answers to one
	 * address the bound is four times rc_executing_max.
	 */
	uint32_t rc_cached_max;
	/** Bytes of replies kept for the streams of all clients: 64 MiB. */
	m0_bcount_t rc_replies_bytes_max;
	/**
	 * Bytes that one client may cost, and all clients together: 16 MiB, 512
	 * MiB. They count the state of the client, its sessions, its streams
	 * (created when their first request is accepted) and the replies kept
	 * for it. The same limits apply separately to the answers that wait for
	 * an address to read them, and to those for all addresses.
	 *
	 * Beyond a limit, the server refuses a client, session or stream with
	 * -EDQUOT. It drops a request outside of streams, or the answer to it,
	 * and counts that; the sender resends the request. An address for which
	 * less than 64 KiB wait is served whatever waits for others.
	 */
	m0_bcount_t rc_client_bytes_max;
	m0_bcount_t rc_clients_bytes_max;
	/** For the application: payloads up to this size travel in items,
	 * larger ones by m0/rpc_bulk.h. 0 (default): half a packet. */
	m0_bcount_t rc_bulk_cutoff;
	/** Target policy of replies, and of connections that set none. */
	const struct m0_rpc_frm_policy *rc_policy;
	/** Network policy: when packets leave, and within which limits. NULL:
	 * m0_rpc_frm_line. */
	const struct m0_rpc_frm_network *rc_network;
	/** How long the thread polls before it sleeps; ~0 (default): the
	 * library's default. */
	m0_time_t rc_spin_ns;
	/** If a connection has several links, a link on which something is
	 * outstanding and nothing was received for this long is dead
	 * (m0/rpc_link.h). 500 ms. */
	m0_time_t rc_link_idle_ns;
	/**
	 * Initial value of rm_app_private, set before the first handler runs.
	 */
	void *rc_app_private;
	/** The epoch of m0_rpc_machine_epoch_set(), from the first packet on.
	 * 0: none. */
	uint32_t rc_epoch;
};

M0_EXTERN void m0_rpc_cfg_init(struct m0_rpc_cfg *cfg);

/** Counters of an RPC machine since its start, or since the last reset. */
struct m0_rpc_stats {
	/** Items received and decoded; duplicates included. */
	uint64_t rs_nr_rcvd_items;
	/** Items sent in packets; resends included. */
	uint64_t rs_nr_sent_items;
	uint64_t rs_nr_failed_items;
	/** Items received and dropped: unknown opcode, session, request, ... */
	uint64_t rs_nr_dropped_items;
	uint64_t rs_nr_timedout_items;
	/** Posted items sent for the first time. */
	uint64_t rs_nr_sent_items_uniq;
	uint64_t rs_nr_resent_items;
	uint64_t rs_nr_resend_attempts;
	/** Requests received after their expiry and not executed. */
	uint64_t rs_nr_expired_items;
	/**
	 * Duplicates of requests that the server answered with the kept reply.
	 */
	uint64_t rs_nr_replayed_items;
	/** Requests that their sender cancelled before execution began. */
	uint64_t rs_nr_cancelled_items;
	/** Items that a data policy merged into others. */
	uint64_t rs_nr_coalesced_items;
	uint64_t rs_nr_rcvd_packets;
	uint64_t rs_nr_sent_packets;
	uint64_t rs_nr_failed_packets;
	/** Packets that could not be decoded: foreign, bad checksum, or
	 * malformed. */
	uint64_t rs_nr_bad_packets;
	uint64_t rs_nr_sent_bytes;
	uint64_t rs_nr_rcvd_bytes;
	/** Bulk buffers that were restarted over another link. */
	uint64_t rs_nr_moved_bulk;
	/** Bulk buffers that were restarted after a failure. */
	uint64_t rs_nr_restarted_bulk;
	/**
	 * At present: clients, requests in execution, bytes of replies kept.
	 */
	uint64_t rs_clients;
	uint64_t rs_executing;
	uint64_t rs_replies_bytes;
	/** At present: bytes of the state of clients, with their sessions and
	 * streams; bytes of items that wait to be sent. */
	uint64_t rs_clients_bytes;
	uint64_t rs_waiting_bytes;
};

/**
 * Hooks that watch an RPC machine: its own connections and sessions, and
 * (connections with M0_RPC_CONN_RECV_END in c_flags) those that peers make to
 * it. All connections of one incarnation of a peer's RPC machine appear as one
 * connection here. The library calls the hooks on the RPC machine's thread.
 * Each may be NULL; none may block or detach. The library owns the connections
 * and sessions of peers; the application may read them until the hook of their
 * removal has returned.
 */
struct m0_rpc_machine_watch {
	/** The connection is ACTIVE for the first time, or a peer has
	 * connected. */
	void (*mw_conn_added)(struct m0_rpc_machine_watch *watch,
			      struct m0_rpc_conn          *conn);
	/** The session is established for the first time, or a peer has made
	 * it. */
	void (*mw_session_added)(struct m0_rpc_machine_watch *watch,
				 struct m0_rpc_session       *session);
	/**
	 * The library calls these once for each connection and session that was
	 * added, before or after this watch was attached: it is FAILED or
	 * TERMINATED; the peer has left, or was forgotten or fenced; or the RPC
	 * machine ends. Sessions come before their connection.
	 */
	void (*mw_session_removed)(struct m0_rpc_machine_watch *watch,
				   struct m0_rpc_session       *session);
	void (*mw_conn_removed)(struct m0_rpc_machine_watch *watch,
				struct m0_rpc_conn          *conn);
	/** The RPC machine is finalised; the watch is already detached. */
	void (*mw_mach_terminated)(struct m0_rpc_machine_watch *watch);
	/* For the library. */
	struct m0_rpc_machine *mw_mach;
	struct m0_list_link    mw_link;
};

struct m0_rpc_machine {
	/** The TM: modes, statistics, end point. Only the calls below may stop
	 * or finalise it. */
	struct m0_net_transfer_mc rm_tm;
	/** Largest packet; an item with its headers is not larger. */
	m0_bcount_t rm_min_recv_size;
	/** rc_bulk_cutoff, or the default for it. */
	m0_bcount_t rm_bulk_cutoff;
	/** The domain, for buffers that a handler makes. */
	struct m0_net_domain *rm_dom;
	/** For the application, initially rc_app_private: the state that
	 * handlers work on, as they get the RPC machine. The library does not
	 * use it. */
	void *rm_app_private;
	/** For the library; see src/rpc/rpc_internal.h. */
	struct m0_rpc__machine *rm_lib;
};

/**
 * Initialises an RPC machine, starts its TM and waits until that is STARTED
 * (inline: makes progress meanwhile). Not from a callback. After an error
 * nothing is left to finalise.
 *
 * @param cfg        NULL: the defaults.
 * @param ep_addr    as for m0_net_tm_start(); NULL: the transport chooses one.
 * @param recv_pool  pool of receive buffers, of this domain, unlocked, with the
 *                   not-empty callback m0_net_domain_buffer_pool_not_empty; RPC
 *                   machines may share it. NULL: the RPC machine makes its own.
 * @param colour     for the pool; M0_BUFFER_ANY_COLOUR.
 * @param msg_size   bytes of a packet; 0: 128 KiB or the transport's maximum.
 * @param queue_len  receive buffers to keep queued; 0: 16.
 * @retval -EINVAL   a field of `cfg` is out of bounds (the log names it), or
 *                   msg_size is below 1 KiB or above the transport's maximum.
 * @retval -EADDRINUSE, -EADDRNOTAVAIL, ...  the transport could not start.
 * @retval -ENOSYS   the transport cannot run the RPC machine on a TM thread.
 */
M0_EXTERN int m0_rpc_machine_init(struct m0_rpc_machine     *machine,
				  struct m0_net_domain      *dom,
				  const struct m0_rpc_cfg   *cfg,
				  const char                *ep_addr,
				  struct m0_net_buffer_pool *recv_pool,
				  uint32_t colour, m0_bcount_t msg_size,
				  uint32_t queue_len);
/**
 * Refuses new work and ends everything in progress: with `abort` at once,
 * otherwise after it has completed or rc_drain_ns have passed. Every item
 * completes. The call waits for requests in execution, and drops their replies.
 * Blocks; not from a callback. Idempotent.
 */
M0_EXTERN void m0_rpc_machine_stop(struct m0_rpc_machine *machine, bool abort);
/** Stops the RPC machine with abort if it is not stopped, and finalises it.
 * Pre: no connection made here is left, and no thread is inside a call of the
 * RPC machine. */
M0_EXTERN void m0_rpc_machine_fini(struct m0_rpc_machine *machine);

/** Inline: does the work that is due and delivers all events of the RPC
 * machine. Never blocks. Not from a callback. */
M0_EXTERN void m0_rpc_machine_progress(struct m0_rpc_machine *machine);
/** m0_net_tm_fd() of rm_tm, for inline RPC machines in event loops. */
M0_EXTERN int m0_rpc_machine_fd(struct m0_rpc_machine *machine);
/**
 * Sets the epoch: a number of the application's configuration (seed 002: "a
 * common header storing generic information, like epoch numbers"). Every packet
 * formed from now on carries it, also one with resent items, and the peer finds
 * it in ri_epoch of the items in that packet. The library does not compare
 * epochs: if a handler finds that a request is from an older configuration, it
 * answers as the application requires. Any thread.
 */
M0_EXTERN void     m0_rpc_machine_epoch_set(struct m0_rpc_machine *machine,
					    uint32_t               epoch);
M0_EXTERN uint32_t m0_rpc_machine_epoch(const struct m0_rpc_machine *machine);
/** Address of the first end point of the RPC machine. */
M0_EXTERN const char *m0_rpc_machine_addr(const struct m0_rpc_machine *machine);

/** Copies the counters. Any thread. */
M0_EXTERN void m0_rpc_machine_get_stats(struct m0_rpc_machine *machine,
					struct m0_rpc_stats *stats, bool reset);
/**
 * Times from post to reply, in nanoseconds, of all requests of a type posted
 * here.
 * @retval -ENOENT  no request of the type was posted.
 */
M0_EXTERN int  m0_rpc_machine_latency(struct m0_rpc_machine         *machine,
				      const struct m0_rpc_item_type *type,
				      struct m0_hist                *ret_hist);
M0_EXTERN void m0_rpc_machine_watch_attach(struct m0_rpc_machine       *machine,
					   struct m0_rpc_machine_watch *watch);
/** When this has returned, the library calls no hook of the watch any more. Not
 * from a hook. */
M0_EXTERN void m0_rpc_machine_watch_detach(struct m0_rpc_machine_watch *watch);

/**
 * Binds a service to a network address. From now on its connections use that
 * address; items in the cache and items that wait for replies are sent there.
 * For several addresses at once see m0/rpc_link.h. Any thread.
 * @retval -EINVAL  `addr` is not an address of the transport; nothing has
 *                  changed.
 */
M0_EXTERN int m0_rpc_machine_map(struct m0_rpc_machine *machine,
				 struct m0_uint128 service, const char *addr);

/* ------------------------------------------- pools of receive buffers -- */

/**
 * Initialises a pool of receive buffers for RPC machines, and fills it.
 * @param bufs_nr  number of buffers, see m0_rpc_bufs_nr().
 * @param tm_nr    number of RPC machines that will share it, hence of colours.
 * @retval -ENOMEM  nothing is left to finalise.
 */
M0_EXTERN int  m0_rpc_net_buffer_pool_setup(struct m0_net_domain      *dom,
					    struct m0_net_buffer_pool *pool,
					    uint32_t bufs_nr, uint32_t tm_nr);
M0_EXTERN void m0_rpc_net_buffer_pool_cleanup(struct m0_net_buffer_pool *pool);
/** len + max(tms_nr / 4, 1) + 2. */
M0_EXTERN uint32_t m0_rpc_bufs_nr(uint32_t len, uint32_t tms_nr);

/* ----------------------------------------------- handlers that block -- */

/**
 * Threads for handlers that may block: rit_pool of item types. At most
 * rc_executing_max requests of each client, and as many one-way items, wait in
 * its queue; further ones are dropped and counted. A thread that takes a
 * request which has expired or was cancelled does not start it. Stopping an RPC
 * machine waits for all of its items in the pool.
 */
struct m0_rpc_pool;
/**
 * @param threads_nr  1 to 256.
 * @retval -EINVAL, -ENOMEM, -EAGAIN
 */
M0_EXTERN int m0_rpc_pool_create(struct m0_rpc_pool **ret_pool,
				 uint32_t threads_nr, const char *name);
/** Waits for handlers that run. Pre: no RPC machine is left that could use the
 * pool. */
M0_EXTERN void m0_rpc_pool_destroy(struct m0_rpc_pool *pool);

#ifdef __cplusplus
}
#endif

#include "m0/rpc_item.h"
#include "m0/rpc_conn.h"
#include "m0/rpc_frm.h"
#include "m0/rpc_store.h"
#include "m0/rpc_link.h"

#endif /* M0_RPC_H */

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The RPC layer of seed 002: what a storage service calls. It sends *items* -
 * requests, replies, one-way notices - over any transport of m0/net.h, many of
 * them in one message, and executes requests of *update streams* exactly once
 * and in order, whatever the network does; with a durable store also when the
 * server dies.
 *
 * Words.
 *  - *machine* (m0/rpc.h): one transfer machine and all that is spoken there;
 *    it serves and asks at once.
 *  - *item* (m0/rpc_item.h): a unit of work, of a registered *type*.
 *  - *connection*, *session*, *stream* (m0/rpc_conn.h): a connection joins a
 *    machine to a *service*, a logical name that a map of the machine binds to
 *    a network address; a session is one user of it; a stream is a sequence of
 *    requests in a session that the server executes one after the other.
 *  - *cache*: items posted and not yet in a packet. *Formation*
 *    (m0/rpc_frm.h) chooses what leaves together, in a *packet*, which is one
 *    network message.
 *  - *store* (m0/rpc_store.h): where the server keeps what a stream has
 *    executed and answered, in one transaction with the changes themselves.
 *  - *bulk* (m0/rpc_bulk.h): data that does not travel in items: the server
 *    fetches it from, or places it in, the memory of who asked.
 *
 * Threads. Everything of a machine moves on one thread, the one that delivers
 * for its transfer machine: handlers, callbacks, formation. A post from any
 * thread is one push to the machine's inbox, without a lock; what is posted
 * from handlers and callbacks leaves at the end of the pass. No callback is
 * made on the stack of a call, and none under a lock.
 *
 * Promise. Every item that a call has accepted ends exactly once, in bounded
 * time: at ri_expires and rc_slack_ns later at the latest. What a peer sends
 * cannot make a machine grow past the bounds in its configuration.
 *
 * A worked example stands in docs/rpc.md.
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
	/** Receive buffers kept queued, if 0 is given. */
	M0_RPC_DEF_QUEUE_LEN = 16,
	/** Bytes of a packet, if 0 is given: 128 KiB. */
	M0_RPC_DEF_MAX_RPC_MSG_SIZE = 128 * 1024
};

/**
 * Configuration of a machine. m0_rpc_cfg_init() gives the defaults named here.
 * The library copies it.
 */
struct m0_rpc_cfg {
	/** The caller of m0_rpc_machine_progress() runs it; no thread. */
	bool rc_inline;
	/** Every item in a packet of its own, as it comes: for comparison. */
	bool rc_formation_off;
	/**
	 * Who this is, as a client: the same after a restart, so that its older
	 * connections can be told and fenced. Default 0: drawn at random.
	 */
	struct m0_uint128 rc_uuid;
	/** Rises with every start of the same uuid. 0: by the wall clock. */
	uint64_t rc_incarnation;
	/** Resend after this; doubled by each resend up to the second. 1 s,
	 * 8 s. */
	m0_time_t rc_resend_ns;
	m0_time_t rc_resend_max_ns;
	/** Default of ri_expires, after the post: 60 s. */
	m0_time_t rc_timeout_ns;
	/** An item that has expired ends within this: 1 s. */
	m0_time_t rc_slack_ns;
	/** A stop that does not abort lets items finish for this long: 10 s. */
	m0_time_t rc_drain_ns;
	/** A peer that has said nothing for so long is forgotten as a client,
	 * with its replies kept in memory: 600 s. */
	m0_time_t rc_client_idle_ns;
	/** With a store that was given: what it has of a client that departed
	 * without a word, its answers and the fence of an older incarnation, is
	 * deleted after so long, by wall time: 24 h. When the store is full,
	 * after rc_client_idle_ns already. */
	m0_time_t rc_client_keep_ns;
	/** Replies and streams; NULL: a volatile one of the machine's own. */
	struct m0_rpc_store *rc_store;
	/** Bounds of what peers may make: clients 1,024, sessions of each 64,
	 * streams of a session 64, requests of a stream ahead of the oldest
	 * not acknowledged 64, requests of a client being executed 4,096. Of
	 * clients and sessions that have ended while something of them was
	 * being executed there are as many more at most. */
	uint32_t rc_clients_max;
	uint32_t rc_sessions_max;
	uint32_t rc_streams_max;
	uint32_t rc_window_max;
	uint32_t rc_executing_max;
	/** Items in the machine's inbox and cache; a post beyond is -EAGAIN,
	 * and a request whose answer would find no room is dropped and counted,
	 * to be sent again: 1,000,000. For answers to one address four times
	 * rc_executing_max. */
	uint32_t rc_cached_max;
	/** Bytes of replies kept for streams, of all clients: 64 MiB. */
	m0_bcount_t rc_replies_bytes_max;
	/**
	 * Bytes that one client may cost, and all together: what is known of it,
	 * its sessions, its streams (made when their first request is accepted),
	 * replies kept; and, by address and once more as much, answers that wait
	 * to be read. 16 MiB, 512 MiB. Beyond that a client, session or stream is
	 * refused with -EDQUOT, and a request outside of streams is dropped, or
	 * its answer is, and counted, to be sent again; of a place where less than
	 * 64 KiB wait this is not so, whatever wait for others.
	 */
	m0_bcount_t rc_client_bytes_max;
	m0_bcount_t rc_clients_bytes_max;
	/** Larger payloads go by bulk in m0/rpc_bulk.h: half a packet. */
	m0_bcount_t rc_bulk_cutoff;
	/** Of connections that name none, and of replies. */
	const struct m0_rpc_frm_policy *rc_policy;
	/** When packets leave, within which limits; NULL: m0_rpc_frm_line. */
	const struct m0_rpc_frm_network *rc_network;
	/** Nanoseconds to spin before sleeping; ~0 (default): the machine's. */
	m0_time_t rc_spin_ns;
	/** A link, of several, on which something is outstanding and nothing
	 * was heard for so long is dead: m0/rpc_link.h. 500 ms. */
	m0_time_t rc_link_idle_ns;
	/** The application's: rm_app_private, from before the first handler is
	 * called. */
	void *rc_app_private;
	/** As m0_rpc_machine_epoch_set(), from the first packet on. 0: none. */
	uint32_t rc_epoch;
};

M0_EXTERN void m0_rpc_cfg_init(struct m0_rpc_cfg *cfg);

/** What a machine has done since its start, or since the last reset. */
struct m0_rpc_stats {
	/** Items that came and were understood; duplicates included. */
	uint64_t rs_nr_rcvd_items;
	/** Items that left in packets; resends included. */
	uint64_t rs_nr_sent_items;
	uint64_t rs_nr_failed_items;
	/** Came and were dropped: no such opcode, session, request... */
	uint64_t rs_nr_dropped_items;
	uint64_t rs_nr_timedout_items;
	/** Posted items that left for the first time. */
	uint64_t rs_nr_sent_items_uniq;
	uint64_t rs_nr_resent_items;
	uint64_t rs_nr_resend_attempts;
	/** Requests that came after their time, not executed. */
	uint64_t rs_nr_expired_items;
	/** Requests that came again and were answered from the cache. */
	uint64_t rs_nr_replayed_items;
	/** Requests cancelled by their sender before they were begun. */
	uint64_t rs_nr_cancelled_items;
	/** Items merged into others by a data policy. */
	uint64_t rs_nr_coalesced_items;
	uint64_t rs_nr_rcvd_packets;
	uint64_t rs_nr_sent_packets;
	uint64_t rs_nr_failed_packets;
	/** Packets that could not be decoded: not ours, bad sum, lies. */
	uint64_t rs_nr_bad_packets;
	uint64_t rs_nr_sent_bytes;
	uint64_t rs_nr_rcvd_bytes;
	/** Buffers of bulk that were begun anew over another link. */
	uint64_t rs_nr_moved_bulk;
	/** Buffers of bulk that were begun anew after a failure. */
	uint64_t rs_nr_restarted_bulk;
	/** Now: clients, requests being executed, bytes of replies kept. */
	uint64_t rs_clients;
	uint64_t rs_executing;
	uint64_t rs_replies_bytes;
	/** Now: bytes of what is known of clients, with their sessions and
	 * streams; bytes of items that wait to be sent. */
	uint64_t rs_clients_bytes;
	uint64_t rs_waiting_bytes;
};

/**
 * Hooks that watch a machine: its own connections and sessions, and (c_flags of
 * the connection: M0_RPC_CONN_RECV_END) those that peers make to it. All the
 * connections of one incarnation of a peer's machine are one here. The library
 * calls the hooks on the machine's thread; each may be NULL; none may block or
 * detach. What peers have made is the library's, and may be looked at until the
 * hook of its removal has returned.
 */
struct m0_rpc_machine_watch {
	/** It is ACTIVE for the first time; a peer has connected. */
	void (*mw_conn_added)(struct m0_rpc_machine_watch *watch,
			      struct m0_rpc_conn          *conn);
	/** It is established for the first time; a peer has made it. */
	void (*mw_session_added)(struct m0_rpc_machine_watch *watch,
				 struct m0_rpc_session       *session);
	/** Once for each that was added, before or after this watch was
	 * attached: it is FAILED or TERMINATED; the peer has left, was forgotten
	 * or fenced, or the machine ends. Sessions before their connection. */
	void (*mw_session_removed)(struct m0_rpc_machine_watch *watch,
				   struct m0_rpc_session       *session);
	void (*mw_conn_removed)(struct m0_rpc_machine_watch *watch,
				struct m0_rpc_conn          *conn);
	/** The machine is finalised; the watch is detached already. */
	void (*mw_mach_terminated)(struct m0_rpc_machine_watch *watch);
	/* The library's. */
	struct m0_rpc_machine *mw_mach;
	struct m0_list_link    mw_link;
};

struct m0_rpc_machine {
	/** Its transfer machine: modes, statistics, end point. Not to be
	 * stopped or finalised but by the calls below. */
	struct m0_net_transfer_mc rm_tm;
	/** Largest packet, and largest item with its headers. */
	m0_bcount_t rm_min_recv_size;
	/** Payloads up to this travel in items. */
	m0_bcount_t rm_bulk_cutoff;
	/** Its domain, for buffers that a handler makes. */
	struct m0_net_domain *rm_dom;
	/** The application's, initially rc_app_private: what handlers that are
	 * given the machine work on. The library does not use it. */
	void *rm_app_private;
	/** The library's: src/rpc/rpc_internal.h. */
	struct m0_rpc__machine *rm_lib;
};

/**
 * Makes a machine, starts its transfer machine and waits until that has
 * STARTED (inline: makes progress meanwhile). Not from a callback.
 *
 * @param cfg        NULL: the defaults.
 * @param ep_addr    as m0_net_tm_start(), NULL: a free one.
 * @param recv_pool  of receive buffers, of this domain, unlocked, with its
 *                   not-empty callback m0_net_domain_buffer_pool_not_empty; may
 *                   be shared by machines. NULL: the machine makes its own.
 * @param colour     for the pool; M0_BUFFER_ANY_COLOUR.
 * @param msg_size   bytes of a packet; 0: 128 KiB or the transport's maximum.
 * @param queue_len  receive buffers to keep queued; 0: 16.
 * @retval -EINVAL   a field of `cfg` is out of bounds (it is logged which), or
 *                   msg_size below 1 KiB or above the transport's maximum.
 * @retval -EADDRINUSE, -EADDRNOTAVAIL, ... as the transport fails the start.
 * @retval -ENOSYS   the transport cannot run a machine above its own.
 * With an error nothing is left.
 */
M0_EXTERN int m0_rpc_machine_init(struct m0_rpc_machine     *machine,
				  struct m0_net_domain      *dom,
				  const struct m0_rpc_cfg   *cfg,
				  const char                *ep_addr,
				  struct m0_net_buffer_pool *recv_pool,
				  uint32_t colour, m0_bcount_t msg_size,
				  uint32_t queue_len);
/**
 * Refuses new work and ends all there is: with `abort` at once, else after
 * what is under way has finished or rc_drain_ns have gone by. Every item gets
 * its end, requests being executed are waited for (their replies go nowhere).
 * Blocks; not from a callback. Idempotent.
 */
M0_EXTERN void m0_rpc_machine_stop(struct m0_rpc_machine *machine, bool abort);
/** Stops it with abort if it is not stopped. Pre: no connections made here, and
 * no thread inside a call of the machine. */
M0_EXTERN void m0_rpc_machine_fini(struct m0_rpc_machine *machine);

/** Inline: does what can be done now, delivers all events of the machine.
 * Never blocks. Not from a callback. */
M0_EXTERN void m0_rpc_machine_progress(struct m0_rpc_machine *machine);
/** As m0_net_tm_fd() of rm_tm, for inline machines in event loops. */
M0_EXTERN int m0_rpc_machine_fd(struct m0_rpc_machine *machine);
/**
 * Sets the epoch: a number of the application's configuration (seed 002: "a
 * common header storing generic information, like epoch numbers"). Every packet
 * formed from now on carries it, and what comes out of it at the peer has it in
 * ri_epoch. The library compares nothing: a handler that finds a request of an
 * older configuration answers as the application has agreed. What is sent again
 * carries the epoch of that time. Any thread.
 */
M0_EXTERN void     m0_rpc_machine_epoch_set(struct m0_rpc_machine *machine,
					    uint32_t               epoch);
M0_EXTERN uint32_t m0_rpc_machine_epoch(const struct m0_rpc_machine *machine);
/** Address of the machine's own end point. */
M0_EXTERN const char *m0_rpc_machine_addr(const struct m0_rpc_machine *machine);

/** Any thread. */
M0_EXTERN void m0_rpc_machine_get_stats(struct m0_rpc_machine *machine,
					struct m0_rpc_stats *stats, bool reset);
/**
 * From post to reply, nanoseconds, of all requests of a type posted here.
 * @retval -ENOENT  none was.
 */
M0_EXTERN int  m0_rpc_machine_latency(struct m0_rpc_machine         *machine,
				      const struct m0_rpc_item_type *type,
				      struct m0_hist                *ret_hist);
M0_EXTERN void m0_rpc_machine_watch_attach(struct m0_rpc_machine       *machine,
					   struct m0_rpc_machine_watch *watch);
/** No hook is called any more when this returns. Not from a hook. */
M0_EXTERN void m0_rpc_machine_watch_detach(struct m0_rpc_machine_watch *watch);

/**
 * Binds a service to a network address, from now on: connections to it speak
 * there, items in the cache and those waiting for replies are sent there.
 * Several addresses at once: m0/rpc_link.h. Any thread.
 * @retval -EINVAL  not an address of the transport; nothing has changed.
 */
M0_EXTERN int m0_rpc_machine_map(struct m0_rpc_machine *machine,
				 struct m0_uint128 service, const char *addr);

/* ------------------------------------------- pools of receive buffers -- */

/**
 * Initialises a pool for machines' receive buffers and fills it.
 * @param bufs_nr  as m0_rpc_bufs_nr().
 * @param tm_nr    machines that will share it, hence colours.
 * @retval -ENOMEM  nothing is left.
 */
M0_EXTERN int  m0_rpc_net_buffer_pool_setup(struct m0_net_domain      *dom,
					    struct m0_net_buffer_pool *pool,
					    uint32_t bufs_nr, uint32_t tm_nr);
M0_EXTERN void m0_rpc_net_buffer_pool_cleanup(struct m0_net_buffer_pool *pool);
/** len + max(tms_nr / 4, 1) + 2. */
M0_EXTERN uint32_t m0_rpc_bufs_nr(uint32_t len, uint32_t tms_nr);

/* ----------------------------------------------- handlers that block -- */

/**
 * Threads for handlers that may block: rit_pool of types. Requests wait in it,
 * at most rc_executing_max of each client, and as many one-way items; one that
 * is beyond is dropped and counted. What has expired or was cancelled when its
 * turn comes is not begun. A machine's stop waits for all that it has there.
 */
struct m0_rpc_pool;
/** @param threads_nr 1 to 256. @retval -EINVAL, -ENOMEM, -EAGAIN */
M0_EXTERN int m0_rpc_pool_create(struct m0_rpc_pool **ret_pool,
				 uint32_t threads_nr, const char *name);
/** Waits for handlers that run. Pre: no machine that could call is left. */
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

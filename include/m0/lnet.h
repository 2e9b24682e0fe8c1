/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * LNet in user space: a node of a Lustre network inside this process, without a
 * kernel module. Lustre's own nodes accept it over TCP.
 *
 * A node (`struct m0_lnet`) has one NID for each of its interfaces. It sends
 * messages by m0_lnet_put() and m0_lnet_get() from memory that an MD (memory
 * descriptor) describes. A match entry (ME) on a portal selects incoming
 * messages; the node receives a message that matches an ME into the MD attached
 * to it. The node reports every outcome by an event on an event queue (EQ).
 * This is the interface of Portals; comments mark what Portals does not have
 * with "Extension".
 *
 * Three rules hold for every call here:
 *  - It never blocks and never makes a callback on the caller's stack, except
 *    where its comment says so (`_sync`, m0_lnet_open, m0_lnet_close,
 *    m0_lnet_eq_fini).
 *  - It returns only errors that the caller's node can detect at once (a bad
 *    argument, a limit that is reached); an event reports every later outcome.
 *  - Each MD ends with exactly one event that has ev_unlinked set. A call that
 *    fails changes nothing and causes no event.
 * Unless its comment says otherwise, a call may be made by any thread and from
 * callbacks.
 *
 * Time is m0_time_t, nanoseconds of the monotonic clock; durations in `_ms` are
 * milliseconds.
 */
#ifndef M0_LNET_H
#define M0_LNET_H

#include "m0/base.h"
#include "m0/lnet_nid.h"
#include "m0/lnet_cfg.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_lnet;
struct m0_lnet_eq;
struct m0_front_event;

enum {
	/** The node uses this portal for pings and discovery. */
	M0_LNET_PORTAL_RESERVED = 0,
	/** Largest payload of one message, in bytes. */
	M0_LNET_MTU = 1 << 20,
	/** Most segments of an MD. */
	M0_LNET_MD_SEGS_MAX = 256
};

/** Identifies an ME or MD of one node. The node never uses a value twice; all 0
 * identifies none. */
struct m0_lnet_handle {
	uint32_t lh_slot;
	uint32_t lh_gen;
};
M0_EXTERN const struct m0_lnet_handle m0_lnet_handle_none;
static inline bool m0_lnet_handle_is_none(struct m0_lnet_handle handle)
{
	return handle.lh_gen == 0;
}

/* -- the node -------------------------------------------------------------- */

/**
 * Opens a node: takes its addresses, listens, and starts a thread for it unless
 * lc_inline is set. Blocks until peers can reach the node, or until opening it
 * has failed; with lgc_check_first until the gateways were checked, too.
 * @param cfg  copied; NULL: m0_lnet_cfg_default().
 * @param why  buffer of M0_LNET_WHY_BYTES, or NULL: on failure it receives what
 *             is wrong and what to do about it, in one or more lines.
 * @retval -EINVAL         the configuration is invalid; `why` names field and
 *                         value.
 * @retval -EADDRINUSE     another socket uses the address and port.
 * @retval -EACCES         the port needs a privilege.
 * @retval -EADDRNOTAVAIL  this host does not have the address.
 * @retval -ENOMEM, -EMFILE  and other errors of the system.
 */
M0_EXTERN int m0_lnet_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
			   char *why);
/**
 * Closes a node. Every outstanding operation completes with -ESHUTDOWN, each MD
 * with its UNLINK; after the last callback has returned, the node resets its
 * connections and frees its memory. Blocks until then; do not call it from a
 * callback. The caller still owns the event queues, and can still take the
 * events of polled ones.
 */
M0_EXTERN void m0_lnet_close(struct m0_lnet *lnet);
enum {
	M0_LNET_WHY_BYTES = 768
};

/**
 * Inline nodes (lc_inline): moves bytes and makes callbacks on the calling
 * thread. Returns at once if another thread is doing so, or in a callback.
 * @return true if it did something.
 */
M0_EXTERN bool m0_lnet_progress(struct m0_lnet *lnet);
/**
 * Restricts the node's thread to a set of processors, from now on, as lc_cpus
 * does. If the node gets a thread later, the set applies to that one. Any
 * thread may call this.
 * @param processors  copied; NULL: any.
 * @retval -EINVAL  the set contains no processor that the process may run on;
 *                  nothing has changed.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_lnet_confine(struct m0_lnet         *lnet,
			      const struct m0_bitmap *processors);
/**
 * A descriptor that polls readable while m0_lnet_progress() has something to
 * do, for event loops. Inline nodes only. The first call creates it; the node
 * closes it in m0_lnet_close().
 * @retval -ENOSYS  the node has a thread of its own.
 */
M0_EXTERN int m0_lnet_fd(struct m0_lnet *lnet);

/**
 * The i-th NID of the node: 0 is `0@lo`; the interfaces follow in the order of
 * the configuration, then of m0_lnet_net_add().
 * @retval -ENOENT  the node has no more NIDs.
 */
M0_EXTERN int m0_lnet_get_id(struct m0_lnet *lnet, unsigned i,
			     struct m0_lnet_process_id *id);
/**
 * Distance to `dst`: 0 if it is this node, 1 if it is on one of the node's
 * networks, more if a gateway is needed.
 * @param src    receives the NID that the node would use; may be NULL.
 * @param order  receives a rank among NIDs of the same distance, lower is
 *               better: 0 for `0@lo`, else 1 and more; may be NULL.
 * For a NID that is not on the node's networks the call blocks until the node's
 * thread has executed it, except in callbacks of that node.
 * @retval -EHOSTUNREACH  the node has no route to it.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_dist(struct m0_lnet *lnet, const struct m0_lnet_nid *dst,
			   struct m0_lnet_nid *src, uint32_t *order);

/* -- events ---------------------------------------------------------------- */

enum m0_lnet_event_type {
	/** Target: the node has answered a GET. */
	M0_LNET_EV_GET = 1,
	/** Target: a PUT has arrived, and its data is in the MD. */
	M0_LNET_EV_PUT = 2,
	/** Initiator: the data that a GET requested is in the MD. */
	M0_LNET_EV_REPLY = 3,
	/** Initiator: the target has accepted a PUT. */
	M0_LNET_EV_ACK = 4,
	/** Initiator: the node has sent a PUT or GET, or failed to. */
	M0_LNET_EV_SEND = 5,
	/** The MD has ended, and no other event reports that. */
	M0_LNET_EV_UNLINK = 6
};

/**
 * An event. SEND may come before or after the ACK or REPLY of the same
 * operation. After a SEND that failed, the operation has no other event.
 * Lengths are in bytes.
 */
struct m0_lnet_event {
	enum m0_lnet_event_type ev_type;
	/** 0 or a negative errno. */
	int ev_status;
	/** This is the last event of the MD; its handle is invalid. */
	bool ev_unlinked;
	/** Destination in the header. */
	struct m0_lnet_process_id ev_target;
	/** The sender's primary NID, which the node compares with mea_id. */
	struct m0_lnet_process_id ev_initiator;
	/** Source in the header. */
	struct m0_lnet_process_id ev_source;
	/** NID that sent the message to this node: the source, or a gateway. */
	struct m0_lnet_nid ev_sender;
	uint32_t           ev_portal;
	uint64_t           ev_match_bits;
	/** PUT and its SEND: lo_hdr_data of the operation. */
	uint64_t ev_hdr_data;
	/** Bytes requested, and bytes moved. */
	m0_bcount_t ev_rlength;
	m0_bcount_t ev_mlength;
	/** Offset of the data in the MD. */
	m0_bcount_t ev_offset;
	/** SEND: true if the operation is a GET. */
	bool                  ev_is_get;
	struct m0_lnet_handle ev_md;
	/** mda_user of the MD and lo_user of the operation. */
	void *ev_md_user;
	void *ev_op_user;
};

/**
 * Event queue, with a callback or polled. The caller provides the memory; after
 * m0_lnet_eq_init() its fields belong to the library.
 *
 * The node makes callbacks on its thread (inline: in m0_lnet_progress), in
 * order, one at a time for the whole node, with no lock held. A callback must
 * not block; it may start operations.
 */
struct m0_lnet_eq {
	struct m0_lnet *eq_lnet;
	void (*eq_callback)(struct m0_lnet_eq          *eq,
			    const struct m0_lnet_event *event);
	/** Set by m0_lnet_eq_told_set() and m0_lnet_eq_bound_set() of
	 * m0/lnet_run.h. */
	void (*eq_told)(struct m0_lnet_eq *eq);
	void (*eq_full)(struct m0_lnet_eq *eq);
	/** For the owner of the queue; the library does not use it. */
	void *eq_user;
	/** Polled: most incoming messages in the queue, including those that
	 * the node is still receiving or answering. It drops further ones. */
	unsigned eq_max;
	/** Number of the queue at its node; 0: the node had none left. */
	uint32_t eq_number;
	/**
	 * Incoming messages that the node dropped because eq_max were queued,
	 * as of the last m0_lnet_eq_get() or m0_lnet_eq_wait().
	 */
	uint64_t               eq_dropped_nr;
	struct m0_front_event *eq_first;
	struct m0_front_event *eq_last;
	/** Number of MDs and events that refer to this queue. */
	unsigned eq_users_nr;
	/** A thread is in m0_lnet_eq_wait. */
	bool                eq_waits;
	struct m0_list_link eq_link;
	struct m0_semaphore eq_sem;
};

/**
 * A node has at most 65,536 queues. It refuses MDs of a further queue with -ENOSPC, and
 * with -ENOMEM if it has no memory for the queue; a later MD tries again.
 * @param callback  NULL: the queue is polled.
 * @param max       polled: most incoming messages in the queue; 0: 1024.
 */
M0_EXTERN void m0_lnet_eq_init(struct m0_lnet_eq *eq, struct m0_lnet *lnet,
			       void (*callback)(struct m0_lnet_eq          *eq,
						const struct m0_lnet_event *ev),
			       unsigned max);
/** Pre: all MDs on the queue have ended and, if it is polled, it is empty. */
M0_EXTERN void m0_lnet_eq_fini(struct m0_lnet_eq *eq);
/**
 * Takes the oldest event of a polled queue; on an inline node it makes progress
 * first.
 * @retval -EAGAIN  the queue is empty.
 */
M0_EXTERN int m0_lnet_eq_get(struct m0_lnet_eq    *eq,
			     struct m0_lnet_event *event);
/**
 * Takes the oldest event of a polled queue, and waits for one if it is empty.
 * Blocks: do not call it from callbacks, nor from two threads at once for one
 * queue.
 * @retval -ETIMEDOUT  no event came before `deadline`.
 */
M0_EXTERN int m0_lnet_eq_wait(struct m0_lnet_eq    *eq,
			      struct m0_lnet_event *event, m0_time_t deadline);

/* -- matching -------------------------------------------------------------- */

enum m0_lnet_me_flags {
	/** The node unlinks the ME when its MD ends. */
	M0_LNET_ME_UNLINK = 1,
	/** Insert the ME before those on the portal; without this flag, after
	 * them. */
	M0_LNET_ME_BEFORE = 2,
	/** Extension: match this ME after all others without ignore bits, also
	 * those attached later. With BEFORE: match it before the MEs that have
	 * LAST alone. */
	M0_LNET_ME_LAST = 4,
	/** Extension: the ME takes any number of MDs. The node tries them in
	 * the order in which they were attached, and each ends by itself. Not
	 * with UNLINK. */
	M0_LNET_ME_QUEUE = 8
};

/**
 * Match entry: selects the incoming messages that an MD receives. The node
 * tries MEs that have `ignore` bits before all MEs that have none; in each
 * class it tries them in the order of the list.
 */
struct m0_lnet_me_attr {
	uint32_t mea_portal;
	/** Accepted sender. NID ANY and pid ANY are wildcards. The NID is the
	 * primary one of a node. */
	struct m0_lnet_process_id mea_id;
	uint64_t                  mea_match_bits;
	/** Bits of mea_match_bits that are not compared. */
	uint64_t mea_ignore_bits;
	/** Bits of enum m0_lnet_me_flags. */
	unsigned mea_flags;
};

/**
 * Adds an ME to a portal. It matches nothing until an MD is attached. The first
 * ME of a portal makes the portal *unique* (no ignore bits, explicit NID and
 * pid) or *wildcard*. An ME of the other kind matches nothing, and an MD
 * attached to it ends at once: UNLINK with -EPERM.
 * @retval -EINVAL  the portal is out of range or 0; QUEUE together with UNLINK.
 * @retval -ENOSPC  the node has lc_mes_max MEs.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_me_attach(struct m0_lnet               *lnet,
				const struct m0_lnet_me_attr *attr,
				struct m0_lnet_handle        *ret);
/**
 * Removes the ME, and unlinks its MDs if it has any.
 * @retval -ENOENT  the ME has ended.
 */
M0_EXTERN int m0_lnet_me_unlink(struct m0_lnet *lnet, struct m0_lnet_handle me);

enum m0_lnet_md_options {
	M0_LNET_MD_OP_PUT = 0x1,
	M0_LNET_MD_OP_GET = 0x2,
	/** Place data at the sender's offset; without this flag the MD fills
	 * from its start. */
	M0_LNET_MD_MANAGE_REMOTE = 0x4,
	/** Truncate a message that is too long; without this flag the node
	 * drops it. */
	M0_LNET_MD_TRUNCATE = 0x10,
	M0_LNET_MD_ACK_DISABLE = 0x20,
	/** Take no message longer than mda_max_size, and end when fewer than
	 * mda_max_size bytes are left. */
	M0_LNET_MD_MAX_SIZE = 0x80,
	/** Set no time-out for the ACK or REPLY. */
	M0_LNET_MD_NO_TRACK_RESPONSE = 0x800,
	/** Extension: a message that is too long does not match; the node tries
	 * the next ME. */
	M0_LNET_MD_IF_FITS = 0x1000,
	/** Extension: end when fewer than mda_max_size bytes are left, as
	 * MAX_SIZE, but take any message that fits. */
	M0_LNET_MD_MIN_ROOM = 0x2000
};
#define M0_LNET_MD_THRESHOLD_INF (-1)

/** Memory descriptor. */
struct m0_lnet_md_attr {
	/**
	 * Memory of the MD. The node refers to the vector and to its segments
	 * until the last event. NULL: no bytes. At most M0_LNET_MD_SEGS_MAX
	 * segments.
	 */
	const struct m0_bufvec *mda_vec;
	/** Bytes of the MD, from mda_vec_offset on. */
	m0_bcount_t mda_length;
	/** Extension: offset in mda_vec at which the MD begins; usually 0. */
	m0_bcount_t mda_vec_offset;
	/** Number of operations after which the MD is exhausted, or
	 * M0_LNET_MD_THRESHOLD_INF. A GET, and a PUT that requests an ACK,
	 * count as 2. */
	int32_t     mda_threshold;
	m0_bcount_t mda_max_size;
	/** Bits of enum m0_lnet_md_options. */
	unsigned mda_options;
	/** The MD ends when it is exhausted (by threshold, MAX_SIZE or
	 * MIN_ROOM). If false, it stays without matching anything until
	 * m0_lnet_md_unlink. */
	bool               mda_auto_unlink;
	struct m0_lnet_eq *mda_eq;
	/** The node passes it as ev_md_user in each event. */
	void *mda_user;
};

/**
 * Attaches an MD to an ME, which matches from now on. This also holds for every
 * message that a peer sends because it learned, by any means, that this call
 * has returned. To ensure that, the node holds back a PUT or GET that matches
 * no ME, or only one that is LAST: it first executes all calls made before the
 * message arrived, and then matches again. Any thread may call this; an inline
 * node receives messages only in progress calls. If two MEs match a message,
 * one that was there already may get it before one just attached. The same
 * holds for m0_lnet_lazy_set().
 * @retval -EINVAL   neither OP_PUT nor OP_GET; a length beyond the vector;
 *                   mda_max_size > mda_length; threshold 0 or below -1; too
 *                   many segments; an ME with QUEUE and no mda_auto_unlink.
 * @retval -ENOENT   the ME has ended.
 * @retval -EBUSY    the ME has an MD, and is no QUEUE.
 * @retval -ENOSPC   the node has lc_mds_max MDs, or had no number for mda_eq.
 * @retval -EFAULT   the node is in another process, and the memory is not
 *                   registered.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_md_attach(struct m0_lnet *lnet, struct m0_lnet_handle me,
				const struct m0_lnet_md_attr *attr,
				struct m0_lnet_handle        *ret);
/**
 * Creates an MD without an ME, for m0_lnet_put() and m0_lnet_get().
 * @retval -EINVAL  as m0_lnet_md_attach(); also if OP_PUT or OP_GET is set.
 */
M0_EXTERN int m0_lnet_md_bind(struct m0_lnet               *lnet,
			      const struct m0_lnet_md_attr *attr,
			      struct m0_lnet_handle        *ret);
/**
 * Ends an MD. It matches nothing any more; the node cancels messages not yet
 * sent, discards the rest of a message that it is receiving, and stops waiting
 * for a response. The event with ev_unlinked follows soon. It waits only while
 * the driver is sending bytes of the MD to a live peer, at most the driver's
 * time-out. Its status is -ETIMEDOUT if an operation was in progress; otherwise
 * it is UNLINK with 0. With M0_LNET_ME_UNLINK the ME ends, too.
 * @retval -ENOENT  the MD has ended, or was unlinked already.
 */
M0_EXTERN int m0_lnet_md_unlink(struct m0_lnet *lnet, struct m0_lnet_handle md);

/* -- moving data ----------------------------------------------------------- */

/** Parameters of a PUT or GET. */
struct m0_lnet_op {
	/** Source, or m0_lnet_nid_any: the node chooses one. */
	struct m0_lnet_nid        lo_self;
	struct m0_lnet_process_id lo_target;
	uint32_t                  lo_portal;
	uint64_t                  lo_match_bits;
	/** Offset in the target's MD, if that has MANAGE_REMOTE. */
	uint32_t lo_offset;
	/** PUT: 64 bits that the target gets in its event. */
	uint64_t lo_hdr_data;
	/** PUT: request an ACK. */
	bool lo_ack;
	/**
	 * The operation may take any path to a Multi-Rail target that knows all NIDs
	 * of this node: another NI than lo_self, and another NID of the target. Such
	 * a target must not depend on the source. If the path fails, and another one
	 * may exist, SEND, ACK or REPLY has -EAGAIN: the operation has not arrived, or
	 * its answer was lost, and it may be repeated if that does no harm.
	 */
	bool lo_spread;
	/** Range of the MD, at most M0_LNET_MTU bytes; lo_bytes 0: the rest of
	 * the MD. */
	m0_bcount_t lo_md_offset;
	m0_bcount_t lo_bytes;
	/** The node passes it as ev_op_user. */
	void *lo_user;
};

/**
 * Sends the bytes of a bound MD. The MD gets SEND and, if an ACK was requested
 * and SEND has no error, also ACK: with 0, or with -ETIMEDOUT after the
 * transaction time-out, which does not unlink the MD. A peer that has no
 * matching ME does not answer. If the MD has ended or its threshold is used up
 * meanwhile, the event is SEND with -ENOENT.
 * @retval -ENOENT   the MD does not exist.
 * @retval -EINVAL   the MD is attached to an ME; the range is outside it; the
 *                   portal is out of range; the target is ANY; the node does
 *                   not have the source NID.
 * @retval -ENOBUFS  lc_msgs_max messages are outstanding.
 * @retval -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_put(struct m0_lnet *lnet, struct m0_lnet_handle md,
			  const struct m0_lnet_op *op);
/**
 * Fetches bytes into a bound MD. The MD gets SEND and, if that has no error,
 * also REPLY: with the bytes, or with -ETIMEDOUT. Errors are those of
 * m0_lnet_put. Until the last event any part of the range may change, and after
 * it the bytes beyond the REPLY's ev_mlength are undefined.
 */
M0_EXTERN int m0_lnet_get(struct m0_lnet *lnet, struct m0_lnet_handle md,
			  const struct m0_lnet_op *op);

/**
 * Makes a portal lazy, or ends that. A lazy portal keeps a PUT that matches
 * nothing until an ME matches it, and so stalls the connection by which it
 * came; this is for services that must not lose a request. Clearing drops the
 * PUTs that wait.
 * @retval -EINVAL  the portal is out of range or 0.
 */
M0_EXTERN int m0_lnet_lazy_set(struct m0_lnet *lnet, uint32_t portal,
			       bool lazy);

/**
 * Announces memory that MDs will use: the drivers of the node may then move
 * payload to and from it without a copy. The driver of net o2ib registers it with its
 * devices, once, which pins it; over TCP it may be left out; a process that uses the
 * node of another process needs it. The same memory may be registered several times.
 * Attached, with lc_reattach_ns: while there is no daemon, the next one will have it.
 * @retval -EINVAL     `bytes` is 0.
 * @retval -ENOMEM
 * @retval -ENOSPC     too many regions.
 * @retval -EDQUOT     attached: more than the daemon maps of this process.
 * @retval -ESHUTDOWN  the node is being closed; attached: its daemon has ended for good.
 */
M0_EXTERN int m0_lnet_mem_register(struct m0_lnet *lnet, void *addr,
				   size_t bytes);
/**
 * Takes back one m0_lnet_mem_register() with the same arguments. No operation
 * uses the memory, which may be freed at once. Does not wait: drivers let go of it
 * in the node's next step, and before any operation that begins later.
 */
M0_EXTERN void m0_lnet_mem_deregister(struct m0_lnet *lnet, void *addr,
				      size_t bytes);

#ifdef __cplusplus
}
#endif

#include "m0/lnet_info.h"

#endif /* M0_LNET_H */

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * LNet in user space: a node of a Lustre network inside this process, without a
 * kernel module. Lustre's own nodes accept it over TCP.
 *
 * A node (`struct m0_lnet`) has one NID for each of its interfaces. It sends
 * messages by m0_lnet_put() and m0_lnet_get() from memory described by an MD
 * (memory descriptor), and takes in messages that match one of its MEs (match
 * entries) on a portal into the MD attached there. What happens is told by
 * events on an event queue (EQ). This is the interface of Portals.
 *
 * Three rules hold for every call here:
 *  - it never blocks and never calls back on the caller's stack, except where
 *    it says so (`_sync`, m0_lnet_open, m0_lnet_close, m0_lnet_eq_fini);
 *  - it returns only what can be known here and now (a bad argument, no room);
 *    every later outcome is an event;
 *  - each MD ends in exactly one event with ev_unlinked set. After an error
 *    nothing has changed and no event comes.
 * Unless said otherwise it may be called from any thread and from callbacks.
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
struct m0_lnet_event_node;

enum {
	/** Reserved for pings and discovery. */
	M0_LNET_PORTAL_RESERVED = 0,
	/** Most payload of one message. */
	M0_LNET_MTU = 1 << 20,
	/** Segments of an MD. */
	M0_LNET_MD_SEGS_MAX = 256
};

/** Names an ME or MD of one node. Never used twice; all 0 names none. */
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
 * Opens a node: takes its addresses, listens, and runs a thread for it unless
 * lc_inline. Blocks until it can be reached or has failed.
 * @param cfg  copied; NULL: m0_lnet_cfg_default().
 * @param why  room for M0_LNET_WHY_BYTES, or NULL: on failure, what is wrong
 *             and what to do about it, in one or more lines.
 * @retval -EINVAL         the configuration; `why` names field and value.
 * @retval -EADDRINUSE     address and port are taken.
 * @retval -EACCES         the port needs a privilege.
 * @retval -EADDRNOTAVAIL  not an address of this machine.
 * @retval -ENOMEM, -EMFILE  and others of the system.
 */
M0_EXTERN int m0_lnet_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
			   char *why);
/**
 * Closes a node: everything outstanding ends (-ESHUTDOWN; MDs with their
 * UNLINK), callbacks included, then connections are reset and memory is freed.
 * Blocks until then. Not from a callback. Event queues stay the caller's;
 * events of polled ones can still be taken.
 */
M0_EXTERN void m0_lnet_close(struct m0_lnet *lnet);
enum {
	M0_LNET_WHY_BYTES = 1024
};

/**
 * Inline nodes (lc_inline): moves bytes and calls callbacks on this thread. If
 * another thread is doing so, or this is a callback, returns at once.
 * @return true if something was done.
 */
M0_EXTERN bool m0_lnet_progress(struct m0_lnet *lnet);
/**
 * Lets the node's thread run on the processors of the set only, from now on; one
 * that is made later, too. As lc_cpus. Any thread.
 * @param processors  copied; NULL: any.
 * @retval -EINVAL  the set names no processor that the process may run on; nothing
 *                  has changed.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_lnet_confine(struct m0_lnet         *lnet,
			      const struct m0_bitmap *processors);
/**
 * A descriptor that polls readable while m0_lnet_progress() has something to do,
 * for event loops. Inline nodes only. Made on first use; closed with the node.
 * @retval -ENOSYS  the node has a thread of its own.
 */
M0_EXTERN int m0_lnet_fd(struct m0_lnet *lnet);

/**
 * The i-th NID of the node: 0 is `0@lo`, then the interfaces in the order of
 * the configuration. @retval -ENOENT  no more.
 */
M0_EXTERN int m0_lnet_get_id(struct m0_lnet *lnet, unsigned i,
			     struct m0_lnet_process_id *id);
/**
 * How far is `dst`? 0: this node, 1: a network we are on, more: routed.
 * @param src    NID that would be used; may be NULL.
 * @param order  how good among equals: 0 for `0@lo`, else 1 and more; may be
 *               NULL.
 * @retval -EHOSTUNREACH  no way there.
 */
M0_EXTERN int m0_lnet_dist(struct m0_lnet *lnet, const struct m0_lnet_nid *dst,
			   struct m0_lnet_nid *src, uint32_t *order);

/* -- events ---------------------------------------------------------------- */

enum m0_lnet_event_type {
	/** Target: a GET was answered. */
	M0_LNET_EV_GET = 1,
	/** Target: a PUT has come, its data is in place. */
	M0_LNET_EV_PUT = 2,
	/** Initiator: data asked for by GET is in place. */
	M0_LNET_EV_REPLY = 3,
	/** Initiator: a PUT was taken. */
	M0_LNET_EV_ACK = 4,
	/** Initiator: a PUT or GET has left, or failed to. */
	M0_LNET_EV_SEND = 5,
	/** The MD has ended, with nothing else to tell it by. */
	M0_LNET_EV_UNLINK = 6
};

/**
 * Of one operation, SEND and ACK or REPLY may come in either order. If SEND
 * fails no other comes. Lengths are bytes.
 */
struct m0_lnet_event {
	enum m0_lnet_event_type ev_type;
	/** 0 or a negative errno. */
	int ev_status;
	/** The last event of this MD; the handle is void. */
	bool ev_unlinked;
	/** Header's destination. */
	struct m0_lnet_process_id ev_target;
	/** Sender's primary NID, by which MEs match. */
	struct m0_lnet_process_id ev_initiator;
	/** Sender as the header has it. */
	struct m0_lnet_process_id ev_source;
	/** The last hop. */
	struct m0_lnet_nid ev_sender;
	uint32_t           ev_portal;
	uint64_t           ev_match_bits;
	/** PUT and its SEND: see m0_lnet_put. */
	uint64_t ev_hdr_data;
	/** What was asked for, and what was moved. */
	m0_bcount_t ev_rlength;
	m0_bcount_t ev_mlength;
	/** Where in the MD. */
	m0_bcount_t ev_offset;
	/** SEND: was it a GET? */
	bool                  ev_is_get;
	struct m0_lnet_handle ev_md;
	/** Of the MD and of the operation, as they were given. */
	void *ev_md_user;
	void *ev_op_user;
};

/**
 * Event queue: by callback, or polled. The caller's memory; the fields are the
 * library's, after m0_lnet_eq_init().
 *
 * Callbacks run on the node's thread (inline: in m0_lnet_progress), in order,
 * one at a time for the whole node, with no lock held. They must not block; they
 * may issue what they like.
 */
struct m0_lnet_eq {
	struct m0_lnet *eq_lnet;
	void (*eq_callback)(struct m0_lnet_eq          *eq,
			    const struct m0_lnet_event *event);
	/** See m0_lnet_eq_told_set() of m0/lnet_run.h. */
	void (*eq_told)(struct m0_lnet_eq *eq);
	/** The owner's. */
	void *eq_user;
	/** Polled: incoming messages that may wait, those counted that are coming
	 * in or being answered; more are dropped. */
	unsigned eq_max;
	unsigned eq_queued_nr;
	/** Incoming messages dropped, nobody having taken the ones before. */
	uint64_t                   eq_dropped_nr;
	struct m0_lnet_event_node *eq_first;
	struct m0_lnet_event_node *eq_last;
	/** MDs and events that name this queue. */
	unsigned eq_users_nr;
	/** Somebody is in m0_lnet_eq_wait. */
	bool                eq_waits;
	struct m0_list_link eq_link;
	struct m0_semaphore eq_sem;
};

/**
 * @param callback  NULL: the queue is polled.
 * @param max       polled: how many incoming messages may wait in it; 0: 1024.
 */
M0_EXTERN void m0_lnet_eq_init(struct m0_lnet_eq *eq, struct m0_lnet *lnet,
			       void (*callback)(struct m0_lnet_eq          *eq,
						const struct m0_lnet_event *ev),
			       unsigned max);
/** Pre: all MDs on it have ended and, polled, it is empty. */
M0_EXTERN void m0_lnet_eq_fini(struct m0_lnet_eq *eq);
/**
 * Takes the oldest event of a polled queue; inline nodes make progress first.
 * @retval -EAGAIN  there is none.
 */
M0_EXTERN int m0_lnet_eq_get(struct m0_lnet_eq    *eq,
			     struct m0_lnet_event *event);
/**
 * The same, waiting for one. Blocks: not from callbacks; one thread at a time for
 * each queue.
 * @retval -ETIMEDOUT  none until `deadline`.
 */
M0_EXTERN int m0_lnet_eq_wait(struct m0_lnet_eq    *eq,
			      struct m0_lnet_event *event, m0_time_t deadline);

/* -- matching -------------------------------------------------------------- */

enum m0_lnet_me_flags {
	/** The ME ends with its MD. */
	M0_LNET_ME_UNLINK = 1,
	/** Before those already there; else after. */
	M0_LNET_ME_BEFORE = 2,
	/** Ours: after all others without ignore bits, also those that come
	 * later; with BEFORE: before those that are LAST alone. */
	M0_LNET_ME_LAST = 4,
	/** Ours: takes any number of MDs, which are asked in the order in which
	 * they were attached, and end by themselves. Not with UNLINK. */
	M0_LNET_ME_QUEUE = 8
};

/**
 * Match entry: which incoming messages an MD is for. Entries with `ignore` bits
 * are looked at before all without; in each class in the order of the list.
 */
struct m0_lnet_me_attr {
	uint32_t mea_portal;
	/** Who may send: NID ANY and pid ANY are wildcards. The NID is a
	 * node's primary one. */
	struct m0_lnet_process_id mea_id;
	uint64_t                  mea_match_bits;
	/** Bits of mea_match_bits that do not matter. */
	uint64_t mea_ignore_bits;
	/** enum m0_lnet_me_flags. */
	unsigned mea_flags;
};

/**
 * Puts an entry on a portal. It matches nothing until an MD is attached. The
 * first entry of a portal makes it a *unique* one (no ignore bits, explicit NID
 * and pid) or a *wildcard* one; an entry of the other kind matches nothing, and
 * an MD attached to it ends at once: UNLINK with -EPERM.
 * @retval -EINVAL  the portal; portal 0; QUEUE and UNLINK.
 * @retval -ENOSPC  lc_mes_max.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_me_attach(struct m0_lnet               *lnet,
				const struct m0_lnet_me_attr *attr,
				struct m0_lnet_handle        *ret);
/**
 * Takes the entry off, and unlinks its MDs if there are any.
 * @retval -ENOENT  it has ended.
 */
M0_EXTERN int m0_lnet_me_unlink(struct m0_lnet *lnet, struct m0_lnet_handle me);

enum m0_lnet_md_options {
	M0_LNET_MD_OP_PUT = 0x1,
	M0_LNET_MD_OP_GET = 0x2,
	/** The sender's offset counts; else the MD fills from its start. */
	M0_LNET_MD_MANAGE_REMOTE = 0x4,
	/** Too long a message is cut; else it is dropped. */
	M0_LNET_MD_TRUNCATE = 0x10,
	M0_LNET_MD_ACK_DISABLE = 0x20,
	/** Ends when fewer than mda_max_size bytes are left. */
	M0_LNET_MD_MAX_SIZE = 0x80,
	/** Do not time the ACK or REPLY out. */
	M0_LNET_MD_NO_TRACK_RESPONSE = 0x800,
	/** Ours: a message that is too long is not for it; the next entry is
	 * asked. */
	M0_LNET_MD_IF_FITS = 0x1000,
	/** Ours: as MAX_SIZE, but takes longer messages, too, if they fit. */
	M0_LNET_MD_MIN_ROOM = 0x2000
};
#define M0_LNET_MD_THRESHOLD_INF (-1)

/** Memory descriptor. */
struct m0_lnet_md_attr {
	/**
	 * Its memory, kept by pointer until the last event; the vector too.
	 * NULL: no bytes. At most M0_LNET_MD_SEGS_MAX segments.
	 */
	const struct m0_bufvec *mda_vec;
	/** Bytes of it that count, from mda_vec_offset on. */
	m0_bcount_t mda_length;
	/** Ours: where in mda_vec the MD begins; 0 most often. */
	m0_bcount_t mda_vec_offset;
	/** Operations until it ends by itself; M0_LNET_MD_THRESHOLD_INF. For a
	 * PUT with ACK, and a GET: 2 each. */
	int32_t     mda_threshold;
	m0_bcount_t mda_max_size;
	/** enum m0_lnet_md_options. */
	unsigned mda_options;
	/** Ends by itself when exhausted (threshold or MAX_SIZE). Else it
	 * stays, matching nothing, until m0_lnet_md_unlink. */
	bool               mda_auto_unlink;
	struct m0_lnet_eq *mda_eq;
	/** Comes back in each event. */
	void *mda_user;
};

/**
 * Gives an ME its memory: from now on it matches. That is so for whatever a
 * peer sends because it has heard, by whatever way, that this call has
 * returned: a PUT or GET that finds no entry, or only one that is LAST, is kept
 * until all that was asked for before it came has been done, and only then
 * goes to that one or is dropped. From any thread; on an inline node nothing
 * comes in but by progress. Between entries that both match, one that was
 * there already may go before one just attached. m0_lnet_lazy_set() likewise.
 * @retval -EINVAL   neither OP_PUT nor OP_GET; a length beyond the vector;
 *                   mda_max_size > mda_length; threshold 0 or below -1; too
 *                   many segments; not mda_auto_unlink, for a QUEUE.
 * @retval -ENOENT   the ME has ended.
 * @retval -EBUSY    it has an MD, and is no QUEUE.
 * @retval -ENOSPC   lc_mds_max. @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_md_attach(struct m0_lnet *lnet, struct m0_lnet_handle me,
				const struct m0_lnet_md_attr *attr,
				struct m0_lnet_handle        *ret);
/**
 * An MD on no ME, to put and get with.
 * @retval -EINVAL  as above; also OP_PUT and OP_GET.
 */
M0_EXTERN int m0_lnet_md_bind(struct m0_lnet               *lnet,
			      const struct m0_lnet_md_attr *attr,
			      struct m0_lnet_handle        *ret);
/**
 * Ends an MD: it matches nothing any more; what waits to be sent is cancelled,
 * what is being received is cut off, a response is no longer waited for. The
 * event with ev_unlinked comes at once after (bytes that are being sent to a
 * live peer are waited for, at most the driver's time-out); -ETIMEDOUT if an
 * operation was under way, else UNLINK with 0. With M0_LNET_ME_UNLINK its ME
 * ends too.
 * @retval -ENOENT  it has ended, or was unlinked already.
 */
M0_EXTERN int m0_lnet_md_unlink(struct m0_lnet *lnet, struct m0_lnet_handle md);

/* -- moving data ----------------------------------------------------------- */

/** What a PUT or GET is about. */
struct m0_lnet_op {
	/** Source, or m0_lnet_nid_any: chosen by the node. */
	struct m0_lnet_nid        lo_self;
	struct m0_lnet_process_id lo_target;
	uint32_t                  lo_portal;
	uint64_t                  lo_match_bits;
	/** Where in the target's MD, if that is managed remotely. */
	uint32_t lo_offset;
	/** PUT: 64 bits for the target's event. */
	uint64_t lo_hdr_data;
	/** PUT: ask for an ACK. */
	bool lo_ack;
	/** Part of the MD, at most M0_LNET_MTU bytes; lo_bytes 0: the rest. */
	m0_bcount_t lo_md_offset;
	m0_bcount_t lo_bytes;
	/** Comes back as ev_op_user. */
	void *lo_user;
};

/**
 * Sends the bytes of a bound MD. Events: SEND; if asked for and SEND was well,
 * ACK, or after the transaction time-out the end of waiting (ACK with
 * -ETIMEDOUT, MD not unlinked by it). A peer that matches nothing says nothing.
 * An MD that has ended or whose threshold is used up meanwhile: SEND -ENOENT.
 * @retval -ENOENT  no such MD.  @retval -EINVAL  an attached MD, a range outside
 *                  it, portal, target ANY; a source that is not ours.
 * @retval -ENOBUFS  lc_msgs_max messages are outstanding. @retval -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_put(struct m0_lnet *lnet, struct m0_lnet_handle md,
			  const struct m0_lnet_op *op);
/**
 * Fetches bytes into a bound MD. Events: SEND; then, if that was well, REPLY
 * with the bytes, or REPLY with -ETIMEDOUT. Errors as for m0_lnet_put. Until
 * its last event all of the range may change, and what is not of the REPLY's
 * ev_mlength bytes is undefined after it.
 */
M0_EXTERN int m0_lnet_get(struct m0_lnet *lnet, struct m0_lnet_handle md,
			  const struct m0_lnet_op *op);

/**
 * A lazy portal keeps a PUT that matches nothing until something does, and so
 * stalls the connection it came by: for services that must not lose a request.
 * Clearing drops what waits. @retval -EINVAL  the portal; portal 0.
 */
M0_EXTERN int m0_lnet_lazy_set(struct m0_lnet *lnet, uint32_t portal,
			       bool lazy);

/**
 * Says that memory will be used by MDs. Costs nothing in this home and may be
 * left out; a process attached to another's node needs it.
 * @retval -EINVAL  no bytes.
 */
M0_EXTERN int  m0_lnet_mem_register(struct m0_lnet *lnet, void *addr,
				    size_t bytes);
M0_EXTERN void m0_lnet_mem_deregister(struct m0_lnet *lnet, void *addr,
				      size_t bytes);

#ifdef __cplusplus
}
#endif

#include "m0/lnet_info.h"

#endif /* M0_LNET_H */

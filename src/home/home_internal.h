/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A node in this process: what the files of the room share.
 *
 * Engine, drivers and sockets are the strand's: one step at a time, no lock.
 * Application threads touch only what hm_lock protects: slots, the inbox, polled
 * event queues. An operation is checked and given its memory under that lock,
 * then pushed to the inbox; the strand takes the inbox whole and does it. What
 * both sides need of a slot is written by one of them, atomically.
 *
 * Life of a slot of an MD: accepted (hmd_users_nr 1) - its operations come and
 * go - the engine posts the last event (hmd_ended: the handle is void) - the
 * event was told, or taken from its polled queue - the last operation has left
 * the inbox: only then the slot is used again. MEs and messages likewise.
 */
#ifndef M0_SRC_HOME_HOME_INTERNAL_H
#define M0_SRC_HOME_HOME_INTERNAL_H

#include "base/hash.h"
#include "lnd/table/lnd_table.h"
#include "lnet/engine.h"
#include "os/os.h"
#include "reactor/host_ops.h"
#include "reactor/reactor.h"

struct m0_home_op;
struct m0_lnet_runner;

enum m0_home_opcode {
	/** No entry. */
	M0_HOME_OP_NONE,
	/** On an ME or MD; the slot is that of the ME or MD. */
	M0_HOME_OP_ME_ATTACH,
	M0_HOME_OP_ME_UNLINK,
	M0_HOME_OP_MD_ATTACH,
	M0_HOME_OP_MD_UNLINK,
	/** An MD for a queue; an MD with its own ME. */
	M0_HOME_OP_QUEUE_ATTACH,
	M0_HOME_OP_ENTRY_ATTACH,
	/** The slot is that of the message; BIND: its MD is to be bound first. */
	M0_HOME_OP_PUT,
	M0_HOME_OP_GET,
	M0_HOME_OP_BIND_PUT,
	M0_HOME_OP_BIND_GET,
	/** The slot is the portal. */
	M0_HOME_OP_LAZY,
	M0_HOME_OP_STATS_RESET,
	M0_HOME_OP_CLOSE,
	/** The oldest of hdq_calls. */
	M0_HOME_OP_BARRIER,
	M0_HOME_OP_INFO,
	M0_HOME_OP_FAULT,
	M0_HOME_OP_MEM_ADD,
	M0_HOME_OP_MEM_DEL,
	M0_HOME_OPS_NR
};

/** An operation in the inbox. It contains only integers of fixed width. */
struct m0_home_entry {
	/** enum m0_home_opcode */
	uint32_t hen_opcode;
	uint32_t hen_slot;
};

/**
 * Place of an operation in the inbox; embedded in the slot that the entry
 * names, so that there is always room for it.
 */
struct m0_home_op {
	/** The entry after this one. */
	struct m0_home_entry op_next;
};

/** An operation on something that has no slot. */
struct m0_home_call {
	struct m0_home_op   ca_op;
	struct m0_list_link ca_link;
};

/** Carries out an operation on the strand. */
typedef void (*m0_home_do_t)(struct m0_lnet *lnet, struct m0_home_op *op);

/* -- slot.c ---------------------------------------------------------------- */

/** Head of whatever has a handle. */
struct m0_home_slot {
	uint32_t hsl_index;
	/** Generation of the present use; 0: never used. */
	uint32_t hsl_gen;
	bool     hsl_used;
	/** The next free one. */
	struct m0_home_slot *hsl_next;
};

enum {
	M0_HOME_CHUNK_NR = 64
};

/** Slots with stable addresses, added on demand, never given back. */
struct m0_home_slots {
	/** Chunks of M0_HOME_CHUNK_NR slots. */
	char   **hss_chunks;
	size_t   hss_slot_bytes;
	uint32_t hss_max;
	uint32_t hss_nr;
	uint32_t hss_used_nr;
	/** The one freed last comes first. */
	struct m0_home_slot *hss_free;
};

/** @retval -ENOMEM */
int  m0_home__slots_init(struct m0_home_slots *slots, size_t slot_bytes,
			 uint32_t max);
void m0_home__slots_fini(struct m0_home_slots *slots);
/** A chunk to be added when there is no free slot; NULL: no memory. */
void *m0_home__slots_chunk(const struct m0_home_slots *slots);
/** Adds it. @return false  there are hss_max slots: free it. */
bool m0_home__slots_grow(struct m0_home_slots *slots, void *chunk);
/** Takes a free slot, of which nothing but the head is set; NULL: there is
 * none. */
struct m0_home_slot *m0_home__slot_get(struct m0_home_slots *slots);
void m0_home__slot_put(struct m0_home_slots *slots, struct m0_home_slot *slot);
/** Debug: whoever counts on what nobody has set shall find out. */
void m0_home__slot_spoil(const struct m0_home_slots *slots,
			 struct m0_home_slot        *slot);
/** Strand: the slot `index`, which is in use and was posted to the strand. */
struct m0_home_slot *m0_home__slot_at(const struct m0_home_slots *slots,
				      uint32_t                    index);
/** NULL: the handle is void. */
struct m0_home_slot *m0_home__slot_find(const struct m0_home_slots *slots,
					struct m0_lnet_handle       handle);
static inline bool   m0_home__slots_are_full(const struct m0_home_slots *slots)
{
	return slots->hss_used_nr == slots->hss_max;
}
static inline struct m0_lnet_handle m0_home__handle(
	const struct m0_home_slot *slot)
{
	return (struct m0_lnet_handle){ .lh_slot = slot->hsl_index,
					.lh_gen = slot->hsl_gen };
}

/* -- what has a slot ------------------------------------------------------- */

/* Not zeroed: who takes one, and the engine, set all of it. */

/**
 * An event on its way to the application, by value. Its space is reserved when
 * the operation is accepted: one record for the end of an MD, two for a message.
 */
struct m0_home_event {
	struct m0_home_event *hev_next;
	struct m0_lnet_event  hev_event;
	/** Number of its event queue; 0: none. */
	uint32_t hev_eq;
	/** The event counts towards eq_max. */
	bool hev_incoming;
	/** It is the last event of this MD; NULL: of none. */
	struct m0_home_md *hev_md;
	/** The message in whose slot the record lies; NULL: an MD. */
	struct m0_home_msg *hev_msg;
};

struct m0_home_me {
	struct m0_home_slot hme_slot;
	struct m0_home_op   hme_attach;
	struct m0_home_op   hme_unlink;
	/** Operations in the inbox that name it, MDs of a queue, and 1 until it
	 * has ended. */
	unsigned hme_users_nr;
	/** In hno_gone. */
	struct m0_home_me *hme_next;
	/** The application has ended it, or its MD. */
	bool hme_unlinked;
	/** The engine has; written by the strand, atomically. */
	bool hme_gone;
	/** The last MD attached, which may have ended; none of a queue. */
	struct m0_lnet_handle hme_md;
	struct m0_lnet_me     hme_me;
};

struct m0_home_md {
	struct m0_home_slot hmd_slot;
	struct m0_home_op   hmd_attach;
	struct m0_home_op   hmd_unlink;
	/** Operations in the inbox that name it, and 1 until its last event was
	 * had by the application. */
	unsigned hmd_users_nr;
	bool     hmd_unlinked;
	/** Its last event is posted; written by the strand, atomically. */
	bool hmd_ended;
	/** NULL: bound. */
	struct m0_home_me *hmd_me;
	/** hmd_me is a queue: counted there, too, while the MD lives. */
	bool hmd_queued;
	/** Its event queue, which counts it; NULL: none. */
	struct m0_lnet_eq   *hmd_eq;
	struct m0_home_event hmd_last;
	struct m0_lnet_md    hmd_md;
};

struct m0_home_msg {
	struct m0_home_slot hms_slot;
	struct m0_home_op   hms_op;
	/** The strand, and each event of it in a polled queue. */
	unsigned hms_users_nr;
	/** The message belongs to an operation of the application. */
	bool hms_own;
	/** The strand's: the engine has done with it; and its events that are
	 * not told yet, or whose place was not given back. */
	bool     hms_ended;
	unsigned hms_posted_nr;
	/** [0] SEND, or PUT and GET of a peer; [1] ACK or REPLY. */
	struct m0_home_event hms_event[2];
	struct m0_lnet_msg   hms_msg;
};

/** The node's record of an event queue. The engine knows its number only. */
struct m0_home_eq {
	struct m0_home_slot heq_slot;
	struct m0_lnet_eq  *heq_eq;
	/**
	 * Messages that the application has taken, of the eq_accepted_nr that
	 * the strand has accepted. A thread that holds hm_lock publishes it.
	 */
	uint32_t heq_taken_nr;
};

/* -- the node -------------------------------------------------------------- */

enum {
	M0_HOME_IFACES_MAX = 256,
	/** Event queues of a node. */
	M0_HOME_EQS_MAX = 1 << 16,
	M0_HOME_NIS_MAX = M0_LNET_CFG_NETS_MAX * M0_LNET_CFG_IFACES_MAX
};

/** An interface that the configuration comes down to. */
struct m0_home_iface {
	struct m0_lnet_nid hif_nid;
	char               hif_device[16];
};

/** Where a close stands. */
enum m0_home_state {
	M0_HOME_OPEN,
	/** The engine ends what is outstanding. */
	M0_HOME_ENDING,
	/** The interfaces stop. */
	M0_HOME_STOPPING,
	M0_HOME_CLOSED
};

/** Wish of a portal's laziness that the strand has not seen. */
struct m0_home_lazy {
	struct m0_home_op hlz_op;
	bool              hlz_queued;
	/** Cleared since, so what waits is to be dropped. */
	bool hlz_cleared;
	bool hlz_wanted;
};

/** Registered memory, of home_mem.c. */
struct m0_home_mems {
	/** Regions by address and size. Under hm_lock. */
	struct m0_hash hmz_regions;
	/** Region number given last. Under hm_lock. */
	uint32_t hmz_last;
	/** Regions that the drivers have. The strand's. */
	struct m0_list hmz_added;
	/** A driver takes regions. Atomic. */
	bool hmz_are_wanted;
};

/** The operations that the application has posted, oldest first. */
struct m0_home_down {
	struct m0_home_entry hdq_first;
	/** The next entry goes here. */
	struct m0_home_entry *hdq_tail;
	/** Some entry may not be overtaken. */
	bool hdq_is_mixed;
	/** Calls of entries without a slot, in the same order. */
	struct m0_list hdq_calls;
};

/** The events that the engine has posted, oldest first. */
struct m0_home_up {
	struct m0_home_event  *huq_first;
	struct m0_home_event **huq_tail;
};

/**
 * Engine and drivers, and the state of their step. It belongs to the strand, or to
 * a thread that holds hm_stepping; hno_engine and hno_reactor are constant while
 * the node is open.
 */
struct m0_home_node {
	enum m0_home_state     hno_state;
	m0_time_t              hno_end_by;
	struct m0_lnet_engine *hno_engine;
	struct m0_reactor     *hno_reactor;
	/** The drivers that the configuration needs, in the order of the table.
	 */
	struct m0_lnd           *hno_lnds[M0_LND_ROWS_MAX];
	const struct m0_lnd_row *hno_rows[M0_LND_ROWS_MAX];
	unsigned                 hno_lnds_nr;
	/** Constant: what carries out each enum m0_home_opcode. */
	const m0_home_do_t *hno_do;
	/** Number of times that the strand has taken the down queue. */
	uint64_t hno_takes_nr;
	/** Calls of the entries that it took last. */
	struct m0_list hno_calls_taken;
	/** MEs that have ended; their slots are freed with hm_told. */
	struct m0_home_me *hno_gone;
	/** Messages for what peers send, without a lock; by hsl_next. */
	struct m0_home_slot *hno_spares;
	unsigned             hno_spares_nr;
	unsigned             hno_spares_max;
	struct m0_list       hno_probes_done;
	/** Something happened that needs another look at once. */
	bool hno_again;
	/** The step did something. */
	bool hno_did;
	/** The step is m0_lnet_push(). */
	bool hno_pushes;
	/** The caller steps again soon, whatever this step returns. */
	bool hno_is_polled;
	/** The round has only read, and delivered; the next one does the rest.
	 */
	bool      hno_owes;
	m0_time_t hno_next;
	/** Time of the last round. */
	m0_time_t hno_step_now;
};

struct m0_lnet {
	struct m0_lnet_cfg hm_cfg;
	struct m0_strand   hm_strand;
	/** Where its thread runs. */
	struct m0_os_cpus   hm_cpus;
	struct m0_home_node hm_node;

	/* Under hm_lock. */
	struct m0_mutex      hm_lock;
	struct m0_home_slots hm_mes;
	struct m0_home_slots hm_mds;
	struct m0_home_slots hm_msgs;
	struct m0_home_slots hm_eq_slots;
	unsigned             hm_msgs_own_nr;
	struct m0_home_down  hm_down;
	/** Probes that wait to be begun. */
	struct m0_list       hm_probes;
	struct m0_list       hm_eqs;
	struct m0_home_lazy *hm_lazy;
	struct m0_home_mems  hm_mems;
	/** Runners; those to be run. */
	struct m0_list hm_runners;
	struct m0_list hm_woken;
	/** No more operations are taken. */
	bool hm_shut;
	/** The node is gone; only polled queues keep its memory. */
	bool hm_dead;
	/** The engine was refused a message: tell it when there is one. */
	bool hm_starved;

	/* Atomic. */
	/** The node has no thread (yet). */
	bool hm_inline;
	/** hm_woken is not empty. */
	bool hm_has_woken;
	/** The runner that is being run. */
	struct m0_lnet_runner *hm_running;
	/** hm_down or hm_probes is not empty. */
	bool hm_posted;
	/** Inline: somebody steps. */
	bool hm_stepping;
	/** Inline: who steps sleeps; m0_lnet_fd was asked for. */
	bool hm_sleeps;
	bool hm_has_fd;

	/* The strand's, as it delivers. */
	struct m0_home_up hm_up;
	/** Events delivered by callback whose memory is not freed yet. */
	struct m0_home_event *hm_told;
	unsigned              hm_told_nr;
	/** Calls that wait until all events posted so far have been delivered;
	 * by ca_link. */
	struct m0_list hm_barriers;
	/** When a runner is due. */
	m0_time_t hm_run_at;
	/** m0_lnet_close() waits for it. */
	struct m0_semaphore hm_closed_sem;

	struct m0_home_op hm_close;
	struct m0_home_op hm_reset;
	bool              hm_reset_posted;

	/** Constant: the most messages that one side may have. */
	unsigned hm_share_max;
	/** Constant: `0@lo`, then in the order of the configuration. */
	unsigned           hm_nids_nr;
	struct m0_lnet_nid hm_nids[1 + M0_HOME_NIS_MAX];
};

/**
 * Any field that both sides look at without hm_lock. In one order for all: who
 * sets one and then gets another is seen, or sees.
 */
#define M0_HOME_GET(field) __atomic_load_n(&(field), __ATOMIC_SEQ_CST)
#define M0_HOME_SET(field, val) \
	__atomic_store_n(&(field), (val), __ATOMIC_SEQ_CST)
/**
 * Sets a field that stays so. Whoever does not see it yet came before: nothing
 * depends on the order of this and other fields, so it is a plain store.
 */
#define M0_HOME_MARK(field) __atomic_store_n(&(field), true, __ATOMIC_RELEASE)

static inline struct m0_home_me *m0_home__me_of(struct m0_lnet_me *me)
{
	return container_of(me, struct m0_home_me, hme_me);
}
static inline struct m0_home_md *m0_home__md_of(struct m0_lnet_md *md)
{
	return container_of(md, struct m0_home_md, hmd_md);
}
static inline struct m0_home_msg *m0_home__msg_of(struct m0_lnet_msg *msg)
{
	return container_of(msg, struct m0_home_msg, hms_msg);
}

/* -- inbox.c --------------------------------------------------------------- */

void m0_home__lock(struct m0_lnet *lnet);
/**
 * Pushes an operation and releases hm_lock, then has the strand look, unless
 * this is the strand.
 */
void m0_home__post_unlock(struct m0_lnet *lnet, enum m0_home_opcode opcode,
			  uint32_t slot, struct m0_home_op *op);
/** Pushes an operation on something that has no slot. */
void m0_home__call_unlock(struct m0_lnet *lnet, enum m0_home_opcode opcode,
			  struct m0_home_call *call);
/** hm_lock is held: something other than an operation is there to be taken. */
void m0_home__posted_unlock(struct m0_lnet *lnet);
/** Without hm_lock: the strand shall make a step. */
void m0_home__wake(struct m0_lnet *lnet);
/** Strand: does what is in the inbox. @return true if there was anything. */
bool m0_home__inbox_do(struct m0_lnet *lnet);
/**
 * Strand: the same, so that messages may leave at once; hm_posted was seen.
 * @return entries that they have overtaken, for m0_home__ops_do().
 */
struct m0_home_entry m0_home__inbox_push(struct m0_lnet *lnet);
void m0_home__ops_do(struct m0_lnet *lnet, struct m0_home_entry first);
/** ho_is_behind. */
bool m0_home__is_behind(struct m0_lnet_engine *eng, uint64_t *mark);
/** Is this thread inside a step of the node? */
bool m0_home__is_inside(const struct m0_lnet *lnet);

/** The MD, if it has neither ended nor been unlinked; hm_lock is held. */
struct m0_home_md *m0_home__md_find(struct m0_lnet       *lnet,
				    struct m0_lnet_handle handle);
/** Strand: an operation on it has left the inbox. */
void m0_home__md_op_done(struct m0_lnet *lnet, struct m0_home_md *hmd);
bool m0_home__nid_is_ours(const struct m0_lnet     *lnet,
			  const struct m0_lnet_nid *nid);

/* -- what carries out operations: on the strand, by hno_do ------------------- */

extern const m0_home_do_t m0_home__do[M0_HOME_OPS_NR];

void m0_home__me_attach_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__me_unlink_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__md_attach_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__md_unlink_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__queue_attach_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__entry_attach_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__put_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__get_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__bind_put_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__bind_get_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__lazy_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__reset_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__close_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__barrier_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__info_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__fault_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__mem_add_do(struct m0_lnet *lnet, struct m0_home_op *op);
void m0_home__mem_del_do(struct m0_lnet *lnet, struct m0_home_op *op);

/* -- me_md.c, home_msg.c, home_told.c, slot.c: hm_lock is held -------------- */

/** One operation or event less that names it. */
void m0_home__me_put(struct m0_lnet *lnet, struct m0_home_me *hme);
void m0_home__md_put(struct m0_lnet *lnet, struct m0_home_md *hmd);
/** Once the configuration is there; no lock. */
void m0_home__msgs_share(struct m0_lnet *lnet);
/** @return true: the strand is to be woken, it waits for a message. */
bool m0_home__msg_put(struct m0_lnet *lnet, struct m0_home_msg *hms);
/** NULL: none is left for this side, or (*grow) a chunk must be added. */
struct m0_home_msg *m0_home__msg_get(struct m0_lnet *lnet, bool own,
				     bool *grow);
/**
 * Strand, with hm_lock: an event of the message was told, or is in its polled
 * queue.
 */
void m0_home__msg_event_done(struct m0_lnet *lnet, struct m0_home_msg *hms);
/**
 * Takes a slot, having it made if need be: releases hm_lock meanwhile.
 * @retval -ESHUTDOWN, -ENOSPC, -ENOMEM
 */
int m0_home__slot_take(struct m0_lnet *lnet, struct m0_home_slots *slots,
		       struct m0_home_slot **ret);
/** Makes an MD of a slot, counted for its life. */
struct m0_home_md *m0_home__md_new(struct m0_home_slot          *slot,
				   const struct m0_lnet_md_attr *attr);
/**
 * Checks the attributes of an MD to be bound; hm_lock need not be held.
 * @retval -EINVAL, -ENOSPC
 */
int m0_home__md_bind_check(struct m0_lnet               *lnet,
			   const struct m0_lnet_md_attr *attr);
/** Releases hm_lock meanwhile. @retval -ENOMEM */
int m0_home__grow(struct m0_lnet *lnet, struct m0_home_slots *slots);

/** Calls of the engine into the home. */
extern const struct m0_lnet_home_ops m0_home__ops;

/* -- step.c ---------------------------------------------------------------- */

extern const struct m0_strand_ops m0_home__strand_ops;
/* -- wait.c ---------------------------------------------------------------- */

/**
 * Blocks the application until the semaphore was taken; inline nodes make
 * progress meanwhile. @return false  the deadline came first.
 */
bool m0_home__wait(struct m0_lnet *lnet, struct m0_semaphore *sem,
		   m0_time_t deadline);

/* -- eq_number.c ----------------------------------------------------------- */

/**
 * Gives the queue a number if there is one and memory for it. hm_lock is held, and
 * released meanwhile.
 */
void m0_home__eq_number_take(struct m0_lnet *lnet, struct m0_lnet_eq *eq);
/**
 * Gives a queue a number that got none when it was initialised.
 * @return -ENOSPC  all numbers are in use
 * @return -ENOMEM
 */
int m0_home__eq_number_make(struct m0_lnet *lnet, struct m0_lnet_eq *eq);
/** hm_lock is held. */
void m0_home__eq_number_put(struct m0_lnet *lnet, struct m0_lnet_eq *eq);
/** Strand: the application's queue with this number; 0: NULL. */
struct m0_lnet_eq *m0_home__eq_of(const struct m0_lnet *lnet, uint32_t number);
/** Strand: the queue with this number. Pre: the number is not 0. */
struct m0_home_eq *m0_home__eq_at(const struct m0_lnet *lnet, uint32_t number);
/** Incoming messages in the queue, or on their way to it. */
uint32_t m0_home__eq_queued_nr(const struct m0_home_eq *heq);

/* -- home_told.c ----------------------------------------------------------- */

/** m0_home__told_end() when there is something. */
void m0_home__told_give(struct m0_lnet *lnet);
/**
 * hm_lock is held: takes what has been told, if there is any and nobody else
 * steps, for the sake of the places that it has. @return false  nothing was
 * taken.
 */
bool m0_home__told_take(struct m0_lnet *lnet);
/**
 * Strand: the same for what the last events had. Nobody waits for it, so it is
 * done when what they have led to has left.
 */
static inline void m0_home__told_end(struct m0_lnet *lnet)
{
	if (lnet->hm_told != NULL || lnet->hm_node.hno_gone != NULL)
		m0_home__told_give(lnet);
}

/* -- eq.c ------------------------------------------------------------------ */

/** Tells all events posted so far. */
void m0_home__events_tell(struct m0_lnet *lnet);
/** All that was posted before them has been told. */
void m0_home__barriers_tell(struct m0_lnet *lnet);
/** The node is closed: queues that need nothing of it are let go. hm_lock. */
void m0_home__eqs_leave(struct m0_lnet *lnet);

/* -- runner.c -------------------------------------------------------------- */

/** Strand: runs those that were woken or are due. @return true if any. */
bool m0_home__runners_run(struct m0_lnet *lnet, m0_time_t now);

/* -- close.c --------------------------------------------------------------- */

/** Strand: goes on with a close. */
void m0_home__close_step(struct m0_lnet *lnet, m0_time_t now);

/** An open has failed: ends what it has begun, and frees the node. */
void m0_home__undo(struct m0_lnet *lnet);

/* -- home_free.c ----------------------------------------------------------- */

/** Frees engine, drivers and sockets. No interface is left. */
void m0_home__parts_free(struct m0_lnet *lnet);
/** Frees the node's memory, also after an open that failed. */
void m0_home__free(struct m0_lnet *lnet);

/* -- home_mem.c ----------------------------------------------------------------- */

void m0_home__mems_init(struct m0_lnet *lnet);
/** Takes the regions that are left from the drivers. After the last step. */
void m0_home__mems_fini(struct m0_lnet *lnet);
/** Strand, or before the first step: adds a driver to the node, and gives it the
 * regions that there are. */
void m0_home__lnd_add(struct m0_lnet *lnet, const struct m0_lnd_row *row,
		      struct m0_lnd *lnd);

/* -- iface.c, cfg.c -------------------------------------------------------- */

/**
 * Finds the interfaces of this host that the configuration names.
 * @param max capacity of `ret`.
 * @param why as for m0_lnet_open.
 * @retval -ENODEV, -EADDRNOTAVAIL, -ENETDOWN, -EINVAL, -ENOSPC
 */
int m0_home__ifaces(const struct m0_lnet_cfg   *cfg,
		    const struct m0_host_iface *ifaces, unsigned ifaces_nr,
		    struct m0_home_iface *ret, unsigned max, unsigned *ret_nr,
		    char *why);
/** Takes the processors of the configuration. @param why  as for m0_lnet_open. */
int m0_home__cpus_set(struct m0_lnet *lnet, char *why);
enum {
	M0_HOME_NETS_TEXT_BYTES = 256
};
/** The networks that the table of drivers has, for messages. @return buf. */
const char *m0_home__nets_text(char buf[M0_HOME_NETS_TEXT_BYTES]);
/** Formats why, which may be NULL; returns rc. */
int m0_home__why(char *why, int rc, const char *fmt, ...) M0_PRINTF(3, 4);

#endif /* M0_SRC_HOME_HOME_INTERNAL_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The front: what the application calls. It checks arguments, has handles, event
 * queues, runners and registered memory, and posts what is asked for to a node
 * (ring/ring.h). Here are also the host of a node in this process and its step
 * (embed.c, step.c, wait.c), which run both sides.
 *
 * Any thread may call the front; fro_lock protects it. The host's strand, or the
 * thread that makes a step of an inline node, delivers the events of the node.
 *
 * Life of the slot of an MD: accepted (fmd_users_nr 1) - its operations come and
 * go - the node posts the last event (rmd_ended: the handle is void) - the
 * application has had that event, and the operations are done: only then the slot
 * is used again. MEs and operations likewise.
 */
#ifndef M0_SRC_FRONT_FRONT_INTERNAL_H
#define M0_SRC_FRONT_FRONT_INTERNAL_H

#include "base/hash.h"
#include "front/apart.h"
#include "m0/lnet_run.h"
#include "node/node.h"
#include "os/os.h"
#include "ring/ring.h"

/** A call of the front that an M0_RING_CALL entry stands for. */
struct m0_front_call {
	struct m0_ring_place ca_place;
	/** In fro_calls. */
	struct m0_list_link ca_link;
	/** Called on the strand. The call may be gone when it returns. */
	void (*ca_do)(struct m0_lnet *lnet, struct m0_front_call *call);
};

/** A number of a transfer machine that is claimed, or is released. */
struct m0_front_tm {
	struct m0_front_call ftm_call;
	/** In emb_tms while it is claimed, and in the pump's list while the daemon is
	 * asked. */
	struct m0_list_link ftm_link;
	uint32_t            ftm_portal;
	uint32_t            ftm_nr;
	/** If it is not set, the number is released, and this structure freed. */
	bool ftm_is_claim;
	/** For the thread that claims it; under fro_lock. NULL: it has given up. */
	struct m0_semaphore *ftm_sem;
	/** The front has attached again: the number is another structure's, in emb_tms. */
	bool ftm_renews;
	/** emb_epoch of the attachment that has it. */
	uint32_t ftm_epoch;
	int      ftm_status;
};

/* -- slot.c ---------------------------------------------------------------- */

/** Head of whatever has a handle. */
struct m0_front_slot {
	uint32_t fsl_index;
	/** Generation of the present use; 0: never used. */
	uint32_t fsl_gen;
	bool     fsl_used;
	/** The next free one. */
	struct m0_front_slot *fsl_next;
};

enum {
	M0_FRONT_CHUNK_NR = M0_RING_CHUNK_NR
};

/** Slots with stable addresses, added on demand, never given back. */
struct m0_front_slots {
	/** Chunks of M0_FRONT_CHUNK_NR slots. */
	char **fss_chunks;
	size_t fss_slot_bytes;
	/** Bytes that debug builds overwrite when a slot is free; the rest stays
	 * as it was. */
	size_t   fss_spoilt_bytes;
	uint32_t fss_max;
	uint32_t fss_nr;
	uint32_t fss_used_nr;
	/** The one freed last comes first. */
	struct m0_front_slot *fss_free;
	/** Attached: reserved events that are left, and those that a slot takes. NULL:
	 * a slot takes none. */
	uint32_t *fss_budget;
	uint32_t  fss_events_nr;
};

/** @retval -ENOMEM */
int  m0_front__slots_init(struct m0_front_slots *slots, size_t slot_bytes,
			  size_t spoilt_bytes, uint32_t max);
void m0_front__slots_fini(struct m0_front_slots *slots);
/** A chunk to be added when there is no free slot; NULL: no memory. */
void *m0_front__slots_chunk(const struct m0_front_slots *slots);
/** Frees one that was not added; NULL: does nothing. */
void m0_front__slots_chunk_free(const struct m0_front_slots *slots,
				void                        *chunk);
/** Adds it. Pre: fss_nr < fss_max. */
void m0_front__slots_grow(struct m0_front_slots *slots, void *chunk);
/** Takes a free slot, of which nothing but the head is set; NULL: there is
 * none. */
struct m0_front_slot *m0_front__slot_get(struct m0_front_slots *slots);
void                  m0_front__slot_put(struct m0_front_slots *slots,
					 struct m0_front_slot  *slot);
/** NULL: the handle is void. */
struct m0_front_slot *m0_front__slot_find(const struct m0_front_slots *slots,
					  struct m0_lnet_handle        handle);
static inline bool m0_front__slots_are_full(const struct m0_front_slots *slots)
{
	return slots->fss_used_nr == slots->fss_max;
}
static inline struct m0_lnet_handle m0_front__handle(
	const struct m0_front_slot *slot)
{
	return (struct m0_lnet_handle){ .lh_slot = slot->fsl_index,
					.lh_gen = slot->fsl_gen };
}

/* -- what has a slot ------------------------------------------------------- */

/* A new user of a slot sets all fields but the ring places at the end, which stay. */

/** An event in a polled queue; it lies with what the event is about. */
struct m0_front_event {
	struct m0_front_event *fev_next;
	/** enum m0_ring_kind, and the number. */
	uint32_t fev_kind;
	uint32_t fev_nr;
};

struct m0_front_me {
	struct m0_front_slot fme_slot;
	/** MDs of a queue, and 1 until it has ended. */
	unsigned fme_users_nr;
	/** Bits of enum m0_lnet_me_flags. */
	unsigned fme_flags;
	/** The application has ended it, or its MD. */
	bool fme_unlinked;
	/** The last MD attached, which may have ended; none of a queue. */
	struct m0_lnet_handle fme_md;
	struct m0_ring_place  fme_attach;
	struct m0_ring_place  fme_unlink;
} __attribute__((__aligned__(64)));

struct m0_front_md {
	struct m0_front_slot fmd_slot;
	/** Operations on it that are not done, and 1 until its last event was
	 * had by the application. */
	unsigned fmd_users_nr;
	bool     fmd_unlinked;
	/** fmd_me is a queue: counted there, too, while the MD lives. */
	bool fmd_queued;
	/** NULL: bound. */
	struct m0_front_me *fmd_me;
	m0_bcount_t         fmd_length;
	/** Its event queue, which counts it; NULL: none. */
	struct m0_lnet_eq    *fmd_eq;
	struct m0_front_event fmd_event;
	/** Its long list of segments; NULL: none. */
	struct m0_front_slot *fmd_segs;
	struct m0_ring_place  fmd_attach;
	struct m0_ring_place  fmd_unlink;
	/** Set if the node is in another process. */
	const struct m0_bufvec *fmd_vec;
} __attribute__((__aligned__(64)));

struct m0_front_op {
	struct m0_front_slot fop_slot;
	/** 1 until it is done, and each event of it in a polled queue. */
	unsigned              fop_users_nr;
	struct m0_front_md   *fop_md;
	struct m0_front_event fop_event[2];
	struct m0_ring_place  fop_place;
} __attribute__((__aligned__(64)));

/** The part of the front in a message of a peer. */
struct m0_front_incoming {
	struct m0_front_event fin_event;
};

/** A request that is not about messages. */
struct m0_front_control {
	struct m0_front_slot    fcl_slot;
	struct m0_ring_control *fcl_record;
	/** The answer is that of the probe; NULL: fcl_sem waits for it. */
	struct m0_lnet_probe *fcl_probe;
	/** The answer has come: on the strand, in place of fcl_sem. NULL: none. */
	void (*fcl_done)(struct m0_lnet *lnet, struct m0_front_control *fcl);
	/** For fcl_done. */
	void                *fcl_owner;
	struct m0_semaphore  fcl_sem;
	struct m0_ring_place fcl_place;
};

/** The front's record of an event queue. The node knows its number only. */
struct m0_front_eq {
	struct m0_front_slot feq_slot;
	struct m0_lnet_eq   *feq_eq;
	struct m0_ring_place feq_barrier;
	/** For the thread that waits for the barrier; NULL: none does. */
	struct m0_semaphore *feq_passed;
};

/* -- the front ------------------------------------------------------------- */

/** Registered memory, of front_mem.c. Under fro_lock. */
struct m0_front_mems {
	/** Regions by address and size. */
	struct m0_hash hmz_regions;
	/** All of them. */
	struct m0_list hmz_all;
	/** Region number given last. */
	uint32_t hmz_last;
	/** Attached: regions by address, of which hmz_sorted_max have room. */
	struct front_mem **hmz_sorted;
	size_t             hmz_sorted_nr;
	/** Atomic: regions that have a shadow. */
	uint32_t hmz_shadows_nr;
	/** Attached: regions that were deregistered and that the server has still. */
	uint32_t hmz_leaving_nr;
};

enum {
	/** Entries delivered by callback whose slots are kept, to be freed together. */
	M0_FRONT_NOTIFIED_MAX = 32
};

/** Incoming messages whose events the application has had: their records, linked by
 * rin_next, go back to the node at once. */
struct m0_front_had {
	/** Records that were returned so far; fro_lock. */
	uint32_t had_returned_nr;
	/** 0: those below mean nothing. */
	uint32_t                 had_nr;
	uint32_t                 had_first;
	struct m0_ring_incoming *had_last;
};

/** A node in this process: the state of its step. The strand's, or that of the
 * thread that holds fro_stepping. */
struct m0_front_embed {
	struct m0_strand emb_strand;
	/** Under fro_lock: runners that may have something to post; and atomic: there are. */
	struct m0_list emb_behinds;
	/** Attached, under fro_lock: numbers of transfer machines. */
	struct m0_list emb_tms;
	/** Attached, under fro_lock: attachments after the first one; the front gives its
	 * memory and so on to a new one, and is shut. */
	uint32_t emb_epoch;
	bool     emb_renews;
	/** Attached, under fro_lock: counters as of the last answer. */
	struct m0_lnet_stats emb_stats;
	bool                 emb_has_behinds;
	/** Where its thread runs. */
	struct m0_os_cpus emb_cpus;
	/** The step did something. */
	bool emb_did;
	/** The step is m0_lnet_push(). */
	bool emb_pushes;
	/** Attached: calls of fro_pump. */
	const struct m0_front_apart_ops *emb_apart;
	/** Atomic; attached: m0_lnet_close() waits. */
	bool emb_is_closing;
	/** The caller steps again soon, whatever this step returns. */
	bool emb_is_polled;
	/** The round has only read, and delivered; the next one does the rest.
	 */
	bool emb_owes;
	/** Chunks of records for incoming messages. */
	uint32_t  emb_incoming_chunks_nr;
	m0_time_t emb_next;
	/** Time of the last round. */
	m0_time_t emb_step_now;
	/** m0_lnet_close() waits for it. */
	struct m0_semaphore emb_closed_sem;
	/** Atomic: control records that threads have, and look at after the
	 * answer. m0_lnet_close() waits for them, too. */
	uint32_t emb_controls_nr;
};

/** NIDs of the node, `0@lo` first. */
struct m0_front_nids {
	/** The number of changes that the node had made. Written under fro_lock; atomic,
	 * for servers of attached processes. */
	uint32_t           fns_version;
	unsigned           fns_nr;
	struct m0_lnet_nid fns_nid[1 + M0_NODE_NIS_MAX];
};

struct m0_lnet {
	struct m0_lnet_cfg fro_cfg;
	struct m0_ring    *fro_ring;
	/** NULL: the node is in another process. */
	struct m0_node *fro_node;
	/** The pump, which takes its place; NULL: none, or there is a node. */
	struct m0_pump       *fro_pump;
	struct m0_front_embed fro_embed;
	/** Records of each kind, on this side. */
	struct m0_ring_view fro_records[M0_RING_TABLES_NR];
	/** Constant: the most operations that the application may have. */
	unsigned fro_share_max;

	/* Under fro_lock. */
	struct m0_mutex       fro_lock;
	struct m0_front_nids  fro_nids;
	struct m0_ring_out    fro_down;
	struct m0_front_slots fro_mes;
	struct m0_front_slots fro_mds;
	struct m0_front_slots fro_ops;
	struct m0_front_slots fro_eq_slots;
	/** Long lists of segments. */
	struct m0_front_slots fro_segs;
	struct m0_front_slots fro_controls;
	/** Ended, but an entry that names them still waits for room. */
	struct m0_front_slot *fro_parked_mes;
	struct m0_front_slot *fro_parked_mds;
	/** Calls whose entries were posted, oldest first. */
	struct m0_list fro_calls;
	struct m0_list fro_eqs;
	/** By portal: the place of an entry M0_RING_LAZY. */
	struct m0_ring_place *fro_lazy;
	struct m0_front_mems  fro_mems;
	/** Runners; those to be run. */
	struct m0_list fro_runners;
	struct m0_list fro_woken;
	/** No more operations are taken. */
	bool fro_shut;
	/** The node is gone; only polled queues keep its memory. */
	bool fro_dead;

	/* Atomic. */
	/** The node has no thread (yet). */
	bool fro_inline;
	/** fro_woken is not empty. */
	bool fro_has_woken;
	/** The runner that is being run. */
	struct m0_lnet_runner *fro_running;
	/** Inline: a thread steps. */
	bool fro_stepping;
	/** Inline: the thread that steps sleeps. m0_lnet_fd() was called. */
	bool fro_sleeps;
	bool fro_has_fd;

	/* The strand's, as it delivers. */
	struct m0_ring_in fro_up;
	/** By number; the node makes the records. */
	struct m0_ring_view fro_incomings;
	/** Entries delivered by callback, whose slots are not free yet. */
	struct m0_ring_entry fro_notified[M0_FRONT_NOTIFIED_MAX];
	unsigned             fro_notified_nr;
	/** Incoming messages that were delivered by callback. */
	struct m0_front_had fro_had;
	/** When a runner is due. */
	m0_time_t fro_run_at;

	struct m0_ring_place fro_close;
	struct m0_ring_place fro_reset;
};

/**
 * Access to a field that both sides use without fro_lock, sequentially
 * consistent: of two threads that each set one field and then get the other
 * one, at least one sees what the other has set.
 */
#define M0_FRONT_GET(field) __atomic_load_n(&(field), __ATOMIC_SEQ_CST)
#define M0_FRONT_SET(field, val) \
	__atomic_store_n(&(field), (val), __ATOMIC_SEQ_CST)

static inline struct m0_front_me *m0_front__me_at(const struct m0_lnet *lnet,
						  uint32_t              nr)
{
	char *chunk = lnet->fro_mes.fss_chunks[nr / M0_FRONT_CHUNK_NR];

	return (struct m0_front_me *)(void *)chunk + nr % M0_FRONT_CHUNK_NR;
}
static inline struct m0_front_md *m0_front__md_at(const struct m0_lnet *lnet,
						  uint32_t              nr)
{
	char *chunk = lnet->fro_mds.fss_chunks[nr / M0_FRONT_CHUNK_NR];

	return (struct m0_front_md *)(void *)chunk + nr % M0_FRONT_CHUNK_NR;
}
static inline struct m0_front_op *m0_front__op_at(const struct m0_lnet *lnet,
						  uint32_t              nr)
{
	char *chunk = lnet->fro_ops.fss_chunks[nr / M0_FRONT_CHUNK_NR];

	return (struct m0_front_op *)(void *)chunk + nr % M0_FRONT_CHUNK_NR;
}
static inline struct m0_front_eq *m0_front__eq_at(const struct m0_lnet *lnet,
						  uint32_t              nr)
{
	char *chunk = lnet->fro_eq_slots.fss_chunks[nr / M0_FRONT_CHUNK_NR];

	return (struct m0_front_eq *)(void *)chunk + nr % M0_FRONT_CHUNK_NR;
}
static inline struct m0_ring_me *m0_front__me_record(const struct m0_lnet *lnet,
						     uint32_t              nr)
{
	return M0_RING_RECORD(&lnet->fro_records[M0_RING_MES],
			      struct m0_ring_me, nr);
}
static inline struct m0_ring_md *m0_front__md_record(const struct m0_lnet *lnet,
						     uint32_t              nr)
{
	return M0_RING_RECORD(&lnet->fro_records[M0_RING_MDS],
			      struct m0_ring_md, nr);
}
static inline struct m0_ring_op *m0_front__op_record(const struct m0_lnet *lnet,
						     uint32_t              nr)
{
	return M0_RING_RECORD(&lnet->fro_records[M0_RING_OPS],
			      struct m0_ring_op, nr);
}
static inline struct m0_ring_eq *m0_front__eq_record(const struct m0_lnet *lnet,
						     uint32_t              nr)
{
	return M0_RING_RECORD(&lnet->fro_records[M0_RING_EQS],
			      struct m0_ring_eq, nr);
}

/* -- front_invariant.c ----------------------------------------------------- */

bool m0_front__me_invariant(const struct m0_front_me *fme);
bool m0_front__md_invariant(const struct m0_front_md *fmd);
bool m0_front__op_invariant(const struct m0_front_op *fop);
bool m0_front__invariant(const struct m0_lnet *lnet);

/* -- front_post.c ---------------------------------------------------------------- */

void m0_front__lock(struct m0_lnet *lnet);
/**
 * Posts an entry and releases fro_lock, then has the node look, unless this is the
 * strand.
 */
void m0_front__post_unlock(struct m0_lnet *lnet, enum m0_ring_opcode opcode,
			   struct m0_lnet_handle about,
			   struct m0_ring_place *place);
/** Posts a request. `call` has its ca_do. */
void m0_front__call_unlock(struct m0_lnet *lnet, struct m0_front_call *call);
/** fro_lock is held: something other than an entry is there to be taken. */
void m0_front__posted_unlock(struct m0_lnet *lnet);
/** Without fro_lock: the node shall make a step. */
void m0_front__wake(struct m0_lnet *lnet);
/** Is this thread inside a step of the node? */
bool m0_front__is_inside(const struct m0_lnet *lnet);
/** Has the front posted something that the node has not looked for? */
static inline bool m0_front__is_posted(const struct m0_lnet *lnet)
{
	return M0_FRONT_GET(lnet->fro_ring->rng_down.rqu_bell) != 0;
}
/** Strand: gives entries that wait the room that there is now. */
void m0_front__refill(struct m0_lnet *lnet);
/** Strand: clears the bell. */
void m0_front__bell_clear(struct m0_lnet *lnet);
/** Calls of the node. */
extern const struct m0_node_host m0_front__host;

/* -- front_control.c ------------------------------------------------------- */

struct m0_front_control *m0_front__control_at(const struct m0_lnet *lnet,
					      uint32_t              nr);
/**
 * Takes a control record for a request; the caller fills it.
 * @retval -ESHUTDOWN, -ENOSPC, -ENOMEM
 */
int m0_front__control_take(struct m0_lnet *lnet, enum m0_ring_verb verb,
			   struct m0_front_control **ret);
/** As m0_front__control_take(), also while the front is shut. NULL: none is free. */
struct m0_front_control *m0_front__control_renew(struct m0_lnet   *lnet,
						 enum m0_ring_verb verb);
/** Pre: it is not on its way. */
void m0_front__control_put(struct m0_lnet *lnet, struct m0_front_control *fcl);
/** Posts it. @retval -ESHUTDOWN */
int m0_front__control_post(struct m0_lnet *lnet, struct m0_front_control *fcl);
/**
 * Has the node carry it out, and waits for the answer.
 * @return rqc_rc
 * @retval -ESHUTDOWN
 * @retval -EDEADLK  this is a callback, and the node is in another process.
 */
int m0_front__control_do(struct m0_lnet *lnet, struct m0_front_control *fcl);
/**
 * Takes all pieces of an answer.
 * @param ret  the caller frees it.
 * @retval -ENOMEM, -ESHUTDOWN, -EPROTO
 */
int m0_front__block_take(struct m0_lnet *lnet, struct m0_front_control *fcl,
			 void **ret, size_t *ret_bytes);
/** Writes to `why` why the node does not add a rule. @return rc. */
int m0_front__udsp_refuse(int rc, char *why);
/**
 * Copies an answer that is an array, and puts the record.
 * @param nr  status of the answer, as of m0_front__control_do().
 */
int m0_front__array_take(struct m0_lnet *lnet, struct m0_front_control *fcl,
			 int nr, void *ret, size_t max_bytes);
/**
 * Makes a request whose answer is an array, copies that, and puts the record.
 * @param max_bytes  bytes of `ret`; 0: only the number is wanted.
 * @return number of entries that there are, or a negative errno.
 */
int m0_front__array_do(struct m0_lnet *lnet, struct m0_front_control *fcl,
		       void *ret, size_t max_bytes);
/** May a probe ask for this? @retval -EINVAL */
int m0_front__probe_check(struct m0_lnet *lnet, int kind,
			  const struct m0_lnet_nid *nid,
			  const struct m0_lnet_nid *self);
/** Strand: the record of this number has the answer. */
void m0_front__answered(struct m0_lnet *lnet, uint32_t nr);

/* -- grow.c ---------------------------------------------------------------- */

/**
 * Makes a chunk of slots, records and the node's structs. fro_lock is held, and
 * released meanwhile. @retval -ENOMEM, -ESHUTDOWN
 */
int m0_front__grow(struct m0_lnet *lnet, struct m0_front_slots *slots,
		   enum m0_ring_table table);
/** As m0_front__grow(), and keeps fro_lock. @return false: no memory, or no room. */
bool m0_front__grow_locked(struct m0_lnet *lnet, struct m0_front_slots *slots,
			   enum m0_ring_table table);
/** Strand: makes a chunk for incoming messages. @return false: no memory. */
bool m0_front__incomings_grow(struct m0_lnet *lnet);
/** Frees all records. */
void m0_front__records_free(struct m0_lnet *lnet);
int  m0_front__records_init(struct m0_lnet *lnet);

/* -- me_md.c, move.c, front_notified.c: fro_lock is held ------------------------- */

/** The MD, if it has neither ended nor been unlinked; fro_lock is held. */
struct m0_front_md *m0_front__md_find(struct m0_lnet       *lnet,
				      struct m0_lnet_handle handle);
bool                m0_front__nid_is_ours(const struct m0_lnet     *lnet,
					  const struct m0_lnet_nid *nid);
/** For the thread that steps: the node was refused a message, and looks again. */
void m0_front__look_again(struct m0_lnet *lnet);
/** One use less. */
void m0_front__me_put(struct m0_lnet *lnet, struct m0_front_me *fme);
void m0_front__md_put(struct m0_lnet *lnet, struct m0_front_md *fmd);
/** @return true: the node is to be woken, it waits for a message. */
bool m0_front__op_put(struct m0_lnet *lnet, struct m0_front_op *fop);
/** The record of an incoming message is the node's again; as op_put. */
bool m0_front__incoming_put(struct m0_lnet *lnet, uint32_t nr);
/**
 * Takes a slot, having it made if need be: releases fro_lock meanwhile.
 * @retval -ESHUTDOWN, -ENOSPC, -ENOMEM
 */
int m0_front__slot_take(struct m0_lnet *lnet, struct m0_front_slots *slots,
			enum m0_ring_table table, struct m0_front_slot **ret);
/**
 * Makes an MD of a slot, counted for its life; gives the slot back if it cannot.
 * @retval -EFAULT, -ENOSPC  as m0_front__segs_fill().
 */
int m0_front__md_make(struct m0_lnet *lnet, struct m0_front_slot *slot,
		      const struct m0_lnet_md_attr *attr,
		      struct m0_front_md          **ret);
/**
 * Checks the attributes of an MD to be bound; fro_lock need not be held.
 * @retval -EINVAL, -ENOSPC
 */
int m0_front__md_bind_check(struct m0_lnet               *lnet,
			    const struct m0_lnet_md_attr *attr);
/**
 * Frees the slots of entries that were delivered by callback, unless another thread
 * steps. @return false  no slot was freed.
 */
bool m0_front__notified_take(struct m0_lnet *lnet);
/** Strand, without fro_lock: the same. */
void m0_front__notified_give(struct m0_lnet *lnet);
/** Returns true if m0_front__notified_give() has anything to do. */
static inline bool m0_front__has_notified(const struct m0_lnet *lnet)
{
	return lnet->fro_notified_nr > 0 || lnet->fro_had.had_nr > 0;
}
/** Nobody waits for it, so it is done when what it has led to has left. */
static inline void m0_front__notified_end(struct m0_lnet *lnet)
{
	if (m0_front__has_notified(lnet))
		m0_front__notified_give(lnet);
}

/* -- wait.c, step.c -------------------------------------------------------- */

extern const struct m0_strand_ops m0_front__strand_ops;
/**
 * Blocks the application until the semaphore was taken; inline nodes make
 * progress meanwhile. @return false  the deadline came first.
 */
bool m0_front__wait(struct m0_lnet *lnet, struct m0_semaphore *sem,
		    m0_time_t deadline);

/* -- eq_number.c ----------------------------------------------------------- */

/**
 * Gives the queue a number if there is one and memory for it. fro_lock is held, and
 * released meanwhile.
 */
void m0_front__eq_number_take(struct m0_lnet *lnet, struct m0_lnet_eq *eq);
/**
 * Gives a queue a number that got none when it was initialised.
 * @return -ENOSPC  all numbers are in use
 * @return -ENOMEM
 */
int m0_front__eq_number_make(struct m0_lnet *lnet, struct m0_lnet_eq *eq);
/** fro_lock is held. */
void m0_front__eq_number_put(struct m0_lnet *lnet, struct m0_lnet_eq *eq);

/* -- eq.c ------------------------------------------------------------------ */

/** Delivers what the node has posted so far. @return true if there was any. */
bool m0_front__deliver(struct m0_lnet *lnet);
/** The node is closed: queues that need nothing of it are let go. fro_lock. */
void m0_front__eqs_leave(struct m0_lnet *lnet);

/* -- runner.c -------------------------------------------------------------- */

/** Strand: runs those that were woken or are due. @return true if any. */
bool m0_front__runners_run(struct m0_lnet *lnet, m0_time_t now);
/** Something has changed that may concern any of them: the next step, or this one, runs
 * each. */
void m0_front__runners_wake(struct m0_lnet *lnet);
/** Has a runner something to post? Those that have are run in this pass. The strand. */
bool m0_front__is_behind(struct m0_lnet *lnet);
/** Does a runner have an MD for these match bits on its way? */
bool m0_front__is_held(struct m0_lnet *lnet, uint32_t portal, uint64_t bits);

/** Bytes of fro_ring. */
static inline size_t m0_front__ring_bytes(const struct m0_lnet *lnet)
{
	return sizeof *lnet->fro_ring +
	       lnet->fro_cfg.lc_portals_nr * sizeof lnet->fro_ring->rng_lazy[0];
}

/* -- close.c, front_free.c ------------------------------------------------- */

/** An open has failed: ends what it has begun, and frees the node. */
void m0_front__undo(struct m0_lnet *lnet);
/** Frees the front's memory, also after an open that failed. */
void m0_front__free(struct m0_lnet *lnet);

/** Makes a front, without slots, ring and node. @param ops  of its strand. NULL: no
 * memory. */
struct m0_lnet *m0_front__new(const struct m0_lnet_cfg   *cfg,
			      const struct m0_strand_ops *ops);
/** Makes the tables of slots, of `max` each or of what the configuration says. */
int m0_front__slots_make(struct m0_lnet *lnet, uint32_t max);

/* -- attach.c -------------------------------------------------------------- */

/** The memory that a front shares with a node in another process. */
struct m0_front_share {
	struct m0_ring *fsh_ring;
	/** One chunk of each kind, all zeroes. No other is made. */
	void *fsh_records[M0_RING_TABLES_NR];
	/** NIDs of the node, `0@lo` first. */
	const struct m0_lnet_nid *fsh_nids;
	unsigned                  fsh_nids_nr;
};

/**
 * Makes a front of a node that has the other end of the ring. It has no thread:
 * m0_lnet_progress() delivers.
 * @retval -ENOMEM
 */
int m0_front_attach(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
		    const struct m0_front_share *share);
/** Asks the node to close. Its last events are delivered by m0_lnet_progress(). */
void m0_front_leave(struct m0_lnet *lnet);
/** Frees the front. Pre: its queues are gone. */
void m0_front_detach(struct m0_lnet *lnet);

/* -- front_mem.c ----------------------------------------------------------- */

/**
 * Fills the memory of an MD of a front whose node is in another process. fro_lock.
 * @retval -EFAULT  some of it is not registered.
 * @retval -ENOSPC  no record is left for a long list.
 */
int m0_front__segs_fill(struct m0_lnet *lnet, struct m0_front_md *fmd,
			const struct m0_bufvec *vec);

void m0_front__mems_init(struct m0_lnet *lnet);
/** Frees the regions that are left, which no driver has. */
void m0_front__mems_fini(struct m0_lnet *lnet);

/* -- tm_number.c ----------------------------------------------------------- */

/** Forgets the numbers that were not released. */
void m0_front__tms_fini(struct m0_lnet *lnet);

#endif /* M0_SRC_FRONT_FRONT_INTERNAL_H */

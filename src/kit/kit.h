/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Declarations shared by the files of the transport kit (m0/net_kit.h is its
 * contract).
 *
 * Files, each of which calls only those before it, but for kit_ride.c and
 * kit_pass.c:
 *   kit_slot.c     table of all registered buffers
 *   kit_desc.c     bytes of descriptors
 *   kit_ep.c       end points
 *   kit_pass.c     passes and inboxes
 *   kit_ride.c     riders
 *   kit_strand.c   threads of a TM
 *   kit_claim.c    claims and completions of buffers
 *   kit_bulk.c     active and passive operations
 *   kit_recv.c     receive buffers
 *   kit_buf.c      registration, add, cancel, time-out
 *   kit_poll.c     polls of inline TMs
 *   kit_deliver.c  events of buffers
 *   kit_state.c    states of a TM
 *   kit_run.c      the run of a TM, visits
 *   kit_machine.c  life and modes of TMs
 *
 * ntm_mutex guards a TM, but for nkm_inbox, which has a lock of its own.
 */
#ifndef M0_SRC_NET_KIT_INTERNAL_H
#define M0_SRC_NET_KIT_INTERNAL_H

#include "net/net_edge.h"
#include "net/net_desc.h"
#include "base/tls.h"
#include "base/timerq.h"
#include "os/os.h"
#include "os/pass.h"

enum {
	KIT_WORKERS_MAX = 64,
	/** Idle end points kept for re-use by each machine. */
	KIT_EPS_IDLE_MAX = 256,
	/** Longest copy that is made under a lock. */
	KIT_COPY_LOCKED = 4096,
	KIT_CACHE_LINE = 64,
	/** Low bits of an epoch: how often the inbox was taken. */
	KIT_EPOCH_BITS = 40,
	/** Number of items after which a pass posts what it has listed. */
	KIT_PUSH_NR = 16,
	/** Limits of active operations that start together. */
	KIT_BULK_NR = 8,
	KIT_BULK_BYTES = 1 << 20
};

/** State of a buffer, in the low bits of nkb_word. */
enum kit_buf_state {
	KB_IDLE,
	/** Queued; a thread may claim it or give it up. */
	KB_ARMED,
	/** Data is being moved. */
	KB_CLAIMED,
	/** Cancelled or timed out, but a thread still works on it. */
	KB_GIVEN_UP,
	/** Complete; its event waits for delivery. */
	KB_DONE
};

enum {
	KB_STATE_BITS = 4,
	KB_QTYPE_BITS = 4,
	KB_GEN_SHIFT = KB_STATE_BITS + KB_QTYPE_BITS,
	/** An id is the generation above the index. */
	KB_INDEX_BITS = 24
};

static inline uint64_t kb_word(uint64_t gen, enum m0_net_queue_type qt,
			       enum kit_buf_state state)
{
	return gen << KB_GEN_SHIFT | (uint64_t)qt << KB_STATE_BITS |
	       (uint64_t)state;
}

static inline uint64_t kb_gen(uint64_t word)
{
	return word >> KB_GEN_SHIFT;
}

static inline enum kit_buf_state kb_state(uint64_t word)
{
	return (enum kit_buf_state)(word & ((1 << KB_STATE_BITS) - 1));
}

static inline enum m0_net_queue_type kb_qtype(uint64_t word)
{
	return (enum m0_net_queue_type)(word >> KB_STATE_BITS &
					((1 << KB_QTYPE_BITS) - 1));
}

static inline uint64_t kb_with_state(uint64_t word, enum kit_buf_state state)
{
	return (word & ~(uint64_t)((1 << KB_STATE_BITS) - 1)) | (uint64_t)state;
}

/** One message in a receive buffer, or why there will be no more. */
struct kit_recv_event {
	m0_bindex_t              re_offset;
	m0_bcount_t              re_length;
	struct m0_net_end_point *re_ep;
	int32_t                  re_status;
	bool                     re_final;
};

/** A registered buffer. Never freed while a domain of the kit exists. */
enum kit_bulk {
	KIT_BULK_NONE,
	/** On its machine's list of active operations to begin. */
	KIT_BULK_LISTED,
	/** For a thread that finds it by identity: see m0_net_kit_wait(). */
	KIT_BULK_WAITS
};

struct kit_buf {
	struct m0_net_kit_buf kb_pub;
	/** Ready list of its machine. */
	struct kit_buf *kb_ready_next;
	bool            kb_is_ready;
	/** A callback that is not the final one runs. */
	bool kb_delivering;
	/** A value of enum kit_bulk. */
	uint8_t kb_bulk;
	/** The transport has it, see nkp_recv. */
	bool kb_recv_placing;
	/** Reason to give it up that came while it was claimed; 0: none. */
	int32_t kb_late;
	/* A bulk transfer needs the two cache lines above, and none below. */
	m0_bcount_t kb_late_nr;
	/** Status of an event when given up. */
	int32_t         kb_reason;
	struct m0_timer kb_timer;
	int32_t         kb_timer_status;
	/** MSG_RECV. */
	struct m0_list_link    kb_recv_link;
	m0_bindex_t            kb_recv_used;
	uint32_t               kb_recv_nr;
	uint32_t               kb_recv_max;
	uint32_t               kb_ev_first;
	uint32_t               kb_ev_nr;
	uint32_t               kb_ev_cap;
	struct kit_recv_event *kb_ev;
	struct kit_recv_event  kb_ev_one;
	/** Behind those kb_ev_nr: placed, but not what is before them. */
	uint32_t kb_ev_held_nr;
	/** PASSIVE_*: the identity in its descriptor. */
	uint64_t kb_passive_id;
	/** Next free slot, while the buffer is not registered. */
	struct kit_buf *kb_free_next;
	size_t          kb_bytes;
	_Alignas(16) uint8_t kb_pvt[];
};

/* A third line would be one more miss when a cold buffer is added. */
_Static_assert(offsetof(struct kit_buf, kb_late_nr) <= 2 * KIT_CACHE_LINE,
	       "the first part of a buffer has grown");

static inline struct kit_buf *kit_buf_full(struct m0_net_kit_buf *pub)
{
	return container_of(pub, struct kit_buf, kb_pub);
}

/** Returns the queue of the current add. The caller holds the buffer. */
static inline enum m0_net_queue_type kit_buf_qtype(const struct kit_buf *kb)
{
	return kb_qtype(
		__atomic_load_n(&kb->kb_pub.nkb_word, __ATOMIC_RELAXED));
}

static inline uint64_t kb_word_get(const struct kit_buf *kb)
{
	return __atomic_load_n(&kb->kb_pub.nkb_word, __ATOMIC_SEQ_CST);
}

static inline bool kb_word_cas(struct kit_buf *kb, uint64_t old, uint64_t new)
{
	return __atomic_compare_exchange_n(&kb->kb_pub.nkb_word, &old, new,
					   false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/** For the thread that holds the buffer; others only read the word. */
static inline void kb_state_set(struct kit_buf *kb, enum kit_buf_state state)
{
	uint64_t word = __atomic_load_n(&kb->kb_pub.nkb_word, __ATOMIC_RELAXED);

	__atomic_store_n(&kb->kb_pub.nkb_word, kb_with_state(word, state),
			 __ATOMIC_RELEASE);
}

/** A thread in m0_net_kit_unclaim() may still read the field. */
static inline void kb_late_set(struct kit_buf *kb, int32_t reason)
{
	__atomic_store_n(&kb->kb_late, reason, __ATOMIC_RELAXED);
}

/** How often a machine is polled that nothing else would move. */
#define KIT_POLL_NS M0_TIME_ONE_MSEC

struct kit_work_list {
	struct m0_net_kit_work *wl_head;
	struct m0_net_kit_work *wl_tail;
};

/** See m0_net_kit_msg_staged(). */
struct kit_staged {
	const struct m0_net_kit_addr *sg_from;
	const struct m0_bufvec       *sg_data;
	m0_bindex_t                   sg_offset;
	m0_bcount_t                   sg_nr;
};

/** nd_xprt_private of a domain of the kit. */
struct kit_domain {
	const struct m0_net_kit_ops *kd_ops;
	/** The transport's. */
	uint64_t kd_word;
};

struct kit_worker {
	struct m0_strand           kw_strand;
	struct m0_net_kit_machine *kw_machine;
};

enum {
	KIT_DESC_TAIL_STEP = 16
};

/** The end of descriptors that anybody may use: their maker's address. */
struct kit_desc_tail {
	/** 0: not made yet. */
	uint32_t dt_len;
	/** In whole steps: a length, the address, the length of no address. */
	uint8_t dt_bytes[(M0_NET_KIT_ADDR_MAX + 2 * 4 + KIT_DESC_TAIL_STEP -
			  1) /
			 KIT_DESC_TAIL_STEP * KIT_DESC_TAIL_STEP];
};

/** Work that other threads post to a TM. kin_lock, a leaf, guards it. */
struct kit_inbox {
	struct m0_mutex      kin_lock;
	struct kit_work_list kin_list;
	/** No other inbox ever has the same: see kit_pass.c. */
	uint64_t kin_epoch;
	/** No pass will ever come again: the inbox refuses work. */
	bool kin_closed;
	/**
	 * A poster wakes the strand. False: inline and not helped. A thread
	 * changes this and the next with ntm_mutex held, too.
	 */
	bool kin_wakes;
	/** A poster signals the descriptor of the TM. */
	bool kin_fd_open;
	/** Posters between releasing the lock and having woken the TM. */
	uint32_t kin_wakers_nr;
};

/** Buffers with events to deliver, and the number of these events. */
struct kit_ready {
	struct kit_buf *kre_head;
	struct kit_buf *kre_tail;
	uint32_t        kre_events_nr;
};

/** Active operations to begin: nkb_work of their buffers. */
struct kit_bulk_list {
	struct kit_work_list kbl_list;
	uint32_t             kbl_nr;
};

/** End points, busy and idle. */
struct kit_eps {
	struct m0_net_kit_addr_table kes_table;
	struct m0_list               kes_idle;
	uint32_t                     kes_idle_nr;
	/** The end point that was looked up last. */
	struct kit_ep *kes_last;
};

/** The channel of m0_net_buffer_event_notify(). */
struct kit_notify {
	struct m0_chan *kno_chan;
	/** Threads that signal a channel, which was kno_chan. */
	uint32_t kno_signals_nr;
};

/** The layer above that moves with the TM; see kit_ride.c. */
struct kit_ride {
	struct m0_net_tm_rider *krd_rider;
	/** A step of it runs. */
	bool           krd_stepping;
	struct m0_vain krd_vain;
	/** The TM has STARTED. */
	bool krd_begun;
	/** Deadline of the rider that the last run returned. */
	m0_time_t krd_returned;
};

/** How far start and stop have come. */
struct kit_life {
	bool kli_start_wanted;
	bool kli_entered;
	bool kli_started;
	bool kli_left;
	bool kli_ended;
	int  kli_start_rc;
	/** The network has gone, and why; 0: it has not. */
	int                      kli_fail_rc;
	struct m0_net_end_point *kli_own_ep;
	/** Address that start got. */
	struct m0_net_kit_addr kli_wanted;
};

/** The pollable descriptor of m0_net_tm_fd(). */
struct kit_fd {
	struct m0_os_fd kfd_fd;
	/** kfd_fd contains kfd_polled. Read without a lock. */
	bool kfd_joined;
	int  kfd_polled;
};

/** Threads that run the TM. */
struct kit_strands {
	size_t kst_nr;
	bool   kst_running;
	/** NULL: the TM has strands of its own. */
	const struct m0_net_kit_runner *kst_runner;
	struct kit_worker              *kst_workers;
	/** Steps of the strands; so that any file may start them. */
	const struct m0_strand_ops *kst_ops;
};

struct m0_net_kit_machine {
	/* Seldom written: threads of other TMs read these. */
	const struct m0_net_kit_ops *nkm_ops;
	/** The tables of nkm_ops, one of them NULL. */
	const struct m0_net_kit_copy_ops  *nkm_copy;
	const struct m0_net_kit_place_ops *nkm_place;
	struct m0_net_domain              *nkm_dom;
	struct m0_net_transfer_mc         *nkm_tm;
	struct m0_net_kit_addr             nkm_addr;
	uint32_t                           nkm_open;
	bool                               nkm_sync;
	bool                               nkm_inline;
	/** Made of nkm_addr. */
	struct kit_desc_tail nkm_desc_tail;

	_Alignas(KIT_CACHE_LINE) struct kit_inbox nkm_inbox;

	_Alignas(KIT_CACHE_LINE) struct m0_ref nkm_ref;
	struct kit_ready nkm_ready;
	/**
	 * Until then a poll need not look; 0: it must. Read without a lock: see
	 * quiet_update().
	 */
	m0_time_t nkm_quiet_until;
	/** A thread makes progress(); others leave it to that one. */
	bool nkm_stepping;
	/** This run delivers buffer events, so that messages may wait. */
	bool nkm_delivers;
	/** A visitor delivers buffer events; runs leave them to it. */
	bool nkm_visitor_delivers;
	/** Receive buffers that take messages, oldest first. */
	struct m0_list       nkm_recvq;
	struct kit_bulk_list nkm_bulk;
	/** Work that is not due yet, by nkw_due. */
	struct kit_work_list nkm_deferred;
	struct m0_timerq     nkm_timerq;
	struct kit_eps       nkm_eps;

	/** A message that waits for a buffer to be added; sg_from NULL: none. */
	struct kit_staged nkm_staged;
	struct kit_notify nkm_notify;
	struct kit_ride   nkm_ride;
	/** ERROR events to deliver. */
	uint32_t        nkm_enobufs_nr;
	struct kit_life nkm_life;
	/** Posted once by m0_net_kit_machine_fail(), with its status. Atomic: it was. */
	struct m0_net_kit_work nkm_fail_work;
	int32_t                nkm_fail_status;
	bool                   nkm_fail_posted;
	struct m0_bitmap       nkm_cpus;
	struct kit_fd          nkm_fd;
	/** Reasons of the transport's against STOPPED. */
	uint32_t           nkm_pins_nr;
	struct kit_strands nkm_strands;
	_Alignas(16) uint8_t nkm_pvt[];
};

static inline struct m0_net_kit_machine *kit_machine(
	const struct m0_net_transfer_mc *tm)
{
	return tm->ntm_xprt_private;
}

/** For preconditions: the calling thread holds the lock of the TM. */
static inline bool kit_is_locked(const struct m0_net_kit_machine *m)
{
	return m0_mutex_is_locked(&m->nkm_tm->ntm_mutex);
}

static inline struct kit_buf *kit_buf_of(const struct m0_net_buffer *buf)
{
	return buf->nb_xprt_private;
}

static inline bool kit_inbox_is_empty(const struct m0_net_kit_machine *m)
{
	return __atomic_load_n(&m->nkm_inbox.kin_list.wl_head,
			       __ATOMIC_ACQUIRE) == NULL;
}

static inline bool kit_work_list_is_empty(const struct kit_work_list *list)
{
	return list->wl_head == NULL;
}

static inline void kit_work_add_tail(struct kit_work_list   *list,
				     struct m0_net_kit_work *work)
{
	work->nkw_next = NULL;
	work->nkw_prev = list->wl_tail;
	if (list->wl_tail != NULL)
		list->wl_tail->nkw_next = work;
	else
		list->wl_head = work;
	list->wl_tail = work;
}

static inline void kit_work_del(struct kit_work_list   *list,
				struct m0_net_kit_work *work)
{
	if (work->nkw_prev != NULL)
		work->nkw_prev->nkw_next = work->nkw_next;
	else
		list->wl_head = work->nkw_next;
	if (work->nkw_next != NULL)
		work->nkw_next->nkw_prev = work->nkw_prev;
	else
		list->wl_tail = work->nkw_prev;
	work->nkw_next = NULL;
	work->nkw_prev = NULL;
}

static inline struct m0_net_kit_work *kit_work_pop(struct kit_work_list *list)
{
	struct m0_net_kit_work *work = list->wl_head;

	if (work != NULL)
		kit_work_del(list, work);
	return work;
}

/* ------------------------------------------------------------ kit_pass.c -- */

/** A copy between two claimed buffers, and where if that is one piece. */
struct kit_move {
	struct m0_net_kit_buf *mv_from;
	struct m0_net_kit_buf *mv_to;
	/** NULL: in several segments. */
	const void *mv_src;
	void       *mv_dst;
	m0_bcount_t mv_nr;
};

/** Copies to be made when those begun together have all begun. */
struct kit_moves {
	struct kit_move ms_move[KIT_BULK_NR];
	size_t          ms_nr;
};

/** This thread's pass: what it will post, and the machine that it runs. */
struct kit_pass {
	struct kit_work_list kp_out;
	uint32_t             kp_depth;
	/** The clock, while kp_depth > 0. */
	m0_time_t                  kp_now;
	struct m0_net_kit_machine *kp_machine;
	/** The thread visits kp_machine, so no end of a run follows. */
	bool kp_visits;
	/** The machine, with a rider, whose events this thread delivers. */
	struct m0_net_kit_machine *kp_rides;
	/** Work that its TM refused. */
	struct kit_work_list kp_refused;
	/** Buffers of kp_machine that ended while its lock was released. */
	struct kit_work_list kp_done;
	/** Since the last event, some is to begin with the end of the run. */
	bool kp_bulk;
	/** Where kit_bulk_run() collects; NULL outside of it. */
	struct kit_moves *kp_moves;
	/** Target of the last copy of this thread; only for comparison. */
	const struct m0_net_kit_buf *kp_moved;
};
M0_TLS_EXTERN(struct kit_pass, kit_pass);

struct kit_pass *kit_pass_open(m0_time_t now);
/** kit_pass_flush() if the list is not empty. */
void kit_pass_post(void);
/** Posts the list, but refuses nothing. The lock of a TM may be held. */
void kit_pass_push(void);
/** The clock of this thread's pass, or else the clock. */
static inline m0_time_t kit_now(void)
{
	const struct kit_pass *pass = kit_pass();

	return pass->kp_depth > 0 ? pass->kp_now : m0_time_cached();
}
/** Posts what waits in this thread's pass. No lock of a machine held. */
static inline void kit_pass_flush(const struct kit_pass *pass)
{
	/* In line: often nothing does. */
	if (pass->kp_out.wl_head != NULL || pass->kp_refused.wl_head != NULL)
		kit_pass_post();
}
/** Flushes what the pass posted, also from within an outer pass. */
static inline void kit_pass_close(struct kit_pass *pass)
{
	M0_PRE(pass->kp_depth > 0);
	kit_pass_flush(pass);
	if (--pass->kp_depth > 0)
		return;
	m0_time_pass_end();
	m0_net__desc_pass_end();
}

/** Takes all items of the inbox. */
void kit_inbox_take(struct m0_net_kit_machine *m, struct kit_work_list *ret);
/** Puts back, before all others, what was taken and not handled. */
void kit_inbox_return(struct m0_net_kit_machine *m, struct kit_work_list *list);
/** Has a thread run the TM soon. ntm_mutex held. */
void kit_kick(struct m0_net_kit_machine *m);
/** Wakes a thread that runs the machine. nkm_inbox.kin_wakes is set. */
void kit_strands_wake(struct m0_net_kit_machine *m);
/** Recomputes whether a poster wakes the strand. ntm_mutex held. */
void kit_wakes_update(struct m0_net_kit_machine *m);
/** Closes the inbox and refuses the work in it. No lock held. */
void kit_inbox_close(struct m0_net_kit_machine *m);
/** Waits for posters that still wake the TM. Pre: the inbox is closed. */
void kit_wakers_wait(struct m0_net_kit_machine *m);

/* ---------------------------------------------------------- kit_strand.c -- */

/** Strands of the machine run from here on. ntm_mutex held. */
int  kit_strands_start(struct m0_net_kit_machine *m);
void kit_strands_stop(struct m0_net_kit_machine *m);

/* ------------------------------------------------------------- kit_run.c -- */

/** A strand's step: m0_net_kit_machine_run(). */
extern const struct m0_strand_ops kit_worker_ops;

enum kit_run_flags {
	KIT_RUN_PROGRESS = 1 << 0,
	KIT_RUN_BUFFERS = 1 << 1,
	KIT_RUN_STATES = 1 << 2,
	KIT_RUN_NOTIFY = 1 << 3
};
/**
 * One run of the machine; no lock held. Returns when to run again,
 * M0_TIME_IMMEDIATELY if there is more to do at once.
 */
m0_time_t kit_run(struct m0_net_kit_machine *m, uint32_t flags);
/** A poll of an inline machine would surely find nothing. No lock.
 * @param now  0: not known. */
bool kit_is_quiet(const struct m0_net_kit_machine *m, m0_time_t now);
/** Returns true if deliver_all has work. ntm_mutex held. */
bool kit_is_pending(const struct m0_net_kit_machine *m);

/* ------------------------------------------------------------ kit_ride.c -- */

/** At the end of a run that may deliver. ntm_mutex held, released. */
void kit_rider_step(struct m0_net_kit_machine *m, bool delivered);
/** Gives the rider, if there is one, another step. ntm_mutex held. */
void kit_rider_owe(struct m0_net_kit_machine *m);
/** The machine has STARTED. ntm_mutex held. */
void kit_rider_begin(struct m0_net_kit_machine *m);
/** nkm_fd.kfd_fd is readable from `next` on, or when the rider is due: @return when. */
m0_time_t kit_rider_fd_arm(struct m0_net_kit_machine *m, m0_time_t next);
/** Returns true if a run that may deliver would step. ntm_mutex held. */
bool kit_rider_is_due(const struct m0_net_kit_machine *m);
/**
 * Returns true if a poll may find something. Otherwise the strand looks, and notifies
 * when there is something to deliver. ntm_mutex held.
 */
static inline bool kit_polls_have_work(const struct m0_net_kit_machine *m)
{
	return m->nkm_inline || m->nkm_ready.kre_events_nr > 0 ||
	       kit_rider_is_due(m);
}
/** When it will be due. ntm_mutex held. */
m0_time_t kit_rider_next(const struct m0_net_kit_machine *m);
/** Before then a poll surely makes no step. No lock. Pre: there is a rider. */
m0_time_t kit_rider_quiet_until(const struct m0_net_kit_machine *m);

/* ------------------------------------------------------------ kit_poll.c -- */

/** Adds what the transport of an inline TM polls to nkm_fd.kfd_fd. */
void kit_fd_poll_add(struct m0_net_kit_machine *m);
/**
 * Has the transport of an inline TM make progress. No lock held.
 * @param now  time of the poll; unchanged if the TM needs none.
 * @return true if the TM progresses only when polled.
 */
bool kit_poll(struct m0_net_kit_machine *m, bool unattended, m0_time_t *now);
/**
 * kit_poll() by the thread of an inline TM; nothing for other TMs. The state
 * that ends the TM is not delivered meanwhile: the run that follows looks
 * whether it is due. No lock held.
 */
bool kit_helper_poll(struct m0_net_kit_machine *m);
/** Starts operations requested since the last poll, no more. No lock held. */
void kit_push(struct m0_net_kit_machine *m);

/* ----------------------------------------------------------- kit_state.c -- */

void kit_start_do(struct m0_net_kit_machine *m);
void kit_stop_do(struct m0_net_kit_machine *m);
/** Delivers ERROR events and the state change that is due. ntm_mutex held. */
void kit_states_deliver(struct m0_net_kit_machine *m);
/** kit_states_pending() when it may be. */
bool kit_states_due(const struct m0_net_kit_machine *m);
/** Is there an ERROR event to deliver, or a state change? ntm_mutex held. */
static inline bool kit_states_pending(const struct m0_net_kit_machine *m)
{
	/* While STARTED no change is due but by a call. */
	return M0_UNLIKELY(m->nkm_enobufs_nr > 0 ||
			   m->nkm_tm->ntm_state != M0_NET_TM_STARTED) &&
	       kit_states_due(m);
}
/** Cancels what is queued, or gives it until the drain limit. Locked. */
void kit_queues_stop(struct m0_net_kit_machine *m, bool abort);
/** The network has gone: ends what is queued, then FAILED follows. */
void kit_fail_begin(struct m0_net_kit_machine *m);

/* ----------------------------------------------------------- kit_claim.c -- */

/** Sets the deadline of a buffer, at which it ends with `status`. */
void kit_timer_arm(struct kit_buf *kb, m0_time_t deadline, int32_t status);

/** Queues the event of a buffer. ntm_mutex of its machine held. */
void kit_complete(struct kit_buf *kb, int32_t status, m0_bcount_t length);
void kit_ready_add(struct m0_net_kit_machine *m, struct kit_buf *kb);
/** Asks for what an event needs, which a long copy may have driven out. */
static inline void kit_event_prefetch(const struct kit_buf *kb)
{
	const struct m0_net_buffer *buf = kb->kb_pub.nkb_buffer;

	__builtin_prefetch(buf, 1);
	__builtin_prefetch(&buf->nb_flags, 1);
	__builtin_prefetch(&buf->nb_tm_linkage, 1);
}
/** kit_done_drain() when there is something. */
void kit_done_complete(struct m0_net_kit_machine *m);
/** Completes what this run of `m` ended without its lock. Now held. */
static inline void kit_done_drain(const struct kit_pass     *pass,
				  struct m0_net_kit_machine *m)
{
	if (pass->kp_done.wl_head != NULL)
		kit_done_complete(m);
}
/** WORK_DONE has come. ntm_mutex held. */
void kit_work_done(struct m0_net_kit_machine *m, struct m0_net_kit_work *work);

/* ------------------------------------------------------------- kit_buf.c -- */

/** Ends an armed buffer with `reason`, or notes that if it is claimed. */
void kit_give_up(struct kit_buf *kb, int32_t reason);
void kit_timers_expire(struct m0_net_kit_machine *m, m0_time_t now);

/* --------------------------------------------------------- kit_deliver.c -- */

/**
 * Delivers as many events as there are now. In a pass; ntm_mutex held, released
 * for callbacks.
 */
void kit_deliver(struct m0_net_kit_machine *m);

/* ------------------------------------------------------------ kit_recv.c -- */

/** If it fails the buffer is IDLE. */
int kit_recv_add(struct kit_buf *kb);
/** The machine is STARTED: those added before take messages. Locked. */
void kit_recv_open(struct m0_net_kit_machine *m);
/** Ends an armed receive buffer. ntm_mutex held. */
void                   kit_recv_give_up(struct kit_buf *kb, int32_t reason);
struct kit_recv_event *kit_recv_event_first(struct kit_buf *kb);
void                   kit_recv_event_pop(struct kit_buf *kb);

/* ------------------------------------------------------------ kit_desc.c -- */

void kit_desc_tail_make(struct kit_desc_tail         *ret,
			const struct m0_net_kit_addr *passive);
/** m0_net_kit_desc_encode() without a look at the addresses: for anybody. */
int kit_desc_encode_any(const struct m0_net_kit_desc *desc,
			const struct kit_desc_tail   *tail,
			struct m0_net_buf_desc       *ret);

/* ------------------------------------------------------------ kit_bulk.c -- */

int  kit_passive_add(struct kit_buf *kb);
void kit_active_add(struct kit_buf *kb);
/** Begins the active operations that wait. ntm_mutex held, released. */
void kit_bulk_run(struct m0_net_kit_machine *m);

/* -------------------------------------------------------------- kit_ep.c -- */

struct kit_ep {
	struct m0_net_end_point     ke_ep;
	struct m0_net_kit_addr_node ke_node;
	struct m0_list_link         ke_idle_link;
	char                        ke_text[M0_NET_KIT_ADDR_TEXT];
	_Alignas(16) uint8_t ke_pvt[];
};

void kit_eps_fini(struct m0_net_kit_machine *m);

/* ------------------------------------------------------------ kit_slot.c -- */

/** Memory and an index for a buffer, perhaps used before; NULL: none. */
struct kit_buf *kit_slot_get(size_t pvt_bytes);
void            kit_slot_put(struct kit_buf *kb);
/** The buffer of an index, registered or not; NULL: never was one. */
struct kit_buf      *kit_slot_find(uint32_t index);
static inline size_t kit_slot_size(size_t pvt_bytes)
{
	return m0_align(sizeof(struct kit_buf) + pvt_bytes, KIT_CACHE_LINE);
}
/** Asks ahead for what an add needs of the slot taken after this one. */
static inline void kit_slot_prefetch_next(const struct kit_buf *kb,
					  size_t                pvt_bytes)
{
	/* A number, for there may be none. */
	uintptr_t next = (uintptr_t)kb + kit_slot_size(pvt_bytes);

	__builtin_prefetch((const void *)next, 1);
	__builtin_prefetch((const void *)(next + KIT_CACHE_LINE), 1);
}
/** Domains come and go; with the last one all slots are freed. */
int  kit_slots_get(void);
void kit_slots_put(void);

#endif /* M0_SRC_NET_KIT_INTERNAL_H */

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the files of room `rpc` share. The contract is m0/rpc.h; what is pure -
 * packets, formation, streams - is in rpc/core.
 *
 * One thread at a time moves a machine: the one that delivers for its transfer
 * machine, in callbacks of buffers and in the rider's step. All functions below
 * are for that thread, but those that say otherwise. Whatever another thread
 * wants is a *call* pushed to the machine's inbox, which is a stack without a
 * lock that the step takes as a whole; pushing to a machine that has ended is
 * refused.
 *
 * A step: calls; timers; streams that have something to say; formation; items
 * that have ended are told to their posters. Net callbacks come before it, in
 * the same pass, and what was added leaves behind it.
 *
 * Files: machine.c life and step; call.c inbox, waiting; type.c; item.c states
 * and ends; target.c destinations; rpc_send.c packets that leave; rpc_recv.c packets
 * that come; post.c requests; reply.c their replies; rpc_conn.c, session.c,
 * session_wait.c the client's handshakes; map.c, link.c, rpc_probe.c, rail.c its
 * addresses and those of services; server.c peers as clients; serve.c their
 * requests; update.c transactions; restore.c what a store keeps of clients;
 * told.c completions and hooks; rpc_raw.c, group.c, source.c, stats.c.
 */
#ifndef M0_SRC_RPC_RPC_INTERNAL_H
#define M0_SRC_RPC_RPC_INTERNAL_H

#include "base/hash.h"
#include "base/timerq.h"
#include "os/os.h"
#include "m0/rpc.h"
#include "rpc/core/cstream.h"
#include "rpc/core/dups.h"
#include "rpc/core/frm.h"
#include "rpc/core/sstream.h"
#include "rpc/core/rpc_wire.h"
#include "rpc/bulk/bulks.h"

struct m0_rpc__machine;
struct m0_rpc__target;
struct m0_rpc__conn;
struct m0_rpc__session;
struct m0_rpc__client;
struct m0_rpc__ssession;
struct m0_rpc__packet;
struct m0_rpc__rbuf;
struct m0_rpc__link;
struct m0_rpc__rail;

enum {
	/** Bodies from here on may be gathered. */
	M0_RPC__GATHER_MIN = 1024,
	/** Pieces of a gathered body. */
	M0_RPC__GATHER_MAX = 8,
	/** Send buffers of a machine: a packet each, made when needed. When half
	 * of them are in use a place gets one only if so many times what it has
	 * is left. */
	M0_RPC__PACKETS_MAX = 256,
	M0_RPC__PACKETS_SHARE = 16,
	/** Of these, to whoever does not speak our version. */
	M0_RPC__REFUSALS_MAX = 8,
	/** Replies of the library's own, to whoever it may be, under way. */
	M0_RPC__NOTICES_MAX = 1024,
	/** Handshakes that wait for the store. */
	M0_RPC__SHAKES_MAX = 1024,
	/** Of these, to one place: perhaps nobody reads them there. */
	M0_RPC__NOTICES_EACH_MAX = 64,
	/** Packets that one receive buffer takes. */
	M0_RPC__RECV_MSGS_MAX = 256,
	/** Least rc_client_bytes_max; so much may wait for each place. */
	M0_RPC__CLIENT_BYTES_MIN = 65536
};

/* ---------------------------------------------------------------- call.c -- */

/** Something for the machine's thread to do. */
struct m0_rpc__call {
	struct m0_rpc__call *rcl_next;
	void (*rcl_run)(struct m0_rpc__machine *m, struct m0_rpc__call *call);
};

/**
 * Any thread, no lock. Calls of one thread are run in their order.
 * @retval -ESHUTDOWN  the machine has ended: it will not be run.
 */
static inline int m0_rpc__call_push(struct m0_rpc__machine *m,
				    struct m0_rpc__call    *call);
/** Part of it: a thread that is not the machine's. */
int m0_rpc__inbox_push(struct m0_rpc__machine *m, struct m0_rpc__call *call);
/** Until nobody is inside a wake of the machine. */
void m0_rpc__wakers_wait(const struct m0_rpc__machine *m);
/**
 * Runs fn(machine, arg) where the machine moves, and waits. An application's
 * thread, or the machine's own. Also when the machine has ended.
 */
void m0_rpc__do(struct m0_rpc__machine *m,
		void (*fn)(struct m0_rpc__machine *m, void *arg), void *arg);
/** The machine that this thread moves; NULL: none. */
extern __thread struct m0_rpc__machine *m0_rpc__here
	__attribute__((tls_model("initial-exec")));
/** Is this thread in a callback or step of the machine? */
static inline bool m0_rpc__is_here(const struct m0_rpc__machine *m)
{
	return m0_rpc__here == m;
}
/** Begins, ends a callback of the machine; returns what to end with. */
static inline struct m0_rpc__machine *m0_rpc__enter(struct m0_rpc__machine *m)
{
	struct m0_rpc__machine *before = m0_rpc__here;

	m0_rpc__here = m;
	return before;
}
static inline void m0_rpc__leave(struct m0_rpc__machine *before)
{
	m0_rpc__here = before;
}
/**
 * Waits until cond(arg), which is asked on any thread, without locks, and only
 * reads. Not on the machine's thread.
 * @retval -ETIMEDOUT
 */
int m0_rpc__wait(struct m0_rpc__machine *m, bool (*cond)(void *arg), void *arg,
		 m0_time_t abs_timeout);
/** Something has changed that may be waited for: the step's end looks. */
static inline void m0_rpc__tell(struct m0_rpc__machine *m);
/** The end of a step: lets go who waits for what is so. */
void m0_rpc__waiters_wake(struct m0_rpc__machine *m);
/** Runs what has been pushed. */
void m0_rpc__calls_run(struct m0_rpc__machine *m);
/** Is there something to run? */
bool m0_rpc__calls_wait(const struct m0_rpc__machine *m);
/** Nothing is pushed any more; what was is run. An application's thread. */
void m0_rpc__calls_close(struct m0_rpc__machine *m);

/* --------------------------------------------------------------- machine -- */

enum m0_rpc__phase {
	M0_RPC__RUNS,
	/** Stop was called: waits for what is there. */
	M0_RPC__DRAINS,
	/** Nothing is there any more. */
	M0_RPC__QUIET
};

struct m0_rpc__machine {
	struct m0_rpc_machine *rml_machine;
	struct m0_net_domain  *rml_dom;
	struct m0_rpc_cfg      rml_cfg;
	struct m0_net_tm_rider rml_rider;
	/** Of the pass. */
	m0_time_t rml_now;
	/** Nothing new is taken: stop was called. Atomic. */
	uint32_t rml_stops;
	/** enum m0_rpc__phase; atomic. Somebody ends it. Atomic. */
	uint32_t rml_phase;
	uint32_t rml_ends;
	/** With stop(false): until then it drains. */
	m0_time_t rml_drain_at;
	/** Items end at once. */
	bool rml_aborts;
	/** Of the configuration: goes with each packet. Atomic. */
	uint32_t rml_epoch;

	/* What other threads touch. */

	/** Stack of calls; the sentinel of call.c when the machine has ended. */
	_Alignas(64) struct m0_rpc__call *rml_inbox;
	/** Items that other threads have posted; with rml_cached_own_nr, which
	 * may be negative, those that have not ended. Atomic. */
	uint32_t rml_cached_nr;
	/** Threads that push to an empty inbox, until they have woken. Atomic. */
	uint32_t rml_wakers_nr;
	/** Threads that wait; rml_waiters under the lock. */
	_Alignas(64) uint32_t rml_waiters_nr;
	struct m0_mutex rml_waiters_lock;
	struct m0_list  rml_waiters;
	/** The item whose end is being told. Atomic. */
	const struct m0_rpc_item *rml_telling;
	/** Serialises those who do for an ended machine. */
	struct m0_mutex rml_ended_lock;
	/** Inline: for who waits and has nothing to do. */
	struct m0_mutex rml_notice_lock;
	struct m0_chan  rml_notice;
	/** Of the transfer machine: STARTED, STOPPED or FAILED was delivered. */
	struct m0_semaphore rml_state_sem;
	int32_t             rml_failed_rc;

	/* The machine's thread's. */

	_Alignas(64) struct m0_rpc__call *rml_own_head;
	/** Items that it has posted, less all that have ended. Atomic. */
	uint32_t rml_cached_own_nr;
	/** The item whose poster is in rio_replied; it was posted again there.
	 * Its session, and how many were posted in it since. */
	const struct m0_rpc_item     *rml_told;
	bool                          rml_told_again;
	const struct m0_rpc__session *rml_told_session;
	uint32_t                      rml_told_posts;
	struct m0_rpc__call          *rml_own_tail;
	bool                          rml_tell;
	/** Of items; of streams; of clients. */
	struct m0_timerq      rml_timers;
	struct m0_timerq      rml_stream_timers;
	struct m0_timerq      rml_client_timers;
	struct m0_timerq      rml_pauses;
	struct m0_rpc_frm_set rml_frms;
	/** Items that have ended, by ril_link: to be told. */
	struct m0_list rml_ended;
	/** Streams to be stepped, by rsy_ready_link. */
	struct m0_list rml_streams;
	/** Work for the store, in its order. */
	struct m0_rpc_store_job  *rml_jobs;
	struct m0_rpc_store_job **rml_jobs_tail;

	/** Destinations by end point and policy. */
	struct m0_hash         rml_targets;
	struct m0_rpc__target *rml_target_last;
	/** Free send buffers, by rpk_link; how many are made, and in use. */
	struct m0_list         rml_packets;
	struct m0_list         rml_packets_busy;
	uint32_t               rml_packets_nr;
	uint32_t               rml_packets_busy_nr;
	uint32_t               rml_refusals_nr;
	uint32_t               rml_segs_max;
	m0_bcount_t            rml_msg_size;
	struct m0_rpc_wire_sum rml_sum;

	/** Receive buffers. */
	struct m0_net_buffer_pool *rml_pool;
	struct m0_net_buffer_pool  rml_pool_own;
	/** Of that, for addresses that went, in use then. Under its lock. */
	uint32_t rml_pool_spare_nr;
	uint32_t rml_colour;
	uint32_t rml_queue_len;
	uint32_t rml_held_max;
	/** Buffers that items hold though they are full. Atomic. */
	uint32_t rml_held_nr;
	/** Bytes of packets that were copied. Atomic. */
	m0_bcount_t rml_copies_bytes;

	/* As a client. */
	uint64_t                rml_session_seq;
	uint64_t                rml_conn_seq;
	struct m0_hash          rml_sessions;
	struct m0_rpc__session *rml_session_last;
	/** By rcx_link. */
	struct m0_list rml_conns;
	/** Of handshakes: number 0. */
	struct m0_rpc__session *rml_session0;
	/** By rpl_link, under the lock. */
	struct m0_list  rml_places;
	struct m0_mutex rml_places_lock;
	/** Further addresses; its own thread reads rml_rails_nr of them. */
	struct m0_rpc__rail *rml_rails[M0_RPC_LINKS_MAX - 1];
	uint32_t             rml_rails_nr;
	/** With those being started. Under the lock. */
	uint32_t rml_rails_taken;
	/** By rrl_link: that are being stopped; that were, and wait for the
	 * machine's end. The machine's thread's. */
	struct m0_list  rml_rails_stopping;
	struct m0_list  rml_rails_gone;
	struct m0_mutex rml_rails_lock;
	/** Threads that add or take one: the machine stops after them. Atomic,
	 * raised under the lock. */
	uint32_t             rml_rails_users_nr;
	struct m0_rpc__bulks rml_bulks;

	/* As a server. */
	struct m0_hash         rml_clients;
	struct m0_rpc__client *rml_client_last;
	uint32_t               rml_clients_nr;
	/** Forgotten, and something of them is being executed. */
	uint32_t rml_clients_gone_nr;
	/** Of clients, their sessions and streams. */
	m0_bcount_t rml_clients_bytes;
	/** Bytes of requests that wait for their turn in streams. */
	m0_bcount_t           rml_holds_bytes;
	struct m0_rpc_sbudget rml_budget;
	struct m0_rpc_store  *rml_store;
	struct m0_rpc_store   rml_store_own;
	bool                  rml_store_is_own;
	struct m0_rpc__sweep *rml_sweep;
	/** Requests with handlers, of no use to stop without. */
	uint32_t rml_executing_nr;
	/** Of these, handshakes that are with the store. */
	uint32_t rml_shakes_nr;
	/** Items with pools: not handed back yet. */
	uint32_t rml_handed_nr;
	uint32_t rml_notices_nr;

	/** Decoded raw items to be used again, linked by rr_data. */
	struct m0_rpc_raw *rml_raws;
	uint32_t           rml_raws_nr;
	/** Notes without a body, likewise; linked by rno_arg. */
	struct m0_rpc__note *rml_notes;
	uint32_t             rml_notes_nr;

	struct m0_rpc_stats rml_stats;
	struct m0_rpc_stats rml_stats_base;
	struct m0_mutex     rml_stats_lock;
	/** By m0_rpc__type_place(); NULL: none yet. */
	struct m0_rpc__hist **rml_hist;
	struct m0_list        rml_watches;
};

static inline struct m0_rpc__machine *m0_rpc__machine(
	const struct m0_rpc_machine *machine)
{
	return machine->rm_lib;
}

/** Items posted and not ended. Any thread. */
static inline uint32_t m0_rpc__cached_nr(const struct m0_rpc__machine *m)
{
	int32_t nr =
		(int32_t)(__atomic_load_n(&m->rml_cached_nr, __ATOMIC_RELAXED) +
			  __atomic_load_n(&m->rml_cached_own_nr,
					  __ATOMIC_RELAXED));

	/* Some may have been posted and have ended between the two. */
	return nr > 0 ? (uint32_t)nr : 0;
}

/** The machine's thread: one more, or (as -1) one less. */
static inline void m0_rpc__cached_add(struct m0_rpc__machine *m, uint32_t nr)
{
	__atomic_store_n(&m->rml_cached_own_nr, m->rml_cached_own_nr + nr,
			 __ATOMIC_RELAXED);
}

static inline void m0_rpc__tell(struct m0_rpc__machine *m)
{
	m->rml_tell = true;
}

static inline int m0_rpc__call_push(struct m0_rpc__machine *m,
				    struct m0_rpc__call    *call)
{
	if (!m0_rpc__is_here(m))
		return m0_rpc__inbox_push(m, call);
	call->rcl_next = NULL;
	if (m->rml_own_tail != NULL)
		m->rml_own_tail->rcl_next = call;
	else
		m->rml_own_head = call;
	m->rml_own_tail = call;
	return 0;
}

/** Counters have one writer and are read by any thread. */
#define M0_RPC__COUNT(m, field, nr)                                          \
	__atomic_store_n(&(m)->rml_stats.field, (m)->rml_stats.field + (nr), \
			 __ATOMIC_RELAXED)

/** States that calls of other threads begin to change. */
static inline uint32_t m0_rpc__conn_state(const struct m0_rpc_conn *conn)
{
	return __atomic_load_n(&conn->c_state, __ATOMIC_ACQUIRE);
}
static inline uint32_t m0_rpc__session_state(
	const struct m0_rpc_session *session)
{
	return __atomic_load_n(&session->s_state, __ATOMIC_ACQUIRE);
}

/** Latencies of a type. */
struct m0_rpc__hist {
	/** Its rit_index. */
	uint32_t       rhi_index;
	struct m0_hist rhi_hist;
};

/** May be told to stop: looks whether it is quiet. The step's end. */
void m0_rpc__machine_drain(struct m0_rpc__machine *m);
/** An event of one of its transfer machines: whether it has started, stopped or
 * failed, and why. */
void m0_rpc__tm_state(const struct m0_net_tm_event *ev,
		      struct m0_semaphore *sem, int32_t *failed_rc);

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
	/** In rml_ended. */
	M0_RPC__IF_ENDED = 2,
	/** To be put into the formation when its packet has left. */
	M0_RPC__IF_AGAIN = 4,
	/** To be put into the formation when its session is there again. */
	M0_RPC__IF_PARKED = 8,
	/** Its memory is in a packet that is on its way. */
	M0_RPC__IF_GATHERED = 16,
	/** Ends when that has left: ri_error and ri_reply are set. */
	M0_RPC__IF_ENDS = 32,
	/** A reply that is kept for duplicates: not put when it has left. */
	M0_RPC__IF_KEPT = 64,
	/** A stream knows it. */
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

/** ril_gate: who cancels and who ends agree on this. Atomic. */
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
	/** Outgoing: of its session or connection; or in rml_ended. */
	struct m0_list_link ril_link;
	union {
		/** Outgoing. */
		struct {
			struct m0_rpc_frm_item  ril_frm;
			struct m0_timer         ril_timer;
			struct m0_rpc__packet  *ril_packet;
			struct m0_rpc__session *ril_session;
			struct m0_rpc__conn    *ril_conn;
			/** That counts it, with so many bytes. */
			struct m0_rpc__link *ril_on;
			m0_bcount_t          ril_on_bytes;
			/** Carried by this one, or next. */
			struct m0_rpc_item *ril_parts;
			union {
				/** Of a stream. */
				struct m0_rpc_citem ril_citem;
				/** Of none. */
				struct {
					m0_time_t           ril_resend_ns;
					struct m0_rpc_item *ril_xid_next;
				};
				struct m0_rpc__re ril_re;
			};
		};
		/** Incoming: of replies ril_tm alone is set, to NULL. */
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

/**
 * Its answer is here: it has left, even if its packet's event is yet to come,
 * as with transports whose sends end when they were taken. Before its end.
 * @return  false: who was told of that has ended it, with its session.
 */
bool m0_rpc__item_answered(struct m0_rpc_item *item);
/**
 * Ends a posted item, with an error or a reply (whose reference goes along):
 * takes it out of everything, now, or when its packet has left if that refers
 * to its memory. Its poster is told at the end of the step.
 */
void m0_rpc__item_end(struct m0_rpc_item *item, int rc,
		      struct m0_rpc_item *reply);
/** The same of a reply whose packet has left, or was lost: it is in nothing any
 * more. */
void m0_rpc__reply_end(struct m0_rpc_item *reply, int rc);
/** Its packet has left, and it was to end then. */
void m0_rpc__item_ends(struct m0_rpc_item *item);
/**
 * Tells the posters of at most `max` items that have ended.
 * @return of how many.
 */
unsigned m0_rpc__ended_run(struct m0_rpc__machine *m, unsigned max);
/** Sets what post and the like have in common; a reply to what it was before is
 * forgotten. Any thread. */
void m0_rpc__item_prepare(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** What its body by reference takes of a packet's segments, with the packet's own
 * memory behind it, `max` at most; 0: it is to be encoded. */
uint32_t m0_rpc__item_segs(const struct m0_rpc__machine *m,
			   const struct m0_rpc_item *item, uint32_t max);
/** Puts an item into the formation of ril_target; ends it if that fails. */
void m0_rpc__item_form(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** The same over the link that is best now: of requests. */
void m0_rpc__item_again(struct m0_rpc__machine *m, struct m0_rpc_item *item);
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

/* ---------------------------------------------------------------- note.c -- */

/** An item of the library's own. Handshakes have rno_done. */
struct m0_rpc__note {
	struct m0_rpc_item rno_item;
	struct m0_ref      rno_ref;
	/** The answer: its opcode, status and body. Or rc < 0 and no body. */
	void (*rno_done)(struct m0_rpc__note *note, int rc, const void *body,
			 m0_bcount_t nr);
	void                   *rno_arg;
	struct m0_rpc__machine *rno_machine;
	/** Of a stream: what is said when it leaves. */
	struct m0_rpc__stream *rno_stream;
	/** Counted in rml_notices_nr, and there, with a reference; NULL. */
	struct m0_rpc__target *rno_counted;
	/** Asks over this one alone. */
	struct m0_rpc__link *rno_link;
	uint16_t             rno_flags;
	/** It has no room for a body. */
	bool     rno_is_plain;
	uint32_t rno_nr;
	_Alignas(8) uint8_t rno_body[];
};

extern const struct m0_rpc_item_type_ops m0_rpc__note_ops;
/** Those that are kept; no thread runs the machine any more. */
void m0_rpc__notes_free(struct m0_rpc__machine *m);
/** One reference; NULL: no memory. */
struct m0_rpc__note *m0_rpc__note_new(struct m0_rpc__machine *m,
				      enum m0_rpc_wire_op op, size_t nr_max);
static inline bool   m0_rpc__is_note(const struct m0_rpc_item *item)
{
	return item->ri_type->rit_opcode < M0_RPC_OP_USER;
}
static inline struct m0_rpc__note *m0_rpc__note_of(
	const struct m0_rpc_item *item)
{
	return container_of(item, struct m0_rpc__note, rno_item);
}
/** For an answer to whoever it is. NULL: no memory, or too many are on their
 * way, to him or to all. */
struct m0_rpc__note *m0_rpc__notice_new(struct m0_rpc__target *target,
					enum m0_rpc_wire_op op, size_t nr_max);
/** Sends a handshake request: rno_done is called once, on the machine. */
void m0_rpc__note_ask(struct m0_rpc__note *note, struct m0_rpc__conn *conn,
		      struct m0_rpc__session *session, m0_time_t expires);
/** Nobody asks for its answer any more. It may have ended, and not been told. */
void m0_rpc__note_drop(struct m0_rpc__note *note);
/** Sends a one-way note and forgets it. */
void m0_rpc__note_send(struct m0_rpc__note   *note,
		       struct m0_rpc__target *target);
/** What a handler says, as it may leave: a status that no packet can carry
 * would cost the peer all of the packet. */
static inline int32_t m0_rpc__status(int rc)
{
	return rc > 0 || rc < -4095 ? -EPROTO : rc;
}
/** Answers a request with a note. Takes the reference. */
void m0_rpc__note_reply(struct m0_rpc__note           *note,
			struct m0_rpc__target         *target,
			const struct m0_rpc_wire_item *to, int32_t status);
/** The same with a status alone; drops it if too many are on their way. */
void m0_rpc__refuse(struct m0_rpc__machine *m, struct m0_rpc__target *target,
		    const struct m0_rpc_wire_item *to, enum m0_rpc_wire_op op,
		    int32_t status);

/* -------------------------------------------------------------- target.c -- */

struct m0_rpc__target_key {
	struct m0_net_end_point        *trk_ep;
	const struct m0_rpc_frm_policy *trk_policy;
};

/** Where packets go: an end point, and the policy by which they are formed. */
struct m0_rpc__target {
	struct m0_rpc_frm         trg_frm;
	struct m0_rpc__target_key trg_key;
	/** What transport and connections allow; the network policy's are in
	 * trg_frm. */
	struct m0_rpc_frm_constraints trg_limits;
	struct m0_hash_link           trg_hash;
	struct m0_rpc__machine       *trg_machine;
	/** Of connections, clients, requests. It goes when it is idle, too. */
	uint32_t trg_refs;
	/** On their way. */
	uint32_t trg_notices_nr;
	/** What the peer told us to put into packets. */
	uint64_t trg_life;
	/** Bytes of a packet that it takes, as it said as a client; 0: it did
	 * not. */
	m0_bcount_t trg_packet_max;
	/** By lnk_target_link. */
	struct m0_list trg_links;
};

/** With a reference; NULL: no memory. */
struct m0_rpc__target *m0_rpc__target_get(
	struct m0_rpc__machine *m, struct m0_net_end_point *ep,
	const struct m0_rpc_frm_policy *policy);
/** The same by address. @retval -EINVAL, -ENOMEM */
int  m0_rpc__target_find(struct m0_rpc__machine    *m,
			 struct m0_net_transfer_mc *tm, const char *addr,
			 const struct m0_rpc_frm_policy *policy,
			 struct m0_rpc__target         **ret);
void m0_rpc__target_ref(struct m0_rpc__target *target);
/** It may have become idle. */
void               m0_rpc__target_check(struct m0_rpc__target *target);
static inline void m0_rpc__target_put(struct m0_rpc__target *target)
{
	M0_PRE(target->trg_refs > 0);
	if (--target->trg_refs == 0)
		m0_rpc__target_check(target);
}
bool m0_rpc__targets_are_idle(const struct m0_rpc__machine *m);
void m0_rpc__targets_fini(struct m0_rpc__machine *m);

#include "rpc/pause.h"

/* ------------------------------------------------------------ rpc_send.c -- */

/** A packet, and its registered buffer. */
struct m0_rpc__packet {
	struct m0_rpc_frm_packet rpk_frm;
	struct m0_net_buffer     rpk_nb;
	struct m0_rpc__machine  *rpk_machine;
	struct m0_rpc__target   *rpk_target;
	/** Free or busy. */
	struct m0_list_link rpk_link;
	uint8_t            *rpk_memory;
	/** rml_segs_max of each. */
	void                  **rpk_base;
	m0_bcount_t            *rpk_count;
	struct m0_rpc_wire_seg *rpk_seg;
	unsigned                rpk_segs_nr;
	/** Written into rpk_memory; of it, before the piece that is open. */
	size_t rpk_used;
	size_t rpk_cut;
	/** It was refused, and leaves again; rpa_ns: how late the next time. */
	struct m0_rpc__pause rpk_pause;
};

extern const struct m0_rpc_frm_ops m0_rpc__frm_ops;
/** Gives up what is on its way there. */
void m0_rpc__packets_cancel(struct m0_rpc__target *target);
/** Packets that were refused do not leave again: the machine stops. */
void m0_rpc__packets_stop(struct m0_rpc__machine *m);
void m0_rpc__packets_fini(struct m0_rpc__machine *m);
/** Sends "I do not speak your version". */
void m0_rpc__refusal_send(struct m0_rpc__machine  *m,
			  struct m0_net_end_point *ep);

#include "rpc/item/came.h"

/* ---------------------------------------------------------------- post.c -- */

/** Items of a session, connection: takes them when they are posted. */
void m0_rpc__post_form(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** An item's timer has fired. */
void m0_rpc__item_timer(struct m0_rpc__machine *m, struct m0_timer *timer);
/** A reply has come. */
void m0_rpc__came_reply(struct m0_rpc__machine *m, struct m0_rpc__came *came);
/** Plain items by their number. */
int m0_rpc__xid_add(struct m0_rpc__session *session, struct m0_rpc_item *item);
struct m0_rpc_item *m0_rpc__xid_find(const struct m0_rpc__session *session,
				     uint64_t                      xid);
void m0_rpc__xid_del(struct m0_rpc__session *session, struct m0_rpc_item *item);

#include "rpc/told.h"
#include "rpc/client/conn.h"
#include "rpc/client/session.h"

/* --------------------------------------- group.c, source.c, stats.c... -- */

void                     m0_rpc__group_ended(struct m0_rpc_group *group);
void                     m0_rpc__group_posted(struct m0_rpc_group *group);
struct m0_rpc_frm_group *m0_rpc__group_frm(struct m0_rpc_group *group);
/** Formation has room for one more. */
struct m0_rpc_frm_item *m0_rpc__source_ask(struct m0_rpc__target *target,
					   m0_bcount_t            bytes);
void                    m0_rpc__sources_end(struct m0_rpc__conn *conn);
/** From post to reply. */
void m0_rpc__latency(struct m0_rpc__machine        *m,
		     const struct m0_rpc_item_type *type, m0_time_t ns);
void m0_rpc__watch_conn(struct m0_rpc__machine *m, struct m0_rpc_conn *conn);
void m0_rpc__watch_session(struct m0_rpc__machine *m,
			   struct m0_rpc_session  *session);
void m0_rpc__watch_end(struct m0_rpc__machine *m);

/* ------------------------------------------------------------- rpc_raw.c -- */

void m0_rpc__raws_free(struct m0_rpc__machine *m);

/* ------------------------------------- for pools of threads (rpc_pool.c) -- */

/**
 * rpc_pool.c's: has rito_deliver(machine, item) called on a thread of the pool. On
 * the machine's thread; one reference goes along. @retval <0  it will not be.
 */
int m0_rpc__pool_hand(struct m0_rpc_pool *pool, struct m0_rpc_machine *machine,
		      struct m0_rpc_item *item);
/** rito_deliver has returned there: has the machine put the reference. Any
 * thread, and the last that it does with the item, and the machine. */
void m0_rpc__handed_back(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item);
/**
 * Asked before rito_deliver() is called there: false: it has expired or was
 * cancelled, and has been answered; rito_deliver must not be called, handed_back
 * must. Any thread.
 */
bool m0_rpc__begins(struct m0_rpc_machine *machine, struct m0_rpc_item *item);

#endif /* M0_SRC_RPC_RPC_INTERNAL_H */

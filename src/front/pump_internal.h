/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The pump: what its files share. All of it belongs to the thread that steps, but for
 * what says otherwise.
 */
#ifndef M0_SRC_FRONT_PUMP_INTERNAL_H
#define M0_SRC_FRONT_PUMP_INTERNAL_H

#include "front/front_internal.h"
#include "front/pump.h"
#include "ring/shared_entry.h"

enum {
	/** Reserved events that are kept for requests about event queues and regions.
	 * More requests take theirs from the budget of the slots. */
	M0_PUMP_OTHERS_NR = 4,
	/** Reserved events of an operation, without its MD's. */
	M0_PUMP_OP_EVENTS_NR = 3,
	/** Largest answer to a control request. */
	M0_PUMP_BLOCK_MAX = 1 << 26
};

/* A generation of 0 means that nothing of this number is on the other side. */

struct m0_pump_md {
	uint32_t pmd_gen;
	/** Number of its event queue plus 1; 0: none. */
	uint32_t pmd_eq;
	/** As the attachment ends: operations that have an event to come. */
	uint32_t pmd_ops_nr;
	/** The queue that neighbours can send to, plus 1; 0: another ME. The server has the MD,
	 * unless it is held. */
	uint8_t pmd_queue;
	bool    pmd_is_held;
	/** Held: bytes that messages have used, and messages that it takes; the next one of
	 * the queue plus 1. What the server has begins behind the bytes. */
	int32_t  pmd_left;
	uint64_t pmd_used;
	uint32_t pmd_next;
	/** Its operation is in a pipe, or waits for one: the number plus 1. */
	uint32_t pmd_op;
};

struct m0_pump_op {
	uint32_t pop_gen;
	uint32_t pop_md;
	uint32_t pop_md_gen;
	/** Reserved events that have not come. */
	uint8_t pop_claims_nr;
	bool    pop_is_get;
	/** Has an ACK or a REPLY to come, or had it. */
	bool pop_is_answered;
	bool pop_had_send;
	bool pop_had_answer;
	/** Its neighbour plus 1, and enum m0_pump_way. */
	uint8_t pop_out;
	uint8_t pop_way;
	/** The next one of a chain plus 1; where it ends in the pipe. */
	uint32_t pop_next;
	uint64_t pop_end;
};

struct m0_pump_eq {
	/** Generation of the queue that the server has. */
	uint32_t peq_gen;
	/** Incoming messages posted to the front since the server has the queue, and before
	 * that; messages dropped before. */
	uint32_t peq_had_nr;
	uint32_t peq_before_nr;
	uint64_t peq_dropped_nr;
	/** A barrier is on its way. */
	bool peq_passes;
};

struct m0_pump_control {
	uint32_t pct_gen;
	uint32_t pct_verb;
};

/** A request about an event queue or a region. */
struct m0_pump_other {
	/** 0: none. */
	uint32_t pot_opcode;
	uint32_t pot_nr;
	/** Its reserved event is of the budget. */
	bool pot_is_extra;
};

struct m0_pump_region {
	/** Under fro_lock. NULL: the number is free. */
	void    *prg_mem;
	uint32_t prg_gen;
	/** Its memory; set before the server is asked to map it. */
	void    *prg_addr;
	uint64_t prg_bytes;
	/** The server has it. Under pmp_lock. */
	bool prg_is_there;
};

/** An answer to COPY that is to be put. */
struct m0_pump_copied {
	uint32_t pcd_nr;
	uint32_t pcd_gen;
	uint32_t pcd_errno;
};

struct m0_pump_copy {
	/** Bytes that were copied in this turn. */
	uint64_t              pcp_bytes;
	unsigned              pcp_nr;
	struct m0_pump_copied pcp_done[M0_SHARED_COPIES_MAX];
};

enum m0_pump_state {
	M0_PUMP_OPEN,
	/** Nothing is on the other side any more. */
	M0_PUMP_ENDED
};

/** Work of a front that has attached again. */
enum m0_pump_renews {
	M0_PUMP_RENEWS_NOT,
	M0_PUMP_RENEWS_MEMORY,
	M0_PUMP_RENEWS_NUMBERS,
	M0_PUMP_RENEWS_NIDS,
	M0_PUMP_RENEWS_LAZY
};

/** For pump_again.c. The thread that steps. */
struct m0_pump_again {
	/** Atomic. The front is shut unless it is M0_PUMP_RENEWS_NOT. */
	enum m0_pump_renews pag_renews;
	/** The portal that was renewed last; the error of a request. */
	uint32_t pag_nr;
	int      pag_rc;
	/** Atomic: no other daemon is looked for. */
	bool pag_gives_up;
	/** Time of the next look, 0: it is not known; time between two; time of the last
	 * one, 0: nobody looks; time of the last attachment. */
	m0_time_t pag_at;
	m0_time_t pag_ns;
	m0_time_t pag_until;
	m0_time_t pag_begun_at;
};

/** For pump_nids.c. The thread that steps. */
struct m0_pump_nids {
	/** The number of changes of NIDs that was asked about last. */
	uint32_t pnq_seen;
	/** A request is on its way; it has failed; time of the next one. */
	bool      pnq_asks;
	bool      pnq_again;
	m0_time_t pnq_at;
	/** The answer so far, bytes of it, and of all of it. */
	char    *pnq_block;
	size_t   pnq_bytes;
	size_t   pnq_max;
	uint32_t pnq_version;
};

struct m0_pump;

/** Calls of the lower files of the pump to those about neighbours. */
struct m0_pump_hooks {
	/** The attachment has ended. */
	void (*phk_end)(struct m0_pump *pump);
	/** The server has an MD of a queue, or an operation for a neighbour, no more. */
	void (*phk_md_left)(struct m0_pump *pump, uint32_t nr);
	void (*phk_op_left)(struct m0_pump *pump, struct m0_pump_op *op);
	/** An ME ends. @retval -EAGAIN */
	int (*phk_me_end)(struct m0_pump *pump, uint32_t me, uint32_t gen);
	/** The answer to TM_FIND. */
	void (*phk_found)(struct m0_pump *pump, int status, uint64_t name);
};

struct m0_pump {
	struct m0_lnet            *pmp_lnet;
	struct m0_shared_side     *pmp_side;
	const struct m0_pump_host *pmp_host;
	void                      *pmp_arg;
	/** Guards the side, and all below but pmp_is_gone and pmp_state, which threads
	 * read without it. Before fro_lock. */
	struct m0_mutex    pmp_lock;
	struct m0_ring_in  pmp_down;
	struct m0_ring_out pmp_up;
	/** Under fro_lock: reserved events that slots may take. */
	uint32_t pmp_budget;
	/** Atomic: the server is gone. */
	bool pmp_is_gone;
	/** Atomic. */
	enum m0_pump_state pmp_state;
	/** An entry of the front waits for room in the shared queue. */
	bool pmp_waits_room;
	/** When a front that is polled next asks the host whether the server is dead. */
	m0_time_t pmp_look_at;
	/** As pmp_look_at, for a strand that waits for an answer. Under pmp_lock. */
	m0_time_t pmp_turn_look_at;
	/** The step has woken m0_lnet_close(), which waits. */
	bool pmp_is_notified;
	/** Objects are to be ended, for which there was no room. */
	bool                 pmp_has_ends;
	struct m0_shared_why pmp_why;
	/** Memory of the tables that follow. */
	void                   *pmp_tables;
	uint32_t               *pmp_mes;
	struct m0_pump_md      *pmp_mds;
	struct m0_pump_op      *pmp_ops;
	struct m0_pump_eq      *pmp_eqs;
	struct m0_pump_control *pmp_controls;
	struct m0_pump_region  *pmp_regions;
	/** Event queues used so far have lower numbers. */
	uint32_t pmp_eqs_end;
	/** Requests without an answer, as many as there are reserved events. */
	struct m0_pump_other *pmp_others;
	unsigned              pmp_others_max;
	unsigned              pmp_others_nr;
	/** The next request has a reserved event of the budget. */
	bool pmp_has_extra;
	/** Numbers of transfer machines that the server is asked about, in order. */
	struct m0_list pmp_tms;
	/** By portal: it is lazy. */
	bool *pmp_lazy;
	/** Messages between neighbours; NULL: there are none. */
	struct m0_pump_direct      *pmp_direct;
	const struct m0_pump_hooks *pmp_hooks;
	/** The value in the answer that is being taken. */
	uint64_t             pmp_value;
	struct m0_pump_again pmp_again;
	struct m0_pump_nids  pmp_nids;
	struct m0_pump_copy  pmp_copy;
	/** The first free record of an incoming message, plus 1. */
	uint32_t                 pmp_free;
	struct m0_shared_request pmp_req;
	struct m0_ring_control   pmp_answer;
};

/* -- pump_request.c -------------------------------------------------------- */

/** Sets the tag of pmp_req; puts it. @retval -EAGAIN  there is no room. */
void m0_pump__req_set(struct m0_pump *pump, enum m0_shared_opcode opcode,
		      uint32_t nr, uint32_t gen);
int  m0_pump__request_send(struct m0_pump *pump);
/** May one be put that has an answer soon? Puts it. @retval -EAGAIN */
bool m0_pump__other_may(struct m0_pump *pump);
int  m0_pump__other_send(struct m0_pump *pump);
/** The MD of pmp_req. @retval -EAGAIN */
int m0_pump__md_fill(struct m0_pump *pump, uint32_t nr, uint32_t gen);
/** Puts an operation. @retval -EAGAIN */
int m0_pump__move_send(struct m0_pump *pump, uint32_t opcode, uint32_t nr,
		       uint32_t gen);
/** The server has the MD of pmp_req. */
void m0_pump__md_begin(struct m0_pump *pump);
/** The server accepts no bytes behind those that a NID has. */
void m0_pump__nid_tidy(struct m0_lnet_nid *nid);

/* -- pump_down.c ----------------------------------------------------------- */

/** Puts what the front has posted. pmp_lock is held. @return true if there was anything. */
bool m0_pump__down(struct m0_pump *pump);
/** fao_region_do. */
void m0_pump__region_do(struct m0_pump *pump, bool is_add, uint32_t nr,
			uint64_t bytes);

/** fao_tm_do, and the answer. */
void m0_pump__tm_do(struct m0_pump *pump, struct m0_front_tm *tm);
void m0_pump__tm_end(struct m0_pump *pump, bool is_claim, int status);

/* -- pump_direct.c, pump_hold.c, pump_send.c ------------------------------- */

/** Messages between neighbours, if the host has connections. @retval -ENOMEM */
int  m0_pump__direct_make(struct m0_pump *pump);
void m0_pump__direct_free(struct m0_pump *pump);
/** Looks at the connections now and then. */
void m0_pump__direct_look(struct m0_pump *pump, m0_time_t now);
/** Before the server's events are taken, and after that. @return true if any */
void m0_pump__direct_before(struct m0_pump *pump);
bool m0_pump__direct_after(struct m0_pump *pump);
/** When to look again, at the latest. */
m0_time_t m0_pump__direct_next(const struct m0_pump *pump);
/** Shows what was put. */
void m0_pump__direct_flush(struct m0_pump *pump);
/** Was anything posted to the front by a thread that does not step? Once. */
bool m0_pump__direct_posted(struct m0_pump *pump);
/** Does something for the server wait for room in its queue? */
bool m0_pump__direct_waits_room(const struct m0_pump *pump);
bool m0_pump__direct_has_work(const struct m0_pump *pump);
/** Neighbours are to ring. @return false: there is something to take. */
bool m0_pump__direct_sleep(struct m0_pump *pump);
void m0_pump__direct_wake(struct m0_pump *pump);
/** An ME was put, or is to end. @retval -EAGAIN */
void m0_pump__queue_begin(struct m0_pump *pump, uint32_t me, uint32_t gen);
int  m0_pump__queue_end(struct m0_pump *pump, uint32_t me, uint32_t gen);
/** Keeps an MD of a queue. @return false: the server is to get it. */
bool m0_pump__hold(struct m0_pump *pump, uint32_t nr, uint32_t gen);
/** The server has an MD of a queue, or has it no more. */
void m0_pump__there(struct m0_pump *pump, uint32_t nr);
void m0_pump__left(struct m0_pump *pump, uint32_t nr);
/** Ends an MD that is held. @retval -EAGAIN */
int m0_pump__held_end(struct m0_pump *pump, uint32_t nr);
/** Takes a PUT. @return false: the server is to get it; then its neighbour is given. */
bool m0_pump__send_takes(struct m0_pump *pump, uint32_t nr, uint32_t gen,
			 bool is_bind, uint8_t *ret_out);
/** The server has an operation for a neighbour, or has it no more. */
void m0_pump__send_there(struct m0_pump *pump, uint32_t nr, uint8_t out);
void m0_pump__send_left(struct m0_pump *pump, struct m0_pump_op *op);
/** The application gives up the MD of an operation. @retval -EAGAIN */
int m0_pump__send_cancel(struct m0_pump *pump, uint32_t md);
/** The answer to TM_FIND. */
void m0_pump__found(struct m0_pump *pump, int status, uint64_t name);

/* -- pump_region.c --------------------------------------------------------- */

/** fao_region_take, fao_region_put, fao_region_share, fao_region_of, fao_takes. */
uint32_t m0_pump__region_take(struct m0_pump *pump, void *mem);
void     m0_pump__region_put(struct m0_pump *pump, uint32_t nr);
int      m0_pump__region_share(struct m0_pump *pump, uint32_t nr, void *addr,
			       uint64_t bytes);
void    *m0_pump__region_of(const struct m0_pump *pump, uint32_t nr);
enum m0_front_takes m0_pump__takes(const struct m0_pump *pump);
/** The answer about a region. */
void m0_pump__region_result(struct m0_pump *pump, uint32_t nr, bool is_add,
			    int status);

/* -- pump_copy.c ----------------------------------------------------------- */

/** Is the report a copy that waits for the next turn? */
bool m0_pump__copy_waits(const struct m0_pump          *pump,
			 const struct m0_shared_report *rep);
/** COPY. @return 0, -EPROTO */
int m0_pump__copy_do(struct m0_pump *pump, const struct m0_shared_report *rep);

/* -- pump_tool.c ----------------------------------------------------------- */

/** Posts an entry. Pre: there is room. */
void m0_pump__post(struct m0_pump *pump, uint32_t kind, uint32_t nr,
		   uint32_t gen, bool is_last);
/** The server breaks the rules. @return -EPROTO */
int m0_pump__broken(struct m0_pump *pump, const char *field, uint64_t value,
		    const char *words);
/** Number, generation and words of the user in an event. */
void m0_pump__event_name(struct m0_pump *pump, struct m0_ring_event *ev,
			 uint32_t md, uint32_t md_gen,
			 const struct m0_ring_op *op);
/** The MD has its last event. */
void m0_pump__md_end(struct m0_pump *pump, uint32_t nr);
/** Gives a reserved event back to the budget, if it is of it. */
void m0_pump__extra_put(struct m0_pump *pump, bool is_extra);
/** The request is answered. */
void m0_pump__other_end(struct m0_pump *pump, unsigned i, int status);

/** A record for a message; NULL: the application has them all. */
struct m0_ring_incoming *m0_pump__incoming_get(struct m0_pump *pump,
					       uint32_t       *nr);

/* -- pump_up.c ------------------------------------------------------------- */

/** Posts what the server has put, as far as there is room. @return true if any. */
bool m0_pump__up(struct m0_pump *pump);
/** Copies counters of event queues. */
void m0_pump__eqs_copy(struct m0_pump *pump);

/* -- pump_end.c ------------------------------------------------------------ */

/** The attachment has ended. */
void m0_pump__end(struct m0_pump *pump);
/** Ends what there is, as far as there is room. @return true if there was any. */
bool m0_pump__ends_post(struct m0_pump *pump);

/** Puts LAZY. pmp_lock is held. @retval -EAGAIN */
int m0_pump__lazy_send(struct m0_pump *pump, uint32_t portal, uint32_t bits);

/* -- pump_again.c ---------------------------------------------------------- */

/** Attaches again, if that is wanted. The thread that steps. @return when to go on */
m0_time_t m0_pump__again(struct m0_pump *pump, m0_time_t now);
/** fao_comes_again. */
bool m0_pump__comes_again(const struct m0_pump *pump);

/* -- pump_nids.c ----------------------------------------------------------- */

/** Changes of the node's NIDs, as the server counts them. */
uint32_t m0_pump__nids_word(const struct m0_pump *pump);
/** Has the node other NIDs? The thread that steps. */
bool m0_pump__nids_are_due(const struct m0_pump *pump);
/** Asks for them, without pmp_lock. @return when to do that again. */
m0_time_t m0_pump__nids_ask(struct m0_pump *pump, m0_time_t now);

/* -- pump_answer.c --------------------------------------------------------- */

/** Checks an answer of the server that was copied. @retval -EPROTO */
int m0_pump__answer_check(struct m0_pump *pump, uint32_t verb,
			  const struct m0_ring_control *answer);

/** m0_front__shadow_copy(), counted in the area. */
static inline void m0_pump__shadow_copy(struct m0_pump *pump, uint32_t md,
					uint64_t offset, uint64_t bytes,
					bool out)
{
	uint64_t *word =
		&pump->pmp_side->shs_words->shw_down_put.shl_shadow_bytes;
	uint64_t nr =
		m0_front__shadow_copy(pump->pmp_lnet, md, offset, bytes, out);

	/* The server only reads this word. */
	if (nr > 0)
		__atomic_store_n(word, *word + nr, __ATOMIC_RELAXED);
}

static inline bool m0_pump__is_open(const struct m0_pump *pump)
{
	return __atomic_load_n(&pump->pmp_state, __ATOMIC_ACQUIRE) ==
	       M0_PUMP_OPEN;
}

#endif /* M0_SRC_FRONT_PUMP_INTERNAL_H */

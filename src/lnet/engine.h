/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The LNet engine, as the home sees it: what goes in, what comes out.
 *
 * Pure: no lock, no clock, no thread; all calls are made on the node's strand,
 * with the time of the pass. Memory of MEs, MDs and messages is the home's,
 * which allocates it when an operation is accepted, so that nothing here can
 * fail for want of it.
 */
#ifndef M0_SRC_LNET_ENGINE_H
#define M0_SRC_LNET_ENGINE_H

#include "m0/lnet.h"
#include "m0/lnd.h"
#include "m0/lnet_fault.h"
#include "base/hash.h"
#include "base/timerq.h"
#include "lnet/wire/wire.h"

struct m0_lnet_engine;
struct m0_lnet_me;
struct m0_lnet_md;
struct m0_lnet_msg;
struct m0_lnet_ni;
struct m0_lnet_lpni;
struct m0_lnet_peer;

/** A timer that knows what to do. */
struct m0_lnet_timer {
	struct m0_timer ltm_timer;
	void (*ltm_fire)(struct m0_lnet_engine *eng,
			 struct m0_lnet_timer *timer, m0_time_t now);
};

/** An event on its way to the application, within the memory it is about. */
struct m0_lnet_event_node {
	struct m0_lnet_event_node *en_next;
	struct m0_lnet_event       en_event;
	struct m0_lnet_eq         *en_eq;
	/** Held until the event was taken; NULL: none. */
	struct m0_lnet_msg *en_msg;
	/** Set if ev_unlinked: the MD's memory is the home's again then. */
	struct m0_lnet_md *en_md;
	/** Counts towards eq_max. */
	bool en_incoming;
};

enum m0_lnet_me_state {
	/** Has no MD, or one that is used up: not searched. A queue is, once it
	 * has had one. */
	M0_LNET_ME_NEW,
	M0_LNET_ME_LINKED,
	/** On a portal of the other kind: matches nothing. */
	M0_LNET_ME_BARRED,
	M0_LNET_ME_GONE
};

struct m0_lnet_me {
	struct m0_lnet_me_attr me_attr;
	enum m0_lnet_me_state  me_state;
	/** Its MDs by md_on_me: one, unless it is a queue. */
	struct m0_list me_mds;
	/** Its place among those of its class, which it keeps while it is not
	 * searched. */
	int64_t me_order;
	bool    me_any_nid;
	/** With ignore bits: in the portal's list. Exact ones: in a ring of
	 * the same bits, of which me_is_head (the first) is in the table. */
	struct m0_list_link me_link;
	struct m0_hash_link me_hash;
	bool                me_is_head;
	/** In le_mes. */
	struct m0_list_link me_all;
	/** The home's. */
	struct m0_lnet_handle me_handle;
	void                 *me_home;
};

struct m0_lnet_md {
	struct m0_lnet_md_attr md_attr;
	struct m0_lnet_handle  md_handle;
	/** NULL: bound. */
	struct m0_lnet_me  *md_me;
	struct m0_list_link md_on_me;
	/** What is left of md_attr.md_threshold; < 0: no end. */
	int32_t     md_threshold;
	m0_bcount_t md_local_offset;
	/** Off its ME, or ended by unlink: takes nothing new. */
	bool md_dead;
	/** md_unlink was called: its last event has -ETIMEDOUT if nothing
	 * else was wrong. */
	bool md_aborted;
	/** The last event was posted. */
	bool md_ended;
	/** Operations under way: messages by msg_md_link. */
	unsigned       md_busy_nr;
	struct m0_list md_msgs;
	/** Of the engine's own MDs, instead of an EQ. */
	void (*md_done)(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
			const struct m0_lnet_event *ev);
	/** In le_mds. */
	struct m0_list_link md_link;
	void               *md_home;
	/** The event that ends an idle MD. Cleared by then: need not be zeroed. */
	struct m0_lnet_event_node md_last;
};

/** What a message waits for; a message is in one place at a time. */
enum m0_lnet_msg_state {
	M0_LNET_MSG_FREE,
	/** Its peer is being discovered. */
	M0_LNET_MSG_DISCOVERING,
	/** Queues for credits. */
	M0_LNET_MSG_PEER_QUEUE,
	M0_LNET_MSG_NI_QUEUE,
	/** Held up by a fault rule; it has its credits. */
	M0_LNET_MSG_DELAYED,
	/** The driver has it. */
	M0_LNET_MSG_LEAVING,
	M0_LNET_MSG_SENT,
	/** Comes in: payload is being read. */
	M0_LNET_MSG_COMING,
	M0_LNET_MSG_STATES_NR
};

/** The part of a message that is an operation of this node, a PUT or GET. */
struct m0_lnet_msg_op {
	/** Set by the home before m0_lnet_engine_put or m0_lnet_engine_get. */
	struct m0_lnet_op mop_attr;
	/** The operation waits for its response, in le_waiting. */
	bool mop_waits;
	/** The response is overdue. Its event follows that of the SEND. */
	bool mop_late;
	/** The response has arrived, or is arriving. */
	bool mop_answered;
	/** Key in le_waiting, with mop_waits. */
	uint64_t             mop_cookie;
	struct m0_hash_link  mop_link;
	struct m0_lnet_timer mop_timer;
};

/** The part of a message that leaves: path, credits and deadline. */
struct m0_lnet_msg_tx {
	/** The path, once it was chosen; mtx_lpni holds a reference. */
	struct m0_lnet_ni   *mtx_ni;
	struct m0_lnet_lpni *mtx_lpni;
	/** The message holds, or queues for, a credit of each of them. */
	bool mtx_has_credits;
	/** The message answers a request: it leaves where that came in. */
	bool mtx_is_answer;
	bool mtx_cancelled;
	/** Set from m0_lnet__send to lhk_sent. */
	bool mtx_sending;
	/** In a queue of the engine. While it waits there for a discovery, a
	 * credit or a fault rule, mtx_timer is armed. */
	struct m0_list_link  mtx_link;
	struct m0_lnet_timer mtx_timer;
	/** Its ltx_deadline is also the deadline of the queues. */
	struct m0_lnd_tx mtx_lnd;
};

/** The part of a message that arrives: a request of a peer, or a REPLY. */
struct m0_lnet_msg_rx {
	/** The driver's object while the payload arrives; else NULL. */
	struct m0_lnd_rx *mrx_lnd;
	/** The peer NI in whose lpn_answers_nr the answer is counted, or NULL;
	 * holds a reference. */
	struct m0_lnet_lpni *mrx_asked_by;
	/** NI and NID by which the message arrived. */
	struct m0_lnet_ni *mrx_ni;
	struct m0_lnet_nid mrx_hop;
	/** Primary NID of the sender. */
	struct m0_lnet_nid mrx_primary;
	/** Bit of the payload that a fault rule inverts, with msg_faults. */
	uint32_t mrx_fault_bit;
};

/**
 * A message: a request of this node with its response, or a request of a peer
 * with the answer to it. The first uses msg_op and msg_tx, and msg_rx for a
 * REPLY; the second msg_rx, and msg_tx for the answer.
 *
 * The home need not initialise it. For m0_lnet_engine_put and m0_lnet_engine_get
 * it sets msg_op.mop_attr and msg_md.
 */
struct m0_lnet_msg {
	/** Linked to its md_msgs by msg_md_link, and counted in md_busy_nr. */
	struct m0_lnet_md     *msg_md;
	struct m0_lnet_engine *msg_engine;
	/** One for the driver, one for the response, one for each event. */
	unsigned               msg_refs_nr;
	enum m0_lnet_msg_state msg_state;
	/** Pending acts of fault rules: enum m0_lnet__fault_act. */
	uint8_t             msg_faults;
	struct m0_list_link msg_md_link;
	/** Memory of the payload: where it leaves from or comes to. With an MD
	 * it is the MD's, from msg_md_offset on. */
	struct m0_lnd_payload msg_payload;
	m0_bcount_t           msg_md_offset;
	/** Bytes asked for; msg_payload may have fewer. */
	m0_bcount_t           msg_rlength;
	struct m0_lnet_msg_rx msg_rx;
	struct m0_lnet_msg_tx msg_tx;
	struct m0_lnet_msg_op msg_op;
	/** The header that arrived, or that leaves. */
	struct m0_lnet_hdr msg_hdr;
	/** [0] SEND, or PUT and GET of a peer; [1] ACK or REPLY. */
	struct m0_lnet_event_node msg_event[2];
};

/** What the engine asks of the home. */
struct m0_lnet_home_ops {
	/** A message for a request of a peer, or for the engine itself. NULL:
	 * lc_msgs_max are in use, and the engine asks again. */
	struct m0_lnet_msg *(*ho_msg_get)(struct m0_lnet_engine *eng);
	void (*ho_msg_put)(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg);
	/** Takes an event to en_eq, to be told after the pass. The home calls
	 * m0_lnet_engine_event_taken() when the application has had it. */
	void (*ho_event)(struct m0_lnet_engine     *eng,
			 struct m0_lnet_event_node *node);
	/** May one more incoming message be told on this queue? If so its event
	 * will come, when it is there or answered, and has its place from now
	 * on. If not it is dropped; the home counts. */
	bool (*ho_eq_room)(struct m0_lnet_engine *eng, struct m0_lnet_eq *eq);
	/**
	 * Asked of a message of a peer that finds no entry: was the home asked
	 * for anything before it came that the engine was not told yet? Then
	 * the message is put off and asked about again.
	 * @param mark  when it came: 0 in the first question about a message,
	 *              then the home's.
	 */
	bool (*ho_is_behind)(struct m0_lnet_engine *eng, uint64_t *mark);
	/** The ME has ended; its memory is the home's. */
	void (*ho_me_gone)(struct m0_lnet_engine *eng, struct m0_lnet_me *me);
	/** A probe has ended: to be told like an event. */
	void (*ho_probe_done)(struct m0_lnet_engine *eng,
			      struct m0_lnet_probe  *probe);
};

/** What an engine is opened with; the numbers of m0_lnet_cfg that concern it. */
struct m0_lnet_engine_cfg {
	uint32_t lec_pid;
	unsigned lec_portals_nr;
	unsigned lec_peers_max;
	/** Messages that the home has, for itself and for peers. */
	unsigned  lec_msgs_max;
	unsigned  lec_peer_credits;
	unsigned  lec_credits;
	bool      lec_discovery;
	m0_time_t lec_transaction_timeout_ns;
	m0_time_t lec_timeout_ns;
	/** First half of every wmd: different in each life of a node. */
	uint64_t                       lec_cookie;
	const struct m0_lnet_home_ops *lec_home_ops;
	void                          *lec_home;
};

/** @retval -ENOMEM */
int m0_lnet_engine_create(struct m0_lnet_engine          **ret,
			  const struct m0_lnet_engine_cfg *cfg, m0_time_t now);
/** Pre: m0_lnet_engine_is_quiet(), no NI. */
void  m0_lnet_engine_destroy(struct m0_lnet_engine *eng);
void *m0_lnet_engine_home(const struct m0_lnet_engine *eng);

/**
 * Ends everything that is outstanding, MDs included, with -ESHUTDOWN where
 * nothing else is nearer. NIs go on, so that what is told to peers leaves.
 */
void m0_lnet_engine_shutdown(struct m0_lnet_engine *eng, m0_time_t now);
/** Nothing of the application's is left in it, and no event. */
bool m0_lnet_engine_is_quiet(const struct m0_lnet_engine *eng);

/**
 * Gives the engine an interface. Before ni_up, the home has its driver start
 * it with the same `m0_lnd_ni`, whose ldn_ops and identity this call sets.
 * @param lnd  NULL: none may be needed (tests).
 * @retval -EEXIST  we have this NID. @retval -ENOMEM
 */
int m0_lnet_engine_ni_add(struct m0_lnet_engine    *eng,
			  const struct m0_lnet_nid *nid, const char *device,
			  uint64_t incarnation, struct m0_lnd *lnd,
			  struct m0_lnd_ni **ret);
/** The driver serves it: advertise it (the sequence number goes up). */
void m0_lnet_engine_ni_up(struct m0_lnet_engine *eng, struct m0_lnd_ni *ni);
/**
 * Stops using it, has the driver stop it; removed at lu_ni_stopped. One that
 * never was up is removed at once, and the driver not asked.
 */
void m0_lnet_engine_ni_del(struct m0_lnet_engine *eng, struct m0_lnd_ni *ni);
unsigned m0_lnet_engine_nis_nr(const struct m0_lnet_engine *eng);
/** i-th NI, in the order of adding; NULL: no more. */
struct m0_lnd_ni *m0_lnet_engine_ni(const struct m0_lnet_engine *eng,
				    unsigned                     i);

/** The time of the pass that begins. */
void m0_lnet_engine_time(struct m0_lnet_engine *eng, m0_time_t now);
/** Expires timers, goes on with what waits. @return next deadline. */
m0_time_t m0_lnet_engine_step(struct m0_lnet_engine *eng, m0_time_t now);

/* Operations: arguments were checked by the home; outcomes are events. */
void m0_lnet_engine_me_attach(struct m0_lnet_engine *eng,
			      struct m0_lnet_me     *me);
void m0_lnet_engine_me_unlink(struct m0_lnet_engine *eng,
			      struct m0_lnet_me     *me);
/**
 * UNLINK at once with -ENOENT (the ME has ended; NULL), -EPERM (it is barred),
 * -EBUSY (has an MD, and is no queue), -ENOMEM, -ESHUTDOWN.
 */
void m0_lnet_engine_md_attach(struct m0_lnet_engine *eng, struct m0_lnet_me *me,
			      struct m0_lnet_md *md);
void m0_lnet_engine_md_bind(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
/** A no-op if it was called before or the MD has ended. */
void m0_lnet_engine_md_unlink(struct m0_lnet_engine *eng,
			      struct m0_lnet_md     *md);
void m0_lnet_engine_put(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg);
void m0_lnet_engine_get(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg);
void m0_lnet_engine_lazy_set(struct m0_lnet_engine *eng, uint32_t portal,
			     bool lazy);
void m0_lnet_engine_probe(struct m0_lnet_engine *eng,
			  struct m0_lnet_probe  *probe);
/** The application has had the event: drops en_msg's reference. */
void m0_lnet_engine_event_taken(struct m0_lnet_engine     *eng,
				struct m0_lnet_event_node *node);

int m0_lnet_engine_dist(const struct m0_lnet_engine *eng,
			const struct m0_lnet_nid *dst, struct m0_lnet_nid *src,
			uint32_t *order);
/** Fills a picture allocated by it with m0_alloc, in one piece. */
int m0_lnet_engine_info(const struct m0_lnet_engine *eng,
			struct m0_lnet_info        **ret);
/* Fault rules, as m0/lnet_fault.h has them; attributes were checked. */
int m0_lnet_engine_fault_add(struct m0_lnet_engine           *eng,
			     const struct m0_lnet_fault_attr *attr);
int m0_lnet_engine_fault_del(struct m0_lnet_engine    *eng,
			     enum m0_lnet_fault_kind   kind,
			     const struct m0_lnet_nid *src,
			     const struct m0_lnet_nid *dst);
int m0_lnet_engine_fault_reset(struct m0_lnet_engine  *eng,
			       enum m0_lnet_fault_kind kind);
int m0_lnet_engine_fault_get(const struct m0_lnet_engine *eng,
			     enum m0_lnet_fault_kind      kind,
			     struct m0_lnet_fault *ret, unsigned max);

/** Live: words that the strand writes and anybody may look at. */
const struct m0_lnet_stats *m0_lnet_engine_counters(
	const struct m0_lnet_engine *eng);
void m0_lnet_engine_stats(const struct m0_lnet_engine *eng,
			  struct m0_lnet_stats        *stats);
void m0_lnet_engine_stats_reset(struct m0_lnet_engine *eng);

#endif /* M0_SRC_LNET_ENGINE_H */

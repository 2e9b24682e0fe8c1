/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The interface between the LNet engine and the owner.
 *
 * The engine is pure: it has no lock, clock or thread. The owner makes all calls
 * on the node's strand, with the time of the pass. The owner owns the memory of
 * MEs, MDs and messages, and allocates it when it accepts an operation, so that
 * no operation fails later for want of memory.
 */
#ifndef M0_SRC_LNET_ENGINE_H
#define M0_SRC_LNET_ENGINE_H

#include "m0/lnet.h"
#include "m0/lnd.h"
#include "m0/lnet_fault.h"
#include "m0/lnet_explain.h"
#include "m0/lnet_route.h"
#include "m0/lnet_udsp.h"
#include "m0/lnet_tune.h"
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

/** A timer with the function that it calls. */
struct m0_lnet_timer {
	struct m0_timer ltm_timer;
	void (*ltm_fire)(struct m0_lnet_engine *eng,
			 struct m0_lnet_timer *timer, m0_time_t now);
};

enum m0_lnet_me_state {
	/** The ME has no MD, or one that is used up, and is not searched. A
	 * queue that has had an MD stays LINKED. */
	M0_LNET_ME_NEW,
	M0_LNET_ME_LINKED,
	/** The portal is of the other kind: the ME matches nothing. */
	M0_LNET_ME_BARRED,
	M0_LNET_ME_GONE
};

struct m0_lnet_me {
	struct m0_lnet_me_attr me_attr;
	enum m0_lnet_me_state  me_state;
	/** Its MDs, by md_on_me: one, unless the ME is a queue. */
	struct m0_list me_mds;
	/** Order among the MEs of its class. It stays while the ME is not
	 * searched. */
	int64_t me_order;
	bool    me_any_nid;
	/** An ME with ignore bits is in the list of the portal. Exact MEs of
	 * the same bits are in a ring, of which the first (me_is_head) is in
	 * the table. */
	struct m0_list_link me_link;
	struct m0_hash_link me_hash;
	bool                me_is_head;
	/** Link in le_mes. */
	struct m0_list_link me_all;
	/** For the owner. */
	struct m0_lnet_handle me_handle;
	void                 *me_owner;
};

struct m0_lnet_md {
	/** The engine does not use mda_eq. */
	struct m0_lnet_md_attr md_attr;
	/** Number that the owner gave the event queue, if ho_eq_room() is to be
	 * asked about it; 0: none. */
	uint32_t              md_eq;
	struct m0_lnet_handle md_handle;
	/** NULL: the MD is bound. */
	struct m0_lnet_me  *md_me;
	struct m0_list_link md_on_me;
	/** Rest of md_attr.mda_threshold; < 0: unlimited. */
	int32_t     md_threshold;
	m0_bcount_t md_local_offset;
	/** The MD is off its ME, or was unlinked, and takes no new
	 * operation. */
	bool md_dead;
	/** md_unlink was called: the last event has -ETIMEDOUT unless an
	 * operation failed otherwise. */
	bool md_aborted;
	/** The last event was posted. */
	bool md_ended;
	/** Number of operations in progress; their messages, by msg_md_link. */
	unsigned       md_busy_nr;
	struct m0_list md_msgs;
	/** Called instead of posting to an EQ; MDs of the engine itself. */
	void (*md_done)(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
			const struct m0_lnet_event *ev);
	/** With md_done: a request to another network takes a route by this
	 * gateway; NULL: by any. */
	const struct m0_lnet_nid *md_by;
	/** Link in le_mds. */
	struct m0_list_link md_link;
	void               *md_owner;
};

/** The stage of a message; in a queue it is in one queue at a time. */
enum m0_lnet_msg_state {
	M0_LNET_MSG_FREE,
	/** Waits for the discovery of its peer. */
	M0_LNET_MSG_DISCOVERING,
	/** Waits for a credit of the peer NI, or of the NI. */
	M0_LNET_MSG_PEER_QUEUE,
	M0_LNET_MSG_NI_QUEUE,
	/** Delayed by a fault rule; holds its credits. */
	M0_LNET_MSG_DELAYED,
	/** The driver sends it. */
	M0_LNET_MSG_LEAVING,
	M0_LNET_MSG_SENT,
	/** Failed, and will be sent again. */
	M0_LNET_MSG_AGAIN,
	/** Its payload is arriving. */
	M0_LNET_MSG_COMING,
	M0_LNET_MSG_STATES_NR
};

/** The part of a message that is an operation of this node, a PUT or GET. */
struct m0_lnet_msg_op {
	/** The operation waits for its response, in le_waiting. */
	bool mop_waits;
	/** The response is overdue. Its event follows that of the SEND. */
	bool mop_late;
	/** The response has arrived, or is arriving. */
	bool mop_answered;

	/* The members above are zeroed for a new message. */

	/** Set by the owner before m0_lnet_engine_put or m0_lnet_engine_get. */
	struct m0_lnet_op mop_attr;
	/** When it began to wait. */
	m0_time_t mop_since;
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
	/** The message is another node's, and this node is its router; with
	 * mtx_is_answer. */
	bool mtx_is_forward;
	bool mtx_cancelled;
	/** Number of times that the message was sent again. */
	uint8_t mtx_tries_nr;
	/** Set from m0_lnet__send to lhk_sent. */
	bool mtx_sending;

	/* The members above are zeroed for a new message. */

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
	 * of a message that is forwarded, the one that it came by. Holds a
	 * reference. */
	struct m0_lnet_lpni *mrx_asked_by;

	/* The members above are zeroed for a new message. */

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
 * The owner sets msg_event, the space of the events, and initialises nothing else.
 * For m0_lnet_engine_put and m0_lnet_engine_get it also sets msg_op.mop_attr and
 * msg_md.
 */
struct m0_lnet_msg {
	/** Linked to its md_msgs by msg_md_link, and counted in md_busy_nr. */
	struct m0_lnet_md     *msg_md;
	struct m0_lnet_engine *msg_engine;
	/** One for the driver, one for the response. */
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
	struct m0_lnet_event *msg_event[2];
};

/** Calls from the engine to the owner, which is lec_owner. */
struct m0_lnet_owner_ops {
	/** A message for a request of a peer, or for the engine itself. NULL:
	 * lc_msgs_max are in use, and the engine asks again. */
	struct m0_lnet_msg *(*ho_msg_get)(void *owner);
	void (*ho_msg_put)(void *owner, struct m0_lnet_msg *msg);
	/**
	 * Queues an event of `md`; the owner delivers it after the pass. With
	 * ev_unlinked it is the last event of the MD, whose memory the owner may
	 * then reuse.
	 * @param ev   one of msg_event, which the engine does not touch any
	 *             more; without `msg` the owner copies it.
	 * @param msg  the message that the event is about; NULL: none.
	 */
	void (*ho_event)(void *owner, struct m0_lnet_md *md,
			 struct m0_lnet_event *ev, struct m0_lnet_msg *msg);
	/** Returns true if the queue takes one more incoming message, and then
	 * reserves the space of its event. Otherwise the owner counts, and the
	 * engine drops the message. */
	bool (*ho_eq_room)(void *owner, uint32_t eq);
	/** The engine asks this about a message of a peer that finds no entry:
	 * had the application made any call before the message arrived that the
	 * engine does not know yet? If so, the engine puts the message off and
	 * asks again.
	 * @param mark  identifies the time of arrival: 0 in the first call for
	 *              a message, then what the owner has stored. */
	bool (*ho_is_behind)(void *owner, uint64_t *mark);
	/** As ho_is_behind, after that: is an MD for these match bits to come from
	 * somebody who holds it? NULL: no.
	 * @param mark  the owner stores when the engine is to ask again. */
	bool (*ho_is_held)(void *owner, uint32_t portal, uint64_t match_bits,
			   uint64_t *mark);
	/** The ME has ended; the owner may reuse its memory. */
	void (*ho_me_gone)(void *owner, struct m0_lnet_me *me);
	/** A probe has ended; the owner delivers that like an event. */
	void (*ho_probe_done)(void *owner, struct m0_lnet_probe *probe);
};

/** Routes and routing: the values of m0_lnet_cfg that concern them. */
struct m0_lnet_route_cfg {
	/** Interval of the checks of gateways, 0: once; and time-out of a
	 * check. */
	m0_time_t lrc_check_ns;
	m0_time_t lrc_ping_ns;
	bool      lrc_check_first;
	bool      lrc_avoid_asym;
	bool      lrc_drop_asym;
	bool      lrc_use_down;
	bool      lrc_cut_through;
	bool      lrc_splice;
	/** Time after which a message that is forwarded is dropped. */
	m0_time_t lrc_forward_ns;
	/** Most buffers of each pool, and memory of all. */
	uint32_t lrc_buffers[M0_LNET_POOLS_NR];
	uint64_t lrc_bytes;
};

/** Health: the values of m0_lnet_cfg that concern it. */
struct m0_lnet_health_ecfg {
	unsigned lhe_sensitivity;
	unsigned lhe_retries;
	/** 0: without limit. */
	m0_time_t lhe_limit_ns;
	m0_time_t lhe_ping_max_ns;
};

/** Configuration of an engine: the values of m0_lnet_cfg that concern it. */
struct m0_lnet_engine_cfg {
	uint32_t lec_pid;
	unsigned lec_portals_nr;
	unsigned lec_peers_max;
	/** Number of messages that the owner has, for itself and for peers. */
	unsigned                   lec_msgs_max;
	unsigned                   lec_peer_credits;
	unsigned                   lec_credits;
	bool                       lec_discovery;
	m0_time_t                  lec_transaction_timeout_ns;
	struct m0_lnet_route_cfg   lec_route;
	struct m0_lnet_health_ecfg lec_health;
	/** First half of every wmd; it differs in each life of a node. */
	uint64_t                        lec_cookie;
	const struct m0_lnet_owner_ops *lec_owner_ops;
	void                           *lec_owner;
};

/** @retval -ENOMEM */
int m0_lnet_engine_create(struct m0_lnet_engine          **ret,
			  const struct m0_lnet_engine_cfg *cfg, m0_time_t now);
/** Pre: m0_lnet_engine_is_quiet(), no NI. */
void m0_lnet_engine_destroy(struct m0_lnet_engine *eng);

/**
 * Ends everything outstanding, MDs included, with -ESHUTDOWN unless another
 * reason is closer. The NIs stay in service, so that messages to peers leave.
 */
void m0_lnet_engine_shutdown(struct m0_lnet_engine *eng, m0_time_t now);
/** Returns true if no object of the application is left. */
bool m0_lnet_engine_is_quiet(const struct m0_lnet_engine *eng);

/**
 * Adds an interface, and sets ldn_ops and the identity of its `m0_lnd_ni`. The
 * owner then starts the driver with that, before it calls ni_up.
 * @param lnd  may be NULL in tests.
 * @retval -EEXIST  the node has this NID.
 * @retval -ENOMEM
 */
int m0_lnet_engine_ni_add(struct m0_lnet_engine    *eng,
			  const struct m0_lnet_nid *nid, const char *device,
			  uint64_t incarnation, struct m0_lnd *lnd,
			  struct m0_lnd_ni **ret);
/**
 * Gives an interface credits that differ from those of the engine. All NIs of a
 * network must have the same. Pre: the NI was added, and is not up.
 * @param peer_credits, credits  0: those of the engine.
 */
void m0_lnet_engine_ni_credits(struct m0_lnd_ni *ni, unsigned peer_credits,
			       unsigned credits);
/** Sets the router buffers that a peer on this network may use at one time, as
 * m0_lnet_engine_ni_credits(); 0: as many as it has credits. */
void m0_lnet_engine_ni_buffer_credits(struct m0_lnd_ni *ni,
				      unsigned          peer_buffer_credits);
/**
 * The driver serves the interface: advertises it (the sequence number rises).
 */
void m0_lnet_engine_ni_up(struct m0_lnet_engine *eng, struct m0_lnd_ni *ni);
/**
 * Stops using an interface, and has the driver stop it; lu_ni_stopped removes
 * it. An interface that never was up is removed at once.
 */
void m0_lnet_engine_ni_del(struct m0_lnet_engine *eng, struct m0_lnd_ni *ni);
unsigned m0_lnet_engine_nis_nr(const struct m0_lnet_engine *eng);
/** Returns the i-th NI, in the order of adding; NULL: no more. */
struct m0_lnd_ni *m0_lnet_engine_ni(const struct m0_lnet_engine *eng,
				    unsigned                     i);

/** Sets the time of the pass that begins. */
void m0_lnet_engine_time(struct m0_lnet_engine *eng, m0_time_t now);
/** Fires timers, and continues what waits. @return the next deadline. */
m0_time_t m0_lnet_engine_step(struct m0_lnet_engine *eng, m0_time_t now);

/* Operations. The owner has checked the arguments; outcomes are events. */
void m0_lnet_engine_me_attach(struct m0_lnet_engine *eng,
			      struct m0_lnet_me     *me);
void m0_lnet_engine_me_unlink(struct m0_lnet_engine *eng,
			      struct m0_lnet_me     *me);
/**
 * Posts UNLINK at once with -ENOENT (`me` is NULL, or has ended), -EPERM (the
 * ME is barred), -EBUSY (it has an MD, and is no queue), -ENOMEM or -ESHUTDOWN.
 */
void m0_lnet_engine_md_attach(struct m0_lnet_engine *eng, struct m0_lnet_me *me,
			      struct m0_lnet_md *md);
void m0_lnet_engine_md_bind(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
/** Does nothing if it was called before, or the MD has ended. */
void m0_lnet_engine_md_unlink(struct m0_lnet_engine *eng,
			      struct m0_lnet_md     *md);
void m0_lnet_engine_put(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg);
void m0_lnet_engine_get(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg);
void m0_lnet_engine_lazy_set(struct m0_lnet_engine *eng, uint32_t portal,
			     bool lazy);
void m0_lnet_engine_probe(struct m0_lnet_engine *eng,
			  struct m0_lnet_probe  *probe);
/** Ends a probe with -ECANCELED, by ho_probe_done; does nothing if it has ended. */
void m0_lnet_engine_probe_cancel(struct m0_lnet_engine *eng,
				 struct m0_lnet_probe  *probe);

int m0_lnet_engine_dist(const struct m0_lnet_engine *eng,
			const struct m0_lnet_nid *dst, struct m0_lnet_nid *src,
			uint32_t *order);
/** As m0_lnet_explain(): one block of m0_alloc. @param from  ANY: chosen. */
int m0_lnet_engine_explain(const struct m0_lnet_engine *eng,
			   const struct m0_lnet_nid    *dest,
			   const struct m0_lnet_nid    *from,
			   struct m0_lnet_explain     **ret);
/** Allocates and fills the information, one block of m0_alloc. */
int m0_lnet_engine_info(const struct m0_lnet_engine *eng,
			struct m0_lnet_info        **ret);
/** As m0_lnet_engine_info(), without peers. */
int m0_lnet_engine_info_head(const struct m0_lnet_engine *eng,
			     struct m0_lnet_info        **ret);
/**
 * As m0_lnet_peer_nis_get(), in steps as many as entries.
 * @retval -ENOENT
 */
int m0_lnet_engine_peer_nis(const struct m0_lnet_engine *eng,
			    const struct m0_lnet_nid    *after,
			    struct m0_lnet_peer_ni_row *ret, unsigned max);
/* Routes and routing, see m0/lnet_route.h. */
int m0_lnet_engine_route_add(struct m0_lnet_engine           *eng,
			     const struct m0_lnet_route_attr *attr);
/** @param gateway  ANY: by any. */
unsigned m0_lnet_engine_route_del(struct m0_lnet_engine *eng, uint32_t net,
				  const struct m0_lnet_nid *gateway);
/**
 * Copies routes in the order in which they were added. A route that is removed and
 * added again is another one, the newest.
 * @param order  in: only routes added after the one of this order are wanted, 0: all;
 *               out: the order of the last one that was copied.
 * @param max    0: the number of all is returned, and the order of the newest.
 */
unsigned m0_lnet_engine_route_get(const struct m0_lnet_engine *eng,
				  uint64_t                    *order,
				  struct m0_lnet_route_info *ret, unsigned max);
/** @retval -ESHUTDOWN */
int  m0_lnet_engine_routing_set(struct m0_lnet_engine *eng, bool on);
void m0_lnet_engine_pools_set(struct m0_lnet_engine *eng,
			      const uint32_t         max[M0_LNET_POOLS_NR]);
void m0_lnet_engine_routing_get(const struct m0_lnet_engine *eng,
				struct m0_lnet_routing_info *ret);

/* Rules of selection, see m0/lnet_udsp.h. */
/** @retval -EINVAL, -EALREADY, -ENOSPC, -ENOMEM */
int      m0_lnet_engine_udsp_add(struct m0_lnet_engine     *eng,
				 const struct m0_lnet_udsp *udsp);
int      m0_lnet_engine_udsp_del(struct m0_lnet_engine *eng, int32_t idx);
unsigned m0_lnet_engine_udsp_get(const struct m0_lnet_engine *eng,
				 uint32_t first, struct m0_lnet_udsp *ret,
				 unsigned max);
/** Returns true if all changes of the rules have been applied to all peers. */
bool m0_lnet_engine_udsp_is_settled(const struct m0_lnet_engine *eng);
/**
 * A part of m0_lnet_udsp_add_effect() and m0_lnet_udsp_del_effect(), in less than a
 * millisecond.
 * @param add    NULL: the rule at `del` is deleted.
 * @param after  the part before this one; NULL: this is the first one.
 * @param ret    one block of m0_alloc.
 * @retval -EAGAIN  the rules of the node are being applied, or the priorities of
 *                  its interfaces after a change are being found: call again.
 * @retval -ESTALE  the rules, interfaces or peers have changed since the part
 *                  before: begin again.
 */
int m0_lnet_engine_effect(struct m0_lnet_engine     *eng,
			  const struct m0_lnet_udsp *add, int32_t del,
			  const struct m0_lnet_effect *after,
			  struct m0_lnet_effect      **ret);

/* Tunables, health and peers, see m0/lnet_tune.h. */
int  m0_lnet_engine_tune(struct m0_lnet_engine *eng,
			 enum m0_lnet_tunable tunable, uint64_t value);
void m0_lnet_engine_tunables(const struct m0_lnet_engine *eng,
			     uint64_t ret[M0_LNET_TUNABLES_NR]);
/** Range of a tunable, for messages. */
void m0_lnet__tunable_range(enum m0_lnet_tunable tunable, uint64_t *min,
			    uint64_t *max);
/** @param nid  ANY: all. */
unsigned m0_lnet_engine_health_set(struct m0_lnet_engine    *eng,
				   enum m0_lnet_health_of    of,
				   const struct m0_lnet_nid *nid,
				   unsigned                  health);
int      m0_lnet_engine_peer_add(struct m0_lnet_engine    *eng,
				 const struct m0_lnet_nid *primary,
				 const struct m0_lnet_nid *nids, unsigned nids_nr,
				 bool multi_rail);
int      m0_lnet_engine_peer_del(struct m0_lnet_engine    *eng,
				 const struct m0_lnet_nid *primary,
				 const struct m0_lnet_nid *nids, unsigned nids_nr);

/* Fault rules, see m0/lnet_fault.h. The owner has checked the attributes. */
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
/** See the calls of m0/lnet_tap.h. */
struct m0_lnet_tap;
int m0_lnet_engine_tap_add(struct m0_lnet_engine *eng, struct m0_lnet_tap *tap);
int m0_lnet_engine_tap_del(struct m0_lnet_engine *eng, struct m0_lnet_tap *tap);

/**
 * Returns the live counters: the strand writes them, any thread may read them.
 */
const struct m0_lnet_stats *m0_lnet_engine_counters(
	const struct m0_lnet_engine *eng);
void m0_lnet_engine_stats(const struct m0_lnet_engine *eng,
			  struct m0_lnet_stats        *stats);
void m0_lnet_engine_stats_reset(struct m0_lnet_engine *eng);

#endif /* M0_SRC_LNET_ENGINE_H */

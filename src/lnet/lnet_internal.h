/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Declarations that the files of the engine share.
 *
 * The life of a message of this node: oper.c creates it, path.c and select.c
 * choose its path, send.c takes its credits and passes it to the driver, and
 * the completion of the driver returns through send.c to oper.c.
 *
 * The life of a message of a peer: recv.c decodes it, portal.c finds its MD,
 * the driver fills the MD, and recv.c posts the event (event.c) and sends the
 * answer (send.c).
 */
#ifndef M0_SRC_LNET_LNET_INTERNAL_H
#define M0_SRC_LNET_LNET_INTERNAL_H

#include "base/probes.h"
#include "lnet/engine.h"
#include "lnet/lnet_hooks.h"
#include "lnet/policy/policies.h"

enum m0_lnet_portal_kind {
	M0_LNET_PORTAL_NEW,
	M0_LNET_PORTAL_UNIQUE,
	M0_LNET_PORTAL_WILDCARD
};

struct m0_lnet_portal {
	enum m0_lnet_portal_kind lpt_kind;
	bool                     lpt_lazy;
	/** Number of times the portal has become lazy. A message that waits
	 * there waits for one of them. */
	uint64_t lpt_lazy_nr;
	/** Order of the last entry that was put before, and after, all
	 * others. */
	int64_t lpt_order_low;
	int64_t lpt_order_high;
	/** MEs with ignore bits and an MD that is not used up, in order. */
	struct m0_list lpt_wild;
	/** Such MEs without ignore bits: by match bits, in order among
	 * equals. */
	struct m0_hash lpt_exact;
	/** First ME of the match bits searched for last, which are most often
	 * searched for again. NULL: none. */
	struct m0_lnet_me *lpt_recent;
};

/** Words of m0_lnd_rx. */
enum {
	/** When the message came, for ho_is_behind; 0: not asked yet. */
	M0_LNET__RX_MARK,
	/** lpt_lazy_nr of the portal that it waits for; 0: it does not wait. */
	M0_LNET__RX_LAZY,
	/** Verdict of the fault rules; and until when they hold the message. */
	M0_LNET__RX_FAULTS,
	M0_LNET__RX_HELD,
	/** The time since when a message that is to be forwarded waits for a
	 * buffer; 0: it does not wait. */
	M0_LNET__RX_WAITS = M0_LNET__RX_LAZY
};

/** A local interface. */
struct m0_lnet_ni {
	struct m0_lnd_ni lni_lnd;
	/** The NID, as m0_lnet__nid4() encodes it. */
	uint64_t lni_nid4;
	/** The NID as text, for probes. */
	char                    lni_text[M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_engine  *lni_engine;
	struct m0_list_link     lni_link;
	int                     lni_credits;
	int                     lni_credits_low;
	struct m0_list          lni_queue;
	struct m0_lnet_traffic  lni_traffic;
	struct m0_lnet_failures lni_failures;
	struct m0_lnet_latency  lni_responses;
	unsigned                lni_msgs_nr;
	bool                    lni_is_up;
	bool                    lni_stopping;
	uint64_t                lni_used_nr;
	/** Health, 0 to M0_LNET_HEALTH_MAX; and whether the NI is reported down
	 * because it fell to 0 and is not at the maximum again. */
	unsigned lni_health;
	bool     lni_is_sick;
	/** Below the maximum: tries of the recovery without success, and the
	 * timer of the next one. */
	unsigned             lni_tries_nr;
	struct m0_lnet_timer lni_try_timer;
	/** Router buffers for each peer on this network; 0: as it has
	 * credits. */
	unsigned lni_buffer_credits;
	/** The time when a peer last pinged by this NI, and (of a router) whether
	 * the NI is reported down because nobody has for long. */
	m0_time_t                 lni_pinged_at;
	bool                      lni_is_silent;
	struct m0_lnet__ni_policy lni_policy;
};

/** One NID of a peer, found by hash. A peer has at least one. */
struct m0_lnet_lpni {
	struct m0_lnet_nid lpn_nid;
	/** The NID, as m0_lnet__nid4() encodes it. */
	uint64_t lpn_nid4;
	/** The NID as text, for probes. */
	char                 lpn_text[M0_LNET_NIDSTR_SIZE];
	struct m0_hash_link  lpn_hash;
	struct m0_lnet_peer *lpn_peer;
	struct m0_list_link  lpn_link;
	/** Credits: the limit of the network, those that are free, and the
	 * least of those so far. */
	unsigned                lpn_credits_max;
	int                     lpn_credits;
	int                     lpn_credits_low;
	struct m0_list          lpn_queue;
	uint64_t                lpn_queued_bytes;
	struct m0_lnet_traffic  lpn_traffic;
	struct m0_lnet_failures lpn_failures;
	/** References: messages that name this peer NI, and others. */
	unsigned lpn_refs_nr;
	/** References of answers to requests that arrived by this peer NI. */
	unsigned lpn_answers_nr;
	bool     lpn_known_up;
	bool     lpn_known_down;
	/** Number of times that the driver lost the peer NI while it was up. */
	uint64_t lpn_lost_nr;
	/** The peer reports that this NI is down; only a report changes it. */
	bool lpn_reported_down;
	/** Time when the driver lost it; 0 if it was not lost, or a message has
	 * arrived since. */
	m0_time_t lpn_lost_at;
	m0_time_t lpn_alive_at;
	/** A message from it will end the memos. */
	bool     lpn_is_awaited;
	uint64_t lpn_used_nr;
	/** The user names this NID as a gateway. */
	bool lpn_is_gateway;
	/** Health, 0 to M0_LNET_HEALTH_MAX. */
	unsigned lpn_health;
	/** Pings of the recovery since a message came, the timer of the next
	 * one, and the one that waits for its answer. */
	unsigned             lpn_tries_nr;
	struct m0_lnet_timer lpn_try_timer;
	struct m0_lnet_ask  *lpn_try;
	/** Router credits that messages which came by this peer NI have, the most
	 * so far, and router buffers of messages that go to it. */
	unsigned lpn_fwds_nr;
	unsigned lpn_fwds_max;
	unsigned lpn_fwds_to[M0_LNET_POOLS_NR];
	/** Number of the latter that are whole, and the time when one last left,
	 * or when the first of them became whole. */
	unsigned                    lpn_fwds_out_nr;
	m0_time_t                   lpn_fwds_left_at;
	struct m0_lnet__lpni_policy lpn_policy;
};

struct m0_lnet_peer {
	struct m0_lnet_nid  lpe_primary;
	struct m0_list      lpe_lpnis;
	struct m0_list_link lpe_link;
	/** enum m0_lnet_peer_state. */
	uint32_t lpe_state;
	/** Messages that wait for the discovery of this peer. */
	struct m0_list lpe_waiting;
	/** Sequence number of this node that the peer has seen, and the peer's
	 * own that this node has seen. */
	uint32_t lpe_seq_pushed;
	uint32_t lpe_seq_received;
	/** The peer knows the NIDs of all NIs, whatever their state is. */
	bool     lpe_knows_nids;
	uint32_t lpe_features;
	/** The NI from which all requests to a peer that is not Multi-Rail
	 * leave. */
	struct m0_lnet_ni *lpe_ni;
	/** State of discovery.c. */
	void    *lpe_discovery;
	uint64_t lpe_used_nr;
};

/** A path: an NI of this node, and a NID that it reaches, of the peer or of a
 * gateway. */
struct m0_lnet__path {
	struct m0_lnet_ni   *pth_ni;
	struct m0_lnet_lpni *pth_lpni;
	/** The route that is taken; NULL: none, the NID is the destination. */
	struct m0_lnet_route *pth_route;
	/** With a route: the NID of the destination; NULL: the one asked for. */
	struct m0_lnet_lpni *pth_dest;
};

/** Results of searches that the next search most often asks for again. They
 * hold for one generation of the topology. */
struct m0_lnet__cache {
	uint64_t lch_generation;
	/** The last sender; NULL: none. */
	struct m0_lnet_lpni *lch_sender;
	/** The path of the last request that named its NI; NULLs: none. */
	struct m0_lnet__path lch_path;
	/** memo.h; they also end when this number grows. */
	struct m0_lnet__memos *lch_memos;
	uint64_t               lch_changes_nr;
};

/** Messages, NIs and peer NIs that have failed, and are tried again. */
struct m0_lnet__sick {
	/** Messages that will be sent again. */
	struct m0_list lsk_again;
	/** Operations with lo_spread that were sent, and wait for their response. */
	struct m0_list lsk_spread;
	/** Number of NIs and peer NIs whose health is below the maximum. */
	unsigned lsk_nr;
};

struct m0_lnet_engine {
	struct m0_lnet_engine_cfg    le_cfg;
	const struct m0_lnet__hooks *le_hooks;
	struct m0_timerq             le_timers;
	/** Not later than the first expiry in le_timers. */
	m0_time_t              le_timers_at;
	m0_time_t              le_now;
	struct m0_lnet_portal *le_portals;
	struct m0_list         le_nis;
	/** Number of messages sent; the number at its last use orders the
	 * NIs. */
	uint64_t           le_used_nr;
	struct m0_lnet_ni *le_lo;
	struct m0_hash     le_lpnis;
	/** Counts changes of topology: an NI was added, went up or down, or is
	 * going; a peer NI moved to another peer, or goes; a peer must be
	 * discovered again. */
	uint64_t              le_generation;
	struct m0_lnet__cache le_cache;
	struct m0_list        le_peers;
	unsigned              le_peers_nr;
	/** Operations that wait for a response, by cookie. */
	struct m0_hash le_waiting;
	uint64_t       le_cookie_next;
	/** Number of large GETs in le_waiting, and the last one; NULL: its
	 * REPLY is not guessed. After a wrong guess le_unguessed_nr GETs are
	 * not guessed. */
	unsigned            le_gets_nr;
	unsigned            le_unguessed_nr;
	struct m0_lnet_msg *le_get;
	/** The application's MEs and MDs. */
	struct m0_list le_mes;
	struct m0_list le_mds;
	/** Number of these. */
	uint64_t                 le_busy_nr;
	struct m0_lnet__drop_log le_drop_log;
	bool                     le_shutdown;
	struct m0_lnet_stats     le_stats;
	/** State of ping.c: the information of this node, and the MDs that
	 * serve it. */
	void    *le_ping;
	uint32_t le_seq;
	/** State of discovery.c. */
	void *le_discovery;
	/** Messages that ended outside a driver's call; they complete in the
	 * next step. */
	struct m0_list       le_deferred;
	struct m0_lnet__sick le_sick;
	/** State of route.c: routes and gateways. */
	struct m0_lnet_routes *le_routes;
	/** State of the router: its buffers. */
	struct m0_lnet_router    *le_router;
	struct m0_lnet__policies *le_policies;
	/** Fault rules; NULL: none. */
	struct m0_lnet__faults *le_faults;
	/** Number of times that rules were deleted. */
	uint32_t le_fault_epoch;
	/** Expires when a delayed incoming message may continue, so that a step
	 * runs. */
	struct m0_lnet_timer le_held_timer;
	m0_time_t            le_held_at;
	/** Messages in M0_LNET_MSG_DELAYED. */
	struct m0_list le_delayed;
	/** Messages that fault rules fail as they leave; le_drops: a caller is
	 * completing them. */
	struct m0_list le_dropped;
	bool           le_drops;
};

/** Encodes a NID as a header of 72 bytes does; ANY if it cannot. */
static inline uint64_t m0_lnet__nid4(const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_is_nid4(nid) ? m0_lnet_nid_to4(nid)
					: M0_LNET_NID4_ANY;
}

/** Invalidates what is cached: the topology has changed. */
static inline void m0_lnet__topology_changed(struct m0_lnet_engine *eng)
{
	++eng->le_generation;
}

/** Returns the cache, emptied if the topology has changed since. */
static inline struct m0_lnet__cache *m0_lnet__cache_fresh(
	struct m0_lnet_engine *eng)
{
	struct m0_lnet__cache *cache = &eng->le_cache;

	if (M0_UNLIKELY(cache->lch_generation != eng->le_generation)) {
		cache->lch_generation = eng->le_generation;
		cache->lch_sender = NULL;
		M0_SET0(&cache->lch_path);
	}
	return cache;
}

/** Returns the peer NI of the last sender; NULL: not known. */
static inline struct m0_lnet_lpni *m0_lnet__cache_sender(
	const struct m0_lnet_engine *eng)
{
	const struct m0_lnet__cache *cache = &eng->le_cache;

	return M0_LIKELY(cache->lch_generation == eng->le_generation)
		       ? cache->lch_sender
		       : NULL;
}

/** Returns the NID of a peer NI as text, for probes; NULL is this node. */
static inline const char *m0_lnet__lpni_text(const struct m0_lnet_lpni *lpni)
{
	return lpni != NULL ? lpni->lpn_text : "0@lo";
}

static inline bool m0_lnet__peer_is_multi_rail(const struct m0_lnet_peer *peer)
{
	return (peer->lpe_state & M0_LNET_PEER_MULTI_RAIL) != 0;
}

static inline bool m0_lnet__peer_is_up_to_date(const struct m0_lnet_peer *peer)
{
	return (peer->lpe_state & M0_LNET_PEER_NIDS_UPTODATE) != 0;
}

/* -- base/event.c ---------------------------------------------------------- */

/** Gets a message with one reference from the owner; NULL: none is free now. */
struct m0_lnet_msg *m0_lnet__msg_new(struct m0_lnet_engine *eng);
/** Initialises all but msg_md and msg_op.mop_attr; one reference. */
void m0_lnet__msg_init(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg);
/** Counts a message of the owner, which has lec_msgs_max; m0_lnet__msg_put uncounts
 * it. */
static inline void m0_lnet__msg_count(struct m0_lnet_engine *eng)
{
	struct m0_lnet_stats *stats = &eng->le_stats;

	if (++stats->ls_msgs_alloc > stats->ls_msgs_max)
		stats->ls_msgs_max = stats->ls_msgs_alloc;
}
void m0_lnet__msg_get(struct m0_lnet_msg *msg);
/** Releases a reference. The last one returns the message to the owner. */
void m0_lnet__msg_put(struct m0_lnet_msg *msg);
/**
 * Fills in target, source, initiator and sender of `hdr`, which arrived by
 * `hop`.
 */
void m0_lnet__event_fill(struct m0_lnet_event     *ev,
			 const struct m0_lnet_hdr *hdr,
			 const struct m0_lnet_nid *primary,
			 const struct m0_lnet_nid *hop);
/**
 * Posts the event, which is about `msg` (NULL: none), to the EQ of the MD, or
 * calls md_done. After an event with ev_unlinked the caller does not touch the
 * MD.
 */
void m0_lnet__event_post(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
			 struct m0_lnet_event *ev, struct m0_lnet_msg *msg);

/* -- md.c ------------------------------------------------------------------ */

/** Returns true for MDs of the engine itself, which the owner does not know. */
static inline bool m0_lnet__md_is_own(const struct m0_lnet_md *md)
{
	return md->md_done != NULL;
}
/** Sets the payload of `msg` to `bytes` of the MD, from msg_md_offset on. */
static inline void m0_lnet__payload_set(struct m0_lnet_msg      *msg,
					const struct m0_lnet_md *md,
					m0_bcount_t              bytes)
{
	M0_PRE_EX(msg->msg_md_offset + bytes <= md->md_attr.mda_length ||
		  bytes == 0);
	msg->msg_payload.lpy_vec = md->md_attr.mda_vec;
	msg->msg_payload.lpy_region = 0;
	msg->msg_payload.lpy_offset = md->md_attr.mda_vec_offset +
				      msg->msg_md_offset;
	msg->msg_payload.lpy_bytes = bytes;
}
/** Initialises an MD from md_attr, without an ME. */
void m0_lnet__md_init(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
/** Ends an idle MD with an UNLINK event. */
void m0_lnet__md_end(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		     int status);
/** Links a message to its MD, and counts it in md_busy_nr. */
void m0_lnet__md_get(struct m0_lnet_md *md, struct m0_lnet_msg *msg);
/**
 * Posts `ev` (NULL: no event) on the MD of `msg`. The caller has filled in
 * ev_type, ev_status and the fields of the message.
 * @param last  the message does not use the MD any more: its reference to the
 *              MD is released, and the caller's reference to the message. If
 *              that ends the MD, this event is the last of the MD.
 */
void m0_lnet__md_event(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg,
		       struct m0_lnet_event *ev, bool last);
/** Returns true if the threshold is 0, or MAX_SIZE does not fit any more. */
bool m0_lnet__md_is_exhausted(const struct m0_lnet_md *md);
/**
 * Handles an MD that may be used up after an operation took threshold or
 * offset.
 */
void m0_lnet__md_used(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
/** Returns the status of an operation that is cut off. */
int m0_lnet__abort_status(const struct m0_lnet_engine *eng);

/* -- portal.c -------------------------------------------------------------- */

enum m0_lnet_match {
	M0_LNET_MATCH_OK,
	M0_LNET_MATCH_NONE,
	/** Only an entry that is LAST matches. */
	M0_LNET_MATCH_LAST,
	M0_LNET_MATCH_TOO_BIG,
	/** The EQ takes no more incoming messages. */
	M0_LNET_MATCH_NO_ROOM,
	/** A matching entry may be on its way to the engine. */
	M0_LNET_MATCH_LATER
};

/**
 * Finds the MD for a PUT or GET (msg_hdr, mrx_primary) and reserves the space
 * in it: msg_md, msg_md_offset, msg_payload, threshold. Detaches an MD that is
 * used up by that.
 * @param last_too  also match an entry that is LAST.
 */
enum m0_lnet_match m0_lnet__portal_match(struct m0_lnet_engine *eng,
					 struct m0_lnet_msg    *msg,
					 bool                   last_too);
/**
 * Returns true if a PUT that matches no entry of the portal waits for one.
 * @param since  0 if the message has not waited yet, then the period of the
 *               portal: a message does not wait beyond the end of the lazy
 *               period in which it came.
 */
bool m0_lnet__portal_is_lazy(const struct m0_lnet_engine *eng, uint32_t portal,
			     uint64_t *since);
/** Stops searching an entry whose MD is used up. */
void m0_lnet__me_hide(struct m0_lnet_engine *eng, struct m0_lnet_me *me);
/** Takes the MD off its ME. The ME ends too if its flags say so. */
void m0_lnet__md_detach(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
int  m0_lnet__portals_init(struct m0_lnet_engine *eng);
void m0_lnet__portals_fini(struct m0_lnet_engine *eng);

/* -- recv.c ---------------------------------------------------------------- */

/** lu_rx_begin and lu_rx_done. */
int  m0_lnet__rx_begin(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
		       const void *bytes, bool large);
void m0_lnet__rx_done(struct m0_lnd_rx *rx, int status,
		      enum m0_lnd_health health);
/** lgu_guess and lgu_guessed, for the REPLY to the only large GET. */
void m0_lnet__rx_guess(struct m0_lnd_ni *ni, const struct m0_lnd_rx *rx,
		       struct m0_lnd_payload *ret);
bool m0_lnet__rx_guessed(struct m0_lnd_ni *ni, const void *bytes, bool large);
/** Ends the arrival of `msg`; the driver discards the rest of the payload. */
void m0_lnet__rx_cut(struct m0_lnet_msg *msg, int status);

/* -- oper.c ---------------------------------------------------------------- */

/** lhk_sent and lhk_wait_end. */
void m0_lnet__sent(struct m0_lnet_msg *msg, int status);
void m0_lnet__wait_end(struct m0_lnet_msg *msg);
/** Finds the operation that waits for this ACK or REPLY; NULL: none does. */
struct m0_lnet_msg *m0_lnet__response_find(struct m0_lnet_engine    *eng,
					   const struct m0_lnet_wmd *wmd);
/** Removes the operation from le_waiting. */
void m0_lnet__response_drop(struct m0_lnet_msg *msg);
/** Prepares the event of a response from the fields of the operation. */
struct m0_lnet_event *m0_lnet__response_event(struct m0_lnet_msg *msg);
/**
 * Ends the wait for a response, or its arrival.
 * @param ev  the event to post; NULL: none.
 */
void m0_lnet__response_end(struct m0_lnet_msg *msg, struct m0_lnet_event *ev);
/** Posts the event of a response that failed with this status. */
void m0_lnet__response_fail(struct m0_lnet_msg *msg, int status);

/* -- abort.c --------------------------------------------------------------- */

/** lhk_abort. */
void m0_lnet__op_abort(struct m0_lnet_msg *msg);

/* -- path.c ---------------------------------------------------------------- */

/** Releases the references to NI and peer NI. */
void m0_lnet__path_put(struct m0_lnet_msg *msg);
/** Returns true if the destination is a NID of this node. */
bool m0_lnet__path_is_lo(const struct m0_lnet_msg *msg);
/** Sets the path to this node itself. @retval -ENETDOWN */
int m0_lnet__path_lo(struct m0_lnet_msg *msg);
/**
 * Sets the path of an answer, which leaves where the request came in: to the
 * NID that asked if it is on the net of the NI, else to the hop that brought it.
 * @retval -ENETDOWN, -ENOBUFS
 */
int m0_lnet__path_answer(struct m0_lnet_msg *msg);
/** Sets the path of a message that is forwarded.
 * @retval -EHOSTUNREACH, -ENOBUFS */
int m0_lnet__path_forward(struct m0_lnet_msg *msg);
/** Uses the path of the last request; false: it does not fit this one. */
bool m0_lnet__path_again(struct m0_lnet_msg *msg);
/** Finds or makes the peer NI of the destination, mtx_lpni.
 * @retval -EHOSTUNREACH, -ENOBUFS */
int m0_lnet__path_peer(struct m0_lnet_msg *msg);
/**
 * Sets the path of a request to the peer of mtx_lpni.
 * @retval -EINVAL        no NI has the NID that the operation names.
 * @retval -ENETDOWN      this NI is not usable.
 * @retval -EHOSTUNREACH  no NI reaches the peer.
 */
int m0_lnet__path_request(struct m0_lnet_msg *msg);

/* -- send.c ---------------------------------------------------------------- */

/**
 * Sends msg_hdr (type, pids, and lhd_dest_nid as the operation names it) with
 * lhd_payload_bytes of msg_payload, which are all of it or none. Chooses NI and
 * peer NI, and with them the NIDs of the header; waits for discovery and
 * credits.
 */
void m0_lnet__send(struct m0_lnet_msg *msg);
/** Completes the message early with -ECANCELED, if it has not started to leave. */
void m0_lnet__send_cancel(struct m0_lnet_msg *msg);
/** lu_tx_header, lu_tx_done and lu_peer_down. */
size_t m0_lnet__tx_header(struct m0_lnd_tx *tx, bool large,
			  uint8_t buf[M0_LND_HDR_BYTES_MAX]);
void   m0_lnet__tx_done(struct m0_lnd_tx *tx, int status,
			enum m0_lnd_health health);
void   m0_lnet__peer_down(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid,
			  uint32_t pid, int status);
/** Continues a message that has waited for a discovery, or (status) fails it. */
void m0_lnet__send_resume(struct m0_lnet_msg *msg, int status);
/**
 * Completes the messages in le_deferred. Each step calls it after the timers;
 * any call, up or down, may add more.
 */
void m0_lnet__send_step(struct m0_lnet_engine *eng);
/** Fails the messages that wait to leave by an NI that goes out of service. */
void m0_lnet__send_ni_flush(struct m0_lnet_ni *ni, int status);

/* -- fault_do.c: only with fault rules ------------------------------------- */

struct m0_lnet__fault_verdict;

/** Removes all fault rules. */
void m0_lnet__faults_off(struct m0_lnet_engine *eng);
/**
 * Returns the acts of the fault rules on a message that arrives, as bits of
 * enum m0_lnet__fault_act; with DELAY the message is put off. Closes
 * connections itself.
 */
unsigned m0_lnet__fault_in(struct m0_lnet_ni *ni, struct m0_lnd_rx *rx,
			   const struct m0_lnet_hdr *hdr);
/** Inverts a bit of a copy of the header. */
void m0_lnet__fault_header(const struct m0_lnd_rx *rx, uint8_t *bytes,
			   size_t nr);
/**
 * Marks a message that the engine has accepted: a bit of its payload is to be
 * inverted when the payload is there. The second call does that.
 */
void m0_lnet__fault_payload_mark(struct m0_lnd_rx *rx);
void m0_lnet__fault_payload(struct m0_lnet_msg *msg);
/**
 * Returns the acts of the fault rules on a message that leaves: DROP and DELAY
 * are the caller's; the rest is done here, or later.
 */
void m0_lnet__fault_out(struct m0_lnet_msg            *msg,
			struct m0_lnet__fault_verdict *ret);
/**
 * Handles the completion by the driver of a message that has msg_faults.
 * @return true: send the message once more.
 */
bool m0_lnet__fault_again(struct m0_lnet_msg *msg, int *status);

/* -- ni_life.c ------------------------------------------------------------- */

extern const struct m0_lnd_up_ops m0_lnet__up_ops;

/* -- ni.c ------------------------------------------------------------------ */

/** Finds the NI of this node that has this NID; NULL: none. */
struct m0_lnet_ni *m0_lnet__ni_find(const struct m0_lnet_engine *eng,
				    const struct m0_lnet_nid    *nid);
/** Returns true if the NI reaches this NID without a router. */
bool m0_lnet__ni_fits(const struct m0_lnet_ni  *ni,
		      const struct m0_lnet_nid *nid);
/** Returns true between ni_up and ni_del. */
bool m0_lnet__ni_is_usable(const struct m0_lnet_ni *ni);

/* -- peer.c ---------------------------------------------------------------- */

/**
 * Finds or creates a peer NI, and takes a reference. NULL: lec_peers_max, and
 * no peer is idle; or no memory.
 */
struct m0_lnet_lpni *m0_lnet__lpni_get(struct m0_lnet_engine    *eng,
				       const struct m0_lnet_nid *nid);
/** Finds a peer NI; NULL: not known. Takes no reference. */
struct m0_lnet_lpni *m0_lnet__lpni_find(const struct m0_lnet_engine *eng,
					const struct m0_lnet_nid    *nid);
/** Returns true if the user names a NID of the peer as a gateway. */
bool m0_lnet__peer_is_gateway(const struct m0_lnet_peer *peer);
/**
 * Returns true if another NID of the peer is preferable: the peer reports this
 * one down, or the driver has lost it recently.
 */
bool m0_lnet__lpni_is_down(const struct m0_lnet_engine *eng,
			   const struct m0_lnet_lpni   *lpni);
/** Takes another reference. */
void m0_lnet__lpni_hold(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni);
void m0_lnet__lpni_put(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni);
/** Notes that a message has arrived by this peer NI. */
static inline void m0_lnet__lpni_received(struct m0_lnet_engine *eng,
					  struct m0_lnet_lpni   *lpni)
{
	eng->le_cache.lch_changes_nr += lpni->lpn_is_awaited;
	lpni->lpn_is_awaited = false;
	lpni->lpn_alive_at = eng->le_now;
	lpni->lpn_known_up = true;
	lpni->lpn_known_down = false;
	lpni->lpn_lost_at = 0;
}
/**
 * Notes that a message has arrived by `hop`.
 * @return its peer NI; NULL: `0@lo`, or the tables are full.
 */
struct m0_lnet_lpni *m0_lnet__hop_received(struct m0_lnet_engine    *eng,
					   const struct m0_lnet_nid *hop);
/**
 * Notes that a message of `nid` has arrived by `hop`. Sets *primary.
 * @return the peer NI of the hop, for counting; NULL: `0@lo`, or the tables are
 *             full.
 */
struct m0_lnet_lpni *m0_lnet__peer_received(struct m0_lnet_engine    *eng,
					    const struct m0_lnet_nid *nid,
					    const struct m0_lnet_nid *hop,
					    struct m0_lnet_nid       *primary);
/**
 * Learns NIDs and features of a peer from its ping information.
 * @retval -EPROTO, -ENOMEM, -ENOSPC
 */
int m0_lnet__peer_learn(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni,
			const struct m0_lnet_ping_info *info);
/**
 * Marks the knowledge about a peer as old: the next request discovers the peer
 * again.
 */
void m0_lnet__peer_outdate(struct m0_lnet_engine *eng,
			   struct m0_lnet_peer   *peer);
/** Returns true if both NIDs belong to one known peer. */
bool m0_lnet__peer_same(const struct m0_lnet_engine *eng,
			const struct m0_lnet_nid    *left,
			const struct m0_lnet_nid    *right);
/** Forgets the NI as the one that any peer is always reached from. */
void m0_lnet__peers_ni_new(struct m0_lnet_engine *eng);
void m0_lnet__peers_ni_gone(struct m0_lnet_engine   *eng,
			    const struct m0_lnet_ni *ni);
int  m0_lnet__peers_init(struct m0_lnet_engine *eng);
void m0_lnet__peers_fini(struct m0_lnet_engine *eng);

/**
 * Counts an answer to a request that arrived by `hop`, from its start to its
 * end.
 */
void m0_lnet__answer_begin(struct m0_lnet_msg       *msg,
			   const struct m0_lnet_nid *hop);
void m0_lnet__answer_end(struct m0_lnet_msg *msg);
/**
 * Returns true if so many answers to the peer NI are on their way that its
 * requests must wait: as many as messages are left. No peer, not even one that
 * never reads, can take all messages, and the more peers ask, the fewer each
 * gets.
 */
bool m0_lnet__lpni_is_over_quota(const struct m0_lnet_engine *eng,
				 const struct m0_lnet_lpni   *lpni);

/* -- ping.c, discovery.c --------------------------------------------------- */

/** Match bits of pings and pushes, on the reserved portal. */
#define M0_LNET__PING_BITS (UINT64_C(1) << 63)

/*
 * The engine's own MDs have md_done, and its MEs are those of portal 0. They
 * are not counted in le_busy_nr, the owner does not know them, and
 * m0_lnet_engine_shutdown does not end them. md_done replaces ho_event; it is
 * called at once, and the event counts as taken. With ev_unlinked the memory of
 * the MD is its owner's again.
 */

int  m0_lnet__ping_init(struct m0_lnet_engine *eng);
void m0_lnet__ping_fini(struct m0_lnet_engine *eng);
/**
 * The information of this node has changed: takes the next sequence number.
 * @return true: there is new information to push; false: no memory.
 */
bool m0_lnet__ping_changed(struct m0_lnet_engine *eng);
/** Returns the feature bits of this node. */
uint32_t m0_lnet__ping_features(const struct m0_lnet_engine *eng);
/** Returns the encoded information of this node, valid until the next change. */
size_t m0_lnet__ping_bytes(const struct m0_lnet_engine *eng, const void **ret);
/**
 * Frees one of the buffers for pushes, when a push has arrived and all buffers
 * have a push that is still arriving. If the new one were dropped instead, one
 * incomplete push for each buffer would exclude all others.
 * @return false: none could be freed.
 */
bool m0_lnet__ping_sink_cut(struct m0_lnet_engine *eng);
/** lhk_pushed. */
void m0_lnet__discovery_pushed(struct m0_lnet_engine    *eng,
			       const struct m0_lnet_nid *from,
			       const void *bytes, size_t nr);
/** Pushes the changed information of this node to the peers that know it. */
void m0_lnet__discovery_renew(struct m0_lnet_engine *eng);
/** lhk_peer_lost. */
void m0_lnet__discovery_lost(struct m0_lnet_engine     *eng,
			     const struct m0_lnet_lpni *lpni, int status);
/** lhk_discovery_needed. */
bool m0_lnet__discovery_needed(struct m0_lnet_engine    *eng,
			       struct m0_lnet_peer      *peer,
			       const struct m0_lnet_msg *msg);
int  m0_lnet__discovery_init(struct m0_lnet_engine *eng);
/** lhk_gateway_new, lhk_gateway_lost, of checker.c. */
void m0_lnet__gateway_new(struct m0_lnet_engine  *eng,
			  struct m0_lnet_gateway *gw);
void m0_lnet__gateway_lost(struct m0_lnet_engine  *eng,
			   struct m0_lnet_gateway *gw);
/** lhk_route_gone, of checker.c. */
void m0_lnet__route_gone(struct m0_lnet_route *route);
/** Ends the checks. */
void m0_lnet__checker_stop(struct m0_lnet_engine *eng);
/** lhk_ni_sick and lhk_lpni_sick, of recovery.c. */
void m0_lnet__recovery_ni(struct m0_lnet_ni *ni);
void m0_lnet__recovery_lpni(struct m0_lnet_engine *eng,
			    struct m0_lnet_lpni   *lpni);
/** Ends the recovery. */
void m0_lnet__recovery_stop(struct m0_lnet_engine *eng);
/** Pushes the state of this node's NIs to peers if that has changed. */
void m0_lnet__nis_publish(struct m0_lnet_engine *eng);
/** lhk_pinged, of routing.c. */
void m0_lnet__routing_pinged(struct m0_lnet_engine *eng, struct m0_lnet_ni *ni);
/** Ends routing at once: the engine shuts down. */
void m0_lnet__routing_stop(struct m0_lnet_engine *eng);
/** Ends all discoveries and probes with -ESHUTDOWN. */
void m0_lnet__discovery_stop(struct m0_lnet_engine *eng);
void m0_lnet__discovery_fini(struct m0_lnet_engine *eng);
/** lhk_peer_forget. */
void m0_lnet__discovery_forget(struct m0_lnet_engine *eng,
			       struct m0_lnet_peer   *peer);

/* -- base/invariant.c ------------------------------------------------------ */

/** The states that follow each state, as bits. */
extern const uint16_t m0_lnet__msg_next[M0_LNET_MSG_STATES_NR];
/** Changes the state of the message, as the table allows. */
static inline void m0_lnet__msg_state_set(struct m0_lnet_msg    *msg,
					  enum m0_lnet_msg_state state)
{
	M0_PRE_EX((m0_lnet__msg_next[msg->msg_state] & 1U << state) != 0);
	msg->msg_state = state;
}

bool m0_lnet__msg_invariant(const struct m0_lnet_msg *msg);
bool m0_lnet__md_invariant(const struct m0_lnet_md *md);
bool m0_lnet__ni_invariant(const struct m0_lnet_ni *ni);
bool m0_lnet__lpni_invariant(const struct m0_lnet_lpni *lpni);
bool m0_lnet__peer_invariant(const struct m0_lnet_peer *peer);
bool m0_lnet__engine_invariant(const struct m0_lnet_engine *eng);
/** Checks the engine with all NIs, peers and MDs. Only with M0_DEBUG_CHECKS. */
bool m0_lnet__tables_invariant(const struct m0_lnet_engine *eng);

/* -- base/clock.c ---------------------------------------------------------- */

void m0_lnet__timer_arm(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
			m0_time_t deadline);
void m0_lnet__timer_cancel(struct m0_lnet_engine *eng,
			   struct m0_lnet_timer  *timer);
/** Fires the timers that are due. */
void m0_lnet__timers_expire(struct m0_lnet_engine *eng, m0_time_t now);

/* -- base/count.c ---------------------------------------------------------- */

/** Counts a failure by its class; M0_LND_OK is not counted. */
void m0_lnet__failure_count(struct m0_lnet_failures *lf,
			    enum m0_lnd_health       health);
/** Returns the name of a type of message, for probes. */
const char *m0_lnet__type_name(uint32_t type);
/** Count one message of `type`, and one duration. */
void m0_lnet__traffic_count(struct m0_lnet_msg_counts *counts, uint32_t type);
void m0_lnet__latency_count(struct m0_lnet_latency *latency, m0_time_t ns);

#endif /* M0_SRC_LNET_LNET_INTERNAL_H */

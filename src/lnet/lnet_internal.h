/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the files of the engine share.
 *
 * A message of ours: oper.c makes it, send.c finds its way (peer.c, discovery.c)
 * and its credits, the driver takes it, send.c hears that it has left and tells
 * oper.c. A message of a peer: recv.c decodes it, portal.c finds its MD, the
 * driver fills that, recv.c posts the event (event.c) and answers (send.c).
 */
#ifndef M0_SRC_LNET_LNET_INTERNAL_H
#define M0_SRC_LNET_LNET_INTERNAL_H

#include "base/probes.h"
#include "lnet/engine.h"

enum m0_lnet_portal_kind {
	M0_LNET_PORTAL_NEW,
	M0_LNET_PORTAL_UNIQUE,
	M0_LNET_PORTAL_WILDCARD
};

struct m0_lnet_portal {
	enum m0_lnet_portal_kind lpt_kind;
	bool                     lpt_lazy;
	/** How often it has become lazy: what waits does so since one of them. */
	uint64_t lpt_lazy_nr;
	/** Places given to the last entry put before, and after, all others. */
	int64_t lpt_order_low;
	int64_t lpt_order_high;
	/** MEs with ignore bits that have an MD not used up, in order. */
	struct m0_list lpt_wild;
	/** Such MEs without: by match bits, in order among equals. */
	struct m0_hash lpt_exact;
	/** The first of those of some match bits, asked for last: most often
	 * it is asked for again. NULL: none. */
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
	M0_LNET__RX_HELD
};

/** A local interface. */
struct m0_lnet_ni {
	struct m0_lnd_ni lni_lnd;
	/** Its NID as m0_lnet__nid4() says. */
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
	unsigned                lni_msgs_nr;
	bool                    lni_is_up;
	bool                    lni_stopping;
	uint64_t                lni_used_nr;
};

/** One NID of a peer. Found by hash; at least one for each peer. */
struct m0_lnet_lpni {
	struct m0_lnet_nid lpn_nid;
	/** As m0_lnet__nid4() says. */
	uint64_t lpn_nid4;
	/** The NID as text, for probes. */
	char                    lpn_text[M0_LNET_NIDSTR_SIZE];
	struct m0_hash_link     lpn_hash;
	struct m0_lnet_peer    *lpn_peer;
	struct m0_list_link     lpn_link;
	int                     lpn_credits;
	int                     lpn_credits_low;
	struct m0_list          lpn_queue;
	uint64_t                lpn_queued_bytes;
	struct m0_lnet_traffic  lpn_traffic;
	struct m0_lnet_failures lpn_failures;
	/** Messages that name it. */
	unsigned lpn_refs_nr;
	/** Of them those that answer what came by it. */
	unsigned lpn_answers_nr;
	bool     lpn_known_up;
	bool     lpn_known_down;
	/** Times that it was up and the driver lost it. */
	uint64_t lpn_lost_nr;
	/** Its node says so. */
	bool lpn_told_down;
	/** When the driver lost it, unless it was heard again; 0. */
	m0_time_t lpn_lost_at;
	m0_time_t lpn_heard_at;
	uint64_t  lpn_used_nr;
};

struct m0_lnet_peer {
	struct m0_lnet_nid  lpe_primary;
	struct m0_list      lpe_lpnis;
	struct m0_list_link lpe_link;
	/** enum m0_lnet_peer_state. */
	uint32_t lpe_state;
	/** Messages that wait for its discovery. */
	struct m0_list lpe_waiting;
	/** Of ours that it has seen, of its own that we have. */
	uint32_t lpe_seq_told;
	uint32_t lpe_seq_heard;
	uint32_t lpe_features;
	/** A peer that is not Multi-Rail is always sent to from one NI. */
	struct m0_lnet_ni *lpe_ni;
	/** discovery.c's. */
	void    *lpe_discovery;
	uint64_t lpe_used_nr;
};

/**
 * Calls from the lower files of the engine to the upper ones: from entries and
 * peers to operations, and from all of these to discovery. engine.c fills it.
 */
struct m0_lnet__hooks {
	/** A message that was given to m0_lnet__send has left, or never will.
	 * Exactly once, never within m0_lnet__send. */
	void (*lhk_sent)(struct m0_lnet_msg *msg, int status);
	/** The MD of the message is used up, so nothing waits for its
	 * response. Pre: msg_op.mop_waits. */
	void (*lhk_wait_end)(struct m0_lnet_msg *msg);
	/** The MD of the message is being unlinked: end what can be ended. */
	void (*lhk_abort)(struct m0_lnet_msg *msg);
	/** Returns true if a request to this peer must wait for its discovery,
	 * which it starts or joins. */
	bool (*lhk_discovery_needed)(struct m0_lnet_engine    *eng,
				     struct m0_lnet_peer      *peer,
				     const struct m0_lnet_msg *msg);
	/** The driver has lost this NID: no answer comes, and what is known of
	 * the peer may be old. */
	void (*lhk_peer_lost)(struct m0_lnet_engine     *eng,
			      const struct m0_lnet_lpni *lpni, int status);
	/** The peer is about to be freed. */
	void (*lhk_peer_forget)(struct m0_lnet_engine *eng,
				struct m0_lnet_peer   *peer);
	/** A push has come; `nr` bytes of it are there. */
	void (*lhk_pushed)(struct m0_lnet_engine    *eng,
			   const struct m0_lnet_nid *from, const void *bytes,
			   size_t nr);
};

/** A path: an NI of this node, and a NID of a peer that it reaches. */
struct m0_lnet__path {
	struct m0_lnet_ni   *pth_ni;
	struct m0_lnet_lpni *pth_lpni;
};

/** Results of searches that the next search most often asks for again. They
 * hold for one generation of the topology. */
struct m0_lnet__cache {
	uint64_t lch_generation;
	/** The last sender; NULL: none. */
	struct m0_lnet_lpni *lch_heard;
	/** The path of the last request that named its NI; NULLs: none. */
	struct m0_lnet__path lch_path;
};

struct m0_lnet_engine {
	struct m0_lnet_engine_cfg    le_cfg;
	const struct m0_lnet__hooks *le_hooks;
	struct m0_timerq             le_timers;
	/** Not later than the first of them expires. */
	m0_time_t              le_timers_at;
	m0_time_t              le_now;
	struct m0_lnet_portal *le_portals;
	struct m0_list         le_nis;
	/** Messages sent by them: when an NI was used last. */
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
	/** Messages of ours that wait for a response, by cookie. */
	struct m0_hash le_waiting;
	uint64_t       le_cookie_next;
	/** Of them large GETs, and the last; NULL: its REPLY is not guessed. So
	 * many to come are not either, after a wrong guess. */
	unsigned            le_gets_nr;
	unsigned            le_unguessed_nr;
	struct m0_lnet_msg *le_get;
	/** The application's MEs and MDs. */
	struct m0_list le_mes;
	struct m0_list le_mds;
	/** Counts these, and events not taken. */
	uint64_t le_busy_nr;
	/** When a peer's errors may be logged again, and how many were not. */
	m0_time_t            le_grumble_at;
	uint64_t             le_grumble_nr;
	bool                 le_shutdown;
	struct m0_lnet_stats le_stats;
	/** ping.c's: our own information and what answers with it. */
	void    *le_ping;
	uint32_t le_seq;
	/** discovery.c's. */
	void *le_discovery;
	/** Sent outside of a driver's call: at the next step. */
	struct m0_list le_deferred;
	/** Fault rules; NULL: there are none. */
	struct m0_lnet__faults *le_faults;
	/** Rules were taken away so often. */
	uint32_t le_fault_epoch;
	/** When a message that comes in, and is held up, may go on: a step. */
	struct m0_lnet_timer le_held_timer;
	m0_time_t            le_held_at;
	/** Messages of M0_LNET_MSG_DELAYED. */
	struct m0_list le_delayed;
	/** Messages that rules have fail where they leave, and somebody is at
	 * it. */
	struct m0_list le_dropped;
	bool           le_drops;
};

/** A NID as a header of 72 bytes has it; ANY: it cannot have it. */
static inline uint64_t m0_lnet__nid4(const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_is_nid4(nid) ? m0_lnet_nid_to4(nid)
					: M0_LNET_NID4_ANY;
}

/** The topology has changed: nothing that was cached holds. */
static inline void m0_lnet__topology_changed(struct m0_lnet_engine *eng)
{
	++eng->le_generation;
}

/** Returns the cache, emptied if the topology has changed since. */
static inline struct m0_lnet__cache *m0_lnet__cache_fresh(
	struct m0_lnet_engine *eng)
{
	struct m0_lnet__cache *cache = &eng->le_cache;

	if (M0_UNLIKELY(cache->lch_generation != eng->le_generation))
		*cache = (struct m0_lnet__cache){ .lch_generation =
							  eng->le_generation };
	return cache;
}

/** Returns the peer NI of the last sender; NULL: not known. */
static inline struct m0_lnet_lpni *m0_lnet__cache_heard(
	const struct m0_lnet_engine *eng)
{
	const struct m0_lnet__cache *cache = &eng->le_cache;

	return M0_LIKELY(cache->lch_generation == eng->le_generation)
		       ? cache->lch_heard
		       : NULL;
}

/** The NID of a peer NI, for probes; NULL is this node itself. */
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

/* -- event.c --------------------------------------------------------------- */

/** A message of the home's, with one reference. NULL: not now. */
struct m0_lnet_msg *m0_lnet__msg_new(struct m0_lnet_engine *eng);
/** Initialises all but msg_md and msg_op.mop_attr; one reference. */
void m0_lnet__msg_init(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg);
void m0_lnet__msg_get(struct m0_lnet_msg *msg);
/** The last one returns it to the home. */
void m0_lnet__msg_put(struct m0_lnet_msg *msg);
/** Fills in who sent `hdr`, which came by `hop`, to whom. */
void m0_lnet__event_fill(struct m0_lnet_event     *ev,
			 const struct m0_lnet_hdr *hdr,
			 const struct m0_lnet_nid *primary,
			 const struct m0_lnet_nid *hop);
/**
 * Has the event told by the MD's queue, or its md_done. A reference to `msg`
 * goes with it until the event was taken; NULL: none. With ev_unlinked the MD
 * is not to be touched any more.
 */
void m0_lnet__event_post(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
			 struct m0_lnet_event_node *node,
			 struct m0_lnet_msg        *msg);

/* -- md.c ------------------------------------------------------------------ */

/** Is it the engine's own, of which the home knows nothing? */
static inline bool m0_lnet__md_is_own(const struct m0_lnet_md *md)
{
	return md->md_done != NULL;
}
/** Has the payload of `msg` be `bytes` of the MD, from msg_md_offset on. */
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
/** Begins its life, on `me` or (NULL) bound. */
void m0_lnet__md_init(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
/** Ends an idle one: UNLINK. */
void m0_lnet__md_end(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		     int status);
/** Links a message to its MD and counts it busy. */
void m0_lnet__md_get(struct m0_lnet_md *md, struct m0_lnet_msg *msg);
/**
 * Posts `node` (NULL: none) on the MD of `msg`; ev_type, ev_status and what the
 * message says are filled in.
 * @param last  the message has no more to do with the MD, and its reference
 *              goes. If the MD ends by it, this is the MD's last event.
 */
void m0_lnet__md_event(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg,
		       struct m0_lnet_event_node *node, bool last);
/** Is it used up: threshold 0, or MAX_SIZE without room? */
bool m0_lnet__md_is_exhausted(const struct m0_lnet_md *md);
/** An operation was begun on it (threshold, offset): is it used up by that? */
void m0_lnet__md_used(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
/** What an operation that is cut off ends with. */
int m0_lnet__abort_status(const struct m0_lnet_engine *eng);

/* -- portal.c -------------------------------------------------------------- */

enum m0_lnet_match {
	M0_LNET_MATCH_OK,
	M0_LNET_MATCH_NONE,
	/** Only an entry that is LAST. */
	M0_LNET_MATCH_LAST,
	M0_LNET_MATCH_TOO_BIG,
	/** The queue takes no more incoming messages. */
	M0_LNET_MATCH_NO_ROOM,
	/** One may be coming. */
	M0_LNET_MATCH_LATER
};

/**
 * Finds the MD for a PUT or GET (msg_hdr, msg_rx.mrx_primary) and takes the place in
 * it: msg_md, msg_md_offset, msg_payload, threshold; detaches what is used up.
 * @param last_too  an entry that is LAST counts, too.
 */
enum m0_lnet_match m0_lnet__portal_match(struct m0_lnet_engine *eng,
					 struct m0_lnet_msg    *msg,
					 bool                   last_too);
/**
 * Does a PUT that matches nothing there wait?
 * @param since  0 if it has not waited yet, then the portal's: not beyond a time
 *               when that was not lazy.
 */
bool m0_lnet__portal_is_lazy(const struct m0_lnet_engine *eng, uint32_t portal,
			     uint64_t *since);
/** Its MD is used up: it is not searched any more. */
void m0_lnet__me_hide(struct m0_lnet_engine *eng, struct m0_lnet_me *me);
/** Takes the MD off its ME, which ends too if it was asked to. */
void m0_lnet__md_detach(struct m0_lnet_engine *eng, struct m0_lnet_md *md);
int  m0_lnet__portals_init(struct m0_lnet_engine *eng);
void m0_lnet__portals_fini(struct m0_lnet_engine *eng);

/* -- recv.c ---------------------------------------------------------------- */

/** lu_rx_begin, lu_rx_done. */
int  m0_lnet__rx_begin(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
		       const void *bytes, bool large);
void m0_lnet__rx_done(struct m0_lnd_rx *rx, int status,
		      enum m0_lnd_health health);
/** lgu_guess, lgu_guessed: the REPLY to the only large GET. */
void m0_lnet__rx_guess(struct m0_lnd_ni *ni, const struct m0_lnd_rx *rx,
		       struct m0_lnd_payload *ret);
bool m0_lnet__rx_guessed(struct m0_lnd_ni *ni, const void *bytes, bool large);
/** The rest of the payload is not wanted: its part of `msg` ends now. */
void m0_lnet__rx_cut(struct m0_lnet_msg *msg, int status);

/* -- oper.c ---------------------------------------------------------------- */

/** lhk_sent, lhk_wait_end. */
void m0_lnet__sent(struct m0_lnet_msg *msg, int status);
void m0_lnet__wait_end(struct m0_lnet_msg *msg);
/** Whose ACK or REPLY is this? NULL: nobody's (any more). */
struct m0_lnet_msg *m0_lnet__response_find(struct m0_lnet_engine    *eng,
					   const struct m0_lnet_wmd *wmd);
/** Takes it off: nobody waits for it now. */
void m0_lnet__response_drop(struct m0_lnet_msg *msg);
/** Begins the event that tells of a response, with what the operation says. */
struct m0_lnet_event *m0_lnet__response_event(struct m0_lnet_msg *msg);
/**
 * The part of `msg` that waits for a response, or takes one in, is over.
 * @param node  the event that tells so; NULL: nobody is told.
 */
void m0_lnet__response_end(struct m0_lnet_msg        *msg,
			   struct m0_lnet_event_node *node);
/** Ends the wait for a response by its event, with this status. */
void m0_lnet__response_fail(struct m0_lnet_msg *msg, int status);

/* -- abort.c --------------------------------------------------------------- */

/** lhk_abort. */
void m0_lnet__op_abort(struct m0_lnet_msg *msg);

/* -- select.c -------------------------------------------------------------- */

/** What a path is wanted for. */
struct m0_lnet__want {
	/** To any NID of this peer, or (NULL) to one NID. */
	const struct m0_lnet_peer *wnt_peer;
	const struct m0_lnet_nid  *wnt_nid;
	/** From this NI only; NULL: from any. */
	const struct m0_lnet_ni *wnt_ni;
	/** To ask the peer about itself: prefer its first NID to an idle one. */
	bool wnt_ask;
};

/** Returns the best path; its pth_ni is NULL if there is none. pth_lpni is NULL
 * with wnt_nid. */
struct m0_lnet__path m0_lnet__select(const struct m0_lnet_engine *eng,
				     const struct m0_lnet__want  *want);
/** Returns the best NI to reach a NID; NULL: none does. */
struct m0_lnet_ni *m0_lnet__ni_for(const struct m0_lnet_engine *eng,
				   const struct m0_lnet_nid    *nid);

/* -- path.c ---------------------------------------------------------------- */

/** Releases the references to NI and peer NI. */
void m0_lnet__path_put(struct m0_lnet_msg *msg);
/** Is the destination a NID of this node? */
bool m0_lnet__path_is_lo(const struct m0_lnet_msg *msg);
/** Sets the path to this node itself. @retval -ENETDOWN */
int m0_lnet__path_lo(struct m0_lnet_msg *msg);
/**
 * Sets the path of an answer, which leaves where the request came in: to the
 * NID that asked if it is on the net of the NI, else to the hop that brought it.
 * @retval -ENETDOWN, -ENOBUFS
 */
int m0_lnet__path_answer(struct m0_lnet_msg *msg);
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
 * Sends msg_hdr (type, pids, lhd_dest_nid as asked for) with lhd_payload_bytes
 * of msg_payload, which are all of it or none. Chooses NI and peer NI, and
 * with them the NIDs of the header; waits for discovery and credits.
 */
void m0_lnet__send(struct m0_lnet_msg *msg);
/** Has it end early, if it has not begun to leave: -ECANCELED. */
void m0_lnet__send_cancel(struct m0_lnet_msg *msg);
/** lu_tx_header, lu_tx_done, lu_peer_down. */
size_t m0_lnet__tx_header(struct m0_lnd_tx *tx, bool large,
			  uint8_t buf[M0_LND_HDR_BYTES_MAX]);
void   m0_lnet__tx_done(struct m0_lnd_tx *tx, int status,
			enum m0_lnd_health health);
void   m0_lnet__peer_down(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid,
			  uint32_t pid, int status);
/** A message that has waited for a discovery goes on, or (status) fails. */
void m0_lnet__send_resume(struct m0_lnet_msg *msg, int status);
/** In each step, after the timers: tells m0_lnet__sent of all of le_deferred,
 * of which there may be new ones after any call, up or down. */
void m0_lnet__send_step(struct m0_lnet_engine *eng);
/** An NI goes out of service: fails what waits to leave by it. */
void m0_lnet__send_ni_flush(struct m0_lnet_ni *ni, int status);

/* -- fault_do.c: only with fault rules ------------------------------------- */

struct m0_lnet__fault_verdict;

/** No rules any more. */
void m0_lnet__faults_off(struct m0_lnet_engine *eng);
/**
 * What is to be done to a message that comes in: enum m0_lnet__fault_act; DELAY:
 * not yet. Connections are cut here.
 */
unsigned m0_lnet__fault_in(struct m0_lnet_ni *ni, struct m0_lnd_rx *rx,
			   const struct m0_lnet_hdr *hdr);
/** Turns a bit of a copy of the header. */
void m0_lnet__fault_header(const struct m0_lnd_rx *rx, uint8_t *bytes,
			   size_t nr);
/** The engine has taken the message: a bit of its payload is to be turned; now
 * that it is there. */
void m0_lnet__fault_payload_mark(struct m0_lnd_rx *rx);
void m0_lnet__fault_payload(struct m0_lnet_msg *msg);
/** What is to be done to one that leaves: DROP, DELAY; the rest is done here,
 * or later. */
void m0_lnet__fault_out(struct m0_lnet_msg            *msg,
			struct m0_lnet__fault_verdict *ret);
/**
 * The driver is done with a message that has msg_faults.
 * @return true: send it once more.
 */
bool m0_lnet__fault_again(struct m0_lnet_msg *msg, int *status);

/* -- ni_life.c ------------------------------------------------------------- */

extern const struct m0_lnd_up_ops m0_lnet__up_ops;

/* -- ni.c ------------------------------------------------------------------ */

/** Ours with this NID; NULL: none. */
struct m0_lnet_ni *m0_lnet__ni_find(const struct m0_lnet_engine *eng,
				    const struct m0_lnet_nid    *nid);
/** Can it speak with this NID without a router? */
bool m0_lnet__ni_fits(const struct m0_lnet_ni  *ni,
		      const struct m0_lnet_nid *nid);
/** In service: ni_up was called, ni_del was not. */
bool m0_lnet__ni_is_usable(const struct m0_lnet_ni *ni);

/* -- peer.c ---------------------------------------------------------------- */

/** Finds or makes. NULL: lec_peers_max, and none is idle; no memory. */
struct m0_lnet_lpni *m0_lnet__lpni_get(struct m0_lnet_engine    *eng,
				       const struct m0_lnet_nid *nid);
/** Finds; NULL: not known. Takes no reference. */
struct m0_lnet_lpni *m0_lnet__lpni_find(const struct m0_lnet_engine *eng,
					const struct m0_lnet_nid    *nid);
/** Better another of the peer's: it says so itself, or was lost just now. */
bool m0_lnet__lpni_is_down(const struct m0_lnet_engine *eng,
			   const struct m0_lnet_lpni   *lpni);
/** Another reference. */
void m0_lnet__lpni_hold(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni);
void m0_lnet__lpni_put(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni);
/** Something came by it: it lives. */
static inline void m0_lnet__lpni_heard(const struct m0_lnet_engine *eng,
				       struct m0_lnet_lpni         *lpni)
{
	lpni->lpn_heard_at = eng->le_now;
	lpni->lpn_known_up = true;
	lpni->lpn_known_down = false;
	lpni->lpn_told_down = false;
	lpni->lpn_lost_at = 0;
}
/**
 * Something came from `nid` by `hop`: they live. Sets *primary.
 * @return the hop's, for counting; NULL: `0@lo`, or there is no room.
 */
struct m0_lnet_lpni *m0_lnet__peer_heard(struct m0_lnet_engine    *eng,
					 const struct m0_lnet_nid *nid,
					 const struct m0_lnet_nid *hop,
					 struct m0_lnet_nid       *primary);
/** Takes in what a peer says of itself. @retval -EPROTO, -ENOMEM, -ENOSPC */
int m0_lnet__peer_learn(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni,
			const struct m0_lnet_ping_info *info);
/** What is known of the peer may be old: discover it again before the next
 * request. */
void m0_lnet__peer_outdate(struct m0_lnet_engine *eng,
			   struct m0_lnet_peer   *peer);
/** Are both NIDs of one known peer? */
bool m0_lnet__peer_same(const struct m0_lnet_engine *eng,
			const struct m0_lnet_nid    *left,
			const struct m0_lnet_nid    *right);
/** Nobody is to be sent to from this NI by habit. */
void m0_lnet__peers_ni_gone(struct m0_lnet_engine   *eng,
			    const struct m0_lnet_ni *ni);
int  m0_lnet__peers_init(struct m0_lnet_engine *eng);
void m0_lnet__peers_fini(struct m0_lnet_engine *eng);

/** An answer to what came by `hop` is on its way, and has left. */
void m0_lnet__answer_begin(struct m0_lnet_msg       *msg,
			   const struct m0_lnet_nid *hop);
void m0_lnet__answer_end(struct m0_lnet_msg *msg);
/**
 * Has it so many answers on their way that it is not to be listened to? As many
 * as there are messages left: so nobody, not even one that asks and does not
 * read, takes them all, and the more who do, the less for each.
 */
bool m0_lnet__lpni_is_greedy(const struct m0_lnet_engine *eng,
			     const struct m0_lnet_lpni   *lpni);

/* -- ping.c, discovery.c --------------------------------------------------- */

/** Match bits of pings and pushes, on the reserved portal. */
#define M0_LNET__PING_BITS (UINT64_C(1) << 63)

/*
 * The engine's own MDs have md_done, its MEs are those of portal 0. They are
 * neither counted in le_busy_nr nor told to the home, and m0_lnet_engine_shutdown
 * leaves them alone. md_done takes the place of ho_event, at once, and the event
 * counts as taken; with ev_unlinked the memory of the MD is its owner's again.
 */

int  m0_lnet__ping_init(struct m0_lnet_engine *eng);
void m0_lnet__ping_fini(struct m0_lnet_engine *eng);
/**
 * The information of this node has changed: takes the next sequence number.
 * @return true: there is new information to push; false: no memory.
 */
bool m0_lnet__ping_changed(struct m0_lnet_engine *eng);
/** Features of ours, as they are told. */
uint32_t m0_lnet__ping_features(const struct m0_lnet_engine *eng);
/** What we tell of ourselves. `*ret` stays valid until ours changes. */
size_t m0_lnet__ping_bytes(const struct m0_lnet_engine *eng, const void **ret);
/**
 * A push has come, and all places for pushes have one that comes in: frees one of
 * them. Were it dropped, half a push for each would keep all others out.
 * @return false  there is none.
 */
bool m0_lnet__ping_sink_cut(struct m0_lnet_engine *eng);
/** lhk_pushed. */
void m0_lnet__discovery_pushed(struct m0_lnet_engine    *eng,
			       const struct m0_lnet_nid *from,
			       const void *bytes, size_t nr);
/** Ours has changed: those who know us are to know. */
void m0_lnet__discovery_renew(struct m0_lnet_engine *eng);
/** lhk_peer_lost. */
void m0_lnet__discovery_lost(struct m0_lnet_engine     *eng,
			     const struct m0_lnet_lpni *lpni, int status);
/** lhk_discovery_needed. */
bool m0_lnet__discovery_needed(struct m0_lnet_engine    *eng,
			       struct m0_lnet_peer      *peer,
			       const struct m0_lnet_msg *msg);
int  m0_lnet__discovery_init(struct m0_lnet_engine *eng);
/** Ends all, told -ESHUTDOWN. */
void m0_lnet__discovery_stop(struct m0_lnet_engine *eng);
void m0_lnet__discovery_fini(struct m0_lnet_engine *eng);
/** lhk_peer_forget. */
void m0_lnet__discovery_forget(struct m0_lnet_engine *eng,
			       struct m0_lnet_peer   *peer);

/* -- base/invariant.c ------------------------------------------------------ */

/** The states that follow each state, as bits. */
extern const uint16_t m0_lnet__msg_next[M0_LNET_MSG_STATES_NR];
/** Moves the message to a state that may follow its state. */
static inline void m0_lnet__msg_state_set(struct m0_lnet_msg    *msg,
					  enum m0_lnet_msg_state state)
{
	M0_PRE((m0_lnet__msg_next[msg->msg_state] & 1U << state) != 0);
	msg->msg_state = state;
}

bool m0_lnet__msg_invariant(const struct m0_lnet_msg *msg);
bool m0_lnet__md_invariant(const struct m0_lnet_md *md);
bool m0_lnet__ni_invariant(const struct m0_lnet_ni *ni);
bool m0_lnet__lpni_invariant(const struct m0_lnet_lpni *lpni);
bool m0_lnet__peer_invariant(const struct m0_lnet_peer *peer);
bool m0_lnet__engine_invariant(const struct m0_lnet_engine *eng);
/** All of the engine, its NIs, peers and MDs. Only with M0_DEBUG_CHECKS. */
bool m0_lnet__tables_invariant(const struct m0_lnet_engine *eng);

/* -- base/clock.c ---------------------------------------------------------- */

void m0_lnet__timer_arm(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
			m0_time_t deadline);
void m0_lnet__timer_cancel(struct m0_lnet_engine *eng,
			   struct m0_lnet_timer  *timer);
/** Fires the timers that are due. */
void m0_lnet__timers_expire(struct m0_lnet_engine *eng, m0_time_t now);

/* -- base/count.c ---------------------------------------------------------- */

/** Adds to lf by class; M0_LND_OK: nothing. */
void m0_lnet__failure_count(struct m0_lnet_failures *lf,
			    enum m0_lnd_health       health);
/** Name of a type of message, for probes. */
const char *m0_lnet__type_name(uint32_t type);
/** Adds one message of `type`. */
void m0_lnet__traffic_count(struct m0_lnet_msg_counts *counts, uint32_t type);

#endif /* M0_SRC_LNET_LNET_INTERNAL_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the files of the driver.
 *
 * A message that the engine sends becomes a `msg`, which waits at its peer, then
 * in a queue of a connection, then in ocn_posted until the device has sent it. A
 * large payload has an `xfer`, its memory and its place in the exchange of
 * PUT_REQ, PUT_ACK and PUT_DONE. A message that comes in has an `rx`.
 *
 * Memory that a peer may write, or that our device may read, is the xfer's until
 * its DONE or until odu_over of its connection: nothing else ends it.
 */
#ifndef M0_SRC_LND_O2IB_INTERNAL_H
#define M0_SRC_LND_O2IB_INTERNAL_H

#include "lnd/o2ib/o2ib.h"
#include "lnd/o2ib/o2ib_conn.h"
#include "lnd/o2ib/o2ib_credit.h"
#include "base/hash.h"

enum {
	/** Send buffers of one slab. */
	M0_O2IB__SLAB_BUFS = 32,
	/** Messages up to this size are encoded on the way if the device sends
	 * inline. */
	M0_O2IB__SCRATCH_BYTES = 256,
	/** Memory for a payload that is copied. */
	M0_O2IB__BOUNCE_BYTES = 1 << 20,
	M0_O2IB__RETRIES_MAX = 64,
	M0_O2IB__PRIVILEGED_MAX = 1023,
	/** Most segments of a write that are used. */
	M0_O2IB__SGES_MAX = 16,
	/** Peers that do not fit, as long as they are remembered. */
	M0_O2IB__UNLIKE_MAX = 32
};
/** Time after which a message that the engine has put off is offered again. */
#define M0_O2IB__RETRY_NS M0_TIME_ONE_MSEC

/** A registered buffer for a message that leaves. */
struct m0_o2ib__sbuf {
	struct m0_list_link osb_link;
	uint8_t            *osb_addr;
	uint32_t            osb_lkey;
};
/** Many of them. */
struct m0_o2ib__slab {
	struct m0_list_link  osl_link;
	struct m0_o2ib_mem   osl_mem;
	struct m0_o2ib_map   osl_map;
	struct m0_o2ib__sbuf osl_bufs[M0_O2IB__SLAB_BUFS];
};
struct m0_o2ib__bounce {
	struct m0_list_link obb_link;
	struct m0_o2ib_mem  obb_mem;
};

struct m0_o2ib__conn;
struct m0_o2ib__rx;

enum m0_o2ib__xfer_state {
	/** Waits for memory to copy through. */
	M0_O2IB__NO_MEMORY,
	/** Source: its request has not left. Sink: not offered yet. */
	M0_O2IB__READY,
	/** Source: waits for the answer. Sink: a peer may write. */
	M0_O2IB__OFFERED,
	/** Source: its DONE is on its way. */
	M0_O2IB__DONE
};
/** A payload that RDMA moves. */
struct m0_o2ib__xfer {
	/** In odr_live, by number: those that have begun, in order. */
	struct m0_list_link oxf_live;
	uint64_t            oxf_number;
	/** In oni_hungry, ocn_asked, or ocn_sinks. */
	struct m0_list_link oxf_link;
	/** In odr_offered: a sink that a peer may write. */
	struct m0_list_link      oxf_offered;
	struct m0_o2ib__ni      *oxf_ni;
	struct m0_o2ib__conn    *oxf_conn;
	enum m0_o2ib__xfer_state oxf_state;
	bool                     oxf_is_sink;
	/** A source that answers a GET_REQ. */
	bool oxf_is_get;
	/** Memory that a GET_REQ of ours names. It is handled as a source, whose
	 * message asks for what the peer writes. */
	bool oxf_is_fetch;
	/** A fetch: whose it is. */
	struct m0_o2ib__peer *oxf_peer;
	/** The engine has cancelled it. */
	bool oxf_is_cancelled;
	/** The message of the engine (source), and that which came in (sink). */
	struct m0_lnd_tx   *oxf_tx;
	struct m0_o2ib__rx *oxf_rx;
	/** The request of a source that has not left; NULL: it has. */
	struct m0_o2ib__msg  *oxf_req;
	uint64_t              oxf_cookie;
	uint64_t              oxf_peer_cookie;
	struct m0_lnd_payload oxf_payload;
	/** All of it must end by then; and earlier if it was cancelled. */
	m0_time_t oxf_deadline;
	/** Our memory. */
	unsigned                oxf_segs_nr;
	struct m0_o2ib_map      oxf_map;
	bool                    oxf_is_mapped;
	struct m0_o2ib__bounce *oxf_bounce;
	/** The peer's memory, and how far it was written. */
	struct m0_o2ib_desc oxf_desc;
	uint64_t            oxf_left;
	unsigned            oxf_seg;
	uint32_t            oxf_seg_off;
	unsigned            oxf_frag;
	uint32_t            oxf_frag_off;
	struct m0_o2ib_seg  oxf_segs[M0_O2IB_MAP_SEGS_MAX];
	struct m0_o2ib_frag oxf_frags[M0_O2IB_FRAGS_MAX];
	/** A fetch: LNet's header of its GET. */
	uint8_t oxf_get_hdr[M0_O2IB_LNET_HDR_BYTES];
};

/** Meanings of ltx_priv[1] of a message of the engine; in ltx_word[0]. */
enum m0_o2ib__tx_kind {
	M0_O2IB__TX_ENDED,
	M0_O2IB__TX_MSG,
	M0_O2IB__TX_XFER
};

enum m0_o2ib__msg_place {
	M0_O2IB__WAITING,
	M0_O2IB__QUEUED,
	M0_O2IB__POSTED
};
static inline void m0_o2ib__tx_is(struct m0_lnd_tx     *tx,
				  enum m0_o2ib__tx_kind kind, void *what)
{
	tx->ltx_word[0] = kind;
	tx->ltx_priv[1] = what;
}

/** A message that leaves. */
struct m0_o2ib__msg {
	struct m0_list_link     oms_link;
	enum m0_o2ib__msg_place oms_place;
	struct m0_o2ib__conn   *oms_conn;
	struct m0_o2ib__peer   *oms_peer;
	uint8_t                 oms_type;
	/** A slot for its answer is taken. */
	bool oms_has_slot;
	/** An IMMEDIATE that the engine has cancelled after it was posted. */
	bool oms_is_cancelled;
	/** IMMEDIATE. */
	struct m0_lnd_tx *oms_tx;
	/** PUT_REQ, PUT_ACK, PUT_DONE, GET_REQ, GET_DONE; NULL: the peer's memory
	 * is not used. */
	struct m0_o2ib__xfer *oms_xfer;
	/** PUT_NAK, PUT_DONE, GET_DONE. */
	uint64_t  oms_cookie;
	int32_t   oms_status;
	m0_time_t oms_deadline;
	/** Posted: number of its work request. */
	uint64_t              oms_seq;
	struct m0_o2ib__sbuf *oms_sbuf;
};

/** A message that comes in. */
struct m0_o2ib__rx {
	struct m0_lnd_rx orx_rx;
	/** In ocn_paused, ocn_gets or ocn_replies. */
	struct m0_list_link   orx_link;
	struct m0_o2ib__ni   *orx_ni;
	struct m0_o2ib__conn *orx_conn;
	struct m0_o2ib_rbuf  *orx_rbuf;
	uint8_t               orx_type;
	uint64_t              orx_cookie;
	/** A GET_REQ: the peer's memory, until its REPLY takes it. A GET_DONE that
	 * the engine has put off: our memory. */
	struct m0_o2ib__xfer *orx_xfer;
	/** The engine keeps it (a GET). */
	bool orx_is_kept;
};

enum m0_o2ib__conn_state {
	M0_O2IB__ASKING,
	M0_O2IB__ACCEPTING,
	M0_O2IB__UP,
	M0_O2IB__BREAKING
};
struct m0_o2ib__conn {
	struct m0_list_link ocn_link;
	/** In odr_dirty: something to send; in odr_paused. */
	struct m0_list_link      ocn_dirty;
	struct m0_list_link      ocn_pausing;
	struct m0_o2ib__ni      *ocn_ni;
	struct m0_o2ib__peer    *ocn_peer;
	struct m0_o2ib_qp       *ocn_qp;
	enum m0_o2ib__conn_state ocn_state;
	bool                     ocn_was_up;
	int                      ocn_status;
	/** While it is being made. */
	m0_time_t             ocn_deadline;
	struct m0_o2ib_params ocn_params;
	/** The peer's incarnation when it was made; what its messages say. */
	uint64_t               ocn_stamp;
	uint8_t                ocn_ids[M0_O2IB_IDS_BYTES];
	struct m0_o2ib_credits ocn_credits;
	/** Messages: requests without a slot, those that take a credit, the
	 * others, those that were posted. */
	struct m0_list ocn_reserve;
	struct m0_list ocn_credit;
	struct m0_list ocn_free;
	struct m0_list ocn_posted;
	/** Xfers: sources whose request has left, and sinks. */
	struct m0_list ocn_asked;
	struct m0_list ocn_sinks;
	/** Messages that came before the connection was up, and rx that the
	 * engine has put off. */
	struct m0_list ocn_early;
	struct m0_list ocn_paused;
	/** GET_REQs that the engine keeps. */
	struct m0_list ocn_gets;
	/** GET_DONEs that the engine has put off. */
	struct m0_list ocn_replies;
	uint64_t       ocn_cookie;
	/** Work requests that were staged, and that are known to be completed. */
	uint64_t ocn_staged_nr;
	uint64_t ocn_completed_nr;
	/** Staged since the last that was signalled; one wants to be. */
	unsigned  ocn_unsignalled_nr;
	bool      ocn_wants_signal;
	m0_time_t ocn_sent_at;
	m0_time_t ocn_progress_at;
};

struct m0_o2ib__peer {
	struct m0_hash_link ope_hash;
	struct m0_o2ib_peer ope_wire;
	struct m0_lnet_nid  ope_nid;
	struct m0_o2ib__ni *ope_ni;
	struct m0_list      ope_conns;
	/** With those that are dead and not yet buried. */
	unsigned              ope_conns_nr;
	struct m0_o2ib__conn *ope_asking;
	/** Messages without a connection. */
	struct m0_list ope_waiting;
	/** Next attempt, and back-off. */
	m0_time_t ope_retry_at;
	m0_time_t ope_backoff_ns;
	/** We have sent something, or wanted to: more connections are asked for, beside
	 * the first, but not before ope_more_at. */
	bool      ope_is_sent_to;
	m0_time_t ope_more_at;
	/** GETs whose memory the peer may write, or will. */
	unsigned ope_fetches_nr;
	/** The last connection to an incarnation of the peer is gone. */
	bool ope_is_lost;
	int  ope_lost_status;
};

struct m0_o2ib__ni {
	struct m0_list_link    oni_link;
	struct m0_lnd_ni      *oni_ni;
	struct m0_o2ib__drv   *oni_drv;
	struct m0_o2ib_net_cfg oni_cfg;
	struct m0_o2ib_port    oni_port;
	struct m0_o2ib_self    oni_self;
	struct m0_hash         oni_peers;
	unsigned               oni_conns_nr;
	unsigned               oni_accepting_nr;
	/** Kept GETs, and xfers. */
	unsigned              oni_kept_nr;
	unsigned              oni_xfers_nr;
	unsigned              oni_fetches_nr;
	bool                  oni_is_stopping;
	m0_time_t             oni_scan_at;
	struct m0_list        oni_slabs;
	struct m0_list        oni_sbufs;
	struct m0_list        oni_bounces;
	uint64_t              oni_bounce_bytes;
	uint64_t              oni_bounce_source_bytes;
	struct m0_list        oni_hungry[2];
	struct m0_lnd_ni_info oni_info;
	/** NIDs of the last peers that have rejected a connection for what does not fit;
	 * 0: none. Where the next one goes. */
	uint64_t oni_unlike[M0_O2IB__UNLIKE_MAX];
	unsigned oni_unlike_at;
};

/** An application's region. */
struct m0_o2ib__region {
	struct m0_list_link      oeg_link;
	const struct m0_lnd_mem *oeg_lnd_mem;
	struct m0_o2ib_mem       oeg_mem;
	/** In odr_left: payloads with lower numbers may have its keys. */
	uint64_t oeg_before;
};

struct m0_o2ib__drv {
	struct m0_lnd                 odr_lnd;
	struct m0_o2ib_cfg            odr_cfg;
	struct m0_o2ib_dev           *odr_dev;
	const struct m0_o2ib_dev_ops *odr_ops;
	struct m0_reactor            *odr_reactor;
	struct m0_list                odr_nis;
	struct m0_list                odr_regions;
	/** Regions that the application has taken back, and all of whose memory is in
	 * another region: they stay until payloads that had begun are over, or no region
	 * has all of it any more. */
	struct m0_list odr_left;
	/** All xfers that are in use, and the number of the next. */
	struct m0_list odr_live;
	uint64_t       odr_number;
	struct m0_list odr_dirty;
	struct m0_list odr_paused;
	struct m0_list odr_offered;
	/** Messages of the engine that have ended. */
	struct m0_list odr_ended;
	/** Conns that odu_over or the like has ended. */
	struct m0_list odr_dead;
	bool           odr_is_pending;
	bool           odr_spoke;
	/** Records not in use. */
	struct m0_list odr_free_msgs;
	struct m0_list odr_free_xfers;
	struct m0_list odr_free_rxs;
	unsigned       odr_conns_nr;
	/** Peers that have connections. */
	unsigned odr_reached_nr;
	/** The chain that is being built. */
	struct m0_o2ib_wr odr_wrs[M0_O2IB_CHAIN_MAX];
	/** Segments of each. */
	struct m0_o2ib_seg odr_segs[M0_O2IB_CHAIN_MAX][M0_O2IB__SGES_MAX];
	uint8_t odr_scratch[M0_O2IB_CHAIN_MAX][M0_O2IB__SCRATCH_BYTES];
};

static inline m0_time_t m0_o2ib__now(const struct m0_o2ib__drv *drv)
{
	return drv->odr_reactor->rtr_now;
}
static inline struct m0_o2ib__drv *m0_o2ib__drv_of(struct m0_lnd *lnd)
{
	return container_of(lnd, struct m0_o2ib__drv, odr_lnd);
}
static inline struct m0_o2ib__drv *m0_o2ib__drv(
	const struct m0_o2ib__conn *conn)
{
	return conn->ocn_ni->oni_drv;
}

/* -- o2ib_wake.c ------------------------------------------------------------- */

/** The driver has something to do in its next step, which comes soon. */
void m0_o2ib__rouse(struct m0_o2ib__drv *drv);
/** Looks at the deadlines of an interface at that time at the latest. */
void m0_o2ib__scan_by(struct m0_o2ib__ni *ni, m0_time_t at);

/* -- o2ib_pool.c: records, send buffers ----------------------------------------- */

struct m0_o2ib__msg *m0_o2ib__msg_get(struct m0_o2ib__drv *drv, uint8_t type);
void m0_o2ib__msg_put(struct m0_o2ib__drv *drv, struct m0_o2ib__msg *msg);
struct m0_o2ib__rx *m0_o2ib__rx_get(struct m0_o2ib__ni *ni);
void                m0_o2ib__rx_put(struct m0_o2ib__rx *rx);
/** The engine has been offered a message: it keeps the record for its answer, or the
 * record is free. */
static inline void m0_o2ib__rx_keep(struct m0_o2ib__rx *rx)
{
	M0_PRE_EX(rx->orx_rbuf == NULL);
	M0_PRE_EX(!rx->orx_is_kept);
	rx->orx_is_kept = rx->orx_rx.lr_kept;
	if (rx->orx_is_kept)
		++rx->orx_ni->oni_kept_nr;
	else
		m0_o2ib__rx_put(rx);
}
static inline struct m0_o2ib__rx *m0_o2ib__rx_first(const struct m0_list *list)
{
	struct m0_list_link *link = m0_list_first(list);

	return link == NULL ? NULL
			    : m0_list_entry(link, struct m0_o2ib__rx, orx_link);
}
struct m0_o2ib__sbuf *m0_o2ib__sbuf_get(struct m0_o2ib__ni *ni);
void m0_o2ib__sbuf_put(struct m0_o2ib__ni *ni, struct m0_o2ib__sbuf *sbuf);
/** Sources get at most half of the memory: a sink, for which its peer waits, never
 * waits for a source, which may wait for a sink of that peer. */
struct m0_o2ib__bounce *m0_o2ib__bounce_get(struct m0_o2ib__ni *ni,
					    bool                is_sink);
void m0_o2ib__bounce_put(struct m0_o2ib__ni *ni, struct m0_o2ib__bounce *bounce,
			 bool is_sink);
void m0_o2ib__memory_free(struct m0_o2ib__ni *ni);
void m0_o2ib__pools_free(struct m0_o2ib__drv *drv);
/** Gets a list's first record, or zeroed memory. */
void *m0_o2ib__recycle(struct m0_list *list, size_t offset, size_t bytes);

/* -- o2ib_tx.c: messages of the engine ------------------------------------------ */

void m0_o2ib__xmit(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx);
void m0_o2ib__tx_cancel(struct m0_lnd_ni *lnd_ni, struct m0_lnd_tx *tx);
/** A source has its memory: its request, or its DONE, may leave. */
void m0_o2ib__source_ready(struct m0_o2ib__xfer *xfer);

/* -- o2ib_end.c: their ends ------------------------------------------------------ */

void m0_o2ib__tx_end(struct m0_lnd_tx *tx, int status,
		     enum m0_lnd_health health);
void m0_o2ib__txs_tell(struct m0_o2ib__drv *drv);
/** Class of a message that has left (or not) when its connection ended. */
enum m0_lnd_health m0_o2ib__health(int status, bool has_left);
/** Ends a message that has not been posted, and is in no list. */
void m0_o2ib__msg_fail(struct m0_o2ib__msg *msg, int status,
		       enum m0_lnd_health health);
/** Ends a source, and the message that it is for. */
void m0_o2ib__source_end(struct m0_o2ib__xfer *xfer, int status,
			 enum m0_lnd_health health);

/* -- o2ib_xfer.c: memory of payloads ------------------------------------------- */

/** NULL: no memory. */
struct m0_o2ib__xfer *m0_o2ib__xfer_get(struct m0_o2ib__ni *ni);
/** Frees it, its keys and its memory for copies. */
void m0_o2ib__xfer_put(struct m0_o2ib__xfer *xfer);
/**
 * Gets memory and keys for oxf_payload.
 * @param frags_max  sink: most fragments.
 * @retval -EAGAIN  it waits in oni_hungry.
 */
int m0_o2ib__xfer_map(struct m0_o2ib__xfer *xfer, unsigned frags_max);
/** Likewise, without memory to copy through: it does not wait. */
int m0_o2ib__xfer_name(struct m0_o2ib__xfer *xfer);
/** Takes memory to copy through. @retval -EAGAIN  there is none now. */
int m0_o2ib__xfer_bounce(struct m0_o2ib__xfer *xfer);
/** A sink has its bytes: they are where the engine wants them. */
void m0_o2ib__xfer_arrived(struct m0_o2ib__xfer *xfer);
/** Checks the peer's memory against the payload, and begins to write. */
int m0_o2ib__xfer_begin(struct m0_o2ib__xfer *xfer);
/** The next write: at most `sges_max` segments, stored in `segs`.
 * Pre: oxf_left > 0. */
void m0_o2ib__xfer_next(struct m0_o2ib__xfer *xfer, unsigned sges_max,
			struct m0_o2ib_seg *segs, struct m0_o2ib_wr *wr);

/* -- o2ib_feed.c ---------------------------------------------------------------- */

/** Gives memory to those that wait for it. */
void m0_o2ib__xfers_feed(struct m0_o2ib__ni *ni);

/* -- o2ib_out.c: messages that leave --------------------------------------------------- */

void m0_o2ib__msg_queue(struct m0_o2ib__conn *conn, struct m0_o2ib__msg *msg);
void m0_o2ib__conn_dirty(struct m0_o2ib__conn *conn);
/** Has messages that wait for a credit, a slot, or the device. */
bool m0_o2ib__is_queueing(const struct m0_o2ib__conn *conn);
/** Queues an answer. @return false: no memory, or the connection breaks. */
bool m0_o2ib__answer(struct m0_o2ib__conn *conn, uint8_t type,
		     struct m0_o2ib__xfer *xfer, uint64_t cookie,
		     int32_t status);
/** A source cannot have memory. */
void m0_o2ib__source_fail(struct m0_o2ib__xfer *xfer, int status);
/** Posts what may be posted now. */
void m0_o2ib__conn_flush(struct m0_o2ib__conn *conn);
void m0_o2ib__sent(void *user, uint64_t id, int status);
/** The connection breaks: what was not posted goes back to the peer. */
void m0_o2ib__queues_return(struct m0_o2ib__conn *conn);
/** The device is done with all that was posted. */
void m0_o2ib__posted_end(struct m0_o2ib__conn *conn);

/* -- o2ib_fetch.c: answers to our GET_REQs -------------------------------------------- */

/** The peer has written, or has not. */
int m0_o2ib__fetch_done(struct m0_o2ib__conn *conn, struct m0_o2ib__xfer *xfer,
			int32_t status, struct m0_o2ib_why *why);
/** Offers REPLYs that the engine has put off. */
int  m0_o2ib__replies_retry(struct m0_o2ib__conn *conn);
void m0_o2ib__replies_drop(struct m0_o2ib__conn *conn);

/* -- o2ib_in.c: messages that arrive --------------------------------------------------- */

void m0_o2ib__received(void *user, struct m0_o2ib_rbuf *rbuf);
/** Processes what came before the connection was up. */
void m0_o2ib__early_take(struct m0_o2ib__conn *conn);
/** Offers messages that the engine has put off. */
void m0_o2ib__paused_retry(struct m0_o2ib__conn *conn);
void m0_o2ib__paused_drop(struct m0_o2ib__conn *conn);
/** The connection is over: what came by it ends. */
void m0_o2ib__rxs_end(struct m0_o2ib__conn *conn);
/** A sink has its memory, or cannot have it. */
void m0_o2ib__sink_offer(struct m0_o2ib__xfer *xfer);
void m0_o2ib__sink_refuse(struct m0_o2ib__xfer *xfer, int status);
void m0_o2ib__rx_release(struct m0_lnd_ni *lnd_ni, struct m0_lnd_rx *rx);

/** Credits, queues and numbers of a connection fit its state. */
bool m0_o2ib__conn_invariant(const struct m0_o2ib__conn *conn);

/* -- o2ib_link.c: connections --------------------------------------------------- */

extern const struct m0_o2ib_dev_up m0_o2ib__dev_up;
/** Asks a peer for a connection. */
int m0_o2ib__conn_begin(struct m0_o2ib__peer *peer);
/** Begins to end a connection. Idempotent. */
void m0_o2ib__conn_break(struct m0_o2ib__conn *conn, int status);
void m0_o2ib__dead_bury(struct m0_o2ib__drv *drv);

/* -- o2ib_peer.c ----------------------------------------------------------------- */

/** NULL: no memory. */
struct m0_o2ib__peer *m0_o2ib__peer_get(struct m0_o2ib__ni *ni, uint64_t nid4);
struct m0_o2ib__peer *m0_o2ib__peer_find(struct m0_o2ib__ni *ni, uint64_t nid4);
/** Sends by a connection, or makes one. */
void m0_o2ib__peer_send(struct m0_o2ib__peer *peer, struct m0_o2ib__msg *msg);
/** A connection is up: what waits takes it. */
void m0_o2ib__peer_up(struct m0_o2ib__peer *peer, struct m0_o2ib__conn *conn);
/** An attempt ended without a connection. `retry` in `delay_ns`, or give up. */
void m0_o2ib__peer_asked(struct m0_o2ib__peer *peer, bool retry,
			 m0_time_t delay_ns, int status);
/** Fails what waits. */
void m0_o2ib__peer_fail(struct m0_o2ib__peer *peer, int status,
			enum m0_lnd_health health);
/** A connection has broken. */
void m0_o2ib__peer_broken(struct m0_o2ib__peer *peer,
			  struct m0_o2ib__conn *conn);
/** Tells the engine what was lost. Frees the peer if nothing is left. */
void m0_o2ib__peer_check(struct m0_o2ib__peer *peer);
/** A connection is up, or one of the peer's will be soon. */
bool m0_o2ib__is_reached(const struct m0_o2ib__peer *peer);
/** Makes the next attempt if it is time. */
void m0_o2ib__peer_try(struct m0_o2ib__peer *peer);
void m0_o2ib__peer_drop(struct m0_o2ib__peer *peer, int status);

/* -- o2ib_scan.c ------------------------------------------------------------------ */

/** Looks at all deadlines of an interface. */
void m0_o2ib__scan(struct m0_o2ib__ni *ni);

#endif /* M0_SRC_LND_O2IB_INTERNAL_H */

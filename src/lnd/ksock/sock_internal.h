/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The socket driver's own: instance, interfaces, peers, connections.
 *
 * Only m0_sock__step, and the halves while the provider of streams feeds or drains
 * them, call the engine. A function that ends a message, a connection or a peer puts
 * it on a list of the instance, and the next step reports it. So a connection that
 * was ended stays in memory until that step, and any code may end one.
 */
#ifndef M0_SRC_LND_SOCK_SOCK_INTERNAL_H
#define M0_SRC_LND_SOCK_SOCK_INTERNAL_H

#include "base/hash.h"
#include "base/rand.h"
#include "base/timerq.h"
#include "lnd/ksock/sock.h"
#include "lnd/ksock/ksock_wire.h"

enum {
	M0_SOCK__HDR_SMALL_BYTES = 72,
	M0_SOCK__HDR_LARGE_BYTES = 96,
	/** Ports above are anybody's. */
	M0_SOCK__PORT_PRIVILEGED_MAX = 1023,
	/** Set in the pid of a peer that cannot be connected to. */
	M0_SOCK__PID_USERSPACE_SHIFT = 31,
	/** Connections of one type that one peer may make. */
	M0_SOCK__CONNS_PER_TYPE_MAX = 16,
	/**
	 * One address may have made a quarter of all connections, and always so
	 * many: all that an honest peer makes (16 of three types) and more.
	 */
	M0_SOCK__SHARES_NR = 4,
	M0_SOCK__SHARE_MIN = 64,
	/** Connections that wait for the engine and are offered to it again by
	 * one step. */
	M0_SOCK__RETRIES_MAX = 64,
	/** Lines that peers may make the driver log at once; then one a second.
	 */
	M0_SOCK__LINES_MAX = 20,
	/** Refusals in a row after which no more connections are asked for. */
	M0_SOCK__REFUSALS_MAX = 3,
	/** CONTROL, BULK_IN, BULK_OUT, ANY. */
	M0_SOCK__TYPES_NR = 4,
	/** Header of a HELLO with its addresses. */
	M0_SOCK__STAGE_BYTES = M0_SOCK_HELLO_BYTES_MAX +
			       4 * M0_SOCK_HELLO_IPS_MAX,
	/** A request and a HELLO; or NOOPs. */
	M0_SOCK__OWN_BYTES = M0_SOCK_REQUEST_BYTES_MAX +
			     M0_SOCK_HELLO_BYTES_MAX,
	M0_SOCK__NOOPS_MAX = M0_SOCK__OWN_BYTES / M0_SOCK_FRAME_BYTES,
	/** Bytes gathered for one write. */
	M0_SOCK__GATHER_BYTES_MAX = 1 << 20,
	M0_SOCK__AHEAD_BYTES = 64 << 10,
	/** Payload of which none is read ahead on bulk connections, unless the
	 * one before was smaller. */
	M0_SOCK__LARGE_BYTES = 32 << 10,
	/** Read with a header to where its payload may belong. */
	M0_SOCK__GUESS_BYTES = M0_STREAM_AGAIN_BYTES_MAX -
			       (M0_SOCK_FRAME_BYTES + M0_SOCK__HDR_LARGE_BYTES),
	M0_SOCK__SINK_BYTES = 32 << 10,
	/** So much of a message, and its time to come in begins anew. */
	M0_SOCK__PROGRESS_BYTES = 64 << 10,
	M0_SOCK__ACKS_EMBEDDED = 4
};

#define M0_SOCK__PID_USERSPACE (UINT32_C(1) << M0_SOCK__PID_USERSPACE_SHIFT)
/** How often a refused peer is looked at: has it got our answer? */
#define M0_SOCK__LINGER_NS (20 * M0_TIME_ONE_MSEC)
/** If several messages wait for the engine, the next ones are offered this
 * soon; if all were offered since the last change, late, in case a change
 * was missed. */
#define M0_SOCK__RETRY_SOON_NS M0_TIME_ONE_MSEC
#define M0_SOCK__RETRY_LATE_NS (100 * M0_TIME_ONE_MSEC)
/** Least time between two keep-alives to one peer. */
#define M0_SOCK__KEEPALIVE_GAP_NS (10 * M0_TIME_ONE_SECOND)
/** With so many connections they leave at few points of their period. */
#define M0_SOCK__KEEPALIVE_MANY  64
#define M0_SOCK__KEEPALIVE_SLOTS 8

struct m0_sock__alarm {
	struct m0_timer al_timer;
	void (*al_rings)(struct m0_sock__alarm *alarm);
};

struct m0_sock {
	struct m0_lnd                sk_lnd;
	struct m0_sock_cfg           sk_cfg;
	struct m0_streams           *sk_streams;
	const struct m0_streams_ops *sk_ops;
	/** Has the time of the step, rtr_now. */
	struct m0_reactor *sk_reactor;
	struct m0_timerq   sk_timers;
	/** No timer is due before. */
	m0_time_t sk_next;
	/** One of the lists below, but sk_paused, has got something. */
	bool           sk_pending;
	struct m0_rand sk_rand;
	struct m0_list sk_nis;
	struct m0_list sk_listeners;
	/** Accepted, not yet of a peer. */
	struct m0_list sk_accepting;
	/** Connections whose input waits for the engine, the oldest offer first. */
	struct m0_list sk_paused;
	/** Offers of one round have the same number. The engine may decide
	 * otherwise in a new round. */
	uint32_t sk_retry_round;
	/** When to go on with it, NEVER: at any step; and when that was. */
	m0_time_t sk_retry_at;
	m0_time_t sk_retried;
	/** Peers with acknowledgements for which no place is chosen. */
	struct m0_list sk_acks;
	/** Ended messages and connections, and peers that have something to report. */
	struct m0_list sk_ended;
	struct m0_list sk_dead;
	struct m0_list sk_peers;
	/** Peers with a sp_interval, the one that failed longest ago first. */
	struct m0_list sk_failed;
	unsigned       sk_failed_nr;
	unsigned       sk_conns_nr;
	unsigned       sk_accepting_nr;
	/** Being made for nothing but answers. */
	unsigned sk_answering_nr;
	/** Addresses with connections that they made. */
	struct m0_hash sk_hosts;
	/** An interface or peer shall be ended. */
	bool sk_orders;
	bool sk_roused;
	/** m0_sock__hello_staged, which lies above those that call it. */
	int (*sk_hello_staged)(struct m0_sock_conn *conn);
	/** Called up in this step. */
	bool sk_spoke;
	/** Counts messages, to find the connection that was used last. */
	uint64_t sk_used;
	/** Lines that peers may still make us log, and since when. */
	unsigned  sk_lines_nr;
	m0_time_t sk_lines_since;
	/** For bytes that nobody wants. */
	uint8_t sk_sink[M0_SOCK__SINK_BYTES];
};

/** Interfaces with one address share it. */
struct m0_sock__listener {
	struct m0_stream_listener lsn_listener;
	struct m0_list_link       lsn_link;
	unsigned                  lsn_users_nr;
};

struct m0_sock__ni {
	struct m0_list_link       sni_link;
	struct m0_sock           *sni_sock;
	struct m0_lnd_ni         *sni_ni;
	struct m0_sock__listener *sni_listener;
	/** Watches the device that has its address. */
	struct m0_stream_watch sni_watch;
	/** Tunables of the network. */
	struct m0_sock_net_cfg sni_cfg;
	struct m0_hash         sni_peers;
	/** The one that was sent to last. */
	struct m0_sock__peer *sni_recent;
	struct m0_lnd_ni_info sni_info;
	/** System calls of its streams. */
	struct m0_stream_counts sni_calls;
	/** Not free of connections before this is 0. */
	unsigned sni_conns_nr;
	bool     sni_stopping;
	bool     sni_ended;
};

/** Cookies to be acknowledged, as ranges. Zeroed memory is an empty one. */
struct m0_sock__acks {
	unsigned ack_nr;
	/** Room in ack_more; 0: the ranges are in ack_embedded. */
	unsigned ack_max;
	uint64_t ack_embedded[M0_SOCK__ACKS_EMBEDDED][2];
	uint64_t (*ack_more)[2];
};

/** A node at the other end, known by our NI, its NID and pid. */
struct m0_sock__peer {
	struct m0_hash_link sp_hash;
	uint8_t             sp_key[M0_LNET_NID_BYTES + sizeof(uint32_t)];
	uint32_t            sp_pid;
	struct m0_lnet_nid  sp_nid;
	struct m0_sock__ni *sp_ni;
	/** By type; open ones only. */
	struct m0_list sp_conns[M0_SOCK__TYPES_NR];
	unsigned       sp_nr[M0_SOCK__TYPES_NR];
	unsigned       sp_open_nr;
	/** So much payload is bulk. */
	m0_bcount_t sp_bulk_bytes;
	/** Where small [0] and bulk [1] messages go if there is no choice. */
	struct m0_sock_conn *sp_route[2];
	/** Is being made. */
	struct m0_sock_conn *sp_dial;
	/** For a connection to come: messages. */
	struct m0_list sp_waiting;
	/** Version and incarnation of the open connections; version 0:
	 * unknown. */
	uint32_t sp_version;
	uint64_t sp_incarnation;

	/** We had to connect: make the whole set. */
	bool sp_wants;
	/** Refused: dial again at sp_retry_at, whether or not there is use. */
	bool      sp_retrying;
	m0_time_t sp_retry_at;
	m0_time_t sp_interval;
	/** Why the last try failed: the answer until sp_retry_at. */
	int      sp_failed_status;
	unsigned sp_refusals_nr;

	m0_time_t             sp_received;
	m0_time_t             sp_kept_alive;
	struct m0_sock__alarm sp_alarm;

	struct m0_sock__acks sp_acks;
	/** In sk_acks. */
	struct m0_list_link sp_acks_link;
	/** In sk_peers. */
	struct m0_list_link sp_link;
	/** In sk_failed. */
	struct m0_list_link sp_failed_link;
	/** To report: the peer is down, and why. The record is to be dropped. */
	bool sp_down;
	int  sp_down_status;
	bool sp_drop;
};

/** An address, and how many connections it has made that are there. */
struct m0_sock__host {
	struct m0_hash_link sho_hash;
	struct m0_host_addr sho_addr;
	unsigned            sho_conns_nr;
};

enum m0_sock__state {
	M0_SOCK__DIALLING,
	/** Ours: request and HELLO are on their way, the answer is awaited. */
	M0_SOCK__ASKING,
	/** Accepted; the request or HELLO of the peer is awaited. */
	M0_SOCK__ACCEPTING,
	M0_SOCK__OPEN,
	/** The refusal was sent, or is being sent. */
	M0_SOCK__REFUSED,
	M0_SOCK__DEAD
};

/** Kind of the next bytes of a connection. */
enum m0_sock__in {
	M0_SOCK__IN_REQUEST_MAGIC,
	M0_SOCK__IN_REQUEST_HEAD,
	M0_SOCK__IN_REQUEST,
	M0_SOCK__IN_HELLO_HEAD,
	M0_SOCK__IN_HELLO,
	M0_SOCK__IN_IPS,
	/** Frame, and the header of a message. */
	M0_SOCK__IN_FRAME,
	M0_SOCK__IN_PAYLOAD,
	M0_SOCK__IN_DISCARD,
	/** A header is staged; the engine does not want it yet. */
	M0_SOCK__IN_PAUSED,
	/** All to come is thrown away. */
	M0_SOCK__IN_SINK
};

/** Checksum of the message that arrives: switched on, so far, as sent. */
struct m0_sock__sum {
	bool     su_is_on;
	uint32_t su_now;
	uint32_t su_want;
};

/** Payload that is still to arrive, and the position in its vector. */
struct m0_sock__rest {
	uint64_t    rem_left;
	m0_bcount_t rem_seg_at;
	uint32_t    rem_seg;
};

/** Progress of the message that arrives: bytes since a point in time. */
struct m0_sock__pace {
	uint64_t  pac_run;
	m0_time_t pac_since;
};

/** Messages that leave on a connection. */
struct m0_sock__queue {
	/** ltx_link of messages, and ow_link. */
	struct m0_list qu_list;
	/** Bytes of the first that have left. */
	m0_bcount_t qu_at;
	/** Bytes behind them that were passed, in the first and in those that follow. */
	m0_bcount_t qu_passed;
	/** Not 0: qu_hurried was cancelled after it had begun, and must have left by
	 * then. */
	m0_time_t                  qu_by;
	const struct m0_list_link *qu_hurried;
	m0_bcount_t                qu_bytes;
	/** Time of the last change; not known yet if qu_is_new. */
	m0_time_t qu_since;
	bool      qu_is_new;
	/** A lane may be writing the messages whose heads are made. */
	bool qu_is_lent;
	/** Bytes the peer had not acknowledged, and since when. */
	size_t    qu_unsent;
	m0_time_t qu_unsent_since;
};

/** Bytes of the connection's own beside messages: HELLO, NOOPs. */
struct m0_sock__own {
	struct m0_list_link ow_link;
	unsigned            ow_bytes;
	bool                ow_keepalive;
	uint8_t             ow_buf[M0_SOCK__OWN_BYTES];
};

struct m0_sock_conn {
	/** In sp_conns, sk_accepting or sk_dead. */
	struct m0_list_link   cn_link;
	struct m0_sock       *cn_sock;
	struct m0_sock__ni   *cn_ni;
	struct m0_sock__peer *cn_peer;
	struct m0_stream     *cn_stream;
	/** NULL: we made it. */
	struct m0_sock__host *cn_host;
	enum m0_sock__state   cn_state;
	/** As we see it. */
	uint32_t cn_ctype;
	uint32_t cn_version;
	bool     cn_active;
	/** In sk_answering_nr. */
	bool cn_answering;
	/** Its peer gets a reset when it ends. */
	bool cn_is_hostile;
	/** In ldi_near_nr. */
	bool                  cn_is_near;
	bool                  cn_swapped;
	bool                  cn_large;
	struct m0_host_addr   cn_local;
	struct m0_host_addr   cn_remote;
	m0_time_t             cn_deadline;
	struct m0_sock__alarm cn_alarm;

	/* Receive half. */
	enum m0_sock__in cn_in;
	/** lu_rx_begin has succeeded, lu_rx_done is due. */
	bool                cn_in_rx;
	struct m0_sock__sum cn_sum;
	/** Bytes of the header, together with its frame. */
	unsigned             cn_head_bytes;
	unsigned             cn_want;
	unsigned             cn_staged;
	struct m0_sock__rest cn_rest;
	/** The last payload had less than M0_SOCK__LARGE_BYTES. */
	bool                 cn_in_small;
	struct m0_sock__pace cn_pace;
	uint64_t             cn_cookie;
	struct m0_lnd_rx     cn_rx;
	/** Where m0_sock_in_where sent what follows a header; 0 bytes: none. */
	struct m0_lnd_payload cn_guess;
	struct m0_list_link   cn_paused;
	uint32_t              cn_retry_round;
	uint8_t               cn_stage[M0_SOCK__STAGE_BYTES];

	/* Transmit half. */
	struct m0_sock__queue cn_queue;
	uint64_t              cn_used;
	int                   cn_status;
	struct m0_sock__own   cn_own;
};

/* -- invariants ------------------------------------------------------------ */

static inline bool m0_sock__invariant(const struct m0_sock *sock)
{
	return sock->sk_streams != NULL && sock->sk_reactor != NULL &&
	       sock->sk_accepting_nr <= sock->sk_conns_nr &&
	       sock->sk_answering_nr <= sock->sk_conns_nr;
}

static inline bool m0_sock__ni_invariant(const struct m0_sock__ni *ni)
{
	return ni->sni_sock != NULL && ni->sni_ni != NULL &&
	       ni->sni_ni->ldn_priv == ni &&
	       ni->sni_cfg.son_reconnect_min_ns <=
		       ni->sni_cfg.son_reconnect_max_ns &&
	       (!ni->sni_ended || ni->sni_stopping);
}

static inline bool m0_sock__peer_invariant(const struct m0_sock__peer *peer)
{
	return peer->sp_ni != NULL &&
	       peer->sp_open_nr == peer->sp_nr[0] + peer->sp_nr[1] +
					   peer->sp_nr[2] + peer->sp_nr[3] &&
	       (peer->sp_dial == NULL || peer->sp_dial->cn_peer == peer) &&
	       peer->sp_interval <= peer->sp_ni->sni_cfg.son_reconnect_max_ns;
}

/** Tunables of a connection: those of the driver before its NI is known. */
static inline const struct m0_sock_net_cfg *m0_sock__conn_cfg(
	const struct m0_sock_conn *conn)
{
	return conn->cn_ni != NULL ? &conn->cn_ni->sni_cfg
				   : &conn->cn_sock->sk_cfg.soc_net;
}

static inline bool m0_sock__conn_invariant(const struct m0_sock_conn *conn)
{
	return conn->cn_sock != NULL && conn->cn_state <= M0_SOCK__DEAD &&
	       conn->cn_in <= M0_SOCK__IN_SINK &&
	       conn->cn_staged <= sizeof conn->cn_stage &&
	       conn->cn_own.ow_bytes <= sizeof conn->cn_own.ow_buf &&
	       (conn->cn_state != M0_SOCK__OPEN ||
		(conn->cn_ctype < M0_SOCK__TYPES_NR && conn->cn_peer != NULL &&
		 conn->cn_ni == conn->cn_peer->sp_ni));
}

/* -- ksock_base.c ---------------------------------------------------------- */

void m0_sock__alarm_set(struct m0_sock *sock, struct m0_sock__alarm *alarm,
			m0_time_t deadline);
/** Not later than it is set already. */
static inline void m0_sock__alarm_by(struct m0_sock        *sock,
				     struct m0_sock__alarm *alarm,
				     m0_time_t              deadline)
{
	if (!m0_timer_is_armed(&alarm->al_timer) ||
	    alarm->al_timer.ti_deadline > deadline)
		m0_sock__alarm_set(sock, alarm, deadline);
}
/** Requests a step soon, because there is something to report. */
void m0_sock__rouse(struct m0_sock *sock);
/** May something that a peer causes be logged? */
bool m0_sock__may_say(struct m0_sock *sock);
#define M0_SOCK__SAY(sock, level, ...)                \
	do {                                          \
		if (m0_sock__may_say(sock))           \
			m0_log((level), __VA_ARGS__); \
	} while (0)
struct m0_sock__ni *m0_sock__ni_find(struct m0_sock           *sock,
				     const struct m0_lnet_nid *nid);
/** Counts a peer that was bad, or unwanted; `ni` NULL: not known whose. */
void m0_sock__bad_count(struct m0_sock *sock, struct m0_sock__ni *ni);
enum {
	M0_SOCK__ADDRSTR_BYTES = 64
};
/** "10.0.0.1:988". @return buf. */
char *m0_sock__addr_print(const struct m0_host_addr *addr,
			  char buf[M0_SOCK__ADDRSTR_BYTES]);

/* -- calls up from the streams (stream/stream.h) --------------------------- */

void    *m0_sock__accepted(void *owner, struct m0_stream_listener *listener,
			   const struct m0_host_addr *local,
			   const struct m0_host_addr *remote,
			   struct m0_stream          *stream);
void     m0_sock__dialled(void *user, const struct m0_host_addr *local);
void     m0_sock__broken(void *user, int status);
unsigned m0_sock__in_where(void *user, struct iovec *iov, unsigned max,
			   size_t *ret_ahead);
int      m0_sock__in_arrived(void *user, size_t nr);
ssize_t  m0_sock__in_bytes(void *user, const void *bytes, size_t nr);
unsigned m0_sock__out_what(void *user, struct iovec *iov, unsigned max);
int      m0_sock__out_left(void *user, size_t nr);
void     m0_sock__out_passed(void *user, size_t nr);
bool     m0_sock__in_lend(void *user);
void     m0_sock__out_lend(void *user, bool lends);

/* -- tx.c: messages that wait or have ended -------------------------------- */

/*
 * Use of m0_lnd_tx: ltx_priv[0] is the interface, [1] the connection that has
 * it queued, the message itself if it waits for a connection, or NULL. While it
 * is queued, ltx_word[0] has the bytes of its head (0: not made yet), [1] its
 * bytes in all; when it has ended, status and health.
 */

static inline struct m0_lnd_tx *m0_sock__tx_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_lnd_tx, ltx_link);
}

/** Takes it over from the engine. */
static inline void m0_sock__tx_own(struct m0_sock__ni *ni, struct m0_lnd_tx *tx)
{
	m0_list_link_init(&tx->ltx_link);
	tx->ltx_priv[0] = ni;
	tx->ltx_priv[1] = NULL;
}

/** Ends a message that is in no queue; the next step reports it. */
void m0_sock__tx_end(struct m0_lnd_tx *tx, int status,
		     enum m0_lnd_health health);
/** Ends all messages of a list, of which nothing was written. */
void m0_sock__tx_end_all(struct m0_list *list, int status);
/** Health for the errno of a connection that was lost. */
enum m0_lnd_health m0_sock__health(int status);
/** Reports the messages that have ended. */
void m0_sock__tx_report(struct m0_sock *sock);

/* -- ack.c: cookies owed --------------------------------------------------- */

/** @retval -ENOBUFS  more than `max` ranges. @retval -ENOMEM */
int m0_sock__acks_add(struct m0_sock__acks *acks, uint64_t cookie,
		      unsigned max);
/** One of them. Pre: there is one. */
uint64_t m0_sock__acks_take(struct m0_sock__acks *acks);
/** Takes the acknowledgements of one NOOP: at most two, or one range if
 * `ranges`. */
void m0_sock__acks_take_noop(struct m0_sock__acks *acks, bool ranges,
			     uint64_t cookie[2]);
void m0_sock__acks_fini(struct m0_sock__acks *acks);

/* -- ksock_peer.c, ksock_dial.c -------------------------------------------- */

/** Finds or makes it. NULL: no memory. */
struct m0_sock__peer *m0_sock__peer_get(struct m0_sock__ni       *ni,
					const struct m0_lnet_nid *nid,
					uint32_t                  pid);
void                  m0_sock__peer_free(struct m0_sock__peer *peer);
/** Where a message with such a payload goes; NULL: nowhere now. */
struct m0_sock_conn *m0_sock__peer_route(struct m0_sock__peer *peer,
					 m0_bcount_t           payload_bytes);
void m0_sock__peer_xmit(struct m0_sock__peer *peer, struct m0_lnd_tx *tx);
/** A connection is open: it is the peer's from now on. */
void m0_sock__peer_opened(struct m0_sock__peer *peer,
			  struct m0_sock_conn  *conn);
/** Takes an open connection away from its peer. */
void m0_sock__peer_lost(struct m0_sock__peer *peer, struct m0_sock_conn *conn);
/** Ends all open connections. */
void m0_sock__peer_reset(struct m0_sock__peer *peer, int status);
/** Queues the peer for the next step, which works for it or reports it. */
void m0_sock__peer_work(struct m0_sock__peer *peer);
void m0_sock__peer_report(struct m0_sock__peer *peer);
void m0_sock__peer_alarm(struct m0_sock__peer *peer);
/**
 * Notes that a message must be acknowledged.
 * @retval <0 no memory: end the connection.
 */
int m0_sock__peer_owe(struct m0_sock__peer *peer, uint64_t cookie);
/** Chooses the connection for what is owed. */
void m0_sock__peer_acks_place(struct m0_sock__peer *peer);

/** Connects, if a connection is wanted and may be made now. */
void m0_sock__dial_more(struct m0_sock__peer *peer);
/** Requests a connection. @return 0, or the error that prevents one now. */
int m0_sock__dial_want(struct m0_sock__peer *peer);
/** The connection being made was not made. */
void m0_sock__dial_failed(struct m0_sock__peer *peer, int status);
/** The peer said NONE. */
void m0_sock__dial_refused(struct m0_sock__peer *peer);
/** Reports that a connection was made, or failed. */
void m0_sock__dial_ended(struct m0_sock_conn *conn);
/** Forgets the last failure to connect. */
void m0_sock__dial_forget(struct m0_sock__peer *peer);

/* -- ksock_conn.c ---------------------------------------------------------- */

/** NULL: no memory, or too many. */
struct m0_sock_conn *m0_sock__conn_new(struct m0_sock *sock);
/** Counts it as one of the interface's. */
void m0_sock__conn_ni(struct m0_sock_conn *conn, struct m0_sock__ni *ni);
/**
 * Ends this connection, whatever its state; what it had to send and to receive
 * ends with `status`. The peer sees an orderly end, or a reset if
 * cn_is_hostile. A dial has not failed by it.
 */
void m0_sock__conn_kill(struct m0_sock_conn *conn, int status);
/**
 * Something is wrong on it: ends it and, if it is open, all connections of its
 * peer. @return status.
 */
int m0_sock__conn_fail(struct m0_sock_conn *conn, int status);
/**
 * Ends this connection alone, if its peer has others, because a message on it
 * was cut off; messages that have not begun take another one.
 */
void m0_sock__conn_cut(struct m0_sock_conn *conn, int status);
/** Frees what a kill left, and reports a message that was half received. */
void m0_sock__conn_free(struct m0_sock_conn *conn);
/** Arms the alarm by what is going on. */
void m0_sock__conn_alarm(struct m0_sock_conn *conn);

/* -- host.c ---------------------------------------------------------------- */

/** Connections that one stranger may have made, or have us make. */
unsigned m0_sock__share(const struct m0_sock *sock);
/** Has this address all the connections that it may have? Says so. */
bool m0_sock__host_is_full(struct m0_sock            *sock,
			   const struct m0_host_addr *addr);
/** Counts a connection to the address it comes from. @retval -ENOMEM */
int m0_sock__host_get(struct m0_sock_conn *conn);
/** Stops counting a connection that has ended, if it was counted. */
void m0_sock__host_put(struct m0_sock_conn *conn);

/* -- hello.c --------------------------------------------------------------- */

/** Makes the connection's first words. */
void m0_sock__hello_ask(struct m0_sock_conn *conn);
/** cn_want bytes of an introduction are staged. @retval <0  ended. */
int m0_sock__hello_staged(struct m0_sock_conn *conn);

/* -- in.c ------------------------------------------------------------------ */

void m0_sock__in_open(struct m0_sock_conn *conn);
/** Offers a message to the engine once more. */
void m0_sock__in_retry(struct m0_sock_conn *conn);
/** A message has begun and is not complete. */
static inline bool m0_sock__in_is_partial(const struct m0_sock_conn *conn)
{
	switch (conn->cn_in) {
	case M0_SOCK__IN_FRAME:
		return conn->cn_staged > 0;
	case M0_SOCK__IN_PAYLOAD:
	case M0_SOCK__IN_DISCARD:
		return true;
	default:
		return false;
	}
}

/* -- out.c ----------------------------------------------------------------- */

void m0_sock__out_add(struct m0_sock_conn *conn, struct m0_lnd_tx *tx);
/** The connection shall say what is in cn_own.ow_buf or, if that is empty, NOOPs
 * that are due. */
void m0_sock__out_own(struct m0_sock_conn *conn);
/** Since when nothing has left that could. */
m0_time_t m0_sock__out_since(struct m0_sock_conn *conn);
/** Ends messages that did not begin in time. @return next deadline. */
m0_time_t m0_sock__out_expire(struct m0_sock_conn *conn);
/** Takes a message that has not begun out of its queue. False: it has. */
bool m0_sock__out_take(struct m0_lnd_tx *tx);
/**
 * A message that has begun is wanted no more: if it has not left within the time-out,
 * the peer is given up, however slowly it reads.
 */
void m0_sock__out_hurry(struct m0_lnd_tx *tx);
/** Has all left that is there of the first message, but not all of it? */
bool m0_sock__out_is_starved(const struct m0_sock_conn *conn);
/** More is there of a message that is queued. */
void m0_sock__out_more(struct m0_lnd_tx *tx);
/** Takes all messages that have not begun out of the queue. */
void m0_sock__out_move(struct m0_sock_conn *conn, struct m0_list *to);
/** Ends all messages; the connection is dead. */
void m0_sock__out_kill(struct m0_sock_conn *conn, int status);

#endif /* M0_SRC_LND_SOCK_SOCK_INTERNAL_H */

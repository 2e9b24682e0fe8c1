/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Declarations shared by the files of the transport (m0/sunrpc.h: contract).
 *
 * Files: sunrpc.c table, addresses, machines; sunrpc_node.c the one thread of the
 * process, its listener, time; sunrpc_conn.c connections, what they send; sunrpc_record.c
 * what they receive; sunrpc_call.c messages and active bulk, over the connections a
 * domain has made; sunrpc_serve.c calls of others; tirpc.c the bytes of RPC, the only
 * file that sees libtirpc.
 *
 * The thread owns connections, calls and replies: no lock. Others leave calls
 * at sn_posted and wake it. It touches a buffer by its identity alone: claimed
 * for one system call or copy, then let go, so that a cancel takes effect at
 * once. Before that it holds the machine (m0_sunrpc__hold), which does not leave
 * meanwhile: without machines there are no buffers to be looked for.
 */
#ifndef M0_SRC_XPRT_SUNRPC_INTERNAL_H
#define M0_SRC_XPRT_SUNRPC_INTERNAL_H

#include <sys/uio.h>

#include "m0/net_xprt.h"
#include "m0/sunrpc.h"

#include "base/timerq.h"
#include "loop/loop.h"
#include "os/os.h"

enum {
	/** Payload of one record fragment that is sent. */
	SR_FRAGMENT = 256 << 10,
	SR_PIECE_MAX = 1 << 20,
	/** Bytes that are read at a time, if not straight to their place. */
	SR_STAGE = 64 << 10,
	/** Payload that is read straight to its place, at least. */
	SR_DIRECT_MIN = 8 << 10,
	/** Size of a call with the longest credentials, and its arguments. */
	SR_HEAD_MAX = 1024,
	/** Size of a head to send, its record mark included. */
	SR_OUT_HEAD_MAX = 112,
	/** Everything in a record but the payload. */
	SR_RECORD_MAX = SR_PIECE_MAX + SR_HEAD_MAX,
	SR_FRAGMENTS_MAX = 4096,
	/** Answers that wait to be sent before a connection is read again. */
	SR_REPLIES_MAX = 64,
	/** Moved for one connection before the next has its turn. */
	SR_TURN_BYTES = 1 << 20,
	SR_IOV_MAX = 128,
	SR_BATCH_MAX = 48,
	/** Messages of all peers that have come in part. */
	SR_PARTIAL_BYTES_MAX = 64 << 20,
	SR_FREE_MAX = 256
};

/* ------------------------------------------------------------- addresses -- */

struct sr_ep {
	uint32_t se_host;
	uint32_t se_port;
	uint32_t se_id;
};

/** Three numbers of 32 bits, the most significant byte first. */
void m0_sunrpc__addr(struct m0_net_kit_addr *ret, const struct sr_ep *ep);
/** False: it is none. */
bool m0_sunrpc__ep(struct sr_ep *ret, const struct m0_net_kit_addr *addr);
bool m0_sunrpc__ep_is_valid(const struct sr_ep *ep);

/* ------------------------------------------------------- bytes: tirpc.c -- */

enum sr_proc {
	SR_NULL,
	SR_MSG,
	SR_GET,
	SR_PUT,
	SR_PROC_NR
};

struct sr_desc {
	uint64_t     sd_id;
	struct sr_ep sd_active;
	struct sr_ep sd_passive;
	uint32_t     sd_qtype;
	uint32_t     sd_total;
};

/** A call but for its payload. */
struct sr_call_head {
	uint32_t sch_xid;
	uint32_t sch_proc;
	/** SR_MSG. */
	struct sr_ep sch_from;
	struct sr_ep sch_to;
	/** SR_GET, SR_PUT. */
	struct sr_desc sch_desc;
	uint32_t       sch_offset;
	uint32_t       sch_data_nr;
};

/** Answers of RPC itself to a call. */
enum sr_verdict {
	SR_SUCCESS,
	SR_PROG_UNAVAIL,
	SR_PROG_MISMATCH,
	SR_PROC_UNAVAIL,
	SR_GARBAGE,
	SR_RPC_MISMATCH,
	SR_AUTH_REJECTED
};

struct sr_reply_head {
	uint32_t        srh_xid;
	enum sr_verdict srh_verdict;
	enum sr_proc    srh_proc;
	/** SR_SUCCESS. */
	uint32_t srh_rc;
	/** SR_GET. */
	uint32_t srh_eof;
	uint32_t srh_data_nr;
};

/** @return bytes written, at most SR_OUT_HEAD_MAX - 4. */
uint32_t m0_sunrpc__call_encode(uint8_t *to, const struct sr_call_head *head);
uint32_t m0_sunrpc__reply_encode(uint8_t *to, const struct sr_reply_head *head);

/**
 * Returns how many bytes a call's head has, as far as its first `nr` bytes determine
 * it: a result above nr is the number needed to go on. Never above SR_HEAD_MAX.
 * @param rpc  set to the bytes of the part that is RPC's own, when known.
 * @retval 0  it is no call.
 */
uint32_t m0_sunrpc__call_need(const uint8_t *bytes, uint32_t nr, uint32_t *rpc);
/**
 * Decodes what m0_sunrpc__call_need() has asked for. `nr` may be less if the
 * record ends there, but not less than `rpc`.
 */
enum sr_verdict m0_sunrpc__call_decode(const uint8_t *bytes, uint32_t nr,
				       struct sr_call_head *ret);
/** m0_sunrpc__call_need() for the reply to a call of `proc`. */
uint32_t m0_sunrpc__reply_need(const uint8_t *bytes, uint32_t nr,
			       enum sr_proc proc);
/** @retval false  it is no reply to a call of srh_proc, which is set. */
bool m0_sunrpc__reply_decode(const uint8_t *bytes, uint32_t nr,
			     struct sr_reply_head *ret);

/** Makes this known to the host's rpcbind, or takes it back. May block; one at
 * a time. */
bool m0_sunrpc__rpcbind_set(uint32_t host, uint32_t port);
void m0_sunrpc__rpcbind_unset(void);

/* -------------------------------------------------- machines, sunrpc.c -- */

/** A machine's own part. */
struct sr_machine {
	struct m0_net_kit_machine  *sm_machine;
	struct m0_net_kit_addr_node sm_node;
	struct sr_ep                sm_ep;
	/** In sn_machine_list, under sn_lock. */
	struct m0_list_link sm_link;
	/** No buffer of it may be looked for any more; atomic. */
	uint32_t sm_left;
	/** Threads that look for its buffers now; atomic. */
	uint32_t sm_users_nr;
};

/** Use of a passive buffer; only the thread reads it. */
struct sr_passive {
	uint64_t  srp_id;
	uint64_t  srp_conn;
	uint32_t  srp_offset;
	m0_time_t srp_until;
};

/** A buffer's own part. */
struct sr_buf {
	/** The add whose operation waits for an answer: of one that has ended
	 * it may stay. Under ntm_mutex, or by the thread that claimed it. */
	uint64_t          sb_waits;
	struct sr_passive sb_passive;
};

/** A domain's own part. */
struct sr_dom {
	struct m0_list_link sdm_link;
	/** Atomic. */
	uint32_t sdm_timeout_ms;
	uint32_t sdm_idle_ms;
	/** The domain has gone. Under sn_lock. */
	bool sdm_gone;
};

struct sr_dom *m0_sunrpc__dom(const struct m0_net_domain *dom);

/** False: it has left. Else it does not before m0_sunrpc__release(). */
bool m0_sunrpc__hold(struct sr_machine *sm);
void m0_sunrpc__release(struct sr_machine *sm);
/** Held; NULL: no machine is there. */
struct sr_machine *m0_sunrpc__find(const struct sr_ep *ep);

/* --------------------------------------------------------- connections -- */

enum sr_out_kind {
	SR_OUT_CALL,
	SR_OUT_REPLY
};

/** Something to be sent: a head, and bytes of a buffer. */
struct sr_out {
	struct m0_list_link sro_link;
	enum sr_out_kind    sro_kind;
	/** With four bytes before it for the record mark. */
	uint8_t  sro_head[SR_OUT_HEAD_MAX];
	uint32_t sro_head_nr;
	/** Machine of the buffer, with a reference. */
	struct sr_machine     *sro_machine;
	uint64_t               sro_id;
	enum m0_net_queue_type sro_qtype;
	/** Offset of the payload from the start of the buffer's memory. */
	m0_bindex_t sro_offset;
	uint32_t    sro_data_nr;
	uint32_t    sro_data_sent;
	bool        sro_begun;
	/** The buffer has been given up before all of it was sent. */
	bool sro_cut;
};

/** A message, or the active side of a transfer. */
struct sr_call {
	struct sr_out       sca_out;
	struct sr_call     *sca_next;
	struct sr_dom      *sca_dom;
	struct sr_call_head sca_head;
	/** The buffer's. */
	m0_bindex_t sca_base;
	uint32_t    sca_size;
	/** Bytes to move, and bytes that have moved. */
	uint32_t sca_total;
	uint32_t sca_done;
	/** Its connection was closed before any of it had left. */
	bool sca_retried;
	/**
	 * SR_MSG: all of it has left. The buffer stays claimed until the answer
	 * reports the result.
	 */
	struct m0_net_kit_buf *sca_left;
	m0_time_t              sca_since;
};

struct sr_reply {
	struct sr_out        srr_out;
	struct sr_reply_head srr_head;
	/** The buffer ends when this was sent. */
	bool      srr_ends;
	m0_time_t srr_since;
};

enum sr_phase {
	SR_PH_HEAD,
	SR_PH_DATA,
	/** Padding, or what is not wanted, to the end of the record. */
	SR_PH_REST
};

enum sr_sink {
	SR_SINK_NONE,
	SR_SINK_MEMORY,
	SR_SINK_BUFFER
};

/** State of what a connection receives. */
struct sr_in {
	/** When its first byte came. */
	m0_time_t sri_since;
	uint8_t   sri_mark[4];
	uint32_t  sri_mark_nr;
	/** Bytes left of this fragment, and whether it is the last one. */
	uint32_t sri_frag_left;
	bool     sri_frag_last;
	uint32_t sri_frags_nr;
	/** Bytes of this record so far. */
	uint32_t      sri_record_nr;
	enum sr_phase sri_phase;
	uint8_t       sri_head[SR_HEAD_MAX];
	uint32_t      sri_head_nr;
	uint32_t      sri_rpc_nr;
	/** Payload: where it goes, and how much is to come. */
	uint32_t     sri_data_nr;
	uint32_t     sri_data_left;
	enum sr_sink sri_sink;
	/** SR_SINK_MEMORY. */
	uint8_t *sri_memory;
	uint32_t sri_memory_nr;
	/** The whole payload, in the stage. */
	const uint8_t *sri_flat;
	/** SR_SINK_BUFFER. */
	struct sr_machine     *sri_machine;
	uint64_t               sri_id;
	enum m0_net_queue_type sri_qtype;
	m0_bindex_t            sri_at;
	/** The head, decoded. */
	union {
		struct sr_call_head  sri_call;
		struct sr_reply_head sri_reply;
	};
	enum sr_verdict sri_verdict;
	/** Status of the answer, sent or to send. */
	int32_t         sri_rc;
	struct sr_call *sri_of;
};

struct sr_conn {
	struct m0_loop_fd sc_fd;
	/** In the node's list of accepted ones, or in the domain's list. */
	struct m0_list_link sc_link;
	struct m0_list_link sc_ready_link;
	bool                sc_is_ready;
	/** Never the same again. */
	uint64_t sc_nr;
	/** NULL: taken in. */
	struct sr_dom *sc_dom;
	/** Epoch of the listener that accepted it. */
	uint64_t sc_epoch;
	uint32_t sc_host;
	uint32_t sc_port;
	bool     sc_bulk;
	bool     sc_connecting;
	bool     sc_can_read;
	bool     sc_can_write;
	bool     sc_ended;
	/** To be closed, with this. */
	int             sc_rc;
	struct m0_timer sc_timer;
	/** When a byte moved, or it began to wait. */
	m0_time_t sc_moved;
	/** When the socket last took one. */
	m0_time_t sc_sent;
	/** srr_since of what sc_rest is the end of. */
	m0_time_t sc_reply_since;
	uint64_t  sc_records_nr;
	/** struct sr_out to be sent. */
	struct m0_list sc_out;
	uint32_t       sc_replies_nr;
	/** Calls that wait for their reply. */
	struct m0_list sc_waiting;
	/** The end of a fragment that the socket did not take. */
	uint8_t     *sc_rest;
	uint32_t     sc_rest_nr;
	uint32_t     sc_rest_at;
	struct sr_in sc_in;
};

/** @retval NULL  no memory, or the loop takes no more. `fd` stays open then. */
struct sr_conn *m0_sunrpc__conn_new(int fd, struct sr_dom *dom, m0_time_t now);
/** Ends its calls with `rc`, closes and frees it. */
void m0_sunrpc__conn_close(struct sr_conn *conn, int rc);
/** Gives the connection a turn soon. */
void m0_sunrpc__conn_ready(struct sr_conn *conn);
/**
 * The connection of a domain to a host and port, of one kind; made if it is not
 * there. @retval <0  of the calls that make one.
 */
int m0_sunrpc__conn_find(struct sr_dom *dom, const struct sr_ep *to, bool bulk,
			 m0_time_t now, struct sr_conn **ret);
/** Takes `fd` in, or closes it if there is no place for it. */
void m0_sunrpc__conn_take(int fd, uint64_t epoch, m0_time_t now);
/** Closes one that holds part of a message for too long, for another that wants
 * memory. @retval false  there is none. */
bool m0_sunrpc__conn_relieve(const struct sr_conn *wanting, m0_time_t now);
/** Moves what there is to move, to the end of its turn; may close it. */
void m0_sunrpc__conn_turn(struct sr_conn *conn, m0_time_t now);
/** Looks again when it has stood still for too long. */
void m0_sunrpc__conn_watch(struct sr_conn *conn);
void m0_sunrpc__conn_expired(struct sr_conn *conn, m0_time_t now);
void m0_sunrpc__conn_put(struct sr_conn *conn, struct sr_out *out);
/** Nothing is to be done on it. */
bool m0_sunrpc__conn_is_idle(const struct sr_conn *conn);
/** Reads and handles what there is. @retval <0  it is to be closed. */
int m0_sunrpc__conn_read(struct sr_conn *conn, m0_time_t now);
/** Discards what the connection still receives. */
void m0_sunrpc__in_drop(struct sr_in *in);
void m0_sunrpc__spares_drain(void);

/** Pieces of a buffer's memory. @return segments used. */
int m0_sunrpc__iov(const struct m0_bufvec *bv, m0_bindex_t offset,
		   m0_bcount_t nr, struct iovec *iov, int iov_nr,
		   m0_bcount_t *ret_nr);

/* ------------------------------------------------- what conns hand on -- */

/** The head of a call has come: sets sink, and sri_rc. */
void m0_sunrpc__serve_head(struct sr_conn *conn, m0_time_t now);
/** All of a call has come; `whole`: as it should be. @retval <0 */
int m0_sunrpc__serve_end(struct sr_conn *conn, bool whole, m0_time_t now);
/** A claimed passive buffer is the connection's still, and for a while yet. */
bool m0_sunrpc__passive_keep(const struct sr_conn  *conn,
			     struct m0_net_kit_buf *kb, m0_time_t now);
void m0_sunrpc__reply_sent(struct sr_conn *conn, struct sr_reply *reply,
			   struct m0_net_kit_buf *kb);
/** The buffer is not there any more, nothing was sent. */
void m0_sunrpc__reply_lost(struct sr_reply *reply);
void m0_sunrpc__reply_free(struct sr_reply *reply);
void m0_sunrpc__replies_drain(void);

/** The call that a reply is to, NULL: none. */
struct sr_call *m0_sunrpc__call_of(struct sr_conn *conn, const uint8_t *xid);
void            m0_sunrpc__reply_head(struct sr_conn *conn);
int             m0_sunrpc__reply_end(struct sr_conn *conn, bool whole);
/** `kb` is claimed, or NULL: the buffer has been given up. */
void m0_sunrpc__call_sent(struct sr_conn *conn, struct sr_call *call,
			  struct m0_net_kit_buf *kb, m0_time_t now);
/** Ends the call: completes its buffer, if that still waits. */
void m0_sunrpc__call_end(struct sr_call *call, int rc, uint32_t nr);
/** How many time-outs of its domain it has for an answer. */
uint32_t m0_sunrpc__call_times(const struct sr_call *call);
/** Takes up a posted call. */
void m0_sunrpc__call_begin(struct sr_call *call, m0_time_t now);
void m0_sunrpc__send(struct m0_net_kit_buf *kb);
void m0_sunrpc__bulk(struct m0_net_kit_buf        *kb,
		     const struct m0_net_kit_desc *desc);
void m0_sunrpc__calls_drain(void);

/* ----------------------------------------------------------------- node -- */

/** The process' own. */
struct sr_node {
	/** Machines, listener, posted calls, domains. A leaf. */
	struct m0_mutex              sn_lock;
	struct m0_net_kit_addr_table sn_machines;
	uint32_t                     sn_machines_nr;
	struct m0_list               sn_machine_list;
	/** Address of the listener; sn_listener.lof_fd < 0: there is none. */
	struct sr_ep      sn_own;
	struct m0_loop_fd sn_listener;
	bool              sn_is_bound;
	/** Counts listeners: connections of earlier ones are closed. */
	uint64_t        sn_epoch;
	struct sr_call *sn_posted;
	struct sr_call *sn_posted_last;
	struct sr_call *sn_free;
	uint32_t        sn_free_nr;
	struct m0_list  sn_doms;
	bool            sn_dom_gone;
	uint32_t        sn_users_nr;

	/* The thread's. */
	struct m0_strand sn_strand;
	/** Where it runs. */
	struct m0_os_cpus sn_cpus;
	struct m0_loop    sn_loop;
	struct m0_timerq  sn_timerq;
	struct m0_list    sn_ready;
	struct m0_list    sn_conns_in;
	/** Connections, most recently used first. */
	struct m0_list sn_conns_out;
	uint64_t       sn_conns_nr;
	uint64_t       sn_epoch_seen;
	uint32_t       sn_xid;
	m0_bcount_t    sn_partial_bytes;
	/** Memory for them that is free: of 64 KiB, 256 KiB, 1 MiB. */
	uint8_t  *sn_spare[3];
	m0_time_t sn_accept_again;
	/** The loop was just asked. */
	bool                            sn_looked;
	struct m0_list                  sn_replies_free;
	uint32_t                        sn_replies_free_nr;
	uint8_t                        *sn_stage;
	struct m0_net_bulk_sunrpc_stats sn_stats;
};
extern struct sr_node m0_sunrpc__node;

/** All of it but the thread. @retval -ENOMEM, or of the loop's calls. */
int  m0_sunrpc__node_init(void);
void m0_sunrpc__node_fini(void);
/** Step of the thread. @return when to make the next one. */
m0_time_t m0_sunrpc__node_step(struct m0_strand *strand, m0_time_t now);
int       m0_sunrpc__node_share(const struct m0_net_xprt *xprt);
void      m0_sunrpc__node_unshare(const struct m0_net_xprt *xprt);
/**
 * Listens for a machine, or finds that that is done; se_host and se_port may be
 * 0, and are set. sn_lock held, as for the next.
 */
int  m0_sunrpc__node_listen(struct sr_ep *ep);
void m0_sunrpc__node_unlisten(void);
/**
 * A machine has come or gone: a confined one that is alone has the thread on its
 * processors. sn_lock held.
 */
void m0_sunrpc__cpus_hint(void);
/**
 * Has rpcbind know where the process listens now, if asked to, or that it does
 * not. May block, no lock held.
 */
void m0_sunrpc__node_rpcbind(void);
/** Has the thread look. */
void m0_sunrpc__node_wake(void);

/** One writer. */
static inline void sr_count(uint64_t *counter, int64_t nr)
{
	__atomic_store_n(counter, *counter + (uint64_t)nr, __ATOMIC_RELAXED);
}

#endif /* M0_SRC_XPRT_SUNRPC_INTERNAL_H */

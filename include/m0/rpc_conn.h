/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Connections to services, sessions on them, update streams in those.
 * Included by m0/rpc.h, whose opening comment applies.
 *
 * Everything that can be asked of a server twice is: an establish that is
 * repeated finds what the first has made. A server that does not want says why
 * in its answer: establish ends with that error, not with a time-out.
 *
 * Exactly once. In a stream, requests are numbered by the client, executed by
 * the server in that order, each after the one before was answered, and each
 * answer is kept until the client has acknowledged it, in the store, together
 * with the number executed last. What is sent again is answered from there. A
 * server that comes back finds that in its store, the client establishes
 * again by itself, and goes on where the server is. If the store is volatile
 * the server has forgotten: requests that may have been executed end with
 * -ESTALE, those never sent go on.
 *
 * A client that comes back (same rc_uuid, higher rc_incarnation) fences its
 * past: what the server still gets from the older incarnation is answered with
 * -ESTALE and not executed.
 */
/* First, and outside the guard: rpc.h puts its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_CONN_H
#define M0_RPC_CONN_H

#ifdef __cplusplus
extern "C" {
#endif

enum m0_rpc_conn_state {
	M0_RPC_CONN_UNINITIALISED = 0,
	M0_RPC_CONN_INITIALISED,
	M0_RPC_CONN_CONNECTING,
	M0_RPC_CONN_ACTIVE,
	M0_RPC_CONN_FAILED,
	M0_RPC_CONN_TERMINATING,
	M0_RPC_CONN_TERMINATED
};

enum m0_rpc_conn_flags {
	/** Made by m0_rpc_conn_init(). */
	M0_RPC_CONN_SENDER_END = 1,
	/** A peer's connection to this machine. The library owns it; only hooks
	 * of struct m0_rpc_machine_watch see it, and no call takes it but
	 * m0_rpc_conn_addr(). */
	M0_RPC_CONN_RECV_END = 2
};

struct m0_rpc_conn {
	/** Before establish; NULL (default): the machine's rc_policy. */
	const struct m0_rpc_frm_policy *c_policy;
	/**
	 * Optional, set between init and establish: how an establish or a
	 * terminate that was not waited for completes. The library calls it on
	 * the machine's thread, with no lock held, never on the stack of a
	 * call, once for each of these states that the connection reaches:
	 * ACTIVE and FAILED (establish has completed; FAILED also later, if an
	 * ACTIVE connection is lost for good), TERMINATED. c_rc is the reason.
	 * It may establish sessions, post and terminate; it must not finalise.
	 */
	void (*c_changed)(struct m0_rpc_conn    *conn,
			  enum m0_rpc_conn_state state);
	/** The application's. */
	void *c_app_private;
	/* Read only. */
	/** enum m0_rpc_conn_flags. */
	uint32_t c_flags;
	/** The client: rc_uuid and rc_incarnation of the machine that sends. */
	struct m0_uint128      c_uuid;
	uint64_t               c_incarnation;
	struct m0_uint128      c_service;
	struct m0_rpc_machine *c_rpc_machine;
	uint64_t               c_max_rpcs_in_flight;
	/** Why it is FAILED. TERMINATED: 0 the server has confirmed, or was not
	 * to be told; -ETIMEDOUT it did not answer; -ESHUTDOWN the machine
	 * stopped; other errors: it was not told. */
	int32_t  c_rc;
	uint32_t c_state;
	/** The server's incarnation, as it said last. */
	uint64_t c_server_incarnation;
	/** The library's. */
	struct m0_rpc__conn *c_lib;
};

/**
 * @param service  the logical name; 0: one of its own, for this address alone.
 * @param addr     where it is now; NULL: as m0_rpc_machine_map() has said.
 * @param max_rpcs_in_flight  packets on the way at once; 0: 8.
 * @retval -EINVAL  not an address. @retval -ENOENT  the map has none.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_conn_init(struct m0_rpc_conn *conn,
			       struct m0_uint128 service, const char *addr,
			       struct m0_rpc_machine *machine,
			       uint64_t               max_rpcs_in_flight);
/** Pre: INITIALISED, FAILED or TERMINATED; its sessions are finalised. Waits
 * for packets under way; not from a callback. */
M0_EXTERN void m0_rpc_conn_fini(struct m0_rpc_conn *conn);
/**
 * Asks the server; ends in ACTIVE, or FAILED with c_rc. Any thread.
 * @param abs_timeout  -ETIMEDOUT then; M0_TIME_NEVER: rc_timeout_ns from now.
 * c_rc: -ECONNREFUSED the server does not want clients; -EPROTONOSUPPORT no
 * common version; -ESTALE a younger incarnation of this client is known;
 * -ENOSPC the server's bound of clients; -ETIMEDOUT nobody answered.
 */
M0_EXTERN int m0_rpc_conn_establish(struct m0_rpc_conn *conn,
				    m0_time_t           abs_timeout);
/** Blocks; not from a callback. 0 or c_rc. */
M0_EXTERN int m0_rpc_conn_establish_sync(struct m0_rpc_conn *conn,
					 m0_time_t           abs_timeout);
/** Init and establish_sync; with an error nothing is left. */
M0_EXTERN int m0_rpc_conn_create(struct m0_rpc_conn *conn,
				 struct m0_uint128 service, const char *addr,
				 struct m0_rpc_machine *machine,
				 uint64_t               max_rpcs_in_flight,
				 m0_time_t              abs_timeout);
/**
 * Tells the server that it can forget. Ends in TERMINATED, also if the server
 * does not answer: c_rc says which. Pre: ACTIVE or FAILED, no session but ended
 * ones.
 * @retval -ESHUTDOWN  the machine has ended: the connection is TERMINATED with
 *                     that, and c_changed is not called.
 */
M0_EXTERN int m0_rpc_conn_terminate(struct m0_rpc_conn *conn,
				    m0_time_t           abs_timeout);
/** Blocks; not from a callback. Returns c_rc: -ETIMEDOUT from a dead peer. */
M0_EXTERN int m0_rpc_conn_terminate_sync(struct m0_rpc_conn *conn,
					 m0_time_t           abs_timeout);
/** terminate_sync and fini; the result is that of terminate_sync. */
M0_EXTERN int m0_rpc_conn_destroy(struct m0_rpc_conn *conn,
				  m0_time_t           abs_timeout);
/** Blocks until the state is one of `states` (bits 1 << state).
 * @retval -ETIMEDOUT */
M0_EXTERN int m0_rpc_conn_timedwait(struct m0_rpc_conn *conn, uint64_t states,
				    m0_time_t abs_timeout);
/**
 * Copies the peer's address, of M0_RPC_ADDR_MAX bytes at most: where it is
 * spoken to, or (RECV_END) where it was heard last. On the machine's thread, as
 * hooks, handlers and callbacks are.
 * @retval -ENOENT  not spoken to yet.
 */
M0_EXTERN int m0_rpc_conn_addr(const struct m0_rpc_conn *conn, char *ret_addr);

enum m0_rpc_session_state {
	M0_RPC_SESSION_UNINITIALISED = 0,
	M0_RPC_SESSION_INITIALISED,
	M0_RPC_SESSION_ESTABLISHING,
	M0_RPC_SESSION_IDLE,
	/** Items posted and not final: s_hold_cnt. */
	M0_RPC_SESSION_BUSY,
	M0_RPC_SESSION_FAILED,
	M0_RPC_SESSION_TERMINATING,
	M0_RPC_SESSION_TERMINATED
};

struct m0_rpc_session {
	/** Before establish: update streams (default 8) and how many requests
	 * of one may be on the way (default 16); the server may give less. */
	uint32_t s_streams_nr;
	uint32_t s_window;
	/** As c_changed: IDLE (established) or FAILED, TERMINATED; s_rc is the
	 * reason. Not for changes between IDLE and BUSY. */
	void (*s_changed)(struct m0_rpc_session    *session,
			  enum m0_rpc_session_state state);
	/** The application's. */
	void *s_app_private;
	/* Read only. */
	uint64_t            s_session_id;
	struct m0_rpc_conn *s_conn;
	uint32_t            s_hold_cnt;
	/** As c_rc. -ENOTCONN in TERMINATED: the connection was not ACTIVE, so
	 * that the server was not told. */
	int32_t  s_rc;
	uint32_t s_state;
	bool     s_cancelled;
	/** The library's. */
	struct m0_rpc__session *s_lib;
};

/** @retval -ENOMEM */
M0_EXTERN int m0_rpc_session_init(struct m0_rpc_session *session,
				  struct m0_rpc_conn    *conn);
/** Pre: INITIALISED, FAILED or TERMINATED. Not from a callback. */
M0_EXTERN void m0_rpc_session_fini(struct m0_rpc_session *session);
/** As m0_rpc_conn_establish(). Pre: the connection is ACTIVE. s_rc: -ENOSPC
 * the server's bound of sessions. */
M0_EXTERN int m0_rpc_session_establish(struct m0_rpc_session *session,
				       m0_time_t              abs_timeout);
M0_EXTERN int m0_rpc_session_establish_sync(struct m0_rpc_session *session,
					    m0_time_t              abs_timeout);
M0_EXTERN int m0_rpc_session_create(struct m0_rpc_session *session,
				    struct m0_rpc_conn    *conn,
				    m0_time_t              abs_timeout);
/** Tells the server that it can forget; as m0_rpc_conn_terminate(), with s_rc.
 * Pre: IDLE or FAILED. */
M0_EXTERN int m0_rpc_session_terminate(struct m0_rpc_session *session,
				       m0_time_t              abs_timeout);
/** Blocks; not from a callback. Returns s_rc: -ETIMEDOUT from a dead peer. */
M0_EXTERN int m0_rpc_session_terminate_sync(struct m0_rpc_session *session,
					    m0_time_t              abs_timeout);
/** Quiesce, terminate_sync and fini; the result is that of terminate_sync. */
M0_EXTERN int m0_rpc_session_destroy(struct m0_rpc_session *session,
				     m0_time_t              abs_timeout);
M0_EXTERN int m0_rpc_session_timedwait(struct m0_rpc_session *session,
				       uint64_t states, m0_time_t abs_timeout);
/** Ends its items with -ECANCELED; it takes no more. Any thread. */
M0_EXTERN void m0_rpc_session_cancel(struct m0_rpc_session *session);
/** Blocks until IDLE or ended. Not from a callback. */
M0_EXTERN void m0_rpc_session_quiesce(struct m0_rpc_session *session);
/** 0: posts are taken; -EINVAL not initialised, -ECANCELED, -ENOTCONN. */
M0_EXTERN int m0_rpc_session_validate(const struct m0_rpc_session *session);
/** Largest ri_size, and largest payload. Pre: established. */
M0_EXTERN m0_bcount_t
m0_rpc_session_get_max_item_size(const struct m0_rpc_session *session);
M0_EXTERN m0_bcount_t
m0_rpc_session_get_max_item_payload_size(const struct m0_rpc_session *session);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_CONN_H */

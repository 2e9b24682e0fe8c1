/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Connections to services, sessions on them, update streams in the sessions.
 * Included by m0/rpc.h, whose opening comment applies.
 *
 * A client may repeat every request to a server: an establish that is repeated
 * finds the connection or session that the first one made. If a server refuses,
 * its answer gives the reason, and establish ends with that error instead of a
 * time-out.
 *
 * Exactly once. The client numbers the requests of a stream. The server
 * executes them in that order, each after the one before was answered. It keeps
 * each answer in the store, together with the number that it executed last,
 * until the client has acknowledged the answer. It answers a resent request
 * from there. A server that restarts finds this in its store; the client
 * establishes the connection again by itself, and continues where the server
 * is. If the store is volatile, the restarted server has lost it: requests that
 * it may have executed fail with -ESTALE, and requests never sent continue.
 *
 * A client that restarts (same rc_uuid, higher rc_incarnation) fences its older
 * incarnations: the server answers their requests with -ESTALE and does not
 * execute them.
 */
/* Include this first, outside the guard: rpc.h includes its parts in order. */
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
	/** The application made it by m0_rpc_conn_init(). */
	M0_RPC_CONN_SENDER_END = 1,
	/** A peer's connection to this RPC machine. The library owns it. Only
	 * hooks of struct m0_rpc_machine_watch see it, and the only call that
	 * accepts it is m0_rpc_conn_addr(). */
	M0_RPC_CONN_RECV_END = 2
};

struct m0_rpc_conn {
	/** Target policy, set before establish. NULL (default): rc_policy of
	 * the RPC machine. */
	const struct m0_rpc_frm_policy *c_policy;
	/**
	 * Optional, set between init and establish: reports the completion of
	 * an establish or a terminate that did not block. The library calls it
	 * on the RPC machine's thread, with no lock held, never on the stack of
	 * a call. It calls it once for each of these states that the connection
	 * reaches: ACTIVE and FAILED (establish has completed; an ACTIVE
	 * connection that is lost for good becomes FAILED later, too),
	 * TERMINATED. c_rc is the reason. The callback may establish sessions,
	 * post and terminate; it must not finalise.
	 */
	void (*c_changed)(struct m0_rpc_conn    *conn,
			  enum m0_rpc_conn_state state);
	/** For the application; the library does not use it. */
	void *c_app_private;
	/* Read only. */
	/** Bits of enum m0_rpc_conn_flags. */
	uint32_t c_flags;
	/** The client: rc_uuid and rc_incarnation of the RPC machine that
	 * connects. */
	struct m0_uint128      c_uuid;
	uint64_t               c_incarnation;
	struct m0_uint128      c_service;
	struct m0_rpc_machine *c_rpc_machine;
	uint64_t               c_max_rpcs_in_flight;
	/**
	 * Reason of FAILED. In TERMINATED: 0: the server has confirmed, or
	 * needed no notification; -ETIMEDOUT: the server did not answer;
	 * -ESHUTDOWN: the RPC machine stopped; other errors: the server was not
	 * notified.
	 */
	int32_t  c_rc;
	uint32_t c_state;
	/** Incarnation that the server reported last. */
	uint64_t c_server_incarnation;
	/** For the library. */
	struct m0_rpc__conn *c_lib;
};

/**
 * @param service  the logical name; 0: a name of its own, for this address
 *                 alone.
 * @param addr     the network address at present; NULL: the one that
 *                 m0_rpc_machine_map() has set.
 * @param max_rpcs_in_flight  packets in flight at once; 0: 8.
 * @retval -EINVAL  `addr` is not an address.
 * @retval -ENOENT  the map has no address for the service.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_conn_init(struct m0_rpc_conn *conn,
			       struct m0_uint128 service, const char *addr,
			       struct m0_rpc_machine *machine,
			       uint64_t               max_rpcs_in_flight);
/** Pre: INITIALISED, FAILED or TERMINATED; its sessions are finalised. Waits
 * for packets in flight; not from a callback. */
M0_EXTERN void m0_rpc_conn_fini(struct m0_rpc_conn *conn);
/**
 * Asks the server for the connection. It becomes ACTIVE, or FAILED with c_rc.
 * Any thread.
 * @param abs_timeout  when to fail with -ETIMEDOUT; M0_TIME_NEVER:
 *                     rc_timeout_ns from now.
 * c_rc: -ECONNREFUSED: the server accepts no clients; -EPROTONOSUPPORT: no
 * common version; -ESTALE: the server knows a younger incarnation of this
 * client; -ENOSPC: the server has as many clients as it may have; -ETIMEDOUT:
 * the server did not answer.
 */
M0_EXTERN int m0_rpc_conn_establish(struct m0_rpc_conn *conn,
				    m0_time_t           abs_timeout);
/** m0_rpc_conn_establish(), and waits for the outcome: 0 or c_rc. Blocks; not
 * from a callback. */
M0_EXTERN int m0_rpc_conn_establish_sync(struct m0_rpc_conn *conn,
					 m0_time_t           abs_timeout);
/** m0_rpc_conn_init() and m0_rpc_conn_establish_sync(). After an error nothing
 * is left to finalise. */
M0_EXTERN int m0_rpc_conn_create(struct m0_rpc_conn *conn,
				 struct m0_uint128 service, const char *addr,
				 struct m0_rpc_machine *machine,
				 uint64_t               max_rpcs_in_flight,
				 m0_time_t              abs_timeout);
/**
 * Notifies the server, so that it can drop its state of the connection. The
 * connection becomes TERMINATED also if the server does not answer; c_rc
 * distinguishes the two. Pre: ACTIVE or FAILED, and all sessions have ended.
 * @retval -ESHUTDOWN  the RPC machine has ended: the connection is TERMINATED
 *                     with this error, and c_changed is not called.
 */
M0_EXTERN int m0_rpc_conn_terminate(struct m0_rpc_conn *conn,
				    m0_time_t           abs_timeout);
/** m0_rpc_conn_terminate(), and waits. Blocks; not from a callback. Returns
 * c_rc: -ETIMEDOUT if the peer is dead. */
M0_EXTERN int m0_rpc_conn_terminate_sync(struct m0_rpc_conn *conn,
					 m0_time_t           abs_timeout);
/** m0_rpc_conn_terminate_sync() and m0_rpc_conn_fini(). Returns the result of
 * terminate_sync. */
M0_EXTERN int m0_rpc_conn_destroy(struct m0_rpc_conn *conn,
				  m0_time_t           abs_timeout);
/**
 * Blocks until the state is one of `states` (bits 1 << state).
 * @retval -ETIMEDOUT
 */
M0_EXTERN int m0_rpc_conn_timedwait(struct m0_rpc_conn *conn, uint64_t states,
				    m0_time_t abs_timeout);
/**
 * Copies the peer's address, of M0_RPC_ADDR_MAX bytes at most: the one that the
 * RPC machine sends to, or (RECV_END) the one from which the peer sent last.
 * Only on the RPC machine's thread, that is in hooks, handlers and callbacks.
 * @retval -ENOENT  nothing was sent to the peer yet.
 */
M0_EXTERN int m0_rpc_conn_addr(const struct m0_rpc_conn *conn, char *ret_addr);

enum m0_rpc_session_state {
	M0_RPC_SESSION_UNINITIALISED = 0,
	M0_RPC_SESSION_INITIALISED,
	M0_RPC_SESSION_ESTABLISHING,
	M0_RPC_SESSION_IDLE,
	/** Items are posted and not final; s_hold_cnt is their number. */
	M0_RPC_SESSION_BUSY,
	M0_RPC_SESSION_FAILED,
	M0_RPC_SESSION_TERMINATING,
	M0_RPC_SESSION_TERMINATED
};

struct m0_rpc_session {
	/** Set before establish: number of update streams (default 8), and how
	 * many requests of one may be in flight (default 16). The server may
	 * grant less. */
	uint32_t s_streams_nr;
	uint32_t s_window;
	/** As c_changed: called for IDLE (established), FAILED and TERMINATED;
	 * s_rc is the reason. Not called for changes between IDLE and BUSY. */
	void (*s_changed)(struct m0_rpc_session    *session,
			  enum m0_rpc_session_state state);
	/** For the application; the library does not use it. */
	void *s_app_private;
	/* Read only. */
	uint64_t            s_session_id;
	struct m0_rpc_conn *s_conn;
	uint32_t            s_hold_cnt;
	/** As c_rc. -ENOTCONN in TERMINATED: the connection was not ACTIVE, so
	 * the server was not notified. */
	int32_t  s_rc;
	uint32_t s_state;
	bool     s_cancelled;
	/** For the library. */
	struct m0_rpc__session *s_lib;
};

/** @retval -ENOMEM */
M0_EXTERN int m0_rpc_session_init(struct m0_rpc_session *session,
				  struct m0_rpc_conn    *conn);
/** Pre: INITIALISED, FAILED or TERMINATED. Not from a callback. */
M0_EXTERN void m0_rpc_session_fini(struct m0_rpc_session *session);
/** As m0_rpc_conn_establish(). Pre: the connection is ACTIVE. s_rc is -ENOSPC
 * if the server has as many sessions of this client as it may have. */
M0_EXTERN int m0_rpc_session_establish(struct m0_rpc_session *session,
				       m0_time_t              abs_timeout);
M0_EXTERN int m0_rpc_session_establish_sync(struct m0_rpc_session *session,
					    m0_time_t              abs_timeout);
M0_EXTERN int m0_rpc_session_create(struct m0_rpc_session *session,
				    struct m0_rpc_conn    *conn,
				    m0_time_t              abs_timeout);
/** Notifies the server, so that it can drop its state of the session; as
 * m0_rpc_conn_terminate(), with s_rc. Pre: IDLE or FAILED. */
M0_EXTERN int m0_rpc_session_terminate(struct m0_rpc_session *session,
				       m0_time_t              abs_timeout);
/** m0_rpc_session_terminate(), and waits. Blocks; not from a callback. Returns
 * s_rc: -ETIMEDOUT if the peer is dead. */
M0_EXTERN int m0_rpc_session_terminate_sync(struct m0_rpc_session *session,
					    m0_time_t              abs_timeout);
/** m0_rpc_session_quiesce(), _terminate_sync() and _fini(). Returns the result
 * of terminate_sync. */
M0_EXTERN int m0_rpc_session_destroy(struct m0_rpc_session *session,
				     m0_time_t              abs_timeout);
M0_EXTERN int m0_rpc_session_timedwait(struct m0_rpc_session *session,
				       uint64_t states, m0_time_t abs_timeout);
/** Cancels the session: its items fail with -ECANCELED, and it accepts no more.
 * Any thread. */
M0_EXTERN void m0_rpc_session_cancel(struct m0_rpc_session *session);
/** Blocks until the session is IDLE or has ended. Not from a callback. */
M0_EXTERN void m0_rpc_session_quiesce(struct m0_rpc_session *session);
/**
 * Returns whether the session accepts posts: 0: it does; -EINVAL: it is not
 * initialised; -ECANCELED: it was cancelled; -ENOTCONN: it is not established.
 */
M0_EXTERN int m0_rpc_session_validate(const struct m0_rpc_session *session);
/** Largest ri_size, and largest payload, of an item. Pre: established. */
M0_EXTERN m0_bcount_t
m0_rpc_session_get_max_item_size(const struct m0_rpc_session *session);
M0_EXTERN m0_bcount_t
m0_rpc_session_get_max_item_payload_size(const struct m0_rpc_session *session);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_CONN_H */

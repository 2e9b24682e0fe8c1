/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Waiting for sessions, and what they take. */
#include "rpc/rpc_internal.h"

static bool is_let_go(void *arg)
{
	const struct m0_rpc_session *session = arg;

	return __atomic_load_n(&session->s_hold_cnt, __ATOMIC_ACQUIRE) == 0;
}

struct session_wait {
	const struct m0_rpc_session *swt_session;
	uint64_t                     swt_states;
};

static bool session_is(void *arg)
{
	const struct session_wait   *w = arg;
	const struct m0_rpc_session *session = w->swt_session;
	uint32_t state = __atomic_load_n(&session->s_state, __ATOMIC_ACQUIRE);

	/* A post that the machine has not seen yet. */
	if (state == M0_RPC_SESSION_IDLE &&
	    __atomic_load_n(&session->s_hold_cnt, __ATOMIC_ACQUIRE) > 0)
		state = M0_RPC_SESSION_BUSY;
	return w->swt_states & UINT64_C(1) << state;
}

int m0_rpc_session_timedwait(struct m0_rpc_session *session, uint64_t states,
			     m0_time_t abs_timeout)
{
	struct session_wait w = { session, states };

	M0_PRE(session->s_lib != NULL);
	return m0_rpc__wait(session->s_lib->rsx_machine, session_is, &w,
			    abs_timeout);
}

int m0_rpc_session_establish_sync(struct m0_rpc_session *session,
				  m0_time_t              abs_timeout)
{
	int rc = m0_rpc_session_establish(session, abs_timeout);

	if (rc != 0)
		return rc;
	(void)m0_rpc_session_timedwait(session,
				       1 << M0_RPC_SESSION_IDLE |
					       1 << M0_RPC_SESSION_BUSY |
					       1 << M0_RPC_SESSION_FAILED,
				       M0_TIME_NEVER);
	return session->s_rc;
}

int m0_rpc_session_create(struct m0_rpc_session *session,
			  struct m0_rpc_conn *conn, m0_time_t abs_timeout)
{
	int rc = m0_rpc_session_init(session, conn);

	if (rc != 0)
		return rc;
	rc = m0_rpc_session_establish_sync(session, abs_timeout);
	if (rc != 0)
		m0_rpc_session_fini(session);
	return rc;
}

int m0_rpc_session_terminate_sync(struct m0_rpc_session *session,
				  m0_time_t              abs_timeout)
{
	int rc = m0_rpc_session_terminate(session, abs_timeout);

	if (rc != 0)
		return rc;
	(void)m0_rpc_session_timedwait(session, 1 << M0_RPC_SESSION_TERMINATED,
				       M0_TIME_NEVER);
	return session->s_rc;
}

void m0_rpc_session_quiesce(struct m0_rpc_session *session)
{
	M0_PRE(session->s_lib != NULL);
	(void)m0_rpc_session_timedwait(
		session, ~(UINT64_C(1) << M0_RPC_SESSION_BUSY), M0_TIME_NEVER);
	(void)m0_rpc__wait(session->s_lib->rsx_machine, is_let_go, session,
			   M0_TIME_NEVER);
}

int m0_rpc_session_destroy(struct m0_rpc_session *session,
			   m0_time_t              abs_timeout)
{
	int rc;

	m0_rpc_session_quiesce(session);
	rc = m0_rpc_session_terminate_sync(session, abs_timeout);
	m0_rpc_session_fini(session);
	return rc;
}

m0_bcount_t m0_rpc_session_get_max_item_size(
	const struct m0_rpc_session *session)
{
	M0_PRE(session->s_conn->c_lib != NULL);
	return m0_rpc__packet_max(session->s_conn->c_lib) -
	       M0_RPC_WIRE_PACKET_BYTES;
}

m0_bcount_t m0_rpc_session_get_max_item_payload_size(
	const struct m0_rpc_session *session)
{
	return (m0_rpc_session_get_max_item_size(session) -
		M0_RPC_WIRE_ITEM_BYTES) &
	       ~(m0_bcount_t)(M0_RPC_WIRE_ALIGN - 1);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Callbacks that notify applications of changes of connections and sessions. Completions of what
 * was not waited for are calls of the machine's own list, so that they run at
 * the top of a step; a waiter may see the state earlier, and the owner's fini
 * waits for the call.
 */
#include "rpc/rpc_internal.h"

/* ----------------------------------------------------------- completions -- */

void m0_rpc__notice_add(struct m0_rpc__machine *m,
			struct m0_rpc__notice *notice, uint32_t state,
			void (*run)(struct m0_rpc__machine *m,
				    struct m0_rpc__call    *call))
{
	M0_PRE(state < 32);
	M0_PRE(run != NULL);
	M0_PRE(m0_rpc__is_here(m));
	if (__atomic_fetch_or(&notice->nti_states, UINT32_C(1) << state,
			      __ATOMIC_ACQ_REL) != 0)
		return;
	notice->nti_call.rcl_run = run;
	(void)m0_rpc__call_push(m, &notice->nti_call);
}

void m0_rpc__notice_run(struct m0_rpc__machine *m,
			struct m0_rpc__notice  *notice,
			void (*notify)(struct m0_rpc__notice *notice,
				       uint32_t               state))
{
	uint32_t left = __atomic_load_n(&notice->nti_states, __ATOMIC_RELAXED);

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(notify != NULL);
	while (left != 0) {
		uint32_t bit = left & -left;

		notify(notice, (uint32_t)__builtin_ctz(bit));
		left = __atomic_and_fetch(&notice->nti_states, ~bit,
					  __ATOMIC_ACQ_REL);
	}
	m0_rpc__changed(m);
}

/* ----------------------------------------------------------------- hooks -- */

void m0_rpc__watch_conn_removed(struct m0_rpc__machine *m,
				struct m0_rpc_conn     *conn)
{
	struct m0_rpc_machine_watch *watch;

	M0_PRE(conn->c_rpc_machine == m->rml_machine);
	m0_list_for_each_entry(&m->rml_counts.rco_watches, watch,
			       struct m0_rpc_machine_watch, mw_link)
		if (watch->mw_conn_removed != NULL)
			watch->mw_conn_removed(watch, conn);
}

void m0_rpc__watch_session_removed(struct m0_rpc__machine *m,
				   struct m0_rpc_session  *session)
{
	struct m0_rpc_machine_watch *watch;

	m0_list_for_each_entry(&m->rml_counts.rco_watches, watch,
			       struct m0_rpc_machine_watch, mw_link)
		if (watch->mw_session_removed != NULL)
			watch->mw_session_removed(watch, session);
}

void m0_rpc__watch_client(struct m0_rpc__client *client)
{
	struct m0_rpc__machine *m = client->rct_machine;

	M0_PRE(m0_rpc__client_invariant(client));
	client->rct_conn = (struct m0_rpc_conn){
		.c_flags = M0_RPC_CONN_RECV_END,
		.c_uuid = client->rct_uuid,
		.c_incarnation = client->rct_incarnation,
		.c_rpc_machine = m->rml_machine,
		.c_state = M0_RPC_CONN_ACTIVE,
		.c_server_incarnation = m->rml_cfg.rc_incarnation,
	};
	m0_rpc__watch_conn(m, &client->rct_conn);
}

void m0_rpc__watch_client_removed(struct m0_rpc__client *client)
{
	M0_PRE(client->rct_gone);
	client->rct_conn.c_state = M0_RPC_CONN_TERMINATED;
	m0_rpc__watch_conn_removed(client->rct_machine, &client->rct_conn);
}

void m0_rpc__watch_ssession(struct m0_rpc__ssession *session)
{
	struct m0_rpc__client *client = session->rsw_client;

	M0_PRE(m0_rpc__ssession_invariant(session));
	session->rsw_session = (struct m0_rpc_session){
		.s_streams_nr = session->rsw_streams_nr,
		.s_window = session->rsw_window,
		.s_session_id = session->rsw_id,
		.s_conn = &client->rct_conn,
		.s_state = M0_RPC_SESSION_IDLE,
	};
	m0_rpc__watch_session(client->rct_machine, &session->rsw_session);
}

void m0_rpc__watch_ssession_removed(struct m0_rpc__ssession *session)
{
	M0_PRE(session->rsw_gone);
	session->rsw_session.s_state = M0_RPC_SESSION_TERMINATED;
	m0_rpc__watch_session_removed(session->rsw_client->rct_machine,
				      &session->rsw_session);
}

/* --------------------------------------------------------------- address -- */

int m0_rpc_conn_addr(const struct m0_rpc_conn *conn, char *ret_addr)
{
	const struct m0_rpc__target *target;

	M0_PRE(m0_rpc__is_here(conn->c_rpc_machine->rm_lib));
	if (conn->c_flags & M0_RPC_CONN_RECV_END)
		target = container_of(conn, struct m0_rpc__client, rct_conn)
				 ->rct_target;
	else
		target = conn->c_lib->rcx_target;
	if (target == NULL)
		return -ENOENT;
	strcpy(ret_addr, target->trg_key.trk_ep->nep_addr);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Callbacks that notify applications of changes of connections and sessions: c_changed, s_changed
 * and the hooks of watches. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_NOTICE_H
#define M0_SRC_RPC_NOTICE_H

/* ---------------------------------------------------------------- notice.c -- */

/** States that an application is to be notified of, on no stack but a step's. */
struct m0_rpc__notice {
	struct m0_rpc__call nti_call;
	/** Bits 1 << state, notified in ascending order. Until all of them are, the
	 * owner must not go. Atomic. */
	uint32_t nti_states;
};

/** Adds a state; the machine's thread. */
void m0_rpc__notice_add(struct m0_rpc__machine *m,
			struct m0_rpc__notice *notice, uint32_t state,
			void (*run)(struct m0_rpc__machine *m,
				    struct m0_rpc__call    *call));
/** Calls notify(notice, state) for each state that was added; then the owner may be
 * gone. */
void m0_rpc__notice_run(struct m0_rpc__machine *m,
			struct m0_rpc__notice  *notice,
			void (*notify)(struct m0_rpc__notice *notice,
				       uint32_t               state));
/** Any thread. */
static inline bool m0_rpc__notice_is_done(const struct m0_rpc__notice *notice)
{
	return __atomic_load_n(&notice->nti_states, __ATOMIC_ACQUIRE) == 0;
}

/** Hooks of watches. Added and removed are called in pairs. */
void m0_rpc__watch_conn_removed(struct m0_rpc__machine *m,
				struct m0_rpc_conn     *conn);
void m0_rpc__watch_session_removed(struct m0_rpc__machine *m,
				   struct m0_rpc_session  *session);
/** A peer has connected; has made a session. */
void m0_rpc__watch_client(struct m0_rpc__client *client);
void m0_rpc__watch_ssession(struct m0_rpc__ssession *session);
/** The client, or its session, is removed. */
void m0_rpc__watch_client_removed(struct m0_rpc__client *client);
void m0_rpc__watch_ssession_removed(struct m0_rpc__ssession *session);

#endif /* M0_SRC_RPC_NOTICE_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hooks of watches for what peers make, and completions of establish and
 * terminate that nobody waits for. */
#include <poll.h>

#include "rt.h"

enum {
	LOG_MAX = 32
};

/* Calls of the hooks of a server's watch. */
static struct seen {
	int      sn_conns;
	int      sn_conns_removed;
	int      sn_sessions;
	int      sn_sessions_removed;
	int      sn_ends;
	uint64_t sn_session_id;
	uint32_t sn_flags;
	/** The session's connection is the one that was added. */
	bool                sn_same;
	struct m0_uint128   sn_uuid;
	struct m0_rpc_conn *sn_conn;
	char                sn_addr[M0_RPC_ADDR_MAX];
} seen;

static void conn_added(struct m0_rpc_machine_watch *watch,
		       struct m0_rpc_conn          *conn)
{
	(void)watch;
	seen.sn_conn = conn;
	seen.sn_flags = conn->c_flags;
	seen.sn_uuid = conn->c_uuid;
	cf_inc(&seen.sn_conns);
	cf_wake();
}

static void session_added(struct m0_rpc_machine_watch *watch,
			  struct m0_rpc_session       *session)
{
	(void)watch;
	seen.sn_session_id = session->s_session_id;
	seen.sn_same = session->s_conn == seen.sn_conn;
	CF_EQ(m0_rpc_conn_addr(session->s_conn, seen.sn_addr), 0,
	      "the peer has an address");
	CF_EQ(session->s_state, M0_RPC_SESSION_IDLE, "it is there");
	cf_inc(&seen.sn_sessions);
	cf_wake();
}

static void session_removed(struct m0_rpc_machine_watch *watch,
			    struct m0_rpc_session       *session)
{
	(void)watch;
	CF_EQ(session->s_state, M0_RPC_SESSION_TERMINATED, "it is over");
	CF_EQ(seen.sn_conns_removed, 0, "sessions go before connections");
	cf_inc(&seen.sn_sessions_removed);
	cf_wake();
}

static void conn_removed(struct m0_rpc_machine_watch *watch,
			 struct m0_rpc_conn          *conn)
{
	(void)watch;
	CF_TRUE(conn == seen.sn_conn, "the one that was added");
	cf_inc(&seen.sn_conns_removed);
	cf_wake();
}

static void mach_terminated(struct m0_rpc_machine_watch *watch)
{
	(void)watch;
	cf_inc(&seen.sn_ends);
}

static struct m0_rpc_machine_watch watch_of_seen(void)
{
	M0_SET0(&seen);
	return (struct m0_rpc_machine_watch){
		.mw_conn_added = conn_added,
		.mw_session_added = session_added,
		.mw_session_removed = session_removed,
		.mw_conn_removed = conn_removed,
		.mw_mach_terminated = mach_terminated,
	};
}

/* A server's watch sees a peer connect, make a session, and leave. */
RT_CASE(peer_comes_and_leaves)
{
	struct rt_machine          *s = rt_up(0, NULL);
	struct m0_rpc_cfg           cfg;
	struct rt_machine          *m;
	struct rt_client           *c;
	struct m0_rpc_machine_watch w = watch_of_seen();

	m0_rpc_machine_watch_attach(&s->rtm_machine, &w);
	rt_cfg(&cfg);
	cfg.rc_uuid = M0_UINT128(7, cf.c_seed);
	m = rt_up(1, &cfg);
	c = rt_client(m, s);
	CF_EQ(cf_get(&seen.sn_conns), 1, "a connection is seen");
	CF_EQ(cf_get(&seen.sn_sessions), 1, "a session is seen");
	CF_EQ(seen.sn_flags, M0_RPC_CONN_RECV_END, "it is a peer's");
	CF_TRUE(m0_uint128_eq(&seen.sn_uuid, &cfg.rc_uuid), "this peer's");
	CF_TRUE(seen.sn_same, "the session is on that connection");
	CF_EQ(seen.sn_session_id, c->rtc_session.s_session_id, "that session");
	CF_TRUE(strcmp(seen.sn_addr, m0_rpc_machine_addr(&m->rtm_machine)) == 0,
		"from %s", seen.sn_addr);
	rt_client_end(c);
	CF_EQ(cf_get(&seen.sn_sessions_removed), 1, "the session is gone");
	CF_EQ(cf_get(&seen.sn_conns_removed), 1, "the connection is gone");
	/* One that stays until the server goes. */
	c = rt_client(m, s);
	seen.sn_conns_removed = 0;
	rt_down(s);
	CF_EQ(cf_get(&seen.sn_sessions_removed), 2, "with the machine");
	CF_EQ(cf_get(&seen.sn_conns_removed), 1, "with the machine");
	CF_EQ(cf_get(&seen.sn_ends), 1, "the end");
	CF_EQ(cf_get(&seen.sn_conns), 2, "each was added once");
	m0_rpc_machine_watch_detach(&w);
}

/* A handler's requests name their clients, in a stream or not. */
RT_CASE(request_names_its_client)
{
	struct rt_machine *s = rt_up(0, NULL);
	struct m0_rpc_cfg  cfg;
	struct m0_uint128  uuid;
	struct rt_client  *c[2];
	struct rt_item    *i[4];
	int                k;

	rt_cfg(&cfg);
	for (k = 0; k < 2; ++k) {
		cfg.rc_uuid = M0_UINT128(7, 1 + (uint64_t)k);
		c[k] = rt_client(rt_up(1 + (unsigned)k, &cfg), s);
	}
	for (k = 0; k < 4; ++k) {
		i[k] = rt_ask(c[k % 2], RT_HOLD, (uint32_t)k / 2, (uint64_t)k);
		rt_held_wait(k + 1, "it is held");
		uuid = m0_rpc_request_client(rt.rt_held[k]);
		CF_EQ(uuid.u_hi, 7, "a client's");
		CF_EQ(uuid.u_lo, 1 + k % 2, "that client's");
	}
	rt_release(4);
	for (k = 0; k < 4; ++k)
		rt_ends(i[k], 0, "it is answered");
}

/* Connections of a machine itself are removed as often as added. */
RT_CASE(own_come_and_leave)
{
	struct rt_machine          *s = rt_up(0, NULL);
	struct rt_machine          *m = rt_up(1, NULL);
	struct m0_rpc_machine_watch w = watch_of_seen();
	struct rt_client           *c;

	m0_rpc_machine_watch_attach(&m->rtm_machine, &w);
	c = rt_client(m, s);
	rt_wait_count(&seen.sn_sessions, 1, "a session is seen");
	CF_EQ(seen.sn_flags, M0_RPC_CONN_SENDER_END, "it is our own");
	rt_client_end(c);
	CF_EQ(cf_get(&seen.sn_sessions_removed), 1, "the session");
	CF_EQ(cf_get(&seen.sn_conns_removed), 1, "the connection");
	m0_rpc_machine_watch_detach(&w);
}

/* ------------------------------------------------------- completions -- */

static struct m0_rpc_session *session;
static int                    changes[LOG_MAX];
static int                    results[LOG_MAX];
static int                    changes_nr;
static bool                   is_chain;

static void note(int what, int rc)
{
	CF_TRUE(changes_nr < LOG_MAX, "not so many changes");
	CF_EQ(m0_mutex_held_nr(), 0, "no lock is held");
	changes[changes_nr] = what;
	results[changes_nr] = rc;
	cf_inc(&changes_nr);
	cf_wake();
}

static void session_changed(struct m0_rpc_session    *s,
			    enum m0_rpc_session_state state)
{
	note(100 + (int)state, s->s_rc);
	if (!is_chain)
		return;
	if (state == M0_RPC_SESSION_IDLE)
		CF_EQ(m0_rpc_session_terminate(s, M0_TIME_NEVER), 0, "begun");
	else
		CF_EQ(m0_rpc_conn_terminate(s->s_conn, M0_TIME_NEVER), 0,
		      "begun");
}

static void conn_changed(struct m0_rpc_conn *conn, enum m0_rpc_conn_state state)
{
	bool goes_on = is_chain && state == M0_RPC_CONN_ACTIVE;

	CF_TRUE(conn->c_app_private == &session, "the application's pointer");
	/* The case may go on with another one when this is noted. */
	note((int)state, conn->c_rc);
	if (goes_on)
		CF_EQ(m0_rpc_session_establish(session, M0_TIME_NEVER), 0,
		      "begun");
}

/* Connects to `addr`, with callbacks, and (chain) makes and ends a session. */
static struct rt_client *begin(struct rt_machine *m, const char *addr,
			       m0_time_t timeout, bool chain)
{
	struct rt_client *c = &rt.rt_clients[rt.rt_clients_nr++];

	changes_nr = 0;
	is_chain = chain;
	session = &c->rtc_session;
	c->rtc_machine = m;
	CF_EQ(m0_rpc_conn_init(&c->rtc_conn, M0_UINT128(0, 0), addr,
			       &m->rtm_machine, 0),
	      0, "init");
	c->rtc_conn_up = true;
	c->rtc_conn.c_changed = conn_changed;
	c->rtc_conn.c_app_private = &session;
	if (chain) {
		CF_EQ(m0_rpc_session_init(session, &c->rtc_conn), 0, "init");
		c->rtc_session_up = true;
		session->s_changed = session_changed;
	}
	CF_EQ(m0_rpc_conn_establish(&c->rtc_conn, timeout), 0, "begun");
	return c;
}

/* A life of which every step is begun by the completion of the one before. */
RT_CASE(life_without_waiting)
{
	static const int   want[] = { M0_RPC_CONN_ACTIVE,
				      100 + M0_RPC_SESSION_IDLE,
				      100 + M0_RPC_SESSION_TERMINATED,
				      M0_RPC_CONN_TERMINATED };
	struct rt_machine *s = rt_up(0, NULL);
	struct rt_machine *m = rt_up(1, NULL);
	struct rt_client  *c;
	int                i;

	c = begin(m, s->rtm_addr, M0_TIME_NEVER, true);
	rt_wait_count(&changes_nr, 4, "four completions");
	rt_client_end(c);
	CF_EQ(changes_nr, 4, "no more");
	for (i = 0; i < 4; ++i) {
		CF_EQ(changes[i], want[i], "change %d", i);
		CF_EQ(results[i], 0, "result %d", i);
	}
	CF_EQ(rt_stats(s).rs_clients, 0, "the server has forgotten");
}

/* An establish that nobody answers, or that is refused, says so. */
RT_CASE(establish_fails)
{
	struct m0_rpc_cfg  cfg;
	struct rt_machine *s;
	struct rt_machine *m = rt_up(1, NULL);
	char               addr[CF_ADDR_MAX];

	cf.c_row->r_addr(addr, ++cf.c_addr_nr);
	begin(m, addr, m0_time_from_now(0, 100000000), false);
	rt_wait_count(&changes_nr, 1, "it fails");
	CF_EQ(changes[0], M0_RPC_CONN_FAILED, "FAILED");
	CF_EQ(results[0], -ETIMEDOUT, "nobody answers");
	rt_cfg(&cfg);
	cfg.rc_clients_max = 0;
	s = rt_up(0, &cfg);
	begin(m, s->rtm_addr, M0_TIME_NEVER, false);
	rt_wait_count(&changes_nr, 1, "it is refused");
	CF_EQ(changes[0], M0_RPC_CONN_FAILED, "FAILED");
	CF_EQ(results[0], -ECONNREFUSED, "no clients are wanted");
}

static bool session_is_over(void *arg)
{
	struct rt_client *c = arg;

	return m0_rpc_session_timedwait(&c->rtc_session,
					1 << M0_RPC_SESSION_TERMINATED,
					M0_TIME_IMMEDIATELY) == 0;
}

/* Ending toward a dead peer is not the same as ending. */
RT_CASE(terminate_toward_the_dead)
{
	struct rt_machine *s = rt_up(0, NULL);
	struct rt_machine *m = rt_up(1, NULL);
	struct rt_client  *c = begin(m, s->rtm_addr, M0_TIME_NEVER, false);

	rt_wait_count(&changes_nr, 1, "it is there");
	CF_EQ(rt_session_begin(c), 0, "begun");
	CF_EQ(rt_session_wait(c), 0, "there");
	rt_down(s);
	CF_EQ(m0_rpc_session_terminate(&c->rtc_session,
				       m0_time_from_now(0, 100000000)),
	      0, "begun");
	rt_wait(session_is_over, c, "the session's end");
	CF_EQ(c->rtc_session.s_rc, -ETIMEDOUT, "the server did not say so");
	CF_EQ(m0_rpc_conn_terminate(&c->rtc_conn,
				    m0_time_from_now(0, 100000000)),
	      0, "begun");
	rt_wait_count(&changes_nr, 2, "it has ended");
	CF_EQ(changes[1], M0_RPC_CONN_TERMINATED, "TERMINATED");
	CF_EQ(results[1], -ETIMEDOUT, "the server did not say so");
}

/* Ending on a machine that has ended: the call says so. */
RT_CASE(terminate_on_a_stopped_machine)
{
	struct rt_machine *s = rt_up(0, NULL);
	struct rt_machine *m = rt_up(1, NULL);
	struct rt_client  *c = rt_client(m, s);

	m0_rpc_machine_stop(&m->rtm_machine, true);
	CF_EQ(m0_rpc_session_destroy(&c->rtc_session, M0_TIME_NEVER),
	      -ESHUTDOWN, "the server was not told");
	c->rtc_session_up = false;
	CF_EQ(m0_rpc_conn_destroy(&c->rtc_conn, M0_TIME_NEVER), -ESHUTDOWN,
	      "the server was not told");
	c->rtc_conn_up = false;
}

/* ------------------------------------------------- descriptors to poll -- */

/* Waits for `counter` as an event loop does, which sleeps until a descriptor is
 * readable; a machine that forgot to say so would leave it asleep. */
static void poll_until(const int *counter, struct rt_machine **m, int nr)
{
	struct pollfd fds[2];
	int           i;

	for (i = 0; i < nr; ++i) {
		fds[i].fd = m0_rpc_machine_fd(&m[i]->rtm_machine);
		fds[i].events = POLLIN;
		CF_TRUE(fds[i].fd >= 0, "a descriptor");
	}
	while (cf_get(counter) == 0) {
		CF_TRUE(poll(fds, (nfds_t)nr, 60000) > 0,
			"readable before the end of patience");
		for (i = 0; i < nr; ++i)
			if (fds[i].revents != 0)
				m0_rpc_machine_progress(&m[i]->rtm_machine);
	}
}

/* An event loop around two inline machines: an answer, and a time that is up. */
RT_CASE(event_loop)
{
	struct rt_machine *m[2];
	struct rt_client  *c;
	struct rt_item    *i;

	if (cf.c_mode != CF_INLINE || cf.c_sim)
		return;
	m[0] = rt_up(0, NULL);
	m[1] = rt_up(1, NULL);
	c = rt_client(m[1], m[0]);
	CF_EQ(m0_rpc_machine_fd(&m[0]->rtm_machine),
	      m0_rpc_machine_fd(&m[0]->rtm_machine), "the same each time");
	i = rt_ask(c, RT_ECHO, 1, 1);
	poll_until(&i->rti_ended, m, 2);
	rt_ends(i, 0, "answered");
	i = rt_item(c, RT_HOLD, 0, 2);
	i->rti_raw.rr_item.ri_expires = m0_time_from_now(0, 50000000);
	CF_EQ(rt_post(i), 0, "post");
	poll_until(&i->rti_ended, m, 2);
	rt_ends(i, -ETIMEDOUT, "its time is up");
}

const struct cf_case rpc_suite_told[] = {
	{ "a peer comes and leaves", peer_comes_and_leaves },
	{ "a request names its client", request_names_its_client },
	{ "own connections come and leave", own_come_and_leave },
	{ "a life without waiting", life_without_waiting },
	{ "establish fails", establish_fails },
	{ "terminate toward the dead", terminate_toward_the_dead },
	{ "terminate on a stopped machine", terminate_on_a_stopped_machine },
	{ "event loop", event_loop },
	{ NULL, NULL }
};

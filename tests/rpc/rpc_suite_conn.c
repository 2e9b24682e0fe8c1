/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Handshakes: what they make, and every way in which they are refused. */
#include "rt.h"

/* Both up, one session after the other, and down again. */
RT_CASE(up_and_down)
{
	struct rt_machine *s = rt_up(0, NULL);
	struct rt_machine *m = rt_up(1, NULL);
	struct rt_client  *c = rt_client(m, s);
	uint64_t           id = c->rtc_session.s_session_id;

	CF_TRUE(id != 0, "the session has a number");
	CF_TRUE(c->rtc_conn.c_server_incarnation != 0, "the server's");
	CF_EQ(rt_stats(s).rs_clients, 1, "one client");
	rt_client_end(c);
	CF_EQ(rt_stats(s).rs_clients, 0, "it is forgotten");
	c = rt_client(m, s);
	CF_TRUE(c->rtc_session.s_session_id > id, "another number");
	rt_ends(rt_ask(c, RT_ECHO, 1, 1), 0, "echo");
}

/* A server without room for clients says so. */
RT_CASE(refused)
{
	struct m0_rpc_cfg  cfg;
	struct rt_machine *s;
	struct rt_machine *m;

	rt_cfg(&cfg);
	cfg.rc_clients_max = 0;
	s = rt_up(0, &cfg);
	m = rt_up(1, NULL);
	CF_EQ(rt_conn_wait(rt_conn_begin(m, s->rtm_addr, 0)), -ECONNREFUSED,
	      "wants no clients");
}

RT_CASE(no_room)
{
	struct m0_rpc_cfg  cfg;
	struct rt_machine *s;
	struct rt_machine *m[2];
	struct rt_client  *c;
	struct rt_client  *second;

	rt_cfg(&cfg);
	cfg.rc_clients_max = 1;
	cfg.rc_sessions_max = 1;
	s = rt_up(0, &cfg);
	m[0] = rt_up(1, NULL);
	m[1] = rt_up(1, NULL);
	c = rt_client(m[0], s);
	CF_EQ(rt_conn_wait(rt_conn_begin(m[1], s->rtm_addr, 0)), -ENOSPC,
	      "one client is enough");
	second = rt_conn_begin(m[0], s->rtm_addr, 0);
	CF_EQ(rt_conn_wait(second), 0, "the client is there already");
	CF_EQ(rt_session_begin(second), 0, "begun");
	CF_EQ(rt_session_wait(second), -ENOSPC, "one session is enough");
	rt_ends(rt_ask(c, RT_ECHO, 1, 1), 0, "the first one works");
}

/* Nobody is there. */
RT_CASE(nobody)
{
	struct rt_machine *m = rt_up(1, NULL);
	struct rt_client  *c = &rt.rt_clients[rt.rt_clients_nr++];
	char               addr[CF_ADDR_MAX];

	cf.c_row->r_addr(addr, ++cf.c_addr_nr);
	c->rtc_machine = m;
	CF_EQ(m0_rpc_conn_init(&c->rtc_conn, M0_UINT128(0, 0), addr,
			       &m->rtm_machine, 0),
	      0, "init");
	c->rtc_conn_up = true;
	CF_EQ(m0_rpc_conn_establish(&c->rtc_conn,
				    m0_time_from_now(0, 100000000)),
	      0, "begun");
	CF_EQ(rt_conn_wait(c), -ETIMEDOUT, "nobody answers");
}

/* A younger incarnation of the same client fences the older one. */
RT_CASE(fenced)
{
	struct m0_rpc_cfg  cfg;
	struct rt_machine *s = rt_up(0, NULL);
	struct rt_machine *old;
	struct rt_machine *young;
	struct rt_client  *c;
	struct rt_client  *d;
	struct rt_item    *i;

	rt_cfg(&cfg);
	cfg.rc_uuid = M0_UINT128(5, cf.c_seed);
	cfg.rc_incarnation = 10;
	old = rt_up(1, &cfg);
	cfg.rc_incarnation = 11;
	young = rt_up(1, &cfg);
	c = rt_client(old, s);
	i = rt_ask(c, RT_HOLD, 1, 1);
	rt_held_wait(1, "a request of the older one");
	d = rt_client(young, s);
	rt_ends(rt_ask(d, RT_ECHO, 1, 2), 0, "the younger one");
	rt_ends(rt_ask(c, RT_ECHO, 0, 3), -ESTALE, "the older one");
	rt_ends(i, -ESTALE, "what it had on its way, too");
	CF_EQ(c->rtc_conn.c_rc, -ESTALE, "the connection says why");
	rt_release(1);
	rt_ends(rt_ask(d, RT_ECHO, 1, 4), 0, "the younger one goes on");
	CF_EQ(rt_conn_wait(rt_conn_begin(old, s->rtm_addr, 0)), -ESTALE,
	      "the older one does not get in again");
}

/* The server forgets who says nothing for long; he does not notice. */
RT_CASE(idle_forgotten)
{
	struct m0_rpc_cfg  cfg;
	struct rt_machine *s;
	struct rt_machine *m = NULL;
	struct rt_client  *c;

	rt_cfg(&cfg);
	/* A busy machine is to have its session before it is forgotten. */
	cfg.rc_client_idle_ns = (cf.c_sim ? 30 : 1500) * M0_TIME_ONE_MSEC;
	s = rt_up(0, &cfg);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
	rt_ends(rt_ask(c, RT_ECHO, 1, 1), 0, "echo");
	while (rt_stats(s).rs_clients > 0)
		rt_run_ms(20);
	rt_ends(rt_ask(c, RT_ECHO, 0, 2), 0, "of no stream");
	rt_ends(rt_ask(c, RT_ECHO, 1, 3), 0, "of a stream");
}

/* Nor one that says nothing for as long, but waits for an answer. */
RT_CASE(waiting_not_forgotten)
{
	const unsigned     idle_ms = cf.c_sim ? 30 : 200;
	struct m0_rpc_cfg  cfg;
	struct rt_machine *s;
	struct rt_machine *m;
	struct rt_client  *c;
	struct rt_item    *i;

	rt_cfg(&cfg);
	cfg.rc_client_idle_ns = idle_ms * M0_TIME_ONE_MSEC;
	s = rt_up(0, &cfg);
	rt_cfg(&cfg);
	cfg.rc_resend_ns = 20 * M0_TIME_ONE_SECOND;
	cfg.rc_resend_max_ns = cfg.rc_resend_ns;
	m = rt_up(1, &cfg);
	c = rt_client(m, s);
	i = rt_ask(c, RT_HOLD, 0, 1);
	rt_held_wait(1, "it has come");
	rt_run_ms(3 * idle_ms);
	CF_EQ(rt_stats(s).rs_clients, 1, "it is remembered");
	rt_release(1);
	rt_ends(i, 0, "answered");
	CF_EQ(cf_get(&rt.rt_log_nr), 1, "executed once");
}

/* The server dies and comes back with nothing in mind. */
RT_CASE(restart)
{
	struct rt_machine *s = rt_up(0, NULL);
	struct rt_machine *m = rt_up(1, NULL);
	struct rt_client  *c = rt_client(m, s);
	struct rt_item    *i[8];
	char               addr[CF_ADDR_MAX];
	int                k;

	for (k = 0; k < 4; ++k)
		rt_ends(rt_ask(c, RT_ECHO, (uint32_t)k, 1), 0, "echo");
	strcpy(addr, s->rtm_addr);
	rt_down(s);
	for (k = 0; k < 8; ++k)
		i[k] = rt_ask(c, RT_ECHO, (uint32_t)k % 4, (uint64_t)k);
	rt_run_ms(10);
	s = rt_up_at(0, NULL, addr);
	for (k = 0; k < 8; ++k) {
		rt_item_wait(i[k]);
		/* In a stream: it has left, so who knows; or it has not. */
		CF_TRUE(i[k]->rti_error == 0 ||
				(k % 4 != 0 && i[k]->rti_error == -ESTALE),
			"item %d ended with %d", k, i[k]->rti_error);
	}
	for (k = 0; k < 4; ++k)
		rt_ends(rt_ask(c, RT_ECHO, (uint32_t)k, 9), 0, "after it");
}

/* Items that wait go where the service has moved to. */
RT_CASE(retarget)
{
	struct m0_uint128  service = M0_UINT128(1, 2);
	struct rt_machine *a = rt_up(0, NULL);
	struct rt_machine *b = rt_up(0, NULL);
	struct rt_machine *m = rt_up(1, NULL);
	struct rt_client  *c = &rt.rt_clients[rt.rt_clients_nr++];
	struct rt_item    *held;

	c->rtc_machine = m;
	CF_EQ(m0_rpc_conn_init(&c->rtc_conn, service, NULL, &m->rtm_machine, 0),
	      -ENOENT, "not in the map");
	CF_EQ(m0_rpc_machine_map(&m->rtm_machine, service, "nonsense"), -EINVAL,
	      "not an address");
	CF_EQ(m0_rpc_machine_map(&m->rtm_machine, service, a->rtm_addr), 0,
	      "map");
	CF_EQ(m0_rpc_conn_init(&c->rtc_conn, service, NULL, &m->rtm_machine, 0),
	      0, "init");
	c->rtc_conn_up = true;
	CF_EQ(m0_rpc_conn_establish(&c->rtc_conn, M0_TIME_NEVER), 0, "begun");
	CF_EQ(rt_conn_wait(c), 0, "there");
	CF_EQ(rt_session_begin(c), 0, "begun");
	CF_EQ(rt_session_wait(c), 0, "there");
	rt_ends(rt_ask(c, RT_ECHO, 0, 1), 0, "at the first place");
	held = rt_ask(c, RT_HOLD, 0, 2);
	rt_held_wait(1, "at the first place");
	CF_EQ(m0_rpc_machine_map(&m->rtm_machine, service, b->rtm_addr), 0,
	      "it has moved");
	rt_held_wait(2, "asked at the second place");
	rt_release(2);
	rt_ends(held, 0, "answered");
	rt_ends(rt_ask(c, RT_ECHO, 1, 3), 0, "a stream at the second place");
	CF_TRUE(rt_stats(b).rs_nr_rcvd_items > 0, "it was there");
}

static int conns_seen;
static int sessions_seen;
static int ends_seen;

static void conn_seen(struct m0_rpc_machine_watch *watch,
		      struct m0_rpc_conn          *conn)
{
	(void)watch;
	(void)conn;
	cf_inc(&conns_seen);
}

static void session_seen(struct m0_rpc_machine_watch *watch,
			 struct m0_rpc_session       *session)
{
	(void)watch;
	(void)session;
	cf_inc(&sessions_seen);
}

static void end_seen(struct m0_rpc_machine_watch *watch)
{
	(void)watch;
	cf_inc(&ends_seen);
}

RT_CASE(watch)
{
	struct m0_rpc_machine_watch w[2] = { { .mw_conn_added = conn_seen,
					       .mw_session_added = session_seen,
					       .mw_mach_terminated = end_seen },
					     { .mw_conn_added = conn_seen } };
	struct rt_machine          *s = rt_up(0, NULL);
	struct rt_machine          *m = rt_up(1, NULL);
	struct rt_client           *c;

	conns_seen = sessions_seen = ends_seen = 0;
	m0_rpc_machine_watch_attach(&m->rtm_machine, &w[0]);
	m0_rpc_machine_watch_attach(&m->rtm_machine, &w[1]);
	m0_rpc_machine_watch_detach(&w[1]);
	c = rt_client(m, s);
	/* A thread that waits for a state may return before the hook is
	 * called. */
	rt_wait_count(&conns_seen, 1, "a connection is seen");
	rt_wait_count(&sessions_seen, 1, "a session is seen");
	CF_EQ(cf_get(&conns_seen), 1, "one connection");
	CF_EQ(cf_get(&sessions_seen), 1, "one session");
	rt_client_end(c);
	rt_down(m);
	CF_EQ(ends_seen, 1, "the end");
	m0_rpc_machine_watch_detach(&w[0]);
}

const struct cf_case rpc_suite_conn[] = {
	{ "up and down", up_and_down },
	{ "no clients wanted", refused },
	{ "no room", no_room },
	{ "nobody is there", nobody },
	{ "an older incarnation is fenced", fenced },
	{ "an idle client is forgotten", idle_forgotten },
	{ "not forgotten while it waits", waiting_not_forgotten },
	{ "server comes back", restart },
	{ "a service moves", retarget },
	{ "watch", watch },
	{ NULL, NULL }
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Stop, in the middle of whatever there is: every item ends. */
#include "rt.h"

static struct rt_machine *s;
static struct rt_machine *m;
static struct rt_client  *c;

static void up(void)
{
	s = rt_up(0, NULL);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
}

/* The client stops with requests everywhere. */
RT_CASE(client_aborts)
{
	struct rt_item *i[60];
	int             k;

	up();
	for (k = 0; k < 60; ++k)
		i[k] = rt_ask(c, k % 2 ? RT_HOLD : RT_ECHO, (uint32_t)k % 5, 1);
	if (cf_rand(2))
		rt_held_wait(1, "some have come");
	m0_rpc_machine_stop(&m->rtm_machine, true);
	for (k = 0; k < 60; ++k) {
		rt_item_wait(i[k]);
		CF_TRUE(i[k]->rti_error == 0 || i[k]->rti_error == -ESHUTDOWN,
			"ended with %d", i[k]->rti_error);
	}
	CF_EQ(rt_post(rt_item(c, RT_ECHO, 0, 1)), -ESHUTDOWN, "no more");
	m0_rpc_machine_stop(&m->rtm_machine, true);
	rt_release(cf_get(&rt.rt_held_nr));
}

/* Stop lets the requests finish, if they do in time. */
RT_CASE(client_drains)
{
	struct rt_item *i[40];
	int             k;

	up();
	/* The server is moved by nobody while the client's stop waits. */
	if (cf.c_mode == CF_INLINE)
		return;
	for (k = 0; k < 40; ++k)
		i[k] = rt_ask(c, RT_ECHO, (uint32_t)k % 5, 1);
	m0_rpc_machine_stop(&m->rtm_machine, false);
	for (k = 0; k < 40; ++k)
		rt_ends(i[k], 0, "finished");
}

/* Time is up: the rest ends. */
RT_CASE(drain_limit)
{
	struct m0_rpc_cfg cfg;
	struct rt_item   *i;

	rt_cfg(&cfg);
	cfg.rc_drain_ns = 30 * M0_TIME_ONE_MSEC;
	s = rt_up(0, NULL);
	m = rt_up(1, &cfg);
	c = rt_client(m, s);
	i = rt_ask(c, RT_HOLD, 0, 1);
	rt_held_wait(1, "it has come");
	m0_rpc_machine_stop(&m->rtm_machine, false);
	rt_ends(i, -ESHUTDOWN, "ended by the limit");
	rt_release(1);
}

/* A client that is asked nothing, and a session that was cancelled. */
RT_CASE(session_cancelled)
{
	struct rt_item *i[10];
	int             k;

	up();
	for (k = 0; k < 10; ++k)
		i[k] = rt_ask(c, RT_HOLD, (uint32_t)k % 3, 1);
	rt_held_wait(1, "some have come");
	if (cf.c_mode == CF_INLINE)
		rt_run_ms(1);
	m0_rpc_session_cancel(&c->rtc_session);
	for (k = 0; k < 10; ++k)
		rt_ends(i[k], -ECANCELED, "with the session");
	CF_EQ(rt_post(rt_item(c, RT_ECHO, 0, 1)), -ECANCELED, "no more");
	rt_run_ms(2);
	rt_release(cf_get(&rt.rt_held_nr));
}

/* Two machines ask each other. */
RT_CASE(both_ways)
{
	struct rt_client *d;
	struct rt_item   *i[100];
	int               k;

	up();
	d = rt_client(s, m);
	for (k = 0; k < 100; ++k)
		i[k] = rt_ask(k % 2 ? c : d, RT_ECHO, (uint32_t)k % 3,
			      (uint64_t)k);
	for (k = 0; k < 100; ++k)
		rt_ends(i[k], 0, "echo");
}

const struct cf_case rpc_suite_stop[] = {
	{ "client aborts", client_aborts },
	{ "client drains", client_drains },
	{ "client drains no longer", drain_limit },
	{ "session cancelled", session_cancelled },
	{ "both ways", both_ways },
	{ NULL, NULL }
};

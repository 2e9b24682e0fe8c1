/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Links: a service at several addresses, which come and go. A server's further
 * addresses are taken from it and given again: to its clients that is a cut.
 */
#include "rt.h"

enum {
	STREAMS = 3,
	EACH = 40,
	/** Failover, a resend and a lot of slack, in virtual time. */
	FAST_MS = 400
};

struct lt {
	struct rt_machine *lt_server;
	struct rt_machine *lt_client;
	struct rt_client  *lt_rtc;
	/** Addresses of the server that can be cut. */
	char     lt_addr[3][CF_ADDR_MAX];
	unsigned lt_nr;
};
static struct lt lt;

static struct m0_uint128 service(void)
{
	return M0_UINT128(17, 4);
}

/* Resends come late, so that what is quick is quick for another reason. */
static void link_cfg(struct m0_rpc_cfg *cfg)
{
	rt_cfg(cfg);
	cfg->rc_link_idle_ns = (cf.c_sim ? 50 : 250) * M0_TIME_ONE_MSEC;
	cfg->rc_resend_ns = 5 * M0_TIME_ONE_SECOND;
	cfg->rc_resend_max_ns = 5 * M0_TIME_ONE_SECOND;
}

static void addr_add(struct rt_machine *m, const char *addr)
{
	CF_EQ(m0_rpc_machine_link_add(&m->rtm_machine, addr), 0,
	      "one more address: %s", addr);
}

static void addr_del(struct rt_machine *m, const char *addr)
{
	CF_EQ(m0_rpc_machine_link_del(&m->rtm_machine, addr), 0,
	      "one address less: %s", addr);
}

static void map(const char *const *addrs, uint32_t nr)
{
	CF_EQ(m0_rpc_machine_map_links(&lt.lt_client->rtm_machine, service(),
				       addrs, nr),
	      0, "the map");
}

/* A server with `nr` addresses besides its first; a client that knows none. */
static void machines(unsigned nr)
{
	struct m0_rpc_cfg cfg;
	unsigned          i;

	M0_SET0(&lt);
	link_cfg(&cfg);
	lt.lt_server = rt_up(0, &cfg);
	for (i = 0; i < nr; ++i) {
		cf.c_row->r_addr(lt.lt_addr[i], ++cf.c_addr_nr);
		addr_add(lt.lt_server, lt.lt_addr[i]);
	}
	lt.lt_nr = nr;
	lt.lt_client = rt_up(1, &cfg);
}

static struct rt_client *client(void)
{
	struct rt_client *c = &rt.rt_clients[rt.rt_clients_nr++];

	c->rtc_machine = lt.lt_client;
	CF_EQ(m0_rpc_conn_init(&c->rtc_conn, service(), NULL,
			       &lt.lt_client->rtm_machine, 0),
	      0, "conn init");
	c->rtc_conn_up = true;
	CF_EQ(m0_rpc_conn_establish(&c->rtc_conn, M0_TIME_NEVER), 0, "begun");
	CF_EQ(rt_conn_wait(c), 0, "the connection is ACTIVE");
	CF_EQ(rt_session_begin(c), 0, "a session is begun");
	CF_EQ(rt_session_wait(c), 0, "the session is IDLE");
	return c;
}

static struct m0_rpc_link_info info(struct rt_client *c, const char *addr)
{
	struct m0_rpc_link_info all[M0_RPC_LINKS_MAX];
	struct m0_rpc_link_info none = { .lki_state = ~0U };
	uint32_t nr = m0_rpc_conn_links(&c->rtc_conn, all, ARRAY_SIZE(all));

	CF_TRUE(nr > 0 && nr <= ARRAY_SIZE(all), "it has links");
	while (nr-- > 0)
		if (strcmp(all[nr].lki_addr, addr) == 0)
			return all[nr];
	return none;
}

struct state {
	const char *sta_addr;
	uint32_t    sta_want;
};

static bool state_is(void *arg)
{
	const struct state *s = arg;

	return info(lt.lt_rtc, s->sta_addr).lki_state == s->sta_want;
}

static void state_wait(const char *addr, uint32_t want)
{
	struct state s = { addr, want };

	rt_wait(state_is, &s,
		want == M0_RPC_LINK_UP ? "a link is up" : "a link is down");
}

/* A server with two addresses that can be cut, both links up. */
static void two_up(void)
{
	const char *addrs[] = { lt.lt_addr[0], lt.lt_addr[1] };

	machines(2);
	map(addrs, 2);
	lt.lt_rtc = client();
	state_wait(lt.lt_addr[0], M0_RPC_LINK_UP);
	state_wait(lt.lt_addr[1], M0_RPC_LINK_UP);
}

/* -------------------------------------------------------------- streams -- */

static struct rt_item *posted[STREAMS * EACH];

/* Numbers from `from` on, to all streams by turns. */
static void streams_post(unsigned from, unsigned nr)
{
	unsigned i;

	for (i = from; i < from + nr; ++i)
		posted[i] = rt_ask(lt.lt_rtc, RT_APPEND, 1 + i % STREAMS, i);
}

static void streams_end(unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; ++i)
		rt_ends(posted[i], 0, "append");
}

/* All once, each stream's in its order. */
static void log_check(unsigned nr)
{
	uint64_t last[STREAMS] = { 0 };
	int      i;

	CF_EQ(rt.rt_log_nr, nr, "executed once each");
	for (i = 0; i < rt.rt_log_nr; ++i) {
		uint64_t n = rt.rt_log[i];

		CF_TRUE(n == n % STREAMS ? last[n % STREAMS] == 0
					 : last[n % STREAMS] == n - STREAMS,
			"in the order of the stream");
		last[n % STREAMS] = n;
	}
}

static void fast(m0_time_t began)
{
	if (cf.c_sim)
		CF_TRUE(m0_time_sub(m0_time_now(), began) <
				FAST_MS * M0_TIME_ONE_MSEC,
			"before any resend");
}

/* Both are used: least bytes outstanding. */
RT_CASE(load_is_shared)
{
	struct rt_item *i[8];
	unsigned        k;

	two_up();
	for (k = 0; k < 8; ++k)
		i[k] = rt_ask(lt.lt_rtc, RT_HOLD, 0, k);
	rt_held_wait(8, "all came");
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[0]).lki_items_nr, 4, "one half");
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[1]).lki_items_nr, 4, "the other");
	CF_TRUE(info(lt.lt_rtc, lt.lt_addr[0]).lki_bytes >= 4 * 64, "bytes");
	CF_EQ(rt_stats(lt.lt_server).rs_clients, 1, "one client, two ways");
	rt_release(8);
	for (k = 0; k < 8; ++k)
		rt_ends(i[k], 0, "held");
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[1]).lki_items_nr, 0, "answered");
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[1]).lki_bytes, 0, "and no bytes");
}

static void cut_one(unsigned which)
{
	m0_time_t began;

	two_up();
	streams_post(0, STREAMS * EACH / 2);
	rt_wait_count(&rt.rt_log_nr, EACH / 2, "some are executed");
	began = m0_time_now();
	addr_del(lt.lt_server, lt.lt_addr[which]);
	streams_post(STREAMS * EACH / 2, STREAMS * EACH / 2);
	streams_end(STREAMS * EACH);
	fast(began);
	log_check(STREAMS * EACH);
	rt_ends(rt_ask(lt.lt_rtc, RT_ECHO, 0, 1), 0, "echo");
	addr_add(lt.lt_server, lt.lt_addr[which]);
	state_wait(lt.lt_addr[which], M0_RPC_LINK_UP);
	/* Threads may be kept from running for longer than a link lives. */
	if (cf.c_sim)
		CF_EQ(info(lt.lt_rtc, lt.lt_addr[1 - which]).lki_deaths_nr, 0,
		      "the other has lived");
}

/* The link of handshakes is cut in the middle of streams. */
RT_CASE(main_cut)
{
	cut_one(0);
}

RT_CASE(second_cut)
{
	cut_one(1);
}

/* ----------------------------------------------------------- black hole -- */

/* All that goes to the second address, or comes from there, is lost; where the
 * transport has no means of that, the address goes. */
static void way_cut(bool cut)
{
	if (rt_way_cut(cut))
		return;
	if (cut)
		addr_del(lt.lt_server, lt.lt_addr[1]);
	else
		addr_add(lt.lt_server, lt.lt_addr[1]);
}

/* One way swallows what it is given, in the middle of streams, and works again
 * later. Answers that were on it are given over the other. */
RT_CASE(black_hole)
{
	struct rt_item *i[6];
	m0_time_t       began;
	unsigned        k;

	two_up();
	for (k = 0; k < 6; ++k)
		i[k] = rt_ask(lt.lt_rtc, RT_HOLD, 1 + k, 1000 + k);
	rt_held_wait(6, "held");
	CF_TRUE(info(lt.lt_rtc, lt.lt_addr[1]).lki_items_nr > 0, "both used");
	began = m0_time_now();
	way_cut(true);
	rt_release(6);
	for (k = 0; k < 6; ++k)
		rt_ends(i[k], 0, "held");
	CF_EQ(rt.rt_log_nr, 6, "executed once each");
	rt.rt_log_nr = 0;
	streams_post(0, STREAMS * EACH);
	streams_end(STREAMS * EACH);
	fast(began);
	log_check(STREAMS * EACH);
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[1]).lki_state, M0_RPC_LINK_DOWN,
	      "it is dead");
	state_wait(lt.lt_addr[0], M0_RPC_LINK_UP);
	if (cf.c_sim)
		CF_EQ(info(lt.lt_rtc, lt.lt_addr[0]).lki_deaths_nr, 0,
		      "the other has lived");
	way_cut(false);
	state_wait(lt.lt_addr[1], M0_RPC_LINK_UP);
}

static unsigned log_count(uint64_t number)
{
	unsigned nr = 0;
	int      i;

	for (i = 0; i < rt.rt_log_nr; ++i)
		nr += rt.rt_log[i] == number;
	return nr;
}

/* A request that was executed while its link died is not executed again: the
 * answer goes to the address from which the request is sent again. */
RT_CASE(reply_finds_way)
{
	struct rt_item *i[4];
	m0_time_t       began;
	unsigned        k;

	two_up();
	for (k = 0; k < 4; ++k)
		i[k] = rt_ask(lt.lt_rtc, RT_HOLD, k < 2 ? k + 1 : 0, k);
	rt_held_wait(4, "all came");
	addr_del(lt.lt_server, lt.lt_addr[0]);
	state_wait(lt.lt_addr[0], M0_RPC_LINK_DOWN);
	rt_run_ms(cf.c_sim ? 20 : 50);
	began = m0_time_now();
	/* The answer of one of no stream may be lost, if threads are kept from
	 * running: it comes again then, and is not held. */
	rt_hold_no_more();
	for (k = 0; k < 4; ++k)
		rt_ends(i[k], 0, "held");
	fast(began);
	for (k = 0; k < 4; ++k)
		if (cf.c_sim || k < 2)
			CF_EQ(log_count(k), 1, "each was executed once");
}

/* Nothing works for a while; items wait, and go on when one way is back. */
RT_CASE(both_dead_one_back)
{
	two_up();
	streams_post(0, STREAMS);
	streams_end(STREAMS);
	addr_del(lt.lt_server, lt.lt_addr[0]);
	addr_del(lt.lt_server, lt.lt_addr[1]);
	streams_post(STREAMS, STREAMS * EACH / 2);
	state_wait(lt.lt_addr[0], M0_RPC_LINK_DOWN);
	state_wait(lt.lt_addr[1], M0_RPC_LINK_DOWN);
	rt_run_ms(cf.c_sim ? 500 : 100);
	addr_add(lt.lt_server, lt.lt_addr[1]);
	streams_end(STREAMS + STREAMS * EACH / 2);
	log_check(STREAMS + STREAMS * EACH / 2);
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[1]).lki_state, M0_RPC_LINK_UP, "back");
}

/* Addresses come and go while streams run. */
RT_CASE(map_changes)
{
	struct m0_rpc_machine *m;
	const char            *addrs[2];

	machines(3);
	m = &lt.lt_client->rtm_machine;
	addrs[0] = lt.lt_addr[0];
	map(addrs, 1);
	lt.lt_rtc = client();
	streams_post(0, 15);
	CF_EQ(m0_rpc_machine_map_add(m, service(), lt.lt_addr[1]), 0, "add");
	CF_EQ(m0_rpc_machine_map_add(m, service(), lt.lt_addr[1]), -EEXIST,
	      "it is there");
	streams_post(15, 15);
	state_wait(lt.lt_addr[1], M0_RPC_LINK_UP);
	streams_post(30, 15);
	CF_EQ(m0_rpc_machine_map_del(m, service(), lt.lt_addr[0]), 0, "del");
	CF_EQ(m0_rpc_machine_map_del(m, service(), lt.lt_addr[0]), -ENOENT,
	      "it is not there");
	CF_EQ(m0_rpc_machine_map_del(m, service(), lt.lt_addr[1]), -EBUSY,
	      "the last one stays");
	streams_post(45, 15);
	addrs[0] = lt.lt_addr[2];
	addrs[1] = lt.lt_addr[0];
	map(addrs, 2);
	streams_post(60, 15);
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[1]).lki_state, ~0U, "it is gone");
	state_wait(lt.lt_addr[0], M0_RPC_LINK_UP);
	addrs[0] = lt.lt_server->rtm_addr;
	map(addrs, 1);
	streams_post(75, 15);
	streams_end(90);
	log_check(90);
	CF_EQ(m0_rpc_conn_links(&lt.lt_rtc->rtc_conn, NULL, 0), 1, "one link");
}

/* Held items find a way back when the address they came by is taken. */
RT_CASE(map_del_moves)
{
	struct rt_item *i[6];
	unsigned        k;
	m0_time_t       began;

	two_up();
	for (k = 0; k < 6; ++k)
		i[k] = rt_ask(lt.lt_rtc, RT_HOLD, k, k);
	rt_held_wait(6, "all came");
	began = m0_time_now();
	CF_EQ(m0_rpc_machine_map_del(&lt.lt_client->rtm_machine, service(),
				     lt.lt_addr[0]),
	      0, "del");
	rt_run_ms(cf.c_sim ? 20 : 50);
	rt_release(6);
	for (k = 0; k < 6; ++k)
		rt_ends(i[k], 0, "held");
	fast(began);
	CF_EQ(rt.rt_log_nr, 6, "each was executed once");
}

/* The first address of the service does not answer. */
RT_CASE(establish_over_second)
{
	const char *addrs[2];
	m0_time_t   began = m0_time_now();

	machines(2);
	addr_del(lt.lt_server, lt.lt_addr[0]);
	addrs[0] = lt.lt_addr[0];
	addrs[1] = lt.lt_addr[1];
	map(addrs, 2);
	lt.lt_rtc = client();
	fast(began);
	CF_EQ(info(lt.lt_rtc, lt.lt_addr[0]).lki_state, M0_RPC_LINK_DOWN,
	      "nobody there");
	rt_ends(rt_ask(lt.lt_rtc, RT_ECHO, 1, 1), 0, "echo");
}

/* An address where another server is is never used. */
RT_CASE(other_server_not_used)
{
	const char        *addrs[2];
	struct rt_machine *other;
	unsigned           i;

	machines(1);
	other = rt_up(2, NULL);
	addrs[0] = lt.lt_addr[0];
	addrs[1] = other->rtm_addr;
	map(addrs, 2);
	lt.lt_rtc = client();
	for (i = 0; i < 30; ++i)
		rt_ends(rt_ask(lt.lt_rtc, RT_ECHO, i % 3, i), 0, "echo");
	rt_run_ms(cf.c_sim ? 200 : 20);
	for (i = 0; i < 30; ++i)
		rt_ends(rt_ask(lt.lt_rtc, RT_ECHO, i % 3, i), 0, "echo");
	/* The requests may have ended before its link was tried. */
	state_wait(other->rtm_addr, M0_RPC_LINK_DOWN);
	CF_EQ(rt_stats(other).rs_executing, 0, "nothing came there");
}

/* The server comes back, at both addresses: streams go on over both. */
RT_CASE(server_back)
{
	struct m0_rpc_cfg cfg;

	two_up();
	streams_post(0, STREAMS * 4);
	streams_end(STREAMS * 4);
	rt_down(lt.lt_server);
	link_cfg(&cfg);
	lt.lt_server = rt_up_at(0, &cfg, lt.lt_server->rtm_addr);
	addr_add(lt.lt_server, lt.lt_addr[0]);
	addr_add(lt.lt_server, lt.lt_addr[1]);
	rt_ends(rt_ask(lt.lt_rtc, RT_ECHO, 0, 1), 0, "echo");
	state_wait(lt.lt_addr[0], M0_RPC_LINK_UP);
	state_wait(lt.lt_addr[1], M0_RPC_LINK_UP);
}

/* The client has two addresses, too; one of them goes in the middle. */
RT_CASE(client_has_two)
{
	char      mine[CF_ADDR_MAX];
	char      text[M0_RPC_ADDR_MAX];
	m0_time_t began;

	machines(2);
	cf.c_row->r_addr(mine, ++cf.c_addr_nr);
	addr_add(lt.lt_client, mine);
	CF_EQ(m0_rpc_machine_link_addr(&lt.lt_client->rtm_machine, 1, text), 0,
	      "it has a second");
	CF_EQ(strcmp(text, mine), 0, "this one");
	CF_EQ(m0_rpc_machine_link_addr(&lt.lt_client->rtm_machine, 2, text),
	      -ENOENT, "no third");
	map((const char *const[]){ lt.lt_addr[0], lt.lt_addr[1] }, 2);
	lt.lt_rtc = client();
	state_wait(lt.lt_addr[0], M0_RPC_LINK_UP);
	state_wait(lt.lt_addr[1], M0_RPC_LINK_UP);
	streams_post(0, STREAMS * EACH / 2);
	rt_wait_count(&rt.rt_log_nr, EACH / 2, "some are executed");
	began = m0_time_now();
	addr_del(lt.lt_client, mine);
	CF_EQ(m0_rpc_machine_link_del(&lt.lt_client->rtm_machine, mine),
	      -ENOENT, "it has gone");
	streams_post(STREAMS * EACH / 2, STREAMS * EACH / 2);
	streams_end(STREAMS * EACH);
	fast(began);
	log_check(STREAMS * EACH);
	state_wait(lt.lt_addr[1], M0_RPC_LINK_UP);
	CF_EQ(rt_stats(lt.lt_server).rs_clients, 1, "one client");
}

/* The only link of a connection is from an address that is taken: it leaves from
 * another. */
RT_CASE(client_address_goes)
{
	char            mine[CF_ADDR_MAX];
	struct rt_item *held;

	machines(2);
	cf.c_row->r_addr(mine, ++cf.c_addr_nr);
	addr_add(lt.lt_client, mine);
	map((const char *const[]){ lt.lt_addr[0] }, 1);
	lt.lt_rtc = client();
	/* The second link of the connection, from the second address. */
	map((const char *const[]){ lt.lt_addr[1] }, 1);
	rt_ends(rt_ask(lt.lt_rtc, RT_APPEND, 1, 1), 0, "append");
	held = rt_ask(lt.lt_rtc, RT_HOLD, 0, 2);
	rt_held_wait(1, "held");
	addr_del(lt.lt_client, mine);
	rt_ends(rt_ask(lt.lt_rtc, RT_APPEND, 1, 3), 0, "append");
	rt_hold_no_more();
	rt_ends(held, 0, "held");
	rt_ends(rt_ask(lt.lt_rtc, RT_ECHO, 0, 4), 0, "echo");
}

enum {
	ADDRS = 4,
	ROUNDS = 40,
	BOTH = 2
};

/* An address that the machine has or does not have. */
struct some {
	struct rt_machine *som_machine;
	char               som_addr[ADDRS][CF_ADDR_MAX];
	bool               som_has[ADDRS];
};

static void some_change(struct some *some)
{
	unsigned i = (unsigned)cf_rand(ADDRS);

	if (some->som_has[i])
		addr_del(some->som_machine, some->som_addr[i]);
	else
		addr_add(some->som_machine, some->som_addr[i]);
	some->som_has[i] = !some->som_has[i];
}

/* The first address of the server stays, and is in the map, mostly. */
static void map_random(struct some *server)
{
	const char *addrs[ADDRS + 1];
	uint32_t    nr = 0;
	unsigned    i;

	if (cf_rand(4) > 0)
		addrs[nr++] = lt.lt_server->rtm_addr;
	for (i = 0; i < ADDRS; ++i)
		if (cf_rand(2) == 0)
			addrs[nr++] = server->som_addr[i];
	if (nr == 0)
		addrs[nr++] = lt.lt_server->rtm_addr;
	map(addrs, nr);
}

/* Addresses of both sides come and go, and the map changes, in any order. */
RT_CASE(all_change)
{
	struct some some[BOTH] = { 0 };
	const char *first[1];
	unsigned    i;
	unsigned    k;

	machines(0);
	some[0].som_machine = lt.lt_server;
	some[1].som_machine = lt.lt_client;
	for (i = 0; i < BOTH; ++i)
		for (k = 0; k < ADDRS; ++k)
			cf.c_row->r_addr(some[i].som_addr[k], ++cf.c_addr_nr);
	first[0] = lt.lt_server->rtm_addr;
	map(first, 1);
	lt.lt_rtc = client();
	for (i = 0; i < ROUNDS; ++i) {
		streams_post(i * STREAMS, STREAMS);
		k = (unsigned)cf_rand(6);
		if (k < 2)
			some_change(&some[0]);
		else if (k < 4)
			some_change(&some[1]);
		else
			map_random(&some[0]);
		if (cf_rand(2) == 0)
			rt_run_ms((unsigned)cf_rand(20));
	}
	map(first, 1);
	streams_end(STREAMS * ROUNDS);
	log_check(STREAMS * ROUNDS);
	rt_ends(rt_ask(lt.lt_rtc, RT_ECHO, 0, 1), 0, "echo");
}

/* Impossible arguments are reported. */
RT_CASE(arguments)
{
	struct m0_rpc_machine *m;
	char                   addr[9][CF_ADDR_MAX];
	const char            *all[9];
	unsigned               i;

	machines(0);
	m = &lt.lt_client->rtm_machine;
	for (i = 0; i < 9; ++i) {
		cf.c_row->r_addr(addr[i], ++cf.c_addr_nr);
		all[i] = addr[i];
	}
	CF_EQ(m0_rpc_machine_map_links(m, service(), all, 0), -EINVAL, "none");
	CF_EQ(m0_rpc_machine_map_links(m, service(), all, 9), -EINVAL, "9");
	CF_EQ(m0_rpc_machine_map_links(m, service(), all, 8), 0, "8");
	CF_EQ(m0_rpc_machine_map_add(m, service(), all[8]), -ENOSPC, "9");
	all[1] = cf.c_row->r_bad[0];
	CF_EQ(m0_rpc_machine_map_links(m, service(), all, 2), -EINVAL, "bad");
	CF_EQ(m0_rpc_machine_map_add(m, service(), all[1]), -EINVAL, "bad");
	CF_EQ(m0_rpc_machine_map_del(m, M0_UINT128(1, 1), all[0]), -ENOENT,
	      "no such service");
	CF_EQ(m0_rpc_machine_link_add(m, all[1]), -EINVAL, "bad");
	CF_EQ(m0_rpc_machine_link_del(m, lt.lt_client->rtm_addr), -ENOENT,
	      "not the first one");
	all[1] = addr[1];
	for (i = 0; i < M0_RPC_LINKS_MAX - 1; ++i)
		addr_add(lt.lt_client, all[i]);
	CF_EQ(m0_rpc_machine_link_add(m, all[i]), -ENOSPC, "9 with the first");
	addr_del(lt.lt_client, all[0]);
	addr_add(lt.lt_client, all[i]);
	CF_EQ(m0_rpc_machine_link_add(m, all[0]), -ENOSPC, "full again");
}

const struct cf_case rpc_suite_link[] = {
	{ "load_is_shared", load_is_shared },
	{ "main_cut", main_cut },
	{ "second_cut", second_cut },
	{ "black_hole", black_hole },
	{ "reply_finds_way", reply_finds_way },
	{ "both_dead_one_back", both_dead_one_back },
	{ "map_changes", map_changes },
	{ "map_del_moves", map_del_moves },
	{ "establish_over_second", establish_over_second },
	{ "other_server_not_used", other_server_not_used },
	{ "server_back", server_back },
	{ "client_has_two", client_has_two },
	{ "client_address_goes", client_address_goes },
	{ "all_change", all_change },
	{ "arguments", arguments },
	{ NULL, NULL },
};

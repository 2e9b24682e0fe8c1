/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bulk over links: it goes by the link of its request, and when that dies, over
 * another one, in the same request.
 */
#include "rt_bulk.h"

enum {
	DEALS = 8,
	ROUNDS = 4
};

static struct rt_machine *s;
static struct rt_machine *m;
static struct rt_client  *c;
static char               addr[2][CF_ADDR_MAX];
/** The client's second. */
static char mine[CF_ADDR_MAX];

static struct m0_uint128 service(void)
{
	return M0_UINT128(17, 5);
}

struct state {
	const char *sta_addr;
	uint32_t    sta_want;
};

static bool state_is(void *arg)
{
	const struct state     *want = arg;
	struct m0_rpc_link_info info[M0_RPC_LINKS_MAX];
	uint32_t nr = m0_rpc_conn_links(&c->rtc_conn, info, ARRAY_SIZE(info));

	while (nr-- > 0)
		if (strcmp(info[nr].lki_addr, want->sta_addr) == 0)
			return info[nr].lki_state == want->sta_want;
	return false;
}

static void state_wait(const char *at, uint32_t want)
{
	struct state st = { at, want };

	rt_wait(state_is, &st, "a link is up or down");
}

static void add(struct rt_machine *to, char *ret_addr)
{
	cf.c_row->r_addr(ret_addr, ++cf.c_addr_nr);
	CF_EQ(m0_rpc_machine_link_add(&to->rtm_machine, ret_addr), 0, "add");
}

/* A server with two more addresses, a client with one more or none, both links
 * up. Resends come late, so that what is quick is quick for another reason. */
static void up(bool client_has_two)
{
	struct m0_rpc_cfg cfg;
	const char       *addrs[] = { addr[0], addr[1] };

	rt_bulk_begin();
	/* So that an answer that is lost is not asked for twice. */
	rt_bulk.rtb_streams = DEALS;
	rt_cfg(&cfg);
	cfg.rc_link_idle_ns = (cf.c_sim ? 50 : 250) * M0_TIME_ONE_MSEC;
	cfg.rc_resend_ns = 20 * M0_TIME_ONE_SECOND;
	cfg.rc_resend_max_ns = 20 * M0_TIME_ONE_SECOND;
	s = rt_up(0, &cfg);
	add(s, addr[0]);
	add(s, addr[1]);
	m = rt_up(1, &cfg);
	if (client_has_two)
		add(m, mine);
	CF_EQ(m0_rpc_machine_map_links(&m->rtm_machine, service(), addrs, 2), 0,
	      "the map");
	c = &rt.rt_clients[rt.rt_clients_nr++];
	c->rtc_machine = m;
	CF_EQ(m0_rpc_conn_init(&c->rtc_conn, service(), NULL, &m->rtm_machine,
			       0),
	      0, "conn init");
	c->rtc_conn_up = true;
	CF_EQ(m0_rpc_conn_establish(&c->rtc_conn, M0_TIME_NEVER), 0, "begun");
	CF_EQ(rt_conn_wait(c), 0, "the connection is ACTIVE");
	CF_EQ(rt_session_begin(c), 0, "a session is begun");
	CF_EQ(rt_session_wait(c), 0, "the session is IDLE");
	state_wait(addr[0], M0_RPC_LINK_UP);
	state_wait(addr[1], M0_RPC_LINK_UP);
}

static bool all_ended(void *arg)
{
	(void)arg;
	return rt_stats(s).rs_executing == 0;
}

static void down(void)
{
	rt_wait(all_ended, NULL, "the server's work");
	rt_client_end(c);
	m0_rpc_machine_stop(&m->rtm_machine, true);
	m0_rpc_machine_stop(&s->rtm_machine, true);
	rt_deals_free();
}

static struct rt_deal *d[DEALS];

/* All sizes, in both directions by turns. */
static void deals_post(uint64_t key)
{
	unsigned i;

	for (i = 0; i < DEALS; ++i) {
		d[i] = rt_deal_new(c,
				   3 + cf_rand(i % 4 == 3 ? 2 * MIB : 64 * KIB),
				   i % 2, key + i);
		CF_EQ(rt_post(d[i]->dl_item), 0, "post");
	}
}

static void deals_end(void)
{
	unsigned i;

	for (i = 0; i < DEALS; ++i)
		rt_deal_ends(d[i], 0);
}

static void serve_all(void)
{
	int i;

	cf_set(&rt_bulk.rtb_holds, false);
	for (i = 0; i < DEALS; ++i)
		rt_bulk_serve(&s->rtm_machine, rt_bulk.rtb_held[i]);
	rt_bulk.rtb_held_nr = 0;
}

static void hold_all(uint64_t key)
{
	cf_set(&rt_bulk.rtb_holds, true);
	deals_post(key);
	rt_wait_count(&rt_bulk.rtb_held_nr, DEALS, "the handler has them");
}

/* Nothing dies: requests are spread, and each moves its bytes by its own link. */
static void goes_by_its_request(bool for_it)
{
	struct m0_rpc_link_info info[2];

	up(true);
	rt_bulk.rtb_for = for_it;
	hold_all(1);
	CF_EQ(m0_rpc_conn_links(&c->rtc_conn, info, 2), 2, "two links");
	CF_TRUE(info[0].lki_items_nr > 0 && info[1].lki_items_nr > 0,
		"both are used");
	if (for_it)
		CF_TRUE(info[0].lki_bytes + info[1].lki_bytes > DEALS * KIB,
			"what they offer counts");
	serve_all();
	deals_end();
	if (cf.c_sim)
		CF_EQ(rt_stats(s).rs_nr_moved_bulk, 0, "nothing was moved");
	down();
}

RT_CASE(by_its_request)
{
	goes_by_its_request(true);
}

RT_CASE(by_a_link)
{
	goes_by_its_request(false);
}

/* One way swallows all, when the server has what it is to do and has begun
 * nothing: what it begins there ends over the other. */
static void way_dies(bool client_has_two)
{
	m0_time_t began;
	bool      silent;

	up(client_has_two);
	rt_bulk.rtb_for = true;
	hold_all(1);
	began = m0_time_now();
	silent = rt_way_cut(true);
	serve_all();
	if (!silent)
		CF_EQ(m0_rpc_machine_link_del(&s->rtm_machine, addr[1]), 0,
		      "cut");
	deals_end();
	if (cf.c_sim)
		CF_TRUE(m0_time_sub(m0_time_now(), began) <
				2 * M0_TIME_ONE_SECOND,
			"before any resend");
	if (silent) {
		CF_TRUE(rt_stats(s).rs_nr_moved_bulk > 0, "some were moved");
		(void)rt_way_cut(false);
	}
	down();
}

RT_CASE(server_way_dies)
{
	way_dies(false);
}

RT_CASE(both_have_two)
{
	way_dies(true);
}

/* The client's second address goes under what was offered there. */
RT_CASE(client_way_goes)
{
	up(true);
	rt_bulk.rtb_for = true;
	hold_all(1);
	CF_EQ(m0_rpc_machine_link_del(&m->rtm_machine, mine), 0, "cut");
	serve_all();
	deals_end();
	down();
}

/* Links go and come again while data moves, one at a time. */
RT_CASE(links_come_and_go)
{
	unsigned i;

	up(true);
	for (i = 0; i < ROUNDS; ++i) {
		const char *at = addr[i % 2];

		rt_bulk.rtb_for = true;
		deals_post(10 * i);
		if (cf.c_sim)
			rt_run_ms((unsigned)cf_rand(3));
		CF_EQ(m0_rpc_machine_link_del(&s->rtm_machine, at), 0, "cut");
		deals_end();
		CF_EQ(m0_rpc_machine_link_add(&s->rtm_machine, at), 0, "back");
		state_wait(at, M0_RPC_LINK_UP);
		state_wait(addr[1 - i % 2], M0_RPC_LINK_UP);
	}
	down();
}

/* The map loses the address by which it came: it is moved by the one left. */
RT_CASE(map_del_moves)
{
	up(false);
	rt_bulk.rtb_for = true;
	hold_all(1);
	CF_EQ(m0_rpc_machine_map_del(&m->rtm_machine, service(), addr[0]), 0,
	      "del");
	serve_all();
	deals_end();
	down();
}

/* A moved buffer stays offered until the request has ended, and is withdrawn
 * then. */
RT_CASE(offer_lasts)
{
	unsigned i;

	up(true);
	rt_bulk.rtb_for = true;
	cf_set(&rt_bulk.rtb_keeps, true);
	deals_post(1);
	rt_wait_count(&rt_bulk.rtb_kept_nr, DEALS, "the server is done");
	for (i = 0; i < DEALS; ++i)
		CF_TRUE(!m0_rpc_bulk_is_empty(&d[i]->dl_rb), "still there");
	rt_bulk_answer();
	deals_end();
	down();
}

/* Withdrawn: all ways are. */
RT_CASE(withdrawn)
{
	struct rt_deal *deal;

	up(true);
	rt_bulk.rtb_for = true;
	deal = rt_deal_new(c, 64 * KIB, true, 1);
	m0_rpc_bulk_store_del(&deal->dl_rb);
	rt_wait_count(&deal->dl_done, 1, "the end of the offer");
	CF_EQ(deal->dl_rb.rb_rc, -ECANCELED, "withdrawn");
	CF_EQ(deal->dl_rb.rb_moved, 0, "nothing was moved");
	down();
}

/* Sets the last byte of the second of two ways, and makes it padding. */
static void last_way_pad(uint8_t *desc)
{
	uint8_t *way = desc + 8;
	uint8_t *end;

	CF_EQ(desc[4], 2, "two ways");
	way += 16 + (way[8] + 7) / 8 * 8;
	CF_TRUE(way[8] > 8 && way[9] == 0, "a small descriptor");
	end = way + 16 + (way[8] + 7) / 8 * 8;
	if (way[8] % 8 == 0)
		--way[8];
	end[-1] = 1;
}

/* Each wrong descriptor of ways fails with an error, and nothing is begun. */
RT_CASE(lies)
{
	struct lie {
		unsigned lie_at;
		uint8_t  lie_is;
	};
	/* In the descriptor: number of ways, of the first its length, its 0;
	 * length of the whole, below. */
	static const struct lie all[] = { { 4, 0 },  { 4, 5 },    { 7, 1 },
					  { 16, 0 }, { 16, 255 }, { 19, 255 },
					  { 20, 1 } };
	const unsigned          desc_at = 16 + 16;
	struct rt_deal         *deal;
	unsigned                i;

	up(true);
	for (i = 0; i < ARRAY_SIZE(all); ++i) {
		deal = rt_deal_new(c, 4 * KIB, i % 2, i);
		CF_EQ(memcmp(deal->dl_body + desc_at, "M0W\1", 4), 0, "ways");
		deal->dl_body[desc_at + all[i].lie_at] = all[i].lie_is;
		CF_EQ(rt_post(deal->dl_item), 0, "post");
		rt_deal_ends(deal, -EPROTO);
	}
	/* Padding of the second way, which no one would try. */
	deal = rt_deal_new(c, 4 * KIB, true, i);
	last_way_pad(deal->dl_body + desc_at);
	CF_EQ(rt_post(deal->dl_item), 0, "post");
	rt_deal_ends(deal, -EPROTO);
	/* One way that is none, and no other: the others are gone on. */
	deal = rt_deal_new(c, 4 * KIB, true, i);
	deal->dl_body[desc_at + 24 + 20] ^= 1;
	CF_EQ(rt_post(deal->dl_item), 0, "post");
	rt_item_wait(deal->dl_item);
	m0_rpc_bulk_store_del(&deal->dl_rb);
	rt_wait_count(&deal->dl_done, 1, "the end of the offer");
	deal = rt_deal_new(c, 4 * KIB, true, 1);
	CF_EQ(rt_post(deal->dl_item), 0, "post");
	rt_deal_ends(deal, 0);
	down();
}

const struct cf_case rpc_suite_ways[] = {
	{ "by_its_request", by_its_request },
	{ "by_a_link", by_a_link },
	{ "server_way_dies", server_way_dies },
	{ "both_have_two", both_have_two },
	{ "client_way_goes", client_way_goes },
	{ "links_come_and_go", links_come_and_go },
	{ "map_del_moves", map_del_moves },
	{ "offer_lasts", offer_lasts },
	{ "withdrawn", withdrawn },
	{ "lies", lies },
	{ NULL, NULL },
};

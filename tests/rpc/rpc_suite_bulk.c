/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests with bulk: what was moved is there when the answer is, and whatever
 * the peer does, request and list both end.
 */
#include "conformance/toy.h"
#include "rt_bulk.h"

static struct rt_machine *s;
static struct rt_machine *m;
static struct rt_client  *c;

static void up(void)
{
	rt_bulk_begin();
	s = rt_up(0, NULL);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
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

/* ----------------------------------------------------------------- cases -- */

/* Either way, one at a time, from one byte to several buffers. */
RT_CASE(sizes)
{
	static const m0_bcount_t nrs[] = { 3, 4 * KIB, MIB + 3, 17 * MIB };
	size_t                   i;
	int                      put;

	/* A busy machine takes more than the usual 1.5 s for a packet of 16 MiB. */
	toy_timeout_set(60 * M0_TIME_ONE_SECOND);
	up();
	for (i = 0; i < ARRAY_SIZE(nrs); ++i)
		for (put = 0; put < 2; ++put) {
			struct rt_deal *d = rt_deal_new(c, nrs[i], put, i + 1);

			CF_EQ(rt_post(d->dl_item), 0, "post");
			rt_deal_ends(d, 0);
		}
	down();
}

/* Many at once, both ways, with others between. */
RT_CASE(many)
{
	struct rt_deal *d[24];
	struct rt_item *i[24];
	int             k;

	up();
	for (k = 0; k < 24; ++k) {
		d[k] = rt_deal_new(c, 1 + cf_rand(100 * KIB) + 2, k % 2,
				   (uint64_t)k);
		CF_EQ(rt_post(d[k]->dl_item), 0, "post");
		i[k] = rt_ask(c, RT_ECHO, (uint32_t)k % 3, (uint64_t)k);
	}
	for (k = 0; k < 24; ++k) {
		rt_deal_ends(d[k], 0);
		rt_ends(i[k], 0, "echo");
	}
	down();
}

/* Bodies that are none, and descriptors that lie: an error each, the machine
 * goes on. */
RT_CASE(lies)
{
	struct rt_deal *d;
	size_t          first = 16;

	up();
	/* No descriptor at all; half of one. */
	d = rt_deal_new(c, 64 * KIB, true, 1);
	d->dl_item->rti_raw.rr_nr = 16;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_deal_ends(d, -EPROTO);
	d = rt_deal_new(c, 64 * KIB, true, 2);
	d->dl_item->rti_raw.rr_nr -= 8;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_deal_ends(d, -EPROTO);
	/* A huge length; one byte of the descriptor's. */
	d = rt_deal_new(c, 64 * KIB, false, 3);
	memset(d->dl_body + first, 0xff, 8);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_deal_ends(d, -EMSGSIZE);
	d = rt_deal_new(c, 64 * KIB, false, 4);
	d->dl_body[first + 16 + 20] ^= 1;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_deal_ends(d, -EINVAL);
	/* More than it has: nothing is written beyond. */
	d = rt_deal_new(c, 64 * KIB, false, 5);
	d->dl_body[first] += 8;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_item_wait(d->dl_item);
	CF_EQ(m0_rpc_item_error(&d->dl_item->rti_raw.rr_item), -EPROTO,
	      "other than was said");
	rt_wait_count(&d->dl_done, 1, "the end of the offer");
	/* The wrong way round. */
	d = rt_deal_new(c, 64 * KIB, false, 6);
	d->dl_body[8] = 1;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_deal_ends(d, -EPERM);
	d = rt_deal_new(c, 64 * KIB, true, 7);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_deal_ends(d, 0);
	down();
}

/* Withdrawn before the server comes: it is told that it is late. */
RT_CASE(withdrawn)
{
	struct rt_deal *d;

	up();
	cf_set(&rt_bulk.rtb_holds, true);
	d = rt_deal_new(c, 64 * KIB, true, 1);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_wait_count(&rt_bulk.rtb_held_nr, 1, "the handler has it");
	m0_rpc_bulk_store_del(&d->dl_rb);
	rt_wait_count(&d->dl_done, 1, "the end of the offer");
	CF_EQ(d->dl_rb.rb_rc, -ECANCELED, "withdrawn");
	/* Sent again, it may come when the first was answered already. */
	cf_set(&rt_bulk.rtb_holds, false);
	rt_bulk_serve(&s->rtm_machine, rt_bulk.rtb_held[0]);
	rt_item_wait(d->dl_item);
	CF_EQ(m0_rpc_item_error(&d->dl_item->rti_raw.rr_item),
	      cf.c_row->r_stale, "too late");
	down();
}

/* The client stops under an offer: list and request both end. */
RT_CASE(client_stops)
{
	struct rt_deal *d;

	up();
	cf_set(&rt_bulk.rtb_holds, true);
	d = rt_deal_new(c, 64 * KIB, true, 1);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_wait_count(&rt_bulk.rtb_held_nr, 1, "the handler has it");
	m0_rpc_machine_stop(&m->rtm_machine, true);
	rt_item_wait(d->dl_item);
	CF_EQ(m0_rpc_item_error(&d->dl_item->rti_raw.rr_item), -ESHUTDOWN,
	      "the request's end");
	CF_EQ(d->dl_done, 1, "the offer's end");
	m0_rpc_reply_rc(rt_bulk.rtb_held[0], -EIO);
	m0_rpc_item_put(rt_bulk.rtb_held[0]);
	down();
}

/* Both have a second address, and the first way is cut: bulk takes the second,
 * from the client's second to the server's. */
RT_CASE(second_way)
{
	struct m0_uint128 service;
	char              addr[2][CF_ADDR_MAX];
	int               put;

	up();
	for (put = 0; put < 2; ++put) {
		cf.c_row->r_addr(addr[put], ++cf.c_addr_nr);
		CF_EQ(m0_rpc_machine_link_add(&s->rtm_machine, addr[put]), 0,
		      "the server's");
	}
	service = c->rtc_conn.c_service;
	CF_EQ(m0_rpc_machine_map_links(
		      &m->rtm_machine, service,
		      (const char *const[]){ addr[0], addr[1] }, 2),
	      0, "the map");
	cf.c_row->r_addr(addr[1], ++cf.c_addr_nr);
	CF_EQ(m0_rpc_machine_link_add(&m->rtm_machine, addr[1]), 0,
	      "the client's");
	rt_ends(rt_ask(c, RT_ECHO, 0, 1), 0, "it is there");
	CF_EQ(m0_rpc_machine_link_del(&s->rtm_machine, addr[0]), 0, "cut");
	for (put = 0; put < 2; ++put) {
		struct rt_deal *d;

		rt_ends(rt_ask(c, RT_ECHO, 1, 2), 0, "over the second");
		d = rt_deal_new(c, MIB, put, 7);
		CF_EQ(rt_post(d->dl_item), 0, "post");
		rt_deal_ends(d, 0);
	}
	down();
}

/* Connections are reset, or packets lost, in mid-bulk: in a stream each request
 * ends well, executed once, and its bytes are there. */
RT_CASE(resets)
{
	enum {
		NR = 12,
		STREAMS = 6
	};
	struct rt_deal *d[NR];
	int             k;

	rt_resets(true);
	up();
	rt_bulk.rtb_streams = STREAMS;
	rt_bulk.rtb_for = true;
	for (k = 0; k < NR; ++k) {
		d[k] = rt_deal_new(c, 3 + cf_rand(100 * KIB), k % 2,
				   (uint64_t)k);
		CF_EQ(rt_post(d[k]->dl_item), 0, "post");
	}
	for (k = 0; k < NR; ++k)
		rt_deal_ends(d[k], 0);
	if (strcmp(cf.c_row->r_name, "toy") == 0)
		CF_TRUE(rt_stats(s).rs_nr_restarted_bulk > 0,
			"some were begun anew");
	rt_resets(false);
	down();
}

const struct cf_case rpc_suite_bulk[] = { { "sizes", sizes },
					  { "many", many },
					  { "lies", lies },
					  { "withdrawn", withdrawn },
					  { "client stops", client_stops },
					  { "second way", second_way },
					  { "resets", resets },
					  { NULL, NULL } };

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Items that leave together, and items that wait. */
#include "rt.h"

static struct rt_machine *s;
static struct rt_machine *m;
static struct rt_client  *c;

static void up(void)
{
	s = rt_up(0, NULL);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
	rt_run_ms(2);
}

/* Every item in a packet of its own. */
RT_CASE(formation_off)
{
	struct m0_rpc_cfg   cfg;
	struct m0_rpc_stats a;
	struct m0_rpc_stats b;
	struct rt_item     *i[20];
	int                 k;

	rt_cfg(&cfg);
	cfg.rc_formation_off = true;
	s = rt_up(0, NULL);
	m = rt_up(1, &cfg);
	c = rt_client(m, s);
	rt_run_ms(2);
	a = rt_stats(m);
	for (k = 0; k < 20; ++k)
		i[k] = rt_ask(c, RT_ECHO, (uint32_t)k % 3, 1);
	for (k = 0; k < 20; ++k)
		rt_ends(i[k], 0, "echo");
	rt_run_ms(2);
	b = rt_stats(m);
	CF_EQ(b.rs_nr_sent_packets - a.rs_nr_sent_packets,
	      b.rs_nr_sent_items - a.rs_nr_sent_items, "one item a packet");
}

static bool group_ended(void *arg)
{
	struct m0_rpc_group *group = arg;

	return __atomic_load_n(&group->rg_ended_nr, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&group->rg_posted_nr, __ATOMIC_ACQUIRE);
}

static struct rt_item *grouped(struct m0_rpc_group *group, uint64_t number)
{
	struct rt_item *i = rt_item(c, RT_ECHO, 0, number);

	i->rti_raw.rr_item.ri_group = group;
	CF_EQ(rt_post(i), 0, "post");
	return i;
}

/* An open group is held; closed, it leaves in one packet. */
RT_CASE(group_closed)
{
	struct m0_rpc_group group;
	struct m0_rpc_stats a;
	struct rt_item     *i[5];
	int                 k;

	up();
	a = rt_stats(m);
	m0_rpc_group_init(&group);
	group.rg_linger_ns = 20 * M0_TIME_ONE_SECOND;
	for (k = 0; k < 5; ++k)
		i[k] = grouped(&group, (uint64_t)k);
	rt_run_ms(5);
	CF_EQ(cf_get(&rt.rt_log_nr), 0, "held");
	rt_ends(rt_ask(c, RT_ECHO, 0, 9), 0, "others do not wait for them");
	m0_rpc_group_close(&m->rtm_machine, &group);
	for (k = 0; k < 5; ++k)
		rt_ends(i[k], 0, "echo");
	m0_rpc_group_fini(&group);
	rt_run_ms(2);
	CF_EQ(rt_stats(m).rs_nr_sent_packets - a.rs_nr_sent_packets, 2,
	      "one packet for the group");
}

/* Nobody closes it: its time comes. */
RT_CASE(group_lingers)
{
	struct m0_rpc_group group;
	struct rt_item     *i;

	up();
	m0_rpc_group_init(&group);
	group.rg_linger_ns = 5 * M0_TIME_ONE_MSEC;
	i = grouped(&group, 1);
	rt_ends(i, 0, "after its linger");
	m0_rpc_group_close(&m->rtm_machine, &group);
	m0_rpc_group_fini(&group);
}

/* A server's replies may be a group, too: closed, they leave in one packet. */
RT_CASE(group_of_replies)
{
	struct m0_rpc_group group;
	struct m0_rpc_stats a;
	struct rt_item     *i[5];
	int                 k;

	up();
	for (k = 0; k < 5; ++k)
		i[k] = rt_ask(c, RT_HOLD, 0, (uint64_t)k);
	rt_held_wait(5, "requests have come");
	rt_run_ms(2);
	a = rt_stats(s);
	m0_rpc_group_init(&group);
	group.rg_linger_ns = 20 * M0_TIME_ONE_SECOND;
	rt.rt_group = &group;
	rt_release(5);
	rt.rt_group = NULL;
	m0_rpc_group_close(&s->rtm_machine, &group);
	for (k = 0; k < 5; ++k)
		rt_ends(i[k], 0, "answered");
	rt_wait(group_ended, &group, "every reply has ended");
	CF_EQ(group.rg_posted_nr, 5, "replies that were posted");
	m0_rpc_group_fini(&group);
	CF_EQ(rt_stats(s).rs_nr_sent_packets - a.rs_nr_sent_packets, 1,
	      "one packet for the group");
}

static int source_left;
static int source_ended;

static bool source_has(const struct m0_rpc_item_source *source)
{
	(void)source;
	return source_left > 0;
}

static struct m0_rpc_item *source_get(struct m0_rpc_item_source *source,
				      m0_bcount_t                max_payload)
{
	(void)source;
	if (max_payload < 8)
		return NULL;
	--source_left;
	return &m0_rpc_raw_new(rt_type(RT_ONEWAY), "notice..", 8)->rr_item;
}

static void source_end(struct m0_rpc_item_source *source)
{
	(void)source;
	cf_inc(&source_ended);
}

/* Items of a source ride along, and cause no packet. */
RT_CASE(source)
{
	static const struct m0_rpc_item_source_ops ops = {
		.riso_has_item = source_has,
		.riso_get_item = source_get,
		.riso_conn_terminating = source_end
	};
	struct m0_rpc_item_source src = { .ris_name = "notices",
					  .ris_ops = &ops };
	struct m0_rpc_item_source gone = src;
	struct m0_rpc_stats       a;

	up();
	a = rt_stats(m);
	source_left = 3;
	source_ended = 0;
	m0_rpc_item_source_register(&c->rtc_conn, &src);
	m0_rpc_item_source_register(&c->rtc_conn, &gone);
	m0_rpc_item_source_deregister(&gone);
	m0_rpc_item_source_deregister(&gone);
	rt_run_ms(5);
	CF_EQ(rt_stats(m).rs_nr_sent_packets, a.rs_nr_sent_packets,
	      "no packet of its own");
	rt_ends(rt_ask(c, RT_ECHO, 0, 1), 0, "echo");
	rt_wait_count(&rt.rt_oneways, 3, "three came along");
	CF_EQ(rt_stats(m).rs_nr_sent_packets - a.rs_nr_sent_packets, 1,
	      "in one packet");
	rt_client_end(c);
	CF_EQ(cf_get(&source_ended), 1, "told of the end");
}

/* An item that may wait leaves at once when nothing is on its way. */
RT_CASE(lone_item)
{
	struct rt_item *i;

	up();
	i = rt_item(c, RT_ECHO, 0, 1);
	i->rti_raw.rr_item.ri_deadline = M0_TIME_NEVER;
	CF_EQ(rt_post(i), 0, "post");
	rt_ends(i, 0, "a lone item waits for nobody");
}

static void small_packets(const char                    *ep_addr,
			  struct m0_rpc_frm_constraints *limits)
{
	CF_TRUE(ep_addr != NULL && *ep_addr != '\0', "an address");
	limits->fc_max_packet_size = 1024;
}

/* The network's policy of a machine: limits of packets, and when they leave. */
RT_CASE(network_policy)
{
	static const struct m0_rpc_frm_network small = { "small", small_packets,
							 NULL };
	struct m0_rpc_cfg                      cfg;
	struct m0_rpc_group                    group;
	struct m0_rpc_stats                    a;
	struct rt_item                        *i[30];
	int                                    k;

	rt_cfg(&cfg);
	cfg.rc_network = &small;
	s = rt_up(0, NULL);
	m = rt_up(1, &cfg);
	c = rt_client(m, s);
	rt_run_ms(2);
	a = rt_stats(m);
	m0_rpc_group_init(&group);
	group.rg_linger_ns = 20 * M0_TIME_ONE_SECOND;
	for (k = 0; k < 30; ++k)
		i[k] = grouped(&group, (uint64_t)k);
	m0_rpc_group_close(&m->rtm_machine, &group);
	for (k = 0; k < 30; ++k)
		rt_ends(i[k], 0, "echo");
	m0_rpc_group_fini(&group);
	/* 112 bytes each, so eight beside a header. */
	CF_TRUE(rt_stats(m).rs_nr_sent_packets - a.rs_nr_sent_packets >= 4,
		"small packets");
	rt_client_end(c);
	cfg.rc_network = &m0_rpc_frm_batch;
	m = rt_up(1, &cfg);
	c = rt_client(m, s);
	k = cf_get(&rt.rt_log_nr);
	i[0] = rt_item(c, RT_ECHO, 0, 1);
	i[0]->rti_raw.rr_item.ri_deadline = M0_TIME_NEVER;
	CF_EQ(rt_post(i[0]), 0, "post");
	rt_run_ms(5);
	CF_EQ(cf_get(&rt.rt_log_nr), k, "it waits on an idle line");
	rt_ends(rt_ask(c, RT_ECHO, 0, 2), 0, "an urgent one");
	rt_ends(i[0], 0, "goes with it");
}

const struct cf_case rpc_suite_frm[] = { { "formation off", formation_off },
					 { "group, closed", group_closed },
					 { "group, its time", group_lingers },
					 { "group, replies", group_of_replies },
					 { "source", source },
					 { "lone item", lone_item },
					 { "network policy", network_policy },
					 { NULL, NULL } };

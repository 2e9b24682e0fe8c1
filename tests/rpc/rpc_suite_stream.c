/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Update streams: order, windows, exactly once. */
#include "rt.h"
#include "conformance/toy.h"

static struct rt_machine *s;
static struct rt_machine *m;
static struct rt_client  *c;

static void up(void)
{
	s = rt_up(0, NULL);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
}

/* Is what was executed of each stream 1, 2, ...? The stream is in the high
 * bits. */
static void order_check(uint32_t streams, int each)
{
	uint64_t next[64] = {};
	int      k;

	for (k = 0; k < rt.rt_log_nr; ++k) {
		uint64_t stream = rt.rt_log[k] >> 32;

		CF_EQ(rt.rt_log[k] & UINT32_MAX, ++next[stream],
		      "in order, once, in stream %d", (int)stream);
	}
	for (k = 1; k <= (int)streams; ++k)
		CF_EQ(next[k], each, "all of stream %d", k);
}

static void append_all(uint32_t streams, int each)
{
	struct rt_item **i = calloc((size_t)each * streams, sizeof *i);
	int              k;

	for (k = 0; k < each * (int)streams; ++k) {
		uint32_t stream = 1 + (uint32_t)k % streams;

		i[k] = rt_ask(c, RT_APPEND, stream,
			      (uint64_t)stream << 32 |
				      (uint64_t)(1 + k / (int)streams));
	}
	for (k = 0; k < each * (int)streams; ++k)
		rt_ends(i[k], 0, "append");
	free(i);
	order_check(streams, each);
}

/* More than a window of each of several streams. */
RT_CASE(in_order)
{
	up();
	append_all(8, 40);
}

/* A window of one. */
RT_CASE(window_of_one)
{
	struct m0_rpc_cfg cfg;

	rt_cfg(&cfg);
	cfg.rc_window_max = 1;
	cfg.rc_streams_max = 2;
	s = rt_up(0, &cfg);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
	CF_EQ(c->rtc_session.s_streams_nr, 2, "granted");
	CF_EQ(c->rtc_session.s_window, 1, "granted");
	append_all(2, 20);
}

/* One after the other is answered. */
RT_CASE(one_at_a_time)
{
	struct rt_item *i[3];
	int             k;

	up();
	for (k = 0; k < 3; ++k)
		i[k] = rt_ask(c, RT_HOLD, 1, (uint64_t)k);
	for (k = 0; k < 3; ++k) {
		rt_held_wait(1, "the next one");
		rt_run_ms(3);
		CF_EQ(cf_get(&rt.rt_held_nr), 1, "not two of one stream");
		rt_release(1);
		rt_ends(i[k], 0, "in turn");
	}
}

/* Packets get lost, come twice and out of order: exactly once, in order. */
RT_CASE(lossy)
{
	struct toy_faults faults = {
		.tf_drop_pct = 10,
		.tf_duplicate_pct = 10,
		.tf_delay_pct = 20,
		.tf_delay_ns = 10 * M0_TIME_ONE_MSEC,
		.tf_seed = cf.c_seed,
	};

	toy_faults_set(&faults);
	up();
	append_all(4, 50);
}

/* Plain requests over the same: at least once each, and all are answered. */
RT_CASE(lossy_plain)
{
	struct toy_faults faults = {
		.tf_drop_pct = 10,
		.tf_duplicate_pct = 10,
		.tf_delay_pct = 20,
		.tf_delay_ns = 10 * M0_TIME_ONE_MSEC,
		.tf_seed = cf.c_seed,
	};
	struct rt_item *i[100];
	int             k;

	toy_faults_set(&faults);
	up();
	for (k = 0; k < 100; ++k)
		i[k] = rt_ask(c, RT_ECHO, 0, (uint64_t)k);
	for (k = 0; k < 100; ++k)
		rt_ends(i[k], 0, "echo");
}

/* The server dies, several times, and its store stays: exactly once, in order,
 * and nothing is stale. */
RT_CASE(durable)
{
	struct m0_rpc_store store;
	struct m0_rpc_cfg   cfg;
	struct rt_item     *i[120];
	char                addr[CF_ADDR_MAX];
	int                 k;
	int                 n;

	CF_EQ(m0_rpc_store_volatile_init(&store, 1 << 20), 0, "store");
	rt_cfg(&cfg);
	cfg.rc_store = &store;
	s = rt_up(0, &cfg);
	strcpy(addr, s->rtm_addr);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
	for (n = 0; n < 4; ++n) {
		for (k = 30 * n; k < 30 * n + 30; ++k) {
			uint32_t stream = 1 + (uint32_t)k % 3;

			i[k] = rt_ask(c, RT_APPEND, stream,
				      (uint64_t)stream << 32 |
					      (uint64_t)(1 + k / 3));
		}
		rt_wait_count(&rt.rt_log_nr, 30 * n + (int)cf_rand(25),
			      "some are executed");
		rt_down(s);
		s = rt_up_at(0, &cfg, addr);
	}
	for (k = 0; k < 120; ++k)
		rt_ends(i[k], 0, "append");
	order_check(3, 40);
	rt_ends(rt_ask(c, RT_STATUS, 2, (uint64_t)-EXDEV), -EXDEV, "status");
	rt_down(s);
	s = rt_up_at(0, &cfg, addr);
	rt_ends(rt_ask(c, RT_ECHO, 2, 5), 0, "after it");
	rt_client_end(c);
	rt_down(s);
	m0_rpc_store_volatile_fini(&store);
}

/* An update that is undone leaves nothing in the store, and the stream goes on,
 * also with the next server. */
RT_CASE(undone)
{
	struct m0_rpc_store store;
	struct m0_rpc_slice key;
	struct m0_rpc_slice value;
	struct m0_rpc_cfg   cfg;
	struct m0_rpc_tx    tx;
	char                addr[CF_ADDR_MAX];
	uint64_t            number;
	int                 nr = 0;
	int                 n;

	CF_EQ(m0_rpc_store_volatile_init(&store, 1 << 20), 0, "store");
	rt_cfg(&cfg);
	cfg.rc_store = &store;
	s = rt_up(0, &cfg);
	strcpy(addr, s->rtm_addr);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
	for (n = 0; n < 3; ++n) {
		number = UINT64_C(1) << 32 | (uint64_t)(2 * n + 1);
		rt_ends(rt_ask(c, RT_APPEND, 1, number), 0, "kept");
		rt_ends(rt_ask(c, RT_APPEND, 1, RT_UNDONE + number), -EDOM,
			"undone");
		if (n == 0)
			rt_ends(rt_ask(c, RT_APPEND, 1, RT_UNDONE + number),
				-EDOM, "again");
		rt_down(s);
		s = rt_up_at(0, &cfg, addr);
	}
	rt_client_end(c);
	rt_down(s);
	CF_EQ(m0_rpc_snapshot_begin(&store, &tx), 0, "snapshot");
	for (key.sl_nr = 0; m0_rpc_tx_next(&tx, key, &key, &value) == 0; ++nr) {
		memcpy(&number, key.sl_data, sizeof number);
		CF_TRUE(number < RT_UNDONE, "it was undone");
	}
	CF_EQ(nr, 3, "the others");
	m0_rpc_snapshot_end(&tx);
	m0_rpc_store_volatile_fini(&store);
}

static struct m0_rpc_item_type_ops mute_ops;
static struct m0_rpc_item_type     mute_type = {
	    .rit_opcode = 220,
	    .rit_ops = &mute_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	    .rit_name = "mute",
};
static struct m0_rpc_item_type_ops asks_ops;
static struct m0_rpc_item_type     asks_type = {
	    .rit_opcode = 221,
	    .rit_ops = &asks_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "asks",
};

static int mute_encode(const struct m0_rpc_item *item, void *bytes,
		       m0_bcount_t nr)
{
	(void)item;
	(void)bytes;
	(void)nr;
	return -EILSEQ;
}

static void asks_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	cf_inc(&rt.rt_oneways);
	m0_rpc_reply_post(item,
			  &m0_rpc_raw_new(&mute_type, "12345678", 8)->rr_item);
}

/* An answer that cannot be encoded is answered as its error, in streams and
 * beside them, also when it is asked for again. */
RT_CASE(reply_not_encoded)
{
	struct rt_item *i[6];
	uint32_t        k;

	mute_ops = m0_rpc_raw_ops;
	mute_ops.rito_encode = mute_encode;
	asks_ops = m0_rpc_raw_ops;
	asks_ops.rito_deliver = asks_deliver;
	if (m0_rpc_item_type_lookup(220) == NULL) {
		CF_EQ(m0_rpc_item_type_register(&mute_type), 0, "register");
		CF_EQ(m0_rpc_item_type_register(&asks_type), 0, "register");
	}
	up();
	for (k = 0; k < 6; ++k) {
		i[k] = rt_item(c, RT_ECHO, k % 3, k);
		i[k]->rti_raw.rr_item.ri_type = &asks_type;
		CF_EQ(rt_post(i[k]), 0, "post");
	}
	for (k = 0; k < 6; ++k)
		rt_ends(i[k], -EILSEQ, "the error of its answer");
	CF_EQ(cf_get(&rt.rt_oneways), 6, "executed once each");
	rt_ends(rt_ask(c, RT_ECHO, 1, 7), 0, "the stream goes on");
}

const struct cf_case rpc_suite_stream[] = {
	{ "in order", in_order },
	{ "a window of one", window_of_one },
	{ "one at a time", one_at_a_time },
	{ "a lossy network", lossy },
	{ "a lossy network, plain", lossy_plain },
	{ "server dies, its store stays", durable },
	{ "an update is undone", undone },
	{ "reply not encoded", reply_not_encoded },
	{ NULL, NULL }
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Items: every way in which they end. */
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

/* One request, one reply; states and counts on the way. */
RT_CASE(echo_case)
{
	struct rt_item *i;

	up();
	i = rt_ask(c, RT_ECHO, 0, 7);
	rt_ends(i, 0, "echo");
	CF_EQ(m0_rpc_item_state(&i->rti_raw.rr_item), M0_RPC_ITEM_REPLIED,
	      "REPLIED");
	CF_EQ(cf_get(&rt.rt_log_nr), 1, "executed once");
	CF_EQ(m0_rpc_raw_of(i->rti_raw.rr_item.ri_reply)->rr_nr, 64,
	      "the reply's length");
}

/* How often a request with this number was executed. */
static int executed(uint64_t number)
{
	int nr = cf_get(&rt.rt_log_nr);
	int found = 0;
	int k;

	for (k = 0; k < nr; ++k)
		found += rt.rt_log[k] == number;
	return found;
}

/* As often as they were executed, at least. */
static bool all_were_sent(void *arg)
{
	struct rt_item *const *i = arg;
	int                    k;

	for (k = 0; k < 300; ++k)
		if (executed((uint64_t)k) > cf_get(&i[k]->rti_sent))
			return false;
	return true;
}

/*
 * Several hundred at once, of streams and of none. Those of none may be sent,
 * and executed, again by a busy machine.
 */
RT_CASE(many)
{
	struct rt_item *i[300];
	int             k;

	up();
	for (k = 0; k < 300; ++k)
		i[k] = rt_ask(c, RT_ECHO, (uint32_t)k % 9, (uint64_t)k);
	for (k = 0; k < 300; ++k)
		rt_ends(i[k], 0, "echo");
	for (k = 0; k < 300; ++k) {
		if (k % 9 != 0 || cf.c_sim)
			CF_EQ(executed((uint64_t)k), 1, "executed once: %d", k);
		else
			CF_TRUE(executed((uint64_t)k) >= 1, "executed: %d", k);
	}
	/* The reply may come before it is told that a request has left. */
	rt_wait(all_were_sent, i, "none is executed that was not sent");
	CF_TRUE(rt_stats(s).rs_nr_rcvd_packets < 300, "items share packets");
}

/* A body by reference, as large as may be, and one byte more. */
RT_CASE(large)
{
	/* The bytes stay as they are until the item is final. */
	static uint8_t  bytes[3][65536];
	struct rt_item *i[3];
	int             k;

	up();
	for (k = 0; k < 3; ++k) {
		m0_bcount_t max = m0_rpc_session_get_max_item_payload_size(
			&c->rtc_session);

		i[k] = rt_item(c, RT_ECHO, (uint32_t)k % 2, 5);
		CF_TRUE(max + 1 < sizeof bytes[k],
			"the buffer is large enough");
		memset(bytes[k], 0x5a, sizeof bytes[k]);
		memcpy(bytes[k], i[k]->rti_body, 8);
		i[k]->rti_raw.rr_data = bytes[k];
		i[k]->rti_raw.rr_nr = max + (k == 2);
		CF_EQ(rt_post(i[k]), k == 2 ? -EMSGSIZE : 0, "post");
	}
	for (k = 0; k < 2; ++k) {
		rt_ends(i[k], 0, "echo");
		CF_EQ(memcmp(m0_rpc_raw_of(i[k]->rti_raw.rr_item.ri_reply)
				     ->rr_data,
			     bytes[k], i[k]->rti_raw.rr_nr),
		      0, "the same bytes");
	}
}

/* A handler's status is not the library's error. */
RT_CASE(status)
{
	struct rt_item *i;
	uint32_t        k;

	up();
	for (k = 0; k < 2; ++k) {
		i = rt_ask(c, RT_STATUS, k, (uint64_t)-ENOTEMPTY);
		rt_ends(i, -ENOTEMPTY, "the handler's status");
		CF_EQ(i->rti_raw.rr_item.ri_error, 0, "it was replied to");
		CF_EQ(m0_rpc_item_state(&i->rti_raw.rr_item),
		      M0_RPC_ITEM_REPLIED, "REPLIED");
		rt_ends(rt_ask(c, RT_STATUS, k, 0), 0, "status 0");
	}
}

/* One after the other they need no memory to be sent. They do when they come, for
 * it is who asked that puts them, on his own thread; something else may, too. */
RT_CASE(status_again)
{
	uint64_t before = 0;
	int      k;

	up();
	for (k = 0; k < 60; ++k) {
		if (k == 10)
			before = cf_allocs();
		rt_ends(rt_ask(c, RT_STATUS, 0, (uint64_t)-ENOTEMPTY),
			-ENOTEMPTY, "the handler's status");
	}
	CF_TRUE(cf_allocs() - before < 75, "memory for statuses");
}

/* Perhaps a number of the request's: it harms nobody else's answers. */
RT_CASE(status_strange)
{
	static const int64_t all[] = { 1, 77777, -4096, -77777, INT32_MIN };
	uint32_t             k;

	up();
	for (k = 0; k < 2 * ARRAY_SIZE(all); ++k)
		rt_ends(rt_ask(c, RT_STATUS, k % 2, (uint64_t)all[k / 2]),
			-EPROTO, "no status");
	rt_ends(rt_ask(c, RT_STATUS, 0, (uint64_t)-4095), -4095, "the last");
}

/* A request that the server cannot take is answered with the reason, and so are
 * the others. */
RT_CASE(refused)
{
	struct rt_item *i[6];
	int             k;

	up();
	for (k = 0; k < 2; ++k) {
		i[k] = rt_ask(c, RT_BAD, (uint32_t)k, 1);
		i[2 + k] = rt_ask(c, RT_UNKNOWN, (uint32_t)k, 2);
		i[4 + k] = rt_ask(c, RT_ECHO, (uint32_t)k, 3);
	}
	for (k = 0; k < 2; ++k) {
		rt_ends(i[k], -EILSEQ, "cannot be decoded");
		rt_ends(i[2 + k], -EOPNOTSUPP, "not known there");
		rt_ends(i[4 + k], 0, "echo");
	}
	CF_EQ(rt_stats(s).rs_nr_dropped_items, 4, "four were dropped");
}

/* An item that cannot be encoded fails here, and delays no other. */
RT_CASE(not_encoded)
{
	struct rt_item *i[4];
	int             k;

	up();
	for (k = 0; k < 4; ++k)
		i[k] = rt_ask(c, k % 2 ? RT_ECHO : RT_NOENC, (uint32_t)k / 2,
			      1);
	for (k = 0; k < 4; ++k)
		rt_ends(i[k], k % 2 ? 0 : -ENODATA, "encode");
}

RT_CASE(oneway)
{
	struct rt_item *i[20];
	int             k;

	up();
	for (k = 0; k < 20; ++k) {
		i[k] = rt_item(c, RT_ONEWAY, 0, (uint64_t)k);
		CF_EQ(m0_rpc_oneway_item_post(&c->rtc_conn,
					      &i[k]->rti_raw.rr_item),
		      0, "post");
		i[k]->rti_posted = true;
	}
	for (k = 0; k < 20; ++k) {
		rt_ends(i[k], 0, "sent");
		CF_EQ(m0_rpc_item_state(&i[k]->rti_raw.rr_item),
		      M0_RPC_ITEM_SENT, "SENT");
		CF_EQ(cf_get(&i[k]->rti_sent), 1, "rio_sent");
	}
	rt_wait_count(&rt.rt_oneways, 20, "all have come");
}

/* A request that nobody answers ends when its time is up; the others go on. */
RT_CASE(expires)
{
	struct rt_item *i[2];
	struct rt_item *k[2];
	uint32_t        n;

	up();
	for (n = 0; n < 2; ++n) {
		i[n] = rt_item(c, RT_HOLD, n, 1);
		i[n]->rti_raw.rr_item.ri_expires =
			m0_time_from_now(0, 50000000);
		CF_EQ(rt_post(i[n]), 0, "post");
	}
	for (n = 0; n < 2; ++n)
		rt_ends(i[n], -ETIMEDOUT, "its time is up");
	CF_EQ(rt_stats(m).rs_nr_timedout_items, 2, "counted");
	CF_EQ(rt_stats(m).rs_nr_failed_items, 2, "as failures, too");
	rt_held_wait(2, "both have come");
	for (n = 0; n < 2; ++n)
		k[n] = rt_ask(c, RT_ECHO, n, 2);
	rt_ends(k[0], 0, "of no stream: waits for nobody");
	CF_EQ(k[1]->rti_ended, 0, "in the stream: after the one before");
	rt_release(2);
	rt_ends(k[1], 0, "in the stream");
}

/* A request that has expired by its turn is not executed, and is counted. */
RT_CASE(expired_at_server)
{
	struct rt_item *first;
	struct rt_item *second;
	int             log;

	up();
	first = rt_ask(c, RT_HOLD, 1, 1);
	rt_held_wait(1, "the first one");
	second = rt_item(c, RT_ECHO, 1, 2);
	second->rti_raw.rr_item.ri_expires = m0_time_from_now(0, 40000000);
	CF_EQ(rt_post(second), 0, "post");
	rt_ends(second, -ETIMEDOUT, "its time is up");
	log = cf_get(&rt.rt_log_nr);
	rt_run_ms(5);
	rt_release(1);
	rt_ends(first, 0, "the first one");
	rt_ends(rt_ask(c, RT_ECHO, 1, 3), 0, "the stream goes on");
	CF_EQ(cf_get(&rt.rt_log_nr), log + 1, "only the third was executed");
	CF_EQ(rt_stats(m).rs_nr_failed_items, 1, "the second is counted");
}

/* Cancelled wherever it is; ended once; the server is told. */
RT_CASE(cancel)
{
	struct rt_item *i[4];
	struct rt_item *after;
	int             k;

	up();
	i[0] = rt_ask(c, RT_HOLD, 1, 1);
	i[1] = rt_ask(c, RT_ECHO, 1, 2);
	i[2] = rt_ask(c, RT_HOLD, 0, 3);
	rt_held_wait(2, "those that are held");
	rt_run_ms(2);
	i[3] = rt_ask(c, RT_ECHO, 2, 4);
	for (k = 0; k < 4; ++k) {
		m0_rpc_item_cancel(&i[k]->rti_raw.rr_item);
		m0_rpc_item_cancel(&i[k]->rti_raw.rr_item);
	}
	for (k = 0; k < 4; ++k)
		rt_item_wait(i[k]);
	for (k = 0; k < 3; ++k)
		CF_EQ(i[k]->rti_error, -ECANCELED, "cancelled");
	CF_TRUE(i[3]->rti_error == 0 || i[3]->rti_error == -ECANCELED,
		"replied to or cancelled");
	m0_rpc_item_cancel(&i[0]->rti_raw.rr_item);
	rt_release(cf_get(&rt.rt_held_nr));
	for (k = 1; k <= 2; ++k) {
		after = rt_ask(c, RT_ECHO, (uint32_t)k, 5);
		rt_ends(after, 0, "the streams go on");
	}
}

static int             again_nr;
static struct rt_item *again_others[3];

static bool again_cb(struct rt_item *item)
{
	item->rti_body[0] = (uint64_t)++again_nr;
	if (again_nr % 10 == 0)
		CF_EQ(rt_post(again_others[again_nr / 10 - 1]), 0, "post");
	if (again_nr == 30)
		return false;
	CF_EQ(m0_rpc_post(&item->rti_raw.rr_item), 0, "post");
	return true;
}

static bool is_let_go(void *arg)
{
	const struct rt_client *client = arg;

	return __atomic_load_n(&client->rtc_session.s_hold_cnt,
			       __ATOMIC_ACQUIRE) == 0;
}

/* Posted again inside its own callback, now and then with another one: at the
 * end nothing holds the session, and the reference is the first one's. */
RT_CASE(again)
{
	struct rt_item *i;
	int             k;

	up();
	again_nr = 0;
	i = rt_item(c, RT_ECHO, 3, 0);
	for (k = 0; k < 3; ++k)
		again_others[k] = rt_item(c, RT_ECHO, 0, 100);
	i->rti_hook = again_cb;
	CF_EQ(rt_post(i), 0, "post");
	rt_item_wait(i);
	CF_EQ(again_nr, 30, "thirty times");
	for (k = 0; k < 3; ++k)
		rt_item_wait(again_others[k]);
	CF_EQ(cf_get(&rt.rt_log_nr), 33, "executed so often");
	rt_wait(is_let_go, c, "the session is let go of");
	CF_EQ(m0_ref_read(&i->rti_raw.rr_ref), 1, "the first reference");
}

/* A held request is sent again, and executed once all the same. */
RT_CASE(resend)
{
	struct rt_item *i[2];
	uint64_t        before;
	uint32_t        k;

	up();
	for (k = 0; k < 2; ++k) {
		before = rt_stats(m).rs_nr_resend_attempts;
		i[k] = rt_item(c, RT_HOLD, k, k);
		i[k]->rti_raw.rr_item.ri_resend_interval = 5000000;
		CF_EQ(rt_post(i[k]), 0, "post");
		rt_held_wait((int)k + 1, "it has come");
		while (cf_get(&i[k]->rti_sent) < 3)
			rt_run_ms(2);
		CF_TRUE(rt_stats(m).rs_nr_resend_attempts >= before + 2,
			"each attempt is counted");
		if (k == 0)
			i[k]->rti_raw.rr_item.ri_resend_interval =
				M0_TIME_ONE_SECOND;
	}
	CF_EQ(cf_get(&rt.rt_log_nr), 2, "each executed once");
	rt_release(2);
	rt_ends(i[0], 0, "echo");
	rt_ends(i[1], 0, "echo");
	CF_TRUE(rt_stats(m).rs_nr_resent_items >= 4, "counted");
}

/* Sent as often as it may be; then its end is a time-out. */
RT_CASE(sent_max)
{
	struct rt_item *i[2];
	uint32_t        k;

	up();
	for (k = 0; k < 2; ++k) {
		i[k] = rt_item(c, RT_HOLD, k, k);
		i[k]->rti_raw.rr_item.ri_resend_interval = 3000000;
		i[k]->rti_raw.rr_item.ri_nr_sent_max = 2;
		CF_EQ(rt_post(i[k]), 0, "post");
	}
	for (k = 0; k < 2; ++k) {
		rt_ends(i[k], -ETIMEDOUT, "sent often enough");
		CF_TRUE(cf_get(&i[k]->rti_sent) <= 2, "not oftener");
	}
}

/* Blocking calls, in a mode that has a thread for the machine. */
RT_CASE(blocking)
{
	struct rt_client  *b = &rt.rt_clients[1];
	struct m0_rpc_raw *raw;

	up();
	if (cf.c_mode == CF_INLINE)
		return;
	b->rtc_machine = m;
	CF_EQ(m0_rpc_conn_create(&b->rtc_conn, M0_UINT128(1, 1), s->rtm_addr,
				 &m->rtm_machine, 0, M0_TIME_NEVER),
	      0, "conn create");
	CF_EQ(m0_rpc_session_create(&b->rtc_session, &b->rtc_conn,
				    M0_TIME_NEVER),
	      0, "session create");
	raw = m0_rpc_raw_new(rt_type(RT_ECHO), "12345678", 8);
	raw->rr_item.ri_session = &b->rtc_session;
	CF_EQ(m0_rpc_post_sync(&raw->rr_item), 0, "post sync");
	CF_EQ(m0_rpc_item_wait_for_reply(&raw->rr_item, M0_TIME_NEVER), 0,
	      "has its reply");
	m0_rpc_item_put(&raw->rr_item);
	CF_EQ(m0_rpc_session_destroy(&b->rtc_session, M0_TIME_NEVER), 0,
	      "session destroy");
	CF_EQ(m0_rpc_conn_destroy(&b->rtc_conn, M0_TIME_NEVER), 0,
	      "conn destroy");
}

enum {
	/* One for the connection, one for the session. */
	HANDSHAKES_NR = 2,
	ECHOES_NR = 10,
	STATS_NR = HANDSHAKES_NR + ECHOES_NR
};

static bool stats_are_whole(const struct m0_rpc_stats *stats)
{
	return stats->rs_nr_rcvd_items >= STATS_NR &&
	       stats->rs_nr_sent_items >= STATS_NR &&
	       stats->rs_nr_sent_packets >= STATS_NR;
}

/* The event of a message may come after its reply. */
static bool stats_have_come(void *arg)
{
	struct m0_rpc_stats a = rt_stats(m);
	struct m0_rpc_stats b = rt_stats(s);

	(void)arg;
	return stats_are_whole(&a) && stats_are_whole(&b);
}

/* Counts of both sides fit together. */
RT_CASE(statistics)
{
	struct m0_rpc_stats a;
	struct m0_rpc_stats b;
	struct m0_hist      hist;
	int                 k;

	up();
	for (k = 0; k < ECHOES_NR; ++k)
		rt_ends(rt_ask(c, RT_ECHO, 0, 1), 0, "echo");
	rt_run_ms(2);
	cf_wait(stats_have_come, NULL, "all has left and come");
	m0_rpc_machine_get_stats(&m->rtm_machine, &a, true);
	m0_rpc_machine_get_stats(&s->rtm_machine, &b, true);
	/* A slow machine may send again; some of these may be lost. */
	if (a.rs_nr_resent_items == 0) {
		CF_EQ(a.rs_nr_sent_items_uniq, STATS_NR, "requests, each once");
		CF_EQ(a.rs_nr_sent_items, STATS_NR, "requests left");
		CF_EQ(b.rs_nr_rcvd_items, STATS_NR, "requests came");
		CF_EQ(b.rs_nr_sent_items, STATS_NR, "replies left");
		CF_EQ(a.rs_nr_rcvd_items, STATS_NR, "replies came");
		CF_EQ(a.rs_nr_sent_bytes, b.rs_nr_rcvd_bytes, "bytes");
	}
	a = rt_stats(m);
	CF_EQ(a.rs_nr_rcvd_items, 0, "counted anew");
	CF_EQ(b.rs_clients, 1, "one client");
	CF_EQ(b.rs_executing, 0, "nothing is executed");
	CF_EQ(m0_rpc_machine_latency(&m->rtm_machine, rt_type(RT_ECHO), &hist),
	      0, "latency");
	CF_EQ(m0_hist_nr(&hist), 10, "of ten");
	CF_EQ(m0_rpc_machine_latency(&m->rtm_machine, rt_type(RT_HOLD), &hist),
	      -ENOENT, "none of this type");
}

/* A type of requests that are answered with a status. */
static int latency_nr(struct m0_rpc_item_type *type, int nr)
{
	struct m0_hist  hist = { 0 };
	struct rt_item *i;
	int             rc;

	CF_EQ(m0_rpc_item_type_register(type), 0, "register");
	while (nr-- > 0) {
		i = rt_item(c, RT_STATUS, 0, 0);
		i->rti_raw.rr_item.ri_type = type;
		CF_EQ(rt_post(i), 0, "post");
		rt_ends(i, 0, "status");
		/* The type goes before it. */
		i->rti_raw.rr_item.ri_type = rt_type(RT_STATUS);
	}
	rt_run_ms(2);
	rc = m0_rpc_machine_latency(&m->rtm_machine, type, &hist);
	m0_rpc_item_type_deregister(type);
	return rc != 0 ? rc : (int)m0_hist_nr(&hist);
}

/* Latencies of a type are not those of a type that had its number before. */
RT_CASE(latency_of_type)
{
	struct m0_rpc_item_type old = *rt_type(RT_STATUS);
	struct m0_rpc_item_type new;

	up();
	old.rit_opcode = 230;
	new = old;
	CF_EQ(latency_nr(&old, 3), 3, "of three");
	CF_EQ(latency_nr(&new, 0), -ENOENT, "of none");
	CF_EQ(latency_nr(&new, 2), 2, "of two");
}

static void sent_cancels(struct m0_rpc_item *item)
{
	m0_rpc_session_cancel(item->ri_session);
}

static void sent_cancelled(struct m0_rpc_item *item)
{
	struct rt_item *i = container_of(item, struct rt_item, rti_raw.rr_item);

	i->rti_error = item->ri_error;
	cf_inc(&i->rti_ended);
	cf_wake();
}

/* A poster who is told that his item has left gives up all of the session, which
 * may be while its answer is taken. */
RT_CASE(sent_cancels_session)
{
	static const struct m0_rpc_item_ops ops = {
		.rio_sent = sent_cancels, .rio_replied = sent_cancelled
	};
	struct rt_item *i;
	unsigned        k;

	s = rt_up(0, NULL);
	m = rt_up(1, NULL);
	for (k = 0; k < 8; ++k) {
		c = rt_client(m, s);
		i = rt_item(c, RT_ECHO, k % 2, k);
		i->rti_raw.rr_item.ri_ops = &ops;
		CF_EQ(rt_post(i), 0, "post");
		rt_item_wait(i);
		CF_TRUE(M0_IN(i->rti_error, (0, -ECANCELED)), "ended");
		CF_EQ(m0_rpc_item_state(&i->rti_raw.rr_item),
		      i->rti_error == 0 ? M0_RPC_ITEM_REPLIED
					: M0_RPC_ITEM_FAILED,
		      "and is final");
	}
}

/* The epochs that applications set are seen by handlers, and in replies; not
 * only the first one. */
RT_CASE(epoch)
{
	struct m0_rpc_cfg  cfg;
	struct rt_machine *to = rt_up(0, NULL);
	struct rt_machine *from;
	struct rt_client  *client;
	struct rt_item    *i;
	uint32_t           k;

	rt_cfg(&cfg);
	cfg.rc_epoch = 7;
	from = rt_up(1, &cfg);
	CF_EQ(m0_rpc_machine_epoch(&from->rtm_machine), 7, "as configured");
	CF_EQ(m0_rpc_machine_epoch(&to->rtm_machine), 0, "none");
	client = rt_client(from, to);
	for (k = 0; k < 2; ++k) {
		i = rt_ask(client, RT_HOLD, k, 1);
		rt_held_wait(1, "a request");
		CF_EQ(rt.rt_held[0]->ri_epoch, 7 + k, "of the request");
		m0_rpc_machine_epoch_set(&to->rtm_machine, UINT32_MAX - k);
		rt_release(1);
		rt_ends(i, 0, "answered");
		CF_EQ(i->rti_raw.rr_item.ri_reply->ri_epoch, UINT32_MAX - k,
		      "of the reply");
		m0_rpc_machine_epoch_set(&from->rtm_machine, 7 + k + 1);
	}
	CF_EQ(m0_rpc_machine_epoch(&from->rtm_machine), 9, "as it was set");
}

const struct cf_case rpc_suite_item[] = {
	{ "sent cancels session", sent_cancels_session },
	{ "latency of type", latency_of_type },
	{ "echo", echo_case },
	{ "many at once", many },
	{ "large bodies", large },
	{ "status of a handler", status },
	{ "status again and again", status_again },
	{ "status that is none", status_strange },
	{ "refused by the server", refused },
	{ "not encoded", not_encoded },
	{ "one-way", oneway },
	{ "its time is up", expires },
	{ "expired at the server", expired_at_server },
	{ "cancel", cancel },
	{ "posted again in its callback", again },
	{ "sent again, executed once", resend },
	{ "sent as often as it may be", sent_max },
	{ "blocking calls", blocking },
	{ "statistics", statistics },
	{ "epoch", epoch },
	{ NULL, NULL }
};

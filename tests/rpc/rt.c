/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The fixture of the RPC suite. */
#include "rt.h"

struct rt rt;

/* ---------------------------------------------------------------- types -- */

static struct m0_rpc_item_type_ops ops[RT_NR - RT_ECHO];

#define TYPE(op, flags)                                             \
	[RT_##op - RT_ECHO] = { .rit_opcode = RT_##op,              \
				.rit_ops = &ops[RT_##op - RT_ECHO], \
				.rit_name = #op,                    \
				.rit_flags = (flags) }

struct m0_rpc_item_type rt_types[RT_NR - RT_ECHO] = {
	TYPE(ECHO, M0_RPC_ITEM_TYPE_REQUEST),
	TYPE(HOLD, M0_RPC_ITEM_TYPE_REQUEST),
	TYPE(STATUS, M0_RPC_ITEM_TYPE_REQUEST),
	TYPE(ONEWAY, M0_RPC_ITEM_TYPE_ONEWAY),
	TYPE(REPLY, M0_RPC_ITEM_TYPE_REPLY),
	TYPE(BAD, M0_RPC_ITEM_TYPE_REQUEST),
	TYPE(NOENC, M0_RPC_ITEM_TYPE_REQUEST),
	TYPE(APPEND, M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO),
	TYPE(UNKNOWN, M0_RPC_ITEM_TYPE_REQUEST),
};

struct m0_rpc_item_type *rt_type(enum rt_op op)
{
	return &rt_types[op - RT_ECHO];
}

static uint64_t number_of(const struct m0_rpc_item *item)
{
	const struct m0_rpc_raw *raw =
		container_of(item, struct m0_rpc_raw, rr_item);
	uint64_t number = 0;

	if (raw->rr_nr >= sizeof number)
		memcpy(&number, raw->rr_data, sizeof number);
	return number;
}

static void echo(struct m0_rpc_item *item)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	struct m0_rpc_raw *reply =
		m0_rpc_raw_new(rt_type(RT_REPLY), raw->rr_data, raw->rr_nr);

	reply->rr_item.ri_group = rt.rt_group;
	m0_rpc_reply_post(item, &reply->rr_item);
}

static void log_add(const struct m0_rpc_item *item)
{
	m0_mutex_lock(&rt.rt_lock);
	CF_TRUE(rt.rt_log_nr < RT_LOG, "the log is full");
	rt.rt_log[rt.rt_log_nr] = number_of(item);
	cf_inc(&rt.rt_log_nr);
	m0_mutex_unlock(&rt.rt_lock);
}

static void echo_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	CF_EQ(item->ri_state, M0_RPC_ITEM_ACCEPTED, "state of what came");
	CF_EQ(m0_mutex_held_nr(), 0, "no lock is held in a handler");
	CF_TRUE(machine->rm_app_private == &rt, "the application's pointer");
	CF_TRUE(machine->rm_dom == machine->rm_tm.ntm_dom, "its domain");
	log_add(item);
	echo(item);
}

static void hold_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	bool now;

	(void)machine;
	CF_TRUE(cf_get(&rt.rt_held_nr) < RT_HELD, "too many held");
	log_add(item);
	m0_mutex_lock(&rt.rt_lock);
	now = rt.rt_ends;
	if (!now) {
		rt.rt_held[rt.rt_held_nr] = item;
		cf_inc(&rt.rt_held_nr);
	}
	m0_mutex_unlock(&rt.rt_lock);
	/* Nobody releases it any more. */
	if (now)
		echo(item);
}

static void status_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *item)
{
	(void)machine;
	log_add(item);
	m0_rpc_reply_rc(item, (int)(int64_t)number_of(item));
}

static void oneway_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *item)
{
	(void)machine;
	log_add(item);
	cf_inc(&rt.rt_oneways);
}

static void append(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	uint64_t            number = number_of(item);
	struct m0_rpc_slice key = { &number, sizeof number };
	struct m0_rpc_slice value = { "x", 1 };
	int                 rc;

	CF_TRUE(item->ri_app_private == &rt, "what the handler left there");
	/* The first byte of a handler's key is not 0. */
	number |= 1;
	rc = m0_rpc_tx_put(tx, key, value);
	CF_EQ(rc, 0, "put");
	if (number >= RT_UNDONE) {
		m0_rpc_reply_undo(item, -EDOM);
		return;
	}
	log_add(item);
	echo(item);
}

static void append_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *item)
{
	CF_TRUE(item->ri_app_private == NULL, "nobody has set it");
	item->ri_app_private = machine->rm_app_private;
	m0_rpc_update_post(item, append);
}

static int bad_decode(const struct m0_rpc_item_type *type,
		      struct m0_rpc_item **ret_item, const void *bytes,
		      m0_bcount_t nr)
{
	(void)type;
	(void)ret_item;
	(void)bytes;
	(void)nr;
	return -EILSEQ;
}

static int no_encode(const struct m0_rpc_item *item, void *bytes,
		     m0_bcount_t nr)
{
	(void)item;
	(void)bytes;
	(void)nr;
	return -ENODATA;
}

static void types_up(void)
{
	unsigned i;

	for (i = 0; i < RT_NR - RT_ECHO; ++i)
		ops[i] = m0_rpc_raw_ops;
	ops[RT_ECHO - RT_ECHO].rito_deliver = echo_deliver;
	ops[RT_HOLD - RT_ECHO].rito_deliver = hold_deliver;
	ops[RT_STATUS - RT_ECHO].rito_deliver = status_deliver;
	ops[RT_ONEWAY - RT_ECHO].rito_deliver = oneway_deliver;
	ops[RT_BAD - RT_ECHO].rito_deliver = echo_deliver;
	ops[RT_BAD - RT_ECHO].rito_decode = bad_decode;
	ops[RT_NOENC - RT_ECHO].rito_deliver = echo_deliver;
	ops[RT_NOENC - RT_ECHO].rito_encode = no_encode;
	ops[RT_APPEND - RT_ECHO].rito_deliver = append_deliver;
	for (i = 0; i < RT_UNKNOWN - RT_ECHO; ++i)
		CF_EQ(m0_rpc_item_type_register(&rt_types[i]), 0, "register");
}

/* ---------------------------------------------------------------- waits -- */

bool rt_pump(void)
{
	unsigned i;
	bool     did = cf_pump();

	if (cf.c_mode != CF_INLINE)
		return did;
	for (i = 0; i < rt.rt_machines_nr; ++i) {
		struct rt_machine *m = &rt.rt_machines[i];

		if (!m->rtm_up)
			continue;
		if (m0_net_buffer_event_pending(&m->rtm_machine.rm_tm)) {
			m0_rpc_machine_progress(&m->rtm_machine);
			did = true;
		}
	}
	return did;
}

static bool wait_ns(bool (*cond)(void *arg), void *arg, m0_time_t limit_ns)
{
	m0_time_t end = m0_time_add(m0_time_now(), limit_ns);
	m0_time_t now;

	while (!cond(arg)) {
		if (rt_pump())
			continue;
		now = m0_time_now();
		if (now >= end)
			return cond(arg);
		(void)m0_semaphore_timeddown(
			&cf.c_sem, min64u(end, now + M0_TIME_ONE_MSEC / 4));
	}
	return true;
}

void rt_wait(bool (*cond)(void *arg), void *arg, const char *what)
{
	cf.c_waiting = what;
	if (!wait_ns(cond, arg, 80 * M0_TIME_ONE_SECOND))
		cf_fail(__FILE__, __LINE__, "did not happen: %s", what);
	cf.c_waiting = NULL;
}

struct count {
	const int *cnt_counter;
	int        cnt_want;
};

static bool count_is(void *arg)
{
	const struct count *c = arg;

	return cf_get(c->cnt_counter) >= c->cnt_want;
}

void rt_wait_count(const int *counter, int want, const char *what)
{
	struct count c = { counter, want };

	rt_wait(count_is, &c, what);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void rt_run_ms(unsigned ms)
{
	(void)wait_ns(never, NULL, ms * M0_TIME_ONE_MSEC);
}

/* ------------------------------------------------------------- machines -- */

void rt_cfg(struct m0_rpc_cfg *cfg)
{
	m0_rpc_cfg_init(cfg);
	cfg->rc_inline = cf.c_mode == CF_INLINE;
	cfg->rc_resend_ns = (cf.c_sim ? 20 : 200) * M0_TIME_ONE_MSEC;
	cfg->rc_resend_max_ns = 2 * cfg->rc_resend_ns;
	cfg->rc_timeout_ns = 30 * M0_TIME_ONE_SECOND;
	cfg->rc_drain_ns = 5 * M0_TIME_ONE_SECOND;
	cfg->rc_app_private = &rt;
}

struct rt_machine *rt_up_at(unsigned dom, const struct m0_rpc_cfg *cfg,
			    const char *addr)
{
	struct rt_machine *m = &rt.rt_machines[rt.rt_machines_nr];
	struct m0_rpc_cfg  own;

	CF_TRUE(rt.rt_machines_nr < RT_MACHINES, "too many machines");
	if (cfg == NULL)
		rt_cfg(&own);
	strcpy(m->rtm_addr, addr);
	m->rtm_dom = dom;
	CF_EQ(m0_rpc_machine_init(&m->rtm_machine, cf_dom(dom),
				  cfg != NULL ? cfg : &own, addr, NULL,
				  M0_BUFFER_ANY_COLOUR, 16384, 8),
	      0, "a machine at %s", addr);
	m->rtm_up = true;
	++rt.rt_machines_nr;
	return m;
}

struct rt_machine *rt_up(unsigned dom, const struct m0_rpc_cfg *cfg)
{
	char addr[CF_ADDR_MAX];

	cf.c_row->r_addr(addr, ++cf.c_addr_nr);
	return rt_up_at(dom, cfg, addr);
}

void rt_down(struct rt_machine *m)
{
	m->rtm_up = false;
	m0_rpc_machine_fini(&m->rtm_machine);
}

struct m0_rpc_stats rt_stats(struct rt_machine *m)
{
	struct m0_rpc_stats stats;

	m0_rpc_machine_get_stats(&m->rtm_machine, &stats, false);
	return stats;
}

/* -------------------------------------------------------------- clients -- */

struct rt_client *rt_conn_begin(struct rt_machine *from, const char *addr,
				uint64_t in_flight)
{
	struct rt_client *c = &rt.rt_clients[rt.rt_clients_nr++];

	CF_TRUE(rt.rt_clients_nr <= RT_CLIENTS, "too many clients");
	c->rtc_machine = from;
	CF_EQ(m0_rpc_conn_init(&c->rtc_conn, M0_UINT128(0, 0), addr,
			       &from->rtm_machine, in_flight),
	      0, "conn init");
	c->rtc_conn_up = true;
	CF_EQ(m0_rpc_conn_establish(&c->rtc_conn, M0_TIME_NEVER), 0,
	      "establish is begun");
	return c;
}

static bool conn_is_decided(void *arg)
{
	const struct rt_client *c = arg;

	return m0_rpc_conn_timedwait((void *)(uintptr_t)&c->rtc_conn,
				     1 << M0_RPC_CONN_ACTIVE |
					     1 << M0_RPC_CONN_FAILED |
					     1 << M0_RPC_CONN_TERMINATED,
				     M0_TIME_IMMEDIATELY) == 0;
}

int rt_conn_wait(struct rt_client *c)
{
	rt_wait(conn_is_decided, c, "a connection");
	return c->rtc_conn.c_rc;
}

int rt_session_begin(struct rt_client *c)
{
	int rc = m0_rpc_session_init(&c->rtc_session, &c->rtc_conn);

	CF_EQ(rc, 0, "session init");
	c->rtc_session_up = true;
	return m0_rpc_session_establish(&c->rtc_session, M0_TIME_NEVER);
}

static bool session_is_decided(void *arg)
{
	struct rt_client *c = arg;

	return m0_rpc_session_timedwait(&c->rtc_session,
					1 << M0_RPC_SESSION_IDLE |
						1 << M0_RPC_SESSION_BUSY |
						1 << M0_RPC_SESSION_FAILED |
						1 << M0_RPC_SESSION_TERMINATED,
					M0_TIME_IMMEDIATELY) == 0;
}

int rt_session_wait(struct rt_client *c)
{
	rt_wait(session_is_decided, c, "a session");
	return c->rtc_session.s_rc;
}

struct rt_client *rt_client(struct rt_machine *from, struct rt_machine *to)
{
	struct rt_client *c = rt_conn_begin(from, to->rtm_addr, 0);

	CF_EQ(rt_conn_wait(c), 0, "the connection is ACTIVE");
	CF_EQ(rt_session_begin(c), 0, "a session is begun");
	CF_EQ(rt_session_wait(c), 0, "the session is IDLE");
	return c;
}

static bool session_is_over(void *arg)
{
	struct rt_client *c = arg;

	return m0_rpc_session_timedwait(&c->rtc_session,
					1 << M0_RPC_SESSION_INITIALISED |
						1 << M0_RPC_SESSION_FAILED |
						1 << M0_RPC_SESSION_TERMINATED,
					M0_TIME_IMMEDIATELY) == 0;
}

static bool conn_is_over(void *arg)
{
	struct rt_client *c = arg;

	return m0_rpc_conn_timedwait(&c->rtc_conn,
				     1 << M0_RPC_CONN_INITIALISED |
					     1 << M0_RPC_CONN_FAILED |
					     1 << M0_RPC_CONN_TERMINATED,
				     M0_TIME_IMMEDIATELY) == 0;
}

/* A case may have begun to end it. */
static bool session_ends(struct rt_client *c)
{
	return session_is_over(c) ||
	       m0_rpc_session_timedwait(&c->rtc_session,
					1 << M0_RPC_SESSION_TERMINATING,
					M0_TIME_IMMEDIATELY) == 0;
}

static bool conn_ends(struct rt_client *c)
{
	return conn_is_over(c) ||
	       m0_rpc_conn_timedwait(&c->rtc_conn, 1 << M0_RPC_CONN_TERMINATING,
				     M0_TIME_IMMEDIATELY) == 0;
}

static bool no_items(void *arg)
{
	struct rt_client *c = arg;

	return __atomic_load_n(&c->rtc_session.s_hold_cnt, __ATOMIC_ACQUIRE) ==
	       0;
}

void rt_client_end(struct rt_client *c)
{
	if (c->rtc_session_up) {
		if (!session_ends(c))
			(void)m0_rpc_session_terminate(
				&c->rtc_session,
				m0_time_from_now(cf.c_sim ? 1 : 5, 0));
		rt_wait(session_is_over, c, "the session's end");
		rt_wait(no_items, c, "the end of its items");
		m0_rpc_session_fini(&c->rtc_session);
		c->rtc_session_up = false;
	}
	if (c->rtc_conn_up) {
		if (!conn_ends(c))
			(void)m0_rpc_conn_terminate(
				&c->rtc_conn,
				m0_time_from_now(cf.c_sim ? 1 : 5, 0));
		rt_wait(conn_is_over, c, "the connection's end");
		m0_rpc_conn_fini(&c->rtc_conn);
		c->rtc_conn_up = false;
	}
}

/* ---------------------------------------------------------------- items -- */

static void sent_cb(struct m0_rpc_item *item)
{
	struct rt_item *i = container_of(item, struct rt_item, rti_raw.rr_item);

	CF_EQ(m0_mutex_held_nr(), 0, "no lock is held in rio_sent");
	cf_inc(&i->rti_sent);
}

static void replied_cb(struct m0_rpc_item *item)
{
	struct rt_item *i = container_of(item, struct rt_item, rti_raw.rr_item);

	CF_EQ(m0_mutex_held_nr(), 0, "no lock is held in rio_replied");
	CF_TRUE(M0_IN(m0_rpc_item_state(item),
		      (M0_RPC_ITEM_REPLIED, M0_RPC_ITEM_FAILED,
		       M0_RPC_ITEM_SENT)),
		"final in rio_replied");
	i->rti_error = item->ri_error;
	if (i->rti_hook != NULL && i->rti_hook(i))
		return;
	CF_EQ(i->rti_ended, 0, "ended once");
	cf_inc(&i->rti_ended);
	cf_wake();
}

static const struct m0_rpc_item_ops item_ops = { .rio_sent = sent_cb,
						 .rio_replied = replied_cb };

struct rt_item *rt_item(struct rt_client *c, enum rt_op op, uint32_t stream,
			uint64_t number)
{
	struct rt_item *i = calloc(1, sizeof *i);

	i->rti_body[0] = number;
	m0_rpc_raw_init(&i->rti_raw, rt_type(op), i->rti_body,
			sizeof i->rti_body, NULL);
	i->rti_raw.rr_item.ri_session = &c->rtc_session;
	i->rti_raw.rr_item.ri_stream = stream;
	i->rti_raw.rr_item.ri_ops = &item_ops;
	i->rti_next = rt.rt_items;
	rt.rt_items = i;
	return i;
}

int rt_post(struct rt_item *item)
{
	int rc = m0_rpc_post(&item->rti_raw.rr_item);

	if (rc == 0)
		item->rti_posted = true;
	return rc;
}

struct rt_item *rt_ask(struct rt_client *c, enum rt_op op, uint32_t stream,
		       uint64_t number)
{
	struct rt_item *i = rt_item(c, op, stream, number);

	CF_EQ(rt_post(i), 0, "post");
	return i;
}

void rt_item_wait(struct rt_item *item)
{
	rt_wait_count(&item->rti_ended, 1, "the end of an item");
}

void rt_ends(struct rt_item *item, int error, const char *why)
{
	rt_item_wait(item);
	CF_EQ(m0_rpc_item_error(&item->rti_raw.rr_item), error, "%s", why);
	if (error == 0 && item->rti_raw.rr_item.ri_reply != NULL &&
	    item->rti_raw.rr_item.ri_reply->ri_type == rt_type(RT_REPLY))
		CF_EQ(number_of(item->rti_raw.rr_item.ri_reply),
		      item->rti_body[0], "the reply is to this request");
}

void rt_release(int nr)
{
	struct m0_rpc_item *item;

	while (nr-- > 0) {
		m0_mutex_lock(&rt.rt_lock);
		CF_TRUE(rt.rt_held_nr > 0, "so many are held");
		item = rt.rt_held[0];
		__atomic_fetch_sub(&rt.rt_held_nr, 1, __ATOMIC_ACQ_REL);
		memmove(rt.rt_held, rt.rt_held + 1,
			(size_t)rt.rt_held_nr * sizeof *rt.rt_held);
		m0_mutex_unlock(&rt.rt_lock);
		echo(item);
	}
}

void rt_held_wait(int nr, const char *what)
{
	rt_wait_count(&rt.rt_held_nr, nr, what);
}

/* ----------------------------------------------------------------- life -- */

void rt_begin(void)
{
	M0_SET0(&rt);
	m0_mutex_init(&rt.rt_lock);
	types_up();
}

void rt_hold_no_more(void)
{
	m0_mutex_lock(&rt.rt_lock);
	rt.rt_ends = true;
	m0_mutex_unlock(&rt.rt_lock);
	rt_release(cf_get(&rt.rt_held_nr));
}

void rt_end(void)
{
	struct rt_item *i;
	unsigned        k;

	rt_hold_no_more();
	for (k = 0; k < rt.rt_clients_nr; ++k)
		rt_client_end(&rt.rt_clients[k]);
	while ((i = rt.rt_items) != NULL) {
		CF_EQ(i->rti_ended, i->rti_posted, "every item ends once");
		rt.rt_items = i->rti_next;
		m0_rpc_item_put(&i->rti_raw.rr_item);
		free(i);
	}
	for (k = 0; k < rt.rt_machines_nr; ++k)
		if (rt.rt_machines[k].rtm_up)
			rt_down(&rt.rt_machines[k]);
	for (k = 0; k < RT_UNKNOWN - RT_ECHO; ++k)
		m0_rpc_item_type_deregister(&rt_types[k]);
}

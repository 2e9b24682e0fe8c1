/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A server that sends false answers to a correct client. Each request of the client
 * completes in time, with the right result or a specific error; its RPC machine and its
 * other connections go on. */
#include "hostile.h"

/* Answers of the hostile server. */
static struct lies {
	/** Connect: this body and status; NULL: a right one. */
	const void *li_conn;
	uint32_t    li_conn_nr;
	int32_t     li_conn_status;
	/** Answers to a session's handshake. */
	const void *li_session;
	uint32_t    li_session_nr;
	int32_t     li_session_status;
	uint32_t    li_session_op;
	/** Or nothing at all; atomic. */
	bool li_session_mute;
	/** Requests. */
	void (*li_request)(struct foe *f, const struct foe_item *it,
			   struct m0_net_end_point *from);
	int li_asked;
	/** Handshakes among them. */
	int li_shakes;
} li;

static void tell(struct foe *f, struct m0_net_end_point *to,
		 const struct foe_item *it, uint32_t op, int32_t status,
		 const void *body, uint32_t nr)
{
	static struct pkt       p;
	struct m0_rpc_wire_item w = {
		.rwi_opcode = op,
		.rwi_flags = M0_RPC_WIRE_REPLY,
		.rwi_session = it->fit_item.rwi_session,
		.rwi_stream = it->fit_item.rwi_stream,
		.rwi_xid = it->fit_item.rwi_xid,
		.rwi_status = status,
	};

	pk_begin(&p, f);
	pk_item(&p, &w, body, nr);
	pk_seal(&p);
	foe_answer(f, to, p.pk_bytes, p.pk_nr);
}

static void conn_tell(struct foe *f, const struct foe_item *it,
		      struct m0_net_end_point *to)
{
	struct m0_rpc_conn_rep rep = { .rcr_incarnation = f->foe_incarnation,
				       .rcr_life = 5,
				       .rcr_packet_max = FOE_PACKET_MAX };
	uint8_t                body[M0_RPC_WIRE_BODY_MAX];

	if (li.li_conn != NULL || li.li_conn_status != 0)
		tell(f, to, it, M0_RPC_OP_CONN_ESTABLISH_REPLY,
		     li.li_conn_status, li.li_conn, li.li_conn_nr);
	else
		tell(f, to, it, M0_RPC_OP_CONN_ESTABLISH_REPLY, 0, body,
		     (uint32_t)m0_rpc__conn_rep_put(body, &rep));
}

static void session_tell(struct foe *f, const struct foe_item *it,
			 struct m0_net_end_point *to)
{
	static struct m0_rpc_session_rep rep = { .rsr_streams_nr = 8,
						 .rsr_window = 8 };
	uint8_t                          body[M0_RPC_WIRE_BODY_MAX];
	uint32_t op = li.li_session_op != 0 ? li.li_session_op
					    : M0_RPC_OP_SESSION_ESTABLISH_REPLY;

	if (__atomic_load_n(&li.li_session_mute, __ATOMIC_RELAXED))
		return;
	if (li.li_session != NULL || li.li_session_status != 0)
		tell(f, to, it, op, li.li_session_status, li.li_session,
		     li.li_session_nr);
	else
		tell(f, to, it, op, 0, body,
		     (uint32_t)m0_rpc__session_rep_put(body, &rep));
}

static void hook(struct foe *f, const struct foe_item *it,
		 struct m0_net_end_point *from)
{
	cf_inc(&li.li_asked);
	if (M0_IN(it->fit_item.rwi_opcode,
		  (M0_RPC_OP_CONN_ESTABLISH, M0_RPC_OP_SESSION_ESTABLISH)))
		cf_inc(&li.li_shakes);
	switch (it->fit_item.rwi_opcode) {
	case M0_RPC_OP_CONN_ESTABLISH:
		conn_tell(f, it, from);
		break;
	case M0_RPC_OP_SESSION_ESTABLISH:
		session_tell(f, it, from);
		break;
	case M0_RPC_OP_CONN_TERMINATE:
	case M0_RPC_OP_SESSION_TERMINATE:
		tell(f, from, it, it->fit_item.rwi_opcode + 1, 0, NULL, 0);
		break;
	default:
		if (li.li_request != NULL)
			li.li_request(f, it, from);
	}
}

static struct foe *liar;

/* A client of the liar; its machine has another connection, a good one. */
static void world(void)
{
	M0_SET0(&li);
	foe_world(NULL);
	liar = foe_up(3, m->rtm_addr);
	liar->foe_hook = hook;
}

/* Error with which the connection ends. */
static void connects(int want, const char *why)
{
	struct rt_client *c = rt_conn_begin(m, liar->foe_tm->ct_addr, 0);

	CF_EQ(rt_conn_wait(c), want, "%s", why);
	rt_client_end(c);
	--rt.rt_clients_nr;
	good_check();
}

static struct rt_client *joins(int want, const char *why)
{
	struct rt_client *c = rt_conn_begin(m, liar->foe_tm->ct_addr, 0);

	CF_EQ(rt_conn_wait(c), 0, "connected");
	CF_EQ(rt_session_begin(c), 0, "a session is begun");
	CF_EQ(rt_session_wait(c), want, "%s", why);
	if (want == 0)
		return c;
	rt_client_end(c);
	--rt.rt_clients_nr;
	good_check();
	return NULL;
}

/* Answers to connect. */
FOE_CASE(connections)
{
	struct m0_rpc_conn_rep rep = { .rcr_incarnation = 1, .rcr_life = 2 };
	uint8_t                body[M0_RPC_WIRE_BODY_MAX];
	uint32_t               nr;

	world();
	memset(body, 0xff, sizeof body);
	li.li_conn = body;
	for (nr = 0; nr < 40; nr += 4) {
		li.li_conn_nr = nr;
		connects(-EPROTO, "no answer that can be read");
	}
	for (nr = 0; nr < 104; nr += 13) {
		rep.rcr_packet_max = nr;
		li.li_conn_nr = (uint32_t)m0_rpc__conn_rep_put(body, &rep);
		connects(-EPROTO, "no item fits");
	}
	li.li_conn_status = -4095;
	connects(-4095, "whatever it says");
	li.li_conn_status = -1234;
	li.li_conn_nr = 0;
	connects(-1234, "whatever it says");
}

/* The server takes packets of next to nothing, or claims to take all sizes. */
FOE_CASE(packets_max)
{
	struct m0_rpc_conn_rep rep = { .rcr_incarnation = 1, .rcr_life = 2 };
	uint8_t                body[M0_RPC_WIRE_BODY_MAX];
	struct rt_client      *c;

	world();
	li.li_conn = body;
	rep.rcr_packet_max = 104;
	li.li_conn_nr = (uint32_t)m0_rpc__conn_rep_put(body, &rep);
	joins(-EMSGSIZE, "the handshake does not fit");
	rep.rcr_packet_max = ~0u;
	li.li_conn_nr = (uint32_t)m0_rpc__conn_rep_put(body, &rep);
	c = rt_conn_begin(m, liar->foe_tm->ct_addr, 0);
	CF_EQ(rt_conn_wait(c), 0, "as much as we can");
	rt_client_end(c);
	good_check();
}

/* Grants: nothing, four thousand millions, and executed what never was. */
FOE_CASE(grants)
{
	struct m0_rpc_session_rep rep = { .rsr_streams_nr = 8,
					  .rsr_window = 8 };
	uint8_t                   body[M0_RPC_WIRE_BODY_MAX];
	struct rt_client         *c;
	uint32_t                  word;
	uint32_t                  whole;
	unsigned                  i;

	world();
	whole = (uint32_t)m0_rpc__session_rep_put(body, &rep);
	li.li_session = body;
	/* Streams, window, flags, number of numbers. */
	for (i = 0; i < 8; ++i) {
		(void)m0_rpc__session_rep_put(body, &rep);
		word = i < 4 ? 0 : ~0u;
		if (i % 4 == 2)
			word = 2;
		memcpy(body + 4 * (i % 4), &word, sizeof word);
		li.li_session_nr = whole;
		if (i != 5)
			joins(-EPROTO, "a lie");
	}
	for (i = 0; i < whole; i += 5) {
		(void)m0_rpc__session_rep_put(body, &rep);
		li.li_session_nr = i;
		joins(-EPROTO, "cut off");
	}
	rep.rsr_window = ~0u;
	li.li_session_nr = (uint32_t)m0_rpc__session_rep_put(body, &rep);
	c = joins(0, "as much as was asked for");
	CF_EQ(c->rtc_session.s_window, 16, "the window asked for");
	rt_client_end(c);
	good_check();
}

/* Errors without end: nobody asks for ever. */
FOE_CASE(sessions_never)
{
	struct m0_rpc_session_rep rep = { .rsr_streams_nr = 8,
					  .rsr_window = 8,
					  .rsr_xid = { 0, 0, ~0ULL } };
	uint8_t                   body[M0_RPC_WIRE_BODY_MAX];
	struct rt_client         *c;
	/* 0: it has executed what was never sent. */
	int32_t  codes[] = { -ENOENT, -ESTALE, -ENOTCONN, -1234, 0 };
	unsigned i;
	int      rc;

	world();
	for (i = 0; i < ARRAY_SIZE(codes); ++i) {
		li.li_session_op = M0_RPC_OP_REFUSED;
		li.li_session_status = codes[i];
		if (codes[i] == 0) {
			li.li_session_op = 0;
			li.li_session = body;
			li.li_session_nr =
				(uint32_t)m0_rpc__session_rep_put(body, &rep);
		}
		c = rt_conn_begin(m, liar->foe_tm->ct_addr, 0);
		CF_EQ(rt_conn_wait(c), 0, "connected");
		CF_EQ(m0_rpc_session_init(&c->rtc_session, &c->rtc_conn), 0,
		      "init");
		c->rtc_session_up = true;
		CF_EQ(m0_rpc_session_establish(
			      &c->rtc_session,
			      m0_time_from_now(0, 100 * M0_TIME_ONE_MSEC)),
		      0, "begun");
		rc = rt_session_wait(c);
		CF_TRUE(rc == (codes[i] != 0 ? codes[i] : -EPROTO) ||
				rc == -ETIMEDOUT,
			"%d: code %d", i, rc);
		rt_client_end(c);
		good_check();
	}
}

/* Atomic: it changes while requests come again. */
static int32_t  request_status;
static uint32_t request_op;
static uint32_t request_nr;

static void request_tell(struct foe *f, const struct foe_item *it,
			 struct m0_net_end_point *from)
{
	static const uint8_t zeroes[FOE_PACKET_MAX];

	if (it->fit_item.rwi_flags & M0_RPC_WIRE_REQUEST)
		tell(f, from, it, request_op,
		     __atomic_load_n(&request_status, __ATOMIC_RELAXED), zeroes,
		     request_nr);
}

/* Answers to requests: of no type, of another, with any status; refusals. */
FOE_CASE(replies)
{
	static const struct {
		uint32_t op;
		int32_t  status;
		int      want;
	} all[] = {
		{ RT_UNKNOWN, 0, -EPROTO },
		{ RT_ECHO, 0, -EPROTO },
		{ M0_RPC_OP_SESSION_ESTABLISH_REPLY, 0, -EPROTO },
		{ M0_RPC_OP_STATUS, -4095, -4095 },
		{ RT_REPLY, -77, -77 },
		{ M0_RPC_OP_REFUSED, 0, -EPROTO },
		{ M0_RPC_OP_REFUSED, -4094, -4094 },
		{ M0_RPC_OP_REFUSED, -EOVERFLOW, -EOVERFLOW },
	};
	struct rt_client *c;
	struct rt_item   *i;
	unsigned          k;
	uint32_t          stream;

	world();
	li.li_request = request_tell;
	c = joins(0, "a session");
	for (k = 0; k < 2 * ARRAY_SIZE(all); ++k) {
		stream = k % 2;
		request_op = all[k / 2].op;
		request_status = all[k / 2].status;
		/* The answer cannot be that of a stream: there the request
		 * waits for a better one. */
		if (request_op == M0_RPC_OP_REFUSED && stream == 1)
			continue;
		i = rt_item(c, stream == 1 ? RT_APPEND : RT_ECHO, stream, k);
		CF_EQ(rt_post(i), 0, "post");
		rt_item_wait(i);
		CF_EQ(m0_rpc_item_error(&i->rti_raw.rr_item), all[k / 2].want,
		      "answer %d in stream %d", (int)request_op, (int)stream);
		good_check();
	}
	rt_client_end(c);
	good_check();
}

/* As large as a packet may be, and larger than the client takes. */
FOE_CASE(replies_enormous)
{
	struct rt_client *c;
	struct rt_item   *i;

	world();
	li.li_request = request_tell;
	request_op = RT_REPLY;
	request_status = 0;
	request_nr = FOE_PACKET_MAX - M0_RPC_WIRE_PACKET_BYTES -
		     M0_RPC_WIRE_ITEM_BYTES;
	c = joins(0, "a session");
	i = rt_item(c, RT_ECHO, 0, 0);
	CF_EQ(rt_post(i), 0, "post");
	rt_item_wait(i);
	CF_EQ(m0_rpc_item_error(&i->rti_raw.rr_item), 0, "it fits");
	request_nr += 8;
	i = rt_item(c, RT_ECHO, 0, 0);
	i->rti_raw.rr_item.ri_expires =
		m0_time_from_now(0, 100 * M0_TIME_ONE_MSEC);
	CF_EQ(rt_post(i), 0, "post");
	rt_item_wait(i);
	CF_TRUE(M0_IN(m0_rpc_item_error(&i->rti_raw.rr_item), (0, -ETIMEDOUT)),
		"it ends");
	good_check();
	rt_client_end(c);
	good_check();
}

static void many_tell(struct foe *f, const struct foe_item *it,
		      struct m0_net_end_point *from)
{
	struct foe_item other = *it;
	int             i;

	if (!(it->fit_item.rwi_flags & M0_RPC_WIRE_REQUEST))
		return;
	/* To others first: sessions, streams, numbers. */
	other.fit_item.rwi_session += 1;
	tell(f, from, &other, RT_REPLY, 0, it->fit_body, 64);
	other = *it;
	other.fit_item.rwi_stream = 99;
	tell(f, from, &other, RT_REPLY, 0, it->fit_body, 64);
	other = *it;
	other.fit_item.rwi_xid += 1;
	tell(f, from, &other, RT_REPLY, 0, it->fit_body, 64);
	other.fit_item.rwi_xid = ~0ULL;
	tell(f, from, &other, RT_REPLY, 0, it->fit_body, 64);
	for (i = 0; i < 3; ++i)
		tell(f, from, it, RT_REPLY, 0, it->fit_body, 64);
}

/* One answer ends its request; others, before and after, are counted. */
FOE_CASE(replies_many)
{
	struct m0_rpc_stats before;
	struct rt_client   *c;
	unsigned            k;

	world();
	li.li_request = many_tell;
	c = joins(0, "a session");
	before = rt_stats(m);
	for (k = 0; k < 40; ++k)
		rt_ends(rt_ask(c, k % 2 == 0 ? RT_ECHO : RT_APPEND, k % 2, k),
			0, "its own answer");
	foe_ping(liar);
	CF_TRUE(rt_stats(m).rs_nr_dropped_items - before.rs_nr_dropped_items >=
			40 * 4,
		"each of the others is counted");
	rt_client_end(c);
	good_check();
}

/* "I do not know you", for ever: items end in their time. */
FOE_CASE(forgets_for_ever)
{
	struct rt_client *c;
	struct rt_item   *i[8];
	unsigned          k;

	world();
	li.li_request = request_tell;
	request_op = M0_RPC_OP_REFUSED;
	request_status = -ENOTCONN;
	request_nr = 0;
	c = joins(0, "a session");
	for (k = 0; k < ARRAY_SIZE(i); ++k) {
		i[k] = rt_item(c, k % 2 == 0 ? RT_ECHO : RT_APPEND, k % 2, k);
		i[k]->rti_raw.rr_item.ri_expires =
			m0_time_from_now(0, 100 * M0_TIME_ONE_MSEC);
		CF_EQ(rt_post(i[k]), 0, "post");
	}
	for (k = 0; k < ARRAY_SIZE(i); ++k) {
		rt_item_wait(i[k]);
		CF_TRUE(m0_rpc_item_error(&i[k]->rti_raw.rr_item) < 0,
			"it ends");
	}
	good_check();
	rt_client_end(c);
	good_check();
}

/* Also here the server is not asked without rest, whatever it has forgotten. */
FOE_CASE(forgets_in_peace)
{
	enum {
		MS = 2000,
		/* Time-outs of rt_cfg() in the simulator. */
		RESEND_MS = 20,
		/* For each: connection, session, session anew. */
		SHAKES_MAX = 3 * (MS / RESEND_MS + 5)
	};
	static const int32_t codes[] = { 0, -ENOENT, -ESTALE, -ENOTCONN };
	struct rt_client    *c;
	struct rt_item      *i;
	unsigned             k;

	if (!cf.c_sim)
		return;
	world();
	request_op = M0_RPC_OP_REFUSED;
	request_status = -ENOTCONN;
	request_nr = 0;
	for (k = 0; k < ARRAY_SIZE(codes); ++k) {
		li.li_request = request_tell;
		li.li_session_status = 0;
		li.li_session_op = 0;
		c = joins(0, "a session");
		li.li_session_status = codes[k];
		/* A refusal that says -ESTALE would fence us. */
		li.li_session_op = codes[k] == -ENOTCONN ? M0_RPC_OP_REFUSED
							 : 0;
		i = rt_item(c, RT_ECHO, 0, k);
		i->rti_raw.rr_item.ri_expires = m0_time_from_now(3, 0);
		CF_EQ(rt_post(i), 0, "post");
		li.li_shakes = 0;
		rt_run_ms(MS);
		CF_TRUE(li.li_shakes > 10, "%d: it is asked again: %d", k,
			li.li_shakes);
		CF_TRUE(li.li_shakes < SHAKES_MAX, "%d: %d handshakes", k,
			li.li_shakes);
		good_check();
		if (k % 2 == 0)
			rt_item_wait(i);
		rt_client_end(c);
		good_check();
	}
}

/* The server knows the connection again and does not report the session: the
 * session is no longer busy, and can be terminated. */
FOE_CASE(resumes_never)
{
	struct rt_client *c;
	struct rt_item   *i;

	world();
	request_op = M0_RPC_OP_REFUSED;
	request_status = -ENOTCONN;
	request_nr = 0;
	c = joins(0, "a session");
	li.li_request = request_tell;
	__atomic_store_n(&li.li_session_mute, true, __ATOMIC_RELAXED);
	i = rt_item(c, RT_ECHO, 0, 0);
	i->rti_raw.rr_item.ri_expires =
		m0_time_from_now(0, 200 * M0_TIME_ONE_MSEC);
	CF_EQ(rt_post(i), 0, "post");
	rt_item_wait(i);
	CF_EQ(m0_rpc_item_error(&i->rti_raw.rr_item), -ETIMEDOUT, "it ends");
	CF_EQ(m0_rpc_session_timedwait(&c->rtc_session,
				       1 << M0_RPC_SESSION_IDLE,
				       m0_time_from_now(10, 0)),
	      0, "nothing of it is left");
	good_check();
	/* The handshake may be under way just now. */
	__atomic_store_n(&li.li_session_mute, false, __ATOMIC_RELAXED);
	rt_client_end(c);
	good_check();
}

static bool is_over(void *arg)
{
	struct rt_client *c = arg;

	return m0_rpc_conn_timedwait(&c->rtc_conn,
				     1 << M0_RPC_CONN_FAILED |
					     1 << M0_RPC_CONN_TERMINATED,
				     M0_TIME_IMMEDIATELY) == 0;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* Fenced in the middle of everything: requests, handshakes, the end. */
FOE_CASE(fences)
{
	struct rt_client *c;
	struct rt_item   *i;
	unsigned          k;

	world();
	request_op = M0_RPC_OP_REFUSED;
	request_nr = 0;
	for (k = 0; k < 3; ++k) {
		request_status = k == 0 ? -ENOTCONN : -ESTALE;
		li.li_request = k == 2 ? NULL : request_tell;
		c = joins(0, "a session");
		i = rt_ask(c, RT_ECHO, 0, 1);
		(void)foe_wait_ms(never, NULL, 2);
		if (k == 2) {
			/* The answer arrives while the session is being
			 * terminated. */
			struct foe_item it = {
				.fit_item = { .rwi_session =
						      c->rtc_session
							      .s_session_id }
			};
			struct m0_net_end_point *ep;

			CF_EQ(m0_net_end_point_create(&ep, &liar->foe_tm->ct_tm,
						      m->rtm_addr),
			      0, "end point");
			__atomic_store_n(&liar->foe_hook, NULL,
					 __ATOMIC_RELEASE);
			(void)m0_rpc_session_terminate(&c->rtc_session,
						       M0_TIME_NEVER);
			(void)m0_rpc_conn_terminate(
				&c->rtc_conn,
				m0_time_from_now(0, 50 * M0_TIME_ONE_MSEC));
			for (k = 0; k < 3; ++k)
				tell(liar, ep, &it, M0_RPC_OP_REFUSED, -ESTALE,
				     NULL, 0);
			(void)m0_net_end_point_put(ep);
			__atomic_store_n(&liar->foe_hook, hook,
					 __ATOMIC_RELEASE);
			rt_wait(is_over, c, "the connection's end");
			k = 2;
		} else if (request_status == -ENOTCONN) {
			__atomic_store_n(&request_status, -ESTALE,
					 __ATOMIC_RELAXED);
		}
		rt_item_wait(i);
		CF_TRUE(m0_rpc_item_error(&i->rti_raw.rr_item) < 0, "it ends");
		rt_client_end(c);
		good_check();
	}
}

const struct cf_case hostile_server[] = {
	{ "answers to connect", connections },
	{ "largest packets", packets_max },
	{ "what is granted", grants },
	{ "sessions never", sessions_never },
	{ "answers to requests", replies },
	{ "enormous answers", replies_enormous },
	{ "many answers", replies_many },
	{ "forgets for ever", forgets_for_ever },
	{ "forgets for ever, in peace", forgets_in_peace },
	{ "resumes never", resumes_never },
	{ "fences", fences },
	{ NULL, NULL }
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Peers as clients that keep no rule: each request is refused with why, or a
 * counted drop; what they can make the machine keep is bounded. */
#include "hostile.h"
#include "m0/rpc_bulk.h"

static struct m0_rpc_stats before;

static void mark(void)
{
	foe_forget(foe);
	before = rt_stats(s);
}

static uint64_t dropped_nr(void)
{
	return rt_stats(s).rs_nr_dropped_items - before.rs_nr_dropped_items;
}

static void ask(uint32_t op, uint32_t stream, uint64_t xid, uint64_t ack)
{
	struct m0_rpc_wire_item w = foe_request(foe, op, stream, xid);

	w.rwi_ack = ack;
	foe_say_item(foe, &w, NULL, 24);
}

static void said(uint32_t op, uint16_t flags, uint32_t stream, uint64_t xid)
{
	struct m0_rpc_wire_item w = foe_request(foe, op, stream, xid);

	w.rwi_flags = flags;
	foe_say_item(foe, &w, NULL, 0);
}

/* Sessions, epochs, incarnations that are not its own. */
FOE_CASE(foreign)
{
	uint64_t epoch;

	foe_world(NULL);
	mark();
	ask(FOE_ECHO, 0, 1, 0);
	foe_told(foe, M0_RPC_OP_REFUSED, -ENOTCONN, "nobody knows it");
	foe_join(foe, 7, 2, 8);
	mark();
	/* The good one's session, by its number. */
	foe->foe_session = good->rtc_session.s_session_id;
	ask(FOE_ECHO, 0, 1, 0);
	foe_told(foe, M0_RPC_OP_REFUSED, -ENOTCONN, "not of this client");
	foe->foe_session = 0;
	ask(FOE_ECHO, 0, 1, 0);
	foe_told(foe, M0_RPC_OP_REFUSED, -EPROTO, "no session");
	foe->foe_session = 7;
	epoch = foe->foe_epoch;
	foe->foe_epoch = epoch + 1;
	ask(FOE_ECHO, 0, 1, 0);
	foe_told(foe, M0_RPC_OP_REFUSED, -ENOTCONN, "not of this life");
	foe->foe_epoch = epoch;
	foe->foe_incarnation = 999;
	ask(FOE_ECHO, 0, 1, 0);
	foe_told(foe, M0_RPC_OP_REFUSED, -ESTALE, "fenced");
	foe->foe_incarnation = 1001;
	ask(FOE_ECHO, 0, 1, 0);
	foe_told(foe, M0_RPC_OP_REFUSED, -ENOTCONN, "to be established");
	CF_EQ(dropped_nr(), 5, "each is counted");
	CF_EQ(foe_executed, 0, "none is executed");
	good_check();
}

/* Packets that come again, in any order: each number is executed once. */
FOE_CASE(replayed)
{
	enum {
		NR = 24
	};
	static struct pkt p[NR];
	unsigned          i;

	foe_world(NULL);
	foe_join(foe, 1, 2, 32);
	for (i = 0; i < NR; ++i) {
		struct m0_rpc_wire_item w =
			foe_request(foe, FOE_ECHO, 1, i + 1);

		pk_begin(&p[i], foe);
		pk_item(&p[i], &w, NULL, 40);
		pk_seal(&p[i]);
	}
	mark();
	for (i = 0; i < 20 * NR; ++i) {
		foe_say_pk(foe, &p[cf_rand(NR)]);
		if (i % 8 == 7)
			foe_ping(foe);
	}
	for (i = 0; i < NR; ++i) {
		foe_say_pk(foe, &p[i]);
		if (i % 8 == 7)
			foe_forget(foe);
	}
	foe_ping(foe);
	CF_EQ(foe_executed, NR, "once each");
	CF_TRUE(rt_stats(s).rs_nr_replayed_items > before.rs_nr_replayed_items,
		"answered from what is kept");
	/* A duplicate outside streams, while the first is being executed. */
	for (i = 0; i < 10; ++i)
		ask(FOE_HOLD, 0, 1, 0);
	foe_ping(foe);
	CF_EQ(foe_held_nr, 1, "one of them");
	good_check();
}

/* Answers to what nobody has asked, to server and client. */
FOE_CASE(replies_unasked)
{
	static const uint32_t   ops[] = { M0_RPC_OP_STATUS, M0_RPC_OP_REFUSED,
					  RT_REPLY,
					  M0_RPC_OP_CONN_ESTABLISH_REPLY,
					  M0_RPC_OP_SESSION_ESTABLISH_REPLY };
	struct rt_machine      *to;
	struct rt_client       *c;
	struct foe             *mute;
	struct m0_rpc_wire_item w = { .rwi_flags = M0_RPC_WIRE_REPLY };
	struct rt_item         *held;
	uint8_t                 refusal[M0_RPC_WIRE_REFUSAL_BYTES];
	uint64_t                dropped;
	unsigned                i;

	foe_world(NULL);
	mute = foe_up(3, NULL);
	/* Forge what a peer could: answers to a handshake and a request, both
	 * waiting. */
	c = rt_conn_begin(m, mute->foe_tm->ct_addr, 0);
	held = rt_ask(good, RT_HOLD, 0, 5);
	rt_held_wait(1, "the good one waits for its reply");
	for (i = 0; i < 2 * ARRAY_SIZE(ops) * 4 * 20; ++i) {
		to = i % 2 == 0 ? s : m;
		strcpy(foe->foe_to, to->rtm_addr);
		w.rwi_opcode = ops[i / 2 % ARRAY_SIZE(ops)];
		w.rwi_session = i / 10 % 2;
		w.rwi_stream = i / 20 % 2;
		w.rwi_xid = i / 40 % 20;
		w.rwi_status = i % 3 == 0 ? -ESTALE : -ENOTCONN;
		dropped = rt_stats(to).rs_nr_dropped_items;
		foe_say_item(foe, &w, NULL, 0);
		foe_ping(foe);
		CF_EQ(rt_stats(to).rs_nr_dropped_items, dropped + 1,
		      "counted: opcode %d", (int)w.rwi_opcode);
	}
	CF_EQ(c->rtc_conn.c_state, M0_RPC_CONN_CONNECTING,
	      "the handshake still waits");
	CF_EQ(held->rti_ended, 0, "so does the request");
	rt_release(1);
	rt_ends(held, 0, "the true reply");
	good_check();
	/* The server does not speak our version, and reports it three times. */
	strcpy(mute->foe_to, m->rtm_addr);
	m0_rpc__wire_refusal_put(refusal,
				 &(struct m0_rpc_wire_sum){ m0_os_crc32c });
	for (i = 0; i < 3; ++i)
		foe_say(mute, refusal, sizeof refusal);
	CF_EQ(rt_conn_wait(c), -EPROTONOSUPPORT, "the reason");
	good_check();
}

/* Numbers that cannot be, ahead, behind, of no stream. */
FOE_CASE(numbers)
{
	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	mark();
	ask(FOE_ECHO, 3, 1, 1);
	foe_told(foe, M0_RPC_OP_REFUSED, -EPROTO, "of two streams");
	ask(FOE_ECHO, ~0u, 1, 1);
	foe_told(foe, M0_RPC_OP_REFUSED, -EPROTO, "of two streams");
	ask(FOE_ECHO, 1, 9, 1);
	foe_told(foe, M0_RPC_OP_REFUSED, -EOVERFLOW, "beyond the window");
	ask(FOE_ECHO, 1, ~0ULL, 1);
	foe_told(foe, M0_RPC_OP_REFUSED, -EOVERFLOW, "beyond the window");
	ask(FOE_ECHO, 1, 0, 1);
	foe_told(foe, M0_RPC_OP_REFUSED, -EPROTO, "no number");
	ask(FOE_ECHO, 1, 1, ~0ULL);
	foe_told(foe, M0_RPC_OP_REFUSED, -EPROTO, "answers that never were");
	CF_EQ(dropped_nr(), 6, "each is counted");
	CF_EQ(foe_executed, 0, "none is executed");
	ask(FOE_ECHO, 1, 1, 1);
	foe_ping(foe);
	CF_EQ(foe_executed, 1, "the stream is as it was");
	good_check();
}

/* The client never acknowledges answers: the server keeps a window of them. */
FOE_CASE(never_acknowledges)
{
	struct m0_rpc_cfg cfg;
	int64_t           heap;
	uint64_t          xid;
	uint32_t          stream;

	rt_cfg(&cfg);
	cfg.rc_replies_bytes_max = 20000;
	foe_world(&cfg);
	foe_join(foe, 1, 8, 16);
	good_check();
	heap = foe_heap();
	for (xid = 1; xid <= 40; ++xid) {
		for (stream = 1; stream <= 8; ++stream)
			ask(FOE_ECHO, stream, xid, 1);
		foe_ping(foe);
		cf_set(&foe->foe_came_nr, 0);
	}
	CF_TRUE(foe_executed <= 8 * 16, "%d: a window of each stream",
		foe_executed);
	CF_TRUE(rt_stats(s).rs_replies_bytes <= 20000 + 8 * 1024,
		"%d bytes are kept", (int)rt_stats(s).rs_replies_bytes);
	CF_TRUE(foe_heap() - heap < 600, "%d blocks more",
		(int)(foe_heap() - heap));
	for (stream = 1; stream <= 8; ++stream)
		said(M0_RPC_OP_SESSION_TERMINATE, M0_RPC_WIRE_REQUEST, 0, 1);
	foe_ping(foe);
	CF_TRUE(rt_stats(s).rs_replies_bytes <= 4096, "%d bytes left",
		(int)rt_stats(s).rs_replies_bytes);
	good_check();
}

/* Requests of this client are never answered, and it sends more: the server
 * begins no more of its requests, but those of others. */
FOE_CASE(executing_bounded)
{
	struct m0_rpc_cfg cfg;
	uint64_t          xid;

	rt_cfg(&cfg);
	cfg.rc_executing_max = 32;
	foe_world(&cfg);
	foe_join(foe, 1, 2, 8);
	mark();
	for (xid = 1; xid <= 200; ++xid) {
		ask(FOE_HOLD, 0, xid, 0);
		if (xid % 8 == 0)
			foe_forget(foe);
	}
	foe_ping(foe);
	CF_EQ(foe_held_nr, 32, "its bound");
	CF_EQ(dropped_nr(), 200 - 32, "the others are counted");
	good_check();
}

/* One packet of nothing but what is refused: one peer is told a few times why
 * not, of the answers that all others need, too. */
FOE_CASE(refusals_bounded)
{
	enum {
		NR = 200,
		EACH_MAX = 64
	};
	static struct pkt       p;
	struct m0_rpc_wire_item w;
	unsigned                i;

	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	mark();
	pk_begin(&p, foe);
	for (i = 0; i < NR; ++i) {
		w = foe_request(foe, RT_UNKNOWN, 0, 10 + i);
		pk_item(&p, &w, NULL, 0);
	}
	pk_seal(&p);
	foe_say_pk(foe, &p);
	rt_run_ms(5);
	foe_ping(foe);
	CF_EQ(dropped_nr(), NR, "each is counted");
	CF_TRUE(cf_get(&foe->foe_came_nr) > 0 &&
			cf_get(&foe->foe_came_nr) <= EACH_MAX,
		"%d answers", cf_get(&foe->foe_came_nr));
	ask(RT_UNKNOWN, 0, 1000, 0);
	foe_told(foe, M0_RPC_OP_REFUSED, -EOPNOTSUPP, "when they have left");
	good_check();
}

/* Everybody wants to be a client, and each of them many sessions. */
FOE_CASE(floods)
{
	struct m0_rpc_cfg       cfg;
	struct m0_uint128       me;
	struct m0_rpc_wire_item w;
	struct m0_rpc_conn_est  est = { .rce_conn = 1 };
	uint8_t                 body[M0_RPC_WIRE_BODY_MAX];
	uint32_t                nr = (uint32_t)m0_rpc__conn_est_put(body, &est);
	int64_t                 heap = 0;
	unsigned                i;

	rt_cfg(&cfg);
	cfg.rc_clients_max = 8;
	cfg.rc_sessions_max = 4;
	foe_world(&cfg);
	me = foe->foe_uuid;
	foe_join(foe, 1, 64, 64);
	for (i = 0; i < 2000; ++i) {
		if (i == 100) {
			foe_ping(foe);
			heap = foe_heap();
		}
		foe->foe_uuid.u_lo = i;
		w = foe_request(foe, M0_RPC_OP_CONN_ESTABLISH, 0, i);
		w.rwi_session = 0;
		foe_say_item(foe, &w, body, nr);
		if (i % 8 == 7)
			foe_ping(foe);
		cf_set(&foe->foe_came_nr, 0);
	}
	foe_forget(foe);
	w.rwi_xid = 5000;
	foe_say_item(foe, &w, body, nr);
	foe_told(foe, M0_RPC_OP_REFUSED, -ENOSPC, "the house is full");
	CF_EQ(rt_stats(s).rs_clients, 8, "clients");
	foe->foe_uuid = me;
	for (i = 2; i < 500; ++i) {
		struct m0_rpc_session_est ses = { .rse_conn = 1,
						  .rse_streams_nr = 64,
						  .rse_window = 1u << 31 };

		w = foe_request(foe, M0_RPC_OP_SESSION_ESTABLISH, 0, i);
		w.rwi_session = i;
		foe_say_item(foe, &w, body,
			     (uint32_t)m0_rpc__session_est_put(body, &ses));
		foe_ping(foe);
		CF_EQ(foe_last(foe, M0_RPC_OP_REFUSED) != NULL, i > 4,
		      "session %d", i);
		cf_set(&foe->foe_came_nr, 0);
	}
	CF_TRUE(foe_heap() - heap < 4 * 70 + 100, "%d blocks more",
		(int)(foe_heap() - heap));
	good_check();
}

/* Cancels and skips of what is its own, others', or nobody's. */
FOE_CASE(cancels_and_skips)
{
	const uint16_t  cancel = M0_RPC_WIRE_ONEWAY | M0_RPC_WIRE_CANCEL;
	const uint16_t  skip = M0_RPC_WIRE_REQUEST | M0_RPC_WIRE_SKIP;
	struct rt_item *kept;
	uint64_t        mine;
	uint64_t        xid;

	foe_world(NULL);
	foe_join(foe, 9, 2, 8);
	mine = foe->foe_session;
	kept = rt_ask(good, RT_HOLD, 2, 5);
	rt_held_wait(1, "the good one's request");
	mark();
	foe->foe_session = good->rtc_session.s_session_id;
	for (xid = 0; xid < 8; ++xid) {
		said(M0_RPC_OP_CANCEL, cancel, (uint32_t)xid % 3, xid);
		foe_ping(foe);
	}
	CF_EQ(dropped_nr(), 8, "of a session that it has not");
	foe->foe_session = mine;
	for (xid = 0; xid < 20; ++xid)
		said(M0_RPC_OP_CANCEL, cancel, (uint32_t)(xid % 4), xid << 30);
	foe_ping(foe);
	/* 1 is held by its handler, 2 is cancelled before its turn, 3 skipped
	 * over itself, 4 skipped and then asked. */
	ask(FOE_HOLD, 1, 1, 1);
	ask(FOE_ECHO, 1, 2, 1);
	foe_ping(foe);
	said(M0_RPC_OP_CANCEL, cancel, 1, 2);
	ask(FOE_ECHO, 1, 3, 1);
	foe_ping(foe);
	{
		struct m0_rpc_wire_item w =
			foe_request(foe, M0_RPC_OP_SKIP, 1, 3);

		w.rwi_flags = skip;
		foe_say_item(foe, &w, NULL, 0);
		w.rwi_xid = 4;
		foe_say_item(foe, &w, NULL, 0);
		w.rwi_xid = 90;
		foe_say_item(foe, &w, NULL, 0);
		w.rwi_stream = 0;
		foe_say_item(foe, &w, NULL, 0);
	}
	foe_ping(foe);
	ask(FOE_ECHO, 1, 4, 1);
	ask(FOE_ECHO, 1, 5, 1);
	foe_ping(foe);
	CF_EQ(foe_executed, 1, "only the first has begun");
	foe_release();
	foe_ping(foe);
	rt_run_ms(5);
	foe_ping(foe);
	CF_TRUE(foe_executed == 2 || foe_executed == 3,
		"%d: 5, and 3 if it came before its skip", foe_executed);
	rt_release(1);
	rt_ends(kept, 0, "not touched");
	good_check();
}

/* The longest window there may be, of requests that cannot be decoded, and the
 * first comes last. */
FOE_CASE(bad_held)
{
	enum {
		NR = 20000,
		EACH = 300
	};
	struct m0_rpc_cfg       cfg;
	struct m0_rpc_wire_item w;
	static struct pkt       p;
	uint64_t                xid = 2;
	unsigned                i;

	rt_cfg(&cfg);
	cfg.rc_window_max = 65536;
	cfg.rc_executing_max = 65536;
	foe_world(&cfg);
	foe_join(foe, 1, 1, 65536);
	while (xid <= NR) {
		pk_begin(&p, foe);
		for (i = 0; i < EACH && xid <= NR; ++i, ++xid) {
			w = foe_request(foe, RT_UNKNOWN, 1, xid);
			pk_item(&p, &w, NULL, 0);
		}
		pk_seal(&p);
		foe_say_pk(foe, &p);
		foe_ping(foe);
	}
	mark();
	ask(RT_UNKNOWN, 1, 1, 1);
	foe_ping(foe);
	CF_EQ(dropped_nr(), NR, "all of them, one after the other");
	good_check();
}

/* One-way, to a handler that may block, and it is too late for it already. */
FOE_CASE(too_late)
{
	struct m0_rpc_wire_item w;
	unsigned                i;

	foe_world(NULL);
	foe_join(foe, 1, 1, 8);
	for (i = 0; i < 50; ++i) {
		w = foe_request(foe, FOE_POOL, i % 2, i);
		w.rwi_flags = M0_RPC_WIRE_ONEWAY;
		w.rwi_remaining_ms = i % 2 == 0 ? 1 : ~0u;
		foe_say_item(foe, &w, NULL, i);
		if (i % 8 == 7)
			foe_ping(foe);
	}
	foe_ping(foe);
	good_check();
}

/* Descriptors in bodies: nothing, noise, of the wrong length, of a buffer that
 * is not, of one that is too small. */
FOE_CASE(descriptors)
{
	static uint8_t              body[4096];
	struct m0_net_buf_desc_data d = { .bdd_used = 100 };
	struct m0_rpc_wire_item     w;
	struct cf_buf              *passive;
	uint8_t                     noise[128];
	uint32_t                    nr;
	unsigned                    i;
	unsigned                    k;

	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	passive =
		cf_passive(foe->foe_tm, M0_NET_QT_PASSIVE_BULK_SEND, 64, NULL);
	for (i = 0; i < 120; ++i) {
		bool noisy = i % 2 == 0;

		d.bdd_used = (uint64_t[]){
			0, 1, 64, 65, 4096, 4097, 1ULL << 40, ~0ULL
		}[i / 2 % 8];
		d.bdd_desc = passive->cb_nb.nb_desc;
		for (k = 0; k < sizeof noise; ++k)
			noise[k] = (uint8_t)cf_rand(256);
		if (noisy) {
			d.bdd_desc.nbd_data = noise;
			d.bdd_desc.nbd_len = 1 + (uint32_t)cf_rand(127);
		}
		nr = (uint32_t)m0_rpc_bulk_desc_put(body, &d);
		if (i % 7 == 0)
			nr = (uint32_t)cf_rand(nr);
		else if (i % 5 == 0)
			memset(body + 8, 0xff, 4);
		w = foe_request(foe, FOE_BULK, 0, i + 1);
		foe_say_item(foe, &w, body, nr);
		foe_ping(foe);
	}
	CF_EQ(foe_executed, 120, "each reached its handler");
	good_check();
	(void)cf_del(passive);
	cf_wait_buf(passive);
	rt_run_ms(300);
	cf_buf_free(passive);
	good_check();
}

const struct cf_case hostile_client[] = {
	{ "foreign sessions, epochs, incarnations", foreign },
	{ "packets replayed", replayed },
	{ "replies that nobody asked for", replies_unasked },
	{ "numbers that cannot be", numbers },
	{ "never acknowledges", never_acknowledges },
	{ "asks and asks", executing_bounded },
	{ "is refused and refused", refusals_bounded },
	{ "floods of handshakes", floods },
	{ "cancels and skips", cancels_and_skips },
	{ "bad requests before their turn", bad_held },
	{ "one-way items that are late", too_late },
	{ "lying descriptors", descriptors },
	{ NULL, NULL }
};

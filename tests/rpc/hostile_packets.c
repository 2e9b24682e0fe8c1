/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Packets that are none, or not quite: each is counted, or answered with why. */
#include "hostile.h"

static struct pkt p;

/* Count the packets, good or bad, that server s received since `before`. */
static struct m0_rpc_stats before;

static void mark(void)
{
	foe_forget(foe);
	before = rt_stats(s);
}

static uint64_t bad_nr(void)
{
	return rt_stats(s).rs_nr_bad_packets - before.rs_nr_bad_packets;
}

static uint64_t dropped_nr(void)
{
	return rt_stats(s).rs_nr_dropped_items - before.rs_nr_dropped_items;
}

/* Every so many, what was sent is seen: no receive buffer is missing. */
static void pace(unsigned i)
{
	if (i % 8 == 7)
		foe_ping(foe);
}

/* A request with a body and one without. */
static void two(void)
{
	struct m0_rpc_wire_item w = foe_request(foe, FOE_ECHO, 0, 1);

	pk_begin(&p, foe);
	pk_item(&p, &w, "seventeen bytes..", 17);
	w.rwi_xid = 2;
	pk_item(&p, &w, NULL, 0);
	pk_seal(&p);
}

/* Noise: all of it is counted, none of it is answered. */
FOE_CASE(random_bytes)
{
	static uint8_t noise[FOE_PACKET_MAX];
	unsigned       i;
	unsigned       k;

	foe_world(NULL);
	mark();
	for (i = 0; i < 400; ++i) {
		m0_bcount_t nr = 1 + cf_rand(i % 4 == 0 ? FOE_PACKET_MAX : 200);

		for (k = 0; k < nr; ++k)
			noise[k] = (uint8_t)cf_rand(256);
		/* Some look as if they were one. */
		if (i % 2 == 0 && nr >= 16) {
			memcpy(noise, "m0rp", 4);
			noise[8] = (uint8_t)(i % 3);
			noise[9] = 0;
			memset(noise + 10, 0, 2);
			memcpy(noise + 12, (uint32_t[]){ (uint32_t)nr }, 4);
		}
		foe_say(foe, noise, nr);
		pace(i);
	}
	foe_ping(foe);
	CF_EQ(bad_nr(), 400, "each is counted");
	CF_EQ(cf_get(&foe->foe_came_nr) + cf_get(&foe->foe_refusals), 0,
	      "none is answered");
	good_check();
}

/* Every beginning of a packet, as it is, and as if it were whole. */
FOE_CASE(truncations)
{
	static struct pkt cut;
	uint32_t          whole;
	uint32_t          i;

	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	two();
	whole = p.pk_nr;
	mark();
	for (i = 1; i < whole; ++i) {
		foe_say(foe, p.pk_bytes, i);
		pace(i);
	}
	foe_ping(foe);
	CF_EQ(bad_nr(), whole - 1, "each is counted");
	CF_EQ(cf_get(&foe->foe_came_nr), 0, "none is answered");
	mark();
	for (i = 16; i < whole; ++i) {
		cut = p;
		cut.pk_nr = i;
		memcpy(cut.pk_bytes + 12, &i, sizeof i);
		pk_sum(&cut);
		foe_say_pk(foe, &cut);
		pace(i);
	}
	foe_ping(foe);
	CF_EQ(bad_nr(), whole - 16, "the number of items is not that");
	good_check();
}

/* One bit is another one: the sum says so. */
FOE_CASE(bit_flips)
{
	uint32_t i;

	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	two();
	mark();
	for (i = 0; i < 8 * p.pk_nr; ++i) {
		p.pk_bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		foe_say_pk(foe, &p);
		p.pk_bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		pace(i);
	}
	foe_ping(foe);
	CF_EQ(bad_nr(), 8 * p.pk_nr, "each is counted");
	CF_EQ(cf_get(&foe->foe_came_nr), 0, "none is answered");
	CF_EQ(foe_executed, 0, "none is executed");
	good_check();
}

/* One byte of header, item or body is another one and the sum is right: it is
 * bad, or refused, or it is what it says; never anything else. */
static void bytes_of(void (*make)(void))
{
	static const uint8_t values[] = { 0, 1, 2, 4, 16, 32, 64, 0x7f, 0xff };
	uint64_t             seen;
	unsigned             k;
	uint32_t             i;
	uint8_t              was;

	make();
	mark();
	for (i = 8; i < p.pk_nr; ++i) {
		was = p.pk_bytes[i];
		for (k = 0; k < ARRAY_SIZE(values); ++k) {
			p.pk_bytes[i] = values[k];
			pk_sum(&p);
			foe_say_pk(foe, &p);
			pace(k);
		}
		p.pk_bytes[i] = was;
		foe_forget(foe);
		foe_release();
	}
	seen = bad_nr() + rt_stats(s).rs_nr_rcvd_packets -
	       before.rs_nr_rcvd_packets;
	CF_TRUE(seen >= (p.pk_nr - 8) * ARRAY_SIZE(values),
		"each is counted as one or the other");
	good_check();
}

static void hold_in_stream(void)
{
	struct m0_rpc_wire_item w = foe_request(foe, FOE_HOLD, 1, 1);

	pk_begin(&p, foe);
	pk_item(&p, &w, NULL, 12);
	pk_seal(&p);
}

static void session_est(void)
{
	struct m0_rpc_session_est est = { .rse_conn = 1,
					  .rse_streams_nr = 3,
					  .rse_window = 4,
					  .rse_has_xid = true };
	uint8_t                   body[M0_RPC_WIRE_BODY_MAX];
	struct m0_rpc_wire_item   w =
		foe_request(foe, M0_RPC_OP_SESSION_ESTABLISH, 0, 1);

	w.rwi_session = 5;
	pk_begin(&p, foe);
	pk_item(&p, &w, body, (uint32_t)m0_rpc__session_est_put(body, &est));
	pk_seal(&p);
}

static void conn_est(void)
{
	struct m0_rpc_conn_est  est = { .rce_conn = 1 };
	uint8_t                 body[M0_RPC_WIRE_BODY_MAX];
	struct m0_rpc_wire_item w =
		foe_request(foe, M0_RPC_OP_CONN_ESTABLISH, 0, 1);

	w.rwi_session = 0;
	pk_begin(&p, foe);
	pk_item(&p, &w, body, (uint32_t)m0_rpc__conn_est_put(body, &est));
	pk_seal(&p);
}

static void terminate(void)
{
	struct m0_rpc_wire_item w =
		foe_request(foe, M0_RPC_OP_CONN_TERMINATE, 0, 1);
	uint64_t nr = 77;

	pk_begin(&p, foe);
	pk_item(&p, &w, &nr, sizeof nr);
	pk_seal(&p);
}

FOE_CASE(fields_plain)
{
	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	bytes_of(two);
}

FOE_CASE(fields_stream)
{
	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	bytes_of(hold_in_stream);
}

FOE_CASE(fields_session)
{
	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	bytes_of(session_est);
}

FOE_CASE(fields_conn)
{
	foe_world(NULL);
	bytes_of(conn_est);
}

FOE_CASE(fields_terminate)
{
	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	bytes_of(terminate);
}

/* Versions to come are answered with ours; that answer with nothing, or two
 * would talk for ever. */
FOE_CASE(versions)
{
	uint8_t  refusal[M0_RPC_WIRE_REFUSAL_BYTES];
	uint16_t version;
	unsigned i;

	foe_world(NULL);
	two();
	mark();
	for (i = 0; i < 20; ++i) {
		version = (uint16_t)(i < 10 ? 2 + i : 65535 - i);
		memcpy(p.pk_bytes + 8, &version, sizeof version);
		pk_sum(&p);
		foe_say_pk(foe, &p);
		foe_ping(foe);
		CF_EQ(cf_get(&foe->foe_refusals), i + 1, "an answer each");
	}
	CF_EQ(bad_nr(), 20, "each is counted");
	mark();
	m0_rpc__wire_refusal_put(refusal,
				 &(struct m0_rpc_wire_sum){ m0_os_crc32c });
	for (i = 0; i < 20; ++i) {
		foe_say(foe, refusal, sizeof refusal);
		pace(i);
	}
	foe_ping(foe);
	CF_EQ(bad_nr(), 20, "each is counted");
	CF_EQ(cf_get(&foe->foe_refusals) + cf_get(&foe->foe_came_nr), 0,
	      "no answer");
	good_check();
}

enum {
	UNREAD = 200
};
static struct m0_net_buffer unread[UNREAD];
static int                  unread_nr;

static void unread_sent(const struct m0_net_buffer_event *ev)
{
	(void)ev;
	++unread_nr;
}

/* One who speaks another version, and does not take what he is told. */
FOE_CASE(refusals_unread)
{
	static const struct m0_net_buffer_callbacks cbs = {
		.nbc_cb[M0_NET_QT_MSG_SEND] = unread_sent
	};
	struct m0_net_transfer_mc *tm;
	struct m0_net_end_point   *ep;
	struct m0_rpc_cfg          cfg;
	void                      *base = p.pk_bytes;
	m0_bcount_t                nr = sizeof p.pk_bytes;
	unsigned                   i;

	foe_world(NULL);
	if (cf.c_mode == CF_INLINE) /* all move together */
		return;
	rt_cfg(&cfg);
	cfg.rc_inline = true;
	tm = &rt_up(3, &cfg)->rtm_machine.rm_tm;
	two();
	p.pk_bytes[8] = 9;
	pk_sum(&p);
	CF_EQ(m0_net_end_point_create(&ep, tm, s->rtm_addr), 0, "end point");
	unread_nr = 0;
	for (i = 0; i < UNREAD; ++i) {
		unread[i] = (struct m0_net_buffer){
			.nb_buffer = { .ov_vec = { .v_nr = 1, .v_count = &nr },
				       .ov_buf = &base },
			.nb_qtype = M0_NET_QT_MSG_SEND,
			.nb_callbacks = &cbs,
		};
		CF_EQ(m0_net_buffer_register(&unread[i], tm->ntm_dom), 0,
		      "register");
		unread[i].nb_length = p.pk_nr;
		unread[i].nb_ep = ep;
		CF_EQ(m0_net_buffer_add(&unread[i], tm), 0, "add");
	}
	foe_ping(foe);
	rt_run_ms(20);
	good_check();
	while (unread_nr < UNREAD) {
		m0_net_buffer_event_deliver_all(tm);
		rt_run_ms(1);
	}
	for (i = 0; i < UNREAD; ++i)
		CF_EQ(m0_net_buffer_deregister(&unread[i], tm->ntm_dom), 0,
		      "deregister");
	(void)m0_net_end_point_put(ep);
}

/* Lengths that are not those. */
FOE_CASE(sizes)
{
	static const uint32_t lies[] = { 0,          1,          47,
					 25,         4096,       FOE_PACKET_MAX,
					 0x7fffffff, 0x80000000, 0xffffffff };
	uint32_t              was;
	unsigned              i;

	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	two();
	mark();
	/* Parts of a packet: the header, the number of items, the first
	 * body. */
	for (i = 0; i < 3 * ARRAY_SIZE(lies); ++i) {
		uint8_t *at = p.pk_bytes + (i % 3 == 0   ? 12
					    : i % 3 == 1 ? 16
							 : 56 + 8);

		memcpy(&was, at, sizeof was);
		memcpy(at, &lies[i / 3], sizeof was);
		/* One item of two is a packet that ends too late. */
		pk_sum(&p);
		foe_say_pk(foe, &p);
		memcpy(at, &was, sizeof was);
		pace(i);
	}
	foe_ping(foe);
	CF_EQ(bad_nr(), 3 * ARRAY_SIZE(lies), "each is counted");
	good_check();
}

static void refused(uint32_t op, uint16_t flags, uint32_t stream, uint64_t xid,
		    uint32_t told, int32_t status)
{
	struct m0_rpc_wire_item w = foe_request(foe, op, stream, xid);

	w.rwi_flags = flags;
	mark();
	foe_say_item(foe, &w, NULL, 24);
	foe_ping(foe);
	CF_EQ(dropped_nr(), 1, "counted: opcode %d", (int)op);
	if (told != 0)
		foe_told(foe, told, status, "the reason");
	else
		CF_EQ(cf_get(&foe->foe_came_nr), 0, "not answered: opcode %d",
		      (int)op);
}

/* A request that cannot be executed is refused by name; in a stream it takes
 * its turn. */
FOE_CASE(opcodes)
{
	uint32_t op;

	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	refused(RT_UNKNOWN, M0_RPC_WIRE_REQUEST, 0, 1, M0_RPC_OP_REFUSED,
		-EOPNOTSUPP);
	refused(~0u, M0_RPC_WIRE_REQUEST, 0, 2, M0_RPC_OP_REFUSED, -EOPNOTSUPP);
	refused(RT_REPLY, M0_RPC_WIRE_REQUEST, 0, 3, M0_RPC_OP_REFUSED,
		-EOPNOTSUPP);
	refused(RT_ONEWAY, M0_RPC_WIRE_REQUEST, 0, 4, M0_RPC_OP_REFUSED,
		-EOPNOTSUPP);
	refused(RT_APPEND, M0_RPC_WIRE_REQUEST, 0, 5, M0_RPC_OP_REFUSED,
		-EPROTO);
	refused(RT_BAD, M0_RPC_WIRE_REQUEST, 0, 6, M0_RPC_OP_REFUSED, -EILSEQ);
	refused(RT_UNKNOWN, M0_RPC_WIRE_ONEWAY, 0, 7, 0, 0);
	refused(FOE_ECHO, M0_RPC_WIRE_ONEWAY, 0, 8, 0, 0);
	refused(RT_UNKNOWN, M0_RPC_WIRE_REQUEST, 1, 1, M0_RPC_OP_STATUS,
		-EOPNOTSUPP);
	refused(RT_BAD, M0_RPC_WIRE_REQUEST, 1, 2, M0_RPC_OP_STATUS, -EILSEQ);
	for (op = M0_RPC_OP_REFUSED; op < M0_RPC_OP_USER; ++op)
		refused(op, M0_RPC_WIRE_REQUEST, 0, 1, 0, 0);
	for (op = 1; op < M0_RPC_OP_USER; ++op)
		if (!M0_IN(op,
			   (M0_RPC_OP_CANCEL, M0_RPC_OP_ACK, M0_RPC_OP_SKIP)))
			refused(op, M0_RPC_WIRE_ONEWAY, 0, 1, 0, 0);
	CF_EQ(foe_executed, 0, "nothing is executed");
	good_check();
}

/* Bodies of handshakes: too short, too long, and of nothing but ones. */
FOE_CASE(handshakes_malformed)
{
	static const uint32_t   ops[] = { M0_RPC_OP_CONN_ESTABLISH,
					  M0_RPC_OP_SESSION_ESTABLISH,
					  M0_RPC_OP_CONN_TERMINATE };
	static uint8_t          ones[600];
	struct m0_rpc_wire_item w;
	unsigned                i;
	uint32_t                nr;

	foe_world(NULL);
	foe_join(foe, 1, 2, 8);
	memset(ones, 0xff, sizeof ones);
	for (i = 0; i < ARRAY_SIZE(ops); ++i) {
		for (nr = 0; nr <= 48; ++nr) {
			if (ops[i] == M0_RPC_OP_CONN_TERMINATE && nr == 8)
				continue;
			w = foe_request(foe, ops[i], 0, 1);
			w.rwi_session = i == 1 ? 9 : 0;
			foe_say_item(foe, &w, ones, nr);
			foe_told(foe, M0_RPC_OP_REFUSED, -EPROTO, "why");
		}
	}
	w = foe_request(foe, M0_RPC_OP_PING, 0, 1);
	foe_say_item(foe, &w, ones, 7);
	good_check();
}

const struct cf_case hostile_packets[] = {
	{ "random bytes", random_bytes },
	{ "truncations", truncations },
	{ "bit flips", bit_flips },
	{ "fields of a plain request", fields_plain },
	{ "fields of a request in a stream", fields_stream },
	{ "fields of a session handshake", fields_session },
	{ "fields of a connection handshake", fields_conn },
	{ "fields of a termination", fields_terminate },
	{ "versions", versions },
	{ "refusals unread", refusals_unread },
	{ "sizes", sizes },
	{ "opcodes", opcodes },
	{ "handshakes malformed", handshakes_malformed },
	{ NULL, NULL }
};

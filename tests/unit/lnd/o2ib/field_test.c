/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Each field of each message out of range, to a driver that waits for that message: the
 * connection ends, or the message alone fails, as the table says; what was offered to the peer
 * stays so until the connection is over, and each message of the engine ends once, which the rig
 * checks. */
#include <endian.h>

#include "play.h"

enum outcome {
	/** The connection ends. */
	ENDS,
	/** The connection stays, and the message fails alone. */
	FAILS,
	/** The driver does what the message asks for. */
	STAYS
};

/** A field: `width` bytes at `at` become `value`. */
struct field {
	uint8_t      fl_type;
	const char  *fl_name;
	uint16_t     fl_at;
	uint8_t      fl_width;
	enum outcome fl_outcome;
	uint64_t     fl_value;
};

#define T_ACK  M0_O2IB_PUT_ACK
#define T_NAK  M0_O2IB_PUT_NAK
#define T_PUT  M0_O2IB_PUT_REQ
#define T_DONE M0_O2IB_PUT_DONE
#define T_GET  M0_O2IB_GET_REQ
#define T_GOT  M0_O2IB_GET_DONE
#define T_IMM  M0_O2IB_IMMEDIATE

/* Fields of all messages (2.1, 3.4). */
static const struct field common[] = {
	{ 0, "magic", 0, 4, ENDS, 0x0be91b92 },
	{ 0, "magic of LNet", 0, 4, ENDS, M0_O2IB_MAGIC_LNET },
	{ 0, "swapped magic alone", 0, 4, ENDS, 0x911be90b },
	{ 0, "version 0x11", 4, 2, ENDS, 0x11 },
	{ 0, "version 0x13", 4, 2, ENDS, 0x13 },
	{ 0, "version 0", 4, 2, ENDS, 0 },
	{ 0, "type CONNREQ", 6, 1, ENDS, M0_O2IB_CONNREQ },
	{ 0, "type CONNACK", 6, 1, ENDS, M0_O2IB_CONNACK },
	{ 0, "type below", 6, 1, ENDS, 0xcf },
	{ 0, "type above", 6, 1, ENDS, 0xd8 },
	{ 0, "type 0", 6, 1, ENDS, 0 },
	{ 0, "credits", 7, 1, ENDS, 255 },
	{ 0, "length 0", 8, 4, ENDS, 0 },
	{ 0, "length 47", 8, 4, ENDS, 47 },
	{ 0, "length beyond", 8, 4, ENDS, 4097 },
	{ 0, "length largest", 8, 4, ENDS, UINT32_MAX },
	{ 0, "checksum", 12, 4, ENDS, 1 },
	{ 0, "source NID", 16, 8, ENDS, PEER + 1 },
	{ 0, "source NID ours", 16, 8, ENDS, US },
	{ 0, "source NID any", 16, 8, ENDS, UINT64_MAX },
	{ 0, "source NID none", 16, 8, ENDS, 0 },
	{ 0, "source stamp", 24, 8, ENDS, PEER_STAMP + 1 },
	{ 0, "source stamp 0", 24, 8, ENDS, 0 },
	{ 0, "target NID", 32, 8, ENDS, US + 1 },
	{ 0, "target NID any", 32, 8, ENDS, UINT64_MAX },
	{ 0, "target stamp", 40, 8, ENDS, US_STAMP + 1 },
	{ 0, "target stamp 0", 40, 8, ENDS, 0 },
};

/* Fields of one (3.3). Keys and addresses are opaque: the peer's device knows. */
static const struct field bodies[] = {
	{ T_IMM, "length below", 8, 4, ENDS, 119 },
	{ T_IMM, "length of less payload", 8, 4, FAILS, 120 },
	{ T_PUT, "LNet type ACK", 72, 4, ENDS, 0 },
	{ T_PUT, "LNet type GET", 72, 4, ENDS, 2 },
	{ T_PUT, "LNet type unknown", 72, 4, ENDS, 4 },
	{ T_PUT, "cookie 0", 120, 8, STAYS, 0 },
	{ T_PUT, "cookie largest", 120, 8, STAYS, UINT64_MAX },
	{ T_PUT, "length below", 8, 4, ENDS, 127 },
	{ T_GET, "LNet type PUT", 72, 4, ENDS, 1 },
	{ T_GET, "LNet type unknown", 72, 4, ENDS, UINT32_MAX },
	{ T_GET, "LNet target", 48, 8, ENDS, US + 1 },
	{ T_GET, "no fragments", 132, 4, ENDS, 0 },
	{ T_GET, "two fragments, one there", 132, 4, ENDS, 2 },
	{ T_GET, "258 fragments", 132, 4, ENDS, 258 },
	{ T_GET, "most fragments", 132, 4, ENDS, UINT32_MAX },
	{ T_GET, "fragment of 0 bytes", 136, 4, ENDS, 0 },
	{ T_GET, "fragment over the end", 140, 8, ENDS, UINT64_MAX - 5 },
	{ T_GET, "key", 128, 4, STAYS, UINT32_MAX },
	{ T_GET, "length below", 8, 4, ENDS, 147 },
	{ T_ACK, "source cookie", 48, 8, ENDS, 99 },
	{ T_ACK, "target cookie", 56, 8, STAYS, UINT64_MAX },
	{ T_ACK, "key", 64, 4, STAYS, 0 },
	{ T_ACK, "no fragments", 68, 4, ENDS, 0 },
	{ T_ACK, "258 fragments", 68, 4, ENDS, 258 },
	{ T_ACK, "most fragments", 68, 4, ENDS, UINT32_MAX },
	{ T_ACK, "fragment of 0 bytes", 72, 4, ENDS, 0 },
	{ T_ACK, "fragment too long", 72, 4, FAILS, UINT32_MAX },
	{ T_ACK, "fragment over the end", 76, 8, ENDS, UINT64_MAX - 5 },
	{ T_ACK, "length below", 8, 4, ENDS, 83 },
	{ T_NAK, "cookie", 48, 8, ENDS, 99 },
	{ T_NAK, "status above 0", 56, 4, ENDS, 1 },
	{ T_NAK, "no errno", 56, 4, ENDS, 0x80000000 },
	{ T_NAK, "an errno", 56, 4, FAILS, (uint32_t)-ENOMEM },
	{ T_DONE, "cookie", 48, 8, ENDS, 99 },
	{ T_DONE, "fewer bytes", 56, 4, FAILS, 1 },
	{ T_DONE, "more bytes", 56, 4, FAILS, INT32_MAX },
	{ T_DONE, "no errno", 56, 4, ENDS, 0x80000000 },
	{ T_DONE, "an errno", 56, 4, FAILS, (uint32_t)-EIO },
	{ T_GOT, "cookie", 48, 8, ENDS, 99 },
	{ T_GOT, "more bytes", 56, 4, ENDS, LARGE + 1 },
	{ T_GOT, "most bytes", 56, 4, ENDS, INT32_MAX },
	{ T_GOT, "fewer bytes", 56, 4, STAYS, 1 },
	{ T_GOT, "no errno", 56, 4, ENDS, 0x80000000 },
	{ T_GOT, "an errno", 56, 4, FAILS, (uint32_t)-EPROTO },
	{ T_GOT, "length below", 8, 4, ENDS, 59 },
};

static const uint8_t all[] = { M0_O2IB_NOOP, T_IMM,  T_PUT, T_NAK,
			       T_ACK,        T_DONE, T_GET, T_GOT };

/* A GET of ours that names its memory has left. */
static void get_leaves(void)
{
	uint64_t       nids[] = { PEER, US };
	uint8_t       *bytes = lnet(M0_O2IB_LNET_GET);
	struct rig_tx *rt;

	memcpy(bytes, nids, sizeof nids);
	rt = rig_get_make(&rig, PEER, bytes, LARGE);
	assert_non_null(rt);
	rig.rg_get = rt;
	rig_xmit(&rig, rt);
	assert_int_equal(heard(), M0_O2IB_GET_REQ);
	memset(lnet(M0_O2IB_LNET_PUT) + 8, 0, 8);
}

/* The driver waits for a message of this type. @return the good one, in buf: bytes. */
static size_t scene(uint8_t type)
{
	static const uint8_t   payload[64];
	struct m0_o2ib_frag    frag = { LARGE, 4096 };
	struct m0_o2ib_desc    desc = { .ibd_key = 5,
					.ibd_frags_nr = 1,
					.ibd_frags = &frag };
	struct m0_o2ib_hdr     h = hdr(type, 0);
	struct m0_o2ib_done    done = { 0, LARGE };
	struct m0_o2ib_put_ack ack = { .ibk_sink = desc };
	struct m0_o2ib_req     req = { .ibq_cookie = COOKIE, .ibq_sink = desc };

	switch (type) {
	case M0_O2IB_NOOP:
		return m0_o2ib__noop_encode(&h, buf, sizeof buf);
	case T_IMM:
		rig.rg_wanted = sizeof payload;
		return m0_o2ib__immediate_encode(
			&h,
			&(struct m0_o2ib_immediate){ lnet(M0_O2IB_LNET_PUT),
						     payload, sizeof payload },
			buf, sizeof buf);
	case T_PUT:
		rig.rg_wanted = LARGE;
		req.ibq_lnet_hdr = lnet(M0_O2IB_LNET_PUT);
		return m0_o2ib__put_req_encode(&h, &req, buf, sizeof buf);
	case T_GET:
		rig.rg_wanted = 0;
		req.ibq_lnet_hdr = lnet(M0_O2IB_LNET_GET);
		return m0_o2ib__get_req_encode(&h, &req, buf, sizeof buf);
	case T_ACK:
	case T_NAK:
		(void)send(LARGE);
		assert_int_equal(heard(), M0_O2IB_PUT_REQ);
		ack.ibk_src_cookie = done.ibe_cookie = got.om_req.ibq_cookie;
		done.ibe_status = 0;
		return type == T_ACK ? m0_o2ib__put_ack_encode(&h, &ack, buf,
							       sizeof buf)
				     : m0_o2ib__done_encode(&h, &done, 0, buf,
							    sizeof buf);
	case T_DONE:
		say_put_req(LARGE);
		assert_int_equal(heard(), M0_O2IB_PUT_ACK);
		done.ibe_cookie = got.om_ack.ibk_dst_cookie;
		break;
	default:
		get_leaves();
		done.ibe_cookie = got.om_req.ibq_cookie;
		rig.rg_wanted = 1;
	}
	return m0_o2ib__done_encode(&h, &done, UINT32_MAX, buf, sizeof buf);
}

#define HOLDS(cond)                                                          \
	do {                                                                 \
		if (!(cond))                                                 \
			fail_msg("type %#x, %s: not %s", type, name, #cond); \
	} while (0)

static uint64_t le64_at(size_t at)
{
	uint64_t ret;

	memcpy(&ret, buf + at, sizeof ret);
	return le64toh(ret);
}

static uint32_t le32_at(size_t at)
{
	uint32_t ret;

	memcpy(&ret, buf + at, sizeof ret);
	return le32toh(ret);
}

/* The driver has written to the memory that a descriptor with this key names. */
static bool is_written(uint32_t key)
{
	return heard() == 1 &&
	       qp->rgq_posts[qp->rgq_seen - 1].rgp_wr.owr_rkey == key &&
	       qp->rgq_posts[qp->rgq_seen - 1].rgp_nr == LARGE;
}

/* Receive buffers that the driver has not given back. */
static unsigned lent_nr(void)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < qp->rgq_cfg.oqc_recvs_nr; ++i)
		nr += qp->rgq_rbufs[i].rgb_is_lent;
	return nr;
}

/* Requests of the peer: the engine has been offered one, and it goes on. */
static void request_is_taken(uint8_t type, const char *name, bool fails)
{
	const struct rig_rx *rr = rig_last(&rig);
	struct rig_tx       *rt;

	HOLDS(rig.rg_rxs_nr == 1);
	HOLDS(rr->rgr_is_done == (type != T_PUT));
	HOLDS(rr->rgr_status == (fails ? -EPROTO : 0));
	if (type == T_PUT) {
		HOLDS(heard() == T_ACK);
		HOLDS(got.om_ack.ibk_src_cookie == le64_at(120));
		HOLDS(got.om_ack.ibk_sink.ibd_bytes == LARGE);
	} else if (type == T_GET) {
		HOLDS(rr->rgr_is_kept);
		rt = rig_tx_make(&rig, PEER, lnet(M0_O2IB_LNET_REPLY), LARGE);
		assert_non_null(rt);
		rt->rgt_tx.ltx_answers = rr->rgr_rx;
		rig_xmit(&rig, rt);
		HOLDS(is_written(le32_at(128)));
		HOLDS(heard() == T_GOT);
		HOLDS(got.om_done.ibe_cookie == COOKIE);
		HOLDS(got.om_done.ibe_status == LARGE);
	}
	HOLDS(heard() == 0);
}

/* Answers of the peer: what waited for one ends. */
static void answer_is_taken(uint8_t type, const char *name, bool fails)
{
	const struct rig_tx *rt = &rig.rg_txs[0];
	const struct rig_rx *rr = rig_last(&rig);
	int                  status = fails ? -EREMOTEIO : 0;

	if (type == T_ACK) {
		status = fails ? -EPROTO : 0;
		HOLDS(fails || is_written(le32_at(64)));
		HOLDS(heard() == T_DONE);
		HOLDS(got.om_done.ibe_cookie == le64_at(56));
		HOLDS(got.om_done.ibe_status == (fails ? -EPROTO : LARGE));
		HOLDS(!rt->rgt_is_done);
	}
	HOLDS(heard() == 0);
	rig_complete(&rig, qp);
	if (type == T_DONE) {
		HOLDS(rr->rgr_is_done && rr->rgr_status == status);
		return;
	}
	HOLDS(rt->rgt_is_done && rt->rgt_status == status);
	if (type != T_GOT || fails) {
		HOLDS(rr == NULL);
		return;
	}
	HOLDS(rr != NULL && rr->rgr_is_done && rr->rgr_status == 0);
	HOLDS(m0_o2ib__lnet_kind(rr->rgr_hdr) == M0_O2IB_LNET_REPLY);
}

static void message_is_taken(uint8_t type, const char *name, bool fails)
{
	HOLDS(lent_nr() == 0);
	if (type == T_IMM || type == T_PUT || type == T_GET)
		request_is_taken(type, name, fails);
	else if (type != M0_O2IB_NOOP)
		answer_is_taken(type, name, fails);
	else
		HOLDS(heard() == 0 && rig_last(&rig) == NULL);
}

static void field_try(uint8_t type, const struct field *field)
{
	enum outcome outcome = field->fl_outcome;
	size_t       nr;

	rig_init_options(&rig, US, US_STAMP, RIG_DEPTH, "get_req=1");
	qp = ask(RIG_DEPTH);
	assert_non_null(qp);
	rig_up(&rig, qp, NULL, 0);
	nr = scene(type);
	memcpy(buf + field->fl_at, &field->fl_value, field->fl_width);
	/* 3.5: kernels send wrong sums of an IMMEDIATE with payload. */
	if (type == T_IMM && field->fl_at == 12)
		outcome = STAYS;
	assert_true(rig_say(&rig, qp, buf, nr));
	if (qp->rgq_is_broken != (outcome == ENDS))
		fail_msg("type %#x, %s: the connection %s", type,
			 field->fl_name, outcome == ENDS ? "stays" : "ends");
	if (outcome != ENDS) {
		message_is_taken(type, field->fl_name, outcome == FAILS);
		rig_complete(&rig, qp);
	}
	rig_fini(&rig);
}

static void each_field_of_each_message(void **state)
{
	unsigned i;
	unsigned j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(all); ++i)
		for (j = 0; j < ARRAY_SIZE(common); ++j)
			field_try(all[i], &common[j]);
	for (j = 0; j < ARRAY_SIZE(bodies); ++j)
		field_try(bodies[j].fl_type, &bodies[j]);
}

/* Each message is taken as it should be. */
static void good_messages_are_taken(void **state)
{
	static const struct field none = { .fl_name = "as it is",
					   .fl_at = 4,
					   .fl_width = 2,
					   .fl_outcome = STAYS,
					   .fl_value = M0_O2IB_VERSION };
	unsigned                  i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(all); ++i)
		field_try(all[i], &none);
}

/* A request for a connection: each field (2.4), and the reason of its rejection. */
static void each_field_of_a_request(void **state)
{
	static const struct {
		uint16_t at;
		uint8_t  width;
		uint8_t  reason;
		uint64_t value;
	} rows[] = {
		{ 0, 4, M0_O2IB_FATAL, M0_O2IB_MAGIC_LNET },
		{ 0, 4, M0_O2IB_FATAL, 1 },
		{ 4, 2, M0_O2IB_FATAL, 0x11 },
		{ 4, 2, M0_O2IB_FATAL, 0x13 },
		{ 6, 1, M0_O2IB_FATAL, M0_O2IB_CONNACK },
		{ 6, 1, M0_O2IB_FATAL, 0xff },
		{ 8, 4, M0_O2IB_FATAL, 55 },
		{ 8, 4, M0_O2IB_FATAL, UINT32_MAX },
		{ 12, 4, M0_O2IB_FATAL, 1 },
		{ 16, 8, M0_O2IB_FATAL, UINT64_MAX },
		{ 16, 8, M0_O2IB_FATAL, US },
		{ 24, 8, M0_O2IB_FATAL, 0 },
		{ 32, 8, M0_O2IB_FATAL, US + 1 },
		{ 40, 8, M0_O2IB_CONN_STALE, US_STAMP + 1 },
		{ 48, 2, M0_O2IB_MSG_QUEUE_SIZE, RIG_DEPTH + 1 },
		{ 48, 2, M0_O2IB_MSG_QUEUE_SIZE, UINT16_MAX },
		{ 48, 2, M0_O2IB_FATAL, 0 },
		{ 50, 2, M0_O2IB_FATAL, 0 },
		{ 52, 4, M0_O2IB_FATAL, 4097 },
		{ 52, 4, M0_O2IB_FATAL, UINT32_MAX },
	};
	struct m0_o2ib_hdr    h = hdr(M0_O2IB_CONNREQ, 0);
	struct m0_o2ib_params params = { RIG_DEPTH, 256, 4096 };
	unsigned              i;
	size_t                nr;

	(void)state;
	h.ibh_dst_stamp = 0;
	rig_init(&rig, US, US_STAMP);
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		nr = m0_o2ib__conn_encode(&h, &params, buf, sizeof buf);
		memcpy(buf + rows[i].at, &rows[i].value, rows[i].width);
		if (rig_request(&rig, buf, nr) != NULL)
			fail_msg("row %u is accepted", i);
		assert_int_equal(rig.rg_reject_nr, M0_O2IB_REJECT_BYTES);
		if (rig.rg_reject[6] != rows[i].reason)
			fail_msg("row %u: reason %u", i, rig.rg_reject[6]);
	}
	rig_fini(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_messages_are_taken),
		cmocka_unit_test(each_field_of_each_message),
		cmocka_unit_test(each_field_of_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

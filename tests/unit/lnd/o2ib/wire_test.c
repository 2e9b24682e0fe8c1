/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../../base/panics.h"

#include "base/cursor.h"
#include "golden/o2ib_again.h"
#include "worked.h"

enum {
	COOKIE_AT = 120,
	GET_DESC_AT = 128,
	ACK_DESC_AT = 64
};

/** Room for any message, and the fragments that a decoder may fill in. */
struct scene {
	struct m0_o2ib_hdr  sc_hdr;
	struct m0_o2ib_why  sc_why;
	struct m0_o2ib_frag sc_frags[M0_O2IB_FRAGS_MAX];
	uint8_t             sc_in[M0_O2IB_MSG_BYTES_MAX + 1];
	uint8_t             sc_out[M0_O2IB_MSG_BYTES_MAX];
	size_t              sc_nr;
};

static struct scene sc;

static struct m0_o2ib_desc desc_room(void)
{
	return (struct m0_o2ib_desc){ .ibd_frags_max = M0_O2IB_FRAGS_MAX,
				      .ibd_frags = sc.sc_frags };
}

/** Decodes the body of sc_in and encodes it again to sc_out. */
static int again(size_t *ret_nr)
{
	static struct o2ib_msg msg;
	int                    rc;

	msg.om_hdr = sc.sc_hdr;
	rc = o2ib_body_decode(&msg, sc.sc_in + 1);
	if (rc == 0)
		*ret_nr = o2ib_encode(&msg, sc.sc_out);
	else
		sc.sc_why = msg.om_why;
	return rc;
}

/** Takes bytes at an odd address, as all of a message that arrived. */
static void in_set(const uint8_t *bytes, size_t nr)
{
	memset(&sc.sc_why, 0, sizeof sc.sc_why);
	memcpy(sc.sc_in + 1, bytes, nr);
	sc.sc_nr = nr;
}

/** Decodes what in_set() took. */
static int in_decode(void)
{
	size_t nr;
	int    rc = m0_o2ib__hdr_decode(&sc.sc_hdr, sc.sc_in + 1, sc.sc_nr,
					&sc.sc_why);

	return rc == 0 ? again(&nr) : rc;
}

static void put16(size_t at, uint16_t number)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, sc.sc_in + 1 + at, sizeof number);
	m0_cursor_put_le16(&cur, number);
}

static void put32(size_t at, uint32_t number)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, sc.sc_in + 1 + at, sizeof number);
	m0_cursor_put_le32(&cur, number);
}

static void put64(size_t at, uint64_t number)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, sc.sc_in + 1 + at, sizeof number);
	m0_cursor_put_le64(&cur, number);
}

/** The decoder refuses the message for `field` and says `text`. */
#define assert_refused(rc, field, text)                          \
	do {                                                     \
		assert_int_equal(in_decode(), (rc));             \
		assert_int_equal(sc.sc_why.ibw_field, (field));  \
		assert_string_equal(sc.sc_why.ibw_text, (text)); \
	} while (0)

/* -- as written ------------------------------------------------------------ */

#define WORKED(name)                                \
	{                                           \
		worked_##name, sizeof worked_##name \
	}
static const struct {
	const uint8_t *wk_bytes;
	size_t         wk_nr;
} worked[] = {
	WORKED(connreq),       WORKED(connack),         WORKED(noop),
	WORKED(immediate_get), WORKED(immediate_reply), WORKED(put_req),
	WORKED(put_ack),       WORKED(put_done),        WORKED(put_nak),
	WORKED(get_req),
};

/* Each message comes out of its encoder as it went into its decoder, and with
 * padding behind it. */
static void message_is_encoded_as_it_was(void **state)
{
	size_t nr = 0;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(worked); ++i) {
		in_set(worked[i].wk_bytes, worked[i].wk_nr);
		for (; sc.sc_nr < worked[i].wk_nr + 140; sc.sc_nr += 139) {
			assert_int_equal(
				m0_o2ib__hdr_decode(&sc.sc_hdr, sc.sc_in + 1,
						    sc.sc_nr, &sc.sc_why),
				0);
			assert_int_equal(again(&nr), 0);
			assert_int_equal(nr, worked[i].wk_nr);
			assert_memory_equal(sc.sc_out, worked[i].wk_bytes, nr);
		}
	}
}

/* A message that is cut anywhere is refused, and so is one that says so. */
static void message_cut_is_refused(void **state)
{
	size_t nr;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(worked); ++i) {
		for (nr = 0; nr < worked[i].wk_nr; ++nr) {
			in_set(worked[i].wk_bytes, nr);
			assert_int_equal(in_decode(), -EPROTO);
			assert_int_equal(sc.sc_why.ibw_field,
					 M0_O2IB_FIELD_LENGTH);
		}
		in_set(worked[i].wk_bytes, worked[i].wk_nr);
		/* An IMMEDIATE may have less payload. */
		if (worked[i].wk_bytes == worked_immediate_reply)
			continue;
		put32(8, (uint32_t)worked[i].wk_nr - 1);
		assert_int_equal(in_decode(), -EPROTO);
		assert_int_equal(sc.sc_why.ibw_field, M0_O2IB_FIELD_LENGTH);
	}
}

static void header_fields_are_as_written(void **state)
{
	(void)state;
	in_set(worked_noop, sizeof worked_noop);
	assert_int_equal(in_decode(), 0);
	assert_int_equal(sc.sc_hdr.ibh_type, M0_O2IB_NOOP);
	assert_int_equal(sc.sc_hdr.ibh_credits, 4);
	assert_int_equal(sc.sc_hdr.ibh_nob, 48);
	assert_false(sc.sc_hdr.ibh_swapped);
	assert_true(sc.sc_hdr.ibh_src_nid4 == WORKED_NID_A);
	assert_true(sc.sc_hdr.ibh_src_stamp == WORKED_STAMP_A);
	assert_true(sc.sc_hdr.ibh_dst_nid4 == WORKED_NID_B);
	assert_true(sc.sc_hdr.ibh_dst_stamp == WORKED_STAMP_B);
}

static void connection_fields_are_as_written(void **state)
{
	struct m0_o2ib_params params;

	(void)state;
	in_set(worked_connreq, sizeof worked_connreq);
	assert_int_equal(in_decode(), 0);
	assert_true(sc.sc_hdr.ibh_dst_stamp == 0);
	assert_int_equal(m0_o2ib__conn_decode(&sc.sc_hdr, sc.sc_in + 1, &params,
					      &sc.sc_why),
			 0);
	assert_int_equal(params.ibp_queue_depth, 8);
	assert_int_equal(params.ibp_frags_max, 256);
	assert_int_equal(params.ibp_msg_bytes_max, 4096);
}

static void immediate_fields_are_as_written(void **state)
{
	struct m0_o2ib_immediate imm;

	(void)state;
	in_set(worked_immediate_reply, sizeof worked_immediate_reply);
	assert_int_equal(in_decode(), 0);
	m0_o2ib__immediate_decode(&sc.sc_hdr, sc.sc_in + 1, &imm);
	assert_ptr_equal(imm.ibm_lnet_hdr, sc.sc_in + 1 + 48);
	assert_ptr_equal(imm.ibm_payload, sc.sc_in + 1 + 120);
	assert_int_equal(imm.ibm_payload_bytes, 48);
	/* The caller may put the payload itself. */
	imm.ibm_payload = NULL;
	memset(sc.sc_out, 0xee, sizeof sc.sc_out);
	assert_int_equal(m0_o2ib__immediate_encode(&sc.sc_hdr, &imm, sc.sc_out,
						   120),
			 168);
	assert_memory_equal(sc.sc_out, worked_immediate_reply, 120);
	assert_int_equal(sc.sc_out[120], 0xee);
}

static void descriptor_fields_are_as_written(void **state)
{
	struct m0_o2ib_put_ack ack = { .ibk_sink = desc_room() };
	struct m0_o2ib_req     req = { .ibq_sink = desc_room() };

	(void)state;
	in_set(worked_put_ack, sizeof worked_put_ack);
	memcpy(sc.sc_in + 1 + 48, worked_two_frags, sizeof worked_two_frags);
	sc.sc_nr = 48 + sizeof worked_two_frags;
	put32(8, (uint32_t)sc.sc_nr);
	assert_int_equal(in_decode(), 0);
	assert_int_equal(m0_o2ib__put_ack_decode(&sc.sc_hdr, sc.sc_in + 1, &ack,
						 &sc.sc_why),
			 0);
	assert_true(ack.ibk_src_cookie == 0x2a);
	assert_true(ack.ibk_dst_cookie == 0x77);
	assert_int_equal(ack.ibk_sink.ibd_key, 0x00180a01);
	assert_int_equal(ack.ibk_sink.ibd_frags_nr, 2);
	assert_int_equal(sc.sc_frags[0].ibf_bytes, 4096);
	assert_true(sc.sc_frags[0].ibf_addr == UINT64_C(0x7f1200001f00));
	assert_int_equal(sc.sc_frags[1].ibf_bytes, 1044480);
	assert_true(sc.sc_frags[1].ibf_addr == UINT64_C(0x7f1200400000));
	assert_true(ack.ibk_sink.ibd_bytes == 1048576);
	assert_memory_equal(sc.sc_out, sc.sc_in + 1, sc.sc_nr);

	in_set(worked_get_req, sizeof worked_get_req);
	assert_int_equal(in_decode(), 0);
	assert_int_equal(m0_o2ib__get_req_decode(&sc.sc_hdr, sc.sc_in + 1, &req,
						 &sc.sc_why),
			 0);
	assert_ptr_equal(req.ibq_lnet_hdr, sc.sc_in + 1 + 48);
	assert_true(req.ibq_cookie == 0x2b);
	assert_int_equal(req.ibq_sink.ibd_key, 0x1234);
	assert_true(sc.sc_frags[0].ibf_addr == UINT64_C(0x7f1200001000));
	assert_true(req.ibq_sink.ibd_bytes == 65536);
}

static void done_fields_are_as_written(void **state)
{
	struct m0_o2ib_done done;

	(void)state;
	in_set(worked_put_nak, sizeof worked_put_nak);
	sc.sc_in[1 + 6] = M0_O2IB_GET_DONE;
	memcpy(sc.sc_in + 1 + 48, worked_get_done, sizeof worked_get_done);
	assert_int_equal(in_decode(), 0);
	assert_int_equal(m0_o2ib__done_decode(&sc.sc_hdr, sc.sc_in + 1, &done,
					      &sc.sc_why),
			 0);
	assert_true(done.ibe_cookie == 0x2b);
	assert_int_equal(done.ibe_status, 65536);
	memcpy(sc.sc_in + 1 + 48, worked_get_no_match,
	       sizeof worked_get_no_match);
	assert_int_equal(in_decode(), 0);
	assert_int_equal(m0_o2ib__done_decode(&sc.sc_hdr, sc.sc_in + 1, &done,
					      &sc.sc_why),
			 0);
	assert_int_equal(done.ibe_status, -ENODATA);
	assert_memory_equal(sc.sc_out, sc.sc_in + 1, sc.sc_nr);
}

static void rejection_is_as_written(void **state)
{
	struct m0_o2ib_reject rej;
	uint8_t               buf[148] = { 0 };
	uint8_t               out[M0_O2IB_REJECT_BYTES];

	(void)state;
	memcpy(buf, worked_reject, sizeof worked_reject);
	/* The connection manager pads to the most that it can carry. */
	assert_int_equal(
		m0_o2ib__reject_decode(&rej, buf, sizeof buf, &sc.sc_why), 0);
	assert_false(rej.ibr_general);
	assert_int_equal(rej.ibr_version, M0_O2IB_VERSION);
	assert_int_equal(rej.ibr_reason, M0_O2IB_MSG_QUEUE_SIZE);
	assert_true(rej.ibr_stamp == WORKED_STAMP_B);
	assert_int_equal(rej.ibr_limits.ibp_queue_depth, 8);
	assert_int_equal(rej.ibr_limits.ibp_frags_max, 257);
	assert_int_equal(rej.ibr_limits.ibp_msg_bytes_max, 4096);
	assert_int_equal(m0_o2ib__reject_encode(&rej, out), sizeof out);
	assert_memory_equal(out, worked_reject, sizeof out);
}

/* -- the other byte order -------------------------------------------------- */

/** Reverses the bytes of a number. */
static void flip(size_t at, size_t nr)
{
	uint8_t *bytes = sc.sc_in + 1 + at;
	uint8_t  byte;
	size_t   i;

	for (i = 0; i < nr / 2; ++i) {
		byte = bytes[i];
		bytes[i] = bytes[nr - 1 - i];
		bytes[nr - 1 - i] = byte;
	}
}

static void hdr_flip(void)
{
	flip(0, 4);
	flip(4, 2);
	flip(8, 4);
	flip(12, 4);
	flip(16, 8);
	flip(24, 8);
	flip(32, 8);
	flip(40, 8);
}

/** Flips a descriptor of one fragment. */
static void desc_flip(size_t at)
{
	flip(at, 4);
	flip(at + 4, 4);
	flip(at + 8, 4);
	flip(at + 12, 8);
}

/* Integers of a peer of the other byte order are swapped; its cookies and the
 * header of LNet are not. */
static void message_swapped_is_the_same(void **state)
{
	size_t nr;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(worked); ++i) {
		in_set(worked[i].wk_bytes, worked[i].wk_nr);
		hdr_flip();
		switch (worked[i].wk_bytes[6]) {
		case M0_O2IB_CONNREQ:
		case M0_O2IB_CONNACK:
			flip(48, 2);
			flip(50, 2);
			flip(52, 4);
			break;
		case M0_O2IB_PUT_ACK:
			desc_flip(ACK_DESC_AT);
			break;
		case M0_O2IB_GET_REQ:
			desc_flip(GET_DESC_AT);
			break;
		case M0_O2IB_PUT_DONE:
		case M0_O2IB_PUT_NAK:
			flip(56, 4);
			break;
		default:
			break;
		}
		assert_int_equal(m0_o2ib__hdr_decode(&sc.sc_hdr, sc.sc_in + 1,
						     sc.sc_nr, &sc.sc_why),
				 0);
		assert_true(sc.sc_hdr.ibh_swapped);
		assert_int_equal(again(&nr), 0);
		assert_int_equal(nr, worked[i].wk_nr);
		assert_memory_equal(sc.sc_out, worked[i].wk_bytes, nr);
	}
}

static void rejection_swapped_is_the_same(void **state)
{
	struct m0_o2ib_reject rej;
	uint8_t               out[M0_O2IB_REJECT_BYTES];

	(void)state;
	in_set(worked_reject, sizeof worked_reject);
	flip(0, 4);
	flip(4, 2);
	flip(8, 8);
	flip(16, 2);
	flip(18, 2);
	flip(20, 4);
	assert_int_equal(m0_o2ib__reject_decode(&rej, sc.sc_in + 1, sc.sc_nr,
						&sc.sc_why),
			 0);
	assert_true(rej.ibr_swapped);
	(void)m0_o2ib__reject_encode(&rej, out);
	assert_memory_equal(out, worked_reject, sizeof out);
}

/* The short way takes what the long way takes, and nothing else: each bit of a header is
 * changed, and each length. */
static void known_header_is_the_same(void **state)
{
	uint8_t            ids[M0_O2IB_IDS_BYTES];
	struct m0_o2ib_hdr known;
	size_t             bit;
	size_t             i;

	(void)state;
	for (i = 2; i < ARRAY_SIZE(worked); ++i) {
		memcpy(ids, worked[i].wk_bytes + M0_O2IB_IDS_AT, sizeof ids);
		for (bit = 0; bit <= 8 * M0_O2IB_HDR_BYTES; ++bit) {
			in_set(worked[i].wk_bytes, worked[i].wk_nr);
			if (bit < 8 * M0_O2IB_HDR_BYTES)
				sc.sc_in[1 + bit / 8] ^=
					(uint8_t)(1U << bit % 8);
			if (!m0_o2ib__hdr_decode_known(&known, sc.sc_in + 1,
						       sc.sc_nr, ids)) {
				assert_true(bit < 8 * M0_O2IB_HDR_BYTES);
				continue;
			}
			assert_int_equal(
				m0_o2ib__hdr_decode(&sc.sc_hdr, sc.sc_in + 1,
						    sc.sc_nr, &sc.sc_why),
				0);
			assert_int_equal(known.ibh_type, sc.sc_hdr.ibh_type);
			assert_int_equal(known.ibh_credits,
					 sc.sc_hdr.ibh_credits);
			assert_int_equal(known.ibh_nob, sc.sc_hdr.ibh_nob);
			assert_false(sc.sc_hdr.ibh_swapped);
		}
		for (sc.sc_nr = 0; sc.sc_nr < worked[i].wk_nr; ++sc.sc_nr)
			assert_false(m0_o2ib__hdr_decode_known(
				&known, sc.sc_in + 1, sc.sc_nr, ids));
	}
}

/* -- refused fields -------------------------------------------------------- */

static void header_bad_field_is_named(void **state)
{
	(void)state;
	in_set(worked_noop, 5);
	assert_refused(-EPROTO, M0_O2IB_FIELD_LENGTH,
		       "length 5, at least 6 expected");
	in_set(worked_noop, sizeof worked_noop);
	sc.sc_in[1] = 0x90;
	assert_refused(-EPROTO, M0_O2IB_FIELD_MAGIC,
		       "magic 0x0be91b90, expected 0x0be91b91");
	put32(0, M0_O2IB_MAGIC_LNET);
	assert_refused(-EPROTONOSUPPORT, M0_O2IB_FIELD_MAGIC,
		       "magic 0x45726963, the general one");
	in_set(worked_noop, 7);
	put16(4, 0x13);
	assert_refused(-EPROTONOSUPPORT, M0_O2IB_FIELD_VERSION,
		       "version 0x13, expected 0x12");
	in_set(worked_noop, sizeof worked_noop);
	put16(4, M0_O2IB_VERSION_OLD);
	assert_refused(-EPROTONOSUPPORT, M0_O2IB_FIELD_VERSION,
		       "version 0x11, expected 0x12");
	in_set(worked_noop, sizeof worked_noop);
	sc.sc_in[1 + 6] = 0xd8;
	assert_refused(-EPROTO, M0_O2IB_FIELD_TYPE, "type 0xd8 is unknown");
	in_set(worked_noop, sizeof worked_noop);
	put32(8, 49);
	assert_refused(-EPROTO, M0_O2IB_FIELD_LENGTH,
		       "NOOP: length 49 of 48 bytes, at most 4096");
	put32(8, 4097);
	sc.sc_nr = 4097;
	assert_refused(-EPROTO, M0_O2IB_FIELD_LENGTH,
		       "NOOP: length 4097 of 4097 bytes, at most 4096");
	put32(8, 47);
	assert_refused(-EPROTO, M0_O2IB_FIELD_LENGTH,
		       "NOOP: length 47, at least 48 expected");
}

static void nid_that_cannot_be_is_named(void **state)
{
	(void)state;
	in_set(worked_noop, sizeof worked_noop);
	put64(16, M0_LNET_NID4_ANY);
	assert_refused(-EPROTO, M0_O2IB_FIELD_SRC_NID,
		       "NOOP: source NID 0xffffffffffffffff");
	put64(16, UINT64_C(0x01050000c0a83201));
	assert_refused(-EPROTO, M0_O2IB_FIELD_SRC_NID,
		       "NOOP: source NID 0x1050000c0a83201");
	in_set(worked_noop, sizeof worked_noop);
	put64(32, UINT64_C(0x00ff0000c0a83201));
	assert_refused(-EPROTO, M0_O2IB_FIELD_DST_NID,
		       "NOOP: destination NID 0xff0000c0a83201");
}

static void parameter_that_cannot_be_is_named(void **state)
{
	(void)state;
	in_set(worked_connreq, sizeof worked_connreq);
	put16(48, 0);
	assert_refused(-EPROTO, M0_O2IB_FIELD_QUEUE_DEPTH,
		       "CONNREQ: queue depth 0");
	in_set(worked_connack, sizeof worked_connack);
	put16(50, 0);
	assert_refused(-EPROTO, M0_O2IB_FIELD_FRAGS_MAX,
		       "CONNACK: 0 fragments");
	in_set(worked_connreq, sizeof worked_connreq);
	put32(52, 4097);
	assert_refused(-EPROTO, M0_O2IB_FIELD_MSG_BYTES,
		       "CONNREQ: message size 4097, expected 148 to 4096");
	put32(52, 147);
	assert_refused(-EPROTO, M0_O2IB_FIELD_MSG_BYTES,
		       "CONNREQ: message size 147, expected 148 to 4096");
	put32(52, 148);
	assert_int_equal(in_decode(), 0);
}

static void descriptor_that_cannot_be_is_named(void **state)
{
	(void)state;
	in_set(worked_put_ack, sizeof worked_put_ack);
	put32(ACK_DESC_AT + 4, 0);
	assert_refused(-EPROTO, M0_O2IB_FIELD_FRAGS_NR,
		       "PUT_ACK: 0 fragments, expected 1 to 257");
	put32(ACK_DESC_AT + 4, 258);
	assert_refused(-EPROTO, M0_O2IB_FIELD_FRAGS_NR,
		       "PUT_ACK: 258 fragments, expected 1 to 257");
	put32(ACK_DESC_AT + 4, 0x80000001);
	assert_refused(-EPROTO, M0_O2IB_FIELD_FRAGS_NR,
		       "PUT_ACK: 2147483649 fragments, expected 1 to 257");
	put32(ACK_DESC_AT + 4, 2);
	assert_refused(-EPROTO, M0_O2IB_FIELD_LENGTH,
		       "PUT_ACK: length 84 is short of 2 fragments");
	in_set(worked_get_req, sizeof worked_get_req);
	put32(GET_DESC_AT + 8, 0);
	assert_refused(-EPROTO, M0_O2IB_FIELD_FRAG_LENGTH,
		       "GET_REQ: fragment of 0 bytes at 0x7f1200001000");
	put32(GET_DESC_AT + 8, 2);
	put64(GET_DESC_AT + 12, UINT64_MAX);
	assert_refused(-EPROTO, M0_O2IB_FIELD_FRAG_ADDR,
		       "GET_REQ: fragment of 2 bytes at 0xffffffffffffffff");
	put32(GET_DESC_AT + 8, 1);
	assert_int_equal(in_decode(), 0);
}

static void status_that_cannot_be_is_named(void **state)
{
	(void)state;
	in_set(worked_put_nak, sizeof worked_put_nak);
	put32(56, 1);
	assert_refused(-EPROTO, M0_O2IB_FIELD_STATUS, "PUT_NAK: status 1");
	in_set(worked_put_done, sizeof worked_put_done);
	put32(56, 0x80000000);
	assert_refused(-EPROTO, M0_O2IB_FIELD_STATUS,
		       "PUT_DONE: status -2147483648");
	put32(56, (uint32_t)-4095);
	assert_int_equal(in_decode(), 0);
}

static void rejection_that_cannot_be_is_refused(void **state)
{
	struct m0_o2ib_reject rej;

	(void)state;
	in_set(worked_reject, sizeof worked_reject);
	assert_int_equal(m0_o2ib__reject_decode(&rej, sc.sc_in + 1, 15,
						&sc.sc_why),
			 -EPROTO);
	assert_int_equal(m0_o2ib__reject_decode(&rej, sc.sc_in + 1, 23,
						&sc.sc_why),
			 -EPROTO);
	assert_int_equal(sc.sc_why.ibw_field, M0_O2IB_FIELD_LENGTH);
	/* An old one has no parameters, and the general magic is understood. */
	put16(4, M0_O2IB_VERSION_OLD);
	put32(0, M0_O2IB_MAGIC_LNET);
	assert_int_equal(
		m0_o2ib__reject_decode(&rej, sc.sc_in + 1, 16, &sc.sc_why), 0);
	assert_true(rej.ibr_general);
	assert_int_equal(rej.ibr_limits.ibp_queue_depth, 0);
	put32(0, 0);
	assert_int_equal(m0_o2ib__reject_decode(&rej, sc.sc_in + 1, 24,
						&sc.sc_why),
			 -EPROTO);
	assert_string_equal(sc.sc_why.ibw_text, "rejection: magic 0x00000000");
}

/* -- checksum -------------------------------------------------------------- */

static void checksum_is_as_written(void **state)
{
	static const uint8_t high[] = { 0xff, 0x80 };

	(void)state;
	assert_int_equal(m0_o2ib__sum("123456789", 9, true), 0x63c5);
	assert_int_equal(m0_o2ib__sum("123456789", 9, false), 0x63c5);
	assert_true(m0_o2ib__sum(high, 2, true) == UINT32_C(0xffffff7f));
	assert_int_equal(m0_o2ib__sum(high, 2, false), 0x27e);
	assert_true(m0_o2ib__sum(worked_noop, 48, true) ==
		    UINT32_C(0xe2f05b81));
	assert_true(m0_o2ib__sum(worked_noop, 48, false) ==
		    UINT32_C(0xdbc253b2));
}

/* A sum of either kind is accepted, another is not; of an IMMEDIATE with
 * payload it is only noted. */
static void checksum_of_either_kind_is_accepted(void **state)
{
	(void)state;
	in_set(worked_noop, sizeof worked_noop);
	put32(12, 0xe2f05b81);
	assert_int_equal(in_decode(), 0);
	put32(12, 0xdbc253b2);
	assert_int_equal(in_decode(), 0);
	assert_false(sc.sc_hdr.ibh_sum_bad);
	put32(12, 1);
	assert_refused(-EPROTO, M0_O2IB_FIELD_CHECKSUM,
		       "NOOP: checksum 0x1, expected 0xe2f05b81 or 0xdbc253b2");
	in_set(worked_immediate_get, sizeof worked_immediate_get);
	put32(12, 1);
	assert_int_equal(in_decode(), -EPROTO);
	in_set(worked_immediate_reply, sizeof worked_immediate_reply);
	put32(12, 1);
	assert_int_equal(in_decode(), 0);
	assert_true(sc.sc_hdr.ibh_sum_bad);
}

/* The sum is made before anything is swapped. */
static void checksum_of_swapped_is_of_its_bytes(void **state)
{
	(void)state;
	in_set(worked_noop, sizeof worked_noop);
	hdr_flip();
	put32(12, __builtin_bswap32(m0_o2ib__sum(sc.sc_in + 1, 48, true)));
	assert_int_equal(in_decode(), 0);
}

/* -- what we must never send ------------------------------------------------ */

/* A kernel panics if a GET_DONE says more than its sink holds. */
static void done_beyond_sink_panics(void **state)
{
	struct m0_o2ib_hdr  hdr = { .ibh_type = M0_O2IB_GET_DONE };
	struct m0_o2ib_done done = { .ibe_status = 4097 };

	(void)state;
	assert_panics(m0_o2ib__done_encode(&hdr, &done, 4096, sc.sc_out, 60));
	hdr.ibh_type = M0_O2IB_PUT_NAK;
	done.ibe_status = 1;
	assert_panics(m0_o2ib__done_encode(&hdr, &done, 0, sc.sc_out, 60));
	assert_panics(m0_o2ib__done_encode(&hdr, &done, 1, sc.sc_out, 60));
	done.ibe_status = -EIO;
	assert_int_equal(m0_o2ib__done_encode(&hdr, &done, 0, sc.sc_out, 60),
			 60);
}

/** Encodes a PUT_ACK with so many fragments of a byte. */
static size_t frags_encode(uint32_t nr)
{
	struct m0_o2ib_hdr     hdr = { .ibh_type = M0_O2IB_PUT_ACK };
	struct m0_o2ib_put_ack ack = { .ibk_sink = desc_room() };
	uint32_t               i;

	for (i = 0; i < M0_O2IB_FRAGS_MAX; ++i)
		sc.sc_frags[i] = (struct m0_o2ib_frag){ 1, i };
	ack.ibk_sink.ibd_frags_nr = nr;
	return m0_o2ib__put_ack_encode(&hdr, &ack, sc.sc_out, sizeof sc.sc_out);
}

/* A kernel may panic if it has to write to 257 fragments. */
static void fragments_beyond_256_panic(void **state)
{
	(void)state;
	assert_int_equal(frags_encode(1), 84);
	assert_int_equal(frags_encode(256), 72 + 256 * 12);
	assert_panics(frags_encode(257));
	assert_panics(frags_encode(0));
}

/* The peer's may be 257. */
static void fragments_of_peer_may_be_257(void **state)
{
	struct m0_o2ib_put_ack ack = { .ibk_sink = desc_room() };

	(void)state;
	in_set(worked_put_ack, sizeof worked_put_ack);
	memset(sc.sc_in + 1 + 72, 1, 257 * 12);
	put32(68, 257);
	put32(8, 72 + 257 * 12);
	sc.sc_nr = 72 + 257 * 12;
	assert_int_equal(m0_o2ib__hdr_decode(&sc.sc_hdr, sc.sc_in + 1, sc.sc_nr,
					     &sc.sc_why),
			 0);
	assert_int_equal(m0_o2ib__put_ack_decode(&sc.sc_hdr, sc.sc_in + 1, &ack,
						 &sc.sc_why),
			 0);
	assert_int_equal(ack.ibk_sink.ibd_frags_nr, 257);
	assert_true(ack.ibk_sink.ibd_bytes == UINT64_C(257) * 0x01010101);
}

/* More payload than an IMMEDIATE has room for, and less room than needed. */
static void message_without_room_panics(void **state)
{
	struct m0_o2ib_hdr       hdr = { .ibh_type = M0_O2IB_IMMEDIATE };
	struct m0_o2ib_immediate imm = { .ibm_lnet_hdr = worked_immediate_get,
					 .ibm_payload_bytes = 3977 };

	(void)state;
	assert_panics(m0_o2ib__immediate_encode(&hdr, &imm, sc.sc_out,
						sizeof sc.sc_out));
	imm.ibm_payload_bytes = 3976;
	assert_int_equal(m0_o2ib__immediate_encode(&hdr, &imm, sc.sc_out,
						   sizeof sc.sc_out),
			 4096);
	assert_panics(m0_o2ib__immediate_encode(&hdr, &imm, sc.sc_out, 119));
	assert_panics(m0_o2ib__noop_encode(&hdr, sc.sc_out, 48));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_is_encoded_as_it_was),
		cmocka_unit_test(message_cut_is_refused),
		cmocka_unit_test(header_fields_are_as_written),
		cmocka_unit_test(connection_fields_are_as_written),
		cmocka_unit_test(immediate_fields_are_as_written),
		cmocka_unit_test(descriptor_fields_are_as_written),
		cmocka_unit_test(done_fields_are_as_written),
		cmocka_unit_test(rejection_is_as_written),
		cmocka_unit_test(message_swapped_is_the_same),
		cmocka_unit_test(rejection_swapped_is_the_same),
		cmocka_unit_test(known_header_is_the_same),
		cmocka_unit_test(header_bad_field_is_named),
		cmocka_unit_test(nid_that_cannot_be_is_named),
		cmocka_unit_test(parameter_that_cannot_be_is_named),
		cmocka_unit_test(descriptor_that_cannot_be_is_named),
		cmocka_unit_test(status_that_cannot_be_is_named),
		cmocka_unit_test(rejection_that_cannot_be_is_refused),
		cmocka_unit_test(checksum_is_as_written),
		cmocka_unit_test(checksum_of_either_kind_is_accepted),
		cmocka_unit_test(checksum_of_swapped_is_of_its_bytes),
		cmocka_unit_test(done_beyond_sink_panics),
		cmocka_unit_test(fragments_beyond_256_panic),
		cmocka_unit_test(fragments_of_peer_may_be_257),
		cmocka_unit_test(message_without_room_panics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

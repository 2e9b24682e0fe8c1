/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../../base/panics.h"

#include "base/rand.h"
#include "os/os.h"
#include "rpc/core/rpc_wire.h"

static const struct m0_rpc_wire_sum sum = { .rws_add = m0_os_crc32c };

enum {
	MAX = 4096
};

static union {
	uint64_t align;
	uint8_t  at[MAX];
} buf;

static const struct m0_rpc_wire_packet sample_packet = {
	.rwp_version = M0_RPC_WIRE_VERSION,
	.rwp_items_nr = 2,
	.rwp_bytes = 56 + 48 + 8 + 48 + 0,
	.rwp_life = 0x1112131415161718,
	.rwp_sender = { 0x2122232425262728, 0x3132333435363738 },
	.rwp_incarnation = 0x4142434445464748,
};

/* clang-format off */
static const struct m0_rpc_wire_item sample_item[] = {
	{ .rwi_opcode = 0x51525354,
	  .rwi_flags = M0_RPC_WIRE_REQUEST | M0_RPC_WIRE_DUP, .rwi_prio = 2,
	  .rwi_size = 5, .rwi_stream = 0x61626364,
	  .rwi_session = 0x7172737475767778, .rwi_xid = 0x8182838485868788,
	  .rwi_ack = 0x9192939495969798, .rwi_remaining_ms = 0xa1a2a3a4 },
	{ .rwi_opcode = M0_RPC_OP_STATUS, .rwi_flags = M0_RPC_WIRE_REPLY,
	  .rwi_session = 3, .rwi_xid = 4, .rwi_status = -EIO },
};

/** The packet of these two; the first one's body is "hello". */
static const uint8_t golden[] = {
	0x6d, 0x30, 0x72, 0x70, 0x08, 0x45, 0x7a, 0x39,
	0x01, 0x00, 0x00, 0x00, 0xa0, 0x00, 0x00, 0x00,
	0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
	0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
	/* request */
	0x54, 0x53, 0x52, 0x51, 0x09, 0x00, 0x02, 0x00,
	0x05, 0x00, 0x00, 0x00, 0x64, 0x63, 0x62, 0x61,
	0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71,
	0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81,
	0x98, 0x97, 0x96, 0x95, 0x94, 0x93, 0x92, 0x91,
	0xa4, 0xa3, 0xa2, 0xa1, 0x00, 0x00, 0x00, 0x00,
	'h', 'e', 'l', 'l', 'o', 0, 0, 0,
	/* reply */
	0x0c, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0xfb, 0xff, 0xff, 0xff,
};
/* clang-format on */

/** Makes the sample packet in buf. @return its length. */
static size_t sample_put(void)
{
	struct m0_rpc_wire_seg seg = { buf.at, 0 };
	uint8_t               *at = buf.at + M0_RPC_WIRE_PACKET_BYTES;

	memset(buf.at, 0x5a, sizeof buf.at);
	m0_rpc__wire_item_put(at, &sample_item[0]);
	at += M0_RPC_WIRE_ITEM_BYTES;
	memcpy(at, "hello", 5);
	at += 5;
	at += m0_rpc__wire_pad_put(at, 5);
	m0_rpc__wire_item_put(at, &sample_item[1]);
	at += M0_RPC_WIRE_ITEM_BYTES;
	seg.rwg_nr = (size_t)(at - buf.at);
	return m0_rpc__wire_seal(&sample_packet, &seg, 1, &sum);
}

/** Seals again what a case has changed in buf. */
static void resum(size_t nr)
{
	uint32_t crc = m0_os_crc32c(0, buf.at + 8, nr - 8);
	unsigned i;

	for (i = 0; i < 4; ++i)
		buf.at[4 + i] = (uint8_t)(crc >> (8 * i));
}

/** Takes all of a packet apart. @return number of items or the error. */
static int all_get(const void *bytes, size_t nr)
{
	struct m0_rpc_wire_in     in;
	struct m0_rpc_wire_packet packet;
	struct m0_rpc_wire_item   item;
	const void               *body;
	int                       got = 0;
	int rc = m0_rpc__wire_open(&in, &packet, bytes, nr, &sum);

	if (rc != 0)
		return rc;
	while ((rc = m0_rpc__wire_next(&in, &item, &body)) == 1) {
		const uint8_t *first = body;

		assert_true(first >= (const uint8_t *)bytes);
		assert_true(first + item.rwi_size <=
			    (const uint8_t *)bytes + nr);
		++got;
	}
	/* And so it stays. */
	assert_int_equal(m0_rpc__wire_next(&in, &item, &body), rc);
	return rc < 0 ? rc : got;
}

static void assert_item_equal(const struct m0_rpc_wire_item *a,
			      const struct m0_rpc_wire_item *b)
{
	assert_int_equal(a->rwi_opcode, b->rwi_opcode);
	assert_int_equal(a->rwi_flags, b->rwi_flags);
	assert_int_equal(a->rwi_prio, b->rwi_prio);
	assert_int_equal(a->rwi_size, b->rwi_size);
	assert_int_equal(a->rwi_stream, b->rwi_stream);
	assert_true(a->rwi_session == b->rwi_session);
	assert_true(a->rwi_xid == b->rwi_xid);
	assert_true(a->rwi_ack == b->rwi_ack);
	assert_int_equal(a->rwi_remaining_ms, b->rwi_remaining_ms);
	assert_int_equal(a->rwi_status, b->rwi_status);
}

/* The format is a promise: these bytes and no others. */
static void packet_bytes_are_golden(void **state)
{
	(void)state;
	assert_int_equal(sample_put(), sizeof golden);
	assert_memory_equal(buf.at, golden, sizeof golden);
}

/* A packet is decoded as it was encoded. */
static void packet_round_trip_is_equal(void **state)
{
	struct m0_rpc_wire_in     in;
	struct m0_rpc_wire_packet packet;
	struct m0_rpc_wire_item   item;
	const void               *body;
	size_t                    nr = sample_put();

	(void)state;
	assert_int_equal(m0_rpc__wire_open(&in, &packet, buf.at, nr, &sum), 0);
	assert_memory_equal(&packet, &sample_packet, sizeof packet);
	assert_int_equal(m0_rpc__wire_next(&in, &item, &body), 1);
	assert_item_equal(&item, &sample_item[0]);
	assert_memory_equal(body, "hello", 5);
	assert_ptr_equal(body, buf.at + 56 + 48);
	assert_int_equal(m0_rpc__wire_next(&in, &item, &body), 1);
	assert_item_equal(&item, &sample_item[1]);
	assert_int_equal(m0_rpc__wire_next(&in, &item, &body), 0);
	assert_int_equal(m0_rpc__wire_next(&in, &item, &body), 0);
}

/* A gather of pieces has the sum of the whole. */
static void packet_pieces_are_one(void **state)
{
	uint8_t                copy[MAX];
	size_t                 nr = sample_put();
	struct m0_rpc_wire_seg seg[4];
	size_t                 cut;

	(void)state;
	memcpy(copy, buf.at, nr);
	for (cut = 56; cut + 10 < nr; ++cut) {
		memset(buf.at, 0, M0_RPC_WIRE_PACKET_BYTES);
		seg[0] = (struct m0_rpc_wire_seg){ buf.at, cut };
		seg[1] = (struct m0_rpc_wire_seg){ buf.at + cut, 0 };
		seg[2] = (struct m0_rpc_wire_seg){ buf.at + cut, 7 };
		seg[3] = (struct m0_rpc_wire_seg){ buf.at + cut + 7,
						   nr - cut - 7 };
		assert_int_equal(
			m0_rpc__wire_seal(&sample_packet, seg, 4, &sum), nr);
		assert_memory_equal(buf.at, copy, nr);
	}
}

/* Cut off anywhere it is refused: by the sum, or by the lengths when the sum
 * is right and the prefix says the shorter length. */
static void packet_truncated_is_refused(void **state)
{
	size_t nr = sample_put();
	size_t cut;
	int    rc;

	(void)state;
	for (cut = 0; cut < nr; ++cut) {
		uint8_t *tight = m0_alloc(cut + 1);

		/* On the heap, where a sanitizer sees the byte too many. */
		memcpy(tight, buf.at, cut);
		assert_int_equal(all_get(tight, cut), -EPROTO);
		m0_free(tight);
	}
	for (cut = 16; cut < nr; ++cut) {
		sample_put();
		buf.at[12] = (uint8_t)cut;
		resum(cut);
		rc = all_get(buf.at, cut);
		assert_int_equal(rc, -EPROTO);
	}
	/* One more byte than it says, one fewer. */
	sample_put();
	assert_int_equal(all_get(buf.at, nr + 1), -EPROTO);
	assert_int_equal(all_get(buf.at, nr + 8), -EPROTO);
}

/* No bit can change without being seen. */
static void packet_flipped_bit_is_refused(void **state)
{
	size_t nr = sample_put();
	size_t bit;
	int    rc;

	(void)state;
	for (bit = 0; bit < nr * 8; ++bit) {
		buf.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		rc = all_get(buf.at, nr);
		assert_true(rc == -EPROTO || rc == -EBADMSG);
		buf.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(all_get(buf.at, nr), 2);
}

/** A byte of the sample, what a liar makes of it, what comes of that. */
static const struct {
	size_t  lie_at;
	uint8_t lie_byte;
	int     lie_rc;
} lies[] = {
	{ 10, 1, -EPROTO },          /* flags */
	{ 11, 0x80, -EPROTO },       /* flags */
	{ 16, 0, -EPROTO },          /* items: none */
	{ 16, 1, -EPROTO },          /* items: bytes left over */
	{ 16, 3, -EPROTO },          /* items: more than fit */
	{ 19, 0xff, -EPROTO },       /* items: 4 thousand millions */
	{ 56 + 4, 0, -EPROTO },      /* no kind */
	{ 56 + 4, 3, -EPROTO },      /* two kinds */
	{ 56 + 4, 0x81, -EPROTO },   /* flag not known */
	{ 56 + 5, 1, -EPROTO },      /* flag not known */
	{ 56 + 6, 3, -EPROTO },      /* priority */
	{ 56 + 7, 1, -EPROTO },      /* reserved */
	{ 56 + 8, 4, -EPROTO },      /* size: padding that is a letter */
	{ 56 + 8, 6, 2 },            /* size: a zero more is fine */
	{ 56 + 8, 9, -EPROTO },      /* size: next item misplaced */
	{ 56 + 8, 200, -EPROTO },    /* size: beyond the end */
	{ 56 + 11, 0xff, -EPROTO },  /* size: 4 thousand millions */
	{ 56 + 44, 1, -EPROTO },     /* status of a request */
	{ 112, 0, -EPROTO },         /* opcode 0 */
	{ 112 + 8, 1, -EPROTO },     /* size: just beyond the end */
	{ 112 + 8, 0xf8, -EPROTO },  /* the same */
	{ 112 + 47, 0x7f, -EPROTO }, /* status positive */
	{ 112 + 46, 0x00, -EPROTO }, /* status no errno */
};

/* Liars that can count: the sum is right, the rest is not. */
static void packet_lies_are_refused(void **state)
{
	size_t i;
	size_t nr;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lies); ++i) {
		nr = sample_put();
		buf.at[lies[i].lie_at] = lies[i].lie_byte;
		resum(nr);
		assert_int_equal(all_get(buf.at, nr), lies[i].lie_rc);
	}
}

/* A count that cannot be is seen before the first item is taken; a packet of
 * nothing is none. */
static void packet_count_is_checked_first(void **state)
{
	struct m0_rpc_wire_in     in;
	struct m0_rpc_wire_packet packet;
	size_t                    nr = sample_put();

	(void)state;
	buf.at[16] = 3;
	resum(nr);
	assert_int_equal(m0_rpc__wire_open(&in, &packet, buf.at, nr, &sum),
			 -EPROTO);
	buf.at[16] = 0;
	buf.at[12] = M0_RPC_WIRE_PACKET_BYTES;
	resum(M0_RPC_WIRE_PACKET_BYTES);
	assert_int_equal(m0_rpc__wire_open(&in, &packet, buf.at,
					   M0_RPC_WIRE_PACKET_BYTES, &sum),
			 -EPROTO);
}

/* Random bytes in random places with the right sum: never out of bounds, which
 * all_get() and the sanitizer see. */
static void packet_noise_stays_inside(void **state)
{
	struct m0_rand rand;
	size_t         nr;
	uint8_t       *tight;
	unsigned       i;
	unsigned       j;
	int            rc;

	(void)state;
	m0_rand_init(&rand, 11);
	for (i = 0; i < 50000; ++i) {
		nr = sample_put();
		for (j = (unsigned)m0_rand_below(&rand, 8) + 1; j > 0; --j)
			buf.at[m0_rand_in(&rand, 16, nr - 1)] =
				(uint8_t)m0_rand_next(&rand);
		resum(nr);
		tight = m0_alloc(nr);
		memcpy(tight, buf.at, nr);
		rc = all_get(tight, nr);
		assert_true(rc == 2 || rc == -EPROTO);
		m0_free(tight);
	}
}

/* A version to come is told from garbage, and answered; the answer is
 * understood, and never answered. */
static void packet_other_version_is_told(void **state)
{
	struct m0_rpc_wire_in     in;
	struct m0_rpc_wire_packet packet;
	size_t                    nr = sample_put();

	(void)state;
	buf.at[8] = 2;
	/* Only they know what this means. */
	buf.at[10] = 0xff;
	memset(buf.at + 16, 0xee, nr - 16);
	assert_int_equal(all_get(buf.at, nr), -EBADMSG);
	resum(nr);
	assert_int_equal(m0_rpc__wire_open(&in, &packet, buf.at, nr, &sum),
			 -EPROTONOSUPPORT);
	assert_int_equal(packet.rwp_version, 2);
	assert_int_equal(packet.rwp_items_nr, 0);

	m0_rpc__wire_refusal_put(buf.at, &sum);
	assert_int_equal(m0_rpc__wire_open(&in, &packet, buf.at,
					   M0_RPC_WIRE_REFUSAL_BYTES, &sum),
			 -EOPNOTSUPP);
	assert_int_equal(packet.rwp_lowest, 1);
	assert_int_equal(packet.rwp_highest, 1);
}

/* Refusals that are none. */
static void refusal_hostile_is_refused(void **state)
{
	(void)state;
	m0_rpc__wire_refusal_put(buf.at, &sum);
	buf.at[16] = 0;
	resum(24);
	assert_int_equal(all_get(buf.at, 24), -EPROTO);
	buf.at[16] = 2;
	resum(24);
	assert_int_equal(all_get(buf.at, 24), -EPROTO);
	m0_rpc__wire_refusal_put(buf.at, &sum);
	buf.at[23] = 1;
	resum(24);
	assert_int_equal(all_get(buf.at, 24), -EPROTO);
	m0_rpc__wire_refusal_put(buf.at, &sum);
	buf.at[12] = 16;
	resum(16);
	assert_int_equal(all_get(buf.at, 16), -EPROTO);
	memset(buf.at + 24, 0, 8);
	m0_rpc__wire_refusal_put(buf.at, &sum);
	buf.at[12] = 32;
	resum(32);
	assert_int_equal(all_get(buf.at, 32), -EPROTO);
}

/* ------------------------------------------------------------- bodies -- */

static struct m0_rpc_session_est est;
static struct m0_rpc_session_rep rep;
static struct m0_rpc_session_est est_got;
static struct m0_rpc_session_rep rep_got;
static uint8_t                   body_bytes[M0_RPC_WIRE_BODY_MAX];

/* Every shorter or longer body is refused. */
#define ASSERT_ONLY(get, got, nr)                                         \
	do {                                                              \
		size_t   only_nr;                                         \
		uint8_t *only_tight;                                      \
		for (only_nr = 0; only_nr <= (nr) + 9; ++only_nr) {       \
			only_tight = m0_alloc(only_nr + 1);               \
			memcpy(only_tight, body_bytes, only_nr);          \
			assert_int_equal(get((got), only_tight, only_nr), \
					 only_nr == (nr) ? 0 : -EPROTO);  \
			m0_free(only_tight);                              \
		}                                                         \
	} while (0)

/* Bodies of connections come back as they were, whole ones only. */
static void body_of_connections_round_trip(void **state)
{
	struct m0_rpc_conn_est a = { { 1, 2 }, 3, 4 };
	struct m0_rpc_conn_est b;
	struct m0_rpc_conn_rep c = { .rcr_incarnation = 5,
				     .rcr_life = 8,
				     .rcr_packet_max = 6,
				     .rcr_durable = true };
	struct m0_rpc_conn_rep d;
	uint64_t               number;
	size_t                 nr;

	(void)state;
	nr = m0_rpc__conn_est_put(body_bytes, &a);
	assert_int_equal(nr, 32);
	ASSERT_ONLY(m0_rpc__conn_est_get, &b, nr);
	assert_int_equal(m0_rpc__conn_est_get(&b, body_bytes, nr), 0);
	assert_true(m0_uint128_eq(&a.rce_service, &b.rce_service));
	assert_true(b.rce_conn == 3 && b.rce_packet_max == 4);
	body_bytes[28] = 1;
	assert_int_equal(m0_rpc__conn_est_get(&b, body_bytes, nr), -EPROTO);

	nr = m0_rpc__conn_rep_put(body_bytes, &c);
	assert_int_equal(nr, 24);
	ASSERT_ONLY(m0_rpc__conn_rep_get, &d, nr);
	assert_int_equal(m0_rpc__conn_rep_get(&d, body_bytes, nr), 0);
	assert_true(d.rcr_incarnation == 5 && d.rcr_life == 8 &&
		    d.rcr_packet_max == 6 && d.rcr_durable);
	body_bytes[20] = 3;
	assert_int_equal(m0_rpc__conn_rep_get(&d, body_bytes, nr), -EPROTO);

	nr = m0_rpc__number_put(body_bytes, 77);
	ASSERT_ONLY(m0_rpc__number_get, &number, nr);
	assert_int_equal(m0_rpc__number_get(&number, body_bytes, nr), 0);
	assert_true(number == 77);
}

/* Sessions, with and without numbers of streams. */
static void body_of_sessions_round_trip(void **state)
{
	size_t   nr;
	unsigned i;

	(void)state;
	est.rse_conn = 9;
	est.rse_streams_nr = 5;
	est.rse_window = 16;
	est.rse_again = true;
	est.rse_has_xid = true;
	for (i = 0; i < 5; ++i)
		est.rse_xid[i] = 100 + i;
	nr = m0_rpc__session_est_put(body_bytes, &est);
	assert_int_equal(nr, 24 + 5 * 8);
	ASSERT_ONLY(m0_rpc__session_est_get, &est_got, nr);
	assert_int_equal(m0_rpc__session_est_get(&est_got, body_bytes, nr), 0);
	assert_true(est_got.rse_conn == 9 && est_got.rse_again &&
		    est_got.rse_has_xid && est_got.rse_xid[4] == 104);
	est.rse_has_xid = false;
	nr = m0_rpc__session_est_put(body_bytes, &est);
	assert_int_equal(nr, 24);
	assert_int_equal(m0_rpc__session_est_get(&est_got, body_bytes, nr), 0);
	assert_false(est_got.rse_has_xid);

	rep.rsr_streams_nr = M0_RPC_WIRE_STREAMS_MAX;
	rep.rsr_window = 1;
	rep.rsr_unknown = true;
	rep.rsr_xid[M0_RPC_WIRE_STREAMS_MAX - 1] = 42;
	nr = m0_rpc__session_rep_put(body_bytes, &rep);
	assert_int_equal(nr, 16 + 8 * M0_RPC_WIRE_STREAMS_MAX);
	assert_int_equal(m0_rpc__session_rep_get(&rep_got, body_bytes, nr), 0);
	assert_true(rep_got.rsr_unknown && rep_got.rsr_window == 1 &&
		    rep_got.rsr_xid[M0_RPC_WIRE_STREAMS_MAX - 1] == 42);
}

/** A byte of a body of SESSION_ESTABLISH for 2 streams with numbers. */
static const struct {
	size_t  hos_at;
	uint8_t hos_byte;
} hostile[] = {
	{ 8, 0 },     /* no stream */
	{ 8, 3 },     /* not as many as numbers */
	{ 10, 1 },    /* 65,538 streams */
	{ 12, 0 },    /* no window */
	{ 16, 2 },    /* flag not known */
	{ 20, 1 },    /* numbers fewer */
	{ 20, 3 },    /* more than there are */
	{ 23, 0xff }, /* far more */
};

/* Counts that lie. */
static void body_hostile_is_refused(void **state)
{
	size_t nr;
	size_t i;

	(void)state;
	memset(&est, 0, sizeof est);
	est.rse_streams_nr = 2;
	est.rse_window = 1;
	est.rse_has_xid = true;
	for (i = 0; i < ARRAY_SIZE(hostile); ++i) {
		nr = m0_rpc__session_est_put(body_bytes, &est);
		body_bytes[hostile[i].hos_at] = hostile[i].hos_byte;
		assert_int_equal(m0_rpc__session_est_get(&est_got, body_bytes,
							 nr),
				 -EPROTO);
	}
	rep.rsr_streams_nr = 2;
	rep.rsr_window = 1;
	nr = m0_rpc__session_rep_put(body_bytes, &rep);
	assert_int_equal(m0_rpc__session_rep_get(&rep_got, body_bytes, nr), 0);
	body_bytes[12] = 0;
	assert_int_equal(m0_rpc__session_rep_get(&rep_got, body_bytes, 16),
			 -EPROTO);
	body_bytes[12] = 1;
	assert_int_equal(m0_rpc__session_rep_get(&rep_got, body_bytes, 24),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packet_bytes_are_golden),
		cmocka_unit_test(packet_round_trip_is_equal),
		cmocka_unit_test(packet_pieces_are_one),
		cmocka_unit_test(packet_truncated_is_refused),
		cmocka_unit_test(packet_flipped_bit_is_refused),
		cmocka_unit_test(packet_lies_are_refused),
		cmocka_unit_test(packet_count_is_checked_first),
		cmocka_unit_test(packet_noise_stays_inside),
		cmocka_unit_test(packet_other_version_is_told),
		cmocka_unit_test(refusal_hostile_is_refused),
		cmocka_unit_test(body_of_connections_round_trip),
		cmocka_unit_test(body_of_sessions_round_trip),
		cmocka_unit_test(body_hostile_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

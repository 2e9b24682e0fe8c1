/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../../base/panics.h"

#include "lnd/o2ib/o2ib_conn.h"
#include "worked.h"

/** A asks, B answers; each has its view of the other. */
static const struct m0_o2ib_self self_a = { WORKED_NID_A, WORKED_STAMP_A, 8 };
static const struct m0_o2ib_self self_b = { WORKED_NID_B, WORKED_STAMP_B, 8 };

static struct m0_o2ib_peer   peer_b;
static struct m0_o2ib_peer   peer_a;
static struct m0_o2ib_answer answer;
static struct m0_o2ib_params granted;
static struct m0_o2ib_why    why;
static struct m0_o2ib_hdr    hdr;
static uint8_t               bytes[M0_O2IB_CONN_BYTES];
static uint64_t              delay_ns;

static int setup(void **state)
{
	(void)state;
	m0_o2ib__peer_init(&peer_b, &self_a, WORKED_NID_B);
	m0_o2ib__peer_init(&peer_a, &self_b, WORKED_NID_A);
	return 0;
}

/** B answers the request in `bytes`. */
static void b_answers(const struct m0_o2ib_self *self)
{
	if (m0_o2ib__conn_incoming(self, bytes, sizeof bytes, &hdr, &answer))
		m0_o2ib__conn_answer(self, &peer_a, &hdr, &answer);
}

/** A takes a rejection for `reason` that suggests limits. */
static int a_rejected(uint8_t reason, uint16_t depth, uint16_t frags)
{
	struct m0_o2ib_reject rej = { .ibr_reason = reason,
				      .ibr_version = M0_O2IB_VERSION,
				      .ibr_stamp = WORKED_STAMP_B,
				      .ibr_limits = { depth, frags, 4096 } };
	uint8_t               buf[M0_O2IB_REJECT_BYTES];

	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	(void)m0_o2ib__reject_encode(&rej, buf);
	return m0_o2ib__conn_rejected(&peer_b, buf, sizeof buf, &delay_ns,
				      &why);
}

/** B rejects for `reason`, and says why. */
#define assert_rejects(reason, field, text)                           \
	do {                                                          \
		assert_false(answer.ibn_accept);                      \
		assert_int_equal(answer.ibn_nr, 24);                  \
		assert_int_equal(answer.ibn_bytes[6], (reason));      \
		assert_int_equal(answer.ibn_why.ibw_field, (field));  \
		assert_string_equal(answer.ibn_why.ibw_text, (text)); \
	} while (0)

/* -- the whole way --------------------------------------------------------- */

static void request_is_asked_for_and_accepted(void **state)
{
	(void)state;
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	assert_memory_equal(bytes, worked_connreq, sizeof bytes);
	b_answers(&self_b);
	assert_true(answer.ibn_accept);
	assert_false(answer.ibn_close);
	assert_int_equal(answer.ibn_nr, sizeof worked_connack);
	assert_memory_equal(answer.ibn_bytes, worked_connack,
			    sizeof worked_connack);
	assert_int_equal(m0_o2ib__conn_accepted(&self_a, &peer_b,
						answer.ibn_bytes, answer.ibn_nr,
						&granted, &why),
			 0);
	assert_int_equal(granted.ibp_queue_depth, 8);
	assert_int_equal(granted.ibp_frags_max, 256);
	assert_true(peer_b.ibo_stamp == WORKED_STAMP_B);
	assert_true(peer_a.ibo_stamp == WORKED_STAMP_A);
	/* The next request names the run that it is for. */
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	b_answers(&self_b);
	assert_true(answer.ibn_accept);
}

static void request_is_made_once_at_a_time(void **state)
{
	(void)state;
	assert_panics((m0_o2ib__conn_failed(&peer_b), 0));
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	assert_panics((m0_o2ib__conn_ask(&self_a, &peer_b, bytes), 0));
	m0_o2ib__conn_failed(&peer_b);
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
}

/* A first request is never deeper than any kernel accepts, nor than ours. */
static void request_is_for_eight_at_most(void **state)
{
	struct m0_o2ib_self self = self_a;

	(void)state;
	self.ibs_depth_max = 128;
	m0_o2ib__peer_init(&peer_b, &self, WORKED_NID_B);
	assert_int_equal(peer_b.ibo_ask.ibp_queue_depth, 8);
	self.ibs_depth_max = 4;
	m0_o2ib__peer_init(&peer_b, &self, WORKED_NID_B);
	assert_int_equal(peer_b.ibo_ask.ibp_queue_depth, 4);
	assert_int_equal(peer_b.ibo_ask.ibp_frags_max, 256);
}

/* -- requests of peers ----------------------------------------------------- */

/* A kernel may leak if an acceptance lowers its queue: it is rejected. */
static void queue_too_deep_is_rejected(void **state)
{
	(void)state;
	memcpy(bytes, worked_connreq, sizeof bytes);
	bytes[48] = 9;
	b_answers(&self_b);
	assert_rejects(M0_O2IB_MSG_QUEUE_SIZE, M0_O2IB_FIELD_QUEUE_DEPTH,
		       "CONNREQ: queue depth 9, at most 8");
	/* The suggestion is that of the protocol, but for our 256. */
	assert_memory_equal(answer.ibn_bytes, worked_reject, 18);
	assert_int_equal(answer.ibn_bytes[18] | answer.ibn_bytes[19] << 8, 256);
	/* A shallower one is accepted as it is. */
	bytes[48] = 3;
	b_answers(&self_b);
	assert_true(answer.ibn_accept);
	assert_int_equal(answer.ibn_bytes[48], 3);
}

/* Kernels ask for 257: an acceptance of 256 is harmless. */
static void fragments_are_lowered(void **state)
{
	(void)state;
	memcpy(bytes, worked_connreq, sizeof bytes);
	bytes[50] = 1;
	b_answers(&self_b);
	assert_true(answer.ibn_accept);
	assert_int_equal(answer.ibn_granted.ibp_frags_max, 256);
	assert_int_equal(answer.ibn_bytes[50] | answer.ibn_bytes[51] << 8, 256);
}

/* A request that comes while ours is on its way is accepted. */
static void request_is_not_rejected_for_a_race(void **state)
{
	uint8_t ours[M0_O2IB_CONN_BYTES];

	(void)state;
	m0_o2ib__conn_ask(&self_b, &peer_a, ours);
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	b_answers(&self_b);
	assert_true(answer.ibn_accept);
	assert_int_equal(peer_a.ibo_state, M0_O2IB_ASKED);
}

/* Another run of the peer: its connections end, and it asks again. */
static void peer_begun_anew_is_stale_once(void **state)
{
	(void)state;
	memcpy(bytes, worked_connreq, sizeof bytes);
	b_answers(&self_b);
	assert_true(answer.ibn_accept);
	bytes[24] = 0;
	b_answers(&self_b);
	assert_rejects(M0_O2IB_CONN_STALE, M0_O2IB_FIELD_SRC_STAMP,
		       "CONNREQ: source stamp 0x644a1b2c3d400, expected "
		       "0x644a1b2c3d4e5");
	assert_true(answer.ibn_close);
	b_answers(&self_b);
	assert_true(answer.ibn_accept);
	assert_false(answer.ibn_close);
}

static void request_for_another_run_is_stale(void **state)
{
	(void)state;
	memcpy(bytes, worked_connreq, sizeof bytes);
	bytes[40] = 7;
	b_answers(&self_b);
	assert_rejects(M0_O2IB_CONN_STALE, M0_O2IB_FIELD_DST_STAMP,
		       "CONNREQ: destination stamp 0x7, expected "
		       "0x644a1c0ffee00");
	assert_memory_equal(answer.ibn_bytes + 8, worked_reject + 8, 8);
	assert_false(answer.ibn_close);
}

/* One for another node learns neither our stamp nor our limits. */
static void request_malformed_or_for_another_is_fatal(void **state)
{
	static const uint8_t none[12];

	(void)state;
	memcpy(bytes, worked_connreq, sizeof bytes);
	bytes[32] = 9;
	b_answers(&self_b);
	assert_rejects(M0_O2IB_FATAL, M0_O2IB_FIELD_DST_NID,
		       "CONNREQ: destination NID 0x50000c0a83209, expected "
		       "0x50000c0a83202");
	assert_memory_equal(answer.ibn_bytes + 8, none, sizeof none);
	memcpy(bytes, worked_connreq, sizeof bytes);
	bytes[4] = 0x13;
	b_answers(&self_b);
	assert_rejects(M0_O2IB_FATAL, M0_O2IB_FIELD_VERSION,
		       "version 0x13, expected 0x12");
	assert_int_equal(answer.ibn_bytes[4], M0_O2IB_VERSION);
	memcpy(bytes, worked_connreq, sizeof bytes);
	bytes[6] = M0_O2IB_CONNACK;
	b_answers(&self_b);
	assert_rejects(M0_O2IB_FATAL, M0_O2IB_FIELD_TYPE,
		       "CONNACK, expected CONNREQ");
	memcpy(bytes, worked_connreq, sizeof bytes);
	bytes[48] = 0;
	b_answers(&self_b);
	assert_rejects(M0_O2IB_FATAL, M0_O2IB_FIELD_QUEUE_DEPTH,
		       "CONNREQ: queue depth 0");
}

/* -- answers of peers ------------------------------------------------------ */

/** A takes worked_connack with one byte changed. */
static int a_accepted(size_t at, uint8_t byte)
{
	uint8_t ack[sizeof worked_connack];

	if (peer_b.ibo_state == M0_O2IB_IDLE)
		m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	memcpy(ack, worked_connack, sizeof ack);
	ack[at] = byte;
	return m0_o2ib__conn_accepted(&self_a, &peer_b, ack, sizeof ack,
				      &granted, &why);
}

static void acceptance_that_does_not_fit_is_refused(void **state)
{
	static const struct {
		size_t             at;
		uint8_t            byte;
		int                rc;
		enum m0_o2ib_field field;
	} cases[] = {
		{ 6, M0_O2IB_CONNREQ, -EPROTO, M0_O2IB_FIELD_TYPE },
		{ 4, M0_O2IB_VERSION_OLD, -EPROTO, M0_O2IB_FIELD_VERSION },
		{ 16, 9, -EPROTO, M0_O2IB_FIELD_SRC_NID },
		{ 32, 9, -EPROTO, M0_O2IB_FIELD_DST_NID },
		{ 40, 9, -ESTALE, M0_O2IB_FIELD_DST_STAMP },
		{ 48, 9, -EPROTO, M0_O2IB_FIELD_QUEUE_DEPTH },
		{ 50, 1, -EPROTO, M0_O2IB_FIELD_FRAGS_MAX },
		{ 53, 0x20, -EPROTO, M0_O2IB_FIELD_MSG_BYTES },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); ++i) {
		assert_int_equal(a_accepted(cases[i].at, cases[i].byte),
				 cases[i].rc);
		assert_int_equal(why.ibw_field, cases[i].field);
		assert_int_equal(peer_b.ibo_state, M0_O2IB_IDLE);
		assert_true(peer_b.ibo_stamp == 0);
	}
	/* Less than asked for is taken. */
	assert_int_equal(a_accepted(48, 2), 0);
	assert_int_equal(granted.ibp_queue_depth, 2);
}

/* The request is repeated with the peer's values, if these are smaller. */
static void rejection_with_values_is_followed(void **state)
{
	(void)state;
	assert_int_equal(a_rejected(M0_O2IB_MSG_QUEUE_SIZE, 4, 257), 0);
	assert_true(delay_ns == 0);
	assert_int_equal(peer_b.ibo_ask.ibp_queue_depth, 4);
	assert_int_equal(a_rejected(M0_O2IB_MSG_QUEUE_SIZE, 4, 257),
			 -ECONNREFUSED);
	assert_int_equal(a_rejected(M0_O2IB_MSG_QUEUE_SIZE, 0, 0),
			 -ECONNREFUSED);
	assert_int_equal(a_rejected(M0_O2IB_RDMA_FRAGS, 8, 32), 0);
	assert_int_equal(peer_b.ibo_ask.ibp_frags_max, 32);
	assert_int_equal(a_rejected(M0_O2IB_RDMA_FRAGS, 8, 257), -ECONNREFUSED);
	assert_int_equal(a_rejected(M0_O2IB_CONN_STALE, 8, 257), 0);
	assert_true(delay_ns == 0);
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	assert_memory_equal(bytes + 40, worked_connack + 24, 8);
	assert_int_equal(bytes[48], 4);
	assert_int_equal(bytes[50], 32);
}

/* A mismatch is named with both values, also if a smaller one is asked for next. */
static void mismatch_is_named(void **state)
{
	static const struct {
		uint8_t     reason;
		uint16_t    depth;
		uint16_t    frags;
		const char *text;
	} rows[] = {
		{ M0_O2IB_MSG_QUEUE_SIZE, 4, 257,
		  "peer credits: its queue depth is 4, ours 8" },
		{ M0_O2IB_RDMA_FRAGS, 8, 32,
		  "the peer takes 32 fragments of memory, and we ask for 256" },
		{ M0_O2IB_NO_RESOURCES, 8, 256,
		  "the peer refuses, for reason 2" },
		{ M0_O2IB_EARLY, 0, 0, "the peer refuses, for reason 9" },
		{ M0_O2IB_CONN_RACE, 8, 256, "" },
		{ M0_O2IB_CONN_STALE, 8, 256, "" },
	};
	struct m0_o2ib_reject rej = { .ibr_reason = M0_O2IB_FATAL,
				      .ibr_version = M0_O2IB_VERSION,
				      .ibr_limits = { 8, 256, 2048 } };
	uint8_t               buf[M0_O2IB_REJECT_BYTES];
	unsigned              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		memset(&why, 0, sizeof why);
		(void)a_rejected(rows[i].reason, rows[i].depth, rows[i].frags);
		assert_string_equal(why.ibw_text, rows[i].text);
	}
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	(void)m0_o2ib__reject_encode(&rej, buf);
	assert_int_equal(m0_o2ib__conn_rejected(&peer_b, buf, sizeof buf,
						&delay_ns, &why),
			 -ECONNREFUSED);
	assert_string_equal(why.ibw_text,
			    "its messages have at most 2048 bytes, ours 4096");
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	buf[4] = M0_O2IB_VERSION_OLD;
	assert_int_equal(m0_o2ib__conn_rejected(&peer_b, buf, sizeof buf,
						&delay_ns, &why),
			 -EPROTONOSUPPORT);
	assert_string_equal(
		why.ibw_text,
		"the peer speaks version 0x11, and we version 0x12");
}

static void rejection_by_reason(void **state)
{
	static const struct {
		uint8_t  reason;
		int      rc;
		uint64_t delay_ns;
	} cases[] = {
		{ M0_O2IB_CONN_RACE, 0, M0_O2IB_AGAIN_NS },
		{ M0_O2IB_NO_RESOURCES, -ECONNREFUSED, 0 },
		{ M0_O2IB_FATAL, -ECONNREFUSED, 0 },
		{ M0_O2IB_CONN_UNCOMPAT, -EPROTONOSUPPORT, 0 },
		{ M0_O2IB_CONN_STALE, 0, 0 },
		{ M0_O2IB_EARLY, -ECONNREFUSED, 0 },
		{ 77, -ECONNREFUSED, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); ++i) {
		assert_int_equal(a_rejected(cases[i].reason, 8, 257),
				 cases[i].rc);
		assert_true(delay_ns == cases[i].delay_ns);
	}
}

/* Another version ends it, and so does no rejection at all. */
static void rejection_of_another_version_ends_it(void **state)
{
	uint8_t buf[M0_O2IB_REJECT_BYTES];

	(void)state;
	memcpy(buf, worked_reject, sizeof buf);
	buf[4] = M0_O2IB_VERSION_OLD;
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	assert_int_equal(m0_o2ib__conn_rejected(&peer_b, buf, sizeof buf,
						&delay_ns, &why),
			 -EPROTONOSUPPORT);
	m0_o2ib__conn_ask(&self_a, &peer_b, bytes);
	assert_int_equal(m0_o2ib__conn_rejected(&peer_b, buf, 3, &delay_ns,
						&why),
			 -EPROTO);
	assert_int_equal(peer_b.ibo_state, M0_O2IB_IDLE);
}

/* A peer that always rejects is asked once a second. */
static void rejections_without_end_are_slow(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < M0_O2IB_AGAIN_AT_ONCE_MAX; ++i) {
		assert_int_equal(a_rejected(M0_O2IB_CONN_STALE, 8, 257), 0);
		assert_true(delay_ns == 0);
	}
	assert_int_equal(a_rejected(M0_O2IB_CONN_STALE, 8, 257), 0);
	assert_true(delay_ns == M0_O2IB_AGAIN_NS);
	assert_int_equal(a_accepted(0, worked_connack[0]), 0);
	assert_int_equal(a_rejected(M0_O2IB_CONN_STALE, 8, 257), 0);
	assert_true(delay_ns == 0);
}

/* -- messages of a connection ---------------------------------------------- */

static void message_of_another_is_refused(void **state)
{
	static const struct {
		size_t             at;
		int                rc;
		enum m0_o2ib_field field;
	} cases[] = {
		{ 16, -EPROTO, M0_O2IB_FIELD_SRC_NID },
		{ 24, -ESTALE, M0_O2IB_FIELD_SRC_STAMP },
		{ 32, -EPROTO, M0_O2IB_FIELD_DST_NID },
		{ 40, -ESTALE, M0_O2IB_FIELD_DST_STAMP },
	};
	uint8_t noop[sizeof worked_noop];
	size_t  i;

	(void)state;
	peer_a.ibo_stamp = WORKED_STAMP_A;
	for (i = 0; i < ARRAY_SIZE(cases); ++i) {
		memcpy(noop, worked_noop, sizeof noop);
		assert_int_equal(
			m0_o2ib__hdr_decode(&hdr, noop, sizeof noop, &why), 0);
		assert_int_equal(
			m0_o2ib__conn_check(&self_b, &peer_a, &hdr, &why), 0);
		noop[cases[i].at] ^= 0x10;
		assert_int_equal(
			m0_o2ib__hdr_decode(&hdr, noop, sizeof noop, &why), 0);
		assert_int_equal(m0_o2ib__conn_check(&self_b, &peer_a, &hdr,
						     &why),
				 cases[i].rc);
		assert_int_equal(why.ibw_field, cases[i].field);
	}
	assert_int_equal(m0_o2ib__hdr_decode(&hdr, worked_connreq,
					     sizeof worked_connreq, &why),
			 0);
	assert_int_equal(m0_o2ib__conn_check(&self_b, &peer_a, &hdr, &why),
			 -EPROTO);
	assert_string_equal(why.ibw_text, "CONNREQ on a connection");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	static const struct CMUnitTest tests[] = {
		CASE(request_is_asked_for_and_accepted),
		CASE(request_is_made_once_at_a_time),
		CASE(request_is_for_eight_at_most),
		CASE(queue_too_deep_is_rejected),
		CASE(fragments_are_lowered),
		CASE(request_is_not_rejected_for_a_race),
		CASE(peer_begun_anew_is_stale_once),
		CASE(request_for_another_run_is_stale),
		CASE(request_malformed_or_for_another_is_fatal),
		CASE(acceptance_that_does_not_fit_is_refused),
		CASE(rejection_with_values_is_followed),
		CASE(mismatch_is_named),
		CASE(rejection_by_reason),
		CASE(rejection_of_another_version_ends_it),
		CASE(rejections_without_end_are_slow),
		CASE(message_of_another_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests and HELLOs that an acceptor receives: tables 2.3 and 3.5 of the protocol. */
#include <stdio.h>

#include "rig.h"

static struct rig    rig;
static struct rig_tx tx;

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

/** Ends a rig of setup, to begin one with another configuration. */
static void again(void)
{
	rig_fini(&rig);
	rig_cfg(&rig);
}

/* -- acceptor: 2.3 --------------------------------------------------------- */

/* The worked bytes of the protocol: A.1 and A.2 with A and B swapped come, A.3
 * goes. */
static void acceptor_hello_answers_as_worked_example(void **state)
{
	/* clang-format off */
	static const uint8_t asked[] = {
		0x00, 0x71, 0xce, 0xac, 0x01, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x63, 0x69, 0x72, 0x45, 0x03, 0x00, 0x00, 0x00,
		0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x39, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	static const uint8_t answer[] = {
		0x63, 0x69, 0x72, 0x45, 0x03, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x39, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	/* clang-format on */
	static const size_t pieces[] = { SIZE_MAX, 1, 7, 0 };
	unsigned            mode;
	unsigned            i;

	(void)state;
	for (mode = RIG_DIRECT; mode <= RIG_BOTH; ++mode) {
		for (i = 0; i < ARRAY_SIZE(pieces); ++i) {
			struct rig_stream *stream;

			/* A peer may have one connection of this type. */
			rig_again(&rig);
			stream = rig_connect(&rig, "10.0.0.2", 1023);
			rig.rg_mode = mode;
			rig.rg_piece = pieces[i];
			assert_int_equal(rig_feed(&rig, stream, asked,
						  sizeof asked),
					 sizeof asked);
			assert_memory_equal(rig_see(&rig, stream,
						    sizeof answer),
					    answer, sizeof answer);
			assert_int_equal(rig_unseen(stream), 0);
			assert_false(stream->rs_hung);
		}
	}
}

/* Each type is mirrored in the answer. */
static void acceptor_types_are_inverted(void **state)
{
	uint32_t type;

	(void)state;
	for (type = M0_SOCK_ANY; type <= M0_SOCK_BULK_OUT; ++type) {
		struct rig_stream *stream = rig_accept(&rig, M0_SOCK_V3, type);

		assert_int_equal(m0_sock_conn_is_bulk(stream->rs_conn),
				 type >= M0_SOCK_BULK_IN);
	}
}

/* Any version of 2 to 4 is answered in kind, also V4 over IPv4. */
static void acceptor_version_is_adopted(void **state)
{
	uint32_t version;

	(void)state;
	for (version = M0_SOCK_V2; version <= M0_SOCK_V4; ++version) {
		struct rig_stream   *stream;
		struct m0_sock_hello hello;

		again();
		rig_start(&rig, &rig_a);
		stream = rig_accept_from(&rig, &rig_b, version, M0_SOCK_CONTROL,
					 1);
		hello = rig_see_hello(&rig, stream);
		assert_int_equal(hello.sh_version, version);
		assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
	}
}

/* A peer of the other byte order is understood, and answered in ours. */
static void acceptor_swapped_peer_is_understood(void **state)
{
	uint8_t buf[72] = { 0xac, 0xce, 0x71, 0x00, 0, 0, 0,    1,    0,
			    2,    0,    0,    10,   0, 0, 1,    0x45, 0x72,
			    0x69, 0x63, 0,    0,    0, 3, 0,    2,    0,
			    0,    10,   0,    0,    2, 0, 2,    0,    0,
			    10,   0,    0,    1,    0, 0, 0x30, 0x39 };
	struct rig_stream   *stream = rig_connect(&rig, "10.0.0.2", 1000);
	struct m0_sock_hello hello;
	uint8_t              noop[24] = { 0, 0, 0, 0xc0, [23] = 1 };

	(void)state;
	buf[67] = M0_SOCK_BULK_IN;
	assert_int_equal(rig_feed(&rig, stream, buf, sizeof buf), sizeof buf);
	hello = rig_see_hello(&rig, stream);
	assert_int_equal(hello.sh_ctype, M0_SOCK_BULK_OUT);
	assert_false(hello.sh_swapped);
	/* And its frames, too. */
	assert_int_equal(rig_feed(&rig, stream, noop, sizeof noop),
			 sizeof noop);
}

/** First bytes of a stranger, and how the driver ends the connection. */
struct stranger {
	const char *st_what;
	size_t      st_nr;
	uint8_t     st_bytes[88];
	/** The 16 bytes of a refused request are sent. */
	bool st_answered;
};

/* clang-format off */
static const struct stranger strangers[] = {
	{ "general magic", 8, { 0x63, 0x69, 0x72, 0x45, 1 }, true },
	{ "general magic, swapped", 8, { 0x45, 0x72, 0x69, 0x63, 1 }, true },
	{ "version 0", 8, { 0x00, 0x71, 0xce, 0xac, 0 }, true },
	{ "version 3", 8, { 0x00, 0x71, 0xce, 0xac, 3 }, true },
	{ "version 9, swapped", 8,
	  { 0xac, 0xce, 0x71, 0x00, 0, 0, 0, 9 }, true },
	{ "ancient magic", 8, { 0xed, 0x0d, 0xbc, 0xee, 1 }, false },
	{ "HTTP", 18, "GET / HTTP/1.1\r\n\r\n", false },
	{ "TLS", 11, { 0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3 }, false },
	{ "zeroes", 16, { 0 }, false },
	{ "another NID", 16,
	  { 0x00, 0x71, 0xce, 0xac, 1, 0, 0, 0, 7, 0, 0, 10, 0, 0, 2 }, false },
	{ "another net", 16,
	  { 0x00, 0x71, 0xce, 0xac, 1, 0, 0, 0, 1, 0, 0, 10, 1, 0, 2 }, false },
	{ "0@lo", 16,
	  { 0x00, 0x71, 0xce, 0xac, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9 }, false },
	{ "a NID that cannot be", 16,
	  { 0x00, 0x71, 0xce, 0xac, 1, 0, 0, 0, 1, 0, 0, 10, 0, 0, 2, 7 },
	  false },
	{ "any NID", 16,
	  { 0x00, 0x71, 0xce, 0xac, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff }, false },
	{ "large NID that cannot be", 28,
	  { 0x00, 0x71, 0xce, 0xac, 2, 0, 0, 0, 77, 2, 0, 0, 10, 0, 0, 1 },
	  false },
};
/* clang-format on */

static void stranger_come(const struct stranger *stranger)
{
	static const uint8_t refusal[16] = { 0x00, 0x71, 0xce, 0xac, 1 };
	struct rig_stream   *stream = rig_connect(&rig, "10.0.0.2", 1023);
	ssize_t              rc;

	rc = rig_feed(&rig, stream, stranger->st_bytes, stranger->st_nr);
	rig_run(&rig);
	if (!stranger->st_answered) {
		assert_true(rc < 0);
		assert_true(stream->rs_hung);
		assert_int_equal(rig_unseen(stream), 0);
		return;
	}
	assert_memory_equal(rig_see(&rig, stream, 16), refusal, 16);
	assert_int_equal(rig_unseen(stream), 0);
	/* Closed as soon as the answer may have arrived. */
	rig_pass(&rig, 100 * M0_TIME_ONE_MSEC);
	assert_true(stream->rs_hung);
}

/* The driver answers a peer that sends no request, or closes, as 2.3 says. */
static void acceptor_stranger_is_sent_off(void **state)
{
	unsigned i;
	unsigned mode;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(strangers); ++i) {
		for (mode = RIG_DIRECT; mode <= RIG_BOTH; ++mode) {
			rig.rg_mode = mode;
			stranger_come(&strangers[i]);
		}
		rig.rg_piece = 1;
		stranger_come(&strangers[i]);
		rig.rg_piece = SIZE_MAX;
	}
}

/* An insecure port is refused at once, unless all are let in. */
static void acceptor_insecure_port_is_refused(void **state)
{
	(void)state;
	assert_null(rig_connect(&rig, "10.0.0.2", 1024));
	assert_non_null(rig_connect(&rig, "10.0.0.2", 1023));
	again();
	rig.rg_cfg.soc_accept = M0_SOCK_ACCEPT_ALL;
	rig_start(&rig, &rig_a);
	assert_non_null(rig_connect(&rig, "10.0.0.2", 60000));
}

/* No listener if nobody is to be accepted. */
static void acceptor_none_does_not_listen(void **state)
{
	(void)state;
	assert_int_equal(rig.rg_listeners_nr, 1);
	again();
	rig.rg_cfg.soc_accept = M0_SOCK_ACCEPT_NONE;
	rig_start(&rig, &rig_a);
	assert_int_equal(rig.rg_listeners_nr, 0);
	assert_null(rig_connect(&rig, "10.0.0.2", 1023));
}

/* One who says nothing, or not enough, has 5 seconds for all of it. */
static void acceptor_slow_hello_is_closed(void **state)
{
	uint8_t buf[128];
	size_t  nr = rig_put_request(buf, &rig_a);
	size_t  i;

	(void)state;
	nr += rig_put_hello(buf + nr, M0_SOCK_V3, &rig_b, 1, M0_SOCK_CONTROL);
	for (i = 0; i < nr; ++i) {
		struct rig_stream *stream = rig_connect(&rig, "10.0.0.2", 1023);

		assert_int_equal(rig_feed(&rig, stream, buf, i), i);
		rig_pass(&rig, RIG_SECONDS(5) - 1);
		assert_false(stream->rs_hung);
		rig_pass(&rig, M0_TIME_ONE_MSEC);
		assert_true(stream->rs_hung);
		assert_int_equal(rig_unseen(stream), 0);
		if (rig.rg_streams_nr == RIG_STREAMS_MAX)
			break;
	}
}

/* Two limits hold: connections without a HELLO, and connections in all. */
static void acceptor_bounds_hold(void **state)
{
	struct rig_stream *silent[3];
	unsigned           i;

	(void)state;
	again();
	rig.rg_cfg.soc_accepting_max = 3;
	rig.rg_cfg.soc_conns_max = 5;
	rig_start(&rig, &rig_a);
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	for (i = 0; i < 3; ++i)
		silent[i] = rig_connect(&rig, "10.0.0.9", 1023);
	/* The one that was silent longest makes room. */
	assert_non_null(rig_connect(&rig, "10.0.0.9", 1023));
	assert_true(silent[0]->rs_hung);
	assert_false(silent[1]->rs_hung);
	assert_false(silent[2]->rs_hung);
	rig_pass(&rig, RIG_SECONDS(6));
	for (i = 0; i < 4; ++i)
		rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	assert_null(rig_connect(&rig, "10.0.0.9", 1023));
}

static char     last_line[512];
static unsigned lines_nr;

static void line_keep(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	++lines_nr;
	snprintf(last_line, sizeof last_line, "%s", text);
}

/* No more than the room below has streams for, whatever the configuration; and of
 * those one address has its share. */
static void acceptor_bounds_are_those_of_the_streams(void **state)
{
	unsigned i;

	(void)state;
	again();
	rig.rg_io.sts_max = 100;
	rig_start(&rig, &rig_a);
	for (i = 0; i < 64; ++i)
		assert_non_null(rig_connect(&rig, "10.0.0.9", 1023));
	assert_null(rig_connect(&rig, "10.0.0.9", 1023));
	for (; i < 100; ++i)
		assert_non_null(rig_connect(&rig, "10.0.0.8", 1023));
	m0_log_set(line_keep, NULL);
	assert_null(rig_connect(&rig, "10.0.0.8", 1023));
	assert_non_null(strstr(last_line, "10.0.0.8:1023"));
	assert_non_null(strstr(last_line, "100"));
}

/* One address cannot keep all others out: it has a quarter of all connections,
 * and gets back what it gives up. */
static void acceptor_address_has_a_share(void **state)
{
	struct m0_lnd_ni_info info;
	struct rig_stream    *streams[64];
	unsigned              i;

	(void)state;
	again();
	rig.rg_cfg.soc_conns_max = 4 * ARRAY_SIZE(streams);
	rig_start(&rig, &rig_a);
	for (i = 0; i < ARRAY_SIZE(streams); ++i) {
		streams[i] = rig_connect(&rig, "10.0.0.9", 1023);
		assert_non_null(streams[i]);
	}
	m0_log_set(line_keep, NULL);
	assert_null(rig_connect(&rig, "10.0.0.9", 1022));
	assert_non_null(strstr(last_line, "10.0.0.9:1022"));
	assert_non_null(strstr(last_line, "64 already"));
	rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &info);
	assert_int_equal(info.ldi_bad_peers_nr, 1);
	assert_non_null(rig_connect(&rig, "10.0.0.8", 1023));
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig.rg_io.sts_up->stu_broken(streams[7]->rs_conn, 0);
	streams[7]->rs_conn = NULL;
	assert_non_null(rig_connect(&rig, "10.0.0.9", 1022));
	assert_null(rig_connect(&rig, "10.0.0.9", 1021));
}

/* With few connections in all, an honest peer still gets all of its own. */
static void acceptor_share_is_enough_for_one(void **state)
{
	unsigned i;

	(void)state;
	again();
	rig.rg_cfg.soc_conns_max = 70;
	rig_start(&rig, &rig_a);
	for (i = 0; i < 64; ++i)
		assert_non_null(rig_connect(&rig, "10.0.0.2", 1023));
	assert_null(rig_connect(&rig, "10.0.0.2", 1023));
}

/* -- acceptor: 3.5 --------------------------------------------------------- */

/** Offers a HELLO with changed bytes. @return its stream. */
static struct rig_stream *offer(uint32_t version, size_t at, const void *patch,
				size_t patch_nr)
{
	uint8_t            buf[256] = { 0 };
	size_t             nr = rig_put_request(buf, &rig_a);
	struct rig_stream *stream = rig_connect(&rig, "10.0.0.2", 1023);
	size_t             start = nr;

	nr += rig_put_hello(buf + nr, version, &rig_b, 1, M0_SOCK_CONTROL);
	memcpy(buf + start + at, patch, patch_nr);
	(void)rig_feed(&rig, stream, buf, nr);
	rig_run(&rig);
	return stream;
}

/* A version that is not known is answered in our own, with type NONE and our
 * own NID as destination. */
static void acceptor_unknown_version_is_answered_none(void **state)
{
	static const uint32_t versions[] = { 0, 1, 5, 0x1000000 };
	unsigned              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(versions); ++i) {
		struct rig_stream *stream =
			offer(M0_SOCK_V3, 4, &versions[i], 4);
		struct m0_sock_hello hello = rig_see_hello(&rig, stream);

		assert_int_equal(hello.sh_version, M0_SOCK_V3);
		assert_int_equal(hello.sh_ctype, M0_SOCK_NONE);
		assert_true(m0_lnet_nid_eq(&hello.sh_dst_nid, &rig_a));
		rig_pass(&rig, 100 * M0_TIME_ONE_MSEC);
		assert_true(stream->rs_hung);
	}
}

/* V1 is understood well enough to say who is refused, and why. */
static void acceptor_v1_is_refused_by_name(void **state)
{
	struct rig_stream *stream;

	(void)state;
	m0_log_set(line_keep, NULL);
	stream = offer(M0_SOCK_V1, 0, "", 0);
	assert_true(stream->rs_hung);
	assert_int_equal(rig_unseen(stream), 0);
	assert_non_null(strstr(last_line, "10.0.0.2@tcp"));
	assert_non_null(strstr(last_line, "version 1"));
	assert_non_null(strstr(last_line, "10.0.0.2:1023"));
}

/* Everything that a HELLO must not say. */
static void acceptor_bad_hello_is_closed(void **state)
{
	static const struct {
		const char *ba_what;
		size_t      ba_at;
		size_t      ba_nr;
		uint8_t     ba_bytes[8];
	} bads[] = {
		{ "magic", 0, 4, { 1, 2, 3, 4 } },
		{ "source any",
		  8,
		  8,
		  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
		{ "source that cannot be", 8, 8, { 1, 0, 0, 10, 0, 0, 2, 9 } },
		{ "source of another net", 8, 8, { 2, 0, 0, 10, 1, 0, 2 } },
		{ "source lo", 8, 8, { 0, 0, 0, 0, 0, 0, 9 } },
		{ "our own NID", 8, 8, { 1, 0, 0, 10, 0, 0, 2 } },
		{ "type 4", 48, 4, { 4 } },
		{ "type NONE", 48, 4, { 0xff, 0xff, 0xff, 0xff } },
		{ "17 addresses", 52, 4, { 17 } },
		{ "2^32-1 addresses", 52, 4, { 0xff, 0xff, 0xff, 0xff } },
	};
	struct m0_lnd_ni_info info;
	unsigned              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bads); ++i) {
		struct rig_stream *stream = offer(M0_SOCK_V3, bads[i].ba_at,
						  bads[i].ba_bytes,
						  bads[i].ba_nr);

		if (!stream->rs_hung || rig_unseen(stream) != 0)
			fail_msg("%s", bads[i].ba_what);
		rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &info);
		assert_int_equal(info.ldi_bad_peers_nr, i + 1);
	}
}

/* Fields that no check reads may have any value. */
static void acceptor_unchecked_fields_are_unchecked(void **state)
{
	static const uint8_t junk[8] = { 0xfe, 0xdc, 0xba, 9, 8, 7, 6, 5 };
	struct m0_sock_hello hello;

	(void)state;
	hello = rig_see_hello(&rig, offer(M0_SOCK_V3, 16, junk, 8));
	assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
	rig_again(&rig);
	hello = rig_see_hello(&rig, offer(M0_SOCK_V3, 28, junk, 4));
	assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
	rig_again(&rig);
	hello = rig_see_hello(&rig, offer(M0_SOCK_V3, 40, junk, 8));
	assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
}

/* Obsolete addresses are read and forgotten; one of 0 is an error. */
static void acceptor_addresses_are_skipped(void **state)
{
	uint8_t            buf[256];
	size_t             nr = rig_put_request(buf, &rig_a);
	struct rig_stream *stream = rig_connect(&rig, "10.0.0.2", 1023);

	(void)state;
	nr += rig_put_hello(buf + nr, M0_SOCK_V3, &rig_b, 1, M0_SOCK_CONTROL);
	buf[nr - 4] = 16;
	memset(buf + nr, 0x11, 64);
	nr += 64;
	nr += rig_put_frame(buf + nr, M0_SOCK_FRAME_NOOP, 0, 1);
	assert_int_equal(rig_feed(&rig, stream, buf, nr), nr);
	assert_int_equal(rig_see_hello(&rig, stream).sh_ctype, M0_SOCK_CONTROL);

	stream = rig_connect(&rig, "10.0.0.2", 1023);
	memset(buf + 16 + 56 + 60, 0, 4);
	assert_true(rig_feed(&rig, stream, buf, nr) < 0);
	assert_true(stream->rs_hung);
}

/* We, the higher NID, are connecting: his connection is refused, ours stays. */
static void acceptor_race_higher_nid_refuses(void **state)
{
	struct rig_stream *ours;
	struct rig_stream *his;

	(void)state;
	rig_tx_init(&tx, NULL, 0, 1);
	tx.rt_tx.ltx_nid = rig_low;
	rig_xmit(&rig, &tx);
	ours = rig_dial(&rig);
	assert_non_null(ours);
	his = rig_accept_from(&rig, &rig_low, M0_SOCK_V3, M0_SOCK_CONTROL, 1);
	assert_int_equal(rig_see_hello(&rig, his).sh_ctype, M0_SOCK_NONE);
	assert_false(ours->rs_hung);
	rig_pass(&rig, 100 * M0_TIME_ONE_MSEC);
	assert_true(his->rs_hung);
}

/* We, the lower NID, are connecting: his is accepted, and carries what waits;
 * ours, refused by him, is not missed. */
static void acceptor_race_lower_nid_accepts(void **state)
{
	struct rig_stream *ours;
	struct rig_stream *his;

	(void)state;
	rig_tx_init(&tx, NULL, 0, 1);
	rig_xmit(&rig, &tx);
	ours = rig_dial(&rig);
	(void)rig_dialled(&rig, ours);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig_run(&rig);
	assert_int_equal(tx.rt_done, 1);
	assert_int_equal(tx.rt_status, 0);
	assert_int_equal(rig_unseen(his), RIG_HEAD_V3);
	rig_answer(&rig, ours, M0_SOCK_V3, M0_SOCK_NONE);
	assert_true(ours->rs_hung);
	/* The peer makes the others, too: nothing is left to dial. */
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	rig_pass(&rig, RIG_SECONDS(3));
	assert_null(rig_dial(&rig));
	assert_int_equal(rig.rg_downs_nr, 0);
}

/* A new incarnation ends all connections of the old one, and is asked to come
 * again; the next time it is welcome. */
static void acceptor_reborn_peer_is_told_to_retry(void **state)
{
	struct rig_stream *old[2];
	struct rig_stream *his;

	(void)state;
	old[0] = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	old[1] = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_IN);
	his = rig_accept_from(&rig, &rig_b, M0_SOCK_V3, M0_SOCK_CONTROL, 77);
	assert_int_equal(rig_see_hello(&rig, his).sh_ctype, M0_SOCK_NONE);
	assert_true(old[0]->rs_hung && old[1]->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 1);
	his = rig_accept_from(&rig, &rig_b, M0_SOCK_V3, M0_SOCK_CONTROL, 77);
	assert_int_equal(rig_see_hello(&rig, his).sh_ctype, M0_SOCK_CONTROL);
}

/* A peer whose version has changed must retry, too. */
static void acceptor_other_version_is_told_to_retry(void **state)
{
	struct rig_stream *old = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct rig_stream *his;

	(void)state;
	his = rig_accept_from(&rig, &rig_b, M0_SOCK_V2, M0_SOCK_BULK_IN,
			      RIG_INCARNATION_B);
	assert_int_equal(rig_see_hello(&rig, his).sh_ctype, M0_SOCK_NONE);
	assert_true(old->rs_hung);
}

/* Other pids and other NIDs are other peers. */
static void acceptor_other_peers_are_others(void **state)
{
	struct rig_stream *first =
		rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct rig_stream *other =
		rig_accept_from(&rig, &rig_low, M0_SOCK_V2, M0_SOCK_CONTROL, 5);
	static const uint8_t pid[4] = { 7 };

	(void)state;
	assert_int_equal(rig_see_hello(&rig, other).sh_ctype, M0_SOCK_CONTROL);
	other = offer(M0_SOCK_V3, 24, pid, 4);
	assert_int_equal(rig_see_hello(&rig, other).sh_ctype, M0_SOCK_CONTROL);
	assert_false(first->rs_hung);
	/* Each is sent what is for it. */
	rig_tx_init(&tx, NULL, 0, 1);
	rig_xmit(&rig, &tx);
	rig_run(&rig);
	assert_int_equal(rig_unseen(first), RIG_HEAD_V3);
	assert_int_equal(rig_unseen(other), 0);
	rig_tx_init(&tx, NULL, 0, 1);
	tx.rt_tx.ltx_pid = 7;
	rig_xmit(&rig, &tx);
	rig_run(&rig);
	assert_int_equal(rig_unseen(other), RIG_HEAD_V3);
}

/* Many connections of a type are good, for peers have several; not any number.
 */
static void acceptor_too_many_of_a_type_are_refused(void **state)
{
	unsigned           nr;
	struct rig_stream *his;

	(void)state;
	for (nr = 0;; ++nr) {
		his = rig_accept_from(&rig, &rig_b, M0_SOCK_V3, M0_SOCK_BULK_IN,
				      1);
		if (rig_see_hello(&rig, his).sh_ctype == M0_SOCK_NONE)
			break;
	}
	assert_int_equal(nr, 16);
	his = rig_accept_from(&rig, &rig_b, M0_SOCK_V3, M0_SOCK_BULK_OUT, 1);
	assert_int_equal(rig_see_hello(&rig, his).sh_ctype, M0_SOCK_BULK_IN);
}

/*
 * A second CONTROL connection of the same process is refused, as Lustre 2.17
 * does it; the first one stays, and is asked for a sign of life.
 */
static void acceptor_second_control_is_refused(void **state)
{
	struct rig_stream   *first;
	struct rig_stream   *second;
	struct m0_sock_frame frame;

	(void)state;
	first = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	second = rig_accept_from(&rig, &rig_b, M0_SOCK_V3, M0_SOCK_CONTROL,
				 RIG_INCARNATION_B);
	assert_int_equal(rig_see_hello(&rig, second).sh_ctype, M0_SOCK_NONE);
	rig_pass(&rig, 100 * M0_TIME_ONE_MSEC);
	assert_true(second->rs_hung && !second->rs_reset);
	assert_false(first->rs_hung);
	frame = rig_see_frame(&rig, first);
	assert_int_equal(frame.sfr_type, M0_SOCK_FRAME_NOOP);
	assert_int_equal(frame.sfr_cookie[0], 0);
	assert_int_equal(frame.sfr_cookie[1], 1);
	/* The peer had lost it: its system says so, and the next is accepted. */
	rig.rg_io.sts_up->stu_broken(first->rs_conn, -ECONNRESET);
	rig_run(&rig);
	(void)rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
}

/* The general magic is answered when its four bytes are there, another one ends
 * the connection then. */
static void acceptor_magic_is_looked_at_alone(void **state)
{
	static const uint8_t refusal[16] = { 0x00, 0x71, 0xce, 0xac, 1 };
	struct rig_stream   *stream = rig_connect(&rig, "10.0.0.2", 1023);

	(void)state;
	assert_int_equal(rig_feed(&rig, stream, strangers[0].st_bytes, 3), 3);
	rig_run(&rig);
	assert_int_equal(rig_unseen(stream), 0);
	assert_int_equal(rig_feed(&rig, stream, strangers[0].st_bytes + 3, 1),
			 1);
	rig_run(&rig);
	assert_memory_equal(rig_see(&rig, stream, 16), refusal, 16);
	rig_pass(&rig, 100 * M0_TIME_ONE_MSEC);
	assert_true(stream->rs_hung && !stream->rs_reset);
	stream = rig_connect(&rig, "10.0.0.2", 1023);
	assert_true(rig_feed(&rig, stream, "GET ", 4) < 0);
	assert_true(stream->rs_hung && stream->rs_reset);
}

/* A peer that breaks the protocol, or says nothing, is reset; others, and an
 * end of ours, see the end of the stream. */
static void hostile_peer_alone_is_reset(void **state)
{
	struct rig_stream *his[3];
	struct rig_stream *silent;
	unsigned           i;

	(void)state;
	for (i = 0; i < 3; ++i)
		his[i] = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL + i);
	silent = rig_connect(&rig, "10.0.0.3", 1023);
	/* No frame begins so: all connections of that peer end. */
	(void)rig_feed(&rig, his[1], strangers[0].st_bytes, 8);
	(void)rig_feed(&rig, his[1], (uint8_t[16]){ 0 }, 16);
	rig_run(&rig);
	for (i = 0; i < 3; ++i) {
		assert_true(his[i]->rs_hung);
		assert_int_equal(his[i]->rs_reset, i == 1);
	}
	rig_pass(&rig, RIG_SECONDS(6));
	assert_true(silent->rs_hung && silent->rs_reset);
	his[0] = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	rig_fini(&rig);
	assert_true(his[0]->rs_hung && !his[0]->rs_reset);
	rig_init(&rig);
}

/* Large NIDs: request of version 2, HELLO of version 4. */
static void acceptor_ipv6_is_accepted(void **state)
{
	struct rig_stream   *his;
	struct m0_sock_hello hello;

	(void)state;
	again();
	rig_start(&rig, &rig_a6);
	his = rig_accept_from(&rig, &rig_b6, M0_SOCK_V4, M0_SOCK_CONTROL, 1);
	hello = rig_see_hello(&rig, his);
	assert_int_equal(hello.sh_version, M0_SOCK_V4);
	assert_true(m0_lnet_nid_eq(&hello.sh_src_nid, &rig_a6));
	/* An unknown version is answered in V4 here. */
	his = rig_connect(&rig, "2001:db8::2", 1023);
	{
		uint8_t buf[64];
		size_t  nr = rig_put_request(buf, &rig_a6);

		memcpy(buf + nr, "cirE\x09\0\0\0", 8);
		(void)rig_feed(&rig, his, buf, nr + 8);
	}
	hello = rig_see_hello(&rig, his);
	assert_int_equal(hello.sh_version, M0_SOCK_V4);
	assert_int_equal(hello.sh_ctype, M0_SOCK_NONE);
}

/* A peer that reads its refusal slowly has its time; not for ever. */
static void acceptor_refusal_lingers_until_it_is_read(void **state)
{
	struct rig_stream *his = rig_connect(&rig, "10.0.0.2", 1023);

	(void)state;
	his->rs_unsent = 16;
	(void)rig_feed(&rig, his, strangers[0].st_bytes, 8);
	rig_pass(&rig, RIG_SECONDS(1));
	assert_false(his->rs_hung);
	/* The driver ignores bytes that arrive meanwhile. */
	assert_int_equal(rig_feed(&rig, his, "ciERxxxx", 8), 8);
	rig_pass(&rig, RIG_SECONDS(5));
	assert_true(his->rs_hung);
}

/* Peers cannot fill the log. */
static void log_is_bounded(void **state)
{
	unsigned i;

	(void)state;
	lines_nr = 0;
	m0_log_set(line_keep, NULL);
	for (i = 0; i < 100; ++i)
		assert_null(rig_connect(&rig, "10.0.0.2", 2000));
	assert_int_equal(lines_nr, 20);
	/* One more for each second that passes. */
	rig_pass(&rig, RIG_SECONDS(5));
	for (i = 0; i < 20; ++i)
		assert_null(rig_connect(&rig, "10.0.0.2", 2000));
	assert_int_equal(lines_nr, 25);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(acceptor_hello_answers_as_worked_example),
		CASE(acceptor_types_are_inverted),
		CASE(acceptor_version_is_adopted),
		CASE(acceptor_swapped_peer_is_understood),
		CASE(acceptor_stranger_is_sent_off),
		CASE(acceptor_insecure_port_is_refused),
		CASE(acceptor_none_does_not_listen),
		CASE(acceptor_slow_hello_is_closed),
		CASE(acceptor_bounds_hold),
		CASE(acceptor_bounds_are_those_of_the_streams),
		CASE(acceptor_address_has_a_share),
		CASE(acceptor_share_is_enough_for_one),
		CASE(acceptor_unknown_version_is_answered_none),
		CASE(acceptor_v1_is_refused_by_name),
		CASE(acceptor_bad_hello_is_closed),
		CASE(acceptor_unchecked_fields_are_unchecked),
		CASE(acceptor_addresses_are_skipped),
		CASE(acceptor_race_higher_nid_refuses),
		CASE(acceptor_race_lower_nid_accepts),
		CASE(acceptor_reborn_peer_is_told_to_retry),
		CASE(acceptor_other_version_is_told_to_retry),
		CASE(acceptor_other_peers_are_others),
		CASE(acceptor_too_many_of_a_type_are_refused),
		CASE(acceptor_second_control_is_refused),
		CASE(acceptor_magic_is_looked_at_alone),
		CASE(hostile_peer_alone_is_reset),
		CASE(acceptor_ipv6_is_accepted),
		CASE(acceptor_refusal_lingers_until_it_is_read),
		CASE(log_is_bounded),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

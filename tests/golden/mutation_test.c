/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Recorded bytes, changed at random, through every decoder: nothing they say
 * makes one read beyond them (the sanitizer sees), fail an assertion, or find
 * what its own encoder would not say.
 *	mutation_test DIRECTORY
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rand.h"
#include "golden/golden.h"

enum {
	ROUNDS = 100000,
	/** Payload beyond this is of no interest to a decoder. */
	BYTES_MAX = 512
};

static struct dialogue_msg *msgs;
static size_t               msgs_nr;

static void msgs_collect(void)
{
	struct golden_file  *file;
	struct dialogue     *dlg;
	struct dialogue_msg *msg;

	golden_for_each_dialogue(file, dlg) msgs_nr += dlg->dl_msgs_nr;
	msgs = calloc(msgs_nr, sizeof *msgs);
	M0_ASSERT(msgs != NULL);
	msgs_nr = 0;
	golden_for_each_msg(file, dlg, msg) msgs[msgs_nr++] = *msg;
}

/** Changes up to four places: a bit, a byte, a word of ones or of zeroes. */
static void mutate(uint64_t *seed, uint8_t *bytes, size_t nr)
{
	uint64_t changes = 1 + m0_rnd(4, seed);
	size_t   at;

	for (; changes > 0; --changes) {
		at = m0_rnd(nr, seed);
		switch (m0_rnd(4, seed)) {
		case 0:
			bytes[at] ^= (uint8_t)(1U << m0_rnd(8, seed));
			break;
		case 1:
			bytes[at] = (uint8_t)m0_rnd(256, seed);
			break;
		default:
			at &= ~(size_t)3;
			memset(bytes + at, m0_rnd(2, seed) == 0 ? 0 : 0xff,
			       min_check(nr - at, (size_t)4));
			break;
		}
	}
}

/** A HELLO that decodes is encoded to what decodes to the same. */
static void hello_try(const uint8_t *bytes, size_t nr)
{
	struct m0_sock_hello hello;
	struct m0_sock_hello again;
	uint8_t              buf[M0_SOCK_HELLO_BYTES_MAX];
	int                  want;

	want = nr < M0_SOCK_HEAD_BYTES ? -1 : m0_sock__hello_bytes(bytes);
	if (want < 0 || nr < (size_t)want ||
	    m0_sock__hello_decode(&hello, bytes) != 0)
		return;
	assert_int_equal(m0_sock__hello_encode(&hello, buf), want);
	assert_int_equal(m0_sock__hello_decode(&again, buf), 0);
	assert_true(m0_lnet_nid_eq(&hello.sh_src_nid, &again.sh_src_nid));
	assert_true(m0_lnet_nid_eq(&hello.sh_dst_nid, &again.sh_dst_nid));
	assert_int_equal(hello.sh_ctype, again.sh_ctype);
	assert_int_equal(hello.sh_ips_nr, again.sh_ips_nr);
	assert_true(hello.sh_ips_nr <= M0_SOCK_HELLO_IPS_MAX);
}

static void request_try(const uint8_t *bytes, size_t nr)
{
	struct m0_sock_request req;
	struct m0_sock_request again;
	uint8_t                buf[M0_SOCK_REQUEST_BYTES_MAX];
	int                    want;

	want = nr < M0_SOCK_HEAD_BYTES ? -1 : m0_sock__request_bytes(bytes);
	if (want < 0 || nr < (size_t)want ||
	    m0_sock__request_decode(&req, bytes) != 0)
		return;
	(void)m0_sock__request_encode(&req, buf);
	assert_int_equal(m0_sock__request_decode(&again, buf), 0);
	assert_true(m0_lnet_nid_eq(&req.sr_nid, &again.sr_nid));
}

static void ping_try(const uint8_t *bytes, size_t nr)
{
	struct m0_lnet_ping_ni   nis[4];
	struct m0_lnet_ping_info info = { .lpi_nis = nis,
					  .lpi_nis_max = ARRAY_SIZE(nis) };
	uint8_t                  buf[BYTES_MAX];

	if (m0_lnet__ping_decode(&info, bytes, nr) != 0)
		return;
	assert_true(info.lpi_nis_nr <= M0_LNET_PING_NIS_MAX);
	assert_true(info.lpi_bytes <= M0_LNET_PING_BYTES_MAX);
	assert_true(info.lpi_truncated == (nr < info.lpi_bytes));
	info.lpi_nis_nr = min_check(info.lpi_nis_nr, info.lpi_nis_max);
	assert_int_equal(m0_lnet__ping_encode(&info, buf, sizeof buf),
			 m0_lnet__ping_size(&info));
}

static void hdr_try(const uint8_t *bytes, size_t nr, bool large)
{
	struct m0_lnet_hdr hdr;
	uint8_t            buf[M0_LNET_HDR_LARGE_BYTES];
	char               text[M0_LNET_NIDSTR_SIZE];
	size_t want = large ? M0_LNET_HDR_LARGE_BYTES : M0_LNET_HDR_BYTES;

	if (nr < want || m0_lnet__hdr_decode(&hdr, large, bytes) != 0)
		return;
	assert_int_equal(m0_lnet__hdr_encode(&hdr, large, buf), want);
	assert_true(strlen(m0_lnet_nid_print(&hdr.lhd_src_nid, text,
					     sizeof text)) < sizeof text);
}

static void frame_try(const uint8_t *bytes, size_t nr, bool swapped)
{
	struct m0_sock_frame frame;
	uint64_t             ranges[2][2];
	int                  i;

	if (nr < M0_SOCK_FRAME_BYTES ||
	    m0_sock__frame_decode(&frame, swapped, bytes) != 0)
		return;
	for (i = m0_sock__frame_acks(&frame, ranges); i > 0; --i) {
		assert_true(ranges[i - 1][0] <= ranges[i - 1][1]);
		assert_true(ranges[i - 1][0] > 1);
	}
}

/** All decoders, wherever in a message the bytes are from. */
static void decoders_try(const uint8_t *bytes, size_t nr)
{
	request_try(bytes, nr);
	hello_try(bytes, nr);
	frame_try(bytes, nr, false);
	frame_try(bytes, nr, true);
	hdr_try(bytes, nr, false);
	hdr_try(bytes, nr, true);
	ping_try(bytes, nr);
}

/** A part of a message: all of it, its header, its payload, or from anywhere.
 */
static size_t part_choose(uint64_t *seed, const struct dialogue_msg *msg)
{
	switch (m0_rnd(4, seed)) {
	case 0:
		return m0_rnd(msg->dm_nr, seed);
	case 1:
		return 0;
	case 2:
		return msg->dm_hdr_bytes != NULL
			       ? (size_t)(msg->dm_hdr_bytes - msg->dm_bytes)
			       : 0;
	default:
		return msg->dm_hdr.lhd_payload_bytes > 0
			       ? (size_t)(msg->dm_payload - msg->dm_bytes)
			       : 0;
	}
}

/* Bytes on a heap of their own: a read past them is seen. */
static void decoders_given_mutations_stay_within_them(void **state)
{
	uint64_t                   seed = 20;
	const struct dialogue_msg *msg;
	uint8_t                   *bytes;
	size_t                     at;
	size_t                     nr;
	unsigned                   i;

	(void)state;
	for (i = 0; i < ROUNDS; ++i) {
		msg = &msgs[m0_rnd(msgs_nr, &seed)];
		at = part_choose(&seed, msg);
		nr = min_check(msg->dm_nr - at, (size_t)BYTES_MAX);
		/* One in four is cut. */
		if (m0_rnd(4, &seed) == 0)
			nr = 1 + m0_rnd(nr, &seed);
		bytes = malloc(nr);
		assert_non_null(bytes);
		memcpy(bytes, msg->dm_bytes + at, nr);
		mutate(&seed, bytes, nr);
		decoders_try(bytes, nr);
		free(bytes);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoders_given_mutations_stay_within_them),
	};
	const char *wrong = golden_load(argc == 2 ? argv[1] : ".");
	int         rc;

	if (wrong != NULL) {
		fprintf(stderr, "mutation: %s\n", wrong);
		return 1;
	}
	msgs_collect();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	free(msgs);
	golden_free();
	return rc;
}

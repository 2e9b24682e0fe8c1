/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every field of what a peer says, out of its range: one change to a whole and
 * harmless word, and what the node does about it. Each in the simulator and on
 * sockets.
 */
#include "lnet/speech.h"

enum {
	WHO = PLACE_WHO_MIN,
	SOON_MS = 1000,
	PAYLOAD_BYTES = 16,
	INCARNATION = 77
};

/** What is changed. */
enum word {
	REQUEST,
	REQUEST_LARGE,
	HELLO_V1,
	HELLO_V2,
	HELLO_V3,
	HELLO_V4,
	/** After a good HELLO of V3 (or of V4). */
	NOOP,
	PUT,
	GET,
	PING,
	PUSH,
	REPLY,
	ACK,
	NOOP_V2,
	PUT_V4,
	PING_V4
};

/** What the node does. */
enum does {
	/** Closes, and says nothing. */
	CLOSES,
	/** Says which requests it knows, then closes. */
	REFUSES_REQUEST,
	/** Says HELLO of type NONE, then closes. */
	REFUSES_HELLO,
	/** Nothing: the connection is as good as before. */
	STAYS
};

/** Which counter tells. */
enum counts {
	NOTHING,
	BAD_PEER,
	REFUSED,
	PROTO,
	NO_MATCH,
	NOT_OURS,
	STALE
};

/** `nr` bytes of a number, little endian, put at `at`. */
struct patch {
	unsigned pa_at;
	unsigned pa_nr;
	uint64_t pa_value;
};

struct row {
	const char  *r_name;
	enum word    r_word;
	struct patch r_patch[2];
	enum does    r_does;
	enum counts  r_counts;
};

#define NID4(type, num, a, b, c, d)                                       \
	((uint64_t)(type) << 48 | (uint64_t)(num) << 32 |                 \
	 (uint64_t)(a) << 24 | (uint64_t)(b) << 16 | (uint64_t)(c) << 8 | \
	 (uint64_t)(d))
#define TCP_NID NID4(2, 0, 99, 0, 0, 1)

/* Offsets. */
enum {
	R_MAGIC = 0,
	R_VERSION = 4,
	R_NID = 8,
	H_MAGIC = 0,
	H_VERSION = 4,
	H_SRC_NID = 8,
	H_DST_NID = 16,
	H_SRC_PID = 24,
	H_DST_PID = 28,
	H_CTYPE = 48,
	H_IPS_NR = 52,
	H4_SRC_NID = 8,
	H4_DST_NID = 28,
	H4_CTYPE = 72,
	H4_IPS_NR = 76,
	F_TYPE = 0,
	F_CSUM = 4,
	F_COOKIE0 = 8,
	F_COOKIE1 = 16,
	M_DEST_NID = 24,
	M_SRC_NID = 32,
	M_DEST_PID = 40,
	M_SRC_PID = 44,
	M_TYPE = 48,
	M_BYTES = 52,
	M_WMD = 56,
	M_PUT_PORTAL = 88,
	M_PUT_OFFSET = 92,
	M_GET_PORTAL = 80,
	M_GET_OFFSET = 84,
	M_GET_SINK = 88,
	M4_DEST_NID = 24,
	M4_SRC_NID = 44,
	M4_TYPE = 72,
	M4_BYTES = 76,
	M_PAYLOAD = 96
};

static const struct row rows[] = {
	{ "request, as it should be", REQUEST, {}, STAYS, NOTHING },
	{ "request, large, of a small NID", REQUEST_LARGE, {}, STAYS, NOTHING },
	{ "request, general magic",
	  REQUEST,
	  { { R_MAGIC, 4, 0x45726963 } },
	  REFUSES_REQUEST,
	  NOTHING },
	{ "request, magic of V1",
	  REQUEST,
	  { { R_MAGIC, 4, 0xeebc0ded } },
	  CLOSES,
	  NOTHING },
	{ "request, magic 0", REQUEST, { { R_MAGIC, 4, 0 } }, CLOSES, NOTHING },
	{ "request, magic of ones",
	  REQUEST,
	  { { R_MAGIC, 4, 0xffffffff } },
	  CLOSES,
	  NOTHING },
	{ "request, TLS",
	  REQUEST,
	  { { R_MAGIC, 4, 0x00010316 } },
	  CLOSES,
	  NOTHING },
	{ "request, HTTP",
	  REQUEST,
	  { { R_MAGIC, 8, 0x482f202f20544547 } },
	  CLOSES,
	  NOTHING },
	{ "request, version 0",
	  REQUEST,
	  { { R_VERSION, 4, 0 } },
	  REFUSES_REQUEST,
	  NOTHING },
	{ "request, version 3",
	  REQUEST,
	  { { R_VERSION, 4, 3 } },
	  REFUSES_REQUEST,
	  NOTHING },
	{ "request, version of ones",
	  REQUEST,
	  { { R_VERSION, 4, 0xffffffff } },
	  REFUSES_REQUEST,
	  NOTHING },
	{ "request, another address",
	  REQUEST,
	  { { R_NID, 8, TCP_NID } },
	  CLOSES,
	  NOTHING },
	{ "request, 0@lo",
	  REQUEST,
	  { { R_NID, 8, NID4(9, 0, 0, 0, 0, 0) } },
	  CLOSES,
	  NOTHING },
	{ "request, ANY",
	  REQUEST,
	  { { R_NID, 8, UINT64_MAX } },
	  CLOSES,
	  NOTHING },
	{ "request, NID 0", REQUEST, { { R_NID, 8, 0 } }, CLOSES, NOTHING },
	{ "request, a size in a small NID",
	  REQUEST,
	  { { R_NID + 7, 1, 12 } },
	  CLOSES,
	  NOTHING },
	{ "request, network type",
	  REQUEST,
	  { { R_NID + 6, 1, 5 } },
	  CLOSES,
	  NOTHING },
	{ "request, network number",
	  REQUEST,
	  { { R_NID + 4, 2, 7 } },
	  CLOSES,
	  NOTHING },
	{ "request, large, size 13",
	  REQUEST_LARGE,
	  { { R_NID, 1, 13 } },
	  CLOSES,
	  NOTHING },
	{ "request, large, size 255",
	  REQUEST_LARGE,
	  { { R_NID, 1, 255 } },
	  CLOSES,
	  NOTHING },
	{ "request, large, type ANY",
	  REQUEST_LARGE,
	  { { R_NID + 1, 1, 255 } },
	  CLOSES,
	  NOTHING },
	{ "request, large, tail",
	  REQUEST_LARGE,
	  { { R_NID + 12, 1, 1 } },
	  CLOSES,
	  NOTHING },

	{ "HELLO V1, which is too old", HELLO_V1, {}, CLOSES, BAD_PEER },
	{ "HELLO V2, as it should be", HELLO_V2, {}, STAYS, NOTHING },
	{ "HELLO V3, as it should be", HELLO_V3, {}, STAYS, NOTHING },
	{ "HELLO V4, as it should be", HELLO_V4, {}, STAYS, NOTHING },
	{ "HELLO, magic of requests",
	  HELLO_V3,
	  { { H_MAGIC, 4, 0xacce7100 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO, magic 0", HELLO_V3, { { H_MAGIC, 4, 0 } }, CLOSES, BAD_PEER },
	{ "HELLO, magic of pings",
	  HELLO_V3,
	  { { H_MAGIC, 4, 0x70696e67 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO, version 0",
	  HELLO_V3,
	  { { H_VERSION, 4, 0 } },
	  REFUSES_HELLO,
	  REFUSED },
	{ "HELLO, version 5",
	  HELLO_V3,
	  { { H_VERSION, 4, 5 } },
	  REFUSES_HELLO,
	  REFUSED },
	{ "HELLO, version of ones",
	  HELLO_V3,
	  { { H_VERSION, 4, 0xffffffff } },
	  REFUSES_HELLO,
	  REFUSED },
	{ "HELLO, source ANY",
	  HELLO_V3,
	  { { H_SRC_NID, 8, UINT64_MAX } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO, source with a size",
	  HELLO_V3,
	  { { H_SRC_NID + 7, 1, 3 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO, destination ANY",
	  HELLO_V3,
	  { { H_DST_NID, 8, UINT64_MAX } },
	  STAYS,
	  NOTHING },
	{ "HELLO, destination nonsense",
	  HELLO_V3,
	  { { H_DST_NID, 8, 0x1234567890abcdef } },
	  STAYS,
	  NOTHING },
	{ "HELLO, destination pid",
	  HELLO_V3,
	  { { H_DST_PID, 4, 0xffffffff } },
	  STAYS,
	  NOTHING },
	{ "HELLO, type 4", HELLO_V3, { { H_CTYPE, 4, 4 } }, CLOSES, BAD_PEER },
	{ "HELLO, type 9", HELLO_V3, { { H_CTYPE, 4, 9 } }, CLOSES, BAD_PEER },
	{ "HELLO, type NONE",
	  HELLO_V3,
	  { { H_CTYPE, 4, 0xffffffff } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO, 17 addresses",
	  HELLO_V3,
	  { { H_IPS_NR, 4, 17 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO, addresses without end",
	  HELLO_V3,
	  { { H_IPS_NR, 4, 0xffffffff } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO, address 0",
	  HELLO_V3,
	  { { H_IPS_NR, 4, 1 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO V4, source size",
	  HELLO_V4,
	  { { H4_SRC_NID, 1, 13 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO V4, source ANY",
	  HELLO_V4,
	  { { H4_SRC_NID + 1, 1, 255 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO V4, source tail",
	  HELLO_V4,
	  { { H4_SRC_NID + 19, 1, 1 } },
	  CLOSES,
	  BAD_PEER },
	{ "HELLO V4, destination size",
	  HELLO_V4,
	  { { H4_DST_NID, 1, 200 } },
	  STAYS,
	  NOTHING },
	{ "HELLO V4, type 4",
	  HELLO_V4,
	  { { H4_CTYPE, 4, 4 } },
	  CLOSES,
	  BAD_PEER },

	{ "NOOP of nothing", NOOP, {}, STAYS, NOTHING },
	{ "NOOP, keep-alive", NOOP, { { F_COOKIE1, 8, 1 } }, STAYS, NOTHING },
	{ "NOOP, keep-alive with another cookie",
	  NOOP,
	  { { F_COOKIE0, 8, 5 }, { F_COOKIE1, 8, 1 } },
	  CLOSES,
	  BAD_PEER },
	{ "NOOP, acknowledges what was not asked",
	  NOOP,
	  { { F_COOKIE1, 8, 2 } },
	  CLOSES,
	  BAD_PEER },
	{ "NOOP, a range without end",
	  NOOP,
	  { { F_COOKIE0, 8, 2 }, { F_COOKIE1, 8, UINT64_MAX } },
	  CLOSES,
	  BAD_PEER },
	{ "NOOP, two cookies",
	  NOOP,
	  { { F_COOKIE0, 8, 9 }, { F_COOKIE1, 8, 3 } },
	  CLOSES,
	  BAD_PEER },
	{ "frame, type 0", NOOP, { { F_TYPE, 4, 0 } }, CLOSES, BAD_PEER },
	{ "frame, type 0xbf", NOOP, { { F_TYPE, 4, 0xbf } }, CLOSES, BAD_PEER },
	{ "frame, type 0xc2", NOOP, { { F_TYPE, 4, 0xc2 } }, CLOSES, BAD_PEER },
	{ "frame, type of ones",
	  NOOP,
	  { { F_TYPE, 4, 0xffffffff } },
	  CLOSES,
	  BAD_PEER },
	{ "NOOP, a checksum", NOOP, { { F_CSUM, 4, 1 } }, CLOSES, BAD_PEER },
	{ "PUT, a checksum", PUT, { { F_CSUM, 4, 7 } }, CLOSES, BAD_PEER },
	{ "NOOP V2, wrong checksum",
	  NOOP_V2,
	  { { F_CSUM, 4, 1 } },
	  CLOSES,
	  BAD_PEER },
	{ "PUT, acknowledges what was not asked",
	  PUT,
	  { { F_COOKIE1, 8, 7 } },
	  CLOSES,
	  BAD_PEER },

	{ "PUT that matches nothing", PUT, {}, STAYS, NO_MATCH },
	{ "PUT V4 that matches nothing", PUT_V4, {}, STAYS, NO_MATCH },
	{ "type HELLO", PUT, { { M_TYPE, 4, 4 } }, CLOSES, PROTO },
	{ "type 5", PUT, { { M_TYPE, 4, 5 } }, CLOSES, PROTO },
	{ "type of ones", PUT, { { M_TYPE, 4, 0xffffffff } }, CLOSES, PROTO },
	{ "PUT, 1 MiB and 1",
	  PUT,
	  { { M_BYTES, 4, 0x100001 } },
	  CLOSES,
	  PROTO },
	{ "PUT, 2 GiB", PUT, { { M_BYTES, 4, 0x80000000 } }, CLOSES, PROTO },
	{ "PUT, bytes of ones",
	  PUT,
	  { { M_BYTES, 4, 0xffffffff } },
	  CLOSES,
	  PROTO },
	{ "PUT V4, bytes of ones",
	  PUT_V4,
	  { { M4_BYTES, 4, 0xffffffff } },
	  CLOSES,
	  PROTO },
	{ "PUT V4, type 5", PUT_V4, { { M4_TYPE, 4, 5 } }, CLOSES, PROTO },
	{ "PUT V4, destination size",
	  PUT_V4,
	  { { M4_DEST_NID, 1, 13 } },
	  CLOSES,
	  PROTO },
	{ "PUT V4, source size",
	  PUT_V4,
	  { { M4_SRC_NID, 1, 255 } },
	  CLOSES,
	  PROTO },
	{ "REPLY, 1 MiB and 1",
	  REPLY,
	  { { M_BYTES, 4, 0x100001 } },
	  CLOSES,
	  PROTO },
	{ "ACK with payload", ACK, { { M_BYTES, 4, 1 } }, CLOSES, PROTO },
	{ "GET with payload", GET, { { M_BYTES, 4, 1 } }, CLOSES, PROTO },
	{ "another address of the network",
	  PUT,
	  { { M_DEST_NID, 8, TCP_NID } },
	  CLOSES,
	  PROTO },
	{ "another NID of ours",
	  PUT,
	  { { M_DEST_NID + 4, 2, 1 } },
	  CLOSES,
	  PROTO },
	{ "0@lo",
	  PUT,
	  { { M_DEST_NID, 8, NID4(9, 0, 0, 0, 0, 0) } },
	  CLOSES,
	  PROTO },
	{ "another network",
	  PUT,
	  { { M_DEST_NID + 4, 2, 8 } },
	  STAYS,
	  NOT_OURS },
	{ "another type of network",
	  PUT,
	  { { M_DEST_NID + 6, 1, 5 } },
	  STAYS,
	  NOT_OURS },
	{ "destination with a size",
	  PUT,
	  { { M_DEST_NID + 7, 1, 1 } },
	  CLOSES,
	  PROTO },
	{ "source with a size",
	  PUT,
	  { { M_SRC_NID + 7, 1, 1 } },
	  CLOSES,
	  PROTO },
	{ "destination pid", PING, { { M_DEST_PID, 4, 7 } }, STAYS, NOTHING },
	{ "PUT, source of another network",
	  PUT,
	  { { M_SRC_NID + 4, 2, 3 } },
	  STAYS,
	  NO_MATCH },
	{ "PUT, portal 64", PUT, { { M_PUT_PORTAL, 4, 64 } }, STAYS, NO_MATCH },
	{ "PUT, portal of ones",
	  PUT,
	  { { M_PUT_PORTAL, 4, 0xffffffff } },
	  STAYS,
	  NO_MATCH },
	{ "GET that matches nothing", GET, {}, STAYS, NO_MATCH },
	{ "GET, portal 64", GET, { { M_GET_PORTAL, 4, 64 } }, STAYS, NO_MATCH },
	{ "GET, portal of ones",
	  GET,
	  { { M_GET_PORTAL, 4, 0xffffffff } },
	  STAYS,
	  NO_MATCH },
	{ "ping, offset of ones",
	  PING,
	  { { M_GET_OFFSET, 4, 0xffffffff } },
	  STAYS,
	  NOTHING },
	{ "ping, sink 0", PING, { { M_GET_SINK, 4, 0 } }, STAYS, NOTHING },
	{ "ping, sink of ones",
	  PING,
	  { { M_GET_SINK, 4, 0xffffffff } },
	  STAYS,
	  NOTHING },
	{ "ping V4, as it should be", PING_V4, {}, STAYS, NOTHING },
	{ "push, no ping information", PUSH, {}, STAYS, NOTHING },
	{ "push, entries without end",
	  PUSH,
	  { { M_PAYLOAD, 8, 0x1e70696e67 }, { M_PAYLOAD + 12, 4, 0xffffffff } },
	  STAYS,
	  NOTHING },
	{ "push, no entry",
	  PUSH,
	  { { M_PAYLOAD, 8, 0x1e70696e67 }, { M_PAYLOAD + 12, 4, 0 } },
	  STAYS,
	  NOTHING },
	{ "push, more entries than bytes",
	  PUSH,
	  { { M_PAYLOAD, 8, 0x1e70696e67 }, { M_PAYLOAD + 12, 4, 200 } },
	  STAYS,
	  NOTHING },
	{ "REPLY to nothing", REPLY, {}, STAYS, STALE },
	{ "REPLY to no handle",
	  REPLY,
	  { { M_WMD, 8, UINT64_MAX }, { M_WMD + 8, 8, UINT64_MAX } },
	  STAYS,
	  STALE },
	{ "ACK of nothing", ACK, {}, STAYS, STALE },
};

static enum place_kind kind;

/* The word with its harmless values. */
static void word_make(struct speech *speech, const struct place *place,
		      enum word word)
{
	static const uint8_t payload[PAYLOAD_BYTES] = { 1, 2, 3 };
	struct m0_lnet_hdr   hdr;

	switch (word) {
	case REQUEST:
		speech_request(speech, &place->pl_nid);
		return;
	case REQUEST_LARGE:
		memcpy(speech->sp_bytes,
		       (uint32_t[2]){ M0_SOCK_MAGIC_ACCEPTOR, 2 }, 8);
		m0_lnet_nid_encode(&place->pl_nid, speech->sp_bytes + 8);
		speech->sp_nr = M0_SOCK_REQUEST_V2_BYTES;
		return;
	case HELLO_V1:
	case HELLO_V2:
	case HELLO_V3:
	case HELLO_V4:
		speech_hello(speech, place, WHO, word - HELLO_V1 + 1,
			     M0_SOCK_CONTROL, INCARNATION);
		return;
	case NOOP:
	case NOOP_V2:
		speech_noop(speech, 0, 0);
		return;
	default:
		break;
	}
	hdr = speech_hdr(place, WHO,
			 word == GET || word == PING || word == PING_V4
				 ? M0_LNET_GET
			 : word == REPLY ? M0_LNET_REPLY
			 : word == ACK   ? M0_LNET_ACK
					 : M0_LNET_PUT);
	if (word == PING || word == PING_V4 || word == PUSH) {
		hdr.lh_portal = 0;
		hdr.lh_match_bits = SPEECH_PING_BITS;
		hdr.lh_length = M0_LNET_PING_SINK_BYTES;
	}
	if (hdr.lh_type == M0_LNET_PUT || hdr.lh_type == M0_LNET_REPLY)
		hdr.lh_payload_bytes = PAYLOAD_BYTES;
	speech_msg(speech, word == PUT_V4 || word == PING_V4, 0, &hdr);
	memcpy(speech->sp_bytes + speech->sp_nr, payload, hdr.lh_payload_bytes);
	speech->sp_nr += hdr.lh_payload_bytes;
}

static void patch_do(struct speech *speech, const struct patch *patch)
{
	unsigned i;

	assert_true(patch->pa_at + patch->pa_nr <= speech->sp_nr);
	for (i = 0; i < patch->pa_nr; ++i)
		speech->sp_bytes[patch->pa_at + i] =
			(uint8_t)(patch->pa_value >> 8 * i);
}

static uint32_t word_version(enum word word)
{
	switch (word) {
	case HELLO_V2:
	case NOOP_V2:
		return 2;
	case HELLO_V4:
	case PUT_V4:
	case PING_V4:
		return 4;
	default:
		return 3;
	}
}

/* Says all of it, the changed word in its place. */
static struct place_end *row_say(struct place *place, const struct row *row)
{
	struct speech     changed = {};
	struct speech     all = {};
	struct place_end *end;
	unsigned          i;

	word_make(&changed, place, row->r_word);
	for (i = 0; i < ARRAY_SIZE(row->r_patch); ++i)
		patch_do(&changed, &row->r_patch[i]);
	if (row->r_word >= NOOP) {
		end = speech_join(place, WHO, word_version(row->r_word),
				  M0_SOCK_CONTROL, INCARNATION);
		speech_say(end, &changed);
		return end;
	}
	end = place_dial(place, WHO);
	if (row->r_word <= REQUEST_LARGE) {
		speech_say(end, &changed);
		speech_hello(&all, place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	} else {
		speech_request(&all, &place->pl_nid);
		memcpy(all.sp_bytes + all.sp_nr, changed.sp_bytes,
		       changed.sp_nr);
		all.sp_nr += changed.sp_nr;
		/* An address, should one be promised: it is 0. */
		all.sp_nr += row->r_patch[0].pa_at == H_IPS_NR ? 4 : 0;
	}
	speech_say(end, &all);
	return end;
}

static void row_look(struct place *place, const struct row *row,
		     struct place_end *end)
{
	static const uint8_t refusal[M0_SOCK_REQUEST_V1_BYTES] = { 0, 0x71,
								   0xce, 0xac,
								   1 };
	struct m0_sock_hello hello;

	switch (row->r_does) {
	case CLOSES:
		assert_true(place_wait_end(end, SOON_MS));
		assert_int_equal(end->pe_in_nr, end->pe_done);
		break;
	case REFUSES_REQUEST:
		assert_true(place_wait_in(end, sizeof refusal, SOON_MS));
		assert_memory_equal(end->pe_in, refusal, sizeof refusal);
		assert_true(place_wait_end(end, SOON_MS));
		assert_int_equal(end->pe_in_nr, sizeof refusal);
		break;
	case REFUSES_HELLO:
		assert_true(speech_hear_hello(end, &hello, SOON_MS));
		assert_int_equal(hello.sh_ctype, M0_SOCK_NONE);
		assert_int_equal(hello.sh_version, 3);
		assert_true(m0_lnet_nid_eq(&hello.sh_src_nid, &place->pl_nid));
		assert_true(place_wait_end(end, SOON_MS));
		break;
	case STAYS:
		if (row->r_word < NOOP) {
			assert_true(speech_hear_hello(end, &hello, SOON_MS));
			assert_int_equal(hello.sh_version,
					 word_version(row->r_word));
			assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
		}
		assert_true(speech_ping(end));
		assert_false(end->pe_has_ended);
		break;
	}
}

static uint64_t counter(const struct place *place, enum counts counts)
{
	struct m0_lnet_stats  stats = place_stats(place);
	struct m0_lnd_ni_info info = place_lnd_info(place);

	switch (counts) {
	case NOTHING:
		return 0;
	case BAD_PEER:
		return info.lni_bad_peers_nr;
	case REFUSED:
		return info.lni_refused_nr;
	case PROTO:
		return stats.ls_proto_errors;
	case NO_MATCH:
		return stats.ls_drop_no_match;
	case NOT_OURS:
		return stats.ls_drop_not_ours;
	case STALE:
		return stats.ls_drop_stale;
	}
	return 0;
}

static void row_run(struct place *place, const struct row *row)
{
	uint64_t          before = counter(place, row->r_counts);
	struct place_end *end;

	end = row_say(place, row);
	row_look(place, row, end);
	if (row->r_counts != NOTHING)
		assert_int_equal(counter(place, row->r_counts), before + 1);
	place_reset(end);
	place_ping(place);
	/* It is gone before the next one comes under the same name. */
	place_run(place, 5);
}

/* Each row with a fresh connection of the same peer. */
static void field_out_of_range_does_what_the_table_says(void **state)
{
	struct place place;
	unsigned     i;

	kind = *(enum place_kind *)*state;
	place_up(&place, kind, NULL);
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		print_message("  %s\n", rows[i].r_name);
		row_run(&place, &rows[i]);
	}
	place_down(&place);
}

int main(void)
{
	static enum place_kind  kinds[] = { PLACE_SIM, PLACE_SOCKETS };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(
			field_out_of_range_does_what_the_table_says, &kinds[0]),
		cmocka_unit_test_prestate(
			field_out_of_range_does_what_the_table_says, &kinds[1]),
	};

	return cmocka_run_group_tests_name("lnet-hostile-fields", tests, NULL,
					   NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Terms of the rows of hostile_fields_test.c: words of a peer, places of their
 * fields, and reactions of the node.
 */
#ifndef M0_TESTS_LNET_HOSTILE_WORDS_H
#define M0_TESTS_LNET_HOSTILE_WORDS_H

#include <stdint.h>

/** Word that is changed. */
enum word {
	REQUEST,
	REQUEST_LARGE,
	HELLO_V1,
	HELLO_V2,
	HELLO_V3,
	HELLO_V4,
	/** With a small NID. */
	HELLO_V4_SMALL,
	/** After a good HELLO of V3 (or of V4). */
	NOOP,
	PUT,
	GET,
	PING,
	PUSH,
	REPLY,
	ACK,
	NOOP_V2,
	NOOP_V4,
	PUT_V4,
	GET_V4,
	PING_V4,
	PUSH_V4,
	REPLY_V4,
	ACK_V4
};

/** Reaction of the node. */
enum does {
	/** Closes, and says nothing. */
	CLOSES,
	/** Says which requests it knows, then closes. */
	REFUSES_REQUEST,
	/** Says HELLO of type NONE, then closes. */
	REFUSES_HELLO,
	/** Nothing: the connection is as good as before. */
	STAYS,
	/** Accepts it, but what is answered is for somebody else, who has no
	 * connection: another pid, or a type that V3 sends nothing on. */
	STAYS_UNANSWERED
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
	H_SRC_INC = 32,
	H_DST_INC = 40,
	H_CTYPE = 48,
	H_IPS_NR = 52,
	H4_SRC_NID = 8,
	H4_DST_NID = 28,
	H4_SRC_PID = 48,
	H4_DST_PID = 52,
	H4_SRC_INC = 56,
	H4_DST_INC = 64,
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
	M_BITS = 72,
	M_HDR_DATA = 80,
	M_ACK_MLENGTH = 80,
	M_PUT_PORTAL = 88,
	M_PUT_OFFSET = 92,
	M_GET_PORTAL = 80,
	M_GET_OFFSET = 84,
	M_GET_SINK = 88,
	M4_DEST_NID = 24,
	M4_SRC_NID = 44,
	M4_DEST_PID = 64,
	M4_SRC_PID = 68,
	M4_TYPE = 72,
	M4_BYTES = 76,
	M4_WMD = 80,
	M4_BITS = 96,
	M4_HDR_DATA = 104,
	M4_ACK_MLENGTH = 104,
	M4_PUT_PORTAL = 112,
	M4_PUT_OFFSET = 116,
	M4_GET_PORTAL = 104,
	M4_GET_OFFSET = 108,
	M4_GET_SINK = 112,
	M_PAYLOAD = 96,
	M4_PAYLOAD = 120
};

#endif /* M0_TESTS_LNET_HOSTILE_WORDS_H */

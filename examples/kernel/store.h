/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages between the module and its server. They have the byte order of their host,
 * which both must share; a protocol of more than an example would fix one.
 */
#ifndef STORE_H
#define STORE_H

enum store_op {
	/* The server moves its bytes into the buffer of the descriptor. */
	STORE_READ = 1,
	/* The server takes the bytes out of it. */
	STORE_WRITE = 2
};

enum {
	STORE_DESC_MAX = 192,
	STORE_BYTES_MAX = 1 << 20
};

struct store_ask {
	uint64_t a_id;
	uint64_t a_offset;
	uint32_t a_bytes;
	uint32_t a_op;
	uint32_t a_desc_len;
	uint8_t  a_desc[STORE_DESC_MAX];
	uint8_t  a_zero[4];
};

struct store_reply {
	uint64_t r_id;
	/* Bytes that were moved, or a negative errno. */
	int64_t r_result;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The messages by which `colibri perf` and `colibri perf --listen` agree on rows.
 * They go between the client's control machine and the server's; each row has
 * machines of its own, whose messages are no part of this.
 *
 *	client (A)                               server (B)
 *	HELLO                              ->
 *	         <-  HELLO_REPLY(status, flags, reason)
 *	ROW(row, test, size, depth, address of A's machine)
 *	                                   ->  starts B's machine for the row
 *	         <-  ROW_REPLY(row, status, address of B's machine, or reason)
 *	LOOK(row, flags)                   ->  STOP in flags: B begins nothing more
 *	         <-  LOOK_REPLY(row, status, processor time, time, time that
 *	             threads waited for a processor, messages queued and received
 *	             by B's machine, or reason)
 *	...                                    the next ROW ends the one before
 *	BYE(status)                        ->  ends the last one
 *
 * All have the number that HELLO chose at random. Each question has a number,
 * which its answer repeats; it may come again, and the answer is the same or
 * newer. LOOK_REPLY number 0 comes without a question: the row has failed. ALIVE,
 * from either side at any time, says nothing but that.
 *
 * Form, little-endian; what a type does not use is 0:
 *	 0  4  "CBPF"                48  8  processor time of the process, ns
 *	 4  1  version, 2            56  8  time, ns, by the server's clock
 *	 5  1  type                  64  8  messages queued by B
 *	 6  2  reserved, 0           72  8  messages received by B
 *	 8  4  number of the question
 *	12  4  status: 0 or -errno   80  4  length of the text
 *	16  8  conversation, not 0   84  4  reserved, 0
 *	24  4  row                   88  8  time that threads of the process
 *	                                    waited for a processor, ns
 *	28  4  test                  96  -  text
 *	32  8  size
 *	40  4  depth
 *	44  4  flags
 * The first six bytes mean the same in every version: a HELLO of another one is
 * answered by HELLO_REPLY in one's own.
 */
#ifndef M0_TOOLS_PERF_WIRE_H
#define M0_TOOLS_PERF_WIRE_H

#include <stddef.h>

#include "m0/base.h"

enum perf_msg_type {
	PERF_HELLO = 1,
	PERF_HELLO_REPLY,
	PERF_ROW,
	PERF_ROW_REPLY,
	PERF_LOOK,
	PERF_LOOK_REPLY,
	PERF_ALIVE,
	PERF_BYE
};

enum {
	PERF_VERSION = 2,
	PERF_MSG_HEAD_BYTES = 96,
	/** Most of an address or reason. */
	PERF_TEXT_MAX = 512,
	/** LOOK: B begins nothing more. */
	PERF_FLAG_STOP = 1,
	/** HELLO_REPLY: the server's threads spin, its processor time is not
	 * that of work. */
	PERF_FLAG_SPINS = 2
};

struct perf_msg {
	enum perf_msg_type psg_type;
	uint32_t           psg_id;
	int32_t            psg_status;
	uint64_t           psg_conv;
	uint32_t           psg_row;
	uint32_t           psg_test;
	uint64_t           psg_size;
	uint32_t           psg_depth;
	uint32_t           psg_flags;
	uint64_t           psg_cpu_ns;
	uint64_t           psg_wait_ns;
	uint64_t           psg_now_ns;
	uint64_t           psg_queued_nr;
	uint64_t           psg_recv_nr;
	/** Printable. After decode: points into the decoded bytes, no 0 at the
	 * end. */
	const char *psg_text;
	uint32_t    psg_text_nr;
};

/**
 * @return the length of the message.
 * @retval -EMSGSIZE  it does not fit `size` bytes.
 */
int perf_msg_encode(const struct perf_msg *msg, void *bytes, size_t size);
/**
 * Trusts nothing: `ret_msg` is set only if all of it makes sense.
 * @retval -EPROTONOSUPPORT  another version: psg_type (of any value) and
 *                           psg_id (that version) are set, nothing else.
 * @retval -EBADMSG          not such a message.
 */
int perf_msg_decode(struct perf_msg *ret_msg, const void *bytes, size_t nr);

#endif /* M0_TOOLS_PERF_WIRE_H */

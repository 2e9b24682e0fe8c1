/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The messages of `colibri copy`. A copy is a conversation of two machines that
 * share nothing else, and need not trust each other:
 *
 *	sender                                     receiver
 *	OPEN(size, block, inflight, name)      ->  makes a machine for this copy
 *	         <-  OPEN_REPLY(status, block, inflight, address or reason)
 *	BLOCK(id, offset, length, descriptor)  ->  pulls the block, writes it
 *	                 <-  BLOCK_REPLY(id, status)
 *	...                 up to `inflight` blocks at a time
 *	END(length, mode, checksum, status)    ->  verifies, syncs, renames
 *	                 <-  END_REPLY(status, checksum, reason)
 *	BYE                                    ->  ends its wait
 *
 * OPEN goes to the address that the receiver is known by, everything after
 * OPEN_REPLY to the one in it; two machines of one process need neither. All
 * messages of a copy have the number that OPEN chose at random. ALIVE, from
 * either side at any time, says nothing but that, and by a flag that its side
 * is at work on the file and not waiting for the other.
 *
 * A message may be lost. OPEN, BLOCK and END come again until they are answered,
 * and are known as what came before: the answer is the same, and is given again
 * if it was given; a block is pulled and written once. After an END_REPLY BLOCK
 * has that for an answer, too. Answers that come again mean nothing. The loss of
 * BYE costs the receiver a second.
 *
 * END with a status other than 0 calls the copy off: nothing is written at the
 * destination. So does the receiver by an END_REPLY that was not asked for.
 *
 * Form, little-endian:
 *	 0  4  "CBCP"           40 16  checksum, xxh3-128, canonical
 *	 4  1  version, 3       56  4  length of what follows the head
 *	 5  1  type             60  4  reserved, 0
 *	 6  2  reserved, 0      64  8  number of the copy
 *	 8  4  id               72  4  bytes of a block
 *	12  4  status           76  4  blocks in flight
 *	16  4  permission bits  80  -  BLOCK: descriptor; OPEN: name, 0, name of
 *	20  4  flags                   the source; OPEN_REPLY: address, or as in
 *	24  8  offset                  END_REPLY the reason of a failure
 *	32  8  length
 * Status: 0, or a negative error number of Linux. The first six bytes mean the
 * same in every version: an OPEN of another one is answered by OPEN_REPLY with
 * -EPROTONOSUPPORT in one's own.
 */
#ifndef M0_TOOLS_COPY_WIRE_H
#define M0_TOOLS_COPY_WIRE_H

#include "m0/net.h"

#include "../base/hash.h"

enum copy_msg_type {
	COPY_BLOCK = 1,
	COPY_BLOCK_REPLY,
	COPY_END,
	COPY_END_REPLY,
	COPY_OPEN,
	COPY_OPEN_REPLY,
	COPY_ALIVE,
	COPY_BYE
};

enum {
	COPY_VERSION = 3,
	COPY_MSG_HEAD_BYTES = 80,
	/** Bytes that all versions have in common. */
	COPY_MSG_VERSION_BYTES = 6,
	/** Most of a name, address or reason. */
	COPY_TEXT_MAX = 1200,
	COPY_INFLIGHT_MAX = 256,
	/** END_REPLY: the destination was read back and gave cm_sum. */
	COPY_FLAG_VERIFIED = 1,
	/** ALIVE: at work on the file. */
	COPY_FLAG_BUSY = 2
};

struct copy_msg {
	enum copy_msg_type cm_type;
	uint32_t           cm_id;
	int32_t            cm_status;
	uint32_t           cm_mode;
	uint32_t           cm_flags;
	uint64_t           cm_offset;
	uint64_t           cm_length;
	uint8_t            cm_sum[HASH_BYTES];
	uint64_t           cm_conv;
	uint32_t           cm_block;
	uint32_t           cm_inflight;
	/** BLOCK only. After decode: points into the decoded bytes. */
	struct m0_net_buf_desc cm_desc;
	/** OPEN, OPEN_REPLY, END_REPLY; the same. Without a 0 at its end. */
	const char *cm_text;
	uint32_t    cm_text_nr;
};

/**
 * @return the length of the message.
 * @retval -EMSGSIZE  it does not fit `size` bytes.
 */
int copy_msg_encode(const struct copy_msg *msg, void *bytes, size_t size);
/**
 * Trusts nothing: `ret_msg` is set only if all of it makes sense.
 * @retval -EPROTONOSUPPORT  another version: cm_type (of any value) and
 *                           cm_id (that version) are set, nothing else.
 * @retval -EBADMSG          not such a message.
 */
int copy_msg_decode(struct copy_msg *ret_msg, void *bytes, size_t nr);

#endif /* M0_TOOLS_COPY_WIRE_H */

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The messages of `colibri copy`. A copy is a conversation of two machines that
 * share nothing else:
 *
 *	sender                                     receiver
 *	BLOCK(id, offset, length, descriptor)  ->  pulls the block, writes it
 *	                 <-  BLOCK_REPLY(id, status)
 *	...                 up to `inflight` blocks at a time
 *	END(length, mode, checksum, status)    ->  verifies, syncs, renames
 *	                 <-  END_REPLY(status, checksum)
 *
 * END with a status other than 0 calls the copy off: nothing is written at the
 * destination. So does the receiver by an END_REPLY that was not asked for.
 *
 * Form, little-endian:
 *	 0  4  "CBCP"           24  8  offset
 *	 4  1  version, 1       32  8  length
 *	 5  1  type             40 16  checksum, xxh3-128, canonical
 *	 6  2  reserved, 0      56  4  length of the descriptor
 *	 8  4  id               60  4  reserved, 0
 *	12  4  status           64  -  descriptor
 *	16  4  permission bits
 *	20  4  flags
 * Status: 0, or a negative error number of Linux.
 */
#ifndef M0_TOOLS_COPY_WIRE_H
#define M0_TOOLS_COPY_WIRE_H

#include "m0/net.h"

#include "hash.h"

enum copy_msg_type {
	COPY_BLOCK = 1,
	COPY_BLOCK_REPLY,
	COPY_END,
	COPY_END_REPLY
};

enum {
	COPY_MSG_HEAD_BYTES = 64,
	/** END_REPLY: the destination was read back and gave cm_sum. */
	COPY_FLAG_VERIFIED = 1
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
	/** BLOCK only. After decode: points into the decoded bytes. */
	struct m0_net_buf_desc cm_desc;
};

/**
 * @return the length of the message.
 * @retval -EMSGSIZE  it does not fit `size` bytes.
 */
int copy_msg_encode(const struct copy_msg *msg, void *bytes, size_t size);
/**
 * Trusts nothing: `ret_msg` is set only if all of it makes sense.
 * @retval -EPROTONOSUPPORT  another version.
 * @retval -EBADMSG          not such a message.
 */
int copy_msg_decode(struct copy_msg *ret_msg, void *bytes, size_t nr);

#endif /* M0_TOOLS_COPY_WIRE_H */

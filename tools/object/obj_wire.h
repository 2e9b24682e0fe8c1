/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Protocol of the object service: bodies of requests and replies, and the
 * records that the service keeps of an object. Numbers are little-endian; every
 * decoder gets untrusted bytes, and returns pointers into them.
 */
#ifndef M0_TOOLS_OBJ_WIRE_H
#define M0_TOOLS_OBJ_WIRE_H

#include "m0/net.h"

#include "../base/hash.h"
#include "obj_name.h"

enum {
	/** Data is moved and summed in blocks of so many bytes. */
	OBJ_BLOCK = 1 << 20,
	/** Objects up to this size live in the store, and travel in items. */
	OBJ_INLINE_MAX = 32 << 10,
	OBJ_ID_BYTES = 16,
	OBJ_DESC_MAX = 512,
	/** Bytes of a request or reply beside its data and name. */
	OBJ_HEAD_BYTES = 104,
	OBJ_BODY_MAX = OBJ_HEAD_BYTES + 2 * (OBJ_NAME_MAX + 1) +
		       OBJ_INLINE_MAX + 8,
	/** Data of a reply, at most. */
	OBJ_REPLY_MAX = OBJ_INLINE_MAX,
	OBJ_SUMS_MAX = OBJ_REPLY_MAX / HASH_BYTES
};

/** Opcodes of items. */
enum obj_op {
	OBJ_OP_BASE = 0x4f00,
	/** An object with its data: name, mode, time, sum, data. (update) */
	OBJ_PUT = OBJ_OP_BASE,
	/** An upload begins: name, id, count: its size. (update) */
	OBJ_BEGIN,
	/** Upload complete: name, id, mode, time, sum. (update) */
	OBJ_COMMIT,
	/** Upload abandoned: id. (update) */
	OBJ_ABORT,
	/** name (update) */
	OBJ_REMOVE,
	/** A block of an upload: id, offset, count, sum, descriptor or data. */
	OBJ_WRITE,
	/** Blocks of a file: id, offset, count, descriptor or none. */
	OBJ_READ,
	/** name */
	OBJ_STAT,
	/** name: what names begin with; after; count: at most. */
	OBJ_LIST,
	/** Sums of a file: id, offset: first block, count. */
	OBJ_SUMS,
	OBJ_INFO,
	OBJ_REQUEST_END,
	OBJ_REPLY = OBJ_REQUEST_END,
	OBJ_OP_END
};

enum obj_flags {
	/** BEGIN: even if the object is there, from this very source. */
	OBJ_FORCE = 1,
	/** STAT: with the data of a small object. */
	OBJ_WANT_DATA = 2,
	/** Reply to BEGIN: it is there. To WRITE: so is the block. */
	OBJ_SAME = 4,
	/** Reply to BEGIN: parts may be there. */
	OBJ_RESUMED = 8,
	/** The object's data is in the store. */
	OBJ_INLINE = 16,
	/** Reply to LIST: there are more. */
	OBJ_MORE = 32
};

struct obj_req {
	uint32_t    orq_flags;
	uint32_t    orq_mode;
	uint8_t     orq_id[OBJ_ID_BYTES];
	uint8_t     orq_sum[HASH_BYTES];
	uint64_t    orq_offset;
	uint64_t    orq_count;
	uint64_t    orq_mtime_ns;
	const char *orq_name;
	uint32_t    orq_name_nr;
	const char *orq_after;
	uint32_t    orq_after_nr;
	const void *orq_data;
	uint32_t    orq_data_nr;
	/** bdd_desc.nbd_len 0: none. */
	struct m0_net_buf_desc_data orq_desc;
};

/** Bytes of the encoded form. */
size_t obj_req_size(const struct obj_req *req);
/** @return as obj_req_size(). Pre: there is room for so many. */
size_t obj_req_encode(const struct obj_req *req, uint8_t *bytes);
/** @retval -EPROTO, -EPROTONOSUPPORT */
int obj_req_decode(struct obj_req *ret, const void *bytes, uint64_t nr);

/** A reply; and what is kept of an object, under its name. */
struct obj_rep {
	uint32_t orp_flags;
	uint32_t orp_mode;
	/** The file of a large object; of a service, itself. */
	uint8_t orp_id[OBJ_ID_BYTES];
	uint8_t orp_sum[HASH_BYTES];
	/** Id that the client gave the source. */
	uint8_t     orp_source[OBJ_ID_BYTES];
	uint64_t    orp_size;
	uint64_t    orp_mtime_ns;
	const char *orp_name;
	uint32_t    orp_name_nr;
	const void *orp_data;
	uint32_t    orp_data_nr;
};

size_t obj_rep_size(const struct obj_rep *rep);
size_t obj_rep_encode(const struct obj_rep *rep, uint8_t *bytes);
int    obj_rep_decode(struct obj_rep *ret, const void *bytes, uint64_t nr);

/** Counters of a service, in the order of a reply's data. */
struct obj_info {
	/** Now. */
	uint64_t oin_objects;
	uint64_t oin_bytes;
	/** Since the store was made: each committed once. */
	uint64_t oin_puts;
	uint64_t oin_removes;
	/** Uploads that have begun and not ended. */
	uint64_t oin_uploads;
};
enum {
	OBJ_INFO_BYTES = 40
};

void obj_info_encode(const struct obj_info *info,
		     uint8_t                bytes[OBJ_INFO_BYTES]);
/** All 0 if it is none. */
void obj_info_decode(struct obj_info *ret, const void *bytes, uint64_t nr);

/** Blocks of so many bytes. */
static inline uint64_t obj_blocks_nr(uint64_t size)
{
	return size / OBJ_BLOCK + (size % OBJ_BLOCK != 0);
}

/** Bytes of the block at `offset`. */
static inline uint64_t obj_block_bytes(uint64_t size, uint64_t offset)
{
	return min64u(size - offset, OBJ_BLOCK);
}

/**
 * The sum of an object from those of its blocks: of more than one block it is
 * the sum of the blocks' sums.
 */
void obj_sum_of(const uint8_t *sums, uint64_t nr, uint8_t ret[HASH_BYTES]);

#endif /* M0_TOOLS_OBJ_WIRE_H */

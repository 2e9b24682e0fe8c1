/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <string.h>

#include "m0/rpc_bulk.h"

#include "../base/le.h"
#include "obj_wire.h"

enum {
	/** "OB", version 1. */
	WIRE_MAGIC = 0x0001424f
};

/** Where fields lie; bodies of both kinds begin alike. */
enum wire_at {
	AT_MAGIC = 0,
	AT_FLAGS = 4,
	AT_ID = 8,
	AT_SUM = 24,
	AT_SOURCE = 40,
	AT_OFFSET = 56,
	AT_COUNT = 64,
	AT_MTIME = 72,
	AT_MODE = 80,
	AT_NAME_NR = 84,
	AT_AFTER_NR = 88,
	AT_DATA_NR = 92,
	AT_DESC_NR = 96,
	AT_ZERO = 100,
	AT_TAIL = OBJ_HEAD_BYTES
};

static size_t text_put(uint8_t *at, const void *bytes, size_t nr)
{
	if (nr > 0)
		memcpy(at, bytes, nr);
	return nr;
}

/* Fields that a kind of body does not use are 0. */
static bool is_zero(const uint8_t *at, size_t nr)
{
	while (nr > 0 && at[nr - 1] == 0)
		--nr;
	return nr == 0;
}

/* Magic, version and lengths: do they add up to the whole? */
static int head_check(const uint8_t *at, uint64_t nr)
{
	if (nr < AT_TAIL || (le_get32(at) ^ WIRE_MAGIC) & 0xffff)
		return -EPROTO;
	if (le_get32(at) != WIRE_MAGIC)
		return -EPROTONOSUPPORT;
	if (le_get32(at + AT_ZERO) != 0 ||
	    le_get32(at + AT_NAME_NR) > OBJ_NAME_MAX ||
	    le_get32(at + AT_AFTER_NR) > OBJ_NAME_MAX ||
	    le_get32(at + AT_DATA_NR) > OBJ_REPLY_MAX ||
	    le_get32(at + AT_DESC_NR) > OBJ_DESC_MAX)
		return -EPROTO;
	if (nr - AT_TAIL !=
	    (uint64_t)le_get32(at + AT_NAME_NR) + le_get32(at + AT_AFTER_NR) +
		    le_get32(at + AT_DATA_NR) + le_get32(at + AT_DESC_NR))
		return -EPROTO;
	return 0;
}

static size_t desc_size(const struct obj_req *req)
{
	return req->orq_desc.bdd_desc.nbd_len == 0
		       ? 0
		       : m0_rpc_bulk_desc_size(&req->orq_desc);
}

size_t obj_req_size(const struct obj_req *req)
{
	return (size_t)AT_TAIL + req->orq_name_nr + req->orq_after_nr +
	       req->orq_data_nr + desc_size(req);
}

size_t obj_req_encode(const struct obj_req *req, uint8_t *bytes)
{
	uint8_t *at = bytes + AT_TAIL;

	memset(bytes, 0, AT_TAIL);
	le_put32(bytes + AT_MAGIC, WIRE_MAGIC);
	le_put32(bytes + AT_FLAGS, req->orq_flags);
	memcpy(bytes + AT_ID, req->orq_id, OBJ_ID_BYTES);
	memcpy(bytes + AT_SUM, req->orq_sum, HASH_BYTES);
	le_put64(bytes + AT_OFFSET, req->orq_offset);
	le_put64(bytes + AT_COUNT, req->orq_count);
	le_put64(bytes + AT_MTIME, req->orq_mtime_ns);
	le_put32(bytes + AT_MODE, req->orq_mode);
	le_put32(bytes + AT_NAME_NR, req->orq_name_nr);
	le_put32(bytes + AT_AFTER_NR, req->orq_after_nr);
	le_put32(bytes + AT_DATA_NR, req->orq_data_nr);
	le_put32(bytes + AT_DESC_NR, (uint32_t)desc_size(req));
	at += text_put(at, req->orq_name, req->orq_name_nr);
	at += text_put(at, req->orq_after, req->orq_after_nr);
	at += text_put(at, req->orq_data, req->orq_data_nr);
	if (desc_size(req) > 0)
		at += m0_rpc_bulk_desc_put(at, &req->orq_desc);
	return (size_t)(at - bytes);
}

int obj_req_decode(struct obj_req *ret, const void *bytes, uint64_t nr)
{
	const uint8_t *at = bytes;
	uint32_t       desc_nr;
	int            rc = head_check(at, nr);

	if (rc == 0 && !is_zero(at + AT_SOURCE, OBJ_ID_BYTES))
		rc = -EPROTO;
	if (rc != 0)
		return rc;
	M0_SET0(ret);
	ret->orq_flags = le_get32(at + AT_FLAGS);
	memcpy(ret->orq_id, at + AT_ID, OBJ_ID_BYTES);
	memcpy(ret->orq_sum, at + AT_SUM, HASH_BYTES);
	ret->orq_offset = le_get64(at + AT_OFFSET);
	ret->orq_count = le_get64(at + AT_COUNT);
	ret->orq_mtime_ns = le_get64(at + AT_MTIME);
	ret->orq_mode = le_get32(at + AT_MODE);
	ret->orq_name_nr = le_get32(at + AT_NAME_NR);
	ret->orq_after_nr = le_get32(at + AT_AFTER_NR);
	ret->orq_data_nr = le_get32(at + AT_DATA_NR);
	desc_nr = le_get32(at + AT_DESC_NR);
	ret->orq_name = (const char *)at + AT_TAIL;
	ret->orq_after = ret->orq_name + ret->orq_name_nr;
	ret->orq_data = ret->orq_after + ret->orq_after_nr;
	if (desc_nr == 0)
		return 0;
	return m0_rpc_bulk_desc_get((const uint8_t *)ret->orq_data +
					    ret->orq_data_nr,
				    desc_nr, &ret->orq_desc) == desc_nr
		       ? 0
		       : -EPROTO;
}

size_t obj_rep_size(const struct obj_rep *rep)
{
	return (size_t)AT_TAIL + rep->orp_name_nr + rep->orp_data_nr;
}

size_t obj_rep_encode(const struct obj_rep *rep, uint8_t *bytes)
{
	uint8_t *at = bytes + AT_TAIL;

	memset(bytes, 0, AT_TAIL);
	le_put32(bytes + AT_MAGIC, WIRE_MAGIC);
	le_put32(bytes + AT_FLAGS, rep->orp_flags);
	memcpy(bytes + AT_ID, rep->orp_id, OBJ_ID_BYTES);
	memcpy(bytes + AT_SUM, rep->orp_sum, HASH_BYTES);
	memcpy(bytes + AT_SOURCE, rep->orp_source, OBJ_ID_BYTES);
	le_put64(bytes + AT_COUNT, rep->orp_size);
	le_put64(bytes + AT_MTIME, rep->orp_mtime_ns);
	le_put32(bytes + AT_MODE, rep->orp_mode);
	le_put32(bytes + AT_NAME_NR, rep->orp_name_nr);
	le_put32(bytes + AT_DATA_NR, rep->orp_data_nr);
	at += text_put(at, rep->orp_name, rep->orp_name_nr);
	at += text_put(at, rep->orp_data, rep->orp_data_nr);
	return (size_t)(at - bytes);
}

int obj_rep_decode(struct obj_rep *ret, const void *bytes, uint64_t nr)
{
	const uint8_t *at = bytes;
	int            rc = head_check(at, nr);

	if (rc == 0 &&
	    (le_get32(at + AT_AFTER_NR) != 0 ||
	     le_get32(at + AT_DESC_NR) != 0 || le_get64(at + AT_OFFSET) != 0))
		rc = -EPROTO;
	if (rc != 0)
		return rc;
	M0_SET0(ret);
	ret->orp_flags = le_get32(at + AT_FLAGS);
	memcpy(ret->orp_id, at + AT_ID, OBJ_ID_BYTES);
	memcpy(ret->orp_sum, at + AT_SUM, HASH_BYTES);
	memcpy(ret->orp_source, at + AT_SOURCE, OBJ_ID_BYTES);
	ret->orp_size = le_get64(at + AT_COUNT);
	ret->orp_mtime_ns = le_get64(at + AT_MTIME);
	ret->orp_mode = le_get32(at + AT_MODE);
	ret->orp_name_nr = le_get32(at + AT_NAME_NR);
	ret->orp_data_nr = le_get32(at + AT_DATA_NR);
	ret->orp_name = (const char *)at + AT_TAIL;
	ret->orp_data = ret->orp_name + ret->orp_name_nr;
	return 0;
}

void obj_info_encode(const struct obj_info *info, uint8_t bytes[OBJ_INFO_BYTES])
{
	le_put64(bytes, info->oin_objects);
	le_put64(bytes + 8, info->oin_bytes);
	le_put64(bytes + 16, info->oin_puts);
	le_put64(bytes + 24, info->oin_removes);
	le_put64(bytes + 32, info->oin_uploads);
}

void obj_info_decode(struct obj_info *ret, const void *bytes, uint64_t nr)
{
	const uint8_t *at = bytes;

	M0_SET0(ret);
	if (nr != OBJ_INFO_BYTES)
		return;
	ret->oin_objects = le_get64(at);
	ret->oin_bytes = le_get64(at + 8);
	ret->oin_puts = le_get64(at + 16);
	ret->oin_removes = le_get64(at + 24);
	ret->oin_uploads = le_get64(at + 32);
}

void obj_sum_of(const uint8_t *sums, uint64_t nr, uint8_t ret[HASH_BYTES])
{
	if (nr == 1)
		memcpy(ret, sums, HASH_BYTES);
	else
		hash_bytes(sums, nr * HASH_BYTES, ret);
}

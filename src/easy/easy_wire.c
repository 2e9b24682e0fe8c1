/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Bodies of requests and results. Little-endian:
 *
 *     0  opcode, 4 bytes; 0 in a result
 *     4  bytes of arguments, 2
 *     6  descriptors, 2
 *     8  bytes of data, 8
 *    16  number of the call among those of its client, 8; 0 in a result
 *    24  number of the attempt at the call, from 1, 8; 0 in a result
 *    32  arguments, padded to 8; then the data, or the descriptors
 *        (m0_rpc_bulk_desc_put)
 */
#include <endian.h>

#include "easy/easy_internal.h"

enum {
	HEAD = 32,
	PAD = 8
};

static m0_bcount_t padded(m0_bcount_t nr)
{
	return (nr + PAD - 1) & ~(m0_bcount_t)(PAD - 1);
}

m0_bcount_t m0_easy__body_size(const struct easy_body *body)
{
	m0_bcount_t nr = HEAD + padded(body->eb_args.sl_nr);
	uint32_t    i;

	if (body->eb_descs_nr == 0)
		return nr + body->eb_data_nr;
	for (i = 0; i < body->eb_descs_nr; ++i)
		nr += m0_rpc_bulk_desc_size(&body->eb_descs[i]);
	return nr;
}

static void copy(uint8_t *to, struct m0_rpc_slice from)
{
	if (from.sl_nr > 0)
		memcpy(to, from.sl_data, from.sl_nr);
}

void m0_easy__body_put(void *bytes, const struct easy_body *body)
{
	uint8_t *at = bytes;
	uint32_t opcode = htole32(body->eb_opcode);
	uint16_t args_nr = htole16((uint16_t)body->eb_args.sl_nr);
	uint16_t descs_nr = htole16((uint16_t)body->eb_descs_nr);
	uint64_t data_nr = htole64(body->eb_data_nr);
	uint64_t call = htole64(body->eb_call);
	uint64_t attempt = htole64(body->eb_attempt);
	uint32_t i;

	memset(at, 0, HEAD + padded(body->eb_args.sl_nr));
	memcpy(at, &opcode, 4);
	memcpy(at + 4, &args_nr, 2);
	memcpy(at + 6, &descs_nr, 2);
	memcpy(at + 8, &data_nr, 8);
	memcpy(at + 16, &call, 8);
	memcpy(at + 24, &attempt, 8);
	copy(at + HEAD, body->eb_args);
	at += HEAD + padded(body->eb_args.sl_nr);
	if (body->eb_descs_nr == 0)
		copy(at, body->eb_data);
	for (i = 0; i < body->eb_descs_nr; ++i)
		at += m0_rpc_bulk_desc_put(at, &body->eb_descs[i]);
}

static bool is_zero(const uint8_t *at, m0_bcount_t nr)
{
	while (nr-- > 0)
		if (*at++ != 0)
			return false;
	return true;
}

static int descs_get(struct easy_body *ret, const uint8_t *at, m0_bcount_t nr)
{
	uint64_t sum = 0;
	int64_t  used;
	uint32_t i;
	int      rc = m0_easy__descs_alloc(ret, ret->eb_descs_nr);

	if (rc != 0)
		return rc;
	for (i = 0; i < ret->eb_descs_nr; ++i) {
		used = m0_rpc_bulk_desc_get(at, nr, &ret->eb_descs[i]);
		if (used < 0)
			return -EPROTO;
		at += used;
		nr -= (m0_bcount_t)used;
		if (ret->eb_descs[i].bdd_used == 0 ||
		    ret->eb_descs[i].bdd_used > ret->eb_data_nr - sum)
			return -EPROTO;
		sum += ret->eb_descs[i].bdd_used;
	}
	return nr == 0 && sum == ret->eb_data_nr ? 0 : -EPROTO;
}

int m0_easy__body_get(struct easy_body *ret, const void *bytes, m0_bcount_t nr)
{
	const uint8_t *at = bytes;
	uint32_t       opcode;
	uint16_t       args_nr;
	uint16_t       descs_nr;
	uint64_t       data_nr;
	uint64_t       call;
	uint64_t       attempt;
	int            rc;

	if (nr < HEAD)
		return -EPROTO;
	memcpy(&opcode, at, 4);
	memcpy(&args_nr, at + 4, 2);
	memcpy(&descs_nr, at + 6, 2);
	memcpy(&data_nr, at + 8, 8);
	memcpy(&call, at + 16, 8);
	memcpy(&attempt, at + 24, 8);
	ret->eb_opcode = le32toh(opcode);
	ret->eb_args = (struct m0_rpc_slice){ at + HEAD, le16toh(args_nr) };
	ret->eb_descs_nr = le16toh(descs_nr);
	ret->eb_data_nr = le64toh(data_nr);
	ret->eb_call = le64toh(call);
	ret->eb_attempt = le64toh(attempt);
	at += HEAD;
	nr -= HEAD;
	if (ret->eb_args.sl_nr > M0_EASY_ARGS_MAX ||
	    ret->eb_descs_nr > EASY_DESCS_MAX ||
	    ret->eb_data_nr > M0_EASY_DATA_MAX ||
	    padded(ret->eb_args.sl_nr) > nr ||
	    !is_zero(at + ret->eb_args.sl_nr,
		     padded(ret->eb_args.sl_nr) - ret->eb_args.sl_nr))
		return -EPROTO;
	at += padded(ret->eb_args.sl_nr);
	nr -= padded(ret->eb_args.sl_nr);
	ret->eb_data = (struct m0_rpc_slice){ NULL, 0 };
	ret->eb_descs = NULL;
	if (ret->eb_descs_nr > 0) {
		rc = descs_get(ret, at, nr);
		if (rc != 0)
			m0_free0(&ret->eb_descs);
		return rc;
	}
	ret->eb_data = (struct m0_rpc_slice){ at, nr };
	return nr == ret->eb_data_nr ? 0 : -EPROTO;
}

int m0_easy__descs_alloc(struct easy_body *body, uint32_t nr)
{
	if (nr > EASY_DESCS_MAX)
		return -EMSGSIZE;
	M0_ALLOC_ARR(body->eb_descs, nr);
	body->eb_descs_nr = body->eb_descs == NULL ? 0 : nr;
	return body->eb_descs == NULL ? -ENOMEM : 0;
}

void m0_easy__descs_free(struct easy_body *body)
{
	uint32_t i;

	for (i = 0; i < body->eb_descs_nr; ++i)
		m0_net_desc_free(&body->eb_descs[i].bdd_desc);
	body->eb_descs_nr = 0;
	m0_free0(&body->eb_descs);
}

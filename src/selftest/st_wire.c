/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stddef.h>
#include <string.h>

#include "selftest/st_wire.h"

enum {
	BODY_AT = 24,
	/** TEST: the parameters of brw begin here in the body. */
	PARAMS_AT = 58,
	FIELDS_MAX = 36
};

/** A field of a body: its place on the wire and in struct m0_st_msg. */
struct field {
	uint16_t wfd_at;
	uint16_t wfd_bytes;
	uint16_t wfd_in;
};

#define F(at, bytes, member)                                  \
	{                                                     \
		at, bytes, offsetof(struct m0_st_msg, member) \
	}
#define SID(at)              F(at, 8, smg_sid.sid_nid4), F((at) + 8, 8, smg_sid.sid_stamp)
#define T(at, bytes, member) F(at, bytes, smg_test.tsr_##member)
#define S(at, bytes, member) F(at, bytes, smg_stats.sct_##member)

/** The header; magic is before it, two reserved words are in between. */
static const struct field header[] = {
	F(4, 4, smg_version),
	F(8, 4, smg_type),
	F(20, 4, smg_feats),
};

static const struct type {
	const char        *wty_name;
	enum m0_st_service wty_service;
	struct field       wty_fields[FIELDS_MAX];
} types[M0_ST_TYPES_NR] = {
	[M0_ST_MKSN] = { "MKSN",
			 M0_ST_SRV_MKSN,
			 { F(0, 8, smg_rpyid), SID(8), F(24, 4, smg_force),
			   F(28, M0_ST_NAME_BYTES, smg_name) } },
	[M0_ST_MKSN_REP] = { "MKSN reply",
			     M0_ST_SRV_MKSN,
			     { F(0, 4, smg_status), SID(4),
			       F(20, 4, smg_timeout),
			       F(24, M0_ST_NAME_BYTES, smg_name) } },
	[M0_ST_RMSN] = { "RMSN",
			 M0_ST_SRV_RMSN,
			 { F(0, 8, smg_rpyid), SID(8) } },
	[M0_ST_RMSN_REP] = { "RMSN reply",
			     M0_ST_SRV_RMSN,
			     { F(0, 4, smg_status), SID(4) } },
	[M0_ST_BATCH] = { "BATCH",
			  M0_ST_SRV_BATCH,
			  { F(0, 8, smg_rpyid), SID(8), F(24, 8, smg_batch),
			    F(32, 4, smg_opc), F(36, 4, smg_test_nr),
			    F(40, 4, smg_arg) } },
	[M0_ST_BATCH_REP] = { "BATCH reply",
			      M0_ST_SRV_BATCH,
			      { F(0, 4, smg_status), SID(4),
				F(20, 4, smg_active), F(24, 4, smg_time) } },
	[M0_ST_STAT] = { "STAT",
			 M0_ST_SRV_STAT,
			 { F(0, 8, smg_rpyid), SID(8), F(24, 4, smg_flags) } },
	[M0_ST_STAT_REP] = { "STAT reply",
			     M0_ST_SRV_STAT,
			     { F(0, 4, smg_status),    SID(4),
			       S(20, 4, running_ms),   S(24, 4, active_batches),
			       S(28, 4, zombies),      S(32, 4, brw_errors),
			       S(36, 4, ping_errors),  S(40, 4, rpc_errors),
			       S(44, 4, rpc_sent),     S(48, 4, rpc_rcvd),
			       S(52, 4, rpc_dropped),  S(56, 4, rpc_expired),
			       S(60, 8, bulk_get),     S(68, 8, bulk_put),
			       S(76, 4, msgs_alloc),   S(80, 4, msgs_max),
			       S(84, 4, errors),       S(88, 4, send_count),
			       S(92, 4, recv_count),   S(96, 4, route_count),
			       S(100, 4, drop_count),  S(104, 8, send_length),
			       S(112, 8, recv_length), S(120, 8, route_length),
			       S(128, 8, drop_length) } },
	[M0_ST_TEST] = { "TEST",
			 M0_ST_SRV_TEST,
			 { F(0, 8, smg_rpyid), F(8, 8, smg_bulkid), SID(16),
			   T(32, 8, batch), T(40, 4, service), T(44, 4, loop),
			   T(48, 4, concurrency), T(52, 1, is_client),
			   T(53, 1, stop_on_error), T(54, 4, dests_nr) } },
	[M0_ST_TEST_REP] = { "TEST reply",
			     M0_ST_SRV_TEST,
			     { F(0, 4, smg_status), SID(4) } },
	[M0_ST_DEBUG] = { "DEBUG",
			  M0_ST_SRV_DEBUG,
			  { F(0, 8, smg_rpyid), SID(8), F(24, 4, smg_flags) } },
	[M0_ST_DEBUG_REP] = { "DEBUG reply",
			      M0_ST_SRV_DEBUG,
			      { F(0, 4, smg_status), SID(4),
				F(20, 4, smg_timeout), F(24, 4, smg_batches_nr),
				F(28, M0_ST_NAME_BYTES, smg_name) } },
	[M0_ST_BRW] = { "BRW",
			M0_ST_SRV_BRW,
			{ F(0, 8, smg_rpyid), F(8, 8, smg_bulkid),
			  F(16, 4, smg_rw), F(20, 4, smg_bytes),
			  F(24, 4, smg_check) } },
	[M0_ST_BRW_REP] = { "BRW reply",
			    M0_ST_SRV_BRW,
			    { F(0, 4, smg_status) } },
	[M0_ST_PING] = { "PING",
			 M0_ST_SRV_PING,
			 { F(0, 8, smg_rpyid), F(8, 4, smg_ping_magic),
			   F(12, 4, smg_seq), F(16, 8, smg_sec),
			   F(24, 8, smg_nsec) } },
	[M0_ST_PING_REP] = { "PING reply",
			     M0_ST_SRV_PING,
			     { F(0, 4, smg_status), F(4, 4, smg_ping_magic),
			       F(8, 4, smg_seq) } },
};

const char *m0_st_type_name(uint32_t type)
{
	return type < M0_ST_TYPES_NR ? types[type].wty_name : "?";
}

enum m0_st_service m0_st_type_service(uint32_t type)
{
	M0_PRE(type < M0_ST_TYPES_NR);
	return types[type].wty_service;
}

uint32_t m0_st_type_portal(uint32_t type)
{
	return m0_st_type_service(type) < M0_ST_SRV_BRW ? M0_ST_PORTAL_FRAMEWORK
							: M0_ST_PORTAL_TEST;
}

/* -- numbers --------------------------------------------------------------- */

static uint64_t get(const uint8_t *from, unsigned bytes, bool swapped)
{
	uint16_t n16;
	uint32_t n32;
	uint64_t n64;

	switch (bytes) {
	case 1:
		return *from;
	case 2:
		memcpy(&n16, from, sizeof n16);
		return swapped ? __builtin_bswap16(n16) : n16;
	case 4:
		memcpy(&n32, from, sizeof n32);
		return swapped ? __builtin_bswap32(n32) : n32;
	default:
		memcpy(&n64, from, sizeof n64);
		return swapped ? __builtin_bswap64(n64) : n64;
	}
}

static void put(uint8_t *to, unsigned bytes, uint64_t number, bool swapped)
{
	uint16_t n16 = (uint16_t)number;
	uint32_t n32 = (uint32_t)number;

	if (swapped) {
		n16 = __builtin_bswap16(n16);
		n32 = __builtin_bswap32(n32);
	}
	switch (bytes) {
	case 1:
		*to = (uint8_t)number;
		break;
	case 2:
		memcpy(to, &n16, sizeof n16);
		break;
	case 4:
		memcpy(to, &n32, sizeof n32);
		break;
	default:
		if (swapped)
			number = __builtin_bswap64(number);
		memcpy(to, &number, sizeof number);
	}
}

/* In memory a number has its size on the wire, and our order. */
static void field_decode(struct m0_st_msg *msg, const struct field *field,
			 const uint8_t *from)
{
	uint8_t *in = (uint8_t *)msg + field->wfd_in;

	if (field->wfd_bytes == M0_ST_NAME_BYTES)
		memcpy(in, from, M0_ST_NAME_BYTES);
	else
		put(in, field->wfd_bytes,
		    get(from, field->wfd_bytes, msg->smg_swapped), false);
}

static void field_encode(const struct m0_st_msg *msg, const struct field *field,
			 uint8_t *to)
{
	const uint8_t *in = (const uint8_t *)msg + field->wfd_in;

	if (field->wfd_bytes == M0_ST_NAME_BYTES)
		memcpy(to, in, M0_ST_NAME_BYTES);
	else
		put(to, field->wfd_bytes, get(in, field->wfd_bytes, false),
		    msg->smg_swapped);
}

/* -- parameters of brw ----------------------------------------------------- */

static bool has_params(const struct m0_st_msg *msg)
{
	return msg->smg_type == M0_ST_TEST &&
	       msg->smg_test.tsr_service == M0_ST_SRV_BRW;
}

static void params_decode(struct m0_st_msg *msg, const uint8_t *from)
{
	struct m0_st_test *test = &msg->smg_test;
	bool               swapped = msg->smg_swapped;
	uint32_t           pages;

	if ((msg->smg_feats & M0_ST_FEAT_LEN) != 0) {
		test->tsr_rw = (uint32_t)get(from, 2, swapped);
		test->tsr_check = (uint32_t)get(from + 2, 2, swapped);
		test->tsr_bytes = (uint32_t)get(from + 4, 4, swapped);
		test->tsr_offset = (uint32_t)get(from + 8, 4, swapped);
		return;
	}
	test->tsr_rw = (uint32_t)get(from, 4, swapped);
	pages = (uint32_t)get(from + 4, 4, swapped);
	/* Too many stay too many. */
	test->tsr_bytes = min_check(pages, UINT32_C(0xfffff)) *
			  M0_ST_PAGE_BYTES;
	test->tsr_check = (uint32_t)get(from + 8, 4, swapped);
}

static void params_encode(const struct m0_st_msg *msg, uint8_t *to)
{
	const struct m0_st_test *test = &msg->smg_test;
	bool                     swapped = msg->smg_swapped;

	if ((msg->smg_feats & M0_ST_FEAT_LEN) != 0) {
		put(to, 2, test->tsr_rw, swapped);
		put(to + 2, 2, test->tsr_check, swapped);
		put(to + 4, 4, test->tsr_bytes, swapped);
		put(to + 8, 4, test->tsr_offset, swapped);
		return;
	}
	put(to, 4, test->tsr_rw, swapped);
	put(to + 4, 4, test->tsr_bytes / M0_ST_PAGE_BYTES, swapped);
	put(to + 8, 4, test->tsr_check, swapped);
}

/* -- messages -------------------------------------------------------------- */

int m0_st_decode(struct m0_st_msg *ret, const void *bytes, size_t nr)
{
	const uint8_t      *from = bytes;
	const struct field *field;
	uint32_t            magic;

	if (nr != M0_ST_MSG_BYTES)
		return -EMSGSIZE;
	M0_SET0(ret);
	magic = (uint32_t)get(from, 4, false);
	ret->smg_swapped = magic == __builtin_bswap32(M0_ST_MAGIC);
	if (magic != M0_ST_MAGIC && !ret->smg_swapped)
		return -EPROTO;
	for (field = header; field < header + ARRAY_SIZE(header); ++field)
		field_decode(ret, field, from + field->wfd_at);
	if (ret->smg_type >= M0_ST_TYPES_NR)
		return -EPROTO;
	for (field = types[ret->smg_type].wty_fields; field->wfd_bytes != 0;
	     ++field)
		field_decode(ret, field, from + BODY_AT + field->wfd_at);
	if (has_params(ret))
		params_decode(ret, from + BODY_AT + PARAMS_AT);
	return memchr(ret->smg_name, '\0', M0_ST_NAME_BYTES) == NULL ? -EPROTO
								     : 0;
}

void m0_st_encode(const struct m0_st_msg *msg, uint8_t bytes[M0_ST_MSG_BYTES])
{
	const struct field *field;

	M0_PRE(msg->smg_type < M0_ST_TYPES_NR);
	memset(bytes, 0, M0_ST_MSG_BYTES);
	put(bytes, 4, M0_ST_MAGIC, msg->smg_swapped);
	for (field = header; field < header + ARRAY_SIZE(header); ++field)
		field_encode(msg, field, bytes + field->wfd_at);
	for (field = types[msg->smg_type].wty_fields; field->wfd_bytes != 0;
	     ++field)
		field_encode(msg, field, bytes + BODY_AT + field->wfd_at);
	if (has_params(msg))
		params_encode(msg, bytes + BODY_AT + PARAMS_AT);
}

static bool bulk_is_fine(uint32_t rw, uint32_t bytes, uint32_t check,
			 uint32_t feats)
{
	return (rw == M0_ST_READ || rw == M0_ST_WRITE) && bytes > 0 &&
	       bytes <= M0_ST_BULK_MAX &&
	       ((feats & M0_ST_FEAT_LEN) != 0 ||
		bytes % M0_ST_PAGE_BYTES == 0) &&
	       check >= M0_ST_CHECK_NONE && check <= M0_ST_CHECK_DISCARD;
}

int m0_st_test_check(const struct m0_st_test *test, uint32_t feats)
{
	if (test->tsr_loop == 0 || test->tsr_concurrency == 0 ||
	    test->tsr_concurrency > M0_ST_CONCURRENCY_MAX)
		return EINVAL;
	if (test->tsr_service == M0_ST_SRV_PING)
		return 0;
	return test->tsr_service == M0_ST_SRV_BRW &&
			       test->tsr_offset < M0_ST_PAGE_BYTES &&
			       bulk_is_fine(test->tsr_rw, test->tsr_bytes,
					    test->tsr_check, feats)
		       ? 0
		       : EINVAL;
}

int m0_st_brw_check(const struct m0_st_msg *msg, uint32_t feats)
{
	return bulk_is_fine(msg->smg_rw, msg->smg_bytes, msg->smg_check, feats)
		       ? 0
		       : EINVAL;
}

/* -- destinations ---------------------------------------------------------- */

static size_t dest_at(uint32_t i, uint32_t feats)
{
	return (size_t)i * ((feats & M0_ST_FEAT_LARGE) != 0
				    ? M0_ST_DEST_LARGE_BYTES
				    : M0_ST_DEST_BYTES);
}

uint32_t m0_st_dests_max(uint32_t feats)
{
	return (feats & M0_ST_FEAT_LARGE) != 0 ? M0_ST_DESTS_LARGE_MAX
					       : M0_ST_DESTS_PER_PAGE;
}

size_t m0_st_dests_bytes(uint32_t nr, uint32_t feats)
{
	M0_PRE(nr <= m0_st_dests_max(feats));
	if ((feats & M0_ST_FEAT_LEN) == 0 && nr > 0)
		return M0_ST_PAGE_BYTES;
	return dest_at(nr, feats);
}

int m0_st_dest_decode(struct m0_lnet_process_id *ret, const uint8_t *list,
		      uint32_t i, uint32_t feats, bool swapped)
{
	const uint8_t     *from = list + dest_at(i, feats);
	struct m0_lnet_nid nid;
	int                rc;

	if ((feats & M0_ST_FEAT_LARGE) != 0) {
		rc = m0_lnet_nid_decode(&nid, from);
		from += M0_LNET_NID_BYTES;
	} else {
		rc = m0_lnet_nid_from4(&nid, get(from, 8, swapped));
		from += sizeof(uint64_t);
	}
	if (rc != 0 || m0_lnet_nid_is_any(&nid))
		return -EPROTO;
	ret->lp_nid = nid;
	ret->lp_pid = (uint32_t)get(from, 4, swapped);
	return ret->lp_pid == M0_LNET_PID_ANY ? -EPROTO : 0;
}

void m0_st_dest_encode(const struct m0_lnet_process_id *id, uint8_t *list,
		       uint32_t i, uint32_t feats, bool swapped)
{
	uint8_t *to = list + dest_at(i, feats);

	if ((feats & M0_ST_FEAT_LARGE) != 0) {
		m0_lnet_nid_encode(&id->lp_nid, to);
		to += M0_LNET_NID_BYTES;
	} else {
		put(to, 8, m0_lnet_nid_to4(&id->lp_nid), swapped);
		to += sizeof(uint64_t);
	}
	put(to, 4, id->lp_pid, swapped);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "base/cursor.h"
#include "lnd/o2ib/o2ib_wire.h"

enum {
	/** Magic and version, without which nothing can be said of a message. */
	HEAD_BYTES = 6,
	SUM_AT = 12,
	/** No errno of a peer is larger. */
	ERRNO_MAX = 4095
};

/* -- what is refused ------------------------------------------------------- */

int m0_o2ib__refuse(struct m0_o2ib_why *why, enum m0_o2ib_field field,
		    const char *fmt, ...)
{
	va_list args;

	M0_PRE(field != M0_O2IB_FIELD_NONE);
	why->ibw_field = field;
	va_start(args, fmt);
	(void)vsnprintf(why->ibw_text, sizeof why->ibw_text, fmt, args);
	va_end(args);
	return -EPROTO;
}

/** A type of messages, and the bytes that each has at least. */
struct type {
	uint8_t     ibt_type;
	uint16_t    ibt_bytes_min;
	const char *ibt_name;
};

static const struct type types[] = {
	{ M0_O2IB_IMMEDIATE, M0_O2IB_IMMEDIATE_BYTES, "IMMEDIATE" },
	{ M0_O2IB_NOOP, M0_O2IB_HDR_BYTES, "NOOP" },
	{ M0_O2IB_CONNREQ, M0_O2IB_CONN_BYTES, "CONNREQ" },
	{ M0_O2IB_CONNACK, M0_O2IB_CONN_BYTES, "CONNACK" },
	{ M0_O2IB_PUT_REQ, M0_O2IB_PUT_REQ_BYTES, "PUT_REQ" },
	{ M0_O2IB_PUT_NAK, M0_O2IB_DONE_BYTES, "PUT_NAK" },
	{ M0_O2IB_PUT_ACK, M0_O2IB_PUT_ACK_BYTES + M0_O2IB_FRAG_BYTES,
	  "PUT_ACK" },
	{ M0_O2IB_PUT_DONE, M0_O2IB_DONE_BYTES, "PUT_DONE" },
	{ M0_O2IB_GET_REQ, M0_O2IB_GET_REQ_BYTES + M0_O2IB_FRAG_BYTES,
	  "GET_REQ" },
	{ M0_O2IB_GET_DONE, M0_O2IB_DONE_BYTES, "GET_DONE" },
};

static const struct type *type_find(uint8_t number)
{
	const struct type *type;

	for (type = types; type < types + ARRAY_SIZE(types); ++type)
		if (type->ibt_type == number)
			return type;
	return NULL;
}

const char *m0_o2ib__type_name(uint8_t number)
{
	const struct type *type = type_find(number);

	return type == NULL ? "?" : type->ibt_name;
}

/* -- numbers in the peer's order ------------------------------------------- */

static uint16_t get16(struct m0_cursor *cur, bool swapped)
{
	uint16_t number = m0_cursor_get_le16(cur);

	return swapped ? __builtin_bswap16(number) : number;
}

static uint32_t get32(struct m0_cursor *cur, bool swapped)
{
	uint32_t number = m0_cursor_get_le32(cur);

	return swapped ? __builtin_bswap32(number) : number;
}

static uint64_t get64(struct m0_cursor *cur, bool swapped)
{
	uint64_t number = m0_cursor_get_le64(cur);

	return swapped ? __builtin_bswap64(number) : number;
}

/* -- checksum -------------------------------------------------------------- */

/** Continues a sum. */
static uint32_t sum_add(uint32_t sum, const uint8_t *bytes, size_t nr,
			bool is_signed)
{
	uint32_t more;
	size_t   i;

	for (i = 0; i < nr; ++i) {
		more = bytes[i];
		if (is_signed && more >= 0x80)
			more -= 0x100;
		sum = (sum << 1 | sum >> 31) + more;
	}
	return sum;
}

uint32_t m0_o2ib__sum(const void *bytes, size_t nr, bool is_signed)
{
	return sum_add(0, bytes, nr, is_signed);
}

/** Sums up a message as if its own checksum were 0. */
static uint32_t msg_sum(const uint8_t *bytes, size_t nr, bool is_signed)
{
	static const uint8_t zeroes[sizeof(uint32_t)];
	uint32_t             sum;

	sum = sum_add(0, bytes, SUM_AT, is_signed);
	sum = sum_add(sum, zeroes, sizeof zeroes, is_signed);
	sum = sum_add(sum, bytes + SUM_AT + sizeof zeroes,
		      nr - SUM_AT - sizeof zeroes, is_signed);
	return sum == 0 ? 1 : sum;
}

/** Checks a sum that is not 0, of a message whose bytes are there. */
static int sum_check(struct m0_o2ib_hdr *hdr, const uint8_t *bytes,
		     uint32_t said, struct m0_o2ib_why *why)
{
	hdr->ibh_sum_bad = said != 0 &&
			   said != msg_sum(bytes, hdr->ibh_nob, true) &&
			   said != msg_sum(bytes, hdr->ibh_nob, false);
	if (!hdr->ibh_sum_bad || (hdr->ibh_type == M0_O2IB_IMMEDIATE &&
				  hdr->ibh_nob > M0_O2IB_IMMEDIATE_BYTES))
		return 0;
	return m0_o2ib__refuse(why, M0_O2IB_FIELD_CHECKSUM,
			       "%s: checksum %#x, expected %#x or %#x",
			       m0_o2ib__type_name(hdr->ibh_type), said,
			       msg_sum(bytes, hdr->ibh_nob, true),
			       msg_sum(bytes, hdr->ibh_nob, false));
}

/* -- header ---------------------------------------------------------------- */

/** Magic and version of a message. */
static int head_get(struct m0_cursor *cur, size_t nr, bool *ret_swapped,
		    struct m0_o2ib_why *why)
{
	uint32_t magic;
	uint16_t version;

	if (nr < HEAD_BYTES)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_LENGTH,
				       "length %zu, at least %d expected", nr,
				       HEAD_BYTES);
	magic = m0_cursor_get_le32(cur);
	*ret_swapped = magic == __builtin_bswap32(M0_O2IB_MAGIC);
	if (magic == M0_O2IB_MAGIC_LNET ||
	    magic == __builtin_bswap32(M0_O2IB_MAGIC_LNET)) {
		(void)m0_o2ib__refuse(why, M0_O2IB_FIELD_MAGIC,
				      "magic 0x%08x, the general one", magic);
		return -EPROTONOSUPPORT;
	}
	if (magic != M0_O2IB_MAGIC && !*ret_swapped)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_MAGIC,
				       "magic 0x%08x, expected 0x%08x", magic,
				       M0_O2IB_MAGIC);
	version = get16(cur, *ret_swapped);
	if (version != M0_O2IB_VERSION) {
		(void)m0_o2ib__refuse(why, M0_O2IB_FIELD_VERSION,
				      "version %#x, expected %#x", version,
				      M0_O2IB_VERSION);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

/** Checks the bytes that a message claims against those that arrived. */
static int nob_check(const struct m0_o2ib_hdr *hdr, size_t nr,
		     struct m0_o2ib_why *why)
{
	const struct type *type = type_find(hdr->ibh_type);

	if (type == NULL)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE,
				       "type %#x is unknown", hdr->ibh_type);
	if (hdr->ibh_nob > nr || hdr->ibh_nob > M0_O2IB_MSG_BYTES_MAX)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_LENGTH,
				       "%s: length %u of %zu bytes, at most %d",
				       type->ibt_name, hdr->ibh_nob, nr,
				       M0_O2IB_MSG_BYTES_MAX);
	if (hdr->ibh_nob < type->ibt_bytes_min)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_LENGTH,
				       "%s: length %u, at least %u expected",
				       type->ibt_name, hdr->ibh_nob,
				       type->ibt_bytes_min);
	return 0;
}

/** Checks that the NIDs can be, and that the source is somebody. */
static int nids_check(const struct m0_o2ib_hdr *hdr, struct m0_o2ib_why *why)
{
	struct m0_lnet_nid nid;

	if (hdr->ibh_src_nid4 == M0_LNET_NID4_ANY ||
	    m0_lnet_nid_from4(&nid, hdr->ibh_src_nid4) != 0)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_SRC_NID,
				       "%s: source NID %#llx",
				       m0_o2ib__type_name(hdr->ibh_type),
				       (unsigned long long)hdr->ibh_src_nid4);
	if (m0_lnet_nid_from4(&nid, hdr->ibh_dst_nid4) != 0)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_DST_NID,
				       "%s: destination NID %#llx",
				       m0_o2ib__type_name(hdr->ibh_type),
				       (unsigned long long)hdr->ibh_dst_nid4);
	return 0;
}

int m0_o2ib__hdr_decode(struct m0_o2ib_hdr *hdr, const void *bytes, size_t nr,
			struct m0_o2ib_why *why)
{
	struct m0_cursor cur;
	uint32_t         sum;
	bool             swapped;
	int              rc;

	m0_cursor_init_const(&cur, bytes, nr);
	rc = head_get(&cur, nr, &swapped, why);
	if (rc != 0)
		return rc;
	if (nr < M0_O2IB_HDR_BYTES)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_LENGTH,
				       "length %zu, at least %d expected", nr,
				       M0_O2IB_HDR_BYTES);
	hdr->ibh_swapped = swapped;
	hdr->ibh_type = m0_cursor_get_u8(&cur);
	hdr->ibh_credits = m0_cursor_get_u8(&cur);
	hdr->ibh_nob = get32(&cur, swapped);
	sum = get32(&cur, swapped);
	hdr->ibh_src_nid4 = get64(&cur, swapped);
	hdr->ibh_src_stamp = get64(&cur, swapped);
	hdr->ibh_dst_nid4 = get64(&cur, swapped);
	hdr->ibh_dst_stamp = get64(&cur, swapped);
	rc = nob_check(hdr, nr, why);
	if (rc == 0)
		rc = sum_check(hdr, bytes, sum, why);
	return rc == 0 ? nids_check(hdr, why) : rc;
}

static void ids_put(struct m0_cursor *cur, const struct m0_o2ib_hdr *hdr)
{
	m0_cursor_put_le64(cur, hdr->ibh_src_nid4);
	m0_cursor_put_le64(cur, hdr->ibh_src_stamp);
	m0_cursor_put_le64(cur, hdr->ibh_dst_nid4);
	m0_cursor_put_le64(cur, hdr->ibh_dst_stamp);
}

void m0_o2ib__ids_put(const struct m0_o2ib_hdr *hdr,
		      uint8_t                   ids[M0_O2IB_IDS_BYTES])
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, ids, M0_O2IB_IDS_BYTES);
	ids_put(&cur, hdr);
	M0_POST(m0_cursor_is_ok(&cur));
}

bool m0_o2ib__hdr_decode_known(struct m0_o2ib_hdr *hdr, const void *bytes,
			       size_t nr, const uint8_t ids[M0_O2IB_IDS_BYTES])
{
	struct m0_cursor   cur;
	const struct type *type;

	if (nr < M0_O2IB_HDR_BYTES ||
	    memcmp((const uint8_t *)bytes + M0_O2IB_IDS_AT, ids,
		   M0_O2IB_IDS_BYTES) != 0)
		return false;
	m0_cursor_init_const(&cur, bytes, M0_O2IB_IDS_AT);
	if (m0_cursor_get_le32(&cur) != M0_O2IB_MAGIC ||
	    m0_cursor_get_le16(&cur) != M0_O2IB_VERSION)
		return false;
	hdr->ibh_type = m0_cursor_get_u8(&cur);
	hdr->ibh_credits = m0_cursor_get_u8(&cur);
	hdr->ibh_swapped = false;
	hdr->ibh_sum_bad = false;
	hdr->ibh_nob = m0_cursor_get_le32(&cur);
	type = hdr->ibh_type < M0_O2IB_NOOP ? NULL : type_find(hdr->ibh_type);
	return type != NULL && m0_cursor_get_le32(&cur) == 0 &&
	       hdr->ibh_nob >= type->ibt_bytes_min && hdr->ibh_nob <= nr &&
	       hdr->ibh_nob <= M0_O2IB_MSG_BYTES_MAX;
}

/** Puts the header of a message of `nob` bytes. */
static void hdr_put(struct m0_cursor *cur, const struct m0_o2ib_hdr *hdr,
		    size_t nob)
{
	M0_PRE(nob <= M0_O2IB_MSG_BYTES_MAX);
	m0_cursor_put_le32(cur, M0_O2IB_MAGIC);
	m0_cursor_put_le16(cur, M0_O2IB_VERSION);
	m0_cursor_put_u8(cur, hdr->ibh_type);
	m0_cursor_put_u8(cur, hdr->ibh_credits);
	m0_cursor_put_le32(cur, (uint32_t)nob);
	/* Sums that kernels of two ages accept do not exist: send none. */
	m0_cursor_put_le32(cur, 0);
	ids_put(cur, hdr);
}

/** The bytes of a message that has been put. */
static size_t msg_end(const struct m0_cursor *cur, size_t nob)
{
	M0_POST(m0_cursor_is_ok(cur));
	M0_POST(m0_cursor_pos(cur) <= nob);
	return nob;
}

/** A cursor at the body of a message that m0_o2ib__hdr_decode() has checked. */
static struct m0_cursor body_get(const struct m0_o2ib_hdr *hdr,
				 const void               *bytes)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, bytes, hdr->ibh_nob);
	(void)m0_cursor_skip(&cur, M0_O2IB_HDR_BYTES);
	return cur;
}

size_t m0_o2ib__noop_encode(const struct m0_o2ib_hdr *hdr, void *buf,
			    size_t buf_bytes)
{
	struct m0_cursor cur;

	M0_PRE(hdr->ibh_type == M0_O2IB_NOOP);
	m0_cursor_init(&cur, buf, buf_bytes);
	hdr_put(&cur, hdr, M0_O2IB_HDR_BYTES);
	return msg_end(&cur, M0_O2IB_HDR_BYTES);
}

/* -- connection ------------------------------------------------------------ */

static void params_put(struct m0_cursor            *cur,
		       const struct m0_o2ib_params *params)
{
	m0_cursor_put_le16(cur, params->ibp_queue_depth);
	m0_cursor_put_le16(cur, params->ibp_frags_max);
	m0_cursor_put_le32(cur, params->ibp_msg_bytes_max);
}

static void params_get(struct m0_cursor *cur, bool swapped,
		       struct m0_o2ib_params *params)
{
	params->ibp_queue_depth = get16(cur, swapped);
	params->ibp_frags_max = get16(cur, swapped);
	params->ibp_msg_bytes_max = get32(cur, swapped);
}

static bool is_conn(uint8_t type)
{
	return type == M0_O2IB_CONNREQ || type == M0_O2IB_CONNACK;
}

size_t m0_o2ib__conn_encode(const struct m0_o2ib_hdr    *hdr,
			    const struct m0_o2ib_params *params, void *buf,
			    size_t buf_bytes)
{
	struct m0_cursor cur;

	M0_PRE(is_conn(hdr->ibh_type));
	M0_PRE(params->ibp_queue_depth > 0 && params->ibp_frags_max > 0);
	m0_cursor_init(&cur, buf, buf_bytes);
	hdr_put(&cur, hdr, M0_O2IB_CONN_BYTES);
	params_put(&cur, params);
	return msg_end(&cur, M0_O2IB_CONN_BYTES);
}

int m0_o2ib__conn_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			 struct m0_o2ib_params *params, struct m0_o2ib_why *why)
{
	const char      *name = m0_o2ib__type_name(hdr->ibh_type);
	struct m0_cursor cur = body_get(hdr, bytes);

	M0_PRE(is_conn(hdr->ibh_type));
	params_get(&cur, hdr->ibh_swapped, params);
	if (params->ibp_queue_depth == 0)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_QUEUE_DEPTH,
				       "%s: queue depth 0", name);
	if (params->ibp_frags_max == 0)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_FRAGS_MAX,
				       "%s: 0 fragments", name);
	if (params->ibp_msg_bytes_max < M0_O2IB_MSG_BYTES_MIN ||
	    params->ibp_msg_bytes_max > M0_O2IB_MSG_BYTES_MAX)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_MSG_BYTES,
				       "%s: message size %u, expected %d to %d",
				       name, params->ibp_msg_bytes_max,
				       M0_O2IB_MSG_BYTES_MIN,
				       M0_O2IB_MSG_BYTES_MAX);
	M0_POST(m0_cursor_is_ok(&cur));
	return 0;
}

size_t m0_o2ib__reject_encode(const struct m0_o2ib_reject *reject,
			      uint8_t buf[M0_O2IB_REJECT_BYTES])
{
	struct m0_cursor cur;

	M0_PRE(reject->ibr_reason != 0 && !reject->ibr_general);
	m0_cursor_init(&cur, buf, M0_O2IB_REJECT_BYTES);
	m0_cursor_put_le32(&cur, M0_O2IB_MAGIC);
	m0_cursor_put_le16(&cur, reject->ibr_version);
	m0_cursor_put_u8(&cur, reject->ibr_reason);
	m0_cursor_put_u8(&cur, 0);
	m0_cursor_put_le64(&cur, reject->ibr_stamp);
	params_put(&cur, &reject->ibr_limits);
	return msg_end(&cur, M0_O2IB_REJECT_BYTES);
}

int m0_o2ib__reject_decode(struct m0_o2ib_reject *reject, const void *bytes,
			   size_t nr, struct m0_o2ib_why *why)
{
	struct m0_cursor cur;
	uint32_t         magic;
	bool             old;

	if (nr < M0_O2IB_REJECT_OLD_BYTES)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_LENGTH,
				       "rejection: length %zu, expected %d", nr,
				       M0_O2IB_REJECT_BYTES);
	m0_cursor_init_const(&cur, bytes, nr);
	magic = m0_cursor_get_le32(&cur);
	reject->ibr_swapped = magic == __builtin_bswap32(M0_O2IB_MAGIC) ||
			      magic == __builtin_bswap32(M0_O2IB_MAGIC_LNET);
	if (reject->ibr_swapped)
		magic = __builtin_bswap32(magic);
	reject->ibr_general = magic == M0_O2IB_MAGIC_LNET;
	if (magic != M0_O2IB_MAGIC && !reject->ibr_general)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_MAGIC,
				       "rejection: magic 0x%08x", magic);
	reject->ibr_version = get16(&cur, reject->ibr_swapped);
	reject->ibr_reason = m0_cursor_get_u8(&cur);
	(void)m0_cursor_skip(&cur, 1);
	reject->ibr_stamp = get64(&cur, reject->ibr_swapped);
	old = reject->ibr_version <= M0_O2IB_VERSION_OLD;
	if (!old && nr < M0_O2IB_REJECT_BYTES)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_LENGTH,
				       "rejection: length %zu, expected %d", nr,
				       M0_O2IB_REJECT_BYTES);
	reject->ibr_limits = (struct m0_o2ib_params){};
	if (!old)
		params_get(&cur, reject->ibr_swapped, &reject->ibr_limits);
	M0_POST(m0_cursor_is_ok(&cur));
	return 0;
}

/* -- messages -------------------------------------------------------------- */

size_t m0_o2ib__immediate_encode(const struct m0_o2ib_hdr       *hdr,
				 const struct m0_o2ib_immediate *imm, void *buf,
				 size_t buf_bytes)
{
	size_t           nob = M0_O2IB_IMMEDIATE_BYTES + imm->ibm_payload_bytes;
	struct m0_cursor cur;

	M0_PRE(hdr->ibh_type == M0_O2IB_IMMEDIATE);
	M0_PRE(imm->ibm_payload_bytes <= M0_O2IB_PAYLOAD_BYTES_MAX);
	m0_cursor_init(&cur, buf, buf_bytes);
	hdr_put(&cur, hdr, nob);
	m0_cursor_put_bytes(&cur, imm->ibm_lnet_hdr, M0_O2IB_LNET_HDR_BYTES);
	if (imm->ibm_payload != NULL)
		m0_cursor_put_bytes(&cur, imm->ibm_payload,
				    imm->ibm_payload_bytes);
	return msg_end(&cur, nob);
}

void m0_o2ib__immediate_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			       struct m0_o2ib_immediate *imm)
{
	const uint8_t *at = bytes;

	M0_PRE(hdr->ibh_type == M0_O2IB_IMMEDIATE &&
	       hdr->ibh_nob >= M0_O2IB_IMMEDIATE_BYTES);
	imm->ibm_lnet_hdr = at + M0_O2IB_HDR_BYTES;
	imm->ibm_payload = at + M0_O2IB_IMMEDIATE_BYTES;
	imm->ibm_payload_bytes = hdr->ibh_nob - M0_O2IB_IMMEDIATE_BYTES;
}

/** Can a descriptor have this fragment? */
static bool frag_invariant(const struct m0_o2ib_frag *frag)
{
	return frag->ibf_bytes > 0 &&
	       frag->ibf_addr <= UINT64_MAX - (frag->ibf_bytes - 1);
}

static size_t desc_bytes(const struct m0_o2ib_desc *desc)
{
	return (size_t)desc->ibd_frags_nr * M0_O2IB_FRAG_BYTES;
}

static void desc_put(struct m0_cursor *cur, const struct m0_o2ib_desc *desc)
{
	const struct m0_o2ib_frag *frag = desc->ibd_frags;
	uint32_t                   i;

	M0_PRE(desc->ibd_frags_nr > 0);
	M0_PRE(desc->ibd_frags_nr <= M0_O2IB_FRAGS_SENT_MAX);
	m0_cursor_put_le32(cur, desc->ibd_key);
	m0_cursor_put_le32(cur, desc->ibd_frags_nr);
	for (i = 0; i < desc->ibd_frags_nr; ++i, ++frag) {
		M0_PRE(frag_invariant(frag));
		m0_cursor_put_le32(cur, frag->ibf_bytes);
		m0_cursor_put_le64(cur, frag->ibf_addr);
	}
}

static int frag_get(struct m0_cursor *cur, bool swapped, const char *name,
		    struct m0_o2ib_frag *frag, struct m0_o2ib_why *why)
{
	frag->ibf_bytes = get32(cur, swapped);
	frag->ibf_addr = get64(cur, swapped);
	if (frag->ibf_bytes == 0)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_FRAG_LENGTH,
				       "%s: fragment of 0 bytes at %#llx", name,
				       (unsigned long long)frag->ibf_addr);
	if (!frag_invariant(frag))
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_FRAG_ADDR,
				       "%s: fragment of %u bytes at %#llx",
				       name, frag->ibf_bytes,
				       (unsigned long long)frag->ibf_addr);
	return 0;
}

static int desc_get(struct m0_cursor *cur, const struct m0_o2ib_hdr *hdr,
		    struct m0_o2ib_desc *desc, struct m0_o2ib_why *why)
{
	const char *name = m0_o2ib__type_name(hdr->ibh_type);
	uint32_t    i;
	int         rc = 0;

	M0_PRE(desc->ibd_frags_max <= M0_O2IB_FRAGS_MAX);
	desc->ibd_key = get32(cur, hdr->ibh_swapped);
	desc->ibd_frags_nr = get32(cur, hdr->ibh_swapped);
	desc->ibd_bytes = 0;
	if (desc->ibd_frags_nr == 0 || desc->ibd_frags_nr > desc->ibd_frags_max)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_FRAGS_NR,
				       "%s: %u fragments, expected 1 to %u",
				       name, desc->ibd_frags_nr,
				       desc->ibd_frags_max);
	if (desc_bytes(desc) > m0_cursor_left(cur))
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_LENGTH,
				       "%s: length %u is short of %u fragments",
				       name, hdr->ibh_nob, desc->ibd_frags_nr);
	for (i = 0; i < desc->ibd_frags_nr && rc == 0; ++i) {
		rc = frag_get(cur, hdr->ibh_swapped, name, &desc->ibd_frags[i],
			      why);
		desc->ibd_bytes += desc->ibd_frags[i].ibf_bytes;
	}
	return rc;
}

/** The part that PUT_REQ and GET_REQ share. */
static void req_put(struct m0_cursor *cur, const struct m0_o2ib_hdr *hdr,
		    const struct m0_o2ib_req *req, size_t nob)
{
	hdr_put(cur, hdr, nob);
	m0_cursor_put_bytes(cur, req->ibq_lnet_hdr, M0_O2IB_LNET_HDR_BYTES);
	m0_cursor_put_le64(cur, req->ibq_cookie);
}

static struct m0_cursor req_get(const struct m0_o2ib_hdr *hdr,
				const void *bytes, struct m0_o2ib_req *req)
{
	struct m0_cursor cur = body_get(hdr, bytes);

	req->ibq_lnet_hdr = m0_cursor_skip(&cur, M0_O2IB_LNET_HDR_BYTES);
	req->ibq_cookie = m0_cursor_get_le64(&cur);
	return cur;
}

size_t m0_o2ib__put_req_encode(const struct m0_o2ib_hdr *hdr,
			       const struct m0_o2ib_req *req, void *buf,
			       size_t buf_bytes)
{
	struct m0_cursor cur;

	M0_PRE(hdr->ibh_type == M0_O2IB_PUT_REQ);
	m0_cursor_init(&cur, buf, buf_bytes);
	req_put(&cur, hdr, req, M0_O2IB_PUT_REQ_BYTES);
	return msg_end(&cur, M0_O2IB_PUT_REQ_BYTES);
}

int m0_o2ib__put_req_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			    struct m0_o2ib_req *req, struct m0_o2ib_why *why)
{
	struct m0_cursor cur = req_get(hdr, bytes, req);

	M0_PRE(hdr->ibh_type == M0_O2IB_PUT_REQ);
	M0_POST(m0_cursor_is_ok(&cur));
	(void)why;
	return 0;
}

size_t m0_o2ib__get_req_encode(const struct m0_o2ib_hdr *hdr,
			       const struct m0_o2ib_req *req, void *buf,
			       size_t buf_bytes)
{
	size_t nob = M0_O2IB_GET_REQ_BYTES + desc_bytes(&req->ibq_sink);
	struct m0_cursor cur;

	M0_PRE(hdr->ibh_type == M0_O2IB_GET_REQ);
	m0_cursor_init(&cur, buf, buf_bytes);
	req_put(&cur, hdr, req, nob);
	desc_put(&cur, &req->ibq_sink);
	return msg_end(&cur, nob);
}

int m0_o2ib__get_req_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			    struct m0_o2ib_req *req, struct m0_o2ib_why *why)
{
	struct m0_cursor cur = req_get(hdr, bytes, req);

	M0_PRE(hdr->ibh_type == M0_O2IB_GET_REQ);
	return desc_get(&cur, hdr, &req->ibq_sink, why);
}

size_t m0_o2ib__put_ack_encode(const struct m0_o2ib_hdr     *hdr,
			       const struct m0_o2ib_put_ack *ack, void *buf,
			       size_t buf_bytes)
{
	size_t nob = M0_O2IB_PUT_ACK_BYTES + desc_bytes(&ack->ibk_sink);
	struct m0_cursor cur;

	M0_PRE(hdr->ibh_type == M0_O2IB_PUT_ACK);
	m0_cursor_init(&cur, buf, buf_bytes);
	hdr_put(&cur, hdr, nob);
	m0_cursor_put_le64(&cur, ack->ibk_src_cookie);
	m0_cursor_put_le64(&cur, ack->ibk_dst_cookie);
	desc_put(&cur, &ack->ibk_sink);
	return msg_end(&cur, nob);
}

int m0_o2ib__put_ack_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			    struct m0_o2ib_put_ack *ack,
			    struct m0_o2ib_why     *why)
{
	struct m0_cursor cur = body_get(hdr, bytes);

	M0_PRE(hdr->ibh_type == M0_O2IB_PUT_ACK);
	ack->ibk_src_cookie = m0_cursor_get_le64(&cur);
	ack->ibk_dst_cookie = m0_cursor_get_le64(&cur);
	return desc_get(&cur, hdr, &ack->ibk_sink, why);
}

static bool is_done(uint8_t type)
{
	return type == M0_O2IB_PUT_NAK || type == M0_O2IB_PUT_DONE ||
	       type == M0_O2IB_GET_DONE;
}

size_t m0_o2ib__done_encode(const struct m0_o2ib_hdr  *hdr,
			    const struct m0_o2ib_done *done,
			    uint64_t sink_bytes, void *buf, size_t buf_bytes)
{
	struct m0_cursor cur;

	M0_PRE(is_done(hdr->ibh_type));
	M0_PRE(ergo(hdr->ibh_type == M0_O2IB_PUT_NAK, sink_bytes == 0));
	M0_PRE(done->ibe_status < 0 ||
	       (uint64_t)done->ibe_status <= sink_bytes);
	m0_cursor_init(&cur, buf, buf_bytes);
	hdr_put(&cur, hdr, M0_O2IB_DONE_BYTES);
	m0_cursor_put_le64(&cur, done->ibe_cookie);
	m0_cursor_put_le32(&cur, (uint32_t)done->ibe_status);
	return msg_end(&cur, M0_O2IB_DONE_BYTES);
}

int m0_o2ib__done_decode(const struct m0_o2ib_hdr *hdr, const void *bytes,
			 struct m0_o2ib_done *done, struct m0_o2ib_why *why)
{
	struct m0_cursor cur = body_get(hdr, bytes);

	M0_PRE(is_done(hdr->ibh_type));
	done->ibe_cookie = m0_cursor_get_le64(&cur);
	done->ibe_status = (int32_t)get32(&cur, hdr->ibh_swapped);
	if (done->ibe_status < -ERRNO_MAX ||
	    (hdr->ibh_type == M0_O2IB_PUT_NAK && done->ibe_status > 0))
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_STATUS,
				       "%s: status %d",
				       m0_o2ib__type_name(hdr->ibh_type),
				       done->ibe_status);
	M0_POST(m0_cursor_is_ok(&cur));
	return 0;
}

/* -- peeks ------------------------------------------------------------------- */

uint64_t m0_o2ib__cookie(const void *bytes)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, bytes, sizeof(uint64_t));
	return m0_cursor_get_le64(&cur);
}

enum {
	/** Places in LNet's header. */
	DEST_AT = 0,
	SRC_AT = 8,
	KIND_AT = 24,
	WMD_AT = 32,
	WMD_BYTES = 16
};

enum m0_o2ib_lnet m0_o2ib__lnet_kind(const uint8_t *lnet_hdr)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, lnet_hdr + KIND_AT, sizeof(uint32_t));
	return m0_cursor_get_le32(&cur);
}

uint64_t m0_o2ib__lnet_dest(const uint8_t *lnet_hdr)
{
	return m0_o2ib__cookie(lnet_hdr + DEST_AT);
}

uint64_t m0_o2ib__lnet_src(const uint8_t *lnet_hdr)
{
	return m0_o2ib__cookie(lnet_hdr + SRC_AT);
}

void m0_o2ib__lnet_reply(const uint8_t get[M0_O2IB_LNET_HDR_BYTES],
			 uint32_t bytes, uint8_t ret[M0_O2IB_LNET_HDR_BYTES])
{
	struct m0_cursor from;
	struct m0_cursor to;
	uint64_t         dest;
	uint32_t         dest_pid;

	m0_cursor_init_const(&from, get, M0_O2IB_LNET_HDR_BYTES);
	m0_cursor_init(&to, ret, M0_O2IB_LNET_HDR_BYTES);
	memset(ret, 0, M0_O2IB_LNET_HDR_BYTES);
	dest = m0_cursor_get_le64(&from);
	m0_cursor_put_le64(&to, m0_cursor_get_le64(&from));
	m0_cursor_put_le64(&to, dest);
	dest_pid = m0_cursor_get_le32(&from);
	m0_cursor_put_le32(&to, m0_cursor_get_le32(&from));
	m0_cursor_put_le32(&to, dest_pid);
	m0_cursor_put_le32(&to, M0_O2IB_LNET_REPLY);
	m0_cursor_put_le32(&to, bytes);
	memcpy(ret + WMD_AT, get + WMD_AT, WMD_BYTES);
}

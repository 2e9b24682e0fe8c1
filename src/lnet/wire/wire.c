/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cursor.h"
#include "lnet/wire/wire.h"

const struct m0_lnet_wmd m0_lnet__wmd_none = {
	{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	  0xff, 0xff, 0xff, 0xff, 0xff }
};

bool m0_lnet__wmd_is_none(const struct m0_lnet_wmd *wmd)
{
	return memcmp(wmd, &m0_lnet__wmd_none, sizeof *wmd) == 0;
}

/*
 * The functions below are inlined, so that the sizes of header and cursor are
 * constants where they are compared.
 */

static inline __attribute__((always_inline)) void nids_put(
	struct m0_cursor *cur, bool large, const struct m0_lnet_hdr *hdr)
{
	if (large) {
		m0_lnet_nid_encode(&hdr->lhd_dest_nid,
				   m0_cursor_skip(cur, M0_LNET_NID_BYTES));
		m0_lnet_nid_encode(&hdr->lhd_src_nid,
				   m0_cursor_skip(cur, M0_LNET_NID_BYTES));
	} else {
		m0_cursor_put_le64(cur, m0_lnet_nid_to4(&hdr->lhd_dest_nid));
		m0_cursor_put_le64(cur, m0_lnet_nid_to4(&hdr->lhd_src_nid));
	}
}

static inline __attribute__((always_inline)) void wmd_put(
	struct m0_cursor *cur, const struct m0_lnet_wmd *wmd)
{
	memcpy(m0_cursor_skip(cur, sizeof *wmd), wmd, sizeof *wmd);
}

static inline __attribute__((always_inline)) void hdr_put(
	struct m0_cursor *cur, bool large, const struct m0_lnet_hdr *hdr)
{
	nids_put(cur, large, hdr);
	m0_cursor_put_le32(cur, hdr->lhd_dest_pid);
	m0_cursor_put_le32(cur, hdr->lhd_src_pid);
	m0_cursor_put_le32(cur, hdr->lhd_type);
	m0_cursor_put_le32(cur, hdr->lhd_payload_bytes);
	wmd_put(cur, &hdr->lhd_wmd);
	/* Fields that a type does not carry are 0. */
	memset(cur->cu_at, 0, (size_t)(cur->cu_end - cur->cu_at));
	switch (hdr->lhd_type) {
	case M0_LNET_ACK:
		m0_cursor_put_le64(cur, hdr->lhd_match_bits);
		m0_cursor_put_le32(cur, hdr->lhd_length);
		break;
	case M0_LNET_PUT:
		m0_cursor_put_le64(cur, hdr->lhd_match_bits);
		m0_cursor_put_le64(cur, hdr->lhd_hdr_data);
		m0_cursor_put_le32(cur, hdr->lhd_portal);
		m0_cursor_put_le32(cur, hdr->lhd_offset);
		break;
	case M0_LNET_GET:
		m0_cursor_put_le64(cur, hdr->lhd_match_bits);
		m0_cursor_put_le32(cur, hdr->lhd_portal);
		m0_cursor_put_le32(cur, hdr->lhd_offset);
		m0_cursor_put_le32(cur, hdr->lhd_length);
		break;
	default:
		M0_PRE(hdr->lhd_type == M0_LNET_REPLY);
		break;
	}
}

/** Returns true if the NID fits in 64 bits. */
static inline __attribute__((always_inline)) bool fits_small(
	const struct m0_lnet_nid *nid)
{
	return nid->ln_size == 0 || m0_lnet_nid_is_any(nid);
}

size_t m0_lnet__hdr_encode(const struct m0_lnet_hdr *hdr, bool large,
			   uint8_t buf[M0_LNET_HDR_LARGE_BYTES])
{
	struct m0_cursor cur;

	if (large) {
		m0_cursor_init(&cur, buf, M0_LNET_HDR_LARGE_BYTES);
		hdr_put(&cur, true, hdr);
		return M0_LNET_HDR_LARGE_BYTES;
	}
	if (!fits_small(&hdr->lhd_dest_nid) || !fits_small(&hdr->lhd_src_nid))
		return 0;
	m0_cursor_init(&cur, buf, M0_LNET_HDR_BYTES);
	hdr_put(&cur, false, hdr);
	return M0_LNET_HDR_BYTES;
}

static inline __attribute__((always_inline)) int nids_get(
	struct m0_cursor *cur, bool large, struct m0_lnet_hdr *hdr)
{
	const void *dest;
	const void *src;
	uint64_t    dest4;
	uint64_t    src4;

	if (large) {
		dest = m0_cursor_skip(cur, M0_LNET_NID_BYTES);
		src = m0_cursor_skip(cur, M0_LNET_NID_BYTES);
		return m0_lnet_nid_decode(&hdr->lhd_dest_nid, dest) |
		       m0_lnet_nid_decode(&hdr->lhd_src_nid, src);
	}
	dest4 = m0_cursor_get_le64(cur);
	src4 = m0_cursor_get_le64(cur);
	return m0_lnet_nid_from4(&hdr->lhd_dest_nid, dest4) |
	       m0_lnet_nid_from4(&hdr->lhd_src_nid, src4);
}

static inline __attribute__((always_inline)) int rest_get(
	struct m0_cursor *cur, struct m0_lnet_hdr *hdr)
{
	hdr->lhd_dest_pid = m0_cursor_get_le32(cur);
	hdr->lhd_src_pid = m0_cursor_get_le32(cur);
	hdr->lhd_type = m0_cursor_get_le32(cur);
	hdr->lhd_payload_bytes = m0_cursor_get_le32(cur);
	memcpy(&hdr->lhd_wmd, m0_cursor_skip(cur, sizeof hdr->lhd_wmd),
	       sizeof hdr->lhd_wmd);
	hdr->lhd_match_bits = 0;
	hdr->lhd_hdr_data = 0;
	hdr->lhd_portal = 0;
	hdr->lhd_offset = 0;
	hdr->lhd_length = 0;
	switch (hdr->lhd_type) {
	case M0_LNET_ACK:
		hdr->lhd_match_bits = m0_cursor_get_le64(cur);
		hdr->lhd_length = m0_cursor_get_le32(cur);
		return 0;
	case M0_LNET_PUT:
		hdr->lhd_match_bits = m0_cursor_get_le64(cur);
		hdr->lhd_hdr_data = m0_cursor_get_le64(cur);
		hdr->lhd_portal = m0_cursor_get_le32(cur);
		hdr->lhd_offset = m0_cursor_get_le32(cur);
		return 0;
	case M0_LNET_GET:
		hdr->lhd_match_bits = m0_cursor_get_le64(cur);
		hdr->lhd_portal = m0_cursor_get_le32(cur);
		hdr->lhd_offset = m0_cursor_get_le32(cur);
		hdr->lhd_length = m0_cursor_get_le32(cur);
		return 0;
	case M0_LNET_REPLY:
		return 0;
	default:
		return -EPROTO;
	}
}

int m0_lnet__hdr_decode(struct m0_lnet_hdr *hdr, bool large, const void *bytes)
{
	struct m0_cursor cur;

	if (large) {
		m0_cursor_init_const(&cur, bytes, M0_LNET_HDR_LARGE_BYTES);
		return nids_get(&cur, true, hdr) == 0 ? rest_get(&cur, hdr)
						      : -EPROTO;
	}
	m0_cursor_init_const(&cur, bytes, M0_LNET_HDR_BYTES);
	return nids_get(&cur, false, hdr) == 0 ? rest_get(&cur, hdr) : -EPROTO;
}

bool m0_lnet__hdr_is_between(const void *bytes, uint64_t dest4, uint64_t src4)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, bytes, M0_LNET_HDR_BYTES);
	return m0_cursor_get_le64(&cur) == dest4 &&
	       m0_cursor_get_le64(&cur) == src4 && dest4 != M0_LNET_NID4_ANY &&
	       src4 != M0_LNET_NID4_ANY;
}

int m0_lnet__hdr_decode_rest(struct m0_lnet_hdr *hdr, const void *bytes)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, bytes, M0_LNET_HDR_BYTES);
	(void)m0_cursor_skip(&cur, 2 * sizeof(uint64_t));
	return rest_get(&cur, hdr);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/cursor.h"
#include "lnet/wire/wire.h"

enum {
	PING_MAGIC = 0x70696e67,
	/** Features that describe what follows the entries of 64-bit NIDs. */
	FEATURES_OF_LAYOUT = M0_LNET_FEAT_LARGE_ADDR |
			     M0_LNET_FEAT_PRIMARY_LARGE | M0_LNET_FEAT_METADATA,
	/** Status and the head of a NID, without its address. */
	LARGE_FIXED_BYTES = 8,
	/** Bytes of an address that the size of a NID does not count. */
	ADDR_LEAST_BYTES = 4
};

/* -- encoding -------------------------------------------------------------- */

/**
 * Returns the bytes of a large entry: the status, and the NID up to its size.
 */
static size_t large_size(uint8_t nid_size)
{
	return m0_cursor_xdr_size(LARGE_FIXED_BYTES + ADDR_LEAST_BYTES +
				  (size_t)nid_size);
}

static bool is_large(const struct m0_lnet_ping_ni *ni)
{
	return !m0_lnet_nid_is_nid4(&ni->lpg_nid);
}

static unsigned large_nr(const struct m0_lnet_ping_info *info)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < info->lpi_nis_nr; ++i)
		nr += is_large(&info->lpi_nis[i]);
	return nr;
}

size_t m0_lnet__ping_size(const struct m0_lnet_ping_info *info)
{
	size_t   size = M0_LNET_PING_HEADER_BYTES + M0_LNET_PING_ENTRY_BYTES;
	unsigned i;

	M0_PRE(info->lpi_nis_nr == 0 || info->lpi_nis != NULL);
	for (i = 0; i < info->lpi_nis_nr; ++i)
		size += is_large(&info->lpi_nis[i])
				? large_size(info->lpi_nis[i].lpg_nid.ln_size)
				: M0_LNET_PING_ENTRY_BYTES;
	return size;
}

/** Puts the bytes of `part` that fit. */
static void part_put(struct m0_cursor *cur, const void *part, size_t nr)
{
	m0_cursor_put_bytes(cur, part, min_check(nr, m0_cursor_left(cur)));
}

static void entry_put(struct m0_cursor *cur, const struct m0_lnet_nid *nid,
		      uint32_t status, uint32_t size)
{
	uint8_t          bytes[M0_LNET_PING_ENTRY_BYTES];
	struct m0_cursor part;

	M0_PRE(m0_lnet_nid_is_nid4(nid));
	m0_cursor_init(&part, bytes, sizeof bytes);
	m0_cursor_put_le64(&part, m0_lnet_nid_to4(nid));
	m0_cursor_put_le32(&part, status);
	m0_cursor_put_le32(&part, size);
	part_put(cur, bytes, sizeof bytes);
}

static uint32_t status_of(const struct m0_lnet_ping_ni *ni)
{
	return ni->lpg_up ? M0_LNET_STATUS_UP : M0_LNET_STATUS_DOWN;
}

static void large_put(struct m0_cursor *cur, const struct m0_lnet_ping_ni *ni)
{
	uint8_t          bytes[sizeof(uint32_t) + M0_LNET_NID_BYTES];
	struct m0_cursor part;

	M0_PRE(ni->lpg_nid.ln_size <= M0_LNET_NID_SIZE_IPV6);
	m0_cursor_init(&part, bytes, sizeof bytes);
	m0_cursor_put_le32(&part, status_of(ni));
	m0_lnet_nid_encode(&ni->lpg_nid,
			   m0_cursor_skip(&part, M0_LNET_NID_BYTES));
	part_put(cur, bytes, large_size(ni->lpg_nid.ln_size));
}

static void header_put(struct m0_cursor *cur, uint32_t features, uint32_t pid,
		       uint32_t nis_nr)
{
	uint8_t          bytes[M0_LNET_PING_HEADER_BYTES];
	struct m0_cursor part;

	m0_cursor_init(&part, bytes, sizeof bytes);
	m0_cursor_put_le32(&part, PING_MAGIC);
	m0_cursor_put_le32(&part, features);
	m0_cursor_put_le32(&part, pid);
	m0_cursor_put_le32(&part, nis_nr);
	part_put(cur, bytes, sizeof bytes);
}

size_t m0_lnet__ping_encode(const struct m0_lnet_ping_info *info, void *buf,
			    size_t max)
{
	const struct m0_lnet_ping_ni *nis = info->lpi_nis;
	struct m0_cursor              cur;
	uint32_t features = info->lpi_features & ~(uint32_t)FEATURES_OF_LAYOUT;
	uint32_t size = 0;
	unsigned larges = large_nr(info);
	unsigned i;

	if (larges > 0) {
		features |= M0_LNET_FEAT_LARGE_ADDR;
		if (is_large(&nis[0]))
			features |= M0_LNET_FEAT_PRIMARY_LARGE;
		size = (uint32_t)m0_lnet__ping_size(info);
	}
	m0_cursor_init(&cur, buf, max);
	header_put(&cur, features, info->lpi_pid,
		   1 + info->lpi_nis_nr - larges);
	entry_put(&cur, &m0_lnet_nid_lo, info->lpi_seq, size);
	for (i = 0; i < info->lpi_nis_nr; ++i)
		if (!is_large(&nis[i]))
			entry_put(&cur, &nis[i].lpg_nid, status_of(&nis[i]), 0);
	for (i = 0; i < info->lpi_nis_nr; ++i)
		if (is_large(&nis[i]))
			large_put(&cur, &nis[i]);
	M0_POST(m0_cursor_pos(&cur) <= max);
	return m0_cursor_pos(&cur);
}

/* -- decoding -------------------------------------------------------------- */

/** The state of a decoder, for either byte order. */
struct ping_decoder {
	struct m0_cursor          pd_cur;
	struct m0_lnet_ping_info *pd_info;
	bool                      pd_swapped;
};

static uint32_t get32(struct ping_decoder *dec)
{
	return dec->pd_swapped ? m0_cursor_get_be32(&dec->pd_cur)
			       : m0_cursor_get_le32(&dec->pd_cur);
}

static uint64_t get64(struct ping_decoder *dec)
{
	return dec->pd_swapped ? m0_cursor_get_be64(&dec->pd_cur)
			       : m0_cursor_get_le64(&dec->pd_cur);
}

/** Adds an NI, if it is one that messages can be sent to. */
static void ni_add(struct m0_lnet_ping_info *info,
		   const struct m0_lnet_nid *nid, uint32_t status)
{
	if (m0_lnet_nid_is_any(nid) || m0_lnet_nid_is_lo(nid))
		return;
	if (info->lpi_nis_nr < info->lpi_nis_max)
		info->lpi_nis[info->lpi_nis_nr] = (struct m0_lnet_ping_ni){
			.lpg_nid = *nid,
			.lpg_up = status == M0_LNET_STATUS_UP,
		};
	++info->lpi_nis_nr;
}

/** Decodes up to `nr` entries of 64-bit NIDs, as many as are complete. */
static void entries_get(struct ping_decoder *dec, uint32_t nr)
{
	struct m0_lnet_nid nid;
	uint64_t           nid4;
	uint32_t           status;

	for (; nr > 0; --nr) {
		if (m0_cursor_left(&dec->pd_cur) < M0_LNET_PING_ENTRY_BYTES)
			return;
		nid4 = get64(dec);
		status = get32(dec);
		(void)get32(dec);
		if (m0_lnet_nid_from4(&nid, nid4) == 0)
			ni_add(dec->pd_info, &nid, status);
	}
}

/** Decodes the next large entry; false at the end. */
static bool large_get(struct ping_decoder *dec, bool wanted)
{
	struct m0_cursor  *cur = &dec->pd_cur;
	uint8_t            bytes[M0_LNET_NID_BYTES] = {};
	struct m0_lnet_nid nid;
	uint32_t           status;
	const uint8_t     *at;
	size_t             size;

	if (m0_cursor_left(cur) < LARGE_FIXED_BYTES)
		return false;
	size = large_size(cur->cu_at[sizeof status]);
	status = get32(dec);
	at = m0_cursor_skip(cur, size - sizeof status);
	if (at == NULL)
		return false;
	/* Bytes between a NID of odd size and the next word are padding. */
	memcpy(bytes, at,
	       min_check((size_t)at[0] + LARGE_FIXED_BYTES, sizeof bytes));
	if (wanted && at[0] <= M0_LNET_NID_SIZE_IPV6 &&
	    m0_lnet_nid_decode(&nid, bytes) == 0)
		ni_add(dec->pd_info, &nid, status);
	return true;
}

/**
 * Decodes the entries with the primary NID first, which is the first large one
 * if the features say so.
 */
static void nis_get(struct ping_decoder *dec, uint32_t entries_nr, size_t end)
{
	struct m0_cursor *cur = &dec->pd_cur;
	uint8_t          *entries = cur->cu_at;
	size_t before = min_check((size_t)entries_nr * M0_LNET_PING_ENTRY_BYTES,
				  m0_cursor_left(cur));
	uint8_t *larges = entries + before;
	uint32_t features = dec->pd_info->lpi_features;
	bool     primary_large;

	primary_large = (features & M0_LNET_FEAT_LARGE_ADDR) != 0 &&
			(features & M0_LNET_FEAT_PRIMARY_LARGE) != 0;
	/* Metadata may follow. */
	if (m0_cursor_pos(cur) + m0_cursor_left(cur) > end)
		cur->cu_end = cur->cu_start + end;
	if (primary_large) {
		cur->cu_at = larges;
		(void)large_get(dec, true);
		cur->cu_at = entries;
		cur->cu_bad = false;
	}
	entries_get(dec, entries_nr);
	if ((features & M0_LNET_FEAT_LARGE_ADDR) == 0)
		return;
	cur->cu_at = larges;
	if (large_get(dec, !primary_large))
		while (large_get(dec, true))
			;
}

int m0_lnet__ping_decode(struct m0_lnet_ping_info *info, const void *bytes,
			 size_t nr)
{
	struct ping_decoder dec = { .pd_info = info };
	size_t              size;
	uint32_t            entries_nr;
	uint32_t            whole;
	uint64_t            lo;

	M0_PRE(info->lpi_nis_max == 0 || info->lpi_nis != NULL);
	m0_cursor_init_const(&dec.pd_cur, bytes, nr);
	dec.pd_swapped = m0_cursor_get_le32(&dec.pd_cur) ==
			 __builtin_bswap32(PING_MAGIC);
	m0_cursor_init_const(&dec.pd_cur, bytes, nr);
	if (get32(&dec) != PING_MAGIC)
		return -EPROTO;
	info->lpi_features = get32(&dec);
	info->lpi_pid = get32(&dec);
	entries_nr = get32(&dec);
	lo = get64(&dec);
	info->lpi_seq = get32(&dec);
	whole = get32(&dec);
	if (!m0_cursor_is_ok(&dec.pd_cur) ||
	    (info->lpi_features & M0_LNET_FEAT_NI_STATUS) == 0 ||
	    entries_nr < 1 || entries_nr > M0_LNET_PING_NIS_MAX ||
	    lo != m0_lnet_nid_to4(&m0_lnet_nid_lo))
		return -EPROTO;
	size = M0_LNET_PING_HEADER_BYTES +
	       (size_t)entries_nr * M0_LNET_PING_ENTRY_BYTES;
	if ((info->lpi_features & M0_LNET_FEAT_LARGE_ADDR) != 0)
		size = max_check(size, (size_t)(whole & ~UINT32_C(3)));
	if (size > M0_LNET_PING_BYTES_MAX)
		return -EPROTO;
	info->lpi_bytes = size;
	info->lpi_truncated = nr < size;
	info->lpi_nis_nr = 0;
	nis_get(&dec, entries_nr - 1, size);
	return info->lpi_nis_nr <= M0_LNET_PING_NIS_MAX ? 0 : -EPROTO;
}

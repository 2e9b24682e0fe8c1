/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rules in their encoded form, see m0/lnet_udsp.h. */
#include "lnet/policy/range.h"

enum {
	HEADER_BYTES = 32,
	DESCR_BYTES = 16,
	RANGE_BYTES = 12,
	PREFIX_BYTES = M0_LNET_NID_ADDR_BYTES + 4,
	/** The version of the form. */
	VERSION = 1
};

static const char tags[3][4] = { "SRC", "DST", "RTE" };

static const struct m0_lnet_nid_range *range_at(const struct m0_lnet_udsp *udsp,
						unsigned                   i)
{
	return i == 0   ? &udsp->lud_src
	       : i == 1 ? &udsp->lud_dst
			: &udsp->lud_rte;
}

static bool has_prefix(const struct m0_lnet_nid_range *range)
{
	return M0_IN(range->lnr_form,
		     (M0_LNET_NID_RANGE_ALL, M0_LNET_NID_RANGE_PREFIX));
}

static uint32_t descr_size(const struct m0_lnet_nid_range *range)
{
	return DESCR_BYTES + RANGE_BYTES * m0_lnet__ranges_nr(range) +
	       4 * range->lnr_parts_nr + (has_prefix(range) ? PREFIX_BYTES : 0);
}

uint32_t m0_lnet_udsp_size(const struct m0_lnet_udsp *udsp)
{
	uint32_t bytes = HEADER_BYTES;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(tags); ++i)
		bytes += descr_size(range_at(udsp, i));
	M0_POST(bytes <= M0_LNET_UDSP_BYTES_MAX);
	return bytes;
}

/* -- encoding -------------------------------------------------------------- */

static void put(uint8_t **at, const void *bytes, size_t nr)
{
	memcpy(*at, bytes, nr);
	*at += nr;
}

static void put32(uint8_t **at, uint32_t word)
{
	put(at, &word, sizeof word);
}

static void ranges_put(uint8_t **at, const struct m0_lnet_range **from,
		       unsigned nr)
{
	for (; nr > 0; --nr, ++*from) {
		put32(at, (*from)->lrg_lo);
		put32(at, (*from)->lrg_hi);
		put32(at, (*from)->lrg_stride);
	}
}

static void descr_put(uint8_t **at, const struct m0_lnet_nid_range *range,
		      const char tag[4])
{
	const struct m0_lnet_range *from = range->lnr_ranges;
	bool                        prefix = has_prefix(range);
	unsigned                    i;

	put(at, tag, 3);
	put(at, prefix ? "6" : "", 1);
	put32(at, prefix ? 1 : range->lnr_parts_nr);
	put32(at, range->lnr_type);
	put32(at, range->lnr_nets_nr);
	ranges_put(at, &from, range->lnr_nets_nr);
	for (i = 0; i < range->lnr_parts_nr; ++i) {
		put32(at, range->lnr_part_nr[i]);
		ranges_put(at, &from, range->lnr_part_nr[i]);
	}
	if (prefix) {
		put(at, range->lnr_prefix, sizeof range->lnr_prefix);
		put32(at, range->lnr_prefix_bits);
	}
}

int m0_lnet_udsp_marshal(const struct m0_lnet_udsp *udsp, uint32_t *bulk_size,
			 void *bulk)
{
	uint8_t *at = bulk;
	uint32_t bytes;
	unsigned i;

	if (m0_lnet_udsp_check(udsp, NULL) != 0)
		return -EINVAL;
	bytes = m0_lnet_udsp_size(udsp);
	if (*bulk_size < bytes) {
		*bulk_size = bytes;
		return -ENOSPC;
	}
	*bulk_size = bytes;
	put32(&at, bytes);
	put32(&at, VERSION);
	put32(&at, (uint32_t)udsp->lud_idx);
	put32(&at, udsp->lud_action);
	put32(&at, bytes - HEADER_BYTES);
	put32(&at, udsp->lud_priority);
	put32(&at, 0);
	put32(&at, 0);
	for (i = 0; i < ARRAY_SIZE(tags); ++i)
		descr_put(&at, range_at(udsp, i), tags[i]);
	M0_POST(at == (uint8_t *)bulk + bytes);
	return 0;
}

/* -- decoding -------------------------------------------------------------- */

/** Bytes that are decoded, and what is wrong with them. */
struct parse {
	const uint8_t *prs_bytes;
	uint32_t       prs_nr;
	uint32_t       prs_at;
	char          *prs_why;
};

static int bad_at(const struct parse *from, uint32_t at, const char *what)
{
	return m0_lnet__range_why(from->prs_why, -EPROTO,
				  "offset %" PRIu32 ": %s", at, what);
}

static int get(struct parse *from, void *ret, uint32_t nr)
{
	if (from->prs_nr - from->prs_at < nr)
		return bad_at(from, from->prs_at, "the bytes end here");
	memcpy(ret, from->prs_bytes + from->prs_at, nr);
	from->prs_at += nr;
	return 0;
}

static int get32(struct parse *from, uint32_t *ret)
{
	return get(from, ret, sizeof *ret);
}

/** Decodes `nr` ranges behind those that the range has, and counts them. */
static int ranges_get(struct parse *from, struct m0_lnet_nid_range *range,
		      uint32_t nr, uint8_t *count)
{
	struct m0_lnet_range *to;
	int                   rc = 0;

	if (nr > M0_LNET_RANGES_MAX - m0_lnet__ranges_nr(range))
		return bad_at(from, from->prs_at - 4,
			      "there are more than 32 ranges");
	for (; rc == 0 && nr > 0; --nr) {
		to = &range->lnr_ranges[m0_lnet__ranges_nr(range)];
		rc = get(from, to, RANGE_BYTES);
		if (rc == 0 && (to->lrg_lo > to->lrg_hi || to->lrg_stride == 0))
			rc = bad_at(from, from->prs_at - RANGE_BYTES,
				    "the range is not LO, HI, STRIDE");
		++*count;
	}
	return rc;
}

/** @param at  offset of the number of parts. */
static int prefix_get(struct parse *from, struct m0_lnet_nid_range *range,
		      uint32_t parts, uint32_t at)
{
	int rc;

	if (parts != 1)
		return bad_at(from, at, "a prefix is one part");
	rc = get(from, range->lnr_prefix, sizeof range->lnr_prefix);
	if (rc == 0)
		rc = get32(from, &range->lnr_prefix_bits);
	range->lnr_form = range->lnr_prefix_bits == 0
				  ? M0_LNET_NID_RANGE_ALL
				  : M0_LNET_NID_RANGE_PREFIX;
	return rc;
}

/** @param at  offset of the number of parts. */
static int parts_get(struct parse *from, struct m0_lnet_nid_range *range,
		     uint32_t parts, uint32_t at)
{
	uint32_t nr = 0;
	uint32_t i;
	int      rc = 0;

	if (parts > M0_LNET__IP4_PARTS_NR)
		return bad_at(from, at, "an address has at most 4 parts");
	range->lnr_form = parts == 0 ? M0_LNET_NID_RANGE_NET
				     : M0_LNET_NID_RANGE_PARTS;
	range->lnr_parts_nr = (uint8_t)parts;
	for (i = 0; rc == 0 && i < parts; ++i) {
		rc = get32(from, &nr);
		if (rc == 0)
			rc = ranges_get(from, range, nr,
					&range->lnr_part_nr[i]);
	}
	return rc;
}

static int descr_get(struct parse *from, struct m0_lnet_nid_range *range,
		     const char tag[4])
{
	uint32_t at = from->prs_at;
	char     got[4];
	/* Parts, type and ranges of network numbers. */
	uint32_t    head[3];
	bool        prefix;
	const char *flaw;
	int         rc = get(from, got, sizeof got);

	if (rc == 0)
		rc = get(from, head, sizeof head);
	if (rc != 0)
		return rc;
	prefix = got[3] == '6';
	if (memcmp(got, tag, 3) != 0 || (!prefix && got[3] != '\0'))
		return m0_lnet__range_why(from->prs_why, -EPROTO,
					  "offset %" PRIu32
					  ": the tag is not %s or %s6",
					  at, tag, tag);
	if (head[1] > UINT8_MAX)
		return bad_at(from, at + 8, "the type of network is unknown");
	if (head[1] == 0)
		return head[0] == 0 && head[2] == 0 && !prefix
			       ? 0
			       : bad_at(from, at + 4,
					"a descriptor without network has "
					"addresses");
	range->lnr_type = (uint8_t)head[1];
	rc = ranges_get(from, range, head[2], &range->lnr_nets_nr);
	if (rc == 0)
		rc = prefix ? prefix_get(from, range, head[0], at + 4)
			    : parts_get(from, range, head[0], at + 4);
	if (rc != 0)
		return rc;
	flaw = m0_lnet__range_malformed(range);
	return flaw == NULL ? 0 : bad_at(from, at, flaw);
}

static int header_get(struct parse *from, struct m0_lnet_udsp *udsp)
{
	/* Length, version, index, action, length of the rest, priority, and
	 * the pointer. */
	uint32_t words[HEADER_BYTES / sizeof(uint32_t)];
	int      rc = get(from, words, sizeof words);

	if (rc != 0)
		return rc;
	if (words[0] != from->prs_nr)
		return bad_at(from, 0, "the length is not that of the bytes");
	if (words[1] != VERSION)
		return bad_at(from, 4, "the version is not 1");
	if (words[4] != from->prs_nr - HEADER_BYTES)
		return bad_at(from, 16,
			      "the length is not that of the descriptors");
	udsp->lud_idx = (int32_t)words[2];
	udsp->lud_action = words[3];
	udsp->lud_priority = words[5];
	return 0;
}

int m0_lnet_udsp_unmarshal(const void *bulk, uint32_t bulk_size,
			   struct m0_lnet_udsp *udsp, char *why)
{
	struct parse from = { bulk, bulk_size, 0, why };
	char         said[256];
	int          rc;

	M0_SET0(udsp);
	rc = header_get(&from, udsp);
	if (rc == 0)
		rc = descr_get(&from, &udsp->lud_src, tags[0]);
	if (rc == 0)
		rc = descr_get(&from, &udsp->lud_dst, tags[1]);
	if (rc == 0)
		rc = descr_get(&from, &udsp->lud_rte, tags[2]);
	if (rc != 0)
		return rc;
	if (from.prs_at != bulk_size)
		return bad_at(&from, from.prs_at, "the bytes go on");
	if (m0_lnet_udsp_check(udsp, why) == 0)
		return 0;
	if (why != NULL) {
		strncpy(said, why, sizeof said - 1);
		said[sizeof said - 1] = '\0';
		(void)bad_at(&from, 8, said);
	}
	return -EPROTO;
}

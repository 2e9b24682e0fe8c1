/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Ranges of NIDs: which are well-formed, and which NIDs they have. */
#include <stdio.h>

#include "lnet/policy/range.h"
#include "lnet/wire/net_type.h"

int m0_lnet__range_why(char *why, int rc, const char *fmt, ...)
{
	va_list args;

	if (why == NULL)
		return rc;
	va_start(args, fmt);
	(void)vsnprintf(why, M0_LNET_WHY_BYTES, fmt, args);
	va_end(args);
	return rc;
}

void m0_lnet__prefix_cut(uint8_t addr[M0_LNET_NID_ADDR_BYTES], unsigned bits)
{
	unsigned i;

	M0_PRE(bits <= M0_LNET__PREFIX_BITS_MAX);
	for (i = 0; i < M0_LNET_NID_ADDR_BYTES; ++i) {
		if (bits >= (i + 1) * 8)
			continue;
		addr[i] &= bits <= i * 8 ? 0
					 : (uint8_t)(0xff00 >> (bits - i * 8));
	}
}

static bool is_ip(uint8_t type)
{
	const struct m0_lnet__net_type *found = m0_lnet__net_type_find(type);

	return found != NULL && found->lty_form <= M0_LNET__ADDR_IP;
}

uint32_t m0_lnet__part_max(uint8_t type)
{
	return is_ip(type) ? UINT8_MAX : UINT32_MAX;
}

unsigned m0_lnet__ranges_nr(const struct m0_lnet_nid_range *range)
{
	return (unsigned)range->lnr_nets_nr + range->lnr_part_nr[0] +
	       range->lnr_part_nr[1] + range->lnr_part_nr[2] +
	       range->lnr_part_nr[3];
}

/* -- well-formed ----------------------------------------------------------- */

static bool ranges_ok(const struct m0_lnet_range *ranges, unsigned nr,
		      uint32_t max)
{
	unsigned i;

	for (i = 0; i < nr; ++i)
		if (ranges[i].lrg_lo > ranges[i].lrg_hi ||
		    ranges[i].lrg_hi > max || ranges[i].lrg_stride == 0)
			return false;
	return true;
}

static bool is_zero(const void *bytes, size_t nr)
{
	const uint8_t *at = bytes;

	for (; nr > 0; --nr, ++at)
		if (*at != 0)
			return false;
	return true;
}

/** Checks the parts of an address. */
static const char *parts_flaw(const struct m0_lnet_nid_range *range)
{
	unsigned want = range->lnr_form != M0_LNET_NID_RANGE_PARTS ? 0
			: is_ip(range->lnr_type) ? M0_LNET__IP4_PARTS_NR
						 : 1;
	unsigned nr = range->lnr_nets_nr;
	unsigned i;

	if (range->lnr_parts_nr != want)
		return "the number of parts of the address is wrong";
	for (i = 0; i < M0_LNET__IP4_PARTS_NR; ++i) {
		if ((range->lnr_part_nr[i] > 0) != (i < want))
			return "a part of the address has no number";
		nr += range->lnr_part_nr[i];
	}
	if (nr > M0_LNET_RANGES_MAX)
		return "there are more than 32 ranges of numbers";
	return ranges_ok(range->lnr_ranges + range->lnr_nets_nr,
			 nr - range->lnr_nets_nr,
			 m0_lnet__part_max(range->lnr_type))
		       ? NULL
		       : "a range of an address is not LO-HI/STRIDE, or is too "
			 "high";
}

static const char *prefix_flaw(const struct m0_lnet_nid_range *range)
{
	uint8_t addr[M0_LNET_NID_ADDR_BYTES];

	memcpy(addr, range->lnr_prefix, sizeof addr);
	if (range->lnr_form != M0_LNET_NID_RANGE_PREFIX)
		return range->lnr_prefix_bits == 0 && is_zero(addr, sizeof addr)
			       ? NULL
			       : "only an IPv6 range has a prefix";
	if (m0_lnet__net_type_find(range->lnr_type)->lty_form !=
	    M0_LNET__ADDR_IP)
		return "the network has no IPv6 addresses";
	if (range->lnr_prefix_bits == 0 ||
	    range->lnr_prefix_bits > M0_LNET__PREFIX_BITS_MAX)
		return "the length of the prefix is not 1 to 128";
	m0_lnet__prefix_cut(addr, range->lnr_prefix_bits);
	return memcmp(addr, range->lnr_prefix, sizeof addr) == 0
		       ? NULL
		       : "the prefix has bits behind its length";
}

const char *m0_lnet__range_malformed(const struct m0_lnet_nid_range *range)
{
	const struct m0_lnet__net_type *type =
		m0_lnet__net_type_find(range->lnr_type);
	const char *flaw;
	unsigned    nr;

	if (range->lnr_form >= M0_LNET_NID_RANGE_FORMS_NR)
		return "there is no such form of a range";
	if (range->lnr_form == M0_LNET_NID_RANGE_NONE)
		return is_zero(range, sizeof *range)
			       ? NULL
			       : "the range is none, but has fields";
	if (type == NULL || type->lty_form == M0_LNET__ADDR_LO)
		return "the type of network is unknown, or lo";
	if (range->lnr_nets_nr > M0_LNET_RANGES_MAX ||
	    !ranges_ok(range->lnr_ranges, range->lnr_nets_nr, UINT16_MAX))
		return "a range of network numbers is not LO-HI/STRIDE up to "
		       "65535";
	if (range->lnr_form == M0_LNET_NID_RANGE_ALL && !is_ip(range->lnr_type))
		return "every address of a numeric network is one range";
	flaw = parts_flaw(range);
	if (flaw == NULL)
		flaw = prefix_flaw(range);
	if (flaw != NULL)
		return flaw;
	nr = m0_lnet__ranges_nr(range);
	return is_zero(range->lnr_ranges + nr,
		       (M0_LNET_RANGES_MAX - nr) * sizeof range->lnr_ranges[0])
		       ? NULL
		       : "ranges beyond the last one are not 0";
}

/* -- matching -------------------------------------------------------------- */

static bool ranges_have(const struct m0_lnet_range *ranges, unsigned nr,
			uint32_t number)
{
	for (; nr > 0; --nr, ++ranges)
		if (number >= ranges->lrg_lo && number <= ranges->lrg_hi &&
		    (ranges->lrg_stride == 1 ||
		     (number - ranges->lrg_lo) % ranges->lrg_stride == 0))
			return true;
	return false;
}

bool m0_lnet_nid_range_has_net(const struct m0_lnet_nid_range *range,
			       uint32_t                        net)
{
	M0_PRE_EX(m0_lnet__range_malformed(range) == NULL);
	if (range->lnr_form == M0_LNET_NID_RANGE_NONE ||
	    range->lnr_type != net >> 16)
		return false;
	return range->lnr_nets_nr == 0
		       ? m0_lnet_net_num(net) == 0
		       : ranges_have(range->lnr_ranges, range->lnr_nets_nr,
				     m0_lnet_net_num(net));
}

static bool parts_have(const struct m0_lnet_nid_range *range,
		       const struct m0_lnet_nid       *nid)
{
	const struct m0_lnet_range *at = range->lnr_ranges + range->lnr_nets_nr;
	unsigned                    i;

	if (nid->ln_size != 0)
		return false;
	if (range->lnr_parts_nr == 1)
		return ranges_have(at, range->lnr_part_nr[0],
				   m0_lnet__addr_word(nid->ln_addr));
	for (i = 0; i < M0_LNET__IP4_PARTS_NR; ++i) {
		if (!ranges_have(at, range->lnr_part_nr[i], nid->ln_addr[i]))
			return false;
		at += range->lnr_part_nr[i];
	}
	return true;
}

static bool prefix_has(const struct m0_lnet_nid_range *range,
		       const struct m0_lnet_nid       *nid)
{
	unsigned bytes = range->lnr_prefix_bits / 8;
	unsigned rest = range->lnr_prefix_bits % 8;

	if (nid->ln_size != M0_LNET_NID_SIZE_IPV6 ||
	    memcmp(nid->ln_addr, range->lnr_prefix, bytes) != 0)
		return false;
	return rest == 0 ||
	       (uint8_t)(nid->ln_addr[bytes] ^ range->lnr_prefix[bytes]) >>
			       (8 - rest) ==
		       0;
}

bool m0_lnet_nid_range_has(const struct m0_lnet_nid_range *range,
			   const struct m0_lnet_nid       *nid)
{
	if (m0_lnet_nid_is_any(nid) ||
	    !m0_lnet_nid_range_has_net(range, m0_lnet_nid_net(nid)))
		return false;
	switch ((enum m0_lnet_nid_range_form)range->lnr_form) {
	case M0_LNET_NID_RANGE_NET:
	case M0_LNET_NID_RANGE_ALL:
		return true;
	case M0_LNET_NID_RANGE_PARTS:
		return parts_have(range, nid);
	case M0_LNET_NID_RANGE_PREFIX:
		return prefix_has(range, nid);
	default:
		return false;
	}
}

/* -- bounds ---------------------------------------------------------------- */

static void ranges_bounds(const struct m0_lnet_range *ranges, unsigned nr,
			  uint32_t *lo, uint32_t *hi)
{
	*lo = UINT32_MAX;
	*hi = 0;
	for (; nr > 0; --nr, ++ranges) {
		*lo = min_check(*lo, ranges->lrg_lo);
		*hi = max_check(*hi, ranges->lrg_hi);
	}
}

static void prefix_bounds(const struct m0_lnet_nid_range *range,
			  struct m0_lnet__bounds         *ret)
{
	unsigned bits = min_check(range->lnr_prefix_bits, 32U);

	ret->lbo_addr_lo = m0_lnet__addr_word(range->lnr_prefix);
	ret->lbo_addr_hi = ret->lbo_addr_lo |
			   (bits == 32 ? 0 : UINT32_MAX >> bits);
}

/** Numbers from lo to hi have bytes between these bounds. */
static void number_bounds(uint32_t lo, uint32_t hi, struct m0_lnet__bounds *ret)
{
	/* The bits behind the first in which they differ. */
	uint32_t rest = lo == hi ? 0 : UINT32_MAX >> __builtin_clz(lo ^ hi);

	ret->lbo_addr_lo = lo & ~rest;
	ret->lbo_addr_hi = hi | rest;
}

static void parts_bounds(const struct m0_lnet_nid_range *range,
			 struct m0_lnet__bounds         *ret)
{
	const struct m0_lnet_range *at = range->lnr_ranges + range->lnr_nets_nr;
	uint32_t                    lo;
	uint32_t                    hi;
	unsigned                    i;

	if (range->lnr_parts_nr == 1) {
		ranges_bounds(at, range->lnr_part_nr[0], &lo, &hi);
		number_bounds(lo, hi, ret);
		return;
	}
	ret->lbo_addr_lo = 0;
	ret->lbo_addr_hi = 0;
	for (i = 0; i < range->lnr_parts_nr; ++i) {
		ranges_bounds(at, range->lnr_part_nr[i], &lo, &hi);
		ret->lbo_addr_lo = ret->lbo_addr_lo << 8 | lo;
		ret->lbo_addr_hi = ret->lbo_addr_hi << 8 | hi;
		at += range->lnr_part_nr[i];
	}
}

void m0_lnet__range_bounds(const struct m0_lnet_nid_range *range,
			   struct m0_lnet__bounds         *ret)
{
	uint32_t lo = 0;
	uint32_t hi = 0;

	M0_PRE(range->lnr_form != M0_LNET_NID_RANGE_NONE);
	if (range->lnr_nets_nr > 0)
		ranges_bounds(range->lnr_ranges, range->lnr_nets_nr, &lo, &hi);
	ret->lbo_num_lo = (uint16_t)lo;
	ret->lbo_num_hi = (uint16_t)hi;
	ret->lbo_addr_lo = 0;
	ret->lbo_addr_hi = UINT32_MAX;
	if (range->lnr_form == M0_LNET_NID_RANGE_PREFIX)
		prefix_bounds(range, ret);
	else if (range->lnr_form == M0_LNET_NID_RANGE_PARTS)
		parts_bounds(range, ret);
}

/* -- bits ------------------------------------------------------------------ */

static bool bit_is_set(const uint64_t *words, unsigned i)
{
	return (words[i / 64] >> i % 64 & 1) != 0;
}

/** Sets the bits of numbers below M0_LNET__BITS_NR. */
static void bits_set(uint64_t *words, const struct m0_lnet_range *ranges,
		     unsigned nr)
{
	uint64_t i;

	for (; nr > 0; --nr, ++ranges)
		for (i = ranges->lrg_lo;
		     i <= ranges->lrg_hi && i < M0_LNET__BITS_NR;
		     i += ranges->lrg_stride)
			words[i / 64] |= UINT64_C(1) << i % 64;
}

void m0_lnet__range_bits(const struct m0_lnet_nid_range *range,
			 struct m0_lnet__range_bits     *ret)
{
	const struct m0_lnet_range *at = range->lnr_ranges + range->lnr_nets_nr;
	unsigned                    i;

	M0_PRE_EX(m0_lnet__range_malformed(range) == NULL);
	M0_SET0(ret);
	bits_set(ret->lrb_nums, range->lnr_ranges, range->lnr_nets_nr);
	if (range->lnr_nets_nr == 0)
		ret->lrb_nums[0] = 1;
	ret->lrb_has_parts = range->lnr_form == M0_LNET_NID_RANGE_PARTS &&
			     range->lnr_parts_nr == M0_LNET__IP4_PARTS_NR;
	if (!ret->lrb_has_parts)
		return;
	for (i = 0; i < M0_LNET__IP4_PARTS_NR; ++i) {
		bits_set(ret->lrb_parts[i], at, range->lnr_part_nr[i]);
		at += range->lnr_part_nr[i];
	}
}

bool m0_lnet__range_bits_have(const struct m0_lnet_nid_range   *range,
			      const struct m0_lnet__range_bits *bits,
			      const struct m0_lnet_nid         *nid)
{
	unsigned i;

	if (nid->ln_num < M0_LNET__BITS_NR &&
	    !bit_is_set(bits->lrb_nums, nid->ln_num))
		return false;
	if (!bits->lrb_has_parts)
		return m0_lnet_nid_range_has(range, nid);
	if (nid->ln_type != range->lnr_type || nid->ln_size != 0)
		return false;
	for (i = 0; i < M0_LNET__IP4_PARTS_NR; ++i)
		if (!bit_is_set(bits->lrb_parts[i], nid->ln_addr[i]))
			return false;
	return nid->ln_num < M0_LNET__BITS_NR ||
	       m0_lnet_nid_range_has_net(range, m0_lnet_nid_net(nid));
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Ranges of NIDs. */
#ifndef M0_SRC_LNET_RANGE_H
#define M0_SRC_LNET_RANGE_H

#include "m0/lnet_udsp.h"

enum {
	M0_LNET__IP4_PARTS_NR = 4,
	/** Most bits of a prefix. */
	M0_LNET__PREFIX_BITS_MAX = 128,
};

/** Writes what is wrong to `why`, unless that is NULL. @return rc. */
int m0_lnet__range_why(char *why, int rc, const char *fmt, ...) M0_PRINTF(3, 4);
/** Clears the bits of an address behind its first `bits`. */
void m0_lnet__prefix_cut(uint8_t addr[M0_LNET_NID_ADDR_BYTES], unsigned bits);
/** Returns the highest number of a part of an address, of this type. */
uint32_t m0_lnet__part_max(uint8_t type);
/** Returns NULL if the range is well-formed, else what is wrong. */
const char *m0_lnet__range_malformed(const struct m0_lnet_nid_range *range);
/** Returns the number of entries of lnr_ranges in use. */
unsigned m0_lnet__ranges_nr(const struct m0_lnet_nid_range *range);
/** Returns the first 32 bits of an address, the first byte highest. */
static inline uint32_t m0_lnet__addr_word(
	const uint8_t addr[M0_LNET_NID_ADDR_BYTES])
{
	return (uint32_t)addr[0] << 24 | (uint32_t)addr[1] << 16 |
	       (uint32_t)addr[2] << 8 | addr[3];
}

/** Bounds of the network number, and of each byte of the first 32 bits of the
 * address. */
struct m0_lnet__bounds {
	uint16_t lbo_num_lo;
	uint16_t lbo_num_hi;
	uint32_t lbo_addr_lo;
	uint32_t lbo_addr_hi;
};
/** Every NID of a range is within the bounds, others may be, too. */
void m0_lnet__range_bounds(const struct m0_lnet_nid_range *range,
			   struct m0_lnet__bounds         *ret);

enum {
	/** Network numbers below this one have a bit. */
	M0_LNET__BITS_NR = 256
};

/** A range of NIDs as bits: a search of a list of many ranges of numbers costs no more
 * than one of a single range. */
struct m0_lnet__range_bits {
	/** The network numbers below M0_LNET__BITS_NR. */
	uint64_t lrb_nums[M0_LNET__BITS_NR / 64];
	/** The numbers of each part of an IPv4 address. */
	uint64_t lrb_parts[M0_LNET__IP4_PARTS_NR][M0_LNET__BITS_NR / 64];
	/** The range is of IPv4 parts. */
	bool lrb_has_parts;
};
void m0_lnet__range_bits(const struct m0_lnet_nid_range *range,
			 struct m0_lnet__range_bits     *ret);
/** Returns what m0_lnet_nid_range_has() returns. @param bits  those of the range. */
bool m0_lnet__range_bits_have(const struct m0_lnet_nid_range   *range,
			      const struct m0_lnet__range_bits *bits,
			      const struct m0_lnet_nid         *nid);

#endif /* M0_SRC_LNET_RANGE_H */

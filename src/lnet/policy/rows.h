/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The list of rules of a node, as the files of this directory search it. */
#ifndef M0_SRC_LNET_POLICY_ROWS_H
#define M0_SRC_LNET_POLICY_ROWS_H

#include "lnet/lnet_internal.h"
#include "lnet/policy/range.h"

/** Kinds of rules, by what they concern. */
enum row_kind {
	ROW_SRC,
	ROW_SRC_NET,
	ROW_DST,
	ROW_DST_NET,
	ROW_DST_SRC,
	ROW_DST_RTE
};

/** A rule in the list. */
struct rule {
	/** Bits of the range of the row. */
	struct m0_lnet__range_bits lpu_bits;
	struct m0_lnet_udsp        lpu_udsp;
	/** With DST_SRC and DST_RTE: the objects that src or rte names. */
	struct m0_lnet__prefer lpu_prefer;
};

/**
 * The first check of a search, about dst or src alone: bounds within which all
 * NIDs of the range are.
 */
struct m0_lnet__row {
	uint8_t  row_kind;
	uint8_t  row_type;
	uint16_t row_num_lo;
	uint16_t row_num_hi;
	/** lpu_prefer is not empty. */
	bool row_prefers;
	/** Bounds of each byte of the first 32 bits of the address, as of
	 * bytes_spread(). */
	uint64_t     row_addr_lo;
	uint64_t     row_addr_hi;
	struct rule *row_rule;
};

/** The highest bit of each 16 bits. */
#define GUARDS UINT64_C(0x8000800080008000)

/** A NID as a search compares it. */
struct key {
	uint64_t                  key_addr;
	const struct m0_lnet_nid *key_nid;
};

/** Returns 4 bytes, each in 16 bits, so that one subtraction compares all. */
static inline uint64_t bytes_spread(uint32_t bytes)
{
	uint64_t words = (bytes | (uint64_t)bytes << 16) &
			 UINT64_C(0x0000ffff0000ffff);

	return (words | words << 8) & UINT64_C(0x00ff00ff00ff00ff);
}

static inline struct key key_of(const struct m0_lnet_nid *nid)
{
	return (struct key){ bytes_spread(m0_lnet__addr_word(nid->ln_addr)),
			     nid };
}

/** Returns the end of the rows; NULL if there never was one, as lpc_rows. */
static inline const struct m0_lnet__row *rows_end(
	const struct m0_lnet__policies *pol)
{
	return pol->lpc_nr == 0 ? pol->lpc_rows : pol->lpc_rows + pol->lpc_nr;
}

/** Returns false if the rule of the row does not have the NID. */
static inline bool row_may_have(const struct m0_lnet__row *row,
				const struct key          *key)
{
	uint64_t above = (key->key_addr | GUARDS) - row->row_addr_lo;
	uint64_t below = (row->row_addr_hi | GUARDS) - key->key_addr;

	return (above & below & GUARDS) == GUARDS &&
	       row->row_type == key->key_nid->ln_type &&
	       row->row_num_lo <= key->key_nid->ln_num &&
	       key->key_nid->ln_num <= row->row_num_hi;
}

/* -- policies.c ------------------------------------------------------------ */

enum row_kind m0_lnet__row_kind(const struct m0_lnet_udsp *udsp);
/**
 * Puts a rule into the list of the node, and applies it to nothing.
 * @param ret      its index.
 * @param ret_old  the rule that it replaces, which has another priority; NULL:
 *                 there is none. The caller frees it.
 * @return as m0_lnet_engine_udsp_add().
 */
int m0_lnet__rule_put(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_udsp *udsp, unsigned *ret,
		      struct rule **ret_old);
/** Inserts a row before the one at `idx`. Pre: there is room. @return its index. */
unsigned m0_lnet__row_insert(struct m0_lnet__policies  *pol,
			     const struct m0_lnet__row *row, int32_t idx);
/** Removes a row, and leaves its rule to the caller. */
void m0_lnet__row_remove(struct m0_lnet__policies *pol, unsigned idx);

/* -- rule_of.c ------------------------------------------------------------- */

/**
 * Finds the rule that gives a NID its priority, or by which it prefers an
 * interface or a gateway.
 * @param nid   of an interface with SRC and SRC_NET, else of a peer.
 * @param slot  the number of the interface or gateway, with DST_SRC and DST_RTE.
 * @return the index of the first such rule; -1: there is none.
 */
int32_t m0_lnet__rule_of(const struct m0_lnet_engine *eng, enum row_kind kind,
			 const struct m0_lnet_nid *nid, unsigned slot);

#endif /* M0_SRC_LNET_POLICY_ROWS_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The rule to which an object owes its rank. */
#include "lnet/policy/rows.h"

static bool row_prefers(const struct m0_lnet__row *row, enum row_kind kind,
			unsigned slot)
{
	const struct m0_lnet__prefer *prefer = &row->row_rule->lpu_prefer;
	const uint64_t *words = kind == ROW_DST_SRC ? prefer->lpf_nis
						    : prefer->lpf_gateways;

	return row->row_prefers && slot != M0_LNET__NO_SLOT &&
	       (words[slot / 64] >> slot % 64 & 1) != 0;
}

int32_t m0_lnet__rule_of(const struct m0_lnet_engine *eng, enum row_kind kind,
			 const struct m0_lnet_nid *nid, unsigned slot)
{
	const struct m0_lnet__policies *pol = eng->le_policies;
	const struct m0_lnet__row      *end = rows_end(pol);
	const struct m0_lnet__row      *row;
	struct key                      key = key_of(nid);
	bool is_pair = M0_IN(kind, (ROW_DST_SRC, ROW_DST_RTE));

	M0_PRE(!m0_lnet_nid_is_any(nid));
	for (row = pol->lpc_rows; row < end; ++row) {
		const struct m0_lnet_udsp *udsp = &row->row_rule->lpu_udsp;

		if (row->row_kind == kind && row_may_have(row, &key) &&
		    m0_lnet__range_bits_have(kind <= ROW_SRC_NET
						     ? &udsp->lud_src
						     : &udsp->lud_dst,
					     &row->row_rule->lpu_bits, nid) &&
		    (!is_pair || row_prefers(row, kind, slot)))
			return (int32_t)(row - pol->lpc_rows);
	}
	return -1;
}

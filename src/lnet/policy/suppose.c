/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The rules of a node as they would be after a change. */
#include "lnet/policy/suppose.h"

static int rule_add(const struct m0_lnet_engine *eng,
		    const struct m0_lnet_udsp   *add,
		    struct m0_lnet__supposed    *ret)
{
	int rc = m0_lnet__rule_put(eng, add, &ret->sps_at, &ret->sps_old);

	if (rc != 0)
		return rc;
	M0_ASSERT(ret->sps_at < ret->sps_rules->lpc_nr);
	ret->sps_about = add;
	ret->sps_what = ret->sps_old == NULL ? M0_LNET__SUPPOSE_ADD
					     : M0_LNET__SUPPOSE_REPLACE;
	return 0;
}

static int rule_del(int32_t idx, struct m0_lnet__supposed *ret)
{
	struct m0_lnet__policies *rules = ret->sps_rules;

	if (idx == M0_LNET_UDSP_LAST) {
		ret->sps_what = M0_LNET__SUPPOSE_DEL_ALL;
		rules->lpc_nr = 0;
		return 0;
	}
	if (idx < 0 || (unsigned)idx >= rules->lpc_nr)
		return -ENOENT;
	ret->sps_what = M0_LNET__SUPPOSE_DEL;
	ret->sps_at = (unsigned)idx;
	ret->sps_row = rules->lpc_rows[idx];
	ret->sps_about = &ret->sps_row.row_rule->lpu_udsp;
	m0_lnet__row_remove(rules, ret->sps_at);
	return 0;
}

int m0_lnet__suppose(const struct m0_lnet_engine *eng,
		     const struct m0_lnet_udsp *add, int32_t del,
		     struct m0_lnet__supposed *ret)
{
	M0_SET0(ret);
	ret->sps_rules = eng->le_policies;
	ret->sps_rows_nr = ret->sps_rules->lpc_nr;
	return add != NULL ? rule_add(eng, add, ret) : rule_del(del, ret);
}

void m0_lnet__suppose_end(struct m0_lnet__supposed *sps)
{
	struct m0_lnet__policies *rules = sps->sps_rules;

	switch (sps->sps_what) {
	case M0_LNET__SUPPOSE_NOTHING:
		return;
	case M0_LNET__SUPPOSE_ADD:
		m0_free(rules->lpc_rows[sps->sps_at].row_rule);
		m0_lnet__row_remove(rules, sps->sps_at);
		break;
	case M0_LNET__SUPPOSE_REPLACE:
		M0_ASSERT(sps->sps_old != NULL);
		/* The ranges are the same, and so is the rest of the row. */
		m0_free(rules->lpc_rows[sps->sps_at].row_rule);
		rules->lpc_rows[sps->sps_at].row_rule = sps->sps_old;
		break;
	case M0_LNET__SUPPOSE_DEL:
		(void)m0_lnet__row_insert(rules, &sps->sps_row,
					  (int32_t)sps->sps_at);
		break;
	case M0_LNET__SUPPOSE_DEL_ALL:
		rules->lpc_nr = sps->sps_rows_nr;
		break;
	}
	M0_POST(rules->lpc_nr == sps->sps_rows_nr);
	sps->sps_what = M0_LNET__SUPPOSE_NOTHING;
}

bool m0_lnet__supposed_nis(const struct m0_lnet__supposed *sps)
{
	M0_PRE(sps->sps_what != M0_LNET__SUPPOSE_NOTHING);
	return sps->sps_about == NULL ||
	       m0_lnet__row_kind(sps->sps_about) <= ROW_SRC_NET;
}

bool m0_lnet__supposed_source(const struct m0_lnet__supposed *sps,
			      const struct m0_lnet_nid       *nid)
{
	M0_PRE(m0_lnet__supposed_nis(sps));
	return sps->sps_about == NULL ||
	       m0_lnet_nid_range_has(&sps->sps_about->lud_src, nid);
}

bool m0_lnet__supposed_nid(const struct m0_lnet__supposed *sps,
			   const struct m0_lnet_nid       *nid)
{
	M0_PRE(sps->sps_what != M0_LNET__SUPPOSE_NOTHING);
	return sps->sps_about == NULL ||
	       (m0_lnet__row_kind(sps->sps_about) > ROW_SRC_NET &&
		m0_lnet_nid_range_has(&sps->sps_about->lud_dst, nid));
}

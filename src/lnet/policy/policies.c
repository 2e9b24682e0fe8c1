/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Rules of selection: their list, and their application to NIs, gateways and peer
 * NIs. See policies.h.
 */
#include "lnet/flow/memo.h"
#include "lnet/lnet_internal.h"
#include "lnet/policy/range.h"
#include "lnet/policy/rows.h"
#include "lnet/route/route.h"

enum {
	/** Rows that a slice looks at; a row whose rule must be looked at counts
	 * as ROW_RULE. A slice takes less than half a millisecond. */
	SLICE_ROWS = 65536,
	ROW_RULE = 10,
	/** A slice that found no memory is tried again after this time. */
	RETRY_NS = 10000000,
	/** Peer NIs that are compared with a rule that comes or goes, so that only those
	 * that it names are stale; if there are more, the others are stale, too. */
	NAMED_MAX = 4096
};

bool m0_lnet_engine_udsp_is_settled(const struct m0_lnet_engine *eng)
{
	const struct m0_lnet__policies *pol = eng->le_policies;

	return m0_list_is_empty(&pol->lpc_stale) &&
	       m0_list_is_empty(&pol->lpc_ni_stale);
}

/* -- sets ------------------------------------------------------------------ */

static void bit_set(uint64_t *words, unsigned slot, bool on)
{
	uint64_t bit = UINT64_C(1) << slot % 64;

	if (slot == M0_LNET__NO_SLOT)
		return;
	if (on)
		words[slot / 64] |= bit;
	else
		words[slot / 64] &= ~bit;
}

/** Takes a number that is free; M0_LNET__NO_SLOT: none is. */
static uint16_t slot_take(uint64_t *words, unsigned words_nr)
{
	unsigned i;

	for (i = 0; i < words_nr; ++i)
		if (words[i] != UINT64_MAX) {
			unsigned bit = (unsigned)__builtin_ctzll(~words[i]);

			words[i] |= UINT64_C(1) << bit;
			return (uint16_t)(i * 64 + bit);
		}
	return M0_LNET__NO_SLOT;
}

static bool prefer_is_empty(const struct m0_lnet__prefer *prefer)
{
	uint64_t any = 0;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(prefer->lpf_nis); ++i)
		any |= prefer->lpf_nis[i];
	for (i = 0; i < ARRAY_SIZE(prefer->lpf_gateways); ++i)
		any |= prefer->lpf_gateways[i];
	return any == 0;
}

/** Adds what the rule of the row prefers to a set of the peer NI.
 * @retval -ENOMEM */
static int prefer_add(struct m0_lnet__lpni_policy *lpp,
		      const struct m0_lnet__row   *row)
{
	const struct m0_lnet__prefer *from = &row->row_rule->lpu_prefer;
	unsigned                      i;

	if (lpp->lpp_prefer == NULL)
		M0_ALLOC_PTR(lpp->lpp_prefer);
	if (lpp->lpp_prefer == NULL)
		return -ENOMEM;
	if (row->row_kind == ROW_DST_SRC)
		for (i = 0; i < ARRAY_SIZE(from->lpf_nis); ++i)
			lpp->lpp_prefer->lpf_nis[i] |= from->lpf_nis[i];
	else
		for (i = 0; i < ARRAY_SIZE(from->lpf_gateways); ++i)
			lpp->lpp_prefer->lpf_gateways[i] |=
				from->lpf_gateways[i];
	return 0;
}

/* -- application ----------------------------------------------------------- */

static struct m0_lnet_lpni *lpni_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_lnet_lpni, lpn_policy.lpp_link);
}

void m0_lnet__verdict_forget(struct m0_lnet__lpni_policy *lpp)
{
	lpp->lpp_net_priority = M0_LNET_PRIORITY_NONE;
	lpp->lpp_priority = M0_LNET_PRIORITY_NONE;
	m0_free(lpp->lpp_prefer);
	lpp->lpp_prefer = NULL;
}

/** Returns true if the rule of the row says what the peer NI does not know yet. */
static bool row_is_news(const struct m0_lnet__row         *row,
			const struct m0_lnet__lpni_policy *lpp)
{
	switch ((enum row_kind)row->row_kind) {
	case ROW_DST:
		return lpp->lpp_priority == M0_LNET_PRIORITY_NONE;
	case ROW_DST_NET:
		return lpp->lpp_net_priority == M0_LNET_PRIORITY_NONE;
	case ROW_DST_SRC:
	case ROW_DST_RTE:
		return row->row_prefers;
	default:
		return false;
	}
}

static int row_apply(const struct m0_lnet__row   *row,
		     struct m0_lnet__lpni_policy *lpp)
{
	uint32_t priority = row->row_rule->lpu_udsp.lud_priority;

	if (row->row_kind == ROW_DST)
		lpp->lpp_priority = priority;
	else if (row->row_kind == ROW_DST_NET)
		lpp->lpp_net_priority = priority;
	else
		return prefer_add(lpp, row);
	return 0;
}

int m0_lnet__rules_apply(const struct m0_lnet__policies *pol,
			 const struct m0_lnet_nid       *nid,
			 struct m0_lnet__lpni_policy *lpp, unsigned *cost)
{
	struct key                 key = key_of(nid);
	const struct m0_lnet__row *row = pol->lpc_rows;
	const struct m0_lnet__row *end = rows_end(pol);
	int                        rc = 0;

	m0_lnet__verdict_forget(lpp);
	for (; rc == 0 && row < end; ++row) {
		if (M0_LIKELY(!row_may_have(row, &key)) ||
		    !row_is_news(row, lpp))
			continue;
		*cost += ROW_RULE;
		if (m0_lnet__range_bits_have(&row->row_rule->lpu_udsp.lud_dst,
					     &row->row_rule->lpu_bits, nid))
			rc = row_apply(row, lpp);
	}
	*cost += pol->lpc_nr;
	return rc;
}

/** Applies all rules to the peer NI. Adds what it costs to *cost.
 * @retval -ENOMEM */
static int lpni_apply(const struct m0_lnet__policies *pol,
		      struct m0_lnet_lpni *lpni, unsigned *cost)
{
	return m0_lnet__rules_apply(pol, &lpni->lpn_nid, &lpni->lpn_policy,
				    cost);
}

uint64_t m0_lnet__rules_ni_priority(const struct m0_lnet__policies *pol,
				    const struct m0_lnet_nid       *nid,
				    unsigned                       *cost)
{
	struct key                 key = key_of(nid);
	uint32_t                   net = M0_LNET_PRIORITY_NONE;
	uint32_t                   own = M0_LNET_PRIORITY_NONE;
	const struct m0_lnet__row *row = pol->lpc_rows;
	const struct m0_lnet__row *end = rows_end(pol);

	for (; row < end; ++row) {
		const struct m0_lnet_udsp *udsp = &row->row_rule->lpu_udsp;

		if (row->row_kind > ROW_SRC_NET || !row_may_have(row, &key))
			continue;
		*cost += ROW_RULE;
		if (!m0_lnet__range_bits_have(&udsp->lud_src,
					      &row->row_rule->lpu_bits, nid))
			continue;
		if (row->row_kind == ROW_SRC && own == M0_LNET_PRIORITY_NONE)
			own = udsp->lud_priority;
		if (row->row_kind == ROW_SRC_NET &&
		    net == M0_LNET_PRIORITY_NONE)
			net = udsp->lud_priority;
	}
	*cost += pol->lpc_nr;
	return (uint64_t)net << 32 | own;
}

static struct m0_lnet_ni *ni_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_lnet_ni, lni_policy.nip_link);
}

/** Applies all rules to the NI. Adds what it costs to *cost. */
static void ni_apply(const struct m0_lnet__policies *pol, struct m0_lnet_ni *ni,
		     unsigned *cost)
{
	ni->lni_policy.nip_priority =
		m0_lnet__rules_ni_priority(pol, &ni->lni_lnd.ldn_nid, cost);
}

/** The next request to a peer that is not Multi-Rail chooses its NI. */
static void nis_unkeep(struct m0_lnet_engine *eng)
{
	struct m0_lnet_peer *peer;

	m0_list_for_each_entry(&eng->le_peers, peer, struct m0_lnet_peer,
			       lpe_link)
		peer->lpe_ni = NULL;
}

/** Applies the rules to some of the stale NIs. Adds what it costs to *cost. */
static void nis_slice(struct m0_lnet_engine *eng, unsigned *cost)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	struct m0_list_link      *link;

	if (m0_list_is_empty(&pol->lpc_ni_stale))
		return;
	while (*cost < SLICE_ROWS &&
	       (link = m0_list_first(&pol->lpc_ni_stale)) != NULL) {
		ni_apply(pol, ni_of(link), cost);
		m0_list_move_tail(&pol->lpc_ni_fresh, link);
		++*cost;
	}
	if (m0_list_is_empty(&pol->lpc_ni_stale))
		nis_unkeep(eng);
}

/** Applies the rules to some NIs and peer NIs. The rest is for the timer. Memos
 * of selections end each time. */
static void slice_do(struct m0_lnet_engine *eng)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	unsigned                  cost = 0;
	struct m0_list_link      *link;

	m0_lnet__paths_changed(eng);
	nis_slice(eng, &cost);
	while (cost < SLICE_ROWS &&
	       (link = m0_list_first(&pol->lpc_stale)) != NULL) {
		if (lpni_apply(pol, lpni_of(link), &cost) != 0) {
			m0_lnet__timer_arm(eng, &pol->lpc_timer,
					   m0_time_add(eng->le_now, RETRY_NS));
			return;
		}
		m0_list_move_tail(&pol->lpc_fresh, link);
		/* The next request chooses the NI of a peer that is not
		 * Multi-Rail. */
		lpni_of(link)->lpn_peer->lpe_ni = NULL;
		++cost;
	}
	if (!m0_lnet_engine_udsp_is_settled(eng))
		m0_lnet__timer_arm(eng, &pol->lpc_timer,
				   m0_time_add(eng->le_now, 1));
}

static void timer_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		       m0_time_t now)
{
	M0_PRE(timer == &eng->le_policies->lpc_timer);
	(void)now;
	slice_do(eng);
}

/** The rules, or what they name, have changed. */
static void all_stale(struct m0_lnet_engine *eng)
{
	struct m0_lnet__policies *pol = eng->le_policies;

	m0_list_splice_tail(&pol->lpc_stale, &pol->lpc_fresh);
	slice_do(eng);
}

/* -- objects --------------------------------------------------------------- */

/** Returns true if the peer of the gateway has this rte. */
static bool rte_has(const struct m0_lnet_udsp    *udsp,
		    const struct m0_lnet_gateway *gw)
{
	const struct m0_lnet_lpni *lpni = gw->gw_lpni;

	return m0_lnet_nid_range_has(&udsp->lud_rte,
				     &lpni->lpn_peer->lpe_primary) ||
	       m0_lnet_nid_range_has(&udsp->lud_rte, &lpni->lpn_nid);
}

/** Notes in all rules which of them name this object. @return true: one does, or
 * did. */
static bool rules_note(struct m0_lnet__policies     *pol,
		       const struct m0_lnet_ni      *ni,
		       const struct m0_lnet_gateway *gw, bool on)
{
	enum row_kind kind = ni != NULL ? ROW_DST_SRC : ROW_DST_RTE;
	bool          any = false;
	unsigned      i;

	for (i = 0; i < pol->lpc_nr; ++i) {
		struct m0_lnet__row       *row = &pol->lpc_rows[i];
		struct m0_lnet__prefer    *prefer = &row->row_rule->lpu_prefer;
		const struct m0_lnet_udsp *udsp = &row->row_rule->lpu_udsp;
		bool                       has;

		if (row->row_kind != kind)
			continue;
		has = on &&
		      (ni != NULL ? m0_lnet_nid_range_has(&udsp->lud_src,
							  &ni->lni_lnd.ldn_nid)
				  : rte_has(udsp, gw));
		any = any || has || row->row_prefers;
		if (ni != NULL)
			bit_set(prefer->lpf_nis, ni->lni_policy.nip_slot, has);
		else
			bit_set(prefer->lpf_gateways, gw->gw_slot, has);
		row->row_prefers = has || !prefer_is_empty(prefer);
	}
	return any;
}

/** Takes the number out of the sets of all peer NIs: it may be used again. */
static void lpnis_unprefer(struct m0_list *lpnis, unsigned ni_slot,
			   unsigned gw_slot)
{
	struct m0_lnet_lpni    *lpni;
	struct m0_lnet__prefer *prefer;

	m0_list_for_each_entry(lpnis, lpni, struct m0_lnet_lpni,
			       lpn_policy.lpp_link) {
		prefer = lpni->lpn_policy.lpp_prefer;
		if (prefer == NULL)
			continue;
		bit_set(prefer->lpf_nis, ni_slot, false);
		bit_set(prefer->lpf_gateways, gw_slot, false);
	}
}

void m0_lnet__policy_ni_new(struct m0_lnet_engine *eng, struct m0_lnet_ni *ni)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	unsigned                  cost = 0;

	++pol->lpc_changes_nr;
	ni->lni_policy.nip_slot =
		slot_take(pol->lpc_ni_slots, ARRAY_SIZE(pol->lpc_ni_slots));
	ni_apply(pol, ni, &cost);
	m0_list_link_init(&ni->lni_policy.nip_link);
	m0_list_add_tail(&pol->lpc_ni_fresh, &ni->lni_policy.nip_link);
	if (rules_note(pol, ni, NULL, true))
		all_stale(eng);
}

void m0_lnet__policy_ni_gone(struct m0_lnet_engine *eng, struct m0_lnet_ni *ni)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	uint16_t                  slot = ni->lni_policy.nip_slot;

	++pol->lpc_changes_nr;
	m0_list_del(&ni->lni_policy.nip_link);
	(void)rules_note(pol, ni, NULL, false);
	lpnis_unprefer(&pol->lpc_fresh, slot, M0_LNET__NO_SLOT);
	lpnis_unprefer(&pol->lpc_stale, slot, M0_LNET__NO_SLOT);
	bit_set(pol->lpc_ni_slots, slot, false);
}

void m0_lnet__policy_gateway_new(struct m0_lnet_engine  *eng,
				 struct m0_lnet_gateway *gw)
{
	struct m0_lnet__policies *pol = eng->le_policies;

	gw->gw_slot =
		slot_take(pol->lpc_gw_slots, ARRAY_SIZE(pol->lpc_gw_slots));
	gw->gw_primary = gw->gw_lpni->lpn_peer->lpe_primary;
	if (rules_note(pol, NULL, gw, true))
		all_stale(eng);
}

void m0_lnet__policy_gateway_gone(struct m0_lnet_engine  *eng,
				  struct m0_lnet_gateway *gw)
{
	struct m0_lnet__policies *pol = eng->le_policies;

	(void)rules_note(pol, NULL, gw, false);
	lpnis_unprefer(&pol->lpc_fresh, M0_LNET__NO_SLOT, gw->gw_slot);
	lpnis_unprefer(&pol->lpc_stale, M0_LNET__NO_SLOT, gw->gw_slot);
	bit_set(pol->lpc_gw_slots, gw->gw_slot, false);
}

void m0_lnet__policy_primary_changed(struct m0_lnet_engine *eng)
{
	struct m0_lnet_gateway *gw;
	bool                    any = false;

	if (eng->le_routes == NULL)
		return;
	m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_gateways, gw,
			       struct m0_lnet_gateway, gw_link) {
		const struct m0_lnet_nid *primary =
			&gw->gw_lpni->lpn_peer->lpe_primary;

		if (m0_lnet_nid_eq(&gw->gw_primary, primary))
			continue;
		gw->gw_primary = *primary;
		any |= rules_note(eng->le_policies, NULL, gw, true);
	}
	if (any)
		all_stale(eng);
}

void m0_lnet__policy_lpni_new(struct m0_lnet_engine *eng,
			      struct m0_lnet_lpni   *lpni)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	unsigned                  cost = 0;

	m0_list_link_init(&lpni->lpn_policy.lpp_link);
	if (lpni_apply(pol, lpni, &cost) == 0) {
		m0_list_add_tail(&pol->lpc_fresh, &lpni->lpn_policy.lpp_link);
		return;
	}
	m0_list_add_tail(&pol->lpc_stale, &lpni->lpn_policy.lpp_link);
	m0_lnet__timer_arm(eng, &pol->lpc_timer,
			   m0_time_add(eng->le_now, RETRY_NS));
}

void m0_lnet__policy_lpni_gone(struct m0_lnet_lpni *lpni)
{
	m0_list_del(&lpni->lpn_policy.lpp_link);
	m0_lnet__verdict_forget(&lpni->lpn_policy);
}

/* -- list ------------------------------------------------------------------ */

enum row_kind m0_lnet__row_kind(const struct m0_lnet_udsp *udsp)
{
	if (udsp->lud_dst.lnr_form == M0_LNET_NID_RANGE_NONE)
		return udsp->lud_src.lnr_form == M0_LNET_NID_RANGE_NET
			       ? ROW_SRC_NET
			       : ROW_SRC;
	if (udsp->lud_src.lnr_form != M0_LNET_NID_RANGE_NONE)
		return ROW_DST_SRC;
	if (udsp->lud_rte.lnr_form != M0_LNET_NID_RANGE_NONE)
		return ROW_DST_RTE;
	return udsp->lud_dst.lnr_form == M0_LNET_NID_RANGE_NET ? ROW_DST_NET
							       : ROW_DST;
}

static bool ranges_eq(const struct m0_lnet_udsp *left,
		      const struct m0_lnet_udsp *right)
{
	/* All bytes of a range are fields, and those not in use are 0. */
	M0_BASSERT(sizeof left->lud_src ==
		   24 + 4 + M0_LNET_RANGES_MAX * sizeof(struct m0_lnet_range));
	return memcmp(&left->lud_src, &right->lud_src, sizeof left->lud_src) ==
		       0 &&
	       memcmp(&left->lud_dst, &right->lud_dst, sizeof left->lud_dst) ==
		       0 &&
	       memcmp(&left->lud_rte, &right->lud_rte, sizeof left->lud_rte) ==
		       0;
}

static void row_fill(struct m0_lnet__row *row, struct rule *rule)
{
	const struct m0_lnet_udsp      *udsp = &rule->lpu_udsp;
	enum row_kind                   kind = m0_lnet__row_kind(udsp);
	const struct m0_lnet_nid_range *range =
		kind <= ROW_SRC_NET ? &udsp->lud_src : &udsp->lud_dst;
	struct m0_lnet__bounds bounds;

	m0_lnet__range_bounds(range, &bounds);
	m0_lnet__range_bits(range, &rule->lpu_bits);
	*row = (struct m0_lnet__row){
		.row_kind = (uint8_t)kind,
		.row_type = range->lnr_type,
		.row_num_lo = bounds.lbo_num_lo,
		.row_num_hi = bounds.lbo_num_hi,
		.row_addr_lo = bytes_spread(bounds.lbo_addr_lo),
		.row_addr_hi = bytes_spread(bounds.lbo_addr_hi),
		.row_rule = rule,
	};
}

/** Returns the row of a rule with the same ranges as that of `row`; NULL: none. */
static struct m0_lnet__row *row_find(const struct m0_lnet__policies *pol,
				     const struct m0_lnet__row      *row)
{
	unsigned i;

	for (i = 0; i < pol->lpc_nr; ++i) {
		struct m0_lnet__row *at = &pol->lpc_rows[i];

		if (at->row_kind == row->row_kind &&
		    at->row_type == row->row_type &&
		    at->row_addr_lo == row->row_addr_lo &&
		    at->row_addr_hi == row->row_addr_hi &&
		    ranges_eq(&at->row_rule->lpu_udsp,
			      &row->row_rule->lpu_udsp))
			return at;
	}
	return NULL;
}

/** Notes the NIs and gateways that the rule names. */
static void row_note(const struct m0_lnet_engine *eng, struct m0_lnet__row *row)
{
	struct rule            *rule = row->row_rule;
	struct m0_lnet_ni      *ni;
	struct m0_lnet_gateway *gw;

	if (row->row_kind == ROW_DST_SRC)
		m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni,
				       lni_link)
			if (m0_lnet_nid_range_has(&rule->lpu_udsp.lud_src,
						  &ni->lni_lnd.ldn_nid))
				bit_set(rule->lpu_prefer.lpf_nis,
					ni->lni_policy.nip_slot, true);
	if (row->row_kind == ROW_DST_RTE)
		m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_gateways, gw,
				       struct m0_lnet_gateway, gw_link)
			if (rte_has(&rule->lpu_udsp, gw))
				bit_set(rule->lpu_prefer.lpf_gateways,
					gw->gw_slot, true);
	row->row_prefers = !prefer_is_empty(&rule->lpu_prefer);
}

/** Makes room for another row. @retval -ENOSPC, -ENOMEM */
static int rows_grow(struct m0_lnet__policies *pol)
{
	unsigned             max = max_check(16U, 2 * pol->lpc_max);
	struct m0_lnet__row *rows;

	if (pol->lpc_nr == M0_LNET_UDSPS_MAX)
		return -ENOSPC;
	if (pol->lpc_nr < pol->lpc_max)
		return 0;
	M0_ALLOC_ARR(rows, max);
	if (rows == NULL)
		return -ENOMEM;
	if (pol->lpc_nr > 0)
		memcpy(rows, pol->lpc_rows, pol->lpc_nr * sizeof *rows);
	m0_free(pol->lpc_rows);
	pol->lpc_rows = rows;
	pol->lpc_max = max;
	return 0;
}

/** Makes the NIs stale that the source of the rule has. */
static void sources_stale(struct m0_lnet_engine     *eng,
			  const struct m0_lnet_udsp *udsp)
{
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (m0_lnet_nid_range_has(&udsp->lud_src, &ni->lni_lnd.ldn_nid))
			m0_list_move_tail(&eng->le_policies->lpc_ni_stale,
					  &ni->lni_policy.nip_link);
	slice_do(eng);
}

/** Adds a rule to the verdict about a peer NI that it names. @return false: the other
 * rules must be looked at. */
static bool row_add(const struct m0_lnet__policies *pol,
		    const struct m0_lnet__row      *row,
		    struct m0_lnet__lpni_policy    *lpp)
{
	bool is_news = row_is_news(row, lpp);

	M0_PRE_EX(row >= pol->lpc_rows && row < rows_end(pol));
	/* A rule before the last has decided, and one behind the first has. */
	if (!is_news && row + 1 == rows_end(pol))
		return true;
	if (!is_news && row->row_kind > ROW_DST_NET)
		return true;
	return (is_news || row == pol->lpc_rows) && row_apply(row, lpp) == 0;
}

/** Makes the peer NIs stale that the rule names. @param added  its row, if it is new:
 * most often it changes a verdict without a look at the others. NULL: it is not. */
static void named_stale(struct m0_lnet_engine     *eng,
			const struct m0_lnet_udsp *udsp,
			const struct m0_lnet__row *added)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	struct m0_lnet_lpni      *lpni;
	struct m0_lnet_lpni      *next;
	unsigned                  nr = 0;

	m0_list_for_each_entry_safe(&pol->lpc_fresh, lpni, next,
				    struct m0_lnet_lpni, lpn_policy.lpp_link) {
		if (++nr > NAMED_MAX) {
			m0_list_splice_tail(&pol->lpc_stale, &pol->lpc_fresh);
			break;
		}
		if (!m0_lnet_nid_range_has(&udsp->lud_dst, &lpni->lpn_nid))
			continue;
		lpni->lpn_peer->lpe_ni = NULL;
		if (added == NULL || !row_add(pol, added, &lpni->lpn_policy))
			m0_list_move_tail(&pol->lpc_stale,
					  &lpni->lpn_policy.lpp_link);
	}
	slice_do(eng);
}

/** @param added  as for named_stale(). */
static void rule_changed(struct m0_lnet_engine     *eng,
			 const struct m0_lnet_udsp *udsp,
			 const struct m0_lnet__row *added)
{
	++eng->le_policies->lpc_changes_nr;
	if (m0_lnet__row_kind(udsp) <= ROW_SRC_NET)
		sources_stale(eng, udsp);
	else
		named_stale(eng, udsp, added);
}

unsigned m0_lnet__row_insert(struct m0_lnet__policies  *pol,
			     const struct m0_lnet__row *row, int32_t idx)
{
	unsigned at = idx == M0_LNET_UDSP_LAST
			      ? pol->lpc_nr
			      : min_check((unsigned)idx, pol->lpc_nr);

	memmove(pol->lpc_rows + at + 1, pol->lpc_rows + at,
		(pol->lpc_nr - at) * sizeof *row);
	pol->lpc_rows[at] = *row;
	++pol->lpc_nr;
	return at;
}

int m0_lnet__rule_put(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_udsp *udsp, unsigned *ret,
		      struct rule **ret_old)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	struct rule              *rule;
	struct m0_lnet__row      *same;
	struct m0_lnet__row       row;
	int                       rc = m0_lnet_udsp_check(udsp, NULL);

	if (rc != 0)
		return rc;
	M0_ALLOC_PTR(rule);
	if (rule == NULL)
		return -ENOMEM;
	rule->lpu_udsp = *udsp;
	row_fill(&row, rule);
	same = row_find(pol, &row);
	if (same == NULL)
		rc = rows_grow(pol);
	else if (same->row_rule->lpu_udsp.lud_priority == udsp->lud_priority)
		rc = -EALREADY;
	if (rc != 0) {
		m0_free(rule);
		return rc;
	}
	row_note(eng, &row);
	*ret_old = same == NULL ? NULL : same->row_rule;
	if (same != NULL)
		*same = row;
	*ret = same != NULL ? (unsigned)(same - pol->lpc_rows)
			    : m0_lnet__row_insert(pol, &row, udsp->lud_idx);
	return 0;
}

int m0_lnet_engine_udsp_add(struct m0_lnet_engine     *eng,
			    const struct m0_lnet_udsp *udsp)
{
	struct rule *old;
	unsigned     at;
	int          rc = m0_lnet__rule_put(eng, udsp, &at, &old);

	if (rc != 0)
		return rc;
	rule_changed(eng, udsp,
		     old == NULL ? &eng->le_policies->lpc_rows[at] : NULL);
	m0_free(old);
	return 0;
}

static int all_del(struct m0_lnet_engine *eng)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	unsigned                  nr = pol->lpc_nr;

	while (pol->lpc_nr > 0)
		m0_free(pol->lpc_rows[--pol->lpc_nr].row_rule);
	if (nr > 0) {
		++pol->lpc_changes_nr;
		m0_list_splice_tail(&pol->lpc_ni_stale, &pol->lpc_ni_fresh);
		all_stale(eng);
	}
	return (int)nr;
}

void m0_lnet__row_remove(struct m0_lnet__policies *pol, unsigned idx)
{
	struct m0_lnet__row *row = &pol->lpc_rows[idx];

	M0_PRE(idx < pol->lpc_nr);
	--pol->lpc_nr;
	memmove(row, row + 1, (pol->lpc_nr - idx) * sizeof *row);
}

int m0_lnet_engine_udsp_del(struct m0_lnet_engine *eng, int32_t idx)
{
	struct m0_lnet__policies *pol = eng->le_policies;
	struct rule              *rule;

	if (idx == M0_LNET_UDSP_LAST)
		return all_del(eng);
	if (idx < 0 || (unsigned)idx >= pol->lpc_nr)
		return -ENOENT;
	rule = pol->lpc_rows[idx].row_rule;
	m0_lnet__row_remove(pol, (unsigned)idx);
	rule_changed(eng, &rule->lpu_udsp, NULL);
	m0_free(rule);
	return 1;
}

unsigned m0_lnet_engine_udsp_get(const struct m0_lnet_engine *eng,
				 uint32_t first, struct m0_lnet_udsp *ret,
				 unsigned max)
{
	const struct m0_lnet__policies *pol = eng->le_policies;
	unsigned                        i;

	for (i = 0; i < max && first + i < pol->lpc_nr; ++i) {
		ret[i] = pol->lpc_rows[first + i].row_rule->lpu_udsp;
		ret[i].lud_idx = (int32_t)(first + i);
	}
	return pol->lpc_nr;
}

/* -- life ------------------------------------------------------------------ */

int m0_lnet__policies_init(struct m0_lnet_engine *eng)
{
	struct m0_lnet__policies *pol;

	M0_PRE(eng->le_policies == NULL);
	M0_ALLOC_PTR(pol);
	if (pol == NULL)
		return -ENOMEM;
	m0_list_init(&pol->lpc_ni_fresh);
	m0_list_init(&pol->lpc_ni_stale);
	m0_list_init(&pol->lpc_fresh);
	m0_list_init(&pol->lpc_stale);
	m0_timer_init(&pol->lpc_timer.ltm_timer);
	pol->lpc_timer.ltm_fire = timer_fire;
	eng->le_policies = pol;
	return 0;
}

void m0_lnet__policies_fini(struct m0_lnet_engine *eng)
{
	struct m0_lnet__policies *pol = eng->le_policies;

	M0_PRE(m0_list_is_empty(&pol->lpc_ni_fresh));
	M0_PRE(m0_list_is_empty(&pol->lpc_ni_stale));
	M0_PRE(m0_list_is_empty(&pol->lpc_fresh));
	M0_PRE(m0_list_is_empty(&pol->lpc_stale));
	m0_lnet__timer_cancel(eng, &pol->lpc_timer);
	while (pol->lpc_nr > 0)
		m0_free(pol->lpc_rows[--pol->lpc_nr].row_rule);
	m0_free(pol->lpc_rows);
	m0_free(pol->lpc_effect_nis);
	eng->le_policies = NULL;
	m0_free(pol);
}

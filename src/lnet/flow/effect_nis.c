/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/flow/effect_nis.h"

enum {
	/** After this time without a call, nobody waits for the answer. */
	ABANDONED_NS = 1000000000
};

/** Priorities that calls have found so far. */
struct m0_lnet__effect_nis {
	/** The change; efn_del counts unless efn_is_add. */
	bool                efn_is_add;
	struct m0_lnet_udsp efn_add;
	int32_t             efn_del;
	/** lpc_changes_nr, as it was at the beginning. */
	uint64_t efn_changes_nr;
	/** Time of the last call. */
	m0_time_t efn_asked_at;
	/** Number of interfaces, and of those that are done. */
	unsigned efn_nr;
	unsigned efn_done_nr;
	uint64_t efn_priorities[];
};

static bool is_about(const struct m0_lnet__effect_nis *efn,
		     const struct m0_lnet__question   *question)
{
	M0_BASSERT(sizeof(struct m0_lnet_udsp) ==
		   3 * sizeof(struct m0_lnet_nid_range) + 3 * sizeof(uint32_t));
	if (question->que_add == NULL)
		return !efn->efn_is_add && efn->efn_del == question->que_del;
	/* All bytes are fields. */
	return efn->efn_is_add && memcmp(&efn->efn_add, question->que_add,
					 sizeof efn->efn_add) == 0;
}

static struct m0_lnet__effect_nis *begin(
	const struct m0_lnet_engine    *eng,
	const struct m0_lnet__question *question)
{
	unsigned                    nr = (unsigned)m0_list_length(&eng->le_nis);
	struct m0_lnet__effect_nis *efn =
		m0_alloc(sizeof *efn + nr * sizeof efn->efn_priorities[0]);

	if (efn == NULL)
		return NULL;
	efn->efn_is_add = question->que_add != NULL;
	if (efn->efn_is_add)
		efn->efn_add = *question->que_add;
	efn->efn_del = question->que_del;
	efn->efn_changes_nr = eng->le_policies->lpc_changes_nr;
	efn->efn_nr = nr;
	return efn;
}

/** Finds what has been found for the change, or begins. @retval -EAGAIN, -ENOMEM */
static int find(const struct m0_lnet_engine    *eng,
		const struct m0_lnet__question *question)
{
	struct m0_lnet__policies   *pol = eng->le_policies;
	struct m0_lnet__effect_nis *old = pol->lpc_effect_nis;
	bool                        is_valid = old != NULL &&
			old->efn_changes_nr == pol->lpc_changes_nr;

	if (is_valid && is_about(old, question))
		return 0;
	if (is_valid && old->efn_done_nr < old->efn_nr &&
	    eng->le_now < m0_time_add(old->efn_asked_at, ABANDONED_NS))
		return -EAGAIN;
	m0_free(old);
	pol->lpc_effect_nis = begin(eng, question);
	return pol->lpc_effect_nis == NULL ? -ENOMEM : 0;
}

int m0_lnet__effect_nis(struct m0_lnet_engine          *eng,
			const struct m0_lnet__supposed *sps,
			const struct m0_lnet__question *question,
			unsigned *cost, uint64_t **ret)
{
	struct m0_lnet__effect_nis *efn;
	const struct m0_lnet_ni    *ni;
	unsigned                    done = 0;
	unsigned                    i = 0;
	int                         rc;

	*ret = NULL;
	if (!m0_lnet__supposed_nis(sps))
		return 0;
	rc = find(eng, question);
	if (rc != 0)
		return rc;
	efn = eng->le_policies->lpc_effect_nis;
	efn->efn_asked_at = eng->le_now;
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		if (i++ < efn->efn_done_nr)
			continue;
		if (done++ > 0 && *cost >= M0_LNET__EFFECT_COST)
			return -EAGAIN;
		efn->efn_priorities[efn->efn_done_nr++] =
			m0_lnet__supposed_source(sps, &ni->lni_lnd.ldn_nid)
				? m0_lnet__rules_ni_priority(
					  sps->sps_rules, &ni->lni_lnd.ldn_nid,
					  cost)
				: ni->lni_policy.nip_priority;
	}
	M0_POST(efn->efn_done_nr == efn->efn_nr);
	*ret = efn->efn_priorities;
	return 0;
}

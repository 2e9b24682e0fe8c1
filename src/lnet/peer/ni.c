/* SPDX-License-Identifier: Apache-2.0 */
#include "lnet/lnet_internal.h"

/* A node has a handful: a walk is faster than a table. */

struct m0_lnet_ni *m0_lnet__ni_find(const struct m0_lnet_engine *eng,
				    const struct m0_lnet_nid    *nid)
{
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (m0_lnet_nid_eq(&ni->lni_lnd.ldn_nid, nid))
			return ni;
	return NULL;
}

bool m0_lnet__ni_fits(const struct m0_lnet_ni  *ni,
		      const struct m0_lnet_nid *nid)
{
	const struct m0_lnet_nid *own = &ni->lni_lnd.ldn_nid;

	/* One net may have addresses of both sorts, and neither sort reaches
	 * the other. */
	return own->ln_type == nid->ln_type && own->ln_num == nid->ln_num &&
	       own->ln_size == nid->ln_size;
}

bool m0_lnet__ni_is_usable(const struct m0_lnet_ni *ni)
{
	return ni->lni_is_up && !ni->lni_stopping;
}

/** Is `left` the one to be used of two on a net? */
static bool ni_is_better(const struct m0_lnet_ni *left,
			 const struct m0_lnet_ni *right)
{
	if (left->lni_lnd.ldn_up != right->lni_lnd.ldn_up)
		return left->lni_lnd.ldn_up;
	if (left->lni_credits != right->lni_credits)
		return left->lni_credits > right->lni_credits;
	return left->lni_used_nr < right->lni_used_nr;
}

struct m0_lnet_ni *m0_lnet__ni_for(const struct m0_lnet_engine *eng,
				   const struct m0_lnet_nid    *nid)
{
	struct m0_lnet_ni *best = NULL;
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (m0_lnet__ni_is_usable(ni) && m0_lnet__ni_fits(ni, nid) &&
		    (best == NULL || ni_is_better(ni, best)))
			best = ni;
	return best;
}

unsigned m0_lnet_engine_nis_nr(const struct m0_lnet_engine *eng)
{
	return (unsigned)m0_list_length(&eng->le_nis);
}

struct m0_lnd_ni *m0_lnet_engine_ni(const struct m0_lnet_engine *eng,
				    unsigned                     i)
{
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (i-- == 0)
			return &ni->lni_lnd;
	return NULL;
}

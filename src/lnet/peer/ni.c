/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/lnet_internal.h"

/* A node has few NIs: a walk is faster than a table. */

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

	/* A net may have addresses of both families, which do not reach each
	 * other. */
	return own->ln_type == nid->ln_type && own->ln_num == nid->ln_num &&
	       own->ln_size == nid->ln_size;
}

bool m0_lnet__ni_is_usable(const struct m0_lnet_ni *ni)
{
	return ni->lni_is_up && !ni->lni_stopping;
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

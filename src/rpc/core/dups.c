/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/core/dups.h"

#include <errno.h>

int m0_rpc_dups_init(struct m0_rpc_dups *dups, uint32_t max)
{
	uint32_t buckets = 1;

	M0_PRE(max > 0);
	M0_SET0(dups);
	while (buckets < max && buckets < 1u << 16)
		buckets *= 2;
	dups->rdp_bucket = m0_alloc_arr(buckets, sizeof *dups->rdp_bucket);
	if (dups->rdp_bucket == NULL)
		return -ENOMEM;
	dups->rdp_mask = buckets - 1;
	dups->rdp_max = max;
	return 0;
}

void m0_rpc_dups_fini(struct m0_rpc_dups *dups)
{
	M0_PRE(dups->rdp_nr == 0);
	m0_free(dups->rdp_bucket);
}

/** Numbers count up, sessions are few: neighbours get neighbouring buckets. */
static struct m0_rpc_dup **bucket_of(const struct m0_rpc_dups *dups,
				     uint64_t session, uint64_t xid)
{
	uint64_t at = xid + session * 0x9e3779b97f4a7c15ULL;

	return &dups->rdp_bucket[(at ^ at >> 32) & dups->rdp_mask];
}

/** Where it is pointed at; where NULL is, if it is not there. */
static struct m0_rpc_dup **place_of(const struct m0_rpc_dups *dups,
				    uint64_t session, uint64_t xid)
{
	struct m0_rpc_dup **at = bucket_of(dups, session, xid);

	while (*at != NULL &&
	       ((*at)->rdu_xid != xid || (*at)->rdu_session != session))
		at = &(*at)->rdu_next;
	return at;
}

int m0_rpc_dups_add(struct m0_rpc_dups *dups, struct m0_rpc_dup *dup,
		    uint64_t session, uint64_t xid)
{
	struct m0_rpc_dup **at = place_of(dups, session, xid);

	if (*at != NULL)
		return -EEXIST;
	if (dups->rdp_nr >= dups->rdp_max)
		return -EBUSY;
	dup->rdu_session = session;
	dup->rdu_xid = xid;
	dup->rdu_next = NULL;
	*at = dup;
	dups->rdp_nr++;
	return 0;
}

void m0_rpc_dups_del(struct m0_rpc_dups *dups, struct m0_rpc_dup *dup)
{
	struct m0_rpc_dup **at = place_of(dups, dup->rdu_session, dup->rdu_xid);

	M0_PRE(*at == dup);
	*at = dup->rdu_next;
	dup->rdu_next = NULL;
	dups->rdp_nr--;
}

struct m0_rpc_dup *m0_rpc_dups_find(const struct m0_rpc_dups *dups,
				    uint64_t session, uint64_t xid)
{
	return *place_of(dups, session, xid);
}

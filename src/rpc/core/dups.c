/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "rpc/core/dups.h"

#include <errno.h>

enum {
	BUCKETS_MIN = 64,
	BUCKETS_MAX = 1 << 16,
	/** A table grows by so much, when there are as many of them as buckets. */
	GROWTH = 4
};

int m0_rpc_dups_init(struct m0_rpc_dups *dups, uint32_t max)
{
	M0_PRE(max > 0);
	M0_SET0(dups);
	dups->rdp_bucket = m0_alloc_arr(BUCKETS_MIN, sizeof *dups->rdp_bucket);
	if (dups->rdp_bucket == NULL)
		return -ENOMEM;
	dups->rdp_mask = BUCKETS_MIN - 1;
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

static void grow(struct m0_rpc_dups *dups)
{
	struct m0_rpc_dup **old = dups->rdp_bucket;
	uint32_t            old_nr = dups->rdp_mask + 1;
	struct m0_rpc_dup **more;
	struct m0_rpc_dup  *dup;
	uint32_t            i;

	if (old_nr >= BUCKETS_MAX)
		return;
	more = m0_alloc_arr(GROWTH * old_nr, sizeof *more);
	if (more == NULL)
		return;
	dups->rdp_bucket = more;
	dups->rdp_mask = GROWTH * old_nr - 1;
	for (i = 0; i < old_nr; ++i) {
		while ((dup = old[i]) != NULL) {
			struct m0_rpc_dup **at =
				bucket_of(dups, dup->rdu_session, dup->rdu_xid);

			old[i] = dup->rdu_next;
			dup->rdu_next = *at;
			*at = dup;
		}
	}
	m0_free(old);
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
	if (dups->rdp_nr++ > dups->rdp_mask)
		grow(dups);
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

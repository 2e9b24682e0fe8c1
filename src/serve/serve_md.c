/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory of MDs: segments of regions of the process, as this process has them mapped.
 */
#include "serve/serve_internal.h"

/* A place for each segment. @retval -ENOMEM */
static int lists_make(struct m0_serve_md *md, uint32_t nr)
{
	char *block;

	md->vmd_long = NULL;
	md->vmd_buf = md->vmd_own_buf;
	md->vmd_count = md->vmd_own_count;
	md->vmd_regions = md->vmd_own_regions;
	if (nr <= M0_SERVE_SEGS_NR)
		return 0;
	block = m0_alloc(nr * (sizeof md->vmd_buf[0] + sizeof md->vmd_count[0] +
			       sizeof md->vmd_regions[0]));
	if (block == NULL)
		return -ENOMEM;
	md->vmd_long = block;
	md->vmd_buf = (void **)(void *)block;
	block += nr * sizeof md->vmd_buf[0];
	md->vmd_count = (m0_bcount_t *)(void *)block;
	block += nr * sizeof md->vmd_count[0];
	md->vmd_regions = (uint32_t *)(void *)block;
	return 0;
}

static int segs_fill(struct m0_serve *srv, struct m0_serve_md *md, uint32_t nr)
{
	uint32_t i;
	int      rc = lists_make(md, nr);

	if (rc != 0)
		return rc;
	for (i = 0; i < nr; ++i) {
		const struct m0_ring_seg *seg = &srv->srv_segs[i];

		md->vmd_buf[i] =
			m0_shared_region_at(&srv->srv_regions, seg->rsg_region,
					    seg->rsg_offset, seg->rsg_bytes);
		if (md->vmd_buf[i] == NULL)
			return -EFAULT;
		md->vmd_count[i] = seg->rsg_bytes;
		md->vmd_regions[i] = seg->rsg_region;
		++srv->srv_region_users[seg->rsg_region - 1];
		++md->vmd_vec.ov_vec.v_nr;
	}
	return 0;
}

/* The queue of its events: number plus 1; 0: the process has none for it. */
static int eq_fill(struct m0_serve *srv, struct m0_serve_md *md, uint32_t eq)
{
	struct m0_serve_eq *veq = eq == 0 ? srv->srv_quiet
					  : m0_serve__eq(srv, eq - 1);

	if (veq == NULL || !veq->veq_is_used)
		return -ENOENT;
	md->vmd_eq = veq;
	++veq->veq_mds_nr;
	return 0;
}

int m0_serve__md_fill(struct m0_serve *srv, struct m0_serve_md *md,
		      struct m0_lnet_md_attr *attr)
{
	const struct m0_ring_md *record = &srv->srv_req.srq_md;
	int                      rc;

	md->vmd_serve = srv;
	md->vmd_eq = NULL;
	md->vmd_ops = NULL;
	md->vmd_handle = m0_lnet_handle_none;
	md->vmd_me = record->rmd_me;
	md->vmd_me_gen = record->rmd_me_gen;
	md->vmd_vec.ov_vec.v_nr = 0;
	rc = segs_fill(srv, md, record->rmd_segs_nr);
	if (rc == 0)
		rc = eq_fill(srv, md, record->rmd_eq);
	if (rc != 0)
		return rc;
	md->vmd_vec.ov_buf = md->vmd_buf;
	md->vmd_vec.ov_vec.v_count = md->vmd_count;
	*attr = (struct m0_lnet_md_attr){
		.mda_vec = record->rmd_segs_nr == 0 ? NULL : &md->vmd_vec,
		.mda_length = record->rmd_length,
		.mda_vec_offset = record->rmd_vec_offset,
		.mda_threshold = record->rmd_threshold,
		.mda_max_size = record->rmd_max_size,
		.mda_options = record->rmd_options,
		.mda_auto_unlink = record->rmd_auto_unlink != 0,
		.mda_eq = &md->vmd_eq->veq_eq,
		.mda_user = md,
	};
	return 0;
}

void m0_serve__md_live(struct m0_serve *srv, struct m0_serve_md *md,
		       struct m0_lnet_handle handle)
{
	md->vmd_handle = handle;
	__atomic_store_n(&srv->srv_mds_nr, srv->srv_mds_nr + 1,
			 __ATOMIC_RELAXED);
}

void m0_serve__md_clear(struct m0_serve *srv, struct m0_serve_md *md)
{
	uint32_t i;

	M0_PRE(md->vmd_ops == NULL);
	for (i = 0; i < md->vmd_vec.ov_vec.v_nr; ++i)
		--srv->srv_region_users[md->vmd_regions[i] - 1];
	if (md->vmd_eq != NULL)
		--md->vmd_eq->veq_mds_nr;
	m0_free0(&md->vmd_long);
	md->vmd_vec.ov_vec.v_nr = 0;
	md->vmd_gen = 0;
}

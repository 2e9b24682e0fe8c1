/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Regions: memory of the client that the server has mapped. A segment of an MD is
 * bytes of a region; the client's addresses mean nothing here.
 */
#include "ring/shared.h"

int m0_shared_regions_init(struct m0_shared_regions *regions,
			   uint32_t regions_max, uint64_t bytes_max)
{
	M0_PRE(regions_max > 0);
	M0_SET0(regions);
	M0_ALLOC_ARR(regions->srs_regions, regions_max);
	if (regions->srs_regions == NULL)
		return -ENOMEM;
	regions->srs_max = regions_max;
	regions->srs_bytes_max = bytes_max;
	return 0;
}

/* Region 0 is the address space of one process, which is never shared. */
static struct m0_shared_region *find(const struct m0_shared_regions *regions,
				     uint32_t                        nr)
{
	return nr == 0 || nr > regions->srs_max ? NULL
						: &regions->srs_regions[nr - 1];
}

static void unmap(struct m0_shared_regions    *regions,
		  const struct m0_shared_side *side, uint32_t nr)
{
	struct m0_shared_region *region = find(regions, nr);
	void                    *addr = region->srg_addr;

	M0_PRE(addr != NULL && regions->srs_bytes >= region->srg_bytes);
	regions->srs_bytes -= region->srg_bytes;
	M0_SET0(region);
	(void)side->shs_host->shh_map(side->shs_host_arg, nr, 0, &addr);
}

void m0_shared_regions_fini(struct m0_shared_regions    *regions,
			    const struct m0_shared_side *side)
{
	uint32_t nr;

	for (nr = 1; nr <= regions->srs_max; ++nr)
		if (find(regions, nr)->srg_addr != NULL)
			unmap(regions, side, nr);
	M0_POST(regions->srs_bytes == 0);
	m0_free0(&regions->srs_regions);
	regions->srs_max = 0;
}

int m0_shared_region_add(struct m0_shared_regions    *regions,
			 const struct m0_shared_side *side, uint32_t nr,
			 uint32_t gen, uint64_t bytes)
{
	struct m0_shared_region *region = find(regions, nr);
	void                    *addr = NULL;
	int                      rc;

	if (region == NULL || bytes == 0)
		return -EINVAL;
	if (region->srg_addr != NULL)
		return -EEXIST;
	if (bytes > regions->srs_bytes_max - regions->srs_bytes)
		return -EDQUOT;
	rc = side->shs_host->shh_map(side->shs_host_arg, nr, bytes, &addr);
	if (rc != 0)
		return rc;
	M0_ASSERT(addr != NULL);
	regions->srs_bytes += bytes;
	region->srg_addr = addr;
	region->srg_bytes = bytes;
	region->srg_gen = gen;
	return 0;
}

int m0_shared_region_del(struct m0_shared_regions    *regions,
			 const struct m0_shared_side *side, uint32_t nr,
			 uint32_t gen)
{
	const struct m0_shared_region *region = find(regions, nr);

	if (region == NULL || region->srg_addr == NULL ||
	    region->srg_gen != gen)
		return -ENOENT;
	unmap(regions, side, nr);
	return 0;
}

void *m0_shared_region_at(const struct m0_shared_regions *regions, uint32_t nr,
			  uint64_t offset, uint64_t bytes)
{
	const struct m0_shared_region *region = find(regions, nr);

	if (region == NULL || region->srg_addr == NULL ||
	    offset > region->srg_bytes || bytes > region->srg_bytes - offset)
		return NULL;
	return (char *)region->srg_addr + offset;
}

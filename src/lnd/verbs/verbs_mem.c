/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Regions are registered once with each device. Other memory is registered for one
 * transfer, and not kept: it may be given back to the system and come again as other
 * pages without anybody telling us.
 */
#include <errno.h>

#include "lnd/verbs/verbs_internal.h"

enum {
	/** Regions that are looked at for a segment. */
	MEMS_LOOK_MAX = 8
};

static struct ibv_mr *mr_new(struct m0_verbs_hca *hca, void *addr, size_t bytes,
			     bool is_written)
{
	unsigned access = 0;

	if (is_written)
		access = (unsigned)IBV_ACCESS_LOCAL_WRITE |
			 (unsigned)IBV_ACCESS_REMOTE_WRITE;
	return ibv_reg_mr(hca->vhc_pd, addr, bytes, access);
}

/* Place of the first region that begins behind `addr`. */
static unsigned mem_after(const struct m0_verbs_dev *dev, const void *addr)
{
	unsigned lo = 0;
	unsigned hi = dev->vdv_mems_nr;
	unsigned at;

	while (lo < hi) {
		at = lo + (hi - lo) / 2;
		if ((uintptr_t)dev->vdv_mems[at]->vbm_mem->ome_addr >
		    (uintptr_t)addr)
			hi = at;
		else
			lo = at + 1;
	}
	return lo;
}

static bool mem_has(const struct m0_o2ib_mem *mem,
		    const struct m0_o2ib_seg *seg)
{
	size_t off = (uintptr_t)seg->osg_addr - (uintptr_t)mem->ome_addr;

	return off <= mem->ome_bytes && seg->osg_bytes <= mem->ome_bytes - off;
}

static bool mem_has_all(const struct m0_o2ib_mem *mem,
			const struct m0_o2ib_seg *segs, unsigned nr)
{
	unsigned i;

	if (mem->ome_is_left)
		return false;
	for (i = 0; i < nr; ++i)
		if (!mem_has(mem, &segs[i]))
			return false;
	return true;
}

/* The registration that has all these segments, or NULL. A region may have others in it, which
 * stand behind it. The smallest is found: memory of the driver may be within a region of the
 * application, which leaves earlier. */
static struct ibv_mr *mr_find(const struct m0_verbs_hca *hca,
			      const struct m0_o2ib_seg *segs, unsigned nr)
{
	const struct m0_verbs_mem *best = NULL;
	unsigned at = mem_after(hca->vhc_dev, segs[0].osg_addr);
	unsigned end = at - min_check(at, (unsigned)MEMS_LOOK_MAX);

	while (at-- > end) {
		const struct m0_verbs_mem *mem = hca->vhc_dev->vdv_mems[at];

		if (mem_has_all(mem->vbm_mem, segs, nr) &&
		    (best == NULL ||
		     mem->vbm_mem->ome_bytes < best->vbm_mem->ome_bytes))
			best = mem;
	}
	return best == NULL ? NULL : best->vbm_mrs[hca->vhc_index];
}

static int mems_grow(struct m0_verbs_dev *dev)
{
	struct m0_verbs_mem **mems;
	unsigned              max = dev->vdv_mems_max * 2 + 16;

	if (dev->vdv_mems_nr < dev->vdv_mems_max)
		return 0;
	M0_ALLOC_ARR(mems, max);
	if (mems == NULL)
		return -ENOMEM;
	if (dev->vdv_mems_nr > 0)
		memcpy(mems, dev->vdv_mems, dev->vdv_mems_nr * sizeof *mems);
	m0_free(dev->vdv_mems);
	dev->vdv_mems = mems;
	dev->vdv_mems_max = max;
	return 0;
}

static int mem_register(struct m0_verbs_mem *mem, struct m0_verbs_hca *hca)
{
	mem->vbm_mrs[hca->vhc_index] = mr_new(hca, mem->vbm_mem->ome_addr,
					      mem->vbm_mem->ome_bytes, true);
	return mem->vbm_mrs[hca->vhc_index] == NULL ? -errno : 0;
}

static void mem_forget(struct m0_verbs_mem *mem, unsigned index)
{
	if (mem->vbm_mrs[index] != NULL)
		(void)ibv_dereg_mr(mem->vbm_mrs[index]);
	mem->vbm_mrs[index] = NULL;
}

static void mem_free(struct m0_verbs_dev *dev, struct m0_verbs_mem *mem)
{
	unsigned i;

	for (i = 0; i < dev->vdv_hcas_nr; ++i)
		mem_forget(mem, i);
	m0_free(mem);
}

int m0_verbs__mem_add(struct m0_o2ib_dev *odv, struct m0_o2ib_mem *ome)
{
	struct m0_verbs_dev *dev = m0_verbs__dev(odv);
	struct m0_verbs_mem *mem;
	unsigned             at = mem_after(dev, ome->ome_addr);
	unsigned             i;
	int                  rc;

	M0_PRE(ome->ome_bytes > 0);
	while (at > 0 &&
	       dev->vdv_mems[at - 1]->vbm_mem->ome_addr == ome->ome_addr &&
	       dev->vdv_mems[at - 1]->vbm_mem->ome_bytes < ome->ome_bytes)
		--at;
	ome->ome_priv = NULL;
	rc = mems_grow(dev);
	if (rc != 0)
		return rc;
	M0_ALLOC_PTR(mem);
	if (mem == NULL)
		return -ENOMEM;
	mem->vbm_mem = ome;
	for (i = 0; rc == 0 && i < dev->vdv_hcas_nr; ++i)
		rc = mem_register(mem, dev->vdv_hcas[i]);
	if (rc != 0) {
		mem_free(dev, mem);
		return rc;
	}
	ome->ome_priv = mem;
	memmove(&dev->vdv_mems[at + 1], &dev->vdv_mems[at],
		(dev->vdv_mems_nr - at) * sizeof dev->vdv_mems[0]);
	dev->vdv_mems[at] = mem;
	++dev->vdv_mems_nr;
	return 0;
}

void m0_verbs__mem_del(struct m0_o2ib_dev *odv, struct m0_o2ib_mem *ome)
{
	struct m0_verbs_dev *dev = m0_verbs__dev(odv);
	struct m0_verbs_mem *mem = ome->ome_priv;
	unsigned             at = 0;

	if (mem == NULL)
		return;
	while (dev->vdv_mems[at] != mem)
		++at;
	--dev->vdv_mems_nr;
	memmove(&dev->vdv_mems[at], &dev->vdv_mems[at + 1],
		(dev->vdv_mems_nr - at) * sizeof dev->vdv_mems[0]);
	mem_free(dev, mem);
	ome->ome_priv = NULL;
}

void m0_verbs__mem_hca_add(struct m0_verbs_hca *hca)
{
	unsigned i;

	/* A region that cannot be registered is copied. */
	for (i = 0; i < hca->vhc_dev->vdv_mems_nr; ++i)
		(void)mem_register(hca->vhc_dev->vdv_mems[i], hca);
}

void m0_verbs__mem_hca_del(struct m0_verbs_hca *hca)
{
	unsigned i;

	for (i = 0; i < hca->vhc_dev->vdv_mems_nr; ++i)
		mem_forget(hca->vhc_dev->vdv_mems[i], hca->vhc_index);
}

/* Memory that is in no region: one registration, if it is in one piece. */
static int map_foreign(struct m0_verbs_hca *hca, struct m0_o2ib_seg *segs,
		       unsigned nr, bool is_sink, struct m0_o2ib_map *ret)
{
	size_t         bytes = 0;
	struct ibv_mr *mr;
	unsigned       i;

	for (i = 0; i < nr; ++i) {
		if ((char *)segs[i].osg_addr !=
		    (char *)segs[0].osg_addr + bytes)
			return is_sink ? -EXDEV : -EFAULT;
		bytes += segs[i].osg_bytes;
	}
	++hca->vhc_dev->vdv_dev.odv_counts.odc_regs_nr;
	mr = mr_new(hca, segs[0].osg_addr, bytes, is_sink);
	if (mr == NULL)
		return errno == EFAULT || errno == EACCES ? -EFAULT : -ENOMEM;
	for (i = 0; i < nr; ++i)
		segs[i].osg_lkey = mr->lkey;
	ret->omp_rkey = mr->rkey;
	ret->omp_priv[0] = mr;
	return 0;
}

/* A peer has one key for all segments of a sink. */
static int map_sink(struct m0_verbs_hca *hca, struct m0_o2ib_seg *segs,
		    unsigned nr, struct m0_o2ib_map *ret)
{
	const struct ibv_mr *mr = mr_find(hca, segs, nr);
	unsigned             i;

	if (mr == NULL)
		return map_foreign(hca, segs, nr, true, ret);
	for (i = 0; i < nr; ++i)
		segs[i].osg_lkey = mr->lkey;
	ret->omp_rkey = mr->rkey;
	return 0;
}

int m0_verbs__map(struct m0_o2ib_port *port, struct m0_o2ib_seg *segs,
		  unsigned nr, enum m0_o2ib_map_kind kind,
		  struct m0_o2ib_map *ret)
{
	struct m0_verbs_hca *hca =
		((struct m0_verbs_port *)port->ort_priv)->vbp_hca;
	const struct ibv_mr *mr;
	unsigned             i;

	M0_PRE(nr >= 1 && nr <= M0_O2IB_MAP_SEGS_MAX);
	M0_SET0(ret);
	if (kind == M0_O2IB_MAP_SINK)
		return map_sink(hca, segs, nr, ret);
	for (i = 0; i < nr; ++i) {
		mr = mr_find(hca, &segs[i], 1);
		if (mr == NULL)
			return map_foreign(hca, segs, nr, false, ret);
		segs[i].osg_lkey = mr->lkey;
	}
	return 0;
}

void m0_verbs__unmap(struct m0_o2ib_port *port, struct m0_o2ib_map *map)
{
	(void)port;
	if (map->omp_priv[0] != NULL)
		(void)ibv_dereg_mr(map->omp_priv[0]);
	M0_SET0(map);
}

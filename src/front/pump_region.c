/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Numbers of regions, and their memory.
 */
#include "front/pump_internal.h"

uint32_t m0_pump__region_take(struct m0_pump *pump, void *mem)
{
	uint32_t max = pump->pmp_side->shs_cfg.shc_regions_max;
	uint32_t i = 0;

	M0_PRE(mem != NULL);
	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lnet->fro_lock));
	while (i < max && pump->pmp_regions[i].prg_mem != NULL)
		++i;
	if (i == max)
		return 0;
	pump->pmp_regions[i].prg_mem = mem;
	if (++pump->pmp_regions[i].prg_gen == 0)
		++pump->pmp_regions[i].prg_gen;
	M0_POST(pump->pmp_regions[i].prg_gen != 0);
	return i + 1;
}

void m0_pump__region_put(struct m0_pump *pump, uint32_t nr)
{
	M0_PRE(nr > 0 && pump->pmp_regions[nr - 1].prg_mem != NULL);
	if (pump->pmp_host->puh_unshare != NULL)
		pump->pmp_host->puh_unshare(pump->pmp_arg, nr);
	m0_mutex_lock(&pump->pmp_lnet->fro_lock);
	pump->pmp_regions[nr - 1].prg_mem = NULL;
	m0_mutex_unlock(&pump->pmp_lnet->fro_lock);
}

int m0_pump__region_share(struct m0_pump *pump, uint32_t nr, void *addr,
			  uint64_t bytes)
{
	M0_PRE(nr > 0 && bytes > 0);
	/* The thread that registers it, and the step that gives it once more. */
	m0_mutex_lock(&pump->pmp_lnet->fro_lock);
	pump->pmp_regions[nr - 1].prg_addr = addr;
	pump->pmp_regions[nr - 1].prg_bytes = bytes;
	m0_mutex_unlock(&pump->pmp_lnet->fro_lock);
	return pump->pmp_host->puh_share == NULL
		       ? 0
		       : pump->pmp_host->puh_share(pump->pmp_arg, nr, addr,
						   bytes);
}

void *m0_pump__region_of(const struct m0_pump *pump, uint32_t nr)
{
	M0_PRE(nr > 0 && nr <= pump->pmp_side->shs_cfg.shc_regions_max);
	return pump->pmp_regions[nr - 1].prg_mem;
}

enum m0_front_takes m0_pump__takes(const struct m0_pump *pump)
{
	if (pump->pmp_host->puh_share == NULL)
		return M0_FRONT_TAKES_NAMES;
	return pump->pmp_host->puh_takes_any ? M0_FRONT_TAKES_ANY
					     : M0_FRONT_TAKES_SHARED;
}

void m0_pump__region_result(struct m0_pump *pump, uint32_t nr, bool is_add,
			    int status)
{
	void *mem = pump->pmp_regions[nr - 1].prg_mem;
	int   rc = 0;

	M0_PRE(mem != NULL && status <= 0);
	if (status != -EEXIST)
		pump->pmp_regions[nr - 1].prg_is_there = is_add && status == 0;
	/* Another thread may have asked, too. */
	if (is_add && status != 0 && status != -EEXIST &&
	    pump->pmp_again.pag_renews == M0_PUMP_RENEWS_MEMORY)
		rc = m0_front__mem_refused(pump->pmp_lnet, nr, status);
	if (rc != 0)
		pump->pmp_again.pag_rc = rc;
	m0_front__mem_result(pump->pmp_lnet, mem, nr, is_add, status);
}

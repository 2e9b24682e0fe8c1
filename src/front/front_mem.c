/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory. Each region reaches each driver that takes regions once: by
 * an entry, before every message that is posted after the registration; or, if the
 * node makes the driver later, when it makes it.
 */
#include "front/front_internal.h"

/** Most regions of a node. */
enum {
	MEMS_MAX = 1 << 24
};

/** The name by which the application deregisters a region. */
struct mem_key {
	void  *mek_addr;
	size_t mek_bytes;
};

struct front_mem {
	/* Under hm_lock. */
	struct mem_key      hmr_key;
	struct m0_hash_link hmr_link;
	/** In hmz_all. */
	struct m0_list_link hmr_all;
	/** Registrations less deregistrations. */
	uint64_t             hmr_users_nr;
	struct m0_front_call hmr_add;
	struct m0_front_call hmr_del;
	/** For the thread that waits for hmr_del; NULL: none does. */
	struct m0_semaphore *hmr_sem;
	/** Attached: for the thread that waits for the server's answer to hmr_add, and
	 * that answer. */
	struct m0_semaphore *hmr_add_sem;
	int                  hmr_status;

	/* The strand's. */
	/** Deregistered before hmr_add was done. */
	bool               hmr_is_gone;
	struct m0_node_mem hmr_mem;
};

void m0_front__mems_init(struct m0_lnet *lnet)
{
	m0_hash_init(&lnet->hm_mems.hmz_regions);
	m0_list_init(&lnet->hm_mems.hmz_all);
}

static void mem_add_do(struct m0_lnet *lnet, struct m0_front_call *call)
{
	struct front_mem *mem = container_of(call, struct front_mem, hmr_add);

	if (lnet->hm_pump != NULL)
		lnet->hm_embed.emb_apart->fao_region_do(
			lnet->hm_pump, true, mem->hmr_mem.nmm_mem.lme_region,
			mem->hmr_mem.nmm_mem.lme_bytes);
	else if (mem->hmr_is_gone)
		m0_free(mem);
	else
		m0_node_mem_add(lnet->hm_node, &mem->hmr_mem);
}

static void mem_del_do(struct m0_lnet *lnet, struct m0_front_call *call)
{
	struct front_mem *mem = container_of(call, struct front_mem, hmr_del);
	struct m0_semaphore *sem = mem->hmr_sem;

	if (lnet->hm_pump != NULL) {
		lnet->hm_embed.emb_apart->fao_region_do(
			lnet->hm_pump, false, mem->hmr_mem.nmm_mem.lme_region,
			0);
		return;
	}
	m0_node_mem_del(lnet->hm_node, &mem->hmr_mem);
	m0_free(mem);
	if (sem != NULL)
		m0_semaphore_up(sem);
}

void m0_front__mems_fini(struct m0_lnet *lnet)
{
	struct m0_hash      *regions = &lnet->hm_mems.hmz_regions;
	struct m0_hash_link *link;

	while ((link = m0_hash_first(regions)) != NULL) {
		struct front_mem *mem =
			container_of(link, struct front_mem, hmr_link);

		M0_ASSERT(!m0_list_link_is_in(&mem->hmr_mem.nmm_link));
		m0_hash_del(regions, link);
		m0_list_del(&mem->hmr_all);
		m0_free(mem);
	}
	m0_hash_fini(regions);
}

static struct front_mem *find(const struct m0_lnet *lnet,
			      const struct mem_key *key)
{
	struct m0_hash_link *link =
		m0_hash_find(&lnet->hm_mems.hmz_regions, key, sizeof *key);

	return link == NULL ? NULL
			    : container_of(link, struct front_mem, hmr_link);
}

/* The number of a region; hm_lock is held. */
static int region_name(struct m0_lnet *lnet, struct front_mem *mem)
{
	struct m0_front_mems *mems = &lnet->hm_mems;
	uint32_t              nr;

	if (lnet->hm_pump != NULL) {
		nr = lnet->hm_embed.emb_apart->fao_region_take(lnet->hm_pump,
							       mem);
		mem->hmr_mem.nmm_mem.lme_region = nr;
		return nr == 0 ? -ENOSPC : 0;
	}
	/* 0 is the whole address space. */
	if (++mems->hmz_last == 0)
		++mems->hmz_last;
	mem->hmr_mem.nmm_mem.lme_region = mems->hmz_last;
	return 0;
}

/* hm_lock is held. `mem` is new; posts it if *ret is it. */
static int mem_use(struct m0_lnet *lnet, struct front_mem *mem,
		   struct front_mem **ret)
{
	struct m0_front_mems *mems = &lnet->hm_mems;
	int                   rc;

	M0_PRE(mem->hmr_users_nr == 1);
	if (lnet->hm_shut)
		return -ESHUTDOWN;
	*ret = find(lnet, &mem->hmr_key);
	if (*ret != NULL) {
		++(*ret)->hmr_users_nr;
		return 0;
	}
	if (m0_hash_nr(&mems->hmz_regions) == MEMS_MAX)
		return -ENOSPC;
	rc = m0_hash_add(&mems->hmz_regions, &mem->hmr_link, &mem->hmr_key,
			 sizeof mem->hmr_key);
	if (rc != 0)
		return rc;
	rc = region_name(lnet, mem);
	if (rc != 0) {
		m0_hash_del(&mems->hmz_regions, &mem->hmr_link);
		return rc;
	}
	m0_list_add_tail(&mems->hmz_all, &mem->hmr_all);
	*ret = mem;
	return 0;
}

/* The region of some memory; 0: it is not registered. The node's process has it at
 * another address. */
static bool seg_find(const struct m0_lnet *lnet, const void *addr,
		     m0_bcount_t bytes, struct m0_ring_seg *ret)
{
	const struct front_mem *mem;
	uintptr_t               at = (uintptr_t)addr;

	m0_list_for_each_entry(&lnet->hm_mems.hmz_all, mem, struct front_mem,
			       hmr_all) {
		uintptr_t from = (uintptr_t)mem->hmr_key.mek_addr;

		if (at < from || at - from > mem->hmr_key.mek_bytes ||
		    bytes > mem->hmr_key.mek_bytes - (at - from))
			continue;
		*ret = (struct m0_ring_seg){
			.rsg_region = mem->hmr_mem.nmm_mem.lme_region,
			.rsg_offset = at - from,
			.rsg_bytes = bytes
		};
		return true;
	}
	return false;
}

int m0_front__segs_fill(struct m0_lnet *lnet, struct m0_front_md *fmd,
			const struct m0_bufvec *vec)
{
	struct m0_ring_md *record =
		m0_front__md_record(lnet, fmd->fmd_slot.fsl_index);
	struct m0_ring_seg *segs = record->rmd_segs;
	uint32_t            i;

	M0_PRE(vec->ov_vec.v_nr <= M0_LNET_MD_SEGS_MAX);
	record->rmd_vec = 0;
	record->rmd_segs_nr = vec->ov_vec.v_nr;
	if (vec->ov_vec.v_nr > M0_RING_SEGS_NR) {
		fmd->fmd_segs = m0_front__slot_get(&lnet->hm_segs);
		if (fmd->fmd_segs == NULL && lnet->hm_pump != NULL &&
		    m0_front__grow_locked(lnet, &lnet->hm_segs, M0_RING_SEGS))
			fmd->fmd_segs = m0_front__slot_get(&lnet->hm_segs);
		if (fmd->fmd_segs == NULL)
			return -ENOSPC;
		record->rmd_long = fmd->fmd_segs->fsl_index;
		segs = M0_RING_RECORD(&lnet->hm_records[M0_RING_SEGS],
				      struct m0_ring_segs, record->rmd_long)
			       ->rgl_seg;
	}
	for (i = 0; i < vec->ov_vec.v_nr; ++i)
		if (!seg_find(lnet, vec->ov_buf[i], vec->ov_vec.v_count[i],
			      &segs[i]))
			return -EFAULT;
	return 0;
}

/* -------------------------------------------------------------- attached -- */

void m0_front__mem_result(struct m0_lnet *lnet, void *arg, uint32_t nr,
			  bool is_add, int status)
{
	struct front_mem    *mem = arg;
	struct m0_semaphore *sem = is_add ? mem->hmr_add_sem : mem->hmr_sem;

	if (is_add) {
		mem->hmr_status = status;
	} else {
		/* With an error the server has it still, and its number stays. */
		if (status == 0 || status == -ENOENT || status == -ESHUTDOWN)
			lnet->hm_embed.emb_apart->fao_region_put(lnet->hm_pump,
								 nr);
		m0_free(mem);
	}
	if (sem != NULL)
		m0_semaphore_up(sem);
}

/* One use less of a region that the server does not have. */
static void region_undo(struct m0_lnet *lnet, struct front_mem *mem)
{
	bool last;

	M0_PRE(mem->hmr_users_nr > 0);
	m0_front__lock(lnet);
	last = --mem->hmr_users_nr == 0;
	if (last) {
		m0_hash_del(&lnet->hm_mems.hmz_regions, &mem->hmr_link);
		m0_list_del(&mem->hmr_all);
	}
	m0_mutex_unlock(&lnet->hm_lock);
	if (!last)
		return;
	lnet->hm_embed.emb_apart->fao_region_put(
		lnet->hm_pump, mem->hmr_mem.nmm_mem.lme_region);
	m0_free(mem);
}

/* A step cannot wait for the answer: MDs in the memory are refused if it fails. */
static int region_register(struct m0_lnet *lnet, struct front_mem *mem)
{
	const struct m0_lnd_mem *lme = &mem->hmr_mem.nmm_mem;
	struct m0_semaphore      sem;
	bool                     waits = !m0_front__is_inside(lnet);
	int                      rc;

	M0_PRE(lnet->hm_pump != NULL && lme->lme_region != 0);
	rc = lnet->hm_embed.emb_apart->fao_region_share(
		lnet->hm_pump, lme->lme_region, lme->lme_addr, lme->lme_bytes);
	if (rc != 0) {
		region_undo(lnet, mem);
		return rc;
	}
	(void)m0_semaphore_init(&sem, 0);
	mem->hmr_add_sem = waits ? &sem : NULL;
	m0_front__lock(lnet);
	m0_front__call_unlock(lnet, &mem->hmr_add);
	if (waits) {
		(void)m0_front__wait(lnet, &sem, M0_TIME_NEVER);
		rc = mem->hmr_status;
	}
	m0_semaphore_fini(&sem);
	if (rc != 0)
		region_undo(lnet, mem);
	return rc;
}

/* The server has to be asked, since the memory may be gone afterwards. */
static void region_deregister(struct m0_lnet *lnet, struct front_mem *mem)
{
	struct m0_semaphore sem;
	bool                waits = !m0_front__is_inside(lnet);

	(void)m0_semaphore_init(&sem, 0);
	mem->hmr_sem = waits ? &sem : NULL;
	m0_front__lock(lnet);
	m0_front__call_unlock(lnet, &mem->hmr_del);
	if (waits)
		(void)m0_front__wait(lnet, &sem, M0_TIME_NEVER);
	m0_semaphore_fini(&sem);
}

/* ------------------------------------------------------------------------ */

int m0_lnet_mem_register(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	struct front_mem *mem;
	struct front_mem *used = NULL;
	int               rc;

	if (bytes == 0)
		return -EINVAL;
	M0_ALLOC_PTR(mem);
	if (mem == NULL)
		return -ENOMEM;
	mem->hmr_key = (struct mem_key){ addr, bytes };
	mem->hmr_users_nr = 1;
	mem->hmr_mem.nmm_mem.lme_addr = addr;
	mem->hmr_mem.nmm_mem.lme_bytes = bytes;
	m0_list_link_init(&mem->hmr_mem.nmm_link);
	m0_list_link_init(&mem->hmr_all);
	mem->hmr_add.ca_do = mem_add_do;
	mem->hmr_del.ca_do = mem_del_do;
	m0_front__lock(lnet);
	rc = mem_use(lnet, mem, &used);
	if (used == mem && lnet->hm_pump != NULL) {
		m0_mutex_unlock(&lnet->hm_lock);
		return region_register(lnet, mem);
	}
	/* The node of another process was told by who shares the memory. */
	if (used == mem && lnet->hm_node == NULL) {
		m0_mutex_unlock(&lnet->hm_lock);
		return 0;
	}
	if (used == mem) {
		m0_front__call_unlock(lnet, &mem->hmr_add);
		return 0;
	}
	m0_mutex_unlock(&lnet->hm_lock);
	m0_free(mem);
	return rc;
}

/* On the strand itself, which cannot wait for an entry. */
static void inside_del(struct m0_lnet *lnet, struct front_mem *mem)
{
	if (!m0_list_link_is_in(&mem->hmr_mem.nmm_link)) {
		mem->hmr_is_gone = true;
		return;
	}
	m0_node_mem_del(lnet->hm_node, &mem->hmr_mem);
	m0_free(mem);
}

void m0_lnet_mem_deregister(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	struct mem_key      key = { addr, bytes };
	struct m0_semaphore sem;
	struct front_mem   *mem;
	bool                waits = lnet->hm_node != NULL &&
		     M0_FRONT_GET(lnet->hm_node->nod_mems_are_wanted);

	m0_front__lock(lnet);
	mem = find(lnet, &key);
	M0_PRE(mem != NULL && mem->hmr_users_nr > 0);
	/* A close deregisters what is left. */
	if (--mem->hmr_users_nr > 0 || lnet->hm_shut) {
		m0_mutex_unlock(&lnet->hm_lock);
		return;
	}
	m0_hash_del(&lnet->hm_mems.hmz_regions, &mem->hmr_link);
	m0_list_del(&mem->hmr_all);
	if (lnet->hm_node == NULL) {
		m0_mutex_unlock(&lnet->hm_lock);
		if (lnet->hm_pump != NULL)
			region_deregister(lnet, mem);
		else
			m0_free(mem);
		return;
	}
	if (m0_front__is_inside(lnet)) {
		m0_mutex_unlock(&lnet->hm_lock);
		inside_del(lnet, mem);
		return;
	}
	if (waits) {
		(void)m0_semaphore_init(&sem, 0);
		mem->hmr_sem = &sem;
	}
	m0_front__call_unlock(lnet, &mem->hmr_del);
	if (!waits)
		return;
	(void)m0_front__wait(lnet, &sem, M0_TIME_NEVER);
	m0_semaphore_fini(&sem);
}

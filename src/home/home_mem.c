/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory. Each region reaches each driver that takes regions once: by
 * an operation in the inbox, before every message that is posted after the
 * registration; or, if the node makes the driver later, when it makes it.
 */
#include "home/home_internal.h"

/** Most regions of a node. */
enum {
	MEMS_MAX = 1 << 24
};

/** The name by which the application deregisters a region. */
struct mem_key {
	void  *mek_addr;
	size_t mek_bytes;
};

struct home_mem {
	/* Under hm_lock. */
	struct mem_key      hmr_key;
	struct m0_hash_link hmr_link;
	/** Registrations less deregistrations. */
	uint64_t            hmr_users_nr;
	struct m0_home_call hmr_add;
	struct m0_home_call hmr_del;
	/** For the thread that waits for hmr_del; NULL: none does. */
	struct m0_semaphore *hmr_sem;

	/* The strand's. */
	/** In hmz_added, if the drivers have the region. */
	struct m0_list_link hmr_added;
	/** Deregistered before hmr_add was done. */
	bool              hmr_is_gone;
	struct m0_lnd_mem hmr_mem;
};

void m0_home__mems_init(struct m0_lnet *lnet)
{
	m0_hash_init(&lnet->hm_mems.hmz_regions);
	m0_list_init(&lnet->hm_mems.hmz_added);
}

static void lnd_mem_add(struct m0_lnd *lnd, const struct home_mem *mem)
{
	if (lnd->ld_ops->ldo_mem_add != NULL)
		lnd->ld_ops->ldo_mem_add(lnd, &mem->hmr_mem);
}

static void drivers_del(struct m0_lnet *lnet, struct home_mem *mem)
{
	struct m0_lnd *lnd;
	unsigned       i;

	m0_list_del(&mem->hmr_added);
	for (i = 0; i < lnet->hm_node.hno_lnds_nr; ++i) {
		lnd = lnet->hm_node.hno_lnds[i];
		if (lnd->ld_ops->ldo_mem_del != NULL)
			lnd->ld_ops->ldo_mem_del(lnd, &mem->hmr_mem);
	}
}

void m0_home__mem_add_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct home_mem *mem = container_of(op, struct home_mem, hmr_add.ca_op);
	unsigned         i;

	if (mem->hmr_is_gone) {
		m0_free(mem);
		return;
	}
	m0_list_add_tail(&lnet->hm_mems.hmz_added, &mem->hmr_added);
	for (i = 0; i < lnet->hm_node.hno_lnds_nr; ++i)
		lnd_mem_add(lnet->hm_node.hno_lnds[i], mem);
}

void m0_home__mem_del_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct home_mem *mem = container_of(op, struct home_mem, hmr_del.ca_op);
	struct m0_semaphore *sem = mem->hmr_sem;

	drivers_del(lnet, mem);
	m0_free(mem);
	if (sem != NULL)
		m0_semaphore_up(sem);
}

void m0_home__lnd_add(struct m0_lnet *lnet, const struct m0_lnd_row *row,
		      struct m0_lnd *lnd)
{
	struct home_mem *mem;

	M0_PRE((lnd->ld_ops->ldo_mem_add == NULL) ==
	       (lnd->ld_ops->ldo_mem_del == NULL));
	M0_PRE(lnet->hm_node.hno_lnds_nr < ARRAY_SIZE(lnet->hm_node.hno_lnds));
	lnet->hm_node.hno_rows[lnet->hm_node.hno_lnds_nr] = row;
	lnet->hm_node.hno_lnds[lnet->hm_node.hno_lnds_nr++] = lnd;
	if (lnd->ld_ops->ldo_mem_add != NULL)
		M0_HOME_SET(lnet->hm_mems.hmz_are_wanted, true);
	m0_list_for_each_entry(&lnet->hm_mems.hmz_added, mem, struct home_mem,
			       hmr_added)
		lnd_mem_add(lnd, mem);
}

void m0_home__mems_fini(struct m0_lnet *lnet)
{
	struct m0_hash      *regions = &lnet->hm_mems.hmz_regions;
	struct m0_hash_link *link;

	while ((link = m0_hash_first(regions)) != NULL) {
		struct home_mem *mem =
			container_of(link, struct home_mem, hmr_link);

		m0_hash_del(regions, link);
		if (m0_list_link_is_in(&mem->hmr_added))
			drivers_del(lnet, mem);
		m0_free(mem);
	}
	m0_hash_fini(regions);
}

static struct home_mem *find(const struct m0_lnet *lnet,
			     const struct mem_key *key)
{
	struct m0_hash_link *link =
		m0_hash_find(&lnet->hm_mems.hmz_regions, key, sizeof *key);

	return link == NULL ? NULL
			    : container_of(link, struct home_mem, hmr_link);
}

/* hm_lock is held. `mem` is new; posts it if *ret is it. */
static int mem_use(struct m0_lnet *lnet, struct home_mem *mem,
		   struct home_mem **ret)
{
	struct m0_home_mems *mems = &lnet->hm_mems;
	int                  rc;

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
	/* 0 is the whole address space. */
	if (++mems->hmz_last == 0)
		++mems->hmz_last;
	mem->hmr_mem.lme_region = mems->hmz_last;
	*ret = mem;
	return 0;
}

int m0_lnet_mem_register(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	struct home_mem *mem;
	struct home_mem *used = NULL;
	int              rc;

	if (bytes == 0)
		return -EINVAL;
	M0_ALLOC_PTR(mem);
	if (mem == NULL)
		return -ENOMEM;
	mem->hmr_key = (struct mem_key){ addr, bytes };
	mem->hmr_users_nr = 1;
	mem->hmr_mem.lme_addr = addr;
	mem->hmr_mem.lme_bytes = bytes;
	m0_list_link_init(&mem->hmr_added);
	m0_home__lock(lnet);
	rc = mem_use(lnet, mem, &used);
	if (used == mem) {
		m0_home__call_unlock(lnet, M0_HOME_OP_MEM_ADD, &mem->hmr_add);
		return 0;
	}
	m0_mutex_unlock(&lnet->hm_lock);
	m0_free(mem);
	return rc;
}

/* By the strand itself, which cannot wait for the inbox. */
static void inside_del(struct m0_lnet *lnet, struct home_mem *mem)
{
	if (!m0_list_link_is_in(&mem->hmr_added)) {
		mem->hmr_is_gone = true;
		return;
	}
	drivers_del(lnet, mem);
	m0_free(mem);
}

void m0_lnet_mem_deregister(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	struct mem_key      key = { addr, bytes };
	struct m0_semaphore sem;
	struct home_mem    *mem;
	bool                waits = M0_HOME_GET(lnet->hm_mems.hmz_are_wanted);

	m0_home__lock(lnet);
	mem = find(lnet, &key);
	M0_PRE(mem != NULL);
	/* A close deregisters what is left. */
	if (--mem->hmr_users_nr > 0 || lnet->hm_shut) {
		m0_mutex_unlock(&lnet->hm_lock);
		return;
	}
	m0_hash_del(&lnet->hm_mems.hmz_regions, &mem->hmr_link);
	if (m0_home__is_inside(lnet)) {
		m0_mutex_unlock(&lnet->hm_lock);
		inside_del(lnet, mem);
		return;
	}
	if (waits) {
		(void)m0_semaphore_init(&sem, 0);
		mem->hmr_sem = &sem;
	}
	m0_home__call_unlock(lnet, M0_HOME_OP_MEM_DEL, &mem->hmr_del);
	if (!waits)
		return;
	(void)m0_home__wait(lnet, &sem, M0_TIME_NEVER);
	m0_semaphore_fini(&sem);
}

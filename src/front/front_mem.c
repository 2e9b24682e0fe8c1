/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Registered memory. Each region reaches each driver that takes regions once: by
 * an entry, before every message that is posted after the registration; or, if the
 * node makes the driver later, when it makes it.
 */
#include "front/front_internal.h"
#include "m0/log.h"

enum {
	/** Most regions of a node. */
	MEMS_MAX = 1 << 24,
	/** Longest wait for regions that the server lets go of. */
	LEAVING_WAIT_S = 1,
	/** Shadows are whole pages, which the allocator takes out of regions. */
	SHADOW_SHIFT = 12
};

/** No attachment has it: it was registered while there was none. */
#define NO_EPOCH UINT32_MAX

/** The name by which the application deregisters a region. */
struct mem_key {
	void  *mek_addr;
	size_t mek_bytes;
};

struct front_mem {
	/* Under fro_lock. */
	struct mem_key      hmr_key;
	struct m0_hash_link hmr_link;
	/** In hmz_all. */
	struct m0_list_link hmr_all;
	/** Registrations less deregistrations. */
	uint64_t hmr_users_nr;
	/** Attached: the attachment that was given the memory, emb_epoch or NO_EPOCH. */
	uint32_t hmr_epoch;
	/** No attachment had it before; the present one does not take it. */
	bool                 hmr_is_late;
	bool                 hmr_is_refused;
	struct m0_front_call hmr_add;
	struct m0_front_call hmr_del;
	/** Attached, and part of a region that is handed over: that region, and where in
	 * it; bytes 0: it is a region itself. */
	struct mem_key    hmr_base;
	size_t            hmr_offset;
	struct front_mem *hmr_whole;
	/** Memory that the server has in its place; NULL: the memory itself. */
	void *hmr_shadow;

	/* The strand's. */
	struct m0_node_mem hmr_mem;
};

void m0_front__mems_init(struct m0_lnet *lnet)
{
	m0_hash_init(&lnet->fro_mems.hmz_regions);
	m0_list_init(&lnet->fro_mems.hmz_all);
}

static bool is_part(const struct front_mem *mem)
{
	return mem->hmr_base.mek_bytes > 0;
}

static void shadow_free(struct front_mem *mem)
{
	m0_free_aligned(mem->hmr_shadow, mem->hmr_key.mek_bytes, SHADOW_SHIFT);
}

static void mem_add_do(struct m0_lnet *lnet, struct m0_front_call *call)
{
	struct front_mem *mem = container_of(call, struct front_mem, hmr_add);

	if (lnet->fro_pump != NULL)
		lnet->fro_embed.emb_apart->fao_region_do(
			lnet->fro_pump, true, mem->hmr_mem.nmm_mem.lme_region,
			mem->hmr_mem.nmm_mem.lme_bytes);
	else
		m0_node_mem_add(lnet->fro_node, &mem->hmr_mem);
}

static void mem_del_do(struct m0_lnet *lnet, struct m0_front_call *call)
{
	struct front_mem *mem = container_of(call, struct front_mem, hmr_del);

	if (lnet->fro_pump != NULL) {
		lnet->fro_embed.emb_apart->fao_region_do(
			lnet->fro_pump, false, mem->hmr_mem.nmm_mem.lme_region,
			0);
		return;
	}
	m0_node_mem_del(lnet->fro_node, &mem->hmr_mem);
	m0_free(mem);
}

void m0_front__mems_fini(struct m0_lnet *lnet)
{
	struct m0_hash      *regions = &lnet->fro_mems.hmz_regions;
	struct m0_hash_link *link;

	while ((link = m0_hash_first(regions)) != NULL) {
		struct front_mem *mem =
			container_of(link, struct front_mem, hmr_link);

		M0_ASSERT(!m0_list_link_is_in(&mem->hmr_mem.nmm_link));
		m0_hash_del(regions, link);
		m0_list_del(&mem->hmr_all);
		shadow_free(mem);
		m0_free(mem);
	}
	m0_hash_fini(regions);
	m0_free0(&lnet->fro_mems.hmz_sorted);
}

/* ---------------------------------------------------------------- sorted -- */

/* Number of regions that do not begin above an address. */
static size_t rank_of(const struct m0_front_mems *mems, const void *addr)
{
	size_t low = 0;
	size_t high = mems->hmz_sorted_nr;
	size_t mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if ((uintptr_t)mems->hmz_sorted[mid]->hmr_key.mek_addr <=
		    (uintptr_t)addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* fro_lock is held. */
static int sorted_add(struct m0_front_mems *mems, struct front_mem *mem)
{
	size_t             nr = mems->hmz_sorted_nr;
	size_t             rank = rank_of(mems, mem->hmr_key.mek_addr);
	struct front_mem **table;

	M0_PRE(rank <= nr);
	/* The table is full at each power of 2. */
	if ((nr & (nr - 1)) == 0) {
		table = m0_alloc((nr == 0 ? 1 : 2 * nr) * sizeof *table);
		if (table == NULL)
			return -ENOMEM;
		if (nr > 0)
			memcpy(table, mems->hmz_sorted, nr * sizeof *table);
		m0_free(mems->hmz_sorted);
		mems->hmz_sorted = table;
	}
	memmove(&mems->hmz_sorted[rank + 1], &mems->hmz_sorted[rank],
		(nr - rank) * sizeof *mems->hmz_sorted);
	mems->hmz_sorted[rank] = mem;
	++mems->hmz_sorted_nr;
	return 0;
}

/* fro_lock is held. */
static void sorted_del(struct m0_front_mems *mems, struct front_mem *mem)
{
	size_t rank = rank_of(mems, mem->hmr_key.mek_addr);

	M0_PRE(rank > 0);
	while (mems->hmz_sorted[--rank] != mem)
		M0_ASSERT(rank > 0);
	--mems->hmz_sorted_nr;
	memmove(&mems->hmz_sorted[rank], &mems->hmz_sorted[rank + 1],
		(mems->hmz_sorted_nr - rank) * sizeof *mems->hmz_sorted);
}

/* ------------------------------------------------------------- register -- */

static struct front_mem *find(const struct m0_lnet *lnet,
			      const struct mem_key *key)
{
	struct m0_hash_link *link =
		m0_hash_find(&lnet->fro_mems.hmz_regions, key, sizeof *key);

	return link == NULL ? NULL
			    : container_of(link, struct front_mem, hmr_link);
}

/* The number of a region; fro_lock is held. */
static int region_name(struct m0_lnet *lnet, struct front_mem *mem)
{
	struct m0_front_mems *mems = &lnet->fro_mems;
	uint32_t              nr;

	M0_PRE_EX(m0_mutex_is_locked(&lnet->fro_lock));
	if (is_part(mem)) {
		mem->hmr_whole = find(lnet, &mem->hmr_base);
		mem->hmr_mem.nmm_mem.lme_region =
			mem->hmr_whole->hmr_mem.nmm_mem.lme_region;
		return 0;
	}
	if (lnet->fro_pump != NULL) {
		nr = lnet->fro_embed.emb_apart->fao_region_take(lnet->fro_pump,
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

/* Will another attachment be given what is registered now? */
static bool comes_again(const struct m0_lnet *lnet)
{
	return lnet->fro_pump != NULL &&
	       lnet->fro_embed.emb_apart->fao_comes_again(lnet->fro_pump);
}

/* fro_lock is held. `mem` is new; posts it if *ret is it. */
static int mem_use(struct m0_lnet *lnet, struct front_mem *mem,
		   struct front_mem **ret)
{
	struct m0_front_mems *mems = &lnet->fro_mems;
	int                   rc;

	M0_PRE(mem->hmr_users_nr == 1);
	if (lnet->fro_shut && !comes_again(lnet))
		return -ESHUTDOWN;
	mem->hmr_epoch = lnet->fro_shut ? NO_EPOCH : lnet->fro_embed.emb_epoch;
	*ret = find(lnet, &mem->hmr_key);
	if (*ret != NULL) {
		if ((*ret)->hmr_whole->hmr_is_refused)
			return -EDQUOT;
		++(*ret)->hmr_users_nr;
		return 0;
	}
	if (m0_hash_nr(&mems->hmz_regions) == MEMS_MAX)
		return -ENOSPC;
	rc = m0_hash_add(&mems->hmz_regions, &mem->hmr_link, &mem->hmr_key,
			 sizeof mem->hmr_key);
	if (rc != 0)
		return rc;
	if (lnet->fro_node == NULL)
		rc = sorted_add(mems, mem);
	if (rc == 0) {
		rc = region_name(lnet, mem);
		if (rc != 0 && lnet->fro_node == NULL)
			sorted_del(mems, mem);
	}
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
	const struct m0_front_mems *mems = &lnet->fro_mems;
	const struct front_mem     *mem;
	uintptr_t                   at = (uintptr_t)addr;
	size_t                      rank = rank_of(mems, addr);

	/* The last that begins before it has it, unless regions overlap. */
	while (rank-- > 0) {
		uintptr_t from;

		mem = mems->hmz_sorted[rank];
		from = (uintptr_t)mem->hmr_key.mek_addr;
		if (at - from > mem->hmr_key.mek_bytes ||
		    bytes > mem->hmr_key.mek_bytes - (at - from) ||
		    mem->hmr_whole->hmr_is_refused)
			continue;
		*ret = (struct m0_ring_seg){
			.rsg_region = mem->hmr_mem.nmm_mem.lme_region,
			.rsg_offset = mem->hmr_offset + (at - from),
			.rsg_bytes = bytes
		};
		return true;
	}
	return false;
}

/* Segments that have bytes: nobody registers others. */
static uint32_t segs_used(const struct m0_bufvec *vec)
{
	uint32_t nr = 0;
	uint32_t i;

	for (i = 0; i < vec->ov_vec.v_nr; ++i)
		nr += vec->ov_vec.v_count[i] > 0;
	return nr;
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
	if (segs_used(vec) > M0_RING_SEGS_NR) {
		fmd->fmd_segs = m0_front__slot_get(&lnet->fro_segs);
		if (fmd->fmd_segs == NULL && lnet->fro_pump != NULL &&
		    m0_front__grow_locked(lnet, &lnet->fro_segs, M0_RING_SEGS))
			fmd->fmd_segs = m0_front__slot_get(&lnet->fro_segs);
		if (fmd->fmd_segs == NULL)
			return -ENOSPC;
		record->rmd_long = fmd->fmd_segs->fsl_index;
		segs = M0_RING_RECORD(&lnet->fro_records[M0_RING_SEGS],
				      struct m0_ring_segs, record->rmd_long)
			       ->rgl_seg;
	}
	fmd->fmd_vec = vec;
	record->rmd_segs_nr = 0;
	for (i = 0; i < vec->ov_vec.v_nr; ++i) {
		if (vec->ov_vec.v_count[i] == 0)
			continue;
		if (!seg_find(lnet, vec->ov_buf[i], vec->ov_vec.v_count[i],
			      &segs[record->rmd_segs_nr++]))
			return -EFAULT;
	}
	return 0;
}

/* -------------------------------------------------------------- attached -- */

/* Returns the memory that the server has for a segment. */
static char *seg_at(const struct m0_lnet *lnet, const struct m0_ring_seg *seg)
{
	const struct front_mem *mem = lnet->fro_embed.emb_apart->fao_region_of(
		lnet->fro_pump, seg->rsg_region);

	return (char *)mem->hmr_key.mek_addr + seg->rsg_offset;
}

uint64_t m0_front__shadow_copy(struct m0_lnet *lnet, uint32_t md,
			       uint64_t offset, uint64_t bytes, bool out)
{
	const struct m0_ring_md  *record = m0_front__md_record(lnet, md);
	const struct m0_bufvec   *vec = m0_front__md_at(lnet, md)->fmd_vec;
	const struct m0_ring_seg *segs = record->rmd_segs;
	uint64_t                  at = offset + record->rmd_vec_offset;
	uint64_t                  copied = 0;
	uint64_t                  nr;
	uint32_t                  i;

	if (M0_FRONT_GET(lnet->fro_mems.hmz_shadows_nr) == 0 ||
	    offset > record->rmd_length)
		return 0;
	bytes = min64u(bytes, record->rmd_length - offset);
	if (record->rmd_segs_nr > M0_RING_SEGS_NR)
		segs = M0_RING_RECORD(&lnet->fro_records[M0_RING_SEGS],
				      struct m0_ring_segs, record->rmd_long)
			       ->rgl_seg;
	for (i = 0; bytes > 0 && i < vec->ov_vec.v_nr; ++i) {
		char *own = vec->ov_buf[i];
		char *other;

		if (vec->ov_vec.v_count[i] == 0)
			continue;
		if (at >= segs->rsg_bytes) {
			at -= segs++->rsg_bytes;
			continue;
		}
		nr = min64u(bytes, segs->rsg_bytes - at);
		other = seg_at(lnet, segs++);
		if (other != own)
			memcpy(out ? other + at : own + at,
			       out ? own + at : other + at, nr);
		copied += other == own ? 0 : nr;
		bytes -= nr;
		at = 0;
	}
	return copied;
}

void m0_front__mem_result(struct m0_lnet *lnet, void *arg, uint32_t nr,
			  bool is_add, int status)
{
	struct front_mem *mem = arg;

	/* The server refuses MDs in a region that it did not take. */
	if (is_add)
		return;
	/* With an error the server has it still, and its number stays. */
	if (status == 0 || status == -ENOENT || status == -ESHUTDOWN)
		lnet->fro_embed.emb_apart->fao_region_put(lnet->fro_pump, nr);
	m0_free(mem);
	__atomic_sub_fetch(&lnet->fro_mems.hmz_leaving_nr, 1, __ATOMIC_RELEASE);
}

/* One use less of a region that the server does not have. fro_lock is held, and released. */
static void region_undo(struct m0_lnet *lnet, struct front_mem *mem)
{
	bool last;

	M0_PRE(mem->hmr_users_nr > 0);
	last = --mem->hmr_users_nr == 0;
	if (last) {
		m0_hash_del(&lnet->fro_mems.hmz_regions, &mem->hmr_link);
		m0_list_del(&mem->hmr_all);
		sorted_del(&lnet->fro_mems, mem);
	}
	m0_mutex_unlock(&lnet->fro_lock);
	if (!last)
		return;
	lnet->fro_embed.emb_apart->fao_region_put(
		lnet->fro_pump, mem->hmr_mem.nmm_mem.lme_region);
	m0_free(mem);
}

/*
 * The memory was handed over and is within the limits when this returns. The front sends
 * the rest to the server before any MD in the memory, and does not wait for the answer:
 * the thread that would deliver it may itself wait for a callback that registers memory.
 */
static int region_register(struct m0_lnet *lnet, struct front_mem *mem,
			   uint32_t epoch)
{
	const struct m0_lnd_mem *lme = &mem->hmr_mem.nmm_mem;
	int                      rc;

	M0_PRE(lnet->fro_pump != NULL && lme->lme_region != 0);
	rc = lnet->fro_embed.emb_apart->fao_region_share(
		lnet->fro_pump, lme->lme_region, lme->lme_addr, lme->lme_bytes);
	m0_front__lock(lnet);
	/* A new attachment gets all that is registered when it begins. */
	if (lnet->fro_embed.emb_epoch != epoch) {
		m0_mutex_unlock(&lnet->fro_lock);
		return 0;
	}
	if (rc == 0) {
		m0_front__call_unlock(lnet, &mem->hmr_add);
		return 0;
	}
	if (rc == -ESHUTDOWN && comes_again(lnet)) {
		m0_mutex_unlock(&lnet->fro_lock);
		return 0;
	}
	region_undo(lnet, mem);
	return rc;
}

/* No operation uses the memory, so it may be freed before the server has let go of it.
 * The number stays until then. */
static void region_deregister(struct m0_lnet *lnet, struct front_mem *mem)
{
	__atomic_add_fetch(&lnet->fro_mems.hmz_leaving_nr, 1, __ATOMIC_RELAXED);
	m0_front__lock(lnet);
	m0_front__call_unlock(lnet, &mem->hmr_del);
}

/* There was no room for a region. Waits a moment if the server still has some to let go
 * of. False: it has not, or it took too long. */
static bool leaving_wait(struct m0_lnet *lnet, m0_time_t until)
{
	struct m0_semaphore never;
	m0_time_t           now = m0_time_now();

	if (__atomic_load_n(&lnet->fro_mems.hmz_leaving_nr, __ATOMIC_ACQUIRE) ==
		    0 ||
	    m0_strand_current() != NULL || now >= until)
		return false;
	(void)m0_semaphore_init(&never, 0);
	(void)m0_front__wait(lnet, &never, m0_time_add(now, M0_TIME_ONE_MSEC));
	m0_semaphore_fini(&never);
	return true;
}

static struct front_mem *mem_new(void *addr, size_t bytes)
{
	struct front_mem *mem;

	M0_ALLOC_PTR(mem);
	if (mem == NULL)
		return NULL;
	mem->hmr_key = (struct mem_key){ addr, bytes };
	mem->hmr_users_nr = 1;
	mem->hmr_whole = mem;
	mem->hmr_mem.nmm_mem.lme_addr = addr;
	mem->hmr_mem.nmm_mem.lme_bytes = bytes;
	m0_list_link_init(&mem->hmr_mem.nmm_link);
	m0_list_link_init(&mem->hmr_all);
	mem->hmr_add.ca_do = mem_add_do;
	mem->hmr_del.ca_do = mem_del_do;
	return mem;
}

static int whole_try(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	struct front_mem *mem = mem_new(addr, bytes);
	struct front_mem *used = NULL;
	uint32_t          epoch;
	int               rc;

	if (mem == NULL)
		return -ENOMEM;
	m0_front__lock(lnet);
	rc = mem_use(lnet, mem, &used);
	epoch = mem->hmr_epoch;
	if (used == mem && lnet->fro_pump != NULL) {
		m0_mutex_unlock(&lnet->fro_lock);
		return epoch == NO_EPOCH ? 0
					 : region_register(lnet, mem, epoch);
	}
	/* The process that shares the memory registered it with the node of the other
	 * process. */
	if (used == mem && lnet->fro_node == NULL) {
		m0_mutex_unlock(&lnet->fro_lock);
		return 0;
	}
	if (used == mem) {
		m0_front__call_unlock(lnet, &mem->hmr_add);
		return 0;
	}
	m0_mutex_unlock(&lnet->fro_lock);
	m0_free(mem);
	return rc;
}

static int whole_register(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	m0_time_t until = m0_time_from_now(LEAVING_WAIT_S, 0);
	int       rc;

	do {
		rc = whole_try(lnet, addr, bytes);
	} while ((rc == -ENOSPC || rc == -EDQUOT) && leaving_wait(lnet, until));
	return rc;
}

/* The region that has some memory, if it can be handed over. */
static bool base_of(enum m0_front_takes takes, void *addr, size_t bytes,
		    struct mem_key *ret)
{
	return m0_os_region_of(addr, &ret->mek_addr, &ret->mek_bytes) &&
	       (takes == M0_FRONT_TAKES_ANY ||
		m0_os_region_fd(ret->mek_addr) >= 0) &&
	       bytes <= ret->mek_bytes -
				(size_t)((char *)addr - (char *)ret->mek_addr);
}

/* Memory of a part: its own, or a shadow that can be handed over. */
static int part_place(struct front_mem *mem, enum m0_front_takes takes)
{
	struct mem_key *base = &mem->hmr_base;
	char           *at = mem->hmr_key.mek_addr;

	if (!base_of(takes, at, mem->hmr_key.mek_bytes, base)) {
		mem->hmr_shadow =
			m0_alloc_aligned(mem->hmr_key.mek_bytes, SHADOW_SHIFT);
		if (mem->hmr_shadow == NULL)
			return -ENOMEM;
		at = mem->hmr_shadow;
		if (!base_of(takes, at, mem->hmr_key.mek_bytes, base))
			return -ENOMEM;
	}
	mem->hmr_offset = (size_t)(at - (char *)base->mek_addr);
	M0_POST(mem->hmr_offset + mem->hmr_key.mek_bytes <= base->mek_bytes);
	return 0;
}

/* A part that nothing refers to any more. */
static void part_free(struct m0_lnet *lnet, struct front_mem *mem)
{
	M0_PRE(is_part(mem) && !m0_list_link_is_in(&mem->hmr_all));
	m0_lnet_mem_deregister(lnet, mem->hmr_base.mek_addr,
			       mem->hmr_base.mek_bytes);
	if (mem->hmr_shadow != NULL)
		__atomic_sub_fetch(&lnet->fro_mems.hmz_shadows_nr, 1,
				   __ATOMIC_RELEASE);
	shadow_free(mem);
	m0_free(mem);
}

static int part_register(struct m0_lnet *lnet, enum m0_front_takes takes,
			 void *addr, size_t bytes)
{
	struct front_mem *mem = mem_new(addr, bytes);
	struct front_mem *used = NULL;
	int               rc = mem == NULL ? -ENOMEM : part_place(mem, takes);

	if (rc == 0)
		rc = whole_register(lnet, mem->hmr_base.mek_addr,
				    mem->hmr_base.mek_bytes);
	if (rc != 0) {
		if (mem != NULL)
			shadow_free(mem);
		m0_free(mem);
		return rc;
	}
	if (mem->hmr_shadow != NULL)
		__atomic_add_fetch(&lnet->fro_mems.hmz_shadows_nr, 1,
				   __ATOMIC_RELEASE);
	m0_front__lock(lnet);
	rc = mem_use(lnet, mem, &used);
	m0_mutex_unlock(&lnet->fro_lock);
	/* Another thread was faster, or there is no memory. */
	if (used != mem)
		part_free(lnet, mem);
	return rc;
}

/* Regions of the library's allocator go to the server once for all their parts. */
static bool is_whole(enum m0_front_takes takes, void *addr, size_t bytes)
{
	struct mem_key base;

	if (takes == M0_FRONT_TAKES_NAMES)
		return true;
	if (!base_of(takes, addr, bytes, &base))
		return takes == M0_FRONT_TAKES_ANY;
	return base.mek_addr == addr && base.mek_bytes == bytes;
}

int m0_lnet_mem_register(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	enum m0_front_takes takes = M0_FRONT_TAKES_NAMES;

	if (lnet->fro_pump != NULL)
		takes = lnet->fro_embed.emb_apart->fao_takes(lnet->fro_pump);
	if (bytes == 0)
		return -EINVAL;
	return is_whole(takes, addr, bytes)
		       ? whole_register(lnet, addr, bytes)
		       : part_register(lnet, takes, addr, bytes);
}

/* -------------------------------------------------------- attached again -- */

static struct front_mem *mem_of_all(struct m0_list_link *link)
{
	return container_of(link, struct front_mem, hmr_all);
}

/* Memory that the present attachment was not given. fro_lock is held. */
static struct front_mem *owed_find(const struct m0_lnet *lnet)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_mutex_is_locked(&lnet->fro_lock));
	m0_list_for_each(&lnet->fro_mems.hmz_all, link) {
		struct front_mem *mem = mem_of_all(link);

		if (!is_part(mem) && mem->hmr_users_nr > 0 &&
		    mem->hmr_epoch != lnet->fro_embed.emb_epoch)
			return mem;
	}
	return NULL;
}

uint32_t m0_front__mem_next(struct m0_lnet *lnet, void **addr, uint64_t *bytes)
{
	struct front_mem *mem;
	uint32_t          ret = 0;

	M0_PRE(lnet->fro_pump != NULL);
	m0_front__lock(lnet);
	mem = owed_find(lnet);
	if (mem != NULL) {
		mem->hmr_is_late = mem->hmr_epoch == NO_EPOCH ||
				   mem->hmr_is_refused;
		mem->hmr_is_refused = false;
		mem->hmr_epoch = lnet->fro_embed.emb_epoch;
		ret = mem->hmr_mem.nmm_mem.lme_region;
		*addr = mem->hmr_mem.nmm_mem.lme_addr;
		*bytes = mem->hmr_mem.nmm_mem.lme_bytes;
	}
	m0_mutex_unlock(&lnet->fro_lock);
	return ret;
}

bool m0_front__mem_is_owed(const struct m0_lnet *lnet)
{
	return owed_find(lnet) != NULL;
}

int m0_front__mem_refused(struct m0_lnet *lnet, uint32_t nr, int rc)
{
	bool                 is_full = M0_IN(rc, (-EDQUOT, -ENOMEM, -ENOSPC));
	struct m0_list_link *link;
	bool                 is_refused = false;
	int                  ret = 0;

	M0_PRE(nr > 0 && rc < 0);
	m0_front__lock(lnet);
	m0_list_for_each(&lnet->fro_mems.hmz_all, link) {
		struct front_mem *mem = mem_of_all(link);

		if (is_part(mem) || mem->hmr_users_nr == 0 ||
		    mem->hmr_mem.nmm_mem.lme_region != nr)
			continue;
		is_refused = is_full && mem->hmr_is_late;
		mem->hmr_is_refused = is_refused;
		ret = is_refused ? 0 : rc;
	}
	m0_mutex_unlock(&lnet->fro_lock);
	if (is_refused)
		m0_log(M0_LOG_WARN,
		       "the node does not take memory that was registered while the process was not attached (%s): operations in it end with -EFAULT",
		       m0_errname(rc));
	return ret;
}

bool m0_front__mem_is_left(const struct m0_lnet *lnet)
{
	struct m0_list_link *link;

	M0_PRE_EX(m0_mutex_is_locked(&lnet->fro_lock));
	m0_list_for_each(&lnet->fro_mems.hmz_all, link) {
		if (mem_of_all(link)->hmr_users_nr == 0)
			return true;
	}
	return false;
}

/* Takes memory that was deregistered while its server could not be notified; parts first,
 * because a part is a user of the whole. */
static struct front_mem *left_take(struct m0_lnet *lnet)
{
	struct front_mem    *ret = NULL;
	struct m0_list_link *link;

	m0_front__lock(lnet);
	m0_list_for_each(&lnet->fro_mems.hmz_all, link) {
		struct front_mem *mem = mem_of_all(link);

		if (mem->hmr_users_nr == 0 && (ret == NULL || is_part(mem)))
			ret = mem;
	}
	if (ret != NULL) {
		m0_hash_del(&lnet->fro_mems.hmz_regions, &ret->hmr_link);
		m0_list_del(&ret->hmr_all);
		sorted_del(&lnet->fro_mems, ret);
	}
	m0_mutex_unlock(&lnet->fro_lock);
	return ret;
}

void m0_front__mems_left(struct m0_lnet *lnet)
{
	struct front_mem *mem;

	M0_PRE(lnet->fro_pump != NULL);
	while ((mem = left_take(lnet)) != NULL) {
		if (is_part(mem))
			part_free(lnet, mem);
		else
			region_deregister(lnet, mem);
	}
}

/*
 * The call does not wait until the drivers have released the memory, because callers hold
 * locks that the strand's callbacks need. The drivers receive it before anything that is
 * posted later, so they do not take other memory at the same addresses for it.
 */
void m0_lnet_mem_deregister(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	struct mem_key    key = { addr, bytes };
	struct front_mem *mem;

	m0_front__lock(lnet);
	mem = find(lnet, &key);
	M0_PRE(mem != NULL && mem->hmr_users_nr > 0);
	/* Nobody has heard of it. */
	if (mem->hmr_epoch == NO_EPOCH && lnet->fro_shut && !is_part(mem)) {
		region_undo(lnet, mem);
		return;
	}
	/* A close deregisters what is left. */
	if (--mem->hmr_users_nr > 0 ||
	    (lnet->fro_shut && mem->hmr_epoch != NO_EPOCH)) {
		m0_mutex_unlock(&lnet->fro_lock);
		return;
	}
	m0_hash_del(&lnet->fro_mems.hmz_regions, &mem->hmr_link);
	m0_list_del(&mem->hmr_all);
	if (lnet->fro_node == NULL) {
		sorted_del(&lnet->fro_mems, mem);
		m0_mutex_unlock(&lnet->fro_lock);
		if (is_part(mem))
			part_free(lnet, mem);
		else if (lnet->fro_pump != NULL)
			region_deregister(lnet, mem);
		else
			m0_free(mem);
		return;
	}
	m0_front__call_unlock(lnet, &mem->hmr_del);
}

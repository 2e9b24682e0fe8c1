/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/route/router.h"

enum {
	SMALL_BYTES = 4096,
	/** Least size of a pool: half of it is for one peer. */
	BUFFERS_MIN = 2,
	/** Most pipes of a router. Their memory is what the system lets a user without
	 * privileges have. */
	PIPES_MAX = 64
};
/** Time until a pipe is tried to be made after there was none. */
#define PIPES_NS M0_TIME_ONE_SECOND
/** After this time a message that has waited for a buffer is not counted on any
 * more: its connection may have ended. Drivers offer such messages more often. */
#define WAITERS_NS (100 * M0_TIME_ONE_MSEC)

static const m0_bcount_t pool_bytes[M0_LNET_POOLS_NR] = {
	[M0_LNET_POOL_TINY] = 0,
	[M0_LNET_POOL_SMALL] = SMALL_BYTES,
	[M0_LNET_POOL_LARGE] = M0_LNET_PAYLOAD_MAX,
};

enum m0_lnet_pool m0_lnet__pool_for(m0_bcount_t bytes)
{
	M0_PRE(bytes <= M0_LNET_PAYLOAD_MAX);
	if (bytes == 0)
		return M0_LNET_POOL_TINY;
	return bytes <= SMALL_BYTES ? M0_LNET_POOL_SMALL : M0_LNET_POOL_LARGE;
}

/* -- limits ---------------------------------------------------------------- */

/** Divides the memory: small buffers get up to a quarter, large ones the rest. */
static void limits_set(struct m0_lnet_engine *eng)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);
	uint64_t               bytes = eng->le_cfg.lec_route.lrc_bytes;
	uint64_t               small = bytes / 4 / SMALL_BYTES;
	enum m0_lnet_pool      i;

	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		router->lrr_pools[i].plt_limit = max_check(
			router->lrr_pools[i].plt_max, (uint32_t)BUFFERS_MIN);
	small = min64u(small, router->lrr_pools[M0_LNET_POOL_SMALL].plt_max);
	router->lrr_pools[M0_LNET_POOL_SMALL].plt_limit =
		(uint32_t)max64u(small, BUFFERS_MIN);
	router->lrr_pools[M0_LNET_POOL_LARGE].plt_limit = (uint32_t)max64u(
		min64u((bytes - small * SMALL_BYTES) / M0_LNET_PAYLOAD_MAX,
		       router->lrr_pools[M0_LNET_POOL_LARGE].plt_max),
		BUFFERS_MIN);
	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		router->lrr_pools[i].plt_low =
			min_check(router->lrr_pools[i].plt_low,
				  router->lrr_pools[i].plt_limit);
}

static bool is_off(const struct m0_lnet_router *router)
{
	return router->lrr_state == M0_LNET_ROUTING_OFF;
}

static uint32_t credits(const struct m0_lnet_pool_state *pool)
{
	return pool->plt_used_nr < pool->plt_limit
		       ? pool->plt_limit - pool->plt_used_nr
		       : 0;
}

bool m0_lnet__pool_is_shared_out(const struct m0_lnet_engine *eng,
				 enum m0_lnet_pool            pool,
				 const struct m0_lnet_lpni   *to)
{
	const struct m0_lnet_pool_state *state =
		&m0_lnet__router(eng)->lrr_pools[pool];
	uint32_t                   nr = 0;
	const struct m0_lnet_lpni *lpni;

	M0_PRE(state->plt_limit >= BUFFERS_MIN);
	if (to == NULL)
		return false;
	/* A peer has at most 64 NIDs, and few have more than two. */
	m0_list_for_each_entry(&to->lpn_peer->lpe_lpnis, lpni,
			       struct m0_lnet_lpni, lpn_link)
		nr += lpni->lpn_fwds_to[pool];
	return nr >= state->plt_limit / 2 || nr >= credits(state);
}

/* -- buffers --------------------------------------------------------------- */

/** Frees the pipe of a buffer, with what is in it. */
static void pipe_free(struct m0_lnet_router *router, struct m0_lnet_fwd *fwd)
{
	if (fwd->fwd_pipe == NULL)
		return;
	M0_PRE(router->lrr_pipes_nr > 0);
	--router->lrr_pipes_nr;
	fwd->fwd_pipe->lnp_ops->lpx_free(fwd->fwd_pipe);
	fwd->fwd_pipe = NULL;
}

/** Makes the pipe ready for the next message. One with bytes of this message in it
 * is of no more use. */
static void pipe_reset(struct m0_lnet_router *router, struct m0_lnet_fwd *fwd)
{
	struct m0_lnd_pipe *pipe = fwd->fwd_pipe;

	if (M0_LIKELY(pipe == NULL))
		return;
	if (pipe->lnp_gone < pipe->lnp_bytes) {
		pipe_free(router, fwd);
		return;
	}
	pipe->lnp_at = 0;
	pipe->lnp_bytes = 0;
	pipe->lnp_gone = 0;
	pipe->lnp_closed = false;
}

struct m0_lnd_pipe *m0_lnet__fwd_pipe(struct m0_lnet_engine  *eng,
				      struct m0_lnet_fwd     *fwd,
				      const struct m0_lnd_ni *ni)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);
	struct m0_lnd         *lnd = ni->ldn_lnd;

	M0_PRE(fwd->fwd_pool == M0_LNET_POOL_LARGE && ni->ldn_splices);
	if (fwd->fwd_pipe != NULL || router->lrr_pipes_nr >= PIPES_MAX ||
	    eng->le_now < router->lrr_pipes_at)
		return fwd->fwd_pipe;
	fwd->fwd_pipe = lnd->ld_ops->ldo_pipe_new(lnd, fwd->fwd_bytes);
	if (fwd->fwd_pipe != NULL)
		++router->lrr_pipes_nr;
	else
		router->lrr_pipes_at = m0_time_add(eng->le_now, PIPES_NS);
	return fwd->fwd_pipe;
}

static void fwd_free(struct m0_lnet_router *router, struct m0_lnet_fwd *fwd)
{
	struct m0_lnet_pool_state *pool = &router->lrr_pools[fwd->fwd_pool];

	M0_PRE(pool->plt_nr > pool->plt_used_nr);
	M0_PRE(router->lrr_bytes >= fwd->fwd_bytes);
	--pool->plt_nr;
	router->lrr_bytes -= fwd->fwd_bytes;
	pipe_free(router, fwd);
	m0_free(fwd->fwd_addr);
	m0_free(fwd);
}

static struct m0_lnet_fwd *fwd_new(struct m0_lnet_router *router,
				   enum m0_lnet_pool      pool)
{
	struct m0_lnet_fwd *fwd;

	M0_ALLOC_PTR(fwd);
	if (fwd == NULL)
		return NULL;
	fwd->fwd_pool = pool;
	fwd->fwd_bytes = pool_bytes[pool];
	if (fwd->fwd_bytes > 0) {
		fwd->fwd_addr = m0_alloc(fwd->fwd_bytes);
		if (fwd->fwd_addr == NULL) {
			m0_free(fwd);
			return NULL;
		}
	}
	fwd->fwd_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&fwd->fwd_addr,
							    &fwd->fwd_bytes);
	m0_list_link_init(&fwd->fwd_link);
	++router->lrr_pools[pool].plt_nr;
	router->lrr_bytes += fwd->fwd_bytes;
	return fwd;
}

struct m0_lnet_fwd *m0_lnet__fwd_get(struct m0_lnet_engine *eng,
				     enum m0_lnet_pool kind, bool waited)
{
	struct m0_lnet_router     *router = m0_lnet__router(eng);
	struct m0_lnet_pool_state *pool = &router->lrr_pools[kind];
	struct m0_list_link       *link = m0_list_first(&pool->plt_free);
	struct m0_lnet_fwd        *fwd = NULL;

	M0_PRE(!is_off(router));
	if (!waited && eng->le_now < pool->plt_waiters_until)
		return NULL;
	if (link != NULL) {
		fwd = container_of(link, struct m0_lnet_fwd, fwd_link);
		m0_list_del(link);
	} else if (pool->plt_used_nr < pool->plt_limit) {
		fwd = fwd_new(router, kind);
	}
	if (fwd == NULL) {
		pool->plt_waiters_until = m0_time_add(eng->le_now, WAITERS_NS);
		return NULL;
	}
	++pool->plt_used_nr;
	pool->plt_low = min_check(pool->plt_low, credits(pool));
	m0_list_add_tail(&router->lrr_used, &fwd->fwd_link);
	M0_POST(pool->plt_used_nr <= pool->plt_nr);
	return fwd;
}

void m0_lnet__fwd_put(struct m0_lnet_engine *eng, struct m0_lnet_fwd *fwd)
{
	struct m0_lnet_router     *router = m0_lnet__router(eng);
	struct m0_lnet_pool_state *pool = &router->lrr_pools[fwd->fwd_pool];

	M0_PRE(pool->plt_used_nr > 0 && fwd->fwd_to == NULL);
	m0_list_del(&fwd->fwd_link);
	--pool->plt_used_nr;
	pipe_reset(router, fwd);
	if (is_off(router) || pool->plt_nr > pool->plt_limit)
		fwd_free(router, fwd);
	else
		m0_list_add(&pool->plt_free, &fwd->fwd_link);
}

void m0_lnet__pools_trim(struct m0_lnet_engine *eng)
{
	struct m0_lnet_router     *router = m0_lnet__router(eng);
	struct m0_lnet_pool_state *pool;
	struct m0_list_link       *link;
	enum m0_lnet_pool          i;

	for (i = 0; i < M0_LNET_POOLS_NR; ++i) {
		pool = &router->lrr_pools[i];
		while ((is_off(router) || pool->plt_nr > pool->plt_limit) &&
		       (link = m0_list_first(&pool->plt_free)) != NULL) {
			m0_list_del(link);
			fwd_free(router, container_of(link, struct m0_lnet_fwd,
						      fwd_link));
		}
	}
}

void m0_lnet_engine_pools_set(struct m0_lnet_engine *eng,
			      const uint32_t         max[M0_LNET_POOLS_NR])
{
	enum m0_lnet_pool i;

	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		if (max[i] != 0)
			m0_lnet__router(eng)->lrr_pools[i].plt_max = max[i];
	limits_set(eng);
	m0_lnet__pools_trim(eng);
}

void m0_lnet_engine_routing_get(const struct m0_lnet_engine *eng,
				struct m0_lnet_routing_info *ret)
{
	const struct m0_lnet_router     *router = m0_lnet__router(eng);
	const struct m0_lnet_pool_state *pool;
	enum m0_lnet_pool                i;

	ret->lgi_state = router->lrr_state;
	ret->lgi_bytes = router->lrr_bytes;
	ret->lgi_bytes_max = eng->le_cfg.lec_route.lrc_bytes;
	ret->lgi_forwarded_nr = router->lrr_forwarded_nr;
	ret->lgi_no_route_nr = router->lrr_no_route_nr;
	ret->lgi_no_buffer_nr = router->lrr_no_buffer_nr;
	ret->lgi_late_nr = router->lrr_late_nr;
	ret->lgi_loops_nr = router->lrr_loops_nr;
	ret->lgi_cut_through = eng->le_cfg.lec_route.lrc_cut_through;
	ret->lgi_cuts_nr = router->lrr_cuts_nr;
	ret->lgi_cuts_broken_nr = router->lrr_cuts_broken_nr;
	ret->lgi_splice = eng->le_cfg.lec_route.lrc_splice;
	ret->lgi_pipes_nr = router->lrr_pipes_nr;
	ret->lgi_spliced_nr = router->lrr_spliced_nr;
	ret->lgi_spliced_bytes = router->lrr_spliced_bytes;
	for (i = 0; i < M0_LNET_POOLS_NR; ++i) {
		pool = &router->lrr_pools[i];
		ret->lgi_pools[i] = (struct m0_lnet_pool_info){
			.lbi_bytes = (uint32_t)pool_bytes[i],
			.lbi_max = pool->plt_limit,
			.lbi_nr = pool->plt_nr,
			.lbi_used_nr = pool->plt_used_nr,
			.lbi_credits = credits(pool),
			.lbi_credits_low = pool->plt_low,
		};
	}
}

/* -- life ------------------------------------------------------------------ */

int m0_lnet__router_init(struct m0_lnet_engine *eng)
{
	const struct m0_lnet_route_cfg *cfg = &eng->le_cfg.lec_route;
	struct m0_lnet_router          *router;
	enum m0_lnet_pool               i;

	M0_PRE(eng->le_router == NULL);
	M0_ALLOC_PTR(router);
	if (router == NULL)
		return -ENOMEM;
	for (i = 0; i < M0_LNET_POOLS_NR; ++i) {
		m0_list_init(&router->lrr_pools[i].plt_free);
		router->lrr_pools[i].plt_max = cfg->lrc_buffers[i];
		router->lrr_pools[i].plt_low = UINT32_MAX;
	}
	m0_list_init(&router->lrr_used);
	eng->le_router = router;
	limits_set(eng);
	return 0;
}

void m0_lnet__router_fini(struct m0_lnet_engine *eng)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);

	M0_PRE(m0_list_is_empty(&router->lrr_used));
	router->lrr_state = M0_LNET_ROUTING_OFF;
	m0_lnet__pools_trim(eng);
	M0_ASSERT(router->lrr_bytes == 0);
	m0_lnet__timer_cancel(eng, &router->lrr_timer);
	eng->le_router = NULL;
	m0_free(router);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The fixture: pools, and the callbacks of buffers that come from them. */
#include "cf.h"
#include "cf_internal.h"

enum {
	POOLS = 4
};

static struct cf_pool *pools[POOLS];

static void not_empty(struct m0_net_buffer_pool *pool)
{
	struct cf_pool *p = container_of(pool, struct cf_pool, cp_pool);

	CF_TRUE(m0_net_buffer_pool_is_locked(pool),
		"not_empty runs under the pool's lock");
	cf_inc(&p->cp_not_empty);
	m0_net_domain_buffer_pool_not_empty(pool);
}

static void below(struct m0_net_buffer_pool *pool)
{
	struct cf_pool *p = container_of(pool, struct cf_pool, cp_pool);

	CF_TRUE(m0_net_buffer_pool_is_locked(pool),
		"below_threshold runs under the pool's lock");
	cf_inc(&p->cp_below);
}

static const struct m0_net_buffer_pool_ops pool_ops = {
	.nbpo_not_empty = not_empty,
	.nbpo_below_threshold = below,
};

struct cf_pool *cf_pool(unsigned dom, uint32_t nr, m0_bcount_t size,
			uint32_t colours)
{
	struct cf_pool *p = calloc(1, sizeof *p);
	int             made;
	int             i;

	CF_TRUE(p != NULL, "memory for the test");
	for (i = 0; i < POOLS && pools[i] != NULL; ++i)
		;
	CF_TRUE(i < POOLS, "room for another pool");
	pools[i] = p;
	p->cp_dom = dom;
	p->cp_pool.nbp_ops = &pool_ops;
	CF_EQ(m0_net_buffer_pool_init(&p->cp_pool, cf_dom(dom),
				      M0_NET_BUFFER_POOL_THRESHOLD, 1, size,
				      colours, 12, false),
	      0, "pool init");
	m0_net_buffer_pool_lock(&p->cp_pool);
	made = m0_net_buffer_pool_provision(&p->cp_pool, nr);
	m0_net_buffer_pool_unlock(&p->cp_pool);
	CF_EQ(made, nr, "buffers made by provision");
	return p;
}

void cf_pool_put(struct cf_pool *p, struct m0_net_buffer *nb, uint32_t colour)
{
	m0_net_buffer_pool_lock(&p->cp_pool);
	m0_net_buffer_pool_put(&p->cp_pool, nb, colour);
	m0_net_buffer_pool_unlock(&p->cp_pool);
}

void cf_pool_release(struct cf_pool *p)
{
	int nr = cf_get(&p->cp_held_nr);
	int i;

	__atomic_store_n(&p->cp_held_nr, 0, __ATOMIC_RELEASE);
	for (i = 0; i < nr; ++i)
		cf_pool_put(p, p->cp_held[i], M0_BUFFER_ANY_COLOUR);
}

uint32_t cf_pool_free_nr(struct cf_pool *p)
{
	uint32_t nr;

	m0_net_buffer_pool_lock(&p->cp_pool);
	nr = p->cp_pool.nbp_free;
	CF_TRUE(m0_net_buffer_pool_invariant(&p->cp_pool), "pool invariant");
	m0_net_buffer_pool_unlock(&p->cp_pool);
	return nr;
}

struct want_free {
	struct cf_pool *p;
	uint32_t        nr;
};

static bool free_is(void *arg)
{
	struct want_free *w = arg;

	return cf_pool_free_nr(w->p) == w->nr;
}

void cf_pool_wait_free(struct cf_pool *p, uint32_t nr)
{
	struct want_free w = { p, nr };
	char             what[64];

	snprintf(what, sizeof what, "%u buffers are free in the pool", nr);
	cf_wait(free_is, &w, what);
}

/* A buffer that is kept (status 0 and cp_hold) or goes back at once. */
static void pool_msg(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct cf_tm         *t = container_of(nb->nb_tm, struct cf_tm, ct_tm);
	struct cf_pool *p = container_of(nb->nb_pool, struct cf_pool, cp_pool);
	bool            final = (nb->nb_flags & M0_NET_BUF_QUEUED) == 0;

	cf_cb_enter(nb->nb_tm, true);
	CF_EQ(nb->nb_qtype, M0_NET_QT_MSG_RECV, "queue of a pool buffer");
	__atomic_store_n(&p->cp_queue_seen,
			 (int)cf_queue_len(t, M0_NET_QT_MSG_RECV),
			 __ATOMIC_RELAXED);
	if (final) {
		CF_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED, "flags at the end");
		__atomic_fetch_add(&t->ct_ledger[0].cl_finals, 1,
				   __ATOMIC_RELAXED);
		/* Provisioning adds; the ledger follows it. */
		__atomic_fetch_add(&t->ct_ledger[0].cl_adds, 1,
				   __ATOMIC_RELAXED);
		if (p->cp_hold && ev->nbe_status == 0) {
			CF_TRUE(p->cp_held_nr < 64, "room for held buffers");
			p->cp_held[p->cp_held_nr] = nb;
			cf_inc(&p->cp_held_nr);
		} else {
			nb->nb_ep = NULL;
			cf_pool_put(p, nb, t->ct_tm.ntm_pool_colour);
		}
	}
	if (ev->nbe_status == 0)
		cf_inc(&p->cp_msgs);
	else
		cf_inc(&p->cp_cancelled);
	cf_wake();
}

const struct m0_net_buffer_callbacks cf_pool_cbs = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = pool_msg }
};

void cf__pools_end(void)
{
	int i;

	for (i = 0; i < POOLS; ++i) {
		struct cf_pool *p = pools[i];

		if (p == NULL)
			continue;
		cf_pool_release(p);
		CF_EQ(cf_pool_free_nr(p), p->cp_pool.nbp_buf_nr,
		      "every buffer is back in its pool");
		CF_EQ(m0_net_buffer_pool_fini(&p->cp_pool), 0, "pool fini");
		free(p);
		pools[i] = NULL;
	}
}

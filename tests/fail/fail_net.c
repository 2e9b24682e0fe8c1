/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The network layer on its transports: machines, messages, bulk, pools. */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/net_pool.h"

enum {
	BYTES = 100000,
	POOL_NR = 4,
	QUEUE_NR = 2
};

static void talk_mem(void)
{
	fail_ends_talk(&m0_net_bulk_mem_xprt, FAIL_ASYNC);
}

static void talk_mem_sync(void)
{
	fail_ends_talk(&m0_net_bulk_mem_xprt, FAIL_SYNC);
}

static void talk_mem_inline(void)
{
	fail_ends_talk(&m0_net_bulk_mem_xprt, FAIL_INLINE);
}

static void talk_lnet(void)
{
	fail_ends_talk(&m0_net_lnet_xprt, FAIL_ASYNC);
}

static void talk_lnet_sync(void)
{
	fail_ends_talk(&m0_net_lnet_xprt, FAIL_SYNC);
}

/* -- domains --------------------------------------------------------------- */

static const struct m0_net_xprt *const xprts[] = { &m0_net_bulk_mem_xprt,
						   &m0_net_lnet_xprt };

/* Transports of domains; their limits, names of interfaces. */
static void domains(void)
{
	struct fail_end end[2];
	char          **addrs;
	unsigned        i;

	for (i = 0; i < ARRAY_SIZE(xprts); ++i) {
		fail_doms_init(end, xprts[i]);
		assert_true(m0_net_domain_get_max_buffer_size(&end[0].fen_dom) >
			    0);
		if (xprts[i] == &m0_net_lnet_xprt) {
			FAIL_TRY(m0_net_lnet_ifaces_get(&end[0].fen_dom,
							&addrs));
			m0_net_lnet_ifaces_put(&end[0].fen_dom, &addrs);
		}
		fail_doms_fini(end, xprts[i]);
	}
}

/* -- attached processes ---------------------------------------------------- */

static void attached(enum fail_mode mode)
{
	fail_nodes_share(true);
	fail_ends_talk(&m0_net_lnet_xprt, mode);
	fail_nodes_share(false);
}

static void talk_attached(void)
{
	attached(FAIL_ASYNC);
}

static void talk_attached_sync(void)
{
	attached(FAIL_SYNC);
}

/* -- pools ----------------------------------------------------------------- */

static void pool_not_empty(struct m0_net_buffer_pool *pool)
{
	m0_net_domain_buffer_pool_not_empty(pool);
}

static const struct m0_net_buffer_pool_ops pool_ops = {
	.nbpo_not_empty = pool_not_empty,
};

/* Fills it up: what there was no memory for is missing. */
static int provision(struct m0_net_buffer_pool *pool)
{
	m0_net_buffer_pool_lock(pool);
	(void)m0_net_buffer_pool_provision(pool, POOL_NR - pool->nbp_buf_nr);
	m0_net_buffer_pool_unlock(pool);
	return pool->nbp_buf_nr == POOL_NR ? 0 : -ENOMEM;
}

static void take_and_put(struct m0_net_buffer_pool *pool)
{
	struct m0_net_buffer *buf;

	m0_net_buffer_pool_lock(pool);
	buf = m0_net_buffer_pool_get(pool, M0_BUFFER_ANY_COLOUR);
	if (buf != NULL)
		m0_net_buffer_pool_put(pool, buf, M0_BUFFER_ANY_COLOUR);
	(void)m0_net_buffer_pool_prune(pool);
	m0_net_buffer_pool_unlock(pool);
}

static bool queue_is_full(void *arg)
{
	struct fail_end     *end = arg;
	struct m0_net_qstats st[M0_NET_QT_NR];

	assert_int_equal(
		m0_net_tm_stats_get(&end->fen_tm, M0_NET_QT_NR, st, false), 0);
	return st[M0_NET_QT_MSG_RECV].nqs_num_adds >= QUEUE_NR;
}

static void pool_feeds_a_machine(void)
{
	struct m0_net_buffer_pool pool = { .nbp_ops = &pool_ops };
	struct fail_end           end[2];

	fail_doms_init(end, &m0_net_bulk_mem_xprt);
	FAIL_TRY(m0_net_buffer_pool_init(&pool, &end[0].fen_dom, 0, 1, BYTES, 1,
					 SHIFT_OF_PAGES, false));
	FAIL_TRY(provision(&pool));
	FAIL_TRY(fail_tm_up(&end[0], &pool));
	FAIL_UNTIL(queue_is_full, &end[0]);
	FAIL_TRY(m0_net_tm_pool_length_set(&end[0].fen_tm, QUEUE_NR + 1));
	take_and_put(&pool);
	fail_tm_down(&end[0]);
	assert_int_equal(m0_net_buffer_pool_fini(&pool), 0);
	fail_doms_fini(end, &m0_net_bulk_mem_xprt);
}

const struct fail_story fail_net_stories[] = {
	{ "net-mem", 20, talk_mem },
	{ "net-mem-sync", 20, talk_mem_sync },
	{ "net-mem-inline", 20, talk_mem_inline },
	{ "net-lnet", 60, talk_lnet },
	{ "net-lnet-sync", 60, talk_lnet_sync },
	{ "net-attached", 150, talk_attached },
	{ "net-attached-sync", 150, talk_attached_sync },
	{ "net-domains", 20, domains },
	{ "net-pool", 15, pool_feeds_a_machine },
	{ NULL, 0, NULL },
};

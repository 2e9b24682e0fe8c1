/* SPDX-License-Identifier: Apache-2.0 */
/* The network layer on its transports: machines, messages, bulk, pools. */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/net_pool.h"

enum {
	BYTES = 100000,
	POOL_NR = 4,
	QUEUE_NR = 2
};

/* -- buffers --------------------------------------------------------------- */

struct side {
	struct m0_net_buffer sid_nb;
	bool                 sid_over;
	int                  sid_status;
};

static void side_event(const struct m0_net_buffer_event *ev)
{
	struct side *side = container_of(ev->nbe_buffer, struct side, sid_nb);

	if (ev->nbe_status != 0)
		side->sid_status = ev->nbe_status;
	if ((ev->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED) == 0)
		side->sid_over = true;
}

static const struct m0_net_buffer_callbacks side_callbacks = {
	.nbc_cb = {
		[M0_NET_QT_MSG_RECV] = side_event,
		[M0_NET_QT_MSG_SEND] = side_event,
		[M0_NET_QT_PASSIVE_BULK_RECV] = side_event,
		[M0_NET_QT_PASSIVE_BULK_SEND] = side_event,
		[M0_NET_QT_ACTIVE_BULK_RECV] = side_event,
		[M0_NET_QT_ACTIVE_BULK_SEND] = side_event,
	},
};

static void side_init(struct side *side, struct fail_end *end)
{
	M0_SET0(side);
	FAIL_TRY(m0_bufvec_alloc(&side->sid_nb.nb_buffer, 1, BYTES));
	FAIL_TRY(m0_net_buffer_register(&side->sid_nb, &end->fen_dom));
	side->sid_nb.nb_callbacks = &side_callbacks;
}

static void side_fini(struct side *side, struct fail_end *end)
{
	assert_int_equal(m0_net_buffer_deregister(&side->sid_nb, &end->fen_dom),
			 0);
	m0_bufvec_free(&side->sid_nb.nb_buffer);
}

static int side_add(struct side *side, struct fail_end *end,
		    enum m0_net_queue_type qtype)
{
	struct m0_net_buffer *nb = &side->sid_nb;

	side->sid_over = false;
	side->sid_status = 0;
	nb->nb_qtype = qtype;
	nb->nb_offset = 0;
	nb->nb_length = qtype == M0_NET_QT_MSG_SEND ? 100 : BYTES;
	nb->nb_min_receive_size = 100;
	nb->nb_max_receive_msgs = 1;
	nb->nb_timeout = m0_time_from_now(2, 0);
	return m0_net_buffer_add(nb, &end->fen_tm);
}

static bool side_is_over(void *arg)
{
	const struct side *side = arg;

	return side->sid_over;
}

/* Both have ended. @return the first failure, which memory must be to blame
 * for. */
static int both_end(struct side *one, struct side *two)
{
	int rc;

	FAIL_UNTIL(side_is_over, one);
	FAIL_UNTIL(side_is_over, two);
	rc = one->sid_status != 0 ? one->sid_status : two->sid_status;
	if (rc != 0)
		fail_told(rc, "the event of a buffer");
	return rc;
}

static void message(struct fail_end end[2], struct side side[2])
{
	struct m0_net_end_point *ep;
	int                      rc;

	do {
		FAIL_TRY(side_add(&side[0], &end[0], M0_NET_QT_MSG_RECV));
		FAIL_TRY(m0_net_end_point_create(&ep, &end[1].fen_tm,
						 end[0].fen_addr));
		side[1].sid_nb.nb_ep = ep;
		FAIL_TRY(side_add(&side[1], &end[1], M0_NET_QT_MSG_SEND));
		rc = both_end(&side[0], &side[1]);
		side[1].sid_nb.nb_ep = NULL;
		assert_int_equal(m0_net_end_point_put(ep), 0);
	} while (rc != 0);
}

/* By the descriptor that the passive side has made. */
static void bulk(struct fail_end end[2], struct side side[2],
		 enum m0_net_queue_type passive, enum m0_net_queue_type active)
{
	struct m0_net_end_point *ep;
	int                      rc;

	do {
		FAIL_TRY(m0_net_end_point_create(&ep, &end[0].fen_tm,
						 end[1].fen_addr));
		side[0].sid_nb.nb_ep = ep;
		FAIL_TRY(side_add(&side[0], &end[0], passive));
		FAIL_TRY(m0_net_desc_copy(&side[0].sid_nb.nb_desc,
					  &side[1].sid_nb.nb_desc));
		FAIL_TRY(side_add(&side[1], &end[1], active));
		rc = both_end(&side[0], &side[1]);
		m0_net_desc_free(&side[0].sid_nb.nb_desc);
		m0_net_desc_free(&side[1].sid_nb.nb_desc);
		side[0].sid_nb.nb_ep = NULL;
		assert_int_equal(m0_net_end_point_put(ep), 0);
	} while (rc != 0);
}

/* One that nothing comes for. */
static void cancelled(struct fail_end *end, struct side *side)
{
	FAIL_TRY(side_add(side, end, M0_NET_QT_MSG_RECV));
	(void)m0_net_buffer_del(&side->sid_nb, &end->fen_tm);
	FAIL_UNTIL(side_is_over, side);
	if (side->sid_status != -ECANCELED)
		fail_told(side->sid_status, "a cancelled buffer");
}

static void ends_talk(const struct m0_net_xprt *xprt, enum fail_mode mode)
{
	struct fail_end end[2];
	struct side     side[2];
	unsigned        i;

	fail_ends_init(end, xprt, mode);
	for (i = 0; i < 2; ++i)
		side_init(&side[i], &end[i]);
	message(end, side);
	cancelled(&end[1], &side[1]);
	bulk(end, side, M0_NET_QT_PASSIVE_BULK_RECV,
	     M0_NET_QT_ACTIVE_BULK_SEND);
	bulk(end, side, M0_NET_QT_PASSIVE_BULK_SEND,
	     M0_NET_QT_ACTIVE_BULK_RECV);
	for (i = 0; i < 2; ++i)
		side_fini(&side[i], &end[i]);
	fail_ends_fini(end, xprt);
}

static void talk_mem(void)
{
	ends_talk(&m0_net_bulk_mem_xprt, FAIL_ASYNC);
}

static void talk_mem_sync(void)
{
	ends_talk(&m0_net_bulk_mem_xprt, FAIL_SYNC);
}

static void talk_mem_inline(void)
{
	ends_talk(&m0_net_bulk_mem_xprt, FAIL_INLINE);
}

static void talk_lnet(void)
{
	ends_talk(&m0_net_lnet_xprt, FAIL_ASYNC);
}

static void talk_lnet_sync(void)
{
	ends_talk(&m0_net_lnet_xprt, FAIL_SYNC);
}

/* -- domains --------------------------------------------------------------- */

static const struct m0_net_xprt *const xprts[] = { &m0_net_bulk_mem_xprt,
						   &m0_net_lnet_xprt };

/* Of which transport there are domains, their limits, names of interfaces. */
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
	{ "net-domains", 20, domains },
	{ "net-pool", 15, pool_feeds_a_machine },
	{ NULL, 0, NULL },
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A program in the manner of code that was written for the original interface:
 * its include paths are those of include/m0/compat, its names are used
 * as they stand. Two machines, a message, a bulk transfer, a pool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lib/assert.h>
#include <lib/atomic.h>
#include <lib/bitmap.h>
#include <lib/chan.h>
#include <lib/list.h>
#include <lib/memory.h>
#include <lib/misc.h>
#include <lib/mutex.h>
#include <lib/refs.h>
#include <lib/semaphore.h>
#include <lib/thread.h>
#include <lib/time.h>
#include <lib/tlist.h>
#include <lib/types.h>
#include <lib/vec.h>
#include <net/net.h>
#include <net/bulk_mem.h>
#include <net/buffer_pool.h>

enum {
	UT_BUFSZ = 4096,
};

struct ut_node {
	struct m0_net_domain      un_dom;
	struct m0_net_transfer_mc un_tm;
	struct m0_clink           un_wait;
	struct m0_semaphore       un_done;
	enum m0_net_tm_state      un_state;
	int32_t                   un_status;
	m0_bcount_t               un_length;
};

static struct ut_node ut_nodes[2];

static struct ut_node *ut_node_of(struct m0_net_transfer_mc *tm)
{
	return container_of(tm, struct ut_node, un_tm);
}

static void ut_tm_event_cb(const struct m0_net_tm_event *ev)
{
	M0_PRE(M0_IN(ev->nte_type,
		     (M0_NET_TEV_STATE_CHANGE, M0_NET_TEV_ERROR)));
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		ut_node_of(ev->nte_tm)->un_state = ev->nte_next_state;
}

static void ut_buf_cb(const struct m0_net_buffer_event *ev)
{
	struct ut_node *node = ut_node_of(ev->nbe_buffer->nb_tm);

	M0_ASSERT(ev->nbe_buffer != NULL);
	M0_ASSERT(ergo(ev->nbe_status == 0 &&
			       ev->nbe_buffer->nb_qtype == M0_NET_QT_MSG_RECV,
		       ev->nbe_ep != NULL));
	node->un_status = ev->nbe_status;
	node->un_length = ev->nbe_length;
	m0_semaphore_up(&node->un_done);
}

static struct m0_net_tm_callbacks ut_tm_cb = { .ntc_event_cb = ut_tm_event_cb };

static struct m0_net_buffer_callbacks ut_buf_cbs = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = ut_buf_cb,
		    [M0_NET_QT_MSG_SEND] = ut_buf_cb,
		    [M0_NET_QT_PASSIVE_BULK_RECV] = ut_buf_cb,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = ut_buf_cb,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = ut_buf_cb,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = ut_buf_cb },
};

/* Waits on ntm_chan: a broadcast may stand for several events. */
static void ut_wait(struct ut_node *node, enum m0_net_tm_state state)
{
	m0_clink_init(&node->un_wait, NULL);
	m0_clink_add_lock(&node->un_tm.ntm_chan, &node->un_wait);
	m0_mutex_lock(&node->un_tm.ntm_mutex);
	while (node->un_tm.ntm_state != state ||
	       node->un_tm.ntm_callback_counter > 0) {
		m0_mutex_unlock(&node->un_tm.ntm_mutex);
		m0_chan_wait(&node->un_wait);
		m0_mutex_lock(&node->un_tm.ntm_mutex);
	}
	m0_mutex_unlock(&node->un_tm.ntm_mutex);
	m0_clink_del_lock(&node->un_wait);
	m0_clink_fini(&node->un_wait);
}

static int ut_init(void **state)
{
	static const char *const addr[] = { "127.0.0.1:21", "127.0.0.1:22" };
	int                      i;
	int                      rc;

	(void)state;
	M0_SET_ARR0(ut_nodes);
	rc = m0_net_init();
	M0_ASSERT(rc == 0);
	for (i = 0; i < 2; ++i) {
		struct ut_node *node = &ut_nodes[i];

		m0_semaphore_init(&node->un_done, 0);
		node->un_tm.ntm_state = M0_NET_TM_UNDEFINED;
		node->un_tm.ntm_callbacks = &ut_tm_cb;
		rc = m0_net_domain_init(&node->un_dom, &m0_net_bulk_mem_xprt)
			     ?: m0_net_tm_init(&node->un_tm, &node->un_dom);
		M0_ASSERT(rc == 0);
		m0_net_bulk_mem_tm_set_num_threads(&node->un_tm, 2);
		M0_ASSERT(m0_net_bulk_mem_tm_get_num_threads(&node->un_tm) ==
			  2);
		rc = m0_net_tm_start(&node->un_tm, addr[i]);
		M0_ASSERT(rc == 0);
		ut_wait(node, M0_NET_TM_STARTED);
	}
	return 0;
}

static int ut_fini(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		struct ut_node *node = &ut_nodes[i];
		int             rc = m0_net_tm_stop(&node->un_tm, true);

		M0_ASSERT(rc == 0);
		ut_wait(node, M0_NET_TM_STOPPED);
		m0_net_tm_fini(&node->un_tm);
		m0_net_domain_fini(&node->un_dom);
		m0_semaphore_fini(&node->un_done);
	}
	m0_net_fini();
	return 0;
}

static struct m0_net_buffer *ut_buf(struct ut_node *node)
{
	struct m0_net_buffer *nb;
	int                   rc;

	M0_ALLOC_PTR(nb);
	M0_ASSERT(nb != NULL);
	rc = m0_bufvec_alloc(&nb->nb_buffer, 4, UT_BUFSZ / 4);
	M0_ASSERT(rc == 0);
	rc = m0_net_buffer_register(nb, &node->un_dom);
	M0_ASSERT(rc == 0 && nb->nb_flags & M0_NET_BUF_REGISTERED);
	nb->nb_callbacks = &ut_buf_cbs;
	nb->nb_min_receive_size = UT_BUFSZ;
	nb->nb_max_receive_msgs = 1;
	return nb;
}

static void ut_buf_free(struct ut_node *node, struct m0_net_buffer *nb)
{
	m0_net_desc_free(&nb->nb_desc);
	m0_net_buffer_deregister(nb, &node->un_dom);
	m0_bufvec_free(&nb->nb_buffer);
	m0_free(nb);
}

static void ut_message(void **state)
{
	struct m0_net_buffer    *r = ut_buf(&ut_nodes[1]);
	struct m0_net_buffer    *s = ut_buf(&ut_nodes[0]);
	struct m0_net_end_point *ep;
	struct m0_net_qstats     qs[M0_NET_QT_NR];

	(void)state;
	r->nb_qtype = M0_NET_QT_MSG_RECV;
	assert_int_equal(m0_net_buffer_add(r, &ut_nodes[1].un_tm), 0);
	assert_int_equal(m0_net_end_point_create(&ep, &ut_nodes[0].un_tm,
						 "127.0.0.1:22"),
			 0);
	strcpy(s->nb_buffer.ov_buf[0], "hello");
	s->nb_qtype = M0_NET_QT_MSG_SEND;
	s->nb_length = 6;
	s->nb_ep = ep;
	assert_int_equal(m0_net_buffer_add(s, &ut_nodes[0].un_tm), 0);
	m0_net_end_point_put(ep);
	m0_semaphore_down(&ut_nodes[0].un_done);
	m0_semaphore_down(&ut_nodes[1].un_done);
	assert_int_equal(ut_nodes[1].un_length, 6);
	assert_string_equal(r->nb_buffer.ov_buf[0], "hello");
	assert_int_equal(m0_net_tm_stats_get(&ut_nodes[1].un_tm, M0_NET_QT_NR,
					     qs, true),
			 0);
	assert_int_equal(qs[M0_NET_QT_MSG_RECV].nqs_num_s_events, 1);
	ut_buf_free(&ut_nodes[0], s);
	ut_buf_free(&ut_nodes[1], r);
}

static void ut_bulk(void **state)
{
	struct m0_net_buffer   *p = ut_buf(&ut_nodes[1]);
	struct m0_net_buffer   *a = ut_buf(&ut_nodes[0]);
	struct m0_bufvec_cursor cur;

	(void)state;
	m0_bufvec_cursor_init(&cur, &a->nb_buffer);
	assert_int_equal(m0_bufvec_cursor_copyto(&cur, "bulk data", 10), 10);
	p->nb_qtype = M0_NET_QT_PASSIVE_BULK_RECV;
	p->nb_ep = NULL;
	assert_int_equal(m0_net_buffer_add(p, &ut_nodes[1].un_tm), 0);
	a->nb_qtype = M0_NET_QT_ACTIVE_BULK_SEND;
	a->nb_length = 10;
	a->nb_timeout = m0_time_from_now(10, 0);
	assert_int_equal(m0_net_desc_copy(&p->nb_desc, &a->nb_desc), 0);
	assert_int_equal(m0_net_buffer_add(a, &ut_nodes[0].un_tm), 0);
	m0_semaphore_down(&ut_nodes[0].un_done);
	m0_semaphore_down(&ut_nodes[1].un_done);
	assert_int_equal(ut_nodes[0].un_status, 0);
	assert_int_equal(ut_nodes[1].un_length, 10);
	assert_string_equal(p->nb_buffer.ov_buf[0], "bulk data");
	ut_buf_free(&ut_nodes[0], a);
	ut_buf_free(&ut_nodes[1], p);
}

static const struct m0_net_buffer_pool_ops ut_pool_ops = {
	.nbpo_not_empty = m0_net_domain_buffer_pool_not_empty,
	.nbpo_below_threshold = NULL,
};

static void ut_pool(void **state)
{
	struct m0_net_buffer_pool pool;
	struct m0_net_buffer     *nb;

	(void)state;
	M0_SET0(&pool);
	assert_int_equal(m0_net_buffer_pool_init(&pool, &ut_nodes[0].un_dom,
						 M0_NET_BUFFER_POOL_THRESHOLD,
						 4, 1024, 5, 12, false),
			 0);
	pool.nbp_ops = &ut_pool_ops;
	m0_net_buffer_pool_lock(&pool);
	assert_int_equal(m0_net_buffer_pool_provision(&pool, 8), 8);
	nb = m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR);
	assert_int_equal(pool.nbp_free, 7);
	assert_int_equal(m0_net_pool_tlist_length(&pool.nbp_lru), 7);
	m0_net_buffer_pool_put(&pool, nb, 3);
	assert_ptr_equal(m0_net_buffer_pool_get(&pool, 3), nb);
	m0_net_buffer_pool_put(&pool, nb, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);
	m0_net_buffer_pool_fini(&pool);
}

static void ut_registry(void **state)
{
	(void)state;
	m0_net_xprt_register(&m0_net_bulk_mem_xprt);
	m0_net_xprt_default_set(&m0_net_bulk_mem_xprt);
	assert_ptr_equal(m0_net_xprt_default_get(), &m0_net_bulk_mem_xprt);
	assert_int_equal(m0_net_xprt_nr(), 1);
	m0_net_print_xprt();
	m0_net_xprt_deregister(&m0_net_bulk_mem_xprt);
	assert_false(m0_net_check_xprt(&m0_net_bulk_mem_xprt));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, ut_init, ut_fini)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ut_message),
		CASE(ut_bulk),
		CASE(ut_pool),
		CASE(ut_registry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Provisioning, with buffers that leave the queue when the test says so. */
#include <sched.h>

#include "dummy.h"

static struct m0_net_buffer_pool pool;
static struct m0_net_buffer     *last;

static const struct m0_net_buffer_pool_ops ops = {
	.nbpo_not_empty = m0_net_domain_buffer_pool_not_empty
};

static int pool_up(void **state)
{
	int made;

	if (scene_up(state) != 0)
		return -1;
	memset(&pool, 0, sizeof pool);
	pool.nbp_ops = &ops;
	if (m0_net_buffer_pool_init(&pool, &scene.dom, 2, 1, 512, 5, 0,
				    false) != 0)
		return -1;
	m0_net_buffer_pool_lock(&pool);
	made = m0_net_buffer_pool_provision(&pool, 8);
	m0_net_buffer_pool_unlock(&pool);
	return made == 8 ? 0 : -1;
}

static void put(struct m0_net_buffer *buf, uint32_t colour)
{
	m0_net_buffer_pool_lock(&pool);
	buf->nb_ep = NULL;
	m0_net_buffer_pool_put(&pool, buf, colour);
	m0_net_buffer_pool_unlock(&pool);
}

static int pool_down(void **state)
{
	assert_int_equal(pool.nbp_free, pool.nbp_buf_nr);
	assert_int_equal(m0_net_tm_fini(&scene.tm), 0);
	assert_int_equal(m0_net_buffer_pool_fini(&pool), 0);
	return scene_down(state);
}

static size_t queue_len(void)
{
	size_t nr;

	m0_mutex_lock(&scene.tm.ntm_mutex);
	nr = m0_net_tm_tlist_length(&scene.tm.ntm_q[M0_NET_QT_MSG_RECV]);
	m0_mutex_unlock(&scene.tm.ntm_mutex);
	return nr;
}

static int64_t deficit(void)
{
	return m0_atomic64_get(&scene.tm.ntm_recv_queue_deficit);
}

static void start(m0_bcount_t size, uint32_t msgs, uint32_t len)
{
	assert_int_equal(m0_net_tm_pool_attach(&scene.tm, &pool, &scene_cbs,
					       size, msgs, len),
			 0);
	assert_int_equal(m0_net_tm_start(&scene.tm, "own"), 0);
	scene_state(M0_NET_TM_STARTED);
}

static void keep(const struct m0_net_buffer_event *ev)
{
	last = ev->nbe_buffer;
}

static void put_back(const struct m0_net_buffer_event *ev)
{
	put(ev->nbe_buffer, M0_BUFFER_ANY_COLOUR);
}

/* Empties the queue as a stopping transport does, then STOPPED. */
static void stop(void)
{
	struct m0_net_buffer *buf;

	assert_int_equal(m0_net_tm_stop(&scene.tm, true), 0);
	while ((buf = m0_net_tm_tlist_head(
			&scene.tm.ntm_q[M0_NET_QT_MSG_RECV])) != NULL)
		scene_event(buf, -ECANCELED, 0, NULL);
	scene_state(M0_NET_TM_STOPPED);
}

/* After the STARTED callback, with the fields that receiving needs. */
static void started_queue_filled(void **state)
{
	struct m0_net_buffer *buf;

	(void)state;
	start(300, 7, 0);
	assert_int_equal(scene.recv_queue_len, 0);
	assert_int_equal(queue_len(), 2);
	assert_int_equal(pool.nbp_free, 6);
	buf = m0_net_tm_tlist_head(&scene.tm.ntm_q[M0_NET_QT_MSG_RECV]);
	assert_int_equal(buf->nb_qtype, M0_NET_QT_MSG_RECV);
	assert_ptr_equal(buf->nb_callbacks, &scene_cbs);
	assert_int_equal(buf->nb_min_receive_size, 300);
	assert_int_equal(buf->nb_max_receive_msgs, 7);
	assert_null(buf->nb_ep);
	assert_true(buf->nb_timeout == M0_TIME_NEVER);
	scene.hook = put_back;
	stop();
}

/* 0 and 0: whole buffer, one message. */
static void attach_zeroes_defaults(void **state)
{
	struct m0_net_buffer *buf;

	(void)state;
	start(0, 0, 0);
	buf = m0_net_tm_tlist_head(&scene.tm.ntm_q[M0_NET_QT_MSG_RECV]);
	assert_int_equal(buf->nb_min_receive_size, 512);
	assert_int_equal(buf->nb_max_receive_msgs, 1);
	scene.hook = put_back;
	stop();
}

/* More room than a buffer has is not asked of it. */
static void attach_large_size_is_the_buffers(void **state)
{
	struct m0_net_buffer *buf;

	(void)state;
	start(1 << 20, 0, 0);
	assert_int_equal(queue_len(), 2);
	buf = m0_net_tm_tlist_head(&scene.tm.ntm_q[M0_NET_QT_MSG_RECV]);
	assert_int_equal(buf->nb_min_receive_size, 512);
	scene.hook = put_back;
	stop();
}

/* A buffer that leaves is replaced before its callback. */
static void leaving_replaced_before_callback(void **state)
{
	(void)state;
	start(0, 0, 3);
	scene.hook = keep;
	scene_event(m0_net_tm_tlist_head(&scene.tm.ntm_q[M0_NET_QT_MSG_RECV]),
		    -EMSGSIZE, 600, NULL);
	assert_int_equal(scene.recv_queue_len, 3);
	assert_int_equal(pool.nbp_free, 4);
	put(last, 1);
	scene.hook = put_back;
	stop();
}

/* Deficit: what the pool could not give; its growth counts as f_events. */
static void length_set_beyond_pool_deficit(void **state)
{
	struct m0_net_qstats qs;

	(void)state;
	start(0, 0, 2);
	assert_int_equal(m0_net_tm_pool_length_set(&scene.tm, 0), -EINVAL);
	assert_int_equal(m0_net_tm_pool_length_set(&scene.tm, 4), 0);
	assert_int_equal(queue_len(), 4);
	assert_int_equal(m0_net_tm_pool_length_set(&scene.tm, 10), 0);
	assert_int_equal(queue_len(), 8);
	assert_int_equal(deficit(), 2);
	assert_int_equal(m0_net_tm_pool_length_set(&scene.tm, 13), 0);
	assert_int_equal(deficit(), 5);
	m0_net_tm_stats_get(&scene.tm, M0_NET_QT_MSG_RECV, &qs, false);
	assert_int_equal(qs.nqs_num_f_events, 5);
	assert_int_equal(m0_net_tm_pool_length_set(&scene.tm, 3), 0);
	assert_int_equal(queue_len(), 8);
	assert_int_equal(deficit(), 0);
	scene.hook = put_back;
	stop();
	assert_int_equal(deficit(), 0);
}

/* Sets the result of the transport's add; the provisioner may be adding. */
static void add_rc_set(int rc)
{
	m0_mutex_lock(&scene.tm.ntm_mutex);
	dummy.rc[BUF_ADD] = rc;
	m0_mutex_unlock(&scene.tm.ntm_mutex);
}

static uint32_t free_nr(void)
{
	uint32_t nr;

	m0_net_buffer_pool_lock(&pool);
	nr = pool.nbp_free;
	m0_net_buffer_pool_unlock(&pool);
	return nr;
}

/* The transport refuses a buffer: it goes back, and is lacking. */
static void add_fails_put_back(void **state)
{
	(void)state;
	add_rc_set(-ENOMEM);
	start(0, 0, 2);
	assert_int_equal(queue_len(), 0);
	assert_int_equal(free_nr(), 8);
	assert_int_equal(deficit(), 2);
	add_rc_set(0);
	assert_int_equal(m0_net_tm_pool_length_set(&scene.tm, 2), 0);
	assert_int_equal(queue_len(), 2);
	scene.hook = put_back;
	stop();
}

static void nothing_lacks_wait(void)
{
	m0_time_t limit = m0_time_from_now(20, 0);

	while (deficit() != 0) {
		assert_true(m0_time_now() < limit);
		sched_yield();
	}
}

/* A pool that is not finalised, as it is in use, still fills the queue later. */
static void fini_busy_still_filled(void **state)
{
	(void)state;
	add_rc_set(-ENOMEM);
	start(0, 0, 2);
	assert_int_equal(deficit(), 2);
	m0_net_buffer_pool_lock(&pool);
	last = m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);
	assert_int_equal(m0_net_buffer_pool_fini(&pool), -EBUSY);
	add_rc_set(0);
	nothing_lacks_wait();
	assert_int_equal(queue_len(), 2);
	put(last, M0_BUFFER_ANY_COLOUR);
	scene.hook = put_back;
	stop();
}

/* The transport does not stop now: what is lacking comes as before. */
static void stop_refused_still_lacking(void **state)
{
	struct m0_net_buffer *held[8];
	int                   i;

	(void)state;
	m0_net_buffer_pool_lock(&pool);
	for (i = 0; i < 8; ++i)
		held[i] = m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);
	start(0, 0, 2);
	assert_int_equal(deficit(), 2);
	dummy.rc[TM_STOP] = -EAGAIN;
	assert_int_equal(m0_net_tm_stop(&scene.tm, true), -EAGAIN);
	dummy.rc[TM_STOP] = 0;
	assert_int_equal(scene.tm.ntm_state, M0_NET_TM_STARTED);
	assert_int_equal(deficit(), 2);
	for (i = 0; i < 8; ++i)
		put(held[i], M0_BUFFER_ANY_COLOUR);
	nothing_lacks_wait();
	assert_int_equal(queue_len(), 2);
	scene.hook = put_back;
	stop();
}

/* Callbacks that do not put back at a stop: the layer does. */
static void stop_returns_forgotten(void **state)
{
	(void)state;
	start(0, 0, 4);
	assert_int_equal(pool.nbp_free, 4);
	stop();
	assert_int_equal(scene.events, 4);
	assert_int_equal(pool.nbp_free, 8);
}

/* The machine's colour is asked for, its default accepts all. */
static void colour_used_for_get(void **state)
{
	struct m0_net_buffer *buf;

	(void)state;
	m0_net_buffer_pool_lock(&pool);
	buf = m0_net_buffer_pool_get(&pool, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_put(&pool, buf, 4);
	m0_net_buffer_pool_unlock(&pool);
	m0_net_tm_colour_set(&scene.tm, 4);
	start(0, 0, 1);
	assert_ptr_equal(
		m0_net_tm_tlist_head(&scene.tm.ntm_q[M0_NET_QT_MSG_RECV]), buf);
	scene.hook = put_back;
	stop();
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, pool_up, pool_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(started_queue_filled),
		CASE(attach_zeroes_defaults),
		CASE(attach_large_size_is_the_buffers),
		CASE(leaving_replaced_before_callback),
		CASE(length_set_beyond_pool_deficit),
		CASE(add_fails_put_back),
		CASE(fini_busy_still_filled),
		CASE(stop_refused_still_lacking),
		CASE(stop_returns_forgotten),
		CASE(colour_used_for_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

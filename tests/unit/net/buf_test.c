/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "dummy.h"
#include "unit/base/panics.h"

static struct m0_net_buffer *const      buf = &scene.buf;
static struct m0_net_transfer_mc *const tm = &scene.tm;

static struct m0_net_qstats stats(enum m0_net_queue_type qt)
{
	struct m0_net_qstats qs;

	assert_int_equal(m0_net_tm_stats_get(tm, qt, &qs, false), 0);
	return qs;
}

/* Post conditions of register and deregister, and of their failures. */
static void register_sets_and_undoes(void **state)
{
	(void)state;
	assert_int_equal(m0_net_buffer_deregister(buf, &scene.dom), 0);
	assert_null(buf->nb_dom);
	assert_int_equal(buf->nb_flags, 0);
	buf->nb_timeout = 0;
	dummy.rc[BUF_REGISTER] = -ENOMEM;
	assert_int_equal(m0_net_buffer_register(buf, &scene.dom), -ENOMEM);
	assert_null(buf->nb_dom);
	assert_int_equal(buf->nb_flags, 0);
	dummy.rc[BUF_REGISTER] = 0;
	assert_int_equal(m0_net_buffer_register(buf, &scene.dom), 0);
	assert_int_equal(buf->nb_flags, M0_NET_BUF_REGISTERED);
	assert_true(buf->nb_timeout == M0_TIME_NEVER);
	assert_panics(m0_net_buffer_register(buf, &scene.dom));
}

/* On each queue: flag, link, count, end point. Then the event undoes them. */
static void add_each_queue_counted(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");
	int                      q;

	(void)state;
	for (q = 0; q < M0_NET_QT_NR; ++q) {
		enum m0_net_queue_type qt = (enum m0_net_queue_type)q;
		bool                   holds = q >= M0_NET_QT_MSG_SEND &&
			     q <= M0_NET_QT_PASSIVE_BULK_SEND;

		scene_buf_for(qt, q < M0_NET_QT_ACTIVE_BULK_RECV ? ep : NULL);
		buf->nb_msgs_received = 999;
		assert_int_equal(m0_net_buffer_add(buf, tm), 0);
		assert_true(buf->nb_flags & M0_NET_BUF_QUEUED);
		assert_ptr_equal(buf->nb_tm, tm);
		assert_int_equal(buf->nb_msgs_received, 0);
		assert_ptr_equal(m0_net_tm_tlist_head(&tm->ntm_q[q]), buf);
		assert_int_equal(stats(qt).nqs_num_adds, 1);
		assert_int_equal(m0_ref_read(&ep->nep_ref), holds ? 2 : 1);
		assert_int_equal(m0_net_buffer_deregister(buf, &scene.dom),
				 -EBUSY);
		scene.watched = ep;
		scene_event(buf, -ECANCELED, 0, NULL);
		assert_int_equal(scene.ep_refs, holds ? 2 : 1);
		assert_int_equal(m0_ref_read(&ep->nep_ref), 1);
		assert_int_equal(scene.qt, q);
		assert_int_equal(scene.flags, M0_NET_BUF_REGISTERED);
		assert_false(scene.locked);
	}
	m0_net_end_point_put(ep);
}

/* The operation fails: nothing has changed, nothing is counted. */
static void add_operation_fails_undone(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");
	int                      q;

	(void)state;
	dummy.rc[BUF_ADD] = -EMSGSIZE;
	for (q = 0; q < M0_NET_QT_NR; ++q) {
		enum m0_net_queue_type qt = (enum m0_net_queue_type)q;

		scene_buf_for(qt, q < M0_NET_QT_ACTIVE_BULK_RECV ? ep : NULL);
		assert_int_equal(m0_net_buffer_add(buf, tm), -EMSGSIZE);
		assert_int_equal(buf->nb_flags, M0_NET_BUF_REGISTERED);
		assert_true(m0_net_tm_tlist_is_empty(&tm->ntm_q[q]));
		assert_int_equal(stats(qt).nqs_num_adds, 0);
		assert_int_equal(m0_ref_read(&ep->nep_ref), 1);
	}
	m0_net_end_point_put(ep);
}

/* A time-out that has passed: -ETIME before the operation is called. */
static void add_timeout_passed_etime(void **state)
{
	(void)state;
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	buf->nb_timeout = m0_time_now() - 1;
	assert_int_equal(m0_net_buffer_add(buf, tm), -ETIME);
	assert_int_equal(dummy.calls[BUF_ADD], 0);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV).nqs_num_adds, 0);
	buf->nb_timeout = m0_time_from_now(1000, 0);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	scene_event(buf, -ETIMEDOUT, 0, NULL);
	assert_true(buf->nb_timeout == M0_TIME_NEVER);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV).nqs_num_dels, 0);
}

/* del: counted and passed on only while queued. */
static void del_queued_only(void **state)
{
	(void)state;
	assert_false(m0_net_buffer_del(buf, tm));
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	assert_true(m0_net_buffer_del(buf, tm));
	assert_int_equal(dummy.calls[BUF_DEL], 1);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV).nqs_num_dels, 1);
	assert_true(buf->nb_flags & M0_NET_BUF_QUEUED);
	scene_event(buf, -ECANCELED, 0, NULL);
	assert_false(m0_net_buffer_del(buf, tm));
	assert_int_equal(dummy.calls[BUF_DEL], 1);
}

#define REFUSED(change, back)                              \
	({                                                 \
		change;                                    \
		assert_panics(m0_net_buffer_add(buf, tm)); \
		if (m0_mutex_is_locked(&tm->ntm_mutex))    \
			m0_mutex_unlock(&tm->ntm_mutex);   \
		back;                                      \
	})

/* A call that breaks a precondition of add fails an assertion. */
static void add_misuse_aborts(void **state)
{
	struct m0_net_end_point       *ep = dummy_ep("peer");
	struct m0_net_buffer_callbacks none = { .nbc_cb = { NULL } };

	(void)state;
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	REFUSED(buf->nb_ep = ep, buf->nb_ep = NULL);
	REFUSED(buf->nb_min_receive_size = 0, buf->nb_min_receive_size = 1);
	REFUSED(buf->nb_min_receive_size = DUMMY_SEG + 1,
		buf->nb_min_receive_size = 1);
	REFUSED(buf->nb_max_receive_msgs = 0, buf->nb_max_receive_msgs = 1);
	REFUSED(buf->nb_callbacks = &none, buf->nb_callbacks = &scene_cbs);
	REFUSED(buf->nb_flags |= M0_NET_BUF_IN_USE,
		buf->nb_flags = M0_NET_BUF_REGISTERED);
	scene_buf_for(M0_NET_QT_MSG_SEND, ep);
	REFUSED(buf->nb_length = 0, buf->nb_length = 10);
	REFUSED(buf->nb_length = DUMMY_SEG + 1, buf->nb_length = 10);
	REFUSED(buf->nb_offset = DUMMY_SEG - 9, buf->nb_offset = 0);
	REFUSED(buf->nb_offset = UINT64_MAX - 5, buf->nb_offset = 0);
	REFUSED(buf->nb_ep = NULL, buf->nb_ep = ep);
	scene_buf_for(M0_NET_QT_ACTIVE_BULK_RECV, NULL);
	REFUSED(buf->nb_desc.nbd_len = 0, buf->nb_desc.nbd_len = 4);
	REFUSED(buf->nb_qtype = M0_NET_QT_NR, 0);
	m0_net_end_point_put(ep);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, scene_started, scene_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(register_sets_and_undoes),
		CASE(add_each_queue_counted),
		CASE(add_operation_fails_undone),
		CASE(add_timeout_passed_etime),
		CASE(del_queued_only),
		CASE(add_misuse_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "dummy.h"
#include "unit/base/panics.h"

static struct m0_net_buffer *const      buf = &scene.buf;
static struct m0_net_transfer_mc *const tm = &scene.tm;

static struct m0_net_qstats stats(enum m0_net_queue_type qt, bool reset)
{
	struct m0_net_qstats qs;

	assert_int_equal(m0_net_tm_stats_get(tm, qt, &qs, reset), 0);
	return qs;
}

/* RETAIN: an event, and the buffer stays with its flags and time-out. */
static void retain_stays_queued(void **state)
{
	struct m0_net_end_point *from = dummy_ep("peer");
	m0_time_t                timeout = m0_time_from_now(1000, 0);

	(void)state;
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	buf->nb_timeout = timeout;
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	m0_mutex_lock(&tm->ntm_mutex);
	buf->nb_flags |= M0_NET_BUF_RETAIN | M0_NET_BUF_IN_USE;
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net_end_point_get(from);
	scene_event(buf, 0, 7, from);
	assert_int_equal(scene.flags, M0_NET_BUF_REGISTERED |
					      M0_NET_BUF_QUEUED |
					      M0_NET_BUF_IN_USE);
	assert_true(buf->nb_timeout == timeout);
	assert_int_equal(buf->nb_msgs_received, 1);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV, false).nqs_time_in_queue, 0);
	m0_net_end_point_get(from);
	scene_event(buf, 0, 9, from);
	assert_int_equal(scene.flags, M0_NET_BUF_REGISTERED);
	assert_int_equal(buf->nb_msgs_received, 2);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV, false).nqs_num_adds, 1);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV, false).nqs_num_s_events, 2);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV, false).nqs_total_bytes, 16);
	assert_int_equal(stats(M0_NET_QT_MSG_RECV, false).nqs_max_bytes, 9);
	assert_true(stats(M0_NET_QT_MSG_RECV, false).nqs_time_in_queue > 0);
	assert_int_equal(m0_ref_read(&from->nep_ref), 1);
	m0_net_end_point_put(from);
}

/* The sender's reference is dropped after the callback, not before. */
static void message_sender_put_after(void **state)
{
	struct m0_net_end_point *from = dummy_ep("peer");

	(void)state;
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	scene.watched = from;
	m0_net_end_point_get(from);
	scene_event(buf, 0, 7, from);
	assert_int_equal(scene.ep_refs, 2);
	assert_int_equal(m0_ref_read(&from->nep_ref), 1);
	m0_net_end_point_put(from);
}

/*
 * nbe_ep is looked at for a message that came, and for nothing else: whatever a
 * transport leaves there in other events, no reference goes with it.
 */
static void end_point_of_other_events_is_ignored(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");
	int                      q;

	(void)state;
	for (q = 0; q < M0_NET_QT_NR; ++q) {
		enum m0_net_queue_type qt = (enum m0_net_queue_type)q;

		scene_buf_for(qt, q == M0_NET_QT_MSG_SEND ? ep : NULL);
		assert_int_equal(m0_net_buffer_add(buf, tm), 0);
		if (qt != M0_NET_QT_MSG_RECV) {
			m0_mutex_lock(&tm->ntm_mutex);
			buf->nb_flags |= M0_NET_BUF_RETAIN;
			m0_mutex_unlock(&tm->ntm_mutex);
			scene_event(buf, 0, 7, ep);
		}
		scene_event(buf, -EIO, 0, ep);
		assert_int_equal(m0_ref_read(&ep->nep_ref), 1);
		if (qt != M0_NET_QT_MSG_RECV) {
			scene_buf_for(qt, q == M0_NET_QT_MSG_SEND ? ep : NULL);
			assert_int_equal(m0_net_buffer_add(buf, tm), 0);
			scene_event(buf, 0, 7, ep);
			assert_int_equal(m0_ref_read(&ep->nep_ref), 1);
		}
	}
	m0_net_end_point_put(ep);
}

/* Bytes: received on the receive queues, nb_length when sending. */
static void stats_bytes_by_queue(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");
	int                      q;

	(void)state;
	for (q = 0; q < M0_NET_QT_NR; ++q) {
		enum m0_net_queue_type qt = (enum m0_net_queue_type)q;
		bool                   recv = q == M0_NET_QT_MSG_RECV ||
			    q == M0_NET_QT_PASSIVE_BULK_RECV ||
			    q == M0_NET_QT_ACTIVE_BULK_RECV;
		struct m0_net_qstats qs;

		scene_buf_for(qt, q < M0_NET_QT_ACTIVE_BULK_RECV ? ep : NULL);
		assert_int_equal(m0_net_buffer_add(buf, tm), 0);
		if (q == M0_NET_QT_MSG_RECV)
			m0_net_end_point_get(ep);
		scene_event(buf, 0, 77, q == M0_NET_QT_MSG_RECV ? ep : NULL);
		qs = stats(qt, true);
		assert_int_equal(qs.nqs_num_s_events, 1);
		assert_int_equal(qs.nqs_num_f_events, 0);
		assert_int_equal(qs.nqs_total_bytes, recv ? 77 : 10);
		assert_int_equal(qs.nqs_max_bytes, recv ? 77 : 10);
		scene_buf_for(qt, q < M0_NET_QT_ACTIVE_BULK_RECV ? ep : NULL);
		assert_int_equal(m0_net_buffer_add(buf, tm), 0);
		scene_event(buf, -EMSGSIZE, 88, NULL);
		qs = stats(qt, true);
		assert_int_equal(qs.nqs_num_f_events, 1);
		assert_int_equal(qs.nqs_total_bytes, 0);
		assert_int_equal(stats(qt, false).nqs_num_f_events, 0);
	}
	m0_net_end_point_put(ep);
}

static void add_again_cb(const struct m0_net_buffer_event *ev)
{
	if (scene.events == 1)
		assert_int_equal(m0_net_buffer_add(ev->nbe_buffer, tm), 0);
}

/* Added again in its own callback; and deregistered in the next. */
static void callback_add_again_fine(void **state)
{
	(void)state;
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	scene.hook = add_again_cb;
	scene_event(buf, -EMSGSIZE, 0, NULL);
	assert_true(buf->nb_flags & M0_NET_BUF_QUEUED);
	scene_event(buf, -ECANCELED, 0, NULL);
	assert_int_equal(scene.events, 2);
}

static void deregister_cb(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;

	assert_int_equal(m0_net_buffer_deregister(nb, &scene.dom), 0);
	memset(nb, 0xff, sizeof *nb);
}

/* Nothing touches the buffer after its final callback. */
static void callback_destroys_buffer_fine(void **state)
{
	struct m0_net_end_point *ep = dummy_ep("peer");

	(void)state;
	scene_buf_for(M0_NET_QT_MSG_SEND, ep);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	scene.hook = deregister_cb;
	scene_event(buf, 0, 0, NULL);
	assert_int_equal(m0_ref_read(&ep->nep_ref), 1);
	m0_net_end_point_put(ep);
	memset(buf, 0, sizeof *buf);
}

static bool chan_cb(struct m0_clink *link)
{
	(void)link;
	return false;
}

/* ntm_chan is broadcast after the callback has returned. */
static void chan_broadcast_after_callback(void **state)
{
	struct m0_clink link;

	(void)state;
	m0_clink_init(&link, chan_cb);
	m0_clink_add_lock(&tm->ntm_chan, &link);
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	assert_false(m0_chan_trywait(&link));
	scene_event(buf, -ECANCELED, 0, NULL);
	assert_true(m0_chan_trywait(&link));
	m0_clink_del_lock(&link);
	m0_clink_fini(&link);
}

static void post_bad(int32_t status, struct m0_net_end_point *ep)
{
	struct m0_net_buffer_event ev = { .nbe_buffer = buf,
					  .nbe_status = status,
					  .nbe_ep = ep };

	assert_panics((m0_net_buffer_event_post(&ev), 0));
	if (m0_mutex_is_locked(&tm->ntm_mutex))
		m0_mutex_unlock(&tm->ntm_mutex);
}

/* Events that cannot be: each names a transport that is broken. */
static void impossible_events_abort(void **state)
{
	(void)state;
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	scene_event(buf, -ECANCELED, 0, NULL);
	post_bad(-ECANCELED, NULL);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	post_bad(0, NULL);
	buf->nb_flags |= M0_NET_BUF_CANCELLED;
	post_bad(-ETIMEDOUT, NULL);
	buf->nb_flags &= ~(uint64_t)M0_NET_BUF_CANCELLED;
	buf->nb_flags |= M0_NET_BUF_TIMED_OUT;
	post_bad(-ECANCELED, NULL);
	buf->nb_flags &= ~(uint64_t)M0_NET_BUF_TIMED_OUT;
	buf->nb_flags |= M0_NET_BUF_RETAIN;
	post_bad(-EMSGSIZE, NULL);
	buf->nb_flags &= ~(uint64_t)M0_NET_BUF_RETAIN;
	m0_mutex_lock(&tm->ntm_mutex);
	post_bad(-EMSGSIZE, NULL);
	scene_event(buf, -ECANCELED, 0, NULL);
}

/* STOPPED with a buffer queued is a transport's error. */
static void stopped_buffer_queued_aborts(void **state)
{
	struct m0_net_tm_event ev = { .nte_type = M0_NET_TEV_STATE_CHANGE,
				      .nte_tm = tm,
				      .nte_next_state = M0_NET_TM_STOPPED };

	(void)state;
	scene_buf_for(M0_NET_QT_MSG_RECV, NULL);
	assert_int_equal(m0_net_buffer_add(buf, tm), 0);
	assert_int_equal(m0_net_tm_stop(tm, true), 0);
	assert_panics((m0_net_tm_event_post(&ev), 0));
	if (m0_mutex_is_locked(&tm->ntm_mutex))
		m0_mutex_unlock(&tm->ntm_mutex);
	scene_event(buf, -ECANCELED, 0, NULL);
	scene_state(M0_NET_TM_STOPPED);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, scene_started, scene_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(retain_stays_queued),
		CASE(message_sender_put_after),
		CASE(end_point_of_other_events_is_ignored),
		CASE(stats_bytes_by_queue),
		CASE(callback_add_again_fine),
		CASE(callback_destroys_buffer_fine),
		CASE(chan_broadcast_after_callback),
		CASE(impossible_events_abort),
		CASE(stopped_buffer_queued_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "dummy.h"
#include "unit/base/panics.h"

/* Init sets these fields; a TM can be finalised and initialised again. */
static void init_fields_set(void **state)
{
	struct m0_net_transfer_mc *tm = &scene.tm;
	int                        q;

	(void)state;
	assert_int_equal(tm->ntm_state, M0_NET_TM_INITIALIZED);
	assert_ptr_equal(tm->ntm_dom, &scene.dom);
	assert_null(tm->ntm_ep);
	assert_null(tm->ntm_recv_pool);
	assert_int_equal(tm->ntm_callback_counter, 0);
	assert_true(tm->ntm_bev_auto_deliver);
	assert_int_equal(tm->ntm_recv_queue_min_length, 2);
	assert_int_equal(m0_atomic64_get(&tm->ntm_recv_queue_deficit), 0);
	assert_int_equal(m0_net_tm_colour_get(tm), M0_BUFFER_ANY_COLOUR);
	for (q = 0; q < M0_NET_QT_NR; ++q)
		assert_true(m0_net_tm_tlist_is_empty(&tm->ntm_q[q]));
	assert_int_equal(m0_net_tm_fini(tm), 0);
	assert_int_equal(tm->ntm_state, M0_NET_TM_UNDEFINED);
	assert_int_equal(m0_net_tm_init(tm, &scene.dom), 0);
}

static void init_operation_fails_undone(void **state)
{
	struct m0_net_transfer_mc *tm = &scene.tm;

	(void)state;
	assert_int_equal(m0_net_tm_fini(tm), 0);
	dummy.rc[TM_INIT] = -ENOMEM;
	assert_int_equal(m0_net_tm_init(tm, &scene.dom), -ENOMEM);
	assert_int_equal(tm->ntm_state, M0_NET_TM_UNDEFINED);
	assert_true(m0_list_is_empty(&scene.dom.nd_tms));
	dummy.rc[TM_INIT] = 0;
	assert_int_equal(m0_net_tm_init(tm, &scene.dom), 0);
}

/* An error of start: FAILED, no event; the machine is finalised. */
static void start_operation_fails_failed(void **state)
{
	(void)state;
	dummy.rc[TM_START] = -EINVAL;
	assert_int_equal(m0_net_tm_start(&scene.tm, "x"), -EINVAL);
	assert_int_equal(scene.tm.ntm_state, M0_NET_TM_FAILED);
	assert_int_equal(scene.states[M0_NET_TM_FAILED], 0);
}

/* NULL reaches the transport, which decides. */
static void start_null_transport_decides(void **state)
{
	(void)state;
	dummy.rc[TM_START] = -ENOSYS;
	assert_int_equal(m0_net_tm_start(&scene.tm, NULL), -ENOSYS);
	assert_int_equal(dummy.calls[TM_START], 1);
}

/* The STARTED event: state and end point are set before the callback. */
static void started_event_once(void **state)
{
	(void)state;
	assert_int_equal(m0_net_tm_start(&scene.tm, "own"), 0);
	assert_int_equal(scene.tm.ntm_state, M0_NET_TM_STARTING);
	assert_null(scene.tm.ntm_ep);
	scene_state(M0_NET_TM_STARTED);
	assert_int_equal(scene.states[M0_NET_TM_STARTED], 1);
	assert_string_equal(scene.tm.ntm_ep->nep_addr, "own");
	scene_stop();
	assert_int_equal(scene.states[M0_NET_TM_STOPPED], 1);
	assert_int_equal(m0_net_tm_fini(&scene.tm), 0);
	assert_int_equal(dummy.released, 1);
	assert_int_equal(dummy.calls[TM_FINI], 1);
}

/* A failing stop restores the state. */
static void stop_operation_fails_restored(void **state)
{
	(void)state;
	assert_int_equal(m0_net_tm_start(&scene.tm, "own"), 0);
	dummy.rc[TM_STOP] = -EAGAIN;
	assert_int_equal(m0_net_tm_stop(&scene.tm, false), -EAGAIN);
	assert_int_equal(scene.tm.ntm_state, M0_NET_TM_STARTING);
	dummy.rc[TM_STOP] = 0;
	scene_state(M0_NET_TM_STARTED);
	assert_int_equal(m0_net_tm_stop(&scene.tm, true), 0);
	assert_true(dummy.stop_abort);
	assert_int_equal(scene.tm.ntm_state, M0_NET_TM_STOPPING);
	scene_state(M0_NET_TM_STOPPED);
}

/* Events that are no state change leave the state alone. */
static void other_events_state_stays(void **state)
{
	struct m0_net_tm_event ev = { .nte_type = M0_NET_TEV_ERROR,
				      .nte_tm = &scene.tm,
				      .nte_status = -ENOBUFS };

	(void)state;
	elsewhere((void (*)(void *))(void *)m0_net_tm_event_post, &ev);
	assert_int_equal(scene.errors, 1);
	assert_int_equal(scene.status, -ENOBUFS);
	ev.nte_type = M0_NET_TEV_DIAGNOSTIC;
	elsewhere((void (*)(void *))(void *)m0_net_tm_event_post, &ev);
	assert_int_equal(scene.diagnostics, 1);
	assert_int_equal(scene.tm.ntm_state, M0_NET_TM_INITIALIZED);
}

static void optional_operations_missing_enosys(void **state)
{
	struct m0_net_domain      dom = { .nd_xprt = NULL };
	struct m0_net_transfer_mc tm = { .ntm_callbacks =
						 scene.tm.ntm_callbacks };
	struct m0_bitmap          map;

	(void)state;
	assert_int_equal(m0_bitmap_init(&map, 8), 0);
	assert_int_equal(m0_net_domain_init(&dom, &dummy_bare_xprt), 0);
	dummy.tm = NULL;
	dummy.dom = NULL;
	assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
	assert_int_equal(m0_net_tm_confine(&tm, &map), -ENOSYS);
	assert_int_equal(m0_net_buffer_event_deliver_synchronously(&tm),
			 -ENOSYS);
	assert_true(tm.ntm_bev_auto_deliver);
	assert_int_equal(m0_net_tm_inline(&tm), -ENOSYS);
	assert_int_equal(m0_net_tm_fd(&tm), -ENOSYS);
	assert_int_equal(m0_net_tm_fini(&tm), 0);
	assert_int_equal(m0_net_domain_fini(&dom), 0);
	/* With the operation: called, its result returned. */
	dummy.rc[TM_CONFINE] = -EINVAL;
	assert_int_equal(m0_net_tm_confine(&scene.tm, &map), -EINVAL);
	dummy.rc[TM_CONFINE] = 0;
	assert_int_equal(m0_net_tm_confine(&scene.tm, &map), 0);
	assert_int_equal(dummy.calls[TM_CONFINE], 2);
	m0_bitmap_fini(&map);
}

/* The four operations of synchronous delivery reach the transport. */
static void synchronous_operations_called(void **state)
{
	struct m0_mutex lock;
	struct m0_chan  chan;

	(void)state;
	m0_mutex_init(&lock);
	m0_chan_init(&chan, &lock);
	assert_int_equal(m0_net_buffer_event_deliver_synchronously(&scene.tm),
			 0);
	assert_false(scene.tm.ntm_bev_auto_deliver);
	assert_int_equal(m0_net_tm_start(&scene.tm, "own"), 0);
	scene_state(M0_NET_TM_STARTED);
	assert_false(m0_net_buffer_event_pending(&scene.tm));
	dummy.pending = true;
	assert_true(m0_net_buffer_event_pending(&scene.tm));
	m0_net_buffer_event_notify(&scene.tm, &chan);
	m0_net_buffer_event_deliver_all(&scene.tm);
	assert_int_equal(dummy.calls[BEV_PENDING], 2);
	assert_int_equal(dummy.calls[BEV_NOTIFY], 1);
	assert_int_equal(dummy.calls[BEV_ALL], 1);
	scene_stop();
	assert_false(m0_net_buffer_event_pending(&scene.tm));
	m0_chan_fini_lock(&chan);
	m0_mutex_fini(&lock);
}

static void misuse_aborts(void **state)
{
	struct m0_net_transfer_mc bad = { .ntm_callbacks = NULL };

	(void)state;
	assert_panics(m0_net_tm_init(&scene.tm, &scene.dom));
	assert_panics(m0_net_tm_init(&bad, &scene.dom));
	assert_panics(m0_net_buffer_event_pending(&scene.tm));
	assert_panics(m0_net_tm_stats_get(&scene.tm, M0_NET_QT_MSG_RECV, NULL,
					  false));
}

/* A callback that runs holds fini up; then fini goes on. */
static void fini_end_point_left_busy(void **state)
{
	struct m0_net_end_point *ep;

	(void)state;
	assert_int_equal(m0_net_tm_start(&scene.tm, "own"), 0);
	scene_state(M0_NET_TM_STARTED);
	ep = dummy_ep("peer");
	scene_stop();
	assert_int_equal(m0_net_tm_fini(&scene.tm), -EBUSY);
	assert_int_equal(scene.tm.ntm_state, M0_NET_TM_STOPPED);
	assert_int_equal(dummy.calls[TM_FINI], 0);
	m0_net_end_point_put(ep);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, scene_up, scene_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(init_fields_set),
		CASE(init_operation_fails_undone),
		CASE(start_operation_fails_failed),
		CASE(start_null_transport_decides),
		CASE(started_event_once),
		CASE(stop_operation_fails_restored),
		CASE(other_events_state_stays),
		CASE(optional_operations_missing_enosys),
		CASE(synchronous_operations_called),
		CASE(misuse_aborts),
		CASE(fini_end_point_left_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

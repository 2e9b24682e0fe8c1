/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Machines with several workers that are stopped and finalised while traffic is
 * on its way between them. What was wrong once:
 *  - a poster woke the strands of a machine after it had released its inbox:
 *    the machine could be finalised in between (a use after free);
 *  - an item on its way to an inbox was taken for being in it, because another
 *    inbox was at the same epoch (a broken list);
 *  - with several workers STOPPED could be asked for while one of them was in a
 *    callback, and nobody looked again (STOPPED never came).
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "m0/mem.h"

enum {
	ROUNDS = 400,
	BUFS = 16,
	BYTES = 256,
	/** Events of both TMs before they are stopped. */
	EVENTS = 500,
	/** Hanging is a failure, too. */
	LIMIT_S = 100
};

struct side {
	struct m0_net_domain      s_dom;
	struct m0_net_transfer_mc s_tm;
	struct m0_net_end_point  *s_peer;
	struct m0_net_buffer      s_recv[BUFS];
	struct m0_net_buffer      s_send[BUFS];
	uint64_t                  s_finals;
};

static struct side sides[2];
static uint32_t    stopping;
static uint64_t    events_nr;

static void tm_event(const struct m0_net_tm_event *ev)
{
	(void)ev;
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 tm_event };

/* Keeps everything moving until the stop. */
static void buf_event(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *buf = ev->nbe_buffer;
	struct side          *s = buf->nb_app_private;

	__atomic_add_fetch(&events_nr, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&s->s_finals, 1, __ATOMIC_RELAXED);
	if (!__atomic_load_n(&stopping, __ATOMIC_RELAXED) &&
	    m0_net_buffer_add(buf, &s->s_tm) == 0)
		__atomic_sub_fetch(&s->s_finals, 1, __ATOMIC_RELAXED);
}

static const struct m0_net_buffer_callbacks buf_callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = buf_event,
		    [M0_NET_QT_MSG_SEND] = buf_event }
};

static void state_wait(struct m0_net_transfer_mc *tm,
		       enum m0_net_tm_state       state)
{
	struct m0_clink wait;
	bool            reached = false;

	m0_clink_init(&wait, NULL);
	m0_clink_add_lock(&tm->ntm_chan, &wait);
	while (!reached) {
		m0_mutex_lock(&tm->ntm_mutex);
		reached = tm->ntm_state == state;
		m0_mutex_unlock(&tm->ntm_mutex);
		if (!reached)
			m0_chan_wait(&wait);
	}
	m0_clink_del_lock(&wait);
	m0_clink_fini(&wait);
}

static void machine_start(struct side *s, const char *addr)
{
	M0_SET0(&s->s_tm);
	s->s_tm.ntm_callbacks = &tm_callbacks;
	s->s_finals = 0;
	assert_int_equal(m0_net_tm_init(&s->s_tm, &s->s_dom), 0);
	m0_net_bulk_mem_tm_set_num_threads(&s->s_tm, 3);
	assert_int_equal(m0_net_tm_start(&s->s_tm, addr), 0);
	state_wait(&s->s_tm, M0_NET_TM_STARTED);
}

static void traffic_start(struct side *s, const char *peer)
{
	int i;

	assert_int_equal(m0_net_end_point_create(&s->s_peer, &s->s_tm, peer),
			 0);
	for (i = 0; i < BUFS; ++i) {
		s->s_recv[i].nb_qtype = M0_NET_QT_MSG_RECV;
		s->s_recv[i].nb_min_receive_size = BYTES;
		s->s_recv[i].nb_max_receive_msgs = 1;
		assert_int_equal(m0_net_buffer_add(&s->s_recv[i], &s->s_tm), 0);
	}
	for (i = 0; i < BUFS; ++i) {
		s->s_send[i].nb_qtype = M0_NET_QT_MSG_SEND;
		s->s_send[i].nb_ep = s->s_peer;
		s->s_send[i].nb_length = BYTES;
		assert_int_equal(m0_net_buffer_add(&s->s_send[i], &s->s_tm), 0);
	}
}

static void buf_make(struct side *s, struct m0_net_buffer *buf)
{
	assert_int_equal(m0_bufvec_alloc(&buf->nb_buffer, 1, BYTES), 0);
	assert_int_equal(m0_net_buffer_register(buf, &s->s_dom), 0);
	buf->nb_callbacks = &buf_callbacks;
	buf->nb_app_private = s;
}

static void buf_drop(struct side *s, struct m0_net_buffer *buf)
{
	assert_int_equal(m0_net_buffer_deregister(buf, &s->s_dom), 0);
	m0_bufvec_free(&buf->nb_buffer);
}

static void round_run(void)
{
	int i;

	__atomic_store_n(&stopping, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&events_nr, 0, __ATOMIC_RELAXED);
	machine_start(&sides[0], "127.0.0.1:7000");
	machine_start(&sides[1], "127.0.0.1:7001");
	traffic_start(&sides[0], "127.0.0.1:7001");
	traffic_start(&sides[1], "127.0.0.1:7000");
	while (__atomic_load_n(&events_nr, __ATOMIC_RELAXED) < EVENTS)
		sched_yield();
	__atomic_store_n(&stopping, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(m0_net_end_point_put(sides[i].s_peer), 0);
		assert_int_equal(m0_net_tm_stop(&sides[i].s_tm, true), 0);
	}
	for (i = 0; i < 2; ++i) {
		state_wait(&sides[i].s_tm, M0_NET_TM_STOPPED);
		assert_int_equal(m0_net_tm_fini(&sides[i].s_tm), 0);
		assert_int_equal(sides[i].s_finals, 2 * BUFS);
	}
}

/* Each round ends, with one final event for every buffer. */
static void stop_under_traffic_ends(void **state)
{
	int i;
	int k;

	(void)state;
	alarm(LIMIT_S);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(m0_net_domain_init(&sides[i].s_dom,
						    &m0_net_bulk_mem_xprt),
				 0);
		for (k = 0; k < BUFS; ++k) {
			buf_make(&sides[i], &sides[i].s_recv[k]);
			buf_make(&sides[i], &sides[i].s_send[k]);
		}
	}
	for (k = 0; k < ROUNDS; ++k)
		round_run();
	for (i = 0; i < 2; ++i) {
		for (k = 0; k < BUFS; ++k) {
			buf_drop(&sides[i], &sides[i].s_recv[k]);
			buf_drop(&sides[i], &sides[i].s_send[k]);
		}
		assert_int_equal(m0_net_domain_fini(&sides[i].s_dom), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		stop_under_traffic_ends) };

	m0_net_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

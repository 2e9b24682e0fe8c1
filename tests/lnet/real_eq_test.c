/* SPDX-License-Identifier: Apache-2.0 */
/* Polled queues of real nodes, looked at by several threads. */
#include <pthread.h>
#include <sched.h>

#include "lnet/real.h"

static struct real re;

/* A waiter that is not woken has his event at his deadline. */
#define PATIENCE_NS (20 * M0_TIME_ONE_SECOND)

struct waiter {
	struct m0_lnet_event wt_event;
	int                  wt_rc;
	m0_time_t            wt_deadline;
};

/* Has somebody begun to wait? It is the library's to write, under its lock. */
__attribute__((no_sanitize("thread"))) static bool is_waiting(
	const volatile struct m0_lnet_eq *eq)
{
	return eq->eq_waits;
}

static void *wait_do(void *arg)
{
	struct waiter *waiter = arg;

	waiter->wt_rc = m0_lnet_eq_wait(&re.re_a.rn_eq, &waiter->wt_event,
					waiter->wt_deadline);
	return NULL;
}

/* Somebody waits for events; others look at the queue in vain meanwhile. He is
 * woken all the same when one comes. */
static void waiter_is_woken_though_others_look(void **state)
{
	struct m0_lnet_md_attr attr;
	struct m0_lnet_event   ev;
	struct m0_lnet_handle  md;
	struct real_vec        vec;
	struct waiter          waiter = { .wt_rc = 1 };
	pthread_t              thread;
	char                   byte = 0;
	int                    i;

	waiter.wt_deadline = m0_time_add(m0_time_now(), PATIENCE_NS);
	real_open(&re, *(enum real_mode *)*state, NULL);
	real_vec_init(&vec, &byte, 1, 1);
	attr = real_md(&vec, 1, 0, &re.re_a.rn_eq);
	md = real_bind(&re.re_a, &attr);
	assert_int_equal(pthread_create(&thread, NULL, wait_do, &waiter), 0);
	while (!is_waiting(&re.re_a.rn_eq))
		(void)sched_yield();
	for (i = 0; i < 100; ++i)
		assert_int_equal(m0_lnet_eq_get(&re.re_a.rn_eq, &ev), -EAGAIN);
	assert_int_equal(m0_lnet_md_unlink(re.re_a.rn_lnet, md), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(waiter.wt_rc, 0);
	assert_true(m0_time_now() < waiter.wt_deadline);
	assert_int_equal(waiter.wt_event.ev_type, M0_LNET_EV_UNLINK);
	real_vec_fini(&vec);
	real_close(&re);
}

int main(void)
{
	static enum real_mode   threads = REAL_THREADS;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(waiter_is_woken_though_others_look,
					  &threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

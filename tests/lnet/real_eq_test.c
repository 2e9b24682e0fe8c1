/* SPDX-License-Identifier: Apache-2.0 OR MIT */
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

/* A node numbers so many queues and refuses MDs of further ones; a number
 * that was returned goes to another queue. */
static void queues_have_numbers_up_to_limit(void **state)
{
	enum {
		/* Each end of the pair has two queues. */
		NR = (1 << 16) - 2
	};
	static struct m0_lnet_eq eqs[NR];
	struct m0_lnet_eq        more;
	struct m0_lnet_md_attr   attr;
	struct m0_lnet_handle    md;
	unsigned                 i;

	real_open(&re, *(enum real_mode *)*state, NULL);
	for (i = 0; i < NR; ++i) {
		m0_lnet_eq_init(&eqs[i], re.re_a.rn_lnet, NULL, 0);
		assert_int_not_equal(eqs[i].eq_number, 0);
	}
	m0_lnet_eq_init(&more, re.re_a.rn_lnet, NULL, 0);
	attr = real_md(NULL, 0, 0, &more);
	assert_int_equal(m0_lnet_md_bind(re.re_a.rn_lnet, &attr, &md), -ENOSPC);
	m0_lnet_eq_fini(&more);
	m0_lnet_eq_fini(&eqs[0]);
	m0_lnet_eq_init(&more, re.re_a.rn_lnet, NULL, 0);
	attr = real_md(NULL, 0, 0, &more);
	md = real_bind(&re.re_a, &attr);
	assert_int_equal(m0_lnet_md_unlink(re.re_a.rn_lnet, md), 0);
	while (m0_lnet_eq_get(&more, &(struct m0_lnet_event){ 0 }) != 0)
		;
	m0_lnet_eq_fini(&more);
	for (i = 1; i < NR; ++i)
		m0_lnet_eq_fini(&eqs[i]);
	real_close(&re);
}

int main(void)
{
	static enum real_mode   threads = REAL_THREADS;
	static enum real_mode   polled = REAL_INLINE;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(waiter_is_woken_though_others_look,
					  &threads),
		cmocka_unit_test_prestate(queues_have_numbers_up_to_limit,
					  &polled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

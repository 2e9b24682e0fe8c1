/* SPDX-License-Identifier: Apache-2.0 */
/* Real nodes called from callbacks, and polled by their descriptor. */
#include <poll.h>
#include <string.h>

#include "lnet/real.h"

static struct real re;

static int setup(void **state)
{
	real_open(&re, *(enum real_mode *)*state, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	real_close(&re);
	return 0;
}

static struct m0_lnet_eq     pong_eq[2];
static struct m0_lnet_handle pong_md[2];
static unsigned              pongs_nr;
static bool                  pong_progressed;

/* Whoever gets a message sends one back, from the callback. */
static void pong(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	unsigned          me = eq == &pong_eq[1];
	struct m0_lnet_op op = real_op(me == 0 ? &re.re_b : &re.re_a, 5);

	if (ev->ev_type != M0_LNET_EV_PUT)
		return;
	if (m0_lnet_progress(eq->eq_lnet))
		pong_progressed = true;
	if (__atomic_add_fetch(&pongs_nr, 1, __ATOMIC_RELEASE) < 500)
		(void)m0_lnet_put(eq->eq_lnet, pong_md[me], &op);
}

static bool pongs_are_enough(void *arg)
{
	(void)arg;
	return __atomic_load_n(&pongs_nr, __ATOMIC_ACQUIRE) == 500;
}

static void callbacks_may_send(void **state)
{
	struct real_node      *nodes[] = { &re.re_a, &re.re_b };
	struct m0_lnet_me_attr me = real_me(5);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 5);
	int                    i;

	(void)state;
	pongs_nr = 0;
	pong_progressed = false;
	for (i = 0; i < 2; ++i) {
		m0_lnet_eq_init(&pong_eq[i], nodes[i]->rn_lnet, pong, 0);
		attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &pong_eq[i]);
		(void)real_attach(nodes[i], &me, &attr, NULL);
		attr.mda_options = 0;
		pong_md[i] = real_bind(nodes[i], &attr);
	}
	assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, pong_md[0], &op), 0);
	real_until(&re, pongs_are_enough, NULL);
	assert_false(pong_progressed);
	/* Their queues are let go by the close. */
	real_close(&re);
	m0_lnet_eq_fini(&pong_eq[0]);
	m0_lnet_eq_fini(&pong_eq[1]);
}

static bool fd_is_readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

static void put_from_other(struct real_node *node)
{
	struct m0_lnet_md_attr attr = real_md(NULL, 0, 0, &node->rn_cb);
	struct m0_lnet_op      op = real_op(&re.re_b, 6);
	struct m0_lnet_handle  md;

	if (m0_lnet_md_bind(node->rn_lnet, &attr, &md) == 0)
		(void)m0_lnet_put(node->rn_lnet, md, &op);
}

/* An event loop that knows only the descriptor misses nothing. */
static void descriptor_tells_of_work(void **state)
{
	struct m0_lnet_me_attr me = real_me(6);
	struct m0_lnet_md_attr attr;
	struct m0_thread       thread = { 0 };
	struct m0_lnet_event   ev;
	int                    fd = m0_lnet_fd(re.re_b.rn_lnet);
	int                    i;

	if (*(enum real_mode *)*state == REAL_THREADS) {
		assert_int_equal(fd, -ENOSYS);
		assert_false(m0_lnet_progress(re.re_b.rn_lnet));
		return;
	}
	if (*(enum real_mode *)*state == REAL_INLINE)
		return;
	assert_true(fd >= 0);
	assert_int_equal(m0_lnet_fd(re.re_b.rn_lnet), fd);
	attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_b.rn_eq);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	for (i = 0; i < 3; ++i) {
		/* By a message of another node; by another thread's call. */
		assert_int_equal(M0_THREAD_INIT(&thread, struct real_node *,
						NULL, put_from_other,
						i == 1 ? &re.re_b : &re.re_a,
						"other"),
				 0);
		do {
			assert_true(fd_is_readable(fd, 10000));
			(void)m0_lnet_progress(re.re_b.rn_lnet);
		} while (m0_lnet_eq_get(&re.re_b.rn_eq, &ev) != 0);
		assert_int_equal(ev.ev_type, M0_LNET_EV_PUT);
		assert_int_equal(m0_thread_join(&thread), 0);
		m0_thread_fini(&thread);
	}
	/* Quiet, it does not stay readable. */
	for (i = 0; i < 1000 && fd_is_readable(fd, 0); ++i)
		(void)m0_lnet_progress(re.re_b.rn_lnet);
	assert_true(i < 1000);
}

int main(void)
{
	static enum real_mode modes[] = { REAL_THREADS, REAL_INLINE,
					  REAL_MIXED };
#define CASE(name)                                                             \
	cmocka_unit_test_prestate_setup_teardown(name, setup, teardown,        \
						 &modes[0]),                   \
		cmocka_unit_test_prestate_setup_teardown(name, setup,          \
							 teardown, &modes[1]), \
		cmocka_unit_test_prestate_setup_teardown(name, setup,          \
							 teardown, &modes[2])
	const struct CMUnitTest tests[] = {
		CASE(callbacks_may_send),
		CASE(descriptor_tells_of_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

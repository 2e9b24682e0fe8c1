/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "dummy.h"
#include "unit/base/panics.h"

static struct m0_net_xprt xprts[M0_NET_XPRT_MAX + 1];
static char               names[M0_NET_XPRT_MAX + 1][8];

extern struct m0_mutex m0_net_mutex;

/* The assertion failed under the registry's lock. */
static void unlock(void)
{
	if (m0_mutex_is_locked(&m0_net_mutex))
		m0_mutex_unlock(&m0_net_mutex);
}

static int registry_up(void **state)
{
	int i;

	(void)state;
	for (i = 0; i <= M0_NET_XPRT_MAX; ++i) {
		snprintf(names[i], sizeof names[i], "x%d", i);
		xprts[i].nx_name = names[i];
		xprts[i].nx_ops = dummy_xprt.nx_ops;
	}
	return m0_net_init();
}

static int registry_down(void **state)
{
	(void)state;
	while (m0_net_xprt_nr() > 0)
		m0_net_xprt_deregister(m0_net_all_xprt_get()[0]);
	return m0_net_fini();
}

/* Sixteen fit, in order; each is found by name. */
static void register_sixteen_found(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < M0_NET_XPRT_MAX; ++i) {
		assert_false(m0_net_check_xprt(&xprts[i]));
		m0_net_xprt_register(&xprts[i]);
		assert_true(m0_net_check_xprt(&xprts[i]));
		assert_int_equal(m0_net_xprt_nr(), i + 1);
	}
	for (i = 0; i < M0_NET_XPRT_MAX; ++i) {
		assert_ptr_equal(m0_net_all_xprt_get()[i], &xprts[i]);
		assert_ptr_equal(m0_net_xprt_find(names[i]), &xprts[i]);
	}
	assert_null(m0_net_xprt_find("nobody"));
	assert_int_equal(m0_net_xprt_init(&xprts[M0_NET_XPRT_MAX]), -ENOSPC);
	assert_panics((m0_net_xprt_register(&xprts[M0_NET_XPRT_MAX]), 0));
	unlock();
}

/* Later entries move down. */
static void deregister_middle_moves_down(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 4; ++i)
		m0_net_xprt_register(&xprts[i]);
	m0_net_xprt_deregister(&xprts[1]);
	assert_int_equal(m0_net_xprt_nr(), 3);
	assert_ptr_equal(m0_net_all_xprt_get()[1], &xprts[2]);
	assert_ptr_equal(m0_net_all_xprt_get()[2], &xprts[3]);
	assert_panics((m0_net_xprt_deregister(&xprts[1]), 0));
	unlock();
	assert_panics((m0_net_xprt_register(&xprts[0]), 0));
	unlock();
}

/* Registration makes no default; deregistration of the default unsets it. */
static void default_set_and_unset(void **state)
{
	(void)state;
	m0_net_xprt_register(&xprts[0]);
	m0_net_xprt_register(&xprts[1]);
	assert_null(m0_net_xprt_default_get());
	m0_net_xprt_default_set(&xprts[1]);
	m0_net_xprt_deregister(&xprts[0]);
	assert_ptr_equal(m0_net_xprt_default_get(), &xprts[1]);
	m0_net_xprt_deregister(&xprts[1]);
	assert_null(m0_net_xprt_default_get());
}

/* The seed's pair registers if needed, deregisters if it can. */
static void init_fini_repeated_fine(void **state)
{
	(void)state;
	assert_int_equal(m0_net_xprt_init(&xprts[0]), 0);
	assert_int_equal(m0_net_xprt_init(&xprts[0]), 0);
	assert_int_equal(m0_net_xprt_nr(), 1);
	assert_int_equal(m0_net_xprt_fini(&xprts[0]), 0);
	assert_int_equal(m0_net_xprt_nr(), 0);
	assert_int_equal(m0_net_xprt_fini(&xprts[0]), 0);
}

/* Default hints for a layer of remote procedure calls. */
static void hints_default(void **state)
{
	struct m0_net_domain dom = { .nd_xprt = NULL };

	(void)state;
	dummy_reset();
	dummy.dom = NULL;
	dummy.tm = NULL;
	assert_int_equal(m0_net_domain_init(&dom, &dummy_xprt), 0);
	dom.nd_get_max_buffer_size = 1 << 20;
	assert_int_equal(default_xo_rpc_max_seg_size(&dom), 128 << 10);
	assert_int_equal(default_xo_rpc_max_segs_nr(&dom), 1);
	assert_int_equal(default_xo_rpc_max_msg_size(&dom, 0), 1 << 20);
	assert_int_equal(default_xo_rpc_max_msg_size(&dom, 1), 4096);
	assert_int_equal(default_xo_rpc_max_msg_size(&dom, 70000), 70000);
	assert_int_equal(default_xo_rpc_max_msg_size(&dom, 2 << 20), 1 << 20);
	assert_int_equal(default_xo_rpc_max_recv_msgs(&dom, 5), 1);
	assert_int_equal(m0_net_domain_fini(&dom), 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, registry_up, registry_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(register_sixteen_found),
		CASE(deregister_middle_moves_down),
		CASE(default_set_and_unset),
		CASE(init_fini_repeated_fine),
		CASE(hints_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

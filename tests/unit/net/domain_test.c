/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "dummy.h"
#include "unit/base/panics.h"

/* Each limit is asked for once, during init; later calls read the copy. */
static void limits_init_asked_once(void **state)
{
	int op;

	(void)state;
	for (op = GET_SIZE; op <= GET_DESC; ++op)
		assert_int_equal(dummy.calls[op], 1);
	assert_int_equal(m0_net_domain_get_max_buffer_size(&scene.dom),
			 DUMMY_SIZE);
	assert_int_equal(m0_net_domain_get_max_buffer_segment_size(&scene.dom),
			 DUMMY_SEG);
	assert_int_equal(m0_net_domain_get_max_buffer_segments(&scene.dom),
			 DUMMY_SEGS);
	assert_int_equal(m0_net_domain_get_max_buffer_desc_size(&scene.dom),
			 DUMMY_DESC);
	assert_int_equal(m0_net_domain_get_buffer_alignment(&scene.dom), 64);
	for (op = GET_SIZE; op <= GET_DESC; ++op)
		assert_int_equal(dummy.calls[op], 1);
}

/* Alignment is optional: 1 says that it does not matter. */
static void alignment_no_operation_one(void **state)
{
	struct m0_net_domain dom = { .nd_xprt = NULL };

	(void)state;
	assert_int_equal(m0_net_domain_init(&dom, &dummy_bare_xprt), 0);
	assert_int_equal(m0_net_domain_get_buffer_alignment(&dom), 1);
	assert_int_equal(m0_net_domain_fini(&dom), 0);
}

/* A failing operation leaves the domain as it was: another try may work. */
static void init_operation_fails_undone(void **state)
{
	struct m0_net_domain dom = { .nd_xprt = NULL };

	(void)state;
	dummy.rc[DOM_INIT] = -ENODEV;
	assert_int_equal(m0_net_domain_init(&dom, &dummy_xprt), -ENODEV);
	assert_null(dom.nd_xprt);
	dummy.rc[DOM_INIT] = 0;
	assert_int_equal(m0_net_domain_init(&dom, &dummy_xprt), 0);
	assert_int_equal(m0_net_domain_fini(&dom), 0);
	assert_null(dom.nd_xprt);
	assert_int_equal(m0_net_domain_init(&dom, &dummy_xprt), 0);
	assert_int_equal(m0_net_domain_fini(&dom), 0);
}

/* -EBUSY changes nothing, and the operation is not called. */
static void fini_machine_left_busy(void **state)
{
	(void)state;
	assert_int_equal(m0_net_domain_fini(&scene.dom), -EBUSY);
	assert_int_equal(dummy.calls[DOM_FINI], 0);
	assert_ptr_equal(scene.dom.nd_xprt, &dummy_xprt);
	assert_int_equal(m0_list_length(&scene.dom.nd_tms), 1);
}

static void fini_buffer_left_busy(void **state)
{
	(void)state;
	assert_int_equal(m0_net_tm_fini(&scene.tm), 0);
	assert_int_equal(m0_net_buffer_register(&scene.buf, &scene.dom), 0);
	assert_int_equal(m0_net_domain_fini(&scene.dom), -EBUSY);
	assert_int_equal(m0_net_buffer_deregister(&scene.buf, &scene.dom), 0);
	assert_int_equal(m0_net_domain_fini(&scene.dom), 0);
	assert_int_equal(dummy.calls[DOM_FINI], 1);
}

/* A domain that is in use is not initialised again. */
static void init_twice_aborts(void **state)
{
	(void)state;
	assert_panics(m0_net_domain_init(&scene.dom, &dummy_xprt));
}

/* The transport of a domain is not taken away. */
static void xprt_fini_domain_left_busy(void **state)
{
	(void)state;
	assert_int_equal(m0_net_xprt_init(&dummy_xprt), 0);
	assert_int_equal(m0_net_xprt_fini(&dummy_xprt), -EBUSY);
	assert_true(m0_net_check_xprt(&dummy_xprt));
	assert_int_equal(m0_net_tm_fini(&scene.tm), 0);
	assert_int_equal(m0_net_domain_fini(&scene.dom), 0);
	assert_int_equal(m0_net_xprt_fini(&dummy_xprt), 0);
	assert_false(m0_net_check_xprt(&dummy_xprt));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, scene_up, scene_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(limits_init_asked_once),
		CASE(alignment_no_operation_one),
		CASE(init_operation_fails_undone),
		CASE(fini_machine_left_busy),
		CASE(fini_buffer_left_busy),
		CASE(init_twice_aborts),
		CASE(xprt_fini_domain_left_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

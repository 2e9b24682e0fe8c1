/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Further addresses of a machine: what they cost while they are there, and what
 * is left of them; a machine that stops while they come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/mem.h"
#include "rpc/rpc_internal.h"

enum {
	QUEUE_LEN = 8,
	TIMES_NR = 20,
	STOPS_NR = 10
};

static const char *const first = "127.0.0.1:7200";
static const char *const second = "127.0.0.1:7201";

static struct m0_net_domain  dom;
static struct m0_rpc_machine machine;

static void machine_up(bool is_inline)
{
	struct m0_rpc_cfg cfg;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_inline = is_inline;
	assert_int_equal(m0_rpc_machine_init(&machine, &dom, &cfg, first, NULL,
					     M0_BUFFER_ANY_COLOUR, 0,
					     QUEUE_LEN),
			 0);
}

static int dom_up(void **state)
{
	(void)state;
	return m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt);
}

static int dom_down(void **state)
{
	(void)state;
	return m0_net_domain_fini(&dom);
}

static int up(void **state)
{
	assert_int_equal(dom_up(state), 0);
	machine_up(false);
	return 0;
}

static int down(void **state)
{
	m0_rpc_machine_fini(&machine);
	return dom_down(state);
}

static struct m0_net_buffer_pool *pool(void)
{
	return machine.rm_lib->rml_receiver.rrv_pool;
}

static uint32_t pool_nr(void)
{
	uint32_t nr;

	m0_net_buffer_pool_lock(pool());
	nr = pool()->nbp_buf_nr;
	m0_net_buffer_pool_unlock(pool());
	return nr;
}

static void add(void)
{
	assert_int_equal(m0_rpc_machine_link_add(&machine, second), 0);
}

static void del(void)
{
	assert_int_equal(m0_rpc_machine_link_del(&machine, second), 0);
}

/* Buffers are there for an address as long as that is. */
static void pool_after_links_is_as_before(void **state)
{
	uint32_t nr = pool_nr();
	int      i;

	(void)state;
	for (i = 0; i < TIMES_NR; ++i) {
		add();
		assert_int_equal(pool_nr(), nr + 2 * QUEUE_LEN);
		del();
		assert_int_equal(pool_nr(), nr);
	}
}

/* An address that cannot be had costs nothing. */
static void pool_after_bad_link_is_as_before(void **state)
{
	uint32_t nr = pool_nr();

	(void)state;
	assert_int_equal(m0_rpc_machine_link_add(&machine, "nowhere"), -EINVAL);
	assert_int_equal(pool_nr(), nr);
	assert_true(m0_rpc_machine_link_add(&machine, first) < 0);
	assert_int_equal(pool_nr(), nr);
}

/* Buffers in use when their address goes are used by the next address, or freed
 * with that. */
static void pool_of_held_buffers_shrinks_later(void **state)
{
	struct m0_net_buffer *nb[8 * QUEUE_LEN];
	uint32_t              nr = pool_nr();
	unsigned              held = 0;

	(void)state;
	add();
	m0_net_buffer_pool_lock(pool());
	while ((nb[held] = m0_net_buffer_pool_get(
			pool(), M0_BUFFER_ANY_COLOUR)) != NULL)
		++held;
	m0_net_buffer_pool_unlock(pool());
	del();
	assert_true(pool_nr() > nr);
	add();
	assert_int_equal(pool_nr(), nr + 2 * QUEUE_LEN);
	m0_net_buffer_pool_lock(pool());
	while (held > 0)
		m0_net_buffer_pool_put(pool(), nb[--held],
				       M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(pool());
	del();
	assert_int_equal(pool_nr(), nr);
}

/* Removed addresses wait for the end where no step meets them. */
static void links_that_went_are_out_of_the_way(void **state)
{
	struct m0_rpc__machine *m = machine.rm_lib;

	(void)state;
	add();
	del();
	assert_int_equal(m->rml_rails.rlr_nr, 0);
	assert_true(m0_list_is_empty(&m->rml_rails.rlr_stopping));
	assert_false(m0_list_is_empty(&m->rml_rails.rlr_gone));
}

/* ------------------------------------------------------------------ stop -- */

static struct m0_semaphore changed;
static int                 change_rc;

static void change(int unused)
{
	int rc;

	(void)unused;
	do {
		rc = m0_rpc_machine_link_add(&machine, second);
		m0_semaphore_up(&changed);
		if (rc == 0)
			rc = m0_rpc_machine_link_del(&machine, second);
		m0_semaphore_up(&changed);
	} while (rc == 0);
	change_rc = rc;
}

static void stop_while_they_change(bool is_inline)
{
	struct m0_thread thread = {};
	int              i;
	int              k;

	m0_semaphore_init(&changed, 0);
	for (i = 0; i < STOPS_NR; ++i) {
		machine_up(is_inline);
		assert_int_equal(M0_THREAD_INIT(&thread, int, NULL, &change, 0,
						"change"),
				 0);
		for (k = 0; k <= i; ++k)
			m0_semaphore_down(&changed);
		m0_rpc_machine_stop(&machine, i % 2);
		m0_thread_join(&thread);
		m0_thread_fini(&thread);
		assert_int_equal(change_rc, -ESHUTDOWN);
		assert_int_equal(m0_rpc_machine_link_add(&machine, second),
				 -ESHUTDOWN);
		assert_int_equal(m0_rpc_machine_link_del(&machine, second),
				 -ESHUTDOWN);
		m0_rpc_machine_fini(&machine);
		while (m0_semaphore_trydown(&changed))
			;
	}
	m0_semaphore_fini(&changed);
}

/* A thread that adds or removes an address returns, and so does the machine's
 * stop. */
static void stop_while_links_change_ends(void **state)
{
	(void)state;
	stop_while_they_change(false);
}

static void stop_of_inline_while_links_change_ends(void **state)
{
	(void)state;
	stop_while_they_change(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pool_after_links_is_as_before,
						up, down),
		cmocka_unit_test_setup_teardown(
			pool_after_bad_link_is_as_before, up, down),
		cmocka_unit_test_setup_teardown(
			pool_of_held_buffers_shrinks_later, up, down),
		cmocka_unit_test_setup_teardown(
			links_that_went_are_out_of_the_way, up, down),
		cmocka_unit_test_setup_teardown(stop_while_links_change_ends,
						dom_up, dom_down),
		cmocka_unit_test_setup_teardown(
			stop_of_inline_while_links_change_ends, dom_up,
			dom_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Registered memory and the drivers of a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "front/front_internal.h"
#include "lib/unix_lnd.h"

static struct m0_lnet *node_open(void)
{
	struct m0_lnet_cfg cfg;
	struct m0_lnet    *lnet;
	char               why[M0_LNET_WHY_BYTES];

	M0_SET0(&unix_lnd_counts);
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), 0);
	return lnet;
}

static void driver_add(struct m0_lnet *lnet)
{
	struct m0_lnd_env env = { .lev_reactor = lnet->fro_node->nod_reactor,
				  .lev_cfg = &lnet->fro_cfg };
	struct m0_lnd    *lnd;
	char              why[M0_LND_WHY_BYTES];

	assert_int_equal(unix_lnd_row.lrw_create(&lnd, &env, why), 0);
	m0_node_lnd_add(lnet->fro_node, &unix_lnd_row, lnd);
}

static void settle(struct m0_lnet *lnet)
{
	while (m0_lnet_progress(lnet))
		;
}

/* A driver that a node makes later gets the regions that are left. */
static void regions_reach_later_drivers(void **state)
{
	static char     memory[10];
	struct m0_lnet *lnet = node_open();

	(void)state;
	assert_int_equal(m0_lnet_mem_register(lnet, memory, 10), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, memory, 1), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, memory, 2), 0);
	settle(lnet);
	m0_lnet_mem_deregister(lnet, memory, 1);
	settle(lnet);
	driver_add(lnet);
	assert_int_equal(unix_lnd_counts.mems_added_nr, 2);
	m0_lnet_mem_deregister(lnet, memory, 10);
	/* Nobody waits for a driver. */
	assert_int_equal(unix_lnd_counts.mems_deleted_nr, 0);
	settle(lnet);
	assert_int_equal(unix_lnd_counts.mems_deleted_nr, 1);
	assert_int_equal(unix_lnd_counts.mem_last.lme_bytes, 10);
	m0_lnet_close(lnet);
	assert_int_equal(unix_lnd_counts.mems_added_nr, 2);
	assert_int_equal(unix_lnd_counts.mems_deleted_nr, 2);
	assert_int_equal(unix_lnd_counts.mem_last.lme_bytes, 2);
}

/* Registrations of a region that have not reached the strand end with it. */
static void regions_may_come_and_go_unseen(void **state)
{
	static char     memory[10];
	struct m0_lnet *lnet = node_open();

	(void)state;
	assert_int_equal(m0_lnet_mem_register(lnet, memory, 10), 0);
	m0_lnet_mem_deregister(lnet, memory, 10);
	assert_int_equal(m0_lnet_mem_register(lnet, memory, 10), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, memory, 0), -EINVAL);
	m0_lnet_close(lnet);
	assert_int_equal(unix_lnd_counts.mems_added_nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_reach_later_drivers),
		cmocka_unit_test(regions_may_come_and_go_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

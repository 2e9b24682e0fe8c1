/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Starts of nodes that fail. */
#include "unit/base/panics.h"

#include "m0/lnet.h"
#include "reactor/host_ops.h"

static const struct m0_host_ops *real;

static int no_streams(struct m0_streams **ret, struct m0_reactor *reactor,
		      const struct m0_streams_cfg *cfg)
{
	(void)ret;
	(void)reactor;
	(void)cfg;
	return -EMFILE;
}

static int no_reactor(struct m0_reactor **ret)
{
	(void)ret;
	return -EMFILE;
}

static void open_fails(const struct m0_host_ops *ops, const char *reason)
{
	struct m0_lnet           *lnet;
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	m0_host_ops_set(ops);
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), -EMFILE);
	m0_host_ops_set(real);
	assert_string_equal(why, reason);
}

/* A part that fails without words has the node say what could not be done. */
static void failed_start_has_a_reason(void **state)
{
	struct m0_host_ops ops;

	(void)state;
	real = m0_host_ops_get();
	ops = *real;
	ops.hso_streams_create = no_streams;
	open_fails(&ops, "the node cannot be made: EMFILE");
	ops.hso_reactor_create = no_reactor;
	open_fails(&ops, "sockets cannot be watched: EMFILE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_start_has_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

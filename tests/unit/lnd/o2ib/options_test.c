/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Options of a network, as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/options.h"
#include "lnd/o2ib/o2ib.h"

static struct m0_o2ib_net_cfg cfg;
static char                   why[M0_OPTIONS_WHY_BYTES];

static int read_text(const char *text)
{
	struct m0_o2ib_cfg whole;

	m0_o2ib_cfg_default(&whole);
	cfg = whole.obc_net;
	return m0_o2ib_options(&cfg, text, why);
}

/* An option that is not named keeps its value. */
static void options_are_taken(void **state)
{
	(void)state;
	assert_int_equal(read_text(NULL), 0);
	assert_int_equal(cfg.obn_tos, M0_O2IB_TOS_SYSTEM);
	assert_int_equal(cfg.obn_service, M0_O2IB_PORT);
	assert_int_equal(read_text("tos=0 ack_timeout=16 service=988"), 0);
	assert_int_equal(cfg.obn_tos, 0);
	assert_int_equal(cfg.obn_ack_timeout, 16);
	assert_int_equal(cfg.obn_service, 988);
	assert_int_equal(cfg.obn_retry_nr, 5);
	/* T4. */
	assert_int_equal(cfg.obn_get_req, 0);
	assert_int_equal(read_text("get_req=1"), 0);
	assert_int_equal(cfg.obn_get_req, 1);
	assert_int_equal(cfg.obn_conns_per_peer, 1);
	assert_int_equal(read_text("conns_per_peer=4"), 0);
	assert_int_equal(cfg.obn_conns_per_peer, 4);
}

/* Options of Lustre's driver that mean nothing here are no mistake. */
static void options_without_meaning_are_taken(void **state)
{
	(void)state;
	assert_int_equal(read_text("peercredits_hiw=4 map_on_demand=1 ntx=512 "
				   "fmr_cache=1"),
			 0);
	assert_int_equal(read_text("require_privileged_port=1 ib_mtu=4096 "
				   "wrq_sge=2 use_fastreg_gaps=1 cksum=0 "
				   "nscheds=4"),
			 0);
}

static void values_out_of_range_are_named(void **state)
{
	(void)state;
	assert_int_equal(read_text("tos=256"), -EINVAL);
	assert_non_null(strstr(why, "tos"));
	assert_int_equal(read_text("ack_timeout=32"), -EINVAL);
	assert_int_equal(read_text("retry_count=8"), -EINVAL);
	assert_int_equal(read_text("service=0"), -EINVAL);
	assert_int_equal(read_text("conns_per_peer=0"), -EINVAL);
	assert_int_equal(read_text("conns_per_peer=128"), -EINVAL);
	assert_int_equal(read_text("min_reconnectms=2000 max_reconnectms=1000"),
			 -EINVAL);
	assert_string_equal(why, "min_reconnectms is 2000; accepted: up to "
				 "max_reconnectms, which is 1000");
	assert_int_equal(read_text("mtu=1"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_taken),
		cmocka_unit_test(options_without_meaning_are_taken),
		cmocka_unit_test(values_out_of_range_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../../tools/node/lnet_opts.h"
#include "../../../tools/base/text.h"

static struct tool_fail fail;

/* Reads options, ended by NULL. */
static struct lnet_opts opts_of(const char *first, ...)
{
	static struct lnet_opts opts;
	char                   *argv[16] = { (char *)(uintptr_t) "test" };
	const char             *arg;
	int                     argc = 1;
	va_list                 args;

	M0_SET0(&fail);
	lnet_opts_init(&opts, &fail);
	va_start(args, first);
	for (arg = first; arg != NULL; arg = va_arg(args, const char *))
		argv[argc++] = (char *)(uintptr_t)arg;
	va_end(args);
	assert_int_equal(
		argp_parse(&lnet_opts_argp, argc, argv, 0, NULL, &opts), 0);
	(void)lnet_opts_check(&opts);
	return opts;
}

/* Every option ends up in its field. */
static void options_set_their_fields(void **state)
{
	struct lnet_opts    opts;
	struct m0_lnet_cfg *cfg = &opts.nop_cfg;

	(void)state;
	opts = opts_of("--net=tcp(10.0.0.1,10.0.0.2)",
		       "--net=tcp7(eth0) credits=9", "--port=9988",
		       "--accept=all", "--source-ports=600-700",
		       "--peers-colibri", "--no-discovery", "--peer-credits=3",
		       "--credits=4", "--conns-per-peer=2", "--keepalive=0",
		       "--transaction-timeout=0.5", "--lnd-timeout=1500us",
		       "--same-host=on", "--lanes=4:0-3", NULL);
	assert_int_equal(fail.tf_exit, TOOL_OK);
	assert_true(opts.nop_given && opts.nop_accept_given);
	assert_int_equal(cfg->lc_nets_nr, 2);
	assert_int_equal(cfg->lc_nets[0].lnc_ifaces_nr, 2);
	assert_string_equal(cfg->lc_nets[1].lnc_ifaces[0], "eth0");
	assert_int_equal(cfg->lc_nets[1].lnc_credits, 9);
	assert_int_equal(cfg->lc_port, 9988);
	assert_int_equal(cfg->lc_accept, M0_LNET_ACCEPT_ALL);
	assert_int_equal(cfg->lc_src_port_min, 600);
	assert_int_equal(cfg->lc_src_port_max, 700);
	assert_true(cfg->lc_peers_colibri && !cfg->lc_discovery);
	assert_true(cfg->lc_same_host);
	assert_int_equal(cfg->lc_lanes, 4);
	assert_string_equal(cfg->lc_lane_cpus, "0-3");
	assert_int_equal(cfg->lc_peer_credits, 3);
	assert_int_equal(cfg->lc_credits, 4);
	assert_int_equal(cfg->lc_conns_per_peer, 2);
	assert_int_equal(cfg->lc_keepalive_ms, 0);
	assert_int_equal(cfg->lc_transaction_timeout_ms, 500);
	assert_int_equal(cfg->lc_timeout_ms, 2);
}

/* Without any, and with only the path, no node of one's own is asked for. */
static void options_left_out_are_lustres_defaults(void **state)
{
	struct lnet_opts opts = opts_of("--ctl=/x", NULL);

	(void)state;
	assert_int_equal(fail.tf_exit, TOOL_OK);
	assert_false(opts.nop_given);
	assert_string_equal(opts.nop_ctl, "/x");
	assert_int_equal(opts.nop_cfg.lc_port, 988);
	assert_int_equal(opts.nop_cfg.lc_src_port_max, 1023);
	opts = opts_of("--source-ports=any", NULL);
	assert_int_equal(opts.nop_cfg.lc_src_port_max, 0);
	assert_true(opts.nop_given);
}

/* A wrong value is named with its option and with what would be right. */
static void option_wrong_is_refused_with_what_is_right(void **state)
{
	static const char *const rows[][3] = {
		{ "--same-host=yes", "--same-host 'yes'", "on, off" },
		{ "--lanes=65", "--lanes '65'", "0 to 64" },
		{ "--lanes=", "--lanes ''", "0 to 64" },
		{ "--lanes=2:", "--lanes '2:'", "4:8-11" },
		{ "--lanes=:3", "--lanes ':3'", "4:8-11" },
		{ "--net=gni", "--net 'gni'", "tcp(eth0)" },
		{ "--net=", "--net ''", "tcp(eth0)" },
		{ "--net=tcp(", "--net 'tcp('", "tcp(eth0)" },
		{ "--net=tcp,tcp", "--net 'tcp,tcp'", "tcp" },
		{ "--net=tcp peer_credits=0", "peer_credits is \"0\"",
		  "1 to 65535" },
		{ "--net=tcp timeout=x", "timeout is \"x\"",
		  "1 to 86400 seconds" },
		{ "--net=tcp tos=1", "no option \"tos\"",
		  "peer_buffer_credits" },
		{ "--port=0", "--port '0'", "1 to 65535" },
		{ "--port=65536", "--port '65536'", "1 to 65535" },
		{ "--port=x", "--port 'x'", "1 to 65535" },
		{ "--accept=some", "--accept 'some'", "secure, all, none" },
		{ "--source-ports=5", "--source-ports '5'", "512-1023" },
		{ "--source-ports=9-5", "--source-ports '9-5'", "any" },
		{ "--source-ports=0-5", "--source-ports '0-5'", "any" },
		{ "--source-ports=1-65536", "--source-ports '1-65536'", "any" },
		{ "--peer-credits=0", "--peer-credits '0'", "1 to 65535" },
		{ "--credits=-1", "--credits '-1'", "1 to 65535" },
		{ "--conns-per-peer=128", "--conns-per-peer '128'",
		  "1 to 127" },
		{ "--transaction-timeout=0", "--transaction-timeout '0'",
		  "seconds" },
		{ "--lnd-timeout=1h", "--lnd-timeout '1h'", "seconds" },
		{ "--keepalive=86401", "--keepalive '86401'", "a day" },
		{ "--keepalive=1.2.3", "--keepalive '1.2.3'", "seconds" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		(void)opts_of(rows[i][0], NULL);
		assert_int_equal(fail.tf_exit, TOOL_USAGE);
		assert_non_null(strstr(fail.tf_text, rows[i][1]));
		assert_non_null(strstr(fail.tf_text, rows[i][2]));
	}
}

/* A device is not waited for, or without end, or for so long. */
static void wait_has_an_optional_time(void **state)
{
	struct lnet_opts opts = opts_of("--port=1", NULL);

	(void)state;
	assert_true(opts.nop_wait_ms == 0);
	opts = opts_of("--wait", NULL);
	assert_true(opts.nop_wait_ms == UINT64_MAX && opts.nop_given);
	opts = opts_of("--wait=1.5", NULL);
	assert_true(opts.nop_wait_ms == 1500);
	(void)opts_of("--wait=0", NULL);
	assert_int_equal(fail.tf_exit, TOOL_USAGE);
	/* Without --wait the message names it. */
	opts = opts_of("--net=tcp(eth7)", NULL);
	assert_int_equal(lnet_opts_open_fail(&opts, -ENODEV, "no eth7"),
			 TOOL_FAILED);
	assert_string_equal(fail.tf_text,
			    "--net: no eth7; to wait for it: --wait");
}

/* Durations without a unit are seconds, as in LNet's parameters. */
static void duration_without_unit_is_seconds(void **state)
{
	uint64_t ns;

	(void)state;
	assert_int_equal(text_duration_parse("50", &ns), 0);
	assert_int_equal(ns, 50 * M0_TIME_ONE_SECOND);
	assert_int_equal(text_duration_parse("0.25", &ns), 0);
	assert_int_equal(ns, M0_TIME_ONE_SECOND / 4);
	assert_int_equal(text_duration_parse("3ms", &ns), 0);
	assert_int_equal(ns, 3 * M0_TIME_ONE_MSEC);
	assert_int_equal(text_duration_parse("", &ns), -EINVAL);
	assert_int_equal(text_duration_parse(".", &ns), -EINVAL);
	assert_int_equal(text_duration_parse("-1", &ns), -EINVAL);
	assert_int_equal(text_duration_parse("1e3", &ns), -EINVAL);
	assert_int_equal(text_duration_parse("99999999999", &ns), -ERANGE);
}

/* Fields become options; all else stays, and nothing is written too far. */
static void words_of_the_library_become_options(void **state)
{
	char text[80];
	char small[8];

	(void)state;
	assert_string_equal(
		lnet_opts_words(
			text, sizeof text,
			"(lc_port) lc_src_port_min and _max 0, lc_accept"
			" none"),
		"(--port) --source-ports any, --accept none");
	(void)lnet_opts_words(small, sizeof small, "12345lc_port");
	assert_string_equal(small, "12345--");
	(void)lnet_opts_words(small, sizeof small, "123456789");
	assert_string_equal(small, "1234567");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait_has_an_optional_time),
		cmocka_unit_test(options_set_their_fields),
		cmocka_unit_test(options_left_out_are_lustres_defaults),
		cmocka_unit_test(option_wrong_is_refused_with_what_is_right),
		cmocka_unit_test(duration_without_unit_is_seconds),
		cmocka_unit_test(words_of_the_library_become_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

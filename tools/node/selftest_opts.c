/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet_opts.h"
#include "selftest_opts.h"
#include "selftest/selftest.h"

enum {
	KEY_SELFTEST = 0x1300
};

static const struct argp_option selftest_options[] = {
	{ NULL, 0, NULL, 0, "LNet selftest:", 6 },
	{ "selftest", KEY_SELFTEST, "RANGE", OPTION_ARG_OPTIONAL,
	  "Be a test node for `lst' and `colibri lst', of nodes whose NIDs are in "
	  "RANGE, as 10.0.0.[1-9]@tcp; may be repeated; without RANGE of all nodes",
	  0 },
	{ 0 },
};

static void range_option(struct selftest_opts *opts, const char *text)
{
	char why[M0_LNET_WHY_BYTES] = "";

	opts->slo_given = true;
	if (text == NULL)
		return;
	if (opts->slo_ranges_nr == SELFTEST_RANGES_MAX) {
		tool_fail_set(opts->slo_fail, TOOL_USAGE,
			      "--selftest '%s': at most %d ranges are accepted",
			      text, SELFTEST_RANGES_MAX);
		return;
	}
	if (m0_lnet_nid_range_parse(&opts->slo_ranges[opts->slo_ranges_nr],
				    text, why) == 0)
		++opts->slo_ranges_nr;
	else
		tool_fail_set(opts->slo_fail, TOOL_USAGE, "--selftest '%s': %s",
			      text, why);
}

static error_t selftest_option(int key, char *arg, struct argp_state *state)
{
	if (key != KEY_SELFTEST)
		return ARGP_ERR_UNKNOWN;
	range_option(state->input, arg);
	return 0;
}

const struct argp selftest_opts_argp = {
	selftest_options, selftest_option, NULL, NULL, NULL, NULL, NULL,
};

static bool selftest_admits(void *arg, const struct m0_lnet_nid *nid)
{
	const struct selftest_opts *opts = arg;
	unsigned                    i;

	for (i = 0; i < opts->slo_ranges_nr; ++i)
		if (m0_lnet_nid_range_has(&opts->slo_ranges[i], nid))
			return true;
	return opts->slo_ranges_nr == 0;
}

int selftest_opts_start(struct selftest_opts *opts, struct m0_lnet *lnet,
			struct m0_st **ret)
{
	struct m0_st_cfg cfg;
	int              rc;

	if (!opts->slo_given)
		return 0;
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = lnet;
	cfg.scf_admits = selftest_admits;
	cfg.scf_arg = opts;
	rc = m0_st_open(ret, &cfg);
	return rc == 0 ? 0
		       : tool_fail_set(opts->slo_fail, TOOL_FAILED,
				       "--selftest: %s", tool_errtext(rc));
}

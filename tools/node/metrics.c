/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri metrics`. */
#include <argp.h>

#include "ctl_args.h"

static error_t metrics_option(int key, char *arg, struct argp_state *state)
{
	struct ctl_args *args = state->input;

	if (key == ARGP_KEY_ARG) {
		tool_fail_set(&args->ctg_fail, TOOL_USAGE,
			      "'%s': no operand is accepted", arg);
		return 0;
	}
	return ctl_args_option(args, key, arg) ? 0 : ARGP_ERR_UNKNOWN;
}

int metrics_main(int argc, char **argv)
{
	static const struct argp_option options[] = { CTL_OPTIONS_END };
	static const struct argp        argp = {
		       options,
		       metrics_option,
		       NULL,
		       "Print the state and the counters of the running node in the text "
			      "format of OpenMetrics, as `colibri node --metrics' serves it.",
		       NULL,
		       NULL,
		       NULL,
	};
	struct ctl_args args = { .ctg_fail = { .tf_exit = TOOL_OK } };

	return ctl_args_ask(&args, argc, argv, &argp, CTL_METRICS_SHOW);
}

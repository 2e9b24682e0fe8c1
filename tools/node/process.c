/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri process`. */
#include <argp.h>

#include "ctl_args.h"
#include "lnet_opts.h"

enum {
	KEY_WITHIN = CTL_KEY_OWN
};

static error_t process_option(int key, char *arg, struct argp_state *state)
{
	struct ctl_args    *args = state->input;
	struct ctl_request *req = &args->ctg_req;

	switch (key) {
	case KEY_WITHIN:
		req->cq_timeout_ms =
			tool_ms_option(&args->ctg_fail, "--within", arg, 1);
		break;
	case ARGP_KEY_ARG:
		ctl_args_word(args, arg);
		break;
	case ARGP_KEY_END:
		ctl_args_word_check(args);
		if (req->cq_timeout_ms != 0 &&
		    req->cq_verb != CTL_PROCESS_DRAIN)
			tool_fail_set(&args->ctg_fail, TOOL_USAGE,
				      "--within is accepted with drain only");
		break;
	default:
		return ctl_args_option(args, key, arg) ? 0 : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int process_main(int argc, char **argv)
{
	static const struct ctl_word words[] = {
		{ "show", CTL_PROCESS_SHOW },
		{ "drain", CTL_PROCESS_DRAIN },
		{ NULL, 0 },
	};
	static const struct argp_option options[] = {
		{ "within", KEY_WITHIN, "TIME", 0,
		  "With drain: after TIME, detach the processes that are left "
		  "and end",
		  0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END,
	};
	static const struct argp argp = {
		options,
		process_option,
		"show\ndrain",
		"Show the processes that are attached to the running node, and "
		"what each of them holds; drain: let no further process attach, "
		"and end the node when the last one has detached.",
		NULL,
		NULL,
		NULL,
	};
	struct ctl_args args = { .ctg_words = words };

	return ctl_args_ask(&args, argc, argv, &argp, CTL_PROCESS_SHOW);
}

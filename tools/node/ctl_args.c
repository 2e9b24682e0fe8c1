/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl_args.h"
#include "lnet_opts.h"

enum {
	TIMEOUT_MS = 30000
};

static void verbose_set(struct ctl_args *args, const char *text)
{
	args->ctg_req.cq_verbose = (unsigned)tool_number_option(
		&args->ctg_fail, "--verbose", text, 0, CTL_VERBOSE_MAX);
}

bool ctl_args_option(struct ctl_args *args, int key, char *arg)
{
	switch (key) {
	case 'v':
		args->ctg_verbose_open = arg == NULL;
		verbose_set(args, arg == NULL ? "1" : arg);
		break;
	case 'j':
		args->ctg_req.cq_json = true;
		break;
	case CTL_KEY_CTL:
		args->ctg_ctl = ctl_path_option(&args->ctg_fail, arg);
		break;
	case CTL_KEY_TIMEOUT:
		args->ctg_timeout_ms =
			tool_ms_option(&args->ctg_fail, "--timeout", arg, 1);
		break;
	default:
		return false;
	}
	return true;
}

bool ctl_args_verbose(struct ctl_args *args, int key, const char *arg)
{
	bool open = args->ctg_verbose_open;

	args->ctg_verbose_open = false;
	if (key != ARGP_KEY_ARG || !open || arg[0] < '0' || arg[0] > '9')
		return false;
	verbose_set(args, arg);
	return true;
}

int ctl_args_ask(struct ctl_args *args, int argc, char **argv,
		 const struct argp *argp, enum ctl_verb verb)
{
	int code = TOOL_OK;

	ctl_request_init(&args->ctg_req, verb);
	args->ctg_timeout_ms = TIMEOUT_MS;
	if (tool_parse(argp, argc, argv, ARGP_IN_ORDER, args) != 0)
		return TOOL_USAGE;
	if (args->ctg_fail.tf_exit == TOOL_OK)
		code = ctl_ask_at(args->ctg_ctl, &args->ctg_req,
				  args->ctg_timeout_ms, &args->ctg_fail);
	if (tool_fail_print(&args->ctg_fail, argv[0]) != TOOL_OK)
		code = args->ctg_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}

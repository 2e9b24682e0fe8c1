/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <argp.h>

#include "cmd.h"
#include "jout.h"

static error_t version_option(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	if (key == 'j')
		*json = true;
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "'%s': no operand is accepted", arg);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp_option version_options[] = {
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ 0 },
};

static const struct argp version_argp = {
	version_options,
	version_option,
	NULL,
	"Print the version of the command and of the library.",
	NULL,
	NULL,
	NULL,
};

static void version_print_json(void)
{
	struct json_t *tree = jout_alloc();

	jout_str(tree, "command", M0_VERSION_STR);
	jout_str(tree, "library", m0_version());
	jout_finish(tree, stdout);
}

int version_main(int argc, char **argv)
{
	bool json = false;

	if (tool_parse(&version_argp, argc, argv, 0, &json) != 0)
		return TOOL_USAGE;
	if (json)
		version_print_json();
	else
		tool_version_print(stdout);
	return tool_finish_output(argv[0], TOOL_OK);
}

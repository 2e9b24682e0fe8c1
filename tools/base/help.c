/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <argp.h>

#include "cmd.h"

static error_t help_option(int key, char *arg, struct argp_state *state)
{
	const char **word = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*word != NULL)
		argp_error(state, "'%s': one COMMAND is accepted", arg);
	*word = arg;
	return 0;
}

static const struct argp help_argp = {
	NULL,        help_option,
	"[COMMAND]", "Explain COMMAND; without it, list the commands.",
	NULL,        NULL,
	NULL,
};

static void help_list(void)
{
	const struct tool_cmd *cmd;

	printf("Usage: colibri COMMAND [OPTION...]\n"
	       "Messages and bulk data through the Colibri network library.\n"
	       "\n");
	for (cmd = tool_cmds; cmd->tc_name != NULL; ++cmd)
		printf("  %-12s%s\n", cmd->tc_name, cmd->tc_summary);
	printf("\n"
	       "`colibri COMMAND --help' explains a command; so does "
	       "colibri-COMMAND(1).\n"
	       "Exit status: 0 done, 1 failed, 2 an option or operand is "
	       "wrong.\n");
}

int help_main(int argc, char **argv)
{
	const struct tool_cmd *cmd;
	const char            *word = NULL;
	char                   name[64];
	char                   names[256];
	char                   option[] = "--help";
	char                  *args[] = { name, option, NULL };

	if (tool_parse(&help_argp, argc, argv, 0, &word) != 0)
		return TOOL_USAGE;
	if (word == NULL) {
		help_list();
		return tool_finish_output(argv[0], TOOL_OK);
	}
	cmd = tool_cmd_find(word);
	if (cmd == NULL) {
		fprintf(stderr, "%s: '%s' is not a command; there are: %s\n",
			argv[0], word, tool_cmd_names(names, sizeof names));
		return TOOL_USAGE;
	}
	snprintf(name, sizeof name, "colibri %s", cmd->tc_name);
	return cmd->tc_run(2, args);
}

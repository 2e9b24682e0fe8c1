/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "stop.h"

static void (*parse_take)(const struct argp *argp, void *arg);
static void *parse_arg;
static void (*fail_form)(const struct tool_fail *fail);

const struct tool_cmd *tool_cmd_find(const char *name)
{
	const struct tool_cmd *cmd;

	for (cmd = tool_cmds; cmd->tc_name != NULL; ++cmd) {
		if (strcmp(cmd->tc_name, name) == 0)
			return cmd;
	}
	return NULL;
}

const char *tool_cmd_names(char *ret_text, size_t size)
{
	const struct tool_cmd *cmd;
	size_t                 used = 0;

	ret_text[0] = '\0';
	for (cmd = tool_cmds; cmd->tc_name != NULL && used < size; ++cmd)
		used += (size_t)snprintf(ret_text + used, size - used, "%s%s",
					 used == 0 ? "" : ", ", cmd->tc_name);
	return ret_text;
}

static error_t common_option(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case 'h':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void tool_version_print(FILE *file)
{
	fprintf(file, "colibri %s (library %s)\n", M0_VERSION_STR,
		m0_version());
}

static void version_hook(FILE *file, struct argp_state *state)
{
	(void)state;
	tool_version_print(file);
}

int tool_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
	       void *input)
{
	static const struct argp_option options[] = {
		{ NULL, 'h', NULL, 0, "Give this help list, as --help does",
		  -1 },
		{ 0 },
	};
	const struct argp_child children[] = { { argp, 0, NULL, 0 }, { 0 } };
	const struct argp       all = { options,  common_option, NULL, NULL,
					children, NULL,          NULL };

	if (parse_take != NULL) {
		parse_take(&all, parse_arg);
		return EAGAIN;
	}
	argp_program_version_hook = version_hook;
	return argp_parse(&all, argc, argv, flags, NULL, input);
}

void tool_parse_divert(void (*take)(const struct argp *argp, void *arg),
		       void *arg)
{
	parse_take = take;
	parse_arg = arg;
}

/* A text that is too long loses its middle: the value stands before the
 * accepted forms, and the path before the error. */
static void text_set(char *ret, size_t size, const char *text)
{
	static const char dots[] = "...";
	size_t            nr = strlen(text);
	size_t            head = (size - sizeof dots) / 2;
	size_t            tail = size - sizeof dots - head;

	if (nr < size)
		memcpy(ret, text, nr + 1);
	else
		snprintf(ret, size, "%.*s%s%s", (int)head, text, dots,
			 text + nr - tail);
}

int tool_fail_set(struct tool_fail *fail, enum tool_exit code, const char *fmt,
		  ...)
{
	va_list args;
	char   *text;

	if (fail->tf_exit != TOOL_OK)
		return fail->tf_exit;
	fail->tf_exit = (int)code;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	text_set(fail->tf_text, sizeof fail->tf_text,
		 text != NULL ? text : "no memory");
	free(text);
	return fail->tf_exit;
}

void tool_fail_form(void (*print)(const struct tool_fail *fail))
{
	fail_form = print;
}

int tool_fail_print(const struct tool_fail *fail, const char *program)
{
	if (fail->tf_exit == TOOL_OK || !stop_lets_say(stderr))
		return fail->tf_exit;
	if (fail_form != NULL)
		fail_form(fail);
	else
		fprintf(stderr, "%s: %s\n", program, fail->tf_text);
	return fail->tf_exit;
}

const char *tool_errtext(int rc)
{
	const char *text = strerrordesc_np(abs(rc));

	return text != NULL ? text : "unknown error";
}

int tool_finish_output(const char *program, int code)
{
	const char *why;

	if (__fpending(stdout) > 0 && !stop_lets_say(stdout)) {
		__fpurge(stdout);
		errno = EINTR;
	} else if (fflush(stdout) == 0 && !ferror(stdout)) {
		return code;
	}
	why = tool_errtext(errno);
	if (stop_lets_say(stderr))
		fprintf(stderr,
			"%s: standard output could not be written: %s\n",
			program, why);
	return code == TOOL_OK ? (int)TOOL_FAILED : code;
}

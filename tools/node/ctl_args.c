/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "ctl_args.h"
#include "lnet_opts.h"

enum {
	TIMEOUT_MS = 30000,
	/** Room for all words of a command. */
	WORDS_BYTES = 128
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

/* "add, del, show", for messages. */
static void words_text(const struct ctl_args *args, char *ret, size_t size)
{
	const struct ctl_word *word;
	size_t                 used = 0;

	for (word = args->ctg_words; word->cwd_name != NULL; ++word)
		used += (size_t)snprintf(ret + used, size - used, "%s%s",
					 used == 0 ? "" : ", ", word->cwd_name);
}

void ctl_args_word(struct ctl_args *args, const char *text)
{
	const struct ctl_word *word;
	char                   words[WORDS_BYTES];

	if (args->ctg_has_word) {
		tool_fail_set(&args->ctg_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		return;
	}
	args->ctg_has_word = true;
	for (word = args->ctg_words; word->cwd_name != NULL; ++word) {
		if (strcmp(word->cwd_name, text) == 0) {
			args->ctg_req.cq_verb = word->cwd_verb;
			return;
		}
	}
	words_text(args, words, sizeof words);
	tool_fail_set(&args->ctg_fail, TOOL_USAGE,
		      "'%s' is not accepted; there is: %s", text, words);
}

void ctl_args_word_check(struct ctl_args *args)
{
	char words[WORDS_BYTES];

	if (args->ctg_has_word)
		return;
	words_text(args, words, sizeof words);
	tool_fail_set(&args->ctg_fail, TOOL_USAGE,
		      "a word is missing; there is: %s", words);
}

void ctl_args_init(struct ctl_args *args, enum ctl_verb verb)
{
	ctl_request_init(&args->ctg_req, verb);
	args->ctg_timeout_ms = TIMEOUT_MS;
}

int ctl_args_ask(struct ctl_args *args, int argc, char **argv,
		 const struct argp *argp, enum ctl_verb verb)
{
	ctl_args_init(args, verb);
	if (tool_parse(argp, argc, argv, ARGP_IN_ORDER, args) != 0)
		return TOOL_USAGE;
	return ctl_args_end(args, argv[0]);
}

int ctl_args_end(struct ctl_args *args, const char *program)
{
	int code = TOOL_OK;

	if (args->ctg_fail.tf_exit == TOOL_OK)
		code = ctl_ask_at(args->ctg_ctl, &args->ctg_req,
				  args->ctg_timeout_ms, &args->ctg_fail);
	if (tool_fail_print(&args->ctg_fail, program) != TOOL_OK)
		code = args->ctg_fail.tf_exit;
	return tool_finish_output(program, code);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri lst`: finds the session of a command, or begins one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lst_serve.h"
#include "../base/stop.h"

static const char *key_of(void)
{
	return getenv("LST_SESSION") ?: "default";
}

static int session_new(struct lst_args *args, const char *path)
{
	int fd = lst_connect(path);

	if (fd >= 0) {
		(void)close(fd);
		return tool_fail_set(&args->lsa_fail, TOOL_FAILED,
				     "a session with key %s exists; end it by "
				     "`colibri lst end_session', or set "
				     "$LST_SESSION",
				     key_of());
	}
	if (args->lsa_words_nr > 1 ||
	    (args->lsa_words_nr == 1 &&
	     strlen(args->lsa_words[0]) >= LST_NAME_BYTES))
		return tool_fail_set(&args->lsa_fail, TOOL_USAGE,
				     "new_session: one name of at most %d "
				     "characters is accepted",
				     LST_NAME_BYTES - 1);
	if (lnet_opts_check(&args->lsa_opts) != 0 ||
	    lst_serve_start(args, key_of(), path) != 0)
		return args->lsa_fail.tf_exit;
	lst_new_session_say(args, stdout);
	return TOOL_OK;
}

static int session_ask(struct lst_args *args, const char *path, int argc,
		       char **argv)
{
	int fd = lst_connect(path);
	int code;

	if (fd < 0) {
		fprintf(stderr, "No session exists\n");
		return TOOL_FAILED;
	}
	code = lst_ask(fd, argc, argv,
		       strcmp(args->lsa_verb, "end_session") == 0);
	(void)close(fd);
	if (code >= 0)
		return code;
	return tool_fail_set(&args->lsa_fail, TOOL_FAILED,
			     "the process of the session: %s",
			     tool_errtext(code));
}

/* A batch has no such name, unless somebody wants it. */
static bool is_plan(const struct lst_args *args)
{
	const char *word = args->lsa_words_nr == 1 ? args->lsa_words[0] : "";
	const char *dot = strrchr(word, '.');

	return strcmp(args->lsa_verb, "run") == 0 &&
	       (strchr(word, '/') != NULL ||
		(dot != NULL &&
		 (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0)));
}

static int lst_do(struct lst_args *args, int argc, char **argv)
{
	char path[LST_PATH_BYTES];

	if (args->lsa_verb == NULL || !lst_verb_is_known(args->lsa_verb))
		return tool_fail_set(
			&args->lsa_fail, TOOL_USAGE,
			"%s%s%s; accepted: new_session, end_session, "
			"show_session, ping, add_group, update_group, "
			"del_group, list_group, add_batch, add_test, run, stop, "
			"query, list_batch, stat, show_error",
			args->lsa_verb == NULL ? "a verb is missing" : "'",
			args->lsa_verb ?: "",
			args->lsa_verb == NULL ? "" : "' is no verb");
	if (is_plan(args))
		return lst_plan_run(args, args->lsa_words[0]);
	if (args->lsa_report != NULL || args->lsa_baseline != NULL ||
	    args->lsa_save_baseline != NULL)
		return tool_fail_set(&args->lsa_fail, TOOL_USAGE,
				     "--report, --baseline and --save-baseline "
				     "are accepted by `run FILE.yaml' alone");
	if (lst_path(path, key_of(), strcmp(args->lsa_verb, "new_session") == 0,
		     &args->lsa_fail) != 0)
		return args->lsa_fail.tf_exit;
	if (strcmp(args->lsa_verb, "new_session") == 0)
		return session_new(args, path);
	return session_ask(args, path, argc, argv);
}

int lst_main(int argc, char **argv)
{
	static struct lst_args args;
	char                  *words[LST_WORDS_MAX * 2];
	int                    code;
	int                    i;

	/* argp sorts them. */
	for (i = 0; i < argc && i < (int)ARRAY_SIZE(words) - 1; ++i)
		words[i] = argv[i];
	code = lst_args_parse(&args, argc, argv);
	if (code == TOOL_OK)
		code = lst_do(&args, i, words);
	if (tool_fail_print(&args.lsa_fail, argv[0]) != TOOL_OK)
		code = args.lsa_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}

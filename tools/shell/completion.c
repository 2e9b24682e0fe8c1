/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri completion`: scripts made from the tables of commands and options. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "completion_text.h"
#include "lnetctl.h"

#include "../base/cmd.h"

enum {
	/** Names of the options of one command. */
	NAMES_BYTES = 4096
};

/** Values of an option that are words. */
struct option_values {
	/** NULL: of every command. */
	const char *opv_command;
	const char *opv_option;
	const char *opv_words;
};

static const struct option_values values[] = {
	{ NULL, "accept", "secure all none" },
	{ NULL, "verbose", "1 2 3 4" },
	{ "perf", "test", "all latency rate put get" },
	{ "fault", "message", "PUT GET ACK REPLY" },
	{ "fault", "health_error",
	  "random local_interrupt local_dropped local_aborted local_no_route "
	  "local_error local_timeout remote_error remote_dropped "
	  "remote_timeout network_timeout" },
};

/** Options of one command, as "--net --nid ". */
struct names {
	char na_all[NAMES_BYTES];
	/** Options that take the next word as their value. */
	char na_valued[NAMES_BYTES];
	/** Options that take a value in --NAME=VALUE. */
	char na_assigned[NAMES_BYTES];
};

static bool name_is_in(const char *names, const char *name)
{
	size_t nr = strlen(name);

	while ((names = strstr(names, name)) != NULL) {
		if (names[nr] == ' ')
			return true;
		names += nr;
	}
	return false;
}

/* Adds a name that is not there yet. A name begins with dashes, so that it is never
 * the end of another. */
static void name_add(char to[NAMES_BYTES], const char *dashes, const char *name)
{
	size_t nr = strlen(to);
	char   one[64];

	snprintf(one, sizeof one, "%s%s", dashes, name);
	if (!name_is_in(to, one))
		snprintf(to + nr, NAMES_BYTES - nr, "%s ", one);
}

static void option_add(struct names *names, const struct argp_option *option,
		       const struct argp_option *real)
{
	bool has_value = real->arg != NULL;
	bool next = has_value && (real->flags & OPTION_ARG_OPTIONAL) == 0;
	char letter[2] = "";

	if (option->name != NULL) {
		name_add(names->na_all, "--", option->name);
		if (next)
			name_add(names->na_valued, "--", option->name);
		if (has_value)
			name_add(names->na_assigned, "--", option->name);
	}
	if (next && option->key > ' ' && option->key < 0x7f) {
		letter[0] = (char)option->key;
		name_add(names->na_valued, "-", letter);
	}
}

static void options_add(struct names *names, const struct argp *argp)
{
	const struct argp_option *option = argp->options;
	const struct argp_option *real = option;
	const struct argp_child  *child = argp->children;

	/* Titles of groups have neither a name nor a key. */
	for (; option != NULL && (option->name != NULL || option->key != 0 ||
				  option->doc != NULL || option->group != 0);
	     ++option) {
		if ((option->flags & OPTION_ALIAS) == 0)
			real = option;
		option_add(names, option, real);
	}
	for (; child != NULL && child->argp != NULL; ++child)
		options_add(names, child->argp);
}

static void tables_take(const struct argp *argp, void *arg)
{
	struct names *names = arg;

	options_add(names, argp);
}

/* Options that argp gives to every command. */
static void names_init(struct names *names)
{
	names->na_valued[0] = '\0';
	names->na_assigned[0] = '\0';
	snprintf(names->na_all, sizeof names->na_all,
		 "--help --usage --version ");
}

static void command_names(const struct tool_cmd *cmd, struct names *names)
{
	char  name[64];
	char *argv[] = { name, NULL };

	snprintf(name, sizeof name, "colibri %s", cmd->tc_name);
	names_init(names);
	tool_parse_divert(tables_take, names);
	(void)cmd->tc_run(1, argv);
	tool_parse_divert(NULL, NULL);
}

/* Collects the options of all words of the verb. @param verb  its first row. */
static void verb_names(const struct lnetctl_verb *verb, struct names *names)
{
	const struct lnetctl_option *option;
	const char                  *name = verb->lv_verb;
	char                         empty[] = "";
	char                        *argv[] = { empty, NULL };

	names_init(names);
	tool_parse_divert(tables_take, names);
	for (; verb->lv_verb != NULL && strcmp(verb->lv_verb, name) == 0;
	     ++verb) {
		if (lnetctl_verb_is_here(verb))
			(void)lnetctl_verb_run(verb, 1, argv);
	}
	tool_parse_divert(NULL, NULL);
	for (option = lnetctl_options; option->lco_name != NULL; ++option) {
		if (strcmp(option->lco_verb, name) != 0 ||
		    option->lco_why != NULL)
			continue;
		name_add(names->na_all, "--", option->lco_name);
		if (option->lco_has_value)
			name_add(names->na_valued, "--", option->lco_name);
	}
}

/* ------------------------------------------------------------------ scripts */

/* A branch of _colibri_command(). @param words  as tc_words; NULL. */
static void branch_print(const char *tool, const char *command,
			 const char *words, const struct names *names)
{
	const char *end = words != NULL ? strstr(words, " | ") : NULL;
	int         nr = words == NULL ? 0
			 : end != NULL ? (int)(end - words)
				       : (int)strlen(words);

	printf("\t'%s%s%s')\n", tool, command[0] != '\0' ? " " : "", command);
	if (words != NULL)
		printf("\t\twords_1='%.*s'\n", nr, words);
	if (end != NULL)
		printf("\t\twords_2='%s'\n", end + 3);
	if (names != NULL)
		printf("\t\tnames='%s'\n\t\tvalued='%s'\n", names->na_all,
		       names->na_valued);
	printf("\t\t;;\n");
}

/* All commands, with a blank between: operands of the tool itself, and of help. */
static void commands_words(char *ret, size_t size)
{
	const struct tool_cmd *cmd;
	size_t                 nr = 0;

	for (cmd = tool_cmds; cmd->tc_name != NULL && nr < size; ++cmd)
		nr += (size_t)snprintf(ret + nr, size - nr, "%s%s",
				       nr == 0 ? "" : " ", cmd->tc_name);
}

static bool verb_is_first(const struct lnetctl_verb *verb)
{
	return verb == lnetctl_verbs ||
	       strcmp(verb[-1].lv_verb, verb->lv_verb) != 0;
}

static void verbs_words(char *ret, size_t size)
{
	const struct lnetctl_verb *verb;
	size_t                     nr = 0;

	for (verb = lnetctl_verbs; verb->lv_verb != NULL && nr < size; ++verb) {
		if (verb_is_first(verb) && lnetctl_verb_is_here(verb))
			nr += (size_t)snprintf(ret + nr, size - nr, "%s%s",
					       nr == 0 ? "" : " ",
					       verb->lv_verb);
	}
}

/* Words of a verb: its own, or those of a command with operands. */
static void verb_words(const struct lnetctl_verb *verb, char *ret, size_t size)
{
	const char            *name = verb->lv_verb;
	const struct tool_cmd *cmd = tool_cmd_find(name);
	const char            *more = NULL;
	size_t                 nr = 0;

	ret[0] = '\0';
	if (cmd != NULL && cmd->tc_words != NULL)
		more = strstr(cmd->tc_words, " | ");
	if (verb->lv_word == NULL && cmd != NULL && cmd->tc_words != NULL) {
		snprintf(ret, size, "%s", cmd->tc_words);
		return;
	}
	for (; verb->lv_word != NULL && strcmp(verb->lv_verb, name) == 0;
	     ++verb)
		nr += (size_t)snprintf(ret + nr, size - nr, "%s%s",
				       nr == 0 ? "" : " ", verb->lv_word);
	if (more != NULL)
		snprintf(ret + nr, size - nr, "%s", more);
}

static void commands_print(struct names *names)
{
	const struct lnetctl_verb *verb;
	const struct tool_cmd     *cmd;
	char                       all[1024];
	char                       words[1024];

	commands_words(all, sizeof all);
	printf("_colibri_command() {\n\tcase \"$1\" in\n");
	branch_print("colibri", "", all, NULL);
	for (cmd = tool_cmds; cmd->tc_name != NULL; ++cmd) {
		command_names(cmd, names);
		branch_print("colibri", cmd->tc_name,
			     cmd->tc_run == help_main ? all : cmd->tc_words,
			     names);
	}
	verbs_words(all, sizeof all);
	branch_print("lnetctl", "", all, NULL);
	for (verb = lnetctl_verbs; verb->lv_verb != NULL; ++verb) {
		if (!verb_is_first(verb) || !lnetctl_verb_is_here(verb))
			continue;
		verb_names(verb, names);
		verb_words(verb, words, sizeof words);
		branch_print("lnetctl", verb->lv_verb, words, names);
	}
	printf("\tesac\n}\n\n");
}

static void values_of_command(const struct tool_cmd *cmd, struct names *names)
{
	char   name[64];
	size_t i;

	command_names(cmd, names);
	for (i = 0; i < ARRAY_SIZE(values); ++i) {
		const struct option_values *one = &values[i];

		snprintf(name, sizeof name, "--%s", one->opv_option);
		if ((one->opv_command == NULL ||
		     strcmp(one->opv_command, cmd->tc_name) == 0) &&
		    name_is_in(names->na_assigned, name))
			printf("\t*' %s %s')\n\t\tlist='%s'\n\t\t;;\n",
			       cmd->tc_name, name, one->opv_words);
	}
}

static void values_print(struct names *names)
{
	const struct tool_cmd *cmd;

	printf("_colibri_values() {\n\tcase \"$1\" in\n");
	for (cmd = tool_cmds; cmd->tc_name != NULL; ++cmd)
		values_of_command(cmd, names);
	printf("\tesac\n}\n\n");
}

static void script_print(bool zsh)
{
	struct names names;

	if (zsh)
		printf("#compdef colibri lnetctl\n");
	printf("# Made by `colibri completion %s', version %s.\n\n",
	       zsh ? "zsh" : "bash", M0_VERSION_STR);
	commands_print(&names);
	values_print(&names);
	printf("%s\n%s", completion_core,
	       zsh ? completion_zsh : completion_bash);
}

/* ------------------------------------------------------------- the command */

struct completion_args {
	bool             cmpl_has_shell;
	bool             cmpl_zsh;
	struct tool_fail cmpl_fail;
};

static void shell_word(struct completion_args *args, const char *text)
{
	if (args->cmpl_has_shell)
		tool_fail_set(&args->cmpl_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
	else if (strcmp(text, "bash") != 0 && strcmp(text, "zsh") != 0)
		tool_fail_set(&args->cmpl_fail, TOOL_USAGE,
			      "'%s' is not accepted; there is: bash, zsh",
			      text);
	args->cmpl_has_shell = true;
	args->cmpl_zsh = strcmp(text, "zsh") == 0;
}

static error_t completion_option(int key, char *arg, struct argp_state *state)
{
	struct completion_args *args = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		shell_word(args, arg);
		break;
	case ARGP_KEY_NO_ARGS:
		tool_fail_set(&args->cmpl_fail, TOOL_USAGE,
			      "a word is missing; there is: bash, zsh");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int completion_main(int argc, char **argv)
{
	static const struct argp argp = {
		NULL,
		completion_option,
		"bash\nzsh",
		"Print a script by which the shell completes commands, words, "
		"options and values of colibri, and of lnetctl if `colibri' is "
		"called by that name.",
		NULL,
		NULL,
		NULL,
	};
	struct completion_args args = { .cmpl_has_shell = false };

	if (tool_parse(&argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (args.cmpl_fail.tf_exit == TOOL_OK)
		script_print(args.cmpl_zsh);
	return tool_finish_output(argv[0],
				  tool_fail_print(&args.cmpl_fail, argv[0]));
}

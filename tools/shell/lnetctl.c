/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <string.h>

#include "lnetctl.h"
#include "m0/mem.h"

#include "../base/cmd.h"
#include "../node/ctl_out.h"

enum {
	NAME_BYTES = 64,
	/** Words and options of lv_command. */
	COMMAND_WORDS_MAX = 4,
	/** lnetctl's number for a parameter that is wrong, and for all else. */
	RC_USAGE = -22,
	RC_GENERIC = -61
};

/** Commands of lnetctl that are no verbs. */
static const char *const others[] = {
	"help",          "--help",          "version", "--version",
	"list-commands", "--list-commands", NULL,
};

/** The verb of this process, for messages. */
static struct lnetctl_verb current;

/* ---------------------------------------------------------------- failures */

/* As YAML, where lnetctl has it: under the action, and what it is done to. */
static void failed(int rc, const char *text)
{
	const char *word = current.lv_word;
	const char *action = word;
	const char *of = current.lv_verb;

	if (strcmp(of, "set") == 0) {
		action = "set";
		of = "global";
	} else if (word == NULL) {
		action = "manage";
	}
	(void)ctl_failed(action, of, rc, text, stderr);
}

static void fail_print(const struct tool_fail *fail)
{
	failed(fail->tf_exit == TOOL_USAGE ? RC_USAGE : RC_GENERIC,
	       fail->tf_text);
}

static int invalid(const char *word)
{
	fprintf(stderr,
		"lnetctl: '%s' is not a valid command. See 'lnetctl "
		"--list-commands'.\n",
		word);
	return TOOL_USAGE;
}

/* ----------------------------------------------------------------- options */

static bool is_same(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* An option of the verb that its command does not have; NULL. */
static const struct lnetctl_option *option_find(const char *arg)
{
	const struct lnetctl_option *option;
	size_t                       nr = strcspn(arg, "=");

	for (option = lnetctl_options; option->lco_name != NULL; ++option) {
		if (is_same(option->lco_verb, current.lv_verb) &&
		    is_same(option->lco_word, current.lv_word) &&
		    strncmp(arg, "--", 2) == 0 &&
		    strlen(option->lco_name) == nr - 2 &&
		    strncmp(option->lco_name, arg + 2, nr - 2) == 0)
			return option;
	}
	return NULL;
}

static int option_failed(const struct lnetctl_option *option, const char *why)
{
	char text[256];

	snprintf(text, sizeof text, "--%s %s", option->lco_name, why);
	failed(RC_USAGE, text);
	return TOOL_USAGE;
}

/* Takes an option out of the line. @param value  its value, or NULL. */
static int option_take(const struct lnetctl_option *option, const char *value)
{
	char why[192];

	if (option->lco_has_value && value == NULL)
		return option_failed(option, "is given without a value");
	if (!option->lco_has_value && value != NULL)
		return option_failed(option, "takes no value");
	if (option->lco_why != NULL) {
		snprintf(why, sizeof why, "is not accepted: %s",
			 option->lco_why);
		return option_failed(option, why);
	}
	/* The only one with a value: an expression of processor partitions. */
	if (value != NULL &&
	    (value[0] == '\0' || value[strspn(value, "[]0123456789,-/")] != 0))
		return option_failed(option, "is not a list of partitions, as "
					     "[0] or [0,1]");
	return TOOL_OK;
}

/* Takes out the options that have no effect here, and refuses others. */
static int options_take(int *argc, char **argv)
{
	const struct lnetctl_option *option;
	char                        *value;
	int                          code = TOOL_OK;
	int                          to = 1;
	int                          i;

	for (i = 1; i < *argc && code == TOOL_OK; ++i) {
		option = option_find(argv[i]);
		if (option == NULL) {
			argv[to++] = argv[i];
			continue;
		}
		value = strchr(argv[i], '=');
		if (value != NULL)
			++value;
		else if (option->lco_has_value && i + 1 < *argc)
			value = argv[++i];
		code = option_take(option, value);
	}
	*argc = to;
	argv[to] = NULL;
	return code;
}

/* ------------------------------------------------------------------- verbs */

static const struct tool_cmd *command_of(const struct lnetctl_verb *verb)
{
	char   name[NAME_BYTES];
	size_t nr;

	if (verb->lv_command == NULL)
		return NULL;
	nr = strcspn(verb->lv_command, " ");
	snprintf(name, sizeof name, "%.*s", (int)nr, verb->lv_command);
	return tool_cmd_find(name);
}

bool lnetctl_verb_is_here(const struct lnetctl_verb *verb)
{
	return verb->lv_run != NULL || command_of(verb) != NULL;
}

/* The line of the command: its name, the words that the verb stands for, and the
 * rest. */
static int command_run(const struct lnetctl_verb *verb, int argc, char **argv)
{
	char   words[NAME_BYTES];
	char   name[NAME_BYTES];
	char **all =
		m0_alloc_arr((size_t)argc + COMMAND_WORDS_MAX, sizeof *all);
	char *rest = words;
	char *word;
	int   nr = 0;
	int   code;
	int   i;

	if (all == NULL) {
		failed(RC_GENERIC, "no memory is left");
		return TOOL_FAILED;
	}
	snprintf(words, sizeof words, "%s", verb->lv_command);
	snprintf(name, sizeof name, "lnetctl %s", verb->lv_verb);
	while ((word = strsep(&rest, " ")) != NULL)
		all[nr++] = word;
	M0_ASSERT(nr <= COMMAND_WORDS_MAX);
	all[0] = name;
	for (i = 1; i < argc; ++i)
		all[nr++] = argv[i];
	code = command_of(verb)->tc_run(nr, all);
	m0_free(all);
	return code;
}

int lnetctl_verb_run(const struct lnetctl_verb *verb, int argc, char **argv)
{
	char name[NAME_BYTES];
	int  code;

	current = *verb;
	if (!lnetctl_verb_is_here(verb)) {
		failed(RC_GENERIC, verb->lv_why);
		return TOOL_FAILED;
	}
	code = options_take(&argc, argv);
	if (code != TOOL_OK)
		return code;
	if (verb->lv_run == NULL)
		return command_run(verb, argc, argv);
	snprintf(name, sizeof name, "lnetctl %s%s%s", verb->lv_verb,
		 verb->lv_word != NULL ? " " : "",
		 verb->lv_word != NULL ? verb->lv_word : "");
	argv[0] = name;
	return verb->lv_run(argc, argv);
}

/* -------------------------------------------------------- words of no verb */

static void name_print(const char *name, unsigned *nr)
{
	printf("%-20s%s", name, ++*nr % 4 == 0 ? "\n" : "");
}

static int names_print(void)
{
	const struct lnetctl_verb *verb;
	unsigned                   nr = 0;
	size_t                     i;

	for (i = 0; others[i] != NULL; ++i)
		name_print(others[i], &nr);
	for (verb = lnetctl_verbs; verb->lv_verb != NULL; ++verb) {
		if (lnetctl_verb_is_here(verb) &&
		    (verb == lnetctl_verbs ||
		     strcmp(verb[-1].lv_verb, verb->lv_verb) != 0))
			name_print(verb->lv_verb, &nr);
	}
	if (nr % 4 != 0)
		putchar('\n');
	return tool_finish_output("lnetctl", TOOL_OK);
}

static int help_print(void)
{
	const struct lnetctl_verb *verb;

	printf("Usage: lnetctl VERB [WORD] [OPTION...]\n"
	       "The command line of lnetctl, for the running Colibri node.\n"
	       "\n");
	for (verb = lnetctl_verbs; verb->lv_verb != NULL; ++verb) {
		if (lnetctl_verb_is_here(verb))
			printf("  lnetctl %s%s%s\n", verb->lv_verb,
			       verb->lv_word != NULL ? " " : "",
			       verb->lv_word != NULL ? verb->lv_word : "");
	}
	printf("\n"
	       "`lnetctl VERB --help' explains a verb. colibri-lnetctl(1) says what "
	       "differs.\n");
	return tool_finish_output("lnetctl", TOOL_OK);
}

static int version_print(void)
{
	printf("lnetctl %s (colibri)\n", M0_VERSION_STR);
	return tool_finish_output("lnetctl", TOOL_OK);
}

/* @return the row; NULL: there is none, and `*ret_bad` is what is wrong. */
static const struct lnetctl_verb *verb_find(const char *name, const char *word,
					    const char **ret_bad)
{
	const struct lnetctl_verb *verb;

	*ret_bad = name;
	for (verb = lnetctl_verbs; verb->lv_verb != NULL; ++verb) {
		if (strcmp(verb->lv_verb, name) != 0)
			continue;
		/* An option before the word, or none: the command says which. */
		if (verb->lv_word == NULL || word == NULL || word[0] == '-' ||
		    strcmp(verb->lv_word, word) == 0)
			return verb;
		*ret_bad = word;
	}
	return NULL;
}

static int word_missing(const struct lnetctl_verb *verb)
{
	const char *name = verb->lv_verb;
	char        text[256];
	size_t      nr;

	current = *verb;
	current.lv_word = NULL;
	nr = (size_t)snprintf(text, sizeof text,
			      "a word is missing; there is:");
	for (; verb->lv_verb != NULL && strcmp(verb->lv_verb, name) == 0;
	     ++verb)
		nr += (size_t)snprintf(text + nr, sizeof text - nr, "%s %s",
				       text[nr - 1] == ':' ? "" : ",",
				       verb->lv_word);
	failed(RC_USAGE, text);
	return TOOL_USAGE;
}

/* `VERB --help`, or a verb without its word. */
static int verb_only(const struct lnetctl_verb *verb, const char *option,
		     int argc, char **argv)
{
	const struct tool_cmd *cmd = command_of(verb);
	char                   name[NAME_BYTES];

	if (!lnetctl_verb_is_here(verb))
		return lnetctl_verb_run(verb, argc, argv);
	if (option == NULL ||
	    !M0_IN(0, (strcmp(option, "--help"), strcmp(option, "-h"))))
		return word_missing(verb);
	if (cmd == NULL)
		return help_print();
	snprintf(name, sizeof name, "lnetctl %s", verb->lv_verb);
	argv[0] = name;
	return cmd->tc_run(argc, argv);
}

int lnetctl_main(int argc, char **argv)
{
	const struct lnetctl_verb *verb;
	const char                *name = argc > 1 ? argv[1] : "help";
	const char                *word = argc > 2 ? argv[2] : NULL;
	const char                *bad;

	if (M0_IN(0, (strcmp(name, "help"), strcmp(name, "--help"),
		      strcmp(name, "-h"))))
		return argc > 1 ? help_print() : help_print() | TOOL_USAGE;
	if (M0_IN(0, (strcmp(name, "version"), strcmp(name, "--version"))))
		return version_print();
	if (M0_IN(0, (strcmp(name, "list-commands"),
		      strcmp(name, "--list-commands"))))
		return names_print();
	verb = verb_find(name, word, &bad);
	if (verb == NULL)
		return invalid(bad);
	tool_fail_form(fail_print);
	if (verb->lv_word == NULL)
		return lnetctl_verb_run(verb, argc - 1, argv + 1);
	if (word == NULL || word[0] == '-')
		return verb_only(verb, word, argc - 1, argv + 1);
	return lnetctl_verb_run(verb, argc - 2, argv + 2);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The command line of lnetctl: `colibri`, called by that name. */
#ifndef M0_TOOLS_LNETCTL_H
#define M0_TOOLS_LNETCTL_H

#include <stdbool.h>
#include <stddef.h>

/**
 * A verb, or a word of one. lv_run, or a command of `colibri`, does it; if there is
 * neither, lv_why is printed.
 */
struct lnetctl_verb {
	const char *lv_verb;
	/** NULL: operands, or nothing, follow the verb. */
	const char *lv_word;
	/** Command of `colibri`, with its first words and options; NULL. */
	const char *lv_command;
	/** argv[0] is "lnetctl VERB WORD"; NULL. */
	int (*lv_run)(int argc, char **argv);
	/** Reason for which it is not here. */
	const char *lv_why;
};

/** An option of a verb that the command of `colibri` does not have. */
struct lnetctl_option {
	const char *lco_verb;
	const char *lco_word;
	const char *lco_name;
	bool        lco_has_value;
	/** Reason for which it is refused; NULL: it is accepted, without effect. */
	const char *lco_why;
};

/** All verbs, in lnetctl's order; the last has no name. */
extern const struct lnetctl_verb   lnetctl_verbs[];
extern const struct lnetctl_option lnetctl_options[];

/** Can this build do it? */
bool lnetctl_verb_is_here(const struct lnetctl_verb *verb);
/**
 * Does what the verb stands for, or passes its options to the function of
 * tool_parse_divert().
 * @param argv  argv[0] is ignored; operands and options follow.
 */
int lnetctl_verb_run(const struct lnetctl_verb *verb, int argc, char **argv);
/** argv[1] is the verb. Returns an exit code. */
int lnetctl_main(int argc, char **argv);

/* -- lnetctl_own.c: verbs that no command of `colibri` has ----------------- */

int lnetctl_configure(int argc, char **argv);
int lnetctl_unconfigure(int argc, char **argv);
int lnetctl_nidlist(int argc, char **argv);
int lnetctl_cpt(int argc, char **argv);

#endif /* M0_TOOLS_LNETCTL_H */

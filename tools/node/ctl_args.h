/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The parts that all commands have which ask the running node: common options, the
 * question, and the end. */
#ifndef M0_TOOLS_CTL_ARGS_H
#define M0_TOOLS_CTL_ARGS_H

#include <argp.h>

#include "ctl.h"

enum {
	/** Keys of the options below; those of a command are greater. */
	CTL_KEY_CTL = 256,
	CTL_KEY_TIMEOUT,
	CTL_KEY_OWN
};

/** A word after the command's, and what it asks for. */
struct ctl_word {
	const char   *cwd_name;
	enum ctl_verb cwd_verb;
};

/** The first member of a command's arguments. */
struct ctl_args {
	struct ctl_request ctg_req;
	uint64_t           ctg_timeout_ms;
	/** Path of the control socket; NULL: the default. */
	const char      *ctg_ctl;
	struct tool_fail ctg_fail;
	/** -v came without a number: one may follow. */
	bool ctg_verbose_open;
	/** Words that the command takes, of which the last has no name; NULL: it
	 * does not call ctl_args_word(). */
	const struct ctl_word *ctg_words;
	bool                   ctg_has_word;
};

/* clang-format off */
#define CTL_OPTION_VERBOSE(more)                                              \
	{ "verbose", 'v', "N", OPTION_ARG_OPTIONAL, "Show more: " more, 0 }
#define CTL_OPTION_JSON { "json", 'j', NULL, 0, "Print JSON", 0 }
/** The last entries of an array of options. */
#define CTL_OPTIONS_END                                                       \
	{ "timeout", CTL_KEY_TIMEOUT, "TIME", 0,                              \
	  "Fail if the node does not answer for this long; default 30", 0 },  \
	{ "ctl", CTL_KEY_CTL, "PATH", 0, "Control socket of the node", 0 },   \
	{ 0 }
/* clang-format on */

/** Handles an option above. @return false: it is none of them. */
bool ctl_args_option(struct ctl_args *args, int key, char *arg);
/**
 * Call it first for each key. Takes the number of `-v N`, which is lnetctl's way as
 * well as -vN.
 * @return true if `arg`, an operand, was that number.
 */
bool ctl_args_verbose(struct ctl_args *args, int key, const char *arg);
/** Takes an operand, the one word that says what is asked for. */
void ctl_args_word(struct ctl_args *args, const char *text);
/** After all operands: notes that the word is missing, if it is. */
void ctl_args_word_check(struct ctl_args *args);
/**
 * Parses the command line, asks the node, and prints the answer or what is wrong.
 * @param verb  of the request, unless an operand names another.
 * @return the exit code.
 */
int ctl_args_ask(struct ctl_args *args, int argc, char **argv,
		 const struct argp *argp, enum ctl_verb verb);
/* Parts of ctl_args_ask(): before and after the command line is parsed. */
void ctl_args_init(struct ctl_args *args, enum ctl_verb verb);
int  ctl_args_end(struct ctl_args *args, const char *program);

#endif /* M0_TOOLS_CTL_ARGS_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The parts that all sub-commands of `colibri` share: how a command is called,
 * how it ends, how it reports errors. Standard output carries results only;
 * messages and progress go to standard error. A message says what is wrong
 * (option or file, and its value), what would be right, and where it is not
 * obvious, what to do.
 */
#ifndef M0_TOOLS_CMD_H
#define M0_TOOLS_CMD_H

#include <stdio.h>

#include "m0/base.h"

/** Exit codes of the process. */
enum tool_exit {
	TOOL_OK = 0,
	/** The work could not be done. */
	TOOL_FAILED = 1,
	/** Nothing was tried: an option or an operand is wrong. */
	TOOL_USAGE = 2
};

struct tool_cmd {
	const char *tc_name;
	const char *tc_summary;
	/**
	 * Operands that shells complete: words of one position are separated by
	 * blanks, positions by " | ". NULL: none.
	 */
	const char *tc_words;
	/** argv[0] is "colibri NAME". Returns an exit code. */
	int (*tc_run)(int argc, char **argv);
};

int copy_main(int argc, char **argv);
int serve_main(int argc, char **argv);
int put_main(int argc, char **argv);
int get_main(int argc, char **argv);
int ls_main(int argc, char **argv);
int stat_main(int argc, char **argv);
int rm_main(int argc, char **argv);
int perf_main(int argc, char **argv);
int node_main(int argc, char **argv);
int ping_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int discover_main(int argc, char **argv);
int net_main(int argc, char **argv);
int peer_main(int argc, char **argv);
int process_main(int argc, char **argv);
int stats_main(int argc, char **argv);
int top_main(int argc, char **argv);
int metrics_main(int argc, char **argv);
int capture_main(int argc, char **argv);
int config_main(int argc, char **argv);
int global_main(int argc, char **argv);
int set_main(int argc, char **argv);
int debug_main(int argc, char **argv);
int route_main(int argc, char **argv);
int explain_main(int argc, char **argv);
int udsp_main(int argc, char **argv);
int routing_main(int argc, char **argv);
int fault_main(int argc, char **argv);
int lst_main(int argc, char **argv);
int completion_main(int argc, char **argv);
int version_main(int argc, char **argv);
int help_main(int argc, char **argv);

struct argp;
/**
 * Parses the arguments of a command as argp_parse() does. Every command gets the
 * options -h, as --help, and --version.
 */
int tool_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
	       void *input);
/**
 * From now on, tool_parse() passes the option tables to `take`, and fails. Call a
 * command then to read its options. NULL: parse again.
 */
void tool_parse_divert(void (*take)(const struct argp *argp, void *arg),
		       void *arg);
/** Prints the version of the command and of the library. */
void tool_version_print(FILE *file);

/** All sub-commands; the last has no name. */
extern const struct tool_cmd tool_cmds[];
/** NULL if there is none of that name. */
const struct tool_cmd *tool_cmd_find(const char *name);
/** "copy, perf, version, help", for messages. */
const char *tool_cmd_names(char *ret_text, size_t size);

/** The first thing that went wrong, with the exit code that it means. */
struct tool_fail {
	int  tf_exit;
	char tf_text[1280];
};

/**
 * Notes a failure, unless one is noted already.
 * @return the exit code that stands.
 */
int tool_fail_set(struct tool_fail *fail, enum tool_exit code, const char *fmt,
		  ...) M0_PRINTF(3, 4);
/** Writes "PROGRAM: TEXT" to standard error. Returns the exit code. */
int tool_fail_print(const struct tool_fail *fail, const char *program);
/** From now on, tool_fail_print() calls `print` to write a failure. */
void tool_fail_form(void (*print)(const struct tool_fail *fail));
/** Text of an error number of either sign, "No such file or directory". */
const char *tool_errtext(int rc);

/**
 * Ends a command that printed results: makes sure that they were written.
 * @return `code`, or TOOL_FAILED, with a message, if they were not.
 */
int tool_finish_output(const char *program, int code);

#endif /* M0_TOOLS_CMD_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Files of a configuration, and messages about them. */
#ifndef M0_TOOLS_CONF_FILE_H
#define M0_TOOLS_CONF_FILE_H

#include "conf_diff.h"
#include "../base/cmd.h"

/**
 * Reads a whole file.
 * @param path  "-": standard input.
 * @param ret   the caller frees it.
 * @return the exit code so far.
 */
int conf_file_read(const char *path, char **ret, size_t *ret_nr,
		   struct tool_fail *fail);
/** conf_file_read() and conf_read(). The caller calls conf_model_fini(). */
int conf_file_load(const char *path, struct conf_model *ret,
		   struct tool_fail *fail);
/**
 * As conf_file_load(), for a process that must go on: refuses what is not a regular
 * file, because a FIFO or a terminal may never end, and standard input has ended.
 */
int conf_file_reload(const char *path, struct conf_model *ret,
		     struct tool_fail *fail);
/** Notes "PATH:LINE:COLUMN: what is wrong". @param rc  of the call that failed. */
int conf_file_fail(const char *path, enum tool_exit code, int rc,
		   const struct conf_fail *why, struct tool_fail *fail);
/** Prints the notes of a model, each with its place. */
void conf_notes_print(const char *path, const struct conf_model *model,
		      FILE *file);
/** Prints the changes, one a line, or as JSON. */
void conf_plan_print(const struct conf_plan *plan, bool json, FILE *file);

#endif /* M0_TOOLS_CONF_FILE_H */

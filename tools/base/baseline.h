/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Results of an earlier run in a file, and whether this run is worse: `--baseline`,
 * `--save-baseline` and `--tolerance` of commands that measure. The file is JSON:
 *
 *	{"tool": "lst", "results": [{"name": "write", "unit": "MiB/s",
 *	 "value": 1012.5}]}
 */
#ifndef M0_TOOLS_BASELINE_H
#define M0_TOOLS_BASELINE_H

#include "cmd.h"

enum {
	/** Default of --tolerance, and the most. */
	BASELINE_PERCENT = 10,
	BASELINE_PERCENT_MAX = 99
};

/** A result of this run. */
struct baseline_value {
	const char *bsv_name;
	const char *bsv_unit;
	double      bsv_value;
	/** Less is better: a time. */
	bool bsv_is_time;
};

struct baseline {
	/** The command: a file of another command is refused. */
	const char *bsl_tool;
	/** File to compare with, and file to write; NULL: none. */
	const char *bsl_path;
	const char *bsl_save;
	/** Per cent by which a result may be worse. */
	uint32_t bsl_tolerance;
};

/** Reads the file before a run that takes long. @return 0, or an exit code. */
int baseline_try(const struct baseline *baseline, struct tool_fail *fail);

struct json_t;
/**
 * Compares results with a file, and says for each what it was. Results that the
 * file does not have are named, and are not worse.
 * @param out   gets a line for each; NULL: none.
 * @param tree  gets a member `baseline`; NULL: none.
 * @return 0, or an exit code with `fail` set: the file cannot be read, or a result
 *         is worse.
 */
int baseline_check(const struct baseline       *baseline,
		   const struct baseline_value *values, size_t nr, FILE *out,
		   struct json_t *tree, struct tool_fail *fail);
/** Writes results to the file, which it replaces. @return 0, or an exit code. */
int baseline_write(const struct baseline       *baseline,
		   const struct baseline_value *values, size_t nr,
		   struct tool_fail *fail);

#endif /* M0_TOOLS_BASELINE_H */

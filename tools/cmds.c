/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"

const struct tool_cmd tool_cmds[] = {
	{ "copy", "copy a file from one machine to another, verified",
	  copy_main },
	{ "perf", "measure latency, message rate and bulk transfer",
	  perf_main },
	{ "version", "print the version", version_main },
	{ "help", "explain a command", help_main },
	{ NULL, NULL, NULL },
};

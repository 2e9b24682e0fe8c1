/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Options of `colibri node` for processes that use its node. */
#ifndef M0_TOOLS_ATTACH_OPTS_H
#define M0_TOOLS_ATTACH_OPTS_H

#include <argp.h>

#include "m0/lnet_daemon.h"

#include "../base/cmd.h"
#include "listen_fds.h"

/** The child's input. */
struct attach_opts {
	/** --attach was given, and another one that needs it; NULL. */
	bool        ato_given;
	const char *ato_needs;
	/** --attach-mode was given. */
	bool ato_has_mode;
	/** NULL: the library's. */
	const char               *ato_path;
	struct m0_lnet_daemon_cfg ato_cfg;
	/** Set by attach_opts_check(). */
	struct listen_fds ato_fds;
	struct tool_fail *ato_fail;
};

extern const struct argp attach_opts_argp;

/** The number of a user, by name or number. */
bool attach_user_parse(const char *text, uint32_t *ret);
void attach_opts_init(struct attach_opts *opts, struct tool_fail *fail);
/** After all options: do they fit together? @return the exit code so far. */
int attach_opts_check(struct attach_opts *opts);

#endif /* M0_TOOLS_ATTACH_OPTS_H */

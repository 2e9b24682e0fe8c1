/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The process in the background that has a session, and its socket. */
#ifndef M0_TOOLS_LST_SERVE_H
#define M0_TOOLS_LST_SERVE_H

#include "lst.h"

enum {
	LST_PATH_BYTES = 108,
	/** Bytes of a command, and of a piece of what it prints. */
	LST_COMMAND_BYTES = 65536
};

/** Path of the socket of session `key`. @return the exit code. */
int lst_path(char ret[LST_PATH_BYTES], const char *key, bool make,
	     struct tool_fail *fail);
/** Connects to a session. @return a descriptor, or a negative errno. */
int lst_connect(const char *path);
/** Begins a session in the background. @return the exit code. */
int lst_serve_start(struct lst_args *args, const char *key, const char *path);
/**
 * Has a session run a command, and prints.
 * @param waits  for the end of the session's process, too.
 * @return the exit code, or a negative errno.
 */
int lst_ask(int fd, int argc, char **argv, bool waits);

#endif /* M0_TOOLS_LST_SERVE_H */

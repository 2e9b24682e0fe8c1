/* SPDX-License-Identifier: Apache-2.0 */
/** Sockets that a service manager has opened for this process, sd_listen_fds(3). */
#ifndef M0_TOOLS_LISTEN_FDS_H
#define M0_TOOLS_LISTEN_FDS_H

#include "../base/cmd.h"

/**
 * Takes the socket by the name "attach", or the only one that has no name. Removes
 * $LISTEN_PID, $LISTEN_FDS and $LISTEN_FDNAMES, so that no child takes them for its own.
 * @param ret  the descriptor; unchanged if there is none.
 * @return the exit code: the variables, or the name of a socket, are not accepted.
 */
int listen_fds_take(int *ret, struct tool_fail *fail);

#endif /* M0_TOOLS_LISTEN_FDS_H */

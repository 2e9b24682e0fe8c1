/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Sockets that a service manager has opened for this process, sd_listen_fds(3). */
#ifndef M0_TOOLS_LISTEN_FDS_H
#define M0_TOOLS_LISTEN_FDS_H

#include "m0/lnet_cfg.h"

#include "../base/cmd.h"

struct listen_fds {
	/** The socket "attach", or the one that has no name; <0: none. */
	int lfs_attach;
	/** The sockets "lnet", which listen for peers over TCP. */
	struct m0_lnet_listen_fds lfs_peers;
};

/**
 * Takes the sockets, and removes $LISTEN_PID, $LISTEN_FDS and $LISTEN_FDNAMES, so that no
 * child takes them for its own.
 * @return the exit code: the variables, or a socket, are not accepted.
 */
int listen_fds_take(struct listen_fds *ret, struct tool_fail *fail);

#endif /* M0_TOOLS_LISTEN_FDS_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Messages to the service manager that has started this process, sd_notify(3): one datagram
 * for each.
 */
#ifndef M0_TOOLS_NOTIFY_H
#define M0_TOOLS_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

#include "m0/time.h"

#include "../base/cmd.h"

struct notify {
	/** -1: no service manager waits. */
	int                nfy_fd;
	struct sockaddr_un nfy_addr;
	socklen_t          nfy_addr_bytes;
	/** Time between two signs of life; 0: none are wanted. */
	m0_time_t nfy_period;
	/** When the next sign of life is due; M0_TIME_NEVER. */
	m0_time_t nfy_due;
};

/**
 * Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID, and removes them, so that no child
 * takes them for its own.
 * @return the exit code: a value is not accepted.
 */
int  notify_init(struct notify *notify, struct tool_fail *fail);
void notify_fini(struct notify *notify);
/** The service is ready, or has been reloaded. */
void notify_ready(struct notify *notify, const char *status);
/** The service reads its configuration again; notify_ready() follows. */
void notify_reloading(struct notify *notify);
void notify_stopping(struct notify *notify, const char *status);
/** Says what the service does now. */
void notify_status(struct notify *notify, const char *status);
/** Gives a sign of life. */
void notify_alive(struct notify *notify, m0_time_t now);

#endif /* M0_TOOLS_NOTIFY_H */

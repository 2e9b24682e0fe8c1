/* SPDX-License-Identifier: Apache-2.0 */
/** SIGINT, SIGTERM and SIGHUP as something to be polled. */
#ifndef M0_TOOLS_STOP_H
#define M0_TOOLS_STOP_H

#include <stdbool.h>

/**
 * From now on the first of these signals makes the descriptor readable and
 * interrupts system calls; the second ends the process at once.
 * @return the descriptor, or a negative errno.
 */
int stop_init(void);
/** Has there been one? 0, or its number. */
int stop_signal(void);

#endif /* M0_TOOLS_STOP_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** SIGINT, SIGTERM and SIGHUP as something to be polled; not a SIGHUP that is
 * ignored, as nohup(1) has it. */
#ifndef M0_TOOLS_STOP_H
#define M0_TOOLS_STOP_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd.h"

/**
 * From now on the first of these signals makes the descriptor readable and
 * interrupts system calls; the second ends the process at once.
 * @return the descriptor, or a negative errno.
 */
int stop_init(void);
/** By the process that has started us. */
bool stop_hangup_is_ignored(void);
/**
 * Before stop_init(): SIGHUP does not end a service. A service manager or a
 * script that rotates logs sends it, and unless stop_hangup_watch() follows there is
 * no configuration to be read again.
 */
void stop_hangup_ignore(void);
/**
 * After stop_init(): SIGHUP makes `fd`, an eventfd, readable, and stop_hangup_take()
 * finds it. It interrupts system calls, and ends nothing.
 */
void stop_hangup_watch(int fd);
/** Has SIGHUP come since the last call? */
bool stop_hangup_take(void);
/** Has there been one? 0, or its number. */
int stop_signal(void);

/**
 * Waits until `file` takes more. A full pipe may be so for ever: then a signal,
 * for which `fd` is readable, ends the waiting, and what there was to say is not
 * said.
 */
bool stop_out_waits(FILE *file, int fd);

/** Text that is to be printed as a whole, however long. */
struct stop_page {
	FILE  *spg_file;
	char  *spg_text;
	size_t spg_nr;
};

/** @return where to write it to; NULL: no memory. */
FILE *stop_page_open(struct stop_page *page);
/**
 * Says it in pieces that a pipe takes without a wait once it takes more, as
 * stop_out_waits() does each; the page is closed. What cannot be written is an
 * error of `file`.
 * @retval -EINTR   a signal has ended the waiting.
 * @retval -ENOMEM  not all of the page is there: nothing is said.
 */
int stop_page_say(struct stop_page *page, FILE *file, int fd);

/**
 * Does what stop_out_waits() does if stop_init() was called, and notes output
 * that was dropped. Before stop_init(), it waits.
 */
bool stop_lets_say(FILE *file);
/** A failure, if something could not be printed. */
void stop_mute_check(struct tool_fail *fail);

#endif /* M0_TOOLS_STOP_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The library's words, brought from any of its threads to one that may take its
 * time: what does not fit is dropped, and counted.
 */
#ifndef M0_TOOLS_LOG_PIPE_H
#define M0_TOOLS_LOG_PIPE_H

#include "m0/base.h"

enum {
	LOG_PIPE_TEXT_BYTES = 2048
};

/**
 * Takes the lines up to `max` off the library's hands, until the process ends.
 * @return a descriptor that polls readable while there is one, or a negative
 *         errno.
 */
int log_pipe_init(enum m0_log_level max);
/** @retval false  there is none. */
bool     log_pipe_get(enum m0_log_level *level, char text[LOG_PIPE_TEXT_BYTES]);
uint64_t log_pipe_dropped_nr(void);

#endif /* M0_TOOLS_LOG_PIPE_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The log: messages of the library for users. */
#ifndef M0_LOG_H
#define M0_LOG_H

#include <stdarg.h>

#include "m0/macro.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_log_level {
	M0_LOG_FATAL,
	M0_LOG_ERROR,
	M0_LOG_WARN,
	M0_LOG_NOTICE,
	M0_LOG_INFO,
	M0_LOG_DEBUG,
	M0_LOG_NR
};

/**
 * Takes one line, or a few that belong together, without the last newline. Any
 * thread may call it, several at once, also with locks held. It must neither
 * block for long nor call the library.
 */
typedef void (*m0_log_sink_t)(void *arg, enum m0_log_level level,
			      const char *text);

/**
 * Installs the sink; NULL: standard error, one line per write. Call it before
 * other threads use the library: a line being written may still go to the old
 * sink.
 */
M0_EXTERN void m0_log_set(m0_log_sink_t sink, void *arg);
/** Sets the log level: lines up to `max` are logged. M0_LOG_WARN at start. */
M0_EXTERN void              m0_log_level_set(enum m0_log_level max);
M0_EXTERN enum m0_log_level m0_log_level(void);
/** Returns the name of a level, such as "warning". */
M0_EXTERN const char *m0_log_level_name(enum m0_log_level level);

/** Logs one line, or several that belong together; cut at 1279 bytes. */
M0_EXTERN void m0_log(enum m0_log_level level, const char *fmt, ...)
	M0_PRINTF(2, 3);
M0_EXTERN void m0_logv(enum m0_log_level level, const char *fmt, va_list args)
	M0_PRINTF(2, 0);

/**
 * Returns the name of an error number of either sign, a constant string:
 * "EINVAL" for -EINVAL; "0" for 0; "unknown error" if it has no name.
 */
M0_EXTERN const char *m0_errname(int rc);

#ifdef __cplusplus
}
#endif
#endif /* M0_LOG_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The reference's trace statements, as lines of m0/log.h. The compiler checks
 * the arguments of M0_ENTRY and M0_LEAVE, but the library does not log them.
 */
#ifndef M0_COMPAT_LIB_TRACE_H
#define M0_COMPAT_LIB_TRACE_H

#include "m0/compat/helpers.h"
#include "m0/log.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_trace_level {
	M0_NONE = -1,
	M0_FATAL = M0_LOG_FATAL,
	M0_ERROR = M0_LOG_ERROR,
	M0_WARN = M0_LOG_WARN,
	M0_NOTICE = M0_LOG_NOTICE,
	M0_INFO = M0_LOG_INFO,
	M0_DEBUG = M0_LOG_DEBUG,
	M0_CALL = M0_LOG_NR
};

/** Never called: it lets the compiler check a format. */
static inline void m0_compat_format(const char *fmt, ...) M0_PRINTF(1, 2);
static inline void m0_compat_format(const char *fmt, ...)
{
	(void)fmt;
}

/* clang-format off */

/** Logs a line; lines of the levels M0_NONE and M0_CALL are not logged. */
#define M0_LOG(level, ...) ({                                              \
	if ((level) >= M0_FATAL && (level) <= M0_DEBUG)                    \
		m0_log((enum m0_log_level)(level), __VA_ARGS__);           \
	(void)0; })

#define M0_ENTRY(...) ({                                                   \
	if (false)                                                         \
		m0_compat_format(" " __VA_ARGS__);                         \
	(void)0; })
#define M0_LEAVE(...) M0_ENTRY(__VA_ARGS__)

/** Returns the value, for `return M0_RC(rc);`. */
#define M0_RC(rc) ({                                                       \
	__typeof__(rc) m0_rc_ = (rc);                                      \
	m0_rc_; })
#define M0_RC_INFO(rc, ...) ({                                             \
	M0_ENTRY(__VA_ARGS__);                                             \
	M0_RC(rc); })
/** M0_RC() for a failure, which it logs. Pre: not 0. */
#define M0_ERR(rc) ({                                                      \
	__typeof__(rc) m0_rc_ = (rc);                                      \
	M0_ASSERT(m0_rc_ != 0);                                            \
	m0_log(M0_LOG_ERROR, "%s: %s", __func__, m0_errname((int)m0_rc_)); \
	m0_rc_; })
#define M0_ERR_INFO(rc, fmt, ...) ({                                       \
	__typeof__(rc) m0_rc_ = (rc);                                      \
	M0_ASSERT(m0_rc_ != 0);                                            \
	m0_log(M0_LOG_ERROR, "%s: %s, " fmt, __func__,                     \
	       m0_errname((int)m0_rc_), ## __VA_ARGS__);                   \
	m0_rc_; })

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif /* M0_COMPAT_LIB_TRACE_H */

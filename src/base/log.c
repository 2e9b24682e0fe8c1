/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "base/hooks.h"

enum {
	LINE_MAX_BYTES = 960
};

static m0_log_sink_t     sink;
static void             *sink_arg;
static enum m0_log_level level_max = M0_LOG_WARN;

void m0_log_set(m0_log_sink_t new_sink, void *arg)
{
	sink_arg = arg;
	sink = new_sink;
}

void m0_log_level_set(enum m0_log_level max)
{
	__atomic_store_n(&level_max, max, __ATOMIC_RELAXED);
}

enum m0_log_level m0_log_level(void)
{
	return __atomic_load_n(&level_max, __ATOMIC_RELAXED);
}

const char *m0_log_level_name(enum m0_log_level level)
{
	static const char *const name[M0_LOG_NR] = {
		[M0_LOG_FATAL] = "fatal",  [M0_LOG_ERROR] = "error",
		[M0_LOG_WARN] = "warning", [M0_LOG_NOTICE] = "notice",
		[M0_LOG_INFO] = "info",    [M0_LOG_DEBUG] = "debug"
	};

	return (unsigned)level < M0_LOG_NR ? name[level] : "unknown level";
}

void m0_logv(enum m0_log_level level, const char *fmt, va_list args)
{
	char text[LINE_MAX_BYTES];

	if (level > m0_log_level())
		return;
	if (vsnprintf(text, sizeof text, fmt, args) < 0)
		return;
	if (sink != NULL)
		sink(sink_arg, level, text);
	else
		m0_base__hooks()->bh_log(NULL, level, text);
}

void m0_log(enum m0_log_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	m0_logv(level, fmt, args);
	va_end(args);
}

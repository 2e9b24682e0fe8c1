/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>

#include "base/probes.h"

enum {
	TEXT_MAX_BYTES = 512
};

m0_probe_sink_t m0_probe_sink;
static void    *probe_sink_arg;

void m0_probe_sink_set(m0_probe_sink_t sink, void *arg)
{
	probe_sink_arg = arg;
	m0_probe_sink = sink;
}

void m0_probe__render(const char *name, const char *fmt, ...)
{
	char    text[TEXT_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(text, sizeof text, fmt, args) < 0)
		text[0] = 0;
	va_end(args);
	m0_probe_sink(probe_sink_arg, name, text);
}

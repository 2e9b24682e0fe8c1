/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Trace events. Each line of probes.def is one function here:
 *
 *	m0_probe_tm_state(tm->ntm_ep->nep_addr, "started", "stopping");
 *
 * compiled to a USDT probe `colibri:tm_state` (a no-op until a tracer takes an
 * interest; if <sys/sdt.h> was there) and to one branch on m0_probe_sink.
 * Arguments are cheap to get: they are evaluated in any case.
 */
#ifndef M0_SRC_BASE_PROBES_H
#define M0_SRC_BASE_PROBES_H

#include "m0/base.h"

#if defined(__has_include) && !defined(M0_NO_USDT)
#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define M0_PROBES_USDT 1
#endif
#endif

/**
 * Receives the text of an event of this process, on any thread, with any lock
 * held.
 * @param name  as in probes.def.
 */
typedef void (*m0_probe_sink_t)(void *arg, const char *name, const char *text);

extern m0_probe_sink_t m0_probe_sink;

/** NULL: none. Only while no other thread is in the library. */
void m0_probe_sink_set(m0_probe_sink_t sink, void *arg);

void m0_probe__render(const char *name, const char *fmt, ...) M0_PRINTF(2, 3)
	__attribute__((__cold__));

#ifdef M0_PROBES_USDT
#define M0_PROBE_USDT_(name, ...) STAP_PROBEV(colibri, name, __VA_ARGS__)
#else
#define M0_PROBE_USDT_(name, ...) ((void)0)
#endif

/* clang-format off */
#define M0_PROBE(name, fmt, params, args)                                    \
	static inline void m0_probe_##name params                            \
	{                                                                    \
		M0_PROBE_USDT_(name, M0_UNPACK args);                        \
		if (M0_UNLIKELY(m0_probe_sink != NULL))                      \
			m0_probe__render(#name, fmt, M0_UNPACK args);        \
	}
/* clang-format on */
#include "base/probes.def"
#undef M0_PROBE

#endif /* M0_SRC_BASE_PROBES_H */

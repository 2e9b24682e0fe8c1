/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The clock of a pass is read once at its beginning. Everything that happens in
 * the pass on this thread, calls from callbacks included, happens at that time
 * (m0_time_cached()). Passes nest: the inner one has its own clock.
 *
 * m0_strand_step() begins a pass; a caller that runs a transfer machine without
 * a strand begins it itself.
 */
#ifndef M0_SRC_OS_PASS_H
#define M0_SRC_OS_PASS_H

#include "base/tls.h"
#include "m0/base.h"

enum {
	M0_PASS_DEPTH_MAX = 8
};

struct m0_pass_tls {
	uint32_t ps_depth;
	/** Clocks of the passes this thread is in; deeper ones share the last. */
	m0_time_t ps_now[M0_PASS_DEPTH_MAX];
};

M0_TLS_EXTERN(struct m0_pass_tls, m0_pass_tls);

static inline void m0_time_pass_begin(m0_time_t now)
{
	struct m0_pass_tls *pass = m0_pass_tls();
	uint32_t            depth = pass->ps_depth++;

	if (M0_LIKELY(depth < M0_PASS_DEPTH_MAX))
		pass->ps_now[depth] = now;
}

/** The innermost pass goes on at another time. */
static inline void m0_time_pass_move(m0_time_t now)
{
	struct m0_pass_tls *pass = m0_pass_tls();

	M0_PRE(pass->ps_depth > 0);
	if (M0_LIKELY(pass->ps_depth <= M0_PASS_DEPTH_MAX))
		pass->ps_now[pass->ps_depth - 1] = now;
}

static inline void m0_time_pass_end(void)
{
	struct m0_pass_tls *pass = m0_pass_tls();

	M0_PRE(pass->ps_depth > 0);
	--pass->ps_depth;
}

/** m0_time_cached(), in line. */
static inline m0_time_t m0_time_pass_now(void)
{
	const struct m0_pass_tls *pass = m0_pass_tls();
	uint32_t                  depth = pass->ps_depth;

	if (M0_UNLIKELY(depth == 0))
		return m0_time_now();
	return pass->ps_now[min64u(depth, M0_PASS_DEPTH_MAX) - 1];
}

/** True inside a pass. */
static inline bool m0_time_pass_is_on(void)
{
	return m0_pass_tls()->ps_depth > 0;
}

#endif /* M0_SRC_OS_PASS_H */

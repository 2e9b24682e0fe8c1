/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Assertions. They are active in every build, so each costs one predictable
 * branch. A failing assertion is a programmer's error: it writes file, line,
 * condition and the conjunct that failed to the log, and aborts the process.
 * Faults of a peer or of the host are never asserted on.
 */
#ifndef M0_ASSERT_H
#define M0_ASSERT_H

#include "m0/macro.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Position of an assertion in the source. */
struct m0_panic_place {
	const char *pp_kind;
	const char *pp_expr;
	const char *pp_func;
	const char *pp_file;
	int         pp_line;
};

/** Logs the reason and ends the process. `fmt` may be NULL. */
M0_EXTERN void m0_panic(const struct m0_panic_place *place, const char *fmt,
			...) __attribute__((noreturn, __cold__))
M0_PRINTF(2, 3);

/** Records `expr` as this thread's last false conjunct. Returns false. */
M0_EXTERN bool m0_panic_conjunct(const char *expr) __attribute__((__cold__));

/**
 * Called by a failing assertion after it has written to the log, instead of
 * abort(). The hook must not return: the hook of a test jumps away. NULL:
 * abort.
 */
typedef void (*m0_panic_hook_t)(const struct m0_panic_place *place,
				const char                  *text);
/** @return the hook that was installed before. */
M0_EXTERN m0_panic_hook_t m0_panic_hook_set(m0_panic_hook_t hook);

/* clang-format off */
#define M0_PANIC_IF_(kind, text, cond, ...) ({                     \
	if (M0_UNLIKELY(!(cond))) {                                \
		static const struct m0_panic_place m0_place_ = {   \
			kind, text, __func__, __FILE__, __LINE__   \
		};                                                 \
		m0_panic(&m0_place_, __VA_ARGS__);                 \
	}                                                          \
	(void)0; })
/* clang-format on */

/** A condition that must be true here. */
#define M0_ASSERT(cond) M0_PANIC_IF_("assertion", #cond, cond, NULL)
/** A precondition: if it is false, the caller is wrong. */
#define M0_PRE(cond) M0_PANIC_IF_("precondition", #cond, cond, NULL)
/** A postcondition: if it is false, this function is wrong. */
#define M0_POST(cond) M0_PANIC_IF_("postcondition", #cond, cond, NULL)
/** Assertion with a printf-style explanation. */
#define M0_ASSERT_INFO(cond, ...) \
	M0_PANIC_IF_("assertion", #cond, cond, __VA_ARGS__)
/**
 * An invariant that is too expensive for every build; only -DM0_DEBUG_CHECKS
 * checks it.
 */
#ifdef M0_DEBUG_CHECKS
#define M0_INVARIANT_EX(cond) M0_PANIC_IF_("invariant", #cond, cond, NULL)
#else
#define M0_INVARIANT_EX(cond) ((void)sizeof((cond) ? 1 : 0))
#endif
#define M0_ASSERT_EX(cond) M0_INVARIANT_EX(cond)
#define M0_PRE_EX(cond)    M0_INVARIANT_EX(cond)
#define M0_POST_EX(cond)   M0_INVARIANT_EX(cond)
/* clang-format off */
/** Marks code that is never reached: M0_IMPOSSIBLE("why"), or with a format. */
#define M0_IMPOSSIBLE(...) ({                                      \
	static const struct m0_panic_place m0_place_ = {           \
		"impossible", "reached", __func__, __FILE__, __LINE__ \
	};                                                         \
	m0_panic(&m0_place_, __VA_ARGS__); })
/* clang-format on */

/**
 * Marks a conjunct of an invariant, so that a failing assertion of the whole
 * invariant names it: `return _0C(a > 0) && _0C(b < a);`
 */
#define _0C(expr) (M0_LIKELY(expr) ? true : m0_panic_conjunct(#expr))

#ifdef __cplusplus
}
#endif
#endif /* M0_ASSERT_H */

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Assertions: on in every build, so each costs one predictable branch. A
 * failing one is a programmer's error: it is written to the log with file,
 * line, condition and the conjunct that failed, and the process aborts.
 * What a peer or the machine does wrong is never asserted on.
 */
#ifndef M0_ASSERT_H
#define M0_ASSERT_H

#include "m0/macro.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Where an assertion stands. */
struct m0_panic_place {
	const char *pp_kind;
	const char *pp_expr;
	const char *pp_func;
	const char *pp_file;
	int         pp_line;
};

/** Ends the process, telling the log why. `fmt` may be NULL. */
M0_EXTERN void m0_panic(const struct m0_panic_place *place, const char *fmt,
			...) __attribute__((noreturn, cold)) M0_PRINTF(2, 3);

/** Remembers `expr` as this thread's last false conjunct. Returns false. */
M0_EXTERN bool m0_panic_conjunct(const char *expr) __attribute__((cold));

/**
 * Called by a failing assertion, after the log was written, instead of abort();
 * must not return. Tests install one that jumps away. NULL: abort.
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

/** Something that must be true here. */
#define M0_ASSERT(cond) M0_PANIC_IF_("assertion", #cond, cond, NULL)
/** Precondition: the caller is to blame. */
#define M0_PRE(cond) M0_PANIC_IF_("precondition", #cond, cond, NULL)
/** Postcondition: this function is to blame. */
#define M0_POST(cond) M0_PANIC_IF_("postcondition", #cond, cond, NULL)
/** Assertion with a printf-style explanation. */
#define M0_ASSERT_INFO(cond, ...) \
	M0_PANIC_IF_("assertion", #cond, cond, __VA_ARGS__)
/** An invariant too dear for every build: looked at with -DM0_DEBUG_CHECKS only. */
#ifdef M0_DEBUG_CHECKS
#define M0_INVARIANT_EX(cond) M0_PANIC_IF_("invariant", #cond, cond, NULL)
#else
#define M0_INVARIANT_EX(cond) ((void)sizeof((cond) ? 1 : 0))
#endif
#define M0_ASSERT_EX(cond) M0_INVARIANT_EX(cond)
#define M0_PRE_EX(cond)    M0_INVARIANT_EX(cond)
#define M0_POST_EX(cond)   M0_INVARIANT_EX(cond)
/* clang-format off */
/** A place that is never reached. M0_IMPOSSIBLE("why") or with a format. */
#define M0_IMPOSSIBLE(...) ({                                      \
	static const struct m0_panic_place m0_place_ = {           \
		"impossible", "reached", __func__, __FILE__, __LINE__ \
	};                                                         \
	m0_panic(&m0_place_, __VA_ARGS__); })
/* clang-format on */

/**
 * Marks a conjunct of an invariant, so that the assertion which fails over the
 * whole names the part: `return _0C(a > 0) && _0C(b < a);`
 */
#define _0C(expr) (M0_LIKELY(expr) ? true : m0_panic_conjunct(#expr))

#ifdef __cplusplus
}
#endif
#endif /* M0_ASSERT_H */

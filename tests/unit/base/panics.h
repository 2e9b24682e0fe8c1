/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** assert_panics(expr): `expr` must fail an assertion of the library. */
#ifndef M0_TESTS_UNIT_BASE_PANICS_H
#define M0_TESTS_UNIT_BASE_PANICS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "m0/base.h"

static jmp_buf panics_env;
static char    panics_text[512];

static inline void panics_hook(const struct m0_panic_place *place,
			       const char                  *text)
{
	(void)place;
	strncpy(panics_text, text, sizeof panics_text - 1);
	longjmp(panics_env, 1);
}

static inline void panics_no_log(void *arg, enum m0_log_level level,
				 const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

/* clang-format off */
#define assert_panics(expr) do {                                   \
	panics_text[0] = 0;                                        \
	m0_log_set(panics_no_log, NULL);                           \
	m0_panic_hook_set(panics_hook);                            \
	if (setjmp(panics_env) == 0) {                             \
		(void)(expr);                                      \
		m0_panic_hook_set(NULL);                           \
		fail_msg("no assertion failed: %s", #expr);        \
	}                                                          \
	m0_panic_hook_set(NULL);                                   \
	m0_log_set(NULL, NULL);                                    \
} while (0)
/* clang-format on */

#endif /* M0_TESTS_UNIT_BASE_PANICS_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>

#include "base/hooks.h"
#include "base/tls.h"

M0_TLS_STATIC(const char *, last_conjunct);
static m0_panic_hook_t panic_hook;

bool m0_panic_conjunct(const char *expr)
{
	*last_conjunct() = expr;
	return false;
}

m0_panic_hook_t m0_panic_hook_set(m0_panic_hook_t hook)
{
	m0_panic_hook_t before = panic_hook;

	panic_hook = hook;
	return before;
}

/* Appends to `text`; what does not fit is cut. */
static size_t text_add(char *text, size_t size, size_t at, const char *fmt,
		       va_list args)
{
	int nr = vsnprintf(text + at, size - at, fmt, args);

	return nr < 0 ? at : (size_t)min64u(at + (size_t)nr, size - 1);
}

static size_t M0_PRINTF(4, 5)
	text_addf(char *text, size_t size, size_t at, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	at = text_add(text, size, at, fmt, args);
	va_end(args);
	return at;
}

void m0_panic(const struct m0_panic_place *place, const char *fmt, ...)
{
	char    text[480];
	size_t  at;
	va_list args;

	at = text_addf(text, sizeof text, 0, "%s:%d: %s: %s failed: %s",
		       place->pp_file, place->pp_line, place->pp_func,
		       place->pp_kind, place->pp_expr);
	if (*last_conjunct() != NULL)
		at = text_addf(text, sizeof text, at,
			       "; last false conjunct: %s", *last_conjunct());
	*last_conjunct() = NULL;
	if (fmt != NULL) {
		at = text_addf(text, sizeof text, at, "; ");
		va_start(args, fmt);
		(void)text_add(text, sizeof text, at, fmt, args);
		va_end(args);
	}
	m0_log(M0_LOG_FATAL, "%s", text);
	if (panic_hook != NULL)
		panic_hook(place, text);
	m0_base__hooks()->bh_abort();
	__builtin_trap();
}

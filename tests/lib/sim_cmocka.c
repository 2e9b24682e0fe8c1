/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A simulation that failed fails the cmocka case that runs it. */
#include <stdlib.h>

#include "lib/env.h"

/* cmocka's: there if the program is a cmocka test. */
extern void _fail(const char *const file, const int line) __attribute__((weak));

void env_case_fail(void)
{
	if (_fail != NULL)
		_fail(__FILE__, __LINE__);
	abort();
}

__attribute__((constructor)) static void hook_install(void)
{
	m0_sim_on_failure(env_case_fail);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Measures as the module of pace.c does, in a process whose nodes are embedded. */
#include <stdio.h>
#include <stdlib.h>

#define PACE_PRINT(...)                       \
	do {                                  \
		(void)printf("user space: "); \
		(void)printf(__VA_ARGS__);    \
	} while (0)
#define PACE_CHECK(cond)         \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

#include "pace.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		pace_nr = (unsigned)strtoul(argv[1], NULL, 10);
	return run() == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** nng, for the programs that measure it. */
#ifndef BENCH_NNG_CK_H
#define BENCH_NNG_CK_H

#include <nng/nng.h>

#include "../lib/bench.h"

static inline void ck(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s", what, nng_strerror(rc));
}

#endif /* BENCH_NNG_CK_H */

/* SPDX-License-Identifier: Apache-2.0 */
/** ZeroMQ, for the programs that measure it. */
#ifndef BENCH_ZMQ_CK_H
#define BENCH_ZMQ_CK_H

#include <zmq.h>

#include "bench.h"

static inline void ck(int rc, const char *what)
{
	if (rc < 0)
		bench_die("%s: %s", what, zmq_strerror(zmq_errno()));
}

#endif /* BENCH_ZMQ_CK_H */

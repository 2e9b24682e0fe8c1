/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Failure loops of stories that run in real time. */
#ifndef M0_TESTS_FAIL_FAIL_REAL_H
#define M0_TESTS_FAIL_FAIL_REAL_H

#include "fail/sys.h"

/** Each allocation fails in turn. */
void fail_real_allocs(void (*story)(void), const char *name);
/** Each system call of sockets, loops and threads does, with each error. */
void fail_real_calls(void (*story)(void), const char *name);

/** Nodes from now on: threads that move payloads; through shared memory. */
void fail_real_nodes(uint32_t lanes, bool near);

/** Nodes from now on are fronts of processes, each attached to a daemon. */
void fail_real_share(bool on);

#endif /* M0_TESTS_FAIL_FAIL_REAL_H */

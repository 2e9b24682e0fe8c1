/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Failure loops. A story uses a part of the library from beginning to end; it runs
 * again and again, and each time another allocation fails: the first, the second,
 * until there is none left. Each time the call that meets the failure returns an
 * error, the same call again succeeds, every operation completes, and nothing leaks.
 *
 * Stories run in the simulator: time-outs cost nothing, and a run is the same each
 * time.
 */
#ifndef M0_TESTS_FAIL_FAIL_H
#define M0_TESTS_FAIL_FAIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "m0/net.h"
#include "m0/sim_net.h"
#include "sim/sched/heap.h"

struct fail_story {
	const char *fst_name;
	/** Checks that the story is about something. */
	unsigned fst_allocs_min;
	void (*fst_tell)(void);
};

/** The last is without a name. */
extern const struct fail_story fail_base_stories[];
extern const struct fail_story fail_net_stories[];
extern const struct fail_story fail_lnet_stories[];
extern const struct fail_story fail_rpc_stories[];
extern const struct fail_story fail_calls_stories[];
extern const struct fail_story fail_easy_stories[];
extern const struct fail_story fail_selftest_stories[];

/** Tells it as often as it takes. */
void fail_each(const struct fail_story *story);

/* -- in a story ------------------------------------------------------------ */

/** Has the allocation of this run failed? Before that no call may. */
bool fail_came(void);
/** Notes that the failure was told by `rc`; fails the test if it had no reason. */
void fail_told(int rc, const char *what);
/** A call has failed though nothing was wrong any more. */
void fail_untold(int rc, const char *what);
/** The simulation of this run. */
struct m0_sim *fail_sim(void);
/** Runs until cond(arg); false: not in a minute of virtual time. */
bool fail_until(bool (*cond)(void *arg), void *arg);
/** Sets the application's work of each millisecond, for TMs that want to be
 * polled. NULL: none. */
void fail_pump_set(void (*pump)(void));
/** Runs until cond(arg), and fails the test if that does not come. */
#define FAIL_UNTIL(cond, arg)                       \
	do {                                        \
		if (!fail_until((cond), (arg)))     \
			fail_untold(-ETIME, #cond); \
	} while (0)

enum {
	/** No more failures than that in a run. */
	FAIL_TRIES_MAX = 4
};

/** A call that may fail for want of memory, and then must not. */
#define FAIL_TRY(call)                                                         \
	do {                                                                   \
		int fail_rc_ = (call);                                         \
		int fail_i_ = 0;                                               \
                                                                               \
		for (; fail_rc_ != 0 && fail_i_ < FAIL_TRIES_MAX; ++fail_i_) { \
			fail_told(fail_rc_, #call);                            \
			fail_rc_ = (call);                                     \
		}                                                              \
		if (fail_rc_ != 0)                                             \
			fail_untold(fail_rc_, #call);                          \
	} while (0)

#endif /* M0_TESTS_FAIL_FAIL_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched.h for tests inside the kernel. */
#include <linux/sched.h>

#define sched_yield()  yield()
#define sched_getcpu() raw_smp_processor_id()

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os_internal.h"

bool m0_os__futex_wait(uint32_t *word, uint32_t value, m0_time_t deadline)
{
	struct timespec ts = { .tv_sec = (time_t)m0_time_seconds(deadline),
			       .tv_nsec = (long)m0_time_nanoseconds(deadline) };
	/* The bitset form takes a point of time, not a length. */
	long rc = syscall(SYS_futex, word,
			  FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
			  deadline == M0_TIME_NEVER ? NULL : &ts, NULL,
			  FUTEX_BITSET_MATCH_ANY);

	return rc == 0 || errno != ETIMEDOUT;
}

void m0_os__futex_wake(uint32_t *word, uint32_t nr)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, nr,
		      NULL, NULL, 0);
}

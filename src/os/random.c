/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <sys/random.h>

#include "os/os_internal.h"

void m0_os__random(void *ret_bytes, size_t nr)
{
	uint8_t *at = ret_bytes;

	while (nr > 0) {
		ssize_t got = getrandom(at, nr, 0);

		if (got < 0) {
			M0_ASSERT(errno == EINTR);
			continue;
		}
		at += got;
		nr -= (size_t)got;
	}
}

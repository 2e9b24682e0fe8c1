/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages by which two `colibri perf` agree. */
#include "lib/fuzz.h"
#include "../tools/perf/perf_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_msg msg;
	uint8_t        *bytes = fuzz_copy(data, size);
	uint8_t        *again = malloc(size + 1);
	int             rc = perf_msg_decode(&msg, bytes, size);

	M0_ASSERT(again != NULL);
	M0_ASSERT(M0_IN(rc, (0, -EPROTONOSUPPORT, -EBADMSG)));
	if (rc == 0) {
		M0_ASSERT(perf_msg_encode(&msg, again, size + 1) == (int)size);
		M0_ASSERT(memcmp(again, bytes, size) == 0);
		M0_ASSERT(perf_msg_encode(&msg, again, size - 1) == -EMSGSIZE);
	}
	free(again);
	free(bytes);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Headers of LNet messages, 72 and 96 bytes. */
#include "lib/fuzz.h"
#include "lnet/wire/wire.h"

static void hdr_check(const uint8_t *data, bool large)
{
	size_t nr = large ? M0_LNET_HDR_LARGE_BYTES : M0_LNET_HDR_BYTES;
	size_t nids = large ? 2 * M0_LNET_NID_BYTES : 2 * sizeof(uint64_t);
	struct m0_lnet_hdr hdr;
	struct m0_lnet_hdr again;
	uint8_t            first[M0_LNET_HDR_LARGE_BYTES];
	uint8_t            second[M0_LNET_HDR_LARGE_BYTES];
	uint8_t           *bytes = fuzz_copy(data, nr);
	int                rc = m0_lnet__hdr_decode(&hdr, large, bytes);

	M0_ASSERT(rc == 0 || rc == -EPROTO);
	if (rc == 0) {
		M0_ASSERT(m0_lnet__hdr_encode(&hdr, large, first) == nr);
		/* Compare the bytes, except for those that the type does not
		 * carry. */
		M0_ASSERT(memcmp(first + nids, bytes + nids, 32) == 0);
		if (!large)
			M0_ASSERT(memcmp(first, bytes, nids) == 0);
		M0_ASSERT(m0_lnet__hdr_decode(&again, large, first) == 0);
		M0_ASSERT(m0_lnet__hdr_encode(&again, large, second) == nr);
		M0_ASSERT(memcmp(first, second, nr) == 0);
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= M0_LNET_HDR_BYTES)
		hdr_check(data, false);
	if (size >= M0_LNET_HDR_LARGE_BYTES)
		hdr_check(data, true);
	return 0;
}

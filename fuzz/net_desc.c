/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Descriptors of buffers. The sum is put right: else nothing would get by it. */
#include "lib/fuzz.h"
#include "m0/net.h"
#include "m0/net_kit.h"
#include "os/os.h"

static void desc_check(uint8_t *bytes, size_t size)
{
	struct m0_net_buf_desc desc = { .nbd_len = (uint32_t)size,
					.nbd_data = bytes };
	struct m0_net_buf_desc again;
	struct m0_net_kit_desc kd;

	if (m0_net_kit_desc_decode(&desc, &kd) != 0)
		return;
	M0_ASSERT(kd.nks_passive.nka_len <= M0_NET_KIT_ADDR_MAX);
	M0_ASSERT(kd.nks_active.nka_len <= M0_NET_KIT_ADDR_MAX);
	M0_ASSERT(m0_net_kit_desc_encode(&kd, &again) == 0);
	M0_ASSERT(again.nbd_len == size);
	M0_ASSERT(memcmp(again.nbd_data, bytes, size) == 0);
	m0_net_desc_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_copy(data, size);
	uint32_t crc;

	desc_check(bytes, size);
	if (size >= sizeof crc) {
		crc = __builtin_bswap32(
			m0_os_crc32c(0, bytes, size - sizeof crc));
		memcpy(bytes + size - sizeof crc, &crc, sizeof crc);
		desc_check(bytes, size);
	}
	free(bytes);
	return 0;
}

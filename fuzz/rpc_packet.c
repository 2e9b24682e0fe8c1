/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Packets of the RPC layer, with the sum put right and as it came. */
#include "lib/fuzz.h"
#include "os/os.h"
#include "rpc/core/rpc_wire.h"

static const struct m0_rpc_wire_sum sum = { .rws_add = m0_os_crc32c };

/* Taken apart and put together again it is the same. */
static void packet_check(const uint8_t *bytes, size_t size)
{
	struct m0_rpc_wire_in     in;
	struct m0_rpc_wire_packet packet;
	struct m0_rpc_wire_item   item;
	struct m0_rpc_wire_seg    seg;
	const void               *body;
	uint8_t                  *again;
	size_t                    nr = M0_RPC_WIRE_PACKET_BYTES;
	int rc = m0_rpc__wire_open(&in, &packet, bytes, size, &sum);

	if (rc == -EPROTONOSUPPORT || rc == -EOPNOTSUPP) {
		M0_ASSERT((packet.rwp_version == 0) == (rc == -EOPNOTSUPP));
		return;
	}
	if (rc != 0)
		return;
	again = malloc(size);
	M0_ASSERT(again != NULL);
	while ((rc = m0_rpc__wire_next(&in, &item, &body)) == 1) {
		M0_ASSERT((const uint8_t *)body - bytes ==
			  (ptrdiff_t)nr + M0_RPC_WIRE_ITEM_BYTES);
		M0_ASSERT(nr + m0_rpc__wire_item_size(item.rwi_size) <= size);
		m0_rpc__wire_item_put(again + nr, &item);
		nr += M0_RPC_WIRE_ITEM_BYTES;
		memcpy(again + nr, body, item.rwi_size);
		nr += item.rwi_size;
		nr += m0_rpc__wire_pad_put(again + nr, item.rwi_size);
	}
	if (rc == 0) {
		seg.rwg_base = again;
		seg.rwg_nr = nr;
		M0_ASSERT(nr == size);
		M0_ASSERT(m0_rpc__wire_seal(&packet, &seg, 1, &sum) == size);
		M0_ASSERT(memcmp(again, bytes, size) == 0);
	} else {
		/* And so it stays. */
		M0_ASSERT(m0_rpc__wire_next(&in, &item, &body) == rc);
	}
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = fuzz_copy(data, size);
	uint32_t nr = (uint32_t)size;
	uint32_t crc;

	packet_check(bytes, size);
	if (size >= M0_RPC_WIRE_PREFIX_BYTES) {
		memcpy(bytes + 12, &nr, sizeof nr);
		crc = m0_os_crc32c(0, bytes + 8, size - 8);
		memcpy(bytes + 4, &crc, sizeof crc);
		packet_check(bytes, size);
	}
	free(bytes);
	return 0;
}

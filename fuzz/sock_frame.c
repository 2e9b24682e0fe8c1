/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Frames of the socket driver, in both byte orders, and what they acknowledge. */
#include "lib/fuzz.h"
#include "lnd/ksock/ksock_wire.h"

static void frame_check(const uint8_t *bytes, bool swapped)
{
	struct m0_sock_frame frame;
	uint8_t              buf[M0_SOCK_FRAME_BYTES];
	uint64_t             ranges[2][2];
	int                  nr;
	int                  i;

	if (m0_sock__frame_decode(&frame, swapped, bytes) != 0)
		return;
	m0_sock__frame_encode(&frame, buf);
	if (!swapped)
		M0_ASSERT(memcmp(buf, bytes, sizeof buf) == 0);
	nr = m0_sock__frame_acks(&frame, ranges);
	M0_ASSERT(nr == -EPROTO || (nr >= 0 && nr <= 2));
	for (i = 0; i < nr; ++i) {
		M0_ASSERT(ranges[i][0] <= ranges[i][1]);
		/* 0 is nothing, 1 that of a keep-alive. */
		M0_ASSERT(ranges[i][0] > 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t csum;

	if (size < M0_SOCK_FRAME_BYTES)
		return 0;
	frame_check(data, false);
	frame_check(data, true);
	/* A checksum is the same however it is cut. */
	csum = m0_sock__csum(M0_SOCK_CSUM_INIT, data, data[0] % size);
	M0_ASSERT(m0_sock__csum(csum, data + data[0] % size,
				size - data[0] % size) ==
		  m0_sock__csum(M0_SOCK_CSUM_INIT, data, size));
	return 0;
}

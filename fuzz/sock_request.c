/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Connection requests, versions 1 and 2. */
#include "lib/fuzz.h"
#include "lnd/ksock/ksock_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct m0_sock_request req;
	struct m0_sock_request again;
	uint8_t                buf[M0_SOCK_REQUEST_BYTES_MAX];
	uint8_t               *bytes;
	int                    want;
	int                    rc;

	if (size < M0_SOCK_HEAD_BYTES)
		return 0;
	want = m0_sock__request_bytes(data);
	if (want < 0 || (size_t)want > size)
		return 0;
	bytes = fuzz_copy(data, (size_t)want);
	rc = m0_sock__request_decode(&req, bytes);
	M0_ASSERT(rc == 0 || rc == -EPROTO);
	if (rc == 0) {
		rc = (int)m0_sock__request_encode(&req, buf);
		M0_ASSERT(m0_sock__request_bytes(buf) == rc);
		M0_ASSERT(m0_sock__request_decode(&again, buf) == 0);
		M0_ASSERT(m0_lnet_nid_eq(&req.sr_nid, &again.sr_nid));
		/* A request that our encoder could have made is encoded the
		 * same way. */
		if (data[0] == 0 && rc == want &&
		    !m0_lnet_nid_is_any(&req.sr_nid))
			M0_ASSERT(memcmp(buf, data, (size_t)rc) == 0);
	}
	free(bytes);
	return 0;
}

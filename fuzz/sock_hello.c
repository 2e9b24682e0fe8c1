/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* HELLO of the socket driver, versions 1 to 4, with its addresses. */
#include "lib/fuzz.h"
#include "lnd/ksock/ksock_wire.h"

/* An accepted HELLO is encoded to one that decodes to the same. */
static void again_check(const struct m0_sock_hello *hello, size_t bytes)
{
	struct m0_sock_hello again;
	uint8_t              first[M0_SOCK_HELLO_BYTES_MAX];
	uint8_t              second[M0_SOCK_HELLO_BYTES_MAX];

	M0_ASSERT(m0_sock__hello_encode(hello, first) == bytes);
	M0_ASSERT(m0_sock__hello_bytes(first) == (int)bytes);
	M0_ASSERT(m0_sock__hello_decode(&again, first) == 0);
	M0_ASSERT(!again.sh_swapped);
	M0_ASSERT(again.sh_version == hello->sh_version);
	M0_ASSERT(again.sh_ctype == hello->sh_ctype);
	M0_ASSERT(again.sh_ips_nr == hello->sh_ips_nr);
	M0_ASSERT(again.sh_src_pid == hello->sh_src_pid);
	M0_ASSERT(again.sh_src_incarnation == hello->sh_src_incarnation);
	M0_ASSERT(m0_lnet_nid_eq(&again.sh_src_nid, &hello->sh_src_nid));
	M0_ASSERT(m0_lnet_nid_eq(&again.sh_dst_nid, &hello->sh_dst_nid));
	M0_ASSERT(m0_sock__hello_encode(&again, second) == bytes);
	M0_ASSERT(memcmp(first, second, bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct m0_sock_hello hello;
	uint8_t             *bytes;
	uint8_t             *ips;
	size_t               ips_bytes;
	int                  want;

	if (size < M0_SOCK_HEAD_BYTES)
		return 0;
	want = m0_sock__hello_bytes(data);
	if (want < 0 || (size_t)want > size)
		return 0;
	bytes = fuzz_copy(data, (size_t)want);
	if (m0_sock__hello_decode(&hello, bytes) == 0) {
		M0_ASSERT(hello.sh_ips_nr <= M0_SOCK_HELLO_IPS_MAX);
		M0_ASSERT(hello.sh_version < M0_SOCK_V4 ||
			  hello.sh_ips_nr == 0);
		again_check(&hello, (size_t)want);
		ips_bytes = 4 * (size_t)hello.sh_ips_nr;
		if (size - (size_t)want >= ips_bytes) {
			ips = fuzz_copy(data + want, ips_bytes);
			(void)m0_sock__hello_ips_bad(ips, hello.sh_ips_nr);
			free(ips);
		}
	}
	free(bytes);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Addresses of end points, as text: transport lnet, and mem through its table. */
#include "lib/fuzz.h"
#include "xprt/lnet/xlnet_internal.h"

/* As bytes, of a descriptor: what they print is no other address. */
static void bytes_check(const uint8_t *data, size_t size)
{
	struct m0_net_kit_addr addr = { .nka_len = (uint32_t)size };
	struct m0_net_kit_addr again;
	struct xlnet_addr      xa;
	char                   said[M0_NET_KIT_ADDR_TEXT];
	char                   second[M0_NET_KIT_ADDR_TEXT];

	if (size > M0_NET_KIT_ADDR_MAX)
		return;
	memcpy(addr.nka_bytes, data, size);
	m0_xlnet__addr_print(&addr, said);
	if (m0_xlnet__addr_unpack(&addr, &xa) != 0) {
		M0_ASSERT(said[0] == 0);
	} else if (m0_xlnet__addr_parse(said, &again) == 0) {
		m0_xlnet__addr_print(&again, second);
		M0_ASSERT(m0_lnet_nid_is_lo(&xa.xa_nid) ||
			  strcmp(said, second) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char                  *text = fuzz_text(data, size);
	struct m0_net_kit_addr addr;
	struct m0_net_kit_addr again;
	struct xlnet_addr      xa;
	char                   said[M0_NET_KIT_ADDR_TEXT];
	int                    rc = m0_xlnet__addr_parse(text, &addr);

	M0_ASSERT(rc == 0 || rc == -EINVAL);
	if (rc == 0) {
		m0_xlnet__addr_print(&addr, said);
		M0_ASSERT(strlen(said) < M0_NET_LNET_XEP_ADDR_LEN);
		M0_ASSERT(m0_xlnet__addr_parse(said, &again) == 0);
		M0_ASSERT(m0_net_kit_addr_eq(&addr, &again));
		M0_ASSERT(m0_xlnet__addr_unpack(&addr, &xa) == 0);
		m0_xlnet__addr_pack(&xa, &again);
		M0_ASSERT(m0_net_kit_addr_eq(&addr, &again));
		M0_ASSERT(m0_xlnet__wanted_parse(text, &again) == 0);
		M0_ASSERT(m0_net_lnet_ep_addr_net_cmp(text, text) == 0);
	}
	(void)m0_xlnet__wanted_parse(text, &again);
	(void)m0_net_lnet_ep_addr_net_cmp(text, "10.0.0.1@tcp:12345:34:1");
	free(text);
	bytes_check(data, size);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* NIDs and nets as text. */
#include "lib/fuzz.h"
#include "m0/lnet_nid.h"

static void nid_check(const char *text)
{
	struct m0_lnet_nid nid = m0_lnet_nid_lo;
	struct m0_lnet_nid again;
	char               said[M0_LNET_NIDSTR_SIZE];
	uint8_t            bytes[M0_LNET_NID_BYTES];
	int                rc = m0_lnet_nid_parse(&nid, text);

	M0_ASSERT(rc == 0 || rc == -EINVAL);
	if (rc != 0) {
		M0_ASSERT(m0_lnet_nid_eq(&nid, &m0_lnet_nid_lo));
		return;
	}
	M0_ASSERT(!m0_lnet_nid_is_any(&nid));
	m0_lnet_nid_print(&nid, said, sizeof said);
	M0_ASSERT(m0_lnet_nid_parse(&again, said) == 0);
	M0_ASSERT(m0_lnet_nid_eq(&nid, &again));
	m0_lnet_nid_encode(&nid, bytes);
	M0_ASSERT(m0_lnet_nid_decode(&again, bytes) == 0);
	M0_ASSERT(m0_lnet_nid_eq(&nid, &again));
	M0_ASSERT(m0_lnet_nid_parse_any(&again, text) == 0);
	M0_ASSERT(m0_lnet_nid_eq(&nid, &again));
}

static void net_check(const char *text)
{
	uint32_t net;
	uint32_t again;
	char     said[M0_LNET_NIDSTR_SIZE];

	if (m0_lnet_net_parse(&net, text) != 0)
		return;
	m0_lnet_net_print(net, said, sizeof said);
	M0_ASSERT(m0_lnet_net_parse(&again, said) == 0 && again == net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char              *text = fuzz_text(data, size);
	struct m0_lnet_nid nid;

	nid_check(text);
	net_check(text);
	(void)m0_lnet_nid_parse_any(&nid, text);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* NIDs as 20 bytes, and as the 64-bit number of older nodes. */
#include "lib/fuzz.h"
#include "m0/lnet_nid.h"

/*
 * Printed text reads back, except for types without a name; the text before
 * `@lo` reads as 0.
 */
static void text_check(const struct m0_lnet_nid *nid)
{
	struct m0_lnet_nid again;
	char               text[M0_LNET_NIDSTR_SIZE];

	m0_lnet_nid_print(nid, text, sizeof text);
	M0_ASSERT(strlen(text) < sizeof text);
	if (m0_lnet_nid_parse_any(&again, text) == 0)
		M0_ASSERT(
			m0_lnet_nid_eq(nid, &again) ||
			(m0_lnet_nid_is_lo(nid) && m0_lnet_nid_is_lo(&again)));
}

static void bytes_check(const uint8_t *bytes)
{
	struct m0_lnet_nid nid;
	struct m0_lnet_nid again;
	uint8_t            buf[M0_LNET_NID_BYTES];

	if (m0_lnet_nid_decode(&nid, bytes) != 0)
		return;
	m0_lnet_nid_encode(&nid, buf);
	M0_ASSERT(m0_lnet_nid_is_any(&nid) ||
		  memcmp(buf, bytes, sizeof buf) == 0);
	M0_ASSERT(m0_lnet_nid_decode(&again, buf) == 0);
	M0_ASSERT(m0_lnet_nid_eq(&nid, &again));
	M0_ASSERT(m0_lnet_nid_is_any(&nid) ||
		  m0_lnet_nid_cmp(&nid, &again) == 0);
	M0_ASSERT(m0_lnet_nid_hash(&nid) == m0_lnet_nid_hash(&again));
	text_check(&nid);
}

static void number_check(const uint8_t *bytes)
{
	struct m0_lnet_nid nid;
	uint64_t           nid4;

	memcpy(&nid4, bytes, sizeof nid4);
	if (m0_lnet_nid_from4(&nid, nid4) != 0)
		return;
	M0_ASSERT(m0_lnet_nid_to4(&nid) == nid4);
	M0_ASSERT(m0_lnet_nid_is_any(&nid) || m0_lnet_nid_is_nid4(&nid));
	text_check(&nid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= M0_LNET_NID_BYTES)
		bytes_check(data);
	if (size >= sizeof(uint64_t))
		number_check(data);
	return 0;
}

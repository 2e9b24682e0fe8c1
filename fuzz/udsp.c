/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rules of selection: ranges of NIDs as text, and rules in their encoded form. */
#include "lib/fuzz.h"
#include "m0/lnet_udsp.h"

static void text_check(const char *text)
{
	struct m0_lnet_nid_range range;
	struct m0_lnet_nid_range again;
	struct m0_lnet_nid       nid = { .ln_type = M0_LNET_TYPE_TCP };
	char                     said[M0_LNET_NID_RANGE_BYTES];
	char                     why[M0_LNET_WHY_BYTES];
	int rc = m0_lnet_nid_range_parse(&range, text, why);

	M0_ASSERT(rc == 0 || rc == -EINVAL);
	if (rc != 0) {
		M0_ASSERT(strlen(why) > 0);
		return;
	}
	m0_lnet_nid_range_print(&range, said, sizeof said);
	M0_ASSERT(strlen(said) < sizeof said - 1);
	M0_ASSERT(m0_lnet_nid_range_parse(&again, said, why) == 0);
	M0_ASSERT(memcmp(&range, &again, sizeof range) == 0);
	if (m0_lnet_nid_range_has(&range, &nid))
		M0_ASSERT(m0_lnet_nid_range_has_net(&range,
						    m0_lnet_nid_net(&nid)));
}

static void bytes_check(const uint8_t *data, uint32_t size)
{
	struct m0_lnet_udsp udsp;
	struct m0_lnet_udsp again;
	char                why[M0_LNET_WHY_BYTES];
	uint8_t             bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t            bytes = sizeof bulk;
	int                 rc = m0_lnet_udsp_unmarshal(data, size, &udsp, why);

	M0_ASSERT(rc == 0 || rc == -EPROTO);
	if (rc != 0) {
		M0_ASSERT(strncmp(why, "offset ", strlen("offset ")) == 0);
		return;
	}
	M0_ASSERT(m0_lnet_udsp_check(&udsp, why) == 0);
	M0_ASSERT(m0_lnet_udsp_size(&udsp) == size);
	M0_ASSERT(m0_lnet_udsp_marshal(&udsp, &bytes, bulk) == 0);
	M0_ASSERT(bytes == size);
	/* All but the pointer, which is ignored. */
	M0_ASSERT(memcmp(bulk, data, 24) == 0);
	M0_ASSERT(memcmp(bulk + 32, data + 32, size - 32) == 0);
	M0_ASSERT(m0_lnet_udsp_unmarshal(bulk, bytes, &again, why) == 0);
	M0_ASSERT(memcmp(&udsp, &again, sizeof udsp) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	text_check(text);
	free(text);
	bytes_check(data, (uint32_t)size);
	return 0;
}

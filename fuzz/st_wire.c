/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages of the selftest, and lists of destinations. */
#include "lib/fuzz.h"
#include "selftest/st_wire.h"

/* An accepted message is encoded to one that decodes to the same. */
static void again_check(const struct m0_st_msg *msg)
{
	struct m0_st_msg again;
	uint8_t          bytes[M0_ST_MSG_BYTES];

	m0_st_encode(msg, bytes);
	M0_ASSERT(m0_st_decode(&again, bytes, sizeof bytes) == 0);
	/* The rest of a name, too. */
	M0_ASSERT(memcmp(&again, msg, sizeof again) == 0);
}

static void dests_check(const uint8_t *bytes, size_t size, uint32_t feats,
			bool swapped)
{
	struct m0_lnet_process_id id;
	uint8_t                   again[M0_ST_DEST_LARGE_BYTES];
	size_t                    each = m0_st_dests_bytes(1, feats);
	uint32_t                  i;

	for (i = 0; (i + 1) * each <= size && i < m0_st_dests_max(feats); ++i) {
		if (m0_st_dest_decode(&id, bytes, i, feats, swapped) != 0)
			continue;
		m0_st_dest_encode(&id, again, 0, feats, swapped);
		M0_ASSERT(memcmp(again, bytes + i * each, each) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct m0_st_msg msg;
	uint8_t         *bytes = fuzz_copy(data, size);
	int              rc = m0_st_decode(&msg, bytes, size);

	M0_ASSERT(rc == 0 || rc == -EPROTO || rc == -EMSGSIZE);
	if (rc == 0) {
		again_check(&msg);
		(void)m0_st_test_check(&msg.smg_test, msg.smg_feats);
		(void)m0_st_brw_check(&msg, msg.smg_feats);
	}
	dests_check(bytes, size, M0_ST_FEAT_LEN, size % 2 == 0);
	dests_check(bytes, size, M0_ST_FEAT_LEN | M0_ST_FEAT_LARGE, false);
	free(bytes);
	return 0;
}

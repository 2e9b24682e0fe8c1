/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** A node that is only words: pings answered, pushes, as a test has them. */
#ifndef M0_TESTS_UNIT_LNET_FOREIGN_H
#define M0_TESTS_UNIT_LNET_FOREIGN_H

#include "unit/lnet/story.h"

/** A ping's answer of the foreign node `from` to the i-th GET of `node`. */
static inline void answer(struct pair_node *node, unsigned i, const char *from,
			  const void *payload, uint32_t nr)
{
	const struct pair_frame *get = pair_frame(pair, 0, M0_LNET_GET, i);
	struct m0_lnet_hdr       hdr = {
		      .lhd_type = M0_LNET_REPLY,
		      .lhd_payload_bytes = nr,
	};

	assert_non_null(get);
	hdr.lhd_dest_nid = get->pfr_hdr.lhd_src_nid;
	hdr.lhd_src_nid = pair_nid(from);
	hdr.lhd_dest_pid = M0_LNET_PID_LUSTRE;
	hdr.lhd_src_pid = M0_LNET_PID_LUSTRE;
	hdr.lhd_wmd = get->pfr_hdr.lhd_wmd;
	pair_inject(node, 1, from, &hdr, payload);
	pair_settle(pair);
}

/** The ACK of the i-th PUT of `one`. */
static inline void acknowledge(unsigned i, const char *from)
{
	const struct pair_frame *put = pair_frame(pair, 0, M0_LNET_PUT, i);
	struct m0_lnet_hdr       hdr = { .lhd_type = M0_LNET_ACK };

	assert_non_null(put);
	hdr.lhd_dest_nid = put->pfr_hdr.lhd_src_nid;
	hdr.lhd_src_nid = pair_nid(from);
	hdr.lhd_dest_pid = M0_LNET_PID_LUSTRE;
	hdr.lhd_src_pid = M0_LNET_PID_LUSTRE;
	hdr.lhd_wmd = put->pfr_hdr.lhd_wmd;
	hdr.lhd_match_bits = put->pfr_hdr.lhd_match_bits;
	hdr.lhd_length = put->pfr_hdr.lhd_payload_bytes;
	pair_inject(one, 1, from, &hdr, NULL);
	pair_settle(pair);
}

/** Encodes information with up to 4 NIDs, NULL after the last. */
static inline uint32_t info_of(uint8_t *buf, size_t max, uint32_t features,
			       uint32_t seq, const char *const nids[4])
{
	struct m0_lnet_ping_ni   nis[4];
	struct m0_lnet_ping_info info = {
		.lpi_features = features,
		.lpi_pid = M0_LNET_PID_LUSTRE,
		.lpi_seq = seq,
		.lpi_nis = nis,
	};

	for (; info.lpi_nis_nr < 4 && nids[info.lpi_nis_nr] != NULL;
	     ++info.lpi_nis_nr) {
		nis[info.lpi_nis_nr].lpg_nid = pair_nid(nids[info.lpi_nis_nr]);
		nis[info.lpi_nis_nr].lpg_up = true;
	}
	return (uint32_t)m0_lnet__ping_encode(&info, buf, max);
}

/** A push of the foreign node `from`. */
static inline void push(struct pair_node *node, const char *from,
			const void *payload, uint32_t nr)
{
	struct m0_lnet_hdr hdr = {
		.lhd_type = M0_LNET_PUT,
		.lhd_payload_bytes = nr,
		.lhd_match_bits = UINT64_C(1) << 63,
		.lhd_wmd = { { 7, 7 } },
	};

	hdr.lhd_dest_nid = node->pno_ni[1]->ldn_nid;
	hdr.lhd_src_nid = pair_nid(from);
	hdr.lhd_dest_pid = M0_LNET_PID_LUSTRE;
	hdr.lhd_src_pid = M0_LNET_PID_LUSTRE;
	pair_inject(node, 1, from, &hdr, payload);
	pair_settle(pair);
}

#define FEATURES                                              \
	(M0_LNET_FEAT_NI_STATUS | M0_LNET_FEAT_RTE_DISABLED | \
	 M0_LNET_FEAT_MULTI_RAIL | M0_LNET_FEAT_DISCOVERY)

#endif /* M0_TESTS_UNIT_LNET_FOREIGN_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Messages and rejections of the driver for InfiniBand. */
#include "lib/fuzz.h"
#include "golden/o2ib_again.h"

/* A refusal names a field. */
static void why_check(int rc, const struct m0_o2ib_why *why)
{
	M0_ASSERT(rc == -EPROTO || rc == -EPROTONOSUPPORT);
	M0_ASSERT(why->ibw_field != M0_O2IB_FIELD_NONE);
	M0_ASSERT(strlen(why->ibw_text) > 0);
	M0_ASSERT(strlen(why->ibw_text) < M0_O2IB_WHY_BYTES);
}

/* We never send as many fragments as we accept. */
static bool is_sendable(const struct o2ib_msg *msg)
{
	switch (msg->om_hdr.ibh_type) {
	case M0_O2IB_GET_REQ:
		return msg->om_req.ibq_sink.ibd_frags_nr <=
		       M0_O2IB_FRAGS_SENT_MAX;
	case M0_O2IB_PUT_ACK:
		return msg->om_ack.ibk_sink.ibd_frags_nr <=
		       M0_O2IB_FRAGS_SENT_MAX;
	default:
		return true;
	}
}

/* An accepted message is encoded to one that decodes to the same. */
static void again_check(const struct o2ib_msg *msg)
{
	static struct o2ib_msg again;
	static uint8_t         first[M0_O2IB_MSG_BYTES_MAX];
	static uint8_t         second[M0_O2IB_MSG_BYTES_MAX];
	size_t                 nr = o2ib_encode(msg, first);

	M0_ASSERT(nr >= M0_O2IB_HDR_BYTES && nr <= msg->om_hdr.ibh_nob);
	M0_ASSERT(o2ib_decode(&again, first, nr) == 0);
	M0_ASSERT(!again.om_hdr.ibh_swapped);
	M0_ASSERT(again.om_hdr.ibh_nob == nr);
	M0_ASSERT(again.om_hdr.ibh_type == msg->om_hdr.ibh_type);
	M0_ASSERT(again.om_hdr.ibh_src_nid4 == msg->om_hdr.ibh_src_nid4);
	M0_ASSERT(again.om_hdr.ibh_dst_stamp == msg->om_hdr.ibh_dst_stamp);
	M0_ASSERT(o2ib_encode(&again, second) == nr);
	M0_ASSERT(memcmp(first, second, nr) == 0);
}

static void reject_check(const uint8_t *bytes, size_t size)
{
	struct m0_o2ib_reject rej;
	struct m0_o2ib_reject again;
	struct m0_o2ib_why    why = { 0 };
	uint8_t               buf[M0_O2IB_REJECT_BYTES];
	int rc = m0_o2ib__reject_decode(&rej, bytes, size, &why);

	if (rc != 0) {
		why_check(rc, &why);
		return;
	}
	if (rej.ibr_general || rej.ibr_reason == 0)
		return;
	M0_ASSERT(m0_o2ib__reject_encode(&rej, buf) == sizeof buf);
	M0_ASSERT(m0_o2ib__reject_decode(&again, buf, sizeof buf, &why) == 0);
	M0_ASSERT(again.ibr_version == rej.ibr_version);
	M0_ASSERT(again.ibr_reason == rej.ibr_reason);
	M0_ASSERT(again.ibr_stamp == rej.ibr_stamp);
	M0_ASSERT(again.ibr_limits.ibp_msg_bytes_max ==
		  rej.ibr_limits.ibp_msg_bytes_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct o2ib_msg msg;
	uint8_t               *bytes = fuzz_copy(data, size);
	int                    rc = o2ib_decode(&msg, bytes, size);

	if (rc != 0)
		why_check(rc, &msg.om_why);
	else if (is_sendable(&msg))
		again_check(&msg);
	reject_check(bytes, size);
	free(bytes);
	return 0;
}

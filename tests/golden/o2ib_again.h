/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** A message of the driver for InfiniBand, decoded and encoded again. */
#ifndef M0_TESTS_GOLDEN_O2IB_AGAIN_H
#define M0_TESTS_GOLDEN_O2IB_AGAIN_H

#include "lnd/o2ib/o2ib_wire.h"

/** Everything that a message may say. */
struct o2ib_msg {
	struct m0_o2ib_hdr       om_hdr;
	struct m0_o2ib_why       om_why;
	struct m0_o2ib_params    om_params;
	struct m0_o2ib_immediate om_imm;
	struct m0_o2ib_req       om_req;
	struct m0_o2ib_put_ack   om_ack;
	struct m0_o2ib_done      om_done;
	struct m0_o2ib_frag      om_frags[M0_O2IB_FRAGS_MAX];
};

/** Decodes the body of a message whose header is in om_hdr. */
static inline int o2ib_body_decode(struct o2ib_msg *msg, const void *in)
{
	struct m0_o2ib_desc desc = { .ibd_frags_max = M0_O2IB_FRAGS_MAX,
				     .ibd_frags = msg->om_frags };
	struct m0_o2ib_hdr *hdr = &msg->om_hdr;
	struct m0_o2ib_why *why = &msg->om_why;

	msg->om_req.ibq_sink = desc;
	msg->om_ack.ibk_sink = desc;
	switch (hdr->ibh_type) {
	case M0_O2IB_NOOP:
		return 0;
	case M0_O2IB_CONNREQ:
	case M0_O2IB_CONNACK:
		return m0_o2ib__conn_decode(hdr, in, &msg->om_params, why);
	case M0_O2IB_IMMEDIATE:
		m0_o2ib__immediate_decode(hdr, in, &msg->om_imm);
		return 0;
	case M0_O2IB_PUT_REQ:
		return m0_o2ib__put_req_decode(hdr, in, &msg->om_req, why);
	case M0_O2IB_GET_REQ:
		return m0_o2ib__get_req_decode(hdr, in, &msg->om_req, why);
	case M0_O2IB_PUT_ACK:
		return m0_o2ib__put_ack_decode(hdr, in, &msg->om_ack, why);
	default:
		return m0_o2ib__done_decode(hdr, in, &msg->om_done, why);
	}
}

/** Decodes a message of which `nr` bytes arrived. */
static inline int o2ib_decode(struct o2ib_msg *msg, const void *in, size_t nr)
{
	int rc;

	memset(&msg->om_why, 0, sizeof msg->om_why);
	rc = m0_o2ib__hdr_decode(&msg->om_hdr, in, nr, &msg->om_why);
	return rc == 0 ? o2ib_body_decode(msg, in) : rc;
}

/** Encodes what o2ib_decode() decoded. @return bytes. */
static inline size_t o2ib_encode(const struct o2ib_msg *msg,
				 uint8_t out[M0_O2IB_MSG_BYTES_MAX])
{
	const struct m0_o2ib_hdr *hdr = &msg->om_hdr;
	size_t                    room = M0_O2IB_MSG_BYTES_MAX;

	switch (hdr->ibh_type) {
	case M0_O2IB_NOOP:
		return m0_o2ib__noop_encode(hdr, out, room);
	case M0_O2IB_CONNREQ:
	case M0_O2IB_CONNACK:
		return m0_o2ib__conn_encode(hdr, &msg->om_params, out, room);
	case M0_O2IB_IMMEDIATE:
		return m0_o2ib__immediate_encode(hdr, &msg->om_imm, out, room);
	case M0_O2IB_PUT_REQ:
		return m0_o2ib__put_req_encode(hdr, &msg->om_req, out, room);
	case M0_O2IB_GET_REQ:
		return m0_o2ib__get_req_encode(hdr, &msg->om_req, out, room);
	case M0_O2IB_PUT_ACK:
		return m0_o2ib__put_ack_encode(hdr, &msg->om_ack, out, room);
	case M0_O2IB_PUT_NAK:
		return m0_o2ib__done_encode(hdr, &msg->om_done, 0, out, room);
	default:
		return m0_o2ib__done_encode(hdr, &msg->om_done, INT32_MAX, out,
					    room);
	}
}

#endif /* M0_TESTS_GOLDEN_O2IB_AGAIN_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The driver with a peer that the case plays: what the peer says, and what it hears. */
#ifndef M0_TESTS_UNIT_LND_O2IB_PLAY_H
#define M0_TESTS_UNIT_LND_O2IB_PLAY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/o2ib_again.h"
#include "lib/o2ib_rig.h"

enum {
	LARGE = 100000,
	GRACE_MS = 1000,
	COOKIE = 77
};
#define US         (UINT64_C(0x000500000a000001))
#define PEER       (UINT64_C(0x000500000a000002))
#define US_STAMP   UINT64_C(0x1111)
#define PEER_STAMP UINT64_C(0x2222)

static struct rig      rig;
static struct rig_qp  *qp;
static struct o2ib_msg got;
static uint8_t         buf[M0_O2IB_MSG_BYTES_MAX];

static inline struct m0_o2ib_hdr hdr(uint8_t type, uint8_t credits)
{
	return (struct m0_o2ib_hdr){ .ibh_type = type,
				     .ibh_credits = credits,
				     .ibh_src_nid4 = PEER,
				     .ibh_src_stamp = PEER_STAMP,
				     .ibh_dst_nid4 = US,
				     .ibh_dst_stamp = US_STAMP };
}

static inline uint8_t *lnet(enum m0_o2ib_lnet kind)
{
	static uint8_t bytes[M0_O2IB_LNET_HDR_BYTES];
	uint64_t       dest = US;

	memcpy(bytes, &dest, sizeof dest);
	bytes[24] = (uint8_t)kind;
	return bytes;
}

static inline struct rig_qp *ask(uint16_t depth)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);

	h.ibh_dst_stamp = 0;
	return rig_request(&rig, buf,
			   m0_o2ib__conn_encode(
				   &h,
				   &(struct m0_o2ib_params){ depth, 256, 4096 },
				   buf, sizeof buf));
}

static inline int begin(void **state)
{
	(void)state;
	rig_init(&rig, US, US_STAMP);
	qp = ask(RIG_DEPTH);
	assert_non_null(qp);
	rig_up(&rig, qp, NULL, 0);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

static inline void say_immediate(m0_bcount_t payload, uint8_t credits)
{
	static uint8_t     bytes[64];
	struct m0_o2ib_hdr h = hdr(M0_O2IB_IMMEDIATE, credits);

	rig.rg_wanted = payload;
	assert_true(rig_say(
		&rig, qp, buf,
		m0_o2ib__immediate_encode(
			&h,
			&(struct m0_o2ib_immediate){ lnet(M0_O2IB_LNET_PUT),
						     bytes, (uint32_t)payload },
			buf, sizeof buf)));
}

static inline void say_put_req(m0_bcount_t bytes)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_PUT_REQ, 0);

	rig.rg_wanted = bytes;
	assert_true(
		rig_say(&rig, qp, buf,
			m0_o2ib__put_req_encode(
				&h,
				&(struct m0_o2ib_req){
					.ibq_lnet_hdr = lnet(M0_O2IB_LNET_PUT),
					.ibq_cookie = COOKIE },
				buf, sizeof buf)));
}

static inline bool say_done(uint8_t type, uint64_t cookie, int32_t status)
{
	struct m0_o2ib_hdr h = hdr(type, 0);

	return rig_say(&rig, qp, buf,
		       m0_o2ib__done_encode(
			       &h, &(struct m0_o2ib_done){ cookie, status },
			       UINT32_MAX, buf, sizeof buf));
}

/* The next message of the driver; 0: none. */
static inline uint8_t heard(void)
{
	struct rig_post *post = rig_next(qp);

	if (post == NULL)
		return 0;
	if (post->rgp_wr.owr_op == M0_O2IB_OP_WRITE)
		return 1;
	assert_int_equal(o2ib_decode(&got, post->rgp_bytes, post->rgp_nr), 0);
	return got.om_hdr.ibh_type;
}

static inline struct rig_tx *send(m0_bcount_t bytes)
{
	struct rig_tx *rt =
		rig_tx_make(&rig, PEER, lnet(M0_O2IB_LNET_PUT), bytes);

	assert_non_null(rt);
	rig_xmit(&rig, rt);
	return rt;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif /* M0_TESTS_UNIT_LND_O2IB_PLAY_H */

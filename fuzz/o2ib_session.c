/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The driver for net o2ib without verbs, and a peer that says whatever the input has
 * it say: each byte of it chooses a step, those after it its particulars. Good
 * messages, spoilt ones, and any bytes; on connections that it or the driver asks
 * for; while the engine sends, cancels, puts off and answers, the device completes
 * or fails, and time passes.
 *
 * The target demands that each message of the engine ends exactly once, and that no
 * memory stays offered.
 */
#include "lib/fuzz.h"
#include "lib/o2ib_rig.h"

enum {
	STEPS_MAX = 300,
	SMALL_MAX = 4000,
	LARGE_BYTES = 9000
};
#define US         (UINT64_C(0x000500000a000001))
#define PEER       (UINT64_C(0x000500000a000002))
#define US_STAMP   UINT64_C(0x1111)
#define PEER_STAMP UINT64_C(0x2222)

static struct rig      rig;
static struct fuzz_in *in;
static uint8_t         buf[M0_O2IB_MSG_BYTES_MAX];
/** Cookies that the driver named last: of a request, and of a PUT_ACK. */
static uint64_t cookies[2];

static unsigned below(unsigned bound)
{
	return fuzz_byte(in) % bound;
}

static struct rig_qp *some_qp(void)
{
	struct rig_qp *qp = &rig.rg_qps[below(RIG_QPS_MAX)];

	return qp->rgq_is_used ? qp : NULL;
}

/* Mostly who it is right to name. */
static struct m0_o2ib_hdr hdr(uint8_t type)
{
	uint8_t way = fuzz_byte(in);

	return (struct m0_o2ib_hdr){
		.ibh_type = type,
		.ibh_credits = way < 0xc0 ? 0 : fuzz_byte(in) % 4,
		.ibh_src_nid4 = way == 0xff ? US : PEER,
		.ibh_src_stamp = way == 0xfe ? 1 : PEER_STAMP,
		.ibh_dst_nid4 = way == 0xfd ? PEER : US,
		.ibh_dst_stamp = way == 0xfc               ? 1
				 : type == M0_O2IB_CONNREQ ? 0
							   : US_STAMP
	};
}

static const uint8_t *lnet_hdr(void)
{
	static uint8_t bytes[M0_O2IB_LNET_HDR_BYTES];
	uint64_t       dest = fuzz_byte(in) > 0xf0 ? PEER : US;

	memcpy(bytes, &dest, sizeof dest);
	bytes[24] = (uint8_t)below(5);
	return bytes;
}

static struct m0_o2ib_desc desc(void)
{
	static struct m0_o2ib_frag frags[8];
	unsigned                   nr = 1 + below(ARRAY_SIZE(frags));
	unsigned                   i;

	for (i = 0; i < nr; ++i)
		frags[i] = (struct m0_o2ib_frag){
			1 + (uint32_t)fuzz_number(in, 2) % LARGE_BYTES,
			fuzz_number(in, 2)
		};
	if (fuzz_byte(in) < 0x80)
		frags[0].ibf_bytes = LARGE_BYTES, nr = 1;
	return (struct m0_o2ib_desc){ .ibd_key = 7,
				      .ibd_frags_nr = nr,
				      .ibd_frags = frags };
}

static uint64_t cookie(unsigned i)
{
	return fuzz_byte(in) < 0xc0 ? cookies[i] : below(4);
}

/* A good message of some type. @return bytes */
static size_t message(void)
{
	static const uint8_t   payload[SMALL_MAX];
	struct m0_o2ib_hdr     h = hdr((uint8_t)(M0_O2IB_NOOP + below(8)));
	struct m0_o2ib_req     req = {};
	struct m0_o2ib_put_ack ack;

	switch (h.ibh_type) {
	case M0_O2IB_NOOP:
		return m0_o2ib__noop_encode(&h, buf, sizeof buf);
	case M0_O2IB_IMMEDIATE:
		return m0_o2ib__immediate_encode(
			&h,
			&(struct m0_o2ib_immediate){
				lnet_hdr(), payload,
				(uint32_t)fuzz_number(in, 2) % 3900 },
			buf, sizeof buf);
	case M0_O2IB_PUT_REQ:
		req.ibq_lnet_hdr = lnet_hdr();
		req.ibq_cookie = fuzz_byte(in);
		return m0_o2ib__put_req_encode(&h, &req, buf, sizeof buf);
	case M0_O2IB_GET_REQ:
		req.ibq_lnet_hdr = lnet_hdr();
		req.ibq_cookie = fuzz_byte(in);
		req.ibq_sink = desc();
		return m0_o2ib__get_req_encode(&h, &req, buf, sizeof buf);
	case M0_O2IB_PUT_ACK:
		ack.ibk_src_cookie = cookie(0);
		ack.ibk_dst_cookie = fuzz_byte(in);
		ack.ibk_sink = desc();
		return m0_o2ib__put_ack_encode(&h, &ack, buf, sizeof buf);
	default:
		return m0_o2ib__done_encode(
			&h,
			&(struct m0_o2ib_done){
				cookie(h.ibh_type == M0_O2IB_PUT_DONE),
				h.ibh_type == M0_O2IB_PUT_NAK ? -(int)below(2)
				: fuzz_byte(in) < 0xc0
					? LARGE_BYTES
					: (int32_t)fuzz_number(in, 4) },
			h.ibh_type == M0_O2IB_PUT_NAK ? 0 : UINT32_MAX, buf,
			sizeof buf);
	}
}

static void peer_says(void)
{
	struct rig_qp *qp = some_qp();
	size_t         nr = message();
	uint8_t        spoil = fuzz_byte(in);

	rig.rg_begin_rc = below(16) == 0  ? -EPROTO
			  : below(8) == 0 ? -EAGAIN
					  : 0;
	rig.rg_wanted = below(4) == 0 ? 0 : LARGE_BYTES;
	if (buf[6] == M0_O2IB_IMMEDIATE)
		rig.rg_wanted = below(8) == 0 ? 0xfff : 0;
	if (spoil >= 0xe0)
		buf[fuzz_number(in, 2) % nr] ^= fuzz_byte(in);
	if (qp != NULL && !qp->rgq_is_broken)
		(void)rig_say(&rig, qp, buf, spoil == 0xdf ? nr / 2 : nr);
	rig.rg_begin_rc = 0;
}

static void peer_asks(void)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ);
	struct rig_qp     *qp;
	size_t             nr;

	nr = m0_o2ib__conn_encode(
		&h,
		&(struct m0_o2ib_params){ (uint16_t)(1 + below(12)), 256,
					  4096 },
		buf, sizeof buf);
	if (fuzz_byte(in) >= 0xf0)
		buf[below(56)] ^= fuzz_byte(in);
	qp = rig_request(&rig, buf, nr);
	if (qp != NULL && below(8) != 0)
		rig_up(&rig, qp, NULL, 0);
}

static void peer_answers(void)
{
	struct rig_qp     *qp = rig_asking(&rig);
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNACK);
	size_t             nr;

	if (qp == NULL)
		return;
	nr = m0_o2ib__conn_encode(
		&h,
		&(struct m0_o2ib_params){ (uint16_t)(1 + below(9)), 256, 4096 },
		buf, sizeof buf);
	if (fuzz_byte(in) >= 0xf0)
		buf[below(56)] ^= fuzz_byte(in);
	qp->rgq_private_nr = 0;
	rig_up(&rig, qp, buf, nr);
}

/* A GET of ours, for large memory or small. */
static void engine_gets(void)
{
	uint8_t        hdr[M0_O2IB_LNET_HDR_BYTES] = {};
	uint64_t       nids[] = { PEER, US };
	struct rig_tx *rt;

	memcpy(hdr, nids, sizeof nids);
	hdr[24] = M0_O2IB_LNET_GET;
	rt = rig_get_make(&rig, PEER, hdr, below(4) ? LARGE_BYTES : below(200));
	if (rt == NULL)
		return;
	rig.rg_get = below(8) ? rt : NULL;
	rig_xmit(&rig, rt);
}

static void engine_sends(void)
{
	struct rig_rx *rr = rig_last(&rig);
	struct rig_tx *rt = rig_tx_make(&rig, PEER, lnet_hdr(),
					below(2) ? LARGE_BYTES : below(200));

	rig.rg_begin_reply = below(4) ? 0 : LARGE_BYTES;
	if (rt == NULL)
		return;
	if (rr != NULL && rr->rgr_is_kept && !rr->rgr_is_answered &&
	    below(2) == 0) {
		rr->rgr_is_answered = true;
		rt->rgt_tx.ltx_answers = rr->rgr_rx;
	}
	rig_xmit(&rig, rt);
}

static void engine_cancels(void)
{
	struct rig_tx *rt = &rig.rg_txs[below(RIG_TXS_MAX)];
	struct rig_rx *rr = rig_last(&rig);

	if (rt->rgt_is_used && !rt->rgt_is_done)
		rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &rt->rgt_tx);
	if (rr != NULL && !rr->rgr_is_done && below(2) == 0)
		rr->rgr_rx->lr_cancelled = true;
	rig_step(&rig);
}

/* Notes the cookies of what the driver has said. */
static void peer_hears(void)
{
	struct rig_qp   *qp = some_qp();
	struct rig_post *post;

	if (qp == NULL)
		return;
	while ((post = rig_next(qp)) != NULL) {
		if (post->rgp_wr.owr_op != M0_O2IB_OP_SEND)
			continue;
		if (post->rgp_bytes[6] == M0_O2IB_PUT_REQ ||
		    post->rgp_bytes[6] == M0_O2IB_GET_REQ)
			cookies[0] = m0_o2ib__cookie(post->rgp_bytes + 120);
		if (post->rgp_bytes[6] == M0_O2IB_PUT_ACK)
			cookies[1] = m0_o2ib__cookie(post->rgp_bytes + 56);
	}
	if (!qp->rgq_is_broken)
		rig_complete(&rig, qp);
}

static void qp_ends(void)
{
	struct rig_qp *qp = some_qp();

	if (qp != NULL && (qp->rgq_is_broken || below(8) == 0))
		rig_over(&rig, qp);
}

static void step(void)
{
	switch (below(9)) {
	case 0:
		peer_asks();
		break;
	case 1:
		peer_answers();
		break;
	case 2:
		engine_sends();
		break;
	case 3:
		engine_cancels();
		break;
	case 4:
		qp_ends();
		break;
	case 5:
		rig_wait(&rig, fuzz_number(in, 2) * M0_TIME_ONE_MSEC);
		break;
	case 6:
		peer_hears();
		break;
	case 7:
		engine_gets();
		break;
	default:
		peer_says();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in input = { data, size };
	unsigned       nr;
	uint8_t        way;

	in = &input;
	memset(cookies, 0, sizeof cookies);
	way = fuzz_byte(in);
	rig_init_options(&rig, US, US_STAMP, RIG_DEPTH,
			 way & 2 ? "get_req=1" : NULL);
	rig.rg_map_rc = way & 1 ? -EXDEV : 0;
	for (nr = 0; nr < STEPS_MAX && input.fi_left > 0; ++nr)
		step();
	rig_fini(&rig);
	return 0;
}

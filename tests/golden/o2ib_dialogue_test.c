/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two kernel nodes of net o2ib over RoCE, as they were recorded, with our driver in
 * the place of either: it says the same, but for what is its own choice (cookies,
 * keys, addresses, credits), and what it writes goes to the same places.
 *	golden_o2ib_dialogue_test DIRECTORY
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/o2ib_again.h"
#include "golden/roce.h"
#include "lib/o2ib_rig.h"

enum {
	NODE_1 = 2,
	NODE_2 = 3,
	COOKIES_MAX = 16,
	CREDITS_AT = 7,
	COOKIE_AT = 48,
	ACK_DST_AT = 56
};
#define NID4(n) (UINT64_C(0x00050000c0a84d00) | (n))

static const char *golden_dir;
static struct roce roce;
static struct rig  rig;

static struct {
	uint8_t         d_us;
	struct rig_qp  *d_qp;
	struct o2ib_msg d_msg;
	struct o2ib_msg d_own;
	/** Cookies of ours: as recorded, and as the driver chose. */
	uint64_t d_cookies[COOKIES_MAX][2];
	unsigned d_cookies_nr;
	/** Credits that our driver has spent and that were not returned. */
	unsigned d_spent;
} d;

static void cookie_add(uint64_t recorded, uint64_t ours)
{
	assert_true(d.d_cookies_nr < COOKIES_MAX);
	d.d_cookies[d.d_cookies_nr][0] = recorded;
	d.d_cookies[d.d_cookies_nr++][1] = ours;
}

static uint64_t cookie_of(uint64_t recorded)
{
	unsigned i;

	for (i = d.d_cookies_nr; i > 0; --i)
		if (d.d_cookies[i - 1][0] == recorded)
			return d.d_cookies[i - 1][1];
	fail_msg("cookie %#llx", (unsigned long long)recorded);
	return 0;
}

/* A message of connection set-up as it was recorded; where the connection was there
 * already, as the stamps of its messages tell. */
static const uint8_t *private_find(uint16_t attr, size_t *ret_nr)
{
	static uint8_t     made[2][M0_O2IB_CONN_BYTES];
	bool               is_ack = attr == ROCE_CM_REP;
	const uint8_t     *bytes = NULL;
	struct m0_o2ib_hdr hdr;
	size_t             i;

	for (i = 0; i < roce.ro_packets_nr && bytes == NULL; ++i)
		bytes = roce_private(&roce.ro_packets[i], attr, ret_nr);
	if (bytes != NULL)
		return bytes;
	for (i = 0; roce.ro_packets[i].rop_opcode != ROCE_RC_SEND_ONLY ||
		    roce.ro_packets[i].rop_from != (is_ack ? NODE_2 : NODE_1);
	     ++i)
		assert_true(i + 1 < roce.ro_packets_nr);
	assert_int_equal(o2ib_decode(&d.d_msg, roce.ro_packets[i].rop_bytes,
				     roce.ro_packets[i].rop_nr),
			 0);
	hdr = d.d_msg.om_hdr;
	hdr.ibh_type = is_ack ? M0_O2IB_CONNACK : M0_O2IB_CONNREQ;
	hdr.ibh_credits = 0;
	*ret_nr = m0_o2ib__conn_encode(
		&hdr,
		&(struct m0_o2ib_params){ RIG_DEPTH, M0_O2IB_FRAGS_SENT_MAX,
					  M0_O2IB_MSG_BYTES_MAX },
		made[is_ack], sizeof made[is_ack]);
	return made[is_ack];
}

/* The next message of the driver that is not a NOOP; the writes before it. */
static struct rig_post *own_next(uint64_t *written)
{
	struct rig_post *post;

	*written = 0;
	rig_complete(&rig, d.d_qp);
	while ((post = rig_next(d.d_qp)) != NULL) {
		if (post->rgp_wr.owr_op == M0_O2IB_OP_WRITE) {
			*written += post->rgp_nr;
			continue;
		}
		assert_int_equal(o2ib_decode(&d.d_own, post->rgp_bytes,
					     post->rgp_nr),
				 0);
		if (d.d_own.om_hdr.ibh_type != M0_O2IB_NOOP)
			return post;
	}
	fail_msg("our driver does not say %s",
		 m0_o2ib__type_name(d.d_msg.om_hdr.ibh_type));
	return NULL;
}

/* The engine sends what was sent then; a REPLY answers the latest GET. */
static void engine_send(const uint8_t *lnet_hdr, m0_bcount_t bytes)
{
	struct rig_tx *rt = rig_tx_make(&rig, NID4(NODE_1 + NODE_2 - d.d_us),
					lnet_hdr, bytes);
	struct rig_rx *rr = rig_last(&rig);

	assert_non_null(rt);
	if (rr != NULL && rr->rgr_is_kept &&
	    m0_o2ib__lnet_kind(lnet_hdr) == M0_O2IB_LNET_REPLY)
		rt->rgt_tx.ltx_answers = rr->rgr_rx;
	rig_xmit(&rig, rt);
}

static void own_immediate(void)
{
	const struct m0_o2ib_immediate *imm = &d.d_msg.om_imm;
	uint64_t                        written;

	if (imm->ibm_payload_bytes > 0)
		memcpy(rig.rg_source, imm->ibm_payload, imm->ibm_payload_bytes);
	engine_send(imm->ibm_lnet_hdr, imm->ibm_payload_bytes);
	own_next(&written);
	++d.d_spent;
	assert_int_equal(d.d_own.om_hdr.ibh_nob, d.d_msg.om_hdr.ibh_nob);
	assert_memory_equal(d.d_own.om_imm.ibm_lnet_hdr, imm->ibm_lnet_hdr,
			    M0_O2IB_LNET_HDR_BYTES + imm->ibm_payload_bytes);
}

/* Length of a PUT or REPLY, in its LNet header. */
static uint32_t length_of(const uint8_t *lnet_hdr)
{
	return (uint32_t)(lnet_hdr[28] | lnet_hdr[29] << 8 |
			  lnet_hdr[30] << 16 | lnet_hdr[31] << 24);
}

static void own_put_req(void)
{
	uint64_t written;

	engine_send(d.d_msg.om_req.ibq_lnet_hdr,
		    length_of(d.d_msg.om_req.ibq_lnet_hdr));
	own_next(&written);
	assert_memory_equal(d.d_own.om_req.ibq_lnet_hdr,
			    d.d_msg.om_req.ibq_lnet_hdr,
			    M0_O2IB_LNET_HDR_BYTES);
	++d.d_spent;
	cookie_add(d.d_msg.om_req.ibq_cookie, d.d_own.om_req.ibq_cookie);
}

static void own_get_req(void)
{
	const struct m0_o2ib_req *req = &d.d_msg.om_req;
	struct rig_tx            *rt;
	uint64_t                  written;

	rt = rig_get_make(&rig, NID4(NODE_1 + NODE_2 - d.d_us),
			  req->ibq_lnet_hdr, req->ibq_sink.ibd_bytes);
	assert_non_null(rt);
	rig.rg_get = rt;
	rig_xmit(&rig, rt);
	own_next(&written);
	assert_memory_equal(d.d_own.om_req.ibq_lnet_hdr, req->ibq_lnet_hdr,
			    M0_O2IB_LNET_HDR_BYTES);
	assert_true(d.d_own.om_req.ibq_sink.ibd_bytes ==
		    req->ibq_sink.ibd_bytes);
	assert_int_equal(d.d_own.om_req.ibq_sink.ibd_key, RIG_KEY);
	++d.d_spent;
	cookie_add(req->ibq_cookie, d.d_own.om_req.ibq_cookie);
}

static void own_put_ack(void)
{
	uint64_t written;

	own_next(&written);
	assert_true(d.d_own.om_ack.ibk_src_cookie ==
		    d.d_msg.om_ack.ibk_src_cookie);
	assert_true(d.d_own.om_ack.ibk_sink.ibd_bytes ==
		    d.d_msg.om_ack.ibk_sink.ibd_bytes);
	assert_int_equal(d.d_own.om_ack.ibk_sink.ibd_key, RIG_KEY);
	cookie_add(d.d_msg.om_ack.ibk_dst_cookie,
		   d.d_own.om_ack.ibk_dst_cookie);
}

static void own_done(void)
{
	uint8_t  reply[M0_O2IB_LNET_HDR_BYTES] = { [24] = M0_O2IB_LNET_REPLY };
	uint64_t written;

	if (d.d_msg.om_hdr.ibh_type == M0_O2IB_GET_DONE)
		engine_send(reply, (m0_bcount_t)d.d_msg.om_done.ibe_status);
	own_next(&written);
	assert_true(written == (uint64_t)d.d_msg.om_done.ibe_status);
	assert_true(d.d_own.om_done.ibe_cookie == d.d_msg.om_done.ibe_cookie);
	assert_int_equal(d.d_own.om_done.ibe_status,
			 d.d_msg.om_done.ibe_status);
}

static void own_say(void)
{
	switch (d.d_msg.om_hdr.ibh_type) {
	case M0_O2IB_IMMEDIATE:
		own_immediate();
		break;
	case M0_O2IB_PUT_REQ:
		own_put_req();
		break;
	case M0_O2IB_GET_REQ:
		own_get_req();
		break;
	case M0_O2IB_PUT_ACK:
		own_put_ack();
		break;
	case M0_O2IB_PUT_DONE:
	case M0_O2IB_GET_DONE:
		own_done();
		break;
	default:
		return;
	}
	assert_int_equal(d.d_own.om_hdr.ibh_type, d.d_msg.om_hdr.ibh_type);
	assert_true(d.d_own.om_hdr.ibh_src_stamp ==
		    d.d_msg.om_hdr.ibh_src_stamp);
	assert_true(d.d_own.om_hdr.ibh_dst_stamp ==
		    d.d_msg.om_hdr.ibh_dst_stamp);
}

/* The peer says what it said then, with our cookies, and returns no more credits than
 * our driver has spent: the recording may begin in the middle of a connection. */
static void peer_say(const uint8_t *bytes, size_t nr)
{
	static uint8_t buf[M0_O2IB_MSG_BYTES_MAX];
	uint8_t        type = d.d_msg.om_hdr.ibh_type;
	uint64_t       cookie;

	memcpy(buf, bytes, nr);
	buf[CREDITS_AT] = (uint8_t)min64u(buf[CREDITS_AT], d.d_spent);
	d.d_spent -= buf[CREDITS_AT];
	if (type == M0_O2IB_PUT_ACK || type == M0_O2IB_PUT_DONE ||
	    type == M0_O2IB_GET_DONE) {
		cookie = cookie_of(m0_o2ib__cookie(bytes + COOKIE_AT));
		memcpy(buf + COOKIE_AT, &cookie, sizeof cookie);
	}
	rig.rg_wanted = type == M0_O2IB_IMMEDIATE
				? d.d_msg.om_imm.ibm_payload_bytes
			: type == M0_O2IB_PUT_REQ
				? length_of(d.d_msg.om_req.ibq_lnet_hdr)
				: 0;
	assert_true(rig_say(&rig, d.d_qp, buf, nr));
	assert_false(d.d_qp->rgq_is_broken);
	if (type == M0_O2IB_IMMEDIATE || type == M0_O2IB_PUT_DONE)
		assert_true(rig_last(&rig)->rgr_is_done);
	if (type == M0_O2IB_GET_DONE) {
		rig_complete(&rig, d.d_qp);
		assert_true(rig.rg_get->rgt_is_done);
		assert_int_equal(rig.rg_get->rgt_status, 0);
	}
}

static void connect_as_then(void)
{
	size_t         req_nr;
	size_t         rep_nr;
	const uint8_t *req = private_find(ROCE_CM_REQ, &req_nr);
	const uint8_t *rep = private_find(ROCE_CM_REP, &rep_nr);
	uint8_t        ping[M0_O2IB_LNET_HDR_BYTES] = { 0 };

	assert_int_equal(o2ib_decode(&d.d_msg, rep, rep_nr), 0);
	if (d.d_us == NODE_2) {
		rig_init_options(&rig, NID4(NODE_2),
				 d.d_msg.om_hdr.ibh_src_stamp, RIG_DEPTH,
				 "get_req=1");
		d.d_qp = rig_request(&rig, req, req_nr);
		assert_non_null(d.d_qp);
		assert_int_equal(o2ib_decode(&d.d_own, d.d_qp->rgq_private,
					     d.d_qp->rgq_private_nr),
				 0);
		assert_int_equal(d.d_own.om_params.ibp_frags_max,
				 M0_O2IB_FRAGS_SENT_MAX);
		rig_up(&rig, d.d_qp, NULL, 0);
		return;
	}
	rig_init_options(&rig, NID4(NODE_1), d.d_msg.om_hdr.ibh_dst_stamp,
			 RIG_DEPTH, "get_req=1");
	rig_xmit(&rig, rig_tx_make(&rig, NID4(NODE_2), ping, 0));
	d.d_qp = rig_asking(&rig);
	assert_non_null(d.d_qp);
	/* The kernel asked for 257 fragments and was granted them. */
	d.d_msg.om_params.ibp_frags_max = M0_O2IB_FRAGS_SENT_MAX;
	rep_nr = o2ib_encode(&d.d_msg, d.d_qp->rgq_rbufs[0].rgb_bytes);
	rig_up(&rig, d.d_qp, d.d_qp->rgq_rbufs[0].rgb_bytes, rep_nr);
	assert_non_null(rig_next(d.d_qp));
	++d.d_spent;
}

static void dialogue(const char *name, uint8_t us)
{
	const struct roce_packet *packet;

	memset(&d, 0, sizeof d);
	d.d_us = us;
	assert_int_equal(roce_load(&roce, golden_dir, name), 0);
	connect_as_then();
	for (packet = roce.ro_packets;
	     packet < roce.ro_packets + roce.ro_packets_nr; ++packet) {
		if (packet->rop_opcode != ROCE_RC_SEND_ONLY)
			continue;
		assert_int_equal(o2ib_decode(&d.d_msg, packet->rop_bytes,
					     packet->rop_nr),
				 0);
		if (packet->rop_from == us)
			own_say();
		else
			peer_say(packet->rop_bytes, packet->rop_nr);
	}
	rig_complete(&rig, d.d_qp);
	assert_false(d.d_qp->rgq_is_broken);
	assert_int_equal(rig.rg_ni.ldn_up, true);
	rig_fini(&rig);
}

static void ping_as_either(void **state)
{
	(void)state;
	dialogue("17-o2ib-rxe-ping", NODE_1);
	dialogue("17-o2ib-rxe-ping", NODE_2);
}

static void put_as_either(void **state)
{
	(void)state;
	dialogue("17-o2ib-rxe-read-4K", NODE_1);
	dialogue("17-o2ib-rxe-read-4K", NODE_2);
}

static void get_as_either(void **state)
{
	(void)state;
	dialogue("17-o2ib-rxe-write-1M", NODE_1);
	dialogue("17-o2ib-rxe-write-1M", NODE_2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ping_as_either),
		cmocka_unit_test(put_as_either),
		cmocka_unit_test(get_as_either),
	};

	assert_int_equal(argc, 2);
	golden_dir = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

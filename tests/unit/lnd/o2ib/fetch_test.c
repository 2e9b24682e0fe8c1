/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* GETs of ours that name their memory, with a peer that the case plays (T4, 3.8). The memory is
 * the application's again when the peer has said that it is done, or when the connection is
 * over, and never before. */
#include "play.h"

enum {
	/** Keys of the memory that is sent from. */
	MAPS = 1
};

static struct rig_tx *get;

static int fetch_begin(void **state)
{
	(void)state;
	rig_init_options(&rig, US, US_STAMP, RIG_DEPTH, "get_req=1");
	qp = ask(RIG_DEPTH);
	assert_non_null(qp);
	rig_up(&rig, qp, NULL, 0);
	return 0;
}

/* LNet's header of a GET of ours, as the engine makes it. */
static uint8_t *get_hdr(uint64_t dest, uint64_t src)
{
	uint8_t *bytes = lnet(M0_O2IB_LNET_GET);
	unsigned i;

	memcpy(bytes, &dest, sizeof dest);
	memcpy(bytes + 8, &src, sizeof src);
	for (i = 16; i < M0_O2IB_LNET_HDR_BYTES; ++i)
		if (i < 24 || i >= 32)
			bytes[i] = (uint8_t)i;
	return bytes;
}

static void get_send(m0_bcount_t bytes)
{
	get = rig_get_make(&rig, PEER, get_hdr(PEER, US), bytes);
	assert_non_null(get);
	rig.rg_get = get;
	rig_xmit(&rig, get);
}

/* A GET_REQ has left, and is decoded. */
static void get_req_is_heard(m0_bcount_t bytes)
{
	assert_int_equal(heard(), M0_O2IB_GET_REQ);
	assert_int_equal(got.om_req.ibq_sink.ibd_key, RIG_KEY);
	assert_true(got.om_req.ibq_sink.ibd_bytes == bytes);
	assert_memory_equal(got.om_req.ibq_lnet_hdr, get->rgt_hdr,
			    M0_O2IB_LNET_HDR_BYTES);
	assert_false(get->rgt_is_done);
}

static void done_say(int32_t status)
{
	rig.rg_wanted = status > 0 ? (m0_bcount_t)status : 0;
	assert_true(say_done(M0_O2IB_GET_DONE, got.om_req.ibq_cookie, status));
}

/* T4: without the option, a GET is an IMMEDIATE whatever its size, so that the peer asks for
 * memory of the exact length of its reply. */
static void a_get_is_immediate_by_default(void **state)
{
	(void)state;
	get_send(LARGE);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	rig_complete(&rig, qp);
	assert_true(get->rgt_is_done);
}

/* 3.8: no REPLY comes; the engine is offered one, with the length that the peer has written. */
static void a_get_names_its_memory(void **state)
{
	static const m0_bcount_t came[] = { LARGE, LARGE - 1, 1, 0 };
	const struct rig_rx     *rr;
	unsigned                 i;
	uint64_t                 nid;
	uint32_t                 nr;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(came); ++i) {
		get_send(LARGE);
		get_req_is_heard(LARGE);
		rig_complete(&rig, qp);
		assert_false(get->rgt_is_done);
		done_say((int32_t)came[i]);
		rr = rig_last(&rig);
		assert_true(rr->rgr_is_done);
		assert_int_equal(rr->rgr_status, 0);
		assert_int_equal(m0_o2ib__lnet_kind(rr->rgr_hdr),
				 M0_O2IB_LNET_REPLY);
		assert_true(m0_o2ib__lnet_dest(rr->rgr_hdr) == US);
		memcpy(&nid, rr->rgr_hdr + 8, sizeof nid);
		assert_true(nid == PEER);
		memcpy(&nr, rr->rgr_hdr + 28, sizeof nr);
		assert_int_equal(nr, came[i]);
		/* The name of the GET, by which it is found. */
		assert_memory_equal(rr->rgr_hdr + 32, get->rgt_hdr + 32, 16);
		assert_memory_equal(rr->rgr_hdr + 16, get->rgt_hdr + 20, 4);
		assert_memory_equal(rr->rgr_hdr + 20, get->rgt_hdr + 16, 4);
		assert_true(get->rgt_is_done);
		assert_int_equal(get->rgt_status, 0);
		assert_int_equal(rig.rg_maps_nr, MAPS);
	}
	assert_false(qp->rgq_is_broken);
}

/* T14: an error ends the GET, and not the connection. One that finds nothing has been sent, and
 * gets no REPLY, as one that is an IMMEDIATE. */
static void a_get_finds_nothing(void **state)
{
	(void)state;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	done_say(-ENODATA);
	assert_true(get->rgt_is_done);
	assert_int_equal(get->rgt_status, 0);
	get_send(LARGE);
	get_req_is_heard(LARGE);
	done_say(-ENOMEM);
	assert_true(get->rgt_is_done);
	assert_int_equal(get->rgt_status, -EREMOTEIO);
	assert_int_equal(get->rgt_health, M0_LND_REMOTE_ERROR);
	assert_int_equal(rig.rg_rxs_nr, 0);
	assert_false(qp->rgq_is_broken);
}

/* A peer that says it has written more than there is, or answers what nobody asked: the
 * connection ends, and the GET with it. */
static void a_lying_peer_is_left(void **state)
{
	static const struct {
		uint8_t  type;
		uint64_t cookie;
		int32_t  status;
	} lies[] = {
		{ M0_O2IB_GET_DONE, 0, LARGE + 1 },
		{ M0_O2IB_GET_DONE, 0, INT32_MAX },
		{ M0_O2IB_GET_DONE, 1, LARGE },
		{ M0_O2IB_PUT_NAK, 0, 0 },
		{ M0_O2IB_PUT_DONE, 0, LARGE },
	};
	struct m0_o2ib_hdr h;
	unsigned           i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lies); ++i) {
		get_send(LARGE);
		get_req_is_heard(LARGE);
		h = hdr(lies[i].type, 0);
		assert_true(rig_say(
			&rig, qp, buf,
			m0_o2ib__done_encode(
				&h,
				&(struct m0_o2ib_done){ got.om_req.ibq_cookie +
								lies[i].cookie,
							lies[i].status },
				lies[i].type == M0_O2IB_PUT_NAK ? 0
								: UINT32_MAX,
				buf, sizeof buf)));
		assert_true(qp->rgq_is_broken);
		assert_false(get->rgt_is_done);
		assert_int_equal(rig.rg_maps_nr, MAPS + 1);
		rig_over(&rig, qp);
		assert_true(get->rgt_is_done);
		assert_int_equal(get->rgt_status, -EPROTO);
		assert_int_equal(rig.rg_rxs_nr, 0);
		qp = ask(RIG_DEPTH);
		assert_non_null(qp);
		rig_up(&rig, qp, NULL, 0);
	}
}

/* Promise 1: a GET that was cancelled is the peer's until the connection is over. */
static void a_cancelled_get_ends_with_the_connection(void **state)
{
	(void)state;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &get->rgt_tx);
	rig_wait(&rig, (GRACE_MS - 1) * M0_TIME_ONE_MSEC);
	assert_false(qp->rgq_is_broken);
	rig_wait(&rig, 2 * M0_TIME_ONE_MSEC);
	assert_true(qp->rgq_is_broken);
	assert_false(get->rgt_is_done);
	assert_int_equal(rig.rg_maps_nr, MAPS + 1);
	rig_over(&rig, qp);
	assert_true(get->rgt_is_done);
	assert_int_equal(get->rgt_status, -ECONNABORTED);
}

/* The peer may have executed another GET of that connection: it fails, by a class that nobody
 * repeats, and is not sent again. */
static void a_get_beside_a_cancelled_one_fails(void **state)
{
	struct rig_tx *first;

	(void)state;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	first = get;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &first->rgt_tx);
	rig_wait(&rig, (GRACE_MS + 1) * M0_TIME_ONE_MSEC);
	rig_over(&rig, qp);
	assert_true(get->rgt_is_done);
	assert_int_equal(get->rgt_status, -ECONNABORTED);
	assert_int_equal(get->rgt_health, M0_LND_LOCAL_ERROR);
	assert_null(rig_asking(&rig));
}

/* One that has not left ends at once. */
static void an_unsent_get_is_cancelled(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < RIG_DEPTH; ++i)
		(void)send(16);
	get_send(LARGE);
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &get->rgt_tx);
	rig_step(&rig);
	assert_true(get->rgt_is_done);
	assert_int_equal(get->rgt_status, -ECANCELED);
	assert_int_equal(rig.rg_maps_nr, MAPS);
	assert_false(qp->rgq_is_broken);
}

/* A peer that is silent after it was asked. */
static void a_silent_peer_is_left(void **state)
{
	(void)state;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	rig_wait(&rig, 51 * M0_TIME_ONE_SECOND);
	assert_true(qp->rgq_is_broken);
	assert_false(get->rgt_is_done);
	rig_over(&rig, qp);
	assert_int_equal(get->rgt_status, -ETIMEDOUT);
	assert_int_equal(get->rgt_health, M0_LND_REMOTE_TIMEOUT);
}

/* The connection is lost after the GET_REQ has left: it may have arrived, and is not sent again. */
static void a_lost_get_is_not_sent_again(void **state)
{
	(void)state;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	rig_complete(&rig, qp);
	rig_over(&rig, qp);
	assert_true(get->rgt_is_done);
	assert_int_equal(get->rgt_status, -ECONNRESET);
	assert_int_equal(get->rgt_health, M0_LND_REMOTE_ERROR);
}

/* 3.2: a GET_REQ takes a credit, and a slot for its answer, of which half are for others; 4.3:
 * its GET_DONE returns the slot. */
static void a_get_takes_a_credit_and_a_slot(void **state)
{
	uint64_t cookies[RIG_DEPTH / 2];
	unsigned i;

	(void)state;
	rig.rg_ni.ldn_peer_credits = 4 * RIG_DEPTH;
	for (i = 0; i < RIG_DEPTH / 2 + 1; ++i)
		get_send(LARGE);
	for (i = 0; i < RIG_DEPTH / 2; ++i) {
		get_req_is_heard(LARGE);
		cookies[i] = got.om_req.ibq_cookie;
		assert_true(i == 0 || cookies[i] != cookies[i - 1]);
	}
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	say_immediate(RIG_DEPTH / 2, 1);
	got.om_req.ibq_cookie = cookies[1];
	rig.rg_get = &rig.rg_txs[1];
	done_say(LARGE);
	assert_true(rig.rg_txs[1].rgt_is_done);
	get_send(LARGE);
	assert_int_equal(heard(), M0_O2IB_GET_REQ);
}

/* A GET_REQ keeps LNet's credits until it is answered: half of them are left to other messages,
 * because two nodes that fetch from one another would have none for their REPLYs. */
static void half_of_the_credits_are_left(void **state)
{
	unsigned i;

	(void)state;
	rig.rg_ni.ldn_peer_credits = 4;
	for (i = 0; i < 4; ++i)
		get_send(LARGE);
	for (i = 0; i < 2; ++i)
		assert_int_equal(heard(), M0_O2IB_GET_REQ);
	for (i = 0; i < 2; ++i)
		assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	rig.rg_get = &rig.rg_txs[0];
	got.om_req.ibq_cookie = 0;
	done_say(LARGE);
	get_send(LARGE);
	assert_int_equal(heard(), M0_O2IB_GET_REQ);
	rig.rg_ni.ldn_peer_credits = 1000;
	rig.rg_ni.ldn_credits = 4;
	get_send(LARGE);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
}

/* A GET leaves as an IMMEDIATE if a GET_REQ cannot name its memory, which is small or has no key,
 * and if it is for another node than the next hop (3.4). */
static void other_gets_are_immediate(void **state)
{
	(void)state;
	get_send(M0_O2IB_PAYLOAD_BYTES_MAX);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	rig.rg_map_rc = -EXDEV;
	get_send(LARGE);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	rig.rg_map_rc = 0;
	get = rig_get_make(&rig, PEER, get_hdr(PEER + 1, US), LARGE);
	rig_xmit(&rig, get);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	get = rig_get_make(&rig, PEER, get_hdr(PEER, US + 2), LARGE);
	rig_xmit(&rig, get);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	assert_int_equal(rig.rg_maps_nr, 0);
}

/* 2.4: the fragments that the connection grants bound it. */
static void many_pieces_are_immediate(void **state)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);
	void              *bufs[] = { rig.rg_sink, rig.rg_sink + LARGE };
	m0_bcount_t        counts[] = { LARGE, LARGE };
	struct m0_bufvec   vec = { .ov_vec = { .v_nr = 2, .v_count = counts },
				   .ov_buf = bufs };

	(void)state;
	rig_over(&rig, qp);
	h.ibh_dst_stamp = 0;
	qp = rig_request(&rig, buf,
			 m0_o2ib__conn_encode(
				 &h,
				 &(struct m0_o2ib_params){ RIG_DEPTH, 1, 4096 },
				 buf, sizeof buf));
	assert_non_null(qp);
	rig_up(&rig, qp, NULL, 0);
	get = rig_get_make(&rig, PEER, get_hdr(PEER, US), LARGE);
	get->rgt_sink.lpy_vec = &vec;
	get->rgt_sink.lpy_bytes = 2 * LARGE;
	rig_xmit(&rig, get);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	assert_int_equal(rig.rg_maps_nr, 0);
	rig_complete(&rig, qp);
	assert_true(get->rgt_is_done);
	get_send(LARGE);
	get_req_is_heard(LARGE);
}

/* A peer grants fewer requests than we ask for: GET_REQs are at most half of them. */
static void a_shallow_connection_has_fewer(void **state)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);
	unsigned           i;

	(void)state;
	rig_over(&rig, qp);
	h.ibh_dst_stamp = 0;
	qp = rig_request(&rig, buf,
			 m0_o2ib__conn_encode(
				 &h, &(struct m0_o2ib_params){ 4, 256, 4096 },
				 buf, sizeof buf));
	assert_non_null(qp);
	rig_up(&rig, qp, NULL, 0);
	for (i = 0; i < 3; ++i)
		get_send(LARGE);
	for (i = 0; i < 2; ++i)
		assert_int_equal(heard(), M0_O2IB_GET_REQ);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
}

/* The engine puts the REPLY off, and takes it, refuses it, or its connection ends first. */
static void a_reply_is_put_off(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 3; ++i) {
		get_send(LARGE);
		get_req_is_heard(LARGE);
		rig.rg_begin_rc = -EAGAIN;
		done_say(LARGE);
		rig_wait(&rig, 2 * M0_TIME_ONE_MSEC);
		assert_false(get->rgt_is_done);
		/* Its buffer is not kept from the peer. */
		assert_false(qp->rgq_rbufs[0].rgb_is_lent);
		rig.rg_begin_rc = i == 1 ? -EPROTO : 0;
		if (i == 2)
			rig_over(&rig, qp);
		rig_wait(&rig, 2 * M0_TIME_ONE_MSEC);
		rig.rg_begin_rc = 0;
		assert_int_equal(qp->rgq_is_broken, i != 0);
		if (i == 1)
			rig_over(&rig, qp);
		assert_true(get->rgt_is_done);
		assert_int_equal(get->rgt_status, i == 0   ? 0
						  : i == 1 ? -EPROTO
							   : -ECONNRESET);
		if (i == 0)
			continue;
		qp = ask(RIG_DEPTH);
		assert_non_null(qp);
		rig_up(&rig, qp, NULL, 0);
	}
}

/* The engine ends the connection while it is offered the REPLY. */
static void a_reply_may_end_its_connection(void **state)
{
	(void)state;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	rig.rg_begin_drops = true;
	done_say(LARGE);
	rig.rg_begin_drops = false;
	assert_true(qp->rgq_is_broken);
	assert_true(get->rgt_is_done);
	assert_int_equal(get->rgt_status, 0);
	rig_over(&rig, qp);
}

/* A REPLY that is not for the memory of its GET (a fault rule has changed its header) fails. */
static void a_reply_elsewhere_fails(void **state)
{
	(void)state;
	get_send(LARGE);
	get_req_is_heard(LARGE);
	rig.rg_get = NULL;
	done_say(LARGE);
	assert_int_equal(rig_last(&rig)->rgr_status, -EPROTO);
	assert_true(get->rgt_is_done);
}

/* 1 MiB comes by one message of ours, and none of the peer's but its DONE. */
static void counts_of_a_large_get(void **state)
{
	unsigned before = qp->rgq_chains_nr;

	(void)state;
	get_send(1 << 20);
	get_req_is_heard(1 << 20);
	done_say(1 << 20);
	assert_int_equal(heard(), 0);
	assert_int_equal(qp->rgq_chains_nr, before + 1);
}

#define FETCH(name) cmocka_unit_test_setup_teardown(name, fetch_begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_get_is_immediate_by_default),
		FETCH(a_get_names_its_memory),
		FETCH(a_get_finds_nothing),
		FETCH(a_lying_peer_is_left),
		FETCH(a_cancelled_get_ends_with_the_connection),
		FETCH(a_get_beside_a_cancelled_one_fails),
		FETCH(an_unsent_get_is_cancelled),
		FETCH(a_silent_peer_is_left),
		FETCH(a_lost_get_is_not_sent_again),
		FETCH(a_get_takes_a_credit_and_a_slot),
		FETCH(half_of_the_credits_are_left),
		FETCH(other_gets_are_immediate),
		FETCH(many_pieces_are_immediate),
		FETCH(a_shallow_connection_has_fewer),
		FETCH(a_reply_is_put_off),
		FETCH(a_reply_may_end_its_connection),
		FETCH(a_reply_elsewhere_fails),
		FETCH(counts_of_a_large_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

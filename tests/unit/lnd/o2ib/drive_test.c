/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The driver, with a peer that the case plays: what must not be sent to a kernel
 * (T1, T2, T3), what ends a connection, and when memory is given back. */
#include "play.h"

/* T2: what waits for a credit waits, and goes on when one returns. */
static void nothing_leaves_without_a_credit(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < RIG_DEPTH + 3; ++i)
		(void)send(16);
	for (i = 0; i < RIG_DEPTH; ++i)
		assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	assert_int_equal(heard(), 0);
	say_immediate(1, 2);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	assert_int_equal(heard(), 0);
}

/* Buffers that were consumed are returned at half of the depth by a NOOP. */
static void a_noop_returns_credits(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < RIG_DEPTH / 2 - 1; ++i)
		say_immediate(8, 0);
	assert_int_equal(heard(), 0);
	say_immediate(8, 0);
	assert_int_equal(heard(), M0_O2IB_NOOP);
	assert_int_equal(got.om_hdr.ibh_credits, RIG_DEPTH / 2);
}

static void more_credits_than_there_are_end_it(void **state)
{
	(void)state;
	say_immediate(8, 1);
	assert_true(qp->rgq_is_broken);
}

/* T13: the credit of a PUT_REQ returns with its PUT_DONE. */
static void a_put_comes(void **state)
{
	(void)state;
	say_put_req(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_ACK);
	assert_int_equal(got.om_hdr.ibh_credits, 0);
	assert_true(got.om_ack.ibk_src_cookie == COOKIE);
	assert_true(got.om_ack.ibk_sink.ibd_bytes == LARGE);
	assert_true(rig_last(&rig)->rgr_rx->lr_offered);
	assert_true(
		say_done(M0_O2IB_PUT_DONE, got.om_ack.ibk_dst_cookie, LARGE));
	assert_true(rig_last(&rig)->rgr_is_done);
	assert_int_equal(rig_last(&rig)->rgr_status, 0);
	assert_false(qp->rgq_is_broken);
}

/* T15: nothing is wanted. */
static void a_put_of_nothing_is_refused(void **state)
{
	(void)state;
	say_put_req(0);
	assert_int_equal(heard(), M0_O2IB_PUT_NAK);
	assert_int_equal(got.om_done.ibe_status, 0);
	assert_int_equal(got.om_hdr.ibh_credits, 1);
}

/* Promise 1: cancelled memory is the engine's again when the connection is over,
 * and not before. */
static void offered_memory_ends_with_the_connection(void **state)
{
	(void)state;
	say_put_req(LARGE);
	rig_last(&rig)->rgr_rx->lr_cancelled = true;
	rig_step(&rig);
	rig_wait(&rig, (GRACE_MS - 1) * M0_TIME_ONE_MSEC);
	assert_false(qp->rgq_is_broken);
	rig_wait(&rig, 2 * M0_TIME_ONE_MSEC);
	assert_true(qp->rgq_is_broken);
	assert_false(rig_last(&rig)->rgr_is_done);
	rig_over(&rig, qp);
	assert_true(rig_last(&rig)->rgr_is_done);
	assert_int_equal(rig_last(&rig)->rgr_status, -ECONNABORTED);
}

/* Messages that have not left move to another connection. */
static void the_unsent_is_sent_again(void **state)
{
	struct rig_tx *rt = NULL;
	struct rig_qp *other;
	unsigned       i;

	(void)state;
	for (i = 0; i < RIG_DEPTH + 1; ++i)
		rt = send(16);
	rig_over(&rig, qp);
	assert_false(rt->rgt_is_done);
	assert_true(rig.rg_txs[0].rgt_is_done);
	assert_int_equal(rig.rg_txs[0].rgt_health, M0_LND_REMOTE_DROPPED);
	assert_int_equal(rig.rg_downs_nr, 1);
	other = rig_asking(&rig);
	assert_non_null(other);
}

/* Another connection is there: it takes what has not left. */
static void the_unsent_takes_another(void **state)
{
	struct rig_qp *other;
	unsigned       i;

	(void)state;
	for (i = 0; i < RIG_DEPTH + 1; ++i)
		(void)send(16);
	other = ask(RIG_DEPTH);
	assert_non_null(other);
	rig_up(&rig, other, NULL, 0);
	rig_over(&rig, qp);
	assert_int_equal(rig.rg_down_status, 0);
	qp = other;
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	assert_int_equal(heard(), 0);
}

/* No connection is left for a request: it is refused, with a reason. */
static void a_request_from_ourselves_is_refused(void **state)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);

	(void)state;
	h.ibh_src_nid4 = US;
	h.ibh_dst_stamp = 0;
	assert_null(rig_request(
		&rig, buf,
		m0_o2ib__conn_encode(&h,
				     &(struct m0_o2ib_params){ 8, 256, 4096 },
				     buf, sizeof buf)));
	assert_int_equal(rig.rg_reject_nr, M0_O2IB_REJECT_BYTES);
	assert_int_equal(rig.rg_reject[6], M0_O2IB_FATAL);
}

static void say_ack(unsigned frags_nr, uint32_t each)
{
	static struct m0_o2ib_frag frags[M0_O2IB_FRAGS_MAX];
	struct m0_o2ib_hdr         h = hdr(M0_O2IB_PUT_ACK, 0);
	struct m0_o2ib_put_ack ack = { .ibk_src_cookie = got.om_req.ibq_cookie,
				       .ibk_dst_cookie = COOKIE,
				       .ibk_sink = { .ibd_key = 5,
						     .ibd_frags_nr = frags_nr,
						     .ibd_frags = frags } };
	unsigned               i;

	for (i = 0; i < frags_nr; ++i)
		frags[i] = (struct m0_o2ib_frag){ each, i * 65536 + 1 };
	assert_true(
		rig_say(&rig, qp, buf,
			m0_o2ib__put_ack_encode(&h, &ack, buf, sizeof buf)));
}

/* A put to many fragments: the send queue bounds the writes, which go on as they
 * complete; the DONE comes last. */
static void a_put_leaves_in_fragments(void **state)
{
	struct rig_tx *rt = send(LARGE);
	uint32_t       written = 0;
	uint8_t        type;

	(void)state;
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	say_ack(250, LARGE / 250);
	while ((type = heard()) != M0_O2IB_PUT_DONE) {
		if (type == 1)
			written += qp->rgq_posts[qp->rgq_seen - 1].rgp_nr;
		else
			rig_complete(&rig, qp);
	}
	assert_int_equal(written, LARGE);
	assert_int_equal(got.om_done.ibe_status, LARGE);
	assert_false(rt->rgt_is_done);
	rig_complete(&rig, qp);
	assert_true(rt->rgt_is_done);
	assert_int_equal(rt->rgt_status, 0);
}

/* A descriptor longer than the payload: the peer learns it, nothing is written. */
static void a_sink_that_is_too_long(void **state)
{
	struct rig_tx *rt = send(LARGE);

	(void)state;
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	say_ack(1, LARGE + 1);
	assert_int_equal(heard(), M0_O2IB_PUT_DONE);
	assert_int_equal(got.om_done.ibe_status, -EPROTO);
	rig_complete(&rig, qp);
	assert_int_equal(rt->rgt_status, -EPROTO);
	assert_false(qp->rgq_is_broken);
}

static void say_get_req(uint32_t sink)
{
	struct m0_o2ib_frag frag = { sink, 4096 };
	struct m0_o2ib_hdr  h = hdr(M0_O2IB_GET_REQ, 0);

	rig.rg_wanted = 0;
	assert_true(
		rig_say(&rig, qp, buf,
			m0_o2ib__get_req_encode(
				&h,
				&(struct m0_o2ib_req){
					.ibq_lnet_hdr = lnet(M0_O2IB_LNET_GET),
					.ibq_cookie = COOKIE,
					.ibq_sink = { .ibd_key = 5,
						      .ibd_frags_nr = 1,
						      .ibd_frags = &frag } },
				buf, sizeof buf)));
}

static struct rig_tx *reply(m0_bcount_t bytes)
{
	struct rig_tx *rt =
		rig_tx_make(&rig, PEER, lnet(M0_O2IB_LNET_REPLY), bytes);

	rt->rgt_tx.ltx_answers = rig_last(&rig)->rgr_rx;
	rig_xmit(&rig, rt);
	return rt;
}

/* T1: a GET_DONE never names more than the peer's memory has. */
static void a_get_is_answered(void **state)
{
	(void)state;
	say_get_req(LARGE);
	(void)reply(LARGE - 1);
	assert_int_equal(heard(), 1);
	assert_int_equal(heard(), M0_O2IB_GET_DONE);
	assert_int_equal(got.om_done.ibe_status, LARGE - 1);
	rig_complete(&rig, qp);
	rig_release(&rig, rig_last(&rig));
	say_get_req(100);
	(void)reply(101);
	assert_int_equal(heard(), M0_O2IB_GET_DONE);
	assert_int_equal(got.om_done.ibe_status, -EPROTO);
	rig_complete(&rig, qp);
	rig_release(&rig, rig_last(&rig));
	say_get_req(100);
	rig_release(&rig, rig_last(&rig));
	assert_int_equal(heard(), M0_O2IB_GET_DONE);
	assert_int_equal(got.om_done.ibe_status, -ENODATA);
}

/* The engine answers while it is offered the GET: its REPLY goes to the peer's memory, too. */
static void a_get_is_answered_at_once(void **state)
{
	(void)state;
	rig.rg_begin_reply = LARGE;
	say_get_req(LARGE);
	assert_int_equal(heard(), 1);
	assert_int_equal(heard(), M0_O2IB_GET_DONE);
	assert_int_equal(got.om_done.ibe_status, LARGE);
	assert_int_equal(heard(), 0);
	rig_complete(&rig, qp);
	rig_release(&rig, rig_last(&rig));
	assert_int_equal(heard(), 0);
}

static void answers_to_nothing_end_it(void **state)
{
	(void)state;
	assert_true(say_done(M0_O2IB_PUT_DONE, COOKIE, 1));
	assert_true(qp->rgq_is_broken);
}

static void an_unknown_cookie_ends_it(void **state)
{
	(void)state;
	say_put_req(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_ACK);
	assert_true(say_done(M0_O2IB_PUT_DONE, got.om_ack.ibk_dst_cookie + 1,
			     LARGE));
	assert_true(qp->rgq_is_broken);
	assert_false(rig_last(&rig)->rgr_is_done);
}

/* T18 and 2.5: never accepted with less, but rejected with our limit. */
static void a_deeper_queue_is_rejected(void **state)
{
	struct m0_o2ib_reject rej;
	struct m0_o2ib_why    why;

	(void)state;
	assert_null(ask(RIG_DEPTH + 1));
	assert_int_equal(m0_o2ib__reject_decode(&rej, rig.rg_reject,
						rig.rg_reject_nr, &why),
			 0);
	assert_int_equal(rej.ibr_reason, M0_O2IB_MSG_QUEUE_SIZE);
	assert_int_equal(rej.ibr_limits.ibp_queue_depth, RIG_DEPTH);
}

/* A peer that is silent: the connection ends in time, and each message once. */
static void a_silent_peer_is_left(void **state)
{
	struct rig_tx *rt = send(LARGE);

	(void)state;
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	rig_complete(&rig, qp);
	rig_wait(&rig, 51 * M0_TIME_ONE_SECOND);
	assert_true(qp->rgq_is_broken);
	assert_false(rt->rgt_is_done);
	rig_over(&rig, qp);
	assert_int_equal(rt->rgt_status, -ETIMEDOUT);
	assert_int_equal(rt->rgt_health, M0_LND_REMOTE_TIMEOUT);
}

static void a_keep_alive_leaves(void **state)
{
	(void)state;
	rig_wait(&rig, 99 * M0_TIME_ONE_SECOND);
	assert_int_equal(heard(), 0);
	rig_wait(&rig, 2 * M0_TIME_ONE_SECOND);
	assert_int_equal(heard(), M0_O2IB_NOOP);
}

/* The device fails a request: what has left ends when the connection is over, offered memory, too,
 * and never before; the peer is told to be down. */
static void a_failed_request_ends_it(void **state)
{
	static const struct {
		int                status;
		enum m0_lnd_health health;
	} rows[] = {
		/* No acknowledgement; no receive is posted; access is refused. */
		{ -ETIMEDOUT, M0_LND_NETWORK_TIMEOUT },
		{ -ENOBUFS, M0_LND_REMOTE_DROPPED },
		{ -EREMOTEIO, M0_LND_REMOTE_DROPPED },
		{ -EIO, M0_LND_REMOTE_DROPPED },
	};
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		struct rig_tx *rt = send(16);

		assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
		say_put_req(LARGE);
		assert_int_equal(heard(), M0_O2IB_PUT_ACK);
		rig_fail(&rig, qp, rows[i].status);
		assert_true(qp->rgq_is_broken);
		assert_false(rt->rgt_is_done);
		assert_false(rig_last(&rig)->rgr_is_done);
		rig_over(&rig, qp);
		assert_int_equal(rt->rgt_status, rows[i].status);
		assert_int_equal(rt->rgt_health, rows[i].health);
		assert_int_equal(rig_last(&rig)->rgr_status, rows[i].status);
		assert_int_equal(rig.rg_downs_nr, i + 1);
		assert_int_equal(rig.rg_down_status, rows[i].status);
		qp = ask(RIG_DEPTH);
		assert_non_null(qp);
		rig_up(&rig, qp, NULL, 0);
	}
}

/* A sink that the peer's device refuses to be written: no DONE leaves after the write. */
static void a_refused_write_ends_it(void **state)
{
	struct rig_tx *rt = send(LARGE);

	(void)state;
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	rig_complete(&rig, qp);
	say_ack(1, LARGE);
	assert_int_equal(heard(), 1);
	rig_fail(&rig, qp, -EREMOTEIO);
	assert_false(rt->rgt_is_done);
	rig_over(&rig, qp);
	assert_int_equal(rt->rgt_status, -EREMOTEIO);
	assert_int_equal(rt->rgt_health, M0_LND_REMOTE_DROPPED);
}

/* A port that is down keeps its connections, as cables come back. */
static void a_port_goes_down_and_up(void **state)
{
	(void)state;
	assert_true(rig.rg_ni.ldn_up);
	rig_port(&rig, false, false);
	assert_false(rig.rg_ni.ldn_up);
	assert_int_equal(rig.rg_statuses_nr, 1);
	assert_false(qp->rgq_is_broken);
	rig_port(&rig, false, false);
	assert_int_equal(rig.rg_statuses_nr, 1);
	rig_port(&rig, true, false);
	assert_true(rig.rg_ni.ldn_up);
	assert_int_equal(rig.rg_statuses_nr, 2);
	(void)send(16);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
}

/* A device that is removed: each message ends once, later ones at once, and nothing is asked. */
static void a_device_is_removed(void **state)
{
	struct rig_tx *rt = send(16);
	unsigned       i;

	(void)state;
	rig_port(&rig, false, true);
	assert_false(rig.rg_ni.ldn_up);
	rig_fail(&rig, qp, -ENODEV);
	assert_false(rt->rgt_is_done);
	rig_over(&rig, qp);
	assert_int_equal(rt->rgt_status, -ENODEV);
	assert_int_equal(rt->rgt_health, M0_LND_LOCAL_ERROR);
	for (i = 0; i < 3; ++i) {
		rt = send(16);
		rig_wait(&rig, 61 * M0_TIME_ONE_SECOND);
		assert_true(rt->rgt_is_done);
		assert_int_equal(rt->rgt_status, -ENODEV);
		assert_int_equal(rt->rgt_health, M0_LND_LOCAL_ERROR);
		assert_null(rig_asking(&rig));
	}
}

/* Requests without end: so many are accepted as there may be, the others are refused, with an
 * answer each; those that never get up end in time, and make room. */
static void a_flood_of_requests_is_bounded(void **state)
{
	struct m0_o2ib_reject rej;
	struct m0_o2ib_why    why;
	unsigned              accepted = 0;
	unsigned              i;

	(void)state;
	for (i = 1; i <= 1000; ++i) {
		struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);

		h.ibh_src_nid4 = PEER + i % 100;
		h.ibh_src_stamp = PEER_STAMP + i % 100;
		h.ibh_dst_stamp = 0;
		if (rig_request(
			    &rig, buf,
			    m0_o2ib__conn_encode(&h,
						 &(struct m0_o2ib_params){
							 RIG_DEPTH, 256, 4096 },
						 buf, sizeof buf)) != NULL) {
			++accepted;
			continue;
		}
		assert_int_equal(m0_o2ib__reject_decode(&rej, rig.rg_reject,
							rig.rg_reject_nr, &why),
				 0);
		assert_int_equal(rej.ibr_reason, M0_O2IB_NO_RESOURCES);
	}
	assert_int_equal(accepted, RIG_ACCEPTING_MAX);
	(void)send(16);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	rig_wait(&rig, 23 * M0_TIME_ONE_SECOND);
	for (i = 0; i < RIG_QPS_MAX; ++i)
		if (rig.rg_qps[i].rgq_is_used && &rig.rg_qps[i] != qp) {
			assert_true(rig.rg_qps[i].rgq_is_broken);
			rig_over(&rig, &rig.rg_qps[i]);
		}
	assert_non_null(ask(RIG_DEPTH));
}

/* Memory of the application is registered once, and leaves when it says so. */
static void a_region_is_registered_once(void **state)
{
	static uint8_t           memory[LARGE];
	const struct m0_lnd_ops *ops = rig.rg_lnd->ld_ops;
	const struct m0_lnd_mem  mem = { memory, sizeof memory, 1 };
	unsigned                 before;

	(void)state;
	(void)send(16);
	before = rig.rg_mems_nr;
	ops->ldo_mem_add(rig.rg_lnd, &mem);
	assert_int_equal(rig.rg_mems_nr, before + 1);
	(void)send(LARGE);
	say_put_req(LARGE);
	assert_int_equal(rig.rg_mems_nr, before + 1);
	ops->ldo_mem_del(rig.rg_lnd, &mem);
	assert_int_equal(rig.rg_mems_nr, before);
}

/* A region that leaves stays registered, if another has all of its memory, until transfers that may
 * have its keys are over, but not for later ones; one that shares nothing leaves at once. */
static void a_region_within_another_leaves_late(void **state)
{
	static uint8_t           memory[LARGE];
	static uint8_t           elsewhere[LARGE];
	const struct m0_lnd_ops *ops = rig.rg_lnd->ld_ops;
	const struct m0_lnd_mem  all = { memory, sizeof memory, 1 };
	const struct m0_lnd_mem  part = { memory + 10, 1000, 2 };
	const struct m0_lnd_mem  other = { elsewhere, sizeof elsewhere, 3 };
	struct rig_tx           *rt;
	unsigned                 before;

	(void)state;
	rt = send(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	before = rig.rg_mems_nr;
	ops->ldo_mem_add(rig.rg_lnd, &all);
	ops->ldo_mem_add(rig.rg_lnd, &part);
	ops->ldo_mem_add(rig.rg_lnd, &other);
	ops->ldo_mem_del(rig.rg_lnd, &other);
	assert_int_equal(rig.rg_mems_nr, before + 2);
	ops->ldo_mem_del(rig.rg_lnd, &part);
	rig_step(&rig);
	assert_int_equal(rig.rg_mems_nr, before + 2);
	/* One that begins later does not hold it. */
	say_put_req(LARGE);
	qp->rgq_seen = 0;
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	say_ack(1, LARGE);
	rig_complete(&rig, qp);
	assert_true(rt->rgt_is_done);
	assert_int_equal(rig.rg_mems_nr, before + 1);
	ops->ldo_mem_del(rig.rg_lnd, &all);
}

/* Memory that the application has back is not registered, whatever goes on: neither that of a region
 * of which others have a part, nor that of one whose surrounding region has left, too. */
static void memory_taken_back_is_not_registered(void **state)
{
	static uint8_t           memory[LARGE];
	const struct m0_lnd_ops *ops = rig.rg_lnd->ld_ops;
	const struct m0_lnd_mem  all = { memory, sizeof memory, 1 };
	const struct m0_lnd_mem  part = { memory + 10, 1000, 2 };
	const struct m0_lnd_mem  next = { memory + 500, 1000, 3 };
	unsigned                 before;

	(void)state;
	say_put_req(LARGE);
	before = rig.rg_mems_nr;
	ops->ldo_mem_add(rig.rg_lnd, &all);
	ops->ldo_mem_add(rig.rg_lnd, &part);
	ops->ldo_mem_add(rig.rg_lnd, &next);
	ops->ldo_mem_del(rig.rg_lnd, &part);
	assert_int_equal(rig.rg_mems_nr, before + 3);
	ops->ldo_mem_del(rig.rg_lnd, &all);
	assert_int_equal(rig.rg_mems_nr, before + 1);
	ops->ldo_mem_add(rig.rg_lnd, &part);
	ops->ldo_mem_del(rig.rg_lnd, &next);
	assert_int_equal(rig.rg_mems_nr, before + 1);
	ops->ldo_mem_del(rig.rg_lnd, &part);
	assert_int_equal(rig.rg_mems_nr, before);
}

/* Memory that is in no region has keys for one transfer, which go with it: nothing is kept that the
 * application may have given back. The transfers in flight bound them. */
static void foreign_keys_end_with_the_transfer(void **state)
{
	struct rig_tx *rt;
	unsigned       maps_nr = 0;
	unsigned       i;

	(void)state;
	for (i = 0; i < 20; ++i) {
		rt = send(LARGE);
		assert_int_equal(heard(), M0_O2IB_PUT_REQ);
		say_ack(1, LARGE);
		assert_int_equal(heard(), 1);
		assert_int_equal(heard(), M0_O2IB_PUT_DONE);
		rig_complete(&rig, qp);
		assert_true(rt->rgt_is_done);
		say_immediate(1, i % 4 == 3 ? 4 : 0);
		if (i == 0)
			maps_nr = rig.rg_maps_nr;
		assert_int_equal(rig.rg_maps_nr, maps_nr);
		while (heard() != 0)
			;
		rig_complete(&rig, qp);
	}
}

/* A connection has 2 d + 2 buffers of 4 KiB and 6 d + 4 requests; the peer may be late with
 * its receives for ever, and waits 0.64 ms for ours, not 655. */
static void a_connection_is_bounded(void **state)
{
	unsigned free_nr = 0;
	unsigned i;

	(void)state;
	assert_int_equal(qp->rgq_cfg.oqc_recvs_nr, 2 * RIG_DEPTH + 2);
	assert_int_equal(qp->rgq_cfg.oqc_sends_nr, 6 * RIG_DEPTH + 4);
	assert_int_equal(qp->rgq_cfg.oqc_rnr_timer, 12);
	assert_int_equal(qp->rgq_cfg.oqc_rnr_retry_nr, 7);
	assert_int_equal(qp->rgq_cfg.oqc_retry_nr, 5);
	for (i = 0; i < ARRAY_SIZE(qp->rgq_rbufs); ++i)
		free_nr += !qp->rgq_rbufs[i].rgb_is_lent;
	assert_int_equal(free_nr, 2 * RIG_DEPTH + 2);
}

/* Messages that come before the connection is known to be up wait for that. */
static void a_message_comes_early(void **state)
{
	struct rig_qp *early = ask(RIG_DEPTH);

	(void)state;
	assert_non_null(early);
	qp = early;
	say_immediate(8, 0);
	assert_int_equal(rig.rg_rxs_nr, 0);
	rig_up(&rig, early, NULL, 0);
	assert_int_equal(rig.rg_rxs_nr, 1);
	assert_true(rig_last(&rig)->rgr_is_done);
}

static void say_any(unsigned i)
{
	if (i == 0)
		say_immediate(8, 0);
	else if (i == 1)
		say_put_req(0);
	else if (i == 2)
		say_put_req(LARGE);
	else
		say_get_req(LARGE);
}

/* The engine ends the connection while it is offered a message: no answer leaves, and what was
 * begun ends. */
static void a_message_may_end_its_connection(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 8; ++i) {
		rig.rg_begin_drops = true;
		rig.rg_begin_rc = i < 4 ? 0 : -EAGAIN;
		say_any(i % 4);
		rig.rg_begin_drops = false;
		rig.rg_begin_rc = 0;
		assert_true(qp->rgq_is_broken);
		assert_int_equal(heard(), 0);
		rig_over(&rig, qp);
		qp = ask(RIG_DEPTH);
		assert_non_null(qp);
		rig_up(&rig, qp, NULL, 0);
	}
	/* As does one that was put off. */
	rig.rg_begin_rc = -EAGAIN;
	say_put_req(LARGE);
	rig.rg_begin_drops = true;
	rig_wait(&rig, M0_TIME_ONE_SECOND);
	assert_true(qp->rgq_is_broken);
}

/* -- counts --------------------------------------------------------------------- */

struct counts {
	unsigned chains_nr;
	unsigned sends_nr;
	unsigned writes_nr;
	unsigned signalled_nr;
};

/* Counts what was posted since the last call. */
static struct counts posted(void)
{
	static struct rig_qp *last;
	static unsigned       chains_nr;
	struct counts         nr = {};
	struct rig_post      *post;

	if (last != qp || chains_nr > qp->rgq_chains_nr)
		chains_nr = 0;
	last = qp;
	while ((post = rig_next(qp)) != NULL) {
		nr.sends_nr += post->rgp_wr.owr_op == M0_O2IB_OP_SEND;
		nr.writes_nr += post->rgp_wr.owr_op == M0_O2IB_OP_WRITE;
		nr.signalled_nr += post->rgp_wr.owr_is_signalled;
	}
	nr.chains_nr = qp->rgq_chains_nr - chains_nr;
	chains_nr = qp->rgq_chains_nr;
	return nr;
}

/* 1 MiB leaves by two messages and one chain of writes, with two doorbells; it comes with one. */
static void counts_of_a_large_put(void **state)
{
	enum {
		MIB = 1 << 20
	};
	struct rig_tx *rt;
	struct counts  nr;

	(void)state;
	(void)posted();
	rt = send(MIB);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	qp->rgq_seen = 0;
	say_ack(1, MIB);
	nr = posted();
	assert_int_equal(nr.sends_nr, 2);
	assert_int_equal(nr.writes_nr, 1);
	assert_int_equal(nr.chains_nr, 2);
	assert_true(nr.signalled_nr <= 2);
	rig_complete(&rig, qp);
	assert_true(rt->rgt_is_done);
	say_put_req(MIB);
	nr = posted();
	assert_int_equal(nr.sends_nr, 1);
	assert_int_equal(nr.writes_nr, 0);
	assert_int_equal(nr.chains_nr, 1);
	assert_int_equal(nr.signalled_nr, 0);
}

/* Messages of 64 bytes, so many in flight: one send each, and few completions. */
static void small_count(unsigned depth, unsigned signalled_of_100)
{
	enum {
		ROUNDS = 8
	};
	const struct m0_lnd_ops *ops;
	struct rig_tx           *rts[RIG_DEPTH_MAX];
	struct m0_o2ib_hdr       h = hdr(M0_O2IB_NOOP, (uint8_t)depth);
	struct counts            nr;
	unsigned                 round;
	unsigned                 i;

	rig_init_deep(&rig, US, US_STAMP, depth);
	ops = rig.rg_lnd->ld_ops;
	qp = ask((uint16_t)depth);
	assert_non_null(qp);
	rig_up(&rig, qp, NULL, 0);
	(void)posted();
	for (round = 0; round < ROUNDS; ++round) {
		for (i = 0; i < depth; ++i) {
			rts[i] = rig_tx_make(&rig, PEER, lnet(M0_O2IB_LNET_PUT),
					     64);
			assert_non_null(rts[i]);
			ops->ldo_xmit(&rig.rg_ni, &rts[i]->rgt_tx);
		}
		rig_step(&rig);
		nr = posted();
		assert_int_equal(nr.sends_nr, depth);
		assert_int_equal(nr.writes_nr, 0);
		assert_true(nr.signalled_nr * 100 <= depth * signalled_of_100);
		rig_complete(&rig, qp);
		for (i = 0; i < depth; ++i)
			assert_true(rts[i]->rgt_is_done);
		assert_true(rig_say(&rig, qp, buf,
				    m0_o2ib__noop_encode(&h, buf, sizeof buf)));
		/* Room for the next round. */
		qp->rgq_posts_nr = 0;
		qp->rgq_seen = 0;
	}
	rig_fini(&rig);
}

static void counts_of_small_messages(void **state)
{
	(void)state;
	small_count(8, 25);
	small_count(64, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(nothing_leaves_without_a_credit),
		CASE(a_noop_returns_credits),
		CASE(more_credits_than_there_are_end_it),
		CASE(a_put_comes),
		CASE(a_put_of_nothing_is_refused),
		CASE(offered_memory_ends_with_the_connection),
		CASE(the_unsent_is_sent_again),
		CASE(the_unsent_takes_another),
		CASE(a_request_from_ourselves_is_refused),
		CASE(a_put_leaves_in_fragments),
		CASE(a_sink_that_is_too_long),
		CASE(a_get_is_answered),
		CASE(a_get_is_answered_at_once),
		CASE(answers_to_nothing_end_it),
		CASE(an_unknown_cookie_ends_it),
		CASE(a_deeper_queue_is_rejected),
		CASE(a_silent_peer_is_left),
		CASE(a_keep_alive_leaves),
		CASE(a_failed_request_ends_it),
		CASE(a_refused_write_ends_it),
		CASE(a_port_goes_down_and_up),
		CASE(a_device_is_removed),
		CASE(a_flood_of_requests_is_bounded),
		CASE(a_region_is_registered_once),
		CASE(a_region_within_another_leaves_late),
		CASE(memory_taken_back_is_not_registered),
		CASE(foreign_keys_end_with_the_transfer),
		CASE(a_connection_is_bounded),
		CASE(a_message_comes_early),
		CASE(a_message_may_end_its_connection),
		CASE(counts_of_a_large_put),
		cmocka_unit_test(counts_of_small_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

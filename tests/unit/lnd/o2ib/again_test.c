/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A connection that we end because one of its operations was cancelled, with a peer that the case
 * plays: what the peer cannot have executed is sent again, once; the rest fails, and nobody
 * is told to send it again. */
#include "play.h"

static void cancel(struct rig_tx *rt)
{
	rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni, &rt->rgt_tx);
	rig_step(&rig);
}

/* Cancels an operation that has left, and waits until its connection is over. */
static void grace_end(struct rig_tx *rt)
{
	cancel(rt);
	rig_wait(&rig, GRACE_MS * M0_TIME_ONE_MSEC);
	assert_true(qp->rgq_is_broken);
	assert_false(rt->rgt_is_done);
	rig_over(&rig, qp);
	assert_true(rt->rgt_is_done);
	assert_int_equal(rt->rgt_status, -ECONNABORTED);
}

static void other_up(void)
{
	struct rig_qp *other = ask(RIG_DEPTH);

	assert_non_null(other);
	rig_up(&rig, other, NULL, 0);
}

static struct rig_qp *the_other(void)
{
	struct rig_qp *other = rig.rg_qps;

	while (!other->rgq_is_used || other == qp)
		assert_true(++other < rig.rg_qps + RIG_QPS_MAX);
	return other;
}

static void ack_say(void)
{
	struct m0_o2ib_frag    frag = { LARGE, 4096 };
	struct m0_o2ib_hdr     h = hdr(M0_O2IB_PUT_ACK, 0);
	struct m0_o2ib_put_ack ack = { .ibk_src_cookie = got.om_req.ibq_cookie,
				       .ibk_dst_cookie = COOKIE,
				       .ibk_sink = { .ibd_key = 5,
						     .ibd_frags_nr = 1,
						     .ibd_frags = &frag } };

	assert_true(
		rig_say(&rig, qp, buf,
			m0_o2ib__put_ack_encode(&h, &ack, buf, sizeof buf)));
}

/* A PUT_REQ without an answer has not been executed, and takes another connection; a message that
 * carries its payload, and a PUT whose PUT_DONE has left, may have been. */
static void the_unanswered_is_sent_again(void **state)
{
	struct rig_tx *small;
	struct rig_tx *written;
	struct rig_tx *unanswered;
	struct rig_tx *cancelled;

	(void)state;
	small = send(16);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	written = send(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	ack_say();
	assert_int_equal(heard(), 1);
	assert_int_equal(heard(), M0_O2IB_PUT_DONE);
	unanswered = send(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	cancelled = send(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	other_up();
	grace_end(cancelled);
	assert_int_equal(small->rgt_status, -ECONNABORTED);
	assert_int_equal(small->rgt_health, M0_LND_LOCAL_ERROR);
	assert_int_equal(written->rgt_status, -ECONNABORTED);
	assert_int_equal(written->rgt_health, M0_LND_LOCAL_ERROR);
	assert_false(unanswered->rgt_is_done);

	qp = the_other();
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	assert_int_equal(heard(), 0);
	ack_say();
	assert_int_equal(heard(), 1);
	assert_int_equal(heard(), M0_O2IB_PUT_DONE);
	rig_complete(&rig, qp);
	assert_true(unanswered->rgt_is_done);
	assert_int_equal(unanswered->rgt_status, 0);
	assert_int_equal(rig.rg_maps_nr, 1);
}

/* A cancelled IMMEDIATE ends its connection as any other cancelled operation does. */
static void an_immediate_is_cancelled(void **state)
{
	struct rig_tx *unanswered;
	struct rig_tx *small;

	(void)state;
	unanswered = send(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	small = send(16);
	assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
	other_up();
	grace_end(small);
	assert_int_equal(small->rgt_health, M0_LND_LOCAL_ERROR);
	assert_false(unanswered->rgt_is_done);
	qp = the_other();
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
}

/* Without another connection one is asked for; the message has its own deadline, and a cancel ends
 * it at once, as it has not left. */
static void it_waits_for_a_connection(void **state)
{
	struct rig_tx *late;
	struct rig_tx *unwanted;
	struct rig_tx *cancelled;

	(void)state;
	late = send(LARGE);
	late->rgt_tx.ltx_deadline =
		m0_time_add(rig.rg_reactor.rtr_now, 5 * M0_TIME_ONE_SECOND);
	unwanted = send(LARGE);
	cancelled = send(LARGE);
	grace_end(cancelled);
	assert_non_null(rig_asking(&rig));
	cancel(unwanted);
	assert_true(unwanted->rgt_is_done);
	assert_int_equal(unwanted->rgt_status, -ECANCELED);
	rig_wait(&rig, 3 * M0_TIME_ONE_SECOND);
	assert_false(late->rgt_is_done);
	rig_wait(&rig, M0_TIME_ONE_SECOND + 1);
	assert_true(late->rgt_is_done);
	assert_int_equal(late->rgt_status, -ETIMEDOUT);
}

/* A second one that is cancelled while the connection ends is not sent again. */
static void the_cancelled_is_not_sent_again(void **state)
{
	struct rig_tx *second;
	struct rig_tx *first;

	(void)state;
	second = send(LARGE);
	first = send(LARGE);
	other_up();
	cancel(first);
	rig_wait(&rig, GRACE_MS * M0_TIME_ONE_MSEC);
	assert_true(qp->rgq_is_broken);
	cancel(second);
	rig_over(&rig, qp);
	assert_int_equal(second->rgt_status, -ECONNABORTED);
	qp = the_other();
	assert_int_equal(heard(), 0);
}

/* A connection that ends for another reason fails what has left. */
static void the_end_by_the_peer_is_a_failure(void **state)
{
	struct rig_tx *rt;

	(void)state;
	rt = send(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	other_up();
	rig_over(&rig, qp);
	assert_true(rt->rgt_is_done);
	assert_int_equal(rt->rgt_status, -ECONNRESET);
	assert_int_equal(rt->rgt_health, M0_LND_REMOTE_DROPPED);
	qp = the_other();
	assert_int_equal(heard(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_unanswered_is_sent_again),
		CASE(an_immediate_is_cancelled),
		CASE(it_waits_for_a_connection),
		CASE(the_cancelled_is_not_sent_again),
		CASE(the_end_by_the_peer_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Traps of sites: two processes with one NID, a fabric that drops, deep queues and several
 * connections, an application that takes no messages. A case plays the peer. */
#include "play.h"

enum {
	DEEP = 32,
	ROUNDS = 10
};

static struct rig_qp *ask_as(uint64_t stamp)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);

	h.ibh_src_stamp = stamp;
	h.ibh_dst_stamp = 0;
	return rig_request(&rig, buf,
			   m0_o2ib__conn_encode(&h,
						&(struct m0_o2ib_params){
							RIG_DEPTH, 256, 4096 },
						buf, sizeof buf));
}

/* T7: two processes have one NID: each ends the connection of the other and is refused once, as one
 * that began anew; each message of ours ends once, and nothing piles up. */
static void two_processes_have_one_nid(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i <= ROUNDS; ++i) {
		uint64_t       stamp = PEER_STAMP + i % 2;
		struct rig_tx *rt = send(16);

		assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
		assert_null(ask_as(stamp));
		assert_int_equal(rig.rg_reject[6], M0_O2IB_CONN_STALE);
		assert_true(qp->rgq_is_broken);
		rig_over(&rig, qp);
		assert_true(rt->rgt_is_done);
		assert_int_equal(rt->rgt_status, -ESTALE);
		qp = ask_as(stamp);
		assert_non_null(qp);
		rig_up(&rig, qp, NULL, 0);
		assert_int_equal(rig.rg_downs_nr, i);
	}
}

/* T22: a fabric without flow control drops; the site marks our packets by `tos`, which each
 * connection has, as it has the time-out and the retries. */
static void a_connection_has_the_type_of_service(void **state)
{
	(void)state;
	assert_int_equal(qp->rgq_cfg.oqc_tos, -1);
	assert_int_equal(qp->rgq_cfg.oqc_ack_timeout, 0);
	rig_fini(&rig);
	rig_init_options(&rig, US, US_STAMP, RIG_DEPTH,
			 "tos=106 ack_timeout=18 retry_count=7");
	qp = ask(RIG_DEPTH);
	assert_int_equal(qp->rgq_cfg.oqc_tos, 106);
	assert_int_equal(qp->rgq_cfg.oqc_ack_timeout, 18);
	assert_int_equal(qp->rgq_cfg.oqc_retry_nr, 7);
	(void)rig_over(&rig, qp);
	(void)send(16);
	assert_int_equal(rig_asking(&rig)->rgq_cfg.oqc_tos, 106);
}

/* T24: a site with OPA has queues of 32 and four connections to a peer: all are accepted where we
 * have as many credits, and each is rejected with our limit where we have not. */
static void a_peer_has_deep_queues_and_many_connections(void **state)
{
	struct rig_qp *qps[4];
	unsigned       i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(qps); ++i) {
		assert_null(ask(DEEP));
		assert_int_equal(rig.rg_reject[6], M0_O2IB_MSG_QUEUE_SIZE);
		assert_int_equal(rig.rg_reject[16], RIG_DEPTH);
	}
	rig_fini(&rig);
	rig_init_deep(&rig, US, US_STAMP, DEEP);
	for (i = 0; i < ARRAY_SIZE(qps); ++i) {
		qps[i] = ask(DEEP);
		assert_non_null(qps[i]);
		assert_int_equal(qps[i]->rgq_cfg.oqc_recvs_nr, 2 * DEEP + 2);
		rig_up(&rig, qps[i], NULL, 0);
	}
	for (i = 0; i < ARRAY_SIZE(qps); ++i)
		(void)send(16);
	for (i = 0; i < ARRAY_SIZE(qps); ++i) {
		qp = qps[i];
		assert_int_equal(heard(), M0_O2IB_IMMEDIATE);
		say_immediate(8, 1);
		assert_true(rig_last(&rig)->rgr_is_done);
	}
}

/* T28: an application that takes no messages holds the buffers of the peer's messages and their
 * credits, in order, and nothing else: what we send leaves, and answers come through. */
static void a_blocked_portal_holds_its_messages_alone(void **state)
{
	struct m0_o2ib_hdr h;
	struct rig_tx     *rt;
	unsigned           i;

	(void)state;
	rig.rg_begin_rc = -EAGAIN;
	for (i = 0; i < RIG_DEPTH; ++i)
		say_immediate(i + 1, 0);
	rig_wait(&rig, M0_TIME_ONE_SECOND);
	assert_int_equal(rig.rg_rxs_nr, 0);
	assert_int_equal(heard(), 0);
	rt = send(LARGE);
	assert_int_equal(heard(), M0_O2IB_PUT_REQ);
	assert_int_equal(got.om_hdr.ibh_credits, 0);
	h = hdr(M0_O2IB_PUT_NAK, 0);
	assert_true(rig_say(
		&rig, qp, buf,
		m0_o2ib__done_encode(
			&h, &(struct m0_o2ib_done){ got.om_req.ibq_cookie, 0 },
			0, buf, sizeof buf)));
	assert_true(rt->rgt_is_done);
	assert_false(qp->rgq_is_broken);
	rig.rg_begin_rc = 0;
	rig.rg_wanted = 1;
	rig_wait(&rig, M0_TIME_ONE_SECOND);
	assert_int_equal(rig.rg_rxs_nr, RIG_DEPTH);
	for (i = 0; i < RIG_DEPTH; ++i)
		assert_true(rig.rg_rxs[i].rgr_is_done);
	assert_int_equal(heard(), M0_O2IB_NOOP);
	assert_int_equal(got.om_hdr.ibh_credits, RIG_DEPTH);
}

/* Uncertain (3.4): LNet's header promises more than an IMMEDIATE has. The message fails, and the
 * connection stays. */
static void a_payload_that_is_short_fails_alone(void **state)
{
	static const uint8_t bytes[8];
	struct m0_o2ib_hdr   h = hdr(M0_O2IB_IMMEDIATE, 0);

	(void)state;
	rig.rg_wanted = sizeof bytes + 1;
	assert_true(rig_say(
		&rig, qp, buf,
		m0_o2ib__immediate_encode(
			&h,
			&(struct m0_o2ib_immediate){ lnet(M0_O2IB_LNET_PUT),
						     bytes, sizeof bytes },
			buf, sizeof buf)));
	assert_true(rig_last(&rig)->rgr_is_done);
	assert_int_equal(rig_last(&rig)->rgr_status, -EPROTO);
	assert_false(qp->rgq_is_broken);
	say_immediate(sizeof bytes, 0);
	assert_int_equal(rig_last(&rig)->rgr_status, 0);
}

/* Uncertain (1.5): identities in messages have room for IPv4 alone. */
static void an_address_of_ipv6_is_refused(void **state)
{
	struct m0_lnd_ni ni = rig.rg_ni;
	char             why[M0_LND_WHY_BYTES];

	(void)state;
	ni.ldn_nid.ln_size = 12;
	assert_int_equal(rig.rg_lnd->ld_ops->ldo_ni_start(rig.rg_lnd, &ni, why),
			 -EAFNOSUPPORT);
	assert_string_equal(why, "net o2ib has IPv4 addresses only");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(two_processes_have_one_nid),
		CASE(a_connection_has_the_type_of_service),
		CASE(a_peer_has_deep_queues_and_many_connections),
		CASE(a_blocked_portal_holds_its_messages_alone),
		CASE(a_payload_that_is_short_fails_alone),
		CASE(an_address_of_ipv6_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

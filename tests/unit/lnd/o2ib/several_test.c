/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Several connections to a peer (`conns_per_peer`), with a peer that the case plays. */
#include "m0/log.h"

#include "play.h"

enum {
	CONNS = 3
};

/* Connections of ours, by the order in which they were asked for. */
static struct rig_qp *ours[RIG_QPS_MAX];
static unsigned       ours_nr;
/* The peer's incarnation. */
static uint64_t stamp;

static int several_begin(void **state)
{
	(void)state;
	ours_nr = 0;
	stamp = PEER_STAMP;
	rig_init_options(&rig, US, US_STAMP, RIG_DEPTH, "conns_per_peer=3");
	return 0;
}

static bool is_ours(const struct rig_qp *other)
{
	unsigned i;

	for (i = 0; i < ours_nr; ++i)
		if (ours[i] == other)
			return true;
	return false;
}

/* The driver asks for one more connection. */
static bool asks(void)
{
	struct rig_qp *one;

	for (one = rig.rg_qps; one < rig.rg_qps + RIG_QPS_MAX; ++one)
		if (one->rgq_is_used &&
		    one->rgq_private[6] == M0_O2IB_CONNREQ && !is_ours(one)) {
			ours[ours_nr++] = one;
			return true;
		}
	return false;
}

static void accept_with(uint16_t depth)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNACK, 0);

	h.ibh_src_stamp = stamp;
	rig_up(&rig, ours[ours_nr - 1], buf,
	       m0_o2ib__conn_encode(
		       &h, &(struct m0_o2ib_params){ depth, 256, 4096 }, buf,
		       sizeof buf));
}

static void accept_it(void)
{
	accept_with(RIG_DEPTH);
}

static void all_up(void)
{
	(void)send(16);
	while (asks())
		accept_it();
	assert_int_equal(ours_nr, CONNS);
	assert_int_equal(rig.rg_downs_nr, 0);
}

static unsigned heard_of(struct rig_qp *one)
{
	unsigned nr = 0;

	qp = one;
	while (heard() == M0_O2IB_IMMEDIATE)
		++nr;
	return nr;
}

/* The first is up before the next is asked for: that one knows the peer's incarnation. */
static void they_are_asked_for_in_turn(void **state)
{
	struct m0_o2ib_hdr h;
	struct m0_o2ib_why why;

	(void)state;
	(void)send(16);
	assert_true(asks());
	assert_false(asks());
	accept_it();
	assert_int_equal(heard_of(ours[0]), 1);
	assert_true(asks());
	assert_int_equal(m0_o2ib__hdr_decode(&h, ours[1]->rgq_private,
					     ours[1]->rgq_private_nr, &why),
			 0);
	assert_true(h.ibh_dst_stamp == PEER_STAMP);
	assert_false(asks());
	accept_it();
	assert_true(asks());
	accept_it();
	(void)send(16);
	assert_false(asks());
}

static void messages_take_each_in_turn(void **state)
{
	unsigned i;

	(void)state;
	all_up();
	assert_int_equal(heard_of(ours[0]), 1);
	for (i = 0; i < 2 * CONNS; ++i)
		(void)send(16);
	for (i = 0; i < CONNS; ++i)
		assert_int_equal(heard_of(ours[i]), 2);
}

/* Connections of the peer are as good as ours. */
static void those_of_the_peer_count(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < CONNS; ++i) {
		struct rig_qp *of_peer = ask(RIG_DEPTH);

		assert_non_null(of_peer);
		rig_up(&rig, of_peer, NULL, 0);
	}
	(void)send(16);
	assert_false(asks());
}

/* A node that sends nothing needs none. */
static void none_is_asked_for_without_a_message(void **state)
{
	(void)state;
	qp = ask(RIG_DEPTH);
	assert_non_null(qp);
	rig_up(&rig, qp, NULL, 0);
	say_immediate(8, 0);
	rig_wait(&rig, M0_TIME_ONE_SECOND);
	assert_false(asks());
	(void)send(16);
	assert_true(asks());
}

/* One that does not come about is no failure of the others, and is not asked for again soon. */
static void one_that_fails_is_left(void **state)
{
	struct rig_tx *rt;

	(void)state;
	(void)send(16);
	assert_true(asks());
	accept_it();
	assert_true(asks());
	rig.rg_dev.odv_up->odu_failed(ours[1]->rgq_qp.oqp_user, -ECONNREFUSED);
	rig_step(&rig);
	ours_nr = 1;
	rt = send(16);
	assert_false(rt->rgt_is_done);
	assert_int_equal(heard_of(ours[0]), 2);
	rig_complete(&rig, ours[0]);
	assert_false(asks());
	rig_wait(&rig, 59 * M0_TIME_ONE_SECOND);
	(void)send(16);
	rig_complete(&rig, ours[0]);
	assert_false(asks());
	rig_wait(&rig, 2 * M0_TIME_ONE_SECOND);
	(void)send(16);
	assert_true(asks());
}

/* The peer rejects the connection that was asked for last. */
static void reject_with(enum m0_o2ib_reason reason, uint16_t depth)
{
	struct m0_o2ib_reject rej = { .ibr_reason = (uint8_t)reason,
				      .ibr_version = M0_O2IB_VERSION,
				      .ibr_stamp = stamp,
				      .ibr_limits = { depth, 256, 4096 } };

	rig.rg_dev.odv_up->odu_refused(ours[--ours_nr]->rgq_qp.oqp_user, buf,
				       m0_o2ib__reject_encode(&rej, buf));
	rig_step(&rig);
}

static void reject_it(enum m0_o2ib_reason reason)
{
	reject_with(reason, RIG_DEPTH);
}

/* The pause after a rejection is also that of a further connection. */
static void a_rejected_one_waits(void **state)
{
	unsigned i;

	(void)state;
	(void)send(16);
	assert_true(asks());
	accept_it();
	assert_true(asks());
	reject_it(M0_O2IB_CONN_RACE);
	assert_false(asks());
	(void)send(16);
	assert_false(asks());
	rig_wait(&rig, M0_TIME_ONE_SECOND + 1);
	for (i = 1; asks() && i < 100; ++i)
		reject_it(M0_O2IB_CONN_STALE);
	assert_in_range(i, 2, 20);
	assert_int_equal(heard_of(ours[0]), 2);
	rig_wait(&rig, M0_TIME_ONE_SECOND + 1);
	assert_true(asks());
}

/* The peer has begun anew: connections to what it was before end, and what they have not sent takes
 * the new one. */
static void those_of_the_dead_end(void **state)
{
	unsigned i;

	(void)state;
	(void)send(16);
	assert_true(asks());
	accept_it();
	assert_int_equal(heard_of(ours[0]), 1);
	assert_true(asks());
	++stamp;
	reject_it(M0_O2IB_CONN_STALE);
	assert_true(asks());
	for (i = 0; i < 2 * RIG_DEPTH; ++i)
		(void)send(16);
	assert_false(ours[0]->rgq_is_broken);
	i -= heard_of(ours[0]);
	assert_true(i > 0);
	accept_it();
	assert_true(ours[0]->rgq_is_broken);
	assert_int_equal(heard_of(ours[1]), min64u(i, RIG_DEPTH));
	assert_int_equal(rig.rg_downs_nr, 1);
	assert_int_equal(rig.rg_down_status, 0);
	rig_over(&rig, ours[0]);
	assert_false(ours[1]->rgq_is_broken);
}

/* A peer is down when the last is lost. */
static void the_last_that_is_lost_is_told(void **state)
{
	unsigned i;

	(void)state;
	all_up();
	for (i = 0; i < CONNS; ++i) {
		assert_int_equal(rig.rg_downs_nr, 0);
		rig_over(&rig, ours[i]);
	}
	assert_int_equal(rig.rg_downs_nr, 1);
	assert_int_equal(rig.rg_down_status, -ECONNRESET);
}

/* One that is lost is replaced when something is sent a second later; the peer is not down. */
static void one_that_is_lost_is_replaced(void **state)
{
	(void)state;
	all_up();
	rig_over(&rig, ours[1]);
	assert_int_equal(rig.rg_downs_nr, 0);
	ours[1] = ours[2];
	ours_nr = 2;
	(void)send(16);
	assert_false(asks());
	rig_wait(&rig, M0_TIME_ONE_SECOND);
	assert_false(asks());
	(void)send(16);
	assert_true(asks());
}

static int bounded_begin(void **state)
{
	(void)state;
	ours_nr = 0;
	stamp = PEER_STAMP;
	rig_init_bounded(&rig, US, US_STAMP, RIG_DEPTH, "conns_per_peer=8",
			 RIG_QPS_MAX);
	return 0;
}

/* A request of another peer. */
static bool other_is_accepted(unsigned nr)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);

	h.ibh_src_nid4 = PEER + nr;
	h.ibh_src_stamp = PEER_STAMP + nr;
	h.ibh_dst_stamp = 0;
	return rig_request(&rig, buf,
			   m0_o2ib__conn_encode(&h,
						&(struct m0_o2ib_params){
							RIG_DEPTH, 256, 4096 },
						buf, sizeof buf)) != NULL;
}

/* The first of a peer, and others as long as a quarter of all is left for first ones. */
enum {
	TO_ONE = 1 + RIG_QPS_MAX * 3 / 4
};

/* Further connections of ours leave room for peers that have none. */
static void further_ones_leave_room_for_others(void **state)
{
	struct rig_tx *rt;

	(void)state;
	(void)send(16);
	while (asks())
		accept_it();
	assert_int_equal(ours_nr, TO_ONE);
	assert_null(ask(RIG_DEPTH));
	assert_true(other_is_accepted(1));
	assert_false(other_is_accepted(1));
	assert_false(other_is_accepted(2));
	/* One that is gone makes room for a first one, and for no other. */
	rig_over(&rig, ours[0]);
	assert_true(other_is_accepted(2));
	rt = send(16);
	assert_false(rt->rgt_is_done);
}

/* So do those that a peer asks for. */
static void those_of_the_peer_leave_room_for_others(void **state)
{
	struct rig_qp *of_peer;
	unsigned       nr = 0;

	(void)state;
	while ((of_peer = ask(RIG_DEPTH)) != NULL) {
		rig_up(&rig, of_peer, NULL, 0);
		++nr;
	}
	assert_int_equal(nr, TO_ONE);
	assert_true(other_is_accepted(1));
}

/* Connections of a peer that was started again are of its former life: they leave room for the first
 * one of its new life, which is stale once. */
static void those_of_a_former_life_take_no_room(void **state)
{
	struct m0_o2ib_hdr h = hdr(M0_O2IB_CONNREQ, 0);
	struct rig_qp     *all[TO_ONE];
	unsigned           i;

	(void)state;
	for (i = 0; i < TO_ONE; ++i) {
		all[i] = ask(RIG_DEPTH);
		assert_non_null(all[i]);
		rig_up(&rig, all[i], NULL, 0);
	}
	h.ibh_src_stamp = PEER_STAMP + 1;
	h.ibh_dst_stamp = 0;
	assert_null(rig_request(
		&rig, buf,
		m0_o2ib__conn_encode(
			&h, &(struct m0_o2ib_params){ RIG_DEPTH, 256, 4096 },
			buf, sizeof buf)));
	assert_int_equal(rig.rg_reject_nr, M0_O2IB_REJECT_BYTES);
	assert_int_equal(rig.rg_reject[6], M0_O2IB_CONN_STALE);
	for (i = 0; i < TO_ONE; ++i)
		assert_true(all[i]->rgq_is_broken);
}

/* Without the option there is one. */
static void one_is_the_default(void **state)
{
	(void)state;
	ours_nr = 0;
	stamp = PEER_STAMP;
	rig_init(&rig, US, US_STAMP);
	(void)send(16);
	assert_true(asks());
	accept_it();
	(void)send(16);
	assert_false(asks());
	rig_fini(&rig);
}

static void agreed_count(void *arg, enum m0_log_level level, const char *text)
{
	unsigned *nr = arg;

	(void)level;
	*nr += strcmp(text, "o2ib: 10.0.0.2@o2ib agrees with our limits now") ==
	       0;
}

/* A connection with less than we ask for at first is no end of a mismatch; one with all of it is, and
 * that is said once. */
static void an_end_of_a_mismatch_is_said(void **state)
{
	unsigned agreed = 0;
	unsigned i;

	(void)state;
	ours_nr = 0;
	m0_log_set(agreed_count, &agreed);
	m0_log_level_set(M0_LOG_NOTICE);
	rig_init(&rig, US, US_STAMP);
	(void)send(16);
	assert_true(asks());
	reject_with(M0_O2IB_MSG_QUEUE_SIZE, 4);
	assert_true(asks());
	accept_with(4);
	assert_int_equal(agreed, 0);
	for (i = 0; i < 2; ++i) {
		rig_over(&rig, ours[--ours_nr]);
		rig_wait(&rig, M0_TIME_ONE_SECOND);
		(void)send(16);
		assert_true(asks());
		accept_it();
		assert_int_equal(agreed, 1);
	}
	rig_fini(&rig);
	m0_log_level_set(M0_LOG_WARN);
	m0_log_set(NULL, NULL);
}

#define SEVERAL(name) cmocka_unit_test_setup_teardown(name, several_begin, end)
#define BOUNDED(name) cmocka_unit_test_setup_teardown(name, bounded_begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SEVERAL(they_are_asked_for_in_turn),
		SEVERAL(messages_take_each_in_turn),
		SEVERAL(those_of_the_peer_count),
		SEVERAL(none_is_asked_for_without_a_message),
		SEVERAL(one_that_fails_is_left),
		SEVERAL(a_rejected_one_waits),
		SEVERAL(those_of_the_dead_end),
		SEVERAL(one_that_is_lost_is_replaced),
		SEVERAL(the_last_that_is_lost_is_told),
		BOUNDED(further_ones_leave_room_for_others),
		BOUNDED(those_of_the_peer_leave_room_for_others),
		BOUNDED(those_of_a_former_life_take_no_room),
		cmocka_unit_test(one_is_the_default),
		cmocka_unit_test(an_end_of_a_mismatch_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

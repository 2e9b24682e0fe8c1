/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Operations that may take any path to a Multi-Rail peer (lo_spread): which they take,
 * and how they end when a path fails. */
#include "lnet/flow/again.h"
#include "unit/lnet/rails.h"

/** Nodes with one NI each, the client with two NIs, the server with two. */
static const char *const clients[] = { CLIENT1, CLIENT1 " " CLIENT2 };
static const char *const servers[] = { SERVER1, SERVER1 " " SERVER2 };

static void op_from(const char *self, const char *nid, bool spread, bool is_get)
{
	struct m0_lnet_op op = {
		.lo_self = pair_nid(self),
		.lo_target = { .lp_nid = pair_nid(nid),
			       .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = BITS,
		.lo_ack = true,
		.lo_spread = spread,
	};

	pair_op(one, pair_md_bind(one, is_get ? bytes_in : bytes_out, 8, 2, 0),
		&op, is_get);
}

/** Sends 8 messages one after another. @return how many of them left by an NI. */
static unsigned sent_by(const char *ni, bool spread)
{
	const struct m0_lnet_nid nid = pair_nid(ni);
	unsigned                 from = pair_frames_nr(pair, 0, M0_LNET_PUT);
	unsigned                 nr = 0;
	const struct pair_frame *frame;
	unsigned                 i;

	for (i = 0; i < 8; ++i) {
		op_from(CLIENT1, SERVER1, spread, false);
		pair_settle(pair);
	}
	for (i = from; i < pair_frames_nr(pair, 0, M0_LNET_PUT); ++i) {
		frame = pair_frame(pair, 0, M0_LNET_PUT, i);
		if (frame->pfr_hdr.lhd_portal != PORTAL)
			continue;
		/* The source is the NI by which it leaves. */
		assert_true(m0_lnet_nid_eq(&frame->pfr_hdr.lhd_src_nid,
					   &frame->pfr_ni));
		nr += m0_lnet_nid_eq(&frame->pfr_ni, &nid);
	}
	return nr;
}

/* -- paths ----------------------------------------------------------------- */

static void operation_takes_each_path_in_turn(void **state)
{
	(void)state;
	open_two(NULL);
	sink_post(two);
	assert_int_equal(sent_by(CLIENT1, true), 4);
	/* The path of messages that name their source is not the last one. */
	assert_int_equal(sent_by(CLIENT1, false), 8);
	assert_int_equal(sent_by(CLIENT2, true), 4);
	assert_int_equal(sent_by(CLIENT1, false), 8);
}

/* Entries match by the primary NID of the initiator: one that names the first NID
 * takes what comes from the second. */
static void operation_matches_whatever_its_source(void **state)
{
	struct m0_lnet_me *me;

	(void)state;
	open_two(NULL);
	me = pair_me(two, PORTAL, BITS, 0, 0);
	me->me_attr.mea_id.lp_nid = pair_nid(CLIENT1);
	me->me_any_nid = false;
	(void)pair_md_attach(two, me, bytes_in, 8, M0_LNET_MD_THRESHOLD_INF,
			     M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
			     false);
	assert_int_equal(sent_by(CLIENT2, true), 4);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 8);
}

static void peer_that_is_not_multi_rail_is_sent_to_from_the_source(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	cfg.lec_discovery = false;
	failures_reset();
	routed_open(2, &cfg);
	nids(0, CLIENT1 " " CLIENT2);
	nids(1, SERVER1 " " SERVER2);
	sink_post(two);
	assert_int_equal(sent_by(CLIENT1, true), 8);
}

static bool pushes_are_lost;

static enum pair_act push_losing(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return pushes_are_lost && frame->pfr_node == 0 &&
			       frame->pfr_hdr.lhd_type == M0_LNET_PUT &&
			       frame->pfr_hdr.lhd_portal != PORTAL
		       ? PAIR_DROP
		       : PAIR_PASS;
}

/* A peer that has not seen the NID of a new NI does not know whose it is. */
static void new_interface_waits_for_its_push(void **state)
{
	(void)state;
	rails_open(NULL, CLIENT1, SERVER1 " " SERVER2);
	sink_post(two);
	pair->pai_hook = push_losing;
	pushes_are_lost = true;
	nids(0, CLIENT2);
	assert_int_equal(sent_by(CLIENT1, true), 8);
	pushes_are_lost = false;
	(void)story_end(state);
	rails_open(NULL, CLIENT1, SERVER1 " " SERVER2);
	sink_post(two);
	nids(0, CLIENT2);
	pair_settle(pair);
	assert_int_equal(sent_by(CLIENT1, true), 4);
}

/* A push that says only that a link is down tells no new NIDs. */
static void interface_that_is_down_is_left_out(void **state)
{
	const struct m0_lnet_nid nid = pair_nid(CLIENT1);
	struct m0_lnd_ni        *ni;

	(void)state;
	open_two(NULL);
	sink_post(two);
	pair->pai_hook = push_losing;
	pushes_are_lost = true;
	ni = &m0_lnet__ni_find(one->pno_engine, &nid)->lni_lnd;
	ni->ldn_up = false;
	ni->ldn_ops->lu_ni_status(ni);
	assert_int_equal(sent_by(CLIENT2, true), 8);
	pushes_are_lost = false;
}

/* -- failures -------------------------------------------------------------- */

/* A failure that engines do not repair is left to the application. */
static void failed_path_is_reported_if_there_is_another(void **state)
{
	unsigned i;
	unsigned j;

	(void)state;
	for (i = 0; i < 2; ++i)
		for (j = 0; j < 2; ++j) {
			rails_open(NULL, clients[i], servers[j]);
			fail_next(1, M0_LND_NETWORK_TIMEOUT);
			op_from(CLIENT1, SERVER1, true, false);
			pair_settle(pair);
			assert_int_equal(send_status(one, 0),
					 i + j == 0 ? -EIO : -EAGAIN);
			assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 0);
			/* Others see the failure as it is. */
			fail_next(1, M0_LND_NETWORK_TIMEOUT);
			op_from(CLIENT1, SERVER1, false, false);
			pair_settle(pair);
			assert_int_equal(send_status(one, 1), -EIO);
			(void)story_end(state);
		}
}

static void cancelled_operation_is_not_to_be_repeated(void **state)
{
	struct m0_lnet_op  op = { .lo_self = pair_nid(CLIENT1),
				  .lo_target = { .lp_nid = pair_nid(SERVER1),
						 .lp_pid = M0_LNET_PID_LUSTRE },
				  .lo_portal = PORTAL,
				  .lo_match_bits = BITS,
				  .lo_spread = true };
	struct m0_lnet_md *md;

	(void)state;
	open_two(NULL);
	pair->pai_hook = holding;
	md = pair_md_bind(one, bytes_out, 8, 1, 0);
	pair_op(one, md, &op, false);
	pair_settle(pair);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	pair_settle(pair);
	assert_int_equal(send_status(one, 0), -ECANCELED);
}

static enum pair_act answers_lost(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return M0_IN(frame->pfr_hdr.lhd_type, (M0_LNET_ACK, M0_LNET_REPLY)) &&
			       frame->pfr_node == 1
		       ? PAIR_DROP
		       : PAIR_PASS;
}

/** The driver of an NI has lost a NID of the server. */
static void lost(const char *ni, const char *nid, int status)
{
	const struct m0_lnet_nid own = pair_nid(ni);
	const struct m0_lnet_nid other = pair_nid(nid);
	struct m0_lnd_ni        *lnd =
		&m0_lnet__ni_find(one->pno_engine, &own)->lni_lnd;

	lnd->ldn_ops->lu_peer_down(lnd, &other, M0_LNET_PID_LUSTRE, status);
	pair_settle(pair);
}

/* The response will not come on a connection that has ended. Only operations that
 * took it are reported. */
static void lost_connection_ends_the_wait(void **state)
{
	static const enum m0_lnet_event_type types[] = { M0_LNET_EV_ACK,
							 M0_LNET_EV_REPLY };
	const struct m0_lnet_event          *ev;
	unsigned                             is_get;

	for (is_get = 0; is_get < 2; ++is_get) {
		open_two(NULL);
		sink_post(two);
		pair->pai_hook = answers_lost;
		op_from(CLIENT1, SERVER1, true, is_get);
		op_from(CLIENT1, SERVER1, true, is_get);
		op_from(CLIENT1, SERVER1, false, is_get);
		pair_settle(pair);
		assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 3);
		lost(CLIENT1, SERVER1, -ECONNRESET);
		assert_int_equal(events_nr(one, types[is_get]), 1);
		ev = pair_event(one, types[is_get], 0);
		assert_int_equal(ev->ev_status, -EAGAIN);
		assert_false(ev->ev_unlinked);
		/* A new connection may be there already. */
		lost(CLIENT2, SERVER2, 0);
		assert_int_equal(events_nr(one, types[is_get]), 2);
		/* The others wait for their time. */
		pair_run(pair, 200000);
		assert_int_equal(events_nr(one, types[is_get]), 3);
		assert_int_equal(pair_event(one, types[is_get], 2)->ev_status,
				 -ETIMEDOUT);
		(void)story_end(state);
	}
}

/* With one rail the peer may connect again, and answer. */
static void lost_connection_of_the_only_rail_is_waited_for(void **state)
{
	(void)state;
	rails_open(NULL, CLIENT1, SERVER1);
	sink_post(two);
	pair->pai_hook = answers_lost;
	op_from(CLIENT1, SERVER1, true, false);
	pair_settle(pair);
	lost(CLIENT1, SERVER1, -ECONNRESET);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 0);
	pair_run(pair, 200000);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_status,
			 -ETIMEDOUT);
}

/** The link of an NI of a node goes down, or comes up. */
static void link_set(struct pair_node *node, const char *nid, bool up)
{
	const struct m0_lnet_nid own = pair_nid(nid);
	struct m0_lnd_ni        *lnd =
		&m0_lnet__ni_find(node->pno_engine, &own)->lni_lnd;

	lnd->ldn_up = up;
	lnd->ldn_ops->lu_ni_status(lnd);
	pair_settle(pair);
}

static unsigned answers_nr(void)
{
	return events_nr(one, M0_LNET_EV_ACK) +
	       events_nr(one, M0_LNET_EV_REPLY);
}

/** A PUT and a GET leave by both rails, and a PUT by the first, unanswered. */
static void unanswered(void)
{
	sink_post(two);
	pair->pai_hook = answers_lost;
	op_from(CLIENT1, SERVER1, true, false);
	op_from(CLIENT1, SERVER1, true, true);
	op_from(CLIENT1, SERVER1, false, false);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 3);
}

/* A response that took a dead rail, and was lost there, leaves a connection at which
 * this side has nothing to send, and detects no failure. */
static void rail_that_is_down_ends_the_wait(void **state)
{
	static const char *const    rails[2][2] = { { CLIENT1, CLIENT2 },
						    { SERVER1, SERVER2 } };
	const struct m0_lnet_event *ev;
	unsigned                    i;

	(void)state;
	for (i = 0; i < 4; ++i) {
		open_two(NULL);
		unanswered();
		link_set(i < 2 ? one : two, rails[i / 2][i & 1], false);
		assert_int_equal(answers_nr(), 1);
		ev = pair_event(one,
				events_nr(one, M0_LNET_EV_ACK) > 0
					? M0_LNET_EV_ACK
					: M0_LNET_EV_REPLY,
				0);
		assert_int_equal(ev->ev_status, -EAGAIN);
		(void)story_end(state);
	}
}

/* Both rails are down: the wait goes on, until one is up. */
static void all_rails_are_down(void **state)
{
	struct m0_lnet_lpni *lpni;

	(void)state;
	open_two(NULL);
	link_set(one, CLIENT2, false);
	unanswered();
	link_set(one, CLIENT1, false);
	assert_int_equal(answers_nr(), 0);
	link_set(one, CLIENT1, true);
	lpni = lpni_of(one, SERVER2);
	lpni->lpn_reported_down = true;
	lpni_of(one, SERVER1)->lpn_reported_down = true;
	m0_lnet__rail_down(one->pno_engine);
	pair_settle(pair);
	assert_int_equal(answers_nr(), 0);
	lpni->lpn_reported_down = false;
	m0_lnet__rail_down(one->pno_engine);
	pair_settle(pair);
	assert_int_equal(answers_nr(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(operation_takes_each_path_in_turn),
		STORY_BARE(operation_matches_whatever_its_source),
		STORY_BARE(
			peer_that_is_not_multi_rail_is_sent_to_from_the_source),
		STORY_BARE(new_interface_waits_for_its_push),
		STORY_BARE(interface_that_is_down_is_left_out),
		STORY_BARE(failed_path_is_reported_if_there_is_another),
		STORY_BARE(cancelled_operation_is_not_to_be_repeated),
		STORY_BARE(lost_connection_ends_the_wait),
		STORY_BARE(lost_connection_of_the_only_rail_is_waited_for),
		STORY_BARE(rail_that_is_down_ends_the_wait),
		STORY_BARE(all_rails_are_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

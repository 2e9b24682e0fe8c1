/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Which side connects, when, and when it retries; the end of a lost peer. */
#include "rig.h"

#include "lnd/ksock/sock_internal.h"

static struct rig    rig;
static struct rig_tx txs[8];

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

static void send_one(unsigned i)
{
	rig_tx_init(&txs[i], NULL, 0, (uint8_t)(i + 1));
	rig_xmit(&rig, &txs[i]);
}

static void dial_ends(struct rig_stream *stream, int status)
{
	stream->rs_dialling = false;
	stream->rs_hung = true;
	rig.rg_reactor.rtr_now = rig.rg_now;
	rig.rg_io.sts_up->stu_broken(stream->rs_conn, status);
	rig_run(&rig);
}

static struct m0_lnd_ni_info info(void)
{
	struct m0_lnd_ni_info ret;

	rig.rg_lnd->ld_ops->ldo_ni_info(&rig.rg_ni, &ret);
	return ret;
}

/* -- the set: 3.6 ---------------------------------------------------------- */

/* CONTROL, BULK_IN, BULK_OUT, one after the other; messages go as soon as the
 * first is there. */
static void set_is_made_in_order(void **state)
{
	static const uint32_t types[] = { M0_SOCK_CONTROL, M0_SOCK_BULK_IN,
					  M0_SOCK_BULK_OUT };
	unsigned              i;

	(void)state;
	send_one(0);
	for (i = 0; i < 3; ++i) {
		struct rig_stream *ours = rig_dial(&rig);

		assert_int_equal(rig_dialled(&rig, ours).sh_ctype, types[i]);
		assert_null(rig_dial(&rig));
		assert_int_equal(txs[0].rt_done, i > 0);
		rig_answer(&rig, ours, M0_SOCK_V3,
			   m0_sock__ctype_invert(types[i]));
	}
	assert_null(rig_dial(&rig));
	assert_int_equal(info().ldi_dialled_nr, 3);
	assert_int_equal(info().ldi_connections_nr, 3);
}

/* Several of each bulk type, in turns. */
static void set_of_many_is_made_in_turns(void **state)
{
	static const uint32_t types[] = { 1, 2, 3, 2, 3, 2, 3, 2, 3 };
	unsigned              i;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_net.son_conns_per_peer = 4;
	rig_start(&rig, &rig_a);
	send_one(0);
	for (i = 0; i < ARRAY_SIZE(types); ++i) {
		struct rig_stream *ours = rig_dial(&rig);

		assert_int_equal(rig_dialled(&rig, ours).sh_ctype, types[i]);
		rig_answer(&rig, ours, M0_SOCK_V3,
			   m0_sock__ctype_invert(types[i]));
	}
	assert_null(rig_dial(&rig));
}

/* A driver to which the peer has connected makes no connections of its own. */
static void set_is_not_made_if_peer_made_one(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);

	(void)state;
	send_one(0);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(rig_unseen(his), RIG_HEAD_V3);
	assert_null(rig_dial(&rig));
}

/* Connections that the peer makes count for the set that we want. */
static void set_counts_what_peer_made(void **state)
{
	struct rig_stream *ours;

	(void)state;
	send_one(0);
	ours = rig_dial(&rig);
	/* We are the lower NID: he may come in between. His type OUT is our
	 * IN. */
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	(void)rig_dialled(&rig, ours);
	rig_answer(&rig, ours, M0_SOCK_V3, M0_SOCK_CONTROL);
	ours = rig_dial(&rig);
	assert_int_equal(rig_dialled(&rig, ours).sh_ctype, M0_SOCK_BULK_OUT);
	rig_answer(&rig, ours, M0_SOCK_V3, M0_SOCK_BULK_IN);
	assert_null(rig_dial(&rig));
}

/* A message waits for a connection of its type: BULK_IN carries none of
 * ours. */
static void message_waits_for_a_connection_that_takes_it(void **state)
{
	(void)state;
	send_one(0);
	assert_non_null(rig_dial(&rig));
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_done, 0);
	(void)rig_open_next(&rig);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(txs[0].rt_status, 0);
}

/* -- failure and back-off -------------------------------------------------- */

/* 1 s, 2 s, ... 60 s, each and up to a quarter; meanwhile messages fail at
 * once; nothing is dialled without one. */
static void backoff_doubles_up_to_a_minute(void **state)
{
	static const unsigned pauses[] = { 1, 2, 4, 8, 16, 32, 60, 60, 60 };
	unsigned              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(pauses); ++i) {
		struct rig_stream *ours;

		send_one(0);
		ours = rig_dial(&rig);
		assert_non_null(ours);
		dial_ends(ours, -ECONNREFUSED);
		assert_int_equal(txs[0].rt_done, 1);
		assert_int_equal(txs[0].rt_status, -ECONNREFUSED);
		assert_int_equal(txs[0].rt_health, M0_LND_REMOTE_DROPPED);
		assert_int_equal(rig.rg_downs_nr, i + 1);
		assert_int_equal(rig.rg_down_status, -ECONNREFUSED);
		rig_pass(&rig, RIG_SECONDS(pauses[i]) - 1);
		send_one(1);
		assert_null(rig_dial(&rig));
		/* For the reason that the last try had. */
		assert_int_equal(txs[1].rt_status, -ECONNREFUSED);
		rig_pass(&rig, RIG_SECONDS(pauses[i]) / 4 + 2);
		assert_null(rig_dial(&rig));
	}
	/* Success resets it; so does a peer who comes by himself. */
	send_one(0);
	assert_non_null(rig_open_next(&rig));
	assert_int_equal(txs[0].rt_status, 0);
}

/* After a long time without attempts it begins at 1 s again. */
static void backoff_is_forgotten(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 6; ++i) {
		send_one(0);
		dial_ends(rig_dial(&rig), -ETIMEDOUT);
		rig_pass(&rig, RIG_SECONDS(48));
	}
	rig_pass(&rig, RIG_SECONDS(200));
	send_one(0);
	dial_ends(rig_dial(&rig), -ETIMEDOUT);
	rig_pass(&rig, RIG_SECONDS(1) + RIG_SECONDS(1) / 4);
	send_one(0);
	assert_non_null(rig_dial(&rig));
}

/* A peer who connects while we keep off from him is heard and answered. */
static void backoff_ends_when_peer_comes(void **state)
{
	struct rig_stream *his;

	(void)state;
	send_one(0);
	dial_ends(rig_dial(&rig), -ECONNREFUSED);
	his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	send_one(1);
	rig_run(&rig);
	assert_int_equal(txs[1].rt_status, 0);
	assert_int_equal(rig_unseen(his), RIG_HEAD_V3);
}

/* A dial that cannot even begin ends its messages; not on their caller's
 * stack. */
static void dial_impossible_fails_messages(void **state)
{
	(void)state;
	rig.rg_dial_rc = -EADDRINUSE;
	send_one(0);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(txs[0].rt_status, -EADDRINUSE);
	assert_int_equal(txs[0].rt_health, M0_LND_LOCAL_DROPPED);
	assert_int_equal(rig.rg_downs_nr, 1);
	rig.rg_dial_rc = 0;
	rig_pass(&rig, RIG_SECONDS(2));
	send_one(1);
	assert_non_null(rig_dial(&rig));
}

/* Peers that cannot be dialled: flagged pids, NIDs of another family. */
static void dial_of_the_unreachable_fails(void **state)
{
	(void)state;
	rig_tx_init(&txs[0], NULL, 0, 1);
	txs[0].rt_tx.ltx_pid = 0x80000400;
	rig_xmit(&rig, &txs[0]);
	assert_null(rig_dial(&rig));
	assert_int_equal(txs[0].rt_status, -EHOSTUNREACH);
	rig_tx_init(&txs[1], NULL, 0, 1);
	txs[1].rt_tx.ltx_nid = rig_b6;
	rig_xmit(&rig, &txs[1]);
	assert_null(rig_dial(&rig));
	assert_int_equal(txs[1].rt_status, -EAFNOSUPPORT);
}

/** Peers that are kept, with or without connections. */
static unsigned peers_nr(void)
{
	const struct m0_sock__ni *ni = rig.rg_ni.ldn_priv;

	return (unsigned)m0_hash_nr(&ni->sni_peers);
}

static void send_in_vain(uint32_t pid)
{
	rig_tx_init(&txs[0], NULL, 0, 1);
	txs[0].rt_tx.ltx_pid = pid;
	rig_xmit(&rig, &txs[0]);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_done, 1);
	assert_true(txs[0].rt_status < 0);
}

/* A stranger can make us answer any NID and pid. The driver remembers a limited
 * number of failed peers, those that failed last. */
static void dial_in_vain_is_remembered_of_few(void **state)
{
	enum {
		MAX = 8
	};
	uint32_t pid;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_failed_max = MAX;
	rig_start(&rig, &rig_a);
	rig.rg_dial_rc = -ECONNREFUSED;
	for (pid = 1; pid <= 20 * MAX; ++pid) {
		send_in_vain(pid);
		assert_in_range(peers_nr(), 1, MAX);
	}
	/* Not tried so soon; and tried, for it was forgotten. */
	rig.rg_dial_rc = -EPERM;
	send_in_vain(20 * MAX);
	assert_int_equal(txs[0].rt_status, -ECONNREFUSED);
	send_in_vain(1);
	assert_int_equal(txs[0].rt_status, -EPERM);
	assert_int_equal(peers_nr(), MAX);
	/* In the end they are forgotten all. */
	rig_pass(&rig, RIG_SECONDS(200));
	assert_int_equal(peers_nr(), 0);
}

/* A peer that fails again and again takes one place of them, not more: it does
 * not push out others, nor itself. */
static void dial_in_vain_again_takes_one_place(void **state)
{
	enum {
		MAX = 3
	};
	unsigned i;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_failed_max = MAX;
	rig_start(&rig, &rig_a);
	rig.rg_dial_rc = -ECONNREFUSED;
	for (i = 0; i < 2 * MAX; ++i) {
		send_in_vain(7);
		assert_int_equal(txs[0].rt_status, -ECONNREFUSED);
		rig_pass(&rig, RIG_SECONDS(1 << i) + RIG_SECONDS(1 << i) / 4);
	}
	for (i = 1; i < MAX; ++i)
		send_in_vain(i);
	send_in_vain(7);
	assert_int_equal(txs[0].rt_status, -ECONNREFUSED);
	/* A peer that is remembered is not dialled: the last status stands. */
	rig.rg_dial_rc = -EPERM;
	for (i = 1; i < MAX; ++i) {
		send_in_vain(i);
		assert_int_equal(txs[0].rt_status, -ECONNREFUSED);
	}
	send_in_vain(7);
	assert_int_equal(txs[0].rt_status, -ECONNREFUSED);
	assert_int_equal(peers_nr(), MAX);
}

static void send_to(struct rig_tx *tx, uint32_t pid, bool is_answer)
{
	rig_tx_init(tx, NULL, 0, 1);
	tx->rt_tx.ltx_pid = pid;
	tx->rt_tx.ltx_is_answer = is_answer;
	rig_xmit(&rig, tx);
	rig_run(&rig);
}

/* Nor do those who are to be answered take all the connections there may be: a
 * part of them, if they do not take the call. */
static void dial_for_answers_leaves_room(void **state)
{
	enum {
		SHARE = 64
	};
	static struct rig_tx many[SHARE + 1];
	uint32_t             i;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_conns_max = 4 * SHARE;
	rig_start(&rig, &rig_a);
	for (i = 0; i <= SHARE; ++i) {
		send_to(&many[i], i + 1, true);
		assert_int_equal(many[i].rt_done, i == SHARE);
	}
	assert_int_equal(many[SHARE].rt_status, -EHOSTUNREACH);
	assert_int_equal(rig.rg_downs_nr, 0);
	/* The limit does not apply to messages of our own. */
	send_to(&many[SHARE], SHARE + 1, false);
	assert_int_equal(many[SHARE].rt_done, 0);
	/* One that ends makes room for another. */
	dial_ends(&rig.rg_streams[0], -ETIMEDOUT);
	assert_int_equal(many[0].rt_status, -ETIMEDOUT);
	send_to(&txs[0], SHARE + 2, true);
	assert_int_equal(txs[0].rt_done, 0);
	send_to(&txs[1], SHARE + 3, true);
	assert_int_equal(txs[1].rt_status, -EHOSTUNREACH);
	rig_pass(&rig, RIG_SECONDS(60));
}

/* One who came from a flagged pid is answered on the connection he made. */
static void peer_with_flagged_pid_is_answered(void **state)
{
	struct rig_stream *his;
	uint8_t            buf[128];
	size_t             nr = rig_put_request(buf, &rig_a);
	const uint32_t     pid = 0x80000400;

	(void)state;
	nr += rig_put_hello(buf + nr, M0_SOCK_V3, &rig_b, 1, M0_SOCK_CONTROL);
	memcpy(buf + 16 + 24, &pid, sizeof pid);
	his = rig_connect(&rig, "10.0.0.2", 1000);
	assert_int_equal(rig_feed(&rig, his, buf, nr), nr);
	(void)rig_see_hello(&rig, his);
	rig_tx_init(&txs[0], NULL, 0, 1);
	txs[0].rt_tx.ltx_pid = pid;
	rig_xmit(&rig, &txs[0]);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_status, 0);
	assert_int_equal(rig_unseen(his), RIG_HEAD_V3);
}

/* A bulk connection that cannot be made does not harm what is there; it is
 * tried again with a later message. */
static void bulk_dial_failing_keeps_control(void **state)
{
	struct rig_stream *ctl;

	(void)state;
	send_one(0);
	ctl = rig_open_next(&rig);
	dial_ends(rig_dial(&rig), -ECONNREFUSED);
	assert_int_equal(rig.rg_downs_nr, 0);
	assert_false(ctl->rs_hung);
	rig_pass(&rig, RIG_SECONDS(10));
	assert_null(rig_dial(&rig));
	send_one(1);
	assert_non_null(rig_dial(&rig));
	assert_int_equal(txs[1].rt_status, 0);
	assert_int_equal(txs[1].rt_done, 1);
}

/* A bulk connection could not be made because the peer was ending, and its end is
 * noticed before or after: the next life of the peer is dialled at once. */
static void bulk_dial_failing_at_end_is_forgotten(void **state)
{
	struct rig_stream *ctl;
	struct rig_stream *bulk;
	unsigned           i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		send_one(i);
		ctl = rig_open_next(&rig);
		bulk = rig_dial(&rig);
		assert_non_null(bulk);
		dial_ends(i == 0 ? bulk : ctl, -ECONNREFUSED);
		dial_ends(i == 0 ? ctl : bulk, -ECONNREFUSED);
		assert_null(rig_dial(&rig));
	}
	send_one(i);
	(void)rig_open_next(&rig);
	for (i = 0; i < 3; ++i)
		assert_int_equal(txs[i].rt_status, 0);
}

/* -- refused --------------------------------------------------------------- */

static void answer_none(struct rig_stream *ours)
{
	(void)rig_dialled(&rig, ours);
	rig_answer(&rig, ours, M0_SOCK_V3, M0_SOCK_NONE);
	assert_true(ours->rs_hung);
}

/* A first NONE, and nothing else is open: the peer has just forgotten an earlier
 * life of ours. The next connection is made at once. */
static void refused_first_dial_is_repeated_at_once(void **state)
{
	struct rig_stream *ours[3];

	(void)state;
	send_one(0);
	answer_none(rig_dial(&rig));
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	ours[0] = rig_open_next(&rig);
	assert_int_equal(txs[0].rt_done, 1);
	assert_int_equal(txs[0].rt_status, 0);
	/* With that open, a refusal is one too many: there is a pause. */
	ours[1] = rig_dial(&rig);
	assert_non_null(ours[1]);
	answer_none(ours[1]);
	rig_pass(&rig, RIG_SECONDS(1) - 1);
	assert_null(rig_dial(&rig));
	assert_false(ours[0]->rs_hung);
	assert_false(ours[1]->rs_reset);
	rig_pass(&rig, RIG_SECONDS(1) / 4 + M0_TIME_ONE_MSEC);
	assert_non_null(rig_dial(&rig));
}

/* The next NONE: again after a second and up to a quarter, with what waits. */
static void refused_dial_is_repeated_after_a_second(void **state)
{
	(void)state;
	send_one(0);
	answer_none(rig_dial(&rig));
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	answer_none(rig_dial(&rig));
	assert_int_equal(txs[0].rt_done, 0);
	send_one(1);
	rig_pass(&rig, RIG_SECONDS(1) - 1);
	assert_null(rig_dial(&rig));
	rig_pass(&rig, RIG_SECONDS(1) / 4 + M0_TIME_ONE_MSEC);
	(void)rig_open_next(&rig);
	assert_int_equal(txs[0].rt_status + txs[1].rt_status, 0);
	assert_int_equal(txs[0].rt_done + txs[1].rt_done, 2);
	assert_int_equal(info().ldi_refused_nr, 2);
}

/* Three times: given up, with back-off. */
static void refused_dial_is_given_up(void **state)
{
	unsigned i;

	(void)state;
	send_one(0);
	for (i = 0; i < 3; ++i) {
		assert_int_equal(txs[0].rt_done, 0);
		answer_none(rig_dial(&rig));
		rig_pass(&rig, RIG_SECONDS(3) / 2);
	}
	assert_int_equal(txs[0].rt_status, -EHOSTUNREACH);
	assert_int_equal(txs[0].rt_done, 1);
	assert_null(rig_dial(&rig));
	assert_int_equal(rig.rg_downs_nr, 1);
	send_one(1);
	assert_non_null(rig_dial(&rig));
}

/* Refused as one too many while all types are there: no more are asked for. */
static void refused_surplus_is_not_asked_for_again(void **state)
{
	struct rig_stream *ours[3];
	unsigned           i;

	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_net.son_conns_per_peer = 2;
	rig_start(&rig, &rig_a);
	send_one(0);
	for (i = 0; i < 3; ++i)
		ours[i] = rig_open_next(&rig);
	for (i = 0; i < 3; ++i) {
		answer_none(rig_dial(&rig));
		rig_pass(&rig, RIG_SECONDS(2));
	}
	assert_null(rig_dial(&rig));
	send_one(1);
	assert_null(rig_dial(&rig));
	assert_int_equal(txs[1].rt_status, 0);
	for (i = 0; i < 3; ++i)
		assert_false(ours[i]->rs_hung);
}

/* -- lost ------------------------------------------------------------------ */

/* One connection ends: all of the peer do, and only of this peer; the next
 * message connects anew, at once. */
static void lost_connection_ends_all_of_peer(void **state)
{
	struct rig_stream *ours[3];
	struct rig_stream *other;
	unsigned           i;

	(void)state;
	send_one(0);
	rig_open_set(&rig, ours);
	other = rig_accept_from(&rig, &rig_low, M0_SOCK_V3, M0_SOCK_CONTROL, 1);
	(void)rig_see_hello(&rig, other);
	ours[1]->rs_hung = true;
	rig.rg_io.sts_up->stu_broken(ours[1]->rs_conn, 0);
	rig_run(&rig);
	for (i = 0; i < 3; ++i)
		assert_true(ours[i]->rs_hung);
	assert_false(other->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 1);
	assert_int_equal(info().ldi_lost_nr, 3);
	assert_int_equal(info().ldi_connections_nr, 1);
	assert_null(rig_dial(&rig));
	send_one(1);
	rig_open_set(&rig, ours);
	assert_int_equal(txs[1].rt_status, 0);
}

static void send_again(struct rig *unused, struct rig_tx *tx)
{
	(void)unused;
	if (tx->rt_status != 0 && tx == &txs[0])
		send_one(1);
}

/* A message that the engine resends from its callback about the loss leaves on
 * the new connection. */
static void lost_message_can_be_sent_again_at_once(void **state)
{
	struct rig_stream *ours[3];

	(void)state;
	send_one(2);
	rig_open_set(&rig, ours);
	ours[0]->rs_room = 0;
	rig.rg_on_tx_done = send_again;
	send_one(0);
	ours[0]->rs_hung = true;
	rig.rg_io.sts_up->stu_broken(ours[0]->rs_conn, -ECONNRESET);
	rig_open_set(&rig, ours);
	assert_int_equal(txs[0].rt_status, -ECONNRESET);
	assert_int_equal(txs[1].rt_status, 0);
	assert_int_equal(txs[1].rt_done, 1);
}

/* While we connect, the peer turns out to be another life of the one that is
 * connected: the old connections go, the new one stays. */
static void reborn_peer_found_by_dial(void **state)
{
	struct rig_stream *old;
	struct rig_stream *ours;
	uint8_t            buf[128];
	size_t             nr;

	(void)state;
	send_one(0);
	old = rig_open_next(&rig);
	ours = rig_dial(&rig);
	(void)rig_dialled(&rig, ours);
	nr = rig_put_hello(buf, M0_SOCK_V3, &rig_b, 1234, M0_SOCK_BULK_OUT);
	assert_int_equal(rig_feed(&rig, ours, buf, nr), nr);
	rig_run(&rig);
	assert_true(old->rs_hung);
	assert_false(ours->rs_hung);
	/* The driver reported the peer as lost once, without an error. */
	assert_int_equal(rig.rg_downs_nr, 1);
	assert_int_equal(rig.rg_down_status, 0);
	/* And what is missing is made. */
	assert_non_null(rig_open_next(&rig));
}

/* Dropped from above: at the next step, all or one. */
static void peer_drop_closes_at_next_step(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	struct rig_stream *other;

	(void)state;
	other = rig_accept_from(&rig, &rig_low, M0_SOCK_V3, M0_SOCK_CONTROL, 1);
	(void)rig_see_hello(&rig, other);
	rig.rg_lnd->ld_ops->ldo_peer_drop(&rig.rg_ni, &rig_b);
	assert_false(his->rs_hung);
	rig_run(&rig);
	assert_true(his->rs_hung);
	assert_false(other->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 1);
	rig.rg_lnd->ld_ops->ldo_peer_drop(&rig.rg_ni, NULL);
	rig_run(&rig);
	assert_true(other->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 2);
	assert_int_equal(info().ldi_lost_nr, 2);
}

/* Once is once. */
static void peer_drop_is_done_once(void **state)
{
	struct rig_stream *ctl;

	(void)state;
	/* A failed dial keeps the peer in mind. */
	send_one(0);
	ctl = rig_open_next(&rig);
	dial_ends(rig_dial(&rig), -ECONNREFUSED);
	rig.rg_lnd->ld_ops->ldo_peer_drop(&rig.rg_ni, &rig_b);
	rig_run(&rig);
	assert_true(ctl->rs_hung);
	rig_pass(&rig, RIG_SECONDS(2));
	send_one(1);
	ctl = rig_open_next(&rig);
	dial_ends(rig_dial(&rig), -ECONNREFUSED);
	rig_pass(&rig, RIG_SECONDS(2));
	assert_false(ctl->rs_hung);
}

static void drop_in_callback(struct rig *unused)
{
	(void)unused;
	rig.rg_lnd->ld_ops->ldo_peer_drop(&rig.rg_ni, NULL);
}

/* Dropped while one of its messages is handed over. */
static void peer_drop_within_receive(void **state)
{
	struct rig_stream *his = rig_accept(&rig, M0_SOCK_V3, M0_SOCK_CONTROL);
	uint8_t            buf[RIG_HEAD_V3];

	(void)state;
	rig.rg_on_rx_done = drop_in_callback;
	(void)rig_put_message(buf, false, 5, 0);
	(void)rig_feed(&rig, his, buf, sizeof buf);
	rig_run(&rig);
	assert_true(his->rs_hung);
	assert_int_equal(rig.rg_downs_nr, 1);
}

/* More connections than may be: an own dial fails, and is tried again. */
static void bound_on_connections_fails_dial(void **state)
{
	(void)state;
	rig_fini(&rig);
	rig_cfg(&rig);
	rig.rg_cfg.soc_conns_max = 1;
	rig_start(&rig, &rig_a);
	rig_accept(&rig, M0_SOCK_V3, M0_SOCK_BULK_OUT);
	send_one(0);
	rig_run(&rig);
	assert_int_equal(txs[0].rt_status, -ENOBUFS);
	assert_int_equal(txs[0].rt_done, 1);
}

/* A thousand peers who come and go leave nothing behind. */
static void peers_come_and_go(void **state)
{
	struct m0_lnet_nid nid = rig_b;
	unsigned           i;

	(void)state;
	for (i = 0; i < 1000; ++i) {
		struct rig_stream *his;

		nid.ln_addr[2] = (uint8_t)(i / 200 + 1);
		nid.ln_addr[3] = (uint8_t)(i % 200 + 1);
		his = rig_accept_from(&rig, &nid, M0_SOCK_V3, M0_SOCK_CONTROL,
				      1);
		(void)rig_see_hello(&rig, his);
		his->rs_hung = true;
		rig.rg_io.sts_up->stu_broken(his->rs_conn, 0);
		rig_run(&rig);
		rig_streams_forget(&rig);
	}
	assert_int_equal(rig.rg_downs_nr, 1000);
	assert_int_equal(info().ldi_connections_nr, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(set_is_made_in_order),
		CASE(set_of_many_is_made_in_turns),
		CASE(set_is_not_made_if_peer_made_one),
		CASE(set_counts_what_peer_made),
		CASE(message_waits_for_a_connection_that_takes_it),
		CASE(backoff_doubles_up_to_a_minute),
		CASE(backoff_is_forgotten),
		CASE(backoff_ends_when_peer_comes),
		CASE(dial_impossible_fails_messages),
		CASE(dial_of_the_unreachable_fails),
		CASE(dial_in_vain_is_remembered_of_few),
		CASE(dial_in_vain_again_takes_one_place),
		CASE(dial_for_answers_leaves_room),
		CASE(peer_with_flagged_pid_is_answered),
		CASE(bulk_dial_failing_keeps_control),
		CASE(bulk_dial_failing_at_end_is_forgotten),
		CASE(refused_first_dial_is_repeated_at_once),
		CASE(refused_dial_is_repeated_after_a_second),
		CASE(refused_dial_is_given_up),
		CASE(refused_surplus_is_not_asked_for_again),
		CASE(lost_connection_ends_all_of_peer),
		CASE(lost_message_can_be_sent_again_at_once),
		CASE(reborn_peer_found_by_dial),
		CASE(peer_drop_closes_at_next_step),
		CASE(peer_drop_is_done_once),
		CASE(peer_drop_within_receive),
		CASE(bound_on_connections_fails_dial),
		CASE(peers_come_and_go),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

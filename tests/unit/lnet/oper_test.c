/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* PUT and GET of ours: their events, and responses good, late and wrong. */
#include "unit/lnet/story.h"

#include "sim/sched/heap.h"

enum {
	/** More than the transaction time-out of the nodes here. */
	TOO_LONG_MS = 151000
};

static struct m0_lnet_op op_full(void)
{
	return (struct m0_lnet_op){
		.lo_self = m0_lnet_nid_any,
		.lo_target = { .lp_nid = pair_nid("10.0.0.2@tcp"),
			       .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = BITS,
		.lo_offset = 3,
		.lo_hdr_data = 0x1122334455667788,
		.lo_ack = true,
		.lo_md_offset = 10,
		.lo_bytes = 20,
		.lo_user = bytes_out,
	};
}

/** A PUT to the stranger, who gets it and says nothing. */
static struct m0_lnet_hdr put_unanswered(struct m0_lnet_md *md)
{
	struct m0_lnet_hdr ack = hdr_of(M0_LNET_ACK, 0);
	unsigned           nr = pair_frames_nr(pair, 0, M0_LNET_PUT);

	pair->pai_hook = all_lost;
	pair_put(one, md, STRANGER, PORTAL, BITS, true);
	pair_settle(pair);
	ack.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_PUT, nr));
	ack.lhd_length = 64;
	return ack;
}

static struct m0_lnet_hdr get_unanswered(struct m0_lnet_md *md, uint32_t nr)
{
	struct m0_lnet_hdr reply = hdr_of(M0_LNET_REPLY, nr);

	pair->pai_hook = all_lost;
	pair_get(one, md, STRANGER, PORTAL, BITS);
	pair_settle(pair);
	reply.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_GET, 0));
	return reply;
}

static void inject(const struct m0_lnet_hdr *hdr)
{
	pair_inject(one, 1, STRANGER, hdr, bytes_out);
	pair_settle(pair);
}

static void assert_id(const struct m0_lnet_process_id *id, const char *nid)
{
	struct m0_lnet_nid want = pair_nid(nid);

	assert_true(m0_lnet_nid_eq(&id->lp_nid, &want));
	assert_int_equal(id->lp_pid, M0_LNET_PID_LUSTRE);
}

/* Every field of SEND, PUT and ACK. */
static void put_with_ack_tells_all(void **state)
{
	struct m0_lnet_md          *md = pair_md_bind(one, bytes_out, 64, 2, 0);
	struct m0_lnet_op           op = op_full();
	const struct m0_lnet_event *ev;

	(void)state;
	(void)sink(two, BITS, -1, M0_LNET_MD_MANAGE_REMOTE);
	pair_op(one, md, &op, false);
	pair_settle(pair);

	ev = pair_event(one, M0_LNET_EV_SEND, 0);
	assert_non_null(ev);
	assert_int_equal(ev->ev_status, 0);
	assert_false(ev->ev_unlinked);
	assert_id(&ev->ev_target, "10.0.0.2@tcp");
	assert_true(m0_lnet_nid_is_any(&ev->ev_initiator.lp_nid));
	assert_true(m0_lnet_nid_is_any(&ev->ev_source.lp_nid));
	assert_int_equal(ev->ev_source.lp_pid, M0_LNET_PID_LUSTRE);
	assert_int_equal(ev->ev_portal, PORTAL);
	assert_int_equal(ev->ev_match_bits, BITS);
	assert_int_equal(ev->ev_hdr_data, op.lo_hdr_data);
	assert_int_equal(ev->ev_rlength, 20);
	assert_int_equal(ev->ev_mlength, 20);
	assert_int_equal(ev->ev_offset, 3);
	assert_false(ev->ev_is_get);
	assert_ptr_equal(ev->ev_op_user, bytes_out);

	ev = pair_event(two, M0_LNET_EV_PUT, 0);
	assert_non_null(ev);
	assert_int_equal(ev->ev_status, 0);
	assert_id(&ev->ev_target, "10.0.0.2@tcp");
	assert_id(&ev->ev_initiator, "10.0.0.1@tcp");
	assert_id(&ev->ev_source, "10.0.0.1@tcp");
	assert_true(m0_lnet_nid_eq(&ev->ev_sender, &ev->ev_source.lp_nid));
	assert_int_equal(ev->ev_portal, PORTAL);
	assert_int_equal(ev->ev_match_bits, BITS);
	assert_int_equal(ev->ev_hdr_data, op.lo_hdr_data);
	assert_int_equal(ev->ev_rlength, 20);
	assert_int_equal(ev->ev_mlength, 20);
	assert_int_equal(ev->ev_offset, 3);
	assert_memory_equal(bytes_in + 3, bytes_out + 10, 20);
	assert_int_equal(bytes_in[23], 0);

	ev = pair_event(one, M0_LNET_EV_ACK, 0);
	assert_non_null(ev);
	assert_int_equal(ev->ev_status, 0);
	assert_true(ev->ev_unlinked);
	assert_id(&ev->ev_source, "10.0.0.2@tcp");
	assert_id(&ev->ev_initiator, "10.0.0.2@tcp");
	assert_id(&ev->ev_target, "10.0.0.1@tcp");
	assert_int_equal(ev->ev_match_bits, BITS);
	assert_int_equal(ev->ev_mlength, 20);
	assert_int_equal(ev->ev_portal, PORTAL);
	assert_ptr_equal(ev->ev_op_user, bytes_out);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(one->pno_mds_nr, 0);
}

/* Every field of a GET's three events. */
static void get_tells_all(void **state)
{
	struct m0_lnet_md          *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_op           op = op_full();
	const struct m0_lnet_event *ev;

	(void)state;
	(void)pair_md_attach(two, pair_me(two, PORTAL, BITS, 0, 0), bytes_out,
			     64, -1,
			     M0_LNET_MD_OP_GET | M0_LNET_MD_MANAGE_REMOTE,
			     false);
	pair_op(one, md, &op, true);
	pair_settle(pair);
	ev = pair_event(one, M0_LNET_EV_SEND, 0);
	assert_true(ev->ev_is_get);
	assert_int_equal(ev->ev_rlength, 20);

	ev = pair_event(two, M0_LNET_EV_GET, 0);
	assert_non_null(ev);
	assert_int_equal(ev->ev_status, 0);
	assert_int_equal(ev->ev_mlength, 20);
	assert_int_equal(ev->ev_offset, 3);
	assert_int_equal(ev->ev_hdr_data, 0);
	assert_int_equal(ev->ev_match_bits, BITS);
	assert_id(&ev->ev_initiator, "10.0.0.1@tcp");

	ev = pair_event(one, M0_LNET_EV_REPLY, 0);
	assert_non_null(ev);
	assert_int_equal(ev->ev_status, 0);
	assert_true(ev->ev_unlinked);
	assert_int_equal(ev->ev_rlength, 20);
	assert_int_equal(ev->ev_mlength, 20);
	assert_int_equal(ev->ev_offset, 10);
	assert_id(&ev->ev_source, "10.0.0.2@tcp");
	assert_memory_equal(bytes_in + 10, bytes_out + 3, 20);
	assert_int_equal(bytes_in[30], 0);
	assert_int_equal(bytes_in[9], 0);
}

/* Without an ACK asked for there is none, on the wire either. */
static void put_without_ack_ends_with_send(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 1, 0);

	(void)state;
	(void)sink(two, BITS, -1, 0);
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, false);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_ACK), 0);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
}

/* T18: SEND counts. An MD with one count left has none for the ACK. */
static void threshold_counts_send(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 1, 0);

	(void)state;
	(void)sink(two, BITS, -1, 0);
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_true(last_event(one)->ev_unlinked);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
	assert_int_equal(pair_frames_nr(pair, 1, M0_LNET_ACK), 0);
	md = pair_md_bind(one, bytes_out, 64, 1, 0);
	pair_get(one, md, "10.0.0.2@tcp", PORTAL, BITS);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 2);
	assert_true(last_event(one)->ev_unlinked);
}

/* The last count taken by another message's SEND, a response would be dropped:
 * it is not waited for. */
static void threshold_used_up_ends_waiting(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);
	struct m0_lnet_hdr ack;

	(void)state;
	ack = put_unanswered(md);
	assert_int_equal(m0_hash_nr(&one->pno_engine->le_waiting), 1);
	pair_put(one, md, STRANGER, PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(m0_hash_nr(&one->pno_engine->le_waiting), 0);
	assert_int_equal(one->pno_events_nr, 2);
	assert_true(last_event(one)->ev_unlinked);
	inject(&ack);
	assert_int_equal(stats_of(one)->ls_drop_stale, 1);
}

/* T19: the ACK may be there before the driver says that the PUT has left. */
static void ack_before_send_is_told_first(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	(void)sink(two, BITS, -1, 0);
	pair->pai_hook = all_slow;
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_ACK);
	assert_false(last_event(one)->ev_unlinked);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_SEND);
	assert_true(last_event(one)->ev_unlinked);
}

/* A send that fails is all there is to tell. */
static void send_failed_is_the_last_event(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, -1, 0);

	(void)state;
	pair->pai_hook = all_fail;
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_get(one, md, "10.0.0.2@tcp", PORTAL, BITS);
	pair_run(pair, TOO_LONG_MS);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(one->pno_events[0].ev_status, -ECONNRESET);
	assert_int_equal(one->pno_events[1].ev_status, -ECONNRESET);
	assert_int_equal(stats_of(one)->ls_response_timeout_count, 0);
	assert_int_equal(m0_hash_nr(&one->pno_engine->le_waiting), 0);
}

/* The driver gives up what it had. */
static void slow_ones_fail(int status)
{
	struct m0_lnd_tx *tx;

	while (!m0_list_is_empty(&one->pno_slow)) {
		tx = m0_list_entry(m0_list_first(&one->pno_slow),
				   struct m0_lnd_tx, ltx_link);
		m0_list_del(&tx->ltx_link);
		one->pno_ni[1]->ldn_ops->lu_tx_done(tx, status,
						    M0_LND_REMOTE_ERROR);
	}
	pair_settle(pair);
}

/* The driver lost the connection before it knew that the message had arrived,
 * but the answer is there, or on its way: so it has. */
static void send_failed_after_answer_is_well(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 4, 0);
	struct m0_lnet_hdr ack = hdr_of(M0_LNET_ACK, 0);
	struct m0_lnet_hdr reply = hdr_of(M0_LNET_REPLY, 64);
	struct m0_lnd_rx   rx;

	(void)state;
	pair->pai_hook = all_slow;
	(void)pair_ni(two, STRANGER);
	pair_put(one, md, STRANGER, PORTAL, BITS, true);
	pair_get(one, md, STRANGER, PORTAL, BITS);
	pair_settle(pair);
	ack.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_PUT, 0));
	inject(&ack);
	reply.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_GET, 0));
	assert_int_equal(rx_begin(&rx, &reply), 0);
	slow_ones_fail(-ECONNRESET);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 2);
	assert_int_equal(pair_event(one, M0_LNET_EV_SEND, 0)->ev_status, 0);
	assert_int_equal(pair_event(one, M0_LNET_EV_SEND, 1)->ev_status, 0);
	rx_done(&rx, -ECONNRESET);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_REPLY);
	assert_int_equal(last_event(one)->ev_status, -ECONNRESET);
	assert_true(last_event(one)->ev_unlinked);
}

/* No answer in time: told so, the MD stays, and a late one finds nobody. */
static void ack_overdue_is_told_once(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);
	struct m0_lnet_hdr ack = put_unanswered(md);

	(void)state;
	pair_run(pair, TOO_LONG_MS - 2000);
	assert_int_equal(one->pno_events_nr, 1);
	pair_run(pair, 2000);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_ACK);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_int_equal(last_event(one)->ev_mlength, 0);
	assert_false(last_event(one)->ev_unlinked);
	assert_int_equal(stats_of(one)->ls_response_timeout_count, 1);
	inject(&ack);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(stats_of(one)->ls_drop_stale, 1);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

static void reply_overdue_is_told_once(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_hdr reply = get_unanswered(md, 64);

	(void)state;
	pair_run(pair, TOO_LONG_MS);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_REPLY);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	inject(&reply);
	assert_int_equal(stats_of(one)->ls_drop_stale, 1);
	assert_int_equal(stats_of(one)->ls_drop_length, 64);
	assert_int_equal(bytes_in[0], 0);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* Overdue while still being sent: SEND goes first, and alone if it failed. */
static void ack_overdue_before_send_waits_for_it(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	pair->pai_hook = all_slow;
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_run(pair, TOO_LONG_MS);
	assert_int_equal(one->pno_events_nr, 0);
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(one->pno_events[0].ev_type, M0_LNET_EV_SEND);
	assert_int_equal(one->pno_events[0].ev_status, 0);
	assert_int_equal(one->pno_events[1].ev_type, M0_LNET_EV_ACK);
	assert_int_equal(one->pno_events[1].ev_status, -ETIMEDOUT);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

static void ack_overdue_before_send_failed_is_not_told(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	pair->pai_hook = all_slow;
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_run(pair, TOO_LONG_MS);
	slow_ones_fail(-ECONNRESET);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_SEND);
	assert_int_equal(last_event(one)->ev_status, -ECONNRESET);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* No way there: told by SEND, not on the stack of the call. */
static void operation_to_nowhere_fails(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, -1, 0);

	(void)state;
	pair_put(one, md, "5@gni3", PORTAL, BITS, true);
	pair_get(one, md, "5@gni3", PORTAL, BITS);
	assert_null(one->pno_posted);
	assert_int_equal(m0_lnet_engine_step(one->pno_engine, pair->pai_now),
			 M0_TIME_NEVER);
	assert_non_null(one->pno_posted);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(one->pno_events[0].ev_status, -EHOSTUNREACH);
	assert_int_equal(one->pno_events[1].ev_status, -EHOSTUNREACH);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* One that is not tracked waits for ever. */
static void untracked_response_is_never_overdue(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2,
					     M0_LNET_MD_NO_TRACK_RESPONSE);
	struct m0_lnet_hdr ack = put_unanswered(md);

	(void)state;
	pair_run(pair, 10 * TOO_LONG_MS);
	assert_int_equal(one->pno_events_nr, 1);
	inject(&ack);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_ACK);
	assert_int_equal(last_event(one)->ev_status, 0);
}

/* A second ACK or REPLY for the same operation finds nobody. */
static void response_repeated_is_dropped(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, -1, 0);
	struct m0_lnet_hdr ack = put_unanswered(md);
	struct m0_lnet_hdr reply = get_unanswered(md, 64);

	(void)state;
	inject(&ack);
	inject(&ack);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	inject(&reply);
	memset(bytes_in, 0, 64);
	inject(&reply);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
	assert_int_equal(bytes_in[63], 0);
	assert_int_equal(stats_of(one)->ls_drop_stale, 2);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* Also while the first one's payload is still coming. */
static void reply_repeated_while_coming_is_dropped(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_hdr reply = get_unanswered(md, 64);
	struct m0_lnd_rx   rx;
	struct m0_lnd_rx   again;

	(void)state;
	assert_int_equal(rx_begin(&rx, &reply), 0);
	assert_int_equal(rx_begin(&again, &reply), 0);
	assert_int_equal(rx.lr_payload.lpy_bytes, 64);
	assert_int_equal(again.lr_payload.lpy_bytes, 0);
	assert_int_equal(again.lr_discard_bytes, 64);
	rx_done(&again, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 0);
	rx_done(&rx, 0);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
	/* The response cannot become overdue any more. */
	pair_run(pair, TOO_LONG_MS);
	assert_int_equal(one->pno_events_nr, 2);
}

/* Cookies of another life, of no operation, and of one of the other kind. */
static void response_with_wrong_cookie_is_dropped(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, -1, 0);
	struct m0_lnet_hdr ack = put_unanswered(md);
	struct m0_lnet_hdr reply = get_unanswered(md, 64);
	struct m0_lnet_hdr bad = ack;

	(void)state;
	bad.lhd_wmd.wm_bytes[0] ^= 1;
	inject(&bad);
	bad = ack;
	bad.lhd_wmd.wm_bytes[15] ^= 1;
	inject(&bad);
	bad = ack;
	bad.lhd_wmd = reply.lhd_wmd;
	inject(&bad);
	bad = reply;
	bad.lhd_wmd = ack.lhd_wmd;
	inject(&bad);
	bad.lhd_wmd = m0_lnet__wmd_none;
	inject(&bad);
	assert_int_equal(stats_of(one)->ls_drop_stale, 5);
	assert_int_equal(one->pno_proto_errors_nr, 0);
	inject(&ack);
	inject(&reply);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* Cookies are never the same, and tell an MD by their lowest bits. */
static void cookies_are_all_different(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, -1, 0);
	struct m0_lnet_wmd first = put_unanswered(md).lhd_wmd;
	struct m0_lnet_wmd second = put_unanswered(md).lhd_wmd;

	(void)state;
	assert_memory_equal(&first, &second, 8);
	assert_memory_not_equal(&first, &second, sizeof first);
	assert_int_equal(first.wm_bytes[8] & 3, 1);
	assert_int_equal(second.wm_bytes[8] & 3, 1);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* A peer cannot have taken more than was sent. */
static void ack_of_too_much_is_cut(void **state)
{
	struct m0_lnet_hdr ack =
		put_unanswered(pair_md_bind(one, bytes_out, 64, 2, 0));

	(void)state;
	ack.lhd_length = 0xffffffff;
	ack.lhd_match_bits = 42;
	inject(&ack);
	assert_int_equal(last_event(one)->ev_mlength, 64);
	assert_int_equal(last_event(one)->ev_match_bits, 42);
}

/* Fewer bytes than were asked for are fine. */
static void reply_short_is_taken(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_hdr reply = get_unanswered(md, 5);

	(void)state;
	inject(&reply);
	assert_int_equal(last_event(one)->ev_mlength, 5);
	assert_int_equal(last_event(one)->ev_rlength, 5);
	assert_true(last_event(one)->ev_unlinked);
	assert_memory_equal(bytes_in, bytes_out, 5);
	assert_int_equal(bytes_in[5], 0);
}

/* More are dropped, and the right one may still come. */
static void reply_too_long_is_dropped(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_hdr reply = get_unanswered(md, 65);

	(void)state;
	inject(&reply);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 0);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 1);
	assert_int_equal(bytes_in[0], 0);
	reply.lhd_payload_bytes = 64;
	inject(&reply);
	assert_int_equal(events_nr(one, M0_LNET_EV_REPLY), 1);
}

/* Or cut, if the MD says so. */
static void reply_too_long_is_truncated(void **state)
{
	struct m0_lnet_md *md =
		pair_md_bind(one, bytes_in, 64, 2, M0_LNET_MD_TRUNCATE);
	struct m0_lnet_hdr reply = get_unanswered(md, 100);

	(void)state;
	inject(&reply);
	assert_int_equal(last_event(one)->ev_mlength, 64);
	assert_int_equal(last_event(one)->ev_rlength, 100);
	assert_memory_equal(bytes_in, bytes_out, 64);
	assert_int_equal(bytes_in[64], 0);
}

/* A REPLY whose connection breaks is a REPLY that has failed. */
static void reply_cut_by_the_network_is_told(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_in, 64, 2, 0);
	struct m0_lnet_hdr reply = get_unanswered(md, 64);
	struct m0_lnd_rx   rx;

	(void)state;
	assert_int_equal(rx_begin(&rx, &reply), 0);
	rx_done(&rx, -ECONNRESET);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_REPLY);
	assert_int_equal(last_event(one)->ev_status, -ECONNRESET);
	assert_true(last_event(one)->ev_unlinked);
}

/* An MD that has ended meanwhile, and the message is not lost. */
static void operation_on_ended_md_fails(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, 2, 0);

	(void)state;
	one->pno_keep = true;
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	pair_put(one, md, STRANGER, PORTAL, BITS, true);
	pair_get(one, md, STRANGER, PORTAL, BITS);
	/* The owner keeps the MD for such. */
	md->md_attr.mda_threshold = 2;
	assert_int_equal(one->pno_events_nr, 0);
	one->pno_keep = false;
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 3);
	assert_true(one->pno_events[0].ev_unlinked);
	assert_int_equal(one->pno_events[1].ev_status, -ENOENT);
	assert_false(one->pno_events[1].ev_unlinked);
	assert_int_equal(one->pno_events[2].ev_status, -ENOENT);
	assert_true(one->pno_events[2].ev_is_get);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* No memory to wait for the answer in: told by SEND, the MD is untouched. */
static void operation_without_memory_fails(void **state)
{
	struct m0_lnet_md *md = pair_md_bind(one, bytes_out, 64, -1, 0);
	struct m0_heap     heap;
	unsigned           failed = 0;
	unsigned           i;

	(void)state;
	/* The peer is made here. */
	(void)put_unanswered(md);
	for (i = 1; i < 800; ++i) {
		m0_heap_init(&heap);
		/* The first is the message. */
		m0_heap_fail_at(&heap, 2);
		pair_put(one, md, STRANGER, PORTAL, BITS, true);
		m0_heap_fini(&heap);
		pair_settle(pair);
		failed += last_event(one)->ev_status == -ENOMEM;
	}
	assert_true(failed > 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 800);
	assert_int_equal(m0_hash_nr(&one->pno_engine->le_waiting),
			 md->md_busy_nr);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* Nothing to move is a message too. */
static void operations_of_no_bytes_work(void **state)
{
	(void)state;
	(void)sink(two, BITS, -1, M0_LNET_MD_OP_GET);
	pair_put(one, pair_md_bind(one, NULL, 0, 2, 0), "10.0.0.2@tcp", PORTAL,
		 BITS, true);
	pair_get(one, pair_md_bind(one, NULL, 0, 2, 0), "10.0.0.2@tcp", PORTAL,
		 BITS);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 4);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_mlength, 0);
	assert_int_equal(pair_event(one, M0_LNET_EV_REPLY, 0)->ev_mlength, 0);
	assert_int_equal(one->pno_mds_nr, 0);
}

/* To ourselves. */
static void operation_to_own_node_goes_by_lo(void **state)
{
	(void)state;
	(void)sink(one, BITS, -1, 0);
	pair_put(one, pair_md_bind(one, bytes_out, 64, 2, 0), "0@lo", PORTAL,
		 BITS, true);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	assert_memory_equal(bytes_in, bytes_out, 64);
}

/* An answer over `0@lo` comes from the NID that was asked. */
static void operation_to_own_nid_is_answered_by_it(void **state)
{
	(void)state;
	(void)sink(one, BITS, -1, 0);
	pair_put(one, pair_md_bind(one, bytes_out, 64, 2, 0), "10.0.0.1@tcp",
		 PORTAL, BITS, true);
	pair_settle(pair);
	assert_id(&pair_event(one, M0_LNET_EV_PUT, 0)->ev_target,
		  "10.0.0.1@tcp");
	assert_id(&pair_event(one, M0_LNET_EV_ACK, 0)->ev_source,
		  "10.0.0.1@tcp");
}

/* The largest message there is. */
static void operation_of_a_whole_mebibyte_works(void **state)
{
	(void)state;
	(void)pair_md_attach(two, pair_me(two, PORTAL, BITS, 0, 0), bytes_in,
			     M0_LNET_MTU, -1, M0_LNET_MD_OP_PUT, false);
	pair_put(one, pair_md_bind(one, bytes_out, M0_LNET_MTU, 2, 0),
		 "10.0.0.2@tcp", PORTAL, BITS, true);
	pair_settle(pair);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 0)->ev_mlength,
			 M0_LNET_MTU);
	assert_memory_equal(bytes_in, bytes_out, M0_LNET_MTU);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY(put_with_ack_tells_all),
		STORY(get_tells_all),
		STORY(put_without_ack_ends_with_send),
		STORY(threshold_counts_send),
		STORY(threshold_used_up_ends_waiting),
		STORY(ack_before_send_is_told_first),
		STORY(send_failed_is_the_last_event),
		STORY(send_failed_after_answer_is_well),
		STORY(ack_overdue_is_told_once),
		STORY(reply_overdue_is_told_once),
		STORY(ack_overdue_before_send_waits_for_it),
		STORY(ack_overdue_before_send_failed_is_not_told),
		STORY(operation_to_nowhere_fails),
		STORY(untracked_response_is_never_overdue),
		STORY(response_repeated_is_dropped),
		STORY(reply_repeated_while_coming_is_dropped),
		STORY(response_with_wrong_cookie_is_dropped),
		STORY(cookies_are_all_different),
		STORY(ack_of_too_much_is_cut),
		STORY(reply_short_is_taken),
		STORY(reply_too_long_is_dropped),
		STORY(reply_too_long_is_truncated),
		STORY(reply_cut_by_the_network_is_told),
		STORY(operation_on_ended_md_fails),
		STORY(operation_without_memory_fails),
		STORY(operations_of_no_bytes_work),
		STORY(operation_to_own_node_goes_by_lo),
		STORY(operation_to_own_nid_is_answered_by_it),
		STORY(operation_of_a_whole_mebibyte_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

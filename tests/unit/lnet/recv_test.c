/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A message that arrives is taken, answered or dropped, or ends its connection.
 */
#include "unit/lnet/story.h"

static unsigned log_lines_nr;
static char     log_last[512];

static void log_count(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	++log_lines_nr;
	snprintf(log_last, sizeof log_last, "%s", text);
}

static int begin(void **state)
{
	log_lines_nr = 0;
	m0_log_set(log_count, NULL);
	return story_begin(state);
}

static int end(void **state)
{
	int rc = story_end(state);

	m0_log_set(NULL, NULL);
	return rc;
}

#define LOGGED(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void assert_refused(const struct m0_lnet_hdr *hdr, const char *why)
{
	struct m0_lnd_rx rx;
	uint64_t         errors = stats_of(one)->ls_proto_errors;

	assert_int_equal(rx_begin(&rx, hdr), -EPROTO);
	assert_int_equal(stats_of(one)->ls_proto_errors, errors + 1);
	if (log_lines_nr > 0)
		assert_non_null(strstr(log_last, why));
	log_lines_nr = 0;
	pair_run(pair, 1000);
}

/* 4.6: what ends the connection; the log says who and why. */
static void rules_broken_end_the_connection(void **state)
{
	struct m0_lnet_hdr hdr;

	(void)state;
	(void)sink(one, BITS, -1, M0_LNET_MD_OP_GET);
	hdr = hdr_of(M0_LNET_ACK, 1);
	assert_refused(&hdr, "ACK or GET with payload");
	assert_non_null(strstr(log_last, "10.0.0.9@tcp"));
	hdr = hdr_of(M0_LNET_GET, 1);
	assert_refused(&hdr, "ACK or GET with payload");
	hdr = hdr_of(M0_LNET_PUT, M0_LNET_MTU + 1);
	assert_refused(&hdr, "above 1 MiB");
	hdr = hdr_of(M0_LNET_REPLY, 0xffffffff);
	assert_refused(&hdr, "above 1 MiB");
	hdr = hdr_of(M0_LNET_PUT, 4);
	hdr.lhd_dest_nid = pair_nid("10.0.0.77@tcp");
	assert_refused(&hdr, "another node of this network");
	(void)pair_ni(one, "10.1.0.1@tcp1");
	hdr.lhd_dest_nid = pair_nid("10.1.0.1@tcp1");
	assert_refused(&hdr, "another interface");
	hdr.lhd_dest_nid = m0_lnet_nid_lo;
	assert_refused(&hdr, "another interface");
	hdr = hdr_of(M0_LNET_PUT, 4);
	hdr.lhd_src_nid = m0_lnet_nid_lo;
	assert_refused(&hdr, "source");
	hdr.lhd_src_nid = m0_lnet_nid_any;
	assert_refused(&hdr, "source");
	assert_int_equal(one->pno_events_nr, 0);
	assert_int_equal(one->pno_msgs_nr, 0);
	assert_int_equal(stats_of(one)->ls_recv_count, 0);
}

/* A type that is none. */
static void type_unknown_ends_the_connection(void **state)
{
	struct m0_lnd_ni  *ni = one->pno_ni[1];
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 4);
	struct m0_lnd_rx   rx = { .lr_nid = pair_nid(STRANGER) };
	uint8_t            buf[M0_LNET_HDR_LARGE_BYTES];
	unsigned           type;

	(void)state;
	for (type = 4; type < 260; type += 51) {
		(void)m0_lnet__hdr_encode(&hdr, false, buf);
		buf[24] = (uint8_t)type;
		buf[25] = type > 255;
		assert_int_equal(ni->ldn_ops->lu_rx_begin(ni, &rx, buf, false),
				 -EPROTO);
	}
	assert_non_null(strstr(log_last, "unknown type"));
}

/* A peer that goes on like this gets a line a second. */
static void complaints_are_few(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_ACK, 1);
	struct m0_lnd_rx   rx;
	unsigned           i;

	(void)state;
	for (i = 0; i < 100; ++i)
		assert_int_equal(rx_begin(&rx, &hdr), -EPROTO);
	assert_int_equal(log_lines_nr, 1);
	pair_run(pair, 1100);
	assert_int_equal(rx_begin(&rx, &hdr), -EPROTO);
	assert_int_equal(log_lines_nr, 2);
	assert_non_null(strstr(log_last, "(99 more"));
	assert_int_equal(stats_of(one)->ls_proto_errors, 101);
}

/* For another network: we do not route; it is swallowed. */
static void message_to_be_routed_is_dropped(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 400);
	struct m0_lnd_rx   rx;

	(void)state;
	hdr.lhd_dest_nid = pair_nid("10.1.0.1@tcp1");
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	assert_int_equal(rx.lr_payload.lpy_bytes, 0);
	assert_int_equal(rx.lr_discard_bytes, 400);
	rx_done(&rx, 0);
	assert_int_equal(stats_of(one)->ls_drop_not_ours, 1);
	assert_int_equal(stats_of(one)->ls_drop_count, 1);
	assert_int_equal(stats_of(one)->ls_drop_length, 400);
	/* Nor is its sender remembered. */
	assert_null(m0_lnet__lpni_find(one->pno_engine, &hdr.lhd_src_nid));
}

/* Where the bytes go: into the MD, then nowhere. */
static void put_payload_has_its_place(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, -1, M0_LNET_MD_TRUNCATE);
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnd_rx   rx;

	(void)state;
	md->md_attr.mda_length = 130;
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	assert_ptr_equal(rx.lr_payload.lpy_vec, md->md_attr.mda_vec);
	assert_int_equal(rx.lr_payload.lpy_offset, 0);
	assert_int_equal(rx.lr_payload.lpy_bytes, 100);
	assert_int_equal(rx.lr_discard_bytes, 0);
	rx_done(&rx, 0);
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	assert_int_equal(rx.lr_payload.lpy_offset, 100);
	assert_int_equal(rx.lr_payload.lpy_bytes, 30);
	assert_int_equal(rx.lr_discard_bytes, 70);
	rx_done(&rx, 0);
	assert_int_equal(stats_of(one)->ls_recv_count, 2);
	assert_int_equal(stats_of(one)->ls_recv_length, 200);
}

/* The ACK: to whoever the header says, from where it was sent to, by the hop it
 * came by, with the handle it was asked for by, and what was taken. */
static void put_is_acknowledged(void **state)
{
	struct m0_lnet_hdr       hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnet_md       *md = sink(one, BITS, -1, M0_LNET_MD_TRUNCATE);
	const struct pair_frame *frame;
	struct m0_lnet_nid       nid;

	(void)state;
	md->md_attr.mda_length = 60;
	pair->pai_hook = all_lost;
	hdr.lhd_src_pid = 0x80000007;
	memset(&hdr.lhd_wmd, 0xa7, sizeof hdr.lhd_wmd);
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	frame = pair_frame(pair, 0, M0_LNET_ACK, 0);
	assert_non_null(frame);
	assert_int_equal(frame->pfr_hdr.lhd_dest_pid, 0x80000007);
	assert_int_equal(frame->pfr_hdr.lhd_src_pid, M0_LNET_PID_LUSTRE);
	nid = pair_nid(STRANGER);
	assert_true(m0_lnet_nid_eq(&frame->pfr_hdr.lhd_dest_nid, &nid));
	assert_true(m0_lnet_nid_eq(&frame->pfr_hop, &nid));
	nid = pair_nid("10.0.0.1@tcp");
	assert_true(m0_lnet_nid_eq(&frame->pfr_hdr.lhd_src_nid, &nid));
	assert_memory_equal(&frame->pfr_hdr.lhd_wmd, &hdr.lhd_wmd, 16);
	assert_int_equal(frame->pfr_hdr.lhd_match_bits, BITS);
	assert_int_equal(frame->pfr_hdr.lhd_length, 60);
	assert_int_equal(frame->pfr_bytes, 0);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* There is nothing to be put in place, and all the same somebody waits. */
static void put_of_no_bytes_is_acknowledged(void **state)
{
	struct m0_lnet_hdr       hdr = hdr_of(M0_LNET_PUT, 0);
	const struct pair_frame *frame;

	(void)state;
	(void)sink(one, BITS, -1, 0);
	pair->pai_hook = all_lost;
	memset(&hdr.lhd_wmd, 0xa7, sizeof hdr.lhd_wmd);
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	frame = pair_frame(pair, 0, M0_LNET_ACK, 0);
	assert_non_null(frame);
	assert_int_equal(frame->pfr_hdr.lhd_length, 0);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* Not if nobody asked, if the MD says no, or if the data did not come. */
static void put_is_not_acknowledged(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 100);
	struct m0_lnd_rx   rx;

	(void)state;
	(void)sink(one, BITS, -1, 0);
	(void)sink(one, BITS + 1, -1, M0_LNET_MD_ACK_DISABLE);
	pair->pai_hook = all_lost;
	stranger_put(BITS, 100, 0);
	memset(&hdr.lhd_wmd, 0xa7, sizeof hdr.lhd_wmd);
	hdr.lhd_match_bits = BITS + 1;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	assert_int_equal(events_nr(one, M0_LNET_EV_PUT), 2);
	hdr.lhd_match_bits = BITS;
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	rx_done(&rx, -ECONNRESET);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_status, -ECONNRESET);
	assert_int_equal(last_event(one)->ev_mlength, 100);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 0);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* A GET is answered from the MD; its event comes when the REPLY has left. */
static void get_is_answered(void **state)
{
	struct m0_lnet_hdr       hdr = hdr_of(M0_LNET_GET, 0);
	const struct pair_frame *frame;

	(void)state;
	(void)pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_out,
			     400, -1,
			     M0_LNET_MD_OP_GET | M0_LNET_MD_MANAGE_REMOTE |
				     M0_LNET_MD_TRUNCATE,
			     false);
	pair->pai_hook = all_held;
	memset(&hdr.lhd_wmd, 0xa7, sizeof hdr.lhd_wmd);
	hdr.lhd_offset = 300;
	hdr.lhd_length = 200;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 0);
	pair->pai_hook = all_lost;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_GET);
	assert_int_equal(last_event(one)->ev_status, 0);
	assert_int_equal(last_event(one)->ev_mlength, 100);
	assert_int_equal(last_event(one)->ev_offset, 300);
	assert_int_equal(last_event(one)->ev_portal, PORTAL);
	frame = pair_frame(pair, 0, M0_LNET_REPLY, 0);
	assert_non_null(frame);
	assert_int_equal(frame->pfr_bytes, 100);
	assert_memory_equal(frame->pfr_payload, bytes_out + 300, 100);
	assert_memory_equal(&frame->pfr_hdr.lhd_wmd, &hdr.lhd_wmd, 16);
	assert_int_equal(one->pno_msgs_nr, 0);
}

/* A REPLY that could not be sent is the GET's failure. */
static void get_answered_in_vain_is_told(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);

	(void)state;
	(void)pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_out,
			     400, 1, M0_LNET_MD_OP_GET, true);
	pair->pai_hook = all_fail;
	hdr.lhd_length = 10;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(last_event(one)->ev_type, M0_LNET_EV_GET);
	assert_int_equal(last_event(one)->ev_status, -ECONNRESET);
	assert_true(last_event(one)->ev_unlinked);
}

/* A GET of nothing is answered by nothing; from an empty MD too. */
static void get_of_no_bytes_is_answered(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);

	(void)state;
	(void)pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), NULL, 0, -1,
			     M0_LNET_MD_OP_GET | M0_LNET_MD_TRUNCATE, false);
	pair->pai_hook = all_lost;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	hdr.lhd_length = 64;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_REPLY), 2);
	assert_int_equal(pair_frame(pair, 0, M0_LNET_REPLY, 1)->pfr_bytes, 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_GET), 2);
}

/* A GET of more than a message may carry: cut to that, or too big. */
static void get_of_too_much_is_bounded(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);
	struct m0_lnet_md *md;

	(void)state;
	md = pair_md_attach(one, pair_me(one, PORTAL, BITS, 0, 0), bytes_out,
			    M0_LNET_MTU, -1, M0_LNET_MD_OP_GET, false);
	/* More than there is: nobody may look that far. */
	md->md_attr.mda_length = 4 * (uint64_t)M0_LNET_MTU;
	pair->pai_hook = all_lost;
	hdr.lhd_length = M0_LNET_MTU + 1;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_REPLY), 0);
	assert_int_equal(stats_of(one)->ls_drop_too_big, 1);
	md->md_attr.mda_options |= M0_LNET_MD_TRUNCATE;
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	pair_settle(pair);
	assert_int_equal(pair_frame(pair, 0, M0_LNET_REPLY, 0)->pfr_bytes,
			 M0_LNET_MTU);
}

/* No message free in the owner: later, and nothing is lost or counted twice. */
static void message_waits_for_the_home(void **state)
{
	(void)state;
	(void)sink(one, BITS, -1, 0);
	one->pno_msgs_max = 0;
	stranger_put(BITS, 4, 0);
	assert_int_equal(one->pno_events_nr, 0);
	assert_true(one->pno_again_nr > 0);
	assert_int_equal(stats_of(one)->ls_recv_count, 0);
	one->pno_msgs_max = 1;
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(stats_of(one)->ls_recv_count, 1);
}

/* The node has as many messages on their way as it may, none of them an answer
 * to who asks: he is heard, as nothing would make him be heard again. */
static void message_of_who_has_no_answers_is_taken(void **state)
{
	struct m0_lnet_engine *eng = one->pno_engine;
	struct m0_lnet_msg    *msg;

	(void)state;
	(void)sink(one, BITS, -1, 0);
	eng->le_cfg.lec_msgs_max = 1;
	msg = m0_lnet__msg_new(eng);
	assert_int_equal(stats_of(one)->ls_msgs_alloc, 1);
	stranger_put(BITS, 4, 0);
	assert_int_equal(one->pno_again_nr, 0);
	assert_int_equal(one->pno_events_nr, 1);
	m0_lnet__msg_put(msg);
}

/* A queue that nobody empties: dropped, the MD has not moved. */
static void queue_full_drops(void **state)
{
	struct m0_lnet_md *md = sink(one, BITS, 1, 0);

	(void)state;
	one->pno_eq_full = true;
	stranger_put(BITS, 4, 0);
	assert_int_equal(stats_of(one)->ls_drop_no_room, 1);
	assert_int_equal(md->md_threshold, 1);
	assert_int_equal(md->md_busy_nr, 0);
	one->pno_eq_full = false;
	stranger_put(BITS, 4, 0);
	assert_int_equal(last_event(one)->ev_offset, 0);
}

/* A payload that is discarded may fail. */
static void dropped_payload_may_fail(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 400);
	struct m0_lnd_rx   rx;

	(void)state;
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	rx_done(&rx, -ECONNRESET);
	assert_int_equal(stats_of(one)->ls_drop_no_match, 1);
	assert_int_equal(one->pno_events_nr, 0);
}

/* By type, per interface and per peer: what came and what of it was dropped. */
static void traffic_is_counted(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_GET, 0);
	struct m0_lnet_nid nid = pair_nid(STRANGER);
	struct m0_lnet_ni *ni =
		m0_lnet__ni_find(one->pno_engine, &hdr.lhd_dest_nid);
	struct m0_lnet_lpni *lpni;

	(void)state;
	(void)sink(one, BITS, -1, 0);
	stranger_put(BITS, 4, 0);
	stranger_put(BITS, 4, 0);
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	hdr = hdr_of(M0_LNET_ACK, 0);
	pair_inject(one, 1, STRANGER, &hdr, NULL);
	hdr = hdr_of(M0_LNET_REPLY, 3);
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
	lpni = m0_lnet__lpni_find(one->pno_engine, &nid);
	assert_non_null(lpni);
	assert_int_equal(ni->lni_traffic.lt_received.lmc_put, 2);
	assert_int_equal(ni->lni_traffic.lt_dropped.lmc_get, 1);
	assert_int_equal(ni->lni_traffic.lt_dropped.lmc_ack, 1);
	assert_int_equal(ni->lni_traffic.lt_dropped.lmc_reply, 1);
	assert_int_equal(lpni->lpn_traffic.lt_received.lmc_put, 2);
	assert_int_equal(lpni->lpn_traffic.lt_dropped.lmc_get, 1);
	assert_int_equal(lpni->lpn_traffic.lt_dropped.lmc_ack, 1);
	assert_int_equal(stats_of(one)->ls_drop_stale, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		LOGGED(rules_broken_end_the_connection),
		LOGGED(type_unknown_ends_the_connection),
		LOGGED(complaints_are_few),
		STORY(message_to_be_routed_is_dropped),
		STORY(put_payload_has_its_place),
		STORY(put_is_acknowledged),
		STORY(put_of_no_bytes_is_acknowledged),
		STORY(put_is_not_acknowledged),
		STORY(get_is_answered),
		STORY(get_answered_in_vain_is_told),
		STORY(get_of_no_bytes_is_answered),
		STORY(get_of_too_much_is_bounded),
		STORY(message_waits_for_the_home),
		STORY(message_of_who_has_no_answers_is_taken),
		STORY(queue_full_drops),
		STORY(dropped_payload_may_fail),
		STORY(traffic_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Our router takes the place of recorded kernel routers, whose traffic on one net is
 * recorded. The test brings it each message that arrived at the kernel router, and, from
 * the other net, each message that the kernel router forwarded to the recorded net. Our
 * router must forward both with the recorded header bytes, and answer requests to itself
 * with the recorded bytes.
 *	router_test DIRECTORY [CASE]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "golden/replay.h"
#include "lib/lnet_pair.h"

enum {
	/** Silence before the recording begins: longer than a check and its
	 * time-out. */
	BEFORE_MS = 20000
};

/** A recorded router, and how many messages ours must send. */
struct story {
	const char *st_name;
	const char *st_file;
	const char *st_nid;
	/** Configuration of the recorded router. */
	unsigned st_check_ms;
	unsigned st_ping_ms;
	/** Numbers of messages forwarded from the recorded net, and to it; answers;
	 * the least number of pushes. */
	unsigned st_out_nr;
	unsigned st_in_nr;
	unsigned st_answers_nr;
	unsigned st_pushes_nr;
};

static const char *golden_dir;

static const struct story *story;
static struct replay       recording;
static struct pair        *pair;
static struct pair_node   *router;
/** NIDs of the router: on the recorded side, and on the other. */
static struct m0_lnet_nid near;
static struct m0_lnet_nid far;
static m0_time_t          begin;
/** Frames that have been looked at. */
static unsigned seen_nr;
static unsigned out_nr;
static unsigned in_nr;
static unsigned answers_nr;
static unsigned pushes_nr;
static unsigned asked_nr;

#define CHECK(item, cond)                                               \
	do {                                                            \
		if (!(cond))                                            \
			fail_msg("%s, connection %u, %.6f s: %s",       \
				 story->st_name, (item)->ri_stream + 1, \
				 (double)(item)->ri_time / 1e9, #cond); \
	} while (0)

#define for_each_item(item)               \
	for ((item) = recording.re_items; \
	     (item) < recording.re_items + recording.re_items_nr; ++(item))

/* -- the recording --------------------------------------------------------- */

/** Returns the peer of the router on a connection; NULL: it is not the router's. */
static const struct m0_lnet_nid *peer_of(unsigned stream)
{
	const struct dialogue      *dlg = &recording.re_dialogues[stream];
	const struct m0_sock_hello *hello;
	size_t                      i;

	for (i = 0; i < dlg->dl_msgs_nr; ++i) {
		hello = &dlg->dl_msgs[i].dm_hello;
		if (dlg->dl_msgs[i].dm_kind != DIALOGUE_HELLO)
			continue;
		if (m0_lnet_nid_eq(&hello->sh_src_nid, &near))
			return &hello->sh_dst_nid;
		if (m0_lnet_nid_eq(&hello->sh_dst_nid, &near))
			return &hello->sh_src_nid;
	}
	return NULL;
}

/** Returns true if the router sent the message of this item. */
static bool is_said_by_router(const struct replay_item *item)
{
	const struct dialogue *dlg = &recording.re_dialogues[item->ri_stream];
	size_t                 i;

	for (i = 0; i < dlg->dl_msgs_nr; ++i)
		if (dlg->dl_msgs[i].dm_kind == DIALOGUE_HELLO &&
		    m0_lnet_nid_eq(&dlg->dl_msgs[i].dm_hello.sh_src_nid, &near))
			return dlg->dl_msgs[i].dm_from == item->ri_from;
	return false;
}

static bool is_own(const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_eq(nid, &near) || m0_lnet_nid_eq(nid, &far);
}

/** Returns the recorded message that the router itself sent, of this type, to `dest`,
 * with this handle. */
static struct replay_item *own_find(uint32_t                  type,
				    const struct m0_lnet_nid *dest,
				    const struct m0_lnet_wmd *wmd)
{
	const struct m0_lnet_hdr *hdr;
	struct replay_item       *item;

	for_each_item(item)
	{
		if (item->ri_done || replay__type(item) != (int)type ||
		    !is_said_by_router(item))
			continue;
		hdr = &item->ri_msg->dm_hdr;
		if (is_own(&hdr->lhd_src_nid) &&
		    m0_lnet_nid_eq(&hdr->lhd_dest_nid, dest) &&
		    memcmp(&hdr->lhd_wmd, wmd, sizeof *wmd) == 0)
			return item;
	}
	return NULL;
}

/** Ping information of the router in a recorded message. */
struct state {
	bool s_is_known;
	bool s_is_routing;
	bool s_near_up;
	bool s_far_up;
};

static struct state state_of(const struct replay_item *item)
{
	struct m0_lnet_ping_ni   nis[2];
	struct m0_lnet_ping_info info = { .lpi_nis = nis, .lpi_nis_max = 2 };

	if (item == NULL || replay__type(item) < 0 ||
	    !dialogue_is_ping(item->ri_msg) || !is_said_by_router(item) ||
	    !is_own(&item->ri_msg->dm_hdr.lhd_src_nid))
		return (struct state){};
	assert_int_equal(
		m0_lnet__ping_decode(&info, item->ri_msg->dm_payload,
				     item->ri_msg->dm_hdr.lhd_payload_bytes),
		0);
	assert_int_equal(info.lpi_nis_nr, 2);
	return (struct state){
		.s_is_known = true,
		.s_is_routing =
			(info.lpi_features & M0_LNET_FEAT_RTE_DISABLED) == 0,
		.s_near_up = nis[0].lpg_up,
		.s_far_up = nis[1].lpg_up,
	};
}

/* -- what our router sends ------------------------------------------------- */

static void hdr_check(const struct replay_item *item,
		      const struct m0_lnet_hdr *hdr)
{
	uint8_t buf[M0_LNET_HDR_LARGE_BYTES];
	size_t  nr = m0_lnet__hdr_encode(hdr, item->ri_msg->dm_large, buf);

	CHECK(item, nr > 0);
	CHECK(item, memcmp(buf, item->ri_msg->dm_hdr_bytes, nr) == 0);
}

/** Returns true if the frame has the recorded ping information, but for the sequence
 * number. */
static bool info_is(const struct replay_item *item,
		    const struct pair_frame *frame, const struct state *state)
{
	struct m0_lnet_ping_ni   nis[2];
	struct m0_lnet_ping_info info = { .lpi_nis = nis, .lpi_nis_max = 2 };
	uint8_t                  buf[M0_LNET_PING_BYTES_MAX];
	size_t                   nr = item->ri_msg->dm_hdr.lhd_payload_bytes;

	assert_int_equal(
		m0_lnet__ping_decode(&info, item->ri_msg->dm_payload, nr), 0);
	/* The kernel reports silent interfaces down before it sets the feature. Our
	 * router does both from the same moment. */
	if (!state->s_is_routing)
		nis[0].lpg_up = nis[1].lpg_up = true;
	info.lpi_features |= M0_LNET_FEAT_COLIBRI;
	/* Each node counts its own changes. */
	(void)m0_lnet__ping_encode(&info, buf, sizeof buf);
	memcpy(buf + M0_LNET_PING_HEADER_BYTES + 8,
	       frame->pfr_payload + M0_LNET_PING_HEADER_BYTES + 8, 4);
	return frame->pfr_bytes == nr && nr <= sizeof frame->pfr_payload &&
	       memcmp(buf, frame->pfr_payload, nr) == 0;
}

static void near_inject(const struct m0_lnet_nid *from,
			const struct m0_lnet_hdr *hdr, const void *payload)
{
	char text[M0_LNET_NIDSTR_SIZE];

	pair_inject(router, 1, m0_lnet_nid_print(from, text, sizeof text), hdr,
		    payload);
}

static void far_inject(const struct m0_lnet_nid *from,
		       const struct m0_lnet_hdr *hdr, const void *payload)
{
	char text[M0_LNET_NIDSTR_SIZE];

	pair_inject(router, 2, m0_lnet_nid_print(from, text, sizeof text), hdr,
		    payload);
}

/** Compares a REPLY or an ACK with the recorded one. */
static void answer_look(const struct pair_frame *frame)
{
	struct replay_item *item = own_find(frame->pfr_hdr.lhd_type,
					    &frame->pfr_hdr.lhd_dest_nid,
					    &frame->pfr_hdr.lhd_wmd);
	struct state        state;

	assert_non_null(item);
	CHECK(item, m0_lnet_nid_eq(&frame->pfr_hop, peer_of(item->ri_stream)));
	hdr_check(item, &frame->pfr_hdr);
	state = state_of(item);
	CHECK(item, state.s_is_known || frame->pfr_bytes == 0);
	CHECK(item, !state.s_is_known || info_is(item, frame, &state));
	item->ri_done = true;
	++answers_nr;
}

/** Compares a push with the recorded ones. When a router notices that a net has become
 * silent is its own choice, so the push may be as any of them. */
static void push_look(const struct pair_frame *frame)
{
	struct m0_lnet_hdr  hdr = frame->pfr_hdr;
	struct replay_item *item;
	struct state        state;
	bool                found = false;

	for_each_item(item)
	{
		state = state_of(item);
		if (!state.s_is_known || replay__type(item) != M0_LNET_PUT ||
		    !m0_lnet_nid_eq(&item->ri_msg->dm_hdr.lhd_dest_nid,
				    &hdr.lhd_dest_nid) ||
		    !info_is(item, frame, &state))
			continue;
		hdr.lhd_wmd = item->ri_msg->dm_hdr.lhd_wmd;
		hdr_check(item, &hdr);
		found = true;
		break;
	}
	if (!found)
		fail_msg("%s: a push that was not recorded, at %.3f s",
			 story->st_name, (double)(frame->pfr_at - begin) / 1e9);
	++pushes_nr;
	/* The peer acknowledges it. */
	hdr = (struct m0_lnet_hdr){
		.lhd_type = M0_LNET_ACK,
		.lhd_dest_nid = near,
		.lhd_src_nid = hdr.lhd_dest_nid,
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = M0_LNET_PID_LUSTRE,
		.lhd_wmd = frame->pfr_hdr.lhd_wmd,
		.lhd_match_bits = frame->pfr_hdr.lhd_match_bits,
		.lhd_length = frame->pfr_hdr.lhd_payload_bytes,
	};
	near_inject(&hdr.lhd_src_nid, &hdr, NULL);
}

/** Answers a ping of our router from what the recording shows of the peer. */
static void ask_look(const struct pair_frame *frame)
{
	const struct replay_machine *m;
	struct m0_lnet_hdr           hdr = {
			  .lhd_type = M0_LNET_REPLY,
			  .lhd_dest_nid = near,
			  .lhd_src_nid = frame->pfr_hdr.lhd_dest_nid,
			  .lhd_dest_pid = M0_LNET_PID_LUSTRE,
			  .lhd_src_pid = M0_LNET_PID_LUSTRE,
			  .lhd_wmd = frame->pfr_hdr.lhd_wmd,
	};

	m = &recording.re_machines[replay__machine(&recording,
						   &hdr.lhd_src_nid)];
	assert_true(m < recording.re_machines + recording.re_machines_nr);
	assert_true(m->rm_info_nr <= frame->pfr_hdr.lhd_length);
	hdr.lhd_payload_bytes = (uint32_t)m->rm_info_nr;
	near_inject(&hdr.lhd_src_nid, &hdr, m->rm_info);
	++asked_nr;
}

static bool is_forwarded(const struct pair_frame *frame)
{
	return !is_own(&frame->pfr_hdr.lhd_src_nid);
}

/** Compares each message that our router itself has sent. Returns the only message that
 * it has forwarded; NULL: it has forwarded none. */
static const struct pair_frame *frames_look(void)
{
	const struct pair_frame *forwarded = NULL;
	const struct pair_frame *frame;

	for (pair_settle(pair); seen_nr < pair->pai_frames_nr;
	     pair_settle(pair)) {
		frame = &pair->pai_frames[seen_nr++];
		if (is_forwarded(frame)) {
			assert_null(forwarded);
			forwarded = frame;
		} else if (!m0_lnet_nid_eq(&frame->pfr_ni, &near)) {
			/* The far side is not recorded. */
			assert_int_equal(frame->pfr_hdr.lhd_type,
					 M0_LNET_REPLY);
		} else if (frame->pfr_hdr.lhd_type == M0_LNET_PUT) {
			push_look(frame);
		} else if (frame->pfr_hdr.lhd_type == M0_LNET_GET) {
			ask_look(frame);
		} else {
			answer_look(frame);
		}
	}
	return forwarded;
}

/** Our router has forwarded the message of `item`, by `ni` to `hop`, with the same
 * bytes. */
static void forwarded_check(const struct replay_item *item,
			    const struct m0_lnet_nid *ni,
			    const struct m0_lnet_nid *hop)
{
	const struct dialogue_msg *msg = item->ri_msg;
	const struct pair_frame   *frame = frames_look();

	CHECK(item, frame != NULL);
	CHECK(item, m0_lnet_nid_eq(&frame->pfr_ni, ni));
	CHECK(item, m0_lnet_nid_eq(&frame->pfr_hop, hop));
	hdr_check(item, &frame->pfr_hdr);
	CHECK(item, frame->pfr_bytes == msg->dm_hdr.lhd_payload_bytes);
	CHECK(item, memcmp(frame->pfr_payload, msg->dm_payload,
			   min_check(frame->pfr_bytes,
				     sizeof frame->pfr_payload)) == 0);
}

/* -- what comes to our router ---------------------------------------------- */

/** A node of the far net pings the router. */
static void far_ping(void)
{
	const struct m0_lnet_hdr *seen;
	struct m0_lnet_hdr        hdr = {};
	struct replay_item       *item;

	for_each_item(item)
	{
		if (replay__type(item) != M0_LNET_GET)
			continue;
		seen = &item->ri_msg->dm_hdr;
		if (replay__is_reserved(seen) &&
		    m0_lnet_nid_net(&seen->lhd_dest_nid) ==
			    m0_lnet_nid_net(&far)) {
			hdr = *seen;
			break;
		}
	}
	assert_int_equal(hdr.lhd_type, M0_LNET_GET);
	hdr.lhd_src_nid = hdr.lhd_dest_nid;
	hdr.lhd_dest_nid = far;
	far_inject(&hdr.lhd_src_nid, &hdr, NULL);
	(void)frames_look();
}

/** Repeats what the recorded router must have seen before it reported this state:
 * routing was switched on, and a node of the far net pinged it. */
static void state_follow(const struct state *state)
{
	if (!state->s_is_known || !state->s_is_routing)
		return;
	assert_int_equal(m0_lnet_engine_routing_set(router->pno_engine, true),
			 0);
	if (state->s_far_up)
		far_ping();
}

static void arrives(struct replay_item *item)
{
	const struct dialogue_msg *msg = item->ri_msg;
	const struct m0_lnet_hdr  *hdr = &msg->dm_hdr;
	const struct m0_lnet_nid  *peer = peer_of(item->ri_stream);
	struct state               state;

	if (!is_own(&hdr->lhd_dest_nid)) {
		near_inject(peer, hdr, msg->dm_payload);
		forwarded_check(item, &far, &hdr->lhd_dest_nid);
		++out_nr;
		return;
	}
	/* This is the ACK of a recorded push. push_look() acknowledges ours. */
	if (hdr->lhd_type == M0_LNET_ACK)
		return;
	state = state_of(
		own_find(M0_LNET_REPLY, &hdr->lhd_src_nid, &hdr->lhd_wmd));
	state_follow(&state);
	near_inject(peer, hdr, msg->dm_payload);
	assert_null(frames_look());
}

static void leaves(struct replay_item *item)
{
	const struct dialogue_msg *msg = item->ri_msg;
	const struct m0_lnet_hdr  *hdr = &msg->dm_hdr;
	struct state               state = state_of(item);

	if (is_own(&hdr->lhd_src_nid)) {
		if (hdr->lhd_type == M0_LNET_PUT)
			state_follow(&state);
		else
			CHECK(item, item->ri_done);
		return;
	}
	far_inject(&hdr->lhd_src_nid, hdr, msg->dm_payload);
	forwarded_check(item, &near, peer_of(item->ri_stream));
	++in_nr;
}

/* -- the story ------------------------------------------------------------- */

/** Nobody is on either net but the test. */
static enum pair_act everything_leaves(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return PAIR_DROP;
}

static void router_open(void)
{
	const struct replay_machine *m;
	struct m0_lnet_engine_cfg    cfg = pair_cfg();
	char                         text[M0_LNET_NIDSTR_SIZE];
	unsigned                     i;

	near = pair_nid(story->st_nid);
	m = &recording.re_machines[replay__machine(&recording, &near)];
	assert_true(m->rm_is_router);
	assert_int_equal(m->rm_first_nr, 2);
	assert_true(m0_lnet_nid_eq(&m->rm_nids[0], &near));
	far = m->rm_nids[1];
	cfg.lec_route.lrc_check_ns = story->st_check_ms * M0_TIME_ONE_MSEC;
	cfg.lec_route.lrc_ping_ns = story->st_ping_ms * M0_TIME_ONE_MSEC;
	pair = pair_open(1, &cfg);
	router = &pair->pai_node[0];
	for (i = 0; i < 2; ++i)
		(void)pair_ni(router, m0_lnet_nid_print(&m->rm_nids[i], text,
							sizeof text));
	pair->pai_hook = everything_leaves;
	seen_nr = out_nr = in_nr = answers_nr = pushes_nr = asked_nr = 0;
}

/** Returns true if the first state that the recorded router reports is routing. */
static bool is_routing_from_the_beginning(void)
{
	const struct replay_item *item;
	struct state              state;

	for_each_item(item)
	{
		state = state_of(item);
		if (state.s_is_known)
			return state.s_is_routing;
	}
	return false;
}

/** Returns the time of the last message that the recorded router sent. */
static m0_time_t life_of_router(void)
{
	const struct replay_item *item;
	m0_time_t                 last = 0;

	for_each_item(item) if (replay__type(item) >= 0 &&
				is_said_by_router(item)) last = item->ri_time;
	return last;
}

static void items_play(void)
{
	m0_time_t           life = life_of_router();
	struct replay_item *item;
	m0_time_t           when;

	for_each_item(item)
	{
		if (replay__type(item) < 0 ||
		    peer_of(item->ri_stream) == NULL || item->ri_time > life)
			continue;
		when = begin + item->ri_time;
		if (when > pair->pai_now)
			pair_run(pair,
				 (when - pair->pai_now) / M0_TIME_ONE_MSEC);
		assert_null(frames_look());
		if (is_said_by_router(item))
			leaves(item);
		else
			arrives(item);
	}
}

static void router_is_replaced(void **arg)
{
	char path[512];

	story = *arg;
	(void)snprintf(path, sizeof path, "%s/%s.pcap", golden_dir,
		       story->st_file);
	replay_load(&recording, path);
	router_open();
	if (is_routing_from_the_beginning())
		assert_int_equal(m0_lnet_engine_routing_set(router->pno_engine,
							    true),
				 0);
	pair_run(pair, BEFORE_MS);
	begin = pair->pai_now;
	items_play();
	print_message("  %s: %u and %u forwarded, %u answers, %u pushes, %u "
		      "asked besides\n",
		      story->st_name, out_nr, in_nr, answers_nr, pushes_nr,
		      asked_nr);
	assert_int_equal(out_nr, story->st_out_nr);
	assert_int_equal(in_nr, story->st_in_nr);
	assert_int_equal(answers_nr, story->st_answers_nr);
	assert_true(pushes_nr >= story->st_pushes_nr);
	pair_close(pair);
	replay_free(&recording);
}

int main(int argc, char **argv)
{
	static struct story stories[] = {
		{ "05 by 192.168.77.4@tcp1", "05-routed-tcp1-side",
		  "192.168.77.4@tcp1", 3000, 3000, 13, 14, 3, 6 },
		{ "16 by 192.168.77.4@tcp", "16-router-tcp", "192.168.77.4@tcp",
		  10000, 5000, 28, 32, 29, 1 },
		{ "16 by 192.168.77.5@tcp", "16-router-tcp", "192.168.77.5@tcp",
		  10000, 5000, 7, 3, 49, 1 },
	};
	struct CMUnitTest tests[ARRAY_SIZE(stories)];
	unsigned          i;

	if (argc < 2)
		return 2;
	golden_dir = argv[1];
	cmocka_set_test_filter(argv[2]);
	for (i = 0; i < ARRAY_SIZE(stories); ++i)
		tests[i] = (struct CMUnitTest){
			.name = stories[i].st_name,
			.test_func = router_is_replaced,
			.initial_state = &stories[i],
		};
	return cmocka_run_group_tests_name("golden-router", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnet/story.h"

#define STRANGER  "10.0.0.9@tcp"
#define PING_BITS (UINT64_C(1) << 63)

/** A GET or PUT of the stranger's to portal 0 of `one`. */
static void stranger(uint32_t type, uint32_t nr, uint32_t offset,
		     const void *payload)
{
	struct m0_lnet_hdr hdr = {
		.lhd_type = type,
		.lhd_dest_nid = pair_nid("10.0.0.1@tcp"),
		.lhd_src_nid = pair_nid(STRANGER),
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = M0_LNET_PID_LUSTRE,
		.lhd_wmd = { { 5, 6 } },
		.lhd_match_bits = PING_BITS,
		.lhd_offset = offset,
	};

	if (type == M0_LNET_GET)
		hdr.lhd_length = nr;
	else
		hdr.lhd_payload_bytes = nr;
	pair_inject(one, 1, STRANGER, &hdr, payload);
	pair_settle(pair);
}

/** The newest REPLY, decoded. */
static void answer(struct m0_lnet_ping_info *info, struct m0_lnet_ping_ni *nis,
		   unsigned max)
{
	unsigned                 nr = pair_frames_nr(pair, 0, M0_LNET_REPLY);
	const struct pair_frame *frame;

	assert_true(nr > 0);
	frame = pair_frame(pair, 0, M0_LNET_REPLY, nr - 1);
	M0_SET0(info);
	info->lpi_nis = nis;
	info->lpi_nis_max = max;
	assert_int_equal(m0_lnet__ping_decode(info, frame->pfr_payload,
					      frame->pfr_bytes),
			 0);
}

static uint32_t features_with(bool discovery, const char *nid, const char *more)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	struct m0_lnet_ping_info  info;
	struct m0_lnet_ping_ni    nis[4];
	struct m0_lnet_nid        self = pair_nid(nid);
	struct m0_lnet_hdr        hdr = {
		       .lhd_type = M0_LNET_GET,
		       .lhd_length = 272,
		       .lhd_match_bits = PING_BITS,
	};

	cfg.lec_discovery = discovery;
	pair = pair_open(1, &cfg);
	one = &pair->pai_node[0];
	pair->pai_hook = all_lost;
	(void)pair_ni(one, nid);
	if (more != NULL)
		(void)pair_ni(one, more);
	hdr.lhd_dest_nid = self;
	hdr.lhd_src_nid = pair_nid(nid[0] == 'f' ? "fd77::9@tcp" : STRANGER);
	pair_inject(one, 1, nid[0] == 'f' ? "fd77::9@tcp" : STRANGER, &hdr,
		    NULL);
	pair_settle(pair);
	answer(&info, nis, 4);
	assert_int_equal(info.lpi_features,
			 m0_lnet__ping_features(one->pno_engine));
	assert_int_equal(info.lpi_pid, M0_LNET_PID_LUSTRE);
	assert_nid(&nis[0].lpg_nid, nid);
	(void)story_end(NULL);
	return info.lpi_features;
}

/* As kernel nodes tell them. */
static void features_are_as_nids_and_discovery_need(void **state)
{
	(void)state;
	assert_int_equal(features_with(true, "10.0.0.1@tcp", NULL), 0x4000001e);
	assert_int_equal(features_with(false, "10.0.0.1@tcp", NULL),
			 0x4000000e);
	assert_int_equal(features_with(true, "10.0.0.1@tcp", "fd77::1@tcp"),
			 0x4000003e);
	assert_int_equal(features_with(true, "fd77::1@tcp", NULL), 0x4000007e);
	assert_int_equal(features_with(true, "fd77::1@tcp", "10.0.0.1@tcp"),
			 0x4000007e);
}

/* The answer is cut to any length, from any offset, and never refused. */
static void answer_is_cut_to_the_room(void **state)
{
	static const struct {
		uint32_t room;
		uint32_t offset;
		uint32_t bytes;
	} cases[] = {
		{ 272, 0, 48 }, { 48, 0, 48 },    { 47, 0, 47 },
		{ 0, 0, 0 },    { 272, 16, 32 },  { 8, 40, 8 },
		{ 272, 48, 0 }, { 272, 9999, 0 }, { UINT32_MAX, 0, 48 },
	};
	uint8_t  whole[48] = { 0 };
	unsigned i;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	for (i = 0; i < ARRAY_SIZE(cases); ++i) {
		const struct pair_frame *f;

		stranger(M0_LNET_GET, cases[i].room, cases[i].offset, NULL);
		f = pair_frame(pair, 0, M0_LNET_REPLY, i);
		assert_non_null(f);
		assert_int_equal(f->pfr_bytes, cases[i].bytes);
		assert_int_equal(f->pfr_hdr.lhd_wmd.wm_bytes[1], 6);
		if (i == 0)
			memcpy(whole, f->pfr_payload, sizeof whole);
		assert_memory_equal(f->pfr_payload,
				    whole + cases[i].offset % sizeof whole,
				    cases[i].bytes);
	}
}

/* Sequence from 1, and one more with each change; down NIs are told so, net by
 * net in the order of adding. */
static void information_follows_the_nis(void **state)
{
	struct m0_lnet_ping_info info;
	struct m0_lnet_ping_ni   nis[8];

	(void)state;
	pair = pair_open(1, NULL);
	one = &pair->pai_node[0];
	pair->pai_hook = all_lost;
	assert_int_equal(one->pno_engine->le_seq, 1);
	(void)pair_ni(one, "10.0.0.1@tcp");
	(void)pair_ni(one, "10.1.0.1@tcp1");
	(void)pair_ni(one, "10.0.0.2@tcp");
	(void)pair_ni(one, "10.1.0.2@tcp1");
	assert_int_equal(one->pno_engine->le_seq, 5);
	one->pno_ni[3]->ldn_up = false;
	one->pno_ni[3]->ldn_ops->lu_ni_status(one->pno_ni[3]);
	stranger(M0_LNET_GET, 272, 0, NULL);
	answer(&info, nis, 8);
	assert_int_equal(info.lpi_seq, 6);
	assert_int_equal(info.lpi_nis_nr, 4);
	assert_nid(&nis[0].lpg_nid, "10.0.0.1@tcp");
	assert_nid(&nis[1].lpg_nid, "10.0.0.2@tcp");
	assert_nid(&nis[2].lpg_nid, "10.1.0.1@tcp1");
	assert_nid(&nis[3].lpg_nid, "10.1.0.2@tcp1");
	assert_true(nis[0].lpg_up);
	assert_false(nis[1].lpg_up);
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	pair_settle(pair);
	stranger(M0_LNET_GET, 272, 0, NULL);
	answer(&info, nis, 8);
	assert_int_equal(info.lpi_seq, 7);
	assert_int_equal(info.lpi_nis_nr, 3);
}

/* Answers that are leaving, and those that wait to, while it changes. */
static void information_changes_under_answers(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	struct m0_lnet_ping_info  info;
	struct m0_lnet_ping_ni    nis[8];
	unsigned                  i;

	(void)state;
	cfg.lec_peer_credits = 2;
	story_open(1, &cfg);
	(void)pair_ni(one, "10.1.0.1@tcp1");
	pair->pai_hook = all_held;
	for (i = 0; i < 4; ++i)
		stranger(M0_LNET_GET, 272, 0, NULL);
	m0_lnet_engine_ni_del(one->pno_engine, one->pno_ni[2]);
	pair_settle(pair);
	pair->pai_hook = all_lost;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_REPLY), 4);
	/* The old one leaves whole; the new one with zeroes behind it. */
	for (i = 0; i < 4; ++i) {
		const struct pair_frame *f =
			pair_frame(pair, 0, M0_LNET_REPLY, i);

		assert_int_equal(f->pfr_bytes, 64);
		M0_SET0(&info);
		info.lpi_nis = nis;
		info.lpi_nis_max = 8;
		assert_int_equal(m0_lnet__ping_decode(&info, f->pfr_payload,
						      f->pfr_bytes),
				 0);
		assert_int_equal(info.lpi_nis_nr, i < 2 ? 2 : 1);
	}
	stranger(M0_LNET_GET, 272, 0, NULL);
	assert_int_equal(pair_frame(pair, 0, M0_LNET_REPLY, 4)->pfr_bytes, 48);
}

/* To the last moment: after all was shut down, until the NIs go. */
static void answers_come_until_nis_stop(void **state)
{
	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	m0_lnet_engine_shutdown(one->pno_engine, pair->pai_now);
	pair_settle(pair);
	stranger(M0_LNET_GET, 272, 0, NULL);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_REPLY), 1);
	stranger(M0_LNET_PUT, 48, 0, bytes_out);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 1);
	assert_true(m0_lnet_engine_is_quiet(one->pno_engine));
}

/* Pushes whose bytes are slow to come do not keep others out. */
static void sinks_take_many_pushes_at_a_time(void **state)
{
	unsigned i;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	one->pno_rx_hold = true;
	for (i = 0; i < 20; ++i)
		stranger(M0_LNET_PUT, 48, 0, bytes_out);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 0);
	one->pno_rx_hold = false;
	pair_settle(pair);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 20);
	for (i = 0; i < 100; ++i)
		stranger(M0_LNET_PUT, 48, 0, bytes_out);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 120);
}

/* Too long a push is cut, and the next such one finds room. */
static void sinks_grow_with_what_comes(void **state)
{
	const struct pair_frame *frame;
	unsigned                 i;

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	stranger(M0_LNET_PUT, 1000, 0, bytes_out);
	frame = pair_frame(pair, 0, M0_LNET_ACK, 0);
	assert_int_equal(frame->pfr_hdr.lhd_length, 272);
	for (i = 0; i < 33; ++i)
		stranger(M0_LNET_PUT, 1000, 0, bytes_out);
	frame = pair_frame(pair, 0, M0_LNET_ACK, 33);
	assert_int_equal(frame->pfr_hdr.lhd_length, 1000);
}

/* Other bits on portal 0 are nobody's, and stall nothing. */
static void portal_zero_takes_nothing_else(void **state)
{
	struct m0_lnet_hdr hdr = {
		.lhd_type = M0_LNET_PUT,
		.lhd_payload_bytes = 8,
		.lhd_match_bits = 5,
		.lhd_wmd = { { 1 } },
	};

	(void)state;
	story_open(1, NULL);
	pair->pai_hook = all_lost;
	hdr.lhd_dest_nid = pair_nid("10.0.0.1@tcp");
	hdr.lhd_src_nid = pair_nid(STRANGER);
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	stranger(M0_LNET_GET, 272, 0, NULL);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_REPLY), 1);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_ACK), 0);
	assert_int_equal(one->pno_engine->le_stats.ls_drop_no_match, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(features_are_as_nids_and_discovery_need),
		STORY_BARE(answer_is_cut_to_the_room),
		STORY_BARE(information_follows_the_nis),
		STORY_BARE(information_changes_under_answers),
		STORY_BARE(answers_come_until_nis_stop),
		STORY_BARE(sinks_take_many_pushes_at_a_time),
		STORY_BARE(sinks_grow_with_what_comes),
		STORY_BARE(portal_zero_takes_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

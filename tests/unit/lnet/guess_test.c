/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The REPLY to the only large GET is guessed to come next; otherwise there is
 * no guess.
 */
#include "unit/lnet/story.h"

enum {
	GUESS_BYTES = 64 << 10,
	/** More than the transaction time-out of the nodes here. */
	TOO_LONG_MS = 151000
};

/** A GET of the stranger, who gets it and says nothing: what he might say. */
static struct m0_lnet_hdr get_unanswered(struct m0_lnet_md *md, uint32_t nr)
{
	struct m0_lnet_hdr reply = hdr_of(M0_LNET_REPLY, nr);
	unsigned           before = pair_frames_nr(pair, 0, M0_LNET_GET);

	pair->pai_hook = all_lost;
	pair_get(one, md, STRANGER, PORTAL, BITS);
	pair_settle(pair);
	reply.lhd_wmd = wmd_of(pair_frame(pair, 0, M0_LNET_GET, before));
	return reply;
}

static void inject(const struct m0_lnet_hdr *hdr)
{
	pair_inject(one, 1, STRANGER, hdr, bytes_out);
	pair_settle(pair);
}

static struct m0_lnd_payload guess_from(const char *nid)
{
	struct m0_lnd_ni     *ni = one->pno_ni[1];
	struct m0_lnd_rx      rx = { .lr_nid = pair_nid(nid) };
	struct m0_lnd_payload place = { .lpy_bytes = 1 };

	ni->ldn_ops->lu_guess->lgu_guess(ni, &rx, &place);
	return place;
}

static bool guessed(const struct m0_lnet_hdr *hdr, bool large)
{
	struct m0_lnd_ni *ni = one->pno_ni[1];
	uint8_t           buf[M0_LNET_HDR_LARGE_BYTES];

	(void)m0_lnet__hdr_encode(hdr, large, buf);
	return ni->ldn_ops->lu_guess->lgu_guessed(ni, buf, large);
}

static struct m0_lnet_md *guess_md(m0_bcount_t bytes)
{
	return pair_md_bind(one, bytes_in, bytes, -1, 0);
}

/* The answer to the only large GET is guessed, from whom it was asked. */
static void guess_is_the_place_of_the_only_large_get(void **state)
{
	struct m0_lnet_md    *md = guess_md(GUESS_BYTES);
	struct m0_lnet_hdr    reply;
	struct m0_lnd_payload place;

	(void)state;
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	reply = get_unanswered(md, GUESS_BYTES);
	place = guess_from(STRANGER);
	assert_ptr_equal(place.lpy_vec, md->md_attr.mda_vec);
	assert_int_equal(place.lpy_offset, md->md_attr.mda_vec_offset);
	assert_int_equal(place.lpy_bytes, GUESS_BYTES);
	assert_int_equal(guess_from("10.0.0.2@tcp").lpy_bytes, 0);
	assert_true(guessed(&reply, false));
	assert_true(guessed(&reply, true));
	/* A guess need not be right in all fields: nobody was told of it. */
	assert_int_equal(one->pno_events_nr, 1);
	inject(&reply);
	assert_int_equal(one->pno_events_nr, 2);
	assert_int_equal(last_event(one)->ev_mlength, GUESS_BYTES);
	assert_memory_equal(bytes_in, bytes_out, GUESS_BYTES);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* Nothing is guessed of small ones, nor of one of two. */
static void guess_is_none_of_small_or_many(void **state)
{
	struct m0_lnet_md *small = guess_md(16 << 10);
	struct m0_lnet_md *md = guess_md(GUESS_BYTES);

	(void)state;
	(void)get_unanswered(small, 0);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	(void)get_unanswered(md, 0);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, GUESS_BYTES);
	(void)get_unanswered(md, 0);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	m0_lnet_engine_md_unlink(one->pno_engine, small);
}

/* The end of a small one, of the largest size that is small, is not that of a
 * large one. */
static void guess_is_made_after_a_small_get(void **state)
{
	struct m0_lnet_md *small = guess_md(16 << 10);
	struct m0_lnet_md *md = guess_md(GUESS_BYTES);
	struct m0_lnet_hdr reply = get_unanswered(small, 0);

	(void)state;
	inject(&reply);
	assert_int_equal(one->pno_engine->le_gets_nr, 0);
	(void)get_unanswered(md, 0);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, GUESS_BYTES);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	m0_lnet_engine_md_unlink(one->pno_engine, small);
}

/* Nobody waits any more: its memory may be anybody's. */
static void guess_ends_with_the_get(void **state)
{
	struct m0_lnet_md *md = guess_md(GUESS_BYTES);
	struct m0_lnet_hdr reply;

	(void)state;
	reply = get_unanswered(md, GUESS_BYTES);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	assert_false(guessed(&reply, false));
	pair_settle(pair);
}

/* The newer of two GETs ends, and its guess is forgotten. */
static void guess_is_none_of_an_ended_one_of_two(void **state)
{
	struct m0_lnet_md *first = guess_md(GUESS_BYTES);
	struct m0_lnet_md *second = guess_md(2 * GUESS_BYTES);

	(void)state;
	(void)get_unanswered(first, 0);
	(void)get_unanswered(second, 0);
	m0_lnet_engine_md_unlink(one->pno_engine, second);
	pair_settle(pair);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	m0_lnet_engine_md_unlink(one->pno_engine, first);
}

/* None when its time is up. */
static void guess_ends_with_the_time_out(void **state)
{
	struct m0_lnet_md *md = guess_md(GUESS_BYTES);

	(void)state;
	(void)get_unanswered(md, GUESS_BYTES);
	pair_run(pair, TOO_LONG_MS);
	assert_int_equal(last_event(one)->ev_status, -ETIMEDOUT);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* Likewise when it could not be sent, or the driver gave it up. */
static void guess_ends_with_the_send(void **state)
{
	struct m0_lnet_md *md = guess_md(GUESS_BYTES);

	(void)state;
	pair->pai_hook = all_held;
	pair_get(one, md, STRANGER, PORTAL, BITS);
	pair_settle(pair);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, GUESS_BYTES);
	pair->pai_hook = all_fail;
	pair_release(pair);
	pair_settle(pair);
	assert_int_equal(one->pno_events_nr, 1);
	assert_int_equal(last_event(one)->ev_status, -ECONNRESET);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* A rule may put an answer off, drop it or change it: nothing is guessed. */
static void guess_is_none_under_fault_rules(void **state)
{
	struct m0_lnet_engine    *eng = one->pno_engine;
	struct m0_lnet_md        *md = guess_md(GUESS_BYTES);
	struct m0_lnet_hdr        reply;
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = M0_LNET_FAULT_DELAY,
		.lfa_src = m0_lnet_nid_any,
		.lfa_dst = m0_lnet_nid_any,
		.lfa_local = m0_lnet_nid_any,
		.lfa_msgs = M0_LNET_FAULT_REPLY,
		.lfa_latency_ms = 1000,
	};

	(void)state;
	reply = get_unanswered(md, GUESS_BYTES);
	assert_int_equal(m0_lnet_engine_fault_add(eng, &attr), 0);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
	(void)m0_lnet_engine_fault_del(eng, M0_LNET_FAULT_ANY, NULL, NULL);
	assert_int_equal(guess_from(STRANGER).lpy_bytes, GUESS_BYTES);
	inject(&reply);
	assert_int_equal(last_event(one)->ev_mlength, GUESS_BYTES);
	m0_lnet_engine_md_unlink(eng, md);
}

/* Only an answer of all the bytes is what was guessed. One that was not is the
 * last for this GET and some after it. */
static void guess_wrong_is_not_made_again_soon(void **state)
{
	static uint8_t     nonsense[M0_LNET_HDR_LARGE_BYTES];
	struct m0_lnet_md *md = guess_md(GUESS_BYTES);
	struct m0_lnet_hdr reply;
	struct m0_lnet_hdr wrong;
	unsigned           tries;
	unsigned           nr;

	(void)state;
	memset(nonsense, 0xff, sizeof nonsense);
	for (tries = 0; tries < 5; ++tries) {
		for (nr = 0;; ++nr) {
			reply = get_unanswered(md, GUESS_BYTES);
			if (guess_from(STRANGER).lpy_bytes > 0)
				break;
			inject(&reply);
		}
		assert_int_equal(nr, tries == 0 ? 0 : 16);
		assert_true(guessed(&reply, false));
		wrong = reply;
		if (tries == 0)
			++wrong.lhd_payload_bytes;
		if (tries == 1)
			--wrong.lhd_payload_bytes;
		if (tries == 2)
			wrong.lhd_type = M0_LNET_PUT;
		if (tries == 3)
			wrong.lhd_wmd = m0_lnet__wmd_none;
		if (tries == 4)
			assert_false(
				one->pno_ni[1]->ldn_ops->lu_guess->lgu_guessed(
					one->pno_ni[1], nonsense, true));
		else
			assert_false(guessed(&wrong, false));
		assert_false(guessed(&reply, false));
		assert_int_equal(guess_from(STRANGER).lpy_bytes, 0);
		inject(&reply);
	}
	m0_lnet_engine_md_unlink(one->pno_engine, md);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY(guess_is_the_place_of_the_only_large_get),
		STORY(guess_is_none_of_small_or_many),
		STORY(guess_is_made_after_a_small_get),
		STORY(guess_ends_with_the_get),
		STORY(guess_is_none_of_an_ended_one_of_two),
		STORY(guess_ends_with_the_time_out),
		STORY(guess_ends_with_the_send),
		STORY(guess_is_none_under_fault_rules),
		STORY(guess_wrong_is_not_made_again_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

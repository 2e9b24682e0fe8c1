/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Peers that the node dials and that are not as they should be: silent, refusing,
 * with another identity. In the simulator and on sockets.
 */
#include <stdlib.h>

#include "lnet/speech.h"

enum {
	WHO = PLACE_WHO_MIN,
	SOON_MS = 1000,
	INCARNATION = 100
};

static struct place place;

static void up(void **state, void (*tune)(struct m0_lnet_cfg *cfg))
{
	place_up(&place, *(enum place_kind *)*state, tune);
}

struct answer {
	struct m0_lnet_probe a_probe;
	unsigned             a_done_nr;
};

static void answered(struct m0_lnet_probe *probe)
{
	struct answer *answer = container_of(probe, struct answer, a_probe);

	__atomic_add_fetch(&answer->a_done_nr, 1, __ATOMIC_ACQ_REL);
}

static bool is_answered(void *arg)
{
	return __atomic_load_n(&((struct answer *)arg)->a_done_nr,
			       __ATOMIC_ACQUIRE) > 0;
}

/* The node asks `who`; it is told `status` after `ms` at the latest. */
static void ask_begin(struct answer *answer, unsigned who, uint64_t ms)
{
	*answer =
		(struct answer){ .a_probe = { .pr_kind = M0_LNET_DISCOVER,
					      .pr_nid = place_nid(&place, who),
					      .pr_self = m0_lnet_nid_any,
					      .pr_timeout_ms = ms,
					      .pr_done = answered } };
	assert_int_equal(m0_lnet_probe(place.pl_node, &answer->a_probe), 0);
}

/* Answers the HELLO of a connection that the node makes. */
static void hello_answer(struct place_end *end)
{
	struct speech        speech = {};
	struct m0_sock_hello hello;

	assert_true(place_wait_in(end, M0_SOCK_REQUEST_V1_BYTES, SOON_MS));
	end->pe_done = M0_SOCK_REQUEST_V1_BYTES;
	assert_true(speech_hear_hello(end, &hello, SOON_MS));
	assert_true(m0_lnet_nid_eq(&hello.sh_src_nid, &place.pl_nid));
	speech_hello(&speech, &place, end->pe_who, 3,
		     m0_sock__ctype_invert(hello.sh_ctype), INCARNATION);
	speech_say(end, &speech);
}

/* Peers that accept and say nothing, or say HELLO and nothing more: who asks
 * them is told after his time, not later. */
static void peer_mute_is_told_in_time(void **state)
{
	struct answer     silent;
	struct answer     mute;
	struct place_end *end;
	struct heard      heard;

	up(state, NULL);
	place_listen(&place, WHO);
	place_listen(&place, WHO + 1);
	ask_begin(&silent, WHO, 700);
	ask_begin(&mute, WHO + 1, 700);
	assert_non_null(place_accept(&place, WHO, SOON_MS));
	end = place_accept(&place, WHO + 1, SOON_MS);
	assert_non_null(end);
	hello_answer(end);
	assert_true(speech_hear(end, &heard, SOON_MS));
	assert_int_equal(heard.hd_hdr.lhd_type, M0_LNET_GET);
	assert_int_equal(heard.hd_hdr.lhd_portal, 0);
	place_ping(&place);
	assert_true(place_wait(&place, is_answered, &silent, 1000));
	assert_true(place_wait(&place, is_answered, &mute, 1000));
	assert_int_equal(silent.a_probe.pr_status, -ETIMEDOUT);
	assert_int_equal(mute.a_probe.pr_status, -ETIMEDOUT);
	assert_int_equal(silent.a_done_nr, 1);
	assert_int_equal(mute.a_done_nr, 1);
	place_ping(&place);
	place_down(&place);
}

/* "Not now": the node comes again once, then after a while, and not in a rush;
 * when it is welcome all is as if nothing had been. */
static void refusals_are_answered_by_patience(void **state)
{
	struct answer        answer;
	struct place_end    *end;
	struct m0_sock_hello hello;
	struct speech        speech;
	uint64_t             ms;
	m0_time_t            before = 0;
	unsigned             i;

	up(state, NULL);
	ms = place.pl_cfg.lc_reconnect_min_ms;
	place_listen(&place, WHO);
	ask_begin(&answer, WHO, 600 * ms);
	for (i = 0; i < 3; ++i) {
		end = place_accept(&place, WHO, 60 * ms);
		assert_non_null(end);
		assert_true(i < 2 || place_now(&place) - before >=
					     ms * M0_TIME_ONE_MSEC);
		assert_true(
			place_wait_in(end, M0_SOCK_REQUEST_V1_BYTES, SOON_MS));
		end->pe_done = M0_SOCK_REQUEST_V1_BYTES;
		assert_true(speech_hear_hello(end, &hello, SOON_MS));
		speech = (struct speech){};
		speech_hello(&speech, &place, WHO, 3,
			     i < 2 ? M0_SOCK_NONE
				   : m0_sock__ctype_invert(hello.sh_ctype),
			     INCARNATION);
		before = place_now(&place);
		speech_say(end, &speech);
		if (i < 2)
			assert_true(place_wait_end(end, SOON_MS));
	}
	assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
	assert_true(speech_ping(end));
	assert_int_equal(answer.a_done_nr, 0);
	place_down(&place);
}

/* A peer that answers a HELLO wrongly counts as unreachable. */
static void hello_answered_wrong_is_no_peer(void **state)
{
	/* Change of the answer: offset and value. */
	static const struct {
		unsigned at;
		uint32_t value;
	} rows[] = {
		{ 0, 0xeebc0ded }, { 0, 0xacce7100 }, { 0, 0 },  { 4, 9 },
		{ 8, 0x01020304 }, { 8, UINT32_MAX }, { 24, 7 }, { 48, 2 },
		{ 48, 9 },         { 52, 17 },
	};
	struct speech     speech;
	struct answer     answer;
	struct place_end *end;
	unsigned          i;

	up(state, NULL);
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		place_listen(&place, WHO + i);
		ask_begin(&answer, WHO + i, 5000);
		end = place_accept(&place, WHO + i, SOON_MS);
		assert_non_null(end);
		speech = (struct speech){};
		speech_hello(&speech, &place, WHO + i, 3, M0_SOCK_CONTROL,
			     INCARNATION);
		memcpy(speech.sp_bytes + rows[i].at, &rows[i].value,
		       sizeof rows[i].value);
		speech_say(end, &speech);
		assert_true(place_wait_end(end, SOON_MS));
		assert_true(place_wait(&place, is_answered, &answer, 5000));
		print_message("  %u: status %d\n", i, answer.a_probe.pr_status);
		assert_true(answer.a_probe.pr_status < 0);
		place_ping(&place);
	}
	place_down(&place);
}

/* Both connect at once: who has the higher NID keeps what he has begun. */
static void race_is_won_by_the_higher_nid(void **state)
{
	static const unsigned whos[] = { PLACE_WHO_LOW, WHO };
	struct m0_sock_hello  hello;
	struct answer         answer;
	struct place_end     *theirs;
	struct place_end     *ours;
	struct heard          heard;
	struct speech         speech;
	unsigned              i;

	up(state, NULL);
	for (i = 0; i < ARRAY_SIZE(whos); ++i) {
		place_listen(&place, whos[i]);
		ask_begin(&answer, whos[i], 1500);
		ours = place_accept(&place, whos[i], SOON_MS);
		assert_non_null(ours);
		speech = (struct speech){};
		speech_request(&speech, &place.pl_nid);
		speech_hello(&speech, &place, whos[i], 3, M0_SOCK_CONTROL,
			     INCARNATION);
		theirs = place_dial(&place, whos[i]);
		speech_say(theirs, &speech);
		assert_true(speech_hear_hello(theirs, &hello, SOON_MS));
		if (whos[i] == PLACE_WHO_LOW) {
			assert_int_equal(hello.sh_ctype, M0_SOCK_NONE);
			assert_true(place_wait_end(theirs, SOON_MS));
			hello_answer(ours);
		} else {
			assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
			ours = theirs;
		}
		/* A message that waited for a connection leaves on the one that
		 * remains. */
		assert_true(speech_hear(ours, &heard, SOON_MS));
		assert_int_equal(heard.hd_hdr.lhd_type, M0_LNET_GET);
		assert_true(place_wait(&place, is_answered, &answer, 2000));
	}
	place_down(&place);
}

#define BOTH(test)                                  \
	cmocka_unit_test_prestate(test, &kinds[0]), \
		cmocka_unit_test_prestate(test, &kinds[1])

int main(void)
{
	static enum place_kind  kinds[] = { PLACE_SIM, PLACE_SOCKETS };
	const struct CMUnitTest tests[] = {
		BOTH(peer_mute_is_told_in_time),
		BOTH(refusals_are_answered_by_patience),
		BOTH(race_is_won_by_the_higher_nid),
		BOTH(hello_answered_wrong_is_no_peer),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("lnet-hostile-answer", tests, NULL,
					   NULL);
}

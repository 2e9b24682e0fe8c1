/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Peers that ask for zero-copy acknowledgements, in all ways there are, in the
 * simulator and on sockets.
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

/* A cookie is acknowledged once, be the message taken or dropped; one that is
 * used again is acknowledged again. */
static void cookies_are_acknowledged_once_each(void **state)
{
	static const uint64_t cookies[] = { 2, 3, 4, 9, 9, 2, UINT64_MAX, 7 };
	struct m0_lnet_hdr    hdr;
	struct place_end     *end;
	struct heard          heard;
	unsigned              acked_nr = 0;
	unsigned              i;

	up(state, NULL);
	end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	hdr = speech_hdr(&place, WHO, M0_LNET_PUT);
	hdr.lhd_payload_bytes = 100;
	for (i = 0; i < ARRAY_SIZE(cookies); ++i) {
		struct speech speech = {};
		uint64_t      ranges[2][2];
		int           nr;

		speech_msg(&speech, place_is_ip6(&place), cookies[i], &hdr);
		speech.sp_nr += 100;
		speech_say(end, &speech);
		assert_true(speech_hear(end, &heard, SOON_MS));
		assert_int_equal(heard.hd_frame.sfr_type, M0_SOCK_FRAME_NOOP);
		nr = m0_sock__frame_acks(&heard.hd_frame, ranges);
		assert_int_equal(nr, 1);
		assert_true(ranges[0][0] == cookies[i] &&
			    ranges[0][1] == cookies[i]);
		++acked_nr;
	}
	assert_int_equal(acked_nr, ARRAY_SIZE(cookies));
	assert_true(speech_ping(end));
	place_down(&place);
}

/* Many in one breath, over each version: each is acknowledged once, be it in
 * ranges, by twos, or one by one as V2 has it. */
static void cookies_in_one_breath_are_all_acknowledged(void **state)
{
	enum {
		NR = 20
	};
	struct m0_lnet_hdr hdr;
	struct place_end  *end;
	struct heard       heard;
	uint64_t           ranges[2][2];
	uint32_t           version;
	unsigned           left;
	unsigned           i;
	int                k;

	up(state, NULL);
	for (version = 2; version <= 4; ++version) {
		unsigned      acked_nr[2 * NR + 2] = {};
		struct speech speech = {};

		end = speech_join(&place, WHO + version, version,
				  M0_SOCK_CONTROL, INCARNATION);
		hdr = speech_hdr(&place, WHO + version, M0_LNET_PUT);
		for (i = 0; i < NR; ++i)
			/* Some in a row, some not. */
			speech_msg(&speech, version == 4,
				   2 + (i < NR / 2 ? i : 2 * i), &hdr);
		speech_say(end, &speech);
		for (left = NR; left > 0;) {
			assert_true(speech_hear(end, &heard, SOON_MS));
			k = m0_sock__frame_acks(&heard.hd_frame, ranges);
			assert_true(k > 0);
			assert_true(
				version > 2 ||
				(k == 1 && heard.hd_frame.sfr_cookie[0] == 0));
			while (k-- > 0)
				for (; ranges[k][0] <= ranges[k][1];
				     ++ranges[k][0], --left) {
					assert_true(ranges[k][0] < 2 * NR + 2);
					++acked_nr[ranges[k][0]];
				}
		}
		for (i = 0; i < NR; ++i)
			assert_int_equal(acked_nr[2 + (i < NR / 2 ? i : 2 * i)],
					 1);
		assert_true(speech_ping(end));
	}
	place_down(&place);
}

/* Cookies far apart, in one breath: what is owed is bounded, and if it is kept
 * it is paid. */
static void cookies_far_apart_are_bounded(void **state)
{
	struct m0_lnet_hdr hdr;
	struct place_end  *end;
	uint64_t           i;

	up(state, NULL);
	end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	place_mute(end, true);
	hdr = speech_hdr(&place, WHO, M0_LNET_PUT);
	for (i = 0; i < 20000 && !end->pe_has_ended; ++i) {
		struct speech speech = {};

		speech_msg(&speech, place_is_ip6(&place), 2 + 1000 * i, &hdr);
		speech_say(end, &speech);
		if (i % 1000 == 0)
			place_ping(&place);
	}
	place_run(&place, 3 * place.pl_cfg.lc_timeout_ms);
	place_mute(end, false);
	place_run(&place, 10);
	place_ping(&place);
	place_down(&place);
}

#define BOTH(test)                                  \
	cmocka_unit_test_prestate(test, &kinds[0]), \
		cmocka_unit_test_prestate(test, &kinds[1])
#define SIM6(test) BOTH(test), cmocka_unit_test_prestate(test, &kinds[2])

int main(void)
{
	static enum place_kind  kinds[] = { PLACE_SIM, PLACE_SOCKETS,
					    PLACE_SIM6 };
	const struct CMUnitTest tests[] = {
		SIM6(cookies_are_acknowledged_once_each),
		BOTH(cookies_in_one_breath_are_all_acknowledged),
		SIM6(cookies_far_apart_are_bounded),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("lnet-hostile-cookie", tests, NULL,
					   NULL);
}

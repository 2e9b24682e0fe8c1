/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pushes that do not come to an end, and one that does. */
#include "lnet/speech.h"

enum {
	WHO = PLACE_WHO_MIN,
	HALVES_NR = 48,
	INFO_BYTES = 272,
	SOON_MS = 1000
};

static struct place place;

static void push_say(struct place_end *end, unsigned who, size_t bytes)
{
	static const uint8_t nothing[INFO_BYTES];
	struct m0_lnet_hdr   hdr = speech_hdr(&place, who, M0_LNET_PUT);
	struct speech        speech = {};

	hdr.lhd_portal = M0_LNET_PORTAL_RESERVED;
	hdr.lhd_match_bits = SPEECH_PING_BITS;
	hdr.lhd_payload_bytes = INFO_BYTES;
	memset(&hdr.lhd_wmd, 0x11, sizeof hdr.lhd_wmd);
	speech_msg(&speech, false, 0, &hdr);
	speech_say(end, &speech);
	place_send(end, nothing, bytes);
}

static bool ack_comes(struct place_end *end)
{
	struct heard heard;

	while (speech_hear(end, &heard, SOON_MS))
		if (heard.hd_frame.sfr_type == M0_SOCK_FRAME_LNET &&
		    heard.hd_hdr.lhd_type == M0_LNET_ACK)
			return true;
	return false;
}

/* Half a push on each of many connections, more than there are places for them:
 * whole ones are taken all the same, again and again. */
static void pushes_cut_short_keep_no_other_out(void **state)
{
	unsigned i;

	place_up(&place, *(enum place_kind *)*state, NULL);
	for (i = 0; i < HALVES_NR; ++i)
		push_say(speech_join(&place, WHO + i, 3, M0_SOCK_CONTROL, 100),
			 WHO + i, 10);
	place_run(&place, 10);
	for (i = 0; i < 3; ++i) {
		struct place_end *end = speech_join(&place, WHO + HALVES_NR + i,
						    3, M0_SOCK_CONTROL, 100);

		push_say(end, WHO + HALVES_NR + i, INFO_BYTES);
		assert_true(ack_comes(end));
	}
	place_ping(&place);
	place_down(&place);
}

int main(void)
{
	static enum place_kind  sim = PLACE_SIM;
	static enum place_kind  sockets = PLACE_SOCKETS;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(pushes_cut_short_keep_no_other_out,
					  &sim),
		cmocka_unit_test_prestate(pushes_cut_short_keep_no_other_out,
					  &sockets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

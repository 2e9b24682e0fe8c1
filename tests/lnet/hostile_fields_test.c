/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every field of what a peer says, out of its range: one change to a whole and
 * harmless word, and what the node does about it. Each in the simulator and on
 * sockets.
 */
#include "lnet/hostile_rows.h"
#include "lnet/speech.h"

enum {
	WHO = PLACE_WHO_MIN,
	SOON_MS = 1000,
	PAYLOAD_BYTES = 16,
	INCARNATION = 77
};

static enum place_kind kind;

static uint32_t word_type(enum word word)
{
	switch (word) {
	case GET:
	case GET_V4:
	case PING:
	case PING_V4:
		return M0_LNET_GET;
	case REPLY:
	case REPLY_V4:
		return M0_LNET_REPLY;
	case ACK:
	case ACK_V4:
		return M0_LNET_ACK;
	default:
		return M0_LNET_PUT;
	}
}

/* The word with its harmless values. */
static void word_make(struct speech *speech, const struct place *place,
		      enum word word)
{
	static const uint8_t payload[PAYLOAD_BYTES] = { 1, 2, 3 };
	struct m0_lnet_hdr   hdr;

	switch (word) {
	case REQUEST:
		speech_request(speech, &place->pl_nid);
		return;
	case REQUEST_LARGE:
		memcpy(speech->sp_bytes,
		       (uint32_t[2]){ M0_SOCK_MAGIC_ACCEPTOR, 2 }, 8);
		m0_lnet_nid_encode(&place->pl_nid, speech->sp_bytes + 8);
		speech->sp_nr = M0_SOCK_REQUEST_V2_BYTES;
		return;
	case HELLO_V1:
	case HELLO_V2:
	case HELLO_V3:
	case HELLO_V4:
	case HELLO_V4_SMALL:
		speech_hello(speech, place, WHO,
			     word == HELLO_V4_SMALL ? 4 : word - HELLO_V1 + 1,
			     M0_SOCK_CONTROL, INCARNATION);
		return;
	case NOOP:
	case NOOP_V2:
	case NOOP_V4:
		speech_noop(speech, 0, 0);
		return;
	default:
		break;
	}
	hdr = speech_hdr(place, WHO, word_type(word));
	if (word == PING || word == PING_V4 || word == PUSH ||
	    word == PUSH_V4) {
		hdr.lhd_portal = 0;
		hdr.lhd_match_bits = SPEECH_PING_BITS;
		hdr.lhd_length = M0_LNET_PING_SINK_BYTES;
	}
	if (hdr.lhd_type == M0_LNET_PUT || hdr.lhd_type == M0_LNET_REPLY)
		hdr.lhd_payload_bytes = PAYLOAD_BYTES;
	speech_msg(speech, word >= NOOP_V4, 0, &hdr);
	memcpy(speech->sp_bytes + speech->sp_nr, payload,
	       hdr.lhd_payload_bytes);
	speech->sp_nr += hdr.lhd_payload_bytes;
}

static void patch_do(struct speech *speech, const struct patch *patch)
{
	unsigned i;

	assert_true(patch->pa_at + patch->pa_nr <= speech->sp_nr);
	for (i = 0; i < patch->pa_nr; ++i)
		speech->sp_bytes[patch->pa_at + i] =
			(uint8_t)(patch->pa_value >> 8 * i);
}

static uint32_t word_version(const struct place *place, enum word word)
{
	uint32_t version = 3;

	if (word == HELLO_V2 || word == NOOP_V2)
		version = 2;
	else if (word == HELLO_V4 || word == HELLO_V4_SMALL || word >= NOOP_V4)
		version = 4;
	return speech_version(place, version);
}

/* Says all of it, the changed word in its place. */
static struct place_end *row_say(struct place *place, const struct row *row)
{
	struct speech     changed = {};
	struct speech     all = {};
	struct place_end *end;
	unsigned          i;

	word_make(&changed, place, row->r_word);
	for (i = 0; i < ARRAY_SIZE(row->r_patch); ++i)
		patch_do(&changed, &row->r_patch[i]);
	if (row->r_word >= NOOP) {
		end = speech_join(place, WHO, word_version(place, row->r_word),
				  M0_SOCK_CONTROL, INCARNATION);
		speech_say(end, &changed);
		return end;
	}
	end = place_dial(place, WHO);
	if (row->r_word <= REQUEST_LARGE) {
		speech_say(end, &changed);
		speech_hello(&all, place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	} else {
		speech_request(&all, &place->pl_nid);
		memcpy(all.sp_bytes + all.sp_nr, changed.sp_bytes,
		       changed.sp_nr);
		all.sp_nr += changed.sp_nr;
		/* An address, should one be promised: it is 0. */
		if (row->r_word < HELLO_V4 && row->r_patch[0].pa_at == H_IPS_NR)
			all.sp_nr += 4;
	}
	speech_say(end, &all);
	return end;
}

static void row_look(struct place *place, const struct row *row,
		     struct place_end *end)
{
	static const uint8_t refusal[M0_SOCK_REQUEST_V1_BYTES] = { 0, 0x71,
								   0xce, 0xac,
								   1 };
	struct m0_sock_hello hello;

	switch (row->r_does) {
	case CLOSES:
		assert_true(place_wait_end(end, SOON_MS));
		assert_int_equal(end->pe_in_nr, end->pe_done);
		break;
	case REFUSES_REQUEST:
		assert_true(place_wait_in(end, sizeof refusal, SOON_MS));
		assert_memory_equal(end->pe_in, refusal, sizeof refusal);
		assert_true(place_wait_end(end, SOON_MS));
		assert_int_equal(end->pe_in_nr, sizeof refusal);
		break;
	case REFUSES_HELLO:
		assert_true(speech_hear_hello(end, &hello, SOON_MS));
		assert_int_equal(hello.sh_ctype, M0_SOCK_NONE);
		assert_int_equal(hello.sh_version, speech_version(place, 3));
		assert_true(m0_lnet_nid_eq(&hello.sh_src_nid, &place->pl_nid));
		assert_true(place_wait_end(end, SOON_MS));
		break;
	case STAYS_UNANSWERED:
		assert_true(speech_hear_hello(end, &hello, SOON_MS));
		place_run(place, 5);
		assert_false(end->pe_has_ended);
		break;
	case STAYS:
		if (row->r_word < NOOP) {
			assert_true(speech_hear_hello(end, &hello, SOON_MS));
			assert_int_equal(hello.sh_version,
					 word_version(place, row->r_word));
			assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
		}
		assert_true(speech_ping(end));
		assert_false(end->pe_has_ended);
		break;
	}
}

static uint64_t counter(const struct place *place, enum counts counts)
{
	struct m0_lnet_stats  stats = place_stats(place);
	struct m0_lnd_ni_info info = place_lnd_info(place);

	switch (counts) {
	case NOTHING:
		return 0;
	case BAD_PEER:
		return info.ldi_bad_peers_nr;
	case REFUSED:
		return info.ldi_refused_nr;
	case PROTO:
		return stats.ls_proto_errors;
	case NO_MATCH:
		return stats.ls_drop_no_match;
	case NOT_OURS:
		return stats.ls_drop_not_ours;
	case STALE:
		return stats.ls_drop_stale;
	}
	return 0;
}

static void row_run(struct place *place, const struct row *row)
{
	uint64_t          before = counter(place, row->r_counts);
	struct place_end *end;

	end = row_say(place, row);
	row_look(place, row, end);
	if (row->r_counts != NOTHING)
		assert_int_equal(counter(place, row->r_counts), before + 1);
	place_reset(end);
	place_ping(place);
	/* The old peer is gone before the next one comes under the same
	 * name. */
	place_run(place, 5);
}

/* Over IPv6 there is nothing but large NIDs and V4. */
static bool is_of_ip6(const struct row *row)
{
	return row->r_word == REQUEST_LARGE || row->r_word == HELLO_V4 ||
	       row->r_word >= NOOP_V4;
}

/* Each row with a fresh connection of the same peer. */
static void field_out_of_range_does_what_the_table_says(void **state)
{
	struct place place;
	unsigned     i;

	kind = *(enum place_kind *)*state;
	place_up(&place, kind, NULL);
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		if (place_is_ip6(&place) && !is_of_ip6(&rows[i]))
			continue;
		print_message("  %s\n", rows[i].r_name);
		row_run(&place, &rows[i]);
	}
	place_down(&place);
}

int main(void)
{
	static enum place_kind kinds[] = { PLACE_SIM, PLACE_SOCKETS, PLACE_SIM6,
					   PLACE_SOCKETS6 };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(
			field_out_of_range_does_what_the_table_says, &kinds[0]),
		cmocka_unit_test_prestate(
			field_out_of_range_does_what_the_table_says, &kinds[1]),
		cmocka_unit_test_prestate(
			field_out_of_range_does_what_the_table_says, &kinds[2]),
		cmocka_unit_test_prestate(
			field_out_of_range_does_what_the_table_says, &kinds[3]),
	};

	return cmocka_run_group_tests_name("lnet-hostile-fields", tests, NULL,
					   NULL);
}

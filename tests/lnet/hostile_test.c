/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Peers that fail or mean harm, each in the simulator and on sockets. In all of
 * it a peer with good manners is answered at once, and in the end nothing of
 * the strange ones is left.
 */
#include <stdlib.h>

#include "base/rand.h"
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

static bool in_sim(void)
{
	return place_is_sim(&place);
}

/* Connections that the node has, the good peer's included. */
static uint64_t conns_nr(void)
{
	return place_lnd_info(&place).ldi_connections_nr;
}

struct conns_want {
	uint64_t cw_nr;
};

static bool conns_are(void *arg)
{
	return conns_nr() == ((struct conns_want *)arg)->cw_nr;
}

static void conns_wait(uint64_t nr, uint64_t ms)
{
	struct conns_want want = { nr };

	assert_true(place_wait(&place, conns_are, &want, ms));
}

/* Somebody looks which ports are open, thousands of times. */
static void scan_of_ports_leaves_nothing(void **state)
{
	unsigned nr;
	uint64_t before;
	unsigned i;

	up(state, NULL);
	before = conns_nr();
	nr = in_sim() ? 3000 : 1000;
	for (i = 0; i < nr; ++i) {
		if (i % 2 == 0)
			place_close(place_dial(&place, WHO + i % 5));
		else
			place_reset(place_dial(&place, WHO + i % 5));
		if (in_sim())
			m0_sim_run_ms(&place.pl_sim, 1);
		if (i % 100 == 0)
			place_ping(&place);
	}
	conns_wait(before, SOON_MS);
	place_down(&place);
}

static void tune_few_accepting(struct m0_lnet_cfg *cfg)
{
	cfg->lc_accepting_max = 20;
}

enum {
	SILENT_NR = 30,
	/* More than tune_few_accepting() lets in. */
	SILENT_OVER = 10
};

static unsigned ended_nr(struct place_end *const *ends)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < SILENT_NR; ++i)
		nr += ends[i]->pe_has_ended;
	return nr;
}

static bool all_over_ended(void *ends)
{
	return ended_nr(ends) >= SILENT_OVER;
}

/* Connections without a word: beyond the bound the oldest is reset, the others
 * when the time to introduce oneself is over; then there is room again. */
static void silent_connections_are_bounded_and_timed(void **state)
{
	struct place_end *ends[SILENT_NR];
	unsigned          i;

	up(state, tune_few_accepting);
	for (i = 0; i < SILENT_NR; ++i)
		ends[i] = place_dial(&place, WHO);
	assert_true(place_wait(&place, all_over_ended, ends, 50));
	if (in_sim()) {
		/* On a busy machine the time of more of them may be over. */
		place_run(&place, 50);
		assert_int_equal(ended_nr(ends), SILENT_OVER);
	}
	for (i = 0; i < SILENT_OVER; ++i)
		assert_true(ends[i]->pe_has_ended);
	place_ping(&place);
	for (i = 0; i < SILENT_NR; ++i) {
		assert_true(place_wait_end(
			ends[i], place.pl_cfg.lc_accept_timeout_ms + 100));
		assert_int_equal(ends[i]->pe_in_nr, 0);
	}
	place_ping(&place);
	assert_true(speech_ping(
		speech_join(&place, WHO + 1, 3, M0_SOCK_CONTROL, INCARNATION)));
	place_down(&place);
}

/* Somebody keeps all the room there is for those who have not introduced
 * themselves, for ever: others get in all the same. */
static void silence_renewed_keeps_nobody_out(void **state)
{
	struct place_end *ends[25];
	unsigned          turn;
	unsigned          i;

	up(state, tune_few_accepting);
	for (i = 0; i < 25; ++i)
		ends[i] = place_dial(&place, WHO);
	for (turn = 0; turn < 20; ++turn) {
		place_run(&place, 5);
		assert_true(
			speech_ping(speech_join(&place, WHO + 1 + turn, 3,
						M0_SOCK_CONTROL, INCARNATION)));
		for (i = 0; i < 25; ++i)
			if (ends[i]->pe_has_ended)
				ends[i] = place_dial(&place, WHO);
	}
	place_ping(&place);
	place_down(&place);
}

/* A byte now and then: the time is for all of it. */
static void hello_slow_is_cut_off(void **state)
{
	struct speech     speech = {};
	struct place_end *end;
	m0_time_t         begin;
	uint64_t          timeout;
	unsigned          i;

	up(state, NULL);
	timeout = place.pl_cfg.lc_accept_timeout_ms;
	speech_request(&speech, &place.pl_nid);
	speech_hello(&speech, &place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	begin = place_now(&place);
	end = place_dial(&place, WHO);
	for (i = 0; i < speech.sp_nr && !end->pe_has_ended; ++i) {
		place_send(end, speech.sp_bytes + i, 1);
		place_run(&place, timeout / 20);
		place_ping(&place);
	}
	assert_true(end->pe_has_ended);
	assert_int_equal(end->pe_in_nr, 0);
	assert_in_range(place_now(&place) - begin, timeout * M0_TIME_ONE_MSEC,
			(timeout + (in_sim() ? 300 : 5000)) * M0_TIME_ONE_MSEC);
	place_down(&place);
}

/* A message of which a part comes, and then nothing. */
static void message_partial_is_timed(void **state)
{
	struct m0_lnet_hdr hdr;
	struct speech      speech = {};
	struct place_end  *end;
	m0_time_t          begin;
	bool               ended;

	up(state, NULL);
	end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	begin = place_now(&place);
	hdr = speech_hdr(&place, WHO, M0_LNET_PUT);
	hdr.lhd_payload_bytes = M0_LNET_PAYLOAD_MAX;
	speech_msg(&speech, place_is_ip6(&place), 0, &hdr);
	speech.sp_nr += 1000;
	speech_say(end, &speech);
	place_run(&place, place.pl_cfg.lc_timeout_ms / 2);
	ended = end->pe_has_ended;
	/* A busy machine may have taken twice as long. */
	assert_true(!ended ||
		    place_now(&place) - begin >=
			    place.pl_cfg.lc_timeout_ms * M0_TIME_ONE_MSEC);
	place_ping(&place);
	assert_true(place_wait_end(end, place.pl_cfg.lc_timeout_ms));
	place_down(&place);
}

/* A peer asks and asks, and reads no answer: what is kept for him is bounded,
 * and after the time-out he is lost. */
static void peer_that_never_reads_is_lost(void **state)
{
	struct m0_lnet_hdr hdr;
	struct speech      speech = {};
	struct place_end  *end;
	unsigned           i;

	up(state, NULL);
	end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	place_mute(end, true);
	hdr = speech_hdr(&place, WHO, M0_LNET_GET);
	hdr.lhd_portal = 0;
	hdr.lhd_match_bits = SPEECH_PING_BITS;
	hdr.lhd_length = M0_LNET_PING_SINK_BYTES;
	while (speech.sp_nr + 120 <= SPEECH_BYTES_MAX)
		speech_msg(&speech, place_is_ip6(&place), 0, &hdr);
	for (i = 0; i < (in_sim() ? 1000 : 4000); ++i) {
		speech_say(end, &speech);
		if (i % 100 == 0) {
			place_run(&place, 1);
			place_ping(&place);
		}
		if (end->pe_has_ended)
			break;
	}
	place_ping(&place);
	place_run(&place, 3 * place.pl_cfg.lc_timeout_ms);
	place_ping(&place);
	place_mute(end, false);
	assert_true(place_wait_end(end, SOON_MS));
	assert_true(place_lnd_info(&place).ldi_lost_nr > 0);
	assert_int_equal(place_stats(&place).ls_msgs_alloc, 0);
	place_down(&place);
}

static void tune_few_msgs(struct m0_lnet_cfg *cfg)
{
	cfg->lc_msgs_max = 64;
}

/* One peer cannot take all messages of a node that has few, and nobody waits
 * for it. */
static void messages_are_not_taken_by_one(void **state)
{
	struct m0_lnet_hdr hdr;
	struct speech      speech = {};
	struct place_end  *end;
	unsigned           i;

	up(state, tune_few_msgs);
	end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	place_mute(end, true);
	hdr = speech_hdr(&place, WHO, M0_LNET_GET);
	hdr.lhd_portal = 0;
	hdr.lhd_match_bits = SPEECH_PING_BITS;
	hdr.lhd_length = M0_LNET_PING_SINK_BYTES;
	while (speech.sp_nr + 120 <= SPEECH_BYTES_MAX)
		speech_msg(&speech, place_is_ip6(&place), 0, &hdr);
	for (i = 0; i < 2000; ++i)
		speech_say(end, &speech);
	place_run(&place, 10);
	for (i = 0; i < 10; ++i)
		place_ping(&place);
	place_run(&place, 3 * place.pl_cfg.lc_timeout_ms);
	assert_int_equal(place_stats(&place).ls_msgs_alloc, 0);
	place_down(&place);
}

/* A HELLO as host WHO of another life; @return its type. */
static uint32_t hello_as(uint64_t incarnation, struct place_end **ret)
{
	struct speech        speech = {};
	struct m0_sock_hello hello = {};

	*ret = place_dial(&place, WHO);
	speech_request(&speech, &place.pl_nid);
	speech_hello(&speech, &place, WHO, 3, M0_SOCK_CONTROL, incarnation);
	speech_say(*ret, &speech);
	assert_true(speech_hear_hello(*ret, &hello, SOON_MS));
	return hello.sh_ctype;
}

/* A new life of a peer: the old connections go, the first new one is told to
 * come again, and the next is welcome. */
static void incarnation_new_drops_old_connections(void **state)
{
	struct place_end *old[3];
	struct place_end *again;
	unsigned          i;

	up(state, NULL);
	for (i = 0; i < 3; ++i)
		old[i] = speech_join(&place, WHO, 3, M0_SOCK_CONTROL + i,
				     INCARNATION);
	assert_true(speech_ping(old[0]));
	assert_int_equal(hello_as(INCARNATION + 1, &again), M0_SOCK_NONE);
	assert_true(place_wait_end(again, SOON_MS));
	for (i = 0; i < 3; ++i)
		assert_true(place_wait_end(old[i], SOON_MS));
	assert_int_equal(hello_as(INCARNATION + 1, &again), M0_SOCK_CONTROL);
	assert_true(speech_ping(again));
	place_ping(&place);
	place_down(&place);
}

/* Two who both say that they are WHO: they push each other out, and that is
 * all. */
static void nid_of_two_makes_them_flap(void **state)
{
	struct place_end *ends[2] = {};
	unsigned          none_nr = 0;
	unsigned          i;

	up(state, NULL);
	for (i = 0; i < 40; ++i) {
		struct place_end **end = &ends[i / 2 % 2];

		if (hello_as(INCARNATION + i / 2 % 2, end) == M0_SOCK_NONE)
			++none_nr;
		else
			assert_true(speech_ping(*end));
		place_ping(&place);
	}
	assert_in_range(none_nr, 15, 20);
	place_down(&place);
}

static void tune_secure(struct m0_lnet_cfg *cfg)
{
	cfg->lc_accept = M0_LNET_ACCEPT_SECURE;
}

/* accept=secure: who comes from a port that anybody can have is not heard. */
static void port_above_1023_is_not_heard(void **state)
{
	struct speech     speech = {};
	struct place_end *end;

	if (*(enum place_kind *)*state == PLACE_SOCKETS) {
		/* Nor is the good peer there, whose port is like that. */
		skip();
	}
	up(state, tune_secure);
	speech_request(&speech, &place.pl_nid);
	speech_hello(&speech, &place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	end = place_dial_from(&place, WHO, 1024);
	speech_say(end, &speech);
	assert_true(place_wait_end(end, SOON_MS));
	assert_int_equal(end->pe_in_nr, 0);
	end = place_dial_from(&place, WHO, 1023);
	speech_say(end, &speech);
	assert_true(place_wait_in(end, 1, SOON_MS));
	place_down(&place);
}

/* A peer that claims a NID of the node itself is refused. */
static void nid_of_the_node_is_not_for_others(void **state)
{
	struct speech        speech = {};
	struct place_end    *end;
	struct m0_sock_hello hello = {
		.sh_src_pid = M0_LNET_PID_LUSTRE,
		.sh_src_incarnation = INCARNATION,
		.sh_ctype = M0_SOCK_CONTROL,
	};

	up(state, NULL);
	hello.sh_version = speech_version(&place, 3);
	hello.sh_src_nid = hello.sh_dst_nid = place.pl_nid;
	speech_request(&speech, &place.pl_nid);
	speech.sp_nr +=
		m0_sock__hello_encode(&hello, speech.sp_bytes + speech.sp_nr);
	end = place_dial(&place, WHO);
	speech_say(end, &speech);
	assert_true(place_wait_end(end, SOON_MS));
	assert_int_equal(end->pe_in_nr, 0);
	place_down(&place);
}

/* A peer that is silent is sent a sign of life now and then, where bulk comes to
 * the node, and not more than that. */
static void silent_peer_is_sent_few_signs_of_life(void **state)
{
	struct place_end *control;
	struct place_end *bulk;
	struct heard      heard;
	unsigned          nr = 0;

	if (*(enum place_kind *)*state == PLACE_SOCKETS)
		skip();
	up(state, NULL);
	control = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	bulk = speech_join(&place, WHO, 3, M0_SOCK_BULK_OUT, INCARNATION);
	place_run(&place, 10 * place.pl_cfg.lc_keepalive_ms + 1000);
	while (speech_hear(bulk, &heard, 10)) {
		assert_int_equal(heard.hd_frame.sfr_type, M0_SOCK_FRAME_NOOP);
		assert_true(heard.hd_frame.sfr_cookie[0] == 0 &&
			    heard.hd_frame.sfr_cookie[1] == 1);
		++nr;
	}
	/* Each 30 s at the least, each 10 s at the most. */
	assert_in_range(nr, 9, 30);
	assert_false(speech_hear(control, &heard, 10));
	assert_true(speech_ping(control));
	place_down(&place);
}

static void swap(uint8_t *bytes, size_t nr)
{
	size_t  i;
	uint8_t byte;

	for (i = 0; i < nr / 2; ++i) {
		byte = bytes[i];
		bytes[i] = bytes[nr - 1 - i];
		bytes[nr - 1 - i] = byte;
	}
}

/* A peer of the other byte order: only what is LNet's own is little endian. */
static void peer_of_other_byte_order_is_served(void **state)
{
	struct speech        speech = {};
	struct m0_sock_hello hello;
	struct m0_lnet_hdr   hdr;
	struct place_end    *end;
	struct heard         heard;
	uint8_t             *at;

	up(state, NULL);
	end = place_dial(&place, WHO);
	speech_request(&speech, &place.pl_nid);
	at = speech.sp_bytes;
	swap(at, 4);
	swap(at + 4, 4);
	swap(at + 8, 8);
	at += speech.sp_nr;
	speech_hello(&speech, &place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	swap(at, 4);
	swap(at + 4, 4);
	swap(at + 8, 8);
	swap(at + 16, 8);
	swap(at + 24, 4);
	swap(at + 32, 8);
	swap(at + 48, 4);
	at = speech.sp_bytes + speech.sp_nr;
	hdr = speech_hdr(&place, WHO, M0_LNET_GET);
	hdr.lhd_portal = 0;
	hdr.lhd_match_bits = SPEECH_PING_BITS;
	hdr.lhd_length = M0_LNET_PING_SINK_BYTES;
	speech_msg(&speech, place_is_ip6(&place), 0, &hdr);
	swap(at, 4);
	speech_say(end, &speech);
	assert_true(speech_hear_hello(end, &hello, SOON_MS));
	assert_int_equal(hello.sh_ctype, M0_SOCK_CONTROL);
	assert_true(speech_hear(end, &heard, SOON_MS));
	assert_int_equal(heard.hd_hdr.lhd_type, M0_LNET_REPLY);
	assert_true(
		m0_lnet_nid_eq(&heard.hd_hdr.lhd_dest_nid, &hdr.lhd_src_nid));
	place_down(&place);
}

/* Bytes without any sense, at each stage of a connection. */
static void garbage_closes_and_no_more(void **state)
{
	struct m0_rand    rand;
	struct place_end *end;
	uint8_t           bytes[3000];
	unsigned          i;

	up(state, NULL);
	m0_rand_init(&rand, m0_sim_seed_get(11));
	for (i = 0; i < 300; ++i) {
		struct speech speech = {};

		m0_rand_fill(&rand, bytes, sizeof bytes);
		if (i % 3 == 0) {
			end = place_dial(&place, WHO);
		} else if (i % 3 == 1) {
			end = place_dial(&place, WHO);
			speech_request(&speech, &place.pl_nid);
			speech_say(end, &speech);
		} else {
			end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL,
					  INCARNATION);
		}
		place_send(end, bytes, m0_rand_in(&rand, 8, sizeof bytes));
		assert_true(place_wait_end(end, SOON_MS));
		place_reset(end);
		if (i % 20 == 0)
			place_ping(&place);
		place_run(&place, 2);
	}
	place_down(&place);
}

/* Whole messages in which some bits are wrong: whatever they are taken for, the
 * node goes on. */
static void messages_mutated_do_no_harm(void **state)
{
	struct m0_rand    rand;
	struct place_end *end = NULL;
	unsigned          i;
	unsigned          k;

	up(state, NULL);
	m0_rand_init(&rand, m0_sim_seed_get(12));
	for (i = 0; i < (in_sim() ? 2000 : 500); ++i) {
		struct speech      speech = {};
		struct m0_lnet_hdr hdr;
		uint32_t           type = (uint32_t)m0_rand_below(&rand, 4);

		if (end == NULL || end->pe_has_ended) {
			if (end != NULL)
				place_reset(end);
			place_run(&place, 2);
			end = speech_join(&place, WHO, 3 + i % 2,
					  M0_SOCK_CONTROL, INCARNATION);
		}
		hdr = speech_hdr(&place, WHO, type);
		if (m0_rand_below(&rand, 2) == 0) {
			hdr.lhd_portal = 0;
			hdr.lhd_match_bits = SPEECH_PING_BITS;
		}
		hdr.lhd_payload_bytes =
			M0_IN(type, (M0_LNET_PUT, M0_LNET_REPLY)) ? 64 : 0;
		speech_msg(&speech, end->pe_version == 4, 0, &hdr);
		m0_rand_fill(&rand, speech.sp_bytes + speech.sp_nr,
			     hdr.lhd_payload_bytes);
		speech.sp_nr += hdr.lhd_payload_bytes;
		for (k = 0; k < 1 + i % 3; ++k)
			speech.sp_bytes[m0_rand_below(&rand, speech.sp_nr)] ^=
				(uint8_t)(1 << m0_rand_below(&rand, 8));
		speech_say(end, &speech);
		place_run(&place, 1);
		if (i % 50 == 0)
			place_ping(&place);
	}
	place_down(&place);
}

static void tune_few_conns(struct m0_lnet_cfg *cfg)
{
	cfg->lc_conns_max = 40;
	cfg->lc_peers_max = 30;
}

/* More peers and connections than the node wants: those it has work on. */
static void flood_stops_at_the_bounds(void **state)
{
	struct speech        speech;
	struct m0_sock_hello hello;
	struct place_end    *end;
	unsigned             welcome_nr = 0;
	unsigned             i;

	up(state, tune_few_conns);
	for (i = 0; i < 120; ++i) {
		unsigned who = WHO + i % 50;

		end = place_dial(&place, who);
		speech = (struct speech){};
		speech_request(&speech, &place.pl_nid);
		speech_hello(&speech, &place, who, 3, M0_SOCK_CONTROL,
			     INCARNATION);
		speech_say(end, &speech);
		if (speech_hear_hello(end, &hello, SOON_MS) &&
		    hello.sh_ctype == M0_SOCK_CONTROL)
			++welcome_nr;
		else
			assert_true(place_wait_end(end, SOON_MS));
		if (i % 10 == 0)
			place_ping(&place);
	}
	assert_in_range(welcome_nr, 20, 40);
	assert_true(conns_nr() <= 40);
	place_down(&place);
}

static void tune_shares(struct m0_lnet_cfg *cfg)
{
	cfg->lc_conns_max = 200;
}

/* As many connections as there may be, all of one address: others get in. */
static void address_keeps_nobody_out(void **state)
{
	unsigned i;

	up(state, tune_shares);
	for (i = 0; i < 250; ++i) {
		(void)place_dial(&place, WHO);
		place_run(&place, i % 20 == 0);
	}
	for (i = 1; i < 10; ++i)
		assert_true(speech_ping(speech_join(
			&place, WHO + i, 3, M0_SOCK_CONTROL, INCARNATION)));
	place_down(&place);
}

/* Somebody asks in the names of others, who are not there: whom the node calls to
 * answer them does not take the places of those who come. */
static void answers_to_nobody_keep_nobody_out(void **state)
{
	struct place_end  *end;
	struct m0_lnet_hdr hdr;
	struct speech      speech;
	uint32_t           i;

	up(state, tune_shares);
	end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL, INCARNATION);
	hdr = speech_hdr(&place, WHO, M0_LNET_GET);
	hdr.lhd_portal = 0;
	hdr.lhd_match_bits = SPEECH_PING_BITS;
	hdr.lhd_length = 272;
	for (i = 0; i < 400; ++i) {
		memcpy(hdr.lhd_src_nid.ln_addr + 2, &i, 2);
		hdr.lhd_src_nid.ln_addr[1] = 77;
		speech = (struct speech){};
		speech_msg(&speech, false, 0, &hdr);
		speech_say(end, &speech);
		place_run(&place, i % 20 == 0);
	}
	for (i = 1; i < 10; ++i)
		assert_true(speech_ping(speech_join(
			&place, WHO + i, 3, M0_SOCK_CONTROL, INCARNATION)));
	place_ping(&place);
	place_down(&place);
}

/* One peer that makes connections of one type without end. */
static void connections_of_one_peer_are_bounded(void **state)
{
	struct speech        speech;
	struct m0_sock_hello hello;
	struct place_end    *end;
	unsigned             welcome_nr = 0;
	unsigned             i;

	up(state, NULL);
	for (i = 0; i < 60; ++i) {
		end = place_dial(&place, WHO);
		speech = (struct speech){};
		speech_request(&speech, &place.pl_nid);
		speech_hello(&speech, &place, WHO, 3, M0_SOCK_BULK_IN,
			     INCARNATION);
		speech_say(end, &speech);
		assert_true(speech_hear_hello(end, &hello, SOON_MS));
		if (hello.sh_ctype == M0_SOCK_BULK_OUT) {
			++welcome_nr;
		} else {
			assert_int_equal(hello.sh_ctype, M0_SOCK_NONE);
			assert_true(place_wait_end(end, SOON_MS));
		}
	}
	assert_in_range(welcome_nr, 1, 20);
	place_ping(&place);
	place_down(&place);
}

/* The peer dies while we send to it a reply, and while it sends to us. */
static void resets_in_the_middle_leave_nothing(void **state)
{
	struct m0_lnet_hdr hdr;
	struct place_end  *end;
	uint64_t           before;
	unsigned           i;

	up(state, NULL);
	before = conns_nr();
	for (i = 0; i < 100; ++i) {
		struct speech speech = {};

		end = speech_join(&place, WHO, 3, M0_SOCK_CONTROL + i % 3,
				  INCARNATION);
		hdr = speech_hdr(&place, WHO,
				 i % 2 == 0 ? M0_LNET_PUT : M0_LNET_GET);
		hdr.lhd_portal = 0;
		hdr.lhd_match_bits = SPEECH_PING_BITS;
		hdr.lhd_payload_bytes = i % 2 == 0 ? 5000 : 0;
		speech_msg(&speech, place_is_ip6(&place),
			   i % 4 == 0 ? 2 + i : 0, &hdr);
		speech.sp_nr += i * 10;
		place_send(end, speech.sp_bytes,
			   i % 5 == 0 ? speech.sp_nr - 30 : speech.sp_nr);
		if (i % 3 == 0)
			place_run(&place, 1);
		place_reset(end);
		place_run(&place, 2);
	}
	conns_wait(before, 1000);
	assert_int_equal(place_stats(&place).ls_msgs_alloc, 0);
	place_down(&place);
}

#define BOTH(test)                                  \
	cmocka_unit_test_prestate(test, &kinds[0]), \
		cmocka_unit_test_prestate(test, &kinds[1])
/* By IPv6, too: in the simulator, and also on sockets. */
#define SIM6(test) BOTH(test), cmocka_unit_test_prestate(test, &kinds[2])
#define ALL(test)  SIM6(test), cmocka_unit_test_prestate(test, &kinds[3])

int main(void)
{
	static enum place_kind kinds[] = { PLACE_SIM, PLACE_SOCKETS, PLACE_SIM6,
					   PLACE_SOCKETS6 };
	const struct CMUnitTest tests[] = {
		BOTH(scan_of_ports_leaves_nothing),
		ALL(silent_connections_are_bounded_and_timed),
		SIM6(silence_renewed_keeps_nobody_out),
		ALL(hello_slow_is_cut_off),
		ALL(message_partial_is_timed),
		ALL(peer_that_never_reads_is_lost),
		SIM6(messages_are_not_taken_by_one),
		ALL(incarnation_new_drops_old_connections),
		SIM6(nid_of_two_makes_them_flap),
		SIM6(port_above_1023_is_not_heard),
		SIM6(nid_of_the_node_is_not_for_others),
		SIM6(silent_peer_is_sent_few_signs_of_life),
		BOTH(peer_of_other_byte_order_is_served),
		ALL(garbage_closes_and_no_more),
		SIM6(messages_mutated_do_no_harm),
		SIM6(flood_stops_at_the_bounds),
		SIM6(address_keeps_nobody_out),
		BOTH(answers_to_nobody_keep_nobody_out),
		SIM6(connections_of_one_peer_are_bounded),
		SIM6(resets_in_the_middle_leave_nothing),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("lnet-hostile", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A peer that says anything at all: good dialogues with bytes changed, dropped
 * and doubled, on several connections at once, while messages go the other way,
 * are cancelled, and time passes. Nothing may crash (run it under a sanitizer),
 * every message must end once, and nothing may be left.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rig.h"

enum {
	/** M0_FUZZ_ROUNDS in the environment: another number. */
	ROUNDS = 3000,
	ROUND_BYTES = 8192,
	TXS = 8
};

static struct rig     rig;
static struct rig_tx  txs[TXS];
static bool           busy[TXS];
static uint8_t        payload[4096];
static struct m0_rand rnd;
/** Counts of events, to show that the fuzzing reaches the driver. */
static unsigned heard;
static unsigned lost;

static unsigned guessed_right;
static unsigned guessed_wrong;
/** Sizes of payloads. */
static const uint32_t sizes[] = { 0, 1, 64, 500, 1500 };

/** A good dialogue of one connection. */
static size_t dialogue(uint8_t *buf, uint32_t version)
{
	bool     large = version == M0_SOCK_V4;
	size_t   nr = rig_put_request(buf, &rig_a);
	unsigned i;

	nr += rig_put_hello(buf + nr, version,
			    m0_rand_chance(&rnd, 800) ? &rig_b : &rig_low,
			    m0_rand_chance(&rnd, 950) ? 1 : 2,
			    (uint32_t)m0_rand_below(&rnd, 4));
	for (i = (unsigned)m0_rand_below(&rnd, 6); i > 0; --i) {
		uint32_t size = sizes[m0_rand_below(&rnd, ARRAY_SIZE(sizes))];

		if (m0_rand_chance(&rnd, 300))
			nr += rig_put_frame(buf + nr, M0_SOCK_FRAME_NOOP, 0,
					    version > M0_SOCK_V2);
		nr += rig_put_message(
			buf + nr, large,
			m0_rand_chance(&rnd, 300) ? m0_rand_in(&rnd, 2, 20) : 0,
			size);
		memset(buf + nr, 0x77, size);
		nr += size;
	}
	return nr;
}

/** Spoils it. @return bytes. */
static size_t mutate(uint8_t *buf, size_t nr)
{
	unsigned i;

	for (i = (unsigned)m0_rand_below(&rnd, 4); i > 0; --i) {
		size_t   at = (size_t)m0_rand_below(&rnd, nr);
		size_t   len = (size_t)m0_rand_in(&rnd, 1, 16);
		uint32_t word = (uint32_t)m0_rand_next(&rnd);

		if (m0_rand_chance(&rnd, 500))
			at = (size_t)m0_rand_below(&rnd, min64u(nr, 170));
		if (at + len > nr)
			len = nr - at;
		switch (m0_rand_below(&rnd, 6)) {
		case 0:
			buf[at] ^= (uint8_t)(1u << m0_rand_below(&rnd, 8));
			break;
		case 1:
			buf[at] = m0_rand_chance(&rnd, 500) ? 0xff : 0;
			break;
		case 2:
			if (at + 4 <= nr)
				memcpy(buf + (at & ~(size_t)3), &word, 4);
			break;
		case 3:
			memmove(buf + at, buf + at + len, nr - at - len);
			nr -= len;
			break;
		case 4:
			memmove(buf + at + len, buf + at, nr - at);
			nr += len;
			break;
		default:
			nr = at;
		}
		if (nr == 0)
			break;
	}
	return nr;
}

static void tx_free(struct rig *unused, struct rig_tx *tx)
{
	(void)unused;
	busy[tx - txs] = false;
}

static void tx_some(void)
{
	unsigned i = (unsigned)m0_rand_below(&rnd, TXS);

	if (busy[i]) {
		if (m0_rand_chance(&rnd, 300))
			rig.rg_lnd->ld_ops->ldo_tx_cancel(&rig.rg_ni,
							  &txs[i].rt_tx);
		return;
	}
	busy[i] = true;
	rig_tx_init(&txs[i], payload,
		    (size_t)m0_rand_below(&rnd, sizeof payload), 1);
	txs[i].rt_no_header = m0_rand_chance(&rnd, 20);
	txs[i].rt_tx.ltx_deadline = rig.rg_now +
				    m0_rand_below(&rnd, RIG_SECONDS(100));
	if (m0_rand_chance(&rnd, 200))
		txs[i].rt_tx.ltx_nid = rig_low;
	rig_xmit(&rig, &txs[i]);
}

/** A dial of ours is answered, refused, or fails. */
static void dial_some(uint8_t *buf)
{
	struct rig_stream *ours = rig_dial(&rig);
	size_t             nr;

	if (ours == NULL || m0_rand_chance(&rnd, 500))
		return;
	ours->rs_dialling = false;
	if (m0_rand_chance(&rnd, 300)) {
		ours->rs_hung = true;
		rig.rg_io.sts_up->stu_broken(ours->rs_conn, -ECONNREFUSED);
		return;
	}
	rig.rg_io.sts_up->stu_dialled(ours->rs_conn, &ours->rs_from);
	nr = dialogue(buf, M0_SOCK_V3) - 16;
	memmove(buf, buf + 16, nr);
	if (m0_rand_chance(&rnd, 200))
		memset(buf + 48, 0xff, 4);
	else
		buf[48] = (uint8_t)m0_rand_in(&rnd, 1, 3);
	nr = mutate(buf, nr);
	if (nr > 0)
		(void)rig_feed(&rig, ours, buf, nr);
}

/** Draws how the engine handles the next messages. */
static void engine_some(void)
{
	rig.rg_begin_rc = m0_rand_chance(&rnd, 100) ? -EAGAIN : 0;
	rig.rg_want = (size_t)m0_rand_below(&rnd, 2000);
	rig.rg_seg_bytes = (size_t)m0_rand_in(&rnd, 1, 300);
	rig.rg_guess_bytes = sizes[m0_rand_below(&rnd, ARRAY_SIZE(sizes))];
	rig.rg_cancel_at_begin = m0_rand_chance(&rnd, 100);
	rig.rg_mode = (enum rig_mode)m0_rand_below(&rnd, 3);
	rig.rg_piece = m0_rand_chance(&rnd, 500) ? SIZE_MAX : 0;
	if (m0_rand_chance(&rnd, 20))
		rig.rg_lnd->ld_ops->ldo_peer_drop(&rig.rg_ni, NULL);
	if (m0_rand_chance(&rnd, 100) && rig.rg_rx != NULL)
		rig.rg_rx->lr_cancelled = true;
}

static void streams_some(void)
{
	unsigned i;

	for (i = 0; i < rig.rg_streams_nr; ++i) {
		struct rig_stream *stream = &rig.rg_streams[i];

		if (stream->rs_hung || stream->rs_dialling)
			continue;
		stream->rs_passes = m0_rand_chance(&rnd, 300);
		stream->rs_room = m0_rand_chance(&rnd, 300)
					  ? m0_rand_below(&rnd, 500)
					  : SIZE_MAX;
		stream->rs_unsent = m0_rand_chance(&rnd, 900) ? 0 : 5;
		stream->rs_out = true;
		if (m0_rand_chance(&rnd, 50)) {
			stream->rs_hung = true;
			rig.rg_io.sts_up->stu_broken(
				stream->rs_conn,
				m0_rand_chance(&rnd, 500) ? 0 : -EPIPE);
		}
	}
}

static void round_run(void)
{
	static uint8_t     buf[2 * ROUND_BYTES];
	struct rig_stream *his = rig_connect(&rig, "10.0.0.2", 1023);
	size_t             nr = dialogue(buf, (uint32_t)m0_rand_in(&rnd, 1, 4));

	nr = m0_rand_chance(&rnd, 900) ? mutate(buf, nr) : nr;
	engine_some();
	if (his != NULL && nr > 0)
		(void)rig_feed(&rig, his, buf, nr);
	dial_some(buf);
	tx_some();
	streams_some();
	if (m0_rand_chance(&rnd, 300))
		rig_pass(&rig, m0_rand_below(&rnd, RIG_SECONDS(20)));
	else
		rig_run(&rig);
}

static void life(uint64_t seed)
{
	unsigned i;

	m0_rand_init(&rnd, seed);
	rig_cfg(&rig);
	rig.rg_cfg.soc_acks_max = 8;
	rig.rg_cfg.soc_net.son_conns_per_peer = 2;
	rig_start(&rig, &rig_a);
	rig.rg_on_tx_done = tx_free;
	memset(busy, 0, sizeof busy);
	for (i = 0; i < 40; ++i)
		round_run();
	heard += rig.rg_msgs_nr;
	lost += rig.rg_downs_nr;
	guessed_right += rig.rg_guess_right_nr;
	guessed_wrong += rig.rg_guess_wrong_nr;
	rig_fini(&rig);
	for (i = 0; i < TXS; ++i)
		assert_true(!busy[i] || txs[i].rt_done == 1);
}

static void bytes_mutated_never_crash(void **state)
{
	const char *text = getenv("M0_FUZZ_ROUNDS");
	unsigned    rounds = text == NULL ? ROUNDS
					  : (unsigned)strtoul(text, NULL, 10);
	unsigned    i;

	(void)state;
	for (i = 0; i < rounds / 40; ++i)
		life(i);
	print_message("%u messages, %u losses of peers\n", heard, lost);
	print_message("%u guesses right, %u wrong\n", guessed_right,
		      guessed_wrong);
	assert_true(guessed_right > 0 && guessed_wrong > 0);
	assert_true(heard > rounds / 4 && lost > rounds / 100);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(bytes_mutated_never_crash),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A node, its application and a hostile stranger do everything in any order, by
 * a seed: each MD ends in one event and nothing is left over. STRANGER_SEED runs
 * one seed.
 */
#include "unit/lnet/story.h"

enum {
	SEEDS_NR = 60,
	STEPS_NR = 400,
	MES_MAX = 24,
	MDS_MAX = 24,
	RXS_MAX = 8
};

struct rx_slot {
	struct m0_lnd_rx rs_rx;
	bool             rs_used;
};

static uint64_t           seed;
static struct m0_lnet_me *mes[MES_MAX];
/*
 * MDs that have not ended, and their handles; the memory belongs to the pair.
 */
static struct m0_lnet_md *mds[MDS_MAX];
static uint32_t           gens[MDS_MAX];
static struct rx_slot     rxs[RXS_MAX];
static unsigned           made_nr;
static unsigned           ended_nr;
static unsigned           looked_nr;

static unsigned rnd(unsigned max)
{
	return (unsigned)m0_rnd(max, &seed);
}

static enum pair_act any_act(struct pair *p, struct pair_frame *frame)
{
	static const enum pair_act acts[] = { PAIR_HOLD, PAIR_DROP, PAIR_FAIL,
					      PAIR_SLOW };
	unsigned                   i = rnd(8);

	(void)p;
	(void)frame;
	return i < ARRAY_SIZE(acts) ? acts[i] : PAIR_PASS;
}

/* Forgets what has ended: the pair has freed it. */
static void ends_look(void)
{
	const struct m0_lnet_event *ev;
	unsigned                    i;

	for (; looked_nr < one->pno_events_nr; ++looked_nr) {
		ev = &one->pno_events[looked_nr];
		if (!ev->ev_unlinked)
			continue;
		for (i = 0; i < MDS_MAX; ++i)
			if (mds[i] != NULL && gens[i] == ev->ev_md.lh_gen)
				break;
		/* Never twice. */
		assert_true(i < MDS_MAX);
		mds[i] = NULL;
		++ended_nr;
	}
}

static unsigned free_md(void)
{
	unsigned i;

	for (i = 0; i < MDS_MAX && mds[i] != NULL; ++i)
		;
	return i;
}

static void md_keep(unsigned i, struct m0_lnet_md *md)
{
	mds[i] = md;
	gens[i] = md->md_handle.lh_gen;
	++made_nr;
}

static void step_me(void)
{
	unsigned i = rnd(MES_MAX);

	if (mes[i] == NULL) {
		mes[i] = pair_me(one, PORTAL, rnd(4), rnd(3) == 0 ? rnd(4) : 0,
				 rnd(2) * M0_LNET_ME_BEFORE);
	} else if (rnd(3) == 0) {
		m0_lnet_engine_me_unlink(one->pno_engine, mes[i]);
		mes[i] = NULL;
	}
}

static void step_attach(void)
{
	static const unsigned options[] = {
		0,
		M0_LNET_MD_TRUNCATE,
		M0_LNET_MD_MANAGE_REMOTE,
		M0_LNET_MD_MANAGE_REMOTE | M0_LNET_MD_TRUNCATE,
		M0_LNET_MD_MAX_SIZE,
		M0_LNET_MD_MAX_SIZE | M0_LNET_MD_MANAGE_REMOTE,
		M0_LNET_MD_ACK_DISABLE,
	};
	unsigned           i = free_md();
	unsigned           bytes = 1 + rnd(300);
	struct m0_lnet_md *md;

	if (i == MDS_MAX)
		return;
	md = pair_md_attach(one, mes[rnd(MES_MAX)], bytes_in, bytes,
			    rnd(4) == 0 ? -1 : 1 + (int)rnd(3),
			    1 + rnd(3) + options[rnd(ARRAY_SIZE(options))],
			    rnd(2) == 0);
	md->md_attr.mda_max_size = rnd(bytes + 1);
	md_keep(i, md);
}

static void step_bind(void)
{
	unsigned i = free_md();

	if (i < MDS_MAX)
		md_keep(i, pair_md_bind(one, bytes_in, 1 + rnd(300),
					rnd(3) == 0 ? -1 : 1 + (int)rnd(4),
					rnd(2) * M0_LNET_MD_TRUNCATE));
}

static void step_op(void)
{
	struct m0_lnet_md *md = mds[rnd(MDS_MAX)];
	const char        *dst = rnd(2) == 0 ? "10.0.0.2@tcp" : "0@lo";

	if (md == NULL || (md->md_attr.mda_options &
			   (M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET)) != 0)
		return;
	if (rnd(2) == 0)
		pair_put(one, md, dst, PORTAL, rnd(4), rnd(2) == 0);
	else
		pair_get(one, md, dst, PORTAL, rnd(4));
}

static void step_unlink(void)
{
	struct m0_lnet_md *md = mds[rnd(MDS_MAX)];

	if (md != NULL)
		m0_lnet_engine_md_unlink(one->pno_engine, md);
}

/* The stranger: sense and nonsense, with cookies that he has seen. */
static void step_rx(void)
{
	struct rx_slot    *slot = &rxs[rnd(RXS_MAX)];
	struct m0_lnet_hdr hdr = hdr_of(rnd(4), rnd(4) == 0 ? 0 : rnd(400));
	unsigned           nr = pair->pai_frames_nr;

	if (slot->rs_used) {
		rx_done(&slot->rs_rx, rnd(4) == 0 ? -ECONNRESET : 0);
		slot->rs_used = false;
		return;
	}
	hdr.lhd_match_bits = rnd(4);
	hdr.lhd_offset = rnd(rnd(3) == 0 ? 0xffffffff : 300);
	hdr.lhd_length = rnd(rnd(3) == 0 ? 0xffffffff : 300);
	hdr.lhd_portal = rnd(20) == 0 ? rnd(100) : PORTAL;
	if (nr > 0 && rnd(4) != 0)
		hdr.lhd_wmd = pair->pai_frames[nr - 1 - rnd(min_check(nr, 8u))]
				      .pfr_hdr.lhd_wmd;
	slot->rs_used = rx_begin(&slot->rs_rx, &hdr) == 0;
}

static void step_other(void)
{
	switch (rnd(6)) {
	case 0:
		pair_release(pair);
		break;
	case 1:
		one->pno_rx_hold = !one->pno_rx_hold;
		break;
	case 2:
		one->pno_keep = !one->pno_keep;
		break;
	case 3:
		m0_lnet_engine_lazy_set(one->pno_engine, PORTAL, rnd(2) == 0);
		break;
	case 4:
		one->pno_eq_full = rnd(3) == 0;
		break;
	default:
		if (pair->pai_frames_nr > PAIR_FRAMES_MAX / 2)
			pair->pai_frames_nr = 0;
		pair_run(pair, rnd(100000));
	}
}

static void steps_take(void)
{
	static void (*const steps[])(void) = {
		step_me, step_attach, step_attach, step_bind,
		step_op, step_op,     step_op,     step_unlink,
		step_rx, step_rx,     step_rx,     step_other,
	};
	unsigned i;

	for (i = 0; i < STEPS_NR; ++i) {
		steps[rnd(ARRAY_SIZE(steps))]();
		if (rnd(3) == 0)
			pair_settle(pair);
		ends_look();
	}
}

static void all_ends(void)
{
	unsigned i;

	for (i = 0; i < RXS_MAX; ++i)
		if (rxs[i].rs_used)
			rx_done(&rxs[i].rs_rx, 0);
	M0_SET_ARR0(rxs);
	pair->pai_hook = NULL;
	one->pno_keep = false;
	one->pno_rx_hold = false;
	pair_release(pair);
	m0_lnet_engine_shutdown(one->pno_engine, pair->pai_now);
	pair_settle(pair);
	ends_look();
	assert_true(m0_lnet_engine_is_quiet(one->pno_engine));
	assert_int_equal(made_nr, ended_nr);
	assert_int_equal(m0_hash_nr(&one->pno_engine->le_waiting), 0);
}

static void anything_in_any_order_ends_once(void **state)
{
	const char *only = getenv("STRANGER_SEED");
	uint64_t    from = only == NULL ? 1 : strtoull(only, NULL, 0);
	uint64_t    to = only == NULL ? from + SEEDS_NR : from + 1;

	(void)state;
	m0_log_set(panics_no_log, NULL);
	for (; from < to; ++from) {
		print_message("seed %u\n", (unsigned)from);
		seed = from * 7919;
		M0_SET_ARR0(mes);
		M0_SET_ARR0(mds);
		made_nr = 0;
		ended_nr = 0;
		looked_nr = 0;
		(void)story_begin(NULL);
		(void)sink(two, 0, -1, M0_LNET_MD_OP_GET | M0_LNET_MD_TRUNCATE);
		(void)sink(two, 2, -1, M0_LNET_MD_OP_GET | M0_LNET_MD_TRUNCATE);
		pair->pai_hook = any_act;
		steps_take();
		all_ends();
		(void)story_end(NULL);
	}
	m0_log_set(NULL, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(anything_in_any_order_ends_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

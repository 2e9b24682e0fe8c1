/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * All that can happen to a few nodes, in any order, from a seed: each operation
 * and each probe completes exactly once, credits come back, and nothing is left.
 * LNET_STORM_SEED runs one seed, LNET_STORM_NR another number of them.
 */
#include "unit/lnet/story.h"

#include "base/rand.h"

enum {
	NODES = 4,
	STEPS = 250,
#ifdef __KERNEL__
	/* An emulated machine is slow, and processes do all of it. */
	SEEDS = 20,
#else
	SEEDS = 200,
#endif
	OPS_MAX = 4000,
	MDS_MAX = 64,
	PROBES_MAX = 64
};

static const char *const nids[NODES][3] = {
	{ "10.0.0.1@tcp", "10.1.0.1@tcp1", "fd77::1@tcp" },
	{ "10.0.0.2@tcp", "10.1.0.2@tcp1", "fd77::2@tcp" },
	{ "10.0.0.3@tcp", "fd77::3@tcp", "10.0.0.103@tcp" },
	{ "10.0.0.4@tcp", "10.0.0.104@tcp", "10.2.0.4@tcp2" },
};

struct op {
	unsigned op_node;
	bool     op_answered;
	unsigned op_sent_nr;
	unsigned op_answers_nr;
	int      op_status;
	/** SEND ended an MD that was unlinked: its status is that end's. */
	bool op_cut;
};

static struct m0_rand       dice;
static struct op            ops[OPS_MAX];
static unsigned             ops_nr;
static struct m0_lnet_md   *mds[NODES][MDS_MAX];
static void                *mda_user[NODES][MDS_MAX];
static unsigned             events_seen[NODES];
static struct m0_lnet_probe probes[PROBES_MAX];
static unsigned             probe_node[PROBES_MAX];
static unsigned             probe_done_nr[PROBES_MAX];
static unsigned             probes_nr;
static unsigned             mood;
static uint64_t             seed;

static unsigned below(unsigned max)
{
	return (unsigned)m0_rand_below(&dice, max);
}

static enum pair_act weather(struct pair *p, struct pair_frame *frame)
{
	static const int status[] = { -ECONNRESET, -ETIMEDOUT, -EHOSTUNREACH,
				      -ECONNREFUSED };
	unsigned         luck = below(100);

	(void)p;
	if (luck >= mood)
		return PAIR_PASS;
	switch (luck % 4) {
	case 0:
		return PAIR_HOLD;
	case 1:
		return PAIR_DROP;
	case 2:
		return PAIR_SLOW;
	default:
		frame->pfr_status = status[below(4)];
		frame->pfr_health = (enum m0_lnd_health)(1 + below(10));
		return PAIR_FAIL;
	}
}

static struct m0_lnet_engine_cfg cfg_random(void)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	cfg.lec_discovery = below(4) != 0;
	cfg.lec_peers_max = 1 + below(12);
	cfg.lec_credits = 1 + below(12);
	cfg.lec_peer_credits = 1 + below(8);
	cfg.lec_transaction_timeout_ns = (1 + below(100)) * M0_TIME_ONE_SECOND;
	return cfg;
}

/** Handles the events since the last call. */
static void look(unsigned n)
{
	struct pair_node           *node = &pair->pai_node[n];
	const struct m0_lnet_event *ev;
	struct op                  *op;
	unsigned                    i;

	for (; events_seen[n] < node->pno_events_nr; ++events_seen[n]) {
		ev = &node->pno_events[events_seen[n]];
		op = ev->ev_op_user;
		if (ev->ev_type == M0_LNET_EV_SEND) {
			assert_non_null(op);
			++op->op_sent_nr;
			op->op_status = ev->ev_status;
			op->op_cut =
				ev->ev_unlinked &&
				M0_IN(ev->ev_status, (-ETIMEDOUT, -ESHUTDOWN));
			assert_int_equal(op->op_sent_nr, 1);
		}
		if (M0_IN(ev->ev_type, (M0_LNET_EV_ACK, M0_LNET_EV_REPLY))) {
			assert_non_null(op);
			++op->op_answers_nr;
			assert_int_equal(op->op_answers_nr, 1);
			assert_true(op->op_answered);
		}
		for (i = 0; ev->ev_unlinked && i < MDS_MAX; ++i)
			if (mda_user[n][i] == ev->ev_md_user)
				mds[n][i] = NULL;
	}
}

static void look_all(void)
{
	unsigned n;

	for (n = 0; n < NODES; ++n)
		look(n);
}

static void probe_done(struct m0_lnet_probe *probe)
{
	unsigned i = (unsigned)(probe - probes);

	++probe_done_nr[i];
	if (probe_done_nr[i] != 1)
		fail_msg("probe told %u times", probe_done_nr[i]);
	assert_true(probe->pr_status <= 0);
	assert_true(probe->pr_nids_nr <= M0_LNET_PROBE_NIDS_MAX);
}

/** All that was asked of node `n` has been told. */
static void settled(unsigned n)
{
	unsigned i;

	look(n);
	for (i = 0; i < ops_nr; ++i) {
		if (ops[i].op_node != n)
			continue;
		assert_int_equal(ops[i].op_sent_nr, 1);
		if (ops[i].op_cut)
			;
		else if (ops[i].op_status != 0)
			assert_int_equal(ops[i].op_answers_nr, 0);
		else
			assert_int_equal(ops[i].op_answers_nr,
					 ops[i].op_answered);
		ops[i].op_node = NODES;
	}
	for (i = 0; i < probes_nr; ++i)
		if (probe_node[i] == n)
			assert_int_equal(probe_done_nr[i], 1);
	for (i = 0; i < MDS_MAX; ++i)
		assert_null(mds[n][i]);
	events_seen[n] = 0;
}

static void serve(struct pair_node *node)
{
	sink_post(node);
	if (below(2) == 0)
		(void)pair_md_attach(node,
				     pair_me(node, PORTAL, BITS, ~0ULL, 0),
				     bytes_in, 64, (int32_t)(1 + below(50)),
				     M0_LNET_MD_OP_PUT, true);
}

static const char *any_nid(void)
{
	unsigned luck = below(20);

	if (luck == 0)
		return "10.0.0.99@tcp";
	if (luck == 1)
		return "0@lo";
	if (luck == 2)
		return "10.9.9.9@tcp9";
	return nids[below(NODES)][below(3)];
}

static void operate(struct pair_node *node, unsigned n)
{
	bool              get = below(3) == 0;
	bool              ack = !get && below(2) == 0;
	unsigned          i = below(MDS_MAX);
	struct m0_lnet_op op = {
		.lo_self = below(8) == 0 ? pair_nid(nids[n][below(3)])
					 : m0_lnet_nid_any,
		.lo_target = { .lp_nid = pair_nid(any_nid()),
			       .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = below(20) == 0 ? 6 : PORTAL,
		.lo_match_bits = BITS,
		.lo_ack = ack,
	};

	if (mds[n][i] != NULL || ops_nr == OPS_MAX ||
	    node->pno_msgs_nr >= node->pno_msgs_max)
		return;
	ops[ops_nr] = (struct op){ .op_node = n, .op_answered = get || ack };
	op.lo_user = &ops[ops_nr++];
	mds[n][i] = pair_md_bind(node, bytes_out + 1024, below(200),
				 get || ack ? 2 : 1, M0_LNET_MD_TRUNCATE);
	mda_user[n][i] = mds[n][i]->md_attr.mda_user;
	pair_op(node, mds[n][i], &op, get);
}

static void unlink_some(struct pair_node *node, unsigned n)
{
	unsigned i = below(MDS_MAX);

	look(n);
	if (mds[n][i] != NULL)
		m0_lnet_engine_md_unlink(node->pno_engine, mds[n][i]);
}

static void ni_change(struct pair_node *node, unsigned n)
{
	struct m0_lnd_ni  *ni;
	struct m0_lnet_nid nid;
	unsigned           i;

	if (below(2) == 0 && node->pno_nis_nr > 1) {
		i = 1 + below(node->pno_nis_nr - 1);
		ni = node->pno_ni[i];
		if (below(2) == 0) {
			m0_lnet_engine_ni_del(node->pno_engine, ni);
		} else {
			ni->ldn_up = !ni->ldn_up;
			ni->ldn_ops->lu_ni_status(ni);
		}
		return;
	}
	i = below(3);
	nid = pair_nid(nids[n][i]);
	if (m0_lnet__ni_find(node->pno_engine, &nid) == NULL)
		(void)pair_ni(node, nids[n][i]);
}

static void probe_some(struct pair_node *node, unsigned n)
{
	struct m0_lnet_probe *probe = &probes[probes_nr];

	if (probes_nr == PROBES_MAX)
		return;
	*probe = (struct m0_lnet_probe){
		.pr_kind = below(2) == 0 ? M0_LNET_PING : M0_LNET_DISCOVER,
		.pr_nid = pair_nid(any_nid()),
		.pr_self = m0_lnet_nid_any,
		.pr_timeout_ms = below(2) * below(30000),
		.pr_force = below(2) == 0,
		.pr_done = probe_done,
		.pr_status = 1,
	};
	probe_node[probes_nr] = n;
	probe_done_nr[probes_nr++] = 0;
	m0_lnet_engine_probe(node->pno_engine, probe);
}

/** A push or answer of random bytes, or nearly right ones. */
static void nonsense(struct pair_node *node, unsigned n)
{
	static const uint8_t good[] = { 0x67, 0x6e, 0x69, 0x70, 0x1e, 0, 0, 0,
					0x39, 0x30, 0,    0,    3,    0, 0, 0,
					0,    0,    0,    0,    0,    0, 9, 0 };
	uint8_t              payload[64];
	struct m0_lnet_hdr   hdr = {
		  .lhd_type = M0_LNET_PUT,
		  .lhd_payload_bytes = 1 + below(64),
		  .lhd_match_bits = UINT64_C(1) << 63,
		  .lhd_wmd = { { 9 } },
	};
	const char *from = nids[(n + 1) % NODES][0];

	if (node->pno_nis_nr < 2)
		return;
	m0_rand_fill(&dice, payload, sizeof payload);
	if (below(2) == 0)
		memcpy(payload, good, sizeof good);
	hdr.lhd_dest_nid = node->pno_ni[1]->ldn_nid;
	hdr.lhd_src_nid = pair_nid(from);
	pair_inject(node, 1, from, &hdr, payload);
}

/** A push that is well made, and claims what NIDs it likes. */
static void claim(struct pair_node *node)
{
	struct m0_lnet_ping_ni   told[6];
	struct m0_lnet_ping_info info = {
		.lpi_features = 0x06 | below(4) << 3,
		.lpi_pid = M0_LNET_PID_LUSTRE,
		.lpi_seq = below(6),
		.lpi_nis = told,
		.lpi_nis_nr = below(7),
	};
	uint8_t            payload[512];
	struct m0_lnet_hdr hdr = {
		.lhd_type = M0_LNET_PUT,
		.lhd_match_bits = UINT64_C(1) << 63,
		.lhd_wmd = { { 9 } },
	};
	const char *from = nids[below(NODES)][below(3)];
	unsigned    i;

	if (node->pno_nis_nr < 2)
		return;
	for (i = 0; i < info.lpi_nis_nr; ++i) {
		told[i].lpg_nid = pair_nid(
			i == 0 && below(2) == 0 ? from
						: nids[below(NODES)][below(3)]);
		told[i].lpg_up = below(3) != 0;
	}
	hdr.lhd_payload_bytes =
		(uint32_t)m0_lnet__ping_encode(&info, payload, sizeof payload);
	hdr.lhd_dest_nid = node->pno_ni[1]->ldn_nid;
	hdr.lhd_src_nid = pair_nid(from);
	pair_inject(node, 1, from, &hdr, payload);
}

static void node_begin(unsigned n)
{
	struct pair_node *node = &pair->pai_node[n];
	unsigned          i;

	for (i = 0; i < 3; ++i)
		if (i == 0 || below(3) != 0)
			(void)pair_ni(node, nids[n][i]);
	node->pno_msgs_max = 4 + below(60);
	serve(node);
}

static void restart(unsigned n)
{
	struct m0_lnet_engine_cfg cfg = cfg_random();

	pair_stop(pair, n);
	settled(n);
	pair_restart(pair, n, &cfg);
	node_begin(n);
}

static void step(void)
{
	unsigned          n = below(NODES);
	struct pair_node *node = &pair->pai_node[n];
	unsigned          k;

	switch (below(16)) {
	case 0:
		ni_change(node, n);
		break;
	case 1:
		if (below(10) == 0)
			restart(n);
		break;
	case 2:
		if (node->pno_nis_nr > 1)
			pair_peer_down(node, any_nid(),
				       below(4) == 0 ? 0 : -ECONNRESET);
		break;
	case 3:
		probe_some(node, n);
		break;
	case 4:
		if (below(3) == 0)
			nonsense(node, n);
		else
			claim(node);
		break;
	case 5:
		unlink_some(node, n);
		break;
	case 6:
		pair_release(pair);
		break;
	case 7:
		pair_run(pair, below(4) == 0 ? below(100000) : below(50));
		break;
	case 8:
		node->pno_rx_hold = !node->pno_rx_hold;
		break;
	case 9:
		pair_pass(pair, below(4));
		break;
	default:
		for (k = below(6); k > 0; --k)
			operate(node, n);
	}
}

/** At the end all credits are back. */
static void credits_are_back(const struct pair_node *node)
{
	const struct m0_lnet_engine *eng = node->pno_engine;
	const struct m0_lnet_lpni   *lpni;
	const struct m0_lnet_ni     *ni;
	const struct m0_hash_link   *at;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		assert_int_equal(ni->lni_credits, ni->lni_lnd.ldn_credits);
		assert_int_equal(ni->lni_msgs_nr, 0);
	}
	for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
	     at = m0_hash_next(at)) {
		lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
		assert_int_equal(lpni->lpn_credits,
				 min_check(eng->le_cfg.lec_peer_credits,
					   eng->le_cfg.lec_credits));
		/* The recovery goes on as long as a NID is silent. */
		assert_int_equal(lpni->lpn_refs_nr, lpni->lpn_try != NULL);
		assert_int_equal(lpni->lpn_queued_bytes, 0);
	}
	assert_true(eng->le_peers_nr <= eng->le_cfg.lec_peers_max + 64);
	assert_true(m0_list_is_empty(&eng->le_deferred));
}

static void storm(void)
{
	struct m0_lnet_engine_cfg cfg;
	unsigned                  n;
	unsigned                  i;

	/* Seen when it fails. */
	m0_log(M0_LOG_NOTICE, "storm %" PRIu64, seed);
	m0_rand_init(&dice, seed);
	ops_nr = 0;
	probes_nr = 0;
	memset(events_seen, 0, sizeof events_seen);
	memset(mds, 0, sizeof mds);
	memset(mda_user, 0, sizeof mda_user);
	pair = pair_open(NODES, NULL);
	for (n = 0; n < NODES; ++n) {
		cfg = cfg_random();
		pair_restart(pair, n, &cfg);
		node_begin(n);
	}
	pair->pai_hook = weather;
	for (i = 0; i < STEPS; ++i) {
		mood = (i / 50 % 3) * 30;
		step();
		look_all();
	}
	for (n = 0; n < NODES; ++n)
		pair->pai_node[n].pno_rx_hold = false;
	if (below(2) == 0) {
		pair->pai_hook = NULL;
		for (i = 0; i < 4; ++i) {
			pair_release(pair);
			pair_run(pair, 200000);
		}
		for (n = 0; n < NODES; ++n)
			credits_are_back(&pair->pai_node[n]);
	}
	for (n = 0; n < NODES; ++n) {
		pair_stop(pair, n);
		settled(n);
	}
	pair_close(pair);
	pair = NULL;
}

static void storm_ends_all_exactly_once(void **state)
{
	const char *text = getenv("LNET_STORM_SEED");
	const char *nr_text = getenv("LNET_STORM_NR");
	uint64_t    nr = nr_text == NULL ? SEEDS : strtoull(nr_text, NULL, 0);
	uint64_t    i;

	(void)state;
	m0_log_level_set(M0_LOG_ERROR);
	if (text != NULL) {
		seed = strtoull(text, NULL, 0);
		storm();
		return;
	}
	for (i = 0; i < nr; ++i) {
		seed = 1 + i;
		storm();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storm_ends_all_exactly_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/lnet/story.h"

#include "lnet/fault/fault.h"

enum {
	SEED = 7,
	LATENCY_MS = 500
};

/* -- which messages are hit ------------------------------------------------ */

static struct m0_lnet_hdr hdr;
static struct m0_lnet_nid local;

static struct m0_lnet_fault_attr rule_of(enum m0_lnet_fault_kind kind)
{
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = kind,
		.lfa_src = m0_lnet_nid_any,
		.lfa_dst = m0_lnet_nid_any,
		.lfa_local = m0_lnet_nid_any,
		.lfa_seed = SEED,
	};

	return attr;
}

static void hdr_set(void)
{
	hdr = (struct m0_lnet_hdr){
		.lhd_src_nid = pair_nid("10.0.0.1@tcp"),
		.lhd_dest_nid = pair_nid("10.0.0.2@tcp"),
		.lhd_type = M0_LNET_PUT,
		.lhd_payload_bytes = 100,
		.lhd_portal = PORTAL,
	};
	local = pair_nid("10.0.0.2@tcp");
}

static unsigned judge_at(struct m0_lnet__faults *faults, bool leaves,
			 uint64_t ms, struct m0_lnet__fault_verdict *ret)
{
	struct m0_lnet__fault_look look = {
		.flo_hdr = &hdr,
		.flo_local = &local,
		.flo_leaves = leaves,
		.flo_now = (1000000 + ms) * 1000000,
	};

	m0_lnet__faults_judge(faults, &look, ret);
	return ret->fav_acts;
}

static unsigned judge(struct m0_lnet__faults *faults, bool leaves)
{
	struct m0_lnet__fault_verdict verdict;

	return judge_at(faults, leaves, 0, &verdict);
}

/* Returns the acts of a single rule on the present header. */
static unsigned alone(const struct m0_lnet_fault_attr *attr, bool leaves)
{
	struct m0_lnet__faults *faults = m0_lnet__faults_create(1);
	unsigned                acts;

	assert_non_null(faults);
	assert_int_equal(m0_lnet__faults_add(faults, attr, 0), 0);
	acts = judge(faults, leaves);
	m0_lnet__faults_destroy(faults);
	return acts;
}

static bool is_for(void (*tune)(struct m0_lnet_fault_attr *attr))
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DROP);

	attr.lfa_all = true;
	tune(&attr);
	return alone(&attr, false) == M0_LNET__FAULT_DROP;
}

static void any(struct m0_lnet_fault_attr *attr)
{
	(void)attr;
}

static void src_exact(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_src = pair_nid("10.0.0.1@tcp");
}

static void src_other(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_src = pair_nid("10.0.0.3@tcp");
}

static void dst_net(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_dst = pair_nid("255.255.255.255@tcp");
}

static void dst_other_net(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_dst = pair_nid("255.255.255.255@tcp1");
}

static void local_other(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_local = pair_nid("10.0.0.4@tcp");
}

static void portal_this(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_portals = 1 << PORTAL;
}

static void portal_other(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_portals = 1 << (PORTAL + 1);
}

static void msgs_put(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_msgs = M0_LNET_FAULT_PUT | M0_LNET_FAULT_ACK;
}

static void msgs_get(struct m0_lnet_fault_attr *attr)
{
	attr->lfa_msgs = M0_LNET_FAULT_GET;
}

/* NIDs are ANY, exact or a whole network; portals restrict to PUT and GET. */
static void filter_takes_what_it_names(void **state)
{
	(void)state;
	hdr_set();
	assert_true(is_for(any));
	assert_true(is_for(src_exact));
	assert_false(is_for(src_other));
	assert_true(is_for(dst_net));
	assert_false(is_for(dst_other_net));
	assert_false(is_for(local_other));
	assert_true(is_for(portal_this));
	assert_false(is_for(portal_other));
	assert_true(is_for(msgs_put));
	assert_false(is_for(msgs_get));
	hdr.lhd_portal = 64 + PORTAL;
	assert_false(is_for(portal_this));
	hdr.lhd_portal = PORTAL;
	hdr.lhd_type = M0_LNET_REPLY;
	assert_true(is_for(any));
	assert_false(is_for(portal_this));
	assert_false(is_for(msgs_put));
}

/* Each kind acts where m0/lnet_fault.h says. */
static void kind_acts_in_its_place(void **state)
{
	static const unsigned in[] = {
		[M0_LNET_FAULT_DROP] = M0_LNET__FAULT_DROP,
		[M0_LNET_FAULT_DELAY] = M0_LNET__FAULT_DELAY,
		[M0_LNET_FAULT_DUPLICATE] = 0,
		[M0_LNET_FAULT_CORRUPT] = M0_LNET__FAULT_PAYLOAD,
		[M0_LNET_FAULT_CUT] = M0_LNET__FAULT_CUT,
	};
	static const unsigned out[] = {
		[M0_LNET_FAULT_DROP] = 0,
		[M0_LNET_FAULT_DELAY] = M0_LNET__FAULT_DELAY,
		[M0_LNET_FAULT_DUPLICATE] = M0_LNET__FAULT_DUPLICATE,
		[M0_LNET_FAULT_CORRUPT] = 0,
		[M0_LNET_FAULT_CUT] = M0_LNET__FAULT_CUT,
	};
	struct m0_lnet_fault_attr attr;
	int                       kind;

	(void)state;
	hdr_set();
	for (kind = 0; kind < M0_LNET_FAULT_KINDS_NR; ++kind) {
		attr = rule_of((enum m0_lnet_fault_kind)kind);
		attr.lfa_all = true;
		attr.lfa_latency_ms = 1;
		assert_int_equal(alone(&attr, false), in[kind]);
		assert_int_equal(alone(&attr, true), out[kind]);
	}
	attr = rule_of(M0_LNET_FAULT_DROP);
	attr.lfa_all = true;
	attr.lfa_health = 1 << M0_LND_LOCAL_TIMEOUT;
	assert_int_equal(alone(&attr, true), M0_LNET__FAULT_DROP);
	assert_int_equal(alone(&attr, false), 0);
	attr = rule_of(M0_LNET_FAULT_CORRUPT);
	attr.lfa_all = true;
	attr.lfa_header = true;
	assert_int_equal(alone(&attr, false), M0_LNET__FAULT_HEADER);
	attr.lfa_header = false;
	hdr.lhd_payload_bytes = 0;
	assert_int_equal(alone(&attr, false), 0);
	/* Ourselves: delayed once, and there is nothing to cut. */
	local = m0_lnet_nid_lo;
	attr = rule_of(M0_LNET_FAULT_DELAY);
	attr.lfa_all = true;
	assert_int_equal(alone(&attr, false), 0);
	assert_int_equal(alone(&attr, true), M0_LNET__FAULT_DELAY);
	attr = rule_of(M0_LNET_FAULT_CUT);
	attr.lfa_all = true;
	assert_int_equal(alone(&attr, false) | alone(&attr, true), 0);
}

/* One of each so many, wherever among them; the same again from a seed. */
static void rate_hits_one_of_each_window(void **state)
{
	struct m0_lnet__faults   *faults = m0_lnet__faults_create(1);
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DROP);
	bool                      hit[200];
	unsigned                  places = 0;
	unsigned                  nr;
	unsigned                  i;

	(void)state;
	hdr_set();
	attr.lfa_rate = 10;
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	for (i = 0; i < 200; ++i)
		hit[i] = judge(faults, false) != 0;
	for (i = 0; i < 200; i += 10) {
		unsigned k;

		for (nr = 0, k = 0; k < 10; ++k)
			if (hit[i + k]) {
				++nr;
				places |= 1U << k;
			}
		assert_int_equal(nr, 1);
	}
	assert_true(__builtin_popcount(places) > 4);
	m0_lnet__faults_destroy(faults);
	faults = m0_lnet__faults_create(2);
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	for (i = 0; i < 200; ++i)
		assert_int_equal(hit[i], judge(faults, false) != 0);
	m0_lnet__faults_destroy(faults);
}

/* A rate of 2 begins with a hit, and a rate of 1 always hits. */
static void rate_of_two_begins_with_the_first(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DROP);

	(void)state;
	hdr_set();
	for (attr.lfa_seed = 1; attr.lfa_seed < 20; ++attr.lfa_seed) {
		attr.lfa_rate = 1 + attr.lfa_seed % 2;
		assert_int_equal(alone(&attr, false), M0_LNET__FAULT_DROP);
	}
}

/* One in each interval of time, however many messages there are. */
static void interval_hits_one_of_each_window(void **state)
{
	struct m0_lnet__faults       *faults = m0_lnet__faults_create(1);
	struct m0_lnet_fault_attr     attr = rule_of(M0_LNET_FAULT_DROP);
	struct m0_lnet__fault_verdict verdict;
	unsigned                      nr[6] = { 0 };
	unsigned                      ms;

	(void)state;
	hdr_set();
	attr.lfa_interval_ms = 1000;
	assert_int_equal(m0_lnet__faults_add(faults, &attr,
					     UINT64_C(1000000) * 1000000),
			 0);
	for (ms = 0; ms < 3000; ++ms)
		nr[ms / 1000] += judge_at(faults, false, ms, &verdict) != 0;
	/* A window without messages has none, and leaves none behind. */
	for (ms = 4999; ms < 6000; ++ms)
		nr[ms / 1000] += judge_at(faults, false, ms, &verdict) != 0;
	assert_int_equal(nr[0], 1);
	assert_int_equal(nr[1], 1);
	assert_int_equal(nr[2], 1);
	assert_in_range(nr[4], 0, 1);
	assert_int_equal(nr[5], 1);
	m0_lnet__faults_destroy(faults);
}

/* Half of them; and no more than lfa_max, though all are seen. */
static void random_hits_half_and_max_ends_it(void **state)
{
	struct m0_lnet__faults   *faults = m0_lnet__faults_create(1);
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DROP);
	struct m0_lnet_fault      fault;
	unsigned                  nr = 0;
	unsigned                  i;

	(void)state;
	hdr_set();
	attr.lfa_random = true;
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	for (i = 0; i < 1000; ++i)
		nr += judge(faults, false) != 0;
	assert_in_range(nr, 400, 600);
	assert_int_equal(
		m0_lnet__faults_del(faults, M0_LNET_FAULT_ANY, NULL, NULL), 1);
	attr.lfa_max = 3;
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	for (nr = 0, i = 0; i < 1000; ++i)
		nr += judge(faults, false) != 0;
	assert_int_equal(nr, 3);
	assert_int_equal(
		m0_lnet__faults_get(faults, M0_LNET_FAULT_DROP, &fault, 1), 1);
	assert_int_equal(fault.lft_seen_nr, 1000);
	assert_int_equal(fault.lft_seen.lmc_put, 1000);
	assert_int_equal(fault.lft_hits_nr, 3);
	/* Reset: from the beginning. */
	assert_int_equal(m0_lnet__faults_reset(faults, M0_LNET_FAULT_DELAY, 0),
			 0);
	assert_int_equal(m0_lnet__faults_reset(faults, M0_LNET_FAULT_ANY, 0),
			 1);
	(void)m0_lnet__faults_get(faults, M0_LNET_FAULT_DROP, &fault, 1);
	assert_int_equal(fault.lft_seen_nr, 0);
	assert_int_equal(fault.lft_hits_nr, 0);
	assert_int_equal(fault.lft_attr.lfa_max, 3);
	m0_lnet__faults_destroy(faults);
}

/* With several delays the longest counts, not the newest. */
static void delays_do_not_shorten(void **state)
{
	struct m0_lnet__faults       *faults;
	struct m0_lnet_fault_attr     attr = rule_of(M0_LNET_FAULT_DELAY);
	struct m0_lnet__fault_verdict verdict;
	unsigned                      order;

	(void)state;
	hdr_set();
	attr.lfa_all = true;
	for (order = 0; order < 2; ++order) {
		faults = m0_lnet__faults_create(1);
		attr.lfa_latency_ms = order == 0 ? 5 : 900;
		assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
		attr.lfa_latency_ms = order == 0 ? 900 : 5;
		assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
		assert_int_equal(judge_at(faults, false, 0, &verdict),
				 M0_LNET__FAULT_DELAY);
		assert_true(verdict.fav_until == UINT64_C(1000900) * 1000000);
		m0_lnet__faults_destroy(faults);
	}
}

/* The newest is asked first, and the first that drops has the last word. */
static void newest_rule_goes_first(void **state)
{
	struct m0_lnet__faults   *faults = m0_lnet__faults_create(1);
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DELAY);
	struct m0_lnet_fault      fault[3];
	struct m0_lnet_nid        nid = pair_nid("10.0.0.2@tcp");

	(void)state;
	hdr_set();
	attr.lfa_all = true;
	attr.lfa_latency_ms = 5;
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	attr = rule_of(M0_LNET_FAULT_DROP);
	attr.lfa_all = true;
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	attr = rule_of(M0_LNET_FAULT_CORRUPT);
	attr.lfa_dst = nid;
	attr.lfa_all = true;
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	assert_int_equal(judge(faults, false),
			 M0_LNET__FAULT_DROP | M0_LNET__FAULT_PAYLOAD);
	assert_int_equal(
		m0_lnet__faults_get(faults, M0_LNET_FAULT_ANY, fault, 3), 3);
	assert_int_equal(fault[0].lft_attr.lfa_kind, M0_LNET_FAULT_CORRUPT);
	assert_int_equal(fault[2].lft_attr.lfa_kind, M0_LNET_FAULT_DELAY);
	assert_int_equal(fault[2].lft_seen_nr, 0);
	/* By name, and by kind. */
	assert_int_equal(
		m0_lnet__faults_del(faults, M0_LNET_FAULT_ANY, &nid, NULL), 0);
	assert_int_equal(
		m0_lnet__faults_del(faults, M0_LNET_FAULT_DROP, NULL, NULL), 1);
	assert_int_equal(judge(faults, false),
			 M0_LNET__FAULT_DELAY | M0_LNET__FAULT_PAYLOAD);
	assert_int_equal(
		m0_lnet__faults_del(faults, M0_LNET_FAULT_ANY, NULL, &nid), 1);
	assert_int_equal(judge(faults, false), M0_LNET__FAULT_DELAY);
	m0_lnet__faults_destroy(faults);
}

/* Each class that is asked for comes up, no other does, and has an errno. */
static void health_is_one_of_those_asked_for(void **state)
{
	struct m0_lnet__faults       *faults = m0_lnet__faults_create(1);
	struct m0_lnet_fault_attr     attr = rule_of(M0_LNET_FAULT_DROP);
	struct m0_lnet__fault_verdict verdict;
	unsigned                      seen = 0;
	unsigned                      i;

	(void)state;
	hdr_set();
	attr.lfa_all = true;
	attr.lfa_health = M0_LNET_FAULT_HEALTH_ALL &
			  ~(1U << M0_LND_REMOTE_ERROR);
	assert_int_equal(m0_lnet__faults_add(faults, &attr, 0), 0);
	for (i = 0; i < 500; ++i) {
		(void)judge_at(faults, true, 0, &verdict);
		assert_true(m0_lnet__fault_status(verdict.fav_health) < 0);
		seen |= 1U << verdict.fav_health;
	}
	assert_int_equal(seen, attr.lfa_health);
	m0_lnet__faults_destroy(faults);
}

/* -- what becomes of them -------------------------------------------------- */

static void fault_add(struct pair_node                *node,
		      const struct m0_lnet_fault_attr *attr)
{
	assert_int_equal(m0_lnet_engine_fault_add(node->pno_engine, attr), 0);
}

static struct m0_lnet_fault fault_of(const struct pair_node *node)
{
	struct m0_lnet_fault fault;

	assert_int_equal(m0_lnet_engine_fault_get(node->pno_engine,
						  M0_LNET_FAULT_ANY, &fault, 1),
			 1);
	return fault;
}

static void faults_clear(struct pair_node *node)
{
	(void)m0_lnet_engine_fault_del(node->pno_engine, M0_LNET_FAULT_ANY,
				       NULL, NULL);
	assert_null(node->pno_engine->le_faults);
}

static void two_open(void)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	story_open(2, &cfg);
	sink_post(two);
}

/* A PUT with ACK. */
static void put_ack(void)
{
	pair_put(one, pair_md_bind(one, bytes_out, 64, 2, 0), "10.0.0.2@tcp",
		 PORTAL, BITS, true);
}

/* Dropped where it comes in: its sender has sent it well, and waits for the ACK
 * until the transaction time-out. Each operation ends once. */
static void drop_loses_what_comes_in(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DROP);

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_max = 1;
	fault_add(two, &attr);
	put_ack();
	put_ack();
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), 0);
	assert_int_equal(send_status(one, 1), 0);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	assert_int_equal(two->pno_engine->le_stats.ls_drop_fault, 1);
	assert_int_equal(two->pno_engine->le_stats.ls_drop_count, 1);
	assert_int_equal(fault_of(two).lft_hits_nr, 1);
	pair_run(pair, TTO_MS + 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 2);
	assert_int_equal(pair_event(one, M0_LNET_EV_ACK, 1)->ev_status,
			 -ETIMEDOUT);
}

/* With a class of failure the send fails, and nothing leaves. */
static void drop_with_health_fails_the_send(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DROP);

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_health = 1 << M0_LND_REMOTE_DROPPED;
	fault_add(one, &attr);
	put_ack();
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 0), -ECONNRESET);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 0);
	assert_int_equal(pair_frames_nr(pair, 0, M0_LNET_PUT), 0);
	assert_int_equal(
		one->pno_engine->le_stats.ls_failures.lf_remote_dropped, 1);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 8);
}

/* Held up where it leaves it keeps its credits, and others overtake it. */
static void delay_out_keeps_credits(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DELAY);
	unsigned                  i;

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_max = 7;
	attr.lfa_latency_ms = LATENCY_MS;
	fault_add(one, &attr);
	for (i = 0; i < 10; ++i)
		put_to(one, "10.0.0.2@tcp", 10 + i);
	pair_run(pair, LATENCY_MS - 2);
	/* The eighth credit let the other three pass, one after the other. */
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 3);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 1);
	pair_run(pair, 4);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 10);
	assert_int_equal(pair_frame(pair, 0, M0_LNET_PUT, 0)->pfr_bytes, 17);
	assert_int_equal(pair_frame(pair, 0, M0_LNET_PUT, 3)->pfr_bytes, 10);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 8);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_refs_nr, 0);
}

/* Held up beyond its deadline it fails at that; unlinked, at once; with its
 * peer, with that; without the rule, it goes. */
static void delay_out_ends_in_every_way(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DELAY);
	struct m0_lnet_md        *md;

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_latency_ms = TTO_MS * 4;
	fault_add(one, &attr);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, TTO_MS - 10);
	assert_int_equal(send_status(one, 0), 1);
	pair_run(pair, 20);
	assert_int_equal(send_status(one, 0), -ETIMEDOUT);
	md = pair_md_bind(one, bytes_out, 8, 1, 0);
	pair_put(one, md, "10.0.0.2@tcp", PORTAL, BITS, false);
	pair_run(pair, 10);
	m0_lnet_engine_md_unlink(one->pno_engine, md);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 1), -ECANCELED);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	pair_peer_down(one, "10.0.0.2@tcp", -ECONNRESET);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 2), -ECONNRESET);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	faults_clear(one);
	pair_run(pair, 10);
	assert_int_equal(send_status(one, 3), 0);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 8);
	/* A message is delayed when everything ends. */
	fault_add(one, &attr);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
}

/* Held up where it comes in, it holds up what is behind it; judged once. */
static void delay_in_holds_the_connection(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DELAY);

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_max = 1;
	attr.lfa_latency_ms = LATENCY_MS;
	fault_add(two, &attr);
	put_ack();
	put_ack();
	pair_run(pair, LATENCY_MS - 5);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 0);
	pair_run(pair, 10);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 2);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 2);
	assert_int_equal(fault_of(two).lft_seen_nr, 2 + 2);
	assert_int_equal(fault_of(two).lft_hits_nr, 1);
	/* Taken away, it holds up nothing, and nothing of it is left. */
	attr.lfa_max = 0;
	fault_add(two, &attr);
	put_ack();
	pair_run(pair, 10);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 2);
	faults_clear(two);
	pair_run(pair, 10);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 3);
}

/* Two come of one, and one is told as sent. */
static void duplicate_is_sent_twice(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DUPLICATE);

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_msgs = M0_LNET_FAULT_PUT;
	fault_add(one, &attr);
	put_ack();
	pair_run(pair, 10);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 2);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	/* The second ACK finds nobody. */
	assert_int_equal(one->pno_engine->le_stats.ls_drop_stale, 1);
	assert_int_equal(one->pno_engine->le_stats.ls_send_count, 2);
	assert_int_equal(lpni_of(one, "10.0.0.2@tcp")->lpn_credits, 8);
	assert_int_equal(one->pno_mds_nr, 0);
}

static unsigned sent_nr;

/* The second of two fails. */
static enum pair_act second_fails(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return sent_nr++ == 0 ? PAIR_PASS : PAIR_FAIL;
}

/* The first was well, so the message was; a first that fails has no second. */
static void duplicate_ends_as_the_first_did(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DUPLICATE);

	(void)state;
	two_open();
	attr.lfa_all = true;
	fault_add(one, &attr);
	sent_nr = 0;
	pair->pai_hook = second_fails;
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(sent_nr, 2);
	assert_int_equal(send_status(one, 0), 0);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(sent_nr, 3);
	assert_true(send_status(one, 1) < 0);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 2);
}

/* One bit of the payload is another one; the answer is as good as ever. */
static void corrupt_turns_a_bit_of_the_payload(void **state)
{
	static uint8_t            out[512];
	static uint8_t            in[512];
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_CORRUPT);
	unsigned                  bits = 0;
	unsigned                  i;

	(void)state;
	two_open();
	attr.lfa_all = true;
	fault_add(two, &attr);
	memset(out, 0xa5, sizeof out);
	memset(in, 0, sizeof in);
	(void)pair_md_attach(two, pair_me(two, PORTAL, 99, 0, 0), in, sizeof in,
			     1, M0_LNET_MD_OP_PUT, true);
	pair_put(one, pair_md_bind(one, out, sizeof out, 2, 0), "10.0.0.2@tcp",
		 PORTAL, 99, true);
	pair_run(pair, 10);
	for (i = 0; i < sizeof in; ++i)
		bits += (unsigned)__builtin_popcount(in[i] ^ out[i]);
	assert_int_equal(bits, 1);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 1);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
	/* The ACK has no payload, and is not for the rule. */
	assert_int_equal(fault_of(two).lft_seen_nr, 1);
}

/*
 * Any inverted bit of a header leads to a delivery, a drop or a refusal, which
 * is counted.
 */
static void corrupt_header_is_survived(void **state)
{
	struct m0_lnet_fault_attr   attr = rule_of(M0_LNET_FAULT_CORRUPT);
	const struct m0_lnet_stats *stats;
	unsigned                    i;

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_header = true;
	fault_add(two, &attr);
	two->pno_is_damaged = true;
	for (i = 0; i < 300; ++i) {
		pair_put(one, pair_md_bind(one, bytes_out, 0, 2, 0),
			 "10.0.0.2@tcp", PORTAL, BITS, true);
		pair_run(pair, 1);
	}
	faults_clear(two);
	stats = &two->pno_engine->le_stats;
	assert_int_equal(stats->ls_recv_count + stats->ls_drop_count +
				 stats->ls_proto_errors,
			 300);
	assert_true(stats->ls_proto_errors > 0);
	assert_true(stats->ls_drop_count > 0);
	pair_run(pair, TTO_MS + 10);
	assert_int_equal(events_nr(one, M0_LNET_EV_ACK), 300);
}

/* The driver is told, once for each message that is hit. */
static void cut_drops_the_peer(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_CUT);

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_max = 2;
	fault_add(one, &attr);
	fault_add(two, &attr);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(one->pno_drops_nr, 1);
	assert_int_equal(two->pno_drops_nr, 1);
	put_to(one, "10.0.0.2@tcp", 8);
	put_to(one, "10.0.0.2@tcp", 8);
	pair_run(pair, 10);
	assert_int_equal(one->pno_drops_nr, 2);
	assert_int_equal(events_nr(one, M0_LNET_EV_SEND), 3);
}

/* A message of the node to itself is delayed once, without credits. */
static void delay_of_own_messages(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_DELAY);

	(void)state;
	two_open();
	attr.lfa_all = true;
	attr.lfa_latency_ms = LATENCY_MS;
	fault_add(two, &attr);
	put_to(two, "10.0.0.2@tcp", 8);
	pair_run(pair, LATENCY_MS - 5);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 0);
	pair_run(pair, 10);
	assert_int_equal(events_nr(two, M0_LNET_EV_PUT), 1);
}

/* No more than so many rules. */
static void rules_have_a_bound(void **state)
{
	struct m0_lnet_fault_attr attr = rule_of(M0_LNET_FAULT_CUT);
	unsigned                  i;

	(void)state;
	two_open();
	attr.lfa_rate = 1000;
	for (i = 0; i < M0_LNET_FAULTS_MAX; ++i)
		fault_add(one, &attr);
	assert_int_equal(m0_lnet_engine_fault_add(one->pno_engine, &attr),
			 -ENOSPC);
	faults_clear(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_takes_what_it_names),
		cmocka_unit_test(kind_acts_in_its_place),
		cmocka_unit_test(rate_hits_one_of_each_window),
		cmocka_unit_test(rate_of_two_begins_with_the_first),
		cmocka_unit_test(interval_hits_one_of_each_window),
		cmocka_unit_test(random_hits_half_and_max_ends_it),
		cmocka_unit_test(delays_do_not_shorten),
		cmocka_unit_test(newest_rule_goes_first),
		cmocka_unit_test(health_is_one_of_those_asked_for),
		STORY_BARE(drop_loses_what_comes_in),
		STORY_BARE(drop_with_health_fails_the_send),
		STORY_BARE(delay_out_keeps_credits),
		STORY_BARE(delay_out_ends_in_every_way),
		STORY_BARE(delay_in_holds_the_connection),
		STORY_BARE(duplicate_is_sent_twice),
		STORY_BARE(duplicate_ends_as_the_first_did),
		STORY_BARE(corrupt_turns_a_bit_of_the_payload),
		STORY_BARE(corrupt_header_is_survived),
		STORY_BARE(cut_drops_the_peer),
		STORY_BARE(delay_of_own_messages),
		STORY_BARE(rules_have_a_bound),
	};

	m0_log_level_set(M0_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

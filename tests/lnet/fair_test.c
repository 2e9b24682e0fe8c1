/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fairness of a router, in virtual time. One client sends as fast as it can, to servers
 * that never read or to servers that do. Four other clients, each with a server of its own,
 * keep their share of the router: the number of PUTs that a server acknowledges in a fixed
 * time.
 */
#include <stdlib.h>

#include "lnd/ksock/ksock_wire.h"
#include "lnet/node.h"
#include "m0/lnet_route.h"

enum {
	BITS = 7,
	OTHERS_NR = 4,
	OPS_MAX = 64,
	LARGE_BYTES = 64 << 10,
	SMALL_BYTES = 4000,
	/** Time until routes are up; how long a flood lasts before the others begin; how
	 * long acknowledged PUTs are counted; by when a router has dropped what it
	 * cannot forward, counted from when the last PUT has ended. */
	UP_MS = 12000,
	FLOOD_MS = 500,
	COUNT_MS = 200,
	EMPTY_MS = 60000
};

static const struct m0_sim_stream_cfg wire = {
	.ssc_rate_bytes = 20 << 20,
	.ssc_latency_ns = 200 * 1000,
	.ssc_jitter_ns = 50 * 1000,
	.ssc_window_bytes = 64 << 10,
	.ssc_piece_bytes_max = 9000,
};

/** A client that always has `se_ops_nr` PUTs in flight, to its targets in turn. */
struct sender {
	struct node       *se_node;
	struct m0_lnet_nid se_targets[OTHERS_NR];
	unsigned           se_targets_nr;
	size_t             se_bytes;
	unsigned           se_ops_nr;
	bool               se_stops;
	unsigned           se_turn;
	/** PUTs that have begun and ended, and those that were acknowledged. */
	unsigned       se_begun_nr;
	unsigned       se_ended_nr;
	unsigned       se_acked_nr;
	struct node_op se_ops[OPS_MAX];
	bool           se_is_used[OPS_MAX];
};

struct story {
	/** Payload of each PUT. */
	size_t st_bytes;
	/** Large and small router buffers; 0: the default. */
	unsigned st_buffers;
	/** Credits of a peer of the router; 0: the default. */
	unsigned st_credits;
	/** PUTs in flight of each of the four. */
	unsigned st_ops_nr;
	/** Number of servers that never read. */
	unsigned st_mutes_nr;
};

static struct m0_sim       sim;
static struct node         router;
static struct node         clients[1 + OTHERS_NR];
static struct node         servers[OTHERS_NR];
static struct node_window  windows[OTHERS_NR];
static struct sender       senders[1 + OTHERS_NR];
static const struct story *story;

/* -- a server that never reads --------------------------------------------- */

static const char *const mute_addrs[] = { "10.1.0.98", "10.1.0.99" };
static unsigned          mute_joined_nr;

/** Answers the HELLO, and reads nothing after it. */
static void mute_input(struct m0_sim_raw *raw)
{
	struct m0_sock_hello hello;
	struct m0_sock_hello answer;
	uint8_t              buf[M0_SOCK_HELLO_BYTES_MAX];
	size_t               at;

	if (raw->smr_is_mute || raw->smr_in_nr < M0_SOCK_HEAD_BYTES)
		return;
	at = (size_t)m0_sock__request_bytes(raw->smr_in);
	if (raw->smr_in_nr < at + M0_SOCK_HEAD_BYTES ||
	    raw->smr_in_nr <
		    at + (size_t)m0_sock__hello_bytes(raw->smr_in + at))
		return;
	assert_int_equal(m0_sock__hello_decode(&hello, raw->smr_in + at), 0);
	answer = (struct m0_sock_hello){
		.sh_version = hello.sh_version,
		.sh_src_nid = hello.sh_dst_nid,
		.sh_dst_nid = hello.sh_src_nid,
		.sh_src_pid = M0_LNET_PID_LUSTRE,
		.sh_src_incarnation = 4711,
		.sh_ctype = m0_sock__ctype_invert(hello.sh_ctype),
	};
	m0_sim_raw_send(raw, buf, m0_sock__hello_encode(&answer, buf));
	m0_sim_raw_mute(raw, true);
	++mute_joined_nr;
}

static void mute_accepted(struct m0_sim_raw *raw, void *arg)
{
	(void)arg;
	raw->smr_input = mute_input;
	mute_input(raw);
}

static struct m0_lnet_nid mute_nid(unsigned i)
{
	struct m0_lnet_nid nid;
	char               text[M0_LNET_NIDSTR_SIZE];

	(void)snprintf(text, sizeof text, "%s@tcp1", mute_addrs[i]);
	assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
	return nid;
}

/* -- nodes ----------------------------------------------------------------- */

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_routing.lgc_check_ms = 10000;
	cfg->lc_routing.lgc_ping_ms = 5000;
}

static void routes_set(struct m0_lnet_cfg *cfg, const char *text)
{
	char why[M0_LNET_WHY_BYTES] = "";

	tune(cfg);
	assert_int_equal(m0_lnet_cfg_routes(cfg, text, why), 0);
}

/** Clients do not discover servers: a mute one would not answer. */
static void tune_client(struct m0_lnet_cfg *cfg)
{
	routes_set(cfg, "tcp1 10.0.0.2@tcp");
	cfg->lc_discovery = false;
}

static void tune_server(struct m0_lnet_cfg *cfg)
{
	routes_set(cfg, "tcp 10.1.0.2@tcp1");
}

static void tune_router(struct m0_lnet_cfg *cfg)
{
	tune(cfg);
	cfg->lc_routing.lgc_on = true;
	if (story->st_credits != 0)
		cfg->lc_peer_credits = story->st_credits;
	if (story->st_buffers == 0)
		return;
	cfg->lc_routing.lgc_buffers[M0_LNET_POOL_SMALL] = story->st_buffers;
	cfg->lc_routing.lgc_buffers[M0_LNET_POOL_LARGE] = story->st_buffers;
}

static void node_add(struct node *node, const char *name, unsigned net,
		     unsigned host, void (*change)(struct m0_lnet_cfg *cfg))
{
	const uint16_t num = (uint16_t)net;
	char           addr[32];
	char           nets[64];

	(void)snprintf(addr, sizeof addr, "10.%u.0.%u", net, host);
	(void)snprintf(nets, sizeof nets, "%s(%s)", net == 0 ? "tcp" : "tcp1",
		       addr);
	node_init_nids(node, &sim, name, nets, addr, &num, change);
}

static void up(const struct story *which)
{
	static const char *const names[] = { "c0", "c1", "c2", "c3", "c4",
					     "s1", "s2", "s3", "s4" };
	const uint16_t           nums[] = { 0, 1 };
	unsigned                 i;

	story = which;
	mute_joined_nr = 0;
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	node_init_nids(&router, &sim, "r", "tcp(10.0.0.2),tcp1(10.1.0.2)",
		       "10.0.0.2 10.1.0.2", nums, tune_router);
	for (i = 0; i < ARRAY_SIZE(clients); ++i)
		node_add(&clients[i], names[i], 0, 10 + i, tune_client);
	for (i = 0; i < OTHERS_NR; ++i) {
		node_add(&servers[i], names[ARRAY_SIZE(clients) + i], 1, 11 + i,
			 tune_server);
		node_window_init(&windows[i], &servers[i], BITS, LARGE_BYTES,
				 -1);
	}
	for (i = 0; i < ARRAY_SIZE(mute_addrs); ++i) {
		(void)m0_sim_host_add(mute_addrs[i], mute_addrs[i]);
		m0_sim_raw_listen(mute_addrs[i], NODE_PORT, mute_accepted,
				  NULL);
	}
	m0_sim_run_ms(&sim, UP_MS);
}

static void down(void)
{
	unsigned i;

	for (i = 0; i < OTHERS_NR; ++i)
		node_window_unlink(&windows[i]);
	m0_sim_run_ms(&sim, 1000);
	for (i = 0; i < OTHERS_NR; ++i) {
		node_window_fini(&windows[i]);
		node_fini(&servers[i]);
	}
	for (i = 0; i < ARRAY_SIZE(clients); ++i)
		node_fini(&clients[i]);
	node_fini(&router);
	for (i = 0; i < ARRAY_SIZE(mute_addrs); ++i)
		m0_sim_raw_listen(mute_addrs[i], NODE_PORT, NULL, NULL);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/* -- senders --------------------------------------------------------------- */

/** Ends PUTs that are over, and begins others in their place. */
static void sender_pump(struct sender *se)
{
	struct node_op *op;
	unsigned        i;

	for (i = 0; i < se->se_ops_nr; ++i) {
		op = &se->se_ops[i];
		if (se->se_is_used[i]) {
			if (!node_op_is_over(op))
				continue;
			++se->se_ended_nr;
			se->se_acked_nr += node_op_result(op) == 0;
			node_op_fini(op);
			se->se_is_used[i] = false;
		}
		if (se->se_stops)
			continue;
		node_put(op, se->se_node,
			 &se->se_targets[se->se_turn++ % se->se_targets_nr],
			 BITS, 0, se->se_bytes, 1, true);
		se->se_is_used[i] = true;
		++se->se_begun_nr;
	}
}

static bool pump(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < ARRAY_SIZE(senders); ++i)
		sender_pump(&senders[i]);
	return false;
}

static void run(uint64_t ms)
{
	(void)m0_sim_run_until(&sim, pump, NULL, ms * M0_TIME_ONE_MSEC);
}

static bool all_ended(void *arg)
{
	unsigned i;

	(void)pump(arg);
	for (i = 0; i < ARRAY_SIZE(senders); ++i)
		if (senders[i].se_begun_nr != senders[i].se_ended_nr)
			return false;
	return true;
}

/** Begins no more PUTs, and waits for those that have begun. */
static void senders_stop(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(senders); ++i)
		senders[i].se_stops = true;
	assert_true(m0_sim_run_until(&sim, all_ended, NULL,
				     200 * M0_TIME_ONE_SECOND));
}

/** Client 0 has no targets yet; each of the others has a server of its own. */
static void senders_init(void)
{
	unsigned i;

	memset(senders, 0, sizeof senders);
	for (i = 1; i < ARRAY_SIZE(senders); ++i) {
		senders[i].se_node = &clients[i];
		senders[i].se_targets[0] = servers[i - 1].n_nid;
		senders[i].se_targets_nr = 1;
		senders[i].se_bytes = story->st_bytes;
	}
}

/** Adds a target of client 0, which begins. */
static void flood_to(const struct m0_lnet_nid *nid)
{
	struct sender *se = &senders[0];

	se->se_node = &clients[0];
	se->se_targets[se->se_targets_nr++] = *nid;
	se->se_bytes = story->st_bytes;
	se->se_ops_nr = OPS_MAX;
}

static void flood_to_mutes(void)
{
	struct m0_lnet_nid nid;
	unsigned           i;

	for (i = 0; i < story->st_mutes_nr; ++i) {
		nid = mute_nid(i);
		flood_to(&nid);
	}
}

static void others_begin(void)
{
	unsigned i;

	for (i = 1; i < ARRAY_SIZE(senders); ++i)
		senders[i].se_ops_nr = story->st_ops_nr;
}

/* -- shares ---------------------------------------------------------------- */

struct shares {
	unsigned sh_nr[OTHERS_NR];
	unsigned sh_sum;
	unsigned sh_min;
	unsigned sh_max;
};

/** Counts the acknowledged PUTs of the four others in COUNT_MS. */
static struct shares shares_count(void)
{
	struct shares shares = { .sh_min = UINT32_MAX };
	unsigned      before[OTHERS_NR];
	unsigned      i;

	others_begin();
	/* The nodes connect meanwhile. */
	run(100);
	for (i = 0; i < OTHERS_NR; ++i)
		before[i] = senders[1 + i].se_acked_nr;
	run(COUNT_MS);
	for (i = 0; i < OTHERS_NR; ++i) {
		shares.sh_nr[i] = senders[1 + i].se_acked_nr - before[i];
		shares.sh_sum += shares.sh_nr[i];
		shares.sh_min = min_check(shares.sh_min, shares.sh_nr[i]);
		shares.sh_max = max_check(shares.sh_max, shares.sh_nr[i]);
	}
	print_message("  %u %u %u %u, sum %u; client 0: %u of %u\n",
		      shares.sh_nr[0], shares.sh_nr[1], shares.sh_nr[2],
		      shares.sh_nr[3], shares.sh_sum, senders[0].se_acked_nr,
		      senders[0].se_begun_nr);
	return shares;
}

/** max / min <= 1.5, and all no less than 1 / 1.5 of the undisturbed run. */
static void shares_check(const struct shares *with,
			 const struct shares *without)
{
	assert_true(with->sh_min > 0);
	assert_true(2 * with->sh_max <= 3 * with->sh_min);
	assert_true(3 * with->sh_sum >= 2 * without->sh_sum);
}

/** All router buffers are free, and all credits are back. */
static void router_is_empty(void)
{
	struct m0_lnet_routing_info info;
	struct m0_lnet_info        *all;
	unsigned                    i;
	unsigned                    k;

	assert_int_equal(m0_lnet_routing_get(router.n_lnet, &info), 0);
	for (i = 0; i < M0_LNET_POOLS_NR; ++i) {
		assert_int_equal(info.lgi_pools[i].lbi_used_nr, 0);
		assert_int_equal(info.lgi_pools[i].lbi_credits,
				 info.lgi_pools[i].lbi_max);
	}
	assert_int_equal(m0_lnet_info_get(router.n_lnet, &all), 0);
	for (i = 0; i < all->li_nis_nr; ++i)
		assert_int_equal(all->li_nis[i].nii_credits_free,
				 all->li_nis[i].nii_credits);
	for (i = 0; i < all->li_peers_nr; ++i)
		for (k = 0; k < all->li_peers[i].pei_nis_nr; ++k) {
			const struct m0_lnet_peer_ni_info *pni =
				&all->li_peers[i].pei_nis[k];

			assert_int_equal(pni->pni_credits_free,
					 pni->pni_credits_max);
			assert_int_equal(pni->pni_queued_bytes, 0);
		}
	m0_lnet_info_free(all);
}

/** Every PUT ends, each once: node_op_fini() checks that. */
static void end(void)
{
	senders_stop();
	m0_sim_run_ms(&sim, EMPTY_MS);
	router_is_empty();
	down();
}

/* -- stories --------------------------------------------------------------- */

static struct shares shares_without(const struct story *which)
{
	struct shares shares;

	up(which);
	senders_init();
	run(FLOOD_MS);
	shares = shares_count();
	end();
	return shares;
}

/* A peer behind a router that never reads: other peers of that router keep their
 * share. */
static void stalled_server_leaves_others_their_share(void **state)
{
	const struct story *which = *state;
	struct shares       without = shares_without(which);
	struct shares       with;

	up(which);
	senders_init();
	flood_to_mutes();
	run(FLOOD_MS);
	with = shares_count();
	assert_true(mute_joined_nr >= which->st_mutes_nr);
	assert_int_equal(senders[0].se_acked_nr, 0);
	shares_check(&with, &without);
	end();
}

static struct m0_lnet_routing_info routing(void)
{
	struct m0_lnet_routing_info info;

	assert_int_equal(m0_lnet_routing_get(router.n_lnet, &info), 0);
	return info;
}

/* Two servers that never read take both large buffers of the router, for three minutes. Every message ends, and the router is as before. */
static void pool_exhausted_for_minutes_is_whole_again(void **state)
{
	const struct story         *which = *state;
	struct shares               without = shares_without(which);
	struct m0_lnet_routing_info info;
	struct shares               with;

	up(which);
	senders_init();
	flood_to_mutes();
	others_begin();
	run(3 * 60 * 1000);
	info = routing();
	assert_int_equal(info.lgi_pools[M0_LNET_POOL_LARGE].lbi_credits_low, 0);
	assert_true(info.lgi_late_nr > 0);
	assert_true(senders[0].se_ended_nr > OPS_MAX / 2);
	assert_int_equal(senders[0].se_acked_nr, 0);
	senders_stop();
	m0_sim_run_ms(&sim, EMPTY_MS);
	router_is_empty();
	senders_init();
	with = shares_count();
	shares_check(&with, &without);
	senders_stop();
	/* Client 0 has its credits at the router again, too. */
	senders_init();
	flood_to(&servers[0].n_nid);
	run(FLOOD_MS);
	assert_true(senders[0].se_acked_nr > OPS_MAX);
	end();
}

static void flood_leaves_others_their_share(void **state)
{
	const struct story *which = *state;
	struct shares       without = shares_without(which);
	struct shares       with;
	unsigned            i;

	up(which);
	senders_init();
	for (i = 0; i < OTHERS_NR; ++i)
		flood_to(&servers[i].n_nid);
	run(FLOOD_MS);
	with = shares_count();
	assert_true(senders[0].se_acked_nr > with.sh_max);
	shares_check(&with, &without);
	end();
}

/* Messages to one server leave in the order in which they came, so a client that shares
 * its server with the flood waits for the 8 messages that the flood may have in the
 * router. The others wait for nothing. */
static void flood_to_one_server_delays_its_clients_alone(void **state)
{
	const struct story *which = *state;
	struct shares       without = shares_without(which);
	struct shares       with;
	unsigned            i;

	up(which);
	senders_init();
	flood_to(&servers[0].n_nid);
	run(FLOOD_MS);
	with = shares_count();
	assert_true(9 * with.sh_nr[0] >= without.sh_nr[0]);
	for (i = 1; i < OTHERS_NR; ++i)
		assert_true(3 * with.sh_nr[i] >= 2 * without.sh_nr[i]);
	end();
}

#define ROW(name, story) \
	cmocka_unit_test_prestate(name, (void *)(uintptr_t)(story))

int main(void)
{
	static const struct story large = { LARGE_BYTES, 0, 0, 16, 1 };
	static const struct story small = { SMALL_BYTES, 0, 0, 16, 1 };
	/* Client 0 has credits for all buffers: each next hop may take half. */
	static const struct story few_large = { LARGE_BYTES, 16, 32, 16, 1 };
	static const struct story few_small = { SMALL_BYTES, 16, 32, 16, 1 };
	/* Client 0 has credits for half of the buffers. */
	static const struct story two_large = { LARGE_BYTES, 16, 8, 16, 2 };
	static const struct story two_small = { SMALL_BYTES, 16, 8, 16, 2 };
	/* Client 0 has credits for all: two next hops leave a quarter. */
	static const struct story half_large = { LARGE_BYTES, 16, 32, 16, 2 };
	static const struct story half_small = { SMALL_BYTES, 16, 32, 16, 2 };
	/* Neither limit leaves a buffer. */
	static const struct story all_large = { LARGE_BYTES, 2, 32, 1, 2 };
	static const struct story modest_large = { LARGE_BYTES, 0, 0, 1, 0 };
	static const struct story modest_small = { SMALL_BYTES, 0, 0, 1, 0 };
	const struct CMUnitTest   tests[] = {
		  ROW(stalled_server_leaves_others_their_share, &large),
		  ROW(stalled_server_leaves_others_their_share, &small),
		  ROW(stalled_server_leaves_others_their_share, &few_large),
		  ROW(stalled_server_leaves_others_their_share, &few_small),
		  ROW(stalled_server_leaves_others_their_share, &two_large),
		  ROW(stalled_server_leaves_others_their_share, &two_small),
		  ROW(stalled_server_leaves_others_their_share, &half_large),
		  ROW(stalled_server_leaves_others_their_share, &half_small),
		  ROW(pool_exhausted_for_minutes_is_whole_again, &all_large),
		  ROW(flood_leaves_others_their_share, &modest_large),
		  ROW(flood_leaves_others_their_share, &modest_small),
		  ROW(flood_to_one_server_delays_its_clients_alone,
		      &modest_large),
		  ROW(flood_to_one_server_delays_its_clients_alone,
		      &modest_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

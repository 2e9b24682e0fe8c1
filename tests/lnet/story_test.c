/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Stories of whole nodes in virtual time: what goes well, and what becomes of
 * everything when networks and peers fail. Whatever is begun ends once, within
 * the time that the configuration says.
 */
#include <stdlib.h>

#include "lnet/node.h"

enum {
	BITS = 7,
	MIB = 1 << 20,
	SOON_MS = 1000,
	/** Defaults of a node. */
	LND_MS = 50 * 1000,
	TRANSACTION_MS = 150 * 1000
};

static struct m0_sim sim;
static struct node   a;
static struct node   b;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_jitter_ns = 10 * 1000,
	.ssc_piece_bytes_max = 9000,
};

static void net_up(const struct m0_sim_stream_cfg *cfg)
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, cfg);
}

static void net_down(void)
{
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

static void up_tuned(void (*tune)(struct m0_lnet_cfg *cfg))
{
	net_up(&wire);
	node_init(&a, &sim, "a", "10.0.0.1", tune);
	node_init(&b, &sim, "b", "10.0.0.2", tune);
}

static void up(void)
{
	up_tuned(NULL);
}

static void down(void)
{
	node_fini(&a);
	node_fini(&b);
	net_down();
}

/* Nothing is on its way, and nothing held. */
static void is_at_rest(struct node *node)
{
	struct m0_lnet_info *info;
	unsigned             i;
	unsigned             k;

	assert_int_equal(m0_lnet_info_get(node->n_lnet, &info), 0);
	assert_int_equal(info->li_stats.ls_msgs_alloc, 0);
	assert_int_equal(info->li_stats.ls_rst_alloc, 0);
	for (i = 0; i < info->li_nis_nr; ++i)
		assert_int_equal(info->li_nis[i].nii_credits_free,
				 (int)info->li_nis[i].nii_credits);
	for (i = 0; i < info->li_peers_nr; ++i)
		for (k = 0; k < info->li_peers[i].pei_nis_nr; ++k) {
			struct m0_lnet_peer_ni_info *ni =
				&info->li_peers[i].pei_nis[k];

			assert_int_equal(ni->pni_credits_free,
					 (int)ni->pni_credits_max);
			assert_int_equal(ni->pni_queued_bytes, 0);
		}
	m0_lnet_info_free(info);
}

/* -- it goes well ---------------------------------------------------------- */

/* A node that nobody knows is pinged, and answers with its NIDs. */
static void ping_is_answered(void **state)
{
	struct m0_lnet_probe probe;

	(void)state;
	up();
	probe = (struct m0_lnet_probe){ .pr_kind = M0_LNET_PING,
					.pr_nid = b.n_nid,
					.pr_self = m0_lnet_nid_any };
	assert_int_equal(m0_lnet_probe_sync(a.n_lnet, &probe), 0);
	assert_int_equal(probe.pr_nids_nr, 1);
	assert_true(m0_lnet_nid_eq(&probe.pr_nids[0], &b.n_nid));
	assert_true(probe.pr_nids_up[0]);
	assert_int_equal(probe.pr_pid, M0_LNET_PID_LUSTRE);
	assert_int_equal(probe.pr_features, 0x4000001e);
	/* SYN, HELLO, GET: three times there and back. */
	assert_in_range(probe.pr_took_ns, 300 * 1000, 2000 * 1000);
	/* Its own NID, through its own sockets or lo. */
	assert_int_equal(node_ping(&a, &a.n_nid, SOON_MS), 0);
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

/* Discovery tells both who the other is. */
static void discovery_tells_both_sides(void **state)
{
	struct m0_lnet_probe probe;
	struct m0_lnet_info *info;
	unsigned             i;
	bool                 found = false;

	(void)state;
	up();
	assert_int_equal(node_discover(&a, &b.n_nid, SOON_MS, &probe), 0);
	assert_true(probe.pr_multi_rail);
	assert_true(m0_lnet_nid_eq(&probe.pr_primary, &b.n_nid));
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(m0_lnet_info_get(b.n_lnet, &info), 0);
	for (i = 0; i < info->li_peers_nr; ++i)
		if (m0_lnet_nid_eq(&info->li_peers[i].pei_primary, &a.n_nid)) {
			found = true;
			assert_true(info->li_peers[i].pei_multi_rail);
		}
	assert_true(found);
	m0_lnet_info_free(info);
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

static void put_of(size_t nr, bool ack)
{
	struct node_window window;
	struct node_op     op;

	node_window_init(&window, &b, BITS, nr + 100, 1);
	node_put(&op, &a, &b.n_nid, BITS, 60, nr, (uint8_t)nr, ack);
	node_op_wait(&op, 3000);
	assert_int_equal(node_op_result(&op), 0);
	assert_int_equal(op.no_acks_nr, ack ? 1 : 0);
	if (ack)
		assert_int_equal(op.no_mlength, nr);
	node_op_fini(&op);
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(window.nw_puts_nr, 1);
	assert_int_equal(window.nw_failed_nr, 0);
	assert_int_equal(window.nw_last.ev_mlength, nr);
	assert_int_equal(window.nw_last.ev_offset, 60);
	assert_true(window.nw_last.ev_hdr_data ==
		    (nr | (uint64_t)(uint8_t)nr << 32));
	assert_int_equal(window.nw_last.ev_match_bits, BITS);
	assert_true(
		m0_lnet_nid_eq(&window.nw_last.ev_initiator.lp_nid, &a.n_nid));
	assert_true(node_bytes_are(window.nw_bytes + 60, nr, (uint8_t)nr));
	node_window_fini(&window);
}

static void get_of(size_t nr)
{
	struct node_window window;
	struct node_op     op;
	size_t             i;

	node_window_init(&window, &b, BITS, nr + 100, 1);
	for (i = 0; i < nr; ++i)
		window.nw_bytes[40 + i] = node_byte(9, i);
	node_get(&op, &a, &b.n_nid, BITS, 40, nr);
	node_op_wait(&op, 3000);
	assert_int_equal(node_op_result(&op), 0);
	assert_int_equal(op.no_mlength, nr);
	assert_true(node_bytes_are(op.no_bytes, nr, 9));
	node_op_fini(&op);
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(window.nw_gets_nr, 1);
	assert_int_equal(window.nw_failed_nr, 0);
	node_window_fini(&window);
}

/* PUT with and without ACK, and GET, of all sizes, to the byte. */
static void data_of_all_sizes_is_moved(void **state)
{
	static const size_t sizes[] = { 0,     1,      2,       927,   928,
					929,   4096,   16383,   16384, 65535,
					65536, 262144, MIB - 1, MIB };
	unsigned            i;

	(void)state;
	up();
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		put_of(sizes[i], true);
		put_of(sizes[i], false);
		get_of(sizes[i]);
	}
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

/* Many at once, more than there are credits: all arrive. */
static void many_at_once_wait_for_credits(void **state)
{
	enum {
		NR = 200
	};
	static struct node_op ops[NR];
	struct node_window    window;
	unsigned              i;

	(void)state;
	up();
	node_window_init(&window, &b, BITS, 65536, NR);
	for (i = 0; i < NR; ++i)
		node_put(&ops[i], &a, &b.n_nid, BITS, i, 1 + i * 50, (uint8_t)i,
			 i % 2 == 0);
	for (i = 0; i < NR; ++i) {
		node_op_wait(&ops[i], 5000);
		assert_int_equal(node_op_result(&ops[i]), 0);
		node_op_fini(&ops[i]);
	}
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(window.nw_puts_nr, NR);
	node_window_fini(&window);
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

static void few_messages(struct m0_lnet_cfg *cfg)
{
	cfg->lc_msgs_max = 16;
}

/* A node with few messages takes those of a burst again and again as it is done
 * with them: those that wait are offered when one is free, not some time. */
static void burst_needs_no_retry(void **state)
{
	enum {
		NR = 80,
		BYTES = 64
	};
	struct node_window window;
	struct node_op     ops[NR];
	m0_time_t          begin;
	unsigned           i;

	(void)state;
	net_up(&wire);
	node_init(&a, &sim, "a", "10.0.0.1", NULL);
	node_init(&b, &sim, "b", "10.0.0.2", few_messages);
	node_window_init(&window, &b, BITS, NR * BYTES, -1);
	assert_int_equal(node_ping(&a, &b.n_nid, SOON_MS), 0);
	begin = m0_time_now();
	for (i = 0; i < NR; ++i)
		node_put(&ops[i], &a, &b.n_nid, BITS, i * BYTES, BYTES,
			 (uint8_t)i, false);
	for (i = 0; i < NR; ++i)
		node_op_wait(&ops[i], SOON_MS);
	while (window.nw_puts_nr < NR)
		m0_sim_run_ms(&sim, 1);
	assert_in_range(m0_time_sub(m0_time_now(), begin), 0,
			20 * M0_TIME_ONE_MSEC);
	for (i = 0; i < NR; ++i)
		node_op_fini(&ops[i]);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	down();
}

/* Each asks the other by thousands, at once: answers wait behind requests, and
 * all come all the same. */
static void gets_by_thousands_both_ways_all_end(void **state)
{
	enum {
		NR = 4000
	};
	static struct node_op ops[2 * NR];
	struct node_window    windows[2];
	unsigned              i;

	(void)state;
	up();
	node_window_init(&windows[0], &a, BITS, 1000, -1);
	node_window_init(&windows[1], &b, BITS, 1000, -1);
	for (i = 0; i < 2 * NR; ++i)
		node_get(&ops[i], i % 2 == 0 ? &a : &b,
			 i % 2 == 0 ? &b.n_nid : &a.n_nid, BITS, 0, 200);
	for (i = 0; i < 2 * NR; ++i) {
		node_op_wait(&ops[i], 20000);
		assert_int_equal(node_op_result(&ops[i]), 0);
		node_op_fini(&ops[i]);
	}
	node_window_unlink(&windows[0]);
	node_window_unlink(&windows[1]);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&windows[0]);
	node_window_fini(&windows[1]);
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

/* Over IPv6: another HELLO, another header. */
static void nodes_on_ipv6_talk(void **state)
{
	(void)state;
	net_up(&wire);
	node_init(&a, &sim, "a", "2001:db8::1", NULL);
	node_init(&b, &sim, "b", "2001:db8::2", NULL);
	assert_int_equal(node_ping(&a, &b.n_nid, SOON_MS), 0);
	assert_int_equal(node_discover(&b, &a.n_nid, SOON_MS, NULL), 0);
	put_of(5000, true);
	get_of(MIB);
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

/* Both begin at once: one set of connections comes to be, nothing is lost. */
static void connects_that_cross_lose_nothing(void **state)
{
	struct node_window windows[2];
	struct node_op     ops[2];
	unsigned           i;

	(void)state;
	for (i = 0; i < 20; ++i) {
		up();
		node_window_init(&windows[0], &a, BITS, 100, 1);
		node_window_init(&windows[1], &b, BITS, 100, 1);
		node_put(&ops[0], &a, &b.n_nid, BITS, 0, 100, 1, true);
		/* In step, and by and by less so. */
		m0_nanosleep(i * 10 * 1000, NULL);
		node_put(&ops[1], &b, &a.n_nid, BITS, 0, 100, 2, true);
		node_op_wait(&ops[0], 10000);
		node_op_wait(&ops[1], 10000);
		assert_int_equal(node_op_result(&ops[0]), 0);
		assert_int_equal(node_op_result(&ops[1]), 0);
		m0_sim_run_ms(&sim, 10000);
		assert_in_range(node_conns_nr(&a), 1, 6);
		is_at_rest(&a);
		is_at_rest(&b);
		node_op_fini(&ops[0]);
		node_op_fini(&ops[1]);
		node_window_fini(&windows[0]);
		node_window_fini(&windows[1]);
		down();
	}
}

/* An hour without a word: signs of life alone, the connections stay. */
static void hour_of_silence_keeps_connections(void **state)
{
	unsigned before;
	unsigned conns_nr;

	(void)state;
	up();
	put_of(100, true);
	m0_sim_run_ms(&sim, 10000);
	before = m0_sim_host_dials_nr(a.n_host);
	conns_nr = node_conns_nr(&a);
	m0_sim_run_ms(&sim, 3600 * 1000);
	assert_int_equal(node_conns_nr(&a), conns_nr);
	put_of(100, true);
	get_of(100);
	assert_int_equal(m0_sim_host_dials_nr(a.n_host) - before, 0);
	is_at_rest(&a);
	down();
}

/* A hundred peers of one node, all at once, both ways. */
static void hundred_peers_are_served(void **state)
{
	enum {
		NR = 100
	};
	static struct node        nodes[NR];
	static struct node_op     ops[2 * NR];
	static struct node_window windows[NR];
	static char               names[NR][8];
	struct node_window        window;
	char                      addr[32];
	unsigned                  i;

	(void)state;
	up();
	node_window_init(&window, &a, BITS, 10000, NR);
	for (i = 0; i < NR; ++i) {
		(void)snprintf(names[i], sizeof names[i], "n%u", i);
		(void)snprintf(addr, sizeof addr, "10.0.1.%u", i);
		node_init(&nodes[i], &sim, names[i], addr, NULL);
		node_window_init(&windows[i], &nodes[i], BITS, 10000, 1);
	}
	for (i = 0; i < NR; ++i) {
		node_put(&ops[i], &nodes[i], &a.n_nid, BITS, 0, 10000, 1, true);
		node_put(&ops[NR + i], &a, &nodes[i].n_nid, BITS, 0, 10000, 2,
			 true);
	}
	for (i = 0; i < 2 * NR; ++i) {
		node_op_wait(&ops[i], 20000);
		assert_int_equal(node_op_result(&ops[i]), 0);
		node_op_fini(&ops[i]);
	}
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(window.nw_puts_nr, NR);
	node_window_fini(&window);
	is_at_rest(&a);
	for (i = 0; i < NR; ++i) {
		node_window_fini(&windows[i]);
		node_fini(&nodes[i]);
	}
	down();
}

/* -- it goes wrong --------------------------------------------------------- */

/* Nobody there, nobody listening, a host that cannot be reached: told so. */
static void peer_that_is_not_there_is_told(void **state)
{
	struct m0_lnet_nid nid;
	struct node_op     op;
	m0_time_t          begin;

	(void)state;
	up();
	node_close(&b);
	begin = m0_sim_now(&sim);
	assert_int_equal(node_ping(&a, &b.n_nid, 5000), -ECONNREFUSED);
	assert_true(m0_sim_now(&sim) - begin < M0_TIME_ONE_SECOND);
	m0_sim_host_unreachable(b.n_host, true);
	/* Its back-off still runs. */
	m0_sim_run_ms(&sim, 10000);
	assert_int_equal(node_ping(&a, &b.n_nid, 5000), -EHOSTUNREACH);
	assert_int_equal(m0_lnet_nid_parse(&nid, "10.0.0.77"), 0);
	assert_int_equal(node_ping(&a, &nid, 5000), -EHOSTUNREACH);
	/* No way to such a network at all. */
	assert_int_equal(m0_lnet_nid_parse(&nid, "10.0.0.2@o2ib"), 0);
	assert_int_equal(node_ping(&a, &nid, 5000), -EHOSTUNREACH);
	node_put(&op, &a, &nid, BITS, 0, 10, 0, true);
	node_op_wait(&op, 1000);
	assert_int_equal(node_op_result(&op), -EHOSTUNREACH);
	node_op_fini(&op);
	is_at_rest(&a);
	down();
}

/* After failures a peer is tried ever more seldom, at most each minute; one
 * success, and all is as before. */
static void backoff_doubles_and_is_reset(void **state)
{
	unsigned nr = 0;
	unsigned late = 0;
	unsigned i;
	unsigned before;

	(void)state;
	up();
	node_close(&b);
	before = m0_sim_host_dials_nr(a.n_host);
	for (i = 0; i < 6000; ++i) {
		(void)node_ping(&a, &b.n_nid, 50);
		m0_sim_run_ms(&sim, 100);
		if (i == 2999)
			nr = m0_sim_host_dials_nr(a.n_host) - before;
	}
	late = m0_sim_host_dials_nr(a.n_host) - before - nr;
	/* In five minutes: 1, 2, 4 ... 60 s; then one a minute. */
	assert_in_range(nr, 6, 14);
	assert_in_range(late, 3, 6);
	node_open(&b);
	m0_sim_run_ms(&sim, 80000);
	assert_int_equal(node_ping(&a, &b.n_nid, 1000), 0);
	m0_sim_host_reset(a.n_host);
	m0_sim_run_ms(&sim, 2000);
	assert_int_equal(node_ping(&a, &b.n_nid, 5000), 0);
	is_at_rest(&a);
	down();
}

/* A connection breaks in the middle of 1 MiB, at any place of it. */
static void reset_amid_payload_ends_each_once(void **state)
{
	struct m0_sim_stream_cfg slow = wire;
	struct node_window       window;
	struct node_op           ops[8];
	unsigned                 i;
	unsigned                 k;

	(void)state;
	slow.ssc_rate_bytes = 100 * 1000 * 1000;
	slow.ssc_window_bytes = 100 * 1000;
	for (k = 0; k < 30; ++k) {
		net_up(&slow);
		node_init(&a, &sim, "a", "10.0.0.1", NULL);
		node_init(&b, &sim, "b", "10.0.0.2", NULL);
		assert_int_equal(node_ping(&a, &b.n_nid, 1000), 0);
		node_window_init(&window, &b, BITS, MIB, -1);
		for (i = 0; i < 8; ++i)
			if (i % 2 == 0)
				node_put(&ops[i], &a, &b.n_nid, BITS, 0, MIB,
					 (uint8_t)i, i % 4 == 0);
			else
				node_get(&ops[i], &a, &b.n_nid, BITS, 0, MIB);
		m0_nanosleep((k + 1) * 3000 * 1000ULL, NULL);
		m0_sim_host_reset(b.n_host);
		for (i = 0; i < 8; ++i) {
			node_op_wait(&ops[i], TRANSACTION_MS + 10000);
			node_op_fini(&ops[i]);
		}
		m0_sim_run_ms(&sim, 61000);
		is_at_rest(&a);
		is_at_rest(&b);
		node_window_unlink(&window);
		m0_sim_run_ms(&sim, 1000);
		node_window_fini(&window);
		/* And they find each other again. */
		assert_int_equal(node_ping(&a, &b.n_nid, 5000), 0);
		down();
	}
}

/* The other side vanishes without a word: what was under way ends by time-outs,
 * the driver's for what is being sent, the transaction's for answers. */
static void death_half_open_ends_by_timeouts(void **state)
{
	struct node_window window;
	struct node_op     waiting;
	struct node_op     sending;
	struct node_op     later;

	(void)state;
	up();
	put_of(100, true);
	node_window_init(&window, &b, BITS, MIB, -1);
	/* Asked, and the answer is lost. */
	node_get(&waiting, &a, &b.n_nid, BITS, 0, 1000);
	m0_nanosleep(60 * 1000, NULL);
	m0_sim_host_cut(b.n_host, true);
	node_put(&sending, &a, &b.n_nid, BITS, 0, MIB, 3, true);
	node_op_wait(&sending, LND_MS + 5000);
	assert_in_range(sending.no_end - sending.no_begin,
			(LND_MS - 5000) * M0_TIME_ONE_MSEC,
			(LND_MS + 5000) * M0_TIME_ONE_MSEC);
	assert_true(node_op_result(&sending) < 0);
	/* No connection is left; a new one is not answered. */
	node_put(&later, &a, &b.n_nid, BITS, 0, 10, 3, true);
	node_op_wait(&later, LND_MS + 15000);
	assert_true(node_op_result(&later) < 0);
	node_op_wait(&waiting, TRANSACTION_MS + 5000);
	assert_true(node_op_result(&waiting) < 0);
	node_op_fini(&waiting);
	node_op_fini(&sending);
	node_op_fini(&later);
	is_at_rest(&a);
	/* Only the cable was cut: the nodes find each other again. */
	m0_sim_host_cut(b.n_host, false);
	m0_sim_run_ms(&sim, 70000);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	put_of(100, true);
	down();
}

/* A cut that is mended in time costs nothing but the time. */
static void cut_mended_in_time_loses_nothing(void **state)
{
	struct node_window window;
	struct node_op     op;

	(void)state;
	up();
	put_of(100, true);
	node_window_init(&window, &b, BITS, MIB, 1);
	m0_sim_host_cut_way(b.n_host, a.n_host, true);
	node_put(&op, &a, &b.n_nid, BITS, 0, MIB, 3, true);
	m0_sim_run_ms(&sim, 20000);
	assert_false(node_op_is_over(&op));
	m0_sim_host_cut_way(b.n_host, a.n_host, false);
	node_op_wait(&op, 1000);
	assert_int_equal(node_op_result(&op), 0);
	node_op_fini(&op);
	node_window_fini(&window);
	is_at_rest(&a);
	down();
}

/* A slow reader gets it slowly: progress is no time-out. */
static void reader_slow_gets_it_all(void **state)
{
	struct node_window window;
	struct node_op     op;

	(void)state;
	up();
	put_of(100, true);
	m0_sim_host_slow(b.n_host, 8000);
	node_window_init(&window, &b, BITS, MIB, 1);
	node_put(&op, &a, &b.n_nid, BITS, 0, MIB, 3, true);
	node_op_wait(&op, 145000);
	assert_int_equal(node_op_result(&op), 0);
	assert_true(op.no_end - op.no_begin > 100 * M0_TIME_ONE_SECOND);
	node_op_fini(&op);
	assert_true(node_bytes_are(window.nw_bytes, MIB, 3));
	m0_sim_host_slow(b.n_host, 0);
	m0_sim_run_ms(&sim, 1000);
	node_window_fini(&window);
	is_at_rest(&a);
	down();
}

/* A peer that is killed and comes back is another one: what it knew of before
 * is over, and it is reached again soon. */
static void peer_restarted_is_found_again(void **state)
{
	unsigned i;

	(void)state;
	up();
	for (i = 0; i < 5; ++i) {
		put_of(1000, true);
		if (i % 2 == 0) {
			node_close(&b);
		} else {
			node_die(&b);
			m0_sim_host_cut(b.n_host, false);
		}
		node_open(&b);
		/* The node that sends first notices the change. */
		if (i % 3 == 0)
			assert_int_equal(node_ping(&b, &a.n_nid, 10000), 0);
		else
			while (node_ping(&a, &b.n_nid, 5000) != 0)
				;
	}
	put_of(1000, true);
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

/* A node is closed in the middle of everything: all of it ends, at once. */
static void close_amid_everything_ends_it(void **state)
{
	struct m0_sim_stream_cfg  slow = wire;
	static struct node_window windows[10];
	static struct node_op     ops[40];
	struct m0_lnet_nid        nowhere;
	m0_time_t                 begin;
	unsigned                  i;
	unsigned                  k;

	(void)state;
	slow.ssc_rate_bytes = 50 * 1000 * 1000;
	assert_int_equal(m0_lnet_nid_parse(&nowhere, "10.0.0.99"), 0);
	for (k = 0; k < 20; ++k) {
		net_up(&slow);
		node_init(&a, &sim, "a", "10.0.0.1", NULL);
		node_init(&b, &sim, "b", "10.0.0.2", NULL);
		if (k % 2 == 0)
			put_of(100, true);
		for (i = 0; i < 5; ++i) {
			node_window_init(&windows[i], &a, i, MIB, -1);
			node_window_init(&windows[5 + i], &b, i, MIB, -1);
		}
		for (i = 0; i < 40; ++i) {
			struct node       *n = i % 2 == 0 ? &a : &b;
			struct m0_lnet_nid dst = i % 10 == 9  ? nowhere
						 : i % 2 == 0 ? b.n_nid
							      : a.n_nid;

			if (i % 3 == 0)
				node_get(&ops[i], n, &dst, i % 6, 0,
					 1000 * (size_t)i);
			else
				node_put(&ops[i], n, &dst, i % 6, 0,
					 25000 * (size_t)i, (uint8_t)i,
					 i % 4 == 0);
		}
		m0_nanosleep(k * 1500 * 1000, NULL);
		begin = m0_sim_now(&sim);
		node_close(&a);
		assert_true(m0_sim_now(&sim) - begin < 2 * M0_TIME_ONE_SECOND);
		for (i = 0; i < 40; i += 2)
			node_op_fini(&ops[i]);
		node_close(&b);
		for (i = 1; i < 40; i += 2)
			node_op_fini(&ops[i]);
		for (i = 0; i < 10; ++i)
			node_window_fini(&windows[i]);
		down();
	}
}

/* An operation is unlinked in every state it can be in: it ends once. */
static void unlink_at_any_time_ends_it_once(void **state)
{
	struct m0_sim_stream_cfg slow = wire;
	struct node_window       window;
	struct node_op           op;
	unsigned                 k;

	(void)state;
	slow.ssc_rate_bytes = 100 * 1000 * 1000;
	net_up(&slow);
	node_init(&a, &sim, "a", "10.0.0.1", NULL);
	node_init(&b, &sim, "b", "10.0.0.2", NULL);
	for (k = 0; k < 120; ++k) {
		node_window_init(&window, &b, BITS, MIB, 1);
		if (k % 3 == 0)
			node_get(&op, &a, &b.n_nid, BITS, 0, MIB);
		else
			node_put(&op, &a, &b.n_nid, BITS, 0, MIB, 1,
				 k % 3 == 1);
		m0_nanosleep(k * 110 * 1000, NULL);
		if (k % 2 == 0 && !node_op_is_over(&op))
			node_op_unlink(&op);
		else
			node_window_unlink(&window);
		node_op_wait(&op, TRANSACTION_MS + 1000);
		node_op_fini(&op);
		m0_sim_run_ms(&sim, 1000);
		node_window_unlink(&window);
		m0_sim_run_ms(&sim, 100);
		node_window_fini(&window);
	}
	is_at_rest(&a);
	is_at_rest(&b);
	down();
}

static void tune_no_listener(struct m0_lnet_cfg *cfg)
{
	cfg->lc_accept = M0_LNET_ACCEPT_NONE;
}

/* A node that nobody can connect to is answered on what it makes itself. */
static void node_without_listener_is_answered(void **state)
{
	(void)state;
	net_up(&wire);
	node_init(&a, &sim, "a", "10.0.0.1", tune_no_listener);
	node_init(&b, &sim, "b", "10.0.0.2", NULL);
	assert_int_equal(node_ping(&b, &a.n_nid, 5000), -ECONNREFUSED);
	assert_int_equal(node_ping(&a, &b.n_nid, 5000), 0);
	put_of(MIB, true);
	get_of(MIB);
	assert_int_equal(node_ping(&b, &a.n_nid, 5000), 0);
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ping_is_answered),
		cmocka_unit_test(discovery_tells_both_sides),
		cmocka_unit_test(data_of_all_sizes_is_moved),
		cmocka_unit_test(many_at_once_wait_for_credits),
		cmocka_unit_test(burst_needs_no_retry),
		cmocka_unit_test(gets_by_thousands_both_ways_all_end),
		cmocka_unit_test(nodes_on_ipv6_talk),
		cmocka_unit_test(connects_that_cross_lose_nothing),
		cmocka_unit_test(hour_of_silence_keeps_connections),
		cmocka_unit_test(hundred_peers_are_served),
		cmocka_unit_test(peer_that_is_not_there_is_told),
		cmocka_unit_test(backoff_doubles_and_is_reset),
		cmocka_unit_test(reset_amid_payload_ends_each_once),
		cmocka_unit_test(death_half_open_ends_by_timeouts),
		cmocka_unit_test(cut_mended_in_time_loses_nothing),
		cmocka_unit_test(reader_slow_gets_it_all),
		cmocka_unit_test(peer_restarted_is_found_again),
		cmocka_unit_test(close_amid_everything_ends_it),
		cmocka_unit_test(unlink_at_any_time_ends_it_once),
		cmocka_unit_test(node_without_listener_is_answered),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("lnet-story", tests, NULL, NULL);
}

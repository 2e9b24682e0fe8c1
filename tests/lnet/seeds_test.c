/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A few nodes that do everything at random, on a network that fails at random.
 * Whatever comes of it: each operation has its events and ends once, each MD
 * ends once, what is said to have arrived is what was sent, and in the end all
 * credits are home, nothing is held and nothing is lost of the heap.
 *
 * Numbers of the network, of nodes and of what they do are drawn from the seed:
 * M0_SEED=n repeats one, M0_SEEDS_NR=n runs more.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lnd/ksock/ksock_wire.h"
#include "lnet/node.h"
#include "lnet/wire/wire.h"

enum {
	SEEDS_NR = 100,
	NODES_MAX = 6,
	SHAPES_NR = 6,
	OPS_MAX = 150,
	PROBES_MAX = 40,
	STRANGERS_MAX = 30,
	STEPS_NR = 400,
	SLOT_BYTES = 128 * 1024,
	SOURCE_BYTES = 256 * 1024,
	/** Match bits: each operation writes to a place of its own, reads any.
	 */
	BITS_SINK = 0,
	BITS_SOURCE = 1,
	/** All time-outs of a node, one after the other, and then some. */
	OVER_MS = 400 * 1000
};

struct party {
	struct node        p_node;
	struct node_window p_sink;
	struct node_window p_source;
};

struct asking {
	struct m0_lnet_probe as_probe;
	bool                 as_is_used;
	bool                 as_is_over;
};

static struct world {
	struct m0_sim *w_sim;
	unsigned       w_nodes_nr;
	uint64_t       w_shape;
	struct party   w_party[NODES_MAX];
	struct node_op w_ops[OPS_MAX];
	unsigned       w_ops_nr;
	struct asking  w_asking[PROBES_MAX];
	unsigned       w_asking_nr;
	/** Peers with bad manners, and bad names. */
	struct m0_sim_raw *w_strangers[STRANGERS_MAX];
	unsigned           w_strangers_nr;
} world;

/** Over all seeds: was anything proved? */
static struct {
	unsigned s_ops_nr;
	unsigned s_good_nr;
	unsigned s_failed_nr;
	unsigned s_probes_nr;
	unsigned s_answered_nr;
	unsigned s_restarts_nr;
	unsigned s_faults_nr;
	unsigned s_strangers_nr;
} sums;

static const char *const names[] = { "n0", "n1", "n2", "n3", "n4", "n5" };

static uint64_t draw(uint64_t bound)
{
	return m0_sim_rand(world.w_sim, bound);
}

static struct party *any_party(void)
{
	return &world.w_party[draw(world.w_nodes_nr)];
}

/* One of the NIDs of a party. */
static const struct m0_lnet_nid *any_nid(const struct party *party)
{
	return &party->p_node.n_nids[draw(party->p_node.n_nids_nr)];
}

static struct party *other_party(const struct party *party)
{
	struct party *other;

	do
		other = any_party();
	while (other == party);
	return other;
}

/* -- nodes ----------------------------------------------------------------- */

static void windows_open(struct party *party)
{
	uint8_t fill = (uint8_t)(party - world.w_party);
	size_t  i;

	node_window_init(&party->p_sink, &party->p_node, BITS_SINK,
			 OPS_MAX * SLOT_BYTES, M0_LNET_MD_THRESHOLD_INF);
	party->p_sink.nw_is_checked = true;
	node_window_init(&party->p_source, &party->p_node, BITS_SOURCE,
			 SOURCE_BYTES, M0_LNET_MD_THRESHOLD_INF);
	for (i = 0; i < SOURCE_BYTES; ++i)
		party->p_source.nw_bytes[i] = node_byte(fill, i);
}

static void windows_close(struct party *party)
{
	node_window_fini(&party->p_sink);
	node_window_fini(&party->p_source);
}

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_peer_credits = (unsigned)(1 + draw(8));
	cfg->lc_conns_per_peer = (unsigned)(1 + draw(3));
	cfg->lc_discovery = draw(4) != 0;
}

/* Opens node `i`, with the NIDs that the shape of the world gives it. */
static void node_make(unsigned i)
{
	static const uint16_t nums[] = { 0, 1 };
	static const struct {
		const char     *nets;
		const char     *addrs;
		const uint16_t *nums;
	} shapes[SHAPES_NR] = {
		{ "tcp(10.0.0.%u)", "10.0.0.%u", NULL },
		{ "tcp(10.0.0.%u)", "10.0.0.%u", NULL },
		{ "tcp(fd00::%u)", "fd00::%u", NULL },
		/* Two on one network, two on two, and mixed. */
		{ "tcp(10.0.0.%u,10.0.1.%u)", "10.0.0.%u 10.0.1.%u", NULL },
		{ "tcp(10.0.0.%u),tcp1(10.0.1.%u)", "10.0.0.%u 10.0.1.%u",
		  nums },
		{ "tcp(10.0.0.%u,fd00::%u)", "10.0.0.%u fd00::%u", NULL },
	};
	char nets[128];
	char addrs[128];

	(void)snprintf(nets, sizeof nets, shapes[world.w_shape].nets, 1 + i,
		       1 + i);
	(void)snprintf(addrs, sizeof addrs, shapes[world.w_shape].addrs, 1 + i,
		       1 + i);
	node_init_nids(&world.w_party[i].p_node, world.w_sim, names[i], nets,
		       addrs, shapes[world.w_shape].nums, tune);
}

static void world_open(struct m0_sim *sim)
{
	struct m0_sim_stream_cfg cfg;
	unsigned                 i;

	world.w_sim = sim;
	world.w_ops_nr = 0;
	world.w_asking_nr = 0;
	world.w_strangers_nr = 0;
	memset(world.w_asking, 0, sizeof world.w_asking);
	cfg = (struct m0_sim_stream_cfg){
		.ssc_rate_bytes = draw(2) == 0 ? 0 : 1000000ULL << draw(8),
		.ssc_latency_ns = 1000ULL << draw(15),
		.ssc_jitter_ns = 1000ULL << draw(12),
		.ssc_window_bytes = 4096ULL << draw(8),
		.ssc_piece_bytes_max = 64ULL << draw(10),
	};
	m0_sim_net_init(sim, &cfg);
	world.w_nodes_nr = (unsigned)(2 + draw(NODES_MAX - 1));
	world.w_shape = draw(SHAPES_NR);
	(void)m0_sim_host_add("stranger", "10.0.0.99 fd00::99");
	for (i = 0; i < world.w_nodes_nr; ++i) {
		node_make(i);
		windows_open(&world.w_party[i]);
	}
}

/* -- what they do ---------------------------------------------------------- */

static void do_put(void)
{
	struct party *party = any_party();
	unsigned      nr = world.w_ops_nr;
	size_t        bytes = (size_t)draw(2ULL << draw(17));

	if (nr == OPS_MAX)
		return;
	++world.w_ops_nr;
	node_put(&world.w_ops[nr], &party->p_node, any_nid(other_party(party)),
		 BITS_SINK, nr * SLOT_BYTES, min64u(bytes, SLOT_BYTES),
		 (uint8_t)nr, draw(2) == 0);
}

static void do_get(void)
{
	struct party *party = any_party();
	unsigned      nr = world.w_ops_nr;
	size_t        bytes = (size_t)draw(2ULL << draw(17));

	if (nr == OPS_MAX)
		return;
	++world.w_ops_nr;
	/* From its start: what it read is known by whom it asked. */
	node_get(&world.w_ops[nr], &party->p_node, any_nid(other_party(party)),
		 BITS_SOURCE, 0, min64u(bytes, SOURCE_BYTES));
}

static void do_unlink(void)
{
	struct node_op *op;

	if (world.w_ops_nr == 0)
		return;
	op = &world.w_ops[draw(world.w_ops_nr)];
	if (!node_op_is_over(op))
		node_op_unlink(op);
}

static void asked(struct m0_lnet_probe *probe)
{
	struct asking *asking = container_of(probe, struct asking, as_probe);

	assert_false(asking->as_is_over);
	asking->as_is_over = true;
	sums.s_answered_nr += probe->pr_status == 0;
}

static void do_probe(void)
{
	struct party  *party = any_party();
	struct asking *asking;

	if (world.w_asking_nr == PROBES_MAX)
		return;
	asking = &world.w_asking[world.w_asking_nr++];
	*asking = (struct asking){
		.as_is_used = true,
		.as_probe = { .pr_kind = draw(2) == 0 ? M0_LNET_PING
						      : M0_LNET_DISCOVER,
			      .pr_nid = *any_nid(other_party(party)),
			      .pr_self = m0_lnet_nid_any,
			      .pr_timeout_ms = draw(2) * (1 + draw(20000)),
			      .pr_force = draw(2) == 0,
			      .pr_done = asked },
	};
	assert_int_equal(m0_lnet_probe(party->p_node.n_lnet, &asking->as_probe),
			 0);
	++sums.s_probes_nr;
}

static void do_cut(void)
{
	struct party *party = any_party();

	++sums.s_faults_nr;
	if (draw(3) == 0)
		m0_sim_host_cut(party->p_node.n_host, true);
	else
		m0_sim_host_cut_way(party->p_node.n_host,
				    other_party(party)->p_node.n_host, true);
}

static void heal(void)
{
	unsigned i;

	for (i = 0; i < world.w_nodes_nr; ++i) {
		m0_sim_host_cut(world.w_party[i].p_node.n_host, false);
		m0_sim_host_slow(world.w_party[i].p_node.n_host, 0);
		m0_sim_host_unreachable(world.w_party[i].p_node.n_host, false);
	}
}

static void do_reset(void)
{
	struct party *party = any_party();

	++sums.s_faults_nr;
	m0_sim_host_reset_way(party->p_node.n_host,
			      other_party(party)->p_node.n_host);
}

static void do_slow(void)
{
	m0_sim_host_slow(any_party()->p_node.n_host, 500ULL << draw(12));
}

static void do_restart(void)
{
	struct party *party = any_party();

	++sums.s_restarts_nr;
	if (draw(2) == 0)
		node_close(&party->p_node);
	else
		node_die(&party->p_node);
	windows_close(party);
	if (draw(2) == 0)
		m0_sim_run_ms(world.w_sim, draw(100000));
	m0_sim_host_cut(party->p_node.n_host, false);
	node_open(&party->p_node);
	windows_open(party);
}

static void do_window(void)
{
	struct party *party = any_party();

	node_window_unlink(&party->p_source);
	m0_sim_run_ms(world.w_sim, 60 * 1000);
	if (party->p_source.nw_unlinked_nr == 0)
		m0_sim_fail(world.w_sim, "%s: a window does not end",
			    party->p_node.n_name);
	node_window_unlink(&party->p_sink);
	m0_sim_run_ms(world.w_sim, 60 * 1000);
	windows_close(party);
	windows_open(party);
}

/* -- strangers ------------------------------------------------------------- */

struct words {
	uint8_t wo_bytes[4096];
	size_t  wo_nr;
};

static void word_add(struct words *words, const void *bytes, size_t nr)
{
	memcpy(words->wo_bytes + words->wo_nr, bytes, nr);
	words->wo_nr += nr;
}

static void msg_add(struct words *words, const struct m0_lnet_nid *src,
		    const struct m0_lnet_nid *dst, bool large)
{
	struct m0_sock_frame frame = {
		.sfr_type = draw(8) == 0 ? M0_SOCK_FRAME_NOOP
					 : M0_SOCK_FRAME_LNET,
		.sfr_cookie = { draw(4) == 0 ? 2 + draw(5) : 0 },
	};
	/* Portals that no wrong bits make the one of windows: what the nodes
	 * lend to each other is not for strangers. */
	struct m0_lnet_hdr hdr = {
		.lhd_dest_nid = *dst,
		.lhd_src_nid = *src,
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = M0_LNET_PID_LUSTRE,
		.lhd_type = (uint32_t)draw(4),
		.lhd_match_bits = draw(2) << 63,
		.lhd_portal = (uint32_t)(35 * draw(2)),
		.lhd_length = 300,
	};
	uint8_t buf[M0_LNET_HDR_LARGE_BYTES];

	if (M0_IN(hdr.lhd_type, (M0_LNET_PUT, M0_LNET_REPLY)))
		hdr.lhd_payload_bytes = (uint32_t)draw(100);
	m0_sock__frame_encode(&frame, buf);
	word_add(words, buf, M0_SOCK_FRAME_BYTES);
	if (frame.sfr_type == M0_SOCK_FRAME_NOOP)
		return;
	word_add(words, buf, m0_lnet__hdr_encode(&hdr, large, buf));
	words->wo_nr += hdr.lhd_payload_bytes;
}

/* A request, a HELLO, messages; a part of it, and a few bits wrong. */
static void words_make(struct words *words, const struct m0_lnet_nid *src,
		       const struct m0_lnet_nid *dst)
{
	bool                   large = !m0_lnet_nid_is_nid4(dst);
	struct m0_sock_request req = { .sr_nid = *dst };
	struct m0_sock_hello   hello = {
		  .sh_version = large ? M0_SOCK_V4 : M0_SOCK_V3,
		  .sh_src_nid = *src,
		  .sh_dst_nid = *dst,
		  .sh_src_pid = M0_LNET_PID_LUSTRE,
		  .sh_src_incarnation = 1 + draw(3),
		  .sh_ctype = (uint32_t)(1 + draw(3)),
	};
	uint8_t  buf[M0_SOCK_HELLO_BYTES_MAX];
	uint64_t i;

	word_add(words, buf, m0_sock__request_encode(&req, buf));
	word_add(words, buf, m0_sock__hello_encode(&hello, buf));
	for (i = draw(12); i > 0; --i)
		msg_add(words, src, dst, large);
	for (i = draw(3); i > 0; --i)
		words->wo_bytes[draw(words->wo_nr)] ^= (uint8_t)(1 << draw(8));
	if (draw(3) == 0)
		words->wo_nr = (size_t)draw(words->wo_nr + 1);
}

static void do_stranger(void)
{
	struct party             *party = any_party();
	const struct m0_lnet_nid *dst = any_nid(party);
	struct m0_lnet_nid        src;
	struct words              words = {};
	bool                      six = dst->ln_size != 0;
	const char               *from = six ? "fd00::99" : "10.0.0.99";
	char                      to[INET6_ADDRSTRLEN];
	uint16_t                  port = 1023;
	struct m0_sim_raw        *raw;

	if (world.w_strangers_nr == STRANGERS_MAX)
		return;
	assert_int_equal(m0_lnet_nid_parse(&src, from), 0);
	src.ln_num = dst->ln_num;
	/* The stranger may claim to be one of the nodes. */
	if (draw(2) == 0)
		src = *any_nid(other_party(party));
	(void)inet_ntop(six ? AF_INET6 : AF_INET, dst->ln_addr, to, sizeof to);
	while (!m0_sim_port_is_free(from, port))
		--port;
	raw = m0_sim_raw_dial(from, port, to, NODE_PORT);
	world.w_strangers[world.w_strangers_nr++] = raw;
	++sums.s_strangers_nr;
	if (draw(4) != 0 &&
	    m0_lnet_nid_is_nid4(&src) == m0_lnet_nid_is_nid4(dst)) {
		words_make(&words, &src, dst);
	} else {
		words.wo_nr = (size_t)draw(200);
		while (words.wo_nr > 0 && draw(20) != 0)
			words.wo_bytes[draw(words.wo_nr)] = (uint8_t)draw(256);
	}
	m0_sim_raw_mute(raw, draw(3) == 0);
	m0_sim_raw_send(raw, words.wo_bytes, words.wo_nr);
}

static void do_stranger_leaves(void)
{
	struct m0_sim_raw *raw;

	if (world.w_strangers_nr == 0)
		return;
	raw = world.w_strangers[draw(world.w_strangers_nr)];
	if (draw(2) == 0)
		m0_sim_raw_close(raw);
	else
		m0_sim_raw_reset(raw);
}

static void pass_time(void)
{
	static const uint64_t spans_ns[] = { 1000, 100000, 10000000, 1000000000,
					     20000000000 };
	uint64_t              span = spans_ns[draw(16) == 0 ? 4 : draw(4)];

	m0_nanosleep(draw(span) + 1, NULL);
}

static void step(void)
{
	uint64_t what = draw(100);

	if (what < 35)
		do_put();
	else if (what < 55)
		do_get();
	else if (what < 61)
		do_unlink();
	else if (what < 69)
		do_probe();
	else if (what < 74)
		do_cut();
	else if (what < 83)
		heal();
	else if (what < 87)
		do_reset();
	else if (what < 90)
		do_slow();
	else if (what < 92)
		do_restart();
	else if (what < 93)
		do_window();
	else if (what < 95)
		do_stranger();
	else if (what < 96)
		do_stranger_leaves();
	else
		pass_time();
	if (draw(3) == 0)
		pass_time();
}

/* -- what must hold -------------------------------------------------------- */

static bool all_is_over(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < world.w_ops_nr; ++i)
		if (!node_op_is_over(&world.w_ops[i]))
			return false;
	for (i = 0; i < world.w_asking_nr; ++i)
		if (!world.w_asking[i].as_is_over)
			return false;
	return true;
}

static void op_look(struct node_op *op)
{
	++sums.s_ops_nr;
	if (node_op_result(op) != 0) {
		++sums.s_failed_nr;
		return;
	}
	++sums.s_good_nr;
	if (op->no_is_get) {
		assert_int_equal(op->no_mlength, op->no_nr);
		assert_true(op->no_nr == 0 ||
			    node_bytes_are(op->no_bytes, op->no_nr,
					   op->no_bytes[0]));
	} else if (op->no_ack) {
		assert_int_equal(op->no_mlength, op->no_nr);
	}
}

/* A place is as the operation that owns it says, or as it was. */
static void sink_look(const struct party *party)
{
	const struct node_op *op;
	const uint8_t        *slot;
	unsigned              i;

	for (i = 0; i < world.w_ops_nr; ++i) {
		op = &world.w_ops[i];
		slot = party->p_sink.nw_bytes + (size_t)i * SLOT_BYTES;
		/* The rest of the place is untouched. */
		if (op->no_is_get || op->no_nr < SLOT_BYTES)
			assert_int_equal(slot[SLOT_BYTES - 1], 0);
	}
}

static void rest_look(struct party *party)
{
	struct m0_lnet_info *info;
	unsigned             i;
	unsigned             k;

	assert_int_equal(m0_lnet_info_get(party->p_node.n_lnet, &info), 0);
	assert_int_equal(info->li_stats.ls_msgs_alloc, 0);
	assert_int_equal(info->li_stats.ls_rst_alloc, 0);
	for (i = 0; i < info->li_nis_nr; ++i)
		assert_int_equal(info->li_nis[i].nii_credits_free,
				 (int)info->li_nis[i].nii_credits);
	for (i = 0; i < info->li_peers_nr; ++i)
		for (k = 0; k < info->li_peers[i].pei_nis_nr; ++k)
			assert_int_equal(
				info->li_peers[i].pei_nis[k].pni_credits_free,
				(int)info->li_peers[i]
					.pei_nis[k]
					.pni_credits_max);
	m0_lnet_info_free(info);
}

static void world_end(void)
{
	unsigned i;

	heal();
	for (i = 0; i < world.w_strangers_nr; ++i)
		m0_sim_raw_close(world.w_strangers[i]);
	if (!m0_sim_run_until(world.w_sim, all_is_over, NULL,
			      OVER_MS * M0_TIME_ONE_MSEC))
		m0_sim_fail(world.w_sim, "not all is over in time");
	/* Time-outs of the driver end incoming messages; those of transactions
	 * end the node's own pings and pushes. */
	m0_sim_run_ms(world.w_sim, 320 * 1000);
	for (i = 0; i < world.w_nodes_nr; ++i) {
		rest_look(&world.w_party[i]);
		sink_look(&world.w_party[i]);
	}
}

/* In peace again, everybody reaches everybody. */
static void world_meets(void)
{
	unsigned i;
	unsigned k;

	for (i = 0; i < world.w_nodes_nr; ++i)
		for (k = 0; k < world.w_nodes_nr; ++k)
			assert_int_equal(node_ping(&world.w_party[i].p_node,
						   any_nid(&world.w_party[k]),
						   5000),
					 0);
}

static void run(struct m0_sim *sim, void *arg)
{
	bool     amid = m0_sim_rand(sim, 3) == 0;
	unsigned i;

	(void)arg;
	world_open(sim);
	for (i = 0; i < STEPS_NR; ++i)
		step();
	if (!amid) {
		world_end();
		world_meets();
	}
	for (i = 0; i < world.w_nodes_nr; ++i) {
		node_fini(&world.w_party[i].p_node);
		windows_close(&world.w_party[i]);
	}
	for (i = 0; i < world.w_ops_nr; ++i) {
		op_look(&world.w_ops[i]);
		node_op_fini(&world.w_ops[i]);
	}
	for (i = 0; i < world.w_asking_nr; ++i)
		assert_true(world.w_asking[i].as_is_over);
	m0_sim_net_fini();
}

static void nodes_at_random_keep_their_promises(void **state)
{
	(void)state;
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_for_each_seed(1, SEEDS_NR, run, NULL);
	print_message("  %u operations: %u good, %u failed; %u of %u probes "
		      "answered; %u restarts, %u cuts and resets, %u "
		      "strangers\n",
		      sums.s_ops_nr, sums.s_good_nr, sums.s_failed_nr,
		      sums.s_answered_nr, sums.s_probes_nr, sums.s_restarts_nr,
		      sums.s_faults_nr, sums.s_strangers_nr);
	if (getenv("M0_SEED") == NULL) {
		assert_true(sums.s_good_nr > sums.s_ops_nr / 3);
		assert_true(sums.s_failed_nr > sums.s_ops_nr / 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_at_random_keep_their_promises),
	};

	return cmocka_run_group_tests_name("lnet-seeds", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Nodes that begin and end beside a Lustre node, in the simulator. The Lustre
 * node is one of ours on a host that ignores resets: it keeps an idle connection
 * that was reset and its incarnation, answers the next HELLO of another
 * incarnation with type NONE, and loses the next message that it sends. It does
 * notice the end of a stream.
 */
#include "lnet/node.h"
#include "m0/lnet_fault.h"

enum {
	/** As `colibri ping` gives. */
	PING_MS = 3000,
	/** Nothing had to be repeated. */
	SOON_MS = 20,
	ROUNDS_NR = 30
};

static struct m0_sim sim;
static struct node   kernel;
static struct node   node;

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_jitter_ns = 10 * 1000,
	.ssc_piece_bytes_max = 9000,
};

static void one_shot_tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_accept = M0_LNET_ACCEPT_NONE;
	cfg->lc_control_only = true;
}

static void up(void (*tune)(struct m0_lnet_cfg *cfg))
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	node_init(&kernel, &sim, "kernel", "10.0.0.2", NULL);
	m0_sim_host_ignore_resets(kernel.n_host, true);
	node_init(&node, &sim, "node", "10.0.0.1", tune);
	node_close(&node);
}

static void down(void)
{
	node_fini(&node);
	node_fini(&kernel);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

static struct m0_lnd_ni_info kernel_info(void)
{
	struct m0_lnd_ni_info ret;
	struct m0_lnet_info  *info;

	assert_int_equal(m0_lnet_info_get(kernel.n_lnet, &info), 0);
	ret = info->li_nis[0].nii_lnd;
	if (m0_lnet_nid_is_lo(&info->li_nis[0].nii_nid))
		ret = info->li_nis[1].nii_lnd;
	m0_lnet_info_free(info);
	return ret;
}

static m0_time_t ping_ns(struct node *from, const struct m0_lnet_nid *nid)
{
	m0_time_t before = m0_sim_now(&sim);

	assert_int_equal(node_ping(from, nid, PING_MS), 0);
	return m0_sim_now(&sim) - before;
}

/* The process dies at once, and its system resets all it had. */
static void node_kill(void)
{
	m0_sim_host_kill(node.n_host);
	node_close(&node);
	m0_sim_host_restart(node.n_host);
}

/* Programs that ask once and end: each by one connection, none is refused. */
static void one_shots_in_a_row_succeed(void **state)
{
	unsigned i;

	(void)state;
	up(one_shot_tune);
	for (i = 0; i < ROUNDS_NR; ++i) {
		node_open(&node);
		assert_true(ping_ns(&node, &kernel.n_nid) <
			    SOON_MS * M0_TIME_ONE_MSEC);
		node_close(&node);
		m0_sim_run_ms(&sim, i % 3);
	}
	assert_int_equal(kernel_info().ldi_refused_nr, 0);
	assert_int_equal(kernel_info().ldi_accepted_nr, ROUNDS_NR);
	assert_int_equal(m0_sim_host_dials_nr(node.n_host), ROUNDS_NR);
	down();
}

/* A node that restarts is reached at once, by the next message of the other,
 * and reaches it; whichever of the two sends first. */
static void restarts_lose_nothing(void **state)
{
	unsigned i;

	(void)state;
	up(NULL);
	for (i = 0; i < ROUNDS_NR; ++i) {
		node_open(&node);
		if (i % 2 == 0)
			assert_true(ping_ns(&kernel, &node.n_nid) <
				    SOON_MS * M0_TIME_ONE_MSEC);
		assert_true(ping_ns(&node, &kernel.n_nid) <
			    SOON_MS * M0_TIME_ONE_MSEC);
		assert_true(ping_ns(&kernel, &node.n_nid) <
			    SOON_MS * M0_TIME_ONE_MSEC);
		m0_sim_run_ms(&sim, i);
		node_close(&node);
		m0_sim_run_ms(&sim, 1);
	}
	assert_int_equal(kernel_info().ldi_refused_nr, 0);
	down();
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static void ignore(struct m0_lnet_probe *probe)
{
	(void)probe;
}

/*
 * A node ends at any point of its first exchange: in order, or killed, which
 * the other does not notice. The next one succeeds, and need not wait.
 */
static void ends_at_any_point_are_survived(bool kills)
{
	struct m0_lnet_probe probe;
	unsigned             i;

	up(one_shot_tune);
	for (i = 0; i < 60; ++i) {
		node_open(&node);
		probe = (struct m0_lnet_probe){ .pr_kind = M0_LNET_PING,
						.pr_nid = kernel.n_nid,
						.pr_self = m0_lnet_nid_any,
						.pr_timeout_ms = PING_MS,
						.pr_done = ignore };
		assert_int_equal(m0_lnet_probe(node.n_lnet, &probe), 0);
		(void)m0_sim_run_until(&sim, never, NULL, i * 10 * 1000);
		if (kills)
			node_kill();
		else
			node_close(&node);
		node_open(&node);
		assert_true(ping_ns(&node, &kernel.n_nid) < M0_TIME_ONE_SECOND);
		if (kills)
			node_kill();
		else
			node_close(&node);
	}
	down();
}

static void ends_in_order_at_any_point_are_survived(void **state)
{
	(void)state;
	ends_at_any_point_are_survived(false);
}

static void kills_at_any_point_are_survived(void **state)
{
	(void)state;
	ends_at_any_point_are_survived(true);
}

/* The old connection of a killed node takes one ping with it, which is sent once
 * more. */
static void ping_on_dead_connection_is_sent_again(void **state)
{
	(void)state;
	up(NULL);
	node_open(&node);
	(void)ping_ns(&kernel, &node.n_nid);
	m0_sim_run_ms(&sim, 100);
	node_kill();
	node_open(&node);
	assert_true(ping_ns(&kernel, &node.n_nid) < SOON_MS * M0_TIME_ONE_MSEC);
	/* Once: a node that is not there is told of. */
	m0_sim_run_ms(&sim, 100);
	node_kill();
	assert_int_equal(node_ping(&kernel, &node.n_nid, PING_MS),
			 -ECONNREFUSED);
	down();
}

static void reset_soon(struct m0_sim_timer *timer)
{
	(void)timer;
	m0_sim_host_reset(node.n_host);
}

/* The connection is lost while the answer is awaited: the ping is sent again,
 * once. */
static void ping_awaiting_answer_is_sent_again(void **state)
{
	struct m0_lnet_fault_attr attr;
	struct m0_sim_timer       timer = {};
	char                      why[M0_LNET_WHY_BYTES] = "";
	unsigned                  lost;

	(void)state;
	up(one_shot_tune);
	m0_sim_host_ignore_resets(kernel.n_host, false);
	for (lost = 1; lost <= 2; ++lost) {
		m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_DROP);
		attr.lfa_msgs = M0_LNET_FAULT_GET;
		attr.lfa_rate = 1;
		attr.lfa_max = lost;
		assert_int_equal(m0_lnet_fault_add(kernel.n_lnet, &attr, why),
				 0);
		node_open(&node);
		m0_sim_timer_arm(&sim, &timer,
				 m0_sim_now(&sim) + 10 * M0_TIME_ONE_MSEC,
				 reset_soon);
		assert_int_equal(node_ping(&node, &kernel.n_nid, PING_MS),
				 lost == 1 ? 0 : -ETIMEDOUT);
		node_close(&node);
		m0_sim_run_ms(&sim, 100);
		(void)m0_lnet_fault_del(kernel.n_lnet, M0_LNET_FAULT_ANY, NULL,
					NULL);
	}
	down();
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(one_shots_in_a_row_succeed),
		cmocka_unit_test(restarts_lose_nothing),
		cmocka_unit_test(ends_in_order_at_any_point_are_survived),
		cmocka_unit_test(kills_at_any_point_are_survived),
		cmocka_unit_test(ping_on_dead_connection_is_sent_again),
		cmocka_unit_test(ping_awaiting_answer_is_sent_again),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Message links of the simulator. */
#include "m0/sim_link.h"
#include "unit/sim/worker.h"

enum {
	SEED = 5,
	SEEN_MAX = 4096,
	MSGS_NR = 2000
};

static struct m0_sim      sim;
static struct m0_sim_link net;

/* Messages that have arrived, by end. */
static struct seen {
	uint32_t  s_nr;
	uint32_t  s_msg[SEEN_MAX];
	m0_time_t s_at[SEEN_MAX];
} seen[2];

static void deliver(struct m0_sim_link *link, int end, const void *bytes,
		    size_t nr)
{
	struct seen *s = &seen[end];

	assert_ptr_equal(link, &net);
	assert_true(nr >= sizeof(uint32_t));
	assert_true(s->s_nr < SEEN_MAX);
	memcpy(&s->s_msg[s->s_nr], bytes, sizeof(uint32_t));
	s->s_at[s->s_nr++] = m0_sim_elapsed_ns(&sim);
}

static void up(uint64_t seed, const struct m0_sim_link_cfg *cfg)
{
	memset(seen, 0, sizeof seen);
	m0_sim_init_cfg(&sim, seed, &m0_sim_cfg_calm);
	m0_sim_link_init(&net, &sim, "net", cfg, deliver);
}

static void down(void)
{
	m0_sim_link_fini(&net);
	m0_sim_fini(&sim);
}

static int say(int end, uint32_t msg, size_t nr)
{
	uint8_t bytes[4096] = { 0 };

	memcpy(bytes, &msg, sizeof msg);
	return m0_sim_link_send(&net, end, bytes, nr);
}

static void say_ok(int end, uint32_t msg, size_t nr)
{
	assert_int_equal(say(end, msg, nr), 0);
}

/* A message takes its bytes' time on the wire plus the latency. */
static void message_takes_rate_and_latency(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_rate_bytes = 1000000, /* 1 us a byte */
		.simlc_latency_ns = 500000,
	};

	(void)state;
	up(SEED, &cfg);
	say_ok(0, 1, 1000);
	say_ok(0, 2, 1000);
	say_ok(1, 3, 100);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(seen[1].s_nr, 2);
	assert_int_equal(seen[1].s_msg[0], 1);
	assert_int_equal(seen[1].s_at[0], 1500000);
	/* The second one has waited for the first to leave. */
	assert_int_equal(seen[1].s_at[1], 2500000);
	/* The other direction has a wire of its own. */
	assert_int_equal(seen[0].s_nr, 1);
	assert_int_equal(seen[0].s_at[0], 600000);
	down();
}

static void send_many(unsigned nr)
{
	uint32_t i;

	for (i = 0; i < nr; ++i) {
		say_ok(0, i, 16);
		m0_nanosleep(1000, NULL);
	}
	m0_sim_run_ms(&sim, 100);
}

/* Jitter moves messages, but does not let one overtake another. */
static void jitter_keeps_order(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_latency_ns = 1000,
		.simlc_jitter_ns = 100000,
	};
	uint32_t i;

	(void)state;
	up(SEED, &cfg);
	send_many(MSGS_NR);
	assert_int_equal(seen[1].s_nr, MSGS_NR);
	for (i = 0; i < MSGS_NR; ++i)
		assert_int_equal(seen[1].s_msg[i], i);
	down();
}

/* A tenth is lost, give or take; nothing else happens to the rest. */
static void loss_loses_its_share(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_loss_ppm = 100000,
	};
	const struct m0_sim_link_stats *stats;

	(void)state;
	up(SEED, &cfg);
	send_many(MSGS_NR);
	stats = m0_sim_link_stats(&net, 0);
	assert_int_equal(stats->simls_sent_nr, MSGS_NR);
	assert_in_range(stats->simls_lost_nr, MSGS_NR / 15, MSGS_NR / 7);
	assert_int_equal(stats->simls_delivered_nr, seen[1].s_nr);
	assert_int_equal(stats->simls_lost_nr + stats->simls_delivered_nr,
			 MSGS_NR);
	down();
}

/* A duplicate is a second, equal message, and counted. */
static void duplicate_comes_twice(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_duplicate_ppm = 100000,
		.simlc_reorder_ns = 50000,
	};
	static uint8_t times[MSGS_NR];
	uint32_t       twice = 0;
	uint32_t       i;

	(void)state;
	memset(times, 0, sizeof times);
	up(SEED, &cfg);
	send_many(MSGS_NR);
	for (i = 0; i < seen[1].s_nr; ++i)
		++times[seen[1].s_msg[i]];
	for (i = 0; i < MSGS_NR; ++i) {
		assert_in_range(times[i], 1, 2);
		twice += times[i] == 2;
	}
	assert_int_equal(twice,
			 m0_sim_link_stats(&net, 0)->simls_duplicated_nr);
	assert_in_range(twice, MSGS_NR / 15, MSGS_NR / 7);
	down();
}

/* Some come later than they should; none is lost. */
static void reorder_overtakes(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_reorder_ppm = 100000,
		.simlc_reorder_ns = 50000,
	};
	uint32_t back = 0;
	uint32_t i;

	(void)state;
	up(SEED, &cfg);
	send_many(MSGS_NR);
	assert_int_equal(seen[1].s_nr, MSGS_NR);
	for (i = 1; i < MSGS_NR; ++i)
		back += seen[1].s_msg[i] < seen[1].s_msg[i - 1];
	assert_in_range(back, MSGS_NR / 20, MSGS_NR / 7);
	assert_in_range(m0_sim_link_stats(&net, 0)->simls_reordered_nr, back,
			MSGS_NR / 7);
	down();
}

/* A cut of one direction: sent and travelling messages go, answers come. */
static void cut_is_one_way(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_latency_ns = M0_TIME_ONE_MSEC,
	};

	(void)state;
	up(SEED, &cfg);
	say_ok(0, 1, 16);
	m0_sim_link_cut(&net, 0, true);
	say_ok(0, 2, 16);
	say_ok(1, 3, 16);
	m0_sim_run_ms(&sim, 5);
	assert_int_equal(seen[1].s_nr, 0);
	assert_int_equal(seen[0].s_nr, 1);
	assert_int_equal(m0_sim_link_stats(&net, 0)->simls_cut_nr, 2);
	m0_sim_link_cut(&net, 0, false);
	say_ok(0, 4, 16);
	m0_sim_run_ms(&sim, 5);
	assert_int_equal(seen[1].s_nr, 1);
	assert_int_equal(seen[1].s_msg[0], 4);
	down();
}

/* The queue is bounded, and free again when messages have arrived. */
static void queue_full_is_refused(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_latency_ns = M0_TIME_ONE_MSEC,
		.simlc_queue_max = 3,
		.simlc_bytes_max = 100,
	};
	uint32_t i;

	(void)state;
	up(SEED, &cfg);
	for (i = 0; i < 3; ++i)
		say_ok(0, i, 16);
	assert_int_equal(say(0, 3, 16), -ENOBUFS);
	assert_int_equal(say(1, 3, 16), 0);
	assert_int_equal(m0_sim_link_stats(&net, 0)->simls_refused_nr, 1);
	m0_sim_run_ms(&sim, 2);
	assert_int_equal(say(0, 4, 16), 0);
	assert_int_equal(say(0, 5, 101), -EMSGSIZE);
	m0_sim_run_ms(&sim, 2);
	assert_int_equal(seen[1].s_nr, 4);
	down();
}

static void answer(struct m0_sim_link *link, int end, const void *bytes,
		   size_t nr)
{
	deliver(link, end, bytes, nr);
	if (end == 1)
		assert_int_equal(m0_sim_link_send(link, end, bytes, nr), 0);
}

/* The receiver may answer at once: a story, told by the link. */
static void delivery_may_send(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_latency_ns = 2 * M0_TIME_ONE_MSEC,
	};

	(void)state;
	up(SEED, &cfg);
	net.siml_deliver = answer;
	m0_sim_watch(&sim, "link");
	say_ok(0, 9, 16);
	m0_sim_run_ms(&sim, 3);
	m0_sim_expect(&sim, "  2 ms net > 0 > 1 message 1: delivered\n");
	m0_sim_link_cut(&net, 1, true);
	m0_sim_run_ms(&sim, 3);
	m0_sim_expect(&sim,
		      "  3 ms net > 1 > 0 cut\n"
		      "  4 ms net > 1 > 0 message 1: cut off on its way\n");
	down();
}

/* Messages on their way at the end are dropped, not leaked. */
static void fini_drops_what_travels(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_latency_ns = M0_TIME_ONE_SECOND,
	};
	uint32_t i;

	(void)state;
	up(SEED, &cfg);
	for (i = 0; i < 10; ++i)
		say_ok((int)(i % 2), i, 16);
	down();
	assert_int_equal(seen[0].s_nr + seen[1].s_nr, 0);
}

/* The faults are of the seed: equal for equal ones, else not. */
static void faults_follow_seed(void **state)
{
	static const struct m0_sim_link_cfg cfg = {
		.simlc_jitter_ns = 10000,
		.simlc_loss_ppm = 100000,
		.simlc_duplicate_ppm = 100000,
		.simlc_reorder_ppm = 100000,
		.simlc_reorder_ns = 50000,
	};
	static struct seen before;
	int                i;

	(void)state;
	for (i = 0; i < 3; ++i) {
		up(i < 2 ? SEED : SEED + 1, &cfg);
		send_many(100);
		if (i == 1)
			assert_memory_equal(&before, &seen[1], sizeof before);
		if (i == 2)
			assert_memory_not_equal(&before, &seen[1],
						sizeof before);
		before = seen[1];
		down();
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_takes_rate_and_latency),
		cmocka_unit_test(jitter_keeps_order),
		cmocka_unit_test(loss_loses_its_share),
		cmocka_unit_test(duplicate_comes_twice),
		cmocka_unit_test(reorder_overtakes),
		cmocka_unit_test(cut_is_one_way),
		cmocka_unit_test(queue_full_is_refused),
		cmocka_unit_test(delivery_may_send),
		cmocka_unit_test(fini_drops_what_travels),
		cmocka_unit_test(faults_follow_seed),
	};

	return cmocka_run_group_tests_name("sim_link", tests, NULL, NULL);
}

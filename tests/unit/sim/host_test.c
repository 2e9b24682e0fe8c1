/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Hosts that die and come back, and whose clocks and strands are not right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/net/sim_raw.h"
#include "unit/sim/worker.h"

enum {
	PORT = 988
};

static struct m0_sim       sim;
static struct m0_sim_host *a;
static struct m0_sim_host *b;
static struct m0_sim_raw  *server;
static struct m0_sim_raw  *client;

static void accepted(struct m0_sim_raw *raw, void *arg)
{
	(void)arg;
	server = raw;
}

static void up(void)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = M0_TIME_ONE_MSEC,
	};

	m0_sim_init_cfg(&sim, 1, &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &cfg);
	a = m0_sim_host_add("a", "10.0.0.1");
	b = m0_sim_host_add("b", "10.0.0.2");
	m0_sim_raw_listen("10.0.0.2", PORT, accepted, NULL);
	client = m0_sim_raw_dial("10.0.0.1", 0, "10.0.0.2", PORT);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(client->smr_state, M0_SIM_RAW_CONNECTED);
}

static void down(void)
{
	m0_sim_raw_listen("10.0.0.2", PORT, NULL, NULL);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/* Nothing gets out or in, nobody is told; the next life resets what is old. */
static void crash_is_silent_until_restart(void **state)
{
	(void)state;
	up();
	m0_sim_host_crash(b);
	assert_true(m0_sim_host_is_down(b));
	m0_sim_raw_send(client, "to", 2);
	m0_sim_raw_send(server, "from", 4);
	m0_sim_raw_close(server);
	m0_sim_run_ms(&sim, 5000);
	assert_int_equal(client->smr_state, M0_SIM_RAW_CONNECTED);
	assert_int_equal(client->smr_in_nr, 0);
	assert_int_equal(server->smr_in_nr, 0);
	m0_sim_host_restart(b);
	m0_sim_run_ms(&sim, 5000);
	assert_int_equal(client->smr_state, M0_SIM_RAW_BROKEN);
	assert_int_equal(client->smr_status, -ECONNRESET);
	assert_int_equal(client->smr_in_nr, 0);
	down();
}

/* Mending a cut does not raise the dead. */
static void crash_outlives_mended_cut(void **state)
{
	(void)state;
	up();
	m0_sim_host_cut(b, true);
	m0_sim_host_crash(b);
	m0_sim_host_cut(b, false);
	m0_sim_raw_send(client, "to", 2);
	m0_sim_run_ms(&sim, 5000);
	assert_int_equal(server->smr_in_nr, 0);
	m0_sim_host_cut(b, true);
	m0_sim_host_restart(b);
	m0_sim_run_ms(&sim, 5000);
	assert_int_equal(server->smr_in_nr, 0);
	m0_sim_host_cut(b, false);
	m0_sim_run_ms(&sim, 5000);
	assert_int_equal(server->smr_in_nr, 2);
	down();
}

/* The system of the host says that the program is gone. */
static void kill_resets_and_refuses(void **state)
{
	struct m0_sim_raw *again;

	(void)state;
	up();
	m0_sim_host_kill(b);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(client->smr_status, -ECONNRESET);
	again = m0_sim_raw_dial("10.0.0.1", 0, "10.0.0.2", PORT);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(again->smr_status, -ECONNREFUSED);
	m0_sim_host_restart(b);
	again = m0_sim_raw_dial("10.0.0.1", 0, "10.0.0.2", PORT);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(again->smr_state, M0_SIM_RAW_CONNECTED);
	down();
}

static uint64_t walls[2];

static m0_time_t wall_look(struct worker *w, m0_time_t now)
{
	(void)now;
	walls[(uintptr_t)w->w_arg] = m0_os_wall_ns();
	return M0_TIME_NEVER;
}

/* A skew applies to the application that acts for a host, and to its
 * strands. */
static void skew_is_of_its_host_alone(void **state)
{
	struct worker workers[2];
	uint64_t      right;

	(void)state;
	up();
	m0_sim_host_skew(b, -3 * (int64_t)M0_TIME_ONE_SECOND);
	right = m0_os_wall_ns();
	m0_sim_host_use(a);
	assert_int_equal(m0_os_wall_ns(), right);
	worker_start(&workers[0], "a", wall_look, (void *)0);
	m0_sim_host_use(b);
	assert_int_equal(m0_os_wall_ns(), right - 3 * M0_TIME_ONE_SECOND);
	worker_start(&workers[1], "b", wall_look, (void *)1);
	m0_sim_host_use(NULL);
	assert_int_equal(m0_os_wall_ns(), right);
	m0_sim_settle(&sim);
	assert_int_equal(walls[0], right);
	assert_int_equal(walls[1], right - 3 * M0_TIME_ONE_SECOND);
	worker_stop(&workers[0]);
	worker_stop(&workers[1]);
	down();
}

/* So are strands that are late: those that run, and those to come. */
static void late_is_of_its_host_alone(void **state)
{
	struct worker workers[3];
	m0_time_t     late = 0;
	unsigned      i;
	unsigned      k;

	(void)state;
	up();
	m0_sim_host_use(a);
	worker_start(&workers[0], "a", NULL, NULL);
	m0_sim_host_use(b);
	worker_start(&workers[1], "b", NULL, NULL);
	m0_sim_host_late(b, M0_TIME_ONE_SECOND);
	worker_start(&workers[2], "c", NULL, NULL);
	for (i = 0; i < 10; ++i) {
		m0_time_t begin = m0_sim_now(&sim);

		for (k = 0; k < 3; ++k)
			m0_strand_wake(&workers[k].w_strand);
		m0_sim_run_ms(&sim, 2000);
		assert_int_equal(workers[0].w_at, begin);
		for (k = 1; k < 3; ++k)
			late = max64u(late, workers[k].w_at - begin);
	}
	assert_true(late > M0_TIME_ONE_SECOND / 4);
	for (k = 0; k < 3; ++k)
		worker_stop(&workers[k]);
	down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crash_is_silent_until_restart),
		cmocka_unit_test(crash_outlives_mended_cut),
		cmocka_unit_test(kill_resets_and_refuses),
		cmocka_unit_test(skew_is_of_its_host_alone),
		cmocka_unit_test(late_is_of_its_host_alone),
	};

	return cmocka_run_group_tests_name("sim-host", tests, NULL, NULL);
}

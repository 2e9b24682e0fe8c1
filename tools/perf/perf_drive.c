/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The threads that deliver where the library has none that do. */
#include "perf_run.h"

enum {
	/** Milliseconds that one of them sleeps at most. */
	TICK_MSEC = 20
};

static bool node_is_over(struct tool_node *node)
{
	bool over;

	m0_mutex_lock(&node->tn_mutex);
	over = node->tn_state == M0_NET_TM_STOPPED ||
	       node->tn_state == M0_NET_TM_FAILED;
	m0_mutex_unlock(&node->tn_mutex);
	return over;
}

/* Looks for something to deliver, for as long as a machine would spin. */
static bool sync_spin(struct m0_net_transfer_mc *tm)
{
	m0_time_t end = m0_time_now() + tm->ntm_spin;

	do {
		if (m0_net_buffer_event_pending(tm))
			return true;
	} while (m0_time_now() < end);
	return false;
}

static void sync_drive(struct tool_node *node)
{
	struct m0_net_transfer_mc *tm = &node->tn_tm;
	struct m0_mutex            guard;
	struct m0_chan             chan;
	struct m0_clink            link;

	m0_mutex_init(&guard);
	m0_chan_init(&chan, &guard);
	m0_clink_init(&link, NULL);
	m0_clink_add_lock(&chan, &link);
	while (!node_is_over(node)) {
		if (!sync_spin(tm)) {
			m0_net_buffer_event_notify(tm, &chan);
			(void)m0_chan_timedwait(
				&link,
				m0_time_from_now(
					0, TICK_MSEC * (long)M0_TIME_ONE_MSEC));
		}
		m0_net_buffer_event_deliver_all(tm);
	}
	m0_clink_del_lock(&link);
	m0_clink_fini(&link);
	m0_chan_fini_lock(&chan);
	m0_mutex_fini(&guard);
}

/* Polls its machines; now and then it looks whether they are over. */
static void inline_drive(struct perf_driver *driver)
{
	bool over = false;
	int  turn;
	int  i;

	while (!over) {
		for (turn = 0; turn < 1000; ++turn) {
			for (i = driver->pd_first; i <= driver->pd_last; ++i)
				m0_net_buffer_event_deliver_all(
					&driver->pd_run->pn_sides[i]
						 .pe_node.tn_tm);
		}
		over = true;
		for (i = driver->pd_first; i <= driver->pd_last; ++i)
			over &= node_is_over(
				&driver->pd_run->pn_sides[i].pe_node);
	}
}

static void driver_thread(struct perf_driver *driver)
{
	struct perf_side *sides = driver->pd_run->pn_sides;

	if (driver->pd_run->pn_setup->pu_mode == PERF_INLINE)
		inline_drive(driver);
	else
		sync_drive(&sides[driver->pd_first].pe_node);
}

static int driver_start(struct perf_driver *driver, struct perf_run *run,
			int first, int last)
{
	int rc;

	driver->pd_run = run;
	driver->pd_first = first;
	driver->pd_last = last;
	rc = perf_cpu_set(run->pn_setup, first, &driver->pd_cpus);
	if (rc == 0)
		rc = M0_THREAD_INIT(&driver->pd_thread, struct perf_driver *,
				    NULL, driver_thread, driver, "perf-%c",
				    'a' + first);
	driver->pd_started = rc == 0;
	if (rc == 0 && driver->pd_cpus.b_nr > 0)
		rc = m0_thread_confine(&driver->pd_thread, &driver->pd_cpus);
	return rc;
}

int perf_drivers_start(struct perf_driver drivers[PERF_SIDES_NR],
		       struct perf_run   *run)
{
	const struct perf_setup *setup = run->pn_setup;
	int                      rc;

	if (setup->pu_mode == PERF_ASYNC)
		return 0;
	if (setup->pu_mode == PERF_INLINE && setup->pu_threads == 1)
		return driver_start(&drivers[0], run, PERF_A, PERF_B);
	rc = driver_start(&drivers[0], run, PERF_A, PERF_A);
	if (rc == 0)
		rc = driver_start(&drivers[1], run, PERF_B, PERF_B);
	return rc;
}

void perf_drivers_join(struct perf_driver drivers[PERF_SIDES_NR])
{
	int i;

	for (i = 0; i < PERF_SIDES_NR; ++i) {
		if (drivers[i].pd_started) {
			(void)m0_thread_join(&drivers[i].pd_thread);
			m0_thread_fini(&drivers[i].pd_thread);
		}
		if (drivers[i].pd_cpus.b_nr > 0)
			m0_bitmap_fini(&drivers[i].pd_cpus);
	}
}

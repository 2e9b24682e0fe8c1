/* SPDX-License-Identifier: Apache-2.0 */
/* One row: machines, the threads that deliver for them, time. */
#include <sys/resource.h>

#include "perf.h"

enum {
	/** Of the time of a row, in hundredths, before it is measured. */
	WARM_PERCENT = 20,
	/** Milliseconds between two looks at a row that runs. */
	TICK_MSEC = 20,
	/** When it is over: looks, a millisecond each, for what is on its way
	 * still; in a row that find nothing. */
	SETTLE_LOOKS_MAX = 1000,
	SETTLED_LOOKS = 3,
	/** Seconds that a slow machine is given for the first two operations. */
	GRACE = 30
};

/* A thread that delivers for machines that have none of the library's. */
struct driver {
	struct m0_thread dr_thread;
	bool             dr_started;
	struct perf_run *dr_run;
	/** Sides first .. last. */
	int              dr_first;
	int              dr_last;
	struct m0_bitmap dr_cpus;
};

bool perf_record(struct perf_run *run, m0_time_t start, m0_time_t end)
{
	int phase = __atomic_load_n(&run->pn_phase, __ATOMIC_RELAXED);

	if (phase != PHASE_MEASURE)
		return phase != PHASE_STOP;
	if (!run->pn_measuring) {
		run->pn_measuring = true;
		run->pn_first = end;
		return true;
	}
	run->pn_last = end;
	if (end > run->pn_first)
		__atomic_store_n(&run->pn_enough, true, __ATOMIC_RELAXED);
	++run->pn_row->prw_ops;
	m0_hist_record(&run->pn_row->prw_lat, m0_time_sub(end, start));
	return true;
}

void perf_failed(struct perf_run *run, const char *what, int rc)
{
	/* Once the row is over, machines stop one before the other. */
	if (__atomic_exchange_n(&run->pn_phase, PHASE_STOP, __ATOMIC_RELAXED) ==
	    PHASE_STOP)
		return;
	m0_mutex_lock(&run->pn_lock);
	tool_fail_set(&run->pn_fail, TOOL_FAILED,
		      "%s of %" PRIu64 " bytes: "
		      "%s: %s",
		      perf_test_names[run->pn_row->prw_test],
		      run->pn_row->prw_size, what, tool_errtext(rc));
	m0_mutex_unlock(&run->pn_lock);
}

/* ---------------------------------------------------------- drivers -- */

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
static void inline_drive(struct driver *driver)
{
	bool over = false;
	int  turn;
	int  i;

	while (!over) {
		for (turn = 0; turn < 1000; ++turn) {
			for (i = driver->dr_first; i <= driver->dr_last; ++i)
				m0_net_buffer_event_deliver_all(
					&driver->dr_run->pn_sides[i]
						 .pe_node.tn_tm);
		}
		over = true;
		for (i = driver->dr_first; i <= driver->dr_last; ++i)
			over &= node_is_over(
				&driver->dr_run->pn_sides[i].pe_node);
	}
}

static void driver_thread(struct driver *driver)
{
	struct perf_side *sides = driver->dr_run->pn_sides;

	if (driver->dr_run->pn_setup->pu_mode == PERF_INLINE)
		inline_drive(driver);
	else
		sync_drive(&sides[driver->dr_first].pe_node);
}

static int cpu_set(const struct perf_setup *setup, int side,
		   struct m0_bitmap *ret)
{
	uint64_t cpu;
	int      rc;

	if (setup->pu_cpus_nr == 0)
		return 0;
	cpu = setup->pu_cpus[(size_t)side < setup->pu_cpus_nr ? side : 0];
	rc = m0_bitmap_init(ret, (size_t)cpu + 1);
	if (rc == 0)
		m0_bitmap_set(ret, (size_t)cpu, true);
	return rc;
}

static int driver_start(struct driver *driver, struct perf_run *run, int first,
			int last)
{
	int rc;

	driver->dr_run = run;
	driver->dr_first = first;
	driver->dr_last = last;
	rc = cpu_set(run->pn_setup, first, &driver->dr_cpus);
	if (rc == 0)
		rc = M0_THREAD_INIT(&driver->dr_thread, struct driver *, NULL,
				    driver_thread, driver, "perf-%c",
				    'a' + first);
	driver->dr_started = rc == 0;
	if (rc == 0 && driver->dr_cpus.b_nr > 0)
		rc = m0_thread_confine(&driver->dr_thread, &driver->dr_cpus);
	return rc;
}

static int drivers_start(struct driver    drivers[PERF_SIDES_NR],
			 struct perf_run *run)
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

static void drivers_join(struct driver drivers[PERF_SIDES_NR])
{
	int i;

	for (i = 0; i < PERF_SIDES_NR; ++i) {
		if (drivers[i].dr_started) {
			(void)m0_thread_join(&drivers[i].dr_thread);
			m0_thread_fini(&drivers[i].dr_thread);
		}
		if (drivers[i].dr_cpus.b_nr > 0)
			m0_bitmap_fini(&drivers[i].dr_cpus);
	}
}

/* --------------------------------------------------------- machines -- */

static int side_confine(struct perf_side *side, const struct perf_setup *setup,
			int nr)
{
	struct m0_bitmap cpus = { .b_nr = 0 };
	int              rc = cpu_set(setup, nr, &cpus);

	if (rc == 0 && cpus.b_nr > 0) {
		rc = m0_net_tm_confine(&side->pe_node.tn_tm, &cpus);
		m0_bitmap_fini(&cpus);
	}
	return rc;
}

/* Mode, threads, processors: what is chosen between init and start. */
static int side_set_up(struct perf_side *side, const struct perf_setup *setup,
		       int nr)
{
	struct m0_net_transfer_mc *tm = &side->pe_node.tn_tm;
	int                        rc = side_confine(side, setup, nr);

	if (rc == 0 && setup->pu_mode == PERF_SYNC)
		rc = m0_net_buffer_event_deliver_synchronously(tm);
	if (rc == 0 && setup->pu_mode == PERF_INLINE)
		rc = m0_net_tm_inline(tm);
	if (rc != 0)
		return rc;
	if (setup->pu_spin_set)
		m0_net_tm_spin_set(tm, setup->pu_spin_ns);
	if (setup->pu_workers > 1)
		setup->pu_xprt->txp_workers_set(tm, setup->pu_workers);
	side->pe_locked = setup->pu_workers > 1;
	return 0;
}

static int side_start(struct perf_run *run, int nr)
{
	static const char *const names[] = { "A", "B" };
	struct perf_side        *side = &run->pn_sides[nr];
	int                      rc;

	side->pe_run = run;
	m0_mutex_init(&side->pe_lock);
	rc = tool_node_init(&side->pe_node, names[nr], run->pn_setup->pu_xprt);
	if (rc == 0)
		rc = side_set_up(side, run->pn_setup, nr);
	if (rc == 0)
		rc = tool_node_start(&side->pe_node,
				     run->pn_setup->pu_addrs[nr]);
	return rc;
}

static int sides_meet(struct perf_run *run)
{
	int i;
	int rc = 0;

	for (i = 0; i < PERF_SIDES_NR && rc == 0; ++i) {
		struct perf_side *side = &run->pn_sides[i];
		struct perf_side *peer = &run->pn_sides[1 - i];

		rc = m0_net_end_point_create(&side->pe_peer,
					     &side->pe_node.tn_tm,
					     tool_node_addr(&peer->pe_node));
	}
	return rc;
}

static int sides_start(struct perf_run *run)
{
	int i;
	int rc = 0;

	for (i = 0; i < PERF_SIDES_NR && rc == 0; ++i)
		rc = side_start(run, i);
	if (rc == 0)
		rc = sides_meet(run);
	if (rc == 0)
		rc = perf_test_init(run);
	return rc;
}

static void sides_fini(struct perf_run *run)
{
	int i;

	perf_test_fini(run);
	for (i = 0; i < PERF_SIDES_NR; ++i) {
		struct perf_side *side = &run->pn_sides[i];

		if (side->pe_peer != NULL)
			(void)m0_net_end_point_put(side->pe_peer);
		tool_node_fini(&side->pe_node);
		m0_mutex_fini(&side->pe_lock);
	}
}

/* ------------------------------------------------------------- time -- */

static uint64_t cpu_now(void)
{
	struct rusage ru;

	(void)getrusage(RUSAGE_SELF, &ru);
	return (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) *
		       M0_TIME_ONE_SECOND +
	       (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000;
}

/* Waits, and if `enough` then longer, until there is something to show. */
static void phase_wait(struct perf_run *run, double seconds, bool enough)
{
	m0_time_t end = m0_time_now() + (m0_time_t)(seconds * 1e9);
	m0_time_t limit = enough ? m0_time_add(end, m0_time(GRACE, 0)) : end;
	m0_time_t now;

	while ((now = m0_time_now()) < limit) {
		m0_time_t left = now < end ? end - now : M0_TIME_NEVER;

		if (__atomic_load_n(&run->pn_phase, __ATOMIC_RELAXED) ==
		    PHASE_STOP)
			break;
		if (now >= end &&
		    __atomic_load_n(&run->pn_enough, __ATOMIC_RELAXED))
			break;
		m0_nanosleep(min64u(left, TICK_MSEC * M0_TIME_ONE_MSEC), NULL);
	}
}

/* Only from one phase to the next: a failure has gone to the last. */
static void phase_set(struct perf_run *run, int from, int to)
{
	(void)__atomic_compare_exchange_n(&run->pn_phase, &from, to, false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool is_settled(const struct perf_run *run)
{
	const struct perf_side *a = &run->pn_sides[PERF_A];
	const struct perf_side *b = &run->pn_sides[PERF_B];

	return __atomic_load_n(&a->pe_queued_nr, __ATOMIC_RELAXED) ==
		       __atomic_load_n(&b->pe_recv_nr, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&b->pe_queued_nr, __ATOMIC_RELAXED) ==
		       __atomic_load_n(&a->pe_recv_nr, __ATOMIC_RELAXED);
}

/*
 * The machines of the next row may have the same addresses: a descriptor that
 * is on its way still would be theirs, and mean nothing. Seen more than once,
 * since a callback that was running may have sent another.
 */
static void row_settle(const struct perf_run *run)
{
	int looks = SETTLE_LOOKS_MAX;
	int seen = 0;

	while (looks-- > 0 && seen < SETTLED_LOOKS) {
		m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
		seen = is_settled(run) ? seen + 1 : 0;
	}
}

static uint64_t row_measure(struct perf_run *run)
{
	double   seconds = run->pn_setup->pu_seconds;
	uint64_t cpu;

	perf_test_start(run);
	phase_wait(run, seconds * WARM_PERCENT / 100, false);
	cpu = cpu_now();
	phase_set(run, PHASE_WARM, PHASE_MEASURE);
	phase_wait(run, seconds, true);
	phase_set(run, PHASE_MEASURE, PHASE_STOP);
	cpu = cpu_now() - cpu;
	row_settle(run);
	return cpu;
}

int perf_row_run(const struct perf_setup *setup, struct perf_row *row,
		 struct tool_fail *fail)
{
	struct perf_run run = { .pn_setup = setup, .pn_row = row };
	struct driver   drivers[PERF_SIDES_NR] = { { .dr_started = false } };
	uint64_t        cpu = 0;
	int             rc;
	int             i;

	row->prw_ops = 0;
	m0_hist_init(&row->prw_lat);
	m0_mutex_init(&run.pn_lock);
	rc = sides_start(&run);
	if (rc == 0)
		rc = drivers_start(drivers, &run);
	if (rc == 0)
		cpu = row_measure(&run);
	else
		tool_fail_set(&run.pn_fail, TOOL_FAILED,
			      "%s of %" PRIu64
			      " bytes: the machines did not start: %s",
			      perf_test_names[row->prw_test], row->prw_size,
			      tool_errtext(rc));
	for (i = 0; i < PERF_SIDES_NR; ++i) {
		run.pn_sides[i].pe_node.tn_deliver =
			setup->pu_mode != PERF_ASYNC && !drivers[0].dr_started;
		tool_node_stop(&run.pn_sides[i].pe_node);
	}
	drivers_join(drivers);
	row->prw_ns = m0_time_sub(run.pn_last, run.pn_first);
	row->prw_cpu_ns = row->prw_ops > 0 ? (double)cpu / (double)row->prw_ops
					   : 0;
	sides_fini(&run);
	m0_mutex_fini(&run.pn_lock);
	if (run.pn_fail.tf_exit == TOOL_OK && row->prw_ns == 0)
		tool_fail_set(&run.pn_fail, TOOL_FAILED,
			      "%s of %" PRIu64
			      " bytes: nothing finished in %g s and %d more",
			      perf_test_names[row->prw_test], row->prw_size,
			      setup->pu_seconds, (int)GRACE);
	if (run.pn_fail.tf_exit != TOOL_OK)
		*fail = run.pn_fail;
	return run.pn_fail.tf_exit;
}

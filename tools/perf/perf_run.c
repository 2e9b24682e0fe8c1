/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One row: its two sides, one of them perhaps elsewhere, and time. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "perf_far.h"
#include "perf_path.h"
#include "perf_run.h"

enum {
	/** Percentage of the time of a row before the measurement. */
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

static void slice_add(struct perf_run *run, m0_time_t start, m0_time_t end)
{
	struct perf_row   *row = run->pn_row;
	struct perf_slice *slice;

	while (end >= run->pn_slice_end && run->pn_slice < PERF_SLICES_NR - 1) {
		++run->pn_slice;
		run->pn_slice_end += row->prw_slice_ns;
	}
	slice = &row->prw_slices[run->pn_slice];
	++slice->psl_ops;
	slice->psl_ns += m0_time_sub(end, start);
}

bool perf_record(struct perf_run *run, m0_time_t start, m0_time_t end)
{
	int phase = __atomic_load_n(&run->pn_phase, __ATOMIC_RELAXED);

	if (phase != PHASE_MEASURE)
		return phase != PHASE_STOP;
	if (!run->pn_measuring) {
		run->pn_measuring = true;
		run->pn_first = end;
		run->pn_slice_end = m0_time_add(end, run->pn_row->prw_slice_ns);
		return true;
	}
	run->pn_last = end;
	if (end > run->pn_first)
		__atomic_store_n(&run->pn_enough, true, __ATOMIC_RELAXED);
	++run->pn_row->prw_ops;
	m0_hist_record(&run->pn_row->prw_lat, m0_time_sub(end, start));
	slice_add(run, start, end);
	return true;
}

void perf_failed(struct perf_run *run, const char *what, int rc)
{
	const struct perf_far *far = run->pn_setup->pu_far;

	/* Once the row is over, machines stop one before the other. */
	if (__atomic_exchange_n(&run->pn_phase, PHASE_STOP, __ATOMIC_RELAXED) ==
	    PHASE_STOP)
		return;
	m0_mutex_lock(&run->pn_lock);
	tool_fail_set(&run->pn_fail, TOOL_FAILED,
		      "%s of %" PRIu64 " bytes: %s: %s%s%s",
		      perf_test_names[run->pn_row->prw_test],
		      run->pn_row->prw_size, what, tool_errtext(rc),
		      far != NULL ? "; the server was " : "",
		      far != NULL ? far->pfa_addr : "");
	m0_mutex_unlock(&run->pn_lock);
}

int perf_run_fail_get(struct perf_run *run, struct tool_fail *ret)
{
	int code;

	m0_mutex_lock(&run->pn_lock);
	code = run->pn_fail.tf_exit;
	if (code != TOOL_OK)
		*ret = run->pn_fail;
	m0_mutex_unlock(&run->pn_lock);
	return code;
}

/* ------------------------------------------------------------ sides -- */

static int sides_meet(struct perf_run *run)
{
	struct perf_side *a = &run->pn_sides[PERF_A];
	struct perf_side *b = &run->pn_sides[PERF_B];
	int               rc = perf_side_meet(a, tool_node_addr(&b->pe_node));

	return rc == 0 ? perf_side_meet(b, tool_node_addr(&a->pe_node)) : rc;
}

static int sides_start(struct perf_run *run)
{
	struct perf_side *a = &run->pn_sides[PERF_A];
	struct perf_side *b = &run->pn_sides[PERF_B];
	bool              far = run->pn_setup->pu_far != NULL;
	int               rc = perf_side_start(run, PERF_A);

	if (rc == 0 && !far)
		rc = perf_side_start(run, PERF_B);
	if (rc == 0)
		rc = far ? perf_far_meet(run) : sides_meet(run);
	if (rc == 0)
		rc = perf_bufs_init(a);
	if (rc == 0 && !far)
		rc = perf_bufs_init(b);
	return rc;
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

/*
 * Reads the kernel's counters of a thread: nanoseconds on a processor, and
 * nanoseconds ready to run without one.
 */
static uint64_t thread_waited(const char *tid)
{
	char     path[64];
	uint64_t ran;
	uint64_t waited = 0;
	FILE    *file;

	snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", tid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		waited = 0;
	(void)fclose(file);
	return waited;
}

/* Sums all threads of the process; 0 where the kernel does not report it. */
static uint64_t waited_now(void)
{
	DIR           *dir = opendir("/proc/self/task");
	uint64_t       sum = 0;
	struct dirent *entry;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			sum += thread_waited(entry->d_name);
	}
	(void)closedir(dir);
	return sum;
}

void perf_look_here(const struct perf_side *side, struct perf_look *ret)
{
	ret->pk_cpu_ns = cpu_now();
	ret->pk_wait_ns = waited_now();
	ret->pk_now_ns = m0_time_now();
	ret->pk_queued_nr =
		__atomic_load_n(&side->pe_queued_nr, __ATOMIC_RELAXED);
	ret->pk_recv_nr = __atomic_load_n(&side->pe_recv_nr, __ATOMIC_RELAXED);
}

/* At B, wherever it is. @return  could it be had? */
static bool look_there(struct perf_run *run, bool stop, struct perf_look *ret)
{
	if (run->pn_setup->pu_far != NULL)
		return perf_far_look(run, stop, ret) == 0;
	perf_look_here(&run->pn_sides[PERF_B], ret);
	return true;
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
		if (run->pn_setup->pu_far != NULL)
			perf_far_tick(run);
		if (now >= end &&
		    __atomic_load_n(&run->pn_enough, __ATOMIC_RELAXED))
			break;
		m0_nanosleep(min64u(left, TICK_MSEC * M0_TIME_ONE_MSEC), NULL);
	}
}

/* Only from one phase to the next: a failure has gone to the last. */
void perf_phase_set(struct perf_run *run, int from, int to)
{
	(void)__atomic_compare_exchange_n(&run->pn_phase, &from, to, false,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool is_settled(struct perf_run *run)
{
	struct perf_look a = { .pk_cpu_ns = 0 };
	struct perf_look b = { .pk_cpu_ns = 0 };

	perf_look_here(&run->pn_sides[PERF_A], &a);
	return look_there(run, true, &b) && a.pk_queued_nr == b.pk_recv_nr &&
	       b.pk_queued_nr == a.pk_recv_nr;
}

/*
 * The machines of the next row may have the same addresses: a descriptor that
 * is on its way still would be theirs, and mean nothing. Seen more than once,
 * since a callback that was running may have sent another.
 */
static void row_settle(struct perf_run *run)
{
	struct tool_fail fail;
	int              looks = SETTLE_LOOKS_MAX;
	int              seen = 0;

	if (perf_run_fail_get(run, &fail) != TOOL_OK)
		return;
	while (looks-- > 0 && seen < SETTLED_LOOKS) {
		m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
		seen = is_settled(run) ? seen + 1 : 0;
	}
}

/*
 * Processor time between two looks at a side, and the shares of that and of
 * waiting for it. A thread that has ended meanwhile takes its time with it.
 */
static double look_busy(const struct perf_look *from,
			const struct perf_look *to, struct perf_row *row,
			int side)
{
	double cpu_ns = (double)(to->pk_cpu_ns - from->pk_cpu_ns);
	double ns = (double)m0_time_sub(to->pk_now_ns, from->pk_now_ns);
	double wait_ns = to->pk_wait_ns > from->pk_wait_ns
				 ? (double)(to->pk_wait_ns - from->pk_wait_ns)
				 : 0;

	row->prw_busy[side] = ns > 0 ? cpu_ns / ns : 0;
	row->prw_waited[side] = ns > 0 ? wait_ns / ns : 0;
	return cpu_ns;
}

static void row_measure(struct perf_run *run)
{
	struct perf_look    from[PERF_SIDES_NR] = { { .pk_cpu_ns = 0 } };
	struct perf_look    to[PERF_SIDES_NR] = { { .pk_cpu_ns = 0 } };
	bool                path = perf_path_has(run->pn_setup);
	struct perf_arrived arrived[2];
	struct perf_side   *a = &run->pn_sides[PERF_A];
	struct perf_row    *row = run->pn_row;
	double              seconds = run->pn_setup->pu_seconds;
	double              cpu_ns;

	perf_test_start(run);
	phase_wait(run, seconds * WARM_PERCENT / 100, false);
	if (path)
		perf_path_look(run->pn_setup, &arrived[0]);
	(void)look_there(run, false, &from[PERF_B]);
	perf_look_here(a, &from[PERF_A]);
	perf_phase_set(run, PHASE_WARM, PHASE_MEASURE);
	phase_wait(run, seconds, true);
	perf_phase_set(run, PHASE_MEASURE, PHASE_STOP);
	perf_look_here(a, &to[PERF_A]);
	(void)look_there(run, true, &to[PERF_B]);
	if (path)
		perf_path_look(run->pn_setup, &arrived[1]);
	row->prw_path = path ? perf_path_of(row->prw_size, row->prw_ops,
					    &arrived[0], &arrived[1])
			     : PERF_PATH_NONE;
	cpu_ns = look_busy(&from[PERF_A], &to[PERF_A], row, PERF_A);
	if (run->pn_setup->pu_far != NULL)
		cpu_ns += look_busy(&from[PERF_B], &to[PERF_B], row, PERF_B);
	row->prw_cpu_ns = row->prw_ops > 0 ? cpu_ns / (double)row->prw_ops : 0;
	row_settle(run);
}

static void row_start_failed(struct perf_run *run, int rc)
{
	struct perf_row *row = run->pn_row;

	tool_fail_set(&run->pn_fail, TOOL_FAILED,
		      "%s of %" PRIu64 " bytes: the machines did not start: %s",
		      perf_test_names[row->prw_test], row->prw_size,
		      tool_errtext(rc));
}

static void row_look_at(struct perf_run *run)
{
	struct perf_row *row = run->pn_row;

	row->prw_ns = m0_time_sub(run->pn_last, run->pn_first);
	if (run->pn_fail.tf_exit == TOOL_OK && row->prw_ns == 0)
		tool_fail_set(&run->pn_fail, TOOL_FAILED,
			      "%s of %" PRIu64
			      " bytes: nothing finished in %g s and %d more",
			      perf_test_names[row->prw_test], row->prw_size,
			      run->pn_setup->pu_seconds, (int)GRACE);
}

int perf_row_run(const struct perf_setup *setup, struct perf_row *row,
		 struct tool_fail *fail)
{
	struct perf_run    run = { .pn_setup = setup, .pn_row = row };
	struct perf_driver drivers[PERF_SIDES_NR] = { { .pd_started = false } };
	int                rc;
	int                i;

	row->prw_ops = 0;
	row->prw_busy[PERF_B] = 0;
	row->prw_waited[PERF_B] = 0;
	m0_hist_init(&row->prw_lat);
	memset(row->prw_slices, 0, sizeof row->prw_slices);
	row->prw_slice_ns = (m0_time_t)(setup->pu_seconds * 1e9 / PERF_SLICES);
	m0_mutex_init(&run.pn_lock);
	rc = sides_start(&run);
	if (rc == 0)
		rc = perf_drivers_start(drivers, &run);
	if (rc == 0)
		row_measure(&run);
	else
		row_start_failed(&run, rc);
	for (i = 0; i < PERF_SIDES_NR; ++i) {
		run.pn_sides[i].pe_node.tn_deliver =
			setup->pu_mode != PERF_ASYNC && !drivers[0].pd_started;
		tool_node_stop(&run.pn_sides[i].pe_node);
	}
	perf_drivers_join(drivers);
	if (setup->pu_far != NULL && run.pn_fail.tf_exit != TOOL_OK)
		perf_far_explain(&run);
	row_look_at(&run);
	for (i = 0; i < PERF_SIDES_NR; ++i)
		perf_side_fini(&run.pn_sides[i]);
	m0_mutex_fini(&run.pn_lock);
	if (run.pn_fail.tf_exit != TOOL_OK)
		*fail = run.pn_fail;
	return run.pn_fail.tf_exit;
}

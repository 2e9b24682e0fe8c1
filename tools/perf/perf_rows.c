/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One row after the other. */
#include <stdio.h>

#include "../base/jout.h"
#include "perf_args.h"
#include "perf_far.h"
#include "perf_verdict.h"
#include "../base/text.h"

/** Output of the rows: table, JSON, notes below the table. */
struct rows_done {
	struct json_t       *ro_array;
	struct perf_row     *ro_rows;
	struct perf_verdict *ro_verdicts;
	size_t               ro_nr;
};

/* Percentage of the time of a row for which one operation at a time is
 * measured. */
enum {
	PROBE_PERCENT = 25,
	ROWS_MAX = PERF_TESTS_NR * PERF_SIZES_MAX
};

/* Only the transport knows these limits. */
static int limits_check(struct perf_args *args)
{
	const struct tool_xprt *xprt = args->pa_setup.pu_xprt;
	struct m0_net_domain    dom = { .nd_xprt = NULL };
	uint64_t                max;
	uint64_t                workers;
	size_t                  i;
	int                     rc;

	if (text_number_parse(args->pa_workers, &workers) != 0 || workers < 1 ||
	    workers > xprt->txp_workers_max)
		return tool_fail_set(args->pa_fail, TOOL_USAGE,
				     "--workers '%s' is not accepted; "
				     "transport '%s' accepts 1 to %zu",
				     args->pa_workers, xprt->txp_name,
				     xprt->txp_workers_max);
	args->pa_setup.pu_workers = (uint32_t)workers;
	rc = m0_net_domain_init(&dom, xprt->txp_xprt);
	if (rc != 0)
		return tool_fail_set(args->pa_fail, TOOL_FAILED,
				     "transport '%s': %s", xprt->txp_name,
				     tool_errtext(rc));
	max = m0_net_domain_get_max_buffer_size(&dom);
	(void)m0_net_domain_fini(&dom);
	for (i = 0; i < args->pa_sizes_nr; ++i) {
		if (args->pa_sizes[i] < 1 || args->pa_sizes[i] > max)
			return tool_fail_set(args->pa_fail, TOOL_USAGE,
					     "--size %" PRIu64 " is out of "
					     "range; transport '%s' accepts 1 "
					     "to %" PRIu64,
					     args->pa_sizes[i], xprt->txp_name,
					     max);
	}
	return 0;
}

static int memory_check(struct perf_args *args, const struct perf_row *row)
{
	char text[TEXT_MAX];

	if (perf_memory(row->prw_test, row->prw_size, row->prw_depth) <=
	    PERF_MEMORY_MAX)
		return 0;
	return tool_fail_set(args->pa_fail, TOOL_USAGE,
			     "%s: --depth %u of "
			     "--size %" PRIu64 " needs more than %s of memory; "
			     "choose less of either",
			     perf_test_names[row->prw_test], row->prw_depth,
			     row->prw_size, text_size(text, PERF_MEMORY_MAX));
}

/* Calls `each` for every row, in order, until one fails. */
static int rows_walk(struct perf_args *args, struct perf_row *row,
		     int (*each)(struct perf_args *, struct perf_row *, void *),
		     void *arg)
{
	static const uint64_t message_sizes[] = { 64 };
	static const uint64_t bulk_sizes[] = { 4 << 10, 64 << 10, 1 << 20 };
	unsigned              test;
	size_t                i;
	int                   rc = 0;

	for (test = 0; test < PERF_TESTS_NR && rc == 0; ++test) {
		bool            bulk = test == PERF_PUT || test == PERF_GET;
		const uint64_t *sizes = bulk ? bulk_sizes : message_sizes;
		size_t          nr = bulk ? ARRAY_SIZE(bulk_sizes)
					  : ARRAY_SIZE(message_sizes);

		if (!(args->pa_tests & (1U << test)))
			continue;
		if (args->pa_sizes_nr > 0) {
			sizes = args->pa_sizes;
			nr = args->pa_sizes_nr;
		}
		row->prw_test = (enum perf_test)test;
		row->prw_depth = test != PERF_LATENCY && args->pa_depth != 0
					 ? (uint32_t)args->pa_depth
					 : perf_depth_default(row->prw_test);
		for (i = 0; i < nr && rc == 0; ++i) {
			row->prw_size = sizes[i];
			rc = each(args, row, arg);
		}
	}
	return rc;
}

static int row_check(struct perf_args *args, struct perf_row *row, void *arg)
{
	(void)arg;
	return memory_check(args, row);
}

/* Measures the row with one operation in flight, for comparison in the
 * verdict. */
static int probe_run(struct perf_args *args, const struct perf_row *row,
		     struct perf_row *probe)
{
	struct perf_setup setup = args->pa_setup;

	setup.pu_seconds = setup.pu_seconds * PROBE_PERCENT / 100;
	probe->prw_test = row->prw_test;
	probe->prw_size = row->prw_size;
	probe->prw_depth = 1;
	return perf_row_run(&setup, probe, args->pa_fail);
}

static int row_judge(struct perf_args *args, struct perf_row *row,
		     struct perf_verdict *verdict)
{
	const struct perf_setup *setup = &args->pa_setup;
	struct perf_row          probe;
	bool                     one = row->prw_depth == 1;
	bool spins = setup->pu_spin_ns > 0 || setup->pu_far->pfa_spins;
	int  rc = one ? 0 : probe_run(args, row, &probe);

	if (rc == 0)
		rc = perf_row_run(setup, row, args->pa_fail);
	if (rc == 0)
		perf_verdict_make(row, one ? NULL : &probe, spins, verdict);
	return rc;
}

static int row_run(struct perf_args *args, struct perf_row *row, void *arg)
{
	struct rows_done    *done = arg;
	bool                 far = args->pa_setup.pu_far != NULL;
	struct perf_verdict *verdict = far ? &done->ro_verdicts[done->ro_nr]
					   : NULL;
	int                  rc = far ? row_judge(args, row, verdict)
				      : perf_row_run(&args->pa_setup, row, args->pa_fail);

	if (rc != 0)
		return rc;
	if (args->pa_json)
		perf_json_row(done->ro_array, row, verdict);
	else
		perf_table_row(row, verdict);
	done->ro_rows[done->ro_nr++] = *row;
	return 0;
}

static void verdicts_print(const struct rows_done *done)
{
	size_t i;

	printf("\nThe bound of each row:\n");
	for (i = 0; i < done->ro_nr; ++i)
		perf_table_verdict(&done->ro_rows[i], &done->ro_verdicts[i]);
}

/* Without another process there are no verdicts, but a busy host matters. */
static void busy_print(const struct rows_done *done)
{
	bool   none = true;
	size_t i;

	for (i = 0; i < done->ro_nr; ++i) {
		if (!perf_host_is_busy(&done->ro_rows[i]))
			continue;
		if (none)
			printf("\n");
		none = false;
		perf_table_busy(&done->ro_rows[i]);
	}
}

static void rows_report(struct perf_args *args, struct rows_done *done)
{
	struct json_t  *tree = NULL;
	struct perf_row row;
	int             worse = 0;
	int             rc;

	if (args->pa_json) {
		tree = jout_alloc();
		perf_json_head(tree, &args->pa_setup);
		done->ro_array = jout_array(tree, "rows");
	} else {
		perf_table_head(&args->pa_setup);
	}
	rc = rows_walk(args, &row, row_run, done);
	if (rc == 0 && args->pa_json)
		worse = perf_baseline_check(args, done->ro_rows, done->ro_nr,
					    tree);
	if (rc == 0 && args->pa_json)
		(void)jout_print(tree, stdout);
	else if (args->pa_setup.pu_far != NULL && done->ro_nr > 0)
		verdicts_print(done);
	else if (rc == 0)
		busy_print(done);
	if (rc == 0 && !args->pa_json)
		worse = perf_baseline_check(args, done->ro_rows, done->ro_nr,
					    NULL);
	if (tree != NULL)
		jout_free(tree);
	if (rc == 0 && args->pa_report != NULL)
		(void)perf_report_write(args->pa_report, done->ro_rows,
					done->ro_nr, args->pa_fail);
	if (rc == 0 && worse == 0)
		(void)perf_baseline_save(args, done->ro_rows, done->ro_nr);
}

static void rows_far(struct perf_args *args, struct rows_done *done)
{
	static struct perf_far far;
	char                   beside[M0_NET_LNET_XEP_ADDR_LEN];

	if (perf_far_open(&far, args->pa_setup.pu_xprt, args->pa_ep,
			  args->pa_server,
			  args->pa_timeout_ms * M0_TIME_ONE_MSEC,
			  args->pa_fail) == 0) {
		args->pa_setup.pu_far = &far;
		args->pa_setup.pu_addrs[PERF_A] = perf_addr_beside(
			beside, tool_node_addr(&far.pfa_port.tpo_node));
		rows_report(args, done);
	}
	perf_far_close(&far);
}

void perf_rows_run(struct perf_args *args)
{
	struct rows_done done = { .ro_nr = 0 };
	struct perf_row  row;

	if (limits_check(args) != 0 || perf_baseline_open(args) != 0 ||
	    rows_walk(args, &row, row_check, NULL) != 0)
		return;
	M0_ALLOC_ARR(done.ro_rows, ROWS_MAX);
	M0_ALLOC_ARR(done.ro_verdicts, ROWS_MAX);
	if (done.ro_rows == NULL || done.ro_verdicts == NULL)
		tool_fail_set(args->pa_fail, TOOL_FAILED, "no memory");
	else if (args->pa_server != NULL)
		rows_far(args, &done);
	else
		rows_report(args, &done);
	m0_free(done.ro_rows);
	m0_free(done.ro_verdicts);
}

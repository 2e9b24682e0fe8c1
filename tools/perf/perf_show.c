/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include "../base/jout.h"
#include "perf_far.h"
#include "perf_path.h"
#include "perf_verdict.h"
#include "../base/text.h"

const char *const perf_mode_names[PERF_MODES_NR] = {
	[PERF_ASYNC] = "async",
	[PERF_SYNC] = "sync",
	[PERF_INLINE] = "inline",
};

const char *const perf_test_names[PERF_TESTS_NR] = {
	[PERF_LATENCY] = "latency",
	[PERF_RATE] = "rate",
	[PERF_PUT] = "put",
	[PERF_GET] = "get",
};

static const struct {
	const char *name;
	unsigned    permyriad;
} percentiles[] = {
	{ "p50", 5000 },
	{ "p90", 9000 },
	{ "p99", 9900 },
	{ "p99.9", 9990 },
};

static double row_mb(const struct perf_row *row)
{
	return perf_rate(row) * (double)row->prw_size / 1e6;
}

void perf_table_head(const struct perf_setup *setup)
{
	char   spin[TEXT_MAX] = "default";
	size_t i;

	if (setup->pu_spin_set)
		text_time(spin, (double)setup->pu_spin_ns);
	printf("transport %s, mode %s", setup->pu_xprt->txp_name,
	       perf_mode_names[setup->pu_mode]);
	if (setup->pu_mode == PERF_INLINE)
		printf(" (%u thread%s polling)", setup->pu_threads,
		       setup->pu_threads == 1 ? "" : "s");
	else
		printf(", spin %s", spin);
	if (setup->pu_workers > 1)
		printf(", %u workers", setup->pu_workers);
	for (i = 0; i < setup->pu_cpus_nr; ++i)
		printf("%s%" PRIu64, i == 0 ? ", processors " : ",",
		       setup->pu_cpus[i]);
	printf(", %g s a row\n", setup->pu_seconds);
	if (setup->pu_far != NULL)
		printf("server %s; busy: what the processes of client and "
		       "server take of a processor\n",
		       setup->pu_far->pfa_addr);
	printf("latency: one way; rate: time in the send queue; put, get: time "
	       "of the active buffer\n\n");
	printf("%-8s %5s %5s %9s %10s %9s", "test", "size", "depth", "ops",
	       "ops/s", "MB/s");
	for (i = 0; i < ARRAY_SIZE(percentiles); ++i)
		printf(" %8s", percentiles[i].name);
	printf(" %8s %8s", "max", "cpu/op");
	if (perf_path_has(setup))
		printf(" %9s", "path");
	if (setup->pu_far != NULL)
		printf(" %9s %s", "busy", "bound");
	printf("\n");
}

void perf_table_row(const struct perf_row     *row,
		    const struct perf_verdict *verdict)
{
	char   text[TEXT_MAX];
	size_t i;

	printf("%-8s %5s %5u %9" PRIu64 " %10.0f %9.1f",
	       perf_test_names[row->prw_test],
	       text_size_short(text, row->prw_size), row->prw_depth,
	       row->prw_ops, perf_rate(row), row_mb(row));
	for (i = 0; i < ARRAY_SIZE(percentiles); ++i)
		printf(" %8s",
		       text_time(text, (double)m0_hist_percentile(
					       &row->prw_lat,
					       percentiles[i].permyriad)));
	printf(" %8s", text_time(text, (double)m0_hist_max(&row->prw_lat)));
	printf(" %8s", text_time(text, row->prw_cpu_ns));
	if (row->prw_path != PERF_PATH_NONE)
		printf(" %9s", perf_path_names[row->prw_path]);
	if (verdict != NULL)
		printf(" %4.2f/%4.2f %s", row->prw_busy[PERF_A],
		       row->prw_busy[PERF_B],
		       perf_bound_names[verdict->pv_bound]);
	printf("\n");
	(void)fflush(stdout);
}

void perf_table_verdict(const struct perf_row     *row,
			const struct perf_verdict *verdict)
{
	char text[TEXT_MAX];

	printf("%s %s x %u: %s.\n", perf_test_names[row->prw_test],
	       text_size_short(text, row->prw_size), row->prw_depth,
	       verdict->pv_why);
}

void perf_table_busy(const struct perf_row *row)
{
	char text[TEXT_MAX];

	printf("%s %s x %u: host busy: threads that were ready waited for a "
	       "processor, %.2f of the time.\n",
	       perf_test_names[row->prw_test],
	       text_size_short(text, row->prw_size), row->prw_depth,
	       row->prw_waited[PERF_A]);
}

void perf_json_head(struct json_t *tree, const struct perf_setup *setup)
{
	struct json_t *cpus;
	size_t         i;

	jout_str(tree, "transport", setup->pu_xprt->txp_name);
	jout_str(tree, "mode", perf_mode_names[setup->pu_mode]);
	if (setup->pu_far != NULL) {
		jout_str(tree, "server", setup->pu_far->pfa_addr);
		jout_bool(tree, "server_spins", setup->pu_far->pfa_spins);
	}
	jout_real(tree, "seconds_per_row", setup->pu_seconds);
	if (setup->pu_spin_set)
		jout_num(tree, "spin_ns", setup->pu_spin_ns);
	else
		jout_null(tree, "spin_ns");
	jout_num(tree, "workers", setup->pu_workers);
	if (setup->pu_mode == PERF_INLINE)
		jout_num(tree, "threads", setup->pu_threads);
	cpus = jout_array(tree, "processors");
	for (i = 0; i < setup->pu_cpus_nr; ++i)
		jout_append_num(cpus, setup->pu_cpus[i]);
}

static void json_verdict(struct json_t *object, const struct perf_row *row,
			 const struct perf_verdict *verdict)
{
	jout_real(object, "client_busy", row->prw_busy[PERF_A]);
	jout_real(object, "server_busy", row->prw_busy[PERF_B]);
	jout_real(object, "client_waited", row->prw_waited[PERF_A]);
	jout_real(object, "server_waited", row->prw_waited[PERF_B]);
	if (verdict->pv_probe_rate > 0) {
		jout_real(object, "ops_per_second_of_one",
			  verdict->pv_probe_rate);
		jout_real(object, "gain", verdict->pv_gain);
	} else {
		jout_null(object, "ops_per_second_of_one");
		jout_null(object, "gain");
	}
	jout_str(object, "bound", perf_bound_names[verdict->pv_bound]);
	jout_str(object, "why", verdict->pv_why);
}

void perf_json_row(struct json_t *array, const struct perf_row *row,
		   const struct perf_verdict *verdict)
{
	struct json_t *object = jout_append(array);
	struct json_t *ns;
	size_t         i;

	jout_str(object, "test", perf_test_names[row->prw_test]);
	jout_num(object, "size", row->prw_size);
	jout_num(object, "depth", row->prw_depth);
	jout_num(object, "ops", row->prw_ops);
	jout_real(object, "seconds", (double)row->prw_ns / 1e9);
	jout_real(object, "ops_per_second", perf_rate(row));
	jout_real(object, "mb_per_second", row_mb(row));
	jout_real(object, "cpu_seconds_per_op", row->prw_cpu_ns / 1e9);
	ns = jout_object(object, "ns");
	for (i = 0; i < ARRAY_SIZE(percentiles); ++i)
		jout_num(ns, percentiles[i].name,
			 m0_hist_percentile(&row->prw_lat,
					    percentiles[i].permyriad));
	jout_num(ns, "max", m0_hist_max(&row->prw_lat));
	jout_num(ns, "mean", m0_hist_mean(&row->prw_lat));
	jout_bool(object, "host_busy", perf_host_is_busy(row));
	if (row->prw_path != PERF_PATH_NONE)
		jout_str(object, "path", perf_path_names[row->prw_path]);
	if (verdict != NULL)
		json_verdict(object, row, verdict);
}

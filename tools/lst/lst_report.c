/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Results of a plan: the verdict, JSON, the page, the baseline. */
#include <stdlib.h>
#include <string.h>

#include "lst_plan.h"
#include "../base/baseline.h"
#include "../base/jout.h"
#include "../base/page.h"
#include "../base/stop.h"

enum {
	TEXT_BYTES = 64,
	/** Bars of a distribution: from 1 us to 100 s. */
	BARS_NR = 25
};

static void json_fill(struct json_t *tree, const struct plan *plan, bool passed)
{
	struct json_t *list;
	struct json_t *item;
	struct json_t *samples;
	struct json_t *one;
	unsigned       i;
	unsigned       j;

	jout_str(tree, "name", plan->lpl_name);
	jout_str(tree, "verdict", passed ? "PASS" : "FAIL");
	list = jout_array(tree, "tests");
	for (i = 0; i < plan->lpl_tests_nr; ++i) {
		const struct plan_test *test = &plan->lpl_tests[i];

		item = jout_append(list);
		jout_str(item, "name", test->lpt_name);
		jout_str(item, "test", test->lpt_test);
		jout_real(item, "mib_s", test->lpt_mib_s);
		jout_real(item, "messages_s", test->lpt_msgs_s);
		jout_num(item, "errors", test->lpt_errors);
		jout_bool(item, "passed", !test->lpt_failed);
		samples = jout_array(item, "samples");
		for (j = 0; j < test->lpt_samples_nr; ++j) {
			one = jout_append(samples);
			jout_real(one, "s", test->lpt_samples[j].lsm_at);
			jout_real(one, "mib_s", test->lpt_samples[j].lsm_mib_s);
			jout_real(one, "messages_s",
				  test->lpt_samples[j].lsm_msgs_s);
			jout_real(one, "request_ms",
				  test->lpt_samples[j].lsm_request_ms);
			jout_real(one, "answer_ms",
				  test->lpt_samples[j].lsm_answer_ms);
		}
	}
}

static double value_of(const struct sample *sample, unsigned which)
{
	return which == 0   ? sample->lsm_mib_s
	       : which == 1 ? sample->lsm_msgs_s
			    : sample->lsm_request_ms * 1e6;
}

/** A number of all tests over time: one series for each of the first six. */
static void plot_time(FILE *file, const struct plan *plan, const char *title,
		      struct page_axis y, unsigned which)
{
	struct page_series series[PAGE_SERIES_MAX];
	struct page_point *points;
	struct page_plot   plot = {
		  .ppl_title = title,
		  .ppl_x = { .pxs_name = "seconds" },
		  .ppl_y = y,
		  .ppl_series = series,
	};
	unsigned i;
	unsigned j;

	points = calloc((size_t)PAGE_SERIES_MAX * PLAN_SAMPLES_MAX,
			sizeof *points);
	for (i = 0;
	     points != NULL && i < plan->lpl_tests_nr && i < PAGE_SERIES_MAX;
	     ++i) {
		const struct plan_test *test = &plan->lpl_tests[i];

		for (j = 0; j < test->lpt_samples_nr; ++j)
			points[i * PLAN_SAMPLES_MAX + j] = (struct page_point){
				test->lpt_samples[j].lsm_at,
				value_of(&test->lpt_samples[j], which)
			};
		series[i] = (struct page_series){ test->lpt_name,
						  points + i * PLAN_SAMPLES_MAX,
						  test->lpt_samples_nr, i };
		++plot.ppl_series_nr;
	}
	page_plot(file, &plot);
	free(points);
}

static int by_x(const void *left, const void *right)
{
	const struct page_point *l = left;
	const struct page_point *r = right;

	return (l->pgp_x > r->pgp_x) - (l->pgp_x < r->pgp_x);
}

/** A line for reads and one for writes. */
static void plot_size(FILE *file, const struct plan *plan)
{
	struct page_point  points[2][PLAN_TESTS_MAX];
	struct page_series series[2] = { { "read", points[0], 0, 0 },
					 { "write", points[1], 0, 1 } };
	struct page_plot   plot = {
		  .ppl_title = "Rate against size",
		  .ppl_x = { "bytes of a request", PAGE_BYTES, true },
		  .ppl_y = { .pxs_name = "MiB/s" },
		  .ppl_series = series,
		  .ppl_series_nr = 2,
	};
	unsigned i;

	for (i = 0; i < plan->lpl_tests_nr; ++i) {
		const struct plan_test *test = &plan->lpl_tests[i];
		unsigned                way = test->lpt_writes;

		if (test->lpt_bytes > 0)
			points[way][series[way].pgs_nr++] =
				(struct page_point){ test->lpt_bytes,
						     test->lpt_mib_s };
	}
	for (i = 0; i < ARRAY_SIZE(series); ++i)
		qsort(points[i], series[i].pgs_nr, sizeof points[i][0], by_x);
	page_plot(file, &plot);
}

/** Adds `nr` to the bar of a time. */
static void bar_add(struct page_point points[BARS_NR], double ms, double nr)
{
	unsigned i;

	for (i = 0; i < BARS_NR - 1 && ms * 1e6 > points[i].pgp_x; ++i)
		;
	points[i].pgp_y += nr;
}

static void bars_init(struct page_point points[BARS_NR])
{
	double   ns = page_bar(1e3);
	unsigned i;

	for (i = 0; i < BARS_NR; ++i, ns = page_bar_next(ns))
		points[i] = (struct page_point){ ns, 0 };
}

/** Leaves out bars of nothing at both ends. */
static void bars_trim(struct page_series *series)
{
	while (series->pgs_nr > 0 &&
	       series->pgs_points[series->pgs_nr - 1].pgp_y <= 0)
		--series->pgs_nr;
	for (; series->pgs_nr > 0 && series->pgs_points[0].pgp_y <= 0;
	     --series->pgs_nr)
		++series->pgs_points;
}

/** How many requests, or answers to the console, took up to a time. */
static void plot_times(FILE *file, const struct plan *plan, const char *title,
		       const char *y, bool answers)
{
	struct page_point  points[BARS_NR];
	struct page_series series = { y, points, BARS_NR, 0 };
	struct page_plot   plot = {
		  .ppl_title = title,
		  .ppl_x = { "time, up to", PAGE_NS, true },
		  .ppl_y = { .pxs_name = y },
		  .ppl_bars = true,
		  .ppl_series = &series,
		  .ppl_series_nr = 1,
	};
	unsigned i;
	unsigned j;

	bars_init(points);
	for (i = 0; i < plan->lpl_tests_nr; ++i) {
		for (j = 0; j < plan->lpl_tests[i].lpt_samples_nr; ++j) {
			const struct sample *sample =
				&plan->lpl_tests[i].lpt_samples[j];

			if (answers)
				bar_add(points, sample->lsm_answer_ms, 1);
			else if (sample->lsm_requests > 0)
				bar_add(points, sample->lsm_request_ms,
					sample->lsm_requests);
		}
	}
	bars_trim(&series);
	page_plot(file, &plot);
}

static void table_print(FILE *file, const struct plan *plan)
{
	static char texts[PLAN_TESTS_MAX + 1][4][TEXT_BYTES];
	const char *cells[(PLAN_TESTS_MAX + 1) * 5] = { "test", "MiB/s",
							"messages/s", "errors",
							"verdict" };
	unsigned    i;

	for (i = 0; i < plan->lpl_tests_nr; ++i) {
		const struct plan_test *test = &plan->lpl_tests[i];
		const char            **row = &cells[(i + 1) * 5];
		char(*text)[TEXT_BYTES] = texts[i];

		snprintf(text[0], TEXT_BYTES, "%.2f", test->lpt_mib_s);
		snprintf(text[1], TEXT_BYTES, "%.0f", test->lpt_msgs_s);
		snprintf(text[2], TEXT_BYTES, "%" PRIu64, test->lpt_errors);
		row[0] = test->lpt_name;
		row[1] = text[0];
		row[2] = text[1];
		row[3] = text[2];
		row[4] = test->lpt_failed ? "FAIL" : "PASS";
	}
	page_table(file, cells, plan->lpl_tests_nr + 1, 5);
}

static int report_write(const struct plan *plan, bool passed)
{
	const char *path = plan->lpl_args->lsa_report;
	char        text[TEXT_BYTES];
	FILE       *file;

	if (path == NULL)
		return TOOL_OK;
	file = fopen(path, "we");
	if (file != NULL) {
		page_begin(file, plan->lpl_name);
		snprintf(text, sizeof text, "Verdict: %s. %u s for each test.",
			 passed ? "PASS" : "FAIL", plan->lpl_duration);
		page_text(file, text);
		page_time(file);
		table_print(file, plan);
		plot_time(file, plan, "Rate over time",
			  (struct page_axis){ .pxs_name = "MiB/s" }, 0);
		plot_time(file, plan, "Messages over time",
			  (struct page_axis){ .pxs_name = "messages/s" }, 1);
		plot_time(file, plan, "Latency over time",
			  (struct page_axis){ "mean of a request", PAGE_NS,
					      true },
			  2);
		plot_times(file, plan,
			   "Requests by their latency, mean of each second",
			   "requests", false);
		plot_times(file, plan,
			   "Answers to the console by their latency", "answers",
			   true);
		plot_size(file, plan);
		page_end(file);
	}
	if (file != NULL && fclose(file) == 0)
		return TOOL_OK;
	return tool_fail_set(&plan->lpl_args->lsa_fail, TOOL_FAILED,
			     "--report %s: %s", path, tool_errtext(errno));
}

/** The rate of each test: data of brw, messages of ping. */
static void values_fill(const struct plan *plan, struct baseline_value *values)
{
	unsigned i;

	for (i = 0; i < plan->lpl_tests_nr; ++i) {
		const struct plan_test *test = &plan->lpl_tests[i];
		bool                    is_bulk = test->lpt_bytes > 0;

		values[i] = (struct baseline_value){
			.bsv_name = test->lpt_name,
			.bsv_unit = is_bulk ? "MiB/s" : "messages/s",
			.bsv_value = is_bulk ? test->lpt_mib_s
					     : test->lpt_msgs_s,
		};
	}
}

static bool tests_passed(const struct plan *plan)
{
	unsigned i;

	for (i = 0; i < plan->lpl_tests_nr; ++i)
		if (plan->lpl_tests[i].lpt_failed ||
		    plan->lpl_tests[i].lpt_samples_nr == 0)
			return false;
	return true;
}

static struct baseline baseline_of(const struct lst_args *args)
{
	return (struct baseline){
		.bsl_tool = "lst",
		.bsl_path = args->lsa_baseline,
		.bsl_save = args->lsa_save_baseline,
		.bsl_tolerance = args->lsa_tolerance,
	};
}

int lst_plan_baseline_open(struct plan *plan)
{
	struct lst_args *args = plan->lpl_args;
	struct baseline  baseline = baseline_of(args);
	unsigned         i;
	unsigned         j;

	if (args->lsa_baseline == NULL && args->lsa_save_baseline == NULL)
		return TOOL_OK;
	for (i = 0; i < plan->lpl_tests_nr; ++i)
		for (j = 0; j < i; ++j)
			if (strcmp(plan->lpl_tests[i].lpt_name,
				   plan->lpl_tests[j].lpt_name) == 0)
				return tool_fail_set(
					&args->lsa_fail, TOOL_USAGE,
					"%s: two tests are named '%s'; for a "
					"baseline give each a name of its own",
					plan->lpl_path,
					plan->lpl_tests[i].lpt_name);
	return baseline_try(&baseline, &args->lsa_fail);
}

int lst_plan_results(struct plan *plan, int rc)
{
	struct lst_args      *args = plan->lpl_args;
	struct baseline_value values[PLAN_TESTS_MAX];
	struct baseline       baseline = baseline_of(args);
	struct json_t        *tree = args->lsa_json ? jout_alloc() : NULL;
	bool                  passed;

	passed = rc == TOOL_OK && stop_signal() == 0 && tests_passed(plan);
	values_fill(plan, values);
	/* Tests that did not run are not slower. */
	if (rc == TOOL_OK &&
	    baseline_check(&baseline, values, plan->lpl_tests_nr,
			   args->lsa_json ? NULL : stdout, tree,
			   &args->lsa_fail) != 0)
		passed = false;
	if (tree != NULL) {
		json_fill(tree, plan, passed);
		jout_finish(tree, stdout);
	} else {
		printf("%s\n", passed ? "PASS" : "FAIL");
	}
	rc = report_write(plan, passed);
	if (rc == TOOL_OK && passed)
		rc = baseline_write(&baseline, values, plan->lpl_tests_nr,
				    &args->lsa_fail);
	return rc != TOOL_OK ? rc : passed ? TOOL_OK : TOOL_FAILED;
}

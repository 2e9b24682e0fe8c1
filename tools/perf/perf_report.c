/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The page of `colibri perf --report`. */
#include <stdlib.h>

#include "../base/page.h"
#include "../base/text.h"
#include "perf_args.h"
#include "perf_verdict.h"

enum {
	/** Points of a distribution: each per cent, and the tail. */
	SHARES = 100,
	COLUMNS = 7,
	CELL_BYTES = 32
};

static bool is_bulk(const struct perf_row *row)
{
	return row->prw_test == PERF_PUT || row->prw_test == PERF_GET;
}

static void table(FILE *file, const struct perf_row *rows, size_t nr)
{
	static const char *const heads[COLUMNS] = { "test",  "bytes", "depth",
						    "ops/s", "MB/s",  "p50 us",
						    "p99 us" };
	const char **cells = calloc((nr + 1) * COLUMNS, sizeof *cells);
	char(*texts)[CELL_BYTES] = calloc(nr * COLUMNS + 1, CELL_BYTES);
	size_t i;
	size_t j;

	for (i = 0; cells != NULL && texts != NULL && i < nr; ++i) {
		const struct perf_row *row = &rows[i];
		char(*text)[CELL_BYTES] = &texts[i * COLUMNS];
		double rate = perf_rate(row);

		snprintf(text[0], CELL_BYTES, "%s",
			 perf_test_names[row->prw_test]);
		snprintf(text[1], CELL_BYTES, "%" PRIu64, row->prw_size);
		snprintf(text[2], CELL_BYTES, "%u", row->prw_depth);
		snprintf(text[3], CELL_BYTES, "%.0f", rate);
		snprintf(text[4], CELL_BYTES, "%.1f",
			 rate * (double)row->prw_size / 1e6);
		snprintf(text[5], CELL_BYTES, "%.2f",
			 (double)m0_hist_percentile(&row->prw_lat, 5000) / 1e3);
		snprintf(text[6], CELL_BYTES, "%.2f",
			 (double)m0_hist_percentile(&row->prw_lat, 9900) / 1e3);
		for (j = 0; j < COLUMNS; ++j)
			cells[(i + 1) * COLUMNS + j] = text[j];
	}
	for (j = 0; cells != NULL && j < COLUMNS; ++j)
		cells[j] = heads[j];
	if (cells != NULL && texts != NULL)
		page_table(file, cells, nr + 1, COLUMNS);
	free(cells);
	free(texts);
}

/** A number of each row against its size, with a series for each test. */
static void plot_size(FILE *file, const struct perf_row *rows, size_t nr,
		      bool bulk)
{
	struct page_point  points[PERF_TESTS_NR][PERF_SIZES_MAX];
	struct page_series series[PERF_TESTS_NR];
	struct page_plot   plot = { bulk ? "Rate of bulk against size"
					 : "Rate of messages against size",
				  "bytes",
				  bulk ? "MB/s" : "messages/s",
				  true,
				  false,
				  series,
				  0 };
	unsigned test;
	size_t   i;

	for (test = 0; test < PERF_TESTS_NR; ++test) {
		struct page_series *one = &series[plot.ppl_series_nr];

		*one = (struct page_series){ perf_test_names[test],
					     points[test], 0 };
		for (i = 0; i < nr; ++i) {
			double rate = perf_rate(&rows[i]);

			if (rows[i].prw_test != test ||
			    is_bulk(&rows[i]) != bulk)
				continue;
			points[test][one->pgs_nr++] = (struct page_point){
				(double)rows[i].prw_size,
				bulk ? rate * (double)rows[i].prw_size / 1e6
				     : rate
			};
		}
		plot.ppl_series_nr += one->pgs_nr > 0;
	}
	if (plot.ppl_series_nr > 0)
		page_plot(file, &plot);
}

/** Shares of operations that took up to a time, of the first six rows. */
static void plot_latency(FILE *file, const struct perf_row *rows, size_t nr)
{
	static struct page_point points[PAGE_SERIES_MAX][SHARES];
	struct page_series       series[PAGE_SERIES_MAX];
	char                     names[PAGE_SERIES_MAX][CELL_BYTES];
	struct page_plot         plot = { "Distribution of latencies",
					  "nanoseconds, up to",
					  "per cent of operations",
					  true,
					  false,
					  series,
					  0 };
	unsigned                 i;
	unsigned                 j;

	for (i = 0; i < nr && i < PAGE_SERIES_MAX; ++i) {
		for (j = 0; j < SHARES; ++j) {
			uint64_t ns = m0_hist_percentile(&rows[i].prw_lat,
							 (j + 1) * 100);

			points[i][j] = (struct page_point){
				(double)max_check(ns, UINT64_C(1)), j + 1
			};
		}
		snprintf(names[i], sizeof names[i], "%s %" PRIu64,
			 perf_test_names[rows[i].prw_test], rows[i].prw_size);
		series[i] = (struct page_series){ names[i], points[i], SHARES };
		++plot.ppl_series_nr;
	}
	page_plot(file, &plot);
}

int perf_report_write(const char *path, const struct perf_row *rows, size_t nr,
		      struct tool_fail *fail)
{
	FILE *file = fopen(path, "we");

	if (file != NULL) {
		page_begin(file, "colibri perf");
		table(file, rows, nr);
		plot_size(file, rows, nr, true);
		plot_size(file, rows, nr, false);
		plot_latency(file, rows, nr);
		page_end(file);
		if (fclose(file) == 0)
			return 0;
	}
	return tool_fail_set(fail, TOOL_FAILED, "--report %s: %s", path,
			     tool_errtext(errno));
}

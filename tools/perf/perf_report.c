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
	CELL_BYTES = 32,
	NAME_BYTES = TEXT_MAX + 16
};

static bool is_bulk(const struct perf_row *row)
{
	return row->prw_test == PERF_PUT || row->prw_test == PERF_GET;
}

/** "put 64K". */
static void row_name(char ret[NAME_BYTES], const struct perf_row *row)
{
	char size[TEXT_MAX];

	snprintf(ret, NAME_BYTES, "%s %s", perf_test_names[row->prw_test],
		 text_size_short(size, row->prw_size));
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
	struct page_plot   plot = {
		  .ppl_title = bulk ? "Rate of bulk against size"
				    : "Rate of messages against size",
		  .ppl_x = { "bytes", PAGE_BYTES, true },
		  .ppl_y = { .pxs_name = bulk ? "MB/s" : "messages/s" },
		  .ppl_series = series,
	};
	size_t   most = 0;
	unsigned test;
	size_t   i;

	for (test = 0; test < PERF_TESTS_NR; ++test) {
		struct page_series *one = &series[plot.ppl_series_nr];

		*one = (struct page_series){ perf_test_names[test],
					     points[test], 0, test };
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
		most = max_check(most, one->pgs_nr);
	}
	/* One size does not make a plot. */
	if (most > 1)
		page_plot(file, &plot);
}

/** Shares of operations that took up to a time, of the first rows. */
static void plot_latency(FILE *file, const struct perf_row *rows, size_t nr)
{
	static struct page_point points[PAGE_SERIES_MAX][SHARES];
	struct page_series       series[PAGE_SERIES_MAX];
	char                     names[PAGE_SERIES_MAX][NAME_BYTES];
	struct page_plot         plot = {
			.ppl_title = "Distribution of latencies",
			.ppl_x = { "time of an operation, up to", PAGE_NS, true },
			.ppl_y = { .pxs_name = "per cent of operations" },
			.ppl_series = series,
	};
	unsigned i;
	unsigned j;

	for (i = 0; i < nr && i < PAGE_SERIES_MAX; ++i) {
		for (j = 0; j < SHARES; ++j) {
			uint64_t ns = m0_hist_percentile(&rows[i].prw_lat,
							 (j + 1) * 100);

			points[i][j] = (struct page_point){
				(double)max_check(ns, UINT64_C(1)), j + 1
			};
		}
		row_name(names[i], &rows[i]);
		series[i] =
			(struct page_series){ names[i], points[i], SHARES, i };
		++plot.ppl_series_nr;
	}
	page_plot(file, &plot);
}

/** Subject of a plot over time. */
enum over_time {
	OVER_BULK,
	OVER_MESSAGES,
	OVER_LATENCY
};

static double slice_value(const struct perf_row   *row,
			  const struct perf_slice *slice, enum over_time which)
{
	double ops = (double)slice->psl_ops;
	double s = (double)row->prw_slice_ns / 1e9;

	return which == OVER_BULK       ? ops * (double)row->prw_size / 1e6 / s
	       : which == OVER_MESSAGES ? ops / s
					: (double)slice->psl_ns / ops;
}

/** Points of the slices that are over; without operations, none for latency. */
static size_t slices_fill(const struct perf_row *row, enum over_time which,
			  struct page_point *points)
{
	uint64_t nr = row->prw_slice_ns == 0 ? 0
					     : row->prw_ns / row->prw_slice_ns;
	size_t   filled = 0;
	uint64_t i;

	/* The last one has all that came later. */
	for (i = 0; i < nr && i < PERF_SLICES_NR - 1; ++i) {
		const struct perf_slice *slice = &row->prw_slices[i];

		if (which == OVER_LATENCY && slice->psl_ops == 0)
			continue;
		points[filled++] = (struct page_point){
			(double)(i + 1) * (double)row->prw_slice_ns / 1e9,
			slice_value(row, slice, which)
		};
	}
	return filled;
}

static void plot_time(FILE *file, const struct perf_row *rows, size_t nr,
		      const char *title, struct page_axis y,
		      enum over_time which)
{
	static struct page_point points[PAGE_SERIES_MAX][PERF_SLICES_NR];
	struct page_series       series[PAGE_SERIES_MAX];
	char                     names[PAGE_SERIES_MAX][NAME_BYTES];
	struct page_plot         plot = {
			.ppl_title = title,
			.ppl_x = { .pxs_name = "seconds of the row" },
			.ppl_y = y,
			.ppl_series = series,
	};
	size_t i;

	for (i = 0; i < nr && plot.ppl_series_nr < PAGE_SERIES_MAX; ++i) {
		size_t at = plot.ppl_series_nr;

		if (which != OVER_LATENCY &&
		    is_bulk(&rows[i]) != (which == OVER_BULK))
			continue;
		row_name(names[at], &rows[i]);
		series[at] = (struct page_series){ names[at], points[at],
						   slices_fill(&rows[i], which,
							       points[at]),
						   i % PAGE_SERIES_MAX };
		++plot.ppl_series_nr;
	}
	page_plot(file, &plot);
}

static void plots_time(FILE *file, const struct perf_row *rows, size_t nr)
{
	plot_time(file, rows, nr, "Rate of bulk over time",
		  (struct page_axis){ .pxs_name = "MB/s" }, OVER_BULK);
	plot_time(file, rows, nr, "Rate of messages over time",
		  (struct page_axis){ .pxs_name = "messages/s" },
		  OVER_MESSAGES);
	plot_time(file, rows, nr, "Latency over time",
		  (struct page_axis){ "mean of an operation", PAGE_NS, true },
		  OVER_LATENCY);
}

int perf_report_write(const char *path, const struct perf_row *rows, size_t nr,
		      struct tool_fail *fail)
{
	FILE *file = fopen(path, "we");

	if (file != NULL) {
		page_begin(file, "colibri perf");
		page_time(file);
		table(file, rows, nr);
		plots_time(file, rows, nr);
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

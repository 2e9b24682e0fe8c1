/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* `colibri perf --baseline` and `--save-baseline`. */
#include <stdio.h>

#include "../base/baseline.h"
#include "../base/text.h"
#include "perf_args.h"
#include "perf_verdict.h"

enum {
	NAME_BYTES = 96
};

struct base_rows {
	struct baseline       bro_baseline;
	struct baseline_value bro_values[PERF_TESTS_NR * PERF_SIZES_MAX];
	char bro_names[PERF_TESTS_NR * PERF_SIZES_MAX][NAME_BYTES];
};

static void baseline_of(const struct perf_args *args, struct baseline *ret)
{
	*ret = (struct baseline){
		.bsl_tool = "perf",
		.bsl_path = args->pa_baseline,
		.bsl_save = args->pa_save_baseline,
		.bsl_tolerance = (uint32_t)args->pa_tolerance,
	};
}

/** A row is known by all that was chosen for it. */
static void rows_fill(const struct perf_args *args, const struct perf_row *rows,
		      size_t nr, struct base_rows *ret)
{
	const struct perf_setup *setup = &args->pa_setup;
	char                     size[TEXT_MAX];
	size_t                   i;

	M0_PRE(nr <= ARRAY_SIZE(ret->bro_values));
	baseline_of(args, &ret->bro_baseline);
	for (i = 0; i < nr; ++i) {
		const struct perf_row *row = &rows[i];
		bool                   is_time = row->prw_test == PERF_LATENCY;
		uint64_t ns = m0_hist_percentile(&row->prw_lat, 5000);

		snprintf(ret->bro_names[i], NAME_BYTES, "%s %s, %s %s x %u",
			 setup->pu_xprt->txp_name,
			 perf_mode_names[setup->pu_mode],
			 perf_test_names[row->prw_test],
			 text_size_short(size, row->prw_size), row->prw_depth);
		ret->bro_values[i] = (struct baseline_value){
			.bsv_name = ret->bro_names[i],
			.bsv_unit = is_time ? "us" : "ops/s",
			.bsv_value = is_time ? (double)ns / 1e3
					     : perf_rate(row),
			.bsv_is_time = is_time,
		};
	}
}

int perf_baseline_open(struct perf_args *args)
{
	struct baseline baseline;

	baseline_of(args, &baseline);
	return baseline_try(&baseline, args->pa_fail);
}

int perf_baseline_check(struct perf_args *args, const struct perf_row *rows,
			size_t nr, struct json_t *tree)
{
	static struct base_rows base;

	rows_fill(args, rows, nr, &base);
	if (tree == NULL && args->pa_baseline != NULL)
		printf("\n");
	return baseline_check(&base.bro_baseline, base.bro_values, nr,
			      tree == NULL ? stdout : NULL, tree,
			      args->pa_fail);
}

int perf_baseline_save(struct perf_args *args, const struct perf_row *rows,
		       size_t nr)
{
	static struct base_rows base;

	rows_fill(args, rows, nr, &base);
	return baseline_write(&base.bro_baseline, base.bro_values, nr,
			      args->pa_fail);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Text of OpenMetrics: families of metrics from tables, and histograms. */
#ifndef M0_TOOLS_METRICS_BUF_H
#define M0_TOOLS_METRICS_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "m0/hist.h"
#include "m0/lnet_info.h"

enum {
	/** Buckets of a histogram, without the one that has no bound; those of
	 * durations are as many. */
	METRICS_BUCKETS_NR = M0_LNET_LATENCY_BOUNDS_NR,
	METRICS_LABELS_BYTES = 256
};

/** Labels of a sample, as they stand in the text. */
typedef char metrics_labels_t[METRICS_LABELS_BYTES];

enum metric_kind {
	METRIC_GAUGE,
	METRIC_COUNTER
};

/** Type of a field, and what becomes of its value. */
enum metric_form {
	METRIC_U64,
	METRIC_U32,
	METRIC_INT,
	METRIC_BOOL,
	METRIC_DOUBLE,
	/** A struct m0_lnet_msg_counts, summed up. */
	METRIC_SUM,
	/** Milliseconds, as seconds; UINT64_MAX is no number. */
	METRIC_MS,
	/** Health, as a ratio. */
	METRIC_HEALTH,
	/** 1 if the number is 0. */
	METRIC_IS_0
};

/**
 * A field of a structure. Entries of one family follow each other; the first has the
 * help, and each of several a label of its own.
 */
struct metric {
	const char      *mdf_name;
	const char      *mdf_help;
	const char      *mdf_label;
	enum metric_kind mdf_kind;
	enum metric_form mdf_form;
	size_t           mdf_offset;
};

struct metrics_table {
	const struct metric *mtb_metrics;
	size_t               mtb_nr;
};

#define METRICS_TABLE(list)              \
	{                                \
		(list), ARRAY_SIZE(list) \
	}

/** Text that grows; zeroed: empty. */
struct metrics_buf {
	char  *mbf_text;
	size_t mbf_nr;
	size_t mbf_max;
	bool   mbf_failed;
};

void metrics_put_text(struct metrics_buf *buf, const char *text);
void metrics_put_u64(struct metrics_buf *buf, uint64_t value);
void metrics_put_double(struct metrics_buf *buf, double value);
/** The family `colibri_build`. */
void metrics_put_version(struct metrics_buf *buf);
/** The lines before the samples of a family. */
void metrics_put_head(struct metrics_buf *buf, const char *name,
		      const char *type, const char *help);
/** All metrics of an array of structures. @param labels  NULL: one, without any. */
void metrics_put_rows(struct metrics_buf         *buf,
		      const struct metrics_table *table, const void *rows,
		      size_t row_bytes, size_t rows_nr,
		      metrics_labels_t *labels);
/**
 * The samples of a histogram of durations.
 * @param bound  METRICS_BUCKETS_NR bounds in seconds, and "+Inf".
 * @param nr     of the buckets, the last of which has no bound.
 */
void metrics_put_histogram(struct metrics_buf *buf, const char *name,
			   const char *labels, const char *const *bound,
			   const uint64_t *nr, uint64_t sum_ns);
/** Appends name="value", escaped. */
void metrics_label_add(metrics_labels_t labels, const char *name,
		       const char *value);
void metrics_label_number(metrics_labels_t labels, const char *name,
			  uint64_t number);
/**
 * Ends the text, which the caller frees.
 * @return NULL: no memory.
 */
char *metrics_buf_end(struct metrics_buf *buf, size_t *ret_nr);

/** Upper bounds of the buckets of durations: in nanoseconds, and as text in seconds. */
extern const uint64_t    metrics_bounds_ns[METRICS_BUCKETS_NR];
extern const char *const metrics_bounds[METRICS_BUCKETS_NR + 1];
/** The bucket of a duration. */
size_t metrics_bucket(uint64_t ns);

#endif /* M0_TOOLS_METRICS_BUF_H */

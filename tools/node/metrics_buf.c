/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "m0/base.h"

#include "metrics_buf.h"

const uint64_t metrics_bounds_ns[METRICS_BUCKETS_NR] = {
	100000,    300000,    1000000,    3000000,    10000000,    30000000,
	100000000, 300000000, 1000000000, 3000000000, 10000000000,
};

const char *const metrics_bounds[METRICS_BUCKETS_NR + 1] = {
	"0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03",
	"0.1",    "0.3",    "1.0",   "3.0",   "10.0", "+Inf",
};

/* ----------------------------------------------------------------- the text */

/* Room for `nr` more bytes; NULL: no memory. */
static char *room(struct metrics_buf *buf, size_t nr)
{
	size_t max = buf->mbf_max;
	char  *text;

	while (max - buf->mbf_nr < nr)
		max = max == 0 ? 65536 : 2 * max;
	if (max != buf->mbf_max && !buf->mbf_failed) {
		text = realloc(buf->mbf_text, max);
		buf->mbf_failed = text == NULL;
		if (text != NULL) {
			buf->mbf_text = text;
			buf->mbf_max = max;
		}
	}
	return buf->mbf_failed ? NULL : buf->mbf_text + buf->mbf_nr;
}

static void put(struct metrics_buf *buf, const char *text, size_t nr)
{
	char *at = room(buf, nr);

	if (at == NULL)
		return;
	memcpy(at, text, nr);
	buf->mbf_nr += nr;
}

void metrics_put_text(struct metrics_buf *buf, const char *text)
{
	put(buf, text, strlen(text));
}

void metrics_put_u64(struct metrics_buf *buf, uint64_t value)
{
	char  text[24];
	char *at = text + sizeof text;

	do
		*--at = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	put(buf, at, (size_t)(text + sizeof text - at));
}

static void put_int(struct metrics_buf *buf, int64_t value)
{
	if (value < 0)
		put(buf, "-", 1);
	metrics_put_u64(buf, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void metrics_put_double(struct metrics_buf *buf, double value)
{
	char text[64];

	if (isnan(value))
		snprintf(text, sizeof text, "NaN");
	else
		snprintf(text, sizeof text, "%.15g", value);
	metrics_put_text(buf, text);
}

/* -------------------------------------------------------------- its samples */

static uint64_t sum_of(const struct m0_lnet_msg_counts *counts)
{
	return counts->lmc_put + counts->lmc_get + counts->lmc_reply +
	       counts->lmc_ack;
}

static void put_ms(struct metrics_buf *buf, uint64_t ms)
{
	metrics_put_double(buf,
			   ms == UINT64_MAX ? (double)NAN : (double)ms / 1000);
}

static void put_value(struct metrics_buf *buf, const struct metric *metric,
		      const char *row)
{
	const void *at = row + metric->mdf_offset;

	switch (metric->mdf_form) {
	case METRIC_U64:
		metrics_put_u64(buf, *(const uint64_t *)at);
		break;
	case METRIC_U32:
		metrics_put_u64(buf, *(const uint32_t *)at);
		break;
	case METRIC_INT:
		put_int(buf, *(const int *)at);
		break;
	case METRIC_BOOL:
		metrics_put_u64(buf, *(const bool *)at ? 1 : 0);
		break;
	case METRIC_DOUBLE:
		metrics_put_double(buf, *(const double *)at);
		break;
	case METRIC_SUM:
		metrics_put_u64(buf, sum_of(at));
		break;
	case METRIC_MS:
		put_ms(buf, *(const uint64_t *)at);
		break;
	case METRIC_HEALTH:
		metrics_put_double(buf, *(const unsigned *)at / 1000.0);
		break;
	case METRIC_IS_0:
		metrics_put_u64(buf, *(const uint32_t *)at == 0 ? 1 : 0);
		break;
	}
}

/* The unit is the end of the name. */
static void put_unit(struct metrics_buf *buf, const char *name)
{
	static const char *const units[] = { "bytes", "seconds", "ratio" };
	const char              *end = strrchr(name, '_');
	size_t                   i;

	for (i = 0; i < ARRAY_SIZE(units); ++i) {
		if (strcmp(end + 1, units[i]) != 0)
			continue;
		metrics_put_text(buf, "# UNIT ");
		metrics_put_text(buf, name);
		metrics_put_text(buf, " ");
		metrics_put_text(buf, units[i]);
		metrics_put_text(buf, "\n");
	}
}

void metrics_put_head(struct metrics_buf *buf, const char *name,
		      const char *type, const char *help)
{
	metrics_put_text(buf, "# TYPE ");
	metrics_put_text(buf, name);
	metrics_put_text(buf, " ");
	metrics_put_text(buf, type);
	metrics_put_text(buf, "\n");
	put_unit(buf, name);
	metrics_put_text(buf, "# HELP ");
	metrics_put_text(buf, name);
	metrics_put_text(buf, " ");
	metrics_put_text(buf, help);
	metrics_put_text(buf, "\n");
}

/* @param labels  of the row; "": none. */
static void put_sample(struct metrics_buf *buf, const struct metric *metric,
		       const char *labels, const char *row)
{
	bool both = labels[0] != '\0' && metric->mdf_label != NULL;

	metrics_put_text(buf, metric->mdf_name);
	if (metric->mdf_kind == METRIC_COUNTER)
		metrics_put_text(buf, "_total");
	if (labels[0] != '\0' || metric->mdf_label != NULL) {
		metrics_put_text(buf, "{");
		metrics_put_text(buf, labels);
		metrics_put_text(buf, both ? "," : "");
		if (metric->mdf_label != NULL)
			metrics_put_text(buf, metric->mdf_label);
		metrics_put_text(buf, "}");
	}
	metrics_put_text(buf, " ");
	put_value(buf, metric, row);
	metrics_put_text(buf, "\n");
}

/* Number of entries of the family that begins here. */
static size_t family_nr(const struct metrics_table *table, size_t at)
{
	size_t end = at + 1;

	while (end < table->mtb_nr && table->mtb_metrics[end].mdf_help == NULL)
		++end;
	return end - at;
}

void metrics_put_rows(struct metrics_buf         *buf,
		      const struct metrics_table *table, const void *rows,
		      size_t row_bytes, size_t rows_nr,
		      metrics_labels_t *labels)
{
	size_t at;
	size_t nr;
	size_t r;
	size_t i;

	for (at = 0; at < table->mtb_nr; at += nr) {
		const struct metric *first = &table->mtb_metrics[at];

		nr = family_nr(table, at);
		metrics_put_head(buf, first->mdf_name,
				 first->mdf_kind == METRIC_COUNTER ? "counter"
								   : "gauge",
				 first->mdf_help);
		for (r = 0; r < rows_nr; ++r)
			for (i = 0; i < nr; ++i)
				put_sample(buf, &first[i],
					   labels == NULL ? "" : labels[r],
					   (const char *)rows + r * row_bytes);
	}
}

/* ------------------------------------------------------------------- labels */

void metrics_label_add(metrics_labels_t labels, const char *name,
		       const char *value)
{
	size_t nr = strlen(labels);

	nr += (size_t)snprintf(labels + nr, METRICS_LABELS_BYTES - nr,
			       "%s%s=\"", nr == 0 ? "" : ",", name);
	for (; *value != '\0' && nr < METRICS_LABELS_BYTES - 4; ++value) {
		if (strchr("\"\\", *value) != NULL)
			labels[nr++] = '\\';
		labels[nr++] = *value == '\n' ? ' ' : *value;
	}
	snprintf(labels + nr, METRICS_LABELS_BYTES - nr, "\"");
}

void metrics_label_number(metrics_labels_t labels, const char *name,
			  uint64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, number);
	metrics_label_add(labels, name, text);
}

void metrics_put_version(struct metrics_buf *buf)
{
	metrics_labels_t labels = "";

	metrics_label_add(labels, "version", m0_version());
	metrics_put_text(buf, "# TYPE colibri_build info\n"
			      "# HELP colibri_build Version of Colibri.\n"
			      "colibri_build_info{");
	metrics_put_text(buf, labels);
	metrics_put_text(buf, "} 1\n");
}

void metrics_put_histogram(struct metrics_buf *buf, const char *name,
			   const char *labels, const char *const *bound,
			   const uint64_t *nr, uint64_t sum_ns)
{
	uint64_t sum = 0;
	size_t   i;

	for (i = 0; i <= METRICS_BUCKETS_NR; ++i) {
		sum += nr[i];
		metrics_put_text(buf, name);
		metrics_put_text(buf, "_bucket{");
		metrics_put_text(buf, labels);
		metrics_put_text(buf, ",le=\"");
		metrics_put_text(buf, bound[i]);
		metrics_put_text(buf, "\"} ");
		metrics_put_u64(buf, sum);
		metrics_put_text(buf, "\n");
	}
	metrics_put_text(buf, name);
	metrics_put_text(buf, "_count{");
	metrics_put_text(buf, labels);
	metrics_put_text(buf, "} ");
	metrics_put_u64(buf, sum);
	metrics_put_text(buf, "\n");
	metrics_put_text(buf, name);
	metrics_put_text(buf, "_sum{");
	metrics_put_text(buf, labels);
	metrics_put_text(buf, "} ");
	metrics_put_double(buf, (double)sum_ns / 1e9);
	metrics_put_text(buf, "\n");
}

size_t metrics_bucket(uint64_t ns)
{
	size_t i = 0;

	while (i < METRICS_BUCKETS_NR && ns > metrics_bounds_ns[i])
		++i;
	return i;
}

char *metrics_buf_end(struct metrics_buf *buf, size_t *ret_nr)
{
	metrics_put_text(buf, "# EOF\n");
	if (buf->mbf_failed) {
		free(buf->mbf_text);
		return NULL;
	}
	*ret_nr = buf->mbf_nr;
	return buf->mbf_text;
}

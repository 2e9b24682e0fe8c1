/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A snapshot as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "m0/lnet_nid.h"
#include "metrics.h"

const uint64_t metrics_bounds_ns[METRICS_BUCKETS_NR] = {
	100000,    300000,    1000000,    3000000,    10000000,    30000000,
	100000000, 300000000, 1000000000, 3000000000, 10000000000,
};

static const char *const bounds[METRICS_BUCKETS_NR + 1] = {
	"0.0001", "0.0003", "0.001", "0.003", "0.01", "0.03",
	"0.1",    "0.3",    "1.0",   "3.0",   "10.0", "+Inf",
};

/* Bounds of struct m0_lnet_latency, exactly. */
static const char *const response_bounds[METRICS_BUCKETS_NR + 1] = {
	"0.000004096", "0.000016384", "0.000065536", "0.000262144",
	"0.001048576", "0.004194304", "0.016777216", "0.067108864",
	"0.268435456", "1.073741824", "4.294967296", "+Inf",
};

/** Text that grows. */
struct metrics_buf {
	char  *mbf_text;
	size_t mbf_nr;
	size_t mbf_max;
	bool   mbf_failed;
};

typedef char labels_t[METRICS_LABELS_BYTES];

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

static void put_text(struct metrics_buf *buf, const char *text)
{
	put(buf, text, strlen(text));
}

static void put_u64(struct metrics_buf *buf, uint64_t value)
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
	put_u64(buf, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void put_double(struct metrics_buf *buf, double value)
{
	char text[64];

	if (isnan(value))
		snprintf(text, sizeof text, "NaN");
	else
		snprintf(text, sizeof text, "%.15g", value);
	put_text(buf, text);
}

/* -------------------------------------------------------------- its samples */

static uint64_t sum_of(const struct m0_lnet_msg_counts *counts)
{
	return counts->lmc_put + counts->lmc_get + counts->lmc_reply +
	       counts->lmc_ack;
}

static void put_ms(struct metrics_buf *buf, uint64_t ms)
{
	put_double(buf, ms == UINT64_MAX ? (double)NAN : (double)ms / 1000);
}

static void put_value(struct metrics_buf *buf, const struct metric *metric,
		      const char *row)
{
	const void *at = row + metric->mdf_offset;

	switch (metric->mdf_form) {
	case METRIC_U64:
		put_u64(buf, *(const uint64_t *)at);
		break;
	case METRIC_U32:
		put_u64(buf, *(const uint32_t *)at);
		break;
	case METRIC_INT:
		put_int(buf, *(const int *)at);
		break;
	case METRIC_BOOL:
		put_u64(buf, *(const bool *)at ? 1 : 0);
		break;
	case METRIC_DOUBLE:
		put_double(buf, *(const double *)at);
		break;
	case METRIC_SUM:
		put_u64(buf, sum_of(at));
		break;
	case METRIC_MS:
		put_ms(buf, *(const uint64_t *)at);
		break;
	case METRIC_HEALTH:
		put_double(buf, *(const unsigned *)at / 1000.0);
		break;
	case METRIC_IS_0:
		put_u64(buf, *(const uint32_t *)at == 0 ? 1 : 0);
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
		put_text(buf, "# UNIT ");
		put_text(buf, name);
		put_text(buf, " ");
		put_text(buf, units[i]);
		put_text(buf, "\n");
	}
}

static void put_head(struct metrics_buf *buf, const char *name,
		     const char *type, const char *help)
{
	put_text(buf, "# TYPE ");
	put_text(buf, name);
	put_text(buf, " ");
	put_text(buf, type);
	put_text(buf, "\n");
	put_unit(buf, name);
	put_text(buf, "# HELP ");
	put_text(buf, name);
	put_text(buf, " ");
	put_text(buf, help);
	put_text(buf, "\n");
}

/* @param labels  of the row; "": none. */
static void put_sample(struct metrics_buf *buf, const struct metric *metric,
		       const char *labels, const char *row)
{
	bool both = labels[0] != '\0' && metric->mdf_label != NULL;

	put_text(buf, metric->mdf_name);
	if (metric->mdf_kind == METRIC_COUNTER)
		put_text(buf, "_total");
	if (labels[0] != '\0' || metric->mdf_label != NULL) {
		put_text(buf, "{");
		put_text(buf, labels);
		put_text(buf, both ? "," : "");
		if (metric->mdf_label != NULL)
			put_text(buf, metric->mdf_label);
		put_text(buf, "}");
	}
	put_text(buf, " ");
	put_value(buf, metric, row);
	put_text(buf, "\n");
}

/* Number of entries of the family that begins here. */
static size_t family_nr(const struct metrics_table *table, size_t at)
{
	size_t end = at + 1;

	while (end < table->mtb_nr && table->mtb_metrics[end].mdf_help == NULL)
		++end;
	return end - at;
}

/* All metrics of an array of structures. @param labels  NULL: one, without any. */
static void put_rows(struct metrics_buf *buf, enum metrics_of of,
		     const void *rows, size_t row_bytes, size_t rows_nr,
		     labels_t *labels)
{
	const struct metrics_table *table = &metrics_tables[of];
	size_t                      at;
	size_t                      nr;
	size_t                      r;
	size_t                      i;

	for (at = 0; at < table->mtb_nr; at += nr) {
		const struct metric *first = &table->mtb_metrics[at];

		nr = family_nr(table, at);
		put_head(buf, first->mdf_name,
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

/* "name="value"", escaped, behind what is there. */
static void label_add(labels_t labels, const char *name, const char *value)
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

static void label_nid(labels_t labels, const char *name,
		      const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];

	label_add(labels, name, m0_lnet_nid_print(nid, text, sizeof text));
}

static void label_number(labels_t labels, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, number);
	label_add(labels, name, text);
}

static void label_of(const struct metrics_snap *snap, enum metrics_of of,
		     size_t i, labels_t labels)
{
	static const char *const pools[M0_LNET_POOLS_NR] = { "tiny", "small",
							     "large" };
	char                     net[M0_LNET_NIDSTR_SIZE];

	switch (of) {
	case METRICS_NI:
		label_nid(labels, "nid", &snap->msp_info->li_nis[i].nii_nid);
		label_add(labels, "device",
			  snap->msp_info->li_nis[i].nii_device);
		break;
	case METRICS_PEER:
		label_nid(labels, "nid", &snap->msp_peers[i].pnr_ni.pni_nid);
		label_nid(labels, "peer", &snap->msp_peers[i].pnr_primary);
		break;
	case METRICS_ROUTE:
		label_add(
			labels, "net",
			m0_lnet_net_print(snap->msp_routes[i].lri_attr.lra_net,
					  net, sizeof net));
		label_nid(labels, "gateway",
			  &snap->msp_routes[i].lri_attr.lra_gateway);
		break;
	case METRICS_POOL:
		label_add(labels, "pool", pools[i]);
		break;
	default:
		label_number(labels, "pid", snap->msp_procs[i].lax_pid);
		label_number(labels, "uid", snap->msp_procs[i].lax_uid);
		/* A process may attach more than once. */
		label_number(labels, "attachment",
			     snap->msp_procs[i].lax_since);
		break;
	}
}

static void put_labelled(struct metrics_buf        *buf,
			 const struct metrics_snap *snap, enum metrics_of of,
			 const void *rows, size_t row_bytes, size_t rows_nr)
{
	labels_t *labels = calloc(rows_nr + 1, sizeof *labels);
	size_t    i;

	buf->mbf_failed |= labels == NULL;
	for (i = 0; labels != NULL && i < rows_nr; ++i)
		label_of(snap, of, i, labels[i]);
	if (labels != NULL)
		put_rows(buf, of, rows, row_bytes, rows_nr, labels);
	free(labels);
}

/* ------------------------------------------------- what is in no table above */

static void put_version(struct metrics_buf *buf)
{
	labels_t labels = "";

	label_add(labels, "version", m0_version());
	put_text(buf, "# TYPE colibri_build info\n"
		      "# HELP colibri_build Version of the node.\n"
		      "colibri_build_info{");
	put_text(buf, labels);
	put_text(buf, "} 1\n");
}

/* @param nr  of the buckets, the last of which has no bound. */
static void put_histogram(struct metrics_buf *buf, const char *name,
			  const char *labels, const char *const *bound,
			  const uint64_t *nr, uint64_t sum_ns)
{
	uint64_t sum = 0;
	size_t   i;

	for (i = 0; i <= METRICS_BUCKETS_NR; ++i) {
		sum += nr[i];
		put_text(buf, name);
		put_text(buf, "_bucket{");
		put_text(buf, labels);
		put_text(buf, ",le=\"");
		put_text(buf, bound[i]);
		put_text(buf, "\"} ");
		put_u64(buf, sum);
		put_text(buf, "\n");
	}
	put_text(buf, name);
	put_text(buf, "_count{");
	put_text(buf, labels);
	put_text(buf, "} ");
	put_u64(buf, sum);
	put_text(buf, "\n");
	put_text(buf, name);
	put_text(buf, "_sum{");
	put_text(buf, labels);
	put_text(buf, "} ");
	put_double(buf, (double)sum_ns / 1e9);
	put_text(buf, "\n");
}

static void put_responses(struct metrics_buf        *buf,
			  const struct metrics_snap *snap)
{
#define RESPONSE "colibri_ni_response_seconds"
	const struct m0_lnet_latency *latency;
	unsigned                      i;

	put_head(buf, RESPONSE, "histogram",
		 "Time from a GET to its REPLY, or from a PUT to its ACK, by "
		 "the interface by which that came.");
	for (i = 0; i < snap->msp_info->li_nis_nr; ++i) {
		labels_t labels = "";

		latency = &snap->msp_info->li_nis[i].nii_responses;
		label_of(snap, METRICS_NI, i, labels);
		put_histogram(buf, RESPONSE, labels, response_bounds,
			      latency->lly_nr, latency->lly_sum_ns);
	}
#undef RESPONSE
}

static void put_probes(struct metrics_buf         *buf,
		       const struct metrics_probe *probes)
{
	static const char *const kinds[METRICS_PROBES_NR] = {
		[METRICS_PING] = "ping",
		[METRICS_DISCOVERY] = "discovery",
	};
	size_t i;

	put_head(buf, "colibri_probe_duration_seconds", "histogram",
		 "Duration of probes that were answered, which the node made "
		 "for clients.");
	for (i = 0; i < METRICS_PROBES_NR; ++i) {
		labels_t labels = "";

		label_add(labels, "kind", kinds[i]);
		put_histogram(buf, "colibri_probe_duration_seconds", labels,
			      bounds, probes[i].mpb_nr, probes[i].mpb_sum_ns);
	}
	put_head(buf, "colibri_probe_failures", "counter",
		 "Probes that were not answered.");
	for (i = 0; i < METRICS_PROBES_NR; ++i) {
		put_text(buf, "colibri_probe_failures_total{kind=\"");
		put_text(buf, kinds[i]);
		put_text(buf, "\"} ");
		put_u64(buf, probes[i].mpb_failed_nr);
		put_text(buf, "\n");
	}
}

char *metrics_text(const struct metrics_snap *snap, size_t *ret_nr)
{
	struct metrics_buf buf = { .mbf_text = NULL };

	put_version(&buf);
	put_rows(&buf, METRICS_SELF, &snap->msp_self, 0, 1, NULL);
	put_rows(&buf, METRICS_NODE, &snap->msp_info->li_stats, 0, 1, NULL);
	put_labelled(&buf, snap, METRICS_NI, snap->msp_info->li_nis,
		     sizeof *snap->msp_info->li_nis, snap->msp_info->li_nis_nr);
	put_labelled(&buf, snap, METRICS_PEER, snap->msp_peers,
		     sizeof *snap->msp_peers, snap->msp_peers_nr);
	put_labelled(&buf, snap, METRICS_ROUTE, snap->msp_routes,
		     sizeof *snap->msp_routes, snap->msp_routes_nr);
	put_rows(&buf, METRICS_ROUTING, &snap->msp_routing, 0, 1, NULL);
	put_labelled(&buf, snap, METRICS_POOL, snap->msp_routing.lgi_pools,
		     sizeof snap->msp_routing.lgi_pools[0], M0_LNET_POOLS_NR);
	put_labelled(&buf, snap, METRICS_PROCESS, snap->msp_procs,
		     sizeof *snap->msp_procs, snap->msp_procs_nr);
	put_responses(&buf, snap);
	put_probes(&buf, snap->msp_probes);
	put_text(&buf, "# EOF\n");
	if (buf.mbf_failed) {
		free(buf.mbf_text);
		return NULL;
	}
	*ret_nr = buf.mbf_nr;
	return buf.mbf_text;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A snapshot as text. */
#include <stdio.h>
#include <stdlib.h>

#include "m0/lnet_nid.h"
#include "metrics.h"

/* Bounds of struct m0_lnet_latency, exactly. */
static const char *const response_bounds[METRICS_BUCKETS_NR + 1] = {
	"0.000004096", "0.000016384", "0.000065536", "0.000262144",
	"0.001048576", "0.004194304", "0.016777216", "0.067108864",
	"0.268435456", "1.073741824", "4.294967296", "+Inf",
};

/* ------------------------------------------------------------------- labels */

static void label_nid(metrics_labels_t labels, const char *name,
		      const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];

	metrics_label_add(labels, name,
			  m0_lnet_nid_print(nid, text, sizeof text));
}

static void label_of(const struct metrics_snap *snap, enum metrics_of of,
		     size_t i, metrics_labels_t labels)
{
	static const char *const pools[M0_LNET_POOLS_NR] = { "tiny", "small",
							     "large" };
	char                     net[M0_LNET_NIDSTR_SIZE];

	switch (of) {
	case METRICS_NI:
		label_nid(labels, "nid", &snap->msp_info->li_nis[i].nii_nid);
		metrics_label_add(labels, "device",
				  snap->msp_info->li_nis[i].nii_device);
		break;
	case METRICS_PEER:
		label_nid(labels, "nid", &snap->msp_peers[i].pnr_ni.pni_nid);
		label_nid(labels, "peer", &snap->msp_peers[i].pnr_primary);
		break;
	case METRICS_ROUTE:
		metrics_label_add(
			labels, "net",
			m0_lnet_net_print(snap->msp_routes[i].lri_attr.lra_net,
					  net, sizeof net));
		label_nid(labels, "gateway",
			  &snap->msp_routes[i].lri_attr.lra_gateway);
		break;
	case METRICS_POOL:
		metrics_label_add(labels, "pool", pools[i]);
		break;
	default:
		metrics_label_number(labels, "pid", snap->msp_procs[i].lax_pid);
		metrics_label_number(labels, "uid", snap->msp_procs[i].lax_uid);
		/* A process may attach more than once. */
		metrics_label_number(labels, "attachment",
				     snap->msp_procs[i].lax_since);
		break;
	}
}

static void put_labelled(struct metrics_buf        *buf,
			 const struct metrics_snap *snap, enum metrics_of of,
			 const void *rows, size_t row_bytes, size_t rows_nr)
{
	metrics_labels_t *labels = calloc(rows_nr + 1, sizeof *labels);
	size_t            i;

	buf->mbf_failed |= labels == NULL;
	for (i = 0; labels != NULL && i < rows_nr; ++i)
		label_of(snap, of, i, labels[i]);
	if (labels != NULL)
		metrics_put_rows(buf, &metrics_tables[of], rows, row_bytes,
				 rows_nr, labels);
	free(labels);
}

/* -------------------------------------------------------------------- text */

static void put_responses(struct metrics_buf        *buf,
			  const struct metrics_snap *snap)
{
#define RESPONSE "colibri_ni_response_seconds"
	const struct m0_lnet_latency *latency;
	unsigned                      i;

	metrics_put_head(
		buf, RESPONSE, "histogram",
		"Time from a GET to its REPLY, or from a PUT to its ACK, by "
		"the interface by which that came.");
	for (i = 0; i < snap->msp_info->li_nis_nr; ++i) {
		metrics_labels_t labels = "";

		latency = &snap->msp_info->li_nis[i].nii_responses;
		label_of(snap, METRICS_NI, i, labels);
		metrics_put_histogram(buf, RESPONSE, labels, response_bounds,
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

	metrics_put_head(
		buf, "colibri_probe_duration_seconds", "histogram",
		"Duration of probes that were answered, which the node made "
		"for clients.");
	for (i = 0; i < METRICS_PROBES_NR; ++i) {
		metrics_labels_t labels = "";

		metrics_label_add(labels, "kind", kinds[i]);
		metrics_put_histogram(buf, "colibri_probe_duration_seconds",
				      labels, metrics_bounds, probes[i].mpb_nr,
				      probes[i].mpb_sum_ns);
	}
	metrics_put_head(buf, "colibri_probe_failures", "counter",
			 "Probes that were not answered.");
	for (i = 0; i < METRICS_PROBES_NR; ++i) {
		metrics_put_text(buf, "colibri_probe_failures_total{kind=\"");
		metrics_put_text(buf, kinds[i]);
		metrics_put_text(buf, "\"} ");
		metrics_put_u64(buf, probes[i].mpb_failed_nr);
		metrics_put_text(buf, "\n");
	}
}

char *metrics_text(const struct metrics_snap *snap, size_t *ret_nr)
{
	struct metrics_buf buf = { .mbf_text = NULL };

	metrics_put_version(&buf);
	metrics_put_rows(&buf, &metrics_tables[METRICS_SELF], &snap->msp_self,
			 0, 1, NULL);
	metrics_put_rows(&buf, &metrics_tables[METRICS_NODE],
			 &snap->msp_info->li_stats, 0, 1, NULL);
	put_labelled(&buf, snap, METRICS_NI, snap->msp_info->li_nis,
		     sizeof *snap->msp_info->li_nis, snap->msp_info->li_nis_nr);
	put_labelled(&buf, snap, METRICS_PEER, snap->msp_peers,
		     sizeof *snap->msp_peers, snap->msp_peers_nr);
	put_labelled(&buf, snap, METRICS_ROUTE, snap->msp_routes,
		     sizeof *snap->msp_routes, snap->msp_routes_nr);
	metrics_put_rows(&buf, &metrics_tables[METRICS_ROUTING],
			 &snap->msp_routing, 0, 1, NULL);
	put_labelled(&buf, snap, METRICS_POOL, snap->msp_routing.lgi_pools,
		     sizeof snap->msp_routing.lgi_pools[0], M0_LNET_POOLS_NR);
	put_labelled(&buf, snap, METRICS_PROCESS, snap->msp_procs,
		     sizeof *snap->msp_procs, snap->msp_procs_nr);
	put_responses(&buf, snap);
	put_probes(&buf, snap->msp_probes);
	return metrics_buf_end(&buf, ret_nr);
}

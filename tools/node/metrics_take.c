/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A snapshot of a running node. */
#include <stdlib.h>

#include "lnet_node.h"
#include "metrics.h"
#include "metrics_process.h"

enum {
	/** How often the peers are read again when one of them has gone meanwhile. */
	TRIES_MAX = 3
};

static void self_take(const struct lnet_node *node, struct metrics_self *self)
{
	self->msl_started_s = metrics_started_s(node->lno_since);
	self->msl_cpu_s = metrics_cpu_s();
	self->msl_resident_bytes = metrics_resident_bytes();
	self->msl_scrapes_nr = node->lno_metrics.mtr_scrapes_nr;
	self->msl_refused_nr = node->lno_metrics.mtr_source.mrc_refused_nr;
	self->msl_took_s = (double)node->lno_metrics.mtr_took_ns / 1e9;
}

static int by_nid(const void *a, const void *b)
{
	const struct m0_lnet_peer_ni_row *one = a;
	const struct m0_lnet_peer_ni_row *two = b;

	return memcmp(&one->pnr_ni.pni_nid, &two->pnr_ni.pni_nid,
		      sizeof one->pnr_ni.pni_nid);
}

/* A peer that went and came back meanwhile is there twice. */
static void peers_unique(struct metrics_snap *snap)
{
	unsigned nr = 0;
	unsigned i;

	qsort(snap->msp_peers, snap->msp_peers_nr, sizeof *snap->msp_peers,
	      by_nid);
	for (i = 0; i < snap->msp_peers_nr; ++i) {
		if (nr > 0 &&
		    by_nid(&snap->msp_peers[nr - 1], &snap->msp_peers[i]) == 0)
			continue;
		snap->msp_peers[nr++] = snap->msp_peers[i];
	}
	snap->msp_peers_nr = nr;
}

static int peers_take(const struct lnet_node *node, struct metrics_snap *snap)
{
	int all =
		m0_lnet_peer_nis_get(node->lno_lnet, &m0_lnet_nid_any, NULL, 0);
	unsigned max;
	int      tries;
	int      rc = -ENOENT;

	if (all < 0)
		return all;
	max = min_check((unsigned)all, node->lno_metrics.mtr_peers_max);
	snap->msp_peers = calloc((size_t)max + 1, sizeof *snap->msp_peers);
	if (snap->msp_peers == NULL)
		return -ENOMEM;
	for (tries = 0; max > 0 && rc == -ENOENT && tries < TRIES_MAX; ++tries)
		rc = m0_lnet_peer_nis_get(node->lno_lnet, &m0_lnet_nid_any,
					  snap->msp_peers, max);
	if (rc < 0 && rc != -ENOENT)
		return rc;
	snap->msp_peers_nr = rc < 0 ? 0 : (unsigned)rc;
	peers_unique(snap);
	snap->msp_self.msl_peer_nis_nr = (unsigned)all;
	snap->msp_self.msl_omitted_nr = (unsigned)all - snap->msp_peers_nr;
	return 0;
}

static int routes_take(const struct lnet_node *node, struct metrics_snap *snap)
{
	int nr;

	snap->msp_routes = calloc(M0_LNET_ROUTES_MAX, sizeof *snap->msp_routes);
	if (snap->msp_routes == NULL)
		return -ENOMEM;
	nr = m0_lnet_route_get(node->lno_lnet, snap->msp_routes,
			       M0_LNET_ROUTES_MAX);
	if (nr < 0)
		return nr;
	snap->msp_routes_nr =
		min_check((unsigned)nr, (unsigned)M0_LNET_ROUTES_MAX);
	return m0_lnet_routing_get(node->lno_lnet, &snap->msp_routing);
}

static int procs_take(const struct lnet_node *node, struct metrics_snap *snap)
{
	struct m0_lnet_daemon_info info;

	if (node->lno_daemon == NULL)
		return 0;
	m0_lnet_daemon_info_get(node->lno_daemon, &info);
	snap->msp_procs =
		calloc((size_t)info.ldf_procs_nr + 1, sizeof *snap->msp_procs);
	if (snap->msp_procs == NULL)
		return -ENOMEM;
	snap->msp_procs_nr = m0_lnet_daemon_procs_get(
		node->lno_daemon, snap->msp_procs, info.ldf_procs_nr);
	snap->msp_self.msl_procs_nr = info.ldf_procs_nr;
	snap->msp_self.msl_procs_bytes = info.ldf_bytes;
	snap->msp_self.msl_attached_nr = info.ldf_attached_nr;
	snap->msp_self.msl_rejected_nr = info.ldf_refused_nr;
	return 0;
}

static int snap_take(const struct lnet_node *node, struct metrics_snap *snap)
{
	int rc = m0_lnet_info_head_get(node->lno_lnet, &snap->msp_info);

	if (rc == 0)
		rc = peers_take(node, snap);
	if (rc == 0)
		rc = routes_take(node, snap);
	if (rc == 0)
		rc = procs_take(node, snap);
	if (rc != 0)
		return rc;
	self_take(node, &snap->msp_self);
	snap->msp_self.msl_slice_s = (double)snap->msp_info->li_slice_ns / 1e9;
	snap->msp_self.msl_port = snap->msp_info->li_port;
	snap->msp_self.msl_is_router = snap->msp_info->li_is_router;
	snap->msp_probes = node->lno_metrics.mtr_probes;
	return 0;
}

char *metrics_take(struct lnet_node *node, size_t *ret_nr)
{
	struct metrics_snap snap = { .msp_info = NULL };
	m0_time_t           began = m0_time_now();
	char               *text = NULL;

	++node->lno_metrics.mtr_scrapes_nr;
	if (node->lno_lnet != NULL && snap_take(node, &snap) == 0)
		text = metrics_text(&snap, ret_nr);
	if (snap.msp_info != NULL)
		m0_lnet_info_free(snap.msp_info);
	free(snap.msp_peers);
	free(snap.msp_routes);
	free(snap.msp_procs);
	node->lno_metrics.mtr_took_ns = m0_time_sub(m0_time_now(), began);
	return text;
}

int metrics_serve(struct lnet_node *node, FILE *out, FILE *err)
{
	size_t nr;
	char  *text = metrics_take(node, &nr);

	if (text == NULL) {
		fputs("colibri: the node has no memory for its metrics, or is "
		      "stopping\n",
		      err);
		return TOOL_FAILED;
	}
	(void)fwrite(text, 1, nr, out);
	free(text);
	return TOOL_OK;
}

void metrics_probe_note(struct metrics *metrics, enum metrics_probe_kind kind,
			const struct m0_lnet_probe *probe)
{
	struct metrics_probe *to = &metrics->mtr_probes[kind];

	if (probe->pr_status != 0) {
		++to->mpb_failed_nr;
		return;
	}
	++to->mpb_nr[metrics_bucket(probe->pr_took_ns)];
	to->mpb_sum_ns += probe->pr_took_ns;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The state of a node in the text format of OpenMetrics, for Prometheus and others.
 *
 * Nothing is counted for it: a snapshot is taken of counters that are there, in slices
 * between which the node's thread moves messages. The list of peers is bounded.
 */
#ifndef M0_TOOLS_METRICS_H
#define M0_TOOLS_METRICS_H

#include "m0/lnet_daemon.h"
#include "m0/lnet_info.h"
#include "m0/lnet_route.h"

#include "ctl.h"
#include "metrics_buf.h"
#include "metrics_http.h"

struct lnet_node;

enum {
	/** Most peer NIs that are shown, unless --metrics-peers says otherwise. */
	METRICS_PEERS_DEFAULT = 4096,
	METRICS_PEERS_MAX = 65536
};

enum metrics_probe_kind {
	METRICS_PING,
	METRICS_DISCOVERY,
	METRICS_PROBES_NR
};

/** Durations of the probes of one kind that the node has made for clients. */
struct metrics_probe {
	/** By the first bound that they do not exceed; the last has none. */
	uint64_t mpb_nr[METRICS_BUCKETS_NR + 1];
	uint64_t mpb_failed_nr;
	uint64_t mpb_sum_ns;
};

/** Part of the node. */
struct metrics {
	const char *mtr_addr;
	/** Most peer NIs. */
	unsigned              mtr_peers_max;
	uint64_t              mtr_scrapes_nr;
	uint64_t              mtr_took_ns;
	struct metrics_source mtr_source;
	/** Does the node's thread answer? Is an interface up? */
	struct metrics_verdict mtr_answers;
	struct metrics_verdict mtr_link;
	struct metrics_probe   mtr_probes[METRICS_PROBES_NR];
};

/** Numbers of the process, and what is not in a structure of the library. */
struct metrics_self {
	uint64_t msl_peer_nis_nr;
	uint64_t msl_omitted_nr;
	uint64_t msl_port;
	bool     msl_is_router;
	double   msl_started_s;
	double   msl_cpu_s;
	uint64_t msl_resident_bytes;
	uint64_t msl_attached_nr;
	uint64_t msl_rejected_nr;
	uint64_t msl_procs_nr;
	uint64_t msl_procs_bytes;
	uint64_t msl_scrapes_nr;
	uint64_t msl_refused_nr;
	double   msl_took_s;
	double   msl_slice_s;
};

struct metrics_snap {
	struct m0_lnet_info        *msp_info;
	struct m0_lnet_peer_ni_row *msp_peers;
	struct m0_lnet_route_info  *msp_routes;
	struct m0_lnet_attached    *msp_procs;
	unsigned                    msp_peers_nr;
	unsigned                    msp_routes_nr;
	unsigned                    msp_procs_nr;
	struct m0_lnet_routing_info msp_routing;
	struct metrics_self         msp_self;
	const struct metrics_probe *msp_probes;
};

/** -- metrics_list.c: the names ---------------------------------------------- */

/** Structures of one type, and the metrics of each of them. */
enum metrics_of {
	/** struct metrics_self. */
	METRICS_SELF,
	/** struct m0_lnet_stats. */
	METRICS_NODE,
	/** struct m0_lnet_ni_info. */
	METRICS_NI,
	/** struct m0_lnet_peer_ni_row. */
	METRICS_PEER,
	/** struct m0_lnet_route_info. */
	METRICS_ROUTE,
	/** struct m0_lnet_routing_info. */
	METRICS_ROUTING,
	/** struct m0_lnet_pool_info. */
	METRICS_POOL,
	/** struct m0_lnet_attached. */
	METRICS_PROCESS,
	METRICS_OF_NR
};

extern const struct metrics_table metrics_tables[METRICS_OF_NR];

/* -- metrics_text.c -------------------------------------------------------- */

/**
 * Returns the snapshot as text, which the caller frees.
 * @return NULL: no memory.
 */
char *metrics_text(const struct metrics_snap *snap, size_t *ret_nr);

/* -- metrics_take.c -------------------------------------------------------- */

/** Takes a snapshot of the node as text. @return as metrics_text(). */
char *metrics_take(struct lnet_node *node, size_t *ret_nr);
/** Serves `metrics.show`. @return the exit code. */
int metrics_serve(struct lnet_node *node, FILE *out, FILE *err);
/** Counts a probe that the node has made for a client. */
void metrics_probe_note(struct metrics *metrics, enum metrics_probe_kind kind,
			const struct m0_lnet_probe *probe);

/* -- metrics_node.c -------------------------------------------------------- */

/** Makes the node the source of its metrics. */
void metrics_source_init(struct lnet_node *node);

#endif /* M0_TOOLS_METRICS_H */

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

struct lnet_node;

enum {
	/** Most peer NIs that are shown, unless --metrics-peers says otherwise. */
	METRICS_PEERS_DEFAULT = 4096,
	METRICS_PEERS_MAX = 65536,
	/** Buckets of a histogram, without the one that has no bound; those of probes
	 * are as many. */
	METRICS_BUCKETS_NR = M0_LNET_LATENCY_BOUNDS_NR,
	METRICS_LABELS_BYTES = 256
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
	unsigned             mtr_peers_max;
	uint64_t             mtr_scrapes_nr;
	uint64_t             mtr_refused_nr;
	uint64_t             mtr_took_ns;
	struct metrics_probe mtr_probes[METRICS_PROBES_NR];
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

struct metrics_table {
	const struct metric *mtb_metrics;
	size_t               mtb_nr;
};

extern const struct metrics_table metrics_tables[METRICS_OF_NR];

/* -- metrics_text.c -------------------------------------------------------- */

/** Upper bounds of the buckets, in nanoseconds. */
extern const uint64_t metrics_bounds_ns[METRICS_BUCKETS_NR];
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

/* -- metrics_http.c -------------------------------------------------------- */

enum {
	/** Connections of scrapers at a time, and of one address. */
	METRICS_CONNECTIONS_MAX = 16,
	METRICS_CONNECTIONS_OF_ONE_MAX = 8
};

struct metrics_http;

/**
 * Listens for HTTP at "PORT" (of 127.0.0.1), "ADDRESS:PORT" or "[IPV6]:PORT".
 * @return the exit code.
 */
int metrics_http_start(struct metrics_http **ret, struct lnet_node *node,
		       const char *addr, struct tool_fail *fail);
/** Is the address one? Otherwise notes what is accepted. */
int  metrics_http_check(const char *addr, struct tool_fail *fail);
void metrics_http_stop(struct metrics_http *http);
/** "http://127.0.0.1:9100/metrics", of the address that it has. */
const char *metrics_http_url(const struct metrics_http *http);
/** Readable: metrics_http_step() has something to do. */
int       metrics_http_fd(const struct metrics_http *http);
m0_time_t metrics_http_deadline(const struct metrics_http *http);
void      metrics_http_step(struct metrics_http *http, m0_time_t now);

#endif /* M0_TOOLS_METRICS_H */

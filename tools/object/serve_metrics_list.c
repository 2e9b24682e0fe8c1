/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The names of all metrics of a service. Boards and alerts of users rely on them: the test
 * compares them with tests/golden/metrics_service.txt. A name that is there is not changed,
 * and keeps its meaning.
 */
#include "serve_metrics_list.h"

#define SELF(name, help, kind, form, field)                \
	{                                                  \
		name, help, NULL, kind, form,              \
			offsetof(struct serve_self, field) \
	}
#define RPC(name, help, kind, field)                         \
	{                                                    \
		name, help, NULL, kind, METRIC_U64,          \
			offsetof(struct m0_rpc_stats, field) \
	}
#define STORE(name, help, kind, field)                                  \
	{                                                               \
		name, help, NULL, kind, METRIC_U64,                     \
			offsetof(struct m0_rpc_store_lmdb_stats, field) \
	}

static const struct metric self[] = {
	SELF("colibri_service_start_time_seconds",
	     "Time at which the service started, since 1970.", METRIC_GAUGE,
	     METRIC_DOUBLE, sse_started_s),
	SELF("colibri_service_cpu_seconds",
	     "Processor time of the process of the service.", METRIC_COUNTER,
	     METRIC_DOUBLE, sse_cpu_s),
	SELF("colibri_service_resident_memory_bytes",
	     "Memory of the process of the service.", METRIC_GAUGE, METRIC_U64,
	     sse_resident_bytes),
	SELF("colibri_service_operations",
	     "Requests that are with file workers or wait for a buffer.",
	     METRIC_GAUGE, METRIC_U64, sse_ops_nr),
	SELF("colibri_service_buffers", "Buffers for data of objects.",
	     METRIC_GAUGE, METRIC_U64, sse_bufs_nr),
	SELF("colibri_service_buffers_free", "Buffers that are free.",
	     METRIC_GAUGE, METRIC_U64, sse_free_nr),
	SELF("colibri_service_uploads", "Uploads that are under way.",
	     METRIC_GAUGE, METRIC_U64, sse_uploads_nr),
	SELF("colibri_rpc_sessions", "Sessions of clients.", METRIC_GAUGE,
	     METRIC_U64, sse_sessions_nr),
	SELF("colibri_metrics_omitted_connections",
	     "Connections that are not shown, because there are too many.",
	     METRIC_GAUGE, METRIC_U64, sse_omitted_conns_nr),
	SELF("colibri_metrics_omitted_sessions",
	     "Sessions that are not shown, because there are too many.",
	     METRIC_GAUGE, METRIC_U64, sse_omitted_sessions_nr),
	SELF("colibri_metrics_scrapes", "Snapshots that were taken.",
	     METRIC_COUNTER, METRIC_U64, sse_scrapes_nr),
	SELF("colibri_metrics_refused_connections",
	     "Connections of scrapers that were refused or cut off.",
	     METRIC_COUNTER, METRIC_U64, sse_refused_nr),
	SELF("colibri_metrics_collect_seconds",
	     "Time that the last snapshot but this one took.", METRIC_GAUGE,
	     METRIC_DOUBLE, sse_took_s),
};

static const struct metric rpc[] = {
	RPC("colibri_rpc_received_items",
	    "Items received and decoded; duplicates included.", METRIC_COUNTER,
	    rs_nr_rcvd_items),
	RPC("colibri_rpc_sent_items", "Items sent; resends included.",
	    METRIC_COUNTER, rs_nr_sent_items),
	RPC("colibri_rpc_failed_items", "Items that failed.", METRIC_COUNTER,
	    rs_nr_failed_items),
	RPC("colibri_rpc_dropped_items",
	    "Items received for no opcode, session or request that is known.",
	    METRIC_COUNTER, rs_nr_dropped_items),
	RPC("colibri_rpc_timed_out_items", "Items that timed out.",
	    METRIC_COUNTER, rs_nr_timedout_items),
	RPC("colibri_rpc_resent_items", "Items sent again.", METRIC_COUNTER,
	    rs_nr_resent_items),
	RPC("colibri_rpc_expired_items",
	    "Requests received after their expiry, and not executed.",
	    METRIC_COUNTER, rs_nr_expired_items),
	RPC("colibri_rpc_replayed_items",
	    "Requests that came again, and got the reply that was kept.",
	    METRIC_COUNTER, rs_nr_replayed_items),
	RPC("colibri_rpc_cancelled_items",
	    "Requests that their client cancelled before they began.",
	    METRIC_COUNTER, rs_nr_cancelled_items),
	RPC("colibri_rpc_received_packets", "Packets received.", METRIC_COUNTER,
	    rs_nr_rcvd_packets),
	RPC("colibri_rpc_sent_packets", "Packets sent.", METRIC_COUNTER,
	    rs_nr_sent_packets),
	RPC("colibri_rpc_failed_packets", "Packets that could not be sent.",
	    METRIC_COUNTER, rs_nr_failed_packets),
	RPC("colibri_rpc_bad_packets", "Packets that could not be decoded.",
	    METRIC_COUNTER, rs_nr_bad_packets),
	RPC("colibri_rpc_received_bytes", "Bytes of packets received.",
	    METRIC_COUNTER, rs_nr_rcvd_bytes),
	RPC("colibri_rpc_sent_bytes", "Bytes of packets sent.", METRIC_COUNTER,
	    rs_nr_sent_bytes),
	RPC("colibri_rpc_moved_bulk_buffers",
	    "Bulk buffers that were started again over another link.",
	    METRIC_COUNTER, rs_nr_moved_bulk),
	RPC("colibri_rpc_restarted_bulk_buffers",
	    "Bulk buffers that were started again after a failure.",
	    METRIC_COUNTER, rs_nr_restarted_bulk),
	RPC("colibri_rpc_connections", "Clients that are connected.",
	    METRIC_GAUGE, rs_clients),
	RPC("colibri_rpc_executing_requests", "Requests in execution.",
	    METRIC_GAUGE, rs_executing),
	RPC("colibri_rpc_replies_bytes",
	    "Replies that are kept in case a request comes again.",
	    METRIC_GAUGE, rs_replies_bytes),
	RPC("colibri_rpc_clients_bytes",
	    "State of clients, with their sessions and streams.", METRIC_GAUGE,
	    rs_clients_bytes),
	RPC("colibri_rpc_waiting_bytes", "Items that wait to be sent.",
	    METRIC_GAUGE, rs_waiting_bytes),
};

static const struct metric conns[] = {
	{ "colibri_rpc_connection_age_seconds",
	  "Time since the client has connected.", NULL, METRIC_GAUGE,
	  METRIC_DOUBLE, offsetof(struct serve_row, swr_age_s) },
	{ "colibri_rpc_connection_sessions", "Sessions of the connection.",
	  NULL, METRIC_GAUGE, METRIC_U64,
	  offsetof(struct serve_row, swr_sessions_nr) },
	{ "colibri_rpc_connection_requests",
	  "Requests that were given to the service.", NULL, METRIC_COUNTER,
	  METRIC_U64, offsetof(struct serve_row, swr_requests_nr) },
};

static const struct metric sessions[] = {
	{ "colibri_rpc_session_age_seconds", "Time since it was made.", NULL,
	  METRIC_GAUGE, METRIC_DOUBLE, offsetof(struct serve_row, swr_age_s) },
	{ "colibri_rpc_session_streams", "Update streams of the session.", NULL,
	  METRIC_GAUGE, METRIC_U32, offsetof(struct serve_row, swr_streams) },
	{ "colibri_rpc_session_window",
	  "Requests of a stream that may be in flight.", NULL, METRIC_GAUGE,
	  METRIC_U32, offsetof(struct serve_row, swr_window) },
};

static const struct metric store[] = {
	STORE("colibri_store_commits",
	      "Transactions that changed something, and were committed.",
	      METRIC_COUNTER, rls_commits_nr),
	STORE("colibri_store_failed_commits",
	      "Transactions whose commit failed.", METRIC_COUNTER,
	      rls_commits_failed_nr),
	STORE("colibri_store_jobs",
	      "Updates and other jobs; several share a commit.", METRIC_COUNTER,
	      rls_jobs_nr),
	STORE("colibri_store_failed_jobs", "Jobs that were undone, or lost.",
	      METRIC_COUNTER, rls_jobs_failed_nr),
	STORE("colibri_store_keys", "Keys in the store.", METRIC_GAUGE,
	      rls_keys_nr),
	STORE("colibri_store_bytes",
	      "Size of the file, which never becomes smaller.", METRIC_GAUGE,
	      rls_bytes),
	STORE("colibri_store_used_bytes",
	      "Bytes of the file that are in use; the others are used again.",
	      METRIC_GAUGE, rls_used_bytes),
	STORE("colibri_store_limit_bytes", "Largest size of the file.",
	      METRIC_GAUGE, rls_bytes_max),
};

const struct metrics_table serve_metrics_tables[SERVE_METRICS_OF_NR] = {
	[SERVE_METRICS_SELF] = METRICS_TABLE(self),
	[SERVE_METRICS_RPC] = METRICS_TABLE(rpc),
	[SERVE_METRICS_CONN] = METRICS_TABLE(conns),
	[SERVE_METRICS_SESSION] = METRICS_TABLE(sessions),
	[SERVE_METRICS_STORE] = METRICS_TABLE(store),
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Tables of the metrics of a service, and the structures whose fields they name. */
#ifndef M0_TOOLS_SERVE_METRICS_LIST_H
#define M0_TOOLS_SERVE_METRICS_LIST_H

#include "m0/rpc_store_lmdb.h"

#include "serve_metrics.h"

/** Numbers of the process, and what is not in a structure of the library. */
struct serve_self {
	double   sse_started_s;
	double   sse_cpu_s;
	double   sse_took_s;
	uint64_t sse_resident_bytes;
	uint64_t sse_ops_nr;
	uint64_t sse_bufs_nr;
	uint64_t sse_free_nr;
	uint64_t sse_uploads_nr;
	uint64_t sse_sessions_nr;
	uint64_t sse_omitted_conns_nr;
	uint64_t sse_omitted_sessions_nr;
	uint64_t sse_scrapes_nr;
	uint64_t sse_refused_nr;
};

/** A connection of a client, or a session of one. */
struct serve_row {
	/** Slots follow each other in a bucket, or in the list of the free ones. */
	struct m0_list_link swr_link;
	bool                swr_is_used;
	struct m0_uint128   swr_client;
	/** Number of a session. */
	uint64_t swr_session;
	uint64_t swr_incarnation;
	/** Where the client was when it connected. */
	char      swr_addr[M0_RPC_ADDR_MAX];
	m0_time_t swr_since;
	double    swr_age_s;
	uint64_t  swr_sessions_nr;
	uint64_t  swr_requests_nr;
	uint32_t  swr_streams;
	uint32_t  swr_window;
};

enum serve_metrics_of {
	/** struct serve_self. */
	SERVE_METRICS_SELF,
	/** struct m0_rpc_stats. */
	SERVE_METRICS_RPC,
	/** struct serve_row. */
	SERVE_METRICS_CONN,
	SERVE_METRICS_SESSION,
	/** struct m0_rpc_store_lmdb_stats. */
	SERVE_METRICS_STORE,
	SERVE_METRICS_OF_NR
};

extern const struct metrics_table serve_metrics_tables[SERVE_METRICS_OF_NR];

#endif /* M0_TOOLS_SERVE_METRICS_LIST_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Metrics of a service: its RPC machine, with connections and sessions, its store, its
 * operations and its buffers. Nothing is counted unless the service has --metrics.
 */
#ifndef M0_TOOLS_SERVE_METRICS_H
#define M0_TOOLS_SERVE_METRICS_H

#include "../node/metrics_buf.h"
#include "../node/metrics_http.h"
#include "serve.h"

enum {
	/** Most connections, and most sessions, that are shown. */
	SERVE_METRICS_ROWS_MAX = 1024,
	/** Rows that a scrape copies while it holds the lock, for which the RPC machine's
	 * thread may wait. */
	SERVE_METRICS_SLICE = 64
};

struct serve_metrics;

/**
 * Makes the metrics, before the RPC machine. `addr` is that of HTTP.
 * @return the exit code.
 */
int  serve_metrics_init(struct serve_metrics **ret, struct server *sv,
			const char *addr, struct tool_fail *fail);
void serve_metrics_fini(struct serve_metrics *metrics);
/** Watches the RPC machine, which has just started, until that is finalised. */
void serve_metrics_watch(struct serve_metrics *metrics);
/** Serves no more scrapers and probers; what is counted stays. */
void serve_metrics_close(struct serve_metrics *metrics);
/** Where they are served. */
const char *serve_metrics_url(const struct serve_metrics *metrics);

/* NULL is accepted below: nothing is counted then. */

/** Waits a second at most, or until the descriptor is readable; serves scrapers
 * meanwhile. */
void serve_metrics_wait(struct serve_metrics *metrics, int fd);
/** A request has come. On the RPC machine's thread. */
void serve_metrics_request(struct serve_metrics     *metrics,
			   const struct m0_rpc_item *item);
/** A request was answered, `took` after it came. `metrics` is not NULL. */
void serve_metrics_operation(struct serve_metrics     *metrics,
			     const struct m0_rpc_item *item, m0_time_t took);

/** The text. @return as metrics_buf_end(). */
char *serve_metrics_take(struct serve_metrics *metrics, size_t *ret_nr);
#endif /* M0_TOOLS_SERVE_METRICS_H */

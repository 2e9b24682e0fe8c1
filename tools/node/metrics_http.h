/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Metrics and health by HTTP, of a node or of a service. */
#ifndef M0_TOOLS_METRICS_HTTP_H
#define M0_TOOLS_METRICS_HTTP_H

#include "../base/cmd.h"

enum {
	/** Connections of scrapers at a time, and of one address. */
	METRICS_CONNECTIONS_MAX = 16,
	METRICS_CONNECTIONS_OF_ONE_MAX = 8
};

/** A verdict that holds for a while, so that prober after prober costs nothing. */
struct metrics_verdict {
	/** 0: there is none yet. */
	m0_time_t mvd_at;
	/** Why it is bad, a line; NULL: it is good. */
	const char *mvd_why;
};

bool        metrics_verdict_is_fresh(const struct metrics_verdict *verdict);
const char *metrics_verdict_note(struct metrics_verdict *verdict,
				 const char             *why);

/** Answers for scrapers and probers; the server calls on the thread of
 * metrics_http_step(). */
struct metrics_source {
	void *mrc_arg;
	/** The text, which the server frees; it asks at most twice a second. NULL: there
	 * is none now. */
	char *(*mrc_take)(void *arg, size_t *ret_nr);
	/** For /healthz and /readyz: why not, a line; NULL: it is well, is ready. */
	const char *(*mrc_sick)(void *arg);
	const char *(*mrc_unready)(void *arg);
	/** Connections that were refused or cut off. */
	uint64_t mrc_refused_nr;
};

struct metrics_http;

/**
 * Listens for HTTP at "PORT" (of 127.0.0.1), "ADDRESS:PORT" or "[IPV6]:PORT".
 * @param source  outlives the server.
 * @return the exit code.
 */
int metrics_http_start(struct metrics_http **ret, struct metrics_source *source,
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

#endif /* M0_TOOLS_METRICS_HTTP_H */

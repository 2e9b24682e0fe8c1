/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * HTTP for scrapers, by libmicrohttpd; the one file that sees it. It has no thread: the
 * loop of the process polls the library's descriptor.
 *
 * The cost of clients is bounded. The number of connections is, and each ends after
 * CONNECTION_TIME. Requests within FRESH_TIME share a snapshot of the counters and
 * verdicts.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "m0/base.h"
#include "m0/time.h"

#include "../base/text.h"
#include "lnet_opts.h"
#include "metrics_http.h"

enum {
	/** Seconds without a byte. */
	IDLE_S = 5,
	/** Bytes of a request that are kept. */
	REQUEST_BYTES = 8192,
	/** More than the most connections: the policy refuses those above. */
	DAEMON_CONNECTIONS = METRICS_CONNECTIONS_MAX + 8,
	BACKLOG = 32,
	URL_BYTES = 96
};

#define CONNECTION_TIME (20 * M0_TIME_ONE_SECOND)
#define FRESH_TIME      (M0_TIME_ONE_SECOND / 2)
#define OPENMETRICS     "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define FORMS           "PORT, ADDRESS:PORT or [IPV6]:PORT, numbers only"

struct http_conn {
	/** -1: free. */
	int       hcn_fd;
	m0_time_t hcn_until;
};

struct metrics_http {
	struct metrics_source *mht_source;
	struct MHD_Daemon     *mht_daemon;
	struct MHD_Response   *mht_last;
	/** Its text, which it frees. */
	char            *mht_last_text;
	size_t           mht_last_nr;
	m0_time_t        mht_last_at;
	char             mht_url[URL_BYTES];
	struct http_conn mht_conns[DAEMON_CONNECTIONS];
	unsigned         mht_conns_nr;
};

/* ------------------------------------------------------------------ address */

union http_addr {
	struct sockaddr     hta_any;
	struct sockaddr_in  hta_v4;
	struct sockaddr_in6 hta_v6;
};

static bool port_parse(const char *text, in_port_t *ret)
{
	uint64_t port;

	if (text_number_parse(text, &port) != 0 || port > UINT16_MAX)
		return false;
	*ret = htons((uint16_t)port);
	return true;
}

/* @return the size of the address; 0: it is none. */
static socklen_t addr_parse(const char *text, union http_addr *ret)
{
	const char *colon = strrchr(text, ':');
	char        host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	size_t      nr = colon == NULL ? 0 : (size_t)(colon - text);

	M0_SET0(ret);
	if (nr >= sizeof host)
		return 0;
	if (colon != NULL)
		snprintf(host, sizeof host, "%.*s", (int)nr, text);
	if (host[0] == '[' && host[nr - 1] == ']') {
		host[nr - 1] = '\0';
		ret->hta_v6.sin6_family = AF_INET6;
		return inet_pton(AF_INET6, host + 1, &ret->hta_v6.sin6_addr) ==
					       1 &&
				       port_parse(colon + 1,
						  &ret->hta_v6.sin6_port)
			       ? sizeof ret->hta_v6
			       : 0;
	}
	ret->hta_v4.sin_family = AF_INET;
	return inet_pton(AF_INET, host, &ret->hta_v4.sin_addr) == 1 &&
			       port_parse(colon == NULL ? text : colon + 1,
					  &ret->hta_v4.sin_port)
		       ? sizeof ret->hta_v4
		       : 0;
}

int metrics_http_check(const char *addr, struct tool_fail *fail)
{
	union http_addr any;

	if (addr_parse(addr, &any) == 0)
		tool_bad_value(fail, "--metrics", addr, FORMS);
	return fail->tf_exit;
}

/* The address that the socket has got. */
static void url_make(struct metrics_http *http, int fd)
{
	union http_addr addr = { .hta_any = { .sa_family = AF_INET } };
	socklen_t       size = sizeof addr;
	char            host[INET6_ADDRSTRLEN] = "?";
	bool            is_v6;

	(void)getsockname(fd, &addr.hta_any, &size);
	is_v6 = addr.hta_any.sa_family == AF_INET6;
	(void)inet_ntop(addr.hta_any.sa_family,
			is_v6 ? (void *)&addr.hta_v6.sin6_addr
			      : (void *)&addr.hta_v4.sin_addr,
			host, sizeof host);
	snprintf(http->mht_url, sizeof http->mht_url,
		 "http://%s%s%s:%u/metrics", is_v6 ? "[" : "", host,
		 is_v6 ? "]" : "",
		 ntohs(is_v6 ? addr.hta_v6.sin6_port : addr.hta_v4.sin_port));
}

/* @return the socket, or a negative errno. */
static int listen_at(const char *text)
{
	const int       one = 1;
	union http_addr addr;
	socklen_t       size = addr_parse(text, &addr);
	int             fd;
	int             rc;

	M0_PRE(size > 0);
	fd = socket(addr.hta_any.sa_family,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, &addr.hta_any, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	rc = -errno;
	(void)close(fd);
	return rc;
}

/* -------------------------------------------------------------- connections */

static void conn_begin(struct metrics_http *http, int fd)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(http->mht_conns); ++i) {
		if (http->mht_conns[i].hcn_fd >= 0)
			continue;
		http->mht_conns[i].hcn_fd = fd;
		http->mht_conns[i].hcn_until =
			m0_time_add(m0_time_now(), CONNECTION_TIME);
		++http->mht_conns_nr;
		return;
	}
	(void)shutdown(fd, SHUT_RDWR);
}

static void conn_end(struct metrics_http *http, int fd)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(http->mht_conns); ++i) {
		if (http->mht_conns[i].hcn_fd != fd)
			continue;
		http->mht_conns[i].hcn_fd = -1;
		--http->mht_conns_nr;
		return;
	}
}

static void conn_notify(void *arg, struct MHD_Connection *conn, void **context,
			enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		conn, MHD_CONNECTION_INFO_CONNECTION_FD);

	(void)context;
	if (info == NULL)
		return;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		conn_begin(arg, info->connect_fd);
	else
		conn_end(arg, info->connect_fd);
}

static enum MHD_Result conn_admit(void *arg, const struct sockaddr *addr,
				  socklen_t size)
{
	struct metrics_http *http = arg;

	(void)addr;
	(void)size;
	if (http->mht_conns_nr < METRICS_CONNECTIONS_MAX)
		return MHD_YES;
	++http->mht_source->mrc_refused_nr;
	return MHD_NO;
}

/*
 * Is the connection in the second half of its time? The answer is its last one then:
 * otherwise a client that asks again and again would be cut off between, or in, two.
 */
static bool conn_is_old(const struct metrics_http *http,
			struct MHD_Connection     *conn)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	m0_time_t late = m0_time_add(m0_time_now(), CONNECTION_TIME / 2);
	size_t    i;

	for (i = 0; info != NULL && i < ARRAY_SIZE(http->mht_conns); ++i)
		if (http->mht_conns[i].hcn_fd == info->connect_fd)
			return late >= http->mht_conns[i].hcn_until;
	return true;
}

/* A client that reads slowly is cut off, however slowly it does. */
static void conns_expire(struct metrics_http *http, m0_time_t now)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(http->mht_conns); ++i) {
		struct http_conn *conn = &http->mht_conns[i];

		if (conn->hcn_fd < 0 || now < conn->hcn_until)
			continue;
		(void)shutdown(conn->hcn_fd, SHUT_RDWR);
		conn->hcn_until = M0_TIME_NEVER;
		++http->mht_source->mrc_refused_nr;
	}
}

/* ------------------------------------------------------------------ answers */

static enum MHD_Result answer_text(const struct metrics_http *http,
				   struct MHD_Connection *conn, unsigned code,
				   const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ret;

	if (response == NULL)
		return MHD_NO;
	(void)MHD_add_response_header(response, "Content-Type",
				      "text/plain; charset=utf-8");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, "Allow", "GET, HEAD");
	if (code >= 400 || conn_is_old(http, conn))
		(void)MHD_add_response_header(response, "Connection", "close");
	ret = MHD_queue_response(conn, code, response);
	MHD_destroy_response(response);
	return ret;
}

static void last_drop(struct metrics_http *http)
{
	if (http->mht_last != NULL)
		MHD_destroy_response(http->mht_last);
	http->mht_last = NULL;
}

static bool last_renew(struct metrics_http *http)
{
	size_t nr;
	char  *text;

	last_drop(http);
	text = http->mht_source->mrc_take(http->mht_source->mrc_arg, &nr);
	if (text == NULL)
		return false;
	http->mht_last = MHD_create_response_from_buffer(nr, text,
							 MHD_RESPMEM_MUST_FREE);
	if (http->mht_last == NULL) {
		free(text);
		return false;
	}
	(void)MHD_add_response_header(http->mht_last, "Content-Type",
				      OPENMETRICS);
	http->mht_last_text = text;
	http->mht_last_nr = nr;
	http->mht_last_at = m0_time_now();
	return true;
}

/* The last answer of a connection, which says so; others share the snapshot. */
static enum MHD_Result answer_last(const struct metrics_http *http,
				   struct MHD_Connection     *conn)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		http->mht_last_nr, http->mht_last_text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ret;

	if (response == NULL)
		return MHD_NO;
	(void)MHD_add_response_header(response, "Content-Type", OPENMETRICS);
	(void)MHD_add_response_header(response, "Connection", "close");
	ret = MHD_queue_response(conn, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return ret;
}

static enum MHD_Result answer_metrics(struct metrics_http   *http,
				      struct MHD_Connection *conn)
{
	bool is_fresh = http->mht_last != NULL &&
			m0_time_now() <
				m0_time_add(http->mht_last_at, FRESH_TIME);

	if (!is_fresh && !last_renew(http))
		return answer_text(
			http, conn, MHD_HTTP_SERVICE_UNAVAILABLE,
			"the process is stopping, or has no memory\n");
	return conn_is_old(http, conn)
		       ? answer_last(http, conn)
		       : MHD_queue_response(conn, MHD_HTTP_OK, http->mht_last);
}

bool metrics_verdict_is_fresh(const struct metrics_verdict *verdict)
{
	return verdict->mvd_at != 0 &&
	       m0_time_now() < m0_time_add(verdict->mvd_at, FRESH_TIME);
}

const char *metrics_verdict_note(struct metrics_verdict *verdict,
				 const char             *why)
{
	verdict->mvd_at = m0_time_now();
	verdict->mvd_why = why;
	return why;
}

static enum MHD_Result answer_why(const struct metrics_http *http,
				  struct MHD_Connection *conn, const char *why,
				  const char *good)
{
	return why == NULL ? answer_text(http, conn, MHD_HTTP_OK, good)
			   : answer_text(http, conn,
					 MHD_HTTP_SERVICE_UNAVAILABLE, why);
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *conn,
			      const char *url, const char *method,
			      const char *version, const char *data,
			      size_t *data_nr, void **context)
{
	struct metrics_http         *http = arg;
	const struct metrics_source *source = http->mht_source;
	static const int             begun = 1;

	(void)version;
	(void)data;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return *data_nr == 0
			       ? answer_text(http, conn,
					     MHD_HTTP_METHOD_NOT_ALLOWED,
					     "GET and HEAD are accepted\n")
			       : MHD_NO;
	/* The first call has only the headers: the connection goes on after the
	 * answer if that is queued in the second. */
	if (*context == NULL) {
		*context = (void *)(uintptr_t)&begun;
		return MHD_YES;
	}
	if (*data_nr != 0)
		return MHD_NO;
	if (strcmp(url, "/metrics") == 0)
		return answer_metrics(http, conn);
	if (strcmp(url, "/healthz") == 0)
		return answer_why(http, conn, source->mrc_sick(source->mrc_arg),
				  "ok\n");
	if (strcmp(url, "/readyz") == 0)
		return answer_why(http, conn,
				  source->mrc_unready(source->mrc_arg),
				  "ready\n");
	return answer_text(http, conn, MHD_HTTP_NOT_FOUND,
			   "there are /metrics, /healthz and /readyz\n");
}

/* ------------------------------------------------------------ start and end */

static void quiet(void *arg, const char *fmt, va_list args)
{
	(void)arg;
	(void)fmt;
	(void)args;
}

static struct MHD_Daemon *daemon_start(struct metrics_http *http, int fd)
{
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, conn_admit, http, answer,
		http, MHD_OPTION_EXTERNAL_LOGGER, quiet, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)DAEMON_CONNECTIONS,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)METRICS_CONNECTIONS_OF_ONE_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, conn_notify, http,
		MHD_OPTION_END);
}

int metrics_http_start(struct metrics_http **ret, struct metrics_source *source,
		       const char *addr, struct tool_fail *fail)
{
	struct metrics_http *http = calloc(1, sizeof *http);
	int                  fd = http == NULL ? -ENOMEM : listen_at(addr);
	size_t               i;

	if (fd < 0) {
		free(http);
		return tool_fail_set(fail, TOOL_FAILED,
				     "--metrics '%s': cannot listen: %s; name "
				     "another address or port",
				     addr, tool_errtext(fd));
	}
	for (i = 0; i < ARRAY_SIZE(http->mht_conns); ++i)
		http->mht_conns[i].hcn_fd = -1;
	http->mht_source = source;
	url_make(http, fd);
	http->mht_daemon = daemon_start(http, fd);
	if (http->mht_daemon == NULL) {
		(void)close(fd);
		free(http);
		return tool_fail_set(
			fail, TOOL_FAILED,
			"--metrics '%s': the HTTP server cannot be "
			"started",
			addr);
	}
	*ret = http;
	return 0;
}

void metrics_http_stop(struct metrics_http *http)
{
	if (http == NULL)
		return;
	MHD_stop_daemon(http->mht_daemon);
	last_drop(http);
	M0_ASSERT(http->mht_conns_nr == 0);
	free(http);
}

const char *metrics_http_url(const struct metrics_http *http)
{
	return http->mht_url;
}

int metrics_http_fd(const struct metrics_http *http)
{
	return MHD_get_daemon_info(http->mht_daemon, MHD_DAEMON_INFO_EPOLL_FD)
		->epoll_fd;
}

m0_time_t metrics_http_deadline(const struct metrics_http *http)
{
	m0_time_t              ret = M0_TIME_NEVER;
	MHD_UNSIGNED_LONG_LONG ms;
	size_t                 i;

	if (http->mht_conns_nr == 0)
		return ret;
	for (i = 0; i < ARRAY_SIZE(http->mht_conns); ++i)
		if (http->mht_conns[i].hcn_fd >= 0)
			ret = min_check(ret, http->mht_conns[i].hcn_until);
	if (MHD_get_timeout(http->mht_daemon, &ms) == MHD_YES)
		ret = min_check(ret, m0_time_add(m0_time_now(),
						 ms * M0_TIME_ONE_MSEC));
	return ret;
}

void metrics_http_step(struct metrics_http *http, m0_time_t now)
{
	conns_expire(http, now);
	(void)MHD_run(http->mht_daemon);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/stop.h"
#include "../node/metrics_process.h"
#include "serve_metrics_list.h"

enum {
	BUCKETS_NR = 256,
	OPS_NR = OBJ_REQUEST_END - OBJ_OP_BASE
};

/** A signal between two looks at it waits no longer than that. */
#define WAIT_NS M0_TIME_ONE_SECOND

/** Application data of a connection or session that is counted and has no row. That of one
 * which was there before the watch is NULL. */
static struct serve_row omitted;

/** Connections or sessions. */
struct rows {
	/** SERVE_METRICS_ROWS_MAX. */
	struct serve_row *rws_rows;
	struct m0_list    rws_free;
	uint64_t          rws_nr;
	/** Number of those without a row. */
	uint64_t rws_omitted_nr;
};

/** Durations of the operations of one kind. */
struct durations {
	uint64_t dur_nr[METRICS_BUCKETS_NR + 1];
	uint64_t dur_sum_ns;
};

struct serve_metrics {
	struct server              *smt_server;
	struct metrics_source       smt_source;
	struct metrics_http        *smt_http;
	struct m0_rpc_machine_watch smt_watch;
	m0_time_t                   smt_since;
	uint64_t                    smt_scrapes_nr;
	uint64_t                    smt_took_ns;
	/** Does the RPC machine's thread answer? */
	struct metrics_verdict smt_answers;
	/** Guards what follows. */
	struct m0_mutex  smt_lock;
	struct rows      smt_conns;
	struct rows      smt_sessions;
	struct m0_list   smt_buckets[BUCKETS_NR];
	struct durations smt_ops[OPS_NR];
};

/** A scrape: copies of all that the text is made of. */
struct scrape {
	struct serve_self              scr_self;
	struct m0_rpc_stats            scr_rpc;
	struct m0_rpc_store_lmdb_stats scr_store;
	struct serve_row              *scr_conns;
	struct serve_row              *scr_sessions;
	uint32_t                       scr_conns_nr;
	uint32_t                       scr_sessions_nr;
	struct durations               scr_ops[OPS_NR];
};

/* --------------------------------------------------------------------- rows */

static int rows_init(struct rows *rows)
{
	uint32_t i;

	m0_list_init(&rows->rws_free);
	rows->rws_rows = calloc(SERVE_METRICS_ROWS_MAX, sizeof *rows->rws_rows);
	if (rows->rws_rows == NULL)
		return -ENOMEM;
	for (i = 0; i < SERVE_METRICS_ROWS_MAX; ++i) {
		m0_list_link_init(&rows->rws_rows[i].swr_link);
		m0_list_add_tail(&rows->rws_free, &rows->rws_rows[i].swr_link);
	}
	return 0;
}

/* Returns &omitted if all rows are in use. */
static struct serve_row *row_new(struct rows *rows)
{
	struct m0_list_link *link = m0_list_first(&rows->rws_free);
	struct serve_row    *row;

	++rows->rws_nr;
	if (link == NULL) {
		++rows->rws_omitted_nr;
		return &omitted;
	}
	m0_list_del(link);
	row = container_of(link, struct serve_row, swr_link);
	M0_SET0(row);
	m0_list_link_init(&row->swr_link);
	row->swr_is_used = true;
	row->swr_since = m0_time_now();
	return row;
}

static void row_del(struct rows *rows, struct serve_row *row)
{
	if (row == NULL)
		return;
	--rows->rws_nr;
	if (row == &omitted) {
		--rows->rws_omitted_nr;
		return;
	}
	if (m0_list_link_is_in(&row->swr_link))
		m0_list_del(&row->swr_link);
	row->swr_is_used = false;
	m0_list_add_tail(&rows->rws_free, &row->swr_link);
}

static struct m0_list *bucket_of(struct serve_metrics    *metrics,
				 const struct m0_uint128 *client)
{
	return &metrics->smt_buckets[(client->u_hi ^ client->u_lo) %
				     BUCKETS_NR];
}

static struct serve_metrics *metrics_of(struct m0_rpc_machine_watch *watch)
{
	return container_of(watch, struct serve_metrics, smt_watch);
}

static void conn_added(struct m0_rpc_machine_watch *watch,
		       struct m0_rpc_conn          *conn)
{
	struct serve_metrics *metrics = metrics_of(watch);
	struct serve_row     *row;

	m0_mutex_lock(&metrics->smt_lock);
	row = row_new(&metrics->smt_conns);
	conn->c_app_private = row;
	if (row != &omitted) {
		row->swr_client = conn->c_uuid;
		row->swr_incarnation = conn->c_incarnation;
		(void)m0_rpc_conn_addr(conn, row->swr_addr);
		m0_list_add(bucket_of(metrics, &row->swr_client),
			    &row->swr_link);
	}
	m0_mutex_unlock(&metrics->smt_lock);
}

static void conn_removed(struct m0_rpc_machine_watch *watch,
			 struct m0_rpc_conn          *conn)
{
	struct serve_metrics *metrics = metrics_of(watch);

	m0_mutex_lock(&metrics->smt_lock);
	row_del(&metrics->smt_conns, conn->c_app_private);
	m0_mutex_unlock(&metrics->smt_lock);
	conn->c_app_private = NULL;
}

static void session_added(struct m0_rpc_machine_watch *watch,
			  struct m0_rpc_session       *session)
{
	struct serve_metrics     *metrics = metrics_of(watch);
	const struct m0_rpc_conn *conn = session->s_conn;
	struct serve_row         *of = conn->c_app_private;
	struct serve_row         *row;

	m0_mutex_lock(&metrics->smt_lock);
	row = row_new(&metrics->smt_sessions);
	session->s_app_private = row;
	if (row != &omitted) {
		row->swr_client = conn->c_uuid;
		row->swr_incarnation = conn->c_incarnation;
		row->swr_session = session->s_session_id;
		row->swr_streams = session->s_streams_nr;
		row->swr_window = session->s_window;
	}
	if (of != NULL)
		++of->swr_sessions_nr;
	m0_mutex_unlock(&metrics->smt_lock);
}

static void session_removed(struct m0_rpc_machine_watch *watch,
			    struct m0_rpc_session       *session)
{
	struct serve_metrics *metrics = metrics_of(watch);
	struct serve_row     *conn = session->s_conn->c_app_private;

	m0_mutex_lock(&metrics->smt_lock);
	row_del(&metrics->smt_sessions, session->s_app_private);
	/* One that was not seen was not counted. */
	if (conn != NULL && session->s_app_private != NULL)
		--conn->swr_sessions_nr;
	m0_mutex_unlock(&metrics->smt_lock);
	session->s_app_private = NULL;
}

void serve_metrics_request(struct serve_metrics     *metrics,
			   const struct m0_rpc_item *item)
{
	struct m0_uint128 client;
	struct serve_row *row;

	if (metrics == NULL)
		return;
	client = m0_rpc_request_client(item);
	m0_mutex_lock(&metrics->smt_lock);
	m0_list_for_each_entry(bucket_of(metrics, &client), row,
			       struct serve_row, swr_link)
		if (row->swr_client.u_hi == client.u_hi &&
		    row->swr_client.u_lo == client.u_lo) {
			++row->swr_requests_nr;
			break;
		}
	m0_mutex_unlock(&metrics->smt_lock);
}

void serve_metrics_operation(struct serve_metrics     *metrics,
			     const struct m0_rpc_item *item, m0_time_t took)
{
	struct durations *durations;
	uint32_t          opcode = item->ri_type->rit_opcode;

	M0_PRE(opcode >= OBJ_OP_BASE && opcode < OBJ_REQUEST_END);
	durations = &metrics->smt_ops[opcode - OBJ_OP_BASE];
	m0_mutex_lock(&metrics->smt_lock);
	++durations->dur_nr[metrics_bucket(took)];
	durations->dur_sum_ns += took;
	m0_mutex_unlock(&metrics->smt_lock);
}

/* ----------------------------------------------------------------- snapshot */

/*
 * Copies the rows, a slice at a time: the RPC machine's thread waits for no more than
 * one. A row that comes or goes meanwhile is there or not.
 */
static struct serve_row *rows_take(struct serve_metrics *metrics,
				   const struct rows *rows, uint32_t *ret_nr)
{
	struct serve_row *copy = calloc(SERVE_METRICS_ROWS_MAX, sizeof *copy);
	m0_time_t         now = m0_time_now();
	uint32_t          nr = 0;
	uint32_t          at;
	uint32_t          i;

	for (at = 0; copy != NULL && at < SERVE_METRICS_ROWS_MAX; at = i) {
		uint32_t end = at + SERVE_METRICS_SLICE;

		m0_mutex_lock(&metrics->smt_lock);
		for (i = at; i < end && i < SERVE_METRICS_ROWS_MAX; ++i)
			if (rows->rws_rows[i].swr_is_used)
				copy[nr++] = rows->rws_rows[i];
		m0_mutex_unlock(&metrics->smt_lock);
	}
	for (i = 0; i < nr; ++i)
		copy[i].swr_age_s =
			copy[i].swr_since >= now
				? 0
				: (double)(now - copy[i].swr_since) / 1e9;
	*ret_nr = nr;
	return copy;
}

static void self_take(struct serve_metrics *metrics, struct serve_self *self)
{
	struct server *sv = metrics->smt_server;

	self->sse_cpu_s = metrics_cpu_s();
	self->sse_started_s = metrics_started_s(metrics->smt_since);
	self->sse_resident_bytes = metrics_resident_bytes();
	self->sse_scrapes_nr = metrics->smt_scrapes_nr;
	self->sse_refused_nr = metrics->smt_source.mrc_refused_nr;
	self->sse_took_s = (double)metrics->smt_took_ns / 1e9;
	m0_mutex_lock(&sv->sv_lock);
	self->sse_ops_nr = sv->sv_ops_nr;
	self->sse_bufs_nr = sv->sv_bufs_nr;
	self->sse_free_nr = sv->sv_free_nr;
	self->sse_uploads_nr = sv->sv_uploads_nr;
	m0_mutex_unlock(&sv->sv_lock);
}

static int scrape_take(struct serve_metrics *metrics, struct scrape *scrape)
{
	struct server *sv = metrics->smt_server;

	scrape->scr_conns =
		rows_take(metrics, &metrics->smt_conns, &scrape->scr_conns_nr);
	scrape->scr_sessions = rows_take(metrics, &metrics->smt_sessions,
					 &scrape->scr_sessions_nr);
	if (scrape->scr_conns == NULL || scrape->scr_sessions == NULL)
		return -ENOMEM;
	m0_mutex_lock(&metrics->smt_lock);
	memcpy(scrape->scr_ops, metrics->smt_ops, sizeof scrape->scr_ops);
	scrape->scr_self.sse_sessions_nr = metrics->smt_sessions.rws_nr;
	scrape->scr_self.sse_omitted_sessions_nr =
		metrics->smt_sessions.rws_omitted_nr;
	scrape->scr_self.sse_omitted_conns_nr =
		metrics->smt_conns.rws_omitted_nr;
	m0_mutex_unlock(&metrics->smt_lock);
	self_take(metrics, &scrape->scr_self);
	m0_rpc_machine_get_stats(&sv->sv_machine, &scrape->scr_rpc, false);
	if (!sv->sv_is_volatile)
		m0_rpc_store_lmdb_stats(sv->sv_store, &scrape->scr_store,
					false);
	return 0;
}

/* --------------------------------------------------------------------- text */

static void row_labels(const struct serve_row *row, bool is_session,
		       metrics_labels_t labels)
{
	char text[40];

	snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64,
		 row->swr_client.u_hi, row->swr_client.u_lo);
	metrics_label_add(labels, "client", text);
	/* For a moment a client that came back may be there twice. */
	metrics_label_number(labels, "incarnation", row->swr_incarnation);
	if (is_session)
		metrics_label_number(labels, "session", row->swr_session);
	else
		metrics_label_add(labels, "address", row->swr_addr);
}

static void put_rows(struct metrics_buf *buf, enum serve_metrics_of of,
		     const struct serve_row *rows, uint32_t nr)
{
	metrics_labels_t *labels = calloc((size_t)nr + 1, sizeof *labels);
	uint32_t          i;

	buf->mbf_failed |= labels == NULL;
	for (i = 0; labels != NULL && i < nr; ++i)
		row_labels(&rows[i], of == SERVE_METRICS_SESSION, labels[i]);
	if (labels != NULL)
		metrics_put_rows(buf, &serve_metrics_tables[of], rows,
				 sizeof *rows, nr, labels);
	free(labels);
}

static void put_operations(struct metrics_buf *buf, const struct durations *ops)
{
#define OPERATION "colibri_service_operation_seconds"
	int i;

	metrics_put_head(buf, OPERATION, "histogram",
			 "Time from a request until it was answered, of "
			 "requests that are no updates, and of commits.");
	for (i = 0; i < OPS_NR; ++i) {
		metrics_labels_t labels = "";
		enum obj_op      op = (enum obj_op)(OBJ_OP_BASE + i);

		if (obj_op_is_update(op) && op != OBJ_COMMIT)
			continue;
		/* Without "obj-". */
		metrics_label_add(labels, "operation", obj_op_name(op) + 4);
		metrics_put_histogram(buf, OPERATION, labels, metrics_bounds,
				      ops[i].dur_nr, ops[i].dur_sum_ns);
	}
#undef OPERATION
}

static void put_store(struct metrics_buf                   *buf,
		      const struct m0_rpc_store_lmdb_stats *stats,
		      bool                                  is_durable)
{
#define COMMIT "colibri_store_commit_seconds"
	uint64_t nr[METRICS_BUCKETS_NR + 1];
	uint64_t before = 0;
	size_t   i;

	metrics_put_rows(buf, &serve_metrics_tables[SERVE_METRICS_STORE], stats,
			 sizeof *stats, is_durable ? 1 : 0, NULL);
	metrics_put_head(buf, COMMIT, "histogram", "Durations of commits.");
	for (i = 0; i <= METRICS_BUCKETS_NR; ++i) {
		uint64_t upto = i == METRICS_BUCKETS_NR
					? stats->rls_commit_ns.hi_nr
					: m0_hist_rank(&stats->rls_commit_ns,
						       metrics_bounds_ns[i]);

		nr[i] = upto - before;
		before = upto;
	}
	if (is_durable)
		metrics_put_histogram(buf, COMMIT, "store=\"lmdb\"",
				      metrics_bounds, nr,
				      stats->rls_commit_ns.hi_sum);
#undef COMMIT
}

static char *scrape_text(const struct scrape *scrape, bool is_durable,
			 size_t *ret_nr)
{
	struct metrics_buf buf = { .mbf_text = NULL };

	metrics_put_version(&buf);
	metrics_put_rows(&buf, &serve_metrics_tables[SERVE_METRICS_SELF],
			 &scrape->scr_self, 0, 1, NULL);
	metrics_put_rows(&buf, &serve_metrics_tables[SERVE_METRICS_RPC],
			 &scrape->scr_rpc, 0, 1, NULL);
	put_rows(&buf, SERVE_METRICS_CONN, scrape->scr_conns,
		 scrape->scr_conns_nr);
	put_rows(&buf, SERVE_METRICS_SESSION, scrape->scr_sessions,
		 scrape->scr_sessions_nr);
	put_store(&buf, &scrape->scr_store, is_durable);
	put_operations(&buf, scrape->scr_ops);
	return metrics_buf_end(&buf, ret_nr);
}

char *serve_metrics_take(struct serve_metrics *metrics, size_t *ret_nr)
{
	struct scrape *scrape = calloc(1, sizeof *scrape);
	m0_time_t      began = m0_time_now();
	char          *text = NULL;

	if (scrape == NULL)
		return NULL;
	++metrics->smt_scrapes_nr;
	if (scrape_take(metrics, scrape) == 0)
		text = scrape_text(scrape, !metrics->smt_server->sv_is_volatile,
				   ret_nr);
	free(scrape->scr_conns);
	free(scrape->scr_sessions);
	free(scrape);
	metrics->smt_took_ns = m0_time_sub(m0_time_now(), began);
	return text;
}

/* -------------------------------------------------------------- start, end */

static char *take(void *arg, size_t *ret_nr)
{
	return serve_metrics_take(arg, ret_nr);
}

/* Does the RPC machine's thread answer? If not, this one waits, and the prober gives up. */
static const char *sick_why(void *arg)
{
	struct serve_metrics *metrics = arg;
	struct m0_rpc_stats   stats;

	if (metrics_verdict_is_fresh(&metrics->smt_answers))
		return metrics->smt_answers.mvd_why;
	m0_rpc_machine_get_stats(&metrics->smt_server->sv_machine, &stats,
				 false);
	return metrics_verdict_note(&metrics->smt_answers, NULL);
}

static const char *unready_why(void *arg)
{
	(void)arg;
	return stop_signal() == 0 ? NULL : "the service is ending\n";
}

int serve_metrics_init(struct serve_metrics **ret, struct server *sv,
		       const char *addr, struct tool_fail *fail)
{
	struct serve_metrics *metrics = calloc(1, sizeof *metrics);
	int                   i;

	if (metrics == NULL || rows_init(&metrics->smt_conns) != 0 ||
	    rows_init(&metrics->smt_sessions) != 0) {
		if (metrics != NULL)
			free(metrics->smt_conns.rws_rows);
		free(metrics);
		return tool_fail_set(fail, TOOL_FAILED, "--metrics: no memory");
	}
	metrics->smt_server = sv;
	metrics->smt_since = m0_time_now();
	m0_mutex_init(&metrics->smt_lock);
	for (i = 0; i < BUCKETS_NR; ++i)
		m0_list_init(&metrics->smt_buckets[i]);
	metrics->smt_source = (struct metrics_source){
		.mrc_arg = metrics,
		.mrc_take = take,
		.mrc_sick = sick_why,
		.mrc_unready = unready_why,
	};
	*ret = metrics;
	return metrics_http_start(&metrics->smt_http, &metrics->smt_source,
				  addr, fail);
}

void serve_metrics_watch(struct serve_metrics *metrics)
{
	metrics->smt_watch = (struct m0_rpc_machine_watch){
		.mw_conn_added = conn_added,
		.mw_session_added = session_added,
		.mw_session_removed = session_removed,
		.mw_conn_removed = conn_removed,
	};
	m0_rpc_machine_watch_attach(&metrics->smt_server->sv_machine,
				    &metrics->smt_watch);
}

const char *serve_metrics_url(const struct serve_metrics *metrics)
{
	return metrics_http_url(metrics->smt_http);
}

void serve_metrics_wait(struct serve_metrics *metrics, int fd)
{
	struct pollfd fds[2] = { { .fd = fd, .events = POLLIN } };
	m0_time_t     now = m0_time_now();
	m0_time_t     due = m0_time_add(now, WAIT_NS);

	if (metrics != NULL) {
		fds[1].fd = metrics_http_fd(metrics->smt_http);
		fds[1].events = POLLIN;
		due = min_check(due, metrics_http_deadline(metrics->smt_http));
	}
	(void)poll(fds, metrics != NULL ? 2 : 1,
		   due <= now ? 0 : (int)((due - now) / M0_TIME_ONE_MSEC + 1));
	if (metrics != NULL)
		metrics_http_step(metrics->smt_http, m0_time_now());
}

static void rows_fini(struct rows *rows)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&rows->rws_free)) != NULL)
		m0_list_del(link);
	m0_list_fini(&rows->rws_free);
	free(rows->rws_rows);
}

void serve_metrics_close(struct serve_metrics *metrics)
{
	metrics_http_stop(metrics->smt_http);
	metrics->smt_http = NULL;
}

void serve_metrics_fini(struct serve_metrics *metrics)
{
	int i;

	if (metrics == NULL)
		return;
	metrics_http_stop(metrics->smt_http);
	for (i = 0; i < BUCKETS_NR; ++i)
		m0_list_fini(&metrics->smt_buckets[i]);
	rows_fini(&metrics->smt_conns);
	rows_fini(&metrics->smt_sessions);
	m0_mutex_fini(&metrics->smt_lock);
	free(metrics);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri serve`: options, start, end. */
#include <argp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "m0/rpc_store_lmdb.h"
#include "m0/xlnet.h"

#include "../base/jout.h"
#include "serve.h"
#include "serve_metrics.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	KEY_EP = 256,
	KEY_STORE,
	KEY_SYNC,
	KEY_OBJECT_MAX,
	KEY_STORE_MAX,
	KEY_CLIENTS_MAX,
	KEY_CLIENT_MEMORY,
	KEY_CLIENTS_MEMORY,
	KEY_THREADS,
	KEY_BUFFERS,
	KEY_KEEP,
	KEY_UPLOADS_MAX,
	KEY_TIMEOUT,
	KEY_METRICS,
	EPS_MAX = 8,
	/** Receive buffers: as many packets may hold requests that wait. */
	QUEUE_LEN = 128,
	/** The least that the library takes. */
	CLIENT_MEMORY_MIN = 64 << 10,
	TIMEOUT_MS = 10000,
	DAY_MS = 86400000
};

/** After a signal: what waits or moves still is given up; the process ends,
 * whatever is left. The manual says 10 s. */
#define DRAIN_NS (5 * M0_TIME_ONE_SECOND)
#define END_NS   (9 * M0_TIME_ONE_SECOND)

struct serve_args {
	const char             *va_dir;
	const char             *va_eps[EPS_MAX];
	unsigned                va_eps_nr;
	const char             *va_transport;
	const char             *va_metrics;
	bool                    va_volatile;
	bool                    va_json;
	bool                    va_quiet;
	enum serve_sync         va_sync;
	uint64_t                va_object_max;
	uint64_t                va_store_max;
	uint64_t                va_clients_max;
	uint64_t                va_client_memory;
	uint64_t                va_clients_memory;
	uint64_t                va_threads;
	uint64_t                va_buffers;
	uint64_t                va_keep_ms;
	uint64_t                va_uploads_max;
	uint64_t                va_timeout_ms;
	const struct tool_xprt *va_xprt;
	struct lnet_opts        va_opts;
	struct tool_place       va_place;
	struct tool_fail       *va_fail;
};

static const struct argp_option serve_options[] = {
	{ "ep", KEY_EP, "EP", 0,
	  "End point to listen at, NID:12345:portal:tmid, as "
	  "10.0.0.1@tcp:12345:40:1; may be repeated, one for each link; "
	  "default tmid 1 of the first network",
	  0 },
	{ "transport", 't', "NAME", 0, "Transport; default lnet", 0 },
	{ "store", KEY_STORE, "KIND", 0,
	  "Store of names, checksums and small objects: lmdb, which survives "
	  "the process and the host, or volatile; default lmdb",
	  0 },
	{ "sync", KEY_SYNC, "WHEN", 0,
	  "When to wait for the disk: commit (an object is on disk when its "
	  "put ends), write (also each of its blocks), none; default commit",
	  0 },
	{ "object-max", KEY_OBJECT_MAX, "SIZE", 0,
	  "Largest size of an object; default 1T", 0 },
	{ "store-max", KEY_STORE_MAX, "SIZE", 0,
	  "Largest size of the store; default 4G", 0 },
	{ "clients-max", KEY_CLIENTS_MAX, "N", 0,
	  "Largest number of clients; default 1024", 0 },
	{ "client-memory", KEY_CLIENT_MEMORY, "SIZE", 0,
	  "Memory for the state of one client and for answers that wait for "
	  "it; default 16M",
	  0 },
	{ "clients-memory", KEY_CLIENTS_MEMORY, "SIZE", 0,
	  "Memory for that of all clients together; default 512M", 0 },
	{ "threads", KEY_THREADS, "N", 0,
	  "Number of file worker threads; default 8", 0 },
	{ "buffers", KEY_BUFFERS, "N", 0,
	  "Number of 1 MiB data buffers; default 32", 0 },
	{ "keep", KEY_KEEP, "TIME", 0,
	  "Keep unfinished uploads for this long; default a day", 0 },
	{ "uploads-max", KEY_UPLOADS_MAX, "N", 0,
	  "Largest number of unfinished uploads; default 16384", 0 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Drop a peer that is silent, and fail a transfer that takes, longer "
	  "than this; default 10",
	  0 },
	{ "metrics", KEY_METRICS, "ADDRESS", 0,
	  "Serve metrics in the format of OpenMetrics by HTTP at PORT of the "
	  "loopback, ADDRESS:PORT or [IPV6]:PORT: /metrics, /healthz, /readyz",
	  0 },
	{ "json", 'j', NULL, 0, "Print one JSON object per line", 0 },
	{ "quiet", 'q', NULL, 0, "Print only failures", 0 },
	{ 0 },
};

static void sync_option(struct serve_args *args, const char *text)
{
	if (strcmp(text, "none") == 0)
		args->va_sync = SERVE_SYNC_NONE;
	else if (strcmp(text, "commit") == 0)
		args->va_sync = SERVE_SYNC_COMMIT;
	else if (strcmp(text, "write") == 0)
		args->va_sync = SERVE_SYNC_WRITE;
	else
		tool_bad_value(args->va_fail, "--sync", text,
			       "none, commit, write");
}

static void store_option(struct serve_args *args, const char *text)
{
	args->va_volatile = strcmp(text, "volatile") == 0;
	if (!args->va_volatile && strcmp(text, "lmdb") != 0)
		tool_bad_value(args->va_fail, "--store", text,
			       "lmdb, volatile");
}

static uint64_t size_option(struct serve_args *args, const char *option,
			    const char *text, uint64_t min, const char *bounds)
{
	uint64_t size;
	char     accepted[96];

	if (text_size_parse(text, &size) == 0 && size >= min &&
	    size <= INT64_MAX / 2)
		return size;
	snprintf(accepted, sizeof accepted, TEXT_SIZE_FORMS "; %s", bounds);
	tool_bad_value(args->va_fail, option, text, accepted);
	return min;
}

static bool limit_option(int key, char *arg, struct serve_args *args)
{
	struct tool_fail *fail = args->va_fail;

	switch (key) {
	case KEY_OBJECT_MAX:
		args->va_object_max = size_option(args, "--object-max", arg, 1,
						  "1 to 4194303T");
		return true;
	case KEY_STORE_MAX:
		args->va_store_max = size_option(args, "--store-max", arg,
						 OBJ_BLOCK, "1M to 4194303T");
		return true;
	case KEY_CLIENTS_MAX:
		args->va_clients_max = tool_number_option(fail, "--clients-max",
							  arg, 1, 1 << 20);
		return true;
	case KEY_CLIENT_MEMORY:
		args->va_client_memory = size_option(args, "--client-memory",
						     arg, CLIENT_MEMORY_MIN,
						     "64K to 4194303T");
		return true;
	case KEY_CLIENTS_MEMORY:
		args->va_clients_memory = size_option(args, "--clients-memory",
						      arg, CLIENT_MEMORY_MIN,
						      "64K to 4194303T");
		return true;
	case KEY_THREADS:
		args->va_threads =
			tool_number_option(fail, "--threads", arg, 1, 256);
		return true;
	case KEY_BUFFERS:
		args->va_buffers =
			tool_number_option(fail, "--buffers", arg, 1, 4096);
		return true;
	case KEY_KEEP:
		args->va_keep_ms = tool_ms_option(fail, "--keep", arg, 1);
		return true;
	case KEY_UPLOADS_MAX:
		args->va_uploads_max = tool_number_option(fail, "--uploads-max",
							  arg, 1, 1 << 20);
		return true;
	case KEY_TIMEOUT:
		args->va_timeout_ms = tool_ms_option(fail, "--timeout", arg, 1);
		return true;
	default:
		return false;
	}
}

static void ep_option(struct serve_args *args, const char *text)
{
	if (args->va_eps_nr == EPS_MAX)
		tool_fail_set(args->va_fail, TOOL_USAGE,
			      "--ep '%s': at most %d addresses", text, EPS_MAX);
	else
		args->va_eps[args->va_eps_nr++] = text;
}

static error_t serve_option(int key, char *arg, struct argp_state *state)
{
	struct serve_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->va_opts;
		break;
	case KEY_EP:
		ep_option(args, arg);
		break;
	case 't':
		args->va_transport = arg;
		break;
	case KEY_STORE:
		store_option(args, arg);
		break;
	case KEY_SYNC:
		sync_option(args, arg);
		break;
	case KEY_METRICS:
		(void)metrics_http_check(arg, args->va_fail);
		args->va_metrics = arg;
		break;
	case 'j':
		args->va_json = true;
		break;
	case 'q':
		args->va_quiet = true;
		break;
	case ARGP_KEY_ARG:
		if (args->va_dir != NULL)
			tool_fail_set(args->va_fail, TOOL_USAGE,
				      "'%s': there is one operand, DIR", arg);
		args->va_dir = arg;
		break;
	case ARGP_KEY_END:
		if (args->va_dir == NULL)
			tool_fail_set(args->va_fail, TOOL_USAGE,
				      "DIR is missing; usage: colibri serve "
				      "[OPTION...] DIR");
		if (args->va_clients_memory < args->va_client_memory)
			tool_fail_set(args->va_fail, TOOL_USAGE,
				      "--clients-memory is %" PRIu64
				      " bytes; accepted: at least "
				      "--client-memory, which is %" PRIu64,
				      args->va_clients_memory,
				      args->va_client_memory);
		break;
	default:
		return limit_option(key, arg, args) ? 0 : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child serve_children[] = {
	{ &lnet_opts_own_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp serve_argp = {
	serve_options,
	serve_option,
	"DIR",
	"Keep objects below DIR for clients: `colibri put', `get', `ls', "
	"`stat' and `rm'. Ends with SIGTERM or SIGINT, after what is under "
	"way.\v"
	"Everything is in DIR/.colibri; one service at a time may have it. "
	"Exit status: 0 ended by a signal, 1 it failed, 2 an option or operand "
	"is wrong. See colibri-serve(1).",
	serve_children,
	NULL,
	NULL,
};

/* ------------------------------------------------------------- starting -- */

static int store_refused(const struct serve_args *args, int rc)
{
	const char *what =
		rc == -EUCLEAN ? "is damaged; restore DIR/.colibri from a "
				 "copy, or move it away to begin anew"
		: rc == -EMEDIUMTYPE     ? "is none of this service; restore "
					   "DIR/.colibri from a copy, or move it "
					   "away to begin anew"
		: rc == -EPROTONOSUPPORT ? "is of a newer version; use that"
		: rc == -EBUSY           ? "is open in another process; end "
					   "that first"
					 : tool_errtext(rc);

	return tool_fail_set(args->va_fail, TOOL_FAILED,
			     "DIR '%s': .colibri/store %s", args->va_dir, what);
}

static int store_open(struct server *sv, const struct serve_args *args)
{
	struct m0_rpc_store_lmdb_cfg cfg;
	char                         path[PATH_MAX];
	int                          rc;

	if (args->va_volatile) {
		rc = m0_rpc_store_volatile_init(&sv->sv_kept,
						args->va_store_max);
	} else {
		m0_rpc_store_lmdb_cfg_init(&cfg);
		cfg.rlc_bytes_max = args->va_store_max;
		if (args->va_sync == SERVE_SYNC_NONE)
			cfg.rlc_sync = M0_RPC_STORE_SYNC_NEVER;
		snprintf(path, sizeof path, "%.*s/.colibri/store",
			 PATH_MAX - 32, args->va_dir);
		rc = m0_rpc_store_lmdb_open(&sv->sv_kept, path, &cfg);
	}
	if (rc != 0)
		return store_refused(args, rc);
	sv->sv_store = &sv->sv_kept;
	return 0;
}

/* The other half of what serve_dir_open() looks for. */
static int files_check(struct server *sv, const struct serve_args *args)
{
	if (args->va_volatile || serve_dir_has_files(&sv->sv_dir) ||
	    !serve_store_has_files(sv->sv_store))
		return 0;
	return tool_fail_set(args->va_fail, TOOL_FAILED,
			     "DIR '%s': .colibri/store names files, and there "
			     "are none in .colibri/data; restore .colibri from "
			     "a copy, or move it away to begin anew",
			     args->va_dir);
}

static void store_close(struct server *sv)
{
	if (sv->sv_is_volatile)
		m0_rpc_store_volatile_fini(&sv->sv_kept);
	else
		m0_rpc_store_lmdb_close(&sv->sv_kept);
	sv->sv_store = NULL;
}

static const char *ep_default(const struct serve_args *args, char *ret,
			      size_t size)
{
	char *star;

	(void)tool_place_any(&args->va_place, ret, size);
	star = strrchr(ret, '*');
	if (star != NULL)
		*star = '1';
	return ret;
}

/* Its further addresses. */
static int links_add(struct server *sv, const struct serve_args *args)
{
	unsigned i;
	int      rc;

	for (i = 1; i < args->va_eps_nr; ++i) {
		rc = m0_rpc_machine_link_add(&sv->sv_machine, args->va_eps[i]);
		if (rc != 0)
			return tool_fail_set(args->va_fail, TOOL_FAILED,
					     "end point '%s': %s%s",
					     args->va_eps[i], tool_errtext(rc),
					     rc == -EADDRINUSE
						     ? "; each has a machine "
						       "number of its own"
						     : "");
	}
	return 0;
}

/* Each request, before its handler. */
static void deliver_any(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	static void (*const handlers[])(struct m0_rpc_machine * machine,
					struct m0_rpc_item * item) = {
		&serve_put,    &serve_begin, &serve_commit, &serve_abort,
		&serve_remove, &serve_write, &serve_read,   &serve_stat,
		&serve_list,   &serve_sums,  &serve_info,
	};

	M0_BASSERT(ARRAY_SIZE(handlers) == OBJ_REQUEST_END - OBJ_OP_BASE);
	serve_metrics_request(serve_server->sv_metrics, item);
	handlers[item->ri_type->rit_opcode - OBJ_OP_BASE](machine, item);
}

static int machine_start(struct server *sv, const struct serve_args *args)
{
	static void (*const deliver[OBJ_REQUEST_END - OBJ_OP_BASE])(
		struct m0_rpc_machine * machine, struct m0_rpc_item * item) = {
		[0 ... OBJ_REQUEST_END - OBJ_OP_BASE - 1] = deliver_any
	};
	char              text[M0_NET_LNET_XEP_ADDR_LEN + 1];
	const char       *ep = args->va_eps[0];
	struct m0_rpc_cfg cfg;
	int               rc = obj_types_register(deliver);

	M0_ASSERT(rc == 0);
	if (ep == NULL)
		ep = ep_default(args, text, sizeof text);
	m0_rpc_cfg_init(&cfg);
	cfg.rc_store = sv->sv_store;
	cfg.rc_clients_max = (uint32_t)args->va_clients_max;
	cfg.rc_client_bytes_max = args->va_client_memory;
	cfg.rc_clients_bytes_max = args->va_clients_memory;
	cfg.rc_streams_max = 256;
	cfg.rc_drain_ns = DRAIN_NS;
	rc = m0_rpc_machine_init(&sv->sv_machine, &sv->sv_dom, &cfg, ep, NULL,
				 M0_BUFFER_ANY_COLOUR, 0, QUEUE_LEN);
	if (rc != 0)
		return tool_fail_set(args->va_fail, TOOL_FAILED,
				     "end point '%s': %s", ep,
				     tool_errtext(rc));
	sv->sv_machine_on = true;
	if (sv->sv_metrics != NULL)
		serve_metrics_watch(sv->sv_metrics);
	return links_add(sv, args);
}

static void server_init(struct server *sv, const struct serve_args *args)
{
	int i;

	M0_SET0(sv);
	sv->sv_sync = args->va_sync;
	sv->sv_is_volatile = args->va_volatile;
	sv->sv_object_max = args->va_object_max;
	sv->sv_timeout_ns = args->va_timeout_ms * M0_TIME_ONE_MSEC;
	sv->sv_uploads_max = args->va_uploads_max;
	sv->sv_keep_ns = args->va_keep_ms * M0_TIME_ONE_MSEC;
	m0_mutex_init(&sv->sv_lock);
	m0_cond_init(&sv->sv_work_cond, &sv->sv_lock);
	m0_cond_init(&sv->sv_ops_cond, &sv->sv_lock);
	m0_cond_init(&sv->sv_gc_cond, &sv->sv_lock);
	for (i = 0; i < UPLOAD_BUCKETS; ++i)
		m0_list_init(&sv->sv_uploads[i]);
	m0_list_init(&sv->sv_dropped);
	m0_list_init(&sv->sv_work);
	serve_share_init(sv);
	serve_server = sv;
}

static int server_start(struct server *sv, const struct serve_args *args)
{
	int rc;

	server_init(sv, args);
	if (serve_dir_open(&sv->sv_dir, args->va_dir, args->va_volatile,
			   args->va_fail) != 0 ||
	    store_open(sv, args) != 0 || files_check(sv, args) != 0)
		return args->va_fail->tf_exit;
	rc = m0_net_domain_init(&sv->sv_dom, args->va_xprt->txp_xprt);
	if (rc == 0)
		rc = serve_share_start(sv, (uint32_t)args->va_buffers);
	if (rc == 0)
		rc = serve_work_start(sv, (uint32_t)args->va_threads);
	if (rc == 0)
		rc = serve_gc_start(sv);
	if (rc != 0)
		return tool_fail_set(args->va_fail, TOOL_FAILED,
				     "the service did not start: %s",
				     tool_errtext(rc));
	if (args->va_metrics != NULL &&
	    serve_metrics_init(&sv->sv_metrics, sv, args->va_metrics,
			       args->va_fail) != 0)
		return args->va_fail->tf_exit;
	return machine_start(sv, args);
}

/* No more is taken, what is under way is finished. */
static void server_stop(struct server *sv)
{
	if (sv->sv_machine_on)
		m0_rpc_machine_stop(&sv->sv_machine, false);
	serve_gc_stop(sv);
	if (sv->sv_machine_on) {
		serve_ops_wait(sv);
		m0_rpc_machine_fini(&sv->sv_machine);
	}
	serve_metrics_fini(sv->sv_metrics);
	serve_work_stop(sv);
	serve_share_stop(sv);
	serve_uploads_free(sv);
	if (sv->sv_dom.nd_xprt != NULL)
		(void)m0_net_domain_fini(&sv->sv_dom);
	if (sv->sv_store != NULL)
		store_close(sv);
	serve_dir_close(&sv->sv_dir);
	m0_cond_fini(&sv->sv_gc_cond);
	m0_cond_fini(&sv->sv_ops_cond);
	m0_cond_fini(&sv->sv_work_cond);
	m0_mutex_fini(&sv->sv_lock);
}

/* --------------------------------------------------------------- saying -- */

/* All its addresses, with commas. */
static void eps_text(struct server *sv, char *ret, size_t size)
{
	char     addr[M0_RPC_ADDR_MAX];
	size_t   used = 0;
	uint32_t i;

	for (i = 0; used < size &&
		    m0_rpc_machine_link_addr(&sv->sv_machine, i, addr) == 0;
	     ++i)
		used += (size_t)snprintf(ret + used, size - used, "%s%s",
					 i == 0 ? "" : ",", addr);
}

static bool is_quiet(const struct serve_args *args)
{
	return args->va_quiet && !args->va_json;
}

static void ready_say(struct server *sv, const struct serve_args *args)
{
	const char    *ep = m0_rpc_machine_addr(&sv->sv_machine);
	char           eps[EPS_MAX * M0_RPC_ADDR_MAX];
	char           real[PATH_MAX];
	char           words[512];
	char           command[2048];
	struct json_t *tree;

	if (is_quiet(args) || !stop_lets_say(stdout))
		return;
	eps_text(sv, eps, sizeof eps);
	if (realpath(args->va_dir, real) == NULL)
		snprintf(real, sizeof real, "%s", args->va_dir);
	tool_place_words(&args->va_place, ep, words, sizeof words);
	snprintf(command, sizeof command, "colibri put %sFILE %s:", words, eps);
	if (args->va_json) {
		tree = jout_alloc();
		jout_str(tree, "event", "serving");
		jout_str(tree, "directory", real);
		jout_str(tree, "ep", eps);
		jout_str(tree, "store", sv->sv_store->rst_ops->rso_name);
		jout_bool(tree, "durable", sv->sv_store->rst_ops->rso_durable);
		jout_str(tree, "command", command);
		if (sv->sv_metrics != NULL)
			jout_str(tree, "metrics",
				 serve_metrics_url(sv->sv_metrics));
		jout_finish_line(tree, stdout);
	} else {
		printf("objects of %s at %s, store %s; on the other side:\n\n"
		       "  %s\n\n",
		       real, eps, sv->sv_store->rst_ops->rso_name, command);
		if (sv->sv_metrics != NULL)
			printf("metrics at %s\n",
			       serve_metrics_url(sv->sv_metrics));
	}
	(void)fflush(stdout);
}

/* Once, by whichever thread ends the process. */
static void end_say(struct server *sv, const struct serve_args *args)
{
	static bool         said;
	struct m0_rpc_stats stats;
	struct json_t      *tree;

	if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		return;
	if (is_quiet(args) || !stop_lets_say(stdout))
		return;
	m0_rpc_machine_get_stats(&sv->sv_machine, &stats, false);
	if (args->va_json) {
		tree = jout_alloc();
		jout_str(tree, "event", "ended");
		jout_num(tree, "requests", stats.rs_nr_rcvd_items);
		jout_num(tree, "packets", stats.rs_nr_rcvd_packets);
		jout_num(tree, "replayed", stats.rs_nr_replayed_items);
		jout_num(tree, "bad_packets", stats.rs_nr_bad_packets);
		jout_finish_line(tree, stdout);
	} else {
		printf("ended: %" PRIu64 " requests came in %" PRIu64
		       " packets, %" PRIu64 " were answered again\n",
		       stats.rs_nr_rcvd_items, stats.rs_nr_rcvd_packets,
		       stats.rs_nr_replayed_items);
	}
}

/* --------------------------------------------------------------- the end -- */

/** Ends the process when its time has come, although a peer that takes no bytes
 * still keeps a buffer: then there is nothing that a kill would not leave, too. */
struct serve_end {
	struct server     *sen_server;
	struct serve_args *sen_args;
	m0_time_t          sen_at;
	/** Up when all has ended by itself. */
	struct m0_semaphore sen_over;
	struct m0_thread    sen_thread;
	bool                sen_on;
};

static void end_run(struct serve_end *end)
{
	static const char program[] = "colibri serve";
	struct tool_fail *fail = end->sen_args->va_fail;

	if (m0_semaphore_timeddown(&end->sen_over, end->sen_at))
		return;
	end_say(end->sen_server, end->sen_args);
	stop_mute_check(fail);
	_exit(tool_finish_output(program, tool_fail_print(fail, program)));
}

static void end_begin(struct serve_end *end, struct server *sv,
		      struct serve_args *args)
{
	m0_time_t now = m0_time_now();

	end->sen_server = sv;
	end->sen_args = args;
	end->sen_at = m0_time_add(now, END_NS);
	(void)m0_semaphore_init(&end->sen_over, 0);
	end->sen_on = M0_THREAD_INIT(&end->sen_thread, struct serve_end *, NULL,
				     &end_run, end, "serve-end") == 0;
	serve_share_close(sv, m0_time_add(now, DRAIN_NS));
}

static void end_over(struct serve_end *end)
{
	if (!end->sen_on)
		return;
	m0_semaphore_up(&end->sen_over);
	(void)m0_thread_join(&end->sen_thread);
	m0_thread_fini(&end->sen_thread);
	m0_semaphore_fini(&end->sen_over);
}

/* ------------------------------------------------------------------ main -- */

static int args_check(struct serve_args *args)
{
	unsigned i;

	if (args->va_transport == NULL)
		args->va_transport = tool_place_xprt(args->va_eps[0]);
	args->va_xprt = tool_xprt_find(args->va_transport, args->va_fail);
	if (args->va_xprt == NULL)
		return TOOL_USAGE;
	if (!args->va_xprt->txp_far)
		return tool_fail_set(args->va_fail, TOOL_USAGE,
				     "--transport '%s' reaches this process "
				     "only; use lnet or sunrpc",
				     args->va_transport);
	for (i = 0; i < args->va_eps_nr; ++i)
		if (tool_place_check(args->va_xprt, args->va_eps[i],
				     strlen(args->va_eps[i]), true, "--ep",
				     args->va_fail) != 0)
			return args->va_fail->tf_exit;
	lnet_opts_timeout(&args->va_opts, args->va_timeout_ms);
	return lnet_opts_check(&args->va_opts);
}

static volatile sig_atomic_t link_signal;

static void on_link_signal(int number)
{
	link_signal = number;
}

/* SIGUSR1 and SIGUSR2: the last address is given up, taken again. */
static void link_change(struct server *sv, const struct serve_args *args)
{
	const char *ep =
		args->va_eps[args->va_eps_nr > 0 ? args->va_eps_nr - 1 : 0];
	int number = link_signal;
	int rc;

	link_signal = 0;
	if (args->va_eps_nr < 2)
		return;
	rc = number == SIGUSR1 ? m0_rpc_machine_link_del(&sv->sv_machine, ep)
			       : m0_rpc_machine_link_add(&sv->sv_machine, ep);
	if (!args->va_quiet && stop_lets_say(stderr))
		fprintf(stderr, "colibri serve: end point %s %s%s%s\n", ep,
			number == SIGUSR1 ? "closed" : "opened again",
			rc == 0 ? "" : ": ", rc == 0 ? "" : tool_errtext(rc));
}

static void serve_until_stopped(struct server *sv, struct serve_args *args,
				struct serve_end *end, int stop_fd)
{
	struct sigaction action = { .sa_handler = &on_link_signal };

	(void)sigaction(SIGUSR1, &action, NULL);
	(void)sigaction(SIGUSR2, &action, NULL);
	ready_say(sv, args);
	while (stop_signal() == 0) {
		serve_metrics_wait(sv->sv_metrics, stop_fd);
		if (link_signal != 0)
			link_change(sv, args);
	}
	end_begin(end, sv, args);
	if (!args->va_quiet && !args->va_json && stop_lets_say(stderr))
		fprintf(stderr, "colibri serve: ending; what is under way is "
				"finished\n");
	serve_drain(sv);
	end_say(sv, args);
}

static int eps_check(const struct serve_args *args)
{
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < args->va_eps_nr; ++i)
		rc = tool_place_own_check(&args->va_place, args->va_eps[i],
					  args->va_fail);
	return rc;
}

static void serve_run(struct serve_args *args)
{
	static struct server    sv;
	static struct serve_end end;
	int                     fd;

	if (args_check(args) != 0)
		return;
	stop_hangup_ignore();
	fd = stop_init();
	if (fd < 0) {
		tool_fail_set(args->va_fail, TOOL_FAILED, "signals: %s",
			      tool_errtext(fd));
		return;
	}
	if (tool_place_open(&args->va_place, args->va_xprt, &args->va_opts,
			    true, false) != 0)
		return;
	if (eps_check(args) == 0) {
		if (server_start(&sv, args) == 0)
			serve_until_stopped(&sv, args, &end, fd);
		server_stop(&sv);
	}
	tool_place_close(&args->va_place);
	end_over(&end);
	stop_mute_check(args->va_fail);
}

int serve_main(int argc, char **argv)
{
	static struct serve_args args = {
		.va_sync = SERVE_SYNC_COMMIT,
		.va_object_max = 1ULL << 40,
		.va_store_max = 4ULL << 30,
		.va_clients_max = 1024,
		.va_client_memory = 16 << 20,
		.va_clients_memory = 512 << 20,
		.va_threads = 8,
		.va_buffers = 32,
		.va_keep_ms = DAY_MS,
		.va_uploads_max = 16384,
		.va_timeout_ms = TIMEOUT_MS,
	};
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	int              rc;

	args.va_fail = &fail;
	lnet_opts_init(&args.va_opts, &fail);
	if (tool_parse(&serve_argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (fail.tf_exit == TOOL_OK) {
		rc = m0_net_init();
		if (rc != 0)
			tool_fail_set(&fail, TOOL_FAILED,
				      "the library did not start: %s",
				      tool_errtext(rc));
		else
			serve_run(&args);
		if (rc == 0)
			(void)m0_net_fini();
	}
	return tool_finish_output(argv[0], tool_fail_print(&fail, argv[0]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/** `colibri perf`: options, and one row after the other. */
#include <argp.h>
#include <sched.h>

#include "m0/xlnet.h"

#include "jout.h"
#include "perf.h"
#include "place.h"
#include "text.h"

enum {
	KEY_SPIN = 256,
	KEY_CPUS,
	KEY_TIME,
	KEY_WORKERS,
	KEY_THREADS,
	KEY_PEER_NET,
	TIME_MAX = 3600,
	THREADS_MAX = 2
};

/** Memory of the buffers of a row. */
#define MEMORY_MAX (2ULL << 30)

struct perf_args {
	const char *pa_transport;
	/** Bits, by enum perf_test. */
	unsigned pa_tests;
	/** None: each test's own. */
	uint64_t          pa_sizes[PERF_SIZES_MAX];
	size_t            pa_sizes_nr;
	uint64_t          pa_depth;
	uint64_t          pa_workers;
	uint64_t          pa_threads;
	struct perf_setup pa_setup;
	bool              pa_json;
	struct tool_fail *pa_fail;
	/** The node of A, or of both; and that of B, if it has its own. */
	struct lnet_opts  pa_opts;
	struct lnet_opts  pa_peer_opts;
	const char       *pa_peer_net;
	struct tool_place pa_places[PERF_SIDES_NR];
	char              pa_addrs[PERF_SIDES_NR][M0_NET_LNET_XEP_ADDR_LEN];
};

static const struct argp_option perf_options[] = {
	{ "transport", 't', "NAME", 0,
	  "What is measured: mem (default) or lnet", 0 },
	{ "peer-net", KEY_PEER_NET, "TEXT", 0,
	  "With lnet: machine B is on a node of its own, on this network, as "
	  "tcp(127.0.0.2); default: both on one",
	  0 },
	{ "test", 'T', "LIST", 0, "latency, rate, put, get or all (default)",
	  0 },
	{ "size", 's', "LIST", 0,
	  "Bytes of a message or transfer, as 64,4K,1M;"
	  " default 64 for messages, 4K,64K,1M for bulk",
	  0 },
	{ "depth", 'd', "N", 0,
	  "Operations on their way at a time, 1 to 1024; "
	  "default 64 for rate, 8 for bulk; always 1 for latency",
	  0 },
	{ "mode", 'm', "MODE", 0,
	  "Who delivers events: async (default), sync "
	  "or inline",
	  0 },
	{ "spin", KEY_SPIN, "NS", 0,
	  "How long threads look for work before "
	  "they sleep, as 0, 50us; default: the library's",
	  0 },
	{ "cpus", KEY_CPUS, "A[,B]", 0,
	  "Processors that the two machines run "
	  "on",
	  0 },
	{ "time", KEY_TIME, "SECONDS", 0,
	  "How long a row is measured; default "
	  "1",
	  0 },
	{ "workers", KEY_WORKERS, "N", 0, "Threads of each machine; default 1",
	  0 },
	{ "threads", KEY_THREADS, "N", 0,
	  "Threads that poll in inline mode: 1 "
	  "for both machines (default), or 2",
	  0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ 0 },
};

static void bad(struct perf_args *args, const char *option, const char *value,
		const char *accepted)
{
	tool_fail_set(args->pa_fail, TOOL_USAGE,
		      "%s '%s' is not accepted; "
		      "accepted: %s",
		      option, value, accepted);
}

static void tests_parse(struct perf_args *args, const char *list)
{
	const char *word = list;

	args->pa_tests = 0;
	for (;;) {
		size_t   len = strcspn(word, ",");
		unsigned found = 0;
		unsigned i;

		for (i = 0; i < PERF_TESTS_NR; ++i) {
			if (strlen(perf_test_names[i]) == len &&
			    memcmp(perf_test_names[i], word, len) == 0)
				found = 1U << i;
		}
		if (len == 3 && memcmp(word, "all", 3) == 0)
			found = (1U << PERF_TESTS_NR) - 1;
		if (found == 0) {
			bad(args, "--test", list,
			    "latency, rate, put, get, all, or a list of them");
			return;
		}
		args->pa_tests |= found;
		if (word[len] == '\0')
			return;
		word += len + 1;
	}
}

static void mode_parse(struct perf_args *args, const char *name)
{
	int i;

	for (i = 0; i < PERF_MODES_NR; ++i) {
		if (strcmp(perf_mode_names[i], name) == 0) {
			args->pa_setup.pu_mode = (enum perf_mode)i;
			return;
		}
	}
	bad(args, "--mode", name, "async, sync, inline");
}

static void cpus_parse(struct perf_args *args, const char *list)
{
	struct perf_setup *setup = &args->pa_setup;
	cpu_set_t          set;
	size_t             i;

	if (text_list_parse(list, text_number_parse, setup->pu_cpus,
			    PERF_SIDES_NR, &setup->pu_cpus_nr) != 0) {
		bad(args, "--cpus", list, "one or two processors, as 0 or 0,1");
		return;
	}
	CPU_ZERO(&set);
	(void)sched_getaffinity(0, sizeof set, &set);
	for (i = 0; i < setup->pu_cpus_nr; ++i) {
		if (setup->pu_cpus[i] >= CPU_SETSIZE ||
		    !CPU_ISSET(setup->pu_cpus[i], &set)) {
			bad(args, "--cpus", list,
			    "processors that this "
			    "process may run on (taskset -p shows them)");
			return;
		}
	}
}

/* A number in [1, max]. */
static void count_parse(struct perf_args *args, const char *option,
			const char *text, uint64_t max, uint64_t *ret)
{
	char accepted[TEXT_MAX];

	if (text_number_parse(text, ret) == 0 && *ret >= 1 && *ret <= max)
		return;
	snprintf(accepted, sizeof accepted, "1 to %" PRIu64, max);
	bad(args, option, text, accepted);
}

static void time_parse(struct perf_args *args, const char *text)
{
	double *seconds = &args->pa_setup.pu_seconds;

	if (text_seconds_parse(text, seconds) != 0 || *seconds > TIME_MAX)
		bad(args, "--time", text, "seconds, above 0 and at most 3600");
}

static void spin_parse(struct perf_args *args, const char *text)
{
	struct perf_setup *setup = &args->pa_setup;

	setup->pu_spin_set = true;
	if (text_time_parse(text, &setup->pu_spin_ns) != 0 ||
	    setup->pu_spin_ns > 10 * M0_TIME_ONE_SECOND)
		bad(args, "--spin", text, TEXT_TIME_FORMS ", at most 10s");
}

static void sizes_parse(struct perf_args *args, const char *list)
{
	if (text_list_parse(list, text_size_parse, args->pa_sizes,
			    PERF_SIZES_MAX, &args->pa_sizes_nr) != 0)
		bad(args, "--size", list,
		    "a list of up to 16 sizes, each in " TEXT_SIZE_FORMS);
}

static error_t perf_option(int key, char *arg, struct argp_state *state)
{
	struct perf_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->pa_opts;
		break;
	case KEY_PEER_NET:
		args->pa_peer_net = arg;
		break;
	case 't':
		args->pa_transport = arg;
		break;
	case 'T':
		tests_parse(args, arg);
		break;
	case 's':
		sizes_parse(args, arg);
		break;
	case 'd':
		count_parse(args, "--depth", arg, PERF_DEPTH_MAX,
			    &args->pa_depth);
		break;
	case 'm':
		mode_parse(args, arg);
		break;
	case KEY_SPIN:
		spin_parse(args, arg);
		break;
	case KEY_CPUS:
		cpus_parse(args, arg);
		break;
	case KEY_TIME:
		time_parse(args, arg);
		break;
	case KEY_WORKERS:
		count_parse(args, "--workers", arg, UINT32_MAX,
			    &args->pa_workers);
		break;
	case KEY_THREADS:
		count_parse(args, "--threads", arg, THREADS_MAX,
			    &args->pa_threads);
		break;
	case 'j':
		args->pa_json = true;
		break;
	case ARGP_KEY_ARG:
		tool_fail_set(args->pa_fail, TOOL_USAGE,
			      "'%s': no operand is accepted", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child perf_children[] = {
	{ &lnet_opts_own_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp perf_argp = {
	perf_options,
	perf_option,
	NULL,
	"Measure the network layer between two machines of this process: "
	"latency of messages, their rate, and bulk transfer (put: by "
	"active send, get: by active receive).\v"
	"Times are those of an operation, from a histogram; cpu/op is the "
	"processor time of the whole process. See colibri-perf(1).",
	perf_children,
	NULL,
	NULL,
};

/* What only the transport can say. */
static int limits_check(struct perf_args *args)
{
	const struct tool_xprt *xprt = args->pa_setup.pu_xprt;
	struct m0_net_domain    dom = { .nd_xprt = NULL };
	uint64_t                max;
	size_t                  i;
	int                     rc;

	if (args->pa_workers > xprt->txp_workers_max)
		return tool_fail_set(args->pa_fail, TOOL_USAGE,
				     "--workers '%" PRIu64
				     "' is not accepted; transport '%s' "
				     "accepts 1 to %zu",
				     args->pa_workers, xprt->txp_name,
				     xprt->txp_workers_max);
	rc = m0_net_domain_init(&dom, xprt->txp_xprt);
	if (rc != 0)
		return tool_fail_set(args->pa_fail, TOOL_FAILED,
				     "transport '%s': %s", xprt->txp_name,
				     tool_errtext(rc));
	max = m0_net_domain_get_max_buffer_size(&dom);
	(void)m0_net_domain_fini(&dom);
	for (i = 0; i < args->pa_sizes_nr; ++i) {
		if (args->pa_sizes[i] < 1 || args->pa_sizes[i] > max)
			return tool_fail_set(args->pa_fail, TOOL_USAGE,
					     "--size %" PRIu64 " is out of "
					     "range; transport '%s' accepts 1 "
					     "to %" PRIu64,
					     args->pa_sizes[i], xprt->txp_name,
					     max);
	}
	return 0;
}

static int memory_check(struct perf_args *args, const struct perf_row *row)
{
	char text[TEXT_MAX];

	if (perf_memory(row->prw_test, row->prw_size, row->prw_depth) <=
	    MEMORY_MAX)
		return 0;
	return tool_fail_set(args->pa_fail, TOOL_USAGE,
			     "%s: --depth %u of "
			     "--size %" PRIu64 " needs more than %s of memory; "
			     "choose less of either",
			     perf_test_names[row->prw_test], row->prw_depth,
			     row->prw_size, text_size(text, MEMORY_MAX));
}

/* Calls `each` for every row, in order, until one fails. */
static int rows_walk(struct perf_args *args, struct perf_row *row,
		     int (*each)(struct perf_args *, struct perf_row *, void *),
		     void *arg)
{
	static const uint64_t message_sizes[] = { 64 };
	static const uint64_t bulk_sizes[] = { 4 << 10, 64 << 10, 1 << 20 };
	unsigned              test;
	size_t                i;
	int                   rc = 0;

	for (test = 0; test < PERF_TESTS_NR && rc == 0; ++test) {
		bool            bulk = test == PERF_PUT || test == PERF_GET;
		const uint64_t *sizes = bulk ? bulk_sizes : message_sizes;
		size_t          nr = bulk ? ARRAY_SIZE(bulk_sizes)
					  : ARRAY_SIZE(message_sizes);

		if (!(args->pa_tests & (1U << test)))
			continue;
		if (args->pa_sizes_nr > 0) {
			sizes = args->pa_sizes;
			nr = args->pa_sizes_nr;
		}
		row->prw_test = (enum perf_test)test;
		row->prw_depth = test != PERF_LATENCY && args->pa_depth != 0
					 ? (uint32_t)args->pa_depth
					 : perf_depth_default(row->prw_test);
		for (i = 0; i < nr && rc == 0; ++i) {
			row->prw_size = sizes[i];
			rc = each(args, row, arg);
		}
	}
	return rc;
}

static int row_check(struct perf_args *args, struct perf_row *row, void *arg)
{
	(void)arg;
	return memory_check(args, row);
}

static int row_run(struct perf_args *args, struct perf_row *row, void *array)
{
	int rc = perf_row_run(&args->pa_setup, row, args->pa_fail);

	if (rc != 0)
		return rc;
	if (args->pa_json)
		perf_json_row(array, row);
	else
		perf_table_row(row);
	return 0;
}

/* B's node is as A's, on a network of its own. */
static int peer_opts_make(struct perf_args *args)
{
	struct lnet_opts *peer = &args->pa_peer_opts;
	char              why[M0_LNET_WHY_BYTES] = "";

	*peer = args->pa_opts;
	peer->nop_cfg.lc_nets_nr = 0;
	if (m0_lnet_cfg_networks(&peer->nop_cfg, args->pa_peer_net, why) != 0)
		return tool_fail_set(args->pa_fail, TOOL_USAGE,
				     "--peer-net '%.100s' is not accepted: "
				     "%.300s; accepted is a network as "
				     "tcp(127.0.0.2)",
				     args->pa_peer_net, why);
	return 0;
}

static int places_open(struct perf_args *args)
{
	struct perf_setup      *setup = &args->pa_setup;
	const struct tool_xprt *xprt = setup->pu_xprt;
	bool                    polled = setup->pu_mode == PERF_INLINE;
	bool                    two = args->pa_peer_net != NULL;
	int                     i;
	int                     rc;

	if (two && !xprt->txp_node)
		return tool_fail_set(args->pa_fail, TOOL_USAGE,
				     "--peer-net is accepted with --transport "
				     "lnet only");
	rc = two ? peer_opts_make(args) : 0;
	if (rc == 0)
		rc = tool_place_open(&args->pa_places[PERF_A], xprt,
				     &args->pa_opts, two, polled);
	if (rc == 0 && two)
		rc = tool_place_open(&args->pa_places[PERF_B], xprt,
				     &args->pa_peer_opts, two, polled);
	for (i = 0; two && rc == 0 && i < PERF_SIDES_NR; ++i)
		setup->pu_addrs[i] = tool_place_any(&args->pa_places[i],
						    args->pa_addrs[i],
						    sizeof args->pa_addrs[i]);
	return rc;
}

static void places_close(struct perf_args *args)
{
	tool_place_close(&args->pa_places[PERF_B]);
	tool_place_close(&args->pa_places[PERF_A]);
}

static void rows_run(struct perf_args *args)
{
	struct json_t  *tree = NULL;
	struct json_t  *array = NULL;
	struct perf_row row;

	if (limits_check(args) != 0 ||
	    rows_walk(args, &row, row_check, NULL) != 0)
		return;
	if (args->pa_json) {
		tree = jout_alloc();
		perf_json_head(tree, &args->pa_setup);
		array = jout_array(tree, "rows");
	} else {
		perf_table_head(&args->pa_setup);
	}
	if (rows_walk(args, &row, row_run, array) == 0 && args->pa_json)
		(void)jout_print(tree, stdout);
	if (tree != NULL)
		jout_free(tree);
}

static void perf_run_all(struct perf_args *args)
{
	args->pa_setup.pu_xprt =
		tool_xprt_find(args->pa_transport, args->pa_fail);
	args->pa_setup.pu_workers = (uint32_t)args->pa_workers;
	args->pa_setup.pu_threads = (uint32_t)args->pa_threads;
	if (args->pa_setup.pu_xprt == NULL ||
	    lnet_opts_check(&args->pa_opts) != 0)
		return;
	if (places_open(args) == 0)
		rows_run(args);
	places_close(args);
}

int perf_main(int argc, char **argv)
{
	struct tool_fail        fail = { .tf_exit = TOOL_OK };
	static struct perf_args args = {
		.pa_transport = TOOL_XPRT_DEFAULT,
		.pa_tests = (1U << PERF_TESTS_NR) - 1,
		.pa_workers = 1,
		.pa_threads = 1,
		.pa_setup = { .pu_seconds = 1 },
	};
	int rc;

	args.pa_fail = &fail;
	lnet_opts_init(&args.pa_opts, &fail);

	if (argp_parse(&perf_argp, argc, argv, 0, NULL, &args) != 0)
		return TOOL_USAGE;
	if (fail.tf_exit == TOOL_OK) {
		rc = m0_net_init();
		if (rc == 0) {
			perf_run_all(&args);
			(void)m0_net_fini();
		} else {
			tool_fail_set(&fail, TOOL_FAILED,
				      "the library did not "
				      "start: %s",
				      tool_errtext(rc));
		}
	}
	return tool_finish_output(argv[0], tool_fail_print(&fail, argv[0]));
}

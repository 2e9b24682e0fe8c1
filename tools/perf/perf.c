/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri perf`: options. What it does is in perf_rows.c, perf_listen.c. */
#include <argp.h>
#include <sched.h>

#include "perf_args.h"
#include "../base/baseline.h"
#include "../base/text.h"

enum {
	KEY_SPIN = 256,
	KEY_CPUS,
	KEY_TIME,
	KEY_WORKERS,
	KEY_REPORT,
	KEY_BASELINE,
	KEY_SAVE_BASELINE,
	KEY_TOLERANCE,
	KEY_THREADS,
	KEY_PEER_NET,
	KEY_ONCE,
	KEY_EP,
	KEY_TIMEOUT,
	KEY_REATTACH,
	TIME_MAX = 3600,
	THREADS_MAX = 2
};

static const struct argp_option perf_options[] = {
	{ "transport", 't', "NAME", 0,
	  "Transport to measure: mem, lnet or sunrpc; default mem within this "
	  "process, otherwise that of EP, or lnet",
	  0 },
	{ "listen", 'l', NULL, 0,
	  "Serve as side B for one client after another until SIGINT; prints "
	  "the command for the other side",
	  0 },
	{ "once", KEY_ONCE, NULL, 0, "With --listen: exit after one client",
	  0 },
	{ "ep", KEY_EP, "EP", 0,
	  "Local end point, NID:12345:portal:tmid, as 10.0.0.1@tcp:12345:40:*",
	  0 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Fail if the other process is silent for this long; default 30", 0 },
	{ "reattach", KEY_REATTACH, "TIME", 0,
	  "With --listen at an attached node: when its daemon ends, look for "
	  "another one for this long; default 0",
	  0 },
	{ "peer-net", KEY_PEER_NET, "TEXT", 0,
	  "With lnet: run side B on a node of its own on this network, as "
	  "tcp(127.0.0.2); default: both sides on one node",
	  0 },
	{ "test", 'T', "LIST", 0,
	  "Tests to run: latency, rate, put, get or all (default)", 0 },
	{ "size", 's', "LIST", 0,
	  "Sizes of a message or transfer in bytes, as 64,4K,1M; default 64 "
	  "for messages, 4K,64K,1M for bulk",
	  0 },
	{ "depth", 'd', "N", 0,
	  "Number of operations in flight, 1 to 1024; default 64 for rate, 8 "
	  "for bulk; always 1 for latency",
	  0 },
	{ "mode", 'm', "MODE", 0,
	  "Delivery of events: async (default), sync or inline", 0 },
	{ "spin", KEY_SPIN, "NS", 0,
	  "Time for which threads poll before they sleep, as 0, 50us; "
	  "default: the library's; with EP and --listen 0",
	  0 },
	{ "cpus", KEY_CPUS, "A[,B]", 0, "Processors for side A and side B", 0 },
	{ "time", KEY_TIME, "SECONDS", 0,
	  "Seconds for which each row is measured; default 1", 0 },
	{ "workers", KEY_WORKERS, "N", 0,
	  "Number of threads of each transfer machine; default 1", 0 },
	{ "threads", KEY_THREADS, "N", 0,
	  "Number of threads that poll in inline mode: 1 for both sides "
	  "(default), or 2",
	  0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "report", KEY_REPORT, "FILE", 0,
	  "Write a page of HTML with plots; not with --listen", 0 },
	{ "baseline", KEY_BASELINE, "FILE", 0,
	  "Fail if a row is worse than this file says", 0 },
	{ "save-baseline", KEY_SAVE_BASELINE, "FILE", 0,
	  "Write the results to this file unless a row is worse", 0 },
	{ "tolerance", KEY_TOLERANCE, "PERCENT", 0,
	  "With --baseline: how much worse a row may be; default 10", 0 },
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
			if (i != PERF_ASYNC)
				args->pa_given |= 1U << PERF_GIVEN_MODE;
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

/* Options that only some uses of perf accept. */
static void given(struct perf_args *args, int key)
{
	static const struct {
		int      of_key;
		unsigned of_bit;
	} fits[] = {
		{ 'T', PERF_GIVEN_TEST },
		{ 's', PERF_GIVEN_SIZE },
		{ 'd', PERF_GIVEN_DEPTH },
		{ KEY_TIME, PERF_GIVEN_TIME },
		{ KEY_WORKERS, PERF_GIVEN_WORKERS },
		{ KEY_THREADS, PERF_GIVEN_THREADS },
		{ KEY_PEER_NET, PERF_GIVEN_PEER_NET },
		{ KEY_ONCE, PERF_GIVEN_ONCE },
		{ KEY_EP, PERF_GIVEN_EP },
		{ KEY_TIMEOUT, PERF_GIVEN_TIMEOUT },
		{ KEY_REATTACH, PERF_GIVEN_REATTACH },
		{ KEY_REPORT, PERF_GIVEN_REPORT },
		{ KEY_BASELINE, PERF_GIVEN_BASELINE },
		{ KEY_SAVE_BASELINE, PERF_GIVEN_SAVE_BASELINE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fits); ++i) {
		if (fits[i].of_key == key)
			args->pa_given |= 1U << fits[i].of_bit;
	}
}

static void operand(struct perf_args *args, const char *arg)
{
	if (args->pa_server != NULL)
		tool_fail_set(args->pa_fail, TOOL_USAGE,
			      "'%s': there is one operand, EP", arg);
	else
		args->pa_server = arg;
}

/* Options of one side among several processes. */
static bool far_option(int key, char *arg, struct perf_args *args)
{
	switch (key) {
	case 'l':
		args->pa_listen = true;
		return true;
	case KEY_ONCE:
		args->pa_once = true;
		return true;
	case KEY_EP:
		args->pa_ep = arg;
		return true;
	case KEY_TIMEOUT:
		args->pa_timeout_ms =
			tool_ms_option(args->pa_fail, "--timeout", arg, 1);
		return true;
	case KEY_REATTACH:
		args->pa_opts.nop_cfg.lc_reattach_ns =
			tool_ms_option(args->pa_fail, "--reattach", arg, 0) *
			M0_TIME_ONE_MSEC;
		return true;
	case KEY_PEER_NET:
		args->pa_peer_net = arg;
		return true;
	default:
		return false;
	}
}

/* Files of results. */
static bool file_option(int key, char *arg, struct perf_args *args)
{
	switch (key) {
	case KEY_REPORT:
		args->pa_report = arg;
		return true;
	case KEY_BASELINE:
		args->pa_baseline = arg;
		return true;
	case KEY_SAVE_BASELINE:
		args->pa_save_baseline = arg;
		return true;
	case KEY_TOLERANCE:
		args->pa_tolerance = tool_number_option(args->pa_fail,
							"--tolerance", arg, 0,
							BASELINE_PERCENT_MAX);
		return true;
	default:
		return false;
	}
}

static error_t perf_option(int key, char *arg, struct argp_state *state)
{
	struct perf_args *args = state->input;

	given(args, key);
	if (far_option(key, arg, args) || file_option(key, arg, args))
		return 0;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->pa_opts;
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
		args->pa_workers = arg;
		break;
	case KEY_THREADS:
		count_parse(args, "--threads", arg, THREADS_MAX,
			    &args->pa_threads);
		break;
	case 'j':
		args->pa_json = true;
		break;
	case ARGP_KEY_ARG:
		operand(args, arg);
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
	"[EP]\n--listen",
	"Measure the network layer between two machines: latency of messages, "
	"their rate, and bulk transfer (put: by active send, get: by active "
	"receive). Both are in this process; or B is at EP, where "
	"`colibri perf --listen' runs, here or on another host. Then the "
	"output also says what bounds each result: wire, processor, window or "
	"a busy host.\v"
	"Times are those of an operation, from a histogram; cpu/op is the "
	"processor time of the processes of both machines.\n\n"
	"Examples:\n"
	"  colibri perf --test latency --mode inline --cpus 0\n"
	"  hostb# colibri perf --listen\n"
	"  hosta# colibri perf -T put -d 16 10.0.0.2@tcp:12345:40:4095\n\n"
	"Exit status: 0 measured (--listen: ended by a signal, or one client "
	"served), 1 it failed, 2 an option is wrong. See colibri-perf(1).",
	perf_children,
	NULL,
	NULL,
};

static void perf_run_all(struct perf_args *args)
{
	args->pa_setup.pu_threads = (uint32_t)args->pa_threads;
	if (perf_what_check(args) != 0 || lnet_opts_check(&args->pa_opts) != 0)
		return;
	if (perf_places_open(args) == 0) {
		if (args->pa_listen)
			perf_listen_run(args);
		else
			perf_rows_run(args);
	}
	perf_places_close(args);
}

int perf_main(int argc, char **argv)
{
	struct tool_fail        fail = { .tf_exit = TOOL_OK };
	static struct perf_args args = {
		.pa_tests = (1U << PERF_TESTS_NR) - 1,
		.pa_workers = "1",
		.pa_threads = 1,
		.pa_tolerance = BASELINE_PERCENT,
		.pa_setup = { .pu_seconds = 1 },
	};
	int rc;

	args.pa_fail = &fail;
	args.pa_program = argv[0];
	lnet_opts_init(&args.pa_opts, &fail);

	if (tool_parse(&perf_argp, argc, argv, 0, &args) != 0)
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

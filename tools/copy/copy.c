/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri copy`: options. Copies are in copy_job.c, what receives them from
 * elsewhere in copy_listen.c.
 */
#include <argp.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "copy_args.h"
#include "copy_wire.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	INFLIGHT_DEF = 8,
	INFLIGHT_MAX = COPY_INFLIGHT_MAX,
	TIMEOUT_DEF_MS = 30000
};

#define BLOCK_DEF (1ULL << 20)
/** Memory of one role's blocks. */
#define WINDOW_MAX (1ULL << 30)

enum {
	KEY_NO_VERIFY = 256,
	KEY_EP,
	KEY_ONCE,
	KEY_TIMEOUT
};

static const struct argp_option copy_options[] = {
	{ "block", 'b', "SIZE", 0,
	  "Size of a block in bytes, as 4096, 64K, 1M or 1MiB; default 1M", 0 },
	{ "inflight", 'n', "N", 0,
	  "Number of blocks in flight, 1 to 256; default 8", 0 },
	{ "transport", 't', "NAME", 0,
	  "Transport: mem, lnet or sunrpc; default mem within this process, "
	  "otherwise that of EP, or lnet",
	  0 },
	{ "listen", 'l', NULL, 0,
	  "Receive files below DIR until SIGINT; prints the command for the "
	  "other side",
	  0 },
	{ "once", KEY_ONCE, NULL, 0, "With --listen: exit after one copy", 0 },
	{ "ep", KEY_EP, "EP", 0,
	  "Local end point, NID:12345:portal:tmid, as "
	  "10.0.0.1@tcp:12345:40:*; with sunrpc HOST:port:tmid, as "
	  "10.0.0.1:7988:1",
	  0 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Fail if the other process is silent for this long; default 30", 0 },
	{ "no-verify", KEY_NO_VERIFY, NULL, 0,
	  "Do not read the new file back; received blocks are still checked",
	  0 },
	{ "json", 'j', NULL, 0, "Print the result as JSON", 0 },
	{ "quiet", 'q', NULL, 0,
	  "Print no progress, and no result except with --json", 0 },
	{ 0 },
};

static void copy_operand(struct copy_args *args, const char *arg)
{
	if (args->ca_src == NULL)
		args->ca_src = arg;
	else if (args->ca_dst == NULL)
		args->ca_dst = arg;
	else
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "'%s': there are two operands, SRC and DST", arg);
}

static void copy_operands_check(const struct copy_args *args)
{
	const char *missing = args->ca_src == NULL   ? "SRC and DST are"
			      : args->ca_dst == NULL ? "DST is"
						     : NULL;

	if (args->ca_listen && args->ca_dst != NULL)
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "'%s': with --listen there is one operand, DIR",
			      args->ca_dst);
	else if (!args->ca_listen && missing != NULL)
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "%s missing; usage: colibri copy [OPTION...] SRC "
			      "DST",
			      missing);
	if (args->ca_once && !args->ca_listen)
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "--once is accepted with --listen only");
	if (args->ca_window_given && args->ca_listen)
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "--block and --inflight are options of the "
			      "sender; with --listen they are not accepted");
}

static error_t copy_option(int key, char *arg, struct argp_state *state)
{
	struct copy_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->ca_opts;
		break;
	case 'l':
		args->ca_listen = true;
		break;
	case KEY_ONCE:
		args->ca_once = true;
		break;
	case KEY_EP:
		args->ca_ep = arg;
		break;
	case KEY_TIMEOUT:
		args->ca_timeout_ms =
			tool_ms_option(args->ca_fail, "--timeout", arg, 1);
		break;
	case 'b':
		args->ca_window_given = true;
		if (text_size_parse(arg, &args->ca_block) != 0)
			tool_fail_set(
				args->ca_fail, TOOL_USAGE,
				"--block '%s' is not a size; accepted: " TEXT_SIZE_FORMS,
				arg);
		break;
	case 'n':
		args->ca_window_given = true;
		if (text_number_parse(arg, &args->ca_inflight) != 0)
			tool_fail_set(args->ca_fail, TOOL_USAGE,
				      "--inflight '%s' is not a number; "
				      "accepted: 1 to %d",
				      arg, INFLIGHT_MAX);
		break;
	case 't':
		args->ca_transport = arg;
		break;
	case KEY_NO_VERIFY:
		args->ca_verify = false;
		break;
	case 'j':
		args->ca_json = true;
		break;
	case 'q':
		args->ca_quiet = true;
		break;
	case ARGP_KEY_ARG:
		copy_operand(args, arg);
		break;
	case ARGP_KEY_END:
		copy_operands_check(args);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child copy_children[] = {
	{ &lnet_opts_own_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp copy_argp = {
	copy_options,
	copy_option,
	"SRC DST\nSRC EP:PATH\n--listen [DIR]",
	"Copy the file SRC to DST (a new name, a file to be replaced, or a "
	"directory) block by block from one machine of the network layer to "
	"another, and verify it. With EP:PATH, to the process that runs "
	"`colibri copy --listen', here or on another host.\v"
	"DST appears complete or not at all. TIME is in seconds, or as 500ms, "
	"50s. Exit status: 0 copied and verified, 1 the copy failed or was "
	"interrupted, 2 an option or operand is wrong. See colibri-copy(1).",
	copy_children,
	NULL,
	NULL,
};

/* Only the transport knows how large a block may be. */
static int block_check(const struct copy_args *args)
{
	const struct tool_xprt *xprt = args->ca_xprt;
	struct m0_net_domain    dom = { .nd_xprt = NULL };
	char                    text[TEXT_MAX];
	uint64_t                max;
	int                     rc = m0_net_domain_init(&dom, xprt->txp_xprt);

	if (rc != 0)
		return tool_fail_set(args->ca_fail, TOOL_FAILED,
				     "transport '%s': %s", xprt->txp_name,
				     tool_errtext(rc));
	max = m0_net_domain_get_max_buffer_size(&dom);
	(void)m0_net_domain_fini(&dom);
	if (args->ca_block == 0 || args->ca_block > max)
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "--block %" PRIu64 " is out of range; "
				     "transport '%s' accepts 1 to %" PRIu64
				     " (%s)",
				     args->ca_block, xprt->txp_name, max,
				     text_size(text, max));
	return 0;
}

static int window_check(const struct copy_args *args)
{
	char text[TEXT_MAX];

	if (args->ca_inflight < 1 || args->ca_inflight > INFLIGHT_MAX)
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "--inflight %" PRIu64 " is out of range; "
				     "accepted: 1 to %d",
				     args->ca_inflight, INFLIGHT_MAX);
	if (args->ca_block * args->ca_inflight > WINDOW_MAX)
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "--inflight %" PRIu64 " blocks of %" PRIu64
				     " bytes exceed %s of memory; use fewer or "
				     "smaller blocks",
				     args->ca_inflight, args->ca_block,
				     text_size(text, WINDOW_MAX));
	return 0;
}

int copy_signals_open(void)
{
	sigset_t set;
	int      fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (!stop_hangup_is_ignored())
		sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* After a failure only its message is left to print, perhaps to a pipe that
 * nobody reads, so another signal must end the process. */
static void signals_close(int fd, bool failed)
{
	struct signalfd_siginfo info;
	sigset_t                set;

	while (read(fd, &info, sizeof info) > 0)
		;
	(void)close(fd);
	if (failed) {
		sigfillset(&set);
		(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
}

static int transport_choose(struct copy_args *args)
{
	bool        far = args->ca_listen || (args->ca_dst != NULL &&
                                       tool_place_split(args->ca_dst) != NULL);
	const char *name = args->ca_transport;
	const char *path;

	if (name == NULL)
		name = far ? tool_place_xprt(args->ca_listen ? args->ca_ep
							     : args->ca_dst)
			   : TOOL_XPRT_DEFAULT;
	args->ca_xprt = tool_xprt_find(name, args->ca_fail);
	if (args->ca_xprt == NULL)
		return TOOL_USAGE;
	if (!far && (args->ca_ep != NULL || args->ca_timeout_ms != 0))
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "%s is accepted with EP:PATH or --listen; "
				     "DST '%s' is copied to in this process",
				     args->ca_ep != NULL ? "--ep" : "--timeout",
				     args->ca_dst);
	if (far && !args->ca_xprt->txp_far)
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "--transport '%s' reaches this process "
				     "only; use lnet or sunrpc for %s",
				     name,
				     args->ca_listen ? "--listen" : "EP:PATH");
	if (args->ca_ep != NULL && args->ca_xprt->txp_far)
		(void)tool_place_check(args->ca_xprt, args->ca_ep,
				       strlen(args->ca_ep), true, "--ep",
				       args->ca_fail);
	if (far && !args->ca_listen) {
		path = tool_place_split(args->ca_dst);
		(void)tool_place_check(args->ca_xprt, args->ca_dst,
				       (size_t)(path - args->ca_dst) - 1, false,
				       "DST", args->ca_fail);
	}
	if (args->ca_timeout_ms == 0)
		args->ca_timeout_ms = TIMEOUT_DEF_MS;
	lnet_opts_timeout(&args->ca_opts, args->ca_timeout_ms);
	return lnet_opts_check(&args->ca_opts);
}

static void copy_run(struct copy_args *args)
{
	if (transport_choose(args) != 0)
		return;
	args->ca_signal_fd = copy_signals_open();
	if (args->ca_signal_fd < 0) {
		tool_fail_set(args->ca_fail, TOOL_FAILED, "signals: %s",
			      tool_errtext(args->ca_signal_fd));
		return;
	}
	if (tool_place_open(&args->ca_place, args->ca_xprt, &args->ca_opts,
			    args->ca_listen, false) == 0) {
		if (block_check(args) == 0 && window_check(args) == 0 &&
		    tool_place_own_check(&args->ca_place, args->ca_ep,
					 args->ca_fail) == 0) {
			if (args->ca_listen)
				copy_listen_run(args);
			else
				copy_job_run(args);
		}
		tool_place_close(&args->ca_place);
	}
	signals_close(args->ca_signal_fd, args->ca_fail->tf_exit != TOOL_OK);
}

int copy_main(int argc, char **argv)
{
	static struct copy_args args = {
		.ca_block = BLOCK_DEF,
		.ca_inflight = INFLIGHT_DEF,
		.ca_verify = true,
	};
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	int              rc;

	args.ca_fail = &fail;
	args.ca_program = argv[0];
	lnet_opts_init(&args.ca_opts, &fail);
	if (tool_parse(&copy_argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (fail.tf_exit == TOOL_OK) {
		rc = m0_net_init();
		if (rc != 0) {
			tool_fail_set(&fail, TOOL_FAILED,
				      "the library did not "
				      "start: %s",
				      tool_errtext(rc));
			return tool_fail_print(&fail, argv[0]);
		}
		copy_run(&args);
		(void)m0_net_fini();
	}
	return tool_finish_output(argv[0], tool_fail_print(&fail, argv[0]));
}

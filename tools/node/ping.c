/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri ping` and `colibri discover`. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lnet_opts.h"
#include "../base/log_pipe.h"
#include "probe_set.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	KEY_SOURCE = 256,
	KEY_TIMEOUT,
	KEY_FORCE,
	KEY_ATTACH,
	/** More than the pauses between a peer's refusals, which a node that
	 * remembers an earlier process with our NID may begin with. */
	PING_TIMEOUT_MS = 3000,
	/** Beyond the time that its work may take, for the node to answer. */
	GRACE_MS = 10000
};

struct ping_args {
	const char        *pga_verb;
	struct lnet_opts   pga_opts;
	struct ctl_request pga_req;
	/** Through the node to which this process attaches. */
	bool             pga_attaches;
	struct tool_fail pga_fail;
	int              pga_stop_fd;
};

/** Pings of a node of our own. */
struct own_probe {
	struct probe_set opr_set;
	int              opr_done_fd;
};

#define SOURCE_OPTION                                                \
	{                                                            \
		"source", KEY_SOURCE, "NID", 0,                      \
			"Local NID to send from; default: chosen", 0 \
	}
#define ATTACH_OPTION                                                    \
	{                                                                \
		"attach", KEY_ATTACH, "PATH", OPTION_ARG_OPTIONAL,       \
			"Ask through the node that listens at PATH for " \
			"processes; default /run/colibri/attach.sock",   \
			0                                                \
	}
#define JSON_OPTION                                   \
	{                                             \
		"json", 'j', NULL, 0, "Print JSON", 0 \
	}

#define VERBOSE_OPTION                                               \
	{                                                            \
		"verbose", 'v', NULL, 0,                             \
			"Print which node has asked, and its NID", 0 \
	}

static const struct argp_option ping_options[] = {
	ATTACH_OPTION,
	SOURCE_OPTION,
	VERBOSE_OPTION,
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Fail without an answer after this long; default 3", 0 },
	JSON_OPTION,
	{ 0 },
};

static const struct argp_option discover_options[] = {
	{ "force", KEY_FORCE, NULL, 0,
	  "Discover a peer again that is up to date", 0 },
	ATTACH_OPTION,
	SOURCE_OPTION,
	VERBOSE_OPTION,
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Fail if not done after this long; default: the node's "
	  "transaction time-out",
	  0 },
	JSON_OPTION,
	{ 0 },
};

static bool nid_parse(struct ping_args *args, const char *what,
		      const char *text, struct m0_lnet_nid *nid)
{
	if (m0_lnet_nid_parse(nid, text) == 0)
		return true;
	tool_fail_set(&args->pga_fail, TOOL_USAGE,
		      "%s'%s' is not accepted; accepted: a NID as 10.0.0.1@tcp "
		      "or 2001:db8::1@tcp1",
		      what, text);
	return false;
}

/* As many as there may be; several may stand in one word, with commas. */
static void nids_parse(struct ping_args *args, char *words)
{
	struct ctl_request *req = &args->pga_req;
	char               *word;

	while ((word = strsep(&words, ",")) != NULL) {
		if (req->cq_nids_nr == CTL_NIDS_MAX) {
			tool_fail_set(&args->pga_fail, TOOL_USAGE,
				      "'%s': at most %d NIDs are accepted",
				      word, CTL_NIDS_MAX);
			return;
		}
		if (nid_parse(args, "", word, &req->cq_nids[req->cq_nids_nr]))
			++req->cq_nids_nr;
	}
}

static error_t ping_option(int key, char *arg, struct argp_state *state)
{
	struct ping_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->pga_opts;
		break;
	case KEY_SOURCE:
		(void)nid_parse(args, "--source ", arg,
				&args->pga_req.cq_source);
		break;
	case KEY_TIMEOUT:
		args->pga_req.cq_timeout_ms =
			tool_ms_option(&args->pga_fail, "--timeout", arg, 1);
		break;
	case KEY_FORCE:
		args->pga_req.cq_force = true;
		break;
	case KEY_ATTACH:
		args->pga_attaches = true;
		lnet_opts_attach(&args->pga_opts, arg);
		break;
	case 'v':
		args->pga_req.cq_verbose = 1;
		break;
	case 'j':
		args->pga_req.cq_json = true;
		break;
	case ARGP_KEY_ARG:
		nids_parse(args, arg);
		break;
	case ARGP_KEY_NO_ARGS:
		tool_fail_set(&args->pga_fail, TOOL_USAGE,
			      "a NID is missing, as 10.0.0.1@tcp");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child ping_children[] = {
	{ &lnet_opts_argp, 0, NULL, 0 },
	{ 0 },
};

#define WHO                                                                   \
	"With a running node (see colibri-node(1)) it does so; without one, " \
	"or with an option of the node, a node is opened for the purpose.\v"  \
	"TIME is in seconds, or as 500ms, 50s."

static const struct argp ping_argp = {
	ping_options,  ping_option,
	"NID...",      "Ask LNet nodes for their NIDs. " WHO,
	ping_children, NULL,
	NULL,
};

static const struct argp discover_argp = {
	discover_options,
	ping_option,
	"NID...",
	"Ask LNet nodes for their NIDs, tell them ours, and remember what they "
	"are. " WHO,
	ping_children,
	NULL,
	NULL,
};

/* ------------------------------------------------------- a node of our own */

static void own_done(struct probe_set *set)
{
	struct own_probe *own = container_of(set, struct own_probe, opr_set);
	const uint64_t    one = 1;

	(void)!write(own->opr_done_fd, &one, sizeof one);
}

/* Print the library's advice once. */
static void logs_print(const struct ping_args *args)
{
	enum m0_log_level level;
	char              text[LOG_PIPE_TEXT_BYTES];
	char              words[LOG_PIPE_TEXT_BYTES];
	bool              said = false;

	while (log_pipe_get(&level, text)) {
		if (strchr(text, '\n') != NULL && said)
			continue;
		said |= strchr(text, '\n') != NULL;
		fprintf(stderr, "colibri %s: %s\n", args->pga_verb,
			lnet_opts_words(words, sizeof words, text));
	}
}

/* Until all have ended, or a signal comes. */
static void own_wait(struct ping_args *args, struct own_probe *own)
{
	struct pollfd fds[] = { { own->opr_done_fd, POLLIN, 0 },
				{ args->pga_stop_fd, POLLIN, 0 } };

	while (stop_signal() == 0 && fds[0].revents == 0)
		(void)poll(fds, ARRAY_SIZE(fds), -1);
	if (fds[0].revents == 0)
		tool_fail_set(&args->pga_fail, TOOL_FAILED, "interrupted");
}

static int own_open(struct ping_args *args, struct m0_lnet **lnet)
{
	struct m0_lnet_cfg *cfg = &args->pga_opts.nop_cfg;

	/* Peers answer on the connections we make. */
	if (!args->pga_opts.nop_accept_given)
		cfg->lc_accept = M0_LNET_ACCEPT_NONE;
	/* Peers log connections that end before they are used. */
	cfg->lc_control_only = true;
	return lnet_opts_open(&args->pga_opts, cfg, lnet);
}

static int own_ask(struct ping_args *args, struct own_probe *own)
{
	struct m0_lnet *lnet;

	if (own_open(args, &lnet) != 0)
		return args->pga_fail.tf_exit;
	own->opr_set.pst_done = own_done;
	own->opr_set.pst_attached = args->pga_attaches;
	probe_set_start(&own->opr_set, lnet);
	own_wait(args, own);
	m0_lnet_close(lnet);
	logs_print(args);
	if (args->pga_fail.tf_exit != TOOL_OK)
		return args->pga_fail.tf_exit;
	return probe_set_print(&own->opr_set, stdout, stderr);
}

static int own_run(struct ping_args *args)
{
	struct own_probe own;
	int              code;

	if (log_pipe_init(M0_LOG_WARN) < 0 ||
	    probe_set_init(&own.opr_set, &args->pga_req) != 0)
		return tool_fail_set(&args->pga_fail, TOOL_FAILED,
				     "no memory or descriptors are left");
	own.opr_done_fd = eventfd(0, EFD_CLOEXEC);
	code = own_ask(args, &own);
	(void)close(own.opr_done_fd);
	probe_set_fini(&own.opr_set);
	return code;
}

/* --------------------------------------------------------------------- both */

static int args_check(struct ping_args *args)
{
	struct lnet_opts *opts = &args->pga_opts;

	if (lnet_opts_check(opts) == 0 && args->pga_attaches &&
	    (opts->nop_given || opts->nop_ctl != NULL))
		tool_fail_set(&args->pga_fail, TOOL_USAGE,
			      "--attach is not accepted together with --ctl or "
			      "options of a node of its own");
	else if (opts->nop_given && opts->nop_ctl != NULL)
		tool_fail_set(
			&args->pga_fail, TOOL_USAGE,
			"--ctl '%s' is not accepted together with options "
			"of a node of its own",
			opts->nop_ctl);
	return args->pga_fail.tf_exit;
}

/* Does $M0_LNET say that programs attach, and does no option say otherwise? */
static bool env_attaches(const struct ping_args *args)
{
	const char *env = getenv("M0_LNET");

	return env != NULL && !args->pga_opts.nop_given &&
	       args->pga_opts.nop_ctl == NULL &&
	       (strcmp(env, "attach") == 0 ||
		strncmp(env, "attach:", strlen("attach:")) == 0);
}

static int run(struct ping_args *args)
{
	struct lnet_opts   *opts = &args->pga_opts;
	struct ctl_request *req = &args->pga_req;
	struct tool_fail    untrusted = { .tf_exit = TOOL_OK };
	char                where[CTL_WHERE_BYTES] = "";
	uint64_t            patience = req->cq_timeout_ms;
	int                 fd = -ENOENT;

	if (env_attaches(args))
		args->pga_attaches = true;
	/* The module has no control socket: programs attach to its device. */
	if (opts->nop_ctl != NULL && ctl_is_device(opts->nop_ctl)) {
		lnet_opts_attach(opts, opts->nop_ctl);
		opts->nop_ctl = NULL;
		args->pga_attaches = true;
		if (args->pga_fail.tf_exit != TOOL_OK)
			return args->pga_fail.tf_exit;
	}
	if (opts->nop_ctl != NULL) {
		fd = ctl_connect(opts->nop_ctl);
	} else if (!opts->nop_given && !args->pga_attaches) {
		fd = ctl_connect_default(where, &untrusted);
		req->cq_netns = ctl_netns();
	}
	if (fd < 0 && opts->nop_ctl != NULL) {
		ctl_nobody(opts->nop_ctl, fd, &args->pga_fail);
		return args->pga_fail.tf_exit;
	}
	if (fd < 0)
		return own_run(args);
	/* The node's own may be any; ^C ends waiting for it. */
	if (patience == 0)
		patience = 86400000;
	return ctl_ask(fd, req, patience + GRACE_MS, args->pga_stop_fd,
		       &args->pga_fail);
}

static int probe_main(int argc, char **argv, enum ctl_verb verb,
		      const struct argp *argp)
{
	static struct ping_args args;
	int                     code = TOOL_OK;

	args.pga_verb = verb == CTL_PING ? "ping" : "discover";
	lnet_opts_init(&args.pga_opts, &args.pga_fail);
	ctl_request_init(&args.pga_req, verb);
	if (verb == CTL_PING)
		args.pga_req.cq_timeout_ms = PING_TIMEOUT_MS;
	if (tool_parse(argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (args_check(&args) == 0) {
		args.pga_stop_fd = stop_init();
		code = run(&args);
	}
	if (tool_fail_print(&args.pga_fail, argv[0]) != TOOL_OK)
		code = args.pga_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}

int ping_main(int argc, char **argv)
{
	return probe_main(argc, argv, CTL_PING, &ping_argp);
}

int discover_main(int argc, char **argv)
{
	return probe_main(argc, argv, CTL_DISCOVER, &discover_argp);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri node`: an LNet node in the foreground. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lnet_node.h"
#include "../base/log_pipe.h"
#include "../base/stop.h"
#include "selftest/selftest.h"

enum {
	KEY_CTL_MODE = 256,
	KEY_CTL_GROUP,
	KEY_CONFIG,
	KEY_METRICS,
	KEY_METRICS_PEERS,
	/** Lines of the library that are printed in one turn. */
	LOG_TURN_MAX = 64
};

/** How long a stop may take, with the clients that do not take their answers. */
#define STOP_TIME (M0_TIME_ONE_SECOND / 2)
/** How often a node that detaches processes prints what it logs. */
#define DETACH_TICK (M0_TIME_ONE_SECOND / 2)
/** How often a router that stops is asked whether it has stopped. */
#define DRAIN_TICK (M0_TIME_ONE_SECOND / 20)
/** How long that may take: the library needs 10 s at the most. */
#define DRAIN_TIME (11 * M0_TIME_ONE_SECOND)

static const struct argp_option node_options[] = {
	{ "verbose", 'v', NULL, 0, "Print peers that come up and go down", 0 },
	{ "ctl-mode", KEY_CTL_MODE, "OCTAL", 0,
	  "Mode of the control socket, 600 (default) to 666; users that only "
	  "the mode admits may read and ping, and change nothing",
	  3 },
	{ "ctl-group", KEY_CTL_GROUP, "GROUP", 0,
	  "Group whose members may read and ping through the control socket; "
	  "its default mode is then 660",
	  3 },
	{ "config", KEY_CONFIG, "FILE", 0,
	  "Be what lnet.conf(5) in FILE says, or `options lnet' lines of "
	  "modprobe.d; read it again on SIGHUP",
	  0 },
	{ "metrics", KEY_METRICS, "ADDRESS", 0,
	  "Serve metrics in the format of OpenMetrics by HTTP at PORT of the "
	  "loopback, ADDRESS:PORT or [IPV6]:PORT: /metrics, /healthz, /readyz",
	  4 },
	{ "metrics-peers", KEY_METRICS_PEERS, "N", 0,
	  "Most peer NIs in the metrics; default 4096", 4 },
	{ "json", 'j', NULL, 0, "Print a JSON object for each line", 0 },
	{ 0 },
};

static void ctl_group_option(struct lnet_node *node, const char *text)
{
	uint32_t gid;

	if (tool_group_parse(text, &gid))
		node->lno_ctl_group = gid;
	else
		tool_bad_value(&node->lno_fail, "--ctl-group", text,
			       "the name or the number of a group");
}

/* A group is given to let its members in. */
static void ctl_check(struct lnet_node *node)
{
	bool has_group = node->lno_ctl_group != (gid_t)-1;

	if (has_group && node->lno_ctl_mode != 0 &&
	    (node->lno_ctl_mode & 060) != 060)
		tool_fail_set(&node->lno_fail, TOOL_USAGE,
			      "--ctl-mode %o is not accepted with --ctl-group; "
			      "accepted: 660 to 666",
			      (unsigned)node->lno_ctl_mode);
	if (node->lno_ctl_mode == 0)
		node->lno_ctl_mode = has_group ? 0660 : 0600;
}

static error_t node_option(int key, char *arg, struct argp_state *state)
{
	struct lnet_node *node = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &node->lno_opts;
		state->child_inputs[1] = &node->lno_opts;
		state->child_inputs[2] = &node->lno_attach;
		state->child_inputs[3] = &node->lno_selftest;
		break;
	case 'v':
		node->lno_verbose = true;
		break;
	case 'j':
		node->lno_json = true;
		break;
	case KEY_CTL_MODE:
		node->lno_ctl_mode =
			tool_mode_option(&node->lno_fail, "--ctl-mode", arg);
		break;
	case KEY_CTL_GROUP:
		ctl_group_option(node, arg);
		break;
	case KEY_CONFIG:
		node->lno_conf.nco_path = arg;
		break;
	case KEY_METRICS:
		(void)metrics_http_check(arg, &node->lno_fail);
		node->lno_metrics.mtr_addr = arg;
		break;
	case KEY_METRICS_PEERS:
		node->lno_metrics.mtr_peers_max = (unsigned)tool_number_option(
			&node->lno_fail, "--metrics-peers", arg, 0,
			METRICS_PEERS_MAX);
		break;
	case ARGP_KEY_END:
		ctl_check(node);
		break;
	case ARGP_KEY_ARG:
		tool_fail_set(&node->lno_fail, TOOL_USAGE,
			      "'%s': no operand is accepted", arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child node_children[] = {
	{ &lnet_opts_argp, 0, NULL, 0 },
	{ &router_opts_argp, 0, NULL, 0 },
	{ &attach_opts_argp, 0, NULL, 0 },
	{ &selftest_opts_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp node_argp = {
	node_options,
	node_option,
	NULL,
	"Be an LNet node until SIGINT or SIGTERM: answer pings and discovery, "
	"and serve `colibri ping', `discover', `net', `peer', `stats', "
	"`global', `route', `routing' and `fault' by a control socket; with "
	"--routing, also forward messages between the networks.\v"
	"TIME is in seconds, or as 500ms, 50s. See colibri-node(1).",
	node_children,
	NULL,
	NULL,
};

/* -------------------------------------------------------------------- turns */

static m0_time_t deadline_of(const struct lnet_node *node)
{
	m0_time_t deadline = min_check(ctl_server_deadline(&node->lno_server),
				       node_conf_deadline(node));

	deadline = min_check(deadline, node->lno_notify.nfy_due);
	deadline = min_check(deadline, node_drain_deadline(node));
	if (node->lno_http != NULL)
		deadline = min_check(deadline,
				     metrics_http_deadline(node->lno_http));
	return node->lno_verbose && node->lno_lnet != NULL
		       ? min_check(deadline, node->lno_look_at)
		       : deadline;
}

static void logs_print(struct lnet_node *node)
{
	enum m0_log_level level;
	char              text[LOG_PIPE_TEXT_BYTES];
	char              words[LOG_PIPE_TEXT_BYTES];
	int               i;

	for (i = 0; i < LOG_TURN_MAX && log_pipe_get(&level, text); ++i) {
		lnet_opts_words(words, sizeof words, text);
		node_why_note(node, words);
		node_say_log(node, level, words);
	}
}

static void look(struct lnet_node *node, m0_time_t now)
{
	struct m0_lnet_info *info;

	if (!node->lno_verbose || now < node->lno_look_at)
		return;
	node->lno_look_at = m0_time_add(now, M0_TIME_ONE_SECOND);
	if (m0_lnet_info_get(node->lno_lnet, &info) != 0)
		return;
	node_say_peers(node, info);
	m0_lnet_info_free(info);
}

/*
 * Gives the service manager a sign of life. First the node's thread, and the one that serves
 * attached processes, have to answer: if one of them does not, this one waits for it, and
 * the manager hears nothing.
 */
static void watchdog(struct lnet_node *node)
{
	struct m0_lnet_routing_info info;

	if (node->lno_lnet == NULL || m0_time_now() < node->lno_notify.nfy_due)
		return;
	if (node->lno_daemon != NULL)
		(void)m0_lnet_daemon_check(node->lno_daemon, M0_TIME_NEVER);
	if (m0_lnet_routing_get(node->lno_lnet, &info) == 0)
		notify_alive(&node->lno_notify, m0_time_now());
}

/* Waits for something, until `deadline` at the latest, and does it. */
static void turn(struct lnet_node *node, m0_time_t deadline)
{
	struct pollfd   fds[CTL_POLLFDS_MAX + 4];
	struct timespec wait;
	m0_time_t       now = m0_time_now();
	unsigned        nr = ctl_server_poll(&node->lno_server, fds);
	m0_time_t       left = deadline > now ? deadline - now : 0;

	fds[nr++] = (struct pollfd){ node->lno_log_fd, POLLIN, 0 };
	fds[nr++] = (struct pollfd){ node->lno_wake_fd, POLLIN, 0 };
	if (node->lno_http != NULL)
		fds[nr++] = (struct pollfd){ metrics_http_fd(node->lno_http),
					     POLLIN, 0 };
	/* The signal has been seen once the node stops. */
	if (stop_signal() == 0)
		fds[nr++] = (struct pollfd){ node->lno_stop_fd, POLLIN, 0 };
	wait.tv_sec = (time_t)(left / M0_TIME_ONE_SECOND);
	wait.tv_nsec = (long)(left % M0_TIME_ONE_SECOND);
	(void)ppoll(fds, nr, deadline == M0_TIME_NEVER ? NULL : &wait, NULL);
	logs_print(node);
	node_jobs_finish(node);
	node_conf_step(node, m0_time_now());
	ctl_server_step(&node->lno_server, m0_time_now());
	if (node->lno_http != NULL)
		metrics_http_step(node->lno_http, m0_time_now());
	watchdog(node);
}

static void node_loop(struct lnet_node *node)
{
	while (stop_signal() == 0 && !node->lno_drain.ndr_done) {
		turn(node, deadline_of(node));
		node_drain_step(node, m0_time_now());
		look(node, m0_time_now());
	}
	notify_stopping(&node->lno_notify, "stopping");
	node_say_stopping(node, stop_signal());
}

/* ------------------------------------------------------------ start and end */

static int fds_init(struct lnet_node *node)
{
	stop_hangup_ignore();
	node->lno_stop_fd = stop_init();
	node->lno_log_fd =
		log_pipe_init(node->lno_verbose ? M0_LOG_INFO : M0_LOG_NOTICE);
	node->lno_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (node->lno_stop_fd >= 0 && node->lno_log_fd >= 0 &&
	    node->lno_wake_fd >= 0) {
		if (node->lno_conf.nco_path != NULL)
			stop_hangup_watch(node->lno_wake_fd);
		return 0;
	}
	return tool_fail_set(&node->lno_fail, TOOL_FAILED,
			     "no descriptors are left: %s",
			     tool_errtext(errno));
}

static int path_choose(struct lnet_node *node)
{
	const char *path = node->lno_opts.nop_ctl;

	if (path == NULL)
		return ctl_path(node->lno_path, true, &node->lno_fail);
	snprintf(node->lno_path, sizeof node->lno_path, "%s", path);
	return 0;
}

/* Lets processes attach, if asked to. @return the exit code. */
static int attach_start(struct lnet_node *node)
{
	const struct attach_opts *opts = &node->lno_attach;
	char                      why[M0_LNET_WHY_BYTES] = "";
	int                       rc;

	if (!opts->ato_given)
		return 0;
	rc = m0_lnet_daemon_start(&node->lno_daemon, node->lno_lnet,
				  &opts->ato_cfg, opts->ato_path, why);
	if (opts->ato_cfg.ldc_listen_fd >= 0)
		(void)close(opts->ato_cfg.ldc_listen_fd);
	return rc == 0 ? 0
		       : tool_fail_set(&node->lno_fail, TOOL_FAILED,
				       "--attach: %s", why);
}

/* Ends the session of a console, and its tests. */
static void selftest_stop(struct lnet_node *node)
{
	if (node->lno_st != NULL)
		m0_st_close(node->lno_st);
	node->lno_st = NULL;
}

/* Detaches all processes. Before the node is closed. */
static void attach_stop(struct lnet_node *node)
{
	if (node->lno_daemon == NULL)
		return;
	/* A message that is on its way to a peer ends with its connection. */
	while (m0_lnet_daemon_stop(node->lno_daemon,
				   m0_time_add(m0_time_now(), DETACH_TICK)) !=
	       0) {
		logs_print(node);
		watchdog(node);
	}
	node->lno_daemon = NULL;
}

static void http_stop(struct lnet_node *node)
{
	metrics_http_stop(node->lno_http);
	node->lno_http = NULL;
}

static int node_start(struct lnet_node *node)
{
	struct tool_fail *fail = &node->lno_fail;
	int               rc;

	if (path_choose(node) != 0 ||
	    ctl_server_probe(node->lno_path, fail) != 0 || fds_init(node) != 0)
		return fail->tf_exit;
	node->lno_since = m0_time_now();
	rc = lnet_opts_open(&node->lno_opts, &node->lno_opts.nop_cfg,
			    &node->lno_lnet);
	if (rc != 0)
		return rc;
	node->lno_server.csv_serve = node_serve;
	rc = node_conf_start(node);
	metrics_source_init(node);
	if (rc == 0 && node->lno_metrics.mtr_addr != NULL)
		rc = metrics_http_start(&node->lno_http,
					&node->lno_metrics.mtr_source,
					node->lno_metrics.mtr_addr, fail);
	if (rc == 0)
		rc = attach_start(node);
	if (rc == 0)
		rc = selftest_opts_start(&node->lno_selftest, node->lno_lnet,
					 &node->lno_st);
	if (rc == 0)
		rc = ctl_server_open(&node->lno_server, node->lno_path,
				     node->lno_ctl_mode, node->lno_ctl_group,
				     fail);
	if (rc != 0) {
		http_stop(node);
		selftest_stop(node);
		attach_stop(node);
		m0_lnet_close(node->lno_lnet);
		return rc;
	}
	node_say_start(node);
	notify_ready(&node->lno_notify, "ready");
	return 0;
}

static bool is_routing(struct lnet_node *node)
{
	struct m0_lnet_routing_info info;

	return m0_lnet_routing_get(node->lno_lnet, &info) == 0 &&
	       info.lgi_state != M0_LNET_ROUTING_OFF;
}

/*
 * Stops forwarding before the node closes: peers are told, and take other routes,
 * and messages on their way leave. A second signal ends the process.
 */
static void router_stop(struct lnet_node *node)
{
	m0_time_t until;

	if (!is_routing(node))
		return;
	node_say_draining(node);
	(void)m0_lnet_routing_set(node->lno_lnet, false);
	until = m0_time_add(m0_time_now(), DRAIN_TIME);
	while (is_routing(node) && m0_time_now() < until)
		turn(node, m0_time_add(m0_time_now(), DRAIN_TICK));
}

/* Serve no new requests; answer those that wait with their outcome. */
static void node_stop(struct lnet_node *node)
{
	struct m0_lnet_info *info = NULL;
	m0_time_t            until;

	router_stop(node);
	captures_stop(&node->lno_captures);
	http_stop(node);
	selftest_stop(node);
	attach_stop(node);
	until = m0_time_add(m0_time_now(), STOP_TIME);
	ctl_server_close(&node->lno_server);
	(void)m0_lnet_info_get(node->lno_lnet, &info);
	if (node->lno_verbose && info != NULL)
		node_say_peers(node, info);
	m0_lnet_close(node->lno_lnet);
	node->lno_lnet = NULL;
	node_jobs_finish(node);
	while (ctl_server_is_busy(&node->lno_server) && m0_time_now() < until)
		turn(node, until);
	ctl_server_fini(&node->lno_server);
	logs_print(node);
	node_say_end(node, info);
	if (info != NULL)
		m0_lnet_info_free(info);
	free(node->lno_seen);
}

int node_main(int argc, char **argv)
{
	static struct lnet_node node = {
		.lno_ctl_group = (gid_t)-1,
		.lno_metrics = { .mtr_peers_max = METRICS_PEERS_DEFAULT },
		.lno_server = { .csv_fd = -1 },
	};

	lnet_opts_init(&node.lno_opts, &node.lno_fail);
	attach_opts_init(&node.lno_attach, &node.lno_fail);
	node.lno_selftest.slo_fail = &node.lno_fail;
	/* $M0_LNET may say how other programs use this very node. */
	snprintf(node.lno_opts.nop_cfg.lc_attach,
		 sizeof node.lno_opts.nop_cfg.lc_attach, "none");
	if (tool_parse(&node_argp, argc, argv, 0, &node) != 0)
		return TOOL_USAGE;
	m0_mutex_init(&node.lno_lock);
	if (notify_init(&node.lno_notify, &node.lno_fail) == 0 &&
	    node_conf_read(&node) == 0 &&
	    lnet_opts_check(&node.lno_opts) == 0 &&
	    attach_opts_check(&node.lno_attach) == 0) {
		node.lno_opts.nop_cfg.lc_listen =
			node.lno_attach.ato_fds.lfs_peers;
		if (node_start(&node) == 0) {
			node_loop(&node);
			node_stop(&node);
			stop_mute_check(&node.lno_fail);
		}
	}
	node_conf_fini(&node);
	notify_fini(&node.lno_notify);
	m0_mutex_fini(&node.lno_lock);
	return tool_finish_output(argv[0],
				  tool_fail_print(&node.lno_fail, argv[0]));
}

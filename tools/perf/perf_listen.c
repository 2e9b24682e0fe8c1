/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A server: its door, its loop, its output. */
#include <poll.h>
#include <sys/eventfd.h>

#include "../base/jout.h"
#include "perf_server.h"
#include "../base/stop.h"

enum {
	/** Time between two looks at the machine, while no client is there. */
	LOOK_MS = 500
};

/* Takes every message that can be decoded; main finds its client. */
static bool door_wants(struct tool_door *door, struct m0_net_end_point *from,
		       void *bytes, size_t nr)
{
	struct perf_msg msg;
	int             rc = perf_msg_decode(&msg, bytes, nr);

	(void)door;
	(void)from;
	return rc == 0 ||
	       (rc == -EPROTONOSUPPORT && msg.psg_type == PERF_HELLO);
}

/* Locked. */
static void door_lost(struct tool_port *port, struct m0_net_end_point *to,
		      int rc)
{
	struct perf_server *server =
		container_of(port, struct perf_server, psv_door.tdo_port);

	if (to != server->psv_from || server->psv_lost != 0)
		return;
	server->psv_lost = rc;
	(void)eventfd_write(server->psv_door.tdo_wake_fd, 1);
}

static bool server_is_over(const struct perf_server *server)
{
	return stop_signal() != 0 ||
	       (server->psv_args->pa_once &&
		server->psv_served_nr + server->psv_failed_nr > 0);
}

/* @return 0, or why its machine has failed. */
static int server_loop(struct perf_server *server)
{
	struct tool_port *port = &server->psv_door.tdo_port;
	struct pollfd     fds[] = {
		    { .fd = server->psv_door.tdo_wake_fd, .events = POLLIN },
		    { .fd = server->psv_args->pa_stop_fd, .events = POLLIN },
	};
	int alive_ms =
		(int)max64u(tool_port_alive_ns(port) / M0_TIME_ONE_MSEC, 1);
	int       failed = 0;
	eventfd_t value;

	while (failed == 0 && !server_is_over(server)) {
		if (poll(fds, ARRAY_SIZE(fds),
			 server->psv_from != NULL ? alive_ms : LOOK_MS) > 0 &&
		    (fds[0].revents & POLLIN))
			(void)eventfd_read(server->psv_door.tdo_wake_fd,
					   &value);
		/* A client that is there ends for this reason. */
		failed = tool_node_failed(&port->tpo_node);
		perf_server_look(server);
	}
	server->psv_stopping = true;
	return failed;
}

static void listen_say(const struct perf_server *server)
{
	const struct perf_args *args = server->psv_args;
	const struct tool_port *port = &server->psv_door.tdo_port;
	const char             *addr = tool_node_addr(&port->tpo_node);
	char                    words[512];
	char                    command[1024];

	if (!stop_lets_say(stdout))
		return;
	tool_place_words(&args->pa_places[PERF_A], addr, words, sizeof words);
	snprintf(command, sizeof command, "colibri perf %s%s", words, addr);
	if (args->pa_json) {
		struct json_t *tree = jout_alloc();

		jout_str(tree, "event", "listening");
		jout_str(tree, "ep", addr);
		jout_str(tree, "command", command);
		jout_finish_line(tree, stdout);
	} else {
		printf("on the other side:\n\n  %s\n\n", command);
	}
	(void)fflush(stdout);
}

static void end_say(const struct perf_server *server)
{
	const struct perf_args *args = server->psv_args;
	uint64_t                strays = server->psv_strays_nr;

	if (!stop_lets_say(stdout))
		return;
	if (args->pa_json) {
		struct json_t *tree = jout_alloc();

		jout_str(tree, "event", "ended");
		jout_num(tree, "served", server->psv_served_nr);
		jout_num(tree, "failed", server->psv_failed_nr);
		jout_num(tree, "strays", strays);
		jout_finish_line(tree, stdout);
		return;
	}
	printf("served %" PRIu64 " client%s, failed %" PRIu64,
	       server->psv_served_nr, server->psv_served_nr == 1 ? "" : "s",
	       server->psv_failed_nr);
	if (strays > 0)
		printf("; %" PRIu64 " messages of strangers left alone",
		       strays);
	printf("\n");
}

/* The door did not open. That is no failure if the daemon of the node has ended meanwhile, and
 * another one is looked for. @return why, or 0 */
static int door_lacks_node(struct perf_server *server)
{
	struct perf_args *args = server->psv_args;
	struct tool_port *port = &server->psv_door.tdo_port;
	int               rc;

	m0_mutex_lock(&port->tpo_lock);
	rc = port->tpo_rc;
	m0_mutex_unlock(&port->tpo_lock);
	if (rc != -ESHUTDOWN ||
	    args->pa_places[PERF_A].tpl_cfg.lc_reattach_ns == 0)
		return 0;
	M0_SET0(args->pa_fail);
	return rc;
}

/* Opens the door, and serves until it is over, or the machine has failed. @return why */
static int door_serve(struct perf_server *server, const char *addr)
{
	struct perf_args *args = server->psv_args;
	struct tool_port *port = &server->psv_door.tdo_port;
	char              beside[M0_NET_LNET_XEP_ADDR_LEN];
	int               failed = 0;

	M0_SET0(&server->psv_door);
	server->psv_door.tdo_wants = door_wants;
	port->tpo_lost = door_lost;
	port->tpo_timeout_ns = args->pa_timeout_ms * M0_TIME_ONE_MSEC;
	port->tpo_msg_bytes = PERF_MSG_HEAD_BYTES + PERF_TEXT_MAX;
	if (tool_door_open(&server->psv_door, args->pa_setup.pu_xprt, addr,
			   args->pa_fail) == 0) {
		args->pa_setup.pu_addrs[PERF_B] = perf_addr_beside(
			beside, tool_node_addr(&port->tpo_node));
		listen_say(server);
		failed = server_loop(server);
		perf_server_dismiss(server);
		m0_mutex_lock(&port->tpo_lock);
		server->psv_strays_nr += port->tpo_strays_nr;
		m0_mutex_unlock(&port->tpo_lock);
	} else if (server->psv_door.tdo_wake_fd >= 0) {
		failed = door_lacks_node(server);
	}
	tool_door_close(&server->psv_door, PERF_BYE_NS);
	return failed;
}

static void end_check(const struct perf_server *server, int failed)
{
	struct perf_args *args = server->psv_args;

	if (failed != 0)
		tool_fail_set(args->pa_fail, TOOL_FAILED,
			      "the transfer machine has failed: %s",
			      tool_errtext(failed));
	else if (args->pa_once && server->psv_served_nr == 0)
		tool_fail_set(args->pa_fail, TOOL_FAILED,
			      server->psv_failed_nr == 0
				      ? "interrupted before a client came"
				      : "the client did not finish its rows");
	stop_mute_check(args->pa_fail);
}

void perf_listen_run(struct perf_args *args)
{
	struct perf_server *server;
	int                 failed;

	M0_ALLOC_PTR(server);
	if (server == NULL) {
		tool_fail_set(args->pa_fail, TOOL_FAILED, "no memory");
		return;
	}
	server->psv_args = args;
	do {
		server->psv_stopping = false;
		failed = door_serve(server, args->pa_ep);
	} while (failed != 0 && args->pa_fail->tf_exit == TOOL_OK &&
		 !server_is_over(server) &&
		 tool_place_again(&args->pa_places[PERF_A]));
	if (args->pa_fail->tf_exit == TOOL_OK) {
		end_say(server);
		end_check(server, failed);
	}
	m0_free(server);
}

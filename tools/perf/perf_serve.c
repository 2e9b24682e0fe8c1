/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The client of a server, and its questions. */
#include "../base/jout.h"
#include "perf_server.h"
#include "../base/stop.h"

static void server_send(struct perf_server *server, struct m0_net_end_point *to,
			struct perf_msg *msg, const char *text)
{
	uint8_t bytes[PERF_MSG_HEAD_BYTES + PERF_TEXT_MAX];
	int     nr;

	msg->psg_text = text;
	msg->psg_text_nr = (uint32_t)strnlen(text, PERF_TEXT_MAX);
	nr = perf_msg_encode(msg, bytes, sizeof bytes);
	M0_ASSERT(nr > 0);
	tool_port_reply(&server->psv_door.tdo_port, to, bytes, (size_t)nr);
}

/* ----------------------------------------------------------- the client -- */

/* `why` NULL: it took leave, as it should. */
static void client_say(const struct perf_server *server, const char *why)
{
	const struct perf_args *args = server->psv_args;
	const char             *from = server->psv_from->nep_addr;
	double seconds = (double)(m0_time_now() - server->psv_start) / 1e9;

	if (!stop_lets_say(why != NULL && !args->pa_json ? stderr : stdout))
		return;
	if (args->pa_json) {
		struct json_t *tree = jout_alloc();

		jout_str(tree, "event", why == NULL ? "served" : "failed");
		jout_str(tree, "from", from);
		jout_num(tree, "rows", server->psv_rows_nr);
		jout_real(tree, "seconds", seconds);
		if (why != NULL)
			jout_str(tree, "reason", why);
		jout_finish_line(tree, stdout);
	} else if (why == NULL) {
		printf("served %s: %u row%s in %.1f s\n", from,
		       server->psv_rows_nr, server->psv_rows_nr == 1 ? "" : "s",
		       seconds);
	} else {
		fprintf(stderr, "%s: %s: %s\n", args->pa_program, from, why);
	}
	(void)fflush(stdout);
}

static void client_end(struct perf_server *server, const char *why)
{
	struct tool_port        *port = &server->psv_door.tdo_port;
	struct m0_net_end_point *from = server->psv_from;

	perf_guest_end(&server->psv_guest);
	client_say(server, why);
	if (why == NULL)
		++server->psv_served_nr;
	else
		++server->psv_failed_nr;
	m0_mutex_lock(&port->tpo_lock);
	server->psv_from = NULL;
	server->psv_lost = 0;
	m0_mutex_unlock(&port->tpo_lock);
	(void)m0_net_end_point_put(from);
}

static void client_begin(struct perf_server *server, const struct tool_ask *ask,
			 const struct perf_msg *msg)
{
	struct tool_port *port = &server->psv_door.tdo_port;

	(void)m0_net_end_point_get(ask->tak_from);
	m0_mutex_lock(&port->tpo_lock);
	server->psv_from = ask->tak_from;
	m0_mutex_unlock(&port->tpo_lock);
	server->psv_conv = msg->psg_conv;
	server->psv_start = m0_time_now();
	server->psv_received = server->psv_start;
	server->psv_rows_nr = 0;
}

/* Why its time is over, NULL: it is not. */
static const char *client_look(struct perf_server *server, char *text,
			       size_t size)
{
	struct tool_port *port = &server->psv_door.tdo_port;
	m0_time_t         limit =
		m0_time_add(server->psv_received, port->tpo_timeout_ns);
	int failed = tool_node_failed(&port->tpo_node);
	int lost;

	m0_mutex_lock(&port->tpo_lock);
	lost = server->psv_lost;
	m0_mutex_unlock(&port->tpo_lock);
	if (failed != 0)
		snprintf(text, size, "the transfer machine has failed: %s",
			 tool_errtext(failed));
	else if (lost != 0)
		snprintf(text, size,
			 "the client cannot be reached any more: %s",
			 tool_errtext(lost));
	else if (m0_time_now() >= limit)
		snprintf(text, size, "nothing came from it for %g s",
			 (double)port->tpo_timeout_ns / 1e9);
	else
		return NULL;
	return text;
}

/* Its row may have failed here, and it does not ask. */
static void client_alive(struct perf_server *server)
{
	const struct perf_guest *guest = &server->psv_guest;
	struct tool_fail         fail = { .tf_exit = TOOL_OK };
	struct perf_msg          msg = {
			 .psg_type = PERF_ALIVE,
			 .psg_conv = server->psv_conv,
	};

	if (!tool_port_alive_due(&server->psv_door.tdo_port))
		return;
	if (guest->pgu_run != NULL &&
	    perf_run_fail_get(guest->pgu_run, &fail) != TOOL_OK) {
		msg.psg_type = PERF_LOOK_REPLY;
		msg.psg_status = -EIO;
		msg.psg_row = guest->pgu_nr;
	}
	server_send(server, server->psv_from, &msg, fail.tf_text);
}

/* ------------------------------------------------------------- questions -- */

static void hello_answer(struct perf_server *server, const struct tool_ask *ask,
			 const struct perf_msg *msg)
{
	const struct perf_setup *setup = &server->psv_args->pa_setup;
	struct perf_msg          reply = {
			 .psg_type = PERF_HELLO_REPLY,
			 .psg_id = msg->psg_id,
			 .psg_conv = msg->psg_conv,
	};
	char why[PERF_TEXT_MAX] = "";

	/* Another client has that address now. */
	if (server->psv_from == ask->tak_from &&
	    server->psv_conv != msg->psg_conv)
		client_end(server, "the client began anew");
	if (server->psv_stopping) {
		reply.psg_status = -ESHUTDOWN;
		snprintf(why, sizeof why, "the server is being stopped");
	} else if (server->psv_from == NULL) {
		client_begin(server, ask, msg);
	} else if (server->psv_from != ask->tak_from) {
		reply.psg_status = -EBUSY;
		snprintf(
			why, sizeof why,
			"the server has been measuring with %s for %.0f s; try "
			"again when that is over",
			server->psv_from->nep_addr,
			(double)(m0_time_now() - server->psv_start) / 1e9);
	}
	if (reply.psg_status == 0 && setup->pu_spin_ns > 0)
		reply.psg_flags = PERF_FLAG_SPINS;
	server_send(server, ask->tak_from, &reply, why);
}

static void row_answer(struct perf_server *server, const struct perf_msg *msg)
{
	struct perf_guest *guest = &server->psv_guest;
	struct tool_fail   fail = { .tf_exit = TOOL_OK };
	char               addr[PERF_TEXT_MAX + 1];
	struct perf_msg    reply = {
		   .psg_type = PERF_ROW_REPLY,
		   .psg_id = msg->psg_id,
		   .psg_conv = msg->psg_conv,
		   .psg_row = msg->psg_row,
	};

	/* The question may have come again. */
	if (guest->pgu_run == NULL || guest->pgu_nr != msg->psg_row) {
		snprintf(addr, sizeof addr, "%.*s", (int)msg->psg_text_nr,
			 msg->psg_text);
		reply.psg_status = perf_guest_begin(
			guest, &server->psv_args->pa_setup, msg, addr,
			server->psv_from->nep_addr, &fail);
		if (reply.psg_status == 0)
			++server->psv_rows_nr;
	}
	server_send(server, server->psv_from, &reply,
		    reply.psg_status == 0 ? perf_guest_addr(guest)
					  : fail.tf_text);
}

static void look_answer(struct perf_server *server, const struct perf_msg *msg)
{
	struct perf_guest *guest = &server->psv_guest;
	struct perf_run   *run = guest->pgu_run;
	struct tool_fail   fail = { .tf_exit = TOOL_OK };
	struct perf_look   look = { .pk_cpu_ns = 0 };
	struct perf_msg    reply = {
		   .psg_type = PERF_LOOK_REPLY,
		   .psg_id = msg->psg_id,
		   .psg_conv = msg->psg_conv,
		   .psg_row = msg->psg_row,
	};

	if (run == NULL || guest->pgu_nr != msg->psg_row) {
		reply.psg_status = -ENOENT;
		snprintf(fail.tf_text, sizeof fail.tf_text,
			 "the server has no such row");
	} else if (perf_run_fail_get(run, &fail) != TOOL_OK) {
		reply.psg_status = -EIO;
	} else {
		if (msg->psg_flags & PERF_FLAG_STOP)
			perf_phase_set(run, PHASE_WARM, PHASE_STOP);
		perf_look_here(&run->pn_sides[PERF_B], &look);
		reply.psg_cpu_ns = look.pk_cpu_ns;
		reply.psg_wait_ns = look.pk_wait_ns;
		reply.psg_now_ns = look.pk_now_ns;
		reply.psg_queued_nr = look.pk_queued_nr;
		reply.psg_recv_nr = look.pk_recv_nr;
	}
	server_send(server, server->psv_from, &reply, fail.tf_text);
}

static void client_answer(struct perf_server    *server,
			  const struct perf_msg *msg)
{
	server->psv_received = m0_time_now();
	switch (msg->psg_type) {
	case PERF_ROW:
		row_answer(server, msg);
		break;
	case PERF_LOOK:
		look_answer(server, msg);
		break;
	case PERF_BYE:
		client_end(server, msg->psg_status == 0
					   ? NULL
					   : tool_errtext(msg->psg_status));
		break;
	default:
		/* ALIVE, or what makes no sense here. */
		break;
	}
}

static void ask_answer(struct perf_server *server, const struct tool_ask *ask)
{
	struct tool_port *port = &server->psv_door.tdo_port;
	struct perf_msg   msg = { .psg_id = 0 };
	int rc = perf_msg_decode(&msg, ask->tak_bytes, ask->tak_nr);

	if (rc != 0) {
		/* The head alone is understood by both. */
		msg = (struct perf_msg){ .psg_type = PERF_HELLO_REPLY,
					 .psg_status = -EPROTONOSUPPORT,
					 .psg_conv = 1 };
		server_send(server, ask->tak_from, &msg, "");
	} else if (msg.psg_type == PERF_HELLO) {
		hello_answer(server, ask, &msg);
	} else if (ask->tak_from == server->psv_from &&
		   msg.psg_conv == server->psv_conv) {
		client_answer(server, &msg);
	} else {
		m0_mutex_lock(&port->tpo_lock);
		++port->tpo_strays_nr;
		m0_mutex_unlock(&port->tpo_lock);
	}
}

void perf_server_look(struct perf_server *server)
{
	char            text[256];
	const char     *why;
	struct tool_ask ask;

	while (tool_door_get(&server->psv_door, &ask)) {
		ask_answer(server, &ask);
		(void)m0_net_end_point_put(ask.tak_from);
	}
	if (server->psv_from == NULL)
		return;
	why = client_look(server, text, sizeof text);
	if (why != NULL)
		client_end(server, why);
	else
		client_alive(server);
}

void perf_server_dismiss(struct perf_server *server)
{
	struct perf_msg msg = {
		.psg_type = PERF_LOOK_REPLY,
		.psg_status = -ESHUTDOWN,
		.psg_conv = server->psv_conv,
		.psg_row = server->psv_guest.pgu_nr,
	};

	if (server->psv_from == NULL)
		return;
	server_send(server, server->psv_from, &msg, "the server was stopped");
	tool_port_drain(&server->psv_door.tdo_port, PERF_BYE_NS);
	client_end(server, "we were stopped");
}

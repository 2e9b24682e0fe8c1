/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "perf_far.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	CONTROL_MSGS_NR = 8
};

/** How long the last word is waited for, ns. */
#define BYE_NS M0_TIME_ONE_SECOND
/** How long the server may take to report why a row failed, ns. */
#define WHY_NS M0_TIME_ONE_SECOND

/* ----------------------------------------------------------- receiving -- */

/* For people: nothing that moves a cursor comes through the decoder. */
static void text_keep(char ret[PERF_TEXT_MAX + 1], const struct perf_msg *msg)
{
	memcpy(ret, msg->psg_text, msg->psg_text_nr);
	ret[msg->psg_text_nr] = '\0';
}

/* With the lock. @return  was it anything of this conversation? */
static bool far_receive(struct perf_far *far, const struct perf_msg *msg)
{
	bool reply = msg->psg_type == PERF_HELLO_REPLY ||
		     msg->psg_type == PERF_ROW_REPLY ||
		     msg->psg_type == PERF_LOOK_REPLY;

	if (msg->psg_type == PERF_LOOK_REPLY && msg->psg_id == 0 &&
	    msg->psg_status != 0) {
		far->pfa_bad_row = msg->psg_row;
		text_keep(far->pfa_bad, msg);
		m0_cond_broadcast(&far->pfa_port.tpo_cond);
	} else if (reply && !far->pfa_call.tca_answered &&
		   msg->psg_type == far->pfa_awaited &&
		   msg->psg_id == far->pfa_question.psg_id) {
		far->pfa_answer = *msg;
		far->pfa_answer.psg_text = NULL;
		text_keep(far->pfa_text, msg);
		far->pfa_call.tca_status = msg->psg_status;
		far->pfa_call.tca_answered = true;
		m0_cond_broadcast(&far->pfa_port.tpo_cond);
	}
	return reply || msg->psg_type == PERF_ALIVE;
}

static bool far_take(struct tool_port *port, struct m0_net_end_point *from,
		     void *bytes, size_t nr)
{
	struct perf_far *far = container_of(port, struct perf_far, pfa_port);
	struct perf_msg  msg;
	int              rc = perf_msg_decode(&msg, bytes, nr);
	bool             ours = false;

	m0_mutex_lock(&port->tpo_lock);
	if (rc == -EPROTONOSUPPORT && from == far->pfa_door)
		tool_port_fail(port, rc,
			       "the server speaks version %u of `colibri "
			       "perf', this side version %d; use the same "
			       "release on both",
			       msg.psg_id, PERF_VERSION);
	else if (rc == 0 && from == far->pfa_door &&
		 msg.psg_conv == port->tpo_conv)
		ours = far_receive(far, &msg);
	m0_mutex_unlock(&port->tpo_lock);
	return ours;
}

/* -------------------------------------------------------------- asking -- */

static int far_send(struct tool_call *call)
{
	struct perf_far  *far = container_of(call, struct perf_far, pfa_call);
	struct tool_port *port = &far->pfa_port;
	uint8_t           bytes[PERF_MSG_HEAD_BYTES + PERF_TEXT_MAX];
	int               nr;

	if (stop_signal() != 0)
		tool_port_fail_lock(port, -EINTR, "interrupted");
	nr = perf_msg_encode(&far->pfa_question, bytes, sizeof bytes);
	M0_ASSERT(nr > 0);
	if (tool_port_rc(port) != 0)
		return tool_port_rc(port);
	return tool_port_send(port, far->pfa_door, bytes, (size_t)nr);
}

/*
 * Asks, and waits for the answer, whose status is returned; or the port has
 * failed.
 */
static int far_ask(struct perf_far *far, const struct perf_msg *msg,
		   enum perf_msg_type awaited)
{
	struct tool_port *port = &far->pfa_port;
	int               rc;

	m0_mutex_lock(&port->tpo_lock);
	far->pfa_call =
		(struct tool_call){ .tca_port = port, .tca_send = far_send };
	far->pfa_awaited = awaited;
	++far->pfa_question.psg_id;
	rc = (int)far->pfa_question.psg_id;
	far->pfa_question = *msg;
	far->pfa_question.psg_id = (uint32_t)rc;
	far->pfa_question.psg_conv = port->tpo_conv;
	m0_mutex_unlock(&port->tpo_lock);
	rc = tool_call(&far->pfa_call);
	if (rc == 0)
		return far->pfa_call.tca_status;
	tool_port_fail_lock(port, rc, "no answer from %s in %g s%s",
			    far->pfa_addr, (double)port->tpo_timeout_ns / 1e9,
			    awaited == PERF_HELLO_REPLY
				    ? ": no `colibri perf --listen' is there"
				    : "");
	return rc;
}

static void far_say(struct perf_far *far, enum perf_msg_type type, int status)
{
	const struct perf_msg msg = {
		.psg_type = type,
		.psg_status = status,
		.psg_conv = far->pfa_port.tpo_conv,
	};
	uint8_t bytes[PERF_MSG_HEAD_BYTES];
	int     nr = perf_msg_encode(&msg, bytes, sizeof bytes);

	tool_port_reply(&far->pfa_port, far->pfa_door, bytes, (size_t)nr);
}

/* ---------------------------------------------------------------- rows -- */

/* With the port's lock. */
static bool far_is_bad(const struct perf_far *far)
{
	return far->pfa_bad_row == far->pfa_row && far->pfa_bad[0] != '\0';
}

/*
 * Reports the server's message about the row, or else the failure of the port, or
 * else `text`, which may only follow from these.
 */
static int run_fail(struct perf_run *run, int rc, const char *text)
{
	struct perf_far       *far = run->pn_setup->pu_far;
	const struct perf_row *row = run->pn_row;
	struct tool_port      *port = &far->pfa_port;
	struct tool_fail       fail;

	m0_mutex_lock(&port->tpo_lock);
	fail = port->tpo_fail;
	if (far_is_bad(far))
		text = far->pfa_bad;
	if (far_is_bad(far) || port->tpo_rc == 0) {
		fail.tf_exit = TOOL_OK;
		tool_fail_set(&fail, TOOL_FAILED,
			      "%s of %" PRIu64 " bytes: the server %s: %s",
			      perf_test_names[row->prw_test], row->prw_size,
			      far->pfa_addr,
			      text[0] != '\0' ? text : tool_errtext(rc));
	}
	m0_mutex_unlock(&port->tpo_lock);
	(void)__atomic_exchange_n(&run->pn_phase, PHASE_STOP, __ATOMIC_RELAXED);
	m0_mutex_lock(&run->pn_lock);
	if (run->pn_fail.tf_exit == TOOL_OK)
		run->pn_fail = fail;
	m0_mutex_unlock(&run->pn_lock);
	return rc;
}

int perf_far_meet(struct perf_run *run)
{
	struct perf_far       *far = run->pn_setup->pu_far;
	const struct perf_row *row = run->pn_row;
	struct perf_side      *a = &run->pn_sides[PERF_A];
	const char            *addr = tool_node_addr(&a->pe_node);
	const struct perf_msg  msg = {
		 .psg_type = PERF_ROW,
		 .psg_row = ++far->pfa_row,
		 .psg_test = row->prw_test,
		 .psg_size = row->prw_size,
		 .psg_depth = row->prw_depth,
		 .psg_text = addr,
		 .psg_text_nr = (uint32_t)strlen(addr),
	};
	int rc = far_ask(far, &msg, PERF_ROW_REPLY);

	if (rc != 0)
		return run_fail(run, rc, far->pfa_text);
	rc = perf_side_meet(a, far->pfa_text);
	return rc == 0 ? 0 : run_fail(run, rc, "its address makes no sense");
}

int perf_far_look(struct perf_run *run, bool stop, struct perf_look *ret)
{
	struct perf_far      *far = run->pn_setup->pu_far;
	const struct perf_msg msg = {
		.psg_type = PERF_LOOK,
		.psg_row = far->pfa_row,
		.psg_flags = stop ? PERF_FLAG_STOP : 0,
	};
	int rc = far_ask(far, &msg, PERF_LOOK_REPLY);

	if (rc != 0)
		return run_fail(run, rc, far->pfa_text);
	ret->pk_cpu_ns = far->pfa_answer.psg_cpu_ns;
	ret->pk_wait_ns = far->pfa_answer.psg_wait_ns;
	ret->pk_now_ns = far->pfa_answer.psg_now_ns;
	ret->pk_queued_nr = far->pfa_answer.psg_queued_nr;
	ret->pk_recv_nr = far->pfa_answer.psg_recv_nr;
	return 0;
}

void perf_far_tick(struct perf_run *run)
{
	struct perf_far  *far = run->pn_setup->pu_far;
	struct tool_port *port = &far->pfa_port;
	bool              bad;

	if (tool_port_alive_due(port))
		far_say(far, PERF_ALIVE, 0);
	m0_mutex_lock(&port->tpo_lock);
	if (stop_signal() != 0)
		tool_port_fail(port, -EINTR, "interrupted");
	if (m0_time_now() > port->tpo_received + port->tpo_timeout_ns)
		tool_port_fail(port, -ETIMEDOUT,
			       "nothing came from the server at %s for %g s",
			       far->pfa_addr,
			       (double)port->tpo_timeout_ns / 1e9);
	bad = far_is_bad(far) || port->tpo_rc != 0;
	m0_mutex_unlock(&port->tpo_lock);
	if (bad)
		(void)run_fail(run, -EIO, "");
}

void perf_far_explain(struct perf_run *run)
{
	struct perf_far  *far = run->pn_setup->pu_far;
	struct tool_port *port = &far->pfa_port;
	m0_time_t         limit = m0_time_add(m0_time_now(), WHY_NS);
	bool              wait = true;
	bool              knows;

	far_say(far, PERF_ALIVE, 0);
	m0_mutex_lock(&port->tpo_lock);
	while (wait && !far_is_bad(far) && port->tpo_rc == 0)
		wait = m0_cond_timedwait(&port->tpo_cond, limit);
	knows = far_is_bad(far) || port->tpo_rc != 0;
	m0_mutex_unlock(&port->tpo_lock);
	if (!knows)
		return;
	m0_mutex_lock(&run->pn_lock);
	run->pn_fail.tf_exit = TOOL_OK;
	m0_mutex_unlock(&run->pn_lock);
	(void)run_fail(run, -EIO, "");
}

/* ------------------------------------------------------- begin and end -- */

static void far_hello(struct perf_far *far)
{
	const struct perf_msg msg = { .psg_type = PERF_HELLO };
	struct tool_port     *port = &far->pfa_port;
	int                   rc = far_ask(far, &msg, PERF_HELLO_REPLY);

	if (rc == -EBUSY)
		tool_port_fail_lock(port, rc, "the server at %s is busy: %s",
				    far->pfa_addr, far->pfa_text);
	else if (rc != 0)
		tool_port_fail_lock(port, rc, "the server at %s refuses: %s",
				    far->pfa_addr,
				    far->pfa_text[0] != '\0'
					    ? far->pfa_text
					    : tool_errtext(rc));
	far->pfa_spins = far->pfa_answer.psg_flags & PERF_FLAG_SPINS;
}

int perf_far_open(struct perf_far *far, const struct tool_xprt *xprt,
		  const char *own, const char *addr, m0_time_t timeout_ns,
		  struct tool_fail *fail)
{
	struct tool_port *port = &far->pfa_port;
	int               rc;

	far->pfa_addr = addr;
	port->tpo_to = addr;
	port->tpo_msg_bytes = PERF_MSG_HEAD_BYTES + PERF_TEXT_MAX;
	port->tpo_timeout_ns = timeout_ns;
	rc = tool_conv_make(&port->tpo_conv);
	if (rc != 0)
		return tool_fail_set(fail, TOOL_FAILED, "no random number: %s",
				     tool_errtext(rc));
	port->tpo_take = far_take;
	if (tool_port_open(port, "client", xprt, own, CONTROL_MSGS_NR, -1) ==
	    0) {
		rc = m0_net_end_point_create(&far->pfa_door,
					     &port->tpo_node.tn_tm, addr);
		if (rc != 0)
			tool_port_fail_lock(port, rc, "address '%s': %s", addr,
					    tool_errtext(rc));
		else
			far_hello(far);
	}
	if (tool_port_rc(port) != 0)
		*fail = port->tpo_fail;
	return fail->tf_exit;
}

void perf_far_close(struct perf_far *far)
{
	struct tool_port *port = &far->pfa_port;

	if (port->tpo_take == NULL)
		return;
	if (far->pfa_door != NULL) {
		far_say(far, PERF_BYE, tool_port_rc(port));
		tool_port_drain(port, BYE_NS);
	}
	tool_port_stop(port);
	if (far->pfa_door != NULL)
		(void)m0_net_end_point_put(far->pfa_door);
	tool_port_close(port);
	M0_SET0(far);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** How a sender comes to a receiver elsewhere: OPEN and its answer. */
#include <stdio.h>

#include "copy_role.h"

static int open_send(struct tool_call *call)
{
	struct copy_sender *sender =
		container_of(call, struct copy_sender, cs_call);
	const struct copy_target *target = sender->cs_target;
	const struct copy_plan   *plan = &sender->cs_plan;
	char                      text[2 * COPY_TEXT_MAX];
	int                       nr;
	struct copy_msg           msg = {
			  .cm_type = COPY_OPEN,
			  .cm_length = (uint64_t)sender->cs_src->sf_stat.st_size,
			  .cm_block = (uint32_t)plan->cpl_block,
			  .cm_inflight = plan->cpl_inflight,
			  .cm_flags = plan->cpl_verify ? COPY_FLAG_VERIFIED : 0,
			  .cm_text = text,
	};

	nr = snprintf(text, sizeof text, "%s%c%s", target->cta_name, 0,
		      target->cta_base);
	msg.cm_text_nr = (uint32_t)nr;
	if (nr > COPY_TEXT_MAX) {
		tool_port_fail_lock(&sender->cs_port, -ENAMETOOLONG,
				    "DST '%s' is too long a name",
				    target->cta_name);
		return -ENAMETOOLONG;
	}
	return copy_send(&sender->cs_port, sender->cs_door, &msg);
}

/* Asks until there is an answer other than "later". */
static int open_ask(struct copy_sender *sender)
{
	struct tool_port *port = &sender->cs_port;
	int               rc;

	sender->cs_call = (struct tool_call){ .tca_port = port,
					      .tca_send = open_send,
					      .tca_patient = true };
	rc = tool_call(&sender->cs_call);
	if (rc == 0)
		return 0;
	tool_port_fail_lock(
		port, -ETIMEDOUT,
		rc == -EBUSY ? "the receiver at %s was busy with other copies "
			       "for %g s; try again later"
			     : "no answer from %s in %g s: is `colibri copy "
			       "--listen' running there?",
		sender->cs_target->cta_addr,
		(double)port->tpo_timeout_ns / 1e9);
	return tool_port_rc(port);
}

/* The receiver's terms; not more than we asked for. */
static int open_accept(struct copy_sender *sender)
{
	struct copy_plan        *plan = &sender->cs_plan;
	struct tool_port        *port = &sender->cs_port;
	const struct copy_msg   *reply = &sender->cs_open;
	struct m0_net_end_point *to;
	int                      rc = -EPROTO;

	if (reply->cm_status != 0) {
		tool_port_fail_lock(port, reply->cm_status,
				    "the receiver refuses: %s",
				    sender->cs_addr[0] != '\0'
					    ? sender->cs_addr
					    : tool_errtext(reply->cm_status));
		return reply->cm_status;
	}
	if (reply->cm_block <= plan->cpl_block &&
	    reply->cm_inflight <= plan->cpl_inflight) {
		plan->cpl_block = reply->cm_block;
		plan->cpl_inflight = reply->cm_inflight;
		rc = m0_net_end_point_create(&to, &port->tpo_node.tn_tm,
					     sender->cs_addr);
	}
	if (rc != 0) {
		tool_port_fail_lock(port, rc,
				    "sender: the receiver's answer "
				    "makes no sense");
		return rc;
	}
	m0_mutex_lock(&port->tpo_lock);
	sender->cs_to = to;
	m0_mutex_unlock(&port->tpo_lock);
	return 0;
}

int copy_sender_meet(struct copy_sender *sender)
{
	int rc = open_ask(sender);

	return rc == 0 ? open_accept(sender) : rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/** How a sender comes to a receiver elsewhere: OPEN and its answer. */
#include <stdio.h>

#include "copy_role.h"

/** How often OPEN is sent, and how long a busy receiver is left alone. */
#define AGAIN_NS (M0_TIME_ONE_SECOND / 2)
#define BUSY_NS  (M0_TIME_ONE_SECOND / 5)

static int open_send(struct copy_sender *sender)
{
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
		copy_port_fail_lock(&sender->cs_port, -ENAMETOOLONG,
				    "DST '%s' is too long a name",
				    target->cta_name);
		return -ENAMETOOLONG;
	}
	return copy_port_send(&sender->cs_port, sender->cs_door, &msg);
}

/* Waits for an answer until `limit`. @return  has one come? */
static bool open_wait(struct copy_sender *sender, m0_time_t limit)
{
	struct copy_port *port = &sender->cs_port;
	bool              wait = true;

	m0_mutex_lock(&port->cp_lock);
	while (wait && port->cp_rc == 0 && !sender->cs_opened)
		wait = m0_cond_timedwait(&port->cp_cond, limit);
	m0_mutex_unlock(&port->cp_lock);
	return sender->cs_opened;
}

/* Lets a receiver be that has its hands full. */
static void busy_wait(struct copy_sender *sender)
{
	struct copy_port *port = &sender->cs_port;
	m0_time_t         limit = m0_time_add(m0_time_now(), BUSY_NS);
	bool              wait = true;

	m0_mutex_lock(&port->cp_lock);
	sender->cs_opened = false;
	while (wait && port->cp_rc == 0)
		wait = m0_cond_timedwait(&port->cp_cond, limit);
	m0_mutex_unlock(&port->cp_lock);
}

/* Asks until there is an answer other than "later". */
static int open_ask(struct copy_sender *sender)
{
	struct copy_port *port = &sender->cs_port;
	m0_time_t limit = m0_time_add(m0_time_now(), port->cp_timeout_ns);
	bool      busy = false;

	while (copy_port_rc(port) == 0 && m0_time_now() < limit) {
		m0_time_t again = m0_time_add(m0_time_now(), AGAIN_NS);

		if (open_send(sender) != 0)
			break;
		if (!open_wait(sender, min64u(again, limit)))
			continue;
		busy = sender->cs_open.cm_status == -EBUSY;
		if (!busy)
			return 0;
		busy_wait(sender);
	}
	copy_port_fail_lock(port, -ETIMEDOUT,
			    busy ? "the receiver at %s was busy with others "
				   "for %g s"
				 : "no answer from %s in %g s: nobody receives "
				   "there",
			    sender->cs_target->cta_addr,
			    (double)port->cp_timeout_ns / 1e9);
	return copy_port_rc(port);
}

/* The receiver's terms; not more than we asked for. */
static int open_accept(struct copy_sender *sender)
{
	struct copy_plan        *plan = &sender->cs_plan;
	struct copy_port        *port = &sender->cs_port;
	const struct copy_msg   *reply = &sender->cs_open;
	struct m0_net_end_point *to;
	int                      rc = -EPROTO;

	if (reply->cm_status != 0) {
		copy_port_fail_lock(port, reply->cm_status,
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
		rc = m0_net_end_point_create(&to, &port->cp_node.tn_tm,
					     sender->cs_addr);
	}
	if (rc != 0) {
		copy_port_fail_lock(port, rc,
				    "sender: the receiver's answer "
				    "makes no sense");
		return rc;
	}
	m0_mutex_lock(&port->cp_lock);
	sender->cs_to = to;
	m0_mutex_unlock(&port->cp_lock);
	return 0;
}

int copy_sender_meet(struct copy_sender *sender)
{
	int rc = open_ask(sender);

	return rc == 0 ? open_accept(sender) : rc;
}

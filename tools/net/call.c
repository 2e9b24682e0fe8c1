/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "call.h"

/** How often one asks at least, and how long a busy peer is left alone. */
#define AGAIN_NS (M0_TIME_ONE_SECOND / 2)
#define BUSY_NS  (M0_TIME_ONE_SECOND / 5)

/* Waits for an answer until `limit`. @return  has one come? */
static bool answer_wait(struct tool_call *call, m0_time_t limit)
{
	struct tool_port *port = call->tca_port;
	bool              wait = true;
	bool              come;

	m0_mutex_lock(&port->tpo_lock);
	while (wait && port->tpo_rc == 0 && !call->tca_answered)
		wait = m0_cond_timedwait(&port->tpo_cond, limit);
	come = call->tca_answered;
	m0_mutex_unlock(&port->tpo_lock);
	return come;
}

/* Lets a peer be that has its hands full. */
static void busy_wait(struct tool_call *call)
{
	struct tool_port *port = call->tca_port;
	m0_time_t         limit = m0_time_add(m0_time_now(), BUSY_NS);
	bool              wait = true;

	m0_mutex_lock(&port->tpo_lock);
	call->tca_answered = false;
	while (wait && port->tpo_rc == 0)
		wait = m0_cond_timedwait(&port->tpo_cond, limit);
	m0_mutex_unlock(&port->tpo_lock);
}

int tool_call(struct tool_call *call)
{
	struct tool_port *port = call->tca_port;
	m0_time_t limit = m0_time_add(m0_time_now(), port->tpo_timeout_ns);
	m0_time_t often = min64u(AGAIN_NS, port->tpo_timeout_ns / 4);
	int       last = -ETIMEDOUT;
	int       rc;

	while ((rc = tool_port_rc(port)) == 0 && m0_time_now() < limit) {
		m0_time_t again = m0_time_add(m0_time_now(), often);

		rc = call->tca_send(call);
		if (rc != 0)
			return rc;
		if (!answer_wait(call, min64u(again, limit)))
			continue;
		if (!call->tca_patient || call->tca_status != -EBUSY)
			return 0;
		last = -EBUSY;
		busy_wait(call);
	}
	return rc != 0 ? rc : last;
}

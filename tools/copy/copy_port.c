/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "copy_port.h"

int copy_open(struct tool_port *port, const char *name,
	      const struct tool_xprt *xprt, const char *addr, uint32_t msgs_nr,
	      int done_fd)
{
	port->tpo_msg_bytes = COPY_MSG_HEAD_BYTES + COPY_TEXT_MAX;
	if (port->tpo_timeout_ns != 0)
		port->tpo_idle_ns = max64u(port->tpo_timeout_ns, COPY_IDLE_NS);
	return tool_port_open(port, name, xprt, addr, msgs_nr, done_fd);
}

bool copy_take(const struct copy_ears *ears, struct tool_port *port,
	       struct m0_net_end_point *from, void *bytes, size_t nr)
{
	struct copy_msg        msg = { .cm_id = 0 };
	struct m0_net_buf_desc desc = { .nbd_len = 0 };
	int                    rc = copy_msg_decode(&msg, bytes, nr);

	if (rc == -EPROTONOSUPPORT && ears->cea_alien != NULL) {
		ears->cea_alien(port, from, &msg);
		return false;
	}
	if (rc == 0 && msg.cm_desc.nbd_len > 0) {
		rc = m0_net_desc_copy(&msg.cm_desc, &desc);
		msg.cm_desc = desc;
	}
	return rc == 0 && ears->cea_msg(port, from, &msg);
}

static int msg_encode(const struct tool_port *port, const struct copy_msg *msg,
		      uint8_t bytes[TOOL_PORT_MSG_MAX])
{
	struct copy_msg numbered = *msg;

	if (numbered.cm_conv == 0)
		numbered.cm_conv = port->tpo_conv;
	return copy_msg_encode(&numbered, bytes, port->tpo_msg_bytes);
}

int copy_send(struct tool_port *port, struct m0_net_end_point *to,
	      const struct copy_msg *msg)
{
	uint8_t bytes[TOOL_PORT_MSG_MAX];
	int     nr = msg_encode(port, msg, bytes);

	if (nr >= 0)
		return tool_port_send(port, to, bytes, (size_t)nr);
	tool_port_fail_lock(port, nr, "%s: a message was not made: %s",
			    port->tpo_node.tn_name, tool_errtext(nr));
	return nr;
}

void copy_reply(struct tool_port *port, struct m0_net_end_point *to,
		const struct copy_msg *msg)
{
	uint8_t bytes[TOOL_PORT_MSG_MAX];
	int     nr = msg_encode(port, msg, bytes);

	if (nr >= 0)
		tool_port_reply(port, to, bytes, (size_t)nr);
}

bool copy_alive(struct tool_port *port, struct m0_net_end_point *to, bool busy)
{
	const struct copy_msg msg = { .cm_type = COPY_ALIVE,
				      .cm_flags = busy ? COPY_FLAG_BUSY : 0 };

	if (to == NULL || !tool_port_alive_due(port))
		return false;
	copy_reply(port, to, &msg);
	return true;
}

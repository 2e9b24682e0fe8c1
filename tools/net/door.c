/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <sys/eventfd.h>
#include <unistd.h>

#include "door.h"

enum {
	DOOR_MSGS_NR = 64
};

static bool door_take(struct tool_port *port, struct m0_net_end_point *from,
		      void *bytes, size_t nr)
{
	struct tool_door *door = container_of(port, struct tool_door, tdo_port);
	bool              taken = false;

	if (!door->tdo_wants(door, from, bytes, nr))
		return false;
	m0_mutex_lock(&port->tpo_lock);
	if (door->tdo_asks_nr < TOOL_ASKS_MAX) {
		struct tool_ask *ask = &door->tdo_asks[door->tdo_asks_nr++];

		(void)m0_net_end_point_get(from);
		ask->tak_from = from;
		ask->tak_nr = nr;
		memcpy(ask->tak_bytes, bytes, nr);
		taken = true;
	}
	m0_mutex_unlock(&port->tpo_lock);
	if (taken)
		(void)eventfd_write(door->tdo_wake_fd, 1);
	return taken;
}

int tool_door_open(struct tool_door *door, const struct tool_xprt *xprt,
		   const char *addr, struct tool_fail *fail)
{
	struct tool_port *port = &door->tdo_port;

	door->tdo_wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (door->tdo_wake_fd < 0)
		return tool_fail_set(fail, TOOL_FAILED, "no descriptors: %s",
				     tool_errtext(errno));
	port->tpo_take = door_take;
	port->tpo_is_door = true;
	if (tool_port_open(port, "listener", xprt, addr, DOOR_MSGS_NR, -1) != 0)
		*fail = port->tpo_fail;
	return fail->tf_exit;
}

bool tool_door_get(struct tool_door *door, struct tool_ask *ret)
{
	struct tool_port *port = &door->tdo_port;
	bool              some;

	m0_mutex_lock(&port->tpo_lock);
	some = door->tdo_asks_nr > 0;
	if (some) {
		*ret = door->tdo_asks[0];
		--door->tdo_asks_nr;
		memmove(&door->tdo_asks[0], &door->tdo_asks[1],
			door->tdo_asks_nr * sizeof door->tdo_asks[0]);
	}
	m0_mutex_unlock(&port->tpo_lock);
	return some;
}

void tool_door_close(struct tool_door *door, m0_time_t ns)
{
	struct tool_ask ask;

	if (door->tdo_wake_fd < 0)
		return;
	tool_port_drain(&door->tdo_port, ns);
	tool_port_stop(&door->tdo_port);
	while (tool_door_get(door, &ask))
		(void)m0_net_end_point_put(ask.tak_from);
	tool_port_close(&door->tdo_port);
	(void)close(door->tdo_wake_fd);
	door->tdo_wake_fd = -1;
}

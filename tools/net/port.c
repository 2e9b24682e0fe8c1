/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include "port.h"

/** Signs of life come this often: a peer's time-out may be a second. */
#define ALIVE_MAX_NS (M0_TIME_ONE_SECOND / 4)

static void port_failv(struct tool_port *port, int rc, const char *fmt,
		       va_list args)
{
	char text[sizeof port->tpo_fail.tf_text];

	if (port->tpo_rc != 0)
		return;
	(void)vsnprintf(text, sizeof text, fmt, args);
	port->tpo_rc = rc;
	(void)tool_fail_set(&port->tpo_fail, TOOL_FAILED, "%s", text);
	m0_cond_broadcast(&port->tpo_cond);
}

void tool_port_fail(struct tool_port *port, int rc, const char *fmt, ...)
{
	va_list args;

	M0_PRE(rc < 0);
	M0_PRE(m0_mutex_is_locked(&port->tpo_lock));
	va_start(args, fmt);
	port_failv(port, rc, fmt, args);
	va_end(args);
}

void tool_port_fail_lock(struct tool_port *port, int rc, const char *fmt, ...)
{
	va_list args;

	M0_PRE(rc < 0);
	m0_mutex_lock(&port->tpo_lock);
	va_start(args, fmt);
	port_failv(port, rc, fmt, args);
	va_end(args);
	m0_mutex_unlock(&port->tpo_lock);
}

int tool_port_rc(struct tool_port *port)
{
	int rc;

	m0_mutex_lock(&port->tpo_lock);
	rc = port->tpo_rc;
	m0_mutex_unlock(&port->tpo_lock);
	return rc;
}

/*
 * Takes the message out of the buffer and gives the buffer back at once: by the
 * time that the peer receives an answer, there is room for its next message.
 */
static int port_empty(struct tool_port                 *port,
		      const struct m0_net_buffer_event *ev, uint8_t *bytes)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	const uint8_t        *from = nb->nb_buffer.ov_buf[0];
	int                   rc = ev->nbe_status;
	int                   back;

	if (rc == 0)
		memcpy(bytes, from + ev->nbe_offset, ev->nbe_length);
	back = m0_net_buffer_add(nb, nb->nb_tm);
	if (back == 0)
		return rc;
	if (back != -EPERM) /* -EPERM: the machine is being stopped. */
		tool_port_fail_lock(port, back, "%s: no buffer: %s",
				    port->tpo_node.tn_name, tool_errtext(back));
	return -ECANCELED;
}

static void port_stray(struct tool_port *port, m0_bcount_t nr)
{
	m0_mutex_lock(&port->tpo_lock);
	++port->tpo_strays_nr;
	if (port->tpo_timeout_ns == 0)
		tool_port_fail(port, -EBADMSG,
			       "%s: a message of %" PRIu64
			       " bytes is not understood",
			       port->tpo_node.tn_name, nr);
	m0_mutex_unlock(&port->tpo_lock);
}

void tool_port_received(struct tool_port *port)
{
	m0_mutex_lock(&port->tpo_lock);
	port->tpo_received = m0_time_now();
	m0_mutex_unlock(&port->tpo_lock);
}

void tool_port_moved(struct tool_port *port)
{
	M0_PRE(m0_mutex_is_locked(&port->tpo_lock));
	port->tpo_moved = m0_time_now();
}

static void port_received(const struct m0_net_buffer_event *ev)
{
	struct tool_port *port = ev->nbe_buffer->nb_app_private;
	uint8_t           bytes[TOOL_PORT_MSG_MAX];
	int               rc;

	if (ev->nbe_status == -ECANCELED)
		return;
	rc = port_empty(port, ev, bytes);
	if (rc == -ECANCELED)
		return;
	if (rc == 0 && port->tpo_take(port, ev->nbe_ep, bytes, ev->nbe_length))
		tool_port_received(port);
	else
		port_stray(port, ev->nbe_length);
}

static void port_unsent(struct tool_port *port, struct m0_net_end_point *to,
			int rc)
{
	if (port->tpo_lost != NULL)
		port->tpo_lost(port, to, rc);
	if (port->tpo_is_door)
		return;
	if (port->tpo_to != NULL)
		tool_port_fail(port, rc, "%s cannot be reached: %s",
			       port->tpo_to, tool_errtext(rc));
	else
		tool_port_fail(port, rc, "%s: a message was not sent: %s",
			       port->tpo_node.tn_name, tool_errtext(rc));
}

static void port_sent(const struct m0_net_buffer_event *ev)
{
	struct tool_out *out =
		container_of(ev->nbe_buffer, struct tool_out, tou_nb);
	struct tool_port *port = out->tou_port;
	int               rc = ev->nbe_status;

	m0_mutex_lock(&port->tpo_lock);
	if (rc != 0 && rc != -ECANCELED)
		port_unsent(port, out->tou_nb.nb_ep, rc);
	out->tou_nb.nb_ep = NULL;
	out->tou_next = port->tpo_out_free;
	port->tpo_out_free = out;
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
}

static const struct m0_net_buffer_callbacks
	port_callbacks = { .nbc_cb = {
				   [M0_NET_QT_MSG_RECV] = port_received,
				   [M0_NET_QT_MSG_SEND] = port_sent,
			   } };

static int port_in_add(struct tool_port *port, struct m0_net_buffer *nb,
		       m0_bcount_t size)
{
	int rc = tool_buffer_init(nb, &port->tpo_node.tn_dom, size);

	if (rc != 0)
		return rc;
	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_callbacks = &port_callbacks;
	nb->nb_app_private = port;
	nb->nb_min_receive_size = size;
	nb->nb_max_receive_msgs = 1;
	return m0_net_buffer_add(nb, &port->tpo_node.tn_tm);
}

static int port_out_init(struct tool_port *port, struct tool_out *out,
			 m0_bcount_t size)
{
	int rc = tool_buffer_init(&out->tou_nb, &port->tpo_node.tn_dom, size);

	if (rc != 0)
		return rc;
	out->tou_nb.nb_qtype = M0_NET_QT_MSG_SEND;
	out->tou_nb.nb_callbacks = &port_callbacks;
	out->tou_port = port;
	out->tou_next = port->tpo_out_free;
	port->tpo_out_free = out;
	return 0;
}

static int port_buffers_init(struct tool_port *port, uint32_t msgs_nr)
{
	m0_bcount_t size = port->tpo_msg_bytes;
	uint32_t    i;
	int         rc = 0;

	M0_ALLOC_ARR(port->tpo_in, msgs_nr);
	M0_ALLOC_ARR(port->tpo_out, msgs_nr);
	if (port->tpo_in == NULL || port->tpo_out == NULL)
		return -ENOMEM;
	port->tpo_msgs_nr = msgs_nr;
	for (i = 0; i < msgs_nr && rc == 0; ++i)
		rc = port_out_init(port, &port->tpo_out[i], size);
	/* Now messages come, and may be answered. */
	for (i = 0; i < msgs_nr && rc == 0; ++i)
		rc = port_in_add(port, &port->tpo_in[i], size);
	return rc;
}

int tool_port_open(struct tool_port *port, const char *name,
		   const struct tool_xprt *xprt, const char *addr,
		   uint32_t msgs_nr, int done_fd)
{
	int rc;

	M0_PRE(port->tpo_msg_bytes <= TOOL_PORT_MSG_MAX);
	port->tpo_done_fd = done_fd;
	port->tpo_received = m0_time_now();
	port->tpo_moved = port->tpo_received;
	m0_mutex_init(&port->tpo_lock);
	m0_cond_init(&port->tpo_cond, &port->tpo_lock);
	rc = tool_node_init(&port->tpo_node, name, xprt);
	if (rc == 0) {
		/* The pipeline is deep: sleeping beats stealing a processor. */
		m0_net_tm_spin_set(&port->tpo_node.tn_tm, 0);
		rc = tool_node_start(&port->tpo_node, addr);
	}
	if (rc == 0)
		rc = port_buffers_init(port, msgs_nr);
	if (rc != 0)
		tool_port_fail_lock(port, rc,
				    "%s: the machine did not start%s%s: %s",
				    name, addr != NULL ? " at " : "",
				    addr != NULL ? addr : "",
				    rc == -EINVAL ? "not an address of the "
						    "transport"
						  : tool_errtext(rc));
	/* An event may have failed the port by now. */
	m0_mutex_lock(&port->tpo_lock);
	rc = port->tpo_fail.tf_exit;
	m0_mutex_unlock(&port->tpo_lock);
	return rc;
}

int tool_port_run(struct tool_port *port, void (*func)(struct tool_port *))
{
	int rc = M0_THREAD_INIT(&port->tpo_thread, struct tool_port *, NULL,
				func, port, "%s", port->tpo_node.tn_name);

	if (rc != 0)
		tool_port_fail_lock(port, rc, "%s: no thread: %s",
				    port->tpo_node.tn_name, tool_errtext(rc));
	port->tpo_thread_started = rc == 0;
	return rc == 0 ? TOOL_OK : TOOL_FAILED;
}

void tool_port_finish(struct tool_port *port)
{
	m0_mutex_lock(&port->tpo_lock);
	port->tpo_done = true;
	m0_mutex_unlock(&port->tpo_lock);
	if (port->tpo_done_fd >= 0)
		(void)eventfd_write(port->tpo_done_fd, 1);
}

void tool_port_stop(struct tool_port *port)
{
	if (port->tpo_thread_started) {
		(void)m0_thread_join(&port->tpo_thread);
		m0_thread_fini(&port->tpo_thread);
		port->tpo_thread_started = false;
	}
	tool_node_stop(&port->tpo_node);
}

void tool_port_close(struct tool_port *port)
{
	uint32_t i;

	for (i = 0; i < port->tpo_msgs_nr; ++i) {
		tool_buffer_fini(&port->tpo_in[i]);
		tool_buffer_fini(&port->tpo_out[i].tou_nb);
	}
	m0_free(port->tpo_in);
	m0_free(port->tpo_out);
	tool_node_fini(&port->tpo_node);
	m0_cond_fini(&port->tpo_cond);
	m0_mutex_fini(&port->tpo_lock);
}

/* NULL if none is free in time. */
static struct tool_out *port_out_get(struct tool_port *port, bool wait)
{
	m0_time_t limit =
		port->tpo_timeout_ns == 0
			? M0_TIME_NEVER
			: m0_time_add(m0_time_now(), port->tpo_timeout_ns);
	struct tool_out *out;

	m0_mutex_lock(&port->tpo_lock);
	while (wait && port->tpo_out_free == NULL)
		wait = m0_cond_timedwait(&port->tpo_cond, limit);
	out = port->tpo_out_free;
	if (out != NULL)
		port->tpo_out_free = out->tou_next;
	m0_mutex_unlock(&port->tpo_lock);
	return out;
}

static void port_out_put(struct tool_port *port, struct tool_out *out)
{
	m0_mutex_lock(&port->tpo_lock);
	out->tou_next = port->tpo_out_free;
	port->tpo_out_free = out;
	m0_mutex_unlock(&port->tpo_lock);
}

static int port_out_send(struct tool_port *port, struct tool_out *out,
			 struct m0_net_end_point *to, const void *bytes,
			 size_t nr)
{
	struct m0_net_buffer *nb = &out->tou_nb;
	int                   rc;

	M0_PRE(nr <= port->tpo_msg_bytes);
	memcpy(nb->nb_buffer.ov_buf[0], bytes, nr);
	nb->nb_length = nr;
	nb->nb_ep = to;
	rc = m0_net_buffer_add(nb, &port->tpo_node.tn_tm);
	if (rc != 0) {
		nb->nb_ep = NULL;
		port_out_put(port, out);
	}
	return rc;
}

int tool_port_send(struct tool_port *port, struct m0_net_end_point *to,
		   const void *bytes, size_t nr)
{
	struct tool_out *out = port_out_get(port, true);
	int              rc = -ETIMEDOUT;

	if (out != NULL)
		rc = port_out_send(port, out, to, bytes, nr);
	if (rc != 0)
		tool_port_fail_lock(port, rc, "%s: a message was not sent: %s",
				    port->tpo_node.tn_name, tool_errtext(rc));
	return rc;
}

void tool_port_reply(struct tool_port *port, struct m0_net_end_point *to,
		     const void *bytes, size_t nr)
{
	struct tool_out *out = port_out_get(port, false);

	if (out != NULL)
		(void)port_out_send(port, out, to, bytes, nr);
}

int tool_conv_make(uint64_t *ret)
{
	if (getrandom(ret, sizeof *ret, 0) != (ssize_t)sizeof *ret)
		return -errno;
	*ret |= 1;
	return 0;
}

m0_time_t tool_port_alive_ns(const struct tool_port *port)
{
	return min64u(port->tpo_timeout_ns / 4, ALIVE_MAX_NS);
}

bool tool_port_alive_due(struct tool_port *port)
{
	m0_time_t now = m0_time_now();

	if (port->tpo_timeout_ns == 0 ||
	    now - port->tpo_alive_sent < tool_port_alive_ns(port))
		return false;
	port->tpo_alive_sent = now;
	return true;
}

static bool port_is_sending(const struct tool_port *port)
{
	const struct tool_out *out;
	uint32_t               nr = 0;

	for (out = port->tpo_out_free; out != NULL; out = out->tou_next)
		++nr;
	return nr < port->tpo_msgs_nr;
}

void tool_port_drain(struct tool_port *port, m0_time_t ns)
{
	m0_time_t limit = m0_time_add(m0_time_now(), ns);
	bool      wait = true;

	m0_mutex_lock(&port->tpo_lock);
	while (wait && port_is_sending(port))
		wait = m0_cond_timedwait(&port->tpo_cond, limit);
	m0_mutex_unlock(&port->tpo_lock);
}

static m0_time_t silence_limit(const struct tool_port *port)
{
	return m0_time_add(port->tpo_received, port->tpo_timeout_ns);
}

static m0_time_t moved_limit(const struct tool_port *port)
{
	return port->tpo_idle_ns == 0
		       ? M0_TIME_NEVER
		       : m0_time_add(port->tpo_moved, port->tpo_idle_ns);
}

void tool_port_wait(struct tool_port *port)
{
	m0_time_t now;

	if (port->tpo_timeout_ns == 0) {
		m0_cond_wait(&port->tpo_cond);
		return;
	}
	port->tpo_waits = true;
	(void)m0_cond_timedwait(&port->tpo_cond,
				min64u(silence_limit(port), moved_limit(port)));
	port->tpo_waits = false;
	now = m0_time_now();
	if (now >= silence_limit(port))
		tool_port_fail(port, -ETIMEDOUT,
			       "nothing came from the other side for %g s",
			       (double)port->tpo_timeout_ns / 1e9);
	else if (now >= moved_limit(port))
		tool_port_fail(port, -ETIME,
			       "the other side is there, but has done nothing "
			       "for %g s",
			       (double)port->tpo_idle_ns / 1e9);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "copy_port.h"

static void port_failv(struct copy_port *port, int rc, const char *fmt,
		       va_list args)
{
	char text[sizeof port->cp_fail.tf_text];

	if (port->cp_rc != 0)
		return;
	(void)vsnprintf(text, sizeof text, fmt, args);
	port->cp_rc = rc;
	(void)tool_fail_set(&port->cp_fail, TOOL_FAILED, "%s", text);
	m0_cond_broadcast(&port->cp_cond);
}

void copy_port_fail(struct copy_port *port, int rc, const char *fmt, ...)
{
	va_list args;

	M0_PRE(rc < 0);
	M0_PRE(m0_mutex_is_locked(&port->cp_lock));
	va_start(args, fmt);
	port_failv(port, rc, fmt, args);
	va_end(args);
}

void copy_port_fail_lock(struct copy_port *port, int rc, const char *fmt, ...)
{
	va_list args;

	M0_PRE(rc < 0);
	m0_mutex_lock(&port->cp_lock);
	va_start(args, fmt);
	port_failv(port, rc, fmt, args);
	va_end(args);
	m0_mutex_unlock(&port->cp_lock);
}

int copy_port_rc(struct copy_port *port)
{
	int rc;

	m0_mutex_lock(&port->cp_lock);
	rc = port->cp_rc;
	m0_mutex_unlock(&port->cp_lock);
	return rc;
}

/*
 * Takes the message out of the buffer and gives the buffer back at once: by the
 * time that the peer hears of an answer, there is room for its next message.
 */
static int port_take(struct copy_port                 *port,
		     const struct m0_net_buffer_event *ev, struct copy_msg *msg,
		     char *text)
{
	struct m0_net_buffer  *nb = ev->nbe_buffer;
	uint8_t               *bytes = nb->nb_buffer.ov_buf[0];
	struct m0_net_buf_desc desc = { .nbd_len = 0 };
	int                    rc = ev->nbe_status;
	int                    back;

	if (rc == 0)
		rc = copy_msg_decode(msg, bytes + ev->nbe_offset,
				     ev->nbe_length);
	if (rc == 0 && msg->cm_desc.nbd_len > 0) {
		rc = m0_net_desc_copy(&msg->cm_desc, &desc);
		msg->cm_desc = desc;
	}
	if (rc == 0 && msg->cm_text_nr > 0)
		memcpy(text, msg->cm_text, msg->cm_text_nr);
	msg->cm_text = text;
	back = m0_net_buffer_add(nb, nb->nb_tm);
	if (back == 0)
		return rc;
	m0_net_desc_free(&desc);
	if (back != -EPERM) /* -EPERM: the machine is being stopped. */
		copy_port_fail_lock(port, back, "%s: no buffer: %s",
				    port->cp_node.tn_name, tool_errtext(back));
	return -ECANCELED;
}

static void port_stray(struct copy_port *port, m0_bcount_t nr)
{
	m0_mutex_lock(&port->cp_lock);
	++port->cp_strays_nr;
	if (port->cp_timeout_ns == 0)
		copy_port_fail(port, -EBADMSG,
			       "%s: a message of %" PRIu64
			       " bytes is not understood",
			       port->cp_node.tn_name, nr);
	m0_mutex_unlock(&port->cp_lock);
}

static void port_heard(struct copy_port *port)
{
	m0_mutex_lock(&port->cp_lock);
	port->cp_heard = m0_time_now();
	m0_mutex_unlock(&port->cp_lock);
}

static void port_received(const struct m0_net_buffer_event *ev)
{
	struct copy_port *port = ev->nbe_buffer->nb_app_private;
	char              text[COPY_TEXT_MAX];
	struct copy_msg   msg = { .cm_id = 0 };
	int               rc;

	if (ev->nbe_status == -ECANCELED)
		return;
	rc = port_take(port, ev, &msg, text);
	if (rc == -ECANCELED)
		return;
	if (rc == -EPROTONOSUPPORT && port->cp_alien != NULL)
		port->cp_alien(port, ev->nbe_ep, &msg);
	else if (rc == 0 && port->cp_msg(port, ev->nbe_ep, &msg))
		port_heard(port);
	else
		port_stray(port, ev->nbe_length);
}

static void port_unsent(struct copy_port *port, int rc)
{
	if (port->cp_to != NULL)
		copy_port_fail(port, rc, "%s cannot be reached: %s",
			       port->cp_to, tool_errtext(rc));
	else
		copy_port_fail(port, rc, "%s: a message was not sent: %s",
			       port->cp_node.tn_name, tool_errtext(rc));
}

static void port_sent(const struct m0_net_buffer_event *ev)
{
	struct copy_out *out =
		container_of(ev->nbe_buffer, struct copy_out, co_nb);
	struct copy_port *port = out->co_port;
	int               rc = ev->nbe_status;

	out->co_nb.nb_ep = NULL;
	m0_mutex_lock(&port->cp_lock);
	if (rc != 0 && rc != -ECANCELED && !port->cp_is_door)
		port_unsent(port, rc);
	out->co_next = port->cp_out_free;
	port->cp_out_free = out;
	m0_cond_broadcast(&port->cp_cond);
	m0_mutex_unlock(&port->cp_lock);
}

static const struct m0_net_buffer_callbacks
	port_callbacks = { .nbc_cb = {
				   [M0_NET_QT_MSG_RECV] = port_received,
				   [M0_NET_QT_MSG_SEND] = port_sent,
			   } };

static int port_in_add(struct copy_port *port, struct m0_net_buffer *nb,
		       m0_bcount_t size)
{
	int rc = tool_buffer_init(nb, &port->cp_node.tn_dom, size);

	if (rc != 0)
		return rc;
	nb->nb_qtype = M0_NET_QT_MSG_RECV;
	nb->nb_callbacks = &port_callbacks;
	nb->nb_app_private = port;
	nb->nb_min_receive_size = size;
	nb->nb_max_receive_msgs = 1;
	return m0_net_buffer_add(nb, &port->cp_node.tn_tm);
}

static int port_out_init(struct copy_port *port, struct copy_out *out,
			 m0_bcount_t size)
{
	int rc = tool_buffer_init(&out->co_nb, &port->cp_node.tn_dom, size);

	if (rc != 0)
		return rc;
	out->co_nb.nb_qtype = M0_NET_QT_MSG_SEND;
	out->co_nb.nb_callbacks = &port_callbacks;
	out->co_port = port;
	out->co_next = port->cp_out_free;
	port->cp_out_free = out;
	return 0;
}

static int port_buffers_init(struct copy_port *port, uint32_t msgs_nr)
{
	struct m0_net_domain *dom = &port->cp_node.tn_dom;
	m0_bcount_t           size = COPY_MSG_HEAD_BYTES +
			   max64u(m0_net_domain_get_max_buffer_desc_size(dom),
				  COPY_TEXT_MAX);
	uint32_t i;
	int      rc = 0;

	M0_ALLOC_ARR(port->cp_in, msgs_nr);
	M0_ALLOC_ARR(port->cp_out, msgs_nr);
	if (port->cp_in == NULL || port->cp_out == NULL)
		return -ENOMEM;
	port->cp_msgs_nr = msgs_nr;
	for (i = 0; i < msgs_nr && rc == 0; ++i) {
		rc = port_out_init(port, &port->cp_out[i], size);
		if (rc == 0)
			rc = port_in_add(port, &port->cp_in[i], size);
	}
	return rc;
}

int copy_port_open(struct copy_port *port, const char *name,
		   const struct tool_xprt *xprt, const char *addr,
		   uint32_t msgs_nr, int done_fd)
{
	int rc;

	port->cp_done_fd = done_fd;
	port->cp_heard = m0_time_now();
	m0_mutex_init(&port->cp_lock);
	m0_cond_init(&port->cp_cond, &port->cp_lock);
	rc = tool_node_init(&port->cp_node, name, xprt);
	if (rc == 0) {
		/* The pipeline is deep: sleeping beats stealing a processor. */
		m0_net_tm_spin_set(&port->cp_node.tn_tm, 0);
		rc = tool_node_start(&port->cp_node, addr);
	}
	if (rc == 0)
		rc = port_buffers_init(port, msgs_nr);
	if (rc != 0)
		copy_port_fail_lock(port, rc,
				    "%s: the machine did not start%s%s: %s",
				    name, addr != NULL ? " at " : "",
				    addr != NULL ? addr : "",
				    rc == -EINVAL ? "that is no address of "
						    "the transport"
						  : tool_errtext(rc));
	return port->cp_fail.tf_exit;
}

int copy_port_run(struct copy_port *port, void (*func)(struct copy_port *))
{
	int rc = M0_THREAD_INIT(&port->cp_thread, struct copy_port *, NULL,
				func, port, "%s", port->cp_node.tn_name);

	if (rc != 0)
		copy_port_fail_lock(port, rc, "%s: no thread: %s",
				    port->cp_node.tn_name, tool_errtext(rc));
	port->cp_thread_started = rc == 0;
	return rc == 0 ? TOOL_OK : TOOL_FAILED;
}

void copy_port_finish(struct copy_port *port)
{
	m0_mutex_lock(&port->cp_lock);
	port->cp_done = true;
	m0_mutex_unlock(&port->cp_lock);
	if (port->cp_done_fd >= 0)
		(void)eventfd_write(port->cp_done_fd, 1);
}

void copy_port_stop(struct copy_port *port)
{
	if (port->cp_thread_started) {
		(void)m0_thread_join(&port->cp_thread);
		m0_thread_fini(&port->cp_thread);
		port->cp_thread_started = false;
	}
	tool_node_stop(&port->cp_node);
}

void copy_port_close(struct copy_port *port)
{
	uint32_t i;

	for (i = 0; i < port->cp_msgs_nr; ++i) {
		tool_buffer_fini(&port->cp_in[i]);
		tool_buffer_fini(&port->cp_out[i].co_nb);
	}
	m0_free(port->cp_in);
	m0_free(port->cp_out);
	tool_node_fini(&port->cp_node);
	m0_cond_fini(&port->cp_cond);
	m0_mutex_fini(&port->cp_lock);
}

/* NULL if none is free in time. */
static struct copy_out *port_out_get(struct copy_port *port, bool wait)
{
	m0_time_t limit =
		port->cp_timeout_ns == 0
			? M0_TIME_NEVER
			: m0_time_add(m0_time_now(), port->cp_timeout_ns);
	struct copy_out *out;

	m0_mutex_lock(&port->cp_lock);
	while (wait && port->cp_out_free == NULL)
		wait = m0_cond_timedwait(&port->cp_cond, limit);
	out = port->cp_out_free;
	if (out != NULL)
		port->cp_out_free = out->co_next;
	m0_mutex_unlock(&port->cp_lock);
	return out;
}

static void port_out_put(struct copy_port *port, struct copy_out *out)
{
	m0_mutex_lock(&port->cp_lock);
	out->co_next = port->cp_out_free;
	port->cp_out_free = out;
	m0_mutex_unlock(&port->cp_lock);
}

static int port_out_send(struct copy_port *port, struct copy_out *out,
			 struct m0_net_end_point *to,
			 const struct copy_msg   *msg)
{
	struct m0_net_buffer *nb = &out->co_nb;
	struct copy_msg       numbered = *msg;
	int                   rc;

	if (numbered.cm_conv == 0)
		numbered.cm_conv = port->cp_conv;
	rc = copy_msg_encode(&numbered, nb->nb_buffer.ov_buf[0],
			     nb->nb_buffer.ov_vec.v_count[0]);
	if (rc > 0) {
		nb->nb_length = (m0_bcount_t)rc;
		nb->nb_ep = to;
		rc = m0_net_buffer_add(nb, &port->cp_node.tn_tm);
	}
	if (rc != 0) {
		nb->nb_ep = NULL;
		port_out_put(port, out);
	}
	return rc;
}

int copy_port_send(struct copy_port *port, struct m0_net_end_point *to,
		   const struct copy_msg *msg)
{
	struct copy_out *out = port_out_get(port, true);
	int              rc = -ETIMEDOUT;

	if (out != NULL)
		rc = port_out_send(port, out, to, msg);
	if (rc != 0)
		copy_port_fail_lock(port, rc, "%s: a message was not sent: %s",
				    port->cp_node.tn_name, tool_errtext(rc));
	return rc;
}

void copy_port_reply(struct copy_port *port, struct m0_net_end_point *to,
		     const struct copy_msg *msg)
{
	struct copy_out *out = port_out_get(port, false);

	if (out != NULL)
		(void)port_out_send(port, out, to, msg);
}

m0_time_t copy_port_alive_ns(const struct copy_port *port)
{
	return min64u(port->cp_timeout_ns / 4, M0_TIME_ONE_SECOND);
}

void copy_port_alive(struct copy_port *port, struct m0_net_end_point *to)
{
	const struct copy_msg msg = { .cm_type = COPY_ALIVE };
	m0_time_t             now = m0_time_now();
	struct copy_out      *out;

	if (to == NULL || port->cp_timeout_ns == 0 ||
	    now - port->cp_told_alive < copy_port_alive_ns(port))
		return;
	port->cp_told_alive = now;
	out = port_out_get(port, false);
	if (out != NULL)
		(void)port_out_send(port, out, to, &msg);
}

static bool port_is_sending(const struct copy_port *port)
{
	const struct copy_out *out;
	uint32_t               nr = 0;

	for (out = port->cp_out_free; out != NULL; out = out->co_next)
		++nr;
	return nr < port->cp_msgs_nr;
}

void copy_port_drain(struct copy_port *port, m0_time_t ns)
{
	m0_time_t limit = m0_time_add(m0_time_now(), ns);
	bool      wait = true;

	m0_mutex_lock(&port->cp_lock);
	while (wait && port_is_sending(port))
		wait = m0_cond_timedwait(&port->cp_cond, limit);
	m0_mutex_unlock(&port->cp_lock);
}

void copy_port_wait(struct copy_port *port)
{
	m0_time_t limit = m0_time_add(port->cp_heard, port->cp_timeout_ns);

	if (port->cp_timeout_ns == 0) {
		m0_cond_wait(&port->cp_cond);
		return;
	}
	(void)m0_cond_timedwait(&port->cp_cond, limit);
	limit = m0_time_add(port->cp_heard, port->cp_timeout_ns);
	if (m0_time_now() >= limit)
		copy_port_fail(port, -ETIMEDOUT,
			       "nothing was heard of the other side for %g s",
			       (double)port->cp_timeout_ns / 1e9);
}

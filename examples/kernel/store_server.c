/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Keeps in a file what the module store.c writes: store_server ADDRESS FILE, such as
 *	M0_LNET='tcp(10.0.0.2)' store_server 10.0.0.2@tcp:12345:40:1 /tmp/file
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <m0/xlnet.h>

#include "store.h"

enum {
	SECONDS = 30
};

static struct m0_net_domain      domain;
static struct m0_net_transfer_mc tm;
static struct m0_net_buffer      ask, reply, bulk;
static struct m0_net_end_point  *client;
static struct m0_semaphore       changed, came, done;
static int                       done_status;
static m0_bcount_t               came_bytes;

static void tm_event(const struct m0_net_tm_event *ev)
{
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		m0_semaphore_up(&changed);
}

static void ask_event(const struct m0_net_buffer_event *ev)
{
	client = NULL;
	came_bytes = 0;
	if (ev->nbe_status == 0) {
		client = ev->nbe_ep;
		(void)m0_net_end_point_get(client);
		came_bytes = ev->nbe_length;
	}
	m0_semaphore_up(&came);
}

static void done_event(const struct m0_net_buffer_event *ev)
{
	done_status = ev->nbe_status;
	m0_semaphore_up(&done);
}

static const struct m0_net_tm_callbacks tm_calls = { .ntc_event_cb = tm_event };
static const struct m0_net_buffer_callbacks calls = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = ask_event,
		    [M0_NET_QT_MSG_SEND] = done_event,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = done_event,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = done_event },
};

/* Adds the buffer, and waits for its event. */
static int buffer_use(struct m0_net_buffer *buf, enum m0_net_queue_type qtype,
		      m0_bcount_t bytes)
{
	int rc;

	buf->nb_qtype = qtype;
	buf->nb_length = bytes;
	buf->nb_timeout = m0_time_from_now(SECONDS, 0);
	rc = m0_net_buffer_add(buf, &tm);
	if (rc != 0)
		return rc;
	m0_semaphore_down(&done);
	return done_status;
}

static int64_t asked_do(const struct store_ask *a, int file)
{
	void   *data = bulk.nb_buffer.ov_buf[0];
	ssize_t nr = a->a_bytes;
	int     rc = 0;

	if (a->a_bytes == 0 || a->a_bytes > STORE_BYTES_MAX ||
	    a->a_desc_len == 0 || a->a_desc_len > STORE_DESC_MAX ||
	    a->a_offset > INT64_MAX - STORE_BYTES_MAX)
		return -EINVAL;
	bulk.nb_desc.nbd_data = (uint8_t *)a->a_desc;
	bulk.nb_desc.nbd_len = a->a_desc_len;
	switch (a->a_op) {
	case STORE_READ:
		nr = pread(file, data, a->a_bytes, (off_t)a->a_offset);
		if (nr > 0)
			rc = buffer_use(&bulk, M0_NET_QT_ACTIVE_BULK_SEND,
					(m0_bcount_t)nr);
		break;
	case STORE_WRITE:
		rc = buffer_use(&bulk, M0_NET_QT_ACTIVE_BULK_RECV, a->a_bytes);
		if (rc == 0)
			nr = pwrite(file, data, a->a_bytes, (off_t)a->a_offset);
		break;
	default:
		return -EINVAL;
	}
	return rc != 0 ? rc : nr < 0 ? -errno : nr;
}

static int buffer_make(struct m0_net_buffer *buf, m0_bcount_t bytes)
{
	int rc = m0_bufvec_alloc(&buf->nb_buffer, 1, bytes);

	buf->nb_callbacks = &calls;
	return rc != 0 ? rc : m0_net_buffer_register(buf, &domain);
}

static int serve(int file)
{
	struct store_ask   *a = ask.nb_buffer.ov_buf[0];
	struct store_reply *r = reply.nb_buffer.ov_buf[0];
	int                 rc;

	for (;;) {
		ask.nb_qtype = M0_NET_QT_MSG_RECV;
		ask.nb_min_receive_size = sizeof *a;
		ask.nb_max_receive_msgs = 1;
		rc = m0_net_buffer_add(&ask, &tm);
		if (rc != 0)
			return rc;
		m0_semaphore_down(&came);
		if (client == NULL)
			continue;
		if (came_bytes == sizeof *a) {
			r->r_id = a->a_id;
			r->r_result = asked_do(a, file);
			reply.nb_ep = client;
			(void)buffer_use(&reply, M0_NET_QT_MSG_SEND, sizeof *r);
		}
		(void)m0_net_end_point_put(client);
	}
}

static int start(const char *addr)
{
	int rc;

	(void)m0_semaphore_init(&changed, 0);
	(void)m0_semaphore_init(&came, 0);
	(void)m0_semaphore_init(&done, 0);
	tm.ntm_callbacks = &tm_calls;
	rc = m0_net_init();
	rc = rc != 0 ? rc : m0_net_domain_init(&domain, &m0_lnet_xprt);
	rc = rc != 0 ? rc : m0_net_tm_init(&tm, &domain);
	rc = rc != 0 ? rc : m0_net_tm_start(&tm, addr);
	if (rc != 0)
		return rc;
	m0_semaphore_down(&changed);
	if (tm.ntm_state != M0_NET_TM_STARTED)
		return -EADDRNOTAVAIL;
	rc = buffer_make(&ask, sizeof(struct store_ask));
	rc = rc != 0 ? rc : buffer_make(&reply, sizeof(struct store_reply));
	return rc != 0 ? rc : buffer_make(&bulk, STORE_BYTES_MAX);
}

int main(int argc, char **argv)
{
	int file, rc;

	if (argc != 3) {
		fprintf(stderr, "usage: store_server ADDRESS FILE\n");
		return 2;
	}
	file = open(argv[2], O_RDWR | O_CREAT, 0600);
	rc = file < 0 ? -errno : start(argv[1]);
	if (rc == 0) {
		printf("%s\n", tm.ntm_ep->nep_addr);
		fflush(stdout);
		rc = serve(file);
	}
	fprintf(stderr, "store_server: %s\n", strerror(-rc));
	return 1;
}

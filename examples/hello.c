/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>

#include <m0/mem.h>

static struct m0_net_domain      dom[2]; /* two, as if two processes */
static struct m0_net_transfer_mc tm[2];
static struct m0_net_buffer      buf[2];
static struct m0_semaphore       events;

static void tm_event(const struct m0_net_tm_event *ev) /* STARTED, STOPPED */
{
	(void)ev;
	m0_semaphore_up(&events);
}

static void buf_event(const struct m0_net_buffer_event *ev)
{
	if (ev->nbe_buffer == &buf[0])
		printf("%s says: %s\n", ev->nbe_ep->nep_addr,
		       (char *)buf[0].nb_buffer.ov_buf[0]);
	m0_semaphore_up(&events);
}

static const struct m0_net_tm_callbacks     tm_cbs = { tm_event };
static const struct m0_net_buffer_callbacks buf_cbs = {
	{ [M0_NET_QT_MSG_RECV] = buf_event, [M0_NET_QT_MSG_SEND] = buf_event }
};

int main(void) /* a real program looks at what these return */
{
	m0_net_init();
	m0_semaphore_init(&events, 0);
	for (int i = 0; i < 2; ++i) {
		m0_net_domain_init(&dom[i], &m0_net_bulk_mem_xprt);
		tm[i].ntm_callbacks = &tm_cbs;
		m0_net_tm_init(&tm[i], &dom[i]);
		m0_net_tm_start(&tm[i], i == 0 ? "127.0.0.1:7000" : NULL);
		m0_semaphore_down(&events);
		m0_bufvec_alloc(&buf[i].nb_buffer, 1, 4096);
		m0_net_buffer_register(&buf[i], &dom[i]);
		buf[i].nb_callbacks = &buf_cbs;
	}
	buf[0].nb_qtype = M0_NET_QT_MSG_RECV;
	buf[0].nb_min_receive_size = 4096;
	buf[0].nb_max_receive_msgs = 1;
	m0_net_buffer_add(&buf[0], &tm[0]);
	buf[1].nb_qtype = M0_NET_QT_MSG_SEND;
	buf[1].nb_length = sizeof "hello";
	strcpy(buf[1].nb_buffer.ov_buf[0], "hello");
	m0_net_end_point_create(&buf[1].nb_ep, &tm[1], "127.0.0.1:7000");
	m0_net_buffer_add(&buf[1], &tm[1]);
	m0_semaphore_down(&events);
	m0_semaphore_down(&events);
	m0_net_end_point_put(buf[1].nb_ep);
	for (int i = 0; i < 2; ++i) {
		m0_net_tm_stop(&tm[i], true);
		m0_semaphore_down(&events);
		m0_net_tm_fini(&tm[i]);
		m0_net_buffer_deregister(&buf[i], &dom[i]);
		m0_bufvec_free(&buf[i].nb_buffer);
		m0_net_domain_fini(&dom[i]);
	}
	return m0_net_fini();
}

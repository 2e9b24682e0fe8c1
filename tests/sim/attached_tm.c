/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Transfer machines of attached processes. */
#include "attached.h"

static void tm_event(const struct m0_net_tm_event *ev)
{
	struct proc *p = container_of(ev->nte_tm, struct proc, p_tm);

	if (ev->nte_next_state != M0_NET_TM_FAILED)
		return;
	MUST(ev->nte_type == M0_NET_TEV_STATE_CHANGE, "an event of FAILED");
	MUST(p->p_buf_done_nr == 1, "FAILED before the buffer has ended");
	++p->p_failed_nr;
	p->p_failed_rc = ev->nte_status;
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 tm_event };

static void buf_event(const struct m0_net_buffer_event *ev)
{
	struct proc *p = ev->nbe_buffer->nb_app_private;

	++p->p_buf_done_nr;
	p->p_buf_status = ev->nbe_status;
}

static const struct m0_net_buffer_callbacks buf_callbacks = {
	.nbc_cb = { buf_event, buf_event, buf_event, buf_event, buf_event,
		    buf_event }
};

static bool tm_is_started(void *arg)
{
	const struct proc *p = arg;

	return M0_IN(p->p_tm.ntm_state, (M0_NET_TM_STARTED, M0_NET_TM_FAILED));
}

static bool tm_is_over(void *arg)
{
	const struct proc *p = arg;

	return M0_IN(p->p_tm.ntm_state, (M0_NET_TM_STOPPED, M0_NET_TM_FAILED));
}

void tm_begin(struct proc *p)
{
	char addr[M0_NET_LNET_XEP_ADDR_LEN];

	(void)snprintf(addr, sizeof addr, "%s@tcp:12345:%u:%u",
		       p->p_host->h_addr, PORTAL + 1, 7);
	MUST(m0_net_lnet_use(p->p_lnet) == 0, "use");
	MUST(m0_net_domain_init(&p->p_dom, &m0_net_lnet_xprt) == 0, "domain");
	memset(&p->p_tm, 0, sizeof p->p_tm);
	memset(&p->p_buf, 0, sizeof p->p_buf);
	p->p_tm.ntm_callbacks = &tm_callbacks;
	MUST(m0_net_tm_init(&p->p_tm, &p->p_dom) == 0, "tm init");
	MUST(m0_net_tm_start(&p->p_tm, addr) == 0, "tm start");
	MUST(wait_ms(tm_is_started, p, BOUND_MS) &&
		     p->p_tm.ntm_state == M0_NET_TM_STARTED,
	     "a machine starts at the number of one that is gone");
	MUST(m0_bufvec_alloc(&p->p_buf.nb_buffer, 1, 8192) == 0, "memory");
	MUST(m0_net_buffer_register(&p->p_buf, &p->p_dom) == 0, "register");
	p->p_buf.nb_app_private = p;
	p->p_buf.nb_callbacks = &buf_callbacks;
	p->p_buf.nb_qtype = M0_NET_QT_MSG_RECV;
	p->p_buf.nb_timeout = M0_TIME_NEVER;
	p->p_buf.nb_min_receive_size = 4096;
	p->p_buf.nb_max_receive_msgs = 2;
	p->p_buf_done_nr = 0;
	p->p_failed_nr = 0;
	MUST(m0_net_buffer_add(&p->p_buf, &p->p_tm) == 0, "add");
	p->p_has_tm = true;
}

/* On a thread or inline: the buffer first, then the machine. */
void tm_fails(struct proc *p)
{
	struct m0_net_end_point *ep;

	MUST(wait_ms(tm_is_over, p, BOUND_MS),
	     "a machine ends with the daemon");
	MUST(p->p_tm.ntm_state == M0_NET_TM_FAILED && p->p_failed_nr == 1 &&
		     p->p_failed_rc == -ESHUTDOWN,
	     "a machine without daemon is %d, %u times FAILED, status %d",
	     p->p_tm.ntm_state, p->p_failed_nr, p->p_failed_rc);
	MUST(p->p_buf_done_nr == 1 && p->p_buf_status == -ESHUTDOWN,
	     "its buffer has ended %u times, status %d", p->p_buf_done_nr,
	     p->p_buf_status);
	MUST(m0_net_end_point_create(&ep, &p->p_tm, "10.0.0.9@tcp:12345:1:1") ==
		     -ESHUTDOWN,
	     "end point of a machine that FAILED");
	MUST(m0_net_buffer_add(&p->p_buf, &p->p_tm) == -ESHUTDOWN,
	     "a buffer for a machine that FAILED");
	MUST(m0_net_tm_stop(&p->p_tm, true) == -ESHUTDOWN,
	     "a stop of a machine that FAILED");
	++sums.s_buffers_nr;
}

void tm_end(struct proc *p)
{
	if (!p->p_has_tm)
		return;
	p->p_has_tm = false;
	if (p->p_tm.ntm_state != M0_NET_TM_FAILED)
		(void)m0_net_tm_stop(&p->p_tm, true);
	MUST(wait_ms(tm_is_over, p, BOUND_MS), "a machine stops");
	MUST(p->p_buf_done_nr == 1, "its buffer has ended %u times",
	     p->p_buf_done_nr);
	MUST(m0_net_buffer_deregister(&p->p_buf, &p->p_dom) == 0, "deregister");
	m0_bufvec_free(&p->p_buf.nb_buffer);
	MUST(m0_net_tm_fini(&p->p_tm) == 0, "tm fini");
	MUST(m0_net_domain_fini(&p->p_dom) == 0, "domain fini");
	MUST(m0_net_lnet_unuse(p->p_lnet) == 0, "unuse");
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The request handler: one thread, a group of clinks, synchronous delivery.
 * [r.M0.net.buffer-event-delivery-control]
 * [r.M0.net.synchronous-buffer-event-delivery]
 */
#include <sched.h>

#include "scenarios.h"

enum {
	REQUESTS = 30
};

/* A request on its way through the handler. */
struct fom {
	void (*fo_state)(struct fom *fom);
	struct fom              *fo_next;
	struct cf_buf           *fo_reply;
	struct m0_net_end_point *fo_ep;
	bool                     fo_half_done;
};

static struct cf_tm *tm;
static struct fom    foms[REQUESTS];
static int           foms_nr;
static struct fom   *fom_queue;
static int           replies_sent;
static bool          shutdown_;

static struct m0_mutex fom_lock, net_lock;
static struct m0_chan  fom_channel, net_channel;
static struct m0_clink fom_waiter, net_waiter;
enum {
	NONE,
	FOM,
	NET
};
static int wakeup_reason;

/* Set by the signaller, on its thread. */
static void reason_set(int reason)
{
	__atomic_store_n(&wakeup_reason, reason, __ATOMIC_RELEASE);
}

static bool fom_woken(struct m0_clink *link)
{
	(void)link;
	reason_set(FOM);
	return false;
}

static bool net_woken(struct m0_clink *link)
{
	(void)link;
	reason_set(NET);
	return false;
}

static bool fom_queue_is_empty(void)
{
	return fom_queue == NULL;
}

static struct fom *fom_queue_head(void)
{
	struct fom *fom = fom_queue;

	fom_queue = fom->fo_next;
	return fom;
}

static void fom_ready(struct fom *fom)
{
	struct fom **at = &fom_queue;

	while (*at != NULL)
		at = &(*at)->fo_next;
	fom->fo_next = NULL;
	*at = fom;
	m0_chan_signal_lock(&fom_channel);
}

/* First phase: nothing but to be ready again. Second: the reply. */
static void fom_state(struct fom *fom)
{
	if (!fom->fo_half_done) {
		fom->fo_half_done = true;
		fom_ready(fom);
		return;
	}
	fom->fo_reply->cb_nb.nb_length = 16;
	fom->fo_reply->cb_nb.nb_ep = fom->fo_ep;
	cf_add_ok(fom->fo_reply, tm, M0_NET_QT_MSG_SEND);
	CF_EQ(m0_net_end_point_put(fom->fo_ep), 0, "put");
}

static void reply_sent(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	(void)b;
	CF_EQ(ev->nbe_status, 0, "reply");
	if (++replies_sent == REQUESTS)
		shutdown_ = true;
}

static void request_came(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	struct fom *fom;

	if (ev->nbe_status != 0)
		return;
	fom = &foms[foms_nr++];
	fom->fo_state = fom_state;
	CF_EQ(m0_net_end_point_get(ev->nbe_ep), 0, "get");
	fom->fo_ep = ev->nbe_ep;
	cf_add_ok(b, tm, M0_NET_QT_MSG_RECV);
	fom_ready(fom);
}

static void request_handler_tm_init(enum cf_mode mode)
{
	struct m0_bitmap this_thread_proc_mask;
	cpu_set_t        set;
	size_t           i;

	CF_EQ(m0_bitmap_init(&this_thread_proc_mask, CPU_SETSIZE), 0, "bitmap");
	sched_getaffinity(0, sizeof set, &set);
	for (i = 0; i < CPU_SETSIZE; ++i)
		if (CPU_ISSET(i, &set))
			m0_bitmap_set(&this_thread_proc_mask, i, true);
	/* Creates the machine, and tells it to deliver synchronously. */
	tm = cf_tm_new_mode(0, mode);
	/* Tell the machine of the handler's thread affinity. */
	CF_EQ(m0_net_tm_confine(&tm->ct_tm, &this_thread_proc_mask), 0,
	      "confine");
	m0_bitmap_fini(&this_thread_proc_mask);
	cf_tm_begin_start(tm);
	cf_wait_state(tm, M0_NET_TM_STARTED);
}

static void request_handler_thread_body(void)
{
	m0_clink_init(&fom_waiter, fom_woken);
	m0_clink_attach(&net_waiter, &fom_waiter, net_woken);
	m0_clink_add_lock(&fom_channel, &fom_waiter);
	m0_clink_add_lock(&net_channel, &net_waiter);
	while (!shutdown_) {
		while (fom_queue_is_empty() &&
		       !m0_net_buffer_event_pending(&tm->ct_tm)) {
			/* Signal on the net channel when the next buffer
			 * event arrives. */
			m0_net_buffer_event_notify(&tm->ct_tm, &net_channel);
			/* Wait until an event is announced on either. */
			m0_chan_wait(&fom_waiter);
		}
		/* A reason may be older than what was done for it. */
		if (fom_queue_is_empty())
			reason_set(NET);
		switch (__atomic_load_n(&wakeup_reason, __ATOMIC_ACQUIRE)) {
		case FOM: {
			struct fom *fom = fom_queue_head();

			fom->fo_state(fom);
			break;
		}
		case NET:
			/* Deliver pending buffer events on this thread. */
			cf_deliver(tm);
			reason_set(FOM);
			break;
		default:
			CF_TRUE(false, "a reason to wake up");
		}
	}
	m0_clink_del_lock(&net_waiter);
	m0_clink_del_lock(&fom_waiter);
	m0_clink_fini(&net_waiter);
	m0_clink_fini(&fom_waiter);
}

struct client {
	struct cf_tm  *cl_tm;
	struct cf_buf *cl_request[REQUESTS];
	int            cl_sent;
	int            cl_got;
};

/* Each reply causes the next request. */
static void client_reply(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	struct client *cl = b->cb_arg;
	int            at;

	if (ev->nbe_status != 0)
		return;
	cf_add_ok(b, cl->cl_tm, M0_NET_QT_MSG_RECV);
	at = __atomic_fetch_add(&cl->cl_sent, 1, __ATOMIC_ACQ_REL);
	if (at < REQUESTS)
		cf_add_ok(cl->cl_request[at], cl->cl_tm, M0_NET_QT_MSG_SEND);
	/* At last: the machine is stopped when they are all there. */
	cf_inc(&cl->cl_got);
}

static void handler_buffers(void)
{
	int i;

	foms_nr = replies_sent = 0;
	fom_queue = NULL;
	shutdown_ = false;
	reason_set(NONE);
	memset(foms, 0, sizeof foms);
	for (i = 0; i < 4; ++i) {
		struct cf_buf *b = cf_buf(0, 64);

		b->cb_hook = request_came;
		cf_add_ok(b, tm, M0_NET_QT_MSG_RECV);
	}
	for (i = 0; i < REQUESTS; ++i) {
		foms[i].fo_reply = cf_buf(0, 64);
		foms[i].fo_reply->cb_hook = reply_sent;
	}
}

static void request_handler(enum cf_mode mode)
{
	struct client            cl = { .cl_sent = 3 };
	struct m0_net_end_point *ep;
	int                      i;

	m0_mutex_init(&fom_lock);
	m0_mutex_init(&net_lock);
	m0_chan_init(&fom_channel, &fom_lock);
	m0_chan_init(&net_channel, &net_lock);
	request_handler_tm_init(mode);
	handler_buffers();
	cl.cl_tm = cf_tm_new_mode(1, CF_ASYNC);
	cf_tm_begin_start(cl.cl_tm);
	cf_wait_state(cl.cl_tm, M0_NET_TM_STARTED);
	ep = cf_ep(cl.cl_tm, tm);
	for (i = 0; i < REQUESTS; ++i) {
		cl.cl_request[i] = cf_buf(1, 64);
		cl.cl_request[i]->cb_nb.nb_length = 32;
		cl.cl_request[i]->cb_nb.nb_ep = ep;
	}
	for (i = 0; i < 4; ++i) {
		struct cf_buf *b = cf_buf(1, 64);

		b->cb_hook = client_reply;
		b->cb_arg = &cl;
		cf_add_ok(b, cl.cl_tm, M0_NET_QT_MSG_RECV);
	}
	for (i = 0; i < 3; ++i)
		cf_add_ok(cl.cl_request[i], cl.cl_tm, M0_NET_QT_MSG_SEND);
	request_handler_thread_body();
	cf_wait_count(&cl.cl_got, REQUESTS, "replies");
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
	cf_stop_wait(cl.cl_tm, true);
	cf_stop_wait(tm, true);
	cf_tm_end(tm);
	m0_chan_fini_lock(&fom_channel);
	m0_chan_fini_lock(&net_channel);
}

static void request_handler_sync(void)
{
	request_handler(CF_SYNC);
}

static void request_handler_inline(void)
{
	request_handler(CF_INLINE);
}

const struct cf_case scenarios_loop[] = {
	{ "request handler, synchronous", request_handler_sync },
	{ "request handler, inline", request_handler_inline },
	{ NULL, NULL }
};

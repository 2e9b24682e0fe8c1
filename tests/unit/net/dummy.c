/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>

#include "dummy.h"

struct dummy dummy;
struct scene scene;

extern struct m0_mutex m0_net_mutex;

enum {
	NET = 1,
	DOM = 2,
	TM = 4,
	ANY = 8
};

/* Which locks are held in which operation. */
static void called(enum dummy_op op, unsigned locks)
{
	bool ok = true;

	++dummy.calls[op];
	if (locks == ANY)
		return;
	ok = m0_mutex_is_locked(&m0_net_mutex) == ((locks & NET) != 0);
	if (dummy.dom != NULL)
		ok = ok && m0_mutex_is_locked(&dummy.dom->nd_mutex) ==
				   ((locks & DOM) != 0);
	if (dummy.tm != NULL && dummy.tm->ntm_dom != NULL)
		ok = ok && m0_mutex_is_locked(&dummy.tm->ntm_mutex) ==
				   ((locks & TM) != 0);
	if (!ok) {
		++dummy.locks_bad;
		dummy.locks_bad_op = op;
	}
}

static int dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *dom)
{
	(void)xprt;
	(void)dom;
	called(DOM_INIT, NET);
	return dummy.rc[DOM_INIT];
}

static void dom_fini(struct m0_net_domain *dom)
{
	(void)dom;
	called(DOM_FINI, NET);
}

static int tm_init(struct m0_net_transfer_mc *tm)
{
	(void)tm;
	called(TM_INIT, DOM);
	return dummy.rc[TM_INIT];
}

static int tm_confine(struct m0_net_transfer_mc *tm,
		      const struct m0_bitmap    *map)
{
	(void)tm;
	(void)map;
	called(TM_CONFINE, TM);
	return dummy.rc[TM_CONFINE];
}

static int tm_start(struct m0_net_transfer_mc *tm, const char *addr)
{
	(void)addr;
	assert_int_equal(tm->ntm_state, M0_NET_TM_STARTING);
	called(TM_START, TM);
	return dummy.rc[TM_START];
}

static int tm_stop(struct m0_net_transfer_mc *tm, bool cancel)
{
	assert_int_equal(tm->ntm_state, M0_NET_TM_STOPPING);
	dummy.stop_abort = cancel;
	called(TM_STOP, TM);
	return dummy.rc[TM_STOP];
}

static void tm_fini(struct m0_net_transfer_mc *tm)
{
	(void)tm;
	called(TM_FINI, DOM);
}

static void ep_release(struct m0_ref *ref)
{
	struct m0_net_end_point *ep =
		container_of(ref, struct m0_net_end_point, nep_ref);

	assert_true(m0_mutex_is_locked(&ep->nep_tm->ntm_mutex));
	m0_nep_tlist_del(ep);
	free((char *)ep->nep_addr);
	free(ep);
	++dummy.released;
}

/* The bare part of a transport's function: find, or make. */
static struct m0_net_end_point *ep_find(struct m0_net_transfer_mc *tm,
					const char                *addr)
{
	struct m0_net_end_point *ep;

	for (ep = m0_nep_tlist_head(&tm->ntm_end_points); ep != NULL;
	     ep = m0_nep_tlist_next(&tm->ntm_end_points, ep)) {
		if (strcmp(ep->nep_addr, addr) == 0) {
			m0_ref_get(&ep->nep_ref);
			return ep;
		}
	}
	ep = calloc(1, sizeof *ep);
	ep->nep_addr = strdup(addr);
	ep->nep_tm = tm;
	m0_ref_init(&ep->nep_ref, 1, ep_release);
	m0_nep_tlink_init_at_tail(ep, &tm->ntm_end_points);
	return ep;
}

static int ep_create(struct m0_net_end_point  **epp,
		     struct m0_net_transfer_mc *tm, const char *addr)
{
	assert_null(*epp);
	called(EP_CREATE, TM);
	if (addr == NULL)
		return -ENOSYS;
	if (dummy.rc[EP_CREATE] == 0)
		*epp = ep_find(tm, addr);
	return dummy.rc[EP_CREATE];
}

static int buf_register(struct m0_net_buffer *buf)
{
	(void)buf;
	called(BUF_REGISTER, DOM);
	return dummy.rc[BUF_REGISTER];
}

static void buf_deregister(struct m0_net_buffer *buf)
{
	(void)buf;
	called(BUF_DEREGISTER, DOM);
}

static int buf_add(struct m0_net_buffer *buf)
{
	called(BUF_ADD, ANY);
	assert_true(m0_mutex_is_locked(&buf->nb_tm->ntm_mutex));
	assert_true(buf->nb_flags & M0_NET_BUF_QUEUED);
	assert_ptr_equal(
		m0_net_tm_tlist_tail(&buf->nb_tm->ntm_q[buf->nb_qtype]), buf);
	if (dummy.rc[BUF_ADD] == 0 &&
	    (buf->nb_qtype == M0_NET_QT_PASSIVE_BULK_RECV ||
	     buf->nb_qtype == M0_NET_QT_PASSIVE_BULK_SEND)) {
		assert_int_equal(buf->nb_desc.nbd_len, 0);
		buf->nb_desc.nbd_data = m0_alloc(8);
		buf->nb_desc.nbd_len = 8;
	}
	return dummy.rc[BUF_ADD];
}

static void buf_del(struct m0_net_buffer *buf)
{
	(void)buf;
	called(BUF_DEL, TM);
}

static int bev_sync(struct m0_net_transfer_mc *tm)
{
	(void)tm;
	called(BEV_SYNC, TM);
	return dummy.rc[BEV_SYNC];
}

static void bev_all(struct m0_net_transfer_mc *tm)
{
	(void)tm;
	called(BEV_ALL, 0);
}

static bool bev_pending(struct m0_net_transfer_mc *tm)
{
	(void)tm;
	called(BEV_PENDING, 0);
	return dummy.pending;
}

static void bev_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan)
{
	(void)tm;
	assert_non_null(chan);
	called(BEV_NOTIFY, TM);
}

static m0_bcount_t get_size(const struct m0_net_domain *dom)
{
	(void)dom;
	called(GET_SIZE, ANY);
	return DUMMY_SIZE;
}

static m0_bcount_t get_seg(const struct m0_net_domain *dom)
{
	(void)dom;
	called(GET_SEG, ANY);
	return DUMMY_SEG;
}

static int32_t get_segs(const struct m0_net_domain *dom)
{
	(void)dom;
	called(GET_SEGS, ANY);
	return DUMMY_SEGS;
}

static m0_bcount_t get_desc(const struct m0_net_domain *dom)
{
	(void)dom;
	called(GET_DESC, ANY);
	return DUMMY_DESC;
}

static uint32_t get_alignment(const struct m0_net_domain *dom)
{
	(void)dom;
	return 64;
}

static void flush(struct m0_net_transfer_mc *tm)
{
	(void)tm;
	called(FLUSH, ANY);
	assert_int_equal(m0_mutex_held_nr(), 0);
}

#define BARE                                                                   \
	.xo_dom_init = dom_init, .xo_dom_fini = dom_fini,                      \
	.xo_tm_init = tm_init, .xo_tm_start = tm_start, .xo_tm_stop = tm_stop, \
	.xo_tm_fini = tm_fini, .xo_end_point_create = ep_create,               \
	.xo_buf_register = buf_register, .xo_buf_deregister = buf_deregister,  \
	.xo_buf_add = buf_add, .xo_buf_del = buf_del,                          \
	.xo_get_max_buffer_size = get_size,                                    \
	.xo_get_max_buffer_segment_size = get_seg,                             \
	.xo_get_max_buffer_segments = get_segs,                                \
	.xo_get_max_buffer_desc_size = get_desc

static const struct m0_net_xprt_ops bare_ops = { BARE };
static const struct m0_net_xprt_ops full_ops = {
	BARE,
	.xo_tm_confine = tm_confine,
	.xo_bev_deliver_sync = bev_sync,
	.xo_bev_deliver_all = bev_all,
	.xo_bev_pending = bev_pending,
	.xo_bev_notify = bev_notify,
	.xo_get_buffer_alignment = get_alignment,
	.xo_flush = flush,
};

const struct m0_net_xprt dummy_bare_xprt = { "bare", &bare_ops };
const struct m0_net_xprt dummy_xprt = { "dummy", &full_ops };

void dummy_reset(void)
{
	memset(&dummy, 0, sizeof dummy);
	dummy.dom = &scene.dom;
	dummy.tm = &scene.tm;
}

/* --------------------------------------------------------------- scene -- */

static void tm_cb(const struct m0_net_tm_event *ev)
{
	assert_int_equal(m0_mutex_held_nr(), 0);
	if (ev->nte_type == M0_NET_TEV_ERROR)
		++scene.errors;
	else if (ev->nte_type == M0_NET_TEV_DIAGNOSTIC)
		++scene.diagnostics;
	else {
		assert_int_equal(ev->nte_tm->ntm_state, ev->nte_next_state);
		++scene.states[ev->nte_next_state];
	}
	scene.status = ev->nte_status;
	m0_mutex_lock(&ev->nte_tm->ntm_mutex);
	scene.recv_queue_len =
		m0_net_tm_tlist_length(&ev->nte_tm->ntm_q[M0_NET_QT_MSG_RECV]);
	m0_mutex_unlock(&ev->nte_tm->ntm_mutex);
}

static void buf_cb(const struct m0_net_buffer_event *ev)
{
	struct m0_net_transfer_mc *tm = ev->nbe_buffer->nb_tm;

	scene.locked = m0_mutex_held_nr() != 0;
	++scene.events;
	scene.status = ev->nbe_status;
	scene.flags = ev->nbe_buffer->nb_flags;
	scene.qt = ev->nbe_buffer->nb_qtype;
	if (scene.watched != NULL)
		scene.ep_refs = m0_ref_read(&scene.watched->nep_ref);
	m0_mutex_lock(&tm->ntm_mutex);
	scene.recv_queue_len =
		m0_net_tm_tlist_length(&tm->ntm_q[M0_NET_QT_MSG_RECV]);
	m0_mutex_unlock(&tm->ntm_mutex);
	if (scene.hook != NULL)
		scene.hook(ev);
}

static const struct m0_net_tm_callbacks tm_cbs = { .ntc_event_cb = tm_cb };
const struct m0_net_buffer_callbacks    scene_cbs = {
	   .nbc_cb = { buf_cb, buf_cb, buf_cb, buf_cb, buf_cb, buf_cb }
};

struct job {
	void (*fn)(void *arg);
	void *arg;
};

static void job_run(struct job *job)
{
	job->fn(job->arg);
}

void elsewhere(void (*fn)(void *arg), void *arg)
{
	struct m0_thread thread = { .t_state = TS_PARKED };
	struct job       job = { fn, arg };

	assert_int_equal(M0_THREAD_INIT(&thread, struct job *, NULL, job_run,
					&job, "elsewhere"),
			 0);
	m0_thread_join(&thread);
	m0_thread_fini(&thread);
}

static void state_post(void *arg)
{
	m0_net_tm_event_post(arg);
}

void scene_state(enum m0_net_tm_state next)
{
	struct m0_net_tm_event ev = { .nte_type = M0_NET_TEV_STATE_CHANGE,
				      .nte_tm = &scene.tm,
				      .nte_time = m0_time_now(),
				      .nte_next_state = next };

	if (next == M0_NET_TM_STARTED) {
		m0_mutex_lock(&scene.tm.ntm_mutex);
		ev.nte_ep = ep_find(&scene.tm, "own");
		m0_mutex_unlock(&scene.tm.ntm_mutex);
	}
	elsewhere(state_post, &ev);
}

struct m0_net_end_point *dummy_ep(const char *addr)
{
	struct m0_net_end_point *ep;

	assert_int_equal(m0_net_end_point_create(&ep, &scene.tm, addr), 0);
	return ep;
}

int scene_up(void **state)
{
	(void)state;
	memset(&scene, 0, sizeof scene);
	dummy_reset();
	if (m0_net_init() != 0 ||
	    m0_net_domain_init(&scene.dom, &dummy_xprt) != 0)
		return -1;
	scene.tm.ntm_callbacks = &tm_cbs;
	scene.seg[0] = scene.bytes;
	scene.seg_nr[0] = sizeof scene.bytes;
	scene.buf.nb_buffer =
		(struct m0_bufvec)M0_BUFVEC_INIT_BUF(scene.seg, scene.seg_nr);
	scene.buf.nb_callbacks = &scene_cbs;
	return m0_net_tm_init(&scene.tm, &scene.dom);
}

int scene_started(void **state)
{
	if (scene_up(state) != 0 ||
	    m0_net_buffer_register(&scene.buf, &scene.dom) != 0 ||
	    m0_net_tm_start(&scene.tm, "own") != 0)
		return -1;
	scene_state(M0_NET_TM_STARTED);
	return 0;
}

void scene_stop(void)
{
	assert_int_equal(m0_net_tm_stop(&scene.tm, true), 0);
	scene_state(M0_NET_TM_STOPPED);
}

int scene_down(void **state)
{
	(void)state;
	if (scene.tm.ntm_state == M0_NET_TM_STARTED)
		scene_stop();
	if (scene.tm.ntm_state != M0_NET_TM_UNDEFINED)
		assert_int_equal(m0_net_tm_fini(&scene.tm), 0);
	m0_net_desc_free(&scene.buf.nb_desc);
	if (scene.buf.nb_dom != NULL)
		assert_int_equal(
			m0_net_buffer_deregister(&scene.buf, &scene.dom), 0);
	if (scene.dom.nd_xprt != NULL)
		assert_int_equal(m0_net_domain_fini(&scene.dom), 0);
	if (dummy.locks_bad != 0)
		fail_msg("locks were not as documented in operation %d",
			 dummy.locks_bad_op);
	return m0_net_fini();
}

void scene_buf_for(enum m0_net_queue_type qt, struct m0_net_end_point *ep)
{
	struct m0_net_buffer *buf = &scene.buf;

	m0_net_desc_free(&buf->nb_desc);
	buf->nb_qtype = qt;
	buf->nb_length = 10;
	buf->nb_ep = qt == M0_NET_QT_MSG_RECV ? NULL : ep;
	buf->nb_min_receive_size = 100;
	buf->nb_max_receive_msgs = 2;
	if (qt >= M0_NET_QT_ACTIVE_BULK_RECV) {
		buf->nb_desc.nbd_data = m0_alloc(4);
		buf->nb_desc.nbd_len = 4;
	}
}

static void event_post(void *arg)
{
	m0_net_buffer_event_post(arg);
}

void scene_event(struct m0_net_buffer *buf, int32_t status, m0_bcount_t nr,
		 struct m0_net_end_point *from)
{
	struct m0_net_buffer_event ev = { .nbe_buffer = buf,
					  .nbe_time = m0_time_now(),
					  .nbe_status = status,
					  .nbe_length = nr,
					  .nbe_ep = from };

	elsewhere(event_post, &ev);
}

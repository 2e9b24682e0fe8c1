/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The fixture: buffers, their memory and their events. */
#include "cf.h"
#include "cf_internal.h"

enum {
	GUARD_BYTE = 0xA5,
	BLANK = 0xEE
};

static struct m0_mutex bufs_lock = M0_MUTEX_SINIT(&bufs_lock);

/* -------------------------------------------------------------- events -- */

static void ledger_add(struct cf_tm *t, enum m0_net_queue_type qt,
		       const struct m0_net_buffer_event *ev, bool final)
{
	struct cf_ledger *l = &t->ct_ledger[qt];

	__atomic_fetch_add(final ? &l->cl_finals : &l->cl_retained, 1,
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(ev->nbe_status == 0 ? &l->cl_s : &l->cl_f, 1,
			   __ATOMIC_RELAXED);
}

static void event_check(const struct m0_net_buffer_event *ev,
			enum m0_net_queue_type qt, bool final)
{
	const struct m0_net_buffer *nb = ev->nbe_buffer;

	CF_EQ(nb->nb_qtype, qt, "the callback of the buffer's own queue");
	CF_TRUE(ev->nbe_status <= 0, "status %d is 0 or an error",
		ev->nbe_status);
	/* About: to ask for the time is to let some pass, in the simulator. */
	CF_TRUE(ev->nbe_time <=
			m0_time_add(m0_time_cached(), 60 * M0_TIME_ONE_SECOND),
		"the event does not lie in the future");
	if (final) {
		CF_EQ(nb->nb_flags, M0_NET_BUF_REGISTERED,
		      "flags in the callback of the final event");
		CF_TRUE(nb->nb_timeout == M0_TIME_NEVER,
			"nb_timeout is NEVER after the final event");
	} else {
		CF_EQ(qt, M0_NET_QT_MSG_RECV, "queue of a retained buffer");
		CF_EQ(ev->nbe_status, 0, "status of an event with QUEUED set");
		CF_EQ(nb->nb_flags & M0_NET_BUF_RETAIN, 0,
		      "RETAIN is cleared before the callback");
	}
	if (qt == M0_NET_QT_MSG_RECV && ev->nbe_status == 0) {
		CF_TRUE(ev->nbe_ep != NULL, "a message's sender is known");
		CF_TRUE(ev->nbe_ep->nep_tm == nb->nb_tm,
			"the sender's end point is the receiver's");
		CF_TRUE(m0_ref_read(&ev->nbe_ep->nep_ref) > 0,
			"a reference is held during the callback");
	}
}

static void record(struct cf_buf *b, const struct m0_net_buffer_event *ev,
		   bool final)
{
	int          n = cf_get(&b->cb_events);
	struct cf_ev e = {
		.ce_status = ev->nbe_status,
		.ce_length = ev->nbe_length,
		.ce_offset = ev->nbe_offset,
		.ce_time = ev->nbe_time,
		.ce_final = final,
	};

	if (b->cb_nb.nb_qtype == M0_NET_QT_MSG_RECV && ev->nbe_status == 0)
		snprintf(e.ce_ep, sizeof e.ce_ep, "%s", ev->nbe_ep->nep_addr);
	if (n < CF_EVS)
		b->cb_ev[n] = e;
	if (final)
		b->cb_last = e;
}

static void buf_event(const struct m0_net_buffer_event *ev,
		      enum m0_net_queue_type            qt)
{
	struct cf_buf *b = container_of(ev->nbe_buffer, struct cf_buf, cb_nb);
	struct cf_tm  *t = container_of(b->cb_nb.nb_tm, struct cf_tm, ct_tm);
	void (*hook)(struct cf_buf *, const struct m0_net_buffer_event *) =
		b->cb_hook;
	bool final = (b->cb_nb.nb_flags & M0_NET_BUF_QUEUED) == 0;

	cf_inc(&cf.c_inside);
	cf_cb_enter(b->cb_nb.nb_tm, true);
	event_check(ev, qt, final);
	CF_EQ(cf_get(&b->cb_done), 0,
	      "promise 1: no event after the final one of an add");
	record(b, ev, final);
	ledger_add(t, qt, ev, final);
	cf_inc(&b->cb_events);
	if (final)
		cf_inc(&b->cb_finals);
	/* The hook may add the buffer again, which clears cb_done, or free it;
	 * cf_wait_buf() waits for the callback's end all the same. */
	if (final)
		__atomic_store_n(&b->cb_done, 1, __ATOMIC_RELEASE);
	if (hook != NULL)
		hook(b, ev);
	__atomic_fetch_sub(&cf.c_inside, 1, __ATOMIC_ACQ_REL);
	cf_wake();
}

#define CF_CB(name, qt)                                        \
	static void name(const struct m0_net_buffer_event *ev) \
	{                                                      \
		buf_event(ev, qt);                             \
	}
CF_CB(msg_recv_cb, M0_NET_QT_MSG_RECV)
CF_CB(msg_send_cb, M0_NET_QT_MSG_SEND)
CF_CB(passive_recv_cb, M0_NET_QT_PASSIVE_BULK_RECV)
CF_CB(passive_send_cb, M0_NET_QT_PASSIVE_BULK_SEND)
CF_CB(active_recv_cb, M0_NET_QT_ACTIVE_BULK_RECV)
CF_CB(active_send_cb, M0_NET_QT_ACTIVE_BULK_SEND)

const struct m0_net_buffer_callbacks
	cf_buf_cbs = { .nbc_cb = {
			       [M0_NET_QT_MSG_RECV] = msg_recv_cb,
			       [M0_NET_QT_MSG_SEND] = msg_send_cb,
			       [M0_NET_QT_PASSIVE_BULK_RECV] = passive_recv_cb,
			       [M0_NET_QT_PASSIVE_BULK_SEND] = passive_send_cb,
			       [M0_NET_QT_ACTIVE_BULK_RECV] = active_recv_cb,
			       [M0_NET_QT_ACTIVE_BULK_SEND] = active_send_cb,
		       } };

/* -------------------------------------------------------------- memory -- */

bool cf_library_memory;

enum {
	LIBRARY_BYTES_MIN = 16 << 10,
	PAGE_BITS = 12
};

/* Guard, segment, guard, segment, ... guard, in one block. */
struct cf_buf *cf_buf_raw(uint32_t nr, const m0_bcount_t *len)
{
	struct cf_buf *b = calloc(1, sizeof *b);
	size_t         at = CF_GUARD;
	uint32_t       i;

	CF_TRUE(b != NULL, "memory for the test");
	for (i = 0; i < nr; ++i)
		b->cb_size += len[i];
	b->cb_mem_nr = b->cb_size + (nr + 1) * (size_t)CF_GUARD;
	b->cb_is_of_library = cf_library_memory &&
			      b->cb_mem_nr >= LIBRARY_BYTES_MIN;
	b->cb_mem = b->cb_is_of_library
			    ? m0_alloc_aligned(b->cb_mem_nr, PAGE_BITS)
			    : malloc(b->cb_mem_nr);
	b->cb_nb.nb_buffer.ov_vec.v_count = calloc(nr, sizeof *len);
	b->cb_nb.nb_buffer.ov_buf = calloc(nr, sizeof(void *));
	CF_TRUE(b->cb_mem != NULL && b->cb_nb.nb_buffer.ov_buf != NULL &&
			b->cb_nb.nb_buffer.ov_vec.v_count != NULL,
		"test memory");
	memset(b->cb_mem, GUARD_BYTE, b->cb_mem_nr);
	b->cb_nb.nb_buffer.ov_vec.v_nr = nr;
	for (i = 0; i < nr; ++i) {
		b->cb_nb.nb_buffer.ov_vec.v_count[i] = len[i];
		b->cb_nb.nb_buffer.ov_buf[i] = b->cb_mem + at;
		memset(b->cb_mem + at, BLANK, len[i]);
		at += len[i] + CF_GUARD;
	}
	b->cb_nb.nb_callbacks = &cf_buf_cbs;
	return b;
}

struct cf_buf *cf_buf_segs(unsigned dom, uint32_t nr, const m0_bcount_t *len)
{
	struct cf_buf *b = cf_buf_raw(nr, len);

	CF_EQ(m0_net_buffer_register(&b->cb_nb, cf_dom(dom)), 0,
	      "register %llu bytes in %u segments",
	      (unsigned long long)b->cb_size, nr);
	CF_TRUE(b->cb_nb.nb_timeout == M0_TIME_NEVER,
		"nb_timeout is NEVER after register");
	m0_mutex_lock(&bufs_lock);
	b->cb_next = cf.c_bufs;
	cf.c_bufs = b;
	m0_mutex_unlock(&bufs_lock);
	return b;
}

struct cf_buf *cf_buf(unsigned dom, m0_bcount_t size)
{
	m0_bcount_t len[256];
	m0_bcount_t max;
	uint32_t    nr = 0;

	max = m0_net_domain_get_max_buffer_segment_size(cf_dom(dom));
	for (; size > 0 && nr < ARRAY_SIZE(len); size -= len[nr++])
		len[nr] = min64u(size, max);
	return cf_buf_segs(dom, nr, len);
}

struct cf_buf *cf_buf_random(unsigned dom, m0_bcount_t size)
{
	struct m0_net_domain *d = cf_dom(dom);
	m0_bcount_t max = m0_net_domain_get_max_buffer_segment_size(d);
	uint32_t    segs = (uint32_t)min64u(
		   64, (uint64_t)m0_net_domain_get_max_buffer_segments(d));
	uint32_t    need = (uint32_t)((size + max - 1) / max);
	m0_bcount_t len[64] = { 0 };
	m0_bcount_t left = size;
	uint32_t    nr, i;

	/* The last segments must be able to hold what the first left over. */
	nr = need + (uint32_t)cf_rand(segs - need + 1);
	nr = nr == 0 ? 1 : nr;
	for (i = 0; i < nr; ++i) {
		m0_bcount_t room = max * (nr - i - 1);
		m0_bcount_t low = left > room ? left - room : 0;
		m0_bcount_t high = min64u(left, max);

		len[i] = i + 1 == nr ? left : low + cf_rand(high - low + 1);
		if (i + 1 < nr && cf_rand(8) == 0)
			len[i] = low;
		left -= len[i];
	}
	return cf_buf_segs(dom, nr, len);
}

static void guards_check(const struct cf_buf *b)
{
	size_t   at = 0;
	uint32_t i;
	size_t   g;

	for (i = 0; i <= b->cb_nb.nb_buffer.ov_vec.v_nr; ++i) {
		for (g = 0; g < CF_GUARD; ++g)
			CF_EQ(b->cb_mem[at + g], GUARD_BYTE,
			      "memory around segment %u is untouched", i);
		at += CF_GUARD;
		if (i < b->cb_nb.nb_buffer.ov_vec.v_nr)
			at += b->cb_nb.nb_buffer.ov_vec.v_count[i];
	}
}

void cf_buf_free(struct cf_buf *b)
{
	struct cf_buf **p;

	m0_net_desc_free(&b->cb_nb.nb_desc);
	if (b->cb_nb.nb_dom != NULL)
		CF_EQ(m0_net_buffer_deregister(&b->cb_nb, b->cb_nb.nb_dom), 0,
		      "deregister a buffer that is not queued");
	CF_EQ(b->cb_nb.nb_flags, 0, "flags after deregister");
	CF_TRUE(b->cb_nb.nb_dom == NULL, "nb_dom after deregister is NULL");
	guards_check(b);
	m0_mutex_lock(&bufs_lock);
	for (p = &cf.c_bufs; *p != NULL && *p != b; p = &(*p)->cb_next)
		;
	if (*p == b)
		*p = b->cb_next;
	m0_mutex_unlock(&bufs_lock);
	free(b->cb_nb.nb_buffer.ov_vec.v_count);
	free(b->cb_nb.nb_buffer.ov_buf);
	if (b->cb_is_of_library)
		m0_free_aligned(b->cb_mem, b->cb_mem_nr, PAGE_BITS);
	else
		free(b->cb_mem);
	free(b);
}

static uint8_t pattern(uint64_t key, m0_bindex_t i)
{
	return (uint8_t)(key * 131 + i * 7 + (i >> 8) * 13 + (i >> 16) * 29);
}

/* Calls back for each byte of [off, off + nr) would be slow: by segment. */
static void walk(struct cf_buf *b, m0_bindex_t off, m0_bcount_t nr,
		 uint64_t key, bool fill, bool blank)
{
	const struct m0_bufvec *bv = &b->cb_nb.nb_buffer;
	m0_bindex_t             start = 0;
	uint32_t                s;

	for (s = 0; s < bv->ov_vec.v_nr; ++s) {
		uint8_t    *p = bv->ov_buf[s];
		m0_bindex_t lo = max64u(start, off);
		m0_bindex_t hi =
			min64u(start + bv->ov_vec.v_count[s], off + nr);
		m0_bindex_t i;

		for (i = lo; i < hi; ++i) {
			uint8_t want = blank ? BLANK : pattern(key, i - off);

			if (fill)
				p[i - start] = want;
			else if (M0_UNLIKELY(p[i - start] != want))
				CF_EQ(p[i - start], want,
				      "%s at byte %llu of [%llu, +%llu)",
				      blank ? "untouched memory" : "data",
				      (unsigned long long)i,
				      (unsigned long long)off,
				      (unsigned long long)nr);
		}
		start += bv->ov_vec.v_count[s];
	}
}

void cf_fill(struct cf_buf *b, m0_bindex_t off, m0_bcount_t nr, uint64_t key)
{
	walk(b, 0, b->cb_size, 0, true, true);
	walk(b, off, nr, key, true, false);
}

void cf_check(struct cf_buf *b, m0_bindex_t off, m0_bcount_t nr, uint64_t key)
{
	walk(b, off, nr, key, false, false);
}

void cf_check_blank(struct cf_buf *b, m0_bindex_t off, m0_bcount_t nr)
{
	walk(b, off, nr, 0, false, true);
}

/* ---------------------------------------------------------- operations -- */

int cf_add(struct cf_buf *b, struct cf_tm *t, enum m0_net_queue_type qt)
{
	struct cf_ledger *l = &t->ct_ledger[qt];
	int               done = cf_get(&b->cb_done);
	int               events = cf_get(&b->cb_events);
	struct cf_tm     *was = b->cb_tm;
	int               rc;

	b->cb_nb.nb_qtype = qt;
	if (qt == M0_NET_QT_MSG_RECV) {
		if (b->cb_nb.nb_min_receive_size == 0)
			b->cb_nb.nb_min_receive_size = b->cb_size;
		if (b->cb_nb.nb_max_receive_msgs == 0)
			b->cb_nb.nb_max_receive_msgs = 1;
	}
	/* Before the call: the event may come before it returns. */
	b->cb_tm = t;
	cf_inc(&b->cb_adds);
	__atomic_store_n(&b->cb_events, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&b->cb_done, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&l->cl_adds, 1, __ATOMIC_RELAXED);
	rc = b->cb_again
		     ? CF_CALL(m0_net_buffer_add_again(&b->cb_nb, &t->ct_tm))
		     : CF_CALL(m0_net_buffer_add(&b->cb_nb, &t->ct_tm));
	if (rc != 0) {
		CF_TRUE(rc < 0, "error of add is negative");
		CF_EQ(b->cb_nb.nb_flags, M0_NET_BUF_REGISTERED,
		      "a refused add has changed nothing");
		__atomic_fetch_sub(&l->cl_adds, 1, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&b->cb_adds, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&b->cb_events, events, __ATOMIC_RELAXED);
		__atomic_store_n(&b->cb_done, done, __ATOMIC_RELEASE);
		b->cb_tm = was;
	}
	return rc;
}

void cf_add_ok(struct cf_buf *b, struct cf_tm *t, enum m0_net_queue_type qt)
{
	CF_EQ(cf_add(b, t, qt), 0, "add to queue %d", (int)qt);
}

m0_time_t cf_add_within(struct cf_buf *b, struct cf_tm *t,
			enum m0_net_queue_type qt, m0_time_t ns)
{
	m0_time_t due;
	int       rc;

	do {
		due = m0_time_now() + ns;
		b->cb_nb.nb_timeout = due;
		rc = cf_add(b, t, qt);
	} while (rc == -ETIME && !cf.c_sim);
	CF_EQ(rc, 0, "add to queue %d with a time-out", (int)qt);
	return due;
}

bool cf_del(struct cf_buf *b)
{
	return CF_CALL(m0_net_buffer_del(&b->cb_nb, &b->cb_tm->ct_tm));
}

struct cf_buf *cf_recv(struct cf_tm *t, m0_bcount_t size)
{
	struct cf_buf *b = cf_buf(t->ct_dom, size);

	cf_add_ok(b, t, M0_NET_QT_MSG_RECV);
	return b;
}

struct cf_buf *cf_msg(struct cf_tm *from, struct cf_tm *to, m0_bcount_t nr,
		      uint64_t key)
{
	struct cf_buf *b = cf_buf(from->ct_dom, nr);

	cf_fill(b, 0, nr, key);
	b->cb_nb.nb_length = nr;
	b->cb_nb.nb_offset = 0;
	b->cb_nb.nb_ep = cf_ep(from, to);
	return b;
}

struct cf_buf *cf_send(struct cf_tm *from, struct cf_tm *to, m0_bcount_t nr,
		       uint64_t key)
{
	struct cf_buf           *b = cf_msg(from, to, nr, key);
	struct m0_net_end_point *ep = b->cb_nb.nb_ep;

	cf_add_ok(b, from, M0_NET_QT_MSG_SEND);
	CF_EQ(m0_net_end_point_put(ep), 0, "end point put");
	return b;
}

struct cf_buf *cf_passive(struct cf_tm *t, enum m0_net_queue_type qt,
			  m0_bcount_t size, struct cf_tm *only)
{
	struct cf_buf *b = cf_buf(t->ct_dom, size);

	b->cb_nb.nb_length = qt == M0_NET_QT_PASSIVE_BULK_SEND ? size : 0;
	b->cb_nb.nb_ep = only == NULL ? NULL : cf_ep(t, only);
	cf_fill(b, 0, b->cb_nb.nb_length, size);
	cf_add_ok(b, t, qt);
	if (only != NULL)
		CF_EQ(m0_net_end_point_put(b->cb_nb.nb_ep), 0, "put");
	CF_TRUE(b->cb_nb.nb_desc.nbd_len > 0 &&
			b->cb_nb.nb_desc.nbd_data != NULL,
		"a passive add sets the descriptor");
	CF_TRUE(b->cb_nb.nb_desc.nbd_len <=
			m0_net_domain_get_max_buffer_desc_size(
				cf_dom(t->ct_dom)),
		"a descriptor keeps its bound");
	return b;
}

struct cf_buf *cf_active(struct cf_tm *t, enum m0_net_queue_type qt,
			 m0_bcount_t size, const struct m0_net_buf_desc *desc)
{
	struct cf_buf *b = cf_buf(t->ct_dom, size);

	b->cb_nb.nb_length = qt == M0_NET_QT_ACTIVE_BULK_SEND ? size : 0;
	cf_fill(b, 0, b->cb_nb.nb_length, size);
	CF_EQ(m0_net_desc_copy(desc, &b->cb_nb.nb_desc), 0, "desc copy");
	cf_add_ok(b, t, qt);
	return b;
}

void cf_done_is(struct cf_buf *b, int want, const char *why)
{
	cf_wait_buf(b);
	CF_EQ(b->cb_last.ce_status, want, "%s", why);
}

void cf_exchange(struct cf_tm *from, struct cf_tm *to)
{
	struct cf_buf *r = cf_recv(to, 512);
	struct cf_buf *s = cf_send(from, to, 200, 77);

	cf_done_is(s, 0, "a message is sent");
	cf_done_is(r, 0, "a message is received");
	CF_EQ(r->cb_last.ce_length, 200, "its length");
	cf_check(r, 0, 200, 77);
	cf_buf_free(r);
	cf_buf_free(s);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A message that overtakes its buffer. The case adds a buffer; a peer learns of it and
 * sends; the node reads the message before it takes the entry of the buffer. The message
 * must find the buffer.
 *
 * The case stops the thread that steps the second node after it has taken entries and
 * before it reads: there it adds the buffer, and the other TM sends.
 */
#include <sched.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "lib/io_hook.h"

#include "m0/lnet.h"
#include "m0/xlnet.h"

#include "cf.h"
#include "lnet_ahead.h"
#include "lnet_rows.h"

enum {
	BYTES = 8000
};

static struct {
	struct cf_tm          *ah_to;
	struct cf_buf         *ah_buf;
	enum m0_net_queue_type ah_qt;
	int                    ah_added;
	int                    ah_sent;
	/** Writes of the first node, before. */
	uint64_t ah_writes_nr;
	/** Polls the machine, if it is inline. */
	struct m0_thread ah_poller;
	int              ah_over;
} ahead;

static void moment(struct io_hook *hook, bool ready)
{
	(void)ready;
	/* The fixture's own look, while another thread is to poll. */
	if ((int)syscall(SYS_gettid) == cf.c_main_tid)
		return;
	io_hook_arm(hook, false);
	io_hook_pass(hook);
	cf_add_ok(ahead.ah_buf, ahead.ah_to, ahead.ah_qt);
	cf_inc(&ahead.ah_added);
	while (!cf_get(&ahead.ah_sent))
		sched_yield();
	/* Has it asked the system? */
	CF_TRUE(io_hook_ready(hook), "what was sent is there");
}

static struct io_hook the_hook = { .ih_call = moment };

void lnet_ahead_begin(void)
{
	lnet_hook = &the_hook;
}

static void polls(struct cf_tm *t)
{
	while (!cf_get(&ahead.ah_over)) {
		(void)m0_net_buffer_event_pending(&t->ct_tm);
		sched_yield();
	}
}

static void poller_begin(struct cf_tm *t)
{
	if (cf_mode_of(t) != CF_INLINE)
		return;
	t->ct_manual = true;
	ahead.ah_over = 0;
	CF_EQ(M0_THREAD_INIT(&ahead.ah_poller, struct cf_tm *, NULL, polls, t,
			     "poller"),
	      0, "a thread");
}

static void poller_end(struct cf_tm *t)
{
	if (cf_mode_of(t) != CF_INLINE)
		return;
	cf_inc(&ahead.ah_over);
	CF_EQ(m0_thread_join(&ahead.ah_poller), 0, "join");
	m0_thread_fini(&ahead.ah_poller);
	t->ct_manual = false;
}

/* Counts the writes of the first node; the other's socket then has the
 * bytes. */
static uint64_t writes_nr(void)
{
	struct m0_lnet_info *info;
	uint64_t             nr = 0;
	unsigned             i;

	CF_EQ(m0_lnet_info_get(lnet_node(0), &info), 0, "a picture");
	for (i = 0; i < info->li_nis_nr; ++i)
		nr += info->li_nis[i].nii_lnd.ldi_write_calls_nr;
	m0_lnet_info_free(info);
	return nr;
}

static bool has_left(void *arg)
{
	(void)arg;
	return writes_nr() > ahead.ah_writes_nr;
}

/* The buffer of `to` that is to be added, and filled if it is to be read. */
static void prepare(struct cf_tm *to, enum m0_net_queue_type qt)
{
	struct cf_buf *b = cf_buf(to->ct_dom, BYTES);

	b->cb_nb.nb_length = qt == M0_NET_QT_PASSIVE_BULK_SEND ? BYTES : 0;
	cf_fill(b, 0, b->cb_nb.nb_length, BYTES);
	ahead.ah_to = to;
	ahead.ah_buf = b;
	ahead.ah_qt = qt;
	ahead.ah_added = 0;
	ahead.ah_sent = 0;
}

/* Starts the operation of `from` that completes the buffer. */
static struct cf_buf *begin(struct cf_tm *from)
{
	if (ahead.ah_qt == M0_NET_QT_MSG_RECV)
		return cf_send(from, ahead.ah_to, BYTES, BYTES);
	return cf_active(from,
			 ahead.ah_qt == M0_NET_QT_PASSIVE_BULK_RECV
				 ? M0_NET_QT_ACTIVE_BULK_SEND
				 : M0_NET_QT_ACTIVE_BULK_RECV,
			 BYTES, &ahead.ah_buf->cb_nb.nb_desc);
}

static void end(struct cf_buf *active)
{
	bool reads = ahead.ah_qt == M0_NET_QT_PASSIVE_BULK_SEND;

	cf_done_is(active, 0, "who has sent");
	cf_done_is(ahead.ah_buf, 0, "the buffer that was there");
	cf_check(reads ? active : ahead.ah_buf, 0, BYTES, BYTES);
	cf_buf_free(active);
	cf_buf_free(ahead.ah_buf);
}

static void ahead_once(struct cf_tm *from, struct cf_tm *to,
		       enum m0_net_queue_type qt)
{
	struct cf_buf *active;

	prepare(to, qt);
	ahead.ah_writes_nr = writes_nr();
	poller_begin(to);
	io_hook_arm(&the_hook, true);
	/* So that somebody steps it. */
	CF_EQ(m0_lnet_lazy_set(lnet_node(1), M0_NET_LNET_PORTAL + 1, false), 0,
	      "anything");
	cf_wait_count(&ahead.ah_added, 1, "a moment before reading");
	active = begin(from);
	cf_wait(has_left, NULL, "it has left");
	cf_inc(&ahead.ah_sent);
	poller_end(to);
	end(active);
}

void lnet_added_before_it_was_sent(void)
{
	static const enum m0_net_queue_type qts[] = {
		M0_NET_QT_MSG_RECV, M0_NET_QT_PASSIVE_BULK_RECV,
		M0_NET_QT_PASSIVE_BULK_SEND
	};
	struct cf_tm *from = cf_up(0);
	struct cf_tm *to = cf_up(1);
	unsigned      i;

	/* The simulator has no threads that could act at the same moment, and a
	 * row with one node sends everything to itself. */
	if (cf.c_sim || lnet_node(1) == NULL)
		return;
	for (i = 0; i < ARRAY_SIZE(qts); ++i) {
		/* First, so that all connections are there. */
		prepare(to, qts[i]);
		cf_add_ok(ahead.ah_buf, to, qts[i]);
		end(begin(from));
		cf_run_ms(10);
		ahead_once(from, to, qts[i]);
	}
}

/* ---------------------------------------- it begins with the poll that asks */

static void bulk_begin(struct cf_buf *m, const struct m0_net_buffer_event *ev)
{
	struct cf_tm *t = container_of(m->cb_nb.nb_tm, struct cf_tm, ct_tm);

	CF_EQ(ev->nbe_status, 0, "a message");
	cf_add_ok(m->cb_arg, t, M0_NET_QT_ACTIVE_BULK_SEND);
}

/*
 * Bulk that a callback asks for has begun when the poll that called it is over:
 * no other poll has to look for what has come in between.
 */
void lnet_begins_with_its_poll(void)
{
	struct cf_tm  *a = cf_up(0);
	struct cf_tm  *b = cf_up(1);
	struct cf_buf *p[2];
	struct cf_buf *active;
	struct cf_buf *m;

	if (cf.c_sim || lnet_node(1) == NULL || cf_mode_of(a) != CF_INLINE)
		return;
	/* The first one has the connections made. */
	p[0] = cf_passive(b, M0_NET_QT_PASSIVE_BULK_RECV, BYTES, NULL);
	cf_done_is(cf_active(a, M0_NET_QT_ACTIVE_BULK_SEND, BYTES,
			     &p[0]->cb_nb.nb_desc),
		   0, "the first");
	cf_done_is(p[0], 0, "the first");
	p[1] = cf_passive(b, M0_NET_QT_PASSIVE_BULK_RECV, BYTES, NULL);
	active = cf_buf(0, BYTES);
	active->cb_nb.nb_length = BYTES;
	cf_fill(active, 0, BYTES, 1);
	CF_EQ(m0_net_desc_copy(&p[1]->cb_nb.nb_desc, &active->cb_nb.nb_desc), 0,
	      "a descriptor");
	m = cf_recv(a, BYTES);
	m->cb_hook = bulk_begin;
	m->cb_arg = active;
	a->ct_manual = true;
	cf_done_is(cf_send(b, a, BYTES, 1), 0, "a message");
	while (!cf_get(&m->cb_done))
		cf_deliver(a);
	CF_TRUE((active->cb_nb.nb_flags & M0_NET_BUF_IN_USE) != 0, "it moves");
	a->ct_manual = false;
	cf_done_is(active, 0, "the second");
	cf_done_is(p[1], 0, "the second");
	cf_check(p[1], 0, BYTES, 1);
}

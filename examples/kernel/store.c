// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A client of m0_net inside the kernel, as a file system is one: a device whose read()
 * and write() move the caller's own pages to and from a file of a remote machine.
 *
 * Each call pins the pages that the caller has named, registers them as a buffer of one
 * segment a page, and offers it as passive bulk: it sends the buffer's descriptor to the
 * server, which moves the data and answers. Then the pages are unpinned. Nothing is
 * copied but by the sockets, and no page is mapped: kernels of 64 bits have an address
 * for each. Calls are served one at a time.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>

#include "kern/kernel.h"
#include "m0/net.h"
#include "m0/xlnet.h"
#include "store.h"

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A remote file as a device, over Colibri");

static char *self;
module_param(self, charp, 0444);
MODULE_PARM_DESC(self, "own address, such as 10.0.0.1@tcp:12345:40:1");
static char *server;
module_param(server, charp, 0444);
MODULE_PARM_DESC(server, "address of the server");
static uint timeout_s = 30;
module_param(timeout_s, uint, 0644);
MODULE_PARM_DESC(timeout_s, "seconds that a call waits for the server");

enum {
	PAGES_MAX = STORE_BYTES_MAX / PAGE_SIZE
};

static DEFINE_MUTEX(calls_lock);
static struct m0_net_domain      domain;
static struct m0_net_transfer_mc tm;
static struct m0_net_end_point  *peer;
/* Messages. */
static struct m0_net_buffer ask, reply;
/* The caller's pages. */
static struct m0_net_buffer bulk;
static struct page         *pages[PAGES_MAX];
static void                *addrs[PAGES_MAX];
static m0_bcount_t          counts[PAGES_MAX];

static struct m0_semaphore changed;
static struct m0_semaphore sent;
static struct m0_semaphore replied;
static struct m0_semaphore moved;
static int                 sent_status;
static int                 moved_status;
static m0_bcount_t         moved_bytes;
/* Guards what is below it. */
static struct m0_mutex reply_lock;
/* The call that waits for its reply; 0: none does. */
static u64 waiting;
static s64 result;
/* No reply can come: its buffer is not queued, and the next call queues it. */
static bool deaf;

/* ---------------------------------------------------------------- events -- */

static void tm_event(const struct m0_net_tm_event *ev)
{
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		m0_semaphore_up(&changed);
}

static void sent_event(const struct m0_net_buffer_event *ev)
{
	sent_status = ev->nbe_status;
	m0_semaphore_up(&sent);
}

static void moved_event(const struct m0_net_buffer_event *ev)
{
	moved_status = ev->nbe_status;
	moved_bytes = ev->nbe_length;
	m0_semaphore_up(&moved);
}

/* reply_lock is held, and a call waits. */
static void reply_tell(s64 said)
{
	waiting = 0;
	result = said;
	m0_semaphore_up(&replied);
}

/* An answer to a call that no longer waits is dropped. */
static void reply_take(const struct store_reply *r)
{
	m0_mutex_lock(&reply_lock);
	if (waiting != 0 && r->r_id == waiting)
		reply_tell(r->r_result);
	m0_mutex_unlock(&reply_lock);
}

/* There was no memory to queue the buffer: a call that waits ends at once. */
static void reply_none(int rc)
{
	m0_mutex_lock(&reply_lock);
	deaf = true;
	if (waiting != 0)
		reply_tell(rc);
	m0_mutex_unlock(&reply_lock);
}

static void reply_event(const struct m0_net_buffer_event *ev)
{
	int rc;

	if (ev->nbe_status == 0 && ev->nbe_length == sizeof(struct store_reply))
		reply_take(reply.nb_buffer.ov_buf[0]);
	/* The machine is stopping. */
	if (ev->nbe_status == -ECANCELED)
		return;
	rc = m0_net_buffer_add(&reply, &tm);
	if (rc != 0)
		reply_none(rc);
}

/* The call `id` waits from now on: its reply will find the buffer. */
static int reply_listen(u64 id)
{
	bool was_deaf;
	int  rc;

	m0_mutex_lock(&reply_lock);
	was_deaf = deaf;
	deaf = false;
	waiting = id;
	m0_mutex_unlock(&reply_lock);
	rc = was_deaf ? m0_net_buffer_add(&reply, &tm) : 0;
	if (rc != 0)
		reply_none(rc);
	return rc;
}

static const struct m0_net_tm_callbacks tm_calls = { .ntc_event_cb = tm_event };
static const struct m0_net_buffer_callbacks calls = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = reply_event,
		    [M0_NET_QT_MSG_SEND] = sent_event,
		    [M0_NET_QT_PASSIVE_BULK_RECV] = moved_event,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = moved_event },
};

/* ----------------------------------------------------------------- calls -- */

/* Pins the pages of `bytes` at `at`, as the segments of the buffer. Returns their number. */
static int pages_pin(unsigned long at, size_t bytes, bool to_caller)
{
	size_t offset = offset_in_page(at);
	int    wanted = (int)DIV_ROUND_UP(offset + bytes, PAGE_SIZE);
	int    nr = pin_user_pages_fast(at & PAGE_MASK, wanted,
                                     to_caller ? FOLL_WRITE : 0, pages);
	int    i;

	if (nr < wanted) {
		if (nr > 0)
			unpin_user_pages(pages, (unsigned long)nr);
		return nr < 0 ? nr : -EFAULT;
	}
	for (i = 0; i < nr; ++i) {
		addrs[i] = page_address(pages[i]) + offset;
		counts[i] = min_t(size_t, bytes, PAGE_SIZE - offset);
		bytes -= counts[i];
		offset = 0;
	}
	M0_SET0(&bulk);
	bulk.nb_buffer.ov_vec.v_nr = (uint32_t)nr;
	bulk.nb_buffer.ov_vec.v_count = counts;
	bulk.nb_buffer.ov_buf = addrs;
	bulk.nb_callbacks = &calls;
	return nr;
}

static int ask_send(enum store_op op, size_t bytes, loff_t at)
{
	static u64        calls_nr;
	struct store_ask *a = ask.nb_buffer.ov_buf[0];
	int               rc;

	if (bulk.nb_desc.nbd_len > STORE_DESC_MAX)
		return -EMSGSIZE;
	memset(a, 0, sizeof *a);
	a->a_id = ++calls_nr;
	a->a_offset = (u64)at;
	a->a_bytes = (u32)bytes;
	a->a_op = op;
	a->a_desc_len = bulk.nb_desc.nbd_len;
	memcpy(a->a_desc, bulk.nb_desc.nbd_data, bulk.nb_desc.nbd_len);
	rc = reply_listen(a->a_id);
	if (rc != 0)
		return rc;
	ask.nb_qtype = M0_NET_QT_MSG_SEND;
	ask.nb_length = sizeof *a;
	ask.nb_ep = peer;
	ask.nb_timeout = m0_time_from_now(timeout_s, 0);
	rc = m0_net_buffer_add(&ask, &tm);
	if (rc != 0)
		return rc;
	m0_semaphore_down(&sent);
	return sent_status;
}

/* Returns what the server says, or why it says nothing. */
static s64 reply_wait(void)
{
	bool came = m0_semaphore_timeddown(&replied,
					   m0_time_from_now(timeout_s, 0));

	m0_mutex_lock(&reply_lock);
	if (!came && waiting == 0)
		/* The reply came just now. */
		came = m0_semaphore_trydown(&replied);
	waiting = 0;
	m0_mutex_unlock(&reply_lock);
	return came ? result : -ETIMEDOUT;
}

/* A reply may come even if it seems that the message was not sent. */
static void reply_forget(void)
{
	m0_mutex_lock(&reply_lock);
	waiting = 0;
	(void)m0_semaphore_trydown(&replied);
	m0_mutex_unlock(&reply_lock);
}

static ssize_t bulk_offer(enum store_op op, size_t bytes, loff_t at)
{
	s64 said;
	int rc;

	bulk.nb_qtype = op == STORE_READ ? M0_NET_QT_PASSIVE_BULK_RECV
					 : M0_NET_QT_PASSIVE_BULK_SEND;
	bulk.nb_length = bytes;
	bulk.nb_ep = peer;
	bulk.nb_timeout = m0_time_from_now(timeout_s, 0);
	rc = m0_net_buffer_add(&bulk, &tm);
	if (rc != 0)
		return rc;
	said = ask_send(op, bytes, at);
	if (said == 0)
		said = reply_wait();
	else
		reply_forget();
	/* Nothing was moved, or nobody knows: the pages are taken back. */
	if (said <= 0)
		(void)m0_net_buffer_del(&bulk, &tm);
	/* In any case its event comes, and no sooner are the pages free. */
	m0_semaphore_down(&moved);
	m0_net_desc_free(&bulk.nb_desc);
	if (said <= 0)
		return said;
	if (moved_status != 0)
		return moved_status;
	if (op == STORE_READ)
		return (ssize_t)moved_bytes;
	return said > (s64)bytes ? -EPROTO : (ssize_t)said;
}

static ssize_t part_move(enum store_op op, unsigned long buf, size_t bytes,
			 loff_t at)
{
	bool    to_caller = op == STORE_READ;
	int     nr = pages_pin(buf, bytes, to_caller);
	ssize_t rc;

	if (nr < 0)
		return nr;
	rc = m0_net_buffer_register(&bulk, &domain);
	if (rc == 0) {
		rc = bulk_offer(op, bytes, at);
		(void)m0_net_buffer_deregister(&bulk, &domain);
	}
	unpin_user_pages_dirty_lock(pages, (unsigned long)nr, to_caller);
	return rc;
}

/* As many bytes as fit into the pages of one buffer, again and again. */
static ssize_t parts_move(enum store_op op, unsigned long buf, size_t bytes,
			  loff_t *at)
{
	size_t done = 0;

	while (done < bytes) {
		size_t  room = STORE_BYTES_MAX - offset_in_page(buf + done);
		size_t  part = min(bytes - done, room);
		ssize_t nr = part_move(op, buf + done, part, *at);

		if (nr < 0)
			return done > 0 ? (ssize_t)done : nr;
		done += (size_t)nr;
		*at += nr;
		if ((size_t)nr < part || fatal_signal_pending(current))
			break;
	}
	return (ssize_t)done;
}

static ssize_t call(enum store_op op, const void __user *buf, size_t bytes,
		    loff_t *at)
{
	unsigned flags;
	ssize_t  rc = mutex_lock_interruptible(&calls_lock);

	if (rc != 0)
		return rc;
	/* As in the write-out of a file system: memory is got without another. */
	flags = memalloc_noio_save();
	rc = m0_kernel_enter();
	if (rc == 0) {
		rc = parts_move(op, (unsigned long)buf, bytes, at);
		m0_kernel_leave();
	}
	memalloc_noio_restore(flags);
	mutex_unlock(&calls_lock);
	return rc;
}

static ssize_t store_read(struct file *file, char __user *buf, size_t bytes,
			  loff_t *at)
{
	return call(STORE_READ, buf, bytes, at);
}

static ssize_t store_write(struct file *file, const char __user *buf,
			   size_t bytes, loff_t *at)
{
	return call(STORE_WRITE, buf, bytes, at);
}

static const struct file_operations store_calls = {
	/* An open file keeps the module loaded. */
	.owner = THIS_MODULE,
	.read = store_read,
	.write = store_write,
	.llseek = default_llseek,
};

static struct miscdevice device = { .minor = MISC_DYNAMIC_MINOR,
				    .name = "colibri-store",
				    .fops = &store_calls,
				    .mode = 0600 };

/* ---------------------------------------------------------- load, unload -- */

static int message_make(struct m0_net_buffer *buf, m0_bcount_t bytes)
{
	int rc = m0_bufvec_alloc(&buf->nb_buffer, 1, bytes);

	buf->nb_callbacks = &calls;
	return rc ?: m0_net_buffer_register(buf, &domain);
}

static void message_end(struct m0_net_buffer *buf)
{
	if (buf->nb_dom != NULL)
		(void)m0_net_buffer_deregister(buf, &domain);
	m0_bufvec_free(&buf->nb_buffer);
}

static void machine_end(void)
{
	if (peer != NULL)
		m0_net_end_point_put(peer);
	if (tm.ntm_state == M0_NET_TM_STARTED && m0_net_tm_stop(&tm, true) == 0)
		m0_semaphore_down(&changed);
	message_end(&ask);
	message_end(&reply);
	if (tm.ntm_state != M0_NET_TM_UNDEFINED)
		(void)m0_net_tm_fini(&tm);
	if (domain.nd_xprt != NULL)
		(void)m0_net_domain_fini(&domain);
	(void)m0_net_fini();
}

static int machine_start(void)
{
	int rc = m0_net_domain_init(&domain, &m0_lnet_xprt) ?:
		 m0_net_tm_init(&tm, &domain) ?: m0_net_tm_start(&tm, self);

	if (rc != 0)
		return rc;
	m0_semaphore_down(&changed);
	if (tm.ntm_state != M0_NET_TM_STARTED)
		return -EADDRNOTAVAIL;
	rc = m0_net_end_point_create(&peer, &tm, server) ?:
	     message_make(&ask, sizeof(struct store_ask)) ?:
	     message_make(&reply, sizeof(struct store_reply));
	reply.nb_qtype = M0_NET_QT_MSG_RECV;
	reply.nb_min_receive_size = sizeof(struct store_reply);
	reply.nb_max_receive_msgs = 1;
	return rc ?: m0_net_buffer_add(&reply, &tm);
}

static int machine_open(void)
{
	int rc;

	(void)m0_semaphore_init(&changed, 0);
	(void)m0_semaphore_init(&sent, 0);
	(void)m0_semaphore_init(&replied, 0);
	(void)m0_semaphore_init(&moved, 0);
	m0_mutex_init(&reply_lock);
	tm.ntm_callbacks = &tm_calls;
	rc = m0_net_init();
	if (rc != 0)
		return rc;
	rc = machine_start() ?: misc_register(&device);
	if (rc != 0)
		machine_end();
	return rc;
}

static int __init store_start(void)
{
	int rc;

	if (self == NULL || server == NULL)
		return -EINVAL;
	rc = m0_kernel_enter();
	if (rc == 0) {
		rc = machine_open();
		m0_kernel_leave();
	}
	return rc;
}

static void __exit store_end(void)
{
	misc_deregister(&device);
	while (m0_kernel_enter() != 0)
		schedule_timeout_uninterruptible(1);
	machine_end();
	m0_kernel_leave();
}

module_init(store_start);
module_exit(store_end);

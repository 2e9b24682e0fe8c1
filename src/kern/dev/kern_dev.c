/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The file of the device, and its thread.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "kern/dev/kern_dev.h"
#include "kern/dev/kern_version.h"
#include "kern/os/kern_tls.h"

enum {
	/** A process registers memory one by one, unlike the daemon's. */
	REGIONS_MAX = 4096
};

static struct kern_device the_device;

int kern_device_enter(void)
{
	int rc;

	while ((rc = kern_enter()) == -EAGAIN) {
		if (fatal_signal_pending(current))
			return -EINTR;
		schedule_timeout_killable(1);
	}
	return rc;
}

/* ---------------------------------------------------------------- thread -- */

void kern_device_kick(struct kern_device *device)
{
	smp_store_mb(device->knv_kicked, true);
	wake_up(&device->knv_queue);
}

static struct kern_session *session_next(struct kern_device        *device,
					 const struct kern_session *ses)
{
	const struct list_head *at = ses == NULL ? &device->knv_sessions
						 : &ses->kne_link;
	struct list_head       *next;

	/* Others may add; only this thread deletes. */
	spin_lock(&device->knv_lock);
	next = at->next;
	spin_unlock(&device->knv_lock);
	return next == &device->knv_sessions
		       ? NULL
		       : list_entry(next, struct kern_session, kne_link);
}

static void sessions_step(struct kern_device *device)
{
	struct kern_session *ses = session_next(device, NULL);
	struct kern_session *next;

	for (; ses != NULL; ses = next) {
		bool is_done = kern_session_step(ses);

		next = session_next(device, ses);
		if (!is_done)
			continue;
		spin_lock(&device->knv_lock);
		list_del(&ses->kne_link);
		spin_unlock(&device->knv_lock);
		kern_session_free(ses);
	}
}

static void device_run(struct kern_device *device)
{
	while (!READ_ONCE(device->knv_stops) ||
	       session_next(device, NULL) != NULL) {
		wait_event_idle(device->knv_queue,
				xchg(&device->knv_kicked, false));
		sessions_step(device);
	}
}

/* ------------------------------------------------------------------ file -- */

static int dev_open(struct inode *inode, struct file *file)
{
	struct kern_session *ses;
	int                  rc;

	rc = kern_session_new(&the_device, &ses);
	if (rc != 0)
		return rc;
	file->private_data = ses;
	return stream_open(inode, file);
}

static int dev_release(struct inode *inode, struct file *file)
{
	(void)inode;
	kern_session_release(file->private_data);
	return 0;
}

/* The process ends, though a child may have the file and the area still. */
static int dev_flush(struct file *file, fl_owner_t id)
{
	struct kern_session *ses = file->private_data;

	if (id == ses->kne_files && (current->flags & PF_EXITING) != 0)
		kern_session_end(ses);
	return 0;
}

static ssize_t dev_write(struct file *file, const char __user *from,
			 size_t bytes, loff_t *at)
{
	union m0_attach_msg msg;
	int                 rc;

	(void)at;
	if (bytes > sizeof msg)
		return -EMSGSIZE;
	M0_SET0(&msg);
	if (copy_from_user(&msg, from, bytes) != 0)
		return -EFAULT;
	rc = kern_session_write(file->private_data, &msg, bytes);
	return rc == 0 ? (ssize_t)bytes : rc;
}

static ssize_t dev_read(struct file *file, char __user *to, size_t bytes,
			loff_t *at)
{
	union m0_attach_msg msg;
	int                 rc;

	(void)at;
	if (bytes < sizeof msg)
		return -EMSGSIZE;
	rc = kern_session_read(file->private_data, &msg);
	if (rc > 0 && copy_to_user(to, &msg, (size_t)rc) != 0)
		return -EFAULT;
	return rc;
}

static __poll_t dev_poll(struct file *file, struct poll_table_struct *table)
{
	struct kern_session *ses = file->private_data;

	poll_wait(file, &ses->kne_wait, table);
	if (smp_load_acquire(&ses->kne_is_over))
		return EPOLLIN | EPOLLRDNORM | EPOLLRDHUP | EPOLLHUP;
	return READ_ONCE(ses->kne_rung) ? EPOLLIN | EPOLLRDNORM : 0;
}

static long dev_ioctl(struct file *file, unsigned cmd, unsigned long arg)
{
	struct kern_session *ses = file->private_data;

	switch (cmd) {
	case M0_ATTACH_DEVICE_RING:
		return kern_session_ring(ses);
	case M0_ATTACH_DEVICE_CALM:
		smp_store_mb(ses->kne_rung, false);
		return 0;
	case M0_ATTACH_DEVICE_PROCS:
		return kern_procs_tell(ses,
				       (struct m0_attach_procs __user *)arg);
	default:
		return -ENOTTY;
	}
}

/* A child would be a second producer. */
static int dev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kern_session *ses = file->private_data;
	void                *area = smp_load_acquire(&ses->kne_area);

	if (area == NULL || vma->vm_pgoff != 0 ||
	    (vma->vm_flags & VM_SHARED) == 0)
		return -EINVAL;
	kern_vm_flags_add(vma, VM_DONTCOPY | VM_DONTDUMP);
	return remap_vmalloc_range(vma, area, 0);
}

static const struct file_operations dev_ops = {
	.owner = THIS_MODULE,
	.open = dev_open,
	.release = dev_release,
	.flush = dev_flush,
	.write = dev_write,
	.read = dev_read,
	.poll = dev_poll,
	.unlocked_ioctl = dev_ioctl,
	.compat_ioctl = dev_ioctl,
	.mmap = dev_mmap,
	.llseek = noop_llseek,
};

/* ------------------------------------------------------------------ life -- */

static char *dev_node(KERN_DEVNODE_CONST struct device *dev, umode_t *mode,
		      kuid_t *uid, kgid_t *gid)
{
	const struct kern_device_cfg *cfg = &the_device.knv_cfg;

	(void)dev;
	/* The kernel asks for the name alone when it removes the file. */
	if (mode != NULL)
		*mode = (umode_t)cfg->kvc_mode;
	if (uid != NULL)
		*uid = make_kuid(&init_user_ns, cfg->kvc_uid);
	if (gid != NULL)
		*gid = make_kgid(&init_user_ns, cfg->kvc_gid);
	return NULL;
}

static const struct device_type dev_type = {
	.name = "colibri",
	.devnode = dev_node,
};

/* The structure is part of the_device. */
static void dev_released(struct device *dev)
{
	(void)dev;
}

static int file_make(struct kern_device *device)
{
	int rc = alloc_chrdev_region(&device->knv_number, 0, 1, "colibri");

	if (rc != 0)
		return rc;
	device->knv_class = kern_class_create("colibri");
	if (IS_ERR(device->knv_class)) {
		unregister_chrdev_region(device->knv_number, 1);
		return (int)PTR_ERR(device->knv_class);
	}
	cdev_init(&device->knv_cdev, &dev_ops);
	device->knv_cdev.owner = THIS_MODULE;
	device_initialize(&device->knv_dev);
	device->knv_dev.class = device->knv_class;
	device->knv_dev.type = &dev_type;
	device->knv_dev.devt = device->knv_number;
	device->knv_dev.release = dev_released;
	rc = dev_set_name(&device->knv_dev, "colibri");
	if (rc == 0)
		rc = cdev_device_add(&device->knv_cdev, &device->knv_dev);
	if (rc == 0)
		return 0;
	put_device(&device->knv_dev);
	class_destroy(device->knv_class);
	unregister_chrdev_region(device->knv_number, 1);
	return rc;
}

static void file_end(struct kern_device *device)
{
	cdev_device_del(&device->knv_cdev, &device->knv_dev);
	put_device(&device->knv_dev);
	class_destroy(device->knv_class);
	unregister_chrdev_region(device->knv_number, 1);
}

static void thread_end(struct kern_device *device)
{
	WRITE_ONCE(device->knv_stops, true);
	kern_device_kick(device);
	m0_thread_join(&device->knv_thread);
	m0_thread_fini(&device->knv_thread);
}

int kern_device_start(const struct kern_device_cfg *cfg)
{
	struct kern_device *device = &the_device;
	int                 rc;

	device->knv_cfg = *cfg;
	device->knv_serve = m0_serve_cfg_default;
	device->knv_serve.svg_shared.shc_regions_max = REGIONS_MAX;
	device->knv_serve.svg_bytes_max = cfg->kvc_bytes_max;
	init_waitqueue_head(&device->knv_queue);
	spin_lock_init(&device->knv_lock);
	init_waitqueue_head(&device->knv_gone);
	INIT_LIST_HEAD(&device->knv_sessions);
	INIT_LIST_HEAD(&device->knv_nodes);
	rc = M0_THREAD_INIT(&device->knv_thread, struct kern_device *, NULL,
			    &device_run, device, "colibri-dev");
	device->knv_is_there = rc == 0;
	return rc;
}

int kern_device_show(void)
{
	struct kern_device *device = &the_device;
	int                 rc;

	M0_PRE(device->knv_is_there);
	rc = file_make(device);
	device->knv_is_shown = rc == 0;
	return rc;
}

void kern_device_stop(void)
{
	struct kern_device *device = &the_device;

	if (!device->knv_is_there)
		return;
	M0_PRE(list_empty(&device->knv_nodes));
	if (device->knv_is_shown)
		file_end(device);
	thread_end(device);
	device->knv_is_shown = false;
	device->knv_is_there = false;
}

/* ----------------------------------------------------------------- nodes -- */

struct kern_device_node *kern_device_node_add(struct m0_lnet *lnet,
					      struct net     *net)
{
	struct kern_device      *device = &the_device;
	struct kern_device_node *node;

	M0_PRE(device->knv_is_there);
	M0_ALLOC_PTR(node);
	if (node == NULL)
		return NULL;
	node->kvn_lnet = lnet;
	node->kvn_net = net;
	spin_lock(&device->knv_lock);
	list_add_tail(&node->kvn_link, &device->knv_nodes);
	spin_unlock(&device->knv_lock);
	return node;
}

static bool node_is_free(struct kern_device            *device,
			 const struct kern_device_node *node)
{
	bool is_free;

	spin_lock(&device->knv_lock);
	is_free = node->kvn_sessions_nr == 0;
	spin_unlock(&device->knv_lock);
	return is_free;
}

void kern_device_node_del(struct kern_device_node *node)
{
	struct kern_device  *device = &the_device;
	struct kern_session *ses;

	if (node == NULL)
		return;
	spin_lock(&device->knv_lock);
	list_del(&node->kvn_link);
	list_for_each_entry(ses, &device->knv_sessions, kne_link)
	{
		if (ses->kne_node == node)
			kern_session_end(ses);
	}
	spin_unlock(&device->knv_lock);
	wait_event_idle(device->knv_gone, node_is_free(device, node));
	m0_serve_tms_fini(&node->kvn_tms);
	m0_free(node);
}

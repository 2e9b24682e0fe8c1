/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The device by which processes share the node of the module: the second server of the
 * shared area of docs/ring.md, next to the daemon's socket. Both have the same server of a
 * process (serve/serve.h) and the same messages (ring/attach_msg.h).
 *
 * A process that opens the device has a session. It writes messages and reads the answers,
 * maps the area, rings by an ioctl, and is woken by poll. One thread, that of the device,
 * ends sessions and lets go of memory, so that nobody waits for it: neither the node's
 * thread nor a process that dies.
 */
#ifndef M0_SRC_KERN_DEV_KERN_DEV_H
#define M0_SRC_KERN_DEV_KERN_DEV_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rwsem.h>

#include "kern/dev/kern_device.h"
#include "kern/os/kern_os.h"
#include "serve/serve_maps.h"

/* ---------------------------------------------------------------- memory -- */

/** Pages of a process, which stay where they are, and have one address here. */
struct kern_pin {
	struct m0_serve_map kni_map;
	struct page       **kni_pages;
	unsigned long       kni_nr;
	void               *kni_at;
	/** The pages count for its RLIMIT_MEMLOCK. */
	struct mm_struct *kni_mm;
};

/**
 * Pins memory of the calling process, which need not be inside the library. It may wait for
 * the process itself.
 * @retval -EFAULT  it cannot be written.
 * @retval -EDQUOT  beyond RLIMIT_MEMLOCK.
 * @retval -ENOMEM
 */
int  kern_pin_make(uint64_t addr, uint64_t bytes, struct kern_pin **ret,
		   char why[M0_ATTACH_WHY_BYTES]);
void kern_pin_free(struct kern_pin *pin);

/* -------------------------------------------------------------- sessions -- */

enum kern_session_state {
	/** Its HELLO is awaited. */
	KERN_GREETING,
	KERN_OPEN,
	/** The node's thread releases all that it held. */
	KERN_ENDING,
	/** Nothing is left but the area. */
	KERN_GONE
};

struct kern_session {
	struct kern_device *kne_device;
	/** Until KERN_GONE; then NULL, by knv_lock. */
	struct kern_device_node *kne_node;
	/** In knv_sessions. */
	struct list_head       kne_link;
	struct m0_shared_creds kne_creds;
	/** The process that has opened it, which others may know by another number. */
	struct pid *kne_pid;
	/** The process that has opened it may change the node. */
	bool kne_may_change;
	/** Time of its HELLO. */
	m0_time_t kne_since;
	/** The memory of the process that has opened it: no other's is registered. */
	struct mm_struct *kne_mm;
	/** The table of files of who has opened it, only to be compared. */
	fl_owner_t kne_files;
	/** Processes wait for events, or for the end. */
	wait_queue_head_t kne_wait;
	/** Atomic: the server has rung; the session is to end; nobody has it open; everything
	 * is released (svo_ended); ENDED can be read. */
	bool kne_rung;
	bool kne_ends;
	bool kne_is_released;
	bool kne_has_ended;
	bool kne_is_over;
	/** One message at a time; guards the next three. A process may hold it as long as it
	 * likes, so the device's thread does not take it. */
	struct mutex        kne_lock;
	union m0_attach_msg kne_answer;
	bool                kne_has_answer;
	bool                kne_is_told;
	/** Guards the state; a thread that uses kne_serve has it for reading. A process may hold
	 * it as long as it likes, so the device's thread only tries to take it. */
	struct rw_semaphore kne_sem;
	/** Atomic: the device's thread is kicked when it is released. */
	bool                    kne_sem_is_wanted;
	enum kern_session_state kne_state;
	/** Atomic: set once it may be mapped. */
	void    *kne_area;
	uint64_t kne_area_bytes;
	/** Why it has ended; set before kne_is_over. */
	int                  kne_rc;
	char                 kne_why[M0_ATTACH_WHY_BYTES];
	struct m0_serve_maps kne_maps;
	struct m0_serve      kne_serve;
};

/** @retval -EUSERS  too many are open. @retval -ENXIO  the namespace of the process has no
 * node. @retval -EPERM  a thread of the kernel. @retval -ENOMEM */
int kern_session_new(struct kern_device *device, struct kern_session **ret);
/** Takes a message. @retval -EPERM  REGION of a process that has not opened it. @return 0
 * or a negative errno */
int kern_session_write(struct kern_session *ses, const union m0_attach_msg *msg,
		       size_t bytes);
/** Gives the next message. @return its bytes; 0: there will be none; -EAGAIN: none now. */
int kern_session_read(struct kern_session *ses, union m0_attach_msg *ret);
/** The process rings. @retval -EPIPE  it has ended. */
int kern_session_ring(struct kern_session *ses);
/** The session is to end. Any context that may sleep. */
void kern_session_end(struct kern_session *ses);
/** Nobody has it open any more: it is not to be used again. */
void kern_session_release(struct kern_session *ses);
/** Does what is due. The device's thread. @return true: it is to be freed. */
bool kern_session_step(struct kern_session *ses);
void kern_session_free(struct kern_session *ses);
/** Tells the calling process what the process of a session has; knv_lock is held.
 * @return false: it is not attached. */
bool kern_session_tell(const struct kern_session *ses,
		       struct m0_attach_proc     *ret);
/** M0_ATTACH_DEVICE_PROCS: of the node that a session has. @return 0 or a negative errno */
int kern_procs_tell(const struct kern_session     *of,
		    struct m0_attach_procs __user *arg);

/* ---------------------------------------------------------------- device -- */

/** The node of a network namespace. */
struct kern_device_node {
	struct m0_lnet *kvn_lnet;
	struct net     *kvn_net;
	/** Transfer machines of its sessions. The node's thread. */
	struct m0_serve_tms kvn_tms;
	/** In knv_nodes. */
	struct list_head kvn_link;
	/** Its sessions that are not KERN_GONE, by knv_lock. */
	unsigned kvn_sessions_nr;
	/** Processes that have attached, and that were refused. */
	atomic64_t kvn_attached_nr;
	atomic64_t kvn_refused_nr;
};

struct kern_device {
	bool                   knv_is_there;
	bool                   knv_is_shown;
	struct kern_device_cfg knv_cfg;
	struct m0_serve_cfg    knv_serve;
	/** Bytes of memory of all sessions. Atomic. */
	uint64_t         knv_bytes;
	struct m0_thread knv_thread;
	/** The thread waits here; atomic: it has something to do; it is to end. */
	wait_queue_head_t knv_queue;
	bool              knv_kicked;
	bool              knv_stops;
	/** Guards the lists; the thread alone takes sessions off. */
	spinlock_t       knv_lock;
	struct list_head knv_sessions;
	struct list_head knv_nodes;
	/** A thread that ends a node waits here. */
	wait_queue_head_t knv_gone;
	dev_t             knv_number;
	struct class     *knv_class;
	struct cdev       knv_cdev;
	struct device     knv_dev;
};

/** The thread has something to do. Any thread. */
void kern_device_kick(struct kern_device *device);

/** A thread of a process enters the library. @retval -EINTR  it is to die. */
int kern_device_enter(void);

#endif /* M0_SRC_KERN_DEV_KERN_DEV_H */

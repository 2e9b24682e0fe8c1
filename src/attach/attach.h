/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The client half: a process attaches to the daemon that serves its host's node, and gets
 * its side of a shared area (ring/shared.h), with all that the side needs of the system.
 */
#ifndef M0_SRC_ATTACH_ATTACH_H
#define M0_SRC_ATTACH_ATTACH_H

#include "attach/proto.h"
#include "m0/sync.h"
#include "ring/shared_entry.h"

#define M0_ATTACH_PATH "/run/colibri/attach.sock"

/** An attachment. */
struct m0_attach {
	/** Joined; its host is this structure. */
	struct m0_shared_side att_side;
	void                 *att_area;
	uint64_t              att_area_bytes;
	/** Most bytes of regions; enum m0_shared_right. */
	uint64_t att_bytes_max;
	uint32_t att_right;
	/** The server's credentials. */
	struct m0_shared_creds att_creds;
	/** Number of this process for the server; 0: it has none there. */
	uint32_t att_pid;
	/** The server is a device of the kernel, in place of a daemon's socket. */
	bool att_is_device;
	int  att_sock;
	/** Written to wake the server; read to find that it wakes this side. Device: -1, and
	 * another descriptor of the same file. */
	int att_server_bell;
	int att_bell;
	/** Written to end a wait of this process. */
	int att_rouse;
	/** Processes of the daemon copy from each other's memory, this one, too. Set by the
	 * owner before it gives regions, and under att_lock after m0_attach_swap(). */
	bool att_copies;
	/** Connections with other processes of the daemon; a wait ends by them, too. NULL:
	 * there can be none. Kept by m0_attach_swap(). */
	struct m0_attach_near *att_near;
	/** Tells that a process that has this number is this one. */
	uint64_t att_cookie[2];
	/** Guards requests on the socket. */
	struct m0_mutex att_lock;
};

/**
 * Attaches.
 * @param path  of a daemon's socket, or of the device of the kernel; NULL: M0_ATTACH_PATH.
 * @param cfg   sizes that are wanted, 0 for those of the daemon; NULL: all of the daemon.
 *              The daemon grants these sizes, or those that its policy allows.
 * @param why   a reason, with a remedy, after an error.
 * @retval -ENOENT, -ECONNREFUSED  no daemon listens there.
 * @retval -EACCES, -EPERM         this user may not attach.
 * @retval -EUSERS                 too many processes are attached.
 * @retval -ETIMEDOUT              the daemon does not answer.
 * @retval -EPROTO, -EPROTONOSUPPORT
 */
int m0_attach_open(struct m0_attach *att, const char *path,
		   const struct m0_shared_cfg *cfg, m0_time_t deadline,
		   char why[M0_ATTACH_WHY_BYTES]);
/**
 * Asks to be attached; m0_attach_finish() follows, or m0_attach_close(). As m0_attach_open(),
 * which is both. Waits only for a daemon with a full queue.
 */
int m0_attach_begin(struct m0_attach *att, const char *path,
		    const struct m0_shared_cfg *cfg, m0_time_t deadline,
		    char why[M0_ATTACH_WHY_BYTES]);
/** Waits for the answer. m0_attach_close() follows any error but -ETIMEDOUT, after which
 * it may be called again. */
int m0_attach_finish(struct m0_attach *att, m0_time_t deadline,
		     char why[M0_ATTACH_WHY_BYTES]);
/** `att` becomes what `next` is, and keeps its lock and m0_attach_rouse(); what it was is
 * closed. The thread that uses the side. */
void m0_attach_swap(struct m0_attach *att, struct m0_attach *next);
/** Detaches. The server releases what this process held; memory of regions stays. */
void m0_attach_close(struct m0_attach *att);

/** For poll(): readable when the server rings, or is gone. */
static inline int m0_attach_fd(const struct m0_attach *att)
{
	return att->att_bell;
}
/** Ends the present or the next shh_wait() of this process. Any thread. */
void m0_attach_rouse(struct m0_attach *att);
/** Makes m0_attach_fd() unreadable again, until the next ring. */
void m0_attach_bell_take(struct m0_attach *att);
/** As m0_attach_bell_take(), and forgets m0_attach_rouse(). */
void m0_attach_calm(struct m0_attach *att);
/** Closes a descriptor, if there is one. */
void m0_attach__close(int *fd);
/** Is the server gone? Any thread. */
bool m0_attach_is_dead(const struct m0_attach *att);
/**
 * Why the server has ended the attachment. Once it is dead.
 * @return a negative errno; 0: this process has asked for it.
 */
int m0_attach_reason(struct m0_attach *att, char why[M0_ATTACH_WHY_BYTES]);

/**
 * Hands memory over to the server; M0_SHARED_REGION_ADD with the same number and at most
 * `bytes` may follow. Any thread; waits for the server.
 * @param addr  of the memory in this process. Socket: with att_copies others may copy from
 *              it.
 * @param fd    of memory as m0_os_shm_open() makes it; may be closed afterwards. Device:
 *              not used.
 * @retval -EINVAL  the memory could shrink, or is less than `bytes`, ...
 * @retval -EEXIST  the number is in use.
 * @retval -EDQUOT  too many bytes.
 * @retval -EPIPE, -ETIMEDOUT
 */
int m0_attach_region_give(struct m0_attach *att, uint32_t nr, const void *addr,
			  int fd, uint64_t bytes, m0_time_t deadline,
			  char why[M0_ATTACH_WHY_BYTES]);

/* -- device.c -------------------------------------------------------------- */

/** Is the path that of a device? */
bool m0_attach__is_device(const char *path);
/** Opens it. */
int m0_attach__device_open(struct m0_attach *att, const char *path,
			   char why[M0_ATTACH_WHY_BYTES]);
/** Sends a message. @return 0 or a negative errno */
int m0_attach__device_send(const struct m0_attach      *att,
			   const struct m0_attach_head *head);
/** As m0_attach__recv(). */
int m0_attach__device_recv(const struct m0_attach *att,
			   struct m0_attach_in    *in);
/** Rings the server's bell. */
void m0_attach__device_ring(const struct m0_attach *att);
/** The device is not readable until the server rings again. */
void m0_attach__device_calm(const struct m0_attach *att);
/** Maps the area. */
int m0_attach__device_map(struct m0_attach *att, uint64_t bytes, void **ret,
			  char why[M0_ATTACH_WHY_BYTES]);

/**
 * May this process copy for the daemon? Only for one that can do no more than the process
 * itself, or is root's: it names the memory that is read. And only if numbers of processes mean
 * the same to both.
 */
bool m0_attach_may_copy(const struct m0_attach *att);
/**
 * Copies the pieces of a payload to `to`, one place for each.
 * @retval -EPERM   the daemon is not trusted, or the system does not allow it.
 * @retval -ESRCH   the process has ended. @retval -EFAULT  it has not so much memory there.
 */
int m0_attach_copy(const struct m0_attach      *att,
		   const struct m0_shared_copy *copy, void *const *to);

/** Lets m0_lnet_open() attach. Each program that has this room does it before main(). */
void m0_attach__install(void);

#endif /* M0_SRC_ATTACH_ATTACH_H */

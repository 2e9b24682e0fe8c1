/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Thread-local state inside the kernel, which has no thread-local variables: a table of
 * slots, which a thread finds by hashing its task.
 *
 * A thread calls kern_enter() before it calls any other function of the library, and
 * kern_leave() before it ends or goes away. Threads of m0_thread_init() do so by
 * themselves. A call of the library from a thread that has not entered, or from an
 * interrupt, is a bug of the caller.
 */
#ifndef M0_SRC_KERN_OS_KERN_TLS_H
#define M0_SRC_KERN_OS_KERN_TLS_H

#include "os/os_internal.h"

enum {
	/** Threads that are inside the library at one time. */
	KERN_THREADS_MAX = 1 << 8,
	KERN_THREADS_BITS = 8
};

/**
 * The calling thread enters the library. Process context.
 * @retval -EAGAIN  KERN_THREADS_MAX threads are inside.
 * @retval -EBUSY   the thread is inside already.
 */
int kern_enter(void);
/**
 * Enters, and waits until another thread has left if need be: for what must be done, and
 * cannot be put off. Pre: the thread is not inside.
 */
void kern_enter_wait(void);
/** The calling thread leaves. Pre: it is inside, and holds no lock. */
void kern_leave(void);
bool kern_is_inside(void);

/**
 * The network namespace of the nodes that the thread opens, a struct net; NULL, as at
 * first: that of the host. Pre: it is inside.
 */
void **kern_net_here(void);

/** Rooms above os that keep state of their own for each thread. */
enum kern_room {
	KERN_ROOM_NET,
	KERN_ROOM_KIT,
	KERN_ROOMS_NR
};

enum {
	KERN_ROOM_BYTES = 256
};

/** The state of a room for this thread, all zeroes at first. Pre: it is inside. */
void *kern_room(enum kern_room room);

#endif /* M0_SRC_KERN_OS_KERN_TLS_H */

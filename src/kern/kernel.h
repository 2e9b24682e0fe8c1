/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The calls by which threads of other modules enter the library and leave it. The
 * public headers have the rest (docs/kernel.md).
 *
 * A thread calls m0_kernel_enter() before it calls any other function of the library,
 * and m0_kernel_leave() before it leaves the caller's module. It may sleep in between,
 * and keep calls of both to where it comes in and goes out. Callbacks come on threads
 * of the library, which are inside.
 *
 * m0_net_domain_init() of the LNet transport uses the node of the module, if it has one
 * (parameter `networks`), besides those that were given to m0_net_lnet_use().
 * m0_net_tm_fd() is -ENOSYS. [r.M0.net.xprt.lnet.kernel]
 */
#ifndef M0_SRC_KERN_KERNEL_H
#define M0_SRC_KERN_KERNEL_H

/**
 * The calling thread enters the library. Process context.
 * @retval -EAGAIN  256 threads are inside.
 * @retval -EBUSY   the thread is inside already.
 */
int m0_kernel_enter(void);
/** The calling thread leaves. Pre: it is inside, and holds no lock of the library. */
void m0_kernel_leave(void);

#endif /* M0_SRC_KERN_KERNEL_H */

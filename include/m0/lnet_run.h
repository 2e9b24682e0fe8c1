/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * For authors of layers above m0/lnet.h: the thread that runs the node also
 * does work of these layers, so that handling a message does not require waking
 * another thread.
 */
#ifndef M0_LNET_RUN_H
#define M0_LNET_RUN_H

#include "m0/lnet.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A runner. The node calls its ru_run after the callbacks of a pass, in the
 * same context: on the node's thread (inline: in m0_lnet_progress), with no
 * lock held.
 */
struct m0_lnet_runner {
	/** @return time of the next call; M0_TIME_NEVER: only when woken. */
	m0_time_t (*ru_run)(struct m0_lnet_runner *runner, m0_time_t now);
	/**
	 * Has the runner something to post? NULL: no. The node asks before it drops a
	 * message for which there is no ME; if so, the message waits until ru_run was
	 * called once more. The function is called with a lock held, and calls nothing
	 * of m0/lnet.h.
	 */
	bool (*ru_is_behind)(struct m0_lnet_runner *runner);
	/**
	 * Is an MD for these match bits on its way, for which the runner has asked? As
	 * ru_is_behind, without which it is not called; the node asks again after the next
	 * ru_run, so the runner bounds the time. NULL: no.
	 */
	bool (*ru_is_held)(struct m0_lnet_runner *runner, uint32_t portal,
			   uint64_t match_bits);
	/** For the library. */
	struct m0_list_link ru_link;
	struct m0_list_link ru_woken_link;
	struct m0_list_link ru_behind_link;
	bool                ru_woken;
	m0_time_t           ru_at;
};

/**
 * Adds a runner. The node first calls it when it is woken. Pre: ru_run is set.
 */
M0_EXTERN void m0_lnet_runner_add(struct m0_lnet        *lnet,
				  struct m0_lnet_runner *runner);
/** Removes a runner. When this has returned, the node does not call it any
 * more. Not from ru_run itself. */
M0_EXTERN void m0_lnet_runner_del(struct m0_lnet        *lnet,
				  struct m0_lnet_runner *runner);
/**
 * Makes the node call the runner soon. Any thread; the caller may hold locks.
 * It makes a system call only if the node's thread sleeps, and none in
 * callbacks.
 */
M0_EXTERN void m0_lnet_runner_wake(struct m0_lnet        *lnet,
				   struct m0_lnet_runner *runner);

/**
 * Gives an inline node a thread, permanently: m0_lnet_progress() does nothing
 * from now on. It may wait for a pass that another thread runs.
 * @retval 0        the node has a thread.
 * @retval -EDEADLK called from a callback of the node.
 * @retval <0       the thread could not be created.
 */
M0_EXTERN int m0_lnet_thread_start(struct m0_lnet *lnet);
/**
 * Inline: starts all operations posted since the last progress, without looking
 * for incoming messages. Does nothing if no operation was posted.
 */
M0_EXTERN void m0_lnet_push(struct m0_lnet *lnet);
/**
 * m0_lnet_progress() for a thread that polls all the time, and has just read
 * the clock as `now`. It processes incoming messages first. It may leave other
 * work to the next call, but not twice in a row.
 */
M0_EXTERN bool m0_lnet_poll_at(struct m0_lnet *lnet, m0_time_t now);
/**
 * m0_lnet_me_attach and m0_lnet_md_attach in one. The ME has no handle, and
 * ends with its MD. Pre: M0_LNET_ME_UNLINK in mea_flags.
 * @param ret  the MD.
 * @retval as both of them; after an error nothing was attached.
 */
M0_EXTERN int m0_lnet_entry_attach(struct m0_lnet               *lnet,
				   const struct m0_lnet_me_attr *me_attr,
				   const struct m0_lnet_md_attr *md_attr,
				   struct m0_lnet_handle        *ret);
/**
 * m0_lnet_md_bind and m0_lnet_put in one. If the MD does not end with the PUT,
 * the caller may put more from it.
 * @param ret  the MD.
 * @retval as both of them; after an error nothing was bound.
 */
M0_EXTERN int m0_lnet_bind_put(struct m0_lnet               *lnet,
			       const struct m0_lnet_md_attr *attr,
			       const struct m0_lnet_op      *op,
			       struct m0_lnet_handle        *ret);
/** m0_lnet_md_bind and m0_lnet_get in one, as m0_lnet_bind_put(). */
M0_EXTERN int m0_lnet_bind_get(struct m0_lnet               *lnet,
			       const struct m0_lnet_md_attr *attr,
			       const struct m0_lnet_op      *op,
			       struct m0_lnet_handle        *ret);
/**
 * Sets a function that the node calls after the queue's last callback of a
 * pass, or before another queue's, on the same thread. So work that the
 * callback began for one event may continue for the events that follow, with a
 * lock held, too. Before the first MD.
 */
M0_EXTERN void m0_lnet_eq_told_set(struct m0_lnet_eq *eq,
				   void (*told)(struct m0_lnet_eq *eq));
/**
 * Bounds the incoming messages of a queue that has a callback, as eq_max bounds those
 * of a polled one: the node drops a message if it has accepted `max` messages that
 * m0_lnet_eq_taken() has not released. Call it while the queue has no MD.
 * @param all  a bounded queue whose bound counts for this one, too: one for several
 *             queues. It lives longer. NULL: there is none.
 * @param full the node calls it on its thread before it drops a message; it may call
 *             m0_lnet_eq_taken(), and nothing else of m0/lnet.h. NULL: none.
 * @retval -ENOSPC, -ENOMEM  the node has no number for the queue.
 */
M0_EXTERN int m0_lnet_eq_bound_set(struct m0_lnet_eq *eq, unsigned max,
				   const struct m0_lnet_eq *all,
				   void (*full)(struct m0_lnet_eq *eq));
/** Releases `nr` more incoming messages of a bounded queue, which its owner has
 * processed. The caller releases them in the queue `all`, too. One thread at a time. */
M0_EXTERN void m0_lnet_eq_taken(struct m0_lnet_eq *eq, uint32_t nr);
/**
 * m0_lnet_confine() for the layer above: it applies while the node has no set
 * of its own.
 * @param processors  NULL: remove the hint.
 */
M0_EXTERN int m0_lnet_confine_hint(struct m0_lnet         *lnet,
				   const struct m0_bitmap *processors);
/**
 * Claims the number of a transfer machine on a portal. If the node is shared by processes
 * (lc_attach), the daemon gives it to one of them, and the function waits for the answer; else
 * it returns `wanted`.
 * @param wanted  0 to 4095, or 4096: the highest that is free.
 * @retval -EADDRINUSE     another machine has it; or another process has an ME on the portal
 *                         that may match it.
 * @retval -EACCES         the daemon's policy does not admit the portal or the number.
 * @retval -EADDRNOTAVAIL  none is free.
 * @retval -ETIMEDOUT      the daemon has not answered for 5 seconds.
 * @retval -ESHUTDOWN, -ENOMEM, -ENOSYS
 */
M0_EXTERN int m0_lnet_tm_claim(struct m0_lnet *lnet, uint32_t portal,
			       uint32_t wanted, uint32_t *ret);
/** Gives a number back. Any thread. */
M0_EXTERN void m0_lnet_tm_release(struct m0_lnet *lnet, uint32_t portal,
				  uint32_t nr);
/**
 * True if the node is in another process (lc_attach), so that other processes may have the
 * same NIDs.
 */
M0_EXTERN bool m0_lnet_is_attached(const struct m0_lnet *lnet);
/**
 * True if the node was in another process, and that has ended the attachment: every
 * operation has ended, or ends, with -ESHUTDOWN. The front then wakes all runners, and also
 * when it is attached again (lc_reattach_ns), which makes it false. Any thread.
 */
M0_EXTERN bool m0_lnet_is_ended(const struct m0_lnet *lnet);
/**
 * True if the node has no thread: it moves only when a thread makes progress.
 */
M0_EXTERN bool m0_lnet_is_inline(const struct m0_lnet *lnet);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_RUN_H */

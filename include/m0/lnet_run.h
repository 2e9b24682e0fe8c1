/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For authors of layers above m0/lnet.h: work of theirs that is done by the
 * thread that runs the node, so that what a message leads to costs no wake-up
 * of another thread.
 */
#ifndef M0_LNET_RUN_H
#define M0_LNET_RUN_H

#include "m0/lnet.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A runner: its ru_run is called after the events of a pass were told, in their
 * context: on the node's thread (inline: in m0_lnet_progress), no lock held.
 */
struct m0_lnet_runner {
	/** @return when to be called again, M0_TIME_NEVER: when woken. */
	m0_time_t (*ru_run)(struct m0_lnet_runner *runner, m0_time_t now);
	/** The library's. */
	struct m0_list_link ru_link;
	struct m0_list_link ru_woken_link;
	bool                ru_woken;
	m0_time_t           ru_at;
};

/** `ru_run` is set. It is called once woken. */
M0_EXTERN void m0_lnet_runner_add(struct m0_lnet        *lnet,
				  struct m0_lnet_runner *runner);
/** It is not called any more when this returns. Not from ru_run itself. */
M0_EXTERN void m0_lnet_runner_del(struct m0_lnet        *lnet,
				  struct m0_lnet_runner *runner);
/**
 * Has it called soon. Any thread, locks of the caller may be held; a system
 * call only if the node's thread sleeps, none from callbacks.
 */
M0_EXTERN void m0_lnet_runner_wake(struct m0_lnet        *lnet,
				   struct m0_lnet_runner *runner);

/**
 * Gives an inline node a thread, for good: m0_lnet_progress() does nothing from
 * now on. May wait for a pass that another thread makes.
 * @retval 0        it has one.
 * @retval -EDEADLK called from a callback of the node.
 * @retval <0       no thread could be made.
 */
M0_EXTERN int m0_lnet_thread_start(struct m0_lnet *lnet);
/**
 * Inline: what was asked for since the last progress leaves now, and nobody
 * looks for what has come. Does nothing if nothing was asked for.
 */
M0_EXTERN void m0_lnet_push(struct m0_lnet *lnet);
/**
 * m0_lnet_progress() of who does so all the time, and has just read the clock: it
 * is `now`. He hears what has come first; what else there is to do may be left to
 * his next call, but not twice in a row.
 */
M0_EXTERN bool m0_lnet_poll_at(struct m0_lnet *lnet, m0_time_t now);
/**
 * m0_lnet_me_attach and m0_lnet_md_attach in one. The entry has no handle, it
 * ends with its MD. Pre: M0_LNET_ME_UNLINK in mea_flags.
 * @param ret  the MD.
 * @retval as of both; then nothing was attached.
 */
M0_EXTERN int m0_lnet_entry_attach(struct m0_lnet               *lnet,
				   const struct m0_lnet_me_attr *me_attr,
				   const struct m0_lnet_md_attr *md_attr,
				   struct m0_lnet_handle        *ret);
/**
 * m0_lnet_md_bind and m0_lnet_put in one. More may be put from the MD if it
 * outlives that.
 * @param ret  the MD.
 * @retval as of both; then nothing was bound.
 */
M0_EXTERN int m0_lnet_bind_put(struct m0_lnet               *lnet,
			       const struct m0_lnet_md_attr *attr,
			       const struct m0_lnet_op      *op,
			       struct m0_lnet_handle        *ret);
/** The same with m0_lnet_get. */
M0_EXTERN int m0_lnet_bind_get(struct m0_lnet               *lnet,
			       const struct m0_lnet_md_attr *attr,
			       const struct m0_lnet_op      *op,
			       struct m0_lnet_handle        *ret);
/**
 * `told` is called after the queue's events of a pass, or before another
 * queue's, by the same thread: what the callback began for one event may go on
 * for those that follow, a lock included. Before the first MD.
 */
M0_EXTERN void m0_lnet_eq_told_set(struct m0_lnet_eq *eq,
				   void (*told)(struct m0_lnet_eq *eq));
/**
 * m0_lnet_confine() for the layer above: counts while the node has no set of its
 * own. @param processors  NULL: no hint any more.
 */
M0_EXTERN int m0_lnet_confine_hint(struct m0_lnet         *lnet,
				   const struct m0_bitmap *processors);
/** Has it none? Then it moves only when somebody makes progress. */
M0_EXTERN bool m0_lnet_is_inline(const struct m0_lnet *lnet);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_RUN_H */

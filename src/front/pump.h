/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The pump: it stands where the node stands for a front whose node is in another
 * process. It takes what the front posts, and puts it into the memory that the process
 * shares with the server of that node (ring/shared.h); and it posts the events that the
 * server has put. docs/ring.md is the specification of the shared memory.
 *
 * Nothing that the server writes is trusted: whatever breaks the rules is as the death
 * of the server. Then every operation, MD, ME and request ends once, with -ESHUTDOWN.
 *
 * The pump runs in the step of the front: m0_lnet_progress() and the like.
 */
#ifndef M0_SRC_FRONT_PUMP_H
#define M0_SRC_FRONT_PUMP_H

#include "m0/lnet_run.h"
#include "front/pump_near.h"
#include "ring/shared_entry.h"

/** Functions that the pump needs besides struct m0_shared_host, whose shh_wait() also
 * ends by puh_rouse(). */
struct m0_pump_host {
	/**
	 * Hands the memory of region `nr` to the server, which is asked to map it
	 * afterwards: a region of the library's allocator (m0_os_region_fd()). The
	 * thread that registers the memory. NULL: the server has all memory.
	 * @return 0 or a negative errno
	 */
	int (*puh_share)(void *arg, uint32_t nr, void *addr, uint64_t bytes);
	/** puh_share() takes any memory, so none needs a shadow. */
	bool puh_takes_any;
	/** The server does not have region `nr` any more, or has never mapped it; NULL:
	 * does nothing. Any thread. */
	void (*puh_unshare)(void *arg, uint32_t nr);
	/**
	 * Copies the pieces of a payload from another process to `to`, one place for each.
	 * A lock is held. In a step; NULL: the server is to copy.
	 * @return 0 or a negative errno
	 */
	int (*puh_copy)(void *arg, const struct m0_shared_copy *copy,
			void *const *to);
	/** Connections with neighbours; NULL: there are none. */
	const struct m0_pump_near_ops *puh_near;
	/** Makes the present or the next shh_wait() of this process end; NULL: the
	 * front has one thread. Any thread. */
	void (*puh_rouse)(void *arg);
	/** A descriptor that is readable when shh_wait() would end, and from the time
	 * that puh_fd_arm() gave; -errno. NULL: there is none. */
	int (*puh_fd)(void *arg);
	/** Makes it unreadable, until something comes or at `deadline`. */
	void (*puh_fd_arm)(void *arg, m0_time_t deadline);
	/** The attachment has ended. `why` has the reason if the server has broken the
	 * rules, for the log; else its field is NULL. Once for each attachment. In a step; NULL: does
	 * nothing. */
	void (*puh_ended)(void *arg, const struct m0_shared_why *why);
	/**
	 * The attachment has ended, and everything with it: looks for a server, and does not
	 * wait. In a step; NULL: the front attaches once.
	 * @return 0: there is one, and puh_swap() follows, and no other function before it.
	 * @retval -EINPROGRESS  it has not answered. @retval -EPROTO  its area is another one.
	 */
	int (*puh_again)(void *arg, m0_time_t now);
	/** The new side, with an area of the same sizes; the old one is gone. Under locks.
	 * @param arg  the host may change it. */
	struct m0_shared_side *(*puh_swap)(void **arg);
	/** m0_lnet_close() has ended: side, area and host are not used any more. NULL:
	 * does nothing. */
	void (*puh_closed)(void *arg);
	/** The strand of the front is stepped and never calls shh_wait(), as in the
	 * simulator: each step ends with the word of the sleeper set, and the host calls
	 * m0_pump_wake() when the server rings or dies. */
	bool puh_is_stepped;
};

/**
 * Makes a front that is attached by `side`. m0_lnet_close() ends it.
 * @param cfg   of the front; the area bounds the numbers of objects.
 * @param side  the client's, joined; it stays where it is until puh_closed().
 * @param nids  NIDs of the node, `0@lo` first; with 0 of them m0_pump_nids_get() is due.
 * @retval -EINVAL  the area is too small. @retval -ENOMEM
 */
int m0_pump_open(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
		 struct m0_shared_side *side, const struct m0_lnet_nid *nids,
		 unsigned nids_nr, const struct m0_pump_host *host, void *arg);
/**
 * Asks the node for its NIDs, and waits for the answer.
 * @retval -ESHUTDOWN, -ENOMEM, -EPROTO
 */
int m0_pump_nids_get(struct m0_lnet *lnet);
/** The server is gone: the next step ends what is outstanding. Any thread. */
void m0_pump_end(struct m0_lnet *lnet);
/** The server has rung, or is gone: the front is to look. For puh_is_stepped. */
void m0_pump_wake(struct m0_lnet *lnet);
/** Has the attachment ended? */
bool m0_pump_is_ended(const struct m0_lnet *lnet);
/** A wait of a strand for an answer: it moves entries, and looks for the death of
 * the server. */
void m0_pump_turn(struct m0_lnet *lnet);

#endif /* M0_SRC_FRONT_PUMP_H */

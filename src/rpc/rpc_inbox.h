/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The inbox of a machine: calls from any thread, and threads that wait for the
 * machine. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_RPC_INBOX_H
#define M0_SRC_RPC_RPC_INBOX_H

/** Something for the machine's thread to do. */
struct m0_rpc__call {
	struct m0_rpc__call *rcl_next;
	void (*rcl_run)(struct m0_rpc__machine *m, struct m0_rpc__call *call);
};

/** Calls from other threads, and the threads that wait for the machine. Each
 * group of fields that other threads write has its own cache line. */
struct m0_rpc__inbox {
	/** Stack of calls; the sentinel of rpc_inbox.c if the machine has ended. */
	_Alignas(64) struct m0_rpc__call *rib_head;
	/** Items that other threads have posted; the sum with
	 * rib_cached_own_nr, which may be negative, is the number of items that
	 * have not ended. Atomic. */
	uint32_t rib_cached_nr;
	/** Threads that push to an empty inbox and have not left the wake.
	 * Atomic. */
	uint32_t rib_wakers_nr;

	/** Threads that wait. Atomic; the list is under the lock. */
	_Alignas(64) uint32_t rib_waiters_nr;
	struct m0_mutex rib_waiters_lock;
	struct m0_list  rib_waiters;
	/** Serialises threads that run calls of an ended machine. */
	struct m0_mutex rib_ended_lock;
	/** Inline mode: wakes a thread that waits and has nothing to do. */
	struct m0_mutex rib_notice_lock;
	struct m0_chan  rib_notice;

	/** Calls that the machine's thread has pushed, in their order. */
	_Alignas(64) struct m0_rpc__call *rib_own_head;
	struct m0_rpc__call *rib_own_tail;
	/** Items that the machine's thread has posted, less all that have
	 * ended. Atomic. */
	uint32_t rib_cached_own_nr;
	/** Runs the machine's own calls and what they leave for the end of a
	 * step, until nothing is left. The machine sets it; the inbox calls it
	 * when a thread does something for a machine that has ended, which has
	 * no step any more. */
	void (*rib_rest)(struct m0_rpc__machine *m);
	/** Something that a thread may wait for has changed in this step. */
	bool rib_changed;
};

void m0_rpc__inbox_init(struct m0_rpc__inbox *inbox,
			void (*rest)(struct m0_rpc__machine *m));
void m0_rpc__inbox_fini(struct m0_rpc__inbox *inbox);
/**
 * Any thread, no lock. Calls of one thread are run in their order.
 * @retval -ESHUTDOWN  the machine has ended: it will not be run.
 */
static inline int m0_rpc__call_push(struct m0_rpc__machine *m,
				    struct m0_rpc__call    *call);
/** Push by a thread that is not the machine's. */
int m0_rpc__inbox_push(struct m0_rpc__machine *m, struct m0_rpc__call *call);
/** Until nobody is inside a wake of the machine. */
void m0_rpc__wakers_wait(const struct m0_rpc__machine *m);
/**
 * Runs fn(machine, arg) where the machine moves, and waits. An application's
 * thread, or the machine's own. Also when the machine has ended.
 */
void m0_rpc__do(struct m0_rpc__machine *m,
		void (*fn)(struct m0_rpc__machine *m, void *arg), void *arg);
/** The machine that this thread moves; NULL: none. */
M0_TLS_EXTERN(struct m0_rpc__machine *, m0_rpc__here);
/** Is this thread in a callback or step of the machine? */
static inline bool m0_rpc__is_here(const struct m0_rpc__machine *m)
{
	return *m0_rpc__here() == m;
}
/** Begins, ends a callback of the machine; returns what to end with. */
static inline struct m0_rpc__machine *m0_rpc__enter(struct m0_rpc__machine *m)
{
	struct m0_rpc__machine *before = *m0_rpc__here();

	*m0_rpc__here() = m;
	return before;
}
static inline void m0_rpc__leave(struct m0_rpc__machine *before)
{
	*m0_rpc__here() = before;
}
/**
 * Waits until cond(arg), which is asked on any thread, without locks, and only
 * reads. Not on the machine's thread.
 * @retval -ETIMEDOUT
 */
int m0_rpc__wait(struct m0_rpc__machine *m, bool (*cond)(void *arg), void *arg,
		 m0_time_t abs_timeout);
/** Something has changed that may be waited for: the step's end looks. */
static inline void m0_rpc__changed(struct m0_rpc__machine *m);
/** Wake the threads whose conditions are met; the end of a step. */
void m0_rpc__waiters_wake(struct m0_rpc__machine *m);
/** Runs what the machine's thread has pushed. */
void m0_rpc__own_run(struct m0_rpc__machine *m);
/** Runs what has been pushed. */
void m0_rpc__calls_run(struct m0_rpc__machine *m);
/** Is there something to run? */
bool m0_rpc__calls_wait(const struct m0_rpc__machine *m);
/** Nothing is pushed any more; what was is run. An application's thread. */
void m0_rpc__calls_close(struct m0_rpc__machine *m);

/** The machine's thread. */
static inline bool m0_rpc__inbox_invariant(const struct m0_rpc__inbox *inbox)
{
	return _0C((inbox->rib_own_head == NULL) ==
		   (inbox->rib_own_tail == NULL)) &&
	       _0C(inbox->rib_rest != NULL);
}

#endif /* M0_SRC_RPC_RPC_INBOX_H */

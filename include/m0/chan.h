/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Channels: streams of events without data. Threads put clinks on a channel.
 * Each event runs the call-back of a clink, or wakes a thread that waits on the
 * clink.
 *
 * The guard of a channel, a mutex of its owner, protects it. The caller of a
 * function without `_lock` in its name holds the guard; a function with `_lock`
 * takes it. Call-backs run under the guard, on the thread that signals, and
 * must not block. If a call-back signals its own channel, that event comes
 * after the current one.
 */
#ifndef M0_CHAN_H
#define M0_CHAN_H

#include "m0/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_clink;

/**
 * Called for an event. Returns true if it consumes the event: waiters of the
 * clink then do not wake.
 */
typedef bool (*m0_chan_cb_t)(struct m0_clink *link);

struct m0_chan {
	struct m0_mutex *ch_guard;
	/** Clinks, oldest first. */
	struct m0_list ch_links;
	/** Number of clinks. */
	uint32_t ch_waiters;
	/**
	 * True while an event runs call-backs; below, the events signalled
	 * meanwhile, to one clink and to all.
	 */
	bool     ch_is_telling;
	uint32_t ch_one_nr;
	uint32_t ch_all_nr;
};

/**
 * One subscription to a channel. Clinks on different channels may form a group:
 * a thread that waits on the head of the group, or on any member, wakes for
 * events of all of them.
 */
struct m0_clink {
	struct m0_chan *cl_chan;
	m0_chan_cb_t    cl_cb;
	/** Head of the group; the clink itself if it is the head. */
	struct m0_clink    *cl_group;
	struct m0_list_link cl_linkage;
	struct m0_semaphore cl_wait;
	/** The clink leaves the channel by itself at its first event. */
	bool cl_is_oneshot;
};

M0_EXTERN void m0_chan_init(struct m0_chan *chan, struct m0_mutex *ch_guard);
/** Finalises a channel, under the guard. Pre: no clinks. */
M0_EXTERN void m0_chan_fini(struct m0_chan *chan);
M0_EXTERN void m0_chan_fini_lock(struct m0_chan *chan);

static inline void m0_chan_lock(struct m0_chan *chan)
{
	m0_mutex_lock(chan->ch_guard);
}

static inline void m0_chan_unlock(struct m0_chan *chan)
{
	m0_mutex_unlock(chan->ch_guard);
}

static inline bool m0_chan_is_locked(const struct m0_chan *chan)
{
	return m0_mutex_is_locked(chan->ch_guard);
}

/**
 * Signals all clinks, or one clink if `nr` is 1. Pre: the channel has clinks.
 */
M0_EXTERN void m0_chan_signal_nr(struct m0_chan *chan, uint32_t nr);

/** Signals an event to the clink that has waited longest. */
static inline void m0_chan_signal(struct m0_chan *chan)
{
	if (M0_UNLIKELY(chan->ch_waiters > 0))
		m0_chan_signal_nr(chan, 1);
}

/**
 * Signals an event to all clinks. It costs next to nothing if there are none.
 */
static inline void m0_chan_broadcast(struct m0_chan *chan)
{
	if (M0_UNLIKELY(chan->ch_waiters > 0))
		m0_chan_signal_nr(chan, chan->ch_waiters);
}

M0_EXTERN void m0_chan_signal_lock(struct m0_chan *chan);
M0_EXTERN void m0_chan_broadcast_lock(struct m0_chan *chan);

/** True if there are clinks on the channel. Without the guard it is a hint. */
static inline bool m0_chan_has_waiters(const struct m0_chan *chan)
{
	return __atomic_load_n(&chan->ch_waiters, __ATOMIC_RELAXED) > 0;
}

/**
 * Initialises a clink.
 * @param cb  may be NULL: events wake waiters.
 */
M0_EXTERN void m0_clink_init(struct m0_clink *link, m0_chan_cb_t cb);
/** Finalises a clink. Pre: on no channel. */
M0_EXTERN void m0_clink_fini(struct m0_clink *link);
/** Initialises `link` as a member of the group of `group`, which is a head. */
M0_EXTERN void m0_clink_attach(struct m0_clink *link, struct m0_clink *group,
			       m0_chan_cb_t cb);
/**
 * Puts the clink on the channel. The head of a group (a clink without a group
 * is one) loses its earlier events: waits see only events signalled from now
 * on.
 */
M0_EXTERN void m0_clink_add(struct m0_chan *chan, struct m0_clink *link);
M0_EXTERN void m0_clink_add_lock(struct m0_chan *chan, struct m0_clink *link);
/** Takes the clink off its channel. The clink's own call-back may do so. */
M0_EXTERN void m0_clink_del(struct m0_clink *link);
M0_EXTERN void m0_clink_del_lock(struct m0_clink *link);
/** True if the clink is on a channel. */
M0_EXTERN bool m0_clink_is_armed(const struct m0_clink *link);
/** Signals an event to this clink alone, which need not be on a channel. */
M0_EXTERN void m0_clink_signal(struct m0_clink *link);
/** Takes the clink off its channel if it still is on one. */
M0_EXTERN void m0_clink_cleanup(struct m0_clink *link);
/** m0_clink_cleanup() for a caller that holds the guard. */
M0_EXTERN void m0_clink_cleanup_locked(struct m0_clink *link);

/**
 * Consumes an event of the clink or of its group. Returns false if there is
 * none. Never blocks.
 */
M0_EXTERN bool m0_chan_trywait(struct m0_clink *link);
/**
 * Waits for an event of the clink or of its group; each event ends one wait.
 * Pre: the caller does not hold the guard.
 */
M0_EXTERN void m0_chan_wait(struct m0_clink *link);
/**
 * Waits until `deadline` at most. Returns false if there was no event by then.
 */
M0_EXTERN bool m0_chan_timedwait(struct m0_clink *link, m0_time_t deadline);

#ifdef __cplusplus
}
#endif
#endif /* M0_CHAN_H */

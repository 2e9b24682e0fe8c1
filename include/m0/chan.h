/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Channels: a stream of events without data. Clinks are put on a channel; for
 * each event a clink's call-back runs, or a thread that waits on it wakes.
 *
 * A channel is protected by its guard, a mutex of its owner: names without
 * `_lock` are called under it, those with `_lock` take it. Call-backs
 * run under it, on the signaller's thread, and must not block. An event that a
 * call-back declares on its own channel comes after the one it is called for.
 */
#ifndef M0_CHAN_H
#define M0_CHAN_H

#include "m0/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_clink;

/**
 * Called for an event. True: the event is consumed here, waiters of the clink
 * do not wake.
 */
typedef bool (*m0_chan_cb_t)(struct m0_clink *link);

struct m0_chan {
	struct m0_mutex *ch_guard;
	/** Clinks, oldest first. */
	struct m0_list ch_links;
	/** Number of them. */
	uint32_t ch_waiters;
	/** An event is being told; and those declared meanwhile, to one clink and
	 * to all. */
	bool     ch_is_telling;
	uint32_t ch_one_nr;
	uint32_t ch_all_nr;
};

/**
 * One party's interest in a channel. Clinks may form a group, on channels of
 * their own: who waits on the first, the group's head, wakes for any of them.
 */
struct m0_clink {
	struct m0_chan *cl_chan;
	m0_chan_cb_t    cl_cb;
	/** Head of the group; itself if it is the head. */
	struct m0_clink    *cl_group;
	struct m0_list_link cl_linkage;
	struct m0_semaphore cl_wait;
	/** Leaves the channel by itself when an event has been seen. */
	bool cl_is_oneshot;
};

M0_EXTERN void m0_chan_init(struct m0_chan *chan, struct m0_mutex *ch_guard);
/** Under the guard. Pre: no clinks. */
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

/** m0_chan_broadcast() with clinks, or to one clink only. */
M0_EXTERN void m0_chan_signal_nr(struct m0_chan *chan, uint32_t nr);

/** Declares an event to the clink that waits for the longest time. */
static inline void m0_chan_signal(struct m0_chan *chan)
{
	if (M0_UNLIKELY(chan->ch_waiters > 0))
		m0_chan_signal_nr(chan, 1);
}

/** Declares an event to all clinks. Next to nothing if there are none. */
static inline void m0_chan_broadcast(struct m0_chan *chan)
{
	if (M0_UNLIKELY(chan->ch_waiters > 0))
		m0_chan_signal_nr(chan, chan->ch_waiters);
}

M0_EXTERN void m0_chan_signal_lock(struct m0_chan *chan);
M0_EXTERN void m0_chan_broadcast_lock(struct m0_chan *chan);

/** True if there are clinks on the channel. A hint without the guard. */
static inline bool m0_chan_has_waiters(const struct m0_chan *chan)
{
	return __atomic_load_n(&chan->ch_waiters, __ATOMIC_RELAXED) > 0;
}

/** @param cb  may be NULL: events wake waiters. */
M0_EXTERN void m0_clink_init(struct m0_clink *link, m0_chan_cb_t cb);
/** Pre: on no channel. */
M0_EXTERN void m0_clink_fini(struct m0_clink *link);
/** Initialises `link` as a member of the group of `group`, itself a head. */
M0_EXTERN void m0_clink_attach(struct m0_clink *link, struct m0_clink *group,
			       m0_chan_cb_t cb);
/**
 * Puts the clink on the channel. The head of a group, which a clink of its own
 * is, starts without events: waits see only what is declared from now on.
 */
M0_EXTERN void m0_clink_add(struct m0_chan *chan, struct m0_clink *link);
M0_EXTERN void m0_clink_add_lock(struct m0_chan *chan, struct m0_clink *link);
/** Takes the clink off its channel. Also from its own call-back. */
M0_EXTERN void m0_clink_del(struct m0_clink *link);
M0_EXTERN void m0_clink_del_lock(struct m0_clink *link);
/** True if the clink is on a channel. */
M0_EXTERN bool m0_clink_is_armed(const struct m0_clink *link);
/** An event for this clink alone, on a channel or not. */
M0_EXTERN void m0_clink_signal(struct m0_clink *link);
/** Takes the clink off its channel if it still is on one. */
M0_EXTERN void m0_clink_cleanup(struct m0_clink *link);
/** The same under the guard. */
M0_EXTERN void m0_clink_cleanup_locked(struct m0_clink *link);

/** True, and the event is taken, if one waits for the clink. Never blocks. */
M0_EXTERN bool m0_chan_trywait(struct m0_clink *link);
/**
 * Waits for an event of the clink or of its group; each event ends one wait.
 * The guard is not held.
 */
M0_EXTERN void m0_chan_wait(struct m0_clink *link);
/** False if `deadline` has passed first. */
M0_EXTERN bool m0_chan_timedwait(struct m0_clink *link, m0_time_t deadline);

#ifdef __cplusplus
}
#endif
#endif /* M0_CHAN_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Two sides that move bytes between them: two processes, or two threads, or
 * one thread in turns. Side 0 is the caller and measures; side 1 serves.
 */
#ifndef BENCH_NET_WORLD_H
#define BENCH_NET_WORLD_H

#include <semaphore.h>
#include <stdatomic.h>

#include "../lib/bench.h"

enum world_kind {
	/** Two processes. */
	WORLD_FORK,
	/** Two threads: for transports that stay in the process. */
	WORLD_THREADS,
	/** The caller serves, too: for counters. */
	WORLD_TURNS
};

/** Something that both sides take part in. */
struct world_play {
	/** Before the sides part: shared memory, sockets. */
	void (*wp_prepare)(void *arg);
	/** Each side for itself. */
	void (*wp_open)(void *arg, int side);
	void (*wp_close)(void *arg, int side);
	/** Side 1, again and again while the play is on; NULL: it has threads. */
	void (*wp_serve)(void *arg);
	/** Side 1, again and again while no play is on; NULL: nothing to do. Only of the
	 * first play. */
	void (*wp_idle)(void *arg);
	void *wp_arg;
};

enum {
	WORLD_PLAYS_MAX = 8
};

/** Memory of both sides, zeroed. */
void *world_shared(size_t bytes);
/** Makes side 1; returns when both have opened all the plays. */
void world_start(enum world_kind kind, const struct world_play *plays, int nr);
/** Closes the plays, last first, and ends side 1. */
void world_stop(void);
/** Side 1 serves a play, and no more. Nothing if it has threads. */
void world_enter(const struct world_play *play);
void world_leave(const struct world_play *play);
/** Side 0 waits for something: serves if nobody else does. */
static inline void world_turn(enum world_kind          kind,
			      const struct world_play *play)
{
	if (kind == WORLD_TURNS && play->wp_serve != NULL)
		play->wp_serve(play->wp_arg);
}

/** A port that is free on 127.0.0.1 and 127.0.0.2. */
unsigned world_port(void);
/** A semaphore for both sides. */
void world_sem_init(sem_t *sem);
void world_sem_take(sem_t *sem);

#endif /* BENCH_NET_WORLD_H */

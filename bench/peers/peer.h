/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Operations that a packaged library of messages must have for the
 * comparison. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "../lib/bench.h"

/** One end of a pair of sockets. */
struct peer;

/** Where the two ends meet; the program's. */
extern const char *peer_where;

/** Once, before anything else. */
void peer_init(void);
void peer_fini(void);
/** The side that listens is opened first. `depth` messages may be queued. */
struct peer *peer_open(bool listens, int depth);
void         peer_close(struct peer *p);
/** Copies the bytes into a message of its own, as applications do. */
void peer_send(struct peer *p, const void *bytes, size_t nr);
/**
 * Takes one message, copies its first word, frees it; returns its length. Polls
 * without blocking if the option says so.
 */
size_t peer_recv(struct peer *p, uint64_t *ret_word);
/** Takes one message and sends the same back. Returns its length. */
size_t peer_echo(struct peer *p);

#endif /* BENCH_PEER_H */

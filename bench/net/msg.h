/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Cases with messages. One operation is one message, one way. */
#ifndef BENCH_MSG_H
#define BENCH_MSG_H

#include "../lib/pair.h"

/** Bytes of a message. */
enum {
	BENCH_MSG = 64
};

/**
 * Ping-pong, driven by the callbacks: a message is received into a buffer that
 * the callback queues again, and answered. Both sides' completions count.
 */
struct bench_ping;

struct bench_ping *bench_ping_start(enum bench_mode      mode,
				    struct bench_worker *worker);
void               bench_ping_stop(struct bench_ping *g);
/** Inline: one thread polls both. */
struct bench_case bench_ping_one(struct bench_ping *g);
/** Inline: this thread polls side 0, the worker side 1. */
struct bench_case bench_ping_two(struct bench_ping *g);
/** Asynchronous: this thread waits for the end of the slice. */
struct bench_case bench_ping_async(struct bench_ping *g);

/**
 * One direction, `depth` messages queued all the time.
 */
struct bench_flow;

struct bench_flow *bench_flow_start(enum bench_mode      mode,
				    struct bench_worker *worker, int depth,
				    uint32_t msgs_in_buf);
void               bench_flow_stop(struct bench_flow *f);
struct bench_case  bench_flow_case(struct bench_flow *f, const char *name);

#endif /* BENCH_MSG_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Bare sockets: one end of a connection, and what is read and written there. */
#ifndef BENCH_RAW_END_H
#define BENCH_RAW_END_H

#include "bench.h"

enum {
	/** A frame and a small LNet header. */
	BENCH_HEAD_BYTES = 96,
	RAW_BUFS_MAX = 64
};

struct raw_end {
	int e_fd;
	int e_flags;
	/** Buffers used, in turns. */
	unsigned e_bufs_nr;
	unsigned e_at;
	char    *e_bufs[RAW_BUFS_MAX];
	char     e_head[BENCH_HEAD_BYTES];
	/** Bytes of the message that is coming. */
	size_t e_got;
	char  *e_ahead;
};

void raw_must(bool ok, const char *what);

/** Two ends of a TCP connection, with TCP_NODELAY and nothing else. */
void raw_ends_connect(struct raw_end ends[2]);
/** @param most  bytes of a buffer. */
void raw_end_init(struct raw_end *e, bool polled, unsigned bufs_nr,
		  size_t most);
/** All of it; spins or blocks while there is no room. */
void raw_end_write(struct raw_end *e, size_t bytes);
/** One call. 1: the message is there whole; <0: the end. */
int raw_end_read(struct raw_end *e, size_t bytes);
/**
 * Reads messages that follow one another in one call: as many small ones as
 * there are.
 * @return number of whole messages; <0: end of the stream.
 */
int raw_end_read_some(struct raw_end *e, size_t bytes);

#endif /* BENCH_RAW_END_H */

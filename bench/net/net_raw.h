/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Sends the same bytes between the sides over bare sockets. */
#ifndef BENCH_NET_RAW_H
#define BENCH_NET_RAW_H

#include "net_world.h"

struct net_raw;

/** Configuration of a bare connection. */
struct net_raw_how {
	enum world_kind rh_kind;
	/** Non-blocking, both sides all the time; else both block. */
	bool rh_polled;
	/** Bytes of a message, and of the answer to each; back 0: none, one
	 * message after the other. */
	size_t rh_there;
	size_t rh_back;
	/** Messages in one call; with answers 1. */
	unsigned rh_batch;
	/** Buffers used in turns on each side. */
	unsigned rh_bufs;
	/** A stream from side 1 to side 0, of messages without answers. */
	bool rh_to_0;
	/** A round trip counts as two. */
	bool rh_half;
	bool rh_rate;
};

/** Fills in the play. Not freed. */
struct net_raw   *net_raw_make(const struct net_raw_how *how,
			       struct world_play        *play);
struct bench_case net_raw_case(struct net_raw *raw, const char *name);

#endif /* BENCH_NET_RAW_H */

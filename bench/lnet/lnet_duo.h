/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Two LNet nodes of this process that speak TCP over 127.0.0.1 and 127.0.0.2,
 * and what they do: ping-pong, and operations of one node with so many in
 * flight. What came is compared with what was sent when it is over.
 */
#ifndef BENCH_LNET_DUO_H
#define BENCH_LNET_DUO_H

#include "../lib/bench.h"

/** Threads that make progress. */
enum bench_drive {
	/** Nodes without threads: the first by the caller, the second by the
	 * worker, both all the time. */
	BENCH_POLLED,
	/** Both nodes by the caller in turns, for counters. */
	BENCH_TURNS,
	/** Nodes with threads, which sleep when there is nothing to do. */
	BENCH_THREADS
};

enum bench_op {
	/** PUT, answered by a PUT from the callback; one in flight. */
	BENCH_PING,
	/** Over when it has left and was received. */
	BENCH_PUT,
	/** Over when the ACK, the REPLY has come. */
	BENCH_PUT_ACK,
	BENCH_GET,
	/** As BENCH_PUT_ACK, from both nodes at once; half of them each. */
	BENCH_PUT_BOTH
};

/** Switches of a router, for a mask. */
enum {
	BENCH_ROUTER_CUT = 1,
	BENCH_ROUTER_SPLICE = 2
};

struct bench_duo;

/** @param credits  lc_peer_credits; 0: the default. */
struct bench_duo *bench_duo_open(enum bench_drive     drive,
				 struct bench_worker *worker, enum bench_op op,
				 size_t bytes, unsigned flight,
				 unsigned credits);
/** Two nodes on different networks, with a router in a process of its own between
 * them, which ends with this one.
 * @param router  mask of its switches. */
struct bench_duo *bench_duo_open_far(enum bench_drive     drive,
				     struct bench_worker *worker,
				     enum bench_op op, size_t bytes,
				     unsigned flight, unsigned credits,
				     unsigned router);
/** Two such nodes and a router in this process, all three by the caller in turns, for
 * counters. */
struct bench_duo *bench_duo_open_by(enum bench_op op, size_t bytes,
				    unsigned flight, unsigned credits);
/** Nodes that are opened from now on connect through shared memory, or over TCP. */
void bench_duo_same_host(bool on);
/** Compares, closes. */
void              bench_duo_close(struct bench_duo *duo);
struct bench_case bench_duo_case(struct bench_duo *duo, const char *name);
/**
 * Prints for an operation the system calls of both nodes that read and that
 * wrote, and which part of the payload went straight to its place.
 */
void bench_duo_calls(struct bench_duo *duo, const char *name);

/* Bare sockets make this exchange in lnet_raw.c. */

struct bench_raw;

/**
 * A connection, its other end served by the worker, or if that is NULL by a
 * thread that blocks.
 * @param there, back  bytes of a message, and of the answer to each; back 0:
 *                     none, one message after the other.
 * @param batch        messages in one call; with an answer 1.
 * @param bufs         buffers used in turns at each end.
 */
struct bench_raw *bench_raw_open(struct bench_worker *worker, size_t there,
				 size_t back, unsigned batch, unsigned bufs);
/** Connects the ends by a relay, a process of its own that reads each message whole
 * and then writes it; both ends block, and there are no answers. */
struct bench_raw *bench_raw_open_relayed(size_t there, unsigned bufs);
void              bench_raw_close(struct bench_raw *raw);
/** @param half  a round trip counts as two. */
struct bench_case bench_raw_case(struct bench_raw *raw, const char *name,
				 bool half);

/* lnet_both.c: the same of both ends at once, half of the messages each. */

struct bench_both;

/** Ends with threads that block, and a relay between them. */
struct bench_both *bench_both_open(size_t bytes, unsigned bufs);
void               bench_both_close(struct bench_both *both);
struct bench_case  bench_both_case(struct bench_both *both, const char *name);

/* lnet_hop.c: what is between the nodes of lnetvia. */

/**
 * Starts the router between nodes of this serial number: another process of this
 * program.
 * @param credits  lc_peer_credits; 0: the default.
 */
void bench_router_start(unsigned serial, unsigned credits, unsigned router);
struct m0_lnet;
struct m0_lnet_cfg;
/** Opens the router between nodes of this serial number.
 * @param credits  lc_peer_credits; 0: as in `cfg`. */
struct m0_lnet *bench_router_open(struct m0_lnet_cfg *cfg, unsigned serial,
				  unsigned credits);
struct raw_end;
/** Two `ends` with a relay between them: another process of this program.
 * @param both  it takes messages of both ends; else those of the first. */
void bench_relay_start(struct raw_end *ends, size_t bytes, bool both);
/** Is, in the other process, what was started. @return false: neither of them. */
bool bench_hop_main(int argc, char **argv);

/**
 * Prints what `nr` connected peers cost a node: memory, and processor time
 * while nobody says anything: lnet_idle.c.
 */
void bench_idle(unsigned nr, double seconds, uint64_t keepalive_ms);

#endif /* BENCH_LNET_DUO_H */

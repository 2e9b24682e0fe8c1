/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Operations that a packaged library of requests and replies must have for
 * the comparison. */
#ifndef BENCH_REQ_H
#define BENCH_REQ_H

#include "../lib/bench.h"

enum {
	REQ_BYTES = 64,
	REQ_FLIGHT_MAX = 64,
	REQ_CARD_BYTES = 256
};

/** Memory of both sides, in which each may leave its address, by side. */
extern char (*req_cards)[REQ_CARD_BYTES];

/** Side 1: answers requests at `where`, as many at a time. */
void req_server_open(const char *where, unsigned flight);
/** Again and again while the other side asks; returns now and then. */
void req_server_turn(void);
void req_server_close(void);

/** Side 0. */
void req_open(const char *where, unsigned flight);
/** Asks and is answered `nr` times at least, `flight` at a time; none is left
 * under way. */
uint64_t req_run(uint64_t nr);
void     req_close(void);

#endif /* BENCH_REQ_H */

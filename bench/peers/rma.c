/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A packaged library of remote memory access: two processes on 127.0.0.1,
 * both of which poll. Prints lines `name value unit`, as netbench does.
 */
#include <stdlib.h>
#include <string.h>

#include "../net/net_world.h"
#include "rma.h"

static const char usage[] =
	"fibench|ucxbench [-t SLICE_S] [-n SLICES] [-c CPU,CPU] VARIANT BYTES "
	"FLIGHT\n"
	"  so many transfers at a time: put, get";

enum {
	FLIGHT_MAX = 64
};

struct rma {
	size_t   r_bytes;
	unsigned r_flight;
	/** One more than is in flight if that is one, as netbench has. */
	unsigned          r_bufs_nr;
	char             *r_mem[2];
	struct rma_card  *r_card;
	struct world_play r_play;
	bool              r_is_put;
	/** Buffers at rest, a ring: all are used in turns. */
	uint64_t r_rested;
	uint64_t r_begun;
	unsigned r_idle[FLIGHT_MAX];
};

static struct rma rma;

void rma_over(unsigned slot)
{
	rma.r_idle[rma.r_rested++ % rma.r_bufs_nr] = slot;
}

static void prepare(void *arg)
{
	(void)arg;
	rma.r_card = world_shared(sizeof(*rma.r_card));
}

static void side_open(void *arg, int side)
{
	size_t all = rma.r_bytes * rma.r_bufs_nr;

	(void)arg;
	rma.r_mem[side] = bench_huge(all);
	if (side == 1)
		rma_offer(rma.r_mem[1], all, rma.r_card);
	else
		rma_reach(rma.r_mem[0], all, rma.r_card);
	for (unsigned i = 0; side == 0 && i < rma.r_bufs_nr; i++)
		rma_over(i);
}

/* The end of the process ends the library, too. */
static void side_close(void *arg, int side)
{
	(void)arg;
	(void)side;
}

static void serve(void *arg)
{
	(void)arg;
	for (int i = 0; i < 16; i++)
		rma_poll();
}

static uint64_t in_flight(void)
{
	return rma.r_bufs_nr - (rma.r_rested - rma.r_begun);
}

static uint64_t run(bool is_put, uint64_t nr)
{
	uint64_t flight = rma.r_flight;
	uint64_t left;

	nr = (nr + flight - 1) / flight * flight;
	left = nr;
	while (left > 0 || in_flight() > 0) {
		while (left > 0 && in_flight() < flight) {
			unsigned slot =
				rma.r_idle[rma.r_begun++ % rma.r_bufs_nr];

			/* The last ones end when all have come; one at a time
			 * means that each has. */
			if (!rma_begin(slot, is_put, slot * rma.r_bytes,
				       rma.r_bytes,
				       flight == 1 || left <= flight)) {
				rma.r_begun--;
				break;
			}
			left--;
		}
		rma_poll();
	}
	return nr;
}

static uint64_t run_put(void *arg, uint64_t nr)
{
	(void)arg;
	return run(true, nr);
}

static uint64_t run_get(void *arg, uint64_t nr)
{
	(void)arg;
	return run(false, nr);
}

static void enter(void *arg)
{
	world_enter(arg);
}

static void leave(void *arg)
{
	world_leave(arg);
}

static struct bench_case rma_case(const char *name,
				  uint64_t (*way)(void *arg, uint64_t nr))
{
	return (struct bench_case){ .c_name = name,
				    .c_run = way,
				    .c_arg = &rma.r_play,
				    .c_enter = &enter,
				    .c_leave = &leave };
}

int main(int argc, char **argv)
{
	int               i = bench_options(argc, argv, usage);
	struct bench_case c[] = { rma_case("put", &run_put),
				  rma_case("get", &run_get) };

	if (argc != i + 3 || atoi(argv[i + 1]) <= 0 || atoi(argv[i + 2]) <= 0 ||
	    atoi(argv[i + 2]) > FLIGHT_MAX)
		bench_die("%s", usage);
	rma.r_bytes = (size_t)atoi(argv[i + 1]);
	rma.r_flight = (unsigned)atoi(argv[i + 2]);
	rma.r_bufs_nr = rma.r_flight == 1 ? 2 : rma.r_flight;
	rma.r_play = (struct world_play){ .wp_prepare = &prepare,
					  .wp_open = &side_open,
					  .wp_close = &side_close,
					  .wp_serve = &serve,
					  .wp_arg = &rma };
	rma_init(argv[i]);
	world_start(WORLD_FORK, &rma.r_play, 1);
	bench_turns(c, 2);
	world_stop();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * LNet through a router, beside the same without one, and beside a relay of bare
 * sockets. Prints lines `name value unit`; bench/run makes rows of them.
 */
#include <stdlib.h>
#include <string.h>

#include "lnet_duo.h"
#include "../lib/raw_end.h"
#include "m0/base.h"

static const char usage[] =
	"lnetvia [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-s SPIN_NS] TEST\n"
	"  ping                64 B one way, polled: direct, via\n"
	"  rate FLIGHT         64 B PUTs, nodes with threads: direct, via\n"
	"  bulk BYTES FLIGHT   relay; put, get without and with cut-through, splice,\n"
	"                      and both; nodes with threads\n"
	"  both BYTES FLIGHT   puts of both nodes at once: relay, plain\n"
	"  do put FLIGHT NR    that many of 64 B by one thread, untimed, for "
	"counters\n";

enum {
	MSG_BYTES = 64
};

/** Through the router both nodes are polled by one thread in turns, and the router
 * has the other processor; without it each node has a processor. */
static void do_ping(void)
{
	struct bench_worker *w = bench_worker_start(bench_opt.o_cpu[1]);
	struct bench_duo    *via = bench_duo_open_far(
		   BENCH_TURNS, NULL, BENCH_PING, MSG_BYTES, 1, 0, 0);
	struct bench_duo *direct =
		bench_duo_open(BENCH_POLLED, w, BENCH_PING, MSG_BYTES, 1, 0);
	struct bench_case c[] = { bench_duo_case(direct, "direct"),
				  bench_duo_case(via, "via") };

	bench_turns(c, 2);
	bench_duo_close(direct);
	bench_duo_close(via);
}

static void do_rate(unsigned flight)
{
	struct bench_duo *via = bench_duo_open_far(
		BENCH_THREADS, NULL, BENCH_PUT, MSG_BYTES, flight, flight, 0);
	struct bench_duo *direct = bench_duo_open(
		BENCH_THREADS, NULL, BENCH_PUT, MSG_BYTES, flight, flight);
	struct bench_case c[] = { bench_duo_case(direct, "direct"),
				  bench_duo_case(via, "via") };

	bench_turns(c, 2);
	bench_duo_close(direct);
	bench_duo_close(via);
}

static void do_bulk(size_t bytes, unsigned flight)
{
	static const struct {
		const char   *name;
		enum bench_op op;
		unsigned      router;
	} ways[] = {
		{ "put", BENCH_PUT_ACK, 0 },
		{ "get", BENCH_GET, 0 },
		{ "put-cut", BENCH_PUT_ACK, BENCH_ROUTER_CUT },
		{ "get-cut", BENCH_GET, BENCH_ROUTER_CUT },
		{ "put-splice", BENCH_PUT_ACK, BENCH_ROUTER_SPLICE },
		{ "get-splice", BENCH_GET, BENCH_ROUTER_SPLICE },
		{ "put-both", BENCH_PUT_ACK,
		  BENCH_ROUTER_CUT | BENCH_ROUTER_SPLICE },
		{ "get-both", BENCH_GET,
		  BENCH_ROUTER_CUT | BENCH_ROUTER_SPLICE },
	};
	struct bench_raw *r =
		bench_raw_open_relayed(BENCH_HEAD_BYTES + bytes, flight);
	struct bench_duo *duos[ARRAY_SIZE(ways)];
	struct bench_case c[1 + ARRAY_SIZE(ways)];
	unsigned          i;

	c[0] = bench_raw_case(r, "relay", false);
	for (i = 0; i < ARRAY_SIZE(ways); ++i) {
		duos[i] = bench_duo_open_far(BENCH_THREADS, NULL, ways[i].op,
					     bytes, flight, 0, ways[i].router);
		c[i + 1] = bench_duo_case(duos[i], ways[i].name);
	}
	bench_turns(c, ARRAY_SIZE(c));
	for (i = 0; i < ARRAY_SIZE(ways); ++i)
		bench_duo_close(duos[i]);
	bench_raw_close(r);
}

static void do_both(size_t bytes, unsigned flight)
{
	struct bench_both *b =
		bench_both_open(BENCH_HEAD_BYTES + bytes, flight);
	struct bench_duo *d = bench_duo_open_far(
		BENCH_THREADS, NULL, BENCH_PUT_BOTH, bytes, flight, 0, 0);
	struct bench_case c[] = { bench_both_case(b, "relay"),
				  bench_duo_case(d, "via") };

	bench_turns(c, 2);
	bench_duo_close(d);
	bench_both_close(b);
}

/** callgrind --toggle-collect=duo_forward counts what the router does. */
static void do_count(unsigned flight, uint64_t nr)
{
	struct bench_duo *d =
		bench_duo_open_by(BENCH_PUT, MSG_BYTES, flight, flight);
	struct bench_case c = bench_duo_case(d, "via");

	bench_counted(&c, nr);
	bench_duo_close(d);
}

int main(int argc, char **argv)
{
	const char *test;
	int         i;

	if (bench_hop_main(argc, argv))
		return 0;
	i = bench_options(argc, argv, usage);
	test = argv[i];
	/* A child that starts later takes over the processors of its parent. */
	if (strcmp(test, "ping") == 0)
		do_ping();
	else if (strcmp(test, "rate") == 0 && argc > i + 1 &&
		 atoi(argv[i + 1]) > 0)
		do_rate((unsigned)atoi(argv[i + 1]));
	else if (strcmp(test, "bulk") == 0 && argc > i + 2 &&
		 atoi(argv[i + 1]) > 0 && atoi(argv[i + 2]) > 0)
		do_bulk((size_t)atoi(argv[i + 1]), (unsigned)atoi(argv[i + 2]));
	else if (strcmp(test, "both") == 0 && argc > i + 2 &&
		 atoi(argv[i + 1]) > 0 && atoi(argv[i + 2]) > 0)
		do_both((size_t)atoi(argv[i + 1]), (unsigned)atoi(argv[i + 2]));
	else if (strcmp(test, "do") == 0 && argc > i + 3 &&
		 strcmp(argv[i + 1], "put") == 0 && atoi(argv[i + 2]) > 0)
		do_count((unsigned)atoi(argv[i + 2]),
			 strtoull(argv[i + 3], NULL, 0));
	else
		bench_die("%s", usage);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The library's own figures and those of the bare machine, in turns. Prints
 * lines `name value unit`. The runner, bench/run, makes rows of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "msg.h"

static const char usage[] =
	"m0bench [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-s SPIN_NS] TEST\n"
	"  machine                the clock and the cache line alone\n"
	"  msg                    one thread: clock_gettime, msg.one\n"
	"  two                    cacheline, msg.one, msg.two\n"
	"  bulk BYTES hot|cold [FLIGHT]  memcpy, put, get\n"
	"  rate                   inline, two threads, 64 queued\n"
	"  rate-many              the same, many messages in a buffer\n"
	"  rate-async             the library's threads, 64 queued\n"
	"  async                  the library's threads, one at a time\n"
	"  do msg|put|get|async NR   that many, untimed, for counters";

enum {
	DEPTH = 64,
	/** Larger than the last-level cache, by a wide margin. */
	COLD_AREA = 128 << 20,
	MANY = 256
};

static void do_machine(void)
{
	struct bench_worker *w = bench_worker_start(bench_opt.o_cpu[1]);
	struct bench_case    c[] = { bench_ref_clock(), bench_ref_line(w) };

	bench_turns(c, 2);
	bench_worker_stop(w);
}

static void do_msg(void)
{
	struct bench_ping *g = bench_ping_start(BENCH_INLINE, NULL);
	struct bench_case  c[] = { bench_ref_clock(), bench_ping_one(g) };

	bench_turns(c, 2);
	bench_huge_report();
	bench_ping_stop(g);
}

static void do_two(void)
{
	struct bench_worker *w = bench_worker_start(bench_opt.o_cpu[1]);
	struct bench_ping   *g = bench_ping_start(BENCH_INLINE, w);
	struct bench_case    c[] = { bench_ref_line(w), bench_ping_one(g),
				     bench_ping_two(g) };

	bench_turns(c, 3);
	bench_ping_stop(g);
	bench_worker_stop(w);
}

static void do_bulk(size_t bytes, bool cold, int flight)
{
	size_t             area = cold ? COLD_AREA : bytes * (size_t)flight;
	struct bench_bulk *k = bench_bulk_start(bytes, area, flight);
	struct bench_case  c[] = { bench_bulk_copy(k), bench_bulk_put(k),
				   bench_bulk_get(k) };

	bench_turns(c, 3);
	bench_huge_report();
	bench_bulk_stop(k);
}

static void do_rate(enum bench_mode mode, uint32_t msgs_in_buf)
{
	struct bench_worker *w = bench_worker_start(bench_opt.o_cpu[1]);
	struct bench_flow   *f = bench_flow_start(mode, w, DEPTH, msgs_in_buf);
	struct bench_case    c = bench_flow_case(f, "rate");

	bench_turns(&c, 1);
	bench_flow_stop(f);
	bench_worker_stop(w);
}

static void do_async(void)
{
	struct bench_ping *g = bench_ping_start(BENCH_ASYNC, NULL);
	struct bench_case  c = bench_ping_async(g);

	bench_turns(&c, 1);
	bench_ping_stop(g);
}

static void do_some(const char *what, uint64_t nr)
{
	bool               async = strcmp(what, "async") == 0;
	struct bench_ping *g = NULL;
	struct bench_bulk *k = NULL;
	struct bench_case  c;

	if (async || strcmp(what, "msg") == 0) {
		g = bench_ping_start(async ? BENCH_ASYNC : BENCH_INLINE, NULL);
		c = async ? bench_ping_async(g) : bench_ping_one(g);
	} else {
		k = bench_bulk_start(4096, 4096, 1);
		c = what[0] == 'p' ? bench_bulk_put(k) : bench_bulk_get(k);
	}
	(void)c.c_run(c.c_arg, 100);
	bench_counted(&c, nr);
	if (g != NULL)
		bench_ping_stop(g);
	else
		bench_bulk_stop(k);
}

int main(int argc, char **argv)
{
	int         i = bench_options(argc, argv, usage);
	const char *test = argv[i];
	const char *arg[3] = { i + 1 < argc ? argv[i + 1] : "0",
			       i + 2 < argc ? argv[i + 2] : "0",
			       i + 3 < argc ? argv[i + 3] : "1" };

	/* threads of the library are confined by it, not by inheritance */
	if (strstr(test, "async") == NULL && strcmp(arg[0], "async") != 0)
		bench_pin(bench_opt.o_cpu[0]);
	if (strcmp(test, "machine") == 0)
		do_machine();
	else if (strcmp(test, "msg") == 0)
		do_msg();
	else if (strcmp(test, "two") == 0)
		do_two();
	else if (strcmp(test, "bulk") == 0 && atoi(arg[0]) > 0 &&
		 atoi(arg[2]) > 0)
		do_bulk((size_t)atoi(arg[0]), strcmp(arg[1], "cold") == 0,
			atoi(arg[2]));
	else if (strcmp(test, "rate") == 0)
		do_rate(BENCH_INLINE, 1);
	else if (strcmp(test, "rate-many") == 0)
		do_rate(BENCH_INLINE, MANY);
	else if (strcmp(test, "rate-async") == 0)
		do_rate(BENCH_ASYNC, 1);
	else if (strcmp(test, "async") == 0)
		do_async();
	else if (strcmp(test, "do") == 0 && atoi(arg[1]) > 0)
		do_some(arg[0], strtoull(arg[1], NULL, 0));
	else
		bench_die("%s", usage);
	return 0;
}

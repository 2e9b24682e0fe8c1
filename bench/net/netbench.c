/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * m0_net between two processes on 127.0.0.1 and 127.0.0.2, beside bare sockets
 * that move the same bytes between the same processes, in turns. Prints lines
 * `name value unit`; bench/run makes rows of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_m0.h"
#include "net_raw.h"
#include "../lib/raw_end.h"

static const char usage[] =
	"netbench [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-s SPIN_NS] XPRT TEST\n"
	"  XPRT: lnet, two processes; near, the same through shared memory;\n"
	"        lanes, two processes whose nodes have two lanes;\n"
	"        attached, one of them attached to a daemon in the other;\n"
	"        pair, both attached to the daemon of a third process;\n"
	"        direct, the same, with messages that pass by the daemon;\n"
	"        one, lnet by one thread for both sides, polled;\n"
	"        mem, two threads; raw, sockets alone\n"
	"  ping poll|block               64 B one way: raw, m0\n"
	"  ping-many poll|block          64 B one way, many in a receive buffer\n"
	"  rate                          64 B, 64 queued, polled: raw, m0\n"
	"  rate-many                     64 B one way, many in a receive buffer\n"
	"  bulk BYTES FLIGHT poll|block  raw.put, raw.get, put, get; near: copy,\n"
	"                                put, get; copy is memcpy\n"
	"netbench ... [XPRT] do WHAT NR [BYTES FLIGHT]\n"
	"                                so many round trips, untimed, one process in\n"
	"                                turns, for counters; WHAT: ping,\n"
	"                                ping-many, rate, rate-many, put, get";

enum {
	MSG_BYTES = 64,
	/** Head and payload. */
	WIRE_BYTES = BENCH_HEAD_BYTES + MSG_BYTES,
	DEPTH = 64,
	MANY = 256
};

static struct net_m0     m0;
static struct world_play plays[WORLD_PLAYS_MAX];
static int               plays_nr;
static struct bench_case cases[BENCH_CASES_MAX];
static int               cases_nr;

/** One thread for both sides, which sockets that block cannot have. */
static bool is_one(void)
{
	return strcmp(m0.m_xprt, "one") == 0;
}

static void raw_add(const char *name, struct net_raw_how how)
{
	if (is_one())
		return;
	how.rh_kind = m0.m_kind;
	how.rh_polled = m0.m_polled;
	cases[cases_nr++] =
		net_raw_case(net_raw_make(&how, &plays[plays_nr++]), name);
}

static bool has_m0(void)
{
	return strcmp(m0.m_xprt, "raw") != 0;
}

static void m0_add(void)
{
	if (has_m0())
		plays[plays_nr++] = net_m0_play(&m0);
}

static void ping_add(uint32_t msgs)
{
	struct net_ping *g = net_ping_make(&m0, msgs, &plays[plays_nr++]);

	cases[cases_nr++] = net_ping_case(g, "m0");
}

static void rate_add(uint32_t msgs)
{
	struct net_rate *f =
		net_rate_make(&m0, DEPTH, msgs, &plays[plays_nr++]);

	cases[cases_nr++] = net_rate_case(f, "m0");
}

static void bulk_add(const char *name, size_t bytes, unsigned flight)
{
	struct net_bulk *k = net_bulk_make(&m0, bytes, flight, name[0] == 'p',
					   0, &plays[plays_nr++]);

	cases[cases_nr++] = net_bulk_case(k, name);
}

static void time_all(void)
{
	world_start(m0.m_kind, plays, plays_nr);
	bench_turns(cases, cases_nr);
	bench_huge_report();
	world_stop();
}

static void do_ping(uint32_t msgs)
{
	m0_add();
	raw_add("raw", (struct net_raw_how){ .rh_there = WIRE_BYTES,
					     .rh_back = WIRE_BYTES,
					     .rh_batch = 1,
					     .rh_bufs = 1,
					     .rh_half = true });
	if (has_m0())
		ping_add(msgs);
	time_all();
}

static void do_rate(uint32_t msgs)
{
	m0_add();
	raw_add("raw", (struct net_raw_how){ .rh_there = WIRE_BYTES,
					     .rh_batch = DEPTH,
					     .rh_bufs = 1,
					     .rh_rate = true });
	if (has_m0())
		rate_add(msgs);
	time_all();
}

/** One in flight: a request and its answer, the bulk in the one or the other;
 * more: a stream in the direction of the bulk. */
static void bulk_raw_add(size_t bytes, unsigned flight)
{
	struct net_raw_how how = { .rh_there = BENCH_HEAD_BYTES + bytes,
				   .rh_batch = 1,
				   .rh_bufs = flight };

	if (flight > 1) {
		raw_add("raw.put", how);
		how.rh_to_0 = true;
		raw_add("raw.get", how);
		return;
	}
	how.rh_bufs = 2; /* as ours */
	how.rh_back = BENCH_HEAD_BYTES;
	raw_add("raw.put", how);
	how.rh_there = BENCH_HEAD_BYTES;
	how.rh_back = BENCH_HEAD_BYTES + bytes;
	raw_add("raw.get", how);
}

/** Copies from memory to memory, as a receiver would that has mapped both. */
struct copies {
	size_t   cp_bytes;
	unsigned cp_bufs_nr;
	char    *cp_from;
	char    *cp_to;
};

static struct copies copies;

static void copy_prepare(void *arg)
{
	(void)arg;
}

/** After the sides have parted: pages that two processes have are no good. */
static void copy_open(void *arg, int side)
{
	size_t all = copies.cp_bytes * copies.cp_bufs_nr;

	(void)arg;
	if (side == 1)
		return;
	copies.cp_from = net_m0_memory(&m0, 0, all);
	copies.cp_to = net_m0_memory(&m0, 0, all);
	memset(copies.cp_from, 's', all);
}

static void copy_close(void *arg, int side)
{
	(void)arg;
	(void)side;
}

static uint64_t copy_run(void *arg, uint64_t nr)
{
	(void)arg;
	for (uint64_t i = 0; i < nr; i++) {
		size_t at = i % copies.cp_bufs_nr * copies.cp_bytes;

		memcpy(copies.cp_to + at, copies.cp_from + at, copies.cp_bytes);
		__asm__ volatile("" ::: "memory");
	}
	return nr;
}

static void copy_add(size_t bytes, unsigned flight)
{
	copies.cp_bytes = bytes;
	copies.cp_bufs_nr = flight == 1 ? 2 : flight;
	plays[plays_nr++] = (struct world_play){ .wp_prepare = &copy_prepare,
						 .wp_open = &copy_open,
						 .wp_close = &copy_close };
	cases[cases_nr++] =
		(struct bench_case){ .c_name = "copy", .c_run = &copy_run };
}

static void do_bulk(size_t bytes, unsigned flight)
{
	m0_add();
	if (net_m0_is_near(&m0))
		copy_add(bytes, flight);
	else
		bulk_raw_add(bytes, flight);
	if (has_m0()) {
		bulk_add("put", bytes, flight);
		bulk_add("get", bytes, flight);
	}
	time_all();
}

static void do_some(const char *what, uint64_t nr, size_t bytes,
		    unsigned flight)
{
	m0.m_kind = WORLD_TURNS;
	m0.m_polled = true;
	m0_add();
	if (strcmp(what, "ping") == 0)
		ping_add(1);
	else if (strcmp(what, "ping-many") == 0)
		ping_add(MANY);
	else if (strcmp(what, "rate") == 0)
		rate_add(1);
	else if (strcmp(what, "rate-many") == 0)
		rate_add(MANY);
	else if (strcmp(what, "put") == 0 || strcmp(what, "get") == 0)
		bulk_add(what, bytes, flight);
	else
		bench_die("%s", usage);
	world_start(m0.m_kind, plays, plays_nr);
	(void)cases[0].c_run(cases[0].c_arg, 2 * DEPTH);
	bench_counted(&cases[0], nr);
	world_stop();
}

static void mode_set(const char *mode)
{
	if (strcmp(mode, "poll") != 0 && strcmp(mode, "block") != 0)
		bench_die("%s", usage);
	m0.m_polled = mode[0] == 'p';
}

int main(int argc, char **argv)
{
	int         i = bench_options(argc, argv, usage);
	bool        counts = strcmp(argv[i], "do") == 0;
	const char *arg[6] = { "lnet", "", "0", "0", "65536", "1" };

	for (int j = counts, k = i; j < 6 && k < argc; j++, k++)
		arg[j] = argv[k];
	m0.m_xprt = arg[0];
	m0.m_kind = strcmp(arg[0], "mem") == 0 ? WORLD_THREADS
		    : is_one()                 ? WORLD_TURNS
					       : WORLD_FORK;
	m0.m_polled = true;
	if (strcmp(arg[1], "ping") == 0) {
		mode_set(arg[2]);
		do_ping(1);
	} else if (strcmp(arg[1], "ping-many") == 0) {
		mode_set(arg[2]);
		do_ping(MANY);
	} else if (strcmp(arg[1], "rate") == 0) {
		do_rate(1);
	} else if (strcmp(arg[1], "rate-many") == 0) {
		do_rate(MANY);
	} else if (strcmp(arg[1], "bulk") == 0 && atoi(arg[2]) > 0 &&
		   atoi(arg[3]) > 0) {
		mode_set(arg[4]);
		do_bulk((size_t)atoi(arg[2]), (unsigned)atoi(arg[3]));
	} else if (strcmp(arg[1], "do") == 0 && atoi(arg[3]) > 0) {
		do_some(arg[2], strtoull(arg[3], NULL, 0), (size_t)atoi(arg[4]),
			(unsigned)atoi(arg[5]));
	} else {
		bench_die("%s", usage);
	}
	return 0;
}

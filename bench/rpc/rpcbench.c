/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The RPC layer between two processes on 127.0.0.1 and 127.0.0.2, over LNet,
 * both polling, beside bare sockets and m0_net between the same processes, in
 * turns. Prints lines `name value unit`; bench/run makes rows of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../net/net_raw.h"
#include "rpc_m0.h"

static const char usage[] =
	"rpcbench [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [near] TEST\n"
	"  near: through shared memory, without the bare sockets\n"
	"  req FLIGHT [off]    64 B there and back: raw, one at a time;\n"
	"                      raw.batch, FLIGHT of them in a call; rpc\n"
	"                      off: each item in a packet of its own\n"
	"  bulk BYTES FLIGHT   net.put, net.get: m0_net; rpc.put, rpc.get\n"
	"rpcbench ... do req|put|get NR [FLIGHT]\n"
	"                      so many of them, untimed, one process in turns, for\n"
	"                      counters";

enum {
	BULK_BYTES = 65536,
	FLIGHT = 64
};

/** Requests that a bare socket sends in one call count one by one. */
struct batch {
	struct bench_case ba_case;
	unsigned          ba_nr;
};

static struct net_m0     net = { .m_kind = WORLD_FORK,
				 .m_polled = true,
				 .m_xprt = "lnet" };
static struct rpc_m0     rpc = { .r_net = &net };
static struct world_play plays[WORLD_PLAYS_MAX];
static int               plays_nr;
static struct bench_case cases[BENCH_CASES_MAX];
static int               cases_nr;
static struct batch      batch;

static struct net_raw *raw_make(size_t bytes)
{
	struct net_raw_how how = { .rh_kind = net.m_kind,
				   .rh_polled = true,
				   .rh_there = bytes,
				   .rh_back = bytes,
				   .rh_batch = 1,
				   .rh_bufs = 1 };

	return net_raw_make(&how, &plays[plays_nr++]);
}

static uint64_t batch_run(void *arg, uint64_t nr)
{
	struct batch *b = arg;

	nr = (nr + b->ba_nr - 1) / b->ba_nr;
	return b->ba_case.c_run(b->ba_case.c_arg, nr) * b->ba_nr;
}

static void batch_enter(void *arg)
{
	struct batch *b = arg;

	b->ba_case.c_enter(b->ba_case.c_arg);
}

static void batch_leave(void *arg)
{
	struct batch *b = arg;

	b->ba_case.c_leave(b->ba_case.c_arg);
}

static void batch_add(unsigned flight)
{
	batch.ba_case = net_raw_case(raw_make((size_t)flight * RPC_REQ_BYTES),
				     "raw.batch");
	batch.ba_nr = flight;
	cases[cases_nr++] = (struct bench_case){ .c_name = "raw.batch",
						 .c_run = &batch_run,
						 .c_arg = &batch,
						 .c_enter = &batch_enter,
						 .c_leave = &batch_leave };
}

static void machines_add(void)
{
	plays[plays_nr++] = net_m0_play(&net);
	plays[plays_nr++] = rpc_m0_play(&rpc);
}

static void echo_add(unsigned flight)
{
	struct rpc_echo *e = rpc_echo_make(&rpc, flight, &plays[plays_nr++]);

	cases[cases_nr++] = rpc_echo_case(e, "rpc");
}

static void bulk_add(const char *name, size_t bytes, unsigned flight, bool put)
{
	struct world_play *play = &plays[plays_nr++];

	/* As of a request: side 1 fills or fetches the other's memory. */
	if (name[0] == 'n')
		cases[cases_nr++] = net_bulk_case(
			net_bulk_make(&net, bytes, flight, put, 1, play), name);
	else
		cases[cases_nr++] = rpc_bulk_case(
			rpc_bulk_make(&rpc, bytes, flight, put, play), name);
}

static void time_all(void)
{
	world_start(net.m_kind, plays, plays_nr);
	bench_turns(cases, cases_nr);
	world_stop();
}

static void do_req(unsigned flight)
{
	machines_add();
	if (!net_m0_is_near(&net)) {
		cases[cases_nr++] =
			net_raw_case(raw_make(RPC_REQ_BYTES), "raw");
		if (flight > 1)
			batch_add(flight);
	}
	echo_add(flight);
	time_all();
}

static void do_bulk(size_t bytes, unsigned flight)
{
	machines_add();
	bulk_add("net.put", bytes, flight, true);
	bulk_add("net.get", bytes, flight, false);
	bulk_add("rpc.put", bytes, flight, true);
	bulk_add("rpc.get", bytes, flight, false);
	time_all();
}

static void do_some(const char *what, uint64_t nr, unsigned flight)
{
	net.m_kind = WORLD_TURNS;
	machines_add();
	if (strcmp(what, "req") == 0)
		echo_add(flight);
	else
		bulk_add("rpc", BULK_BYTES, flight, what[0] == 'p');
	world_start(net.m_kind, plays, plays_nr);
	cases[0].c_enter(cases[0].c_arg);
	(void)cases[0].c_run(cases[0].c_arg, 16UL * flight);
	bench_counted(&cases[0], nr);
	cases[0].c_leave(cases[0].c_arg);
	world_stop();
}

static unsigned flight_of(const char *text)
{
	unsigned nr = (unsigned)atoi(text);

	if (nr < 1 || nr > RPC_FLIGHT_MAX)
		bench_die("%s", usage);
	return nr;
}

int main(int argc, char **argv)
{
	int          i = bench_options(argc, argv, usage);
	char *const *arg = argv + i;
	int          nr = argc - i;

	if (nr > 0 && strcmp(arg[0], "near") == 0) {
		net.m_xprt = "near";
		arg++;
		nr--;
	}
	if (nr >= 2 && strcmp(arg[0], "req") == 0) {
		rpc.r_formation_off = nr > 2 && strcmp(arg[2], "off") == 0;
		do_req(flight_of(arg[1]));
	} else if (nr == 3 && strcmp(arg[0], "bulk") == 0 && atoi(arg[1]) > 0) {
		do_bulk((size_t)atoi(arg[1]), flight_of(arg[2]));
	} else if (nr >= 3 && strcmp(arg[0], "do") == 0 && atoi(arg[2]) > 0) {
		do_some(arg[1], strtoull(arg[2], NULL, 0),
			nr > 3 ? flight_of(arg[3]) : FLIGHT);
	} else {
		bench_die("%s", usage);
	}
	return 0;
}

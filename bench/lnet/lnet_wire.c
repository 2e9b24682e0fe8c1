/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * LNet over loopback TCP beside bare sockets that move the same bytes, in
 * turns. Prints lines `name value unit`; bench/run makes rows of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lnet_duo.h"
#include "../lib/raw_end.h"

static const char usage[] =
	"lnetwire [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-s SPIN_NS] TEST\n"
	"  ping poll|block           64 B one way: raw, lnet\n"
	"  rate FLIGHT [CREDITS]     64 B PUTs, polled: raw, lnet\n"
	"  bulk BYTES FLIGHT poll|block  raw, put, get\n"
	"  host ping|rate|put|get BYTES FLIGHT  through shared memory: tcp, host\n"
	"  idle PEERS SECONDS KEEPALIVE_MS  a node with so many peers\n"
	"  do put|ack|get|ping FLIGHT NR [BYTES]  that many, untimed, for "
	"counters";

enum {
	MSG_BYTES = 64,
	/** Head and payload. */
	WIRE_BYTES = BENCH_HEAD_BYTES + MSG_BYTES
};

static bool is_polled(const char *mode)
{
	if (strcmp(mode, "poll") != 0 && strcmp(mode, "block") != 0)
		bench_die("%s", usage);
	return mode[0] == 'p';
}

static struct bench_worker *worker_make(bool polled)
{
	return polled ? bench_worker_start(bench_opt.o_cpu[1]) : NULL;
}

static void do_ping(const char *mode)
{
	bool                 polled = is_polled(mode);
	struct bench_worker *w = worker_make(polled);
	struct bench_raw *r = bench_raw_open(w, WIRE_BYTES, WIRE_BYTES, 1, 1);
	struct bench_duo *d =
		bench_duo_open(polled ? BENCH_POLLED : BENCH_THREADS, w,
			       BENCH_PING, MSG_BYTES, 1, 0);
	struct bench_case c[] = { bench_raw_case(r, "raw", true),
				  bench_duo_case(d, "lnet") };

	bench_turns(c, 2);
	bench_duo_calls(d, "lnet");
	bench_duo_close(d);
	bench_raw_close(r);
}

static void do_rate(unsigned flight, unsigned credits)
{
	struct bench_worker *w = worker_make(true);
	struct bench_raw    *r = bench_raw_open(w, WIRE_BYTES, 0, flight, 1);
	struct bench_duo    *d = bench_duo_open(BENCH_POLLED, w, BENCH_PUT,
						MSG_BYTES, flight, credits);
	struct bench_case    c[] = { bench_raw_case(r, "raw", false),
				     bench_duo_case(d, "lnet") };

	c[0].c_rate = true;
	bench_turns(c, 2);
	bench_duo_calls(d, "lnet");
	bench_duo_close(d);
	bench_raw_close(r);
}

/** One in flight: a round trip of the same bytes each way; more: a stream. */
static void do_bulk(size_t bytes, unsigned flight, const char *mode)
{
	bool                 polled = is_polled(mode);
	enum bench_drive     drive = polled ? BENCH_POLLED : BENCH_THREADS;
	struct bench_worker *w = worker_make(polled);
	struct bench_raw    *r = bench_raw_open(w, BENCH_HEAD_BYTES + bytes,
                                             flight == 1 ? BENCH_HEAD_BYTES : 0,
						1, flight);
	struct bench_duo    *put =
		bench_duo_open(drive, w, BENCH_PUT_ACK, bytes, flight, 0);
	struct bench_duo *get =
		bench_duo_open(drive, w, BENCH_GET, bytes, flight, 0);
	struct bench_case c[] = { bench_raw_case(r, "raw", false),
				  bench_duo_case(put, "put"),
				  bench_duo_case(get, "get") };

	bench_turns(c, 3);
	bench_duo_calls(put, "put");
	bench_duo_calls(get, "get");
	bench_duo_close(put);
	bench_duo_close(get);
	bench_raw_close(r);
}

static enum bench_op op_of(const char *name)
{
	static const char *const names[] = {
		[BENCH_PING] = "ping",
		[BENCH_PUT] = "put",
		[BENCH_PUT_ACK] = "ack",
		[BENCH_GET] = "get",
	};

	for (int i = 0; i <= BENCH_GET; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum bench_op)i;
	bench_die("%s", usage);
}

static void do_some(const char *op, unsigned flight, uint64_t nr, size_t bytes)
{
	struct bench_duo *d = bench_duo_open(BENCH_TURNS, NULL, op_of(op),
					     bytes, flight, flight);
	struct bench_case c = bench_duo_case(d, op);

	/* A ping and its answer are two. */
	(void)c.c_run(c.c_arg, 2 * flight);
	bench_counted(&c, op_of(op) == BENCH_PING ? nr / 2 : nr);
	bench_duo_calls(d, op);
	bench_duo_close(d);
}

/** Polled nodes over TCP and through shared memory. */
static void do_host(const char *op, size_t bytes, unsigned flight)
{
	enum bench_op        what = strcmp(op, "rate") == 0  ? BENCH_PUT
				    : strcmp(op, "put") == 0 ? BENCH_PUT_ACK
							     : op_of(op);
	struct bench_worker *w = worker_make(true);
	struct bench_duo    *tcp =
		bench_duo_open(BENCH_POLLED, w, what, bytes, flight, flight);
	struct bench_duo *host;

	bench_duo_same_host(true);
	host = bench_duo_open(BENCH_POLLED, w, what, bytes, flight, flight);
	struct bench_case c[] = { bench_duo_case(tcp, "tcp"),
				  bench_duo_case(host, "host") };

	bench_turns(c, 2);
	bench_duo_calls(tcp, "tcp");
	bench_duo_calls(host, "host");
	bench_duo_close(tcp);
	bench_duo_close(host);
}

int main(int argc, char **argv)
{
	int         i = bench_options(argc, argv, usage);
	const char *test = argv[i];
	const char *arg[4] = { "0", "0", "0", "64" };

	for (int j = 0; j < 4 && i + 1 + j < argc; j++)
		arg[j] = argv[i + 1 + j];
	bench_pin(bench_opt.o_cpu[0]);
	if (strcmp(test, "ping") == 0)
		do_ping(arg[0]);
	else if (strcmp(test, "rate") == 0 && atoi(arg[0]) > 0)
		do_rate((unsigned)atoi(arg[0]), (unsigned)atoi(arg[1]));
	else if (strcmp(test, "bulk") == 0 && atoi(arg[0]) > 0 &&
		 atoi(arg[1]) > 0)
		do_bulk((size_t)atoi(arg[0]), (unsigned)atoi(arg[1]), arg[2]);
	else if (strcmp(test, "idle") == 0 && atoi(arg[0]) > 0)
		bench_idle((unsigned)atoi(arg[0]), atof(arg[1]),
			   strtoull(arg[2], NULL, 0));
	else if (strcmp(test, "host") == 0 && atoi(arg[1]) > 0 &&
		 atoi(arg[2]) > 0)
		do_host(arg[0], (size_t)atoi(arg[1]), (unsigned)atoi(arg[2]));
	else if (strcmp(test, "do") == 0 && atoi(arg[1]) > 0)
		do_some(arg[0], (unsigned)atoi(arg[1]),
			strtoull(arg[2], NULL, 0), strtoul(arg[3], NULL, 0));
	else
		bench_die("%s", usage);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A packaged library's requests and replies of 64 B: two processes, over TCP or, if the library has
 * it, without.
 * Prints lines `name value unit`, as netbench does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../net/net_world.h"
#include "req.h"

static const char usage[] =
	"PEERreq [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-p] FLIGHT [WAY]\n"
	"  64 B there and back, FLIGHT requests on the way all the time\n"
	"  -p: poll without blocking\n"
	"  WAY: tcp (default); ipc, Unix sockets; shm, libfabric's";

/** How the address of the server is written. */
static const struct {
	const char *wa_name;
	const char *wa_format;
} ways[] = {
	{ "tcp", "tcp://127.0.0.1:%u" },
	/* In the abstract name space, which a file system does not slow down. */
	{ "ipc", "ipc://@colibri-req-%u" },
	/* Each side has a name by itself. */
	{ "shm", "%u" },
};

char (*req_cards)[REQ_CARD_BYTES];

static const char       *format;
static char              where[64];
static unsigned          flight;
static struct world_play play;

static void prepare(void *arg)
{
	(void)arg;
	snprintf(where, sizeof(where), format, world_port());
	req_cards = world_shared(2 * sizeof(*req_cards));
}

static void side_open(void *arg, int side)
{
	(void)arg;
	if (side == 1)
		req_server_open(where, flight);
	else
		req_open(where, flight);
}

static void side_close(void *arg, int side)
{
	(void)arg;
	if (side == 1)
		req_server_close();
	else
		req_close();
}

static void serve(void *arg)
{
	(void)arg;
	req_server_turn();
}

static uint64_t run(void *arg, uint64_t nr)
{
	(void)arg;
	return req_run(nr);
}

static void enter(void *arg)
{
	(void)arg;
	world_enter(&play);
}

static void leave(void *arg)
{
	(void)arg;
	world_leave(&play);
}

static const char *format_of(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].wa_name, name) == 0)
			return ways[i].wa_format;
	bench_die("%s", usage);
}

int main(int argc, char **argv)
{
	int               i = bench_options(argc, argv, usage);
	struct bench_case c = { .c_name = "req",
				.c_run = &run,
				.c_enter = &enter,
				.c_leave = &leave };

	if (i < argc)
		flight = (unsigned)atoi(argv[i]);
	if (flight < 1 || flight > REQ_FLIGHT_MAX)
		bench_die("%s", usage);
	format = format_of(i + 1 < argc ? argv[i + 1] : "tcp");
	play = (struct world_play){ .wp_prepare = &prepare,
				    .wp_open = &side_open,
				    .wp_close = &side_close,
				    .wp_serve = &serve };
	world_start(WORLD_FORK, &play, 1);
	bench_turns(&c, 1);
	world_stop();
	return 0;
}

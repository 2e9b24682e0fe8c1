/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A packaged library of messages: two processes, over TCP. Prints lines `name
 * value unit`, as netbench does.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../net/net_world.h"
#include "peer.h"

static const char usage[] =
	"PEERnet [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-p] rate\n"
	"  one direction, windows of 64, one answer each, two under way\n"
	"  -p: poll without blocking";

enum {
	MSG = 64,
	WINDOW = 64,
	QUIT = 1,
	NAP_US = 50
};

const char *peer_where;

static char              where[64];
static struct peer      *ends[2];
static struct world_play play;
static _Atomic bool     *rests;
static unsigned          taken;

static void prepare(void *arg)
{
	(void)arg;
	rests = world_shared(sizeof(*rests));
	snprintf(where, sizeof(where), "tcp://127.0.0.1:%u", world_port());
	peer_where = where;
}

static void side_open(void *arg, int side)
{
	(void)arg;
	peer_init();
	ends[side] = peer_open(side == 1, 4 * WINDOW);
}

static void side_close(void *arg, int side)
{
	(void)arg;
	peer_close(ends[side]);
}

static void serve(void *arg)
{
	uint64_t word;

	(void)arg;
	if (atomic_load(rests)) {
		usleep(NAP_US);
		return;
	}
	if (peer_recv(ends[1], &word) != QUIT && ++taken % WINDOW == 0)
		peer_send(ends[1], "ok", 2);
}

static void window(uint64_t *msg)
{
	for (int i = 0; i < WINDOW; i++, msg[0]++)
		peer_send(ends[0], msg, MSG);
}

static uint64_t run(void *arg, uint64_t nr)
{
	uint64_t msg[MSG / sizeof(uint64_t)] = { 0 };
	uint64_t done = 0;
	uint64_t word;

	(void)arg;
	window(msg);
	for (; done + WINDOW < nr; done += WINDOW) {
		window(msg);
		(void)peer_recv(ends[0], &word);
	}
	(void)peer_recv(ends[0], &word);
	return done + WINDOW;
}

static void enter(void *arg)
{
	(void)arg;
	atomic_store(rests, false);
	world_enter(&play);
}

/** The side that serves may be waiting for one message more. */
static void leave(void *arg)
{
	(void)arg;
	atomic_store(rests, true);
	peer_send(ends[0], "q", QUIT);
	world_leave(&play);
}

int main(int argc, char **argv)
{
	int               i = bench_options(argc, argv, usage);
	struct bench_case c = { .c_name = "rate",
				.c_run = &run,
				.c_enter = &enter,
				.c_leave = &leave,
				.c_rate = true };

	if (strcmp(argv[i], "rate") != 0)
		bench_die("%s", usage);
	play = (struct world_play){ .wp_prepare = &prepare,
				    .wp_open = &side_open,
				    .wp_close = &side_close,
				    .wp_serve = &serve };
	world_start(WORLD_FORK, &play, 1);
	bench_turns(&c, 1);
	world_stop();
	return 0;
}

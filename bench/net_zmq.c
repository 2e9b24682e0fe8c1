/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZeroMQ: pair sockets of two processes over TCP, 64 B in one direction.
 * Prints lines `name value unit`, as netbench does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "net_world.h"

static const char usage[] =
	"zmqnet [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-p] rate\n"
	"  one direction, windows of 64, one answer each, two under way\n"
	"  -p: poll without blocking";

enum {
	MSG = 64,
	WINDOW = 64,
	QUEUE = 4 * WINDOW,
	/** Of the side that serves, to see that a slice is over. */
	PATIENCE_MS = 20
};

static unsigned          port;
static void             *sockets[2];
static struct world_play play;
static unsigned          taken;

static void ck(int rc, const char *what)
{
	if (rc < 0)
		bench_die("%s: %s", what, zmq_strerror(zmq_errno()));
}

static void prepare(void *arg)
{
	(void)arg;
	port = world_port();
}

static void side_open(void *arg, int side)
{
	void *s = zmq_socket(zmq_ctx_new(), ZMQ_PAIR);
	int   queue = QUEUE;
	int   patience = side == 1 ? PATIENCE_MS : -1;
	int   zero = 0;
	char  text[64];

	(void)arg;
	if (s == NULL)
		bench_die("zmq_socket");
	ck(zmq_setsockopt(s, ZMQ_SNDHWM, &queue, sizeof(queue)), "SNDHWM");
	ck(zmq_setsockopt(s, ZMQ_RCVHWM, &queue, sizeof(queue)), "RCVHWM");
	ck(zmq_setsockopt(s, ZMQ_LINGER, &zero, sizeof(zero)), "LINGER");
	ck(zmq_setsockopt(s, ZMQ_RCVTIMEO, &patience, sizeof(patience)),
	   "RCVTIMEO");
	snprintf(text, sizeof(text), "tcp://127.0.0.1:%u", port);
	if (side == 1)
		ck(zmq_bind(s, text), "zmq_bind");
	else
		ck(zmq_connect(s, text), "zmq_connect");
	sockets[side] = s;
}

static void side_close(void *arg, int side)
{
	(void)arg;
	zmq_close(sockets[side]);
}

/** False: nothing has come. */
static bool take(void *s, uint64_t *word)
{
	zmq_msg_t m;
	int       rc;

	zmq_msg_init(&m);
	rc = zmq_msg_recv(&m, s, bench_opt.o_poll ? ZMQ_DONTWAIT : 0);
	if (rc < 0 && zmq_errno() != EAGAIN && zmq_errno() != EINTR)
		ck(rc, "zmq_msg_recv");
	if (rc >= 0)
		memcpy(word, zmq_msg_data(&m), rc < 8 ? (size_t)rc : 8);
	zmq_msg_close(&m);
	return rc >= 0;
}

static void serve(void *arg)
{
	uint64_t word;

	(void)arg;
	if (take(sockets[1], &word) && ++taken % WINDOW == 0)
		ck(zmq_send(sockets[1], "ok", 2, 0), "zmq_send");
}

static void window(uint64_t *msg)
{
	for (int i = 0; i < WINDOW; i++, msg[0]++)
		ck(zmq_send(sockets[0], msg, MSG, 0), "zmq_send");
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
		while (!take(sockets[0], &word))
			;
	}
	while (!take(sockets[0], &word))
		;
	return done + WINDOW;
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

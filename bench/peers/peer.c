/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A packaged library of messages: two threads, sockets inside the process.
 * Prints lines `name value unit`, as m0bench does.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

static const char usage[] =
	"PEERbench [-t SLICE_S] [-n SLICES] [-c CPU,CPU] [-p] TEST\n"
	"  lat     one message at a time, there and back\n"
	"  rate    one direction, windows of 64\n"
	"  -p: poll without blocking";

enum {
	MSG = 64,
	WINDOW = 64,
	QUIT = 1
};

const char *peer_where = "inproc://bench";

static bool         sink;
static struct peer *leader;
static sem_t        ready;

/** Echoes, or answers once a window, until a message of one byte comes. */
static void *other(void *arg)
{
	struct peer *p = peer_open(true, 4 * WINDOW);
	uint64_t     nr = 0;
	uint64_t     word;
	size_t       len;

	(void)arg;
	bench_pin(bench_opt.o_cpu[1]);
	sem_post(&ready);
	do {
		if (sink) {
			len = peer_recv(p, &word);
			if (++nr % WINDOW == 0)
				peer_send(p, "ok", 2);
		} else {
			len = peer_echo(p);
		}
	} while (len != QUIT);
	sem_wait(&ready); /* until the leader has closed */
	peer_close(p);
	return NULL;
}

/** One operation is one way. */
static uint64_t run_lat(void *arg, uint64_t nr)
{
	uint64_t msg[MSG / sizeof(uint64_t)] = { 0 };
	uint64_t word;

	(void)arg;
	for (uint64_t i = 0; i < nr; i += 2) {
		msg[0] = i;
		peer_send(leader, msg, MSG);
		(void)peer_recv(leader, &word);
		if (word != i)
			bench_die("another message came back");
	}
	return (nr + 1) / 2 * 2;
}

static void window(uint64_t *msg)
{
	for (int i = 0; i < WINDOW; i++, msg[0]++)
		peer_send(leader, msg, MSG);
}

/** Two windows under way, one answer for each. */
static uint64_t run_rate(void *arg, uint64_t nr)
{
	uint64_t msg[MSG / sizeof(uint64_t)] = { 0 };
	uint64_t done = 0;
	uint64_t word;

	(void)arg;
	window(msg);
	for (; done + WINDOW < nr; done += WINDOW) {
		window(msg);
		(void)peer_recv(leader, &word);
	}
	(void)peer_recv(leader, &word);
	return done + WINDOW;
}

int main(int argc, char **argv)
{
	int               i = bench_options(argc, argv, usage);
	struct bench_case c = { .c_name = "lat", .c_run = &run_lat };
	pthread_t         thread;

	sink = strcmp(argv[i], "rate") == 0;
	if (sink)
		c = (struct bench_case){ .c_name = "rate",
					 .c_run = &run_rate,
					 .c_rate = true };
	else if (strcmp(argv[i], "lat") != 0)
		bench_die("%s", usage);
	sem_init(&ready, 0, 0);
	peer_init();
	if (pthread_create(&thread, NULL, &other, NULL) != 0)
		bench_die("no thread");
	sem_wait(&ready);
	leader = peer_open(false, 4 * WINDOW);
	bench_pin(bench_opt.o_cpu[0]);
	bench_turns(&c, 1);
	peer_send(leader, "q", QUIT);
	if (!sink)
		(void)peer_recv(leader, &(uint64_t){ 0 });
	peer_close(leader);
	sem_post(&ready);
	pthread_join(thread, NULL);
	peer_fini();
	return 0;
}

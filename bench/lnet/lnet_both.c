/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Reference for a router: bare sockets and a relay, with messages of both ends at
 * once. Each end has a thread that writes and one that reads.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lnet_duo.h"
#include "../lib/raw_end.h"

struct both_end {
	struct bench_both *be_both;
	/** Both directions of one connection. */
	struct raw_end be_out;
	struct raw_end be_in;
	pthread_t      be_writer;
	pthread_t      be_reader;
	sem_t          be_begin;
	sem_t          be_got;
	int            be_cpu;
};

struct bench_both {
	struct both_end b_end[2];
	size_t          b_bytes;
	/** Messages of an end in the next run; 0: the end of the threads. */
	uint64_t b_nr;
};

static void sem_take(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		raw_must(errno == EINTR, "wait");
}

static void *writer(void *arg)
{
	struct both_end *e = arg;

	bench_pin(e->be_cpu);
	for (;;) {
		sem_take(&e->be_begin);
		if (e->be_both->b_nr == 0)
			return NULL;
		for (uint64_t i = 0; i < e->be_both->b_nr; i++)
			raw_end_write(&e->be_out, e->be_both->b_bytes);
	}
}

static void *reader(void *arg)
{
	struct both_end *e = arg;
	int              nr;

	bench_pin(e->be_cpu);
	while ((nr = raw_end_read_some(&e->be_in, e->be_both->b_bytes)) >= 0) {
		while (nr-- > 0)
			sem_post(&e->be_got);
	}
	return NULL;
}

static uint64_t both_run(void *arg, uint64_t nr)
{
	struct bench_both *b = arg;

	b->b_nr = (nr + 1) / 2;
	for (unsigned i = 0; i < 2; i++)
		sem_post(&b->b_end[i].be_begin);
	for (unsigned i = 0; i < 2; i++) {
		for (uint64_t k = 0; k < b->b_nr; k++)
			sem_take(&b->b_end[i].be_got);
	}
	return 2 * b->b_nr;
}

struct bench_case bench_both_case(struct bench_both *both, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &both_run,
				    .c_arg = both };
}

struct bench_both *bench_both_open(size_t bytes, unsigned bufs)
{
	struct bench_both *b = bench_huge(sizeof(*b));
	struct raw_end     ends[2];

	memset(b, 0, sizeof(*b));
	memset(ends, 0, sizeof(ends));
	b->b_bytes = bytes;
	bench_relay_start(ends, bytes, true);
	for (unsigned i = 0; i < 2; i++) {
		struct both_end *e = &b->b_end[i];

		e->be_both = b;
		e->be_cpu = bench_opt.o_cpu[i];
		e->be_out.e_fd = e->be_in.e_fd = ends[i].e_fd;
		raw_end_init(&e->be_out, false, bufs, bytes);
		raw_end_init(&e->be_in, false, bufs, bytes);
		raw_must(sem_init(&e->be_begin, 0, 0) == 0 &&
				 sem_init(&e->be_got, 0, 0) == 0,
			 "open");
		raw_must(pthread_create(&e->be_writer, NULL, &writer, e) == 0 &&
				 pthread_create(&e->be_reader, NULL, &reader,
						e) == 0,
			 "thread");
	}
	return b;
}

void bench_both_close(struct bench_both *b)
{
	b->b_nr = 0;
	for (unsigned i = 0; i < 2; i++) {
		sem_post(&b->b_end[i].be_begin);
		pthread_join(b->b_end[i].be_writer, NULL);
	}
	for (unsigned i = 0; i < 2; i++)
		shutdown(b->b_end[i].be_in.e_fd, SHUT_RDWR);
	for (unsigned i = 0; i < 2; i++) {
		struct both_end *e = &b->b_end[i];

		pthread_join(e->be_reader, NULL);
		close(e->be_in.e_fd);
		sem_destroy(&e->be_begin);
		sem_destroy(&e->be_got);
	}
}

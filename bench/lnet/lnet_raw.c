/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Reference for LNet: the same bytes by read and write alone. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lnet_duo.h"
#include "../lib/raw_end.h"

struct bench_raw {
	struct bench_worker *r_worker;
	pthread_t            r_thread;
	/** [0] the caller's. */
	struct raw_end r_end[2];
	size_t         r_there;
	size_t         r_back;
	unsigned       r_batch;
	bool           r_half;
	sem_t          r_over;
	_Alignas(128) _Atomic uint64_t r_got;
	_Atomic uint64_t r_want;
};

/** Serves one exchange of the other end. <0: end of the stream. */
static int serve(struct bench_raw *r)
{
	struct raw_end *e = &r->r_end[1];
	int             nr;

	nr = r->r_back == 0 ? raw_end_read_some(e, r->r_there)
			    : raw_end_read(e, r->r_there);
	if (nr > 0 && r->r_back != 0)
		raw_end_write(e, r->r_back);
	if (nr > 0 &&
	    atomic_fetch_add(&r->r_got, (unsigned)nr) + (unsigned)nr >=
		    atomic_load(&r->r_want))
		sem_post(&r->r_over);
	return nr;
}

static void serve_step(void *arg)
{
	raw_must(serve(arg) >= 0, "serve");
}

static void *serve_thread(void *arg)
{
	bench_pin(bench_opt.o_cpu[1]);
	while (serve(arg) >= 0)
		;
	return NULL;
}

/* -------------------------------------------------------------------- run -- */

static void raw_enter(void *arg)
{
	struct bench_raw *r = arg;

	if (r->r_worker != NULL)
		bench_worker_run(r->r_worker, &serve_step, r);
}

static void raw_leave(void *arg)
{
	struct bench_raw *r = arg;

	if (r->r_worker != NULL)
		bench_worker_park(r->r_worker);
}

static uint64_t answered_run(struct bench_raw *r, uint64_t nr)
{
	struct raw_end *e = &r->r_end[0];
	int             rc;

	for (uint64_t i = 0; i < nr; i++) {
		raw_end_write(e, r->r_there);
		while ((rc = raw_end_read(e, r->r_back)) == 0)
			;
		raw_must(rc > 0, "recv");
	}
	return nr;
}

static uint64_t stream_run(struct bench_raw *r, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i += r->r_batch)
		raw_end_write(&r->r_end[0], r->r_there * r->r_batch);
	while (atomic_load(&r->r_got) < nr) {
		if (r->r_worker == NULL && sem_wait(&r->r_over) != 0)
			raw_must(errno == EINTR, "wait");
	}
	return nr;
}

static uint64_t raw_run(void *arg, uint64_t nr)
{
	struct bench_raw *r = arg;

	nr = (nr + r->r_batch - 1) / r->r_batch * r->r_batch;
	while (sem_trywait(&r->r_over) == 0)
		;
	atomic_store(&r->r_got, 0);
	atomic_store(&r->r_want, r->r_back == 0 ? nr : UINT64_MAX);
	nr = r->r_back != 0 ? answered_run(r, nr) : stream_run(r, nr);
	return r->r_half ? 2 * nr : nr;
}

struct bench_case bench_raw_case(struct bench_raw *raw, const char *name,
				 bool half)
{
	raw->r_half = half;
	return (struct bench_case){ .c_name = name,
				    .c_run = &raw_run,
				    .c_arg = raw,
				    .c_enter = &raw_enter,
				    .c_leave = &raw_leave };
}

/* ------------------------------------------------------------ open, close -- */

static struct bench_raw *raw_open(struct bench_worker *worker, size_t there,
				  size_t back, unsigned batch, unsigned bufs,
				  bool relayed)
{
	struct bench_raw *r = bench_huge(sizeof(*r));
	size_t            most = there * batch > back ? there * batch : back;

	memset(r, 0, sizeof(*r));
	r->r_worker = worker;
	r->r_there = there;
	r->r_back = back;
	r->r_batch = batch;
	raw_must(sem_init(&r->r_over, 0, 0) == 0, "open");
	if (relayed)
		bench_relay_start(r->r_end, there, false);
	else
		raw_ends_connect(r->r_end);
	for (int i = 0; i < 2; i++)
		raw_end_init(&r->r_end[i], worker != NULL, bufs, most);
	if (worker == NULL)
		raw_must(pthread_create(&r->r_thread, NULL, &serve_thread, r) ==
				 0,
			 "thread");
	return r;
}

struct bench_raw *bench_raw_open(struct bench_worker *worker, size_t there,
				 size_t back, unsigned batch, unsigned bufs)
{
	return raw_open(worker, there, back, batch, bufs, false);
}

struct bench_raw *bench_raw_open_relayed(size_t there, unsigned bufs)
{
	return raw_open(NULL, there, 0, 1, bufs, true);
}

void bench_raw_close(struct bench_raw *r)
{
	shutdown(r->r_end[0].e_fd, SHUT_RDWR);
	if (r->r_worker == NULL)
		pthread_join(r->r_thread, NULL);
	close(r->r_end[0].e_fd);
	close(r->r_end[1].e_fd);
	sem_destroy(&r->r_over);
}

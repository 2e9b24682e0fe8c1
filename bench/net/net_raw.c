/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_raw.h"
#include "../lib/raw_end.h"

/** Memory that both sides see. */
struct seen {
	_Alignas(128) _Atomic uint64_t s_got;
	_Alignas(128) _Atomic uint64_t s_want;
	/** For a stream to side 0: bytes that side 1 may have sent in all. */
	_Alignas(128) _Atomic uint64_t s_allowed;
	_Atomic bool s_quits;
	sem_t        s_go;
	sem_t        s_over;
};

struct net_raw {
	struct net_raw_how       r_how;
	const struct world_play *r_play;
	struct raw_end           r_end[2];
	struct seen             *r_seen;
	/** Side 1's own: what it has sent. */
	uint64_t  r_sent;
	pthread_t r_thread;
};

/** Answers one exchange as side 1. <0: end of the stream. */
static int answer(struct net_raw *r)
{
	struct seen    *s = r->r_seen;
	struct raw_end *e = &r->r_end[1];
	size_t          there = r->r_how.rh_there;
	size_t          back = r->r_how.rh_back;
	int             nr;

	nr = back == 0 ? raw_end_read_some(e, there) : raw_end_read(e, there);
	if (nr > 0 && back != 0)
		raw_end_write(e, back);
	if (nr > 0 && back == 0 &&
	    atomic_fetch_add(&s->s_got, (unsigned)nr) + (unsigned)nr >=
		    atomic_load(&s->s_want))
		sem_post(&s->s_over);
	return nr;
}

/** One call of a stream to side 0, if there is one to make. */
static bool stream_back(struct net_raw *r)
{
	bool yes = r->r_sent != atomic_load_explicit(&r->r_seen->s_allowed,
						     memory_order_acquire);

	if (yes) {
		raw_end_write(&r->r_end[1], r->r_how.rh_there);
		++r->r_sent;
	}
	return yes;
}

static void raw_serve(void *arg)
{
	struct net_raw *r = arg;

	if (r->r_how.rh_to_0)
		(void)stream_back(r);
	else
		raw_must(answer(r) >= 0, "serve");
}

static void *serve_thread(void *arg)
{
	struct net_raw *r = arg;

	while (!r->r_how.rh_to_0 && answer(r) >= 0)
		;
	while (r->r_how.rh_to_0 && !atomic_load(&r->r_seen->s_quits)) {
		world_sem_take(&r->r_seen->s_go);
		while (stream_back(r))
			;
	}
	return NULL;
}

/* -------------------------------------------------------------------- run -- */

static void raw_enter(void *arg)
{
	struct net_raw *r = arg;

	world_enter(r->r_play);
}

static void raw_leave(void *arg)
{
	struct net_raw *r = arg;

	world_leave(r->r_play);
}

static uint64_t answered_run(struct net_raw *r, uint64_t nr)
{
	struct raw_end *e = &r->r_end[0];
	int             rc;

	for (uint64_t i = 0; i < nr; i++) {
		raw_end_write(e, r->r_how.rh_there);
		while ((rc = raw_end_read(e, r->r_how.rh_back)) == 0)
			world_turn(r->r_how.rh_kind, r->r_play);
		raw_must(rc > 0, "recv");
	}
	return nr;
}

static uint64_t stream_run(struct net_raw *r, uint64_t nr)
{
	struct seen *s = r->r_seen;
	unsigned     batch = r->r_how.rh_batch;

	for (uint64_t i = 0; i < nr; i += batch) {
		raw_end_write(&r->r_end[0], r->r_how.rh_there * batch);
		world_turn(r->r_how.rh_kind, r->r_play);
	}
	while (atomic_load(&s->s_got) < nr) {
		if (!r->r_how.rh_polled)
			world_sem_take(&s->s_over);
		world_turn(r->r_how.rh_kind, r->r_play);
	}
	return nr;
}

static uint64_t stream_0_run(struct net_raw *r, uint64_t nr)
{
	uint64_t got = 0;
	int      rc;

	atomic_fetch_add_explicit(&r->r_seen->s_allowed, nr,
				  memory_order_release);
	if (!r->r_how.rh_polled)
		sem_post(&r->r_seen->s_go);
	while (got < nr) {
		rc = raw_end_read_some(&r->r_end[0], r->r_how.rh_there);
		raw_must(rc >= 0, "recv");
		got += (uint64_t)rc;
		world_turn(r->r_how.rh_kind, r->r_play);
	}
	return nr;
}

static uint64_t raw_run(void *arg, uint64_t nr)
{
	struct net_raw *r = arg;
	struct seen    *s = r->r_seen;
	unsigned        round = r->r_how.rh_batch * r->r_how.rh_bufs;

	nr = (nr + round - 1) / round * round;
	while (sem_trywait(&s->s_over) == 0)
		;
	atomic_store(&s->s_got, 0);
	atomic_store(&s->s_want, nr);
	nr = r->r_how.rh_back != 0 ? answered_run(r, nr)
	     : r->r_how.rh_to_0    ? stream_0_run(r, nr)
				   : stream_run(r, nr);
	return r->r_how.rh_half ? 2 * nr : nr;
}

struct bench_case net_raw_case(struct net_raw *raw, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &raw_run,
				    .c_arg = raw,
				    .c_enter = &raw_enter,
				    .c_leave = &raw_leave,
				    .c_rate = raw->r_how.rh_rate };
}

/* ------------------------------------------------------------ open, close -- */

static void raw_prepare(void *arg)
{
	struct net_raw *r = arg;

	raw_ends_connect(r->r_end);
	r->r_seen = world_shared(sizeof(*r->r_seen));
	world_sem_init(&r->r_seen->s_over);
	world_sem_init(&r->r_seen->s_go);
}

static void raw_open(void *arg, int side)
{
	struct net_raw           *r = arg;
	const struct net_raw_how *how = &r->r_how;
	size_t                    there = how->rh_there * how->rh_batch;

	raw_end_init(&r->r_end[side], how->rh_polled, how->rh_bufs,
		     there > how->rh_back ? there : how->rh_back);
	if (side == 1 && !how->rh_polled)
		raw_must(pthread_create(&r->r_thread, NULL, &serve_thread, r) ==
				 0,
			 "thread");
}

static void raw_close(void *arg, int side)
{
	struct net_raw *r = arg;

	shutdown(r->r_end[side].e_fd, SHUT_RDWR);
	atomic_store(&r->r_seen->s_quits, true);
	sem_post(&r->r_seen->s_go);
	if (side == 1 && !r->r_how.rh_polled)
		pthread_join(r->r_thread, NULL);
	close(r->r_end[side].e_fd);
}

struct net_raw *net_raw_make(const struct net_raw_how *how,
			     struct world_play        *play)
{
	struct net_raw *r = bench_huge(sizeof(*r));

	raw_must(!how->rh_to_0 || (how->rh_back == 0 && how->rh_batch == 1),
		 "a stream to side 0 has messages alone");
	memset(r, 0, sizeof(*r));
	r->r_how = *how;
	r->r_play = play;
	*play = (struct world_play){
		.wp_prepare = &raw_prepare,
		.wp_open = &raw_open,
		.wp_close = &raw_close,
		.wp_serve = how->rh_polled ? &raw_serve : NULL,
		.wp_arg = r,
	};
	return r;
}

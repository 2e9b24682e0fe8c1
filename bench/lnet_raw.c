/* SPDX-License-Identifier: Apache-2.0 */
/* What LNet is compared with: the same bytes, by read and write alone. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lnet_duo.h"

enum {
	BUFS_MAX = 64,
	/** Read at once, of small messages. */
	AHEAD_BYTES = 64 << 10,
	FLAT_BYTES = 16 << 10
};

/** One end. */
struct end {
	int   e_fd;
	int   e_flags;
	char *e_bufs[BUFS_MAX];
	char  e_head[BENCH_HEAD_BYTES];
	/** Buffers used, in turns. */
	unsigned e_at;
	/** Bytes of the message that is coming. */
	size_t e_got;
	char  *e_ahead;
};

struct bench_raw {
	struct bench_worker *r_worker;
	pthread_t            r_thread;
	/** [0] the caller's. */
	struct end r_end[2];
	size_t     r_there;
	size_t     r_back;
	unsigned   r_batch;
	unsigned   r_bufs;
	bool       r_half;
	sem_t      r_over;
	_Alignas(128) _Atomic uint64_t r_got;
	_Atomic uint64_t r_want;
};

static void must(bool ok, const char *what)
{
	if (!ok)
		bench_die("raw: %s: %s", what, strerror(errno));
}

/** Small ones are in one piece; others have the head apart, as ours. */
static bool is_flat(size_t bytes)
{
	return bytes <= FLAT_BYTES;
}

static unsigned iov_of(struct end *e, size_t bytes, size_t from,
		       struct iovec iov[2])
{
	char    *buf = e->e_bufs[e->e_at];
	unsigned nr = 0;

	if (!is_flat(bytes) && from < BENCH_HEAD_BYTES) {
		iov[nr].iov_base = e->e_head + from;
		iov[nr++].iov_len = BENCH_HEAD_BYTES - from;
		from = BENCH_HEAD_BYTES;
	}
	iov[nr].iov_base = buf + from;
	iov[nr++].iov_len = bytes - from;
	return nr;
}

static void end_next(struct bench_raw *r, struct end *e)
{
	e->e_at = e->e_at + 1 == r->r_bufs ? 0 : e->e_at + 1;
	e->e_got = 0;
}

/** All of it; spins or blocks while there is no room. */
static void end_write(struct bench_raw *r, struct end *e, size_t bytes)
{
	struct iovec  iov[2];
	struct msghdr msg = { .msg_iov = iov };
	size_t        done = 0;
	ssize_t       nr;

	while (done < bytes) {
		msg.msg_iovlen = iov_of(e, bytes, done, iov);
		nr = msg.msg_iovlen == 1
			     ? send(e->e_fd, iov[0].iov_base, iov[0].iov_len,
				    e->e_flags | MSG_NOSIGNAL)
			     : sendmsg(e->e_fd, &msg,
				       e->e_flags | MSG_NOSIGNAL);
		must(nr >= 0 || errno == EAGAIN || errno == EINTR, "send");
		done += nr > 0 ? (size_t)nr : 0;
	}
	end_next(r, e);
}

/** One call. 1: the message is there whole; <0: the end. */
static int end_read(struct bench_raw *r, struct end *e, size_t bytes)
{
	struct iovec  iov[2];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t       nr;

	msg.msg_iovlen = iov_of(e, bytes, e->e_got, iov);
	nr = msg.msg_iovlen == 1 ? recv(e->e_fd, iov[0].iov_base,
					iov[0].iov_len, e->e_flags)
				 : recvmsg(e->e_fd, &msg, e->e_flags);
	if (nr == 0)
		return -1;
	must(nr > 0 || errno == EAGAIN || errno == EINTR, "recv");
	e->e_got += nr > 0 ? (size_t)nr : 0;
	if (e->e_got < bytes)
		return 0;
	end_next(r, e);
	return 1;
}

/** Small messages one after the other: as many as there are, in one call. */
static int ahead_read(struct bench_raw *r, struct end *e)
{
	ssize_t nr = recv(e->e_fd, e->e_ahead, AHEAD_BYTES, e->e_flags);

	if (nr == 0)
		return -1;
	must(nr > 0 || errno == EAGAIN || errno == EINTR, "recv");
	e->e_got += nr > 0 ? (size_t)nr : 0;
	nr = (ssize_t)(e->e_got / r->r_there);
	e->e_got %= r->r_there;
	return (int)nr;
}

/** What the other end does, again and again. <0: it is over. */
static int serve(struct bench_raw *r)
{
	struct end *e = &r->r_end[1];
	int         nr;

	nr = is_flat(r->r_there) && r->r_back == 0 ? ahead_read(r, e)
						   : end_read(r, e, r->r_there);
	if (nr > 0 && r->r_back != 0)
		end_write(r, e, r->r_back);
	if (nr > 0 &&
	    atomic_fetch_add(&r->r_got, (unsigned)nr) + (unsigned)nr >=
		    atomic_load(&r->r_want))
		sem_post(&r->r_over);
	return nr;
}

static void serve_step(void *arg)
{
	must(serve(arg) >= 0, "serve");
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
	struct end *e = &r->r_end[0];
	int         rc;

	for (uint64_t i = 0; i < nr; i++) {
		end_write(r, e, r->r_there);
		while ((rc = end_read(r, e, r->r_back)) == 0)
			;
		must(rc > 0, "recv");
	}
	return nr;
}

static uint64_t stream_run(struct bench_raw *r, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i += r->r_batch)
		end_write(r, &r->r_end[0], r->r_there * r->r_batch);
	while (atomic_load(&r->r_got) < nr) {
		if (r->r_worker == NULL && sem_wait(&r->r_over) != 0)
			must(errno == EINTR, "wait");
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

static void connect_ends(struct bench_raw *r)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t          len = sizeof(in);
	int                one = 1;
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(fd >= 0 && bind(fd, (struct sockaddr *)&in, len) == 0 &&
		     listen(fd, 1) == 0 &&
		     getsockname(fd, (struct sockaddr *)&in, &len) == 0,
	     "listen");
	r->r_end[0].e_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(connect(r->r_end[0].e_fd, (struct sockaddr *)&in, len) == 0,
	     "connect");
	r->r_end[1].e_fd = accept(fd, NULL, NULL);
	must(r->r_end[1].e_fd >= 0, "accept");
	close(fd);
	for (int i = 0; i < 2; i++)
		must(setsockopt(r->r_end[i].e_fd, IPPROTO_TCP, TCP_NODELAY,
				&one, sizeof(one)) == 0,
		     "option");
}

struct bench_raw *bench_raw_open(struct bench_worker *worker, size_t there,
				 size_t back, unsigned batch, unsigned bufs)
{
	struct bench_raw *r = bench_huge(sizeof(*r));
	size_t            most = there * batch > back ? there * batch : back;

	memset(r, 0, sizeof(*r));
	r->r_worker = worker;
	r->r_there = there;
	r->r_back = back;
	r->r_batch = batch;
	r->r_bufs = bufs;
	must(bufs <= BUFS_MAX && sem_init(&r->r_over, 0, 0) == 0, "open");
	connect_ends(r);
	for (int i = 0; i < 2; i++) {
		char *area = bench_huge(most * bufs);

		r->r_end[i].e_flags = worker != NULL ? MSG_DONTWAIT : 0;
		r->r_end[i].e_ahead = bench_huge(AHEAD_BYTES);
		for (unsigned j = 0; j < bufs; j++)
			r->r_end[i].e_bufs[j] = area + j * most;
	}
	if (worker == NULL)
		must(pthread_create(&r->r_thread, NULL, &serve_thread, r) == 0,
		     "thread");
	return r;
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

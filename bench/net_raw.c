/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "net_raw.h"

enum {
	BUFS_MAX = 64,
	/** Read at once, of small messages. */
	AHEAD_BYTES = 64 << 10,
	FLAT_BYTES = 16 << 10
};

/** One end, of one side. */
struct end {
	int   e_fd;
	int   e_flags;
	char *e_bufs[BUFS_MAX];
	char  e_head[NET_HEAD_BYTES];
	/** Buffers used, in turns. */
	unsigned e_at;
	/** Bytes of the message that is coming. */
	size_t e_got;
	char  *e_ahead;
};

/** What both sides see. */
struct seen {
	_Alignas(128) _Atomic uint64_t s_got;
	_Alignas(128) _Atomic uint64_t s_want;
	sem_t s_over;
};

struct net_raw {
	struct net_raw_how       r_how;
	const struct world_play *r_play;
	struct end               r_end[2];
	struct seen             *r_seen;
	pthread_t                r_thread;
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

	if (!is_flat(bytes) && from < NET_HEAD_BYTES) {
		iov[nr].iov_base = e->e_head + from;
		iov[nr++].iov_len = NET_HEAD_BYTES - from;
		from = NET_HEAD_BYTES;
	}
	iov[nr].iov_base = buf + from;
	iov[nr++].iov_len = bytes - from;
	return nr;
}

static void end_next(struct net_raw *r, struct end *e)
{
	e->e_at = e->e_at + 1 == r->r_how.rh_bufs ? 0 : e->e_at + 1;
	e->e_got = 0;
}

/** All of it; spins or blocks while there is no room. */
static void end_write(struct net_raw *r, struct end *e, size_t bytes)
{
	struct iovec  iov[2];
	struct msghdr msg = { .msg_iov = iov };
	int           flags = e->e_flags | MSG_NOSIGNAL;
	size_t        done = 0;
	ssize_t       nr;

	while (done < bytes) {
		msg.msg_iovlen = iov_of(e, bytes, done, iov);
		nr = msg.msg_iovlen > 1 ? sendmsg(e->e_fd, &msg, flags)
					: send(e->e_fd, iov[0].iov_base,
					       iov[0].iov_len, flags);
		must(nr >= 0 || errno == EAGAIN || errno == EINTR, "send");
		done += nr > 0 ? (size_t)nr : 0;
	}
	end_next(r, e);
}

/** One call. 1: the message is there whole; <0: the end. */
static int end_read(struct net_raw *r, struct end *e, size_t bytes)
{
	struct iovec  iov[2];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t       nr;

	msg.msg_iovlen = iov_of(e, bytes, e->e_got, iov);
	nr = msg.msg_iovlen > 1 ? recvmsg(e->e_fd, &msg, e->e_flags)
				: recv(e->e_fd, iov[0].iov_base, iov[0].iov_len,
				       e->e_flags);
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
static int ahead_read(struct net_raw *r, struct end *e)
{
	ssize_t nr = recv(e->e_fd, e->e_ahead, AHEAD_BYTES, e->e_flags);

	if (nr == 0)
		return -1;
	must(nr > 0 || errno == EAGAIN || errno == EINTR, "recv");
	e->e_got += nr > 0 ? (size_t)nr : 0;
	nr = (ssize_t)(e->e_got / r->r_how.rh_there);
	e->e_got %= r->r_how.rh_there;
	return (int)nr;
}

/** What side 1 does, again and again. <0: it is over. */
static int answer(struct net_raw *r)
{
	struct seen *s = r->r_seen;
	struct end  *e = &r->r_end[1];
	size_t       there = r->r_how.rh_there;
	size_t       back = r->r_how.rh_back;
	int          nr;

	nr = is_flat(there) && back == 0 ? ahead_read(r, e)
					 : end_read(r, e, there);
	if (nr > 0 && back != 0)
		end_write(r, e, back);
	if (nr > 0 && back == 0 &&
	    atomic_fetch_add(&s->s_got, (unsigned)nr) + (unsigned)nr >=
		    atomic_load(&s->s_want))
		sem_post(&s->s_over);
	return nr;
}

static void raw_serve(void *arg)
{
	must(answer(arg) >= 0, "serve");
}

static void *serve_thread(void *arg)
{
	while (answer(arg) >= 0)
		;
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
	struct end *e = &r->r_end[0];
	int         rc;

	for (uint64_t i = 0; i < nr; i++) {
		end_write(r, e, r->r_how.rh_there);
		while ((rc = end_read(r, e, r->r_how.rh_back)) == 0)
			world_turn(r->r_how.rh_kind, r->r_play);
		must(rc > 0, "recv");
	}
	return nr;
}

static uint64_t stream_run(struct net_raw *r, uint64_t nr)
{
	struct seen *s = r->r_seen;
	unsigned     batch = r->r_how.rh_batch;

	for (uint64_t i = 0; i < nr; i += batch) {
		end_write(r, &r->r_end[0], r->r_how.rh_there * batch);
		world_turn(r->r_how.rh_kind, r->r_play);
	}
	while (atomic_load(&s->s_got) < nr) {
		if (!r->r_how.rh_polled)
			world_sem_take(&s->s_over);
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
	nr = r->r_how.rh_back != 0 ? answered_run(r, nr) : stream_run(r, nr);
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
	struct net_raw    *r = arg;
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
	r->r_seen = world_shared(sizeof(*r->r_seen));
	world_sem_init(&r->r_seen->s_over);
}

static void raw_open(void *arg, int side)
{
	struct net_raw           *r = arg;
	const struct net_raw_how *how = &r->r_how;
	struct end               *e = &r->r_end[side];
	size_t                    there = how->rh_there * how->rh_batch;
	size_t most = there > how->rh_back ? there : how->rh_back;
	char  *area = bench_huge(most * how->rh_bufs);

	e->e_flags = how->rh_polled ? MSG_DONTWAIT : 0;
	e->e_ahead = bench_huge(AHEAD_BYTES);
	for (unsigned j = 0; j < how->rh_bufs; j++)
		e->e_bufs[j] = area + j * most;
	if (side == 1 && !how->rh_polled)
		must(pthread_create(&r->r_thread, NULL, &serve_thread, r) == 0,
		     "thread");
}

static void raw_close(void *arg, int side)
{
	struct net_raw *r = arg;

	shutdown(r->r_end[side].e_fd, SHUT_RDWR);
	if (side == 1 && !r->r_how.rh_polled)
		pthread_join(r->r_thread, NULL);
	close(r->r_end[side].e_fd);
}

struct net_raw *net_raw_make(const struct net_raw_how *how,
			     struct world_play        *play)
{
	struct net_raw *r = bench_huge(sizeof(*r));

	memset(r, 0, sizeof(*r));
	r->r_how = *how;
	r->r_play = play;
	must(how->rh_bufs >= 1 && how->rh_bufs <= BUFS_MAX, "buffers");
	*play = (struct world_play){
		.wp_prepare = &raw_prepare,
		.wp_open = &raw_open,
		.wp_close = &raw_close,
		.wp_serve = how->rh_polled ? &raw_serve : NULL,
		.wp_arg = r,
	};
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "raw_end.h"

enum {
	/** Read at once, of small messages. */
	AHEAD_BYTES = 64 << 10,
	FLAT_BYTES = 16 << 10
};

void raw_must(bool ok, const char *what)
{
	if (!ok)
		bench_die("raw: %s: %s", what, strerror(errno));
}

/** Small ones are in one piece; others have the head apart, as ours. */
static bool is_flat(size_t bytes)
{
	return bytes <= FLAT_BYTES;
}

static unsigned iov_of(struct raw_end *e, size_t bytes, size_t from,
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

static void end_next(struct raw_end *e)
{
	e->e_at = e->e_at + 1 == e->e_bufs_nr ? 0 : e->e_at + 1;
	e->e_got = 0;
}

void raw_end_write(struct raw_end *e, size_t bytes)
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
		raw_must(nr >= 0 || errno == EAGAIN || errno == EINTR, "send");
		done += nr > 0 ? (size_t)nr : 0;
	}
	end_next(e);
}

int raw_end_read(struct raw_end *e, size_t bytes)
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
	raw_must(nr > 0 || errno == EAGAIN || errno == EINTR, "recv");
	e->e_got += nr > 0 ? (size_t)nr : 0;
	if (e->e_got < bytes)
		return 0;
	end_next(e);
	return 1;
}

int raw_end_read_some(struct raw_end *e, size_t bytes)
{
	ssize_t nr;

	if (!is_flat(bytes))
		return raw_end_read(e, bytes);
	nr = recv(e->e_fd, e->e_ahead, AHEAD_BYTES, e->e_flags);
	if (nr == 0)
		return -1;
	raw_must(nr > 0 || errno == EAGAIN || errno == EINTR, "recv");
	e->e_got += nr > 0 ? (size_t)nr : 0;
	nr = (ssize_t)(e->e_got / bytes);
	e->e_got %= bytes;
	return (int)nr;
}

void raw_ends_connect(struct raw_end ends[2])
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t          len = sizeof(in);
	int                one = 1;
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	raw_must(fd >= 0 && bind(fd, (struct sockaddr *)&in, len) == 0 &&
			 listen(fd, 1) == 0 &&
			 getsockname(fd, (struct sockaddr *)&in, &len) == 0,
		 "listen");
	ends[0].e_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	raw_must(connect(ends[0].e_fd, (struct sockaddr *)&in, len) == 0,
		 "connect");
	ends[1].e_fd = accept(fd, NULL, NULL);
	raw_must(ends[1].e_fd >= 0, "accept");
	close(fd);
	for (int i = 0; i < 2; i++)
		raw_must(setsockopt(ends[i].e_fd, IPPROTO_TCP, TCP_NODELAY,
				    &one, sizeof(one)) == 0,
			 "option");
}

void raw_end_init(struct raw_end *e, bool polled, unsigned bufs_nr, size_t most)
{
	char *area = bench_huge(most * bufs_nr);

	raw_must(bufs_nr >= 1 && bufs_nr <= RAW_BUFS_MAX, "buffers");
	e->e_flags = polled ? MSG_DONTWAIT : 0;
	e->e_bufs_nr = bufs_nr;
	e->e_ahead = bench_huge(AHEAD_BYTES);
	for (unsigned j = 0; j < bufs_nr; j++)
		e->e_bufs[j] = area + j * most;
}

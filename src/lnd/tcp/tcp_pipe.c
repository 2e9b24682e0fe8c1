/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Pipes, through which splice(2) moves bytes from one socket to another.
 *
 * A pipe holds at most as many pieces as it has pages, and a piece is what the system
 * received in one: on a network with small packets a pipe is full long before it has
 * its size in bytes.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lnd/tcp/tcp_internal.h"

enum {
	/** A pipe of fewer bytes would not be worth its system calls. */
	PIPE_BYTES_MIN = 256 << 10,
	FLUSH_SEGS_MAX = 16
};

struct tcp_pipe {
	struct m0_lnd_pipe tpi_pipe;
	int                tpi_fds[2];
};

static struct tcp_pipe *pipe_of(struct m0_lnd_pipe *pipe)
{
	return container_of(pipe, struct tcp_pipe, tpi_pipe);
}

static void pipe_free(struct m0_lnd_pipe *lnd_pipe)
{
	struct tcp_pipe *pipe = pipe_of(lnd_pipe);

	(void)close(pipe->tpi_fds[0]);
	(void)close(pipe->tpi_fds[1]);
	m0_free(pipe);
}

static ssize_t flush_once(int fd, const struct m0_lnd_payload *payload,
			  m0_bcount_t at, m0_bcount_t left)
{
	struct iovec iov[FLUSH_SEGS_MAX];
	m0_bcount_t  part;
	uint32_t     nr = m0_bufvec_iovec(payload->lpy_vec,
					  payload->lpy_offset + at, left, iov,
					  ARRAY_SIZE(iov), &part);
	ssize_t      rc;

	do {
		rc = readv(fd, iov, (int)nr);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc;
}

static int pipe_flush(struct m0_lnd_pipe          *pipe,
		      const struct m0_lnd_payload *payload)
{
	m0_bcount_t at = pipe->lnp_at + pipe->lnp_gone;
	m0_bcount_t end = pipe->lnp_at + pipe->lnp_bytes;
	ssize_t     nr;

	M0_PRE(end <= payload->lpy_bytes);
	pipe->lnp_closed = true;
	for (; at < end; at += (m0_bcount_t)nr) {
		nr = flush_once(pipe_of(pipe)->tpi_fds[0], payload, at,
				end - at);
		if (nr <= 0)
			return nr < 0 ? (int)nr : -EIO;
	}
	pipe->lnp_bytes = 0;
	pipe->lnp_gone = 0;
	return 0;
}

static const struct m0_lnd_pipe_ops pipe_ops = { .lpx_flush = pipe_flush,
						 .lpx_free = pipe_free };

/* The size that the system allows: users have a quota of pages. */
static bool pipe_grow(int fd, m0_bcount_t bytes)
{
	for (; bytes >= PIPE_BYTES_MIN; bytes /= 2)
		if (fcntl(fd, F_SETPIPE_SZ, (int)bytes) >= 0)
			return true;
	return false;
}

struct m0_lnd_pipe *m0_tcp__pipe_new(struct m0_streams *streams, uint64_t bytes)
{
	struct tcp_pipe *pipe;

	(void)streams;
	M0_PRE(bytes >= PIPE_BYTES_MIN && bytes <= INT32_MAX);
	M0_ALLOC_PTR(pipe);
	if (pipe == NULL)
		return NULL;
	if (pipe2(pipe->tpi_fds, O_NONBLOCK | O_CLOEXEC) != 0) {
		m0_free(pipe);
		return NULL;
	}
	pipe->tpi_pipe.lnp_ops = &pipe_ops;
	if (!pipe_grow(pipe->tpi_fds[1], bytes)) {
		pipe_free(&pipe->tpi_pipe);
		return NULL;
	}
	return &pipe->tpi_pipe;
}

ssize_t m0_tcp__pipe_in(struct m0_lnd_pipe *pipe, int fd, size_t nr)
{
	ssize_t rc;

	do {
		rc = splice(fd, NULL, pipe_of(pipe)->tpi_fds[1], NULL, nr,
			    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -errno;
	pipe->lnp_bytes += (size_t)rc;
	return rc;
}

/* As with MSG_NOSIGNAL, which splice(2) does not have: the application may not want
 * to die by the end of a connection. */
static ssize_t splice_nosignal(int from, int to, size_t nr)
{
	const struct timespec zero = { 0 };
	sigset_t              set;
	sigset_t              before;
	ssize_t               rc;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	do {
		rc = splice(from, NULL, to, NULL, nr,
			    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		rc = -errno;
	if (rc == -EPIPE)
		(void)sigtimedwait(&set, NULL, &zero);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

ssize_t m0_tcp__pipe_out(struct m0_lnd_pipe *pipe, int fd, size_t nr)
{
	ssize_t rc;

	M0_PRE(nr > 0 && nr <= pipe->lnp_bytes - pipe->lnp_gone);
	rc = splice_nosignal(pipe_of(pipe)->tpi_fds[0], fd, nr);
	if (rc > 0)
		pipe->lnp_gone += (size_t)rc;
	/* The pipe is not empty. */
	return rc == 0 ? -EIO : rc;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How a connection ends.
 *
 * A Lustre node does not notice that an idle connection was reset: it keeps the
 * connection, refuses the next ones, and loses the next message that it sends.
 * It notices the end of the stream at once. So FIN must leave first, behind what
 * was written, but the system resets the connection in its place if bytes are
 * unread at close(), or if bytes arrive after it and before the FIN is
 * acknowledged. A filter therefore cuts the payload off what arrives from now on,
 * and the bytes that are there already are discarded.
 *
 * TCP_LINGER2 = -1 (listen.c) makes the system forget the connection when the
 * peer has acknowledged the FIN, so that none of the few privileged ports waits in
 * TIME_WAIT. This holds for closed sockets alone. close() therefore sends the FIN:
 * after shutdown() a fast peer could answer it before close().
 */
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "lnd/tcp/tcp_internal.h"

enum {
	/** System calls that discard unread bytes; each takes all there are. */
	DISCARDS_MAX = 16,
	DISCARD_BYTES = 1 << 30,
	/** The system sends what was written for so long after the end. */
	LAST_BYTES_MS = 5000
};

/* MSG_TRUNC: the system discards them without a copy. */
static void unread_discard(int fd)
{
	ssize_t nr = 1;
	int     i;

	for (i = 0; i < DISCARDS_MAX && nr > 0; ++i)
		nr = recv(fd, NULL, DISCARD_BYTES, MSG_TRUNC | MSG_DONTWAIT);
}

/* The headers of TCP are kept, whatever the filter says. */
static bool payloads_refuse(int fd)
{
	static struct sock_filter      header = BPF_STMT(BPF_RET | BPF_K, 1);
	static const struct sock_fprog prog = { .len = 1, .filter = &header };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			  sizeof prog) == 0;
}

static void orderly_prepare(int fd)
{
	static const unsigned last_ms = LAST_BYTES_MS;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &last_ms,
			 sizeof last_ms);
	if (!payloads_refuse(fd))
		(void)shutdown(fd, SHUT_WR);
	unread_discard(fd);
}

static void reset_prepare(int fd)
{
	static const struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

void m0_tcp__fd_end(int fd, bool reset)
{
	M0_PRE(fd >= 0);
	if (reset)
		reset_prepare(fd);
	else
		orderly_prepare(fd);
	(void)close(fd);
}

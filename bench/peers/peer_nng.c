/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* nng: a pair of pair1 sockets. */
#include <stdlib.h>
#include <string.h>

#include "nng_ck.h"

#include <nng/protocol/pair1/pair.h>

#include "peer.h"

struct peer {
	nng_socket p_sock;
};

void peer_init(void)
{
}

void peer_fini(void)
{
	nng_fini();
}

struct peer *peer_open(bool listens, int depth)
{
	struct peer *p = malloc(sizeof(*p));

	if (p == NULL)
		bench_die("no memory");
	ck(nng_pair1_open(&p->p_sock), "nng_pair1_open");
	ck(nng_socket_set_int(p->p_sock, NNG_OPT_SENDBUF, depth), "SENDBUF");
	ck(nng_socket_set_int(p->p_sock, NNG_OPT_RECVBUF, depth), "RECVBUF");
	if (listens)
		ck(nng_listen(p->p_sock, peer_where, NULL, 0), "listen");
	else
		ck(nng_dial(p->p_sock, peer_where, NULL, 0), "nng_dial");
	return p;
}

void peer_close(struct peer *p)
{
	nng_close(p->p_sock);
	free(p);
}

void peer_send(struct peer *p, const void *bytes, size_t nr)
{
	nng_msg *m;

	ck(nng_msg_alloc(&m, nr), "nng_msg_alloc");
	memcpy(nng_msg_body(m), bytes, nr);
	ck(nng_sendmsg(p->p_sock, m, 0), "nng_sendmsg");
}

static nng_msg *take(struct peer *p)
{
	int      flags = bench_opt.o_poll ? NNG_FLAG_NONBLOCK : 0;
	nng_msg *m;
	int      rc;

	while ((rc = nng_recvmsg(p->p_sock, &m, flags)) != 0)
		if (rc != NNG_EAGAIN)
			ck(rc, "nng_recvmsg");
	return m;
}

size_t peer_recv(struct peer *p, uint64_t *ret_word)
{
	nng_msg *m = take(p);
	size_t   len = nng_msg_len(m);

	memcpy(ret_word, nng_msg_body(m), len < 8 ? len : 8);
	nng_msg_free(m);
	return len;
}

size_t peer_echo(struct peer *p)
{
	nng_msg *m = take(p);
	size_t   len = nng_msg_len(m);

	ck(nng_sendmsg(p->p_sock, m, 0), "nng_sendmsg");
	return len;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* nng: req and rep sockets, a context for each request on the way. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "nng_ck.h"

#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>

#include "req.h"

enum {
	NAP_US = 200
};

enum state {
	SENDING,
	RECEIVING
};

/** One request after the other, or one answer after the other. */
struct lane {
	nng_ctx    l_ctx;
	nng_aio   *l_aio;
	enum state l_state;
};

static nng_socket    sock;
static struct lane   lanes[REQ_FLIGHT_MAX];
static unsigned      lanes_nr;
static atomic_ullong left;
static atomic_uint   running;
static sem_t         rest;
static atomic_bool   closing;

static void lanes_open(unsigned nr, void (*cb)(void *))
{
	lanes_nr = nr;
	for (unsigned i = 0; i < nr; i++) {
		ck(nng_ctx_open(&lanes[i].l_ctx, sock), "nng_ctx_open");
		ck(nng_aio_alloc(&lanes[i].l_aio, cb, &lanes[i]),
		   "nng_aio_alloc");
	}
}

static void end(void)
{
	atomic_store(&closing, true);
	nng_close(sock);
	for (unsigned i = 0; i < lanes_nr; i++)
		nng_aio_free(lanes[i].l_aio);
}

/* ---------------------------------------------------------------- server -- */

static void answer_cb(void *arg)
{
	struct lane *lane = arg;

	if (nng_aio_result(lane->l_aio) != 0) {
		if (!atomic_load(&closing) &&
		    nng_aio_result(lane->l_aio) != NNG_ECLOSED)
			ck(nng_aio_result(lane->l_aio), "server");
		return;
	}
	if (lane->l_state == SENDING) {
		lane->l_state = RECEIVING;
		nng_ctx_recv(lane->l_ctx, lane->l_aio);
		return;
	}
	/* The message goes back as it came. */
	lane->l_state = SENDING;
	nng_aio_set_msg(lane->l_aio, nng_aio_get_msg(lane->l_aio));
	nng_ctx_send(lane->l_ctx, lane->l_aio);
}

void req_server_open(const char *where, unsigned flight)
{
	ck(nng_rep0_open(&sock), "nng_rep0_open");
	lanes_open(flight, answer_cb);
	ck(nng_listen(sock, where, NULL, 0), "nng_listen");
	for (unsigned i = 0; i < flight; i++) {
		lanes[i].l_state = RECEIVING;
		nng_ctx_recv(lanes[i].l_ctx, lanes[i].l_aio);
	}
}

/* Its own threads serve. */
void req_server_turn(void)
{
	usleep(NAP_US);
}

void req_server_close(void)
{
	end();
}

/* ---------------------------------------------------------------- client -- */

static void ask(struct lane *lane)
{
	nng_msg *m;

	ck(nng_msg_alloc(&m, REQ_BYTES), "nng_msg_alloc");
	memset(nng_msg_body(m), 0, REQ_BYTES);
	lane->l_state = SENDING;
	nng_aio_set_msg(lane->l_aio, m);
	nng_ctx_send(lane->l_ctx, lane->l_aio);
}

static void ask_cb(void *arg)
{
	struct lane *lane = arg;
	nng_msg     *m;

	if (atomic_load(&closing))
		return;
	ck(nng_aio_result(lane->l_aio), "client");
	if (lane->l_state == SENDING) {
		lane->l_state = RECEIVING;
		nng_ctx_recv(lane->l_ctx, lane->l_aio);
		return;
	}
	m = nng_aio_get_msg(lane->l_aio);
	if (nng_msg_len(m) != REQ_BYTES)
		bench_die("an answer of %zu bytes", nng_msg_len(m));
	nng_msg_free(m);
	if ((long long)atomic_fetch_sub(&left, 1) > 0)
		ask(lane);
	else if (atomic_fetch_sub(&running, 1) == 1)
		sem_post(&rest);
}

void req_open(const char *where, unsigned flight)
{
	sem_init(&rest, 0, 0);
	ck(nng_req0_open(&sock), "nng_req0_open");
	lanes_open(flight, ask_cb);
	ck(nng_dial(sock, where, NULL, 0), "nng_dial");
}

uint64_t req_run(uint64_t nr)
{
	nr = nr < lanes_nr ? lanes_nr : nr;
	atomic_store(&left, nr - lanes_nr);
	atomic_store(&running, lanes_nr);
	for (unsigned i = 0; i < lanes_nr; i++)
		ask(&lanes[i]);
	while (sem_wait(&rest) != 0)
		if (errno != EINTR)
			bench_die("semaphore");
	return nr;
}

void req_close(void)
{
	end();
}

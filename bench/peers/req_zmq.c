/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* ZeroMQ: DEALER asks, ROUTER answers. */
#include <errno.h>
#include <string.h>

#include "req.h"
#include "zmq_ck.h"

enum {
	/** A server that blocks looks whether it is to stop. */
	LOOK_MS = 5
};

static void    *context;
static void    *sock;
static unsigned flight_nr;

static void sock_open(int type)
{
	int zero = 0;
	int ms = LOOK_MS;

	context = zmq_ctx_new();
	sock = context == NULL ? NULL : zmq_socket(context, type);
	if (sock == NULL)
		bench_die("zmq_socket");
	ck(zmq_setsockopt(sock, ZMQ_LINGER, &zero, sizeof(zero)), "LINGER");
	if (type == ZMQ_ROUTER)
		ck(zmq_setsockopt(sock, ZMQ_RCVTIMEO, &ms, sizeof(ms)),
		   "RCVTIMEO");
}

void req_server_open(const char *where, unsigned flight)
{
	(void)flight;
	sock_open(ZMQ_ROUTER);
	ck(zmq_bind(sock, where), "zmq_bind");
}

void req_open(const char *where, unsigned flight)
{
	flight_nr = flight;
	sock_open(ZMQ_DEALER);
	ck(zmq_connect(sock, where), "zmq_connect");
}

static void end(void)
{
	zmq_close(sock);
	zmq_ctx_term(context);
}

void req_server_close(void)
{
	end();
}

void req_close(void)
{
	end();
}

/* Sender and request are sent back as they came. */
void req_server_turn(void)
{
	int       flags = bench_opt.o_poll ? ZMQ_DONTWAIT : 0;
	zmq_msg_t who;
	zmq_msg_t what;

	zmq_msg_init(&who);
	if (zmq_msg_recv(&who, sock, flags) < 0) {
		if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
			ck(-1, "zmq_msg_recv");
		zmq_msg_close(&who);
		return;
	}
	zmq_msg_init(&what);
	ck(zmq_msg_recv(&what, sock, 0), "zmq_msg_recv");
	ck(zmq_msg_send(&who, sock, ZMQ_SNDMORE), "zmq_msg_send");
	ck(zmq_msg_send(&what, sock, 0), "zmq_msg_send");
}

static void ask(void)
{
	char bytes[REQ_BYTES] = { 0 };

	ck(zmq_send(sock, bytes, sizeof(bytes), 0), "zmq_send");
}

static void answer_take(void)
{
	int  flags = bench_opt.o_poll ? ZMQ_DONTWAIT : 0;
	char bytes[REQ_BYTES];
	int  len;

	while ((len = zmq_recv(sock, bytes, sizeof(bytes), flags)) < 0)
		if (zmq_errno() != EAGAIN && zmq_errno() != EINTR)
			ck(-1, "zmq_recv");
	if (len != REQ_BYTES)
		bench_die("an answer of %d bytes", len);
}

uint64_t req_run(uint64_t nr)
{
	uint64_t done = 0;

	for (unsigned i = 0; i < flight_nr; i++)
		ask();
	for (; done + flight_nr < nr; done++) {
		answer_take();
		ask();
	}
	for (unsigned i = 0; i < flight_nr; i++)
		answer_take();
	return done + flight_nr;
}

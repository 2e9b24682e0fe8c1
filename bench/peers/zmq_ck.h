/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * ZeroMQ, for the programs that measure it. What they use of its binary interface
 * is declared here, so that the package libzmq5 suffices: libzmq3-dev needs newer
 * versions of many packages that have nothing to do with it.
 */
#ifndef BENCH_ZMQ_CK_H
#define BENCH_ZMQ_CK_H

#include <stddef.h>

#include "../lib/bench.h"

enum {
	ZMQ_PAIR = 0,
	ZMQ_DEALER = 5,
	ZMQ_ROUTER = 6,

	ZMQ_LINGER = 17,
	ZMQ_SNDHWM = 23,
	ZMQ_RCVHWM = 24,
	ZMQ_RCVTIMEO = 27,

	ZMQ_DONTWAIT = 1,
	ZMQ_SNDMORE = 2
};

typedef struct {
	_Alignas(void *) unsigned char zm_opaque[64];
} zmq_msg_t;

void       *zmq_ctx_new(void);
int         zmq_ctx_term(void *context);
int         zmq_errno(void);
const char *zmq_strerror(int errnum);

void *zmq_socket(void *context, int type);
int   zmq_close(void *socket);
int   zmq_setsockopt(void *socket, int option, const void *val, size_t nr);
int   zmq_bind(void *socket, const char *where);
int   zmq_connect(void *socket, const char *where);
int   zmq_send(void *socket, const void *bytes, size_t nr, int flags);
int   zmq_recv(void *socket, void *bytes, size_t nr, int flags);

int    zmq_msg_init(zmq_msg_t *msg);
int    zmq_msg_close(zmq_msg_t *msg);
int    zmq_msg_send(zmq_msg_t *msg, void *socket, int flags);
int    zmq_msg_recv(zmq_msg_t *msg, void *socket, int flags);
void  *zmq_msg_data(zmq_msg_t *msg);
size_t zmq_msg_size(const zmq_msg_t *msg);

static inline void ck(int rc, const char *what)
{
	if (rc < 0)
		bench_die("%s: %s", what, zmq_strerror(zmq_errno()));
}

#endif /* BENCH_ZMQ_CK_H */

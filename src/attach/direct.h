/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Connections between processes that are attached to one daemon. docs/ring.md, section 15.
 */
#ifndef M0_SRC_ATTACH_DIRECT_H
#define M0_SRC_ATTACH_DIRECT_H

#include <poll.h>

#include "front/pump_near.h"
#include "m0/sync.h"

struct m0_attach_conn;

enum {
	/** Connections of both directions, and those that have not said what they want. */
	M0_ATTACH_CONNS_MAX = M0_PUMP_OUTS_MAX + M0_PUMP_INS_MAX + 16,
	/** Descriptors that may end a wait: the connections, and the one that listens. */
	M0_ATTACH_NEAR_FDS_MAX = M0_ATTACH_CONNS_MAX + 1
};

/** All connections of a process. Of no use until m0_attach_near_init(). */
struct m0_attach_near {
	/** Guards all that follows; the pump's lock is held, but by a wait. */
	struct m0_mutex atn_lock;
	/** Neighbours connect to it by an abstract name, that has the number; -1: none. */
	int      atn_listen;
	uint64_t atn_name;
	/** NULL: the place is free. */
	struct m0_attach_conn *atn_conns[M0_ATTACH_CONNS_MAX];
	unsigned               atn_nr;
	/** New descriptors are added to it; -1: none. */
	int atn_epoll;
	/** No more can be accepted now: the listener wakes nobody. */
	bool atn_is_full;
};

/** The first message of each side, with its memory of the pipe. */
struct m0_attach_near_hello {
	uint32_t nhe_magic;
	uint16_t nhe_version;
	/** 1 HELLO, 2 WELCOME. */
	uint16_t nhe_type;
	uint64_t nhe_mem_bytes;
	/** HELLO: the queue that it wants to send to. */
	uint64_t nhe_bits;
	uint32_t nhe_portal;
	uint8_t  nhe_reserved[36];
};

void m0_attach_near_init(struct m0_attach_near *near);
/** Closes all. */
void m0_attach_near_fini(struct m0_attach_near *near);
/** Descriptors that may end a wait, for poll(). @return how many */
unsigned m0_attach_near_fds(struct m0_attach_near *near,
			    struct pollfd          fds[M0_ATTACH_NEAR_FDS_MAX]);
/** Adds all descriptors, present and future, to an epoll descriptor. */
void m0_attach_near_epoll_set(struct m0_attach_near *near, int epoll);

/* The functions of struct m0_pump_near_ops. */

uint64_t             m0_attach_near_name(struct m0_attach_near *near);
struct m0_pump_conn *m0_attach_near_dial(struct m0_attach_near      *near,
					 uint64_t                    name,
					 const struct m0_pump_hello *hello);
struct m0_pump_conn *m0_attach_near_accept(struct m0_attach_near *near,
					   struct m0_pump_hello  *ret);
int                  m0_attach_near_welcome(struct m0_attach_near *near,
					    struct m0_pump_conn   *conn);
bool                 m0_attach_near_look(struct m0_attach_near *near);
void                 m0_attach_near_ring(struct m0_attach_near *near,
					 struct m0_pump_conn   *conn);
void                 m0_attach_near_close(struct m0_attach_near *near,
					  struct m0_pump_conn *conn, bool reset);

#endif /* M0_SRC_ATTACH_DIRECT_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The sunrpc transport's node without its thread: the test makes its steps, at times
 * of its choice. Its peers are the other ends of pairs of sockets. There is one TM with
 * one buffer; the kit and the table of TMs are stubs that record calls.
 */
#ifndef M0_TESTS_UNIT_XPRT_SUNRPC_RIG_H
#define M0_TESTS_UNIT_XPRT_SUNRPC_RIG_H

#include "xprt/sunrpc/sunrpc_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum {
	RIG_HOST = 0x7f000001,
	RIG_PORT = 7000,
	/** The machine's; its peers have others. */
	RIG_ID = 1,
	RIG_PEER_ID = 2,
	/** Identity of the buffer. */
	RIG_BUF = 4711,
	RIG_BYTES_MAX = 3 << 20,
	RIG_NONE = -1
};

struct rig {
	struct sr_machine r_machine;
	struct sr_dom     r_dom;
	/** The buffer, on queue r_qtype while it is armed. */
	struct m0_net_kit_buf  r_kb;
	struct m0_net_buffer   r_nb;
	struct sr_buf          r_sb;
	enum m0_net_queue_type r_qtype;
	bool                   r_armed;
	bool                   r_claimed;
	/** How it ended. */
	unsigned    r_done_nr;
	int32_t     r_status;
	m0_bcount_t r_length;
	/** Result of a received message. */
	int r_msg_rc;
	/** References to the machine. */
	int     r_refs_nr;
	uint8_t r_bytes[RIG_BYTES_MAX];
};
extern struct rig rig;

/** Setup and teardown of a case. */
int rig_begin(void **state);
int rig_end(void **state);
#define RIG_CASE(fn) cmocka_unit_test_setup_teardown(fn, rig_begin, rig_end)

/** So many milliseconds after the begin of the case. */
m0_time_t rig_at(uint64_t ms);
/** All that the node has to do then. */
void rig_run(uint64_t ms);
/** Arms the buffer: of `nr` bytes. */
void rig_arm(enum m0_net_queue_type qtype, m0_bcount_t nr);

/** A peer whose connection was taken in. @return its end, does not block. */
int rig_caller(uint64_t ms);
/** A server to which the domain has a connection. */
int rig_server(bool bulk, uint64_t ms);
/** Connections there are, both kinds. */
unsigned rig_conns_nr(void);

/** A call, with its record mark, to `to`; the payload is the caller's to add.
 * @return its bytes. */
uint32_t rig_call(uint8_t *to, const struct sr_call_head *head);
/** Writes as much. */
void rig_call_write(int fd, const struct sr_call_head *head, uint64_t ms);
/** So much of a message of `nr` bytes to the machine. */
void rig_msg_write(int fd, uint32_t nr, uint64_t ms);
/** The status of a put, or of a message, that has ended; else RIG_NONE. */
int rig_answer(int fd);
/** A call of procedure 0, sent whole. */
void rig_null(int fd);
/** Writes all of it; the node runs at `ms` when it has no room. */
void rig_write(int fd, const void *bytes, size_t nr, uint64_t ms);
/** Reads what there is, at most `nr`; 0: the end, -EAGAIN: nothing yet. */
ssize_t rig_read(int fd, void *bytes, size_t nr);
/** Whether the node has closed it. */
bool rig_is_closed(int fd);

#endif /* M0_TESTS_UNIT_XPRT_SUNRPC_RIG_H */

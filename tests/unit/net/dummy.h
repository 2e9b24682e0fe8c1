/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A transport that moves nothing: it records how the generic layer calls it, and
 * fails as a test sets it; the test posts the events itself, from a thread of its
 * own.
 */
#ifndef M0_TESTS_UNIT_NET_DUMMY_H
#define M0_TESTS_UNIT_NET_DUMMY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "m0/net.h"
#include "m0/net_pool.h"
#include "m0/net_xprt.h"

enum dummy_op {
	DOM_INIT,
	DOM_FINI,
	TM_INIT,
	TM_CONFINE,
	TM_START,
	TM_STOP,
	TM_FINI,
	EP_CREATE,
	BUF_REGISTER,
	BUF_DEREGISTER,
	BUF_ADD,
	BUF_DEL,
	BEV_SYNC,
	BEV_ALL,
	BEV_PENDING,
	BEV_NOTIFY,
	GET_SIZE,
	GET_SEG,
	GET_SEGS,
	GET_DESC,
	FLUSH,
	OP_NR
};

struct dummy {
	/** Calls of each operation, and what each is to return. */
	int calls[OP_NR];
	int rc[OP_NR];
	/** Machine and domain whose locks are looked at in operations. */
	struct m0_net_transfer_mc *tm;
	struct m0_net_domain      *dom;
	/** Were the locks as the header says, in every call? */
	int           locks_bad;
	enum dummy_op locks_bad_op;
	/** End points released. */
	int  released;
	bool stop_abort;
	bool pending;
};
extern struct dummy dummy;
/** All operations. */
extern const struct m0_net_xprt dummy_xprt;
/** Without the optional ones. */
extern const struct m0_net_xprt dummy_bare_xprt;

enum {
	DUMMY_SIZE = 4096,
	DUMMY_SEG = 1024,
	DUMMY_SEGS = 8,
	DUMMY_DESC = 55
};

void dummy_reset(void);

/** A domain, a machine with callbacks that record, and a buffer. */
struct scene {
	struct m0_net_domain      dom;
	struct m0_net_transfer_mc tm;
	struct m0_net_buffer      buf;
	void                     *seg[1];
	m0_bcount_t               seg_nr[1];
	uint8_t                   bytes[DUMMY_SEG];
	int                       states[M0_NET_TM_FAILED + 1];
	int                       errors;
	int                       diagnostics;
	int                       events;
	/** Fields of the last event. */
	int32_t                  status;
	uint64_t                 flags;
	int64_t                  ep_refs;
	bool                     locked;
	enum m0_net_queue_type   qt;
	size_t                   recv_queue_len;
	struct m0_net_end_point *watched;
	/** Called in the buffer's callback. */
	void (*hook)(const struct m0_net_buffer_event *ev);
};
extern struct scene                         scene;
extern const struct m0_net_buffer_callbacks scene_cbs;

/** cmocka set-up: domain and machine; then also STARTED and registered. */
int scene_up(void **state);
int scene_started(void **state);
int scene_down(void **state);
/** Posts a state change, from another thread. */
void scene_state(enum m0_net_tm_state next);
/** Stops and posts STOPPED. */
void                     scene_stop(void);
struct m0_net_end_point *dummy_ep(const char *addr);
/** Makes the buffer fit for a queue. */
void scene_buf_for(enum m0_net_queue_type qt, struct m0_net_end_point *ep);
/** Posts an event of `buf`, from another thread. */
void scene_event(struct m0_net_buffer *buf, int32_t status, m0_bcount_t nr,
		 struct m0_net_end_point *from);
/** Runs fn(arg) on another thread and waits. */
void elsewhere(void (*fn)(void *arg), void *arg);

#endif /* M0_TESTS_UNIT_NET_DUMMY_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Processes that send messages to each other past their daemon, for tests.
 */
#ifndef M0_TESTS_ATTACH_DIRECT_H
#define M0_TESTS_ATTACH_DIRECT_H

#include <string.h>
#include <unistd.h>

#include "attach/direct.h"
#include "attach/server_internal.h"
#include "front/pump_direct.h"
#include "m0/lnet_run.h"

#include "attach_fix.h"

enum {
	TMID_SHIFT = 52,
	SLOT_BYTES = 48 << 10,
	RECVS_NR = 8,
	SENDS_NR = 16,
	SENDERS_MAX = 4,
	SMALL_BYTES = 64,
	LARGE_BYTES = 40 << 10,
	/** Seconds, for what comes sooner or later. */
	PATIENCE_S = 20
};

/** The first bytes of a message. */
struct msg {
	uint32_t ms_sender;
	uint32_t ms_seq;
};

struct end;

/** A buffer. */
struct slot {
	struct end           *sl_end;
	void                 *sl_buf;
	m0_bcount_t           sl_bytes;
	struct m0_bufvec      sl_vec;
	struct m0_lnet_handle sl_md;
	bool                  sl_is_used;
	uint32_t              sl_seq;
};

/** A process as an application has it. */
struct end {
	struct m0_lnet       *en_lnet;
	struct m0_lnet_eq     en_eq;
	struct m0_lnet_handle en_me;
	uint32_t              en_tmid;
	char                 *en_mem;
	struct slot           en_recvs[RECVS_NR];
	struct slot           en_sends[SENDS_NR];
	/** Messages of each sender so far. */
	uint32_t en_seqs[SENDERS_MAX];
	/** Buffers that were given up, and messages that were sent, with their errors. */
	unsigned en_unlinked_nr;
	unsigned en_sent_nr;
	unsigned en_failed_nr;
	/** The next message. */
	uint32_t en_seq;
	/** Messages are from any NID of the node, so they go by the daemon. */
	bool en_is_any;
	/** Gaps are no faults: processes die. */
	bool en_has_gaps;
};

extern struct end one;
extern struct end two;
extern struct end three;

/** Attaches. @param is_direct  lc_same_host */
void end_open_as(struct end *end, bool is_direct, bool is_inline);
void end_open(struct end *end, bool is_direct);
/** Detaches. */
void end_close(struct end *end);
/** Claims a number, and attaches its queue. */
void queue_begin_as(struct end *end, bool is_lazy);
void queue_begin(struct end *end);
/** Queues a receive buffer for so many messages; all that are not queued, for one. */
void recv_add(struct end *end, struct slot *slot, int32_t threshold);
void recvs_fill(struct end *end);
/** Sends. @return false: all buffers are in use. */
bool msg_send(struct end *from, const struct end *to, uint32_t sender,
	      m0_bcount_t bytes);
/** A step of each; `b` may be NULL. */
void turn(struct end *a, struct end *b);
/** The part of its pump. */
const struct m0_pump_direct *direct_of(const struct end *end);
/** Messages go by a pipe from now on; all that were sent have arrived. */
void way_open(struct end *from, struct end *to, uint32_t sender);
void all_come(struct end *from, struct end *to, uint32_t sender);
/** Unlinks the queue, and releases the number. */
void queue_end(struct end *end);
/** The ends `one`, and `two` with its queue. */
void two_open(void);
void two_close(void);

/** The cases of attach_direct_hostile.c. */
void hostile_neighbour_harms_nobody(void **state);
void hostile_taker_harms_itself(void **state);
void lie_is_found_between_passes(void **state);

#endif /* M0_TESTS_ATTACH_DIRECT_H */

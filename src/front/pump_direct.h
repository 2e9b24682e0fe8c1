/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Messages between neighbours: what the files of this part of the pump share. All of it is
 * guarded by pmp_lock.
 *
 * pump_hold.c has the queues of this process and the MDs that it holds for neighbours,
 * pump_take.c takes messages from neighbours, pump_send.c sends to them, pump_direct.c does what
 * both sides need.
 */
#ifndef M0_SRC_FRONT_PUMP_DIRECT_H
#define M0_SRC_FRONT_PUMP_DIRECT_H

#include "front/pump_internal.h"
#include "front/pump_near.h"

enum {
	/** Queues that neighbours can send to. */
	M0_PUMP_QUEUES_MAX = 16,
	/** Most bytes of a message; larger ones go to the server. */
	M0_PUMP_DIRECT_BYTES_MAX = 32 << 10
};

/** Before each message in a pipe, which has its header and payload before the other side
 * sees any of it. */
struct m0_pump_head {
	/** Bytes of the payload. */
	uint32_t                  phd_bytes;
	uint32_t                  phd_reserved;
	struct m0_lnet_process_id phd_target;
	struct m0_lnet_process_id phd_source;
	uint64_t                  phd_hdr_data;
};

M0_BASSERT(sizeof(struct m0_pump_head) == 64);

/** An ME with QUEUE, for one number of a transfer machine. */
struct m0_pump_queue {
	/** 0: the place is free. */
	uint32_t pqu_me_gen;
	uint32_t pqu_me;
	uint32_t pqu_portal;
	uint64_t pqu_bits;
	uint64_t pqu_name;
	/** The server is to have the name. */
	bool pqu_is_due;
	/** MDs that this process holds, in order: numbers plus 1; 0: none. */
	uint32_t pqu_first;
	uint32_t pqu_last;
	uint32_t pqu_held_nr;
	/** MDs that the server has. */
	uint32_t pqu_there_nr;
	/** Neighbours. */
	uint32_t pqu_ins_nr;
};

/** A neighbour that sends. */
struct m0_pump_in {
	/** NULL: the place is free. */
	struct m0_pump_conn  *pin_conn;
	struct m0_pump_queue *pin_queue;
	/** Bytes that were there before the server's events of this pass. */
	size_t pin_bytes;
	/** The next message, whose header was taken. */
	bool                pin_has_head;
	struct m0_pump_head pin_head;
	/** There is no MD for it since then; 0: it was not looked at. */
	m0_time_t pin_waits_since;
	/** Nothing more will come. */
	bool pin_is_ended;
};

enum m0_pump_out_state {
	/** The place is free. */
	M0_PUMP_OUT_NONE,
	/** The server is to be asked, and was asked, for the name. */
	M0_PUMP_OUT_ASKS,
	M0_PUMP_OUT_ASKED,
	M0_PUMP_OUT_DIALS,
	M0_PUMP_OUT_OPEN,
	/** Messages go to the server. */
	M0_PUMP_OUT_AWAY
};

/** A list of operations: numbers plus 1. */
struct m0_pump_chain {
	uint32_t pch_first;
	uint32_t pch_last;
};

/** A queue of a neighbour, or of nobody, to which this process sends. */
struct m0_pump_out {
	enum m0_pump_out_state pou_state;
	uint32_t               pou_portal;
	uint64_t               pou_bits;
	struct m0_pump_conn   *pou_conn;
	/** In the pipe; behind them, those that wait. */
	struct m0_pump_chain pou_sent;
	struct m0_pump_chain pou_waiting;
	/** Operations that the server has. */
	uint32_t pou_there_nr;
	/** Messages were put that the neighbour does not see yet. */
	bool pou_is_dirty;
	/** The neighbour has taken nothing since then. */
	m0_time_t pou_since;
	/** When the server is asked next, and the time between two such times. */
	m0_time_t pou_again_at;
	m0_time_t pou_again_ns;
};

struct m0_pump_direct {
	const struct m0_pump_near_ops *pdr_ops;
	struct m0_pump_queue           pdr_queues[M0_PUMP_QUEUES_MAX];
	struct m0_pump_in              pdr_ins[M0_PUMP_INS_MAX];
	struct m0_pump_out             pdr_outs[M0_PUMP_OUTS_MAX];
	/** Entries of the server that are taken before what neighbours have put. */
	uint32_t pdr_up_nr;
	/** Places from there on are free. */
	unsigned pdr_ins_end;
	unsigned pdr_outs_end;
	/** The one that was looked for last. */
	unsigned pdr_recent;
	/** The one that the server is asked about; NULL: none. */
	struct m0_pump_out *pdr_asked;
	/** MDs that this process holds, of all queues. */
	uint32_t pdr_held_nr;
	/** The server gets them. */
	bool pdr_gives_back;
	/** Recalls that were answered. */
	uint32_t pdr_recalls_nr;
	/** Something was posted to the front, which may sleep. */
	bool pdr_is_posted;
	/** Something for the server found no room in its queue. */
	bool pdr_waits_room;
	/** Sleep words are set. */
	bool pdr_sleeps;
	/** How long a message of a neighbour waits for an MD, before the neighbour is sent to
	 * the server. Tests are more patient. */
	m0_time_t pdr_patience;
	/** When to look at the connections. */
	m0_time_t pdr_look_at;
	/** Nothing else wakes the process for it. */
	bool     pdr_looks_again;
	uint64_t pdr_sent_nr;
	uint64_t pdr_taken_nr;
};

/** Ways of an operation. */
enum m0_pump_way {
	/** The server has it. */
	M0_PUMP_BY_SERVER,
	/** The operation is in a pipe; the operation waits for one. */
	M0_PUMP_BY_PIPE,
	M0_PUMP_WAITS
};

/* -- pump_near.c ----------------------------------------------------------- */

/** Is it a NID of the node? */
bool m0_pump__nid_is_ours(const struct m0_pump     *pump,
			  const struct m0_lnet_nid *nid);
/** Shows the server how many messages went without it. */
void m0_pump__counts_show(const struct m0_pump *pump);
/** Copies between a pipe and an MD, which has the bytes. */
void m0_pump__md_copy(struct m0_pump *pump, struct m0_pipe *pipe, uint32_t md,
		      uint64_t offset, uint64_t bytes, bool out);

/* -- pump_hold.c ----------------------------------------------------------- */

/** The queue of an ME; NULL: it is none. */
struct m0_pump_queue *m0_pump__queue_of(struct m0_pump *pump, uint32_t me,
					uint32_t gen);
/** Does the server want the MDs that are held? */
bool m0_pump__is_recalled(const struct m0_pump *pump);
/** Takes an MD that is held from its queue. */
void m0_pump__held_remove(struct m0_pump *pump, uint32_t nr);
/** Gives the MDs back that the server wants, puts names. @return true if any */
bool m0_pump__hold_step(struct m0_pump *pump);

/* -- pump_take.c ----------------------------------------------------------- */

/** Looks at what neighbours have put, before the server's events. */
void m0_pump__ins_look(struct m0_pump *pump);
/** Takes that, after them. @return true if any */
bool m0_pump__ins_take(struct m0_pump *pump);
/** Accepts neighbours, and drops those that are gone. */
void m0_pump__ins_step(struct m0_pump *pump);
void m0_pump__in_close(struct m0_pump *pump, struct m0_pump_in *in, bool reset);

/* -- pump_send.c ----------------------------------------------------------- */

/** Ends what neighbours have taken, and sends what waits. @return true if any */
bool m0_pump__outs_step(struct m0_pump *pump);
/** Has the neighbour taken what has not ended? */
bool m0_pump__out_is_due(const struct m0_pump     *pump,
			 const struct m0_pump_out *out);
/** Dials, and gives neighbours up. */
void m0_pump__outs_look(struct m0_pump *pump, m0_time_t now);

static inline bool m0_pump__in_is_open(const struct m0_pump_in *in)
{
	return in->pin_conn != NULL && in->pin_conn->pnc_is_open;
}

#endif /* M0_SRC_FRONT_PUMP_DIRECT_H */

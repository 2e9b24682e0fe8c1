/* SPDX-License-Identifier: Apache-2.0 */
/** The lossy wire between toy machines, which are numbers. */
#ifndef M0_TESTS_CONFORMANCE_TOY_WIRE_H
#define M0_TESTS_CONFORMANCE_TOY_WIRE_H

#include "m0/net_xprt.h"
#include "m0/sim.h"
#include "toy.h"

enum toy_pkt_type {
	MSG,
	GET,
	PUT,
	DATA,
	ACK
};

struct toy_pkt {
	struct m0_net_kit_work p_work;
	enum toy_pkt_type      p_type;
	struct m0_net_kit_addr p_from;
	/** While it is late on its way. */
	struct m0_sim_timer p_timer;
	unsigned            p_to;
	/** Where it has come, also when that refuses it: kept alive. */
	struct m0_net_kit_machine *p_at;
	/** Whom it is for, and whom an answer is for. */
	uint64_t               p_id;
	uint64_t               p_reply_id;
	enum m0_net_queue_type p_reply_qt;
	int32_t                p_status;
	/** Room at the reader of a GET. */
	m0_bcount_t p_room;
	m0_bcount_t p_data_nr;
	uint8_t     p_data[];
};

extern m0_time_t toy_timeout;

/** A packet from a machine, with what `kb` is to send, if it is not NULL. */
struct toy_pkt *toy_pkt(struct m0_net_kit_machine *from, enum toy_pkt_type type,
			uint64_t id, const struct m0_net_kit_buf *kb);
/** Puts a packet's data into a buffer. */
void toy_unpack(struct toy_pkt *p, struct m0_net_kit_buf *kb);

/** @return the number; 0 wanted: any. @retval -EADDRINUSE */
int  toy_wire_attach(struct m0_net_kit_machine *machine, unsigned wanted);
void toy_wire_detach(unsigned nr);
/** Takes the packet; it comes, once or twice, or does not. */
void toy_wire_send(struct toy_pkt *p, unsigned to);
/** Ends a packet that has come: it kept its machine's memory alive. */
void toy_wire_drop(struct m0_net_kit_work *work);

#endif /* M0_TESTS_CONFORMANCE_TOY_WIRE_H */

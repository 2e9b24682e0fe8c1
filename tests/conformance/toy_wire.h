/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The lossy wire between toy machines, which are numbers. */
#ifndef M0_TESTS_CONFORMANCE_TOY_WIRE_H
#define M0_TESTS_CONFORMANCE_TOY_WIRE_H

#include "m0/net_xprt.h"
#include "m0/sim.h"
#include "toy.h"

enum {
	TOY_NR = 65536
};

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
	/** Buffer that it is for, its queue, and the buffer that an answer is
	 * for. */
	uint64_t               p_id;
	enum m0_net_queue_type p_qt;
	uint64_t               p_reply_id;
	enum m0_net_queue_type p_reply_qt;
	int32_t                p_status;
	/** Room at the reader of a GET. */
	m0_bcount_t p_room;
	m0_bcount_t p_data_nr;
	uint8_t     p_data[];
};

extern m0_time_t toy_timeout;

static inline unsigned toy_number(const struct m0_net_kit_addr *addr)
{
	return (unsigned)addr->nka_bytes[0] << 8 | addr->nka_bytes[1];
}

static inline struct m0_net_kit_addr toy_addr(unsigned nr)
{
	return (struct m0_net_kit_addr){ 2,
					 { (uint8_t)(nr >> 8), (uint8_t)nr } };
}

/** A packet from a machine, with what `kb` is to send, if it is not NULL. */
struct toy_pkt *toy_pkt(struct m0_net_kit_machine *from, enum toy_pkt_type type,
			uint64_t id, const struct m0_net_kit_buf *kb);
/** Puts a packet's data into a buffer. */
void toy_unpack(struct toy_pkt *p, struct m0_net_kit_buf *kb);

/* Table of TMs by number: as in struct m0_net_kit_ops. */
int  toy_wire_attach(struct m0_net_kit_machine    *machine,
		     const struct m0_net_kit_addr *wanted,
		     struct m0_net_kit_addr       *ret_own);
void toy_wire_detach(struct m0_net_kit_machine *machine);
/** Takes the packet; it comes, once or twice, or does not. */
void toy_wire_send(struct toy_pkt *p, const struct m0_net_kit_addr *to);
/** Ends a packet that has come: it kept its machine's memory alive. */
void toy_wire_drop(struct m0_net_kit_work *work);

#endif /* M0_TESTS_CONFORMANCE_TOY_WIRE_H */

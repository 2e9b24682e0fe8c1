/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Credits of a connection of net o2ib. Each side has posted receive buffers for
 * `depth` messages of its peer, for `depth` answers to its own requests, and
 * for two NOOPs. A message says how many buffers its sender has posted anew.
 *
 * A message of ours without a credit could make a kernel peer panic, so that
 * sending one is an assertion. A peer that sends without a credit is an error.
 */
#ifndef M0_SRC_LND_O2IB_CREDIT_H
#define M0_SRC_LND_O2IB_CREDIT_H

#include "lnd/o2ib/o2ib_wire.h"

enum {
	/** NOOPs that may be on their way at once: they take no credit. */
	M0_O2IB_NOOPS_MAX = 2,
	M0_O2IB_DEPTH_MAX = 255
};

struct m0_o2ib_credits {
	uint16_t ibc_depth;
	/** Messages that take a credit and that we may send. */
	uint16_t ibc_ours;
	/** Requests for RDMA that we may begin. */
	uint16_t ibc_reserved;
	/** Requests for RDMA that we have sent and that have no answer. */
	uint16_t ibc_asked;
	/** Buffers posted anew that the peer does not know of. */
	uint16_t ibc_outstanding;
	/** Messages that the peer may send, as far as it knows. */
	uint16_t ibc_theirs;
	/** PUT_REQs that we have acknowledged; their credits return with the
	 * PUT_DONE. */
	uint16_t ibc_puts;
	/** NOOPs that are being sent. */
	uint16_t ibc_noops;
};

/** Pre: 1 <= depth <= M0_O2IB_DEPTH_MAX. */
void m0_o2ib__credits_init(struct m0_o2ib_credits *credits, uint16_t depth);
/** Receive buffers to post before the connection is set up. */
uint16_t m0_o2ib__credits_bufs(const struct m0_o2ib_credits *credits);

/** Takes the slot for the answer to a PUT_REQ or GET_REQ. @return false if all
 * are in use: the request must wait. */
bool m0_o2ib__credits_reserve(struct m0_o2ib_credits *credits);
/** Gives the slot of a request back that will not be sent. */
void m0_o2ib__credits_unreserve(struct m0_o2ib_credits *credits);
/** May a message of `type` be sent now? A request must have its slot. */
bool m0_o2ib__credits_may_send(const struct m0_o2ib_credits *credits,
			       uint8_t                       type);
/**
 * Pays for a message that is sent now. Pre: m0_o2ib__credits_may_send().
 * @return the credits that its header must return to the peer.
 */
uint8_t m0_o2ib__credits_send(struct m0_o2ib_credits *credits, uint8_t type);
/** Undoes m0_o2ib__credits_send(), which returned `returned`. */
void m0_o2ib__credits_unsend(struct m0_o2ib_credits *credits, uint8_t type,
			     uint8_t returned);
/** A NOOP of ours has been sent. */
void m0_o2ib__credits_noop_sent(struct m0_o2ib_credits *credits);

/**
 * Accounts for a message of the peer, before it is processed.
 * @retval -EPROTO  it returns more credits than there are, or has none, or is an
 *                  answer to nothing: close the connection.
 */
int m0_o2ib__credits_receive(struct m0_o2ib_credits   *credits,
			     const struct m0_o2ib_hdr *hdr,
			     struct m0_o2ib_why       *why);
/**
 * The buffer of a message of `type` has been posted anew.
 * @param acked  a PUT_REQ that a PUT_ACK answers.
 */
void m0_o2ib__credits_repost(struct m0_o2ib_credits *credits, uint8_t type,
			     bool acked);

/** Messages that wait to be sent, for m0_o2ib__credits_needs_noop(). */
struct m0_o2ib_waiting {
	/** Messages that take no credit. */
	bool ibx_free;
	/** Messages that take a credit. */
	bool ibx_credit;
	/** Nothing was sent for the time of a keepalive. */
	bool ibx_silent;
};
/** Must a NOOP carry credits to the peer, because nothing else will? */
bool m0_o2ib__credits_needs_noop(const struct m0_o2ib_credits *credits,
				 const struct m0_o2ib_waiting *waiting);

#endif /* M0_SRC_LND_O2IB_CREDIT_H */

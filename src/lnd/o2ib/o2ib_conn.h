/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Negotiation of connections of net o2ib. The driver carries the bytes of a
 * request, its acceptance or its rejection; what they mean is decided here.
 *
 * A peer may be on either side of any number of connections. Each outgoing one
 * is asked for until it is accepted or given up:
 *
 *	IDLE -> ASKED -> IDLE (accepted, given up, or to be asked for again)
 *
 * Where kernels of different releases differ, or what they do is uncertain, the
 * choice is the one that is safe with all: an incoming request is never rejected
 * because one of ours is on its way; a queue that is too deep is rejected and
 * not lowered, because kernels may leak buffers if an acceptance lowers it; the
 * fragments are lowered to 256.
 */
#ifndef M0_SRC_LND_O2IB_CONN_H
#define M0_SRC_LND_O2IB_CONN_H

#include "lnd/o2ib/o2ib_wire.h"

enum {
	/** Every kernel accepts it; a deeper one is an error on its console. */
	M0_O2IB_DEPTH_FIRST = 8,
	/** Requests that follow a rejection at once. */
	M0_O2IB_AGAIN_AT_ONCE_MAX = 10
};
/** Wait before another request, after so many or after a race. */
#define M0_O2IB_AGAIN_NS UINT64_C(1000000000)

/** A network interface of ours. */
struct m0_o2ib_self {
	uint64_t ibs_nid4;
	/** Never 0, and another in each run. */
	uint64_t ibs_stamp;
	uint16_t ibs_depth_max;
};

enum m0_o2ib_state {
	M0_O2IB_IDLE,
	M0_O2IB_ASKED
};
/** A peer, as one interface knows it. */
struct m0_o2ib_peer {
	uint64_t ibo_nid4;
	/** 0 if unknown. */
	uint64_t           ibo_stamp;
	enum m0_o2ib_state ibo_state;
	/** The next request asks for these. */
	struct m0_o2ib_params ibo_ask;
	/** Rejections since the last acceptance. */
	uint32_t ibo_rejects_nr;
};
void m0_o2ib__peer_init(struct m0_o2ib_peer       *peer,
			const struct m0_o2ib_self *self, uint64_t nid4);

/** Encodes a request. Pre: IDLE. Post: ASKED. */
void m0_o2ib__conn_ask(const struct m0_o2ib_self *self,
		       struct m0_o2ib_peer       *peer,
		       uint8_t                    buf[M0_O2IB_CONN_BYTES]);
/**
 * The request was accepted. Pre: ASKED. Post: IDLE.
 * @param granted  valid if 0 is returned.
 * @retval -EPROTO  the acceptance does not fit the request: disconnect.
 * @retval -ESTALE  likewise: it is for another run of ours.
 */
int m0_o2ib__conn_accepted(const struct m0_o2ib_self *self,
			   struct m0_o2ib_peer *peer, const void *bytes,
			   size_t nr, struct m0_o2ib_params *granted,
			   struct m0_o2ib_why *why);
/**
 * The request was rejected. Pre: ASKED. Post: IDLE.
 * @param delay_ns  before the next request, if 0 is returned. After a race, the
 *                  peer's own connection makes it superfluous.
 * @param why       filled in if something of ours does not fit, also if 0 is
 *                  returned because a smaller value is asked for next.
 * @retval -ECONNREFUSED     give up.
 * @retval -EPROTONOSUPPORT  likewise: the peer speaks other versions.
 * @retval -EPROTO           likewise: no rejection.
 */
int m0_o2ib__conn_rejected(struct m0_o2ib_peer *peer, const void *bytes,
			   size_t nr, uint64_t *delay_ns,
			   struct m0_o2ib_why *why);
/** The connection manager ended the request otherwise. Pre: ASKED. */
void m0_o2ib__conn_failed(struct m0_o2ib_peer *peer);

/** A request that came in, and what to do with it. */
struct m0_o2ib_answer {
	/** Accept with ibn_bytes, else reject with them. */
	bool ibn_accept;
	/** The peer has begun anew: close its other connections. */
	bool                  ibn_close;
	struct m0_o2ib_params ibn_granted;
	uint8_t               ibn_bytes[M0_O2IB_CONN_BYTES];
	size_t                ibn_nr;
	/** Filled in if the request is rejected. */
	struct m0_o2ib_why ibn_why;
};
/**
 * Decodes a request enough to find its peer.
 * @return false if `answer` rejects it already, as malformed or for another.
 */
bool m0_o2ib__conn_incoming(const struct m0_o2ib_self *self, const void *bytes,
			    size_t nr, struct m0_o2ib_hdr *hdr,
			    struct m0_o2ib_answer *answer);
/** Answers a request that m0_o2ib__conn_incoming() passed, of `peer`. */
void m0_o2ib__conn_answer(const struct m0_o2ib_self *self,
			  struct m0_o2ib_peer       *peer,
			  const struct m0_o2ib_hdr  *hdr,
			  struct m0_o2ib_answer     *answer);

/** Rejects a request for another reason, ours. */
void m0_o2ib__conn_reject(const struct m0_o2ib_self *self,
			  enum m0_o2ib_reason        reason,
			  struct m0_o2ib_answer     *answer);

/**
 * Does a message of a connection with `peer` name both of us?
 * @retval -ESTALE  another run of either.
 * @retval -EPROTO  another node, or no message of a connection.
 */
int m0_o2ib__conn_check(const struct m0_o2ib_self *self,
			const struct m0_o2ib_peer *peer,
			const struct m0_o2ib_hdr *hdr, struct m0_o2ib_why *why);

#endif /* M0_SRC_LND_O2IB_CONN_H */

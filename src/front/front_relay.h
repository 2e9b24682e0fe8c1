/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Control requests of other processes, which the server of an attached process carries
 * out at the node of this one.
 */
#ifndef M0_SRC_FRONT_FRONT_RELAY_H
#define M0_SRC_FRONT_FRONT_RELAY_H

#include "ring/ring.h"

struct m0_copier;
struct m0_front_control;

/** A request, until its answer was given to the last piece. All zeroes: none. */
struct m0_front_relay {
	struct m0_front_control *frl_control;
	uint64_t                 frl_given_bytes;
	/** A request that m0_front_relay_begin() began, and has not ended; NULL: none. */
	const struct m0_front_relay_ops *frl_ops;
	void                            *frl_owner;
};

struct m0_front_relay_ops {
	/** The request has ended: its answer. The relay is free again. The node's thread. */
	void (*rlo_done)(struct m0_front_relay        *relay,
			 const struct m0_ring_control *answer);
};

/**
 * Carries out a request at once. On the node's thread, in a callback or a runner.
 * @param control  the request; it receives the answer. M0_RING_MORE asks for the next
 *                 piece of the answer before.
 * @return rqc_rc
 * @retval -ENOENT  MORE: there is no further piece.
 * @retval -EINVAL  a rule that m0_lnet_udsp_add(), m0_lnet_fault_add() would refuse.
 * @retval -ENOSPC, -ENOMEM, -ESHUTDOWN
 */
int m0_front_relay_do(struct m0_lnet *lnet, struct m0_front_relay *relay,
		      struct m0_ring_control *control);
/** Does the request take its time, so that m0_front_relay_begin() is to begin it: a probe,
 * or a network that is added or removed? */
bool m0_front_relay_is_slow(uint32_t verb);
/**
 * Begins such a request, which ends by rlo_done. On the node's thread, in a callback or
 * a runner. Pre: none of the relay is under way.
 * @retval -EINVAL  of a probe: the NID, or the own one.
 * @retval -ENOSPC, -ENOMEM, -ESHUTDOWN
 */
int m0_front_relay_begin(struct m0_lnet *lnet, struct m0_front_relay *relay,
			 const struct m0_ring_control    *control,
			 const struct m0_front_relay_ops *ops, void *owner);
/**
 * Cancels a probe that m0_front_relay_begin() began, which ends soon; one that the node has
 * not begun is to be cancelled once more. A change of networks is not cancelled. On the
 * node's thread.
 * @return true if a probe is under way.
 */
bool m0_front_relay_cancel(struct m0_lnet *lnet, struct m0_front_relay *relay);
/** Number of changes of the NIDs of the node that the front knows of. */
uint32_t m0_front_nids_version(const struct m0_lnet *lnet);
/** The node's copier of payloads is this one, unless it has one already. On the node's
 * thread. */
void m0_front_copier_set(struct m0_lnet *lnet, struct m0_copier *copier);
/** The node asks this copier no more, if it is the node's. On the node's thread. */
void m0_front_copier_clear(struct m0_lnet         *lnet,
			   const struct m0_copier *copier);
/** A copy has ended: the node looks at its drivers once more. On the node's thread. */
void m0_front_copied(struct m0_lnet *lnet);
/**
 * Counts one more incoming message for a bounded queue, if it has room: an entry of
 * another kind takes the place of one. On the node's thread.
 */
bool m0_front_eq_accept(const struct m0_lnet_eq *eq);
/** Gives up what is left of an answer. Pre: nothing is under way. */
void m0_front_relay_end(struct m0_lnet *lnet, struct m0_front_relay *relay);

#endif /* M0_SRC_FRONT_FRONT_RELAY_H */

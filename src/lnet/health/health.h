/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Health of the NIs and of the NIDs of peers: a number from 0 to
 * M0_LNET_HEALTH_MAX, which falls with each failure and rises with each success.
 * Selection prefers the healthier path; the recovery (talk/recovery.c) tries those
 * that are below the maximum.
 */
#ifndef M0_SRC_LNET_HEALTH_HEALTH_H
#define M0_SRC_LNET_HEALTH_HEALTH_H

#include "lnet/lnet_internal.h"

/** The effects of a class of failures. */
struct m0_lnet__reaction {
	/** The NI of this node, or the NID of the next hop, loses health. */
	bool rea_local;
	bool rea_remote;
	/** The message has not arrived, and may be sent again. */
	bool rea_again;
};

/** Returns the reaction to a failure of this class. */
const struct m0_lnet__reaction *m0_lnet__health_reaction(
	enum m0_lnd_health health);
/**
 * A message by this path has failed.
 * @param lpni  the next hop; NULL: this node.
 */
void m0_lnet__health_failed(struct m0_lnet_ni *ni, struct m0_lnet_lpni *lpni,
			    enum m0_lnd_health health);
/** The answer to a message that went to this NID did not come in time. */
void m0_lnet__health_overdue(struct m0_lnet_engine    *eng,
			     const struct m0_lnet_nid *hop);
/** Not inline: nothing is sick most of the time. */
void m0_lnet__health_received_slow(struct m0_lnet_ni   *ni,
				   struct m0_lnet_lpni *lpni);
void m0_lnet__health_sent_slow(struct m0_lnet_ni *ni);
/** A message has come. @param lpni  the hop that it came by; NULL: not known. */
static inline void m0_lnet__health_received(struct m0_lnet_ni   *ni,
					    struct m0_lnet_lpni *lpni)
{
	if (M0_UNLIKELY(ni->lni_engine->le_sick.lsk_nr != 0))
		m0_lnet__health_received_slow(ni, lpni);
}
/** A message has left. */
static inline void m0_lnet__health_sent(struct m0_lnet_ni *ni)
{
	if (M0_UNLIKELY(ni->lni_engine->le_sick.lsk_nr != 0))
		m0_lnet__health_sent_slow(ni);
}
/** Sets the health, at most M0_LNET_HEALTH_MAX. */
void m0_lnet__health_ni_set(struct m0_lnet_ni *ni, unsigned health);
void m0_lnet__health_lpni_set(struct m0_lnet_engine *eng,
			      struct m0_lnet_lpni *lpni, unsigned health);
/** Adds the sensitivity to the health of an NI that was tried with success. */
void m0_lnet__health_ni_raise(struct m0_lnet_ni *ni);

#endif /* M0_SRC_LNET_HEALTH_HEALTH_H */

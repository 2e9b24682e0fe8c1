/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The rules of selection of a node, and what they say of its interfaces, gateways
 * and peer NIs.
 *
 * The rules are applied to the objects, not to messages: an object has its priority
 * and a peer NI the sets of interfaces and gateways that it prefers, which the
 * criteria of select.c compare. Interfaces and gateways have numbers, and a set has
 * a bit for each.
 *
 * An object that appears gets its values at once. A rule that comes is added to the
 * verdicts about the peer NIs that it names, where the other rules need no look; where
 * they do, or when a rule goes, these peer NIs are stale. A rule of interfaces that
 * comes or goes makes the interfaces stale that it names. A change of the objects that
 * rules name makes all peer NIs stale. A timer applies the rules to a few stale ones at
 * a time, to interfaces first. Each application starts from nothing and looks at all rules, so that a rule
 * leaves nothing behind.
 */
#ifndef M0_SRC_LNET_POLICY_H
#define M0_SRC_LNET_POLICY_H

#include "m0/lnet_udsp.h"
#include "lnet/engine.h"

struct m0_lnet__effect_nis;
struct m0_lnet_gateway;
struct m0_lnet_lpni;
struct m0_lnet_ni;

enum {
	/** Most interfaces and gateways that a rule can prefer. */
	M0_LNET__PREFER_NIS_MAX = 512,
	M0_LNET__PREFER_GATEWAYS_MAX = 1024,
	/** The number of an interface or a gateway beyond these. */
	M0_LNET__NO_SLOT = UINT16_MAX
};

/** Interfaces and gateways that are preferred. */
struct m0_lnet__prefer {
	uint64_t lpf_nis[M0_LNET__PREFER_NIS_MAX / 64];
	uint64_t lpf_gateways[M0_LNET__PREFER_GATEWAYS_MAX / 64];
};

/** Verdict of the rules about an interface of this node. */
struct m0_lnet__ni_policy {
	/** Priority of its network in the upper, its own in the lower 32
	 * bits. */
	uint64_t nip_priority;
	/** Its bit in lpf_nis. */
	uint16_t nip_slot;
	/** In lpc_ni_fresh or lpc_ni_stale. */
	struct m0_list_link nip_link;
};

/** Verdict of the rules about a NID of a peer. */
struct m0_lnet__lpni_policy {
	uint32_t lpp_net_priority;
	uint32_t lpp_priority;
	/** NULL: nothing is preferred. */
	struct m0_lnet__prefer *lpp_prefer;
	/** In lpc_fresh or lpc_stale. */
	struct m0_list_link lpp_link;
};

struct m0_lnet__row;

/** All rules of a node. */
struct m0_lnet__policies {
	/** By index; lpc_max are allocated. */
	struct m0_lnet__row *lpc_rows;
	unsigned             lpc_nr;
	unsigned             lpc_max;
	/** Number of changes of the rules and of the set of interfaces so far. */
	uint64_t lpc_changes_nr;
	/** Numbers in use, of NIs and of gateways. */
	uint64_t lpc_ni_slots[M0_LNET__PREFER_NIS_MAX / 64];
	uint64_t lpc_gw_slots[M0_LNET__PREFER_GATEWAYS_MAX / 64];
	/** Interfaces, by nip_link, as lpc_fresh and lpc_stale. */
	struct m0_list lpc_ni_fresh;
	struct m0_list lpc_ni_stale;
	/** Peer NIs, by lpp_link: those to which all rules have been applied,
	 * and others. */
	struct m0_list lpc_fresh;
	struct m0_list lpc_stale;
	/** Fires for the next slice. */
	struct m0_lnet_timer lpc_timer;
	/** State of effect_nis.c; NULL: none. */
	struct m0_lnet__effect_nis *lpc_effect_nis;
};

int  m0_lnet__policies_init(struct m0_lnet_engine *eng);
void m0_lnet__policies_fini(struct m0_lnet_engine *eng);
/** Objects that appear and go. */
void m0_lnet__policy_ni_new(struct m0_lnet_engine *eng, struct m0_lnet_ni *ni);
void m0_lnet__policy_ni_gone(struct m0_lnet_engine *eng, struct m0_lnet_ni *ni);
void m0_lnet__policy_lpni_new(struct m0_lnet_engine *eng,
			      struct m0_lnet_lpni   *lpni);
void m0_lnet__policy_lpni_gone(struct m0_lnet_lpni *lpni);
void m0_lnet__policy_gateway_new(struct m0_lnet_engine  *eng,
				 struct m0_lnet_gateway *gw);
void m0_lnet__policy_gateway_gone(struct m0_lnet_engine  *eng,
				  struct m0_lnet_gateway *gw);
/** The primary NID of a peer, which may be a gateway, has perhaps changed. */
void m0_lnet__policy_primary_changed(struct m0_lnet_engine *eng);

/**
 * Applies all rules to a NID of a peer. Pre: `lpp` is zeroed, or a result of this.
 * @param lpp   the result; the caller calls m0_lnet__verdict_forget().
 * @param cost  increased by the number of rows that this costs to search.
 * @retval -ENOMEM
 */
int  m0_lnet__rules_apply(const struct m0_lnet__policies *pol,
			  const struct m0_lnet_nid       *nid,
			  struct m0_lnet__lpni_policy *lpp, unsigned *cost);
void m0_lnet__verdict_forget(struct m0_lnet__lpni_policy *lpp);
/** Returns the nip_priority of an interface with this NID.
 * @param cost  as for m0_lnet__rules_apply(). */
uint64_t m0_lnet__rules_ni_priority(const struct m0_lnet__policies *pol,
				    const struct m0_lnet_nid       *nid,
				    unsigned                       *cost);

/** Returns true if messages to the peer NI prefer this interface. */
static inline bool m0_lnet__prefers_ni(const struct m0_lnet__lpni_policy *lpp,
				       const struct m0_lnet__ni_policy   *nip)
{
	return lpp->lpp_prefer != NULL && nip->nip_slot != M0_LNET__NO_SLOT &&
	       (lpp->lpp_prefer->lpf_nis[nip->nip_slot / 64] >>
			nip->nip_slot % 64 &
		1) != 0;
}

/** Returns true if messages to the peer NI prefer the gateway of this number. */
static inline bool m0_lnet__prefers_gateway(
	const struct m0_lnet__lpni_policy *lpp, unsigned slot)
{
	return lpp->lpp_prefer != NULL && slot != M0_LNET__NO_SLOT &&
	       (lpp->lpp_prefer->lpf_gateways[slot / 64] >> slot % 64 & 1) != 0;
}

#endif /* M0_SRC_LNET_POLICY_H */

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Destinations of packets. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_TARGET_H
#define M0_SRC_RPC_TARGET_H

struct m0_rpc__target_key {
	struct m0_net_end_point        *trk_ep;
	const struct m0_rpc_frm_policy *trk_policy;
};

/** Where packets go: an end point, and the policy by which they are formed. */
struct m0_rpc__target {
	struct m0_rpc_frm         trg_frm;
	struct m0_rpc__target_key trg_key;
	/** Limits of transport and connections; those of the network policy are
	 * in trg_frm. */
	struct m0_rpc_frm_constraints trg_limits;
	struct m0_hash_link           trg_hash;
	struct m0_rpc__machine       *trg_machine;
	/** References of connections, clients and requests. The target is freed
	 * when it is idle, too. */
	uint32_t trg_refs;
	/** On their way. */
	uint32_t trg_notices_nr;
	/** Life that the peer expects in packets. */
	uint64_t trg_life;
	/** Bytes of a packet that it takes, as it said as a client; 0: it did
	 * not. */
	m0_bcount_t trg_packet_max;
	/** By lnk_target_link. */
	struct m0_list trg_links;
};

static inline bool m0_rpc__target_invariant(const struct m0_rpc__target *target)
{
	return _0C(target->trg_machine != NULL) &&
	       _0C(target->trg_key.trk_ep != NULL) &&
	       _0C(target->trg_notices_nr <= M0_RPC__NOTICES_EACH_MAX) &&
	       _0C(target->trg_notices_nr <= target->trg_refs);
}

/** With a reference; NULL: no memory. */
struct m0_rpc__target *m0_rpc__target_get(
	struct m0_rpc__machine *m, struct m0_net_end_point *ep,
	const struct m0_rpc_frm_policy *policy);
/** Find by address. @retval -EINVAL, -ENOMEM */
int  m0_rpc__target_find(struct m0_rpc__machine    *m,
			 struct m0_net_transfer_mc *tm, const char *addr,
			 const struct m0_rpc_frm_policy *policy,
			 struct m0_rpc__target         **ret);
void m0_rpc__target_ref(struct m0_rpc__target *target);
/** Free the target if it is idle and has no reference. */
void               m0_rpc__target_check(struct m0_rpc__target *target);
static inline void m0_rpc__target_put(struct m0_rpc__target *target)
{
	M0_PRE(target->trg_refs > 0);
	if (--target->trg_refs == 0)
		m0_rpc__target_check(target);
}
/** Limits of its formation: by the connections that go there. */
void m0_rpc__target_limits(struct m0_rpc__target *target);
bool m0_rpc__targets_are_idle(const struct m0_rpc__machine *m);

#endif /* M0_SRC_RPC_TARGET_H */

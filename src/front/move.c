/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * PUT and GET, laziness of portals.
 */
#include "front/front_internal.h"

enum {
	/** Portals that a peer may have, whatever ours are. */
	PORTALS_MIN = 64
};

bool m0_front__nid_is_ours(const struct m0_lnet     *lnet,
			   const struct m0_lnet_nid *nid)
{
	unsigned i;

	/* The first is `0@lo`, of which hardly anything is. */
	for (i = lnet->fro_nids.fns_nr; i > 0; --i) {
		if (m0_lnet_nid_eq(&lnet->fro_nids.fns_nid[i - 1], nid))
			return true;
	}
	return false;
}

/* fro_lock is held. */
static bool op_ok(const struct m0_lnet *lnet, const struct m0_lnet_op *op)
{
	return op->lo_portal < max_check(lnet->fro_cfg.lc_portals_nr,
					 (unsigned)PORTALS_MIN) &&
	       !m0_lnet_nid_is_any(&op->lo_target.lp_nid) &&
	       op->lo_target.lp_pid != M0_LNET_PID_ANY &&
	       (m0_lnet_nid_is_any(&op->lo_self) ||
		m0_front__nid_is_ours(lnet, &op->lo_self));
}

static bool range_ok(m0_bcount_t md_length, const struct m0_lnet_op *op)
{
	m0_bcount_t there;

	if (op->lo_md_offset > md_length)
		return false;
	there = md_length - op->lo_md_offset;
	return op->lo_bytes <= there &&
	       (op->lo_bytes != 0 ? op->lo_bytes : there) <= M0_LNET_MTU;
}

/* Messages of peers that are in use: the node counts, until it takes them back, also
 * those that were returned. */
static uint32_t incoming_nr(const struct m0_lnet *lnet)
{
	const struct m0_ring *ring = lnet->fro_ring;
	uint32_t              retaken_nr =
		__atomic_load_n(&ring->rng_retaken_nr, __ATOMIC_ACQUIRE);
	uint32_t used_nr =
		__atomic_load_n(&ring->rng_incoming_nr, __ATOMIC_RELAXED);
	uint32_t returned_nr = lnet->fro_had.had_returned_nr - retaken_nr;

	return returned_nr < used_nr ? used_nr - returned_nr : 0;
}

/* Takes an operation; NULL: there are too many, or no slot is free. fro_lock. */
static struct m0_front_op *op_get(struct m0_lnet *lnet)
{
	uint32_t              nr = lnet->fro_ops.fss_used_nr;
	struct m0_front_slot *slot;
	struct m0_front_op   *fop;

	if (nr >= lnet->fro_share_max ||
	    nr + incoming_nr(lnet) >= lnet->fro_cfg.lc_msgs_max)
		return NULL;
	slot = m0_front__slot_get(&lnet->fro_ops);
	if (slot == NULL)
		return NULL;
	__atomic_store_n(&lnet->fro_ring->rng_ops_nr, nr + 1, __ATOMIC_RELAXED);
	fop = container_of(slot, struct m0_front_op, fop_slot);
	fop->fop_users_nr = 1;
	M0_ASSERT_EX(m0_front__op_invariant(fop));
	return fop;
}

/* There is none: can there be more? fro_lock is held. */
static bool more_ops(struct m0_lnet *lnet)
{
	const struct m0_front_slots *ops = &lnet->fro_ops;

	if (ops->fss_free != NULL || ops->fss_nr == ops->fss_max)
		return m0_front__notified_take(lnet);
	return m0_front__grow(lnet, &lnet->fro_ops, M0_RING_OPS) == 0;
}

/* Fills the record of an operation on `md`, which counts it; fro_lock is held. */
static void op_fill(struct m0_lnet *lnet, struct m0_front_op *fop,
		    struct m0_front_md *fmd, const struct m0_lnet_op *op)
{
	struct m0_ring_op *record =
		m0_front__op_record(lnet, fop->fop_slot.fsl_index);

	M0_PRE_EX(m0_front__md_invariant(fmd));
	++fmd->fmd_users_nr;
	fop->fop_md = fmd;
	record->rop_self = op->lo_self;
	record->rop_target = op->lo_target;
	record->rop_portal = op->lo_portal;
	record->rop_match_bits = op->lo_match_bits;
	record->rop_hdr_data = op->lo_hdr_data;
	record->rop_md_offset = op->lo_md_offset;
	record->rop_bytes = op->lo_bytes;
	record->rop_user = (uintptr_t)op->lo_user;
	record->rop_offset = op->lo_offset;
	record->rop_md = fmd->fmd_slot.fsl_index;
	record->rop_md_gen = fmd->fmd_slot.fsl_gen;
	record->rop_ack = op->lo_ack;
	record->rop_spread = op->lo_spread;
}

/* Takes a slot for an operation on `md`; fro_lock is held. */
static int op_take(struct m0_lnet *lnet, struct m0_lnet_handle md,
		   const struct m0_lnet_op *op, struct m0_front_op **ret)
{
	struct m0_front_md *fmd;

	do {
		if (lnet->fro_shut)
			return -ESHUTDOWN;
		fmd = m0_front__md_find(lnet, md);
		if (fmd == NULL)
			return -ENOENT;
		if (fmd->fmd_me != NULL || !range_ok(fmd->fmd_length, op))
			return -EINVAL;
		*ret = op_get(lnet);
		if (*ret == NULL && !more_ops(lnet))
			return -ENOBUFS;
	} while (*ret == NULL);
	op_fill(lnet, *ret, fmd, op);
	return 0;
}

static int op_post(struct m0_lnet *lnet, struct m0_lnet_handle md,
		   const struct m0_lnet_op *op, enum m0_ring_opcode opcode)
{
	struct m0_front_op *fop;
	int                 rc;

	m0_front__lock(lnet);
	rc = op_ok(lnet, op) ? op_take(lnet, md, op, &fop) : -EINVAL;
	if (rc != 0) {
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	m0_front__post_unlock(lnet, opcode, m0_front__handle(&fop->fop_slot),
			      &fop->fop_place);
	return 0;
}

int m0_lnet_put(struct m0_lnet *lnet, struct m0_lnet_handle md,
		const struct m0_lnet_op *op)
{
	return op_post(lnet, md, op, M0_RING_PUT);
}

int m0_lnet_get(struct m0_lnet *lnet, struct m0_lnet_handle md,
		const struct m0_lnet_op *op)
{
	return op_post(lnet, md, op, M0_RING_GET);
}

/* An MD and an operation on it; fro_lock is held. */
static int bound_take(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		      const struct m0_lnet_op *op, struct m0_front_op **ret)
{
	struct m0_front_slot *slot;
	struct m0_front_md   *fmd;
	int                   rc;

	do {
		*ret = op_get(lnet);
	} while (*ret == NULL && more_ops(lnet));
	if (*ret == NULL)
		return lnet->fro_shut ? -ESHUTDOWN : -ENOBUFS;
	(*ret)->fop_md = NULL;
	rc = m0_front__slot_take(lnet, &lnet->fro_mds, M0_RING_MDS, &slot);
	if (rc == 0)
		rc = m0_front__md_make(lnet, slot, attr, &fmd);
	if (rc != 0) {
		(void)m0_front__op_put(lnet, *ret);
		return rc;
	}
	op_fill(lnet, *ret, fmd, op);
	return 0;
}

static int bound_post(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		      const struct m0_lnet_op *op, struct m0_lnet_handle *ret,
		      enum m0_ring_opcode opcode)
{
	struct m0_front_op *fop;
	int                 rc;

	rc = m0_front__md_bind_check(lnet, attr);
	if (rc != 0)
		return rc;
	if (!range_ok(attr->mda_length, op))
		return -EINVAL;
	m0_front__lock(lnet);
	rc = op_ok(lnet, op) ? bound_take(lnet, attr, op, &fop) : -EINVAL;
	if (rc != 0) {
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	*ret = m0_front__handle(&fop->fop_md->fmd_slot);
	m0_front__post_unlock(lnet, opcode, m0_front__handle(&fop->fop_slot),
			      &fop->fop_place);
	return 0;
}

int m0_lnet_bind_put(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		     const struct m0_lnet_op *op, struct m0_lnet_handle *ret)
{
	return bound_post(lnet, attr, op, ret, M0_RING_BIND_PUT);
}

int m0_lnet_bind_get(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		     const struct m0_lnet_op *op, struct m0_lnet_handle *ret)
{
	return bound_post(lnet, attr, op, ret, M0_RING_BIND_GET);
}

/* ----------------------------------------------------------------- lazy -- */

/* The wish of a portal that the node has not seen; it sees the last one, and that it
 * was cleared before. @return true: it is to be posted. */
static bool wish(uint32_t *word, bool lazy)
{
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
	uint32_t bits;

	M0_PRE(ergo(old != 0, (old & M0_RING_LAZY_POSTED) != 0));
	do {
		bits = (old & M0_RING_LAZY_CLEARED) | M0_RING_LAZY_POSTED |
		       (lazy ? M0_RING_LAZY_WANTED : M0_RING_LAZY_CLEARED);
	} while (!__atomic_compare_exchange_n(
		word, &old, bits, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	return (old & M0_RING_LAZY_POSTED) == 0;
}

int m0_lnet_lazy_set(struct m0_lnet *lnet, uint32_t portal, bool lazy)
{
	struct m0_lnet_handle about = { .lh_slot = portal };

	if (portal == M0_LNET_PORTAL_RESERVED ||
	    portal >= lnet->fro_cfg.lc_portals_nr)
		return -EINVAL;
	m0_front__lock(lnet);
	if (lnet->fro_shut || !wish(&lnet->fro_ring->rng_lazy[portal], lazy))
		m0_mutex_unlock(&lnet->fro_lock);
	else
		m0_front__post_unlock(lnet, M0_RING_LAZY, about,
				      &lnet->fro_lazy[portal]);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Functions that carry out the entries of the front. An entry may come too late: what
 * it is about has ended, and the front may fill the record for its next use already. So
 * the node's own structs say whether an entry still names something, not the record.
 */
#include "node/node_internal.h"

/* ------------------------------------------------------------------- ME -- */

static void me_fill(struct m0_node *node, uint32_t nr, uint32_t gen)
{
	const struct m0_ring_me *record = m0_node__me_record(node, nr);
	struct m0_node_me       *nme = m0_node__me(node, nr);
	struct m0_lnet_me_attr  *attr = &nme->nme_me.me_attr;

	attr->mea_portal = record->rme_portal;
	attr->mea_id = record->rme_id;
	attr->mea_match_bits = record->rme_match_bits;
	attr->mea_ignore_bits = record->rme_ignore_bits;
	attr->mea_flags = record->rme_flags;
	nme->nme_me.me_handle = (struct m0_lnet_handle){ nr, gen };
	M0_POST_EX(m0_node__me_invariant(nme));
}

static void me_attach_do(struct m0_node             *node,
			 const struct m0_ring_entry *entry)
{
	me_fill(node, entry->rqe_nr, entry->rqe_gen);
	m0_lnet_engine_me_attach(node->nod_engine,
				 &m0_node__me(node, entry->rqe_nr)->nme_me);
}

static void me_unlink_do(struct m0_node             *node,
			 const struct m0_ring_entry *entry)
{
	struct m0_lnet_me *me = &m0_node__me(node, entry->rqe_nr)->nme_me;

	M0_PRE_EX(me->me_handle.lh_slot == entry->rqe_nr);
	if (me->me_handle.lh_gen == entry->rqe_gen)
		m0_lnet_engine_me_unlink(node->nod_engine, me);
}

/* ------------------------------------------------------------------- MD -- */

/* The memory of a segment on this side; NULL: it is not of a registered region. */
static void *seg_memory(const struct m0_node *node, struct m0_ring_seg seg)
{
	const struct m0_node_mem *mem;

	m0_list_for_each_entry(&node->nod_mems, mem, struct m0_node_mem,
			       nmm_link) {
		if (mem->nmm_mem.lme_region != seg.rsg_region)
			continue;
		return seg.rsg_offset <= mem->nmm_mem.lme_bytes &&
				       seg.rsg_bytes <= mem->nmm_mem.lme_bytes -
								seg.rsg_offset
			       ? (char *)mem->nmm_mem.lme_addr + seg.rsg_offset
			       : NULL;
	}
	return NULL;
}

/* Makes the vector of an MD from its segments. */
static int segs_fill(struct m0_node *node, struct m0_node_md *nmd,
		     const struct m0_ring_md *record, uint32_t nr)
{
	const struct m0_ring_seg *segs = record->rmd_segs;
	struct m0_node_segs      *nsg;
	uint32_t                  i;

	M0_PRE_EX(nr > 0 && record->rmd_segs_nr >= nr);
	nmd->nmd_vec.ov_buf = nmd->nmd_buf;
	nmd->nmd_vec.ov_vec.v_count = nmd->nmd_count;
	nmd->nmd_vec.ov_vec.v_nr = nr;
	if (nr > M0_LNET_MD_SEGS_MAX)
		return -EINVAL;
	if (nr > M0_RING_SEGS_NR) {
		segs = M0_RING_RECORD(&node->nod_records[M0_RING_SEGS],
				      struct m0_ring_segs, record->rmd_long)
			       ->rgl_seg;
		nsg = M0_RING_RECORD(&node->nod_things[M0_RING_SEGS],
				     struct m0_node_segs, record->rmd_long);
		nmd->nmd_vec.ov_buf = nsg->nsg_buf;
		nmd->nmd_vec.ov_vec.v_count = nsg->nsg_count;
	}
	for (i = 0; i < nr; ++i) {
		struct m0_ring_seg seg = segs[i];

		nmd->nmd_vec.ov_buf[i] = seg_memory(node, seg);
		nmd->nmd_vec.ov_vec.v_count[i] = seg.rsg_bytes;
		if (nmd->nmd_vec.ov_buf[i] == NULL)
			return -EFAULT;
	}
	nmd->nmd_md.md_attr.mda_vec = &nmd->nmd_vec;
	return 0;
}

/* NULL: its memory is not there, and its last event has the error. */
static struct m0_lnet_md *md_fill(struct m0_node *node, uint32_t nr,
				  uint32_t gen)
{
	const struct m0_ring_md *record = m0_node__md_record(node, nr);
	struct m0_node_md       *nmd = m0_node__md(node, nr);
	struct m0_lnet_md       *md = &nmd->nmd_md;
	struct m0_lnet_md_attr  *attr = &md->md_attr;
	uint32_t                 segs_nr = record->rmd_segs_nr;
	int                      rc;

	attr->mda_vec = (const struct m0_bufvec *)(uintptr_t)record->rmd_vec;
	attr->mda_length = record->rmd_length;
	attr->mda_vec_offset = record->rmd_vec_offset;
	attr->mda_threshold = record->rmd_threshold;
	attr->mda_max_size = record->rmd_max_size;
	attr->mda_options = record->rmd_options;
	attr->mda_auto_unlink = record->rmd_auto_unlink;
	attr->mda_eq = NULL;
	attr->mda_user = (void *)(uintptr_t)record->rmd_user;
	md->md_handle = (struct m0_lnet_handle){ nr, gen };
	md->md_done = NULL;
	md->md_eq = 0;
	M0_POST_EX(m0_node__md_invariant(nmd));
	if (M0_LIKELY(segs_nr == 0))
		return md;
	rc = segs_fill(node, nmd, record, segs_nr);
	if (rc == 0)
		return md;
	m0_node__md_refuse(node, md->md_handle, rc);
	/* No later entry names it: the engine does not know of it. */
	md->md_handle.lh_gen = 0;
	return NULL;
}

/* Returns the number of the queue if it is bounded, which does not change while an
 * MD names it. 0: none that the engine has to ask for room. */
static uint32_t bounded_eq(const struct m0_node *node, uint32_t number)
{
	return number != 0 && m0_node__eq_record(node, number - 1)
				       ->req_is_bounded
		       ? number
		       : 0;
}

static void md_attach_do(struct m0_node             *node,
			 const struct m0_ring_entry *entry)
{
	struct m0_lnet_md *md = md_fill(node, entry->rqe_nr, entry->rqe_gen);
	const struct m0_ring_md *record =
		m0_node__md_record(node, entry->rqe_nr);
	struct m0_lnet_me *me;

	if (M0_UNLIKELY(md == NULL))
		return;
	if (record->rmd_me == M0_RING_NR_NONE) {
		m0_lnet_engine_md_bind(node->nod_engine, md);
		return;
	}
	md->md_eq = bounded_eq(node, record->rmd_eq);
	me = &m0_node__me(node, record->rmd_me)->nme_me;
	M0_ASSERT_EX(me->me_handle.lh_slot == record->rmd_me);
	m0_lnet_engine_md_attach(
		node->nod_engine,
		me->me_handle.lh_gen == record->rmd_me_gen ? me : NULL, md);
}

/* Attaches an ME and its MD with one entry. */
static void entry_attach_do(struct m0_node             *node,
			    const struct m0_ring_entry *entry)
{
	struct m0_lnet_md *md = md_fill(node, entry->rqe_nr, entry->rqe_gen);
	const struct m0_ring_md *record =
		m0_node__md_record(node, entry->rqe_nr);
	struct m0_lnet_me *me = &m0_node__me(node, record->rmd_me)->nme_me;

	me_fill(node, record->rmd_me, record->rmd_me_gen);
	m0_lnet_engine_me_attach(node->nod_engine, me);
	if (M0_UNLIKELY(md == NULL)) {
		m0_lnet_engine_me_unlink(node->nod_engine, me);
		return;
	}
	md->md_eq = bounded_eq(node, record->rmd_eq);
	m0_lnet_engine_md_attach(node->nod_engine, me, md);
}

static void md_unlink_do(struct m0_node             *node,
			 const struct m0_ring_entry *entry)
{
	struct m0_lnet_md *md = &m0_node__md(node, entry->rqe_nr)->nmd_md;

	M0_PRE_EX(md->md_handle.lh_slot == entry->rqe_nr);
	if (md->md_handle.lh_gen == entry->rqe_gen)
		m0_lnet_engine_md_unlink(node->nod_engine, md);
}

/* ---------------------------------------------------------- PUT and GET -- */

static struct m0_lnet_msg *op_fill(struct m0_node *node, uint32_t nr)
{
	const struct m0_ring_op *record = m0_node__op_record(node, nr);
	struct m0_node_op       *nop = m0_node__op(node, nr);
	struct m0_lnet_msg      *msg = &nop->nop_msg.nms_msg;
	struct m0_lnet_op       *op = &msg->msg_op.mop_attr;

	op->lo_self = record->rop_self;
	op->lo_target = record->rop_target;
	op->lo_portal = record->rop_portal;
	op->lo_match_bits = record->rop_match_bits;
	op->lo_offset = record->rop_offset;
	op->lo_hdr_data = record->rop_hdr_data;
	op->lo_ack = record->rop_ack;
	op->lo_spread = record->rop_spread;
	op->lo_md_offset = record->rop_md_offset;
	op->lo_bytes = record->rop_bytes;
	op->lo_user = (void *)(uintptr_t)record->rop_user;
	msg->msg_md = &m0_node__md(node, record->rop_md)->nmd_md;
	M0_POST_EX(m0_node__op_invariant(nop) && nop->nop_msg.nms_nr == nr);
	return msg;
}

static void put_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	m0_lnet_engine_put(node->nod_engine, op_fill(node, entry->rqe_nr));
}

static void get_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	m0_lnet_engine_get(node->nod_engine, op_fill(node, entry->rqe_nr));
}

/* Binds the MD of the operation. NULL: its last event has the error. */
static struct m0_lnet_msg *bound_fill(struct m0_node             *node,
				      const struct m0_ring_entry *entry)
{
	const struct m0_ring_op *record =
		m0_node__op_record(node, entry->rqe_nr);
	struct m0_lnet_msg *msg = op_fill(node, entry->rqe_nr);
	struct m0_lnet_md  *md =
		md_fill(node, record->rop_md, record->rop_md_gen);

	if (M0_LIKELY(md != NULL))
		m0_lnet_engine_md_bind(node->nod_engine, md);
	if (M0_LIKELY(md != NULL && !md->md_ended))
		return msg;
	m0_node__op_done(node, m0_node__op(node, entry->rqe_nr));
	return NULL;
}

static void bind_put_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	struct m0_lnet_msg *msg = bound_fill(node, entry);

	if (M0_LIKELY(msg != NULL))
		m0_lnet_engine_put(node->nod_engine, msg);
}

static void bind_get_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	struct m0_lnet_msg *msg = bound_fill(node, entry);

	if (M0_LIKELY(msg != NULL))
		m0_lnet_engine_get(node->nod_engine, msg);
}

/* ----------------------------------------------------------------- others -- */

static void lazy_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	uint32_t portal = entry->rqe_nr;
	uint32_t bits;

	M0_PRE(portal < node->nod_cfg->lc_portals_nr);
	bits = __atomic_exchange_n(&node->nod_ring->rng_lazy[portal], 0,
				   __ATOMIC_ACQUIRE);
	if ((bits & M0_RING_LAZY_CLEARED) != 0)
		m0_lnet_engine_lazy_set(node->nod_engine, portal, false);
	if ((bits & M0_RING_LAZY_WANTED) != 0)
		m0_lnet_engine_lazy_set(node->nod_engine, portal, true);
}

static void reset_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	(void)entry;
	M0_PRE_EX(m0_node__invariant(node));
	__atomic_store_n(&node->nod_ring->rng_reset, 0, __ATOMIC_RELAXED);
	m0_lnet_engine_stats_reset(node->nod_engine);
}

static void barrier_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	m0_node__post(node, M0_RING_PASSED,
		      (struct m0_lnet_handle){ .lh_slot = entry->rqe_nr },
		      &m0_node__eq(node, entry->rqe_nr)->neq_passed);
}

static void call_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	(void)entry;
	node->nod_host->nho_call(node->nod_host_arg);
}

const m0_node_do_t m0_node__do[M0_RING_OPCODES_NR] = {
	[M0_RING_ME_ATTACH] = me_attach_do,
	[M0_RING_ME_UNLINK] = me_unlink_do,
	[M0_RING_MD_ATTACH] = md_attach_do,
	[M0_RING_MD_UNLINK] = md_unlink_do,
	[M0_RING_QUEUE_ATTACH] = md_attach_do,
	[M0_RING_ENTRY_ATTACH] = entry_attach_do,
	[M0_RING_PUT] = put_do,
	[M0_RING_GET] = get_do,
	[M0_RING_BIND_PUT] = bind_put_do,
	[M0_RING_BIND_GET] = bind_get_do,
	[M0_RING_LAZY] = lazy_do,
	[M0_RING_STATS_RESET] = reset_do,
	[M0_RING_CLOSE] = m0_node__close_do,
	[M0_RING_BARRIER] = barrier_do,
	[M0_RING_CONTROL] = m0_node__control_do,
	[M0_RING_CALL] = call_do,
};

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lib/lnet_pair_internal.h"

/* -- operations ------------------------------------------------------------ */

static struct m0_lnet_handle handle_next(struct pair_node *node)
{
	return (struct m0_lnet_handle){ .lh_slot = 7,
					.lh_gen = ++node->pno_handle };
}

struct m0_lnet_me *pair_me(struct pair_node *node, uint32_t portal,
			   uint64_t bits, uint64_t ignore, unsigned flags)
{
	struct m0_lnet_me *me;

	M0_ALLOC_PTR(me);
	M0_ASSERT(me != NULL);
	me->me_attr = (struct m0_lnet_me_attr){
		.mea_portal = portal,
		.mea_id = { .lp_nid = m0_lnet_nid_any,
			    .lp_pid = M0_LNET_PID_ANY },
		.mea_match_bits = bits,
		.mea_ignore_bits = ignore,
		.mea_flags = flags,
	};
	me->me_handle = handle_next(node);
	++node->pno_mes_nr;
	m0_lnet_engine_me_attach(node->pno_engine, me);
	return me;
}

static struct m0_lnet_md *md_make(struct pair_node *node, void *buf,
				  m0_bcount_t bytes, int32_t threshold,
				  unsigned options, bool auto_unlink)
{
	struct pair_md *pmd;

	M0_ALLOC_PTR(pmd);
	M0_ASSERT(pmd != NULL);
	pmd->pmd_addr = buf;
	pmd->pmd_bytes = bytes;
	pmd->pmd_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&pmd->pmd_addr,
							    &pmd->pmd_bytes);
	pmd->pmd_md.md_attr = (struct m0_lnet_md_attr){
		.mda_vec = buf == NULL ? NULL : &pmd->pmd_vec,
		.mda_length = bytes,
		.mda_threshold = threshold,
		.mda_options = options,
		.mda_auto_unlink = auto_unlink,
		.mda_user = pmd,
	};
	pmd->pmd_md.md_eq = PAIR_EQ;
	pmd->pmd_md.md_handle = handle_next(node);
	++node->pno_mds_nr;
	return &pmd->pmd_md;
}

struct m0_lnet_md *pair_md_attach(struct pair_node *node, struct m0_lnet_me *me,
				  void *buf, m0_bcount_t bytes,
				  int32_t threshold, unsigned options,
				  bool auto_unlink)
{
	struct m0_lnet_md *md;

	md = md_make(node, buf, bytes, threshold, options, auto_unlink);
	m0_lnet_engine_md_attach(node->pno_engine, me, md);
	return md;
}

struct m0_lnet_md *pair_md_bind(struct pair_node *node, void *buf,
				m0_bcount_t bytes, int32_t threshold,
				unsigned options)
{
	struct m0_lnet_md *md;

	md = md_make(node, buf, bytes, threshold, options, true);
	m0_lnet_engine_md_bind(node->pno_engine, md);
	return md;
}

void pair_op(struct pair_node *node, struct m0_lnet_md *md,
	     const struct m0_lnet_op *op, bool get)
{
	struct m0_lnet_msg *msg = pair__msg_get(node);

	M0_ASSERT(msg != NULL);
	msg->msg_op.mop_attr = *op;
	msg->msg_md = md;
	if (get)
		m0_lnet_engine_get(node->pno_engine, msg);
	else
		m0_lnet_engine_put(node->pno_engine, msg);
}

static struct m0_lnet_op op_make(const char *dst, uint32_t portal,
				 uint64_t bits, bool ack)
{
	return (struct m0_lnet_op){
		.lo_self = m0_lnet_nid_any,
		.lo_target = { .lp_nid = pair_nid(dst),
			       .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = portal,
		.lo_match_bits = bits,
		.lo_ack = ack,
	};
}

void pair_put(struct pair_node *node, struct m0_lnet_md *md, const char *dst,
	      uint32_t portal, uint64_t bits, bool ack)
{
	struct m0_lnet_op op = op_make(dst, portal, bits, ack);

	pair_op(node, md, &op, false);
}

void pair_get(struct pair_node *node, struct m0_lnet_md *md, const char *dst,
	      uint32_t portal, uint64_t bits)
{
	struct m0_lnet_op op = op_make(dst, portal, bits, false);

	pair_op(node, md, &op, true);
}

/* -- looking back ---------------------------------------------------------- */

const struct m0_lnet_event *pair_event(const struct pair_node *node,
				       enum m0_lnet_event_type type, unsigned i)
{
	unsigned k;

	for (k = 0; k < node->pno_events_nr; ++k)
		if (node->pno_events[k].ev_type == type && i-- == 0)
			return &node->pno_events[k];
	return NULL;
}

const struct pair_frame *pair_frame(const struct pair *pair, unsigned from,
				    uint32_t type, unsigned i)
{
	unsigned k;

	for (k = 0; k < pair->pai_frames_nr; ++k)
		if (pair->pai_frames[k].pfr_node == from &&
		    pair->pai_frames[k].pfr_hdr.lhd_type == type && i-- == 0)
			return &pair->pai_frames[k];
	return NULL;
}

unsigned pair_frames_nr(const struct pair *pair, unsigned from, uint32_t type)
{
	unsigned nr = 0;

	while (pair_frame(pair, from, type, nr) != NULL)
		++nr;
	return nr;
}

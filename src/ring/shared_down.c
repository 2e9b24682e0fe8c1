/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Codec of operations.
 */
#include "ring/shared_entry.h"

#define SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), "version 1: " #type)
SIZE(m0_lnet_nid, 20);
SIZE(m0_lnet_process_id, 24);
SIZE(m0_ring_seg, 24);
SIZE(m0_shared_tag, 16);
SIZE(m0_shared_me, 48);
SIZE(m0_shared_md, 104);
SIZE(m0_shared_op, 96);
SIZE(m0_shared_segs, 96);
SIZE(m0_shared_eq_add, 8);
SIZE(m0_shared_limits, 32);
SIZE(m0_shared_tm, 8);
SIZE(m0_shared_down, M0_SHARED_DOWN_BYTES);

/* The front's requests keep their numbers. */
#define SAME(name)                                                   \
	_Static_assert((int)M0_SHARED_##name == (int)M0_RING_##name, \
		       "version 1: " #name)
SAME(ME_ATTACH);
SAME(ME_UNLINK);
SAME(MD_ATTACH);
SAME(MD_UNLINK);
SAME(QUEUE_ATTACH);
SAME(ENTRY_ATTACH);
SAME(PUT);
SAME(GET);
SAME(BIND_PUT);
SAME(BIND_GET);
SAME(LAZY);
SAME(STATS_RESET);
SAME(CLOSE);
SAME(BARRIER);
SAME(CONTROL);
_Static_assert(
	(int)M0_RING_OPCODES_NR == (int)M0_RING_CONTROL + 2,
	"a new request of the front has an opcode here, too; CALL is for "
	"one process alone");
_Static_assert((int)M0_SHARED_GROUP_MAX <= (int)M0_SHARED_ENTRIES_MIN,
	       "the longest group fits into the shortest queue");

/* ------------------------------------------------------------- what it is -- */

static const struct m0_shared__row rows[M0_SHARED_OPCODES_NR] = {
	[M0_SHARED_ME_ATTACH] = { M0_SHARED__BODY_ME, M0_SHARED__ABOUT_ME, true,
				  1 },
	[M0_SHARED_ME_UNLINK] = { M0_SHARED__BODY_NONE, M0_SHARED__ABOUT_ME,
				  true, 0 },
	[M0_SHARED_MD_ATTACH] = { M0_SHARED__BODY_MD, M0_SHARED__ABOUT_MD, true,
				  1 },
	[M0_SHARED_MD_UNLINK] = { M0_SHARED__BODY_NONE, M0_SHARED__ABOUT_MD,
				  true, 0 },
	[M0_SHARED_QUEUE_ATTACH] = { M0_SHARED__BODY_MD, M0_SHARED__ABOUT_MD,
				     true, 1 },
	[M0_SHARED_ENTRY_ATTACH] = { M0_SHARED__BODY_ENTRY, M0_SHARED__ABOUT_ME,
				     true, 2 },
	/* SEND and DONE; an ACK, if one is wanted, is one more. */
	[M0_SHARED_PUT] = { M0_SHARED__BODY_OP, M0_SHARED__ABOUT_OP, true, 2 },
	[M0_SHARED_GET] = { M0_SHARED__BODY_OP, M0_SHARED__ABOUT_OP, true, 3 },
	[M0_SHARED_BIND_PUT] = { M0_SHARED__BODY_BIND, M0_SHARED__ABOUT_OP,
				 true, 3 },
	[M0_SHARED_BIND_GET] = { M0_SHARED__BODY_BIND, M0_SHARED__ABOUT_OP,
				 true, 4 },
	[M0_SHARED_LAZY] = { M0_SHARED__BODY_NUMBER, M0_SHARED__ABOUT_PORTAL,
			     false, 0 },
	[M0_SHARED_STATS_RESET] = { M0_SHARED__BODY_NONE, M0_SHARED__ABOUT_NONE,
				    false, 0 },
	[M0_SHARED_CLOSE] = { M0_SHARED__BODY_NONE, M0_SHARED__ABOUT_NONE,
			      false, 0 },
	[M0_SHARED_BARRIER] = { M0_SHARED__BODY_NONE, M0_SHARED__ABOUT_EQ,
				false, 1 },
	[M0_SHARED_CONTROL] = { M0_SHARED__BODY_NUMBER,
				M0_SHARED__ABOUT_CONTROL, true, 1 },
	[M0_SHARED_EQ_ADD] = { M0_SHARED__BODY_EQ_ADD, M0_SHARED__ABOUT_EQ,
			       false, 1 },
	[M0_SHARED_EQ_DEL] = { M0_SHARED__BODY_NONE, M0_SHARED__ABOUT_EQ, false,
			       1 },
	[M0_SHARED_REGION_ADD] = { M0_SHARED__BODY_NUMBER,
				   M0_SHARED__ABOUT_REGION, true, 1 },
	[M0_SHARED_REGION_DEL] = { M0_SHARED__BODY_NONE,
				   M0_SHARED__ABOUT_REGION, true, 1 },
	[M0_SHARED_LIMITS_SET] = { M0_SHARED__BODY_LIMITS,
				   M0_SHARED__ABOUT_NONE, false, 1 },
	[M0_SHARED_TM_CLAIM] = { M0_SHARED__BODY_TM, M0_SHARED__ABOUT_NONE,
				 false, 1 },
	[M0_SHARED_TM_RELEASE] = { M0_SHARED__BODY_TM, M0_SHARED__ABOUT_NONE,
				   false, 1 },
	[M0_SHARED_COPY_DONE] = { M0_SHARED__BODY_NUMBER, M0_SHARED__ABOUT_COPY,
				  true, 0 },
	[M0_SHARED_QUEUE_NAME] = { M0_SHARED__BODY_NUMBER, M0_SHARED__ABOUT_ME,
				   true, 0 },
	[M0_SHARED_TM_FIND] = { M0_SHARED__BODY_TM, M0_SHARED__ABOUT_NONE,
				false, 1 },
};

const struct m0_shared__row *m0_shared__row_of(
	const struct m0_shared_request *req)
{
	M0_PRE(req->srq_opcode < M0_SHARED_OPCODES_NR &&
	       rows[req->srq_opcode].shr_body != M0_SHARED__BODY_UNKNOWN);
	return &rows[req->srq_opcode];
}

uint32_t m0_shared_events_nr(const struct m0_shared_request *req)
{
	return (uint32_t)m0_shared__row_of(req)->shr_events_nr +
	       (m0_shared__is_put(req) && req->srq_op.rop_ack);
}

uint32_t m0_shared_request_entries(const struct m0_shared_request *req)
{
	uint8_t body = m0_shared__row_of(req)->shr_body;

	return m0_shared__body_entries(body) +
	       (m0_shared__has_md(body)
			? m0_shared__segs_entries(req->srq_md.rmd_segs_nr)
			: 0);
}

/* -------------------------------------------------------------- encoding -- */

static struct m0_shared_down *tag_put(const struct m0_shared_side *side,
				      uint32_t i, uint16_t opcode,
				      uint32_t more_nr, uint32_t nr,
				      uint32_t gen)
{
	struct m0_shared_down *entry = m0_shared_slot(side, i);

	M0_SET0(entry);
	entry->sdn_tag.stg_opcode = opcode;
	entry->sdn_tag.stg_more_nr = (uint16_t)more_nr;
	entry->sdn_tag.stg_nr = nr;
	entry->sdn_tag.stg_gen = gen;
	return entry;
}

static void me_put(struct m0_shared_me *body, const struct m0_ring_me *me)
{
	body->sma_id = me->rme_id;
	body->sma_portal = me->rme_portal;
	body->sma_flags = me->rme_flags;
	body->sma_match_bits = me->rme_match_bits;
	body->sma_ignore_bits = me->rme_ignore_bits;
}

static void md_put(struct m0_shared_md            *body,
		   const struct m0_shared_request *req)
{
	const struct m0_ring_md *md = &req->srq_md;

	body->smd_length = md->rmd_length;
	body->smd_vec_offset = md->rmd_vec_offset;
	body->smd_max_size = md->rmd_max_size;
	body->smd_threshold = md->rmd_threshold;
	body->smd_options = md->rmd_options;
	body->smd_eq = md->rmd_eq;
	body->smd_me = md->rmd_me;
	body->smd_me_gen = md->rmd_me == M0_RING_NR_NONE ? 0 : md->rmd_me_gen;
	body->smd_auto_unlink = md->rmd_auto_unlink;
	body->smd_segs_nr = md->rmd_segs_nr;
	memcpy(body->smd_segs, req->srq_segs,
	       min_check(md->rmd_segs_nr, (uint32_t)M0_SHARED_MD_SEGS_NR) *
		       sizeof req->srq_segs[0]);
}

static void op_put(struct m0_shared_op *body, const struct m0_ring_op *op,
		   bool put)
{
	body->sop_self = op->rop_self;
	body->sop_target = op->rop_target;
	body->sop_portal = op->rop_portal;
	body->sop_match_bits = op->rop_match_bits;
	body->sop_hdr_data = op->rop_hdr_data;
	body->sop_md_offset = op->rop_md_offset;
	body->sop_bytes = op->rop_bytes;
	body->sop_offset = op->rop_offset;
	body->sop_md = op->rop_md;
	body->sop_md_gen = op->rop_md_gen;
	/* A GET is always answered. */
	body->sop_ack = put && op->rop_ack;
}

/* Writes the segments that the MD's entry has no place for, from entry `i` on. */
static void segs_put(const struct m0_shared_side    *side,
		     const struct m0_shared_request *req, uint32_t i)
{
	struct m0_shared_down *entry;
	uint32_t               at;
	uint32_t               nr;

	for (at = M0_SHARED_MD_SEGS_NR; at < req->srq_md.rmd_segs_nr;
	     at += nr, ++i) {
		nr = min_check(req->srq_md.rmd_segs_nr - at,
			       (uint32_t)M0_SHARED_MORE_SEGS_NR);
		entry = tag_put(side, i, M0_SHARED_MORE_SEGS, 0, 0, 0);
		memcpy(entry->sdn_segs.ssg_segs, &req->srq_segs[at],
		       nr * sizeof req->srq_segs[0]);
	}
}

static void body_put(struct m0_shared_down          *entry,
		     const struct m0_shared_request *req)
{
	switch (m0_shared__row_of(req)->shr_body) {
	case M0_SHARED__BODY_ME:
	case M0_SHARED__BODY_ENTRY:
		me_put(&entry->sdn_me, &req->srq_me);
		break;
	case M0_SHARED__BODY_MD:
		md_put(&entry->sdn_md, req);
		break;
	case M0_SHARED__BODY_OP:
	case M0_SHARED__BODY_BIND:
		op_put(&entry->sdn_op, &req->srq_op, m0_shared__is_put(req));
		break;
	case M0_SHARED__BODY_EQ_ADD:
		entry->sdn_eq_add = req->srq_eq_add;
		break;
	case M0_SHARED__BODY_LIMITS:
		entry->sdn_limits = req->srq_limits;
		break;
	case M0_SHARED__BODY_TM:
		entry->sdn_tm = req->srq_tm;
		break;
	case M0_SHARED__BODY_NUMBER:
		entry->sdn_number = req->srq_number;
		break;
	default:
		break;
	}
}

uint32_t m0_shared_request_put(const struct m0_shared_side    *side,
			       const struct m0_shared_request *req)
{
	uint8_t                body = m0_shared__row_of(req)->shr_body;
	uint32_t               nr = m0_shared_request_entries(req);
	struct m0_shared_down *entry;

	M0_PRE(side->shs_role == M0_SHARED_CLIENT && nr <= M0_SHARED_GROUP_MAX);
	entry = tag_put(side, 0, (uint16_t)req->srq_opcode, nr - 1, req->srq_nr,
			req->srq_gen);
	body_put(entry, req);
	if (m0_shared__body_entries(body) == 2) {
		entry = tag_put(side, 1, M0_SHARED_MORE_MD, 0, req->srq_md_nr,
				req->srq_md_gen);
		md_put(&entry->sdn_md, req);
	}
	if (nr > m0_shared__body_entries(body))
		segs_put(side, req, m0_shared__body_entries(body));
	return nr;
}

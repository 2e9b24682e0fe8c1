/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Decoder of operations: each field of a copy is checked before it is used.
 */
#include "ring/shared_entry.h"

static const unsigned me_flags_all = M0_LNET_ME_UNLINK | M0_LNET_ME_BEFORE |
				     M0_LNET_ME_LAST | M0_LNET_ME_QUEUE;
static const unsigned md_options_all =
	M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET | M0_LNET_MD_MANAGE_REMOTE |
	M0_LNET_MD_TRUNCATE | M0_LNET_MD_ACK_DISABLE | M0_LNET_MD_MAX_SIZE |
	M0_LNET_MD_NO_TRACK_RESPONSE | M0_LNET_MD_IF_FITS | M0_LNET_MD_MIN_ROOM;

/* Returns the bound of the numbers of something. */
static uint32_t about_end(const struct m0_shared_cfg *cfg,
			  enum m0_shared__about       about)
{
	switch (about) {
	case M0_SHARED__ABOUT_ME:
		return cfg->shc_mes_max;
	case M0_SHARED__ABOUT_MD:
		return cfg->shc_mds_max;
	case M0_SHARED__ABOUT_OP:
		return cfg->shc_ops_max;
	case M0_SHARED__ABOUT_EQ:
		return cfg->shc_eqs_max;
	case M0_SHARED__ABOUT_REGION:
		return cfg->shc_regions_max + 1;
	case M0_SHARED__ABOUT_CONTROL:
		return cfg->shc_controls_nr;
	case M0_SHARED__ABOUT_PORTAL:
		return cfg->shc_portals_nr;
	case M0_SHARED__ABOUT_COPY:
		return M0_SHARED_COPIES_MAX;
	default:
		return 1;
	}
}

/* Checks the number and generation of something. */
static int about_check(const struct m0_shared_cfg *cfg,
		       enum m0_shared__about about, bool has_gen,
		       const struct m0_shared_tag *tag,
		       struct m0_shared_why       *why)
{
	/* Region 0 is one address space, portal 0 is the node's own. */
	uint32_t min = about == M0_SHARED__ABOUT_REGION ||
		       about == M0_SHARED__ABOUT_PORTAL;
	int rc;

	rc = m0_shared__range(why, "nr", tag->stg_nr, min,
			      about_end(cfg, about) - 1);
	if (rc == 0)
		rc = m0_shared__range(why, "gen", tag->stg_gen, has_gen,
				      has_gen ? UINT32_MAX : 0);
	if (rc == 0)
		rc = m0_shared__range(why, "tag_reserved", tag->stg_reserved, 0,
				      0);
	return rc;
}

static int me_get(const struct m0_shared_cfg *cfg,
		  const struct m0_shared_me *body, struct m0_ring_me *me,
		  struct m0_shared_why *why)
{
	const unsigned both = M0_LNET_ME_QUEUE | M0_LNET_ME_UNLINK;
	int            rc;

	rc = m0_shared__nid(why, "me_id", &body->sma_id.lp_nid);
	if (rc == 0)
		rc = m0_shared__range(why, "me_portal", body->sma_portal, 1,
				      cfg->shc_portals_nr - 1);
	if (rc == 0)
		rc = m0_shared__bits(why, "me_flags", body->sma_flags,
				     me_flags_all);
	if (rc == 0 && (body->sma_flags & both) == both)
		rc = m0_shared_refuse_as(why, -EPROTO, "me_flags",
					 body->sma_flags,
					 "QUEUE does not go with UNLINK");
	if (rc != 0)
		return rc;
	me->rme_id = body->sma_id;
	me->rme_portal = body->sma_portal;
	me->rme_flags = body->sma_flags;
	me->rme_match_bits = body->sma_match_bits;
	me->rme_ignore_bits = body->sma_ignore_bits;
	me->rme_gone = 0;
	return 0;
}

static int md_numbers_check(const struct m0_shared_cfg *cfg,
			    const struct m0_shared_md  *body,
			    struct m0_shared_why       *why)
{
	int rc;

	if (body->smd_threshold < M0_LNET_MD_THRESHOLD_INF)
		return m0_shared_refuse_signed(why, -EPROTO, "md_threshold",
					       body->smd_threshold,
					       M0_LNET_MD_THRESHOLD_INF,
					       INT32_MAX);
	if (body->smd_threshold == 0)
		return m0_shared_refuse_as(why, -EPROTO, "md_threshold", 0,
					   "1 or more, or -1, is accepted");
	rc = m0_shared__bits(why, "md_options", body->smd_options,
			     md_options_all);
	if (rc == 0)
		rc = m0_shared__range(why, "md_eq", body->smd_eq, 0,
				      cfg->shc_eqs_max);
	if (rc == 0 && body->smd_me != M0_RING_NR_NONE)
		rc = m0_shared__range(why, "md_me", body->smd_me, 0,
				      cfg->shc_mes_max - 1);
	if (rc == 0)
		rc = m0_shared__range(
			why, "md_me_gen", body->smd_me_gen,
			body->smd_me != M0_RING_NR_NONE,
			body->smd_me != M0_RING_NR_NONE ? UINT32_MAX : 0);
	if (rc == 0)
		rc = m0_shared__range(why, "md_auto_unlink",
				      body->smd_auto_unlink, 0, 1);
	if (rc == 0)
		rc = m0_shared__range(why, "md_segs_nr", body->smd_segs_nr, 0,
				      M0_LNET_MD_SEGS_MAX);
	if (rc == 0 && (body->smd_options &
			(M0_LNET_MD_MAX_SIZE | M0_LNET_MD_MIN_ROOM)) != 0)
		rc = m0_shared__range(why, "md_max_size", body->smd_max_size, 0,
				      body->smd_length);
	return rc;
}

/* Is the MD of the right kind for the operation? */
static int md_use_check(const struct m0_shared_request *req,
			struct m0_shared_why           *why)
{
	const struct m0_ring_md *md = &req->srq_md;
	bool                     has_me = md->rmd_me != M0_RING_NR_NONE;
	bool queued = req->srq_opcode == M0_SHARED_QUEUE_ATTACH;
	bool bound = m0_shared__row_of(req)->shr_body == M0_SHARED__BODY_BIND;

	if (bound && has_me)
		return m0_shared_refuse_as(why, -EPROTO, "md_me", md->rmd_me,
					   "a bound MD has no ME");
	if (queued && (!has_me || !md->rmd_auto_unlink))
		return m0_shared_refuse_as(
			why, -EPROTO, "md_auto_unlink", md->rmd_auto_unlink,
			"an MD of a QUEUE has an ME and unlinks itself");
	if (has_me !=
	    ((md->rmd_options & (M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET)) != 0))
		return m0_shared_refuse_as(
			why, -EPROTO, "md_options", md->rmd_options,
			"an MD has OP_PUT or OP_GET if it has an ME");
	if (req->srq_opcode == M0_SHARED_ENTRY_ATTACH &&
	    (md->rmd_me != req->srq_nr || md->rmd_me_gen != req->srq_gen))
		return m0_shared_refuse_as(why, -EPROTO, "md_me", md->rmd_me,
					   "the MD is for the ME of its group");
	return 0;
}

/* Checks segments, and adds up their bytes. */
static int segs_check(const struct m0_shared_cfg     *cfg,
		      const struct m0_shared_request *req,
		      struct m0_shared_why           *why)
{
	const struct m0_ring_md *md = &req->srq_md;
	uint64_t                 sum = 0;
	uint32_t                 i;
	int                      rc;

	for (i = 0; i < md->rmd_segs_nr; ++i) {
		const struct m0_ring_seg *seg = &req->srq_segs[i];

		rc = m0_shared__range(why, "seg_region", seg->rsg_region, 1,
				      cfg->shc_regions_max);
		if (rc == 0)
			rc = m0_shared__range(why, "seg_reserved",
					      seg->rsg_reserved, 0, 0);
		if (rc == 0)
			rc = m0_shared__range(why, "seg_bytes", seg->rsg_bytes,
					      0, UINT64_MAX - seg->rsg_offset);
		if (rc == 0)
			rc = m0_shared__range(why, "seg_bytes", seg->rsg_bytes,
					      0, UINT64_MAX - sum);
		if (rc != 0)
			return rc;
		sum += seg->rsg_bytes;
	}
	rc = m0_shared__range(why, "md_vec_offset", md->rmd_vec_offset, 0, sum);
	if (rc == 0)
		rc = m0_shared__range(why, "md_length", md->rmd_length, 0,
				      sum - md->rmd_vec_offset);
	return rc;
}

/** A group that is being taken. */
struct group {
	struct m0_shared_side *grp_side;
	/** Index of the next entry, and the number of entries. */
	uint32_t grp_at;
	uint32_t grp_nr;
	/** A copy of the last one. */
	struct m0_shared_down grp_entry;
};

/* Copies the next entry, which is a continuation. */
static int more_next(struct group *group, uint16_t opcode,
		     struct m0_shared_why *why)
{
	const struct m0_shared_tag *tag = &group->grp_entry.sdn_tag;
	int                         rc;

	M0_PRE(group->grp_at < group->grp_nr);
	m0_shared_peek(group->grp_side, group->grp_at++, &group->grp_entry);
	rc = m0_shared__range(why, "opcode", tag->stg_opcode, opcode, opcode);
	if (rc == 0)
		rc = m0_shared__range(why, "more_nr", tag->stg_more_nr, 0, 0);
	return rc;
}

static int segs_get(struct group *group, struct m0_shared_request *req,
		    struct m0_shared_why *why)
{
	static const struct m0_shared_tag none = {
		.stg_opcode = M0_SHARED_MORE_SEGS
	};
	uint32_t segs_nr = req->srq_md.rmd_segs_nr;
	uint32_t at;
	uint32_t nr;
	int      rc;

	for (at = M0_SHARED_MD_SEGS_NR; at < segs_nr; at += nr) {
		nr = min_check(segs_nr - at, (uint32_t)M0_SHARED_MORE_SEGS_NR);
		rc = more_next(group, M0_SHARED_MORE_SEGS, why);
		if (rc == 0 &&
		    memcmp(&group->grp_entry.sdn_tag, &none, sizeof none) != 0)
			rc = m0_shared_refuse_as(
				why, -EPROTO, "nr",
				group->grp_entry.sdn_tag.stg_nr,
				"segments have no number");
		if (rc == 0)
			rc = m0_shared__zero(why, group->grp_entry.sdn_words,
					     nr * sizeof(struct m0_ring_seg),
					     M0_SHARED_BODY_BYTES);
		if (rc != 0)
			return rc;
		memcpy(&req->srq_segs[at], group->grp_entry.sdn_segs.ssg_segs,
		       nr * sizeof req->srq_segs[0]);
	}
	return 0;
}

static void md_fill(const struct m0_shared_md *body,
		    struct m0_shared_request  *req)
{
	struct m0_ring_md *md = &req->srq_md;

	md->rmd_length = body->smd_length;
	md->rmd_vec_offset = body->smd_vec_offset;
	md->rmd_max_size = body->smd_max_size;
	md->rmd_user = 0;
	md->rmd_threshold = body->smd_threshold;
	md->rmd_options = body->smd_options;
	md->rmd_eq = body->smd_eq;
	md->rmd_me = body->smd_me;
	md->rmd_me_gen = body->smd_me_gen;
	md->rmd_auto_unlink = body->smd_auto_unlink;
	md->rmd_ended = 0;
	md->rmd_vec = 0;
	md->rmd_segs_nr = body->smd_segs_nr;
	memcpy(req->srq_segs, body->smd_segs,
	       min_check(md->rmd_segs_nr, (uint32_t)M0_SHARED_MD_SEGS_NR) *
		       sizeof req->srq_segs[0]);
}

/* The copy of the last entry has the MD, and segments may follow. */
static int md_get(struct group *group, struct m0_shared_request *req,
		  struct m0_shared_why *why)
{
	const struct m0_shared_cfg  *cfg = &group->grp_side->shs_cfg;
	const struct m0_shared_down *entry = &group->grp_entry;
	const struct m0_shared_md   *body = &entry->sdn_md;
	uint32_t                     inline_nr;
	int                          rc;

	req->srq_md_nr = entry->sdn_tag.stg_nr;
	req->srq_md_gen = entry->sdn_tag.stg_gen;
	rc = about_check(cfg, M0_SHARED__ABOUT_MD, true, &entry->sdn_tag, why);
	if (rc == 0)
		rc = md_numbers_check(cfg, body, why);
	if (rc != 0)
		return rc;
	inline_nr =
		min_check(body->smd_segs_nr, (uint32_t)M0_SHARED_MD_SEGS_NR);
	rc = m0_shared__zero(why, entry->sdn_words,
			     offsetof(struct m0_shared_md, smd_segs) +
				     inline_nr * sizeof body->smd_segs[0],
			     M0_SHARED_BODY_BYTES);
	if (rc == 0 && !m0_forall(i, ARRAY_SIZE(body->smd_reserved),
				  body->smd_reserved[i] == 0))
		rc = m0_shared_refuse_as(
			why, -EPROTO, "reserved", 0,
			"bytes that an entry does not use are 0");
	if (rc == 0)
		rc = m0_shared__range(
			why, "more_nr", group->grp_nr - group->grp_at,
			m0_shared__segs_entries(body->smd_segs_nr),
			m0_shared__segs_entries(body->smd_segs_nr));
	if (rc != 0)
		return rc;
	md_fill(body, req);
	rc = segs_get(group, req, why);
	if (rc == 0)
		rc = segs_check(cfg, req, why);
	return rc == 0 ? md_use_check(req, why) : rc;
}

static int op_check(const struct m0_shared_cfg *cfg,
		    const struct m0_shared_op *body, bool put,
		    struct m0_shared_why *why)
{
	int rc;

	rc = m0_shared__nid(why, "op_self", &body->sop_self);
	if (rc == 0)
		rc = m0_shared__nid(why, "op_target", &body->sop_target.lp_nid);
	if (rc == 0)
		rc = m0_shared__range(why, "op_target type",
				      body->sop_target.lp_nid.ln_type, 0,
				      M0_LNET_TYPE_ANY - 1);
	if (rc == 0)
		rc = m0_shared__range(why, "op_target pid",
				      body->sop_target.lp_pid, 0,
				      M0_LNET_PID_ANY - 1);
	if (rc == 0)
		rc = m0_shared__range(
			why, "op_portal", body->sop_portal, 0,
			max_check(cfg->shc_portals_nr,
				  (uint32_t)M0_SHARED_PORTALS_MIN) -
				1);
	if (rc == 0)
		rc = m0_shared__range(why, "op_bytes", body->sop_bytes, 0,
				      M0_LNET_MTU);
	if (rc == 0)
		rc = m0_shared__range(why, "op_md", body->sop_md, 0,
				      cfg->shc_mds_max - 1);
	if (rc == 0)
		rc = m0_shared__range(why, "op_md_gen", body->sop_md_gen, 1,
				      UINT32_MAX);
	if (rc == 0)
		rc = m0_shared__range(why, "op_ack", body->sop_ack, 0, put);
	if (rc == 0)
		rc = m0_shared__range(why, "op_reserved",
				      (uint64_t)body->sop_reserved[0] |
					      body->sop_reserved[1] |
					      body->sop_reserved[2],
				      0, 0);
	return rc;
}

static int op_get(const struct m0_shared_cfg *cfg,
		  const struct m0_shared_op  *body,
		  struct m0_shared_request *req, struct m0_shared_why *why)
{
	struct m0_ring_op *op = &req->srq_op;
	int rc = op_check(cfg, body, m0_shared__is_put(req), why);

	if (rc != 0)
		return rc;
	op->rop_self = body->sop_self;
	op->rop_target = body->sop_target;
	op->rop_portal = body->sop_portal;
	op->rop_match_bits = body->sop_match_bits;
	op->rop_hdr_data = body->sop_hdr_data;
	op->rop_md_offset = body->sop_md_offset;
	op->rop_bytes = body->sop_bytes;
	op->rop_user = 0;
	op->rop_offset = body->sop_offset;
	op->rop_md = body->sop_md;
	op->rop_md_gen = body->sop_md_gen;
	op->rop_ack = body->sop_ack;
	return 0;
}

/* The MD of a bound operation is the one that follows, and has the range. */
static int bind_check(const struct m0_shared_request *req,
		      struct m0_shared_why           *why)
{
	const struct m0_ring_op *op = &req->srq_op;
	const struct m0_ring_md *md = &req->srq_md;
	uint64_t                 there;
	int                      rc;

	if (op->rop_md != req->srq_md_nr || op->rop_md_gen != req->srq_md_gen)
		return m0_shared_refuse_as(
			why, -EPROTO, "op_md", op->rop_md,
			"the operation is on the MD of its group");
	rc = m0_shared__range(why, "op_md_offset", op->rop_md_offset, 0,
			      md->rmd_length);
	if (rc != 0)
		return rc;
	there = md->rmd_length - op->rop_md_offset;
	rc = m0_shared__range(why, "op_bytes", op->rop_bytes, 0, there);
	if (rc == 0 && op->rop_bytes == 0)
		rc = m0_shared__range(why, "md_length", there, 0, M0_LNET_MTU);
	return rc;
}

/* ------------------------------------------------- bodies of a few numbers -- */

static int eq_add_get(const struct m0_shared_eq_add *body,
		      struct m0_shared_request *req, struct m0_shared_why *why)
{
	int rc;

	rc = m0_shared__range(why, "eq_is_polled", body->sqa_is_polled, 0, 1);
	/* A queue with a callback has no bound of its own. */
	if (rc == 0)
		rc = m0_shared__range(why, "eq_max", body->sqa_max,
				      body->sqa_is_polled,
				      body->sqa_is_polled ? 1 << 30 : 0);
	if (rc == 0)
		rc = m0_shared__range(why, "eq_reserved",
				      (uint64_t)body->sqa_reserved[0] |
					      body->sqa_reserved[1] |
					      body->sqa_reserved[2],
				      0, 0);
	req->srq_eq_add = *body;
	return rc;
}

static int limits_get(const struct m0_shared_cfg    *cfg,
		      const struct m0_shared_limits *body,
		      struct m0_shared_request *req, struct m0_shared_why *why)
{
	int rc;

	rc = m0_shared__range(why, "limits_mes", body->sli_mes, 0,
			      cfg->shc_mes_max);
	if (rc == 0)
		rc = m0_shared__range(why, "limits_mds", body->sli_mds, 0,
				      cfg->shc_mds_max);
	if (rc == 0)
		rc = m0_shared__range(why, "limits_ops", body->sli_ops, 0,
				      cfg->shc_ops_max);
	if (rc == 0)
		rc = m0_shared__range(why, "limits_eqs", body->sli_eqs, 0,
				      cfg->shc_eqs_max);
	if (rc == 0)
		rc = m0_shared__range(why, "limits_regions", body->sli_regions,
				      0, cfg->shc_regions_max);
	if (rc == 0)
		rc = m0_shared__range(why, "limits_reserved",
				      body->sli_reserved, 0, 0);
	req->srq_limits = *body;
	return rc;
}

static int tm_get(const struct m0_shared_cfg *cfg,
		  const struct m0_shared_tm  *body,
		  struct m0_shared_request *req, struct m0_shared_why *why)
{
	int rc;

	rc = m0_shared__range(why, "tm_portal", body->stn_portal, 1,
			      cfg->shc_portals_nr - 1);
	if (rc == 0)
		rc = m0_shared__range(why, "tm_tmid", body->stn_tmid, 0,
				      req->srq_opcode == M0_SHARED_TM_CLAIM
					      ? M0_SHARED_TMID_ANY
					      : M0_SHARED_TMID_MAX);
	req->srq_tm = *body;
	return rc;
}

static int number_get(uint64_t number, struct m0_shared_request *req,
		      struct m0_shared_why *why)
{
	req->srq_number = number;
	switch (req->srq_opcode) {
	case M0_SHARED_LAZY:
		return m0_shared__range(why, "lazy", number, 1,
					M0_SHARED_LAZY_CLEARED |
						M0_SHARED_LAZY_WANTED);
	case M0_SHARED_CONTROL:
		return m0_shared__range(why, "verb", number, 0,
					M0_RING_VERBS_NR - 1);
	case M0_SHARED_COPY_DONE:
		return m0_shared__range(why, "copy_errno", number, 0,
					-M0_SHARED_STATUS_MIN);
	case M0_SHARED_QUEUE_NAME:
		return 0;
	default:
		return m0_shared__range(why, "region_bytes", number, 1,
					UINT64_C(1) << 47);
	}
}

/* ----------------------------------------------------------------- groups -- */

static size_t body_bytes(uint8_t body)
{
	switch (body) {
	case M0_SHARED__BODY_ME:
	case M0_SHARED__BODY_ENTRY:
		return sizeof(struct m0_shared_me);
	case M0_SHARED__BODY_OP:
	case M0_SHARED__BODY_BIND:
		return sizeof(struct m0_shared_op);
	case M0_SHARED__BODY_LIMITS:
		return sizeof(struct m0_shared_limits);
	case M0_SHARED__BODY_MD:
		/* Its segments count; looked at there. */
		return M0_SHARED_BODY_BYTES;
	case M0_SHARED__BODY_NONE:
		return 0;
	default:
		return sizeof(uint64_t);
	}
}

/* The copy of the last entry has the body. */
static int body_get(struct group *group, struct m0_shared_request *req,
		    struct m0_shared_why *why)
{
	const struct m0_shared_cfg  *cfg = &group->grp_side->shs_cfg;
	const struct m0_shared_down *entry = &group->grp_entry;
	uint8_t                      body = m0_shared__row_of(req)->shr_body;
	int                          rc;

	rc = m0_shared__zero(why, entry->sdn_words, body_bytes(body),
			     M0_SHARED_BODY_BYTES);
	if (rc != 0)
		return rc;
	switch (body) {
	case M0_SHARED__BODY_ME:
	case M0_SHARED__BODY_ENTRY:
		return me_get(cfg, &entry->sdn_me, &req->srq_me, why);
	case M0_SHARED__BODY_MD:
		return md_get(group, req, why);
	case M0_SHARED__BODY_OP:
	case M0_SHARED__BODY_BIND:
		return op_get(cfg, &entry->sdn_op, req, why);
	case M0_SHARED__BODY_EQ_ADD:
		return eq_add_get(&entry->sdn_eq_add, req, why);
	case M0_SHARED__BODY_LIMITS:
		return limits_get(cfg, &entry->sdn_limits, req, why);
	case M0_SHARED__BODY_TM:
		return tm_get(cfg, &entry->sdn_tm, req, why);
	case M0_SHARED__BODY_NUMBER:
		return number_get(entry->sdn_number, req, why);
	default:
		return 0;
	}
}

static int tag_get(struct group *group, uint32_t ready_nr,
		   struct m0_shared_request *req, struct m0_shared_why *why)
{
	const struct m0_shared_tag  *tag = &group->grp_entry.sdn_tag;
	const struct m0_shared__row *row;
	int                          rc;

	m0_shared_peek(group->grp_side, 0, &group->grp_entry);
	rc = m0_shared__range(why, "opcode", tag->stg_opcode, 1,
			      M0_SHARED_OPCODES_NR - 1);
	if (rc != 0)
		return rc;
	req->srq_opcode = (enum m0_shared_opcode)tag->stg_opcode;
	req->srq_nr = tag->stg_nr;
	req->srq_gen = tag->stg_gen;
	row = m0_shared__row_of(req);
	/* All entries of a group are committed at once. */
	rc = m0_shared__range(why, "more_nr", tag->stg_more_nr,
			      m0_shared__body_entries(row->shr_body) - 1,
			      min_check(ready_nr - 1,
					(uint32_t)M0_SHARED_GROUP_MAX - 1));
	if (rc == 0 && !m0_shared__has_md(row->shr_body))
		rc = m0_shared__range(why, "more_nr", tag->stg_more_nr, 0, 0);
	if (rc == 0)
		rc = about_check(&group->grp_side->shs_cfg,
				 (enum m0_shared__about)row->shr_about,
				 row->shr_has_gen, tag, why);
	group->grp_at = 1;
	group->grp_nr = 1U + tag->stg_more_nr;
	return rc;
}

int m0_shared_request_get(struct m0_shared_side    *side,
			  struct m0_shared_request *req,
			  struct m0_shared_why     *why)
{
	struct group group;
	int          rc = m0_shared_ready(side, why);

	M0_PRE(side->shs_role == M0_SHARED_SERVER && req->srq_segs != NULL);
	if (rc <= 0)
		return rc;
	group.grp_side = side;
	rc = tag_get(&group, (uint32_t)rc, req, why);
	if (rc == 0)
		rc = body_get(&group, req, why);
	if (rc == 0 &&
	    m0_shared__body_entries(m0_shared__row_of(req)->shr_body) == 2) {
		rc = more_next(&group, M0_SHARED_MORE_MD, why);
		if (rc == 0)
			rc = md_get(&group, req, why);
		if (rc == 0 &&
		    m0_shared__row_of(req)->shr_body == M0_SHARED__BODY_BIND)
			rc = bind_check(req, why);
	}
	if (rc != 0)
		return rc;
	M0_POST(group.grp_at == group.grp_nr);
	return (int)group.grp_nr;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Codec of events. The client checks them as the server checks operations: a daemon
 * that runs wild must not make a process write outside of its memory.
 */
#include "ring/shared_entry.h"

_Static_assert(sizeof(struct m0_shared_event) == 160, "version 1");
_Static_assert(sizeof(struct m0_shared_result) == 16, "version 1");
_Static_assert(sizeof(struct m0_shared_copy) == M0_SHARED_UP_BYTES - 16,
	       "version 2");
_Static_assert(sizeof(struct m0_shared_up) == M0_SHARED_UP_BYTES, "version 1");

/* The node's reports keep their numbers. */
#define SAME(name)                                                   \
	_Static_assert((int)M0_SHARED_##name == (int)M0_RING_##name, \
		       "version 1: " #name)
SAME(EV_SEND);
SAME(EV_RESPONSE);
SAME(EV_INCOMING);
SAME(EV_UNLINK);
SAME(DONE);
SAME(ME_GONE);
SAME(PASSED);
SAME(ANSWER);
_Static_assert(M0_RING_KINDS_NR == M0_RING_ANSWER + 1,
	       "a new report of the node has a kind here, too");

static bool is_event(enum m0_shared_kind kind)
{
	return kind <= M0_SHARED_EV_UNLINK;
}

/* -------------------------------------------------------------- encoding -- */

static void event_put(struct m0_shared_event     *body,
		      const struct m0_ring_event *ev, bool is_last)
{
	body->sev_type = ev->rev_type;
	body->sev_status = ev->rev_status;
	body->sev_target = ev->rev_target;
	body->sev_initiator = ev->rev_initiator;
	body->sev_source = ev->rev_source;
	body->sev_sender = ev->rev_sender;
	body->sev_portal = ev->rev_portal;
	body->sev_match_bits = ev->rev_match_bits;
	body->sev_hdr_data = ev->rev_hdr_data;
	body->sev_rlength = ev->rev_rlength;
	body->sev_mlength = ev->rev_mlength;
	body->sev_offset = ev->rev_offset;
	body->sev_md = ev->rev_md_nr;
	body->sev_md_gen = ev->rev_md_gen;
	body->sev_unlinked = ev->rev_unlinked;
	body->sev_is_get = ev->rev_is_get;
	body->sev_is_last = is_last;
}

void m0_shared_report_put(const struct m0_shared_side   *side,
			  const struct m0_shared_report *rep)
{
	struct m0_shared_up *entry = m0_shared_slot(side, 0);

	M0_PRE(side->shs_role == M0_SHARED_SERVER && rep->shp_kind > 0 &&
	       rep->shp_kind < M0_SHARED_KINDS_NR);
	M0_SET0(entry);
	entry->sup_tag.stg_opcode = (uint16_t)rep->shp_kind;
	entry->sup_tag.stg_nr = rep->shp_nr;
	entry->sup_tag.stg_gen = rep->shp_gen;
	if (is_event(rep->shp_kind))
		event_put(&entry->sup_event, &rep->shp_event, rep->shp_is_last);
	else if (rep->shp_kind == M0_SHARED_RESULT)
		entry->sup_result = rep->shp_result;
	else if (rep->shp_kind == M0_SHARED_COPY)
		entry->sup_copy = rep->shp_copy;
}

/* -------------------------------------------------------------- decoding -- */

/* Types of events by kind, as ranges. */
static const struct types {
	uint32_t typ_min;
	uint32_t typ_max;
} types[] = {
	[M0_SHARED_EV_SEND] = { M0_LNET_EV_SEND, M0_LNET_EV_SEND },
	[M0_SHARED_EV_RESPONSE] = { M0_LNET_EV_REPLY, M0_LNET_EV_ACK },
	[M0_SHARED_EV_INCOMING] = { M0_LNET_EV_GET, M0_LNET_EV_PUT },
	[M0_SHARED_EV_UNLINK] = { M0_LNET_EV_UNLINK, M0_LNET_EV_UNLINK },
};

static int status_check(struct m0_shared_why *why, const char *field,
			int32_t status)
{
	if (M0_LIKELY(status <= 0 && status >= M0_SHARED_STATUS_MIN))
		return 0;
	return m0_shared_refuse_signed(why, -EPROTO, field, status,
				       M0_SHARED_STATUS_MIN, 0);
}

static int event_nids_check(const struct m0_shared_event *body,
			    struct m0_shared_why         *why)
{
	int rc;

	rc = m0_shared__nid(why, "ev_target", &body->sev_target.lp_nid);
	if (rc == 0)
		rc = m0_shared__nid(why, "ev_initiator",
				    &body->sev_initiator.lp_nid);
	if (rc == 0)
		rc = m0_shared__nid(why, "ev_source", &body->sev_source.lp_nid);
	if (rc == 0)
		rc = m0_shared__nid(why, "ev_sender", &body->sev_sender);
	return rc;
}

static int event_check(const struct m0_shared_cfg   *cfg,
		       enum m0_shared_kind           kind,
		       const struct m0_shared_event *body,
		       struct m0_shared_why         *why)
{
	int rc;

	rc = m0_shared__range(why, "ev_type", body->sev_type,
			      types[kind].typ_min, types[kind].typ_max);
	if (rc == 0)
		rc = status_check(why, "ev_status", body->sev_status);
	if (rc == 0)
		rc = event_nids_check(body, why);
	if (rc == 0)
		rc = m0_shared__range(why, "ev_mlength", body->sev_mlength, 0,
				      M0_LNET_MTU);
	if (rc == 0)
		rc = m0_shared__range(why, "ev_md", body->sev_md, 0,
				      cfg->shc_mds_max - 1);
	if (rc == 0)
		rc = m0_shared__range(why, "ev_md_gen", body->sev_md_gen, 1,
				      UINT32_MAX);
	/* An MD that is idle ends with UNLINK, and with nothing else. */
	if (rc == 0)
		rc = m0_shared__range(why, "ev_unlinked", body->sev_unlinked,
				      kind == M0_SHARED_EV_UNLINK, 1);
	if (rc == 0)
		rc = m0_shared__range(why, "ev_is_get", body->sev_is_get, 0, 1);
	if (rc == 0)
		rc = m0_shared__range(why, "ev_is_last", body->sev_is_last, 0,
				      kind <= M0_SHARED_EV_RESPONSE);
	if (rc == 0 && !m0_forall(i, ARRAY_SIZE(body->sev_reserved),
				  body->sev_reserved[i] == 0))
		rc = m0_shared_refuse_as(why, -EPROTO, "ev_reserved", 1,
					 "0 is accepted");
	return rc;
}

static void event_get(const struct m0_shared_event *body,
		      struct m0_shared_report      *rep)
{
	rep->shp_is_last = body->sev_is_last != 0;
	rep->shp_event = (struct m0_ring_event){
		.rev_type = body->sev_type,
		.rev_status = body->sev_status,
		.rev_unlinked = body->sev_unlinked,
		.rev_target = body->sev_target,
		.rev_initiator = body->sev_initiator,
		.rev_source = body->sev_source,
		.rev_sender = body->sev_sender,
		.rev_portal = body->sev_portal,
		.rev_match_bits = body->sev_match_bits,
		.rev_hdr_data = body->sev_hdr_data,
		.rev_rlength = body->sev_rlength,
		.rev_mlength = body->sev_mlength,
		.rev_offset = body->sev_offset,
		.rev_is_get = body->sev_is_get,
		.rev_md_nr = body->sev_md,
		.rev_md_gen = body->sev_md_gen,
	};
}

static int result_get(const struct m0_shared_result *body,
		      struct m0_shared_report *rep, struct m0_shared_why *why)
{
	int rc;

	rc = status_check(why, "result_status", body->srt_status);
	rep->shp_result = *body;
	/* Its value is any number. */
	if (rc != 0 || body->srt_opcode == M0_SHARED_TM_FIND)
		return rc;
	rc = m0_shared__range(why, "result_opcode", body->srt_opcode,
			      M0_SHARED_EQ_ADD, M0_SHARED_TM_RELEASE);
	if (rc == 0)
		rc = m0_shared__range(why, "result_value", body->srt_value, 0,
				      body->srt_opcode == M0_SHARED_TM_CLAIM
					      ? M0_SHARED_TMID_MAX
					      : 0);
	return rc;
}

static int piece_check(const struct m0_shared_cfg   *cfg,
		       const struct m0_shared_piece *piece,
		       struct m0_shared_why         *why)
{
	int rc = m0_shared__range(why, "piece_region", piece->spe_region, 1,
				  cfg->shc_regions_max);

	if (rc == 0)
		rc = m0_shared__range(why, "piece_bytes", piece->spe_bytes, 1,
				      M0_LNET_MTU);
	/* Whether the region has the bytes is for the client to look at. */
	if (rc == 0)
		rc = m0_shared__range(why, "piece_offset", piece->spe_offset, 0,
				      UINT64_C(1) << 47);
	if (rc == 0)
		rc = m0_shared__range(why, "piece_from", piece->spe_from, 1,
				      UINT64_MAX - M0_LNET_MTU);
	return rc;
}

static int copy_get(const struct m0_shared_cfg  *cfg,
		    const struct m0_shared_copy *body,
		    struct m0_shared_report *rep, struct m0_shared_why *why)
{
	uint64_t bytes = 0;
	uint32_t i;
	int rc = m0_shared__range(why, "copy_pid", body->scp_pid, 1, INT32_MAX);

	if (rc == 0)
		rc = m0_shared__range(why, "copy_pieces_nr",
				      body->scp_pieces_nr, 1,
				      M0_SHARED_PIECES_MAX);
	for (i = 0; rc == 0 && i < body->scp_pieces_nr; ++i) {
		rc = piece_check(cfg, &body->scp_pieces[i], why);
		bytes += body->scp_pieces[i].spe_bytes;
	}
	if (rc == 0)
		rc = m0_shared__range(why, "copy_bytes", bytes, 1, M0_LNET_MTU);
	if (rc == 0)
		rc = m0_shared__zero(why, (const uint64_t *)body,
				     offsetof(struct m0_shared_copy,
					      scp_pieces) +
					     body->scp_pieces_nr *
						     sizeof body->scp_pieces[0],
				     sizeof *body);
	rep->shp_copy = *body;
	return rc;
}

/* The numbers that a kind of event names. */
static int tag_check(const struct m0_shared_cfg *cfg,
		     const struct m0_shared_tag *tag, struct m0_shared_why *why)
{
	const uint32_t nr[M0_SHARED_KINDS_NR] = {
		[M0_SHARED_EV_SEND] = cfg->shc_ops_max,
		[M0_SHARED_EV_RESPONSE] = cfg->shc_ops_max,
		[M0_SHARED_EV_INCOMING] = 1,
		[M0_SHARED_EV_UNLINK] = cfg->shc_mds_max,
		[M0_SHARED_DONE] = cfg->shc_ops_max,
		[M0_SHARED_ME_GONE] = cfg->shc_mes_max,
		[M0_SHARED_PASSED] = cfg->shc_eqs_max,
		[M0_SHARED_ANSWER] = cfg->shc_controls_nr,
		/* A region counts from 1. */
		[M0_SHARED_RESULT] =
			max_check(cfg->shc_regions_max + 1, cfg->shc_eqs_max),
		[M0_SHARED_COPY] = M0_SHARED_COPIES_MAX,
	};
	int rc;

	rc = m0_shared__range(why, "kind", tag->stg_opcode, 1,
			      M0_SHARED_KINDS_NR - 1);
	if (rc == 0)
		rc = m0_shared__range(why, "nr", tag->stg_nr, 0,
				      nr[tag->stg_opcode] - 1);
	if (rc == 0)
		rc = m0_shared__range(why, "more_nr", tag->stg_more_nr, 0, 0);
	if (rc == 0)
		rc = m0_shared__range(why, "tag_reserved", tag->stg_reserved, 0,
				      0);
	return rc;
}

static size_t body_bytes(enum m0_shared_kind kind)
{
	if (is_event(kind))
		return sizeof(struct m0_shared_event);
	if (kind == M0_SHARED_COPY)
		return sizeof(struct m0_shared_copy);
	return kind == M0_SHARED_RESULT ? sizeof(struct m0_shared_result) : 0;
}

int m0_shared_report_get(struct m0_shared_side   *side,
			 struct m0_shared_report *rep,
			 struct m0_shared_why    *why)
{
	struct m0_shared_up entry;
	int                 rc = m0_shared_ready(side, why);

	M0_PRE(side->shs_role == M0_SHARED_CLIENT);
	if (rc <= 0)
		return rc;
	m0_shared_peek(side, 0, &entry);
	rc = tag_check(&side->shs_cfg, &entry.sup_tag, why);
	if (rc != 0)
		return rc;
	rep->shp_kind = (enum m0_shared_kind)entry.sup_tag.stg_opcode;
	rep->shp_nr = entry.sup_tag.stg_nr;
	rep->shp_gen = entry.sup_tag.stg_gen;
	rep->shp_is_last = false;
	rc = m0_shared__zero(why, entry.sup_words, body_bytes(rep->shp_kind),
			     sizeof entry.sup_words);
	if (rc == 0 && is_event(rep->shp_kind)) {
		rc = event_check(&side->shs_cfg, rep->shp_kind,
				 &entry.sup_event, why);
		if (rc == 0)
			event_get(&entry.sup_event, rep);
	} else if (rc == 0 && rep->shp_kind == M0_SHARED_RESULT) {
		rc = result_get(&entry.sup_result, rep, why);
	} else if (rc == 0 && rep->shp_kind == M0_SHARED_COPY) {
		rc = copy_get(&side->shs_cfg, &entry.sup_copy, rep, why);
	}
	return rc == 0 ? 1 : rc;
}

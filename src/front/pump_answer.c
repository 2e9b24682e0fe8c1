/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Answers to control requests. The front reads the copy as it reads an answer of its own
 * node, so numbers that it relies on are checked here; contents of a block are checked
 * where the whole block is.
 */
#include "front/pump_internal.h"

static bool has_block(uint32_t verb)
{
	switch (verb) {
	case M0_RING_INFO:
	case M0_RING_INFO_HEAD:
	case M0_RING_EXPLAIN:
	case M0_RING_UDSP_EFFECT:
	case M0_RING_NIDS_GET:
	case M0_RING_STATS_GET:
	case M0_RING_MORE:
		return true;
	default:
		return false;
	}
}

/* An answer of the arrays may have no block. */
static bool may_have_block(uint32_t verb)
{
	switch (verb) {
	case M0_RING_FAULT_GET:
	case M0_RING_PEER_NIS_GET:
	case M0_RING_ROUTE_GET:
	case M0_RING_UDSP_GET:
		return true;
	default:
		return has_block(verb);
	}
}

/* The outcome of a probe, which is copied whatever its status. */
static int probe_check(const struct m0_ring_probe *probe, int32_t rc_of,
		       struct m0_shared_why *why)
{
	uint32_t i;
	int rc = rc_of > 0 ? m0_shared_refuse_signed(why, -EPROTO, "answer_rc",
						     rc_of,
						     M0_SHARED_STATUS_MIN, 0)
			   : 0;

	if (rc == 0)
		rc = m0_shared__nid(why, "probe_source", &probe->rpb_source);
	if (rc == 0)
		rc = m0_shared__nid(why, "probe_primary", &probe->rpb_primary);
	if (rc == 0)
		rc = m0_shared__range(why, "probe_multi_rail",
				      probe->rpb_multi_rail, 0, 1);
	if (rc == 0)
		rc = m0_shared__range(why, "probe_nids_nr", probe->rpb_nids_nr,
				      0, M0_LNET_PROBE_NIDS_MAX);
	for (i = 0; rc == 0 && i < probe->rpb_nids_nr; ++i) {
		rc = m0_shared__nid(why, "probe_nids", &probe->rpb_nids[i]);
		if (rc == 0)
			rc = m0_shared__range(why, "probe_nids_up",
					      probe->rpb_nids_up[i], 0, 1);
	}
	return rc;
}

int m0_pump__answer_check(struct m0_pump *pump, uint32_t verb,
			  const struct m0_ring_control *answer)
{
	struct m0_shared_why *why = &pump->pmp_why;
	int                   rc;

	M0_PRE(verb < M0_RING_VERBS_NR);
	if (answer->rqc_rc < M0_SHARED_STATUS_MIN)
		return m0_shared_refuse_signed(why, -EPROTO, "answer_rc",
					       answer->rqc_rc,
					       M0_SHARED_STATUS_MIN, INT32_MAX);
	if (verb == M0_RING_PROBE)
		return probe_check(&answer->rqc_probe, answer->rqc_rc, why);
	/* Fields of an error are not looked at. */
	if (answer->rqc_rc < 0 || !may_have_block(verb))
		return 0;
	rc = m0_shared__range(why, "answer_block_bytes",
			      answer->rqc_block_bytes, has_block(verb),
			      M0_PUMP_BLOCK_MAX);
	if (rc == 0)
		rc = m0_shared__range(why, "answer_piece_bytes",
				      answer->rqc_piece_bytes, 0,
				      M0_RING_PIECE_BYTES);
	return rc;
}

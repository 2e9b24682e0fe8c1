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
	case M0_RING_EXPLAIN:
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
	case M0_RING_ROUTE_GET:
	case M0_RING_UDSP_GET:
		return true;
	default:
		return has_block(verb);
	}
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

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rules of selection: requests to the node. */
#include "front/front_internal.h"
#include "m0/lnet_udsp.h"

enum {
	/** Rules of one request, which the node copies between two messages. */
	GET_NR = 64
};

static int udsp_take(struct m0_lnet *lnet, enum m0_ring_verb verb,
		     struct m0_front_control **ret)
{
	int rc = m0_front__control_take(lnet, verb, ret);

	if (rc == 0)
		M0_SET0(&(*ret)->fcl_record->rqc_udsp);
	return rc;
}

int m0_front__udsp_refuse(int rc, char *why)
{
	switch (rc) {
	case -EALREADY:
		return m0_node_why(why, rc,
				   "there is a rule with these ranges and this "
				   "action; it may be deleted, or get another "
				   "priority");
	case -ENOSPC:
		return m0_node_why(why, rc,
				   "there are %d rules; there may be no more",
				   M0_LNET_UDSPS_MAX);
	case -EAGAIN:
		return m0_node_why(why, rc,
				   "the rules or peers of the node change all "
				   "the time");
	default:
		return m0_node_why(why, rc, "no rule was added: %s",
				   m0_errname(rc));
	}
}

int m0_lnet_udsp_add(struct m0_lnet *lnet, const struct m0_lnet_udsp *udsp,
		     char *why)
{
	struct m0_front_control *fcl;
	int                      rc = m0_lnet_udsp_check(udsp, why);

	if (rc != 0)
		return rc;
	rc = udsp_take(lnet, M0_RING_UDSP_ADD, &fcl);
	if (rc == 0) {
		fcl->fcl_record->rqc_udsp.rud_rule = *udsp;
		rc = m0_front__control_do(lnet, fcl);
		m0_front__control_put(lnet, fcl);
	}
	return rc == 0 ? 0 : m0_front__udsp_refuse(rc, why);
}

int m0_lnet_udsp_del(struct m0_lnet *lnet, int32_t idx)
{
	struct m0_front_control *fcl;
	int                      rc = udsp_take(lnet, M0_RING_UDSP_DEL, &fcl);

	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_udsp.rud_idx = idx;
	rc = m0_front__control_do(lnet, fcl);
	m0_front__control_put(lnet, fcl);
	return rc;
}

/** Copies up to `max` rules, of one moment. @return number of rules of the node. */
static int part_get(struct m0_lnet *lnet, uint32_t first,
		    struct m0_lnet_udsp *ret, unsigned max)
{
	struct m0_front_control *fcl;
	int                      rc = udsp_take(lnet, M0_RING_UDSP_GET, &fcl);

	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_udsp.rud_first = first;
	fcl->fcl_record->rqc_udsp.rud_max = max;
	return m0_front__array_do(lnet, fcl, ret, max * sizeof *ret);
}

int m0_lnet_udsp_get(struct m0_lnet *lnet, uint32_t first,
		     struct m0_lnet_udsp *ret, unsigned max)
{
	unsigned done = 0;
	unsigned part;
	int      rc;

	do {
		part = min_check(max - done, (unsigned)GET_NR);
		rc = part_get(lnet, first + done, max == 0 ? NULL : ret + done,
			      part);
		done += part;
	} while (rc > 0 && done < max && first + done < (unsigned)rc);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Fault rules: their attributes are checked here, and they are handed to the
 * node on its strand.
 */
#include "front/front_internal.h"
#include "m0/lnet_fault.h"

enum {
	/** A day. */
	MS_MAX = 86400000,
	MSGS_ALL = M0_LNET_FAULT_ACK | M0_LNET_FAULT_PUT | M0_LNET_FAULT_GET |
		   M0_LNET_FAULT_REPLY
};

/* ------------------------------------------------------------ attributes -- */

void m0_lnet_fault_attr_init(struct m0_lnet_fault_attr *attr,
			     enum m0_lnet_fault_kind    kind)
{
	M0_SET0(attr);
	attr->lfa_kind = kind;
	attr->lfa_src = m0_lnet_nid_any;
	attr->lfa_dst = m0_lnet_nid_any;
	attr->lfa_local = m0_lnet_nid_any;
}

static int number_check(const char *name, uint64_t val, uint64_t max, char *why)
{
	return val <= max ? 0
			  : m0_node_why(why, -EINVAL,
					"%s is %" PRIu64
					"; it may be 0 to %" PRIu64,
					name, val, max);
}

/* Checks the fields that choose which messages the rule hits. */
static int choice_check(const struct m0_lnet_fault_attr *attr, char *why)
{
	int rc;

	rc = number_check("lfa_interval_ms", attr->lfa_interval_ms, MS_MAX,
			  why);
	if (rc == 0)
		rc = number_check("lfa_rate", attr->lfa_rate, UINT32_MAX, why);
	if (rc != 0)
		return rc;
	if (attr->lfa_rate != 0 && attr->lfa_interval_ms != 0)
		return m0_node_why(why, -EINVAL,
				   "lfa_rate is %" PRIu64
				   " and lfa_interval_ms is %" PRIu64
				   "; one of them may be set",
				   attr->lfa_rate, attr->lfa_interval_ms);
	if (attr->lfa_rate == 0 && attr->lfa_interval_ms == 0 &&
	    !attr->lfa_all && !attr->lfa_random)
		return m0_node_why(why, -EINVAL,
				   "none of lfa_rate, lfa_interval_ms, "
				   "lfa_all and lfa_random is set; one must "
				   "be");
	return 0;
}

/* Checks that the fields of the rule's kind are set, and no others. */
static int kind_check(const struct m0_lnet_fault_attr *attr, char *why)
{
	bool delay = attr->lfa_kind == M0_LNET_FAULT_DELAY;

	if (delay &&
	    (attr->lfa_latency_ms == 0 || attr->lfa_latency_ms > MS_MAX))
		return m0_node_why(why, -EINVAL,
				   "lfa_latency_ms is %" PRIu64
				   "; of a delay it may be 1 to %d",
				   attr->lfa_latency_ms, MS_MAX);
	if (!delay && attr->lfa_latency_ms != 0)
		return m0_node_why(why, -EINVAL,
				   "lfa_latency_ms is %" PRIu64
				   "; it may be set of a delay only",
				   attr->lfa_latency_ms);
	if ((attr->lfa_health & ~(unsigned)M0_LNET_FAULT_HEALTH_ALL) != 0 ||
	    (attr->lfa_health != 0 && attr->lfa_kind != M0_LNET_FAULT_DROP))
		return m0_node_why(why, -EINVAL,
				   "lfa_health is 0x%x; of a drop it may be "
				   "any bits of 0x%x, else 0",
				   attr->lfa_health, M0_LNET_FAULT_HEALTH_ALL);
	if (attr->lfa_header && attr->lfa_kind != M0_LNET_FAULT_CORRUPT)
		return m0_node_why(why, -EINVAL,
				   "lfa_header is set; it may be of a corrupt "
				   "rule only");
	return 0;
}

int m0_lnet_fault_attr_check(const struct m0_lnet_fault_attr *attr, char *why)
{
	int rc;

	if ((unsigned)attr->lfa_kind >= M0_LNET_FAULT_KINDS_NR)
		return m0_node_why(why, -EINVAL,
				   "lfa_kind is %d; it may be 0 to %d",
				   (int)attr->lfa_kind,
				   M0_LNET_FAULT_KINDS_NR - 1);
	if ((attr->lfa_msgs & ~(unsigned)MSGS_ALL) != 0)
		return m0_node_why(why, -EINVAL,
				   "lfa_msgs is 0x%x; it may be any bits of "
				   "0x%x",
				   attr->lfa_msgs, MSGS_ALL);
	rc = choice_check(attr, why);
	return rc == 0 ? kind_check(attr, why) : rc;
}

/* ----------------------------------------------------------------- rules -- */

int m0_lnet_fault_add(struct m0_lnet                  *lnet,
		      const struct m0_lnet_fault_attr *attr, char *why)
{
	struct m0_front_control *fcl;
	int                      rc = m0_lnet_fault_attr_check(attr, why);

	if (rc != 0)
		return rc;
	rc = m0_front__control_take(lnet, M0_RING_FAULT_ADD, &fcl);
	if (rc == 0) {
		fcl->fcl_record->rqc_fault = *attr;
		rc = m0_front__control_do(lnet, fcl);
		m0_front__control_put(lnet, fcl);
		if (rc == -ENOSPC)
			return m0_node_why(
				why, rc,
				"there are %d rules; there may be no more",
				M0_LNET_FAULTS_MAX);
	}
	return rc == 0 ? 0
		       : m0_node_why(why, rc, "no rule was added: %s",
				     m0_errname(rc));
}

/* A request about some rules. */
static int choice_take(struct m0_lnet *lnet, enum m0_ring_verb verb,
		       enum m0_lnet_fault_kind   kind,
		       struct m0_front_control **ret)
{
	int rc = m0_front__control_take(lnet, verb, ret);

	if (rc == 0)
		(*ret)->fcl_record->rqc_choice = (struct m0_ring_choice){
			.rch_kind = kind,
			.rch_src = m0_lnet_nid_any,
			.rch_dst = m0_lnet_nid_any,
		};
	return rc;
}

int m0_lnet_fault_del(struct m0_lnet *lnet, enum m0_lnet_fault_kind kind,
		      const struct m0_lnet_nid *src,
		      const struct m0_lnet_nid *dst)
{
	struct m0_front_control *fcl;
	int rc = choice_take(lnet, M0_RING_FAULT_DEL, kind, &fcl);

	if (rc != 0)
		return rc;
	if (src != NULL)
		fcl->fcl_record->rqc_choice.rch_src = *src;
	if (dst != NULL)
		fcl->fcl_record->rqc_choice.rch_dst = *dst;
	rc = m0_front__control_do(lnet, fcl);
	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_fault_reset(struct m0_lnet *lnet, enum m0_lnet_fault_kind kind)
{
	struct m0_front_control *fcl;
	int rc = choice_take(lnet, M0_RING_FAULT_RESET, kind, &fcl);

	if (rc != 0)
		return rc;
	rc = m0_front__control_do(lnet, fcl);
	m0_front__control_put(lnet, fcl);
	return rc;
}

int m0_lnet_fault_get(struct m0_lnet *lnet, enum m0_lnet_fault_kind kind,
		      struct m0_lnet_fault *ret, unsigned max)
{
	struct m0_front_control *fcl;
	int rc = choice_take(lnet, M0_RING_FAULT_GET, kind, &fcl);

	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_choice.rch_max = max;
	return m0_front__array_do(lnet, fcl, ret, max * sizeof *ret);
}

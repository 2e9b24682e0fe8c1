/* SPDX-License-Identifier: Apache-2.0 */
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

/* Does it say which messages are hit? */
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

/* Does it say how, as its kind wants it, and nothing that this has not? */
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

/* --------------------------------------------------------- on the strand -- */

/** A call: what is to be done with the rules, and what came of it. */
struct fault_call {
	struct m0_front_call flc_call;
	struct m0_semaphore  flc_sem;
	int (*flc_do)(struct m0_node *node, const struct fault_call *call);
	enum m0_lnet_fault_kind          flc_kind;
	const struct m0_lnet_fault_attr *flc_attr;
	const struct m0_lnet_nid        *flc_src;
	const struct m0_lnet_nid        *flc_dst;
	struct m0_lnet_fault            *flc_ret;
	unsigned                         flc_max;
	int                              flc_rc;
};

static void fault_do(struct m0_lnet *lnet, struct m0_front_call *ca)
{
	struct fault_call *call = container_of(ca, struct fault_call, flc_call);

	call->flc_rc = call->flc_do(lnet->hm_node, call);
	m0_semaphore_up(&call->flc_sem);
}

static int call_make(struct m0_lnet *lnet, struct fault_call *call)
{
	M0_PRE(call->flc_do != NULL);
	if (lnet->hm_node == NULL)
		return -ENOSYS;
	m0_front__lock(lnet);
	if (lnet->hm_shut) {
		m0_mutex_unlock(&lnet->hm_lock);
		return -ESHUTDOWN;
	}
	/* Nobody else steps, nor looks at a rule now. */
	if (m0_front__is_inside(lnet)) {
		m0_mutex_unlock(&lnet->hm_lock);
		return call->flc_do(lnet->hm_node, call);
	}
	(void)m0_semaphore_init(&call->flc_sem, 0);
	call->flc_call.ca_do = fault_do;
	m0_front__call_unlock(lnet, &call->flc_call);
	(void)m0_front__wait(lnet, &call->flc_sem, M0_TIME_NEVER);
	m0_semaphore_fini(&call->flc_sem);
	return call->flc_rc;
}

static int add_do(struct m0_node *node, const struct fault_call *call)
{
	return m0_node_fault_add(node, call->flc_attr);
}

static int del_do(struct m0_node *node, const struct fault_call *call)
{
	return m0_node_fault_del(node, call->flc_kind, call->flc_src,
				 call->flc_dst);
}

static int reset_do(struct m0_node *node, const struct fault_call *call)
{
	return m0_node_fault_reset(node, call->flc_kind);
}

static int get_do(struct m0_node *node, const struct fault_call *call)
{
	return m0_node_fault_get(node, call->flc_kind, call->flc_ret,
				 call->flc_max);
}

int m0_lnet_fault_add(struct m0_lnet                  *lnet,
		      const struct m0_lnet_fault_attr *attr, char *why)
{
	struct fault_call call = { .flc_do = add_do, .flc_attr = attr };
	int               rc = m0_lnet_fault_attr_check(attr, why);

	if (rc != 0)
		return rc;
	rc = call_make(lnet, &call);
	if (rc == -ENOSPC)
		return m0_node_why(why, rc,
				   "there are %d rules; there may be no more",
				   M0_LNET_FAULTS_MAX);
	return rc == 0 ? 0
		       : m0_node_why(why, rc, "no rule was added: %s",
				     m0_errname(rc));
}

int m0_lnet_fault_del(struct m0_lnet *lnet, enum m0_lnet_fault_kind kind,
		      const struct m0_lnet_nid *src,
		      const struct m0_lnet_nid *dst)
{
	struct fault_call call = { .flc_do = del_do,
				   .flc_kind = kind,
				   .flc_src = src,
				   .flc_dst = dst };

	return call_make(lnet, &call);
}

int m0_lnet_fault_reset(struct m0_lnet *lnet, enum m0_lnet_fault_kind kind)
{
	struct fault_call call = { .flc_do = reset_do, .flc_kind = kind };

	return call_make(lnet, &call);
}

int m0_lnet_fault_get(struct m0_lnet *lnet, enum m0_lnet_fault_kind kind,
		      struct m0_lnet_fault *ret, unsigned max)
{
	struct fault_call call = { .flc_do = get_do,
				   .flc_kind = kind,
				   .flc_ret = ret,
				   .flc_max = max };

	return call_make(lnet, &call);
}

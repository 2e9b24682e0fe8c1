/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * MDs and entries of a TM on its node.
 */
#include "xprt/lnet/xlnet_internal.h"

struct m0_lnet *m0_xlnet__machine_lnet(const struct xlnet_machine *xm)
{
	return xm->xm_node->xn_lnet;
}

struct m0_lnet *m0_xlnet__lnet(const struct m0_net_kit_buf *kb)
{
	return m0_xlnet__machine_lnet(xlnet_machine(kb->nkb_machine));
}

bool m0_xlnet__has_rails(const struct xlnet_machine *xm)
{
	struct m0_lnet_process_id id;

	/* The first is 0@lo. */
	return m0_lnet_get_id(m0_xlnet__machine_lnet(xm), 2, &id) == 0;
}

void m0_xlnet__me_any(const struct xlnet_machine *xm,
		      struct m0_lnet_me_attr     *ret)
{
	*ret = (struct m0_lnet_me_attr){
		.mea_portal = xm->xm_addr.xa_portal,
		.mea_id = { .lp_nid = m0_lnet_nid_any,
			    .lp_pid = M0_LNET_PID_ANY },
		.mea_match_bits = xlnet_msg_bits(xm->xm_addr.xa_tmid),
		.mea_flags = M0_LNET_ME_UNLINK
	};
}

int m0_xlnet__attach(struct xlnet_machine *xm, const struct m0_lnet_me_attr *me,
		     struct m0_lnet_md_attr *attr, struct xlnet_md *xd)
{
	attr->mda_eq = &xm->xm_node->xn_eq;
	attr->mda_user = xd;
	return m0_lnet_entry_attach(xm->xm_node->xn_lnet, me, attr, &xd->xd_md);
}

int m0_xlnet__queue_begin(struct xlnet_machine *xm)
{
	struct m0_lnet_me_attr me;

	m0_xlnet__me_any(xm, &me);
	me.mea_flags = M0_LNET_ME_QUEUE;
	return m0_lnet_me_attach(xm->xm_node->xn_lnet, &me, &xm->xm_queue);
}

void m0_xlnet__queue_end(struct xlnet_machine *xm)
{
	(void)m0_lnet_me_unlink(xm->xm_node->xn_lnet, xm->xm_queue);
}

/* The ME of the queue has ended: with the daemon of an attached process, or because that
 * daemon had no memory for it. Then it gets another one. */
static int queue_again(struct xlnet_machine         *xm,
		       const struct m0_lnet_md_attr *attr, struct xlnet_md *xd)
{
	int rc;

	if (__atomic_load_n(&xm->xm_has_lost, __ATOMIC_ACQUIRE))
		return -ESHUTDOWN;
	rc = m0_xlnet__queue_begin(xm);
	if (rc == 0)
		rc = m0_lnet_md_attach(xm->xm_node->xn_lnet, xm->xm_queue, attr,
				       &xd->xd_md);
	return rc == -ENOENT ? -ENOMEM : rc;
}

int m0_xlnet__queue_add(struct xlnet_machine *xm, struct m0_lnet_md_attr *attr,
			struct xlnet_md *xd)
{
	int rc;

	M0_PRE_EX(xlnet_is_locked(xm->xm_machine));
	attr->mda_eq = &xm->xm_node->xn_eq;
	attr->mda_user = xd;
	rc = m0_lnet_md_attach(xm->xm_node->xn_lnet, xm->xm_queue, attr,
			       &xd->xd_md);
	return M0_UNLIKELY(rc == -ENOENT) ? queue_again(xm, attr, xd) : rc;
}

int m0_xlnet__bind(struct xlnet_machine *xm, struct m0_lnet_md_attr *attr,
		   const struct m0_lnet_op *op, bool is_get,
		   struct xlnet_md *xd)
{
	struct m0_lnet *lnet = xm->xm_node->xn_lnet;

	attr->mda_eq = &xm->xm_node->xn_eq;
	attr->mda_user = xd;
	return is_get ? m0_lnet_bind_get(lnet, attr, op, &xd->xd_md)
		      : m0_lnet_bind_put(lnet, attr, op, &xd->xd_md);
}

void m0_xlnet__op(const struct xlnet_machine *xm, const struct xlnet_addr *to,
		  uint64_t bits, struct m0_lnet_op *ret)
{
	M0_SET0(ret);
	ret->lo_self = xm->xm_addr.xa_nid;
	ret->lo_target.lp_nid = to->xa_nid;
	ret->lo_target.lp_pid = M0_LNET_PID_LUSTRE;
	ret->lo_portal = to->xa_portal;
	ret->lo_match_bits = bits;
}

void m0_xlnet__end(struct xlnet_buf *xb, int32_t status)
{
	if (xb->xb_status == 0)
		xb->xb_status = status;
	if (xb->xb_ends)
		return;
	xb->xb_ends = true;
	/* -ENOENT: its last event is on its way. */
	(void)m0_lnet_md_unlink(m0_xlnet__lnet(xb->xb_md.xd_kb),
				xb->xb_md.xd_md);
}

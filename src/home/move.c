/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PUT and GET, laziness of portals, memory.
 */
#include "home/home_internal.h"
#include "m0/lnet_run.h"

enum {
	/** Portals that a peer may have, whatever ours are. */
	PORTALS_MIN = 64
};

static struct m0_home_msg *msg_of_op(struct m0_home_op *op)
{
	return container_of(op, struct m0_home_msg, hms_op);
}

void m0_home__put_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_msg *hms = msg_of_op(op);
	struct m0_home_md  *hmd = m0_home__md_of(hms->hms_msg.msg_md);

	m0_lnet_engine_put(lnet->hm_node.hno_engine, &hms->hms_msg);
	m0_home__md_op_done(lnet, hmd);
}

void m0_home__get_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_msg *hms = msg_of_op(op);
	struct m0_home_md  *hmd = m0_home__md_of(hms->hms_msg.msg_md);

	m0_lnet_engine_get(lnet->hm_node.hno_engine, &hms->hms_msg);
	m0_home__md_op_done(lnet, hmd);
}

/* Its MD is bound now: nobody else knows that, so nobody else counts. */
static bool md_bound(struct m0_lnet *lnet, struct m0_home_msg *hms)
{
	struct m0_home_md *hmd = m0_home__md_of(hms->hms_msg.msg_md);

	m0_lnet_engine_md_bind(lnet->hm_node.hno_engine, &hmd->hmd_md);
	if (M0_LIKELY(!M0_HOME_GET(hmd->hmd_ended)))
		return true;
	/* Its end says why. */
	m0_mutex_lock(&lnet->hm_lock);
	(void)m0_home__msg_put(lnet, hms);
	m0_mutex_unlock(&lnet->hm_lock);
	return false;
}

void m0_home__bind_put_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_msg *hms = msg_of_op(op);

	if (md_bound(lnet, hms))
		m0_lnet_engine_put(lnet->hm_node.hno_engine, &hms->hms_msg);
}

void m0_home__bind_get_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_msg *hms = msg_of_op(op);

	if (md_bound(lnet, hms))
		m0_lnet_engine_get(lnet->hm_node.hno_engine, &hms->hms_msg);
}

bool m0_home__nid_is_ours(const struct m0_lnet     *lnet,
			  const struct m0_lnet_nid *nid)
{
	unsigned i;

	/* The first is `0@lo`, of which hardly anything is. */
	for (i = lnet->hm_nids_nr; i > 0; --i) {
		if (m0_lnet_nid_eq(&lnet->hm_nids[i - 1], nid))
			return true;
	}
	return false;
}

static bool op_ok(const struct m0_lnet *lnet, const struct m0_lnet_op *op)
{
	return op->lo_portal < max_check(lnet->hm_cfg.lc_portals_nr,
					 (unsigned)PORTALS_MIN) &&
	       !m0_lnet_nid_is_any(&op->lo_target.lp_nid) &&
	       op->lo_target.lp_pid != M0_LNET_PID_ANY &&
	       (m0_lnet_nid_is_any(&op->lo_self) ||
		m0_home__nid_is_ours(lnet, &op->lo_self));
}

static bool range_ok(m0_bcount_t md_length, const struct m0_lnet_op *op)
{
	m0_bcount_t there;

	if (op->lo_md_offset > md_length)
		return false;
	there = md_length - op->lo_md_offset;
	return op->lo_bytes <= there &&
	       (op->lo_bytes != 0 ? op->lo_bytes : there) <= M0_LNET_MTU;
}

/* There is none: can there be more? hm_lock is held. */
static bool more_msgs(struct m0_lnet *lnet, bool grow)
{
	return grow ? m0_home__grow(lnet, &lnet->hm_msgs) == 0
		    : m0_home__told_take(lnet);
}

/* Takes a message for an operation on `md`; hm_lock is held. */
static int msg_take(struct m0_lnet *lnet, struct m0_lnet_handle md,
		    const struct m0_lnet_op *op, struct m0_home_msg **ret)
{
	struct m0_home_md *hmd;
	bool               grow;

	do {
		if (lnet->hm_shut)
			return -ESHUTDOWN;
		hmd = m0_home__md_find(lnet, md);
		if (hmd == NULL)
			return -ENOENT;
		if (hmd->hmd_me != NULL ||
		    !range_ok(hmd->hmd_md.md_attr.mda_length, op))
			return -EINVAL;
		*ret = m0_home__msg_get(lnet, true, &grow);
		if (*ret == NULL && !more_msgs(lnet, grow))
			return -ENOBUFS;
	} while (*ret == NULL);
	++hmd->hmd_users_nr;
	(*ret)->hms_msg.msg_md = &hmd->hmd_md;
	return 0;
}

static int op_post(struct m0_lnet *lnet, struct m0_lnet_handle md,
		   const struct m0_lnet_op *op, enum m0_home_opcode opcode)
{
	struct m0_home_msg *hms;
	int                 rc;

	if (!op_ok(lnet, op))
		return -EINVAL;
	m0_home__lock(lnet);
	rc = msg_take(lnet, md, op, &hms);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->hm_lock);
		return rc;
	}
	hms->hms_msg.msg_op.mop_attr = *op;
	m0_home__post_unlock(lnet, opcode, hms->hms_slot.hsl_index,
			     &hms->hms_op);
	return 0;
}

int m0_lnet_put(struct m0_lnet *lnet, struct m0_lnet_handle md,
		const struct m0_lnet_op *op)
{
	return op_post(lnet, md, op, M0_HOME_OP_PUT);
}

int m0_lnet_get(struct m0_lnet *lnet, struct m0_lnet_handle md,
		const struct m0_lnet_op *op)
{
	return op_post(lnet, md, op, M0_HOME_OP_GET);
}

/* A message of ours, having memory made for it; hm_lock is held. */
static struct m0_home_msg *own_msg_get(struct m0_lnet *lnet)
{
	struct m0_home_msg *hms;
	bool                grow;

	do {
		hms = m0_home__msg_get(lnet, true, &grow);
	} while (hms == NULL && more_msgs(lnet, grow));
	return hms;
}

/* An MD and a message on it; hm_lock is held. */
static int bound_take(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		      struct m0_home_msg **ret)
{
	struct m0_home_slot *slot;
	struct m0_home_md   *hmd;
	int                  rc;

	*ret = own_msg_get(lnet);
	if (*ret == NULL)
		return lnet->hm_shut ? -ESHUTDOWN : -ENOBUFS;
	rc = m0_home__slot_take(lnet, &lnet->hm_mds, &slot);
	if (rc != 0) {
		(void)m0_home__msg_put(lnet, *ret);
		return rc;
	}
	hmd = m0_home__md_new(slot, attr);
	(*ret)->hms_msg.msg_md = &hmd->hmd_md;
	return 0;
}

static int bound_post(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		      const struct m0_lnet_op *op, struct m0_lnet_handle *ret,
		      enum m0_home_opcode opcode)
{
	struct m0_home_msg *hms;
	int                 rc;

	rc = m0_home__md_bind_check(lnet, attr);
	if (rc != 0)
		return rc;
	if (!range_ok(attr->mda_length, op) || !op_ok(lnet, op))
		return -EINVAL;
	m0_home__lock(lnet);
	rc = bound_take(lnet, attr, &hms);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->hm_lock);
		return rc;
	}
	hms->hms_msg.msg_op.mop_attr = *op;
	*ret = hms->hms_msg.msg_md->md_handle;
	m0_home__post_unlock(lnet, opcode, hms->hms_slot.hsl_index,
			     &hms->hms_op);
	return 0;
}

int m0_lnet_bind_put(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		     const struct m0_lnet_op *op, struct m0_lnet_handle *ret)
{
	return bound_post(lnet, attr, op, ret, M0_HOME_OP_BIND_PUT);
}

int m0_lnet_bind_get(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		     const struct m0_lnet_op *op, struct m0_lnet_handle *ret)
{
	return bound_post(lnet, attr, op, ret, M0_HOME_OP_BIND_GET);
}

/* ----------------------------------------------------------------- lazy -- */

void m0_home__lazy_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_lazy *lazy =
		container_of(op, struct m0_home_lazy, hlz_op);
	uint32_t portal = (uint32_t)(lazy - lnet->hm_lazy);
	bool     cleared;
	bool     wanted;

	m0_mutex_lock(&lnet->hm_lock);
	cleared = lazy->hlz_cleared;
	wanted = lazy->hlz_wanted;
	lazy->hlz_queued = false;
	lazy->hlz_cleared = false;
	m0_mutex_unlock(&lnet->hm_lock);
	if (cleared)
		m0_lnet_engine_lazy_set(lnet->hm_node.hno_engine, portal,
					false);
	if (wanted)
		m0_lnet_engine_lazy_set(lnet->hm_node.hno_engine, portal, true);
}

int m0_lnet_lazy_set(struct m0_lnet *lnet, uint32_t portal, bool lazy)
{
	struct m0_home_lazy *wish;

	if (portal == M0_LNET_PORTAL_RESERVED ||
	    portal >= lnet->hm_cfg.lc_portals_nr)
		return -EINVAL;
	wish = &lnet->hm_lazy[portal];
	m0_home__lock(lnet);
	wish->hlz_wanted = lazy;
	wish->hlz_cleared = wish->hlz_cleared || !lazy;
	if (wish->hlz_queued || lnet->hm_shut) {
		m0_mutex_unlock(&lnet->hm_lock);
		return 0;
	}
	wish->hlz_queued = true;
	m0_home__post_unlock(lnet, M0_HOME_OP_LAZY, portal, &wish->hlz_op);
	return 0;
}

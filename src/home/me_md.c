/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match entries and memory descriptors as the application names them: arguments
 * are checked and memory is taken on its thread, the rest is the strand's.
 */
#include "home/home_internal.h"
#include "m0/lnet_run.h"

const struct m0_lnet_handle m0_lnet_handle_none;

static const unsigned me_flags_all = M0_LNET_ME_UNLINK | M0_LNET_ME_BEFORE |
				     M0_LNET_ME_LAST | M0_LNET_ME_QUEUE;
static const unsigned md_options_all =
	M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET | M0_LNET_MD_MANAGE_REMOTE |
	M0_LNET_MD_TRUNCATE | M0_LNET_MD_ACK_DISABLE | M0_LNET_MD_MAX_SIZE |
	M0_LNET_MD_NO_TRACK_RESPONSE | M0_LNET_MD_IF_FITS | M0_LNET_MD_MIN_ROOM;

/* --------------------------------------------------------- slots in use -- */

static struct m0_home_me *me_of_slot(struct m0_home_slot *slot)
{
	return slot == NULL ? NULL
			    : container_of(slot, struct m0_home_me, hme_slot);
}

static struct m0_home_md *md_of_slot(struct m0_home_slot *slot)
{
	return slot == NULL ? NULL
			    : container_of(slot, struct m0_home_md, hmd_slot);
}

/* The ME, if it has not ended. */
static struct m0_home_me *me_find(struct m0_lnet       *lnet,
				  struct m0_lnet_handle handle)
{
	struct m0_home_me *hme =
		me_of_slot(m0_home__slot_find(&lnet->hm_mes, handle));

	if (hme == NULL || hme->hme_unlinked || M0_HOME_GET(hme->hme_gone))
		return NULL;
	return hme;
}

struct m0_home_md *m0_home__md_find(struct m0_lnet       *lnet,
				    struct m0_lnet_handle handle)
{
	struct m0_home_md *hmd =
		md_of_slot(m0_home__slot_find(&lnet->hm_mds, handle));

	if (hmd == NULL || hmd->hmd_unlinked || M0_HOME_GET(hmd->hmd_ended) ||
	    (hmd->hmd_queued && hmd->hmd_me->hme_unlinked))
		return NULL;
	return hmd;
}

static void me_op_done(struct m0_lnet *lnet, struct m0_home_me *hme)
{
	m0_mutex_lock(&lnet->hm_lock);
	m0_home__me_put(lnet, hme);
	m0_mutex_unlock(&lnet->hm_lock);
}

void m0_home__md_op_done(struct m0_lnet *lnet, struct m0_home_md *hmd)
{
	m0_mutex_lock(&lnet->hm_lock);
	m0_home__md_put(lnet, hmd);
	m0_mutex_unlock(&lnet->hm_lock);
}

/* No slot is free: has one made, or what has been told given back. hm_lock. */
static __attribute__((noinline)) int slot_make(struct m0_lnet       *lnet,
					       struct m0_home_slots *slots)
{
	if (m0_home__slots_are_full(slots))
		return m0_home__told_take(lnet) &&
				       !m0_home__slots_are_full(slots)
			       ? 0
			       : -ENOSPC;
	return m0_home__grow(lnet, slots);
}

/*
 * Takes a slot, having it made if need be; hm_lock is held, and released
 * meanwhile. For each message, on both sides: in its callers.
 */
inline int m0_home__slot_take(struct m0_lnet *lnet, struct m0_home_slots *slots,
			      struct m0_home_slot **ret)
{
	int rc = 0;

	while (rc == 0) {
		if (M0_UNLIKELY(lnet->hm_shut))
			return -ESHUTDOWN;
		*ret = m0_home__slot_get(slots);
		if (M0_LIKELY(*ret != NULL))
			return 0;
		rc = slot_make(lnet, slots);
	}
	return rc;
}

/* ------------------------------------------------------------------- ME -- */

void m0_home__me_attach_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_me *hme =
		container_of(op, struct m0_home_me, hme_attach);

	m0_lnet_engine_me_attach(lnet->hm_node.hno_engine, &hme->hme_me);
	me_op_done(lnet, hme);
}

void m0_home__me_unlink_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_me *hme =
		container_of(op, struct m0_home_me, hme_unlink);

	if (!M0_HOME_GET(hme->hme_gone))
		m0_lnet_engine_me_unlink(lnet->hm_node.hno_engine,
					 &hme->hme_me);
	me_op_done(lnet, hme);
}

static bool me_attr_ok(const struct m0_lnet         *lnet,
		       const struct m0_lnet_me_attr *attr)
{
	return attr->mea_portal != M0_LNET_PORTAL_RESERVED &&
	       attr->mea_portal < lnet->hm_cfg.lc_portals_nr &&
	       (attr->mea_flags & ~me_flags_all) == 0 &&
	       (attr->mea_flags & (M0_LNET_ME_QUEUE | M0_LNET_ME_UNLINK)) !=
		       (M0_LNET_ME_QUEUE | M0_LNET_ME_UNLINK);
}

/* Fills a slot; hm_lock is held. */
static struct m0_home_me *me_new(struct m0_home_slot          *slot,
				 const struct m0_lnet_me_attr *attr)
{
	struct m0_home_me *hme = me_of_slot(slot);

	hme->hme_me.me_attr = *attr;
	hme->hme_me.me_handle = m0_home__handle(slot);
	hme->hme_users_nr = 1;
	hme->hme_next = NULL;
	hme->hme_unlinked = false;
	hme->hme_gone = false;
	hme->hme_md = m0_lnet_handle_none;
	return hme;
}

int m0_lnet_me_attach(struct m0_lnet *lnet, const struct m0_lnet_me_attr *attr,
		      struct m0_lnet_handle *ret)
{
	struct m0_home_slot *slot;
	struct m0_home_me   *hme;
	int                  rc;

	if (!me_attr_ok(lnet, attr))
		return -EINVAL;
	m0_home__lock(lnet);
	rc = m0_home__slot_take(lnet, &lnet->hm_mes, &slot);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->hm_lock);
		return rc;
	}
	hme = me_new(slot, attr);
	++hme->hme_users_nr;
	*ret = hme->hme_me.me_handle;
	m0_home__post_unlock(lnet, M0_HOME_OP_ME_ATTACH, slot->hsl_index,
			     &hme->hme_attach);
	return 0;
}

int m0_lnet_me_unlink(struct m0_lnet *lnet, struct m0_lnet_handle me)
{
	struct m0_home_me *hme;
	struct m0_home_md *hmd;

	m0_home__lock(lnet);
	hme = me_find(lnet, me);
	if (hme == NULL) {
		m0_mutex_unlock(&lnet->hm_lock);
		return -ENOENT;
	}
	hme->hme_unlinked = true;
	hmd = m0_home__md_find(lnet, hme->hme_md);
	if (hmd != NULL)
		hmd->hmd_unlinked = true;
	++hme->hme_users_nr;
	m0_home__post_unlock(lnet, M0_HOME_OP_ME_UNLINK,
			     hme->hme_slot.hsl_index, &hme->hme_unlink);
	return 0;
}

/* ------------------------------------------------------------------- MD -- */

void m0_home__md_attach_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_md *hmd =
		container_of(op, struct m0_home_md, hmd_attach);
	struct m0_home_me *hme = hmd->hmd_me;

	if (hme == NULL) {
		m0_lnet_engine_md_bind(lnet->hm_node.hno_engine, &hmd->hmd_md);
	} else {
		m0_lnet_engine_md_attach(lnet->hm_node.hno_engine, &hme->hme_me,
					 &hmd->hmd_md);
		me_op_done(lnet, hme);
	}
	m0_home__md_op_done(lnet, hmd);
}

void m0_home__md_unlink_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_md *hmd =
		container_of(op, struct m0_home_md, hmd_unlink);

	if (!M0_HOME_GET(hmd->hmd_ended))
		m0_lnet_engine_md_unlink(lnet->hm_node.hno_engine,
					 &hmd->hmd_md);
	m0_home__md_op_done(lnet, hmd);
}

static bool md_is_for_me(const struct m0_lnet_md_attr *attr)
{
	return (attr->mda_options & (M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET)) !=
	       0;
}

/* For each message, on both sides: in its callers. */
static inline int md_attr_check(struct m0_lnet               *lnet,
				const struct m0_lnet_md_attr *attr, bool for_me)
{
	const struct m0_bufvec *vec = attr->mda_vec;
	m0_bcount_t             there;

	M0_PRE(attr->mda_eq == NULL || attr->mda_eq->eq_lnet == lnet);
	if ((attr->mda_options & ~md_options_all) != 0 ||
	    md_is_for_me(attr) != for_me || attr->mda_threshold == 0 ||
	    attr->mda_threshold < M0_LNET_MD_THRESHOLD_INF)
		return -EINVAL;
	if ((attr->mda_options & (M0_LNET_MD_MAX_SIZE | M0_LNET_MD_MIN_ROOM)) !=
		    0 &&
	    attr->mda_max_size > attr->mda_length)
		return -EINVAL;
	if (attr->mda_eq != NULL &&
	    M0_UNLIKELY(M0_HOME_GET(attr->mda_eq->eq_number) == 0)) {
		int rc = m0_home__eq_number_make(lnet, attr->mda_eq);

		if (rc != 0)
			return rc;
	}
	if (vec == NULL)
		return attr->mda_length == 0 ? 0 : -EINVAL;
	there = m0_vec_count(&vec->ov_vec);
	return vec->ov_vec.v_nr <= M0_LNET_MD_SEGS_MAX &&
			       attr->mda_vec_offset <= there &&
			       attr->mda_length <= there - attr->mda_vec_offset
		       ? 0
		       : -EINVAL;
}

int m0_home__md_bind_check(struct m0_lnet               *lnet,
			   const struct m0_lnet_md_attr *attr)
{
	return md_attr_check(lnet, attr, false);
}

/*
 * One after the other, as its caller has set them: to load what was just stored
 * in parts as a whole waits until it is in the cache.
 */
static void attr_copy(struct m0_lnet_md_attr       *ret,
		      const struct m0_lnet_md_attr *attr)
{
	/* A field that is new is missed here (-Wmissing-field-initializers). */
	_Static_assert(sizeof((struct m0_lnet_md_attr){
			       NULL, 0, 0, 0, 0, 0, false, NULL, NULL }) > 0,
		       "copy it, too");

	ret->mda_vec = attr->mda_vec;
	ret->mda_length = attr->mda_length;
	ret->mda_vec_offset = attr->mda_vec_offset;
	ret->mda_threshold = attr->mda_threshold;
	ret->mda_max_size = attr->mda_max_size;
	ret->mda_options = attr->mda_options;
	ret->mda_auto_unlink = attr->mda_auto_unlink;
	ret->mda_eq = NULL;
	ret->mda_user = attr->mda_user;
}

/* For each message, as m0_home__slot_take(). */
inline struct m0_home_md *m0_home__md_new(struct m0_home_slot          *slot,
					  const struct m0_lnet_md_attr *attr)
{
	struct m0_home_md *hmd = md_of_slot(slot);

	attr_copy(&hmd->hmd_md.md_attr, attr);
	hmd->hmd_md.md_handle = m0_home__handle(slot);
	hmd->hmd_md.md_done = NULL;
	hmd->hmd_users_nr = 1;
	hmd->hmd_unlinked = false;
	hmd->hmd_ended = false;
	hmd->hmd_me = NULL;
	hmd->hmd_queued = false;
	hmd->hmd_eq = attr->mda_eq;
	hmd->hmd_md.md_eq = 0;
	if (attr->mda_eq != NULL) {
		hmd->hmd_md.md_eq = attr->mda_eq->eq_number;
		++attr->mda_eq->eq_users_nr;
	}
	return hmd;
}

/* The engine hears of it before it can end: nobody else counts. */
void m0_home__queue_attach_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_md *hmd =
		container_of(op, struct m0_home_md, hmd_attach);

	m0_lnet_engine_md_attach(lnet->hm_node.hno_engine, &hmd->hmd_me->hme_me,
				 &hmd->hmd_md);
}

static bool me_is_queue(const struct m0_home_me *hme)
{
	return (hme->hme_me.me_attr.mea_flags & M0_LNET_ME_QUEUE) != 0;
}

/* May such an MD be put on it? hm_lock is held. */
static int me_takes(struct m0_lnet *lnet, const struct m0_home_me *hme,
		    const struct m0_lnet_md_attr *attr)
{
	if (hme == NULL)
		return -ENOENT;
	if (me_is_queue(hme))
		return attr->mda_auto_unlink ? 0 : -EINVAL;
	return m0_home__md_find(lnet, hme->hme_md) != NULL ? -EBUSY : 0;
}

/* Counts the one for the other; hm_lock is held. @return how to attach it. */
static enum m0_home_opcode md_on_me(struct m0_home_md *hmd,
				    struct m0_home_me *hme)
{
	hmd->hmd_me = hme;
	++hme->hme_users_nr;
	if (!me_is_queue(hme)) {
		hme->hme_md = hmd->hmd_md.md_handle;
		++hmd->hmd_users_nr;
		return M0_HOME_OP_MD_ATTACH;
	}
	hmd->hmd_queued = true;
	return M0_HOME_OP_QUEUE_ATTACH;
}

int m0_lnet_md_attach(struct m0_lnet *lnet, struct m0_lnet_handle me,
		      const struct m0_lnet_md_attr *attr,
		      struct m0_lnet_handle        *ret)
{
	struct m0_home_slot *slot;
	struct m0_home_me   *hme;
	struct m0_home_md   *hmd;
	enum m0_home_opcode  opcode;
	int                  rc;

	rc = md_attr_check(lnet, attr, true);
	if (rc != 0)
		return rc;
	m0_home__lock(lnet);
	rc = m0_home__slot_take(lnet, &lnet->hm_mds, &slot);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->hm_lock);
		return rc;
	}
	/* Only now: taking a slot releases the lock. */
	hme = me_find(lnet, me);
	rc = me_takes(lnet, hme, attr);
	if (rc != 0) {
		m0_home__slot_put(&lnet->hm_mds, slot);
		m0_mutex_unlock(&lnet->hm_lock);
		return rc;
	}
	hmd = m0_home__md_new(slot, attr);
	opcode = md_on_me(hmd, hme);
	*ret = hmd->hmd_md.md_handle;
	m0_home__post_unlock(lnet, opcode, slot->hsl_index, &hmd->hmd_attach);
	return 0;
}

/*
 * The engine hears of both at once, and nothing ends before it has: nobody else
 * counts.
 */
void m0_home__entry_attach_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_md *hmd =
		container_of(op, struct m0_home_md, hmd_attach);
	struct m0_lnet_me *me = &hmd->hmd_me->hme_me;

	m0_lnet_engine_me_attach(lnet->hm_node.hno_engine, me);
	m0_lnet_engine_md_attach(lnet->hm_node.hno_engine, me, &hmd->hmd_md);
}

/* Takes a slot for each; hm_lock is held. */
static int entry_slots(struct m0_lnet *lnet, struct m0_home_slot **me,
		       struct m0_home_slot **md)
{
	int rc = m0_home__slot_take(lnet, &lnet->hm_mes, me);

	if (rc != 0)
		return rc;
	rc = m0_home__slot_take(lnet, &lnet->hm_mds, md);
	if (rc != 0)
		m0_home__slot_put(&lnet->hm_mes, *me);
	return rc;
}

int m0_lnet_entry_attach(struct m0_lnet               *lnet,
			 const struct m0_lnet_me_attr *me_attr,
			 const struct m0_lnet_md_attr *md_attr,
			 struct m0_lnet_handle        *ret)
{
	struct m0_home_slot *me;
	struct m0_home_slot *md;
	struct m0_home_md   *hmd;
	int                  rc;

	M0_PRE((me_attr->mea_flags & M0_LNET_ME_UNLINK) != 0);
	if (!me_attr_ok(lnet, me_attr))
		return -EINVAL;
	rc = md_attr_check(lnet, md_attr, true);
	if (rc != 0)
		return rc;
	m0_home__lock(lnet);
	rc = entry_slots(lnet, &me, &md);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->hm_lock);
		return rc;
	}
	hmd = m0_home__md_new(md, md_attr);
	hmd->hmd_me = me_new(me, me_attr);
	hmd->hmd_me->hme_md = hmd->hmd_md.md_handle;
	*ret = hmd->hmd_md.md_handle;
	m0_home__post_unlock(lnet, M0_HOME_OP_ENTRY_ATTACH, md->hsl_index,
			     &hmd->hmd_attach);
	return 0;
}

int m0_lnet_md_bind(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		    struct m0_lnet_handle *ret)
{
	struct m0_home_slot *slot;
	struct m0_home_md   *hmd;
	int                  rc;

	rc = m0_home__md_bind_check(lnet, attr);
	if (rc != 0)
		return rc;
	m0_home__lock(lnet);
	rc = m0_home__slot_take(lnet, &lnet->hm_mds, &slot);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->hm_lock);
		return rc;
	}
	hmd = m0_home__md_new(slot, attr);
	++hmd->hmd_users_nr;
	*ret = hmd->hmd_md.md_handle;
	m0_home__post_unlock(lnet, M0_HOME_OP_MD_ATTACH, slot->hsl_index,
			     &hmd->hmd_attach);
	return 0;
}

/*
 * Ends the entry with its MD, if it is to. The MD may be used up: then its entry
 * has ended before it, and another one may have that slot.
 */
static void md_me_unlink(struct m0_home_me *hme, struct m0_lnet_handle md)
{
	if (hme != NULL && hme->hme_md.lh_slot == md.lh_slot &&
	    hme->hme_md.lh_gen == md.lh_gen &&
	    (hme->hme_me.me_attr.mea_flags & M0_LNET_ME_UNLINK) != 0)
		hme->hme_unlinked = true;
}

int m0_lnet_md_unlink(struct m0_lnet *lnet, struct m0_lnet_handle md)
{
	struct m0_home_md *hmd;

	m0_home__lock(lnet);
	hmd = m0_home__md_find(lnet, md);
	if (hmd == NULL) {
		m0_mutex_unlock(&lnet->hm_lock);
		return -ENOENT;
	}
	hmd->hmd_unlinked = true;
	md_me_unlink(hmd->hmd_me, md);
	++hmd->hmd_users_nr;
	m0_home__post_unlock(lnet, M0_HOME_OP_MD_UNLINK,
			     hmd->hmd_slot.hsl_index, &hmd->hmd_unlink);
	return 0;
}

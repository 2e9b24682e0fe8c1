/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Match entries and memory descriptors as the application names them: arguments
 * are checked, slots are taken and records are filled on its thread, the rest is
 * the node's.
 */
#include "front/front_internal.h"

static const unsigned me_flags_all = M0_LNET_ME_UNLINK | M0_LNET_ME_BEFORE |
				     M0_LNET_ME_LAST | M0_LNET_ME_QUEUE;
static const unsigned md_options_all =
	M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET | M0_LNET_MD_MANAGE_REMOTE |
	M0_LNET_MD_TRUNCATE | M0_LNET_MD_ACK_DISABLE | M0_LNET_MD_MAX_SIZE |
	M0_LNET_MD_NO_TRACK_RESPONSE | M0_LNET_MD_IF_FITS | M0_LNET_MD_MIN_ROOM;

/* --------------------------------------------------------- slots in use -- */

static struct m0_front_me *me_of_slot(struct m0_front_slot *slot)
{
	return slot == NULL ? NULL
			    : container_of(slot, struct m0_front_me, fme_slot);
}

static struct m0_front_md *md_of_slot(struct m0_front_slot *slot)
{
	return slot == NULL ? NULL
			    : container_of(slot, struct m0_front_md, fmd_slot);
}

/* The node has ended it; an event that says so may be on its way. */
static bool is_gone(const struct m0_lnet *lnet, const struct m0_front_me *fme)
{
	return M0_FRONT_GET(
		m0_front__me_record(lnet, fme->fme_slot.fsl_index)->rme_gone);
}

static bool is_ended(const struct m0_lnet *lnet, const struct m0_front_md *fmd)
{
	return M0_FRONT_GET(
		m0_front__md_record(lnet, fmd->fmd_slot.fsl_index)->rmd_ended);
}

/* The ME, if it has not ended. */
static struct m0_front_me *me_find(struct m0_lnet       *lnet,
				   struct m0_lnet_handle handle)
{
	struct m0_front_me *fme =
		me_of_slot(m0_front__slot_find(&lnet->fro_mes, handle));

	if (fme == NULL || fme->fme_unlinked || is_gone(lnet, fme))
		return NULL;
	return fme;
}

struct m0_front_md *m0_front__md_find(struct m0_lnet       *lnet,
				      struct m0_lnet_handle handle)
{
	struct m0_front_md *fmd =
		md_of_slot(m0_front__slot_find(&lnet->fro_mds, handle));

	if (fmd == NULL || fmd->fmd_unlinked || is_ended(lnet, fmd) ||
	    (fmd->fmd_queued && fmd->fmd_me->fme_unlinked))
		return NULL;
	return fmd;
}

/* No slot is free, or no event can be reserved for it: makes slots, or frees those of
 * entries that were delivered by callback. fro_lock. */
static __attribute__((__noinline__)) int slot_make(struct m0_lnet        *lnet,
						   struct m0_front_slots *slots,
						   enum m0_ring_table     table)
{
	if (m0_front__slots_are_full(slots) || slots->fss_free != NULL)
		return m0_front__notified_take(lnet) &&
				       !m0_front__slots_are_full(slots)
			       ? 0
			       : -ENOSPC;
	return m0_front__grow(lnet, slots, table);
}

/*
 * Takes a slot, having it made if need be; fro_lock is held, and released
 * meanwhile. For each message, on both sides: in its callers.
 */
inline int m0_front__slot_take(struct m0_lnet        *lnet,
			       struct m0_front_slots *slots,
			       enum m0_ring_table     table,
			       struct m0_front_slot **ret)
{
	int rc = 0;

	while (rc == 0) {
		if (M0_UNLIKELY(lnet->fro_shut))
			return -ESHUTDOWN;
		*ret = m0_front__slot_get(slots);
		if (M0_LIKELY(*ret != NULL))
			return 0;
		rc = slot_make(lnet, slots, table);
	}
	return rc;
}

/* ------------------------------------------------------------------- ME -- */

static bool me_attr_ok(const struct m0_lnet         *lnet,
		       const struct m0_lnet_me_attr *attr)
{
	return attr->mea_portal != M0_LNET_PORTAL_RESERVED &&
	       attr->mea_portal < lnet->fro_cfg.lc_portals_nr &&
	       (attr->mea_flags & ~me_flags_all) == 0 &&
	       (attr->mea_flags & (M0_LNET_ME_QUEUE | M0_LNET_ME_UNLINK)) !=
		       (M0_LNET_ME_QUEUE | M0_LNET_ME_UNLINK);
}

/* Fills a slot and its record; fro_lock is held. */
static struct m0_front_me *me_new(struct m0_lnet               *lnet,
				  struct m0_front_slot         *slot,
				  const struct m0_lnet_me_attr *attr)
{
	struct m0_front_me *fme = me_of_slot(slot);
	struct m0_ring_me  *record = m0_front__me_record(lnet, slot->fsl_index);

	record->rme_id = attr->mea_id;
	record->rme_portal = attr->mea_portal;
	record->rme_flags = attr->mea_flags;
	record->rme_match_bits = attr->mea_match_bits;
	record->rme_ignore_bits = attr->mea_ignore_bits;
	record->rme_gone = 0;
	fme->fme_users_nr = 1;
	fme->fme_flags = attr->mea_flags;
	fme->fme_unlinked = false;
	fme->fme_md = m0_lnet_handle_none;
	M0_POST_EX(m0_front__me_invariant(fme));
	return fme;
}

int m0_lnet_me_attach(struct m0_lnet *lnet, const struct m0_lnet_me_attr *attr,
		      struct m0_lnet_handle *ret)
{
	struct m0_front_slot *slot;
	struct m0_front_me   *fme;
	int                   rc;

	if (!me_attr_ok(lnet, attr))
		return -EINVAL;
	m0_front__lock(lnet);
	rc = m0_front__slot_take(lnet, &lnet->fro_mes, M0_RING_MES, &slot);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	fme = me_new(lnet, slot, attr);
	*ret = m0_front__handle(slot);
	m0_front__post_unlock(lnet, M0_RING_ME_ATTACH, *ret, &fme->fme_attach);
	return 0;
}

int m0_lnet_me_unlink(struct m0_lnet *lnet, struct m0_lnet_handle me)
{
	struct m0_front_me *fme;
	struct m0_front_md *fmd;

	m0_front__lock(lnet);
	fme = me_find(lnet, me);
	if (fme == NULL) {
		m0_mutex_unlock(&lnet->fro_lock);
		return -ENOENT;
	}
	M0_ASSERT_EX(m0_front__me_invariant(fme));
	fme->fme_unlinked = true;
	fmd = m0_front__md_find(lnet, fme->fme_md);
	if (fmd != NULL)
		fmd->fmd_unlinked = true;
	m0_front__post_unlock(lnet, M0_RING_ME_UNLINK, me, &fme->fme_unlink);
	return 0;
}

/* ------------------------------------------------------------------- MD -- */

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
	    M0_UNLIKELY(M0_FRONT_GET(attr->mda_eq->eq_number) == 0)) {
		int rc = m0_front__eq_number_make(lnet, attr->mda_eq);

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

int m0_front__md_bind_check(struct m0_lnet               *lnet,
			    const struct m0_lnet_md_attr *attr)
{
	return md_attr_check(lnet, attr, false);
}

static void record_fill(struct m0_ring_md            *record,
			const struct m0_lnet_md_attr *attr)
{
	/* A field that is new is missed here (-Wmissing-field-initializers). */
	_Static_assert(sizeof((struct m0_lnet_md_attr){
			       NULL, 0, 0, 0, 0, 0, false, NULL, NULL }) > 0,
		       "copy it, too");

	/* Region 0: front and node share all memory. */
	record->rmd_vec = (uintptr_t)attr->mda_vec;
	record->rmd_segs_nr = 0;
	record->rmd_length = attr->mda_length;
	record->rmd_vec_offset = attr->mda_vec_offset;
	record->rmd_threshold = attr->mda_threshold;
	record->rmd_max_size = attr->mda_max_size;
	record->rmd_options = attr->mda_options;
	record->rmd_auto_unlink = attr->mda_auto_unlink;
	record->rmd_eq = attr->mda_eq == NULL ? 0 : attr->mda_eq->eq_number;
	record->rmd_user = (uintptr_t)attr->mda_user;
	record->rmd_me = M0_RING_NR_NONE;
	record->rmd_ended = 0;
}

/* For each message, as m0_front__slot_take(). */
static inline struct m0_front_md *md_new(struct m0_lnet               *lnet,
					 struct m0_front_slot         *slot,
					 const struct m0_lnet_md_attr *attr)
{
	struct m0_front_md *fmd = md_of_slot(slot);

	record_fill(m0_front__md_record(lnet, slot->fsl_index), attr);
	fmd->fmd_users_nr = 1;
	fmd->fmd_unlinked = false;
	fmd->fmd_queued = false;
	fmd->fmd_me = NULL;
	fmd->fmd_length = attr->mda_length;
	fmd->fmd_eq = attr->mda_eq;
	fmd->fmd_segs = NULL;
	if (attr->mda_eq != NULL)
		++attr->mda_eq->eq_users_nr;
	M0_POST_EX(m0_front__md_invariant(fmd));
	return fmd;
}

/* For each message: in its callers. */
inline int m0_front__md_make(struct m0_lnet *lnet, struct m0_front_slot *slot,
			     const struct m0_lnet_md_attr *attr,
			     struct m0_front_md          **ret)
{
	int rc = 0;

	*ret = md_new(lnet, slot, attr);
	if (M0_UNLIKELY(lnet->fro_node == NULL) && attr->mda_vec != NULL)
		rc = m0_front__segs_fill(lnet, *ret, attr->mda_vec);
	if (rc != 0)
		m0_front__md_put(lnet, *ret);
	return rc;
}

static bool me_is_queue(const struct m0_front_me *fme)
{
	return (fme->fme_flags & M0_LNET_ME_QUEUE) != 0;
}

/* May such an MD be put on it? fro_lock is held. */
static int me_takes(struct m0_lnet *lnet, const struct m0_front_me *fme,
		    const struct m0_lnet_md_attr *attr)
{
	if (fme == NULL)
		return -ENOENT;
	if (me_is_queue(fme))
		return attr->mda_auto_unlink ? 0 : -EINVAL;
	return m0_front__md_find(lnet, fme->fme_md) != NULL ? -EBUSY : 0;
}

static void md_names_me(struct m0_lnet *lnet, struct m0_front_md *fmd,
			struct m0_front_me *fme)
{
	struct m0_ring_md *record =
		m0_front__md_record(lnet, fmd->fmd_slot.fsl_index);

	M0_PRE_EX(fmd->fmd_me == NULL && m0_front__me_invariant(fme));
	fmd->fmd_me = fme;
	record->rmd_me = fme->fme_slot.fsl_index;
	record->rmd_me_gen = fme->fme_slot.fsl_gen;
}

/* Counts the one for the other; fro_lock is held. @return how to attach it. */
static enum m0_ring_opcode md_on_me(struct m0_lnet     *lnet,
				    struct m0_front_md *fmd,
				    struct m0_front_me *fme)
{
	md_names_me(lnet, fmd, fme);
	if (!me_is_queue(fme)) {
		fme->fme_md = m0_front__handle(&fmd->fmd_slot);
		return M0_RING_MD_ATTACH;
	}
	++fme->fme_users_nr;
	fmd->fmd_queued = true;
	return M0_RING_QUEUE_ATTACH;
}

int m0_lnet_md_attach(struct m0_lnet *lnet, struct m0_lnet_handle me,
		      const struct m0_lnet_md_attr *attr,
		      struct m0_lnet_handle        *ret)
{
	struct m0_front_slot *slot;
	struct m0_front_me   *fme;
	struct m0_front_md   *fmd;
	enum m0_ring_opcode   opcode;
	int                   rc;

	rc = md_attr_check(lnet, attr, true);
	if (rc != 0)
		return rc;
	m0_front__lock(lnet);
	rc = m0_front__slot_take(lnet, &lnet->fro_mds, M0_RING_MDS, &slot);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	/* Only now: taking a slot releases the lock. */
	fme = me_find(lnet, me);
	rc = me_takes(lnet, fme, attr);
	if (rc != 0) {
		m0_front__slot_put(&lnet->fro_mds, slot);
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	rc = m0_front__md_make(lnet, slot, attr, &fmd);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	opcode = md_on_me(lnet, fmd, fme);
	*ret = m0_front__handle(slot);
	m0_front__post_unlock(lnet, opcode, *ret, &fmd->fmd_attach);
	return 0;
}

/* Takes a slot for each; fro_lock is held. */
static int entry_slots(struct m0_lnet *lnet, struct m0_front_slot **me,
		       struct m0_front_slot **md)
{
	int rc = m0_front__slot_take(lnet, &lnet->fro_mes, M0_RING_MES, me);

	if (rc != 0)
		return rc;
	rc = m0_front__slot_take(lnet, &lnet->fro_mds, M0_RING_MDS, md);
	if (rc != 0)
		m0_front__slot_put(&lnet->fro_mes, *me);
	return rc;
}

int m0_lnet_entry_attach(struct m0_lnet               *lnet,
			 const struct m0_lnet_me_attr *me_attr,
			 const struct m0_lnet_md_attr *md_attr,
			 struct m0_lnet_handle        *ret)
{
	struct m0_front_slot *me;
	struct m0_front_slot *md;
	struct m0_front_md   *fmd;
	int                   rc;

	M0_PRE((me_attr->mea_flags & M0_LNET_ME_UNLINK) != 0);
	if (!me_attr_ok(lnet, me_attr))
		return -EINVAL;
	rc = md_attr_check(lnet, md_attr, true);
	if (rc != 0)
		return rc;
	m0_front__lock(lnet);
	rc = entry_slots(lnet, &me, &md);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	rc = m0_front__md_make(lnet, md, md_attr, &fmd);
	if (rc != 0) {
		m0_front__slot_put(&lnet->fro_mes, me);
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	md_names_me(lnet, fmd, me_new(lnet, me, me_attr));
	*ret = m0_front__handle(md);
	fmd->fmd_me->fme_md = *ret;
	m0_front__post_unlock(lnet, M0_RING_ENTRY_ATTACH, *ret,
			      &fmd->fmd_attach);
	return 0;
}

int m0_lnet_md_bind(struct m0_lnet *lnet, const struct m0_lnet_md_attr *attr,
		    struct m0_lnet_handle *ret)
{
	struct m0_front_slot *slot;
	struct m0_front_md   *fmd;
	int                   rc;

	rc = m0_front__md_bind_check(lnet, attr);
	if (rc != 0)
		return rc;
	m0_front__lock(lnet);
	rc = m0_front__slot_take(lnet, &lnet->fro_mds, M0_RING_MDS, &slot);
	if (rc == 0)
		rc = m0_front__md_make(lnet, slot, attr, &fmd);
	if (rc != 0) {
		m0_mutex_unlock(&lnet->fro_lock);
		return rc;
	}
	*ret = m0_front__handle(slot);
	m0_front__post_unlock(lnet, M0_RING_MD_ATTACH, *ret, &fmd->fmd_attach);
	return 0;
}

/*
 * Ends the entry with its MD, if it is to. The MD may be used up: then its entry
 * has ended before it, and another one may have that slot.
 */
static void md_me_unlink(struct m0_front_me *fme, struct m0_lnet_handle md)
{
	if (fme != NULL && fme->fme_md.lh_slot == md.lh_slot &&
	    fme->fme_md.lh_gen == md.lh_gen &&
	    (fme->fme_flags & M0_LNET_ME_UNLINK) != 0)
		fme->fme_unlinked = true;
}

int m0_lnet_md_unlink(struct m0_lnet *lnet, struct m0_lnet_handle md)
{
	struct m0_front_md *fmd;

	m0_front__lock(lnet);
	fmd = m0_front__md_find(lnet, md);
	if (fmd == NULL) {
		m0_mutex_unlock(&lnet->fro_lock);
		return -ENOENT;
	}
	M0_ASSERT_EX(m0_front__md_invariant(fmd));
	fmd->fmd_unlinked = true;
	md_me_unlink(fmd->fmd_me, md);
	m0_front__post_unlock(lnet, M0_RING_MD_UNLINK, md, &fmd->fmd_unlink);
	return 0;
}

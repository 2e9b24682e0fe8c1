/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Portals find the MD that a message is for.
 *
 * Only entries that can match are searched: those with an MD that is not used
 * up. Each entry has a number as its order in its class, so that it returns to
 * its position when it gets another MD. Entries with ignore bits form a list.
 * Entries without are found by their match bits; those of the same bits form a
 * ring, of which the first is in the table.
 *
 * An entry that is a queue has many MDs, and is searched from the first on.
 * Taking an MD off it, or adding one at its end, changes nothing but its list.
 */
#include "lnet/lnet_internal.h"

static struct m0_lnet_portal *portal_of(const struct m0_lnet_engine *eng,
					const struct m0_lnet_me     *me)
{
	M0_PRE(me->me_attr.mea_portal < eng->le_cfg.lec_portals_nr);
	return &eng->le_portals[me->me_attr.mea_portal];
}

static struct m0_lnet_me *link_me(const struct m0_list_link *link)
{
	return container_of(link, struct m0_lnet_me, me_link);
}

static struct m0_lnet_md *link_md(const struct m0_list_link *link)
{
	return container_of(link, struct m0_lnet_md, md_on_me);
}

static bool is_queue(const struct m0_lnet_me *me)
{
	return (me->me_attr.mea_flags & M0_LNET_ME_QUEUE) != 0;
}

static bool is_own(const struct m0_lnet_me *me)
{
	return me->me_attr.mea_portal == M0_LNET_PORTAL_RESERVED;
}

int m0_lnet__portals_init(struct m0_lnet_engine *eng)
{
	unsigned nr = eng->le_cfg.lec_portals_nr;
	unsigned i;

	M0_PRE(nr > 0);
	M0_ALLOC_ARR(eng->le_portals, nr);
	if (eng->le_portals == NULL)
		return -ENOMEM;
	for (i = 0; i < nr; ++i) {
		m0_list_init(&eng->le_portals[i].lpt_wild);
		m0_hash_init(&eng->le_portals[i].lpt_exact);
	}
	return 0;
}

void m0_lnet__portals_fini(struct m0_lnet_engine *eng)
{
	unsigned i;

	for (i = 0; i < eng->le_cfg.lec_portals_nr; ++i) {
		m0_list_fini(&eng->le_portals[i].lpt_wild);
		m0_hash_fini(&eng->le_portals[i].lpt_exact);
	}
	m0_free0(&eng->le_portals);
}

/* ------------------------------------------------------- what is searched -- */

/*
 * Inserts after the last entry that comes before it, which most often is the
 * last of all.
 */
static void wild_show(struct m0_lnet_portal *portal, struct m0_lnet_me *me)
{
	struct m0_list_link *pos = portal->lpt_wild.l_head.ll_prev;

	M0_PRE(me->me_attr.mea_ignore_bits != 0);
	while (pos != &portal->lpt_wild.l_head &&
	       link_me(pos)->me_order > me->me_order)
		pos = pos->ll_prev;
	m0_list_add_after(pos, &me->me_link);
}

static struct m0_lnet_me *ring_find(struct m0_lnet_portal *portal,
				    uint64_t               bits)
{
	struct m0_lnet_me   *head = portal->lpt_recent;
	struct m0_hash_link *link;

	if (head != NULL && head->me_attr.mea_match_bits == bits)
		return head;
	link = m0_hash_find64(&portal->lpt_exact, bits);
	if (link == NULL)
		return NULL;
	head = container_of(link, struct m0_lnet_me, me_hash);
	M0_POST_EX(head->me_is_head);
	portal->lpt_recent = head;
	return head;
}

/* Replaces `head` by `me` in the table. */
static void ring_head(struct m0_lnet_portal *portal, struct m0_lnet_me *head,
		      struct m0_lnet_me *me)
{
	M0_PRE(head->me_is_head && !me->me_is_head);
	m0_hash_replace(&portal->lpt_exact, &head->me_hash, &me->me_hash,
			&me->me_attr.mea_match_bits);
	head->me_is_head = false;
	me->me_is_head = true;
	portal->lpt_recent = me;
}

static int exact_show(struct m0_lnet_portal *portal, struct m0_lnet_me *me)
{
	struct m0_lnet_me   *head;
	struct m0_list_link *pos;
	int                  rc;

	M0_PRE(me->me_attr.mea_ignore_bits == 0 && !me->me_is_head);
	rc = m0_hash_keep(&portal->lpt_exact);
	if (rc != 0)
		return rc;
	head = ring_find(portal, me->me_attr.mea_match_bits);
	if (head == NULL) {
		rc = m0_hash_add(&portal->lpt_exact, &me->me_hash,
				 &me->me_attr.mea_match_bits,
				 sizeof me->me_attr.mea_match_bits);
		me->me_is_head = rc == 0;
		return rc;
	}
	if (me->me_order < head->me_order) {
		m0_list_add_before(&head->me_link, &me->me_link);
		ring_head(portal, head, me);
		return 0;
	}
	pos = head->me_link.ll_prev;
	while (link_me(pos)->me_order > me->me_order)
		pos = pos->ll_prev;
	m0_list_add_after(pos, &me->me_link);
	return 0;
}

static void exact_hide(struct m0_lnet_portal *portal, struct m0_lnet_me *me)
{
	if (me->me_is_head) {
		if (m0_list_link_is_in(&me->me_link)) {
			ring_head(portal, me, link_me(me->me_link.ll_next));
		} else {
			m0_hash_del(&portal->lpt_exact, &me->me_hash);
			me->me_is_head = false;
			if (portal->lpt_recent == me)
				portal->lpt_recent = NULL;
		}
	}
	m0_list_del(&me->me_link);
	M0_POST(!me->me_is_head);
}

static int me_show(struct m0_lnet_engine *eng, struct m0_lnet_me *me)
{
	struct m0_lnet_portal *portal = portal_of(eng, me);
	int                    rc = 0;

	M0_PRE(me->me_state == M0_LNET_ME_NEW);
	if (me->me_attr.mea_ignore_bits != 0)
		wild_show(portal, me);
	else
		rc = exact_show(portal, me);
	if (rc == 0)
		me->me_state = M0_LNET_ME_LINKED;
	return rc;
}

void m0_lnet__me_hide(struct m0_lnet_engine *eng, struct m0_lnet_me *me)
{
	if (me->me_state != M0_LNET_ME_LINKED)
		return;
	if (me->me_attr.mea_ignore_bits != 0)
		m0_list_del(&me->me_link);
	else
		exact_hide(portal_of(eng, me), me);
	me->me_state = M0_LNET_ME_NEW;
	M0_POST(!m0_list_link_is_in(&me->me_link));
}

/* --------------------------------------------------------- entries, MDs -- */

static enum m0_lnet_portal_kind kind_of(const struct m0_lnet_me_attr *attr)
{
	return attr->mea_ignore_bits == 0 &&
			       !m0_lnet_nid_is_any(&attr->mea_id.lp_nid) &&
			       attr->mea_id.lp_pid != M0_LNET_PID_ANY
		       ? M0_LNET_PORTAL_UNIQUE
		       : M0_LNET_PORTAL_WILDCARD;
}

static int64_t me_place(struct m0_lnet_portal *portal, unsigned flags)
{
	if ((flags & M0_LNET_ME_LAST) != 0)
		return INT64_MAX - ((flags & M0_LNET_ME_BEFORE) != 0);
	return (flags & M0_LNET_ME_BEFORE) != 0 ? --portal->lpt_order_low
						: ++portal->lpt_order_high;
}

void m0_lnet_engine_me_attach(struct m0_lnet_engine *eng, struct m0_lnet_me *me)
{
	struct m0_lnet_portal   *portal = portal_of(eng, me);
	enum m0_lnet_portal_kind kind = kind_of(&me->me_attr);

	if (portal->lpt_kind == M0_LNET_PORTAL_NEW)
		portal->lpt_kind = kind;
	me->me_state = portal->lpt_kind == kind ? M0_LNET_ME_NEW
						: M0_LNET_ME_BARRED;
	m0_list_init(&me->me_mds);
	me->me_is_head = false;
	me->me_any_nid = m0_lnet_nid_is_any(&me->me_attr.mea_id.lp_nid);
	me->me_order = me_place(portal, me->me_attr.mea_flags);
	m0_list_link_init(&me->me_link);
	m0_list_link_init(&me->me_all);
	if (is_own(me))
		return;
	m0_list_add_tail(&eng->le_mes, &me->me_all);
	++eng->le_busy_nr;
}

static void me_gone(struct m0_lnet_engine *eng, struct m0_lnet_me *me)
{
	M0_PRE(me->me_state != M0_LNET_ME_GONE);
	m0_lnet__me_hide(eng, me);
	me->me_state = M0_LNET_ME_GONE;
	if (is_own(me))
		return;
	m0_list_del(&me->me_all);
	M0_ASSERT(eng->le_busy_nr > 0);
	--eng->le_busy_nr;
	eng->le_cfg.lec_owner_ops->ho_me_gone(eng->le_cfg.lec_owner, me);
}

/*
 * The MDs of a queue are used in turn, each from cold memory. Prefetches the
 * fields of the first MD that the next message changes, and the MD after it.
 */
static void queue_prefetch(const struct m0_lnet_me *me)
{
	const struct m0_list_link *first = me->me_mds.l_head.ll_next;
	const struct m0_lnet_md   *md;

	if (first == &me->me_mds.l_head)
		return;
	md = link_md(first);
	__builtin_prefetch(&md->md_attr, 1);
	__builtin_prefetch(&md->md_threshold, 1);
	__builtin_prefetch(&md->md_link, 1);
	__builtin_prefetch(first->ll_next, 1);
}

void m0_lnet__md_detach(struct m0_lnet_engine *eng, struct m0_lnet_md *md)
{
	struct m0_lnet_me *me = md->md_me;

	if (me == NULL)
		return;
	M0_ASSERT_EX(m0_list_link_is_in(&md->md_on_me));
	md->md_me = NULL;
	m0_list_del(&md->md_on_me);
	if (M0_LIKELY(is_queue(me))) {
		queue_prefetch(me);
		return;
	}
	m0_lnet__me_hide(eng, me);
	if ((me->me_attr.mea_flags & M0_LNET_ME_UNLINK) != 0)
		me_gone(eng, me);
}

void m0_lnet_engine_me_unlink(struct m0_lnet_engine *eng, struct m0_lnet_me *me)
{
	struct m0_list       mds;
	struct m0_list_link *link;

	if (me->me_state == M0_LNET_ME_GONE)
		return;
	/* After me_gone() the owner may reuse the ME. */
	m0_list_init(&mds);
	m0_list_splice_tail(&mds, &me->me_mds);
	m0_list_for_each(&mds, link)
		link_md(link)->md_me = NULL;
	me_gone(eng, me);
	while ((link = m0_list_first(&mds)) != NULL) {
		m0_list_del(link);
		m0_lnet_engine_md_unlink(eng, link_md(link));
	}
	m0_list_fini(&mds);
}

static int attach(struct m0_lnet_engine *eng, struct m0_lnet_me *me,
		  const struct m0_lnet_md *md)
{
	if (me == NULL || me->me_state == M0_LNET_ME_GONE)
		return -ENOENT;
	if (eng->le_shutdown && !m0_lnet__md_is_own(md))
		return -ESHUTDOWN;
	if (me->me_state == M0_LNET_ME_BARRED)
		return -EPERM;
	if (!is_queue(me) && !m0_list_is_empty(&me->me_mds))
		return -EBUSY;
	return me->me_state == M0_LNET_ME_LINKED || m0_lnet__md_is_exhausted(md)
		       ? 0
		       : me_show(eng, me);
}

static void md_add(struct m0_lnet_me *me, struct m0_lnet_md *md)
{
	M0_PRE_EX(md->md_me == NULL && !md->md_dead);
	md->md_me = me;
	m0_list_add_tail(&me->me_mds, &md->md_on_me);
}

/* Attaches an MD to an entry that is not searched yet, or refuses it. */
static __attribute__((__noinline__)) void md_add_first(
	struct m0_lnet_engine *eng, struct m0_lnet_me *me,
	struct m0_lnet_md *md)
{
	int rc = attach(eng, me, md);

	M0_PRE(!md->md_ended);
	if (rc == 0) {
		md_add(me, md);
		return;
	}
	if (rc != -ENOENT && rc != -EBUSY &&
	    (me->me_attr.mea_flags & M0_LNET_ME_UNLINK) != 0)
		me_gone(eng, me);
	m0_lnet__md_end(eng, md, rc);
}

void m0_lnet_engine_md_attach(struct m0_lnet_engine *eng, struct m0_lnet_me *me,
			      struct m0_lnet_md *md)
{
	m0_lnet__md_init(eng, md);
	if (M0_LIKELY(me != NULL && me->me_state == M0_LNET_ME_LINKED &&
		      is_queue(me) && !eng->le_shutdown))
		md_add(me, md);
	else
		md_add_first(eng, me, md);
}

void m0_lnet_engine_lazy_set(struct m0_lnet_engine *eng, uint32_t portal,
			     bool lazy)
{
	struct m0_lnet_portal *at;

	M0_PRE(portal < eng->le_cfg.lec_portals_nr);
	at = &eng->le_portals[portal];
	at->lpt_lazy_nr += lazy && !at->lpt_lazy;
	at->lpt_lazy = lazy;
}

bool m0_lnet__portal_is_lazy(const struct m0_lnet_engine *eng, uint32_t portal,
			     uint64_t *since)
{
	const struct m0_lnet_portal *at;

	if (portal >= eng->le_cfg.lec_portals_nr ||
	    (eng->le_shutdown && portal != M0_LNET_PORTAL_RESERVED))
		return false;
	at = &eng->le_portals[portal];
	if (!at->lpt_lazy)
		return false;
	if (*since == 0)
		*since = at->lpt_lazy_nr;
	return *since == at->lpt_lazy_nr;
}

/* --------------------------------------------------------------- matching -- */

/*
 * Returns how many of `wanted` bytes the MD takes at `offset`; more than
 * `wanted`: none. Peers may have sent both, so nothing goes beyond the MD or
 * the size of a message.
 */
static m0_bcount_t room(const struct m0_lnet_md *md, m0_bcount_t offset,
			m0_bcount_t wanted)
{
	const struct m0_lnet_md_attr *attr = &md->md_attr;
	m0_bcount_t                   there = 0;

	if (offset < attr->mda_length)
		there = min64u(attr->mda_length - offset, M0_LNET_PAYLOAD_MAX);
	if ((attr->mda_options & M0_LNET_MD_MAX_SIZE) != 0)
		there = min64u(there, attr->mda_max_size);
	if (wanted <= there)
		return wanted;
	return (attr->mda_options & M0_LNET_MD_TRUNCATE) != 0 ? there
							      : wanted + 1;
}

static m0_bcount_t md_place(const struct m0_lnet_md  *md,
			    const struct m0_lnet_msg *msg)
{
	return (md->md_attr.mda_options & M0_LNET_MD_MANAGE_REMOTE) != 0
		       ? msg->msg_hdr.lhd_offset
		       : md->md_local_offset;
}

/* With more bytes than msg_rlength the message does not fit. */
static bool msg_fits(const struct m0_lnet_msg *msg)
{
	return msg->msg_payload.lpy_bytes <= msg->msg_rlength;
}

/*
 * Computes the space of the message in the MD. @return false: the MD is for
 * messages that fit, and this one does not.
 */
static inline bool md_wants(const struct m0_lnet_md *md,
			    struct m0_lnet_msg      *msg)
{
	msg->msg_md_offset = md_place(md, msg);
	msg->msg_payload.lpy_bytes =
		room(md, msg->msg_md_offset, msg->msg_rlength);
	return msg_fits(msg) ||
	       (md->md_attr.mda_options & M0_LNET_MD_IF_FITS) == 0;
}

static bool me_is_for(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_me     *me,
		      const struct m0_lnet_msg    *msg)
{
	const struct m0_lnet_process_id *id = &me->me_attr.mea_id;

	return (id->lp_pid == M0_LNET_PID_ANY ||
		id->lp_pid == msg->msg_hdr.lhd_src_pid) &&
	       (me->me_any_nid ||
		m0_lnet_nid_eq(&id->lp_nid, &msg->msg_rx.mrx_primary) ||
		m0_lnet__peer_same(eng, &id->lp_nid, &msg->msg_rx.mrx_primary));
}

/* Finds the MD of an entry whose match bits fit, and the space in it. */
static inline __attribute__((always_inline)) struct m0_lnet_md *me_match(
	const struct m0_lnet_engine *eng, const struct m0_lnet_me *me,
	struct m0_lnet_msg *msg, unsigned op)
{
	struct m0_list_link *pos;
	struct m0_lnet_md   *md;

	if (!me_is_for(eng, me, msg))
		return NULL;
	m0_list_for_each(&me->me_mds, pos) {
		md = link_md(pos);
		if (M0_LIKELY((md->md_attr.mda_options & op) != 0 &&
			      md_wants(md, msg)))
			return md;
	}
	return NULL;
}

static __attribute__((__noinline__)) struct m0_lnet_md *wild_match(
	const struct m0_lnet_engine *eng, const struct m0_lnet_portal *portal,
	struct m0_lnet_msg *msg, unsigned op)
{
	uint64_t                      bits = msg->msg_hdr.lhd_match_bits;
	const struct m0_lnet_me_attr *attr;
	struct m0_list_link          *pos;
	struct m0_lnet_md            *md = NULL;

	m0_list_for_each(&portal->lpt_wild, pos) {
		attr = &link_me(pos)->me_attr;
		if (((bits ^ attr->mea_match_bits) & ~attr->mea_ignore_bits) ==
		    0)
			md = me_match(eng, link_me(pos), msg, op);
		if (md != NULL)
			break;
	}
	return md;
}

static struct m0_lnet_md *exact_match(const struct m0_lnet_engine *eng,
				      struct m0_lnet_portal       *portal,
				      struct m0_lnet_msg *msg, unsigned op)
{
	struct m0_lnet_me *head =
		ring_find(portal, msg->msg_hdr.lhd_match_bits);
	struct m0_lnet_me *me = head;
	struct m0_lnet_md *md;

	if (head == NULL)
		return NULL;
	do {
		md = me_match(eng, me, msg, op);
		if (M0_LIKELY(md != NULL))
			return md;
		me = link_me(me->me_link.ll_next);
	} while (me != head);
	return NULL;
}

static enum m0_lnet_match md_take(struct m0_lnet_engine *eng,
				  struct m0_lnet_md     *md,
				  struct m0_lnet_msg    *msg)
{
	const struct m0_lnet_owner_ops *ops = eng->le_cfg.lec_owner_ops;
	uint32_t                        eq = md->md_eq;

	M0_PRE_EX(!md->md_dead && !m0_lnet__md_is_exhausted(md));
	if (!msg_fits(msg))
		return M0_LNET_MATCH_TOO_BIG;
	if (eq != 0 && !ops->ho_eq_room(eng->le_cfg.lec_owner, eq))
		return M0_LNET_MATCH_NO_ROOM;
	M0_ASSERT_EX(msg->msg_payload.lpy_bytes <= M0_LNET_PAYLOAD_MAX);
	md->md_local_offset = msg->msg_md_offset + msg->msg_payload.lpy_bytes;
	if (md->md_threshold > 0)
		--md->md_threshold;
	m0_lnet__payload_set(msg, md, msg->msg_payload.lpy_bytes);
	m0_lnet__md_get(md, msg);
	m0_lnet__md_used(eng, md);
	return M0_LNET_MATCH_OK;
}

static bool is_last(const struct m0_lnet_md *md)
{
	M0_PRE_EX(md->md_me != NULL);
	return (md->md_me->me_attr.mea_flags & M0_LNET_ME_LAST) != 0;
}

bool m0_lnet__is_held(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_hdr *hdr, struct m0_lnd_rx *rx)
{
	const struct m0_lnet_owner_ops *ops = eng->le_cfg.lec_owner_ops;

	return ops->ho_is_held != NULL &&
	       hdr->lhd_portal != M0_LNET_PORTAL_RESERVED &&
	       ops->ho_is_held(eng->le_cfg.lec_owner, hdr->lhd_portal,
			       hdr->lhd_match_bits,
			       &rx->lr_words[M0_LNET__RX_MARK]);
}

enum m0_lnet_match m0_lnet__portal_match(struct m0_lnet_engine *eng,
					 struct m0_lnet_msg *msg, bool last_too)
{
	const struct m0_lnet_hdr *hdr = &msg->msg_hdr;
	bool                      get = hdr->lhd_type == M0_LNET_GET;
	unsigned               op = get ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT;
	struct m0_lnet_portal *portal;
	struct m0_lnet_md     *md;

	M0_PRE_EX(get || hdr->lhd_type == M0_LNET_PUT);
	M0_PRE_EX(msg->msg_md == NULL);
	if (hdr->lhd_portal >= eng->le_cfg.lec_portals_nr)
		return M0_LNET_MATCH_NONE;
	portal = &eng->le_portals[hdr->lhd_portal];
	msg->msg_rlength = get ? hdr->lhd_length : hdr->lhd_payload_bytes;
	md = m0_list_is_empty(&portal->lpt_wild)
		     ? NULL
		     : wild_match(eng, portal, msg, op);
	if (md == NULL)
		md = exact_match(eng, portal, msg, op);
	if (md == NULL)
		return M0_LNET_MATCH_NONE;
	if (M0_UNLIKELY(is_last(md)) && !last_too)
		return M0_LNET_MATCH_LAST;
	return md_take(eng, md, msg);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The life of MDs. An MD ends when it takes nothing new (md_dead) and no
 * operation is in progress: with the event of the last operation, or else with
 * UNLINK.
 */
#include "lnet/lnet_internal.h"

/* Inline: every message passes here on both sides. */
inline void m0_lnet__md_init(struct m0_lnet_engine *eng, struct m0_lnet_md *md)
{
	md->md_me = NULL;
	m0_list_link_init(&md->md_on_me);
	md->md_threshold = md->md_attr.mda_threshold;
	md->md_local_offset = 0;
	md->md_dead = false;
	md->md_aborted = false;
	md->md_ended = false;
	md->md_busy_nr = 0;
	m0_list_init(&md->md_msgs);
	m0_list_link_init(&md->md_link);
	if (m0_lnet__md_is_own(md))
		return;
	m0_list_add_tail(&eng->le_mds, &md->md_link);
	++eng->le_busy_nr;
	M0_POST_EX(m0_lnet__md_invariant(md));
}

int m0_lnet__abort_status(const struct m0_lnet_engine *eng)
{
	return eng->le_shutdown ? -ESHUTDOWN : -ETIMEDOUT;
}

/* Marks the end of an MD whose last event is about to be posted. */
static void ended(struct m0_lnet_engine *eng, struct m0_lnet_md *md)
{
	M0_PRE_EX(md->md_dead && !md->md_ended && md->md_busy_nr == 0);
	md->md_ended = true;
	if (m0_lnet__md_is_own(md))
		return;
	m0_list_del(&md->md_link);
	--eng->le_busy_nr;
}

void m0_lnet__md_end(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		     int status)
{
	struct m0_lnet_event ev = { .ev_type = M0_LNET_EV_UNLINK,
				    .ev_status = status,
				    .ev_unlinked = true };

	M0_PRE(status <= 0);
	M0_PRE(md->md_busy_nr == 0 && !md->md_ended);
	md->md_dead = true;
	ended(eng, md);
	m0_lnet__event_post(eng, md, &ev, NULL);
}

void m0_lnet__md_get(struct m0_lnet_md *md, struct m0_lnet_msg *msg)
{
	M0_PRE_EX(m0_lnet__md_invariant(md) && !md->md_ended);
	M0_PRE_EX(!m0_list_link_is_in(&msg->msg_md_link));
	msg->msg_md = md;
	m0_list_add_tail(&md->md_msgs, &msg->msg_md_link);
	++md->md_busy_nr;
}

void m0_lnet__md_event(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg,
		       struct m0_lnet_event *ev, bool last)
{
	struct m0_lnet_md *md = msg->msg_md;
	bool               ends;

	M0_PRE_EX(md != NULL && m0_lnet__md_invariant(md));
	M0_PRE_EX(m0_list_link_is_in(&msg->msg_md_link));
	M0_PRE_EX(md->md_busy_nr > 0 && !md->md_ended);
	if (last) {
		m0_list_del(&msg->msg_md_link);
		msg->msg_md = NULL;
		--md->md_busy_nr;
	}
	ends = last && md->md_busy_nr == 0 && md->md_dead;
	if (ev != NULL) {
		ev->ev_unlinked = ends;
		if (ends) {
			/* The REPLY to a GET has left whole, and the peer has
			 * it. */
			if (md->md_aborted && ev->ev_status == 0 &&
			    ev->ev_type != M0_LNET_EV_GET)
				ev->ev_status = m0_lnet__abort_status(eng);
			ended(eng, md);
		}
		m0_lnet__event_post(eng, md, ev, msg);
	} else if (ends) {
		m0_lnet__md_end(eng, md, 0);
	}
	if (last)
		m0_lnet__msg_put(msg);
}

bool m0_lnet__md_is_exhausted(const struct m0_lnet_md *md)
{
	return md->md_threshold == 0 ||
	       ((md->md_attr.mda_options &
		 (M0_LNET_MD_MAX_SIZE | M0_LNET_MD_MIN_ROOM)) != 0 &&
		md->md_local_offset + md->md_attr.mda_max_size >
			md->md_attr.mda_length);
}

/*
 * Ends the waits for responses to an MD that is used up; the responses will be
 * dropped. Not inline, because few messages need it.
 */
static __attribute__((__noinline__)) void waits_end(struct m0_lnet_engine *eng,
						    struct m0_lnet_md     *md)
{
	struct m0_list_link *pos;
	struct m0_list_link *next;
	struct m0_lnet_msg  *msg;

	M0_PRE(m0_lnet__md_is_exhausted(md));
	m0_list_for_each_safe(&md->md_msgs, pos, next) {
		msg = m0_list_entry(pos, struct m0_lnet_msg, msg_md_link);
		if (msg->msg_op.mop_waits)
			eng->le_hooks->lhk_wait_end(msg);
	}
}

void m0_lnet__md_used(struct m0_lnet_engine *eng, struct m0_lnet_md *md)
{
	if (M0_LIKELY(!m0_lnet__md_is_exhausted(md)))
		return;
	if (md->md_attr.mda_auto_unlink)
		md->md_dead = true;
	if (md->md_me == NULL) {
		/* Other operations than the one that used the MD up. */
		if (md->md_busy_nr > 1)
			waits_end(eng, md);
	} else if (md->md_attr.mda_auto_unlink) {
		m0_lnet__md_detach(eng, md);
	} else {
		m0_lnet__me_hide(eng, md->md_me);
	}
}

void m0_lnet_engine_md_bind(struct m0_lnet_engine *eng, struct m0_lnet_md *md)
{
	m0_lnet__md_init(eng, md);
	if (eng->le_shutdown && !m0_lnet__md_is_own(md))
		m0_lnet__md_end(eng, md, -ESHUTDOWN);
}

/*
 * Aborts the operations of the MD. Those that the driver or a queue has
 * complete later.
 */
static void msgs_abort(struct m0_lnet_engine *eng, struct m0_lnet_md *md)
{
	struct m0_list       todo;
	struct m0_list_link *link;
	struct m0_lnet_msg  *msg;

	M0_PRE(md->md_aborted && md->md_busy_nr > 0);
	/* An operation may end during its turn, and none may be visited
	 * twice. */
	m0_list_init(&todo);
	m0_list_splice_tail(&todo, &md->md_msgs);
	while ((link = m0_list_first(&todo)) != NULL) {
		m0_list_move_tail(&md->md_msgs, link);
		msg = m0_list_entry(link, struct m0_lnet_msg, msg_md_link);
		eng->le_hooks->lhk_abort(msg);
	}
}

void m0_lnet_engine_md_unlink(struct m0_lnet_engine *eng, struct m0_lnet_md *md)
{
	M0_PRE_EX(m0_lnet__md_invariant(md));
	if (md->md_ended || md->md_aborted)
		return;
	md->md_aborted = true;
	md->md_dead = true;
	m0_lnet__md_detach(eng, md);
	M0_ASSERT_EX(md->md_me == NULL);
	if (md->md_busy_nr == 0)
		m0_lnet__md_end(eng, md, 0);
	else
		msgs_abort(eng, md);
}

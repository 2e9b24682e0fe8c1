/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages. Of lc_msgs_max, an eighth is kept for each side: neither what peers
 * send nor what the application does can take the last from the other. Some of
 * the eighth for peers stay with the strand when they are done with, so that it
 * gets the next without hm_lock.
 */
#include "home/home_internal.h"

enum {
	SPARES_MAX = 128
};

void m0_home__msgs_share(struct m0_lnet *lnet)
{
	unsigned kept_nr = (lnet->hm_cfg.lc_msgs_max + 7) / 8;

	lnet->hm_share_max = lnet->hm_cfg.lc_msgs_max - kept_nr;
	lnet->hm_node.hno_spares_max = min_check(kept_nr, (unsigned)SPARES_MAX);
}

static struct m0_home_msg *msg_of_slot(struct m0_home_slot *slot, bool own)
{
	struct m0_home_msg *hms =
		container_of(slot, struct m0_home_msg, hms_slot);

	hms->hms_own = own;
	hms->hms_users_nr = 1;
	hms->hms_ended = false;
	hms->hms_posted_nr = 0;
	hms->hms_msg.msg_event[0] = &hms->hms_event[0].hev_event;
	hms->hms_msg.msg_event[1] = &hms->hms_event[1].hev_event;
	return hms;
}

static struct m0_home_msg *spare_get(struct m0_lnet *lnet)
{
	struct m0_home_slot *slot = lnet->hm_node.hno_spares;

	if (slot == NULL)
		return NULL;
	M0_ASSERT_EX(lnet->hm_node.hno_spares_nr > 0);
	lnet->hm_node.hno_spares = slot->hsl_next;
	--lnet->hm_node.hno_spares_nr;
	return msg_of_slot(slot, false);
}

/*
 * hm_lock is held: events of it may be with the application. Who starves asks
 * again only if it is put.
 */
static bool spare_put(struct m0_lnet *lnet, struct m0_home_msg *hms)
{
	if (hms->hms_own || hms->hms_users_nr > 1 || lnet->hm_starved ||
	    lnet->hm_node.hno_spares_nr >= lnet->hm_node.hno_spares_max)
		return false;
	m0_home__slot_spoil(&lnet->hm_msgs, &hms->hms_slot);
	hms->hms_slot.hsl_next = lnet->hm_node.hno_spares;
	lnet->hm_node.hno_spares = &hms->hms_slot;
	++lnet->hm_node.hno_spares_nr;
	return true;
}

struct m0_home_msg *m0_home__msg_get(struct m0_lnet *lnet, bool own, bool *grow)
{
	struct m0_home_slots *slots = &lnet->hm_msgs;
	unsigned              own_nr = lnet->hm_msgs_own_nr;
	unsigned              nr = own ? own_nr : slots->hss_used_nr - own_nr;
	struct m0_home_slot  *slot;

	*grow = false;
	if (nr >= lnet->hm_share_max || m0_home__slots_are_full(slots))
		return NULL;
	slot = m0_home__slot_get(slots);
	*grow = slot == NULL;
	if (slot == NULL)
		return NULL;
	if (own)
		++lnet->hm_msgs_own_nr;
	return msg_of_slot(slot, own);
}

bool m0_home__msg_put(struct m0_lnet *lnet, struct m0_home_msg *hms)
{
	bool wake;

	M0_PRE(hms->hms_users_nr > 0);
	if (--hms->hms_users_nr > 0)
		return false;
	if (hms->hms_own) {
		M0_ASSERT_EX(lnet->hm_msgs_own_nr > 0);
		--lnet->hm_msgs_own_nr;
	}
	m0_home__slot_put(&lnet->hm_msgs, &hms->hms_slot);
	wake = lnet->hm_starved;
	if (wake)
		M0_HOME_SET(lnet->hm_starved, false);
	return wake;
}

/* -- what the engine asks of the home -------------------------------------- */

/* There is no spare one. */
static __attribute__((noinline)) struct m0_lnet_msg *msg_get_lock(
	struct m0_lnet *lnet)
{
	struct m0_home_msg *hms;
	bool                grow;

	m0_mutex_lock(&lnet->hm_lock);
	do {
		hms = m0_home__msg_get(lnet, false, &grow);
	} while (hms == NULL && grow &&
		 m0_home__grow(lnet, &lnet->hm_msgs) == 0);
	if (hms == NULL)
		M0_HOME_SET(lnet->hm_starved, true);
	m0_mutex_unlock(&lnet->hm_lock);
	return hms == NULL ? NULL : &hms->hms_msg;
}

static struct m0_lnet_msg *home_msg_get(struct m0_lnet_engine *eng)
{
	struct m0_lnet     *lnet = m0_lnet_engine_home(eng);
	struct m0_home_msg *hms = spare_get(lnet);

	return M0_LIKELY(hms != NULL) ? &hms->hms_msg : msg_get_lock(lnet);
}

/* hm_lock is held. */
static inline void msg_end(struct m0_lnet *lnet, struct m0_home_msg *hms)
{
	/* This is a step: its end shall ask for a message again. */
	if (!spare_put(lnet, hms) && m0_home__msg_put(lnet, hms))
		lnet->hm_node.hno_again = true;
}

void m0_home__msg_event_done(struct m0_lnet *lnet, struct m0_home_msg *hms)
{
	M0_PRE_EX(hms->hms_posted_nr > 0);
	if (--hms->hms_posted_nr == 0 && hms->hms_ended)
		msg_end(lnet, hms);
}

static void home_msg_put(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg)
{
	struct m0_lnet     *lnet = m0_lnet_engine_home(eng);
	struct m0_home_msg *hms = m0_home__msg_of(msg);

	hms->hms_ended = true;
	/* Otherwise its last event does it, with hm_lock once for many. */
	if (M0_LIKELY(hms->hms_posted_nr > 0))
		return;
	m0_mutex_lock(&lnet->hm_lock);
	msg_end(lnet, hms);
	m0_mutex_unlock(&lnet->hm_lock);
}

/* The record of an event, whose space was reserved. */
static struct m0_home_event *record_of(struct m0_home_md    *hmd,
				       struct m0_home_msg   *hms,
				       struct m0_lnet_event *ev)
{
	if (hms == NULL) {
		hmd->hmd_last.hev_event = *ev;
		return &hmd->hmd_last;
	}
	++hms->hms_posted_nr;
	return container_of(ev, struct m0_home_event, hev_event);
}

static void home_event(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		       struct m0_lnet_event *ev, struct m0_lnet_msg *msg)
{
	struct m0_lnet       *lnet = m0_lnet_engine_home(eng);
	struct m0_home_md    *hmd = m0_home__md_of(md);
	struct m0_home_msg   *hms = msg == NULL ? NULL : m0_home__msg_of(msg);
	struct m0_home_event *record = record_of(hmd, hms, ev);

	record->hev_next = NULL;
	record->hev_eq = md->md_eq;
	record->hev_incoming = hms != NULL && !hms->hms_own;
	record->hev_msg = hms;
	record->hev_md = ev->ev_unlinked ? hmd : NULL;
	*lnet->hm_up.huq_tail = record;
	lnet->hm_up.huq_tail = &record->hev_next;
	if (ev->ev_unlinked)
		M0_HOME_MARK(hmd->hmd_ended);
}

/* Only the strand adds to it. */
static bool home_eq_room(struct m0_lnet_engine *eng, uint32_t number)
{
	struct m0_home_eq *heq =
		m0_home__eq_at(m0_lnet_engine_home(eng), number);
	struct m0_lnet_eq *eq = heq->heq_eq;

	if (eq->eq_callback != NULL)
		return true;
	if (m0_home__eq_queued_nr(heq) < eq->eq_max) {
		__atomic_store_n(&eq->eq_accepted_nr, eq->eq_accepted_nr + 1,
				 __ATOMIC_RELAXED);
		return true;
	}
	__atomic_fetch_add(&eq->eq_dropped_nr, 1, __ATOMIC_RELAXED);
	return false;
}

static void home_me_gone(struct m0_lnet_engine *eng, struct m0_lnet_me *me)
{
	struct m0_lnet    *lnet = m0_lnet_engine_home(eng);
	struct m0_home_me *hme = m0_home__me_of(me);

	M0_HOME_MARK(hme->hme_gone);
	hme->hme_next = lnet->hm_node.hno_gone;
	lnet->hm_node.hno_gone = hme;
}

static void home_probe_done(struct m0_lnet_engine *eng,
			    struct m0_lnet_probe  *probe)
{
	struct m0_lnet *lnet = m0_lnet_engine_home(eng);

	m0_list_add_tail(&lnet->hm_node.hno_probes_done, &probe->pr_link);
}

const struct m0_lnet_home_ops m0_home__ops = {
	.ho_msg_get = home_msg_get,
	.ho_msg_put = home_msg_put,
	.ho_event = home_event,
	.ho_eq_room = home_eq_room,
	.ho_is_behind = m0_home__is_behind,
	.ho_me_gone = home_me_gone,
	.ho_probe_done = home_probe_done,
};

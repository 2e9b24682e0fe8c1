/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Portals and numbers of transfer machines: which of them a process may use, and which
 * process has them. A number belongs to one process of those that a daemon serves. While a portal has a
 * number that is not free, each ME on it must be for one number, and that number claimed by
 * the process of the ME; and a process cannot claim a number while another one has an ME that
 * was attached before. So no ME of a process can match a message for the number of another
 * one. All of it on the node's thread.
 */
#include <stdio.h>

#include "m0/log.h"
#include "serve/serve_internal.h"

enum {
	TMIDS_NR = M0_SHARED_TMID_MAX + 1,
	/** For denied(): the operation is not for one number. */
	TMID_NONE = 4097
};

/* ---------------------------------------------------------------- policy -- */

bool m0_serve_ranges_have(const struct m0_serve_ranges *ranges, uint32_t nr)
{
	const struct m0_serve_range *range = ranges->vrs_ranges;
	const struct m0_serve_range *end = range + ranges->vrs_nr;

	while (range < end && (nr < range->vrg_first || nr > range->vrg_last))
		++range;
	return range < end;
}

static bool have_all(const struct m0_serve_ranges *ranges)
{
	return ranges->vrs_nr == 1 && ranges->vrs_ranges[0].vrg_first == 0 &&
	       ranges->vrs_ranges[0].vrg_last >= M0_SHARED_TMID_MAX;
}

/* Counts a denial; the log has the first one of a process. @return rc */
static int denied(struct m0_serve *srv, int rc, const char *what,
		  uint32_t portal, uint32_t tmid, const char *why)
{
	struct m0_shared_creds creds = { 0, 0, 0 };
	char                   number[32] = "";

	if (srv->srv_denied_nr == 0) {
		(void)srv->srv_side.shs_host->shh_creds(
			srv->srv_side.shs_host_arg, &creds);
		if (tmid <= M0_SHARED_TMID_MAX)
			(void)snprintf(number, sizeof number, ", number %u",
				       tmid);
		m0_log(M0_LOG_WARN,
		       "process %u of user %u: %s on portal %u%s is denied: %s",
		       creds.scr_pid, creds.scr_uid, what, portal, number, why);
	}
	__atomic_store_n(&srv->srv_denied_nr, srv->srv_denied_nr + 1,
			 __ATOMIC_RELAXED);
	return rc;
}

int m0_serve__portal_may(struct m0_serve *srv, const char *what,
			 uint32_t portal)
{
	return m0_serve_ranges_have(&srv->srv_cfg.svg_portals, portal)
		       ? 0
		       : denied(srv, -EACCES, what, portal, TMID_NONE,
				"the policy does not admit the portal");
}

/* -------------------------------------------------------------------- ME -- */

static struct m0_serve_portal *portal_of(const struct m0_serve *srv,
					 uint32_t               portal)
{
	struct m0_serve_tms *tms = srv->srv_cfg.svg_tms;

	return tms == NULL || portal >= M0_SERVE_PORTALS_MAX
		       ? NULL
		       : &tms->vts_portals[portal];
}

/* On a portal with numbers: is the ME for one that the process has claimed? */
static int number_may(struct m0_serve *srv, const struct m0_serve_tmid *tmid,
		      uint32_t portal, uint32_t nr)
{
	if (tmid->vti_owner == srv && tmid->vti_is_claimed)
		return 0;
	return tmid->vti_owner != NULL && tmid->vti_owner != srv
		       ? denied(srv, -EADDRINUSE, "an ME", portal, nr,
				"another process has the number of the "
				"transfer machine")
		       : denied(srv, -EACCES, "an ME", portal, nr,
				"the process has not claimed the number of "
				"the transfer machine");
}

int m0_serve__me_hold(struct m0_serve *srv, struct m0_serve_me *me,
		      const struct m0_lnet_me_attr *attr)
{
	struct m0_serve_portal *portal = portal_of(srv, attr->mea_portal);
	uint32_t nr = (uint32_t)(attr->mea_match_bits >> M0_SHARED_TMID_SHIFT);
	bool     is_one = attr->mea_ignore_bits >> M0_SHARED_TMID_SHIFT == 0;
	int      rc = m0_serve__portal_may(srv, "an ME", attr->mea_portal);

	if (rc != 0)
		return rc;
	if (is_one ? !m0_serve_ranges_have(&srv->srv_cfg.svg_tmids, nr)
		   : !have_all(&srv->srv_cfg.svg_tmids))
		return denied(srv, -EACCES, "an ME", attr->mea_portal,
			      is_one ? nr : TMID_NONE,
			      "the policy does not admit the number of the "
			      "transfer machine");
	if (portal == NULL)
		return 0;
	me->vme_portal = (uint16_t)attr->mea_portal;
	if (portal->vpo_owned_nr == 0) {
		me->vme_hold = M0_SERVE_HOLDS_RAW;
		++portal->vpo_raw_nr;
		++srv->srv_raw_nr[attr->mea_portal];
		return 0;
	}
	if (!is_one)
		return denied(
			srv, -EACCES, "an ME", attr->mea_portal, TMID_NONE,
			"the ME may match the numbers of transfer machines "
			"of other processes");
	rc = number_may(srv, &portal->vpo_tmids[nr], attr->mea_portal, nr);
	if (rc != 0)
		return rc;
	me->vme_hold = M0_SERVE_HOLDS_NUMBER;
	me->vme_tmid = nr;
	++portal->vpo_tmids[nr].vti_mes_nr;
	return 0;
}

/* Is nothing of the number left? Then it is free. */
static void tmid_look(struct m0_serve *srv, uint32_t nr, uint32_t tmid)
{
	struct m0_serve_portal *portal = portal_of(srv, nr);
	struct m0_serve_tmid   *at = &portal->vpo_tmids[tmid];

	if (at->vti_is_claimed || at->vti_mes_nr > 0)
		return;
	M0_ASSERT(at->vti_owner == srv && portal->vpo_owned_nr > 0);
	at->vti_owner = NULL;
	--portal->vpo_owned_nr;
	--srv->srv_owned_nr[nr];
}

void m0_serve__me_unhold(struct m0_serve *srv, struct m0_serve_me *me)
{
	uint32_t                nr = me->vme_portal;
	struct m0_serve_portal *portal = portal_of(srv, nr);

	if (me->vme_hold == M0_SERVE_HOLDS_RAW) {
		M0_ASSERT(portal->vpo_raw_nr > 0 && srv->srv_raw_nr[nr] > 0);
		--portal->vpo_raw_nr;
		--srv->srv_raw_nr[nr];
	} else if (me->vme_hold == M0_SERVE_HOLDS_NUMBER) {
		M0_ASSERT(portal->vpo_tmids[me->vme_tmid].vti_mes_nr > 0);
		if (portal->vpo_tmids[me->vme_tmid].vti_queue == me)
			portal->vpo_tmids[me->vme_tmid].vti_queue = NULL;
		--portal->vpo_tmids[me->vme_tmid].vti_mes_nr;
		tmid_look(srv, nr, me->vme_tmid);
	}
	me->vme_hold = M0_SERVE_HOLDS_NOTHING;
}

bool m0_serve__lazy_may(struct m0_serve *srv, uint32_t portal)
{
	const struct m0_serve_portal *at = portal_of(srv, portal);

	if (m0_serve__portal_may(srv, "LAZY", portal) != 0)
		return false;
	if (at == NULL || at->vpo_owned_nr == srv->srv_owned_nr[portal])
		return true;
	(void)denied(srv, -EACCES, "LAZY", portal, TMID_NONE,
		     "transfer machines of other processes have numbers there");
	return false;
}

/* ----------------------------------------------------------------- claim -- */

/* The highest number that is free and that the process may have. */
static int free_find(const struct m0_serve      *srv,
		     const struct m0_serve_tmid *tmids, uint32_t *ret)
{
	uint32_t nr = TMIDS_NR;

	while (nr-- > 0) {
		if (tmids[nr].vti_owner == NULL &&
		    m0_serve_ranges_have(&srv->srv_cfg.svg_tmids, nr)) {
			*ret = nr;
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

static int claim_check(struct m0_serve *srv, uint32_t portal, uint32_t wanted)
{
	int rc = m0_serve__portal_may(srv, "a transfer machine", portal);

	if (rc != 0)
		return rc;
	return srv->srv_cfg.svg_tmids.vrs_nr == 0 ||
			       (wanted != M0_SHARED_TMID_ANY &&
				!m0_serve_ranges_have(&srv->srv_cfg.svg_tmids,
						      wanted))
		       ? denied(srv, -EACCES, "a transfer machine", portal,
				wanted, "the policy does not admit its number")
		       : 0;
}

int m0_serve__tm_claim(struct m0_serve *srv, uint32_t portal, uint32_t wanted,
		       uint64_t *ret)
{
	struct m0_serve_portal *at = portal_of(srv, portal);
	struct m0_serve_tmid   *tmid;
	uint32_t                nr = wanted;
	int                     rc = 0;

	if (at == NULL)
		return -ENOSYS;
	rc = claim_check(srv, portal, wanted);
	if (rc != 0)
		return rc;
	/* An ME of another process may match any number. */
	if (at->vpo_raw_nr != srv->srv_raw_nr[portal])
		return -EADDRINUSE;
	if (at->vpo_tmids == NULL)
		M0_ALLOC_ARR(at->vpo_tmids, TMIDS_NR);
	if (at->vpo_tmids == NULL)
		return -ENOMEM;
	if (wanted == M0_SHARED_TMID_ANY)
		rc = free_find(srv, at->vpo_tmids, &nr);
	if (rc != 0)
		return rc;
	M0_ASSERT(nr < TMIDS_NR);
	tmid = &at->vpo_tmids[nr];
	if (tmid->vti_is_claimed ||
	    (tmid->vti_owner != NULL && tmid->vti_owner != srv))
		return -EADDRINUSE;
	if (tmid->vti_owner == NULL) {
		tmid->vti_owner = srv;
		++at->vpo_owned_nr;
		++srv->srv_owned_nr[portal];
	}
	tmid->vti_is_claimed = true;
	*ret = nr;
	return 0;
}

int m0_serve__tm_release(struct m0_serve *srv, uint32_t portal, uint32_t nr)
{
	struct m0_serve_portal *at = portal_of(srv, portal);
	struct m0_serve_tmid   *tmid;

	if (at == NULL || at->vpo_tmids == NULL || nr >= TMIDS_NR)
		return -ENOENT;
	tmid = &at->vpo_tmids[nr];
	if (tmid->vti_owner != srv || !tmid->vti_is_claimed)
		return -ENOENT;
	tmid->vti_is_claimed = false;
	tmid_look(srv, portal, nr);
	return 0;
}

/* ---------------------------------------------------------------- direct -- */

void m0_serve__queue_name(struct m0_serve *srv, struct m0_serve_me *me,
			  uint64_t name)
{
	struct m0_serve_tmid *tmid;

	if (me->vme_hold != M0_SERVE_HOLDS_NUMBER ||
	    (me->vme_flags & M0_LNET_ME_QUEUE) == 0)
		return;
	tmid = &portal_of(srv, me->vme_portal)->vpo_tmids[me->vme_tmid];
	M0_ASSERT(tmid->vti_owner == srv);
	/* The first one has MDs that would not be recalled any more. */
	if (tmid->vti_queue != NULL && tmid->vti_queue != me)
		return;
	tmid->vti_queue = name == 0 ? NULL : me;
	tmid->vti_name = name;
}

/* Only a process of the same user: any of them could read and write the other's memory. */
static bool may_meet(const struct m0_serve *one, const struct m0_serve *two)
{
	const struct m0_shared_host *host = one->srv_side.shs_host;
	struct m0_shared_creds       first;
	struct m0_shared_creds       second;

	return host->shh_creds(one->srv_side.shs_host_arg, &first) == 0 &&
	       host->shh_creds(two->srv_side.shs_host_arg, &second) == 0 &&
	       first.scr_uid == second.scr_uid;
}

int m0_serve__tm_find(struct m0_serve *srv, uint32_t portal, uint32_t nr,
		      uint64_t *ret)
{
	const struct m0_serve_portal *at = portal_of(srv, portal);
	const struct m0_serve_tmid   *tmid;

	if (m0_serve__portal_may(srv, "TM_FIND", portal) != 0)
		return -EACCES;
	if (at == NULL || at->vpo_tmids == NULL || nr >= TMIDS_NR)
		return -ENOENT;
	tmid = &at->vpo_tmids[nr];
	if (tmid->vti_queue == NULL || tmid->vti_owner == srv)
		return -ENOENT;
	if (!may_meet(srv, tmid->vti_owner))
		return -EACCES;
	*ret = tmid->vti_name;
	return 0;
}

bool m0_serve__tm_is_named(const struct m0_serve *srv, uint32_t portal,
			   uint64_t bits)
{
	const struct m0_serve_portal *at = portal_of(srv, portal);
	const struct m0_serve_tmid   *tmid;

	if (at == NULL || at->vpo_tmids == NULL)
		return false;
	tmid = &at->vpo_tmids[bits >> M0_SHARED_TMID_SHIFT];
	return tmid->vti_owner == srv && tmid->vti_queue != NULL &&
	       bits << (64 - M0_SHARED_TMID_SHIFT) == 0;
}

/* ------------------------------------------------------------------- end -- */

static void portal_end(struct m0_serve *srv, uint32_t nr)
{
	struct m0_serve_portal *portal = portal_of(srv, nr);
	uint32_t                i;

	portal->vpo_raw_nr -= srv->srv_raw_nr[nr];
	srv->srv_raw_nr[nr] = 0;
	if (srv->srv_owned_nr[nr] == 0)
		return;
	portal->vpo_owned_nr -= srv->srv_owned_nr[nr];
	srv->srv_owned_nr[nr] = 0;
	for (i = 0; i < TMIDS_NR; ++i)
		if (portal->vpo_tmids[i].vti_owner == srv)
			M0_SET0(&portal->vpo_tmids[i]);
}

void m0_serve__tms_end(struct m0_serve *srv)
{
	uint32_t nr;

	if (srv->srv_cfg.svg_tms == NULL)
		return;
	for (nr = 0; nr < M0_SERVE_PORTALS_MAX; ++nr)
		portal_end(srv, nr);
}

void m0_serve_tms_fini(struct m0_serve_tms *tms)
{
	uint32_t portal;

	for (portal = 0; portal < M0_SERVE_PORTALS_MAX; ++portal)
		m0_free0(&tms->vts_portals[portal].vpo_tmids);
}

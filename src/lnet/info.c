/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/flow/select.h"
#include "lnet/policy/policies.h"
#include "lnet/route/route.h"
#include "lnet/route/router.h"

/* -- distance -------------------------------------------------------------- */

/** Position of an NI among those that are not `0@lo`, from 1. */
static uint32_t ni_order(const struct m0_lnet_engine *eng,
			 const struct m0_lnet_ni     *of)
{
	const struct m0_lnd_ni *ni;
	uint32_t                order = 0;
	unsigned                i;

	for (i = 0; (ni = m0_lnet_engine_ni(eng, i)) != NULL; ++i) {
		if (eng->le_lo == NULL || ni != &eng->le_lo->lni_lnd)
			++order;
		if (ni == &of->lni_lnd)
			break;
	}
	return order;
}

/** Finds an NI that reaches any other NID of the peer that has this one. */
static struct m0_lnet_ni *ni_towards(const struct m0_lnet_engine *eng,
				     const struct m0_lnet_nid    *dst)
{
	struct m0_lnet_lpni *lpni = m0_lnet__lpni_find(eng, dst);
	struct m0_lnet_ni   *ni;
	struct m0_list      *all;

	if (lpni == NULL)
		return NULL;
	all = &lpni->lpn_peer->lpe_lpnis;
	m0_list_for_each_entry(all, lpni, struct m0_lnet_lpni, lpn_link) {
		ni = m0_lnet__ni_for(eng, &lpni->lpn_nid);
		if (ni != NULL)
			return ni;
	}
	return NULL;
}

int m0_lnet_engine_dist(const struct m0_lnet_engine *eng,
			const struct m0_lnet_nid *dst, struct m0_lnet_nid *src,
			uint32_t *order)
{
	const struct m0_lnet_ni *ni;
	struct m0_lnet__path     path;
	uint32_t                 hops;
	int                      dist = 0;

	ni = m0_lnet_nid_is_lo(dst) ? eng->le_lo : m0_lnet__ni_find(eng, dst);
	if (ni == NULL) {
		path = m0_lnet__select(
			eng, &(struct m0_lnet__want){ .wnt_nid = dst });
		ni = path.pth_ni != NULL ? path.pth_ni : ni_towards(eng, dst);
		dist = 1;
		if (path.pth_route != NULL) {
			hops = path.pth_route->lrt_attr.lra_hops;
			dist += hops == 0 ? 1 : (int)hops;
		}
	}
	if (ni == NULL)
		return -EHOSTUNREACH;
	if (src != NULL)
		*src = ni->lni_lnd.ldn_nid;
	if (order != NULL)
		*order = ni_order(eng, ni);
	if (order != NULL && ni == eng->le_lo)
		*order = 0;
	return dist;
}

/* -- the picture ----------------------------------------------------------- */

/** Returns the time to the next try of the recovery; 0: there is none. */
static uint64_t try_in_ms(const struct m0_lnet_engine *eng,
			  const struct m0_lnet_timer  *timer)
{
	m0_time_t at;

	/* Zeroed memory is a timer that was never armed. */
	if (timer->ltm_fire == NULL || !m0_timer_is_armed(&timer->ltm_timer))
		return 0;
	at = m0_timer_deadline(&timer->ltm_timer);
	return at <= eng->le_now ? 0 : (at - eng->le_now) / M0_TIME_ONE_MSEC;
}

static void ni_draw(const struct m0_lnet_ni *ni, struct m0_lnet_ni_info *to)
{
	const struct m0_lnd_ni *ln = &ni->lni_lnd;

	to->nii_nid = ln->ldn_nid;
	memcpy(to->nii_device, ln->ldn_device, sizeof to->nii_device);
	to->nii_link_up = m0_lnet__ni_is_usable(ni) && ln->ldn_up;
	to->nii_up = to->nii_link_up && !ni->lni_is_silent && !ni->lni_is_sick;
	to->nii_peer_credits = ln->ldn_peer_credits;
	to->nii_credits = ln->ldn_credits;
	to->nii_credits_free = ni->lni_credits;
	to->nii_credits_low = ni->lni_credits_low;
	to->nii_health = ni->lni_health;
	to->nii_tries_nr = ni->lni_tries_nr;
	to->nii_try_in_ms = try_in_ms(ni->lni_engine, &ni->lni_try_timer);
	to->nii_net_priority = (uint32_t)(ni->lni_policy.nip_priority >> 32);
	to->nii_priority = (uint32_t)ni->lni_policy.nip_priority;
	to->nii_traffic = ni->lni_traffic;
	to->nii_failures = ni->lni_failures;
	to->nii_responses = ni->lni_responses;
	if (ln->ldn_lnd != NULL && m0_lnet__ni_is_usable(ni) &&
	    ln->ldn_lnd->ld_ops->ldo_ni_info != NULL)
		ln->ldn_lnd->ld_ops->ldo_ni_info(ln, &to->nii_lnd);
	to->nii_conns_per_peer = to->nii_lnd.ldi_conns_per_peer;
	to->nii_timeout_ms = to->nii_lnd.ldi_timeout_ms;
}

/** Router credits of a peer NI: those of the NIs on its network. */
static unsigned router_credits(const struct m0_lnet_engine *eng,
			       const struct m0_lnet_lpni   *lpni)
{
	uint32_t                 net = m0_lnet_nid_net(&lpni->lpn_nid);
	const struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (m0_lnet_nid_net(&ni->lni_lnd.ldn_nid) == net)
			return m0_lnet__router_credits(ni);
	return 0;
}

/** Copies the NIDs of the interfaces that are preferred for the peer NI. @return
 * their number. */
static unsigned sources_draw(const struct m0_lnet_engine *eng,
			     const struct m0_lnet_lpni   *lpni,
			     struct m0_lnet_nid          *to)
{
	const struct m0_lnet_ni *ni;
	unsigned                 nr = 0;

	if (lpni->lpn_policy.lpp_prefer == NULL)
		return 0;
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		if (!m0_lnet__prefers_ni(&lpni->lpn_policy, &ni->lni_policy))
			continue;
		if (to != NULL)
			to[nr] = ni->lni_lnd.ldn_nid;
		++nr;
	}
	return nr;
}

/** As sources_draw(), of gateways. */
static unsigned gateways_draw(const struct m0_lnet_engine *eng,
			      const struct m0_lnet_lpni   *lpni,
			      struct m0_lnet_nid          *to)
{
	const struct m0_lnet_gateway *gw;
	unsigned                      nr = 0;

	if (lpni->lpn_policy.lpp_prefer == NULL)
		return 0;
	m0_list_for_each_entry(&m0_lnet__routes(eng)->lrs_gateways, gw,
			       struct m0_lnet_gateway, gw_link) {
		if (!m0_lnet__prefers_gateway(&lpni->lpn_policy, gw->gw_slot))
			continue;
		if (to != NULL)
			to[nr] = gw->gw_lpni->lpn_nid;
		++nr;
	}
	return nr;
}

/** Returns the number of all NIDs that are preferred for peer NIs. */
static size_t preferred_nr(const struct m0_lnet_engine *eng)
{
	const struct m0_lnet_lpni *lpni;
	struct m0_hash_link       *at;
	size_t                     nr = 0;

	for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
	     at = m0_hash_next(at)) {
		lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
		nr += sources_draw(eng, lpni, NULL) +
		      gateways_draw(eng, lpni, NULL);
	}
	return nr;
}

static void preferred_draw(const struct m0_lnet_engine *eng,
			   const struct m0_lnet_lpni   *lpni,
			   struct m0_lnet_peer_ni_info *to,
			   struct m0_lnet_nid          *preferred)
{
	to->pni_preferred = preferred;
	to->pni_sources_nr = sources_draw(eng, lpni, preferred);
	to->pni_gateways_nr =
		gateways_draw(eng, lpni, preferred + to->pni_sources_nr);
}

static void lpni_draw(const struct m0_lnet_engine *eng,
		      const struct m0_lnet_lpni   *lpni,
		      struct m0_lnet_peer_ni_info *to)
{
	unsigned credits = router_credits(eng, lpni);

	to->pni_nid = lpni->lpn_nid;
	to->pni_up = lpni->lpn_known_up;
	to->pni_down = lpni->lpn_known_down;
	to->pni_lost_nr = lpni->lpn_lost_nr;
	to->pni_credits_max = lpni->lpn_credits_max;
	to->pni_credits_free = lpni->lpn_credits;
	to->pni_credits_low = lpni->lpn_credits_low;
	to->pni_queued_bytes = lpni->lpn_queued_bytes;
	to->pni_refs_nr = lpni->lpn_refs_nr;
	to->pni_health = lpni->lpn_health;
	to->pni_tries_nr = lpni->lpn_tries_nr;
	to->pni_try_in_ms = try_in_ms(eng, &lpni->lpn_try_timer);
	to->pni_traffic = lpni->lpn_traffic;
	to->pni_failures = lpni->lpn_failures;
	to->pni_net_priority = lpni->lpn_policy.lpp_net_priority;
	to->pni_priority = lpni->lpn_policy.lpp_priority;
	to->pni_router_credits_free = (int)credits - (int)lpni->lpn_fwds_nr;
	to->pni_router_credits_low = (int)credits - (int)lpni->lpn_fwds_max;
}

/** Fills in one peer, its NIs and the NIDs preferred for them. Moves *nis and
 * *nids behind those. */
static void peer_draw(const struct m0_lnet_engine  *eng,
		      const struct m0_lnet_peer    *peer,
		      struct m0_lnet_peer_info     *to,
		      struct m0_lnet_peer_ni_info **nis,
		      struct m0_lnet_nid          **nids)
{
	struct m0_lnet_peer_ni_info *ni = *nis;
	struct m0_lnet_lpni         *lpni;

	to->pei_primary = peer->lpe_primary;
	to->pei_state = peer->lpe_state;
	to->pei_multi_rail = (peer->lpe_state & M0_LNET_PEER_MULTI_RAIL) != 0;
	to->pei_nis = ni;
	m0_list_for_each_entry(&peer->lpe_lpnis, lpni, struct m0_lnet_lpni,
			       lpn_link) {
		lpni_draw(eng, lpni, ni);
		preferred_draw(eng, lpni, ni, *nids);
		*nids += ni->pni_sources_nr + ni->pni_gateways_nr;
		++ni;
	}
	to->pei_nis_nr = (unsigned)(ni - *nis);
	*nis = ni;
}

static void head_draw(const struct m0_lnet_engine *eng,
		      struct m0_lnet_info *info, size_t nis_nr)
{
	struct m0_lnet_ni *ni;

	info->li_features = m0_lnet__ping_features(eng);
	info->li_pid = eng->le_cfg.lec_pid;
	info->li_seq = eng->le_seq;
	info->li_is_router = m0_lnet__router(eng)->lrr_state ==
			     M0_LNET_ROUTING_ON;
	info->li_nis = (void *)(info + 1);
	info->li_peers = (void *)(info->li_nis + nis_nr);
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		ni_draw(ni, &info->li_nis[info->li_nis_nr++]);
	M0_POST(info->li_nis_nr == nis_nr);
	m0_lnet_engine_stats(eng, &info->li_stats);
}

static void peers_draw(const struct m0_lnet_engine *eng,
		       struct m0_lnet_info         *info,
		       struct m0_lnet_peer_ni_info *peer_nis,
		       struct m0_lnet_nid          *nids)
{
	struct m0_lnet_peer *peer;

	m0_list_for_each_entry(&eng->le_peers, peer, struct m0_lnet_peer,
			       lpe_link)
		peer_draw(eng, peer, &info->li_peers[info->li_peers_nr++],
			  &peer_nis, &nids);
}

int m0_lnet_engine_info(const struct m0_lnet_engine *eng,
			struct m0_lnet_info        **ret)
{
	size_t                       nis_nr = m0_list_length(&eng->le_nis);
	size_t                       peers_nr = eng->le_peers_nr;
	size_t                       peer_nis_nr = m0_hash_nr(&eng->le_lpnis);
	size_t                       nids_nr = preferred_nr(eng);
	struct m0_lnet_info         *info;
	struct m0_lnet_peer_ni_info *peer_nis;

	/* Every part but the last has an alignment of 64 bits. */
	info = m0_alloc(sizeof *info + nis_nr * sizeof *info->li_nis +
			peers_nr * sizeof *info->li_peers +
			peer_nis_nr * sizeof *peer_nis +
			nids_nr * sizeof(struct m0_lnet_nid));
	if (info == NULL)
		return -ENOMEM;
	head_draw(eng, info, nis_nr);
	peer_nis = (void *)(info->li_peers + peers_nr);
	peers_draw(eng, info, peer_nis, (void *)(peer_nis + peer_nis_nr));
	M0_POST(info->li_peers_nr == peers_nr);
	*ret = info;
	return 0;
}

int m0_lnet_engine_info_head(const struct m0_lnet_engine *eng,
			     struct m0_lnet_info        **ret)
{
	size_t               nis_nr = m0_list_length(&eng->le_nis);
	struct m0_lnet_info *info =
		m0_alloc(sizeof *info + nis_nr * sizeof *info->li_nis);

	if (info == NULL)
		return -ENOMEM;
	head_draw(eng, info, nis_nr);
	*ret = info;
	return 0;
}

int m0_lnet_engine_peer_nis(const struct m0_lnet_engine *eng,
			    const struct m0_lnet_nid    *after,
			    struct m0_lnet_peer_ni_row *ret, unsigned max)
{
	const struct m0_lnet_lpni *lpni;
	struct m0_hash_link       *at = m0_hash_first(&eng->le_lpnis);
	unsigned                   nr;

	if (max == 0)
		return (int)m0_hash_nr(&eng->le_lpnis);
	if (!m0_lnet_nid_is_any(after)) {
		lpni = m0_lnet__lpni_find(eng, after);
		if (lpni == NULL)
			return -ENOENT;
		at = m0_hash_next(&lpni->lpn_hash);
	}
	for (nr = 0; at != NULL && nr < max; ++nr, at = m0_hash_next(at)) {
		lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
		ret[nr].pnr_primary = lpni->lpn_peer->lpe_primary;
		ret[nr].pnr_state = lpni->lpn_peer->lpe_state;
		lpni_draw(eng, lpni, &ret[nr].pnr_ni);
	}
	return (int)nr;
}

/* -- counters -------------------------------------------------------------- */

void m0_lnet_engine_stats(const struct m0_lnet_engine *eng,
			  struct m0_lnet_stats        *stats)
{
	*stats = eng->le_stats;
}

const struct m0_lnet_stats *m0_lnet_engine_counters(
	const struct m0_lnet_engine *eng)
{
	return &eng->le_stats;
}

void m0_lnet_engine_stats_reset(struct m0_lnet_engine *eng)
{
	uint64_t             msgs_alloc = eng->le_stats.ls_msgs_alloc;
	uint64_t             rst_alloc = eng->le_stats.ls_rst_alloc;
	struct m0_lnet_ni   *ni;
	struct m0_hash_link *at;
	struct m0_lnet_lpni *lpni;

	M0_SET0(&eng->le_stats);
	/* These are not counts of events, but of what exists now. */
	eng->le_stats.ls_msgs_alloc = msgs_alloc;
	eng->le_stats.ls_rst_alloc = rst_alloc;
	eng->le_stats.ls_msgs_max = msgs_alloc;
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		M0_SET0(&ni->lni_traffic);
		M0_SET0(&ni->lni_failures);
		M0_SET0(&ni->lni_responses);
	}
	for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
	     at = m0_hash_next(at)) {
		lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
		M0_SET0(&lpni->lpn_traffic);
		M0_SET0(&lpni->lpn_failures);
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Explanation of a path: the selection with a list of what it compared, and then
 * the paths that it could not use.
 */
#include <stdio.h>

#include "lnet/flow/select.h"
#include "lnet/policy/rows.h"
#include "lnet/route/route.h"
#include "m0/lnet_explain.h"

/** An explanation in progress. */
struct account {
	const struct m0_lnet_engine *acc_eng;
	struct m0_lnet_nid           acc_dest;
	struct m0_lnet_nid           acc_from;
	/** NULL: the node has no record of the peer. */
	struct m0_lnet_lpni *acc_lpni;
	/** Stands for the record then, with what the rules say of it. */
	struct m0_lnet_lpni   *acc_stranger;
	struct m0_lnet__trials acc_trials;
	/** NULL: paths are only counted. */
	struct m0_lnet_explain *acc_ret;
	unsigned                acc_nr;
};

static bool is_from_any(const struct account *acc)
{
	return m0_lnet_nid_is_any(&acc->acc_from);
}

/** Returns the next path of the list, without reason; NULL: it is only counted. */
static struct m0_lnet_path_info *path_add(struct account             *acc,
					  const struct m0_lnet__path *path)
{
	struct m0_lnet_explain    *ret = acc->acc_ret;
	const struct m0_lnet_ni   *ni = path->pth_ni;
	const struct m0_lnet_lpni *hop = path->pth_lpni;
	bool known = hop != NULL && hop != acc->acc_stranger;
	struct m0_lnet_path_info *info;

	++acc->acc_nr;
	if (ret == NULL)
		return NULL;
	info = &ret->lex_paths[ret->lex_paths_nr++];
	*info = (struct m0_lnet_path_info){
		.lpa_ni = ni == NULL ? m0_lnet_nid_any : ni->lni_lnd.ldn_nid,
		.lpa_hop = hop == NULL ? acc->acc_dest : hop->lpn_nid,
		.lpa_dest = acc->acc_dest,
		.lpa_is_routed = path->pth_route != NULL,
		.lpa_ni_health = ni == NULL ? 0 : ni->lni_health,
		.lpa_ni_credits = ni == NULL ? 0 : ni->lni_credits,
		.lpa_hop_known = known,
		.lpa_compared = true,
		.lpa_rule = -1,
		.lpa_own_rule = -1,
	};
	if (known) {
		info->lpa_hop_health = hop->lpn_health;
		info->lpa_hop_credits = hop->lpn_credits;
		info->lpa_hop_queued_bytes = hop->lpn_queued_bytes;
	}
	if (path->pth_route != NULL)
		info->lpa_route = path->pth_route->lrt_attr;
	if (path->pth_route != NULL && path->pth_dest != NULL)
		info->lpa_dest = path->pth_dest->lpn_nid;
	else if (path->pth_route == NULL && hop != NULL)
		info->lpa_dest = hop->lpn_nid;
	return info;
}

static __attribute__((__format__(printf, 2, 3))) void lost_set(
	struct m0_lnet_path_info *info, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(info->lpa_lost_by, sizeof info->lpa_lost_by, format,
			args);
	va_end(args);
}

/** Adds a path that is not compared, with the reason. */
static void unused_add(struct account *acc, const struct m0_lnet__path *path,
		       const char *why)
{
	struct m0_lnet_path_info *info = path_add(acc, path);

	if (info == NULL)
		return;
	info->lpa_compared = false;
	lost_set(info, "%s", why);
}

/* -- paths that are compared ----------------------------------------------- */

static bool path_same(const struct m0_lnet__path *left,
		      const struct m0_lnet__path *right)
{
	return left->pth_ni == right->pth_ni &&
	       left->pth_lpni == right->pth_lpni &&
	       left->pth_route == right->pth_route;
}

/** Returns the NID of a peer that the rules of this merit are about. */
static const struct m0_lnet_nid *merit_nid(const struct m0_lnet__path *path,
					   enum m0_lnet__merit         merit)
{
	const struct m0_lnet_lpni *lpni = path->pth_lpni;

	if (lpni == NULL ||
	    M0_IN(merit, (M0_LNET__MERIT_DEST, M0_LNET__MERIT_PREFERS_GATEWAY)))
		lpni = path->pth_dest;
	M0_POST(lpni != NULL);
	return &lpni->lpn_nid;
}

/** Returns the index of the rule that gives the path `of` its rank, which differs
 * from that of `other`; -1: none does. */
static int32_t merit_rule(const struct m0_lnet_engine *eng,
			  enum m0_lnet__merit          merit,
			  const struct m0_lnet__path  *of,
			  const struct m0_lnet__path  *other)
{
	const struct m0_lnet_ni *ni = of->pth_ni;
	bool                     net = false;

	switch (merit) {
	case M0_LNET__MERIT_NONE:
		return -1;
	case M0_LNET__MERIT_HOP_NET:
		net = true;
		break;
	case M0_LNET__MERIT_HOP:
		break;
	case M0_LNET__MERIT_NI:
		net = ni->lni_policy.nip_priority >> 32 !=
		      other->pth_ni->lni_policy.nip_priority >> 32;
		return m0_lnet__rule_of(eng, net ? ROW_SRC_NET : ROW_SRC,
					&ni->lni_lnd.ldn_nid, 0);
	case M0_LNET__MERIT_DEST:
		net = of->pth_dest->lpn_policy.lpp_net_priority !=
		      other->pth_dest->lpn_policy.lpp_net_priority;
		break;
	case M0_LNET__MERIT_PREFERS_NI:
		return m0_lnet__rule_of(eng, ROW_DST_SRC, merit_nid(of, merit),
					ni->lni_policy.nip_slot);
	case M0_LNET__MERIT_PREFERS_GATEWAY:
		return m0_lnet__rule_of(eng, ROW_DST_RTE, merit_nid(of, merit),
					of->pth_route->lrt_gateway->gw_slot);
	}
	return m0_lnet__rule_of(eng, net ? ROW_DST_NET : ROW_DST,
				merit_nid(of, merit), 0);
}

static void trial_lost(const struct m0_lnet_engine *eng,
		       struct m0_lnet_path_info    *info,
		       const struct m0_lnet__trial *trial)
{
	const struct m0_lnet__path *own = &trial->trl_path;
	const struct m0_lnet__path *to = &trial->trl_lost_to;

	M0_PRE(trial->trl_lost_by != NULL && to->pth_ni != NULL);
	lost_set(info, "%s", trial->trl_lost_by);
	info->lpa_rule = merit_rule(eng, trial->trl_merit, to, own);
	info->lpa_own_rule = merit_rule(eng, trial->trl_merit, own, to);
}

static void trials_add(struct account *acc)
{
	const struct m0_lnet__trials *trials = &acc->acc_trials;
	unsigned                      i;

	for (i = 0; i < trials->tls_nr && i < trials->tls_max; ++i) {
		const struct m0_lnet__trial *trial = &trials->tls_trials[i];
		struct m0_lnet_path_info    *info =
			path_add(acc, &trial->trl_path);

		if (info == NULL)
			continue;
		info->lpa_won = trial->trl_lost_by == NULL;
		if (!info->lpa_won)
			trial_lost(acc->acc_eng, info, trial);
	}
	if (acc->acc_ret == NULL)
		acc->acc_nr += trials->tls_nr - i;
}

/** Adds the path that was taken without a comparison. */
static void only_add(struct account *acc, const struct m0_lnet__path *path)
{
	struct m0_lnet_path_info *info = path_add(acc, path);

	if (info != NULL)
		info->lpa_won = true;
}

/* -- paths that are not ---------------------------------------------------- */

/** Adds the interfaces that reach the NID, and were not looked at. */
static void nis_add(struct account *acc, const struct m0_lnet__path *won,
		    const struct m0_lnet_nid *nid, struct m0_lnet_lpni *lpni)
{
	const struct m0_lnet_engine *eng = acc->acc_eng;
	bool                         chosen = acc->acc_trials.tls_nr > 0;
	struct m0_lnet__path         path = { .pth_lpni = lpni };

	m0_list_for_each_entry(&eng->le_nis, path.pth_ni, struct m0_lnet_ni,
			       lni_link) {
		if (!m0_lnet__ni_fits(path.pth_ni, nid) ||
		    path_same(&path, won))
			continue;
		if (!m0_lnet__ni_is_usable(path.pth_ni))
			unused_add(acc, &path,
				   "the interface is starting or stopping");
		else if (!is_from_any(acc) &&
			 !m0_lnet_nid_eq(&path.pth_ni->lni_lnd.ldn_nid,
					 &acc->acc_from))
			unused_add(acc, &path,
				   "the sender names another interface");
		else if (!chosen)
			unused_add(acc, &path,
				   "the peer is not Multi-Rail, and knows this "
				   "node by another interface");
	}
}

/** Adds the routes to the network of a NID that are not used. */
static void routes_add(struct account *acc, const struct m0_lnet_nid *nid,
		       struct m0_lnet_lpni *dest)
{
	const struct m0_lnet_engine *eng = acc->acc_eng;
	const struct m0_lnet_far    *far =
		m0_lnet__far_find(eng, m0_lnet_nid_net(nid));
	struct m0_lnet__path path = { .pth_dest = dest };

	if (far == NULL)
		return;
	m0_list_for_each_entry(&far->far_routes, path.pth_route,
			       struct m0_lnet_route, lrt_of_far) {
		if (m0_lnet__route_is_usable(eng, path.pth_route))
			continue;
		path.pth_lpni = path.pth_route->lrt_gateway->gw_lpni;
		unused_add(acc, &path,
			   m0_lnet_route_why_text(
				   m0_lnet__route_why(eng, path.pth_route)));
	}
}

/** Returns true if an interface reaches the NID without a router. */
static bool is_near(const struct account *acc, const struct m0_lnet_nid *nid)
{
	const struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&acc->acc_eng->le_nis, ni, struct m0_lnet_ni,
			       lni_link)
		if (m0_lnet__ni_fits(ni, nid))
			return true;
	return false;
}

static void unused_nid_add(struct account *acc, const struct m0_lnet__path *won,
			   const struct m0_lnet_nid *nid,
			   struct m0_lnet_lpni      *lpni)
{
	const struct m0_lnet_engine *eng = acc->acc_eng;
	uint32_t                     net = m0_lnet_nid_net(nid);
	struct m0_lnet__path         none = { .pth_lpni = lpni };

	if (is_near(acc, nid))
		nis_add(acc, won, nid, lpni);
	else if (m0_lnet__far_find(eng, net) == NULL)
		unused_add(acc, &none,
			   "no interface is on its network, and there is no "
			   "route to it");
	else if (won->pth_ni != NULL && won->pth_route == NULL)
		unused_add(acc, &none, "a path without a router is preferred");
	else
		routes_add(acc, nid, lpni);
}

/* -- the whole ------------------------------------------------------------- */

/** Selects, and lists the paths. @return as m0_lnet__path_find(). */
static int account_make(struct account *acc, struct m0_lnet__path *won)
{
	const struct m0_lnet_engine *eng = acc->acc_eng;
	struct m0_lnet_lpni         *lpni = acc->acc_lpni;
	const struct m0_lnet_ni     *from = NULL;
	const struct m0_lnet_peer   *peer;
	int                          rc = 0;

	*won = (struct m0_lnet__path){ NULL, NULL, NULL, NULL };
	if (lpni != NULL) {
		rc = m0_lnet__path_find(
			eng,
			&(struct m0_lnet__request){
				.prq_lpni = lpni,
				.prq_self = &acc->acc_from,
				.prq_trials = &acc->acc_trials },
			won);
	} else {
		if (!is_from_any(acc))
			from = m0_lnet__ni_find(eng, &acc->acc_from);
		if (!is_from_any(acc) && from == NULL)
			return -EINVAL;
		if (from != NULL && !m0_lnet__ni_is_usable(from))
			return -ENETDOWN;
		*won = m0_lnet__select(
			eng, &(struct m0_lnet__want){
				     .wnt_nid = &acc->acc_dest,
				     .wnt_lpni = acc->acc_stranger,
				     .wnt_ni = from,
				     .wnt_trials = &acc->acc_trials });
	}
	if (rc != 0)
		return rc;
	if (acc->acc_trials.tls_nr > 0)
		trials_add(acc);
	else if (won->pth_ni != NULL)
		only_add(acc, won);
	if (lpni == NULL) {
		unused_nid_add(acc, won, &acc->acc_dest, NULL);
		return 0;
	}
	peer = lpni->lpn_peer;
	if (!m0_lnet__peer_is_multi_rail(peer))
		unused_nid_add(acc, won, &lpni->lpn_nid, lpni);
	else
		m0_list_for_each_entry(&peer->lpe_lpnis, lpni,
				       struct m0_lnet_lpni, lpn_link)
			unused_nid_add(acc, won, &lpni->lpn_nid, lpni);
	return 0;
}

/** Returns true if there would be a path if the sender named no interface. */
static bool another_reaches(const struct account *acc)
{
	struct account any = {
		.acc_eng = acc->acc_eng,
		.acc_dest = acc->acc_dest,
		.acc_from = m0_lnet_nid_any,
		.acc_lpni = acc->acc_lpni,
		.acc_stranger = acc->acc_stranger,
	};
	struct m0_lnet__path won;

	return !is_from_any(acc) && account_make(&any, &won) == 0 &&
	       won.pth_ni != NULL;
}

static const char *unreached_note(const struct account *acc)
{
	uint32_t net = m0_lnet_nid_net(&acc->acc_dest);

	if (another_reaches(acc))
		return "the interface that the sender names does not reach the "
		       "destination; another one does";
	if (is_near(acc, &acc->acc_dest))
		return "no interface on the network of the destination can be "
		       "used";
	return m0_lnet__far_find(acc->acc_eng, net) == NULL
		       ? "no interface is on the network of the destination, "
			 "and there is no route to it"
		       : "no route to the network of the destination can be "
			 "used";
}

static void note_set(const struct account *acc, const struct m0_lnet__path *won)
{
	struct m0_lnet_explain *ret = acc->acc_ret;
	const char             *note = "";

	if (won->pth_ni == NULL) {
		ret->lex_status = -EHOSTUNREACH;
		note = unreached_note(acc);
	} else if (!is_from_any(acc)) {
		note = "the sender names the interface";
	} else if (won->pth_route == NULL && ret->lex_known &&
		   !ret->lex_multi_rail) {
		note = "a peer that is not Multi-Rail knows this node by one "
		       "interface, which is kept";
	}
	(void)snprintf(ret->lex_note, sizeof ret->lex_note, "%s", note);
}

/** Explains a message to this node itself. */
static void account_lo(struct account *acc)
{
	const struct m0_lnet__path path = { .pth_ni = acc->acc_eng->le_lo };

	only_add(acc, &path);
	(void)snprintf(acc->acc_ret->lex_note, sizeof acc->acc_ret->lex_note,
		       "the destination is this node itself");
	if (acc->acc_eng->le_lo == NULL)
		acc->acc_ret->lex_status = -ENETDOWN;
}

static struct m0_lnet_explain *explain_new(const struct account *acc,
					   unsigned              nr)
{
	const struct m0_lnet_lpni *lpni = acc->acc_lpni;
	struct m0_lnet_explain    *ret =
		m0_alloc(sizeof *ret + nr * sizeof ret->lex_paths[0]);

	if (ret == NULL)
		return NULL;
	ret->lex_dest = acc->acc_dest;
	ret->lex_known = lpni != NULL;
	ret->lex_primary = lpni == NULL ? acc->acc_dest
					: lpni->lpn_peer->lpe_primary;
	ret->lex_multi_rail = lpni != NULL &&
			      m0_lnet__peer_is_multi_rail(lpni->lpn_peer);
	ret->lex_discovers = acc->acc_eng->le_cfg.lec_discovery &&
			     (lpni == NULL ||
			      (!m0_lnet__peer_is_up_to_date(lpni->lpn_peer) &&
			       (lpni->lpn_peer->lpe_state &
				M0_LNET_PEER_NO_DISCOVERY) == 0));
	return ret;
}

/** Makes the record of a NID that the node does not know, for the rules.
 * @retval -ENOMEM */
static int stranger_make(struct account *acc)
{
	unsigned cost = 0;
	int      rc;

	if (acc->acc_lpni != NULL)
		return 0;
	M0_ALLOC_PTR(acc->acc_stranger);
	if (acc->acc_stranger == NULL)
		return -ENOMEM;
	acc->acc_stranger->lpn_nid = acc->acc_dest;
	rc = m0_lnet__rules_apply(acc->acc_eng->le_policies, &acc->acc_dest,
				  &acc->acc_stranger->lpn_policy, &cost);
	return rc;
}

static void stranger_free(struct account *acc)
{
	if (acc->acc_stranger != NULL)
		m0_lnet__verdict_forget(&acc->acc_stranger->lpn_policy);
	m0_free(acc->acc_stranger);
}

/** Makes the explanation of a message to another node: counts the paths, and then
 * lists them. */
static int account_far(struct account *acc)
{
	struct m0_lnet__path won;
	int                  rc = account_make(acc, &won);

	if (rc != 0)
		return rc;
	acc->acc_ret = explain_new(acc, acc->acc_nr);
	if (acc->acc_ret == NULL)
		return -ENOMEM;
	acc->acc_trials.tls_max = acc->acc_trials.tls_nr;
	acc->acc_trials.tls_nr = 0;
	M0_ALLOC_ARR(acc->acc_trials.tls_trials, acc->acc_trials.tls_max);
	if (acc->acc_trials.tls_max > 0 && acc->acc_trials.tls_trials == NULL) {
		m0_free(acc->acc_ret);
		return -ENOMEM;
	}
	acc->acc_nr = 0;
	(void)account_make(acc, &won);
	m0_free(acc->acc_trials.tls_trials);
	note_set(acc, &won);
	return 0;
}

int m0_lnet_engine_explain(const struct m0_lnet_engine *eng,
			   const struct m0_lnet_nid    *dest,
			   const struct m0_lnet_nid    *from,
			   struct m0_lnet_explain     **ret)
{
	struct account acc = { .acc_eng = eng,
			       .acc_dest = *dest,
			       .acc_from = *from,
			       .acc_lpni = m0_lnet__lpni_find(eng, dest) };
	int            rc;

	if (m0_lnet_nid_is_any(dest))
		return -EINVAL;
	if (m0_lnet_nid_is_lo(dest) || m0_lnet__ni_find(eng, dest) != NULL) {
		acc.acc_ret = explain_new(&acc, 1);
		if (acc.acc_ret == NULL)
			return -ENOMEM;
		account_lo(&acc);
	} else {
		rc = stranger_make(&acc);
		if (rc == 0)
			rc = account_far(&acc);
		stranger_free(&acc);
		if (rc != 0)
			return rc;
	}
	M0_POST(acc.acc_ret->lex_paths_nr == acc.acc_nr);
	*ret = acc.acc_ret;
	return 0;
}

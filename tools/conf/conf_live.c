/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>

#include "m0/lnet_info.h"
#include "m0/lnet_route.h"
#include "m0/lnet_tune.h"

#include "conf_live.h"
#include "../base/cmd.h"

enum {
	MS_PER_S = 1000
};

/* ------------------------------------------------------------ what there is */

/* Is it the first IPv4 address of the device, which the device's name means? */
static bool is_first(const struct ifaddrs *all, const char *device,
		     const char *addr)
{
	const struct ifaddrs *at;
	char                  text[INET_ADDRSTRLEN];

	for (at = all; at != NULL; at = at->ifa_next) {
		if (at->ifa_addr == NULL ||
		    at->ifa_addr->sa_family != AF_INET ||
		    strcmp(at->ifa_name, device) != 0)
			continue;
		return inet_ntop(AF_INET,
				 &((const struct sockaddr_in *)(const void *)
					   at->ifa_addr)
					  ->sin_addr,
				 text, sizeof text) != NULL &&
		       strcmp(text, addr) == 0;
	}
	return false;
}

/* Tunables that net o2ib alone has. */
static void fabric_tuns_get(uint32_t *tuns, const struct m0_lnd_ni_info *lnd)
{
	tuns[CONF_SERVICE - CONF_TUN_FIRST] = lnd->ldi_service;
	tuns[CONF_ACK_TIMEOUT - CONF_TUN_FIRST] = lnd->ldi_ack_timeout;
	tuns[CONF_TOS - CONF_TUN_FIRST] =
		conf_tun_of(CONF_TOS, (int64_t)lnd->ldi_tos_plus_1 - 1);
	tuns[CONF_GET_REQ - CONF_TUN_FIRST] =
		conf_tun_of(CONF_GET_REQ, lnd->ldi_get_req);
}

/* @param all  addresses of the host; NULL: not known. */

static int nis_get(struct conf_model *ret, const struct m0_lnet_info *info,
		   const struct ifaddrs *all)
{
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < info->li_nis_nr; ++i) {
		const struct m0_lnet_ni_info *from = &info->li_nis[i];
		struct conf_ni               *ni;
		uint32_t                     *tuns;

		if (m0_lnet_nid_is_lo(&from->nii_nid))
			continue;
		ni = conf_ni_add(ret);
		if (ni == NULL) {
			rc = -ENOMEM;
			break;
		}
		ni->cni_net = m0_lnet_nid_net(&from->nii_nid);
		conf_addr_print(&from->nii_nid, ni->cni_addr);
		if (is_first(all, from->nii_device, ni->cni_addr))
			snprintf(ni->cni_iface, sizeof ni->cni_iface, "%s",
				 from->nii_device);
		tuns = ni->cni_tuns;
		tuns[CONF_PEER_TIMEOUT - CONF_TUN_FIRST] =
			from->nii_peer_timeout_s;
		tuns[CONF_PEER_CREDITS - CONF_TUN_FIRST] =
			from->nii_peer_credits;
		tuns[CONF_PEER_BUFFER_CREDITS - CONF_TUN_FIRST] =
			from->nii_peer_buffer_credits;
		tuns[CONF_CREDITS - CONF_TUN_FIRST] = from->nii_credits;
		tuns[CONF_CONNS_PER_PEER - CONF_TUN_FIRST] =
			from->nii_conns_per_peer;
		tuns[CONF_TIMEOUT - CONF_TUN_FIRST] =
			(uint32_t)(from->nii_timeout_ms / MS_PER_S);
		tuns[CONF_KEEPALIVE - CONF_TUN_FIRST] =
			from->nii_lnd.ldi_keepalive_ms == 0
				? CONF_NEVER
				: (uint32_t)(from->nii_lnd.ldi_keepalive_ms /
					     MS_PER_S);
		tuns[CONF_RECONNECT_MIN - CONF_TUN_FIRST] =
			(uint32_t)from->nii_lnd.ldi_reconnect_min_ms;
		tuns[CONF_RECONNECT_MAX - CONF_TUN_FIRST] =
			(uint32_t)from->nii_lnd.ldi_reconnect_max_ms;
		if (m0_lnet_net_type(ni->cni_net) == M0_LNET_TYPE_O2IB)
			fabric_tuns_get(tuns, &from->nii_lnd);
	}
	return rc;
}

static int peers_get(struct conf_model *ret, const struct m0_lnet_info *info)
{
	unsigned i;
	unsigned j;

	for (i = 0; i < info->li_peers_nr; ++i) {
		const struct m0_lnet_peer_info *from = &info->li_peers[i];
		struct conf_peer               *peer;

		if ((from->pei_state & M0_LNET_PEER_CONFIGURED) == 0)
			continue;
		peer = conf_peer_add(ret);
		if (peer == NULL)
			return -ENOMEM;
		peer->cpe_configured = true;
		peer->cpe_primary = from->pei_primary;
		peer->cpe_multi_rail = from->pei_multi_rail;
		for (j = 0; j < from->pei_nis_nr; ++j) {
			const struct m0_lnet_nid *nid =
				&from->pei_nis[j].pni_nid;

			if (!m0_lnet_nid_eq(nid, &peer->cpe_primary) &&
			    conf_peer_nid_add(peer, nid) != 0)
				return -ENOMEM;
		}
	}
	return 0;
}

static int info_get(struct conf_model *ret, struct m0_lnet *lnet,
		    const struct ifaddrs *all)
{
	struct m0_lnet_info *info;
	int                  rc = m0_lnet_info_get(lnet, &info);

	if (rc != 0)
		return rc;
	rc = nis_get(ret, info, all) ?: peers_get(ret, info);
	m0_lnet_info_free(info);
	return rc;
}

static int routes_get(struct conf_model *ret, struct m0_lnet *lnet)
{
	struct m0_lnet_route_info *routes;
	int                        nr;
	int                        i;

	routes = calloc(M0_LNET_ROUTES_MAX, sizeof *routes);
	nr = routes == NULL
		     ? -ENOMEM
		     : m0_lnet_route_get(lnet, routes, M0_LNET_ROUTES_MAX);
	for (i = 0; i < nr; ++i) {
		struct conf_route *route = conf_route_add(ret);

		if (route == NULL) {
			nr = -ENOMEM;
			break;
		}
		route->crt_attr = routes[i].lri_attr;
	}
	free(routes);
	return nr < 0 ? nr : 0;
}

static int udsps_get(struct conf_model *ret, struct m0_lnet *lnet)
{
	struct m0_lnet_udsp *rules = NULL;
	int                  nr = m0_lnet_udsp_get(lnet, 0, NULL, 0);
	int                  i;

	if (nr > 0) {
		rules = calloc((unsigned)nr, sizeof *rules);
		nr = rules == NULL
			     ? -ENOMEM
			     : min_check(nr, m0_lnet_udsp_get(lnet, 0, rules,
							      (unsigned)nr));
	}
	for (i = 0; i < nr; ++i) {
		struct conf_udsp *rule = conf_udsp_add(ret);

		if (rule == NULL) {
			nr = -ENOMEM;
			break;
		}
		rule->cud_rule = rules[i];
	}
	free(rules);
	return nr < 0 ? nr : 0;
}

static void set_put(struct conf_model *ret, unsigned id, uint64_t value)
{
	ret->cmo_sets[id - CONF_SETS].cst_given = true;
	ret->cmo_sets[id - CONF_SETS].cst_value = value;
}

static int sets_get(struct conf_model *ret, struct m0_lnet *lnet)
{
	struct m0_lnet_routing_info info;
	uint64_t                    now[M0_LNET_TUNABLES_NR];
	unsigned                    i;
	int                         rc = m0_lnet_tunables_get(lnet, now)
						 ?: m0_lnet_routing_get(lnet, &info);

	M0_BASSERT((int)CONF_ENABLE - (int)CONF_SETS ==
		   (int)M0_LNET_TUNABLES_NR);
	if (rc != 0)
		return rc;
	for (i = 0; i < M0_LNET_TUNABLES_NR; ++i)
		set_put(ret, CONF_SETS + i, now[i]);
	set_put(ret, CONF_ENABLE, info.lgi_state == M0_LNET_ROUTING_ON ? 1 : 0);
	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		set_put(ret, CONF_TINY + i, info.lgi_pools[i].lbi_max);
	return 0;
}

static int live_get(struct conf_model *ret, struct m0_lnet *lnet,
		    const struct ifaddrs *all)
{
	int rc;

	conf_model_init(ret);
	rc = info_get(ret, lnet, all) ?:
	     routes_get(ret, lnet) ?:
	     udsps_get(ret, lnet) ?:
	     sets_get(ret, lnet);
	if (rc == 0)
		ret->cmo_sections = UINT32_MAX;
	else
		conf_model_fini(ret);
	return rc;
}

int conf_live_get(struct conf_model *ret, struct m0_lnet *lnet)
{
	struct ifaddrs *all = NULL;
	int             rc;

	(void)getifaddrs(&all);
	rc = live_get(ret, lnet, all);
	if (all != NULL)
		freeifaddrs(all);
	return rc;
}

int conf_live_get_bare(struct conf_model *ret, struct m0_lnet *lnet)
{
	return live_get(ret, lnet, NULL);
}

/* ------------------------------------------------------------------- changes */

static int set_apply(struct m0_lnet *lnet, const struct conf_change *change,
		     char *why)
{
	uint32_t max[M0_LNET_POOLS_NR] = { 0 };
	unsigned id = change->ccg_set + CONF_SETS;

	if (id == CONF_ENABLE)
		return m0_lnet_routing_set(lnet, change->ccg_new != 0);
	if (id < CONF_ENABLE)
		return m0_lnet_tune(lnet, (enum m0_lnet_tunable)change->ccg_set,
				    change->ccg_new, why);
	max[id - CONF_TINY] = (uint32_t)change->ccg_new;
	return m0_lnet_pools_set(lnet, max);
}

static int route_apply(struct m0_lnet *lnet, const struct conf_change *change,
		       char *why)
{
	const struct m0_lnet_route_attr *attr = &change->ccg_route;
	int                              rc;

	if (change->ccg_add)
		return m0_lnet_route_add(lnet, attr, why);
	rc = m0_lnet_route_del(lnet, attr->lra_net, &attr->lra_gateway);
	return rc < 0 ? rc : 0;
}

static bool names_nid(const struct conf_change *change,
		      const struct m0_lnet_nid *nid)
{
	unsigned i;

	if (change->ccg_whole && m0_lnet_nid_eq(&change->ccg_primary, nid))
		return true;
	for (i = 0; i < change->ccg_nids_nr; ++i) {
		if (m0_lnet_nid_eq(&change->ccg_nids[i], nid))
			return true;
	}
	return false;
}

/* Says what uses a peer that cannot be removed. */
static void busy_say(struct m0_lnet *lnet, const struct conf_change *change,
		     char *why)
{
	struct m0_lnet_route_info *routes =
		calloc(M0_LNET_ROUTES_MAX, sizeof *routes);
	char net[M0_LNET_NIDSTR_SIZE];
	char gateway[M0_LNET_NIDSTR_SIZE];
	int  nr = routes == NULL
			  ? 0
			  : m0_lnet_route_get(lnet, routes, M0_LNET_ROUTES_MAX);
	int  i;

	snprintf(why, M0_LNET_WHY_BYTES,
		 "messages or a discovery use the peer; try again");
	for (i = 0; i < nr; ++i) {
		const struct m0_lnet_route_attr *attr = &routes[i].lri_attr;

		if (!names_nid(change, &attr->lra_gateway))
			continue;
		(void)m0_lnet_net_print(attr->lra_net, net, sizeof net);
		(void)m0_lnet_nid_print(&attr->lra_gateway, gateway,
					sizeof gateway);
		snprintf(why, M0_LNET_WHY_BYTES,
			 "the route to %s goes by this peer; keep it, "
			 "or remove the route first: colibri route del --net "
			 "%s --gateway %s",
			 net, net, gateway);
		break;
	}
	free(routes);
}

static int peer_apply(struct m0_lnet *lnet, const struct conf_change *change,
		      char *why)
{
	int rc;

	if (change->ccg_add)
		return m0_lnet_peer_add(lnet, &change->ccg_primary,
					change->ccg_nids, change->ccg_nids_nr,
					change->ccg_multi_rail);
	rc = m0_lnet_peer_del(lnet, &change->ccg_primary, change->ccg_nids,
			      change->ccg_whole ? 0 : change->ccg_nids_nr);
	if (rc == -EBUSY)
		busy_say(lnet, change, why);
	return rc;
}

/* @return index of the rule: the one that it had, unless others came or went. */
static int udsp_where(struct m0_lnet *lnet, const struct m0_lnet_udsp *rule)
{
	struct m0_lnet_udsp got;
	int32_t             idx = rule->lud_idx;
	int                 nr = m0_lnet_udsp_get(lnet, (uint32_t)idx, &got, 1);

	if (nr > idx && conf_udsp_is(&got, rule))
		return idx;
	for (idx = 0; idx < nr; ++idx) {
		if (m0_lnet_udsp_get(lnet, (uint32_t)idx, &got, 1) > idx &&
		    conf_udsp_is(&got, rule))
			return idx;
	}
	return nr < 0 ? nr : -ENOENT;
}

static int udsp_apply(struct m0_lnet *lnet, const struct conf_change *change,
		      char *why)
{
	int idx;
	int rc;

	if (change->ccg_add)
		return m0_lnet_udsp_add(lnet, change->ccg_udsp, why);
	idx = udsp_where(lnet, change->ccg_udsp);
	rc = idx < 0 ? idx : m0_lnet_udsp_del(lnet, idx);
	return rc < 0 ? rc : 0;
}

static int change_apply(struct m0_lnet *lnet, const struct conf_change *change,
			char *why)
{
	switch (change->ccg_kind) {
	case CONF_CHANGE_NET:
		return change->ccg_add
			       ? m0_lnet_net_add(lnet, change->ccg_net, why)
			       : m0_lnet_net_del(lnet, change->ccg_net, why);
	case CONF_CHANGE_SET:
		return set_apply(lnet, change, why);
	case CONF_CHANGE_ROUTE:
		return route_apply(lnet, change, why);
	case CONF_CHANGE_UDSP:
		return udsp_apply(lnet, change, why);
	default:
		M0_PRE(change->ccg_kind == CONF_CHANGE_PEER);
		return peer_apply(lnet, change, why);
	}
}

/* Somebody else may have removed what is to be removed. */
static bool is_as_before(const struct conf_change *back, int rc)
{
	return rc == 0 ||
	       (rc == -ENOENT && !back->ccg_add &&
		(M0_IN(back->ccg_kind, (CONF_CHANGE_ROUTE, CONF_CHANGE_UDSP)) ||
		 (back->ccg_kind == CONF_CHANGE_PEER && back->ccg_whole)));
}

unsigned conf_live_undo(struct m0_lnet *lnet, const struct conf_plan *plan,
			unsigned nr, char ret[CONF_UNDO_BYTES])
{
	char     text[CONF_CHANGE_BYTES];
	unsigned bad_nr = 0;
	size_t   used;

	ret[0] = '\0';
	while (nr-- > 0) {
		struct conf_change back;
		char               why[M0_LNET_WHY_BYTES] = "";
		int                rc;

		conf_change_invert(&back, &plan->cpn_changes[nr]);
		rc = change_apply(lnet, &back, why);
		if (is_as_before(&back, rc) || bad_nr++ > 0)
			continue;
		conf_change_print(&back, text);
		snprintf(ret, CONF_UNDO_BYTES, "\"%.250s\": %.250s", text,
			 why[0] != '\0' ? why : tool_errtext(rc));
	}
	used = strlen(ret);
	if (bad_nr > 1)
		snprintf(ret + used, CONF_UNDO_BYTES - used, "; and %u more",
			 bad_nr - 1);
	return bad_nr;
}

int conf_live_apply(struct m0_lnet *lnet, const struct conf_plan *plan,
		    struct conf_fail *fail)
{
	char     why[M0_LNET_WHY_BYTES] = "";
	char     text[CONF_CHANGE_BYTES];
	char     left[CONF_UNDO_BYTES];
	unsigned bad_nr;
	unsigned i;
	int      rc = 0;

	for (i = 0; i < plan->cpn_nr; ++i) {
		why[0] = '\0';
		rc = change_apply(lnet, &plan->cpn_changes[i], why);
		if (rc != 0)
			break;
	}
	if (rc == 0)
		return 0;
	bad_nr = conf_live_undo(lnet, plan, i, left);
	conf_change_print(&plan->cpn_changes[i], text);
	if (bad_nr == 0)
		snprintf(left, sizeof left,
			 "the %u changes before it are undone", i);
	(void)conf_fail_set(
		fail, &plan->cpn_changes[i].ccg_place,
		"\"%.250s\" failed: %.250s; %s%.300s", text,
		why[0] != '\0' ? why : tool_errtext(rc),
		bad_nr == 0 ? "" : "and this could not be undone: ", left);
	return rc;
}

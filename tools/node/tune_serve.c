/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "tune_serve.h"
#include "ctl_out.h"
#include "lnet_opts.h"
#include "m0/lnet_tune.h"

enum {
	MS_PER_S = 1000
};

/* ----------------------------------------------------------------------- set */

/* Parameters of lnetctl that are not kept here, and the reason. */
static const struct {
	const char *name;
	const char *why;
} others[] = {
	{ "numa_range", "paths are not chosen by distances of memory" },
	{ "max_interfaces", "the number of interfaces has a fixed bound" },
	{ "router_sensitivity", "a gateway is up or down as a whole" },
	{ "response_tracking", "the time-out of an answer is the operation's" },
};

static const char *const pool_names[M0_LNET_POOLS_NR] = {
	[M0_LNET_POOL_TINY] = "tiny_buffers",
	[M0_LNET_POOL_SMALL] = "small_buffers",
	[M0_LNET_POOL_LARGE] = "large_buffers",
};

static int refused(const char *why, int rc, FILE *err)
{
	return ctl_failed("set", "global", rc, why, err);
}

/* Refuses the value of the request. @param accepted  values, in words. */
static int value_refused(const struct ctl_request *req, const char *of,
			 const char *name, const char *accepted, FILE *err)
{
	char why[M0_LNET_WHY_BYTES];

	snprintf(why, sizeof why,
		 "%s %" PRIu64 " is not accepted; accepted: %s", name,
		 req->cq_value, accepted);
	return ctl_failed("set", of, -EINVAL, why, err);
}

/* @return is it a number of buffers? */
static bool pool_set(const struct ctl_request *req, struct m0_lnet *lnet,
		     int *rc)
{
	uint32_t max[M0_LNET_POOLS_NR] = { 0 };
	unsigned i;

	for (i = 0; i < M0_LNET_POOLS_NR; ++i) {
		if (strcmp(req->cq_name, pool_names[i]) != 0)
			continue;
		*rc = -EINVAL;
		if (req->cq_value > 0 && req->cq_value <= ROUTER_BUFFERS_MAX) {
			max[i] = (uint32_t)req->cq_value;
			*rc = m0_lnet_pools_set(lnet, max);
		}
		return true;
	}
	return false;
}

/* @return is it a tunable of the engine? */
static bool tune(const struct ctl_request *req, struct m0_lnet *lnet,
		 char why[M0_LNET_WHY_BYTES], int *rc)
{
	unsigned i;

	for (i = 0; i < M0_LNET_TUNABLES_NR; ++i) {
		enum m0_lnet_tunable tunable = (enum m0_lnet_tunable)i;

		if (strcmp(req->cq_name, m0_lnet_tunable_name(tunable)) != 0)
			continue;
		*rc = m0_lnet_tune(lnet, tunable, req->cq_value, why);
		return true;
	}
	return false;
}

static int other_set(const struct ctl_request *req, FILE *err)
{
	char   why[M0_LNET_WHY_BYTES];
	size_t i;

	/* LNet accepts it, and ignores it. */
	if (strcmp(req->cq_name, "recovery_interval") == 0)
		return TOOL_OK;
	for (i = 0; i < ARRAY_SIZE(others); ++i) {
		if (strcmp(req->cq_name, others[i].name) != 0)
			continue;
		snprintf(why, sizeof why, "%s cannot be set: %s",
			 others[i].name, others[i].why);
		return refused(why, -EOPNOTSUPP, err);
	}
	snprintf(why, sizeof why,
		 "%s is no parameter; `colibri set --help' lists them",
		 req->cq_name);
	return refused(why, -EINVAL, err);
}

static int set(const struct ctl_request *req, struct m0_lnet *lnet, FILE *err)
{
	char why[M0_LNET_WHY_BYTES] = "";
	int  rc;

	if (strcmp(req->cq_name, "routing") == 0) {
		if (req->cq_value > 1)
			return value_refused(req, "global", req->cq_name,
					     "0 or 1", err);
		rc = m0_lnet_routing_set(lnet, req->cq_value != 0);
	} else if (pool_set(req, lnet, &rc)) {
		if (rc == -EINVAL)
			return value_refused(req, "global", req->cq_name,
					     "1 to 1048576", err);
	} else if (!tune(req, lnet, why, &rc)) {
		return other_set(req, err);
	}
	if (rc == 0)
		return TOOL_OK;
	return refused(why[0] != '\0' ? why : tool_errtext(rc), rc, err);
}

void tune_cfg(struct m0_lnet *lnet, struct m0_lnet_cfg *cfg)
{
	struct m0_lnet_health_cfg *health = &cfg->lc_health;
	uint64_t                   now[M0_LNET_TUNABLES_NR];

	if (m0_lnet_tunables_get(lnet, now) != 0)
		return;
	cfg->lc_discovery = now[M0_LNET_TUNE_DISCOVERY] != 0;
	cfg->lc_routing.lgc_drop_asym = now[M0_LNET_TUNE_DROP_ASYM_ROUTE] != 0;
	cfg->lc_routing.lgc_cut_through = now[M0_LNET_TUNE_CUT_THROUGH] != 0;
	cfg->lc_routing.lgc_splice = now[M0_LNET_TUNE_SPLICE] != 0;
	cfg->lc_transaction_timeout_ms = now[M0_LNET_TUNE_TRANSACTION_TIMEOUT] *
					 MS_PER_S;
	health->lhc_retry_count = (unsigned)now[M0_LNET_TUNE_RETRY_COUNT];
	health->lhc_sensitivity =
		(unsigned)now[M0_LNET_TUNE_HEALTH_SENSITIVITY];
	health->lhc_recovery_limit_ms = now[M0_LNET_TUNE_RECOVERY_LIMIT] *
					MS_PER_S;
	health->lhc_ping_max_ms = now[M0_LNET_TUNE_MAX_RECOVERY_PING_INTERVAL] *
				  MS_PER_S;
}

/* -------------------------------------------------------------------- health */

/* The interfaces of a network, or one, or all. @return how many. */
static int nis_set(const struct ctl_request *req, struct m0_lnet *lnet)
{
	const struct m0_lnet_nid *nid = req->cq_nids_nr > 0 ? &req->cq_nids[0]
							    : NULL;
	struct m0_lnet_info      *info;
	unsigned                  health = (unsigned)req->cq_value;
	unsigned                  i;
	int                       nr = 0;
	int                       rc;

	if (req->cq_net == M0_LNET_NET_ANY)
		return m0_lnet_health_set(lnet, M0_LNET_HEALTH_OF_NIS, nid,
					  health);
	rc = m0_lnet_info_head_get(lnet, &info);
	if (rc != 0)
		return rc;
	for (i = 0; i < info->li_nis_nr; ++i) {
		nid = &info->li_nis[i].nii_nid;
		if (m0_lnet_nid_net(nid) != req->cq_net)
			continue;
		rc = m0_lnet_health_set(lnet, M0_LNET_HEALTH_OF_NIS, nid,
					health);
		nr += rc > 0 ? rc : 0;
	}
	m0_lnet_info_free(info);
	return nr;
}

static int health_set(const struct ctl_request *req, struct m0_lnet *lnet,
		      FILE *err)
{
	bool        nets = req->cq_verb == CTL_NET_SET;
	const char *of = nets ? "net" : "peer";
	int         nr;

	if (req->cq_value > M0_LNET_HEALTH_MAX)
		return value_refused(req, of, "health", "0 to 1000", err);
	nr = nets ? nis_set(req, lnet)
		  : m0_lnet_health_set(lnet, M0_LNET_HEALTH_OF_PEERS,
				       req->cq_nids_nr > 0 ? &req->cq_nids[0]
							   : NULL,
				       (unsigned)req->cq_value);
	if (nr < 0)
		return ctl_failed("set", of, nr, tool_errtext(nr), err);
	if (nr == 0 && (req->cq_nids_nr > 0 || req->cq_net != M0_LNET_NET_ANY))
		return ctl_failed("set", of, -ENOENT,
				  nets ? "the node has no such interface"
				       : "the node knows no such NID",
				  err);
	return TOOL_OK;
}

/* ---------------------------------------------------------------------- nets */

/* The network as text, of m0_lnet_cfg_networks(): its options stand between blanks. */
static void net_text(const struct ctl_request *req, char *ret, size_t size)
{
	char   net[M0_LNET_NIDSTR_SIZE];
	char  *at;
	size_t nr;

	nr = (size_t)snprintf(ret, size, "%s",
			      m0_lnet_net_print(req->cq_net, net, sizeof net));
	if (req->cq_ifaces[0] != '\0')
		nr += (size_t)snprintf(ret + nr, size - nr, "(%s)",
				       req->cq_ifaces);
	at = ret + nr;
	if (req->cq_options[0] != '\0')
		nr += (size_t)snprintf(at, size - nr, " %s", req->cq_options);
	M0_ASSERT(nr < size);
	while ((at = strchr(at, ',')) != NULL)
		*at = ' ';
}

static int net_do(const struct ctl_request *req, struct m0_lnet *lnet,
		  char why[M0_LNET_WHY_BYTES])
{
	char                text[2 * CTL_TEXT_BYTES + M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_cfg *cfg;
	int                 rc;

	M0_ALLOC_PTR(cfg);
	if (cfg == NULL)
		return -ENOMEM;
	m0_lnet_cfg_default(cfg);
	net_text(req, text, sizeof text);
	rc = m0_lnet_cfg_networks(cfg, text, why);
	if (rc == 0 && cfg->lc_nets_nr != 1) {
		snprintf(why, M0_LNET_WHY_BYTES,
			 "\"%.200s\" is not one network other than lo, which "
			 "every node is on",
			 text);
		rc = -EINVAL;
	}
	if (rc == 0)
		rc = req->cq_verb == CTL_NET_ADD
			     ? m0_lnet_net_add(lnet, &cfg->lc_nets[0], why)
			     : m0_lnet_net_del(lnet, &cfg->lc_nets[0], why);
	m0_free(cfg);
	return rc;
}

static int net_change(const struct ctl_request *req, struct m0_lnet *lnet,
		      FILE *err)
{
	char why[M0_LNET_WHY_BYTES] = "";
	int  rc = net_do(req, lnet, why);

	return rc == 0 ? TOOL_OK
		       : ctl_failed(req->cq_verb == CTL_NET_ADD ? "add" : "del",
				    "net", rc,
				    why[0] != '\0' ? why : tool_errtext(rc),
				    err);
}

/* --------------------------------------------------------------------- peers */

static const char *peer_flaw(int rc)
{
	switch (rc) {
	case -EINVAL:
		return "a NID is of this node, of lo, or of nobody; or the "
		       "primary NID stands among those to be removed";
	case -EEXIST:
		return "a NID belongs to another peer that was added";
	case -ENOSPC:
		return "there is no room for the peer, or for all of its NIDs";
	case -ENOENT:
		return "the node knows no such peer, or no such NID of it";
	case -EBUSY:
		return "messages, a discovery or a route use it; try again "
		       "later, or remove the route";
	default:
		return tool_errtext(rc);
	}
}

static int peer_change(const struct ctl_request *req, struct m0_lnet *lnet,
		       FILE *err)
{
	bool                      add = req->cq_verb == CTL_PEER_ADD;
	const struct m0_lnet_nid *nids = req->cq_nids + 1;
	unsigned                  nr = req->cq_nids_nr - 1;
	int                       rc;

	rc = add ? m0_lnet_peer_add(lnet, &req->cq_nids[0], nids, nr,
				    !req->cq_non_mr)
		 : m0_lnet_peer_del(lnet, &req->cq_nids[0], nids, nr);
	return rc == 0 ? TOOL_OK
		       : ctl_failed(add ? "add" : "del", "peer", rc,
				    peer_flaw(rc), err);
}

/* ------------------------------------------------------------------ recovery */

static void sick_add(struct json_t *object, unsigned *nr, unsigned health,
		     const struct m0_lnet_nid *nid)
{
	char key[32];
	char text[M0_LNET_NIDSTR_SIZE];

	if (health >= M0_LNET_HEALTH_MAX)
		return;
	snprintf(key, sizeof key, "nid-%u", (*nr)++);
	jout_str(object, key, m0_lnet_nid_print(nid, text, sizeof text));
}

static void peers_sick_add(struct json_t *object, unsigned *nr,
			   const struct m0_lnet_info *info)
{
	unsigned i;
	unsigned j;

	for (i = 0; i < info->li_peers_nr; ++i) {
		const struct m0_lnet_peer_info *peer = &info->li_peers[i];

		for (j = 0; j < peer->pei_nis_nr; ++j)
			sick_add(object, nr, peer->pei_nis[j].pni_health,
				 &peer->pei_nis[j].pni_nid);
	}
}

static int recovery(const struct ctl_request *req, struct m0_lnet *lnet,
		    FILE *out, FILE *err)
{
	bool                 local = strcmp(req->cq_name, "local") == 0;
	struct json_t       *tree;
	struct json_t       *object;
	struct m0_lnet_info *info;
	unsigned             nr = 0;
	unsigned             i;
	int                  rc = local ? m0_lnet_info_head_get(lnet, &info)
					: m0_lnet_info_get(lnet, &info);

	if (rc != 0)
		return ctl_failed("debug", "recovery", rc, tool_errtext(rc),
				  err);
	tree = jout_alloc();
	object = jout_object(tree,
			     local ? "Local NI recovery" : "Peer NI recovery");
	for (i = 0; local && i < info->li_nis_nr; ++i)
		sick_add(object, &nr, info->li_nis[i].nii_health,
			 &info->li_nis[i].nii_nid);
	if (!local)
		peers_sick_add(object, &nr, info);
	m0_lnet_info_free(info);
	if (req->cq_json || nr > 0)
		ctl_tree_print(req, tree, CTL_NUMBERS_INDENT, out);
	jout_free(tree);
	return TOOL_OK;
}

int tune_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
	       FILE *err)
{
	switch (req->cq_verb) {
	case CTL_SET:
		return set(req, lnet, err);
	case CTL_NET_SET:
	case CTL_PEER_SET:
		return health_set(req, lnet, err);
	case CTL_NET_ADD:
	case CTL_NET_DEL:
		return net_change(req, lnet, err);
	case CTL_PEER_ADD:
	case CTL_PEER_DEL:
		return peer_change(req, lnet, err);
	default:
		M0_PRE(req->cq_verb == CTL_DEBUG_RECOVERY);
		return recovery(req, lnet, out, err);
	}
}

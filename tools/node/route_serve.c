/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "route_serve.h"
#include "ctl_out.h"
#include "../base/text.h"

enum {
	PAGE_BYTES = 4096,
	WHY_BYTES = 512,
	MS_PER_S = 1000,
	/** lnetctl prints this for hops that are not set. */
	HOPS_UNSET = -1
};

/* -------------------------------------------------------------------- routes */

static bool is_asked_for(const struct ctl_request        *req,
			 const struct m0_lnet_route_attr *attr)
{
	const struct m0_lnet_route_attr *want = &req->cq_route;

	return (want->lra_net == M0_LNET_NET_ANY ||
		want->lra_net == attr->lra_net) &&
	       (m0_lnet_nid_is_any(&want->lra_gateway) ||
		m0_lnet_nid_eq(&want->lra_gateway, &attr->lra_gateway)) &&
	       (!req->cq_by_hops || want->lra_hops == attr->lra_hops) &&
	       (!req->cq_by_priority ||
		want->lra_priority == attr->lra_priority);
}

/* Why a route is down, since when, and when its gateway last answered. */
static void why_print(const struct m0_lnet_route_info *info, char *ret,
		      size_t size)
{
	char answered[96];

	if (info->lri_answered_ms == UINT64_MAX)
		snprintf(answered, sizeof answered,
			 "the gateway has never answered a check");
	else
		snprintf(answered, sizeof answered,
			 "the gateway last answered a check %" PRIu64 " s ago",
			 info->lri_answered_ms / MS_PER_S);
	snprintf(ret, size, "%s%s%s%s, for %" PRIu64 " s; %s",
		 m0_lnet_route_why_text(info->lri_why),
		 info->lri_status != 0 ? " (" : "",
		 info->lri_status != 0 ? tool_errtext(info->lri_status) : "",
		 info->lri_status != 0 ? ")" : "",
		 info->lri_since_ms / MS_PER_S, answered);
}

static void more_add(struct json_t *item, const struct m0_lnet_route_info *info)
{
	struct json_t *object = jout_object(item, "colibri");

	jout_num(object, "since_s", info->lri_since_ms / MS_PER_S);
	if (info->lri_answered_ms == UINT64_MAX)
		jout_null(object, "answered_s");
	else
		jout_num(object, "answered_s",
			 info->lri_answered_ms / MS_PER_S);
	jout_num(object, "sent_count", info->lri_sent_nr);
}

void route_attr_print(struct json_t                   *item,
		      const struct m0_lnet_route_attr *attr, bool all)
{
	char text[M0_LNET_NIDSTR_SIZE];

	jout_str(item, "net",
		 m0_lnet_net_print(attr->lra_net, text, sizeof text));
	jout_str(item, "gateway",
		 m0_lnet_nid_print(&attr->lra_gateway, text, sizeof text));
	if (!all)
		return;
	jout_int(item, "hop",
		 attr->lra_hops == 0 ? HOPS_UNSET : (int64_t)attr->lra_hops);
	jout_num(item, "priority", attr->lra_priority);
}

static void route_item(struct json_t                   *list,
		       const struct m0_lnet_route_info *info, unsigned verbose)
{
	struct json_t *item = jout_append(list);
	char           why[WHY_BYTES];

	route_attr_print(item, &info->lri_attr, verbose > 0);
	if (verbose == 0)
		return;
	jout_str(item, "state",
		 info->lri_why == M0_LNET_ROUTE_UP ? "up" : "down");
	jout_str(item, "type",
		 info->lri_multi_hop ? "multi-hop" : "single-hop");
	if (info->lri_why != M0_LNET_ROUTE_UP) {
		why_print(info, why, sizeof why);
		jout_str(item, "why down", why);
	}
	if (verbose >= CTL_VERBOSE_MAX)
		more_add(item, info);
}

static int routes_show(const struct ctl_request *req, struct m0_lnet *lnet,
		       FILE *out, FILE *err)
{
	struct m0_lnet_route_info *routes;
	struct json_t             *tree;
	struct json_t             *list;
	bool                       empty;
	int                        nr;
	int                        i;

	routes = calloc(M0_LNET_ROUTES_MAX, sizeof *routes);
	nr = routes == NULL
		     ? -ENOMEM
		     : m0_lnet_route_get(lnet, routes, M0_LNET_ROUTES_MAX);
	if (nr < 0) {
		free(routes);
		return ctl_failed("show", "route", nr, tool_errtext(nr), err);
	}
	tree = jout_alloc();
	list = jout_array(tree, "route");
	for (i = 0; i < nr; ++i) {
		if (is_asked_for(req, &routes[i].lri_attr))
			route_item(list, &routes[i], req->cq_verbose);
	}
	free(routes);
	empty = jout_is_empty(list);
	if (req->cq_json || !empty)
		ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	jout_free(tree);
	if (!empty || (req->cq_route.lra_net == M0_LNET_NET_ANY &&
		       m0_lnet_nid_is_any(&req->cq_route.lra_gateway) &&
		       !req->cq_by_hops && !req->cq_by_priority))
		return TOOL_OK;
	return ctl_failed("show", "route", -ENOENT,
			  "the node has no such route", err);
}

static int route_add(const struct ctl_request *req, struct m0_lnet *lnet,
		     FILE *err)
{
	char why[M0_LNET_WHY_BYTES] = "";
	int  rc = m0_lnet_route_add(lnet, &req->cq_route, why);

	return rc == 0 ? TOOL_OK : ctl_failed("add", "route", rc, why, err);
}

static int route_del(const struct ctl_request *req, struct m0_lnet *lnet,
		     FILE *out, FILE *err)
{
	const struct m0_lnet_route_attr *attr = &req->cq_route;
	struct json_t                   *tree;
	int nr = m0_lnet_route_del(lnet, attr->lra_net, &attr->lra_gateway);

	if (nr <= 0)
		return ctl_failed("del", "route", nr < 0 ? nr : -ENOENT,
				  nr < 0 ? tool_errtext(nr)
					 : "the node has no such route",
				  err);
	if (req->cq_json) {
		tree = jout_alloc();
		jout_num(tree, "removed", (uint64_t)nr);
		ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
		jout_free(tree);
	}
	return TOOL_OK;
}

/* ------------------------------------------------------------------- routing */

static const char *const pool_names[M0_LNET_POOLS_NR] = {
	[M0_LNET_POOL_TINY] = "tiny",
	[M0_LNET_POOL_SMALL] = "small",
	[M0_LNET_POOL_LARGE] = "large",
};

const char *route_pool_name(uint64_t bytes)
{
	if (bytes == 0)
		return pool_names[M0_LNET_POOL_TINY];
	return pool_names[bytes <= PAGE_BYTES ? M0_LNET_POOL_SMALL
					      : M0_LNET_POOL_LARGE];
}

static const char *const state_names[] = {
	[M0_LNET_ROUTING_OFF] = "off",
	[M0_LNET_ROUTING_ON] = "on",
	[M0_LNET_ROUTING_STOPPING] = "stopping",
};

static void pool_add(struct json_t *cpt, const char *name,
		     const struct m0_lnet_pool_info *pool)
{
	struct json_t *object = jout_object(cpt, name);

	jout_num(object, "npages", pool->lbi_bytes / PAGE_BYTES);
	jout_num(object, "nbuffers", pool->lbi_max);
	jout_num(object, "credits", pool->lbi_credits);
	jout_num(object, "mincredits", pool->lbi_credits_low);
}

static void routing_more(struct json_t                     *tree,
			 const struct m0_lnet_routing_info *info)
{
	struct json_t *object = jout_object(tree, "colibri");
	unsigned       i;

	jout_str(object, "state", state_names[info->lgi_state]);
	jout_num(object, "buffer_bytes", info->lgi_bytes);
	jout_num(object, "buffer_bytes_max", info->lgi_bytes_max);
	for (i = 0; i < M0_LNET_POOLS_NR; ++i) {
		const struct m0_lnet_pool_info *pool = &info->lgi_pools[i];
		struct json_t *item = jout_object(object, pool_names[i]);

		jout_num(item, "allocated", pool->lbi_nr);
		jout_num(item, "used", pool->lbi_used_nr);
	}
	jout_num(object, "forwarded", info->lgi_forwarded_nr);
	jout_num(object, "drop_no_route", info->lgi_no_route_nr);
	jout_num(object, "drop_no_buffer", info->lgi_no_buffer_nr);
	jout_num(object, "drop_late", info->lgi_late_nr);
	jout_num(object, "drop_loop", info->lgi_loops_nr);
	jout_num(object, "cut_through", info->lgi_cut_through ? 1 : 0);
	jout_num(object, "cut_through_messages", info->lgi_cuts_nr);
	jout_num(object, "cut_through_broken", info->lgi_cuts_broken_nr);
	jout_num(object, "splice", info->lgi_splice ? 1 : 0);
	jout_num(object, "splice_pipes", info->lgi_pipes_nr);
	jout_num(object, "splice_messages", info->lgi_spliced_nr);
	jout_num(object, "splice_bytes", info->lgi_spliced_bytes);
}

static int routing_show(const struct ctl_request *req, struct m0_lnet *lnet,
			FILE *out, FILE *err)
{
	struct m0_lnet_routing_info info;
	struct json_t              *tree;
	struct json_t              *list;
	struct json_t              *object;
	unsigned                    i;
	int                         rc = m0_lnet_routing_get(lnet, &info);

	if (rc != 0)
		return ctl_failed("show", "routing", rc, tool_errtext(rc), err);
	tree = jout_alloc();
	list = jout_array(tree, "routing");
	if (info.lgi_state != M0_LNET_ROUTING_OFF) {
		object = jout_object(jout_append(list), "cpt[0]");
		for (i = 0; i < M0_LNET_POOLS_NR; ++i)
			pool_add(object, pool_names[i], &info.lgi_pools[i]);
	}
	jout_num(jout_append(list), "enable",
		 info.lgi_state == M0_LNET_ROUTING_ON ? 1 : 0);
	object = jout_object(tree, "buffers");
	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		jout_num(object, pool_names[i], info.lgi_pools[i].lbi_max);
	if (req->cq_verbose >= CTL_VERBOSE_MAX)
		routing_more(tree, &info);
	ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	jout_free(tree);
	return TOOL_OK;
}

bool route_why_not(struct m0_lnet *lnet, const struct m0_lnet_nid *nid,
		   char *ret, size_t size)
{
	struct m0_lnet_route_info *routes;
	char                       text[M0_LNET_NIDSTR_SIZE];
	bool                       found = false;
	size_t                     used;
	int                        nr;
	int                        i;

	routes = calloc(M0_LNET_ROUTES_MAX, sizeof *routes);
	if (routes == NULL)
		return false;
	used = (size_t)snprintf(ret, size, "%s is not reachable: ",
				m0_lnet_nid_print(nid, text, sizeof text));
	nr = m0_lnet_route_get(lnet, routes, M0_LNET_ROUTES_MAX);
	for (i = 0; i < nr && used < size; ++i) {
		const struct m0_lnet_route_info *info = &routes[i];
		bool up = info->lri_why == M0_LNET_ROUTE_UP;

		if (info->lri_attr.lra_net != m0_lnet_nid_net(nid))
			continue;
		used += (size_t)snprintf(
			ret + used, size - used,
			"%sthe route by %s is %s for %" PRIu64 " s%s%s",
			found ? "; " : "",
			m0_lnet_nid_print(&info->lri_attr.lra_gateway, text,
					  sizeof text),
			up ? "up" : "down", info->lri_since_ms / MS_PER_S,
			up ? "" : ": ",
			up ? "" : m0_lnet_route_why_text(info->lri_why));
		found = true;
	}
	free(routes);
	return found;
}

int route_serve(const struct ctl_request *req, struct m0_lnet *lnet, FILE *out,
		FILE *err)
{
	switch (req->cq_verb) {
	case CTL_ROUTE_ADD:
		return route_add(req, lnet, err);
	case CTL_ROUTE_DEL:
		return route_del(req, lnet, out, err);
	case CTL_ROUTE_SHOW:
		return routes_show(req, lnet, out, err);
	default:
		M0_PRE(req->cq_verb == CTL_ROUTING_SHOW);
		return routing_show(req, lnet, out, err);
	}
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A checked tree of lnet.conf as a model. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "conf_model.h"

struct reader {
	struct conf_model        *rdr_model;
	const struct conf_locals *rdr_locals;
	struct conf_fail         *rdr_fail;
};

/* ------------------------------------------------------------------ networks */

static void tuns_read(struct reader *rdr, const struct conf_node *map,
		      struct conf_ni *ni)
{
	const struct conf_node *node;

	for (node = map->cfn_first; node != NULL; node = node->cfn_next) {
		unsigned id = node->cfn_id;
		uint32_t value;

		if (id < CONF_TUN_FIRST || id >= CONF_TUN_FIRST + CONF_TUNS_NR)
			continue;
		value = conf_tun_of(id, node->cfn_number);
		if (conf_net_has_tun(ni->cni_net, id))
			ni->cni_tuns[id - CONF_TUN_FIRST] = value;
		else if (value != 0)
			conf_note(rdr->rdr_model, &node->cfn_place,
				  "%s %" PRId64 " has no effect", node->cfn_key,
				  node->cfn_number);
	}
}

/* Reads the keys that items of net and of ip2nets share. */
static void common_read(struct reader *rdr, const struct conf_node *item,
			struct conf_ni *ni)
{
	const struct conf_node *part;

	part = conf_member(item, CONF_TUNABLES);
	if (part != NULL)
		tuns_read(rdr, part, ni);
	part = conf_member(item, CONF_LND_TUNABLES);
	if (part != NULL)
		tuns_read(rdr, part, ni);
	part = conf_member(item, CONF_CPT);
	if (part != NULL && strcmp(part->cfn_text, "[0]") != 0)
		conf_note(rdr->rdr_model, &part->cfn_place,
			  "CPT %.40s has no effect", part->cfn_text);
}

static int no_memory(struct reader *rdr)
{
	const struct conf_place nowhere = { 0, 0 };

	(void)conf_fail_set(rdr->rdr_fail, &nowhere, "not enough memory");
	return -ENOMEM;
}

static int ni_put(struct reader *rdr, const struct conf_ni *ni)
{
	struct conf_ni *new = conf_ni_add(rdr->rdr_model);

	if (new == NULL)
		return no_memory(rdr);
	*new = *ni;
	return 0;
}

static int iface_put(struct reader *rdr, struct conf_ni *ni,
		     const struct conf_node *node)
{
	if (!conf_is_iface(node->cfn_text))
		return conf_refuse(node, "a device as eth0, or an address",
				   rdr->rdr_fail);
	ni->cni_place = node->cfn_place;
	snprintf(ni->cni_iface, sizeof ni->cni_iface, "%s", node->cfn_text);
	return ni_put(rdr, ni);
}

static int ni_read(struct reader *rdr, uint32_t net,
		   const struct conf_node *item)
{
	const struct conf_node *nid_node = conf_member(item, CONF_NID);
	const struct conf_node *ifaces = conf_member(item, CONF_INTERFACES);
	const struct conf_node *node;
	struct conf_ni ni = { .cni_place = item->cfn_place, .cni_net = net };
	struct m0_lnet_nid nid;
	char               text[M0_LNET_NIDSTR_SIZE];
	int                rc = 0;

	common_read(rdr, item, &ni);
	if (nid_node != NULL) {
		(void)m0_lnet_nid_parse(&nid, nid_node->cfn_text);
		if (m0_lnet_nid_net(&nid) != net)
			return conf_fail_set(
				rdr->rdr_fail, &nid_node->cfn_place,
				"nid: '%s' is not accepted; accepted: a NID of "
				"network %s",
				nid_node->cfn_text,
				m0_lnet_net_print(net, text, sizeof text));
		conf_addr_print(&nid, ni.cni_addr);
	}
	if (ifaces == NULL || ifaces->cfn_first == NULL)
		return ni_put(rdr, &ni);
	for (node = ifaces->cfn_first; rc == 0 && node != NULL;
	     node = node->cfn_next)
		rc = iface_put(rdr, &ni, node);
	return rc;
}

static uint32_t net_of(const struct conf_node *item, unsigned id)
{
	uint32_t net = 0;

	(void)m0_lnet_net_parse(&net, conf_member(item, id)->cfn_text);
	return net;
}

static int net_read(struct reader *rdr, const struct conf_node *item)
{
	uint32_t                net = net_of(item, CONF_NET_TYPE);
	const struct conf_node *nis = conf_member(item, CONF_NIS);
	const struct conf_node *node;
	struct conf_ni ni = { .cni_place = item->cfn_place, .cni_net = net };
	int            rc = 0;

	if (m0_lnet_net_type(net) == M0_LNET_TYPE_LO)
		return 0;
	if (nis == NULL || nis->cfn_first == NULL)
		return ni_put(rdr, &ni);
	for (node = nis->cfn_first; rc == 0 && node != NULL;
	     node = node->cfn_next)
		rc = ni_read(rdr, net, node);
	return rc;
}

/* ------------------------------------------------------------------- ip2nets */

static bool is_listed(const struct conf_node *ifaces, const char *iface)
{
	const struct conf_node *node;
	const char             *at;
	size_t                  nr = strlen(iface);

	if (ifaces == NULL || ifaces->cfn_first == NULL)
		return true;
	for (node = ifaces->cfn_first; node != NULL; node = node->cfn_next) {
		for (at = node->cfn_text; *at != '\0';
		     at += strcspn(at, ", "), at += strspn(at, ", ")) {
			if (strncmp(at, iface, nr) == 0 &&
			    strchr(", ", at[nr]) != NULL)
				return true;
		}
	}
	return false;
}

static int range_match(struct reader *rdr, const struct conf_node *ranges,
		       struct in_addr addr)
{
	const struct conf_node *node;
	int                     rc = 0;

	if (ranges == NULL || ranges->cfn_first == NULL)
		return 1;
	for (node = ranges->cfn_first; rc == 0 && node != NULL;
	     node = node->cfn_next) {
		rc = conf_ip_match(node->cfn_text, addr);
		if (rc < 0)
			return conf_refuse(node,
					   "an IPv4 expression as 10.0.[1-3].*",
					   rdr->rdr_fail);
	}
	return rc;
}

static int ip2net_read(struct reader *rdr, const struct conf_node *item,
		       unsigned *matched_nr)
{
	const struct conf_node *ifaces = conf_member(item, CONF_INTERFACES);
	const struct conf_node *ranges = conf_member(item, CONF_IP_RANGE);
	struct conf_ni          ni = { .cni_place = item->cfn_place };
	struct in_addr          none = { 0 };
	unsigned                i;
	int rc = range_match(rdr, ranges, none); /* Is it one at all? */

	if (rc < 0)
		return rc;
	ni.cni_net = net_of(item, CONF_NET_TYPE);
	common_read(rdr, item, &ni);
	rc = 0;
	for (i = 0; rc == 0 && i < rdr->rdr_locals->cfs_nr; ++i) {
		const struct conf_local *local =
			&rdr->rdr_locals->cfs_locals[i];

		if (!is_listed(ifaces, local->cfl_iface) ||
		    range_match(rdr, ranges, local->cfl_addr) != 1)
			continue;
		snprintf(ni.cni_iface, sizeof ni.cni_iface, "%s",
			 local->cfl_iface);
		(void)inet_ntop(AF_INET, &local->cfl_addr, ni.cni_addr,
				sizeof ni.cni_addr);
		++*matched_nr;
		rc = ni_put(rdr, &ni);
	}
	return rc;
}

static int ip2nets_read(struct reader *rdr, const struct conf_node *list)
{
	const struct conf_node *item;
	unsigned                matched_nr = 0;
	int                     rc = 0;

	for (item = list->cfn_first; rc == 0 && item != NULL;
	     item = item->cfn_next)
		rc = ip2net_read(rdr, item, &matched_nr);
	if (rc == 0 && matched_nr == 0 && list->cfn_first != NULL)
		return conf_fail_set(rdr->rdr_fail, &list->cfn_key_place,
				     "ip2nets: no entry matches an address of "
				     "this host");
	return rc;
}

/* ---------------------------------------------------------- routes and peers */

static int route_read(struct reader *rdr, const struct conf_node *item)
{
	const struct conf_node *hop = conf_member(item, CONF_HOP);
	const struct conf_node *priority = conf_member(item, CONF_PRIORITY);
	const struct conf_node *health =
		conf_member(item, CONF_ROUTE_SENSITIVITY);
	struct conf_route *route = conf_route_add(rdr->rdr_model);

	if (hop != NULL && hop->cfn_number == 0)
		return conf_refuse(hop, "1 to 255, or -1, which is not set",
				   rdr->rdr_fail);
	if (route == NULL)
		return no_memory(rdr);
	route->crt_place = item->cfn_place;
	route->crt_attr.lra_net = net_of(item, CONF_ROUTE_NET);
	(void)m0_lnet_nid_parse(&route->crt_attr.lra_gateway,
				conf_member(item, CONF_GATEWAY)->cfn_text);
	if (hop != NULL && hop->cfn_number > 0)
		route->crt_attr.lra_hops = (uint32_t)hop->cfn_number;
	if (priority != NULL)
		route->crt_attr.lra_priority = (uint32_t)priority->cfn_number;
	if (health != NULL && health->cfn_number > 1)
		conf_note(rdr->rdr_model, &health->cfn_place,
			  "health_sensitivity of a route has no effect");
	return 0;
}

static int peer_read(struct reader *rdr, const struct conf_node *item)
{
	const struct conf_node *rail = conf_member(item, CONF_MULTI_RAIL);
	const struct conf_node *state = conf_member(item, CONF_PEER_STATE);
	const struct conf_node *list = conf_member(item, CONF_PEER_NI);
	struct conf_peer       *peer = conf_peer_add(rdr->rdr_model);
	const struct conf_node *node;
	struct m0_lnet_nid      nid;
	int                     rc = 0;

	if (peer == NULL)
		return no_memory(rdr);
	peer->cpe_place = item->cfn_place;
	peer->cpe_multi_rail = rail == NULL || rail->cfn_number != 0;
	/* M0_LNET_PEER_CONFIGURED */
	peer->cpe_configured = state == NULL ||
			       (state->cfn_number & 1 << 3) != 0;
	(void)m0_lnet_nid_parse(&peer->cpe_primary,
				conf_member(item, CONF_PRIMARY)->cfn_text);
	node = list == NULL ? NULL : list->cfn_first;
	for (; rc == 0 && node != NULL; node = node->cfn_next) {
		(void)m0_lnet_nid_parse(&nid,
					conf_member(node, CONF_NID)->cfn_text);
		if (!m0_lnet_nid_eq(&nid, &peer->cpe_primary))
			rc = conf_peer_nid_add(peer, &nid);
	}
	return rc == 0 ? 0 : no_memory(rdr);
}

/* --------------------------------------------------------------------- udsp */

static const char *text_of(const struct conf_node *item, unsigned id)
{
	const struct conf_node *node = conf_member(item, id);

	return node == NULL ? NULL : node->cfn_text;
}

/* Checks the range of a key, so that a message has the place of its value. */
static int range_check(struct reader *rdr, const struct conf_node *item,
		       unsigned id)
{
	const struct conf_node  *node = conf_member(item, id);
	struct m0_lnet_nid_range range;
	char                     why[M0_LNET_WHY_BYTES] = "";

	if (node == NULL ||
	    m0_lnet_nid_range_parse(&range, node->cfn_text, why) == 0)
		return 0;
	return conf_fail_set(rdr->rdr_fail, &node->cfn_place, "%s is %s",
			     node->cfn_key, why);
}

static int udsp_read(struct reader *rdr, const struct conf_node *item)
{
	const struct conf_node *idx = conf_member(item, CONF_IDX);
	const struct conf_node *action = conf_member(item, CONF_ACTION);
	const struct conf_node *priority =
		action == NULL ? NULL : conf_member(action, CONF_PRIORITY);
	struct conf_udsp        *rule = conf_udsp_add(rdr->rdr_model);
	struct m0_lnet_udsp_text text = {
		.lut_src = text_of(item, CONF_SRC),
		.lut_dst = text_of(item, CONF_DST),
		.lut_rte = text_of(item, CONF_RTE),
	};
	char why[M0_LNET_WHY_BYTES] = "";

	if (rule == NULL)
		return no_memory(rdr);
	rule->cud_place = item->cfn_place;
	if (range_check(rdr, item, CONF_SRC) != 0 ||
	    range_check(rdr, item, CONF_DST) != 0 ||
	    range_check(rdr, item, CONF_RTE) != 0)
		return -EINVAL;
	/* Minus one stands for none. */
	if (priority != NULL && priority->cfn_number >= 0)
		text.lut_priority = priority->cfn_text;
	if (m0_lnet_udsp_parse(&rule->cud_rule, &text, why) != 0)
		return conf_fail_set(rdr->rdr_fail, &item->cfn_place, "%s",
				     why);
	rule->cud_rule.lud_idx = idx == NULL ? M0_LNET_UDSP_LAST
					     : (int32_t)idx->cfn_number;
	return 0;
}

/* ------------------------------------------------------------ parameters, all */

static void ineffective(struct reader *rdr, const struct conf_node *node)
{
	static const struct {
		unsigned    id;
		const char *name;
		int64_t     same;
	} known[] = {
		{ CONF_NUMA_RANGE, "numa_range", 0 },
		{ CONF_ROUTER_SENSITIVITY, "router_sensitivity", 100 },
		{ CONF_RESPONSE_TRACKING, "response_tracking", 3 },
		{ CONF_RECOVERY_INTERVAL, "recovery_interval", 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); ++i) {
		if (node->cfn_id == known[i].id &&
		    node->cfn_number != known[i].same)
			conf_note(rdr->rdr_model, &node->cfn_place,
				  "%s %" PRId64 " has no effect", known[i].name,
				  node->cfn_number);
	}
}

static void sets_read(struct reader *rdr, const struct conf_node *map)
{
	const struct conf_node *node;

	for (node = map->cfn_first; node != NULL; node = node->cfn_next) {
		struct conf_set *set;

		if (node->cfn_kind == CONF_MAP)
			sets_read(rdr, node);
		ineffective(rdr, node);
		if (node->cfn_id < CONF_SETS || node->cfn_id >= CONF_SETS_END)
			continue;
		set = &rdr->rdr_model->cmo_sets[node->cfn_id - CONF_SETS];
		/* Buffers of number 0 are those that the node has. */
		set->cst_given = node->cfn_number > 0 ||
				 node->cfn_id < CONF_TINY;
		set->cst_value = (uint64_t)node->cfn_number;
		set->cst_place = node->cfn_place;
	}
}

/* The section node. */
static int starts_read(struct reader *rdr, const struct conf_node *map)
{
	const struct conf_node *node;
	const char             *accepted;

	for (node = map->cfn_first; node != NULL; node = node->cfn_next) {
		unsigned         start = node->cfn_id - CONF_STARTS;
		struct conf_set *set;

		if (node->cfn_id == CONF_RUNTIME)
			continue;
		M0_ASSERT(start < CONF_STARTS_NR);
		set = &rdr->rdr_model->cmo_starts[start];
		if (conf_start_read(start, node->cfn_text, &set->cst_value,
				    &accepted) != 0)
			return conf_refuse(node, accepted, rdr->rdr_fail);
		set->cst_given = true;
		set->cst_place = node->cfn_place;
	}
	return 0;
}

static int section_read(struct reader *rdr, const struct conf_node *section)
{
	static int (*const readers[])(struct reader *,
				      const struct conf_node *) = {
		[CONF_NET] = net_read,
		[CONF_ROUTE] = route_read,
		[CONF_PEER] = peer_read,
		[CONF_UDSP] = udsp_read,
	};
	const struct conf_node *item;
	int                     rc = 0;

	if (section->cfn_id == CONF_RUNTIME)
		return 0;
	rdr->rdr_model->cmo_sections |= 1U << section->cfn_id;
	if (section->cfn_id == CONF_IP2NETS)
		return ip2nets_read(rdr, section);
	if (section->cfn_id == CONF_NODE)
		return starts_read(rdr, section);
	if (section->cfn_id < ARRAY_SIZE(readers) &&
	    readers[section->cfn_id] != NULL) {
		for (item = section->cfn_first; rc == 0 && item != NULL;
		     item = item->cfn_next)
			rc = readers[section->cfn_id](rdr, item);
		return rc;
	}
	sets_read(rdr, section);
	return 0;
}

int conf_model_of_tree(struct conf_model *model, const struct conf_node *tree,
		       const struct conf_locals *locals, struct conf_fail *fail)
{
	struct reader           rdr = { model, locals, fail };
	const struct conf_node *section;
	int                     rc = 0;

	for (section = tree->cfn_first; rc == 0 && section != NULL;
	     section = section->cfn_next)
		rc = section_read(&rdr, section);
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Networks and interfaces that are added and removed while the node runs. An interface
 * that is removed stops: its messages end with -ENETDOWN, its connections end, and
 * then the removal is answered.
 */
#include <stdio.h>

#include "node/node_internal.h"

static void net_forget(struct m0_lnet_cfg *cfg, uint32_t net)
{
	struct m0_lnet_net_cfg *found = m0_node__net_find(cfg, net);

	if (found != NULL)
		*found = cfg->lc_nets[--cfg->lc_nets_nr];
}

static bool is_on(const struct m0_node *node, uint32_t net)
{
	unsigned i;

	for (i = 0; i < node->nod_nids_nr; ++i)
		if (m0_lnet_nid_net(&node->nod_nids[i]) == net)
			return true;
	return false;
}

/* -------------------------------------------------------------------- removal */

/* Stops the interface, if the engine has it, and forgets its NID. */
static void ni_remove(struct m0_node *node, const struct m0_lnet_nid *nid)
{
	struct m0_lnd_ni *ni;
	unsigned          i = 0;

	M0_PRE(!m0_lnet_nid_is_lo(nid));
	while ((ni = m0_lnet_engine_ni(node->nod_engine, i++)) != NULL &&
	       !m0_lnet_nid_eq(&ni->ldn_nid, nid))
		;
	if (ni != NULL)
		m0_lnet_engine_ni_del(node->nod_engine, ni);
	for (i = 0; i < node->nod_nids_nr; ++i) {
		if (!m0_lnet_nid_eq(&node->nod_nids[i], nid))
			continue;
		--node->nod_nids_nr;
		memmove(&node->nod_nids[i], &node->nod_nids[i + 1],
			(node->nod_nids_nr - i) * sizeof node->nod_nids[0]);
		++node->nod_nids_version;
		return;
	}
}

/* Is the interface meant by this device or address? */
static bool is_named(const struct m0_lnd_ni *ni, const char *name)
{
	struct m0_lnet_nid nid;
	char               net[M0_LNET_NIDSTR_SIZE];
	char               text[M0_LNET_CFG_NAME_BYTES + sizeof net];

	if (strcmp(ni->ldn_device, name) == 0)
		return true;
	(void)m0_lnet_net_print(m0_lnet_nid_net(&ni->ldn_nid), net, sizeof net);
	(void)snprintf(text, sizeof text, "%s@%s", name, net);
	return m0_lnet_nid_parse(&nid, text) == 0 &&
	       m0_lnet_nid_eq(&nid, &ni->ldn_nid);
}

/* The interfaces of the network that are meant by a name, or by any of the names in
 * `net`; all, if that has none. @param ret  NULL: they are only counted. */
static unsigned nids_find(const struct m0_node         *node,
			  const struct m0_lnet_net_cfg *net, const char *name,
			  struct m0_lnet_nid *ret)
{
	struct m0_lnd_ni *ni;
	bool              found;
	unsigned          nr = 0;
	unsigned          i;
	unsigned          k;

	for (i = 0; (ni = m0_lnet_engine_ni(node->nod_engine, i)) != NULL;
	     ++i) {
		if (m0_lnet_nid_net(&ni->ldn_nid) != net->lnc_net)
			continue;
		found = name != NULL ? is_named(ni, name)
				     : net->lnc_ifaces_nr == 0;
		for (k = 0; name == NULL && k < net->lnc_ifaces_nr; ++k)
			found = found || is_named(ni, net->lnc_ifaces[k]);
		if (found && ret != NULL)
			ret[nr] = ni->ldn_nid;
		nr += found;
	}
	return nr;
}

/* Refuses the removal of what is not there. */
static int del_check(const struct m0_node         *node,
		     const struct m0_lnet_net_cfg *net, char *why)
{
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned i;
	int      rc;

	if (m0_lnet_net_type(net->lnc_net) == M0_LNET_TYPE_LO)
		return m0_node_why(why, -EINVAL,
				   "network lo cannot be removed: every node "
				   "is on it");
	(void)m0_lnet_net_print(net->lnc_net, text, sizeof text);
	if (!is_on(node, net->lnc_net))
		return m0_node_why(why, -ENOENT,
				   "the node is not on network %s", text);
	rc = m0_node__ifaces_check(net, why);
	for (i = 0; rc == 0 && i < net->lnc_ifaces_nr; ++i)
		if (nids_find(node, net, net->lnc_ifaces[i], NULL) == 0)
			return m0_node_why(
				why, -ENOENT,
				"\"%s\" is no interface of the node "
				"on network %s; it may be a device "
				"or an address that `net show' lists",
				net->lnc_ifaces[i], text);
	return rc;
}

int m0_node__net_del(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_net *req = &m0_node__control_record(node, nr)->rqc_net;
	const struct m0_lnet_net_cfg *net = &req->rne_cfg;
	struct m0_lnet_nid           *nids;
	unsigned                      nids_nr;
	unsigned                      i;
	int                           rc = del_check(node, net, req->rne_why);

	M0_PRE_EX(m0_node__invariant(node));
	if (rc != 0)
		return rc;
	M0_ALLOC_ARR(nids, m0_lnet_engine_nis_nr(node->nod_engine));
	if (nids == NULL)
		return m0_node_why(req->rne_why, -ENOMEM, "no memory");
	nids_nr = nids_find(node, net, NULL, nids);
	for (i = 0; i < nids_nr; ++i)
		ni_remove(node, &nids[i]);
	m0_free(nids);
	if (!is_on(node, net->lnc_net))
		net_forget(node->nod_cfg, net->lnc_net);
	node->nod_again = true;
	return 0;
}

bool m0_node__is_leaving(const struct m0_node *node)
{
	return m0_lnet_engine_nis_nr(node->nod_engine) > node->nod_nids_nr;
}

void m0_node__leaving_add(struct m0_node *node, uint32_t nr)
{
	struct m0_node_control *ctl = m0_node__control(node, nr);

	M0_PRE(node->nod_state == M0_NODE_OPEN);
	ctl->nct_nr = nr;
	m0_list_link_init(&ctl->nct_leaving);
	m0_list_add_tail(&node->nod_leaving, &ctl->nct_leaving);
}

void m0_node__left(struct m0_node *node)
{
	struct m0_node_control *ctl;
	struct m0_node_control *next;

	if (node->nod_state == M0_NODE_OPEN && m0_node__is_leaving(node))
		return;
	m0_list_for_each_entry_safe(&node->nod_leaving, ctl, next,
				    struct m0_node_control, nct_leaving) {
		m0_list_del(&ctl->nct_leaving);
		m0_node__answer(node, ctl->nct_nr);
	}
}

/* -------------------------------------------------------------------- addition */

/* Refuses what a network that the node is on already cannot get. */
static int known_check(const struct m0_node         *node,
		       const struct m0_lnet_net_cfg *net, char *why)
{
	char text[M0_LNET_NIDSTR_SIZE];

	if (!is_on(node, net->lnc_net))
		return 0;
	(void)m0_lnet_net_print(net->lnc_net, text, sizeof text);
	if (net->lnc_ifaces_nr == 0)
		return m0_node_why(why, -EEXIST,
				   "the node is on network %s already; name "
				   "an interface to be added to it",
				   text);
	if (net->lnc_peer_credits != 0 || net->lnc_credits != 0 ||
	    net->lnc_peer_timeout_s != 0 || net->lnc_peer_buffer_credits != 0 ||
	    net->lnc_options[0] != 0)
		return m0_node_why(why, -EEXIST,
				   "the node is on network %s already; an "
				   "interface that is added to it has the "
				   "options of the network and none of its own",
				   text);
	return 0;
}

/* Puts the network among those of the configuration, if it is not there. */
static int net_note(struct m0_lnet_cfg *cfg, const struct m0_lnet_net_cfg *net,
		    char *why)
{
	int rc;

	if (m0_node__net_find(cfg, net->lnc_net) != NULL)
		return 0;
	if (cfg->lc_nets_nr == M0_LNET_CFG_NETS_MAX)
		return m0_node_why(why, -ENOSPC,
				   "the node is on %d networks; it may be on "
				   "no more",
				   M0_LNET_CFG_NETS_MAX);
	cfg->lc_nets[cfg->lc_nets_nr++] = *net;
	rc = m0_lnet_cfg_check(cfg, why);
	if (rc != 0)
		--cfg->lc_nets_nr;
	return rc;
}

/* Starts all interfaces, or none. */
static int ifaces_start(struct m0_node             *node,
			const struct m0_node_iface *ifaces, unsigned nr,
			char *why)
{
	uint64_t incarnation = m0_os_wall_ns();
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned i;
	int      rc = 0;

	if (nr > M0_NODE_NIS_MAX - (node->nod_nids_nr - 1))
		return m0_node_why(why, -ENOSPC,
				   "the node may have %d interfaces, and no "
				   "more",
				   (int)M0_NODE_NIS_MAX);
	for (i = 0; rc == 0 && i < nr; ++i)
		rc = m0_node__ni_start(node, &ifaces[i].nif_nid,
				       ifaces[i].nif_device, incarnation, why);
	if (rc == 0)
		return 0;
	if (rc == -EEXIST)
		m0_node_why(why, rc, "the node has %s already",
			    m0_lnet_nid_print(&ifaces[i - 1].nif_nid, text,
					      sizeof text));
	/* The last did not start. */
	for (--i; i > 0; --i)
		ni_remove(node, &ifaces[i - 1].nif_nid);
	return rc;
}

static int net_start(struct m0_node *node, const struct m0_lnet_net_cfg *net,
		     char *why)
{
	struct m0_lnet_cfg   *cfg;
	struct m0_node_iface *ifaces;
	unsigned              nr = 0;
	int                   rc = -ENOMEM;

	M0_ALLOC_PTR(cfg);
	M0_ALLOC_ARR(ifaces, M0_NODE_NIS_MAX);
	if (cfg != NULL && ifaces != NULL) {
		cfg->lc_nets[0] = *net;
		cfg->lc_nets_nr = 1;
		rc = m0_node__ifaces_find(node, cfg, ifaces, &nr, why);
	}
	if (rc == 0)
		rc = ifaces_start(node, ifaces, nr, why);
	m0_free(ifaces);
	m0_free(cfg);
	return rc;
}

int m0_node__net_add(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_net *req = &m0_node__control_record(node, nr)->rqc_net;
	uint32_t            net = req->rne_cfg.lnc_net;
	char               *why = req->rne_why;
	int                 rc;

	M0_PRE_EX(m0_node__invariant(node));
	rc = m0_node__ifaces_check(&req->rne_cfg, why);
	if (rc == 0)
		rc = known_check(node, &req->rne_cfg, why);
	if (rc == 0)
		rc = net_note(node->nod_cfg, &req->rne_cfg, why);
	if (rc == 0)
		rc = net_start(node, &req->rne_cfg, why);
	if (rc != 0 && !is_on(node, net))
		net_forget(node->nod_cfg, net);
	if (rc != 0 && why[0] == 0)
		m0_node_why(why, rc, "the network cannot be added: %s",
			    m0_errname(rc));
	node->nod_again = true;
	return rc;
}

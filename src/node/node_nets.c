/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks and interfaces that are added and removed while the node runs. An interface
 * that is removed stops: its messages end with -ENETDOWN, its connections end, and
 * then the removal is answered.
 */
#include <stdio.h>

#include "node/node_internal.h"

static struct m0_lnet_net_cfg *net_find(struct m0_lnet_cfg *cfg, uint32_t net)
{
	unsigned i;

	for (i = 0; i < cfg->lc_nets_nr; ++i)
		if (cfg->lc_nets[i].lnc_net == net)
			return &cfg->lc_nets[i];
	return NULL;
}

static void net_forget(struct m0_lnet_cfg *cfg, uint32_t net)
{
	struct m0_lnet_net_cfg *found = net_find(cfg, net);

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

/* Is the interface named by this device or address? */
static bool is_named(const struct m0_lnd_ni *ni, const char *name)
{
	char  text[M0_LNET_NIDSTR_SIZE];
	char *at;

	if (strncmp(ni->ldn_device, name, sizeof ni->ldn_device) == 0)
		return true;
	(void)m0_lnet_nid_print(&ni->ldn_nid, text, sizeof text);
	at = strchr(text, '@');
	M0_ASSERT(at != NULL);
	*at = 0;
	return strcmp(text, name) == 0;
}

/* The interfaces of a network that a name stands for; NULL: all. @return their
 * number. */
static unsigned nids_find(const struct m0_node *node, uint32_t net,
			  const char *name, struct m0_lnet_nid *ret)
{
	struct m0_lnd_ni *ni;
	unsigned          nr = 0;
	unsigned          i;

	for (i = 0; (ni = m0_lnet_engine_ni(node->nod_engine, i)) != NULL; ++i)
		if (m0_lnet_nid_net(&ni->ldn_nid) == net &&
		    (name == NULL || is_named(ni, name)))
			ret[nr++] = ni->ldn_nid;
	return nr;
}

static int del_refused(const struct m0_node *node, uint32_t net,
		       const char *name, char *why)
{
	char text[M0_LNET_NIDSTR_SIZE];

	(void)m0_lnet_net_print(net, text, sizeof text);
	if (!is_on(node, net))
		return m0_node_why(why, -ENOENT,
				   "the node is not on network %s", text);
	return m0_node_why(why, -ENOENT,
			   "\"%s\" is no interface of the node on network %s; "
			   "it may be a device or an address that `net show' "
			   "lists",
			   name, text);
}

int m0_node__net_del(struct m0_node *node, uint32_t nr)
{
	struct m0_ring_net *req = &m0_node__control_record(node, nr)->rqc_net;
	uint32_t            net = req->rne_cfg.lnc_net;
	const char         *name = req->rne_cfg.lnc_ifaces_nr > 0
					   ? req->rne_cfg.lnc_ifaces[0]
					   : NULL;
	struct m0_lnet_nid *nids;
	unsigned            nids_nr;
	unsigned            i;

	M0_PRE_EX(m0_node__invariant(node));
	if (m0_lnet_net_type(net) == M0_LNET_TYPE_LO)
		return m0_node_why(req->rne_why, -EINVAL,
				   "network lo cannot be removed: every node "
				   "is on it");
	M0_ALLOC_ARR(nids, m0_lnet_engine_nis_nr(node->nod_engine));
	if (nids == NULL)
		return m0_node_why(req->rne_why, -ENOMEM, "no memory");
	nids_nr = is_on(node, net) ? nids_find(node, net, name, nids) : 0;
	for (i = 0; i < nids_nr; ++i)
		ni_remove(node, &nids[i]);
	m0_free(nids);
	if (nids_nr == 0)
		return del_refused(node, net, name, req->rne_why);
	if (!is_on(node, net))
		net_forget(node->nod_cfg, net);
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

	if (net_find(cfg, net->lnc_net) != NULL)
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
		m0_node_why(why, rc,
			    "the node has %s already, or it is still "
			    "stopping",
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

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The LNet nodes of this process that TMs may use. A node stays on the list
 * while a TM refers to it.
 */
#include "xprt/lnet/xlnet_internal.h"

struct m0_mutex       m0_xlnet__lock = M0_MUTEX_SINIT(&m0_xlnet__lock);
static struct m0_list nodes;
static bool           nodes_inited;

/* m0_xlnet__lock is held. */
static void nodes_init(void)
{
	if (!nodes_inited)
		m0_list_init(&nodes);
	nodes_inited = true;
}

/* m0_xlnet__lock is held. */
static struct xlnet_node *node_of_lnet(const struct m0_lnet *lnet)
{
	struct xlnet_node *node;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	if (!nodes_inited)
		return NULL;
	m0_list_for_each_entry(&nodes, node, struct xlnet_node, xn_link) {
		if (node->xn_lnet == lnet)
			return node;
	}
	return NULL;
}

static bool nid_is_on(const struct xlnet_node  *node,
		      const struct m0_lnet_nid *nid)
{
	struct m0_lnet_process_id id;
	unsigned                  i;

	for (i = 0; m0_lnet_get_id(node->xn_lnet, i, &id) == 0; ++i) {
		if (m0_lnet_nid_eq(&id.lp_nid, nid))
			return true;
	}
	return false;
}

/*
 * The node that has a NID; NULL: any NID. One whose daemon has ended only if there is no
 * other. m0_xlnet__lock is held.
 */
static struct xlnet_node *node_of_nid(const struct m0_lnet_nid *nid)
{
	struct xlnet_node *node;
	struct xlnet_node *ended = NULL;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	if (!nodes_inited)
		return NULL;
	m0_list_for_each_entry(&nodes, node, struct xlnet_node, xn_link) {
		if (nid != NULL && !nid_is_on(node, nid))
			continue;
		if (!m0_lnet_is_ended(node->xn_lnet))
			return node;
		ended = node;
	}
	return ended;
}

static m0_time_t node_run(struct m0_lnet_runner *runner, m0_time_t now)
{
	struct xlnet_node *node =
		container_of(runner, struct xlnet_node, xn_runner);
	struct xlnet_machine *xm;

	(void)now;
	if (!m0_lnet_is_ended(node->xn_lnet))
		return M0_TIME_NEVER;
	m0_mutex_lock(&m0_xlnet__lock);
	m0_list_for_each_entry(&node->xn_machines, xm, struct xlnet_machine,
			       xm_link) {
		__atomic_store_n(&xm->xm_has_lost, true, __ATOMIC_RELEASE);
		m0_net_kit_machine_fail(xm->xm_machine, -ESHUTDOWN);
	}
	m0_mutex_unlock(&m0_xlnet__lock);
	return M0_TIME_NEVER;
}

struct xlnet_node *m0_xlnet__node_make(struct m0_lnet *lnet)
{
	struct xlnet_node *node;

	M0_ALLOC_PTR(node);
	if (node == NULL)
		return NULL;
	node->xn_lnet = lnet;
	m0_list_link_init(&node->xn_link);
	m0_list_init(&node->xn_machines);
	m0_lnet_eq_init(&node->xn_eq, lnet, m0_xlnet__event, 0);
	m0_lnet_eq_told_set(&node->xn_eq, m0_xlnet__events_end);
	node->xn_runner.ru_run = node_run;
	if (m0_lnet_is_attached(lnet))
		m0_lnet_runner_add(lnet, &node->xn_runner);
	return node;
}

int m0_xlnet__node_add(struct xlnet_node *node)
{
	int rc = -EEXIST;

	m0_mutex_lock(&m0_xlnet__lock);
	nodes_init();
	if (node_of_lnet(node->xn_lnet) == NULL)
		rc = m0_xlnet__mem_node_enter(node->xn_lnet);
	if (rc == 0)
		m0_list_add_tail(&nodes, &node->xn_link);
	m0_mutex_unlock(&m0_xlnet__lock);
	return rc;
}

struct xlnet_node *m0_xlnet__node_next(const struct xlnet_node *node)
{
	struct m0_list_link *link = NULL;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	if (nodes_inited)
		link = node == NULL ? m0_list_first(&nodes)
				    : m0_list_next(&nodes, &node->xn_link);
	return link == NULL ? NULL
			    : container_of(link, struct xlnet_node, xn_link);
}

bool m0_xlnet__node_is_attached(void)
{
	const struct xlnet_node *node = NULL;
	bool                     found = false;

	m0_mutex_lock(&m0_xlnet__lock);
	while (!found && (node = m0_xlnet__node_next(node)) != NULL)
		found = m0_lnet_is_attached(node->xn_lnet);
	m0_mutex_unlock(&m0_xlnet__lock);
	return found;
}

/* Takes a node off the list. m0_xlnet__lock is held. */
static void node_del(struct xlnet_node *node)
{
	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	m0_list_del(&node->xn_link);
	if (!node->xn_has_no_memory)
		m0_xlnet__mem_node_leave(node->xn_lnet);
}

void m0_xlnet__node_free(struct xlnet_node *node)
{
	M0_PRE(m0_list_is_empty(&node->xn_machines));
	M0_PRE(node->xn_users_nr == 0);
	if (m0_lnet_is_attached(node->xn_lnet))
		m0_lnet_runner_del(node->xn_lnet, &node->xn_runner);
	m0_lnet_eq_fini(&node->xn_eq);
	m0_list_fini(&node->xn_machines);
	m0_list_link_fini(&node->xn_link);
	m0_free(node);
}

int m0_net_lnet_use(struct m0_lnet *lnet)
{
	struct xlnet_node *node = m0_xlnet__node_make(lnet);
	int                rc;

	if (node == NULL)
		return -ENOMEM;
	rc = m0_xlnet__node_add(node);
	if (rc != 0)
		m0_xlnet__node_free(node);
	return rc;
}

int m0_net_lnet_unuse(struct m0_lnet *lnet)
{
	struct xlnet_node *node;
	int                rc = 0;

	m0_mutex_lock(&m0_xlnet__lock);
	node = node_of_lnet(lnet);
	if (node == NULL || node->xn_is_default)
		rc = -ENOENT;
	else if (node->xn_users_nr > 0)
		rc = -EBUSY;
	else
		node_del(node);
	m0_mutex_unlock(&m0_xlnet__lock);
	if (rc == 0)
		m0_xlnet__node_free(node);
	return rc;
}

bool m0_xlnet__nodes_are_empty(void)
{
	return !nodes_inited || m0_list_is_empty(&nodes);
}

struct xlnet_node *m0_xlnet__node_take_default(void)
{
	struct xlnet_node *node;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	if (!nodes_inited)
		return NULL;
	m0_list_for_each_entry(&nodes, node, struct xlnet_node, xn_link) {
		if (node->xn_is_default) {
			node_del(node);
			return node;
		}
	}
	return NULL;
}

/* The address of a machine that may be anywhere. */
static void addr_any(const struct xlnet_node *node, struct xlnet_addr *ret)
{
	struct m0_lnet_process_id id;

	if (m0_lnet_get_id(node->xn_lnet, 1, &id) != 0)
		(void)m0_lnet_get_id(node->xn_lnet, 0, &id);
	ret->xa_nid = id.lp_nid;
	ret->xa_portal = M0_NET_LNET_PORTAL;
	ret->xa_tmid = XLNET_TMID_ANY;
}

int m0_xlnet__node_get(struct xlnet_machine         *xm,
		       const struct m0_net_kit_addr *wanted)
{
	struct xlnet_addr  addr;
	struct xlnet_node *node;

	if (xm->xm_node != NULL)
		return 0;
	if (wanted != NULL && m0_xlnet__addr_unpack(wanted, &addr) != 0)
		return -EINVAL;
	m0_mutex_lock(&m0_xlnet__lock);
	node = node_of_nid(wanted == NULL ? NULL : &addr.xa_nid);
	if (node != NULL) {
		++node->xn_users_nr;
		if (wanted == NULL)
			addr_any(node, &addr);
		xm->xm_addr = addr;
		__atomic_store_n(&xm->xm_node, node, __ATOMIC_RELEASE);
	}
	m0_mutex_unlock(&m0_xlnet__lock);
	return node == NULL ? -EADDRNOTAVAIL : 0;
}

void m0_xlnet__node_put(struct xlnet_machine *xm)
{
	m0_mutex_lock(&m0_xlnet__lock);
	--xm->xm_node->xn_users_nr;
	__atomic_store_n(&xm->xm_node, (struct xlnet_node *)NULL,
			 __ATOMIC_RELEASE);
	m0_mutex_unlock(&m0_xlnet__lock);
}

int m0_net_lnet_ifaces_get(struct m0_net_domain *dom, char ***addrs)
{
	enum {
		MAX = 512
	};
	struct m0_lnet_process_id id;
	struct xlnet_node        *node;
	char                    **ret;
	char                     *text;
	unsigned                  nr = 0;
	unsigned                  i;

	(void)dom;
	ret = m0_alloc((MAX + 1) * sizeof *ret + MAX * M0_LNET_NIDSTR_SIZE);
	if (ret == NULL)
		return -ENOMEM;
	text = (char *)&ret[MAX + 1];
	m0_mutex_lock(&m0_xlnet__lock);
	nodes_init();
	m0_list_for_each_entry(&nodes, node, struct xlnet_node, xn_link) {
		/* The first of each is 0@lo. */
		for (i = nr == 0 ? 0 : 1;
		     nr < MAX && m0_lnet_get_id(node->xn_lnet, i, &id) == 0;
		     ++i, ++nr, text += M0_LNET_NIDSTR_SIZE)
			ret[nr] = m0_lnet_nid_print(&id.lp_nid, text,
						    M0_LNET_NIDSTR_SIZE);
	}
	m0_mutex_unlock(&m0_xlnet__lock);
	*addrs = ret;
	return 0;
}

void m0_net_lnet_ifaces_put(struct m0_net_domain *dom, char ***addrs)
{
	(void)dom;
	m0_free(*addrs);
	*addrs = NULL;
}

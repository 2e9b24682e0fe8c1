/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The sunrpc transport: its table, its addresses, and the machines of the
 * process by address.
 */
#include <stdio.h>

#include "xprt/sunrpc/sunrpc_internal.h"

/* ------------------------------------------------------------- addresses -- */

enum {
	EP_LEN = 12,
	/* Start takes an address with one byte more, 1 if any id will do. */
	WANTED_LEN = EP_LEN + 1,
	PORT_MAX = 65535,
	/* No host owns 0.0.0.0/8, or an address from 224.0.0.0 on. */
	HOST_MIN = 1 << 24
};
#define HOST_MAX 0xdfffffffU

static void number_put(uint8_t *to, uint32_t v)
{
	to[0] = (uint8_t)(v >> 24);
	to[1] = (uint8_t)(v >> 16);
	to[2] = (uint8_t)(v >> 8);
	to[3] = (uint8_t)v;
}

static uint32_t number_get(const uint8_t *from)
{
	return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
	       (uint32_t)from[2] << 8 | from[3];
}

void m0_sunrpc__addr(struct m0_net_kit_addr *ret, const struct sr_ep *ep)
{
	ret->nka_len = EP_LEN;
	number_put(ret->nka_bytes, ep->se_host);
	number_put(ret->nka_bytes + 4, ep->se_port);
	number_put(ret->nka_bytes + 8, ep->se_id);
}

bool m0_sunrpc__ep(struct sr_ep *ret, const struct m0_net_kit_addr *addr)
{
	if (addr->nka_len < EP_LEN)
		return false;
	ret->se_host = number_get(addr->nka_bytes);
	ret->se_port = number_get(addr->nka_bytes + 4);
	ret->se_id = number_get(addr->nka_bytes + 8);
	return m0_sunrpc__ep_is_valid(ret);
}

bool m0_sunrpc__ep_is_valid(const struct sr_ep *ep)
{
	return ep->se_host >= HOST_MIN && ep->se_host <= HOST_MAX &&
	       ep->se_port > 0 && ep->se_port <= PORT_MAX;
}

static bool number_take(const char **s, uint64_t max, uint32_t *ret)
{
	uint64_t v = 0;
	int      nr = 0;

	for (; **s >= '0' && **s <= '9' && nr < 10; ++*s, ++nr)
		v = v * 10 + (uint64_t)(**s - '0');
	*ret = (uint32_t)v;
	return nr > 0 && v <= max;
}

static bool host_take(const char **s, uint32_t *ret)
{
	uint32_t part;
	int      i;

	*ret = 0;
	for (i = 0; i < 4; ++i) {
		if ((i > 0 && *(*s)++ != '.') || !number_take(s, 255, &part))
			return false;
		*ret = *ret << 8 | part;
	}
	return *ret >= HOST_MIN && *ret <= HOST_MAX;
}

/* The part before the id, with its colon. */
static bool place_take(const char **s, bool any, struct sr_ep *ret)
{
	if (any && **s == '*') {
		ret->se_host = 0;
		++*s;
	} else if (!host_take(s, &ret->se_host)) {
		return false;
	}
	return *(*s)++ == ':' && number_take(s, PORT_MAX, &ret->se_port) &&
	       *(*s)++ == ':';
}

static int sunrpc_addr_parse(const char *text, struct m0_net_kit_addr *ret)
{
	struct sr_ep ep;

	if (!place_take(&text, false, &ep) || ep.se_port == 0 ||
	    !number_take(&text, UINT32_MAX, &ep.se_id) || *text != '\0')
		return -EINVAL;
	m0_sunrpc__addr(ret, &ep);
	return 0;
}

static int sunrpc_wanted_parse(const char *text, struct m0_net_kit_addr *ret)
{
	struct sr_ep ep = { .se_id = 0 };
	bool         any = false;

	if (!place_take(&text, true, &ep))
		return -EINVAL;
	if (*text == '*') {
		any = true;
		++text;
	} else if (!number_take(&text, UINT32_MAX, &ep.se_id)) {
		return -EINVAL;
	}
	if (*text != '\0')
		return -EINVAL;
	m0_sunrpc__addr(ret, &ep);
	ret->nka_len = WANTED_LEN;
	ret->nka_bytes[EP_LEN] = any;
	return 0;
}

static void sunrpc_addr_print(const struct m0_net_kit_addr *addr, char *ret)
{
	const uint8_t *b = addr->nka_bytes;

	(void)snprintf(ret, M0_NET_KIT_ADDR_TEXT, "%u.%u.%u.%u:%u:%u", b[0],
		       b[1], b[2], b[3], number_get(b + 4), number_get(b + 8));
}

/* -------------------------------------------------------------- machines -- */

bool m0_sunrpc__hold(struct sr_machine *sm)
{
	__atomic_add_fetch(&sm->sm_users_nr, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&sm->sm_left, __ATOMIC_SEQ_CST))
		return true;
	m0_sunrpc__release(sm);
	return false;
}

void m0_sunrpc__release(struct sr_machine *sm)
{
	__atomic_sub_fetch(&sm->sm_users_nr, 1, __ATOMIC_SEQ_CST);
}

static struct sr_machine *find_locked(const struct sr_ep *ep)
{
	struct m0_net_kit_addr_node *node;
	struct m0_net_kit_addr       addr;

	m0_sunrpc__addr(&addr, ep);
	node = m0_net_kit_addr_find(&m0_sunrpc__node.sn_machines, &addr);
	return node == NULL ? NULL
			    : container_of(node, struct sr_machine, sm_node);
}

struct sr_machine *m0_sunrpc__find(const struct sr_ep *ep)
{
	struct sr_machine *sm;

	m0_mutex_lock(&m0_sunrpc__node.sn_lock);
	sm = find_locked(ep);
	if (sm != NULL && !m0_sunrpc__hold(sm))
		sm = NULL;
	m0_mutex_unlock(&m0_sunrpc__node.sn_lock);
	return sm;
}

/* The highest that is free, as the LNet transport has it. */
static int id_pick(struct sr_ep *ep)
{
	uint32_t id;

	for (id = M0_NET_BULK_SUNRPC_ID_MAX;; --id) {
		ep->se_id = id;
		if (find_locked(ep) == NULL)
			return 0;
		if (id == 0)
			return -EADDRNOTAVAIL;
	}
}

/* Its host and port are the process'. */
static int machine_enter(struct sr_machine *sm, struct sr_ep *ep, bool any_id)
{
	int rc = 0;

	if (any_id)
		rc = id_pick(ep);
	else if (find_locked(ep) != NULL)
		rc = -EADDRINUSE;
	if (rc != 0)
		return rc;
	sm->sm_ep = *ep;
	m0_sunrpc__addr(&sm->sm_node.nan_addr, ep);
	rc = m0_net_kit_addr_add(&m0_sunrpc__node.sn_machines, &sm->sm_node);
	if (rc == 0) {
		m0_list_link_init(&sm->sm_link);
		m0_list_add_tail(&m0_sunrpc__node.sn_machine_list,
				 &sm->sm_link);
		++m0_sunrpc__node.sn_machines_nr;
		m0_sunrpc__cpus_hint();
	}
	return rc;
}

static int sunrpc_start(struct m0_net_kit_machine    *machine,
			const struct m0_net_kit_addr *wanted,
			struct m0_net_kit_addr       *ret_own)
{
	struct sr_node    *node = &m0_sunrpc__node;
	struct sr_machine *sm = m0_net_kit_machine_pvt(machine);
	struct sr_ep       ep = { .se_host = 0 };
	bool               any = true;
	bool               first;
	int                rc;

	sm->sm_machine = machine;
	if (wanted != NULL) {
		(void)m0_sunrpc__ep(&ep, wanted);
		any = wanted->nka_bytes[EP_LEN];
	}
	m0_mutex_lock(&node->sn_lock);
	first = node->sn_machines_nr == 0;
	rc = m0_sunrpc__node_listen(&ep);
	if (rc == 0) {
		rc = machine_enter(sm, &ep, any);
		if (rc != 0 && first)
			m0_sunrpc__node_unlisten();
	}
	m0_mutex_unlock(&node->sn_lock);
	/* Also if it has come to nothing: it was to be seen meanwhile. */
	if (first)
		m0_sunrpc__node_rpcbind();
	if (rc == 0)
		m0_sunrpc__addr(ret_own, &ep);
	return rc;
}

/* Messages are refused by the machine's state, the rest goes on. */
static void sunrpc_stop(struct m0_net_kit_machine *machine)
{
	(void)machine;
}

static void sunrpc_leave(struct m0_net_kit_machine *machine)
{
	struct sr_node    *node = &m0_sunrpc__node;
	struct sr_machine *sm = m0_net_kit_machine_pvt(machine);
	bool               last;

	m0_mutex_lock(&node->sn_lock);
	m0_net_kit_addr_del(&node->sn_machines, &sm->sm_node);
	m0_list_del(&sm->sm_link);
	last = --node->sn_machines_nr == 0;
	m0_sunrpc__cpus_hint();
	if (last)
		m0_sunrpc__node_unlisten();
	m0_mutex_unlock(&node->sn_lock);
	if (last)
		m0_sunrpc__node_rpcbind();
	__atomic_store_n(&sm->sm_left, 1, __ATOMIC_SEQ_CST);
	/* A copy, or a system call that does not block. */
	m0_os_zero_wait(&sm->sm_users_nr);
}

/* ------------------------------------------------------------ operations -- */

/* Only identities refer to the buffer, but for a message that has left. */
static bool sunrpc_cancel(struct m0_net_kit_buf *kb)
{
	struct sr_buf *sb = m0_net_kit_buf_pvt(kb);
	bool           waits = sb->sb_waits == m0_net_kit_buf_id(kb);

	sb->sb_waits = 0;
	return waits;
}

/* Its TMs exchange no work: threads of connections visit them. */
static const struct m0_net_kit_copy_ops sunrpc_copy_ops = { .nkc_bulk_is_short =
								    false };

static const struct m0_net_kit_ops sunrpc_kit_ops = {
	.nko_copy = &sunrpc_copy_ops,
	.nko_machine_size = sizeof(struct sr_machine),
	.nko_buf_size = sizeof(struct sr_buf),
	.nko_buffer_max = M0_NET_BULK_SUNRPC_BUFFER_MAX,
	.nko_segment_max = M0_NET_BULK_SUNRPC_SEGMENT_MAX,
	.nko_segments_max = M0_NET_BULK_SUNRPC_SEGMENTS_MAX,
	.nko_addr_parse = sunrpc_addr_parse,
	.nko_wanted_parse = sunrpc_wanted_parse,
	.nko_addr_print = sunrpc_addr_print,
	.nko_start = sunrpc_start,
	.nko_stop = sunrpc_stop,
	.nko_leave = sunrpc_leave,
	.nko_send = m0_sunrpc__send,
	.nko_bulk = m0_sunrpc__bulk,
	.nko_cancel = sunrpc_cancel
};

/* --------------------------------------------------------------- domains -- */

struct sr_dom *m0_sunrpc__dom(const struct m0_net_domain *dom)
{
	return (struct sr_dom *)(uintptr_t)*m0_net_kit_dom_word(dom);
}

static int sunrpc_dom_init(const struct m0_net_xprt *xprt,
			   struct m0_net_domain     *dom)
{
	struct sr_dom *sd;
	int            rc;

	(void)xprt;
	M0_ALLOC_PTR(sd);
	if (sd == NULL)
		return -ENOMEM;
	rc = m0_net_kit_dom_init(dom, &sunrpc_kit_ops);
	if (rc != 0) {
		m0_free(sd);
		return rc;
	}
	sd->sdm_timeout_ms = M0_NET_BULK_SUNRPC_TIMEOUT_MS;
	sd->sdm_idle_ms = M0_NET_BULK_SUNRPC_IDLE_MS;
	m0_list_link_init(&sd->sdm_link);
	m0_mutex_lock(&m0_sunrpc__node.sn_lock);
	m0_list_add_tail(&m0_sunrpc__node.sn_doms, &sd->sdm_link);
	m0_mutex_unlock(&m0_sunrpc__node.sn_lock);
	*m0_net_kit_dom_word(dom) = (uintptr_t)sd;
	return 0;
}

/* The thread closes its connections, and frees it. */
static void sunrpc_dom_fini(struct m0_net_domain *dom)
{
	struct sr_dom *sd = m0_sunrpc__dom(dom);

	m0_net_kit_dom_fini(dom);
	m0_mutex_lock(&m0_sunrpc__node.sn_lock);
	sd->sdm_gone = true;
	m0_sunrpc__node.sn_dom_gone = true;
	m0_mutex_unlock(&m0_sunrpc__node.sn_lock);
	m0_sunrpc__node_wake();
}

void m0_net_bulk_sunrpc_dom_timeout_set(struct m0_net_domain *dom, uint32_t ms)
{
	M0_PRE(ms > 0);
	__atomic_store_n(&m0_sunrpc__dom(dom)->sdm_timeout_ms, ms,
			 __ATOMIC_RELAXED);
}

void m0_net_bulk_sunrpc_dom_idle_set(struct m0_net_domain *dom, uint32_t ms)
{
	__atomic_store_n(&m0_sunrpc__dom(dom)->sdm_idle_ms, ms,
			 __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------- table -- */

static const struct m0_net_xprt_ops sunrpc_ops = {
	M0_NET_KIT_XPRT_OPS_BUT_DOM, .xo_share = m0_sunrpc__node_share,
	.xo_unshare = m0_sunrpc__node_unshare, .xo_dom_init = sunrpc_dom_init,
	.xo_dom_fini = sunrpc_dom_fini
};

const struct m0_net_xprt m0_net_bulk_sunrpc_xprt = { .nx_name = "sunrpc",
						     .nx_ops = &sunrpc_ops };

void m0_net_bulk_sunrpc_tm_set_num_threads(struct m0_net_transfer_mc *tm,
					   size_t                     num)
{
	m0_net_kit_machine_workers_set(tm, num);
}

size_t m0_net_bulk_sunrpc_tm_get_num_threads(
	const struct m0_net_transfer_mc *tm)
{
	return m0_net_kit_machine_workers_get(tm);
}

void m0_net_bulk_sunrpc_stats_get(struct m0_net_bulk_sunrpc_stats *ret)
{
	const uint64_t *from = (const uint64_t *)&m0_sunrpc__node.sn_stats;
	uint64_t       *to = (uint64_t *)ret;
	size_t          i;

	for (i = 0; i < sizeof *ret / sizeof *to; ++i)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "node.h"

enum {
	/** log2 of the alignment of segments: whole pages. */
	SEGMENT_SHIFT = 12
};

static void node_event(const struct m0_net_tm_event *ev)
{
	struct tool_node *node =
		container_of(ev->nte_tm, struct tool_node, tn_tm);

	if (ev->nte_type == M0_NET_TEV_ERROR)
		m0_atomic64_inc(&node->tn_errors_nr);
	if (ev->nte_type != M0_NET_TEV_STATE_CHANGE)
		return;
	m0_mutex_lock(&node->tn_mutex);
	node->tn_state = ev->nte_next_state;
	node->tn_rc = ev->nte_status;
	m0_cond_broadcast(&node->tn_cond);
	m0_mutex_unlock(&node->tn_mutex);
}

static const struct m0_net_tm_callbacks node_callbacks = { .ntc_event_cb =
								   node_event };

/* Under the lock, which is released meanwhile. */
static void node_deliver(struct tool_node *node)
{
	m0_mutex_unlock(&node->tn_mutex);
	m0_net_buffer_event_deliver_all(&node->tn_tm);
	m0_mutex_lock(&node->tn_mutex);
	(void)m0_cond_timedwait(&node->tn_cond,
				m0_time_from_now(0, (long)M0_TIME_ONE_MSEC));
}

/* Waits for `state`, or for the failure of the machine. */
static int node_wait(struct tool_node *node, enum m0_net_tm_state state)
{
	int rc = 0;

	m0_mutex_lock(&node->tn_mutex);
	while (node->tn_state != state && node->tn_state != M0_NET_TM_FAILED) {
		if (node->tn_deliver)
			node_deliver(node);
		else
			m0_cond_wait(&node->tn_cond);
	}
	if (node->tn_state != state)
		rc = node->tn_rc != 0 ? node->tn_rc : -EIO;
	m0_mutex_unlock(&node->tn_mutex);
	return rc;
}

int tool_node_init(struct tool_node *node, const char *name,
		   const struct tool_xprt *xprt)
{
	int rc;

	M0_SET0(node);
	node->tn_name = name;
	m0_mutex_init(&node->tn_mutex);
	m0_cond_init(&node->tn_cond, &node->tn_mutex);
	rc = m0_net_domain_init(&node->tn_dom, xprt->txp_xprt);
	if (rc != 0)
		goto out_cond;
	node->tn_tm.ntm_callbacks = &node_callbacks;
	rc = m0_net_tm_init(&node->tn_tm, &node->tn_dom);
	if (rc != 0)
		goto out_dom;
	node->tn_state = M0_NET_TM_INITIALIZED;
	node->tn_open = true;
	return 0;

out_dom:
	(void)m0_net_domain_fini(&node->tn_dom);
out_cond:
	m0_cond_fini(&node->tn_cond);
	m0_mutex_fini(&node->tn_mutex);
	return rc;
}

int tool_node_start(struct tool_node *node, const char *addr)
{
	int rc = m0_net_tm_start(&node->tn_tm, addr);

	if (rc == 0)
		return node_wait(node, M0_NET_TM_STARTED);
	node->tn_state = M0_NET_TM_FAILED;
	return rc;
}

int tool_node_failed(struct tool_node *node)
{
	int rc = 0;

	m0_mutex_lock(&node->tn_mutex);
	if (node->tn_state == M0_NET_TM_FAILED)
		rc = node->tn_rc != 0 ? node->tn_rc : -EIO;
	m0_mutex_unlock(&node->tn_mutex);
	return rc;
}

const char *tool_node_addr(const struct tool_node *node)
{
	return node->tn_tm.ntm_ep->nep_addr;
}

void tool_node_stop(struct tool_node *node)
{
	if (!node->tn_open || node->tn_state != M0_NET_TM_STARTED)
		return;
	if (m0_net_tm_stop(&node->tn_tm, true) == 0)
		(void)node_wait(node, M0_NET_TM_STOPPED);
}

void tool_node_fini(struct tool_node *node)
{
	int rc;

	if (!node->tn_open)
		return;
	rc = m0_net_tm_fini(&node->tn_tm);
	M0_ASSERT_INFO(rc == 0, "%s: machine: %s", node->tn_name,
		       m0_errname(rc));
	rc = m0_net_domain_fini(&node->tn_dom);
	M0_ASSERT_INFO(rc == 0, "%s: domain: %s", node->tn_name,
		       m0_errname(rc));
	m0_cond_fini(&node->tn_cond);
	m0_mutex_fini(&node->tn_mutex);
	node->tn_open = false;
}

int tool_buffer_init(struct m0_net_buffer *nb, struct m0_net_domain *dom,
		     m0_bcount_t size)
{
	m0_bcount_t seg_max = m0_net_domain_get_max_buffer_segment_size(dom);
	uint32_t    seg_nr = (uint32_t)((size + seg_max - 1) / seg_max);
	int         rc;

	M0_PRE(size > 0);
	M0_SET0(nb);
	if (size > m0_net_domain_get_max_buffer_size(dom))
		return -EFBIG;
	rc = m0_bufvec_alloc_aligned(&nb->nb_buffer, seg_nr,
				     (size + seg_nr - 1) / seg_nr,
				     SEGMENT_SHIFT);
	if (rc != 0)
		return rc;
	rc = m0_net_buffer_register(nb, dom);
	if (rc != 0) {
		m0_bufvec_free_aligned(&nb->nb_buffer, SEGMENT_SHIFT);
		M0_SET0(nb);
	}
	return rc;
}

void tool_buffer_fini(struct m0_net_buffer *nb)
{
	int rc;

	if (nb->nb_dom == NULL)
		return;
	rc = m0_net_buffer_deregister(nb, nb->nb_dom);
	M0_ASSERT_INFO(rc == 0, "%s", m0_errname(rc));
	m0_net_desc_free(&nb->nb_desc);
	m0_bufvec_free_aligned(&nb->nb_buffer, SEGMENT_SHIFT);
	M0_SET0(nb);
}

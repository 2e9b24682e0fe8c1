/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Domains: one transport, its limits, and what is registered with it.
 */
#include "net/net_internal.h"

static void limits_read(struct m0_net_domain *dom)
{
	const struct m0_net_xprt_ops *ops = m0_net__ops(dom);

	dom->nd_get_max_buffer_size = ops->xo_get_max_buffer_size(dom);
	dom->nd_get_max_buffer_segment_size =
		ops->xo_get_max_buffer_segment_size(dom);
	dom->nd_get_max_buffer_segments =
		(uint32_t)ops->xo_get_max_buffer_segments(dom);
	dom->nd_get_max_buffer_desc_size =
		ops->xo_get_max_buffer_desc_size(dom);
	dom->nd_get_buffer_alignment =
		ops->xo_get_buffer_alignment != NULL
			? ops->xo_get_buffer_alignment(dom)
			: 1;
}

static void fields_fini(struct m0_net_domain *dom)
{
	dom->nd_xprt = NULL;
	dom->nd_magix = 0;
	m0_list_fini(&dom->nd_tms);
	m0_list_fini(&dom->nd_registered_bufs);
	m0_mutex_fini(&dom->nd_mutex);
}

static void unshare(const struct m0_net_xprt *xprt)
{
	if (xprt->nx_ops->xo_unshare != NULL)
		xprt->nx_ops->xo_unshare(xprt);
}

int m0_net_domain_init(struct m0_net_domain     *dom,
		       const struct m0_net_xprt *xprt)
{
	int rc;

	M0_PRE(dom != NULL && dom->nd_xprt == NULL);
	M0_PRE(xprt != NULL && xprt->nx_ops != NULL);

	rc = xprt->nx_ops->xo_share != NULL ? xprt->nx_ops->xo_share(xprt) : 0;
	if (rc != 0)
		return rc;
	m0_mutex_lock(&m0_net_mutex);
	m0_mutex_init(&dom->nd_mutex);
	m0_list_init(&dom->nd_registered_bufs);
	m0_list_init(&dom->nd_tms);
	dom->nd_xprt = xprt;
	dom->nd_xprt_private = NULL;
	dom->nd_provisioner = NULL;
	dom->nd_pools_nr = 0;
	dom->nd_bufs_seen_nr = 0;
	dom->nd_magix = M0_NET_DOM_MAGIC;
	rc = xprt->nx_ops->xo_dom_init(xprt, dom);
	if (rc == 0) {
		limits_read(dom);
		m0_net__xprt_use(xprt);
	} else {
		fields_fini(dom);
	}
	m0_mutex_unlock(&m0_net_mutex);
	if (rc != 0)
		unshare(xprt);
	return rc;
}

int m0_net_domain_fini(struct m0_net_domain *dom)
{
	const struct m0_net_xprt *xprt = dom->nd_xprt;
	bool                      busy;

	M0_PRE(m0_net__domain_invariant(dom));

	m0_mutex_lock(&m0_net_mutex);
	m0_mutex_lock(&dom->nd_mutex);
	busy = !m0_list_is_empty(&dom->nd_tms) || dom->nd_pools_nr > 0 ||
	       !m0_list_is_empty(&dom->nd_registered_bufs);
	m0_mutex_unlock(&dom->nd_mutex);
	if (!busy) {
		m0_net__provisioner_fini(dom);
		m0_net__ops(dom)->xo_dom_fini(dom);
		m0_net__xprt_unuse(dom->nd_xprt);
		fields_fini(dom);
	}
	m0_mutex_unlock(&m0_net_mutex);
	if (!busy)
		unshare(xprt);
	return busy ? -EBUSY : 0;
}

m0_bcount_t m0_net_domain_get_max_buffer_size(struct m0_net_domain *dom)
{
	M0_PRE(m0_net__domain_invariant(dom));
	return dom->nd_get_max_buffer_size;
}

m0_bcount_t m0_net_domain_get_max_buffer_segment_size(struct m0_net_domain *dom)
{
	M0_PRE(m0_net__domain_invariant(dom));
	return dom->nd_get_max_buffer_segment_size;
}

int32_t m0_net_domain_get_max_buffer_segments(struct m0_net_domain *dom)
{
	M0_PRE(m0_net__domain_invariant(dom));
	return (int32_t)dom->nd_get_max_buffer_segments;
}

m0_bcount_t m0_net_domain_get_max_buffer_desc_size(struct m0_net_domain *dom)
{
	M0_PRE(m0_net__domain_invariant(dom));
	return dom->nd_get_max_buffer_desc_size;
}

uint32_t m0_net_domain_get_buffer_alignment(struct m0_net_domain *dom)
{
	M0_PRE(m0_net__domain_invariant(dom));
	return dom->nd_get_buffer_alignment;
}

m0_bcount_t default_xo_rpc_max_seg_size(struct m0_net_domain *dom)
{
	(void)dom;
	return 128 << 10;
}

uint32_t default_xo_rpc_max_segs_nr(struct m0_net_domain *dom)
{
	(void)dom;
	return 1;
}

m0_bcount_t default_xo_rpc_max_msg_size(struct m0_net_domain *dom,
					m0_bcount_t           rpc_size)
{
	m0_bcount_t max = m0_net_domain_get_max_buffer_size(dom);

	if (rpc_size == 0 || rpc_size > max)
		return max;
	return rpc_size < 4096 ? 4096 : rpc_size;
}

uint32_t default_xo_rpc_max_recv_msgs(struct m0_net_domain *dom,
				      m0_bcount_t           rpc_size)
{
	(void)dom;
	(void)rpc_size;
	return 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Start-up of the layer and the registry of transports.
 */
#include "net/net_internal.h"
#include "net/net_desc.h"

struct m0_mutex m0_net_mutex = M0_MUTEX_SINIT(&m0_net_mutex);
uint32_t        m0_net__domains_nr;

/* All under m0_net_mutex. */
static uint32_t                  net_inits_nr;
static struct m0_net_xprt       *xprts[M0_NET_XPRT_MAX];
static int                       xprts_nr;
static const struct m0_net_xprt *xprt_default;

int m0_net_init(void)
{
	m0_mutex_lock(&m0_net_mutex);
	++net_inits_nr;
	m0_mutex_unlock(&m0_net_mutex);
	return 0;
}

int m0_net_fini(void)
{
	int rc = 0;

	m0_mutex_lock(&m0_net_mutex);
	M0_PRE(net_inits_nr > 0);
	if (net_inits_nr == 1 && m0_net__domains_nr > 0)
		rc = -EBUSY;
	else if (--net_inits_nr == 0)
		m0_net__desc_slab_fini();
	m0_mutex_unlock(&m0_net_mutex);
	return rc;
}

static int xprt_index(const struct m0_net_xprt *xprt)
{
	int i;

	for (i = 0; i < xprts_nr; ++i) {
		if (xprts[i] == xprt)
			return i;
	}
	return -1;
}

static void xprt_add(const struct m0_net_xprt *xprt)
{
	/* The table is public as non-const, for callers of the m0 API. */
	xprts[xprts_nr++] = (struct m0_net_xprt *)(uintptr_t)xprt;
}

static void xprt_remove(int i)
{
	if (xprt_default == xprts[i])
		xprt_default = NULL;
	for (--xprts_nr; i < xprts_nr; ++i)
		xprts[i] = xprts[i + 1];
	xprts[xprts_nr] = NULL;
}

void m0_net_xprt_register(const struct m0_net_xprt *xprt)
{
	M0_PRE(xprt != NULL && xprt->nx_name != NULL && xprt->nx_ops != NULL);
	m0_mutex_lock(&m0_net_mutex);
	M0_PRE(xprts_nr < M0_NET_XPRT_MAX);
	M0_PRE(xprt_index(xprt) < 0);
	xprt_add(xprt);
	m0_mutex_unlock(&m0_net_mutex);
}

void m0_net_xprt_deregister(const struct m0_net_xprt *xprt)
{
	int i;

	m0_mutex_lock(&m0_net_mutex);
	i = xprt_index(xprt);
	M0_PRE(i >= 0);
	xprt_remove(i);
	m0_mutex_unlock(&m0_net_mutex);
}

int m0_net_xprt_init(const struct m0_net_xprt *xprt)
{
	int rc = 0;

	M0_PRE(xprt != NULL && xprt->nx_name != NULL && xprt->nx_ops != NULL);
	m0_mutex_lock(&m0_net_mutex);
	if (xprt_index(xprt) < 0) {
		if (xprts_nr == M0_NET_XPRT_MAX)
			rc = -ENOSPC;
		else
			xprt_add(xprt);
	}
	m0_mutex_unlock(&m0_net_mutex);
	return rc;
}

int m0_net_xprt_fini(const struct m0_net_xprt *xprt)
{
	int rc = 0;
	int i;

	m0_mutex_lock(&m0_net_mutex);
	i = xprt_index(xprt);
	if (m0_net__xprt_domains_nr(xprt) > 0)
		rc = -EBUSY;
	else if (i >= 0)
		xprt_remove(i);
	m0_mutex_unlock(&m0_net_mutex);
	return rc;
}

void m0_net_xprt_default_set(const struct m0_net_xprt *xprt)
{
	m0_mutex_lock(&m0_net_mutex);
	xprt_default = xprt;
	m0_mutex_unlock(&m0_net_mutex);
}

const struct m0_net_xprt *m0_net_xprt_default_get(void)
{
	const struct m0_net_xprt *xprt;

	m0_mutex_lock(&m0_net_mutex);
	xprt = xprt_default;
	m0_mutex_unlock(&m0_net_mutex);
	return xprt;
}

struct m0_net_xprt **m0_net_all_xprt_get(void)
{
	return xprts;
}

int m0_net_xprt_nr(void)
{
	int nr;

	m0_mutex_lock(&m0_net_mutex);
	nr = xprts_nr;
	m0_mutex_unlock(&m0_net_mutex);
	return nr;
}

bool m0_net_check_xprt(const struct m0_net_xprt *xprt)
{
	bool found;

	m0_mutex_lock(&m0_net_mutex);
	found = xprt_index(xprt) >= 0;
	m0_mutex_unlock(&m0_net_mutex);
	return found;
}

const struct m0_net_xprt *m0_net_xprt_find(const char *name)
{
	const struct m0_net_xprt *found = NULL;
	int                       i;

	M0_PRE(name != NULL);
	m0_mutex_lock(&m0_net_mutex);
	for (i = 0; i < xprts_nr && found == NULL; ++i) {
		if (strcmp(xprts[i]->nx_name, name) == 0)
			found = xprts[i];
	}
	m0_mutex_unlock(&m0_net_mutex);
	return found;
}

void m0_net_print_xprt(void)
{
	int i;

	m0_mutex_lock(&m0_net_mutex);
	for (i = 0; i < xprts_nr; ++i)
		m0_log(M0_LOG_INFO, "net: transport %s%s", xprts[i]->nx_name,
		       xprts[i] == xprt_default ? " (default)" : "");
	m0_mutex_unlock(&m0_net_mutex);
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

/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Start-up of the layer and the registry of transports.
 */
#include "net/net_internal.h"
#include "net/net_desc.h"

struct m0_mutex m0_net_mutex = M0_MUTEX_SINIT(&m0_net_mutex);

/* All under m0_net_mutex. */
static uint32_t                  net_inits_nr;
static uint32_t                  domains_nr;
static struct m0_net_xprt       *xprts[M0_NET_XPRT_MAX];
static int                       xprts_nr;
static const struct m0_net_xprt *xprt_default;

/*
 * Number of domains of each transport, because a transport in use stays
 * registered. m0_net_mutex guards it.
 */
static struct xprt_use {
	const struct m0_net_xprt *xu_xprt;
	uint32_t                  xu_nr;
} xprt_uses[2 * M0_NET_XPRT_MAX];

static struct xprt_use *use_find(const struct m0_net_xprt *xprt)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(xprt_uses); ++i) {
		if (xprt_uses[i].xu_nr > 0 && xprt_uses[i].xu_xprt == xprt)
			return &xprt_uses[i];
	}
	return NULL;
}

void m0_net__xprt_use(const struct m0_net_xprt *xprt)
{
	struct xprt_use *use = use_find(xprt);
	size_t           i;

	++domains_nr;
	/* A table that overflows only loses the -EBUSY of xprt_fini. */
	for (i = 0; i < ARRAY_SIZE(xprt_uses) && use == NULL; ++i) {
		if (xprt_uses[i].xu_nr == 0) {
			use = &xprt_uses[i];
			use->xu_xprt = xprt;
		}
	}
	if (use != NULL)
		++use->xu_nr;
}

void m0_net__xprt_unuse(const struct m0_net_xprt *xprt)
{
	struct xprt_use *use = use_find(xprt);

	M0_PRE(domains_nr > 0);
	--domains_nr;
	if (use != NULL)
		--use->xu_nr;
}

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
	if (net_inits_nr == 1 && domains_nr > 0)
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
	if (use_find(xprt) != NULL)
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

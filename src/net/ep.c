/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * End points: references, and the text of LNet end points.
 */
#include "net/net_internal.h"

int m0_net_end_point_create(struct m0_net_end_point  **epp,
			    struct m0_net_transfer_mc *tm, const char *addr)
{
	int rc;

	M0_PRE(epp != NULL);
	*epp = NULL;
	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(m0_net__tm_invariant(tm));
	M0_PRE(tm->ntm_state == M0_NET_TM_STARTED || m0_net__tm_has_failed(tm));
	rc = m0_net__tm_has_failed(tm)
		     ? -ESHUTDOWN
		     : m0_net__ops(tm->ntm_dom)
			       ->xo_end_point_create(epp, tm, addr);
	M0_POST(ergo(rc == 0, *epp != NULL && (*epp)->nep_tm == tm &&
				      (*epp)->nep_addr != NULL));
	if (rc != 0)
		*epp = NULL;
	m0_mutex_unlock(&tm->ntm_mutex);
	return rc;
}

int m0_net_end_point_get(struct m0_net_end_point *ep)
{
	struct m0_mutex *lock = &ep->nep_tm->ntm_mutex;
	bool             is_ours = m0_mutex_is_locked(lock);

	M0_PRE(m0_ref_read(&ep->nep_ref) >= 1);
	if (!is_ours)
		m0_mutex_lock(lock);
	m0_net__ep_get(ep);
	if (!is_ours)
		m0_mutex_unlock(lock);
	return 0;
}

int m0_net_end_point_put(struct m0_net_end_point *ep)
{
	struct m0_net_transfer_mc *tm = ep->nep_tm;

	M0_PRE(m0_ref_read(&ep->nep_ref) >= 1);
	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));
	m0_mutex_lock(&tm->ntm_mutex);
	m0_net__ep_put(ep);
	m0_mutex_unlock(&tm->ntm_mutex);
	return 0;
}

/* Decimal number of at most `max` at `*s`; moves `*s` behind it. */
static bool number_take(const char **s, uint32_t max)
{
	uint32_t v = 0;
	int      nr = 0;

	while (**s >= '0' && **s <= '9' && nr < 10) {
		v = v * 10 + (uint32_t)(**s - '0');
		if (v > max)
			return false;
		++*s;
		++nr;
	}
	return nr > 0 && !(**s >= '0' && **s <= '9');
}

static bool text_take(const char **s, const char *text)
{
	size_t nr = strlen(text);

	if (strncmp(*s, text, nr) != 0)
		return false;
	*s += nr;
	return true;
}

static bool nid_take(const char **s)
{
	int i;

	if (text_take(s, "0@lo"))
		return true;
	for (i = 0; i < 4; ++i) {
		if ((i > 0 && !text_take(s, ".")) || !number_take(s, 255))
			return false;
	}
	if (!text_take(s, "@tcp") && !text_take(s, "@o2ib"))
		return false;
	return **s == ':' || number_take(s, UINT16_MAX);
}

bool m0_net_endpoint_is_valid(const char *ep)
{
	return ep != NULL && nid_take(&ep) && text_take(&ep, ":12345:") &&
	       number_take(&ep, UINT32_MAX / 16) && text_take(&ep, ":") &&
	       number_take(&ep, UINT32_MAX / 16) && *ep == '\0';
}

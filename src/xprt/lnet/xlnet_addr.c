/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Addresses: as text, and as the bytes that the kit compares: the NID's 20, the
 * portal in one, the machine's number in two.
 */
#include "xprt/lnet/xlnet_internal.h"

enum {
	AT_PORTAL = M0_LNET_NID_BYTES,
	AT_TMID = AT_PORTAL + 1,
	ADDR_BYTES = AT_TMID + 2
};

void m0_xlnet__addr_pack(const struct xlnet_addr *addr,
			 struct m0_net_kit_addr  *ret)
{
	uint8_t *bytes = ret->nka_bytes;

	ret->nka_len = ADDR_BYTES;
	m0_lnet_nid_encode(&addr->xa_nid, bytes);
	bytes[AT_PORTAL] = (uint8_t)addr->xa_portal;
	bytes[AT_TMID] = (uint8_t)(addr->xa_tmid >> 8);
	bytes[AT_TMID + 1] = (uint8_t)addr->xa_tmid;
}

static bool addr_ok(const struct xlnet_addr *addr, bool wanted)
{
	return addr->xa_portal > M0_LNET_PORTAL_RESERVED &&
	       addr->xa_portal < XLNET_PORTALS_NR &&
	       !m0_lnet_nid_is_any(&addr->xa_nid) &&
	       (addr->xa_tmid <= M0_NET_LNET_TMID_MAX ||
		(wanted && addr->xa_tmid == XLNET_TMID_ANY));
}

int m0_xlnet__addr_unpack(const struct m0_net_kit_addr *addr,
			  struct xlnet_addr            *ret)
{
	const uint8_t *bytes = addr->nka_bytes;

	if (addr->nka_len != ADDR_BYTES ||
	    m0_lnet_nid_decode(&ret->xa_nid, bytes) != 0)
		return -EINVAL;
	ret->xa_portal = bytes[AT_PORTAL];
	ret->xa_tmid = (uint32_t)bytes[AT_TMID] << 8 | bytes[AT_TMID + 1];
	return addr_ok(ret, true) ? 0 : -EINVAL;
}

/* Digits from `s` to `end`, all of it. */
static bool number_parse(const char *s, const char *end, uint32_t max,
			 uint32_t *ret)
{
	uint32_t v = 0;
	int      nr = 0;

	for (; s < end && *s >= '0' && *s <= '9' && nr < 6; ++s, ++nr)
		v = v * 10 + (uint32_t)(*s - '0');
	*ret = v;
	return nr > 0 && s == end && v <= max;
}

/* Cuts the last part off: *end moves to its colon. @return the part. */
static const char *part_cut(const char *text, const char **end)
{
	const char *pos = *end;

	while (pos > text && pos[-1] != ':')
		--pos;
	if (pos == text)
		return NULL;
	*end = pos - 1;
	return pos;
}

static bool tmid_parse(const char *s, const char *end, bool wanted,
		       uint32_t *ret)
{
	if (wanted && end - s == 1 && *s == '*') {
		*ret = XLNET_TMID_ANY;
		return true;
	}
	return number_parse(s, end, M0_NET_LNET_TMID_MAX, ret);
}

static bool nid_parse(const char *text, const char *end,
		      struct m0_lnet_nid *ret)
{
	char   nid[M0_LNET_NIDSTR_SIZE];
	size_t nr = (size_t)(end - text);

	if (nr >= sizeof nid || memchr(text, '@', nr) == NULL)
		return false;
	memcpy(nid, text, nr);
	nid[nr] = 0;
	/* The network lo has one NID. */
	return m0_lnet_nid_parse(ret, nid) == 0 &&
	       (!m0_lnet_nid_is_lo(ret) || strncmp(nid, "0@", 2) == 0);
}

static int parse(const char *text, bool wanted, struct m0_net_kit_addr *ret)
{
	const char       *tmid_end = text + strlen(text);
	const char       *portal_end = tmid_end;
	const char       *tmid = part_cut(text, &portal_end);
	const char       *pid_end = portal_end;
	const char       *portal = part_cut(text, &pid_end);
	const char       *nid_end = pid_end;
	const char       *pid = part_cut(text, &nid_end);
	struct xlnet_addr addr;
	uint32_t          nr;

	if (tmid == NULL || portal == NULL || pid == NULL ||
	    !tmid_parse(tmid, tmid_end, wanted, &addr.xa_tmid) ||
	    !number_parse(portal, portal_end,
			  wanted ? UINT32_MAX : XLNET_PORTALS_NR - 1,
			  &addr.xa_portal) ||
	    !number_parse(pid, pid_end, M0_NET_LNET_PID, &nr) ||
	    nr != M0_NET_LNET_PID || !nid_parse(text, nid_end, &addr.xa_nid))
		return -EINVAL;
	/* The address is legal; start finds that it cannot be ours. */
	if (addr.xa_portal >= XLNET_PORTALS_NR)
		addr.xa_portal = M0_LNET_PORTAL_RESERVED;
	else if (!addr_ok(&addr, wanted))
		return -EINVAL;
	m0_xlnet__addr_pack(&addr, ret);
	return 0;
}

int m0_xlnet__addr_parse(const char *text, struct m0_net_kit_addr *ret)
{
	return parse(text, false, ret);
}

int m0_xlnet__wanted_parse(const char *text, struct m0_net_kit_addr *ret)
{
	return parse(text, true, ret);
}

static char *number_put(char *at, uint32_t v)
{
	char digits[10];
	int  nr = 0;

	do {
		digits[nr++] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	while (nr > 0)
		*at++ = digits[--nr];
	return at;
}

void m0_xlnet__addr_print(const struct m0_net_kit_addr *addr, char *ret)
{
	struct xlnet_addr xa;

	M0_BASSERT(M0_LNET_NIDSTR_SIZE + 16 <= M0_NET_KIT_ADDR_TEXT);
	/* Descriptors of others are printed before they are looked at. */
	if (m0_xlnet__addr_unpack(addr, &xa) != 0) {
		ret[0] = 0;
		return;
	}
	m0_lnet_nid_print(&xa.xa_nid, ret, M0_LNET_NIDSTR_SIZE);
	ret += strlen(ret);
	*ret++ = ':';
	ret = number_put(ret, M0_NET_LNET_PID);
	*ret++ = ':';
	ret = number_put(ret, xa.xa_portal);
	*ret++ = ':';
	ret = number_put(ret, xa.xa_tmid);
	*ret = 0;
}

/* ------------------------------------------------------------- helpers -- */

/* Bytes of the NID; 0: it is no address. */
static size_t nid_len(const char *addr)
{
	const char *at = strchr(addr, '@');
	const char *colon = strchr(at == NULL ? addr : at, ':');

	return colon == NULL ? 0 : (size_t)(colon - addr);
}

int m0_net_lnet_ep_addr_net_cmp(const char *a1, const char *a2)
{
	size_t len1 = nid_len(a1);
	size_t len2 = nid_len(a2);
	int    rc;

	if (len1 == 0 || len2 == 0)
		return -1;
	rc = memcmp(a1, a2, min64u(len1, len2));
	return rc != 0 ? rc : (len1 > len2) - (len1 < len2);
}

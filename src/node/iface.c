/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Which addresses a configuration means.
 */
#include <stdio.h>

#include "node/node_internal.h"
#include "base/ip_text.h"

/* Input and output of the search for interfaces. */
struct iface_pick {
	const struct m0_host_iface *ip_ifaces;
	unsigned                    ip_nr;
	uint32_t                    ip_net;
	struct m0_node_iface       *ip_ret;
	unsigned                    ip_max;
	unsigned                    ip_ret_nr;
	char                       *ip_why;
};

/* The network being looked at, for messages. */
static const char *net_text(const struct iface_pick *pick, char *buf)
{
	return m0_lnet_net_print(pick->ip_net, buf, M0_LNET_NIDSTR_SIZE);
}

static int pick_add(struct iface_pick *pick, const struct m0_host_addr *addr,
		    const char *device)
{
	struct m0_node_iface *hif;
	struct m0_lnet_nid    nid;
	char                  text[M0_LNET_NIDSTR_SIZE];
	unsigned              i;

	M0_PRE(device != NULL && pick->ip_ret_nr <= pick->ip_max);
	m0_lnet_nid_from_ip(&nid, pick->ip_net, addr->sa_bytes,
			    addr->sa_bytes_nr);
	for (i = 0; i < pick->ip_ret_nr; ++i) {
		if (m0_lnet_nid_eq(&pick->ip_ret[i].nif_nid, &nid))
			return m0_node_why(
				pick->ip_why, -EINVAL,
				"%s is named by two interfaces of one "
				"network; name it once",
				m0_lnet_nid_print(&nid, text, sizeof text));
	}
	if (pick->ip_ret_nr == pick->ip_max)
		return m0_node_why(pick->ip_why, -ENOSPC,
				   "there are more than %u interfaces",
				   pick->ip_max);
	hif = &pick->ip_ret[pick->ip_ret_nr++];
	hif->nif_nid = nid;
	strncpy(hif->nif_device, device, sizeof hif->nif_device - 1);
	hif->nif_device[sizeof hif->nif_device - 1] = 0;
	return 0;
}

static bool has_name(const struct m0_host_iface *sif, const char *name)
{
	return strncmp(sif->sif_name, name, sizeof sif->sif_name) == 0;
}

/* The address by which a device is known; NULL: it has none. */
static const struct m0_host_iface *device_addr(const struct iface_pick *pick,
					       const char              *name)
{
	const struct m0_host_iface *six = NULL;
	unsigned                    i;

	for (i = 0; i < pick->ip_nr; ++i) {
		const struct m0_host_iface *sif = &pick->ip_ifaces[i];

		if (!has_name(sif, name))
			continue;
		if (sif->sif_addr.sa_bytes_nr == 4)
			return sif;
		if (six == NULL && !sif->sif_is_link_local)
			six = sif;
	}
	return six;
}

/* Names of the devices there are, for messages. */
static const char *devices_text(const struct iface_pick *pick, char *buf,
				size_t size)
{
	size_t   at = 0;
	unsigned i;
	unsigned j;
	int      nr;

	buf[0] = 0;
	for (i = 0; i < pick->ip_nr; ++i) {
		for (j = 0; j < i; ++j) {
			if (has_name(&pick->ip_ifaces[j],
				     pick->ip_ifaces[i].sif_name))
				break;
		}
		if (j < i)
			continue;
		nr = snprintf(buf + at, size - at, "%s%s", at > 0 ? ", " : "",
			      pick->ip_ifaces[i].sif_name);
		if (nr < 0 || (size_t)nr >= size - at)
			break;
		at += (size_t)nr;
	}
	return buf;
}

static int pick_device(struct iface_pick *pick, const char *name)
{
	const struct m0_host_iface *sif = NULL;
	char                        net[M0_LNET_NIDSTR_SIZE];
	char                        text[256];
	unsigned                    i;

	for (i = 0; i < pick->ip_nr && sif == NULL; ++i) {
		if (has_name(&pick->ip_ifaces[i], name))
			sif = &pick->ip_ifaces[i];
	}
	if (sif == NULL)
		return m0_node_why(
			pick->ip_why, -ENODEV,
			"network %s: this machine has no device \"%s\" with "
			"an address; those with one: %s",
			net_text(pick, net), name,
			devices_text(pick, text, sizeof text));
	if (!sif->sif_is_up)
		return m0_node_why(pick->ip_why, -ENETDOWN,
				   "network %s: device \"%s\" is down; "
				   "`ip link set %s up` starts it",
				   net_text(pick, net), name, name);
	sif = device_addr(pick, name);
	if (sif == NULL)
		return m0_node_why(
			pick->ip_why, -EADDRNOTAVAIL,
			"network %s: device \"%s\" has only a link-local IPv6 "
			"address, by which no node can be known; give it an "
			"IPv4 or a global IPv6 address",
			net_text(pick, net), name);
	return pick_add(pick, &sif->sif_addr, sif->sif_name);
}

/* ib0, which Lustre takes for net o2ib; NULL: there is none, or it is down. */
static const struct m0_host_iface *find_ib0(const struct iface_pick *pick)
{
	unsigned i;

	for (i = 0; i < pick->ip_nr; ++i) {
		if (has_name(&pick->ip_ifaces[i], "ib0") &&
		    pick->ip_ifaces[i].sif_is_up)
			return device_addr(pick, "ib0");
	}
	return NULL;
}

/* The first device that would do. */
static int pick_first(struct iface_pick *pick)
{
	const struct m0_host_iface *ib0 = m0_lnet_net_type(pick->ip_net) ==
							  M0_LNET_TYPE_O2IB
						  ? find_ib0(pick)
						  : NULL;
	char                        net[M0_LNET_NIDSTR_SIZE];
	unsigned                    i;

	if (ib0 != NULL)
		return pick_add(pick, &ib0->sif_addr, ib0->sif_name);

	for (i = 0; i < pick->ip_nr; ++i) {
		const struct m0_host_iface *sif = &pick->ip_ifaces[i];

		if (sif->sif_is_loopback || !sif->sif_is_up)
			continue;
		sif = device_addr(pick, sif->sif_name);
		if (sif != NULL)
			return pick_add(pick, &sif->sif_addr, sif->sif_name);
	}
	return m0_node_why(pick->ip_why, -ENODEV,
			   "network %s: no device but the loopback is up and "
			   "has an address; name one, or an address, as in "
			   "%s(127.0.0.1)",
			   net_text(pick, net), net);
}

static bool is_loopback_block(const struct m0_host_addr *addr)
{
	return addr->sa_bytes_nr == 4 && addr->sa_bytes[0] == 127;
}

static bool is_link_local(const struct m0_host_addr *addr)
{
	return addr->sa_bytes_nr == 16 && addr->sa_bytes[0] == 0xfe &&
	       (addr->sa_bytes[1] & 0xc0) == 0x80;
}

static int pick_addr(struct iface_pick *pick, const struct m0_host_addr *addr,
		     const char *text)
{
	const char *device = NULL;
	char        net[M0_LNET_NIDSTR_SIZE];
	char        devices[256];
	unsigned    i;

	if (is_link_local(addr))
		return m0_node_why(
			pick->ip_why, -EINVAL,
			"network %s: %s is a link-local address, by which no "
			"node can be known; use a global one",
			net_text(pick, net), text);
	for (i = 0; i < pick->ip_nr && device == NULL; ++i) {
		const struct m0_host_iface *sif = &pick->ip_ifaces[i];

		/* All of 127.0.0.0/8 is ours where one of it is. */
		if (sif->sif_addr.sa_bytes_nr == addr->sa_bytes_nr &&
		    (memcmp(sif->sif_addr.sa_bytes, addr->sa_bytes,
			    addr->sa_bytes_nr) == 0 ||
		     (is_loopback_block(addr) &&
		      is_loopback_block(&sif->sif_addr))))
			device = sif->sif_name;
	}
	if (device == NULL)
		return m0_node_why(pick->ip_why, -EADDRNOTAVAIL,
				   "network %s: %s is not an address of this "
				   "machine; devices with one: %s",
				   net_text(pick, net), text,
				   devices_text(pick, devices, sizeof devices));
	return pick_add(pick, addr, device);
}

static bool addr_parse(const char *text, struct m0_host_addr *addr)
{
	M0_SET0(addr);
	addr->sa_bytes_nr = 4;
	if (m0_ip4_parse(text, addr->sa_bytes))
		return true;
	addr->sa_bytes_nr = 16;
	return m0_ip6_parse(text, addr->sa_bytes);
}

static int pick_net(struct iface_pick *pick, const struct m0_lnet_net_cfg *net)
{
	struct m0_host_addr addr;
	unsigned            i;
	int                 rc = 0;

	pick->ip_net = net->lnc_net;
	if (net->lnc_ifaces_nr == 0)
		return pick_first(pick);
	for (i = 0; rc == 0 && i < net->lnc_ifaces_nr; ++i) {
		const char *text = net->lnc_ifaces[i];

		if (addr_parse(text, &addr))
			rc = pick_addr(pick, &addr, text);
		else
			rc = pick_device(pick, text);
	}
	return rc;
}

int m0_node__ifaces(const struct m0_lnet_cfg   *cfg,
		    const struct m0_host_iface *ifaces, unsigned ifaces_nr,
		    struct m0_node_iface *ret, unsigned max, unsigned *ret_nr,
		    char *why)
{
	static const struct m0_lnet_net_cfg dflt = {
		.lnc_net = (uint32_t)M0_LNET_TYPE_TCP << 16
	};
	struct iface_pick pick = { .ip_ifaces = ifaces,
				   .ip_nr = ifaces_nr,
				   .ip_ret = ret,
				   .ip_max = max,
				   .ip_why = why };
	unsigned          i;
	int               rc = 0;

	M0_PRE(max > 0 && cfg->lc_nets_nr <= M0_LNET_CFG_NETS_MAX);
	if (cfg->lc_nets_nr == 0)
		rc = pick_net(&pick, &dflt);
	for (i = 0; rc == 0 && i < cfg->lc_nets_nr; ++i)
		rc = pick_net(&pick, &cfg->lc_nets[i]);
	*ret_nr = pick.ip_ret_nr;
	return rc;
}

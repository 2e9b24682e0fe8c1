/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "kern/tcp/kern_tcp.h"

int kern_addr_bound(struct socket *sock, struct m0_host_addr *ret)
{
	struct sockaddr_storage sa = { 0 };
	int rc = kernel_getsockname(sock, (struct sockaddr *)&sa);

	if (rc < 0)
		return rc;
	return m0_host_addr_from((struct sockaddr *)&sa, ret) ? 0
							      : -EAFNOSUPPORT;
}

const char *kern_addr_text(const struct m0_host_addr *addr,
			   char                       buf[KERN_TEXT_BYTES])
{
	if (addr->sa_bytes_nr == 4)
		(void)snprintf(buf, KERN_TEXT_BYTES, "%pI4", addr->sa_bytes);
	else
		(void)snprintf(buf, KERN_TEXT_BYTES, "%pI6c", addr->sa_bytes);
	return buf;
}

/* The addresses that are listed, as many as there is room for; all are counted. */
struct kern_list {
	struct m0_host_iface *knf_ifaces;
	unsigned              knf_max;
	unsigned              knf_nr;
};

static void list_add_addr(struct kern_list *list, const struct net_device *dev,
			  const void *bytes, uint8_t nr)
{
	struct m0_host_iface *iface = &list->knf_ifaces[list->knf_nr];

	if (list->knf_nr++ >= list->knf_max)
		return;
	M0_SET0(iface);
	(void)snprintf(iface->sif_name, sizeof iface->sif_name, "%s",
		       dev->name);
	iface->sif_addr.sa_bytes_nr = nr;
	memcpy(iface->sif_addr.sa_bytes, bytes, nr);
	iface->sif_is_up = (dev->flags & IFF_UP) && netif_carrier_ok(dev) &&
			   netif_oper_up(dev);
	iface->sif_is_loopback = dev->flags & IFF_LOOPBACK;
	iface->sif_is_link_local =
		nr == 16 && (ipv6_addr_type(bytes) & IPV6_ADDR_LINKLOCAL);
	iface->sif_index = (uint32_t)dev->ifindex;
}

/* The name of a device that is renamed meanwhile may be a mixture of two. */
static void list_add_dev(struct kern_list *list, const struct net_device *dev)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	struct inet6_dev       *in6_dev = __in6_dev_get(dev);
	const struct in_ifaddr *ifa;
	struct inet6_ifaddr    *ifa6;

	if (in_dev != NULL)
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			list_add_addr(list, dev, &ifa->ifa_local, 4);
	if (in6_dev == NULL)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa6, &in6_dev->addr_list,
			    if_list) if (!(ifa6->flags &
					   (IFA_F_TENTATIVE | IFA_F_DADFAILED)))
		list_add_addr(list, dev, &ifa6->addr, 16);
	read_unlock_bh(&in6_dev->lock);
}

int kern_ifaces(struct m0_reactor *reactor, struct m0_host_iface *ifaces,
		unsigned max)
{
	struct net        *net = kern_reactor_of(reactor)->knr_net;
	struct kern_list   list = { .knf_ifaces = ifaces, .knf_max = max };
	struct net_device *dev;

	/* Not under rtnl_lock(): its holder may wait for memory, whose release may wait for what
	 * the node's thread sends. */
	rcu_read_lock();
	for_each_netdev_rcu(net, dev) list_add_dev(&list, dev);
	rcu_read_unlock();
	return (int)list.knf_nr;
}

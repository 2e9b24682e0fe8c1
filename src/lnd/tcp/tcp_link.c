/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The state of devices: a socket of rtnetlink reports that links or addresses of the
 * host have changed; this code then lists them anew. Input of the socket puts it among
 * the listeners with connections to accept, so a pass without changes does nothing for it.
 */
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <unistd.h>

#include "lnd/tcp/tcp_internal.h"

enum {
	/** Most reports that one pass discards. */
	REPORTS_MAX = 64,
	REPORT_BYTES = 512
};

static bool is_loopback_block(const struct m0_host_addr *addr)
{
	return addr->sa_bytes_nr == 4 && addr->sa_bytes[0] == 127;
}

/* All of 127.0.0.0/8 is the host's where one of it is. */
static bool has_addr(const struct m0_host_addr *iface,
		     const struct m0_host_addr *addr)
{
	return iface->sa_bytes_nr == addr->sa_bytes_nr &&
	       (memcmp(iface->sa_bytes, addr->sa_bytes, addr->sa_bytes_nr) ==
			0 ||
		(is_loopback_block(iface) && is_loopback_block(addr)));
}

static bool is_up(const struct ifaddrs *all, const struct m0_host_addr *addr)
{
	const unsigned        want = IFF_UP | IFF_RUNNING;
	const struct ifaddrs *each;
	struct m0_host_addr   iface;

	for (each = all; each != NULL; each = each->ifa_next)
		if ((each->ifa_flags & want) == want &&
		    each->ifa_addr != NULL &&
		    m0_host_addr_from(each->ifa_addr, &iface) &&
		    has_addr(&iface, addr))
			return true;
	return false;
}

static int watches_look(struct m0_tcp_io *io)
{
	const struct m0_streams_up *up = io->tci_streams.sts_up;
	struct m0_stream_watch     *watch;
	struct ifaddrs             *all;
	bool                        was_up;

	if (getifaddrs(&all) != 0)
		return -errno;
	m0_list_for_each_entry(&io->tci_watches, watch, struct m0_stream_watch,
			       swa_link) {
		was_up = watch->swa_is_up;
		watch->swa_is_up = is_up(all, &watch->swa_addr);
		if (watch->swa_is_up != was_up)
			up->stu_watched(io->tci_streams.sts_owner, watch);
	}
	freeifaddrs(all);
	return 0;
}

/* Reports that were lost (ENOBUFS) are as good as those that were read. */
static void links_take(struct m0_tcp_listener *links)
{
	uint8_t  report[REPORT_BYTES];
	unsigned nr = 0;
	int      rc;

	while (nr < REPORTS_MAX && (recv(links->tcl_fd.lof_fd, report,
					 sizeof report, MSG_DONTWAIT) >= 0 ||
				    M0_IN(errno, (ENOBUFS, EINTR))))
		++nr;
	if (nr == REPORTS_MAX)
		return;
	rc = watches_look(links->tcl_io);
	if (rc != 0)
		m0_tcp__accept_pause(links->tcl_io, -rc);
	else
		m0_list_del(&links->tcl_callers);
}

static int socket_open(void)
{
	struct sockaddr_nl sa = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
			     RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
			NETLINK_ROUTE);
	int rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0)
		return fd;
	rc = -errno;
	(void)close(fd);
	return rc;
}

static int links_open(struct m0_tcp_io *io)
{
	struct m0_tcp_listener *links = &io->tci_links;
	int                     fd;
	int                     rc;

	if (links->tcl_fd.lof_fd >= 0)
		return 0;
	fd = socket_open();
	if (fd < 0)
		return fd;
	links->tcl_fd.lof_fd = fd;
	rc = m0_loop_add(m0_tcp__loop(io), &links->tcl_fd);
	if (rc == 0)
		return 0;
	(void)close(fd);
	links->tcl_fd.lof_fd = -1;
	return rc;
}

/* Without the socket the device counts as up: the driver still works. */
void m0_tcp__watch(struct m0_streams *streams, struct m0_stream_watch *watch)
{
	struct m0_tcp_io *io = m0_tcp__io(streams);
	struct ifaddrs   *all;
	int               rc = links_open(io);

	watch->swa_is_up = true;
	if (rc == 0 && getifaddrs(&all) != 0)
		rc = -errno;
	if (rc != 0) {
		m0_log(M0_LOG_NOTICE,
		       "tcp: the state of devices cannot be watched: %s",
		       m0_errname(rc));
		return;
	}
	watch->swa_is_up = is_up(all, &watch->swa_addr);
	freeifaddrs(all);
	m0_list_add_tail(&io->tci_watches, &watch->swa_link);
}

void m0_tcp__unwatch(struct m0_streams *streams, struct m0_stream_watch *watch)
{
	(void)streams;
	m0_list_del(&watch->swa_link);
}

void m0_tcp__links_init(struct m0_tcp_io *io)
{
	struct m0_tcp_listener *links = &io->tci_links;

	m0_list_init(&io->tci_watches);
	links->tcl_io = io;
	links->tcl_fd.lof_fd = -1;
	links->tcl_fd.lof_handler = m0_tcp__listener_event;
	links->tcl_take = links_take;
	m0_list_link_init(&links->tcl_callers);
}

void m0_tcp__links_fini(struct m0_tcp_io *io)
{
	struct m0_tcp_listener *links = &io->tci_links;

	M0_PRE(m0_list_is_empty(&io->tci_watches));
	if (links->tcl_fd.lof_fd < 0)
		return;
	m0_list_del(&links->tcl_callers);
	m0_loop_del(m0_tcp__loop(io), &links->tcl_fd);
	(void)close(links->tcl_fd.lof_fd);
}
